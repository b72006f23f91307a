/*
 * Reading a store beside those who write: models without their rows (efface_store_model), and the
 * number that tells whether anything has changed (efface_store_count_changes).
 */
#define _XOPEN_SOURCE 700
#include "efface/efface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "law/law_families.h"
#include "store/scenes/plain_store.h"

#include <sqlite3.h>

/* ---------------------------------------------------------------- models without rows */

static void fit_way(efface_store *store, const law_family *family, unsigned way, const char *name) {
    static const uint32_t some[] = {3, 0, 1};
    law_params params;
    const bool all = way % 2 == 0;
    family->choose(&params, way, all ? N_COLUMNS : 3);
    const efface_new_model asked = {.name = name,
                                    .params = &params.common,
                                    .columns = all ? NULL : some,
                                    .n_columns = all ? 0 : 3};
    REQUIRE_OK(efface_store_fit(store, &asked, NULL, error));
}

static void check_same_bytes(const efface_model *a, const efface_model *b) {
    image x = {NULL, 0}, y = {NULL, 0};
    unsigned char digests[2][EFFACE_DIGEST_BYTES];
    REQUIRE_OK(efface_model_encode(a, &x.bytes, &x.n_bytes, error));
    REQUIRE_OK(efface_model_encode(b, &y.bytes, &y.n_bytes, error));
    REQUIRE_OK(efface_model_digest(a, digests[0], error));
    REQUIRE_OK(efface_model_digest(b, digests[1], error));
    check_same_image(&x, &y);
    assert_memory_equal(digests[0], digests[1], EFFACE_DIGEST_BYTES);
    efface_bytes_free(x.bytes);
    efface_bytes_free(y.bytes);
}

/* Both predict the same, or refuse with the same words. */
static void check_same_answers(const efface_model *cold, const efface_model *hot,
                               const efface_data *data) {
    const efface_model_info a = efface_model_get_info(cold), b = efface_model_get_info(hot);
    assert_true(a.n_rows == b.n_rows && a.n_columns == b.n_columns && a.n_numbers == b.n_numbers &&
                a.n_classes == b.n_classes && a.family == b.family);
    const uint32_t room = a.n_numbers != 0 ? a.n_numbers : 1;
    efface_number *const x = calloc(room, sizeof *x), *const y = calloc(room, sizeof *y);
    assert_true(x != NULL && y != NULL);
    for (size_t i = 0; i < efface_data_n_rows(data); i += 7) {
        float values[N_COLUMNS];
        efface_error why[2] = {{.message = ""}, {.message = ""}};
        efface_data_values(data, i, values);
        const efface_status one =
            efface_predictor_predict(efface_model_predictor(cold), 1, values, 0, x, &why[0]);
        const efface_status two =
            efface_predictor_predict(efface_model_predictor(hot), 1, values, 0, y, &why[1]);
        assert_int_equal(one, two);
        if (one == EFFACE_OK)
            assert_memory_equal(x, y, a.n_numbers * sizeof *x);
        else
            assert_string_equal(why[0].message, why[1].message);
    }
    free(x);
    free(y);
}

/* What needs rows, or changes the model, is refused, whatever set is given. */
static void check_refuses(efface_model *cold, efface_data *data) {
    const uint64_t id = 5;
    const efface_request request = {.ids = &id, .n_ids = 1};
    const float values[N_COLUMNS] = {0};
    const efface_rows row = {.n_rows = 1, .values = values, .ids = &id};
    const size_t n = efface_data_n_rows(data);
    assert_int_equal(efface_model_forget(cold, data, &request, NULL, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_model_learn(cold, data, &row, NULL, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_model_update(cold, data, &row, NULL, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_model_preview(cold, data, &request, NULL, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_model_rekey(cold, data, 3, NULL, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_data_n_rows(data), n);
}

/* Calls that take any set of rows: it verifies against those of the store. */
static void check_itself(const law_family *family, const efface_model *cold,
                         const efface_data *data) {
    efface_difference difference;
    REQUIRE_OK(efface_model_verify(cold, data, &difference, error));
    assert_true(difference.identical);
    if (family->use != NULL)
        family->use(cold, data);
}

static void models_without_rows(void **state) {
    (void)state;
    for (size_t f = 0; f < law_n_families; f++)
        for (unsigned way = 0; way < law_families[f]->n_ways; way++) {
            if (way % 2 != 0 && law_families[f]->least_columns > 3)
                continue;
            efface_store *const store = make_store();
            fit_way(store, law_families[f], way, "one");
            for (int round = 0; round < 2; round++) {
                efface_data *data = NULL, *empty = NULL;
                efface_model *hot = NULL, *cold = NULL;
                REQUIRE_OK(efface_store_load(store, "one", &data, &hot, error));
                REQUIRE_OK(efface_store_model(store, "one", &cold, error));
                check_same_bytes(cold, hot);
                check_same_answers(cold, hot, data);
                check_refuses(cold, data);
                check_itself(law_families[f], cold, data);
                REQUIRE_OK(efface_data_create(efface_data_n_columns(data), &empty, error));
                check_refuses(cold, empty);
                check_same_bytes(cold, hot);
                efface_model_free(hot);
                efface_data_free(data);
                efface_data_free(empty);
                /* It does not follow the store. */
                image before = encode_model(store, "one");
                forget(store, (uint64_t)(10 + round));
                image own = {NULL, 0};
                REQUIRE_OK(efface_model_encode(cold, &own.bytes, &own.n_bytes, error));
                check_same_image(&own, &before);
                efface_bytes_free(own.bytes);
                efface_bytes_free(before.bytes);
                efface_model_free(cold);
            }
            efface_store_close(store);
        }
}

static void models_that_are_not_there(void **state) {
    (void)state;
    efface_store *const store = make_store();
    efface_model *model = NULL;
    fit(store, "one", EFFACE_METHOD_LLOYD);
    REFUSED(EFFACE_E_NOT_FOUND, "other", efface_store_model(store, "other", &model, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_model(store, NULL, &model, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_model(NULL, "one", &model, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_model(store, "one", NULL, error));
    assert_null(model);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- the number of changes */

static uint64_t count_of(efface_store *store) {
    uint64_t count = UINT64_MAX;
    REQUIRE_OK(efface_store_count_changes(store, &count, error));
    assert_true(count <= UINT32_MAX);
    return count;
}

/* All handles see a change, whoever made it, and none where there was none. */
static void changes_are_counted(void **state) {
    (void)state;
    efface_store *const store = make_store();
    fit(store, "one", EFFACE_METHOD_PYRAMID);
    efface_store *const reader = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    uint64_t count = count_of(reader);
    assert_int_equal(count_of(store), count);
    for (uint64_t i = 0; i < 4; i++) {
        switch (i) {
        case 0: forget(store, 3); break;
        case 1: fit(store, "two", EFFACE_METHOD_LLOYD); break;
        case 2: REQUIRE_OK(efface_store_rekey(store, "one", 99, error)); break;
        default: REQUIRE_OK(efface_store_drop(store, "two", error)); break;
        }
        const uint64_t now = count_of(reader);
        assert_true(now != count);
        assert_int_equal(count_of(store), now);
        assert_int_equal(count_of(reader), now);
        count = now;
    }
    /* Reading, and requests that fail, change nothing. */
    check_whole(reader);
    const uint64_t missing = 12345;
    assert_int_equal(forget_ids(store, &missing, 1, EFFACE_MISSING_FAIL, NULL, NULL),
                     EFFACE_E_NOT_FOUND);
    assert_int_equal(count_of(reader), count);
    assert_int_equal(count_of(store), count);
    /* Another process. */
    const pid_t child = fork();
    if (child == 0) {
        efface_store *other = NULL;
        const uint64_t id = 7;
        const efface_request request = {.ids = &id, .n_ids = 1};
        _exit(open_plain(in_folder(STORE), EFFACE_ACCESS_WRITE, &other, NULL) == EFFACE_OK &&
                      efface_store_forget(other, &request, NULL, NULL) == EFFACE_OK
                  ? 0
                  : 1);
    }
    int how = 1;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    assert_true(count_of(reader) != count);
    assert_int_equal(count_of(reader), count_of(store));
    efface_store_close(reader);
    efface_store_close(store);
}

/* It takes no lock: neither is it kept out by a writer, nor does it keep a writer out. */
static void counting_takes_no_lock(void **state) {
    (void)state;
    efface_store *const store = make_store();
    efface_store *const reader = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    const uint64_t count = count_of(reader);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(in_folder(STORE), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(count_of(reader), count);
    (void)sqlite3_close(db);
    forget(store, 1);
    assert_true(count_of(reader) != count);
    efface_store_close(reader);
    efface_store_close(store);
}

static void another_file_has_the_name(void **state) {
    (void)state;
    for (int way = 0; way < 2; way++) {
        efface_store_close(make_store());
        efface_store *const reader = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
        uint64_t count = count_of(reader);
        image file = read_image(in_folder(STORE));
        assert_int_equal(rename(in_folder(STORE), in_folder("moved")), 0);
        if (way == 1)
            write_image(in_folder(STORE), file.bytes, file.n_bytes);
        free(file.bytes);
        efface_error error = {.message = ""};
        assert_int_equal(efface_store_count_changes(reader, &count, &error), EFFACE_E_CORRUPT);
        assert_non_null(strstr(error.message, "open it again"));
        efface_store_close(reader);
        empty_folder();
    }
    efface_store *const store = make_store();
    uint64_t count;
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_count_changes(store, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_count_changes(NULL, &count, error));
    efface_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_without_rows),       cmocka_unit_test(models_that_are_not_there),
        cmocka_unit_test(changes_are_counted),       cmocka_unit_test(counting_takes_no_lock),
        cmocka_unit_test(another_file_has_the_name),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
