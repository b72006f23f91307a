/*
 * How far a change climbs in a tree, by small examples: to the leaves, to a node inside, or to the
 * root; nodes that come and go; and what reports say of it.
 */
#include "kmeans/tree_scene.h"
#include "model/report_scene.h"

#include <dirent.h>

/* Leaves that move their centroids by whole lattice steps of 1,024 only. */
static efface_kmeans_params params_of_steady_tree(uint32_t height, uint32_t width,
                                                  uint32_t n_clusters, uint64_t seed) {
    efface_kmeans_params p = params_of_tree(height, width, n_clusters, seed);
    p.tree.leaf_method = EFFACE_METHOD_QUANTIZED;
    p.epsilon = 1024 * 0x1p-23;
    p.quantized.gamma = 0.0;
    return p;
}

/* ---------------------------------------------------------------- how far a change climbs */

/* The bytes of all nodes above the leaves. */
typedef struct above {
    unsigned char digests[16][EFFACE_DIGEST_BYTES];
} above;

static above look_above(const pair *p) {
    const ef_tree *const tree = inside(p->model)->tree;
    above a;
    size_t n = 0;
    memset(&a, 0, sizeof a);
    for (uint32_t l = 0; l < tree->height; l++)
        for (size_t i = 0; i < tree->n_nodes[l]; i++, n++)
            if (tree->nodes[l][i].model != NULL)
                assert_int_equal(
                    efface_model_digest(AS_MODEL(tree->nodes[l][i].model), a.digests[n], NULL),
                    EFFACE_OK);
    return a;
}

static void a_change_stops_at_a_leaf(void **state) {
    (void)state;
    for (uint32_t height = 1; height <= 3; height++) {
        float values[60];
        fill_two_places(values, 60);
        const efface_kmeans_params params = params_of_steady_tree(height, 2, 2, 3);
        pair p = make_pair(&params, 60, 1, values);
        unsigned n_stopped = 0;
        for (uint64_t id = 0; id < 30; id++) {
            if (efface_kmeans_is_seed(p.model, id))
                continue;
            const above before = look_above(&p);
            efface_report report = forget(&p, id);
            const above now = look_above(&p);
            if (depth_of(&report) != height)
                continue;
            n_stopped++;
            assert_int_equal(report.action, EFFACE_ACTION_ADJUSTED);
            assert_true(is_because(&report, EF_REASON_NONE));
            assert_int_equal(report.rows_visited, 0);
            assert_memory_equal(&before, &now, sizeof now);
            report = learn(&p, id, &values[id]);
            assert_int_equal(depth_of(&report), height);
            const float other = values[id] + 1.0F;
            const efface_rows rows = {.n_rows = 1, .values = &other, .ids = &id};
            assert_int_equal(efface_model_update(p.model, p.data, &rows, &report, NULL), EFFACE_OK);
            assert_int_equal(depth_of(&report), height);
            const above last = look_above(&p);
            assert_memory_equal(&before, &last, sizeof last);
            check_law(&p);
            check_nodes(p.model, p.data);
        }
        assert_true(n_stopped >= 15);
        free_pair(&p);
    }
}

/* One cluster each: a leaf's centroid is the mean of its rows, which a row moves. */
static void a_change_reaches_the_root(void **state) {
    (void)state;
    for (uint32_t height = 1; height <= 3; height++) {
        float values[48];
        for (size_t i = 0; i < 48; i++)
            values[i] = (float)(1000 * i * i);
        const efface_kmeans_params params = params_of_tree(height, 2, 1, 5);
        pair p = make_pair(&params, 48, 1, values);
        for (uint64_t id = 0; id < 48; id++) {
            const above before = look_above(&p);
            const efface_report report = forget(&p, id);
            const above now = look_above(&p);
            assert_int_equal(depth_of(&report), 0);
            assert_true(memcmp(&before, &now, sizeof now) != 0);
        }
        free_pair(&p);
    }
}

/* Leaves of lloyd, above them a lattice: the change stops there. */
static void a_change_stops_inside(void **state) {
    (void)state;
    float values[60];
    for (size_t i = 0; i < 60; i++)
        values[i] = (float)(i * i * 7 % 301);
    efface_kmeans_params params = params_of_tree(2, 3, 1, 5);
    params.tree.node_method = EFFACE_METHOD_QUANTIZED;
    params.epsilon = 4096 * 0x1p-23;
    params.quantized.gamma = 0.0;
    pair p = make_pair(&params, 60, 1, values);
    unsigned n_inside = 0;
    for (uint64_t id = 0; id < 30; id++) {
        const uint32_t parent = leaf_of(&p, id) / 3;
        const above before = look_above(&p);
        const efface_report report = forget(&p, id);
        const above now = look_above(&p);
        if (depth_of(&report) != 1)
            continue;
        n_inside++;
        for (uint32_t i = 0; i < 4; i++) { /* the root, then its children */
            const bool same = memcmp(before.digests[i], now.digests[i], EFFACE_DIGEST_BYTES) == 0;
            assert_true(same == (i != 1 + parent));
        }
    }
    assert_true(n_inside >= 15);
    free_pair(&p);
}

/* Of two centroids of a leaf one moves: the other stays where it is in the parent's set, too, where
 * it is the seed. With one iteration, centroids move and no row is assigned again. */
static void a_centroid_that_stays_is_not_touched(void **state) {
    (void)state;
    float values[60];
    fill_two_places(values, 60);
    static const uint32_t two = 2;
    efface_kmeans_params params = params_of_tree(1, 1, 1, 3);
    params.iterations = 1;
    params.tree.depth_clusters = &two;
    pair p = make_pair(&params, 60, 1, values);
    const int32_t *const centers = ef_kmeans_centers(node_of(&p, 1, 0)->model);
    const uint64_t far = centers[1] > centers[0] ? 1 : 0; /* the cluster of rows with odd ids */
    const uint64_t seed = node_of(&p, 0, 0)->model->seeds[0].id;
    unsigned n_moved = 0;
    for (uint64_t id = seed == far ? 0 : 1; id < 60; id += 2) {
        if (efface_kmeans_is_seed(p.model, id))
            continue;
        const efface_report report = forget(&p, id);
        assert_int_equal(report.action, EFFACE_ACTION_ADJUSTED);
        assert_int_equal(report.rows_visited, 0);
        n_moved += depth_of(&report) == 0;
    }
    assert_true(n_moved >= 5);
    free_pair(&p);
}

/* Two rows of each leaf: together they take less than one by one, and leave the same behind. */
static void a_batch_reaches_each_node_once(void **state) {
    (void)state;
    float values[64];
    for (size_t i = 0; i < 64; i++)
        values[i] = (float)(1000 * i);
    const efface_kmeans_params params = params_of_tree(1, 4, 1, 9);
    pair one = make_pair(&params, 64, 1, values), batch = make_pair(&params, 64, 1, values);
    uint64_t ids[8], n_visited = 0;
    efface_report report;
    for (uint32_t leaf = 0; leaf < 4; leaf++) {
        ids[leaf] = id_in_leaf(&one, leaf, 0);
        ids[leaf + 4] = id_in_leaf(&one, leaf, ids[leaf] + 1);
    }
    for (size_t i = 0; i < 8; i++)
        n_visited += forget(&one, ids[i]).rows_visited;
    assert_int_equal(efface_model_forget(batch.model, batch.data,
                                         &(efface_request){.ids = ids, .n_ids = 8}, &report, NULL),
                     EFFACE_OK);
    assert_int_equal(report.rows_forgotten, 8);
    assert_int_equal(depth_of(&report), 0);
    /* The means alone move: each row that is left in a leaf is looked at once, or twice if the seed
     * is among the rows that went, and so are the four centroids. */
    assert_true(report.rows_visited >= 56 + 4 && report.rows_visited <= 2 * (56 + 4));
    assert_true(3 * report.rows_visited < 2 * n_visited);
    check_law(&batch);
    check_nodes(batch.model, batch.data);
    const sight a = look(&one), b = look(&batch);
    assert_memory_equal(a.digest, b.digest, sizeof a.digest);
    free_pair(&one);
    free_pair(&batch);
}

/* ---------------------------------------------------------------- nodes that come and go */

static void the_last_row_of_a_leaf_takes_it_along(void **state) {
    (void)state;
    float values[24];
    fill_two_places(values, 24);
    const efface_kmeans_params params = params_of_tree(2, 3, 2, 7);
    pair p = make_pair(&params, 24, 1, values);
    const uint32_t leaf = leaf_of(&p, 0), parent = leaf / 3;
    /* The other leaves of the branch first, then this one. */
    for (uint64_t id = 0; id < 24; id++)
        if (leaf_of(&p, id) / 3 == parent && leaf_of(&p, id) != leaf)
            (void)forget(&p, id);
    assert_non_null(node_of(&p, 2, leaf)->model);
    efface_report report = {.action = EFFACE_ACTION_ADJUSTED};
    for (uint64_t id = 0; id < 24; id++)
        if (leaf_of(&p, id) == leaf) {
            assert_non_null(node_of(&p, 1, parent)->model);
            report = forget(&p, id);
        }
    assert_null(node_of(&p, 2, leaf)->model);
    assert_null(node_of(&p, 2, leaf)->data);
    assert_null(node_of(&p, 1, parent)->model);
    assert_null(node_of(&p, 1, parent)->data);
    assert_string_equal(report.reason, past_of(EF_REASON_CLUSTERS));
    assert_int_equal(depth_of(&report), 0);
    assert_true(efface_data_n_rows(p.data) != 0);

    /* Nobody belongs there any more, and then somebody does. */
    assert_int_equal(efface_kmeans_is_seed(p.model, 0), 0);
    report = learn(&p, 0, &values[0]);
    assert_int_equal(n_rows_of(&p, 2, leaf), 1);
    assert_int_equal(n_rows_of(&p, 1, parent), 1);
    assert_string_equal(report.reason, past_of(EF_REASON_CLUSTERS));
    assert_int_equal(report.action, EFFACE_ACTION_REPAIRED);
    assert_int_equal(depth_of(&report), 0);
    assert_int_equal(efface_kmeans_is_seed(p.model, 0), 1);
    free_pair(&p);
}

static void all_nodes_can_go_and_come_back(void **state) {
    (void)state;
    float values[12];
    fill_two_places(values, 12);
    const efface_kmeans_params params = params_of_tree(2, 2, 3, 2);
    pair p = make_pair(&params, 12, 1, values);
    const sight full = look(&p);
    efface_report report = {.action = EFFACE_ACTION_ADJUSTED};
    for (uint64_t id = 0; id < 12; id++)
        report = forget(&p, id);
    assert_int_equal(depth_of(&report), 0);
    assert_string_equal(report.reason, past_of(EF_REASON_CLUSTERS));
    assert_int_equal(efface_kmeans_get_info(p.model).n_clusters, 0);
    for (uint32_t l = 0; l <= 2; l++)
        for (size_t i = 0; i < inside(p.model)->tree->n_nodes[l]; i++)
            assert_null(node_of(&p, l, i)->model);
    double coordinate;
    uint32_t label;
    assert_int_equal(efface_kmeans_centroid(p.model, 0, &coordinate, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(predict_labels(p.model, 1, values, 0, &label, NULL), EFFACE_E_ARGUMENT);
    report = learn(&p, 0, &values[0]);
    assert_int_equal(depth_of(&report), 0);
    assert_int_equal(efface_kmeans_get_info(p.model).n_clusters, 1);
    for (uint64_t id = 1; id < 12; id++)
        (void)learn(&p, id, &values[id]);
    const sight again = look(&p);
    assert_memory_equal(full.digest, again.digest, sizeof full.digest);
    free_pair(&p);
}

/* Rows at one place: of two centroids there one has no rows, and weighed, it is no row of the
 * parent. When the other gets rows of its own, it becomes one. */
static void a_centroid_without_rows_is_no_row(void **state) {
    (void)state;
    const float values[6] = {5, 5, 5, 5, 5, 5};
    efface_kmeans_params params = params_of_tree(1, 1, 2, 4);
    params.empty = EFFACE_EMPTY_KEEP;
    for (int weighed = 0; weighed < 2; weighed++) {
        params.tree.weigh_centroids = weighed;
        pair p = make_pair(&params, 6, 1, values);
        const ef_node *const leaf = node_of(&p, 1, 0);
        assert_int_equal(leaf->model->plan.n_clusters, 2);
        assert_int_equal(ef_kmeans_mass(leaf->model, 0), 6);
        assert_int_equal(ef_kmeans_mass(leaf->model, 1), 0);
        assert_int_equal(n_rows_of(&p, 0, 0), weighed ? 1 : 2);
        assert_int_equal(efface_kmeans_get_info(p.model).n_clusters, weighed ? 1 : 2);
        const efface_data *const set = node_of(&p, 0, 0)->data;
        assert_int_equal(efface_data_total_weight(set), weighed ? 6 : 2);

        const float far = 1000.0F;
        (void)learn(&p, 77, &far);
        assert_int_equal(n_rows_of(&p, 0, 0), 2);
        assert_int_equal(efface_data_total_weight(node_of(&p, 0, 0)->data), weighed ? 7 : 2);
        (void)forget(&p, 77);
        assert_int_equal(n_rows_of(&p, 0, 0), weighed ? 1 : 2);
        free_pair(&p);
    }
}

/* Weighed, a row that moves no centroid still changes a weight, and so the set of every node up to
 * the root; not weighed, it does not. */
static void weights_climb_too(void **state) {
    (void)state;
    float values[60];
    fill_two_places(values, 60);
    efface_kmeans_params params = params_of_steady_tree(2, 2, 2, 3);
    params.tree.node_method = EFFACE_METHOD_QUANTIZED;
    uint32_t depths[2];
    for (int weighed = 0; weighed < 2; weighed++) {
        params.tree.weigh_centroids = weighed;
        pair p = make_pair(&params, 60, 1, values);
        uint64_t id = 0;
        while (efface_kmeans_is_seed(p.model, id))
            id++;
        const efface_report report = forget(&p, id);
        assert_true(weighed || report.action == EFFACE_ACTION_ADJUSTED);
        depths[weighed] = depth_of(&report);
        free_pair(&p);
    }
    assert_int_equal(depths[0], 2);
    assert_int_equal(depths[1], 0);
}

/* ---------------------------------------------------------------- reports */

static void a_moved_width_is_a_refit(void **state) {
    (void)state;
    float values[40];
    fill_two_places(values, 40);
    const efface_kmeans_params params = params_of_tree(1, 0, 2, 6);
    pair p = make_pair(&params, 32, 1, values);
    assert_int_equal(efface_kmeans_get_info(p.model).width, 4);
    efface_report report = forget(&p, 31);
    assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
    assert_string_equal(report.reason, past_of(EF_REASON_WIDTH));
    assert_int_equal(depth_of(&report), 0);
    assert_true(report.rows_visited >= 31 + 4); /* rows and centroids of leaves */
    assert_int_equal(report.rows_visited, efface_kmeans_get_info(p.model).rows_assigned);
    assert_int_equal(efface_kmeans_get_info(p.model).width, 2);
    report = forget(&p, 30);
    assert_true(!is_because(&report, EF_REASON_WIDTH));
    report = learn(&p, 30, &values[30]);
    assert_true(!is_because(&report, EF_REASON_WIDTH));
    report = learn(&p, 31, &values[31]);
    assert_string_equal(report.reason, past_of(EF_REASON_WIDTH));
    assert_int_equal(efface_kmeans_get_info(p.model).width, 4);
    free_pair(&p);
}

/* The grid is that of all rows: a row far out moves it for every leaf. */
static void a_moved_grid_is_a_refit(void **state) {
    (void)state;
    float values[40];
    fill_two_places(values, 40);
    const float far = 1e6F;
    efface_kmeans_params params = params_of_tree(1, 3, 2, 6);
    params.bound = 0.0;
    pair p = make_pair(&params, 40, 1, values);
    assert_string_equal(learn(&p, 99, &far).reason, past_of(EF_REASON_BOUND));
    for (uint32_t leaf = 0; leaf < 3; leaf++)
        assert_int_equal(node_of(&p, 1, leaf)->model->domain.exponent,
                         inside(p.model)->domain.exponent);
    assert_string_equal(forget(&p, 99).reason, past_of(EF_REASON_BOUND));
    free_pair(&p);

    params.scale = EFFACE_SCALE_MINMAX;
    p = make_pair(&params, 40, 1, values);
    assert_string_equal(learn(&p, 99, &far).reason, past_of(EF_REASON_SCALE));
    for (uint32_t leaf = 0; leaf < 3; leaf++)
        assert_true(node_of(&p, 1, leaf)->model->domain.high[0] == far);
    assert_string_equal(forget(&p, 99).reason, past_of(EF_REASON_SCALE));
    free_pair(&p);
}

/* A value outside a bound that was given is refused, and no node has heard of it. */
static void what_is_refused_reaches_no_node(void **state) {
    (void)state;
    float values[40];
    fill_two_places(values, 40);
    const efface_kmeans_params params = params_of_tree(2, 2, 2, 6);
    pair p = make_pair(&params, 40, 1, values);
    const sight before = look(&p);
    const float far[3] = {1.0F, 2.0F, 0x1p24F};
    const uint64_t ids[3] = {3, 4, 5}, news[3] = {100, 101, 102};
    efface_rows rows = {.n_rows = 3, .values = far, .ids = ids};
    assert_int_equal(efface_model_update(p.model, p.data, &rows, NULL, NULL), EFFACE_E_LIMIT);
    check_nodes(p.model, p.data);
    check_same(&p, &before);
    rows.ids = news;
    assert_int_equal(efface_model_learn(p.model, p.data, &rows, NULL, NULL), EFFACE_E_LIMIT);
    check_nodes(p.model, p.data);
    check_same(&p, &before);
    assert_int_equal(efface_model_forget(p.model, p.data,
                                         &(efface_request){.ids = news, .n_ids = 3}, NULL, NULL),
                     EFFACE_E_NOT_FOUND);
    check_nodes(p.model, p.data);
    check_same(&p, &before);
    free_pair(&p);
}

/* A preview climbs like the request and then takes back all it did. */
static void a_preview_leaves_no_trace(void **state) {
    (void)state;
    float values[24];
    fill_two_places(values, 24);
    for (int method = 0; method < 3; method++) {
        efface_kmeans_params params = params_of_tree(2, 3, 2, 7);
        params.tree.leaf_method = params.tree.node_method = (efface_method)method;
        params.tree.weigh_centroids = method == 1;
        pair p = make_pair(&params, 24, 1, values);
        const sight before = look(&p);
        for (uint64_t id = 0; id < 20; id++) {
            uint64_t ids[20];
            const size_t n = id % 4 == 0 ? 20 - id : 1;
            for (size_t i = 0; i < n; i++)
                ids[i] = id + i;
            assert_int_equal(efface_model_preview(p.model, p.data,
                                                  &(efface_request){.ids = ids, .n_ids = n}, NULL,
                                                  NULL),
                             EFFACE_OK);
            check_same(&p, &before);
            check_nodes(p.model, p.data);
        }
        free_pair(&p);
    }
}

/* ---------------------------------------------------------------- threads */

/* The threads of this process; 0 if the system does not tell. */
static size_t count_threads(void) {
    DIR *const tasks = opendir("/proc/self/task");
    size_t n = 0;
    for (const struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;)
        n += task->d_name[0] != '.';
    if (tasks != NULL)
        closedir(tasks);
    return n;
}

static int note_threads(void *context) {
    size_t *const most = context;
    const size_t n = count_threads();
    *most = n > *most ? n : *most;
    return 0;
}

/* Two leaves and eight threads: each leaf has all of them, and is too small to use one more. */
static void few_nodes_start_no_threads(void **state) {
    (void)state;
    const size_t before = count_threads();
    if (before == 0)
        skip();
    float values[60];
    fill_two_places(values, 60);
    size_t most = 0;
    efface_kmeans_params params = params_of_tree(1, 2, 2, 3);
    params.common.n_threads = 8;
    params.common.interrupted = note_threads;
    params.common.interrupt_context = &most;
    pair p = make_pair(&params, 60, 1, values);
    assert_true(most != 0 && most <= before); /* one that has ended may still be counted before */
    free_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_stops_at_a_leaf),
        cmocka_unit_test(a_change_reaches_the_root),
        cmocka_unit_test(a_change_stops_inside),
        cmocka_unit_test(a_centroid_that_stays_is_not_touched),
        cmocka_unit_test(a_batch_reaches_each_node_once),
        cmocka_unit_test(the_last_row_of_a_leaf_takes_it_along),
        cmocka_unit_test(all_nodes_can_go_and_come_back),
        cmocka_unit_test(a_centroid_without_rows_is_no_row),
        cmocka_unit_test(weights_climb_too),
        cmocka_unit_test(a_moved_width_is_a_refit),
        cmocka_unit_test(a_moved_grid_is_a_refit),
        cmocka_unit_test(what_is_refused_reaches_no_node),
        cmocka_unit_test(a_preview_leaves_no_trace),
        cmocka_unit_test(few_nodes_start_no_threads),
    };
    return cmocka_run_group_tests_name("tree_change", tests, NULL, NULL);
}
