/*
 * Making a store: it appears under its name when it is whole, or not at all.
 *
 * It is made in a file beside, PATH.efface-new, which gets its name by a link when everything is on
 * the disk: a link never replaces a file that is there. A process that dies leaves that file
 * behind; it is locked (flock) as long as its maker lives, and the next attempt takes over one that
 * is not. From the link on nothing takes the store away again.
 */
#define _DEFAULT_SOURCE
#include "base/checked.h"
#include "base/digest.h"
#include "base/status.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- what goes in */

static void make_head(efface_store *store, const efface_data *data,
                      const efface_store_options *options) {
    ef_head *const head = &store->head;
    head->n_columns = data->n_columns;
    head->keeps_texts = options->keep_texts != 0;
    head->key_outside = options->receipt_key != NULL;
    memcpy(head->hash_key, options->hash_key, sizeof head->hash_key);
    randombytes_buf(head->row_key, sizeof head->row_key);
    if (!head->key_outside) {
        randombytes_buf(head->receipt_key, sizeof head->receipt_key);
        memcpy(store->receipt_key, head->receipt_key, sizeof store->receipt_key);
        store->has_receipt_key = true;
    }
    ef_receipt_key_digest(store->receipt_key, head->receipt_key_digest);
    head->dense = ef_dense_for(data->n_rows);
    /* Rows without ids of their own have numbers. */
    head->id_kind =
        data->named || !ef_data_ids_are_positions(data) ? data->id_kind : EFFACE_IDS_NUMBERS;
    head->owner_kind = data->owners != NULL ? data->owner_kind : EFFACE_IDS_DETECT;
    store->head_changed = true;
}

static efface_status write_all(efface_store *store, const efface_data *data,
                               const efface_texts *texts, const efface_new_model *models,
                               size_t n_models, efface_error *error) {
    efface_status status = ef_sql_run(store, ef_schema, error);
    if (status == EFFACE_OK)
        status = ef_store_write_columns(store, data, error);
    if (status == EFFACE_OK)
        status = ef_buckets_make(store, error);
    if (status == EFFACE_OK)
        status = ef_groups_make(store, 1, error);
    if (status == EFFACE_OK)
        status = ef_rows_insert(store, data, NULL, texts, error);
    /* Made after the rows: that is faster than keeping it up to date meanwhile. */
    if (status == EFFACE_OK)
        status = ef_sql_run(store, ef_schema_late, error);
    for (size_t i = 0; status == EFFACE_OK && i < n_models; i++)
        status = ef_model_add(store, &models[i], data, error);
    return status;
}

static efface_status fill(const char *path, const efface_data *data, const efface_texts *texts,
                          const efface_store_options *options, const efface_new_model *models,
                          size_t n_models, efface_error *error) {
    efface_store *store = NULL;
    efface_status status = ef_store_open_file(path, true, options, &store, error);
    if (status != EFFACE_OK)
        return status;
    make_head(store, data, options);
    store->format = EF_STORE_VERSION;
    status = ef_store_begin_bare(store, true, error);
    if (status == EFFACE_OK)
        status = ef_store_end(store, write_all(store, data, texts, models, n_models, error), error);
    efface_store_close(store);
    return status;
}

efface_status efface_store_create(const char *path, const efface_data *data,
                                  const efface_texts *texts, const efface_store_options *options,
                                  const efface_new_model *models, size_t n_models,
                                  efface_store **out, efface_error *error) {
    if (path == NULL || data == NULL || out == NULL || (models == NULL && n_models != 0))
        return ef_fail(error, EFFACE_E_ARGUMENT, "path, data, models and out must not be NULL");
    efface_store_options how;
    efface_store_options_init(&how);
    if (options != NULL)
        how = *options;
    how.access = EFFACE_ACCESS_WRITE;
    making m;
    efface_status status = ef_store_options_check(&how, error);
    if (status != EFFACE_OK)
        return status;
    status = begin_making(&m, path, error);
    if (status == EFFACE_OK)
        status = fill(m.beside, data, texts, &how, models, n_models, error);
    if (status == EFFACE_OK && fsync(m.file) != 0)
        status = fail_system(path, "cannot be created", error);
    if (status == EFFACE_OK)
        status = give_name(&m, error);
    if (status == EFFACE_OK)
        status = sync_name(path, error);
    end_making(&m);
    sodium_memzero(how.hash_key, sizeof how.hash_key);
    if (status != EFFACE_OK)
        return status;
    how = options != NULL ? *options : how;
    how.access = EFFACE_ACCESS_WRITE;
    return efface_store_open(path, &how, out, error);
}
