/*
 * Calls on forests: what must not matter (when a lazy one settles, the order of rows), where there
 * is hardly a forest (no rows, one row, one class), what is refused, interruption, and bytes that
 * are damaged. Nothing is lost by a call that fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "forest/forest_scene.h"

/* ---------------------------------------------------------------- what must not matter */

/* A lazy forest says what it has left for later, and settles it when it is told to. */
static void settling(void **state) {
    (void)state;
    uint64_t n_unsettled = 0;
    grove g = {.name = "settling"};
    rng_state = 8;
    begin_params(&g.params, 10, 5)->lazy = 1;
    begin_grove(&g, draw_plain_rows(400, 4, 4), 80);
    assert_int_equal(efface_forest_get_info(g.model).n_unsettled, 0);
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 6; i++)
            step_grove(&g, 10);
        n_unsettled += efface_forest_get_info(g.model).n_unsettled;
        if (round % 3 == 0) {
            REQUIRE_OK(efface_forest_settle(g.model, error));
            assert_int_equal(efface_forest_get_info(g.model).n_unsettled, 0);
        }
        if (round % 3 == 1)
            check_grove(&g);
    }
    check_grove_plainly(&g);
    assert_true(n_unsettled != 0);
    end_grove(&g);
}

/* Rows in another order, and a set that had other rows before. */
static void order_of_rows(void **state) {
    (void)state;
    law_params params;
    rng_state = 77;
    (void)begin_params(&params, 4, 6);
    law_rows rows = draw_plain_rows(90, 3, 3), turned = law_make_rows(90, 3);
    for (size_t i = 0; i < rows.n; i++) {
        const size_t from = (i * 37 + 5) % rows.n;
        memcpy(turned.values + i * 3, rows.values + from * 3, 3 * sizeof *rows.values);
        turned.ids[i] = rows.ids[from];
        turned.labels[i] = rows.labels[from];
    }
    efface_data *const a = data_of(&rows, false), *const b = data_of(&turned, false);
    efface_model *const one = fit(a, &params), *const two = fit(b, &params);
    encoding x = encode(one), y = encode(two);
    require_same_bytes(&params, &x, &y, "the same rows in another order", "order");
    efface_difference difference;
    REQUIRE_OK(efface_model_verify(one, b, &difference, error));
    assert_true(difference.identical);
    REQUIRE_OK(efface_data_remove(b, turned.ids, 1, error));
    REQUIRE_OK(efface_model_verify(one, b, &difference, error));
    assert_true(!difference.identical && difference.what != NULL);
    efface_bytes_free(x.bytes);
    efface_bytes_free(y.bytes);
    efface_model_free(one);
    efface_model_free(two);
    efface_data_free(a);
    efface_data_free(b);
    law_free_rows(&rows);
    law_free_rows(&turned);
}

/* ---------------------------------------------------------------- hardly a forest */

static void check_cannot_predict(const grove *g) {
    const float row[8] = {0};
    efface_number number = {.whole = 55};
    efface_error why = {.message = ""};
    assert_int_equal(efface_model_get_info(g->model).n_numbers, 0);
    assert_int_equal(
        efface_predictor_predict(efface_model_predictor(g->model), 1, row, 0, &number, &why),
        EFFACE_E_ARGUMENT);
    assert_true(why.message[0] != '\0' && number.whole == 55);
}

/* From no rows to one and two and back, with classes and with a target. */
static void few_rows(void **state) {
    (void)state;
    for (int how = 0; how < 6; how++) {
        grove g = {.name = "few rows"};
        size_t rows[12];
        rng_state = 50 + (uint64_t)how;
        efface_forest_params *const p = begin_params(&g.params, 6, 2);
        p->lazy = how % 2;
        p->target = how / 2 == 1 ? 1 : EFFACE_NO_COLUMN;
        p->rows = how / 2 == 2 ? EFFACE_FOREST_SOME : EFFACE_FOREST_ALL;
        p->trees_of_row = 2;
        begin_grove(&g, draw_plain_rows(12, 2, 3), 0);
        check_cannot_predict(&g);
        check_grove(&g);
        check_grove_plainly(&g);
        for (size_t i = 0; i < 12; i++) {
            rows[i] = i;
            learn_these(&g, &i, 1);
            check_grove(&g);
            check_grove_plainly(&g);
            efface_number number;
            REQUIRE_OK(efface_predictor_predict(efface_model_predictor(g.model), 1, g.all.values, 0,
                                                &number, error));
        }
        for (size_t i = 0; i < 12; i++) {
            forget_these(&g, &i, 1);
            check_grove(&g);
            check_grove_plainly(&g);
        }
        check_cannot_predict(&g);
        learn_these(&g, rows, 12);
        check_grove_plainly(&g);
        forget_these(&g, rows, 12);
        check_grove_plainly(&g);
        check_cannot_predict(&g);
        end_grove(&g);
    }
}

/* A class that vanishes is gone from the list, and the numbers of those behind it move. */
static void classes_come_and_go(void **state) {
    (void)state;
    for (int lazy = 0; lazy < 2; lazy++) {
        grove g = {.name = "classes"};
        size_t of_class[60], n = 0;
        rng_state = 5;
        begin_params(&g.params, 5, 7)->lazy = lazy;
        law_rows all = draw_plain_rows(60, 3, 3);
        for (size_t i = 0; i < all.n; i++)
            all.labels[i] = i % 5 == 0 ? -40 : i % 2 == 0 ? 7 : 900;
        for (size_t i = 0; i < all.n; i += 5)
            of_class[n++] = i;
        begin_grove(&g, all, 100);
        encoding before = encode(g.model);
        assert_int_equal(efface_model_get_info(g.model).n_classes, 3);
        for (size_t i = 0; i + 1 < n; i++)
            forget_these(&g, &of_class[i], 1);
        assert_int_equal(efface_model_get_info(g.model).n_classes, 3);
        forget_these(&g, &of_class[n - 1], 1);
        int64_t classes[3] = {0};
        efface_predictor_classes(efface_model_predictor(g.model), classes, 3);
        assert_int_equal(efface_model_get_info(g.model).n_classes, 2);
        assert_true(classes[0] == 7 && classes[1] == 900);
        check_grove(&g);
        check_grove_plainly(&g);
        learn_these(&g, of_class, n);
        encoding after = encode(g.model);
        require_same_bytes(&g.params, &after, &before, "the forest from before", g.name);
        /* One class is left: each tree is a leaf. */
        size_t others[60], n_others = 0;
        for (size_t i = 0; i < g.all.n; i++)
            if (g.all.labels[i] != 900)
                others[n_others++] = i;
        forget_these(&g, others, n_others);
        check_grove(&g);
        check_grove_plainly(&g);
        assert_int_equal(efface_forest_get_info(g.model).n_nodes, 5);
        /* The rest loses its labels: rows are there, and none takes part. */
        size_t rest[60];
        const size_t n_rest = pick_some(&g, true, 60, rest);
        for (size_t i = 0; i < n_rest; i++)
            g.all.labels[rest[i]] = EFFACE_NO_LABEL;
        law_rows unlabelled = rows_of(&g, rest, n_rest);
        const efface_rows batch = batch_of(&unlabelled);
        REQUIRE_OK(efface_model_update(g.model, g.data, &batch, NULL, error));
        check_grove(&g);
        check_grove_plainly(&g);
        check_cannot_predict(&g);
        law_free_rows(&unlabelled);
        efface_bytes_free(before.bytes);
        efface_bytes_free(after.bytes);
        end_grove(&g);
    }
}

/* Classes that come in between: in large nodes, of which most do not see the row that brings the
 * class, the classes keep their counts and get other numbers. */
static void classes_in_between(void **state) {
    static const int64_t labels[] = {50, -7, 31, 99, 0, INT64_MIN + 1, 40, INT64_MAX};
    (void)state;
    for (int criterion = 0; criterion < 2; criterion++) {
        grove g = {.name = "classes in between"};
        rng_state = 55;
        begin_params(&g.params, 4, 7)->criterion = (efface_criterion)criterion;
        law_rows all = draw_plain_rows(1500, 3, 3);
        for (size_t i = 0; i < all.n; i++)
            all.labels[i] = 10 + 20 * all.labels[i];
        for (size_t i = 0; i < 8; i++) { /* far out, each at another corner */
            all.labels[i] = labels[i];
            all.values[3 * i + i % 3] = (i % 2 == 0 ? 1.0f : -1.0f) * (1000.0f + (float)i);
        }
        begin_grove(&g, all, 0);
        size_t *const which = make(all.n, sizeof *which);
        for (size_t i = 8; i < all.n; i++)
            which[i - 8] = i;
        learn_these(&g, which, all.n - 8);
        check_grove(&g);
        for (size_t i = 0; i < 16; i++) {
            const size_t bringer = i % 8;
            if (i < 8)
                learn_these(&g, &bringer, 1);
            else
                forget_these(&g, &bringer, 1);
            for (size_t k = 0; k < 12; k++) {
                const size_t other = 8 + below(all.n - 8);
                if (g.inside[other])
                    forget_these(&g, &other, 1);
                else
                    learn_these(&g, &other, 1);
            }
            check_grove(&g);
        }
        check_grove_plainly(&g);
        free(which);
        end_grove(&g);
    }
}

/* Far more trees than rows: most have none, and the others decide. */
static void more_trees_than_rows(void **state) {
    (void)state;
    for (int target = 0; target < 2; target++) {
        grove g = {.name = "more trees than rows"};
        rng_state = 6;
        efface_forest_params *const p = begin_params(&g.params, 50, 11);
        p->rows = EFFACE_FOREST_SOME;
        p->trees_of_row = 1;
        p->target = target ? 1 : EFFACE_NO_COLUMN;
        begin_grove(&g, draw_plain_rows(8, 2, 2), 50);
        for (int i = 0; i < 20; i++) {
            step_grove(&g, 3);
            check_grove(&g);
            check_grove_plainly(&g);
        }
        forest_plain *const forest = nodes_of(g.model);
        uint64_t sums[2] = {0};
        for (size_t i = 0; i < g.all.n && forest_predicts(forest); i++) {
            efface_number number;
            const float *const row = g.all.values + 2 * i;
            REQUIRE_OK(efface_predictor_predict(efface_model_predictor(g.model), 1, row, 0, &number,
                                                error));
            if (target)
                assert_true(number.real == forest_mean(forest, row));
            else
                assert_int_equal(number.whole, forest->labels[forest_vote(forest, row, sums)]);
        }
        forest_free(forest);
        end_grove(&g);
    }
}

/* Weights near the limit: sums of squares take 80 bits, and counts of large nodes more than 32.
 * Rows come and leave one by one, so that what is counted is corrected, not counted anew. */
static void heavy_rows(void **state) {
    (void)state;
    for (int how = 0; how < 4; how++) {
        grove g = {.name = "heavy rows"};
        rng_state = 60 + (uint64_t)how;
        efface_forest_params *const p = begin_params(&g.params, 4, 3);
        p->target = how == 2 ? 2 : EFFACE_NO_COLUMN;
        p->criterion = how == 1 ? EFFACE_CRITERION_ENTROPY : EFFACE_CRITERION_GINI;
        p->rows = how == 3 ? EFFACE_FOREST_POISSON : EFFACE_FOREST_ALL;
        law_rows all = draw_plain_rows(400, 3, 3);
        for (size_t i = 0; i < all.n; i++)
            all.weights[i] = i % 3 == 0 ? EFFACE_MAX_WEIGHT / 200 : 1 + (int64_t)below(1000);
        begin_grove(&g, all, 60);
        for (int i = 0; i < 30; i++) {
            step_grove(&g, 5);
            check_grove(&g);
        }
        check_grove_plainly(&g);
        end_grove(&g);
    }
}

/* ---------------------------------------------------------------- what is refused */

typedef void (*spoil)(law_params *params);

#define SPOIL(name, statement)                                                                     \
    static void name(law_params *params) {                                                         \
        efface_forest_params *const p = &forest_room_of(params)->params;                           \
        statement;                                                                                 \
    }

SPOIL(no_trees, p->n_trees = 0)
SPOIL(too_many_trees, p->n_trees = EFFACE_MAX_TREES + 1)
SPOIL(no_split, p->min_split = 1)
SPOIL(no_leaf, p->min_leaf = 0)
SPOIL(no_such_target, p->target = 3)
SPOIL(no_such_rows, p->rows = (efface_forest_rows)3)
SPOIL(no_such_criterion, p->criterion = (efface_criterion)2)
SPOIL(in_no_tree, p->rows = EFFACE_FOREST_SOME; p->trees_of_row = 0)
SPOIL(negative_bound, p->target = 1; p->bound = -1.0)
SPOIL(no_bound, p->target = 1; p->bound = (double)NAN)
SPOIL(infinite_bound, p->target = 1; p->bound = (double)INFINITY)
SPOIL(huge_bound, p->target = 1; p->bound = 1e38)
SPOIL(no_such_category, (void)p; add_category(params, 3))
SPOIL(a_category_twice, (void)p; add_category(params, 1); add_category(params, 1))
SPOIL(category_and_target, p->target = 1; add_category(params, 1))
SPOIL(no_categories, p->n_categories = 2; p->categories = NULL)
SPOIL(another_version, p->common.version += 1)
SPOIL(another_family, p->common.family = EFFACE_FAMILY_SUMS)

static void bad_parameters(void **state) {
    static const struct {
        const char *name;
        spoil by;
    } bad[] = {
        {"no trees", no_trees},
        {"too many trees", too_many_trees},
        {"min_split 1", no_split},
        {"min_leaf 0", no_leaf},
        {"a target that is no column", no_such_target},
        {"rows", no_such_rows},
        {"criterion", no_such_criterion},
        {"rows in no tree", in_no_tree},
        {"a negative bound", negative_bound},
        {"a bound that is no number", no_bound},
        {"an infinite bound", infinite_bound},
        {"a bound that is too large", huge_bound},
        {"a category that is no column", no_such_category},
        {"a category that comes twice", a_category_twice},
        {"a category that is the target", category_and_target},
        {"categories without a list", no_categories},
        {"another version", another_version},
        {"another family", another_family},
    };
    (void)state;
    rng_state = 3;
    law_rows rows = draw_plain_rows(20, 3, 2);
    efface_data *const data = data_of(&rows, false);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        law_params params;
        efface_model *model = NULL;
        efface_error why = {.message = ""};
        (void)begin_params(&params, 2, 1);
        bad[i].by(&params);
        const efface_status status = efface_forest_fit(data, forest_of(&params), &model, &why);
        if (status != EFFACE_E_ARGUMENT)
            fail_msg("%s: status %d instead of an argument error", bad[i].name, (int)status);
        assert_null(model);
        assert_int_equal(why.status, EFFACE_E_ARGUMENT);
        assert_true(why.message[0] != '\0');
        print_message("%s: %s\n", bad[i].name, why.message);
    }
    efface_data_free(data);
    law_free_rows(&rows);
}

/* Targets outside a bound, and calls of other families. */
static void refusals_lose_nothing(void **state) {
    (void)state;
    law_params params, other;
    efface_error why = {.message = ""};
    rng_state = 4;
    efface_forest_params *const p = begin_params(&params, 3, 1);
    p->target = 2;
    p->bound = 40.0;
    law_rows rows = draw_plain_rows(50, 3, 2);
    efface_data *const data = data_of(&rows, false);
    efface_model *const model = fit(data, &params), *refused = NULL;
    encoding before = encode(model);
    const float far[3] = {0.0f, 0.0f, 40.5f}, further[3] = {0.0f, 0.0f, -100.0f};
    const uint64_t new_id = 3, id = rows.ids[7];
    const efface_rows learned = {.n_rows = 1, .values = far, .ids = &new_id};
    const efface_rows updated = {.n_rows = 1, .values = further, .ids = &id};
    const efface_request nobody = {.ids = &new_id, .n_ids = 1};
    assert_int_equal(efface_model_learn(model, data, &learned, NULL, &why), EFFACE_E_LIMIT);
    assert_true(why.message[0] != '\0');
    assert_int_equal(efface_model_update(model, data, &updated, NULL, &why), EFFACE_E_LIMIT);
    assert_int_equal(efface_model_forget(model, data, &nobody, NULL, &why), EFFACE_E_NOT_FOUND);
    p->bound = 1e-3;
    assert_int_equal(efface_forest_fit(data, p, &refused, &why), EFFACE_E_LIMIT);
    assert_null(refused);
    p->bound = 40.0;
    assert_int_equal(efface_data_n_rows(data), 50);
    encoding after = encode(model);
    require_same_bytes(&params, &after, &before, "the forest from before", "refusals");
    require_fresh(model, data, &params, "refusals");

    efface_model *sums = NULL;
    law_sums.choose(&other, 0, 3);
    REQUIRE_OK(law_fit(data, &other, &sums, error));
    uint32_t leaves[3];
    uint64_t importances[3];
    assert_int_equal(efface_forest_settle(sums, &why), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_forest_leaves(sums, 1, rows.values, 0, leaves, &why),
                     EFFACE_E_ARGUMENT);
    assert_int_equal(efface_forest_importances(sums, importances, &why), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_forest_export(sums, data, NULL, "forest_never.tmp", &why),
                     EFFACE_E_ARGUMENT);
    assert_null(fopen("forest_never.tmp", "rb"));
    const efface_forest_info none = efface_forest_get_info(sums);
    assert_true(none.n_trees == 0 && none.n_nodes == 0 && none.n_rows == 0);
    assert_int_equal(efface_forest_get_params(sums).n_trees, 100);
    assert_int_equal(efface_forest_get_params(model).n_trees, 3);
    assert_int_equal(efface_forest_get_params(model).common.seed, 0);
    efface_bytes_free(before.bytes);
    efface_bytes_free(after.bytes);
    efface_model_free(sums);
    efface_model_free(model);
    efface_data_free(data);
    law_free_rows(&rows);
}

/* Infinite values to predict are refused; what stands in a target's place does not matter. */
static void rows_to_predict(void **state) {
    (void)state;
    law_params params;
    rng_state = 14;
    begin_params(&params, 3, 1)->target = 1;
    law_rows rows = draw_plain_rows(30, 3, 2);
    efface_data *const data = data_of(&rows, false);
    efface_model *const model = fit(data, &params);
    float row[3] = {0.5f, INFINITY, 1.0f};
    efface_number a = {.real = 0.0}, b = {.real = 1.0};
    REQUIRE_OK(efface_predictor_predict(efface_model_predictor(model), 1, row, 0, &a, error));
    row[1] = NAN;
    REQUIRE_OK(efface_predictor_predict(efface_model_predictor(model), 1, row, 0, &b, error));
    assert_true(a.real == b.real);
    row[0] = INFINITY;
    assert_int_equal(efface_predictor_predict(efface_model_predictor(model), 1, row, 0, &a, NULL),
                     EFFACE_E_LIMIT);
    row[0] = NAN;
    assert_int_equal(efface_predictor_predict(efface_model_predictor(model), 1, row, 0, &a, NULL),
                     EFFACE_E_LIMIT);
    efface_model_free(model);
    efface_data_free(data);
    law_free_rows(&rows);
}

/* ---------------------------------------------------------------- interruption */

static long questions_left;

static int interrupted(void *context) {
    (void)context;
    return questions_left >= 0 && questions_left-- == 0;
}

/* Fits and large requests end where they are told to, on one thread and on three, and the forest
 * and its set are as they were. test_interrupt.c does this for all calls, with few rows. */
static void interruption(void **state) {
    (void)state;
    for (uint32_t n_threads = 1; n_threads <= 3; n_threads += 2)
        for (int lazy = 0; lazy < 2; lazy++) {
            grove g = {.name = "interruption"};
            size_t which[300];
            long n_ended = 0;
            rng_state = 15;
            efface_forest_params *const p = begin_params(&g.params, 8, 2);
            p->common.n_threads = n_threads;
            p->common.interrupted = interrupted;
            p->lazy = lazy;
            questions_left = -1;
            begin_grove(&g, draw_plain_rows(900, 4, 3), 100);
            encoding before = encode(g.model);
            const size_t n = pick_some(&g, true, 300, which);
            law_rows rows = rows_of(&g, which, n);
            const efface_request request = {.ids = rows.ids, .n_ids = n};
            for (long at = 0; at < 20; at++) {
                efface_model *fresh = NULL;
                questions_left = at;
                const efface_status status = efface_forest_fit(g.data, p, &fresh, NULL);
                assert_true(status == EFFACE_OK ||
                            (status == EFFACE_E_INTERRUPTED && fresh == NULL));
                n_ended += status != EFFACE_OK;
                efface_model_free(fresh);
            }
            assert_true(n_ended != 0);
            for (long at = 0; g.n_inside == 900; at++) {
                questions_left = at;
                const efface_status status =
                    efface_model_forget(g.model, g.data, &request, NULL, NULL);
                questions_left = -1;
                if (status == EFFACE_OK) {
                    for (size_t i = 0; i < n; i++)
                        g.inside[which[i]] = false;
                    g.n_inside -= n;
                    break;
                }
                assert_int_equal(status, EFFACE_E_INTERRUPTED);
                assert_int_equal(efface_data_n_rows(g.data), 900);
                encoding after = encode(g.model);
                require_same_bytes(&g.params, &after, &before, "the forest from before", g.name);
                efface_bytes_free(after.bytes);
            }
            check_grove(&g);
            efface_bytes_free(before.bytes);
            law_free_rows(&rows);
            end_grove(&g);
        }
}

/* ---------------------------------------------------------------- damage */

/* Uses a forest of any bytes that were accepted. */
static void use(const grove *g, efface_model *model, efface_data *data) {
    efface_number number;
    uint32_t leaves[8];
    uint64_t importances[8];
    efface_difference difference;
    const uint64_t id = g->all.ids[0];
    const efface_request request = {.ids = &id, .n_ids = 1};
    (void)efface_predictor_predict(efface_model_predictor(model), 1, g->all.values, 0, &number,
                                   NULL);
    (void)efface_forest_leaves(model, 1, g->all.values, 0, leaves, NULL);
    (void)efface_forest_importances(model, importances, NULL);
    (void)efface_model_verify(model, data, &difference, NULL);
    (void)efface_model_forget(model, data, &request, NULL, NULL);
    (void)efface_predictor_predict(efface_model_predictor(model), 1, g->all.values, 0, &number,
                                   NULL);
}

/* Bytes that are changed, cut off or too many are refused, or make a model that has these bytes and
 * does no harm. */
static void damaged_bytes(void **state) {
    (void)state;
    unsigned n_refused = 0, n_accepted = 0;
    for (int target = 0; target < 2; target++) {
        grove g = {.name = "damage"};
        rng_state = 700 + (uint64_t)target;
        efface_forest_params *const p = begin_params(&g.params, 3, 2);
        p->target = target ? 1 : EFFACE_NO_COLUMN;
        add_category(&g.params, 2);
        law_rows all = draw_plain_rows(60, 3, 3);
        for (size_t i = 0; i < all.n; i++)
            all.values[3 * i + 2] = (float)below(4);
        begin_grove(&g, all, 100);
        encoding e = encode(g.model);
        unsigned char *const bytes = make(e.n + 8, 1);
        for (unsigned turn = 0; turn < 3000; turn++) {
            size_t n = e.n;
            memcpy(bytes, e.bytes, e.n);
            memset(bytes + e.n, 0, 8);
            const uint64_t how = below(5);
            if (how == 0)
                n = below(e.n);
            else if (how == 1)
                n = e.n + 1 + below(8);
            else
                for (uint64_t i = 1 + below(3); i > 0; i--)
                    bytes[one_in(3) ? below(80) : below(e.n)] =
                        (unsigned char)(one_in(2) ? next() : bytes[below(e.n)]);
            law_rows rows = rows_inside(&g);
            efface_data *const data = data_of(&rows, false);
            efface_model *model = NULL;
            efface_error why = {.message = ""};
            const efface_status status =
                efface_model_decode(bytes, n, &g.params.common, data, &model, &why);
            if (status == EFFACE_OK) {
                encoding is = encode(model);
                assert_true(is.n == n && memcmp(is.bytes, bytes, n) == 0);
                efface_bytes_free(is.bytes);
                use(&g, model, data);
                n_accepted++;
            } else {
                assert_true(model == NULL && why.message[0] != '\0');
                n_refused++;
            }
            efface_model_free(model);
            efface_data_free(data);
            law_free_rows(&rows);
        }
        free(bytes);
        efface_bytes_free(e.bytes);
        end_grove(&g);
    }
    print_message("%u damaged encodings refused, %u possible\n", n_refused, n_accepted);
    assert_true(n_refused > n_accepted);
}

/* The state of the forest of a set, with other bytes at its end, is refused. */
static void require_refused(const law_rows *rows, const law_params *params,
                            const unsigned char *end, size_t n_end, size_t n_cut) {
    efface_data *const data = data_of(rows, false);
    efface_model *const model = fit(data, params);
    efface_model *again = NULL;
    encoding e = encode(model);
    unsigned char *const bytes = make(e.n + n_end, 1);
    memcpy(bytes, e.bytes, e.n - n_cut);
    memcpy(bytes + e.n - n_cut, end, n_end);
    assert_int_equal(
        efface_model_decode(bytes, e.n - n_cut + n_end, &params->common, data, &again, NULL),
        EFFACE_E_FORMAT);
    assert_null(again);
    free(bytes);
    efface_bytes_free(e.bytes);
    efface_model_free(model);
    efface_data_free(data);
}

/* Well-formed bytes that no rows have: a forest without classes that has a split; sums that no
 * targets have; more weight than all rows have. */
static void impossible_leaves(void **state) {
    (void)state;
    law_params params;
    (void)begin_params(&params, 1, 1);
    law_rows rows = law_make_rows(2, 2);
    rows.labels[0] = rows.labels[1] = EFFACE_NO_LABEL;
    rows.values[2] = rows.values[3] = 1.0f;
    const unsigned char split_of_none[16] = {1};
    require_refused(&rows, &params, split_of_none, sizeof split_of_none, 4);
    begin_params(&params, 1, 1)->target = 1;
    const unsigned char large_sum[8] = {255, 255, 255, 255, 255, 255, 255, 127};
    require_refused(&rows, &params, large_sum, sizeof large_sum, sizeof large_sum);
    const unsigned char weight_2_and_sum_0[16] = {2};
    require_refused(&rows, &params, weight_2_and_sum_0, sizeof weight_2_and_sum_0, 16);
    law_free_rows(&rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settling),
        cmocka_unit_test(order_of_rows),
        cmocka_unit_test(few_rows),
        cmocka_unit_test(classes_come_and_go),
        cmocka_unit_test(classes_in_between),
        cmocka_unit_test(more_trees_than_rows),
        cmocka_unit_test(heavy_rows),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(refusals_lose_nothing),
        cmocka_unit_test(rows_to_predict),
        cmocka_unit_test(interruption),
        cmocka_unit_test(damaged_bytes),
        cmocka_unit_test(impossible_leaves),
    };
    return cmocka_run_group_tests_name("calls on forests", tests, NULL, NULL);
}
