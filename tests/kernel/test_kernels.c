/* Every kernel table gives the reference's bits: all small sizes, odd sizes, unaligned inputs, and
 * buffers that end where memory ends. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "kernel/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random/tape.h"
#include "efface/efface.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_TABLES 8
#define MOST_CLUSTERS 130

static const ef_kernels *tables[MOST_TABLES]; /* usable here, the reference not among them */
static size_t n_tables;

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

/* ---------------------------------------------------------------- cases */

static uint64_t drawn;

static uint64_t draw(void) {
    return ef_tape(7, EF_TAPE_GAUSSIAN, 0, drawn++, 0);
}

static uint32_t below(uint32_t limit) {
    return (uint32_t)ef_tape_below(draw(), limit);
}

/* How the values of a case are spread; each has its own way to make rows hard to decide. */
typedef enum spread { WIDE, LATTICE, HALVES, FAR_AND_CLOSE, N_SPREADS } spread;

typedef struct problem {
    uint32_t d;
    uint32_t k;
    unsigned n_rows;
    guarded memory[8];
    float *low, *step, *point; /* d each: unaligned, at the end of memory */
    float *values;             /* a panel at the end of memory */
    float *panel;              /* its grid points by the reference */
    float *room;               /* a panel for the kernels' own use */
    int32_t *grid;             /* k centers */
    ef_map map;
} problem;

static float draw_value(spread s) {
    const float sign = (draw() & 1) != 0 ? 1.0F : -1.0F;
    switch (s) {
    case LATTICE: return sign * (float)below(3) * 0x1p-2F;
    case HALVES: return sign * ((float)below(1u << 20) + 0.5F) * 0x1p-23F; /* ties of the grid */
    case FAR_AND_CLOSE: return 0.75F + sign * (float)below(5) * 0x1p-23F;
    case WIDE:
    case N_SPREADS: break;
    }
    return sign * (float)below(1u << 24) * 0x1p-24F;
}

static problem make_problem(uint32_t d, uint32_t k, unsigned n_rows, spread s) {
    problem p = {.d = d, .k = k, .n_rows = n_rows};
    p.low = guarded_alloc(&p.memory[0], d * sizeof *p.low);
    p.step = guarded_alloc(&p.memory[1], d * sizeof *p.step);
    p.point = guarded_alloc(&p.memory[2], d * sizeof *p.point);
    p.values = guarded_alloc(&p.memory[3], (size_t)d * EF_PANEL * sizeof *p.values);
    p.panel = guarded_alloc(&p.memory[4], (size_t)d * EF_PANEL * sizeof *p.panel);
    p.room = guarded_alloc(&p.memory[6], (size_t)d * EF_PANEL * sizeof *p.room);
    p.grid = guarded_alloc(&p.memory[5], (size_t)d * k * sizeof *p.grid);
    const bool minmax = s == WIDE && (draw() & 1) != 0;
    for (uint32_t j = 0; j < d; j++) {
        p.low[j] = minmax ? -1.0F - (float)below(100) * 0.125F : 0.0F;
        p.step[j] = minmax ? ef_step_minmax(p.low[j], 1.0F) : ef_step_bound(0);
        for (unsigned i = 0; i < EF_PANEL; i++)
            p.values[(size_t)j * EF_PANEL + i] =
                i < n_rows ? draw_value(s) : 0.0F; /* unused places of a set are 0 */
    }
    p.map = (ef_map){d, p.low, p.step};
    ef_kernels_ref.snap(&p.map, p.values, n_rows, p.panel);
    for (uint32_t c = 0; c < k; c++)
        for (uint32_t j = 0; j < d; j++) {
            int32_t *const g = &p.grid[(size_t)c * d + j];
            if (c % 3 == 2) /* next to an earlier center, so that rows are almost tied */
                *g = p.grid[(size_t)(c / 2) * d + j] + (int32_t)below(3) - 1;
            else if (s == WIDE)
                *g = (int32_t)below(2 * EF_GRID_MAX + 1) - EF_GRID_MAX;
            else /* at a row */
                *g = (int32_t)p.panel[(size_t)j * EF_PANEL + c % n_rows] + (c % 5 == 0);
            *g = *g > EF_GRID_MAX ? EF_GRID_MAX : *g < -EF_GRID_MAX ? -EF_GRID_MAX : *g;
        }
    for (uint32_t j = 0; j < d; j++)
        p.point[j] = (float)p.grid[j];
    return p;
}

static void free_problem(problem *p) {
    for (int i = 0; i < 7; i++)
        guarded_free(&p->memory[i]);
}

/* ---------------------------------------------------------------- comparisons */

static void compare(const char *what, const ef_kernels *table, const problem *p, const void *got,
                    const void *wanted, size_t n_bytes) {
    if (memcmp(got, wanted, n_bytes) != 0)
        fail_msg("%s of %s differs from the reference: d %u, k %u, %u rows", what, table->name,
                 p->d, p->k, p->n_rows);
}

static void check_snap(const ef_kernels *table, const problem *p) {
    table->snap(&p->map, p->values, p->n_rows, p->room);
    compare("snap", table, p, p->room, p->panel, (size_t)p->d * EF_PANEL * sizeof(float));
}

static void check_nearest(const ef_kernels *table, const problem *p) {
    ef_centers plain, tiled;
    assert_true(ef_centers_init(&plain, p->grid, p->k, p->d, ef_kernels_ref.tile));
    assert_true(ef_centers_init(&tiled, p->grid, p->k, p->d, table->tile));
    uint32_t wanted[EF_PANEL], got[EF_PANEL];
    (void)ef_kernels_ref.nearest(&plain, &p->map, p->values, p->n_rows, p->values, p->room, wanted,
                                 NULL);
    const unsigned n_open =
        table->nearest(&tiled, &p->map, p->values, p->n_rows, p->values, p->room, got, NULL);
    assert_in_range(n_open, 0, p->n_rows);
    compare("nearest", table, p, got, wanted, p->n_rows * sizeof *got);
    ef_centers_free(&plain);
    ef_centers_free(&tiled);
}

/* Margins are no larger than what they stand for, and not much smaller unless rounding hides it. */
static void check_margins(const ef_kernels *table, const problem *p) {
    ef_centers centers;
    assert_true(ef_centers_init(&centers, p->grid, p->k, p->d, table->tile));
    uint32_t labels[EF_PANEL];
    float margins[EF_PANEL];
    (void)table->nearest(&centers, &p->map, p->values, p->n_rows, p->values, p->room, labels,
                         margins);
    for (unsigned i = 0; i < p->n_rows; i++) {
        const int64_t nearest = ef_centers_sqdist(&centers, labels[i], p->panel, i);
        const double least = (double)nearest;
        double norm2 = 0.0, most = 0.0;
        for (uint32_t j = 0; j < p->d; j++) {
            const double g = (double)p->panel[(size_t)j * EF_PANEL + i];
            norm2 += g * g;
        }
        double margin = INFINITY;
        for (uint32_t c = 0; c < p->k; c++) {
            double square = 0.0;
            for (uint32_t j = 0; j < p->d; j++) {
                const double x = (double)p->grid[(size_t)c * p->d + j];
                square += x * x;
            }
            most = square > most ? square : most;
            if (c == labels[i])
                continue;
            /* The difference of roots, computed so that nothing cancels. */
            const int64_t other = ef_centers_sqdist(&centers, c, p->panel, i);
            const double roots = sqrt((double)other) + sqrt(least);
            const double gap = other > nearest ? (double)(other - nearest) / roots : 0.0;
            margin = gap < margin ? gap : margin;
        }
        if (!((double)margins[i] <= margin))
            fail_msg("margin of %s is %g, not %g: d %u, k %u", table->name, (double)margins[i],
                     margin, p->d, p->k);
        /* What the filter cannot see of a squared distance, and of 2 D2 as bound on D1 + D2. */
        const double hidden = 4e-7 * (double)(p->d + 64) * (norm2 + most);
        if (p->k > 1 && margin * margin > 100.0 * hidden && least > hidden)
            assert_true((double)margins[i] > 0.4 * margin);
    }
    ef_centers_free(&centers);
}

/* (other - own) / (root of other + root of own) for squared distances. */
static double difference_of_roots(int64_t other, int64_t own) {
    return other > own ? (double)(other - own) / (sqrt((double)other) + sqrt((double)own)) : 0.0;
}

/* A survey has the nearest center, and of the others never more than what there is. */
static void check_survey(const ef_kernels *table, const problem *p) {
    ef_centers centers;
    assert_true(ef_centers_init(&centers, p->grid, p->k, p->d, table->tile));
    ef_survey got, exact;
    (void)table->survey(&centers, &p->map, p->values, p->n_rows, p->room, &got);
    compare("panel of survey", table, p, p->room, p->panel,
            (size_t)p->d * EF_PANEL * sizeof(float));
    for (unsigned i = 0; i < p->n_rows; i++)
        ef_centers_survey(&centers, p->panel, i, &exact);
    compare("survey", table, p, got.nearest, exact.nearest, p->n_rows * sizeof got.nearest[0]);
    for (unsigned i = 0; i < p->n_rows; i++) {
        const int64_t own = ef_centers_sqdist(&centers, got.nearest[i], p->panel, i);
        assert_true((double)got.least[i] <= (double)own && (double)own <= (double)got.most[i]);
        if (p->k == 1)
            continue;
        assert_true(got.second[i] < p->k && got.second[i] != got.nearest[i]);
        const int64_t second = ef_centers_sqdist(&centers, got.second[i], p->panel, i);
        assert_true((double)got.gap[i] <= (double)(second - own));
        for (uint32_t c = 0; c < p->k; c++) {
            const int64_t other = ef_centers_sqdist(&centers, c, p->panel, i);
            if (c != got.nearest[i])
                assert_true((double)got.margin[i] <= difference_of_roots(other, own));
            if (c != got.nearest[i] && c != got.second[i])
                assert_true((double)got.beyond[i] <= difference_of_roots(other, own));
        }
    }
    ef_centers_free(&centers);
}

static void check_gaps(const ef_kernels *table, const problem *p) {
    const int32_t *const own = p->grid, *const other = p->grid + (p->k > 1 ? p->d : 0);
    int64_t got[EF_PANEL];
    table->gaps(&p->map, p->values, p->n_rows, own, other, got);
    for (unsigned i = 0; i < p->n_rows; i++) {
        int64_t wanted = 0;
        for (uint32_t j = 0; j < p->d; j++) {
            const int64_t g = (int64_t)p->panel[(size_t)j * EF_PANEL + i];
            wanted += (g - other[j]) * (g - other[j]) - (g - own[j]) * (g - own[j]);
        }
        compare("gap", table, p, &got[i], &wanted, sizeof wanted);
    }
}

/* Points are tried by integers, whatever their number; rows that are not there do not count. */
static void check_tries(const ef_kernels *table, const problem *p) {
    const unsigned n_points = 1 + below(EF_POINTS);
    guarded memory[EF_POINTS];
    ef_point points[EF_POINTS];
    int64_t squares[EF_PANEL], least[EF_PANEL], away[EF_POINTS * EF_PANEL];
    uint64_t gains[EF_POINTS], wanted_gains[EF_POINTS] = {0};
    for (unsigned s = 0; s < n_points; s++) {
        double *const reals = guarded_alloc(&memory[s], p->d * sizeof *reals);
        points[s] = (ef_point){.whole = p->grid + (size_t)below(p->k) * p->d, .real = reals};
        for (uint32_t j = 0; j < p->d; j++) {
            reals[j] = points[s].whole[j];
            points[s].square += (int64_t)points[s].whole[j] * points[s].whole[j];
        }
    }
    ef_kernels_ref.squares(p->panel, p->d, squares);
    for (unsigned i = 0; i < EF_PANEL; i++)
        least[i] = i % 3 == 0 ? (int64_t)(draw() >> 1) : (int64_t)(draw() >> (1 + below(60)));
    table->try_points(&p->map, p->values, points, n_points, squares, least, away, gains);
    for (unsigned s = 0; s < n_points; s++)
        for (unsigned i = 0; i < p->n_rows; i++) {
            int64_t wanted = 0;
            for (uint32_t j = 0; j < p->d; j++) {
                const int64_t g = (int64_t)p->panel[(size_t)j * EF_PANEL + i];
                wanted += (g - points[s].whole[j]) * (g - points[s].whole[j]);
            }
            compare("distance", table, p, &away[s * EF_PANEL + i], &wanted, sizeof wanted);
            wanted_gains[s] += wanted < least[i] ? (uint64_t)(least[i] - wanted) : 0;
        }
    if (p->n_rows == EF_PANEL)
        compare("gains", table, p, gains, wanted_gains, n_points * sizeof *gains);

    int64_t met[2][EF_PANEL];
    table->meet_point(&p->map, p->values, &points[0], met[0], met[1]);
    compare("squares of meet_point", table, p, met[0], squares, p->n_rows * sizeof *squares);
    compare("distances of meet_point", table, p, met[1], away, p->n_rows * sizeof *away);

    /* Of these distances, some as they are now: ties leave a row where it is. */
    uint32_t nearest[EF_PANEL], wanted_nearest[EF_PANEL];
    int64_t nearer[EF_PANEL], most = 0;
    for (unsigned i = p->n_rows; i < EF_PANEL; i++)
        away[i] = (int64_t)(draw() >> 1);
    for (unsigned i = 0; i < EF_PANEL; i++) {
        away[i] = below(4) == 0 ? least[i] : away[i];
        nearest[i] = i;
        wanted_nearest[i] = away[i] < least[i] ? 1000 : i;
        nearer[i] = away[i] < least[i] ? away[i] : least[i];
        most = nearer[i] > most ? nearer[i] : most;
    }
    assert_true(table->take_point(away, 1000, least, nearest) == most);
    compare("smallest distances", table, p, least, nearer, sizeof least);
    compare("nearest points", table, p, nearest, wanted_nearest, sizeof nearest);
    for (unsigned s = 0; s < n_points; s++)
        guarded_free(&memory[s]);
}

/* The filter leaves out no point that is nearer to a row, and nothing comes of one that is far
 * beyond what rounding hides. */
static void check_reach(const ef_kernels *table, const problem *p) {
    ef_centers centers;
    int64_t squares[EF_PANEL], least[EF_PANEL], most_square = 0;
    ef_kernels_ref.squares(p->panel, p->d, squares);
    for (unsigned i = 0; i < EF_PANEL; i++)
        most_square = squares[i] > most_square ? squares[i] : most_square;
    assert_true(ef_centers_init(&centers, p->grid, p->k < table->tile ? p->k : table->tile, p->d,
                                table->tile));
    assert_true(ef_centers_fold_to_zero(&centers, &p->map, most_square));
    for (unsigned i = 0; i < EF_PANEL; i++) {
        const int64_t away = ef_centers_sqdist(&centers, below(centers.n_clusters), p->panel, i);
        const uint32_t kind = below(4);
        least[i] = kind == 0 ? away : kind == 1 ? away + 1 : kind == 2 ? away / 2 : 0;
    }
    const uint32_t bits =
        centers.folds ? table->reach(&centers, p->values, squares, least) : UINT32_MAX;
    for (uint32_t c = 0; c < centers.n_clusters; c++) {
        bool nearer = false, looks_nearer = p->n_rows < EF_PANEL;
        for (unsigned i = 0; i < p->n_rows; i++) {
            const int64_t away = ef_centers_sqdist(&centers, c, p->panel, i);
            const double hidden =
                2.0 * (double)centers.folded_slack + 0x1p-18 * (double)(least[i] + squares[i]);
            nearer |= away < least[i];
            looks_nearer |= (double)away <= (double)least[i] + hidden;
        }
        if (nearer && (bits >> c & 1) == 0)
            fail_msg("%s leaves out point %u: d %u, k %u", table->name, c, p->d, p->k);
        if (!looks_nearer && centers.folds && table != &ef_kernels_ref)
            assert_true((bits >> c & 1) == 0);
    }
    ef_centers_free(&centers);
}

/* Sifting finds what is beyond its bounds, but for rounding, and nothing else. */
static void check_sift(const ef_kernels *table, const problem *p) {
    const size_t n = 1 + below(50), n_panels = (n + EF_PANEL - 1) / EF_PANEL;
    guarded memory[3];
    int8_t *const bytes = guarded_alloc(&memory[0], n_panels * EF_PANEL * p->d);
    float *const gaps = guarded_alloc(&memory[1], n_panels * EF_PANEL * sizeof *gaps);
    float *const slopes = guarded_alloc(&memory[2], p->d * sizeof *slopes);
    uint32_t found[64];
    for (size_t i = 0; i < n_panels * EF_PANEL * p->d; i++)
        bytes[i] = (int8_t)((int)below(256) - 128);
    for (uint32_t j = 0; j < p->d; j++)
        slopes[j] = (float)below(1u << 20) - 0x1p19F;
    const double scale = 0x1p25 * sqrt((double)p->d), error = 0x1p-20 * (double)(p->d + 8) * scale;
    for (size_t i = 0; i < n_panels * EF_PANEL; i++)
        gaps[i] = (float)((double)below(1000) * 1e-3 * scale);
    const float least = (float)(0.3 * scale), most = (float)(0.9 * scale);
    const size_t n_found = table->sift(bytes, n, p->d, slopes, gaps, least, most, found);
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        double gap = (double)gaps[i];
        for (size_t j = 0; j < p->d; j++)
            gap += (double)slopes[j] *
                   bytes[i / EF_PANEL * EF_PANEL * p->d + j * EF_PANEL + i % EF_PANEL];
        const bool is_found = next < n_found && found[next] == i;
        next += is_found;
        if (gap < (double)least - error || gap > (double)most + error)
            assert_true(is_found);
        if (gap > (double)least + error && gap < (double)most - error)
            assert_false(is_found);
    }
    assert_int_equal(next, n_found);
    for (int i = 0; i < 3; i++)
        guarded_free(&memory[i]);
}

static void check_sums(const ef_kernels *table, const problem *p) {
    float distance[2][EF_PANEL];
    int64_t squares[2][EF_PANEL];
    ef_kernels_ref.sqdist(&p->map, p->values, p->point, p->values, distance[0]);
    table->sqdist(&p->map, p->values, p->point, p->values, distance[1]);
    compare("sqdist", table, p, distance[1], distance[0], p->n_rows * sizeof distance[0][0]);
    ef_kernels_ref.squares(p->panel, p->d, squares[0]);
    table->squares(p->panel, p->d, squares[1]);
    compare("squares", table, p, squares[1], squares[0], sizeof squares[0]);
}

static void check_moves(const ef_kernels *table, const problem *p) {
    static const int64_t weights[] = {1, 7, EFFACE_MAX_WEIGHT / 32, -1,
                                      -((INT64_C(1) << 38) + 12345)};
    guarded memory[2];
    const size_t n_bytes = p->d * sizeof(int64_t);
    int64_t *const sums[2] = {guarded_alloc(&memory[0], n_bytes),
                              guarded_alloc(&memory[1], n_bytes)};
    int64_t *const wanted = calloc(2 * (size_t)p->d, sizeof *wanted);
    assert_non_null(wanted);
    for (unsigned i = 0; i < p->n_rows; i++) {
        const int64_t weight = weights[i % 5];
        const bool both = i % 2 == 0;
        table->move_row(&p->map, p->values + i, weight, sums[0], both ? sums[1] : NULL);
        for (uint32_t j = 0; j < p->d; j++) {
            const int64_t moved = weight * (int64_t)p->panel[(size_t)j * EF_PANEL + i];
            wanted[j] += moved;
            wanted[p->d + j] -= both ? moved : 0;
        }
    }
    compare("gains of move_row", table, p, sums[0], wanted, n_bytes);
    compare("losses of move_row", table, p, sums[1], wanted + p->d, n_bytes);
    free(wanted);
    guarded_free(&memory[0]);
    guarded_free(&memory[1]);
}

static void check_added(const ef_kernels *table, const problem *p, bool weighed) {
    guarded memory;
    uint32_t labels[EF_PANEL];
    int64_t weights[EF_PANEL];
    const size_t n_sums = (size_t)p->k * p->d;
    int64_t *const got = guarded_alloc(&memory, n_sums * sizeof *got);
    int64_t *const wanted = malloc(n_sums * sizeof *wanted);
    assert_non_null(wanted);
    for (size_t i = 0; i < n_sums; i++)
        got[i] = wanted[i] = (int64_t)(draw() >> 2) - ((int64_t)1 << 61);
    for (unsigned i = 0; i < EF_PANEL; i++)
        labels[i] = below(p->k);
    for (unsigned i = 0; i < EF_PANEL; i++)
        weights[i] = weighed ? (int64_t)(draw() >> (30 + below(33))) : 1; /* below 2^34 */
    table->add_rows(&p->map, p->values, p->n_rows, labels, weighed ? weights : NULL, got);
    for (unsigned i = 0; i < p->n_rows; i++)
        for (uint32_t j = 0; j < p->d; j++) {
            const int64_t g = (int64_t)p->panel[(size_t)j * EF_PANEL + i];
            wanted[(size_t)labels[i] * p->d + j] += weights[i] * g;
        }
    compare("sums of add_rows", table, p, got, wanted, n_sums * sizeof *got);
    free(wanted);
    guarded_free(&memory);
}

static void check_all(uint32_t d, uint32_t k, unsigned n_rows, spread s) {
    problem p = make_problem(d, k, n_rows, s);
    for (size_t t = 0; t < n_tables; t++) {
        check_snap(tables[t], &p);
        check_nearest(tables[t], &p);
        check_margins(tables[t], &p);
        check_survey(tables[t], &p);
        check_gaps(tables[t], &p);
        check_tries(tables[t], &p);
        check_reach(tables[t], &p);
        check_sift(tables[t], &p);
        check_sums(tables[t], &p);
        check_moves(tables[t], &p);
        check_added(tables[t], &p, false);
        check_added(tables[t], &p, true);
    }
    check_margins(&ef_kernels_ref, &p);
    check_survey(&ef_kernels_ref, &p);
    check_gaps(&ef_kernels_ref, &p);
    check_tries(&ef_kernels_ref, &p);
    check_reach(&ef_kernels_ref, &p);
    check_sift(&ef_kernels_ref, &p);
    check_moves(&ef_kernels_ref, &p);
    check_added(&ef_kernels_ref, &p, false);
    check_added(&ef_kernels_ref, &p, true);
    free_problem(&p);
}

static void need_tables(void) {
    if (n_tables == 0)
        skip();
}

static void tables_agree_on_all_small_sizes(void **state) {
    (void)state;
    need_tables();
    for (uint32_t d = 1; d <= 20; d++)
        for (uint32_t k = 1; k <= 20; k++)
            for (int s = 0; s < N_SPREADS; s++)
                check_all(d, k, 1 + below(EF_PANEL), (spread)s);
}

static void tables_agree_on_odd_sizes(void **state) {
    (void)state;
    need_tables();
    static const uint32_t columns[] = {25, 31, 52, 63, 64, 65, 127, 128, 129, 784, 1000};
    static const uint32_t clusters[] = {1, 2, 7, 10, 12, 13, 24, 25, 64, MOST_CLUSTERS};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        for (size_t c = 0; c < sizeof clusters / sizeof clusters[0]; c++)
            for (int s = 0; s < N_SPREADS; s++)
                check_all(columns[i], clusters[c], 1 + below(EF_PANEL), (spread)s);
}

static void tables_agree_on_the_most_columns(void **state) {
    (void)state;
    need_tables();
    for (int s = 0; s < N_SPREADS; s++)
        check_all(EFFACE_MAX_COLUMNS, 3, EF_PANEL, (spread)s);
}

static void tape_is_the_same(void **state) {
    (void)state;
    need_tables();
    for (int round = 0; round < 200; round++) {
        const uint64_t seed = draw();
        const uint32_t purpose = EF_TAPE_RESEED + (below(1u << 24) << 8), step = below(1000);
        uint64_t ids[EF_PANEL];
        uint32_t wanted[EF_PANEL], got[EF_PANEL];
        for (unsigned i = 0; i < EF_PANEL; i++) {
            ids[i] = draw() >> below(64);
            wanted[i] = (uint32_t)(ef_tape(seed, EF_TAPE_RESEED, purpose >> 8, ids[i], step) >> 32);
        }
        ef_kernels_ref.tape_high(seed, purpose, ids, step, got);
        assert_memory_equal(got, wanted, sizeof got);
        for (size_t t = 0; t < n_tables; t++) {
            memset(got, 0, sizeof got);
            tables[t]->tape_high(seed, purpose, ids, step, got);
            assert_memory_equal(got, wanted, sizeof got);
        }
    }
}

static void the_tape_says_what_is_within_limits(void **state) {
    (void)state;
    need_tables();
    for (int round = 0; round < 300; round++) {
        const uint64_t seed = draw();
        const uint32_t n_subs = 1 + below(64), step = (uint32_t)draw() >> below(32);
        const size_t n_panels = 1 + below(3);
        uint64_t ids[3 * EF_PANEL], wanted[3] = {0}, got[3];
        uint32_t limits[3 * 64];
        for (unsigned i = 0; i < n_panels * EF_PANEL; i++)
            ids[i] = draw() >> below(64);
        for (size_t at = 0; at < n_panels * n_subs; at++) {
            const uint32_t p = (uint32_t)(at / n_subs), s = (uint32_t)(at % n_subs);
            uint32_t least = UINT32_MAX;
            for (unsigned i = 0; i < EF_PANEL; i++) {
                const uint64_t bits = ef_tape(seed, EF_TAPE_SEED, s, ids[p * EF_PANEL + i], step);
                least = bits >> 32 < least ? (uint32_t)(bits >> 32) : least;
            }
            limits[at] = below(3) == 0 ? (uint32_t)draw() >> below(32) : least - below(2);
            wanted[p] |= (uint64_t)(least <= limits[at]) << s;
        }
        for (size_t t = 0; t <= n_tables; t++) {
            const ef_kernels *const table = t < n_tables ? tables[t] : &ef_kernels_ref;
            table->tape_within(seed, EF_TAPE_SEED, n_subs, ids, n_panels, step, limits, got);
            assert_memory_equal(got, wanted, n_panels * sizeof *got);
        }
    }
}

/* ---------------------------------------------------------------- the filter */

/* Makes the values of a problem grid points themselves: its map leaves them as they are. */
static void use_grid_points(problem *p) {
    for (uint32_t j = 0; j < p->d; j++) {
        p->low[j] = 0.0F;
        p->step[j] = 1.0F;
    }
}

static unsigned count_open(const ef_kernels *table, const problem *p, uint32_t labels[EF_PANEL]) {
    ef_centers centers;
    assert_true(ef_centers_init(&centers, p->grid, p->k, p->d, table->tile));
    const unsigned n_open =
        table->nearest(&centers, &p->map, p->values, p->n_rows, p->values, p->room, labels, NULL);
    ef_centers_free(&centers);
    return n_open;
}

/* Two centers along a line and rows around the middle, as far from the origin as can be: the
 * filter must leave to the integers what it cannot see, and may not leave everything. */
static void filter_is_safe_and_useful(void **state) {
    (void)state;
    need_tables();
    const uint32_t d = 784;
    problem p = make_problem(d, 2, EF_PANEL, WIDE);
    use_grid_points(&p);
    for (size_t t = 0; t < n_tables; t++) {
        unsigned n_open = 0, n_far = 0;
        for (int gap = 0; gap < 400; gap++) {
            uint32_t labels[EF_PANEL];
            for (uint32_t j = 0; j < d; j++) {
                const int32_t center = EF_GRID_MAX - (int32_t)below(1000);
                p.grid[j] = center;
                p.grid[d + j] = center - 1000;
                for (unsigned i = 0; i < EF_PANEL; i++)
                    p.values[(size_t)j * EF_PANEL + i] = (float)(center - 500);
            }
            /* Row i is off the middle by some grid steps in one column. */
            for (unsigned i = 0; i < EF_PANEL; i++)
                p.values[(size_t)below(d) * EF_PANEL + i] += (float)((int)i - 8) * (float)gap;
            check_nearest(tables[t], &p);
            n_open += count_open(tables[t], &p, labels);
            /* Rows at centers that are far from each other leave no doubt. */
            for (uint32_t j = 0; j < d; j++) {
                p.grid[d + j] = -EF_GRID_MAX;
                for (unsigned i = 0; i < EF_PANEL; i++)
                    p.values[(size_t)j * EF_PANEL + i] = (float)p.grid[(i % 2) * d + j];
            }
            n_far += count_open(tables[t], &p, labels);
            for (unsigned i = 0; i < EF_PANEL; i++)
                assert_int_equal(labels[i], i % 2);
        }
        assert_true(n_open > 0);
        assert_int_equal(n_far, 0);
    }
    free_problem(&p);
}

/* `sqdist` is as near to the integers' distance as its bound says, and 0 just for equal points. */
static void sqdist_keeps_its_bound(void **state) {
    (void)state;
    static const uint32_t columns[] = {1, 10, 784, EFFACE_MAX_COLUMNS};
    for (size_t c = 0; c < 4; c++)
        for (int s = 0; s < N_SPREADS; s++) {
            problem p = make_problem(columns[c], 3, EF_PANEL, (spread)s);
            float distance[EF_PANEL];
            ef_kernels_ref.sqdist(&p.map, p.values, p.point, p.values, distance);
            const ef_centers centers = {.n_clusters = 3, .n_columns = p.d, .grid = p.grid};
            for (unsigned i = 0; i < EF_PANEL; i++) {
                const double exact = (double)ef_centers_sqdist(&centers, 0, p.panel, i);
                const double slack = 1.0 + EF_SQDIST_ERROR(p.d);
                assert_true((double)distance[i] <= exact * slack);
                assert_true(exact <= (double)distance[i] * slack);
            }
            free_problem(&p);
        }
}

static void unknown_tables_are_not_found(void **state) {
    (void)state;
    assert_null(ef_kernels_find("sse2"));
    assert_null(ef_kernels_find(""));
    assert_ptr_equal(ef_kernels_find("ref"), &ef_kernels_ref);
    assert_non_null(ef_kernels_get());
}

int main(void) {
    for (const char *const *name = ef_kernels_names(); *name != NULL; name++) {
        const ef_kernels *const table = ef_kernels_find(*name);
        if (table != NULL && table != &ef_kernels_ref)
            tables[n_tables++] = table;
        printf("%s: %s\n", *name, table != NULL ? "usable" : "not on this processor");
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_agree_on_all_small_sizes),
        cmocka_unit_test(tables_agree_on_odd_sizes),
        cmocka_unit_test(tables_agree_on_the_most_columns),
        cmocka_unit_test(tape_is_the_same),
        cmocka_unit_test(the_tape_says_what_is_within_limits),
        cmocka_unit_test(filter_is_safe_and_useful),
        cmocka_unit_test(sqdist_keeps_its_bound),
        cmocka_unit_test(unknown_tables_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
