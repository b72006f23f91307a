/* Making the file of a store (creation.c). */
#ifndef EF_CREATION_H
#define EF_CREATION_H

#include "store/seals/head.h"

/* What a new file gets. */
typedef struct ef_new_store {
    const efface_data *data;
    const efface_data *joined; /* the same rows, as models see them: in a group, with all others */
    const efface_texts *texts;
    const efface_new_model *models;
    size_t n_models;
} ef_new_store;

/* The head of a new store for the rows of a set, with keys of its own. */
void ef_head_make(ef_head *head, const efface_data *data, const efface_store_options *options);

/* Writes all but rows, models and receipts; the columns are those of a set. */
efface_status ef_store_write_empty(efface_store *store, const efface_data *columns,
                                   efface_error *error);

/* Makes a file with a head, and what a function writes within its only transaction. */
typedef efface_status (*ef_store_filler)(efface_store *store, const void *what,
                                         efface_error *error);
efface_status ef_store_make(const char *path, const efface_store_options *options,
                            const ef_head *head, ef_store_filler filler, const void *what,
                            efface_error *error);

/* Fills it with what an ef_new_store has. */
efface_status ef_store_fill(efface_store *store, const void *what, efface_error *error);

#endif
