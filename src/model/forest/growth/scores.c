/* How good a split is, and how much better a later one has to be. */
#include "model/forest/growth/scores.h"

#include "base/random/tape.h"

#define MARGIN_BITS 8
#define MARGIN_STEP 2

_Static_assert(EF_MARGIN_ROWS == 2 << MARGIN_BITS, "the first step");

/* ---------------------------------------------------------------- scores */

static double entropy_term(int64_t weight) {
    return weight > 0 ? (double)weight * ef_log((double)weight) : 0.0;
}

double ef_score_classes(bool by_entropy, const int64_t *left, const int64_t *all, uint32_t n,
                        int64_t left_weight, int64_t weight) {
    const int64_t right_weight = weight - left_weight;
    if (by_entropy) {
        double sum = 0.0;
        for (uint32_t s = 0; s < n; s++) {
            sum += entropy_term(left[s]);
            sum += entropy_term(all[s] - left[s]);
        }
        sum -= entropy_term(left_weight);
        return sum - entropy_term(right_weight);
    }
    if (weight < (int64_t)1 << 31) {
        int64_t a = 0, b = 0;
        for (uint32_t s = 0; s < n; s++) {
            const int64_t l = left[s], r = all[s] - l;
            a += l * l;
            b += r * r;
        }
        return (double)a / (double)left_weight + (double)b / (double)right_weight;
    }
    ef_i128 a = 0, b = 0;
    for (uint32_t s = 0; s < n; s++) {
        const ef_i128 l = left[s], r = all[s] - left[s];
        a += l * l;
        b += r * r;
    }
    return ef_i128_to_double(a) / (double)left_weight + ef_i128_to_double(b) / (double)right_weight;
}

double ef_score_targets(int64_t left_weight, int64_t left_sum, int64_t weight, int64_t sum) {
    const double d = ef_i128_to_double((ef_i128)weight * left_sum - (ef_i128)left_weight * sum);
    return (d / (double)left_weight) * (d / (double)(weight - left_weight));
}

/* ---------------------------------------------------------------- margins */

/* Where no candidate helps, the scores of all differ by chance alone, about as much as one row can
 * gain, and a row that leaves often puts another one first. So a later candidate has to be better
 * by several times that: by more in larger nodes, which cost more to grow, and by nothing in small
 * ones. `gain` is n_rows times what chance gains. */
static double margin_by_chance(double gain, size_t n_rows) {
    unsigned steps = 0;
    while (n_rows >> (steps + MARGIN_BITS) > 1)
        steps++;
    return steps == 0 ? 0.0 : (double)(MARGIN_STEP * steps) * gain / (double)n_rows;
}

static double smaller(double a, double b) {
    return a < b ? a : b;
}

/* Of k classes of one size, chance gains a share of 1 / k for each row: that is the score of the
 * node itself. Never is it more than what can be gained. */
double ef_margin_classes(bool by_entropy, const int64_t *all, uint32_t n, int64_t weight,
                         size_t n_rows) {
    double sum = 0.0;
    ef_i128 squares = 0;
    if (n_rows < EF_MARGIN_ROWS)
        return 0.0;
    if (by_entropy) {
        for (uint32_t s = 0; s < n; s++)
            sum += entropy_term(all[s]);
        return margin_by_chance(smaller(entropy_term(weight) - sum, 0.5 * (double)weight), n_rows);
    }
    for (uint32_t s = 0; s < n; s++)
        squares += (ef_i128)all[s] * all[s];
    const double score = ef_i128_to_double(squares) / (double)weight;
    return margin_by_chance(smaller((double)weight - score, score), n_rows);
}

double ef_margin_targets(int64_t weight, int64_t sum, ef_i128 squares, size_t n_rows) {
    return margin_by_chance(ef_i128_to_double(squares * weight - (ef_i128)sum * sum), n_rows);
}
