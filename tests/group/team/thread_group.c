/* A group of threads: each operation is done by the last rank that asks for it, on the memory of
 * all ranks, while these wait. */
#define _POSIX_C_SOURCE 200809L
#include "group/team/thread_group.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define MOST_BYTES ((size_t)1 << 30)

/* What a rank asks for. */
typedef struct request {
    thread_group_kind kind;
    size_t n; /* numbers, tuples or bytes; of a gather, its own bytes */
    size_t width;
    uint32_t root;
    void *items;         /* where the result goes */
    const void *given;   /* of a gather: the rank's own bytes */
    const size_t *sizes; /* of a gather */
} request;

typedef enum place { WORKING, WAITING, GONE } place;

typedef struct member {
    uint32_t rank;
    pthread_t thread, self; /* as its creator and it itself know it */
    place place;
    request request; /* of one that waits */
} member;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t done;
    uint32_t size;
    member members[THREAD_GROUP_MOST_RANKS];
    uint64_t n_done;     /* operations */
    uint64_t fails_from; /* 0: never */
    bool failed;         /* the last operation did */
    thread_group_counts counts;
    void (*function)(const efface_group *, void *);
    void *context;
} run = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static const char *const names[THREAD_GROUP_N_KINDS] = {"sum_64", "sum_128",   "minimum",
                                                        "gather", "broadcast", "agree"};

/* ---------------------------------------------------------------- what ranks ask for */

static void print_request(const request *q) {
    (void)fprintf(stderr, "%s of %zu", names[q->kind], q->n);
    if (q->kind == THREAD_GROUP_MINIMUM)
        (void)fprintf(stderr, " tuples of %zu", q->width);
    if (q->kind == THREAD_GROUP_GATHER || q->kind == THREAD_GROUP_BROADCAST)
        (void)fprintf(stderr, " bytes, root %" PRIu32, q->root);
    for (uint32_t r = 0; q->kind == THREAD_GROUP_GATHER && r < run.size; r++)
        (void)fprintf(stderr, "%s %zu", r == 0 ? ", sizes" : "", q->sizes[r]);
}

_Noreturn static void report(const char *problem) {
    (void)fprintf(stderr, "%s, after %" PRIu64 " operations:\n", problem, run.n_done);
    for (uint32_t r = 0; r < run.size; r++) {
        (void)fprintf(stderr, "  rank %" PRIu32 ": ", r);
        if (run.members[r].place == WAITING)
            print_request(&run.members[r].request);
        else
            (void)fprintf(stderr, run.members[r].place == GONE ? "has returned" : "works");
        (void)fprintf(stderr, "\n");
    }
    abort();
}

static bool is_same(const request *a, const request *b) {
    if (a->kind != b->kind || a->width != b->width || a->root != b->root)
        return false;
    if (a->kind == THREAD_GROUP_GATHER)
        return memcmp(a->sizes, b->sizes, run.size * sizeof *a->sizes) == 0;
    return a->n == b->n;
}

/* The bytes that a rank gives; of a gather, those that all give. */
static size_t bytes_of(const request *q) {
    size_t n_bytes = 0;
    switch (q->kind) {
    case THREAD_GROUP_SUM_128: return 2 * q->n * sizeof(uint64_t);
    case THREAD_GROUP_MINIMUM: return q->width * q->n * sizeof(uint64_t);
    case THREAD_GROUP_BROADCAST: return q->n;
    case THREAD_GROUP_GATHER:
        for (uint32_t r = 0; r < run.size; r++)
            n_bytes += q->sizes[r];
        return n_bytes;
    default: return q->n * sizeof(uint64_t);
    }
}

static bool gets_all(uint32_t root, uint32_t rank) {
    return root == EFFACE_EVERY_RANK || root == rank;
}

static void check_requests(void) {
    const request *const first = &run.members[0].request;
    for (uint32_t r = 0; r < run.size; r++) {
        const request *const q = &run.members[r].request;
        if (!is_same(first, q))
            report("ranks ask for different operations");
        if (q->kind == THREAD_GROUP_GATHER && (q->items != NULL) != gets_all(q->root, r))
            report("a rank has no room for what is gathered, or room though it gets nothing");
    }
    const bool has_root = first->kind == THREAD_GROUP_BROADCAST ||
                          (first->kind == THREAD_GROUP_GATHER && first->root != EFFACE_EVERY_RANK);
    if (has_root && first->root >= run.size)
        report("the root is no rank");
    if (first->kind == THREAD_GROUP_MINIMUM && first->width == 0)
        report("tuples of nothing");
    if (bytes_of(first) > MOST_BYTES)
        report("an operation is too large");
}

/* ---------------------------------------------------------------- operations, for all ranks */

/* The first rank gets the result of two ranks, pair by pair. */
static void combine(const request *to, const request *from) {
    uint64_t *const a = to->items;
    const uint64_t *const b = from->items;
    for (size_t i = 0; to->kind == THREAD_GROUP_SUM_64 && i < to->n; i++)
        a[i] += b[i];
    for (size_t i = 0; to->kind == THREAD_GROUP_SUM_128 && i < 2 * to->n; i += 2) {
        a[i] += b[i];
        a[i + 1] += b[i + 1] + (a[i] < b[i] ? 1 : 0);
    }
    for (size_t i = 0; to->width != 0 && i < to->n; i++) {
        uint64_t *const x = a + i * to->width;
        const uint64_t *const y = b + i * to->width;
        size_t j = 0;
        while (j + 1 < to->width && x[j] == y[j])
            j++;
        if (y[j] < x[j])
            memcpy(x, y, to->width * sizeof *x);
    }
}

static void reduce(void) {
    const request *const first = &run.members[0].request;
    for (uint32_t r = 1; r < run.size; r++)
        combine(first, &run.members[r].request);
    for (uint32_t r = 1; r < run.size && first->n != 0; r++)
        memcpy(run.members[r].request.items, first->items, bytes_of(first));
}

static void gather_all(void) {
    for (uint32_t to = 0; to < run.size; to++) {
        unsigned char *at = run.members[to].request.items;
        for (uint32_t r = 0; at != NULL && r < run.size; r++) {
            const request *const q = &run.members[r].request;
            if (q->n != 0)
                memcpy(at, q->given, q->n);
            at += q->n;
        }
    }
}

static void broadcast_all(void) {
    const request *const from = &run.members[run.members[0].request.root].request;
    for (uint32_t r = 0; r < run.size && from->n != 0; r++)
        if (r != from->root)
            memcpy(run.members[r].request.items, from->items, from->n);
}

static void do_for_all(void) {
    const request *const first = &run.members[0].request;
    check_requests();
    run.n_done++;
    run.counts.n_operations[first->kind]++;
    run.counts.n_bytes[first->kind] += bytes_of(first);
    run.failed = run.fails_from != 0 && run.n_done >= run.fails_from;
    if (run.failed)
        return;
    if (first->kind == THREAD_GROUP_GATHER)
        gather_all();
    else if (first->kind == THREAD_GROUP_BROADCAST)
        broadcast_all();
    else
        reduce();
}

/* ---------------------------------------------------------------- meeting */

static uint32_t count(place where) {
    uint32_t n = 0;
    for (uint32_t r = 0; r < run.size; r++)
        n += run.members[r].place == where;
    return n;
}

/* With the lock, after a rank came to wait or has gone. */
static void proceed(void) {
    if (count(WORKING) != 0 || count(WAITING) == 0)
        return;
    if (count(GONE) != 0)
        report("some ranks have returned while others wait");
    do_for_all();
    for (uint32_t r = 0; r < run.size; r++)
        run.members[r].place = WORKING;
    (void)pthread_cond_broadcast(&run.done);
}

static int ask(void *context, request wanted) {
    member *const m = context;
    (void)pthread_mutex_lock(&run.lock);
    if (!pthread_equal(m->self, pthread_self()))
        report("a thread asks that is no rank");
    m->request = wanted;
    m->place = WAITING;
    proceed();
    while (m->place == WAITING)
        (void)pthread_cond_wait(&run.done, &run.lock);
    const bool failed = run.failed;
    (void)pthread_mutex_unlock(&run.lock);
    return failed ? 1 : 0;
}

static int sum_64(void *context, uint64_t *numbers, size_t n) {
    return ask(context, (request){.kind = THREAD_GROUP_SUM_64, .n = n, .items = numbers});
}

static int sum_128(void *context, uint64_t *halves, size_t n) {
    return ask(context, (request){.kind = THREAD_GROUP_SUM_128, .n = n, .items = halves});
}

static int minimum(void *context, uint64_t *tuples, size_t n, size_t width) {
    return ask(context, (request){THREAD_GROUP_MINIMUM, .n = n, .width = width, .items = tuples});
}

static int gather(void *context, const void *bytes, const size_t *sizes, uint32_t root, void *all) {
    const member *const m = context;
    return ask(context, (request){.kind = THREAD_GROUP_GATHER,
                                  .n = sizes[m->rank],
                                  .root = root,
                                  .items = all,
                                  .given = bytes,
                                  .sizes = sizes});
}

static int broadcast(void *context, void *bytes, size_t n_bytes, uint32_t root) {
    return ask(context,
               (request){THREAD_GROUP_BROADCAST, .n = n_bytes, .root = root, .items = bytes});
}

/* A minimum of one number; by itself, because it is counted by itself. */
static int agree(void *context, uint64_t *number) {
    return ask(context, (request){THREAD_GROUP_AGREE, .n = 1, .width = 1, .items = number});
}

/* ---------------------------------------------------------------- a run */

static void *run_rank(void *argument) {
    member *const m = argument;
    const efface_group group = {.rank = m->rank,
                                .size = run.size,
                                .context = m,
                                .sum_64 = sum_64,
                                .sum_128 = sum_128,
                                .minimum = minimum,
                                .gather = gather,
                                .broadcast = broadcast,
                                .agree = agree};
    m->self = pthread_self();
    run.function(&group, run.context);
    (void)pthread_mutex_lock(&run.lock);
    m->place = GONE;
    proceed();
    (void)pthread_mutex_unlock(&run.lock);
    return NULL;
}

void thread_group_run(uint32_t size, void (*function)(const efface_group *group, void *context),
                      void *context) {
    RANK_ASSERT(size >= 1 && size <= THREAD_GROUP_MOST_RANKS);
    run.size = size;
    run.function = function;
    run.context = context;
    run.n_done = 0;
    run.failed = false;
    run.counts = (thread_group_counts){0};
    for (uint32_t r = 0; r < size; r++)
        run.members[r] = (member){.rank = r, .place = WORKING};
    for (uint32_t r = 0; r < size; r++)
        RANK_ASSERT(pthread_create(&run.members[r].thread, NULL, run_rank, &run.members[r]) == 0);
    for (uint32_t r = 0; r < size; r++)
        RANK_ASSERT(pthread_join(run.members[r].thread, NULL) == 0);
    run.fails_from = 0;
}

void thread_group_fail_after(uint64_t n) {
    run.fails_from = n;
}

thread_group_counts thread_group_counted(void) {
    (void)pthread_mutex_lock(&run.lock);
    const thread_group_counts counts = run.counts;
    (void)pthread_mutex_unlock(&run.lock);
    return counts;
}

uint64_t thread_group_n_operations(void) {
    (void)pthread_mutex_lock(&run.lock);
    const uint64_t n = run.n_done;
    (void)pthread_mutex_unlock(&run.lock);
    return n;
}
