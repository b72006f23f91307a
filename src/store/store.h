/* The store, as its own files see it (store.c has the invariants). */
#ifndef EF_STORE_H
#define EF_STORE_H

#include "base/bytes/encode.h"
#include "data/set/counts.h"
#include "model/family.h"
#include "store/file/head.h"

#include <sqlite3.h>

#define EF_STORE_VERSION 3
#define EF_STORE_SET_VERSION "PRAGMA user_version = 3;"
#define EF_PART_VERSION 4
#define EF_PART_SET_VERSION "PRAGMA user_version = 4;"

typedef struct ef_parts ef_parts;

/* A file whose pages are cleaned when they are written (page_slack.c). */
typedef struct ef_clean_file {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *below;
    unsigned char page[65536];
} ef_clean_file;

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
    const ef_parts *parts;                        /* how it is one with other files (parts.h) */
    struct ef_cluster *cluster;     /* of parts that are open together; NULL: it is one file */
    struct ef_residents *residents; /* what stays in memory (residents.h); NULL: nothing does */
    char **names;                   /* of the columns, or NULL; each may be NULL */
    double *offsets;                /* of the columns, or NULL */
    efface_offset *places;          /* the same for load options, those that are not 0 */
    size_t n_places;
    bool takes_missing;          /* there are models, and all take missing values */
    efface_category *categories; /* columns in which a model has categories, for load options */
    size_t n_categories;
    char foreign[200];      /* what the schema has that is not ours; "" for nothing */
    int64_t schema_version; /* SQLite's count of its changes when it was compared */
    unsigned char receipt_key[EFFACE_RECEIPT_KEY_BYTES]; /* ids in receipts are hashed with it */
    bool has_receipt_key;
    bool signs;
    unsigned char secret_key[EFFACE_SECRET_KEY_BYTES];
    int (*progress)(void *context, double part);
    void *progress_context;
};

/* ------------------------------------------------------------------ opening (store.c) */

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

/* Has the names of the files in a folder on the disk, where a file system can do that (creation.c);
 * false, with errno, if not. */
bool ef_sync_folder(const char *folder);

/* Reads the names and offsets of the columns and verifies them (store_columns.c). */
efface_status ef_store_read_columns(efface_store *store, efface_error *error);

/* Writes those of a set, and the head's digest of them. */
efface_status ef_store_write_columns(efface_store *store, const efface_data *data,
                                     efface_error *error);

/* Within a transaction: finds out what the models let rows be that come (row_rules.c). */
efface_status ef_store_read_rules(efface_store *store, efface_error *error);

/* Releases them. */
void ef_store_free_columns(efface_store *store);

/* A set without rows, with the columns and offsets of the store. */
efface_status ef_store_new_set(const efface_store *store, efface_data **out, efface_error *error);

/* Gives a set without rows the offsets of some columns of the store (NULL: of all). */
efface_status ef_store_give_offsets(const efface_store *store, const uint32_t *columns,
                                    efface_data *data, efface_error *error);

/* Whether rows that come have the offsets of the store; ARGUMENT if not. */
efface_status ef_store_check_offsets(const efface_store *store, const efface_data *data,
                                     efface_error *error);

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

/* The whole number that a statement without parameters gives first. */
efface_status ef_sql_number(efface_store *store, const char *sql, int64_t *value,
                            efface_error *error);

/* Whether the columns of the row that a statement is at are of these kinds: i a whole number, n one
 * or nothing, t a text without zero bytes, u one or nothing, b bytes. SQLite lets every column have
 * values of any kind, and reads '7x' as 7. */
bool ef_sql_has(sqlite3_stmt *statement, const char *kinds);

/* Bytes of a column, for as long as the statement is not moved. */
ef_decoder ef_sql_bytes(sqlite3_stmt *statement, int column);
void ef_sql_bind_bytes(sqlite3_stmt *statement, int parameter, const void *bytes, size_t n_bytes);

/* A text of a column, for as long as the statement is not moved; NULL if there is none. Memory may
 * be short for it. */
efface_status ef_sql_text(efface_store *store, sqlite3_stmt *statement, int column,
                          const char **text, efface_error *error);

/* A text, or nothing if it is NULL; and a copy of a text of a column, NULL if there is none. False
 * if memory is short. */
void ef_sql_bind_text(sqlite3_stmt *statement, int parameter, const char *text);
bool ef_sql_copy_text(sqlite3_stmt *statement, int column, char **text);

/* A sum of hashes, as 16 bytes. Reading is false if they are not 16. */
void ef_sql_bind_sum(sqlite3_stmt *statement, int parameter, ef_u128 sum, unsigned char bytes[16]);
bool ef_sql_read_sum(sqlite3_stmt *statement, int column, ef_u128 *sum);

efface_status ef_store_corrupt(efface_error *error, const char *what);

/* ------------------------------------------------------------------ transactions
 * (transactions.c) */

/* A transaction; it begins with the head of the store, whose seal is verified. `end` commits it if
 * `status` is OK, with the head if that has changed, else takes it back, and returns what became of
 * it. In a store in parts (parts.h) all ranks begin and end together, and all find the
 * same status. */
efface_status ef_store_begin(efface_store *store, bool writes, efface_error *error);
efface_status ef_store_end(efface_store *store, efface_status status, efface_error *error);

/* The same for the file of a handle alone, be it a part; `prepare` writes what the commit needs. */
efface_status ef_file_begin(efface_store *store, bool writes, efface_error *error);
efface_status ef_file_prepare(efface_store *store, efface_error *error);
efface_status ef_file_end(efface_store *store, efface_status status, efface_error *error);

/* The same for a file whose head cannot be read yet. */
efface_status ef_store_begin_bare(efface_store *store, bool writes, efface_error *error);

/* Whether the store was opened by this process; and to write. */
efface_status ef_store_check_process(const efface_store *store, efface_error *error);
efface_status ef_store_may_write(const efface_store *store, efface_error *error);

/* Has a fit tell the caller of the store how much is done, and ask whether to go on. `telling` is
 * to outlive the parameters. Does nothing if the caller does not want to know. */
typedef struct ef_telling {
    const efface_store *store;
    bool interrupted;
} ef_telling;

void ef_store_tell(const efface_store *store, efface_params *params, ef_telling *telling);

/* Tells the caller how much of long work is done. */
efface_status ef_store_progress(const efface_store *store, uint64_t done, uint64_t of,
                                efface_error *error);

/* ------------------------------------------------------------------ schema (schema.c) */

extern const char ef_schema[];      /* makes all tables */
extern const char ef_schema_late[]; /* what is faster to make when rows are there */

/* Looks for tables, indexes, views and triggers that are not ours, or not as ours; store->foreign
 * then says which. CORRUPT if the store is open to write and has any. Does nothing if the schema is
 * that of the last time. */
efface_status ef_schema_check(efface_store *store, efface_error *error);

/* ------------------------------------------------------------------ pages (page_slack.c) */

#define EF_STORE_MOST_PAGES "33554431" /* 2^25 - 1: 128 GiB */

/* Has every page cleaned that a database writes from now on; `to` must outlive it. False if that
 * cannot be. */
bool ef_clean_writes(sqlite3 *db, ef_clean_file *to);

/* ------------------------------------------------------------------ memory (wiping_memory.c) */

/* Has SQLite overwrite memory before it releases it; once for a process, before its first use.
 * False, now and later, if somebody used SQLite already. */
bool ef_sql_wipe_memory(void);

/* ------------------------------------------------------------------ seals (seals.c) */

/* A row as it stands in the file: `values` are the bytes of its float32 numbers. */
typedef struct ef_stored_row {
    efface_row row;
    const char *text; /* of its id, or NULL */
    const unsigned char *values;
} ef_stored_row;

/* Rows are groups by owner, and by label. */
typedef enum ef_group_kind { EF_GROUP_OWNER = 0, EF_GROUP_LABEL = 1 } ef_group_kind;
#define EF_GROUP_KINDS 2

typedef struct ef_group {
    ef_group_kind kind;
    uint64_t number;
    uint64_t n_rows;
    ef_u128 members; /* sum of the seals of its members */
    char *text;      /* or NULL */
} ef_group;

/* Hashes under the key of the store: of a row, of a row as a member of a group, of a group, and of
 * bytes with a name. */
ef_u128 ef_seal_row(const ef_head *head, const ef_stored_row *row);
ef_u128 ef_seal_member(const ef_head *head, ef_group_kind kind, uint64_t number, uint64_t id);
ef_u128 ef_seal_group(const ef_head *head, const ef_group *group);
ef_u128 ef_seal_named(const ef_head *head, const char *name, const void *bytes, size_t n_bytes);

/* The bucket of an id, of n buckets; and of a group. */
uint64_t ef_bucket_of(const ef_head *head, uint64_t id);
uint64_t ef_buckets(const ef_head *head);
uint64_t ef_group_bucket_of(const ef_head *head, ef_group_kind kind, uint64_t number);
uint64_t ef_group_buckets(const ef_head *head);

/* Which part of a store in n_parts a row comes to that is learned, or spread: that depends on
 * nothing but its id. */
uint32_t ef_part_of(uint64_t id, uint32_t n_parts);

/* The number of ids whose buckets follow their order, for n_rows rows; and the number of buckets of
 * a kind of groups, for n_groups of them. */
uint64_t ef_dense_for(uint64_t n_rows);
uint64_t ef_group_slots_for(uint64_t n_groups);

/* ------------------------------------------------------------------ buckets (buckets.c) */

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

/* ------------------------------------------------------------------ groups (groups.c) */

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

/* ------------------------------------------------------------------ rows (store_rows.c,
 * row_search.c) */

/* Rows of the store, as a set; in the order of positions the texts of their ids, or NULL. */
typedef struct ef_found {
    efface_data *data;
    char **texts;
    size_t n_texts;
} ef_found;

void ef_found_free(ef_found *found);

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

/* The rows of ids, with their buckets verified. `there` says of each id whether there is such a
 * row; `found`, if not NULL, is handed the rows. No id comes twice. */
efface_status ef_rows_look_up(efface_store *store, const uint64_t *ids, size_t n_ids, bool *there,
                              ef_found *found, efface_error *error);

/* What requests ask for that is not there. */
#define EF_MOST_NAMED 8

typedef struct ef_missing {
    char named[EF_MOST_NAMED * 28]; /* the first of them */
    size_t n_named;
    uint64_t n_missing;
} ef_missing;

/* Notes an id or owner. One that was asked for n times counts n times, and is named once. */
void ef_missing_note(ef_missing *missing, const char *what, uint64_t number, size_t n);

/* NOT_FOUND if there are any and the request does not put up with it. */
efface_status ef_missing_judge(const ef_missing *missing, const efface_request *request,
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

/* ------------------------------------------------------------------ states (state_parts.c) */

/* The most bytes of a part. Pages of a part that do not change are not written, so smaller ones
 * save little; larger ones have more to rewrite where a length changes. */
#define EF_PART_BYTES ((size_t)16384)

/* A part of a state: `place` has the order of parts, without gaps or with. */
typedef struct ef_state_part {
    uint64_t place;
    size_t begin, n_bytes;
} ef_state_part;

/* A state and how it stands in the file. All zeros: nothing is known of it. */
typedef struct ef_state {
    unsigned char *bytes;
    size_t n_bytes;
    ef_state_part *parts;
    size_t n_parts;
} ef_state;

void ef_state_free(ef_state *state);

/* Divides bytes into parts. The state owns the bytes then, if this is OK. `cuts` are those of its
 * writer; {0}: it made none. */
efface_status ef_state_divide(unsigned char *bytes, size_t n_bytes, const ef_cuts *cuts,
                              ef_state *state, efface_error *error);

/* The number that a new model gets; LIMIT if there is none left. */
efface_status ef_state_number(efface_store *store, int64_t *number, efface_error *error);

/* What a model has in its row of the parts of its state. */
#define EF_PARTS_BYTES 24
ef_decoder ef_state_sum(const ef_head *head, int64_t number, const ef_state *state,
                        unsigned char bytes[EF_PARTS_BYTES]);

/* The first part, which stands in the row of the model. */
ef_decoder ef_state_first(const ef_state *state);

/* Reads the state of the model with a number, whose parts must have that sum; or writes it where
 * `before` is, without its first part; or takes it out. */
efface_status ef_state_read(efface_store *store, int64_t number, ef_decoder first,
                            const unsigned char sum[EF_PARTS_BYTES], ef_state *state,
                            efface_error *error);
efface_status ef_state_write(efface_store *store, int64_t number, const ef_state *before,
                             const ef_state *state, efface_error *error);
efface_status ef_state_drop(efface_store *store, int64_t number, efface_error *error);

/* ------------------------------------------------------------------ models (records.c,
 * store_models.c, model_adding.c) */

/* A model as it stands in the file. */
typedef struct ef_record {
    int64_t number; /* its state has it too */
    char name[EFFACE_MODEL_NAME_BYTES];
    const ef_family *family;
    efface_params *params; /* one block, with the seed */
    uint32_t *columns;     /* or NULL: all */
    uint32_t n_columns;
    unsigned char *counts; /* of its rows and columns (counts.h) */
    size_t n_counts;
    ef_state state;
    unsigned char digest[EFFACE_DIGEST_BYTES]; /* of the state */
    ef_u128 seal;                              /* of all but the state, which has its digest */
} ef_record;

void ef_record_free(ef_record *record);
efface_status ef_model_name_check(const char *name, efface_error *error);
void ef_model_name_copy(char to[EFFACE_MODEL_NAME_BYTES], const char *name);

/* The names of all models, in order. Release with ef_free. */
efface_status ef_models_list(efface_store *store, char (**names)[EFFACE_MODEL_NAME_BYTES],
                             uint32_t *n_names, efface_error *error);

/* Reads and verifies a model, without its state unless that is asked for. */
efface_status ef_record_read(efface_store *store, const char *name, bool with_state,
                             ef_record *record, efface_error *error);

/* Writes a model that has changed, or a new one, and changes the head. */
efface_status ef_record_write(efface_store *store, ef_record *record, const efface_model *model,
                              const ef_counts *counted, bool is_new, efface_error *error);

/* Takes a model out, and changes the head. */
efface_status ef_record_drop(efface_store *store, const ef_record *record, efface_error *error);

/* A record of a model that is to be made. */
efface_status ef_record_new(const efface_store *store, const efface_new_model *asked,
                            ef_record *record, efface_error *error);

/* Whether the state was made when the method was defined in another way: it cannot be read then. */
bool ef_record_is_outdated(const ef_record *record);

/* The model without rows and what is counted of them; the same model, given its rows; or with all
 * its rows at once. The last fits a model again whose state is outdated. */
efface_status ef_record_cold(const ef_record *record, efface_model **model, ef_counts *counts,
                             efface_error *error);
efface_status ef_record_attach(efface_model *model, const efface_data *data, efface_error *error);
efface_status ef_record_hot(const ef_record *record, const efface_data *data, efface_model **model,
                            efface_error *error);

/* What a seal covers of a model, in this order. */
typedef enum ef_field {
    EF_FIELD_PARAMS,
    EF_FIELD_COLUMNS,
    EF_FIELD_COUNTS,
    EF_FIELD_DIGEST, /* of the state */
    EF_FIELD_FAMILY,
    EF_FIELD_PARTS, /* of the state: how many, and a seal of their numbers and lengths */
    EF_FIELDS
} ef_field;

#define EF_SEALED_COLUMNS "params, columns, counts, digest, family, parts"

/* Whether the models that were read, seals added up, are those that the head has. */
efface_status ef_models_verify(const efface_store *store, uint64_t n_models, ef_u128 sum,
                               efface_error *error);

/* ------------------------------------------------------------------ receipts (receipts.c,
 * receipt_roots.c, receipt_chains.c) */

#define EF_SIGNED_FIELDS ",\"public_key\":\""

/* The hash of an id under a receipt key; hashes in order. */
void ef_row_hash(const unsigned char key[EFFACE_RECEIPT_KEY_BYTES], uint64_t id,
                 unsigned char hash[EFFACE_ROW_HASH_BYTES]);
void ef_row_hashes_sort(unsigned char *hashes, size_t n_hashes);

/* Whether a text is somewhere in bytes. */
bool ef_bytes_have(ef_decoder bytes, const char *wanted);

/* Whether a receipt names a digest as that of the one before. */
bool ef_receipt_follows(ef_decoder body, const unsigned char digest[EFFACE_DIGEST_BYTES]);

/* Appends the receipt of a request: `kind` is "forget", "learn", "update" or "publish", `ids` are
 * those of the rows concerned. Hands their hashes to the report. After the last receipt of a
 * transaction their number is signed, if receipts are. */
efface_status ef_receipt_append(efface_store *store, const char *kind, const uint64_t *ids,
                                size_t n_ids, efface_store_report *report, efface_error *error);

efface_status ef_receipts_sign(efface_store *store, efface_error *error);

/* Whether receipts have no gaps, each names the one before, and the last is the one that the head
 * has; CORRUPT if not. And the signature of how many there are. */
efface_status ef_receipts_check(efface_store *store, efface_error *error);

/* ------------------------------------------------------------------ published files
 * (published_file.c) */

/* A file that is to appear with the commit of a request. */
typedef struct ef_published_file {
    char *folder; /* without symbolic links */
    char *path;   /* where it will be */
    char *beside; /* where it is until then */
    bool is_there;
    bool replaces;
} ef_published_file;

/* Whether a file may be written there; nothing is done yet. */
efface_status ef_published_begin(ef_published_file *file, const efface_store *store,
                                 const char *path, bool replaces, efface_error *error);

/* Writes it beside its place, onto the disk. */
efface_status ef_published_write(ef_published_file *file, const void *bytes, size_t n_bytes,
                                 efface_error *error);

/* Gives it its name. If that fails it stays where it is, and the message says where. */
efface_status ef_published_place(ef_published_file *file, uint64_t receipt, efface_error *error);

/* Takes away what has no name yet, and releases memory. */
void ef_published_end(ef_published_file *file);

#endif
