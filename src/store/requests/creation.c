/* Making a store: it appears under its name when it is whole, or not at all (new_file.c). */
#include "store/requests/creation.h"

#include "base/errors/status.h"
#include "store/file/new_file.h"
#include "store/file/transactions.h"
#include "store/models/model_adding.h"
#include "store/parts.h"
#include "store/rows/store_columns.h"
#include "store/sql/schema.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <sodium.h>
#include <string.h>

void ef_head_make(ef_head *head, const efface_data *data, const efface_store_options *options) {
    *head = (ef_head){0};
    head->n_columns = data->n_columns;
    head->keeps_texts = options->keep_texts != 0;
    head->key_outside = options->receipt_key != NULL;
    memcpy(head->hash_key, options->hash_key, sizeof head->hash_key);
    randombytes_buf(head->row_key, sizeof head->row_key);
    if (!head->key_outside)
        randombytes_buf(head->receipt_key, sizeof head->receipt_key);
    ef_receipt_key_digest(head->key_outside ? options->receipt_key : head->receipt_key,
                          head->receipt_key_digest);
    head->dense = ef_dense_for(data->n_rows);
    /* Rows without ids of their own have numbers. */
    head->id_kind = ef_data_is_named(data) ? data->id_kind : EFFACE_IDS_NUMBERS;
    head->owner_kind = data->owners != NULL ? data->owner_kind : EFFACE_IDS_DETECT;
}

efface_status ef_store_write_empty(efface_store *store, const efface_data *columns,
                                   efface_error *error) {
    efface_status status = ef_sql_run(store, ef_schema, error);
    if (status == EFFACE_OK && store->head.n_parts != 0)
        status = ef_sql_run(store, EF_PART_SET_VERSION, error);
    EF_THEN(status, ef_store_write_columns(store, columns, error));
    EF_THEN(status, ef_buckets_make(store, error));
    EF_THEN(status, ef_member_sets_make(store, 1, error));
    return status;
}

efface_status ef_store_fill(efface_store *store, const void *what, efface_error *error) {
    const ef_new_store *const s = what;
    efface_status status = ef_store_write_empty(store, s->data, error);
    EF_THEN(status, ef_rows_insert(store, s->data, NULL, s->texts, error));
    /* Made after the rows: that is faster than keeping it up to date meanwhile. */
    EF_THEN(status, ef_sql_run(store, ef_schema_late, error));
    for (size_t i = 0; status == EFFACE_OK && i < s->n_models; i++)
        status = ef_model_add(store, &s->models[i], s->joined, error);
    return status;
}

efface_status ef_store_make(const char *path, const efface_store_options *options,
                            const ef_head *head, ef_store_filler filler, const void *what,
                            efface_error *error) {
    ef_new_file file;
    efface_store *store = NULL;
    efface_status status = ef_new_file_begin(&file, path, false, error);
    EF_THEN(status, ef_store_open_file(file.beside, true, options, &store, error));
    if (status == EFFACE_OK) {
        store->head = *head;
        store->head_changed = true;
        store->format = head->n_parts != 0 ? EF_PART_VERSION : EF_STORE_VERSION;
        status = ef_store_begin_bare(store, true, error);
        EF_THEN(status, ef_file_end(store, filler(store, what, error), error));
        efface_store_close(store);
    }
    EF_THEN(status, ef_new_file_place(&file, error));
    ef_new_file_end(&file);
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
    efface_status status = ef_store_options_check(&how, error);
    if (status == EFFACE_OK && sodium_init() < 0)
        status = ef_fail_memory(error);
    const ef_new_store what = {
        .data = data, .joined = data, .texts = texts, .models = models, .n_models = n_models};
    if (status == EFFACE_OK && how.group != NULL) {
        status = ef_parts_create(path, &how, &what, error);
    } else if (status == EFFACE_OK) {
        ef_head head;
        ef_head_make(&head, data, &how);
        status = ef_store_make(path, &how, &head, ef_store_fill, &what, error);
        sodium_memzero(&head, sizeof head);
    }
    EF_THEN(status, efface_store_open(path, &how, out, error));
    sodium_memzero(how.hash_key, sizeof how.hash_key);
    return status;
}
