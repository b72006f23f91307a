/*
 * Missing values in a store: rows that have some come back as they were and leave without a trace;
 * models that do not take them refuse them, with all that a request would have changed; and models
 * that take them (a forest, and law/tally_family.h) are those of a fit after every request, in
 * every way that a store has to follow one. And models whose family was defined in another way when
 * they were fitted.
 */
#define _XOPEN_SOURCE 700
#include "law/tally_family.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/family.h"
#include "store/rows/stored_rows.h"
#include "store/scenes/plain_store.h"
#include "store/seals/seals.h"

#define HOLE 2 /* the column in which values are missing */

/* Rows as make_rows has them, without some values of a column. */
static efface_data *make_holed(size_t n, uint64_t first, uint64_t one_in) {
    efface_data *const data = make_rows(n, first, true);
    float values[N_COLUMNS];
    efface_data_allow_missing(data);
    for (size_t i = 0; i < n; i++) {
        const uint64_t id = efface_data_row(data, i).id;
        const efface_rows row = {.n_rows = 1, .values = values, .ids = &id};
        efface_data_values(data, i, values);
        if (id % one_in == 0)
            values[HOLE] = NAN;
        REQUIRE_OK(efface_data_replace(data, &row, error));
    }
    return data;
}

static efface_store *make_holed_store(uint64_t one_in) {
    efface_store *store = NULL;
    efface_data *const data = make_holed(N_ROWS, 0, one_in);
    empty_folder();
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
    efface_data_free(data);
    return store;
}

static efface_store *open_as(bool resident) {
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    options.resident = resident;
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    return store;
}

static void no_problem(void *context, const char *problem) {
    (void)context;
    fail_msg("%s", problem);
}

static void check(efface_store *store) {
    REQUIRE_OK(efface_store_check(store, no_problem, NULL, error));
}

static uint64_t n_missing(efface_store *store) {
    efface_data *data = NULL;
    REQUIRE_OK(efface_store_load(store, NULL, &data, NULL, error));
    const uint64_t n = efface_data_n_missing(data);
    efface_data_free(data);
    return n;
}

static efface_status fit_tally(efface_store *store, const char *name, const tally_params *params,
                               const uint32_t *columns, uint32_t n_columns, efface_error *error) {
    const efface_new_model asked = {
        .name = name, .params = &params->common, .columns = columns, .n_columns = n_columns};
    return efface_store_fit(store, &asked, NULL, error);
}

/* ---------------------------------------------------------------- rows */

static void rows_come_back(void **state) {
    (void)state;
    efface_store *store = make_holed_store(5);
    efface_data *data = NULL;
    efface_store_close(store);
    for (int resident = 0; resident < 2; resident++) {
        store = open_as(resident);
        check(store);
        assert_int_equal(n_missing(store), N_ROWS / 5 - (uint64_t)resident);
        efface_store_close(store);
        store = open_as(resident);
        const uint64_t id = resident ? 10 : 5;
        const efface_request request = {.ids = &id, .n_ids = 1};
        REQUIRE_OK(efface_store_find(store, &request, &data, error));
        assert_int_equal(efface_data_n_missing(data), 1);
        float values[N_COLUMNS];
        efface_data_values(data, 0, values);
        uint32_t bits;
        memcpy(&bits, &values[HOLE], sizeof bits);
        assert_int_equal(bits, 0x7FC00000);
        assert_true(values[0] == value_of(id, 0));
        efface_data_free(data);
        forget(store, id);
        check(store);
        efface_store_close(store);
    }
    store = open_as(false);
    data = make_holed(3, 15, 5);
    REQUIRE_OK(efface_store_update(store, data, NULL, NULL, error));
    efface_data_free(data);
    data = make_holed(3, 100, 1);
    REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    assert_int_equal(n_missing(store), N_ROWS / 5 - 2 + 3);
    check(store);
    efface_store_close(store);
}

/* Sums of seals would not fit a row whose bytes change when it is read. */
static void other_missing_values_are_damage(void **state) {
    (void)state;
    static const unsigned char right[] = {0, 0, 0xC0, 0x7F}, wrong[] = {1, 0, 0xC0, 0x7F};
    unsigned char values[4 * N_COLUMNS] = {0};
    const ef_stored_row row = {.row = {.id = 1, .weight = 1, .owner = EFFACE_NO_OWNER},
                               .values = values};
    efface_store *const store = make_store();
    for (int damaged = 0; damaged < 2; damaged++) {
        ef_row_batch batch;
        ef_found found = {NULL, NULL, 0};
        memcpy(values + 8, damaged ? wrong : right, 4);
        REQUIRE_OK(ef_batch_begin(&batch, store, NULL, 0, false, error));
        efface_status status = ef_batch_add(&batch, &row, NULL);
        assert_int_equal(status, damaged ? EFFACE_E_CORRUPT : EFFACE_OK);
        status = ef_batch_end(&batch, store, status, &found, NULL);
        assert_int_equal(status, damaged ? EFFACE_E_CORRUPT : EFFACE_OK);
        ef_found_free(&found);
    }
    efface_store_close(store);
}

/* ---------------------------------------------------------------- models that do not take them */

static void a_model_is_not_added_over_them(void **state) {
    (void)state;
    static const uint32_t holed[] = {0, HOLE}, whole[] = {0, 1, 3};
    const efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    efface_sums_params sums;
    efface_sums_params_init(&sums);
    const efface_new_model asked = {.name = "sums", .params = &sums.common};
    efface_store *const store = make_holed_store(5);
    REFUSED(EFFACE_E_LIMIT, "column 3", fit_plain(store, "all", &params, NULL, 0, error));
    REFUSED(EFFACE_E_LIMIT, "column 3", fit_plain(store, "some", &params, holed, 2, error));
    REFUSED(EFFACE_E_LIMIT, "a forest", efface_store_fit(store, &asked, NULL, error));
    REQUIRE_OK(fit_plain(store, "others", &params, whole, 3, error));
    forget(store, 5);
    forget(store, 6);
    efface_difference difference;
    REQUIRE_OK(efface_store_verify(store, "others", &difference, error));
    assert_true(difference.identical);
    check(store);
    efface_store_close(store);

    /* Nor is a store made with such a model. */
    efface_data *const data = make_holed(10, 0, 5);
    const efface_new_model first = {.name = "all", .params = &params.common};
    const efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    efface_store *made = NULL;
    assert_int_equal(efface_store_create(in_folder("other.efface"), data, NULL, &options, &first, 1,
                                         &made, NULL),
                     EFFACE_E_LIMIT);
    assert_null(made);
    efface_data_free(data);
}

/* Sums, and a tally that takes no missing values, need no rows to follow; without the check nothing
 * would stop them. */
static void models_that_need_no_rows_refuse_them(void **state) {
    (void)state;
    static const uint32_t some[] = {HOLE};
    tally_params params = tally_defaults();
    efface_sums_params sums;
    params.missing = 0;
    efface_sums_params_init(&sums);
    const efface_new_model asked[] = {
        {.name = "model", .params = &params.common},
        {.name = "model", .params = &sums.common},
        {.name = "model", .params = &sums.common, .columns = some, .n_columns = 1}};
    efface_data *const come = make_holed(3, 100, 102), *const change = make_holed(3, 7, 8);
    for (size_t i = 0; i < 3; i++)
        for (int resident = 0; resident < 2; resident++) {
            efface_store_close(make_store());
            efface_store *const store = open_as(resident);
            REQUIRE_OK(efface_store_fit(store, &asked[i], NULL, error));
            REFUSED(EFFACE_E_LIMIT, "row 3, column 3",
                    efface_store_learn(store, come, NULL, NULL, error));
            REFUSED(EFFACE_E_LIMIT, "row 2, column 3",
                    efface_store_update(store, change, NULL, NULL, error));
            check(store);
            efface_store_close(store);
        }
    efface_data_free(come);
    efface_data_free(change);
}

/* Cold, with rows, and in memory; a model over other columns does not mind. */
static void requests_bring_none_to_a_model(void **state) {
    (void)state;
    static const uint32_t whole[] = {3, 0};
    static const efface_method methods[] = {EFFACE_METHOD_LLOYD, EFFACE_METHOD_PYRAMID};
    const efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    efface_store *store = make_store();
    REQUIRE_OK(fit_plain(store, "others", &params, whole, 2, error));
    efface_store_close(store);
    for (int resident = 0; resident < 2; resident++) {
        store = open_as(resident);
        for (int before = 0; before < 2; before++) {
            char name[2] = {(char)(before ? 'z' : 'a'), '\0'}; /* the first, or the last of two */
            efface_data *const come = make_holed(3, 100, 102), *const change = make_holed(3, 7, 8);
            const uint64_t id = 20 + (uint64_t)(2 * resident + before);
            fit(store, name, methods[resident]);
            if (resident != 0) /* they are made at the first request */
                forget(store, id);
            REFUSED(EFFACE_E_LIMIT, "row 3, column 3",
                    efface_store_learn(store, come, NULL, NULL, error));
            REFUSED(EFFACE_E_LIMIT, "row 2, column 3",
                    efface_store_update(store, change, NULL, NULL, error));
            assert_int_equal(n_missing(store), 0);
            /* Among several requests it alone fails. */
            const uint64_t other = 30 + (uint64_t)(2 * resident + before);
            const efface_request request = {.ids = &other, .n_ids = 1};
            efface_store_change changes[] = {
                {.kind = EFFACE_CHANGE_LEARN, .data = come},
                {.kind = EFFACE_CHANGE_FORGET, .request = &request},
            };
            REQUIRE_OK(efface_store_change_all(store, changes, 2, error));
            assert_int_equal(changes[0].status, EFFACE_E_LIMIT);
            assert_int_equal(changes[1].status, EFFACE_OK);
            efface_store_report_free(&changes[1].report);
            efface_difference difference;
            REQUIRE_OK(efface_store_verify(store, name, &difference, error));
            assert_true(difference.identical);
            REQUIRE_OK(efface_store_drop(store, name, error));
            check(store);
            efface_data_free(come);
            efface_data_free(change);
        }
        /* What is left is over other columns. */
        efface_data *const come = make_holed(2, 200 + 10 * (uint64_t)resident, 1);
        REQUIRE_OK(efface_store_learn(store, come, NULL, NULL, error));
        efface_difference difference;
        REQUIRE_OK(efface_store_verify(store, "others", &difference, error));
        assert_true(difference.identical);
        assert_int_equal(n_missing(store), 2);
        const uint64_t ids[] = {200 + 10 * (uint64_t)resident, 201 + 10 * (uint64_t)resident};
        REQUIRE_OK(forget_ids(store, ids, 2, EFFACE_MISSING_FAIL, NULL, error));
        efface_data_free(come);
        efface_store_close(store);
    }
}

/* ---------------------------------------------------------------- what rows may be loaded */

static void expect_rules(const efface_store *store, int missing, uint32_t first, uint32_t second) {
    efface_load_options options;
    const size_t n = (first != 0 ? 1u : 0u) + (second != 0 ? 1u : 0u);
    efface_store_load_options(store, &options);
    assert_int_equal(options.missing, missing);
    assert_int_equal(options.n_categories, n);
    if (n > 0)
        assert_int_equal(options.categories[0].place, first);
    if (n > 1)
        assert_int_equal(options.categories[1].place, second);
}

static void load_options_are_those_of_the_models(void **state) {
    (void)state;
    static const uint32_t some[] = {3, 1};
    efface_store *store = make_store();
    tally_params params = tally_defaults();
    expect_rules(store, 0, 0, 0);
    params.category = 2;
    REQUIRE_OK(fit_tally(store, "a", &params, NULL, 0, error));
    expect_rules(store, 1, 3, 0);
    params.category = 1;
    REQUIRE_OK(fit_tally(store, "b", &params, some, 2, error));
    expect_rules(store, 1, 2, 3);
    efface_store_close(store);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    expect_rules(store, 1, 2, 3);
    fit(store, "c", EFFACE_METHOD_LLOYD);
    expect_rules(store, 0, 2, 3);
    REQUIRE_OK(efface_store_drop(store, "c", error));
    expect_rules(store, 1, 2, 3);
    params.missing = 0;
    params.category = EFFACE_NO_COLUMN;
    REQUIRE_OK(fit_tally(store, "c", &params, NULL, 0, error));
    expect_rules(store, 0, 2, 3);
    REQUIRE_OK(efface_store_drop(store, "a", error));
    REQUIRE_OK(efface_store_drop(store, "b", error));
    REQUIRE_OK(efface_store_drop(store, "c", error));
    expect_rules(store, 0, 0, 0);
    efface_store_close(store);
}

/* A file for the store, loaded by its options: texts in its column of categories, fields that are
 * empty; from the file to the models. */
static void rows_are_loaded_by_them(void **state) {
    (void)state;
    const char csv[] = "500,1,,red,4\n501,NA,2,7,?\n";
    efface_load_options options;
    efface_data *data = NULL;
    efface_store *const store = make_store();
    tally_params params = tally_defaults();
    params.category = 2;
    REQUIRE_OK(fit_tally(store, "a", &params, NULL, 0, error));
    write_image(in_folder("new.csv"), csv, sizeof csv - 1);
    efface_store_load_options(store, &options);
    options.id_column = "1";
    options.header = EFFACE_HEADER_NO;
    REQUIRE_OK(efface_data_load(in_folder("new.csv"), &options, &data, error));
    REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    assert_int_equal(n_missing(store), 3);
    const uint64_t id = 500;
    const efface_request request = {.ids = &id, .n_ids = 1};
    REQUIRE_OK(efface_store_find(store, &request, &data, error));
    float values[N_COLUMNS];
    efface_data_values(data, 0, values);
    assert_true(values[2] == efface_text_category("red", 3) && isnan(values[1]));
    efface_data_free(data);
    check(store);
    efface_store_close(store);
}

/* A model that takes no missing values matters in its own columns only: there a file is refused
 * with the place, and rows that come otherwise are refused by the model. */
static void models_over_other_columns_do_not_matter(void **state) {
    (void)state;
    static const uint32_t own[] = {0, 1};
    static const struct {
        const char *csv;
        efface_status status;
    } files[] = {{"500,1,2,,4\n", EFFACE_OK}, {"501,,2,3,4\n", EFFACE_E_LIMIT}};
    tally_params params = tally_defaults();
    for (int resident = 0; resident < 2; resident++) {
        efface_store_close(make_store());
        efface_store *const store = open_as(resident);
        params.missing = 1;
        REQUIRE_OK(fit_tally(store, "a", &params, NULL, 0, error));
        params.missing = 0;
        REQUIRE_OK(fit_tally(store, "b", &params, own, 2, error));
        expect_rules(store, 1, 0, 0);
        for (size_t i = 0; i < 2; i++) {
            efface_load_options options;
            efface_data *data = NULL;
            write_image(in_folder("new.csv"), files[i].csv, strlen(files[i].csv));
            efface_store_load_options(store, &options);
            options.id_column = "1";
            options.header = EFFACE_HEADER_NO;
            if (files[i].status != EFFACE_OK) {
                efface_error where;
                assert_int_equal(efface_data_load(in_folder("new.csv"), &options, &data, &where),
                                 EFFACE_E_FORMAT);
                assert_true(where.line == 1 && where.column == 2);
                options.n_complete = 0;
            }
            REQUIRE_OK(efface_data_load(in_folder("new.csv"), &options, &data, error));
            assert_int_equal(efface_store_learn(store, data, NULL, NULL, NULL), files[i].status);
            efface_data_free(data);
        }
        assert_int_equal(n_missing(store), 1);
        check(store);
        efface_store_close(store);
    }
}

/* ---------------------------------------------------------------- models that take them */

static uint64_t draws;

static uint64_t draw(void) {
    draws = draws * UINT64_C(6364136223846793005) + 1442695040888963407;
    return draws >> 33;
}

/* Rows of which hardly any value is there, so that columns run empty. */
static efface_data *draw_rows(const uint64_t *ids, size_t n) {
    efface_data *data = NULL;
    float values[8 * N_COLUMNS];
    int64_t weights[8], labels[8];
    const uint64_t share = 1 + draw() % 4;
    for (size_t i = 0; i < n * N_COLUMNS; i++)
        values[i] = draw() % 4 < share ? NAN : (float)(draw() % 7) - 3.0F;
    for (size_t i = 0; i < n; i++) {
        weights[i] = 1 + (int64_t)(draw() % 3);
        labels[i] = (int64_t)(draw() % 3);
    }
    const efface_rows rows = {
        .n_rows = n, .values = values, .ids = ids, .weights = weights, .labels = labels};
    REQUIRE_OK(efface_data_create(N_COLUMNS, &data, error));
    efface_data_allow_missing(data);
    REQUIRE_OK(efface_data_add(data, &rows, error));
    return data;
}

#define N_TAKERS 6

static const char *const takers[N_TAKERS] = {"cold", "hot", "some", "some-hot", "trees", "classes"};

static void fit_takers(efface_store *store, size_t n_takers) {
    static const uint32_t some[] = {3, 1}, category = 1;
    tally_params params = tally_defaults();
    efface_forest_params forest;
    for (size_t i = 0; i < 4; i++) {
        params.needs_rows = i % 2 != 0;
        REQUIRE_OK(fit_tally(store, takers[i], &params, i < 2 ? NULL : some, 2, error));
    }
    efface_forest_params_init(&forest);
    forest.n_trees = 5;
    forest.missing = 1;
    const efface_new_model classes = {.name = takers[5], .params = &forest.common};
    if (n_takers > 5)
        REQUIRE_OK(efface_store_fit(store, &classes, NULL, error));
    forest.target = 0;
    forest.categories = &category;
    forest.n_categories = 1;
    const efface_new_model trees = {.name = takers[4], .params = &forest.common};
    REQUIRE_OK(efface_store_fit(store, &trees, NULL, error));
}

static void check_takers(efface_store *store, size_t n_takers) {
    for (size_t i = 0; i < n_takers; i++) {
        efface_difference difference;
        REQUIRE_OK(efface_store_verify(store, takers[i], &difference, error));
        if (!difference.identical)
            fail_msg("%s: %s %s", takers[i], difference.what, difference.where);
    }
    check(store);
}

static void models_that_take_them_follow(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 18; seed++) {
        draws = seed;
        /* A forest of classes keeps a row; without it all may leave. */
        const size_t n_takers = seed % 3 != 0 ? N_TAKERS : N_TAKERS - 1;
        const size_t n_least = n_takers == N_TAKERS ? 1 : 0;
        uint64_t ids[200], next = 0;
        size_t n = 0;
        for (; n < 3; n++)
            ids[n] = next++;
        efface_data *data = draw_rows(ids, n);
        efface_store *store = NULL;
        empty_folder();
        REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
        efface_data_free(data);
        fit_takers(store, n_takers);
        efface_store_close(store);
        store = open_as(seed % 2 != 0);
        for (int step = 0; step < 40; step++) {
            uint64_t chosen[8];
            const size_t most = 1 + draw() % 8;
            const uint64_t what = draw() % 3;
            size_t m = 0;
            if (what == 0) {
                for (; m < most; m++)
                    chosen[m] = ids[n++] = next++;
                data = draw_rows(chosen, m);
                REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
                efface_data_free(data);
            } else if (what == 1) {
                for (; m < most && m < n; m++)
                    chosen[m] = ids[m];
                data = draw_rows(chosen, m);
                REQUIRE_OK(efface_store_update(store, data, NULL, NULL, error));
                efface_data_free(data);
            } else {
                for (; m < most && n > n_least; m++)
                    chosen[m] = ids[--n];
                REQUIRE_OK(forget_ids(store, chosen, m, EFFACE_MISSING_FAIL, NULL, error));
            }
            if (n > 150)
                break;
            check_takers(store, n_takers);
        }
        efface_store_close(store);
    }
}

/* Requests to a model and its set, without a store. */
static void a_set_and_a_model_change_together(void **state) {
    (void)state;
    const uint64_t ids[] = {0, 1, 2};
    efface_data *const data = draw_rows(ids, 3);
    tally_params params = tally_defaults();
    efface_model *model = NULL;
    efface_difference difference;
    const float nothing[] = {NAN, NAN, NAN, NAN}, more[] = {1, NAN, 2, 3};
    const uint64_t n_before = efface_data_n_missing(data);
    efface_store *store = NULL;
    empty_folder();
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
    REQUIRE_OK(fit_tally(store, "a", &params, NULL, 0, error));
    efface_data *own = NULL;
    REQUIRE_OK(efface_store_load(store, "a", &own, &model, error));
    efface_number answers[2];
    REQUIRE_OK(
        efface_predictor_predict(efface_model_predictor(model), 1, nothing, 0, answers, error));
    assert_true(answers[0].real == 4.0);
    const float infinite[] = {NAN, INFINITY, NAN, NAN};
    assert_int_equal(
        efface_predictor_predict(efface_model_predictor(model), 1, infinite, 0, answers, NULL),
        EFFACE_E_LIMIT);
    const uint64_t new_ids[] = {7, 8};
    efface_rows rows = {.n_rows = 1, .values = nothing, .ids = new_ids};
    REQUIRE_OK(efface_model_learn(model, own, &rows, NULL, error));
    assert_int_equal(efface_data_n_missing(own), n_before + 4);
    rows.values = more;
    REQUIRE_OK(efface_model_update(model, own, &rows, NULL, error));
    assert_int_equal(efface_data_n_missing(own), n_before + 1);
    REQUIRE_OK(efface_model_verify(model, own, &difference, error));
    assert_true(difference.identical);
    /* A preview changes the set and changes it back. */
    const efface_request request = {.ids = new_ids, .n_ids = 1};
    REQUIRE_OK(efface_model_preview(model, own, &request, NULL, error));
    assert_int_equal(efface_data_n_missing(own), n_before + 1);
    REQUIRE_OK(efface_model_rekey(model, own, 5, NULL, error));
    REQUIRE_OK(efface_model_forget(model, own, &request, NULL, error));
    assert_int_equal(efface_data_n_missing(own), n_before);
    REQUIRE_OK(efface_model_verify(model, own, &difference, error));
    assert_true(difference.identical);
    efface_model_free(model);
    efface_data_free(own);
    efface_data_free(data);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- another definition */

/* What a request says of the model "a", which is fitted again, and of "b". */
static void check_reasons(efface_store *store, uint64_t id, bool look, bool again) {
    const efface_request request = {.ids = &id, .n_ids = 1};
    efface_store_report report;
    REQUIRE_OK(
        (look ? efface_store_preview : efface_store_forget)(store, &request, &report, error));
    assert_int_equal(report.n_models, 2);
    for (size_t i = 0; i < report.n_models; i++) {
        const efface_model_report *const m = &report.models[i];
        const bool is_old = again && strcmp(m->name, "a") == 0;
        assert_int_equal(m->report.reason == ef_because_redefined, is_old);
        if (is_old)
            assert_int_equal(m->report.action, EFFACE_ACTION_REFITTED);
    }
    if (!look) {
        char *line = NULL;
        REQUIRE_OK(efface_store_receipt(store, report.receipt, &line, error));
        assert_int_equal(strstr(line, ef_because_redefined) != NULL, again);
        efface_text_free(line);
    }
    efface_store_report_free(&report);
}

/* The model without its rows is that with them, which is fitted again if it is outdated. */
static void check_model_without_rows(efface_store *store) {
    efface_data *data = NULL;
    efface_model *hot = NULL, *cold = NULL;
    unsigned char digests[2][EFFACE_DIGEST_BYTES];
    const uint64_t id = 1;
    const efface_request request = {.ids = &id, .n_ids = 1};
    REQUIRE_OK(efface_store_load(store, "a", &data, &hot, error));
    REQUIRE_OK(efface_store_model(store, "a", &cold, error));
    REQUIRE_OK(efface_model_digest(hot, digests[0], error));
    REQUIRE_OK(efface_model_digest(cold, digests[1], error));
    assert_memory_equal(digests[0], digests[1], EFFACE_DIGEST_BYTES);
    assert_int_equal(efface_model_forget(cold, data, &request, NULL, NULL), EFFACE_E_ARGUMENT);
    efface_model_free(hot);
    efface_model_free(cold);
    efface_data_free(data);
}

/* The first request that writes fits an outdated model again, its receipt says so, and that is all.
 * Until then nobody takes its state for damage. */
static void an_outdated_model_is_fitted_again(void **state) {
    (void)state;
    const tally_params params = tally_defaults();
    for (int resident = 0; resident < 2; resident++) {
        efface_store *store = make_holed_store(5);
        efface_difference difference;
        efface_stored_model before, after;
        efface_forest_params forest;
        efface_forest_params_init(&forest);
        forest.n_trees = 2;
        forest.target = 0;
        forest.missing = 1;
        const efface_new_model other = {.name = "b", .params = &forest.common};
        REQUIRE_OK(fit_tally(store, "a", &params, NULL, 0, error));
        REQUIRE_OK(efface_store_fit(store, &other, NULL, error));
        efface_store_close(store);
        tally_definition = 2;
        store = open_as(resident);
        check(store);
        REQUIRE_OK(efface_store_find_model(store, "a", &before, error));
        check_model_without_rows(store);
        REQUIRE_OK(efface_store_verify(store, "a", &difference, error));
        assert_false(difference.identical);
        assert_string_equal(difference.what, "method");
        REQUIRE_OK(efface_store_verify(store, "b", &difference, error));
        assert_true(difference.identical);
        check_reasons(store, 3, true, true);
        check_reasons(store, 3, false, true);
        REQUIRE_OK(efface_store_verify(store, "a", &difference, error));
        assert_true(difference.identical);
        check_reasons(store, 4, false, false);
        check_model_without_rows(store);
        check_whole(store);
        REQUIRE_OK(efface_store_find_model(store, "a", &after, error));
        assert_memory_not_equal(before.digest, after.digest, EFFACE_DIGEST_BYTES);
        efface_store_close(store);
        tally_definition = 1;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(other_missing_values_are_damage),
        cmocka_unit_test(a_model_is_not_added_over_them),
        cmocka_unit_test(requests_bring_none_to_a_model),
        cmocka_unit_test(models_that_need_no_rows_refuse_them),
        cmocka_unit_test(load_options_are_those_of_the_models),
        cmocka_unit_test(rows_are_loaded_by_them),
        cmocka_unit_test(models_over_other_columns_do_not_matter),
        cmocka_unit_test(models_that_take_them_follow),
        cmocka_unit_test(a_set_and_a_model_change_together),
        cmocka_unit_test(an_outdated_model_is_fitted_again),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
