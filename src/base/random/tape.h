/*
 * The tape: every random number is a pure function of where it is needed.
 *
 *     tape(seed, purpose, sub, index, step)  ->  128 random bits
 *
 * It is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
 * 2011) with the seed as key and the rest as counter. Nothing depends on how many numbers were
 * drawn before or on the position of a row, so a row can leave without changing what the others
 * drew.
 *
 *     counter word 0, 1   index: a row's id, or a dimension        (low, high half)
 *     counter word 2      step: a round or a level
 *     counter word 3      purpose + 256 * sub                      (sub: a cluster; below 2^24)
 *     key word 0, 1       seed                                     (low, high half)
 */
#ifndef EF_TAPE_H
#define EF_TAPE_H

#include <stdint.h>

/* What a number is for. The values are part of every result: never renumber. */
typedef enum ef_purpose {
    EF_TAPE_SEED = 1,     /* the race of a seeding round: index id, step round */
    EF_TAPE_RESEED = 2,   /* the race for an empty cluster: index id, step level, sub cluster */
    EF_TAPE_PHASE = 3,    /* a lattice phase: index dimension, step level */
    EF_TAPE_SAMPLE = 4,   /* sample of a metric: index id */
    EF_TAPE_GAUSSIAN = 5, /* generated data (gaussian.c says which index is what) */
    EF_TAPE_MEMBER = 6,   /* sample of pyramid: index id */
    EF_TAPE_REKEY = 7,    /* the seed of a model when all of a store are rekeyed: index model */
    EF_TAPE_START = 8,    /* the seed of a start of pyramid: index start */
    EF_TAPE_LEAF = 9,     /* the leaf of a row in a tree: index id */
    EF_TAPE_NODE = 10,    /* the seed of a node of a tree: index number, step depth */
    EF_TAPE_FOURIER = 11, /* random Fourier features: index feature; a pair of frequencies: step the
                             first's input (even), sub attempt; the phase: step 2^32 - 1 */

    /* Forests (model/forest/trees/chances.h). Numbers of a node are made of its key, by other
       means. */
    EF_TAPE_ROOT = 12,       /* the key of the root of a tree: index tree */
    EF_TAPE_BOOTSTRAP = 13,  /* how often a row is in a tree: index id, step tree */
    EF_TAPE_MEMBERSHIP = 14, /* the trees of a row: index id, step a quarter of the place */

    /* Logistic regression (model/logistic/lattice.h). */
    EF_TAPE_WHITENING = 15, /* the sample: index id */
    EF_TAPE_LATTICE = 16,   /* a lattice phase: index term, step lattice */

    EF_TAPE_COLUMN = 20 /* the phases of a column with the scale standard: index column, step 0 for
                           its unit and 1 for its centre */
} ef_purpose;

#define EF_PHILOX_ROUNDS 10
#define EF_PHILOX_M0 0xD2511F53u
#define EF_PHILOX_M1 0xCD9E8D57u
#define EF_PHILOX_W0 0x9E3779B9u
#define EF_PHILOX_W1 0xBB67AE85u

/* The bare generator, for known-answer tests. */
void ef_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* All 128 bits. */
void ef_tape_words(uint64_t seed, ef_purpose purpose, uint32_t sub, uint64_t index, uint32_t step,
                   uint32_t words[4]);

/* The first 64 of the 128 bits: word 0 is the low half. */
uint64_t ef_tape(uint64_t seed, ef_purpose purpose, uint32_t sub, uint64_t index, uint32_t step);

/* A whole number in [0, limit), limit > 0: the upper half of bits * limit. */
static inline uint64_t ef_tape_below(uint64_t bits, uint64_t limit) {
    __extension__ typedef unsigned __int128 u128;
    return (uint64_t)(((u128)bits * limit) >> 64);
}

/* v = (floor(bits / 2^12) + 1/2) / 2^52, a double in (0, 1). */
static inline double ef_tape_unit(uint64_t bits) {
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

/* An exponential variate from tape bits, -log(1 - v), and never smaller than v * (1 - 2^-48). Our
 * own logarithm, made of IEEE operations in a fixed order, so that it has the same bits
 * everywhere. */
double ef_tape_exponential(uint64_t bits);

/* The natural logarithm of a positive, normal double; relative error below 2^-50. */
double ef_log(double x);

#endif
