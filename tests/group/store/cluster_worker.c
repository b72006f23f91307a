/*
 * A process of a group that works on a store in parts, and may be killed at any time.
 *
 * usage: mpirun -n RANKS cluster_worker COMMAND FOLDER LEDGER PACE SEED [LANE LANES REQUESTS]
 *        cluster_worker gone|there LEDGER...
 *
 *     make     makes the store
 *     open     opens it to write, and closes it
 *     work     does requests, endlessly or so many; before each, rank 0 writes it to the file
 *              LEDGER, "a STEP", and after it "d"; or "u" if the store was busy and it is not done
 *     spread   spreads the rows over as many parts as there are ranks
 *     check    compares the store with the ledgers, which are further arguments after SEED; if the
 *              last request of the first has neither "d" nor "u", finds out which it is and writes
 *              it. Prints "behind B under-way U in-force F": whether the store was not finished in
 *              all parts, a request without an answer, and whether that is in force
 *     gone     prints what must not be in the files of the store, there what must (crash/ledger.h)
 *
 * PACE is how many milliseconds the ranks sleep at most around operations of the group: where a
 * decision becomes known, often; elsewhere, sometimes. 0: never.
 */
#define _DEFAULT_SOURCE
#include "crash/ledger.h"
#include "efface/efface_mpi.h"
#include "store/scenes/plain_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- a group that takes its time */

typedef struct slow_group {
    efface_group inner;
    dice d;
    uint64_t pace; /* in milliseconds */
} slow_group;

static void sleep_sometimes(slow_group *g, uint64_t one_of) {
    if (g->pace == 0 || dice_below(&g->d, one_of) != 0)
        return;
    const uint64_t n = dice_below(&g->d, g->pace * 1000);
    const struct timespec time = {.tv_sec = (time_t)(n / 1000000),
                                  .tv_nsec = (long)(n % 1000000) * 1000};
    (void)nanosleep(&time, NULL);
}

static int slow_sum_64(void *context, uint64_t *numbers, size_t n) {
    slow_group *const g = context;
    sleep_sometimes(g, 40);
    return g->inner.sum_64(g->inner.context, numbers, n);
}

static int slow_sum_128(void *context, uint64_t *halves, size_t n) {
    slow_group *const g = context;
    sleep_sometimes(g, 40);
    return g->inner.sum_128(g->inner.context, halves, n);
}

static int slow_minimum(void *context, uint64_t *tuples, size_t n, size_t width) {
    slow_group *const g = context;
    sleep_sometimes(g, 40);
    return g->inner.minimum(g->inner.context, tuples, n, width);
}

static int slow_gather(void *context, const void *bytes, const size_t *sizes, uint32_t root,
                       void *all) {
    slow_group *const g = context;
    sleep_sometimes(g, 40);
    return g->inner.gather(g->inner.context, bytes, sizes, root, all);
}

/* That a request is decided comes as the number 2: part 0 has it then, and the others have not. */
static int slow_broadcast(void *context, void *bytes, size_t n_bytes, uint32_t root) {
    static const uint64_t decided = 2;
    slow_group *const g = context;
    sleep_sometimes(g, 40);
    const int result = g->inner.broadcast(g->inner.context, bytes, n_bytes, root);
    const bool waits = n_bytes == sizeof decided && memcmp(bytes, &decided, n_bytes) == 0;
    for (int i = 0; i < 4 && waits && g->inner.rank != root; i++)
        sleep_sometimes(g, 1);
    return result;
}

static int slow_agree(void *context, uint64_t *number) {
    slow_group *const g = context;
    sleep_sometimes(g, 40);
    return g->inner.agree(g->inner.context, number);
}

static efface_group make_slow(slow_group *g) {
    return (efface_group){.rank = g->inner.rank,
                          .size = g->inner.size,
                          .context = g,
                          .sum_64 = slow_sum_64,
                          .sum_128 = slow_sum_128,
                          .minimum = slow_minimum,
                          .gather = slow_gather,
                          .broadcast = slow_broadcast,
                          .agree = slow_agree};
}

/* ---------------------------------------------------------------- the ledger's file */

static efface_group group; /* of all that follows; of no ranks before it is made */

static void fail(const char *what, const char *message) {
    (void)fprintf(stderr, "cluster_worker, rank %u: %s: %s\n", (unsigned)group.rank, what, message);
    if (group.size != 0)
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void require_ok(efface_status status, const char *what, const efface_error *error) {
    if (status != EFFACE_OK)
        fail(what, error->message);
}

/* Applies what a ledger says was done. Returns whether a request has no answer, and which. */
static bool read_ledger(const char *path, ledger *l, step *asked) {
    char line[LEDGER_LINE + 4];
    bool under_way = false;
    FILE *const file = fopen(path, "r");
    if (file == NULL)
        fail(path, strerror(errno));
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == 'd')
            step_apply(asked, l);
        under_way = line[0] == 'a';
        if (under_way && !step_read(asked, line + 2))
            fail(path, "not a step");
    }
    (void)fclose(file);
    return under_way;
}

/* On the disk when this returns. A line is one write: it is there as a whole or not at all. */
static void write_ledger(int file, const char *line) {
    const size_t n = strlen(line);
    if (write(file, line, n) != (ssize_t)n || fsync(file) != 0)
        fail("ledger", strerror(errno));
}

static int open_ledger(const char *path) {
    if (group.rank != 0)
        return -1;
    const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0)
        fail(path, strerror(errno));
    return file;
}

/* ---------------------------------------------------------------- work */

typedef struct job {
    const char *folder, *ledger;
    uint64_t seed;
    unsigned lane, n_lanes;
    uint64_t n_requests;
} job;

static efface_store_options group_options(efface_access access) {
    efface_store_options options = plain_options(access);
    options.group = &group;
    return options;
}

static efface_store *open_parts(const char *folder) {
    const efface_store_options options = group_options(EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    efface_error error;
    require_ok(efface_store_open(folder, &options, &store, &error), "open", &error);
    return store;
}

/* All ranks draw the same. */
static void work(const job *j) {
    ledger l = ledger_first();
    dice d = {j->seed};
    step s;
    if (read_ledger(j->ledger, &l, &s))
        fail(j->ledger, "what became of the last request?");
    efface_store *const store = open_parts(j->folder);
    const int file = open_ledger(j->ledger);
    for (uint64_t i = 0; i < j->n_requests; i++) {
        char line[LEDGER_LINE] = "", text[LEDGER_LINE + 4];
        efface_error error;
        s = step_draw(&l, &d, j->lane, j->n_lanes);
        s.grouped = false;
        step_write(&s, line);
        (void)snprintf(text, sizeof text, "a %s\n", line);
        if (file >= 0)
            write_ledger(file, text);
        const efface_status status = step_do(&s, store, &error);
        if (status != EFFACE_E_BUSY)
            require_ok(status, line, &error);
        if (file >= 0)
            write_ledger(file, status == EFFACE_OK ? "d\n" : "u\n");
        if (status == EFFACE_OK)
            step_apply(&s, &l);
    }
    efface_store_close(store);
    if (file >= 0)
        (void)close(file);
}

static void spread(const char *folder) {
    const efface_store_options options = group_options(EFFACE_ACCESS_WRITE);
    efface_error error;
    require_ok(efface_store_spread(folder, &options, &error), "spread", &error);
}

/* ---------------------------------------------------------------- what is left */

/* A store that is opened to read says that it is busy if a part has not followed. */
static bool is_behind(const char *folder) {
    const efface_store_options options = group_options(EFFACE_ACCESS_READ);
    efface_store *store = NULL;
    efface_error error;
    const efface_status status = efface_store_open(folder, &options, &store, &error);
    if (status != EFFACE_E_BUSY)
        require_ok(status, "open to read", &error);
    efface_store_close(store);
    return status == EFFACE_E_BUSY;
}

static void check(const char *folder, char **ledgers, int n_ledgers) {
    char before[LEDGER_LINE] = "", after[LEDGER_LINE] = "", why[LEDGER_LINE] = "";
    ledger l = ledger_first();
    step asked, other;
    for (int i = 1; i < n_ledgers; i++)
        if (read_ledger(ledgers[i], &l, &other))
            fail(ledgers[i], "a request has no answer");
    const bool under_way = read_ledger(ledgers[0], &l, &asked);
    const bool behind = is_behind(folder);
    efface_store *const store = open_parts(folder);
    const bool is_before = ledger_is_of_ranks(&l, store, &group, before);
    ledger with = l;
    if (under_way)
        step_apply(&asked, &with);
    const bool is_after =
        under_way && !is_before && ledger_is_of_ranks(&with, store, &group, after);
    if (!is_before && !is_after) {
        (void)fprintf(stderr, "with the request under way: %s\n", under_way ? after : "none is");
        fail("not what was acknowledged", before);
    }
    if (!store_is_sound(store, why))
        fail("the store is damaged", why);
    efface_store_close(store);
    if (is_behind(folder))
        fail("not finished", "some part is behind after the store was opened to write");
    const int file = open_ledger(ledgers[0]);
    if (file >= 0 && under_way)
        write_ledger(file, is_after ? "d\n" : "u\n");
    if (group.rank == 0)
        (void)printf("behind %d under-way %d in-force %d\n", behind, under_way, is_after);
    if (file >= 0)
        (void)close(file);
}

/* ---------------------------------------------------------------- commands */

static void print_forms(const char *command, char **ledgers, int n_ledgers) {
    ledger l = ledger_first();
    step s;
    for (int i = 0; i < n_ledgers; i++)
        (void)read_ledger(ledgers[i], &l, &s);
    (strcmp(command, "gone") == 0 ? ledger_write_gone : ledger_write_there)(&l, stdout);
}

static uint64_t number_of_argument(int n_arguments, char **arguments, int i, uint64_t otherwise) {
    return i < n_arguments ? strtoull(arguments[i], NULL, 10) : otherwise;
}

static void run(int n, char **arguments) {
    const char *const command = arguments[1], *const folder = arguments[2];
    efface_error error;
    if (strcmp(command, "make") == 0)
        require_ok(ledger_create(folder, &group, &error), "make", &error);
    else if (strcmp(command, "open") == 0)
        efface_store_close(open_parts(folder));
    else if (strcmp(command, "spread") == 0)
        spread(folder);
    else if (strcmp(command, "check") == 0) {
        arguments[5] = arguments[3];
        check(folder, arguments + 5, n - 5);
    } else if (strcmp(command, "work") == 0) {
        const job j = {.folder = folder,
                       .ledger = arguments[3],
                       .seed = strtoull(arguments[5], NULL, 10),
                       .lane = (unsigned)number_of_argument(n, arguments, 6, 0),
                       .n_lanes = (unsigned)number_of_argument(n, arguments, 7, 1),
                       .n_requests = number_of_argument(n, arguments, 8, UINT64_MAX)};
        work(&j);
    } else
        fail(command, "no such command");
}

int main(int n_arguments, char **arguments) {
    slow_group slow;
    efface_error error;
    ledger_is_for_groups();
    if (n_arguments >= 3 &&
        (strcmp(arguments[1], "gone") == 0 || strcmp(arguments[1], "there") == 0)) {
        print_forms(arguments[1], arguments + 2, n_arguments - 2);
        return 0;
    }
    if (n_arguments < 6 || MPI_Init(&n_arguments, &arguments) != MPI_SUCCESS)
        return 2;
    if (efface_mpi_group_create(MPI_COMM_WORLD, &slow.inner, &error) != EFFACE_OK)
        fail("group", error.message);
    slow.pace = strtoull(arguments[4], NULL, 10);
    slow.d.state = strtoull(arguments[5], NULL, 10) * 1000 + slow.inner.rank;
    group = make_slow(&slow);
    run(n_arguments, arguments);
    efface_mpi_group_free(&slow.inner);
    return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
