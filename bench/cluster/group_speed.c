/*
 * usage: mpirun -n RANKS group-speed [option VALUE]...
 *
 * What a fit and requests take in a group, in time and in what ranks say to each other. Every rank
 * makes its own part of one generated set. Prints one line of JSON on rank 0.
 *
 *     rows, columns, clusters, seed     of the set and the model; clusters are also the places
 *                                       that rows lie around
 *     method lloyd|quantized|pyramid|tree, passes N, threads N, candidates N
 *     family kmeans|sums|bayes|segmented
 *     requests N                        rows to forget, one by one
 */
#include "efface/efface_mpi.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    size_t n_rows;
    uint32_t n_columns, n_clusters, n_passes, n_threads, n_candidates;
    size_t n_requests;
    uint64_t seed;
    const char *method, *family;
} options;

/* Counts and times of calls of one kind. */
typedef struct tally {
    size_t n;
    double seconds;
    efface_group_counts counts;
} tally;

typedef struct bench {
    options o;
    efface_group engine, group;
    efface_group_counter counter;
    efface_data *data;
    efface_model *model;
    tally fit, actions[3];
    double pass_seconds;
} bench;

_Noreturn static void give_up(const char *why) {
    fprintf(stderr, "group-speed: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* ---------------------------------------------------------------- rows */

static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* About a normal number: the sum of four even ones. */
static float bell(uint64_t stream, uint64_t place) {
    const uint64_t bits = mix(mix(stream) + place);
    float sum = 0;
    for (unsigned i = 0; i < 64; i += 16)
        sum += (float)(bits >> i & 0xFFFF) * 0x1p-16f - 0.5f;
    return 1.7f * sum;
}

static void make_rows(bench *b) {
    const options *const o = &b->o;
    const size_t first = o->n_rows * b->engine.rank / b->engine.size;
    const size_t n = o->n_rows * (b->engine.rank + 1) / b->engine.size - first, d = o->n_columns;
    float *const values = malloc((n * d + 1) * sizeof *values);
    uint64_t *const ids = malloc((n + 1) * sizeof *ids);
    int64_t *const labels = malloc((n + 1) * sizeof *labels);
    efface_error error;
    if (values == NULL || ids == NULL || labels == NULL)
        give_up("no memory");
    for (size_t i = 0; i < n; i++) {
        const uint64_t row = first + i, place = mix(o->seed + row) % o->n_clusters;
        ids[i] = row;
        labels[i] = (int64_t)(place % 8);
        for (size_t c = 0; c < d; c++)
            values[i * d + c] =
                3.0f * bell(o->seed + 1, place * d + c) + bell(o->seed + 2, row * d + c);
    }
    const efface_rows rows = {.n_rows = n, .values = values, .ids = ids, .labels = labels};
    if (efface_data_create(o->n_columns, &b->data, &error) != EFFACE_OK ||
        efface_data_add(b->data, &rows, &error) != EFFACE_OK)
        give_up(error.message);
    free(values);
    free(ids);
    free(labels);
}

/* ---------------------------------------------------------------- measuring */

static void begin(bench *b) {
    memset(&b->counter.counts, 0, sizeof b->counter.counts);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void end(bench *b, tally *t, double seconds) {
    t->n++;
    t->seconds += seconds;
    for (int i = 0; i < EFFACE_GROUP_OPERATIONS; i++) {
        t->counts.n_rounds[i] += b->counter.counts.n_rounds[i];
        t->counts.n_given[i] += b->counter.counts.n_given[i];
        t->counts.n_got[i] += b->counter.counts.n_got[i];
    }
}

static efface_status fit(const bench *b, uint32_t n_passes, efface_model **out,
                         efface_error *error) {
    const options *const o = &b->o;
    if (strcmp(o->family, "kmeans") == 0) {
        efface_kmeans_params p;
        efface_kmeans_params_init(&p);
        p.n_clusters = o->n_clusters;
        p.iterations = n_passes;
        p.candidates = o->n_candidates;
        p.method = strcmp(o->method, "quantized") == 0 ? EFFACE_METHOD_QUANTIZED
                   : strcmp(o->method, "pyramid") == 0 ? EFFACE_METHOD_PYRAMID
                   : strcmp(o->method, "tree") == 0    ? EFFACE_METHOD_TREE
                                                       : EFFACE_METHOD_LLOYD;
        p.common.n_threads = o->n_threads;
        p.common.seed = o->seed;
        return efface_kmeans_fit(b->data, &p, out, error);
    }
    if (strcmp(o->family, "segmented") == 0) {
        const uint32_t target = o->n_columns - 1;
        efface_segmented_params p;
        efface_segmented_params_init(&p);
        p.kmeans.n_clusters = o->n_clusters;
        p.kmeans.iterations = n_passes;
        p.targets = &target;
        p.n_targets = 1;
        p.common.n_threads = o->n_threads;
        p.common.seed = o->seed;
        return efface_segmented_fit(b->data, &p, out, error);
    }
    efface_sums_params p;
    efface_sums_params_init(&p);
    p.view = strcmp(o->family, "bayes") == 0 ? EFFACE_VIEW_BAYES : EFFACE_VIEW_COMPONENTS;
    p.common.n_threads = o->n_threads;
    return efface_sums_fit(b->data, &p, out, error);
}

/* What one pass more takes: two fits that differ in their number. */
static void measure_pass(bench *b) {
    double seconds[2];
    efface_error error;
    for (int i = 0; i < 2; i++) {
        efface_model *model = NULL;
        MPI_Barrier(MPI_COMM_WORLD);
        seconds[i] = -MPI_Wtime();
        if (fit(b, i == 0 ? 1 : 1 + b->o.n_passes, &model, &error) != EFFACE_OK)
            give_up(error.message);
        seconds[i] += MPI_Wtime();
        efface_model_free(model);
    }
    b->pass_seconds = (seconds[1] - seconds[0]) / b->o.n_passes;
}

static void measure_requests(bench *b) {
    const options *const o = &b->o;
    efface_error error;
    for (size_t i = 0; i < o->n_requests; i++) {
        const uint64_t id = mix(o->seed + 77 + i) % o->n_rows;
        const efface_request request = {.ids = &id, .n_ids = 1, .missing = EFFACE_MISSING_SKIP};
        efface_report report;
        begin(b);
        const double start = MPI_Wtime();
        if (efface_model_forget(b->model, b->data, &request, &report, &error) != EFFACE_OK)
            give_up(error.message);
        if (report.rows_forgotten != 0)
            end(b, &b->actions[report.action], MPI_Wtime() - start);
    }
}

/* ---------------------------------------------------------------- the result */

static void put_tally(const char *name, const tally *t) {
    uint64_t n_rounds = 0, n_given = 0, n_got = 0;
    for (int i = 0; i < EFFACE_GROUP_OPERATIONS; i++) {
        n_rounds += t->counts.n_rounds[i];
        n_given += t->counts.n_given[i];
        n_got += t->counts.n_got[i];
    }
    const double n = t->n != 0 ? (double)t->n : 1.0;
    printf(", \"%s\": {\"n\": %zu, \"seconds\": %.9f, \"rounds\": %.2f, \"given\": %.1f, "
           "\"got\": %.1f, \"by_operation\": {",
           name, t->n, t->seconds / n, (double)n_rounds / n, (double)n_given / n,
           (double)n_got / n);
    for (int i = 0; i < EFFACE_GROUP_OPERATIONS; i++)
        printf("%s\"%s\": [%.2f, %.1f]", i != 0 ? ", " : "",
               efface_group_operation_name((efface_group_operation)i),
               (double)t->counts.n_rounds[i] / n, (double)t->counts.n_given[i] / n);
    printf("}}");
}

static void put_result(const bench *b) {
    const options *const o = &b->o;
    unsigned char digest[EFFACE_DIGEST_BYTES];
    efface_error error;
    if (efface_model_digest(b->model, digest, &error) != EFFACE_OK)
        give_up(error.message);
    if (b->engine.rank != 0)
        return;
    printf("{\"ranks\": %u, \"threads\": %u, \"rows\": %zu, \"columns\": %u, \"clusters\": %u, "
           "\"family\": \"%s\", \"method\": \"%s\", \"digest\": \"",
           (unsigned)b->engine.size, (unsigned)o->n_threads, o->n_rows, (unsigned)o->n_columns,
           (unsigned)o->n_clusters, o->family, o->method);
    for (size_t i = 0; i < sizeof digest; i++)
        printf("%02x", digest[i]);
    printf("\", \"pass_seconds\": %.9f", b->pass_seconds);
    put_tally("fit", &b->fit);
    put_tally("untouched", &b->actions[EFFACE_ACTION_UNTOUCHED]);
    put_tally("repaired", &b->actions[EFFACE_ACTION_REPAIRED]);
    put_tally("refitted", &b->actions[EFFACE_ACTION_REFITTED]);
    printf("}\n");
}

static void read_options(options *o, int argc, char **argv) {
    *o = (options){.n_rows = 100000,
                   .n_columns = 16,
                   .n_clusters = 16,
                   .n_passes = 10,
                   .n_threads = 1,
                   .n_candidates = 1,
                   .seed = 1,
                   .method = "lloyd",
                   .family = "kmeans"};
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *const name = argv[i], *const value = argv[i + 1];
        const unsigned long long number = strtoull(value, NULL, 10);
        if (strcmp(name, "rows") == 0)
            o->n_rows = (size_t)number;
        else if (strcmp(name, "columns") == 0)
            o->n_columns = (uint32_t)number;
        else if (strcmp(name, "clusters") == 0)
            o->n_clusters = (uint32_t)number;
        else if (strcmp(name, "passes") == 0)
            o->n_passes = (uint32_t)number;
        else if (strcmp(name, "threads") == 0)
            o->n_threads = (uint32_t)number;
        else if (strcmp(name, "candidates") == 0)
            o->n_candidates = (uint32_t)number;
        else if (strcmp(name, "requests") == 0)
            o->n_requests = (size_t)number;
        else if (strcmp(name, "seed") == 0)
            o->seed = number;
        else if (strcmp(name, "method") == 0)
            o->method = value;
        else if (strcmp(name, "family") == 0)
            o->family = value;
        else
            give_up("options are rows, columns, clusters, passes, threads, candidates, requests, "
                    "seed, method and family");
    }
    if (o->n_rows == 0 || o->n_columns == 0 || o->n_clusters == 0 || o->n_passes == 0)
        give_up("rows, columns, clusters and passes must not be 0");
}

int main(int argc, char **argv) {
    bench b = {.data = NULL};
    efface_error error;
    MPI_Init(&argc, &argv);
    read_options(&b.o, argc, argv);
    if (efface_mpi_group_create(MPI_COMM_WORLD, &b.engine, &error) != EFFACE_OK)
        give_up(error.message);
    b.group = efface_group_counter_init(&b.counter, &b.engine);
    make_rows(&b);
    if (efface_data_join(b.data, &b.group, &error) != EFFACE_OK)
        give_up(error.message);
    if (strcmp(b.o.family, "kmeans") == 0 && strcmp(b.o.method, "lloyd") == 0)
        measure_pass(&b);
    begin(&b);
    const double start = MPI_Wtime();
    if (fit(&b, b.o.n_passes, &b.model, &error) != EFFACE_OK)
        give_up(error.message);
    end(&b, &b.fit, MPI_Wtime() - start);
    measure_requests(&b);
    put_result(&b);
    efface_model_free(b.model);
    efface_data_free(b.data);
    efface_mpi_group_free(&b.engine);
    MPI_Finalize();
    return 0;
}
