/*
 * A store in parts when it is not known whether a request was done: the disk of part 0 fails when
 * it is to keep the decision, or the ranks lose each other (store.c, invariant 1).
 *
 * The program has its own fsync and fdatasync, which SQLite then calls: they are quick, or fail.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group/store/parts_scene.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_ROWS 40
#define N_RANKS 3

static char folder[64], parts[96], plain[96];
static uint64_t ids[N_ROWS];
static const char done_by_half[] = "the request is done in part 0";

static void run_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void run_command(const char *format, ...) {
    char command[600];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    assert_int_equal(system(command), 0);
}

/* ------------------------------------------------------------------ a disk that fails */

static atomic_bool disk_fails;

/* Of a journal that was emptied: that part 0 has done a request. */
static bool is_decision(int file) {
    char link[64], path[256] = "";
    struct stat s;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    return readlink(link, path, sizeof path - 1) > 0 && strstr(path, "part-0-of-") != NULL &&
           strstr(path, "-journal") != NULL && fstat(file, &s) == 0 && s.st_size == 0;
}

int fsync(int file) {
    if (disk_fails && is_decision(file)) {
        errno = EIO;
        return -1;
    }
    return 0;
}

int fdatasync(int file) {
    return fsync(file);
}

/* ------------------------------------------------------------------ requests */

static void create(const efface_group *group, void *context) {
    (void)context;
    scene_pair pair = {.group = group};
    scene_create(&pair, parts, plain, ids, N_ROWS, 2);
    scene_close(&pair);
}

typedef struct attempt {
    efface_status status;
    efface_error error;
    uint64_t n_rows; /* of what is left */
} attempt;

/* The request fails, and rank 0 says how. */
static void forget_in_vain(const efface_group *group, void *context) {
    attempt *const a = context;
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    const efface_request request = {.ids = ids + 2, .n_ids = N_ROWS - 8};
    efface_store *store = NULL;
    efface_error error = {.message = ""};
    efface_status status = efface_store_open(parts, &options, &store, &error);
    if (status == EFFACE_OK)
        status = efface_store_forget(store, &request, NULL, &error);
    efface_store_close(store);
    if (group->rank != 0)
        return;
    a->status = status;
    a->error = error;
}

static void look(const efface_group *group, void *context) {
    attempt *const a = context;
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    efface_store_info info;
    RANK_OK(efface_store_open(parts, &options, &store, error));
    RANK_OK(efface_store_check(store, scene_problem, NULL, error));
    for (int i = 0; i < 2; i++) {
        efface_difference difference;
        RANK_OK(efface_store_verify(store, i == 0 ? "lloyd" : "pyramid", &difference, error));
        RANK_ASSERT(difference.identical);
    }
    RANK_OK(efface_store_get_info(store, &info, error));
    efface_store_close(store);
    if (group->rank == 0)
        a->n_rows = info.n_rows;
}

static void begin(void) {
    for (uint64_t i = 0; i < N_ROWS; i++)
        ids[i] = 2 * i + 1;
    (void)snprintf(parts, sizeof parts, "%s/parts", folder);
    (void)snprintf(plain, sizeof plain, "%s/plain.efface", folder);
    thread_group_run(N_RANKS, create, NULL);
    run_command("cp -r '%s' '%s/before'", parts, folder);
}

static attempt fail_on_disk(void) {
    attempt a = {.status = EFFACE_OK};
    begin();
    disk_fails = true;
    thread_group_run(N_RANKS, forget_in_vain, &a);
    disk_fails = false;
    assert_int_equal(a.status, EFFACE_E_IO);
    assert_non_null(strstr(a.error.message, done_by_half));
    assert_non_null(strstr(a.error.message, "a power loss could"));
    return a;
}

/* ------------------------------------------------------------------ tests */

static void test_doubtful_request_is_finished(void **state) {
    (void)state;
    attempt a = fail_on_disk();
    thread_group_run(N_RANKS, look, &a);
    assert_int_equal(a.n_rows, 8);
    run_command("rm -rf '%s'/*", folder);
}

/* Other parts have not followed what part 0 may lose. */
static void test_doubtful_request_is_lost(void **state) {
    (void)state;
    attempt a = fail_on_disk();
    run_command("cp '%s'/before/part-0-* '%s'", folder, parts);
    thread_group_run(N_RANKS, look, &a);
    assert_int_equal(a.n_rows, N_ROWS);
    run_command("rm -rf '%s'/*", folder);
}

/* Whoever knows that the request is decided says so. */
static void test_ranks_lose_each_other(void **state) {
    (void)state;
    unsigned n_decided = 0, n_before = 0;
    attempt a = {.status = EFFACE_E_GROUP};
    begin();
    for (uint64_t n = 1; a.status != EFFACE_OK; n++) {
        run_command("rm -rf '%s' && cp -r '%s/before' '%s'", parts, folder, parts);
        thread_group_fail_after(n);
        thread_group_run(N_RANKS, forget_in_vain, &a);
        const bool says_so = strstr(a.error.message, done_by_half) != NULL;
        thread_group_run(N_RANKS, look, &a);
        assert_int_equal(a.n_rows, a.status == EFFACE_OK || says_so ? 8 : N_ROWS);
        n_decided += says_so;
        n_before += a.n_rows == N_ROWS;
    }
    assert_true(n_decided > 1 && n_before > 1);
    run_command("rm -rf '%s'/*", folder);
}

static int begin_folder(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof folder, "group_doubt_XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int end_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_doubtful_request_is_finished),
                                       cmocka_unit_test(test_doubtful_request_is_lost),
                                       cmocka_unit_test(test_ranks_lose_each_other)};
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
