/*
 * What the loaders share. A file is read in three steps: reader.c gives its bytes, load.c tells
 * the format, and the format's own file makes rows of them. The two binary formats differ only in
 * their header, which load_npy.c and load_idx.c turn into an ef_file_array; load_array.c reads what
 * follows.
 *
 * No loader believes a header: memory is taken as bytes arrive, or after the size of the file has
 * shown that they will.
 */
#ifndef EF_LOADERS_H
#define EF_LOADERS_H

#include "data/files/reader.h"
#include "efface/efface.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* load_array.c: numbers of one type, row after row. */

typedef enum ef_element {
    EF_ELEMENT_BOOL,
    EF_ELEMENT_U1,
    EF_ELEMENT_I1,
    EF_ELEMENT_U2,
    EF_ELEMENT_I2,
    EF_ELEMENT_U4,
    EF_ELEMENT_I4,
    EF_ELEMENT_U8,
    EF_ELEMENT_I8,
    EF_ELEMENT_F4,
    EF_ELEMENT_F8
} ef_element;

typedef struct ef_file_array {
    ef_element element;
    bool big_endian;
    uint64_t n_rows;
    uint64_t n_columns; /* of any size: headers are not believed */
} ef_file_array;

/* The shape from a header: the first dimension is the rows, the others together the columns. */
void ef_array_shape(ef_file_array *array, const uint64_t *dimensions, size_t n_dimensions);

#define EF_LARGEST_LABEL 9007199254740992.0 /* 2^53: larger ones are rounded */

/* Reads the elements to the end of the file, as rows or as labels (one column, n_rows rows). */
efface_status ef_array_load(ef_reader *reader, const ef_file_array *array,
                            const efface_load_options *options, efface_data **out,
                            efface_error *error);
efface_status ef_array_load_labels(ef_reader *reader, const ef_file_array *array, int64_t *labels,
                                   size_t n_rows, efface_error *error);

/* load_npy.c and load_idx.c: take the header of a file that begins with the format's magic, leaving
 * the reader at the first element. */
efface_status ef_npy_header(ef_reader *reader, ef_file_array *array, efface_error *error);
efface_status ef_idx_header(ef_reader *reader, ef_file_array *array, efface_error *error);

/* load_csv.c */
efface_status ef_csv_load(ef_reader *reader, const efface_load_options *options, efface_data **out,
                          efface_error *error);
efface_status ef_csv_load_labels(ef_reader *reader, int64_t *labels, size_t n_rows,
                                 efface_error *error);

/* load.c: the format of a file, told by its first bytes. */
typedef enum ef_format { EF_FORMAT_CSV, EF_FORMAT_NPY, EF_FORMAT_IDX } ef_format;
efface_status ef_tell_format(ef_reader *reader, ef_format *found, efface_error *error);

/* Whether the options make sense. */
efface_status ef_check_load_options(const efface_load_options *options, efface_error *error);

/* load.c: efface_data_load and efface_data_load_labels for a reader that is open. */
efface_status ef_load(ef_reader *reader, const efface_load_options *options, efface_data **out,
                      efface_error *error);
efface_status ef_load_labels(ef_reader *reader, efface_data *data, efface_error *error);

/* What to do about a value that is missing, for messages. */
#define EF_ALLOW_MISSING "allow missing values with a model that takes them"

/* The error of a value that no set can hold: FORMAT for NaN and infinity, LIMIT for magnitudes
 * above 2^126. */
efface_status ef_fail_value(efface_error *error, const char *file, uint64_t line, uint64_t column,
                            double value);

#endif
