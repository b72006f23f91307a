/*
 * A look at a file. A CSV file is read once, a record at a time, and nothing is kept but counts. An
 * array, which has numbers only, is loaded.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/files/column_looks.h"
#include "data/files/csv_records.h"
#include "data/files/loaders.h"
#include "data/set/rows.h"

#include <string.h>

#define MOST_KEPT 4096 /* hashes of a column, for the number of different values */
#define LEAST_KEPT 64  /* of each of many columns */
#define KEPT_IN_ALL (1u << 22)

struct efface_file_look {
    uint64_t n_rows;
    uint32_t n_columns;
    bool header, unclear;
    char **names; /* NULL where a column has none */
    ef_column_counts *counts;
    efface_column_look *columns;
};

void efface_file_look_free(efface_file_look *look) {
    if (look == NULL)
        return;
    for (uint32_t j = 0; j < look->n_columns; j++) {
        if (look->names != NULL)
            ef_free(look->names[j]);
        if (look->counts != NULL)
            ef_distinct_free(&look->counts[j].distinct);
    }
    ef_free(look->names);
    ef_free(look->counts);
    ef_free(look->columns);
    ef_free(look);
}

static efface_status begin_columns(efface_file_look *look, size_t n, efface_error *error) {
    look->names = ef_alloc_zero(n, sizeof *look->names);
    look->counts = ef_alloc_zero(n, sizeof *look->counts);
    look->columns = ef_alloc_zero(n, sizeof *look->columns);
    if (look->names == NULL || look->counts == NULL || look->columns == NULL)
        return ef_fail_memory(error);
    look->n_columns = (uint32_t)n;
    const size_t share = KEPT_IN_ALL / n;
    for (size_t j = 0; j < n; j++)
        look->counts[j].distinct.n_kept = share > MOST_KEPT    ? MOST_KEPT
                                          : share < LEAST_KEPT ? LEAST_KEPT
                                                               : share;
    return EFFACE_OK;
}

static void finish_columns(efface_file_look *look) {
    for (uint32_t j = 0; j < look->n_columns; j++) {
        look->columns[j] = ef_column_look_of(&look->counts[j]);
        look->columns[j].name = look->names[j];
    }
}

/* ---------------------------------------------------------------- CSV */

static efface_status keep_name(efface_file_look *look, uint32_t column, ef_csv_field field,
                               efface_error *error) {
    if (ef_field_is_blank(field))
        return EFFACE_OK;
    char *const name = ef_alloc(field.n_bytes + 1, 1);
    if (name == NULL)
        return ef_fail_memory(error);
    memcpy(name, field.text, field.n_bytes);
    name[field.n_bytes] = '\0';
    look->names[column] = name;
    return EFFACE_OK;
}

/* The first record is a header if it has some text and no number. Where it has both, a load that
 * detects the header may take it for the other thing. */
static void find_header(efface_file_look *look, const ef_csv *csv, efface_header asked) {
    size_t n_numbers = 0, n_texts = 0;
    for (size_t i = 0; i < csv->n_fields; i++) {
        if (ef_field_is_number(csv->fields[i]))
            n_numbers++;
        else
            n_texts += !ef_field_is_missing(csv->fields[i]);
    }
    look->header =
        asked == EFFACE_HEADER_DETECT ? n_texts > 0 && n_numbers == 0 : asked == EFFACE_HEADER_YES;
    look->unclear = look->header ? n_numbers > 0 || n_texts == 0 : n_numbers < csv->n_fields;
}

static efface_status begin_csv(efface_file_look *look, ef_csv *csv,
                               const efface_load_options *options, efface_error *error) {
    efface_status status = ef_csv_next(csv, error);
    if (status != EFFACE_OK || csv->n_fields == 0)
        return status;
    status = begin_columns(look, csv->n_fields, error);
    if (status != EFFACE_OK)
        return status;
    find_header(look, csv, options->header);
    for (uint32_t j = 0; look->header && j < look->n_columns && status == EFFACE_OK; j++)
        status = keep_name(look, j, csv->fields[j], error);
    return status == EFFACE_OK && look->header ? ef_csv_next(csv, error) : status;
}

static efface_status look_at_record(efface_file_look *look, const ef_csv *csv,
                                    efface_error *error) {
    if (csv->n_fields != look->n_columns)
        return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, 0,
                          "the row has %zu fields, but the first line has %u; correct the row",
                          csv->n_fields, look->n_columns);
    for (uint32_t j = 0; j < look->n_columns; j++)
        if (!ef_column_count_field(&look->counts[j], csv->fields[j], csv->line))
            return ef_fail_memory(error);
    look->n_rows++;
    return EFFACE_OK;
}

static efface_status look_at_csv(efface_file_look *look, ef_reader *reader,
                                 const efface_load_options *options, efface_error *error) {
    ef_csv csv;
    efface_status status = ef_csv_open(&csv, reader, options->delimiter, error);
    EF_THEN(status, begin_csv(look, &csv, options, error));
    while (status == EFFACE_OK && csv.n_fields > 0) {
        status = look_at_record(look, &csv, error);
        EF_THEN(status, ef_csv_next(&csv, error));
    }
    if (status == EFFACE_OK && look->n_rows == 0)
        status = ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                            "the file has no rows: there is nothing to look at");
    ef_csv_close(&csv);
    return status;
}

/* ---------------------------------------------------------------- arrays */

static efface_status count_rows(efface_file_look *look, const efface_data *data,
                                efface_error *error) {
    const size_t n_rows = efface_data_n_rows(data);
    efface_status status = begin_columns(look, efface_data_n_columns(data), error);
    for (size_t i = 0; i < n_rows && status == EFFACE_OK; i++)
        for (uint32_t j = 0; j < look->n_columns && status == EFFACE_OK; j++)
            if (!ef_column_count_number(&look->counts[j], (double)ef_data_value(data, i, j)))
                status = ef_fail_memory(error);
    look->n_rows = n_rows;
    return status;
}

static efface_status look_at_array(efface_file_look *look, ef_reader *reader, ef_format format,
                                   efface_error *error) {
    efface_load_options options;
    ef_file_array array;
    efface_data *data = NULL;
    efface_load_options_init(&options);
    options.missing = 1;
    efface_status status = format == EF_FORMAT_NPY ? ef_npy_header(reader, &array, error)
                                                   : ef_idx_header(reader, &array, error);
    EF_THEN(status, ef_array_load(reader, &array, &options, &data, error));
    EF_THEN(status, count_rows(look, data, error));
    efface_data_free(data);
    return status;
}

/* ---------------------------------------------------------------- all formats */

static efface_status look_at(efface_file_look *look, ef_reader *reader,
                             const efface_load_options *options, efface_error *error) {
    ef_format format = EF_FORMAT_CSV;
    efface_status status = ef_check_load_options(options, error);
    reader->progress = options->progress;
    reader->progress_context = options->progress_context;
    EF_THEN(status, ef_tell_format(reader, &format, error));
    if (status != EFFACE_OK)
        return status;
    status = format == EF_FORMAT_CSV ? look_at_csv(look, reader, options, error)
                                     : look_at_array(look, reader, format, error);
    if (status == EFFACE_OK)
        finish_columns(look);
    return status;
}

efface_status efface_file_look_create(const char *path, const efface_load_options *options,
                                      efface_file_look **out, efface_error *error) {
    efface_load_options defaults;
    if (path == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "path and out must not be NULL");
    efface_load_options_init(&defaults);
    efface_file_look *const look = ef_alloc_zero(1, sizeof *look);
    if (look == NULL)
        return ef_fail_memory(error);
    ef_reader reader;
    efface_status status = ef_reader_open(&reader, path, error);
    if (status == EFFACE_OK) {
        status = look_at(look, &reader, options != NULL ? options : &defaults, error);
        ef_reader_close(&reader);
    }
    ef_wipe_stack(EF_DEEP_STACK);
    if (status == EFFACE_OK)
        *out = look;
    else
        efface_file_look_free(look);
    return status;
}

uint64_t efface_file_look_n_rows(const efface_file_look *look) {
    return look->n_rows;
}

uint32_t efface_file_look_n_columns(const efface_file_look *look) {
    return look->n_columns;
}

int efface_file_look_has_header(const efface_file_look *look) {
    return look->header;
}

int efface_file_look_is_unclear(const efface_file_look *look) {
    return look->unclear;
}

efface_column_look efface_file_look_column(const efface_file_look *look, uint32_t column) {
    return look->columns[column];
}
