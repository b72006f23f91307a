/*
 * The sample of the method pyramid (docs/numerics.md, section 7).
 *
 * Each row has a number from the tape; its member exponent is how many leading zero bits that
 * number has, at most EF_MEMBER_MAX. At exponent j those rows take part whose own is at least j:
 * a nested sample of about n / 2^j rows, in which a row's place depends on its id alone. The jury
 * is such a sample too, a larger one.
 */
#ifndef EF_SAMPLE_H
#define EF_SAMPLE_H

#include "data/rows.h"
#include "kernel/kernels.h"

#define EF_MEMBER_MAX 40

/* How many rows have which member exponent. */
typedef struct ef_members {
    uint64_t rows[EF_MEMBER_MAX + 1];
} ef_members;

uint32_t ef_member_exponent(uint64_t seed, uint64_t id);

/* Counts the rows of a set. Cost O(n). */
void ef_members_count(ef_members *members, const efface_data *data, const ef_kernels *kernels,
                      uint64_t seed);

/* The largest exponent up to `wanted` at which at least `least` rows take part; 0 if none has. */
uint32_t ef_members_rate(const ef_members *members, uint32_t wanted, uint64_t least);

/* The exponent of the jury that goes with a sample. */
static inline uint32_t ef_jury_exponent(uint32_t sample) {
    return sample < 2 ? 0 : sample - 2;
}

/* Marks in the code (guard.h) that a model of pyramid keeps for a row. */
#define EF_IN_SAMPLE 0x80
#define EF_IN_JURY 0x40
#define EF_MARKS (EF_IN_SAMPLE | EF_IN_JURY)

/* The marks of a row with this member exponent, if the sample has the exponent `sample`. */
static inline uint8_t ef_marks(uint32_t exponent, uint32_t sample) {
    return (uint8_t)((exponent >= sample ? EF_IN_SAMPLE : 0) |
                     (exponent >= ef_jury_exponent(sample) ? EF_IN_JURY : 0));
}

/* Makes the code of each row its marks. Cost O(n). */
void ef_sample_mark(const efface_data *data, const ef_kernels *kernels, uint64_t seed,
                    uint32_t sample, uint8_t *codes);

/* The positions of the rows of the jury, those of the sample first. Cost O(n). The caller has
 * `positions` to free. */
efface_status ef_sample_find(const uint8_t *codes, size_t n_rows, size_t **positions,
                             size_t *n_jury, size_t *n_sample, efface_error *error);

#endif
