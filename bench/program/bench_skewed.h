/* Sets on which k-means is hard, for benchmarks and tests (bench_skewed.c has the definition). */
#ifndef BENCH_SKEWED_H
#define BENCH_SKEWED_H

#include "efface/efface.h"

/* What is skewed. */
typedef enum bench_skew {
    BENCH_SKEW_SCALES = 0, /* the size of clusters, and how far out they are: 90 % of the rows are
                              at the scale 1, 9 % at 100, 0.9 % at 10^4, 0.1 % at 10^6 */
    BENCH_SKEW_TAILS = 1,  /* the values of every other column: half are 0, and one in x of the
                              others is larger than x */
    BENCH_SKEW_DUPLICATES = 2 /* how often a row occurs: all are copies of 16 rows a cluster, the
                                 first of which is all 0 */
} bench_skew;

/* A set of n_rows rows in all, labelled by cluster. The same arguments give the same bits
 * everywhere. Errors: MEMORY, LIMIT; ARGUMENT if there is no cluster. */
efface_status bench_make_skewed(bench_skew skew, uint32_t n_clusters, uint32_t n_columns,
                                size_t n_rows, uint64_t seed, efface_data **out,
                                efface_error *error);

#endif
