/*
 * Kills a process that works on a store, again and again, and looks at what it left (invariant 1 of
 * the store): every acknowledged request is in force, the one under way wholly is or wholly is not;
 * check finds nothing, every model verifies, and receipts have no gap.
 *
 * A third of the kills come at any time, a third shortly after a request began, a third within a
 * write of SQLite, some of them with half of it done. At times the process that rolls back what was
 * left is killed as well. What only a loss of power would do, writes that never reached the disk,
 * is not in here.
 *
 * EFFACE_TEST_KILLS sets their number, EFFACE_TEST_SEED where they fall; the moments of the first
 * two kinds are a matter of time too. When the test fails, the store stays where it is.
 */
#define _GNU_SOURCE
#include "crash/worker.h"
#include "store/scenes/plain_calls.h"

#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define DEFAULT_KILLS 20ul
#define ENDLESS 100000u

static struct { unsigned long kills, within, in_force, left_journal, rollbacks_killed, done; } seen;

typedef struct arena {
    char path[64], journal[80];
    ledger l; /* by what was acknowledged */
    dice d;
} arena;

static void sleep_microseconds(uint64_t n) {
    const struct timespec time = {.tv_sec = (time_t)(n / 1000000),
                                  .tv_nsec = (long)(n % 1000000) * 1000};
    (void)nanosleep(&time, NULL);
}

static bool journal_is_hot(const arena *a) {
    struct stat s;
    return stat(a->journal, &s) == 0 && s.st_size > 0;
}

/* ---------------------------------------------------------------- one kill */

typedef struct hearing {
    bool asks; /* a request is under way */
    step asked;
} hearing;

/* Takes a word to the ledger. False at the end of the pipe. */
static bool listen_to(arena *a, int says, hearing *h) {
    const word w = worker_hear(says);
    if (w.kind == WORD_NONE)
        return false;
    if (w.kind == WORD_ASK)
        *h = (hearing){.asks = true, .asked = w.asked};
    else if (w.kind == WORD_DONE) {
        step_apply(&h->asked, &a->l);
        h->asks = false;
        seen.done++;
    } else
        fail_msg("the worker says: %s", w.text);
    return true;
}

/* Listens for a while, then kills. */
static void kill_after(arena *a, pid_t pid, int says, uint64_t microseconds, hearing *h) {
    struct timespec begin, now;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        const int64_t gone =
            (now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000;
        if (gone >= (int64_t)microseconds)
            break;
        struct pollfd ready = {.fd = says, .events = POLLIN};
        const int left = (int)(((int64_t)microseconds - gone) / 1000);
        if (poll(&ready, 1, left) == 0 && left == 0)
            sleep_microseconds(microseconds - (uint64_t)gone);
        else if (ready.revents != 0 && !listen_to(a, says, h))
            break;
    }
    (void)kill(pid, SIGKILL);
}

/* Listens until a number of requests have begun, then kills some milliseconds later. */
static void kill_within(arena *a, pid_t pid, int says, uint64_t n, uint64_t microseconds,
                        hearing *h) {
    while (n > 0 && listen_to(a, says, h))
        n -= h->asks;
    sleep_microseconds(microseconds);
    (void)kill(pid, SIGKILL);
}

static void bury(pid_t pid) {
    int how = 0;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    if (!WIFSIGNALED(how) || WTERMSIG(how) != SIGKILL)
        fail_msg("the worker ended by itself, with %d", how);
}

static hearing kill_worker(arena *a) {
    const uint64_t how = dice_below(&a->d, 3);
    const bool torn = dice_below(&a->d, 2) != 0;
    const worker w = {.path = a->path,
                      .begins = &a->l,
                      .seed = dice_below(&a->d, UINT64_MAX),
                      .n_lanes = 1,
                      .n_requests = ENDLESS,
                      .end = how != 2 ? WORKER_GOES_ON
                             : torn   ? WORKER_DIES_TORN
                                      : WORKER_DIES,
                      .at_write = 1 + (unsigned)dice_below(&a->d, 300)};
    const uint64_t n = 1 + dice_below(&a->d, 4);
    const uint64_t microseconds = dice_below(&a->d, how == 0 ? 300000 : 40000);
    const ledger begins = a->l; /* the worker's copy is made in the fork; this one may change */
    worker own = w;
    own.begins = &begins;
    hearing h = {.asks = false};
    int says = -1;
    const pid_t pid = worker_start(&own, &says);
    assert_true(pid > 0);
    if (how == 0)
        kill_after(a, pid, says, microseconds, &h);
    else if (how == 1)
        kill_within(a, pid, says, n, microseconds, &h);
    while (listen_to(a, says, &h))
        ;
    (void)close(says);
    bury(pid);
    seen.kills++;
    return h;
}

/* A process that opens the store rolls back; it dies while it does. */
static void kill_rollback(arena *a) {
    const worker w = {.path = a->path,
                      .begins = &a->l,
                      .n_lanes = 1,
                      .end = dice_below(&a->d, 2) != 0 ? WORKER_DIES_TORN : WORKER_DIES,
                      .at_write = 1 + (unsigned)dice_below(&a->d, 4)};
    int says = -1, how = 0;
    const pid_t pid = worker_start(&w, &says);
    assert_true(pid > 0);
    assert_int_equal(worker_hear(says).kind, WORD_NONE);
    (void)close(says);
    assert_int_equal(waitpid(pid, &how, 0), pid);
    seen.rollbacks_killed += WIFSIGNALED(how);
}

/* ---------------------------------------------------------------- what it left */

static void check_what_is_left(arena *a, const hearing *h) {
    char before[LEDGER_LINE] = "", after[LEDGER_LINE] = "", why[LEDGER_LINE] = "";
    efface_store *store = NULL;
    efface_error error = {.message = ""};
    if (open_plain(a->path, EFFACE_ACCESS_READ, &store, &error) != EFFACE_OK)
        fail_msg("the store does not open: %s", error.message);
    ledger with = a->l;
    if (h->asks)
        step_apply(&h->asked, &with);
    const bool is_before = ledger_is_of(&a->l, store, before);
    const bool is_after = !is_before && h->asks && ledger_is_of(&with, store, after);
    if (!is_before && !is_after && h->asks)
        fail_msg("a request was done by half: neither without it (%s) nor with it (%s)", before,
                 after);
    if (!is_before && !is_after)
        fail_msg("not what was acknowledged: %s", before);
    if (!store_is_sound(store, why))
        fail_msg("the store is damaged: %s", why);
    efface_store_close(store);
    seen.in_force += is_after;
    if (is_after)
        a->l = with;
}

static void run(arena *a, unsigned long n_kills) {
    efface_error error = {.message = ""};
    (void)snprintf(a->path, sizeof a->path, "test_kill-%ld.store", (long)getpid());
    (void)snprintf(a->journal, sizeof a->journal, "%s-journal", a->path);
    if (ledger_begin(&a->l, a->path, &error) != EFFACE_OK)
        fail_msg("no store: %s", error.message);
    while (seen.kills < n_kills) {
        const hearing h = kill_worker(a);
        const bool hot = journal_is_hot(a);
        seen.within += h.asks;
        seen.left_journal += hot;
        if (hot && dice_below(&a->d, 2) != 0)
            kill_rollback(a);
        check_what_is_left(a, &h);
    }
    (void)unlink(a->path);
    (void)unlink(a->journal);
}

static void what_was_acknowledged_survives_kills(void **state) {
    (void)state;
    const char *const given = getenv("EFFACE_TEST_SEED"), *const many = getenv("EFFACE_TEST_KILLS");
    const uint64_t seed = given != NULL ? strtoull(given, NULL, 0)
                                        : (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
    print_message("EFFACE_TEST_SEED=%" PRIu64 "\n", seed);
    arena a = {.d = {seed}};
    run(&a, many != NULL ? strtoul(many, NULL, 0) : DEFAULT_KILLS);
    print_message("%lu kills, %lu within a request (%lu of them in force), %lu left a journal, %lu "
                  "rollbacks killed; %lu requests acknowledged\n",
                  seen.kills, seen.within, seen.in_force, seen.left_journal, seen.rollbacks_killed,
                  seen.done);
    if (seen.kills >= DEFAULT_KILLS)
        assert_true(seen.within != 0 && seen.left_journal != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_acknowledged_survives_kills)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
