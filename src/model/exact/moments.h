/*
 * Moments: exact sums over rows of whole numbers of magnitude at most 2^23, the coordinates of a
 * row on a grid. Their number, their weight, the sum of each coordinate and, if wanted, sums of
 * squares or of the products of all pairs. A row is taken out by subtracting what it had added.
 *
 * Weights add up to less than 2^40. So a sum is below 2^63, and a sum of products below 2^86.
 */
#ifndef EF_MOMENTS_H
#define EF_MOMENTS_H

#include "base/bytes/encode.h"
#include "efface/efface.h"

typedef struct ef_moments {
    uint32_t n;           /* coordinates of a row */
    efface_summed summed; /* MEANS, DIAGONAL or FULL */
    uint64_t n_rows;
    int64_t weight;
    int64_t *sums;     /* of weight times coordinate, n of them */
    ef_i128 *products; /* MEANS: none; DIAGONAL: n; FULL: n (n + 1) / 2, pairs (0, 0), (0, 1), ...,
                          (0, n - 1), (1, 1), ... */
} ef_moments;

/* Of no rows; false if out of memory. */
bool ef_moments_init(ef_moments *moments, uint32_t n, efface_summed summed);
void ef_moments_free(ef_moments *moments);

/* How many sums of products there are; the bytes of all sums in memory. */
size_t ef_moments_n_products(uint32_t n, efface_summed summed);
size_t ef_moments_bytes(const ef_moments *moments);

/* Adds a row; a row of negative weight leaves. A state that was made of damaged bytes may leave its
 * range: numbers wrap around. */
void ef_moments_add_row(ef_moments *moments, const int32_t *row, int64_t weight);

/* Adds what another one of the same kind has. */
void ef_moments_add(ef_moments *to, const ef_moments *from);

/* The sum of products of coordinates j <= l, which is there. */
static inline ef_i128 ef_moments_product(const ef_moments *m, uint32_t j, uint32_t l) {
    return m->summed == EFFACE_SUMMED_FULL
               ? m->products[(size_t)j * m->n - (size_t)j * (j + 1) / 2 + l]
               : m->products[j];
}

/* N Q - S S: N times the sum of products of the coordinates' distances from their means. Exact:
 * both parts are below 2^126. */
static inline ef_i128 ef_moments_centred(const ef_moments *m, uint32_t j, uint32_t l) {
    return (ef_i128)((ef_u128)m->weight * (ef_u128)ef_moments_product(m, j, l) -
                     (ef_u128)((ef_i128)m->sums[j] * m->sums[l]));
}

/* The mean square of a coordinate's distance from its mean; products of it are there. */
static inline double ef_moments_variance(const ef_moments *m, uint32_t j) {
    const double weight = (double)m->weight;
    return ef_i128_to_double(ef_moments_centred(m, j, j)) / weight / weight;
}

/* Canonical bytes. Reading makes moments of n coordinates, which the caller releases; false if the
 * bytes do not suffice, cannot be those of rows, or (then reader->failed is false and `short_of` is
 * true) memory runs out. */
void ef_moments_write(ef_writer *writer, const ef_moments *moments);
bool ef_moments_read(ef_decoder *reader, uint32_t n, efface_summed summed, ef_moments *moments,
                     bool *short_of_memory);

/* The first coordinate, or pair of them, whose sum differs; false if none does. */
bool ef_moments_differ(const ef_moments *a, const ef_moments *b, uint32_t *j, uint32_t *l);

#endif
