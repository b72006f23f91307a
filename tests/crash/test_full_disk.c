/*
 * A store when there is no room: a request that does not fit fails with EFFACE_E_IO, the store is
 * as it was (invariant 1), and the same request succeeds when there is room again.
 *
 * The room grows in small steps until the request fits, so that it runs out at every point of the
 * request. First by a limit on the size of files, then in a small file system in memory, which
 * needs the right to mount one.
 */
#define _GNU_SOURCE
#include "crash/ledger.h"
#include "store/scenes/plain_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define STEP_BYTES 8704 /* no multiple of a page */

typedef struct scene {
    char path[200];
    ledger l;
    efface_store *store; /* stays open all the time */
} scene;

static void begin(scene *s, const char *folder) {
    efface_error error = {.message = ""};
    (void)snprintf(s->path, sizeof s->path, "%s/test_full_disk-%ld.store", folder, (long)getpid());
    if (ledger_begin(&s->l, s->path, &error) != EFFACE_OK ||
        open_plain(s->path, EFFACE_ACCESS_WRITE, &s->store, &error) != EFFACE_OK)
        fail_msg("no store: %s", error.message);
}

static void end(scene *s) {
    char journal[220];
    (void)snprintf(journal, sizeof journal, "%s-journal", s->path);
    efface_store_close(s->store);
    (void)unlink(s->path);
    (void)unlink(journal);
}

static void check_store(const scene *s, efface_store *store) {
    char why[LEDGER_LINE];
    if (!ledger_is_of(&s->l, store, why) || !store_is_sound(store, why))
        fail_msg("the store is not as it was: %s", why);
}

/* By the handle that was there, and by a new one. */
static void check_both(const scene *s) {
    efface_store *store = NULL;
    efface_error error = {.message = ""};
    check_store(s, s->store);
    if (open_plain(s->path, EFFACE_ACCESS_READ, &store, &error) != EFFACE_OK)
        fail_msg("the store does not open: %s", error.message);
    check_store(s, store);
    efface_store_close(store);
}

/* Requests that need more room: rows that come, and a model. And one that needs it only for the
 * journal: rows that leave. */
static step large_step(unsigned number) {
    step s = {.kind = number == 0 ? STEP_LEARN : STEP_FORGET};
    if (number == 1)
        return (step){.kind = STEP_FIT, .slot = 5, .model_kind = 3, .seed = 8};
    for (unsigned i = 0; i < 16; i++)
        s.ids[s.n_ids++] = number == 0 ? 400 + 12 * i : 20 * i;
    return s;
}

/* Sets the room, in bytes; a negative number takes all limits away. */
typedef void (*set_room)(const scene *s, int64_t n_bytes);

/* Each failure has this word in its message and, unless it is 0, this os_error. */
static void try_with_growing_room(scene *s, set_room room, const char *word, int os_error) {
    for (unsigned number = 0; number < 3; number++) {
        const step asked = large_step(number);
        efface_status status = EFFACE_E_IO;
        unsigned n_failed = 0;
        for (int64_t n_bytes = 0; status != EFFACE_OK; n_bytes += STEP_BYTES) {
            efface_error error = {.message = ""};
            room(s, n_bytes);
            status = step_do(&asked, s->store, &error);
            room(s, -1);
            if (status == EFFACE_OK)
                break;
            assert_int_equal(status, EFFACE_E_IO);
            if (strstr(error.message, word) == NULL)
                fail_msg("the message does not say what is wrong: %s", error.message);
            if (os_error != 0)
                assert_int_equal(error.os_error, os_error);
            check_both(s);
            n_failed++;
        }
        step_apply(&asked, &s->l);
        check_both(s);
        assert_true(n_failed > 2);
        print_message("request %u: failed %u times, then succeeded\n", number, n_failed);
    }
}

/* ---------------------------------------------------------------- a limit on the size of files */

static void limit_files(const scene *s, int64_t n_bytes) {
    (void)s;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = n_bytes >= 0 ? (rlim_t)n_bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void files_may_not_grow(void **state) {
    (void)state;
    scene s = {.store = NULL};
    (void)signal(SIGXFSZ, SIG_IGN);
    begin(&s, ".");
    try_with_growing_room(&s, limit_files, "cannot be read or written", 0);
    end(&s);
}

/* ---------------------------------------------------------------- a small file system */

static char small_disk[64] = "test_full_disk-XXXXXX";

static bool write_text(const char *path, const char *text) {
    const int file = open(path, O_WRONLY);
    const bool done = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        (void)close(file);
    return done;
}

/* In a name space of this process, so that it is gone with it. */
static bool mount_small_disk(void) {
    char map[64];
    (void)snprintf(map, sizeof map, "0 %ld 1", (long)getuid());
    if (unshare(CLONE_NEWNS) != 0 &&
        (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !write_text("/proc/self/uid_map", map)))
        return false;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", small_disk, "tmpfs", 0, "size=1m") == 0;
}

/* A file takes all the room but so much. */
static void fill_disk(const scene *s, int64_t n_bytes) {
    (void)s;
    static const char zeros[4096];
    char path[100];
    (void)snprintf(path, sizeof path, "%s/filler", small_disk);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    off_t size = 0;
    for (ssize_t n = 1; n_bytes >= 0 && n > 0; size += n > 0 ? n : 0)
        n = write(file, zeros, sizeof zeros);
    if (n_bytes >= 0)
        assert_int_equal(ftruncate(file, size > n_bytes ? size - n_bytes : 0), 0);
    (void)close(file);
}

static void the_disk_is_full(void **state) {
    (void)state;
    scene s = {.store = NULL};
    if (mkdtemp(small_disk) == NULL || !mount_small_disk()) {
        (void)rmdir(small_disk);
        print_message("no file system can be mounted here: %s\n", strerror(errno));
        skip();
    }
    begin(&s, small_disk);
    try_with_growing_room(&s, fill_disk, "disk is full", ENOSPC);
    end(&s);
    fill_disk(&s, -1);
    assert_int_equal(umount2(small_disk, MNT_DETACH), 0);
    (void)rmdir(small_disk);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_may_not_grow),
                                       cmocka_unit_test(the_disk_is_full)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
