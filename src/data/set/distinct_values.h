/*
 * How many different values there are, and whether any comes twice, in bounded memory.
 *
 * Of the hashes of all values the smallest few thousand are kept. If there are no more, the count is
 * exact; else the largest one that is kept tells how densely hashes lie. A hash that is kept at the
 * end was kept from its first appearance on, since the limit only falls: so what is known does not
 * depend on the order of the values.
 */
#ifndef EF_DISTINCT_VALUES_H
#define EF_DISTINCT_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ef_seen_hash {
    uint64_t hash;
    bool twice;
} ef_seen_hash;

/* Begins as zeros with n_kept set: at least 2. */
typedef struct ef_distinct {
    size_t n_kept; /* the most that are kept */
    ef_seen_hash *seen;
    size_t n, capacity;
    uint64_t limit; /* of the hashes that are kept, once `cut` */
    bool cut;       /* there were more */
} ef_distinct;

/* One more value, by a hash of 64 bits. False if out of memory. */
bool ef_distinct_add(ef_distinct *values, uint64_t hash);

/* The number of different values, exact unless `cut`; and whether a value that is kept came
 * twice. */
uint64_t ef_distinct_count(ef_distinct *values, bool *twice);

void ef_distinct_free(ef_distinct *values);

#endif
