/* What the columns of a store are called, where they begin (store_columns.c), and what rows may
 * have in them (row_rules.c). */
#ifndef EF_STORE_COLUMNS_H
#define EF_STORE_COLUMNS_H

#include "efface/efface.h"

/* Reads the names and offsets of the columns and verifies them (store_columns.c). */
efface_status ef_store_read_columns(efface_store *store, efface_error *error);

/* Writes those of a set, and the head's digest of them. */
efface_status ef_store_write_columns(efface_store *store, const efface_data *data,
                                     efface_error *error);

/* Within a transaction: finds out what the models let rows be that come (row_rules.c). */
efface_status ef_store_read_rules(efface_store *store, efface_error *error);

/* Releases them. */
void ef_store_free_columns(efface_store *store);

/* A set without rows, with the columns, offsets and types of the store. */
efface_status ef_store_new_set(const efface_store *store, efface_data **out, efface_error *error);

/* Gives a set without rows the offsets and types of some columns of the store (NULL: of all). */
efface_status ef_store_give_units(const efface_store *store, const uint32_t *columns,
                                  efface_data *data, efface_error *error);

/* Whether rows that come have the offsets of the store; ARGUMENT if not. */
efface_status ef_store_check_offsets(const efface_store *store, const efface_data *data,
                                     efface_error *error);

#endif
