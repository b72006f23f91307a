/* The best split of some rows. */
#include "model/forest/growth/first_rows.h"

#include "base/memory/list.h"
#include "base/memory/memory.h"
#include "base/numbers/wide.h"

#include <assert.h>

#define NEAR ((size_t)512 << 10) /* bytes of rows that stay in a near cache */
#define SQUARES 65536            /* of grid points: each is at most 2^46 */
#define FEW_WHOLE_ROWS 4         /* of fewer it is not worth while to look at all columns */

bool ef_chooser_init(ef_chooser *c, const ef_rules *rules, const ef_forest_slots *rows) {
    *c = (ef_chooser){.rules = rules, .rows = rows};
    const size_t n = rules->n_inputs;
    c->candidates = ef_alloc(rules->n_candidates, sizeof *c->candidates);
    c->skipped = ef_alloc(n + 1, sizeof *c->skipped);
    c->drawn = ef_alloc((size_t)rules->n_candidates + 1, sizeof *c->drawn);
    c->order = ef_alloc(n, sizeof *c->order);
    c->in_order = ef_alloc(n, sizeof *c->in_order);
    c->differs = ef_alloc(rows->row_bytes, 1);
    if (c->candidates == NULL || c->drawn == NULL || c->differs == NULL || c->skipped == NULL ||
        c->order == NULL || c->in_order == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        c->in_order[i] = (uint16_t)i;
    return !ef_whole_rows_are_quicker(rows, rules->are_categories, rules->n_candidates) ||
           ef_whole_rows_init(&c->whole, rules->n_inputs);
}

void ef_chooser_clear(ef_chooser *c) {
    ef_free(c->candidates);
    ef_free(c->left);
    ef_free(c->skipped);
    ef_free(c->drawn);
    ef_free(c->order);
    ef_free(c->in_order);
    ef_free(c->differs);
    ef_free(c->row_at);
    ef_free(c->strip);
    ef_whole_rows_clear(&c->whole);
    *c = (ef_chooser){0};
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
    const ef_forest_slots *const rows = c->rows;
    return n * rows->n_inputs <= (size_t)c->rules->n_candidates * rows->n_slots &&
           n * rows->row_bytes <= NEAR;
}

/* ---------------------------------------------------------------- candidates */

/* The first draw of sides that leaves both with rows. Codes of categories are keys. */
static void draw_sides(const strip *s, uint64_t key, ef_split_candidate *to) {
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

static void make_candidate(const strip *s, uint64_t key, range r, ef_split_candidate *to) {
    const ef_rules *const rules = s->c->rules;
    const uint32_t column = rules->columns[s->input];
    *to = (ef_split_candidate){.input = s->input,
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

/* ---------------------------------------------------------------- codes of each width */

/* Makes keys such that those that go left are at most the number that is returned. */
static int32_t put_keys_in_line(const strip *s, const ef_split_candidate *c) {
    int32_t *const keys = s->codes;
    const size_t n = s->bunch->n;
    if (c->kind == EF_CATEGORIES) {
        for (size_t i = 0; i < n; i++)
            keys[i] = !ef_category_left((uint32_t)c->cut, keys[i]);
        return 0;
    }
    if (s->c->rules->may_miss && !c->missing_left)
        for (size_t i = 0; i < n; i++)
            keys[i] = keys[i] == EF_KEY_MISSING ? INT32_MAX : keys[i];
    return c->cut;
}

/* Columns of categories, and of values that may be missing, have keys: narrow codes are simple. */
#define CODE uint8_t
#define COUNTER uint8_t
#define NAME(what) what##_8
#define find_range_8(s, codes) range_of_8(codes, (s)->bunch->n)
#define put_in_line_8(s, made) ef_cut_code((s)->format, (made)->cut)
#include "model/forest/growth/codes_of_width.h"
#undef CODE
#undef COUNTER
#undef NAME

#define CODE int16_t
#define COUNTER uint16_t
#define NAME(what) what##_16
#define find_range_16(s, codes) range_of_16(codes, (s)->bunch->n)
#define put_in_line_16(s, made) ef_cut_code((s)->format, (made)->cut)
#include "model/forest/growth/codes_of_width.h"
#undef CODE
#undef COUNTER
#undef NAME

#define CODE int32_t
#define COUNTER uint32_t
#define NAME(what) what##_32
#define find_range_32(s, codes)                                                                    \
    ((s)->c->rules->may_miss ? range_that_misses(codes, (s)->bunch->n)                             \
                             : range_of_32(codes, (s)->bunch->n))
#define put_in_line_32(s, made) put_keys_in_line(s, made)
#include "model/forest/growth/codes_of_width.h"

/* The same for a column that is sorted: no row has to be looked at. */
static bool try_sorted(const strip *s, uint64_t key, ef_split_candidate *made, int64_t *left) {
    const ef_sorted_column *const column = &s->c->sorted[s->input];
    const ef_bunch *const b = s->bunch;
    range r = {INT32_MAX, INT32_MIN, false};
    size_t first = 0;
    for (uint32_t i = 0; i < b->n_segments; first += b->segments[i++].n_rows) {
        const int32_t lo = column->codes[first];
        const int32_t hi = column->codes[first + b->segments[i].n_rows - 1];
        r.lo = lo < r.lo ? lo : r.lo;
        r.hi = hi > r.hi ? hi : r.hi;
    }
    if (!divides(r))
        return false;
    make_candidate(s, key, r, made);
    const int32_t cut = ef_cut_code(s->format, made->cut);
    made->n_left = 0;
    first = 0;
    for (uint32_t i = 0; i < b->n_segments; first += b->segments[i++].n_rows) {
        left[i] = (int64_t)ef_codes_up_to(column->codes + first, b->segments[i].n_rows, cut);
        made->n_left += (uint32_t)left[i];
    }
    if (column->sums != NULL)
        left[1] = made->n_left != 0 ? column->sums[made->n_left - 1] : 0;
    return true;
}

static bool try_column(const strip *s, uint64_t key, ef_split_candidate *made, int64_t *left) {
    if (s->c->sorted != NULL && s->c->sorted[s->input].codes != NULL)
        return try_sorted(s, key, made, left);
    switch (s->format->width) {
    case 1: return try_column_8(s, key, made, left);
    case 2: return try_column_16(s, key, made, left);
    default: return try_column_32(s, key, made, left);
    }
}

/* ---------------------------------------------------------------- choosing */

/* Draws columns that are not known to be constant, until there are `most`; without a branch for
 * each of those that are. */
static uint32_t draw_columns(ef_chooser *c, uint64_t shuffle, uint32_t *at, uint32_t most,
                             const uint64_t *constants) {
    const uint32_t n = c->rules->n_inputs;
    uint32_t n_drawn = 0, i = *at;
    for (; n_drawn < most && i < n; i++) {
        const uint32_t other = ef_shuffle_at(shuffle, i, n);
        const uint16_t input = c->order[other];
        const bool known = constants != NULL && (constants[input / 64] >> (input % 64) & 1) != 0;
        c->order[other] = c->order[i];
        c->order[i] = input;
        c->drawn[n_drawn] = c->skipped[c->n_skipped] = input;
        n_drawn += !known;
        c->n_skipped += known;
    }
    *at = i;
    return n_drawn;
}

/* Finds all columns in which the rows are equal, by comparing them as a whole. */
static void find_constants(ef_chooser *c, const ef_bunch *b, uint64_t *constants) {
    const ef_forest_slots *const rows = c->rows;
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

/* Sums up squares of targets for a margin, and for a tally, whose node may become larger. */
static ef_i128 sum_squares(const ef_bunch *b) {
    ef_i128 sum = 0;
    for (size_t i = 0; b->weights != NULL && i < b->n; i++)
        sum += (ef_i128)b->weights[i] * ((int64_t)b->targets[i] * b->targets[i]);
    /* So few squares at a time that they fit 64 bits. */
    for (size_t i = 0; b->weights == NULL && i < b->n; i += SQUARES) {
        const size_t end = b->n - i < SQUARES ? b->n : i + SQUARES;
        int64_t part = 0;
        for (size_t k = i; k < end; k++)
            part += (int64_t)b->targets[k] * b->targets[k];
        sum += part;
    }
    return sum;
}

/* And keeps the squares. */
static double find_margin(ef_chooser *c, const ef_bunch *b, const int64_t *all) {
    if (c->rules->of_classes)
        return ef_margin_classes(c->rules->by_entropy, all, b->n_segments, b->weight, b->n);
    const bool needed = c->counts_extremes || b->n >= EF_MARGIN_ROWS;
    c->squares = needed ? sum_squares(b) : 0;
    return needed ? ef_margin_targets(b->weight, b->sum, c->squares, b->n) : 0.0;
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

/* Whether it is quicker to look at whole rows. Of few rows of classes, often the first column that
 * is looked at tells them. */
static bool looks_at_whole_rows(const ef_chooser *c, const ef_bunch *b) {
    const size_t least = c->rules->of_classes ? EF_FEW_ROWS : FEW_WHOLE_ROWS;
    return c->whole.n_codes != 0 && c->sorted == NULL && b->weights == NULL && b->n >= least;
}

/* Room for the codes and the counts of a node. */
static bool reserve_choice(ef_chooser *c, const ef_bunch *b) {
    const size_t n = looks_at_whole_rows(c, b) ? 0 : b->n;
    size_t n_strip, n_left;
    c->left_stride = c->rules->of_classes ? b->n_segments : 2;
    return ef_mul_size(n, sizeof(int32_t), &n_strip) &&
           ef_mul_size((size_t)c->rules->n_candidates + 1, c->left_stride, &n_left) &&
           ef_scratch_reserve(&c->strip, &c->strip_capacity, n_strip, 1) &&
           ef_scratch_reserve(&c->row_at, &c->row_at_capacity, n, sizeof *c->row_at) &&
           ef_scratch_reserve(&c->left, &c->left_capacity, n_left, sizeof *c->left);
}

/* The best candidate so far. */
typedef struct contest {
    const int64_t *all; /* weights by segment */
    double margin, best_score;
    uint32_t best;
} contest;

/* The next candidate, which was counted, takes its place if it is better. */
static void let_compete(ef_chooser *c, const ef_bunch *b, contest *of) {
    const ef_split_candidate *const made = &c->candidates[c->n_drawn];
    const uint32_t min_leaf = c->rules->min_leaf;
    if (made->n_left >= min_leaf && b->n - made->n_left >= min_leaf) {
        const double score = score_of(c, b, c->left + (size_t)c->n_drawn * c->left_stride, of->all);
        if (of->best == EF_NO_CANDIDATE || score > of->best_score + of->margin) {
            of->best = c->n_drawn;
            of->best_score = score;
        }
    }
    c->n_drawn++;
}

/* A column that was drawn cannot divide the rows. */
static void skip_column(ef_chooser *c, uint16_t input, uint64_t *constants) {
    c->skipped[c->n_skipped++] = input;
    if (constants != NULL)
        constants[input / 64] |= (uint64_t)1 << (input % 64);
}

/* Draws candidates and counts them, one column after the other. */
static void try_columns(ef_chooser *c, const ef_bunch *b, uint64_t key, uint64_t *constants,
                        contest *of) {
    const ef_rules *const rules = c->rules;
    const uint64_t shuffle = ef_node_stream(key, EF_NODE_COLUMNS, 0);
    const bool from_rows = picks_rows(c, b->n);
    for (size_t i = 0; from_rows && i < b->n; i++)
        c->row_at[i] = c->rows->by_row + b->slots[i] * c->rows->row_bytes;
    /* No later candidate is better than one that leaves one class on each side, or, of two rows,
     * than any; but a tally needs all of them. */
    const double perfect = c->counts_extremes || rules->by_entropy ? 0x1p1000
                           : b->n == 2                             ? -1.0
                           : rules->of_classes                     ? (double)b->weight
                                                                   : 0x1p1000;
    for (uint32_t at = 0, n = 0; c->n_drawn < rules->n_candidates && at < rules->n_inputs;) {
        n = draw_columns(c, shuffle, &at, rules->n_candidates - c->n_drawn, constants);
        for (uint32_t i = 0; i < n; i++) {
            const uint16_t input = c->drawn[i];
            const strip s = {c, b, &c->rows->formats[input], input, from_rows, c->strip};
            int64_t *const left = c->left + (size_t)c->n_drawn * c->left_stride;
            if (!try_column(&s, key, &c->candidates[c->n_drawn], left)) {
                skip_column(c, input, constants);
                continue;
            }
            let_compete(c, b, of);
            if (of->best != EF_NO_CANDIDATE && of->best_score >= perfect)
                return;
        }
    }
}

/* ---------------------------------------------------------------- all columns at once */

/* Draws all candidates, by the ranges of columns. Returns how many. */
static uint32_t draw_by_ranges(ef_chooser *c, const ef_bunch *b, uint64_t key,
                               uint64_t *constants) {
    const ef_rules *const rules = c->rules;
    const uint64_t shuffle = ef_node_stream(key, EF_NODE_COLUMNS, 0);
    uint32_t n_made = 0;
    for (uint32_t at = 0, n = 0; n_made < rules->n_candidates && at < rules->n_inputs;) {
        n = draw_columns(c, shuffle, &at, rules->n_candidates - n_made, constants);
        for (uint32_t i = 0; i < n; i++) {
            const uint16_t input = c->drawn[i];
            const strip s = {c, b, &c->rows->formats[input], input, false, NULL};
            const range r = {c->whole.least[input], c->whole.most[input], false};
            if (divides(r))
                make_candidate(&s, key, r, &c->candidates[n_made++]);
            else
                skip_column(c, input, constants);
        }
    }
    return n_made;
}

/* Counts what goes left of each of n candidates. */
static void count_whole_rows(ef_chooser *c, const ef_bunch *b, uint32_t n) {
    ef_whole_rows *const w = &c->whole;
    for (uint32_t k = 0; k < n; k++) {
        w->limits[c->candidates[k].input] = c->candidates[k].cut;
        c->candidates[k].n_left = 0;
    }
    for (uint32_t s = 0, first = 0; s < b->n_segments; first += b->segments[s++].n_rows) {
        ef_whole_rows_count(w, c->rows, b->slots + first, b->targets, b->segments[s].n_rows);
        for (uint32_t k = 0; k < n; k++) {
            ef_split_candidate *const made = &c->candidates[k];
            int64_t *const left = c->left + (size_t)k * c->left_stride;
            left[s] = w->counts[made->input];
            made->n_left += w->counts[made->input];
            if (b->targets != NULL)
                left[1] = w->sums[made->input];
        }
    }
}

/* Counts the rows at both ends of the columns of n candidates. */
static void count_ends(ef_chooser *c, const ef_bunch *b, uint32_t n) {
    ef_whole_rows *const w = &c->whole;
    for (uint32_t k = 0; k < n; k++)
        w->limits[c->candidates[k].input] = c->candidates[k].lo;
    ef_whole_rows_count(w, c->rows, b->slots, NULL, b->n);
    for (uint32_t k = 0; k < n; k++) {
        c->candidates[k].n_lo = w->counts[c->candidates[k].input];
        w->limits[c->candidates[k].input] = c->candidates[k].hi - 1;
    }
    ef_whole_rows_count(w, c->rows, b->slots, NULL, b->n);
    for (uint32_t k = 0; k < n; k++)
        c->candidates[k].n_hi = (uint32_t)b->n - w->counts[c->candidates[k].input];
}

/* Looks at all columns to draw the candidates, and again to count them. */
static void try_whole_rows(ef_chooser *c, const ef_bunch *b, uint64_t key, uint64_t *constants,
                           contest *of) {
    ef_whole_rows_range(&c->whole, c->rows, b->slots, b->n);
    const uint32_t n = draw_by_ranges(c, b, key, constants);
    count_whole_rows(c, b, n);
    if (c->counts_extremes)
        count_ends(c, b, n);
    while (c->n_drawn < n)
        let_compete(c, b, of);
}

bool ef_choose(ef_chooser *c, const ef_bunch *b, uint64_t key, uint64_t *constants,
               uint32_t *best) {
    const ef_rules *const rules = c->rules;
    c->n_drawn = c->n_skipped = 0;
    *best = EF_NO_CANDIDATE;
    if (!reserve_choice(c, b))
        return false;
    memcpy(c->order, c->in_order, rules->n_inputs * sizeof *c->order);
    int64_t *const all = c->left + (size_t)rules->n_candidates * c->left_stride;
    for (uint32_t s = 0; rules->of_classes && s < b->n_segments; s++)
        all[s] = b->segments[s].weight;
    contest of = {.all = all, .margin = find_margin(c, b, all), .best = EF_NO_CANDIDATE};
    if (constants != NULL && b->n < EF_FEW_ROWS && rules->n_inputs / 16 >= rules->n_candidates)
        find_constants(c, b, constants);
    if (looks_at_whole_rows(c, b))
        try_whole_rows(c, b, key, constants, &of);
    else
        try_columns(c, b, key, constants, &of);
    *best = of.best;
    return true;
}
