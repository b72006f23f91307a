/*
 * The family of logistic regression and linear machines. Part of efface.h.
 *
 * EXAMPLE
 *
 *     efface_data *people = NULL;
 *     efface_model *model = NULL;
 *     efface_load_options options;
 *     efface_logistic_params params;
 *     efface_error error;
 *     efface_load_options_init(&options);
 *     options.id_column = "id";
 *     options.owner_column = "owner";
 *     options.label_column = "kind";
 *     efface_logistic_params_init(&params);
 *     efface_number kind;
 *     const float person[3] = {31, 1200, 12}; // age, income and visits
 *     if (efface_data_load("examples/people.csv", &options, &people, &error) != EFFACE_OK ||
 *         efface_logistic_fit(people, &params, &model, &error) != EFFACE_OK ||
 *         efface_predictor_predict(efface_model_predictor(model), 1, person, 0, &kind, &error) !=
 *             EFFACE_OK) {
 *         fprintf(stderr, "%s\n", error.message);
 *         return 1;
 *     }
 *     printf("the person is of kind %lld\n", (long long)kind.whole);
 *     efface_model_free(model);
 *     efface_data_free(people);
 */
#ifndef EFFACE_LOGISTIC_H
#define EFFACE_LOGISTIC_H

#include "efface/efface_model.h"
#include "efface/efface_predictor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Classes told apart by linear functions of the columns: logistic regression, or a linear support
 * vector machine.
 *
 * The fit is Newton's method, and every step ends on a point of a random lattice about one standard
 * error wide, which costs nothing that the rows could tell. All sums over rows are sums of whole
 * numbers. Forgetting a row subtracts its part from the sums of each step. As long as each step
 * then ends on the same point, which is mostly so, no other row is looked at; from the first step
 * that ends elsewhere on, the fit is repeated. Classes are the labels of rows; rows without a label
 * take no part. With two classes there is one function, which is positive for the larger one; with
 * more, one for each class against all others. docs/definition/logistic.md has the definition. */

/* What is minimized, as a function of t, which is positive where the model is right. */
typedef enum efface_loss {
    EFFACE_LOSS_LOGISTIC = 0,     /* log(1 + e^-t): logistic regression */
    EFFACE_LOSS_SQUARED_HINGE = 1 /* max(0, 1 - t)^2: a linear support vector machine */
} efface_loss;

/* Parameters of a fit. Fill them with efface_logistic_params_init, then change what differs. The
 * coefficients w and the intercept b minimize
 *
 *     sum of weight / weight_unit * loss + alpha / 2 w^2 */
typedef struct efface_logistic_params {
    efface_params common;
    efface_loss loss;
    double alpha;    /* from 0 to 1e30; default 1. It is 1 / C of other programs */
    int intercept;   /* if not 0 (the default), there is a b */
    double bound;    /* the largest |value| allowed; 0, the default: derived from the rows */
    double width;    /* of the lattice, in standard errors, from 2^-20 to 2^10; 0, the default:
                        derived from the number of rows and columns */
    uint32_t sample; /* rows for each coefficient from which the lattice learns how coefficients
                        depend on each other; default 4, at most 2^20. To forget one of these rows
                        is to fit again */
    uint32_t weight_unit; /* the weight of a row that counts as one row; default 1 */
    uint32_t steps;       /* steps at most; default 25, at most 1000 */
} efface_logistic_params;

/* Fills the parameters with their defaults. */
EFFACE_API void efface_logistic_params_init(efface_logistic_params *params);

/* Returns the parameters of a model, with 0 for the seed; the defaults for another family. */
EFFACE_API efface_logistic_params efface_logistic_get_params(const efface_model *model);

/* Fits a model to the rows of a set that have a label. efface_predictor_predict then gives the
 * class; efface_predictor_score the value of each function (with two classes the one function, and
 * its negative for the smaller class) or, with the logistic loss, probabilities. With one class
 * this class is predicted, and without any the model cannot predict. Release the model with
 * efface_model_free. Cost O(n * d^2) for each step and class; a model takes 8 d^2 bytes for each.
 *
 * Tables: "coefficients" has a row for each function, its intercept first; "errors", which a
 * published model lacks, has their standard errors, NaN for a column that is left out because all
 * its values are 0; "quality", which it lacks too, has for each function the loss, the penalty, the
 * number of steps, and the width of its lattice. Rows of these tables are classes.
 *
 * Errors: EFFACE_E_ARGUMENT for parameters out of range, and for a set that has joined a group;
 * EFFACE_E_LIMIT for a value outside a given bound, or a missing value; EFFACE_E_INTERRUPTED;
 * EFFACE_E_KERNELS; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_logistic_fit(const efface_data *data,
                                             const efface_logistic_params *params,
                                             efface_model **out, efface_error *error);

/* Returns the rows of the sample: those that cost a fit when they are forgotten. 0 for another
 * family. */
EFFACE_API uint64_t efface_logistic_sampled(const efface_model *model);

#ifdef __cplusplus
}
#endif

#endif
