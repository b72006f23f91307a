/*
 * What the fields of a CSV file mean.
 *
 * Ids, owners and labels may be text. Whether a column holds numbers or text is decided by its
 * first field; in a column of numbers text is an error, in a column of text everything is text
 * ("7" as well). Ids and owners are names, in quotes or not (data/texts/name_form.h); the text of a
 * label is what stands between the delimiters without the spaces around it, or between quotes as it
 * is. A row without an owner leaves the field empty.
 *
 * A value is a number. In a column of categories it may be a text, which becomes the code of that
 * text; if values may be missing, certain fields stand for one that is.
 */
#include "data/files/csv_fields.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/files/loaders.h"
#include "data/texts/field_types.h"
#include "data/texts/name_form.h"
#include "data/texts/number.h"
#include "data/units/value_columns.h"

#include <string.h>

static efface_status fail_field(const ef_csv *csv, size_t field, efface_status status,
                                const char *what, efface_error *error) {
    return ef_fail_at(error, status, csv->reader->name, csv->line, field + 1, "\"%s\" %s",
                      ef_field_show(csv->fields[field]).text, what);
}

/* A field that is no number as a set can hold it. */
static efface_status fail_number(const ef_csv *csv, size_t field, ef_parsed parsed,
                                 efface_error *error) {
    const ef_csv_field text = csv->fields[field];
    if (parsed == EF_NUMBER_NAN || parsed == EF_NUMBER_INFINITE)
        return fail_field(csv, field, EFFACE_E_FORMAT,
                          "is not a finite number; leave the row out or correct it", error);
    if (parsed == EF_NUMBER_TOO_LARGE)
        return fail_field(csv, field, EFFACE_E_LIMIT,
                          "is larger than 2^126 (about 8.5e37) in magnitude; scale the column down",
                          error);
    if (text.n_bytes == 0)
        return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, field + 1,
                          "the field is empty; leave the row out or give it a number");
    const char sign[] = {'"', csv->delimiter, '"', '\0'};
    return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, field + 1,
                      "\"%s\" is not a number (fields are separated by %s)",
                      ef_field_show(text).text, csv->delimiter == '\t' ? "tabs" : sign);
}

static efface_status read_number(const ef_csv *csv, size_t field, double *value,
                                 efface_error *error) {
    const ef_csv_field text = csv->fields[field];
    const ef_parsed parsed = ef_number_parse(text.text, text.n_bytes, value);
    return parsed == EF_NUMBER_OK ? EFFACE_OK : fail_number(csv, field, parsed, error);
}

static efface_column_type type_of(const ef_csv_loader *l, uint32_t column) {
    return l->data->types != NULL ? l->data->types[column] : EFFACE_TYPE_NUMBER;
}

/* A field of a column of values that has no number. */
static efface_status fail_no_number(const ef_csv_loader *l, size_t field, uint32_t column,
                                    efface_error *error) {
    const ef_csv *const csv = &l->csv;
    const ef_csv_field text = csv->fields[field];
    const char *const known = efface_data_column_name(l->data, column);
    double ignored;
    const ef_parsed parsed = ef_type_read(type_of(l, column), text, &ignored);
    if (parsed != EF_NUMBER_NONE || text.n_bytes == 0)
        return fail_number(csv, field, parsed, error);
    const efface_column_type type = type_of(l, column);
    const char sign[] = {'"', csv->delimiter, '"', '\0'};
    const char *const separator = csv->delimiter == '\t' ? "tabs" : sign;
    if (type != EFFACE_TYPE_NUMBER)
        return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, field + 1,
                          "\"%s\" is not %s, as which the column is read; correct it, or leave the "
                          "row out",
                          ef_field_show(text).text, ef_type_words(type));
    if (known == NULL)
        return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, field + 1,
                          "\"%s\" is not a number (fields are separated by %s); if the column has "
                          "texts, leave it out, or make it the class, the owner or the id",
                          ef_field_show(text).text, separator);
    return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, field + 1,
                      "\"%s\" is not a number (fields are separated by %s); if the column \"%s\" "
                      "has texts, leave it out, or make it the class, the owner or the id",
                      ef_field_show(text).text, separator,
                      ef_field_show((ef_csv_field){known, strlen(known)}).text);
}

/* A field that stands for a missing value, where none may be missing. */
static efface_status fail_missing(const ef_csv *csv, size_t field, efface_error *error) {
    const ef_csv_field text = csv->fields[field];
    double ignored;
    if (ef_field_is_blank(text))
        return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, field + 1,
                          "the field is empty; give it a value, or " EF_ALLOW_MISSING);
    return fail_field(csv, field, EFFACE_E_FORMAT,
                      ef_number_parse(text.text, text.n_bytes, &ignored) == EF_NUMBER_NAN
                          ? "is not a finite number; give it a value, or " EF_ALLOW_MISSING
                          : "is not a number; give it a value, or " EF_ALLOW_MISSING,
                      error);
}

/* A field that is no number of its column. */
static efface_status read_no_number(const ef_csv_loader *l, size_t field, uint32_t column,
                                    efface_error *error) {
    if (!ef_field_is_missing(l->csv.fields[field]))
        return fail_no_number(l, field, column, error);
    return l->options->missing != 0 && !l->complete[column] ? EFFACE_OK
                                                            : fail_missing(&l->csv, field, error);
}

static float round_number(const ef_csv_loader *l, uint32_t column, double number) {
    const double *const offsets = l->data->offsets;
    return ef_round_value(number, offsets != NULL ? offsets[column] : 0.0);
}

static bool fits_a_set(float rounded) {
    return rounded >= (float)-EFFACE_MAX_MAGNITUDE && rounded <= (float)EFFACE_MAX_MAGNITUDE;
}

/* A number of a column of values. */
static efface_status keep_number(const ef_csv_loader *l, size_t field, uint32_t column,
                                 double number, float *value, efface_error *error) {
    const float rounded = round_number(l, column, number);
    if (!fits_a_set(rounded))
        return ef_fail_value(error, l->csv.reader->name, l->csv.line, field + 1, number);
    *value = rounded;
    l->row_values[column] = number;
    return EFFACE_OK;
}

/* A value of a column that has a type, or else categories. */
static efface_status read_special(const ef_csv_loader *l, size_t field, uint32_t column,
                                  float *value, efface_error *error) {
    const ef_csv_field text = l->csv.fields[field];
    const efface_column_type type = type_of(l, column);
    double number = 0.0;
    const bool is_number = ef_type_read(type, text, &number) == EF_NUMBER_OK;
    const bool category = type == EFFACE_TYPE_NUMBER;
    if (!is_number && (!category || ef_field_is_missing(text)))
        return read_no_number(l, field, column, error);
    if (!category || (is_number && fits_a_set(round_number(l, column, number))))
        return keep_number(l, field, column, number, value, error);
    *value = efface_text_category(text.text, text.n_bytes);
    return EFFACE_OK;
}

efface_status ef_read_csv_value(const ef_csv_loader *l, size_t field, uint32_t column, float *value,
                                efface_error *error) {
    const ef_csv_field text = l->csv.fields[field];
    double number = 0.0;
    l->row_values[column] = *value = __builtin_nanf("");
    if (l->special[column])
        return read_special(l, field, column, value, error);
    if (ef_number_parse(text.text, text.n_bytes, &number) != EF_NUMBER_OK)
        return read_no_number(l, field, column, error);
    return keep_number(l, field, column, number, value, error);
}

/* A whole number from least to most, which lie within 2^53; 3.0 and 3e0 are written for 3 too. */
static efface_status read_whole(const ef_csv *csv, size_t field, int64_t least, int64_t most,
                                const char *what, int64_t *value, efface_error *error) {
    double number = 0.0;
    const efface_status status = read_number(csv, field, &number, error);
    if (status != EFFACE_OK)
        return status;
    if (!(number >= (double)least && number <= (double)most) || number != (double)(int64_t)number)
        return fail_field(csv, field, EFFACE_E_FORMAT, what, error);
    *value = (int64_t)number;
    return EFFACE_OK;
}

efface_status ef_read_label_number(const ef_csv *csv, size_t field, int64_t *label,
                                   efface_error *error) {
    return read_whole(csv, field, -(int64_t)EF_LARGEST_LABEL, (int64_t)EF_LARGEST_LABEL,
                      "is not a label: a label is a whole number of at most 2^53", label, error);
}

static efface_status fail_empty(const ef_csv *csv, size_t field, const char *role,
                                efface_error *error) {
    return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, csv->line, field + 1,
                      "the %s is empty; fill it in or leave the row out", role);
}

efface_status ef_fail_collision(const ef_csv *csv, uint64_t line, const char *role,
                                efface_error *error) {
    return ef_fail_at(error, EFFACE_E_DUPLICATE, csv->reader->name, line, 0,
                      "the %s of this row has the same 64-bit hash as another one; choose another "
                      "hash key",
                      role);
}

static efface_status read_whole64(const ef_csv *csv, size_t field, const char *mixed,
                                  uint64_t *value, efface_error *error) {
    const ef_csv_field text = csv->fields[field];
    const ef_name_fault fault = ef_name_number(text.text, text.n_bytes, value);
    if (fault == EF_NAME_OK)
        return EFFACE_OK;
    return fail_field(csv, field, EFFACE_E_FORMAT,
                      fault == EF_NAME_NOT_WHOLE ? mixed : ef_name_fault_text(fault), error);
}

/* 7 and 7.0, but not 007. */
static bool looks_like_number(ef_csv_field text) {
    uint64_t ignored;
    const ef_name_fault fault = ef_name_number(text.text, text.n_bytes, &ignored);
    return fault == EF_NAME_OK || fault == EF_NAME_TOO_LARGE;
}

void ef_decide_kind(ef_text_or_number *of, ef_csv_field text) {
    if (*of == EF_UNDECIDED && !ef_field_is_blank(text))
        *of = looks_like_number(text) ? EF_NUMBERS : EF_TEXT;
}

/* An id or owner that is a text. Release the form. */
static efface_status read_text(const ef_csv *csv, size_t field, const char *role,
                               ef_name_form *form, efface_error *error) {
    const ef_csv_field text = csv->fields[field];
    const ef_name_fault fault = ef_name_form_of(text.text, text.n_bytes, form);
    switch (fault) {
    case EF_NAME_OK: return EFFACE_OK;
    case EF_NAME_NO_MEMORY: return ef_fail_memory(error);
    case EF_NAME_EMPTY: return fail_empty(csv, field, role, error);
    default: return fail_field(csv, field, EFFACE_E_FORMAT, ef_name_fault_text(fault), error);
    }
}

void ef_decide_label_kind(ef_csv_loader *l, ef_csv_field text) {
    double ignored;
    if (l->label_kind == EF_UNDECIDED && text.n_bytes > 0)
        l->label_kind = ef_number_parse(text.text, text.n_bytes, &ignored) != EF_NUMBER_NONE
                            ? EF_NUMBERS
                            : EF_TEXT;
}

/* Where the caller wants to know what numbers stand for. */
static efface_status keep_text(const ef_csv_loader *l, efface_text_kind of, uint64_t number,
                               const char *text, size_t n_bytes, efface_error *error) {
    if (l->texts == NULL)
        return EFFACE_OK;
    return efface_texts_add(l->texts, of, number, text, n_bytes, error);
}

efface_status ef_read_csv_id(ef_csv_loader *l, size_t field, efface_error *error) {
    const ef_csv_field text = l->csv.fields[field];
    if (ef_field_is_blank(text))
        return fail_empty(&l->csv, field, "id", error);
    ef_decide_kind(&l->id_kind, text);
    if (l->id_kind == EF_NUMBERS)
        return read_whole64(
            &l->csv, field,
            l->options->ids == EFFACE_IDS_NUMBERS
                ? "is not a whole number, but ids are read as numbers; correct it, or read ids as "
                  "text"
                : "is not a whole number, but the first id is; read all ids as text",
            &l->batch_ids[l->n_batch], error);
    ef_name_form form;
    efface_status status = read_text(&l->csv, field, "id", &form, error);
    if (status != EFFACE_OK)
        return status;
    const ef_text_hash hash = ef_hash_form(form.text, form.n_bytes, l->options->hash_key);
    l->batch_ids[l->n_batch] = hash.id;
    l->batch_checks[l->n_batch] = hash.check;
    status = keep_text(l, EFFACE_TEXT_ID, hash.id, form.text, form.n_bytes, error);
    ef_free(form.own);
    return status;
}

static efface_status read_text_owner(ef_csv_loader *l, size_t field, uint64_t *owner,
                                     efface_error *error) {
    ef_name_form form;
    efface_status status = read_text(&l->csv, field, "owner", &form, error);
    if (status == EFFACE_E_FORMAT && form.n_bytes == 0) /* white space beyond ASCII */
        return EFFACE_OK;
    if (status != EFFACE_OK)
        return status;
    const ef_text_hash hash = ef_hash_form(form.text, form.n_bytes, l->options->hash_key);
    size_t number;
    if (!ef_text_numbers_enter(&l->owners, hash, &number))
        status = ef_fail_memory(error);
    else if (number == EF_TEXT_COLLISION)
        status = ef_fail_collision(&l->csv, l->csv.line, "owner", error);
    else
        status = keep_text(l, EFFACE_TEXT_OWNER, hash.id, form.text, form.n_bytes, error);
    *owner = hash.id;
    ef_free(form.own);
    return status;
}

efface_status ef_read_csv_owner(ef_csv_loader *l, size_t field, efface_error *error) {
    const ef_csv_field text = l->csv.fields[field];
    uint64_t *const owner = &l->batch_owners[l->n_batch];
    *owner = EFFACE_NO_OWNER;
    if (ef_field_is_blank(text))
        return EFFACE_OK;
    ef_decide_kind(&l->owner_kind, text);
    if (l->owner_kind == EF_NUMBERS) {
        const efface_status status =
            read_whole64(&l->csv, field,
                         l->options->owners == EFFACE_IDS_NUMBERS
                             ? "is not a whole number, but owners are read as numbers; correct it, "
                               "or read owners as text"
                             : "is not a whole number, but the first owner is; make all owners "
                               "numbers, or read them as text",
                         owner, error);
        return status == EFFACE_OK && *owner == EFFACE_NO_OWNER
                   ? fail_field(&l->csv, field, EFFACE_E_FORMAT,
                                "is the number for rows without an owner; leave the field empty, "
                                "or give the owner another number",
                                error)
                   : status;
    }
    return read_text_owner(l, field, owner, error);
}

efface_status ef_read_csv_label(ef_csv_loader *l, size_t field, efface_error *error) {
    const ef_csv_field text = l->csv.fields[field];
    int64_t *const label = &l->batch_labels[l->n_batch];
    *label = EFFACE_NO_LABEL;
    if (text.n_bytes == 0)
        return fail_empty(&l->csv, field, "label", error);
    double ignored;
    ef_decide_label_kind(l, text);
    if (l->label_kind == EF_NUMBERS && l->options->labels == EFFACE_IDS_NUMBERS &&
        ef_number_parse(text.text, text.n_bytes, &ignored) == EF_NUMBER_NONE)
        return fail_field(&l->csv, field, EFFACE_E_FORMAT,
                          "is a text, but labels are read as numbers, as those before them are; "
                          "correct it",
                          error);
    if (l->label_kind == EF_NUMBERS)
        return ef_read_label_number(&l->csv, field, label, error);
    const ef_text_hash hash = ef_hash_label(text.text, text.n_bytes);
    size_t number;
    if (!ef_text_numbers_enter(&l->labels, hash, &number))
        return ef_fail_memory(error);
    if (number == EF_TEXT_COLLISION)
        return fail_field(&l->csv, field, EFFACE_E_DUPLICATE,
                          "has the same 64-bit hash as another label; rename it", error);
    *label = (int64_t)hash.id;
    return keep_text(l, EFFACE_TEXT_LABEL, hash.id, text.text, text.n_bytes, error);
}

efface_status ef_read_csv_weight(ef_csv_loader *l, size_t field, efface_error *error) {
    return read_whole(&l->csv, field, 1, EFFACE_MAX_WEIGHT - 1,
                      "is not a weight: a weight is a whole number of at least 1, and the sum of "
                      "all weights is below 2^40",
                      &l->batch_weights[l->n_batch], error);
}
