/*
 * efface-bench online: in which order rows are asked to be forgotten.
 *
 * `uniform` is the paper's benchmark; `oldest` is what a retention period does. The others are what
 * an adversary would ask for, who knows all about the model:
 *
 *   seeds    always a row that won a round of the seeding
 *   sample   always a row of pyramid's sample
 *   cluster  the rows that one cluster has at the time the list is made
 *   edges    always a row that alone has the least or the greatest value of a column; with scale
 *            minmax the range of that column moves, and every method has to fit again
 */
#include "bench_online.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- what is in the list */

/* Keeps those ids of the list that are of seeds, or of rows of the sample. */
static void keep_spenders(online_requests *r, const efface_model *model, const efface_data *data) {
    size_t n_kept = 0;
    for (size_t i = 0; i < r->n_ids; i++)
        if (r->order == BENCH_ORDER_SEEDS ? efface_kmeans_is_seed(model, r->ids[i])
                                          : efface_kmeans_in_sample(model, data, r->ids[i]))
            r->ids[n_kept++] = r->ids[i];
    r->n_ids = n_kept;
}

/* Keeps those ids of the list, which is that of all rows by position, that are in the cluster of a
 * row drawn at random. */
static efface_status keep_cluster(online_requests *r, const efface_model *model,
                                  const efface_data *data, efface_error *error) {
    const size_t n = efface_data_n_rows(data);
    uint32_t *const labels = malloc(n * sizeof *labels);
    if (labels == NULL)
        return bench_fail_memory(error);
    const efface_status status = efface_kmeans_labels(model, data, labels, error);
    if (status == EFFACE_OK) {
        const uint32_t cluster = labels[bench_random_below(&r->random, n)];
        r->n_ids = 0;
        for (size_t i = 0; i < n; i++)
            if (labels[i] == cluster)
                r->ids[r->n_ids++] = r->ids[i];
    }
    free(labels);
    return status;
}

/* The least or the greatest value of a column, and the row that has it. */
typedef struct edge {
    float value;
    uint64_t id;
    bool alone; /* no other row has this value */
} edge;

/* Values come with a sign, so that the greatest one is wanted at both ends. */
static void edge_meet(edge *e, float value, uint64_t id) {
    if (value > e->value)
        *e = (edge){value, id, true};
    else if (value == e->value)
        e->alone = false;
}

/* Makes the list one of those rows that alone have an extreme value of a column. */
static efface_status keep_edges(online_requests *r, const efface_data *data, efface_error *error) {
    const uint32_t d = efface_data_n_columns(data);
    edge *const edges = malloc(2 * (size_t)d * sizeof *edges);
    float *const values = malloc(d * sizeof *values);
    if (edges == NULL || values == NULL) {
        free(edges);
        free(values);
        return bench_fail_memory(error);
    }
    for (uint32_t j = 0; j < 2 * d; j++)
        edges[j] = (edge){.value = -INFINITY};
    for (size_t i = 0; i < r->n_ids; i++) {
        efface_data_values(data, i, values);
        for (uint32_t j = 0; j < d; j++) {
            edge_meet(&edges[2 * j], -values[j], r->ids[i]);
            edge_meet(&edges[2 * j + 1], values[j], r->ids[i]);
        }
    }
    /* A row may have several of them, and more of these are no more rows than there are. */
    size_t n_kept = 0;
    for (uint32_t j = 0; j < 2 * d; j++) {
        bool is_new = edges[j].alone;
        for (size_t i = 0; i < n_kept && is_new; i++)
            is_new = r->ids[i] != edges[j].id;
        if (is_new)
            r->ids[n_kept++] = edges[j].id;
    }
    r->n_ids = n_kept;
    free(edges);
    free(values);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- the list */

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static efface_status make_list(online_requests *r, const efface_model *model,
                               const efface_data *data, efface_error *error) {
    efface_status status = EFFACE_OK;
    r->n_used = 0;
    r->n_ids = efface_data_n_rows(data);
    for (size_t i = 0; i < r->n_ids; i++)
        r->ids[i] = efface_data_row(data, i).id;
    switch (r->order) {
    case BENCH_ORDER_UNIFORM:
    case BENCH_ORDER_OLDEST: break;
    case BENCH_ORDER_SEEDS:
    case BENCH_ORDER_SAMPLE: keep_spenders(r, model, data); break;
    case BENCH_ORDER_CLUSTER: status = keep_cluster(r, model, data, error); break;
    case BENCH_ORDER_EDGES: status = keep_edges(r, data, error); break;
    }
    /* Sorted first, so that the draw does not depend on positions either. */
    qsort(r->ids, r->n_ids, sizeof *r->ids, compare_ids);
    if (r->order != BENCH_ORDER_OLDEST)
        bench_shuffle(&r->random, r->ids, r->n_ids);
    return status;
}

/* Whether the change since may have made the list a wrong one, or a short one: rows that were next
 * to an edge are at it now. */
static bool is_out_of_date(const online_requests *r, const efface_report *last) {
    if (r->order == BENCH_ORDER_SEEDS || r->order == BENCH_ORDER_EDGES)
        return true;
    return r->order == BENCH_ORDER_SAMPLE && last->action == EFFACE_ACTION_REFITTED;
}

efface_status online_requests_init(online_requests *r, bench_order order, uint64_t seed,
                                   uint64_t stream, const efface_data *data, efface_error *error) {
    *r = (online_requests){.order = order, .random = bench_random_start(seed, stream)};
    r->ids = malloc(efface_data_n_rows(data) * sizeof *r->ids);
    if (r->ids == NULL)
        return bench_fail_memory(error);
    return EFFACE_OK;
}

void online_requests_free(online_requests *r) {
    free(r->ids);
}

efface_status online_requests_next(online_requests *r, const efface_model *model,
                                   const efface_data *data, const efface_report *last, size_t max,
                                   uint64_t *ids, size_t *n_ids, efface_error *error) {
    if (last == NULL || r->n_used == r->n_ids || is_out_of_date(r, last)) {
        const efface_status status = make_list(r, model, data, error);
        if (status != EFFACE_OK)
            return status;
    }
    const size_t rest = r->n_ids - r->n_used;
    *n_ids = rest < max ? rest : max;
    memcpy(ids, r->ids + r->n_used, *n_ids * sizeof *ids);
    r->n_used += *n_ids;
    if (*n_ids == 0)
        *error = (efface_error){EFFACE_E_NOT_FOUND, .message = "no row is left to forget"};
    return *n_ids != 0 ? EFFACE_OK : EFFACE_E_NOT_FOUND;
}
