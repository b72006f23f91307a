/* Sums of products of strips, by every kernel table, are those of integers: for all numbers of
 * rows, up to the largest sums there can be, and in buffers that end where memory ends. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "kernel/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random/tape.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_TABLES 8

static const ef_kernels *tables[MOST_TABLES]; /* usable here */
static size_t n_tables;

static uint64_t drawn;

static uint64_t draw(void) {
    return ef_tape(8, EF_TAPE_GAUSSIAN, 0, drawn++, 0);
}

static uint32_t below(uint32_t limit) {
    return (uint32_t)ef_tape_below(draw(), limit);
}

/* ---------------------------------------------------------------- memory that ends */

typedef struct guarded {
    unsigned char *map;
    size_t n_bytes; /* of the map, the guard page included */
} guarded;

/* n_bytes of memory right before a page that may not be touched. */
static void *guarded_alloc(guarded *g, size_t n_bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (n_bytes + page - 1) / page * page;
    g->n_bytes = room + page;
    g->map = mmap(NULL, g->n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(g->map, MAP_FAILED);
    assert_int_equal(mprotect(g->map + room, page, PROT_NONE), 0);
    return g->map + room - n_bytes;
}

static void guarded_free(guarded *g) {
    munmap(g->map, g->n_bytes);
}

/* ---------------------------------------------------------------- products */

/* Grid points anywhere; all the largest there are, of signs that are the columns'; or next to
 * those, so that large sums have every bit. */
typedef enum spread { ANYWHERE, LARGEST, NEXT_TO_LARGEST, N_SPREADS } spread;

static int32_t draw_point(spread s, bool negative) {
    if (s == ANYWHERE)
        return (int32_t)below(2 * EF_GRID_MAX + 1) - EF_GRID_MAX;
    const int32_t magnitude = EF_GRID_MAX - (int32_t)(s == NEXT_TO_LARGEST ? below(2) : 0);
    return negative ? -magnitude : magnitude;
}

static void draw_strip(spread s, unsigned n_rows, double *strip) {
    const uint32_t signs = below(1u << EF_STRIP);
    for (size_t r = 0; r < n_rows; r++)
        for (unsigned c = 0; c < EF_STRIP; c++)
            strip[r * EF_STRIP + c] = draw_point(s, (signs >> c & 1) != 0);
}

/* One strip with n_strips others, or with the last of them if it is `same`. */
static void check_products(unsigned n_strips, unsigned n_rows, size_t stride, spread s, bool same) {
    guarded memory[3];
    const size_t n_sums = (EF_STRIP - 1) * stride + (size_t)n_strips * EF_STRIP;
    const size_t strip_doubles = ((size_t)n_rows + below(9)) * EF_STRIP;
    const size_t n_doubles = (n_strips - 1) * strip_doubles + (size_t)n_rows * EF_STRIP;
    double *const other = guarded_alloc(&memory[0], (size_t)n_rows * EF_STRIP * sizeof *other);
    double *const b = guarded_alloc(&memory[1], n_doubles * sizeof *b);
    int64_t *const got = guarded_alloc(&memory[2], n_sums * sizeof *got);
    draw_strip(s, n_rows, other);
    for (size_t i = 0; i < n_strips; i++)
        draw_strip(s, n_rows, b + i * strip_doubles);
    const double *const a = same ? b + (n_strips - 1) * strip_doubles : other;

    int64_t *const before = calloc(n_sums, sizeof *before);
    int64_t *const wanted = calloc(n_sums, sizeof *wanted);
    assert_non_null(before);
    assert_non_null(wanted);
    for (size_t i = 0; i < n_sums; i++)
        before[i] = wanted[i] = (int64_t)(draw() >> 2) - (INT64_C(1) << 61);
    for (size_t r = 0; r < n_rows; r++)
        for (unsigned i = 0; i < EF_STRIP; i++)
            for (unsigned l = 0; l < n_strips * EF_STRIP; l++) {
                const double *const strip = b + l / EF_STRIP * strip_doubles;
                wanted[i * stride + l] +=
                    (int64_t)a[r * EF_STRIP + i] * (int64_t)strip[r * EF_STRIP + l % EF_STRIP];
            }

    for (size_t t = 0; t < n_tables; t++) {
        memcpy(got, before, n_sums * sizeof *got);
        tables[t]->add_products(a, b, strip_doubles, n_strips, n_rows, got, stride);
        if (memcmp(got, wanted, n_sums * sizeof *got) != 0)
            fail_msg("sums of products of %s: %u strips, %u rows, stride %zu, spread %d",
                     tables[t]->name, n_strips, n_rows, stride, (int)s);
    }
    free(before);
    free(wanted);
    for (int i = 0; i < 3; i++)
        guarded_free(&memory[i]);
}

static void sums_of_products_are_those_of_integers(void **state) {
    (void)state;
    for (unsigned n_rows = 1; n_rows <= EF_STRIP_ROWS; n_rows++)
        for (int s = 0; s < N_SPREADS; s++) {
            const unsigned n_strips = 1 + below(9);
            const size_t n_columns = (size_t)n_strips * EF_STRIP;
            check_products(1, n_rows, EF_STRIP, (spread)s, false);
            check_products(n_strips, n_rows, n_columns + below(50), (spread)s, false);
            check_products(n_strips, n_rows, n_columns + below(50), (spread)s, true);
        }
    for (unsigned n_strips = 1; n_strips <= 12; n_strips++)
        check_products(n_strips, EF_STRIP_ROWS, n_strips * EF_STRIP + 1, NEXT_TO_LARGEST, false);
}

/* 128 products of 2^46, of either sign, are 2^53; doubles do not have the next odd number. */
static void largest_sums_are_exact(void **state) {
    (void)state;
    double a[EF_STRIP_ROWS * EF_STRIP] __attribute__((aligned(64)));
    double b[EF_STRIP_ROWS * EF_STRIP] __attribute__((aligned(64)));
    for (unsigned i = 0; i < EF_STRIP_ROWS * EF_STRIP; i++) {
        a[i] = EF_GRID_MAX;
        b[i] = i % 2 == 0 ? EF_GRID_MAX : -EF_GRID_MAX;
    }
    for (size_t t = 0; t < n_tables; t++) {
        int64_t sums[EF_STRIP * EF_STRIP] = {0};
        tables[t]->add_products(a, b, 0, 1, EF_STRIP_ROWS, sums, EF_STRIP);
        for (unsigned i = 0; i < EF_STRIP * EF_STRIP; i++)
            assert_true(sums[i] == (i % 2 == 0 ? INT64_C(1) << 53 : -(INT64_C(1) << 53)));
        /* An odd number that is nearly as large. */
        a[0] = 1.0;
        b[0] = EF_GRID_MAX - 1.0;
        int64_t odd[EF_STRIP * EF_STRIP] = {0};
        tables[t]->add_products(a, b, 0, 1, EF_STRIP_ROWS, odd, EF_STRIP);
        assert_true(odd[0] == (INT64_C(1) << 53) - (INT64_C(1) << 46) + EF_GRID_MAX - 1);
        a[0] = b[0] = EF_GRID_MAX;
    }
}

/* ---------------------------------------------------------------- packing */

/* Strips with some doubles after each, of which nothing may be written but what is packed. */
static void check_packing(uint32_t n_columns, unsigned n_rows) {
    guarded memory[2];
    const size_t n_strips = (n_columns + EF_STRIP - 1) / EF_STRIP;
    const size_t strip_doubles = (size_t)n_rows * EF_STRIP + 8 * (size_t)below(20);
    const size_t n_doubles = (n_strips - 1) * strip_doubles + (size_t)n_rows * EF_STRIP;
    float *const panel = guarded_alloc(&memory[0], (size_t)n_columns * EF_PANEL * sizeof *panel);
    double *const got = guarded_alloc(&memory[1], n_doubles * sizeof *got);
    double *const wanted = calloc(n_doubles, sizeof *wanted);
    assert_non_null(wanted);
    for (size_t i = 0; i < (size_t)n_columns * EF_PANEL; i++)
        panel[i] = (float)draw_point((spread)below(N_SPREADS), (draw() & 1) != 0);
    for (size_t i = 0; i < n_doubles; i++)
        wanted[i] = -1.5;
    for (size_t j = 0; j < n_strips * EF_STRIP; j++)
        for (size_t r = 0; r < n_rows; r++)
            wanted[j / EF_STRIP * strip_doubles + r * EF_STRIP + j % EF_STRIP] =
                j < n_columns ? (double)panel[j * EF_PANEL + r] : 0.0;

    for (size_t t = 0; t < n_tables; t++) {
        for (size_t i = 0; i < n_doubles; i++)
            got[i] = -1.5;
        tables[t]->pack_strips(panel, n_columns, n_rows, got, strip_doubles);
        if (memcmp(got, wanted, n_doubles * sizeof *got) != 0)
            fail_msg("strips of %s: %u columns, %u rows, %zu doubles apart", tables[t]->name,
                     n_columns, n_rows, strip_doubles);
    }
    free(wanted);
    for (int i = 0; i < 2; i++)
        guarded_free(&memory[i]);
}

static void strips_are_columns_side_by_side(void **state) {
    (void)state;
    for (unsigned n_rows = 1; n_rows <= EF_PANEL; n_rows++) {
        for (uint32_t n_columns = 1; n_columns <= 70; n_columns++)
            check_packing(n_columns, n_rows);
        check_packing(784, n_rows);
        check_packing(1003, n_rows);
    }
}

int main(void) {
    for (const char *const *name = ef_kernels_names(); *name != NULL; name++)
        if (ef_kernels_find(*name) != NULL)
            tables[n_tables++] = ef_kernels_find(*name);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_products_are_those_of_integers),
        cmocka_unit_test(largest_sums_are_exact),
        cmocka_unit_test(strips_are_columns_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
