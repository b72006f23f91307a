/* A set without its rows. */
#include "data/cold_set.h"

#include <string.h>

void ef_counts_write(ef_writer *w, const efface_data *data) {
    const ef_ranges *const ranges = &data->ranges;
    ef_write_u64(w, data->n_rows);
    ef_write_u64(w, (uint64_t)data->total_weight);
    for (size_t e = 0; e < EF_EXPONENTS; e++)
        ef_write_u64(w, data->exponents.rows[e]);
    for (uint32_t j = 0; j < data->n_columns; j++) {
        ef_write_f32(w, data->n_rows != 0 ? ranges->least[j] : 0.0F);
        ef_write_f32(w, data->n_rows != 0 ? ranges->most[j] : 0.0F);
        ef_write_u64(w, ranges->n_least[j]);
        ef_write_u64(w, ranges->n_most[j]);
    }
}

efface_data *ef_counts_read(ef_decoder *r, uint32_t n_columns) {
    efface_data *data = NULL;
    if (!ef_decoder_has(r, n_columns, 24) ||
        efface_data_create(n_columns, &data, NULL) != EFFACE_OK)
        return NULL;
    ef_ranges *const ranges = &data->ranges;
    data->n_rows = (size_t)ef_read_u64(r);
    data->total_weight = (int64_t)ef_read_u64(r);
    for (size_t e = 0; e < EF_EXPONENTS; e++)
        data->exponents.rows[e] = ef_read_u64(r);
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
    }
    if (data->total_weight < 0 || data->n_rows > (uint64_t)data->total_weight)
        r->failed = true;
    if (!r->failed)
        return data;
    efface_data_free(data);
    return NULL;
}

static size_t slot_of(const efface_data *data, const float *values) {
    float largest = 0.0F;
    for (uint32_t j = 0; j < data->n_columns; j++) {
        const float magnitude = values[j] < 0.0F ? -values[j] : values[j];
        largest = magnitude > largest ? magnitude : largest;
    }
    return (size_t)(ef_exponent(largest) - EF_EXPONENT_MIN);
}

void ef_counts_change(efface_data *data, const float *values, int64_t weight, bool leaves) {
    uint64_t *const exponent = &data->exponents.rows[slot_of(data, values)];
    if (leaves) {
        --*exponent;
        data->n_rows--;
        data->total_weight -= weight;
        ef_ranges_remove(&data->ranges, values, 1);
    } else {
        ++*exponent;
        ef_ranges_add(&data->ranges, values, 1, data->n_rows == 0);
        data->n_rows++;
        data->total_weight += weight;
    }
}

bool ef_counts_stale(const efface_data *data) {
    for (uint32_t j = 0; data->n_rows != 0 && j < data->n_columns; j++)
        if (ef_ranges_stale(&data->ranges, j))
            return true;
    return false;
}
