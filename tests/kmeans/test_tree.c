/*
 * Trees (docs/definition/numerics.md, section 8), by small examples: shape and parameters, that
 * nodes are models of their own, verify, decode, and threads.
 */
#include "kmeans/tree_scene.h"

#include "base/random/tape.h"
#include "model/report_scene.h"

/* ---------------------------------------------------------------- shape and parameters */

static void height_0_is_the_method_of_its_leaves(void **state) {
    (void)state;
    float values[40];
    fill_two_places(values, 40);
    for (int method = 0; method < 3; method++) {
        efface_kmeans_params tree = params_of_tree(0, 5, 3, 8), flat = tree;
        tree.tree.leaf_method = flat.method = (efface_method)method;
        tree.tree.node_method = EFFACE_METHOD_PYRAMID;
        tree.tree.weigh_centroids = 1;
        flat.tree.height = flat.tree.width = 0;
        pair a = make_pair(&tree, 40, 1, values), b = make_pair(&flat, 40, 1, values);
        assert_null(inside(a.model)->tree);
        assert_int_equal(efface_kmeans_get_info(a.model).method, method);
        for (uint64_t id = 0; id < 40; id += 3) {
            const efface_report x = forget_one(&a, id), y = forget_one(&b, id);
            assert_int_equal(x.action, y.action);
            assert_string_equal(x.reason, y.reason);
            const sight seen = look(&a);
            check_same(&b, &seen);
        }
        free_pair(&a);
        free_pair(&b);
    }
}

/* w = 2^r as soon as n^3 >= 2^(10 (r - 1) + 5). */
static void automatic_width_has_its_edges(void **state) {
    (void)state;
    static const struct {
        uint64_t n;
        uint32_t width;
    } edges[] = {{0, 1},         {1, 1},          {3, 1},         {4, 2},       {31, 2},
                 {32, 4},        {322, 4},        {323, 8},       {3250, 8},    {3251, 16},
                 {32767, 16},    {32768, 32},     {330280, 32},   {330281, 64}, {3329021, 64},
                 {3329022, 128}, {33554431, 128}, {33554432, 256}};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        assert_int_equal(ef_tree_width(edges[i].n, 1), edges[i].width);
        assert_int_equal(ef_tree_width(edges[i].n, 2), edges[i].width);
    }
    /* At n^3 = 2^105, and at the most rows there can be; w^h is at most 2^20. */
    const uint64_t most = (UINT64_C(1) << 40) - 1;
    assert_int_equal(ef_tree_width((UINT64_C(1) << 35) - 1, 1), 1024);
    assert_int_equal(ef_tree_width(UINT64_C(1) << 35, 1), 2048);
    assert_int_equal(ef_tree_width(most, 1), 4096);
    assert_int_equal(ef_tree_width(most, 2), 1024);
    assert_int_equal(ef_tree_width(most, 3), 64);
    assert_int_equal(ef_tree_width(most, 7), 4);
    assert_int_equal(ef_tree_width(most, 8), 4);
    assert_int_equal(ef_tree_width(323, 8), 4);
    for (uint32_t h = 1; h <= EF_MOST_HEIGHT; h++)
        assert_true(ef_tree_leaves(ef_tree_width(most, h), h) != 0);
}

static void leaves_are_counted(void **state) {
    (void)state;
    assert_int_equal(ef_tree_leaves(7, 0), 1);
    assert_int_equal(ef_tree_leaves(1, 8), 1);
    assert_int_equal(ef_tree_leaves(3, 4), 81);
    assert_int_equal(ef_tree_leaves(1 << 20, 1), 1 << 20);
    assert_int_equal(ef_tree_leaves((1 << 20) + 1, 1), 0);
    assert_int_equal(ef_tree_leaves(1024, 2), 1 << 20);
    assert_int_equal(ef_tree_leaves(1025, 2), 0);
    assert_int_equal(ef_tree_leaves(UINT32_MAX, 8), 0);
}

static void check_refused(const efface_kmeans_params *p) {
    const float values[2] = {1.0F, 2.0F};
    const efface_rows rows = {.n_rows = 2, .values = values};
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_error error = {.message = ""};
    assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_fit(data, p, &model, &error), EFFACE_E_ARGUMENT);
    assert_true(error.message[0] != '\0');
    assert_null(model);
    efface_data_free(data);
}

static void bad_parameters_are_refused(void **state) {
    (void)state;
    const efface_kmeans_params good = params_of_tree(2, 3, 2, 1);
    efface_kmeans_params p = good;
    p.tree.height = 9;
    check_refused(&p);
    p = good;
    p.tree.width = 1025;
    check_refused(&p);
    p = good;
    p.tree.height = 1;
    p.tree.width = (1 << 20) + 1;
    check_refused(&p);
    p = good;
    p.tree.leaf_method = EFFACE_METHOD_TREE;
    check_refused(&p);
    p = good;
    p.tree.node_method = EFFACE_METHOD_TREE;
    check_refused(&p);
    p = good;
    p.tree.node_method = (efface_method)17;
    check_refused(&p);
    static const uint32_t none[2] = {3, 0}, many[2] = {EFFACE_MAX_CLUSTERS + 1, 1};
    p = good;
    p.tree.depth_clusters = none;
    check_refused(&p);
    p.tree.depth_clusters = many;
    check_refused(&p);
    p.tree.height = 0; /* then nobody looks at them */
    float values[4];
    fill_two_places(values, 4);
    pair fine = make_pair(&p, 4, 1, values);
    free_pair(&fine);
}

/* The list of clusters is the caller's, who may use its memory again. */
static void depth_clusters_are_copied(void **state) {
    (void)state;
    float values[40];
    fill_two_places(values, 40);
    uint32_t depths[2] = {4, 3};
    efface_kmeans_params params = params_of_tree(2, 2, 5, 3);
    params.tree.depth_clusters = depths;
    pair p = make_pair(&params, 40, 1, values);
    for (uint32_t l = 0; l <= 2; l++)
        assert_int_equal(inside(p.model)->tree->clusters[l], 5 - l);
    unsigned char before[EFFACE_DIGEST_BYTES], after[EFFACE_DIGEST_BYTES];
    assert_int_equal(efface_model_digest(p.model, before, NULL), EFFACE_OK);
    depths[0] = depths[1] = 1;
    assert_int_equal(efface_model_rekey(p.model, p.data, 4, NULL, NULL), EFFACE_OK);
    assert_int_equal(efface_model_rekey(p.model, p.data, 3, NULL, NULL), EFFACE_OK);
    assert_int_equal(efface_model_digest(p.model, after, NULL), EFFACE_OK);
    assert_memory_equal(before, after, sizeof before);
    free_pair(&p);
}

/* The parameters of nodes, and that a tree made of them by hand is the tree. */
static void nodes_are_models_of_their_own(void **state) {
    (void)state;
    float values[60];
    fill_two_places(values, 60);
    efface_kmeans_params params = params_of_tree(1, 3, 2, 12);
    params.tree.node_method = EFFACE_METHOD_QUANTIZED;
    params.epsilon = 64 * 0x1p-23;
    pair p = make_pair(&params, 60, 1, values);
    efface_data *centroids = NULL;
    assert_int_equal(efface_data_create(1, &centroids, NULL), EFFACE_OK);
    for (uint32_t leaf = 0; leaf < 3; leaf++) {
        efface_kmeans_params own = params_of(EFFACE_METHOD_LLOYD, 2, ef_tape(12, 10, 0, leaf, 1));
        own.bound = 0x1p23;
        efface_data *rows = NULL;
        assert_int_equal(efface_data_create(1, &rows, NULL), EFFACE_OK);
        for (uint64_t id = 0; id < 60; id++) {
            const efface_rows one = {.n_rows = 1, .values = &values[id], .ids = &id};
            if (leaf_of(&p, id) == leaf)
                assert_int_equal(efface_data_add(rows, &one, NULL), EFFACE_OK);
        }
        efface_model *const model = fit(rows, &own);
        for (uint32_t c = 0; c < 2; c++) {
            const uint64_t id = leaf * 2 + c;
            const float center = (float)ef_kmeans_centers(inside(model))[c];
            const efface_rows one = {.n_rows = 1, .values = &center, .ids = &id};
            assert_int_equal(efface_data_add(centroids, &one, NULL), EFFACE_OK);
        }
        efface_model_free(model);
        efface_data_free(rows);
    }
    efface_kmeans_params own = params_of(EFFACE_METHOD_QUANTIZED, 2, 12);
    own.bound = 0x1p23;
    own.epsilon = params.epsilon;
    efface_model *const root = fit(centroids, &own);
    double ours[2], right[2];
    for (uint32_t c = 0; c < 2; c++) {
        assert_int_equal(efface_kmeans_centroid(p.model, c, &ours[c], NULL), EFFACE_OK);
        assert_int_equal(efface_kmeans_centroid(root, c, &right[c], NULL), EFFACE_OK);
        assert_true(ours[c] == right[c]);
    }
    efface_model_free(root);
    efface_data_free(centroids);
    free_pair(&p);
}

/* ---------------------------------------------------------------- verify */

static efface_difference verify(const pair *p) {
    efface_difference difference;
    assert_int_equal(efface_model_verify(p->model, p->data, &difference, NULL), EFFACE_OK);
    return difference;
}

static void verify_names_the_node(void **state) {
    (void)state;
    float values[60];
    fill_two_places(values, 60);
    const efface_kmeans_params params = params_of_tree(2, 3, 2, 3);
    pair p = make_pair(&params, 60, 1, values);
    assert_true(verify(&p).identical);
    for (uint32_t l = 0; l <= 2; l++)
        for (size_t i = 0; i < inside(p.model)->tree->n_nodes[l]; i++) {
            ef_level *const level = &node_of(&p, l, i)->model->levels[1];
            assert_true(level->has_partition);
            level->sums[1]++;
            efface_difference difference = verify(&p);
            assert_false(difference.identical);
            assert_string_equal(difference.what, "sum");
            char where[EFFACE_WHERE_BYTES];
            (void)snprintf(where, sizeof where,
                           "node %zu at depth %u, level 1, cluster 1, column 1", i, l);
            assert_string_equal(difference.where, where);
            level->sums[1]--;

            ef_node *const node = &inside(p.model)->tree->nodes[l][i], gone = *node;
            *node = (ef_node){0};
            difference = verify(&p);
            assert_false(difference.identical);
            assert_string_equal(difference.what, "node");
            (void)snprintf(where, sizeof where, "node %zu at depth %u", i, l);
            assert_string_equal(difference.where, where);
            *node = gone;
        }
    inside(p.model)->n_rows++;
    assert_string_equal(verify(&p).what, "parameters or domain");
    inside(p.model)->n_rows--;
    assert_true(verify(&p).identical);
    free_pair(&p);
}

/* ---------------------------------------------------------------- decode */

static efface_status decode(const pair *p, efface_model **out) {
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    assert_int_equal(efface_model_encode(p->model, &bytes, &n_bytes, NULL), EFFACE_OK);
    const efface_status status =
        efface_model_decode(bytes, n_bytes, &p->params.common, p->data, out, NULL);
    efface_bytes_free(bytes);
    return status;
}

/* The bytes of a tree are refused with the parameters of another. */
static void bytes_are_those_of_their_parameters(void **state) {
    (void)state;
    float values[20];
    fill_two_places(values, 20);
    static const uint32_t others[2] = {3, 4};
    const efface_kmeans_params params = params_of_tree(2, 3, 3, 3);
    pair p = make_pair(&params, 20, 1, values);
    efface_model *model = NULL;
    for (int which = 0; which < 9; which++) {
        efface_kmeans_params *const q = &p.params;
        *q = params;
        switch (which) {
        case 0: q->tree.height = 1; break;
        case 1: q->tree.width = 4; break;
        case 2: q->tree.leaf_method = EFFACE_METHOD_QUANTIZED; break;
        case 3: q->tree.node_method = EFFACE_METHOD_QUANTIZED; break;
        case 4: q->tree.weigh_centroids = 1; break;
        case 5: q->n_clusters = 4; break;
        case 6: q->tree.depth_clusters = others; break;
        case 7: q->scale = EFFACE_SCALE_MINMAX; break;
        default: q->method = EFFACE_METHOD_LLOYD; break;
        }
        assert_int_equal(decode(&p, &model), EFFACE_E_FORMAT);
        assert_null(model);
    }
    p.params = params;
    assert_int_equal(decode(&p, &model), EFFACE_OK);
    efface_model_free(model);
    free_pair(&p);
}

/* Bytes that have a node too many, or one too few, are refused, wherever it is. */
static void nodes_of_bytes_are_those_of_rows(void **state) {
    (void)state;
    float values[8];
    fill_two_places(values, 8);
    const efface_kmeans_params params = params_of_tree(2, 3, 2, 3);
    pair p = make_pair(&params, 8, 1, values);
    efface_model *model = NULL;
    ef_kmeans *some = NULL;
    assert_int_equal(decode(&p, &model), EFFACE_OK);
    check_nodes(model, p.data);
    efface_model_free(model);
    model = NULL;
    unsigned n_few = 0, n_many = 0;
    for (uint32_t l = 0; l <= 2; l++)
        for (size_t i = 0; i < inside(p.model)->tree->n_nodes[l]; i++) {
            ef_node *const node = &inside(p.model)->tree->nodes[l][i], old = *node;
            some = old.model != NULL ? old.model : some;
            n_few += old.model != NULL;
            n_many += old.model == NULL;
            node->model = old.model != NULL ? NULL : some;
            assert_int_equal(decode(&p, &model), EFFACE_E_FORMAT);
            assert_null(model);
            *node = old;
        }
    assert_true(n_few >= 5 && n_many >= 3);
    free_pair(&p);
}

/* ---------------------------------------------------------------- threads */

#define MANY 600

/* Many leaves, which threads share, and few, which have all threads for themselves. */
static void threads_do_not_matter(void **state) {
    (void)state;
    static const uint32_t n_threads[] = {1, 2, 3, 7, 0};
    static const uint32_t widths[] = {2, 5, 24};
    float *const values = test_malloc(2 * MANY * sizeof *values);
    for (size_t i = 0; i < 2 * MANY; i++)
        values[i] = (float)(ef_tape(1, 1, 0, i, 0) % 1000);
    for (int test = 0; test < 6; test++) {
        unsigned char first[4][EFFACE_DIGEST_BYTES], digest[EFFACE_DIGEST_BYTES];
        for (int t = 0; t < 5; t++) {
            efface_kmeans_params params =
                params_of_tree(test % 2 != 0 ? 2 : 1, widths[test / 2], 4, 8);
            params.tree.leaf_method =
                test % 2 != 0 ? EFFACE_METHOD_QUANTIZED : EFFACE_METHOD_PYRAMID;
            params.tree.weigh_centroids = test % 2;
            params.common.n_threads = n_threads[t];
            pair p = make_pair(&params, MANY, 2, values);
            uint64_t ids[MANY / 4];
            for (uint64_t i = 0; i < MANY / 4; i++)
                ids[i] = 4 * i + 1;
            const efface_rows news = {.n_rows = MANY / 4, .values = values, .ids = ids};
            for (int step = 0; step < 4; step++) {
                efface_report report;
                if (step == 1)
                    assert_int_equal(
                        efface_model_forget(p.model, p.data,
                                            &(efface_request){.ids = ids, .n_ids = MANY / 4},
                                            &report, NULL),
                        EFFACE_OK);
                if (step == 2)
                    assert_int_equal(efface_model_learn(p.model, p.data, &news, &report, NULL),
                                     EFFACE_OK);
                if (step == 3)
                    assert_int_equal(efface_model_update(p.model, p.data, &news, &report, NULL),
                                     EFFACE_OK);
                check_nodes(p.model, p.data);
                assert_int_equal(efface_model_digest(p.model, t == 0 ? first[step] : digest, NULL),
                                 EFFACE_OK);
                if (t != 0)
                    assert_memory_equal(first[step], digest, sizeof digest);
            }
            check_law(&p);
            free_pair(&p);
        }
    }
    test_free(values);
}

/* A tree keeps its rows once more, in its leaves. */
static void the_state_is_counted(void **state) {
    (void)state;
    efface_data *data = NULL;
    assert_int_equal(efface_data_make_gaussian(8, 16, 500, 1, &data, NULL), EFFACE_OK);
    efface_kmeans_params params = params_of_tree(1, 8, 8, 1);
    params.bound = 0.0;
    efface_model *const model = fit(data, &params);
    const size_t n_bytes = efface_model_state_bytes(model), rows = 4000 * 16 * sizeof(float);
    assert_true(n_bytes > rows && n_bytes < 4 * rows);
    efface_model_free(model);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(height_0_is_the_method_of_its_leaves),
        cmocka_unit_test(automatic_width_has_its_edges),
        cmocka_unit_test(leaves_are_counted),
        cmocka_unit_test(bad_parameters_are_refused),
        cmocka_unit_test(depth_clusters_are_copied),
        cmocka_unit_test(nodes_are_models_of_their_own),
        cmocka_unit_test(verify_names_the_node),
        cmocka_unit_test(bytes_are_those_of_their_parameters),
        cmocka_unit_test(nodes_of_bytes_are_those_of_rows),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(the_state_is_counted),
    };
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
