/* efface-bench demo: what exact means, in a few lines. Every claim it prints it has checked. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTERS 5
#define COLUMNS 25
#define ROWS_PER_CLUSTER 20000
#define STRANGERS 1000

typedef struct fitted {
    efface_kmeans_info info;
    double seconds;
    double loss;
    double nmi; /* with the clusters the rows were drawn from */
    char digest[BENCH_HEX_BYTES];
} fitted;

/* How well the model's clusters agree with the ones the rows were drawn from. */
static efface_status agreement(const efface_kmeans *model, const efface_data *data, double *nmi,
                               efface_error *error) {
    const size_t n = efface_data_n_rows(data);
    uint32_t *const found = malloc(n * sizeof *found);
    uint32_t *const drawn = malloc(n * sizeof *drawn);
    efface_status status = EFFACE_E_MEMORY;
    if (found == NULL || drawn == NULL) {
        *error = (efface_error){.status = status, .message = "out of memory"};
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        drawn[i] = (uint32_t)efface_data_row(data, i).label;
    status = efface_kmeans_labels(model, data, found, error);
    if (status == EFFACE_OK)
        status = efface_nmi(n, found, drawn, nmi, error);
out:
    free(found);
    free(drawn);
    return status;
}

static efface_status fit(const efface_data *data, efface_method method, uint32_t n_threads,
                         bool all, fitted *out, efface_error *error) {
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.method = method;
    params.n_clusters = CLUSTERS;
    params.scale = EFFACE_SCALE_MINMAX;
    params.seed = 2019;
    params.n_threads = n_threads;
    efface_kmeans *model = NULL;
    const double begin = bench_now();
    efface_status status = efface_kmeans_fit(data, &params, &model, error);
    out->seconds = bench_now() - begin;
    if (status == EFFACE_OK && !bench_digest_hex(model, out->digest))
        status = EFFACE_E_MEMORY;
    if (status == EFFACE_OK && all) {
        out->info = efface_kmeans_get_info(model);
        status = efface_kmeans_loss(model, data, &out->loss, error);
        if (status == EFFACE_OK)
            status = agreement(model, data, &out->nmi, error);
    }
    efface_kmeans_free(model);
    return status;
}

/* Adds row `position` of `from` to `data` under another id. */
static efface_status copy_row(efface_data *data, const efface_data *from, size_t position,
                              uint64_t id, efface_error *error) {
    const efface_row row = efface_data_row(from, position);
    float values[COLUMNS];
    efface_data_values(from, position, values);
    const efface_rows rows = {.n_rows = 1, .values = values, .ids = &id, .labels = &row.label};
    return efface_data_add(data, &rows, error);
}

/* The rows of `from`, last to first, each with the id it had. */
static efface_status reversed(const efface_data *from, efface_data **out, efface_error *error) {
    efface_status status = efface_data_create(efface_data_n_columns(from), out, error);
    for (size_t i = efface_data_n_rows(from); status == EFFACE_OK && i > 0; i--)
        status = copy_row(*out, from, i - 1, efface_data_row(from, i - 1).id, error);
    return status;
}

/* Lets strangers in, far enough out to change the scaling too, and sends them away again. */
static efface_status visit(efface_data *data, efface_error *error) {
    float values[COLUMNS];
    uint64_t ids[STRANGERS];
    efface_status status = EFFACE_OK;
    for (uint64_t i = 0; i < STRANGERS && status == EFFACE_OK; i++) {
        for (uint64_t j = 0; j < COLUMNS; j++)
            values[j] = (float)((i * 31 + j * 17) % 101) - 50.0F;
        ids[i] = UINT64_C(1) << 40 | i;
        const efface_rows rows = {.n_rows = 1, .values = values, .ids = &ids[i]};
        status = efface_data_add(data, &rows, error);
    }
    return status == EFFACE_OK ? efface_data_remove(data, ids, STRANGERS, error) : status;
}

static bool claim(const char *what, const fitted *f, const fitted *first, bool same) {
    const bool holds = (strcmp(f->digest, first->digest) == 0) == same;
    printf("  %-50s %.12s  %s\n", what, f->digest,
           !holds ? "WRONG" : (same ? "the same" : "another, as it must be"));
    return holds;
}

int bench_demo(int n_arguments, char **arguments) {
    const bench_option none[] = {{NULL, BENCH_FLAG, NULL}};
    if (!bench_parse(none, n_arguments, arguments))
        return BENCH_USAGE;
    efface_error error = {.status = EFFACE_OK};
    efface_data *data = NULL, *backwards = NULL;
    fitted lloyd, quantized, again;
    bool holds = true;

    printf("efface %s: k-means whose result is one set of bits\n\n", efface_version());
    if (efface_data_make_gaussian(CLUSTERS, COLUMNS, ROWS_PER_CLUSTER, 1, &data, &error) !=
            EFFACE_OK ||
        fit(data, EFFACE_METHOD_LLOYD, 1, true, &lloyd, &error) != EFFACE_OK ||
        fit(data, EFFACE_METHOD_QUANTIZED, 1, true, &quantized, &error) != EFFACE_OK)
        goto failed;
    printf("%zu rows of %d columns around %d centres, scaled to the unit cube.\n"
           "One thread, %s kernels.\n\n",
           efface_data_n_rows(data), COLUMNS, CLUSTERS, efface_kernels_name());
    printf("  method     iterations        time        loss  NMI with the truth\n");
    const fitted *const models[] = {&lloyd, &quantized};
    for (int i = 0; i < 2; i++)
        printf("  %-10s %10" PRIu32 " %8.1f ms %11.1f %19.3f\n",
               bench_method_name(models[i]->info.method), models[i]->info.iterations,
               1e3 * models[i]->seconds, models[i]->loss, models[i]->nmi);
    printf("\n%.4f %% of the nearest-centroid searches needed integers; the rest float32 decided,\n"
           "with a proven bound.\n\n",
           100.0 * (double)lloyd.info.rows_undecided / (double)lloyd.info.rows_assigned);

    printf("A model is a function of the set of rows, of the parameters and of the seed,\n"
           "and of nothing else. The digest of its state, lloyd:\n\n");
    holds &= claim("fitted above", &lloyd, &lloyd, true);
    if (fit(data, EFFACE_METHOD_LLOYD, 3, false, &again, &error) != EFFACE_OK)
        goto failed;
    holds &= claim("three threads", &again, &lloyd, true);
    if (reversed(data, &backwards, &error) != EFFACE_OK ||
        fit(backwards, EFFACE_METHOD_LLOYD, 1, false, &again, &error) != EFFACE_OK)
        goto failed;
    holds &= claim("the rows last to first", &again, &lloyd, true);
    if (visit(data, &error) != EFFACE_OK ||
        fit(data, EFFACE_METHOD_LLOYD, 1, false, &again, &error) != EFFACE_OK)
        goto failed;
    holds &= claim("after 1,000 strangers came and left", &again, &lloyd, true);
    const uint64_t anyone = 4711;
    if (efface_data_remove(data, &anyone, 1, &error) != EFFACE_OK ||
        fit(data, EFFACE_METHOD_LLOYD, 1, false, &again, &error) != EFFACE_OK)
        goto failed;
    holds &= claim("without row 4711", &again, &lloyd, false);

    efface_data_free(data);
    efface_data_free(backwards);
    return holds ? BENCH_DONE : BENCH_FAILED;
failed:
    efface_data_free(data);
    efface_data_free(backwards);
    return bench_fail(&error);
}
