/* The operations of a team, each with a plain computation of what must come out. For tests, which
 * include this file. */
#ifndef EF_TEAM_SCENE_H
#define EF_TEAM_SCENE_H

#include "base/workers/team.h"
#include "group/team/thread_group.h"
#include "law/draws.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const uint32_t group_sizes[] = {1, 2, 3, 7, 16};

#define MOST_ITEMS 200

/* How large an operation is. Where ranks have different sizes, n is the largest. */
typedef struct shape {
    size_t n, width;
    uint32_t root;
} shape;

/* What a rank has at a place. */
static uint64_t value_at(uint32_t rank, size_t place) {
    return mix(((uint64_t)rank << 32) + place + 1);
}

/* Few different values, so that there are ties. */
static uint64_t small_value_at(uint32_t rank, size_t place) {
    return value_at(rank, place) % 3;
}

typedef efface_status checked_operation(ef_team *team, const shape *s, efface_error *error);

static efface_status do_sum(ef_team *team, const shape *s, efface_error *error) {
    int64_t numbers[MOST_ITEMS + 1];
    for (size_t i = 0; i <= s->n; i++)
        numbers[i] = (int64_t)value_at(team->group.rank, i);
    const efface_status status = ef_team_sum(team, numbers, s->n, error);
    for (size_t i = 0; status == EFFACE_OK && i < s->n; i++) {
        uint64_t right = 0;
        for (uint32_t r = 0; r < team->group.size; r++)
            right += value_at(r, i);
        RANK_ASSERT((uint64_t)numbers[i] == right);
    }
    RANK_ASSERT((uint64_t)numbers[s->n] == value_at(team->group.rank, s->n));
    return status;
}

static ef_u128 wide_value_at(uint32_t rank, size_t place) {
    return (ef_u128)value_at(rank, 2 * place) << 64 | (value_at(rank, 2 * place + 1) | 1ull << 63);
}

static efface_status do_sum_wide(ef_team *team, const shape *s, efface_error *error) {
    ef_i128 numbers[MOST_ITEMS + 1];
    for (size_t i = 0; i <= s->n; i++)
        numbers[i] = (ef_i128)wide_value_at(team->group.rank, i);
    const efface_status status = ef_team_sum_wide(team, numbers, s->n, error);
    for (size_t i = 0; status == EFFACE_OK && i < s->n; i++) {
        ef_u128 right = 0;
        for (uint32_t r = 0; r < team->group.size; r++)
            right += wide_value_at(r, i);
        RANK_ASSERT((ef_u128)numbers[i] == right);
    }
    RANK_ASSERT((ef_u128)numbers[s->n] == wide_value_at(team->group.rank, s->n));
    return status;
}

/* The rank that has the smallest tuple in a place. */
static uint32_t least_rank(const ef_team *team, size_t place, size_t width) {
    uint32_t least = 0;
    for (uint32_t r = 1; r < team->group.size; r++)
        for (size_t j = 0; j < width; j++) {
            const uint64_t a = small_value_at(least, place * width + j);
            const uint64_t b = small_value_at(r, place * width + j);
            if (b < a)
                least = r;
            if (b != a)
                break;
        }
    return least;
}

static efface_status do_least(ef_team *team, const shape *s, efface_error *error) {
    uint64_t tuples[MOST_ITEMS];
    const size_t n = s->n / s->width;
    for (size_t i = 0; i < n * s->width; i++)
        tuples[i] = small_value_at(team->group.rank, i);
    const efface_status status = ef_team_least(team, tuples, n, s->width, error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++)
        for (size_t j = 0; j < s->width; j++)
            RANK_ASSERT(tuples[i * s->width + j] ==
                        small_value_at(least_rank(team, i, s->width), i * s->width + j));
    return status;
}

/* How many bytes a rank has of at most n: every third none, and the others not as many. */
static size_t n_bytes_of(uint32_t rank, size_t n) {
    return rank % 3 == 1 || n == 0 ? 0 : n - rank % n;
}

static void check_gathered(const ef_team *team, const shape *s, const ef_gathered *all) {
    size_t begin = 0;
    for (uint32_t r = 0; r < team->group.size; r++) {
        const size_t n = n_bytes_of(r, s->n);
        RANK_ASSERT(all->begins[r] == begin && all->begins[r + 1] == begin + n);
        for (size_t i = 0; all->bytes != NULL && i < n; i++)
            RANK_ASSERT(all->bytes[begin + i] == (unsigned char)value_at(r, i));
        begin += n;
    }
    const bool gets = s->root == EFFACE_EVERY_RANK || s->root == team->group.rank;
    RANK_ASSERT((all->bytes != NULL) == gets);
}

static efface_status do_gather(ef_team *team, const shape *s, efface_error *error) {
    const size_t n = n_bytes_of(team->group.rank, s->n);
    unsigned char bytes[MOST_ITEMS];
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)value_at(team->group.rank, i);
    ef_gathered all;
    const efface_status status =
        ef_team_gather(team, n != 0 ? bytes : NULL, n, s->root, &all, error);
    if (status == EFFACE_OK)
        check_gathered(team, s, &all);
    else
        RANK_ASSERT(all.bytes == NULL && all.begins == NULL);
    ef_gathered_free(&all);
    return status;
}

static efface_status do_broadcast(ef_team *team, const shape *s, efface_error *error) {
    const uint32_t root = s->root == EFFACE_EVERY_RANK ? team->group.size / 2 : s->root;
    unsigned char bytes[MOST_ITEMS + 1];
    for (size_t i = 0; i <= s->n; i++)
        bytes[i] = (unsigned char)value_at(team->group.rank, i);
    const efface_status status = ef_team_broadcast(team, bytes, s->n, root, error);
    for (size_t i = 0; status == EFFACE_OK && i < s->n; i++)
        RANK_ASSERT(bytes[i] == (unsigned char)value_at(root, i));
    RANK_ASSERT(bytes[s->n] == (unsigned char)value_at(team->group.rank, s->n));
    return status;
}

static efface_status do_all(ef_team *team, const shape *s, efface_error *error) {
    const uint32_t odd_one = (uint32_t)s->n % (team->group.size + 1); /* or nobody */
    bool all = false;
    const efface_status status = ef_team_all(team, team->group.rank != odd_one, &all, error);
    if (status == EFFACE_OK)
        RANK_ASSERT(all == (odd_one == team->group.size));
    return status;
}

static checked_operation *const operations[] = {do_sum,    do_sum_wide,  do_least,
                                                do_gather, do_broadcast, do_all};

/* All operations, with and without items, for ranks with few and many bytes, to all roots. */
static inline void check_all_shapes(const efface_group *group, void *context) {
    (void)context;
    const size_t sizes[] = {0, 1, 2, 5, 17, 48, 49, MOST_ITEMS};
    const uint32_t roots[] = {0, group->size - 1, EFFACE_EVERY_RANK};
    ef_team team = {.group = *group};
    RANK_ASSERT(ef_group_check(group, NULL) == EFFACE_OK);
    for (size_t o = 0; o < COUNT(operations); o++)
        for (size_t i = 0; i < COUNT(sizes); i++)
            for (size_t width = 1; width <= 3; width++) {
                const shape s = {sizes[i], width, roots[width - 1]};
                efface_error error;
                ef_team_begin(&team);
                RANK_ASSERT(operations[o](&team, &s, &error) == EFFACE_OK);
                RANK_ASSERT(ef_team_agree(&team, EFFACE_OK, &error) == EFFACE_OK);
                RANK_ASSERT(!team.has_failed);
            }
}

#endif
