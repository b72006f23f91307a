/*
 * The store: rows, models and receipts in one file. Part of efface.h.
 *
 * EXAMPLE
 *
 *     efface_data *people = NULL;
 *     efface_texts *texts = NULL;
 *     efface_store *store = NULL;
 *     efface_load_options options;
 *     efface_kmeans_params params;
 *     efface_error error;
 *     efface_load_options_init(&options);
 *     options.id_column = "id";
 *     options.owner_column = "owner";
 *     options.label_column = "kind";
 *     efface_kmeans_params_init(&params);
 *     params.n_clusters = 3;
 *     const efface_new_model segments = {.name = "segments", .params = &params.common};
 *     if (efface_texts_create(&texts, &error) != EFFACE_OK) {
 *         fprintf(stderr, "%s\n", error.message);
 *         return 1;
 *     }
 *     options.texts = texts;
 *     efface_store_report report;
 *     efface_status status = efface_data_load("examples/people.csv", &options, &people, &error);
 *     if (status == EFFACE_OK)
 *         status = efface_store_create("people.store", people, texts, NULL, &segments, 1, &store,
 *                                      &error);
 *     if (status == EFFACE_OK) {
 *         const uint64_t person = efface_store_text_id(store, "p8", 2);
 *         const efface_request request = {.owners = &person, .n_owners = 1};
 *         status = efface_store_forget(store, &request, &report, &error);
 *     }
 *     if (status == EFFACE_OK) {
 *         printf("%llu rows are forgotten\n", (unsigned long long)report.n_forgotten);
 *         efface_store_report_free(&report);
 *     } else
 *         fprintf(stderr, "%s\n", error.message);
 *     efface_store_close(store);
 *     efface_data_free(people);
 *     efface_texts_free(texts);
 *     if (status != EFFACE_OK)
 *         return 1;
 */
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
 * for every request. A request is one transaction over the rows and every model: when the call
 * returns, the request is on the disk; if it fails, nothing has changed. Once a row is forgotten,
 * its bytes are in no file of the store. To forget a row, the store reads that row and its
 * neighbours and the states of the models, and more only if a model has to be repaired. The file
 * grows to 128 GiB at most. docs/definition/store.md says what a store promises.
 *
 * Digests cover everything that a decision depends on. A request verifies what it reads before it
 * changes or acknowledges anything, "there is no such row" included. If a digest does not hold, the
 * error is EFFACE_E_CORRUPT, and nothing is changed. The digests find damage; they do not stop
 * someone who can write the file and knows efface.
 *
 * Several processes may have a store open. One writes at a time; another that wants to write waits,
 * and then gets EFFACE_E_BUSY. A handle belongs to the process that opened it: a forked child has
 * to open the store again. One thread at a time may use a handle, also to read; several threads
 * have a handle each. */
typedef struct efface_store efface_store;

typedef enum efface_access { EFFACE_ACCESS_READ = 0, EFFACE_ACCESS_WRITE = 1 } efface_access;

#define EFFACE_SECRET_KEY_BYTES 64
#define EFFACE_PUBLIC_KEY_BYTES 32
#define EFFACE_RECEIPT_KEY_BYTES 32
#define EFFACE_ROW_HASH_BYTES 16
#define EFFACE_SALT_BYTES 32
#define EFFACE_MODEL_NAME_BYTES 64 /* with the ending 0 */

/* What opens a commitment: that to the state of a model which a receipt has as `after`, and the
 * next one as `before`. Anyone who has it can test guesses of rows that were in that state. The
 * store loses the salt as soon as the model changes. */
typedef struct efface_opening {
    uint64_t receipt;
    char model[EFFACE_MODEL_NAME_BYTES];
    unsigned char digest[EFFACE_DIGEST_BYTES];
    unsigned char salt[EFFACE_SALT_BYTES];
} efface_opening;

/* What long work on a store is doing. Each phase has its own part, from 0 to 1. */
typedef enum efface_phase {
    EFFACE_PHASE_READING = 1,  /* rows are read and verified */
    EFFACE_PHASE_WRITING = 2,  /* rows are written */
    EFFACE_PHASE_FITTING = 3,  /* a model is fitted, or fitted again to compare it */
    EFFACE_PHASE_CHANGING = 4, /* models follow a change that needs all rows */
    EFFACE_PHASE_CHECKING = 5  /* models are compared with the rows */
} efface_phase;

/* Returns what a phase is called, such as "reading rows", or "" if there is no such phase. */
EFFACE_API const char *efface_phase_name(efface_phase phase);

/* How to make or open a store. Fill it with efface_store_options_init, then change what differs. */
typedef struct efface_store_options {
    uint32_t version;     /* set by efface_store_options_init */
    efface_access access; /* open: default READ */
    double wait_seconds;  /* how long to wait for other processes before EFFACE_E_BUSY; default 5 */
    unsigned char hash_key[EFFACE_HASH_KEY_BYTES]; /* create: the key that texts were hashed with
                                                      when the set was loaded; default 0 */
    int keep_texts; /* create: if not 0, the store keeps the texts of ids and owners, and can show
                       them; default 0: only their numbers. Texts of labels are always kept */
    const unsigned char *receipt_key; /* EFFACE_RECEIPT_KEY_BYTES; it hashes the ids in receipts.
                                         The caller keeps it, and gives it whenever the store is
                                         made or opened for writing. NULL, the default: the store
                                         keeps one, and anyone who has the file can use it to test
                                         guesses of ids */
    const unsigned char *secret_key;  /* EFFACE_SECRET_KEY_BYTES; it signs receipts and their
                                         number. NULL, the default: nothing is signed */

    /* Reports progress of long work on the rows of a store (load, check, fit, forget, learn,
     * verify), on the thread that made the call: the phase, and the part of it that is done, from 0
     * to 1, or -1 if that is not known. Phases may follow each other several times, once for each
     * model. If it returns non-zero, the call ends with EFFACE_E_INTERRUPTED and has changed
     * nothing. It must not use the store. Default NULL. */
    int (*progress)(void *context, efface_phase phase, double part);
    void *progress_context;

    int resident; /* for writing: if not 0, rows and models stay in memory between requests, so that
                     a request does not have to read them. They are read when a request first needs
                     them, and again after another process has changed the store or a request has
                     failed. What requests do, their receipts and the file are the same. Rows that
                     another process forgets stay in memory until the handle is used again or
                     closed. Default 0: memory holds nothing between requests */

    /* Hands over openings: called for each model that a receipt of this handle names, as soon as
     * the request is on the disk. An opening that is not taken then cannot be had later. It must
     * not use the store. Default NULL. */
    void (*opened)(void *context, const efface_opening *opening);
    void *opened_context;

    const efface_group *group; /* the store is in parts, one for each rank of the group, and its
                                  path is a folder (efface_parts.h). The group is copied, and its
                                  context must outlive the store. NULL, the default: the store is
                                  one file */
} efface_store_options;

/* Fills the options with their defaults. */
EFFACE_API void efface_store_options_init(efface_store_options *options);

/* A model to be fitted and added to a store. */
typedef struct efface_new_model {
    const char *name;            /* 1 to 63 letters, digits, '-', '_' or '.' */
    const efface_params *params; /* `common` of the parameters of a family */
    const uint32_t *columns;     /* of the rows, counted from 0; NULL: all */
    uint32_t n_columns;
    efface_tails *tails;      /* NULL, or filled as soon as the model is fitted, even if the call
                                 fails afterwards */
    efface_model **fitted;    /* for efface_store_create: NULL, or gets the fitted model in the same
                                 way; the caller releases it */
    efface_scale tails_scale; /* the scale in which to look for tails (efface_data_tails) */
} efface_new_model;

/* Makes a store with the rows of a set, their offsets, and models over them (n_models may be 0).
 * `texts` has the texts that the set's ids, owners and labels stand for; it may be NULL, and may
 * lack texts. `options` may be NULL. Close the store with efface_store_close.
 *
 * The store appears under its name when it is complete, or not at all. Until then there is a file
 * of that name with ".efface-new" appended; if the process dies, the next attempt replaces it. An
 * existing file is never overwritten.
 *
 * Errors: EFFACE_E_ARGUMENT if the file exists; EFFACE_E_BUSY if another process is making it;
 * EFFACE_E_IO; EFFACE_E_INTERRUPTED; EFFACE_E_MEMORY; as the fit of each model. */
EFFACE_API efface_status efface_store_create(const char *path, const efface_data *data,
                                             const efface_texts *texts,
                                             const efface_store_options *options,
                                             const efface_new_model *models, size_t n_models,
                                             efface_store **out, efface_error *error);

/* Returns whether efface_store_create would find its name taken: by a file of any kind or, with a
 * group, by a store in parts in that folder (efface_parts.h). Opens nothing. */
EFFACE_API int efface_store_exists(const char *path, const efface_group *group);

/* Opens a store; with `options` NULL, for reading. Close it with efface_store_close. Errors:
 * EFFACE_E_FORMAT for a file that is not a store, or has an older or newer format; EFFACE_E_CORRUPT
 * for damage, and for tables, triggers or views that are not efface's; EFFACE_E_ARGUMENT for a
 * receipt key that is missing or belongs to another store; EFFACE_E_BUSY; EFFACE_E_IO;
 * EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_open(const char *path, const efface_store_options *options,
                                           efface_store **out, efface_error *error);

/* Closes a store. Takes NULL. */
EFFACE_API void efface_store_close(efface_store *store);

/* Returns whether SQLite overwrites memory before it frees it. It does not if another part of the
 * process used SQLite before this function was first called and the first store was opened. */
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
    efface_ids labels; /* the kind of the labels in use; if a program mixed kinds, the kind of any
                          one of them */
    int receipt_key_outside;
    uint64_t file_bytes;
    uint64_t free_bytes;  /* of these, bytes of free pages, which later rows use
                             (efface_store_compact) */
    uint32_t n_parts;     /* of a store in parts; 0: the store is one file */
    uint32_t part;        /* which of them this file is, from 0 */
    uint64_t n_part_rows; /* and how many rows it has */
    unsigned char parts_id[EFFACE_PARTS_ID_BYTES]; /* the same in all parts of a store */
} efface_store_info;

/* Reports how much is in a store. Errors: EFFACE_E_CORRUPT; EFFACE_E_BUSY; EFFACE_E_IO. */
EFFACE_API efface_status efface_store_get_info(efface_store *store, efface_store_info *info,
                                               efface_error *error);

/* Reads a counter that changes with every commit, by any process. Read it before and after reading
 * the store: if both values are equal, what you read is current. While a request is being committed
 * the counter may have either value, and a failed commit may reuse one. It is 32 bits and wraps.
 * The call takes no lock and a few microseconds (longer on a handle for writing, which reopens the
 * file after each request). Errors: EFFACE_E_CORRUPT if the file was replaced or removed: open the
 * store again; EFFACE_E_IO; EFFACE_E_ARGUMENT. */
EFFACE_API efface_status efface_store_count_changes(efface_store *store, uint64_t *count,
                                                    efface_error *error);

/* Return the name of a column, or NULL if it has none, valid until the store is closed; its
 * offset; and its type. */
EFFACE_API const char *efface_store_column(const efface_store *store, uint32_t column);
EFFACE_API double efface_store_offset(const efface_store *store, uint32_t column);
EFFACE_API efface_column_type efface_store_type(const efface_store *store, uint32_t column);

/* Returns the number of an id or owner that is a text, under the key of the store. And fills
 * options for loading rows for this store: its hash key, offsets and types; ids and owners as numbers or
 * as texts; the columns of categories; missing values, if every model accepts them in some column,
 * and the columns that must be complete even so.
 *
 * Pointers in the options are valid until the store is closed, or gets or loses a model. The models
 * are those that the store had when it was opened, or when this handle last added or dropped one;
 * in parts, rank 0 knows them. If the rows have labels, set `labels` from efface_store_get_info:
 * otherwise a file that has only the class 7 would not mean the store's class "7". */
EFFACE_API uint64_t efface_store_text_id(const efface_store *store, const char *text,
                                         size_t n_bytes);
EFFACE_API void efface_store_load_options(const efface_store *store, efface_load_options *options);

/* Hands out the text of an id, an owner or a label, if a row has it and the store keeps the text;
 * otherwise NULL. Release it with efface_text_free. Errors: EFFACE_E_CORRUPT; EFFACE_E_BUSY;
 * EFFACE_E_IO; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_text(efface_store *store, efface_text_kind kind,
                                           uint64_t number, char **text, efface_error *error);
EFFACE_API void efface_text_free(char *text);

/* Hands out a hint for an id or owner that was not found: what names look like in this store
 * (numbers, texts, UUIDs), or that no row has an owner, and if the store keeps texts and `text` is not NULL, a name that differs
 * from it only in capitals, accents or spaces. At most 100,000 texts are compared; in a store in
 * parts, those of this rank's part. Release it with efface_text_free. Errors: EFFACE_E_CORRUPT;
 * EFFACE_E_BUSY; EFFACE_E_IO; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_hint(efface_store *store, efface_text_kind kind,
                                           const char *text, char **hint, efface_error *error);

/* Lists owners: calls `each` for every owner, in no particular order, with its text, or NULL, and
 * the number of its rows. `each` must not use the store. Cost O(owners). Errors: EFFACE_E_CORRUPT;
 * EFFACE_E_BUSY; EFFACE_E_IO. */
EFFACE_API efface_status efface_store_owners(efface_store *store,
                                             void (*each)(void *context, uint64_t owner,
                                                          const char *text, uint64_t n_rows),
                                             void *context, efface_error *error);

#define EFFACE_KIND_BYTES 32

typedef struct efface_stored_model {
    char name[EFFACE_MODEL_NAME_BYTES];
    efface_family family;
    char kind[EFFACE_KIND_BYTES]; /* as in efface_model_info */
    uint32_t n_columns;
    unsigned char digest[EFFACE_DIGEST_BYTES]; /* of the present state. Anyone who sees it can test
                                                  guesses of rows once they have left */
    unsigned char commitment[EFFACE_DIGEST_BYTES]; /* to the same, as receipts have it */
} efface_stored_model;

/* Describe all models, in the order of names; and one model. Their states are not read. Release the
 * list with efface_model_list_free. Errors: EFFACE_E_NOT_FOUND; EFFACE_E_CORRUPT; EFFACE_E_BUSY;
 * EFFACE_E_IO; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_models(efface_store *store, efface_stored_model **models,
                                             size_t *n_models, efface_error *error);
EFFACE_API void efface_model_list_free(efface_stored_model *models);
EFFACE_API efface_status efface_store_find_model(efface_store *store, const char *name,
                                                 efface_stored_model *info, efface_error *error);

/* Calls `each` for every parameter of a model except the seed. The state is not read. `each` must
 * not use the store. Errors: EFFACE_E_NOT_FOUND; EFFACE_E_CORRUPT; EFFACE_E_BUSY; EFFACE_E_IO. */
EFFACE_API efface_status efface_store_describe(efface_store *store, const char *name,
                                               void (*each)(void *context, const efface_fact *fact),
                                               void *context, efface_error *error);

/* Hands out the columns of a model, counted from 0; efface_stored_model has their number. Release
 * them with efface_columns_free. Errors: EFFACE_E_NOT_FOUND; EFFACE_E_CORRUPT; EFFACE_E_BUSY;
 * EFFACE_E_IO; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_model_columns(efface_store *store, const char *name,
                                                    uint32_t **columns, efface_error *error);
EFFACE_API void efface_columns_free(uint32_t *columns);

/* Fits a model and adds it, with a receipt. Other processes may read and write the store meanwhile;
 * the model follows their changes before it is added. `model`, if not NULL, gets the fitted model,
 * which belongs to the caller; what the caller does with it does not affect the store. Cost: that
 * of loading all rows and of the fit. Errors: EFFACE_E_DUPLICATE for a name that is taken;
 * EFFACE_E_LIMIT for a state that is larger than a store can hold; EFFACE_E_CORRUPT; EFFACE_E_BUSY;
 * EFFACE_E_IO; as the fit. */
EFFACE_API efface_status efface_store_fit(efface_store *store, const efface_new_model *asked,
                                          efface_model **model, efface_error *error);

/* Removes a model, with a receipt; its rows stay. Errors: EFFACE_E_NOT_FOUND; EFFACE_E_BUSY;
 * EFFACE_E_IO. */
EFFACE_API efface_status efface_store_drop(efface_store *store, const char *name,
                                           efface_error *error);

/* Gives a model another seed (efface_model_rekey), with a receipt. With `name` NULL all models get
 * another seed, each its own, derived from `seed`. Cost: that of fitting. Errors:
 * EFFACE_E_NOT_FOUND; EFFACE_E_CORRUPT; EFFACE_E_BUSY; EFFACE_E_IO; as a fit. */
EFFACE_API efface_status efface_store_rekey(efface_store *store, const char *name, uint64_t seed,
                                            efface_error *error);

/* Loads a model with all rows: `data` has the model's columns and their names. With `name` and
 * `model` NULL it loads only the rows, with all columns. Both are copies that belong to the caller;
 * changing them does not affect the store. Errors: EFFACE_E_NOT_FOUND; EFFACE_E_CORRUPT;
 * EFFACE_E_BUSY; EFFACE_E_IO; EFFACE_E_INTERRUPTED; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_load(efface_store *store, const char *name,
                                           efface_data **data, efface_model **model,
                                           efface_error *error);

/* Hands out a model without its rows. It predicts, has scores and tables, describes itself, and has
 * bytes and a digest. Calls that need its rows, or change it, are refused with EFFACE_E_ARGUMENT:
 * use efface_store_load for these. The model belongs to the caller (efface_model_free) and does not
 * follow the store. Cost O(size of the state); but if an older version fitted the model and defined
 * its method in another way, the model is fitted to the rows first. Errors: EFFACE_E_NOT_FOUND;
 * EFFACE_E_CORRUPT; EFFACE_E_BUSY; EFFACE_E_IO; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_model(efface_store *store, const char *name,
                                            efface_model **out, efface_error *error);

/* Hands out the canonical bytes of a model. Release them with efface_bytes_free. Errors:
 * EFFACE_E_NOT_FOUND; EFFACE_E_CORRUPT; EFFACE_E_BUSY; EFFACE_E_IO; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_encode(efface_store *store, const char *name,
                                             unsigned char **bytes, size_t *n_bytes,
                                             efface_error *error);

/* Verifies a model: fits it again and compares (efface_model_verify). A model that an older version
 * fitted, which defined its method in another way, is reported as different, without a fit, until
 * the first request that writes. Cost: that of loading all rows and of a fit. Errors:
 * EFFACE_E_NOT_FOUND; EFFACE_E_CORRUPT; EFFACE_E_BUSY; EFFACE_E_IO; as a fit. */
EFFACE_API efface_status efface_store_verify(efface_store *store, const char *name,
                                             efface_difference *difference, efface_error *error);

/* Hands out the rows that a request names, as a set with the names of columns: all that a store has
 * about a person. Release it with efface_data_free. Errors: EFFACE_E_NOT_FOUND; EFFACE_E_CORRUPT;
 * EFFACE_E_BUSY; EFFACE_E_IO; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_find(efface_store *store, const efface_request *request,
                                           efface_data **rows, efface_error *error);

/* What a request did to a model. */
typedef struct efface_model_report {
    char name[EFFACE_MODEL_NAME_BYTES];
    efface_family family;
    const char *kind; /* as in efface_model_info */
    efface_report report;
    /* Commitments to its states (docs/definition/store.md). */
    unsigned char before[EFFACE_DIGEST_BYTES];
    unsigned char after[EFFACE_DIGEST_BYTES];
} efface_model_report;

typedef struct efface_store_report {
    uint64_t n_requested; /* ids and owners; or rows */
    uint64_t n_missing;   /* how many of these do not exist */
    uint64_t n_forgotten; /* rows */
    uint64_t n_learned;
    uint64_t n_updated;
    uint64_t receipt; /* its number; 0 if there is none */
    uint64_t group;   /* the number of the first receipt of the group, if the request was done
                         together with others (efface_store_change_all); else 0 */
    double seconds;
    uint32_t n_models;
    efface_model_report *models;
    uint64_t *new_ids;         /* learn: the ids given to rows without ids, in the order of
                                  positions, n_learned of them; or NULL */
    unsigned char *row_hashes; /* the hashes of the rows' ids from which the receipt's root is
                                  computed, in order, EFFACE_ROW_HASH_BYTES each; NULL if there is
                                  no receipt */
    uint64_t n_row_hashes;
    uint64_t n_published_bytes; /* publish: the length of the file, and its digest (BLAKE2b-256), as
                                   in the receipt; else 0 */
    unsigned char published[EFFACE_DIGEST_BYTES];
} efface_store_report;

/* Releases what a report holds, and sets it to 0. */
EFFACE_API void efface_store_report_free(efface_store_report *report);

/* Forgets rows, in the store and in all models. When the call returns EFFACE_OK, that is on the
 * disk. `report` may be NULL; else release what it holds with efface_store_report_free. Errors:
 * EFFACE_E_NOT_FOUND for an id or owner that does not exist, if the request does not skip them;
 * EFFACE_E_DUPLICATE; EFFACE_E_ARGUMENT; EFFACE_E_CORRUPT; EFFACE_E_BUSY; EFFACE_E_IO, such as for
 * a full disk; EFFACE_E_INTERRUPTED; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_forget(efface_store *store, const efface_request *request,
                                             efface_store_report *report, efface_error *error);

/* Previews a request to forget: reports how much work it would be for each model
 * (efface_model_preview), and changes nothing. The store may be open for reading. Errors: as
 * efface_store_forget. */
EFFACE_API efface_status efface_store_preview(efface_store *store, const efface_request *request,
                                              efface_store_report *report, efface_error *error);

/* Learns the rows of a set, in the store and in all models. `texts` as in efface_store_create. Rows
 * that were added to the set without ids get random ids of 63 bits, which the report lists. (Ids
 * that simply continued could give a newcomer an id that was forgotten, and a request that comes
 * twice would hit the wrong person.) Errors: EFFACE_E_DUPLICATE for an id that exists;
 * EFFACE_E_ARGUMENT for ids or owners that are texts where those of the store are numbers, or the
 * other way round, and for offsets other than those of the store; EFFACE_E_CORRUPT; EFFACE_E_BUSY;
 * EFFACE_E_IO; as efface_model_learn. */
EFFACE_API efface_status efface_store_learn(efface_store *store, const efface_data *data,
                                            const efface_texts *texts, efface_store_report *report,
                                            efface_error *error);

/* Updates rows, in the store and in all models: they get the values, weights, owners and labels of
 * the rows of a set with the same ids. A row keeps its owner or label if the set has none for it,
 * and its weight if the rows of the set came without weights. Errors: EFFACE_E_NOT_FOUND for an id
 * that does not exist; as efface_store_learn. */
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

/* One of several requests that are done together. Fill the first four fields; the call fills the
 * others. */
typedef struct efface_store_change {
    efface_change_kind kind;
    const efface_request *request; /* forget: whom */
    const efface_data *data;       /* learn, update: the rows, */
    const efface_texts *texts;     /* and their texts, or NULL */
    efface_status status;          /* what became of it */
    efface_error error;            /* why, if it is not EFFACE_OK */
    efface_store_report report;    /* if it is EFFACE_OK: release with efface_store_report_free */
} efface_store_change;

/* Does several requests in their order, in one transaction that waits for the disk once. For many
 * small requests this is far faster than one call each. Afterwards the rows and models are as if
 * each request had been a call of efface_store_forget, efface_store_learn or efface_store_update.
 *
 * A request that fails has its own status and error, changes nothing, and does not stop the others.
 * (A row that an earlier request forgets does not exist for a later one.) The call returns
 * EFFACE_OK even if all requests failed.
 *
 * Each request that succeeds has its own receipt, with its own counts and rows. If there are at
 * least two, they are a group: their receipts have the number of the first one (`group`), and the
 * same commitments to the models, from before and after the whole group, because there is no state
 * in between. Consecutive requests to forget change the models once; a report says what that common
 * step did to a model (action, reason, where, seconds). A request that concerns no row names no
 * model.
 *
 * If the call returns anything but EFFACE_OK, nothing was done, and all requests have that status
 * and error: EFFACE_E_BUSY; EFFACE_E_IO; EFFACE_E_MEMORY; EFFACE_E_INTERRUPTED; EFFACE_E_CORRUPT
 * for the head of the store; EFFACE_E_ARGUMENT for a store that is open for reading. (There is one
 * exception, invariant 1 in src/store/store.c: if the disk fails again and again from the last
 * moment on, the error is EFFACE_E_IO and its message says that the requests were done.) Otherwise
 * a request has the errors of the three calls. */
EFFACE_API efface_status efface_store_change_all(efface_store *store, efface_store_change *changes,
                                                 size_t n_changes, efface_error *error);

/* ------------------------------------------------------------------ the store: publishing */

/* What to publish, and where. */
typedef struct efface_publishing {
    const char *name; /* of the model */
    const char *path; /* of the file */
    int replace;      /* if not 0, a file of that name is replaced, or the target of a symbolic link
                         of that name; but only a regular file, and never a store */
} efface_publishing;

/* Publishes a model: gives it a new random seed that nobody knows, fits it, writes what prediction
 * needs to a file (efface_predictor_load), and adds a receipt with commitments to the model and the
 * digest of the file; all of it or nothing. So no two published models share their randomness, and
 * requests that react to one publication are independent of the randomness of the next
 * (docs/why/exactness.md). That holds for what this call gives out, not for centroids or labels
 * that became known otherwise. `report` may be NULL. Cost: that of a fit.
 *
 * The file is written without a name and synced; then the request is committed; then the file gets
 * its name. If the process dies before the commit, nothing has changed. If it dies between the last
 * two, the store has changed and the file is gone: efface_store_notes tells of it; publish again.
 * On a file system that has no files without names, it is PATH.efface-new-XXXXXXXXXXXX until then;
 * if one is left over, the next publication to PATH removes it.
 *
 * Errors: EFFACE_E_NOT_FOUND; EFFACE_E_ARGUMENT for a file that exists, a store, or a model that
 * cannot predict; EFFACE_E_CORRUPT; EFFACE_E_BUSY; EFFACE_E_IO; EFFACE_E_INTERRUPTED;
 * EFFACE_E_MEMORY; as a fit. The error is also EFFACE_E_IO if the file could not be given its name
 * in the end: the message then says that the request was done, and where the file is. */
EFFACE_API efface_status efface_store_publish(efface_store *store, const efface_publishing *asked,
                                              efface_store_report *report, efface_error *error);

/* ------------------------------------------------------------------ the store: upkeep */

/* Checks a store for damage: the file, its schema, everything that digests cover, and the state of
 * every model. Calls `found` with a sentence for each problem. Damage is not an error of this call;
 * an error says why it could not look. Cost: reads the file, and the rows once. Errors:
 * EFFACE_E_BUSY; EFFACE_E_IO; EFFACE_E_INTERRUPTED; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_check(efface_store *store,
                                            void (*found)(void *context, const char *problem),
                                            void *context, efface_error *error);

/* Calls `note` with a sentence for each thing that is not damage but worth knowing: files of
 * publications that may never have been handed out. Errors: EFFACE_E_CORRUPT; EFFACE_E_BUSY;
 * EFFACE_E_IO; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_notes(efface_store *store,
                                            void (*note)(void *context, const char *text),
                                            void *context, efface_error *error);

/* Makes the file as small as it can be. Takes memory of the size of the file. Errors:
 * EFFACE_E_CORRUPT; EFFACE_E_BUSY; EFFACE_E_IO; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_compact(efface_store *store, efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
