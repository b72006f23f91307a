/*
 * The family `logistic`: Newton's method on a random lattice (docs/definition/logistic.md).
 *
 * A run tells one class from the others. It is a list of points, each with exact sums over the rows:
 * those that a fit asked for, in its order. A fit answers by passes over the rows (passing.c). A
 * change answers by the list, less what the rows of the change had added (logistic_following.c). Both
 * are the same procedure (walking.c), which does not know who answers.
 */
#ifndef EF_LOGISTIC_H
#define EF_LOGISTIC_H

#include "model/exact/moments.h"
#include "model/family.h"
#include "model/logistic/lattice.h"
#include "model/logistic/points.h"
#include "model/sums/coordinates/coordinates.h"

/* The counts of the rows that come before the first run: the lattice depends on them. */
typedef struct ef_logistic_counts {
    ef_totals totals;
    uint32_t n_classes; /* that rows have, in the order of labels: */
    int64_t *labels;    /* n_classes each */
    uint64_t *class_rows;
    ef_moments all; /* squares of the terms, of the rows that take part */
} ef_logistic_counts;

typedef struct ef_logistic {
    efface_logistic_params *params;
    ef_coordinates coordinates; /* of the columns; there are no targets */
    uint32_t n_terms;           /* a constant, and the columns */
    ef_logistic_counts counts;
    ef_moments sample; /* products of the terms */
    ef_lattice lattice;
    uint32_t n_runs;
    ef_newton_run *runs;
} ef_logistic;

/* How many runs so many classes take, the classes of all of them, and that of one. */
static inline uint32_t ef_logistic_n_runs(uint32_t n_classes) {
    return n_classes < 2 ? 0 : n_classes == 2 ? 1 : n_classes;
}

static inline const int64_t *ef_logistic_of_runs(uint32_t n_classes, const int64_t *labels) {
    return n_classes == 2 ? labels + 1 : labels;
}

static inline int64_t ef_logistic_class(const ef_logistic_counts *counts, uint32_t run) {
    return ef_logistic_of_runs(counts->n_classes, counts->labels)[run];
}

/* As in family.h: logistic.c, logistic_following.c; logistic_bytes.c; logistic_params.c;
 * logistic_predictor.c. */
efface_status ef_logistic_fit(const efface_data *data, const efface_params *params, void **state,
                              efface_error *error);
void ef_logistic_free(void *state);
efface_status ef_logistic_follow(void *state, const ef_news *news, void **next, bool *done,
                                 efface_report *report, efface_error *error);
void ef_logistic_commit(void *state, void *next);
void ef_logistic_drop(void *next);
void ef_logistic_write(ef_writer *writer, const void *state);
efface_status ef_logistic_read(ef_decoder *decoder, const efface_params *params, uint32_t n_columns,
                               void **state, efface_error *error);
efface_status ef_logistic_attach(void *state, const efface_data *data, efface_error *error);
void ef_logistic_locate(const void *a, const void *b, efface_difference *difference);

efface_status ef_logistic_check_params(const efface_params *params, efface_error *error);
efface_params *ef_logistic_copy_params(const efface_params *params, uint32_t n_columns);
void ef_logistic_write_params(ef_writer *writer, const efface_params *params, uint32_t n_columns);
efface_status ef_logistic_read_params(ef_decoder *decoder, uint32_t n_columns, efface_params **out,
                                      efface_error *error);
void ef_logistic_describe_params(const efface_params *params, ef_listener to);

void ef_logistic_lend(const void *state, ef_lent *room);
void ef_logistic_write_predictor(ef_writer *writer, const void *predictor);
efface_status ef_logistic_read_predictor(ef_decoder *decoder, uint32_t n_columns, void **out,
                                         efface_error *error);
void ef_logistic_free_predictor(void *predictor);
efface_predicts ef_logistic_predicts(const void *predictor, uint32_t *n_numbers);
efface_status ef_logistic_predict(const void *predictor, size_t n_rows, const float *values,
                                  size_t stride, efface_number *numbers, efface_error *error);
efface_status ef_logistic_score(const void *predictor, efface_scores scores, size_t n_rows,
                                const float *values, size_t stride, double *numbers,
                                efface_error *error);
uint32_t ef_logistic_classes(const void *predictor, int64_t *classes, size_t capacity);
bool ef_logistic_table(const void *predictor, uint32_t number, efface_table *table);
efface_status ef_logistic_read_table(const void *predictor, uint32_t number, uint64_t row,
                                     const double *offsets, double *values, efface_error *error);
bool ef_logistic_predicts_hinge(const void *predictor);

/* A state of no rows and no runs. Errors: MEMORY; KERNELS. */
efface_status ef_logistic_make(const efface_logistic_params *params, uint32_t n_columns,
                               ef_logistic **out, efface_error *error);

void ef_logistic_counts_free(ef_logistic_counts *counts);

/* The number of a class; n_classes if there is none with this label. */
uint32_t ef_logistic_find_class(const ef_logistic_counts *counts, int64_t label);

/* What the lattice hangs on, as far as it is counted. */
ef_lattice_basis ef_logistic_basis(const ef_logistic *s, const ef_logistic_counts *counts);

/* Room for n classes; false if out of memory. */
bool ef_logistic_take_classes(ef_logistic_counts *counts, size_t n);

/* The width of the finest lattice in standard errors; there is a run. */
double ef_logistic_width(const ef_logistic *s);

/* Makes the lattice from what is counted and the sample. Errors: MEMORY. */
efface_status ef_logistic_make_lattice(ef_logistic *s, efface_error *error);

/* The terms of a row whose values are EF_PANEL floats apart, as whole numbers. */
void ef_logistic_terms_of_row(const ef_logistic *s, const float *row, int32_t *terms);

/* The coordinates of up to sixteen rows as a panel of terms; for ef_sum_up. */
ef_points ef_logistic_points(const ef_logistic *s);

/* The coefficients of a run in the units of the data: n_terms, the intercept first. */
void ef_logistic_coefficients(const ef_logistic *s, uint32_t run, double *coefficients);

/* Who answers by passes over the rows of a set (passing.c). */
typedef struct ef_passing ef_passing;
efface_status ef_passing_begin(const ef_logistic *of, const efface_data *data, ef_passing **out,
                               efface_error *error);
void ef_passing_end(ef_passing *passing);

/* Makes the sums at a point for a run that tells this class from the others. */
efface_status ef_passing_sum(ef_passing *passing, int64_t label, const double *coefficients,
                             ef_run_point *point, efface_error *error);

/* Rows that passes of a model over so many rows looked at. */
uint64_t ef_logistic_visits(const ef_logistic *s, uint64_t n_rows);

#endif
