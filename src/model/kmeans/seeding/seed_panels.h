/*
 * Seeds in panels, as the rows of a set are: so the kernel that measures rows measures sixteen seeds
 * at a time. Its float distances have a relative error of at most e = EF_SQDIST_ERROR(d), and are
 * the same bits whichever of the two points is in the panel.
 */
#ifndef EF_SEED_PANELS_H
#define EF_SEED_PANELS_H

#include "kernel/kernels.h"

typedef struct ef_seed_panels {
    float *values;
    ef_map whole; /* leaves grid points as they are */
    void *block;  /* all of these */
} ef_seed_panels;

/* Room for k seeds of d columns. False if out of memory; ef_seed_panels_free is due in any case.
 */
bool ef_seed_panels_init(ef_seed_panels *panels, size_t k, uint32_t d);
void ef_seed_panels_free(ef_seed_panels *panels);

/* Seed number `seed` is at a grid point. */
void ef_seed_panels_put(ef_seed_panels *panels, size_t seed, const int32_t *point);

/* The squared distances of a point to sixteen seeds, of which `first`, a multiple of sixteen, is
 * the first. Those of seeds that are not there may be anything. */
static inline void ef_seed_panels_measure(const ef_seed_panels *panels, const ef_kernels *kernels,
                                          size_t first, const float *point, float out[EF_PANEL]) {
    const float *const values = panels->values + first * panels->whole.n_columns;
    kernels->sqdist(&panels->whole, values, point, values + EF_PANEL * panels->whole.n_columns,
                    out);
}

#endif
