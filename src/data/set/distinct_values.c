/* How many different values there are. Hashes are appended, and sorted when there are twice as many
 * as are kept. */
#include "data/set/distinct_values.h"

#include "base/memory/list.h"
#include "base/memory/memory.h"

#include <stdlib.h>

static int compare_hashes(const void *a, const void *b) {
    const uint64_t x = ((const ef_seen_hash *)a)->hash, y = ((const ef_seen_hash *)b)->hash;
    return (x > y) - (x < y);
}

/* Makes one of those that are the same, and drops those beyond the limit. */
static void settle(ef_distinct *values) {
    size_t n = 0;
    if (values->n != 0)
        qsort(values->seen, values->n, sizeof *values->seen, compare_hashes);
    for (size_t i = 0; i < values->n; i++) {
        if (n != 0 && values->seen[n - 1].hash == values->seen[i].hash)
            values->seen[n - 1].twice = true;
        else
            values->seen[n++] = values->seen[i];
    }
    if (n > values->n_kept) {
        n = values->n_kept;
        values->cut = true;
        values->limit = values->seen[n - 1].hash;
    }
    values->n = n;
}

bool ef_distinct_add(ef_distinct *values, uint64_t hash) {
    if (values->cut && hash > values->limit)
        return true;
    if (values->n >= 2 * values->n_kept)
        settle(values);
    if (!ef_list_reserve(&values->seen, &values->capacity, values->n, 1, sizeof *values->seen))
        return false;
    values->seen[values->n++] = (ef_seen_hash){hash, false};
    return true;
}

uint64_t ef_distinct_count(ef_distinct *values, bool *twice) {
    settle(values);
    *twice = false;
    for (size_t i = 0; i < values->n; i++)
        *twice |= values->seen[i].twice;
    if (!values->cut)
        return values->n;
    const double part = ((double)values->limit + 1.0) * 0x1p-64;
    return (uint64_t)((double)(values->n_kept - 1) / part + 0.5);
}

void ef_distinct_free(ef_distinct *values) {
    ef_free(values->seen);
    *values = (ef_distinct){.n_kept = values->n_kept};
}
