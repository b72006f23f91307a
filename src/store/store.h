/* The store, as its own files see it (store.c has the invariants). */
#ifndef EF_STORE_H
#define EF_STORE_H

#include "base/encode.h"
#include "data/cold_set.h"
#include "model/kmeans/replay.h"

#include <sqlite3.h>

#define EF_STORE_KEY_BYTES 32
#define EF_STORE_SET_VERSION "PRAGMA user_version = 1;"

/* A file whose pages are cleaned when they are written (page_slack.c). */
typedef struct ef_clean_file {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *below;
    unsigned char page[65536];
} ef_clean_file;

struct efface_store {
    sqlite3 *db;
    ef_clean_file clean;
    bool writes;
    uint32_t n_columns;
    char **names; /* of the columns, or NULL */
    unsigned char hash_key[EFFACE_HASH_KEY_BYTES];
    unsigned char receipt_key[EF_STORE_KEY_BYTES]; /* ids in receipts are hashed with it */
    bool signs;
    unsigned char secret_key[EFFACE_SECRET_KEY_BYTES];
};

/* ------------------------------------------------------------------ SQL (sql.c) */

/* The error of what SQLite did last. */
efface_status ef_sql_fail(efface_store *store, efface_error *error);

efface_status ef_sql_run(efface_store *store, const char *sql, efface_error *error);
efface_status ef_sql_prepare(efface_store *store, const char *sql, sqlite3_stmt **out,
                             efface_error *error);

/* Goes on to the next row of a statement; `row` is false after the last. */
efface_status ef_sql_step(efface_store *store, sqlite3_stmt *statement, bool *row,
                          efface_error *error);

/* Runs a statement that has no rows, and makes it ready to run again. */
efface_status ef_sql_do(efface_store *store, sqlite3_stmt *statement, efface_error *error);

/* A transaction: `end` commits it if `status` is OK, else takes it back, and returns what became of
 * it. */
efface_status ef_store_begin(efface_store *store, bool writes, efface_error *error);
efface_status ef_store_end(efface_store *store, efface_status status, efface_error *error);

/* Bytes of a column, for as long as the statement is not moved. */
ef_reader ef_sql_bytes(sqlite3_stmt *statement, int column);
void ef_sql_bind_bytes(sqlite3_stmt *statement, int parameter, const void *bytes, size_t n_bytes);

/* A fact of the store: a whole number, or a key of n_bytes. */
efface_status ef_fact_read(efface_store *store, const char *name, uint64_t *value,
                           efface_error *error);
efface_status ef_fact_read_key(efface_store *store, const char *name, unsigned char *key,
                               size_t n_bytes, efface_error *error);
efface_status ef_fact_write(efface_store *store, const char *name, uint64_t value,
                            efface_error *error);

/* ------------------------------------------------------------------ pages (page_slack.c) */

#define EF_STORE_MOST_PAGES "33554431" /* 2^25 - 1: 128 GiB */

/* Has every page cleaned that a database writes from now on; `to` must outlive it. */
void ef_clean_writes(sqlite3 *db, ef_clean_file *to);

/* ------------------------------------------------------------------ memory (wiping_memory.c) */

/* Has SQLite overwrite memory before it releases it; once for a process, before its first use.
 * False if somebody used SQLite already, now as later. */
bool ef_sql_wipe_memory(void);

/* ------------------------------------------------------------------ rows (store_rows.c) */

/* Writes all rows of a set; their ids are those in the set plus `first_id`. */
efface_status ef_rows_insert(efface_store *store, const efface_data *data, uint64_t first_id,
                             efface_error *error);

/* Loads all rows, or some columns of them (NULL: all). */
efface_status ef_rows_load(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                           efface_data **out, efface_error *error);

/* The rows that a request is about, as a set; how many of its ids and owners are not there. */
efface_status ef_rows_find(efface_store *store, const efface_request *request, efface_data **out,
                           uint64_t *n_missing, efface_error *error);

/* The weight of all rows, from the rows themselves. Cost O(n). */
efface_status ef_rows_weight(efface_store *store, int64_t *weight, efface_error *error);

/* Takes the rows of a set out. */
efface_status ef_rows_delete(efface_store *store, const efface_data *rows, efface_error *error);

/* Some columns of the row at a position, side by side. */
void ef_rows_pick(const efface_data *data, size_t position, const uint32_t *columns,
                  uint32_t n_columns, float *all, float *picked);

/* ------------------------------------------------------------------ models (store_models.c) */

/* A model as it stands in the file. */
typedef struct ef_record {
    char name[EFFACE_MODEL_NAME_BYTES];
    efface_kmeans_params params;
    float *bounds;            /* what the parameters refer to */
    uint32_t *depth_clusters; /* the same */
    uint32_t *columns;        /* or NULL: all */
    uint32_t n_columns;
    unsigned char *counts; /* of its rows and columns (cold_set.h) */
    size_t n_counts;
    unsigned char *state;
    size_t n_state;
    unsigned char digest[EFFACE_DIGEST_BYTES];
} ef_record;

void ef_record_free(ef_record *record);

/* The names of all models, in order. Release with free. */
efface_status ef_models_list(efface_store *store, char (**names)[EFFACE_MODEL_NAME_BYTES],
                             uint32_t *n_names, efface_error *error);
efface_status ef_record_read(efface_store *store, const char *name, ef_record *record,
                             efface_error *error);

/* Writes a model that has changed, or a new one. */
efface_status ef_record_write(efface_store *store, ef_record *record, const efface_kmeans *model,
                              const efface_data *counted, bool is_new, efface_error *error);

/* The model without rows and its set without rows; or both with all rows. */
efface_status ef_record_cold(const ef_record *record, efface_kmeans **model, efface_data **counts,
                             efface_error *error);
efface_status ef_record_hot(efface_store *store, const ef_record *record, efface_kmeans **model,
                            efface_data **data, efface_error *error);

/* Parameters as bytes (params_record.c). */
void ef_params_write(ef_writer *writer, const efface_kmeans_params *params, uint32_t n_columns);
efface_status ef_params_read(ef_reader *reader, ef_record *record, efface_error *error);

/* ------------------------------------------------------------------ receipts (receipts.c) */

/* Appends the receipt of a request: `kind` is "forget" or "learn", `ids` are those of the rows
 * concerned. */
efface_status ef_receipt_append(efface_store *store, const char *kind, const uint64_t *ids,
                                size_t n_ids, efface_store_report *report, efface_error *error);

/* Whether receipts have no gaps and each names the one before; CORRUPT if not. */
efface_status ef_receipts_check(efface_store *store, efface_error *error);

efface_status ef_store_corrupt(efface_error *error, const char *what);

#endif
