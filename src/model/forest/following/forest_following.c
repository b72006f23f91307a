/*
 * How a forest follows a change of its rows.
 *
 * The rows that come or leave go down each tree, all together. At a large node they are counted in
 * its tally, and the best candidate is chosen anew; while that is the split that the node has,
 * nothing else is looked at. Below large nodes the rows of the node are looked through along the
 * paths of those that come or leave. Where another split, or a leaf, comes out, the subtree is
 * grown from its rows.
 *
 * Tallies are counted in place, for most requests are carried out: if this one is not, those that
 * were touched are dropped, and made again when they are needed. Everything else is noted in plans,
 * one for each worker, and done on commit.
 */
#include "model/forest/forest.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char bound_moved[] = "the bound of the target's grid moved";
static const char unit_moved[] = "the scale of a column with long tails moved";
static const char grown_again[] = "another split is the best in parts of trees";

/* What becomes of a forest. */
typedef struct revision {
    ef_forest *forest;
    ef_forest *fresh; /* takes its place; the rest is for one that is changed */
    ef_totals totals;
    const ef_change *change; /* which lives until the revision is committed or dropped */
    uint32_t *slots;         /* of each row of the change; EF_NO_SLOT: it takes no part */
    size_t *positions;       /* a copy: the change may be gone when the revision is dropped */
    bool *leaves;
    size_t n_rows, n_moved; /* of the change; of those, how many have changed slot_of */
    bool replaces;
    uint64_t n_taking_part;
    ef_forest_classes classes_before; /* if they are others now */
    bool has_classes;
    ef_forest_plan *plans; /* by worker */
    unsigned n_plans;
    bool sized; /* the sizes of values were counted */
    bool committed;
} revision;

/* ---------------------------------------------------------------- sizes of values */

/* Counts the values of the change, or undoes that. */
static void count_sizes(const revision *r, const ef_change *change, bool undo) {
    ef_forest *const f = r->forest;
    for (size_t i = 0; i < change->n_rows; i++) {
        const float *const values = ef_change_first(change, i);
        const float target = ef_forest_of_classes(f) ? 0.0F : values[(size_t)f->target * EF_PANEL];
        for (uint32_t j = 0; ef_forest_takes(f, change->rows[i].label, target) && j < f->n_inputs;
             j++)
            ef_sizes_count(&f->sizes[j], ef_key_of(values[(size_t)f->columns[j] * EF_PANEL]),
                           change->leaves[i] != undo);
    }
}

static bool units_stay(const ef_forest *f) {
    for (uint32_t j = 0; j < f->n_inputs; j++)
        if (f->units[j] != ef_forest_unit(f, j))
            return false;
    return true;
}

/* ---------------------------------------------------------------- rows into slots */

/* The places of rows in the set as the change leaves them. */
static void move_positions(revision *r) {
    ef_forest_slots *const rows = &r->forest->rows;
    for (; r->n_moved < r->n_rows; r->n_moved++) {
        const size_t i = r->n_moved, p = r->positions[i];
        if (r->replaces) {
            if (r->leaves[i])
                r->slots[i] = rows->slot_of[p];
            else
                rows->slot_of[p] = r->slots[i];
        } else if (r->leaves[i]) {
            r->slots[i] = rows->slot_of[p];
            rows->slot_of[p] = rows->slot_of[--rows->n_positions];
        } else {
            rows->slot_of[rows->n_positions++] = r->slots[i];
        }
    }
}

static void move_positions_back(revision *r) {
    ef_forest_slots *const rows = &r->forest->rows;
    while (r->n_moved != 0) {
        const size_t i = --r->n_moved, p = r->positions[i];
        if (r->replaces) {
            if (r->leaves[i])
                rows->slot_of[p] = r->slots[i];
        } else if (r->leaves[i]) {
            if (p != rows->n_positions)
                rows->slot_of[rows->n_positions] = rows->slot_of[p];
            rows->n_positions++;
            rows->slot_of[p] = r->slots[i];
        } else {
            rows->n_positions--;
        }
    }
}

/* Gives a row that comes, and takes part, its class: one that is there, or a new one. */
static bool find_class(revision *r, int64_t label, uint32_t *class_id) {
    ef_forest *const f = r->forest;
    *class_id = ef_classes_find(&f->classes, label);
    if (*class_id != EF_NO_SLOT)
        return true;
    bool grown = false;
    if (!ef_classes_add(&f->classes, label, class_id, &grown))
        return false;
    for (uint32_t t = 0; grown && t < f->n_trees; t++)
        for (uint32_t i = 0; i < f->trees[t].n_used; i++)
            ef_dtree_drop_tally(&f->trees[t], i);
    return true;
}

/* Takes a row that comes into a slot. */
static bool take_in(revision *r, size_t i, const ef_change *change) {
    ef_forest *const f = r->forest;
    ef_forest_slots *const rows = &f->rows;
    const float *const values = ef_change_first(change, i);
    const efface_row *const row = &change->rows[i];
    const float target = ef_forest_of_classes(f) ? 0.0F : values[(size_t)f->target * EF_PANEL];
    uint32_t value = 0;
    if (!ef_forest_takes(f, row->label, target))
        return true;
    if (!ef_forest_of_classes(f))
        value = (uint32_t)ef_forest_target(f, target);
    else if (!find_class(r, row->label, &value))
        return false;
    const uint32_t slot = r->slots[i] = ef_forest_slots_take(rows);
    for (uint32_t j = 0; j < f->n_inputs; j++)
        ef_slot_set(rows, slot, j, values[(size_t)f->columns[j] * EF_PANEL]);
    rows->values[slot] = value;
    if (rows->weights != NULL)
        rows->weights[slot] = row->weight;
    if (rows->ids != NULL)
        rows->ids[slot] = row->id;
    if (ef_forest_of_classes(f))
        f->classes.n_rows[value]++;
    r->n_taking_part++;
    return true;
}

/* Weights are kept from the first row on that has another one than 1. */
static bool make_weights(ef_forest_slots *rows, const ef_change *change) {
    bool any = false;
    for (size_t i = 0; i < change->n_rows; i++)
        any |= !change->leaves[i] && change->rows[i].weight != 1;
    if (!any || rows->weights != NULL)
        return true;
    rows->weights = ef_alloc(rows->capacity, sizeof *rows->weights);
    for (size_t i = 0; rows->weights != NULL && i < rows->capacity; i++)
        rows->weights[i] = 1;
    return rows->weights != NULL;
}

/* Has values kept in wider formats where those that come do not fit. */
static bool widen(ef_forest *f, const ef_change *change) {
    ef_forest_slots *const rows = &f->rows;
    ef_input_format *formats = NULL;
    for (uint32_t j = 0; j < f->n_inputs; j++)
        for (size_t i = 0; i < change->n_rows; i++) {
            const float value = ef_change_first(change, i)[(size_t)f->columns[j] * EF_PANEL];
            if (change->leaves[i] ||
                ef_format_holds(formats != NULL ? &formats[j] : &rows->formats[j], value))
                continue;
            if (formats == NULL) {
                formats = ef_alloc(f->n_inputs, sizeof *formats);
                if (formats == NULL)
                    return false;
                memcpy(formats, rows->formats, f->n_inputs * sizeof *formats);
            }
            formats[j] = (ef_input_format){.width = 4};
        }
    const bool ok = formats == NULL || ef_forest_slots_set_formats(rows, formats);
    ef_free(formats);
    return ok;
}

/* Slots for the rows that come, marks for those that leave, and the classes as they will be. */
static bool prepare_rows(revision *r, const ef_change *change) {
    ef_forest *const f = r->forest;
    ef_forest_slots *const rows = &f->rows;
    const size_t n = change->n_rows;
    size_t n_coming = 0;
    r->slots = ef_alloc(n, sizeof *r->slots);
    r->positions = ef_alloc(n, sizeof *r->positions);
    r->leaves = ef_alloc(n, sizeof *r->leaves);
    if (r->slots == NULL || r->positions == NULL || r->leaves == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        r->slots[i] = EF_NO_SLOT;
        r->leaves[i] = change->leaves[i];
        r->positions[i] = change->positions[i];
        n_coming += !change->leaves[i];
    }
    r->n_rows = n;
    r->replaces = change->replaces;
    if (!widen(f, change) || !ef_forest_slots_reserve(rows, n_coming) ||
        !make_weights(rows, change))
        return false;
    for (uint32_t t = 0; t < f->n_trees; t++)
        if (!ef_dtree_chain(&f->trees[t], rows->capacity))
            return false;
    if (ef_forest_of_classes(f)) {
        ef_forest_classes copy;
        if (!ef_classes_copy(&f->classes, &copy))
            return false;
        r->classes_before = f->classes;
        r->has_classes = true;
        f->classes = copy;
    }
    for (size_t i = 0; i < n; i++)
        if (!r->leaves[i] && !take_in(r, i, change))
            return false;
    move_positions(r);
    for (size_t i = 0; i < n; i++)
        if (r->leaves[i] && r->slots[i] != EF_NO_SLOT) {
            rows->leaving[r->slots[i]] = true;
            r->n_taking_part--;
            if (ef_forest_of_classes(f))
                f->classes.n_rows[rows->values[r->slots[i]]]--;
        }
    ef_classes_rank(&f->classes);
    f->rules.n_classes = f->classes.n_ids;
    f->rules.ranks = f->classes.ranks;
    return true;
}

/* ---------------------------------------------------------------- one tree */

/* What a worker follows a tree with. */
typedef struct follower {
    const revision *r;
    const uint64_t *members; /* the trees of each row of the change, or NULL: all */
    size_t n_words;
    bool only_look;
    uint32_t tally_rows;
    ef_grower grower;
    ef_forest_plan *plan;
    ef_traveller *travellers;
    struct ef_place *waiting;
    size_t n_waiting, waiting_capacity;
    uint32_t *slots; /* of a node */
    size_t slots_capacity;
    ef_waiting below;
    int64_t *room; /* for scores */
    uint64_t n_visited;
    bool failed;
} follower;

static bool push(follower *f, ef_place place) {
    if (place.n == 0)
        return true;
    if (f->n_waiting == f->waiting_capacity) {
        const size_t n = 2 * f->waiting_capacity + 64;
        ef_place *const larger = ef_realloc(f->waiting, n, sizeof *larger);
        if (larger == NULL)
            return false;
        f->waiting = larger;
        f->waiting_capacity = n;
    }
    f->waiting[f->n_waiting++] = place;
    return true;
}

/* The rows of a node as they are after the change, into f->slots. */
static bool collect(follower *f, const ef_dtree *tree, ef_place place, size_t *n) {
    const size_t most = tree->nodes[place.node].n_rows + place.n + 1;
    if (most > f->slots_capacity) {
        ef_free(f->slots);
        f->slots_capacity = 0;
        f->slots = ef_alloc(most + most / 4, sizeof *f->slots);
        if (f->slots == NULL)
            return false;
        f->slots_capacity = most + most / 4;
    }
    f->below.n = 0;
    if (!ef_dtree_collect(tree, place.node, &f->r->forest->rows, &f->below, f->slots, n))
        return false;
    f->n_visited += *n;
    for (size_t i = 0; i < place.n; i++)
        if (!f->travellers[place.first + i].leaves)
            f->slots[(*n)++] = f->travellers[place.first + i].slot;
    return true;
}

static size_t rows_after(const follower *f, const ef_dnode *node, ef_place place) {
    size_t n = node->n_rows;
    for (size_t i = 0; i < place.n; i++)
        n = f->travellers[place.first + i].leaves ? n - 1 : n + 1;
    return n;
}

/* A row that was in a node before the change, for rows that come. A forest that was made of damaged
 * bytes may have nodes without rows; any row will do there. */
static uint32_t find_sample(const follower *f, const ef_dtree *tree, ef_place place) {
    const ef_traveller *const who = f->travellers + place.first;
    bool comes = false;
    for (size_t i = 0; i < place.n; i++)
        comes |= !who[i].leaves;
    uint32_t i = place.node;
    while (comes && !tree->nodes[i].holds)
        i = tree->nodes[i].split.left;
    return comes && tree->nodes[i].first != EF_NO_SLOT ? tree->nodes[i].first : who[0].slot;
}

/* Looks through the rows of a subtree along the paths of travellers. */
static bool look_through(follower *f, ef_dtree *tree, uint32_t number, ef_place place) {
    size_t n;
    return collect(f, tree, place, &n) && ef_grower_take(&f->grower, number, f->slots, n) &&
           ef_grow_along(&f->grower, tree, number, place);
}

static bool grow_anew(follower *f, ef_dtree *tree, uint32_t number, ef_place place) {
    size_t n;
    return collect(f, tree, place, &n) && ef_grower_take(&f->grower, number, f->slots, n) &&
           ef_grow_anew(&f->grower, tree, number, place);
}

/* ---------------------------------------------------------------- leaves */

/* Whether a leaf stays one whatever its rows are, or because those that come are as all others. */
static bool stays_leaf(const follower *f, const ef_dtree *tree, ef_place place, size_t n_after) {
    const ef_rules *const rules = &f->r->forest->rules;
    const ef_forest_slots *const rows = &f->r->forest->rows;
    const ef_dnode *const node = &tree->nodes[place.node];
    if ((rules->max_depth != 0 && place.depth >= rules->max_depth) || n_after < rules->min_split)
        return true;
    if (node->first == EF_NO_SLOT)
        return false;
    const uint32_t value = rows->values[node->first];
    if (rules->of_classes ? node->vote.n_classes != 1
                          : node->mean.sum != (ef_i128)node->mean.weight * (int32_t)value)
        return false;
    for (size_t i = 0; i < place.n; i++)
        if (rows->values[f->travellers[place.first + i].slot] != value)
            return false;
    if (rules->of_classes || node->n_rows == 1)
        return true;
    /* A sum may be that of equal targets by chance. */
    for (uint32_t slot = node->first; slot != EF_NO_SLOT; slot = tree->next[slot])
        if (rows->values[slot] != value)
            return false;
    return true;
}

/* A leaf whose votes or sums only have to be corrected. */
static bool correct_leaf(follower *f, ef_dtree *tree, uint32_t number, ef_place place,
                         size_t n_after) {
    const ef_forest *const forest = f->r->forest;
    const ef_rules *const rules = &forest->rules;
    if (rules->of_classes && tree->nodes[place.node].vote.n_classes != 1)
        return look_through(f, tree, number, place);
    const uint32_t made = ef_dtree_new(tree);
    if (made == EF_NO_NODE)
        return false;
    ef_dnode *const to = &tree->nodes[made];
    *to = tree->nodes[place.node];
    to->n_rows = (uint32_t)n_after;
    to->first = EF_NO_SLOT;
    bool one_class = true;
    for (size_t i = 0; i < place.n; i++) {
        const ef_traveller *const who = &f->travellers[place.first + i];
        const uint32_t value = forest->rows.values[who->slot];
        const int64_t weight = who->leaves ? -who->weight : who->weight;
        if (rules->of_classes) {
            one_class &= value == to->vote.class_id;
            to->vote.weight += weight;
        } else {
            /* Of a forest that was made of damaged bytes the sum may be anything. */
            to->mean.weight += weight;
            to->mean.sum = (int64_t)((uint64_t)to->mean.sum + (uint64_t)(weight * (int32_t)value));
        }
    }
    if (!one_class || n_after == 0) {
        to->vote.n_classes = 0;
        ef_dtree_drop(tree, made);
        return look_through(f, tree, number, place);
    }
    const ef_step step = {.kind = EF_RENEW, .tree = number, .node = place.node, .made = made};
    if (!ef_forest_plan_step(f->plan, step)) {
        ef_dtree_drop(tree, made);
        return false;
    }
    return ef_note_travellers(f->plan, number, place.node, f->travellers + place.first, place.n);
}

/* ---------------------------------------------------------------- large nodes */

/* Whether all targets of a node are equal: if so, their mean is a whole number. */
static bool targets_are_equal(follower *f, const ef_dtree *tree, const ef_tally *tally,
                              ef_place place, bool *failed) {
    const ef_forest_slots *const rows = &f->r->forest->rows;
    size_t n;
    if (tally->sum % tally->weight != 0)
        return false;
    *failed = !collect(f, tree, place, &n);
    for (size_t i = 0; !*failed && i < n; i++)
        if ((int32_t)rows->values[f->slots[i]] != tally->sum / tally->weight)
            return false;
    return !*failed;
}

/* Counts the travellers in a tally; false if it has to be made anew, or if memory is short. */
static bool count(follower *f, ef_dtree *tree, uint32_t number, ef_tally *tally, ef_place place,
                  bool *failed) {
    const ef_forest *const forest = f->r->forest;
    const ef_rules *const rules = &forest->rules;
    size_t n = 0;
    if (!ef_tally_change(tally, rules, &forest->rows, f->travellers + place.first, place.n,
                         find_sample(f, tree, place), place.key))
        return false;
    if (!ef_tally_is_loose(tally))
        return true;
    *failed = !collect(f, tree, place, &n);
    int64_t *weights = NULL;
    if (!*failed && (forest->rows.weights != NULL || rules->bootstraps)) {
        weights = ef_alloc(n, sizeof *weights);
        *failed = weights == NULL;
        for (size_t i = 0; weights != NULL && i < n; i++)
            weights[i] = ef_weight_in_tree(rules, &forest->rows, number, f->slots[i]);
    }
    const bool fixed =
        !*failed && ef_tally_fix(tally, rules, &forest->rows, f->slots, weights, n, place.key);
    ef_free(weights);
    return fixed;
}

/* Chooses the best candidate of a node from its rows, with a tally of it unless the rows weigh too
 * much. `is_leaf`: there is none. */
static bool choose_anew(follower *f, ef_dtree *tree, uint32_t number, ef_place place,
                        ef_tally **tally, ef_split_candidate *chosen, bool *is_leaf) {
    ef_grower *const g = &f->grower;
    uint32_t best = EF_NO_CANDIDATE;
    size_t n;
    *is_leaf = true;
    if (!collect(f, tree, place, &n) || !ef_grower_take(g, number, f->slots, n))
        return false;
    if (ef_is_leaf(g->rules, &g->bunch, place.depth))
        return true;
    g->chooser.counts_extremes = true;
    if (!ef_choose(&g->chooser, &g->bunch, place.key, NULL, &best))
        return false;
    if (best == EF_NO_CANDIDATE)
        return true;
    *is_leaf = false;
    *chosen = g->chooser.candidates[best];
    if (g->bunch.weight > UINT32_MAX)
        return true;
    *tally = ef_tally_make(&g->chooser, &g->bunch);
    return *tally != NULL;
}

/* Gives a split another tally, or none. */
static void set_tally(ef_dtree *tree, uint32_t node, ef_tally *tally) {
    ef_dtree_drop_tally(tree, node);
    tree->nodes[node].split.tally = tally;
    if (tally != NULL)
        tree->tally_bytes += ef_tally_bytes(tally);
}

/* Whether a large split stays as it is; the travellers are counted in its tally then. False if
 * memory is short. */
static bool split_stays(follower *f, ef_dtree *tree, uint32_t number, ef_place place, bool *stays) {
    const ef_rules *const rules = &f->r->forest->rules;
    ef_tally *tally = tree->nodes[place.node].split.tally, *made = NULL;
    ef_split_candidate chosen;
    bool failed = false, is_leaf = false;
    if (f->only_look && tally != NULL) {
        tally = made = ef_tally_copy(tally);
        failed = tally == NULL;
    }
    if (!f->only_look)
        failed = !ef_forest_plan_step(f->plan, (ef_step){EF_TOUCHED, number, place.node, 0, 0, 0});
    const bool counted = !failed && tally != NULL && count(f, tree, number, tally, place, &failed);
    if (counted) {
        is_leaf = rules->of_classes ? ef_tally_classes(tally) <= 1
                                    : targets_are_equal(f, tree, tally, place, &failed);
        const ef_split_candidate *const best =
            failed || is_leaf ? NULL : ef_tally_best(tally, rules, f->room);
        *stays = best != NULL && ef_same_split(&tree->nodes[place.node], best);
    } else if (!failed) {
        ef_free(made);
        made = NULL;
        failed = !choose_anew(f, tree, number, place, &made, &chosen, &is_leaf);
        *stays = !failed && !is_leaf && ef_same_split(&tree->nodes[place.node], &chosen);
        if (!f->only_look) {
            set_tally(tree, place.node, made);
            made = NULL;
        }
    }
    ef_free(made);
    return !failed;
}

/* A large split: if it stays, its children are next. */
static bool follow_split(follower *f, ef_dtree *tree, uint32_t number, ef_place place,
                         size_t n_after) {
    bool stays = false;
    if (tree->nodes[place.node].holds)
        (void)ef_dtree_pass_on(tree, place.node, &f->r->forest->rows);
    if (n_after >= f->r->forest->rules.min_split && !split_stays(f, tree, number, place, &stays))
        return false;
    if (!stays)
        return grow_anew(f, tree, number, place);
    const ef_dnode *const node = &tree->nodes[place.node];
    const size_t to_left = ef_part_travellers(&f->grower, node, place.first, place.n);
    uint64_t keys[2];
    ef_child_keys(place.key, keys);
    const ef_place left = {node->split.left, place.depth + 1, keys[0], place.first, to_left};
    const ef_place right = {node->split.right, place.depth + 1, keys[1], place.first + to_left,
                            place.n - to_left};
    return ef_forest_plan_step(f->plan, (ef_step){.kind = EF_COUNT,
                                                  .tree = number,
                                                  .node = place.node,
                                                  .n = (uint32_t)n_after}) &&
           push(f, right) && push(f, left);
}

static bool follow_node(follower *f, ef_dtree *tree, uint32_t number, ef_place place) {
    const ef_dnode *const node = &tree->nodes[place.node];
    const size_t n_after = rows_after(f, node, place);
    if (node->unsettled)
        return ef_forest_plan_step(f->plan, (ef_step){.kind = EF_COUNT,
                                                      .tree = number,
                                                      .node = place.node,
                                                      .n = (uint32_t)n_after}) &&
               ef_note_travellers(f->plan, number, place.node, f->travellers + place.first,
                                  place.n);
    if (node->kind == EF_LEAF)
        return stays_leaf(f, tree, place, n_after) ? correct_leaf(f, tree, number, place, n_after)
                                                   : look_through(f, tree, number, place);
    if (node->split.tally != NULL || n_after >= f->tally_rows)
        return follow_split(f, tree, number, place, n_after);
    return look_through(f, tree, number, place);
}

/* The rows of the change that are in a tree. */
static size_t find_travellers(follower *f, uint32_t tree) {
    const revision *const r = f->r;
    const ef_forest *const forest = r->forest;
    size_t n = 0;
    for (size_t i = 0; i < r->n_rows; i++) {
        if (r->slots[i] == EF_NO_SLOT ||
            (f->members != NULL &&
             (f->members[i * f->n_words + tree / 64] >> (tree % 64) & 1) == 0))
            continue;
        const int64_t weight = ef_weight_in_tree(&forest->rules, &forest->rows, tree, r->slots[i]);
        if (weight != 0)
            f->travellers[n++] = (ef_traveller){r->slots[i], r->leaves[i], weight};
    }
    return n;
}

static bool follow_tree(follower *f, uint32_t number) {
    ef_dtree *const tree = &f->r->forest->trees[number];
    const ef_place root = {.key = ef_root_key(f->r->forest->params->common.seed, number),
                           .n = find_travellers(f, number)};
    f->n_waiting = 0;
    bool ok = push(f, root);
    while (ok && f->n_waiting != 0)
        ok = follow_node(f, tree, number, f->waiting[--f->n_waiting]);
    return ok;
}

/* ---------------------------------------------------------------- all trees */

static bool begin(follower *f, revision *r, ef_forest_plan *plan, const ef_news *news,
                  const uint64_t *members) {
    const ef_forest *const forest = r->forest;
    *f = (follower){.r = r,
                    .members = members,
                    .n_words = (forest->n_trees + 63) / 64,
                    .only_look = news->only_look,
                    .tally_rows = ef_forest_tally_rows(forest),
                    .plan = plan};
    const bool ok = ef_grower_init(&f->grower, &forest->rules, &forest->rows, f->tally_rows) &&
                    ef_grower_make_way(&f->grower, r->n_rows);
    f->travellers = ef_alloc(r->n_rows, sizeof *f->travellers);
    f->room = ef_alloc(2 * (size_t)forest->rules.n_classes, sizeof *f->room);
    f->grower.plan = plan;
    f->grower.lazy = forest->params->lazy != 0;
    f->grower.travellers = f->travellers;
    return ok && f->travellers != NULL && f->room != NULL;
}

static void end(follower *f) {
    ef_grower_clear(&f->grower);
    ef_free(f->travellers);
    ef_free(f->waiting);
    ef_free(f->slots);
    ef_free(f->below.at);
    ef_free(f->room);
}

typedef struct team_of_followers {
    follower *followers;
    uint32_t first;
} team_of_followers;

static void follow_trees(void *context, unsigned worker, size_t first, size_t last) {
    const team_of_followers *const team = context;
    follower *const f = &team->followers[worker];
    for (size_t t = first; t < last && !f->failed; t++)
        f->failed = !follow_tree(f, team->first + (uint32_t)t);
}

/* The trees of each row of the change, if rows are in some only. */
static bool find_members(const revision *r, uint64_t **members) {
    const ef_forest *const f = r->forest;
    const size_t n_words = (f->n_trees + 63) / 64;
    if (f->params->rows != EFFACE_FOREST_SOME)
        return true;
    uint32_t *const places = ef_alloc(f->n_trees, sizeof *places);
    *members = ef_alloc_zero(r->n_rows, n_words * sizeof **members);
    for (size_t i = 0; places != NULL && *members != NULL && i < r->n_rows; i++)
        if (r->slots[i] != EF_NO_SLOT)
            ef_draw_trees(f->params->common.seed, f->rows.ids[r->slots[i]], f->params->trees_of_row,
                          f->n_trees, places, *members + i * n_words);
    ef_free(places);
    return places != NULL && *members != NULL;
}

/* How many threads are worth their while: trees that were just read have much to count. */
static unsigned threads_for(const ef_forest *f, size_t n_rows) {
    const bool much = !f->at_hand ? f->rows.n_slots >= 1000 : n_rows >= 16;
    return much ? f->params->common.n_threads : 1;
}

static efface_status follow_all(revision *r, const ef_news *news, uint64_t *n_visited,
                                efface_error *error) {
    const efface_params *const common = &r->forest->params->common;
    const ef_interrupt interrupt = {common->interrupted, common->interrupt_context, NULL};
    ef_pool *const pool = ef_pool_create(threads_for(r->forest, r->n_rows));
    const unsigned n = pool != NULL ? ef_pool_size(pool) : 0;
    follower *const followers = ef_alloc_zero(n, sizeof *followers);
    uint64_t *members = NULL;
    r->plans = ef_alloc_zero(n, sizeof *r->plans);
    bool ok = pool != NULL && followers != NULL && r->plans != NULL && find_members(r, &members);
    r->n_plans = r->plans != NULL ? n : 0;
    for (unsigned w = 0; ok && w < n; w++)
        ok = begin(&followers[w], r, &r->plans[w], news, members);
    efface_status status = ok ? EFFACE_OK : ef_fail_memory(error);
    team_of_followers team = {followers, 0};
    while (status == EFFACE_OK && team.first < r->forest->n_trees) {
        const uint32_t rest = r->forest->n_trees - team.first, at_once = rest < 16 ? rest : 16;
        status = ef_ask(&interrupt, error);
        if (status == EFFACE_OK)
            ef_pool_run(pool, at_once, 1, follow_trees, &team);
        for (unsigned w = 0; status == EFFACE_OK && w < n; w++)
            if (followers[w].failed)
                status = ef_fail_memory(error);
        team.first += at_once;
    }
    for (unsigned w = 0; followers != NULL && w < n; w++) {
        *n_visited += followers[w].n_visited;
        end(&followers[w]);
    }
    ef_free(followers);
    ef_free(members);
    ef_pool_free(pool);
    return status;
}

/* ---------------------------------------------------------------- follow, commit, drop */

void ef_forest_drop(void *next) {
    revision *const r = next;
    if (r == NULL)
        return;
    ef_forest *const f = r->forest;
    ef_forest_free(r->fresh);
    for (unsigned w = 0; w < r->n_plans; w++)
        ef_forest_plan_drop(&r->plans[w], f->trees);
    ef_free(r->plans);
    if (!r->committed) {
        if (r->sized)
            count_sizes(r, r->change, true);
        for (size_t i = 0; i < r->n_rows; i++)
            if (r->slots[i] != EF_NO_SLOT && r->leaves[i])
                f->rows.leaving[r->slots[i]] = false;
        move_positions_back(r);
        for (size_t i = 0; i < r->n_rows; i++)
            if (r->slots[i] != EF_NO_SLOT && !r->leaves[i])
                ef_forest_slots_release(&f->rows, r->slots[i]);
        if (r->has_classes) {
            const bool grown = f->classes.n_ids != r->classes_before.n_ids;
            ef_classes_free(&f->classes);
            f->classes = r->classes_before;
            f->rules.n_classes = f->classes.n_ids;
            f->rules.ranks = f->classes.ranks;
            for (uint32_t t = 0; grown && t < f->n_trees; t++)
                for (uint32_t i = 0; i < f->trees[t].n_used; i++)
                    ef_dtree_drop_tally(&f->trees[t], i);
        }
    } else {
        ef_classes_free(&r->classes_before);
    }
    ef_free(r->slots);
    ef_free(r->positions);
    ef_free(r->leaves);
    ef_free(r);
}

static efface_status refit(revision *r, const ef_news *news, const char *reason,
                           efface_report *report, efface_error *error) {
    void *fresh = NULL;
    report->action = EFFACE_ACTION_REFITTED;
    report->reason = reason;
    report->rows_visited = news->rows->n_rows;
    if (news->only_look)
        return EFFACE_OK;
    const efface_status status =
        ef_forest_fit(news->rows, &r->forest->params->common, &fresh, error);
    r->fresh = fresh;
    return status;
}

/* Says how many trees were grown again in parts. */
static void tell(const revision *r, uint64_t n_visited, efface_report *report) {
    const uint32_t n_trees = r->forest->n_trees;
    uint32_t n = 0, last = n_trees;
    for (unsigned w = 0; w < r->n_plans; w++) {
        last = n_trees;
        for (size_t i = 0; i < r->plans[w].n_steps; i++)
            if (r->plans[w].steps[i].kind == EF_GRAFT && r->plans[w].steps[i].tree != last) {
                last = r->plans[w].steps[i].tree;
                n++;
            }
    }
    report->rows_visited = n_visited;
    report->action = n != 0 ? EFFACE_ACTION_REPAIRED : EFFACE_ACTION_UNTOUCHED;
    report->reason = n != 0 ? grown_again : ef_because_nothing;
    if (n != 0)
        (void)snprintf(report->where, sizeof report->where, "in %u of %u trees", (unsigned)n,
                       (unsigned)n_trees);
}

efface_status ef_forest_follow(void *state, const ef_news *news, void **next, bool *done,
                               efface_report *report, efface_error *error) {
    ef_forest *const f = state;
    *done = false;
    if (news->rows == NULL)
        return EFFACE_OK;
    assert(f->attached);
    revision *const r = ef_alloc_zero(1, sizeof *r);
    if (r == NULL)
        return ef_fail_memory(error);
    r->forest = f;
    r->totals = (ef_totals){news->counts->n_rows, news->counts->total_weight};
    r->n_taking_part = f->n_taking_part;
    int32_t exponent = 0;
    uint64_t n_visited = 0;
    efface_status status = ef_forest_check_weight(f, r->totals.total_weight, error);
    if (status == EFFACE_OK)
        status = ef_forest_find_exponent(f, news->rows, &exponent, error);
    if (status == EFFACE_OK) {
        r->change = news->change;
        r->sized = true;
        count_sizes(r, news->change, false);
        if (exponent != f->exponent)
            status = refit(r, news, bound_moved, report, error);
        else if (!units_stay(f))
            status = refit(r, news, unit_moved, report, error);
        else if (!prepare_rows(r, news->change))
            status = ef_fail_memory(error);
        else if (f->classes.n >= EF_MOST_CLASSES)
            status = ef_fail(error, EFFACE_E_LIMIT,
                             "a forest can have at most 2^24 - 1 classes; these rows bring more");
        else
            status = follow_all(r, news, &n_visited, error);
        if (status == EFFACE_OK && r->n_plans != 0)
            tell(r, n_visited, report);
    }
    if (status != EFFACE_OK || news->only_look) {
        ef_forest_drop(r);
        *done = status == EFFACE_OK;
        return status;
    }
    *done = true;
    *next = r;
    return EFFACE_OK;
}

void ef_forest_commit(void *state, void *next) {
    ef_forest *const f = state;
    revision *const r = next;
    r->committed = true;
    ef_free(*f->gains);
    *f->gains = NULL;
    if (r->fresh != NULL) {
        const ef_forest was = *f;
        *f = *r->fresh;
        *r->fresh = was;
        ef_forest_drop(r);
        return;
    }
    for (unsigned w = 0; w < r->n_plans; w++)
        ef_forest_plan_commit(&r->plans[w], f->trees);
    for (size_t i = 0; i < r->n_rows; i++) {
        const uint32_t slot = r->slots[i];
        if (slot == EF_NO_SLOT || !r->leaves[i])
            continue;
        for (uint32_t t = 0; t < f->n_trees; t++)
            f->trees[t].next[slot] = f->trees[t].before[slot] = EF_NO_SLOT;
        ef_forest_slots_release(&f->rows, slot);
    }
    f->totals = r->totals;
    f->n_taking_part = r->n_taking_part;
    ef_forest_drop(r);
}
