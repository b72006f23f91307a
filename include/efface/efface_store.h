/* The store: rows, models and receipts in one file. Part of efface.h. */
#ifndef EFFACE_STORE_H
#define EFFACE_STORE_H

#include "efface/efface_files.h"
#include "efface/efface_group.h"
#include "efface/efface_kmeans.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ the store */

/* A store is one file (an SQLite database) with rows, any number of models over them, and a receipt
 * of every request. A request is one transaction over the rows and every model: when the call
 * returns, the request is on the disk, and if it fails, nothing has changed. After a row was
 * forgotten, its bytes are in no file of the store. Opening a store and forgetting a row reads that
 * row and its neighbours, the states of the models, and more only if a model has to be repaired.
 * The file grows to 128 GiB at most.
 *
 * Digests cover everything that a decision depends on (docs/definition/store.md). A request
 * verifies what it touches before it changes or acknowledges anything, "there is no such row"
 * included. If a digest does not hold, the error is EFFACE_E_CORRUPT, and nothing is changed. The
 * digests find damage; whoever can write the file and knows efface can make them anew.
 *
 * Several processes may have a store open. One writes at a time; another that wants to write waits,
 * and then gets EFFACE_E_BUSY. A handle belongs to the process that opened it: a forked child has
 * to open the store again. */
typedef struct efface_store efface_store;

typedef enum efface_access { EFFACE_ACCESS_READ = 0, EFFACE_ACCESS_WRITE = 1 } efface_access;

#define EFFACE_SECRET_KEY_BYTES 64
#define EFFACE_PUBLIC_KEY_BYTES 32
#define EFFACE_RECEIPT_KEY_BYTES 32
#define EFFACE_ROW_HASH_BYTES 16
#define EFFACE_SALT_BYTES 32
#define EFFACE_MODEL_NAME_BYTES 64 /* with the ending 0 */

/* What opens the commitment to the state of a model that a receipt has as `after` (and the next one
 * as `before`): whoever has it can test guesses of rows that were in that state. The salt is not in
 * the store any more as soon as the model changes. */
typedef struct efface_opening {
    uint64_t receipt;
    char model[EFFACE_MODEL_NAME_BYTES];
    unsigned char digest[EFFACE_DIGEST_BYTES];
    unsigned char salt[EFFACE_SALT_BYTES];
} efface_opening;

/* How to make or open a store. Fill with efface_store_options_init, then change what differs. */
typedef struct efface_store_options {
    uint32_t version;     /* set by efface_store_options_init */
    efface_access access; /* open: default READ */
    double wait_seconds;  /* for other processes, before EFFACE_E_BUSY; default 5 */
    unsigned char hash_key[EFFACE_HASH_KEY_BYTES]; /* create: the key that texts were hashed with
                                                      when the set was loaded; default 0 */
    int keep_texts; /* create: if not 0, the texts of ids and owners are kept, and can be shown;
                       default 0: only their numbers are. Texts of labels are always kept */
    const unsigned char *receipt_key; /* of EFFACE_RECEIPT_KEY_BYTES: hashes the ids in receipts.
                                         The caller keeps it, and gives it whenever the store is
                                         made or opened to write. NULL, the default: it is kept in
                                         the store, where whoever has the file can use it to test
                                         guesses of ids */
    const unsigned char *secret_key;  /* of EFFACE_SECRET_KEY_BYTES: signs receipts and their
                                         number; default NULL: nothing is signed */

    /* Called now and then during long work on the rows of a store (load, check, fit, learn,
     * verify), on the thread that made the call, with the part that is done, from 0 to 1, or -1 if
     * that is not known. If it returns non-zero, the call ends with EFFACE_E_INTERRUPTED and has
     * changed nothing. It must not use the store. Default NULL. */
    int (*progress)(void *context, double part);
    void *progress_context;

    int resident; /* open to write: if not 0, rows and models stay in memory between requests, so
                     that a request does not have to read them. They are made when a request first
                     needs them, and anew after another process has changed the store or a request
                     has failed. What requests do, their receipts and the file are the same. Rows
                     that another process forgets stay in memory until the handle is used again or
                     closed. Default 0: memory holds nothing between requests */

    /* Called for each model that a receipt of this handle names, as soon as the request is on the
     * disk, with what opens its commitment. It must not use the store. Default NULL: nothing does.
     * What is not taken then cannot be had later. */
    void (*opened)(void *context, const efface_opening *opening);
    void *opened_context;

    const efface_group *group; /* the store is in parts, one for each rank of the group, and its
                                  path is that of a folder (see efface_parts.h). The group
                                  is copied, and its context must outlive the store. Default NULL:
                                  the store is one file */
} efface_store_options;

/* Fills the options with their defaults. */
EFFACE_API void efface_store_options_init(efface_store_options *options);

/* A model to be fitted: to some columns of the rows (NULL: all). A name is 1 to 63 letters, digits,
 * '-', '_' or '.'. */
typedef struct efface_new_model {
    const char *name;
    const efface_params *params; /* `common` of the parameters of a family */
    const uint32_t *columns;
    uint32_t n_columns;
    efface_tails *tails;      /* NULL, or filled as soon as the model is fitted, even if the call
                                 fails afterwards */
    efface_model **fitted;    /* NULL, or gets the model of efface_store_create in the same way; the
                                  caller releases it */
    efface_scale tails_scale; /* in which tails are looked for (efface_data_tails) */
} efface_new_model;

/* Makes a store with the rows of a set, and models over them (n_models may be 0). `texts` has the
 * texts that the set's ids, owners and labels stand for; it may be NULL, and may lack texts. The
 * store appears under its name when it is complete, or not at all. Until then there is a file of
 * that name with ".efface-new" behind it; if the process dies, the next attempt replaces that file.
 * An existing file is never overwritten. The store gets the set's offsets. `options` may be NULL.
 * Errors: IO; ARGUMENT if the file exists; BUSY if another process is making it; MEMORY; as
 * efface_kmeans_fit. */
EFFACE_API efface_status efface_store_create(const char *path, const efface_data *data,
                                             const efface_texts *texts,
                                             const efface_store_options *options,
                                             const efface_new_model *models, size_t n_models,
                                             efface_store **out, efface_error *error);

/* Whether efface_store_create would find its name taken: by a file of any kind or, with a group, by
 * a store in parts in that folder (see efface_parts.h). Opens nothing. */
EFFACE_API int efface_store_exists(const char *path, const efface_group *group);

/* Opens a store; `options` NULL: to read. Errors: IO; FORMAT for a file that is not a store, or of
 * an older or newer format; CORRUPT, also for tables, triggers or views that are not ours; BUSY;
 * MEMORY; ARGUMENT for a receipt key that is missing or belongs to another store. */
EFFACE_API efface_status efface_store_open(const char *path, const efface_store_options *options,
                                           efface_store **out, efface_error *error);

/* Closes a store. Takes NULL. */
EFFACE_API void efface_store_close(efface_store *store);

/* Whether SQLite overwrites memory before it frees it. It does not if another part of the process
 * used SQLite before the first call of this function or the first opening of a store. */
EFFACE_API int efface_store_wipes_memory(void);

#define EFFACE_PARTS_ID_BYTES 16

typedef struct efface_store_info {
    uint32_t format; /* of the file: 5, or 6 for a part of a store */
    uint64_t n_rows;
    uint32_t n_columns;
    uint32_t n_models;
    uint64_t n_owners;       /* different ones */
    uint64_t n_unowned_rows; /* rows without an owner */
    uint64_t n_labels;       /* different ones */
    uint64_t n_receipts;
    int keeps_texts;
    efface_ids ids; /* whether ids are numbers or texts; DETECT: not known */
    efface_ids owners;
    efface_ids labels; /* the same for labels that rows have now; of one, if a program mixed them */
    int receipt_key_outside;
    uint64_t file_bytes;
    uint64_t free_bytes;  /* of these, bytes of free pages, which later rows use; see compact */
    uint32_t n_parts;     /* that the store has, if it is in parts; 0: it is one file */
    uint32_t part;        /* which of them this file is, from 0 */
    uint64_t n_part_rows; /* and how many rows it has */
    unsigned char parts_id[EFFACE_PARTS_ID_BYTES]; /* the same in all parts of a store */
} efface_store_info;

/* How much is in a store. Errors: CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_get_info(efface_store *store, efface_store_info *info,
                                               efface_error *error);

/* A number that changes whenever a request of any process is committed; while one is being
 * committed, it may have either value. So what was read from the store is up to date as long as the
 * number is what it was before the reading and after it: a commit that fails, or whose process
 * dies, may have shown its number already, and the next one has it again. It has 32 bits and begins
 * again after the last. Takes no lock and some microseconds; on a handle that is open to write
 * more, for such a handle opens the file again after each request. Errors: CORRUPT if another file
 * has the name of the store now, or none: open it again; IO; ARGUMENT. */
EFFACE_API efface_status efface_store_count_changes(efface_store *store, uint64_t *count,
                                                    efface_error *error);

/* The name of a column, or NULL if it has none, valid until the store is closed; and its offset. */
EFFACE_API const char *efface_store_column(const efface_store *store, uint32_t column);
EFFACE_API double efface_store_offset(const efface_store *store, uint32_t column);

/* The number of an id or owner that is a text; and options to load rows for this store, with its
 * hash key, its offsets, the columns in which its models have categories, missing values if
 * there is a column in which all models take them, and the columns that must be complete (all of
 * them valid until it is closed, or gets or loses a model), and ids and owners read as numbers
 * or as texts, as in the store. Models are those that the store had when it was opened, or when
 * this handle added or dropped one; in parts, rank 0 knows of them. Set `labels` by
 * efface_store_get_info if the rows have labels: otherwise a file that has only the class 7
 * would not mean the store's class "7". */
EFFACE_API uint64_t efface_store_text_id(const efface_store *store, const char *text,
                                         size_t n_bytes);
EFFACE_API void efface_store_load_options(const efface_store *store, efface_load_options *options);

/* Hands out the text of an id, an owner or a label, if rows have it and the store keeps the text;
 * otherwise NULL. Release with efface_text_free. Errors: CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_text(efface_store *store, efface_text_kind kind,
                                           uint64_t number, char **text, efface_error *error);
EFFACE_API void efface_text_free(char *text);

/* Hands out what to say of an id or owner that is not there: what names look like in this store
 * (numbers, texts, UUIDs) and, if the store keeps texts and `text` is not NULL, one that differs
 * from it in capitals, accents or spaces only. At most 100,000 texts are looked at; of a store in
 * parts, those of the own part. Release with efface_text_free. Errors: CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_hint(efface_store *store, efface_text_kind kind,
                                           const char *text, char **hint, efface_error *error);

/* Calls `each` for every owner, in no particular order, with the number of its rows and its text,
 * or NULL. It must not use the store. Cost O(owners). Errors: CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_owners(efface_store *store,
                                             void (*each)(void *context, uint64_t owner,
                                                          const char *text, uint64_t n_rows),
                                             void *context, efface_error *error);

typedef struct efface_stored_model {
    char name[EFFACE_MODEL_NAME_BYTES];
    efface_family family;
    uint32_t n_columns;
    unsigned char digest[EFFACE_DIGEST_BYTES]; /* of the state as it is now: whoever is shown it can
                                                  test guesses of rows once they have left */
    unsigned char commitment[EFFACE_DIGEST_BYTES]; /* to the same, as receipts have it */
} efface_stored_model;

/* Descriptions of all models, in the order of names, and of one model, without reading their
 * states. Release the list with efface_model_list_free. Errors: NOT_FOUND; CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_models(efface_store *store, efface_stored_model **models,
                                             size_t *n_models, efface_error *error);
EFFACE_API void efface_model_list_free(efface_stored_model *models);
EFFACE_API efface_status efface_store_find_model(efface_store *store, const char *name,
                                                 efface_stored_model *info, efface_error *error);

/* Calls `each` for every parameter of a model but the seed, without reading its state. `each` must
 * not use the store. Errors: NOT_FOUND; CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_describe(efface_store *store, const char *name,
                                               void (*each)(void *context, const efface_fact *fact),
                                               void *context, efface_error *error);

/* Hands out the n_columns columns of a model (see efface_stored_model), counted from 0.
 * Release with efface_columns_free. Errors: NOT_FOUND; CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_model_columns(efface_store *store, const char *name,
                                                    uint32_t **columns, efface_error *error);
EFFACE_API void efface_columns_free(uint32_t *columns);

/* Fits a model and adds it. Other processes may read and write the store meanwhile; the model
 * follows their changes before it is added. `model`, if not NULL, gets the fitted model, which
 * belongs to the caller; what the caller does with it does not affect the store.
 * Errors: as efface_kmeans_fit; DUPLICATE for a name that is taken; LIMIT for a state that is
 * larger than a store can hold; BUSY; IO. */
EFFACE_API efface_status efface_store_fit(efface_store *store, const efface_new_model *asked,
                                          efface_model **model, efface_error *error);

/* Takes a model out. Errors: NOT_FOUND; BUSY; IO. */
EFFACE_API efface_status efface_store_drop(efface_store *store, const char *name,
                                           efface_error *error);

/* Gives a model another seed (efface_model_rekey). With `name` NULL all models get another seed,
 * each its own, made from `seed`. Errors: NOT_FOUND; BUSY; IO. */
EFFACE_API efface_status efface_store_rekey(efface_store *store, const char *name, uint64_t seed,
                                            efface_error *error);

/* Loads all rows, with the columns of a model and their names, and the model; or, with `name` and
 * `model` NULL, only the rows. Both are copies that belong to the caller; changes of them do not
 * affect the store. Errors: NOT_FOUND; CORRUPT; MEMORY. */
EFFACE_API efface_status efface_store_load(efface_store *store, const char *name,
                                           efface_data **data, efface_model **model,
                                           efface_error *error);

/* Hands out a model without its rows, read from its state alone: cost O(size of the state). It
 * predicts, has scores and tables, describes itself, and has bytes and a digest. Calls that need
 * its rows, or change it, are refused with EFFACE_E_ARGUMENT: use efface_store_load for these. It
 * belongs to the caller (efface_model_free) and does not follow the store. A model that was fitted
 * by an older version, which defined its method in another way, is fitted to the rows first.
 * Errors: NOT_FOUND; CORRUPT; BUSY; IO; MEMORY. */
EFFACE_API efface_status efface_store_model(efface_store *store, const char *name,
                                            efface_model **out, efface_error *error);

/* Hands out the canonical bytes of a model. Release with efface_bytes_free. */
EFFACE_API efface_status efface_store_encode(efface_store *store, const char *name,
                                             unsigned char **bytes, size_t *n_bytes,
                                             efface_error *error);

/* Fits a model anew and compares (efface_model_verify). A model that was fitted by an older
 * version, which defined its method in another way, is reported as different, without a fit, until
 * the first request that writes. */
EFFACE_API efface_status efface_store_verify(efface_store *store, const char *name,
                                             efface_difference *difference, efface_error *error);

/* Hands out the rows of a request as a set, with the names of columns: all that a store has of a
 * person. Errors: NOT_FOUND; CORRUPT; BUSY; IO; MEMORY. */
EFFACE_API efface_status efface_store_find(efface_store *store, const efface_request *request,
                                           efface_data **rows, efface_error *error);

/* What a request did to a model. */
typedef struct efface_model_report {
    char name[EFFACE_MODEL_NAME_BYTES];
    efface_family family;
    efface_report report;
    /* Commitments to its states (docs/definition/store.md). */
    unsigned char before[EFFACE_DIGEST_BYTES];
    unsigned char after[EFFACE_DIGEST_BYTES];
} efface_model_report;

typedef struct efface_store_report {
    uint64_t n_requested; /* ids and owners; or rows */
    uint64_t n_missing;   /* how many of these were not there */
    uint64_t n_forgotten; /* rows */
    uint64_t n_learned;
    uint64_t n_updated;
    uint64_t receipt; /* its number; 0 if there is none */
    uint64_t group;   /* if it was done together with others (efface_store_change_all), the number
                         of the first receipt of the group; else 0 */
    double seconds;
    uint32_t n_models;
    efface_model_report *models;
    uint64_t *new_ids;         /* learn: the ids that rows without ids got, in the order of
                                  positions, n_learned of them; or NULL */
    unsigned char *row_hashes; /* the hashes of the rows' ids that the receipt's root is made of, in
                                  order, EFFACE_ROW_HASH_BYTES each; NULL if there is no receipt */
    uint64_t n_row_hashes;
    uint64_t n_published_bytes; /* publish: how long the file is, and its digest (BLAKE2b-256), as
                                   the receipt has them; else 0 */
    unsigned char published[EFFACE_DIGEST_BYTES];
} efface_store_report;

/* Releases what a report holds, and clears it. */
EFFACE_API void efface_store_report_free(efface_store_report *report);

/* Forgets rows, in the store and in all models. `report` may be NULL. Errors: NOT_FOUND; BUSY; IO
 * (a full disk, say); CORRUPT; MEMORY; ARGUMENT. */
EFFACE_API efface_status efface_store_forget(efface_store *store, const efface_request *request,
                                             efface_store_report *report, efface_error *error);

/* Says how much work that would be for each model (efface_model_preview), and changes nothing. The
 * store need not be open to write. */
EFFACE_API efface_status efface_store_preview(efface_store *store, const efface_request *request,
                                              efface_store_report *report, efface_error *error);

/* Learns the rows of a set, in the store and in all models. Rows that were added to the set without
 * ids get random ids of 63 bits, which the report lists. Continued numbers would give an id that
 * was forgotten to somebody else, and a request that comes twice would hit the wrong person.
 * `texts` as in efface_store_create. Errors: as efface_model_learn; DUPLICATE for an id that is
 * there; ARGUMENT for ids or owners that are texts where those of the store are numbers, or the
 * other way round, and for other offsets than those of the store; BUSY; IO; CORRUPT. */
EFFACE_API efface_status efface_store_learn(efface_store *store, const efface_data *data,
                                            const efface_texts *texts, efface_store_report *report,
                                            efface_error *error);

/* Gives rows of the store the values, weights, owners and labels of the rows of a set with the same
 * ids, in the store and in all models. A row keeps its owner or label if the set has none for it,
 * and its weight if the rows of the set came without weights. Errors: NOT_FOUND; as
 * efface_store_learn. */
EFFACE_API efface_status efface_store_update(efface_store *store, const efface_data *data,
                                             const efface_texts *texts, efface_store_report *report,
                                             efface_error *error);

/* ------------------------------------------------------------------ the store: requests together
 */

typedef enum efface_change_kind {
    EFFACE_CHANGE_FORGET = 0,
    EFFACE_CHANGE_LEARN = 1,
    EFFACE_CHANGE_UPDATE = 2
} efface_change_kind;

/* One of several requests that are done together. */
typedef struct efface_store_change {
    efface_change_kind kind;
    const efface_request *request; /* forget: whom */
    const efface_data *data;       /* learn, update: the rows, */
    const efface_texts *texts;     /* and their texts, or NULL */
    efface_status status;          /* filled: what became of it, */
    efface_error error;            /* if it is not OK: why, */
    efface_store_report report;    /* if it is OK: release with efface_store_report_free */
} efface_store_change;

/* Does requests in their order, in one transaction that waits for the disk once: for many small
 * requests that is far faster than one call for each. The rows and models are afterwards as if each
 * request had been a call of efface_store_forget, efface_store_learn or efface_store_update. A
 * request that fails has its status and error, changes nothing, and does not hinder the others: a
 * row that an earlier request forgets is not there for a later one, say. The call returns OK then
 * too, even if all requests failed.
 *
 * Each request that is OK has a receipt of its own, with its own counts and rows. If there are at
 * least two, they are a group: they have the number of the group's first receipt (`group`), and all
 * of them have the commitments to the models before and after the whole group, for there is no
 * state in between. Consecutive requests to forget change the models once; what a report says of a
 * model (action, reason, where, seconds) is what that common step did. A request that concerns no
 * row names no model.
 *
 * If the call returns anything but OK, nothing was done, and all requests have that status and
 * error: BUSY; IO; MEMORY; INTERRUPTED; CORRUPT for the head of the store; ARGUMENT for a store
 * that is open to read. (IO for a request that was done, as in invariant 1 of
 * docs/definition/store.md, is one that says so.) Otherwise a request has the errors of the three
 * calls. */
EFFACE_API efface_status efface_store_change_all(efface_store *store, efface_store_change *changes,
                                                 size_t n_changes, efface_error *error);

/* ------------------------------------------------------------------ the store: publishing */

/* What to publish, and where. */
typedef struct efface_publishing {
    const char *name; /* of the model */
    const char *path; /* of the file */
    int replace;      /* if not 0, a file of that name is replaced, or what a symbolic link of that
                         name stands for; but never a store, and only a regular file */
} efface_publishing;

/* Publishes a model: gives it a new random seed that nobody knows, fits it, writes what is needed
 * for prediction to a file (efface_predictor_load), and adds a receipt with commitments to the
 * model and the digest of the file, all or nothing. So no two published models share their
 * randomness, and requests that react to earlier ones are independent of the randomness of the next
 * (docs/why/exactness.md). That holds for what this call gives out, and not for centroids or labels
 * that got out otherwise.
 *
 * The file is written beside its place, as PATH.efface-new-XXXXXXXXXXXX, and synced; then the
 * request is committed; then the file gets its name. If the process dies between the last two, the
 * store has changed, and the file is there under the other name: the receipt has its digest. If it
 * dies before, such a file may be left too, without a receipt. `report` may be NULL. Cost: that of
 * a fit. Errors: NOT_FOUND; BUSY; IO; CORRUPT; MEMORY; ARGUMENT for a file that exists, a store, or
 * a model that cannot predict; INTERRUPTED; as efface_kmeans_fit. The error is also IO if the file
 * could not be given its name in the end: the message then says that the request was done, and
 * where the file is. */
EFFACE_API efface_status efface_store_publish(efface_store *store, const efface_publishing *asked,
                                              efface_store_report *report, efface_error *error);

/* ------------------------------------------------------------------ the store: upkeep */

/* Looks for damage: of the file, of its schema, of everything that digests cover, and of every
 * model's state. Calls `found` with a sentence for each thing that is wrong. Cost: reads the file,
 * and the rows once. Damage is not an error of this call; errors say what kept it from looking. */
EFFACE_API efface_status efface_store_check(efface_store *store,
                                            void (*found)(void *context, const char *problem),
                                            void *context, efface_error *error);

/* Calls `note` with a sentence for each thing that is no damage, but worth knowing: files of
 * publications that may never have been handed out. Errors: CORRUPT; BUSY; IO; MEMORY. */
EFFACE_API efface_status efface_store_notes(efface_store *store,
                                            void (*note)(void *context, const char *text),
                                            void *context, efface_error *error);

/* Makes the file as small as it can be. Takes memory of the size of the file. Errors: BUSY; IO;
 * CORRUPT; MEMORY. */
EFFACE_API efface_status efface_store_compact(efface_store *store, efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
