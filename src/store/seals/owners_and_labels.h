/* Rows by owner and by label (owners_and_labels.c). */
#ifndef EF_OWNERS_AND_LABELS_H
#define EF_OWNERS_AND_LABELS_H

#include "store/seals/seals.h"

/* A row comes to a set of members, or leaves it. */
typedef struct ef_member {
    ef_member_kind kind;
    bool leaves;
    uint64_t number;
    uint64_t id;
    const char *text; /* of the set, where it comes; or NULL */
    uint64_t bucket;  /* filled in by ef_member_sets_change */
    size_t order;     /* the same */
} ef_member;

/* Makes empty buckets for as many sets as there will be. */
efface_status ef_member_sets_make(efface_store *store, uint64_t n_sets, efface_error *error);

/* Changes sets, and the head; `members` is put in order. Buckets are verified first. */
efface_status ef_member_sets_change(efface_store *store, ef_member *members, size_t n,
                                    efface_error *error);

/* The sets with these numbers, each bucket read once and verified; a set that does not exist has no
 * rows. Release their texts with ef_member_sets_clear; after an error there are none. */
efface_status ef_member_sets_find(efface_store *store, ef_member_kind kind, const uint64_t *numbers,
                                  size_t n, ef_member_set *sets, efface_error *error);
void ef_member_sets_clear(ef_member_set *sets, size_t n);

/* Calls `each` for every set, all buckets verified. */
typedef efface_status ef_member_set_each(void *context, const ef_member_set *set,
                                         efface_error *error);
efface_status ef_member_sets_each(efface_store *store, ef_member_set_each *each, void *context,
                                  efface_error *error);

#endif
