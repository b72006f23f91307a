/*
 * The header of a NumPy .npy file:
 *
 *     offset  bytes  what
 *     0       6      93 'N' 'U' 'M' 'P' 'Y'
 *     6       2      format version: 1.0, 2.0 or 3.0
 *     8       2      length of the header text (version 1), little-endian
 *     8       4      the same (versions 2 and 3)
 *     10, 12         header text, a Python dictionary, such as
 *                    {'descr': '<f4', 'fortran_order': False, 'shape': (1797, 64), }
 *                    then spaces and a newline, then the elements
 *
 * The text is read by a parser that knows strings, True, False, and tuples of numbers. What NumPy
 * itself would not have written is refused.
 */
#include "base/errors/status.h"
#include "data/files/loaders.h"
#include "data/texts/field.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define MAX_DIMENSIONS 32 /* NumPy's limit for a long time, now 64: shapes are 2 in practice */
#define MAX_HEADER_BYTES 65536u /* NumPy reads no more than 10,000 unless told to */

typedef struct parser {
    const char *at;
    const char *end;
} parser;

typedef struct header {
    char descr[16]; /* longer ones are structured types, which are refused */
    bool fortran_order;
    uint64_t dimensions[MAX_DIMENSIONS];
    size_t n_dimensions;
    bool has_descr, has_order, has_shape;
} header;

static void skip_spaces(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

/* Takes one character, spaces before it aside, if it is the next. */
static bool take_npy(parser *p, char c) {
    skip_spaces(p);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool take_word(parser *p, const char *word) {
    const size_t n = strlen(word);
    skip_spaces(p);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

/* A string in single or double quotes, without escapes, that fits `text` with its end. */
static bool take_string(parser *p, char *text, size_t capacity) {
    skip_spaces(p);
    if (p->at == p->end || (*p->at != '\'' && *p->at != '"'))
        return false;
    const char *const begin = p->at + 1;
    const char *const close = memchr(begin, *p->at, (size_t)(p->end - begin));
    if (close == NULL || (size_t)(close - begin) >= capacity)
        return false;
    const size_t n = (size_t)(close - begin);
    memcpy(text, begin, n);
    text[n] = '\0';
    p->at = close + 1;
    return strlen(text) == n && strchr(text, '\\') == NULL;
}

static bool take_number(parser *p, uint64_t *number) {
    skip_spaces(p);
    const char *const begin = p->at;
    *number = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (__builtin_mul_overflow(*number, (uint64_t)10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*p->at - '0'), number))
            return false;
    const bool any = p->at > begin;
    if (any && p->at < p->end && *p->at == 'L') /* a long integer of Python 2 */
        p->at++;
    return any;
}

/* (), (3,), (3, 4) and so on. */
static bool take_tuple(parser *p, header *h) {
    if (!take_npy(p, '('))
        return false;
    bool comma = true;
    while (!take_npy(p, ')')) {
        if (!comma || h->n_dimensions == MAX_DIMENSIONS ||
            !take_number(p, &h->dimensions[h->n_dimensions]))
            return false;
        h->n_dimensions++;
        comma = take_npy(p, ',');
    }
    return h->n_dimensions != 1 || comma; /* (3) is a number, not a tuple */
}

static bool take_entry(parser *p, header *h) {
    char key[16];
    if (!take_string(p, key, sizeof key) || !take_npy(p, ':'))
        return false;
    if (strcmp(key, "descr") == 0 && !h->has_descr) {
        h->has_descr = true;
        return take_string(p, h->descr, sizeof h->descr);
    }
    if (strcmp(key, "fortran_order") == 0 && !h->has_order) {
        h->has_order = true;
        h->fortran_order = take_word(p, "True");
        return h->fortran_order || take_word(p, "False");
    }
    if (strcmp(key, "shape") == 0 && !h->has_shape) {
        h->has_shape = true;
        return take_tuple(p, h);
    }
    return false;
}

static bool parse(const char *text, size_t n_bytes, header *h) {
    parser p = {text, text + n_bytes};
    *h = (header){.n_dimensions = 0};
    if (!take_npy(&p, '{'))
        return false;
    bool comma = true;
    while (!take_npy(&p, '}')) {
        if (!comma || !take_entry(&p, h))
            return false;
        comma = take_npy(&p, ',');
    }
    skip_spaces(&p);
    return p.at == p.end && h->has_descr && h->has_order && h->has_shape;
}

/* "<f4" and the like: byte order, kind, bytes. */
static bool find_element(const char *descr, ef_file_array *array) {
    static const struct {
        char name[3];
        ef_element element;
    } known[] = {
        {"b1", EF_ELEMENT_BOOL}, {"u1", EF_ELEMENT_U1}, {"i1", EF_ELEMENT_I1},
        {"u2", EF_ELEMENT_U2},   {"i2", EF_ELEMENT_I2}, {"u4", EF_ELEMENT_U4},
        {"i4", EF_ELEMENT_I4},   {"u8", EF_ELEMENT_U8}, {"i8", EF_ELEMENT_I8},
        {"f4", EF_ELEMENT_F4},   {"f8", EF_ELEMENT_F8},
    };
    const bool one_byte = descr[0] != '\0' && descr[1] != '\0' && descr[2] == '1';
    switch (descr[0]) {
    case '<': array->big_endian = false; break;
    case '>': array->big_endian = true; break;
    case '|':
        if (!one_byte)
            return false;
        break;
    case '=': array->big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__; break;
    default: return false;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(descr + 1, known[i].name) == 0) {
            array->element = known[i].element;
            return true;
        }
    return false;
}

/* Whether C order and Fortran order are the same: at most one dimension is not 1. */
static bool order_is_indifferent(const header *h) {
    size_t n_long = 0;
    for (size_t i = 0; i < h->n_dimensions; i++)
        n_long += h->dimensions[i] != 1;
    return n_long < 2;
}

static efface_status fail_header(const ef_reader *reader, const char *what, efface_error *error) {
    return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0, "%s", what);
}

/* Takes magic, version and length; the text of *n_bytes bytes is available afterwards. */
static efface_status take_front(ef_reader *reader, size_t *n_bytes, efface_error *error) {
    const char *const cut = "the file ends within its .npy header; download or write it again";
    efface_status status = ef_reader_fill(reader, 12, error);
    if (status != EFFACE_OK)
        return status;
    const unsigned char *const front = ef_reader_at(reader);
    const size_t available = ef_reader_available(reader);
    assert(available >= 6 && memcmp(front, "\x93NUMPY", 6) == 0);
    if (available < 12) /* the shortest header text is longer than two bytes */
        return fail_header(reader, cut, error);
    const unsigned version = front[6];
    if (version < 1 || version > 3 || front[7] != 0)
        return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                          "the .npy format version %u.%u is not known; save the array with "
                          "numpy.save",
                          version, front[7]);
    uint32_t length = (uint32_t)front[8] | (uint32_t)front[9] << 8;
    if (version > 1)
        length |= (uint32_t)front[10] << 16 | (uint32_t)front[11] << 24;
    if (length > MAX_HEADER_BYTES)
        return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                          "the .npy header says that it has %" PRIu32
                          " bytes; the file is damaged or is not a plain array",
                          length);
    ef_reader_take(reader, version > 1 ? 12 : 10);
    status = ef_reader_fill(reader, length, error);
    if (status != EFFACE_OK)
        return status;
    if (ef_reader_available(reader) < length)
        return fail_header(reader, cut, error);
    *n_bytes = length;
    return EFFACE_OK;
}

efface_status ef_npy_header(ef_reader *reader, ef_file_array *array, efface_error *error) {
    size_t n_bytes = 0;
    const efface_status status = take_front(reader, &n_bytes, error);
    if (status != EFFACE_OK)
        return status;
    header h;
    if (!parse((const char *)ef_reader_at(reader), n_bytes, &h))
        return fail_header(reader,
                           "the .npy header is damaged, or the array is not of plain numbers; "
                           "save a numeric array with numpy.save",
                           error);
    ef_reader_take(reader, n_bytes);
    *array = (ef_file_array){.n_rows = 0};
    if (!find_element(h.descr, array))
        return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                          "numbers of type '%s' cannot be read; save the array as float32: "
                          "numpy.save(path, array.astype(numpy.float32))",
                          ef_field_show((ef_csv_field){h.descr, strlen(h.descr)}).text);
    if (h.n_dimensions == 0)
        return fail_header(reader,
                           "the file has a single number and no rows; save a table with numpy.save",
                           error);
    if (h.fortran_order && !order_is_indifferent(&h))
        return fail_header(reader,
                           "the array is stored column by column (Fortran order); save it row by "
                           "row: numpy.save(path, numpy.ascontiguousarray(array))",
                           error);
    ef_array_shape(array, h.dimensions, h.n_dimensions);
    return EFFACE_OK;
}
