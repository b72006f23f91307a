/*
 * A model of a store, opened to be looked at: the model without its rows, and the names that its
 * columns and classes have for people.
 */
#ifndef SV_OPENED_H
#define SV_OPENED_H

#include "rooms/rooms.h"

typedef struct sv_opened {
    efface_store *store;
    efface_stored_model about;
    efface_model *model;
    efface_model_info info;
    uint32_t *columns;  /* of the store that the model has */
    double *offsets;    /* of these columns */
    int64_t *classes;   /* info.n_classes of them, ascending */
    char **class_texts; /* each NULL if the class is a number */
} sv_opened;

#define SV_MADE_UP_BYTES 40

/* Opens the store of a room and a model in it. What is read belongs to one state of the store.
 * Close it whatever the status is. */
efface_status sv_open_model(const sv_room *room, const char *name, sv_opened *out,
                            efface_error *error);
void sv_opened_close(sv_opened *opened);

/* The name of a column of the model, or NULL. */
const char *sv_column_name(const sv_opened *opened, uint32_t column);

/* As JSON: the name of a column, made up if it has none ("column3"); a class; the name of a column
 * of a table, and of a row of it, which is a number if rows are only numbered. */
json_t *sv_json_column(const sv_opened *opened, uint32_t column);
json_t *sv_json_class(const sv_opened *opened, int64_t number);
json_t *sv_json_table_column(const sv_opened *opened, const efface_table *table, uint32_t column);
json_t *sv_json_table_row(const sv_opened *opened, const efface_table *table, uint64_t row);

#endif
