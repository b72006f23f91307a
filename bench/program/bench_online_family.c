/*
 * efface-bench online --family F: forgetting from models other than k-means. Train once, forget row
 * after row, and compare with training again; at the end compare the state with that of a fresh
 * fit.
 *
 * What such models predict from is computed when it is asked for. That is clocked apart: a
 * prediction after each of the first requests. The bytes of the state are copied, too, for a
 * measure of how little a request could cost.
 */
#include "bench_online.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VIEWS = 50, COPIES = 31 };

typedef struct family_options {
    online_common common;
    const char *family;
    const struct family *chosen;
    efface_sums_params sums;
    efface_segmented_params segmented; /* has the k-means; what both have is in `sums` */
    efface_forest_params forest;
    efface_logistic_params logistic;
    uint32_t target;       /* a column, from 1; 0: the last, or none */
    uint32_t trees_of_row; /* 0: every row is in all trees */
    double alpha;
    uint32_t n_components, n_fourier;
} family_options;

/* A kind of model by its name on the command line. */
typedef struct family {
    const char *name;
    efface_view view;
    bool has_target, has_classes, is_quadratic, has_features, has_segments, has_trees;
    bool has_functions, is_hinge;
} family;

static const family families[] = {
    {.name = "sums", .view = EFFACE_VIEW_MEANS},
    {.name = "linear", .view = EFFACE_VIEW_LINEAR, .has_target = true},
    {.name = "ridge", .view = EFFACE_VIEW_RIDGE, .has_classes = true},
    {.name = "bayes", .view = EFFACE_VIEW_BAYES, .has_classes = true},
    {.name = "discriminant", .view = EFFACE_VIEW_DISCRIMINANT, .has_classes = true},
    {.name = "quadratic",
     .view = EFFACE_VIEW_DISCRIMINANT,
     .has_classes = true,
     .is_quadratic = true},
    {.name = "components", .view = EFFACE_VIEW_COMPONENTS},
    {.name = "fourier", .view = EFFACE_VIEW_LINEAR, .has_target = true, .has_features = true},
    {.name = "segmented", .view = EFFACE_VIEW_LINEAR, .has_target = true, .has_segments = true},
    {.name = "forest", .has_trees = true}, /* with --target that column, else classes */
    {.name = "logistic", .has_classes = true, .has_functions = true},
    {.name = "svm", .has_classes = true, .has_functions = true, .is_hinge = true},
};

#define N_FAMILIES (sizeof families / sizeof families[0])

/* What is measured beside what all models have. */
typedef struct family_result {
    online_result online;
    uint64_t n_bytes; /* of the state */
    double view_us;   /* a prediction after a request: median */
    double copy_us;   /* a copy of the state's bytes: median */
} family_result;

/* A replicate under way. */
typedef struct replicate {
    online_run run;
    const family_options *options;
    efface_sums_params params;
    efface_segmented_params segmented; /* with what `params` says */
    efface_forest_params forest;       /* the same */
    efface_logistic_params logistic;
    uint32_t target;
    family_result *result;
    double views[MAX_VIEWS];
    size_t n_views;
} replicate;

/* ---------------------------------------------------------------- training */

/* `params` is the replicate. */
static efface_status fit_family(const efface_data *data, const void *params, efface_model **model,
                                double *seconds, efface_error *error) {
    const replicate *const r = params;
    const family *const chosen = r->options->chosen;
    const double begin = bench_now();
    const efface_status status =
        chosen->has_segments    ? efface_segmented_fit(data, &r->segmented, model, error)
        : chosen->has_trees     ? efface_forest_fit(data, &r->forest, model, error)
        : chosen->has_functions ? efface_logistic_fit(data, &r->logistic, model, error)
                                : efface_sums_fit(data, &r->params, model, error);
    *seconds = bench_now() - begin;
    return status;
}

/* ---------------------------------------------------------------- forgetting */

/* The first prediction after a change computes what predicts. */
static efface_status predict_once(replicate *r, const float *row, efface_number *numbers,
                                  efface_error *error) {
    const double begin = bench_now();
    const efface_status status =
        efface_predictor_predict(efface_model_predictor(r->run.model), 1, row, 0, numbers, error);
    r->views[r->n_views++] = bench_now() - begin;
    return status;
}

static efface_status forget_rows(replicate *r, efface_error *error) {
    online_run *const run = &r->run;
    const efface_model_info info = efface_model_get_info(run->model);
    float *const row = calloc(info.n_columns, sizeof *row);
    efface_number *const numbers = calloc(info.n_numbers + (size_t)1, sizeof *numbers);
    efface_report report;
    const efface_report *last = NULL;
    online_requests requests;
    efface_status status =
        online_requests_init(&requests, BENCH_ORDER_UNIFORM, r->params.common.seed,
                             run->result->replicate, run->data, error);
    if (status == EFFACE_OK && (row == NULL || numbers == NULL))
        status = bench_fail_memory(error);
    while (status == EFFACE_OK && run->n_forgotten < run->options->deletions) {
        const uint64_t rest = run->options->deletions - run->n_forgotten;
        size_t n = rest < run->options->batch ? (size_t)rest : run->options->batch;
        status =
            online_requests_next(&requests, run->model, run->data, last, n, run->ids, &n, error);
        if (status == EFFACE_OK)
            status = online_forget(run, n, 0, &report, error);
        if (status == EFFACE_OK && r->n_views < MAX_VIEWS)
            status = predict_once(r, row, numbers, error);
        last = &report;
    }
    if (status == EFFACE_OK)
        r->result->view_us = 1e6 * bench_median(r->views, r->n_views);
    online_requests_free(&requests);
    free(row);
    free(numbers);
    return status;
}

/* ---------------------------------------------------------------- the state */

static efface_status measure_copy(replicate *r, efface_error *error) {
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    double seconds[COPIES];
    efface_status status = efface_model_encode(r->run.model, &bytes, &n_bytes, error);
    unsigned char *const copy = status == EFFACE_OK ? malloc(n_bytes) : NULL;
    if (status == EFFACE_OK && copy == NULL)
        status = bench_fail_memory(error);
    for (size_t i = 0; i < COPIES && status == EFFACE_OK; i++) {
        const double begin = bench_now();
        memcpy(copy, bytes, n_bytes);
        /* So that no copy can be left out. */
        ((volatile unsigned char *)bytes)[0] = ((volatile unsigned char *)copy)[n_bytes - 1];
        seconds[i] = bench_now() - begin;
    }
    if (status == EFFACE_OK) {
        r->result->n_bytes = n_bytes;
        r->result->copy_us = 1e6 * bench_median(seconds, COPIES);
    }
    free(copy);
    efface_bytes_free(bytes);
    return status;
}

/* ---------------------------------------------------------------- a replicate */

/* Sets what depends on the data. */
static bool set_replicate(replicate *r) {
    const family_options *const o = r->options;
    const uint32_t d = efface_data_n_columns(r->run.data);
    r->params = o->sums;
    r->params.common.seed += r->run.result->replicate - 1;
    r->target = o->target != 0 ? o->target - 1 : d - 1;
    if (o->chosen->has_target) {
        r->params.targets = &r->target;
        r->params.n_targets = 1;
    }
    r->segmented = o->segmented;
    r->segmented.common.seed = r->params.common.seed;
    r->segmented.common.n_threads = r->params.common.n_threads;
    r->segmented.targets = r->params.targets;
    r->segmented.n_targets = r->params.n_targets;
    r->segmented.linear = r->params.linear;
    r->forest = o->forest;
    r->forest.common.seed = r->params.common.seed;
    r->forest.common.n_threads = r->params.common.n_threads;
    r->logistic = o->logistic;
    r->logistic.common.seed = r->params.common.seed;
    r->logistic.common.n_threads = r->params.common.n_threads;
    if (o->target != 0)
        r->forest.target = r->target;
    if (o->trees_of_row != 0) {
        r->forest.rows = EFFACE_FOREST_SOME;
        r->forest.trees_of_row = o->trees_of_row;
    }
    if (r->target >= d || ((o->chosen->has_target || o->target != 0) && d < 2)) {
        fprintf(stderr, "efface-bench: there are only %" PRIu32 " columns\n", d);
        return false;
    }
    return true;
}

static int run_replicate(const family_options *options, uint32_t number, family_result *result) {
    replicate r = {.options = options, .result = result};
    efface_error error;
    int code = BENCH_FAILED;
    *result = (family_result){.n_bytes = 0};
    if (online_run_begin(&r.run, &options->common, number, &result->online) && set_replicate(&r)) {
        code = BENCH_DONE;
        double *const seconds = &result->online.train_seconds;
        if (fit_family(r.run.data, &r, &r.run.model, seconds, &error) != EFFACE_OK ||
            online_measure_baseline(&r.run, fit_family, &r, &error) != EFFACE_OK ||
            forget_rows(&r, &error) != EFFACE_OK ||
            online_measure_baseline(&r.run, fit_family, &r, &error) != EFFACE_OK ||
            measure_copy(&r, &error) != EFFACE_OK || online_finish(&r.run, &error) != EFFACE_OK)
            code = bench_fail(&error);
    }
    online_run_end(&r.run);
    return code;
}

/* ---------------------------------------------------------------- what is shown */

static void print_family_head(const family_result *first, const family_options *o) {
    const uint32_t threads = o->sums.common.n_threads;
    printf("%s, %" PRIu64 " x %" PRIu32 ", %" PRIu32 " thread%s, %s kernels\n", o->chosen->name,
           first->online.n_rows, first->online.n_columns, threads, threads == 1 ? "" : "s",
           efface_kernels_name());
    printf("%" PRIu32 " rows to forget, %" PRIu32 " in a request; a state of %" PRIu64 " bytes\n\n",
           o->common.deletions, o->common.batch, first->n_bytes);
    printf("      train  retrain      a request, us                        ad-  re-    re-"
           "            a copy    a view\n"
           "         ms       ms     mean   median      p99       max   justed paired fitted"
           "  speed-up       us        us\n");
}

static void print_family_line(const family_result *result) {
    const online_result *const r = &result->online;
    printf("%2" PRIu32 " %8.1f %8.1f %8.1f %8.1f %8.1f %9.1f %8" PRIu64 " %6" PRIu64 " %6" PRIu64,
           r->replicate, 1e3 * r->train_seconds, 1e3 * r->baseline_seconds, r->us_mean,
           r->us_median, r->us_p99, r->us_max, r->n_actions[EFFACE_ACTION_ADJUSTED],
           r->n_actions[EFFACE_ACTION_REPAIRED], r->n_actions[EFFACE_ACTION_REFITTED]);
    printf(" %9.1f %8.1f %9.1f%s\n", online_speedup_amortized(r), result->copy_us, result->view_us,
           r->difference.identical ? "" : "  NOT VERIFIED");
}

static void print_family_json(const family_result *result, const family_options *o) {
    const online_result *const r = &result->online;
    printf("{\"bench\":\"online\",\"family\":\"%s\",\"n\":%" PRIu64 ",\"d\":%" PRIu32
           ",\"threads\":%" PRIu32 ",\"kernels\":\"%s\",\"compiler\":\"%s\",\"deletions\":%" PRIu32
           ",\"batch\":%" PRIu32 ",\"requests\":%" PRIu64 ",\"replicate\":%" PRIu32
           ",\"seed\":%" PRIu64,
           o->chosen->name, r->n_rows, r->n_columns, o->sums.common.n_threads,
           efface_kernels_name(), bench_compiler(), o->common.deletions, o->common.batch,
           r->n_requests, r->replicate, o->sums.common.seed + r->replicate - 1);
    online_put_requests(r);
    bench_put_field("view_us", result->view_us);
    bench_put_field("copy_us", result->copy_us);
    printf(",\"state_bytes\":%" PRIu64, result->n_bytes);
    printf(",\"verified\":%s}\n", r->difference.identical ? "true" : "false");
}

/* ---------------------------------------------------------------- the command */

static const char help[] =
    "usage: efface-bench online --family F --data DATA [--labels FILE] [OPTIONS]\n\n"
    "Trains a model once, then forgets rows, request by request, and verifies that the last\n"
    "state is, byte for byte, that of a fresh fit to the rows that are left. Only the fit and\n"
    "the calls that forget are clocked. Exit code 1 if a state is not verified.\n\n"
    "  --family F       sums, linear, ridge, bayes, discriminant, quadratic, components,\n"
    "                   fourier, segmented, forest, logistic or svm; kmeans has options of its "
    "own:\n"
    "                   efface-bench online --help\n"
    "  --target COL     linear, fourier, segmented: the number of the column to predict (the\n"
    "                   last); forest: the same, in the place of classes\n"
    "  --alpha A        linear and segmented (0), others (1)\n"
    "  --lattice W      logistic, svm: width in standard errors; --sample N rows for each column\n"
    "  -k K, --method M, --scale S   segmented: of its k-means (8, pyramid, none)\n"
    "  --trees N        forest (100), with --candidates N and --trees-of-row K (all)\n"
    "  --components N   components: how many (all)\n"
    "  --features N     fourier (500), with --gamma G (1)\n"
    "  --deletions D    rows to forget, at random (1000)\n"
    "  --batch B        rows in one request (1)\n"
    "  --replicates R   runs with the seeds S, S + 1, ... (5)\n"
    "  --seed S         for the model and for which rows go (0)\n"
    "  --baseline F     fits to measure retraining by (4); 0 for none\n"
    "  --threads N      (1)\n"
    "  --json           one object per line, one for each replicate, instead of the table\n\n"
    "retrain (baseline_seconds) is a fit of the same model to the rows that are left: half of the\n"
    "fits are made before the first request, half after the last. a copy (copy_us) is a memcpy of "
    "the bytes of the state; a\n"
    "view (view_us) is a prediction right after a request, for which coefficients are computed.\n"
    "The speed-up is that of the paper, training included (speedup_amortized).\n";

static int run_all(const family_options *options) {
    bool verified = true;
    int code = BENCH_DONE;
    for (uint32_t i = 0; i < options->common.replicates && code == BENCH_DONE; i++) {
        family_result result;
        code = run_replicate(options, i + 1, &result);
        if (code == BENCH_DONE) {
            if (!options->common.json && i == 0)
                print_family_head(&result, options);
            (options->common.json ? (void)print_family_json(&result, options)
                                  : print_family_line(&result));
            fflush(stdout);
            verified = online_is_verified(&result.online) && verified;
        }
        online_result_free(&result.online);
    }
    if (code == BENCH_DONE && !options->common.json)
        puts(verified ? "verified: every last state is, byte for byte, that of a fresh fit"
                      : "NOT VERIFIED");
    return verified ? code : BENCH_FAILED;
}

/* Fills in the parameters that do not depend on the data. */
static void set_parameters(family_options *o) {
    const family *const chosen = o->chosen;
    o->sums.view = chosen->view;
    o->sums.linear.alpha =
        o->alpha >= 0.0 ? o->alpha
                        : (double)(chosen->has_features || chosen->view == EFFACE_VIEW_RIDGE);
    o->logistic.alpha = o->alpha >= 0.0 ? o->alpha : 1.0;
    o->logistic.loss = chosen->is_hinge ? EFFACE_LOSS_SQUARED_HINGE : EFFACE_LOSS_LOGISTIC;
    o->sums.n_fourier = chosen->has_features ? o->n_fourier : 0;
    o->sums.discriminant.quadratic = chosen->is_quadratic;
    o->sums.components.n_components = o->n_components;
}

int bench_online_family(int n_arguments, char **arguments) {
    family_options o = {.common = ONLINE_DEFAULTS, .alpha = -1.0, .n_fourier = 500};
    efface_sums_params_init(&o.sums);
    efface_segmented_params_init(&o.segmented);
    efface_forest_params_init(&o.forest);
    efface_logistic_params_init(&o.logistic);
    o.sums.common.n_threads = 1;
    const bench_option options[] = {
        ONLINE_COMMON_OPTIONS(o.common),
        {"--family", BENCH_TEXT, (void *)&o.family},
        {"--target", BENCH_COUNT, &o.target},
        {"--alpha", BENCH_REAL, &o.alpha},
        {"--components", BENCH_COUNT, &o.n_components},
        {"--features", BENCH_COUNT, &o.n_fourier},
        {"--gamma", BENCH_REAL, &o.sums.gamma},
        {"-k", BENCH_COUNT, &o.segmented.kmeans.n_clusters},
        {"--method", BENCH_METHOD, &o.segmented.kmeans.method},
        {"--scale", BENCH_SCALE, &o.segmented.kmeans.scale},
        {"--lattice", BENCH_REAL, &o.logistic.width},
        {"--sample", BENCH_COUNT, &o.logistic.sample},
        {"--trees", BENCH_COUNT, &o.forest.n_trees},
        {"--candidates", BENCH_COUNT, &o.forest.n_candidates},
        {"--trees-of-row", BENCH_COUNT, &o.trees_of_row},
        {"--seed", BENCH_NUMBER, &o.sums.common.seed},
        {"--threads", BENCH_COUNT, &o.sums.common.n_threads},
        {NULL, BENCH_FLAG, NULL},
    };
    if (!bench_parse(options, n_arguments, arguments))
        return BENCH_USAGE;
    if (o.common.help) {
        fputs(help, stdout);
        return BENCH_DONE;
    }
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (strcmp(families[i].name, o.family) == 0)
            o.chosen = &families[i];
    if (o.chosen == NULL || o.common.data == NULL) {
        fputs(o.chosen == NULL
                  ? "efface-bench: there is no such family; see efface-bench online --family "
                    "linear --help\n"
                  : "efface-bench: online needs --data FILE\n",
              stderr);
        return BENCH_USAGE;
    }
    if ((o.chosen->has_classes || (o.chosen->has_trees && o.target == 0)) &&
        !bench_has_labels(o.common.data, o.common.labels)) {
        fputs(o.chosen->has_trees ? "efface-bench: a forest needs --labels FILE, or --target COL\n"
                                  : "efface-bench: models of classes need --labels FILE\n",
              stderr);
        return BENCH_USAGE;
    }
    set_parameters(&o);
    return run_all(&o);
}
