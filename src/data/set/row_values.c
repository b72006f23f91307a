/* Values of rows in panels, the ranges of columns, and what is counted of rows. */
#include "data/set/row_values.h"

#include <string.h>

#define ALL_BUT_SIGN 0x7FFFFFFFu
#define LARGEST 0x7E800000u /* the bits of 2^126 */

static uint32_t magnitude_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & ALL_BUT_SIGN;
}

/* The bits of the largest magnitude of a row: as integers they order like the numbers, with
 * infinity and NaN above all: values are missing only if it is beyond LARGEST. */
static uint32_t largest_bits(const float *values, uint32_t n, size_t stride) {
    uint32_t largest = 0;
    for (uint32_t j = 0; j < n; j++) {
        const uint32_t bits = magnitude_bits(values[j * stride]);
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

/* What statistics have of a row. */
typedef struct row_digest {
    size_t exponent;    /* its place among the counts */
    uint64_t n_missing; /* values */
} row_digest;

static row_digest digest_row(const float *values, uint32_t n, size_t stride) {
    uint32_t bits = largest_bits(values, n, stride);
    uint64_t n_missing = 0;
    if (bits > LARGEST) {
        bits = 0;
        for (uint32_t j = 0; j < n; j++) {
            const uint32_t own = magnitude_bits(values[j * stride]);
            n_missing += own > LARGEST;
            bits = own <= LARGEST && own > bits ? own : bits;
        }
    }
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    return (row_digest){(size_t)(ef_exponent(magnitude) - EF_EXPONENT_MIN), n_missing};
}

static void count_row(efface_data *data, const float *values, size_t stride) {
    const row_digest of = digest_row(values, data->n_columns, stride);
    data->exponents.rows[of.exponent]++;
    data->n_missing += of.n_missing;
}

void ef_row_write(efface_data *data, size_t position, const float *values) {
    float *const row = ef_data_first(data, position);
    const bool is_new = position == data->n_rows;
    if (is_new && position % EF_PANEL == 0) /* the first row of a new panel */
        memset(row, 0, (size_t)data->n_columns * EF_PANEL * sizeof *row);
    for (uint32_t j = 0; j < data->n_columns; j++)
        row[(size_t)j * EF_PANEL] = ef_stored_value(values[j]);
    count_row(data, values, 1);
    ef_ranges_add(&data->ranges, row, EF_PANEL, is_new && position == 0);
}

void ef_row_write_panel(efface_data *data, size_t position, const float *values, size_t stride) {
    float *const panel = ef_data_first(data, position);
    for (uint32_t j = 0; j < data->n_columns; j++)
        for (size_t i = 0; i < EF_PANEL; i++)
            panel[j * EF_PANEL + i] = ef_stored_value(values[i * stride + j]);
    for (size_t i = 0; i < EF_PANEL; i++)
        count_row(data, values + i * stride, 1);
    ef_ranges_add_panel(&data->ranges, panel);
}

void ef_row_unwrite(efface_data *data, size_t position) {
    const float *const row = ef_data_first(data, position);
    const row_digest of = digest_row(row, data->n_columns, EF_PANEL);
    data->exponents.rows[of.exponent]--;
    data->n_missing -= of.n_missing;
    ef_ranges_remove(&data->ranges, row, EF_PANEL);
}

uint64_t ef_row_n_missing(const float *values, uint32_t n, size_t stride) {
    return digest_row(values, n, stride).n_missing;
}

uint32_t ef_row_find_wrong(const efface_data *data, const float *values) {
    uint32_t j = 0;
    if (largest_bits(values, data->n_columns, 1) <= LARGEST)
        return data->n_columns;
    while (j < data->n_columns && (magnitude_bits(values[j]) <= LARGEST ||
                                   (data->allows_missing && values[j] != values[j])))
        j++;
    return j;
}

/* The ends of a column and how many rows are there, from the rows; those of an empty column if no
 * row has a value. Cost O(n). Whole panels go by lanes, which the compiler makes vectors of. */
static void measure_column(const efface_data *data, uint32_t column, float ends[2],
                           uint64_t counts[2]) {
    const size_t n_panels = data->n_rows / EF_PANEL;
    float low[EF_PANEL], high[EF_PANEL];
    for (unsigned i = 0; i < EF_PANEL; i++) {
        low[i] = (float)EFFACE_MAX_MAGNITUDE;
        high[i] = -low[i];
    }
    for (size_t p = 0; p < n_panels; p++) {
        const float *const x = ef_data_panel(data, p) + (size_t)column * EF_PANEL;
        for (unsigned i = 0; i < EF_PANEL; i++) {
            low[i] = x[i] < low[i] ? x[i] : low[i];
            high[i] = x[i] > high[i] ? x[i] : high[i];
        }
    }
    for (size_t row = n_panels * EF_PANEL; row < data->n_rows; row++) {
        const float x = ef_data_value(data, row, column);
        low[0] = x < low[0] ? x : low[0];
        high[0] = x > high[0] ? x : high[0];
    }
    ends[0] = low[0];
    ends[1] = high[0];
    for (unsigned i = 1; i < EF_PANEL; i++) {
        ends[0] = low[i] < ends[0] ? low[i] : ends[0];
        ends[1] = high[i] > ends[1] ? high[i] : ends[1];
    }
    counts[0] = counts[1] = 0;
    for (size_t p = 0; p < n_panels; p++) {
        const float *const x = ef_data_panel(data, p) + (size_t)column * EF_PANEL;
        uint32_t least = 0, most = 0;
        for (unsigned i = 0; i < EF_PANEL; i++) {
            least += x[i] == ends[0];
            most += x[i] == ends[1];
        }
        counts[0] += least;
        counts[1] += most;
    }
    for (size_t row = n_panels * EF_PANEL; row < data->n_rows; row++) {
        counts[0] += ef_data_value(data, row, column) == ends[0];
        counts[1] += ef_data_value(data, row, column) == ends[1];
    }
}

void ef_data_column_ranges(const efface_data *data, float *column_min, float *column_max) {
    const ef_ranges *const ranges = &data->ranges;
    for (uint32_t j = 0; j < data->n_columns; j++) {
        float ends[2] = {0.0F, 0.0F};
        uint64_t counts[2];
        if (data->n_rows != 0 && ef_ranges_stale(ranges, j)) {
            measure_column(data, j, ends, counts);
        } else if (data->n_rows != 0) {
            ends[0] = ranges->least[j];
            ends[1] = ranges->most[j];
        }
        column_min[j] = ends[0] <= ends[1] ? ends[0] : 0.0F;
        column_max[j] = ends[0] <= ends[1] ? ends[1] : 0.0F;
    }
}

/* Measures stale ranges of these rows again. */
static void refresh_ranges(const efface_data *data, ef_ranges *ranges) {
    if (!ranges->any_stale || data->n_rows == 0)
        return;
    for (uint32_t j = 0; j < data->n_columns; j++)
        if (ef_ranges_stale(ranges, j)) {
            float ends[2];
            uint64_t counts[2];
            measure_column(data, j, ends, counts);
            ranges->least[j] = ends[0];
            ranges->most[j] = ends[1];
            ranges->n_least[j] = counts[0];
            ranges->n_most[j] = counts[1];
        }
    ranges->any_stale = false;
}

void ef_data_refresh_ranges(efface_data *data) {
    refresh_ranges(data, &data->ranges);
}

bool ef_data_count(const efface_data *data, ef_counts *counts) {
    const size_t d = data->n_columns;
    ef_ranges ranges;
    if (!ef_ranges_init(&ranges, data->n_columns))
        return false;
    memcpy(ranges.least, data->ranges.least, d * sizeof *ranges.least);
    memcpy(ranges.most, data->ranges.most, d * sizeof *ranges.most);
    memcpy(ranges.n_least, data->ranges.n_least, d * sizeof *ranges.n_least);
    memcpy(ranges.n_most, data->ranges.n_most, d * sizeof *ranges.n_most);
    ranges.any_stale = data->ranges.any_stale;
    refresh_ranges(data, &ranges);
    *counts = data->counts;
    counts->ranges = ranges;
    return true;
}
