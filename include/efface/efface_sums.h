/* The family of exact sums: means, regression, classes, components. Part of efface.h. */
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
 * column; sums of that, and of products, are exact. Forgetting a row subtracts what it had added,
 * at a cost of O(d^2) for sums of products; only a magnitude that passes a power of two takes a
 * pass over the rows. A view is computed from the sums when it is asked for, in doubles and a fixed
 * order, so that it has the same bits everywhere; it is kept until the next change.
 *
 * Columns are features, or targets: what a regression predicts. Classes are the labels of rows. If
 * there are sums by class, rows without a label take no part. There is no randomness but that of
 * Fourier features. docs/definition/sums.md has the definitions. */

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
                                     Fourier features took the place of */
    EFFACE_VIEW_LINEAR = 1,       /* the targets, by linear regression */
    EFFACE_VIEW_RIDGE = 2,        /* the class, by linear regression on the classes */
    EFFACE_VIEW_BAYES = 3,        /* the class, by Gaussian naive Bayes */
    EFFACE_VIEW_DISCRIMINANT = 4, /* the class, by linear or quadratic discriminants */
    EFFACE_VIEW_COMPONENTS = 5    /* the coordinates along the principal components */
} efface_view;

/* Linear regression: the coefficients w that make
 *
 *     sum of weight (y - b - w x)^2 + alpha w^2
 *
 * smallest. A feature that is constant, or depends on those before it, gets the coefficient 0
 * (efface_sums_dropped). */
typedef struct efface_linear_params {
    double alpha;  /* at least 0; default 0 */
    int intercept; /* if not 0 (the default), there is a b */
    int errors;    /* for efface_linear_solve: if not 0, standard errors too, which takes several
                      times as long; default 0 */
} efface_linear_params;

/* Gaussian naive Bayes. */
typedef struct efface_bayes_params {
    double smoothing; /* this part of the largest variance of a column is added to all variances: 0,
                         or from 1e-100 on; default 1e-9 */
    const double *priors; /* the probability of each class, in the order of classes; they sum to 1.
                             NULL, the default: its share of the rows */
    uint32_t n_priors;
} efface_bayes_params;

/* Discriminants: a normal distribution for each class. Linear ones have one covariance matrix in
 * common. */
typedef struct efface_discriminant_params {
    int quadratic;        /* if not 0, each class has a covariance matrix of its own; default 0 */
    double shrinkage;     /* 0, the default, or from 1e-100 to 1. The covariance matrix becomes
                             (1 - shrinkage) times itself plus shrinkage in each column: linear,
                             times the mean variance of columns; quadratic, times 1. Matrices are
                             those of the rows that are there, divided by their weight */
    const double *priors; /* as in efface_bayes_params */
    uint32_t n_priors;
} efface_discriminant_params;

/* Principal components. The entry of largest magnitude of each is positive. */
typedef struct efface_components_params {
    uint32_t n_components; /* 0, the default: as many as there can be */
    int whiten;            /* if not 0, coordinates are divided by their deviations; default 0 */
} efface_components_params;

typedef struct efface_sums_params {
    efface_params common;
    double bound; /* the largest |value| allowed; 0, the default: derived from the rows */
    const uint32_t *targets; /* columns, counted from 0, that are no features; default none */
    uint32_t n_targets;
    efface_summed summed;   /* over all rows */
    efface_summed by_class; /* for each class; NEEDED may mean none */
    uint32_t n_fourier;     /* number of random Fourier features that take the place of the feature
                               columns; 0, the default: the columns themselves */
    double gamma;           /* of the kernel exp(-gamma |x - y|^2) that they stand for; default 1 */
    uint32_t weight_unit;   /* the weight of a row that counts as one row; default 1 */
    efface_view view;
    efface_linear_params linear; /* for the views LINEAR and RIDGE */
    efface_bayes_params bayes;
    efface_discriminant_params discriminant;
    efface_components_params components;
} efface_sums_params;

#define EFFACE_MAX_FOURIER 16384u

/* Fills the parameters with their defaults: the view MEANS. */
EFFACE_API void efface_sums_params_init(efface_sums_params *params);

/* The parameters of a model, without the seed (0); the defaults for another family. Pointers in
 * them are valid until the model changes or is released. */
EFFACE_API efface_sums_params efface_sums_get_params(const efface_model *model);

/* Sums up the rows of a set. Cost O(n * d), or O(n * d^2) with products of all pairs. An empty set
 * gives sums of no rows, which have no view. Errors: MEMORY; ARGUMENT; LIMIT for a value outside a
 * bound that was given; KERNELS. */
EFFACE_API efface_status efface_sums_fit(const efface_data *data, const efface_sums_params *params,
                                         efface_model **out, efface_error *error);

/* The columns whose values differ so little compared to their size that less than 8 bits of the
 * differences are kept; an offset repairs that. Returns how many there are, and writes at most
 * `capacity` of them. Needs sums of squares; without them there is none. */
EFFACE_API uint32_t efface_sums_coarse_columns(const efface_model *model, uint32_t *columns,
                                               uint32_t capacity);

/* The features that the view had to leave out, being constant or dependent on those before them, in
 * the same way: columns, or numbers of Fourier features. 0 if the view cannot be computed. */
EFFACE_API uint32_t efface_sums_dropped(const efface_model *model, uint32_t *features,
                                        uint32_t capacity);

/* Other views of the same sums, with parameters of their own (NULL: those of the model), as
 * predictors without names and offsets of columns: they predict, score and have tables as the model
 * would. Release with efface_predictor_free. Tables, in which features are columns:
 *
 *   linear          "coefficients"  a row for each target; the intercept comes first
 *                   "errors"        their standard errors, if asked for; NaN if there are too
 *                                   few rows, for a feature that was left out, and where
 *                                   rounding leaves nothing of them, as for features that
 *                                   depend on each other under a small alpha. A model has
 *                                   them without being asked
 *                   "quality"       for each target R^2, the deviation of residuals, and the
 *                                   degrees of freedom
 *   ridge           "coefficients"  a row for each class
 *   bayes           "means", "variances", "priors"    a row for each class
 *   discriminants   "means", "priors"; linear ones: "coefficients", and "directions" in which
 *                   classes differ most, each with its share of the differences
 *   components      "components"    a row for each; "means": one row
 *                   "variances"     for each component its variance and its share of the whole
 *
 * Errors: MEMORY; ARGUMENT for parameters out of range, another family, sums that the view
 * cannot be computed from, or too few rows or classes. */
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

/* What a linear regression would miss each row by, had it been fitted without the row: the target
 * minus the prediction, n_targets numbers a row, in the order of positions. In closed form; the
 * result is that of forgetting the row but for rounding, and but for rows whose leaving moves the
 * grid of a column. `data` is the set of the model. NaN for a row that the fit cannot do without.
 * Cost O(n * d^2). Errors: as efface_linear_solve; ARGUMENT if the set is not the model's, or for
 * sums by class; INTERRUPTED. */
EFFACE_API efface_status efface_linear_leave_one_out(const efface_model *model,
                                                     const efface_data *data,
                                                     const efface_linear_params *params,
                                                     double *misses, efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
