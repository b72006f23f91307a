/*
 * The one door between a store and its parts.
 *
 * A store is one file, or has a file for each rank of a group; the first of these also has the
 * models and the receipts. What differs stands in one table, which a handle has from when it is
 * opened. For one file everything is at hand, and most of it does nothing (one_file.c). For parts
 * the ranks agree on failures and tell each other what they have (cluster/); all of them call the
 * same functions in the same order. Nobody else asks how many files there are.
 */
#ifndef EF_PARTS_H
#define EF_PARTS_H

#include "store/models/models_following.h"
#include "store/requests/creation.h"
#include "store/requests/steps.h"
#include "store/rows/stored_rows.h"
#include "store/seals/owners_and_labels.h"

/* What a handle may not be good for. */
typedef enum ef_deed {
    EF_DEED_ALL_ROWS, /* of the store: a part that was opened alone has only some */
    EF_DEED_PUBLISH,
    EF_DEED_TOGETHER /* several requests in one transaction */
} ef_deed;

/* What only the file with models and receipts can do; and what only it can read, as bytes that are
 * released with ef_free. */
typedef efface_status ef_lead_work(efface_store *store, void *context, efface_error *error);
typedef efface_status ef_share_work(efface_store *store, const void *context, unsigned char **bytes,
                                    size_t *n_bytes, efface_error *error);

typedef struct ef_parts {
    /* ---- the handle */

    /* ARGUMENT if the handle is not good for it. */
    efface_status (*allows)(const efface_store *store, ef_deed deed, efface_error *error);

    /* Releases what the handle has besides its own file. */
    void (*close)(efface_store *store);

    /* Makes what is known of this file what is known of the store. */
    efface_status (*info)(efface_store *store, efface_store_info *info, efface_error *error);

    /* ---- transactions (transactions.h): all files begin and end together, with one status */
    efface_status (*begin)(efface_store *store, bool writes, efface_error *error);
    efface_status (*end)(efface_store *store, efface_status status, efface_error *error);

    /* ---- one status for all */

    /* The first failure that anybody has. If the call goes on in spite of it, all say so. */
    efface_status (*agree)(efface_store *store, efface_status status, bool goes_on,
                           efface_error *error);

    /* A call begins with looking at what it is asked for: by `lead`, before a transaction. */
    efface_status (*judge)(efface_store *store, ef_lead_work *look, void *asked,
                           efface_error *error);

    /* Whether something holds everywhere: makes `holds` so. */
    efface_status (*all)(efface_store *store, bool *holds, efface_error *error);

    /* ---- what one file has for all */

    /* Does the work where the models and receipts are; then `told`, of n_told bytes (0: nothing),
     * comes to all. */
    efface_status (*lead)(efface_store *store, ef_lead_work *work, void *context, void *told,
                          size_t n_told, efface_error *error);

    /* Reads bytes there; they come to all. */
    efface_status (*share)(efface_store *store, ef_share_work *work, const void *context,
                           unsigned char **bytes, size_t *n_bytes, efface_error *error);

    /* As ef_models_list, ef_record_read and ef_record_write (records.h). */
    efface_status (*list_models)(efface_store *store, char (**names)[EFFACE_MODEL_NAME_BYTES],
                                 uint32_t *n_names, efface_error *error);
    efface_status (*read_model)(efface_store *store, const char *name, bool with_state,
                                ef_record *record, efface_error *error);
    efface_status (*write_model)(efface_store *store, ef_record *record, const efface_model *model,
                                 const ef_counts *counted, bool is_new, efface_error *error);

    /* As ef_receipt_of_models (receipts/receipts.h): models know of receipts by this alone. */
    efface_status (*note_models)(efface_store *store, const char *kind, efface_model_report *models,
                                 uint32_t n_models, efface_error *error);

    /* ---- rows of all files */

    /* How many there are. */
    uint64_t (*rows)(const efface_store *store);

    /* Makes rows that were loaded one set with those of the others; `for_long`: it may outlive the
     * store. */
    efface_status (*join)(const efface_store *store, efface_data *data, bool for_long,
                          efface_error *error);

    /* The rows of a request, for all. */
    efface_status (*find)(efface_store *store, const efface_request *request, ef_found *found,
                          efface_error *error);

    /* Owners, each with all its rows; labels may come too. As ef_member_sets_each. */
    efface_status (*owners)(efface_store *store, ef_member_set_each *each, void *context,
                            efface_error *error);

    /* A text that was found in any file (NULL: not in this one) comes to all. */
    efface_status (*text)(efface_store *store, char **text, efface_error *error);

    /* ---- requests */

    /* Does requests as one step (steps.h). */
    efface_status (*step)(efface_store *store, ef_task *tasks, size_t n, bool only_look,
                          efface_error *error);

    /* Lets all models follow a change and writes them (models_following.h). */
    efface_status (*follow)(efface_store *store, const ef_row_change *change,
                            efface_store_report *report, efface_error *error);

    /* Fits a model to all rows and writes it, in transactions of its own (model_adding.c). */
    efface_status (*add_model)(efface_store *store, const efface_new_model *asked,
                               efface_model **model, efface_error *error);
} ef_parts;

/* A handle of one file, be it a part that was opened alone. */
extern const ef_parts ef_parts_alone;

/* Opens a store in parts, or makes one, with the group in the options (cluster/). */
efface_status ef_parts_open(const char *path, const efface_store_options *options,
                            efface_store **out, efface_error *error);
efface_status ef_parts_create(const char *path, const efface_store_options *options,
                              const ef_new_store *what, efface_error *error);

/* Whether a path is the folder of a store in parts. */
bool ef_parts_are_in(const char *path);

#endif
