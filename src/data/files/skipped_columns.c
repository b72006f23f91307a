/*
 * Which columns of a file are not read.
 *
 * People list columns by names, numbers and ranges of numbers: those to read, and those to leave
 * out. Programs that know the columns of a model or a store give their names: where a file has
 * these, it may have others, which are left out.
 */
#include "data/files/skipped_columns.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/texts/number.h"

#include <string.h>

#define NO_COLUMN SIZE_MAX

/* One list at work. */
typedef struct list_reading {
    const ef_file_columns *file;
    const char *purpose; /* of its columns, for messages */
    bool *chosen;        /* by this list */
    bool by_name;
    efface_error *error;
} list_reading;

bool ef_options_skip(const efface_load_options *options) {
    return options->n_columns != 0 || options->n_ignored != 0 || options->n_known != 0;
}

/* ---------------------------------------------------------------- items */

static bool has_name(const ef_file_columns *file, size_t column, ef_csv_field name) {
    return file->names != NULL && file->names[column].n_bytes == name.n_bytes &&
           !ef_field_is_blank(name) &&
           memcmp(file->names[column].text, name.text, name.n_bytes) == 0;
}

/* The next column with a name, from a column on. */
static size_t find_name(const ef_file_columns *file, ef_csv_field name, size_t from) {
    for (size_t i = from; i < file->n; i++)
        if (has_name(file, i, name))
            return i;
    return NO_COLUMN;
}

/* A number of a column, from 1; 0 if the text is none. */
static size_t read_column_number(const ef_file_columns *file, ef_csv_field text) {
    uint64_t number = 0;
    return ef_number_is_digits(text.text, text.n_bytes) &&
                   ef_number_parse_digits(text.text, text.n_bytes, &number) && number <= file->n
               ? (size_t)number
               : 0;
}

static efface_status choose(list_reading *r, size_t column, ef_csv_field item) {
    if (r->chosen[column])
        return ef_fail(r->error, EFFACE_E_ARGUMENT,
                       "'%s' names a column that was named before; name each column once",
                       ef_field_show(item).text);
    r->chosen[column] = true;
    return EFFACE_OK;
}

static efface_status fail_unknown(const list_reading *r, ef_csv_field item) {
    return ef_fail(r->error, EFFACE_E_ARGUMENT,
                   "there is no column '%s' to %s; columns%s have numbers, here from 1 to %zu",
                   ef_field_show(item).text, r->purpose,
                   r->file->names != NULL ? " of values have names, and all" : "", r->file->n);
}

static efface_status choose_range(list_reading *r, ef_csv_field item) {
    const char *const dash = memchr(item.text, '-', item.n_bytes);
    const size_t n_first = dash != NULL ? (size_t)(dash - item.text) : 0;
    if (dash == NULL)
        return fail_unknown(r, item);
    const size_t first = read_column_number(r->file, (ef_csv_field){item.text, n_first});
    const size_t last =
        read_column_number(r->file, (ef_csv_field){dash + 1, item.n_bytes - n_first - 1});
    if (first == 0 || last < first)
        return fail_unknown(r, item);
    efface_status status = EFFACE_OK;
    for (size_t i = first - 1; i < last && status == EFFACE_OK; i++)
        status = choose(r, i, item);
    return status;
}

static efface_status choose_item(list_reading *r, ef_csv_field item) {
    const size_t named = find_name(r->file, item, 0), number = read_column_number(r->file, item);
    if (named == NO_COLUMN)
        return number != 0 ? choose(r, number - 1, item) : choose_range(r, item);
    if (find_name(r->file, item, named + 1) != NO_COLUMN)
        return ef_fail(r->error, EFFACE_E_ARGUMENT,
                       "several columns have the name '%s'; use a number from 1 to %zu",
                       ef_field_show(item).text, r->file->n);
    if (number != 0 && number - 1 != named && r->file->guessed)
        return ef_fail(r->error, EFFACE_E_ARGUMENT,
                       "'%s' may be the name of a column or its number, for the first line could "
                       "be a header or a row; set the option header to say which",
                       ef_field_show(item).text);
    r->by_name |= !ef_number_is_digits(item.text, item.n_bytes);
    return choose(r, named, item);
}

/* A list, or one name that may have commas. */
static efface_status choose_list(list_reading *r, const char *list) {
    const size_t n_bytes = strlen(list);
    if (find_name(r->file, (ef_csv_field){list, n_bytes}, 0) != NO_COLUMN)
        return choose_item(r, (ef_csv_field){list, n_bytes});
    efface_status status = EFFACE_OK;
    for (const char *at = list; status == EFFACE_OK; at++) {
        const size_t n = strcspn(at, ",");
        status = choose_item(r, (ef_csv_field){at, n});
        at += n;
        if (*at == '\0')
            break;
    }
    return status;
}

/* Marks the columns of any of the lists. */
static efface_status mark_lists(const ef_file_columns *file, const char *const *lists, size_t n,
                                const char *purpose, bool *marked, bool *by_name,
                                efface_error *error) {
    bool *const chosen = ef_alloc(file->n, sizeof *chosen);
    efface_status status = chosen != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = 0; i < n && status == EFFACE_OK; i++) {
        list_reading r = {.file = file, .purpose = purpose, .chosen = chosen, .error = error};
        memset(chosen, 0, file->n * sizeof *chosen);
        status = choose_list(&r, lists[i]);
        *by_name |= r.by_name;
        for (size_t j = 0; j < file->n && status == EFFACE_OK; j++)
            marked[j] |= chosen[j];
    }
    ef_free(chosen);
    return status;
}

/* ---------------------------------------------------------------- columns that are known */

static ef_csv_field known_name(const efface_load_options *options, size_t i) {
    const char *const name = options->known[i].column;
    return (ef_csv_field){name, name != NULL ? strlen(name) : 0};
}

/* Where all known columns are there by name, all others are left out. If some are not there, others
 * that have names are, so that it can be said which are missing; but a column without a name may be
 * known by its place, and then all columns stay. */
static void skip_unknown(const ef_file_columns *file, const efface_load_options *options,
                         bool *known, bool *skipped, bool *by_name) {
    size_t n_found = 0;
    bool blank = false;
    memset(known, 0, file->n * sizeof *known);
    for (size_t i = 0; i < options->n_known; i++) {
        const ef_csv_field name = known_name(options, i);
        const size_t first = find_name(file, name, 0);
        n_found += first != NO_COLUMN;
        *by_name |= first != NO_COLUMN && !ef_number_is_digits(name.text, name.n_bytes);
        for (size_t j = first; j != NO_COLUMN; j = find_name(file, name, j + 1))
            known[j] = true;
    }
    for (size_t j = 0; j < file->n; j++)
        blank |= file->names == NULL || ef_field_is_blank(file->names[j]);
    if (n_found == 0 || (n_found < options->n_known && blank))
        return;
    for (size_t j = 0; j < file->n; j++)
        skipped[j] |= !known[j];
}

/* ---------------------------------------------------------------- all of it */

efface_status ef_skip_columns(const ef_file_columns *file, const efface_load_options *options,
                              bool *skipped, bool *by_name, efface_error *error) {
    bool *const marked = ef_alloc_zero(file->n + 1, sizeof *marked);
    if (marked == NULL)
        return ef_fail_memory(error);
    efface_status status =
        mark_lists(file, options->columns, options->n_columns, "read", marked, by_name, error);
    for (size_t j = 0; j < file->n && options->n_columns != 0; j++)
        skipped[j] = !marked[j];
    EF_THEN(status, mark_lists(file, options->ignored, options->n_ignored, "leave out", skipped,
                               by_name, error));
    if (status == EFFACE_OK && options->n_known != 0)
        skip_unknown(file, options, marked, skipped, by_name);
    ef_free(marked);
    return status;
}
