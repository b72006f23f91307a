/* Parameters of the family `sums` with room for what they refer to, what they mean, and the oracle.
 * For sums_law.c and tests of that family. */
#ifndef EF_SUMS_BUFFERS_H
#define EF_SUMS_BUFFERS_H

#include "law/law_families.h"

#define SUMS_MOST_PRIORS 8

/* It is in the room of law_params. */
typedef struct sums_room {
    efface_sums_params params;
    uint32_t targets[LAW_MOST_COLUMNS];
    double priors[SUMS_MOST_PRIORS];
} sums_room;

_Static_assert(sizeof(sums_room) <= sizeof(law_params), "the room is too small");

static inline sums_room *sums_room_of(law_params *params) {
    return (sums_room *)(void *)params;
}

static inline const efface_sums_params *sums_of(const law_params *params) {
    return (const efface_sums_params *)(const void *)params;
}

/* What is summed up: the kind over all rows, 1 to 3, and for each class, 0 to 3. `needed` is the
 * least that the view can do with. */
typedef struct sums_kinds {
    unsigned all, by_class;
} sums_kinds;

sums_kinds sums_needed(const efface_sums_params *params);
sums_kinds sums_resolved(const efface_sums_params *params);

/* As in law_family. */
unsigned char *sums_oracle(const law_rows *rows, const law_params *params, size_t *n_bytes);
void sums_differ(const law_params *params, const unsigned char *a, size_t n_a,
                 const unsigned char *b, size_t n_b, char text[LAW_TEXT_BYTES]);

#endif
