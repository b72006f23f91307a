/*
 * Publishing when something fails: the store has changed and the file is there, or neither.
 *
 * For n = 1, 2, ... the n-th thing that is done to the disk of the store, the n-th allocation, or
 * the n-th call of the system for the published file fails; or the process dies before that call.
 * The published file lies in the real folder, the store on a disk in memory where that fails.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/faulty_vfs.h"
#include "store/scenes/plain_store.h"
#include "store/scenes/short_memory.h"
#include "store/scenes/sql_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/wait.h>

#define PUBLISHED "out.model"

/* ---------------------------------------------------------------- calls of the system */

/* Those of the library come through here (--wrap, tests/CMakeLists.txt). */
static long calls_left; /* 0: there is no end; 1: the next one fails */
static bool dies, call_failed;
static bool names_only; /* the file system has no files without names */
static const char *last_call = "";

static bool call_fails(const char *name) {
    if (calls_left == 0 || --calls_left != 0)
        return false;
    if (dies)
        _exit(9);
    last_call = name;
    call_failed = true;
    errno = ENOSPC;
    return true;
}

int __real_open(const char *path, int flags, ...);
ssize_t __real_write(int file, const void *bytes, size_t n_bytes);
int __real_close(int file);
int __real_fsync(int file);
int __real_link(const char *from, const char *to);
int __real_linkat(int from_in, const char *from, int to_in, const char *to, int flags);
int __real_unlink(const char *path);
int __real_rename(const char *from, const char *to);
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_write(int file, const void *bytes, size_t n_bytes);
int __wrap_close(int file);
int __wrap_fsync(int file);
int __wrap_link(const char *from, const char *to);
int __wrap_linkat(int from_in, const char *from, int to_in, const char *to, int flags);
int __wrap_unlink(const char *path);
int __wrap_rename(const char *from, const char *to);

int __wrap_open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
    const mode_t mode = (flags & O_CREAT) != 0 || nameless ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (nameless && names_only) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return call_fails("open") ? -1 : __real_open(path, flags, mode);
}

/* A few bytes at a time, as a system may do it. */
ssize_t __wrap_write(int file, const void *bytes, size_t n_bytes) {
    return call_fails("write") ? -1 : __real_write(file, bytes, n_bytes < 50 ? n_bytes : 50);
}

int __wrap_close(int file) {
    const bool fails = call_fails("close");
    const int done = __real_close(file);
    errno = fails ? ENOSPC : errno;
    return fails ? -1 : done;
}

int __wrap_fsync(int file) {
    return call_fails("fsync") ? -1 : __real_fsync(file);
}

int __wrap_link(const char *from, const char *to) {
    return call_fails("link") ? -1 : __real_link(from, to);
}

int __wrap_linkat(int from_in, const char *from, int to_in, const char *to, int flags) {
    return call_fails("linkat") ? -1 : __real_linkat(from_in, from, to_in, to, flags);
}

/* Taking away what is left over is not asked to succeed; but the process may die before it. */
int __wrap_unlink(const char *path) {
    if (dies)
        (void)call_fails("unlink");
    return __real_unlink(path);
}

int __wrap_rename(const char *from, const char *to) {
    return call_fails("rename") ? -1 : __real_rename(from, to);
}

/* ---------------------------------------------------------------- what there is */

static image base; /* the store before */
static text base_text;

static efface_status publish(efface_store *store, bool replaces, efface_error *error) {
    const efface_publishing asked = {
        .name = "m", .path = in_folder(PUBLISHED), .replace = replaces ? 1 : 0};
    return efface_store_publish(store, &asked, NULL, error);
}

static int begin_all(void **state) {
    if (sodium_init() < 0 || begin_folder(state) != 0)
        return -1;
    efface_store *const store = make_store();
    fit(store, "m", EFFACE_METHOD_LLOYD);
    fit(store, "other", EFFACE_METHOD_PYRAMID);
    forget(store, 7);
    efface_store_close(store);
    base = read_image(in_folder(STORE));
    base_text = describe(in_folder(STORE));
    return 0;
}

static int end_all(void **state) {
    free(base.bytes);
    free(base_text.bytes);
    disk_clear();
    return end_folder(state);
}

/* The files that are no part of a store. */
typedef struct found_files {
    unsigned n_named, n_beside;
    char beside[256];
} found_files;

static void note_file(const char *name, void *context) {
    found_files *const f = context;
    if (strcmp(name, PUBLISHED) == 0)
        f->n_named++;
    if (strncmp(name, PUBLISHED ".efface-new-", strlen(PUBLISHED ".efface-new-")) == 0) {
        f->n_beside++;
        (void)snprintf(f->beside, sizeof f->beside, "%s", name);
    }
}

static found_files find_files(void) {
    found_files f = {.n_named = 0};
    (void)visit_files(folder, note_file, &f);
    assert_true(f.n_named < 2 && f.n_beside < 2);
    return f;
}

/* Whether the last receipt of a store is of this file. */
static bool is_of_receipt(efface_store *store, const char *name) {
    image file = read_image(in_folder(name));
    unsigned char digest[EFFACE_DIGEST_BYTES];
    char hex[2 * EFFACE_DIGEST_BYTES + 1];
    (void)crypto_generichash(digest, sizeof digest, file.bytes, file.n_bytes, NULL, 0);
    (void)sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    char *const line = receipt_of(store, info_of(store).n_receipts);
    const bool is = strstr(line, hex) != NULL;
    free(line);
    free(file.bytes);
    return is;
}

static const char old_bytes[] = "what was there before";

/* A folder with the file to be replaced, or without any. */
static void prepare(bool replaces) {
    empty_folder();
    if (replaces)
        write_image(in_folder(PUBLISHED), old_bytes, sizeof old_bytes);
}

static bool is_old_file(void) {
    image file = read_image(in_folder(PUBLISHED));
    const bool is =
        file.n_bytes == sizeof old_bytes && memcmp(file.bytes, old_bytes, sizeof old_bytes) == 0;
    free(file.bytes);
    return is;
}

/* The store that is in the folder, and whether it is the old one. */
static efface_store *look_at_store(bool *is_old) {
    text t = describe(in_folder(STORE));
    *is_old = same(&t, &base_text);
    free(t.bytes);
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    check_whole(store);
    return store;
}

/* After a call that returned: both, or nothing. */
static void check_both_or_nothing(bool replaces, bool done, const char *what, long n) {
    const found_files f = find_files();
    bool is_old;
    efface_store *const store = look_at_store(&is_old);
    const bool has_file = f.n_named == 1 && !(replaces && is_old_file());
    if (is_old == done || has_file != done || (has_file && !is_of_receipt(store, PUBLISHED)))
        fail_msg("%s %ld: the store is %s, the file %s", what, n, is_old ? "old" : "new",
                 has_file ? "new" : "not there");
    if (f.n_beside != 0)
        fail_msg("%s %ld: %s was left behind", what, n, f.beside);
    if (!done && replaces)
        assert_true(is_old_file());
    efface_store_close(store);
}

/* ---------------------------------------------------------------- the store's disk, and memory */

static unsigned long n_refused, n_done, n_uncertain;

/* Writes the disk into the folder; but the disk may have read the file that was to be replaced. */
static void save_disk(void) {
    image file = read_image(in_folder(PUBLISHED));
    assert_true(disk_save(folder));
    if (file.bytes != NULL)
        write_image(in_folder(PUBLISHED), file.bytes, file.n_bytes);
    free(file.bytes);
}

static void try_once(bool replaces, disk_fault fault, unsigned kinds, long n, bool *met) {
    prepare(replaces);
    disk_clear();
    disk_put(STORE, base.bytes, base.n_bytes);
    disk_use();
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    efface_error why = {.message = ""};
    has_failed = false;
    if (kinds != 0)
        disk_arm(fault, kinds, n, 1);
    else
        allocations_left = n;
    const efface_status status = publish(store, replaces, &why);
    allocations_left = 0;
    *met = kinds != 0 ? disk_disarm(NULL) : has_failed;
    if (status != EFFACE_OK && (why.message[0] == '\0' || why.status != status || !*met))
        fail_msg("%ld: status %d, \"%s\"", n, (int)status, why.message);
    if (kinds == 0 && status != EFFACE_OK)
        assert_int_equal(status, EFFACE_E_MEMORY);
    const bool uncertain =
        status != EFFACE_OK && strstr(why.message, "the request was done") != NULL;
    n_uncertain += uncertain;
    n_refused += status != EFFACE_OK && !uncertain;
    n_done += status == EFFACE_OK;
    save_disk();
    disk_leave();
    check_both_or_nothing(replaces, status == EFFACE_OK || uncertain, "operation", n);
    if (status != EFFACE_OK && !uncertain && (kinds != 0 || n % 8 == 0)) { /* good as new */
        disk_use();
        REQUIRE_OK(publish(store, replaces, error));
        save_disk();
        disk_leave();
        check_both_or_nothing(replaces, true, "the second attempt after operation", n);
    }
    disk_use();
    efface_store_close(store);
    disk_leave();
}

static void the_disk_of_the_store_fails(void **state) {
    (void)state;
    static const struct {
        disk_fault fault;
        unsigned kinds;
    } faults[] = {{DISK_FAILS, DISK_CHANGE},
                  {DISK_FAILS, DISK_READ},
                  {DISK_FULL, DISK_WRITE},
                  {DISK_BROKEN, DISK_CHANGE}};
    n_refused = n_uncertain = 0;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        bool met = true;
        for (long n = 1; met; n++)
            try_once(i % 2 == 0, faults[i].fault, faults[i].kinds, n, &met);
    }
    print_message("%lu refused, %lu uncertain\n", n_refused, n_uncertain);
    assert_true(n_refused > 20 && n_uncertain == 1);
}

static void memory_runs_out(void **state) {
    (void)state;
    bool met = true;
    n_refused = 0;
    for (long n = 1; met; n++)
        try_once(n % 2 == 0, DISK_FAILS, 0, n, &met);
    print_message("%lu allocations failed\n", n_refused);
    assert_true(n_refused > 50);
}

/* ---------------------------------------------------------------- the file */

/* The call fails, but if it is one of those after the commit: then the message says what to do. */
static void calls_for_the_file_fail(void **state) {
    (void)state;
    unsigned n_nothing = 0, n_beside = 0, n_unsynced = 0;
    for (int replaces = 0; replaces < 2; replaces++) {
        for (long n = 1;; n++) {
            prepare(replaces != 0);
            write_image(in_folder(STORE), base.bytes, base.n_bytes);
            efface_store *store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
            efface_error error = {.message = ""};
            call_failed = false;
            calls_left = n;
            const efface_status status = publish(store, replaces != 0, &error);
            calls_left = 0;
            efface_store_close(store);
            if (!call_failed) {
                assert_int_equal(status, EFFACE_OK);
                check_both_or_nothing(replaces != 0, true, "no call", n);
                break;
            }
            const found_files f = find_files();
            if (status == EFFACE_OK) { /* closed after it was synced, or named again */
                assert_true(strcmp(last_call, "close") == 0 || strcmp(last_call, "linkat") == 0);
                check_both_or_nothing(replaces != 0, true, last_call, n);
                continue;
            }
            assert_int_equal(status, EFFACE_E_IO);
            if (strstr(error.message, "the request was done") == NULL) {
                assert_non_null(strstr(error.message, "nothing was changed"));
                check_both_or_nothing(replaces != 0, false, last_call, n);
                n_nothing++;
            } else if (f.n_beside == 1) {
                bool is_old;
                assert_non_null(strstr(error.message, f.beside));
                store = look_at_store(&is_old);
                assert_true(!is_old && is_of_receipt(store, f.beside));
                assert_true(replaces != 0 ? is_old_file() : f.n_named == 0);
                efface_store_close(store);
                n_beside++;
            } else {
                check_both_or_nothing(replaces != 0, true, last_call, n);
                n_unsynced++;
            }
        }
    }
    print_message("%u nothing, %u beside, %u not synced\n", n_nothing, n_beside, n_unsynced);
    assert_true(n_nothing > 8 && n_beside == 2 && n_unsynced >= 2);
}

/* Another file comes to the place while the model is fitted: it stays, and nothing was changed. */
static int take_the_place(void *context, efface_phase phase, double part) {
    (void)phase;
    (void)context;
    (void)part;
    write_image(in_folder(PUBLISHED), old_bytes, sizeof old_bytes);
    return 0;
}

static void a_file_that_comes_meanwhile_stays(void **state) {
    (void)state;
    efface_store *store = NULL;
    efface_error why = {.message = ""};
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    prepare(false);
    write_image(in_folder(STORE), base.bytes, base.n_bytes);
    options.progress = take_the_place;
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    assert_int_equal(publish(store, false, &why), EFFACE_E_ARGUMENT);
    assert_non_null(strstr(why.message, "nothing was changed"));
    assert_true(find_files().n_beside == 0 && is_old_file());
    efface_store_close(store);
    check_both_or_nothing(true, false, "a file that came", 0);
}

/* ---------------------------------------------------------------- death */

static void note_text(void *context, const char *what) {
    (void)snprintf(context, 200, "%s", what);
}

/* What a process that died before its n-th call has left. */
typedef struct left_behind {
    bool is_old, has_file, has_note, ended;
    found_files files;
} left_behind;

static left_behind die_before(bool replaces, long n) {
    left_behind left = {.is_old = false};
    prepare(replaces);
    write_image(in_folder(STORE), base.bytes, base.n_bytes);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        efface_store *store = NULL;
        if (open_plain(in_folder(STORE), EFFACE_ACCESS_WRITE, &store, NULL) != EFFACE_OK)
            _exit(1);
        dies = true;
        calls_left = n;
        _exit(publish(store, replaces, NULL) == EFFACE_OK ? 0 : 1);
    }
    int how = 0;
    char note[200] = "";
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && (WEXITSTATUS(how) == 0 || WEXITSTATUS(how) == 9));
    left.ended = WEXITSTATUS(how) == 0;
    efface_store *store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    efface_store_close(store); /* rolls back */
    store = look_at_store(&left.is_old);
    left.files = find_files();
    left.has_file = left.files.n_named == 1 && !(replaces && is_old_file());
    REQUIRE_OK(efface_store_notes(store, note_text, note, error));
    left.has_note = strstr(note, "receipt 4 ") != NULL;
    if (left.has_file)
        assert_true(!left.is_old && is_of_receipt(store, PUBLISHED));
    if (left.files.n_beside == 1 && !left.is_old)
        assert_true(is_of_receipt(store, left.files.beside));
    efface_store_close(store);
    return left;
}

/* No file is left that no receipt names; and if there is a receipt and no file, the store says so.
 */
static void the_process_dies(void **state) {
    (void)state;
    unsigned n_old = 0, n_lost = 0, n_beside = 0, n_new = 0;
    for (int replaces = 0; replaces < 2; replaces++) {
        left_behind left = {.ended = false};
        for (long n = 1; !left.ended; n++) {
            left = die_before(replaces != 0, n);
            if (left.is_old)
                assert_true(!left.has_file && left.files.n_beside == 0 && !left.has_note);
            else
                assert_true(left.has_note || left.has_file);
            n_old += left.is_old;
            n_new += left.has_file;
            n_beside += left.files.n_beside;
            n_lost += !left.is_old && !left.has_file;
        }
        assert_false(left.has_note);
    }
    print_message("%u old, %u lost, %u of them beside, %u new\n", n_old, n_lost, n_beside, n_new);
    assert_true(n_old > 4 && n_lost == 3 && n_beside == 1 && n_new > 2);
}

/* Where the file must have a name, one that was left is removed by the next publication; but not
 * one of a publication that goes on. */
static void what_is_left_over_is_removed(void **state) {
    (void)state;
    unsigned n_beside = 0;
    names_only = true;
    for (long n = 1;; n++) {
        const left_behind left = die_before(false, n);
        if (left.ended)
            break;
        if (left.files.n_beside == 0)
            continue;
        n_beside++;
        const int going_on = open(in_folder(left.files.beside), O_RDONLY);
        assert_int_equal(flock(going_on, LOCK_EX | LOCK_NB), 0);
        for (int i = 0; i < 2; i++) {
            efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
            REQUIRE_OK(publish(store, true, error));
            efface_store_close(store);
            assert_int_equal(find_files().n_beside, 1 - i);
            if (i == 0)
                (void)close(going_on);
        }
    }
    names_only = false;
    assert_true(n_beside > 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_for_the_file_fail),
        cmocka_unit_test(a_file_that_comes_meanwhile_stays),
        cmocka_unit_test(the_process_dies),
        cmocka_unit_test(what_is_left_over_is_removed),
        cmocka_unit_test(the_disk_of_the_store_fails),
        cmocka_unit_test(memory_runs_out),
    };
    return wrap_sqlite_memory() == 0 ? cmocka_run_group_tests(tests, begin_all, end_all) : 1;
}
