/* What is counted of the rows of a set. */
#include "data/set/counts.h"

#include "efface/efface.h"

bool ef_counts_init(ef_counts *counts, uint32_t n_columns) {
    *counts = (ef_counts){.n_columns = n_columns};
    return ef_ranges_init(&counts->ranges, n_columns);
}

void ef_counts_free(ef_counts *counts) {
    ef_ranges_free(&counts->ranges);
}

void ef_counts_write(ef_writer *w, const ef_counts *counts) {
    const ef_ranges *const ranges = &counts->ranges;
    ef_write_u64(w, counts->n_rows);
    ef_write_u64(w, (uint64_t)counts->total_weight);
    for (size_t e = 0; e < EF_EXPONENTS; e++)
        ef_write_u64(w, counts->exponents.rows[e]);
    for (uint32_t j = 0; j < counts->n_columns; j++) {
        ef_write_f32(w, ef_counts_least(counts, j));
        ef_write_f32(w, ef_counts_most(counts, j));
        ef_write_u64(w, ranges->n_least[j]);
        ef_write_u64(w, ranges->n_most[j]);
    }
}

bool ef_counts_read(ef_decoder *r, uint32_t n_columns, ef_counts *counts) {
    if (!ef_decoder_has(r, n_columns, 24) || !ef_counts_init(counts, n_columns))
        return false;
    ef_ranges *const ranges = &counts->ranges;
    counts->n_rows = (size_t)ef_read_u64(r);
    counts->total_weight = (int64_t)ef_read_u64(r);
    for (size_t e = 0; e < EF_EXPONENTS; e++)
        counts->exponents.rows[e] = ef_read_u64(r);
    const float limit = (float)EFFACE_MAX_MAGNITUDE;
    for (uint32_t j = 0; j < n_columns; j++) {
        ranges->least[j] = ef_read_f32(r);
        ranges->most[j] = ef_read_f32(r);
        ranges->n_least[j] = ef_read_u64(r);
        ranges->n_most[j] = ef_read_u64(r);
        /* These are not the ranges of any rows; NaN is found here too. */
        if (!(ranges->least[j] >= -limit && ranges->least[j] <= ranges->most[j] &&
              ranges->most[j] <= limit))
            r->failed = true;
        if (ranges->n_least[j] == 0 && ranges->n_most[j] == 0 && ranges->least[j] == 0.0F &&
            ranges->most[j] == 0.0F)
            ef_ranges_clear(ranges, j);
    }
    if (counts->total_weight < 0 || counts->n_rows > (uint64_t)counts->total_weight)
        r->failed = true;
    if (r->failed)
        ef_counts_free(counts);
    return !r->failed;
}

/* Missing values are not greater than anything. */
static size_t exponent_slot(const ef_counts *counts, const float *values) {
    float largest = 0.0F;
    for (uint32_t j = 0; j < counts->n_columns; j++) {
        const float magnitude = values[j] < 0.0F ? -values[j] : values[j];
        largest = magnitude > largest ? magnitude : largest;
    }
    return (size_t)(ef_exponent(largest) - EF_EXPONENT_MIN);
}

void ef_counts_change(ef_counts *counts, const float *values, int64_t weight, bool leaves) {
    uint64_t *const exponent = &counts->exponents.rows[exponent_slot(counts, values)];
    if (leaves) {
        --*exponent;
        counts->n_rows--;
        counts->total_weight -= weight;
        ef_ranges_remove(&counts->ranges, values, 1);
    } else {
        ++*exponent;
        ef_ranges_add(&counts->ranges, values, 1, counts->n_rows == 0);
        counts->n_rows++;
        counts->total_weight += weight;
    }
}

bool ef_counts_stale(const ef_counts *counts) {
    for (uint32_t j = 0; counts->n_rows != 0 && j < counts->n_columns; j++)
        if (ef_ranges_stale(&counts->ranges, j))
            return true;
    return false;
}
