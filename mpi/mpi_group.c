/*
 * The group of a communicator: each operation is one collective of MPI.
 *
 * Counts of MPI are ints. No operation is asked for more than 2^30 bytes (efface_group.h), so none
 * is too large; what is larger is refused.
 */
#include "efface/efface_mpi.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 30)

/* The context of a group. */
typedef struct engine {
    MPI_Comm comm; /* its own */
    int rank, size;
    MPI_Datatype wide; /* two halves */
    MPI_Op sum_wide, least;
    int *counts; /* of a gather, `size` of them, and behind them as many places */
} engine;

/* ---------------------------------------------------------------- operations of our own */

static void add_wide(void *from, void *to, int *n, MPI_Datatype *type) {
    const uint64_t *const a = from;
    uint64_t *const b = to;
    (void)type;
    for (size_t i = 0; i < 2 * (size_t)*n; i += 2) {
        b[i] += a[i];
        b[i + 1] += a[i + 1] + (b[i] < a[i] ? 1 : 0);
    }
}

static bool is_less(const uint64_t *a, const uint64_t *b, size_t width) {
    size_t j = 0;
    while (j + 1 < width && a[j] == b[j])
        j++;
    return a[j] < b[j];
}

/* A tuple is as wide as its type. */
static void take_least(void *from, void *to, int *n, MPI_Datatype *type) {
    int type_bytes = 0;
    (void)MPI_Type_size(*type, &type_bytes);
    const size_t width = (size_t)type_bytes / sizeof(uint64_t);
    const uint64_t *a = from;
    uint64_t *b = to;
    for (int i = 0; i < *n; i++, a += width, b += width)
        if (is_less(a, b, width))
            memcpy(b, a, width * sizeof *b);
}

/* ---------------------------------------------------------------- the six functions */

static int reduce_items(const engine *e, void *items, size_t n, size_t item_bytes,
                        MPI_Datatype type, MPI_Op op) {
    if (n > MAX_BYTES / item_bytes)
        return 1;
    return MPI_Allreduce(MPI_IN_PLACE, items, (int)n, type, op, e->comm) != MPI_SUCCESS;
}

static int mpi_sum_64(void *context, uint64_t *numbers, size_t n) {
    return reduce_items(context, numbers, n, sizeof *numbers, MPI_UINT64_T, MPI_SUM);
}

static int mpi_sum_128(void *context, uint64_t *halves, size_t n) {
    const engine *const e = context;
    return reduce_items(e, halves, n, 2 * sizeof *halves, e->wide, e->sum_wide);
}

static int mpi_minimum(void *context, uint64_t *tuples, size_t n, size_t width) {
    const engine *const e = context;
    MPI_Datatype tuple;
    if (width == 1)
        return reduce_items(e, tuples, n, sizeof *tuples, MPI_UINT64_T, MPI_MIN);
    if (width == 0 || width > MAX_BYTES / sizeof *tuples)
        return 1;
    if (MPI_Type_contiguous((int)width, MPI_UINT64_T, &tuple) != MPI_SUCCESS)
        return 1;
    const bool failed = MPI_Type_commit(&tuple) != MPI_SUCCESS ||
                        reduce_items(e, tuples, n, width * sizeof *tuples, tuple, e->least) != 0;
    return MPI_Type_free(&tuple) != MPI_SUCCESS || failed;
}

/* Fills the counts and places of a gather; false if it is too large. */
static bool lay_out(const engine *e, const size_t *sizes) {
    size_t total = 0;
    for (int r = 0; r < e->size; r++) {
        if (sizes[r] > MAX_BYTES - total)
            return false;
        e->counts[r] = (int)sizes[r];
        e->counts[e->size + r] = (int)total;
        total += sizes[r];
    }
    return true;
}

static int mpi_gather(void *context, const void *bytes, const size_t *sizes, uint32_t root,
                      void *all) {
    const engine *const e = context;
    if (!lay_out(e, sizes))
        return 1;
    const int n_own = e->counts[e->rank], *const places = e->counts + e->size;
    if (root == EFFACE_EVERY_RANK)
        return MPI_Allgatherv(bytes, n_own, MPI_BYTE, all, e->counts, places, MPI_BYTE, e->comm) !=
               MPI_SUCCESS;
    return MPI_Gatherv(bytes, n_own, MPI_BYTE, all, e->counts, places, MPI_BYTE, (int)root,
                       e->comm) != MPI_SUCCESS;
}

static int mpi_broadcast(void *context, void *bytes, size_t n_bytes, uint32_t root) {
    const engine *const e = context;
    if (n_bytes > MAX_BYTES)
        return 1;
    return MPI_Bcast(bytes, (int)n_bytes, MPI_BYTE, (int)root, e->comm) != MPI_SUCCESS;
}

static int mpi_agree(void *context, uint64_t *number) {
    return mpi_minimum(context, number, 1, 1);
}

/* ---------------------------------------------------------------- making and releasing */

static efface_status fail_with(efface_error *error, efface_status status, const char *message) {
    if (error != NULL) {
        *error = (efface_error){.status = status};
        (void)snprintf(error->message, sizeof error->message, "%s", message);
    }
    return status;
}

/* Whether something holds on all processes; not if they cannot be asked. */
static bool all_have(MPI_Comm comm, bool holds) {
    int least = holds ? 1 : 0;
    return MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS &&
           least != 0;
}

/* What MPI has made of an engine. Parts that are null were not made. */
static void take_apart(engine *e) {
    if (e->least != MPI_OP_NULL)
        (void)MPI_Op_free(&e->least);
    if (e->sum_wide != MPI_OP_NULL)
        (void)MPI_Op_free(&e->sum_wide);
    if (e->wide != MPI_DATATYPE_NULL)
        (void)MPI_Type_free(&e->wide);
    if (e->comm != MPI_COMM_NULL)
        (void)MPI_Comm_free(&e->comm);
}

static bool make_parts(engine *e) {
    return MPI_Type_contiguous(2, MPI_UINT64_T, &e->wide) == MPI_SUCCESS &&
           MPI_Type_commit(&e->wide) == MPI_SUCCESS &&
           MPI_Op_create(add_wide, 1, &e->sum_wide) == MPI_SUCCESS &&
           MPI_Op_create(take_least, 1, &e->least) == MPI_SUCCESS;
}

static bool is_intracommunicator(MPI_Comm comm) {
    int is_inter = 1;
    return comm != MPI_COMM_NULL && MPI_Comm_test_inter(comm, &is_inter) == MPI_SUCCESS &&
           !is_inter;
}

/* The steps that all processes go through before one of them may give up. */
static efface_status build_engine(MPI_Comm comm, engine *e, engine **kept, efface_error *error) {
    if (MPI_Comm_dup(comm, &e->comm) != MPI_SUCCESS ||
        MPI_Comm_set_errhandler(e->comm, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
        MPI_Comm_rank(e->comm, &e->rank) != MPI_SUCCESS ||
        MPI_Comm_size(e->comm, &e->size) != MPI_SUCCESS)
        return fail_with(error, EFFACE_E_GROUP, "MPI could not duplicate the communicator");
    if ((unsigned)e->size > EFFACE_MAX_RANKS)
        return fail_with(error, EFFACE_E_ARGUMENT, "there are too many processes for a group");
    const bool has_parts = make_parts(e);
    if (!all_have(e->comm, has_parts))
        return fail_with(error, EFFACE_E_GROUP, "MPI could not make what a group needs");
    e->counts = malloc(2 * (size_t)e->size * sizeof *e->counts);
    *kept = malloc(sizeof **kept);
    const bool has_memory = e->counts != NULL && *kept != NULL;
    if (!all_have(e->comm, has_memory))
        return fail_with(error, EFFACE_E_MEMORY, "a process has no memory for its group");
    **kept = *e;
    return EFFACE_OK;
}

efface_status efface_mpi_group_create(MPI_Comm comm, efface_group *group, efface_error *error) {
    if (group == NULL || !is_intracommunicator(comm))
        return fail_with(error, EFFACE_E_ARGUMENT,
                         "a group needs an intracommunicator, and a place where it goes");
    engine e = {.comm = MPI_COMM_NULL,
                .wide = MPI_DATATYPE_NULL,
                .sum_wide = MPI_OP_NULL,
                .least = MPI_OP_NULL};
    engine *kept = NULL;
    const efface_status status = build_engine(comm, &e, &kept, error);
    if (status != EFFACE_OK) {
        take_apart(&e);
        free(e.counts);
        free(kept);
        return status;
    }
    *group = (efface_group){.rank = (uint32_t)e.rank,
                            .size = (uint32_t)e.size,
                            .context = kept,
                            .sum_64 = mpi_sum_64,
                            .sum_128 = mpi_sum_128,
                            .minimum = mpi_minimum,
                            .gather = mpi_gather,
                            .broadcast = mpi_broadcast,
                            .agree = mpi_agree};
    return EFFACE_OK;
}

void efface_mpi_group_free(efface_group *group) {
    if (group == NULL || group->context == NULL)
        return;
    engine *const e = group->context;
    int is_over = 0;
    if (MPI_Finalized(&is_over) == MPI_SUCCESS && !is_over)
        take_apart(e);
    free(e->counts);
    free(e);
    *group = (efface_group){0};
}
