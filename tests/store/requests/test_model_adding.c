/*
 * Adding models: others change the rows while one is fitted (model_adding.c), a thousand of them,
 * states that are larger than a store can hold, and lists that do without the states.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/plain_store.h"
#include "store/scenes/sql_scene.h"
#include "store/seals/seals.h"
#include "store/store.h"

#include <sodium.h>
#include <sys/wait.h>

/* ---------------------------------------------------------------- changes meanwhile */

static void learn_rows(efface_store *store, size_t n, uint64_t first) {
    efface_data *const data = make_rows(n, first, true);
    REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
}

/* Gives rows the values of others; or, with their own values, another weight, or another label. */
static void update_rows(efface_store *store, uint64_t first, size_t n, uint64_t values_of,
                        int64_t weight, int64_t label) {
    float values[N_ROWS * N_COLUMNS];
    uint64_t ids[N_ROWS];
    int64_t weights[N_ROWS], labels[N_ROWS];
    for (size_t i = 0; i < n; i++) {
        ids[i] = first + i;
        weights[i] = weight;
        labels[i] = label;
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            values[i * N_COLUMNS + j] = value_of(values_of + i, j);
    }
    const efface_rows rows = {.n_rows = n,
                              .values = values,
                              .ids = ids,
                              .weights = weight != 0 ? weights : NULL,
                              .labels = label != 0 ? labels : NULL};
    efface_data *const data = make_data(N_COLUMNS, &rows);
    REQUIRE_OK(efface_store_update(store, data, NULL, NULL, error));
    efface_data_free(data);
}

static void forget_range(efface_store *store, uint64_t first, size_t n) {
    uint64_t ids[N_ROWS];
    for (size_t i = 0; i < n; i++)
        ids[i] = first + i;
    REQUIRE_OK(forget_ids(store, ids, n, EFFACE_MISSING_FAIL, NULL, error));
}

static void change_nothing(efface_store *store) {
    (void)store;
}

static void change_by_forgetting(efface_store *store) {
    forget_range(store, 10, 5);
    forget(store, 59);
}

static void change_by_learning(efface_store *store) {
    learn_rows(store, 3, 60);
    learn_rows(store, 5, UINT64_C(0x1234567890ABCDEF));
}

static void change_values(efface_store *store) {
    update_rows(store, 0, 7, 900, 0, 0);
}

static void change_weights(efface_store *store) {
    update_rows(store, 40, 4, 40, 9, 0);
}

static void change_labels(efface_store *store) {
    update_rows(store, 40, 4, 40, 0, 77);
}

static void change_and_change_back(efface_store *store) {
    forget_range(store, 20, 3);
    learn_rows(store, 3, 20);
}

/* Rows that leave, come, and come under an id that left with other values. */
static void change_all_ways(efface_store *store) {
    change_by_forgetting(store);
    change_by_learning(store);
    change_weights(store);
    efface_data *const data = make_rows(2, 700, true);
    REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    const float values[N_COLUMNS] = {50, 60, 70, 80};
    const uint64_t id = 12;
    const efface_rows again = {.n_rows = 1, .values = values, .ids = &id};
    efface_data *const other = make_data(N_COLUMNS, &again);
    REQUIRE_OK(efface_store_learn(store, other, NULL, NULL, error));
    efface_data_free(other);
}

/* A row in the last bucket of ids that are spread, in which it is alone; when buckets are chosen
 * anew it belongs into the one before, which is empty before and after it left. */
static uint64_t lone_id;

static void learn_lone_row(efface_store *store) {
    assert_int_equal(ef_buckets(&store->head), 4);
    for (lone_id = 64; ef_bucket_of(&store->head, lone_id) != 3;)
        lone_id++;
    assert_true(lone_id < 96);
    learn_rows(store, 1, lone_id);
}

static void change_all_away(efface_store *store) {
    forget_range(store, 0, N_ROWS);
    forget(store, lone_id);
}

/* So many rows that buckets are chosen anew; others leave. */
static void change_until_spread_anew(efface_store *store) {
    const uint64_t before = store->head.dense;
    for (uint64_t i = 0; i < 6; i++)
        learn_rows(store, N_ROWS, 1000 + i * N_ROWS);
    forget_range(store, 3, 9);
    forget(store, lone_id);
    assert_true(store->head.dense > before);
    assert_int_equal(ef_bucket_of(&store->head, lone_id), 2);
}

/* Another model comes meanwhile. */
static void change_models(efface_store *store) {
    const efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    REQUIRE_OK(fit_plain(store, "other", &params, NULL, 0, error));
    forget(store, 31);
}

typedef void (*changer)(efface_store *store);

static const changer changers[] = {
    change_nothing,         change_by_forgetting,
    change_by_learning,     change_values,
    change_weights,         change_labels,
    change_all_ways,        change_all_away,
    change_and_change_back, change_until_spread_anew,
    change_models,
};

#define N_CHANGERS (sizeof changers / sizeof changers[0])

typedef struct meanwhile {
    changer change;
    bool in_a_child, done;
} meanwhile;

/* Asked during the fit: the first time, another handle, or another process, changes the store. */
static int change_once(void *context) {
    meanwhile *const m = context;
    if (m->done)
        return 0;
    m->done = true;
    const pid_t pid = m->in_a_child ? fork() : 0;
    if (pid == 0) {
        efface_store *const other = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
        m->change(other);
        efface_store_close(other);
        if (m->in_a_child)
            _exit(0);
    } else {
        int how = 0;
        assert_true(pid > 0 && waitpid(pid, &how, 0) == pid && WIFEXITED(how) &&
                    WEXITSTATUS(how) == 0);
    }
    return 0;
}

/* The model in the store is that of a fit to the rows that the store has now; so is the one that
 * was handed out. */
static void check_added(efface_store *store, efface_model *model, const char *name) {
    image kept = encode_model(store, name), handed = {NULL, 0};
    REQUIRE_OK(efface_model_encode(model, &handed.bytes, &handed.n_bytes, error));
    check_same_image(&kept, &handed);
    efface_bytes_free(kept.bytes);
    efface_bytes_free(handed.bytes);
    check_whole(store);
}

static void others_change_rows_meanwhile(void **state) {
    (void)state;
    static const uint32_t some[] = {3, 1};
    for (size_t i = 0; i < N_CHANGERS; i++)
        for (int way = 0; way < 9; way++) {
            efface_store *const store = make_store();
            fit(store, "before", EFFACE_METHOD_QUANTIZED);
            learn_lone_row(store);
            efface_kmeans_params params = params_of((efface_method)(way % 4));
            meanwhile m = {.change = changers[i], .in_a_child = way == 8};
            params.scale = way % 2 == 0 ? EFFACE_SCALE_MINMAX : EFFACE_SCALE_NONE;
            params.common.interrupted = change_once;
            params.common.interrupt_context = &m;
            const efface_new_model asked = {.name = "new",
                                            .params = &params.common,
                                            .columns = way >= 4 ? some : NULL,
                                            .n_columns = 2};
            efface_model *model = NULL;
            REQUIRE_OK(efface_store_fit(store, &asked, &model, error));
            assert_true(m.done);
            check_added(store, model, "new");
            efface_model_free(model);
            /* It follows from now on. */
            learn_rows(store, 2, 5000);
            forget(store, 5001);
            check_whole(store);
            efface_store_close(store);
        }
}

/* The name is taken meanwhile; the row damaged; the fit interrupted after all. */
static void take_the_name(efface_store *store) {
    const efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    REQUIRE_OK(fit_plain(store, "new", &params, NULL, 0, error));
}

static void spoil_a_row(efface_store *store) {
    forget(store, 4);
    run_sql(in_folder(STORE), "UPDATE rows SET weight = 3 WHERE id = 8");
}

static int change_and_end(void *context) {
    (void)change_once(context);
    return 1;
}

static void additions_that_fail(void **state) {
    (void)state;
    static const struct {
        changer change;
        efface_status status;
        bool ends;
    } cases[] = {{take_the_name, EFFACE_E_DUPLICATE, false},
                 {spoil_a_row, EFFACE_E_CORRUPT, false},
                 {change_by_forgetting, EFFACE_E_INTERRUPTED, true}};
    for (size_t i = 0; i < 3; i++) {
        efface_store *const store = make_store();
        efface_kmeans_params params = params_of(EFFACE_METHOD_PYRAMID);
        meanwhile m = {.change = cases[i].change};
        params.common.interrupted = cases[i].ends ? change_and_end : change_once;
        params.common.interrupt_context = &m;
        const efface_new_model asked = {.name = "new", .params = &params.common};
        efface_model *model = NULL;
        assert_int_equal(efface_store_fit(store, &asked, &model, NULL), cases[i].status);
        assert_null(model);
        assert_int_equal(info_of(store).n_models, i == 0);
        if (cases[i].status != EFFACE_E_CORRUPT)
            check_whole(store);
        efface_store_close(store);
    }
}

/* ---------------------------------------------------------------- many, and large ones */

static void a_thousand_models(void **state) {
    (void)state;
    efface_store *store = make_store();
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    const uint32_t column = 1;
    params.n_clusters = 1;
    params.iterations = 1;
    params.common.n_threads = 1;
    char name[16];
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "m%03u", i);
        REQUIRE_OK(fit_plain(store, name, &params, &column, 1, error));
    }
    efface_stored_model *models = NULL;
    size_t n = 0;
    for (int round = 0; round < 2; round++) {
        REQUIRE_OK(efface_store_models(store, &models, &n, error));
        assert_int_equal(n, 1000);
        for (unsigned i = 0; i < 1000; i++) {
            (void)snprintf(name, sizeof name, "m%03u", i);
            assert_string_equal(models[i].name, name);
            assert_true(models[i].n_columns == 1);
        }
        efface_model_list_free(models);
        efface_stored_model one;
        REQUIRE_OK(efface_store_find_model(store, "m500", &one, error));
        uint32_t *columns = NULL;
        REQUIRE_OK(efface_store_model_columns(store, "m500", &columns, error));
        assert_int_equal(columns[0], 1);
        efface_columns_free(columns);
        if (round == 1)
            break;
        forget(store, 3);
        assert_int_equal(info_of(store).n_models, 1000);
        /* A list needs no state, and finds nothing wrong with one that nobody can read. */
        efface_store_close(store);
        run_sql(in_folder(STORE), "UPDATE models SET state = x'00' WHERE name < 'm900'");
        store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    }
    image bytes = {NULL, 0};
    REFUSED(EFFACE_E_CORRUPT, "state",
            efface_store_encode(store, "m500", &bytes.bytes, &bytes.n_bytes, error));
    efface_store_close(store);
}

/* Has SQLite refuse larger values, in every connection. */
static int limit_values(sqlite3 *db, char **message, const void *calls) {
    (void)message, (void)calls;
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 20000);
    return SQLITE_OK;
}

/* SQLite has a limit for one value, which a state may exceed: it stands in parts. */
static void states_larger_than_a_value(void **state) {
    (void)state;
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    params.n_clusters = 50;
    params.iterations = 10;
    params.candidates = 8;
    assert_int_equal(sqlite3_auto_extension((void (*)(void))limit_values), SQLITE_OK);
    efface_store *store = make_store();
    REQUIRE_OK(fit_plain(store, "large", &params, NULL, 0, error));
    image bytes = encode_model(store, "large");
    assert_true(bytes.n_bytes > 20000);
    efface_bytes_free(bytes.bytes);
    check_whole(store);
    /* It shrinks with its rows, and grows again. */
    forget_range(store, 0, N_ROWS - 2);
    check_whole(store);
    efface_data *const data = make_rows(N_ROWS, 3000, true);
    REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    bytes = encode_model(store, "large");
    assert_true(bytes.n_bytes > 20000);
    efface_bytes_free(bytes.bytes);
    REQUIRE_OK(efface_store_rekey(store, "large", 77, error));
    check_whole(store);
    efface_store_close(store);
    (void)sqlite3_cancel_auto_extension((void (*)(void))limit_values);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_change_rows_meanwhile),
        cmocka_unit_test(additions_that_fail),
        cmocka_unit_test(a_thousand_models),
        cmocka_unit_test(states_larger_than_a_value),
    };
    return sodium_init() >= 0 ? cmocka_run_group_tests(tests, begin_folder, end_folder) : 1;
}
