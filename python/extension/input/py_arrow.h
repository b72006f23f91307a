/*
 * Tables that come through Arrow's C stream interface: what an object with __arrow_c_stream__ hands
 * out, whichever library made it.
 *
 * The three structs are the published ABI, field by field. A stream gives the schema and then its
 * batches; each has one array for each column, with its values in buffers, and all is the
 * producer's memory until it is released. A column may be a dictionary: its values are then numbers
 * of values of another array.
 */
#ifndef EFFACE_EXTENSION_ARROW_H
#define EFFACE_EXTENSION_ARROW_H

#include "module/py_extension.h"

typedef struct arrow_schema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct arrow_schema **children;
    struct arrow_schema *dictionary;
    void (*release)(struct arrow_schema *);
    void *private_data;
} arrow_schema;

typedef struct arrow_array {
    int64_t length;
    int64_t null_count; /* -1: not known */
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct arrow_array **children;
    struct arrow_array *dictionary;
    void (*release)(struct arrow_array *);
    void *private_data;
} arrow_array;

typedef struct arrow_stream {
    int (*get_schema)(struct arrow_stream *, arrow_schema *out);
    int (*get_next)(struct arrow_stream *, arrow_array *out);
    const char *(*get_last_error)(struct arrow_stream *);
    void (*release)(struct arrow_stream *);
    void *private_data;
} arrow_stream;

/* ------------------------------------------------------------------ py_arrow_values.c */

typedef enum arrow_kind {
    ARROW_OTHER, /* nothing that this package has a use for */
    ARROW_NUMBER,
    ARROW_SIGNED,
    ARROW_UNSIGNED,
    ARROW_TRUTH,
    ARROW_TIME, /* days of a date, seconds of a point in time or a duration */
    ARROW_TEXT,
    ARROW_MISSING,
} arrow_kind;

/* What the values of an array are, as its format says. */
typedef struct arrow_type {
    arrow_kind kind;
    bool exact;      /* float32 holds all its numbers */
    int64_t per_one; /* parts of a day or second that times count, or */
    int scale;       /* digits after the point of decimals */
    /* Writes values `first` to first + n - 1, counted from the start of the buffers, `stride`
     * doubles apart. False if a value has more digits than a double. */
    bool (*load)(const struct arrow_type *type, const arrow_array *array, int64_t first, size_t n,
                 double *to, size_t stride);
    /* The text of one value, which need not end with a zero. */
    const char *(*text)(const arrow_array *array, int64_t at, int64_t *n_bytes);
} arrow_type;

arrow_type arrow_type_of(const char *format);

/* A whole number that is an element of an array of a signed or unsigned type, in 64 bits. */
uint64_t arrow_whole(const char *format, const arrow_array *array, int64_t at);

/* Whether an element has a value; all of these count from the start of the buffers. */
bool arrow_is_valid(const arrow_array *array, int64_t at);

bool add_arrow(PyObject *module);

#endif
