/* The part of a set that one rank of a group has: how it joins, and what is counted of all rows. */
#include "data/set/shards.h"

#include "base/bytes/digest.h"
#include "base/bytes/ids.h"
#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void ef_shard_free(ef_shard *part) {
    if (part == NULL)
        return;
    ef_counts_free(&part->whole);
    ef_counts_free(&part->other);
    ef_free(part);
}

/* ---------------------------------------------------------------- counting all rows */

/* The ends of all columns: first the smallest values, then the largest, turned round so that the
 * least number is wanted there too. Those of an empty column are not beyond any others. */
static void find_ends(const ef_counts *counts, uint64_t *ends) {
    const uint32_t d = counts->n_columns;
    for (uint32_t j = 0; j < d; j++) {
        ends[j] = counts->n_rows != 0 ? ef_order_of_float(counts->ranges.least[j]) : UINT64_MAX;
        ends[d + j] = counts->n_rows != 0 ? ~ef_order_of_float(counts->ranges.most[j]) : UINT64_MAX;
    }
}

/* Numbers to be summed up, once the ends of all rows are known. */
static void find_sums(const ef_counts *counts, const ef_ranges *all, int64_t *sums) {
    const uint32_t d = counts->n_columns;
    const bool any = counts->n_rows != 0;
    sums[0] = (int64_t)counts->n_rows;
    sums[1] = counts->total_weight;
    for (uint32_t j = 0; j < d; j++) {
        const bool least = any && counts->ranges.least[j] == all->least[j];
        const bool most = any && counts->ranges.most[j] == all->most[j];
        sums[2 + j] = least ? (int64_t)counts->ranges.n_least[j] : 0;
        sums[2 + d + j] = most ? (int64_t)counts->ranges.n_most[j] : 0;
    }
    for (size_t e = 0; e < EF_EXPONENTS; e++)
        sums[2 + 2 * (size_t)d + e] = (int64_t)counts->exponents.rows[e];
}

static void take_sums(ef_counts *whole, const int64_t *sums) {
    const uint32_t d = whole->n_columns;
    whole->n_rows = (size_t)sums[0];
    whole->total_weight = sums[1];
    for (uint32_t j = 0; j < d; j++) {
        whole->ranges.n_least[j] = (uint64_t)sums[2 + j];
        whole->ranges.n_most[j] = (uint64_t)sums[2 + d + j];
    }
    for (size_t e = 0; e < EF_EXPONENTS; e++)
        whole->exponents.rows[e] = (uint64_t)sums[2 + 2 * (size_t)d + e];
    whole->ranges.any_stale = false;
}

/* Makes part->whole what is counted of the rows of all ranks. */
static efface_status count_all(efface_data *data, efface_error *error) {
    ef_shard *const part = data->part;
    const size_t d = data->n_columns, n_sums = 2 + 2 * d + EF_EXPONENTS;
    uint64_t *ends;
    int64_t *sums;
    const ef_array arrays[] = {{&ends, 2 * d, sizeof *ends}, {&sums, n_sums, sizeof *sums}};
    void *const block = EF_ARRAYS_TAKE(arrays, false);
    if (block == NULL)
        return ef_fail_memory(error);
    ef_data_refresh_ranges(data);
    find_ends(&data->counts, ends);
    efface_status status = ef_team_least(part->team, ends, 2 * d, 1, error);
    for (size_t j = 0; status == EFFACE_OK && j < d; j++) {
        const bool any = ends[j] != UINT64_MAX;
        part->whole.ranges.least[j] = any ? ef_float_of_order(ends[j]) : 0.0F;
        part->whole.ranges.most[j] = any ? ef_float_of_order(~ends[d + j]) : 0.0F;
    }
    if (status == EFFACE_OK) {
        find_sums(&data->counts, &part->whole.ranges, sums);
        status = ef_team_sum(part->team, sums, n_sums, error);
    }
    if (status == EFFACE_OK)
        take_sums(&part->whole, sums);
    ef_free(block);
    return status;
}

/* All ranks know what is counted, and so find the same. */
static efface_status check_weight(const ef_shard *part, efface_error *error) {
    if (part->whole.total_weight < EFFACE_MAX_WEIGHT)
        return EFFACE_OK;
    ef_team_fail(part->team);
    return ef_fail(error, EFFACE_E_LIMIT, "the total weight of the rows of all ranks exceeds 2^40");
}

/* ---------------------------------------------------------------- changes */

static void copy_counts(ef_counts *to, const ef_counts *from) {
    const size_t d = from->n_columns;
    const ef_ranges ranges = to->ranges;
    *to = *from;
    to->ranges = ranges;
    to->ranges.any_stale = from->ranges.any_stale;
    memcpy(ranges.least, from->ranges.least, d * sizeof *ranges.least);
    memcpy(ranges.most, from->ranges.most, d * sizeof *ranges.most);
    memcpy(ranges.n_least, from->ranges.n_least, d * sizeof *ranges.n_least);
    memcpy(ranges.n_most, from->ranges.n_most, d * sizeof *ranges.n_most);
}

void ef_shard_begin_change(efface_data *data) {
    if (data->part != NULL)
        copy_counts(&data->part->other, &data->part->whole);
}

void ef_shard_take(efface_data *data, const float *values, int64_t weight, bool leaves) {
    if (data->part != NULL)
        ef_counts_change(&data->part->whole, values, weight, leaves);
}

efface_status ef_shard_end_change(efface_data *data, efface_error *error) {
    ef_shard *const part = data->part;
    if (part == NULL)
        return EFFACE_OK;
    const efface_status status = ef_counts_stale(&part->whole) ? count_all(data, error) : EFFACE_OK;
    return status == EFFACE_OK ? check_weight(part, error) : status;
}

void ef_shard_undo_change(efface_data *data) {
    if (data->part != NULL)
        copy_counts(&data->part->whole, &data->part->other);
}

void ef_shard_keep_change(efface_data *data) {
    if (data->part != NULL)
        copy_counts(&data->part->other, &data->part->whole);
}

/* ---------------------------------------------------------------- ids that come twice */

/* Whether the ids of ranks lie apart: then none is on two ranks. */
static efface_status lie_apart(ef_team *team, const efface_data *data, bool *apart,
                               efface_error *error) {
    uint64_t ends[2] = {UINT64_MAX, 0}; /* the smallest and the largest */
    ef_gathered all;
    for (size_t i = 0; i < data->n_rows; i++) {
        const uint64_t id = ef_data_id(data, i);
        ends[0] = id < ends[0] ? id : ends[0];
        ends[1] = id > ends[1] ? id : ends[1];
    }
    const efface_status status = ef_team_gather(team, ends, data->n_rows != 0 ? sizeof ends : 0,
                                                EFFACE_EVERY_RANK, &all, error);
    if (status != EFFACE_OK)
        return status;
    uint64_t(*const ranges)[2] = (void *)all.bytes;
    const size_t n = all.begins[team->group.size] / sizeof ends;
    qsort(ranges, n, sizeof ends, ef_ids_compare);
    *apart = true;
    for (size_t i = 1; i < n; i++)
        *apart &= ranges[i - 1][1] < ranges[i][0];
    ef_gathered_free(&all);
    return EFFACE_OK;
}

/* The rank that looks after an id. */
static uint32_t keeper_of(uint64_t id, uint32_t size) {
    return (uint32_t)ef_tape_below(ef_tape(0, EF_TAPE_LEAF, 0, id, 0), size);
}

/* The ids of this rank, those that rank 0 looks after first; begins[r] is where those of rank r
 * begin. */
static void order_ids(const efface_data *data, uint32_t size, uint64_t *ids, size_t *begins) {
    memset(begins, 0, ((size_t)size + 1) * sizeof *begins);
    for (size_t i = 0; i < data->n_rows; i++)
        begins[keeper_of(ef_data_id(data, i), size)]++;
    for (uint32_t r = 0; r < size; r++)
        begins[r + 1] += begins[r];
    for (size_t i = 0; i < data->n_rows; i++) {
        const uint64_t id = ef_data_id(data, i);
        ids[--begins[keeper_of(id, size)]] = id;
    }
}

/* Whether one of n ids comes twice. */
static efface_status check_ids(uint64_t *ids, size_t n, efface_error *error) {
    if (n != 0)
        qsort(ids, n, sizeof *ids, ef_ids_compare);
    for (size_t i = 1; i < n; i++)
        if (ids[i] == ids[i - 1])
            return ef_fail(error, EFFACE_E_DUPLICATE,
                           "the id %" PRIu64 " is on two ranks; give each row an id of its own",
                           ids[i]);
    return EFFACE_OK;
}

/* Rank after rank gets the ids that it looks after, and looks for one that comes twice. */
static efface_status look_for_duplicates(ef_team *team, const efface_data *data,
                                         efface_error *error) {
    const uint32_t size = team->group.size;
    uint64_t *const ids = ef_alloc(data->n_rows, sizeof *ids);
    size_t *const begins = ef_alloc((size_t)size + 1, sizeof *begins);
    efface_status status = ids != NULL && begins != NULL ? EFFACE_OK : ef_fail_memory(error);
    if (status == EFFACE_OK)
        order_ids(data, size, ids, begins);
    for (uint32_t root = 0; status == EFFACE_OK && root < size; root++) {
        ef_gathered all;
        status = ef_team_gather(team, ids + begins[root],
                                (begins[root + 1] - begins[root]) * sizeof *ids, root, &all, error);
        if (status != EFFACE_OK)
            break;
        if (all.bytes != NULL)
            status = check_ids((void *)all.bytes, all.begins[size] / sizeof *ids, error);
        ef_gathered_free(&all);
    }
    ef_free(ids);
    ef_free(begins);
    return status;
}

/* ---------------------------------------------------------------- joining */

/* What all ranks must have in common. */
typedef struct agreed {
    uint64_t n_columns;
    unsigned char offsets[EFFACE_DIGEST_BYTES];
} agreed;

static efface_status check_alike(ef_team *team, const efface_data *data, efface_error *error) {
    agreed own = {.n_columns = data->n_columns}, first;
    if (data->offsets != NULL)
        ef_digest(data->offsets, data->n_columns * sizeof *data->offsets, own.offsets);
    first = own;
    const efface_status status = ef_team_broadcast(team, &first, sizeof first, 0, error);
    if (status != EFFACE_OK)
        return status;
    if (own.n_columns != first.n_columns)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the rows of this rank have %" PRIu64
                       " columns, and those of rank 0 %" PRIu64,
                       own.n_columns, first.n_columns);
    return memcmp(own.offsets, first.offsets, sizeof own.offsets) == 0
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_ARGUMENT,
                         "the columns of this rank and those of rank 0 have different offsets");
}

static ef_shard *make_part(uint32_t n_columns) {
    ef_shard *const part = ef_alloc_zero(1, sizeof *part);
    if (part != NULL &&
        (!ef_counts_init(&part->whole, n_columns) || !ef_counts_init(&part->other, n_columns))) {
        ef_shard_free(part);
        return NULL;
    }
    return part;
}

static efface_status join(efface_data *data, ef_team *team, efface_error *error) {
    efface_status status = check_alike(team, data, error);
    bool apart = false;
    EF_THEN(status, lie_apart(team, data, &apart, error));
    if (status == EFFACE_OK && !apart)
        status = look_for_duplicates(team, data, error);
    EF_THEN(status, count_all(data, error));
    return status == EFFACE_OK ? check_weight(data->part, error) : status;
}

efface_status efface_data_join(efface_data *data, const efface_group *group, efface_error *error) {
    efface_error room, *const why = error != NULL ? error : &room;
    efface_status status = ef_group_check(group, why);
    if (status != EFFACE_OK)
        return status;
    /* What this rank finds wrong by itself, it has to tell. */
    ef_team team = {.group = *group}, *at = &team;
    if (data == NULL || data->part != NULL)
        status = ef_fail(why, EFFACE_E_ARGUMENT,
                         data == NULL ? "data must not be NULL" : "the set is a part already");
    ef_shard *const part = status == EFFACE_OK ? make_part(data->n_columns) : NULL;
    if (status == EFFACE_OK && part == NULL)
        status = ef_fail_memory(why);
    if (status == EFFACE_OK) {
        part->own = team;
        at = part->team = &part->own;
        data->part = part;
        status = join(data, at, why);
    }
    status = ef_team_agree(at, status, why);
    if (status == EFFACE_OK) {
        data->stamp.generation++; /* models of these rows alone are not of the whole */
        return status;
    }
    if (part != NULL)
        data->part = NULL;
    ef_shard_free(part);
    return status;
}

efface_status ef_shard_make(efface_data *data, const efface_data *of, efface_error *error) {
    data->part = make_part(data->n_columns);
    if (data->part == NULL)
        return ef_fail_memory(error);
    data->part->team = of->part->team;
    return count_all(data, error);
}
