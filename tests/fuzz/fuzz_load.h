/* For the fuzz targets of the loaders: what must hold after every load, whatever the bytes. */
#ifndef FUZZ_LOAD_H
#define FUZZ_LOAD_H

#include "data/files/loaders.h"
#include "data/set/rows.h"
#include "efface/efface.h"

#include <stdlib.h>
#include <string.h>

/* abort, so that a target built with NDEBUG finds as much. */
static inline void require(bool holds) {
    if (!holds)
        abort();
}

/* Two values, which may be missing, are the same. */
static inline bool same_value(float x, float y) {
    return memcmp(&x, &y, sizeof x) == 0;
}

static inline void check_rows(const efface_data *data) {
    const uint32_t n_columns = efface_data_n_columns(data);
    const size_t n_rows = efface_data_n_rows(data);
    require(n_rows >= 1 && n_columns >= 1 && n_columns <= EFFACE_MAX_COLUMNS);
    int64_t total_weight = 0;
    uint64_t n_missing = 0;
    for (size_t i = 0; i < n_rows; i++) {
        const efface_row row = efface_data_row(data, i);
        size_t position;
        require(efface_data_find(data, row.id, &position) == EFFACE_OK && position == i);
        require(row.weight >= 1);
        total_weight += row.weight;
        for (uint32_t j = 0; j < n_columns; j++) {
            const float x = ef_data_value(data, i, j);
            const bool is_missing = x != x;
            n_missing += is_missing;
            require(is_missing
                        ? same_value(x, __builtin_nanf(""))
                        : x >= (float)-EFFACE_MAX_MAGNITUDE && x <= (float)EFFACE_MAX_MAGNITUDE);
        }
    }
    require(n_missing == efface_data_n_missing(data));
    require(total_weight == efface_data_total_weight(data));
}

/* UTF-8 that no terminal is upset by. */
static inline void check_message(const char *message) {
    for (const unsigned char *at = (const unsigned char *)message; *at != '\0';) {
        require(*at >= 0x20 && *at != 0x7F);
        const size_t n = *at < 0x80 ? 1 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4;
        require(n == 1 || (*at >= 0xC2 && *at <= 0xF4));
        require(n != 2 || *at != 0xC2 || at[1] >= 0xA0);
        for (size_t i = 1; i < n; i++)
            require((at[i] & 0xC0) == 0x80);
        at += n;
    }
}

static inline void check_failure(efface_status status, const efface_error *error) {
    require(error->status == status);
    require(error->message[0] != '\0');
    require(memchr(error->message, '\0', sizeof error->message) != NULL);
    check_message(error->message);
    require(status == EFFACE_E_FORMAT || status == EFFACE_E_LIMIT || status == EFFACE_E_DUPLICATE ||
            status == EFFACE_E_ARGUMENT);
    require(status == EFFACE_E_ARGUMENT || strcmp(error->file, "fuzz") == 0);
}

/* Loads in chunks of chunk_bytes bytes; rows are checked and handed out, or NULL. */
static inline efface_data *load_checked(const unsigned char *bytes, size_t n_bytes,
                                        size_t chunk_bytes, const efface_load_options *options) {
    static int place;
    efface_data *const untouched = (efface_data *)(void *)&place;
    efface_data *data = untouched;
    efface_error error;
    ef_reader reader;
    efface_status status =
        ef_reader_open_memory(&reader, "fuzz", bytes, n_bytes, chunk_bytes, &error);
    if (status == EFFACE_OK) {
        status = ef_load(&reader, options, &data, &error);
        ef_reader_close(&reader);
    }
    if (status == EFFACE_OK) {
        require(data != untouched);
        check_rows(data);
        return data;
    }
    require(data == untouched);
    check_failure(status, &error);
    return NULL;
}

/* The same bytes with an offset, and looked at: other values, and they fail if they failed. */
static inline void load_shifted(const unsigned char *bytes, size_t n_bytes,
                                const efface_load_options *options, const efface_data *plain) {
    const efface_offset offset = {.place = 1, .value = 0.5};
    efface_load_options shifted = *options;
    shifted.offsets = &offset;
    shifted.n_offsets = 1;
    require(efface_rounding_create(&shifted.rounding, NULL) == EFFACE_OK);
    efface_data *const data = load_checked(bytes, n_bytes, 1 + n_bytes % 11, &shifted);
    require((data == NULL) == (plain == NULL));
    require(efface_rounding_n_columns(shifted.rounding) ==
            (data != NULL ? efface_data_n_columns(data) : 0));
    for (uint32_t j = 0; data != NULL && j < efface_data_n_columns(data); j++) {
        const efface_column_rounding found = efface_rounding_column(shifted.rounding, j);
        require(found.spread >= 0.0 && found.offset - found.offset == 0.0);
        require(same_value(ef_data_value(data, 0, j), ef_data_value(plain, 0, j)) || j == 0);
    }
    efface_rounding_free(shifted.rounding);
    efface_data_free(data);
}

/* The same bytes in small and in large chunks: both give the same rows, or both fail. */
static inline void load_twice(const unsigned char *bytes, size_t n_bytes,
                              const efface_load_options *options) {
    efface_data *const a = load_checked(bytes, n_bytes, 1 + n_bytes % 7, options);
    efface_data *const b = load_checked(bytes, n_bytes, (size_t)1 << 20, options);
    require((a == NULL) == (b == NULL));
    if (a != NULL) {
        const size_t n_rows = efface_data_n_rows(a);
        const uint32_t n_columns = efface_data_n_columns(a);
        require(n_rows == efface_data_n_rows(b) && n_columns == efface_data_n_columns(b));
        for (size_t i = 0; i < n_rows; i++) {
            const efface_row x = efface_data_row(a, i), y = efface_data_row(b, i);
            require(x.id == y.id && x.weight == y.weight && x.owner == y.owner &&
                    x.label == y.label);
            for (uint32_t j = 0; j < n_columns; j++)
                require(same_value(ef_data_value(a, i, j), ef_data_value(b, i, j)));
        }
    }
    efface_load_options defaults;
    efface_load_options_init(&defaults);
    load_shifted(bytes, n_bytes, options != NULL ? options : &defaults, a);
    efface_data_free(a);
    efface_data_free(b);
}

/* The bytes as labels of a set of 1 to 4 rows. */
static inline void load_labels_checked(const unsigned char *bytes, size_t n_bytes) {
    const size_t n_rows = 1 + n_bytes % 4;
    const float values[4] = {0};
    efface_data *data;
    efface_error error;
    if (efface_data_create(1, &data, NULL) != EFFACE_OK ||
        efface_data_add(data, &(efface_rows){.n_rows = n_rows, .values = values}, NULL) !=
            EFFACE_OK)
        abort();
    ef_reader reader;
    efface_status status = ef_reader_open_memory(&reader, "fuzz", bytes, n_bytes, 3, &error);
    if (status == EFFACE_OK) {
        status = ef_load_labels(&reader, data, &error);
        ef_reader_close(&reader);
    }
    if (status != EFFACE_OK) {
        check_failure(status, &error);
        require(data->labels == NULL);
    }
    efface_data_free(data);
}

#endif
