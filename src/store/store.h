/* The handle of a store, as its own files see it (store.c has the invariants). */
#ifndef EF_STORE_H
#define EF_STORE_H

#include "store/receipts/openings.h"
#include "store/seals/head.h"
#include "store/sql/page_slack.h"

#include <sqlite3.h>

struct efface_store {
    sqlite3 *db;   /* NULL between requests that wrote and the next */
    char *path;    /* of the file */
    bool in_write; /* a transaction that writes is under way */
    bool in_doubt; /* the last one was done, though the disk failed when it was to keep it */
    ef_clean_file clean;
    int64_t process; /* that opened it */
    bool writes;
    uint32_t format; /* of the file */
    double wait_seconds;
    ef_head head;                                 /* as the transaction under way has it */
    bool head_changed;                            /* since it was read */
    unsigned char head_seal[EFFACE_DIGEST_BYTES]; /* of the head as the file has it */
    const struct ef_parts *parts;                 /* how it is one with other files (parts.h) */
    struct ef_cluster *cluster;     /* of parts that are open together; NULL: it is one file */
    struct ef_residents *residents; /* what stays in memory (residents.h); NULL: nothing does */
    void (*head_was_read)(efface_store *store); /* drops residents of another head; or NULL */
    char **names;                               /* of the columns, or NULL; each may be NULL */
    double *offsets;                            /* of the columns, or NULL */
    efface_offset *places; /* the same for load options, those that are not 0 */
    size_t n_places;
    efface_column_type *types;  /* of the columns; or NULL: numbers */
    efface_typed_column *typed; /* the same for load options, those that are no numbers */
    size_t n_typed;
    bool takes_missing;        /* in some column all models take missing values */
    efface_category *complete; /* columns in which a model takes none, for load options */
    size_t n_complete;
    efface_category *categories; /* columns in which a model has categories, for load options */
    size_t n_categories;
    char foreign[200];      /* what the schema has that is not ours; "" for nothing */
    int64_t schema_version; /* SQLite's count of its changes when it was compared */
    unsigned char receipt_key[EFFACE_RECEIPT_KEY_BYTES]; /* ids in receipts are hashed with it */
    bool has_receipt_key;
    bool signs;
    unsigned char secret_key[EFFACE_SECRET_KEY_BYTES];
    ef_openings openings;
    int (*progress)(void *context, efface_phase phase, double part);
    void *progress_context;
};

efface_status ef_store_options_check(const efface_store_options *options, efface_error *error);

/* Opens a store that is one file, or a part; the options are right. */
efface_status ef_store_open_alone(const char *path, const efface_store_options *options,
                                  efface_store **out, efface_error *error);

/* Opens the file of a store and sets what the invariants need, and no more. */
efface_status ef_store_open_file(const char *path, bool writes, const efface_store_options *options,
                                 efface_store **out, efface_error *error);

/* Closes the connection to the file, and opens it if it is closed. SQLite keeps copies of pages for
 * as long as it is open, of rows that are forgotten too. */
void ef_store_disconnect(efface_store *store);
efface_status ef_store_connect(efface_store *store, efface_error *error);

#endif
