/* Standard normal numbers from the tape, two at a time. */
#ifndef EF_NORMALS_H
#define EF_NORMALS_H

#include "base/random/tape.h"

typedef struct ef_normal_pair {
    double first;
    double second;
} ef_normal_pair;

/*
 * Marsaglia's polar method. Operations are on doubles, each rounded to nearest, in the order
 * written; r is tape(seed, purpose, sub, index, .) and v(r) is ef_tape_unit(r). For the attempts
 * sub = 0, 1, 2, ... let
 *
 *     a = 2 v(r) - 1    step `step`              (exact, and never 0)
 *     b = 2 v(r) - 1    step `step` + 1
 *     s = a a + b b
 *
 * until s < 1, which an attempt brings with probability pi / 4. Then with
 * f = sqrt((-2 log s) / s), log being ef_log and sqrt the IEEE operation, a f and b f are two
 * independent standard normal numbers.
 */
ef_normal_pair ef_tape_normals(uint64_t seed, ef_purpose purpose, uint64_t index, uint32_t step);

#endif
