/* The best split of some rows. */
#include "model/forest/splitting.h"

#include "base/checked.h"
#include "base/tape.h"
#include "base/wide.h"

#include <assert.h>

#define NEAR ((size_t)512 << 10) /* bytes of rows that stay in a near cache */

bool ef_chooser_init(ef_chooser *c, const ef_rules *rules, const ef_forest_rows *rows) {
    *c = (ef_chooser){.rules = rules, .rows = rows};
    const size_t n = rules->n_inputs;
    c->candidates = ef_alloc(rules->n_candidates, sizeof *c->candidates);
    c->skipped = ef_alloc(n, sizeof *c->skipped);
    c->order = ef_alloc(n, sizeof *c->order);
    c->in_order = ef_alloc(n, sizeof *c->in_order);
    c->differs = ef_alloc(rows->row_bytes, 1);
    if (c->candidates == NULL || c->differs == NULL || c->skipped == NULL || c->order == NULL ||
        c->in_order == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        c->in_order[i] = (uint16_t)i;
    return true;
}

void ef_chooser_clear(ef_chooser *c) {
    ef_free(c->candidates);
    ef_free(c->left);
    ef_free(c->skipped);
    ef_free(c->order);
    ef_free(c->in_order);
    ef_free(c->differs);
    ef_free(c->strip);
    *c = (ef_chooser){0};
}

/* Room that need not keep what was in it. */
static bool make_room(void *array, size_t *capacity, size_t n, size_t size) {
    void **const at = array;
    if (n <= *capacity)
        return true;
    n += n / 4;
    void *const larger = ef_alloc(n, size);
    if (larger == NULL)
        return false;
    ef_free(*at);
    *at = larger;
    *capacity = n;
    return true;
}

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

bool ef_is_leaf(const ef_rules *rules, const ef_bunch *b, uint32_t depth) {
    if ((rules->max_depth != 0 && depth >= rules->max_depth) || b->n < rules->min_split)
        return true;
    if (rules->of_classes)
        return b->n_segments <= 1;
    for (size_t i = 1; i < b->n; i++)
        if (b->targets[i] != b->targets[0])
            return false;
    return true;
}

/* ---------------------------------------------------------------- codes of a column */

typedef struct range {
    int32_t lo, hi; /* codes of values that are not missing */
    bool misses;
} range;

/* What is done to codes of each width. */
#define FOR_CODES(type, counter)                                                                   \
    static void gather_##type(const type *column, const uint32_t *slots, size_t n, type *to) {     \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = column[slots[i]];                                                              \
    }                                                                                              \
                                                                                                   \
    /* The same from rows that are so many bytes long. */                                          \
    static void pick_##type(const unsigned char *rows, size_t row_bytes, const uint32_t *slots,    \
                            size_t n, type *to) {                                                  \
        for (size_t i = 0; i < n; i++)                                                             \
            memcpy(&to[i], rows + slots[i] * row_bytes, sizeof to[i]);                             \
    }                                                                                              \
                                                                                                   \
    static range range_of_##type(const type *codes, size_t n) {                                    \
        type lo = codes[0], hi = codes[0];                                                         \
        for (size_t i = 1; i < n; i++) {                                                           \
            lo = codes[i] < lo ? codes[i] : lo;                                                    \
            hi = codes[i] > hi ? codes[i] : hi;                                                    \
        }                                                                                          \
        return (range){lo, hi, false};                                                             \
    }                                                                                              \
                                                                                                   \
    /* Both at once for few rows. */                                                               \
    static range pick_range_##type(const unsigned char *const *rows, size_t offset, size_t n,      \
                                   type *to) {                                                     \
        type lo, hi;                                                                               \
        memcpy(&lo, rows[0] + offset, sizeof lo);                                                  \
        hi = to[0] = lo;                                                                           \
        for (size_t i = 1; i < n; i++) {                                                           \
            memcpy(&to[i], rows[i] + offset, sizeof to[i]);                                        \
            lo = to[i] < lo ? to[i] : lo;                                                          \
            hi = to[i] > hi ? to[i] : hi;                                                          \
        }                                                                                          \
        return (range){lo, hi, false};                                                             \
    }                                                                                              \
                                                                                                   \
    /* How many of the first are up to the cut, for each of few. */                                \
    static void count_on_##type(const type *codes, size_t n, type cut, uint32_t *counts) {         \
        uint32_t count = 0;                                                                        \
        for (size_t i = 0; i < n; i++) {                                                           \
            count += (uint32_t)(codes[i] <= cut);                                                  \
            counts[i] = count;                                                                     \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* So few at a time that the count of them fits the width of a code. */                        \
    static uint32_t count_up_to_##type(const type *codes, size_t n, type cut) {                    \
        uint32_t count = 0;                                                                        \
        size_t i = 0;                                                                              \
        for (; i + 64 <= n; i += 64) {                                                             \
            counter part = 0;                                                                      \
            for (size_t k = 0; k < 64; k++)                                                        \
                part = (counter)(part + (codes[i + k] <= cut));                                    \
            count += part;                                                                         \
        }                                                                                          \
        for (; i < n; i++)                                                                         \
            count += (uint32_t)(codes[i] <= cut);                                                  \
        return count;                                                                              \
    }                                                                                              \
                                                                                                   \
    static uint32_t count_equal_##type(const type *codes, size_t n, type code) {                   \
        uint32_t count = 0;                                                                        \
        size_t i = 0;                                                                              \
        for (; i + 64 <= n; i += 64) {                                                             \
            counter part = 0;                                                                      \
            for (size_t k = 0; k < 64; k++)                                                        \
                part = (counter)(part + (codes[i + k] == code));                                   \
            count += part;                                                                         \
        }                                                                                          \
        for (; i < n; i++)                                                                         \
            count += (uint32_t)(codes[i] == code);                                                 \
        return count;                                                                              \
    }                                                                                              \
                                                                                                   \
    /* Weights, or weighted targets, of those that go left. */                                     \
    static int64_t weigh_##type(const type *codes, const int64_t *weights, const int32_t *targets, \
                                size_t n, type cut) {                                              \
        int64_t sum = 0;                                                                           \
        for (size_t i = 0; weights != NULL && targets != NULL && i < n; i++)                       \
            sum += codes[i] <= cut ? weights[i] * targets[i] : 0;                                  \
        for (size_t i = 0; weights == NULL && i < n; i++)                                          \
            sum += codes[i] <= cut ? targets[i] : 0;                                               \
        for (size_t i = 0; targets == NULL && i < n; i++)                                          \
            sum += codes[i] <= cut ? weights[i] : 0;                                               \
        return sum;                                                                                \
    }

FOR_CODES(uint8_t, uint8_t)
FOR_CODES(int16_t, uint16_t)
FOR_CODES(int32_t, uint32_t)

/* Calls what is right for a width, with codes of that width. */
#define BY_WIDTH(width, function, codes, ...)                                                      \
    ((width) == 1   ? function##_uint8_t((void *)(codes), __VA_ARGS__)                             \
     : (width) == 2 ? function##_int16_t((void *)(codes), __VA_ARGS__)                             \
                    : function##_int32_t((void *)(codes), __VA_ARGS__))

/* Keys of which some may be missing. */
static range range_that_misses(const int32_t *keys, size_t n) {
    range r = {INT32_MAX, INT32_MIN, false};
    for (size_t i = 0; i < n; i++) {
        const int32_t low = keys[i] == EF_KEY_MISSING ? INT32_MAX : keys[i];
        r.misses |= keys[i] == EF_KEY_MISSING;
        r.lo = low < r.lo ? low : r.lo;
        r.hi = keys[i] > r.hi ? keys[i] : r.hi;
    }
    return r;
}

/* Whether a column can divide the rows. That of categories can if two differ, be one missing. */
static bool divides(range r) {
    return r.lo < r.hi || (r.misses && r.hi != EF_KEY_MISSING);
}

/* A column, and room for the codes of all rows of a node. */
typedef struct strip {
    const ef_chooser *c;
    const ef_bunch *bunch;
    const ef_input_format *format;
    uint16_t input;
    bool from_rows;
    void *codes;
} strip;

/* Whether the rows of a node take less memory than the columns that will be looked at. */
static bool picks_rows(const ef_chooser *c, size_t n) {
    const ef_forest_rows *const rows = c->rows;
    return n * rows->n_inputs <= (size_t)c->rules->n_candidates * rows->n_slots &&
           n * rows->row_bytes <= NEAR;
}

/* Gathers the codes of a column, from rows or from columns. */
static void gather(const strip *s) {
    const ef_forest_rows *const rows = s->c->rows;
    const uint32_t *const slots = s->bunch->slots;
    const size_t n = s->bunch->n;
    const unsigned char *const column = ef_input_column(rows, s->input);
    const unsigned char *const in_rows = rows->by_row + s->format->offset;
    if (!s->from_rows) {
        if (s->format->width == 1)
            gather_uint8_t(column, slots, n, s->codes);
        else if (s->format->width == 2)
            gather_int16_t((const void *)column, slots, n, s->codes);
        else
            gather_int32_t((const void *)column, slots, n, s->codes);
    } else {
        if (s->format->width == 1)
            pick_uint8_t(in_rows, rows->row_bytes, slots, n, s->codes);
        else if (s->format->width == 2)
            pick_int16_t(in_rows, rows->row_bytes, slots, n, s->codes);
        else
            pick_int32_t(in_rows, rows->row_bytes, slots, n, s->codes);
    }
}

/* Gathers, and finds the range. */
static range look_at(const strip *s) {
    const size_t n = s->bunch->n;
    if (n < EF_FEW_ROWS && !(s->format->width == 4 && s->c->rules->may_miss)) {
        const unsigned char *const *const at = s->c->row_at;
        const size_t offset = s->format->offset;
        return s->format->width == 1   ? pick_range_uint8_t(at, offset, n, s->codes)
               : s->format->width == 2 ? pick_range_int16_t(at, offset, n, s->codes)
                                       : pick_range_int32_t(at, offset, n, s->codes);
    }
    gather(s);
    if (s->format->width == 4 && s->c->rules->may_miss)
        return range_that_misses(s->codes, n);
    return BY_WIDTH(s->format->width, range_of, s->codes, n);
}

/* ---------------------------------------------------------------- candidates */

/* The first draw of sides that leaves both with rows. Codes of categories are keys. */
static void draw_sides(const strip *s, uint64_t key, ef_candidate *to) {
    const uint32_t column = s->c->rules->columns[s->input];
    const int32_t *const keys = s->codes;
    for (uint32_t draw = 0;; draw++) {
        const uint32_t salt = ef_draw_salt(key, column, draw);
        bool left = false, right = false;
        for (size_t i = 0; i < s->bunch->n && !(left && right); i++) {
            const bool goes_left = ef_category_left(salt, keys[i]);
            left |= goes_left;
            right |= !goes_left;
        }
        if (left && right) {
            to->cut = (int32_t)salt;
            to->lo = (int32_t)draw;
            to->hi = 0;
            return;
        }
    }
}

static void make_candidate(const strip *s, uint64_t key, range r, ef_candidate *to) {
    const ef_rules *const rules = s->c->rules;
    const uint32_t column = rules->columns[s->input];
    *to = (ef_candidate){.input = s->input,
                         .kind = EF_THRESHOLD,
                         .lo = ef_code_key(s->format, r.lo),
                         .hi = ef_code_key(s->format, r.hi)};
    if (rules->are_categories[s->input]) {
        to->kind = EF_CATEGORIES;
        draw_sides(s, key, to);
    } else if (r.lo == r.hi) {
        to->cut = EF_KEY_INFINITE;
    } else {
        to->cut = ef_draw_threshold(key, column, rules->units[s->input], to->lo, to->hi);
        to->missing_left = rules->may_miss && ef_draw_missing(key, column);
    }
}

/* ---------------------------------------------------------------- counting */

/* Makes codes of a candidate such that those that go left are at most `cut`; returns that. */
static int32_t put_in_line(const strip *s, const ef_candidate *c) {
    int32_t *const keys = s->codes;
    const size_t n = s->bunch->n;
    if (c->kind == EF_CATEGORIES) {
        for (size_t i = 0; i < n; i++)
            keys[i] = !ef_category_left((uint32_t)c->cut, keys[i]);
        return 0;
    }
    if (s->format->width == 4 && s->c->rules->may_miss && !c->missing_left)
        for (size_t i = 0; i < n; i++)
            keys[i] = keys[i] == EF_KEY_MISSING ? INT32_MAX : keys[i];
    return ef_cut_code(s->format, c->cut);
}

static void count_extremes(const strip *s, range r, ef_candidate *c) {
    const size_t n = s->bunch->n;
    if (s->format->width == 1) {
        c->n_lo = count_equal_uint8_t(s->codes, n, (uint8_t)r.lo);
        c->n_hi = count_equal_uint8_t(s->codes, n, (uint8_t)r.hi);
    } else if (s->format->width == 2) {
        c->n_lo = count_equal_int16_t(s->codes, n, (int16_t)r.lo);
        c->n_hi = count_equal_int16_t(s->codes, n, (int16_t)r.hi);
    } else {
        c->n_lo = count_equal_int32_t(s->codes, n, r.lo);
        c->n_hi = count_equal_int32_t(s->codes, n, r.hi);
    }
}

static uint32_t count_up_to(const strip *s, size_t first, size_t n, int32_t cut) {
    if (s->format->width == 1)
        return count_up_to_uint8_t((const uint8_t *)s->codes + first, n, (uint8_t)cut);
    if (s->format->width == 2)
        return count_up_to_int16_t((const int16_t *)s->codes + first, n, (int16_t)cut);
    return count_up_to_int32_t((const int32_t *)s->codes + first, n, cut);
}

static int64_t weigh(const strip *s, size_t first, size_t n, int32_t cut, bool targets) {
    const ef_bunch *const b = s->bunch;
    const int64_t *const w = b->weights != NULL ? b->weights + first : NULL;
    const int32_t *const t = targets ? b->targets + first : NULL;
    if (s->format->width == 1)
        return weigh_uint8_t((const uint8_t *)s->codes + first, w, t, n, (uint8_t)cut);
    if (s->format->width == 2)
        return weigh_int16_t((const int16_t *)s->codes + first, w, t, n, (int16_t)cut);
    return weigh_int32_t((const int32_t *)s->codes + first, w, t, n, cut);
}

/* Counts what goes left by a candidate: rows, and weights of segments. */
static void count(const strip *s, range r, ef_candidate *c, int64_t *left) {
    const ef_bunch *const b = s->bunch;
    if (s->c->counts_extremes && c->kind == EF_THRESHOLD)
        count_extremes(s, r, c);
    const int32_t cut = put_in_line(s, c);
    size_t first = 0;
    if (b->n < EF_FEW_ROWS && b->weights == NULL && b->targets == NULL) {
        uint32_t counts[EF_FEW_ROWS], before = 0;
        if (s->format->width == 1)
            count_on_uint8_t(s->codes, b->n, (uint8_t)cut, counts);
        else if (s->format->width == 2)
            count_on_int16_t(s->codes, b->n, (int16_t)cut, counts);
        else
            count_on_int32_t(s->codes, b->n, cut, counts);
        c->n_left = counts[b->n - 1];
        for (uint32_t i = 0; i < b->n_segments; i++) {
            first += b->segments[i].n_rows;
            left[i] = counts[first - 1] - before;
            before = counts[first - 1];
        }
        return;
    }
    for (uint32_t i = 0; i < b->n_segments; i++) {
        const size_t n = b->segments[i].n_rows;
        const uint32_t n_left = count_up_to(s, first, n, cut);
        c->n_left += n_left;
        left[i] = b->weights != NULL ? weigh(s, first, n, cut, false) : (int64_t)n_left;
        first += n;
    }
    if (b->targets != NULL)
        left[1] = weigh(s, 0, b->n, cut, true);
}

/* ---------------------------------------------------------------- choosing */

/* Draws the next column that is not known to be constant; false if there is none. */
static bool draw_column(ef_chooser *c, uint64_t shuffle, uint32_t *at, const uint64_t *constants,
                        uint16_t *input) {
    const uint32_t n = c->rules->n_inputs;
    while (*at < n) {
        const uint32_t other = ef_shuffle_at(shuffle, *at, n);
        *input = c->order[other];
        c->order[other] = c->order[*at];
        c->order[(*at)++] = *input;
        if (constants == NULL || (constants[*input / 64] >> (*input % 64) & 1) == 0)
            return true;
        c->skipped[c->n_skipped++] = *input;
    }
    return false;
}

/* Finds all columns in which the rows are equal, by comparing them as a whole. */
static void find_constants(ef_chooser *c, const ef_bunch *b, uint64_t *constants) {
    const ef_forest_rows *const rows = c->rows;
    const size_t n_bytes = rows->row_bytes;
    const unsigned char *const first = rows->by_row + b->slots[0] * n_bytes;
    unsigned char *const differs = c->differs;
    memset(differs, 0, n_bytes);
    for (size_t r = 1; r < b->n; r++) {
        const unsigned char *const row = rows->by_row + b->slots[r] * n_bytes;
        for (size_t i = 0; i < n_bytes; i++)
            differs[i] |= row[i] ^ first[i];
    }
    for (uint32_t i = 0; i < rows->n_inputs; i++) {
        const ef_input_format *const format = &rows->formats[i];
        unsigned any = 0;
        for (uint32_t k = 0; k < format->width; k++)
            any |= differs[format->offset + k];
        constants[i / 64] |= (uint64_t)(any == 0) << (i % 64);
    }
}

static double score_of(const ef_chooser *c, const ef_bunch *b, const int64_t *left,
                       const int64_t *all) {
    if (!c->rules->of_classes)
        return ef_score_targets(left[0], left[1], b->weight, b->sum);
    int64_t left_weight = 0;
    for (uint32_t s = 0; s < b->n_segments; s++)
        left_weight += left[s];
    return ef_score_classes(c->rules->by_entropy, left, all, b->n_segments, left_weight, b->weight);
}

bool ef_choose(ef_chooser *c, const ef_bunch *b, uint64_t key, uint64_t *constants,
               uint32_t *best) {
    const ef_rules *const rules = c->rules;
    const uint64_t shuffle = ef_node_stream(key, EF_NODE_COLUMNS, 0);
    size_t n_strip, n_left;
    c->n_drawn = c->n_skipped = 0;
    c->left_stride = rules->of_classes ? b->n_segments : 2;
    *best = EF_NO_CANDIDATE;
    if (!ef_mul_size(b->n, sizeof(int32_t), &n_strip) ||
        !ef_mul_size((size_t)rules->n_candidates + 1, c->left_stride, &n_left) ||
        !make_room(&c->strip, &c->strip_capacity, n_strip, 1) ||
        !make_room(&c->left, &c->left_capacity, n_left, sizeof *c->left))
        return false;
    memcpy(c->order, c->in_order, rules->n_inputs * sizeof *c->order);
    int64_t *const all = c->left + (size_t)rules->n_candidates * c->left_stride;
    for (uint32_t s = 0; rules->of_classes && s < b->n_segments; s++)
        all[s] = b->segments[s].weight;
    double best_score = 0.0;
    const bool from_rows = picks_rows(c, b->n);
    for (size_t i = 0; b->n < EF_FEW_ROWS && i < b->n; i++)
        c->row_at[i] = c->rows->by_row + b->slots[i] * c->rows->row_bytes;
    if (constants != NULL && b->n < EF_FEW_ROWS && rules->n_inputs / 16 >= rules->n_candidates)
        find_constants(c, b, constants);
    for (uint32_t at = 0; c->n_drawn < rules->n_candidates && at < rules->n_inputs;) {
        uint16_t input;
        if (!draw_column(c, shuffle, &at, constants, &input))
            break;
        const strip s = {c, b, &c->rows->formats[input], input, from_rows, c->strip};
        const range r = look_at(&s);
        if (!divides(r)) {
            c->skipped[c->n_skipped++] = input;
            if (constants != NULL)
                constants[input / 64] |= (uint64_t)1 << (input % 64);
            continue;
        }
        ef_candidate *const made = &c->candidates[c->n_drawn];
        int64_t *const left = c->left + (size_t)c->n_drawn * c->left_stride;
        make_candidate(&s, key, r, made);
        count(&s, r, made, left);
        if (made->n_left >= rules->min_leaf && b->n - made->n_left >= rules->min_leaf) {
            const double score = score_of(c, b, left, all);
            if (*best == EF_NO_CANDIDATE || score > best_score) {
                *best = c->n_drawn;
                best_score = score;
            }
        }
        c->n_drawn++;
    }
    return true;
}
