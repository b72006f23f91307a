/*
 * A group of threads that stand in for ranks.
 *
 * Every operation waits for all ranks, and the last one to come does it for all. Ranks must ask for
 * the same operation with the same sizes, each on its own thread; if they do not, or if some have
 * returned while others wait, the process says on stderr what each rank asked for, and aborts. So a
 * test cannot hang on it. Nothing is allocated here, so tests that count allocations see the
 * library's only.
 *
 * There is one group in the process at a time.
 */
#ifndef THREAD_GROUP_H
#define THREAD_GROUP_H

#include "efface/efface.h"

#include <stdio.h>
#include <stdlib.h>

#define THREAD_GROUP_MOST_RANKS 64

/* Runs `function` on `size` threads, each with its own rank, and waits until all have returned. */
void thread_group_run(uint32_t size, void (*function)(const efface_group *group, void *context),
                      void *context);

/* In the next run the n-th operation fails on all ranks, and so does every one after it. */
void thread_group_fail_after(uint64_t n);

typedef enum thread_group_kind {
    THREAD_GROUP_SUM_64,
    THREAD_GROUP_SUM_128,
    THREAD_GROUP_MINIMUM,
    THREAD_GROUP_GATHER,
    THREAD_GROUP_BROADCAST,
    THREAD_GROUP_AGREE,
    THREAD_GROUP_N_KINDS
} thread_group_kind;

/* Operations that have been done in this run, or in the last one. A rank that asks between two of
 * its operations gets the same answer as all others do there. */
typedef struct thread_group_counts {
    uint64_t n_operations[THREAD_GROUP_N_KINDS];
    uint64_t n_bytes[THREAD_GROUP_N_KINDS]; /* what a rank gives; of a gather, what all give */
} thread_group_counts;

thread_group_counts thread_group_counted(void);
uint64_t thread_group_n_operations(void);

/* An assertion for any thread: those of cmocka are for the main thread. */
#define RANK_ASSERT(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
