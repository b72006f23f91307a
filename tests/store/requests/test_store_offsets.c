/*
 * Offsets in a store: kept with it, given to all that is loaded from it, asked of all that comes,
 * and covered by a digest. And tails, which are told while the rows are at hand.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/plain_store.h"
#include "store/scenes/sql_scene.h"

#include <sodium.h>

static const double offsets[N_COLUMNS] = {1e9, 0.0, -2.5, 0.0};

/* n rows with the ids first, first + 1, ... of a set with these offsets. */
static efface_data *make_shifted(size_t n, uint64_t first, const double *shift) {
    efface_data *const plain = make_rows(n, first, true);
    efface_data *data = NULL;
    float values[N_COLUMNS];
    REQUIRE_OK(efface_data_create(N_COLUMNS, &data, error));
    REQUIRE_OK(efface_data_set_offsets(data, shift, error));
    for (size_t i = 0; i < n; i++) {
        const efface_row row = efface_data_row(plain, i);
        efface_data_values(plain, i, values);
        const efface_rows rows = {.n_rows = 1, .values = values, .ids = &row.id};
        REQUIRE_OK(efface_data_add(data, &rows, error));
    }
    efface_data_free(plain);
    return data;
}

static efface_store *make_shifted_store(const char *name) {
    efface_store *store = NULL;
    efface_data *const data = make_shifted(N_ROWS, 0, offsets);
    if (name != NULL)
        REQUIRE_OK(efface_data_name_column(data, 0, name, error));
    if (name != NULL)
        REQUIRE_OK(efface_data_name_column(data, 1, "other", error));
    empty_folder();
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
    efface_data_free(data);
    return store;
}

static void check_offsets(const efface_data *data, const double *expected) {
    assert_non_null(efface_data_offsets(data));
    for (uint32_t j = 0; j < efface_data_n_columns(data); j++)
        assert_true(efface_data_offsets(data)[j] == expected[j]);
}

static void offsets_are_kept(void **state) {
    (void)state;
    static const uint32_t some[] = {2, 3};
    const double of_some[] = {-2.5, 0.0};
    const efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    efface_store *store = make_shifted_store(NULL);
    fit(store, "all", EFFACE_METHOD_LLOYD);
    REQUIRE_OK(fit_plain(store, "some", &params, some, 2, error));
    efface_store_close(store);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    for (uint32_t j = 0; j < N_COLUMNS; j++)
        assert_true(efface_store_offset(store, j) == offsets[j]);
    assert_true(efface_store_offset(store, N_COLUMNS) == 0.0);
    efface_data *data = NULL;
    efface_model *model = NULL;
    REQUIRE_OK(efface_store_load(store, NULL, &data, NULL, error));
    check_offsets(data, offsets);
    efface_data_free(data);
    REQUIRE_OK(efface_store_load(store, "some", &data, &model, error));
    check_offsets(data, of_some);
    efface_model_free(model);
    efface_data_free(data);
    const uint64_t id = 5;
    const efface_request request = {.ids = &id, .n_ids = 1};
    REQUIRE_OK(efface_store_find(store, &request, &data, error));
    check_offsets(data, offsets);
    efface_data_free(data);
    /* The model is that of the rows as they are held. */
    image shifted = encode_model(store, "all");
    efface_store_close(store);
    store = make_store();
    fit(store, "all", EFFACE_METHOD_LLOYD);
    image plain = encode_model(store, "all");
    check_same_image(&plain, &shifted);
    assert_true(efface_store_offset(store, 0) == 0.0);
    efface_store_close(store);
    assert_int_equal(sql_number(in_folder(STORE), "SELECT count(*) FROM facts"), 2);
    efface_bytes_free(plain.bytes);
    efface_bytes_free(shifted.bytes);
}

static void rows_that_come_have_them(void **state) {
    (void)state;
    const double others[N_COLUMNS] = {1e9, 0.0, 2.5, 0.0};
    efface_store *const store = make_shifted_store(NULL);
    efface_data *const right = make_shifted(2, 100, offsets);
    efface_data *const wrong = make_shifted(2, 200, others);
    efface_data *const none = make_shifted(2, 0, NULL);
    fit(store, "all", EFFACE_METHOD_PYRAMID);
    REFUSED(EFFACE_E_ARGUMENT, "column 3", efface_store_learn(store, wrong, NULL, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "column 1", efface_store_update(store, none, NULL, NULL, error));
    REQUIRE_OK(efface_store_learn(store, right, NULL, NULL, error));
    REQUIRE_OK(efface_store_update(store, right, NULL, NULL, error));
    efface_difference difference;
    REQUIRE_OK(efface_store_verify(store, "all", &difference, error));
    assert_true(difference.identical);
    efface_data_free(right);
    efface_data_free(wrong);
    efface_data_free(none);
    efface_store_close(store);
}

/* The options of a store find its columns by name in any order, or by place. */
static void rows_are_loaded_with_them(void **state) {
    (void)state;
    static const struct {
        const char *csv;
        uint32_t column;
    } cases[] = {{"id,far,other,c,d\n500,1000000003.5,2,3,4\n", 0},
                 {"id,other,far,c,d\n501,2,1000000003.5,3,4\n", 1},
                 {"502,1000000003.5,2,3,4\n", 0}};
    efface_store *const store = make_shifted_store("far");
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        efface_load_options options;
        efface_data *data = NULL;
        float values[N_COLUMNS];
        write_image(in_folder("new.csv"), (const unsigned char *)cases[c].csv,
                    strlen(cases[c].csv));
        efface_store_load_options(store, &options);
        options.id_column = "1";
        REQUIRE_OK(efface_data_load(in_folder("new.csv"), &options, &data, error));
        efface_data_values(data, 0, values);
        assert_true(values[cases[c].column] == 3.5F && values[2] == 5.5F && values[3] == 4.0F);
        if (c == 1) { /* its columns stand in another order */
            static const uint32_t source[] = {1, 0, 2, 3};
            REFUSED(EFFACE_E_ARGUMENT, "column 1",
                    efface_store_learn(store, data, NULL, NULL, error));
            REQUIRE_OK(efface_data_order_columns(data, source, error));
        }
        REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
        efface_data_free(data);
    }
    efface_store_close(store);
}

/* ---------------------------------------------------------------- damage */

static void expect_damaged(const char *sql) {
    image whole = read_image(in_folder(STORE));
    run_sql(in_folder(STORE), sql);
    for (int access = EFFACE_ACCESS_READ; access <= EFFACE_ACCESS_WRITE; access++) {
        efface_store *store = NULL;
        efface_error error = {.message = ""};
        const efface_status status =
            open_plain(in_folder(STORE), (efface_access)access, &store, &error);
        if (status != EFFACE_E_CORRUPT || strstr(error.message, "columns") == NULL)
            fail_msg("%s: status %d, %s", sql, (int)status, error.message);
    }
    write_image(in_folder(STORE), whole.bytes, whole.n_bytes);
    free(whole.bytes);
}

static void damage_is_refused(void **state) {
    (void)state;
    efface_store_close(make_shifted_store("far"));
    expect_damaged("DELETE FROM facts WHERE name = 'offsets'");
    expect_damaged("UPDATE facts SET value = zeroblob(32) WHERE name = 'offsets'");
    expect_damaged("UPDATE facts SET value = zeroblob(31) WHERE name = 'offsets'");
    expect_damaged("UPDATE facts SET value = x'' WHERE name = 'offsets'");
    expect_damaged("UPDATE facts SET value = 'text' WHERE name = 'offsets'");
    expect_damaged("UPDATE facts SET value = value || x'00' WHERE name = 'offsets'");
    expect_damaged("UPDATE facts SET value = (SELECT CAST(x'000000000000f87f' || substr(value, 9) "
                   "AS BLOB) FROM facts WHERE name = 'offsets') WHERE name = 'offsets'");
    expect_damaged("UPDATE facts SET value = (SELECT CAST(substr(value, 1, 7) || x'42' || "
                   "substr(value, 9) AS BLOB) FROM facts WHERE name = 'offsets') "
                   "WHERE name = 'offsets'");
    efface_store *store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    efface_store_close(store);
    store = make_store(); /* without offsets none can be added */
    efface_store_close(store);
    expect_damaged("INSERT INTO facts VALUES ('offsets', zeroblob(32))");
}

/* ---------------------------------------------------------------- tails */

static void tails_are_told(void **state) {
    (void)state;
    efface_tails tails = {.n_rows = 99}, expected;
    efface_data *data = NULL;
    efface_store *const store = make_shifted_store(NULL);
    const efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    const efface_new_model asked = {.name = "a", .params = &params.common, .tails = &tails};
    REQUIRE_OK(efface_store_fit(store, &asked, NULL, error));
    REQUIRE_OK(efface_store_load(store, NULL, &data, NULL, error));
    REQUIRE_OK(efface_data_tails(data, EFFACE_SCALE_NONE, &expected, error));
    assert_true(tails.loss == expected.loss && tails.n_rows == 1 && tails.loss > 0.0);
    efface_data_free(data);
    efface_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_are_kept),
        cmocka_unit_test(rows_that_come_have_them),
        cmocka_unit_test(rows_are_loaded_with_them),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(tails_are_told),
    };
    return sodium_init() >= 0 ? cmocka_run_group_tests(tests, begin_folder, end_folder) : 1;
}
