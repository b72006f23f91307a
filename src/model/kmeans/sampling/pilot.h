/*
 * The pilot of the method pyramid: which rows matter (docs/definition/numerics.md, section 7).
 *
 * A plain seeding of all rows finds a row near everything that is far from the rest. With u the
 * squared distance of a row from the nearest of these seeds, and N the weight of the rows that are
 * nearest to the same one, a row is the more important the larger its parts of N and of the sum of
 * w u are. Its base exponent says how rare it may be in a sample, in powers of two; its number from
 * the tape says how rare it is; and what is missing is its need, at least 0. The sample is the rows
 * whose need is at most the pilot's shift; for the jury it may be one more. A row stands
 * for 2^(base - shift) rows like it, and that many times its weight is its weight there.
 *
 * Sums enter by their logarithms alone, rounded upwards, and so hardly ever move.
 */
#ifndef EF_PILOT_H
#define EF_PILOT_H

#include "base/numbers/wide.h"
#include "data/set/rows.h"
#include "kernel/kernels.h"
#include "model/exact/races.h"

#define EF_NEEDS 65        /* they are 0 to 64 */
#define EF_JURY_SHIFT 1    /* the jury's shift less the sample's */
#define EF_MEMBERS_BITS 40 /* the weights of a sample add up to less than 2^40 */

typedef struct ef_pilot {
    ef_winner *winners; /* of the seeding; NULL: no pilot */
    int32_t *points;    /* their grid points */
    int64_t *counts;    /* the weight of the rows that are nearest to each */
    void *block;        /* these arrays */
    ef_i128 spread;     /* the sum of w u, each rounded upwards to a power of two */
    uint32_t shift;
    uint64_t n_sample;   /* rows of the sample, */
    uint64_t n_within;   /* and with a shift smaller by one */
    ef_i128 jury_weight; /* of all its rows, before it is cut down */
} ef_pilot;

/* Memory for one that has none; its numbers stay. */
bool ef_pilot_init(ef_pilot *pilot, size_t n_clusters, size_t n_columns);
void ef_pilot_free(ef_pilot *pilot);
size_t ef_pilot_bytes(const ef_pilot *pilot, size_t n_clusters, size_t n_columns);

/* The smallest e with x <= 2^e; 0 for 0. */
uint32_t ef_log_up(ef_u128 x);

/* How important a row is, and what it takes for it to be in a sample. */
typedef struct ef_rank {
    uint8_t base;
    uint8_t need;
} ef_rank;

/* The rank of a row with this weight whose nearest seed is `cluster`, `distance` squared away. */
ef_rank ef_rank_of(const ef_pilot *pilot, uint32_t n_clusters, uint32_t cluster, int64_t weight,
                   int64_t distance, uint32_t zeros);

/* How many leading zero bits a row's number has. */
uint32_t ef_member_zeros(uint64_t seed, uint64_t id);

/* The nearest of some grid points to another, of equals the first, and the squared distance. */
uint32_t ef_nearest_point(const int32_t *points, uint32_t n_points, uint32_t n_columns,
                          const int32_t *point, int64_t *distance);

/* The weight in a sample with this shift of a row with this weight, before it is cut down. */
static inline ef_i128 ef_member_weight(uint32_t base, uint32_t shift, int64_t weight) {
    return (ef_i128)weight << (base > shift ? base - shift : 0);
}

/* By how many bits weights that add up to `total` are cut down; and one of them, then. */
uint32_t ef_weight_cut(ef_i128 total);
static inline int64_t ef_cut_weight(ef_i128 weight, uint32_t cut) {
    const int64_t rest = (int64_t)(weight >> cut);
    return rest > 0 ? rest : 1;
}

/* Whether the shift is the one for `wanted` rows. */
static inline bool ef_shift_stands(const ef_pilot *pilot, uint64_t wanted) {
    return pilot->n_sample >= wanted && (pilot->shift == 0 || pilot->n_within < wanted);
}

/* Marks in the code (kept_labels.h) that a model of pyramid keeps for a row. */
#define EF_IN_SAMPLE 0x80
#define EF_IN_JURY 0x40
#define EF_MARKS (EF_IN_SAMPLE | EF_IN_JURY)

static inline uint8_t ef_marks(uint32_t need, uint32_t shift) {
    return (uint8_t)((need <= shift ? EF_IN_SAMPLE : 0) |
                     (need <= shift + EF_JURY_SHIFT ? EF_IN_JURY : 0));
}

/* The positions of the rows of the jury, those of the sample first. Cost O(n). The caller has
 * `positions` to free. */
efface_status ef_marks_find(const uint8_t *codes, size_t n_rows, size_t **positions, size_t *n_jury,
                            size_t *n_sample, efface_error *error);

#endif
