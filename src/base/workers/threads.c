/* Threads: the only file that knows of them. */
#define _POSIX_C_SOURCE 200809L
#include "base/workers/threads.h"

#include "base/memory/memory.h"
#include "base/workers/cpu.h"

#include <sched.h>
#include <stdatomic.h>

#define MAX_THREADS 1024

/* How often a thread looks before it sleeps, giving way each time: some 30 microseconds. From one
 * run to the next it is often less, and to be woken takes as long. */
#define LOOKS 64

struct ef_pool {
    unsigned n_workers; /* the calling thread is worker 0 */
    pthread_t *threads; /* of the workers 1 to n_workers - 1 */
    pthread_mutex_t lock;
    pthread_cond_t begin;
    pthread_cond_t end;
    atomic_size_t round; /* counts runs; moves under the lock, and workers wait for that */
    atomic_uint n_busy;  /* workers that have not finished this run */
    bool stopping;       /* the round that comes is none: workers end */
    /* The current run. */
    ef_work work;
    void *context;
    size_t n_items;
    size_t grain;
    atomic_size_t next;
    atomic_bool stopped;
};

void ef_do_once(ef_once *once, void (*work)(void)) {
    (void)pthread_once(once, work);
}

typedef struct start {
    ef_pool *pool;
    unsigned worker;
} start;

/* Long stretches first, which are read from front to back, and short ones at the end, so that all
 * finish together. */
static void take_items(ef_pool *pool, unsigned worker) {
    size_t first = atomic_load(&pool->next);
    while (first < pool->n_items && !ef_pool_stopped(pool)) {
        const size_t rest = pool->n_items - first, part = rest / (4 * (size_t)pool->n_workers);
        const size_t wanted = part > pool->grain ? part : pool->grain;
        const size_t n = wanted < rest ? wanted : rest;
        if (!atomic_compare_exchange_weak(&pool->next, &first, first + n))
            continue;
        pool->work(pool->context, worker, first, first + n);
        first = atomic_load(&pool->next);
    }
}

/* Waits until there is another round than the one that was seen. */
static size_t await_round(ef_pool *pool, size_t seen) {
    for (int i = 0; i < LOOKS; i++) {
        const size_t round = atomic_load(&pool->round);
        if (round != seen)
            return round;
        sched_yield();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->round) == seen)
        pthread_cond_wait(&pool->begin, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    return seen + 1;
}

static void await_workers(ef_pool *pool) {
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load(&pool->n_busy) == 0)
            return;
        sched_yield();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->n_busy) != 0)
        pthread_cond_wait(&pool->end, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void *worker_main(void *argument) {
    const start own = *(start *)argument;
    ef_free(argument);
    ef_pool *const pool = own.pool;
    for (size_t seen = 0;;) {
        seen = await_round(pool, seen);
        if (pool->stopping) {
            ef_wipe_stack(EF_DEEP_STACK); /* it is kept for the next thread */
            return NULL;
        }
        take_items(pool, own.worker);
        if (atomic_fetch_sub(&pool->n_busy, 1) != 1)
            continue;
        pthread_mutex_lock(&pool->lock); /* so that nobody is between looking and sleeping */
        pthread_cond_signal(&pool->end);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Begins a round; all that it needs is there already. */
static void begin_round(ef_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->round, 1);
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->lock);
}

static bool start_worker(ef_pool *pool) {
    start *const argument = ef_alloc(1, sizeof *argument);
    if (argument == NULL)
        return false;
    *argument = (start){pool, pool->n_workers};
    if (pthread_create(&pool->threads[pool->n_workers - 1], NULL, worker_main, argument) != 0) {
        ef_free(argument);
        return false;
    }
    pool->n_workers++;
    return true;
}

ef_pool *ef_pool_create(unsigned n_threads) {
    if (n_threads == 0)
        n_threads = ef_cpu_count();
    if (n_threads > MAX_THREADS)
        n_threads = MAX_THREADS;
    ef_pool *const pool = ef_alloc_zero(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pool->threads = ef_alloc(n_threads, sizeof *pool->threads);
    if (pool->threads == NULL) {
        ef_free(pool);
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->begin, NULL);
    pthread_cond_init(&pool->end, NULL);
    pool->n_workers = 1;
    while (pool->n_workers < n_threads && start_worker(pool))
        continue;
    return pool;
}

void ef_pool_free(ef_pool *pool) {
    if (pool == NULL)
        return;
    pool->stopping = true;
    begin_round(pool);
    for (unsigned i = 1; i < pool->n_workers; i++)
        pthread_join(pool->threads[i - 1], NULL);
    pthread_cond_destroy(&pool->end);
    pthread_cond_destroy(&pool->begin);
    pthread_mutex_destroy(&pool->lock);
    ef_free(pool->threads);
    ef_free(pool);
}

unsigned ef_pool_size(const ef_pool *pool) {
    return pool->n_workers;
}

void ef_pool_run(ef_pool *pool, size_t n_items, size_t grain, ef_work work, void *context) {
    if (n_items == 0)
        return;
    atomic_store(&pool->stopped, false);
    if (pool->n_workers == 1 || n_items <= grain) {
        work(context, 0, 0, n_items);
        return;
    }
    pool->work = work;
    pool->context = context;
    pool->n_items = n_items;
    pool->grain = grain;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->n_busy, pool->n_workers - 1);
    begin_round(pool);
    take_items(pool, 0);
    await_workers(pool);
}

void ef_pool_stop(ef_pool *pool) {
    atomic_store(&pool->stopped, true);
}

bool ef_pool_stopped(ef_pool *pool) {
    return atomic_load(&pool->stopped);
}

/* ---------------------------------------------------------------- locks */

struct ef_lock {
    pthread_mutex_t mutex;
};

ef_lock *ef_lock_create(void) {
    ef_lock *const lock = ef_alloc(1, sizeof *lock);
    if (lock != NULL)
        pthread_mutex_init(&lock->mutex, NULL);
    return lock;
}

void ef_lock_free(ef_lock *lock) {
    if (lock == NULL)
        return;
    pthread_mutex_destroy(&lock->mutex);
    ef_free(lock);
}

void ef_lock_take(ef_lock *lock) {
    pthread_mutex_lock(&lock->mutex);
}

void ef_lock_leave(ef_lock *lock) {
    pthread_mutex_unlock(&lock->mutex);
}
