/* The family `forest` for the tests of all families: parameters, rows, and what holds beside the
 * bytes. The oracle is in forest_oracle.c. Values are never missing here: sets of other families
 * cannot have such, so tests/forest/test_forest_missing.c has walks of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "law/case_rows.h"
#include "law/forest_plain.h"
#include "model/family.h"

#include <math.h>

#define MOST_TREES 5

/* ---------------------------------------------------------------- parameters */

/* An empty room, with defaults and few trees. Categories are in the room. */
static efface_forest_params *begin(law_params *params) {
    memset(params, 0, sizeof *params);
    efface_forest_params *const p = &forest_room_of(params)->params;
    efface_forest_params_init(p);
    p->common.n_threads = 1;
    p->n_trees = 3;
    return p;
}

/* Categories: those of n columns from `first` on, each `step` after the one before, that are no
 * target, each once and in ascending order. */
static void set_categories(law_params *params, uint32_t d, uint32_t n, uint32_t first,
                           uint32_t step) {
    forest_room *const room = forest_room_of(params);
    uint32_t n_set = 0;
    for (uint32_t column = 0; column < d; column++) {
        bool is_set = false;
        for (uint32_t i = 0; i < n; i++)
            is_set |= (first + (uint64_t)i * step) % d == column;
        if (is_set && column != room->params.target)
            room->categories[n_set++] = column;
    }
    room->params.categories = n_set != 0 ? room->categories : NULL;
    room->params.n_categories = n_set;
}

static double largest_of(const law_rows *rows, uint32_t column) {
    double most = 1e-30;
    for (size_t i = 0; i < rows->n; i++)
        if (fabs((double)rows->values[i * rows->d + column]) > most)
            most = fabs((double)rows->values[i * rows->d + column]);
    return most;
}

static int64_t weight_of(const law_rows *rows) {
    int64_t total = 0;
    for (size_t i = 0; i < rows->n; i++)
        total += rows->weights[i];
    return total;
}

/* Weights of a tree are up to 20 times those of the rows with Poisson. The sum of w g in a leaf has
 * to fit into 64 bits, so with a target the weight of the set has a limit. */
static bool may_be_poisson(const law_rows *rows, bool has_target) {
    return !has_target || weight_of(rows) < INT64_C(1) << 34;
}

static void draw_limits(efface_forest_params *p, const law_rows *rows) {
    const uint32_t d = rows->d;
    const uint32_t candidates[] = {0, 1, 2, 1 + d / 2, d, d + 5};
    p->n_candidates = candidates[below(6)];
    if (one_in(3))
        p->max_depth = 1 + (uint32_t)below(one_in(3) ? 20 : 7);
    if (one_in(3))
        p->min_split = 2 + (uint32_t)below(one_in(4) ? rows->n + 3 : 8);
    if (one_in(3))
        p->min_leaf = 1 + (uint32_t)below(one_in(4) ? rows->n + 1 : 6);
}

static void draw(law_params *params, const law_rows *rows, bool calm, uint64_t *stream) {
    const uint32_t d = rows->d;
    rng_state = *stream;
    efface_forest_params *const p = begin(params);
    p->common.seed = one_in(20) ? 0 : next();
    p->common.n_threads = 1 + (uint32_t)below(2);
    p->n_trees = 1 + (uint32_t)below(MOST_TREES);
    if (d > 1 && one_in(3)) {
        p->target = (uint32_t)below(d);
        if (calm || one_in(3)) /* a bound that no row moves */
            p->bound =
                fmin(largest_of(rows, p->target) * (one_in(2) ? 1.0 : 3.7), EFFACE_MAX_MAGNITUDE);
    } else if (one_in(3)) {
        p->criterion = EFFACE_CRITERION_ENTROPY;
    }
    const uint64_t how = below(6);
    if (how == 0)
        p->rows = EFFACE_FOREST_SOME;
    else if (how == 1 && may_be_poisson(rows, p->target != EFFACE_NO_COLUMN))
        p->rows = EFFACE_FOREST_POISSON;
    p->trees_of_row = 1 + (uint32_t)below(p->n_trees + 2);
    draw_limits(p, rows);
    if (one_in(3)) {
        const uint32_t n = 1 + (uint32_t)below(one_in(3) ? d : 3), first = (uint32_t)below(d);
        set_categories(params, d, n, first, 1 + (uint32_t)below(5));
    }
    p->missing = one_in(3);
    p->lazy = one_in(2);
    *stream = rng_state;
}

/*
 *     byte 0   seed
 *     byte 1   trees - 1 (2 bits), rows of trees (2 bits), trees of a row - 1 (2 bits), lazy,
 *              missing
 *     byte 2   target: 0 to 127 none, else the column; byte 3: its bound (2 bits), entropy, limits
 *     byte 4   candidates (3 bits), depth (2 bits), least rows of a leaf - 1 (3 bits)
 *     byte 5   categories: how many (2 bits), from which column on (3 bits), steps (3 bits)
 */
static void read_bytes(law_params *params, uint32_t d, law_bytes *in) {
    static const double bounds[] = {0.0, 0.0, 1e6, EFFACE_MAX_MAGNITUDE};
    static const uint32_t depths[] = {0, 0, 1, 9};
    efface_forest_params *const p = begin(params);
    const unsigned seed = law_take(in), a = law_take(in), b = law_take(in), c = law_take(in),
                   e = law_take(in), f = law_take(in);
    p->common.seed = seed;
    p->n_trees = 1 + (a & 3);
    p->rows = (efface_forest_rows)((a >> 2 & 3) % 3);
    p->trees_of_row = 1 + (a >> 4 & 3);
    p->lazy = (a & 64) != 0;
    p->missing = (a & 128) != 0;
    if (b >= 128 && d > 1) {
        p->target = b % d;
        p->bound = bounds[c & 3];
    } else if ((c & 4) != 0) {
        p->criterion = EFFACE_CRITERION_ENTROPY;
    }
    p->min_split = 2 + (c >> 4);
    p->n_candidates = e & 7;
    p->max_depth = depths[e >> 3 & 3];
    p->min_leaf = 1 + (e >> 5);
    set_categories(params, d, f & 3, f >> 2 & 7, 1 + (f >> 5));
}

/* ---------------------------------------------------------------- ways and kinds */

enum { CLASSES, TARGET, SOME, POISSON, ENTROPY, CATEGORIES, MISSING, N_WAYS };

static const char *const way_names[N_WAYS] = {
    "classes",       "target, lazy",    "target, given bound, some trees",
    "poisson, lazy", "entropy, limits", "categories",
    "missing, lazy",
};
static const char *const kind_names[N_WAYS] = {
    "classes", "target", "some", "poisson", "entropy", "categories", "missing",
};

static void choose(law_params *params, unsigned way, uint32_t d) {
    efface_forest_params *const p = begin(params);
    p->common.seed = 20191105;
    p->lazy = way == TARGET || way == POISSON || way == MISSING;
    if ((way == TARGET || way == SOME) && d > 1)
        p->target = d - 1;
    p->bound = way == SOME && d > 1 ? 0x1p20 : 0.0;
    p->rows = way == SOME      ? EFFACE_FOREST_SOME
              : way == POISSON ? EFFACE_FOREST_POISSON
                               : EFFACE_FOREST_ALL;
    p->n_trees = way == SOME ? 5 : 2;
    p->trees_of_row = 2;
    if (way == ENTROPY) {
        p->criterion = EFFACE_CRITERION_ENTROPY;
        p->max_depth = 5;
        p->min_split = 4;
        p->min_leaf = 2;
        p->n_candidates = 2;
    }
    p->missing = way == MISSING;
    if (way == CATEGORIES)
        set_categories(params, d, 2, 0, 2);
}

static unsigned kind_of(const law_params *params) {
    const efface_forest_params *const p = forest_of(params);
    return p->rows == EFFACE_FOREST_SOME              ? SOME
           : p->rows == EFFACE_FOREST_POISSON         ? POISSON
           : p->n_categories != 0                     ? CATEGORIES
           : p->target != EFFACE_NO_COLUMN            ? TARGET
           : p->criterion == EFFACE_CRITERION_ENTROPY ? ENTROPY
           : p->missing != 0                          ? MISSING
                                                      : CLASSES;
}

static bool allows(const law_params *params, const float *values, uint32_t d) {
    const efface_forest_params *const p = forest_of(params);
    (void)d;
    return p->target == EFFACE_NO_COLUMN || p->bound == 0.0 ||
           fabs((double)values[p->target]) <= p->bound;
}

/* A forest keeps the rows of its leaves, and canonical bytes do not say which these are. */
static bool needs_rows(const law_params *params, bool range_lost) {
    (void)params;
    (void)range_lost;
    return true;
}

/* ---------------------------------------------------------------- rows */

/* Columns that trees stumble over. */
static void spoil_columns(law_rows *t) {
    const uint32_t d = t->d;
    for (uint32_t j = 0; j < d; j++) {
        const uint64_t how = below(12);
        const uint32_t a = (uint32_t)below(d);
        const float middle = sign(spread_out(1.0f, -110, 230));
        for (size_t i = 0; i < t->n; i++) {
            float *const row = t->values + i * d;
            if (how == 0) /* constant but for one row */
                row[j] = i == t->n / 2 ? 0.0f : middle;
            else if (how == 1) /* the same as another: the one drawn first wins */
                row[j] = row[a];
            else if (how == 2) /* neighbours: a threshold has no room */
                row[j] = one_in(2) ? middle : nextafterf(middle, 0.0f);
            else if (how == 3) /* on both sides of where values begin to count */
                row[j] = sign((float)(1 + below(3)) * 0x1p-101f);
            else if (how == 4) /* few categories */
                row[j] = (float)below(3) * 0.75f;
            else if (how == 5) /* one row in sight of each power of two */
                row[j] = sign(scaled(1.0f, (int)below(60) - 30));
            else if (how == 6) /* constant */
                row[j] = middle;
        }
    }
}

/* Labels of all kinds: those of columns, few, many, one a row, extreme, and none. */
static void draw_labels(law_rows *t) {
    static const int64_t extremes[] = {INT64_MIN + 1, INT64_MAX, 0, -1, 1, INT64_MAX, -7,
                                       INT64_MIN + 2};
    const uint64_t kind = below(8), n_labels = 1 + below(6), without = below(4);
    const uint32_t column = (uint32_t)below(t->d);
    for (size_t i = 0; i < t->n; i++) {
        switch (kind) {
        case 0: t->labels[i] = extremes[below(8)]; break;
        case 1: t->labels[i] = (int64_t)i - 3; break;                      /* one row a class */
        case 2: t->labels[i] = (int64_t)mix(i / 2 + 1); break;             /* two, far apart */
        case 3: t->labels[i] = i % 9 == 0 ? extremes[below(8)] : 5; break; /* rare classes */
        case 4: t->labels[i] = one_in(12) ? 1 : 0; break;
        case 5: t->labels[i] = t->values[i * t->d + column] > t->values[column]; break;
        default: t->labels[i] = (int64_t)below(n_labels) - 2; break;
        }
        if (t->labels[i] == EFFACE_NO_LABEL)
            t->labels[i] = 9;
        if (without == 0 && one_in(3))
            t->labels[i] = EFFACE_NO_LABEL;
    }
}

static void draw_case(law_case *c, const law_wish *wish, uint64_t *stream) {
    *stream = mix(wish->seed + UINT64_C(0xF0E5));
    law_draw_rows(&c->rows, stream);
    rng_state = *stream;
    if (one_in(2))
        spoil_columns(&c->rows);
    if (!one_in(4))
        draw_labels(&c->rows);
    *stream = rng_state;
    draw(&c->params, &c->rows, wish->calm, stream);
}

/* ---------------------------------------------------------------- who would be picked */

/* The row that has the smallest or the largest value of a column: thresholds depend on it. */
static uint64_t extreme_of(const efface_data *data, uint32_t column, bool largest, float *values) {
    float extreme = 0.0f;
    uint64_t id = 0;
    for (size_t i = 0; i < efface_data_n_rows(data); i++) {
        efface_data_values(data, i, values);
        const float x = largest ? values[column] : -values[column];
        if (i == 0 || x > extreme) {
            extreme = x;
            id = efface_data_row(data, i).id;
        }
    }
    return id;
}

/* Whether no other row has the label of a row. */
static bool is_alone(const efface_data *data, size_t position) {
    const int64_t label = efface_data_row(data, position).label;
    for (size_t i = 0; i < efface_data_n_rows(data); i++)
        if (i != position && efface_data_row(data, i).label == label)
            return false;
    return label != EFFACE_NO_LABEL;
}

static size_t add_name(uint64_t *ids, size_t n, uint64_t id) {
    for (size_t k = 0; k < n; k++)
        if (ids[k] == id)
            return n;
    ids[n] = id;
    return n + 1;
}

/* Rows of leaves right below the root, where a split has few rows on one side. A lazy model is
 * left as it is. */
static size_t name_lonely(const efface_model *model, const efface_data *data, uint64_t *ids,
                          size_t n, size_t most, float *values) {
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    if (efface_forest_get_params(model).lazy != 0)
        return n;
    assert_int_equal(efface_model_encode(model, &bytes, &n_bytes, NULL), EFFACE_OK);
    forest_plain *const forest = forest_read(bytes, n_bytes);
    assert_non_null(forest);
    const forest_node *const tree = forest->trees[below(forest->n_trees)];
    for (size_t i = 0; i < efface_data_n_rows(data) && n < most; i++) {
        efface_data_values(data, i, values);
        if (forest_find_leaf(tree, values)->depth <= 2)
            n = add_name(ids, n, efface_data_row(data, i).id);
    }
    forest_free(forest);
    efface_bytes_free(bytes);
    return n;
}

static size_t name_ids(const efface_model *model, const efface_data *data, uint64_t *ids,
                       size_t most, uint64_t *stream) {
    const size_t n = efface_data_n_rows(data);
    const uint32_t d = efface_data_n_columns(data);
    rng_state = *stream;
    float *const values = make(d, sizeof *values);
    size_t n_named = 0;
    const uint64_t first = n != 0 ? below(n) : 0, turn = below(3);
    for (size_t i = 0; turn == 0 && i < n && n_named < most; i++)
        if (is_alone(data, (first + i) % n))
            ids[n_named++] = efface_data_row(data, (first + i) % n).id;
    if (turn == 1 && n != 0)
        n_named = name_lonely(model, data, ids, n_named, most, values);
    for (int i = 0; n != 0 && i < 4 && n_named < most; i++) {
        const uint32_t column = (uint32_t)below(d);
        n_named = add_name(ids, n_named, extreme_of(data, column, one_in(2), values));
    }
    free(values);
    *stream = rng_state;
    return n_named;
}

/* ---------------------------------------------------------------- beside the bytes */

#define MOST_ASKED 12

/* Rows of a set, and others. What stands in the place of a target must not matter. */
static float *some_rows(const efface_data *data, uint32_t target, float instead, size_t *n) {
    const size_t n_rows = efface_data_n_rows(data);
    const uint32_t d = efface_data_n_columns(data);
    *n = n_rows < MOST_ASKED ? n_rows + 2 : MOST_ASKED;
    float *const values = make(*n * d, sizeof *values);
    for (size_t i = 0; i < *n; i++) {
        float *const row = values + i * d;
        if (n_rows != 0)
            efface_data_values(data, i * n_rows / *n, row);
        for (uint32_t j = 0; j < d; j++) {
            if (i % 4 == 1)
                row[j] *= 0.75f;
            else if (i % 4 == 3)
                row[j] = j % 2 == 0 ? -0x1p-101f : 0x1p-101f; /* counts as 0 */
        }
        if (target != EFFACE_NO_COLUMN)
            row[target] = instead;
    }
    return values;
}

/* What a forest answers for some rows, all of it as numbers. */
typedef struct said {
    efface_status status;
    efface_model_info info;
    size_t n_rows;
    efface_number *numbers;
    double *probabilities;
    uint32_t *leaves;
    uint64_t *importances;
} said;

static said hear(const efface_model *model, const efface_data *data, float instead) {
    const efface_forest_params p = efface_forest_get_params(model);
    said s = {.info = efface_model_get_info(model)};
    float *const rows = some_rows(data, p.target, instead, &s.n_rows);
    s.numbers = make(s.n_rows, sizeof *s.numbers);
    s.probabilities = make(s.n_rows * s.info.n_classes, sizeof *s.probabilities);
    s.leaves = make(s.n_rows * p.n_trees, sizeof *s.leaves);
    s.importances = make(s.info.n_columns, sizeof *s.importances);
    s.status =
        efface_predictor_predict(efface_model_predictor(model), s.n_rows, rows, 0, s.numbers, NULL);
    assert_true(s.status == EFFACE_OK || s.status == EFFACE_E_ARGUMENT);
    if (s.status == EFFACE_OK) {
        assert_int_equal(s.info.n_numbers, 1);
        assert_int_equal(efface_forest_leaves(model, s.n_rows, rows, 0, s.leaves, NULL), EFFACE_OK);
        if (p.target == EFFACE_NO_COLUMN)
            assert_int_equal(efface_predictor_score(efface_model_predictor(model),
                                                    EFFACE_SCORES_PROBABILITIES, s.n_rows, rows, 0,
                                                    s.probabilities, NULL),
                             EFFACE_OK);
    }
    assert_int_equal(efface_forest_importances(model, s.importances, NULL), EFFACE_OK);
    free(rows);
    return s;
}

static void forget_said(said *s) {
    free(s->numbers);
    free(s->probabilities);
    free(s->leaves);
    free(s->importances);
}

static void require_same(const said *a, const said *b, uint32_t n_trees) {
    assert_int_equal(a->status, b->status);
    assert_true(a->info.n_numbers == b->info.n_numbers && a->info.n_classes == b->info.n_classes &&
                a->info.n_rows == b->info.n_rows && a->info.predicts == b->info.predicts);
    assert_memory_equal(a->numbers, b->numbers, a->n_rows * sizeof *a->numbers);
    assert_memory_equal(a->probabilities, b->probabilities,
                        a->n_rows * a->info.n_classes * sizeof *a->probabilities);
    assert_memory_equal(a->leaves, b->leaves, a->n_rows * n_trees * sizeof *a->leaves);
    assert_memory_equal(a->importances, b->importances, a->info.n_columns * sizeof *a->importances);
}

/* A model answers as a fresh fit does. */
static void compare(const efface_model *model, const efface_model *fresh, const efface_data *data) {
    const uint32_t n_trees = efface_forest_get_params(model).n_trees;
    said a = hear(model, data, NAN), b = hear(fresh, data, 7.5f);
    require_same(&a, &b, n_trees);
    const efface_forest_info x = efface_forest_get_info(model), y = efface_forest_get_info(fresh);
    assert_true(x.n_trees == y.n_trees && x.n_nodes == y.n_nodes && x.n_leaves == y.n_leaves &&
                x.depth == y.depth && x.n_rows == y.n_rows);
    forget_said(&a);
    forget_said(&b);
}

/* A model that is published predicts as it did before. */
static void check_published(const efface_model *model, const efface_data *data) {
    const uint32_t target = efface_forest_get_params(model).target;
    ef_writer w = {0};
    efface_predictor *published = NULL;
    efface_error error = {.message = ""};
    size_t n = 0;
    float *const rows = some_rows(data, target, 0.0f, &n);
    efface_number *const is = make(n, sizeof *is), *const should_be = make(n, sizeof *should_be);
    if (efface_predictor_predict(efface_model_predictor(model), n, rows, 0, should_be, NULL) ==
        EFFACE_OK) {
        ef_predictor_write(&w, model, data, NULL);
        assert_false(w.failed);
        if (efface_predictor_decode(w.bytes, w.n_bytes, &published, &error) != EFFACE_OK)
            fail_msg("a forest cannot be published: %s", error.message);
        assert_int_equal(efface_predictor_predict(published, n, rows, 0, is, NULL), EFFACE_OK);
        assert_memory_equal(is, should_be, n * sizeof *is);
        efface_predictor_free(published);
        efface_bytes_free(w.bytes);
    }
    free(rows);
    free(is);
    free(should_be);
}

/* Bytes and parameters are all that a model is. */
static void check_decoded(const efface_model *model, const efface_data *data) {
    const efface_params *const params = model->family->params(model->state);
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    efface_model *again = NULL;
    efface_error error = {.message = ""};
    assert_int_equal(efface_model_encode(model, &bytes, &n_bytes, NULL), EFFACE_OK);
    if (efface_model_decode(bytes, n_bytes, params, data, &again, &error) != EFFACE_OK)
        fail_msg("a forest cannot be decoded: %s", error.message);
    compare(again, model, data);
    efface_model_free(again);
    efface_bytes_free(bytes);
}

static void check(const efface_model *model, const efface_data *data) {
    static unsigned turn;
    unsigned char before[EFFACE_DIGEST_BYTES], after[EFFACE_DIGEST_BYTES];
    assert_int_equal(efface_model_digest(model, before, NULL), EFFACE_OK);
    assert_int_equal(efface_forest_settle(model, NULL), EFFACE_OK);
    assert_int_equal(efface_forest_get_info(model).n_unsettled, 0);
    assert_int_equal(efface_model_digest(model, after, NULL), EFFACE_OK);
    assert_memory_equal(before, after, sizeof before);
    if (turn % 3 == 0)
        check_published(model, data);
    else if (turn % 3 == 1)
        check_decoded(model, data);
    turn++;
}

/* A model of any bytes, with its rows or without. */
static void use(const efface_model *model, const efface_data *data) {
    const efface_forest_params p = efface_forest_get_params(model);
    const efface_model_info info = efface_model_get_info(model);
    size_t n = 0;
    float *const rows = some_rows(data, p.target, 0.0f, &n);
    uint32_t *const leaves = make(n * p.n_trees, sizeof *leaves);
    uint64_t *const importances = make(info.n_columns, sizeof *importances);
    double *const scores = make(n * info.n_classes, sizeof *scores);
    int64_t *const classes = make(info.n_classes, sizeof *classes);
    efface_predictor_classes(efface_model_predictor(model), classes, info.n_classes);
    (void)efface_forest_get_info(model);
    (void)efface_forest_settle(model, NULL);
    (void)efface_forest_leaves(model, n, rows, 0, leaves, NULL);
    (void)efface_forest_importances(model, importances, NULL);
    for (int s = 0; s < 2; s++)
        (void)efface_predictor_score(efface_model_predictor(model), (efface_scores)s, n, rows, 0,
                                     scores, NULL);
    free(rows);
    free(leaves);
    free(importances);
    free(scores);
    free(classes);
}

/* ---------------------------------------------------------------- what walks have seen */

static struct { unsigned long actions[3], kinds[N_WAYS], lazy; } seen;

static void meet(const law_params *params, const efface_model *model) {
    (void)model;
    seen.kinds[kind_of(params)]++;
    seen.lazy += forest_of(params)->lazy != 0;
}

static void *look(const efface_model *model) {
    (void)model;
    return NULL;
}

static void note(void *before, const law_step *step) {
    (void)before;
    seen.actions[step->report->action]++;
}

static void tell(bool all) {
    print_message("forest: untouched %lu, repaired %lu, refitted %lu;", seen.actions[0],
                  seen.actions[1], seen.actions[2]);
    for (unsigned kind = 0; kind < N_WAYS; kind++)
        print_message(" %s %lu", kind_names[kind], seen.kinds[kind]);
    print_message(" lazy %lu\n", seen.lazy);
    if (!all)
        return;
    assert_true(seen.actions[0] != 0 && seen.actions[1] != 0 && seen.lazy != 0);
    for (unsigned kind = 0; kind < N_WAYS; kind++)
        assert_true(seen.kinds[kind] != 0);
}

const law_family law_forest = {
    .number = EFFACE_FAMILY_FOREST,
    .name = "forest",
    .draw = draw,
    .draw_case = draw_case,
    .read = read_bytes,
    .n_ways = N_WAYS,
    .way_names = way_names,
    .choose = choose,
    .n_kinds = N_WAYS,
    .kind_names = kind_names,
    .kind_of = kind_of,
    .allows = allows,
    .needs_rows = needs_rows,
    .oracle = forest_oracle,
    .name_ids = name_ids,
    .differ = forest_differ,
    .compare = compare,
    .check = check,
    .use = use,
    .spares = true,
    .alone = true,
    .meet = meet,
    .look = look,
    .note = note,
    .tell = tell,
};
