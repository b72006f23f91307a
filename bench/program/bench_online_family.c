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

enum { MOST_VIEWS = 50, COPIES = 31 };

typedef struct family_options {
    const char *data, *labels, *family;
    const struct family *chosen;
    efface_sums_params sums;
    efface_segmented_params segmented; /* has the k-means; what both have is in `sums` */
    efface_forest_params forest;
    uint32_t target;       /* a column, from 1; 0: the last, or none */
    uint32_t trees_of_row; /* 0: every row is in all trees */
    double alpha;
    uint32_t n_components, n_fourier;
    uint32_t deletions, batch, replicates, baseline_fits;
    bool json;
} family_options;

/* A kind of model by its name on the command line. */
typedef struct family {
    const char *name;
    efface_view view;
    bool has_target, has_classes, is_quadratic, has_features, has_segments, has_trees;
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
    const family_options *options;
    efface_sums_params params;
    efface_segmented_params segmented; /* with what `params` says */
    efface_forest_params forest;       /* the same */
    uint32_t target;
    efface_data *data;
    efface_model *model;
    family_result *result;
    double *sorted;
    uint64_t *ids; /* of all rows, in the order in which they go */
    double views[MOST_VIEWS];
    size_t n_views;
} replicate;

static efface_status fail_memory(efface_error *error) {
    *error = (efface_error){.status = EFFACE_E_MEMORY, .message = "out of memory"};
    return EFFACE_E_MEMORY;
}

/* ---------------------------------------------------------------- training */

static efface_status timed_fit(const replicate *r, efface_model **model, double *seconds,
                               efface_error *error) {
    const family *const chosen = r->options->chosen;
    const double begin = bench_now();
    const efface_status status =
        chosen->has_segments ? efface_segmented_fit(r->data, &r->segmented, model, error)
        : chosen->has_trees  ? efface_forest_fit(r->data, &r->forest, model, error)
                             : efface_sums_fit(r->data, &r->params, model, error);
    *seconds = bench_now() - begin;
    return status;
}

static efface_status measure_baseline(replicate *r, efface_error *error) {
    const uint32_t n_fits = r->options->baseline_fits;
    double *const seconds = malloc((n_fits + (size_t)1) * sizeof *seconds);
    efface_status status = seconds != NULL ? EFFACE_OK : fail_memory(error);
    r->result->online.baseline_seconds = NAN;
    for (uint32_t i = 0; i < n_fits && status == EFFACE_OK; i++) {
        efface_model *model = NULL;
        status = timed_fit(r, &model, &seconds[i], error);
        efface_model_free(model);
    }
    if (status == EFFACE_OK && n_fits != 0)
        r->result->online.baseline_seconds = bench_median(seconds, n_fits);
    free(seconds);
    return status;
}

static efface_status train(replicate *r, efface_error *error) {
    online_result *const result = &r->result->online;
    const efface_status status = timed_fit(r, &r->model, &result->train_seconds, error);
    if (status != EFFACE_OK)
        return status;
    result->n_rows = efface_data_n_rows(r->data);
    result->n_columns = efface_data_n_columns(r->data);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- forgetting */

/* Which rows go: at random, without replacement. Ids are sorted first, so that the draw does not
 * depend on positions. */
static int compare_ids(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void choose_rows(replicate *r) {
    const size_t n = efface_data_n_rows(r->data);
    bench_random random = bench_random_start(r->params.common.seed, r->result->online.replicate);
    for (size_t i = 0; i < n; i++)
        r->ids[i] = efface_data_row(r->data, i).id;
    qsort(r->ids, n, sizeof *r->ids, compare_ids);
    bench_shuffle(&random, r->ids, n);
}

/* The first prediction after a change computes what predicts. */
static efface_status predict_once(replicate *r, const float *row, efface_number *numbers,
                                  efface_error *error) {
    const double begin = bench_now();
    const efface_status status = efface_model_predict(r->model, 1, row, 0, numbers, error);
    r->views[r->n_views++] = bench_now() - begin;
    return status;
}

static efface_status forget_rows(replicate *r, efface_error *error) {
    const family_options *const o = r->options;
    online_result *const result = &r->result->online;
    const efface_model_info info = efface_model_get_info(r->model);
    float *const row = calloc(info.n_columns, sizeof *row);
    efface_number *const numbers = calloc(info.n_numbers + (size_t)1, sizeof *numbers);
    efface_status status = row != NULL && numbers != NULL ? EFFACE_OK : fail_memory(error);
    choose_rows(r);
    for (uint32_t done = 0; done < o->deletions && status == EFFACE_OK;) {
        const uint32_t rest = o->deletions - done, n = rest < o->batch ? rest : o->batch;
        const efface_request request = {.ids = r->ids + done, .n_ids = n};
        efface_report report;
        const double begin = bench_now();
        status = efface_model_forget(r->model, r->data, &request, &report, error);
        const double seconds = bench_now() - begin;
        if (status != EFFACE_OK)
            break;
        result->request_seconds[result->n_requests] = seconds;
        online_count(result, &report, 0);
        done += n;
        if (r->n_views < MOST_VIEWS)
            status = predict_once(r, row, numbers, error);
    }
    if (status == EFFACE_OK) {
        online_sum_up_times(result, r->sorted);
        r->result->view_us = 1e6 * bench_median(r->views, r->n_views);
    }
    free(row);
    free(numbers);
    return status;
}

/* ---------------------------------------------------------------- the state */

static efface_status measure_copy(replicate *r, efface_error *error) {
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    double seconds[COPIES];
    efface_status status = efface_model_encode(r->model, &bytes, &n_bytes, error);
    unsigned char *const copy = status == EFFACE_OK ? malloc(n_bytes) : NULL;
    if (status == EFFACE_OK && copy == NULL)
        status = fail_memory(error);
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

static efface_status finish(replicate *r, efface_error *error) {
    const size_t n = efface_data_n_rows(r->data);
    online_result *const result = &r->result->online;
    result->state_bytes_per_row =
        n != 0 ? (double)efface_model_state_bytes(r->model) / (double)n : (double)NAN;
    const efface_status status = measure_copy(r, error);
    return status == EFFACE_OK ? efface_model_verify(r->model, r->data, &result->difference, error)
                               : status;
}

/* ---------------------------------------------------------------- a replicate */

/* Sets what depends on the data. */
static bool prepare(replicate *r) {
    const family_options *const o = r->options;
    const uint32_t d = efface_data_n_columns(r->data);
    r->params = o->sums;
    r->params.common.seed += r->result->online.replicate - 1;
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
    if (o->deletions > efface_data_n_rows(r->data)) {
        fprintf(stderr, "efface-bench: there are only %zu rows to forget\n",
                efface_data_n_rows(r->data));
        return false;
    }
    return true;
}

static int run(const family_options *options, uint32_t number, family_result *result) {
    replicate r = {.options = options, .result = result};
    efface_error error;
    int code = BENCH_FAILED;
    *result = (family_result){.online = {.replicate = number}};
    r.data = bench_open(options->data, options->labels);
    if (r.data == NULL || !prepare(&r))
        goto out;
    result->online.request_seconds =
        malloc(options->deletions * sizeof *result->online.request_seconds);
    r.sorted = malloc(options->deletions * sizeof *r.sorted);
    r.ids = malloc(efface_data_n_rows(r.data) * sizeof *r.ids);
    if (result->online.request_seconds == NULL || r.sorted == NULL || r.ids == NULL) {
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

/* ---------------------------------------------------------------- what is shown */

static void print_head(const family_result *first, const family_options *o) {
    const uint32_t threads = o->sums.common.n_threads;
    printf("%s, %" PRIu64 " x %" PRIu32 ", %" PRIu32 " thread%s, %s kernels\n", o->chosen->name,
           first->online.n_rows, first->online.n_columns, threads, threads == 1 ? "" : "s",
           efface_kernels_name());
    printf("%" PRIu32 " rows to forget, %" PRIu32 " in a request; a state of %" PRIu64 " bytes\n\n",
           o->deletions, o->batch, first->n_bytes);
    printf("      train  retrain      a request, us                        un-  re-    re-"
           "            a copy    a view\n"
           "         ms       ms     mean   median      p99       max  touched paired fitted"
           "  speed-up       us        us\n");
}

static void print_line(const family_result *result) {
    const online_result *const r = &result->online;
    printf("%2" PRIu32 " %8.1f %8.1f %8.1f %8.1f %8.1f %9.1f %8" PRIu64 " %6" PRIu64 " %6" PRIu64,
           r->replicate, 1e3 * r->train_seconds, 1e3 * r->baseline_seconds, r->us_mean,
           r->us_median, r->us_p99, r->us_max, r->n_actions[EFFACE_ACTION_UNTOUCHED],
           r->n_actions[EFFACE_ACTION_REPAIRED], r->n_actions[EFFACE_ACTION_REFITTED]);
    printf(" %9.1f %8.1f %9.1f%s\n", online_speedup_amortized(r), result->copy_us, result->view_us,
           r->difference.identical ? "" : "  NOT VERIFIED");
}

static void print_json(const family_result *result, const family_options *o) {
    const online_result *const r = &result->online;
    printf("{\"bench\":\"online\",\"family\":\"%s\",\"n\":%" PRIu64 ",\"d\":%" PRIu32
           ",\"threads\":%" PRIu32 ",\"kernels\":\"%s\",\"compiler\":\"%s\",\"deletions\":%" PRIu32
           ",\"batch\":%" PRIu32 ",\"requests\":%" PRIu64 ",\"replicate\":%" PRIu32
           ",\"seed\":%" PRIu64,
           o->chosen->name, r->n_rows, r->n_columns, o->sums.common.n_threads,
           efface_kernels_name(), bench_compiler(), o->deletions, o->batch, r->n_requests,
           r->replicate, o->sums.common.seed + r->replicate - 1);
    bench_put_field("train_seconds", r->train_seconds);
    bench_put_field("delete_seconds_total", r->delete_seconds);
    bench_put_field("delete_us_mean", r->us_mean);
    bench_put_field("delete_us_median", r->us_median);
    bench_put_field("delete_us_p99", r->us_p99);
    bench_put_field("delete_us_max", r->us_max);
    printf(",\"untouched\":%" PRIu64 ",\"repairs\":%" PRIu64 ",\"refits\":%" PRIu64,
           r->n_actions[EFFACE_ACTION_UNTOUCHED], r->n_actions[EFFACE_ACTION_REPAIRED],
           r->n_actions[EFFACE_ACTION_REFITTED]);
    bench_put_field("rows_visited_mean", r->rows_visited_mean);
    bench_put_field("baseline_seconds", r->baseline_seconds);
    bench_put_field("speedup", online_speedup(r));
    bench_put_field("speedup_amortized", online_speedup_amortized(r));
    bench_put_field("view_us", result->view_us);
    bench_put_field("copy_us", result->copy_us);
    printf(",\"state_bytes\":%" PRIu64, result->n_bytes);
    bench_put_field("state_bytes_per_row", r->state_bytes_per_row);
    printf(",\"verified\":%s}\n", r->difference.identical ? "true" : "false");
}

/* ---------------------------------------------------------------- the command */

static const char help[] =
    "usage: efface-bench online --family F --data DATA [--labels FILE] [OPTIONS]\n\n"
    "Trains a model once, then forgets rows, request by request, and verifies that the last\n"
    "state is, byte for byte, that of a fresh fit to the rows that are left. Only the fit and\n"
    "the calls that forget are clocked. Exit code 1 if a state is not verified.\n\n"
    "  --family F       sums, linear, ridge, bayes, discriminant, quadratic, components,\n"
    "                   fourier, segmented or forest; kmeans has options of its own:\n"
    "                   efface-bench online --help\n"
    "  --target COL     linear, fourier, segmented: the number of the column to predict (the\n"
    "                   last); forest: the same, in the place of classes\n"
    "  --alpha A        linear and segmented (0), ridge and fourier (1)\n"
    "  -k K, --method M, --scale S   segmented: of its k-means (8, pyramid, none)\n"
    "  --trees N        forest (100), with --candidates N and --trees-of-row K (all)\n"
    "  --components N   components: how many (all)\n"
    "  --features N     fourier (500), with --gamma G (1)\n"
    "  --deletions D    rows to forget, at random (1000)\n"
    "  --batch B        rows in one request (1)\n"
    "  --replicates R   runs with the seeds S, S + 1, ... (5)\n"
    "  --seed S         for the model and for which rows go (0)\n"
    "  --baseline F     fits to measure retraining by (3); 0 for none\n"
    "  --threads N      (1)\n"
    "  --json           one object per line, one for each replicate, instead of the table\n\n"
    "retrain (baseline_seconds) is a fit of the same model to the rows that are left, the median\n"
    "of a few after the last request. a copy (copy_us) is a memcpy of the bytes of the state; a\n"
    "view (view_us) is a prediction right after a request, for which coefficients are computed.\n"
    "The speed-up is that of the paper, training included (speedup_amortized).\n";

static int run_all(const family_options *options) {
    bool verified = true;
    int code = BENCH_DONE;
    for (uint32_t i = 0; i < options->replicates && code == BENCH_DONE; i++) {
        family_result result;
        code = run(options, i + 1, &result);
        if (code == BENCH_DONE) {
            if (!options->json && i == 0)
                print_head(&result, options);
            (options->json ? (void)print_json(&result, options) : print_line(&result));
            fflush(stdout);
            verified = verified && result.online.difference.identical;
        }
        free(result.online.request_seconds);
    }
    if (code == BENCH_DONE && !options->json)
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
    o->sums.n_fourier = chosen->has_features ? o->n_fourier : 0;
    o->sums.discriminant.quadratic = chosen->is_quadratic;
    o->sums.components.n_components = o->n_components;
}

int bench_online_family(int n_arguments, char **arguments) {
    family_options o = {.deletions = 1000,
                        .batch = 1,
                        .replicates = 5,
                        .baseline_fits = 3,
                        .alpha = -1.0,
                        .n_fourier = 500};
    bool wants_help = false;
    efface_sums_params_init(&o.sums);
    efface_segmented_params_init(&o.segmented);
    efface_forest_params_init(&o.forest);
    o.sums.common.n_threads = 1;
    const bench_option options[] = {
        {"--data", BENCH_TEXT, (void *)&o.data},
        {"--labels", BENCH_TEXT, (void *)&o.labels},
        {"--family", BENCH_TEXT, (void *)&o.family},
        {"--target", BENCH_COUNT, &o.target},
        {"--alpha", BENCH_REAL, &o.alpha},
        {"--components", BENCH_COUNT, &o.n_components},
        {"--features", BENCH_COUNT, &o.n_fourier},
        {"--gamma", BENCH_REAL, &o.sums.gamma},
        {"-k", BENCH_COUNT, &o.segmented.kmeans.n_clusters},
        {"--method", BENCH_METHOD, &o.segmented.kmeans.method},
        {"--scale", BENCH_SCALE, &o.segmented.kmeans.scale},
        {"--trees", BENCH_COUNT, &o.forest.n_trees},
        {"--candidates", BENCH_COUNT, &o.forest.n_candidates},
        {"--trees-of-row", BENCH_COUNT, &o.trees_of_row},
        {"--deletions", BENCH_COUNT, &o.deletions},
        {"--batch", BENCH_COUNT, &o.batch},
        {"--replicates", BENCH_COUNT, &o.replicates},
        {"--baseline", BENCH_WHOLE, &o.baseline_fits},
        {"--seed", BENCH_NUMBER, &o.sums.common.seed},
        {"--threads", BENCH_COUNT, &o.sums.common.n_threads},
        {"--json", BENCH_FLAG, &o.json},
        {"--help", BENCH_FLAG, &wants_help},
        {NULL, BENCH_FLAG, NULL},
    };
    if (!bench_parse(options, n_arguments, arguments))
        return BENCH_USAGE;
    if (wants_help) {
        fputs(help, stdout);
        return BENCH_DONE;
    }
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (strcmp(families[i].name, o.family) == 0)
            o.chosen = &families[i];
    if (o.chosen == NULL || o.data == NULL) {
        fputs(o.chosen == NULL
                  ? "efface-bench: there is no such family; see efface-bench online --family "
                    "linear --help\n"
                  : "efface-bench: online needs --data FILE\n",
              stderr);
        return BENCH_USAGE;
    }
    if ((o.chosen->has_classes || (o.chosen->has_trees && o.target == 0)) &&
        !bench_has_labels(o.data, o.labels)) {
        fputs(o.chosen->has_trees ? "efface-bench: a forest needs --labels FILE, or --target COL\n"
                                  : "efface-bench: models of classes need --labels FILE\n",
              stderr);
        return BENCH_USAGE;
    }
    set_parameters(&o);
    return run_all(&o);
}
