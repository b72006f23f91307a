/* Adding models to a store (model_adding.c). */
#ifndef EF_MODEL_ADDING_H
#define EF_MODEL_ADDING_H

#include "store/models/records.h"

/* Fits a model to rows and writes it, within a transaction. */
efface_status ef_model_add(efface_store *store, const efface_new_model *asked,
                           const efface_data *data, efface_error *error);

/* Fits a model to all rows of one file and writes it. Others may use the store meanwhile. */
efface_status ef_add_in_file(efface_store *store, const efface_new_model *asked,
                             efface_model **model, efface_error *error);

/* What adding is made of: whether a name (a text) is free, before a long fit; it is looked at again
 * when the model is written. And a fit, with a look for tails if that is wanted, while the rows are
 * at hand. */
efface_status ef_model_check_free(efface_store *store, void *name, efface_error *error);

/* And the receipt of a model that was added, with its record as it was written. */
efface_status ef_model_note_added(efface_store *store, const ef_record *added, efface_error *error);
efface_status ef_model_fit_asked(const efface_store *store, const ef_record *record,
                                 const efface_new_model *asked, const efface_data *rows,
                                 efface_model **model, efface_error *error);

#endif
