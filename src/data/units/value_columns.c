/* Columns of values that load options are about: those with offsets, and those with categories. */
#include "data/units/value_columns.h"

#include "base/errors/status.h"
#include "data/set/rows.h"
#include "data/texts/field.h"
#include "data/texts/number.h"

#include <inttypes.h>
#include <string.h>

static bool is_taken(const ef_value_columns *among, uint32_t column) {
    return among->taken != NULL && among->taken[column];
}

/* The next column with a name that is not taken; n_columns if there is none. */
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

static uint32_t find_number(const ef_value_columns *among, const char *text) {
    uint64_t number = 0;
    return ef_number_parse_digits(text, strlen(text), &number) && number >= 1 &&
                   number <= among->data->n_columns
               ? (uint32_t)number - 1
               : among->data->n_columns;
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
    const uint32_t d = among->data->n_columns;
    const ef_field_shown shown = ef_field_show((ef_csv_field){column, strlen(column)});
    *found = find_name(among, column, 0);
    if (*found < d && find_name(among, column, *found + 1) < d)
        return ef_fail(
            error, EFFACE_E_ARGUMENT,
            "several columns have the name '%s'; name the column by its number, from 1 to %" PRIu32,
            shown.text, d);
    if (*found == d && ef_number_is_digits(column, strlen(column)))
        *found = find_number(among, column);
    if (*found == d)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "there is no column of values '%s'%s; columns have names, or numbers from 1 "
                       "to %" PRIu32,
                       shown.text, among->taken != NULL ? ", or it has an offset already" : "", d);
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

efface_status ef_value_columns_mark(const efface_data *data, const efface_category *columns,
                                    size_t n, bool *chosen, efface_error *error) {
    const ef_value_columns among = {.data = data};
    efface_status status = EFFACE_OK;
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        uint32_t column = data->n_columns;
        status = ef_value_column_find(&among, columns[i].column, columns[i].place, &column, error);
        if (status == EFFACE_OK && chosen != NULL && column < data->n_columns)
            chosen[column] = true;
    }
    return status;
}
