/* efface-bench train: how long a fit takes, and what comes out. Only the fit is clocked. */
#include "bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct result {
    efface_kmeans_info info;
    double seconds; /* median of the repeats */
    double loss;
    double silhouette, nmi; /* NAN if they were not asked for */
    char digest[BENCH_HEX_BYTES];
    uint64_t peak_rss_bytes;
} result;

typedef struct train_options {
    const char *data, *labels;
    efface_kmeans_params params;
    uint32_t repeats;
    bool metrics, json;
} train_options;

/* A model with one cluster, say, has none: that is no failure of the run. */
static void measure_quality(const efface_model *model, const efface_data *data, bool labelled,
                            result *out) {
    efface_error error;
    (void)efface_kmeans_silhouette(model, data, NULL, 0, &out->silhouette, &error);
    if (labelled)
        (void)bench_nmi(model, data, &out->nmi, &error);
}

/* Fits `repeats` times; the last model is measured. */
static int measure_fits(const efface_data *data, const train_options *options, result *out) {
    const uint32_t repeats = options->repeats;
    *out = (result){.silhouette = NAN, .nmi = NAN};
    efface_error error;
    efface_model *model = NULL;
    double *const seconds = malloc(repeats * sizeof *seconds);
    int code = BENCH_FAILED;
    if (seconds == NULL) {
        fputs("efface-bench: out of memory\n", stderr);
        return code;
    }
    for (uint32_t i = 0; i < repeats; i++) {
        efface_model_free(model);
        model = NULL;
        if (bench_timed_fit(data, &options->params, &model, &seconds[i], &error) != EFFACE_OK) {
            code = bench_fail(&error);
            goto out;
        }
    }
    out->peak_rss_bytes = bench_peak_rss_bytes();
    out->seconds = bench_median(seconds, repeats);
    out->info = efface_kmeans_get_info(model);
    bench_warn_coarse(model, data);
    if (efface_kmeans_loss(model, data, &out->loss, &error) != EFFACE_OK) {
        code = bench_fail(&error);
        goto out;
    }
    if (options->metrics)
        measure_quality(model, data, bench_has_labels(options->data, options->labels), out);
    if (bench_digest_hex(model, out->digest))
        code = BENCH_DONE;
out:
    free(seconds);
    efface_model_free(model);
    return code;
}

static void print_fit_json(const result *r, const efface_kmeans_params *params) {
    printf("{\"bench\":\"train\",\"method\":\"%s\",\"n\":%" PRIu64 ",\"d\":%" PRIu32
           ",\"k\":%" PRIu32 ",\"threads\":%" PRIu32 ",\"kernels\":\"%s\",\"iters\":%" PRIu32
           ",\"seconds\":%.9g,\"loss\":%.17g,\"digest\":\"%s\",\"peak_rss_bytes\":%" PRIu64
           ",\"rows_assigned\":%" PRIu64 ",\"rows_undecided\":%" PRIu64 ",\"rows_moved\":%" PRIu64
           ",\"epsilon\":%.9g",
           bench_method_name(params->method), r->info.n_rows, r->info.n_columns, r->info.n_clusters,
           params->common.n_threads, efface_kernels_name(), r->info.iterations, r->seconds, r->loss,
           r->digest, r->peak_rss_bytes, r->info.rows_assigned, r->info.rows_undecided,
           r->info.rows_moved, r->info.epsilon);
    bench_put_field("silhouette", r->silhouette);
    bench_put_field("nmi", r->nmi);
    puts("}");
}

static void print_fit_table(const result *r, const efface_kmeans_params *params) {
    const double data_bytes = 4.0 * (double)r->info.n_rows * (double)r->info.n_columns;
    printf("method      %s%s\n", bench_method_name(params->method),
           r->info.stable ? ", stable" : "");
    printf("rows        %" PRIu64 " x %" PRIu32 ", %" PRIu32 " clusters\n", r->info.n_rows,
           r->info.n_columns, r->info.n_clusters);
    printf("threads     %" PRIu32 ", kernels %s\n", params->common.n_threads,
           efface_kernels_name());
    printf("iterations  %" PRIu32 "%s\n", r->info.iterations,
           params->method == EFFACE_METHOD_PYRAMID ? " over all rows, after those on the sample"
           : params->method == EFFACE_METHOD_TREE  ? " at the root"
                                                   : "");
    printf("time        %.3f ms\n", 1e3 * r->seconds);
    printf("loss        %.10g\n", r->loss);
    if (isfinite(r->silhouette))
        printf("silhouette  %.4f\n", r->silhouette);
    if (isfinite(r->nmi))
        printf("NMI         %.4f\n", r->nmi);
    printf("undecided   %.4f %% of %" PRIu64 " searches went to integers\n",
           100.0 * (double)r->info.rows_undecided / (double)r->info.rows_assigned,
           r->info.rows_assigned);
    printf("peak memory %.1f MB, the data is %.1f MB\n", 1e-6 * (double)r->peak_rss_bytes,
           1e-6 * data_bytes);
    printf("digest      %s\n", r->digest);
}

int bench_train(int n_arguments, char **arguments) {
    train_options o = {.repeats = 5};
    efface_kmeans_params_init(&o.params);
    o.params.method = EFFACE_METHOD_LLOYD;
    o.params.candidates = 1; /* as in the paper, */
    o.params.tree.weigh_centroids = 0;
    o.params.common.n_threads = 1;
    const bench_option options[] = {
        {"--data", BENCH_TEXT, (void *)&o.data},
        {"--labels", BENCH_TEXT, (void *)&o.labels},
        BENCH_FIT_OPTIONS(o.params),
        {"--height", BENCH_WHOLE, &o.params.tree.height},
        {"--width", BENCH_WHOLE, &o.params.tree.width},
        {"--repeats", BENCH_COUNT, &o.repeats},
        {"--metrics", BENCH_FLAG, &o.metrics},
        {"--json", BENCH_FLAG, &o.json},
        {NULL, BENCH_FLAG, NULL},
    };
    if (!bench_parse(options, n_arguments, arguments))
        return BENCH_USAGE;
    if (o.data == NULL) {
        fputs("efface-bench: train needs --data FILE; see efface-bench --help\n", stderr);
        return BENCH_USAGE;
    }
    efface_data *const data = bench_open(o.data, o.labels);
    if (data == NULL)
        return BENCH_FAILED;
    result r;
    const int code = measure_fits(data, &o, &r);
    efface_data_free(data);
    if (code == BENCH_DONE)
        (o.json ? print_fit_json : print_fit_table)(&r, &o.params);
    return code;
}
