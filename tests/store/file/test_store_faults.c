/*
 * The disk fails, memory runs out, the power goes: a request is done or it is not (store.c,
 * invariant 1).
 *
 * For every operation, the n-th thing that is done to the disk, or the n-th allocation, fails, for
 * n = 1, 2, ... until nothing is left to fail. A call that returns OK has done its work, for good:
 * the power may go the moment it returns. One that returns an error has done nothing, and the same
 * handle does the work when asked again. If the power goes in between, the file holds all of it or
 * nothing, once it is opened on a real disk.
 *
 * "All" and "nothing" are compared as everything that is in the tables, but for the time of a
 * receipt, and for seals, whose key is random: what they say is for check_whole.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/faulty_vfs.h"
#include "store/scenes/short_memory.h"
#include "store/scenes/sql_scene.h"

#include <sqlite3.h>
#include <time.h>

#define N_ROWS 90
#define N_COLUMNS 3
#define STORE "fault.efface"

static struct {
    unsigned long failures, refused, lost, kept_old, kept_new, allocations, uncertain;
} seen;

/* The receipts of a group name the digests of receipts before them, whose time is in these. */
time_t time(time_t *now) {
    if (now != NULL)
        *now = 1700000000;
    return 1700000000;
}

/* ---------------------------------------------------------------- operations */

static float whole_value(uint64_t row, uint32_t column) {
    uint64_t z = row * 1000 + column + 77;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return (float)(row % 5 * 8 + z % 4);
}

/* Rows of a set whose columns have offsets: the store then has some, too. */
static efface_data *make_shifted(const efface_rows *rows) {
    static const double offsets[N_COLUMNS] = {0.0, 1e9};
    efface_data *data = NULL;
    REQUIRE_OK(efface_data_create(N_COLUMNS, &data, error));
    REQUIRE_OK(efface_data_set_offsets(data, offsets, error));
    REQUIRE_OK(efface_data_add(data, rows, error));
    return data;
}

static efface_data *make_rows(size_t n, uint64_t first) {
    float values[N_ROWS * N_COLUMNS];
    uint64_t ids[N_ROWS], owners[N_ROWS];
    for (size_t i = 0; i < n; i++) {
        ids[i] = first + 3 * i;
        owners[i] = 1 + i / 4;
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            values[i * N_COLUMNS + j] = whole_value(first + i, j);
    }
    const efface_rows rows = {.n_rows = n, .values = values, .ids = ids, .owners = owners};
    return make_shifted(&rows);
}

static efface_kmeans_params some_params(efface_method method) {
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.method = method;
    params.candidates = 1;
    params.n_clusters = 4;
    params.iterations = 3;
    params.common.seed = 11;
    params.common.n_threads = 1;
    params.epsilon = 0.25;
    params.pyramid.rate = 1.0 / 8.0;
    return params;
}

static uint64_t cold_id, hot_id;

static efface_status forget_id(efface_store *store, uint64_t id, efface_error *error) {
    const efface_request request = {.ids = &id, .n_ids = 1};
    return efface_store_forget(store, &request, NULL, error);
}

static efface_status forget_cold(efface_store *store, efface_error *error) {
    return forget_id(store, cold_id, error);
}

static efface_status forget_hot(efface_store *store, efface_error *error) {
    return forget_id(store, hot_id, error);
}

static efface_status forget_owners(efface_store *store, efface_error *error) {
    const uint64_t owners[] = {2, 5, 7};
    const efface_request request = {.owners = owners, .n_owners = 3};
    return efface_store_forget(store, &request, NULL, error);
}

static efface_data *newcomers;

static efface_status learn(efface_store *store, efface_error *error) {
    return efface_store_learn(store, newcomers, NULL, NULL, error);
}

/* Rows that are there get other values, and one of them another owner. */
static efface_data *changed;

static efface_data *make_changed(void) {
    const uint64_t ids[] = {3, 6, 93}, owners[] = {EFFACE_NO_OWNER, 900, EFFACE_NO_OWNER};
    const float values[3 * N_COLUMNS] = {1, 2, 3, 14, 5, 6, 7, 28, 9};
    const efface_rows rows = {.n_rows = 3, .values = values, .ids = ids, .owners = owners};
    return make_shifted(&rows);
}

static efface_status update(efface_store *store, efface_error *error) {
    return efface_store_update(store, changed, NULL, NULL, error);
}

/* Requests in one transaction, of which one must fail; the failure of the call is that of all. */
static efface_status change_all(efface_store *store, efface_error *error) {
    const uint64_t ids[] = {cold_id, hot_id, 99999, 264};
    efface_request requests[4];
    efface_store_change changes[6] = {
        [0] = {.kind = EFFACE_CHANGE_UPDATE, .data = changed},
        [2] = {.kind = EFFACE_CHANGE_LEARN, .data = newcomers},
    };
    for (size_t i = 0; i < 4; i++) {
        requests[i] = (efface_request){.ids = &ids[i], .n_ids = 1};
        changes[i == 0 ? 1 : i + 2].request = &requests[i];
    }
    const efface_status status = efface_store_change_all(store, changes, 6, error);
    for (size_t i = 0; i < 6; i++) {
        const efface_status wanted = i == 4 ? EFFACE_E_NOT_FOUND : EFFACE_OK;
        assert_int_equal(changes[i].status, status == EFFACE_OK ? wanted : status);
        assert_true(status == EFFACE_OK || changes[i].report.n_models == 0);
        efface_store_report_free(&changes[i].report);
    }
    return status;
}

static efface_status fit(efface_store *store, efface_error *error) {
    static const uint32_t columns[] = {2, 0};
    const efface_kmeans_params params = some_params(EFFACE_METHOD_LLOYD);
    return fit_plain(store, "new", &params, columns, 2, error);
}

static efface_status drop(efface_store *store, efface_error *error) {
    return efface_store_drop(store, "pyramid", error);
}

static efface_status rekey(efface_store *store, efface_error *error) {
    return efface_store_rekey(store, NULL, 5, error);
}

typedef struct operation {
    const char *name;
    efface_status (*run)(efface_store *store, efface_error *error);
    bool resident; /* the handle has rows and models in memory, from a request before */
} operation;

static const operation operations[] = {
    {.name = "forget, cold", .run = forget_cold},
    {.name = "forget, hot", .run = forget_hot},
    {.name = "forget owners", .run = forget_owners},
    {.name = "learn", .run = learn},
    {.name = "update", .run = update},
    {.name = "group", .run = change_all},
    {.name = "group, resident", .run = change_all, .resident = true},
    {.name = "fit", .run = fit},
    {.name = "drop", .run = drop},
    {.name = "rekey", .run = rekey},
};

#define N_OPERATIONS (sizeof operations / sizeof operations[0])

static image base; /* the file that operations begin with */
static text base_text, done_texts[N_OPERATIONS];

/* A row that no model takes notice of, and one that makes a model look at its rows again. */
static void choose_ids(efface_store *store) {
    cold_id = hot_id = UINT64_MAX;
    for (uint64_t id = 0; id < 3 * N_ROWS; id += 3) {
        efface_store_report report;
        const efface_request look = {.ids = &id, .n_ids = 1};
        if (efface_store_preview(store, &look, &report, NULL) != EFFACE_OK)
            continue;
        unsigned touched = 0;
        for (uint32_t i = 0; i < report.n_models; i++)
            touched += report.models[i].report.action != EFFACE_ACTION_ADJUSTED;
        cold_id = touched == 0 && cold_id == UINT64_MAX ? id : cold_id;
        hot_id = touched != 0 && hot_id == UINT64_MAX ? id : hot_id;
        efface_store_report_free(&report);
    }
    assert_true(cold_id != UINT64_MAX && hot_id != UINT64_MAX);
}

static int begin_all(void **state) {
    if (begin_folder(state) != 0)
        return -1;
    efface_store *store = NULL;
    efface_data *const data = make_rows(N_ROWS, 0);
    newcomers = make_rows(12, 100);
    changed = make_changed();
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
    efface_data_free(data);
    const efface_kmeans_params a = some_params(EFFACE_METHOD_QUANTIZED);
    const efface_kmeans_params b = some_params(EFFACE_METHOD_PYRAMID);
    REQUIRE_OK(fit_plain(store, "quantized", &a, NULL, 0, error));
    REQUIRE_OK(fit_plain(store, "pyramid", &b, NULL, 0, error));
    REQUIRE_OK(forget_id(store, 33, error));
    choose_ids(store);
    efface_store_close(store);
    base = read_image(in_folder(STORE));
    base_text = describe(in_folder(STORE));
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        write_image(in_folder(STORE), base.bytes, base.n_bytes);
        store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
        REQUIRE_OK(operations[i].run(store, error));
        check_whole(store);
        efface_store_close(store);
        done_texts[i] = describe(in_folder(STORE));
        assert_false(same(&base_text, &done_texts[i]));
    }
    return 0;
}

static int end_all(void **state) {
    free(base.bytes);
    free(base_text.bytes);
    for (size_t i = 0; i < N_OPERATIONS; i++)
        free(done_texts[i].bytes);
    efface_data_free(newcomers);
    efface_data_free(changed);
    disk_clear();
    return end_folder(state);
}

/* ---------------------------------------------------------------- one attempt */

static efface_store *begin(const operation *of) {
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    options.resident = of->resident;
    disk_clear();
    disk_put(STORE, base.bytes, base.n_bytes);
    disk_use();
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    if (of->resident) {
        const efface_request look = {.ids = &hot_id, .n_ids = 1};
        REQUIRE_OK(efface_store_preview(store, &look, NULL, error));
    }
    return store;
}

/* What is on the disk, opened with the real one. */
static text settled(void) {
    empty_folder();
    assert_true(disk_save(folder));
    disk_leave();
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    check_whole(store);
    efface_store_close(store);
    text t = describe(in_folder(STORE));
    disk_use();
    return t;
}

static void require_state(size_t number, const text *expected, const char *after, long n) {
    text t = settled();
    if (!same(&t, expected))
        fail_msg("%s: after %s %ld: neither the old nor the new store, or the wrong one",
                 operations[number].name, after, n);
    free(t.bytes);
}

/* An operation that returned: nothing was done if it failed, and the handle is as good as new. */
static void check_returned(size_t number, efface_store *store, efface_status status,
                           const efface_error *error, const char *after, long n) {
    seen.failures++;
    /* A disk that fails for good from the last sync on: done, but who knows for how long. */
    const bool is_done = strstr(error->message, "the request was done") != NULL;
    seen.uncertain += status != EFFACE_OK && is_done;
    if (status == EFFACE_OK || is_done) {
        require_state(number, &done_texts[number], after, n);
    } else {
        seen.refused++;
        assert_true(error->message[0] != '\0' && error->status == status);
        require_state(number, &base_text, after, n);
        efface_error again = {.message = ""};
        if (operations[number].run(store, &again) != EFFACE_OK)
            fail_msg("%s: after %s %ld the store is of no use: %s", operations[number].name, after,
                     n, again.message);
        require_state(number, &done_texts[number], after, n);
    }
    efface_store_close(store);
    assert_int_equal(disk_temporary_files(), 0);
}

static void try_faults(size_t number, disk_fault fault, unsigned kinds, const char *after) {
    for (long n = 1;; n++) {
        efface_store *const store = begin(&operations[number]);
        efface_error error = {.message = ""};
        disk_arm(fault, kinds, n, 1);
        const efface_status status = operations[number].run(store, &error);
        if (!disk_disarm(NULL)) {
            assert_int_equal(status, EFFACE_OK);
            efface_store_close(store);
            assert_true(n > 2);
            break;
        }
        if (status != EFFACE_OK && status != EFFACE_E_IO && status != EFFACE_E_CORRUPT)
            fail_msg("%s: after %s %ld: status %d, %s", operations[number].name, after, n,
                     (int)status, error.message);
        check_returned(number, store, status, &error, after, n);
    }
    disk_leave();
}

static void operations_of_the_disk_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        try_faults(i, DISK_FAILS, DISK_CHANGE, "failure of operation");
        try_faults(i, DISK_FAILS, DISK_READ, "failure of reading");
        try_faults(i, DISK_FULL, DISK_WRITE, "a disk full at write");
        try_faults(i, DISK_BROKEN, DISK_CHANGE, "failure of all operations from");
    }
    print_message("%lu failures, of which %lu were errors, and %lu left the call uncertain\n",
                  seen.failures, seen.refused, seen.uncertain);
    assert_true(seen.refused > 100 && seen.uncertain == N_OPERATIONS);
}

/* ---------------------------------------------------------------- power */

static void try_power(size_t number, uint64_t seed) {
    for (long n = 1;; n++) {
        efface_store *const store = begin(&operations[number]);
        disk_arm(DISK_POWER, DISK_CHANGE, n, seed + (seed > 1 ? 100 * (uint64_t)n : 0));
        const efface_status status = operations[number].run(store, NULL);
        const bool met = disk_disarm(NULL);
        if (!met) {
            assert_int_equal(status, EFFACE_OK);
            disk_cut_power(seed);
        }
        efface_store_close(store);
        disk_reboot();
        text t = settled();
        const bool is_new = same(&t, &done_texts[number]);
        if (!is_new && (!met || !same(&t, &base_text)))
            fail_msg("%s: power lost at operation %ld, seed %d: %s", operations[number].name, n,
                     (int)seed,
                     met ? "neither the old nor the new store" : "what was acknowledged is lost");
        free(t.bytes);
        seen.lost++;
        seen.kept_new += is_new;
        seen.kept_old += !is_new;
        if (!met)
            break;
    }
    disk_leave();
}

static void the_power_goes(void **state) {
    (void)state;
    for (size_t i = 0; i < N_OPERATIONS; i++)
        for (uint64_t seed = 0; seed < 5; seed++)
            try_power(i, seed);
    print_message("power lost %lu times: %lu old, %lu new\n", seen.lost, seen.kept_old,
                  seen.kept_new);
    assert_true(seen.kept_old > 100 && seen.kept_new > N_OPERATIONS * 5);
}

/* ---------------------------------------------------------------- memory */

/* At every allocation if EFFACE_TEST_ALL_FAULTS=1 is set, otherwise at some. */
static void memory_runs_out(void **state) {
    (void)state;
    const bool all = getenv("EFFACE_TEST_ALL_FAULTS") != NULL;
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        /* A group does much that single requests do too. */
        const long step = (operations[i].run == change_all ? 3 : 1) * (all ? 1 : 4);
        for (long n = 1;; n += step) {
            efface_store *const store = begin(&operations[i]);
            efface_error error = {.message = ""};
            has_failed = false;
            allocations_left = n;
            const efface_status status = operations[i].run(store, &error);
            allocations_left = 0;
            seen.allocations += has_failed;
            if (!has_failed) {
                assert_int_equal(status, EFFACE_OK);
                efface_store_close(store);
                assert_true(n > 10);
                break;
            }
            if (status != EFFACE_OK && status != EFFACE_E_MEMORY)
                fail_msg("%s: allocation %ld: status %d, %s", operations[i].name, n, (int)status,
                         error.message);
            size_t n_bytes = 0;
            const unsigned char *const bytes = disk_get(STORE, &n_bytes);
            if (status == EFFACE_OK || n % 16 == 0 || n_bytes != base.n_bytes ||
                memcmp(bytes, base.bytes, n_bytes) != 0)
                check_returned(i, store, status, &error, "allocation", n);
            else
                efface_store_close(store);
        }
    }
    disk_leave();
    print_message("%lu allocations failed\n", seen.allocations);
}

/* ---------------------------------------------------------------- open */

/* Opening fails or gives the whole store; the file is as it was. */
static void opening_fails(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (long n = 1;; n++) {
            disk_clear();
            disk_put(STORE, base.bytes, base.n_bytes);
            disk_use();
            efface_store *store = NULL;
            efface_error error = {.message = ""};
            has_failed = false;
            if (kind == 0)
                disk_arm(DISK_FAILS, DISK_CHANGE | DISK_READ, n, 1);
            else
                allocations_left = n;
            const efface_status status =
                open_plain(in_folder(STORE), EFFACE_ACCESS_WRITE, &store, &error);
            allocations_left = 0;
            const bool met = kind == 0 ? disk_disarm(NULL) : has_failed;
            if (status == EFFACE_OK)
                check_whole(store);
            else if (store != NULL || !met || (kind == 1 && status != EFFACE_E_MEMORY))
                fail_msg("opening, %s %ld: status %d, %s",
                         kind == 0 ? "operation of the disk" : "allocation", n, (int)status,
                         error.message);
            efface_store_close(store);
            if (!met)
                break;
        }
    }
    text t = settled();
    assert_true(same(&t, &base_text));
    free(t.bytes);
    disk_leave();
}

/* ---------------------------------------------------------------- create */

static text created_text;

static efface_status create(const efface_data *data, efface_store **store, efface_error *error) {
    return create_plain(in_folder(STORE), data, store, error);
}

/* After an error: no file, or, if only opening it failed in the end, the whole store. */
static unsigned check_not_half(bool on_disk) {
    if (visit_files(folder, NULL, NULL) == 0)
        return 0;
    assert_true(access(in_folder(STORE ".efface-new"), F_OK) != 0);
    assert_true(!on_disk || disk_save(folder));
    text t = describe(in_folder(STORE));
    assert_true(same(&t, &created_text));
    free(t.bytes);
    return 1;
}

/* Creating fails on a disk, or for want of memory: then there is no file, or a whole store. */
static void creating_fails(void **state) {
    (void)state;
    efface_data *const data = make_rows(N_ROWS, 0);
    efface_store *store = NULL;
    empty_folder();
    REQUIRE_OK(create(data, &store, error));
    efface_store_close(store);
    created_text = describe(in_folder(STORE));
    unsigned n_named = 0;
    for (int kind = 0; kind < 3; kind++) {
        for (long n = 1;; n++) {
            efface_error error = {.message = ""};
            empty_folder();
            disk_clear();
            if (kind < 2)
                disk_use();
            store = NULL;
            has_failed = false;
            if (kind < 2)
                disk_arm(kind == 0 ? DISK_FAILS : DISK_FULL, kind == 0 ? DISK_CHANGE : DISK_WRITE,
                         n, 1);
            else
                allocations_left = n;
            const efface_status status = create(data, &store, &error);
            allocations_left = 0;
            const bool met = kind < 2 ? disk_disarm(NULL) : has_failed;
            if (status == EFFACE_OK) {
                efface_store_close(store);
                assert_true(kind == 2 || disk_save(folder));
                text t = describe(in_folder(STORE));
                assert_true(same(&t, &created_text));
                free(t.bytes);
            } else {
                if (!met || store != NULL || status != (kind < 2 ? EFFACE_E_IO : EFFACE_E_MEMORY))
                    fail_msg("creating, kind %d, %ld: status %d, %s", kind, n, (int)status,
                             error.message);
                n_named += check_not_half(kind < 2);
            }
            if (kind < 2)
                disk_leave();
            if (!met)
                break;
        }
    }
    efface_data_free(data);
    assert_true(n_named > 10); /* a disk that fails, or memory, when it is opened */
}

/* The power goes while a store is made: there is none, or a whole one. */
static void the_power_goes_while_creating(void **state) {
    (void)state;
    efface_data *const data = make_rows(N_ROWS, 0);
    unsigned n_none = 0, n_whole = 0;
    for (uint64_t seed = 0; seed < 6; seed++) {
        bool met = true;
        for (long n = 1; met; n++) {
            efface_store *store = NULL;
            empty_folder();
            disk_clear();
            disk_use();
            disk_arm(DISK_POWER, DISK_CHANGE, n, seed + (seed > 1 ? 100 * (uint64_t)n : 0));
            const efface_status status = create(data, &store, NULL);
            met = disk_disarm(NULL);
            if (!met) {
                assert_int_equal(status, EFFACE_OK);
                disk_cut_power(seed);
            }
            if (status == EFFACE_OK)
                efface_store_close(store);
            disk_reboot();
            empty_folder();
            assert_true(disk_save(folder));
            disk_leave();
            store = NULL;
            const efface_status opened =
                open_plain(in_folder(STORE), EFFACE_ACCESS_WRITE, &store, NULL);
            if (opened == EFFACE_OK) {
                check_whole(store);
                efface_store_close(store);
                text t = describe(in_folder(STORE));
                assert_true(same(&t, &created_text));
                free(t.bytes);
                n_whole++;
            } else {
                assert_true(met && (opened == EFFACE_E_FORMAT || opened == EFFACE_E_IO));
                n_none++;
            }
        }
    }
    assert_true(n_none > 0 && n_whole > 0);
    efface_data_free(data);
    free(created_text.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_of_the_disk_fail),
        cmocka_unit_test(the_power_goes),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(opening_fails),
        cmocka_unit_test(creating_fails),
        cmocka_unit_test(the_power_goes_while_creating),
    };
    return wrap_sqlite_memory() == 0 ? cmocka_run_group_tests(tests, begin_all, end_all) : 1;
}
