/*
 * The store as efface.h describes it: what each call does, and every error it promises. That models
 * follow requests exactly is test_store_law.c's subject.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/tape.h"
#include "store/store_ways.h"

#include <inttypes.h>
#include <sodium.h>
#include <sqlite3.h>

#define N_ROWS 60
#define N_COLUMNS 4
#define STORE "plain.efface"

/* ---------------------------------------------------------------- rows and models */

static float value_of(uint64_t row, uint32_t column) {
    uint64_t z = (row * 64 + column + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (float)(row % 3) * 10.0F + (float)((z ^ (z >> 31)) >> 40) * 0x1p-24F;
}

/* n rows with the ids first, first + 1, ..., or without ids. */
static efface_data *make_rows(size_t n, uint64_t first, bool with_ids) {
    float values[N_ROWS * N_COLUMNS];
    uint64_t ids[N_ROWS], owners[N_ROWS];
    int32_t labels[N_ROWS];
    for (size_t i = 0; i < n; i++) {
        ids[i] = first + i;
        owners[i] = 1000 + (first + i) / 3;
        labels[i] = (int32_t)i - 5;
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            values[i * N_COLUMNS + j] = value_of(first + i, j);
    }
    const efface_rows rows = {.n_rows = n,
                              .values = values,
                              .ids = with_ids ? ids : NULL,
                              .owners = owners,
                              .labels = labels};
    return make_data(N_COLUMNS, &rows);
}

static efface_store *make_store(void) {
    efface_store *store = NULL;
    efface_data *const data = make_rows(N_ROWS, 0, true);
    empty_folder();
    REQUIRE_OK(efface_store_create(in_folder(STORE), data, hash_key, &store, error));
    efface_data_free(data);
    return store;
}

static efface_kmeans_params params_of(efface_method method) {
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.method = method;
    params.n_clusters = 3;
    params.seed = 20191105 + (uint64_t)method;
    params.iterations = 4;
    return params;
}

static void fit(efface_store *store, const char *name, efface_method method) {
    const efface_kmeans_params params = params_of(method);
    REQUIRE_OK(efface_store_fit(store, name, &params, NULL, 0, error));
}

static efface_status forget_ids(efface_store *store, const uint64_t *ids, size_t n,
                                efface_missing missing, efface_store_report *report,
                                efface_error *error) {
    const efface_request request = {.ids = ids, .n_ids = n, .missing = missing};
    return efface_store_forget(store, &request, report, error);
}

static void forget(efface_store *store, uint64_t id) {
    REQUIRE_OK(forget_ids(store, &id, 1, EFFACE_MISSING_FAIL, NULL, error));
}

static char *receipt_of(efface_store *store, uint64_t number) {
    char *json = NULL;
    REQUIRE_OK(efface_store_receipt(store, number, &json, error));
    return json;
}

/* A call that must fail, with a message that has these words, and without changing the file. */
#define REFUSED(expected, words, call)                                                             \
    do {                                                                                           \
        efface_error refused = {.message = ""};                                                    \
        efface_error *const error = &refused;                                                      \
        image refused_before = read_image(in_folder(STORE));                                       \
        assert_int_equal((call), (expected));                                                      \
        if (strstr(refused.message, (words)) == NULL)                                              \
            fail_msg("\"%s\" does not say \"%s\"", refused.message, (words));                      \
        assert_int_equal(refused.status, (expected));                                              \
        image refused_after = read_image(in_folder(STORE));                                        \
        check_same_image(&refused_before, &refused_after);                                         \
        free(refused_before.bytes);                                                                \
        free(refused_after.bytes);                                                                 \
    } while (0)

/* ---------------------------------------------------------------- create, open, close */

static void a_store_is_created_and_opened(void **state) {
    (void)state;
    efface_store *store = make_store();
    struct stat file;
    assert_int_equal(stat(in_folder(STORE), &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    efface_store_info info = info_of(store);
    assert_int_equal(info.n_rows, N_ROWS);
    assert_int_equal(info.n_columns, N_COLUMNS);
    assert_int_equal(info.n_models, 0);
    assert_int_equal(info.n_receipts, 0);
    assert_null(efface_store_column(store, 0));
    efface_store_close(store);
    efface_store_close(NULL);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    info = info_of(store);
    assert_int_equal(info.n_rows, N_ROWS);
    efface_data *data = NULL;
    float values[N_COLUMNS];
    REQUIRE_OK(efface_store_load(store, NULL, &data, NULL, error));
    for (size_t i = 0; i < N_ROWS; i++) {
        size_t position;
        assert_int_equal(efface_data_find(data, i, &position), EFFACE_OK);
        const efface_row row = efface_data_row(data, position);
        assert_true(row.owner == 1000 + i / 3 && row.weight == 1 && row.label == (int32_t)i - 5);
        efface_data_values(data, position, values);
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            assert_true(values[j] == value_of(i, j));
    }
    efface_data_free(data);
    check_whole(store);
    efface_store_close(store);
}

static void a_file_is_never_overwritten(void **state) {
    (void)state;
    efface_store_close(make_store());
    efface_store *store = NULL;
    efface_data *const data = make_rows(2, 0, true);
    REFUSED(EFFACE_E_ARGUMENT, "is there already",
            efface_store_create(in_folder(STORE), data, hash_key, &store, error));
    efface_error error;
    assert_int_equal(efface_store_create(in_folder("no/such"), data, hash_key, &store, &error),
                     EFFACE_E_IO);
    assert_int_equal(efface_store_create(NULL, data, hash_key, &store, NULL), EFFACE_E_ARGUMENT);
    assert_null(store);
    efface_data_free(data);
}

static void columns_have_names_and_texts_have_ids(void **state) {
    (void)state;
    static const char csv[] = "who,height,doctor,weight\nanna,1.5,dr-x,50\nbert,1.75,dr-y,75\n";
    efface_load_options options;
    efface_data *data = NULL;
    efface_store *store = NULL;
    empty_folder();
    write_image(in_folder("people.csv"), csv, sizeof csv - 1);
    efface_load_options_init(&options);
    memcpy(options.hash_key, hash_key, sizeof options.hash_key);
    options.id_column = "who";
    options.owner_column = "doctor";
    REQUIRE_OK(efface_data_load(in_folder("people.csv"), &options, &data, error));
    REQUIRE_OK(efface_store_create(in_folder(STORE), data, hash_key, &store, error));
    efface_data_free(data);
    for (int round = 0; round < 2; round++) {
        assert_string_equal(efface_store_column(store, 0), "height");
        assert_string_equal(efface_store_column(store, 1), "weight");
        assert_null(efface_store_column(store, 2));
        efface_store_close(store);
        store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    }
    assert_int_equal(efface_store_text_id(store, "anna", 4), efface_text_id("anna", 4, hash_key));
    efface_load_options_init(&options);
    efface_store_load_options(store, &options);
    assert_memory_equal(options.hash_key, hash_key, sizeof hash_key);
    assert_null(options.id_column);
    const uint64_t owner = efface_store_text_id(store, "dr-y", 4);
    const efface_request request = {.owners = &owner, .n_owners = 1};
    REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
    assert_int_equal(info_of(store).n_rows, 1);
    forget(store, efface_store_text_id(store, "anna", 4));
    assert_int_equal(info_of(store).n_rows, 0);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- models */

/* The model in the store against one that was fitted beside it. */
static void check_fit(efface_store *store, const char *name, const efface_kmeans_params *params,
                      const uint32_t *columns, uint32_t n_columns) {
    float values[N_ROWS * N_COLUMNS];
    for (size_t i = 0; i < N_ROWS; i++)
        for (uint32_t j = 0; j < n_columns; j++)
            values[i * n_columns + j] = value_of(i, columns != NULL ? columns[j] : j);
    const efface_rows rows = {.n_rows = N_ROWS, .values = values};
    efface_data *const data = make_data(n_columns, &rows);
    efface_data *loaded = NULL;
    efface_kmeans *beside = NULL, *model = NULL;
    image expected = {NULL, 0}, again = {NULL, 0}, found = encode_model(store, name);
    REQUIRE_OK(efface_kmeans_fit(data, params, &beside, error));
    REQUIRE_OK(efface_kmeans_encode(beside, &expected.bytes, &expected.n_bytes, error));
    check_same_image(&expected, &found);
    REQUIRE_OK(efface_store_load(store, name, &loaded, &model, error));
    REQUIRE_OK(efface_kmeans_encode(model, &again.bytes, &again.n_bytes, error));
    check_same_image(&expected, &again);
    assert_int_equal(efface_data_n_columns(loaded), n_columns);
    assert_int_equal(efface_data_n_rows(loaded), N_ROWS);
    efface_bytes_free(expected.bytes);
    efface_bytes_free(again.bytes);
    efface_bytes_free(found.bytes);
    efface_kmeans_free(beside);
    efface_kmeans_free(model);
    efface_data_free(data);
    efface_data_free(loaded);
}

/* Every method, over all and over some columns; given bounds and clusters for depths. The
 * parameters outlive closing: a model of them rekeyed to its own seed is itself. */
static void models_are_fitted_over_all_and_some_columns(void **state) {
    (void)state;
    static const uint32_t some[] = {3, 1};
    static const float low[] = {-1.0F, -2.0F, -3.0F, -4.0F}, high[] = {40.0F, 50.0F, 60.0F, 70.0F};
    static const uint32_t depths[] = {5, 2};
    efface_store *store = make_store();
    char names[24][8];
    efface_kmeans_params all[24];
    for (unsigned i = 0; i < 24; i++) {
        efface_kmeans_params *const p = &all[i];
        const unsigned way = i % 6;
        *p = params_of(i / 6 < 3 ? (efface_method)(i / 6) : EFFACE_METHOD_TREE);
        p->height = i % 2 + 1;
        p->width = 2;
        p->scale = way == 1 || way == 3 || way == 4 ? EFFACE_SCALE_MINMAX : EFFACE_SCALE_NONE;
        p->column_min = way == 3 ? low : NULL;
        p->column_max = way == 3 ? high : NULL;
        p->bound = way == 5 ? 100.0 : 0.0;
        p->depth_clusters = way > 2 ? depths : NULL;
        p->weigh_centroids = way == 2;
        p->leaf_method = way == 0 ? EFFACE_METHOD_QUANTIZED : EFFACE_METHOD_LLOYD;
        p->passes = 1 + way % 2;
        p->empty = way == 2 ? EFFACE_EMPTY_KEEP : EFFACE_EMPTY_RESEED;
        (void)snprintf(names[i], sizeof names[i], "m%02u", i);
        const bool narrow = way == 2 || way == 4;
        REQUIRE_OK(efface_store_fit(store, names[i], p, narrow ? some : NULL, 2, error));
    }
    efface_store_close(store);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    assert_int_equal(info_of(store).n_models, 24);
    for (unsigned i = 0; i < 24; i++) {
        const bool narrow = i % 6 == 2 || i % 6 == 4;
        efface_model_info info;
        unsigned char digest[EFFACE_DIGEST_BYTES];
        REQUIRE_OK(efface_store_model(store, i, &info, error));
        assert_string_equal(info.name, names[i]);
        assert_int_equal(info.method, all[i].method);
        assert_int_equal(info.n_clusters, 3);
        assert_int_equal(info.n_columns, narrow ? 2 : N_COLUMNS);
        check_fit(store, names[i], &all[i], narrow ? some : NULL, narrow ? 2 : N_COLUMNS);
        image bytes = encode_model(store, names[i]);
        ef_digest(bytes.bytes, bytes.n_bytes, digest);
        assert_memory_equal(digest, info.digest, sizeof digest);
        REQUIRE_OK(efface_store_rekey(store, names[i], all[i].seed, error));
        image again = encode_model(store, names[i]);
        check_same_image(&bytes, &again);
        efface_bytes_free(bytes.bytes);
        efface_bytes_free(again.bytes);
    }
    check_whole(store);
    const uint64_t ids[] = {3, 17, 58};
    REQUIRE_OK(forget_ids(store, ids, 3, EFFACE_MISSING_FAIL, NULL, error));
    check_whole(store);
    efface_model_info info;
    assert_int_equal(efface_store_model(store, 24, &info, NULL), EFFACE_E_NOT_FOUND);
    efface_store_close(store);
}

static void models_are_dropped(void **state) {
    (void)state;
    efface_store *const store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    fit(store, "b", EFFACE_METHOD_PYRAMID);
    REQUIRE_OK(efface_store_drop(store, "a", error));
    assert_int_equal(info_of(store).n_models, 1);
    REFUSED(EFFACE_E_NOT_FOUND, "a", efface_store_drop(store, "a", error));
    REFUSED(EFFACE_E_ARGUMENT, "name", efface_store_drop(store, "", error));
    REFUSED(EFFACE_E_ARGUMENT, "name", efface_store_drop(store, NULL, error));
    fit(store, "a", EFFACE_METHOD_QUANTIZED);
    check_whole(store);
    efface_store_close(store);
}

static void models_get_new_seeds(void **state) {
    (void)state;
    efface_store *const store = make_store();
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    fit(store, "a", EFFACE_METHOD_LLOYD);
    fit(store, "b", EFFACE_METHOD_LLOYD);
    check_fit(store, "b", &params, NULL, N_COLUMNS);
    REQUIRE_OK(efface_store_rekey(store, "a", 5, error));
    check_fit(store, "b", &params, NULL, N_COLUMNS);
    params.seed = 5;
    check_fit(store, "a", &params, NULL, N_COLUMNS);
    REQUIRE_OK(efface_store_rekey(store, NULL, 77, error));
    for (uint64_t i = 0; i < 2; i++) {
        params.seed = ef_tape(77, EF_TAPE_REDRAW, 0, i, 0);
        check_fit(store, i == 0 ? "a" : "b", &params, NULL, N_COLUMNS);
    }
    check_whole(store);
    REFUSED(EFFACE_E_NOT_FOUND, "c", efface_store_rekey(store, "c", 5, error));
    REFUSED(EFFACE_E_ARGUMENT, "name", efface_store_rekey(store, "not a name", 5, error));
    efface_store_close(store);
}

static void names_and_columns_are_checked(void **state) {
    (void)state;
    static const char *const bad[] = {"", "a b", "a/b", "\xc3\xa4", "a\n", "'", "a;b"};
    static const uint32_t beyond[] = {0, N_COLUMNS}, many[] = {0, 1, 2, 3, 0};
    efface_store *const store = make_store();
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    char longest[EFFACE_MODEL_NAME_BYTES + 1] = "";
    memset(longest, 'x', EFFACE_MODEL_NAME_BYTES);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        REFUSED(EFFACE_E_ARGUMENT, "the name of a model",
                efface_store_fit(store, bad[i], &params, NULL, 0, error));
    REFUSED(EFFACE_E_ARGUMENT, "the name of a model",
            efface_store_fit(store, longest, &params, NULL, 0, error));
    longest[EFFACE_MODEL_NAME_BYTES - 1] = '\0';
    REQUIRE_OK(efface_store_fit(store, longest, &params, NULL, 0, error));
    REQUIRE_OK(efface_store_fit(store, "A-b_c.9", &params, NULL, 0, error));
    REFUSED(EFFACE_E_DUPLICATE, "A-b_c.9",
            efface_store_fit(store, "A-b_c.9", &params, NULL, 0, error));
    REFUSED(EFFACE_E_ARGUMENT, "column 5", efface_store_fit(store, "c", &params, beyond, 2, error));
    REFUSED(EFFACE_E_ARGUMENT, "columns", efface_store_fit(store, "c", &params, beyond, 0, error));
    REFUSED(EFFACE_E_ARGUMENT, "columns", efface_store_fit(store, "c", &params, many, 5, error));
    REFUSED(EFFACE_E_ARGUMENT, "params", efface_store_fit(store, "c", NULL, NULL, 0, error));
    params.n_clusters = 0;
    REFUSED(EFFACE_E_ARGUMENT, "", efface_store_fit(store, "c", &params, NULL, 0, error));
    params = params_of(EFFACE_METHOD_LLOYD);
    params.bound = 1.0;
    REFUSED(EFFACE_E_LIMIT, "bound", efface_store_fit(store, "c", &params, NULL, 0, error));
    image bytes = {NULL, 0};
    efface_difference difference;
    REFUSED(EFFACE_E_NOT_FOUND, "c",
            efface_store_encode(store, "c", &bytes.bytes, &bytes.n_bytes, error));
    REFUSED(EFFACE_E_NOT_FOUND, "c", efface_store_verify(store, "c", &difference, error));
    REFUSED(EFFACE_E_ARGUMENT, "name", efface_store_verify(store, NULL, &difference, error));
    efface_data *data = NULL;
    efface_kmeans *model = NULL;
    REFUSED(EFFACE_E_NOT_FOUND, "c", efface_store_load(store, "c", &data, &model, error));
    assert_true(data == NULL && model == NULL && bytes.bytes == NULL);
    assert_int_equal(info_of(store).n_models, 2);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- requests */

static void what_is_missing_is_named_or_counted(void **state) {
    (void)state;
    efface_store *const store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    const uint64_t ids[] = {7, 123456789012345, 8, UINT64_MAX}, owners[] = {1000, 999};
    efface_request request = {.ids = ids, .n_ids = 4, .owners = owners, .n_owners = 2};
    efface_store_report report = {.n_requested = 99};
    REFUSED(EFFACE_E_NOT_FOUND, "id 123456789012345, id 18446744073709551615, owner 999 (3 in all)",
            efface_store_forget(store, &request, &report, error));
    request.only_look = 1;
    REFUSED(EFFACE_E_NOT_FOUND, "id 123456789012345",
            efface_store_forget(store, &request, &report, error));
    assert_int_equal(report.n_requested, 99);
    uint64_t many[20];
    for (uint64_t i = 0; i < 20; i++)
        many[i] = UINT64_MAX - i;
    REFUSED(EFFACE_E_NOT_FOUND, "id 18446744073709551608, ... (20 in all)",
            forget_ids(store, many, 20, EFFACE_MISSING_FAIL, NULL, error));
    assert_int_equal(info_of(store).n_rows, N_ROWS);
    request.only_look = 0;
    request.missing = EFFACE_MISSING_SKIP;
    REQUIRE_OK(efface_store_forget(store, &request, &report, error));
    assert_int_equal(report.n_requested, 6);
    assert_int_equal(report.n_missing, 3);
    assert_int_equal(report.n_forgotten, 5);
    assert_int_equal(report.receipt, 1);
    assert_int_equal(report.n_models, 1);
    assert_string_equal(report.models[0].name, "a");
    assert_int_equal(report.models[0].report.rows_forgotten, 5);
    assert_true(report.seconds > 0.0);
    efface_model_info info;
    REQUIRE_OK(efface_store_model(store, 0, &info, error));
    assert_memory_equal(report.models[0].after, info.digest, EFFACE_DIGEST_BYTES);
    assert_memory_not_equal(report.models[0].before, info.digest, EFFACE_DIGEST_BYTES);
    efface_store_report_free(&report);
    assert_int_equal(info_of(store).n_rows, N_ROWS - 5);
    REQUIRE_OK(efface_store_forget(store, &request, &report, error));
    assert_int_equal(report.n_missing, 6);
    assert_int_equal(report.n_forgotten, 0);
    efface_store_report_free(&report);
    check_whole(store);
    efface_store_close(store);
}

static void rows_that_cannot_be_learned(void **state) {
    (void)state;
    efface_store *const store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    efface_data *data = NULL;
    REQUIRE_OK(efface_data_create(N_COLUMNS + 1, &data, error));
    REFUSED(EFFACE_E_ARGUMENT, "the rows have 5 columns, but the store has 4",
            efface_store_learn(store, data, NULL, error));
    efface_data_free(data);
    data = make_rows(3, N_ROWS - 1, true);
    REFUSED(EFFACE_E_DUPLICATE, "59", efface_store_learn(store, data, NULL, error));
    efface_data_free(data);
    data = make_rows(3, 0, true); /* ids that are positions are ids all the same */
    REFUSED(EFFACE_E_DUPLICATE, "0", efface_store_learn(store, data, NULL, error));
    efface_data_free(data);
    const float values[N_COLUMNS] = {0};
    const int64_t weight = EFFACE_MAX_WEIGHT - N_ROWS;
    const uint64_t id = 5000;
    const efface_rows heavy = {.n_rows = 1, .values = values, .ids = &id, .weights = &weight};
    data = make_data(N_COLUMNS, &heavy);
    REFUSED(EFFACE_E_LIMIT, "2^40", efface_store_learn(store, data, NULL, error));
    REQUIRE_OK(efface_store_drop(store, "a", error));
    REFUSED(EFFACE_E_LIMIT, "2^40", efface_store_learn(store, data, NULL, error));
    forget(store, 0);
    REQUIRE_OK(efface_store_learn(store, data, NULL, error));
    efface_data_free(data);
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    params.bound = 100.0;
    REQUIRE_OK(efface_store_fit(store, "bounded", &params, NULL, 0, error));
    forget(store, 5000);
    const float far[N_COLUMNS] = {0, 0, 101.0F, 0};
    const efface_rows outside = {.n_rows = 1, .values = far, .ids = &id};
    data = make_data(N_COLUMNS, &outside);
    REFUSED(EFFACE_E_LIMIT, "bound", efface_store_learn(store, data, NULL, error));
    efface_data_free(data);
    check_whole(store);
    efface_store_close(store);
}

/* Ids continue after the largest that ever was, forgotten or not, and across closing. */
static void rows_without_ids_get_new_ones(void **state) {
    (void)state;
    efface_store *store = make_store();
    forget(store, N_ROWS - 1);
    efface_data *data = make_rows(2, 300, false);
    efface_store_report report;
    REQUIRE_OK(efface_store_learn(store, data, &report, error));
    assert_int_equal(report.n_learned, 2);
    assert_int_equal(report.n_requested, 2);
    assert_int_equal(report.n_forgotten, 0);
    efface_store_report_free(&report);
    efface_store_close(store);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    REQUIRE_OK(efface_store_learn(store, data, NULL, error));
    efface_data_free(data);
    const uint64_t ids[] = {N_ROWS, N_ROWS + 1, N_ROWS + 2, N_ROWS + 3};
    REQUIRE_OK(forget_ids(store, ids, 4, EFFACE_MISSING_FAIL, NULL, error));
    assert_int_equal(info_of(store).n_rows, N_ROWS - 1);
    data = make_rows(1, UINT64_MAX, true);
    REQUIRE_OK(efface_store_learn(store, data, NULL, error));
    efface_data_free(data);
    data = make_rows(1, 0, false);
    REFUSED(EFFACE_E_LIMIT, "no ids left", efface_store_learn(store, data, NULL, error));
    efface_data_free(data);
    efface_store_close(store);
}

static void a_store_to_read_is_not_changed(void **state) {
    (void)state;
    efface_store *store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    efface_store_close(store);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    const efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    efface_data *const data = make_rows(1, 500, true);
    const uint64_t id = 3;
    efface_request request = {.ids = &id, .n_ids = 1};
    REFUSED(EFFACE_E_ARGUMENT, "read only", efface_store_forget(store, &request, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "read only", efface_store_learn(store, data, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "read only", efface_store_fit(store, "b", &params, NULL, 0, error));
    REFUSED(EFFACE_E_ARGUMENT, "read only", efface_store_drop(store, "a", error));
    REFUSED(EFFACE_E_ARGUMENT, "read only", efface_store_rekey(store, NULL, 1, error));
    request.only_look = 1;
    REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
    check_whole(store);
    efface_data_free(data);
    efface_store_close(store);
}

static void arguments_must_be_there(void **state) {
    (void)state;
    efface_store *const store = make_store();
    efface_request request = {.n_ids = 1};
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_forget(store, NULL, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_forget(store, &request, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_forget(NULL, &request, NULL, error));
    request = (efface_request){.n_owners = 1};
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_forget(store, &request, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_learn(store, NULL, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_get_info(store, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_model(store, 0, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_check(store, NULL, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_receipt(store, 1, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_drop(NULL, "a", error));
    efface_store_close(store);
}

/* ---------------------------------------------------------------- receipts */

static void check_has(const char *json, const char *part) {
    if (strstr(json, part) == NULL)
        fail_msg("%s is not in %s", part, json);
}

/* Numbers from 1 without gaps, and each names the digest of the one before (invariant 5). */
static void check_chain(efface_store *store) {
    unsigned char digest[EFFACE_DIGEST_BYTES] = {0};
    const uint64_t n = info_of(store).n_receipts;
    for (uint64_t i = 1; i <= n; i++) {
        char *const json = receipt_of(store, i);
        char begin[40], previous[100], hex[65];
        (void)snprintf(begin, sizeof begin, "{\"receipt\":%" PRIu64 ",", i);
        assert_memory_equal(json, begin, strlen(begin));
        (void)sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
        (void)snprintf(previous, sizeof previous, "\"previous\":\"%s\"", hex);
        check_has(json, previous);
        (void)crypto_generichash(digest, sizeof digest, (const unsigned char *)json, strlen(json),
                                 NULL, 0);
        efface_text_free(json);
    }
    char *none = NULL;
    assert_int_equal(efface_store_receipt(store, 0, &none, NULL), EFFACE_E_NOT_FOUND);
    assert_int_equal(efface_store_receipt(store, n + 1, &none, NULL), EFFACE_E_NOT_FOUND);
    assert_null(none);
}

/* The hash of an id under the key that is in the file. */
static void hash_id(uint64_t id, char hex[33]) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    unsigned char bytes[8], hash[16];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(id >> (8 * i));
    assert_int_equal(sqlite3_open_v2(in_folder(STORE), &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT value FROM facts WHERE name = 'receipt_key'",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(crypto_generichash(hash, sizeof hash, bytes, sizeof bytes,
                                        sqlite3_column_blob(statement, 0),
                                        (size_t)sqlite3_column_bytes(statement, 0)),
                     0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    (void)sodium_bin2hex(hex, 33, hash, sizeof hash);
}

static void requests_have_receipts(void **state) {
    (void)state;
    efface_store *store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    fit(store, "b", EFFACE_METHOD_PYRAMID);
    assert_int_equal(info_of(store).n_receipts, 0);
    const uint64_t big = UINT64_C(1311768467463790320), ids[] = {big, 999999999};
    efface_data *data = make_rows(1, big, true);
    REQUIRE_OK(efface_store_learn(store, data, NULL, error));
    efface_data_free(data);
    efface_store_report report;
    REQUIRE_OK(forget_ids(store, ids, 2, EFFACE_MISSING_SKIP, &report, error));
    assert_int_equal(report.receipt, 2);
    char *json = receipt_of(store, 2);
    char hex[65], part[160];
    check_has(json, "\"kind\":\"forget\",\"requested\":2,\"missing\":1,\"forgotten\":1,"
                    "\"learned\":0,\"rows\":[\"");
    for (uint32_t i = 0; i < 2; i++) {
        (void)sodium_bin2hex(hex, sizeof hex, report.models[i].before, EFFACE_DIGEST_BYTES);
        (void)snprintf(part, sizeof part, "\"before\":\"%s\"", hex);
        check_has(json, part);
        (void)sodium_bin2hex(hex, sizeof hex, report.models[i].after, EFFACE_DIGEST_BYTES);
        (void)snprintf(part, sizeof part, "\"after\":\"%s\"", hex);
        check_has(json, part);
        (void)snprintf(part, sizeof part, "{\"name\":\"%s\",\"action\":\"%s\"",
                       report.models[i].name,
                       report.models[i].report.action == EFFACE_ACTION_UNTOUCHED  ? "untouched"
                       : report.models[i].report.action == EFFACE_ACTION_REPAIRED ? "repaired"
                                                                                  : "refitted");
        check_has(json, part);
    }
    hash_id(big, hex);
    check_has(json, hex);
    /* Neither ids, nor owners, nor values. */
    assert_null(strstr(json, "1311768467463790320"));
    assert_null(strstr(json, "123456789abcdef0"));
    assert_null(strstr(json, "f0debc9a78563412"));
    assert_null(strstr(json, "999999999"));
    (void)snprintf(part, sizeof part, "%" PRIu64, 1000 + big / 3);
    assert_null(strstr(json, part));
    for (uint32_t j = 0; j < N_COLUMNS; j++) {
        (void)snprintf(part, sizeof part, "%.4g", (double)value_of(big, j));
        assert_null(strstr(json, part));
    }
    efface_store_report_free(&report);
    efface_text_free(json);
    /* Rows that got their ids here are named by these. */
    data = make_rows(2, 0, false);
    REQUIRE_OK(efface_store_learn(store, data, NULL, error));
    efface_data_free(data);
    json = receipt_of(store, 3);
    hash_id(big + 2, hex);
    check_has(json, hex);
    check_has(json, "\"kind\":\"learn\",\"requested\":2,\"missing\":0,\"forgotten\":0,"
                    "\"learned\":2,");
    efface_text_free(json);
    assert_int_equal(forget_ids(store, ids + 1, 1, EFFACE_MISSING_FAIL, NULL, NULL),
                     EFFACE_E_NOT_FOUND);
    efface_store_close(store);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    forget(store, 4);
    REQUIRE_OK(efface_store_drop(store, "a", error));
    REQUIRE_OK(efface_store_rekey(store, "b", 9, error));
    assert_int_equal(info_of(store).n_receipts, 4);
    check_chain(store);
    efface_store_close(store);
}

static void receipts_are_signed(void **state) {
    (void)state;
    unsigned char secret[EFFACE_SECRET_KEY_BYTES], public_key[EFFACE_PUBLIC_KEY_BYTES];
    unsigned char other_secret[EFFACE_SECRET_KEY_BYTES], other[EFFACE_PUBLIC_KEY_BYTES];
    efface_store *const store = make_store();
    REQUIRE_OK(efface_keys_make(secret, public_key, error));
    REQUIRE_OK(efface_keys_make(other_secret, other, error));
    forget(store, 1);
    efface_store_sign_with(store, secret);
    forget(store, 2);
    forget(store, 3);
    char *json = receipt_of(store, 1);
    assert_int_equal(efface_receipt_verify(json, public_key, NULL), EFFACE_E_ARGUMENT);
    efface_text_free(json);
    for (uint64_t number = 2; number <= 3; number++) {
        json = receipt_of(store, number);
        REQUIRE_OK(efface_receipt_verify(json, public_key, error));
        assert_int_equal(efface_receipt_verify(json, other, NULL), EFFACE_E_FORMAT);
        const size_t n = strlen(json);
        for (size_t i = 0; i < n; i++) {
            const char right = json[i];
            for (int bit = 0; bit < 8; bit++) {
                json[i] = (char)((unsigned char)right ^ (1u << bit));
                const efface_status status = efface_receipt_verify(json, public_key, NULL);
                if (status != EFFACE_E_FORMAT && status != EFFACE_E_ARGUMENT)
                    fail_msg("byte %zu of %zu, bit %d: '%c' in place of '%c' was not seen", i, n,
                             bit, json[i], right);
            }
            json[i] = right;
        }
        /* Cut short, or with something after it. */
        json[n - 1] = '\0';
        assert_int_equal(efface_receipt_verify(json, public_key, NULL), EFFACE_E_FORMAT);
        json[n - 1] = '}';
        char *const longer = malloc(n + 2);
        assert_non_null(longer);
        (void)snprintf(longer, n + 2, "%s ", json);
        assert_int_equal(efface_receipt_verify(longer, public_key, NULL), EFFACE_E_FORMAT);
        free(longer);
        efface_text_free(json);
    }
    check_chain(store);
    assert_int_equal(efface_receipt_verify(NULL, public_key, NULL), EFFACE_E_ARGUMENT);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- files that are no store */

static void check_no_store(const char *path, efface_status expected) {
    for (int access = 0; access < 2; access++) {
        efface_store *store = NULL;
        efface_error error = {.message = ""};
        assert_int_equal(efface_store_open(path, (efface_access)access, &store, &error), expected);
        assert_null(store);
        assert_true(error.message[0] != '\0');
    }
}

static void run_sql(const char *path, const char *sql) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
}

static void other_files_are_refused(void **state) {
    (void)state;
    static const char text[] = "1,2,3\n4,5,6\n";
    efface_store_close(make_store());
    check_no_store(in_folder("missing.efface"), EFFACE_E_IO);
    check_no_store(folder, EFFACE_E_IO);
    write_image(in_folder("empty"), "", 0);
    check_no_store(in_folder("empty"), EFFACE_E_FORMAT);
    write_image(in_folder("text"), text, sizeof text - 1);
    check_no_store(in_folder("text"), EFFACE_E_FORMAT);
    char *const longer = calloc(1, 20000);
    assert_non_null(longer);
    memset(longer, 'x', 20000);
    write_image(in_folder("longer"), longer, 20000);
    check_no_store(in_folder("longer"), EFFACE_E_FORMAT);
    free(longer);
    run_sql(in_folder("other.db"), "CREATE TABLE rows(id INTEGER PRIMARY KEY); PRAGMA user_version "
                                   "= 1;");
    check_no_store(in_folder("other.db"), EFFACE_E_FORMAT);
    run_sql(in_folder(STORE), "PRAGMA user_version = 2");
    check_no_store(in_folder(STORE), EFFACE_E_FORMAT);
    run_sql(in_folder(STORE), "PRAGMA user_version = 1; DELETE FROM facts WHERE name = 'hash_key'");
    check_no_store(in_folder(STORE), EFFACE_E_CORRUPT);
    empty_folder();
}

static void count_problem(void *context, const char *problem) {
    assert_true(problem[0] != '\0');
    ++*(unsigned *)context;
}

/* How many things a check finds after a change behind the store's back. */
static unsigned problems_after(const char *sql) {
    efface_store *store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    for (uint64_t id = 3; id < 6; id++) {
        const efface_request request = {.ids = &id, .n_ids = 1};
        REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
    }
    efface_store_close(store);
    run_sql(in_folder(STORE), sql);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    unsigned n = 0;
    REQUIRE_OK(efface_store_check(store, count_problem, &n, error));
    efface_store_close(store);
    return n;
}

static void damage_is_found(void **state) {
    (void)state;
    assert_int_equal(problems_after("SELECT 1"), 0);
    assert_true(problems_after("DELETE FROM rows WHERE id = 7") != 0);
    assert_true(problems_after("UPDATE facts SET value = 59 WHERE name = 'n_rows'") != 0);
    assert_true(problems_after("UPDATE rows SET weight = 2 WHERE id = 7") != 0);
    assert_true(problems_after("UPDATE rows SET vals = zeroblob(16) WHERE id = 7") != 0);
    assert_true(problems_after("UPDATE rows SET vals = zeroblob(12) WHERE id = 7") != 0);
    assert_true(problems_after("UPDATE rows SET vals = x'0000c07f0000c07f0000c07f0000c07f' WHERE "
                               "id = 7") != 0);
    assert_true(problems_after("UPDATE models SET digest = zeroblob(32)") != 0);
    assert_true(problems_after("UPDATE models SET digest = zeroblob(31)") != 0);
    assert_true(problems_after("UPDATE models SET counts = substr(counts, 1, 100)") != 0);
    assert_true(problems_after("UPDATE models SET state = substr(state, 1, 100)") != 0);
    assert_true(problems_after("UPDATE models SET params = substr(params, 1, 50)") != 0);
    assert_true(problems_after("UPDATE models SET columns = x'09000000'") != 0);
    assert_true(problems_after("UPDATE models SET name = 'a b'") != 0);
    assert_true(problems_after("UPDATE facts SET value = 7 WHERE name = 'next_id'") != 0);
    assert_true(problems_after("DELETE FROM receipts WHERE number = 1") != 0);
    assert_true(problems_after("DELETE FROM receipts WHERE number = 2") != 0);
    assert_true(problems_after("UPDATE receipts SET number = 9 WHERE number = 3") != 0);
    assert_true(problems_after("UPDATE receipts SET body = replace(body, '\"missing\":0', "
                               "'\"missing\":1') WHERE number = 2") != 0);
}

/* Wherever a store is cut off, that is said when it is opened, or when it is checked. */
static void a_store_that_was_cut_is_found_out(void **state) {
    (void)state;
    efface_store *store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    efface_store_close(store);
    image whole = read_image(in_folder(STORE));
    for (size_t n = 0; n < whole.n_bytes; n += n < 4096 ? 512 : 2048) {
        write_image(in_folder(STORE), whole.bytes, n);
        efface_error error = {.message = ""};
        efface_status status =
            efface_store_open(in_folder(STORE), EFFACE_ACCESS_READ, &store, &error);
        if (status == EFFACE_OK) {
            unsigned n_problems = 0;
            status = efface_store_check(store, count_problem, &n_problems, &error);
            assert_true(status == EFFACE_OK && n_problems != 0);
            efface_store_close(store);
        } else if (status != EFFACE_E_FORMAT && status != EFFACE_E_CORRUPT) {
            fail_msg("cut to %zu bytes: status %d, %s", n, (int)status, error.message);
        }
    }
    free(whole.bytes);
}

/* A request is on the disk when the call returns (invariant 1): journal, file, journal. */
static void requests_are_synced(void **state) {
    (void)state;
    efface_store *const store = make_store();
    const unsigned long before = n_syncs;
    forget(store, 5);
    assert_true(n_syncs - before >= 4);
    size_t n_bytes = 1;
    image journal = read_image(in_folder(STORE "-journal"));
    n_bytes = journal.n_bytes;
    free(journal.bytes);
    assert_int_equal(n_bytes, 0);
    efface_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_is_created_and_opened),
        cmocka_unit_test(a_file_is_never_overwritten),
        cmocka_unit_test(columns_have_names_and_texts_have_ids),
        cmocka_unit_test(models_are_fitted_over_all_and_some_columns),
        cmocka_unit_test(models_are_dropped),
        cmocka_unit_test(models_get_new_seeds),
        cmocka_unit_test(names_and_columns_are_checked),
        cmocka_unit_test(what_is_missing_is_named_or_counted),
        cmocka_unit_test(rows_that_cannot_be_learned),
        cmocka_unit_test(rows_without_ids_get_new_ones),
        cmocka_unit_test(a_store_to_read_is_not_changed),
        cmocka_unit_test(arguments_must_be_there),
        cmocka_unit_test(requests_have_receipts),
        cmocka_unit_test(receipts_are_signed),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(a_store_that_was_cut_is_found_out),
        cmocka_unit_test(requests_are_synced),
    };
    return sodium_init() >= 0 ? cmocka_run_group_tests(tests, begin_folder, end_folder) : 1;
}
