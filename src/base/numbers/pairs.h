/*
 * Two doubles side by side. What is done to a pair is done to each of the two, rounded as it would
 * be alone, so that pairs give the same bits as single doubles do, at whatever speed a processor
 * has for them. They are for inner loops in which compilers, left to themselves, find the wrong
 * numbers to work on at once, or none.
 */
#ifndef EF_PAIRS_H
#define EF_PAIRS_H

#include <stdint.h>
#include <string.h>

typedef double ef_pair __attribute__((vector_size(16)));
typedef int64_t ef_pair_bits __attribute__((vector_size(16)));

static inline ef_pair ef_pair_load(const double *at) {
    ef_pair pair;
    memcpy(&pair, at, sizeof pair);
    return pair;
}

static inline void ef_pair_store(double *at, ef_pair pair) {
    memcpy(at, &pair, sizeof pair);
}

/* The same number twice. */
static inline ef_pair ef_pair_of(double number) {
    return (ef_pair){number, number};
}

/* The numbers of a where the comparison holds, those of b elsewhere. */
static inline ef_pair ef_pair_choose(ef_pair_bits holds, ef_pair a, ef_pair b) {
    return (ef_pair)((holds & (ef_pair_bits)a) | (~holds & (ef_pair_bits)b));
}

static inline ef_pair ef_pair_abs(ef_pair pair) {
    return (ef_pair)((ef_pair_bits)pair & (ef_pair_bits){INT64_MAX, INT64_MAX});
}

#endif
