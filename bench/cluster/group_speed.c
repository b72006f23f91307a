/*
 * usage: mpirun -n RANKS group-speed [option VALUE]...
 *
 * What a fit and requests take in a group, in time and in what ranks say to each other. Every rank
 * makes its own part of one generated set. Prints lines of JSON on rank 0: one for each request,
 * with what rank 0 got, and one for all. Bytes and rounds there are totals, seconds are means.
 *
 *     rows, columns, clusters, seed     of the set and the model
 *     places N                          that rows lie around; by default as many as clusters
 *     method lloyd|quantized|pyramid|tree, passes N, threads N, candidates N
 *     family kmeans|sums|bayes|segmented
 *     requests N                        rows to forget, one by one
 *     only adjusted|repaired|refitted  of these, those that do this to the model; others are left
 *                                       out after a preview
 *     repeats N                         of a pass, which is timed by fits that differ in their
 *                                       number of passes; 0, as by default: it is not timed
 *     spread ranges|turns               a rank has a range of the rows, or every RANKS-th one, and
 *                                       then all ids have to be compared
 *     outlier 1                         row 0 lies far from all others, and is forgotten first
 *     group 0                           no group at all, for one rank: plain efface
 *     clock cpu                         seconds are those of the processor, for one rank that waits
 *                                       for nobody: other work on the machine matters less
 *     latency N                         also times N operations of each kind by themselves
 */
#include "efface/efface_mpi.h"
#include "rank_measures.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct options {
    size_t n_rows;
    uint32_t n_columns, n_clusters, n_places, n_passes, n_threads, n_candidates;
    size_t n_requests, n_repeats, n_operations;
    uint32_t seed, outlier, in_group;
    const char *method, *family, *only, *clock, *spread;
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
    efface_kmeans_info info; /* of a k-means model when it was fitted */
    tally join, fit, actions[3];
    double pass_seconds;
} bench;

_Noreturn static void give_up(const char *why) {
    fprintf(stderr, "group-speed: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* ---------------------------------------------------------------- rows */

/* About a normal number: the sum of four even ones. */
static float bell(uint64_t stream, uint64_t place) {
    const uint64_t bits = mix_bits(mix_bits(stream) + place);
    float sum = 0;
    for (unsigned i = 0; i < 64; i += 16)
        sum += (float)(bits >> i & 0xFFFF) * 0x1p-16f - 0.5f;
    return 1.7f * sum;
}

static void make_rows(bench *b) {
    const options *const o = &b->o;
    const size_t rank = b->engine.rank, size = b->engine.size, d = o->n_columns;
    const bool turns = strcmp(o->spread, "turns") == 0;
    const size_t first = turns ? rank : o->n_rows * rank / size, step = turns ? size : 1;
    const size_t n =
        turns ? (o->n_rows + size - 1 - rank) / size : o->n_rows * (rank + 1) / size - first;
    float *const values = malloc((n * d + 1) * sizeof *values);
    uint64_t *const ids = malloc((n + 1) * sizeof *ids);
    int64_t *const labels = malloc((n + 1) * sizeof *labels);
    efface_error error;
    if (values == NULL || ids == NULL || labels == NULL)
        give_up("no memory");
    for (size_t i = 0; i < n; i++) {
        const uint64_t row = first + i * step, place = mix_bits(o->seed + row) % o->n_places;
        ids[i] = row;
        labels[i] = (int64_t)(place % 8);
        for (size_t c = 0; c < d; c++)
            values[i * d + c] = 3.0f * bell(o->seed + UINT64_C(1), place * d + c) +
                                bell(o->seed + UINT64_C(2), row * d + c);
        if (row == 0 && o->outlier != 0)
            values[i * d] = 1000.0f;
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

static double seconds_now(const bench *b) {
    return strcmp(b->o.clock, "cpu") == 0 ? (double)clock() / CLOCKS_PER_SEC : MPI_Wtime();
}

static void begin_tally(bench *b) {
    memset(&b->counter.counts, 0, sizeof b->counter.counts);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void end_tally(bench *b, tally *t, double seconds) {
    t->n++;
    t->seconds += seconds;
    for (int i = 0; i < EFFACE_GROUP_OPERATIONS; i++) {
        t->counts.n_rounds[i] += b->counter.counts.n_rounds[i];
        t->counts.n_given[i] += b->counter.counts.n_given[i];
        t->counts.n_got[i] += b->counter.counts.n_got[i];
    }
}

static efface_status fit_model(const bench *b, uint32_t n_passes, efface_model **out,
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

/* Partitions that a fit of lloyd has made. */
static uint32_t n_partitions(const efface_model *model) {
    const efface_kmeans_info info = efface_kmeans_get_info(model);
    return info.iterations + (info.stable ? 1 : 0);
}

/* What a pass more takes: two fits that differ in their number. */
static double measure_pair(const bench *b) {
    double seconds[2];
    uint32_t passes[2];
    efface_error error;
    for (int i = 0; i < 2; i++) {
        efface_model *model = NULL;
        MPI_Barrier(MPI_COMM_WORLD);
        seconds[i] = -seconds_now(b);
        if (fit_model(b, i == 0 ? 1 : 1 + b->o.n_passes, &model, &error) != EFFACE_OK)
            give_up(error.message);
        seconds[i] += seconds_now(b);
        passes[i] = n_partitions(model);
        efface_model_free(model);
    }
    if (passes[1] == passes[0])
        give_up("the first pass changes nothing; choose another set");
    return (seconds[1] - seconds[0]) / (passes[1] - passes[0]);
}

/* The median of some. */
static void measure_pass(bench *b) {
    double *const seconds = malloc(b->o.n_repeats * sizeof *seconds);
    if (seconds == NULL)
        give_up("no memory");
    for (size_t i = 0; i < b->o.n_repeats; i++)
        seconds[i] = measure_pair(b);
    b->pass_seconds = median_seconds(seconds, b->o.n_repeats);
    free(seconds);
}

/* ---------------------------------------------------------------- operations by themselves */

#define LARGE ((size_t)1 << 20) /* numbers */

/* Seconds of a sum or a minimum of n numbers. */
static double time_operation(const efface_group *g, bool minimum, uint64_t *numbers, size_t n,
                             size_t n_times) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (size_t i = 0; i < n_times; i++) {
        const int failed =
            minimum ? g->minimum(g->context, numbers, n, 1) : g->sum_64(g->context, numbers, n);
        if (failed != 0)
            give_up("an operation failed");
    }
    return (MPI_Wtime() - start) / (double)n_times;
}

static double time_gather(const efface_group *g, uint64_t *numbers, size_t n, size_t n_times) {
    size_t *const sizes = malloc(g->size * sizeof *sizes);
    uint64_t *const all = malloc(g->size * n * sizeof *all);
    if (sizes == NULL || all == NULL)
        give_up("no memory");
    for (uint32_t r = 0; r < g->size; r++)
        sizes[r] = n * sizeof *numbers;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (size_t i = 0; i < n_times; i++)
        if (g->gather(g->context, numbers, sizes, EFFACE_EVERY_RANK, all) != 0)
            give_up("an operation failed");
    const double seconds = (MPI_Wtime() - start) / (double)n_times;
    free(sizes);
    free(all);
    return seconds;
}

/* Prints what small and large operations take. */
static void measure_operations(const bench *b) {
    const efface_group *const g = &b->engine;
    const size_t n = b->o.n_operations, n_large = 1 + n / 1000;
    uint64_t *const numbers = calloc(LARGE, sizeof *numbers);
    if (numbers == NULL)
        give_up("no memory");
    const double small[] = {time_operation(g, false, numbers, 1, n),
                            time_operation(g, true, numbers, 1, n), time_gather(g, numbers, 1, n)};
    const double large[] = {time_operation(g, false, numbers, LARGE, n_large),
                            time_operation(g, true, numbers, LARGE, n_large),
                            time_gather(g, numbers, LARGE / g->size, n_large)};
    free(numbers);
    if (g->rank == 0)
        printf("{\"ranks\": %u, \"small_bytes\": 8, \"small\": {\"sum_64\": %.9f, \"minimum\": "
               "%.9f, \"gather\": %.9f}, \"large_bytes\": %zu, \"large\": {\"sum_64\": %.9f, "
               "\"minimum\": %.9f, \"gather\": %.9f}}\n",
               (unsigned)g->size, small[0], small[1], small[2], LARGE * sizeof *numbers, large[0],
               large[1], large[2]);
}

/* ---------------------------------------------------------------- requests */

static void put_request(const bench *b, const efface_report *report) {
    const efface_group_counts *const c = &b->counter.counts;
    if (b->engine.rank != 0)
        return;
    printf("{\"action\": \"%s\", \"where\": \"%s\"", efface_action_name(report->action),
           report->where);
    for (int i = 0; i < EFFACE_GROUP_OPERATIONS; i++)
        printf(", \"%s\": [%llu, %llu]", efface_group_operation_name((efface_group_operation)i),
               (unsigned long long)c->n_rounds[i], (unsigned long long)c->n_got[i]);
    printf("}\n");
}

/* Whether a request is one of those to be measured. */
static bool is_wanted(const bench *b, const efface_request *request) {
    efface_report report;
    efface_error error;
    if (b->o.only == NULL)
        return true;
    if (efface_model_preview(b->model, b->data, request, &report, &error) != EFFACE_OK)
        give_up(error.message);
    return strcmp(efface_action_name(report.action), b->o.only) == 0;
}

static void measure_requests(bench *b) {
    const options *const o = &b->o;
    efface_error error;
    for (size_t i = 0; i < o->n_requests; i++) {
        const uint64_t id = o->outlier != 0 && i == 0 ? 0 : mix_bits(o->seed + 77 + i) % o->n_rows;
        const efface_request request = {.ids = &id, .n_ids = 1, .missing = EFFACE_MISSING_SKIP};
        efface_report report;
        if (!is_wanted(b, &request))
            continue;
        begin_tally(b);
        const double start = seconds_now(b);
        if (efface_model_forget(b->model, b->data, &request, &report, &error) != EFFACE_OK)
            give_up(error.message);
        const double seconds = seconds_now(b) - start;
        if (report.rows_forgotten == 0)
            continue;
        end_tally(b, &b->actions[report.action], seconds);
        put_request(b, &report);
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
    printf(", \"%s\": {\"n\": %zu, \"seconds\": %.9f, \"rounds\": %llu, \"given\": %llu, "
           "\"got\": %llu, \"by_operation\": {",
           name, t->n, t->n != 0 ? t->seconds / (double)t->n : 0.0, (unsigned long long)n_rounds,
           (unsigned long long)n_given, (unsigned long long)n_got);
    for (int i = 0; i < EFFACE_GROUP_OPERATIONS; i++)
        printf("%s\"%s\": [%llu, %llu]", i != 0 ? ", " : "",
               efface_group_operation_name((efface_group_operation)i),
               (unsigned long long)t->counts.n_rounds[i], (unsigned long long)t->counts.n_got[i]);
    printf("}}");
}

/* What formulas of rounds and bytes need to know of a k-means model. */
static void put_info(const bench *b) {
    const efface_kmeans_info info = b->info;
    printf(", \"iterations\": %u, \"stable\": %d, \"sampled\": %llu, \"width\": %u",
           (unsigned)info.iterations, info.stable, (unsigned long long)info.n_sampled,
           (unsigned)info.width);
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
    printf("\", \"passes\": %u, \"candidates\": %u, \"pass_seconds\": %.9f", (unsigned)o->n_passes,
           (unsigned)o->n_candidates, b->pass_seconds);
    put_info(b);
    put_tally("join", &b->join);
    put_tally("fit", &b->fit);
    put_tally("adjusted", &b->actions[EFFACE_ACTION_ADJUSTED]);
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
                   .in_group = 1,
                   .clock = "wall",
                   .spread = "ranges",
                   .method = "lloyd",
                   .family = "kmeans"};
    const struct {
        const char *name;
        size_t *size;
        uint32_t *count;
        const char **word;
    } known[] = {
        {.name = "rows", .size = &o->n_rows},
        {.name = "columns", .count = &o->n_columns},
        {.name = "clusters", .count = &o->n_clusters},
        {.name = "places", .count = &o->n_places},
        {.name = "passes", .count = &o->n_passes},
        {.name = "threads", .count = &o->n_threads},
        {.name = "candidates", .count = &o->n_candidates},
        {.name = "requests", .size = &o->n_requests},
        {.name = "repeats", .size = &o->n_repeats},
        {.name = "latency", .size = &o->n_operations},
        {.name = "outlier", .count = &o->outlier},
        {.name = "group", .count = &o->in_group},
        {.name = "clock", .word = &o->clock},
        {.name = "spread", .word = &o->spread},
        {.name = "seed", .count = &o->seed},
        {.name = "method", .word = &o->method},
        {.name = "family", .word = &o->family},
        {.name = "only", .word = &o->only},
    };
    for (int i = 1; i + 1 < argc; i += 2) {
        size_t k = 0;
        while (k < sizeof known / sizeof known[0] && strcmp(known[k].name, argv[i]) != 0)
            k++;
        if (k == sizeof known / sizeof known[0])
            give_up("there is no such option; see the head of group_speed.c");
        if (known[k].size != NULL)
            *known[k].size = strtoull(argv[i + 1], NULL, 10);
        else if (known[k].count != NULL)
            *known[k].count = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        else
            *known[k].word = argv[i + 1];
    }
    o->n_places = o->n_places != 0 ? o->n_places : o->n_clusters;
    if (o->n_rows == 0 || o->n_columns == 0 || o->n_clusters == 0 || o->n_passes == 0)
        give_up("rows, columns, clusters and passes must not be 0");
}

/* Each rank with its rows, unless there is no group. */
static void join_ranks(bench *b) {
    efface_error error;
    if (b->o.in_group == 0 && b->engine.size != 1)
        give_up("without a group there is one rank");
    b->group = efface_group_counter_init(&b->counter, &b->engine);
    begin_tally(b);
    const double start = seconds_now(b);
    if (b->o.in_group != 0 && efface_data_join(b->data, &b->group, &error) != EFFACE_OK)
        give_up(error.message);
    end_tally(b, &b->join, seconds_now(b) - start);
}

static void measure_fit(bench *b) {
    efface_error error;
    begin_tally(b);
    const double start = seconds_now(b);
    if (fit_model(b, b->o.n_passes, &b->model, &error) != EFFACE_OK)
        give_up(error.message);
    end_tally(b, &b->fit, seconds_now(b) - start);
    if (strcmp(b->o.family, "kmeans") == 0)
        b->info = efface_kmeans_get_info(b->model);
}

int main(int argc, char **argv) {
    bench b = {.data = NULL};
    efface_error error;
    MPI_Init(&argc, &argv);
    read_options(&b.o, argc, argv);
    if (efface_mpi_group_create(MPI_COMM_WORLD, &b.engine, &error) != EFFACE_OK)
        give_up(error.message);
    if (b.o.n_operations != 0)
        measure_operations(&b);
    make_rows(&b);
    join_ranks(&b);
    if (b.o.n_repeats != 0)
        measure_pass(&b);
    measure_fit(&b);
    measure_requests(&b);
    put_result(&b);
    efface_model_free(b.model);
    efface_data_free(b.data);
    efface_mpi_group_free(&b.engine);
    MPI_Finalize();
    return 0;
}
