/*
 * What forests answer, against those that are worked out from nodes (law/forest_plain_answers.c):
 * predictions, probabilities, leaves, sizes, importances. And files for prediction: they answer
 * with the same bits, are as small as they should be, and have no value of a row in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "forest/forest_scene.h"

#include <unistd.h>

#define EXIT_SKIPPED 77
#define DEFAULT_CASES 60
#define N_ASKED 40

static uint64_t under_way;

static int say_seed(void **state) {
    (void)state;
    if (under_way != 0)
        print_message("failed: EFFACE_TEST_SEED=0x%" PRIx64 "\n", under_way);
    under_way = 0;
    return 0;
}

/* ---------------------------------------------------------------- a forest and rows to ask about
 */

typedef struct scene {
    law_params params;
    law_rows rows;
    efface_data *data;
    efface_model *model;
    forest_plain *forest;
    float asked[N_ASKED * 8];
} scene;

static void draw_params(law_params *params, uint32_t d) {
    efface_forest_params *const p = begin_params(params, 1 + (uint32_t)below(12), next());
    p->common.n_threads = 1 + (uint32_t)below(3);
    p->target = d > 1 && one_in(2) ? (uint32_t)below(d) : EFFACE_NO_COLUMN;
    p->rows = (efface_forest_rows)below(3);
    p->trees_of_row = 1 + (uint32_t)below(5);
    if (p->target == EFFACE_NO_COLUMN && one_in(2))
        p->criterion = EFFACE_CRITERION_ENTROPY;
    if (one_in(2))
        p->max_depth = 1 + (uint32_t)below(8);
    if (one_in(2))
        p->min_leaf = 1 + (uint32_t)below(5);
    for (uint32_t j = 0; j < d; j++)
        if (j != p->target && one_in(4))
            add_category(params, j);
}

static void begin(scene *s, uint64_t seed) {
    rng_state = mix(seed);
    under_way = seed;
    const uint32_t d = 1 + (uint32_t)below(8);
    s->rows = draw_plain_rows(1 + below(120), d, 1 + (unsigned)below(5));
    const bool whole = one_in(3);
    for (size_t i = 0; i < s->rows.n * d; i++)
        s->rows.values[i] = whole ? (float)below(5) : s->rows.values[i];
    for (size_t i = 0; i < s->rows.n; i++)
        s->rows.weights[i] = one_in(3) ? 1 + (int64_t)below(1000) : 1;
    draw_params(&s->params, d);
    s->data = data_of(&s->rows, false);
    s->model = fit(s->data, &s->params);
    s->forest = nodes_of(s->model);
    for (size_t i = 0; i < N_ASKED; i++)
        for (uint32_t j = 0; j < d; j++)
            s->asked[i * d + j] = one_in(3)   ? s->rows.values[below(s->rows.n) * d + j]
                                  : one_in(9) ? sign(0x1p-101f)
                                  : whole     ? (float)below(6) - 0.5f
                                              : sign(spread_out(1.0f, -5, 10));
}

static void end(scene *s) {
    forest_free(s->forest);
    efface_model_free(s->model);
    efface_data_free(s->data);
    law_free_rows(&s->rows);
    under_way = 0;
}

static const efface_forest_params *params_of(const scene *s) {
    return forest_of(&s->params);
}

/* ---------------------------------------------------------------- answers */

static void check_classes(const scene *s) {
    const forest_plain *const f = s->forest;
    const size_t k = f->n_classes;
    int64_t *const labels = make(k, sizeof *labels);
    uint64_t *const sums = make(k, sizeof *sums);
    efface_number *const numbers = make(N_ASKED, sizeof *numbers);
    double *const probabilities = make(N_ASKED * k, sizeof *probabilities);
    double *const decisions = make(N_ASKED * k, sizeof *decisions);
    efface_predictor_classes(efface_model_predictor(s->model), labels, k);
    assert_memory_equal(labels, f->labels, k * sizeof *labels);
    REQUIRE_OK(efface_predictor_predict(efface_model_predictor(s->model), N_ASKED, s->asked, 0,
                                        numbers, error));
    REQUIRE_OK(efface_predictor_score(efface_model_predictor(s->model), EFFACE_SCORES_PROBABILITIES,
                                      N_ASKED, s->asked, 0, probabilities, error));
    REQUIRE_OK(efface_predictor_score(efface_model_predictor(s->model), EFFACE_SCORES_DECISIONS,
                                      N_ASKED, s->asked, 0, decisions, error));
    for (size_t i = 0; i < N_ASKED; i++) {
        const uint64_t best = forest_vote(f, s->asked + i * f->d, sums);
        uint64_t total = 0;
        double sum = 0.0;
        for (size_t c = 0; c < k; c++)
            total += sums[c];
        assert_int_equal(numbers[i].whole, f->labels[best]);
        for (size_t c = 0; c < k; c++) {
            assert_true(probabilities[i * k + c] == (double)sums[c] / (double)total);
            assert_true(decisions[i * k + c] <= decisions[i * k + best]);
            sum += probabilities[i * k + c];
        }
        assert_true(fabs(sum - 1.0) < 1e-12);
    }
    free(labels);
    free(sums);
    free(numbers);
    free(probabilities);
    free(decisions);
}

static void check_targets(const scene *s) {
    efface_number numbers[N_ASKED];
    double none[1];
    REQUIRE_OK(efface_predictor_predict(efface_model_predictor(s->model), N_ASKED, s->asked, 0,
                                        numbers, error));
    for (size_t i = 0; i < N_ASKED; i++)
        assert_true(numbers[i].real == forest_mean(s->forest, s->asked + i * s->forest->d));
    assert_int_equal(efface_predictor_value_column(efface_model_predictor(s->model), 0),
                     params_of(s)->target);
    assert_int_equal(efface_predictor_score(efface_model_predictor(s->model),
                                            EFFACE_SCORES_PROBABILITIES, 1, s->asked, 0, none,
                                            NULL),
                     EFFACE_E_ARGUMENT);
}

static void check_leaves(const scene *s) {
    const uint32_t n_trees = s->forest->n_trees;
    uint32_t *const leaves = make((size_t)N_ASKED * n_trees, sizeof *leaves);
    REQUIRE_OK(efface_forest_leaves(s->model, N_ASKED, s->asked, 0, leaves, error));
    for (size_t i = 0; i < N_ASKED; i++)
        for (uint32_t t = 0; t < n_trees; t++)
            assert_int_equal(
                leaves[i * n_trees + t],
                forest_find_leaf(s->forest->trees[t], s->asked + i * s->forest->d)->number);
    free(leaves);
}

static void check_info(const scene *s) {
    const efface_forest_info info = efface_forest_get_info(s->model);
    uint64_t n_nodes = 0, n_leaves = 0;
    uint32_t depth = 0;
    for (uint32_t t = 0; t < s->forest->n_trees; t++) {
        const forest_node *const tree = s->forest->trees[t];
        const uint32_t deepest = forest_deepest(tree);
        n_nodes += forest_count_nodes(tree);
        n_leaves += forest_count_leaves(tree);
        depth = deepest > depth ? deepest : depth;
    }
    assert_int_equal(info.n_trees, s->forest->n_trees);
    assert_int_equal(info.n_nodes, n_nodes);
    assert_int_equal(info.n_leaves, n_leaves);
    assert_int_equal(info.depth, depth);
    assert_int_equal(info.n_unsettled, 0);
    assert_int_equal(info.n_rows, s->forest->n_taking_part);
}

/* Each split is rounded down, so a sum is at most one a split below the plain one; and another one
 * for what doubles have lost. */
static void check_importances(const scene *s) {
    const uint32_t d = s->forest->d;
    long double *const gains = make(d, sizeof *gains);
    uint64_t *const n_splits = make(d, sizeof *n_splits);
    uint64_t *const importances = make(d, sizeof *importances);
    uint64_t total = 0;
    forest_gains(s->forest, params_of(s)->criterion, gains, n_splits);
    REQUIRE_OK(efface_forest_importances(s->model, importances, error));
    for (uint32_t j = 0; j < d; j++) {
        const long double off = gains[j] - (long double)importances[j];
        const long double most = 2.0L * (long double)n_splits[j];
        if (off < -most || off > most)
            fail_msg("column %u: gained %.3Lf with %" PRIu64 " splits, not %" PRIu64, (unsigned)j,
                     gains[j], n_splits[j], importances[j]);
        total += importances[j];
    }
    efface_table table;
    REQUIRE_OK(efface_predictor_find_table(efface_model_predictor(s->model), "importances", &table,
                                           error));
    const bool has_target = params_of(s)->target != EFFACE_NO_COLUMN;
    assert_int_equal(table.rows, EFFACE_TABLE_COLUMNS);
    assert_int_equal(table.n_rows, d - has_target);
    assert_int_equal(table.n_columns, 2);
    for (uint64_t i = 0; i < table.n_rows; i++) {
        double values[2] = {-1.0, -1.0};
        const int64_t column = table.row_ids[i];
        assert_true(column >= 0 && column < (int64_t)d && column != (int64_t)params_of(s)->target);
        assert_true(i == 0 || column > table.row_ids[i - 1]);
        REQUIRE_OK(efface_predictor_read_table(efface_model_predictor(s->model), "importances", i,
                                               NULL, values, error));
        const double share = total != 0 ? (double)importances[column] / (double)total : 0.0;
        assert_true(fabs(values[0] - share) < 1e-12);
        assert_true(values[1] == (double)importances[column]);
    }
    free(gains);
    free(n_splits);
    free(importances);
}

static void check_answers(uint64_t seed) {
    scene s;
    begin(&s, seed);
    require_oracle(s.model, &s.rows, &s.params, "answers");
    const efface_model_info info = efface_model_get_info(s.model);
    const bool has_target = params_of(&s)->target != EFFACE_NO_COLUMN;
    assert_int_equal(info.n_classes, s.forest->n_classes);
    assert_int_equal(info.predicts, has_target ? EFFACE_PREDICTS_VALUES : EFFACE_PREDICTS_CLASSES);
    for (uint32_t j = 0; j < s.rows.d; j++)
        assert_int_equal(efface_predictor_is_input(efface_model_predictor(s.model), j),
                         j != params_of(&s)->target);
    if (forest_predicts(s.forest)) {
        assert_int_equal(info.n_numbers, 1);
        if (has_target)
            check_targets(&s);
        else
            check_classes(&s);
        check_leaves(&s);
    }
    check_info(&s);
    check_importances(&s);
    end(&s);
}

static void answers_are_those_of_the_nodes(void **state) {
    (void)state;
    (void)run_cases(UINT64_C(0xA45), DEFAULT_CASES, check_answers);
}

/* ---------------------------------------------------------------- files for prediction */

static const char *file_path(void) {
    static char path[64];
    (void)snprintf(path, sizeof path, "forest_answers_%ld.tmp", (long)getpid());
    return path;
}

static encoding read_file(const char *path) {
    encoding e = {NULL, 0};
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    e.bytes = make(1u << 24, 1);
    e.n = fread(e.bytes, 1, 1u << 24, file);
    assert_true(e.n < 1u << 24 && fclose(file) == 0);
    return e;
}

static void check_exported(uint64_t seed) {
    scene s;
    efface_predictor *p = NULL;
    begin(&s, seed);
    if (forest_predicts(s.forest)) {
        const uint32_t k = (uint32_t)s.forest->n_classes;
        efface_number a[N_ASKED], b[N_ASKED];
        double *const x = make((size_t)N_ASKED * k, sizeof *x);
        double *const y = make((size_t)N_ASKED * k, sizeof *y);
        REQUIRE_OK(efface_data_name_column(s.data, 0, "first", error));
        REQUIRE_OK(efface_forest_export(s.model, s.data, NULL, file_path(), error));
        REQUIRE_OK(efface_predictor_load(file_path(), &p, error));
        assert_int_equal(efface_predictor_get_info(p).n_columns, s.rows.d);
        assert_string_equal(efface_predictor_column(p, 0), "first");
        REQUIRE_OK(efface_predictor_predict(efface_model_predictor(s.model), N_ASKED, s.asked, 0, a,
                                            error));
        REQUIRE_OK(efface_predictor_predict(p, N_ASKED, s.asked, 0, b, error));
        assert_memory_equal(a, b, sizeof a);
        for (int scores = 0; k != 0 && scores < 2; scores++) {
            REQUIRE_OK(efface_predictor_score(efface_model_predictor(s.model),
                                              (efface_scores)scores, N_ASKED, s.asked, 0, x,
                                              error));
            REQUIRE_OK(
                efface_predictor_score(p, (efface_scores)scores, N_ASKED, s.asked, 0, y, error));
            assert_memory_equal(x, y, (size_t)N_ASKED * k * sizeof *x);
        }
        for (uint32_t j = 0; j < s.rows.d; j++)
            assert_int_equal(efface_predictor_is_input(p, j),
                             efface_predictor_is_input(efface_model_predictor(s.model), j));
        efface_predictor_free(p);
        free(x);
        free(y);
        assert_int_equal(remove(file_path()), 0);
    }
    end(&s);
}

static void files_answer_the_same(void **state) {
    (void)state;
    (void)run_cases(UINT64_C(0xE4B), DEFAULT_CASES, check_exported);
}

/* A forest of classes, grown to purity: what a file may take, and what may not be in it. */
static void files_are_small_and_have_no_values(void **state) {
    (void)state;
    law_params params;
    rng_state = 424242;
    (void)begin_params(&params, 5, 3);
    law_rows rows = draw_plain_rows(120, 4, 3);
    efface_data *const data = data_of(&rows, false);
    efface_model *const model = fit(data, &params);
    const efface_forest_info info = efface_forest_get_info(model);
    REQUIRE_OK(efface_forest_export(model, data, NULL, file_path(), error));
    encoding file = read_file(file_path());
    print_message("%zu bytes for %" PRIu64 " nodes\n", file.n, info.n_nodes);
    assert_true(file.n <= 16 * info.n_nodes);
    for (size_t i = 0; i < rows.n * rows.d; i++)
        for (size_t at = 0; at + 4 <= file.n; at++)
            if (memcmp(file.bytes + at, &rows.values[i], 4) == 0)
                fail_msg("the value %.9g of row %zu is in the file at %zu", (double)rows.values[i],
                         i / rows.d, at);
    for (size_t i = 0; i < rows.n; i++)
        for (size_t at = 0; at + 8 <= file.n; at++)
            assert_true(memcmp(file.bytes + at, &rows.ids[i], 8) != 0);
    free(file.bytes);
    /* Another one takes its place. */
    REQUIRE_OK(efface_model_rekey(model, data, 99, NULL, error));
    encoding before = encode(model);
    REQUIRE_OK(efface_forest_export(model, data, NULL, file_path(), error));
    efface_predictor *p = NULL;
    efface_number a, b;
    REQUIRE_OK(efface_predictor_load(file_path(), &p, error));
    for (size_t i = 0; i < rows.n; i++) {
        REQUIRE_OK(efface_predictor_predict(p, 1, rows.values + i * 4, 0, &a, error));
        REQUIRE_OK(efface_predictor_predict(efface_model_predictor(model), 1, rows.values + i * 4,
                                            0, &b, error));
        assert_int_equal(a.whole, b.whole);
    }
    encoding after = encode(model);
    assert_true(same_encoding(&before, &after));
    assert_int_equal(efface_forest_export(model, data, NULL, "/nowhere/at/all/forest", NULL),
                     EFFACE_E_IO);
    efface_bytes_free(before.bytes);
    efface_bytes_free(after.bytes);
    efface_predictor_free(p);
    assert_int_equal(remove(file_path()), 0);
    efface_model_free(model);
    efface_data_free(data);
    law_free_rows(&rows);
}

/* Texts of classes are those of the model's classes. */
static void files_have_the_texts_of_classes(void **state) {
    (void)state;
    law_params params;
    efface_texts *texts = NULL;
    efface_predictor *p = NULL;
    (void)begin_params(&params, 2, 3);
    law_rows rows = table_of(3, 1, (const float[]){0.0f, 1.0f, 2.0f}, (const int64_t[]){5, 6, 5});
    efface_data *const data = data_of(&rows, false);
    efface_model *const model = fit(data, &params);
    REQUIRE_OK(efface_texts_create(&texts, error));
    REQUIRE_OK(efface_texts_add(texts, EFFACE_TEXT_LABEL, 5, "five", 4, error));
    REQUIRE_OK(efface_texts_add(texts, EFFACE_TEXT_LABEL, 7, "seven", 5, error));
    REQUIRE_OK(efface_forest_export(model, data, texts, file_path(), error));
    REQUIRE_OK(efface_predictor_load(file_path(), &p, error));
    assert_string_equal(efface_predictor_class_text(p, 5), "five");
    assert_null(efface_predictor_class_text(p, 6));
    assert_null(efface_predictor_class_text(p, 7));
    assert_int_equal(remove(file_path()), 0);
    efface_predictor_free(p);
    efface_texts_free(texts);
    efface_model_free(model);
    efface_data_free(data);
    law_free_rows(&rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(answers_are_those_of_the_nodes, say_seed),
        cmocka_unit_test_teardown(files_answer_the_same, say_seed),
        cmocka_unit_test(files_are_small_and_have_no_values),
        cmocka_unit_test(files_have_the_texts_of_classes),
    };
    if (efface_kernels_name() == NULL) {
        (void)fprintf(stderr, "this processor has not got the kernels of EFFACE_KERNELS\n");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests_name("answers of forests", tests, NULL, NULL);
}
