/* What predicts: models, published models, other views of sums; and all that they can be asked.
 * Part of efface.h. */
#ifndef EFFACE_PREDICTOR_H
#define EFFACE_PREDICTOR_H

#include "efface/efface_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ predictors */

/* A predictor says what a model predicts, how sure it is, and what it looks like: predictions,
 * scores, tables. There are three kinds: a model lends one, a published model is one
 * (efface_predictor_load), and so are other views of sums (efface_linear_solve). They are asked in
 * the same way and answer with the same bits.
 *
 * The predictor of a model; NULL if that is NULL. It is lent: no copy, valid until the model
 * changes or is released, and not to be released by itself. To ask it is to read the model, as far
 * as threads are concerned. It has no names and offsets of columns, and no texts of classes. Cost
 * O(1). */
EFFACE_API const efface_predictor *efface_model_predictor(const efface_model *model);

/* A model as efface_store_publish writes it to a file (docs/definition/format.md): what prediction
 * needs, and no more. It can be used where the store and its rows are not. It has no sums, counts,
 * seeds, rows or ids, so it cannot forget; but centroids are made of rows, and so are the ranges of
 * columns with scale minmax unless they were given (docs/definition/store.md). */

/* What such a file begins with: sixteen bytes, without an ending 0. */
#define EFFACE_PREDICTOR_MAGIC "efface predictor"

/* Makes a predictor from the bytes of a file, or from the file. Every byte is covered by a digest.
 * Release with efface_predictor_free. Errors: MEMORY; FORMAT for bytes that are something else,
 * damaged, or of another format; IO. */
EFFACE_API efface_status efface_predictor_decode(const unsigned char *bytes, size_t n_bytes,
                                                 efface_predictor **out, efface_error *error);
EFFACE_API efface_status efface_predictor_load(const char *path, efface_predictor **out,
                                               efface_error *error);

/* Releases the memory of a predictor that is not lent by a model. Takes NULL. */
EFFACE_API void efface_predictor_free(efface_predictor *predictor);

/* ------------------------------------------------------------------ predictors: predictions */

typedef struct efface_predictor_info {
    uint32_t format; /* of the bytes: 3 */
    efface_family family;
    uint32_t n_columns;
    efface_predicts predicts;
    uint32_t n_numbers; /* that are predicted for each row */
    uint32_t n_classes; /* of a model of classes; else 0 */
} efface_predictor_info;

/* What is known of it. Never fails. */
EFFACE_API efface_predictor_info efface_predictor_get_info(const efface_predictor *predictor);

/* The name of a column, or NULL if it has none; the offsets, n_columns of them, or NULL if all are
 * 0. Only a published model has these. Valid until the predictor is released. */
EFFACE_API const char *efface_predictor_column(const efface_predictor *predictor, uint32_t column);
EFFACE_API const double *efface_predictor_offsets(const efface_predictor *predictor);

/* One predicted number; efface_predicts says which of the two it is. */
typedef union efface_number {
    int64_t whole;
    double real;
} efface_number;

/* Writes what is predicted for each row, n_numbers numbers a row (efface_predictor_info). Rows
 * are n_columns floats, `stride` floats apart (0: n_columns), and finite; values may be NaN, which
 * is missing, if the model takes that (efface_predictor_takes_missing). A column that is a target
 * (efface_predictor_is_input) has its place in such a row, but what stands there does not matter.
 * Errors: MEMORY; ARGUMENT if the model has too few rows to predict; LIMIT; KERNELS. */
EFFACE_API efface_status efface_predictor_predict(const efface_predictor *predictor, size_t n_rows,
                                                  const float *values, size_t stride,
                                                  efface_number *numbers, efface_error *error);

/* Whether prediction looks at a column; it does not look at targets. And the column that predicted
 * number `number`, from 0, is a value of, so that its offset is to be added to convert the number
 * to the units of the caller; EFFACE_NO_COLUMN if there is none. */
EFFACE_API int efface_predictor_is_input(const efface_predictor *predictor, uint32_t column);
EFFACE_API uint32_t efface_predictor_value_column(const efface_predictor *predictor,
                                                  uint32_t number);

/* Whether values of inputs may be missing (NaN) in rows to predict; and whether the values of a
 * column are categories. */
EFFACE_API int efface_predictor_takes_missing(const efface_predictor *predictor);
EFFACE_API int efface_predictor_is_category(const efface_predictor *predictor, uint32_t column);

/* Writes the classes, as the labels of rows are, in ascending order: n_classes of them
 * (efface_predictor_info), or as many as there is room for. And the text of a class, or NULL if
 * the class is a number, or the predictor is no published model. */
EFFACE_API void efface_predictor_classes(const efface_predictor *predictor, int64_t *classes,
                                         size_t capacity);
EFFACE_API const char *efface_predictor_class_text(const efface_predictor *predictor,
                                                   int64_t class_id);

/* What is wanted of each class. */
typedef enum efface_scores {
    EFFACE_SCORES_DECISIONS = 0,    /* the class with the largest one is predicted; the family says
                                       what it means */
    EFFACE_SCORES_PROBABILITIES = 1 /* that the row is of the class; they sum to 1 */
} efface_scores;

/* Writes a number for each row and class, n_classes numbers a row, in the order of classes. Errors:
 * as efface_predictor_predict; ARGUMENT for a model without classes, or without probabilities. */
EFFACE_API efface_status efface_predictor_score(const efface_predictor *predictor,
                                                efface_scores scores, size_t n_rows,
                                                const float *values, size_t stride, double *numbers,
                                                efface_error *error);

/* Writes the squared distance of each row to each centroid, n_clusters numbers a row, in the units
 * of efface_kmeans_loss. Exact before it is rounded to double, but for rows outside the bounds of
 * the fit. Cost O(n_rows * k * d). Errors: as efface_predictor_predict; ARGUMENT for another
 * family. */
EFFACE_API efface_status efface_predictor_square_distances(const efface_predictor *predictor,
                                                           size_t n_rows, const float *values,
                                                           size_t stride, double *squares,
                                                           efface_error *error);

/* ------------------------------------------------------------------ predictors: tables */

/* What the rows of a table are. */
typedef enum efface_table_rows {
    EFFACE_TABLE_NUMBERED = 0, /* they are numbered from 0 */
    EFFACE_TABLE_CLASSES = 1,  /* row_ids has the class of each */
    EFFACE_TABLE_COLUMNS = 2   /* row_ids has the number of a column of the model for each */
} efface_table_rows;

/* A table of numbers that a model can be looked at through, such as its centroids. Pointers are
 * valid as long as the predictor is. */
typedef struct efface_table {
    const char *name;
    const char *row_name; /* of what each row is, such as "cluster" */
    efface_table_rows rows;
    const int64_t *row_ids; /* n_rows of them, or NULL if rows are numbered */
    uint64_t n_rows;
    uint32_t n_columns; /* of the table: first n_named columns that have names of their own, */
    uint32_t n_named;
    const char *const *names;
    const uint32_t *columns; /* then columns of the model, which are listed here; or, if this is
                                NULL, parts that are numbered from 1 and called part_name; or, */
    const char *part_name;   /* if that is NULL too, all columns of the model */
} efface_table;

/* The table with a number, from 0; or the table with a name. There are as many tables as there are
 * numbers without an error; a published model may have fewer than the model that it was made of.
 * Errors: NOT_FOUND, with the names that there are. */
EFFACE_API efface_status efface_predictor_get_table(const efface_predictor *predictor,
                                                    uint32_t number, efface_table *table,
                                                    efface_error *error);
EFFACE_API efface_status efface_predictor_find_table(const efface_predictor *predictor,
                                                     const char *name, efface_table *table,
                                                     efface_error *error);

/* Writes one row of a table, n_columns numbers of the table. `offsets` are those of the set
 * (efface_data_offsets): the numbers are then in the units of the caller. NULL: the offsets of the
 * predictor, which a published model has; without any the numbers are in the units of the rows as
 * the set holds them. Errors: NOT_FOUND; ARGUMENT for a row that does not exist; MEMORY. */
EFFACE_API efface_status efface_predictor_read_table(const efface_predictor *predictor,
                                                     const char *name, uint64_t row,
                                                     const double *offsets, double *values,
                                                     efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
