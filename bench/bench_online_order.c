/*
 * efface-bench online: in which order rows are asked to be forgotten.
 *
 * `uniform` is the paper's benchmark; `oldest` is what a retention period does. The others are what
 * an adversary would ask for, who knows all about the model:
 *
 *   seeds    the ids of the current seeds are in the canonical bytes of the model
 *   sample   whether a row is in pyramid's sample depends on its id and the seed alone, so a model
 *            of other rows with the same ids answers for up to 40 ids at once: give them the
 * weights 1, 2, 4, ..., ask for one cluster, and the weight of the sample is the set of members,
 *            bit by bit. This needs nothing but the public API, and holds for any parameters.
 *   cluster  the rows that one cluster has at the time the list is made
 */
#include "bench_online.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static efface_status fail(efface_error *error, efface_status status, const char *message) {
    *error = (efface_error){.status = status};
    snprintf(error->message, sizeof error->message, "%s", message);
    return status;
}

/* ---------------------------------------------------------------- canonical bytes */

/* Places in the canonical bytes (docs/format.md). */
#define FORMAT_VERSION 1
#define AT_VERSION 8
#define AT_METHOD 12
#define AT_COLUMNS 16
#define AT_SCALE 28
#define AT_CLUSTERS 48
#define AT_OPTIONAL 92 /* first byte that not every state has */
#define METHOD_FRESH 257

typedef struct state {
    unsigned char *bytes;
    size_t n_bytes;
    uint32_t n_columns;
    uint32_t n_clusters;
    uint32_t exponent; /* pyramid: of the sample */
    size_t seeds;      /* where the winners of the seeding rounds begin */
} state;

static uint64_t read_number(const unsigned char *bytes, unsigned n_bytes) {
    uint64_t number = 0;
    for (unsigned i = n_bytes; i > 0; i--)
        number = number << 8 | bytes[i - 1];
    return number;
}

static efface_status read_state(const efface_kmeans *model, state *out, efface_error *error) {
    const efface_status status = efface_kmeans_encode(model, &out->bytes, &out->n_bytes, error);
    if (status != EFFACE_OK)
        return status;
    const unsigned char *const b = out->bytes;
    if (out->n_bytes < AT_OPTIONAL || memcmp(b, "EFFACEKM", 8) != 0 ||
        read_number(b + AT_VERSION, 4) != FORMAT_VERSION) {
        efface_bytes_free(out->bytes);
        return fail(error, EFFACE_E_FORMAT, "this version of the canonical bytes is not known");
    }
    const uint64_t method = read_number(b + AT_METHOD, 4);
    out->n_columns = (uint32_t)read_number(b + AT_COLUMNS, 4);
    out->n_clusters = (uint32_t)read_number(b + AT_CLUSTERS, 4);
    out->exponent = 0;
    out->seeds = AT_OPTIONAL;
    if (method == EFFACE_METHOD_PYRAMID) {
        out->exponent = (uint32_t)read_number(b + AT_OPTIONAL, 4);
        out->seeds += 24;
    }
    if (method == METHOD_FRESH)
        out->seeds += 4;
    if (read_number(b + AT_SCALE, 4) == EFFACE_SCALE_MINMAX)
        out->seeds += 8 * (size_t)out->n_columns;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- the sample */

#define PROBE_IDS 40 /* weights below 2^40 in total */

/* A bit for each of up to PROBE_IDS ids: set if a row of that id takes part at an exponent. */
static efface_status probe(const uint64_t *ids, size_t n_ids, uint64_t seed, uint32_t exponent,
                           uint64_t *members, efface_error *error) {
    const float values[PROBE_IDS] = {0};
    int64_t weights[PROBE_IDS];
    for (size_t i = 0; i < n_ids; i++)
        weights[i] = INT64_C(1) << i;
    const efface_rows rows = {.n_rows = n_ids, .values = values, .ids = ids, .weights = weights};
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.method = EFFACE_METHOD_PYRAMID;
    params.n_clusters = 1;
    params.iterations = 1;
    params.seed = seed;
    params.rate = 1.0 / (double)(UINT64_C(1) << exponent);
    params.n_threads = 1;
    efface_data *data = NULL;
    efface_kmeans *model = NULL;
    state s;
    efface_status status = efface_data_create(1, &data, error);
    if (status == EFFACE_OK)
        status = efface_data_add(data, &rows, error);
    if (status == EFFACE_OK)
        status = efface_kmeans_fit(data, &params, &model, error);
    if (status == EFFACE_OK)
        status = read_state(model, &s, error);
    if (status == EFFACE_OK) {
        /* After the one seed comes level 0: whether it is sampled, its one coordinate, whether it
         * has a partition, and its weight. A sample that would be empty is a larger one instead. */
        const unsigned char *const weight = s.bytes + s.seeds + 16 + 4 + 4 + 4;
        *members = s.exponent == exponent ? read_number(weight, 8) : 0;
        efface_bytes_free(s.bytes);
    }
    efface_kmeans_free(model);
    efface_data_free(data);
    return status;
}

/* Keeps those ids of the list that are in the sample of the model. */
static efface_status keep_sample(online_requests *r, const efface_kmeans *model,
                                 efface_error *error) {
    state s;
    efface_status status = read_state(model, &s, error);
    if (status != EFFACE_OK)
        return status;
    efface_bytes_free(s.bytes);
    size_t n_kept = 0;
    for (size_t first = 0; first < r->n_ids && status == EFFACE_OK; first += PROBE_IDS) {
        const size_t rest = r->n_ids - first, n = rest < PROBE_IDS ? rest : PROBE_IDS;
        uint64_t members = 0;
        status = probe(r->ids + first, n, r->params->seed, s.exponent, &members, error);
        for (size_t i = 0; i < n && status == EFFACE_OK; i++)
            if ((members >> i & 1) != 0)
                r->ids[n_kept++] = r->ids[first + i];
    }
    r->n_ids = n_kept;
    return status;
}

/* ---------------------------------------------------------------- seeds and clusters */

static efface_status list_seeds(online_requests *r, const efface_kmeans *model,
                                efface_error *error) {
    state s;
    const efface_status status = read_state(model, &s, error);
    if (status != EFFACE_OK)
        return status;
    r->n_ids = s.n_clusters;
    for (size_t i = 0; i < s.n_clusters; i++)
        r->ids[i] = read_number(s.bytes + s.seeds + 16 * i, 8);
    efface_bytes_free(s.bytes);
    return EFFACE_OK;
}

/* Keeps those ids of the list, which is that of all rows by position, that are in the cluster of a
 * row drawn at random. */
static efface_status keep_cluster(online_requests *r, const efface_kmeans *model,
                                  const efface_data *data, efface_error *error) {
    const size_t n = efface_data_n_rows(data);
    uint32_t *const labels = malloc(n * sizeof *labels);
    if (labels == NULL)
        return fail(error, EFFACE_E_MEMORY, "out of memory");
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

/* ---------------------------------------------------------------- the list */

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static efface_status make_list(online_requests *r, const efface_kmeans *model,
                               const efface_data *data, efface_error *error) {
    efface_status status = EFFACE_OK;
    r->n_used = 0;
    r->n_ids = efface_data_n_rows(data);
    for (size_t i = 0; i < r->n_ids; i++)
        r->ids[i] = efface_data_row(data, i).id;
    switch (r->order) {
    case BENCH_ORDER_UNIFORM:
    case BENCH_ORDER_OLDEST: break;
    case BENCH_ORDER_SEEDS: status = list_seeds(r, model, error); break;
    case BENCH_ORDER_SAMPLE: status = keep_sample(r, model, error); break;
    case BENCH_ORDER_CLUSTER: status = keep_cluster(r, model, data, error); break;
    }
    /* Sorted first, so that the draw does not depend on positions either. */
    qsort(r->ids, r->n_ids, sizeof *r->ids, compare_ids);
    if (r->order != BENCH_ORDER_OLDEST)
        bench_shuffle(&r->random, r->ids, r->n_ids);
    return status;
}

/* Whether the model that has changed since may have made the list a wrong one. */
static bool is_out_of_date(const online_requests *r, const efface_report *last) {
    if (r->order == BENCH_ORDER_SEEDS)
        return true;
    return r->order == BENCH_ORDER_SAMPLE && last->action == EFFACE_ACTION_REFITTED;
}

efface_status online_requests_init(online_requests *r, bench_order order,
                                   const efface_kmeans_params *params, uint64_t stream,
                                   const efface_data *data, efface_error *error) {
    *r = (online_requests){.order = order, .params = params};
    r->random = bench_random_start(params->seed, stream);
    r->ids = malloc(efface_data_n_rows(data) * sizeof *r->ids);
    if (r->ids == NULL)
        return fail(error, EFFACE_E_MEMORY, "out of memory");
    return EFFACE_OK;
}

void online_requests_free(online_requests *r) {
    free(r->ids);
}

efface_status online_requests_next(online_requests *r, const efface_kmeans *model,
                                   const efface_data *data, const efface_report *last, size_t most,
                                   uint64_t *ids, size_t *n_ids, efface_error *error) {
    if (last == NULL || r->n_used == r->n_ids || is_out_of_date(r, last)) {
        const efface_status status = make_list(r, model, data, error);
        if (status != EFFACE_OK)
            return status;
    }
    const size_t rest = r->n_ids - r->n_used;
    *n_ids = rest < most ? rest : most;
    memcpy(ids, r->ids + r->n_used, *n_ids * sizeof *ids);
    r->n_used += *n_ids;
    return *n_ids != 0 ? EFFACE_OK : fail(error, EFFACE_E_NOT_FOUND, "no row is left to forget");
}
