/*
 * Where a sample pays: an automatic pyramid with few rows for each cluster is lloyd. Changes that
 * take a model across the limit, to and fro, one by one and in batches, in the leaves of a tree,
 * between encoding and decoding, and without the rows at hand.
 */
#define MOST_ROWS 2200
#define MOST_COLUMNS 2
#include "kmeans/tree_scene.h"

#include "data/set/counts.h"
#include "model/kmeans/following/revision.h"
#include "model/report_scene.h"

#define LIMIT 1024 /* rows for each of one or two clusters: a 16th of them are 48, and more */

static uint64_t random_state = 20191105;

static uint64_t below(uint64_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

static float draw_value(void) {
    return (float)(4000 * below(2) + below(200));
}

static pair make_rows(size_t n, const efface_kmeans_params *params) {
    static float values[MOST_ROWS * MOST_COLUMNS];
    for (size_t i = 0; i < n * MOST_COLUMNS; i++)
        values[i] = draw_value();
    return make_pair(params, n, MOST_COLUMNS, values);
}

static efface_kmeans_params params_of_switch(uint32_t n_clusters, uint64_t seed) {
    efface_kmeans_params p = params_of(EFFACE_METHOD_PYRAMID, n_clusters, seed);
    p.bound = 0x1p23;
    p.pyramid.starts = 2;
    return p;
}

/* Whether the model is a pyramid, and all that says so says the same. */
static bool is_pyramid(const efface_model *m, const efface_data *data) {
    const efface_kmeans_info info = efface_kmeans_get_info(m);
    const bool is = info.actual == EFFACE_METHOD_PYRAMID;
    assert_true(is || info.actual == EFFACE_METHOD_LLOYD);
    assert_int_equal(info.method, EFFACE_METHOD_PYRAMID);
    assert_int_equal(inside(m)->plan.method, info.actual);
    assert_int_equal(inside(m)->plan.wanted != 0, is);
    assert_int_equal(ef_labels_kept(inside(m)) != NULL, is);
    assert_int_equal(inside(m)->pilot.winners != NULL, is);
    assert_int_equal(inside(m)->starts.losses != NULL, is);
    assert_int_equal(inside(m)->seeds != NULL, !is);
    size_t n_sampled = 0;
    for (size_t i = 0; i < data->n_rows; i++)
        n_sampled += efface_kmeans_in_sample(m, data, efface_data_row(data, i).id) != 0;
    assert_int_equal(n_sampled, is ? inside(m)->pilot.n_sample : data->n_rows);
    return is;
}

static void check_side(const pair *p, size_t limit) {
    assert_int_equal(is_pyramid(p->model, p->data), p->data->n_rows >= limit);
    check_law(p);
}

/* ---------------------------------------------------------------- the limit */

/* Rows of a sample: a 32nd of the rows, but 48 to 75 for each cluster; none if 48 for each are more
 * than a 16th. */
static void samples_are_large_enough(void **state) {
    (void)state;
    static const struct {
        size_t n;
        uint32_t k;
        uint64_t wanted;
    } sizes[] = {{1, 1, 0},      {32, 1, 0},     {1023, 1, 0},   {1024, 1, 48},  {2047, 1, 48},
                 {2048, 1, 64},  {4095, 1, 64},  {4096, 1, 75},  {20000, 1, 75}, {2047, 2, 0},
                 {2048, 2, 96},  {4096, 2, 128}, {8192, 2, 150}, {2048, 3, 0},   {4095, 3, 0},
                 {4096, 3, 144}, {4096, 4, 192}, {4096, 5, 240}, {4096, 6, 0},   {8192, 5, 256}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        efface_kmeans_params params = params_of_switch(sizes[i].k, i);
        efface_data *data = NULL;
        float *const values = calloc(sizes[i].n, sizeof *values);
        for (size_t r = 0; r < sizes[i].n; r++)
            values[r] = draw_value();
        const efface_rows rows = {.n_rows = sizes[i].n, .values = values};
        assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
        assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
        efface_model *const model = fit(data, &params);
        assert_int_equal(inside(model)->plan.wanted, sizes[i].wanted);
        assert_int_equal(is_pyramid(model, data), sizes[i].wanted != 0);
        assert_true(sizes[i].wanted == 0 || inside(model)->pilot.n_sample >= sizes[i].wanted);
        efface_model_free(model);
        params.pyramid.rate = 0.25; /* which is always a sample */
        efface_model *const asked = fit(data, &params);
        assert_true(is_pyramid(asked, data));
        efface_model_free(asked);
        efface_data_free(data);
        free(values);
    }
}

/* Below the limit the state is that of lloyd, to the bit. */
static void few_rows_are_those_of_lloyd(void **state) {
    (void)state;
    for (uint32_t candidates = 0; candidates < 3; candidates++) {
        efface_kmeans_params params = params_of_switch(2, 5);
        unsigned char ours[EFFACE_DIGEST_BYTES], right[EFFACE_DIGEST_BYTES];
        params.candidates = candidates;
        params.epsilon = 0.25; /* a lattice for the passes of pyramid, of which there are none */
        pair p = make_rows(2 * LIMIT - 1, &params);
        params.method = EFFACE_METHOD_LLOYD;
        efface_model *const lloyd = fit(p.data, &params);
        assert_int_equal(efface_model_digest(p.model, ours, NULL), EFFACE_OK);
        assert_int_equal(efface_model_digest(lloyd, right, NULL), EFFACE_OK);
        assert_memory_equal(ours, right, sizeof ours);
        assert_int_equal(efface_kmeans_get_info(p.model).method, EFFACE_METHOD_PYRAMID);
        efface_model_free(lloyd);
        free_pair(&p);
    }
}

/* ---------------------------------------------------------------- across it */

/* The limit has been passed: everything is another, for the one reason. */
static void check_crossing(const efface_report *report) {
    assert_string_equal(report->reason, past_of(EF_REASON_RATE));
    assert_int_equal(report->action, EFFACE_ACTION_REFITTED);
}

static void one_row_more_or_less(void **state) {
    (void)state;
    for (uint32_t k = 1; k <= 2; k++) {
        efface_kmeans_params params = params_of_switch(k, k);
        params.epsilon = k == 2 ? 5 * 0x1p-23 : 0.0; /* of which lloyd has none: not the reason */
        const size_t limit = k * (size_t)LIMIT;
        pair p = make_rows(limit + 1, &params);
        unsigned n_crossed = 0;
        for (unsigned step = 0; step < 24; step++) {
            const size_t n = p.data->n_rows;
            const float values[2] = {draw_value(), draw_value()};
            efface_report report;
            if (step % 6 >= 3)
                report = learn_one(&p, 10000 + step, values);
            else
                report = forget_one(&p, efface_data_row(p.data, below(n)).id);
            const bool crossed = (n >= limit) != (p.data->n_rows >= limit);
            if (crossed)
                check_crossing(&report);
            else
                assert_true(!is_because(&report, EF_REASON_RATE) || n >= limit);
            n_crossed += crossed;
            check_side(&p, limit);
        }
        assert_int_equal(n_crossed, 8);
        free_pair(&p);
    }
}

/* Many rows at once, and updates, which leave their number as it is. */
static void batches_cross(void **state) {
    (void)state;
    efface_kmeans_params params = params_of_switch(1, 3);
    pair p = make_rows(LIMIT + 20, &params);
    for (unsigned round = 0; round < 6; round++) {
        uint64_t ids[40];
        float values[40 * MOST_COLUMNS];
        efface_report report;
        for (size_t i = 0; i < 40; i++)
            ids[i] = efface_data_row(p.data, 7 * i + round).id;
        for (size_t i = 0; i < 40 * MOST_COLUMNS; i++)
            values[i] = draw_value();
        const efface_rows rows = {.n_rows = 40, .values = values, .ids = ids};
        const efface_rows other = {.n_rows = round % 3 + 1, .values = values, .ids = ids};
        assert_int_equal(efface_model_update(p.model, p.data, &other, &report, NULL), EFFACE_OK);
        check_side(&p, LIMIT);
        assert_int_equal(efface_model_forget(p.model, p.data,
                                             &(efface_request){.ids = ids, .n_ids = 40}, &report,
                                             NULL),
                         EFFACE_OK);
        check_crossing(&report);
        check_side(&p, LIMIT);
        const uint64_t one = efface_data_row(p.data, below(900)).id;
        (void)forget_one(&p, one); /* by lloyd, which may keep margins from now on */
        (void)learn_one(&p, one, values);
        check_side(&p, LIMIT);
        assert_int_equal(efface_model_learn(p.model, p.data, &rows, &report, NULL), EFFACE_OK);
        check_crossing(&report);
        check_side(&p, LIMIT);
    }
    free_pair(&p);
}

/* With the clusters that there are: as rows become fewer than clusters, a sample never pays. */
static void to_the_last_row(void **state) {
    (void)state;
    efface_kmeans_params params = params_of_switch(1, 8);
    pair p = make_rows(LIMIT + 2, &params);
    while (p.data->n_rows > 0) {
        uint64_t ids[100];
        size_t n = p.data->n_rows > LIMIT - 2 || p.data->n_rows < 4 ? 1 : 100;
        n = n < p.data->n_rows ? n : p.data->n_rows;
        for (size_t i = 0; i < n; i++)
            ids[i] = efface_data_row(p.data, i).id;
        assert_int_equal(efface_model_forget(p.model, p.data,
                                             &(efface_request){.ids = ids, .n_ids = n}, NULL, NULL),
                         EFFACE_OK);
        check_side(&p, LIMIT);
    }
    free_pair(&p);
}

/* ---------------------------------------------------------------- bytes */

typedef struct bytes {
    unsigned char *at;
    size_t n;
} bytes;

static bytes encode(const efface_model *model) {
    bytes b = {0};
    assert_int_equal(efface_model_encode(model, &b.at, &b.n, NULL), EFFACE_OK);
    return b;
}

/* Puts the model that its bytes say in its place. */
static void reload(pair *p) {
    const bytes b = encode(p->model);
    efface_model *decoded = NULL;
    efface_error error;
    if (efface_model_decode(b.at, b.n, &p->params.common, p->data, &decoded, &error) != EFFACE_OK)
        fail_msg("%s", error.message);
    efface_model_free(p->model);
    p->model = decoded;
    efface_bytes_free(b.at);
}

static void decoded_models_cross(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        efface_kmeans_params params = params_of_switch(1, seed);
        params.candidates = (uint32_t)seed;
        params.epsilon = seed == 2 ? 5 * 0x1p-23 : 0.0;
        pair p = make_rows(LIMIT, &params);
        for (unsigned turn = 0; turn < 3; turn++) {
            const uint64_t id = 10 + turn;
            float values[MOST_COLUMNS];
            size_t position = 0;
            assert_int_equal(efface_data_find(p.data, id, &position), EFFACE_OK);
            efface_data_values(p.data, position, values);
            reload(&p);
            check_side(&p, LIMIT);
            efface_report report = forget_one(&p, id);
            check_crossing(&report);
            check_side(&p, LIMIT);
            reload(&p);
            check_side(&p, LIMIT);
            report = learn_one(&p, id, values);
            check_crossing(&report);
            check_side(&p, LIMIT);
        }
        free_pair(&p);
    }
}

/* Bytes of lloyd for so many rows that it would be a pyramid, and the other way round. */
static void the_wrong_side_is_refused(void **state) {
    (void)state;
    const efface_kmeans_params params = params_of_switch(1, 4);
    for (size_t n = LIMIT - 1; n <= LIMIT; n++) {
        pair p = make_rows(n, &params);
        efface_kmeans_params other = params;
        other.method = n < LIMIT ? EFFACE_METHOD_PYRAMID : EFFACE_METHOD_LLOYD;
        other.pyramid.rate = n < LIMIT ? 1.0 / 32.0 : 0.0;
        efface_model *const wrong = fit(p.data, &other);
        efface_model *decoded = NULL;
        const bytes b = encode(wrong);
        assert_int_equal(efface_model_decode(b.at, b.n, &params.common, p.data, &decoded, NULL),
                         EFFACE_E_FORMAT);
        assert_null(decoded);
        efface_bytes_free(b.at);
        efface_model_free(wrong);
        free_pair(&p);
    }
}

/* A model without its rows knows that it needs them, and is what it was. */
static void cold_models_ask_for_rows(void **state) {
    (void)state;
    const efface_kmeans_params params = params_of_switch(1, 9);
    for (int leaves = 0; leaves < 2; leaves++) {
        pair p = make_rows(leaves ? LIMIT : LIMIT - 1, &params);
        ef_writer writer = {0};
        ef_counts_write(&writer, &p.data->counts);
        ef_decoder counted = {.bytes = writer.bytes, .n_bytes = writer.n_bytes};
        ef_counts counts;
        assert_true(ef_counts_read(&counted, MOST_COLUMNS, &counts));
        const bytes b = encode(p.model);
        ef_decoder reader = {.bytes = b.at, .n_bytes = b.n};
        efface_model *cold = NULL;
        assert_int_equal(ef_model_read(&reader, &params.common, MOST_COLUMNS, &cold, NULL),
                         EFFACE_OK);
        float values[MOST_COLUMNS];
        efface_data_values(p.data, 100, values);
        const efface_row row = {.id = leaves ? 100 : 5000, .weight = 1};
        ef_change change;
        assert_true(ef_change_init(&change, MOST_COLUMNS, 1));
        ef_change_note(&change, &row, values, leaves != 0);
        ef_counts_change(&counts, values, 1, leaves != 0);
        bool done = true;
        efface_report report;
        assert_int_equal(ef_model_follow_cold(cold, &counts, &change, false, &done, &report, NULL),
                         EFFACE_OK);
        assert_false(done);
        check_crossing(&report);
        const bytes after = encode(cold);
        assert_int_equal(after.n, b.n);
        assert_memory_equal(after.at, b.at, b.n);
        assert_int_equal(ef_model_attach(cold, p.data, NULL), EFFACE_OK);
        efface_model_free(p.model);
        p.model = cold;
        report = leaves ? forget_one(&p, 100) : learn_one(&p, 5000, values);
        check_crossing(&report);
        check_side(&p, LIMIT);
        ef_change_free(&change);
        efface_bytes_free(b.at);
        efface_bytes_free(after.at);
        ef_counts_free(&counts);
        free(writer.bytes);
        free_pair(&p);
    }
}

/* ---------------------------------------------------------------- trees */

/* Gives a leaf a number of rows: the last one by itself, those before it together. New rows have
 * ids from `next` on. */
static void bring_leaf(pair *p, uint32_t leaf, size_t n_wanted, uint64_t *next) {
    const efface_data *const set = node_of(p, 1, leaf)->data;
    const size_t n = efface_data_n_rows(set);
    const bool leaves = n > n_wanted;
    const size_t n_ids = leaves ? n - n_wanted : n_wanted - n;
    uint64_t ids[200];
    float values[200 * MOST_COLUMNS];
    assert_true(n_ids > 0 && n_ids <= 200);
    for (size_t i = 0; i < n_ids * MOST_COLUMNS; i++)
        values[i] = draw_value();
    for (size_t i = 0; i < n_ids; i++) {
        ids[i] = leaves ? efface_data_row(set, 3 * i).id : id_in_leaf(p, leaf, *next);
        *next = leaves ? *next : ids[i] + 1;
    }
    const efface_rows rows = {.n_rows = n_ids - 1, .values = values + 2, .ids = ids + 1};
    if (n_ids > 1)
        assert_int_equal(
            leaves ? efface_model_forget(p->model, p->data,
                                         &(efface_request){.ids = ids + 1, .n_ids = n_ids - 1},
                                         NULL, NULL)
                   : efface_model_learn(p->model, p->data, &rows, NULL, NULL),
            EFFACE_OK);
    (void)(leaves ? forget(p, ids[0]) : learn(p, ids[0], values));
    assert_int_equal(n_rows_of(p, 1, leaf), n_wanted);
}

/* Two leaves about the limit, with one cluster each; and a root of two rows. */
static void leaves_cross(void **state) {
    (void)state;
    static const size_t numbers[] = {LIMIT, LIMIT - 1, LIMIT, LIMIT + 9, LIMIT - 9, LIMIT + 1};
    efface_kmeans_params params = params_of_tree(1, 2, 1, 21);
    params.tree.leaf_method = params.tree.node_method = EFFACE_METHOD_PYRAMID;
    params.tree.weigh_centroids = 1;
    params.pyramid.starts = 2;
    pair p = make_rows(2 * LIMIT - 60, &params);
    uint64_t next = 10000;
    for (unsigned step = 0; step < 12; step++) {
        const uint32_t leaf = step / 3 % 2;
        bring_leaf(&p, leaf, numbers[step / 6 * 3 + step % 3], &next);
        const ef_node *const node = node_of(&p, 1, leaf);
        assert_int_equal(is_pyramid(AS_MODEL(node->model), node->data),
                         efface_data_n_rows(node->data) >= LIMIT);
        assert_int_equal(node_of(&p, 0, 0)->model->plan.method, EFFACE_METHOD_LLOYD);
        assert_int_equal(efface_kmeans_get_info(p.model).actual, EFFACE_METHOD_TREE);
        for (size_t i = 0; i < p.data->n_rows; i++) {
            const uint64_t id = efface_data_row(p.data, i).id;
            ef_kmeans *const own = node_of(&p, 1, leaf_of(&p, id))->model;
            assert_int_equal(efface_kmeans_in_sample(p.model, p.data, id),
                             own->plan.method == EFFACE_METHOD_LLOYD ||
                                 efface_kmeans_in_sample(AS_MODEL(own), p.data, id));
        }
        if (step % 4 == 1) {
            reload(&p);
            check_nodes(p.model, p.data);
        }
    }
    free_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_large_enough),
        cmocka_unit_test(few_rows_are_those_of_lloyd),
        cmocka_unit_test(one_row_more_or_less),
        cmocka_unit_test(batches_cross),
        cmocka_unit_test(to_the_last_row),
        cmocka_unit_test(decoded_models_cross),
        cmocka_unit_test(the_wrong_side_is_refused),
        cmocka_unit_test(cold_models_ask_for_rows),
        cmocka_unit_test(leaves_cross),
    };
    return cmocka_run_group_tests_name("switch", tests, NULL, NULL);
}
