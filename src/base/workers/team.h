/*
 * A team: the ranks of a group (efface_group.h) at work on one call.
 *
 * Every operation begins with an agreement: each rank says whether it has failed so far. A rank
 * that fails goes back to where the call began, and agrees there (ef_team_agree); all others learn
 * it at their next operation, which then fails with the same message. So nobody waits for a rank
 * that is gone, as long as all ranks that have not failed ask for the same operations in the same
 * order: what a rank decides by itself must not reach an operation.
 *
 * Where there is no team (NULL) the operations do nothing, and one process has all.
 */
#ifndef EF_TEAM_H
#define EF_TEAM_H

#include "base/numbers/wide.h"
#include "efface/efface.h"

#include <stdbool.h>

typedef struct ef_team {
    efface_group group;
    bool has_failed; /* in the call under way, and all ranks know it */
} ef_team;

/* No operation of an engine is asked for more bytes. A variable only because tests lower it. */
extern size_t ef_team_most_bytes;

/* Whether a group can be one. */
efface_status ef_group_check(const efface_group *group, efface_error *error);

/* At the beginning of a call: nobody has failed. */
static inline void ef_team_begin(ef_team *team) {
    if (team != NULL)
        team->has_failed = false;
}

/* All ranks have found the same failure by themselves. */
static inline void ef_team_fail(ef_team *team) {
    if (team != NULL)
        team->has_failed = true;
}

/* This rank has `status`, with an error if it failed. All get the failure of the first rank that
 * has one, its message with the number of the rank before it. */
efface_status ef_team_agree(ef_team *team, efface_status status, efface_error *error);

/* Sums over all ranks, in place. */
efface_status ef_team_sum(ef_team *team, int64_t *numbers, size_t n, efface_error *error);
efface_status ef_team_sum_wide(ef_team *team, ef_i128 *numbers, size_t n, efface_error *error);

/* n tuples of `width` numbers become the smallest of all ranks, each in its place. */
efface_status ef_team_least(ef_team *team, uint64_t *tuples, size_t n, size_t width,
                            efface_error *error);

/* Bytes of all ranks, one after the other. */
typedef struct ef_gathered {
    unsigned char *bytes; /* those of rank r begin at begins[r] */
    size_t *begins;       /* one more than there are ranks */
} ef_gathered;

/* Gives the bytes of all ranks to one, or to all (EFFACE_EVERY_RANK); elsewhere `bytes` is NULL.
 * There is a team. The caller releases them. */
efface_status ef_team_gather(ef_team *team, const void *bytes, size_t n_bytes, uint32_t root,
                             ef_gathered *all, efface_error *error);
void ef_gathered_free(ef_gathered *all);

/* The bytes of one rank come to all. */
efface_status ef_team_broadcast(ef_team *team, void *bytes, size_t n_bytes, uint32_t root,
                                efface_error *error);

/* Whether something holds on all ranks. */
efface_status ef_team_all(ef_team *team, bool holds, bool *all, efface_error *error);

/* Numbers whose order as whole numbers is theirs: doubles that are not negative, and any finite
 * floats. */
uint64_t ef_order_of_double(double value);
double ef_double_of_order(uint64_t order);
uint64_t ef_order_of_float(float value);
float ef_float_of_order(uint64_t order);

#endif
