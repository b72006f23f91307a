/* What rounding to float32 does to the values of columns. */
#include "data/units/rounding.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <inttypes.h>

/* A float32 has 24 bits. Where the error is above this part of the spread, less than 16 of them
 * tell the values of a column apart, and a third is spent on what they have in common. */
#define WORST_PART (1.0 / 65536)

/* Where whole numbers are changed, an offset is worth its while if it gives back two bits. */
#define WORST_WHOLE 0.5
#define FAR 4.0

/* Of a column with one value: so many steps of float32 are taken for its spread. */
#define OF_ONE_VALUE 256.0

/* So that a proposal is a round number also where doubles barely tell the values apart. */
#define MAX_STEPS 1099511627776.0 /* 2^40 */

efface_status efface_rounding_create(efface_rounding **out, efface_error *error) {
    if (out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "out must not be NULL");
    efface_rounding *const rounding = ef_alloc_zero(1, sizeof *rounding);
    if (rounding == NULL)
        return ef_fail_memory(error);
    *out = rounding;
    return EFFACE_OK;
}

void ef_rounding_clear(efface_rounding *r) {
    ef_free(r->least);
    ef_free(r->most);
    ef_free(r->shift);
    ef_free(r->worst);
    ef_free(r->n_vanished);
    *r = (efface_rounding){.n_columns = 0};
}

void efface_rounding_free(efface_rounding *rounding) {
    if (rounding == NULL)
        return;
    ef_rounding_clear(rounding);
    ef_free(rounding);
}

void ef_rounding_move(efface_rounding *to, efface_rounding *from) {
    ef_rounding_clear(to);
    *to = *from;
    *from = (efface_rounding){.n_columns = 0};
}

static efface_status begin_rounding(efface_rounding *r, uint32_t n_columns, efface_error *error) {
    if (r->n_columns == n_columns)
        return EFFACE_OK;
    if (r->n_columns != 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the rows have %" PRIu32 " columns, but the rows before had %" PRIu32,
                       n_columns, r->n_columns);
    efface_rounding made = {
        .n_columns = n_columns,
        .least = ef_alloc_zero(n_columns, sizeof *r->least),
        .most = ef_alloc_zero(n_columns, sizeof *r->most),
        .shift = ef_alloc_zero(n_columns, sizeof *r->shift),
        .worst = ef_alloc_zero(n_columns, sizeof *r->worst),
        .n_vanished = ef_alloc_zero(n_columns, sizeof *r->n_vanished),
    };
    if (made.least == NULL || made.most == NULL || made.shift == NULL || made.worst == NULL ||
        made.n_vanished == NULL) {
        ef_rounding_clear(&made);
        return ef_fail_memory(error);
    }
    *r = made;
    return EFFACE_OK;
}

/* After the first rows there is hardly ever anything to write. Missing values (NaN) are passed
 * over: comparisons with them are false. */
static void look_rounding(efface_rounding *r, const double *values) {
    for (uint32_t j = 0; j < r->n_columns; j++) {
        const double x = values[j], y = x - r->shift[j];
        const double error = y - (double)ef_round_value(x, r->shift[j]);
        const double size = error < 0 ? -error : error;
        if (x < r->least[j])
            r->least[j] = x;
        if (x > r->most[j])
            r->most[j] = x;
        if (size > r->worst[j])
            r->worst[j] = size;
        if (y != 0.0 && error == y)
            r->n_vanished[j]++;
    }
}

efface_status efface_rounding_add(efface_rounding *rounding, size_t n_rows, uint32_t n_columns,
                                  const double *values, size_t stride, const double *offsets,
                                  efface_error *error) {
    if (rounding == NULL || (values == NULL && n_rows != 0) || n_columns == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT, "rounding and values must not be NULL");
    const efface_status status = begin_rounding(rounding, n_columns, error);
    if (status != EFFACE_OK || n_rows == 0)
        return status;
    for (uint32_t j = 0; j < n_columns; j++) {
        rounding->shift[j] = offsets != NULL ? offsets[j] : 0.0;
        if (!rounding->any) { /* the wrong way round, until there is a value */
            rounding->least[j] = __builtin_inf();
            rounding->most[j] = -__builtin_inf();
        }
    }
    rounding->any = true;
    for (size_t i = 0; i < n_rows; i++)
        look_rounding(rounding, values + i * (stride != 0 ? stride : n_columns));
    return EFFACE_OK;
}

uint32_t efface_rounding_n_columns(const efface_rounding *rounding) {
    return rounding->n_columns;
}

/* The smallest power of two that is not below a positive number. */
static double power_of_two(double x) {
    double power = 1.0;
    while (power < x)
        power *= 2.0;
    while (power / 2.0 >= x)
        power /= 2.0;
    return power;
}

/* The middle of a column, rounded to a multiple of a power of two of at least the spread. */
static double propose(double least, double spread) {
    double power = power_of_two(spread), middle = (least + spread / 2.0) / power;
    while (middle > MAX_STEPS || middle < -MAX_STEPS) {
        middle /= 2.0;
        power *= 2.0;
    }
    return (double)(int64_t)(middle + (middle < 0 ? -0.5 : 0.5)) * power;
}

efface_column_rounding efface_rounding_column(const efface_rounding *r, uint32_t column) {
    efface_column_rounding found = {.collapses = 0};
    if (column >= r->n_columns || !r->any || r->least[column] > r->most[column])
        return found;
    const double least = r->least[column], most = r->most[column], spread = most - least;
    const double low = least - r->shift[column], high = most - r->shift[column];
    const double size = -low > high ? -low : high;
    const double worst = r->worst[column];
    if (!(spread <= 2.0 * EFFACE_MAX_MAGNITUDE) || (spread == 0.0 && worst < WORST_WHOLE))
        return (efface_column_rounding){.n_vanished = r->n_vanished[column]};
    const bool far = size >= FAR * spread;
    found.collapses = worst > spread * WORST_PART || (worst >= WORST_WHOLE && far);
    found.n_vanished = r->n_vanished[column];
    found.step = power_of_two(size) / 16777216.0; /* 2^24 */
    found.spread = spread;
    /* Around a single value there is room for others. */
    const double width = spread > 0.0 ? spread : OF_ONE_VALUE * found.step;
    found.offset = found.collapses && far ? propose(least, width) : 0.0;
    return found;
}
