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
                             efface_error *error) {
    if (!take_memory(domain, counts->n_columns))
        return ef_fail_memory(error);
    domain->scale = bounds.scale;
    const efface_status status = bounds.scale == EFFACE_SCALE_NONE
                                     ? use_bound(domain, counts, &bounds, error)
                                     : use_ranges(domain, counts, &bounds, error);
    if (status == EFFACE_OK)
        note_coarse(domain, counts, bounds.ignored);
    else
        ef_domain_free(domain);
    return status;
}

efface_status ef_domain_of(ef_domain *domain, const efface_data *data, ef_bounds bounds,
                           efface_error *error) {
    if (!ef_data_whole(data)->ranges.any_stale)
        return ef_domain_init(domain, ef_data_whole(data), bounds, error);
    ef_counts counts;
    if (!ef_data_count(data, &counts))
        return ef_fail_memory(error);
    const efface_status status = ef_domain_init(domain, &counts, bounds, error);
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
        } else if (!is_ignored(ignored, j)) {
            domain->step[j] = ef_step_bound(exponent);
        }
    }
    return true;
}

void ef_domain_free(ef_domain *domain) {
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
