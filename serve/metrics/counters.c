/*
 * Counting. Counters of requests are atomic, so that threads which answer predictions never wait
 * for each other; the list of repairs, which is added to once for a change, has a lock.
 */
#include "metrics/counted.h"

#include <stdlib.h>
#include <string.h>

const double sv_second_bounds[SV_MAX_BOUNDS + 1] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                    0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                                    1,      2.5,     5,      10,    30,     60};
const double sv_size_bounds[SV_MAX_BOUNDS + 1] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

const int sv_codes[SV_N_CODES] = {200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 408, 409,
                                  411, 413, 414, 415, 421, 422, 429, 431, 500, 503, 507, 0};

static void add_count(atomic_uint_fast64_t *counter, uint64_t n) {
    (void)atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void add_value(sv_histogram *histogram, const double *bounds, double value) {
    size_t i = 0;
    while (bounds[i] != 0 && value > bounds[i])
        i++;
    add_count(&histogram->counts[bounds[i] != 0 ? i : SV_MAX_BOUNDS], 1);
    add_count(&histogram->sum, value > 0 ? (uint64_t)(value * 1e9 + 0.5) : 0);
}

/* ---------------------------------------------------------------- opening */

static size_t find_action(const sv_metrics *m, const char *name) {
    size_t i = 0;
    while (i < m->n_actions && strcmp(m->actions[i].name, name) != 0)
        i++;
    return i;
}

bool sv_metrics_open(const sv_route *routes, size_t n_stores, sv_metrics **out) {
    size_t n_routes = 0;
    while (routes[n_routes].method != NULL)
        n_routes++;
    sv_metrics *const m = calloc(1, sizeof *m);
    if (m == NULL)
        return false;
    (void)pthread_mutex_init(&m->lock, NULL);
    m->routes = routes;
    m->n_routes = n_routes;
    m->n_stores = n_stores;
    m->action_of = calloc(n_routes + 1, sizeof *m->action_of);
    m->actions = calloc(n_routes + 1, sizeof *m->actions);
    m->stores = calloc(n_stores + 1, sizeof *m->stores);
    if (m->action_of == NULL || m->actions == NULL || m->stores == NULL) {
        sv_metrics_free(m);
        return false;
    }
    for (size_t i = 0; i < n_routes; i++) {
        m->action_of[i] = find_action(m, routes[i].action);
        if (m->action_of[i] == m->n_actions)
            m->actions[m->n_actions++].name = routes[i].action;
    }
    m->actions[m->n_actions++].name = "none";
    *out = m;
    return true;
}

void sv_metrics_free(sv_metrics *m) {
    if (m == NULL)
        return;
    (void)pthread_mutex_destroy(&m->lock);
    free(m->action_of);
    free(m->actions);
    free(m->stores);
    free(m);
}

/* ---------------------------------------------------------------- requests */

static void count_refused(sv_metrics *m, int status) {
    switch (status) {
    case 401: add_count(&m->refused[SV_REFUSED_TOKEN], 1); break;
    case 403: add_count(&m->refused[SV_REFUSED_ROLE], 1); break;
    case 421: add_count(&m->refused[SV_REFUSED_HOST], 1); break;
    case 429: add_count(&m->refused[SV_REFUSED_RATE], 1); break;
    default: break;
    }
}

static sv_counted_action *count_status(sv_metrics *m, const sv_route *route, int status) {
    const size_t place =
        route != NULL ? m->action_of[(size_t)(route - m->routes)] : m->n_actions - 1;
    size_t code = 0;
    while (sv_codes[code] != status && sv_codes[code] != 0)
        code++;
    add_count(&m->actions[place].codes[code], 1);
    count_refused(m, status);
    return &m->actions[place];
}

void sv_metrics_request(sv_metrics *m, const sv_request *request) {
    sv_counted_action *const action = count_status(m, request->route, request->reply.status);
    add_value(&action->seconds, sv_second_bounds, sv_now() - request->begin);
}

void sv_metrics_connection(sv_metrics *m, int change) {
    (void)atomic_fetch_add_explicit(&m->connections, change, memory_order_relaxed);
    if (change > 0)
        add_count(&m->all_connections, (uint64_t)change);
}

/* ---------------------------------------------------------------- changes */

/* The list has room for all reasons that the library has, many times over; should it not, the last
 * place is that of all others. */
static sv_counted_repair *find_repair(sv_metrics *m, const efface_model_report *report) {
    for (size_t i = 0; i < m->n_repairs; i++) {
        sv_counted_repair *const r = &m->repairs[i];
        if (strcmp(r->kind, report->kind) == 0 && r->action == report->report.action &&
            strcmp(r->reason, report->report.reason) == 0)
            return r;
    }
    const bool last = m->n_repairs + 1 >= SV_MAX_REPAIRS;
    sv_counted_repair *const r = &m->repairs[last ? SV_MAX_REPAIRS - 1 : m->n_repairs];
    if (r->reason == NULL) {
        *r = (sv_counted_repair){.kind = report->kind,
                                 .action = report->report.action,
                                 .reason = last ? "other" : report->report.reason};
        m->n_repairs++;
    }
    return r;
}

void sv_metrics_change(sv_metrics *m, size_t store, const efface_store_report *report) {
    sv_counted_store *const s = &m->stores[store];
    add_count(&s->forgotten, report->n_forgotten);
    add_count(&s->learned, report->n_learned);
    add_count(&s->updated, report->n_updated);
    pthread_mutex_lock(&m->lock);
    for (uint32_t i = 0; i < report->n_models; i++) {
        sv_counted_repair *const repair = find_repair(m, &report->models[i]);
        repair->times++;
        repair->rows_visited += report->models[i].report.rows_visited;
    }
    pthread_mutex_unlock(&m->lock);
}

void sv_metrics_group(sv_metrics *m, size_t store, size_t n_changes, double seconds) {
    add_value(&m->stores[store].group_sizes, sv_size_bounds, (double)n_changes);
    add_value(&m->stores[store].commit_seconds, sv_second_bounds, seconds);
}

void sv_metrics_waited(sv_metrics *m, size_t store, double seconds) {
    add_value(&m->stores[store].waited_seconds, sv_second_bounds, seconds);
}

void sv_metrics_snapshot(sv_metrics *m, size_t store, double seconds) {
    add_count(&m->stores[store].snapshots, 1);
    add_count(&m->stores[store].snapshot_nanoseconds, (uint64_t)(seconds * 1e9));
}

void sv_metrics_reloaded(sv_metrics *m, size_t store) {
    add_count(&m->stores[store].reloads, 1);
}

void sv_metrics_job(sv_metrics *m, const char *state) {
    add_count(&m->jobs[strcmp(state, "done") == 0     ? SV_JOB_DONE
                       : strcmp(state, "failed") == 0 ? SV_JOB_FAILED
                                                      : SV_JOB_CANCELLED],
              1);
}
