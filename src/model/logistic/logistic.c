/* The state of `logistic`: made from rows. */
#include "model/logistic/logistic.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/logistic/losses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONSTANT EF_GRID_MAX /* the term of the intercept */

/* ---------------------------------------------------------------- making */

void ef_logistic_counts_free(ef_logistic_counts *counts) {
    ef_free(counts->labels);
    ef_free(counts->class_rows);
    ef_moments_free(&counts->all);
    *counts = (ef_logistic_counts){0};
}

efface_status ef_logistic_make(const efface_logistic_params *params, uint32_t d, ef_logistic **out,
                               efface_error *error) {
    ef_logistic *const s = ef_alloc_zero(1, sizeof *s);
    if (s == NULL)
        return ef_fail_memory(error);
    efface_status status =
        ef_coordinates_init(&s->coordinates, &(ef_coordinates_params){.n_columns = d}, error);
    s->n_terms = d + 1;
    if (status == EFFACE_OK) {
        s->params = (efface_logistic_params *)(void *)ef_logistic_copy_params(&params->common, d);
        if (s->params == NULL ||
            !ef_moments_init(&s->counts.all, s->n_terms, EFFACE_SUMMED_DIAGONAL) ||
            !ef_moments_init(&s->sample, s->n_terms, EFFACE_SUMMED_FULL))
            status = ef_fail_memory(error);
    }
    if (status == EFFACE_OK)
        *out = s;
    else
        ef_logistic_free(s);
    return status;
}

void ef_logistic_free(void *state) {
    ef_logistic *const s = state;
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->n_runs; i++)
        ef_run_free(&s->runs[i]);
    ef_free(s->runs);
    ef_lattice_free(&s->lattice);
    ef_moments_free(&s->sample);
    ef_logistic_counts_free(&s->counts);
    ef_coordinates_free(&s->coordinates);
    ef_free(s->params);
    ef_free(s);
}

/* ---------------------------------------------------------------- terms */

static int32_t constant_of(const ef_logistic *s) {
    return s->params->intercept != 0 ? CONSTANT : 0;
}

void ef_logistic_terms_of_row(const ef_logistic *s, const float *row, int32_t *terms) {
    terms[0] = constant_of(s);
    ef_coordinates_of_row(&s->coordinates, row, terms + 1);
}

static void make_terms(const void *context, const float *values, unsigned n_rows, float *points) {
    const ef_logistic *const s = context;
    const ef_points of = ef_coordinates_points(&s->coordinates);
    for (unsigned r = 0; r < EF_PANEL; r++)
        points[r] = (float)constant_of(s);
    of.make(of.context, values, n_rows, points + EF_PANEL);
}

ef_points ef_logistic_points(const ef_logistic *s) {
    return (ef_points){s->n_terms, s, make_terms};
}

/* ---------------------------------------------------------------- classes */

static int compare_labels(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

uint32_t ef_logistic_find_class(const ef_logistic_counts *counts, int64_t label) {
    uint32_t low = 0, high = counts->n_classes;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (counts->labels[middle] < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low < counts->n_classes && counts->labels[low] == label ? low : counts->n_classes;
}

bool ef_logistic_take_classes(ef_logistic_counts *counts, size_t n) {
    counts->labels = ef_alloc_zero(n, sizeof *counts->labels);
    counts->class_rows = ef_alloc_zero(n, sizeof *counts->class_rows);
    counts->n_classes = (uint32_t)n;
    return counts->labels != NULL && counts->class_rows != NULL;
}

/* The classes of sorted labels, and how many rows each has. */
static efface_status count_sorted(const int64_t *labels, size_t n, ef_logistic_counts *counts,
                                  efface_error *error) {
    size_t n_classes = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        n_classes += labels[i] != EFFACE_NO_LABEL && (i == 0 || labels[i] != labels[i - 1]);
    if (n_classes > UINT32_MAX)
        return ef_fail(error, EFFACE_E_LIMIT, "there are more than 2^32 classes");
    if (!ef_logistic_take_classes(counts, n_classes))
        return ef_fail_memory(error);
    for (size_t i = 0; i < n; i++) {
        if (labels[i] == EFFACE_NO_LABEL)
            continue;
        at += i != 0 && labels[i] != labels[i - 1] && labels[i - 1] != EFFACE_NO_LABEL;
        counts->labels[at] = labels[i];
        counts->class_rows[at]++;
    }
    return EFFACE_OK;
}

static efface_status count_classes(const efface_data *data, ef_logistic_counts *counts,
                                   efface_error *error) {
    const size_t n = data->labels != NULL ? data->n_rows : 0;
    int64_t *const labels = ef_alloc(n, sizeof *labels);
    if (labels == NULL)
        return ef_fail_memory(error);
    if (n != 0) {
        memcpy(labels, data->labels, n * sizeof *labels);
        qsort(labels, n, sizeof *labels, compare_labels);
    }
    const efface_status status = count_sorted(labels, n, counts, error);
    ef_free(labels);
    return status;
}

/* ---------------------------------------------------------------- the lattice */

ef_lattice_basis ef_logistic_basis(const ef_logistic *s, const ef_logistic_counts *counts) {
    return ef_lattice_basis_of(counts->all.n_rows, s->n_terms, s->params);
}

double ef_logistic_width(const ef_logistic *s) {
    return s->lattice.widths[EF_N_STAGES - 1] / sqrt((double)s->params->weight_unit);
}

efface_status ef_logistic_make_lattice(ef_logistic *s, efface_error *error) {
    const ef_lattice_makings of = {.basis = ef_logistic_basis(s, &s->counts),
                                   .all = &s->counts.all,
                                   .sample = &s->sample,
                                   .exponents = s->coordinates.exponents,
                                   .alpha = s->params->alpha * (double)s->params->weight_unit,
                                   .start = ef_loss_start(s->params->loss),
                                   .seed = s->params->common.seed};
    return ef_lattice_init(&s->lattice, &of) ? EFFACE_OK : ef_fail_memory(error);
}

/* ---------------------------------------------------------------- fit */

static efface_status sum_rows(const ef_logistic *s, const efface_data *data,
                              const uint32_t *group_of, ef_moments *to, efface_error *error) {
    const efface_params *const common = &s->params->common;
    const ef_summing summing = {
        .data = data,
        .points = ef_logistic_points(s),
        .groups = to,
        .n_groups = 1,
        .group_of = group_of,
        .n_threads = common->n_threads,
        .interrupt = {common->interrupted, common->interrupt_context, NULL},
    };
    return ef_sum_up(&summing, error);
}

/* Sums up the rows that have a label, and those of the sample among them. */
static efface_status sum_all(ef_logistic *s, const efface_data *data, efface_error *error) {
    const size_t n = data->n_rows;
    uint32_t *const group_of = ef_alloc(n, sizeof *group_of);
    if (group_of == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < n; i++)
        group_of[i] = data->labels != NULL && data->labels[i] != EFFACE_NO_LABEL ? 0 : EF_NO_GROUP;
    efface_status status = sum_rows(s, data, group_of, &s->counts.all, error);
    const unsigned shift = ef_logistic_basis(s, &s->counts).shift;
    for (size_t i = 0; i < n; i++)
        if (!ef_lattice_samples(s->params->common.seed, shift, ef_data_id(data, i)))
            group_of[i] = EF_NO_GROUP;
    EF_THEN(status, sum_rows(s, data, group_of, &s->sample, error));
    ef_free(group_of);
    return status;
}

/* A fit under way: passes answer. */
typedef struct fitting {
    ef_passing *passing;
    int64_t label;
} fitting;

static efface_status answer_by_pass(void *context, uint32_t number, ef_run_point *point,
                                    const double *b, bool *known, efface_error *error) {
    const fitting *const f = context;
    (void)number;
    *known = true;
    return ef_passing_sum(f->passing, f->label, b, point, error);
}

static efface_status make_runs(ef_logistic *s, const efface_data *data, ef_progress *progress,
                               efface_error *error) {
    const uint32_t n_runs = ef_logistic_n_runs(s->counts.n_classes);
    const ef_walk_rules rules = {&s->lattice, s->params->loss, s->params->steps};
    fitting f = {NULL, 0};
    if (n_runs == 0)
        return EFFACE_OK;
    s->runs = ef_alloc_zero(n_runs, sizeof *s->runs);
    efface_status status = s->runs != NULL ? EFFACE_OK : ef_fail_memory(error);
    EF_THEN(status, ef_logistic_make_lattice(s, error));
    EF_THEN(status, ef_passing_begin(s, data, &f.passing, error));
    while (status == EFFACE_OK && s->n_runs < n_runs) {
        bool known;
        f.label = ef_logistic_class(&s->counts, s->n_runs);
        status = ef_run_walk(&rules, (ef_sums_source){answer_by_pass, &f}, &s->runs[s->n_runs],
                             &known, error);
        s->n_runs++;
        ef_tell(progress, (double)s->n_runs / (double)n_runs);
    }
    ef_passing_end(f.passing);
    return status;
}

efface_status ef_logistic_fit(const efface_data *data, const efface_params *common, void **state,
                              efface_error *error) {
    const ef_interrupt interrupt = {common->interrupted, common->interrupt_context, NULL};
    ef_progress progress = {.told = common->progress, .context = common->interrupt_context};
    ef_progress *const told = common->progress != NULL ? &progress : NULL;
    ef_logistic *s = NULL;
    if (data->part != NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "a logistic model is of one process; fit it to a set that has not joined a "
                       "group");
    efface_status status = ef_ask(&interrupt, error);
    EF_THEN(status, ef_logistic_make((const void *)common, data->n_columns, &s, error));
    EF_THEN(status, ef_coordinates_find_of(&s->coordinates, s->params->bound, data,
                                           s->coordinates.exponents, error));
    if (status == EFFACE_OK) {
        ef_coordinates_set(&s->coordinates, s->coordinates.exponents);
        s->counts.totals = (ef_totals){data->n_rows, data->total_weight};
        status = count_classes(data, &s->counts, error);
    }
    EF_THEN(status, sum_all(s, data, error));
    EF_THEN(status, make_runs(s, data, told, error));
    if (status == EFFACE_OK) {
        ef_tell(told, 1.0);
        *state = s;
    } else {
        ef_logistic_free(s);
    }
    return status;
}

uint64_t ef_logistic_visits(const ef_logistic *s, uint64_t n_rows) {
    uint64_t passes = 2;
    for (uint32_t i = 0; i < s->n_runs; i++)
        passes += s->runs[i].n_points;
    return passes * n_rows;
}

void ef_logistic_coefficients(const ef_logistic *s, uint32_t run, double *coefficients) {
    const double *const b = s->runs[run].coefficients;
    coefficients[0] = b[0];
    for (uint32_t j = 1; j < s->n_terms; j++)
        coefficients[j] = b[j] * ef_power_of_two(-s->coordinates.exponents[j - 1]);
}
