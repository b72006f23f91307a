/* The binary loaders and the byte stream below them: .npy, IDX, gzip, labels. CSV has a test of its
 * own, test_csv.c. */
#define _POSIX_C_SOURCE 200809L

#include "load_scene.h"

#include <stdint.h>

/* ---------------------------------------------------------------- making files */

typedef struct made {
    unsigned char bytes[4096];
    size_t n_bytes;
} made;

static void append(made *file, const void *bytes, size_t n_bytes) {
    assert_true(file->n_bytes + n_bytes <= sizeof file->bytes);
    memcpy(file->bytes + file->n_bytes, bytes, n_bytes);
    file->n_bytes += n_bytes;
}

/* An .npy file with this header text; the length field is `claimed`, or the true one if 0. */
static made npy_text(int version, const char *text, uint32_t claimed, const void *data,
                     size_t n_bytes) {
    made file = {.n_bytes = 0};
    const uint32_t length = claimed != 0 ? claimed : (uint32_t)strlen(text);
    const unsigned char front[] = {0x93,
                                   'N',
                                   'U',
                                   'M',
                                   'P',
                                   'Y',
                                   (unsigned char)version,
                                   0,
                                   (unsigned char)length,
                                   (unsigned char)(length >> 8),
                                   (unsigned char)(length >> 16),
                                   (unsigned char)(length >> 24)};
    append(&file, front, version == 1 ? 10 : 12);
    append(&file, text, strlen(text));
    append(&file, data, n_bytes);
    return file;
}

static made npy(const char *descr, const char *shape, const void *data, size_t n_bytes) {
    char text[256];
    (void)snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }  \n",
                   descr, shape);
    return npy_text(1, text, 0, data, n_bytes);
}

static made idx(unsigned char type, const uint32_t *dimensions, unsigned char n, const void *data,
                size_t n_bytes) {
    made file = {.n_bytes = 0};
    append(&file, (unsigned char[]){0, 0, type, n}, 4);
    for (int i = 0; i < n; i++) {
        const uint32_t d = dimensions[i];
        append(&file,
               (unsigned char[]){(unsigned char)(d >> 24), (unsigned char)(d >> 16),
                                 (unsigned char)(d >> 8), (unsigned char)d},
               4);
    }
    append(&file, data, n_bytes);
    return file;
}

#define LOAD_OK(file) load_ok((file).bytes, (file).n_bytes, NULL)
#define LOAD_BAD(file, status, line, column, words)                                                \
    load_bad((file).bytes, (file).n_bytes, NULL, status, line, column, words)

static void assert_values(const efface_data *data, const float *values, size_t n_rows,
                          uint32_t n_columns) {
    assert_int_equal(efface_data_n_rows(data), n_rows);
    assert_int_equal(efface_data_n_columns(data), n_columns);
    for (size_t i = 0; i < n_rows; i++) {
        const efface_row row = efface_data_row(data, i);
        assert_int_equal(row.id, i);
        assert_int_equal(row.weight, 1);
        assert_true(row.owner == EFFACE_NO_OWNER);
        assert_true(row.label == EFFACE_NO_LABEL);
        for (uint32_t j = 0; j < n_columns; j++) {
            const float value = ef_data_value(data, i, j);
            assert_memory_equal(&value, values + i * n_columns + j, sizeof value);
        }
    }
}

/* ---------------------------------------------------------------- elements */

/* Four elements of each type, big-endian, as they would be written by hand. */
static const struct type_case {
    const char *name;  /* as NumPy has it */
    unsigned char idx; /* as IDX has it, or 0 */
    size_t size;
    const char *bytes;
    float values[4];
} type_cases[] = {
    {"b1", 0, 1, "\x00\x01\x01\x00", {0, 1, 1, 0}},
    {"u1", 0x08, 1, "\x00\x01\x7F\xFF", {0, 1, 127, 255}},
    {"i1", 0x09, 1, "\x00\x7F\x80\xFF", {0, 127, -128, -1}},
    {"u2", 0, 2, "\x00\x01\x01\x00\xFF\xFF\x80\x00", {1, 256, 65535, 32768}},
    {"i2", 0x0B, 2, "\x00\x01\x01\x00\xFF\xFF\x80\x00", {1, 256, -1, -32768}},
    {"u4",
     0,
     4,
     "\x00\x00\x00\x01\x01\x00\x00\x01\xFF\xFF\xFF\xFF\x80\x00\x00\x00",
     {1, 0x1p24F, 0x1p32F, 0x1p31F}}, /* 2^24 + 1 is rounded */
    {"i4",
     0x0C,
     4,
     "\x00\x00\x00\x01\x01\x00\x00\x03\xFF\xFF\xFF\xFF\x80\x00\x00\x00",
     {1, 0x1.000004p24F, -1, -0x1p31F}}, /* ... and so is 2^24 + 3, to even */
    {"u8",
     0,
     8,
     "\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x01\x00\x00\x00\x00\x00\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
     "\xFF\x80\x00\x00\x80\x00\x00\x00\x01",
     {2, 0x1p40F, 0x1p64F, 0x1.000002p63F}}, /* just above a tie: a detour by double misses it */
    {"i8",
     0,
     8,
     "\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x01\x00\x00\x00\x00\x00\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
     "\xFF\x80\x00\x00\x00\x00\x00\x00\x00",
     {2, 0x1p40F, -1, -0x1p63F}},
    {"f4",
     0x0D,
     4,
     "\x3F\x80\x00\x00\xC0\x40\x00\x00\x00\x00\x00\x01\x7E\x80\x00\x00",
     {1, -3, 0x1p-149F, 0x1p126F}},
    {"f8",
     0x0E,
     8,
     "\x3F\xF0\x00\x00\x00\x00\x00\x00\xC0\x08\x00\x00\x00\x00\x00\x00\x3F\xB9\x99\x99\x99\x99\x99"
     "\x9A\x47\xD0\x00\x00\x00\x00\x00\x00",
     {1, -3, 0.1F, 0x1p126F}},
};
#define N_TYPE_CASES (sizeof type_cases / sizeof *type_cases)

static void reverse_elements(unsigned char *to, const struct type_case *t) {
    for (size_t i = 0; i < 4 * t->size; i++)
        to[i] = (unsigned char)t->bytes[i / t->size * t->size + (t->size - 1 - i % t->size)];
}

static void test_npy_types(void **state) {
    (void)state;
    for (size_t i = 0; i < N_TYPE_CASES; i++) {
        const struct type_case *const t = &type_cases[i];
        unsigned char little[32];
        reverse_elements(little, t);
        for (const char *order = t->size == 1 ? "<>|=" : "<>="; *order != '\0'; order++) {
            /* '=' is this machine's order, and this test runs on little-endian ones. */
            const void *const data = *order == '>' ? (const void *)t->bytes : little;
            char text[128];
            (void)snprintf(text, sizeof text,
                           "{'descr': '%c%s', 'fortran_order': False, 'shape': (2, 2), }\n", *order,
                           t->name);
            for (int version = 1; version <= 3; version++) {
                const made file = npy_text(version, text, 0, data, 4 * t->size);
                efface_data *const rows = LOAD_OK(file);
                assert_values(rows, t->values, 2, 2);
                efface_data_free(rows);
            }
        }
    }
}

static void test_idx_types(void **state) {
    (void)state;
    for (size_t i = 0; i < N_TYPE_CASES; i++) {
        const struct type_case *const t = &type_cases[i];
        if (t->idx == 0)
            continue;
        const made file = idx(t->idx, (uint32_t[]){2, 2}, 2, t->bytes, 4 * t->size);
        efface_data *const rows = LOAD_OK(file);
        assert_values(rows, t->values, 2, 2);
        efface_data_free(rows);
    }
}

static void test_values_out_of_range(void **state) {
    (void)state;
    const float nan4[] = {1, 2, 3, 4, 5, __builtin_nanf("")};
    LOAD_BAD(npy("<f4", "(2, 3)", nan4, sizeof nan4), EFFACE_E_FORMAT, 2, 3, "NaN");
    const float inf4[] = {1, 2, 3, -__builtin_inff(), 5, 6};
    LOAD_BAD(npy("<f4", "(2, 3)", inf4, sizeof inf4), EFFACE_E_FORMAT, 2, 1, "infinite");
    const float big4[] = {1, 0x1.000002p126F, 3, 4, 5, 6};
    LOAD_BAD(npy("<f4", "(2, 3)", big4, sizeof big4), EFFACE_E_LIMIT, 1, 2, "2^126");
    const double nan8[] = {1, 2, 3, 4, __builtin_nan(""), 6};
    LOAD_BAD(npy("<f8", "(3, 2)", nan8, sizeof nan8), EFFACE_E_FORMAT, 3, 1, "NaN");
    const double inf8[] = {__builtin_inf(), 2, 3, 4, 5, 6};
    LOAD_BAD(npy("<f8", "(2, 3)", inf8, sizeof inf8), EFFACE_E_FORMAT, 1, 1, "infinite");
    const double big8[] = {1, 2, 3, 4, 5, -1e300};
    LOAD_BAD(npy("<f8", "(2, 3)", big8, sizeof big8), EFFACE_E_LIMIT, 2, 3, "-1e+300");
    LOAD_BAD(npy("<f8", "(6,)", big8, sizeof big8), EFFACE_E_LIMIT, 6, 1, "2^126");
    /* A double that rounds to 2^126 is at most 2^126 as float32, which is what counts. */
    const double edge[] = {0x1.000000000001p126, -0x1.000000000001p126};
    efface_data *const rows = LOAD_OK(npy("<f8", "(1, 2)", edge, sizeof edge));
    assert_values(rows, (const float[]){0x1p126F, -0x1p126F}, 1, 2);
    efface_data_free(rows);
    /* Minus zero is stored as zero. */
    const float zeros[] = {-0.0F, 0.0F};
    efface_data *const zero = LOAD_OK(npy("<f4", "(1, 2)", zeros, sizeof zeros));
    assert_values(zero, (const float[]){0.0F, 0.0F}, 1, 2);
    efface_data_free(zero);
}

/* ---------------------------------------------------------------- shapes and headers */

static const float six[] = {1, 2, 3, 4, 5, 6};

static void test_npy_shapes(void **state) {
    (void)state;
    const struct {
        const char *shape;
        size_t n_rows;
        uint32_t n_columns;
    } cases[] = {{"(6,)", 6, 1},        {"(6, 1)", 6, 1},    {"(1, 6)", 1, 6},
                 {"(2, 3)", 2, 3},      {"(2,3)", 2, 3},     {"( 3 ,2 , )", 3, 2},
                 {"(2L, 3L)", 2, 3},    {"(1, 2, 3)", 1, 6}, {"(3, 1, 2)", 3, 2},
                 {"(2, 3, 1, 1)", 2, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        efface_data *const rows = LOAD_OK(npy("<f4", cases[i].shape, six, sizeof six));
        assert_values(rows, six, cases[i].n_rows, cases[i].n_columns);
        efface_data_free(rows);
    }
}

static void test_npy_fortran_order(void **state) {
    (void)state;
    const char *const format = "{'descr': '<f4', 'fortran_order': True, 'shape': %s, }\n";
    const struct {
        const char *shape;
        size_t n_rows; /* 0: refused */
        uint32_t n_columns;
    } cases[] = {{"(6,)", 6, 1},      {"(6, 1)", 6, 1}, {"(1, 6)", 1, 6},
                 {"(1, 6, 1)", 1, 6}, {"(2, 3)", 0, 0}, {"(1, 2, 3)", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, format, cases[i].shape);
        const made file = npy_text(1, text, 0, six, sizeof six);
        if (cases[i].n_rows == 0) {
            LOAD_BAD(file, EFFACE_E_FORMAT, 0, 0, "ascontiguousarray");
            continue;
        }
        efface_data *const rows = LOAD_OK(file);
        assert_values(rows, six, cases[i].n_rows, cases[i].n_columns);
        efface_data_free(rows);
    }
}

static void test_npy_headers(void **state) {
    (void)state;
    /* Other orders and quotes than NumPy's are Python all the same. */
    const char *const good[] = {
        "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
        "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (2, 3)}",
        " { 'descr' : '<f4' ,\t'fortran_order':False, 'shape': (2, 3) , } \n\n",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        efface_data *const rows = LOAD_OK(npy_text(1, good[i], 0, six, sizeof six));
        assert_values(rows, six, 2, 3);
        efface_data_free(rows);
    }
    const char *const bad[] = {
        "",
        "{}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'shape': (2, 3)}",
        "{'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x",
        "{'descr': '<f4\", 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<\\x664', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': [('x', '<f4'), ('y', '<f4')], 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616, 3)}",
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
         "1,1,1,1,1,1,1,1,1,1,1,1,2,3)}"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        LOAD_BAD(npy_text(1, bad[i], 0, six, sizeof six), EFFACE_E_FORMAT, 0, 0, ".npy header");
    const char *const types[] = {"<f2",  "<c8", "<U10",    "|O",  "|f4", "f4", "<f16",
                                 "<f4 ", "|S5", "<M8[ns]", "!f4", "",    "<"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        LOAD_BAD(npy(types[i], "(2, 3)", six, sizeof six), EFFACE_E_FORMAT, 0, 0, "astype");
    LOAD_BAD(npy("\x1B[2J\xFF", "(2, 3)", six, sizeof six), EFFACE_E_FORMAT, 0, 0,
             "'\\x1B[2J\\xFF' cannot be read");
    LOAD_BAD(npy("<f4", "()", six, 4), EFFACE_E_FORMAT, 0, 0, "single number");

    made wrong = npy("<f4", "(2, 3)", six, sizeof six);
    wrong.bytes[6] = 4;
    LOAD_BAD(wrong, EFFACE_E_FORMAT, 0, 0, "version 4.0");
    wrong.bytes[6] = 0;
    LOAD_BAD(wrong, EFFACE_E_FORMAT, 0, 0, "version 0.0");
    wrong.bytes[6] = 1;
    wrong.bytes[7] = 1;
    LOAD_BAD(wrong, EFFACE_E_FORMAT, 0, 0, "version 1.1");
}

static void test_npy_header_length(void **state) {
    (void)state;
    const char *const text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
    LOAD_BAD(npy_text(1, text, 20, six, sizeof six), EFFACE_E_FORMAT, 0, 0, "header is damaged");
    LOAD_BAD(npy_text(1, text, 65000, six, sizeof six), EFFACE_E_FORMAT, 0, 0, "ends within");
    LOAD_BAD(npy_text(2, text, 65537, six, sizeof six), EFFACE_E_FORMAT, 0, 0, "65537 bytes");
    LOAD_BAD(npy_text(3, text, UINT32_MAX, six, sizeof six), EFFACE_E_FORMAT, 0, 0,
             "4294967295 bytes");
}

static void test_sizes(void **state) {
    (void)state;
    const float one = 1;
    LOAD_BAD(npy("<f4", "(0,)", &one, 0), EFFACE_E_FORMAT, 0, 0, "nothing to load");
    LOAD_BAD(npy("<f4", "(0, 3)", &one, 0), EFFACE_E_FORMAT, 0, 0, "nothing to load");
    LOAD_BAD(npy("<f4", "(3, 0)", &one, 0), EFFACE_E_FORMAT, 0, 0, "nothing to load");
    LOAD_BAD(npy("<f4", "(3, 99999999999, 99999999999, 0)", &one, 0), EFFACE_E_FORMAT, 0, 0,
             "nothing to load");
    LOAD_BAD(npy("<f4", "(1, 32768)", &one, 4), EFFACE_E_LIMIT, 0, 0, "32768 columns");
    LOAD_BAD(npy("<f4", "(1, 4294967297)", &one, 4), EFFACE_E_LIMIT, 0, 0, "4294967297 columns");
    LOAD_BAD(npy("<f4", "(1, 4294967296, 4294967296)", &one, 4), EFFACE_E_LIMIT, 0, 0, "columns");
    /* Sizes that are far beyond the file: nobody has the memory for the second and third. */
    LOAD_BAD(npy("<f4", "(1000000000000, 2)", &one, 4), EFFACE_E_FORMAT, 1, 2, "ends here");
    LOAD_BAD(npy("<f4", "(1000000000000000,)", &one, 4), EFFACE_E_FORMAT, 2, 1, "ends here");
    LOAD_BAD(npy("|u1", "(18446744073709551615,)", &one, 4), EFFACE_E_FORMAT, 5, 1, "ends here");
    LOAD_BAD(npy("<f4", "(4611686018427387904,)", &one, 4), EFFACE_E_FORMAT, 0, 0, "damaged");
    LOAD_BAD(npy("<f4", "(18446744073709551615, 32767)", &one, 4), EFFACE_E_FORMAT, 0, 0,
             "damaged");
    LOAD_BAD(idx(0x08, (uint32_t[]){UINT32_MAX, 28, 28}, 3, "abc", 3), EFFACE_E_FORMAT, 1, 4,
             "ends here");
    /* The most columns there can be. */
    const uint32_t wide[] = {1, 7, 4681};
    unsigned char *const bytes = calloc(1, 16 + 32767);
    assert_non_null(bytes);
    const made front = idx(0x08, wide, 3, "", 0);
    memcpy(bytes, front.bytes, front.n_bytes);
    efface_data *const rows = load_ok(bytes, 16 + 32767, NULL);
    assert_int_equal(efface_data_n_columns(rows), 32767);
    efface_data_free(rows);
    free(bytes);
}

static void test_idx_shapes(void **state) {
    (void)state;
    const char *const bytes = "\1\2\3\4\5\6";
    const struct {
        uint32_t dimensions[4];
        unsigned char n;
        size_t n_rows;
        uint32_t n_columns;
    } cases[] = {{{6}, 1, 6, 1}, {{2, 3}, 2, 2, 3}, {{1, 2, 3}, 3, 1, 6}, {{3, 1, 2, 1}, 4, 3, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        efface_data *const rows = LOAD_OK(idx(0x08, cases[i].dimensions, cases[i].n, bytes, 6));
        assert_values(rows, six, cases[i].n_rows, cases[i].n_columns);
        efface_data_free(rows);
    }
    LOAD_BAD(idx(0x08, NULL, 0, bytes, 6), EFFACE_E_FORMAT, 0, 0, "no dimensions");
    LOAD_BAD(idx(0x08, (uint32_t[]){0}, 1, bytes, 0), EFFACE_E_FORMAT, 0, 0, "nothing to load");
    LOAD_BAD(idx(0x08, (uint32_t[]){2, 0}, 2, bytes, 0), EFFACE_E_FORMAT, 0, 0, "nothing to load");
    LOAD_BAD(idx(0x08, (uint32_t[]){1, 256, 128}, 3, bytes, 6), EFFACE_E_LIMIT, 0, 0, "32768");
    const unsigned char types[] = {0x00, 0x07, 0x0A, 0x0F, 0xFF};
    for (size_t i = 0; i < sizeof types; i++)
        LOAD_BAD(idx(types[i], (uint32_t[]){6}, 1, bytes, 6), EFFACE_E_FORMAT, 0, 0,
                 "element type");
    const unsigned char nan[] = {0x3F, 0x80, 0, 0, 0x7F, 0xC0, 0, 0};
    LOAD_BAD(idx(0x0D, (uint32_t[]){2}, 1, nan, 8), EFFACE_E_FORMAT, 2, 1, "NaN");
}

/* ---------------------------------------------------------------- damaged files */

static made many_files(int which) {
    static const unsigned char bytes[48] = {0x3F, 1, 2, 3, 4, 5, 6, 7};
    switch (which) {
    case 0: return npy("<f4", "(2, 3)", six, sizeof six);
    case 1: return npy("|u1", "(4,)", bytes, 4);
    case 2:
        return npy_text(2, "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2), }\n", 0,
                        bytes, 48);
    case 3: return idx(0x08, (uint32_t[]){2, 2, 2}, 3, bytes, 8);
    case 4: return idx(0x0E, (uint32_t[]){3}, 1, bytes, 24);
    default: return (made){.n_bytes = 0};
    }
}

static void test_truncation(void **state) {
    (void)state;
    for (int which = 0;; which++) {
        const made file = many_files(which);
        if (file.n_bytes == 0)
            break;
        efface_data *const rows = LOAD_OK(file);
        efface_data_free(rows);
        for (size_t n = 0; n < file.n_bytes; n++) {
            outcome o;
            for (int way = 0; load_way(way, file.bytes, n, NULL, &o); way++) {
                assert_int_equal(o.status, EFFACE_E_FORMAT);
                assert_ptr_equal(o.data, untouched());
                assert_non_null(strstr(o.error.message, plain_name));
            }
        }
        made longer = file;
        append(&longer, "\n", 1);
        LOAD_BAD(longer, EFFACE_E_FORMAT, 0, 0, "more bytes than its header says");
    }
    /* Where a file of 6 values ends. */
    made file = many_files(0);
    file.n_bytes -= 5;
    LOAD_BAD(file, EFFACE_E_FORMAT, 2, 2, "has 2 rows of 3 columns");
}

static void assert_gzip_fails(const unsigned char *bytes, size_t n_bytes, const char *words) {
    const outcome o = load_path(write_plain(bytes, n_bytes), NULL);
    if (o.status != EFFACE_E_FORMAT || strstr(o.error.message, words) == NULL)
        fail_msg("%zu bytes: expected \"%s\", got %s", n_bytes, words,
                 o.status != EFFACE_OK ? o.error.message : "success");
    assert_ptr_equal(o.data, untouched());
    for (size_t chunk = 1; chunk < 4; chunk++)
        assert_int_equal(load_memory(bytes, n_bytes, chunk, NULL).status, EFFACE_E_FORMAT);
}

static void test_gzip_truncation(void **state) {
    (void)state;
    for (int which = 0;; which++) {
        const made file = many_files(which);
        if (file.n_bytes == 0)
            break;
        size_t n_bytes;
        unsigned char *const bytes =
            read_back(write_gzip(file.bytes, file.n_bytes, "wb"), &n_bytes);
        assert_gzip_fails(bytes, 0, "empty");
        assert_gzip_fails(bytes, 1, "no rows"); /* nothing says that it is gzip */
        for (size_t n = 2; n < n_bytes; n++)
            assert_gzip_fails(bytes, n, "ends in the middle");
        free(bytes);
    }
}

static void test_gzip_damage(void **state) {
    (void)state;
    const made file = many_files(0);
    efface_data *const rows = LOAD_OK(file);
    size_t n_bytes, n_refused = 0;
    unsigned char *bytes = read_back(write_gzip(file.bytes, file.n_bytes, "wb"), &n_bytes);
    for (size_t i = 0; i < n_bytes; i++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (unsigned char)(1 << bit);
            const outcome o = load_path(write_plain(bytes, n_bytes), NULL);
            if (o.status == EFFACE_OK) { /* a time, a name: nothing that matters */
                assert_same_rows(rows, o.data);
                efface_data_free(o.data);
            }
            n_refused += o.status != EFFACE_OK;
            bytes[i] ^= (unsigned char)(1 << bit);
        }
    assert_true(n_refused > 8 * (n_bytes - 10)); /* all of the data and trailer, and the magic */
    /* The checksum is looked at although no byte of the data is missing. */
    bytes[n_bytes - 8] ^= 1;
    assert_gzip_fails(bytes, n_bytes, "incorrect data check");
    free(bytes);
    efface_data_free(rows);
}

static void test_gzip_members(void **state) {
    (void)state;
    const made file = many_files(0);
    efface_data *const whole = LOAD_OK(file);
    for (size_t n = 0; n <= file.n_bytes; n++) {
        (void)write_gzip(file.bytes, n, "wb");
        size_t n_first, n_bytes;
        free(read_back(path_of(gzip_name), &n_first));
        unsigned char *const bytes =
            read_back(write_gzip(file.bytes + n, file.n_bytes - n, "ab"), &n_bytes);
        for (size_t chunk = 1; chunk <= n_bytes; chunk++) {
            const outcome o = load_memory(bytes, n_bytes, chunk, NULL);
            assert_int_equal(o.status, EFFACE_OK);
            assert_same_rows(whole, o.data);
            efface_data_free(o.data);
        }
        /* gzread would take the damaged member for padding and stop before it. */
        bytes[n_first] ^= 0xFF;
        assert_gzip_fails(bytes, n_bytes, "other bytes follow");
        bytes[n_first] ^= 0xFF;
        assert_gzip_fails(bytes, n_first + 1, "other bytes follow");
        free(bytes);
    }
    efface_data_free(whole);
    /* An empty file, compressed. */
    assert_int_equal(load_path(write_gzip("", 0, "wb"), NULL).status, EFFACE_E_FORMAT);
}

static void test_operating_system(void **state) {
    (void)state;
    outcome o = load_path(path_of("not-there.npy"), NULL);
    assert_int_equal(o.status, EFFACE_E_IO);
    assert_non_null(strstr(o.error.message, "not-there.npy: cannot open the file: No such file"));
    assert_ptr_equal(o.data, untouched());
    o = load_path(folder, NULL);
    assert_int_equal(o.status, EFFACE_E_IO);
    assert_non_null(strstr(o.error.message, "cannot read the file: Is a directory"));
    assert_int_equal(efface_data_load("x", NULL, NULL, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_data_load(NULL, NULL, &o.data, NULL), EFFACE_E_ARGUMENT);
    assert_ptr_equal(o.data, untouched());
    /* The detail is optional. */
    assert_int_equal(efface_data_load(folder, NULL, &o.data, NULL), EFFACE_E_IO);
    /* A pipe has no size to compare with. */
    const made file = many_files(0);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], file.bytes, file.n_bytes), file.n_bytes);
    assert_int_equal(close(ends[1]), 0);
    char path[64];
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    if (access(path, R_OK) == 0) {
        o = load_path(path, NULL);
        assert_int_equal(o.status, EFFACE_OK);
        assert_values(o.data, six, 2, 3);
        efface_data_free(o.data);
    }
    assert_int_equal(close(ends[0]), 0);
}

static void test_foreign_files(void **state) {
    (void)state;
    load_bad(BYTES(""), NULL, EFFACE_E_FORMAT, 0, 0, "empty");
    load_bad(BYTES("PK\3\4\24\0\0\0"), NULL, EFFACE_E_FORMAT, 0, 0, "zip archive");
    load_bad(BYTES("\xFF\xFE"
                   "1\0,\0002\0\n\0"),
             NULL, EFFACE_E_FORMAT, 0, 0, "UTF-16");
    load_bad(BYTES("\xFE\xFF\0001\0,\0002\0\n"), NULL, EFFACE_E_FORMAT, 0, 0, "UTF-16");
    load_bad(BYTES("\x93NUMPX\1\0"), NULL, EFFACE_E_FORMAT, 1, 1, "zero byte");
}

/* ---------------------------------------------------------------- more than a buffer */

static void test_large(void **state) {
    (void)state;
    enum { ROWS = 100003, COLUMNS = 3 };
    made front = npy("<f8", "(100003, 3)", "", 0);
    const size_t n_bytes = front.n_bytes + sizeof(double) * ROWS * COLUMNS;
    unsigned char *const bytes = malloc(n_bytes);
    assert_non_null(bytes);
    memcpy(bytes, front.bytes, front.n_bytes);
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) {
        const double x = (double)i * 0.25 - 1000.0;
        memcpy(bytes + front.n_bytes + i * sizeof x, &x, sizeof x);
    }
    const char *const paths[] = {write_plain(bytes, n_bytes), write_gzip(bytes, n_bytes, "wb")};
    for (int way = 0; way < 2; way++) {
        const outcome o = load_path(paths[way], NULL);
        assert_int_equal(o.status, EFFACE_OK);
        assert_int_equal(efface_data_n_rows(o.data), ROWS);
        for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++)
            assert_true(ef_data_value(o.data, i / COLUMNS, (uint32_t)(i % COLUMNS)) ==
                        (float)((double)i * 0.25 - 1000.0));
        /* The rows cost their own memory and no more. */
        assert_in_range(o.data->capacity, ROWS, ROWS + EF_PANEL - 1);
        efface_data_free(o.data);
    }
    /* A place far behind the first chunk. */
    const double nan = __builtin_nan("");
    memcpy(bytes + front.n_bytes + ((size_t)90000 * COLUMNS + 1) * sizeof nan, &nan, sizeof nan);
    const outcome o = load_path(write_gzip(bytes, n_bytes, "wb"), NULL);
    assert_int_equal(o.status, EFFACE_E_FORMAT);
    assert_int_equal(o.error.line, 90001);
    assert_int_equal(o.error.column, 2);
    free(bytes);
}

/* The first chunk is there, and the header promises what no machine can hold. */
static void test_large_claim(void **state) {
    (void)state;
    const made front = npy("|u1", "(1000000000000000,)", "", 0);
    const size_t n_values = 200000;
    unsigned char *const bytes = calloc(front.n_bytes + n_values, 1);
    assert_non_null(bytes);
    memcpy(bytes, front.bytes, front.n_bytes);
    load_bad(bytes, front.n_bytes + n_values, NULL, EFFACE_E_FORMAT, n_values + 1, 1, "ends here");
    free(bytes);
}

/* ---------------------------------------------------------------- labels */

static efface_data *three_rows(void) {
    efface_data *data;
    assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
    const efface_rows rows = {.n_rows = 3, .values = six, .labels = (const int64_t[]){7, 8, 9}};
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    return data;
}

static void assert_labels(const efface_data *data, int64_t a, int64_t b, int64_t c) {
    assert_int_equal(efface_data_row(data, 0).label, a);
    assert_int_equal(efface_data_row(data, 1).label, b);
    assert_int_equal(efface_data_row(data, 2).label, c);
}

static void labels_ok(const void *bytes, size_t n_bytes, int64_t a, int64_t b, int64_t c) {
    efface_data *const data = three_rows();
    efface_error error;
    if (efface_data_load_labels(data, write_plain(bytes, n_bytes), &error) != EFFACE_OK)
        fail_msg("%s", error.message);
    assert_labels(data, a, b, c);
    efface_data_free(data);
}

static void labels_bad(const void *bytes, size_t n_bytes, uint64_t line, uint64_t column,
                       const char *words) {
    efface_data *const data = three_rows();
    efface_error error;
    assert_int_equal(efface_data_load_labels(data, write_plain(bytes, n_bytes), &error),
                     EFFACE_E_FORMAT);
    if (strstr(error.message, words) == NULL || strstr(error.message, plain_name) == NULL ||
        error.line != line || error.column != column)
        fail_msg("expected %llu:%llu \"%s\", got %s", (unsigned long long)line,
                 (unsigned long long)column, words, error.message);
    assert_labels(data, 7, 8, 9);
    efface_data_free(data);
}

#define LABELS_OK(file, a, b, c) labels_ok((file).bytes, (file).n_bytes, a, b, c)
#define LABELS_BAD(file, line, column, words)                                                      \
    labels_bad((file).bytes, (file).n_bytes, line, column, words)

static void test_labels(void **state) {
    (void)state;
    LABELS_OK(idx(0x08, (uint32_t[]){3}, 1, "\0\x80\xFF", 3), 0, 128, 255);
    const int64_t big[] = {INT32_MIN, 16777217, INT32_MAX}; /* beyond what float32 can hold */
    LABELS_OK(npy("<i8", "(3,)", big, sizeof big), INT32_MIN, 16777217, INT32_MAX);
    LABELS_OK(npy("<i8", "(3, 1)", big, sizeof big), INT32_MIN, 16777217, INT32_MAX);
    const double real[] = {INT32_MIN, -1, INT32_MAX};
    LABELS_OK(npy("<f8", "(3,)", real, sizeof real), INT32_MIN, -1, INT32_MAX);
    const int32_t i4[] = {-16777217, 0, 16777217};
    LABELS_OK(npy("<i4", "(3,)", i4, sizeof i4), -16777217, 0, 16777217);
    const uint32_t u4[] = {1, 2, INT32_MAX};
    LABELS_OK(npy("<u4", "(3,)", u4, sizeof u4), 1, 2, INT32_MAX);
    const float f4[] = {1, -2, 3};
    LABELS_OK(npy("<f4", "(3,)", f4, sizeof f4), 1, -2, 3);
    LABELS_OK(npy("|b1", "(3,)", "\1\0\1", 3), 1, 0, 1);
    labels_ok(BYTES("class\n3\n-4\n2147483647\n"), 3, -4, INT32_MAX);
    labels_ok(BYTES("3.0\n 4e0 \r\n\"5\""), 3, 4, 5);
    /* All whole numbers that a double holds exactly, and those alone. */
    const int64_t most = INT64_C(1) << 53;
    const int64_t wide[] = {-most, INT64_C(1) << 31, most};
    LABELS_OK(npy("<i8", "(3,)", wide, sizeof wide), -most, INT64_C(1) << 31, most);
    labels_ok(BYTES("-9007199254740992\n2147483648\n9007199254740992\n"), -most, INT64_C(1) << 31,
              most);

    const int64_t beyond[] = {0, most + 2, 0};
    LABELS_BAD(npy("<i8", "(3,)", beyond, sizeof beyond), 2, 1, "whole number");
    const uint64_t wraps[] = {0, 0, UINT64_MAX};
    LABELS_BAD(npy("<u8", "(3,)", wraps, sizeof wraps), 3, 1, "whole number");
    const double half[] = {0, 0, 0.5};
    LABELS_BAD(npy("<f8", "(3,)", half, sizeof half), 3, 1, "0.5");
    const double nan[] = {__builtin_nan(""), 0, 0};
    LABELS_BAD(npy("<f8", "(3,)", nan, sizeof nan), 1, 1, "whole number");
    LABELS_BAD(npy("|u1", "(2,)", "\1\2", 2), 0, 0, "2 labels, but the set has 3 rows");
    LABELS_BAD(npy("|u1", "(4,)", "\1\2\3\4", 4), 0, 0, "4 labels, but the set has 3 rows");
    LABELS_BAD(npy("|u1", "(3, 2)", "\1\2\3\4\5\6", 6), 0, 0, "one column");
    LABELS_BAD(npy("|u1", "(3,)", "\1\2", 2), 3, 1, "ends here");
    LABELS_BAD(npy("|u1", "(3,)", "\1\2\3\4", 4), 0, 0, "more bytes");
    labels_bad(BYTES("1\n2\n"), 0, 0, "2 labels, but the set has 3 rows");
    labels_bad(BYTES("1\n2\n3\n4\n"), 4, 0, "more labels");
    labels_bad(BYTES("1\n2\nx\n"), 3, 1, "not a number");
    labels_bad(BYTES("1\n2.5\n3\n"), 2, 1, "whole number");
    labels_bad(BYTES("1\n2\n9007199254740994\n"), 3, 1, "whole number");
    labels_bad(BYTES("a,b\n1,2\n1,2\n1,2\n"), 1, 0, "one column");
    labels_bad(BYTES("a\n1\n1,2\n1\n"), 3, 0, "one column");
    labels_bad(BYTES(""), 0, 0, "empty");
    efface_data *const data = three_rows();
    assert_int_equal(efface_data_load_labels(data, path_of("none"), NULL), EFFACE_E_IO);
    assert_int_equal(efface_data_load_labels(data, NULL, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_data_load_labels(NULL, "x", NULL), EFFACE_E_ARGUMENT);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_types),           cmocka_unit_test(test_idx_types),
        cmocka_unit_test(test_values_out_of_range), cmocka_unit_test(test_npy_shapes),
        cmocka_unit_test(test_npy_fortran_order),   cmocka_unit_test(test_npy_headers),
        cmocka_unit_test(test_npy_header_length),   cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_idx_shapes),          cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_gzip_truncation),     cmocka_unit_test(test_gzip_damage),
        cmocka_unit_test(test_gzip_members),        cmocka_unit_test(test_operating_system),
        cmocka_unit_test(test_foreign_files),       cmocka_unit_test(test_large),
        cmocka_unit_test(test_large_claim),         cmocka_unit_test(test_labels),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
