/* Buckets of rows: what is verified when a row is read (buckets.c). */
#ifndef EF_BUCKETS_H
#define EF_BUCKETS_H

#include "base/numbers/wide.h"
#include "efface/efface.h"

/* What is kept of the rows of a bucket. */
typedef struct ef_bucket {
    uint64_t n_rows;
    ef_u128 sum;
} ef_bucket;

/* Makes all buckets, empty. */
efface_status ef_buckets_make(efface_store *store, efface_error *error);

/* A change of a bucket: rows and their seals that come, less those that leave. */
typedef struct ef_bucket_change {
    uint64_t bucket;
    int64_t n_rows;
    ef_u128 sum;
} ef_bucket_change;

/* Changes buckets, and the head; `changes` is put in order. */
efface_status ef_buckets_change(efface_store *store, ef_bucket_change *changes, size_t n,
                                efface_error *error);

/* Chooses other buckets for n_rows rows if those that there are have become too large, and spreads
 * the rows anew. */
efface_status ef_buckets_fit(efface_store *store, uint64_t n_rows, efface_error *error);

#endif
