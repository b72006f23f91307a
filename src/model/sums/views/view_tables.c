/* The tables of views. */
#include "model/sums/views/view_tables.h"

#include <math.h>
#include <string.h>

typedef enum content {
    COLUMN_MEANS, /* one row for all columns */
    COEFFICIENTS,
    ERRORS,
    QUALITY,
    CLASS_MEANS,
    VARIANCES,
    PRIORS,
    AXES,
    CENTER,     /* one row for all terms */
    DEVIATIONS, /* the same */
    SPECTRUM,
    DIRECTIONS
} content;

/* A table of a view; `published` if it is made of what prediction needs. */
typedef struct entry {
    efface_view view;
    enum { ANY, LINEAR_ONLY, SCALED_ONLY } which; /* discriminants; components */
    bool published;
    const char *name;
    content has;
} entry;

static const entry entries[] = {
    {EFFACE_VIEW_MEANS, ANY, true, "means", COLUMN_MEANS},
    {EFFACE_VIEW_LINEAR, ANY, true, "coefficients", COEFFICIENTS},
    {EFFACE_VIEW_LINEAR, ANY, false, "errors", ERRORS},
    {EFFACE_VIEW_LINEAR, ANY, false, "quality", QUALITY},
    {EFFACE_VIEW_RIDGE, ANY, true, "coefficients", COEFFICIENTS},
    {EFFACE_VIEW_BAYES, ANY, true, "means", CLASS_MEANS},
    {EFFACE_VIEW_BAYES, ANY, false, "variances", VARIANCES},
    {EFFACE_VIEW_BAYES, ANY, false, "priors", PRIORS},
    {EFFACE_VIEW_DISCRIMINANT, LINEAR_ONLY, true, "coefficients", COEFFICIENTS},
    {EFFACE_VIEW_DISCRIMINANT, ANY, false, "means", CLASS_MEANS},
    {EFFACE_VIEW_DISCRIMINANT, ANY, false, "priors", PRIORS},
    {EFFACE_VIEW_DISCRIMINANT, LINEAR_ONLY, false, "directions", DIRECTIONS},
    {EFFACE_VIEW_COMPONENTS, ANY, true, "components", AXES},
    {EFFACE_VIEW_COMPONENTS, ANY, true, "means", CENTER},
    {EFFACE_VIEW_COMPONENTS, ANY, false, "variances", SPECTRUM},
    {EFFACE_VIEW_COMPONENTS, SCALED_ONLY, false, "deviations", DEVIATIONS},
};

#define N_ENTRIES (sizeof entries / sizeof entries[0])

static const char *const intercept_name[] = {"intercept"};
static const char *const quality_names[] = {"r2", "deviation", "freedom"};
static const char *const prior_names[] = {"prior", "weight"};
static const char *const share_name[] = {"share"};
static const char *const spectrum_names[] = {"variance", "share"};

ef_view_shape ef_view_shape_of(const ef_view *v) {
    return (ef_view_shape){.view = v->view,
                           .is_quadratic = v->is_quadratic,
                           .is_scaled = v->deviations != NULL,
                           .is_whole = v->dropped != NULL,
                           .has_more = v->errors != NULL || v->directions != NULL,
                           .n_columns = v->n_columns,
                           .n_terms = v->n_terms,
                           .n_outputs = v->n_outputs,
                           .columns = v->fourier.n_features == 0 ? v->inputs : NULL,
                           .ids = v->ids};
}

static bool takes_more(const entry *e) {
    return e->has == ERRORS || e->has == DIRECTIONS;
}

static const entry *find_table(const ef_view_shape *shape, uint32_t number) {
    for (size_t i = 0; i < N_ENTRIES; i++) {
        const entry *const e = &entries[i];
        if (e->view == shape->view && (shape->is_whole || e->published) &&
            !(e->which == LINEAR_ONLY && shape->is_quadratic) &&
            !(e->which == SCALED_ONLY && !shape->is_scaled) &&
            (shape->has_more || !takes_more(e)) && number-- == 0)
            return e;
    }
    return NULL;
}

/* The columns that a table has before those of terms. */
static void name_columns(efface_table *table, const char *const *names, uint32_t n) {
    table->n_named = n;
    table->names = names;
}

bool ef_view_table(const ef_view_shape *shape, uint32_t number, efface_table *table, bool *more) {
    const entry *const e = find_table(shape, number);
    if (e == NULL)
        return false;
    const bool has_classes = ef_view_has_classes(shape->view);
    const bool is_linear = shape->view == EFFACE_VIEW_LINEAR;
    const bool one_row = e->has == COLUMN_MEANS || e->has == CENTER || e->has == DEVIATIONS;
    const bool has_terms =
        e->has != COLUMN_MEANS && e->has != QUALITY && e->has != PRIORS && e->has != SPECTRUM;
    *table = (efface_table){
        .name = e->name,
        .row_name = one_row       ? "row"
                    : has_classes ? "class"
                    : is_linear   ? "target"
                                  : "component",
        .rows = one_row       ? EFFACE_TABLE_NUMBERED
                : has_classes ? EFFACE_TABLE_CLASSES
                : is_linear   ? EFFACE_TABLE_COLUMNS
                              : EFFACE_TABLE_NUMBERED,
        .n_rows = one_row ? shape->n_outputs != 0 : shape->n_outputs,
    };
    table->row_ids = table->rows != EFFACE_TABLE_NUMBERED ? shape->ids : NULL;
    if (e->has == COEFFICIENTS || e->has == ERRORS)
        name_columns(table, intercept_name, 1);
    if (e->has == QUALITY)
        name_columns(table, quality_names, 3);
    if (e->has == PRIORS)
        name_columns(table, prior_names, 2);
    if (e->has == DIRECTIONS) {
        name_columns(table, share_name, 1);
        table->row_name = "direction";
        table->rows = EFFACE_TABLE_NUMBERED;
        table->row_ids = NULL;
        table->n_rows = ef_view_directions(shape->n_outputs, shape->n_terms);
    }
    if (e->has == SPECTRUM)
        name_columns(table, spectrum_names, 2);
    table->n_columns = table->n_named + (has_terms                ? shape->n_terms
                                         : e->has == COLUMN_MEANS ? shape->n_columns
                                                                  : 0);
    if (has_terms) {
        table->columns = shape->columns;
        table->part_name = shape->columns == NULL ? "feature" : NULL;
    }
    *more = takes_more(e);
    return true;
}

/* A row of numbers for terms: in the units of the caller, if offsets are added. */
static void copy_terms(const ef_view_shape *shape, const double *from, const double *offsets,
                       double *to) {
    for (uint32_t j = 0; j < shape->n_terms; j++)
        to[j] = from[j] +
                (offsets != NULL && shape->columns != NULL ? offsets[shape->columns[j]] : 0.0);
}

static void read_coefficients(const ef_view *v, const ef_view_shape *shape, uint64_t row,
                              const double *offsets, double *values) {
    values[0] = v->constants[row];
    copy_terms(shape, v->weights + row * shape->n_terms, NULL, values + 1);
    if (offsets == NULL)
        return;
    if (shape->view == EFFACE_VIEW_LINEAR)
        values[0] += offsets[shape->ids[row]];
    for (uint32_t j = 0; shape->columns != NULL && j < shape->n_terms; j++)
        values[0] -= values[1 + j] * offsets[shape->columns[j]];
}

/* Errors of an intercept hold where the features are 0, which is elsewhere with offsets. */
static void read_errors(const ef_view *v, const ef_view_shape *shape, uint64_t row,
                        const double *offsets, double *values) {
    memcpy(values, v->errors + row * (shape->n_terms + (size_t)1),
           (shape->n_terms + (size_t)1) * sizeof *values);
    for (uint32_t j = 0; offsets != NULL && shape->columns != NULL && j < shape->n_terms; j++)
        if (offsets[shape->columns[j]] != 0.0)
            values[0] = (double)NAN;
}

void ef_view_read_table(const ef_view *v, const ef_view_shape *shape, uint32_t number, uint64_t row,
                        const double *offsets, double *values) {
    const size_t n = shape->n_terms;
    switch (find_table(shape, number)->has) {
    case COLUMN_MEANS:
        for (uint32_t j = 0; j < shape->n_columns; j++)
            values[j] = v->centers[j] + (offsets != NULL ? offsets[j] : 0.0);
        break;
    case COEFFICIENTS: read_coefficients(v, shape, row, offsets, values); break;
    case ERRORS: read_errors(v, shape, row, offsets, values); break;
    case QUALITY: memcpy(values, v->quality + 3 * row, 3 * sizeof *values); break;
    case CLASS_MEANS:
        copy_terms(shape, (v->means != NULL ? v->means : v->centers) + row * n, offsets, values);
        break;
    case VARIANCES: copy_terms(shape, v->variances + row * n, NULL, values); break;
    case PRIORS: memcpy(values, v->priors + 2 * row, 2 * sizeof *values); break;
    case AXES: copy_terms(shape, v->weights + row * n, NULL, values); break;
    case CENTER: copy_terms(shape, v->centers, offsets, values); break;
    case DEVIATIONS: copy_terms(shape, v->deviations, NULL, values); break;
    case DIRECTIONS: memcpy(values, v->directions + row * (n + 1), (n + 1) * sizeof *values); break;
    case SPECTRUM: memcpy(values, v->variances + 2 * row, 2 * sizeof *values); break;
    }
}
