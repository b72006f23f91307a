/* Published models. Part of efface.h. */
#ifndef EFFACE_PREDICTOR_H
#define EFFACE_PREDICTOR_H

#include "efface/efface_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model as efface_store_publish writes it to a file (docs/format.md): what prediction needs, and
 * no more. It can be used where the store and its rows are not. It has no sums, counts, seeds, rows
 * or ids, so it cannot forget; but centroids are made of rows, and so are the ranges of columns
 * with scale minmax unless they were given (docs/store.md). The type is efface_predictor. */

/* What such a file begins with: sixteen bytes, without an ending 0. */
#define EFFACE_PREDICTOR_MAGIC "efface predictor"

/* Makes a predictor from the bytes of a file, or from the file. Every byte is covered by a digest.
 * Release with efface_predictor_free. Errors: MEMORY; FORMAT for bytes that are something else,
 * damaged, or of another format; IO. */
EFFACE_API efface_status efface_predictor_decode(const unsigned char *bytes, size_t n_bytes,
                                                 efface_predictor **out, efface_error *error);
EFFACE_API efface_status efface_predictor_load(const char *path, efface_predictor **out,
                                               efface_error *error);

/* Releases the memory of a predictor. Takes NULL. */
EFFACE_API void efface_predictor_free(efface_predictor *predictor);

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
 * 0. Valid until the predictor is released. */
EFFACE_API const char *efface_predictor_column(const efface_predictor *predictor, uint32_t column);
EFFACE_API const double *efface_predictor_offsets(const efface_predictor *predictor);

/* As efface_model_predict of the model that was published, with the same bits: rows are as a set
 * holds them (efface_rows_round takes offsets away). */
EFFACE_API efface_status efface_predictor_predict(const efface_predictor *predictor, size_t n_rows,
                                                  const float *values, size_t stride,
                                                  efface_number *numbers, efface_error *error);

/* As efface_model_is_input, efface_model_value_column, efface_model_takes_missing,
 * efface_model_is_category, efface_model_classes and efface_model_score; and the text of a class,
 * or NULL if the class is a number. */
EFFACE_API int efface_predictor_is_input(const efface_predictor *predictor, uint32_t column);
EFFACE_API uint32_t efface_predictor_value_column(const efface_predictor *predictor,
                                                  uint32_t number);
EFFACE_API int efface_predictor_takes_missing(const efface_predictor *predictor);
EFFACE_API int efface_predictor_is_category(const efface_predictor *predictor, uint32_t column);
EFFACE_API void efface_predictor_classes(const efface_predictor *predictor, int64_t *classes,
                                         size_t capacity);
EFFACE_API const char *efface_predictor_class_text(const efface_predictor *predictor,
                                                   int64_t class_id);
EFFACE_API efface_status efface_predictor_score(const efface_predictor *predictor,
                                                efface_scores scores, size_t n_rows,
                                                const float *values, size_t stride, double *numbers,
                                                efface_error *error);

/* The tables that a published model has, which may be fewer than those of the model, as
 * efface_model_get_table, efface_model_find_table and efface_model_read_table have them; the last
 * adds the offsets of the published model, so that numbers are in the units of the caller. */
EFFACE_API efface_status efface_predictor_get_table(const efface_predictor *predictor,
                                                    uint32_t number, efface_table *table,
                                                    efface_error *error);
EFFACE_API efface_status efface_predictor_find_table(const efface_predictor *predictor,
                                                     const char *name, efface_table *table,
                                                     efface_error *error);
EFFACE_API efface_status efface_predictor_read_table(const efface_predictor *predictor,
                                                     const char *name, uint64_t row, double *values,
                                                     efface_error *error);

/* As efface_kmeans_square_distances of the model that was published. Errors: ARGUMENT for another
 * family. */
EFFACE_API efface_status efface_predictor_square_distances(const efface_predictor *predictor,
                                                           size_t n_rows, const float *values,
                                                           size_t stride, double *squares,
                                                           efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
