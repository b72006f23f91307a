/*
 * Elements of one binary type, row after row: what follows the header of an .npy or IDX file.
 *
 * Elements are converted from the reader's buffer to a chunk of float32 rows, and the chunk is
 * added to the set; so the peak of memory is the set and the two buffers. Room for all rows is
 * reserved at once if the file is known to have them, else it is doubled as they arrive.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/files/loaders.h"
#include "data/files/skipped_columns.h"
#include "data/set/rows.h"
#include "data/units/column_types.h"
#include "data/units/offsets.h"
#include "data/units/rounding.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define CHUNK_VALUES ((size_t)1 << 16)

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define HOST_BIG_ENDIAN true
#else
#define HOST_BIG_ENDIAN false
#endif

static size_t element_bytes(ef_element element) {
    switch (element) {
    case EF_ELEMENT_BOOL:
    case EF_ELEMENT_U1:
    case EF_ELEMENT_I1: return 1;
    case EF_ELEMENT_U2:
    case EF_ELEMENT_I2: return 2;
    case EF_ELEMENT_U4:
    case EF_ELEMENT_I4:
    case EF_ELEMENT_F4: return 4;
    case EF_ELEMENT_U8:
    case EF_ELEMENT_I8:
    case EF_ELEMENT_F8: return 8;
    }
    assert(false);
    return 1;
}

void ef_array_shape(ef_file_array *array, const uint64_t *dimensions, size_t n_dimensions) {
    assert(n_dimensions > 0);
    array->n_rows = dimensions[0];
    array->n_columns = 1;
    for (size_t i = 1; i < n_dimensions; i++)
        if (__builtin_mul_overflow(array->n_columns, dimensions[i], &array->n_columns))
            array->n_columns = UINT64_MAX; /* which a 0 still turns into 0 */
}

efface_status ef_fail_value(efface_error *error, const char *file, uint64_t line, uint64_t column,
                            double value) {
    if (value != value)
        return ef_fail_at(error, EFFACE_E_FORMAT, file, line, column,
                          "the value is missing (NaN); give it a value, or " EF_ALLOW_MISSING);
    if (value - value != 0.0)
        return ef_fail_at(error, EFFACE_E_FORMAT, file, line, column,
                          "the value is infinite, but values must be finite numbers; leave the row "
                          "out or correct it");
    return ef_fail_at(error, EFFACE_E_LIMIT, file, line, column,
                      "the value %g is larger than 2^126 (about 8.5e37) in magnitude; scale the "
                      "column down",
                      value);
}

/* ---------------------------------------------------------------- elements */

static uint16_t bits16(const unsigned char *from, bool swap) {
    uint16_t bits;
    memcpy(&bits, from, sizeof bits);
    return swap ? __builtin_bswap16(bits) : bits;
}

static uint32_t bits32(const unsigned char *from, bool swap) {
    uint32_t bits;
    memcpy(&bits, from, sizeof bits);
    return swap ? __builtin_bswap32(bits) : bits;
}

static uint64_t bits64(const unsigned char *from, bool swap) {
    uint64_t bits;
    memcpy(&bits, from, sizeof bits);
    return swap ? __builtin_bswap64(bits) : bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Each conversion rounds once, to nearest; doubles beyond float32 become infinite and are found
 * by the caller. */
#define EACH(n_bytes, expression)                                                                  \
    for (size_t i = 0; i < n; i++, from += (n_bytes))                                              \
    to[i] = (float)(expression)

static void convert_array(const ef_file_array *array, const unsigned char *from, size_t n,
                          float *to) {
    const bool swap = array->big_endian != HOST_BIG_ENDIAN;
    switch (array->element) {
    case EF_ELEMENT_BOOL: EACH(1, *from != 0); break;
    case EF_ELEMENT_U1: EACH(1, *from); break;
    case EF_ELEMENT_I1: EACH(1, (int8_t)*from); break;
    case EF_ELEMENT_U2: EACH(2, bits16(from, swap)); break;
    case EF_ELEMENT_I2: EACH(2, (int16_t)bits16(from, swap)); break;
    case EF_ELEMENT_U4: EACH(4, bits32(from, swap)); break;
    case EF_ELEMENT_I4: EACH(4, (int32_t)bits32(from, swap)); break;
    case EF_ELEMENT_U8: EACH(8, bits64(from, swap)); break;
    case EF_ELEMENT_I8: EACH(8, (int64_t)bits64(from, swap)); break;
    case EF_ELEMENT_F4: EACH(4, float_of(bits32(from, swap))); break;
    case EF_ELEMENT_F8: EACH(8, double_of(bits64(from, swap))); break;
    }
}

/* An element as a double, for labels and messages. Labels are at most 2^53, beyond which integers
 * are rounded; larger ones stay too large. */
static double convert_one(const ef_file_array *array, const unsigned char *from) {
    const bool swap = array->big_endian != HOST_BIG_ENDIAN;
    if (array->element == EF_ELEMENT_F8)
        return double_of(bits64(from, swap));
    if (array->element == EF_ELEMENT_U8)
        return (double)bits64(from, swap);
    if (array->element == EF_ELEMENT_I8)
        return (double)(int64_t)bits64(from, swap);
    if (array->element == EF_ELEMENT_U4)
        return (double)bits32(from, swap);
    if (array->element == EF_ELEMENT_I4)
        return (double)(int32_t)bits32(from, swap);
    float value = 0.0F; /* holds the shorter ones exactly */
    convert_array(array, from, 1, &value);
    return (double)value;
}

/* Whether float32 holds every element as it is. */
static bool is_exact(ef_element element) {
    return element == EF_ELEMENT_F4 || element_bytes(element) < 4;
}

static bool storable(float x, bool missing) {
    return (x >= (float)-EFFACE_MAX_MAGNITUDE && x <= (float)EFFACE_MAX_MAGNITUDE) ||
           (missing && x != x);
}

/* ---------------------------------------------------------------- the file */

static efface_status fail_short(const ef_reader *reader, const ef_file_array *array,
                                uint64_t element, efface_error *error) {
    return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, element / array->n_columns + 1,
                      element % array->n_columns + 1,
                      "the file ends here, but its header says that it has %" PRIu64
                      " rows of %" PRIu64 " columns; download or write it again",
                      array->n_rows, array->n_columns);
}

/* What can be said before the first element is read. Afterwards the number of bytes fits a size. */
static efface_status check_header(const ef_reader *reader, const ef_file_array *array,
                                  efface_error *error) {
    if (array->n_rows == 0 || array->n_columns == 0)
        return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                          "the file has %" PRIu64 " rows of %" PRIu64
                          " columns: there is nothing to load",
                          array->n_rows, array->n_columns);
    if (array->n_columns > EFFACE_MAX_COLUMNS)
        return ef_fail_at(error, EFFACE_E_LIMIT, reader->name, 0, 0,
                          "the file has %" PRIu64
                          " columns, but a set can have at most %u; use fewer columns",
                          array->n_columns, EFFACE_MAX_COLUMNS);
    const size_t row_bytes = (size_t)array->n_columns * element_bytes(array->element);
    size_t n_bytes;
    if (array->n_rows > SIZE_MAX || !ef_mul_size((size_t)array->n_rows, row_bytes, &n_bytes))
        return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                          "the header says that the file has %" PRIu64
                          " rows, which is more than a file can have; the header is damaged",
                          array->n_rows);
    uint64_t left;
    if (ef_reader_left(reader, &left) && left < n_bytes)
        return fail_short(reader, array, left / element_bytes(array->element), error);
    return EFFACE_OK;
}

/* The next elements of the file as they stand in the reader: at least one and at most `most`, with
 * *n_elements telling how many. `element` is the number of the first, for messages. */
static efface_status next_elements(ef_reader *reader, const ef_file_array *array, uint64_t element,
                                   size_t most, size_t *n_elements, efface_error *error) {
    const size_t size = element_bytes(array->element);
    const efface_status status = ef_reader_fill(reader, size, error);
    if (status != EFFACE_OK)
        return status;
    const size_t n = ef_reader_available(reader) / size;
    if (n == 0)
        return fail_short(reader, array, element, error);
    *n_elements = n < most ? n : most;
    return EFFACE_OK;
}

static efface_status expect_end(ef_reader *reader, efface_error *error) {
    const efface_status status = ef_reader_fill(reader, 1, error);
    if (status == EFFACE_OK && ef_reader_available(reader) > 0)
        return ef_fail_at(
            error, EFFACE_E_FORMAT, reader->name, 0, 0,
            "the file has more bytes than its header says; download or write the file again");
    return status;
}

/* Where elements go: float32 values and, if that is not NULL, what they were before. */
typedef struct chunk {
    float *values;
    double *wide;
    ef_read_columns read; /* if some columns are not read */
    double *offsets;      /* of the columns of the file; or NULL; with them `wide` is there */
    uint64_t *ids;        /* of rows that do not begin with the first of the file; or NULL */
    bool missing;         /* values may be missing */
} chunk;

static void convert_wide(const ef_file_array *array, const unsigned char *from, size_t n,
                         uint64_t element, const double *offsets, double *wide, float *values) {
    const size_t size = element_bytes(array->element);
    for (size_t i = 0; i < n; i++)
        wide[i] = convert_one(array, from + i * size);
    for (size_t i = 0; offsets != NULL && i < n; i++)
        values[i] = ef_round_value(wide[i], offsets[(element + i) % array->n_columns]);
}

/* What stands in columns that are not read, need be no value. */
static void clear_skipped(const ef_file_array *array, const chunk *to, uint64_t element,
                          size_t begin, size_t n) {
    uint64_t column = (element + begin) % array->n_columns;
    for (size_t i = begin; i < begin + n; i++, column++) {
        column = column < array->n_columns ? column : 0;
        if (to->read.position[column] != EFFACE_NO_COLUMN)
            continue;
        to->values[i] = 0.0F;
        if (to->wide != NULL)
            to->wide[i] = 0.0;
    }
}

/* Closes the gaps that columns leave which are not read, in n rows. */
static void drop_skipped(const ef_file_array *array, const chunk *in, size_t n) {
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < array->n_columns; j++) {
            if (in->read.position[j] == EFFACE_NO_COLUMN)
                continue;
            const size_t from = i * (size_t)array->n_columns + j;
            in->values[next] = in->values[from];
            if (in->wide != NULL)
                in->wide[next] = in->wide[from];
            next++;
        }
    }
}

/* Fills a chunk with n values, the first of them number `element` of the file. */
static efface_status read_values(ef_reader *reader, const ef_file_array *array, uint64_t element,
                                 const chunk *to, size_t n, efface_error *error) {
    float *const values = to->values;
    const size_t size = element_bytes(array->element);
    for (size_t done = 0; done < n;) {
        size_t part = 0;
        const efface_status status =
            next_elements(reader, array, element + done, n - done, &part, error);
        if (status != EFFACE_OK)
            return status;
        const unsigned char *const from = ef_reader_at(reader);
        convert_array(array, from, part, values + done);
        if (to->wide != NULL)
            convert_wide(array, from, part, element + done, to->offsets, to->wide + done,
                         values + done);
        if (to->read.file != NULL)
            clear_skipped(array, to, element, done, part);
        bool all_storable = true;
        for (size_t i = 0; i < part; i++)
            all_storable &= storable(values[done + i], to->missing);
        if (!all_storable) {
            size_t i = 0;
            while (storable(values[done + i], to->missing))
                i++;
            const uint64_t place = element + done + i;
            return ef_fail_value(error, reader->name, place / array->n_columns + 1,
                                 place % array->n_columns + 1, convert_one(array, from + i * size));
        }
        ef_reader_take(reader, part * size);
        done += part;
    }
    return EFFACE_OK;
}

/* Room for n_more rows: for all at once if the file has them, else for twice as many as came. */
static efface_status reserve_set(const ef_reader *reader, size_t n_all, efface_data *data,
                                 size_t n_more, efface_error *error) {
    const size_t n_rows = efface_data_n_rows(data);
    uint64_t left;
    const bool honest = ef_reader_left(reader, &left); /* check_header compared them */
    const size_t least = n_rows + n_more;
    const size_t wanted = honest || n_all / 2 < least ? n_all : 2 * least;
    return data->capacity < least ? ef_data_reserve(data, wanted, error) : EFFACE_OK;
}

/* The rows of the share that is asked for: from begin on, up to end. */
typedef struct range {
    uint64_t begin, end;
} range;

static uint64_t part_of(uint64_t n_rows, uint32_t share, uint32_t n_shares) {
    return n_rows / n_shares * share + n_rows % n_shares * share / n_shares;
}

static range range_of(const ef_file_array *array, const efface_load_options *options) {
    if (options->n_shares == 0)
        return (range){0, array->n_rows};
    return (range){part_of(array->n_rows, options->share, options->n_shares),
                   part_of(array->n_rows, options->share + 1, options->n_shares)};
}

/* Adds n rows of a chunk, the first of which is row `row` of the file. */
static efface_status add_chunk(efface_data *data, const chunk *from, uint64_t row, size_t n,
                               efface_error *error) {
    for (size_t i = 0; i < n && from->ids != NULL; i++)
        from->ids[i] = row + i;
    return efface_data_add(
        data, &(efface_rows){.n_rows = n, .values = from->values, .ids = from->ids}, error);
}

/* Finds the columns that are not read, and makes a set for the others. */
static efface_status begin_columns(const ef_file_array *array, const efface_load_options *options,
                                   efface_data **data, chunk *to, efface_error *error) {
    const ef_file_columns file = {.n = (size_t)array->n_columns};
    bool *const skipped = ef_alloc_zero(file.n, sizeof *skipped), by_name = false;
    efface_status status = skipped != NULL ? EFFACE_OK : ef_fail_memory(error);
    EF_THEN(status, ef_skip_columns(&file, options, skipped, &by_name, error));
    uint32_t n_read = 0;
    for (size_t j = 0; j < file.n && status == EFFACE_OK; j++)
        n_read += !skipped[j];
    if (status == EFFACE_OK && n_read == 0)
        status = ef_fail(error, EFFACE_E_ARGUMENT, "no column is left to read");
    if (status == EFFACE_OK && n_read < file.n)
        status = ef_read_columns_begin(&to->read, file.n, skipped, error);
    EF_THEN(status, efface_data_create(n_read, data, error));
    EF_THEN(status, ef_offsets_choose(*data, &to->read, options, error));
    if (status == EFFACE_OK) /* codes are numbers here, but a column that is named must be there */
        status = ef_value_columns_mark(*data, &to->read, options->categories, options->n_categories,
                                       NULL, error);
    EF_THEN(status, ef_types_choose(*data, &to->read, options, error));
    if (status == EFFACE_OK)
        ef_read_columns_tell(&to->read, options);
    ef_free(skipped);
    return status;
}

/* The offsets of the columns of the file, if the set has any. */
static efface_status spread_offsets(const efface_data *data, size_t n_columns, chunk *to,
                                    efface_error *error) {
    const double *const offsets = efface_data_offsets(data);
    if (offsets == NULL)
        return EFFACE_OK;
    to->offsets = ef_alloc_zero(n_columns, sizeof *to->offsets);
    if (to->offsets == NULL)
        return ef_fail_memory(error);
    for (size_t j = 0; j < n_columns; j++) {
        const uint32_t column = to->read.file != NULL ? to->read.position[j] : (uint32_t)j;
        to->offsets[j] = column != EFFACE_NO_COLUMN ? offsets[column] : 0.0;
    }
    return EFFACE_OK;
}

/* Makes a set for the rows, and a place for a chunk of them. */
static efface_status begin_rows(const ef_file_array *array, const efface_load_options *options,
                                size_t n_rows, efface_data **data, chunk *to, efface_error *error) {
    const size_t n_values = n_rows * (size_t)array->n_columns;
    efface_status status = begin_columns(array, options, data, to, error);
    EF_THEN(status, spread_offsets(*data, (size_t)array->n_columns, to, error));
    if (status != EFFACE_OK)
        return status;
    to->missing = options->missing != 0;
    if (to->missing)
        efface_data_allow_missing(*data);
    const bool wide =
        to->offsets != NULL || (options->rounding != NULL && !is_exact(array->element));
    to->values = ef_alloc(n_values, sizeof *to->values);
    to->wide = wide ? ef_alloc(n_values, sizeof *to->wide) : NULL;
    const bool numbered = range_of(array, options).begin > 0;
    to->ids = numbered ? ef_alloc(n_rows, sizeof *to->ids) : NULL;
    return to->values != NULL && (!wide || to->wide != NULL) && (!numbered || to->ids != NULL)
               ? EFFACE_OK
               : ef_fail_memory(error);
}

/* Reads n rows, the first of them row `row` of the file, and adds them to the set. */
static efface_status read_rows(ef_reader *reader, const ef_file_array *array, uint64_t row,
                               size_t n, size_t n_all, const chunk *rows, efface_rounding *rounding,
                               efface_data *data, efface_error *error) {
    const uint64_t d = array->n_columns;
    efface_status status = read_values(reader, array, row * d, rows, n * (size_t)d, error);
    if (status == EFFACE_OK && rows->read.file != NULL)
        drop_skipped(array, rows, n);
    if (status == EFFACE_OK && rounding != NULL && rows->wide != NULL)
        status = efface_rounding_add(rounding, n, efface_data_n_columns(data), rows->wide, 0,
                                     efface_data_offsets(data), error);
    EF_THEN(status, reserve_set(reader, n_all, data, n, error));
    EF_THEN(status, add_chunk(data, rows, row, n, error));
    return status;
}

efface_status ef_array_load(ef_reader *reader, const ef_file_array *array,
                            const efface_load_options *options, efface_data **out,
                            efface_error *error) {
    efface_status status = check_header(reader, array, error);
    if (status != EFFACE_OK)
        return status;
    const size_t d = (size_t)array->n_columns;
    const size_t chunk_rows = CHUNK_VALUES / d > 1 ? CHUNK_VALUES / d : 1;
    efface_data *data = NULL;
    chunk rows = {.values = NULL};
    const range wanted = range_of(array, options);
    efface_rounding rounding = {.n_columns = 0};
    status = begin_rows(array, options, chunk_rows, &data, &rows, error);
    EF_THEN(status,
            ef_reader_skip(reader, wanted.begin * d * element_bytes(array->element), error));
    for (uint64_t row = wanted.begin; row < wanted.end && status == EFFACE_OK;) {
        const uint64_t left = wanted.end - row;
        const size_t n = left < chunk_rows ? (size_t)left : chunk_rows;
        status = read_rows(reader, array, row, n, (size_t)(wanted.end - wanted.begin), &rows,
                           options->rounding != NULL ? &rounding : NULL, data, error);
        row += n;
    }
    if (status == EFFACE_OK && wanted.end == array->n_rows)
        status = expect_end(reader, error);
    if (status == EFFACE_OK) {
        if (options->rounding != NULL)
            ef_rounding_move(options->rounding, &rounding);
        *out = data;
        data = NULL;
    }
    ef_rounding_clear(&rounding);
    ef_read_columns_clear(&rows.read);
    efface_data_free(data);
    ef_free(rows.values);
    ef_free(rows.wide);
    ef_free(rows.offsets);
    ef_free(rows.ids);
    return status;
}

efface_status ef_array_load_labels(ef_reader *reader, const ef_file_array *array, int64_t *labels,
                                   size_t n_rows, efface_error *error) {
    if (array->n_columns != 1)
        return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                          "labels must be in one column, but the file has %" PRIu64 " columns",
                          array->n_columns);
    if (array->n_rows != n_rows)
        return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                          "the file has %" PRIu64
                          " labels, but the set has %zu rows; there must be one label for each row",
                          array->n_rows, n_rows);
    const size_t size = element_bytes(array->element);
    for (size_t done = 0; done < n_rows;) {
        size_t part = 0;
        const efface_status status =
            next_elements(reader, array, done, n_rows - done, &part, error);
        if (status != EFFACE_OK)
            return status;
        for (size_t i = 0; i < part; i++) {
            const double value = convert_one(array, ef_reader_at(reader) + i * size);
            if (!(value >= -EF_LARGEST_LABEL && value <= EF_LARGEST_LABEL) ||
                value != (double)(int64_t)value)
                return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, done + i + 1, 1,
                                  "the label %g is not a whole number of at most 2^53", value);
            labels[done + i] = (int64_t)value;
        }
        ef_reader_take(reader, part * size);
        done += part;
    }
    return expect_end(reader, error);
}
