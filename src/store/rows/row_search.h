/* Finding rows by id and by owner, each answer verified (row_search.c). */
#ifndef EF_ROW_SEARCH_H
#define EF_ROW_SEARCH_H

#include "store/rows/stored_rows.h"

/* The rows of ids, with their buckets verified. `there` says of each id whether there is such a
 * row; `found`, if not NULL, is handed the rows. No id comes twice. */
efface_status ef_rows_look_up(efface_store *store, const uint64_t *ids, size_t n_ids, bool *there,
                              ef_found *found, efface_error *error);

/* What requests ask for that is not there. */
#define EF_MAX_NAMED 8

typedef struct ef_absent {
    char named[EF_MAX_NAMED * 28]; /* the first of them */
    size_t n_named;
    uint64_t n_missing;
} ef_absent;

/* Notes an id or owner. One that was asked for n times counts n times, and is named once. */
void ef_absent_note(ef_absent *missing, const char *what, uint64_t number, size_t n);

/* NOT_FOUND if there are any and the request does not put up with it. */
efface_status ef_absent_judge(const ef_absent *missing, const efface_request *request,
                              efface_error *error);

/* A request whose rows are looked for together with those of others, and what is found of it. */
typedef struct ef_search {
    const efface_request *request;
    efface_error *error; /* or NULL */
    efface_status status;
    uint64_t *ids; /* of its rows; release with ef_free, whatever became of it */
    size_t n_ids;
    uint64_t n_missing; /* ids and owners that are not there, or that a request before it takes */
} ef_search;

/* The rows that requests are about: to each, what those before it leave. `found` is handed the rows
 * of those that are OK. */
efface_status ef_rows_find_all(efface_store *store, ef_search *searches, size_t n, ef_found *found,
                               efface_error *error);

/* The rows that a request is about; how many of its ids and owners are not there. */
efface_status ef_rows_find(efface_store *store, const efface_request *request, ef_found *found,
                           uint64_t *n_missing, efface_error *error);

#endif
