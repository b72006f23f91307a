/* The names that columns and classes of a model, and rows and columns of its tables, have for
 * people.
 */
#ifndef SV_MODEL_NAMES_H
#define SV_MODEL_NAMES_H

#include "rooms/rooms.h"

/* The text of a class, or NULL if it is a number. */
const char *sv_class_text(const sv_snapshot *of, int64_t number);

/* As JSON: the name of a column, made up if it has none ("column3"); a class; the name of a column
 * of a table, and of a row of it, which is a number if rows are only numbered. */
json_t *sv_json_column(const sv_snapshot *of, uint32_t column);
json_t *sv_json_class(const sv_snapshot *of, int64_t number);
json_t *sv_json_classes(const sv_snapshot *of); /* all of them */
json_t *sv_json_table_column(const sv_snapshot *of, const efface_table *table, uint32_t column);
json_t *sv_json_table_row(const sv_snapshot *of, const efface_table *table, uint64_t row);

#endif
