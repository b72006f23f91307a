/* The rows of all parts that a request is about (rows_of_parts.c). */
#ifndef EF_ROWS_OF_PARTS_H
#define EF_ROWS_OF_PARTS_H

#include "base/workers/team.h"
#include "store/rows/stored_rows.h"

/* The request of rank 0, as all have it, its ids in order; its lists stand in `bytes`. */
typedef struct ef_shared_request {
    efface_request request;
    uint64_t *bytes;
} ef_shared_request;

/* Release `bytes` with ef_free. */
efface_status ef_request_share(ef_team *team, const efface_request *asked, ef_shared_request *to,
                               efface_error *error);

/* The rows that a request is about. */
typedef struct ef_rows_of_parts {
    ef_found here;    /* those of this part */
    ef_gathered ids;  /* of all, part by part */
    size_t *begins;   /* where those of each part begin */
    size_t n_rows;    /* of all */
    efface_data *all; /* in the order of the ids, on the ranks that want them */
    uint64_t n_missing;
} ef_rows_of_parts;

static inline const uint64_t *ef_ids_of_parts(const ef_rows_of_parts *rows) {
    return (const uint64_t *)(const void *)rows->ids.bytes;
}

/* Finds the rows of a request that all ranks have. They come to the rank `to`, or to all
 * (EFFACE_EVERY_RANK). Whatever becomes of it, they are released. */
efface_status ef_rows_of_parts_find(efface_store *store, const efface_request *request, uint32_t to,
                                    ef_rows_of_parts *rows, efface_error *error);
void ef_rows_of_parts_free(ef_rows_of_parts *rows);

#endif
