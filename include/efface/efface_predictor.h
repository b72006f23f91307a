/* What predicts: models, published models, other views of sums; and all questions to them. Part of
 * efface.h. */
#ifndef EFFACE_PREDICTOR_H
#define EFFACE_PREDICTOR_H

#include "efface/efface_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ predictors */

/* A predictor gives predictions, scores, and tables that describe a model. There are three kinds: a
 * model lends one, a published model is one (efface_predictor_load), and so are other views of sums
 * (efface_linear_solve). All are asked in the same way and answer with the same bits.
 *
 * Returns the predictor of a model; NULL for NULL. It is lent, not copied: it is valid until the
 * model changes or is released, and must not be released by itself. For threads, asking it is
 * reading the model. It has no names and offsets of columns, and no texts of classes. Cost O(1). */
EFFACE_API const efface_predictor *efface_model_predictor(const efface_model *model);

/* A published model is a model as efface_store_publish writes it to a file: what prediction needs,
 * and no more (docs/definition/published.md). It can be used where the store and its rows are not.
 * It has no sums, counts, seeds, rows or ids, so it cannot forget. But centroids are made of rows,
 * and so are the ranges of columns with scale minmax unless they were given
 * (docs/definition/store.md, "Publishing"). */

/* Such a file begins with these sixteen bytes, without a final 0. */
#define EFFACE_PREDICTOR_MAGIC "efface predictor"

/* Make a predictor from the bytes of a published model, or from its file. A digest covers every
 * byte. Release it with efface_predictor_free. Errors: EFFACE_E_FORMAT for bytes that are something
 * else, damaged, or of another format; EFFACE_E_IO; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_predictor_decode(const unsigned char *bytes, size_t n_bytes,
                                                 efface_predictor **out, efface_error *error);
EFFACE_API efface_status efface_predictor_load(const char *path, efface_predictor **out,
                                               efface_error *error);

/* Releases a predictor, but not one that a model lends. Takes NULL. */
EFFACE_API void efface_predictor_free(efface_predictor *predictor);

/* ------------------------------------------------------------------ predictors: predictions */

typedef struct efface_predictor_info {
    uint32_t format; /* of a published model's bytes: 4 */
    efface_family family;
    const char *kind; /* what it is, in words, such as "linear regression"; a constant */
    uint32_t n_columns;
    efface_predicts predicts;
    uint32_t n_numbers; /* predicted for each row */
    uint32_t n_classes; /* for a model that predicts classes; else 0 */
} efface_predictor_info;

/* Returns what is known of a predictor. Never fails. */
EFFACE_API efface_predictor_info efface_predictor_get_info(const efface_predictor *predictor);

/* Return the name of a column, or NULL if it has none; and the n_columns offsets, or NULL if all
 * are
 * 0. Only a published model has these. Valid until the predictor is released. */
EFFACE_API const char *efface_predictor_column(const efface_predictor *predictor, uint32_t column);
EFFACE_API const double *efface_predictor_offsets(const efface_predictor *predictor);

/* A predicted number; efface_predicts says which of the two it is. */
typedef union efface_number {
    int64_t whole;
    double real;
} efface_number;

/* Predicts: writes n_numbers numbers for each row (efface_predictor_info). Rows are n_columns
 * finite floats, `stride` floats apart (0: n_columns); a value may be missing, NaN, if the model
 * accepts that (efface_predictor_takes_missing). A target has its place in such a row, but its
 * value is ignored (efface_predictor_is_input). Errors: EFFACE_E_ARGUMENT if the model has too few
 * rows to predict; EFFACE_E_LIMIT for a value that is infinite or, where it may not be, missing;
 * EFFACE_E_KERNELS; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_predictor_predict(const efface_predictor *predictor, size_t n_rows,
                                                  const float *values, size_t stride,
                                                  efface_number *numbers, efface_error *error);

/* Returns whether prediction uses a column; it does not use targets. And returns the column whose
 * value predicted number `number` is, from 0; EFFACE_NO_COLUMN if there is none. Add the offset of
 * that column to convert the number to the units of the caller. */
EFFACE_API int efface_predictor_is_input(const efface_predictor *predictor, uint32_t column);
EFFACE_API uint32_t efface_predictor_value_column(const efface_predictor *predictor,
                                                  uint32_t number);

/* Return whether values of inputs may be missing (NaN) in rows to predict; and whether the values
 * of a column are categories. */
EFFACE_API int efface_predictor_takes_missing(const efface_predictor *predictor);
EFFACE_API int efface_predictor_is_category(const efface_predictor *predictor, uint32_t column);

/* Writes the classes, as the labels of rows, in ascending order: n_classes of them
 * (efface_predictor_info), but at most `capacity`. And returns the text of a class, or NULL if the
 * class is a number, or the predictor is not a published model. */
EFFACE_API void efface_predictor_classes(const efface_predictor *predictor, int64_t *classes,
                                         size_t capacity);
EFFACE_API const char *efface_predictor_class_text(const efface_predictor *predictor,
                                                   int64_t class_id);

/* What efface_predictor_score writes for each class. */
typedef enum efface_scores {
    EFFACE_SCORES_DECISIONS = 0,    /* a number whose meaning depends on the family; the class with
                                       the largest is predicted */
    EFFACE_SCORES_PROBABILITIES = 1 /* the probability that the row is of the class; they sum to
                                       1 */
} efface_scores;

/* Scores: writes a number for each row and class, n_classes numbers a row, in the order of classes.
 * Rows are those of efface_predictor_predict. Errors: as that; EFFACE_E_ARGUMENT for a model
 * without classes, or without probabilities. */
EFFACE_API efface_status efface_predictor_score(const efface_predictor *predictor,
                                                efface_scores scores, size_t n_rows,
                                                const float *values, size_t stride, double *numbers,
                                                efface_error *error);

/* Writes the squared distance of each row to each centroid of k-means, n_clusters numbers a row, in
 * the units of efface_kmeans_loss. It is exact before it is rounded to double, except for rows
 * outside the bounds of the fit. Cost O(n_rows * k * d). Errors: as efface_predictor_predict;
 * EFFACE_E_ARGUMENT for another family. */
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

/* A named table of numbers that describes a model, such as its centroids. Its columns are, from
 * left to right, n_named columns with names, and then one of three kinds: columns of the model that
 * `columns` lists; or, if that is NULL, parts numbered from 1 and called part_name; or, if that is
 * NULL too, all columns of the model. Pointers are valid as long as the predictor is. */
typedef struct efface_table {
    const char *name;
    const char *row_name; /* what a row is, such as "cluster" */
    efface_table_rows rows;
    const int64_t *row_ids; /* n_rows of them, or NULL if rows are numbered */
    uint64_t n_rows;
    uint32_t n_columns; /* of the table, named ones included */
    uint32_t n_named;
    const char *const *names;
    const uint32_t *columns;
    const char *part_name;
} efface_table;

/* Describe the table with a number, from 0; or the table with a name. To list all tables, count up
 * from 0 until EFFACE_E_NOT_FOUND. A published model may have fewer tables than the model it was
 * made from. Errors: EFFACE_E_NOT_FOUND, with the names that exist. */
EFFACE_API efface_status efface_predictor_get_table(const efface_predictor *predictor,
                                                    uint32_t number, efface_table *table,
                                                    efface_error *error);
EFFACE_API efface_status efface_predictor_find_table(const efface_predictor *predictor,
                                                     const char *name, efface_table *table,
                                                     efface_error *error);

/* Writes one row of a table: as many numbers as the table has columns. Give the offsets of the set
 * (efface_data_offsets), and the numbers are in the units of the caller. With NULL, the predictor's
 * own offsets are used, which only a published model has; without any, the numbers are in the units
 * of the rows as the set holds them. Errors: EFFACE_E_NOT_FOUND; EFFACE_E_ARGUMENT for a row that
 * does not exist; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_predictor_read_table(const efface_predictor *predictor,
                                                     const char *name, uint64_t row,
                                                     const double *offsets, double *values,
                                                     efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
