/*
 * A store in parts whose disk fails, or loses its power (store.c, invariant 1).
 *
 * All ranks have the same disk in memory (faulty_vfs.h). For n = 1, 2, ... the n-th thing that is
 * done to it, or to one part, fails, or is the last before the processes die or the power goes.
 * What was synced is there still: it must open, and be the store before or after the request. It is
 * the store after the request if the request returned OK, or if other processes had finished it.
 *
 * Only syncs go wrong, unless EFFACE_TEST_ALL_FAULTS=1 is set.
 */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group/store/parts_left.h"
#include "store/scenes/faulty_vfs.h"

#include <pthread.h>

static struct { unsigned long before, after, refused, done, finished; } seen;

/* ------------------------------------------------------------------ ranks take turns */

/* The disk is not for several threads at a time, so ranks work one after the other: whoever waits
 * for the others lets one of them go on. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static const efface_group *wait_with(void *context) {
    (void)pthread_mutex_unlock(&turn);
    return context;
}

static int go_on(int code) {
    (void)pthread_mutex_lock(&turn);
    return code;
}

static int turning_sum(void *context, uint64_t *numbers, size_t n) {
    const efface_group *const g = wait_with(context);
    return go_on(g->sum_64(g->context, numbers, n));
}

static int turning_sum_128(void *context, uint64_t *halves, size_t n) {
    const efface_group *const g = wait_with(context);
    return go_on(g->sum_128(g->context, halves, n));
}

static int turning_minimum(void *context, uint64_t *tuples, size_t n, size_t width) {
    const efface_group *const g = wait_with(context);
    return go_on(g->minimum(g->context, tuples, n, width));
}

static int turning_gather(void *context, const void *bytes, const size_t *sizes, uint32_t root,
                          void *all) {
    const efface_group *const g = wait_with(context);
    return go_on(g->gather(g->context, bytes, sizes, root, all));
}

static int turning_broadcast(void *context, void *bytes, size_t n_bytes, uint32_t root) {
    const efface_group *const g = wait_with(context);
    return go_on(g->broadcast(g->context, bytes, n_bytes, root));
}

static int turning_agree(void *context, uint64_t *number) {
    const efface_group *const g = wait_with(context);
    return go_on(g->agree(g->context, number));
}

/* ------------------------------------------------------------------ a request */

typedef struct attempt {
    request_kind kind;
    bool only_opens; /* which finishes what others began */
    efface_status status;
} attempt;

static efface_status open_and_ask(const attempt *a, const efface_group *group) {
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    efface_status status = efface_store_open(scene_folder, &options, &store, NULL);
    if (status == EFFACE_OK && !a->only_opens)
        status = try_request(store, a->kind, NULL);
    efface_store_close(store);
    return status;
}

static void attempt_on_rank(const efface_group *group, void *context) {
    attempt *const a = context;
    efface_group inner = *group;
    const efface_group turning = {.rank = group->rank,
                                  .size = group->size,
                                  .context = &inner,
                                  .sum_64 = turning_sum,
                                  .sum_128 = turning_sum_128,
                                  .minimum = turning_minimum,
                                  .gather = turning_gather,
                                  .broadcast = turning_broadcast,
                                  .agree = turning_agree};
    (void)pthread_mutex_lock(&turn);
    const efface_status status = open_and_ask(a, &turning);
    if (group->rank == 0)
        a->status = status;
    (void)pthread_mutex_unlock(&turn);
}

static efface_status try_in_group(request_kind kind, bool only_opens) {
    attempt a = {.kind = kind, .only_opens = only_opens};
    thread_group_run(N_RANKS, attempt_on_rank, &a);
    return a.status;
}

/* ------------------------------------------------------------------ what is on the disk */

/* What the disk has kept is the store before the request, or after it. */
static bool is_after(void) {
    left_behind left = {.is_before = false};
    run_command("rm -rf '%s/left' && cp -r '%s' '%s/left'", folder, scene_folder, folder);
    (void)snprintf(left.path, sizeof left.path, "%s/left", folder);
    assert_true(disk_save(left.path));
    disk_leave();
    thread_group_run(N_RANKS, open_left, &left);
    disk_use();
    assert_true(left.is_before != left.is_after);
    seen.before += left.is_before;
    seen.after += left.is_after;
    return left.is_after;
}

/* What goes wrong. */
typedef struct trouble {
    disk_fault fault;
    const char *files; /* of which parts, by the beginning of their names */
    bool recovers;     /* others find what is left, and finish it, before the power goes */
    bool gets_dark;    /* it goes while they are at it */
} trouble;

/* A request in which the n-th thing of these kinds goes wrong; false if there were fewer. */
static bool ask_in_trouble(request_kind kind, const trouble *t, unsigned kinds, long n,
                           uint64_t seed, bool *done) {
    disk_clear();
    disk_spare_others(t->files);
    disk_arm(t->fault, kinds, n, seed);
    const efface_status status = try_in_group(kind, false);
    disk_spare_others("");
    *done = status == EFFACE_OK;
    seen.refused += status != EFFACE_OK;
    seen.done += status == EFFACE_OK;
    return disk_disarm(NULL);
}

static void lose_power(uint64_t seed, bool must_be_after) {
    disk_cut_power(seed);
    disk_reboot();
    const bool after = is_after();
    assert_true(after || !must_be_after);
}

static bool try_fault(request_kind kind, const trouble *t, unsigned kinds, long n) {
    const uint64_t seed = t->fault == DISK_BROKEN ? 0 : (uint64_t)n % 3;
    bool done = false;
    const bool met = ask_in_trouble(kind, t, kinds, n, seed, &done);
    if (t->recovers) {
        assert_int_equal(try_in_group(kind, true), EFFACE_OK);
        const bool finished = is_after();
        assert_true(finished || !done);
        done = finished;
        seen.finished += finished;
    }
    lose_power(seed, done);
    return met;
}

/* The same, but others find the store, and the power goes at the m-th thing that they do. */
static bool try_two_faults(request_kind kind, const trouble *t, unsigned kinds, long n) {
    bool dark = true, met = false, done = false;
    for (long m = 1; dark; m++) {
        met = ask_in_trouble(kind, t, kinds, n, 0, &done);
        disk_arm(DISK_POWER, kinds, m, 0);
        (void)try_in_group(kind, true);
        dark = disk_disarm(NULL);
        lose_power(0, done);
    }
    return met;
}

static void try_faults(request_kind kind, const trouble *t) {
    const unsigned kinds = getenv("EFFACE_TEST_ALL_FAULTS") != NULL ? DISK_CHANGE : DISK_SYNC;
    create_two_files(kind);
    disk_use();
    for (long n = 1; (t->gets_dark ? try_two_faults : try_fault)(kind, t, kinds, n);)
        n++;
    disk_clear();
    disk_leave();
    run_command("rm -rf '%s'/*", folder);
}

/* The processes die when the disk is broken: they cannot do anything any more. */
static void test_troubles(void **state) {
    (void)state;
    static const trouble troubles[] = {
        {.fault = DISK_POWER, .files = ""},
        {.fault = DISK_FAILS, .files = ""},
        {.fault = DISK_BROKEN, .files = "", .recovers = true},
        {.fault = DISK_BROKEN, .files = "part-0-"},
        {.fault = DISK_BROKEN, .files = "part-1-", .recovers = true},
        {.fault = DISK_BROKEN, .files = "part-0-", .gets_dark = true},
    };
    const bool all = getenv("EFFACE_TEST_ALL_FAULTS") != NULL;
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++)
        for (int kind = FORGET; kind <= UPDATE; kind++)
            if (all || (size_t)kind == i % 3)
                try_faults((request_kind)kind, &troubles[i]);
}

static int end_all(void **state) {
    (void)fprintf(stderr, "%lu before, %lu after; %lu refused, %lu done, %lu finished by others\n",
                  seen.before, seen.after, seen.refused, seen.done, seen.finished);
    return end_folder(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_troubles),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_all);
}
