/* Rows by owner and by label (owners_and_labels.c). */
#ifndef EF_OWNERS_AND_LABELS_H
#define EF_OWNERS_AND_LABELS_H

#include "store/seals/seals.h"

/* A row comes to a group, or leaves it. */
typedef struct ef_member {
    ef_group_kind kind;
    bool leaves;
    uint64_t number;
    uint64_t id;
    const char *text; /* of the group, where it comes; or NULL */
    uint64_t bucket;  /* filled in by ef_groups_change */
    size_t order;     /* the same */
} ef_member;

/* Makes empty buckets of groups for as many groups as there will be. */
efface_status ef_groups_make(efface_store *store, uint64_t n_groups, efface_error *error);

/* Changes groups, and the head; `members` is put in order. Buckets are verified first. */
efface_status ef_groups_change(efface_store *store, ef_member *members, size_t n,
                               efface_error *error);

/* The group with a number, its bucket verified; `found` is false if there is none. Release its text
 * with ef_free. */
efface_status ef_group_find(efface_store *store, ef_group_kind kind, uint64_t number,
                            ef_group *group, bool *found, efface_error *error);

/* Calls `each` for every group, all buckets verified. */
typedef efface_status ef_group_each(void *context, const ef_group *group, efface_error *error);
efface_status ef_groups_each(efface_store *store, ef_group_each *each, void *context,
                             efface_error *error);

#endif
