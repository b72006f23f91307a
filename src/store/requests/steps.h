/* The steps that a transaction of requests is made of (steps.c). */
#ifndef EF_STEPS_H
#define EF_STEPS_H

#include "base/errors/status.h"
#include "data/set/rows.h"

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

/* Requests to forget, or one other, as one step on a file. A request to forget whose rows are not
 * there has its status and is left out. `error` is not NULL. */
efface_status ef_step_in_file(efface_store *store, ef_task *tasks, size_t n, bool only_look,
                              efface_error *error);

/* ------------------------------------------------------------------ what steps are made of */

/* Whether a request and its lists are there. */
static inline bool ef_request_is_complete(const efface_request *request) {
    return request != NULL && (request->n_ids == 0 || request->ids != NULL) &&
           (request->n_owners == 0 || request->owners != NULL);
}

static inline efface_status ef_request_check(const efface_request *request, efface_error *error) {
    return ef_request_is_complete(request)
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_ARGUMENT, "the request and its lists must not be NULL");
}

/* Whether rows came with ids of their own. */
static inline bool ef_data_is_named(const efface_data *data) {
    return data->named || !ef_data_ids_are_positions(data);
}

/* The ids of a set of rows, in the order of positions; NULL if out of memory. */
uint64_t *ef_list_ids(const efface_data *rows);

/* Whether ids and owners that come are numbers or texts as those of the store, which learns it from
 * the first. */
efface_status ef_check_kinds(efface_store *store, const efface_data *data, efface_error *error);

/* The weight of all rows must stay below its limit when rows come. */
efface_status ef_check_weight(int64_t there, int64_t comes, efface_error *error);

/* Different ids for new rows. They have 63 bits, which every language can hold, and are random: one
 * that follows from others would be given to somebody else after it was forgotten. */
efface_status ef_draw_distinct(uint64_t *ids, size_t n, efface_error *error);

/* DUPLICATE, for a row that is there already. */
efface_status ef_fail_known_id(uint64_t id, efface_error *error);

/* The rows as they will be, in the order in which they were found: what the set does not have of
 * its own stays. */
efface_status ef_make_updated(const efface_data *old, const efface_data *data, efface_data **out,
                              efface_error *error);

#endif
