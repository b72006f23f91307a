/* Seeds in panels (seed_panels.h). */
#include "model/kmeans/seeding/seed_panels.h"

#include "base/memory/arrays.h"
#include "base/memory/memory.h"

bool ef_seed_panels_init(ef_seed_panels *panels, size_t k, uint32_t d) {
    float *low, *step;
    *panels = (ef_seed_panels){0};
    const ef_array arrays[] = {
        {&panels->values, k / EF_PANEL + 2, (size_t)EF_PANEL * d * sizeof *panels->values},
        {&low, d, sizeof *low},
        {&step, d, sizeof *step},
    };
    panels->block = EF_ARRAYS_TAKE(arrays, true);
    if (panels->block == NULL)
        return false;
    for (uint32_t j = 0; j < d; j++)
        step[j] = 1.0F;
    panels->whole = (ef_map){d, low, step};
    return true;
}

void ef_seed_panels_free(ef_seed_panels *panels) {
    ef_free(panels->block);
}

void ef_seed_panels_put(ef_seed_panels *panels, size_t seed, const int32_t *point) {
    const size_t d = panels->whole.n_columns;
    float *const to = panels->values + seed / EF_PANEL * EF_PANEL * d + seed % EF_PANEL;
    for (size_t j = 0; j < d; j++)
        to[j * EF_PANEL] = (float)point[j];
}
