/* The state of a forest: made from rows, and given its rows again. */
#include "model/forest/forest.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define MIN_CANDIDATES 5 /* by default, if there are as many inputs */
#define MAX_BOOTSTRAPPED ((int64_t)1 << 34)
#define MIN_TALLY_ROWS 64 /* smaller nodes are looked through as fast as they are counted */

/* ---------------------------------------------------------------- making */

static efface_status make_inputs(ef_forest *f, const efface_forest_params *params,
                                 efface_error *error) {
    const uint32_t d = f->n_columns;
    if (f->target != EFFACE_NO_COLUMN && f->target >= d)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the target is column %" PRIu32 ", counted from 0, but there are %" PRIu32
                       " columns",
                       f->target, d);
    f->columns = ef_alloc(d, sizeof *f->columns);
    f->input_ids = ef_alloc(d, sizeof *f->input_ids);
    f->are_categories = ef_alloc_zero(d, sizeof *f->are_categories);
    f->sizes = ef_alloc_zero(d, sizeof *f->sizes);
    f->units = ef_alloc(d, sizeof *f->units);
    if (f->columns == NULL || f->input_ids == NULL || f->are_categories == NULL ||
        f->sizes == NULL || f->units == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < d; j++)
        if (j != f->target) {
            f->input_ids[f->n_inputs] = j;
            f->columns[f->n_inputs++] = j;
        }
    if (f->n_inputs == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the target is the only column; a forest needs another one to predict it "
                       "from");
    for (uint32_t i = 0; i < params->n_categories; i++) {
        const uint32_t column = params->categories[i];
        if (column >= d || column == f->target)
            return ef_fail(error, EFFACE_E_ARGUMENT,
                           "column %" PRIu32 ", counted from 0, cannot have categories: %s", column,
                           column >= d ? "there is no such column" : "it is the target");
        f->are_categories[column - (column > f->target)] = true;
    }
    return EFFACE_OK;
}

/* The square root, rounded down. */
static uint32_t root_of(uint32_t n) {
    uint32_t root = 0;
    while ((root + 1) * (root + 1) <= n)
        root++;
    return root;
}

static uint32_t candidates_of(const efface_forest_params *params, uint32_t n_inputs) {
    uint32_t n = params->n_candidates;
    if (n == 0) {
        n = params->target == EFFACE_NO_COLUMN ? 2 * root_of(n_inputs) / 3 : n_inputs / 3;
        n = n > MIN_CANDIDATES ? n : MIN_CANDIDATES;
    }
    return n < n_inputs ? n : n_inputs;
}

static void make_rules(ef_forest *f) {
    const efface_forest_params *const params = f->params;
    f->rules = (ef_rules){
        .n_inputs = f->n_inputs,
        .n_candidates = candidates_of(params, f->n_inputs),
        .columns = f->columns,
        .are_categories = f->are_categories,
        .units = f->units,
        .max_depth = params->max_depth,
        .min_split = params->min_split,
        .min_leaf = params->min_leaf,
        .of_classes = ef_forest_of_classes(f),
        .by_entropy = params->criterion == EFFACE_CRITERION_ENTROPY,
        .may_miss = params->missing != 0,
        .bootstraps = params->rows == EFFACE_FOREST_POISSON,
        .seed = params->common.seed,
    };
}

efface_status ef_forest_make(const efface_forest_params *params, uint32_t n_columns,
                             ef_forest **out, efface_error *error) {
    ef_forest *const f = ef_alloc_zero(1, sizeof *f);
    if (f == NULL)
        return ef_fail_memory(error);
    f->n_columns = n_columns;
    f->target = params->target;
    f->takes_missing = params->missing != 0;
    efface_status status = make_inputs(f, params, error);
    if (status == EFFACE_OK) {
        f->params =
            (efface_forest_params *)(void *)ef_forest_copy_params(&params->common, n_columns);
        f->trees = ef_alloc_zero(params->n_trees, sizeof *f->trees);
        f->lock = ef_lock_create();
        f->gains = ef_alloc_zero(1, sizeof *f->gains);
        if (f->params == NULL || f->trees == NULL || f->lock == NULL || f->gains == NULL)
            status = ef_fail_memory(error);
    }
    if (status == EFFACE_OK) {
        f->n_trees = params->n_trees;
        for (uint32_t t = 0; t < f->n_trees; t++)
            ef_dtree_init(&f->trees[t], ef_forest_of_classes(f));
        make_rules(f);
        *out = f;
    } else {
        ef_forest_free(f);
    }
    return status;
}

void ef_forest_free(void *state) {
    ef_forest *const f = state;
    if (f == NULL)
        return;
    for (uint32_t t = 0; t < f->n_trees; t++)
        ef_dtree_free(&f->trees[t]);
    for (size_t s = 0; f->branches != NULL && s < ef_forest_section(f->n_trees); s++)
        ef_free(f->branches[s]);
    ef_free(f->branches);
    ef_free(f->trees);
    ef_forest_slots_free(&f->rows);
    ef_classes_free(&f->classes);
    ef_free(f->columns);
    ef_free(f->input_ids);
    ef_free(f->are_categories);
    ef_free(f->sizes);
    ef_free(f->units);
    if (f->gains != NULL)
        ef_free(*f->gains);
    ef_free(f->gains);
    ef_lock_free(f->lock);
    ef_free(f->params);
    ef_free(f);
}

uint32_t ef_forest_tally_rows(const ef_forest *f) {
    const uint64_t n = 4 * (uint64_t)f->classes.n_ids;
    return n > UINT32_MAX ? UINT32_MAX : n > MIN_TALLY_ROWS ? (uint32_t)n : MIN_TALLY_ROWS;
}

/* ---------------------------------------------------------------- rows */

efface_status ef_forest_find_exponent(const ef_forest *f, const efface_data *data,
                                      int32_t *exponent, efface_error *error) {
    *exponent = 0;
    if (ef_forest_of_classes(f))
        return EFFACE_OK;
    float *const ranges = ef_alloc(2 * (size_t)data->n_columns, sizeof *ranges);
    if (ranges == NULL)
        return ef_fail_memory(error);
    ef_data_column_ranges(data, ranges, ranges + data->n_columns);
    const float low = ranges[f->target], high = ranges[data->n_columns + f->target];
    const double bound = f->params->bound;
    ef_free(ranges);
    if (bound > 0.0 && ((double)low < -bound || (double)high > bound))
        return ef_fail(error, EFFACE_E_LIMIT,
                       "the targets, column %" PRIu32
                       ", are from %g to %g, beyond the bound %g; give a larger bound or none",
                       f->target + 1, (double)low, (double)high, bound);
    *exponent = ef_exponent(-low > high ? -low : high);
    for (int e = EF_EXPONENT_MIN; bound > 0.0; e++)
        if (ef_power_of_two(e) >= bound) {
            *exponent = e;
            break;
        }
    return EFFACE_OK;
}

efface_status ef_forest_check_weight(const ef_forest *f, int64_t weight, efface_error *error) {
    if (f->rules.bootstraps && !ef_forest_of_classes(f) && weight >= MAX_BOOTSTRAPPED)
        return ef_fail(error, EFFACE_E_LIMIT,
                       "rows of a tree that are drawn as in a bootstrap must have a total weight "
                       "below 2^34 if there is a target; give smaller weights, or all rows to each "
                       "tree");
    return EFFACE_OK;
}

bool ef_forest_takes(const ef_forest *f, int64_t label, float target) {
    return ef_forest_of_classes(f) ? label != EFFACE_NO_LABEL : target == target;
}

int32_t ef_forest_target(const ef_forest *f, float target) {
    const bool is_tiny = target > -0x1p-100F && target < 0x1p-100F;
    return ef_snap(is_tiny ? 0.0F : target, 0.0F, ef_step_bound(f->exponent));
}

int32_t ef_forest_unit(const ef_forest *f, uint32_t input) {
    return f->are_categories[input] ? EF_NO_UNIT : ef_sizes_unit(&f->sizes[input]);
}

/* ---------------------------------------------------------------- trees */

/* The trees that are made at once, and what workers need. */
typedef struct job {
    ef_forest *forest;
    ef_grower *growers;
    uint32_t **slots;        /* by worker: the rows of a tree */
    const uint64_t *members; /* bits of the trees of each slot, or NULL */
    uint32_t first;          /* tree */
    bool only_chain;
    bool *failed; /* by worker */
} job;

size_t ef_forest_list_rows(const ef_forest *f, uint32_t tree, const uint64_t *members,
                           uint32_t *slots) {
    const ef_forest_slots *const rows = &f->rows;
    const size_t n_words = (f->n_trees + 63) / 64;
    size_t n = 0;
    assert(rows->n_free == 0);
    for (uint32_t slot = 0; slot < rows->n_slots; slot++) {
        bool in = !rows->leaving[slot];
        if (members != NULL)
            in &= (members[slot * n_words + tree / 64] >> (tree % 64) & 1) != 0;
        else if (f->rules.bootstraps)
            in = in && ef_draw_poisson(f->rules.seed, rows->ids[slot], tree) != 0;
        slots[n] = slot;
        n += in;
    }
    return n;
}

/* Chains the rows of leaves that were grown from a list. */
static void chain_leaves(ef_dtree *tree, const uint32_t *slots) {
    for (uint32_t i = 0; i < tree->n_used; i++) {
        ef_dnode *const node = &tree->nodes[i];
        if (node->kind != EF_LEAF || !node->holds)
            continue;
        const uint32_t first = node->first;
        node->first = EF_NO_SLOT;
        for (uint32_t r = 0; r < node->n_rows; r++)
            ef_dtree_link(tree, i, slots[first + r]);
    }
}

/* All rows of a tree that was read are at its root. */
static void chain_root(ef_dtree *tree, const uint32_t *slots, size_t n) {
    ef_dnode *const root = &tree->nodes[0];
    root->holds = true;
    root->n_rows = (uint32_t)n;
    root->first = EF_NO_SLOT;
    for (size_t i = n; i-- > 0;)
        ef_dtree_link(tree, 0, slots[i]);
}

static bool make_tree(const job *j, unsigned worker, uint32_t number) {
    ef_forest *const f = j->forest;
    ef_dtree *const tree = &f->trees[number];
    const size_t n = ef_forest_list_rows(f, number, j->members, j->slots[worker]);
    if (!ef_dtree_chain(tree, f->rows.capacity))
        return false;
    if (j->only_chain) {
        chain_root(tree, j->slots[worker], n);
        return true;
    }
    ef_grower *const g = &j->growers[worker];
    if (!ef_grower_take(g, number, j->slots[worker], n) ||
        !ef_grow_tree(g, tree, ef_root_key(f->params->common.seed, number)))
        return false;
    chain_leaves(tree, g->bunch.slots);
    return true;
}

static void make_trees(void *context, unsigned worker, size_t first, size_t last) {
    const job *const j = context;
    for (size_t t = first; t < last && !j->failed[worker]; t++)
        j->failed[worker] = !make_tree(j, worker, j->first + (uint32_t)t);
}

bool ef_forest_find_members(const ef_forest *f, uint64_t **found) {
    const ef_forest_slots *const rows = &f->rows;
    const size_t n_words = (f->n_trees + 63) / 64;
    size_t n;
    if (f->params->rows != EFFACE_FOREST_SOME)
        return true;
    uint32_t *const places = ef_alloc(f->n_trees, sizeof *places);
    uint64_t *const members =
        ef_mul_size(rows->n_slots, n_words, &n) ? ef_alloc_zero(n, sizeof *members) : NULL;
    for (uint32_t slot = 0; places != NULL && members != NULL && slot < rows->n_slots; slot++)
        ef_draw_trees(f->params->common.seed, rows->ids[slot], f->params->trees_of_row, f->n_trees,
                      places, members + slot * n_words);
    const bool ok = places != NULL && members != NULL;
    ef_free(places);
    if (ok)
        *found = members;
    else
        ef_free(members);
    return ok;
}

static efface_status run_job(job *j, ef_pool *pool, efface_error *error) {
    const efface_params *const common = &j->forest->params->common;
    ef_progress progress = {.told = common->progress, .context = common->interrupt_context};
    const ef_interrupt interrupt = {common->interrupted, common->interrupt_context, NULL};
    const unsigned n_workers = ef_pool_size(pool);
    const uint32_t n = j->forest->n_trees;
    efface_status status = EFFACE_OK;
    while (status == EFFACE_OK && j->first < n) {
        const uint32_t rest = n - j->first;
        /* A few trees at a time, so that somebody can be asked in between. */
        const uint32_t at_once = rest < 2 * n_workers ? rest : 2 * n_workers;
        status = ef_ask(&interrupt, error);
        if (status == EFFACE_OK)
            ef_pool_run(pool, at_once, 1, make_trees, j);
        for (unsigned w = 0; status == EFFACE_OK && w < n_workers; w++)
            if (j->failed[w])
                status = ef_fail_memory(error);
        j->first += at_once;
        if (status == EFFACE_OK && common->progress != NULL && !j->only_chain)
            ef_tell(&progress, (double)j->first / (double)n);
    }
    return status;
}

/* Grows all trees, or chains all rows at their roots. */
static efface_status make_all(ef_forest *f, bool only_chain, efface_error *error) {
    const size_t work = f->rows.n_slots * f->n_trees;
    const uint32_t asked = f->params->common.n_threads;
    ef_pool *const pool = ef_pool_create(work < 2000 ? 1 : asked);
    const unsigned n = pool != NULL ? ef_pool_size(pool) : 0;
    job j = {.forest = f, .only_chain = only_chain};
    j.growers = ef_alloc_zero(n, sizeof *j.growers);
    j.slots = ef_alloc_zero(n, sizeof *j.slots);
    j.failed = ef_alloc_zero(n, sizeof *j.failed);
    bool ok = pool != NULL && j.growers != NULL && j.slots != NULL && j.failed != NULL;
    for (unsigned w = 0; ok && w < n; w++) {
        j.slots[w] = ef_alloc(f->rows.n_slots + 1, sizeof **j.slots);
        ok = ef_grower_init(&j.growers[w], &f->rules, &f->rows, ef_forest_tally_rows(f)) &&
             j.slots[w] != NULL;
    }
    uint64_t *members = NULL;
    ok = ok && ef_forest_find_members(f, &members);
    j.members = members;
    const efface_status status = ok ? run_job(&j, pool, error) : ef_fail_memory(error);
    for (unsigned w = 0; w < n; w++) {
        if (j.growers != NULL)
            ef_grower_clear(&j.growers[w]);
        if (j.slots != NULL)
            ef_free(j.slots[w]);
    }
    ef_free(j.growers);
    ef_free(j.slots);
    ef_free(j.failed);
    ef_free(members);
    ef_pool_free(pool);
    return status;
}

/* ---------------------------------------------------------------- fit and attach */

efface_status ef_forest_fit(const efface_data *data, const efface_params *common, void **state,
                            efface_error *error) {
    ef_forest *f = NULL;
    efface_status status =
        data->part == NULL
            ? ef_forest_make((const efface_forest_params *)(const void *)common, data->n_columns,
                             &f, error)
            : ef_fail(error, EFFACE_E_ARGUMENT,
                      "forests do not work in groups: the rows of a forest must be in one "
                      "process; fit it to a set that has not joined a group");
    EF_THEN(status, ef_forest_check_weight(f, data->total_weight, error));
    EF_THEN(status, ef_forest_find_exponent(f, data, &f->exponent, error));
    EF_THEN(status, ef_forest_take_rows(f, data, true, error));
    if (status == EFFACE_OK) {
        f->totals = (ef_totals){data->n_rows, data->total_weight};
        f->n_taking_part = f->rows.n_slots;
        status = make_all(f, false, error);
    }
    if (status == EFFACE_OK) {
        f->attached = f->at_hand = true;
        *state = f;
    } else {
        ef_forest_free(f);
    }
    return status;
}

efface_status ef_forest_attach(void *state, const efface_data *data, efface_error *error) {
    ef_forest *const f = state;
    int32_t exponent = 0;
    if (data->part != NULL)
        return ef_fail(
            error, EFFACE_E_ARGUMENT,
            "forests do not work in groups: the rows of a forest must be in one process");
    efface_status status = ef_forest_find_exponent(f, data, &exponent, error);
    if (status == EFFACE_OK && exponent != f->exponent)
        status = ef_fail(error, EFFACE_E_FORMAT,
                         "the state of the model is damaged or was made with other parameters: the "
                         "grid of its target");
    if (status == EFFACE_OK) {
        ef_forest_slots_free(&f->rows);
        memset(f->sizes, 0, f->n_inputs * sizeof *f->sizes);
        for (uint32_t c = 0; c < f->classes.n_ids; c++)
            f->classes.n_rows[c] = 0;
        status = ef_forest_take_rows(f, data, false, error);
    }
    bool ok = f->rows.n_slots == f->n_taking_part;
    for (uint32_t c = 0; c < f->classes.n; c++)
        ok &= f->classes.n_rows[f->classes.ids[c]] != 0;
    if (status == EFFACE_OK && !ok)
        status = ef_fail(error, EFFACE_E_FORMAT,
                         "the state of the model is damaged or was made with other parameters: it "
                         "belongs to other rows");
    if (status == EFFACE_OK && f->sections == NULL)
        status = make_all(f, true, error);
    f->attached = status == EFFACE_OK;
    f->at_hand = false;
    return status;
}
