/*
 * Rows from CSV. What their fields mean is told by csv_fields.c.
 *
 * Rows are added to the set in batches. If a batch is refused, its rows are added one by one to
 * find the one to blame and name its line.
 */
#include "data/files/csv_fields.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/files/loaders.h"
#include "data/texts/number.h"
#include "data/units/column_types.h"
#include "data/units/offsets.h"

#include <inttypes.h>
#include <string.h>

#define BATCH_VALUES ((size_t)1 << 14)
#define BATCH_ROWS ((size_t)1 << 10)
#define SHARE_ROWS 64

static void close_loader(ef_csv_loader *l) {
    ef_csv_close(&l->csv);
    efface_data_free(l->data);
    ef_text_numbers_free(&l->owners);
    ef_text_numbers_free(&l->labels);
    efface_texts_free(l->texts);
    ef_rounding_clear(&l->rounding);
    ef_free(l->row_values);
    ef_free(l->special);
    ef_free(l->complete);
    ef_free(l->columns.roles);
    ef_read_columns_clear(&l->read);
    ef_free(l->id_checks);
    ef_free(l->batch_values);
    ef_free(l->batch_ids);
    ef_free(l->batch_checks);
    ef_free(l->batch_owners);
    ef_free(l->batch_weights);
    ef_free(l->batch_labels);
    ef_free(l->batch_lines);
}

/* ---------------------------------------------------------------- rows */

/* From a column or, in a share of the rows, their numbers in the file. */
static bool has_ids(const ef_csv_loader *l) {
    return l->columns.has[EF_ROLE_ID] || l->options->n_shares > 1;
}

static efface_rows batch_rows(const ef_csv_loader *l, size_t first, size_t n_rows) {
    return (efface_rows){
        .n_rows = n_rows,
        .values = l->batch_values + first * l->columns.n_values,
        .ids = has_ids(l) ? l->batch_ids + first : NULL,
        .owners = l->columns.has[EF_ROLE_OWNER] ? l->batch_owners + first : NULL,
        .weights = l->columns.has[EF_ROLE_WEIGHT] ? l->batch_weights + first : NULL,
        .labels = l->columns.has[EF_ROLE_LABEL] ? l->batch_labels + first : NULL,
    };
}

/* Shares take turns, SHARE_ROWS rows at a time: nobody knows how many rows there are before the
 * end. The number of a row of this share in the file, from 1. */
static size_t number_in_file(const ef_csv_loader *l, size_t position) {
    if (l->options->n_shares <= 1)
        return position + 1;
    const size_t turn = position / SHARE_ROWS * l->options->n_shares + l->options->share;
    return turn * SHARE_ROWS + position % SHARE_ROWS + 1;
}

/* Row i of the batch has an id that is there. */
static efface_status fail_duplicate(const ef_csv_loader *l, size_t i, efface_error *error) {
    size_t position = 0;
    (void)efface_data_find(l->data, l->batch_ids[i], &position);
    if (l->id_kind == EF_TEXT && l->id_checks[position] != l->batch_checks[i])
        return ef_fail_collision(&l->csv, l->batch_lines[i], "id", error);
    return ef_fail_at(error, EFFACE_E_DUPLICATE, l->csv.reader->name, l->batch_lines[i], 0,
                      "this row has the same id as row %zu; ids are unique: remove one of the rows "
                      "or give it another id",
                      number_in_file(l, position));
}

/* Adds rows of the batch; the second halves of hashes go along. */
static efface_status add_rows(ef_csv_loader *l, size_t first, size_t n_rows, efface_error *error) {
    const size_t before = efface_data_n_rows(l->data);
    if (l->columns.has[EF_ROLE_ID] && l->id_kind == EF_TEXT) {
        if (before + n_rows > l->id_checks_capacity) {
            const size_t capacity = before + before / 2 + n_rows;
            uint64_t *const checks = ef_realloc(l->id_checks, capacity, sizeof *checks);
            if (checks == NULL)
                return ef_fail_memory(error);
            l->id_checks = checks;
            l->id_checks_capacity = capacity;
        }
        memcpy(l->id_checks + before, l->batch_checks + first, n_rows * sizeof *l->id_checks);
    }
    const efface_rows rows = batch_rows(l, first, n_rows);
    return efface_data_add(l->data, &rows, error);
}

/* Room for the rows to come, if the size of the file is known and they are about as long as those
 * before. A guess: without the room the set grows as it must. */
static void reserve_what_is_left(ef_csv_loader *l) {
    const size_t n_rows = efface_data_n_rows(l->data), least = n_rows + l->n_batch;
    uint64_t left;
    if (least <= l->data->capacity || !ef_reader_left(l->csv.reader, &left))
        return;
    const uint64_t n_read = l->csv.reader->n_source_bytes - left;
    const double rows_left = (double)left / (double)(n_read + 1) * (double)least;
    if (rows_left < (double)(SIZE_MAX / 4))
        (void)ef_data_reserve(l->data, least + (size_t)(rows_left * 1.01), NULL);
}

static efface_status flush_batch(ef_csv_loader *l, efface_error *error) {
    efface_error detail;
    reserve_what_is_left(l);
    efface_status status = l->n_batch > 0 ? add_rows(l, 0, l->n_batch, &detail) : EFFACE_OK;
    if (status != EFFACE_OK && status != EFFACE_E_MEMORY) {
        size_t i = 0;
        while (i < l->n_batch && (status = add_rows(l, i, 1, &detail)) == EFFACE_OK)
            i++;
        if (status == EFFACE_E_DUPLICATE)
            return fail_duplicate(l, i, error);
        if (status != EFFACE_OK && status != EFFACE_E_MEMORY)
            return ef_fail_at(error, status, l->csv.reader->name, l->batch_lines[i], 0, "%s",
                              detail.message);
    }
    if (status != EFFACE_OK)
        return ef_fail_memory(error);
    l->n_batch = 0;
    return EFFACE_OK;
}

static bool is_wanted(const ef_csv_loader *l) {
    return l->options->n_shares <= 1 ||
           l->n_read / SHARE_ROWS % l->options->n_shares == l->options->share;
}

/* A row of another share may be the first that says what a column holds. */
static void pass_row(ef_csv_loader *l) {
    const ef_csv *const csv = &l->csv;
    for (size_t i = 0; i < csv->n_fields && csv->n_fields == l->columns.n_fields; i++) {
        switch ((ef_role)l->columns.roles[i]) {
        case EF_ROLE_ID: ef_decide_kind(&l->id_kind, csv->fields[i]); break;
        case EF_ROLE_OWNER: ef_decide_kind(&l->owner_kind, csv->fields[i]); break;
        case EF_ROLE_LABEL: ef_decide_label_kind(l, csv->fields[i]); break;
        default: break;
        }
    }
}

static efface_status read_row(ef_csv_loader *l, efface_error *error) {
    const ef_csv *const csv = &l->csv;
    if (csv->n_fields != l->columns.n_fields)
        return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, 0,
                          "the row has %zu fields, but the first line has %zu; correct the row",
                          csv->n_fields, l->columns.n_fields);
    float *const values = l->batch_values + l->n_batch * l->columns.n_values;
    uint32_t column = 0;
    efface_status status = EFFACE_OK;
    for (size_t i = 0; i < csv->n_fields && status == EFFACE_OK; i++) {
        switch ((ef_role)l->columns.roles[i]) {
        case EF_ROLE_ID: status = ef_read_csv_id(l, i, error); break;
        case EF_ROLE_OWNER: status = ef_read_csv_owner(l, i, error); break;
        case EF_ROLE_WEIGHT: status = ef_read_csv_weight(l, i, error); break;
        case EF_ROLE_LABEL: status = ef_read_csv_label(l, i, error); break;
        case EF_ROLE_SKIPPED: break;
        default:
            status = ef_read_csv_value(l, i, column, values + column, error);
            column++;
            break;
        }
    }
    if (status == EFFACE_OK && l->options->rounding != NULL)
        status = efface_rounding_add(&l->rounding, 1, l->columns.n_values, l->row_values, 0,
                                     l->data->offsets, error);
    if (status != EFFACE_OK)
        return status;
    if (!l->columns.has[EF_ROLE_ID])
        l->batch_ids[l->n_batch] = l->n_read;
    l->batch_lines[l->n_batch++] = csv->line;
    return l->n_batch == l->batch_capacity ? flush_batch(l, error) : EFFACE_OK;
}

static bool allocate_batch(ef_csv_loader *l) {
    const size_t d = l->columns.n_values;
    const size_t n = BATCH_VALUES / d < BATCH_ROWS ? BATCH_VALUES / d + 1 : BATCH_ROWS;
    l->batch_capacity = n;
    l->row_values = ef_alloc(d, sizeof *l->row_values);
    l->special = ef_alloc_zero(d, sizeof *l->special);
    l->complete = ef_alloc_zero(d, sizeof *l->complete);
    l->batch_values = ef_alloc(n * d, sizeof *l->batch_values);
    l->batch_ids = ef_alloc(n, sizeof *l->batch_ids);
    l->batch_checks = ef_alloc(n, sizeof *l->batch_checks);
    l->batch_owners = ef_alloc(n, sizeof *l->batch_owners);
    l->batch_weights = ef_alloc(n, sizeof *l->batch_weights);
    l->batch_labels = ef_alloc(n, sizeof *l->batch_labels);
    l->batch_lines = ef_alloc(n, sizeof *l->batch_lines);
    return l->row_values != NULL && l->special != NULL && l->complete != NULL &&
           l->batch_values != NULL && l->batch_ids != NULL && l->batch_checks != NULL &&
           l->batch_owners != NULL && l->batch_weights != NULL && l->batch_labels != NULL &&
           l->batch_lines != NULL;
}

static efface_status name_column(efface_data *data, uint32_t column, ef_csv_field field,
                                 efface_error *error) {
    if (ef_field_is_blank(field))
        return EFFACE_OK;
    char *const name = ef_alloc(field.n_bytes + 1, 1);
    if (name == NULL)
        return ef_fail_memory(error);
    memcpy(name, field.text, field.n_bytes);
    name[field.n_bytes] = '\0';
    const efface_status status = efface_data_name_column(data, column, name, error);
    ef_free(name);
    return status;
}

/* The names of the columns of values, from the header that csv holds; and of those that are not
 * read. */
static efface_status name_columns(ef_csv_loader *l, efface_error *error) {
    uint32_t column = 0, in_file = 0;
    efface_status status = EFFACE_OK;
    for (size_t i = 0; i < l->csv.n_fields && status == EFFACE_OK; i++) {
        const ef_role role = (ef_role)l->columns.roles[i];
        if (role != EF_ROLE_VALUE && role != EF_ROLE_SKIPPED)
            continue;
        if (l->read.file != NULL)
            status = name_column(l->read.file, in_file++, l->csv.fields[i], error);
        if (role == EF_ROLE_VALUE)
            EF_THEN(status, name_column(l->data, column++, l->csv.fields[i], error));
    }
    return status;
}

/* Keeps which columns are not read, if there are such. */
static efface_status note_skipped(ef_csv_loader *l, efface_error *error) {
    const size_t n = (size_t)l->columns.n_values + l->columns.n_skipped;
    if (l->columns.n_skipped == 0)
        return EFFACE_OK;
    bool *const skipped = ef_alloc(n, sizeof *skipped);
    if (skipped == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0, j = 0; i < l->columns.n_fields; i++)
        if (l->columns.roles[i] == EF_ROLE_VALUE || l->columns.roles[i] == EF_ROLE_SKIPPED)
            skipped[j++] = l->columns.roles[i] == EF_ROLE_SKIPPED;
    const efface_status status = ef_read_columns_begin(&l->read, n, skipped, error);
    ef_free(skipped);
    return status;
}

static efface_status fail_no_rows(const ef_csv *csv, efface_error *error) {
    return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, 0, 0,
                      "the file has no rows: there is nothing to load");
}

/* Reads the first record and makes ready for the rows; if it is no header it is the first row. */
static efface_status begin_rows(ef_csv_loader *l, efface_error *error) {
    efface_status status = ef_csv_next(&l->csv, error);
    if (status != EFFACE_OK)
        return status;
    if (l->csv.n_fields == 0)
        return fail_no_rows(&l->csv, error);
    status = ef_csv_columns(&l->csv, l->options, &l->columns, error);
    EF_THEN(status, efface_data_create(l->columns.n_values, &l->data, error));
    EF_THEN(status, note_skipped(l, error));
    if (status == EFFACE_OK && !allocate_batch(l))
        status = ef_fail_memory(error);
    if (status != EFFACE_OK)
        return status;
    if (l->columns.header)
        status = name_columns(l, error);
    const efface_load_options *const o = l->options;
    EF_THEN(status, ef_offsets_choose(l->data, &l->read, o, error));
    EF_THEN(status, ef_value_columns_mark(l->data, &l->read, o->categories, o->n_categories,
                                          l->special, error));
    EF_THEN(status, ef_value_columns_mark(l->data, &l->read, o->complete, o->n_complete,
                                          l->complete, error));
    EF_THEN(status, ef_types_choose(l->data, &l->read, o, error));
    const efface_column_type *const types = l->data->types;
    for (uint32_t j = 0; types != NULL && j < l->columns.n_values; j++)
        l->special[j] |= types[j] != EFFACE_TYPE_NUMBER;
    if (status == EFFACE_OK)
        ef_read_columns_tell(&l->read, o);
    if (l->options->missing != 0)
        efface_data_allow_missing(l->data);
    return status == EFFACE_OK && l->columns.header ? ef_csv_next(&l->csv, error) : status;
}

static ef_text_or_number decided(efface_ids asked) {
    return asked == EFFACE_IDS_NUMBERS ? EF_NUMBERS
           : asked == EFFACE_IDS_TEXT  ? EF_TEXT
                                       : EF_UNDECIDED;
}

static efface_ids kind_of(ef_text_or_number found) {
    return found == EF_NUMBERS ? EFFACE_IDS_NUMBERS
           : found == EF_TEXT  ? EFFACE_IDS_TEXT
                               : EFFACE_IDS_DETECT;
}

efface_status ef_csv_load(ef_reader *reader, const efface_load_options *options, efface_data **out,
                          efface_error *error) {
    ef_csv_loader l = {.options = options};
    l.id_kind = decided(options->ids);
    l.owner_kind = decided(options->owners);
    l.label_kind = decided(options->labels);
    efface_status status = ef_csv_open(&l.csv, reader, options->delimiter, error);
    if (status == EFFACE_OK && options->texts != NULL)
        status = efface_texts_create(&l.texts, error);
    EF_THEN(status, begin_rows(&l, error));
    while (status == EFFACE_OK && l.csv.n_fields > 0) {
        if (is_wanted(&l))
            status = read_row(&l, error);
        else
            pass_row(&l);
        l.n_read++;
        EF_THEN(status, ef_csv_next(&l.csv, error));
    }
    EF_THEN(status, flush_batch(&l, error));
    if (status == EFFACE_OK && l.n_read == 0)
        status = fail_no_rows(&l.csv, error);
    if (status == EFFACE_OK && l.texts != NULL)
        status = ef_texts_move(options->texts, l.texts, error);
    if (status == EFFACE_OK) {
        l.data->id_kind = l.columns.has[EF_ROLE_ID] ? kind_of(l.id_kind) : EFFACE_IDS_DETECT;
        l.data->owner_kind =
            l.columns.has[EF_ROLE_OWNER] ? kind_of(l.owner_kind) : EFFACE_IDS_DETECT;
        if (options->rounding != NULL)
            ef_rounding_move(options->rounding, &l.rounding);
        *out = l.data;
        l.data = NULL;
    }
    close_loader(&l);
    return status;
}

/* ---------------------------------------------------------------- labels */

static efface_status read_labels(ef_csv *csv, int64_t *labels, size_t n_rows, efface_error *error) {
    efface_status status = ef_csv_next(csv, error);
    double ignored;
    if (status == EFFACE_OK && csv->n_fields == 1 &&
        ef_number_parse(csv->fields[0].text, csv->fields[0].n_bytes, &ignored) == EF_NUMBER_NONE)
        status = ef_csv_next(csv, error); /* a header */
    size_t n = 0;
    while (status == EFFACE_OK && csv->n_fields > 0) {
        if (csv->n_fields != 1)
            return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, 0,
                              "labels must be in one column, but the row has %zu fields",
                              csv->n_fields);
        if (n == n_rows)
            return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, 0,
                              "from here on, there are more labels than the set has rows (%zu); "
                              "there must be one label for each row",
                              n_rows);
        status = ef_read_label_number(csv, 0, &labels[n++], error);
        EF_THEN(status, ef_csv_next(csv, error));
    }
    if (status == EFFACE_OK && n != n_rows)
        return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, 0, 0,
                          "the file has %zu labels, but the set has %zu rows; there must be one "
                          "label for each row",
                          n, n_rows);
    return status;
}

efface_status ef_csv_load_labels(ef_reader *reader, int64_t *labels, size_t n_rows,
                                 efface_error *error) {
    ef_csv csv;
    efface_status status = ef_csv_open(&csv, reader, 0, error);
    EF_THEN(status, read_labels(&csv, labels, n_rows, error));
    ef_csv_close(&csv);
    return status;
}
