/*
 * The family of exact sums: means, regression, classes, components. Part of efface.h.
 *
 * EXAMPLE
 *
 *     efface_data *people = NULL;
 *     efface_model *model = NULL;
 *     efface_load_options options;
 *     efface_sums_params params;
 *     efface_error error;
 *     efface_load_options_init(&options);
 *     options.id_column = "id";
 *     options.owner_column = "owner";
 *     options.label_column = "kind";
 *     efface_sums_params_init(&params);
 *     const uint32_t income = 1; // of the columns age, income and visits
 *     params.view = EFFACE_VIEW_LINEAR;
 *     params.targets = &income;
 *     params.n_targets = 1;
 *     double coefficients[3]; // the intercept, then age and visits
 *     if (efface_data_load("examples/people.csv", &options, &people, &error) != EFFACE_OK ||
 *         efface_sums_fit(people, &params, &model, &error) != EFFACE_OK ||
 *         efface_predictor_read_table(efface_model_predictor(model), "coefficients", 0,
 *                                     efface_data_offsets(people), coefficients,
 *                                     &error) != EFFACE_OK) {
 *         fprintf(stderr, "%s\n", error.message);
 *         return 1;
 *     }
 *     printf("income = %.0f %+.0f age %+.0f visits\n", coefficients[0], coefficients[1],
 *            coefficients[2]);
 *     efface_model_free(model);
 *     efface_data_free(people);
 */
#ifndef EFFACE_SUMS_H
#define EFFACE_SUMS_H

#include "efface/efface_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Exact sums of the rows, and what can be computed from them: means, linear regression, classes,
 * principal components. These are views of the same sums.
 *
 * The state is sums, and no more. A value is kept to 23 bits of the largest magnitude in its
 * column; sums of these, and of their products, are exact. Forgetting a row subtracts what it had
 * added, at a cost of O(d^2) for sums of products. Only if the largest magnitude of a column passes
 * a power of two does a change need a pass over the rows. A view is computed from the sums when it
 * is asked for, in doubles and in a fixed order, so that it has the same bits everywhere; it is
 * kept until the next change.
 *
 * Penalties, shrinkage and components depend on the units of columns. With the scale STANDARD they
 * are in units of each column's deviation (weights add up to the divisor, as in scikit-learn's
 * StandardScaler), which follows from the same sums: the state and its digest do not change with
 * it. A column that is constant counts as it is. Coefficients, means and rows to predict are in the
 * units of the data in any case.
 *
 * Columns are features or targets (what a regression predicts). Classes are the labels of rows. If
 * there are sums by class, rows without a label take no part. Nothing is random except Fourier
 * features. docs/definition/sums.md has the definitions. */

/* What is summed up. */
typedef enum efface_summed {
    EFFACE_SUMMED_NEEDED = 0,   /* what the view needs */
    EFFACE_SUMMED_MEANS = 1,    /* each column */
    EFFACE_SUMMED_DIAGONAL = 2, /* and its squares */
    EFFACE_SUMMED_FULL = 3      /* and the products of all pairs of columns */
} efface_summed;

/* What efface_predictor_predict and the tables of a model give. */
typedef enum efface_view {
    EFFACE_VIEW_MEANS = 0,        /* the mean of each column, for every row; NaN for columns that
                                     are replaced by Fourier features */
    EFFACE_VIEW_LINEAR = 1,       /* the targets, by linear regression */
    EFFACE_VIEW_RIDGE = 2,        /* the class, by linear regression on the classes */
    EFFACE_VIEW_BAYES = 3,        /* the class, by Gaussian naive Bayes */
    EFFACE_VIEW_DISCRIMINANT = 4, /* the class, by linear or quadratic discriminants */
    EFFACE_VIEW_COMPONENTS = 5    /* the coordinates along the principal components */
} efface_view;

/* Linear regression: the coefficients w and the intercept b that minimize
 *
 *     sum of weight (y - b - w x)^2 + alpha w^2
 *
 * A feature that is constant, or depends on those before it, gets the coefficient 0
 * (efface_sums_dropped). */
typedef struct efface_linear_params {
    double alpha;  /* at least 0; default 0 */
    int intercept; /* if not 0 (the default), there is a b */
    int errors;    /* for efface_linear_solve: if not 0, standard errors too, which takes several
                      times as long; default 0 */
    efface_scale scale; /* STANDARD: w in the penalty is that of a feature in units of its
                           deviation, of rows that take part; it needs the intercept. Default NONE */
} efface_linear_params;

/* Gaussian naive Bayes. */
typedef struct efface_bayes_params {
    double smoothing; /* this part of the largest variance of a column is added to all variances: 0,
                         or at least 1e-100; default 1e-9 */
    const double *priors; /* the probability of each class, in the order of classes; they sum to 1.
                             NULL, the default: its share of the rows */
    uint32_t n_priors;
} efface_bayes_params;

/* Discriminants: a normal distribution for each class. Linear ones share one covariance matrix. */
typedef struct efface_discriminant_params {
    int quadratic;        /* if not 0, each class has its own covariance matrix; default 0 */
    double shrinkage;     /* 0, the default, or from 1e-100 to 1. The covariance matrix becomes (1 -
                             shrinkage) times itself plus a diagonal: shrinkage times the mean
                             variance of columns (linear), or shrinkage (quadratic). Matrices are
                             those of the present rows, divided by their weight */
    const double *priors; /* as in efface_bayes_params */
    uint32_t n_priors;
    efface_scale scale; /* STANDARD: matrices are shrunk as if columns were divided by their
                           deviations over the rows of all classes; default NONE */
} efface_discriminant_params;

/* Principal components. The entry of largest magnitude of each is positive. */
typedef struct efface_components_params {
    uint32_t n_components; /* 0, the default: as many as there can be */
    int whiten;            /* if not 0, coordinates are divided by their deviations; default 0 */
    efface_scale scale;    /* STANDARD: components of the columns divided by their deviations, so of
                              their correlations; default NONE */
} efface_components_params;

/* Parameters of a fit. Fill them with efface_sums_params_init, then change what differs. */
typedef struct efface_sums_params {
    efface_params common;
    double bound; /* the largest |value| allowed; 0, the default: derived from the rows */
    const uint32_t *targets; /* columns, counted from 0, that are not features; default none */
    uint32_t n_targets;
    efface_summed summed;   /* over all rows */
    efface_summed by_class; /* for each class; NEEDED may mean none */
    uint32_t n_fourier;     /* number of random Fourier features that replace the feature columns;
                               0, the default: the columns themselves */
    double gamma;         /* of the kernel exp(-gamma |x - y|^2) that they stand for; default 1. 0,
                               with a scale: 1 / the number of feature columns */
    efface_scale scale;   /* with Fourier features; STANDARD: x and y are in units of the deviation
                               of each column, as k-means has them. Default NONE */
    uint32_t weight_unit; /* the weight of a row that counts as one row; default 1 */
    efface_view view;
    efface_linear_params linear; /* for the views LINEAR and RIDGE */
    efface_bayes_params bayes;
    efface_discriminant_params discriminant;
    efface_components_params components;
} efface_sums_params;

#define EFFACE_MAX_FOURIER 16384u

/* Fills the parameters with their defaults: the view MEANS. */
EFFACE_API void efface_sums_params_init(efface_sums_params *params);

/* Returns the parameters of a model, with 0 for the seed; the defaults for another family. Pointers
 * in them are valid until the model changes or is released. */
EFFACE_API efface_sums_params efface_sums_get_params(const efface_model *model);

/* Sums up the rows of a set. An empty set gives sums of no rows, which have no view. Release the
 * model with efface_model_free. Cost O(n * d), or O(n * d^2) with products of all pairs.
 *
 * Errors: EFFACE_E_ARGUMENT for parameters out of range; EFFACE_E_LIMIT for a value outside a given
 * bound, or a missing value; EFFACE_E_INTERRUPTED; EFFACE_E_KERNELS; EFFACE_E_GROUP;
 * EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_sums_fit(const efface_data *data, const efface_sums_params *params,
                                         efface_model **out, efface_error *error);

/* Writes the columns whose values differ so little compared to their size that less than 8 bits of
 * the differences are kept, at most `capacity` of them; an offset repairs that. Returns how many
 * there are. Needs sums of squares; returns 0 without them. */
EFFACE_API uint32_t efface_sums_coarse_columns(const efface_model *model, uint32_t *columns,
                                               uint32_t capacity);

/* Writes the features that the view had to leave out because they are constant or depend on those
 * before them: columns, or numbers of Fourier features, at most `capacity` of them. Returns how
 * many there are; 0 if the view cannot be computed. */
EFFACE_API uint32_t efface_sums_dropped(const efface_model *model, uint32_t *features,
                                        uint32_t capacity);

/* Compute another view of the same sums, with parameters of its own (NULL: those of the model). The
 * result is a predictor without names and offsets of columns: it predicts, scores and has tables as
 * the model would. Release it with efface_predictor_free. Tables, in which features are columns:
 *
 * linear "coefficients" a row for each target; the intercept comes first
 *                   "errors"        their standard errors, if asked for (a model has them without
 *                                   being asked). NaN if there are too few rows, for a feature that
 *                                   was left out, and where rounding leaves nothing of them, as for
 *                                   features that depend on each other under a small alpha
 *                   "quality"       for each target R^2, the deviation of residuals, and the
 *                                   degrees of freedom
 * ridge "coefficients" a row for each class bayes "means", "variances", "priors" a row for each
 * class discriminants "means", "priors"; linear ones: "coefficients", and "directions" in which
 *                   classes differ most, each with its share of the differences
 * components "components" a row for each, of what the features less their means are multiplied by;
 *                   "means": one row
 *                   "variances"     for each component its variance and its share of the whole
 *                   "deviations"    with the scale STANDARD: one row, what features are divided by
 *
 * Errors: EFFACE_E_ARGUMENT for parameters out of range, another family, sums that the view cannot
 * be computed from, or too few rows or classes; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_linear_solve(const efface_model *model,
                                             const efface_linear_params *params,
                                             efface_predictor **out, efface_error *error);
EFFACE_API efface_status efface_ridge_classify(const efface_model *model,
                                               const efface_linear_params *params,
                                               efface_predictor **out, efface_error *error);
EFFACE_API efface_status efface_bayes_classify(const efface_model *model,
                                               const efface_bayes_params *params,
                                               efface_predictor **out, efface_error *error);
EFFACE_API efface_status efface_discriminant_classify(const efface_model *model,
                                                      const efface_discriminant_params *params,
                                                      efface_predictor **out, efface_error *error);
EFFACE_API efface_status efface_components_compute(const efface_model *model,
                                                   const efface_components_params *params,
                                                   efface_predictor **out, efface_error *error);

/* Computes leave-one-out residuals: for each row the target minus the prediction of the regression
 * fitted without that row; n_targets numbers a row, in the order of positions. `data` is the set of
 * the model. The closed form gives what forgetting the row would, up to rounding, and except for
 * rows whose leaving moves the grid of a column. NaN for a row that the fit cannot do without. Cost
 * O(n * d^2).
 *
 * Errors: as efface_linear_solve; EFFACE_E_ARGUMENT if the set is not the model's, or for sums by
 * class; EFFACE_E_INTERRUPTED. */
EFFACE_API efface_status efface_linear_leave_one_out(const efface_model *model,
                                                     const efface_data *data,
                                                     const efface_linear_params *params,
                                                     double *misses, efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
