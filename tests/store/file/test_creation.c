/*
 * Making a store (creation.c): it appears under its name when it is whole, or not at all, whatever
 * happens to its maker; what is there already is never touched.
 */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/plain_store.h"

#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <sqlite3.h>
#include <sys/wait.h>

#define MANY_ROWS 3000

static efface_data *many;

static efface_data *make_many(void) {
    static float values[MANY_ROWS * N_COLUMNS];
    for (uint64_t i = 0; i < MANY_ROWS; i++)
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            values[i * N_COLUMNS + j] = value_of(i, j);
    const efface_rows rows = {.n_rows = MANY_ROWS, .values = values};
    return make_data(N_COLUMNS, &rows);
}

static bool is_there(const char *name) {
    struct stat found;
    return lstat(in_folder(name), &found) == 0;
}

/* Makes the store with a model, the way it should go. */
static efface_status create(const efface_store_options *options, efface_store **store,
                            efface_error *error) {
    const efface_kmeans_params params = params_of(EFFACE_METHOD_PYRAMID);
    const efface_new_model model = {.name = "a", .params = &params.common};
    return efface_store_create(in_folder(STORE), many, NULL, options, &model, 1, store, error);
}

/* Nobody has left anything in the way of a new attempt. */
static void check_next_attempt(void) {
    efface_store *store = NULL;
    REQUIRE_OK(create(NULL, &store, error));
    assert_int_equal(info_of(store).n_rows, MANY_ROWS);
    check_whole(store);
    efface_store_close(store);
    assert_false(is_there(STORE ".efface-new"));
    assert_false(is_there(STORE ".efface-new-journal"));
}

/* ---------------------------------------------------------------- makers that die */

static long writes_left = -1;
static int dies_at_link; /* 1: before, 2: after */

int link(const char *from, const char *to) {
    if (dies_at_link == 1)
        (void)kill(getpid(), SIGKILL);
    const int code = linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
    if (dies_at_link == 2)
        (void)kill(getpid(), SIGKILL);
    return code;
}

/* Writes half of it and dies, when it is time. */
static ssize_t hooked_pwrite(int file, const void *bytes, size_t n_bytes, off_t offset) {
    if (writes_left > 0 && --writes_left == 0 && pwrite(file, bytes, n_bytes / 2, offset) >= 0)
        (void)kill(getpid(), SIGKILL);
    return pwrite(file, bytes, n_bytes, offset);
}

/* A child makes the store and dies at its n-th write, or at the link. Whether it died. */
static bool die_making(long n, int at_link) {
    const pid_t pid = fork();
    if (pid == 0) {
        efface_store *store = NULL;
        sqlite3_vfs *const vfs = sqlite3_vfs_find(NULL);
        (void)vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)hooked_pwrite);
        (void)vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)hooked_pwrite);
        writes_left = n;
        dies_at_link = at_link;
        _exit(create(NULL, &store, NULL) == EFFACE_OK ? 0 : 1);
    }
    int how = 0;
    assert_true(pid > 0 && waitpid(pid, &how, 0) == pid);
    assert_true(WIFSIGNALED(how) || WEXITSTATUS(how) == 0);
    return WIFSIGNALED(how);
}

static void makers_that_are_killed(void **state) {
    (void)state;
    unsigned n_died = 0;
    bool died = true;
    for (long n = 1; died; n += 1 + n / 3) {
        empty_folder();
        died = die_making(n, 0);
        n_died += died;
        assert_true(is_there(STORE) == !died);
        if (died) {
            assert_true(is_there(STORE ".efface-new"));
            check_next_attempt();
        }
    }
    assert_true(n_died > 5);
    empty_folder();
    assert_true(die_making(-1, 1));
    assert_false(is_there(STORE));
    check_next_attempt();
    /* It has its name: nothing takes it away again, and the other name does no harm. */
    empty_folder();
    assert_true(die_making(-1, 2));
    assert_true(is_there(STORE) && is_there(STORE ".efface-new"));
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    assert_int_equal(info_of(store).n_rows, MANY_ROWS);
    forget(store, 7);
    check_whole(store);
    efface_store_close(store);
    /* The file beside is that store, wherever it moved: another of the name must not empty it. */
    assert_int_equal(rename(in_folder(STORE), in_folder("moved.efface")), 0);
    efface_store *other = NULL;
    assert_int_equal(create(NULL, &other, NULL), EFFACE_E_IO);
    assert_null(other);
    efface_store *const moved = open_store(in_folder("moved.efface"), EFFACE_ACCESS_READ);
    assert_int_equal(info_of(moved).n_rows, MANY_ROWS - 1);
    check_whole(moved);
    efface_store_close(moved);
}

/* ---------------------------------------------------------------- makers that live */

typedef struct pauser {
    int says, hears;
} pauser;

static int pause_once(void *context, efface_phase phase, double part) {
    (void)phase;
    (void)part;
    pauser *const p = context;
    char byte = 0;
    if (p->says >= 0)
        (void)(write(p->says, &byte, 1) == 1 && read(p->hears, &byte, 1) == 1);
    p->says = -1;
    return 0;
}

static void a_maker_that_lives(void **state) {
    (void)state;
    for (int ends_well = 0; ends_well < 2; ends_well++) {
        int says[2], hears[2];
        char byte = 0;
        empty_folder();
        assert_true(pipe(says) == 0 && pipe(hears) == 0);
        const pid_t pid = fork();
        if (pid == 0) {
            pauser p = {says[1], hears[0]};
            efface_store *store = NULL;
            efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
            options.progress = pause_once;
            options.progress_context = &p;
            const efface_status status = create(&options, &store, NULL);
            efface_store_close(store);
            _exit(status == EFFACE_OK ? 0 : 1);
        }
        assert_true(pid > 0 && read(says[0], &byte, 1) == 1);
        efface_store *store = NULL;
        efface_error error = {.message = ""};
        assert_int_equal(create(NULL, &store, &error), EFFACE_E_BUSY);
        assert_non_null(strstr(error.message, "another process"));
        assert_null(store);
        assert_true(!is_there(STORE) && is_there(STORE ".efface-new"));
        if (ends_well == 0)
            (void)kill(pid, SIGKILL);
        else
            assert_int_equal(write(hears[1], &byte, 1), 1);
        int how = 0;
        assert_int_equal(waitpid(pid, &how, 0), pid);
        for (int i = 0; i < 2; i++) {
            (void)close(says[i]);
            (void)close(hears[i]);
        }
        if (ends_well == 0) {
            check_next_attempt();
            continue;
        }
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
        assert_int_equal(create(NULL, &store, NULL), EFFACE_E_ARGUMENT);
        assert_true(is_there(STORE) && !is_there(STORE ".efface-new"));
        store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
        check_whole(store);
        efface_store_close(store);
    }
}

/* ---------------------------------------------------------------- what is there already */

static int put_in_the_way(void *context, efface_phase phase, double part) {
    (void)phase;
    (void)part;
    if (!is_there(STORE))
        write_image(in_folder(STORE), context, strlen(context));
    return 0;
}

static void check_untouched(const char *name, const char *words) {
    image file = read_image(in_folder(name));
    assert_true(file.n_bytes == strlen(words) && memcmp(file.bytes, words, file.n_bytes) == 0);
    free(file.bytes);
}

static void what_is_there_stays(void **state) {
    (void)state;
    static char words[] = "some words";
    efface_store *store = NULL;
    empty_folder();
    write_image(in_folder(STORE), words, strlen(words));
    assert_int_equal(create(NULL, &store, NULL), EFFACE_E_ARGUMENT);
    check_untouched(STORE, words);
    assert_int_equal(visit_files(folder, NULL, NULL), 1);
    /* A link that leads nowhere is a name that is taken. */
    empty_folder();
    assert_int_equal(symlink("nowhere", in_folder(STORE)), 0);
    assert_int_equal(create(NULL, &store, NULL), EFFACE_E_ARGUMENT);
    assert_true(is_there(STORE) && !is_there("nowhere") && !is_there(STORE ".efface-new"));
    /* A file that comes while the store is made. */
    empty_folder();
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.progress = put_in_the_way;
    options.progress_context = words;
    assert_int_equal(create(&options, &store, NULL), EFFACE_E_ARGUMENT);
    check_untouched(STORE, words);
    assert_int_equal(visit_files(folder, NULL, NULL), 1);
    /* A link in place of the file beside is not followed. */
    empty_folder();
    write_image(in_folder("precious"), words, strlen(words));
    assert_int_equal(symlink("precious", in_folder(STORE ".efface-new")), 0);
    assert_int_equal(create(NULL, &store, NULL), EFFACE_E_IO);
    check_untouched("precious", words);
    assert_false(is_there(STORE));
    /* What a maker left that died is replaced, its journal too. */
    empty_folder();
    write_image(in_folder(STORE ".efface-new"), words, strlen(words));
    write_image(in_folder(STORE ".efface-new-journal"), words, strlen(words));
    assert_int_equal(chmod(in_folder(STORE ".efface-new"), 0600), 0);
    check_next_attempt();
    assert_null(strstr(words, "new"));
}

/* ---------------------------------------------------------------- attempts that fail */

static int interrupt(void *context, efface_phase phase, double part) {
    (void)phase;
    (void)part;
    unsigned *const left = context;
    return --*left == 0;
}

static void attempts_that_fail_leave_nothing(void **state) {
    (void)state;
    efface_store *store = NULL;
    empty_folder();
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    unsigned left = 2;
    options.progress = interrupt;
    options.progress_context = &left;
    assert_int_equal(create(&options, &store, NULL), EFFACE_E_INTERRUPTED);
    assert_int_equal(visit_files(folder, NULL, NULL), 0);
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    efface_kmeans_params bounded = params;
    bounded.bound = 1.0;
    const uint32_t beyond = N_COLUMNS;
    const struct {
        efface_status status;
        efface_new_model second;
    } cases[] = {{EFFACE_E_DUPLICATE, {.name = "a", .params = &params.common}},
                 {EFFACE_E_ARGUMENT, {.name = "a b", .params = &params.common}},
                 {EFFACE_E_ARGUMENT, {.name = "b", .params = NULL}},
                 {EFFACE_E_ARGUMENT,
                  {.name = "b", .params = &params.common, .columns = &beyond, .n_columns = 1}},
                 {EFFACE_E_LIMIT, {.name = "b", .params = &bounded.common}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const efface_new_model models[] = {{.name = "a", .params = &params.common},
                                           cases[i].second};
        assert_int_equal(
            efface_store_create(in_folder(STORE), many, NULL, NULL, models, 2, &store, NULL),
            cases[i].status);
        assert_null(store);
        assert_int_equal(visit_files(folder, NULL, NULL), 0);
    }
    options = plain_options(EFFACE_ACCESS_WRITE);
    options.version = 77;
    assert_int_equal(create(&options, &store, NULL), EFFACE_E_ARGUMENT);
    options = plain_options(EFFACE_ACCESS_WRITE);
    options.wait_seconds = -1.0;
    assert_int_equal(create(&options, &store, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(visit_files(folder, NULL, NULL), 0);
    check_next_attempt();
}

/* ---------------------------------------------------------------- sets that have lost rows */

static void fail_with(void *context, const char *problem) {
    (void)context;
    fail_msg("%s", problem);
}

/* The ends of a column have left, and nobody has looked for new ones before the store is made. */
static void ranges_are_those_of_the_rows(void **state) {
    (void)state;
    efface_store *store = NULL;
    efface_data *const data = make_many();
    for (uint32_t j = 0; j < N_COLUMNS; j++) {
        float row[N_COLUMNS], most = 0.0F;
        uint64_t id = 0;
        for (size_t i = 0; i < efface_data_n_rows(data); i++) {
            efface_data_values(data, i, row);
            if (i == 0 || row[j] > most) {
                most = row[j];
                id = efface_data_row(data, i).id;
            }
        }
        assert_int_equal(efface_data_remove(data, &id, 1, NULL), EFFACE_OK);
    }
    const efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    const efface_new_model model = {.name = "a", .params = &params.common};
    empty_folder();
    assert_int_equal(
        efface_store_create(in_folder(STORE), data, NULL, NULL, &model, 1, &store, NULL),
        EFFACE_OK);
    assert_int_equal(efface_store_check(store, fail_with, NULL, NULL), EFFACE_OK);
    efface_store_close(store);
    efface_data_free(data);
}

static int begin_all(void **state) {
    if (sodium_init() < 0 || sqlite3_initialize() != SQLITE_OK || begin_folder(state) != 0)
        return -1;
    many = make_many();
    return 0;
}

static int end_all(void **state) {
    efface_data_free(many);
    return end_folder(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makers_that_are_killed),
        cmocka_unit_test(a_maker_that_lives),
        cmocka_unit_test(what_is_there_stays),
        cmocka_unit_test(attempts_that_fail_leave_nothing),
        cmocka_unit_test(ranges_are_those_of_the_rows),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
