/* Columns of values that load options are about: those with offsets, and those with categories. */
#include "data/units/value_columns.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/set/rows.h"
#include "data/texts/field.h"
#include "data/texts/number.h"

#include <inttypes.h>
#include <string.h>

/* ---------------------------------------------------------------- columns that are not read */

efface_status ef_read_columns_begin(ef_read_columns *read, size_t n, const bool *skipped,
                                    efface_error *error) {
    const efface_status status = efface_data_create((uint32_t)n, &read->file, error);
    if (status != EFFACE_OK)
        return status;
    read->position = ef_alloc(n, sizeof *read->position);
    if (read->position == NULL)
        return ef_fail_memory(error);
    uint32_t next = 0;
    for (size_t j = 0; j < n; j++)
        read->position[j] = skipped[j] ? EFFACE_NO_COLUMN : next++;
    return EFFACE_OK;
}

void ef_read_columns_clear(ef_read_columns *read) {
    efface_data_free(read->file);
    ef_free(read->position);
    *read = (ef_read_columns){.file = NULL};
}

void ef_read_columns_tell(const ef_read_columns *read, const efface_load_options *options) {
    if (read->file == NULL || options->skipped == NULL)
        return;
    for (uint32_t j = 0; j < read->file->n_columns; j++)
        if (read->position[j] == EFFACE_NO_COLUMN)
            options->skipped(options->skipped_context, j + 1,
                             efface_data_column_name(read->file, j));
}

/* ---------------------------------------------------------------- looking for columns */

static bool is_taken(const ef_value_columns *among, uint32_t column) {
    return among->taken != NULL && column < among->data->n_columns && among->taken[column];
}

/* All columns of the file, among which people count. */
static const efface_data *file_of(const ef_value_columns *among) {
    return among->read->file != NULL ? among->read->file : among->data;
}

/* The column of the set that one of the file is; n_columns if it is not read. */
static uint32_t position_of(const ef_value_columns *among, uint32_t column) {
    if (among->read->file == NULL)
        return column;
    const uint32_t position = among->read->position[column];
    return position != EFFACE_NO_COLUMN ? position : among->data->n_columns;
}

/* The next column of the set with a name that is not taken; n_columns if there is none. */
static uint32_t find_name(const ef_value_columns *among, const char *name, uint32_t from) {
    uint32_t j = from;
    while (j < among->data->n_columns) {
        const char *const known = efface_data_column_name(among->data, j);
        if (!is_taken(among, j) && known != NULL && strcmp(known, name) == 0)
            break;
        j++;
    }
    return j;
}

/* The same in the file. */
static uint32_t find_in_file(const ef_value_columns *among, const char *name, uint32_t from) {
    const efface_data *const file = file_of(among);
    uint32_t j = from;
    while (j < file->n_columns) {
        const char *const known = efface_data_column_name(file, j);
        if (!is_taken(among, position_of(among, j)) && known != NULL && strcmp(known, name) == 0)
            break;
        j++;
    }
    return j;
}

static uint32_t find_number(const ef_value_columns *among, const char *text) {
    const uint32_t n = file_of(among)->n_columns;
    uint64_t number = 0;
    return ef_number_parse_digits(text, strlen(text), &number) && number >= 1 && number <= n
               ? (uint32_t)number - 1
               : n;
}

/* One that is known by its place where names are missing. */
static uint32_t find_placed(const ef_value_columns *among, const char *column, uint32_t place) {
    const uint32_t d = among->data->n_columns, j = place - 1;
    if (j < d && (column == NULL || efface_data_column_name(among->data, j) == NULL))
        return is_taken(among, j) ? d : j;
    return column != NULL ? find_name(among, column, 0) : d;
}

/* One that a person named. */
static efface_status find_named(const ef_value_columns *among, const char *column, uint32_t *found,
                                efface_error *error) {
    const uint32_t d = file_of(among)->n_columns;
    const ef_field_shown shown = ef_field_show((ef_csv_field){column, strlen(column)});
    uint32_t j = find_in_file(among, column, 0);
    if (j < d && find_in_file(among, column, j + 1) < d)
        return ef_fail(
            error, EFFACE_E_ARGUMENT,
            "several columns have the name '%s'; name the column by its number, from 1 to %" PRIu32,
            shown.text, d);
    if (j == d && ef_number_is_digits(column, strlen(column)))
        j = find_number(among, column);
    if (j == d)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "there is no column of values '%s'%s; columns have names, or numbers from 1 "
                       "to %" PRIu32,
                       shown.text, among->taken != NULL ? ", or it has an offset already" : "", d);
    *found = position_of(among, j);
    if (is_taken(among, *found))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "column '%s' has two offsets; give it one (columns have names, or numbers "
                       "from 1 to %" PRIu32 ")",
                       shown.text, d);
    return EFFACE_OK;
}

efface_status ef_value_column_find(const ef_value_columns *among, const char *column,
                                   uint32_t place, uint32_t *found, efface_error *error) {
    if (place != 0) {
        *found = find_placed(among, column, place);
        return EFFACE_OK;
    }
    return column != NULL
               ? find_named(among, column, found, error)
               : ef_fail(error, EFFACE_E_ARGUMENT, "%s has no column; give its name or its place",
                         among->taken != NULL ? "an offset" : "a category");
}

efface_status ef_value_columns_mark(const efface_data *data, const ef_read_columns *read,
                                    const efface_category *columns, size_t n, bool *chosen,
                                    efface_error *error) {
    const ef_value_columns among = {.data = data, .read = read};
    efface_status status = EFFACE_OK;
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        uint32_t column = data->n_columns;
        status = ef_value_column_find(&among, columns[i].column, columns[i].place, &column, error);
        if (status == EFFACE_OK && chosen != NULL && column < data->n_columns)
            chosen[column] = true;
    }
    return status;
}
