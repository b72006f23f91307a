/*
 * efface-bench online: the paper's benchmark of online deletion. Train once, then forget row after
 * row, each request giving a model; at the end compare the state with that of a fresh fit.
 *
 * Only the library is clocked: the fit, and each call that forgets. Choosing rows, measuring the
 * quality of models and printing stand outside the clock. Each replicate has its own seed, and with
 * it other seeds, another sample and other rows that go.
 */
#include "bench_online.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASELINE_ITERATIONS = 10 };

#define PROGRESS_SECONDS 0.1

/* A replicate under way. */
typedef struct replicate {
    online_run run;
    const online_options *options;
    efface_kmeans_params params; /* with the seed of this replicate */
} replicate;

static bool is_tree(const efface_kmeans_params *params) {
    return params->method == EFFACE_METHOD_TREE;
}

/* ---------------------------------------------------------------- training */

static efface_status fit_kmeans(const efface_data *data, const void *params, efface_model **model,
                                double *seconds, efface_error *error) {
    return bench_timed_fit(data, params, model, seconds, error);
}

/* As the paper does: lloyd, trained again on the rows that are left. */
static efface_status measure_baseline(replicate *r, efface_error *error) {
    efface_kmeans_params params = r->params;
    params.method = EFFACE_METHOD_LLOYD;
    params.iterations = BASELINE_ITERATIONS;
    return online_measure_baseline(&r->run, fit_kmeans, &params, error);
}

static efface_status train_model(replicate *r, efface_error *error) {
    online_result *const result = r->run.result;
    const efface_status status =
        bench_timed_fit(r->run.data, &r->params, &r->run.model, &result->train_seconds, error);
    if (status != EFFACE_OK)
        return status;
    const efface_kmeans_info info = efface_kmeans_get_info(r->run.model);
    result->n_clusters = info.n_clusters;
    result->width = info.width;
    if (result->replicate == 1)
        bench_warn_coarse(r->run.model, r->run.data);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- quality */

static efface_status mark_quality(replicate *r, efface_error *error) {
    return online_mark_quality(r->options, &r->run, error);
}

/* The loss of k-means run to convergence on the rows that are left, with the same seed. */
static efface_status measure_converged(replicate *r, efface_error *error) {
    const efface_data *const data = r->run.data;
    double *const loss = &r->run.result->converged_loss;
    *loss = NAN;
    if (efface_data_n_rows(data) == 0 || r->options->skip_metrics || r->options->skip_converged)
        return EFFACE_OK;
    efface_kmeans_params params = r->params;
    params.method = EFFACE_METHOD_LLOYD;
    params.iterations = 0;
    efface_model *converged = NULL;
    efface_status status = efface_kmeans_fit(data, &params, &converged, error);
    if (status == EFFACE_OK)
        status = efface_kmeans_loss(converged, data, loss, error);
    efface_model_free(converged);
    return status;
}

/* ---------------------------------------------------------------- forgetting */

static void show_progress(const replicate *r, double *shown) {
    const double now = bench_now();
    if (now - *shown < PROGRESS_SECONDS)
        return;
    *shown = now;
    fprintf(stderr, "\rreplicate %" PRIu32 " of %" PRIu32 ": %" PRIu64 " of %" PRIu32 " rows ",
            r->run.result->replicate, r->run.options->replicates, r->run.n_forgotten,
            r->run.options->deletions);
}

/* How many rows the next request may have. No request goes past a milestone. */
static size_t max_rows(const replicate *r, bool milestones) {
    uint64_t max = r->run.options->deletions - r->run.n_forgotten;
    if (max > r->run.options->batch)
        max = r->run.options->batch;
    const uint64_t before = online_rows_to_milestone(r->run.n_forgotten);
    return (size_t)(milestones && max > before ? before : max);
}

static efface_status forget_rows(replicate *r, efface_error *error) {
    online_run *const run = &r->run;
    const bool watched = bench_is_watched(), milestones = online_marks_milestones(r->options);
    const uint32_t height = is_tree(&r->params) ? r->params.tree.height : 0;
    double shown = 0.0;
    efface_report report;
    const efface_report *last = NULL;
    online_requests requests;
    efface_status status = online_requests_init(&requests, r->options->order, r->params.common.seed,
                                                run->result->replicate, run->data, error);
    if (status == EFFACE_OK && milestones)
        status = mark_quality(r, error);
    while (status == EFFACE_OK && run->n_forgotten < run->options->deletions) {
        size_t n_ids = max_rows(r, milestones);
        status = online_requests_next(&requests, run->model, run->data, last, n_ids, run->ids,
                                      &n_ids, error);
        if (status == EFFACE_OK)
            status = online_forget(run, n_ids, height, &report, error);
        last = &report;
        if (status == EFFACE_OK && milestones && online_is_milestone(run->n_forgotten))
            status = mark_quality(r, error);
        if (watched)
            show_progress(r, &shown);
    }
    online_requests_free(&requests);
    if (watched)
        fputs("\r\033[K", stderr);
    const size_t n_marks = run->result->n_marks;
    if (status == EFFACE_OK &&
        (n_marks == 0 || (uint64_t)run->result->marks[n_marks - 1].after != run->n_forgotten))
        status = mark_quality(r, error);
    return status;
}

/* ---------------------------------------------------------------- a replicate */

static int run_replicate(const online_options *options, uint32_t number, online_result *result) {
    replicate r = {.options = options, .params = options->params};
    r.params.common.seed += number - 1;
    efface_error error;
    int code = BENCH_FAILED;
    if (online_run_begin(&r.run, &options->common, number, result)) {
        code = BENCH_DONE;
        if (train_model(&r, &error) != EFFACE_OK || measure_baseline(&r, &error) != EFFACE_OK ||
            forget_rows(&r, &error) != EFFACE_OK || measure_baseline(&r, &error) != EFFACE_OK ||
            measure_converged(&r, &error) != EFFACE_OK ||
            online_finish(&r.run, &error) != EFFACE_OK)
            code = bench_fail(&error);
        else
            result->epsilon = efface_kmeans_get_info(r.run.model).epsilon;
    }
    online_run_end(&r.run);
    return code;
}

static int run_all(const online_options *options) {
    const uint32_t n = options->common.replicates;
    online_result *const results = calloc(n, sizeof *results);
    if (results == NULL) {
        fputs("efface-bench: out of memory\n", stderr);
        return BENCH_FAILED;
    }
    bool verified = true;
    int code = BENCH_DONE;
    for (uint32_t i = 0; i < n && code == BENCH_DONE; i++) {
        code = run_replicate(options, i + 1, &results[i]);
        if (code != BENCH_DONE)
            break;
        if (options->common.json) {
            online_print_json(&results[i], options);
        } else {
            if (i == 0)
                online_print_head(results, options);
            online_print_line(&results[i]);
        }
        fflush(stdout);
        verified = online_is_verified(&results[i]) && verified;
    }
    if (code == BENCH_DONE && !options->common.json)
        online_print_summary(results, options);
    for (uint32_t i = 0; i < n; i++)
        online_result_free(&results[i]);
    free(results);
    return verified ? code : BENCH_FAILED;
}

/* Runs a tree of each height and width. */
static int sweep_trees(online_options *options) {
    int code = BENCH_DONE;
    for (uint32_t h = 0; h < options->heights.n && code == BENCH_DONE; h++)
        for (uint32_t w = 0; w < options->widths.n && code == BENCH_DONE; w++) {
            options->params.tree.height = options->heights.values[h];
            options->params.tree.width = options->widths.values[w];
            if (!options->common.json && h + w != 0)
                putchar('\n');
            code = run_all(options);
        }
    return code;
}

/* Whether a family other than k-means is asked for: its options are others. */
static bool is_other_family(int n_arguments, char **arguments) {
    for (int i = 0; i + 1 < n_arguments; i++)
        if (strcmp(arguments[i], "--family") == 0)
            return strcmp(arguments[i + 1], "kmeans") != 0;
    return false;
}

int bench_online(int n_arguments, char **arguments) {
    if (is_other_family(n_arguments, arguments))
        return bench_online_family(n_arguments, arguments);
    const char *family = NULL;
    online_options o = {.common = ONLINE_DEFAULTS, .heights = {{1}, 1}, .widths = {{0}, 1}};
    efface_kmeans_params_init(&o.params);
    o.params.candidates = 1; /* as in the paper, */
    o.params.tree.weigh_centroids = 0;
    o.params.method = EFFACE_METHOD_PYRAMID;
    o.params.common.n_threads = 1;
    const bench_option options[] = {
        ONLINE_COMMON_OPTIONS(o.common),
        BENCH_FIT_OPTIONS(o.params),
        {"--family", BENCH_TEXT, (void *)&family},
        {"--height", BENCH_LIST, &o.heights},
        {"--width", BENCH_LIST, &o.widths},
        {"--order", BENCH_ORDER, &o.order},
        {"--skip-metrics", BENCH_FLAG, &o.skip_metrics},
        {"--skip-converged", BENCH_FLAG, &o.skip_converged},
        {"--metrics-at-end", BENCH_FLAG, &o.metrics_at_end},
        {"--trace", BENCH_FLAG, &o.trace},
        {NULL, BENCH_FLAG, NULL},
    };
    if (!bench_parse(options, n_arguments, arguments))
        return BENCH_USAGE;
    if (o.common.help) {
        online_print_help();
        return BENCH_DONE;
    }
    if (o.common.data == NULL) {
        fputs("efface-bench: online needs --data FILE; see efface-bench online --help\n", stderr);
        return BENCH_USAGE;
    }
    if (o.order == BENCH_ORDER_SAMPLE && o.params.method != EFFACE_METHOD_PYRAMID &&
        o.params.tree.leaf_method != EFFACE_METHOD_PYRAMID) {
        fputs("efface-bench: --order sample is for --method pyramid\n", stderr);
        return BENCH_USAGE;
    }
    if (o.params.method != EFFACE_METHOD_TREE)
        return run_all(&o);
    return sweep_trees(&o);
}
