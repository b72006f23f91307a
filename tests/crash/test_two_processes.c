/*
 * Several processes work on one store at once. Every request succeeds or is told that the store is
 * busy; at the end the store holds exactly what was acknowledged. Who only reads is not held up by
 * a request that takes long, and who wants to write is, for no longer than the wait.
 *
 * EFFACE_TEST_CASES sets how many requests each writer makes, EFFACE_TEST_SEED what they are.
 */
#define _GNU_SOURCE
#include "crash/worker.h"
#include "store/scenes/plain_calls.h"

#include "store/store.h"

#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define N_WRITERS LEDGER_LANES
#define DEFAULT_REQUESTS 40u
#define SHORT_WAIT 50 /* milliseconds */

static char path[64];

static void begin(ledger *l) {
    efface_error error = {.message = ""};
    (void)snprintf(path, sizeof path, "test_two_processes-%ld.store", (long)getpid());
    if (ledger_begin(l, path, &error) != EFFACE_OK)
        fail_msg("no store: %s", error.message);
}

static void end(void) {
    char journal[80];
    (void)snprintf(journal, sizeof journal, "%s-journal", path);
    (void)unlink(path);
    (void)unlink(journal);
}

static efface_store *open_store(efface_access access) {
    efface_store *store = NULL;
    efface_error error = {.message = ""};
    if (open_plain(path, access, &store, &error) != EFFACE_OK)
        fail_msg("the store does not open: %s", error.message);
    return store;
}

static void check_store(const ledger *l, efface_store *store) {
    char why[LEDGER_LINE];
    if (!ledger_is_of(l, store, why) || !store_is_sound(store, why))
        fail_msg("the store is not what it should be: %s", why);
}

static void check_end(pid_t pid) {
    int how = 0;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
        fail_msg("a process ended with %d", how);
}

/* ---------------------------------------------------------------- two writers and a reader */

/* Opens and looks, again and again, until the pipe that it was given closes. */
static int read_all_the_time(int until) {
    for (unsigned n = 0;; n++) {
        struct pollfd over = {.fd = until, .events = POLLIN};
        char why[LEDGER_LINE] = "";
        efface_store *store = NULL;
        efface_error error = {.message = ""};
        const efface_status status = open_plain(path, EFFACE_ACCESS_READ, &store, &error);
        const bool sound =
            status == EFFACE_OK ? store_is_sound(store, why) : status == EFFACE_E_BUSY;
        efface_store_close(store);
        if (!sound) {
            fprintf(stderr, "a reader finds: %s%s\n", error.message, why);
            return 1;
        }
        if (poll(&over, 1, 0) != 0) {
            printf("a reader looked %u times\n", n + 1);
            fflush(stdout);
            return 0;
        }
    }
}

static pid_t start_reader(int *until) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[1]);
        _exit(read_all_the_time(ends[0]));
    }
    (void)close(ends[0]);
    *until = ends[1];
    assert_true(pid > 0);
    return pid;
}

/* Listens to both writers until they are done. */
static void listen_to_all(const int *says, ledger *l, unsigned *n_done, unsigned *n_busy) {
    step asked[N_WRITERS];
    struct pollfd ready[N_WRITERS];
    for (int i = 0; i < N_WRITERS; i++)
        ready[i] = (struct pollfd){.fd = says[i], .events = POLLIN};
    for (int n_left = N_WRITERS; n_left > 0;) {
        assert_true(poll(ready, N_WRITERS, -1) > 0);
        for (int i = 0; i < N_WRITERS; i++) {
            if (ready[i].fd < 0 || ready[i].revents == 0)
                continue;
            const word w = worker_hear(says[i]);
            switch (w.kind) {
            case WORD_NONE:
                ready[i].fd = -1;
                n_left--;
                break;
            case WORD_ASK: asked[i] = w.asked; break;
            case WORD_DONE:
                step_apply(&asked[i], l);
                ++*n_done;
                break;
            case WORD_BUSY: ++*n_busy; break;
            default: fail_msg("a writer says: %s", w.text);
            }
        }
    }
}

static void two_write_and_one_reads(void **state) {
    (void)state;
    const char *const given = getenv("EFFACE_TEST_SEED"), *const many = getenv("EFFACE_TEST_CASES");
    const uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    const unsigned n = many != NULL ? (unsigned)strtoul(many, NULL, 0) : DEFAULT_REQUESTS;
    print_message("EFFACE_TEST_SEED=%" PRIu64 "\n", seed);
    ledger l;
    begin(&l);
    const ledger begins = l;
    pid_t writers[N_WRITERS];
    int says[N_WRITERS], until = -1;
    unsigned n_done = 0, n_busy = 0;
    const pid_t reader = start_reader(&until);
    for (unsigned i = 0; i < N_WRITERS; i++) {
        const worker w = {.path = path,
                          .begins = &begins,
                          .seed = seed + i,
                          .lane = i,
                          .n_lanes = N_WRITERS,
                          .n_requests = n};
        writers[i] = worker_start(&w, &says[i]);
        assert_true(writers[i] > 0);
    }
    listen_to_all(says, &l, &n_done, &n_busy);
    (void)close(until);
    for (unsigned i = 0; i < N_WRITERS; i++) {
        (void)close(says[i]);
        check_end(writers[i]);
    }
    check_end(reader);
    print_message("%u requests acknowledged, %u found the store busy\n", n_done, n_busy);
    assert_int_equal(n_done + n_busy, n * N_WRITERS);
    assert_true(n_done > 0);
    efface_store *const store = open_store(EFFACE_ACCESS_READ);
    check_store(&l, store);
    efface_store_close(store);
    end();
}

/* ---------------------------------------------------------------- a request that takes long */

static const step a_step = {.kind = STEP_FORGET, .n_ids = 1, .ids = {8}};

/* A writer stops at the first byte that it writes, with all it has found out and nothing done. */
static void others_while_one_writes(void **state) {
    (void)state;
    ledger l;
    begin(&l);
    int go_on[2], says = -1;
    assert_int_equal(pipe(go_on), 0);
    const worker w = {.path = path,
                      .begins = &l,
                      .seed = 3,
                      .lane = 1,
                      .n_lanes = N_WRITERS,
                      .n_requests = 1,
                      .end = WORKER_PAUSES,
                      .at_write = 1,
                      .go_on = go_on[0]};
    efface_store *const other = open_store(EFFACE_ACCESS_WRITE);
    const pid_t pid = worker_start(&w, &says);
    assert_true(pid > 0);
    const word ask = worker_hear(says);
    assert_int_equal(ask.kind, WORD_ASK);
    assert_int_equal(worker_hear(says).kind, WORD_PAUSED);

    efface_store *const reader = open_store(EFFACE_ACCESS_READ);
    check_store(&l, reader); /* info, load, encode, verify, check, receipts */
    assert_int_equal(sqlite3_busy_timeout(other->db, SHORT_WAIT), SQLITE_OK);
    efface_error error = {.message = ""};
    assert_int_equal(step_do(&a_step, other, &error), EFFACE_E_BUSY);
    assert_string_not_equal(error.message, "");
    check_store(&l, other);

    assert_int_equal(write(go_on[1], "", 1), 1);
    assert_int_equal(worker_hear(says).kind, WORD_DONE);
    assert_int_equal(worker_hear(says).kind, WORD_NONE);
    check_end(pid);
    step_apply(&ask.asked, &l);
    check_store(&l, reader);
    assert_int_equal(step_do(&a_step, other, &error), EFFACE_OK);
    step_apply(&a_step, &l);
    check_store(&l, other);
    check_store(&l, reader);
    efface_store_close(other);
    efface_store_close(reader);
    (void)close(says);
    (void)close(go_on[0]);
    (void)close(go_on[1]);
    end();
}

/* Who reads for longer than the wait keeps a request from ending; it is taken back. */
static void one_writes_while_another_reads_on(void **state) {
    (void)state;
    ledger l;
    begin(&l);
    efface_store *const reader = open_store(EFFACE_ACCESS_READ);
    efface_store *const writer = open_store(EFFACE_ACCESS_WRITE);
    assert_int_equal(sqlite3_busy_timeout(writer->db, SHORT_WAIT), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader->db, "BEGIN; SELECT count(*) FROM rows", NULL, NULL, NULL),
                     SQLITE_OK);
    efface_error error = {.message = ""};
    assert_int_equal(step_do(&a_step, writer, &error), EFFACE_E_BUSY);
    assert_string_not_equal(error.message, "");
    assert_int_equal(sqlite3_exec(reader->db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    check_store(&l, reader);
    check_store(&l, writer);
    assert_int_equal(step_do(&a_step, writer, &error), EFFACE_OK);
    step_apply(&a_step, &l);
    check_store(&l, reader);
    efface_store_close(writer);
    efface_store_close(reader);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_write_and_one_reads),
                                       cmocka_unit_test(others_while_one_writes),
                                       cmocka_unit_test(one_writes_while_another_reads_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
