/*
 * Threads: whatever the number of workers, every item is worked on exactly once, a worker number
 * belongs to one thread at a time, and a run ends only when all of its work has.
 *
 * Counters are plain memory on purpose: only an item's own worker writes them, so that a race is
 * seen by the thread sanitizer.
 */
#define _POSIX_C_SOURCE 200809L
#include "base/workers/threads.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MOST_WORKERS 9
#define MOST_ITEMS 5000

typedef struct tally {
    size_t n_items, grain;
    unsigned n_workers;
    unsigned char times[MOST_ITEMS]; /* how often each item was worked on */
    uint64_t sums[MOST_WORKERS];
    atomic_bool inside[MOST_WORKERS];
    atomic_int n_calls, n_wrong; /* cmocka's assertions are for the main thread */
} tally;

static uint64_t value_of(size_t item) {
    return item * UINT64_C(0x9E3779B97F4A7C15) ^ item >> 3;
}

static void count_items(void *context, unsigned worker, size_t first, size_t last) {
    tally *const t = context;
    atomic_fetch_add(&t->n_calls, 1);
    const size_t part = (t->n_items - first) / (4 * t->n_workers);
    const size_t most = part > t->grain ? part : t->grain;
    if (worker >= t->n_workers || first >= last || last > t->n_items ||
        (t->n_workers > 1 && last - first > most)) {
        atomic_fetch_add(&t->n_wrong, 1);
        return;
    }
    if (atomic_exchange(&t->inside[worker], true))
        atomic_fetch_add(&t->n_wrong, 1);
    for (size_t i = first; i < last; i++) {
        t->times[i]++;
        t->sums[worker] += value_of(i);
    }
    if (last % 64 == 0)
        sched_yield();
    atomic_store(&t->inside[worker], false);
}

static void check_run(ef_pool *pool, tally *t, size_t n_items, size_t grain) {
    memset(t->times, 0, sizeof t->times);
    memset(t->sums, 0, sizeof t->sums);
    t->n_items = n_items;
    t->grain = grain;
    t->n_workers = ef_pool_size(pool);
    atomic_store(&t->n_calls, 0);
    atomic_store(&t->n_wrong, 0);
    ef_pool_run(pool, n_items, grain, count_items, t);
    assert_int_equal(atomic_load(&t->n_wrong), 0);
    uint64_t sum = 0, right = 0;
    for (unsigned w = 0; w < MOST_WORKERS; w++)
        sum += t->sums[w];
    for (size_t i = 0; i < MOST_ITEMS; i++) {
        assert_int_equal(t->times[i], i < n_items ? 1 : 0);
        right += i < n_items ? value_of(i) : 0;
    }
    assert_true(sum == right);
    if (n_items <= grain) /* not worth waking anybody */
        assert_int_equal(atomic_load(&t->n_calls), n_items != 0 ? 1 : 0);
}

static void every_item_once_for_any_number_of_workers(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 16, 63, 64, 65, 100, 1000, 4999, 5000};
    static const size_t grains[] = {1, 2, 3, 8, 17, 64, 999, 1000, 4999, 5000, 5001, 100000};
    tally *const t = test_calloc(1, sizeof *t);
    for (unsigned n = 1; n <= MOST_WORKERS; n++) {
        ef_pool *const pool = ef_pool_create(n);
        assert_non_null(pool);
        assert_int_equal(ef_pool_size(pool), n);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t g = 0; g < sizeof grains / sizeof *grains; g++)
                if (sizes[s] / grains[g] <= 1000)
                    check_run(pool, t, sizes[s], grains[g]);
        ef_pool_free(pool);
    }
    test_free(t);
}

/* Runs that follow each other at once: a worker that is late for one must not disturb the next. */
static void many_runs_on_one_pool(void **state) {
    (void)state;
    tally *const t = test_calloc(1, sizeof *t);
    ef_pool *const pool = ef_pool_create(4);
    assert_non_null(pool);
    for (size_t i = 0; i < 3000; i++)
        check_run(pool, t, i % 40, 1 + i % 3);
    ef_pool_free(pool);
    test_free(t);
}

static void pools_come_and_go(void **state) {
    (void)state;
    tally *const t = test_calloc(1, sizeof *t);
    for (unsigned i = 0; i < 300; i++) {
        ef_pool *const pool = ef_pool_create(1 + i % MOST_WORKERS);
        assert_non_null(pool);
        if (i % 3 != 0) /* some are never used */
            check_run(pool, t, i, 1 + i % 5);
        ef_pool_free(pool);
    }
    ef_pool_free(NULL);
    ef_pool *const pool = ef_pool_create(0);
    assert_non_null(pool);
    assert_true(ef_pool_size(pool) >= 1);
    ef_pool_free(pool);
    test_free(t);
}

static void nothing_to_do_calls_nobody(void **state) {
    (void)state;
    tally *const t = test_calloc(1, sizeof *t);
    for (unsigned n = 1; n <= 3; n++) {
        ef_pool *const pool = ef_pool_create(n);
        assert_non_null(pool);
        ef_pool_run(pool, 0, 1, count_items, t);
        ef_pool_run(pool, 0, 100, count_items, t);
        assert_int_equal(atomic_load(&t->n_calls), 0);
        ef_pool_free(pool);
    }
    test_free(t);
}

/* ---------------------------------------------------------------- stopping */

typedef struct stop {
    ef_pool *pool;
    size_t at; /* the item at which a worker wants no more */
    atomic_size_t n_done;
    atomic_bool seen_stopped;
} stop;

static void stop_at_item(void *context, unsigned worker, size_t first, size_t last) {
    stop *const s = context;
    (void)worker;
    for (size_t i = first; i < last; i++) {
        if (ef_pool_stopped(s->pool)) {
            atomic_store(&s->seen_stopped, true);
            return;
        }
        if (i == s->at)
            ef_pool_stop(s->pool);
        atomic_fetch_add(&s->n_done, 1);
    }
}

/* Each worker may have taken one more item before it hears of it, and the next run knows nothing of
 * the last. */
static void a_run_can_be_stopped(void **state) {
    (void)state;
    for (unsigned n = 1; n <= 4; n++) {
        stop s = {.pool = ef_pool_create(n)};
        assert_non_null(s.pool);
        for (size_t at = 0; at < 300; at += 7) {
            s.at = at;
            atomic_store(&s.n_done, 0);
            ef_pool_run(s.pool, 1000000, 1, stop_at_item, &s);
            assert_true(ef_pool_stopped(s.pool));
            assert_true(atomic_load(&s.n_done) > 0 && atomic_load(&s.n_done) < 1000000);
            if (n == 1)
                assert_int_equal(atomic_load(&s.n_done), at + 1);
            s.at = SIZE_MAX;
            atomic_store(&s.n_done, 0);
            atomic_store(&s.seen_stopped, false);
            ef_pool_run(s.pool, 50, 1, stop_at_item, &s);
            assert_int_equal(atomic_load(&s.n_done), 50);
            assert_false(atomic_load(&s.seen_stopped));
        }
        ef_pool_free(s.pool);
    }
}

/* ---------------------------------------------------------------- really at once */

typedef struct meeting {
    unsigned n_expected;
    atomic_uint n_here;
    atomic_uint n_done;
    atomic_uint workers; /* a bit for each */
} meeting;

static void nap(void) {
    const struct timespec while_others_run = {0, 2000000};
    nanosleep(&while_others_run, NULL);
}

/* Nobody leaves before all are here, and all but the calling thread leave late. */
static void meet(void *context, unsigned worker, size_t first, size_t last) {
    meeting *const m = context;
    (void)first;
    (void)last;
    atomic_fetch_or(&m->workers, 1u << worker);
    atomic_fetch_add(&m->n_here, 1);
    for (int i = 0; i < 10000 && atomic_load(&m->n_here) < m->n_expected; i++)
        nap();
    if (worker != 0)
        for (int i = 0; i < 10; i++)
            nap();
    atomic_fetch_add(&m->n_done, 1);
}

static void workers_work_at_once_and_are_waited_for(void **state) {
    (void)state;
    for (unsigned n = 2; n <= 5; n++) {
        ef_pool *const pool = ef_pool_create(n);
        assert_non_null(pool);
        for (int run = 0; run < 2; run++) {
            meeting m = {.n_expected = n};
            ef_pool_run(pool, n, 1, meet, &m);
            assert_int_equal(atomic_load(&m.n_here), n);
            assert_int_equal(atomic_load(&m.n_done), n);
            assert_int_equal(atomic_load(&m.workers), (1u << n) - 1);
        }
        ef_pool_free(pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_once_for_any_number_of_workers),
        cmocka_unit_test(many_runs_on_one_pool),
        cmocka_unit_test(pools_come_and_go),
        cmocka_unit_test(nothing_to_do_calls_nobody),
        cmocka_unit_test(a_run_can_be_stopped),
        cmocka_unit_test(workers_work_at_once_and_are_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
