/* The domain of a fit: bound or column ranges, and the map to the grid that follows from them. */
#include "model/exact/domain.h"

#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"

#include <inttypes.h>
#include <string.h>

/* The smallest allowed e with bound <= 2^e. */
static int exponent_of_bound(double bound) {
    int exponent = EF_EXPONENT_MIN;
    while (ef_power_of_two(exponent) < bound)
        exponent++;
    return exponent;
}

static bool is_ignored(const bool *ignored, uint32_t column) {
    return ignored != NULL && ignored[column];
}

/* The exponent that the rows need. What is counted of rows knows of all columns only; ranges tell
 * columns apart. */
static int exponent_of_rows(const ef_counts *counts, const bool *ignored) {
    if (ignored == NULL)
        return ef_exponent_counts_max(&counts->exponents);
    int exponent = EF_EXPONENT_MIN;
    for (uint32_t j = 0; j < counts->n_columns; j++) {
        const float least = ef_counts_least(counts, j), most = ef_counts_most(counts, j);
        const int own = ignored[j] ? EF_EXPONENT_MIN : ef_exponent(-least > most ? -least : most);
        exponent = own > exponent ? own : exponent;
    }
    return exponent;
}

static efface_status use_bound(ef_domain *domain, const ef_counts *counts, const ef_bounds *bounds,
                               efface_error *error) {
    const double bound = bounds->bound;
    domain->exponent =
        bound > 0.0 ? exponent_of_bound(bound) : exponent_of_rows(counts, bounds->ignored);
    for (uint32_t j = 0; j < counts->n_columns; j++) {
        if (is_ignored(bounds->ignored, j))
            continue; /* low and step are 0 */
        const float least = ef_counts_least(counts, j), most = ef_counts_most(counts, j);
        if (bound > 0.0 && (least < -(float)bound || most > (float)bound))
            return ef_fail(error, EFFACE_E_LIMIT,
                           "the values of column %" PRIu32
                           " are from %g to %g, beyond the bound %g; give a larger bound or none",
                           j + 1, (double)least, (double)most, bound);
        domain->low[j] = 0.0F;
        domain->step[j] = ef_step_bound(domain->exponent);
    }
    return EFFACE_OK;
}

static efface_status use_ranges(ef_domain *domain, const ef_counts *counts, const ef_bounds *bounds,
                                efface_error *error) {
    for (uint32_t j = 0; j < counts->n_columns; j++) {
        if (is_ignored(bounds->ignored, j))
            continue;
        const float least = ef_counts_least(counts, j), most = ef_counts_most(counts, j);
        domain->low[j] = bounds->column_min != NULL ? bounds->column_min[j] + 0.0F : least;
        domain->high[j] = bounds->column_max != NULL ? bounds->column_max[j] + 0.0F : most;
        const float magnitude = (float)EFFACE_MAX_MAGNITUDE;
        if (!(domain->low[j] >= -magnitude && domain->high[j] <= magnitude))
            return ef_fail(error, EFFACE_E_LIMIT,
                           "the bounds of column %" PRIu32 " are not finite numbers of magnitude "
                           "2^126 or less",
                           j + 1);
        if (domain->low[j] > domain->high[j])
            return ef_fail(error, EFFACE_E_ARGUMENT,
                           "the lower bound of column %" PRIu32 " is above its upper bound", j + 1);
        if (counts->n_rows != 0 && (least < domain->low[j] || most > domain->high[j]))
            return ef_fail(
                error, EFFACE_E_LIMIT,
                "the values of column %" PRIu32
                " are from %g to %g, beyond its bounds %g and %g; give wider bounds or none",
                j + 1, (double)least, (double)most, (double)domain->low[j],
                (double)domain->high[j]);
        domain->step[j] = ef_step_minmax(domain->low[j], domain->high[j]);
    }
    return EFFACE_OK;
}

/* Whether the image of a value is on the grid. */
static bool is_on_grid(float x, float low, float step) {
    const float image = (x - low) * step;
    return image >= -(float)EF_GRID_MAX && image <= (float)EF_GRID_MAX;
}

static float step_of_unit(double unit, int exponent) {
    return (float)(unit * ef_power_of_two(EF_GRID_BITS - exponent));
}

/* One exponent for all columns, so that a unit is as many steps in each. */
static void use_spreads(ef_domain *domain, const ef_counts *counts) {
    const ef_spreads *const s = domain->spreads;
    const uint32_t d = counts->n_columns;
    for (uint32_t j = 0; j < d; j++) {
        const float least = ef_counts_least(counts, j), most = ef_counts_most(counts, j);
        domain->low[j] = s->centres[j];
        while (!is_on_grid(least, s->centres[j], step_of_unit(s->units[j], domain->exponent)) ||
               !is_on_grid(most, s->centres[j], step_of_unit(s->units[j], domain->exponent)))
            domain->exponent++;
    }
    for (uint32_t j = 0; j < d; j++)
        domain->step[j] = step_of_unit(s->units[j], domain->exponent);
}

static void use_given(ef_domain *domain, const ef_bounds *bounds) {
    const size_t n_bytes = domain->map.n_columns * sizeof *domain->low;
    domain->exponent = exponent_of_bound(bounds->bound);
    memcpy(domain->low, bounds->column_min, n_bytes);
    memcpy(domain->step, bounds->column_max, n_bytes);
}

static void note_coarse(ef_domain *domain, const ef_counts *counts, const bool *ignored) {
    for (uint32_t j = 0; j < counts->n_columns; j++) {
        const float least = ef_counts_least(counts, j), most = ef_counts_most(counts, j);
        const double spread = ((double)most - (double)least) * (double)domain->step[j];
        if (most > least && spread < EF_COARSE_STEPS && !is_ignored(ignored, j))
            domain->coarse[domain->n_coarse++] = j;
    }
}

static bool take_memory(ef_domain *domain, uint32_t d) {
    *domain = (ef_domain){.scale = EFFACE_SCALE_NONE};
    const ef_array arrays[] = {{&domain->low, d, sizeof *domain->low},
                               {&domain->high, d, sizeof *domain->high},
                               {&domain->step, d, sizeof *domain->step}};
    domain->block = EF_ARRAYS_TAKE(arrays, true);
    domain->coarse = ef_alloc(d, sizeof *domain->coarse);
    domain->map = (ef_map){d, domain->low, domain->step};
    if (domain->block != NULL && domain->coarse != NULL)
        return true;
    ef_domain_free(domain);
    return false;
}

efface_status ef_domain_init(ef_domain *domain, const ef_counts *counts, ef_bounds bounds,
                             ef_spreads *spreads, efface_error *error) {
    efface_status status = EFFACE_OK;
    if (!take_memory(domain, counts->n_columns)) {
        ef_spreads_free(spreads);
        return ef_fail_memory(error);
    }
    domain->scale = bounds.scale;
    domain->spreads = spreads;
    if (bounds.scale == EFFACE_SCALE_NONE) {
        status = use_bound(domain, counts, &bounds, error);
    } else if (bounds.scale == EFFACE_SCALE_MINMAX) {
        status = use_ranges(domain, counts, &bounds, error);
    } else if (spreads == NULL) {
        use_given(domain, &bounds);
    } else {
        ef_spreads_place(spreads, bounds.seed);
        use_spreads(domain, counts);
    }
    if (status == EFFACE_OK)
        note_coarse(domain, counts, bounds.ignored);
    else
        ef_domain_free(domain);
    return status;
}

/* The same, once it is known what the rows are. */
static efface_status init_from_rows(ef_domain *domain, const efface_data *data,
                                    const ef_counts *counts, ef_bounds bounds,
                                    efface_error *error) {
    if (bounds.scale != EFFACE_SCALE_STANDARD || bounds.column_min != NULL)
        return ef_domain_init(domain, counts, bounds, NULL, error);
    ef_spreads *const spreads = ef_spreads_create(counts->n_columns);
    if (spreads == NULL)
        return ef_fail_memory(error);
    ef_spreads_set(spreads, counts, bounds.ignored);
    const efface_status status =
        ef_spreads_add(spreads, data, bounds.n_threads, bounds.interrupt, error);
    if (status == EFFACE_OK)
        return ef_domain_init(domain, counts, bounds, spreads, error);
    ef_spreads_free(spreads);
    return status;
}

efface_status ef_domain_of(ef_domain *domain, const efface_data *data, ef_bounds bounds,
                           efface_error *error) {
    if (!ef_data_whole(data)->ranges.any_stale)
        return init_from_rows(domain, data, ef_data_whole(data), bounds, error);
    ef_counts counts;
    if (!ef_data_count(data, &counts))
        return ef_fail_memory(error);
    const efface_status status = init_from_rows(domain, data, &counts, bounds, error);
    ef_counts_free(&counts);
    return status;
}

bool ef_domain_restore(ef_domain *domain, uint32_t n_columns, efface_scale scale, int exponent,
                       const float *low, const float *high, const bool *ignored) {
    if (!take_memory(domain, n_columns))
        return false;
    domain->scale = scale;
    domain->exponent = exponent;
    for (uint32_t j = 0; j < n_columns; j++) {
        if (scale == EFFACE_SCALE_MINMAX) {
            domain->low[j] = low[j];
            domain->high[j] = high[j];
            domain->step[j] = ef_step_minmax(low[j], high[j]);
        } else if (scale == EFFACE_SCALE_STANDARD) {
            domain->low[j] = low[j];
            domain->step[j] = high[j];
        } else if (!is_ignored(ignored, j)) {
            domain->step[j] = ef_step_bound(exponent);
        }
    }
    return true;
}

bool ef_domain_restore_standard(ef_domain *domain, int exponent, ef_spreads *spreads,
                                uint64_t seed) {
    if (!take_memory(domain, spreads->map.n_columns)) {
        ef_spreads_free(spreads);
        return false;
    }
    ef_spreads_place(spreads, seed);
    domain->scale = EFFACE_SCALE_STANDARD;
    domain->exponent = exponent;
    domain->spreads = spreads;
    for (uint32_t j = 0; j < domain->map.n_columns; j++) {
        domain->low[j] = spreads->centres[j];
        domain->step[j] = step_of_unit(spreads->units[j], exponent);
    }
    return true;
}

bool ef_domain_same_map(const ef_domain *a, const ef_domain *b) {
    const size_t n_bytes = a->map.n_columns * sizeof *a->low;
    return memcmp(a->low, b->low, n_bytes) == 0 && memcmp(a->high, b->high, n_bytes) == 0 &&
           memcmp(a->step, b->step, n_bytes) == 0;
}

void ef_domain_free(ef_domain *domain) {
    ef_spreads_free(domain->spreads);
    ef_free(domain->block);
    ef_free(domain->coarse);
    *domain = (ef_domain){.scale = EFFACE_SCALE_NONE};
}

bool ef_domain_holds(const ef_domain *domain, const float *row) {
    bool inside = true;
    if (domain->scale == EFFACE_SCALE_NONE) {
        const float bound = ef_power_of_two_float(domain->exponent);
        for (uint32_t j = 0; j < domain->map.n_columns; j++)
            inside &= row[j] >= -bound && row[j] <= bound;
    } else if (domain->scale == EFFACE_SCALE_STANDARD) {
        for (uint32_t j = 0; j < domain->map.n_columns; j++)
            inside &= is_on_grid(row[j], domain->low[j], domain->step[j]);
    } else {
        for (uint32_t j = 0; j < domain->map.n_columns; j++)
            inside &= row[j] >= domain->low[j] && row[j] <= domain->high[j];
    }
    return inside;
}

void ef_domain_coordinates(const ef_domain *domain, const int32_t *point, double *coordinates) {
    const ef_map *const map = &domain->map;
    for (uint32_t j = 0; j < map->n_columns; j++) {
        const double step = (double)map->step[j];
        coordinates[j] = (double)map->low[j] + (step > 0.0 ? (double)point[j] / step : 0.0);
    }
}

double ef_domain_square_unit(const ef_domain *domain) {
    return ef_power_of_two(2 * (domain->exponent - EF_GRID_BITS));
}
