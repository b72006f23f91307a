/*
 * efface-as-printed: the paper's benchmark of online deletion (Algorithm 3) for what the paper
 * prints. Data, options, requests and the line of JSON are those of efface-bench online; the rows
 * are scaled once beforehand, and nothing is verified, for there is no law.
 */
#include "paper/as_printed.h"
#include "program/bench_online.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM = 1000 }; /* of random numbers, after those of replicates */

typedef struct printed_run {
    online_run run;
    const online_options *options;
    printed_reading reading;
    printed_dice dice;
    bench_random random;
    printed_rows *rows;
    size_t *places;               /* in rows, by id */
    int32_t middle;               /* of the grid, for rows */
    double unit;                  /* a squared step of the grid in the units of the loss */
    printed_quantized *quantized; /* one of the two */
    printed_tree *tree;
} printed_run;

static size_t pick(void *state, size_t n, const float *weights) {
    bench_random *const random = state;
    if (weights == NULL)
        return (size_t)bench_random_below(random, n);
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (double)weights[i];
    double left = sum * (double)bench_random_below(random, UINT64_C(1) << 53) * 0x1p-53;
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        if (weights[i] <= 0.0F)
            continue;
        last = i;
        if (left < (double)weights[i])
            break;
        left -= (double)weights[i];
    }
    return last;
}

/* ---------------------------------------------------------------- data */

/* The range of each column, or of all values; low 0 for the latter. */
static void measure_columns(printed_run *r, float *low, float *step) {
    const efface_data *const data = r->run.data;
    const uint32_t d = efface_data_n_columns(data);
    float *const values = printed_room(d, sizeof *values);
    float *const high = printed_room(d, sizeof *high);
    float most = 0.0F;
    for (size_t i = 0; i < efface_data_n_rows(data); i++) {
        efface_data_values(data, i, values);
        for (uint32_t j = 0; j < d; j++) {
            low[j] = i == 0 || values[j] < low[j] ? values[j] : low[j];
            high[j] = i == 0 || values[j] > high[j] ? values[j] : high[j];
            most = fabsf(values[j]) > most ? fabsf(values[j]) : most;
        }
    }
    const bool minmax = r->options->params.scale == EFFACE_SCALE_MINMAX;
    const float bound = ef_step_bound(ef_exponent(most));
    for (uint32_t j = 0; j < d; j++) {
        r->middle = minmax || low[j] >= 0.0F ? r->middle : 0;
        step[j] = minmax ? ef_step_minmax(low[j], high[j]) : bound;
        low[j] = minmax ? low[j] : 0.0F;
    }
    r->unit = minmax ? 1.0 / EF_GRID_MAX / EF_GRID_MAX : 1.0 / bound / bound;
    free(values);
    free(high);
}

/* Scales the rows once beforehand (D.1.4). False, after a message, if ids are not 0, 1, ... */
static bool scale_rows(printed_run *r) {
    const efface_data *const data = r->run.data;
    const uint32_t d = efface_data_n_columns(data);
    const size_t n = efface_data_n_rows(data);
    float *const low = printed_room(d, sizeof *low), *const step = printed_room(d, sizeof *step);
    float *const values = printed_room(d, sizeof *values);
    int32_t *const point = printed_room(d, sizeof *point);
    bool ok = true;
    measure_columns(r, low, step);
    r->rows = printed_rows_new(d, r->middle);
    r->places = printed_room(n, sizeof *r->places);
    for (size_t i = 0; i < n && ok; i++) {
        const uint64_t id = efface_data_row(data, i).id;
        ok = id < n;
        efface_data_values(data, i, values);
        for (uint32_t j = 0; j < d; j++)
            point[j] = ef_snap(values[j], low[j], step[j]);
        printed_rows_add(r->rows, id, point);
        if (ok)
            r->places[id] = i;
    }
    if (!ok)
        fputs("efface-as-printed: ids must be 0, 1, ...\n", stderr);
    free(low);
    free(step);
    free(values);
    free(point);
    return ok;
}

/* ---------------------------------------------------------------- training and deletion */

/* The paper's rules of thumb (D.1.2): both powers of two. */
static double choose_epsilon(const printed_run *r) {
    const double n = (double)r->rows->n, k = r->options->params.n_clusters, d = r->rows->d;
    const double given = r->options->params.epsilon;
    return given != 0.0 ? given : exp2(fmin(round(-log10(n / (k * pow(d, 1.5))) - 3.0), 0.0));
}

static uint32_t choose_width(const printed_run *r) {
    const uint32_t given = r->options->params.tree.width;
    return given != 0 ? given : (uint32_t)exp2(round(0.3 * log2((double)r->rows->n)));
}

static void train(printed_run *r) {
    const efface_kmeans_params *const params = &r->options->params;
    online_result *const result = r->run.result;
    const uint32_t k = params->n_clusters, iterations = params->iterations;
    const double begin = bench_now();
    if (params->method == EFFACE_METHOD_TREE) {
        result->width = choose_width(r);
        r->tree = printed_tree_train(
            r->rows, &(printed_tree_params){k, iterations, result->width, params->tree.height},
            r->dice);
    } else {
        result->epsilon = choose_epsilon(r);
        r->quantized = printed_quantized_train(
            r->rows,
            &(printed_quantized_params){k, iterations,
                                        (uint32_t)fmax(round(result->epsilon * EF_GRID_MAX), 1.0),
                                        params->quantized.gamma, r->reading},
            r->dice);
    }
    result->train_seconds = bench_now() - begin;
    result->n_clusters = k;
}

static void forget(printed_run *r, uint64_t id) {
    online_result *const result = r->run.result;
    printed_rows *const rows = r->rows;
    const double begin = bench_now();
    const size_t place = r->places[id];
    efface_action action = EFFACE_ACTION_REPAIRED;
    r->places[rows->ids[rows->n - 1]] = place;
    if (r->tree != NULL) {
        printed_rows_remove(rows, place);
        printed_tree_delete(r->tree, id, r->dice);
    } else {
        action = printed_quantized_delete(r->quantized, rows, place, r->dice)
                     ? EFFACE_ACTION_REFITTED
                     : EFFACE_ACTION_ADJUSTED;
    }
    result->request_seconds[result->n_requests] = bench_now() - begin;
    online_count_action(result, action);
    r->run.n_forgotten++;
}

/* ---------------------------------------------------------------- quality */

/* A model of the library in the same scale, which silhouettes ask for. */
static efface_status fit_scale(const printed_run *r, efface_model **model, efface_error *error) {
    efface_kmeans_params params = r->options->params;
    params.method = EFFACE_METHOD_LLOYD;
    params.n_clusters = params.iterations = 1;
    return efface_kmeans_fit(r->run.data, &params, model, error);
}

static efface_status mark_quality(printed_run *r, efface_error *error) {
    const efface_data *const data = r->run.data;
    const double *const centroids =
        r->tree != NULL ? r->tree->nodes[0].centroids : r->quantized->model;
    const uint32_t k = r->tree != NULL ? r->tree->nodes[0].n_centroids : r->quantized->k;
    const size_t n = r->rows->n;
    online_result *const result = r->run.result;
    online_mark *const m = &result->marks[result->n_marks++];
    *m = (online_mark){(double)r->run.n_forgotten, NAN, NAN, NAN};
    if (n == 0)
        return EFFACE_OK;
    printed_partition pi;
    printed_partition_init(&pi, r->rows, k);
    printed_divide(&pi, r->rows, centroids);
    m->loss = r->unit * printed_loss(&pi, r->rows, centroids);
    uint32_t *const labels = printed_room(n, sizeof *labels);
    for (size_t i = 0; i < n; i++)
        labels[i] = pi.labels[r->places[efface_data_row(data, i).id]];
    efface_model *model = NULL;
    efface_status status = EFFACE_OK;
    if (!r->options->skip_metrics) {
        status = fit_scale(r, &model, error);
        if (status == EFFACE_OK) /* either may not exist */
            (void)efface_kmeans_silhouette(model, data, labels, 0, &m->silhouette, error);
        if (status == EFFACE_OK &&
            bench_has_labels(r->options->common.data, r->options->common.labels))
            (void)bench_nmi_of(labels, data, &m->nmi, error);
    }
    efface_model_free(model);
    printed_partition_free(&pi);
    free(labels);
    return status;
}

/* ---------------------------------------------------------------- Algorithm 3 */

static efface_status forget_rows(printed_run *r, efface_error *error) {
    online_requests requests;
    efface_status status =
        online_requests_init(&requests, BENCH_ORDER_UNIFORM,
                             r->options->params.common.seed + r->run.result->replicate - 1,
                             r->run.result->replicate, r->run.data, error);
    while (status == EFFACE_OK && r->run.n_forgotten < r->options->common.deletions) {
        size_t n_ids = 1;
        if (!r->options->skip_metrics && online_is_milestone(r->run.n_forgotten))
            status = mark_quality(r, error);
        if (status == EFFACE_OK)
            status = online_requests_next(&requests, NULL, r->run.data, NULL, 1, r->run.ids, &n_ids,
                                          error);
        if (status != EFFACE_OK)
            break;
        forget(r, r->run.ids[0]);
        status = efface_data_remove(r->run.data, r->run.ids, 1, error);
    }
    online_requests_free(&requests);
    if (status == EFFACE_OK)
        status = mark_quality(r, error);
    return status;
}

/* What is kept beside the rows. */
static double state_bytes(const printed_run *r) {
    if (r->tree != NULL)
        return (double)r->rows->n * (double)(r->rows->d * sizeof(float) + sizeof *r->places);
    const printed_quantized *const q = r->quantized;
    const double size = (double)q->k * q->d;
    return sizeof(double) * (size + q->n_saved * (2.0 * size + q->k + 0.5 * q->d));
}

static int run_replicate(const online_options *options, printed_reading reading, uint32_t number) {
    online_result result;
    efface_error error;
    printed_run r = {.options = options, .reading = reading, .middle = EF_GRID_MAX / 2};
    int code = BENCH_FAILED;
    r.random = bench_random_start(options->params.common.seed + number - 1, STREAM + number);
    r.dice = (printed_dice){pick, &r.random};
    if (online_run_begin(&r.run, &options->common, number, &result) && scale_rows(&r)) {
        train(&r);
        if (forget_rows(&r, &error) != EFFACE_OK || !online_sum_up(&result)) {
            code = bench_fail(&error);
        } else {
            result.baseline_seconds = result.converged_loss = NAN;
            result.state_bytes_per_row = state_bytes(&r) / (double)r.rows->n;
            online_print_json(&result, options);
            code = BENCH_DONE;
        }
    }
    if (r.quantized != NULL)
        printed_quantized_free(r.quantized);
    if (r.tree != NULL)
        printed_tree_free(r.tree);
    printed_rows_free(r.rows);
    free(r.places);
    online_result_free(&result);
    online_run_end(&r.run);
    return code;
}

static const char help[] =
    "usage: efface-as-printed --data DATA [--labels FILE] -k K [OPTIONS]\n\n"
    "What \"Making AI Forget You\" prints, Algorithms 1 to 7, on the kernels of efface: trains a\n"
    "model, forgets rows one by one, and prints a line of JSON for each replicate, with the "
    "fields\n"
    "of efface-bench online --json. Q-k-means is not exact; nothing is verified.\n\n"
    "  --method M       quantized (default): Algorithms 4 and 5; tree: Algorithms 2 and 6\n"
    "  --reading R      quantized: text (default), or program: what the authors' program does\n"
    "                   where it departs from the text\n"
    "  --scale S, --iters T, --epsilon E, --gamma G, --width W, --height H, --seed S,\n"
    "  --deletions D, --replicates R, --skip-metrics, --trace   as efface-bench online --help\n";

int main(int n_arguments, char **arguments) {
    const char *reading = "text";
    online_options o = {.common = ONLINE_DEFAULTS};
    efface_kmeans_params_init(&o.params);
    o.params.method = EFFACE_METHOD_QUANTIZED;
    o.params.iterations = 10;
    o.params.common.n_threads = 1;
    const bench_option options[] = {
        ONLINE_COMMON_OPTIONS(o.common),
        BENCH_FIT_OPTIONS(o.params),
        {"--reading", BENCH_TEXT, (void *)&reading},
        {"--height", BENCH_COUNT, &o.params.tree.height},
        {"--width", BENCH_COUNT, &o.params.tree.width},
        {"--skip-metrics", BENCH_FLAG, &o.skip_metrics},
        {"--trace", BENCH_FLAG, &o.trace},
        {NULL, BENCH_FLAG, NULL},
    };
    if (!bench_parse(options, n_arguments - 1, arguments + 1))
        return BENCH_USAGE;
    if (o.common.help) {
        fputs(help, stdout);
        return BENCH_DONE;
    }
    const bool program = strcmp(reading, "program") == 0;
    if (o.common.data == NULL || (!program && strcmp(reading, "text") != 0) ||
        (o.params.method != EFFACE_METHOD_QUANTIZED && o.params.method != EFFACE_METHOD_TREE) ||
        o.common.batch != 1 || ef_kernels_get() == NULL) {
        fputs(help, stderr);
        return BENCH_USAGE;
    }
    int code = BENCH_DONE;
    for (uint32_t i = 1; i <= o.common.replicates && code == BENCH_DONE; i++) {
        code = run_replicate(&o, program ? PRINTED_PROGRAM : PRINTED_TEXT, i);
        fflush(stdout);
    }
    return code;
}
