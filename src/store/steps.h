/* The steps that a transaction of requests is made of (steps.c). */
#ifndef EF_STEPS_H
#define EF_STEPS_H

#include "store/store.h"

/* A request that is under way. A step fills its report but for the receipt. */
typedef struct ef_task {
    efface_store_change *change;
    uint64_t *ids; /* of the rows concerned, for its receipt */
    size_t n_ids;
    bool draws; /* the ids are new, and random */
} ef_task;

/* Whether a failure is one of the whole transaction: the disk or memory gave up, or the caller
 * did, or SQLite has taken the transaction back. */
bool ef_fails_all(efface_store *store, efface_status status);

/* Requests to forget, as one step. A request whose rows are not there has its status and is left
 * out. `error` is not NULL in any step. */
efface_status ef_step_forget(efface_store *store, ef_task *tasks, size_t n, bool only_look,
                             efface_error *error);

efface_status ef_step_learn(efface_store *store, ef_task *task, efface_error *error);
efface_status ef_step_update(efface_store *store, ef_task *task, efface_error *error);

#endif
