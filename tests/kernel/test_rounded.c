/*
 * Scores by short integers (centers.h, "Rounding") in plain C, for words and for limbs, on whatever
 * processor: they are within the bound, and come near it. And tables that round believe no score
 * that the bound does not allow.
 */
#include "kernel/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "base/workers/cpu.h"
#include "efface/efface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 1200
#define MOST_CLUSTERS 80

static const ef_rounding_form forms[] = {EF_WORDS, EF_LIMBS};

static int32_t grid[MOST_CLUSTERS * MOST_COLUMNS];
static int32_t row[MOST_COLUMNS]; /* on the grid */
static uint64_t drawn;

static int32_t draw(int32_t most) {
    const uint32_t n = 2 * (uint32_t)most + 1;
    return (int32_t)ef_tape_below(ef_tape(12, EF_TAPE_GAUSSIAN, 0, drawn++, 0), n) - most;
}

/* ---------------------------------------------------------------- the model */

/* Column j of a cluster, read from the tiles. */
static int32_t rounded_center(const ef_centers *centers, ef_rounding_form form, uint32_t c,
                              uint32_t j) {
    const size_t columns = ef_rounded_columns(form), size = EF_ROUNDED_BYTES / columns;
    const size_t n_tiles = ef_rounded_tiles(centers->n_columns, form);
    const size_t tile = c / EF_ROUNDED_ROWS * n_tiles + j / columns;
    const int8_t *const at = centers->rounded +
                             tile * (size_t)form * EF_ROUNDED_ROWS * EF_ROUNDED_BYTES +
                             c % EF_ROUNDED_ROWS * EF_ROUNDED_BYTES + j % columns * size;
    if (form == EF_WORDS) {
        int16_t word;
        memcpy(&word, at, sizeof word);
        return word;
    }
    const int32_t low = at[0], high = at[EF_ROUNDED_ROWS * EF_ROUNDED_BYTES];
    assert_in_range(low + 64, 0, 128);
    assert_in_range(high + 64, 0, 128);
    assert_int_equal(at[2 * EF_ROUNDED_ROWS * EF_ROUNDED_BYTES], low + high);
    return low + 128 * high;
}

/* t, in the operations of the kernels. */
static float row_scale(const float *origin, uint32_t d, ef_rounding_form form) {
    float square = 1.0F, most = 1.0F;
    for (uint32_t j = 0; j < d; j++) {
        const float y = (float)row[j] - origin[j], y2 = y * y;
        square = square + y2;
        most = y2 > most ? y2 : most;
    }
    const float limit = form == EF_WORDS ? EF_MOST_WORD : EF_MOST_LIMBS;
    const float by_norm = (float)EF_MOST_ROUNDED / sqrtf(square), by_most = limit / sqrtf(most);
    return by_norm < by_most ? by_norm : by_most;
}

typedef struct model {
    double error[MOST_CLUSTERS]; /* of each score */
    double bound;
} model;

static model score_all(const ef_centers *centers, ef_rounding_form form) {
    const uint32_t d = centers->n_columns;
    model m;
    double square = 0.0, left2 = 0.0;
    int32_t a[MOST_COLUMNS];
    const float scale = row_scale(centers->origin, d, form);
    for (uint32_t j = 0; j < d; j++) {
        const float y = (float)row[j] - centers->origin[j], scaled = y * scale;
        a[j] = (int32_t)rintf(scaled);
        assert_in_range(a[j] + EF_MOST_WORD, 0, 2 * EF_MOST_WORD);
        const double left = (double)y - (double)a[j] / (double)scale;
        square += (double)y * (double)y;
        left2 += left * left;
    }
    const double part = sqrt(square) + sqrt(left2);
    m.bound = (double)centers->rounded_part * part + (double)centers->rounded_rest * sqrt(left2) +
              (double)centers->rounded_bias;
    for (uint32_t c = 0; c < centers->n_clusters; c++) {
        int64_t products = 0, magnitudes = 0;
        double dot = 0.0;
        for (uint32_t j = 0; j < d; j++) {
            const int32_t b = rounded_center(centers, form, c, j);
            const double v = (double)grid[(size_t)c * d + j] - (double)centers->origin[j];
            products += (int64_t)a[j] * b;
            magnitudes += llabs((int64_t)a[j] * b);
            dot += ((double)row[j] - (double)centers->origin[j]) * v;
        }
        assert_true(magnitudes <= INT32_MAX);
        m.error[c] = 2.0 * dot - (double)products * (double)centers->rounded_step / (double)scale;
    }
    return m;
}

static ef_centers make_centers(uint32_t d, uint32_t k, ef_rounding_form form) {
    ef_centers centers;
    assert_true(ef_centers_init(&centers, grid, k, d, EF_MOST_TILE));
    assert_true(ef_centers_round(&centers, form));
    assert_non_null(centers.rounded);
    return centers;
}

/* ---------------------------------------------------------------- tests */

/* Rows and centers of all sizes, one column of which may be far wider than the others. */
static void scores_are_within_the_bound(void **state) {
    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        const ef_rounding_form form = forms[round % 2];
        const uint32_t d = 64 + (uint32_t)(draw(100) + 100), k = 64 + (uint32_t)(draw(8) + 8);
        const int32_t center_size = 1 << (draw(11) + 12), row_size = 1 << (draw(11) + 12);
        for (size_t at = 0; at < (size_t)k * d; at++)
            grid[at] = draw(round % 3 == 0 && at % d != 0 ? center_size / 512 : center_size);
        for (uint32_t j = 0; j < d; j++)
            row[j] = draw(round % 3 == 1 && j != 5 ? row_size / 512 : row_size);
        ef_centers centers = make_centers(d, k, form);
        const model m = score_all(&centers, form);
        for (uint32_t c = 0; c < k; c++)
            if (!(fabs(m.error[c]) <= m.bound))
                fail_msg("a score is off by %g, not %g", m.error[c], m.bound);
        ef_centers_free(&centers);
    }
}

static void few_are_not_rounded(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = {{200, 63}, {31, 64}, {1, 80}};
    for (size_t i = 0; i < 3; i++)
        for (size_t f = 0; f < 2; f++) {
            ef_centers centers;
            assert_true(ef_centers_init(&centers, grid, sizes[i][1], sizes[i][0], EF_MOST_TILE));
            assert_true(ef_centers_round(&centers, forms[f]));
            assert_null(centers.rounded);
            ef_centers_free(&centers);
        }
}

/* What goes as far wrong as it can. The rest of the row is parallel to the difference of two
 * centers, those of the centers are parallel to the row, one each way, and all of them are almost
 * half a unit in every column but three: the first of those makes |y| what it has to be, the second
 * |V|, and the third decides which center is nearer. Other centers are as far from the mean, but
 * not as near; 2 and 3 are far from all others. */
#define CLUSTERS 64
#define HALF 0.47

static const double t = 0.005, unit = 300.0; /* 1 / T */

static int64_t distance_to(uint32_t c, uint32_t d) {
    int64_t distance = 0;
    for (uint32_t j = 0; j < d; j++) {
        const int64_t difference = row[j] - (int64_t)grid[(size_t)c * d + j];
        distance += difference * difference;
    }
    return distance;
}

/* Changes one of `values` so that their norm becomes `wanted`. */
static void fill_norm(int32_t *values, uint32_t d, uint32_t at, double wanted) {
    double square = 0.0;
    for (uint32_t j = 0; j < d; j++)
        square += j != at ? (double)values[j] * (double)values[j] : 0.0;
    assert_true(square < wanted * wanted);
    values[at] = (int32_t)sqrt(wanted * wanted - square);
}

/* Center `nearer` is nearer by a hair, and 1 - nearer seems to be. Returns how many columns. */
static uint32_t make_worst(uint32_t nearer) {
    uint32_t n = 100; /* so that |a_j| is a little more than a whole number and a half */
    double size = EF_MOST_ROUNDED / sqrt((double)n);
    for (; size - floor(size) < 0.54 || size - floor(size) > 0.58;
         size = EF_MOST_ROUNDED / sqrt((double)n))
        n += 4;
    size = floor(size);
    const uint32_t d = n + 3;
    assert_true(d <= MOST_COLUMNS);
    int32_t *const near = grid + (size_t)nearer * d, *const far = grid + (size_t)(1 - nearer) * d;
    memset(grid, 0, sizeof grid);
    memset(row, 0, sizeof row);
    for (uint32_t j = 0; j < n; j++) {
        const double s = j % 2 == 0 ? 1.0 : -1.0, b = j / 2 % 2 == 0 ? 1.0 : -1.0;
        const double whole = s == b ? size : size + 1.0; /* |y_j| is half a unit above or below */
        row[j] = (int32_t)lrint((s * whole + b * HALF) / t);
        near[j] = (int32_t)lrint((b * whole + s * 4.0 + s * HALF) * unit);
        far[j] = (int32_t)lrint((-b * whole + s * 4.0 - s * HALF) * unit);
        for (uint32_t c = 2; c < CLUSTERS; c++) { /* the mean becomes 0 */
            const double sign = (c % 2 == 0 ? 1.0 : -1.0) * (c < 4 && j / 4 % 2 == 0 ? -b : b);
            grid[(size_t)c * d + j] = (int32_t)lrint(sign * size * unit) -
                                      (int32_t)lrint(s * 8.0 * unit / (CLUSTERS - 2));
        }
    }
    float origin[MOST_COLUMNS] = {0.0F};
    double norm = EF_MOST_ROUNDED / t;
    for (int time = 0; time < 4; time++) {
        fill_norm(row, d, n, norm);
        norm *= (double)row_scale(origin, d, EF_WORDS) / t; /* which is added up in float32 */
        fill_norm(near, d, n + 1, EF_MOST_ROUNDED * unit);
        fill_norm(far, d, n + 1, EF_MOST_ROUNDED * unit);
        far[n + 1] = -far[n + 1];
        const double more = 1.0 +
                            (double)(distance_to(nearer, d) - distance_to(1 - nearer, d)) / 4.0 +
                            (double)row[n + 2] * (double)near[n + 2];
        row[n + 2] = (int32_t)sqrt(more);
        near[n + 2] = (int32_t)(1.01 * more / (double)row[n + 2]);
        far[n + 2] = -near[n + 2];
    }
    fill_norm(row, d, n, norm);
    assert_true(distance_to(nearer, d) < distance_to(1 - nearer, d));
    return d;
}

/* So a bound that is a tenth smaller would be none. */
static void the_bound_is_come_near_to(void **state) {
    (void)state;
    for (size_t f = 0; f < 2; f++)
        for (uint32_t nearer = 0; nearer < 2; nearer++) {
            const uint32_t d = make_worst(nearer);
            ef_centers centers = make_centers(d, CLUSTERS, forms[f]);
            const model m = score_all(&centers, forms[f]);
            const double wrong = m.error[nearer] - m.error[1 - nearer];
            if (!(wrong <= 2.0 * m.bound && wrong >= 0.95 * 2.0 * m.bound))
                fail_msg("off by %g, of %g", wrong, 2.0 * m.bound);
            ef_centers_free(&centers);
        }
}

static void tables_know_the_bound(void **state) {
    (void)state;
    for (const char *const *name = ef_kernels_names(); *name != NULL; name++) {
        const ef_kernels *const table = ef_kernels_find(*name);
        for (uint32_t nearer = 0; table != NULL && nearer < 2; nearer++) {
            const uint32_t d = make_worst(nearer);
            float *const low = calloc(d, sizeof *low), *const step = calloc(d, sizeof *step);
            float *const values = ef_alloc_aligned((size_t)EF_PANEL * d, sizeof *values);
            float *const room = ef_alloc_aligned(ef_assign_room(CLUSTERS, d), sizeof *room);
            assert_true(low != NULL && step != NULL && values != NULL && room != NULL);
            for (uint32_t j = 0; j < d; j++) {
                step[j] = EF_GRID_MAX;
                for (size_t i = 0; i < EF_PANEL; i++) /* all but the first are center 2 */
                    values[(size_t)j * EF_PANEL + i] =
                        (float)(i == 0 ? row[j] : grid[2 * (size_t)d + j]) / EF_GRID_MAX;
            }
            const ef_map map = {d, low, step};
            const uint32_t labels[EF_PANEL] = {0};
            uint32_t nearest[EF_PANEL];
            ef_centers centers;
            assert_true(ef_centers_init(&centers, grid, CLUSTERS, d, table->tile));
            assert_true(ef_centers_round(&centers, table->rounds_to));
            const unsigned n_open = table->assign(&centers, &map, values, EF_PANEL, labels, room,
                                                  nearest, NULL, NULL, NULL);
            if (nearest[0] != nearer)
                fail_msg("%s: center %u, not %u", table->name, nearest[0], nearer);
            for (size_t i = 1; i < EF_PANEL; i++)
                assert_int_equal(nearest[i], 2);
            assert_int_equal(n_open, table == &ef_kernels_ref ? EF_PANEL : 1);
            ef_centers_free(&centers);
            free(low);
            free(step);
            ef_free(values);
            ef_free(room);
        }
    }
}

/* One column is so wide that all the others round to 0: integers would have to decide among all
 * clusters, so floats do. */
static void floats_decide_if_too_much_is_rounded(void **state) {
    (void)state;
    enum { COLUMNS = 64, K = 80 };
    float low[COLUMNS] = {0.0F}, step[COLUMNS];
    float *const values = ef_alloc_aligned((size_t)EF_PANEL * COLUMNS, sizeof *values);
    float *const room = ef_alloc_aligned(ef_assign_room(K, COLUMNS), sizeof *room);
    assert_true(values != NULL && room != NULL);
    for (size_t at = 0; at < (size_t)K * COLUMNS; at++)
        grid[at] = at % COLUMNS == 0 ? draw(1) : draw(1000);
    for (uint32_t j = 0; j < COLUMNS; j++) {
        step[j] = EF_GRID_MAX;
        for (size_t i = 0; i < EF_PANEL; i++)
            values[j * EF_PANEL + i] =
                (float)(j == 0 ? EF_GRID_MAX - (int32_t)i : grid[i * COLUMNS + j]) / EF_GRID_MAX;
    }
    const ef_map map = {COLUMNS, low, step};
    const uint32_t labels[EF_PANEL] = {0};
    for (const char *const *name = ef_kernels_names(); *name != NULL; name++) {
        const ef_kernels *const table = ef_kernels_find(*name);
        if (table == NULL || table->rounds_to == EF_NOT_ROUNDED)
            continue;
        uint32_t rounded[EF_PANEL], plain[EF_PANEL];
        ef_centers centers;
        assert_true(ef_centers_init(&centers, grid, K, COLUMNS, table->tile));
        const unsigned n_open =
            table->assign(&centers, &map, values, EF_PANEL, labels, room, plain, NULL, NULL, NULL);
        assert_true(ef_centers_round(&centers, table->rounds_to));
        assert_int_equal(table->assign(&centers, &map, values, EF_PANEL, labels, room, rounded,
                                       NULL, NULL, NULL),
                         n_open);
        assert_memory_equal(rounded, plain, sizeof plain);
        ef_centers_free(&centers);
    }
    ef_free(values);
    ef_free(room);
}

/* Tests have the tiles in plain C wherever they can have them. */
static void tables_are_all_here(void **state) {
    (void)state;
    const bool has_avx512 = ef_kernels_find("avx512") != NULL;
    assert_int_equal(ef_kernels_find("vnni") != NULL, has_avx512 && ef_cpu_has_vnni());
    assert_int_equal(ef_kernels_find("amx_plain") != NULL, has_avx512);
    assert_true(ef_kernels_get() == NULL || getenv("EFFACE_KERNELS") != NULL ||
                strcmp(ef_kernels_get()->name, "amx_plain") != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_within_the_bound),
        cmocka_unit_test(few_are_not_rounded),
        cmocka_unit_test(the_bound_is_come_near_to),
        cmocka_unit_test(tables_know_the_bound),
        cmocka_unit_test(floats_decide_if_too_much_is_rounded),
        cmocka_unit_test(tables_are_all_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
