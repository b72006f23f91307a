/* The canonical bytes of `logistic`, and where two states differ. */
#include "base/errors/status.h"
#include "base/memory/list.h"
#include "base/memory/memory.h"
#include "model/logistic/logistic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "EFFACELO"
#define FORMAT 1

/* ---------------------------------------------------------------- writing */

static void write_point(ef_writer *w, const ef_run_point *point, uint32_t n) {
    ef_write_u32(w, point->stage);
    ef_write_u32(w, point->is_level);
    for (uint32_t j = 0; j < n; j++)
        ef_write_signed(w, point->steps[j]);
    ef_write_i128(w, point->loss);
    if (!point->is_level)
        return;
    for (uint32_t j = 0; j < n; j++)
        ef_write_i128(w, point->slopes[j]);
    const ef_i128 *at = point->curvatures;
    for (uint32_t j = 0; at != NULL && j < n; j++) {
        ef_write_cut(w);
        for (uint32_t l = j; l < n; l++)
            ef_write_i128(w, *at++);
    }
}

void ef_logistic_write(ef_writer *w, const void *state) {
    const ef_logistic *const s = state;
    const ef_logistic_counts *const counts = &s->counts;
    ef_write_bytes(w, MAGIC, sizeof MAGIC - 1);
    ef_write_u32(w, FORMAT);
    ef_write_u32(w, s->coordinates.n_columns);
    ef_write_u64(w, counts->totals.n_rows);
    ef_write_u64(w, (uint64_t)counts->totals.total_weight);
    for (uint32_t j = 0; j < s->coordinates.n_columns; j++)
        ef_write_u32(w, (uint32_t)s->coordinates.exponents[j]);
    ef_write_u32(w, counts->n_classes);
    for (uint32_t c = 0; c < counts->n_classes; c++) {
        ef_write_u64(w, (uint64_t)counts->labels[c]);
        ef_write_u64(w, counts->class_rows[c]);
    }
    ef_moments_write(w, &counts->all);
    ef_write_cut(w);
    ef_moments_write(w, &s->sample);
    for (uint32_t r = 0; r < s->n_runs; r++) {
        ef_write_cut(w);
        ef_write_u32(w, s->runs[r].n_points);
        for (uint32_t i = 0; i < s->runs[r].n_points; i++) {
            ef_write_cut(w);
            write_point(w, &s->runs[r].points[i], s->n_terms);
        }
    }
}

/* ---------------------------------------------------------------- reading */

static efface_status read_exponents(ef_decoder *r, ef_logistic *s, efface_error *error) {
    bool ok = true;
    for (uint32_t j = 0; j < s->coordinates.n_columns; j++) {
        const int32_t exponent = (int32_t)ef_read_u32(r);
        ok &= exponent >= EF_EXPONENT_MIN && exponent <= EF_EXPONENT_MAX;
        s->coordinates.exponents[j] = exponent;
    }
    if (r->failed || !ok)
        return ef_fail_state(error, "an exponent");
    ef_coordinates_set(&s->coordinates, s->coordinates.exponents);
    return EFFACE_OK;
}

static efface_status read_classes(ef_decoder *r, ef_logistic_counts *counts, efface_error *error) {
    const uint32_t n = ef_read_u32(r);
    uint64_t n_rows = 0;
    if (r->failed || !ef_decoder_has(r, n, 16))
        return ef_fail_state(error, "the number of classes");
    if (!ef_logistic_take_classes(counts, n))
        return ef_fail_memory(error);
    for (uint32_t c = 0; c < n; c++) {
        const int64_t label = (int64_t)ef_read_u64(r);
        const uint64_t rows = ef_read_u64(r);
        counts->labels[c] = label;
        counts->class_rows[c] = rows;
        n_rows += rows;
        if (label == EFFACE_NO_LABEL || (c != 0 && label <= counts->labels[c - 1]) || rows == 0 ||
            rows > counts->totals.n_rows || n_rows > counts->totals.n_rows)
            return ef_fail_state(error, "a class");
    }
    return EFFACE_OK;
}

static efface_status read_moments(ef_decoder *r, uint32_t n, efface_summed summed, ef_moments *to,
                                  efface_error *error) {
    bool short_of_memory = false;
    ef_moments_free(to);
    if (ef_moments_read(r, n, summed, to, &short_of_memory))
        return EFFACE_OK;
    return short_of_memory ? ef_fail_memory(error) : ef_fail_state(error, "a sum");
}

static efface_status read_sums(ef_decoder *r, ef_logistic *s, efface_error *error) {
    ef_logistic_counts *const counts = &s->counts;
    uint64_t n_rows = 0;
    for (uint32_t c = 0; c < counts->n_classes; c++)
        n_rows += counts->class_rows[c];
    efface_status status = read_moments(r, s->n_terms, EFFACE_SUMMED_DIAGONAL, &counts->all, error);
    EF_THEN(status, read_moments(r, s->n_terms, EFFACE_SUMMED_FULL, &s->sample, error));
    if (status == EFFACE_OK &&
        (counts->all.n_rows != n_rows || counts->all.weight > counts->totals.total_weight ||
         s->sample.n_rows > n_rows || s->sample.weight > counts->all.weight))
        status = ef_fail_state(error, "the rows of classes");
    return status;
}

static efface_status read_level(ef_decoder *r, uint32_t n, ef_run_point *point,
                                efface_error *error) {
    const size_t n_pairs = ef_stage_bends(point->stage) ? ef_n_pairs(n) : 0;
    if (!ef_decoder_has(r, n + n_pairs, sizeof(ef_i128)))
        return ef_fail_state(error, "the sums at a point");
    if (!ef_run_point_take(point, n))
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < n; j++)
        point->slopes[j] = ef_read_i128(r);
    for (size_t i = 0; i < n_pairs; i++)
        point->curvatures[i] = ef_read_i128(r);
    return EFFACE_OK;
}

/* A row adds at most 2^62 to a loss. */
static bool loss_is_right(ef_i128 loss, int64_t weight) {
    return loss >= 0 && loss <= (ef_i128)((ef_u128)weight << 62);
}

static efface_status read_point(ef_decoder *r, const ef_logistic *s, ef_run_point *point,
                                efface_error *error) {
    const uint32_t n = s->n_terms, stage = ef_read_u32(r), is_level = ef_read_u32(r);
    bool ok = !r->failed && stage < EF_N_STAGES && is_level <= 1 && ef_decoder_has(r, n, 1);
    if (!ok)
        return ef_fail_state(error, "a point");
    *point = (ef_run_point){
        .stage = stage, .is_level = is_level != 0, .steps = ef_alloc_zero(n, sizeof *point->steps)};
    if (point->steps == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < n; j++) {
        point->steps[j] = ef_read_signed(r);
        ok &= point->steps[j] > -EF_STEPS_MAX && point->steps[j] < EF_STEPS_MAX;
    }
    point->loss = ef_read_i128(r);
    if (r->failed || !ok || !loss_is_right(point->loss, s->counts.all.weight))
        return ef_fail_state(error, "a point");
    return point->is_level ? read_level(r, n, point, error) : EFFACE_OK;
}

static efface_status read_run(ef_decoder *r, const ef_logistic *s, ef_newton_run *run,
                              efface_error *error) {
    const uint32_t n = ef_read_u32(r);
    bool short_of_memory = false;
    if (r->failed || !ef_decoder_has(r, n, 24))
        return ef_fail_state(error, "the number of points");
    if (!ef_list_reserve(&run->points, &run->capacity, 0, n, sizeof *run->points))
        return ef_fail_memory(error);
    for (uint32_t i = 0; i < n; i++) {
        run->points[i] = (ef_run_point){0};
        run->n_points = i + 1;
        const efface_status status = read_point(r, s, &run->points[i], error);
        if (status != EFFACE_OK)
            return status;
    }
    if (ef_run_settle(&s->lattice, run, &short_of_memory))
        return EFFACE_OK;
    return short_of_memory ? ef_fail_memory(error) : ef_fail_state(error, "a point");
}

static efface_status read_runs(ef_decoder *r, ef_logistic *s, efface_error *error) {
    const uint32_t n = ef_logistic_n_runs(s->counts.n_classes);
    if (n == 0)
        return EFFACE_OK;
    if (!ef_decoder_has(r, n, 4))
        return ef_fail_state(error, "the number of classes");
    s->runs = ef_alloc_zero(n, sizeof *s->runs);
    efface_status status = s->runs != NULL ? EFFACE_OK : ef_fail_memory(error);
    EF_THEN(status, ef_logistic_make_lattice(s, error));
    while (status == EFFACE_OK && s->n_runs < n) {
        status = read_run(r, s, &s->runs[s->n_runs], error);
        s->n_runs++;
    }
    return status;
}

static efface_status read_body(ef_decoder *r, ef_logistic *s, efface_error *error) {
    ef_totals *const totals = &s->counts.totals;
    totals->n_rows = ef_read_u64(r);
    totals->total_weight = (int64_t)ef_read_u64(r);
    if (r->failed || totals->total_weight < 0 || totals->total_weight >= EFFACE_MAX_WEIGHT ||
        totals->n_rows > (uint64_t)totals->total_weight)
        return ef_fail_state(error, "a total");
    efface_status status = read_exponents(r, s, error);
    EF_THEN(status, read_classes(r, &s->counts, error));
    EF_THEN(status, read_sums(r, s, error));
    return status == EFFACE_OK ? read_runs(r, s, error) : status;
}

efface_status ef_logistic_read(ef_decoder *r, const efface_params *params, uint32_t d, void **state,
                               efface_error *error) {
    char magic[sizeof MAGIC - 1];
    ef_read_bytes(r, magic, sizeof magic);
    const uint32_t format = ef_read_u32(r), n_columns = ef_read_u32(r);
    if (r->failed || memcmp(magic, MAGIC, sizeof magic) != 0 || format != FORMAT)
        return ef_fail(error, EFFACE_E_FORMAT, "these bytes are not the state of a model");
    if (n_columns != d)
        return ef_fail_state(error, "the number of columns");
    ef_logistic *s = NULL;
    efface_status status = ef_logistic_make((const void *)params, d, &s, error);
    if (status != EFFACE_OK)
        return status;
    status = read_body(r, s, error);
    if (status == EFFACE_OK)
        *state = s;
    else
        ef_logistic_free(s);
    return status;
}

efface_status ef_logistic_attach(void *state, const efface_data *data, efface_error *error) {
    const ef_logistic *const s = state;
    const uint32_t d = s->coordinates.n_columns;
    if (data->part != NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "a logistic model is of one process, and not of a set that has joined a "
                       "group");
    int32_t *const exponents = ef_alloc(d, sizeof *exponents);
    efface_status status =
        exponents != NULL
            ? ef_coordinates_find_of(&s->coordinates, s->params->bound, data, exponents, error)
            : ef_fail_memory(error);
    if (status == EFFACE_OK &&
        memcmp(exponents, s->coordinates.exponents, d * sizeof *exponents) != 0)
        status = ef_fail_state(error, "it belongs to other rows");
    ef_free(exponents);
    return status;
}

/* ---------------------------------------------------------------- where two differ */

static const char *points_differ(const ef_run_point *a, const ef_run_point *b, uint32_t n) {
    if (a->stage != b->stage || memcmp(a->steps, b->steps, n * sizeof *a->steps) != 0)
        return "point";
    if (a->loss != b->loss || a->is_level != b->is_level)
        return "loss";
    if (!a->is_level)
        return NULL;
    if (memcmp(a->slopes, b->slopes, n * sizeof *a->slopes) != 0)
        return "slope";
    if (a->curvatures == NULL || b->curvatures == NULL)
        return NULL;
    return memcmp(a->curvatures, b->curvatures, ef_n_pairs(n) * sizeof *a->curvatures) != 0
               ? "curvature"
               : NULL;
}

static bool locate_run(const ef_logistic *x, const ef_logistic *y, uint32_t r,
                       efface_difference *difference) {
    const ef_newton_run *const a = &x->runs[r], *const b = &y->runs[r];
    for (uint32_t i = 0; i < a->n_points || i < b->n_points; i++) {
        const char *const what = i < a->n_points && i < b->n_points
                                     ? points_differ(&a->points[i], &b->points[i], x->n_terms)
                                     : "point";
        if (what == NULL)
            continue;
        difference->what = what;
        (void)snprintf(difference->where, sizeof difference->where,
                       "class %" PRId64 ", point %" PRIu32, ef_logistic_class(&x->counts, r),
                       i + 1);
        return true;
    }
    return false;
}

static bool classes_differ(const ef_logistic_counts *a, const ef_logistic_counts *b) {
    bool differ = a->n_classes != b->n_classes;
    for (uint32_t c = 0; !differ && c < a->n_classes; c++)
        differ = a->labels[c] != b->labels[c] || a->class_rows[c] != b->class_rows[c];
    return differ;
}

void ef_logistic_locate(const void *a, const void *b, efface_difference *difference) {
    const ef_logistic *const x = a, *const y = b;
    uint32_t j = 0, l = 0;
    difference->what = "a total";
    if (x->n_terms != y->n_terms)
        return;
    for (uint32_t i = 0; i < x->coordinates.n_columns; i++)
        if (x->coordinates.exponents[i] != y->coordinates.exponents[i]) {
            difference->what = "exponent";
            (void)snprintf(difference->where, sizeof difference->where, "column %" PRIu32, i + 1);
            return;
        }
    if (classes_differ(&x->counts, &y->counts)) {
        difference->what = "class";
        return;
    }
    if (ef_moments_differ(&x->counts.all, &y->counts.all, &j, &l) ||
        ef_moments_differ(&x->sample, &y->sample, &j, &l)) {
        difference->what = "sum";
        if (j == 0)
            (void)snprintf(difference->where, sizeof difference->where, "the constant");
        else
            (void)snprintf(difference->where, sizeof difference->where, "column %" PRIu32, j);
        return;
    }
    for (uint32_t r = 0; r < x->n_runs && r < y->n_runs; r++)
        if (locate_run(x, y, r, difference))
            return;
}
