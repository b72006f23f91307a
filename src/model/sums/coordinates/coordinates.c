/* The coordinates of rows. */
#include "model/sums/coordinates/coordinates.h"

#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"

#include <inttypes.h>
#include <string.h>

/* ---------------------------------------------------------------- making */

static efface_status check_targets(const ef_coordinates_params *params, efface_error *error) {
    const uint32_t d = params->n_columns;
    for (uint32_t i = 0; i < params->n_targets; i++) {
        if (params->targets[i] >= d)
            return ef_fail(error, EFFACE_E_ARGUMENT,
                           "target %" PRIu32 " is column %" PRIu32
                           ", counted from 0; the rows have %" PRIu32 " columns",
                           i + 1, params->targets[i], d);
        for (uint32_t k = 0; k < i; k++)
            if (params->targets[k] == params->targets[i])
                return ef_fail(error, EFFACE_E_ARGUMENT,
                               "column %" PRIu32 " is named twice as a target",
                               params->targets[i] + 1);
    }
    if (params->n_targets >= d)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "all columns are targets, so that no feature is left to explain them by");
    return EFFACE_OK;
}

uint32_t ef_coordinates_target(const ef_coordinates *c, uint32_t column) {
    for (uint32_t i = 0; i < c->n_targets; i++)
        if (c->targets[i] == column)
            return i;
    return EFFACE_NO_COLUMN;
}

efface_status ef_coordinates_init(ef_coordinates *c, const ef_coordinates_params *params,
                                  efface_error *error) {
    const uint32_t d = params->n_columns, t = params->n_targets;
    *c = (ef_coordinates){0};
    efface_status status = check_targets(params, error);
    EF_THEN(status, ef_kernels_require(&c->kernels, error));
    if (status != EFFACE_OK)
        return status;
    c->n_columns = d;
    c->n_targets = t;
    c->n_terms = params->n_fourier != 0 ? params->n_fourier : d - t;
    c->n = params->n_fourier != 0 ? params->n_fourier + t : d;
    const ef_array arrays[] = {
        {&c->inputs, d - t, sizeof *c->inputs},
        {&c->targets, t, sizeof *c->targets},
        {&c->target_ids, t, sizeof *c->target_ids},
        {&c->term_points, c->n_terms, sizeof *c->term_points},
        {&c->target_points, t, sizeof *c->target_points},
        {&c->exponents, d, sizeof *c->exponents},
        {&c->low, d, sizeof *c->low},
        {&c->step, d, sizeof *c->step},
        {&c->ignored, d, sizeof *c->ignored},
    };
    c->block = EF_ARRAYS_TAKE(arrays, true);
    if (c->block == NULL)
        return ef_fail_memory(error);
    if (t != 0)
        memcpy(c->targets, params->targets, t * sizeof *c->targets);
    for (uint32_t j = 0; j < d; j++)
        if (ef_coordinates_target(c, j) == EFFACE_NO_COLUMN)
            c->inputs[c->n_inputs++] = j;
    for (uint32_t i = 0; i < c->n_terms; i++)
        c->term_points[i] = params->n_fourier != 0 ? i : c->inputs[i];
    for (uint32_t i = 0; i < t; i++) {
        c->target_points[i] = params->n_fourier != 0 ? c->n_terms + i : c->targets[i];
        c->target_ids[i] = c->targets[i];
    }
    for (uint32_t j = 0; j < d; j++)
        c->ignored[j] = ef_coordinates_target(c, j) != EFFACE_NO_COLUMN;
    c->is_scaled = params->is_scaled;
    c->map = (ef_map){.n_columns = d, .low = c->low, .step = c->step};
    const double gamma = params->gamma > 0.0 ? params->gamma : 1.0 / c->n_inputs;
    if (params->n_fourier != 0 &&
        !ef_fourier_init(&c->fourier, params->seed, gamma, params->n_fourier, c->n_inputs)) {
        ef_coordinates_free(c);
        return ef_fail_memory(error);
    }
    return EFFACE_OK;
}

void ef_coordinates_free(ef_coordinates *c) {
    ef_fourier_free(&c->fourier);
    ef_spreads_free(c->spreads);
    ef_free(c->block);
    *c = (ef_coordinates){0};
}

/* ---------------------------------------------------------------- the grid */

static bool has_grid(const ef_coordinates *c, uint32_t column) {
    return c->fourier.n_features == 0 || ef_coordinates_target(c, column) != EFFACE_NO_COLUMN;
}

efface_status ef_coordinates_find(const ef_coordinates *c, double bound, const float *least,
                                  const float *most, int32_t *exponents, efface_error *error) {
    int32_t of_bound = EF_EXPONENT_MIN;
    while (ef_power_of_two(of_bound) < bound)
        of_bound++;
    for (uint32_t j = 0; j < c->n_columns; j++) {
        const float low = least != NULL ? least[j] : 0.0F, high = most != NULL ? most[j] : 0.0F;
        if (bound > 0.0 && (low < -(float)bound || high > (float)bound))
            return ef_fail(error, EFFACE_E_LIMIT,
                           "the values of column %" PRIu32
                           " are from %g to %g, beyond the bound %g; give a larger bound or none",
                           j + 1, (double)low, (double)high, bound);
        exponents[j] = !has_grid(c, j) ? 0
                       : bound > 0.0   ? of_bound
                                       : ef_exponent(-low > high ? -low : high);
    }
    return EFFACE_OK;
}

efface_status ef_coordinates_find_of(const ef_coordinates *c, double bound, const efface_data *data,
                                     int32_t *exponents, efface_error *error) {
    const uint32_t d = data->n_columns;
    if (data->part != NULL) {
        const ef_counts *const whole = ef_data_whole(data);
        const bool any = whole->n_rows != 0;
        return ef_coordinates_find(c, bound, any ? whole->ranges.least : NULL,
                                   any ? whole->ranges.most : NULL, exponents, error);
    }
    float *const ranges = ef_alloc(2 * (size_t)d, sizeof *ranges);
    if (ranges == NULL)
        return ef_fail_memory(error);
    ef_data_column_ranges(data, ranges, ranges + d);
    const efface_status status =
        ef_coordinates_find(c, bound, ranges, ranges + d, exponents, error);
    ef_free(ranges);
    return status;
}

void ef_coordinates_set(ef_coordinates *c, const int32_t *exponents) {
    for (uint32_t j = 0; j < c->n_columns; j++) {
        c->exponents[j] = exponents[j];
        c->step[j] = ef_step_bound(exponents[j]);
    }
}

double ef_coordinates_unit(const ef_coordinates *c, uint32_t point) {
    if (c->fourier.n_features == 0)
        return ef_power_of_two(c->exponents[point] - EF_GRID_BITS);
    if (point >= c->n_terms)
        return ef_power_of_two(c->exponents[c->targets[point - c->n_terms]] - EF_GRID_BITS);
    return ef_fourier_unit(&c->fourier);
}

/* ---------------------------------------------------------------- units of inputs */

/* Phases are random, so that it makes no difference where 0 is: centres play no part. */
void ef_coordinates_take_units(ef_coordinates *c, ef_spreads *spreads, uint64_t seed) {
    c->spreads = spreads;
    ef_spreads_place(spreads, seed);
    for (size_t f = 0; f < c->fourier.n_features; f++)
        for (size_t i = 0; i < c->n_inputs; i++)
            c->fourier.frequencies[f * c->n_inputs + i] *= spreads->units[c->inputs[i]];
}

static efface_status sum_inputs(ef_spreads *spreads, const ef_coordinates *c,
                                const efface_data *data, unsigned n_threads, ef_interrupt interrupt,
                                efface_error *error) {
    const ef_counts *const whole = ef_data_whole(data);
    ef_counts counts;
    if (!whole->ranges.any_stale) {
        ef_spreads_set(spreads, whole, c->ignored);
    } else if (ef_data_count(data, &counts)) {
        ef_spreads_set(spreads, &counts, c->ignored);
        ef_counts_free(&counts);
    } else {
        return ef_fail_memory(error);
    }
    return ef_spreads_add(spreads, data, n_threads, interrupt, error);
}

efface_status ef_coordinates_find_units(ef_coordinates *c, const efface_data *data, uint64_t seed,
                                        unsigned n_threads, ef_interrupt interrupt,
                                        efface_error *error) {
    ef_spreads *const spreads = ef_spreads_create(c->n_columns);
    const efface_status status = spreads != NULL
                                     ? sum_inputs(spreads, c, data, n_threads, interrupt, error)
                                     : ef_fail_memory(error);
    if (status == EFFACE_OK)
        ef_coordinates_take_units(c, spreads, seed);
    else
        ef_spreads_free(spreads);
    return status;
}

/* ---------------------------------------------------------------- rows */

static void make_points(const void *context, const float *values, unsigned n_rows, float *points) {
    const ef_coordinates *const c = context;
    if (c->fourier.n_features == 0) {
        c->kernels->snap(&c->map, values, n_rows, points);
        return;
    }
    ef_fourier_panel(&c->fourier, values, c->inputs, points);
    for (uint32_t i = 0; i < c->n_targets; i++) {
        const uint32_t column = c->targets[i];
        for (unsigned r = 0; r < n_rows; r++)
            points[(size_t)(c->n_terms + i) * EF_PANEL + r] =
                (float)ef_snap(values[(size_t)column * EF_PANEL + r], 0.0F, c->step[column]);
    }
}

ef_points ef_coordinates_points(const ef_coordinates *c) {
    return (ef_points){c->n, c, make_points};
}

void ef_coordinates_of_row(const ef_coordinates *c, const float *row, int32_t *point) {
    if (c->fourier.n_features == 0) {
        for (uint32_t j = 0; j < c->n_columns; j++)
            point[j] = ef_snap(row[(size_t)j * EF_PANEL], 0.0F, c->step[j]);
        return;
    }
    ef_fourier_row(&c->fourier, row, EF_PANEL, c->inputs, point);
    for (uint32_t i = 0; i < c->n_targets; i++)
        point[c->n_terms + i] =
            ef_snap(row[(size_t)c->targets[i] * EF_PANEL], 0.0F, c->step[c->targets[i]]);
}
