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
#define ROWS_BETWEEN_QUESTIONS 4096

static const char bound_moved[] = "the bound of the grid moved";

/* ---------------------------------------------------------------- fit */

static ef_bounds bounds_of(const efface_sums_params *params) {
    return (ef_bounds){.scale = EFFACE_SCALE_NONE, .bound = params->bound};
}

/* Sums of no rows in a domain, which they then own; NULL if memory is short. */
static ef_sums *make(const efface_sums_params *params, const ef_domain *domain) {
    ef_sums *const made = ef_alloc_zero(1, sizeof *made);
    int64_t *const sums = ef_alloc_zero(domain->map.n_columns, sizeof *sums);
    if (made == NULL || sums == NULL) {
        ef_free(made);
        ef_free(sums);
        return NULL;
    }
    *made = (ef_sums){.params = *params, .domain = *domain, .sums = sums};
    return made;
}

void ef_sums_free(void *state) {
    ef_sums *const s = state;
    if (s == NULL)
        return;
    ef_domain_free(&s->domain);
    ef_free(s->sums);
    ef_free(s);
}

/* Adds a row, whose values are EF_PANEL floats apart, so many times. */
static void add_row(ef_sums *s, const float *row, int64_t weight) {
    const ef_map *const map = &s->domain.map;
    for (uint32_t j = 0; j < map->n_columns; j++)
        s->sums[j] += weight * ef_snap(row[(size_t)j * EF_PANEL], map->low[j], map->step[j]);
}

efface_status ef_sums_fit(const efface_data *data, const efface_params *common, void **state,
                          efface_error *error) {
    const efface_sums_params *const params = (const void *)common;
    const ef_interrupt interrupt = {common->interrupted, common->interrupt_context, NULL};
    ef_domain domain;
    efface_status status = ef_domain_of(&domain, data, bounds_of(params), error);
    if (status != EFFACE_OK)
        return status;
    ef_sums *const s = make(params, &domain);
    if (s == NULL) {
        ef_domain_free(&domain);
        return ef_fail_memory(error);
    }
    s->totals = (ef_totals){data->n_rows, data->total_weight};
    for (size_t i = 0; status == EFFACE_OK && i < data->n_rows; i++) {
        if (i % ROWS_BETWEEN_QUESTIONS == 0) {
            status = ef_ask(&interrupt, error);
            if (common->progress != NULL)
                common->progress(common->interrupt_context, (double)i / (double)data->n_rows);
        }
        add_row(s, ef_data_first(data, i), ef_data_weight(data, i));
    }
    if (status == EFFACE_OK && common->progress != NULL)
        common->progress(common->interrupt_context, 1.0);
    if (status == EFFACE_OK)
        *state = s;
    else
        ef_sums_free(s);
    return status;
}

/* ---------------------------------------------------------------- follow */

/* The sums after a change, beside those that there are. */
static ef_sums *make_next(const ef_sums *s, const ef_news *news, const ef_domain *domain) {
    ef_sums *const next = make(&s->params, domain);
    if (next == NULL)
        return NULL;
    memcpy(next->sums, s->sums, domain->map.n_columns * sizeof *next->sums);
    next->totals = (ef_totals){news->counts->n_rows, news->counts->total_weight};
    for (size_t i = 0; i < news->change->n_rows; i++)
        add_row(next, ef_change_first(news->change, i), ef_change_weight(news->change, i));
    return next;
}

efface_status ef_sums_follow(void *state, const ef_news *news, void **next, bool *done,
                             efface_report *report, efface_error *error) {
    const ef_sums *const s = state;
    ef_domain domain;
    const efface_status status =
        ef_domain_init(&domain, news->counts, bounds_of(&s->params), error);
    if (status != EFFACE_OK)
        return status;
    const bool refits = domain.exponent != s->domain.exponent;
    *done = news->only_look || !refits || news->rows != NULL;
    report->action = refits ? EFFACE_ACTION_REFITTED : EFFACE_ACTION_UNTOUCHED;
    report->reason = refits ? bound_moved : ef_because_nothing;
    report->rows_visited = refits ? news->counts->n_rows : 0;
    if (!*done || news->only_look || refits) {
        ef_domain_free(&domain);
        return *done && !news->only_look ? ef_sums_fit(news->rows, &s->params.common, next, error)
                                         : EFFACE_OK;
    }
    *next = make_next(s, news, &domain);
    if (*next == NULL) {
        ef_domain_free(&domain);
        return ef_fail_memory(error);
    }
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
    ef_write_u32(w, s->domain.map.n_columns);
    ef_write_u32(w, (uint32_t)s->domain.exponent);
    ef_write_u64(w, s->totals.n_rows);
    ef_write_u64(w, (uint64_t)s->totals.total_weight);
    for (uint32_t j = 0; j < s->domain.map.n_columns; j++)
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
    const int32_t exponent = (int32_t)ef_read_u32(r);
    ef_totals totals = {.n_rows = ef_read_u64(r)};
    totals.total_weight = (int64_t)ef_read_u64(r);
    if (r->failed || memcmp(magic, MAGIC, sizeof magic) != 0 || format != FORMAT)
        return ef_fail(error, EFFACE_E_FORMAT, "these bytes are not the state of a model");
    if (n_columns != d || exponent < EF_EXPONENT_MIN || exponent > EF_EXPONENT_MAX ||
        totals.total_weight < 0 || totals.total_weight >= EFFACE_MAX_WEIGHT ||
        totals.n_rows > (uint64_t)totals.total_weight || !ef_decoder_has(r, d, sizeof(int64_t)))
        return damaged(error, "a total");
    ef_domain domain;
    if (!ef_domain_restore(&domain, d, EFFACE_SCALE_NONE, exponent, NULL, NULL))
        return ef_fail_memory(error);
    ef_sums *const s = make((const efface_sums_params *)(const void *)params, &domain);
    if (s == NULL) {
        ef_domain_free(&domain);
        return ef_fail_memory(error);
    }
    s->totals = totals;
    for (uint32_t j = 0; j < d; j++) {
        const int64_t most = totals.total_weight * EF_GRID_MAX;
        s->sums[j] = (int64_t)ef_read_u64(r);
        if (s->sums[j] < -most || s->sums[j] > most) {
            ef_sums_free(s);
            return damaged(error, "a sum");
        }
    }
    *state = s;
    return EFFACE_OK;
}

efface_status ef_sums_attach(void *state, const efface_data *data, efface_error *error) {
    ef_sums *const s = state;
    ef_domain domain;
    const efface_status status = ef_domain_of(&domain, data, bounds_of(&s->params), error);
    if (status != EFFACE_OK)
        return status;
    const bool fits = domain.exponent == s->domain.exponent;
    ef_domain_free(&s->domain);
    s->domain = domain;
    return fits ? EFFACE_OK : damaged(error, "it belongs to other rows");
}

/* ---------------------------------------------------------------- looking */

void ef_sums_locate(const void *a, const void *b, efface_difference *difference) {
    const ef_sums *const x = a, *const y = b;
    difference->what = "parameters, domain or total";
    if (x->domain.map.n_columns != y->domain.map.n_columns ||
        x->domain.exponent != y->domain.exponent)
        return;
    for (uint32_t j = 0; j < x->domain.map.n_columns; j++)
        if (x->sums[j] != y->sums[j]) {
            difference->what = "sum";
            (void)snprintf(difference->where, sizeof difference->where, "column %" PRIu32, j + 1);
            return;
        }
}

double ef_sums_mean(const ef_sums *s, uint32_t column) {
    return (double)s->sums[column] / (double)s->totals.total_weight /
           (double)s->domain.step[column];
}
