/*
 * Seeding draws as k-means++ does: the race of docs/definition/numerics.md, section 4, must choose
 * a row with probability w u / sum(w u), u being the squared distance to the nearest seed so far.
 *
 * On sets so small that the probability of every sequence of seeds can be enumerated, the library
 * fits with many different seeds and the sequences it chose are counted. A chi-square test compares
 * the counts with the probabilities. The tape seeds are fixed, so the test gives the same answer
 * on every run: at a threshold of 1e-6 a correct library passes for nearly every choice of them.
 * That the test can fail is shown by three wrong rules, which it must reject.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "efface/efface.h"

#define N_FITS 30000u
#define ACCEPT 1e-6  /* p-values above are accepted ... */
#define REJECT 1e-12 /* ... and wrong rules must come out below */
#define MAX_ROWS 6
#define MAX_CELLS 1296 /* sequences of 4 out of 6 */

typedef struct point_set {
    const char *name;
    uint32_t n, d, k;
    float values[MAX_ROWS * 2]; /* whole numbers, so that the grid is exact */
    int64_t weights[MAX_ROWS];
} point_set;

static const point_set sets[] = {
    {"0 1 2 10", 4, 1, 2, {0, 1, 2, 10}, {1, 1, 1, 1}},
    {"0 1 2 10, weighted", 4, 1, 2, {0, 1, 2, 10}, {5, 1, 3, 1}},
    {"five in the plane", 5, 2, 3, {0, 0, 3, 1, -2, 4, 7, 7, 6, -5}, {1, 1, 1, 1, 1}},
    {"five in the plane, weighted", 5, 2, 4, {0, 0, 3, 1, -2, 4, 7, 7, 6, -5}, {2, 7, 1, 1, 3}},
    {"two places, three seeds", 5, 1, 3, {0, 0, 0, 5, 5}, {1, 2, 3, 1, 2}},
    {"all in one place", 4, 2, 4, {1, 1, 1, 1, 1, 1, 1, 1}, {1, 4, 2, 9}},
    {"six on a line", 6, 1, 3, {-7, -6, 0, 1, 3, 8}, {1, 1, 1, 1, 1, 1}},
};
#define N_SETS (sizeof sets / sizeof *sets)

/* ------------------------------------------------------------------ the probabilities */

typedef enum rule {
    RIGHT,      /* w u; if every u is 0, each row not chosen yet is as likely as the others */
    UNIFORM,    /* each row not chosen yet is as likely as the others */
    DISTANCE,   /* w sqrt(u) */
    UNWEIGHTED, /* u */
    N_RULES
} rule;

static double squared_distance(const point_set *s, uint32_t a, uint32_t b) {
    double sum = 0.0;
    for (uint32_t j = 0; j < s->d; j++) {
        const double x = (double)s->values[a * s->d + j] - (double)s->values[b * s->d + j];
        sum += x * x;
    }
    return sum;
}

/* The rate at which row i runs, given the seeds chosen in `n_chosen` rounds. */
static double rate(const point_set *s, rule r, uint32_t i, const uint32_t *chosen,
                   uint32_t n_chosen) {
    double u = 1.0;
    for (uint32_t l = 0; l < n_chosen; l++) {
        const double away = squared_distance(s, i, chosen[l]);
        u = l == 0 || away < u ? away : u;
    }
    switch (r) {
    case DISTANCE: return (double)s->weights[i] * sqrt(u);
    case UNWEIGHTED: return u;
    default: return (double)s->weights[i] * u;
    }
}

/* The rates of all rows in a round that is plain or among equals; returns their sum. */
static double rates_of(const point_set *s, rule r, const uint32_t *chosen, uint32_t n_chosen,
                       double *rates) {
    double total = 0.0;
    for (uint32_t i = 0; i < s->n; i++)
        total += rates[i] = rate(s, r, i, chosen, n_chosen);
    if (r != UNIFORM && total > 0.0)
        return total;
    for (uint32_t i = 0; i < s->n; i++)
        rates[i] = 1.0;
    for (uint32_t l = 0; l < n_chosen; l++)
        rates[chosen[l]] = 0.0;
    return s->n - n_chosen;
}

/* The number of a sequence of rows: its digits in base n. */
static uint32_t cell_of(const point_set *s, const uint32_t *chosen) {
    uint32_t cell = 0;
    for (uint32_t l = 0; l < s->k; l++)
        cell = cell * s->n + chosen[l];
    return cell;
}

static uint32_t n_cells(const point_set *s) {
    uint32_t n = 1;
    for (uint32_t l = 0; l < s->k; l++)
        n *= s->n;
    return n;
}

/* Adds up, for each sequence that begins with `chosen`, its probability. */
static void enumerate(const point_set *s, rule r, uint32_t *chosen, uint32_t n_chosen,
                      double probability, double *cells) {
    double rates[MAX_ROWS];
    if (n_chosen == s->k) {
        cells[cell_of(s, chosen)] = probability;
        return;
    }
    const double total = rates_of(s, r, chosen, n_chosen, rates);
    for (uint32_t i = 0; i < s->n; i++) {
        chosen[n_chosen] = i;
        if (rates[i] > 0.0)
            enumerate(s, r, chosen, n_chosen + 1, probability * rates[i] / total, cells);
    }
}

/* The sum of w u once row i is a seed too. */
static double potential(const point_set *s, uint32_t i, uint32_t *chosen, uint32_t n_chosen) {
    double sum = 0.0;
    chosen[n_chosen] = i;
    for (uint32_t row = 0; row < s->n; row++)
        sum += rate(s, RIGHT, row, chosen, n_chosen + 1);
    return sum;
}

/* The same for greedy seeding: every way in which the slots of a round can go, one row after the
 * other, of which the first with the smallest potential is taken. */
static void enumerate_greedy(const point_set *s, uint32_t n_slots, uint32_t *chosen,
                             uint32_t n_chosen, double probability, double *cells) {
    double rates[MAX_ROWS];
    if (n_chosen == s->k) {
        cells[cell_of(s, chosen)] += probability;
        return;
    }
    double u = 0.0;
    for (uint32_t i = 0; i < s->n; i++)
        u += rate(s, RIGHT, i, chosen, n_chosen);
    const double total = rates_of(s, RIGHT, chosen, n_chosen, rates);
    const uint32_t n = n_chosen == 0 || u == 0.0 ? 1 : n_slots;
    uint32_t n_ways = 1;
    for (uint32_t slot = 0; slot < n; slot++)
        n_ways *= s->n;
    double taken[MAX_ROWS] = {0.0};
    for (uint32_t way = 0; way < n_ways; way++) {
        double chance = 1.0, least = INFINITY;
        uint32_t best = 0, rest = way;
        for (uint32_t slot = 0; slot < n; slot++, rest /= s->n) {
            const uint32_t row = rest % s->n;
            const double left = n > 1 ? potential(s, row, chosen, n_chosen) : 0.0;
            chance *= rates[row] / total;
            best = left < least ? row : best;
            least = left < least ? left : least;
        }
        taken[best] += chance;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        chosen[n_chosen] = i;
        if (taken[i] > 0.0)
            enumerate_greedy(s, n_slots, chosen, n_chosen + 1, probability * taken[i], cells);
    }
}

static void greedy_probabilities(const point_set *s, uint32_t n_slots, double *cells) {
    uint32_t chosen[MAX_ROWS + 1] = {0};
    double sum = 0.0;
    memset(cells, 0, MAX_CELLS * sizeof *cells);
    enumerate_greedy(s, n_slots, chosen, 0, 1.0, cells);
    for (uint32_t i = 0; i < n_cells(s); i++)
        sum += cells[i];
    assert_true(fabs(sum - 1.0) < 1e-12);
}

/* The chance of a first seed and the winners of the two slots of round 1, as a number of three
 * digits in base n: slots are drawn like seeds, and have nothing to do with each other. */
static void slot_probabilities(const point_set *s, double *cells) {
    memset(cells, 0, MAX_CELLS * sizeof *cells);
    double first[MAX_ROWS], second[MAX_ROWS];
    const double total = rates_of(s, RIGHT, NULL, 0, first);
    for (uint32_t i = 0; i < s->n; i++) {
        const double all = rates_of(s, RIGHT, &i, 1, second);
        for (uint32_t a = 0; a < s->n; a++)
            for (uint32_t b = 0; b < s->n; b++)
                cells[(i * s->n + a) * s->n + b] =
                    first[i] / total * (second[a] / all) * (second[b] / all);
    }
}

static void probabilities(const point_set *s, rule r, double *cells) {
    uint32_t chosen[MAX_ROWS] = {0};
    assert_true(n_cells(s) <= MAX_CELLS);
    memset(cells, 0, MAX_CELLS * sizeof *cells);
    enumerate(s, r, chosen, 0, 1.0, cells);
    double sum = 0.0;
    for (uint32_t i = 0; i < n_cells(s); i++)
        sum += cells[i];
    assert_true(fabs(sum - 1.0) < 1e-12);
}

/* Whether two rules differ on a set: weights may be equal, or distances the same or 0. */
static int differ(const double *a, const double *b) {
    double sum = 0.0;
    for (uint32_t i = 0; i < MAX_CELLS; i++)
        sum += fabs(a[i] - b[i]);
    return sum > 1e-9;
}

/* ------------------------------------------------------------------ the statistic */

/* The chance that a chi-square variable with df degrees of freedom is at least x: the incomplete
 * gamma function Q(df / 2, x / 2), by Q(a + 1, y) = Q(a, y) + y^a e^-y / Gamma(a + 1) from
 * Q(1/2, y) = erfc(sqrt(y)) or Q(1, y) = e^-y. */
static double chi_square_p(double x, uint32_t df) {
    const double y = x / 2.0;
    double a = df % 2 == 1 ? 0.5 : 1.0;
    double q = df % 2 == 1 ? erfc(sqrt(y)) : exp(-y);
    double term = df % 2 == 1 ? exp(-y) * sqrt(y) / (0.5 * sqrt(acos(-1.0))) : exp(-y) * y;
    for (; 2.0 * a < df; a += 1.0) {
        q += term;
        term *= y / (a + 1.0);
    }
    return q;
}

/* The p-value of counts under probabilities. Cells that expect fewer than 10 are taken together; a
 * count where the probability is 0 is impossible. */
static double p_value(const uint32_t *counts, const double *cells, uint32_t n, uint32_t total) {
    double statistic = 0.0, rest_expected = 0.0, rest_count = 0.0;
    uint32_t n_terms = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double expected = cells[i] * total;
        if (cells[i] == 0.0 && counts[i] > 0)
            return 0.0;
        if (expected < 10.0) {
            rest_expected += expected;
            rest_count += counts[i];
            continue;
        }
        statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
        n_terms++;
    }
    if (rest_expected >= 5.0) {
        statistic += (rest_count - rest_expected) * (rest_count - rest_expected) / rest_expected;
        n_terms++;
    }
    assert_true(n_terms >= 2);
    return chi_square_p(statistic, n_terms - 1);
}

/* ------------------------------------------------------------------ the counts */

static uint64_t id_of(uint32_t row) {
    return UINT64_C(0x100000007) * (row + 3);
}

static efface_data *make_data(const point_set *s) {
    efface_data *data = NULL;
    uint64_t ids[MAX_ROWS];
    for (uint32_t i = 0; i < s->n; i++)
        ids[i] = id_of(i);
    const efface_rows rows = {
        .n_rows = s->n, .values = s->values, .ids = ids, .weights = s->weights};
    assert_int_equal(efface_data_create(s->d, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    return data;
}

/* docs/definition/format.md: what stands before the seeds, without minmax. */
#define FIRST_SEED_BYTE 92

/* Fits and hands out the winners of the seeding rounds as they stand in the canonical bytes: for
 * each an id and a key, 16 bytes. `slots`, unless NULL, get the same of the slots of round 1. */
static void fit_greedy(const efface_data *data, uint32_t k, uint64_t seed, uint32_t candidates,
                       unsigned char *winners, unsigned char *slots) {
    efface_kmeans_params params;
    efface_model *model = NULL;
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    efface_kmeans_params_init(&params);
    params.method = EFFACE_METHOD_LLOYD;
    params.n_clusters = k;
    params.common.seed = seed;
    params.iterations = 1;
    params.bound = 16.0;
    params.common.n_threads = 1;
    params.candidates = candidates;
    assert_int_equal(efface_kmeans_fit(data, &params, &model, NULL), EFFACE_OK);
    assert_int_equal(efface_model_encode(model, &bytes, &n_bytes, NULL), EFFACE_OK);
    assert_true(n_bytes > FIRST_SEED_BYTE + 16 * (size_t)k);
    memcpy(winners, bytes + FIRST_SEED_BYTE, 16 * (size_t)k);
    const unsigned char *const rounds = bytes + FIRST_SEED_BYTE + 16 * (size_t)k + 4;
    const size_t slot_bytes = 32 + 4 * (size_t)efface_data_n_columns(data);
    for (uint32_t i = 0; slots != NULL && i < candidates; i++)
        memcpy(slots + (size_t)16 * i, rounds + i * slot_bytes, 16);
    efface_bytes_free(bytes);
    efface_model_free(model);
}

static void fit_seeds(const efface_data *data, uint32_t k, uint64_t seed, unsigned char *winners) {
    fit_greedy(data, k, seed, 1, winners, NULL);
}

static uint32_t row_of_winner(const point_set *s, const unsigned char *winner) {
    uint64_t id = 0;
    for (size_t i = 8; i > 0; i--)
        id = id << 8 | winner[i - 1];
    for (uint32_t i = 0; i < s->n; i++)
        if (id_of(i) == id)
            return i;
    fail_msg("set \"%s\": the id %" PRIu64 " of a seed is no row's", s->name, id);
    return 0;
}

static void count_fits(const point_set *s, uint32_t candidates, uint32_t *counts) {
    efface_data *data = make_data(s);
    memset(counts, 0, MAX_CELLS * sizeof *counts);
    for (uint32_t seed = 0; seed < N_FITS; seed++) {
        unsigned char winners[16 * MAX_ROWS];
        uint32_t chosen[MAX_ROWS];
        fit_greedy(data, s->k, seed, candidates, winners, NULL);
        for (uint32_t l = 0; l < s->k; l++)
            chosen[l] = row_of_winner(s, winners + 16 * l);
        counts[cell_of(s, chosen)]++;
    }
    efface_data_free(data);
}

/* First seeds and the winners of the two slots of round 1. */
static void count_slots(const point_set *s, uint32_t *counts) {
    efface_data *data = make_data(s);
    memset(counts, 0, MAX_CELLS * sizeof *counts);
    for (uint32_t seed = 0; seed < N_FITS; seed++) {
        unsigned char winners[16 * MAX_ROWS], slots[2 * 16];
        fit_greedy(data, s->k, seed, 2, winners, slots);
        const uint32_t first = row_of_winner(s, winners);
        counts[(first * s->n + row_of_winner(s, slots)) * s->n + row_of_winner(s, slots + 16)]++;
    }
    efface_data_free(data);
}

/* Sequences drawn from given probabilities by a generator that has nothing to do with the tape. */
static void count_draws(const double *cells, uint32_t n, uint32_t *counts) {
    uint64_t state = 20191105;
    memset(counts, 0, MAX_CELLS * sizeof *counts);
    for (uint32_t draw = 0; draw < N_FITS; draw++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double left = (double)(state >> 11) * 0x1p-53;
        uint32_t i = 0;
        while (i + 1 < n && (left >= cells[i] || cells[i] == 0.0))
            left -= cells[i++];
        counts[i]++;
    }
}

/* ------------------------------------------------------------------ tests */

static void seeds_follow_kmeans_plus_plus(void **state) {
    (void)state;
    static uint32_t counts[MAX_CELLS];
    static double right[MAX_CELLS], cells[MAX_CELLS];
    for (size_t i = 0; i < N_SETS; i++) {
        const point_set *s = &sets[i];
        probabilities(s, RIGHT, right);
        count_fits(s, 1, counts);
        for (rule r = RIGHT; r < N_RULES; r++) {
            probabilities(s, r, cells);
            const double p = p_value(counts, cells, n_cells(s), N_FITS);
            if (r == RIGHT && p < ACCEPT)
                fail_msg("set \"%s\": p = %g, so the seeds are not k-means++", s->name, p);
            if (differ(cells, right) && p > REJECT)
                fail_msg("set \"%s\": the seeds also fit wrong rule %d, p = %g", s->name, (int)r,
                         p);
        }
    }
}

/* Greedy seeding chooses as enumeration says it does, and not as with another number of candidates.
 */
static void greedy_seeds_are_the_best_of_some(void **state) {
    (void)state;
    static uint32_t counts[MAX_CELLS];
    static double right[MAX_CELLS], cells[MAX_CELLS];
    for (size_t i = 0; i < N_SETS; i++)
        for (uint32_t c = 2; c < 4; c++) {
            const point_set *s = &sets[i];
            greedy_probabilities(s, c, right);
            count_fits(s, c, counts);
            const double p = p_value(counts, right, n_cells(s), N_FITS);
            if (p < ACCEPT)
                fail_msg("set \"%s\": p = %g, so the best of %u was not taken", s->name, p, c);
            for (uint32_t other = 1; other < 5; other++) {
                greedy_probabilities(s, other, cells);
                double apart = 0.0;
                for (uint32_t cell = 0; cell < n_cells(s); cell++)
                    apart += fabs(cells[cell] - right[cell]);
                const double q = p_value(counts, cells, n_cells(s), N_FITS);
                if (apart > 0.1 && q > REJECT)
                    fail_msg("set \"%s\": the best of %u also fits that of %u, p = %g", s->name, c,
                             other, q);
            }
        }
}

static void slots_are_independent(void **state) {
    (void)state;
    static uint32_t counts[MAX_CELLS];
    static double cells[MAX_CELLS];
    for (size_t i = 0; i < 4; i++) {
        const point_set *s = &sets[i];
        slot_probabilities(s, cells);
        count_slots(s, counts);
        const double p = p_value(counts, cells, s->n * s->n * s->n, N_FITS);
        if (p < ACCEPT)
            fail_msg("set \"%s\": p = %g, so slots are not drawn one by one", s->name, p);
    }
}

/* A library with a wrong rule would fail the test above: draws from the right probabilities pass
 * the same statistic, draws from wrong ones do not. */
static void wrong_rules_are_rejected(void **state) {
    (void)state;
    static uint32_t counts[MAX_CELLS];
    static double right[MAX_CELLS], cells[MAX_CELLS];
    for (size_t i = 0; i < N_SETS; i++) {
        const point_set *s = &sets[i];
        probabilities(s, RIGHT, right);
        for (rule r = RIGHT; r < N_RULES; r++) {
            probabilities(s, r, cells);
            count_draws(cells, n_cells(s), counts);
            const double p = p_value(counts, right, n_cells(s), N_FITS);
            if (differ(cells, right) ? p > REJECT : p < ACCEPT)
                fail_msg("set \"%s\", rule %d: p = %g", s->name, (int)r, p);
        }
    }
}

/* Quantiles from tables. */
static void p_values_are_right(void **state) {
    (void)state;
    static const struct {
        uint32_t df;
        double x, p;
    } known[] = {{1, 3.841459, 0.05},   {2, 5.991465, 0.05},   {5, 20.515006, 1e-3},
                 {10, 18.307038, 0.05}, {11, 48.865643, 1e-6}, {60, 127.09636, 1e-6}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(fabs(chi_square_p(known[i].x, known[i].df) / known[i].p - 1.0) < 1e-5);
}

/* Removing a row that won no round changes no winner and no key. */
static void losers_leave_no_trace(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SETS; i++) {
        const point_set *s = &sets[i];
        for (uint64_t seed = 0; s->k < s->n && seed < 300; seed++) {
            unsigned char before[16 * MAX_ROWS], after[16 * MAX_ROWS];
            int won[MAX_ROWS] = {0};
            efface_data *data = make_data(s);
            fit_seeds(data, s->k, seed, before);
            for (uint32_t l = 0; l < s->k; l++)
                won[row_of_winner(s, before + 16 * l)] = 1;
            for (uint32_t row = 0; row < s->n; row++) {
                const uint64_t id = id_of(row);
                if (won[row])
                    continue;
                assert_int_equal(efface_data_remove(data, &id, 1, NULL), EFFACE_OK);
                fit_seeds(data, s->k, seed, after);
                assert_memory_equal(before, after, 16 * (size_t)s->k);
            }
            efface_data_free(data);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p_values_are_right),
        cmocka_unit_test(wrong_rules_are_rejected),
        cmocka_unit_test(seeds_follow_kmeans_plus_plus),
        cmocka_unit_test(greedy_seeds_are_the_best_of_some),
        cmocka_unit_test(slots_are_independent),
        cmocka_unit_test(losers_leave_no_trace),
    };
    return cmocka_run_group_tests_name("seeding", tests, NULL, NULL);
}
