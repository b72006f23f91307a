/* Spreads of columns: sums, and what follows from them. */
#include "model/exact/spreads.h"

#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "base/numbers/elementary.h"
#include "base/random/tape.h"
#include "model/exact/summing.h"

#include <string.h>

#define UNITS_A_CENTRE 4.0                /* from one place for a centre to the next */
#define SMALLEST 0x1p-100                 /* of a unit, and of a centre that is not 0 */
#define TWO_BY_LOG_2 0x1.71547652b82fep+1 /* from a variance: four steps of a deviation an octave */
#define LOG_2_BY_FOUR 0x1.62e42fefa39efp-3 /* and back */

/* ---------------------------------------------------------------- life */

ef_spreads *ef_spreads_create(uint32_t d) {
    ef_spreads *const s = ef_alloc_zero(1, sizeof *s);
    if (s == NULL)
        return NULL;
    const ef_array arrays[] = {
        {&s->units, d, sizeof *s->units},     {&s->exponents, d, sizeof *s->exponents},
        {&s->centres, d, sizeof *s->centres}, {&s->low, d, sizeof *s->low},
        {&s->step, d, sizeof *s->step},       {&s->point, d, sizeof *s->point},
    };
    s->block = EF_ARRAYS_TAKE(arrays, true);
    if (s->block == NULL || !ef_moments_init(&s->moments, d, EFFACE_SUMMED_DIAGONAL)) {
        ef_spreads_free(s);
        return NULL;
    }
    s->map = (ef_map){.n_columns = d, .low = s->low, .step = s->step};
    return s;
}

void ef_spreads_free(ef_spreads *s) {
    if (s == NULL)
        return;
    ef_moments_free(&s->moments);
    ef_free(s->block);
    ef_free(s);
}

ef_spreads *ef_spreads_copy(const ef_spreads *from) {
    const size_t d = from->map.n_columns;
    ef_spreads *const s = ef_spreads_create(from->map.n_columns);
    if (s == NULL)
        return NULL;
    memcpy(s->exponents, from->exponents, d * sizeof *s->exponents);
    memcpy(s->step, from->step, d * sizeof *s->step);
    ef_moments_add(&s->moments, &from->moments);
    return s;
}

size_t ef_spreads_bytes(const ef_spreads *s) {
    return sizeof *s + ef_moments_bytes(&s->moments) +
           s->map.n_columns * (sizeof *s->units + sizeof *s->exponents + sizeof *s->centres +
                               sizeof *s->low + sizeof *s->step + sizeof *s->point);
}

bool ef_spreads_equal(const ef_spreads *a, const ef_spreads *b) {
    const size_t d = a->map.n_columns;
    uint32_t j, l;
    return d == b->map.n_columns &&
           memcmp(a->exponents, b->exponents, d * sizeof *a->exponents) == 0 &&
           !ef_moments_differ(&a->moments, &b->moments, &j, &l);
}

/* ---------------------------------------------------------------- sums */

static int32_t exponent_of_column(const ef_counts *counts, const bool *ignored, uint32_t column) {
    const float least = ef_counts_least(counts, column), most = ef_counts_most(counts, column);
    return ignored != NULL && ignored[column] ? EF_EXPONENT_MIN
                                              : ef_exponent(-least > most ? -least : most);
}

static void set_steps(ef_spreads *s, const bool *ignored) {
    for (uint32_t j = 0; j < s->map.n_columns; j++)
        s->step[j] = ignored != NULL && ignored[j] ? 0.0F : ef_step_bound(s->exponents[j]);
}

void ef_spreads_set(ef_spreads *s, const ef_counts *counts, const bool *ignored) {
    for (uint32_t j = 0; j < s->map.n_columns; j++)
        s->exponents[j] = exponent_of_column(counts, ignored, j);
    set_steps(s, ignored);
}

bool ef_spreads_stand(const ef_spreads *s, const ef_counts *counts, const bool *ignored) {
    for (uint32_t j = 0; j < s->map.n_columns; j++)
        if (s->exponents[j] != exponent_of_column(counts, ignored, j))
            return false;
    return true;
}

/* What makes points of rows. */
typedef struct snapping {
    const ef_map *map;
    const ef_kernels *kernels;
} snapping;

static void snap_panel(const void *context, const float *values, unsigned n_rows, float *points) {
    const snapping *const by = context;
    by->kernels->snap(by->map, values, n_rows, points);
}

efface_status ef_spreads_add(ef_spreads *s, const efface_data *data, unsigned n_threads,
                             ef_interrupt interrupt, efface_error *error) {
    snapping by = {.map = &s->map};
    const efface_status status = ef_kernels_require(&by.kernels, error);
    if (status != EFFACE_OK)
        return status;
    const ef_summing summing = {.data = data,
                                .points = {s->map.n_columns, &by, snap_panel},
                                .groups = &s->moments,
                                .n_groups = 1,
                                .n_threads = n_threads,
                                .interrupt = interrupt};
    return ef_sum_up(&summing, error);
}

void ef_spreads_change(ef_spreads *s, const float *row, int64_t weight) {
    for (uint32_t j = 0; j < s->map.n_columns; j++)
        s->point[j] = ef_snap(row[(size_t)j * EF_PANEL], 0.0F, s->step[j]);
    ef_moments_add_row(&s->moments, s->point, weight);
}

/* ---------------------------------------------------------------- units and centres */

/* The largest whole number that is not above x. */
static double floor_of(double x) {
    if (!(x > -0x1p52 && x < 0x1p52))
        return x; /* it is whole */
    const double towards_zero = (double)(int64_t)x;
    return towards_zero > x ? towards_zero - 1.0 : towards_zero;
}

/* A place on the lattice of places `pitch` apart, the nearest to x. */
static float place_centre(double x, double pitch, double phase) {
    const double number = floor_of((x / pitch - phase) + 0.5);
    const double centre = (number + phase) * pitch;
    return centre < SMALLEST && centre > -SMALLEST ? 0.0F : (float)centre;
}

void ef_spreads_place(ef_spreads *s, uint64_t seed) {
    const ef_moments *const m = &s->moments;
    const double weight = (double)m->weight;
    for (uint32_t j = 0; j < s->map.n_columns; j++) {
        const double grid = ef_power_of_two(s->exponents[j] - EF_GRID_BITS);
        const ef_i128 centred = ef_moments_centred(m, j, j);
        s->units[j] = 0.0;
        if (centred <= 0) { /* all values are S / N, which is whole */
            s->centres[j] = m->weight > 0 ? (float)((double)(m->sums[j] / m->weight) * grid) : 0.0F;
            continue;
        }
        const double width_phase = ef_tape_unit(ef_tape(seed, EF_TAPE_COLUMN, 0, j, 0));
        const double centre_phase = ef_tape_unit(ef_tape(seed, EF_TAPE_COLUMN, 0, j, 1));
        /* The logarithm of the deviation, in steps. */
        const double steps = ef_log(ef_i128_to_double(centred) / (weight * weight)) * TWO_BY_LOG_2;
        const double number = floor_of(steps + width_phase);
        const double width = ef_exp(((number + 0.5) - width_phase) * LOG_2_BY_FOUR) * grid;
        s->centres[j] =
            place_centre((double)m->sums[j] / weight * grid, UNITS_A_CENTRE * width, centre_phase);
        s->units[j] = width >= SMALLEST ? 1.0 / width : 0.0;
    }
}

/* ---------------------------------------------------------------- bytes */

#define BYTES_A_COLUMN 28

void ef_spreads_write(ef_writer *w, const ef_spreads *s) {
    for (uint32_t j = 0; j < s->map.n_columns; j++) {
        ef_write_u32(w, (uint32_t)s->exponents[j]);
        ef_write_u64(w, (uint64_t)s->moments.sums[j]);
        ef_write_i128(w, s->moments.products[j]);
    }
}

/* Whether rows of this weight can have these sums. */
static bool can_be(int64_t sum, ef_i128 squares, int64_t weight) {
    const ef_i128 most = (ef_i128)EF_GRID_MAX * weight;
    return sum <= most && sum >= -most && squares >= 0 && squares <= EF_GRID_MAX * most &&
           (ef_u128)((ef_i128)sum * sum) <= (ef_u128)weight * (ef_u128)squares;
}

ef_spreads *ef_spreads_read(ef_decoder *r, uint32_t d, int64_t weight, const bool *ignored,
                            bool *short_of_memory) {
    const bool has_all = ef_decoder_has(r, d, BYTES_A_COLUMN);
    ef_spreads *const s = has_all ? ef_spreads_create(d) : NULL;
    bool ok = s != NULL;
    *short_of_memory = has_all && s == NULL;
    for (uint32_t j = 0; ok && j < d; j++) {
        s->exponents[j] = (int32_t)ef_read_u32(r);
        s->moments.sums[j] = (int64_t)ef_read_u64(r);
        s->moments.products[j] = ef_read_i128(r);
        ok = s->exponents[j] >= EF_EXPONENT_MIN && s->exponents[j] <= EF_EXPONENT_MAX &&
             can_be(s->moments.sums[j], s->moments.products[j], weight);
    }
    if (ok) {
        s->moments.weight = weight;
        set_steps(s, ignored);
        return s;
    }
    ef_spreads_free(s);
    return NULL;
}
