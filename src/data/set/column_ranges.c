/* The smallest and largest value of each column, and how many rows have them. */
#include "data/set/column_ranges.h"

#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "efface/efface.h"

static const float farthest = (float)EFFACE_MAX_MAGNITUDE;

bool ef_ranges_init(ef_ranges *ranges, uint32_t n_columns) {
    *ranges = (ef_ranges){.n_columns = n_columns};
    const ef_array arrays[] = {{&ranges->least, n_columns, sizeof *ranges->least},
                               {&ranges->most, n_columns, sizeof *ranges->most},
                               {&ranges->n_least, n_columns, sizeof *ranges->n_least},
                               {&ranges->n_most, n_columns, sizeof *ranges->n_most}};
    ranges->block = EF_ARRAYS_TAKE(arrays, true);
    return ranges->block != NULL;
}

void ef_ranges_free(ef_ranges *ranges) {
    ef_free(ranges->block);
    *ranges = (ef_ranges){0};
}

void ef_ranges_clear(ef_ranges *ranges, uint32_t column) {
    ranges->least[column] = farthest;
    ranges->most[column] = -farthest;
    ranges->n_least[column] = ranges->n_most[column] = 0;
}

/* Comparisons with a missing value are false. */
void ef_ranges_add(ef_ranges *ranges, const float *values, size_t stride, bool first) {
    for (uint32_t j = 0; first && j < ranges->n_columns; j++)
        ef_ranges_clear(ranges, j);
    if (first)
        ranges->any_stale = false;
    for (uint32_t j = 0; j < ranges->n_columns; j++) {
        const float x = values[j * stride];
        if (x <= ranges->least[j]) {
            ranges->n_least[j] = x < ranges->least[j] ? 1 : ranges->n_least[j] + 1;
            ranges->least[j] = x;
        }
        if (x >= ranges->most[j]) {
            ranges->n_most[j] = x > ranges->most[j] ? 1 : ranges->n_most[j] + 1;
            ranges->most[j] = x;
        }
    }
}

void ef_ranges_add_panel(ef_ranges *ranges, const float *panel) {
    for (uint32_t j = 0; j < ranges->n_columns; j++, panel += EF_PANEL) {
        float least = farthest, most = -farthest;
        for (size_t i = 0; i < EF_PANEL; i++) {
            least = panel[i] < least ? panel[i] : least;
            most = panel[i] > most ? panel[i] : most;
        }
        if (least > ranges->least[j] && most < ranges->most[j])
            continue;
        uint32_t n_least = 0, n_most = 0;
        for (size_t i = 0; i < EF_PANEL; i++) {
            n_least += panel[i] == least;
            n_most += panel[i] == most;
        }
        if (least <= ranges->least[j]) {
            ranges->n_least[j] = n_least + (least < ranges->least[j] ? 0 : ranges->n_least[j]);
            ranges->least[j] = least;
        }
        if (most >= ranges->most[j]) {
            ranges->n_most[j] = n_most + (most > ranges->most[j] ? 0 : ranges->n_most[j]);
            ranges->most[j] = most;
        }
    }
}

void ef_ranges_remove(ef_ranges *ranges, const float *values, size_t stride) {
    for (uint32_t j = 0; j < ranges->n_columns; j++) {
        const float x = values[j * stride];
        if (x == ranges->least[j] && --ranges->n_least[j] == 0) {
            ranges->least[j] = -farthest;
            ranges->any_stale = true;
        }
        if (x == ranges->most[j] && --ranges->n_most[j] == 0) {
            ranges->most[j] = farthest;
            ranges->any_stale = true;
        }
    }
}
