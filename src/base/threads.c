/* Threads: the only file that knows of them. */
#define _POSIX_C_SOURCE 200809L
#include "base/threads.h"

#include "base/checked.h"
#include "base/cpu.h"

#include <pthread.h>
#include <stdatomic.h>

#define MOST_THREADS 1024

struct ef_pool {
    unsigned n_workers; /* the calling thread is worker 0 */
    pthread_t *threads; /* of the workers 1 to n_workers - 1 */
    pthread_mutex_t lock;
    pthread_cond_t begin;
    pthread_cond_t end;
    size_t round;    /* counts runs; a worker waits for it to move */
    unsigned n_busy; /* workers that have not finished this run */
    bool stopping;
    /* The current run. */
    ef_work work;
    void *context;
    size_t n_items;
    size_t grain;
    atomic_size_t next;
    atomic_bool stopped;
};

typedef struct start {
    ef_pool *pool;
    unsigned worker;
} start;

static void take_items(ef_pool *pool, unsigned worker) {
    for (;;) {
        const size_t first = atomic_fetch_add(&pool->next, pool->grain);
        if (first >= pool->n_items || ef_pool_stopped(pool))
            return;
        const size_t rest = pool->n_items - first;
        pool->work(pool->context, worker, first, first + (rest < pool->grain ? rest : pool->grain));
    }
}

static void *worker_main(void *argument) {
    const start own = *(start *)argument;
    free(argument);
    ef_pool *const pool = own.pool;
    size_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->round == seen && !pool->stopping)
            pthread_cond_wait(&pool->begin, &pool->lock);
        if (pool->stopping)
            break;
        seen = pool->round;
        pthread_mutex_unlock(&pool->lock);
        take_items(pool, own.worker);
        pthread_mutex_lock(&pool->lock);
        if (--pool->n_busy == 0)
            pthread_cond_signal(&pool->end);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static bool start_worker(ef_pool *pool) {
    start *const argument = ef_alloc(1, sizeof *argument);
    if (argument == NULL)
        return false;
    *argument = (start){pool, pool->n_workers};
    if (pthread_create(&pool->threads[pool->n_workers - 1], NULL, worker_main, argument) != 0) {
        free(argument);
        return false;
    }
    pool->n_workers++;
    return true;
}

ef_pool *ef_pool_create(unsigned n_threads) {
    if (n_threads == 0)
        n_threads = ef_cpu_count();
    if (n_threads > MOST_THREADS)
        n_threads = MOST_THREADS;
    ef_pool *const pool = ef_alloc_zero(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pool->threads = ef_alloc(n_threads, sizeof *pool->threads);
    if (pool->threads == NULL) {
        free(pool);
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
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 1; i < pool->n_workers; i++)
        pthread_join(pool->threads[i - 1], NULL);
    pthread_cond_destroy(&pool->end);
    pthread_cond_destroy(&pool->begin);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool);
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
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->context = context;
    pool->n_items = n_items;
    pool->grain = grain;
    atomic_store(&pool->next, 0);
    pool->n_busy = pool->n_workers - 1;
    pool->round++;
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->lock);
    take_items(pool, 0);
    pthread_mutex_lock(&pool->lock);
    while (pool->n_busy != 0)
        pthread_cond_wait(&pool->end, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void ef_pool_stop(ef_pool *pool) {
    atomic_store(&pool->stopped, true);
}

bool ef_pool_stopped(ef_pool *pool) {
    return atomic_load(&pool->stopped);
}
