/*
 * For tests of the loaders: the same bytes are loaded in every way there is (plain file, gzipped
 * file, from memory in chunks of any size), and all must agree, in rows or in the error.
 */
#ifndef LOAD_SCENE_H
#define LOAD_SCENE_H

#include "data/files/loaders.h"
#include "data/set/rows.h"
#include "efface/efface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

/* A text literal with its length, zero bytes inside and all. */
#define BYTES(literal) (literal), sizeof(literal) - 1

static char folder[] = "/tmp/efface-test-XXXXXX";
static const char *const plain_name = "rows.bin", *const gzip_name = "rows.bin.gz";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

/* The path of a file in the test's folder; valid until called eight more times. */
static const char *path_of(const char *name) {
    static char paths[8][128];
    static int turn;
    char *const path = paths[turn++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int remove_folder(void **state) {
    (void)state;
    (void)unlink(path_of(plain_name));
    (void)unlink(path_of(gzip_name));
    return rmdir(folder);
}

static const char *write_plain(const void *bytes, size_t n_bytes) {
    const char *const path = path_of(plain_name);
    (void)unlink(path); /* file systems take more time to replace a file than to make one */
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* `mode` is "wb", or "ab" for one more gzip member. */
static const char *write_gzip(const void *bytes, size_t n_bytes, const char *mode) {
    const char *const path = path_of(gzip_name);
    if (mode[0] == 'w')
        (void)unlink(path);
    gzFile const file = gzopen(path, mode);
    assert_non_null(file);
    if (n_bytes > 0)
        assert_int_equal(gzwrite(file, bytes, (unsigned)n_bytes), n_bytes);
    assert_int_equal(gzclose(file), Z_OK);
    return path;
}

/* The bytes of a file, to be freed. */
static inline unsigned char *read_back(const char *path, size_t *n_bytes) {
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *n_bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *const bytes = malloc(*n_bytes + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n_bytes, file), *n_bytes);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

/* ---------------------------------------------------------------- one load */

/* What a load must not touch when it fails. */
static inline efface_data *untouched(void) {
    static int place;
    return (efface_data *)(void *)&place;
}

typedef struct outcome {
    efface_status status;
    efface_data *data;
    efface_error error;
} outcome;

static inline outcome load_path(const char *path, const efface_load_options *options) {
    outcome o = {.data = untouched()};
    o.status = efface_data_load(path, options, &o.data, &o.error);
    return o;
}

static inline outcome load_memory(const void *bytes, size_t n_bytes, size_t chunk_bytes,
                                  const efface_load_options *options) {
    outcome o = {.data = untouched()};
    /* A copy that ends where the bytes end, so that reading on is noticed by checkers. */
    void *const copy = malloc(n_bytes > 0 ? n_bytes : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n_bytes);
    ef_reader reader;
    o.status = ef_reader_open_memory(&reader, plain_name, copy, n_bytes, chunk_bytes, &o.error);
    if (o.status == EFFACE_OK) {
        o.status = ef_load(&reader, options, &o.data, &o.error);
        ef_reader_close(&reader);
    }
    free(copy);
    return o;
}

/* Way number `way`, or false if there are no more ways. */
static inline bool load_way(int way, const void *bytes, size_t n_bytes,
                            const efface_load_options *options, outcome *o) {
    static const size_t chunks[] = {1, 2, 3, 5, 8, 13, 64, 1 << 20};
    const int n_chunks = (int)(sizeof chunks / sizeof *chunks);
    if (way < n_chunks)
        *o = load_memory(bytes, n_bytes, chunks[way], options);
    else if (way == n_chunks)
        *o = load_path(write_plain(bytes, n_bytes), options);
    else if (way == n_chunks + 1)
        *o = load_path(write_gzip(bytes, n_bytes, "wb"), options);
    else
        return false;
    return true;
}

/* ---------------------------------------------------------------- all ways */

static inline void assert_same_rows(const efface_data *a, const efface_data *b) {
    assert_int_equal(efface_data_n_rows(a), efface_data_n_rows(b));
    assert_int_equal(efface_data_n_columns(a), efface_data_n_columns(b));
    for (size_t i = 0; i < efface_data_n_rows(a); i++) {
        const efface_row x = efface_data_row(a, i), y = efface_data_row(b, i);
        assert_int_equal(x.id, y.id);
        assert_int_equal(x.weight, y.weight);
        assert_int_equal(x.owner, y.owner);
        assert_int_equal(x.label, y.label);
        for (uint32_t j = 0; j < efface_data_n_columns(a); j++)
            assert_true(ef_data_value(a, i, j) == ef_data_value(b, i, j));
    }
}

/* Loads in all ways and hands out the rows. */
static inline efface_data *load_ok(const void *bytes, size_t n_bytes,
                                   const efface_load_options *options) {
    efface_data *first = NULL;
    outcome o;
    for (int way = 0; load_way(way, bytes, n_bytes, options, &o); way++) {
        if (o.status != EFFACE_OK)
            fail_msg("way %d: %s", way, o.error.message);
        assert_ptr_not_equal(o.data, untouched());
        if (first == NULL) {
            first = o.data;
            continue;
        }
        assert_same_rows(first, o.data);
        efface_data_free(o.data);
    }
    return first;
}

/* Loads in all ways; each must fail like this, naming the file and saying `words`. */
static inline void load_bad(const void *bytes, size_t n_bytes, const efface_load_options *options,
                            efface_status status, uint64_t line, uint64_t column,
                            const char *words) {
    outcome o;
    for (int way = 0; load_way(way, bytes, n_bytes, options, &o); way++) {
        if (o.status != status || strstr(o.error.message, words) == NULL)
            fail_msg("way %d: expected %s and \"%s\", got %s: %s", way, efface_status_name(status),
                     words, efface_status_name(o.status),
                     o.status != EFFACE_OK ? o.error.message : "-");
        assert_ptr_equal(o.data, untouched());
        assert_int_equal(o.error.status, status);
        if (o.error.line != line || o.error.column != column)
            fail_msg("way %d: expected %llu:%llu, got %s", way, (unsigned long long)line,
                     (unsigned long long)column, o.error.message);
        assert_non_null(strstr(o.error.message, plain_name));
        assert_non_null(strstr(o.error.file, plain_name));
    }
}

#endif
