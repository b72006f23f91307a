/*
 * The columns of a CSV file.
 *
 * A column that the options name is looked for in the first line if that may be a header, and then
 * taken as a number. Whether the first line is a header is decided last, because a name that was
 * found there settles it.
 */
#include "data/files/csv_columns.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/files/skipped_columns.h"
#include "data/texts/field_types.h"
#include "data/texts/number.h"

#include <stdio.h>
#include <string.h>

#define NO_FIELD SIZE_MAX

static const char *const role_names[EF_ROLES] = {"value",  "id",    "owner",
                                                 "weight", "label", "skipped"};

/* A list of the columns, cut if it is long, for messages about a missing column. */
typedef struct listing {
    char text[200];
} listing;

static listing list_columns(const ef_csv *csv, bool names) {
    listing list;
    if (!names) {
        (void)snprintf(list.text, sizeof list.text, "%zu columns without names", csv->n_fields);
        return list;
    }
    size_t used = (size_t)snprintf(list.text, sizeof list.text, "the columns ");
    for (size_t i = 0; i < csv->n_fields; i++) {
        ef_field_shown shown = {"(no name)"};
        if (!ef_field_is_blank(csv->fields[i]))
            shown = ef_field_show(csv->fields[i]);
        const size_t needed = strlen(shown.text) + 2;
        if (used + needed + sizeof "..." > sizeof list.text) {
            memcpy(list.text + used, "...", sizeof "...");
            break;
        }
        used += (size_t)snprintf(list.text + used, sizeof list.text - used, "%s%s", shown.text,
                                 i + 1 < csv->n_fields ? ", " : "");
    }
    return list;
}

static bool is_number(ef_csv_field field) {
    double value;
    return ef_number_parse(field.text, field.n_bytes, &value) != EF_NUMBER_NONE;
}

static efface_status fail_unclear(const ef_csv *csv, efface_error *error) {
    return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, 0,
                      "this line could be a header or a row; set the option header to say which");
}

static ef_field_shown show_name(const char *name) {
    return ef_field_show((ef_csv_field){name, strlen(name)});
}

static bool has_name(ef_csv_field field, const char *name, size_t length) {
    return field.n_bytes == length && !ef_field_is_blank(field) &&
           memcmp(field.text, name, length) == 0;
}

/* The columns at first and second have the name of the column that is asked for. A name that is a
 * number does not give way to the number of a column. */
static efface_status fail_two_columns(const ef_csv *csv, const char *name, ef_role role,
                                      size_t first, size_t second, efface_error *error) {
    return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, second + 1,
                      "columns %zu and %zu both have the name \"%s\", which was given for the %s "
                      "column; %s (the file has %s)",
                      first + 1, second + 1, show_name(name).text, role_names[role],
                      ef_number_is_digits(name, strlen(name))
                          ? "rename one"
                          : "rename one, or name the column by its number",
                      list_columns(csv, true).text);
}

/* The field that `name` names, by the header if `names`, else by its number; *by_name: by the
 * header, and it is no number. While the header is only suspected (`guess`), a number that means
 * one column as a name and another by its place is not decided here. */
static efface_status find_column(const ef_csv *csv, const char *name, bool names, bool guess,
                                 ef_role role, size_t *field, bool *by_name, efface_error *error) {
    const size_t length = strlen(name);
    *field = NO_FIELD;
    for (size_t i = 0; names && i < csv->n_fields; i++) {
        if (!has_name(csv->fields[i], name, length))
            continue;
        if (*field != NO_FIELD)
            return fail_two_columns(csv, name, role, *field, i, error);
        *field = i;
    }
    uint64_t number = 0;
    const bool numeric =
        ef_number_is_digits(name, length) && ef_number_parse_digits(name, length, &number);
    *by_name = *field != NO_FIELD && !numeric;
    if (!numeric || number < 1 || number > csv->n_fields || *field == number - 1)
        number = 0;
    if (*field != NO_FIELD && number != 0 && guess)
        return fail_unclear(csv, error);
    if (*field == NO_FIELD && number != 0)
        *field = (size_t)(number - 1);
    if (*field == NO_FIELD)
        return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, 0,
                          "there is no %s column \"%s\"; the file has %s", role_names[role],
                          show_name(name).text, list_columns(csv, names).text);
    return EFFACE_OK;
}

/* Gives roles to the columns that the options name; *by_name: one was found by its name. */
static efface_status assign_roles(const ef_csv *csv, const efface_load_options *options, bool names,
                                  ef_columns *columns, bool *by_name, efface_error *error) {
    const char *const wanted[] = {NULL, options->id_column, options->owner_column,
                                  options->weight_column, options->label_column};
    *by_name = false;
    for (int i = EF_ROLE_ID; i <= EF_ROLE_LABEL; i++) {
        if (wanted[i] == NULL)
            continue;
        const ef_role role = (ef_role)i;
        size_t field = 0;
        bool found_by_name = false;
        const bool guess = options->header == EFFACE_HEADER_DETECT;
        const efface_status status =
            find_column(csv, wanted[i], names, guess, role, &field, &found_by_name, error);
        if (status != EFFACE_OK)
            return status;
        if (columns->roles[field] != EF_ROLE_VALUE)
            return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, field + 1,
                              "the column \"%s\" cannot be both the %s and the %s column; the "
                              "file has %s",
                              show_name(wanted[i]).text, role_names[columns->roles[field]],
                              role_names[role], list_columns(csv, names).text);
        columns->roles[field] = (unsigned char)role;
        columns->has[role] = true;
        columns->n_values--;
        *by_name |= found_by_name;
    }
    return EFFACE_OK;
}

static bool may_be_value(const ef_columns *columns, size_t field) {
    return columns->roles[field] == EF_ROLE_VALUE || columns->roles[field] == EF_ROLE_SKIPPED;
}

/* The field of a column of values with a number, from 1; NO_FIELD if there is none. */
static size_t value_field(const ef_columns *columns, uint64_t number) {
    for (size_t i = 0; i < columns->n_fields; i++)
        if (may_be_value(columns, i) && --number == 0)
            return i;
    return NO_FIELD;
}

/* Takes the role from the columns that are marked, which are numbered among those of values. */
static void take_values_away(ef_columns *columns, const bool *skipped) {
    size_t number = 0;
    for (size_t i = 0; i < columns->n_fields; i++) {
        if (columns->roles[i] != EF_ROLE_VALUE || !skipped[number++])
            continue;
        columns->roles[i] = EF_ROLE_SKIPPED;
        columns->n_values--;
        columns->n_skipped++;
    }
}

/* Finds the columns that are not read; *by_name: one was found by its name. */
static efface_status skip_columns(const ef_csv *csv, const efface_load_options *options, bool names,
                                  ef_columns *columns, bool *by_name, efface_error *error) {
    if (!ef_options_skip(options))
        return EFFACE_OK;
    ef_csv_field *const fields = ef_alloc(csv->n_fields, sizeof *fields);
    bool *const skipped = ef_alloc_zero(csv->n_fields, sizeof *skipped);
    efface_status status = fields != NULL && skipped != NULL ? EFFACE_OK : ef_fail_memory(error);
    ef_file_columns file = {.names = names ? fields : NULL,
                            .guessed = options->header == EFFACE_HEADER_DETECT};
    for (size_t i = 0; i < csv->n_fields && status == EFFACE_OK; i++)
        if (columns->roles[i] == EF_ROLE_VALUE)
            fields[file.n++] = csv->fields[i];
    EF_THEN(status, ef_skip_columns(&file, options, skipped, by_name, error));
    if (status == EFFACE_OK)
        take_values_away(columns, skipped);
    ef_free(fields);
    ef_free(skipped);
    return status;
}

/* What the fields of a column may be, as far as that is known before it is known whether the first
 * line is a header. */
typedef struct ef_expected {
    bool category; /* any text */
    efface_column_type type;
} ef_expected;

/* The field of the column that an option means; NO_FIELD if there is none. *by_name: it was found by
 * its name. */
static size_t find_values(const ef_csv *csv, const char *name, uint32_t place, bool names,
                          const ef_columns *columns, bool *by_name) {
    const size_t length = name != NULL ? strlen(name) : 0;
    const bool numeric = length != 0 && ef_number_is_digits(name, length);
    uint64_t number = place;
    for (size_t i = 0; names && length != 0 && !numeric && i < csv->n_fields; i++)
        if (columns->roles[i] == EF_ROLE_VALUE && has_name(csv->fields[i], name, length)) {
            *by_name = true;
            return i;
        }
    if (number == 0 && numeric && !ef_number_parse_digits(name, length, &number))
        number = 0;
    return number != 0 ? value_field(columns, number) : NO_FIELD;
}

static void find_expected(const ef_csv *csv, const efface_load_options *options, bool names,
                          const ef_columns *columns, ef_expected *expected, bool *by_name) {
    for (size_t i = 0; i < options->n_categories; i++) {
        const efface_category *const category = &options->categories[i];
        const size_t field =
            find_values(csv, category->column, category->place, names, columns, by_name);
        if (field != NO_FIELD)
            expected[field].category = true;
    }
    for (size_t i = 0; i < options->n_types; i++) {
        const efface_typed_column *const typed = &options->types[i];
        const size_t field = find_values(csv, typed->column, typed->place, names, columns, by_name);
        if (field != NO_FIELD)
            expected[field].type = typed->type;
    }
}

static bool is_of_type(ef_csv_field field, efface_column_type type) {
    double value;
    return type != EFFACE_TYPE_NUMBER && ef_type_read(type, field, &value) == EF_NUMBER_OK;
}

/*
 * Whether the first line is a header, if that is to be detected: it is if a field is not a number.
 * One case is left to the caller, since a wrong guess would lose a row without a word: all values
 * are numbers, and what is not stands in a column that may hold text and was given by its number,
 * as in "alice,0.5,0.25".
 */
static efface_status detect_header(const ef_csv *csv, bool missing, const ef_expected *expected,
                                   ef_columns *columns, bool by_name, efface_error *error) {
    bool text_among_values = false, text_elsewhere = false;
    for (size_t i = 0; i < csv->n_fields; i++) {
        const ef_role role = (ef_role)columns->roles[i];
        const bool is_empty = csv->fields[i].n_bytes == 0;
        /* In a row, only the field of the owner may be empty, and values that may be missing. */
        if (is_number(csv->fields[i]) ||
            (is_empty && (role == EF_ROLE_OWNER || role == EF_ROLE_SKIPPED)) ||
            (role == EF_ROLE_VALUE && missing && ef_field_is_missing(csv->fields[i])) ||
            is_of_type(csv->fields[i], expected[i].type))
            continue;
        if ((role == EF_ROLE_VALUE && !expected[i].category) || role == EF_ROLE_WEIGHT || is_empty)
            text_among_values = true;
        else
            text_elsewhere = true;
    }
    columns->header = by_name || text_among_values;
    if (!columns->header && text_elsewhere)
        return fail_unclear(csv, error);
    return EFFACE_OK;
}

static efface_status look_for_header(const ef_csv *csv, const efface_load_options *options,
                                     bool names, ef_columns *columns, bool by_name,
                                     efface_error *error) {
    ef_expected *const expected = ef_alloc_zero(csv->n_fields, sizeof *expected);
    if (expected == NULL)
        return ef_fail_memory(error);
    find_expected(csv, options, names, columns, expected, &by_name);
    const efface_status status =
        detect_header(csv, options->missing != 0, expected, columns, by_name, error);
    ef_free(expected);
    return status;
}

efface_status ef_csv_columns(const ef_csv *csv, const efface_load_options *options,
                             ef_columns *columns, efface_error *error) {
    *columns = (ef_columns){.n_fields = csv->n_fields,
                            .n_values = (uint32_t)csv->n_fields,
                            .header = options->header == EFFACE_HEADER_YES};
    columns->roles = ef_alloc_zero(csv->n_fields, sizeof *columns->roles);
    if (columns->roles == NULL)
        return ef_fail_memory(error);
    /* A line of numbers only is no header, and its numbers are no names, unless we are told. */
    bool names = columns->header;
    if (options->header == EFFACE_HEADER_DETECT)
        for (size_t i = 0; i < csv->n_fields; i++)
            names |= !is_number(csv->fields[i]) &&
                     !(options->missing != 0 && ef_field_is_missing(csv->fields[i]));
    bool by_name;
    efface_status status = assign_roles(csv, options, names, columns, &by_name, error);
    EF_THEN(status, skip_columns(csv, options, names, columns, &by_name, error));
    if (status == EFFACE_OK && options->header == EFFACE_HEADER_DETECT)
        status = look_for_header(csv, options, names, columns, by_name, error);
    if (status != EFFACE_OK)
        return status;
    if (columns->n_values == 0)
        return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, 0,
                          "no column is left for the values; the file has %s",
                          list_columns(csv, names).text);
    if (columns->n_values > EFFACE_MAX_COLUMNS)
        return ef_fail_at(
            error, EFFACE_E_LIMIT, csv->reader->name, csv->line, 0,
            "the file has %u columns of values, but a set can have at most %u; use fewer columns",
            columns->n_values, EFFACE_MAX_COLUMNS);
    return EFFACE_OK;
}
