/* The pieces of the definition of docs/definition/forest.md, in its order. */
#include "law/forest_plain.h"

#include "law/draws.h"
#include "oracle/oracle.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Purposes of the tape, and of the numbers of a node. */
enum { ROOT_KEYS = 12, POISSON = 13, SOME_TREES = 14 };
enum { FREE_BITS = 8, STEP = 2 }; /* of margins */
enum { CHILD_KEYS = 1, SHUFFLE = 2, THRESHOLD = 3, MISSING_SIDE = 4, CATEGORIES = 5 };

#define MISSING_BITS UINT32_C(0x7fc00000)

/* ---------------------------------------------------------------- random numbers */

uint32_t forest_word(uint64_t seed, uint32_t purpose, uint64_t index, uint32_t step, unsigned i) {
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), step, purpose};
    const uint32_t halves[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t words[4];
    oracle_philox(counter, halves, words);
    return words[i];
}

uint64_t forest_tape(uint64_t seed, uint32_t purpose, uint64_t index, uint32_t step) {
    return (uint64_t)forest_word(seed, purpose, index, step, 0) +
           ((uint64_t)forest_word(seed, purpose, index, step, 1) << 32);
}

/* `mix` of the definition. */
static uint64_t finalized(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t forest_number(uint64_t key, uint64_t purpose, uint64_t index, uint64_t step) {
    const uint64_t g = UINT64_C(0x9E3779B97F4A7C15);
    return finalized(finalized(key + g * (purpose + 8 * step)) + g * (index + 1));
}

/* ---------------------------------------------------------------- values */

float forest_value(float x) {
    return fabsf(x) < 0x1p-100f ? 0.0f : x; /* NaN stays what it is */
}

static bool is_missing(float x) {
    return isnan(x);
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    if (is_missing(x))
        return MISSING_BITS;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The nearest double, of two that are equally near the even one. */
static double nearest_double(plain_i128 value) {
    plain_u128 size = value < 0 ? (plain_u128)0 - (plain_u128)value : (plain_u128)value;
    int shift = 0;
    while ((size >> shift) >= (plain_u128)1 << 53)
        shift++;
    uint64_t kept = (uint64_t)(size >> shift);
    if (shift > 0) {
        const plain_u128 rest = size - ((plain_u128)kept << shift);
        const plain_u128 half = (plain_u128)1 << (shift - 1);
        if (rest > half || (rest == half && kept % 2 == 1))
            kept++;
    }
    const double result = ldexp((double)kept, shift);
    return value < 0 ? -result : result;
}

/* ---------------------------------------------------------------- rows of a tree */

/* 1/e and its parts, in units of 2^-124: each division loses less than one unit, which is nothing
 * to the 64 bits that are wanted. */
uint64_t forest_poisson_bound(unsigned j) {
    const plain_i128 one = (plain_i128)1 << 124;
    plain_i128 inverse = 0, part = one;
    for (int i = 1; part != 0; i++) { /* 1/0! - 1/1! + 1/2! - ... */
        inverse += i % 2 == 1 ? part : -part;
        part /= i;
    }
    plain_i128 sum = 0, term = inverse;
    for (unsigned i = 0; i <= j; i++) {
        sum += term;
        term /= (plain_i128)i + 1;
    }
    return (uint64_t)(sum >> 60);
}

static unsigned poisson(uint64_t seed, uint64_t id, uint32_t tree) {
    static uint64_t bounds[20];
    const uint64_t r = forest_tape(seed, POISSON, id, tree);
    unsigned m = 0;
    for (unsigned j = 0; j < 20 && bounds[19] == 0; j++)
        bounds[j] = forest_poisson_bound(j);
    for (unsigned j = 0; j <= 19; j++)
        m += bounds[j] <= r;
    return m;
}

/* Whether a tree is among the first k of a shuffle. */
static bool is_chosen(uint64_t seed, uint64_t id, uint32_t tree, uint32_t n_trees, uint32_t k) {
    uint32_t *const order = make(n_trees, sizeof *order);
    bool chosen = false;
    for (uint32_t i = 0; i < n_trees; i++)
        order[i] = i;
    for (uint32_t i = 0; i < k && i < n_trees; i++) {
        const uint64_t q = forest_word(seed, SOME_TREES, id, i / 4, i % 4);
        const uint32_t other = i + (uint32_t)((q * (n_trees - i)) >> 32), here = order[i];
        order[i] = order[other];
        order[other] = here;
        chosen |= order[i] == tree;
    }
    free(order);
    return chosen;
}

unsigned forest_multiplicity(const efface_forest_params *params, uint64_t id, uint32_t tree) {
    const uint64_t seed = params->common.seed;
    switch (params->rows) {
    case EFFACE_FOREST_SOME:
        return is_chosen(seed, id, tree, params->n_trees, params->trees_of_row);
    case EFFACE_FOREST_POISSON: return poisson(seed, id, tree);
    default: return 1;
    }
}

/* ---------------------------------------------------------------- keys */

uint64_t forest_root_key(uint64_t seed, uint32_t tree) {
    return forest_tape(seed, ROOT_KEYS, tree, 0);
}

uint64_t forest_child_key(uint64_t key, bool right) {
    return forest_number(key, CHILD_KEYS, right ? 1 : 0, 0);
}

/* ---------------------------------------------------------------- thresholds */

/* The largest number that counts and is below x. */
static float next_below(float x) {
    return x == 0.0f ? -0x1p-100f : forest_value(nextafterf(x, -INFINITY));
}

/* The box of 0 <= lo < h. */
static void box_above_zero(float lo, float h, double *left, double *right) {
    double top = 0x1p-126;
    while (top <= (double)h)
        top *= 2.0;
    if ((double)lo < top / 2.0) {
        *left = 0.0;
        *right = top;
        return;
    }
    const uint32_t a = bits_of(lo), b = bits_of(h);
    unsigned bit = 31;
    while ((a >> bit & 1) == (b >> bit & 1))
        bit--;
    const uint32_t begin = a >> (bit + 1) << (bit + 1);
    *left = (double)float_of(begin);
    *right = (double)float_of(begin + (UINT32_C(1) << (bit + 1)));
}

void forest_box(float lo, float h, double *left, double *right) {
    if (lo < 0.0f && h >= 0.0f) {
        double size = 0x1p-100;
        while (-size > (double)lo || (double)h > size)
            size *= 2.0;
        *left = -size;
        *right = size;
    } else if (lo < 0.0f) {
        double mirrored_left, mirrored_right;
        box_above_zero(-h, -lo, &mirrored_left, &mirrored_right);
        *left = -mirrored_right;
        *right = -mirrored_left;
    } else {
        box_above_zero(lo, h, left, right);
    }
}

/* The largest float32 that is not above y and counts. */
static float down(double y) {
    if (y >= 0.0 && y < 0x1p-100)
        return 0.0f;
    if (y > -0x1p-100 && y < 0.0)
        return -0x1p-100f;
    float x = (float)y;
    while ((double)x > y)
        x = nextafterf(x, -INFINITY);
    return x;
}

/* A threshold of a column without a unit. */
static float even_threshold(uint64_t key, uint32_t column, float lo, float hi) {
    const float h = next_below(hi);
    double left, right, y;
    if (h == lo)
        return lo;
    forest_box(lo, h, &left, &right);
    for (uint64_t i = 0;; i++) {
        const uint64_t r = forest_number(key, THRESHOLD, column, i);
        const double v = ((double)(r / 4096) + 0.5) * 0x1p-52;
        const double width = right - left;
        const double step = v * width;
        y = left + step;
        if (y < (double)lo)
            left = y;
        else if (y >= (double)hi)
            right = y;
        else
            break;
    }
    return down(y);
}

/* ---------------------------------------------------------------- long tails */

#define LEAST_SIZE (-98)
#define SIZE_STEP 4
#define N_SIZES 57 /* up to 126 */

/* The smallest size that at least part / 16 of n values do not exceed. */
static int size_of_most(const size_t *counts, size_t n, size_t part) {
    size_t n_within = counts[0];
    int number = 0;
    while (16 * n_within < part * n)
        n_within += counts[++number];
    return LEAST_SIZE + SIZE_STEP * number;
}

int forest_unit(const float *values, size_t n, size_t stride) {
    size_t counts[N_SIZES] = {0}, n_sized = 0;
    int top = LEAST_SIZE;
    for (size_t i = 0; i < n; i++) {
        const float x = values[i * stride];
        int e = LEAST_SIZE;
        if (is_missing(x) || x == 0.0f)
            continue;
        while (fabs((double)x) > ldexp(1.0, e))
            e += SIZE_STEP;
        counts[(e - LEAST_SIZE) / SIZE_STEP]++;
        n_sized++;
        top = e > top ? e : top;
    }
    if (n_sized == 0 || top - size_of_most(counts, n_sized, 11) < 8)
        return FOREST_NO_UNIT;
    return size_of_most(counts, n_sized, 1);
}

static int64_t key_of(float x) {
    return x < 0.0f ? -(int64_t)bits_of(-x) : (int64_t)bits_of(x);
}

static float value_of_key(int64_t key) {
    return key < 0 ? -float_of((uint32_t)-key) : float_of((uint32_t)key);
}

static int64_t key_of_unit(int unit) {
    return ((int64_t)unit + 127) * (1 << 23);
}

/* The key of a place on the scale of a unit. */
static int64_t key_of_place(int unit, int64_t place) {
    if (place < 0)
        return -key_of_place(unit, -place);
    if (place < INT64_C(1) << 40)
        return key_of(down(ldexp((double)place, unit - 40)));
    const int64_t key = key_of_unit(unit) + (place - (INT64_C(1) << 40)) / (1 << 17);
    return key < 0x7f7fffff ? key : 0x7f7fffff;
}

/* The place of a value. */
static int64_t place_of(int unit, float x) {
    if (x < 0.0f)
        return -place_of(unit, -x);
    if (key_of(x) >= key_of_unit(unit))
        return (INT64_C(1) << 40) + (key_of(x) - key_of_unit(unit)) * (1 << 17);
    return (int64_t)floor(ldexp((double)x, 40 - unit));
}

/* A threshold on the scale of a unit; false if none is found. */
static bool scaled_threshold(uint64_t key, uint32_t column, int unit, float lo, float hi,
                             float *threshold) {
    const int64_t middle = INT64_C(1) << 50;
    const uint64_t a = (uint64_t)(place_of(unit, lo) + middle);
    const uint64_t b = (uint64_t)(place_of(unit, hi) + middle);
    unsigned n_bits = 0;
    if (a == b)
        return false;
    while (a >> n_bits != b >> n_bits)
        n_bits++;
    uint64_t left = a >> n_bits << n_bits, right = left + (UINT64_C(1) << n_bits);
    for (uint64_t i = 0; left < right; i++) {
        const uint64_t r = forest_number(key, THRESHOLD, column, i);
        const uint64_t p = left + (uint64_t)(((plain_u128)r * (right - left)) >> 64);
        const int64_t k = key_of_place(unit, (int64_t)p - middle);
        if (k < key_of(lo)) {
            left = p + 1;
        } else if (k >= key_of(hi)) {
            right = p;
        } else {
            *threshold = value_of_key(k);
            return true;
        }
    }
    return false;
}

float forest_threshold(uint64_t key, uint32_t column, int unit, float lo, float hi) {
    float threshold;
    if (unit != FOREST_NO_UNIT && scaled_threshold(key, column, unit, lo, hi, &threshold))
        return threshold;
    return even_threshold(key, column, lo, hi);
}

/* ---------------------------------------------------------------- sides */

bool forest_mixed_left(uint32_t s, float x) {
    uint32_t h = s + bits_of(forest_value(x));
    h ^= h >> 16;
    h *= UINT32_C(0x7feb352d);
    h ^= h >> 15;
    h *= UINT32_C(0x846ca68b);
    h ^= h >> 16;
    return (h & 1) == 1;
}

bool forest_goes_left(const forest_split *split, float x) {
    if (split->kind == 2)
        return forest_mixed_left(split->s, x);
    if (is_missing(x))
        return split->missing_left;
    return forest_value(x) <= split->threshold;
}

bool forest_same_split(const forest_split *a, const forest_split *b) {
    if (a->kind != b->kind)
        return false;
    if (a->kind == 0)
        return true;
    if (a->column != b->column)
        return false;
    if (a->kind == 2)
        return a->s == b->s;
    return bits_of(a->threshold) == bits_of(b->threshold) && a->missing_left == b->missing_left;
}

/* ---------------------------------------------------------------- the rows that take part */

static int compare_labels(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void number_classes(forest_set *set, const law_rows *rows) {
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (rows->labels[i] != EFFACE_NO_LABEL)
            set->labels[n++] = rows->labels[i];
    qsort(set->labels, n, sizeof *set->labels, compare_labels);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || set->labels[i] != set->labels[i - 1])
            set->labels[set->n_classes++] = set->labels[i];
}

static uint32_t class_of(const forest_set *set, int64_t label) {
    uint32_t number = 0;
    while (set->labels[number] != label)
        number++;
    return number;
}

/* The smallest from -100 on such that no target is larger than 2 to that power. */
static int exponent_of(const law_rows *rows, const efface_forest_params *p) {
    double most = p->bound;
    for (size_t i = 0; p->bound == 0.0 && i < rows->n; i++) {
        const float x = rows->values[i * rows->d + p->target];
        if (!is_missing(x) && fabs((double)x) > most)
            most = fabs((double)x);
    }
    int exponent = -100;
    while (ldexp(1.0, exponent) < most)
        exponent++;
    return exponent;
}

forest_set *forest_make_set(const law_rows *rows, const efface_forest_params *params) {
    forest_set *const set = make(1, sizeof *set);
    const uint32_t d = rows->d;
    const bool has_target = params->target != EFFACE_NO_COLUMN;
    set->params = params;
    set->d = d;
    set->inputs = make(d, sizeof *set->inputs);
    for (uint32_t j = 0; j < d; j++)
        if (j != params->target)
            set->inputs[set->n_inputs++] = j;
    set->values = make(rows->n * d, sizeof *set->values);
    set->ids = make(rows->n, sizeof *set->ids);
    set->weights = make(rows->n, sizeof *set->weights);
    set->classes = make(rows->n, sizeof *set->classes);
    set->targets = make(rows->n, sizeof *set->targets);
    set->labels = make(rows->n, sizeof *set->labels);
    if (has_target)
        set->exponent = exponent_of(rows, params);
    else
        number_classes(set, rows);
    for (size_t i = 0; i < rows->n; i++) {
        const float *const row = rows->values + i * d;
        if (has_target ? is_missing(row[params->target]) : rows->labels[i] == EFFACE_NO_LABEL)
            continue;
        for (uint32_t j = 0; j < d; j++)
            set->values[set->n * d + j] = forest_value(row[j]);
        set->ids[set->n] = rows->ids[i];
        set->weights[set->n] = rows->weights[i];
        if (has_target)
            set->targets[set->n] = (int64_t)nearbyint(
                ldexp((double)forest_value(row[params->target]), 23 - set->exponent));
        else
            set->classes[set->n] = class_of(set, rows->labels[i]);
        set->n++;
    }
    set->units = make(d, sizeof *set->units);
    for (uint32_t j = 0; j < d; j++)
        set->units[j] = forest_unit(set->values + j, set->n, d);
    return set;
}

void forest_free_set(forest_set *set) {
    free(set->inputs);
    free(set->values);
    free(set->ids);
    free(set->weights);
    free(set->classes);
    free(set->targets);
    free(set->labels);
    free(set->units);
    free(set);
}

forest_member *forest_members(const forest_set *set, uint32_t tree, size_t *n) {
    forest_member *const members = make(set->n, sizeof *members);
    *n = 0;
    for (size_t i = 0; i < set->n; i++) {
        const unsigned m = forest_multiplicity(set->params, set->ids[i], tree);
        if (m != 0)
            members[(*n)++] = (forest_member){i, (int64_t)m * set->weights[i]};
    }
    return members;
}

/* ---------------------------------------------------------------- candidates */

static float value_at(const forest_set *set, const forest_member *member, uint32_t column) {
    return set->values[member->row * set->d + column];
}

static bool is_category(const forest_set *set, uint32_t column) {
    for (uint32_t i = 0; i < set->params->n_categories; i++)
        if (set->params->categories[i] == column)
            return true;
    return false;
}

/* How many rows go left. */
static size_t count_left(const forest_set *set, const forest_split *split,
                         const forest_member *members, size_t n) {
    size_t n_left = 0;
    for (size_t i = 0; i < n; i++)
        n_left += forest_goes_left(split, value_at(set, &members[i], split->column));
    return n_left;
}

/* The first of the mixes that divides the rows; false if they are of one category. */
static bool split_categories(const forest_set *set, const forest_member *members, size_t n,
                             uint64_t key, forest_split *split) {
    const uint32_t first = bits_of(value_at(set, &members[0], split->column));
    bool differ = false;
    for (size_t i = 0; i < n; i++)
        differ |= bits_of(value_at(set, &members[i], split->column)) != first;
    if (!differ)
        return false;
    split->kind = 2;
    for (uint64_t i = 0;; i++) {
        split->s = (uint32_t)forest_number(key, CATEGORIES, split->column, i);
        const size_t n_left = count_left(set, split, members, n);
        if (n_left != 0 && n_left != n)
            return true;
    }
}

static bool split_numbers(const forest_set *set, const forest_member *members, size_t n,
                          uint64_t key, forest_split *split) {
    float lo = INFINITY, hi = -INFINITY;
    size_t n_missing = 0;
    for (size_t i = 0; i < n; i++) {
        const float x = value_at(set, &members[i], split->column);
        n_missing += is_missing(x);
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
    }
    if (n_missing == n || (lo == hi && n_missing == 0))
        return false;
    split->kind = 1;
    if (lo == hi) {
        split->threshold = INFINITY;
        return true;
    }
    split->threshold = forest_threshold(key, split->column, set->units[split->column], lo, hi);
    split->missing_left =
        set->params->missing != 0 && (forest_number(key, MISSING_SIDE, split->column, 0) & 1) == 1;
    return true;
}

static uint32_t count_wanted(const forest_set *set) {
    const uint32_t f = set->n_inputs, few = f < 5 ? f : 5;
    if (set->params->n_candidates != 0)
        return set->params->n_candidates < f ? set->params->n_candidates : f;
    uint32_t root = 0;
    while ((root + 1) * (root + 1) <= f)
        root++;
    const uint32_t part = set->params->target == EFFACE_NO_COLUMN ? 2 * root / 3 : f / 3;
    return part > few ? part : few;
}

/* ---------------------------------------------------------------- scores */

/* What is on the sides of a split. */
typedef struct sides {
    int64_t n_left, n_right; /* rows */
    int64_t left, right;     /* N_L and N_R */
    int64_t *left_of, *right_of;
    plain_i128 sum_left, sum_right; /* of w g */
} sides;

static double gini(const sides *s, uint64_t n_classes) {
    plain_i128 a = 0, b = 0;
    for (uint64_t c = 0; c < n_classes; c++) {
        a += (plain_i128)s->left_of[c] * s->left_of[c];
        b += (plain_i128)s->right_of[c] * s->right_of[c];
    }
    const double of_left = nearest_double(a) / (double)s->left;
    const double of_right = nearest_double(b) / (double)s->right;
    return of_left + of_right;
}

static double times_log(int64_t weight) {
    return weight == 0 ? 0.0 : (double)weight * oracle_log((double)weight);
}

static double entropy(const sides *s, uint64_t n_classes) {
    double score = 0.0;
    for (uint64_t c = 0; c < n_classes; c++) {
        score += times_log(s->left_of[c]);
        score += times_log(s->right_of[c]);
    }
    score -= times_log(s->left);
    score -= times_log(s->right);
    return score;
}

static double squares(const sides *s) {
    const plain_i128 weight = (plain_i128)s->left + s->right, sum = s->sum_left + s->sum_right;
    const plain_i128 product = weight * s->sum_left - s->left * sum;
    const double d = nearest_double(product);
    const double of_left = d / (double)s->left;
    const double of_right = d / (double)s->right;
    return of_left * of_right;
}

/* `s` has room for all classes. */
static double score_of(const forest_set *set, const forest_split *split,
                       const forest_member *members, size_t n, sides *s) {
    memset(s->left_of, 0, set->n_classes * sizeof *s->left_of);
    memset(s->right_of, 0, set->n_classes * sizeof *s->right_of);
    s->n_left = s->n_right = s->left = s->right = 0;
    s->sum_left = s->sum_right = 0;
    for (size_t i = 0; i < n; i++) {
        const forest_member *const m = &members[i];
        const bool left = forest_goes_left(split, value_at(set, m, split->column));
        *(left ? &s->n_left : &s->n_right) += 1;
        *(left ? &s->left : &s->right) += m->weight;
        (left ? s->left_of : s->right_of)[set->classes[m->row]] += m->weight;
        *(left ? &s->sum_left : &s->sum_right) += (plain_i128)m->weight * set->targets[m->row];
    }
    if (set->params->target != EFFACE_NO_COLUMN)
        return squares(s);
    return set->params->criterion == EFFACE_CRITERION_ENTROPY ? entropy(s, set->n_classes)
                                                              : gini(s, set->n_classes);
}

/* ---------------------------------------------------------------- margins */

/* G of the definition. */
static double gain_by_chance(const forest_set *set, const forest_member *members, size_t n) {
    int64_t *const of = make(set->n_classes, sizeof *of);
    int64_t weight = 0;
    plain_i128 sum = 0, squares = 0, counts = 0;
    double entropy = 0.0;
    for (size_t i = 0; i < n; i++) {
        const plain_i128 g = set->targets[members[i].row], w = members[i].weight;
        weight += members[i].weight;
        of[set->classes[members[i].row]] += members[i].weight;
        sum += w * g;
        squares += w * g * g;
    }
    for (uint64_t c = 0; c < set->n_classes; c++) {
        counts += (plain_i128)of[c] * of[c];
        entropy += times_log(of[c]);
    }
    free(of);
    if (set->params->target != EFFACE_NO_COLUMN)
        return nearest_double(weight * squares - sum * sum);
    if (set->params->criterion == EFFACE_CRITERION_ENTROPY)
        return fmin(times_log(weight) - entropy, 0.5 * (double)weight);
    const double score = nearest_double(counts) / (double)weight;
    return fmin((double)weight - score, score);
}

static double margin_of(const forest_set *set, const forest_member *members, size_t n) {
    int steps = -FREE_BITS;
    for (size_t rest = n; rest > 1; rest /= 2)
        steps++;
    if (steps <= 0)
        return 0.0;
    const double times = (double)(STEP * steps) * gain_by_chance(set, members, n);
    return times / (double)n;
}

/* ---------------------------------------------------------------- the best candidate */

static bool all_alike(const forest_set *set, const forest_member *members, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (set->classes[members[i].row] != set->classes[members[0].row] ||
            set->targets[members[i].row] != set->targets[members[0].row])
            return false;
    return true;
}

forest_split forest_best_split(const forest_set *set, const forest_member *members, size_t n,
                               uint64_t key, uint32_t depth) {
    const efface_forest_params *const p = set->params;
    const forest_split leaf = {.kind = 0};
    if ((p->max_depth != 0 && depth == p->max_depth) || n < p->min_split ||
        all_alike(set, members, n))
        return leaf;
    const uint32_t f = set->n_inputs, n_wanted = count_wanted(set);
    uint32_t *const order = make(f, sizeof *order);
    memcpy(order, set->inputs, f * sizeof *order);
    sides s = {.left_of = make(set->n_classes, sizeof *s.left_of),
               .right_of = make(set->n_classes, sizeof *s.right_of)};
    forest_split best = leaf;
    double best_score = 0.0;
    const double margin = margin_of(set, members, n);
    uint32_t n_candidates = 0;
    for (uint32_t i = 0; i < f && n_candidates < n_wanted; i++) {
        const uint64_t two = forest_number(key, SHUFFLE, i / 2, 0);
        const uint64_t q = i % 2 == 0 ? two & UINT32_MAX : two >> 32;
        const uint32_t other = i + (uint32_t)((q * (f - i)) >> 32), here = order[i];
        order[i] = order[other];
        order[other] = here;
        forest_split split = {.column = order[i]};
        if (!(is_category(set, order[i]) ? split_categories(set, members, n, key, &split)
                                         : split_numbers(set, members, n, key, &split)))
            continue;
        n_candidates++;
        const double score = score_of(set, &split, members, n, &s);
        if (s.n_left < (int64_t)p->min_leaf || s.n_right < (int64_t)p->min_leaf)
            continue;
        if (best.kind == 0 || score > best_score + margin) {
            best = split;
            best_score = score;
        }
    }
    free(order);
    free(s.left_of);
    free(s.right_of);
    return best;
}

size_t forest_part(const forest_set *set, const forest_split *split, forest_member *members,
                   size_t n) {
    forest_member *const right = make(n, sizeof *right);
    size_t n_left = 0, n_right = 0;
    for (size_t i = 0; i < n; i++) {
        if (forest_goes_left(split, value_at(set, &members[i], split->column)))
            members[n_left++] = members[i];
        else
            right[n_right++] = members[i];
    }
    memcpy(members + n_left, right, n_right * sizeof *right);
    free(right);
    return n_left;
}
