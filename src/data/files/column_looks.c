/* What fields look like. A column looks like the narrowest kind that all its fields have. */
#include "data/files/column_looks.h"

#include "data/texts/field_types.h"
#include "data/texts/number.h"
#include "data/texts/text_id.h"

#include <string.h>

#define MOST_WHOLE 9007199254740992.0 /* 2^53 */

const char *efface_looks_name(efface_looks looks) {
    static const char *const names[] = {
        "empty", "whole numbers",       "numbers", "true and false", "dates",
        "times", "numbers with commas", "texts"};
    return (unsigned)looks <= EFFACE_LOOKS_TEXTS ? names[looks] : "unknown";
}

/* ---------------------------------------------------------------- one field */

static bool is_storable(double value) {
    return value >= -EFFACE_MAX_MAGNITUDE && value <= EFFACE_MAX_MAGNITUDE;
}

static bool read_number(ef_csv_field field, double *value) {
    return ef_number_parse(field.text, field.n_bytes, value) == EF_NUMBER_OK && is_storable(*value);
}

bool ef_field_is_number(ef_csv_field field) {
    double value;
    return read_number(field, &value);
}

static bool is_of(efface_column_type type, ef_csv_field field) {
    double value;
    return ef_type_read(type, field, &value) == EF_NUMBER_OK;
}

/* Of a field that is no number. */
static efface_looks look_at_text(ef_csv_field field) {
    if (is_of(EFFACE_TYPE_TRUTH, field))
        return EFFACE_LOOKS_TRUTH;
    if (is_of(EFFACE_TYPE_DATE, field))
        return EFFACE_LOOKS_DATES;
    if (is_of(EFFACE_TYPE_TIME, field))
        return EFFACE_LOOKS_TIMES;
    return memchr(field.text, ',', field.n_bytes) != NULL && is_of(EFFACE_TYPE_COMMA, field)
               ? EFFACE_LOOKS_COMMAS
               : EFFACE_LOOKS_TEXTS;
}

/* ---------------------------------------------------------------- counting */

static bool add_text(ef_column_counts *counts, ef_csv_field field) {
    return ef_distinct_add(&counts->distinct, ef_hash_label(field.text, field.n_bytes).id);
}

/* 7 and 7.0 are one value. */
static bool add_number(ef_column_counts *counts, double value) {
    unsigned char bytes[sizeof value];
    const double plain = value + 0.0; /* minus zero is zero */
    uint64_t bits;
    memcpy(&bits, &plain, sizeof bits);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    return add_text(counts, (ef_csv_field){(const char *)bytes, sizeof bytes});
}

static bool is_whole(double value) {
    return value >= -0x1p62 && value <= 0x1p62 && value == (double)(int64_t)value;
}

static void note_number(ef_column_counts *counts, double value) {
    const bool first = counts->n_of[EFFACE_LOOKS_WHOLE] + counts->n_of[EFFACE_LOOKS_NUMBERS] == 0;
    counts->least = first || value < counts->least ? value : counts->least;
    counts->most = first || value > counts->most ? value : counts->most;
    counts->n_of[is_whole(value) ? EFFACE_LOOKS_WHOLE : EFFACE_LOOKS_NUMBERS]++;
}

bool ef_column_count_number(ef_column_counts *counts, double value) {
    if (value != value) {
        counts->n_missing++;
        return true;
    }
    note_number(counts, value);
    return add_number(counts, value);
}

bool ef_column_count_field(ef_column_counts *counts, ef_csv_field field, uint64_t line) {
    double value;
    field = ef_field_trim(field);
    if (read_number(field, &value)) {
        const bool beyond = is_whole(value) && (value >= MOST_WHOLE || value <= -MOST_WHOLE);
        note_number(counts, value);
        counts->n_beyond += beyond;
        return beyond ? add_text(counts, field) : add_number(counts, value);
    }
    if (ef_field_is_missing(field)) {
        counts->n_missing++;
        return true;
    }
    if (counts->first_other == 0)
        counts->first_other = line;
    counts->n_not_utf8 += !ef_field_is_utf8(field);
    counts->n_of[look_at_text(field)]++;
    return add_text(counts, field);
}

/* ---------------------------------------------------------------- the column */

static efface_looks look_of(const ef_column_counts *counts) {
    uint64_t n = 0;
    for (int i = 0; i <= EFFACE_LOOKS_TEXTS; i++)
        n += counts->n_of[i];
    const uint64_t *const of = counts->n_of;
    const uint64_t n_whole = of[EFFACE_LOOKS_WHOLE], n_numbers = n_whole + of[EFFACE_LOOKS_NUMBERS];
    if (n == 0)
        return EFFACE_LOOKS_EMPTY;
    if (n_numbers == n)
        return n_whole == n ? EFFACE_LOOKS_WHOLE : EFFACE_LOOKS_NUMBERS;
    if (n_numbers + of[EFFACE_LOOKS_COMMAS] == n)
        return EFFACE_LOOKS_COMMAS;
    if (of[EFFACE_LOOKS_TRUTH] == n)
        return EFFACE_LOOKS_TRUTH;
    if (of[EFFACE_LOOKS_DATES] == n)
        return EFFACE_LOOKS_DATES;
    return of[EFFACE_LOOKS_DATES] + of[EFFACE_LOOKS_TIMES] == n ? EFFACE_LOOKS_TIMES
                                                                : EFFACE_LOOKS_TEXTS;
}

efface_column_look ef_column_look_of(ef_column_counts *counts) {
    bool twice = false;
    efface_column_look look = {
        .looks = look_of(counts),
        .n_missing = counts->n_missing,
        .n_numbers = counts->n_of[EFFACE_LOOKS_WHOLE] + counts->n_of[EFFACE_LOOKS_NUMBERS],
        .first_other = counts->first_other,
        .n_distinct = ef_distinct_count(&counts->distinct, &twice),
        .n_distinct_is_exact = !counts->distinct.cut,
        .least = counts->least,
        .most = counts->most,
        .n_not_utf8 = counts->n_not_utf8,
        .n_beyond = counts->n_beyond,
    };
    look.repeats = twice;
    return look;
}
