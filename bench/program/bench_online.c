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

#define BASELINE_ITERATIONS 10
#define PROGRESS_SECONDS 0.1

static const char action_letters[] = {[EFFACE_ACTION_UNTOUCHED] = 'u',
                                      [EFFACE_ACTION_REPAIRED] = 'r',
                                      [EFFACE_ACTION_REFITTED] = 'f'};

/* A replicate under way. */
typedef struct replicate {
    const online_options *options;
    efface_kmeans_params params; /* with the seed of this replicate */
    efface_data *data;
    efface_model *model;
    online_result *result;
    double *sorted; /* the seconds of requests, for their median */
    uint64_t *ids;  /* of a request */
    uint64_t n_forgotten;
} replicate;

static bool is_tree(const efface_kmeans_params *params) {
    return params->method == EFFACE_METHOD_TREE;
}

/* ---------------------------------------------------------------- training */

static efface_status timed_fit(const efface_data *data, const efface_kmeans_params *params,
                               efface_model **model, double *seconds, efface_error *error) {
    const double begin = bench_now();
    const efface_status status = efface_kmeans_fit(data, params, model, error);
    *seconds = bench_now() - begin;
    return status;
}

/* What a request costs without this library: lloyd, trained again on the rows that are left. A few
 * fits after the last request. */
static efface_status measure_baseline(replicate *r, efface_error *error) {
    efface_kmeans_params params = r->params;
    params.method = EFFACE_METHOD_LLOYD;
    params.iterations = BASELINE_ITERATIONS;
    params.redraw = EFFACE_REDRAW_SAME;
    const uint32_t n_fits = r->options->baseline_fits;
    r->result->baseline_seconds = NAN;
    if (n_fits == 0 || efface_data_n_rows(r->data) == 0)
        return EFFACE_OK;
    double *const seconds = malloc(n_fits * sizeof *seconds);
    if (seconds == NULL) {
        *error = (efface_error){.status = EFFACE_E_MEMORY, .message = "out of memory"};
        return EFFACE_E_MEMORY;
    }
    efface_status status = EFFACE_OK;
    for (uint32_t i = 0; i < n_fits && status == EFFACE_OK; i++) {
        efface_model *model = NULL;
        status = timed_fit(r->data, &params, &model, &seconds[i], error);
        efface_model_free(model);
    }
    if (status == EFFACE_OK)
        r->result->baseline_seconds = bench_median(seconds, n_fits);
    free(seconds);
    return status;
}

static efface_status train(replicate *r, efface_error *error) {
    online_result *const result = r->result;
    const efface_status status =
        timed_fit(r->data, &r->params, &r->model, &result->train_seconds, error);
    if (status != EFFACE_OK)
        return status;
    const efface_kmeans_info info = efface_kmeans_get_info(r->model);
    result->n_rows = info.n_rows;
    result->n_columns = info.n_columns;
    result->n_clusters = info.n_clusters;
    result->width = info.width;
    if (result->replicate == 1)
        bench_warn_coarse(r->model, r->data);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- quality */

static efface_status mark(replicate *r, efface_error *error) {
    return online_mark_quality(r->options, r->model, r->data, r->n_forgotten, r->result, error);
}

/* The loss of k-means run to convergence on the rows that are left, with the same seed. */
static efface_status measure_converged(replicate *r, efface_error *error) {
    r->result->converged_loss = NAN;
    if (efface_data_n_rows(r->data) == 0 || r->options->skip_metrics || r->options->skip_converged)
        return EFFACE_OK;
    efface_kmeans_params params = r->params;
    params.method = EFFACE_METHOD_LLOYD;
    params.iterations = 0;
    params.redraw = EFFACE_REDRAW_SAME;
    efface_model *converged = NULL;
    efface_status status = efface_kmeans_fit(r->data, &params, &converged, error);
    if (status == EFFACE_OK)
        status = efface_kmeans_loss(converged, r->data, &r->result->converged_loss, error);
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
            r->result->replicate, r->options->replicates, r->n_forgotten, r->options->deletions);
}

static void count_reason(online_result *result, const char *why) {
    for (size_t i = 0; i < ONLINE_MOST_REASONS; i++) {
        struct online_reason *const known = &result->reasons[i];
        if (known->why == NULL)
            known->why = why;
        if (strcmp(known->why, why) == 0) {
            known->times++;
            return;
        }
    }
}

/* Whether a report says that a request got no farther than the leaves of a tree of this height. */
static bool is_at_leaf(const efface_report *report, uint32_t height) {
    char leaves[EFFACE_WHERE_BYTES];
    if (height == 0)
        return false;
    (void)snprintf(leaves, sizeof leaves, "up to depth %" PRIu32, height);
    return strcmp(report->where, leaves) == 0;
}

void online_count(online_result *result, const efface_report *report, uint32_t height) {
    result->n_requests++;
    result->n_actions[report->action]++;
    if (report->action != EFFACE_ACTION_UNTOUCHED)
        count_reason(result, report->reason);
    result->rows_visited_mean += (double)report->rows_visited;
    result->n_at_leaf += is_at_leaf(report, height);
}

void online_sum_up_times(online_result *result, double *sorted) {
    const size_t n = (size_t)result->n_requests;
    for (size_t i = 0; i < n; i++)
        result->delete_seconds += sorted[i] = result->request_seconds[i];
    result->us_mean = 1e6 * result->delete_seconds / (double)n;
    result->us_median = 1e6 * bench_median(sorted, n); /* and they are sorted */
    result->us_p99 = 1e6 * sorted[(99 * n + 99) / 100 - 1];
    result->us_max = 1e6 * sorted[n - 1];
    result->rows_visited_mean /= (double)n;
}

/* How many rows the next request may have. No request goes past a milestone. */
static size_t most_rows(const replicate *r, bool milestones) {
    uint64_t most = r->options->deletions - r->n_forgotten;
    if (most > r->options->batch)
        most = r->options->batch;
    const uint64_t before = online_rows_to_milestone(r->n_forgotten);
    if (milestones && most > before)
        most = before;
    return (size_t)most;
}

static efface_status forget_rows(replicate *r, efface_error *error) {
    const online_options *const options = r->options;
    const bool watched = bench_is_watched(), milestones = online_marks_milestones(options);
    double shown = 0.0;
    efface_report report;
    const efface_report *last = NULL;
    online_requests requests;
    efface_status status = online_requests_init(&requests, options->order, &r->params,
                                                r->result->replicate, r->data, error);
    if (status == EFFACE_OK && milestones)
        status = mark(r, error);
    while (status == EFFACE_OK && r->n_forgotten < options->deletions) {
        size_t n_ids = most_rows(r, milestones);
        status =
            online_requests_next(&requests, r->model, r->data, last, n_ids, r->ids, &n_ids, error);
        if (status != EFFACE_OK)
            break;
        const double begin = bench_now();
        status = efface_model_forget(
            r->model, r->data, &(efface_request){.ids = r->ids, .n_ids = n_ids}, &report, error);
        const double seconds = bench_now() - begin;
        if (status != EFFACE_OK)
            break;
        last = &report;
        r->result->request_seconds[r->result->n_requests] = seconds;
        r->result->request_actions[r->result->n_requests] = action_letters[report.action];
        r->n_forgotten += n_ids;
        online_count(r->result, &report, is_tree(&r->params) ? r->params.height : 0);
        if (milestones && online_is_milestone(r->n_forgotten))
            status = mark(r, error);
        if (watched)
            show_progress(r, &shown);
    }
    online_requests_free(&requests);
    if (watched)
        fputs("\r\033[K", stderr);
    const size_t n_marks = r->result->n_marks;
    if (status == EFFACE_OK &&
        (n_marks == 0 || r->result->marks[n_marks - 1].after != r->n_forgotten))
        status = mark(r, error);
    if (status == EFFACE_OK)
        online_sum_up_times(r->result, r->sorted);
    return status;
}

/* ---------------------------------------------------------------- a replicate */

static efface_status finish(replicate *r, efface_error *error) {
    const size_t n = efface_data_n_rows(r->data);
    r->result->state_bytes_per_row =
        n != 0 ? (double)efface_model_state_bytes(r->model) / (double)n : (double)NAN;
    r->result->epsilon = efface_kmeans_get_info(r->model).epsilon;
    const efface_status status = measure_converged(r, error);
    if (status != EFFACE_OK)
        return status;
    return efface_model_verify(r->model, r->data, &r->result->difference, error);
}

static int run(const online_options *options, uint32_t number, online_result *result) {
    *result = (online_result){.replicate = number};
    replicate r = {.options = options, .params = options->params, .result = result};
    r.params.common.seed += number - 1;
    efface_error error;
    int code = BENCH_FAILED;
    /* Read again for each replicate: the one before has forgotten. */
    r.data = bench_open(options->data, options->labels);
    if (r.data == NULL)
        return code;
    if (options->deletions > efface_data_n_rows(r.data)) {
        fprintf(stderr, "efface-bench: there are only %zu rows to forget\n",
                efface_data_n_rows(r.data));
        goto out;
    }
    result->request_seconds = malloc(options->deletions * sizeof *result->request_seconds);
    result->request_actions = malloc(options->deletions);
    r.sorted = malloc(options->deletions * sizeof *r.sorted);
    r.ids = malloc(options->deletions * sizeof *r.ids);
    if (result->request_seconds == NULL || result->request_actions == NULL || r.sorted == NULL ||
        r.ids == NULL) {
        fputs("efface-bench: out of memory\n", stderr);
        goto out;
    }
    if (train(&r, &error) != EFFACE_OK || forget_rows(&r, &error) != EFFACE_OK ||
        measure_baseline(&r, &error) != EFFACE_OK || finish(&r, &error) != EFFACE_OK)
        code = bench_fail(&error);
    else
        code = BENCH_DONE;
out:
    free(r.sorted);
    free(r.ids);
    efface_model_free(r.model);
    efface_data_free(r.data);
    return code;
}

static void free_result(online_result *result) {
    free(result->request_seconds);
    free(result->request_actions);
}

/* Says where a state is not that of a fresh fit; whether it is. */
static bool is_verified(const online_result *result) {
    const efface_difference *const d = &result->difference;
    if (!d->identical)
        fprintf(stderr,
                "efface-bench: replicate %" PRIu32 ": NOT VERIFIED: the state after forgetting "
                "differs from a fresh fit: %s, %s\n",
                result->replicate, d->what, d->where);
    return d->identical != 0;
}

static int run_all(const online_options *options) {
    online_result *const results = calloc(options->replicates, sizeof *results);
    if (results == NULL) {
        fputs("efface-bench: out of memory\n", stderr);
        return BENCH_FAILED;
    }
    bool verified = true;
    int code = BENCH_DONE;
    for (uint32_t i = 0; i < options->replicates && code == BENCH_DONE; i++) {
        code = run(options, i + 1, &results[i]);
        if (code != BENCH_DONE)
            break;
        if (options->json) {
            online_print_json(&results[i], options);
        } else {
            if (i == 0)
                online_print_head(results, options);
            online_print_line(&results[i]);
        }
        fflush(stdout);
        verified = is_verified(&results[i]) && verified;
    }
    if (code == BENCH_DONE && !options->json)
        online_print_summary(results, options);
    for (uint32_t i = 0; i < options->replicates; i++)
        free_result(&results[i]);
    free(results);
    return verified ? code : BENCH_FAILED;
}

/* Runs a tree of each height and width. */
static int sweep(online_options *options) {
    int code = BENCH_DONE;
    for (uint32_t h = 0; h < options->heights.n && code == BENCH_DONE; h++)
        for (uint32_t w = 0; w < options->widths.n && code == BENCH_DONE; w++) {
            options->params.height = options->heights.values[h];
            options->params.width = options->widths.values[w];
            if (!options->json && h + w != 0)
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
    online_options o = {.deletions = 1000,
                        .batch = 1,
                        .replicates = 5,
                        .baseline_fits = 3,
                        .heights = {{1}, 1},
                        .widths = {{0}, 1}};
    bool help = false;
    efface_kmeans_params_init(&o.params);
    o.params.candidates = 1; /* as in the paper, */
    o.params.weigh_centroids = 0;
    o.params.method = EFFACE_METHOD_PYRAMID;
    o.params.common.n_threads = 1;
    const bench_option options[] = {
        {"--data", BENCH_TEXT, (void *)&o.data},
        {"--labels", BENCH_TEXT, (void *)&o.labels},
        {"--family", BENCH_TEXT, (void *)&family},
        BENCH_FIT_OPTIONS(o.params),
        {"--redraw", BENCH_REDRAW, &o.params.redraw},
        {"--height", BENCH_LIST, &o.heights},
        {"--width", BENCH_LIST, &o.widths},
        {"--deletions", BENCH_COUNT, &o.deletions},
        {"--replicates", BENCH_COUNT, &o.replicates},
        {"--baseline", BENCH_WHOLE, &o.baseline_fits},
        {"--order", BENCH_ORDER, &o.order},
        {"--batch", BENCH_COUNT, &o.batch},
        {"--skip-metrics", BENCH_FLAG, &o.skip_metrics},
        {"--skip-converged", BENCH_FLAG, &o.skip_converged},
        {"--metrics-at-end", BENCH_FLAG, &o.metrics_at_end},
        {"--trace", BENCH_FLAG, &o.trace},
        {"--json", BENCH_FLAG, &o.json},
        {"--help", BENCH_FLAG, &help},
        {NULL, BENCH_FLAG, NULL},
    };
    if (!bench_parse(options, n_arguments, arguments))
        return BENCH_USAGE;
    if (help) {
        online_print_help();
        return BENCH_DONE;
    }
    if (o.data == NULL) {
        fputs("efface-bench: online needs --data FILE; see efface-bench online --help\n", stderr);
        return BENCH_USAGE;
    }
    if (o.order == BENCH_ORDER_SAMPLE && o.params.method != EFFACE_METHOD_PYRAMID &&
        o.params.leaf_method != EFFACE_METHOD_PYRAMID) {
        fputs("efface-bench: --order sample is for --method pyramid\n", stderr);
        return BENCH_USAGE;
    }
    if (o.params.method != EFFACE_METHOD_TREE)
        return run_all(&o);
    return sweep(&o);
}
