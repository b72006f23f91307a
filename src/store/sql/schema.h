/* The tables of a store, and the versions of its format (schema.c). */
#ifndef EF_SCHEMA_H
#define EF_SCHEMA_H

#include "efface/efface.h"

#define EF_STORE_VERSION 7
#define EF_STORE_SET_VERSION "PRAGMA user_version = 7;"
#define EF_PART_VERSION 8
#define EF_PART_SET_VERSION "PRAGMA user_version = 8;"

extern const char ef_schema[];      /* makes all tables */
extern const char ef_schema_late[]; /* what is faster to make when rows are there */

/* Looks for tables, indexes, views and triggers that are not ours, or not as ours; store->foreign
 * then says which. CORRUPT if the store is open to write and has any. Does nothing if the schema is
 * that of the last time. */
efface_status ef_schema_check(efface_store *store, efface_error *error);

#endif
