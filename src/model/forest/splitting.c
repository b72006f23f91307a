/* The best split of some rows. */
#include "model/forest/splitting.h"

#include "base/checked.h"
#include "base/tape.h"
#include "base/wide.h"

#include <assert.h>

#define STRETCH 256 /* rows whose values are gathered before the next column */
#define MOST_KEPT                                                                                  \
    ((size_t)1 << 24) /* so many values of candidates are kept; if there are more, they            \
                        are gathered twice */

bool ef_chooser_init(ef_chooser *c, const ef_rules *rules, const ef_forest_rows *rows) {
    *c = (ef_chooser){.rules = rules, .rows = rows};
    const size_t n = rules->n_inputs;
    c->candidates = ef_alloc(rules->n_candidates, sizeof *c->candidates);
    c->skipped = ef_alloc(n, sizeof *c->skipped);
    c->order = ef_alloc(n, sizeof *c->order);
    c->in_order = ef_alloc(n, sizeof *c->in_order);
    if (c->candidates == NULL || c->skipped == NULL || c->order == NULL || c->in_order == NULL)
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
    ef_free(c->strips);
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

/* ---------------------------------------------------------------- values of a column */

typedef struct range {
    int32_t lo, hi; /* of keys that are not missing */
    bool misses;
} range;

static void gather(const ef_chooser *c, uint16_t input, const uint32_t *slots, size_t n,
                   int32_t *to) {
    const int32_t *const keys = c->rows->keys + input;
    const size_t stride = c->rows->n_inputs;
    for (size_t i = 0; i < n; i++)
        to[i] = keys[slots[i] * stride];
}

static void widen(range *r, const int32_t *values, size_t n, bool may_miss) {
    int32_t lo = r->lo, hi = r->hi;
    if (!may_miss) {
        for (size_t i = 0; i < n; i++) {
            lo = values[i] < lo ? values[i] : lo;
            hi = values[i] > hi ? values[i] : hi;
        }
    } else {
        bool misses = false;
        for (size_t i = 0; i < n; i++) {
            const int32_t low = values[i] == EF_KEY_MISSING ? INT32_MAX : values[i];
            misses |= values[i] == EF_KEY_MISSING;
            lo = low < lo ? low : lo;
            hi = values[i] > hi ? values[i] : hi;
        }
        r->misses |= misses;
    }
    r->lo = lo;
    r->hi = hi;
}

/* Whether a column can divide the rows. That of categories can if two differ, be one missing. */
static bool divides(range r) {
    return r.lo < r.hi || (r.misses && r.hi != EF_KEY_MISSING);
}

/* ---------------------------------------------------------------- candidates */

/* The values of a candidate for some rows: as they were gathered before, or anew. */
typedef struct source {
    const ef_chooser *c;
    const ef_bunch *bunch;
    int32_t *strip; /* or NULL */
    uint16_t input;
} source;

static int32_t *values_at(const source *s, size_t first, size_t n, int32_t room[STRETCH]) {
    if (s->strip != NULL)
        return s->strip + first;
    gather(s->c, s->input, s->bunch->slots + first, n, room);
    return room;
}

/* The first draw of sides that leaves both with rows. */
static void draw_sides(const source *s, uint64_t key, ef_candidate *to) {
    const uint32_t column = s->c->rules->columns[s->input];
    int32_t room[STRETCH];
    for (uint32_t draw = 0;; draw++) {
        const uint32_t salt = ef_draw_salt(key, column, draw);
        bool left = false, right = false;
        for (size_t first = 0; first < s->bunch->n && !(left && right); first += STRETCH) {
            const size_t rest = s->bunch->n - first, n = rest < STRETCH ? rest : STRETCH;
            const int32_t *const values = values_at(s, first, n, room);
            for (size_t i = 0; i < n && !(left && right); i++) {
                const bool goes_left = ef_category_left(salt, values[i]);
                left |= goes_left;
                right |= !goes_left;
            }
        }
        if (left && right) {
            to->cut = (int32_t)salt;
            to->lo = (int32_t)draw;
            to->hi = 0;
            return;
        }
    }
}

static void make_candidate(const source *s, uint64_t key, range r, ef_candidate *to) {
    const ef_rules *const rules = s->c->rules;
    const uint32_t column = rules->columns[s->input];
    *to = (ef_candidate){.input = s->input, .kind = EF_THRESHOLD, .lo = r.lo, .hi = r.hi};
    if (rules->are_categories[s->input]) {
        to->kind = EF_CATEGORIES;
        draw_sides(s, key, to);
    } else if (r.lo == r.hi) {
        to->cut = EF_KEY_INFINITE;
    } else {
        to->cut = ef_draw_threshold(key, column, r.lo, r.hi);
        to->missing_left = rules->may_miss && ef_draw_missing(key, column);
    }
}

/* ---------------------------------------------------------------- counting */

/* Makes values of a candidate such that those that go left are at most `cut`; returns that. */
static int32_t put_in_line(const ef_candidate *c, int32_t *values, size_t n, bool may_miss) {
    if (c->kind == EF_CATEGORIES) {
        for (size_t i = 0; i < n; i++)
            values[i] = !ef_category_left((uint32_t)c->cut, values[i]);
        return 0;
    }
    for (size_t i = 0; may_miss && !c->missing_left && i < n; i++)
        values[i] = values[i] == EF_KEY_MISSING ? INT32_MAX : values[i];
    return c->cut;
}

static uint32_t count_up_to(const int32_t *values, size_t n, int32_t cut) {
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += values[i] <= cut;
    return count;
}

static uint32_t count_equal(const int32_t *values, size_t n, int32_t key) {
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += values[i] == key;
    return count;
}

/* Adds up the weights of those that go left. */
static int64_t weigh_up_to(const int32_t *values, const int64_t *weights, size_t n, int32_t cut) {
    int64_t weight = 0;
    for (size_t i = 0; i < n; i++)
        weight += values[i] <= cut ? weights[i] : 0;
    return weight;
}

static int64_t sum_up_to(const int32_t *values, const int64_t *weights, const int32_t *targets,
                         size_t n, int32_t cut) {
    int64_t sum = 0;
    if (weights != NULL)
        for (size_t i = 0; i < n; i++)
            sum += values[i] <= cut ? weights[i] * targets[i] : 0;
    else
        for (size_t i = 0; i < n; i++)
            sum += values[i] <= cut ? targets[i] : 0;
    return sum;
}

/* Counts what goes left by a candidate: rows, and weights of segments. */
static void count(const source *s, ef_candidate *c, int64_t *left) {
    const ef_bunch *const b = s->bunch;
    const bool extremes = s->c->counts_extremes && c->kind == EF_THRESHOLD;
    int32_t room[STRETCH];
    uint32_t segment = 0;
    size_t end = b->segments[0].n_rows; /* of the segment */
    memset(left, 0, s->c->left_stride * sizeof *left);
    /* With kept values the stretch is a segment, else as long as there is room for. */
    for (size_t first = 0; first < b->n;) {
        while (first == end)
            end += b->segments[++segment].n_rows;
        const size_t rest = end - first;
        const size_t n = s->strip != NULL || rest < STRETCH ? rest : STRETCH;
        int32_t *const values = values_at(s, first, n, room);
        if (extremes) {
            c->n_lo += count_equal(values, n, c->lo);
            c->n_hi += count_equal(values, n, c->hi);
        }
        const int32_t cut = put_in_line(c, values, n, s->c->rules->may_miss);
        const uint32_t n_left = count_up_to(values, n, cut);
        c->n_left += n_left;
        left[segment] +=
            b->weights != NULL ? weigh_up_to(values, b->weights + first, n, cut) : (int64_t)n_left;
        if (b->targets != NULL)
            left[1] += sum_up_to(values, b->weights != NULL ? b->weights + first : NULL,
                                 b->targets + first, n, cut);
        first += n;
    }
}

/* ---------------------------------------------------------------- choosing */

/* Draws columns that are not known to be constant, until there are `most` of them. */
static uint32_t draw_columns(ef_chooser *c, ef_shuffle *shuffle, uint32_t *at, uint32_t most,
                             const uint64_t *constants, uint16_t *drawn) {
    const uint32_t n = c->rules->n_inputs;
    uint32_t n_drawn = 0;
    while (n_drawn < most && *at < n) {
        const uint32_t other = ef_shuffle_next(shuffle, *at, n);
        const uint16_t input = c->order[other];
        c->order[other] = c->order[*at];
        c->order[(*at)++] = input;
        if (constants != NULL && (constants[input / 64] >> (input % 64) & 1) != 0)
            c->skipped[c->n_skipped++] = input;
        else
            drawn[n_drawn++] = input;
    }
    return n_drawn;
}

/* Gathers the values of some columns, and their ranges. */
static void look_at(const ef_chooser *c, const ef_bunch *b, const uint16_t *inputs, uint32_t n,
                    int32_t *const *strips, range *ranges) {
    int32_t room[STRETCH];
    for (uint32_t i = 0; i < n; i++)
        ranges[i] = (range){INT32_MAX, INT32_MIN, false};
    for (size_t first = 0; first < b->n; first += STRETCH) {
        const size_t rest = b->n - first, m = rest < STRETCH ? rest : STRETCH;
        for (uint32_t i = 0; i < n; i++) {
            int32_t *const to = strips[i] != NULL ? strips[i] + first : room;
            gather(c, inputs[i], b->slots + first, m, to);
            widen(&ranges[i], to, m, c->rules->may_miss);
        }
    }
}

#define BATCH 64 /* columns that are looked at together */

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
    ef_shuffle shuffle = {.key = key};
    size_t n_strips, n_left;
    c->n_drawn = c->n_skipped = 0;
    c->left_stride = rules->of_classes ? b->n_segments : 2;
    *best = EF_NO_CANDIDATE;
    const bool keeps = ef_mul_size(rules->n_candidates, b->n, &n_strips) && n_strips <= MOST_KEPT;
    if (!ef_mul_size((size_t)rules->n_candidates + 1, c->left_stride, &n_left) ||
        !make_room(&c->strips, &c->strips_capacity, keeps ? n_strips : 0, sizeof *c->strips) ||
        !make_room(&c->left, &c->left_capacity, n_left, sizeof *c->left))
        return false;
    memcpy(c->order, c->in_order, rules->n_inputs * sizeof *c->order);
    int64_t *const all = c->left + (size_t)rules->n_candidates * c->left_stride;
    for (uint32_t s = 0; rules->of_classes && s < b->n_segments; s++)
        all[s] = b->segments[s].weight;
    double best_score = 0.0;
    uint32_t at = 0;
    while (c->n_drawn < rules->n_candidates && at < rules->n_inputs) {
        uint16_t drawn[BATCH];
        int32_t *strips[BATCH];
        range ranges[BATCH];
        const uint32_t lack = rules->n_candidates - c->n_drawn;
        const uint32_t n =
            draw_columns(c, &shuffle, &at, lack < BATCH ? lack : BATCH, constants, drawn);
        for (uint32_t i = 0; i < n; i++)
            strips[i] = keeps ? c->strips + (c->n_drawn + i) * b->n : NULL;
        look_at(c, b, drawn, n, strips, ranges);
        uint32_t n_used = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (!divides(ranges[i])) {
                c->skipped[c->n_skipped++] = drawn[i];
                if (constants != NULL)
                    constants[drawn[i] / 64] |= (uint64_t)1 << (drawn[i] % 64);
                continue;
            }
            const source s = {c, b, strips[i], drawn[i]};
            ef_candidate *const made = &c->candidates[c->n_drawn + n_used];
            int64_t *const left = c->left + (size_t)(c->n_drawn + n_used) * c->left_stride;
            make_candidate(&s, key, ranges[i], made);
            count(&s, made, left);
            if (made->n_left >= rules->min_leaf && b->n - made->n_left >= rules->min_leaf) {
                const double score = score_of(c, b, left, all);
                if (*best == EF_NO_CANDIDATE || score > best_score) {
                    *best = c->n_drawn + n_used;
                    best_score = score;
                }
            }
            n_used++;
        }
        c->n_drawn += n_used;
        c->n_looked += (uint64_t)b->n;
    }
    return true;
}
