/* Rows of the store: read (row_batches.c), written (stored_rows.c), and all of them loaded
 * (loaded_rows.c). */
#ifndef EF_STORED_ROWS_H
#define EF_STORED_ROWS_H

#include "store/rows/buckets.h"
#include "store/seals/seals.h"

#include <sqlite3.h>

/* Rows of the store, as a set; in the order of positions the texts of their ids, or NULL. */
typedef struct ef_found {
    efface_data *data;
    char **texts;
    size_t n_texts;
} ef_found;

void ef_found_free(ef_found *found);

#define EF_BATCH_ROWS 1024

/* Puts rows together, batch by batch, to a set: some columns of them (NULL: all). */
typedef struct ef_row_batch {
    ef_found found;
    const uint32_t *columns;
    uint32_t n_columns; /* of the set */
    bool keeps_texts;
    size_t n;
    float *values;
    uint64_t *ids, *owners;
    int64_t *weights, *labels;
} ef_row_batch;

efface_status ef_batch_begin(ef_row_batch *batch, const efface_store *store,
                             const uint32_t *columns, uint32_t n_columns, bool keeps_texts,
                             efface_error *error);
efface_status ef_batch_add(ef_row_batch *batch, const ef_stored_row *row, efface_error *error);

/* Hands out the set, with the names of its columns, or releases it if `status` is not OK. */
efface_status ef_batch_end(ef_row_batch *batch, const efface_store *store, efface_status status,
                           ef_found *out, efface_error *error);

#define EF_ROW_COLUMNS "bucket, id, owner, weight, class, text, vals"

/* The row that a statement of EF_ROW_COLUMNS is at; valid until it is moved. */
efface_status ef_row_read(efface_store *store, sqlite3_stmt *statement, ef_stored_row *row,
                          uint64_t *bucket, efface_error *error);

/* Writes all rows of a set under other ids (NULL: their own), and counts them in buckets, groups
 * and head; `texts` may be NULL. Buckets and groups are there. */
efface_status ef_rows_insert(efface_store *store, const efface_data *data, const uint64_t *ids,
                             const efface_texts *texts, efface_error *error);

/* Gives rows that were found the values, weights, owners and labels of the rows of a set, position
 * by position. */
efface_status ef_rows_replace(efface_store *store, const ef_found *old, const efface_data *data,
                              const efface_texts *texts, efface_error *error);

/* Takes rows out that were found. */
efface_status ef_rows_delete(efface_store *store, const ef_found *rows, efface_error *error);

/* Loads all rows, or some columns of them (NULL: all), verified bucket by bucket. `buckets`, if not
 * NULL, is handed all of them; release with ef_free. */
efface_status ef_rows_load(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                           efface_data **out, ef_bucket **buckets, efface_error *error);

/* Loads all rows with the texts of their ids. */
efface_status ef_rows_load_texts(efface_store *store, ef_found *found, efface_error *error);

/* The rows of a set under other ids (NULL: their own), some columns of them (NULL: all), as a
 * caller of learn holds them. */
typedef struct ef_given {
    efface_rows rows;
    float *values;
    uint64_t *ids;
    int64_t *weights;
    int64_t *labels; /* or NULL: none has one */
} ef_given;

efface_status ef_given_make(ef_given *given, const efface_data *data, const uint64_t *ids,
                            const uint32_t *columns, uint32_t n_columns, efface_error *error);
void ef_given_free(ef_given *given);

/* A set with some columns of another (NULL: all of them); a part of one, if the other is. */
efface_status ef_rows_copy(const efface_data *data, const uint32_t *columns, uint32_t n_columns,
                           efface_data **out, efface_error *error);

#endif
