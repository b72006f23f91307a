/*
 * A cold model: read from its bytes without rows, it follows changes while it needs none; when it
 * does, it is what it was, takes the rows, and goes on as a model that was decoded with them. Same
 * bytes, same reports, after every request.
 *
 * The cases are the oracle's (cases.h), trees among them. EFFACE_TEST_CASES sets their number,
 * EFFACE_TEST_SEED runs one.
 */
#include "oracle/cases.h"

#include "data/set/counts.h"
#include "model/kmeans/following/revision.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exact/check_nodes.h"
#include "model/report_scene.h"

#define FIRST_SEED UINT64_C(0xa77ac400)
#define DEFAULT_CASES 450ul
#define MOST_REQUEST 3

static struct { unsigned long methods[4], cold[4], attached_later, hot, learned, forgotten; } seen;

typedef struct bytes {
    unsigned char *at;
    size_t n;
} bytes;

/* Two sets with the same rows at the same positions: one for each way. */
typedef struct scene {
    trial t;
    efface_kmeans_params used;
    efface_data *sets[2];
    ef_counts counts; /* what a cold model knows of them */
    efface_model *cold;
    bytes state; /* of it; without its sets, a tree cannot write itself */
} scene;

typedef struct request {
    bool leaves;
    size_t n;
    uint64_t ids[MOST_REQUEST];
    int64_t weights[MOST_REQUEST];
    float *values;
} request;

/* ---------------------------------------------------------------- a scene */

static bytes encode(const efface_model *model) {
    bytes b = {0};
    assert_int_equal(efface_model_encode(model, &b.at, &b.n, NULL), EFFACE_OK);
    return b;
}

/* Compares, and releases both. */
static void check_equal(bytes a, bytes b) {
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.at, b.at, a.n);
    efface_bytes_free(a.at);
    efface_bytes_free(b.at);
}

static efface_model *read_cold(const scene *s, bytes b) {
    ef_decoder reader = {.bytes = b.at, .n_bytes = b.n};
    efface_model *model = NULL;
    assert_int_equal(ef_model_read(&reader, &s->used.common, s->t.rows.d, &model, NULL), EFFACE_OK);
    assert_int_equal(reader.n_bytes, 0);
    return model;
}

static ef_counts count(const efface_data *data) {
    ef_writer writer = {0};
    ef_counts_write(&writer, &data->counts);
    assert_false(writer.failed);
    ef_decoder reader = {.bytes = writer.bytes, .n_bytes = writer.n_bytes};
    ef_counts counts;
    assert_true(ef_counts_read(&reader, data->n_columns, &counts));
    free(writer.bytes);
    return counts;
}

static void begin(scene *s, uint64_t seed) {
    *s = (scene){0};
    if (seed % 3 == 0)
        make_tree_trial(seed, &s->t);
    else
        make_trial(seed, &s->t);
    s->used = ef_params_used(&s->t.params);
    const efface_rows rows = {.n_rows = s->t.rows.n,
                              .values = s->t.rows.values,
                              .ids = s->t.rows.ids,
                              .weights = s->t.rows.weights};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(efface_data_create(s->t.rows.d, &s->sets[i], NULL), EFFACE_OK);
        assert_int_equal(efface_data_add(s->sets[i], &rows, NULL), EFFACE_OK);
        ef_data_refresh_ranges(s->sets[i]);
    }
    efface_model *model = NULL;
    assert_int_equal(efface_kmeans_fit(s->sets[0], &s->t.params, &model, NULL), EFFACE_OK);
    s->state = encode(model);
    s->cold = read_cold(s, s->state);
    s->counts = count(s->sets[0]);
    efface_model_free(model);
    seen.methods[s->used.method]++;
}

static void end(scene *s) {
    efface_bytes_free(s->state.at);
    efface_model_free(s->cold);
    ef_counts_free(&s->counts);
    efface_data_free(s->sets[0]);
    efface_data_free(s->sets[1]);
    free_trial(&s->t);
}

/* ---------------------------------------------------------------- requests */

/* Some rows leave; or come, with the values of rows that are there, which every bound allows. */
static void draw_request(const scene *s, request *q) {
    const efface_data *const data = s->sets[0];
    const size_t n = data->n_rows;
    q->leaves =
        !one_in(3) || data->next_id > UINT64_MAX / 2 || data->total_weight > EFFACE_MAX_WEIGHT / 2;
    q->n = 1 + (size_t)below(one_in(4) ? MOST_REQUEST : 1);
    q->n = q->n < n ? q->n : n;
    const size_t first = (size_t)below(n);
    q->values = make(q->n * data->n_columns, sizeof *q->values);
    for (size_t i = 0; i < q->n; i++) {
        const efface_row row = efface_data_row(data, (first + i) % n);
        q->ids[i] = q->leaves ? row.id : data->next_id + i;
        q->weights[i] = q->leaves ? row.weight : 1 + (int64_t)(i % 2);
        efface_data_values(data, (first + i) % n, q->values + i * data->n_columns);
    }
    seen.learned += !q->leaves;
    seen.forgotten += q->leaves;
}

static efface_rows rows_of(const request *q) {
    return (efface_rows){.n_rows = q->n, .values = q->values, .ids = q->ids, .weights = q->weights};
}

static efface_report ask(efface_model *model, efface_data *data, const request *q) {
    efface_report report;
    efface_error error;
    const efface_rows rows = rows_of(q);
    const efface_status status =
        q->leaves
            ? efface_model_forget(model, data, &(efface_request){.ids = q->ids, .n_ids = q->n},
                                  &report, &error)
            : efface_model_learn(model, data, &rows, &report, &error);
    if (status != EFFACE_OK)
        fail_msg("refused: %s", error.message);
    report.seconds = 0.0;
    return report;
}

static void change_set(efface_data *data, const request *q) {
    const efface_rows rows = rows_of(q);
    assert_int_equal(q->leaves ? efface_data_remove(data, q->ids, q->n, NULL)
                               : efface_data_add(data, &rows, NULL),
                     EFFACE_OK);
    ef_data_refresh_ranges(data);
}

/* Lets the cold model follow, if it can. If it cannot, or must not, it is what it was. */
static bool follow_cold(scene *s, const request *q, bool only_look) {
    const uint32_t d = s->t.rows.d;
    ef_change change;
    assert_true(ef_change_init(&change, d, q->n));
    for (size_t i = 0; i < q->n; i++) {
        const efface_row row = {.id = q->ids[i], .weight = q->weights[i]};
        ef_change_note(&change, &row, q->values + i * d, q->leaves);
        ef_counts_change(&s->counts, q->values + i * d, q->weights[i], q->leaves);
    }
    const bytes before = encode(s->cold);
    bool done = false;
    efface_report report;
    if (!ef_counts_stale(&s->counts))
        assert_int_equal(
            ef_model_follow_cold(s->cold, &s->counts, &change, only_look, &done, &report, NULL),
            EFFACE_OK);
    ef_change_free(&change);
    if (done && !only_look) {
        efface_bytes_free(s->state.at);
        s->state = encode(s->cold);
        efface_bytes_free(before.at);
    } else {
        check_equal(before, encode(s->cold));
    }
    assert_int_equal(s->cold->stamp.set, 0);
    return done;
}

/* ---------------------------------------------------------------- both ways */

/* What a model has beside its bytes. */
static void check_kept_alike(const efface_model *a, const efface_model *b, const scene *s) {
    assert_int_equal(ef_labels_kept(inside(a)) != NULL, ef_labels_kept(inside(b)) != NULL);
    assert_true(same_kept(inside(a), inside(b)));
    check_nodes(a, s->sets[0]);
    check_nodes(b, s->sets[1]);
    assert_int_equal(inside(a)->domain.n_coarse, inside(b)->domain.n_coarse);
    assert_true(ef_stamps_equal(a->stamp, s->sets[0]->stamp));
    assert_true(ef_stamps_equal(b->stamp, s->sets[1]->stamp));
    assert_true(inside(a)->work.rows_assigned == inside(b)->work.rows_assigned &&
                ef_was_rebuilt(inside(a)) == ef_was_rebuilt(inside(b)));
}

/* The cold model takes its rows, and another is decoded; both get the same requests. */
static void go_on_hot(scene *s, request *q) {
    efface_model *decoded = NULL;
    efface_error error;
    if (efface_model_decode(s->state.at, s->state.n, &s->t.params.common, s->sets[0], &decoded,
                            &error) != EFFACE_OK ||
        ef_model_attach(s->cold, s->sets[1], &error) != EFFACE_OK)
        fail_msg("refused: %s", error.message);
    check_kept_alike(decoded, s->cold, s);
    for (int i = 0;; i++) {
        check_equal(encode(decoded), encode(s->cold));
        if (i == 4 || s->sets[0]->n_rows == 0)
            break;
        if (i != 0)
            draw_request(s, q);
        const efface_report a = ask(decoded, s->sets[0], q), c = ask(s->cold, s->sets[1], q);
        assert_true(a.action == c.action && same_reason(&a, &c));
        assert_true(a.rows_visited == c.rows_visited);
        free(q->values);
        q->values = NULL;
        seen.hot++;
    }
    efface_difference difference;
    assert_int_equal(efface_model_verify(s->cold, s->sets[1], &difference, NULL), EFFACE_OK);
    assert_true(difference.identical);
    free(q->values);
    q->values = NULL;
    efface_model_free(decoded);
}

static void run_case(uint64_t seed) {
    scene s;
    begin(&s, seed);
    const int most = (int)below(8); /* then it is attached though it needs no rows */
    for (int i = 0; s.sets[0]->n_rows != 0; i++) {
        request q;
        draw_request(&s, &q);
        const bool only_look = i == most;
        if (follow_cold(&s, &q, only_look) && !only_look) {
            seen.cold[s.used.method]++;
            change_set(s.sets[0], &q);
            change_set(s.sets[1], &q);
            free(q.values);
            continue;
        }
        seen.attached_later += i != 0;
        go_on_hot(&s, &q);
        break;
    }
    end(&s);
}

static void a_cold_model_takes_its_rows_and_goes_on(void **state) {
    (void)state;
    const unsigned long n = run_cases(FIRST_SEED, DEFAULT_CASES, run_case);
    if (n == 0)
        return;
    print_message("lloyd %lu, quantized %lu, pyramid %lu, tree %lu; followed cold: %lu, %lu, %lu; "
                  "attached after that %lu; followed hot %lu; forgotten %lu, learned %lu\n",
                  seen.methods[0], seen.methods[1], seen.methods[2], seen.methods[3], seen.cold[0],
                  seen.cold[1], seen.cold[2], seen.attached_later, seen.hot, seen.forgotten,
                  seen.learned);
    for (int m = 0; m < 4; m++)
        assert_true(seen.methods[m] > n / 20);
    for (int m = 0; m < 3; m++)
        assert_true(seen.cold[m] > 0);
    assert_true(seen.attached_later > n / 20 && seen.hot > n);
}

/* A request needs a set, and a cold model has none. */
static void a_cold_model_takes_no_request(void **state) {
    (void)state;
    scene s;
    begin(&s, FIRST_SEED + 1);
    request q;
    draw_request(&s, &q);
    assert_int_equal(
        efface_model_forget(
            s.cold, s.sets[1],
            &(efface_request){.ids = q.ids, .n_ids = q.n, .missing = EFFACE_MISSING_SKIP}, NULL,
            NULL),
        EFFACE_E_ARGUMENT);
    free(q.values);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cold_model_takes_its_rows_and_goes_on),
        cmocka_unit_test(a_cold_model_takes_no_request),
    };
    return cmocka_run_group_tests_name("attach", tests, NULL, NULL);
}
