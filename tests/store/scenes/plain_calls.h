/* Calls of the store as most tests make them: nothing but a key for texts is asked for. */
#ifndef EF_TESTS_PLAIN_CALLS_H
#define EF_TESTS_PLAIN_CALLS_H

#include "efface/efface.h"

#include <string.h>

static const unsigned char hash_key[EFFACE_HASH_KEY_BYTES] = "a key for texts";

static inline efface_store_options plain_options(efface_access access) {
    efface_store_options options;
    efface_store_options_init(&options);
    options.access = access;
    memcpy(options.hash_key, hash_key, sizeof options.hash_key);
    return options;
}

static inline efface_status create_plain(const char *path, const efface_data *data,
                                         efface_store **store, efface_error *error) {
    const efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    return efface_store_create(path, data, NULL, &options, NULL, 0, store, error);
}

static inline efface_status open_plain(const char *path, efface_access access, efface_store **store,
                                       efface_error *error) {
    const efface_store_options options = plain_options(access);
    return efface_store_open(path, &options, store, error);
}

static inline efface_status fit_plain(efface_store *store, const char *name,
                                      const efface_kmeans_params *params, const uint32_t *columns,
                                      uint32_t n_columns, efface_error *error) {
    const efface_new_model asked = {.name = name,
                                    .params = params != NULL ? &params->common : NULL,
                                    .columns = columns,
                                    .n_columns = n_columns};
    return efface_store_fit(store, &asked, NULL, error);
}

/* The model number i, in the order of names. */
static inline efface_status model_at(efface_store *store, uint32_t i, efface_stored_model *info,
                                     efface_error *error) {
    efface_stored_model *models = NULL;
    size_t n_models = 0;
    efface_status status = efface_store_models(store, &models, &n_models, error);
    if (status != EFFACE_OK)
        return status;
    if (i < n_models)
        *info = models[i];
    else
        status = EFFACE_E_NOT_FOUND;
    efface_model_list_free(models);
    return status;
}

#endif
