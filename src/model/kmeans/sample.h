/*
 * The sample of the method pyramid (docs/numerics.md, section 7).
 *
 * Each row has a number from the tape; its member exponent is how many leading zero bits that
 * number has, at most EF_MEMBER_MAX. At exponent j those rows take part whose own is at least j:
 * a nested sample of about n / 2^j rows, in which a row's place depends on its id alone.
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

/* A set with copies of the rows that take part at an exponent. Cost O(n + m d) for m of them. */
efface_status ef_sample_copy(const efface_data *data, const ef_kernels *kernels, uint64_t seed,
                             uint32_t exponent, efface_data **out, efface_error *error);

#endif
