/*
 * Threads: one loop over items, shared by a fixed set of workers.
 *
 * Which worker gets which items is left to chance; a caller keeps one partial result for each
 * worker and combines them by an operation that does not mind the order (adding integers, taking
 * a minimum), so that no result depends on the number of workers.
 */
#ifndef EF_THREADS_H
#define EF_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Does `work` if nobody in the process did it yet, and returns when it is done. */
typedef pthread_once_t ef_once;
#define EF_ONCE PTHREAD_ONCE_INIT
void ef_do_once(ef_once *once, void (*work)(void));

/* A lock that one thread has at a time; NULL if out of memory. */
typedef struct ef_lock ef_lock;
ef_lock *ef_lock_create(void);
void ef_lock_free(ef_lock *lock);
void ef_lock_take(ef_lock *lock);
void ef_lock_leave(ef_lock *lock);

typedef struct ef_pool ef_pool;

/* Works on the items first to last - 1 as worker number `worker`. */
typedef void (*ef_work)(void *context, unsigned worker, size_t first, size_t last);

/* A pool of n_threads workers, the calling thread among them (0: one for each processor). If
 * threads cannot be had, the pool is smaller. NULL if out of memory. */
ef_pool *ef_pool_create(unsigned n_threads);
void ef_pool_free(ef_pool *pool);

/* How many workers there are; worker numbers are below. */
unsigned ef_pool_size(const ef_pool *pool);

/* Calls `work` until all n_items are done, `grain` (at least 1) or more at a time, and returns
 * then. With one worker, or no more than `grain` items, the calling thread does it all as worker 0.
 */
void ef_pool_run(ef_pool *pool, size_t n_items, size_t grain, ef_work work, void *context);

/* For `work`: hands out no more items in this run; and whether a worker has wanted that. */
void ef_pool_stop(ef_pool *pool);
bool ef_pool_stopped(ef_pool *pool);

#endif
