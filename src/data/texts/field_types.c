/* Fields of columns that have a type. Reading is a function of the type and the field alone. */
#include "data/texts/field_types.h"

#include "data/texts/dates.h"

#include <stdio.h>
#include <string.h>

#define MOST_BYTES 64 /* of a number with a comma */

bool ef_type_is_known(int type) {
    return type >= EFFACE_TYPE_NUMBER && type <= EFFACE_TYPE_COMMA;
}

const char *ef_type_words(efface_column_type type) {
    switch (type) {
    case EFFACE_TYPE_NUMBER: break;
    case EFFACE_TYPE_TRUTH: return "true or false (t or f, yes or no, 1 or 0)";
    case EFFACE_TYPE_DATE: return "a date such as 2024-02-29";
    case EFFACE_TYPE_TIME: return "a time such as 2024-02-29T12:30:00Z, or a date";
    case EFFACE_TYPE_COMMA: return "a number with a comma such as 3,14";
    }
    return "a number";
}

/* ---------------------------------------------------------------- reading */

static bool is_word_of(ef_csv_field field, const char *word) {
    size_t i = 0;
    while (i < field.n_bytes && word[i] != '\0' && (field.text[i] | 0x20) == word[i])
        i++;
    return i == field.n_bytes && word[i] == '\0';
}

static ef_parsed read_truth(ef_csv_field field, double *value) {
    static const char *const words[2][3] = {{"false", "f", "no"}, {"true", "t", "yes"}};
    double number;
    for (int truth = 0; truth < 2; truth++)
        for (int i = 0; i < 3; i++)
            if (is_word_of(field, words[truth][i])) {
                *value = truth;
                return EF_NUMBER_OK;
            }
    if (ef_number_parse(field.text, field.n_bytes, &number) != EF_NUMBER_OK ||
        (number != 0.0 && number != 1.0))
        return EF_NUMBER_NONE;
    *value = number;
    return EF_NUMBER_OK;
}

static ef_parsed read_comma(ef_csv_field field, double *value) {
    char text[MOST_BYTES];
    if (field.n_bytes > sizeof text || memchr(field.text, '.', field.n_bytes) != NULL)
        return EF_NUMBER_NONE;
    memcpy(text, field.text, field.n_bytes);
    char *const comma = memchr(text, ',', field.n_bytes);
    if (comma != NULL)
        *comma = '.';
    return ef_number_parse(text, field.n_bytes, value);
}

ef_parsed ef_type_read(efface_column_type type, ef_csv_field field, double *value) {
    int64_t days;
    if (type == EFFACE_TYPE_NUMBER)
        return ef_number_parse(field.text, field.n_bytes, value);
    field = ef_field_trim(field);
    if (type == EFFACE_TYPE_TRUTH)
        return read_truth(field, value);
    if (type == EFFACE_TYPE_COMMA)
        return read_comma(field, value);
    if (type == EFFACE_TYPE_TIME)
        return ef_time_read(field.text, field.n_bytes, value) ? EF_NUMBER_OK : EF_NUMBER_NONE;
    if (!ef_date_read(field.text, field.n_bytes, &days))
        return EF_NUMBER_NONE;
    *value = (double)days;
    return EF_NUMBER_OK;
}

/* ---------------------------------------------------------------- writing */

/* Whether a number becomes this value in a set. */
static bool becomes(double number, double offset, float value) {
    return (float)(number - offset) == value;
}

/* The whole number next to one that is not too large. */
static bool round_whole(double number, int64_t *whole) {
    if (!(number > -1e15 && number < 1e15))
        return false;
    *whole = (int64_t)(number + (number < 0.0 ? -0.5 : 0.5));
    return true;
}

static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Adds the time to a date: a second of the day, and a part of it in so many digits. */
static void write_clock(int64_t of_day, int64_t part, int n_digits, char *text) {
    static const char before[] = "T::";
    const int64_t units[] = {of_day / 3600, of_day / 60 % 60, of_day % 60};
    text += strlen(text);
    for (int i = 0; i < 3; i++) {
        *text++ = before[i];
        text = ef_digits_write(text, units[i], 2);
    }
    if (n_digits > 0) {
        *text++ = '.';
        text = ef_digits_write(text, part, n_digits);
    }
    *text++ = 'Z';
    *text = '\0';
}

static int write_time(float value, double offset, char text[EFFACE_TYPE_TEXT]) {
    static const int64_t units[] = {1, 1000, 1000000}; /* of a second */
    for (int i = 0; i < 3; i++) {
        int64_t whole;
        if (!round_whole(((double)value + offset) * (double)units[i], &whole) ||
            !becomes((double)whole / (double)units[i], offset, value))
            continue;
        const int64_t seconds = floor_divide(whole, units[i]);
        const int64_t days = floor_divide(seconds, 86400);
        if (!ef_date_write(days, text))
            return 0;
        write_clock(seconds - days * 86400, whole - seconds * units[i], 3 * i, text);
        return 1;
    }
    return 0;
}

int efface_type_write(efface_column_type type, float value, double offset,
                      char text[EFFACE_TYPE_TEXT]) {
    int64_t whole;
    if (type == EFFACE_TYPE_TIME)
        return write_time(value, offset, text);
    if ((type != EFFACE_TYPE_TRUTH && type != EFFACE_TYPE_DATE) ||
        !round_whole((double)value + offset, &whole) || !becomes((double)whole, offset, value))
        return 0;
    if (type == EFFACE_TYPE_DATE)
        return ef_date_write(whole, text);
    if (whole == 0 || whole == 1)
        (void)snprintf(text, EFFACE_TYPE_TEXT, "%s", whole == 1 ? "true" : "false");
    return whole == 0 || whole == 1;
}
