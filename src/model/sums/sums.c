/* The state of `sums`: made from rows, changed with them, written and read. */
#include "model/sums/sums.h"

#include "base/checked.h"
#include "base/interrupt.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "EFFACESU"
#define FORMAT 1
#define VALUES_BETWEEN_QUESTIONS 200000 /* a millisecond or so */

static const char bound_moved[] = "the bound of a column's grid moved";

/* ---------------------------------------------------------------- the grid */

/* The exponents of the columns, given the smallest and largest value of each; or LIMIT for values
 * beyond the bound that was given. */
static efface_status find_exponents(const efface_sums_params *params, uint32_t d, bool has_rows,
                                    const float *least, const float *most, int32_t *exponents,
                                    efface_error *error) {
    const float bound = (float)params->bound;
    int32_t of_bound = EF_EXPONENT_MIN;
    while (ef_power_of_two(of_bound) < params->bound)
        of_bound++;
    for (uint32_t j = 0; j < d; j++) {
        const float low = has_rows ? least[j] : 0.0F, high = has_rows ? most[j] : 0.0F;
        if (params->bound > 0.0 && (low < -bound || high > bound))
            return ef_fail(error, EFFACE_E_LIMIT,
                           "the values of column %" PRIu32
                           " are from %g to %g, beyond the bound %g; give a larger bound or none",
                           j + 1, (double)low, (double)high, params->bound);
        exponents[j] = params->bound > 0.0 ? of_bound : ef_exponent(-low > high ? -low : high);
    }
    return EFFACE_OK;
}

/* The same for the rows of a set, whatever ranges are stale. */
static efface_status find_exponents_of(const efface_sums_params *params, const efface_data *data,
                                       int32_t *exponents, efface_error *error) {
    const uint32_t d = data->n_columns;
    float *const ranges = ef_alloc(2 * (size_t)d, sizeof *ranges);
    if (ranges == NULL)
        return ef_fail_memory(error);
    ef_data_column_ranges(data, ranges, ranges + d);
    const efface_status status =
        find_exponents(params, d, data->n_rows != 0, ranges, ranges + d, exponents, error);
    ef_free(ranges);
    return status;
}

/* ---------------------------------------------------------------- fit */

/* Sums of no rows; NULL if memory is short. */
static ef_sums *make(const efface_sums_params *params, uint32_t d) {
    ef_sums *const made = ef_alloc_zero(1, sizeof *made);
    if (made == NULL)
        return NULL;
    *made = (ef_sums){.params = *params,
                      .n_columns = d,
                      .exponents = ef_alloc_zero(d, sizeof *made->exponents),
                      .sums = ef_alloc_zero(d, sizeof *made->sums)};
    if (made->exponents != NULL && made->sums != NULL)
        return made;
    ef_sums_free(made);
    return NULL;
}

void ef_sums_free(void *state) {
    ef_sums *const s = state;
    if (s == NULL)
        return;
    ef_free(s->exponents);
    ef_free(s->sums);
    ef_free(s);
}

/* Adds a row, whose values are EF_PANEL floats apart, so many times. On the way, and in a state
 * that was made of damaged bytes, a sum may leave its range: it wraps around, and comes back. */
static void add_row(ef_sums *s, const float *row, int64_t weight) {
    for (uint32_t j = 0; j < s->n_columns; j++) {
        const int32_t g = ef_snap(row[(size_t)j * EF_PANEL], 0.0F, ef_step_bound(s->exponents[j]));
        s->sums[j] = (int64_t)((uint64_t)s->sums[j] + (uint64_t)(weight * g));
    }
}

efface_status ef_sums_fit(const efface_data *data, const efface_params *common, void **state,
                          efface_error *error) {
    const efface_sums_params *const params = (const void *)common;
    const ef_interrupt interrupt = {common->interrupted, common->interrupt_context, NULL};
    const size_t pause = VALUES_BETWEEN_QUESTIONS / data->n_columns + 1;
    ef_sums *const s = make(params, data->n_columns);
    efface_status status =
        s != NULL ? find_exponents_of(params, data, s->exponents, error) : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < data->n_rows; i++) {
        if (i % pause == 0) {
            status = ef_ask(&interrupt, error);
            if (common->progress != NULL)
                common->progress(common->interrupt_context, (double)i / (double)data->n_rows);
        }
        add_row(s, ef_data_first(data, i), ef_data_weight(data, i));
    }
    if (status != EFFACE_OK) {
        ef_sums_free(s);
        return status;
    }
    if (common->progress != NULL)
        common->progress(common->interrupt_context, 1.0);
    s->totals = (ef_totals){data->n_rows, data->total_weight};
    *state = s;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- follow */

efface_status ef_sums_follow(void *state, const ef_news *news, void **next, bool *done,
                             efface_report *report, efface_error *error) {
    const ef_sums *const s = state;
    const ef_counts *const counts = news->counts;
    const size_t d = s->n_columns;
    ef_sums *const made = make(&s->params, s->n_columns);
    efface_status status =
        made != NULL
            ? find_exponents(&s->params, s->n_columns, counts->n_rows != 0, counts->ranges.least,
                             counts->ranges.most, made->exponents, error)
            : ef_fail_memory(error);
    if (status != EFFACE_OK) {
        ef_sums_free(made);
        return status;
    }
    const bool refits = memcmp(made->exponents, s->exponents, d * sizeof *s->exponents) != 0;
    *done = news->only_look || !refits || news->rows != NULL;
    report->action = refits ? EFFACE_ACTION_REFITTED : EFFACE_ACTION_UNTOUCHED;
    report->reason = refits ? bound_moved : ef_because_nothing;
    report->rows_visited = refits ? counts->n_rows : 0;
    if (refits || news->only_look) {
        ef_sums_free(made);
        return *done && !news->only_look ? ef_sums_fit(news->rows, &s->params.common, next, error)
                                         : EFFACE_OK;
    }
    memcpy(made->sums, s->sums, d * sizeof *made->sums);
    made->totals = (ef_totals){counts->n_rows, counts->total_weight};
    for (size_t i = 0; i < news->change->n_rows; i++)
        add_row(made, ef_change_first(news->change, i), ef_change_weight(news->change, i));
    *next = made;
    return EFFACE_OK;
}

void ef_sums_commit(void *state, void *next) {
    ef_sums *const now = state, *const to_be = next;
    const ef_sums was = *now;
    *now = *to_be;
    *to_be = was;
    ef_sums_free(to_be);
}

/* ---------------------------------------------------------------- canonical bytes */

void ef_sums_write(ef_writer *w, const void *state) {
    const ef_sums *const s = state;
    ef_write_bytes(w, MAGIC, sizeof MAGIC - 1);
    ef_write_u32(w, FORMAT);
    ef_write_u32(w, s->n_columns);
    ef_write_u64(w, s->totals.n_rows);
    ef_write_u64(w, (uint64_t)s->totals.total_weight);
    for (uint32_t j = 0; j < s->n_columns; j++)
        ef_write_u32(w, (uint32_t)s->exponents[j]);
    for (uint32_t j = 0; j < s->n_columns; j++)
        ef_write_u64(w, (uint64_t)s->sums[j]);
}

static efface_status damaged(efface_error *error, const char *what) {
    return ef_fail(error, EFFACE_E_FORMAT,
                   "the state of the model is damaged or was made with other parameters: %s", what);
}

efface_status ef_sums_read(ef_decoder *r, const efface_params *params, uint32_t d, void **state,
                           efface_error *error) {
    char magic[sizeof MAGIC - 1];
    ef_read_bytes(r, magic, sizeof magic);
    const uint32_t format = ef_read_u32(r), n_columns = ef_read_u32(r);
    ef_totals totals = {.n_rows = ef_read_u64(r)};
    totals.total_weight = (int64_t)ef_read_u64(r);
    if (r->failed || memcmp(magic, MAGIC, sizeof magic) != 0 || format != FORMAT)
        return ef_fail(error, EFFACE_E_FORMAT, "these bytes are not the state of a model");
    if (n_columns != d || totals.total_weight < 0 || totals.total_weight >= EFFACE_MAX_WEIGHT ||
        totals.n_rows > (uint64_t)totals.total_weight ||
        !ef_decoder_has(r, d, sizeof(int32_t) + sizeof(int64_t)))
        return damaged(error, "a total");
    ef_sums *const s = make((const efface_sums_params *)(const void *)params, d);
    if (s == NULL)
        return ef_fail_memory(error);
    s->totals = totals;
    bool right = true;
    for (uint32_t j = 0; j < d; j++) {
        s->exponents[j] = (int32_t)ef_read_u32(r);
        right &= s->exponents[j] >= EF_EXPONENT_MIN && s->exponents[j] <= EF_EXPONENT_MAX;
    }
    for (uint32_t j = 0; j < d; j++) {
        const int64_t most = totals.total_weight * EF_GRID_MAX;
        s->sums[j] = (int64_t)ef_read_u64(r);
        right &= s->sums[j] >= -most && s->sums[j] <= most;
    }
    if (!right) {
        ef_sums_free(s);
        return damaged(error, "an exponent or a sum");
    }
    *state = s;
    return EFFACE_OK;
}

efface_status ef_sums_attach(void *state, const efface_data *data, efface_error *error) {
    const ef_sums *const s = state;
    int32_t *const exponents = ef_alloc(s->n_columns, sizeof *exponents);
    efface_status status = exponents != NULL ? find_exponents_of(&s->params, data, exponents, error)
                                             : ef_fail_memory(error);
    if (status == EFFACE_OK &&
        memcmp(exponents, s->exponents, s->n_columns * sizeof *exponents) != 0)
        status = damaged(error, "it belongs to other rows");
    ef_free(exponents);
    return status;
}

/* ---------------------------------------------------------------- looking */

void ef_sums_locate(const void *a, const void *b, efface_difference *difference) {
    const ef_sums *const x = a, *const y = b;
    difference->what = "a total";
    for (uint32_t j = 0; j < x->n_columns && x->n_columns == y->n_columns; j++) {
        const bool other_exponent = x->exponents[j] != y->exponents[j];
        if (!other_exponent && x->sums[j] == y->sums[j])
            continue;
        difference->what = other_exponent ? "exponent" : "sum";
        (void)snprintf(difference->where, sizeof difference->where, "column %" PRIu32, j + 1);
        return;
    }
}

double ef_sums_mean(const ef_sums *s, uint32_t column) {
    return (double)s->sums[column] / (double)s->totals.total_weight /
           (double)ef_step_bound(s->exponents[column]);
}
