/*
 * Rows in the body of a request, as JSON or as CSV, made into a set of rows.
 *
 * JSON: {"rows": [...]}. The values of a row are an array in the order of the columns, or an object
 * by their names. CSV: a line of names if the columns have names, then a line for each row.
 */
#ifndef SV_ROW_BODIES_H
#define SV_ROW_BODIES_H

#include "rooms/rooms.h"

/* Reads the values of one row of JSON; false, with a reply, if it is not a row of these columns. */
bool sv_read_values(sv_request *request, const json_t *values, const sv_columns *columns,
                    double *out);

/* Whether a body may have that many rows; false, with a reply, if not. */
bool sv_rows_fit(sv_request *request, size_t n_rows);

/* Whether the body of a request is CSV. */
bool sv_is_csv(const sv_request *request);

/* Loads the body as CSV. `load` says all but offsets; columns that a header names come in any
 * order. False, with a reply, if that is not possible. */
bool sv_load_csv(sv_request *request, const sv_columns *columns, efface_load_options *load,
                 efface_data **out);

/* Rows to learn or to update, of a store with these facts, with the texts of ids, owners and
 * labels. False, with a reply, if that is not possible. */
bool sv_read_rows(sv_request *request, const sv_facts *facts, bool update, efface_data **data,
                  efface_texts **texts);

#endif
