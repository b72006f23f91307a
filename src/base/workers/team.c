/* A team: agreement first, then the operation, in pieces that an engine can take. */
#include "base/workers/team.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t ef_team_most_bytes = (size_t)1 << 30;

efface_status ef_group_check(const efface_group *group, efface_error *error) {
    if (group == NULL || group->sum_64 == NULL || group->sum_128 == NULL ||
        group->minimum == NULL || group->gather == NULL || group->broadcast == NULL ||
        group->agree == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "a group and its functions must not be NULL");
    if (group->size == 0 || group->size > EFFACE_MAX_RANKS || group->rank >= group->size)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "a group has 1 to %u ranks, and this one of %" PRIu32
                       " has the rank %" PRIu32,
                       EFFACE_MAX_RANKS, group->size, group->rank);
    return EFFACE_OK;
}

/* The engine itself failed: nothing can be agreed on any more. */
static efface_status lost(ef_team *team, efface_error *error) {
    team->has_failed = true;
    return ef_fail(error, EFFACE_E_GROUP,
                   "the ranks of the group can no longer reach each other; start them again");
}

/* ---------------------------------------------------------------- agreement */

/* The failure of one rank comes to all; there, `error` has it. */
static efface_status share_failure(ef_team *team, uint32_t rank, efface_error *error) {
    const efface_group *const group = &team->group;
    efface_error failure = {0};
    team->has_failed = true;
    if (group->rank == rank) { /* field by field: behind its texts there may be anything */
        failure.status = error->status;
        failure.line = error->line;
        failure.column = error->column;
        failure.os_error = error->os_error;
        (void)snprintf(failure.file, sizeof failure.file, "%s", error->file);
        (void)snprintf(failure.message, sizeof failure.message, "rank %" PRIu32 ": %.480s", rank,
                       error->message);
    }
    if (group->broadcast(group->context, &failure, sizeof failure, rank) != 0)
        return lost(team, error);
    *error = failure;
    return failure.status;
}

efface_status ef_team_agree(ef_team *team, efface_status status, efface_error *error) {
    if (team == NULL || team->has_failed)
        return status;
    const efface_group *const group = &team->group;
    uint64_t first = status != EFFACE_OK ? group->rank : group->size;
    if (group->agree(group->context, &first) != 0)
        return lost(team, error);
    if (first >= group->size)
        return EFFACE_OK;
    efface_error unwanted;
    if (error == NULL) {
        (void)ef_fail(&unwanted, status, "%s", efface_status_name(status));
        error = &unwanted;
    }
    error->status = status;
    return share_failure(team, (uint32_t)first, error);
}

/* Whether an operation may begin. */
static efface_status begin_operation(ef_team *team, efface_error *error) {
    if (team->has_failed)
        return ef_fail(error, EFFACE_E_GROUP, "a rank of the group has failed");
    return ef_team_agree(team, EFFACE_OK, error);
}

/* ---------------------------------------------------------------- operations */

/* An engine's operation on n items; `detail` is the width of a minimum or the root of a broadcast.
 */
typedef int operation(const efface_group *g, void *items, size_t n, size_t detail);

static int sum_64(const efface_group *g, void *items, size_t n, size_t detail) {
    (void)detail;
    return g->sum_64(g->context, items, n);
}

static int sum_128(const efface_group *g, void *items, size_t n, size_t detail) {
    (void)detail;
    return g->sum_128(g->context, items, n);
}

static int minimum(const efface_group *g, void *items, size_t n, size_t detail) {
    return g->minimum(g->context, items, n, detail);
}

static int broadcast(const efface_group *g, void *items, size_t n, size_t detail) {
    return g->broadcast(g->context, items, n, (uint32_t)detail);
}

/* Does it after an agreement, to as many items at a time as an engine can take. */
static efface_status in_pieces(ef_team *team, operation *call, void *items, size_t n,
                               size_t item_bytes, size_t detail, efface_error *error) {
    const size_t most = item_bytes < ef_team_most_bytes ? ef_team_most_bytes / item_bytes : 1;
    efface_status status = begin_operation(team, error);
    for (size_t at = 0, some; status == EFFACE_OK && at < n; at += some) {
        some = n - at < most ? n - at : most;
        if (call(&team->group, (unsigned char *)items + at * item_bytes, some, detail) != 0)
            status = lost(team, error);
    }
    return status;
}

efface_status ef_team_sum(ef_team *team, int64_t *numbers, size_t n, efface_error *error) {
    if (team == NULL)
        return EFFACE_OK;
    return in_pieces(team, sum_64, numbers, n, sizeof *numbers, 0, error);
}

efface_status ef_team_sum_wide(ef_team *team, ef_i128 *numbers, size_t n, efface_error *error) {
    if (team == NULL)
        return EFFACE_OK;
    uint64_t *const halves = ef_alloc(n, 2 * sizeof *halves);
    if (halves == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < n; i++) {
        halves[2 * i] = (uint64_t)(ef_u128)numbers[i];
        halves[2 * i + 1] = (uint64_t)((ef_u128)numbers[i] >> 64);
    }
    const efface_status status = in_pieces(team, sum_128, halves, n, 2 * sizeof *halves, 0, error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++)
        numbers[i] = (ef_i128)((ef_u128)halves[2 * i + 1] << 64 | halves[2 * i]);
    ef_free(halves);
    return status;
}

efface_status ef_team_least(ef_team *team, uint64_t *tuples, size_t n, size_t width,
                            efface_error *error) {
    if (team == NULL)
        return EFFACE_OK;
    return in_pieces(team, minimum, tuples, n, width * sizeof *tuples, width, error);
}

efface_status ef_team_broadcast(ef_team *team, void *bytes, size_t n_bytes, uint32_t root,
                                efface_error *error) {
    if (team == NULL)
        return EFFACE_OK;
    return in_pieces(team, broadcast, bytes, n_bytes, 1, root, error);
}

efface_status ef_team_all(ef_team *team, bool holds, bool *all, efface_error *error) {
    uint64_t least = holds ? 1 : 0;
    const efface_status status = ef_team_least(team, &least, 1, 1, error);
    *all = least != 0;
    return status;
}

/* ---------------------------------------------------------------- gathering */

void ef_gathered_free(ef_gathered *all) {
    ef_free(all->bytes);
    ef_free(all->begins);
    *all = (ef_gathered){0};
}

/* A piece of what ranks have, from `done` on: no more than `most` bytes of each. */
typedef struct piece {
    size_t done, most;
    size_t *sizes;       /* of each rank's part of the piece */
    unsigned char *room; /* for those of all, where they are wanted */
} piece;

static efface_status gather_piece(ef_team *team, const piece *p, const unsigned char *bytes,
                                  uint32_t root, const ef_gathered *all, efface_error *error) {
    const efface_group *const g = &team->group;
    for (uint32_t r = 0; r < g->size; r++) {
        const size_t n = all->begins[r + 1] - all->begins[r], rest = n > p->done ? n - p->done : 0;
        p->sizes[r] = rest < p->most ? rest : p->most;
    }
    const unsigned char *const own = p->sizes[g->rank] != 0 ? bytes + p->done : NULL;
    if (g->gather(g->context, own, p->sizes, root, p->room) != 0)
        return lost(team, error);
    const unsigned char *from = p->room;
    for (uint32_t r = 0; p->room != NULL && r < g->size; r++) {
        if (p->sizes[r] != 0)
            memcpy(all->bytes + all->begins[r] + p->done, from, p->sizes[r]);
        from += p->sizes[r];
    }
    return EFFACE_OK;
}

/* How many bytes each rank has, and where they will be. */
static efface_status share_sizes(ef_team *team, size_t n_bytes, ef_gathered *all, size_t *largest,
                                 efface_error *error) {
    const efface_group *const g = &team->group;
    int64_t *const sizes = ef_alloc_zero(g->size, sizeof *sizes);
    all->begins = ef_alloc_zero((size_t)g->size + 1, sizeof *all->begins);
    efface_status status = sizes != NULL && all->begins != NULL ? EFFACE_OK : ef_fail_memory(error);
    if (status == EFFACE_OK) {
        sizes[g->rank] = (int64_t)n_bytes;
        status = ef_team_sum(team, sizes, g->size, error);
    }
    *largest = 0;
    for (uint32_t r = 0; status == EFFACE_OK && r < g->size; r++) {
        const size_t size = (size_t)sizes[r];
        *largest = size > *largest ? size : *largest;
        if (!ef_add_size(all->begins[r], size, &all->begins[r + 1]))
            status = ef_fail_memory(error);
    }
    ef_free(sizes);
    return status;
}

efface_status ef_team_gather(ef_team *team, const void *bytes, size_t n_bytes, uint32_t root,
                             ef_gathered *all, efface_error *error) {
    const efface_group *const g = &team->group;
    const bool gets = root == EFFACE_EVERY_RANK || root == g->rank;
    size_t largest = 0;
    piece p = {.most = g->size < ef_team_most_bytes ? ef_team_most_bytes / g->size : 1};
    *all = (ef_gathered){0};
    efface_status status = share_sizes(team, n_bytes, all, &largest, error);
    if (status == EFFACE_OK) {
        const size_t total = all->begins[g->size];
        p.sizes = ef_alloc(g->size, sizeof *p.sizes);
        const size_t piece_bytes = p.most * g->size; /* at most */
        p.room = gets ? ef_alloc(total < piece_bytes ? total : piece_bytes, 1) : NULL;
        all->bytes = gets ? ef_alloc(total, 1) : NULL;
        if (p.sizes == NULL || (gets && (p.room == NULL || all->bytes == NULL)))
            status = ef_fail_memory(error);
    }
    status = status == EFFACE_OK ? begin_operation(team, error) : status;
    for (; status == EFFACE_OK && p.done < largest; p.done += p.most)
        status = gather_piece(team, &p, bytes, root, all, error);
    ef_free(p.sizes);
    ef_free(p.room);
    if (status != EFFACE_OK)
        ef_gathered_free(all);
    return status;
}

/* ---------------------------------------------------------------- order */

uint64_t ef_order_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

double ef_double_of_order(uint64_t order) {
    double value;
    memcpy(&value, &order, sizeof value);
    return value;
}

uint64_t ef_order_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 != 0 ? ~bits : bits | UINT32_C(1) << 31;
}

float ef_float_of_order(uint64_t order) {
    const uint32_t high = UINT32_C(1) << 31;
    const uint32_t bits =
        ((uint32_t)order & high) != 0 ? (uint32_t)order & ~high : ~(uint32_t)order;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
