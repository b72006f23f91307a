/* All that the views of sums say, as bytes, so that two models can be compared. For tests of the
 * family `sums`. */
#ifndef EF_TESTS_SUMS_VIEWS_H
#define EF_TESTS_SUMS_VIEWS_H

#include "efface/efface.h"

#include <stdbool.h>
#include <stddef.h>

#define SUMS_MOST_NOTES 2000

/* What was said, in order. Release `bytes` with free(). A NaN is the same as every other one. */
typedef struct sums_said {
    unsigned char *bytes;
    size_t n, capacity;
    struct {
        char what[60];
        size_t at; /* where it begins in `bytes` */
    } notes[SUMS_MOST_NOTES];
    size_t n_notes;
} sums_said;

/* Asks a model everything, and each of its other views if that is wanted; `loo`: also what each
 * row would be missed by. Errors are answers too. The rows that are predicted are some of `data`
 * and some that are extreme. */
void sums_ask(const efface_model *model, const efface_data *data, bool others, bool loo,
              sums_said *said);

/* What a model, or a predictor, answers for rows; not its tables. */
void sums_ask_for_rows(const efface_model *model, const efface_predictor *predictor,
                       const efface_data *data, sums_said *said);

/* What two have said differently first, or NULL. */
const char *sums_said_differently(const sums_said *a, const sums_said *b);

#endif
