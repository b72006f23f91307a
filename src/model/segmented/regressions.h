/* The regressions of segments: computed from their sums when they are asked for, in doubles and a
 * fixed order. */
#ifndef EF_REGRESSIONS_H
#define EF_REGRESSIONS_H

#include "model/segmented/segmented.h"

typedef struct ef_regressions {
    uint32_t n_segments, n_targets, n_inputs;
    double *intercepts;   /* of each segment and target; targets of the first segment come first */
    double *coefficients; /* n_inputs each */
    void *block;          /* these arrays */
} ef_regressions;

/* Room for them, all 0; NULL if out of memory. */
ef_regressions *ef_regressions_make(uint32_t n_segments, uint32_t n_targets, uint32_t n_inputs);
void ef_regressions_free(ef_regressions *regressions);

/* Those of a state, which keeps them until it changes. A segment without rows has the mean of all
 * rows as intercept (without intercepts, 0), and no slope. Several threads may ask. Errors: MEMORY.
 */
efface_status ef_regressions_get(const ef_segmented *of, const ef_regressions **out,
                                 efface_error *error);

/* The bytes that they take. */
size_t ef_regressions_bytes(const ef_regressions *regressions);

/* Predictors, as in family.h (segmented_predictor.c). */
void ef_segmented_lend(const void *state, ef_lent *room);
void ef_segmented_write_predictor(ef_writer *writer, const void *predictor);
efface_status ef_segmented_read_predictor(ef_decoder *decoder, uint32_t n_columns, void **out,
                                          efface_error *error);
void ef_segmented_free_predictor(void *predictor);
efface_predicts ef_segmented_predicts(const void *predictor, uint32_t *n_numbers);
efface_status ef_segmented_predict(const void *predictor, size_t n_rows, const float *values,
                                   size_t stride, efface_number *numbers, efface_error *error);
efface_status ef_segmented_find(const void *predictor, size_t n_rows, const float *values,
                                size_t stride, uint32_t *segments, efface_error *error);
bool ef_segmented_table(const void *predictor, uint32_t number, efface_table *table);
efface_status ef_segmented_read_table(const void *predictor, uint32_t number, uint64_t row,
                                      const double *offsets, double *values, efface_error *error);
bool ef_segmented_is_input(const void *predictor, uint32_t column);
uint32_t ef_segmented_value_column(const void *predictor, uint32_t number);

#endif
