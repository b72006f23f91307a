/* A family for tests (tally_family.h). Its state is made of what is counted of rows, so that a
 * model that follows changes without rows, with them or not at all shows what became of the counts.
 */
#include "law/tally_family.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/family.h"

#include <string.h>

#define MOST_COLUMNS 16

uint32_t tally_definition = 1;

typedef struct tally {
    tally_params params;
    ef_totals totals;
    uint32_t d;
    float least[MOST_COLUMNS], most[MOST_COLUMNS];
    uint64_t n_missing[MOST_COLUMNS];
} tally;

tally_params tally_defaults(void) {
    return (tally_params){.common = {.version = 1, .family = TALLY_FAMILY},
                          .missing = 1,
                          .category = EFFACE_NO_COLUMN};
}

/* ---------------------------------------------------------------- parameters */

static efface_status check_params(const efface_params *params, efface_error *error) {
    return params->family == TALLY_FAMILY
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_ARGUMENT, "the parameters are of another family");
}

static efface_params *copy_params(const efface_params *params, uint32_t n_columns) {
    (void)n_columns;
    tally_params *const copy = ef_alloc(1, sizeof *copy);
    if (copy == NULL)
        return NULL;
    memcpy(copy, params, sizeof *copy);
    return &copy->common;
}

static void write_params(ef_writer *w, const efface_params *params, uint32_t n_columns) {
    const tally_params *const p = (const void *)params;
    (void)n_columns;
    ef_write_u64(w, p->common.seed);
    ef_write_u32(w, p->missing);
    ef_write_u32(w, p->needs_rows);
    ef_write_u32(w, p->category);
}

static efface_status read_params(ef_decoder *r, uint32_t n_columns, efface_params **out,
                                 efface_error *error) {
    tally_params p = tally_defaults();
    p.common.seed = ef_read_u64(r);
    p.missing = ef_read_u32(r);
    p.needs_rows = ef_read_u32(r);
    p.category = ef_read_u32(r);
    if (r->failed)
        return ef_fail(error, EFFACE_E_FORMAT, "parameters are incomplete");
    *out = copy_params(&p.common, n_columns);
    return *out != NULL ? EFFACE_OK : ef_fail_memory(error);
}

static void say_nothing(const efface_params *params, ef_listener to) {
    (void)params;
    (void)to;
}

static bool takes_missing(const efface_params *params) {
    return ((const tally_params *)(const void *)params)->missing != 0;
}

static uint32_t categories(const efface_params *params, uint32_t *columns, uint32_t capacity) {
    const tally_params *const p = (const void *)params;
    if (p->category == EFFACE_NO_COLUMN)
        return 0;
    if (capacity != 0)
        columns[0] = p->category;
    return 1;
}

/* ---------------------------------------------------------------- the state */

static void take_ranges(tally *t, const ef_counts *counts) {
    t->totals = (ef_totals){counts->n_rows, counts->total_weight};
    for (uint32_t j = 0; j < t->d; j++) {
        t->least[j] = ef_counts_least(counts, j);
        t->most[j] = ef_counts_most(counts, j);
    }
}

static efface_status fit(const efface_data *data, const efface_params *params, void **state,
                         efface_error *error) {
    ef_counts counts;
    tally *const t = ef_alloc_zero(1, sizeof *t);
    if (t == NULL || data->n_columns > MOST_COLUMNS || !ef_data_count(data, &counts)) {
        ef_free(t);
        return ef_fail_memory(error);
    }
    memcpy(&t->params, params, sizeof t->params);
    t->d = data->n_columns;
    take_ranges(t, data->part != NULL ? ef_data_whole(data) : &counts);
    ef_counts_free(&counts);
    int64_t n_missing[MOST_COLUMNS] = {0};
    for (size_t i = 0; i < data->n_rows; i++)
        for (uint32_t j = 0; j < t->d; j++)
            n_missing[j] += ef_data_value(data, i, j) != ef_data_value(data, i, j);
    const efface_status status = ef_team_sum(ef_data_team(data), n_missing, t->d, error);
    for (uint32_t j = 0; j < t->d; j++)
        t->n_missing[j] = (uint64_t)n_missing[j];
    if (status == EFFACE_OK)
        *state = t;
    else
        ef_free(t);
    return status;
}

static void free_state(void *state) {
    ef_free(state);
}

static const efface_params *params_of(const void *state) {
    return &((const tally *)state)->params.common;
}

static ef_totals totals_of(const void *state) {
    return ((const tally *)state)->totals;
}

static size_t n_bytes(const void *state) {
    return sizeof *(const tally *)state;
}

static uint64_t n_visited(const void *state, const efface_data *data) {
    (void)state;
    return data->n_rows;
}

static void describe(const void *state, ef_listener to) {
    (void)state;
    (void)to;
}

static efface_status follow(void *state, const ef_news *news, void **next, bool *done,
                            efface_report *report, efface_error *error) {
    const tally *const t = state;
    (void)report;
    *done = t->params.needs_rows == 0 || news->rows != NULL;
    if (!*done || news->only_look)
        return EFFACE_OK;
    tally *const made = ef_alloc(1, sizeof *made);
    if (made == NULL)
        return ef_fail_memory(error);
    *made = *t;
    take_ranges(made, news->counts);
    for (size_t i = 0; i < news->change->n_rows; i++)
        for (uint32_t j = 0; j < t->d; j++) {
            const float x = ef_change_first(news->change, i)[(size_t)j * EF_PANEL];
            made->n_missing[j] += x == x ? 0 : news->change->leaves[i] ? UINT64_MAX : 1;
        }
    *next = made;
    return EFFACE_OK;
}

static void commit(void *state, void *next) {
    memcpy(state, next, sizeof(tally));
    ef_free(next);
}

static void write_state(ef_writer *w, const void *state) {
    const tally *const t = state;
    ef_write_u32(w, tally_definition);
    ef_write_u64(w, t->totals.n_rows);
    ef_write_u64(w, (uint64_t)t->totals.total_weight);
    for (uint32_t j = 0; j < t->d; j++) {
        ef_write_f32(w, t->least[j]);
        ef_write_f32(w, t->most[j]);
        ef_write_u64(w, t->n_missing[j]);
    }
}

static efface_status read_state(ef_decoder *r, const efface_params *params, uint32_t n_columns,
                                void **state, efface_error *error) {
    tally *const t = ef_alloc_zero(1, sizeof *t);
    if (t == NULL || n_columns > MOST_COLUMNS) {
        ef_free(t);
        return ef_fail_memory(error);
    }
    if (ef_read_u32(r) != tally_definition) {
        ef_free(t);
        return ef_fail(error, EFFACE_E_FORMAT, "the state is of another definition");
    }
    memcpy(&t->params, params, sizeof t->params);
    t->d = n_columns;
    t->totals.n_rows = ef_read_u64(r);
    t->totals.total_weight = (int64_t)ef_read_u64(r);
    for (uint32_t j = 0; j < n_columns; j++) {
        t->least[j] = ef_read_f32(r);
        t->most[j] = ef_read_f32(r);
        t->n_missing[j] = ef_read_u64(r);
    }
    *state = t;
    return EFFACE_OK;
}

static efface_status attach(void *state, const efface_data *data, efface_error *error) {
    void *fresh = NULL;
    const efface_status status = fit(data, &((const tally *)state)->params.common, &fresh, error);
    if (status != EFFACE_OK)
        return status;
    const bool same = memcmp(((tally *)fresh)->n_missing, ((tally *)state)->n_missing,
                             sizeof((tally *)state)->n_missing) == 0;
    ef_free(fresh);
    return same ? EFFACE_OK : ef_fail(error, EFFACE_E_FORMAT, "the state is of other rows");
}

static bool is_outdated(const unsigned char *bytes, size_t n) {
    ef_decoder r = {.bytes = bytes, .n_bytes = n};
    const uint32_t definition = ef_read_u32(&r);
    return !r.failed && definition < tally_definition;
}

static void locate(const void *a, const void *b, efface_difference *difference) {
    (void)a;
    (void)b;
    difference->what = "tally";
}

/* ---------------------------------------------------------------- prediction */

static bool predicts_missing(const void *predictor) {
    const tally *t;
    memcpy(&t, predictor, sizeof t);
    return t->params.missing != 0;
}

static void lend(const void *state, ef_lent *room) {
    room->pointer = (void *)(uintptr_t)state;
}

static efface_predicts predicts(const void *predictor, uint32_t *n_numbers) {
    (void)predictor;
    *n_numbers = 1;
    return EFFACE_PREDICTS_VALUES;
}

/* How many values of a row are missing. */
static efface_status predict(const void *predictor, size_t n_rows, const float *values,
                             size_t stride, efface_number *numbers, efface_error *error) {
    const tally *t;
    memcpy(&t, predictor, sizeof t);
    (void)error;
    for (size_t i = 0; i < n_rows; i++) {
        numbers[i].real = 0.0;
        for (uint32_t j = 0; j < t->d; j++)
            numbers[i].real += values[i * stride + j] != values[i * stride + j];
    }
    return EFFACE_OK;
}

static bool no_table(const void *predictor, uint32_t number, efface_table *table) {
    (void)predictor;
    (void)number;
    (void)table;
    return false;
}

static const char *kind_of(const efface_params *params, const void *by) {
    (void)params, (void)by;
    return "tally";
}

static const ef_family tally_family = {
    .number = TALLY_FAMILY,
    .name = "tally",
    .check_params = check_params,
    .copy_params = copy_params,
    .write_params = write_params,
    .read_params = read_params,
    .describe_params = say_nothing,
    .kind = kind_of,
    .takes_missing = takes_missing,
    .predicts_missing = predicts_missing,
    .categories = categories,
    .fit = fit,
    .free = free_state,
    .params = params_of,
    .totals = totals_of,
    .n_bytes = n_bytes,
    .n_visited = n_visited,
    .describe = describe,
    .follow = follow,
    .commit = commit,
    .drop = free_state,
    .write = write_state,
    .read = read_state,
    .attach = attach,
    .is_outdated = is_outdated,
    .locate = locate,
    .lend = lend,
    .predicts = predicts,
    .predict = predict,
    .table = no_table,
};

/* ---------------------------------------------------------------- the library knows it */

const ef_family *__real_ef_family_of(efface_family number);
const ef_family *__wrap_ef_family_of(efface_family number);
const ef_family *__real_ef_family_named(const char *name);
const ef_family *__wrap_ef_family_named(const char *name);
efface_status __real_ef_family_check(const efface_params *params, const ef_family **family,
                                     efface_error *error);
efface_status __wrap_ef_family_check(const efface_params *params, const ef_family **family,
                                     efface_error *error);

const ef_family *__wrap_ef_family_of(efface_family number) {
    return number == TALLY_FAMILY ? &tally_family : __real_ef_family_of(number);
}

const ef_family *__wrap_ef_family_named(const char *name) {
    return strcmp(name, tally_family.name) == 0 ? &tally_family : __real_ef_family_named(name);
}

efface_status __wrap_ef_family_check(const efface_params *params, const ef_family **family,
                                     efface_error *error) {
    if (params == NULL || params->family != TALLY_FAMILY)
        return __real_ef_family_check(params, family, error);
    *family = &tally_family;
    return EFFACE_OK;
}
