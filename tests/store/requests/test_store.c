/*
 * The store as efface_store.h describes it: what each call does, and every error it promises. That
 * models follow requests exactly is test_store_law.c's subject, receipts are test_receipts.c's, and
 * damage is test_store_files.c's.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes/digest.h"
#include "base/random/tape.h"
#include "store/scenes/plain_store.h"

#include <inttypes.h>
#include <sodium.h>
#include <sqlite3.h>

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
        assert_true(row.owner == 1000 + i / 3 && row.weight == 1 && row.label == (int64_t)i - 5);
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
    REFUSED(EFFACE_E_ARGUMENT, "exists already",
            create_plain(in_folder(STORE), data, &store, error));
    efface_error error;
    assert_int_equal(create_plain(in_folder("no/such"), data, &store, &error), EFFACE_E_IO);
    assert_int_equal(create_plain(NULL, data, &store, NULL), EFFACE_E_ARGUMENT);
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
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
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
    efface_model *beside = NULL, *model = NULL;
    image expected = {NULL, 0}, again = {NULL, 0}, found = encode_model(store, name);
    REQUIRE_OK(efface_kmeans_fit(data, params, &beside, error));
    REQUIRE_OK(efface_model_encode(beside, &expected.bytes, &expected.n_bytes, error));
    check_same_image(&expected, &found);
    REQUIRE_OK(efface_store_load(store, name, &loaded, &model, error));
    REQUIRE_OK(efface_model_encode(model, &again.bytes, &again.n_bytes, error));
    check_same_image(&expected, &again);
    assert_int_equal(efface_data_n_columns(loaded), n_columns);
    assert_int_equal(efface_data_n_rows(loaded), N_ROWS);
    efface_bytes_free(expected.bytes);
    efface_bytes_free(again.bytes);
    efface_bytes_free(found.bytes);
    efface_model_free(beside);
    efface_model_free(model);
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
        p->tree.height = i % 2 + 1;
        p->tree.width = 2;
        p->scale = way == 1 || way == 3 || way == 4 ? EFFACE_SCALE_MINMAX : EFFACE_SCALE_NONE;
        p->column_min = way == 3 ? low : NULL;
        p->column_max = way == 3 ? high : NULL;
        p->bound = way == 5 ? 100.0 : 0.0;
        p->tree.depth_clusters = way > 2 ? depths : NULL;
        p->tree.weigh_centroids = way == 2;
        p->tree.leaf_method = way == 0 ? EFFACE_METHOD_QUANTIZED : EFFACE_METHOD_LLOYD;
        p->pyramid.passes = 1 + way % 2;
        p->empty = way == 2 ? EFFACE_EMPTY_KEEP : EFFACE_EMPTY_RESEED;
        (void)snprintf(names[i], sizeof names[i], "m%02u", i);
        const bool narrow = way == 2 || way == 4;
        REQUIRE_OK(fit_plain(store, names[i], p, narrow ? some : NULL, 2, error));
    }
    efface_store_close(store);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    assert_int_equal(info_of(store).n_models, 24);
    for (unsigned i = 0; i < 24; i++) {
        const bool narrow = i % 6 == 2 || i % 6 == 4;
        efface_stored_model info;
        unsigned char digest[EFFACE_DIGEST_BYTES];
        REQUIRE_OK(model_at(store, i, &info, error));
        assert_string_equal(info.name, names[i]);
        assert_int_equal(info.family, EFFACE_FAMILY_KMEANS);
        assert_int_equal(info.n_columns, narrow ? 2 : N_COLUMNS);
        check_fit(store, names[i], &all[i], narrow ? some : NULL, narrow ? 2 : N_COLUMNS);
        image bytes = encode_model(store, names[i]);
        ef_digest(bytes.bytes, bytes.n_bytes, digest);
        assert_memory_equal(digest, info.digest, sizeof digest);
        REQUIRE_OK(efface_store_rekey(store, names[i], all[i].common.seed, error));
        image again = encode_model(store, names[i]);
        check_same_image(&bytes, &again);
        efface_bytes_free(bytes.bytes);
        efface_bytes_free(again.bytes);
    }
    check_whole(store);
    const uint64_t ids[] = {3, 17, 58};
    REQUIRE_OK(forget_ids(store, ids, 3, EFFACE_MISSING_FAIL, NULL, error));
    check_whole(store);
    efface_stored_model info;
    assert_int_equal(model_at(store, 24, &info, NULL), EFFACE_E_NOT_FOUND);
    efface_store_close(store);
}

/* Says "end" when the number, which falls with each question, comes to 0. */
static int count_down(void *context) {
    int *const left = context;
    return --*left == 0;
}

/* What was interrupted has left nothing, and the one who was asked is not asked again. */
static void fits_can_be_interrupted(void **state) {
    (void)state;
    efface_store *const store = make_store();
    int left = 0;
    for (int n = 1;; n++) {
        efface_kmeans_params params = params_of(EFFACE_METHOD_PYRAMID);
        params.common.interrupted = count_down;
        params.common.interrupt_context = &left;
        left = n;
        if (fit_plain(store, "a", &params, NULL, 0, NULL) == EFFACE_OK)
            break;
        assert_int_equal(left, 0);
        assert_int_equal(info_of(store).n_models, 0);
    }
    assert_true(left > 0);
    const efface_kmeans_params params = params_of(EFFACE_METHOD_PYRAMID);
    const int before = left;
    check_fit(store, "a", &params, NULL, N_COLUMNS);
    check_whole(store);
    forget(store, 5);
    REQUIRE_OK(efface_store_rekey(store, "a", 5, error));
    check_whole(store);
    assert_int_equal(left, before);
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
    params.common.seed = 5;
    check_fit(store, "a", &params, NULL, N_COLUMNS);
    REQUIRE_OK(efface_store_rekey(store, NULL, 77, error));
    for (uint64_t i = 0; i < 2; i++) {
        params.common.seed = ef_tape(77, EF_TAPE_REKEY, 0, i, 0);
        check_fit(store, i == 0 ? "a" : "b", &params, NULL, N_COLUMNS);
    }
    check_whole(store);
    REFUSED(EFFACE_E_NOT_FOUND, "c", efface_store_rekey(store, "c", 5, error));
    REFUSED(EFFACE_E_ARGUMENT, "name", efface_store_rekey(store, "not a name", 5, error));
    efface_store_close(store);
}

static void names_and_columns_are_checked(void **state) {
    (void)state;
    static const char *const bad[] = {"", "a b", "a/b", "\xc3\xa4", "a\n", "'", "a;b", ".", ".."};
    static const uint32_t beyond[] = {0, N_COLUMNS}, many[] = {0, 1, 2, 3, 0};
    efface_store *const store = make_store();
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    char longest[EFFACE_MODEL_NAME_BYTES + 1] = "";
    memset(longest, 'x', EFFACE_MODEL_NAME_BYTES);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        REFUSED(EFFACE_E_ARGUMENT, "the name of a model",
                fit_plain(store, bad[i], &params, NULL, 0, error));
    REFUSED(EFFACE_E_ARGUMENT, "the name of a model",
            fit_plain(store, longest, &params, NULL, 0, error));
    longest[EFFACE_MODEL_NAME_BYTES - 1] = '\0';
    REQUIRE_OK(fit_plain(store, longest, &params, NULL, 0, error));
    REQUIRE_OK(fit_plain(store, "A-b_c.9", &params, NULL, 0, error));
    REFUSED(EFFACE_E_DUPLICATE, "A-b_c.9", fit_plain(store, "A-b_c.9", &params, NULL, 0, error));
    REFUSED(EFFACE_E_ARGUMENT, "column 5", fit_plain(store, "c", &params, beyond, 2, error));
    REFUSED(EFFACE_E_ARGUMENT, "columns", fit_plain(store, "c", &params, beyond, 0, error));
    REFUSED(EFFACE_E_ARGUMENT, "columns", fit_plain(store, "c", &params, many, 5, error));
    REFUSED(EFFACE_E_ARGUMENT, "params", fit_plain(store, "c", NULL, NULL, 0, error));
    params.n_clusters = 0;
    REFUSED(EFFACE_E_ARGUMENT, "", fit_plain(store, "c", &params, NULL, 0, error));
    params = params_of(EFFACE_METHOD_LLOYD);
    params.bound = 1.0;
    REFUSED(EFFACE_E_LIMIT, "bound", fit_plain(store, "c", &params, NULL, 0, error));
    image bytes = {NULL, 0};
    efface_difference difference;
    REFUSED(EFFACE_E_NOT_FOUND, "c",
            efface_store_encode(store, "c", &bytes.bytes, &bytes.n_bytes, error));
    REFUSED(EFFACE_E_NOT_FOUND, "c", efface_store_verify(store, "c", &difference, error));
    REFUSED(EFFACE_E_ARGUMENT, "name", efface_store_verify(store, NULL, &difference, error));
    efface_data *data = NULL;
    efface_model *model = NULL;
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
    REFUSED(EFFACE_E_NOT_FOUND, "owner 999, id 123456789012345, id 18446744073709551615 (3 in all)",
            efface_store_forget(store, &request, &report, error));
    REFUSED(EFFACE_E_NOT_FOUND, "id 123456789012345",
            efface_store_preview(store, &request, &report, error));
    assert_int_equal(report.n_requested, 99);
    uint64_t many[20];
    for (uint64_t i = 0; i < 20; i++)
        many[i] = UINT64_MAX - i;
    REFUSED(EFFACE_E_NOT_FOUND, "id 18446744073709551603, ... (20 in all)",
            forget_ids(store, many, 20, EFFACE_MISSING_FAIL, NULL, error));
    assert_int_equal(info_of(store).n_rows, N_ROWS);
    request.missing = EFFACE_MISSING_SKIP;
    REQUIRE_OK(efface_store_forget(store, &request, &report, error));
    assert_int_equal(report.n_requested, 6);
    assert_int_equal(report.n_missing, 3);
    assert_int_equal(report.n_forgotten, 5);
    assert_int_equal(report.receipt, 2); /* the first is that of the model */
    assert_int_equal(report.n_models, 1);
    assert_string_equal(report.models[0].name, "a");
    assert_int_equal(report.models[0].report.rows_forgotten, 5);
    assert_true(report.seconds > 0.0);
    efface_stored_model info;
    REQUIRE_OK(model_at(store, 0, &info, error));
    assert_memory_equal(report.models[0].after, info.commitment, EFFACE_DIGEST_BYTES);
    assert_memory_not_equal(report.models[0].before, info.commitment, EFFACE_DIGEST_BYTES);
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
            efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    data = make_rows(3, N_ROWS - 1, true);
    REFUSED(EFFACE_E_DUPLICATE, "59", efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    data = make_rows(3, 0, true); /* ids that are positions are ids all the same */
    REFUSED(EFFACE_E_DUPLICATE, "0", efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    const float values[N_COLUMNS] = {0};
    const int64_t weight = EFFACE_MAX_WEIGHT - N_ROWS;
    const uint64_t id = 5000;
    const efface_rows heavy = {.n_rows = 1, .values = values, .ids = &id, .weights = &weight};
    data = make_data(N_COLUMNS, &heavy);
    REFUSED(EFFACE_E_LIMIT, "2^40", efface_store_learn(store, data, NULL, NULL, error));
    REQUIRE_OK(efface_store_drop(store, "a", error));
    REFUSED(EFFACE_E_LIMIT, "2^40", efface_store_learn(store, data, NULL, NULL, error));
    forget(store, 0);
    REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    params.bound = 100.0;
    REQUIRE_OK(fit_plain(store, "bounded", &params, NULL, 0, error));
    forget(store, 5000);
    const float far[N_COLUMNS] = {0, 0, 101.0F, 0};
    const efface_rows outside = {.n_rows = 1, .values = far, .ids = &id};
    data = make_data(N_COLUMNS, &outside);
    REFUSED(EFFACE_E_LIMIT, "bound", efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    check_whole(store);
    efface_store_close(store);
}

/* Random ids, told in the report, of 63 bits; none that was ever there comes again. */
static void rows_without_ids_get_new_ones(void **state) {
    (void)state;
    efface_store *store = make_store();
    forget(store, N_ROWS - 1);
    efface_data *data = make_rows(2, 300, false);
    efface_store_report report;
    uint64_t ids[4];
    REQUIRE_OK(efface_store_learn(store, data, NULL, &report, error));
    assert_int_equal(report.n_learned, 2);
    assert_int_equal(report.n_requested, 2);
    assert_int_equal(report.n_forgotten, 0);
    memcpy(ids, report.new_ids, sizeof ids / 2);
    efface_store_report_free(&report);
    efface_store_close(store);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    REQUIRE_OK(efface_store_learn(store, data, NULL, &report, error));
    memcpy(ids + 2, report.new_ids, sizeof ids / 2);
    efface_store_report_free(&report);
    efface_data_free(data);
    for (int i = 0; i < 4; i++) {
        assert_true(ids[i] <= INT64_MAX && ids[i] > 1u << 30); /* but for one in 2^33 */
        for (int j = 0; j < i; j++)
            assert_true(ids[i] != ids[j]);
        /* In the order of positions: the rows are those that came. */
        const efface_request request = {.ids = &ids[i], .n_ids = 1};
        efface_data *found = NULL;
        float values[N_COLUMNS];
        REQUIRE_OK(efface_store_find(store, &request, &found, error));
        assert_int_equal(efface_data_n_rows(found), 1);
        efface_data_values(found, 0, values);
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            assert_true(values[j] == value_of(300 + (uint64_t)i % 2, j));
        efface_data_free(found);
    }
    check_whole(store);
    REQUIRE_OK(forget_ids(store, ids, 4, EFFACE_MISSING_FAIL, NULL, error));
    assert_int_equal(info_of(store).n_rows, N_ROWS - 1);
    /* A set that has lost rows keeps the ids of the others. */
    data = make_rows(40, 0, false);
    REQUIRE_OK(efface_data_remove(data, (uint64_t[]){5, 39}, 2, error));
    REFUSED(EFFACE_E_DUPLICATE, "the id", efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    /* The largest id takes none from those that come without. */
    data = make_rows(1, UINT64_MAX, true);
    REQUIRE_OK(efface_store_learn(store, data, NULL, &report, error));
    assert_null(report.new_ids);
    efface_store_report_free(&report);
    efface_data_free(data);
    data = make_rows(1, 0, false);
    REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    check_whole(store);
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
    REFUSED(EFFACE_E_ARGUMENT, "reading only", efface_store_forget(store, &request, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "reading only", efface_store_learn(store, data, NULL, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "reading only", fit_plain(store, "b", &params, NULL, 0, error));
    REFUSED(EFFACE_E_ARGUMENT, "reading only", efface_store_update(store, data, NULL, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "reading only", efface_store_compact(store, error));
    REFUSED(EFFACE_E_ARGUMENT, "reading only", efface_store_drop(store, "a", error));
    REFUSED(EFFACE_E_ARGUMENT, "reading only", efface_store_rekey(store, NULL, 1, error));
    REQUIRE_OK(efface_store_preview(store, &request, NULL, error));
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
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_learn(store, NULL, NULL, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_get_info(store, NULL, error));
    efface_stored_model *models = NULL;
    size_t n_models = 0;
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_models(store, NULL, &n_models, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_models(store, &models, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_find_model(store, "a", NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_fit(store, NULL, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_find(store, &request, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_owners(store, NULL, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_update(store, NULL, NULL, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_check(store, NULL, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_receipt(store, 1, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_drop(NULL, "a", error));
    efface_store_close(store);
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

static int count_told(void *context, efface_phase phase, double part) {
    (void)phase;
    (void)part;
    ++*(unsigned long *)context;
    return 0;
}

/* Requests of every method tell how far they are, and only the caller. In a small tree nearly
 * every request fits a node again. */
static void requests_tell_their_progress(void **state) {
    (void)state;
    unsigned long n_told = 0;
    for (int method = EFFACE_METHOD_LLOYD; method <= EFFACE_METHOD_TREE; method++) {
        efface_kmeans_params params = params_of((efface_method)method);
        params.tree.width = 2;
        params.tree.height = 2;
        efface_store *store = make_store();
        REQUIRE_OK(fit_plain(store, "a", &params, NULL, 0, error));
        efface_store_close(store);
        efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
        options.progress = count_told;
        options.progress_context = &n_told;
        REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
        const unsigned long before = n_told;
        for (uint64_t id = 0; id < N_ROWS - 3; id++)
            forget(store, id);
        assert_true(n_told > before);
        check_whole(store);
        efface_store_close(store);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_tell_their_progress),
        cmocka_unit_test(a_store_is_created_and_opened),
        cmocka_unit_test(a_file_is_never_overwritten),
        cmocka_unit_test(columns_have_names_and_texts_have_ids),
        cmocka_unit_test(models_are_fitted_over_all_and_some_columns),
        cmocka_unit_test(fits_can_be_interrupted),
        cmocka_unit_test(models_are_dropped),
        cmocka_unit_test(models_get_new_seeds),
        cmocka_unit_test(names_and_columns_are_checked),
        cmocka_unit_test(what_is_missing_is_named_or_counted),
        cmocka_unit_test(rows_that_cannot_be_learned),
        cmocka_unit_test(rows_without_ids_get_new_ones),
        cmocka_unit_test(a_store_to_read_is_not_changed),
        cmocka_unit_test(arguments_must_be_there),
        cmocka_unit_test(requests_are_synced),
    };
    return sodium_init() >= 0 ? cmocka_run_group_tests(tests, begin_folder, end_folder) : 1;
}
