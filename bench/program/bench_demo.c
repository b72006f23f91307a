/*
 * efface-bench demo: a model forgets a thousand rows, one request after the other, and proves it.
 * Every claim it prints it has checked; a claim that fails is the exit code.
 */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTERS 5
#define COLUMNS 25
#define ROWS_PER_CLUSTER 20000
#define GONE 1000
#define SEED 2019

/* All that the story is about. */
typedef struct story {
    efface_data *data;
    efface_model *model;
    double retrain;        /* seconds that plain k-means takes */
    uint64_t ids[GONE];    /* who asks to be forgotten */
    double seconds[GONE];  /* of each request, */
    unsigned n_actions[3]; /* and what they took, by efface_action */
    bool holds;            /* every claim so far */
} story;

static efface_status make_set(efface_data **out, efface_error *error) {
    return efface_data_make_gaussian(CLUSTERS, COLUMNS, ROWS_PER_CLUSTER, 1, out, error);
}

static efface_status fit_story(const efface_data *data, efface_method method, uint32_t n_threads,
                               efface_model **out, double *seconds, efface_error *error) {
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.method = method;
    params.n_clusters = CLUSTERS;
    params.scale = EFFACE_SCALE_MINMAX;
    params.common.seed = SEED;
    params.common.n_threads = n_threads;
    return bench_timed_fit(data, &params, out, seconds, error);
}

/* Draws the rows to forget. */
static void draw_rows(story *s) {
    bench_random random = bench_random_start(SEED, 0);
    const uint64_t n = efface_data_n_rows(s->data);
    for (size_t i = 0; i < GONE;) {
        s->ids[i] = efface_data_row(s->data, (size_t)bench_random_below(&random, n)).id;
        size_t first = 0;
        while (s->ids[first] != s->ids[i])
            first++;
        i += first == i; /* else drawn before */
    }
}

/* The set as if these rows had never been in it, made from the beginning, last row first. */
static efface_status make_set_without(const uint64_t ids[GONE], efface_data **out,
                                      efface_error *error) {
    efface_data *all = NULL;
    efface_status status = make_set(&all, error);
    if (status == EFFACE_OK)
        status = efface_data_remove(all, ids, GONE, error);
    if (status == EFFACE_OK)
        status = efface_data_create(COLUMNS, out, error);
    for (size_t i = status == EFFACE_OK ? efface_data_n_rows(all) : 0; i > 0; i--) {
        const uint64_t id = efface_data_row(all, i - 1).id;
        float values[COLUMNS];
        efface_data_values(all, i - 1, values);
        const efface_rows row = {.n_rows = 1, .values = values, .ids = &id};
        status = efface_data_add(*out, &row, error);
        if (status != EFFACE_OK)
            break;
    }
    efface_data_free(all);
    return status;
}

/* The rows come back, in one request. */
static efface_status learn_again(story *s, efface_error *error) {
    static float values[GONE][COLUMNS];
    efface_data *all = NULL;
    efface_status status = make_set(&all, error);
    for (size_t i = 0; i < GONE && status == EFFACE_OK; i++) {
        size_t position = 0;
        status = efface_data_find(all, s->ids[i], &position);
        efface_data_values(all, position, values[i]);
    }
    efface_data_free(all);
    if (status != EFFACE_OK)
        return status;
    const efface_rows rows = {.n_rows = GONE, .values = values[0], .ids = s->ids};
    return efface_model_learn(s->model, s->data, &rows, NULL, error);
}

/* ---------------------------------------------------------------- the chapters */

static efface_status tell_beginning(story *s, efface_error *error) {
    efface_model *plain = NULL;
    double seconds = 0.0, loss = 0.0, plain_loss = 0.0;
    efface_status status = make_set(&s->data, error);
    if (status == EFFACE_OK)
        status = fit_story(s->data, EFFACE_METHOD_LLOYD, 1, &plain, &s->retrain, error);
    if (status == EFFACE_OK)
        status = efface_kmeans_loss(plain, s->data, &plain_loss, error);
    efface_model_free(plain);
    if (status == EFFACE_OK)
        status = fit_story(s->data, EFFACE_METHOD_PYRAMID, 1, &s->model, &seconds, error);
    if (status == EFFACE_OK)
        status = efface_kmeans_loss(s->model, s->data, &loss, error);
    if (status != EFFACE_OK)
        return status;
    printf("efface %s: k-means that forgets\n\n", efface_version());
    printf("%zu rows of %d columns, %d clusters; one thread, %s kernels.\n"
           "  plain k-means, 10 iterations         %6.1f ms, loss %.0f\n"
           "  pyramid, which is made to forget     %6.1f ms, loss %.0f\n\n",
           efface_data_n_rows(s->data), COLUMNS, CLUSTERS, efface_kernels_name(), 1e3 * s->retrain,
           plain_loss, 1e3 * seconds, loss);
    return EFFACE_OK;
}

static efface_status tell_requests(story *s, efface_error *error) {
    double total = 0.0;
    printf("The model forgets %d of them, drawn at random, one after the other:\n", GONE);
    for (size_t i = 0; i < GONE; i++) {
        efface_report report;
        const double begin = bench_now();
        const efface_status status = efface_model_forget(
            s->model, s->data, &(efface_request){.ids = &s->ids[i], .n_ids = 1}, &report, error);
        s->seconds[i] = bench_now() - begin;
        if (status != EFFACE_OK)
            return status;
        total += s->seconds[i];
        s->n_actions[report.action]++;
    }
    const double median = bench_median(s->seconds, GONE); /* and they are sorted */
    printf("  adjusted  %5u   the row's share was taken out; no other row was needed\n"
           "  repaired  %5u   cluster centers moved, and rows were assigned again\n  refitted  %5u "
           "  everything was computed again\n",
           s->n_actions[EFFACE_ACTION_ADJUSTED], s->n_actions[EFFACE_ACTION_REPAIRED],
           s->n_actions[EFFACE_ACTION_REFITTED]);
    printf("A request took %.1f us (the median; the slowest %.1f ms), all together %.2f s.\n"
           "Training plain k-means again each time would take %.1f s, %.0f times as long.\n\n",
           1e6 * median, 1e3 * s->seconds[GONE - 1], total, GONE * s->retrain,
           GONE * s->retrain / total);
    return EFFACE_OK;
}

/* Prints the digest of a model and whether it relates to another one as it must. */
static void claim(story *s, const char *what, const efface_model *model, const char *other,
                  bool same) {
    char digest[BENCH_HEX_BYTES] = "";
    const bool holds = bench_digest_hex(model, digest) && (strcmp(digest, other) == 0) == same;
    printf("  %-52s %.12s  %s\n", what, digest, !holds ? "WRONG" : (same ? "the same" : "another"));
    s->holds = s->holds && holds;
}

static void claim_gone(story *s) {
    size_t n_found = 0, position;
    for (size_t i = 0; i < GONE; i++)
        n_found += efface_data_find(s->data, s->ids[i], &position) == EFFACE_OK;
    const size_t n = efface_data_n_rows(s->data);
    printf("%zu rows are left; %zu of the %d forgotten rows are among them.\n", n, n_found, GONE);
    s->holds = s->holds && n_found == 0 && n == (size_t)CLUSTERS * ROWS_PER_CLUSTER - GONE;
}

/* `before` is the digest from before the requests. */
static efface_status tell_proof(story *s, const char *before, efface_error *error) {
    char after[BENCH_HEX_BYTES];
    efface_data *without = NULL;
    efface_model *fresh = NULL;
    double seconds;
    if (!bench_digest_hex(s->model, after)) {
        *error = (efface_error){.status = EFFACE_E_MEMORY, .message = "out of memory"};
        return EFFACE_E_MEMORY;
    }
    claim_gone(s);
    printf("The state of a model depends only on its rows, its parameters and its seed. It\ndoes "
           "not depend on rows that were there before. The digest of the state:\n\n");
    printf("  %-52s %.12s\n", "before the requests", before);
    claim(s, "after them", s->model, before, false);
    efface_status status = make_set_without(s->ids, &without, error);
    if (status == EFFACE_OK)
        status = fit_story(without, EFFACE_METHOD_PYRAMID, 1, &fresh, &seconds, error);
    if (status != EFFACE_OK)
        goto out;
    claim(s, "a fit that never saw them, rows in another order", fresh, after, true);
    efface_model_free(fresh);
    fresh = NULL;
    status = fit_story(without, EFFACE_METHOD_PYRAMID, 3, &fresh, &seconds, error);
    if (status != EFFACE_OK)
        goto out;
    claim(s, "the same with three threads", fresh, after, true);
    status = learn_again(s, error);
    if (status == EFFACE_OK)
        claim(s, "all of them learned again: as before", s->model, before, true);
out:
    efface_data_free(without);
    efface_model_free(fresh);
    return status;
}

int bench_demo(int n_arguments, char **arguments) {
    const bench_option none[] = {{NULL, BENCH_FLAG, NULL}};
    if (!bench_parse(none, n_arguments, arguments))
        return BENCH_USAGE;
    static story s;
    s = (story){.holds = true};
    efface_error error = {.status = EFFACE_OK, .message = "out of memory"};
    char before[BENCH_HEX_BYTES];
    int code = BENCH_FAILED;
    if (tell_beginning(&s, &error) != EFFACE_OK || !bench_digest_hex(s.model, before)) {
        code = bench_fail(&error);
        goto out;
    }
    draw_rows(&s);
    if (tell_requests(&s, &error) != EFFACE_OK || tell_proof(&s, before, &error) != EFFACE_OK) {
        code = bench_fail(&error);
        goto out;
    }
    code = s.holds ? BENCH_DONE : BENCH_FAILED;
    puts(s.holds ? "\nForgotten exactly: bit for bit, as if they had never been there."
                 : "\nA claim does not hold: this is a bug.");
out:
    efface_model_free(s.model);
    efface_data_free(s.data);
    return code;
}
