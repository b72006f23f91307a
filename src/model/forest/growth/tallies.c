/* What is counted of a large node. */
#include "model/forest/growth/tallies.h"

#include "base/memory/memory.h"

#include <assert.h>

/* Where the parts of a tally begin. */
typedef struct places {
    size_t counts, skipped, end;
} places;

static places places_of(const ef_tally *t) {
    places p;
    const size_t n = t->n_candidates;
    p.counts = (sizeof *t + n * sizeof(ef_split_candidate) + 7) / 8 * 8;
    p.skipped = p.counts + (t->n_classes != 0 ? (n + 1) * t->n_classes * sizeof(uint32_t)
                                              : n * 2 * sizeof(int64_t));
    p.end = p.skipped + t->n_skipped * sizeof(uint16_t);
    return p;
}

static ef_split_candidate *candidates_of(const ef_tally *t) {
    return (ef_split_candidate *)(void *)((char *)(uintptr_t)t + sizeof *t);
}

static uint16_t *skipped_of(const ef_tally *t) {
    return (uint16_t *)(void *)((char *)(uintptr_t)t + places_of(t).skipped);
}

/* Weights by class: of all rows (-1), or of those that go left by a candidate. */
static uint32_t *weights_of(const ef_tally *t, int64_t candidate) {
    return (uint32_t *)(void *)((char *)(uintptr_t)t + places_of(t).counts) +
           (size_t)(candidate + 1) * t->n_classes;
}

/* The weight and the sum of what goes left by a candidate. */
static int64_t *sums_of(const ef_tally *t, size_t candidate) {
    return (int64_t *)(void *)((char *)(uintptr_t)t + places_of(t).counts) + 2 * candidate;
}

size_t ef_tally_bytes(const ef_tally *t) {
    return places_of(t).end;
}

ef_tally *ef_tally_make(const ef_chooser *c, const ef_bunch *b) {
    const ef_rules *const rules = c->rules;
    const ef_tally head = {.n_candidates = c->n_drawn,
                           .n_skipped = c->n_skipped,
                           .n_classes = rules->of_classes ? rules->n_classes : 0,
                           .n_rows = (uint32_t)b->n,
                           .weight = b->weight,
                           .sum = b->sum,
                           .squares = c->squares};
    ef_tally *const t = ef_alloc_zero(1, ef_tally_bytes(&head));
    if (t == NULL)
        return NULL;
    *t = head;
    if (c->n_drawn != 0)
        memcpy(candidates_of(t), c->candidates, c->n_drawn * sizeof *c->candidates);
    if (c->n_skipped != 0)
        memcpy(skipped_of(t), c->skipped, c->n_skipped * sizeof *c->skipped);
    for (uint32_t s = 0; rules->of_classes && s < b->n_segments; s++)
        weights_of(t, -1)[b->segments[s].class_id] = (uint32_t)b->segments[s].weight;
    for (uint32_t i = 0; i < c->n_drawn; i++) {
        const int64_t *const left = c->left + (size_t)i * c->left_stride;
        if (!rules->of_classes)
            memcpy(sums_of(t, i), left, 2 * sizeof *left);
        for (uint32_t s = 0; rules->of_classes && s < b->n_segments; s++)
            weights_of(t, i)[b->segments[s].class_id] = (uint32_t)left[s];
    }
    return t;
}

ef_tally *ef_tally_copy(const ef_tally *t) {
    const size_t n = ef_tally_bytes(t);
    ef_tally *const copy = ef_alloc(1, n);
    if (copy != NULL)
        memcpy(copy, t, n);
    return copy;
}

/* ---------------------------------------------------------------- rows come and leave */

/* Whether earlier draws of sides still leave one side empty when a category comes. All rows were on
 * one side of these, that of the sample. */
static bool draws_stay(const ef_split_candidate *c, uint64_t key, uint32_t column, int32_t comes,
                       int32_t sample) {
    for (uint32_t draw = 0; draw < (uint32_t)c->lo; draw++) {
        const uint32_t salt = ef_draw_salt(key, column, draw);
        if (ef_category_left(salt, comes) != ef_category_left(salt, sample))
            return false;
    }
    return true;
}

static bool goes_left(const ef_split_candidate *c, int32_t value) {
    if (c->kind == EF_CATEGORIES)
        return ef_category_left((uint32_t)c->cut, value);
    return value == EF_KEY_MISSING ? c->missing_left : value <= c->cut;
}

/* The extremes of a column after a row. A count of 0 means that the extreme is not known. */
static void move_extremes(ef_split_candidate *c, int32_t value, bool leaves) {
    if (leaves) {
        c->n_lo -= value == c->lo;
        c->n_hi -= value == c->hi;
        return;
    }
    if (value < c->lo) {
        c->lo = value;
        c->n_lo = 1;
    } else if (value == c->lo) {
        c->n_lo++;
    }
    if (value > c->hi) {
        c->hi = value;
        c->n_hi = 1;
    } else if (value == c->hi) {
        c->n_hi++;
    }
}

static void count_left(ef_tally *t, size_t candidate, uint32_t class_id, int32_t target,
                       int64_t weight) {
    if (t->n_classes != 0) {
        weights_of(t, (int64_t)candidate)[class_id] += (uint32_t)weight;
    } else {
        sums_of(t, candidate)[0] += weight;
        sums_of(t, candidate)[1] += weight * target;
    }
}

/* The target of a row that comes, or, with a negative weight, leaves. */
static void add_target(ef_tally *t, int64_t weight, int32_t target) {
    t->sum += weight * target;
    t->squares += (ef_i128)weight * ((int64_t)target * target);
}

/* Counts one row; false if the tally has to be made anew. */
static bool count_row(ef_tally *t, const ef_rules *rules, const ef_forest_slots *rows,
                      const ef_traveller *who, uint32_t sample, uint64_t key) {
    const uint32_t value = rows->values[who->slot];
    const int64_t weight = who->leaves ? -who->weight : who->weight;
    ef_split_candidate *const candidates = candidates_of(t);
    const uint16_t *const skipped = skipped_of(t);
    for (uint32_t i = 0; !who->leaves && i < t->n_skipped; i++)
        if (ef_slot_code(rows, who->slot, skipped[i]) != ef_slot_code(rows, sample, skipped[i]))
            return false;
    if (t->n_classes != 0 && value >= t->n_classes)
        return false;
    t->n_rows += who->leaves ? UINT32_MAX : 1;
    t->weight += weight;
    if (t->weight > UINT32_MAX)
        return false;
    if (t->n_classes != 0)
        weights_of(t, -1)[value] += (uint32_t)weight;
    else
        add_target(t, weight, (int32_t)value);
    uint32_t *const left_weights = t->n_classes != 0 ? weights_of(t, 0) : NULL;
    for (uint32_t i = 0; i < t->n_candidates; i++) {
        ef_split_candidate *const c = &candidates[i];
        const int32_t x = ef_slot_key(rows, who->slot, c->input);
        if (c->kind == EF_CATEGORIES) {
            if (!who->leaves && c->lo != 0 &&
                !draws_stay(c, key, rules->columns[c->input], x,
                            ef_slot_key(rows, sample, c->input)))
                return false;
        } else if (x != EF_KEY_MISSING) {
            if (c->cut == EF_KEY_INFINITE && x != c->lo)
                return false;
            move_extremes(c, x, who->leaves);
        }
        if (!goes_left(c, x))
            continue;
        c->n_left += who->leaves ? UINT32_MAX : 1;
        if (left_weights != NULL)
            left_weights[(size_t)i * t->n_classes + value] += (uint32_t)weight;
        else
            count_left(t, i, 0, (int32_t)value, weight);
    }
    return true;
}

/* A threshold, unless an extreme is not known. */
static bool is_known(const ef_split_candidate *c) {
    return c->kind != EF_THRESHOLD || (c->n_lo != 0 && c->n_hi != 0);
}

bool ef_tally_change(ef_tally *t, const ef_rules *rules, const ef_forest_slots *rows,
                     const ef_traveller *who, size_t n, uint32_t sample, uint64_t key) {
    bool comes = false;
    for (size_t i = 0; i < n; i++) {
        if (!count_row(t, rules, rows, &who[i], sample, key))
            return false;
        comes |= !who[i].leaves;
    }
    ef_split_candidate *const candidates = candidates_of(t);
    for (uint32_t i = 0; i < t->n_candidates; i++) {
        ef_split_candidate *const c = &candidates[i];
        const bool told_apart = c->kind == EF_CATEGORIES || c->cut == EF_KEY_INFINITE;
        if (told_apart && (c->n_left == 0 || c->n_left == t->n_rows))
            return false;
        /* Only a range that has become larger can have moved the threshold here. */
        if (told_apart || !comes || !is_known(c))
            continue;
        if (c->lo >= c->hi)
            return false;
        if (ef_draw_threshold(key, rules->columns[c->input], rules->units[c->input], c->lo,
                              c->hi) != c->cut)
            c->n_lo = 0; /* to be counted anew */
    }
    return true;
}

bool ef_tally_is_loose(const ef_tally *t) {
    const ef_split_candidate *const candidates = candidates_of(t);
    for (uint32_t i = 0; i < t->n_candidates; i++)
        if (!is_known(&candidates[i]) && candidates[i].cut != EF_KEY_INFINITE)
            return true;
    return false;
}

static int32_t code_at(const void *column, unsigned width, uint32_t slot) {
    return width == 1   ? ((const uint8_t *)column)[slot]
           : width == 2 ? ((const int16_t *)column)[slot]
                        : ((const int32_t *)column)[slot];
}

/* The extremes of the column of a candidate, and how many rows have them. */
static void find_extremes(const ef_forest_slots *rows, const uint32_t *slots, size_t n,
                          ef_split_candidate *c) {
    const ef_input_format *const format = &rows->formats[c->input];
    const void *const column = ef_input_column(rows, c->input);
    int32_t lo = INT32_MAX, hi = INT32_MIN;
    for (size_t r = 0; r < n; r++) {
        const int32_t code = code_at(column, format->width, slots[r]);
        lo = code < lo && code != EF_KEY_MISSING ? code : lo;
        hi = code > hi ? code : hi;
    }
    c->n_lo = c->n_hi = 0;
    for (size_t r = 0; r < n; r++) {
        const int32_t code = code_at(column, format->width, slots[r]);
        c->n_lo += code == lo;
        c->n_hi += code == hi;
    }
    c->lo = lo <= hi ? ef_code_key(format, lo) : 0; /* equal, if all values are missing */
    c->hi = lo <= hi ? ef_code_key(format, hi) : 0;
}

/* Counts a candidate anew whose column still divides the rows; false if it does not. */
static bool fix_candidate(ef_tally *t, size_t i, const ef_rules *rules, const ef_forest_slots *rows,
                          const uint32_t *slots, const int64_t *weights, size_t n, uint64_t key) {
    ef_split_candidate *const c = &candidates_of(t)[i];
    find_extremes(rows, slots, n, c);
    if (c->lo >= c->hi)
        return false;
    const int32_t cut =
        ef_draw_threshold(key, rules->columns[c->input], rules->units[c->input], c->lo, c->hi);
    if (cut == c->cut)
        return true;
    c->cut = cut;
    c->n_left = 0;
    if (t->n_classes != 0)
        memset(weights_of(t, (int64_t)i), 0, t->n_classes * sizeof(uint32_t));
    else
        memset(sums_of(t, i), 0, 2 * sizeof(int64_t));
    for (size_t r = 0; r < n; r++) {
        const uint32_t value = rows->values[slots[r]];
        if (!goes_left(c, ef_slot_key(rows, slots[r], c->input)))
            continue;
        c->n_left++;
        count_left(t, i, value, (int32_t)value, weights != NULL ? weights[r] : 1);
    }
    return true;
}

bool ef_tally_fix(ef_tally *t, const ef_rules *rules, const ef_forest_slots *rows,
                  const uint32_t *slots, const int64_t *weights, size_t n, uint64_t key) {
    const ef_split_candidate *const candidates = candidates_of(t);
    for (uint32_t i = 0; i < t->n_candidates; i++)
        if (!is_known(&candidates[i]) && candidates[i].cut != EF_KEY_INFINITE &&
            !fix_candidate(t, i, rules, rows, slots, weights, n, key))
            return false;
    return true;
}

/* ---------------------------------------------------------------- choosing */

uint32_t ef_tally_classes(const ef_tally *t) {
    const uint32_t *const all = weights_of(t, -1);
    uint32_t n = 0;
    for (uint32_t c = 0; c < t->n_classes; c++)
        n += all[c] != 0;
    return n;
}

const ef_split_candidate *ef_tally_best(const ef_tally *t, const ef_rules *rules, int64_t *room) {
    const ef_split_candidate *const candidates = candidates_of(t), *best = NULL;
    const uint32_t n = t->n_classes;
    const uint32_t *const totals = weights_of(t, -1);
    int64_t *const left = room, *const all = room + n;
    double best_score = 0.0;
    assert(n <= rules->n_classes);
    for (uint32_t c = 0; c < n; c++)
        all[rules->ranks[c]] = totals[c];
    const double margin = n != 0
                              ? ef_margin_classes(rules->by_entropy, all, n, t->weight, t->n_rows)
                              : ef_margin_targets(t->weight, t->sum, t->squares, t->n_rows);
    for (uint32_t i = 0; i < t->n_candidates; i++) {
        const ef_split_candidate *const c = &candidates[i];
        if (c->n_left < rules->min_leaf || t->n_rows - c->n_left < rules->min_leaf)
            continue;
        double score;
        if (n != 0) {
            const uint32_t *const weights = totals + (size_t)(i + 1) * n;
            int64_t left_weight = 0;
            for (uint32_t k = 0; k < n; k++) {
                left[rules->ranks[k]] = weights[k];
                left_weight += weights[k];
            }
            score = ef_score_classes(rules->by_entropy, left, all, n, left_weight, t->weight);
        } else {
            const int64_t *const sums = sums_of(t, i);
            score = ef_score_targets(sums[0], sums[1], t->weight, t->sum);
        }
        if (best == NULL || score > best_score + margin) {
            best = c;
            best_score = score;
        }
    }
    return best;
}
