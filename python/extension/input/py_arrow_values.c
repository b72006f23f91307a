/* Values of Arrow's arrays: what a format says, and how elements are read. */
#include "input/py_arrow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECONDS_A_DAY INT64_C(86400000)
#define LARGEST_EXACT (INT64_C(1) << 53) /* all whole numbers up to it are doubles */

bool arrow_is_valid(const arrow_array *array, int64_t at) {
    const unsigned char *const bits =
        array->n_buffers > 0 && array->null_count != 0 ? array->buffers[0] : NULL;
    return bits == NULL || (bits[at / 8] >> (at % 8) & 1) != 0;
}

/* ------------------------------------------------------------------ numbers */

#define DEFINE_LOAD(name, item)                                                                    \
    static bool name(const arrow_type *type, const arrow_array *array, int64_t first, size_t n,    \
                     double *to, size_t stride) {                                                  \
        const item *const from = (const item *)array->buffers[1] + first;                          \
        (void)type;                                                                                \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i * stride] = (double)from[i];                                                      \
        return true;                                                                               \
    }
DEFINE_LOAD(load_int8, int8_t)
DEFINE_LOAD(load_uint8, uint8_t)
DEFINE_LOAD(load_int16, int16_t)
DEFINE_LOAD(load_uint16, uint16_t)
DEFINE_LOAD(load_int32, int32_t)
DEFINE_LOAD(load_uint32, uint32_t)
DEFINE_LOAD(load_int64, int64_t)
DEFINE_LOAD(load_uint64, uint64_t)
DEFINE_LOAD(load_float, float)
DEFINE_LOAD(load_double, double)

static bool load_half(const arrow_type *type, const arrow_array *array, int64_t first, size_t n,
                      double *to, size_t stride) {
    const uint16_t *const from = (const uint16_t *)array->buffers[1] + first;
    (void)type;
    for (size_t i = 0; i < n; i++) {
        const int power = from[i] >> 10 & 31, digits = from[i] & 1023;
        const double size = power == 0    ? ldexp(digits, -24)
                            : power == 31 ? (digits == 0 ? INFINITY : NAN)
                                          : ldexp(1024 + digits, power - 25);
        to[i * stride] = from[i] >> 15 != 0 ? -size : size;
    }
    return true;
}

static bool load_truth(const arrow_type *type, const arrow_array *array, int64_t first, size_t n,
                       double *to, size_t stride) {
    const unsigned char *const bits = array->buffers[1];
    (void)type;
    for (size_t i = 0; i < n; i++) {
        const int64_t at = first + (int64_t)i;
        to[i * stride] = bits[at / 8] >> (at % 8) & 1;
    }
    return true;
}

static bool load_missing(const arrow_type *type, const arrow_array *array, int64_t first, size_t n,
                         double *to, size_t stride) {
    (void)type, (void)array, (void)first;
    for (size_t i = 0; i < n; i++)
        to[i * stride] = NAN;
    return true;
}

/* Days or seconds since 1970, of times that count parts of them: whole ones are exact, and the rest
 * is rounded once. */
static double time_of(int64_t time, int64_t per_one) {
    const int64_t whole = time / per_one - (time % per_one < 0);
    return (double)whole + (double)(time - whole * per_one) / (double)per_one;
}

static bool load_time32(const arrow_type *type, const arrow_array *array, int64_t first, size_t n,
                        double *to, size_t stride) {
    const int32_t *const from = (const int32_t *)array->buffers[1] + first;
    for (size_t i = 0; i < n; i++)
        to[i * stride] = time_of(from[i], type->per_one);
    return true;
}

static bool load_time64(const arrow_type *type, const arrow_array *array, int64_t first, size_t n,
                        double *to, size_t stride) {
    const int64_t *const from = (const int64_t *)array->buffers[1] + first;
    for (size_t i = 0; i < n; i++)
        to[i * stride] = time_of(from[i], type->per_one);
    return true;
}

/* A decimal of 128 bits, low half first. The quotient of two doubles that are exact is the double
 * that the decimal's text would be read as. What lies under a missing value may be anything. */
static bool load_decimal(const arrow_type *type, const arrow_array *array, int64_t first, size_t n,
                         double *to, size_t stride) {
    const int64_t *const from = (const int64_t *)array->buffers[1] + 2 * first;
    double power = 1.0;
    bool fits = true;
    for (int i = 0; i < type->scale; i++)
        power *= 10.0;
    for (size_t i = 0; i < n; i++) {
        const int64_t low = from[2 * i], high = from[2 * i + 1];
        fits &= (high == (low < 0 ? -1 : 0) && low <= LARGEST_EXACT && low >= -LARGEST_EXACT) ||
                !arrow_is_valid(array, first + (int64_t)i);
        to[i * stride] = (double)low / power;
    }
    return fits;
}

uint64_t arrow_whole(const char *format, const arrow_array *array, int64_t at) {
    const void *const values = array->buffers[1];
    switch (*format) {
    case 'c': return (uint64_t)(int64_t)((const int8_t *)values)[at];
    case 'C': return ((const uint8_t *)values)[at];
    case 's': return (uint64_t)(int64_t)((const int16_t *)values)[at];
    case 'S': return ((const uint16_t *)values)[at];
    case 'i': return (uint64_t)(int64_t)((const int32_t *)values)[at];
    case 'I': return ((const uint32_t *)values)[at];
    default: return ((const uint64_t *)values)[at];
    }
}

/* ------------------------------------------------------------------ texts */

static const char *text_of_32(const arrow_array *array, int64_t at, int64_t *n_bytes) {
    const int32_t *const ends = (const int32_t *)array->buffers[1] + at;
    *n_bytes = ends[1] - ends[0];
    return *n_bytes > 0 ? (const char *)array->buffers[2] + ends[0] : "";
}

static const char *text_of_64(const arrow_array *array, int64_t at, int64_t *n_bytes) {
    const int64_t *const ends = (const int64_t *)array->buffers[1] + at;
    *n_bytes = ends[1] - ends[0];
    return *n_bytes > 0 ? (const char *)array->buffers[2] + ends[0] : "";
}

/* A view has the length of a text and then the text itself, of up to 12 bytes, or its first 4 bytes
 * and the buffer and the place where it stands. */
static const char *text_of_view(const arrow_array *array, int64_t at, int64_t *n_bytes) {
    const char *const view = (const char *)array->buffers[1] + 16 * at;
    int32_t n, place[2];
    memcpy(&n, view, sizeof n);
    memcpy(place, view + 8, sizeof place);
    *n_bytes = n;
    return n <= 12 ? view + 4 : (const char *)array->buffers[2 + place[0]] + place[1];
}

/* ------------------------------------------------------------------ formats */

static int64_t units_a_second(char unit) {
    switch (unit) {
    case 's': return 1;
    case 'm': return 1000;
    case 'u': return 1000000;
    case 'n': return 1000000000;
    default: return 0;
    }
}

/* "tdD" and "tdm" are dates, "ts" begins points in time, which are in UTC, and "tD" durations. */
static arrow_type time_type_of(const char *format) {
    arrow_type type = {.kind = ARROW_TIME, .load = load_time64};
    if (strcmp(format, "tdD") == 0) {
        type.per_one = 1;
        type.load = load_time32;
    } else if (strcmp(format, "tdm") == 0) {
        type.per_one = MILLISECONDS_A_DAY;
    } else if (format[1] == 's' || format[1] == 'D') {
        type.per_one = units_a_second(format[2]);
    }
    return type.per_one != 0 ? type : (arrow_type){.kind = ARROW_OTHER};
}

/* "d:precision,scale" and perhaps ",bits". */
static arrow_type decimal_type_of(const char *format) {
    char *end = NULL;
    if (format[1] != ':' || strtol(format + 2, &end, 10) <= 0 || *end != ',')
        return (arrow_type){.kind = ARROW_OTHER};
    const long scale = strtol(end + 1, &end, 10);
    if (scale < 0 || scale > 22 || (*end != '\0' && strcmp(end, ",128") != 0))
        return (arrow_type){.kind = ARROW_OTHER};
    return (arrow_type){.kind = ARROW_NUMBER, .scale = (int)scale, .load = load_decimal};
}

static arrow_type type_of_letter(char letter) {
    switch (letter) {
    case 'n': return (arrow_type){.kind = ARROW_MISSING, .exact = true, .load = load_missing};
    case 'b': return (arrow_type){.kind = ARROW_TRUTH, .exact = true, .load = load_truth};
    case 'c': return (arrow_type){.kind = ARROW_SIGNED, .exact = true, .load = load_int8};
    case 'C': return (arrow_type){.kind = ARROW_UNSIGNED, .exact = true, .load = load_uint8};
    case 's': return (arrow_type){.kind = ARROW_SIGNED, .exact = true, .load = load_int16};
    case 'S': return (arrow_type){.kind = ARROW_UNSIGNED, .exact = true, .load = load_uint16};
    case 'i': return (arrow_type){.kind = ARROW_SIGNED, .load = load_int32};
    case 'I': return (arrow_type){.kind = ARROW_UNSIGNED, .load = load_uint32};
    case 'l': return (arrow_type){.kind = ARROW_SIGNED, .load = load_int64};
    case 'L': return (arrow_type){.kind = ARROW_UNSIGNED, .load = load_uint64};
    case 'e': return (arrow_type){.kind = ARROW_NUMBER, .exact = true, .load = load_half};
    case 'f': return (arrow_type){.kind = ARROW_NUMBER, .exact = true, .load = load_float};
    case 'g': return (arrow_type){.kind = ARROW_NUMBER, .load = load_double};
    case 'u': return (arrow_type){.kind = ARROW_TEXT, .text = text_of_32};
    case 'U': return (arrow_type){.kind = ARROW_TEXT, .text = text_of_64};
    default: return (arrow_type){.kind = ARROW_OTHER};
    }
}

arrow_type arrow_type_of(const char *format) {
    if (format[0] == '\0')
        return (arrow_type){.kind = ARROW_OTHER};
    if (format[1] == '\0')
        return type_of_letter(format[0]);
    if (strcmp(format, "vu") == 0)
        return (arrow_type){.kind = ARROW_TEXT, .text = text_of_view};
    if (format[0] == 't')
        return time_type_of(format);
    return format[0] == 'd' ? decimal_type_of(format) : (arrow_type){.kind = ARROW_OTHER};
}
