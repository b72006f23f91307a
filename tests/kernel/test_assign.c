/* `assign` of every kernel table gives the reference's labels: for rows on the edge between two
 * centers, on every kind of map, with centers that are folded and with those that cannot be. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "kernel/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random/tape.h"
#include "efface/efface.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_TABLES 8
#define MOST_ROWS (EF_RUN * EF_PANEL)
#define NO_LABEL UINT32_MAX

static const ef_kernels *tables[MOST_TABLES]; /* usable here, the reference among them */
static size_t n_tables;

/* ---------------------------------------------------------------- cases */

#define MOST_MAPS 16
static struct {
    void *map;
    size_t n_bytes;
} maps[MOST_MAPS];
static size_t n_maps;

static uint64_t drawn;

static uint32_t below(uint32_t limit) {
    return (uint32_t)ef_tape_below(ef_tape(11, EF_TAPE_GAUSSIAN, 0, drawn++, 0), limit);
}

/* The map: that of scale none; of scale minmax, with columns near 0 for their spread, or so far
 * that the map cannot be folded; and values that are all huge, or tiny (not to be folded either).
 */
typedef enum kind { PLAIN, MINMAX, SHIFTED, FAR_AWAY, HUGE_VALUES, TINY_VALUES, N_KINDS } kind;

/* The centers: anywhere; in the corners of the domain; or a few steps from each other. */
typedef enum place { ANYWHERE, CORNERS, TOGETHER, N_PLACES } place;

typedef struct problem {
    uint32_t d, k;
    size_t n_rows;
    float *low, *step;
    float *values;    /* whole panels */
    int32_t *grid;    /* k centers */
    uint32_t *labels; /* n_rows, some of which are right */
    ef_map map;
    int64_t most_square;
} problem;

static void make_map(problem *p, kind how) {
    for (uint32_t j = 0; j < p->d; j++) {
        const float spread = 1.0F + (float)below(1000);
        float low = 0.0F;
        switch (how) {
        case MINMAX: low = -spread * 0.001F * (float)below(1000); break;
        case SHIFTED: low = spread * (float)below(40); break;
        case FAR_AWAY: low = spread * 0x1p15F * (float)(1 + below(100)); break;
        case PLAIN:
        case HUGE_VALUES:
        case TINY_VALUES:
        case N_KINDS: break;
        }
        p->low[j] = low;
        if (how == PLAIN)
            p->step[j] = ef_step_bound(0);
        else if (how == HUGE_VALUES)
            p->step[j] = ef_step_bound(EF_EXPONENT_MAX);
        else if (how == TINY_VALUES)
            p->step[j] = ef_step_bound(EF_EXPONENT_MIN);
        else /* now and then a column that is the same everywhere */
            p->step[j] = below(8) == 0 ? 0.0F : ef_step_minmax(low, low + spread);
    }
}

/* The lowest coordinate there is in a column. */
static int32_t least_in(const problem *p, uint32_t j, kind how) {
    if (p->step[j] == 0.0F)
        return 0;
    return how == MINMAX || how == SHIFTED || how == FAR_AWAY ? 0 : -EF_GRID_MAX;
}

static int32_t draw_coordinate(const problem *p, uint32_t j, kind how) {
    const int32_t least = least_in(p, j, how);
    return p->step[j] == 0.0F ? 0 : least + (int32_t)below((uint32_t)(EF_GRID_MAX - least) + 1);
}

static void make_centers(problem *p, kind how, place where) {
    for (uint32_t c = 0; c < p->k; c++)
        for (uint32_t j = 0; j < p->d; j++) {
            int32_t *const g = &p->grid[(size_t)c * p->d + j];
            const int32_t least = least_in(p, j, how), most = p->step[j] == 0.0F ? 0 : EF_GRID_MAX;
            *g = draw_coordinate(p, j, how);
            if (where == CORNERS)
                *g = below(2) == 0 ? least : most;
            else if (where == TOGETHER && c > 0)
                *g = p->grid[j] + (int32_t)below(2001) - 1000;
            else if (c % 4 == 3) /* next to an earlier one */
                *g = p->grid[(size_t)(c / 2) * p->d + j] + (int32_t)below(3) - 1;
            *g = *g < least ? least : *g > most ? most : *g;
        }
}

/* The value at a grid coordinate, or next to it. It stays within the domain. */
static float value_at(const problem *p, uint32_t j, int32_t coordinate, kind how) {
    if (p->step[j] == 0.0F)
        return p->low[j];
    float x = (float)((double)p->low[j] + (double)coordinate / (double)p->step[j]);
    for (int32_t g; (g = ef_snap(x, p->low[j], p->step[j])) > EF_GRID_MAX || x < p->low[j];) {
        if (how == PLAIN || how == HUGE_VALUES || how == TINY_VALUES)
            break;
        x = p->low[j];
    }
    return x;
}

/* Every third row lies between two centers, off the middle by few steps in few columns. */
static void make_rows(problem *p, kind how) {
    for (size_t i = 0; i < p->n_rows; i++) {
        float *const row = p->values + i / EF_PANEL * EF_PANEL * p->d + i % EF_PANEL;
        const int32_t *const a = p->grid + (size_t)below(p->k) * p->d;
        const int32_t *const b = p->grid + (size_t)below(p->k) * p->d;
        int64_t square = 0;
        for (uint32_t j = 0; j < p->d; j++) {
            int32_t g = draw_coordinate(p, j, how);
            if (i % 3 != 0)
                g = (int32_t)(((int64_t)a[j] + b[j]) / 2);
            if (i % 3 == 1 && below(p->d) == 0)
                g += (int32_t)below(9) - 4;
            const int32_t least = least_in(p, j, how);
            g = g < least ? least : g > EF_GRID_MAX ? EF_GRID_MAX : g;
            row[(size_t)j * EF_PANEL] = value_at(p, j, g, how);
            g = ef_snap(row[(size_t)j * EF_PANEL], p->low[j], p->step[j]);
            assert_in_range(g + EF_GRID_MAX, 0, 2 * EF_GRID_MAX);
            square += (int64_t)g * g;
        }
        p->most_square = square > p->most_square ? square : p->most_square;
        p->labels[i] = below(10) == 0 ? NO_LABEL : below(p->k);
    }
}

/* Zeros that end right before a page that may not be touched. */
static void *need(size_t n_bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (n_bytes + page - 1) / page * page;
    assert_true(n_maps < MOST_MAPS);
    maps[n_maps].n_bytes = room + page;
    unsigned char *const map =
        mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(mprotect(map + room, page, PROT_NONE), 0);
    maps[n_maps++].map = map;
    return map + room - n_bytes;
}

/* Of the last `n` that were needed. */
static void free_last(size_t n) {
    for (; n > 0; n--) {
        n_maps--;
        munmap(maps[n_maps].map, maps[n_maps].n_bytes);
    }
}

static problem make_problem(uint32_t d, uint32_t k, size_t n_rows, kind how, place where) {
    problem p = {.d = d, .k = k, .n_rows = n_rows};
    p.low = need(d * sizeof *p.low);
    p.step = need(d * sizeof *p.step);
    p.values = need((n_rows + EF_PANEL - 1) / EF_PANEL * EF_PANEL * d * sizeof *p.values);
    p.grid = need((size_t)k * d * sizeof *p.grid);
    p.labels = need(n_rows * sizeof *p.labels);
    p.map = (ef_map){d, p.low, p.step};
    make_map(&p, how);
    make_centers(&p, how, where);
    make_rows(&p, how);
    return p;
}

/* ---------------------------------------------------------------- comparisons */

typedef struct answer {
    uint32_t nearest[MOST_ROWS];
    uint16_t movers[MOST_ROWS + 4];
    size_t n_movers;
    unsigned n_open;
    bool folds;
    float margins[MOST_ROWS + EF_PANEL];
} answer;

static void ask(const ef_kernels *table, const problem *p, int64_t most_square, answer *out) {
    float *const panel = need(ef_assign_room(p->k, p->d) * sizeof *panel);
    ef_centers centers;
    assert_true(ef_centers_init(&centers, p->grid, p->k, p->d, table->tile));
    assert_true(ef_centers_fold(&centers, &p->map, most_square));
    assert_true(ef_centers_round(&centers, table->rounds_to));
    out->folds = centers.folds;
    out->n_open = table->assign(&centers, &p->map, p->values, p->n_rows, p->labels, panel,
                                out->nearest, out->movers, &out->n_movers, out->margins);
    /* What comes out does not depend on whether margins are wanted. */
    static uint32_t again[MOST_ROWS + EF_PANEL];
    (void)table->assign(&centers, &p->map, p->values, p->n_rows, p->labels, panel, again, NULL,
                        NULL, NULL);
    assert_memory_equal(again, out->nearest, p->n_rows * sizeof *again);
    ef_centers_free(&centers);
    free_last(1);
}

static answer wanted, got;
static double sum_of_ratios;
static size_t n_ratios;

/* Margins are not above those of integers; how far below they are is noted. */
static void check_margins(const ef_kernels *table, const answer *a, const answer *exact,
                          size_t n_rows) {
    for (size_t i = 0; i < n_rows; i++) {
        const double ratio = (double)a->margins[i] / ((double)exact->margins[i] / 0.9999);
        if (exact->margins[i] == 0.0F)
            assert_true(a->margins[i] == 0.0F);
        else if (!(ratio <= 1.000001))
            fail_msg("margin %g, not %g", (double)a->margins[i], (double)exact->margins[i]);
        if (exact->margins[i] > 0x1p20F && a->folds && table != &ef_kernels_ref) {
            sum_of_ratios += ratio;
            n_ratios++;
        }
    }
}

static size_t n_folded[N_KINDS];

static void check(uint32_t d, uint32_t k, size_t n_rows, kind how, place where) {
    problem p = make_problem(d, k, n_rows, how, where);
    const int64_t any = (int64_t)d * EF_GRID_MAX * EF_GRID_MAX;
    ask(&ef_kernels_ref, &p, any, &wanted);
    size_t n_movers = 0;
    for (size_t i = 0; i < n_rows; i++)
        if (wanted.nearest[i] != p.labels[i])
            assert_int_equal(wanted.movers[n_movers++], i);
    assert_int_equal(wanted.n_movers, n_movers);
    for (size_t t = 0; t < n_tables; t++) {
        ask(tables[t], &p, below(2) == 0 ? any : p.most_square, &got);
        n_folded[how] += got.folds;
        if (memcmp(got.nearest, wanted.nearest, n_rows * sizeof got.nearest[0]) != 0)
            fail_msg("labels of %s differ from the reference: d %u, k %u, %zu rows, map %d, "
                     "centers %d",
                     tables[t]->name, d, k, n_rows, (int)how, (int)where);
        if (k > 1)
            check_margins(tables[t], &got, &wanted, n_rows);
        assert_int_equal(got.n_movers, n_movers);
        assert_memory_equal(got.movers, wanted.movers, n_movers * sizeof got.movers[0]);
        assert_in_range(got.n_open, 0, n_rows);
    }
    free_last(5);
}

static void labels_are_the_references(void **state) {
    (void)state;
    static const uint32_t columns[] = {1, 2, 7, 8, 9, 16, 25, 63, 64, 65, 130};
    static const size_t rows[] = {1, 15, 16, 17, 100, 16 * 7, MOST_ROWS};
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
        for (uint32_t k = 1; k <= 18; k++)
            for (int how = 0; how < N_KINDS; how++)
                for (int where = 0; where < N_PLACES; where++)
                    check(columns[c], k, rows[below(columns[c] < 30 ? 7 : 5)], (kind)how,
                          (place)where);
}

static void labels_are_the_references_with_many_columns(void **state) {
    (void)state;
    for (int how = 0; how < N_KINDS; how++)
        for (int where = 0; where < N_PLACES; where++) {
            check(784, 10, 64, (kind)how, (place)where);
            check(784, 2, 64, (kind)how, (place)where);
            check(EFFACE_MAX_COLUMNS, 3, 17, (kind)how, (place)where);
        }
}

/* Clusters that are more than a tile, cut into bands of all sizes; and so many that no scores are
 * kept. */
static void labels_are_the_references_with_many_clusters(void **state) {
    (void)state;
    static const uint32_t columns[] = {1, 3, 16, 64, 65, 131};
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
        for (uint32_t k = 19; k <= 70; k += 1 + k / 8)
            for (int how = 0; how < N_KINDS; how++)
                for (int where = 0; where < N_PLACES; where++)
                    check(columns[c], k, 1 + below(70), (kind)how, (place)where);
    for (int where = 0; where < N_PLACES; where++) {
        check(129, 257, 33, MINMAX, (place)where);
        check(2, EF_MOST_KEPT, 17, PLAIN, (place)where);
        check(2, EF_MOST_KEPT + 1, 17, PLAIN, (place)where);
    }
}

/* Clusters and columns that are many enough to be rounded, around whole tiles of them. */
static void labels_are_the_references_when_rounded(void **state) {
    (void)state;
    static const uint32_t columns[] = {31, 32, 33, 63, 64, 65, 96, 97, 127, 128, 129, 130, 131};
    static const uint32_t clusters[] = {63, 64, 65, 71, 72, 79, 80, 81, 97, 130};
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
        for (size_t k = 0; k < sizeof clusters / sizeof clusters[0]; k++)
            for (int how = 0; how < N_KINDS; how++)
                for (int where = 0; where < N_PLACES; where++)
                    check(columns[c], clusters[k], 1 + below(70), (kind)how, (place)where);
    check(EFFACE_MAX_COLUMNS, 66, 17, PLAIN, ANYWHERE);
    check(EFFACE_MAX_COLUMNS, 66, 17, MINMAX, CORNERS);
}

/* All that look for the nearest center, for sixteen rows that have the same one. */
static void expect_nearest(const ef_kernels *table, const problem *p, uint32_t wanted_label) {
    float *const room = need(ef_assign_room(p->k, p->d) * sizeof *room);
    uint32_t labels[4][EF_PANEL];
    ef_survey found;
    ef_centers centers;
    assert_true(ef_centers_init(&centers, p->grid, p->k, p->d, table->tile));
    (void)table->nearest(&centers, &p->map, p->values, EF_PANEL, p->values, room, labels[0], NULL);
    (void)table->survey(&centers, &p->map, p->values, EF_PANEL, room, &found);
    memcpy(labels[1], found.nearest, sizeof labels[1]);
    (void)table->assign(&centers, &p->map, p->values, EF_PANEL, p->labels, room, labels[2], NULL,
                        NULL, NULL);
    assert_true(ef_centers_fold(&centers, &p->map, p->most_square));
    assert_true(centers.folds || p->k > table->tile);
    (void)table->assign(&centers, &p->map, p->values, EF_PANEL, p->labels, room, labels[3], NULL,
                        NULL, NULL);
    for (unsigned way = 0; way < 4; way++)
        for (unsigned i = 0; i < EF_PANEL; i++)
            if (labels[way][i] != wanted_label)
                fail_msg("%s, way %u: center %u, not %u", table->name, way, labels[way][i],
                         wanted_label);
    ef_centers_free(&centers);
    free_last(1);
}

/* Every rounding of the scores of two centers goes as far wrong as it can. |V|^2 is a little above
 * 2^45, and the products of a column a little more than half of its last place: so each column that
 * is not 0, all of the first block and one of every other, adds almost as much again to the score
 * of the nearer center as it should, and takes as much from the other's. A bound that is a tenth
 * smaller would believe them. */
static void rounding_does_its_worst(void **state) {
    (void)state;
    enum { UNIT = 1024, STEP = 512, ROOT = 5931642 + 1000 };
    const uint32_t d = EFFACE_MAX_COLUMNS;
    problem p = make_problem(d, 4, EF_PANEL, PLAIN, ANYWHERE);
    memset(p.values, 0, (size_t)EF_PANEL * d * sizeof *p.values);
    for (uint32_t nearer = 0; nearer < 2; nearer++) {
        int32_t *const near = p.grid + nearer * d, *const far = p.grid + (1 - nearer) * d;
        memset(p.grid, 0, (size_t)p.k * d * sizeof *p.grid);
        int64_t n = 0;
        for (uint32_t j = 1; j < d; j += j < EF_BLOCK ? 1 : EF_BLOCK, n++) {
            for (unsigned i = 0; i < EF_PANEL; i++)
                p.values[(size_t)j * EF_PANEL + i] = (float)UNIT / EF_GRID_MAX;
            near[j] = -(UNIT + 1);
            far[j] = UNIT + 1;
        }
        for (unsigned i = 0; i < EF_PANEL; i++) /* away from centers 2 and 3 */
            p.values[i] = (float)STEP / EF_GRID_MAX;
        p.most_square = n * UNIT * UNIT + STEP * STEP;
        near[0] = far[0] = ROOT;
        while ((int64_t)(far[0] - near[0]) * (far[0] + near[0] - 2 * STEP) <=
               4 * n * UNIT * (UNIT + 1))
            far[0]++;
        for (size_t at = 0; at < (size_t)2 * d; at++) /* the mean of all is 0 */
            p.grid[2 * (size_t)d + at] = -p.grid[at];
        for (size_t t = 0; t < n_tables; t++)
            expect_nearest(tables[t], &p, nearer);
    }
    free_last(5);
}

static void margins_are_of_use(void **state) {
    (void)state;
    sum_of_ratios = 0.0;
    n_ratios = 0;
    for (uint32_t k = 2; k <= 12; k++)
        for (int how = 0; how < N_KINDS; how++)
            for (int where = 0; where < N_PLACES; where++)
                check(25, k, 100, (kind)how, (place)where);
    assert_true(n_tables == 1 /* the reference, which has margins of its own */ || n_ratios > 1000);
    assert_true(sum_of_ratios >= 0.45 * (double)n_ratios);
}

static void folding_is_for_maps_that_can_be_folded(void **state) {
    (void)state;
    memset(n_folded, 0, sizeof n_folded);
    for (int i = 0; i < 20; i++)
        for (int how = 0; how < N_KINDS; how++)
            check(20, 4, 64, (kind)how, ANYWHERE);
    assert_true(n_folded[PLAIN] > 0);
    assert_true(n_folded[MINMAX] > 0);
    assert_true(n_folded[SHIFTED] > 0);
    assert_true(n_folded[HUGE_VALUES] > 0);
    assert_int_equal(n_folded[FAR_AWAY], 0);
    assert_int_equal(n_folded[TINY_VALUES], 0);
}

/* The filter decides rows that are anywhere, all but a few. */
static void filter_is_useful(void **state) {
    (void)state;
    problem p = make_problem(30, 3, MOST_ROWS, PLAIN, ANYWHERE);
    for (size_t i = 0; i < (size_t)p.d * MOST_ROWS; i++)
        p.values[i] = ((float)below(1u << 24) - 0x1p23F) * 0x1p-23F;
    for (size_t t = 0; t < n_tables; t++) {
        if (tables[t] == &ef_kernels_ref)
            continue;
        ask(tables[t], &p, (int64_t)p.d * EF_GRID_MAX * EF_GRID_MAX, &got);
        assert_true(got.folds);
        assert_in_range(got.n_open, 0, MOST_ROWS / 100);
    }
    free_last(5);
}

/* Labels only, without the rows that move. */
static void movers_need_not_be_wanted(void **state) {
    (void)state;
    problem p = make_problem(12, 5, 100, PLAIN, ANYWHERE);
    float *const panel = need(ef_assign_room(p.k, p.d) * sizeof *panel);
    ask(&ef_kernels_ref, &p, p.most_square, &wanted);
    for (size_t t = 0; t < n_tables; t++) {
        ef_centers centers;
        assert_true(ef_centers_init(&centers, p.grid, p.k, p.d, tables[t]->tile));
        assert_true(ef_centers_fold(&centers, &p.map, p.most_square));
        (void)tables[t]->assign(&centers, &p.map, p.values, p.n_rows, p.labels, panel, got.nearest,
                                NULL, NULL, NULL);
        assert_memory_equal(got.nearest, wanted.nearest, p.n_rows * sizeof got.nearest[0]);
        ef_centers_free(&centers);
    }
    free_last(1);
    free_last(5);
}

int main(void) {
    for (const char *const *name = ef_kernels_names(); *name != NULL; name++) {
        const ef_kernels *const table = ef_kernels_find(*name);
        if (table != NULL)
            tables[n_tables++] = table;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_the_references),
        cmocka_unit_test(labels_are_the_references_with_many_columns),
        cmocka_unit_test(labels_are_the_references_with_many_clusters),
        cmocka_unit_test(labels_are_the_references_when_rounded),
        cmocka_unit_test(rounding_does_its_worst),
        cmocka_unit_test(margins_are_of_use),
        cmocka_unit_test(folding_is_for_maps_that_can_be_folded),
        cmocka_unit_test(filter_is_useful),
        cmocka_unit_test(movers_need_not_be_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
