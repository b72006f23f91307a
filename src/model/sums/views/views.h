/*
 * Views: what is computed from sums when it is asked for, and what prediction needs of them.
 *
 * A view has outputs: the targets, the classes, the principal components, or the means of columns.
 * It is made of doubles, computed in a fixed order, and has the same bits everywhere. It refers to
 * nothing of the sums it was made of.
 */
#ifndef EF_VIEWS_H
#define EF_VIEWS_H

#include "base/bytes/encode.h"
#include "model/sums/sums.h"

typedef struct ef_view {
    efface_view view;
    bool is_quadratic; /* discriminants */
    uint32_t n_columns, n_inputs, n_terms, n_outputs;
    uint32_t *inputs;   /* columns that are looked at */
    ef_fourier fourier; /* n_features 0: terms are the inputs */
    int64_t *ids;       /* of outputs: columns, or classes; NULL for components */

    /* Outputs that are linear in the terms x are constants + weights x, for components multiplied
     * by scales. Bayes and quadratic discriminants are constants - |weights (x - centers)|^2 / 2:
     * Bayes has one weight for each class and term, the other a triangle for each class. */
    double *weights;
    double *constants;
    double *scales;  /* of components */
    double *centers; /* of classes; of components: one row; means: a number for each column */

    /* What prediction does not need, and is not written: for tables. NULL if it is not there. */
    double *errors;         /* LINEAR: a row for each target, the intercept first */
    double *quality;        /* LINEAR: three numbers for each target */
    double *variances;      /* BAYES: as centers; COMPONENTS: variance and share of each */
    double *means;          /* linear discriminants: of classes */
    double *deviations;     /* COMPONENTS with the scale STANDARD: what terms are divided by */
    double *directions;     /* linear discriminants: the share of each, and its terms */
    double *priors;         /* of classes: probability, and weight of rows */
    unsigned char *dropped; /* of terms: it adds nothing to those before it */
} ef_view;

/* Which view, and how. */
typedef struct ef_look {
    efface_view view;
    efface_linear_params linear;
    efface_bayes_params bayes;
    efface_discriminant_params discriminant;
    efface_components_params components;
    bool more; /* standard errors, or directions, too */
} ef_look;

/* The view that the parameters of sums ask for. */
ef_look ef_look_of(const efface_sums_params *params);

/* Whether a view can be computed from sums as they are. Errors: ARGUMENT. */
efface_status ef_view_check(const ef_sums *of, const ef_look *look, efface_error *error);

/* How many outputs it has. */
uint32_t ef_view_outputs(const ef_sums *of, const ef_look *look);

/* Computes a view that can be. Errors: MEMORY; LIMIT if eigenvalues are not found. */
efface_status ef_view_compute(const ef_sums *of, const ef_look *look, ef_view **out,
                              efface_error *error);
void ef_view_free(ef_view *view);

/* The parts of it: classes (view_classes.c) and components (view_components.c), for a view whose
 * arrays are there and 0. */
efface_status ef_view_ridge(const ef_sums *of, const ef_look *look, ef_view *v,
                            efface_error *error);
efface_status ef_view_bayes(const ef_sums *of, const ef_look *look, ef_view *v,
                            efface_error *error);
efface_status ef_view_discriminant(const ef_sums *of, const ef_look *look, ef_view *v,
                                   efface_error *error);
efface_status ef_view_find_directions(ef_view *v, efface_error *error);
efface_status ef_view_components(const ef_sums *of, const ef_look *look, ef_view *v,
                                 efface_error *error);

/* The variance of a coordinate over all rows by the sums of classes, in squared units of its grid.
 * They have sums of squares. */
double ef_sums_variance(const ef_sums *of, uint32_t point);

/* Outputs for rows: values, n_outputs a row (view_answers.c); classes, one a row; or scores,
 * n_outputs a row. Errors: MEMORY; ARGUMENT for probabilities that the view does not have. */
efface_status ef_view_values(const ef_view *v, size_t n_rows, const float *values, size_t stride,
                             efface_number *numbers, efface_error *error);
efface_status ef_view_classes(const ef_view *v, size_t n_rows, const float *values, size_t stride,
                              efface_number *numbers, efface_error *error);
efface_status ef_view_scores(const ef_view *v, efface_scores scores, size_t n_rows,
                             const float *values, size_t stride, double *numbers,
                             efface_error *error);

/* What prediction needs, as bytes (view_bytes.c). */
void ef_view_write(ef_writer *writer, const ef_view *view);
efface_status ef_view_read(ef_decoder *decoder, uint32_t n_columns, ef_view **out,
                           efface_error *error);

/* How many directions classes can differ in. */
static inline uint32_t ef_view_directions(uint32_t n_classes, uint32_t n_terms) {
    return n_classes == 0 ? 0 : n_classes - 1 < n_terms ? n_classes - 1 : n_terms;
}

static inline bool ef_view_has_classes(efface_view view) {
    return view == EFFACE_VIEW_RIDGE || view == EFFACE_VIEW_BAYES ||
           view == EFFACE_VIEW_DISCRIMINANT;
}

/* How many numbers `weights`, `centers` have. False if that does not fit. */
bool ef_view_sizes(const ef_view *v, size_t *n_weights, size_t *n_centers);

/* Takes room for what prediction needs, filled with zeros; view, kind and sizes are set. */
bool ef_view_take(ef_view *v);

#endif
