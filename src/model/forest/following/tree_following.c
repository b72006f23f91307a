/*
 * How one tree follows a change.
 *
 * At a large node the rows of the change are counted in its tally, and the best candidate is chosen
 * again; while that is the split that the node has, nothing else is looked at. Below large nodes
 * the rows of the node are looked through along the paths of those that come or leave. Where
 * another split, or a leaf, comes out, the subtree is grown from its rows.
 */
#include "model/forest/following/forest_revision.h"

#include "base/memory/list.h"
#include "base/memory/memory.h"

#include <assert.h>
#include <string.h>

bool ef_tree_follower_begin(ef_tree_follower *f, ef_forest_revision *r, ef_forest_plan *plan,
                            const ef_news *news, const uint64_t *members) {
    const ef_forest *const forest = r->forest;
    *f = (ef_tree_follower){.r = r,
                            .members = members,
                            .n_words = (forest->n_trees + 63) / 64,
                            .only_look = news->only_look,
                            .tally_rows =
                                forest->sections == NULL ? ef_forest_tally_rows(forest) : 0,
                            .plan = plan};
    const bool ok = ef_grower_init(&f->grower, &forest->rules, &forest->rows, f->tally_rows) &&
                    ef_grower_make_way(&f->grower, r->n_rows);
    f->travellers = ef_alloc(r->n_rows, sizeof *f->travellers);
    f->room = ef_alloc(2 * (size_t)forest->rules.n_classes, sizeof *f->room);
    f->grower.plan = plan;
    f->grower.lazy = forest->params->lazy != 0 && forest->sections == NULL;
    f->grower.travellers = f->travellers;
    return ok && f->travellers != NULL && f->room != NULL;
}

void ef_tree_follower_end(ef_tree_follower *f) {
    ef_grower_clear(&f->grower);
    ef_free(f->travellers);
    ef_free(f->waiting);
    ef_free(f->slots);
    ef_free(f->below.at);
    ef_free(f->room);
}

static bool push_rows(ef_tree_follower *f, ef_place place) {
    if (place.n == 0)
        return true;
    if (!ef_list_reserve(&f->waiting, &f->waiting_capacity, f->n_waiting, 1, sizeof place))
        return false;
    f->waiting[f->n_waiting++] = place;
    return true;
}

/* The rows of a node as they are after the change, into f->slots. */
static bool collect_rows(ef_tree_follower *f, const ef_dtree *tree, ef_place place, size_t *n) {
    const size_t most = tree->nodes[place.node].n_rows + place.n + 1;
    if (!ef_scratch_reserve(&f->slots, &f->slots_capacity, most, sizeof *f->slots))
        return false;
    f->below.n = 0;
    if (!ef_dtree_collect(tree, place.node, &f->r->forest->rows, &f->below, f->slots, n))
        return false;
    f->n_visited += *n;
    for (size_t i = 0; i < place.n; i++)
        if (!f->travellers[place.first + i].leaves)
            f->slots[(*n)++] = f->travellers[place.first + i].slot;
    return true;
}

static size_t rows_after(const ef_tree_follower *f, const ef_dnode *node, ef_place place) {
    size_t n = node->n_rows;
    for (size_t i = 0; i < place.n; i++)
        n = f->travellers[place.first + i].leaves ? n - 1 : n + 1;
    return n;
}

/* A row that was in a node before the change, for rows that come. A forest that was made of damaged
 * bytes may have nodes without rows; any row will do there. */
static uint32_t find_sample(const ef_tree_follower *f, const ef_dtree *tree, ef_place place) {
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
static bool look_through(ef_tree_follower *f, ef_dtree *tree, uint32_t number, ef_place place) {
    size_t n;
    return collect_rows(f, tree, place, &n) && ef_grower_take(&f->grower, number, f->slots, n) &&
           ef_grow_along(&f->grower, tree, number, place);
}

static bool grow_anew(ef_tree_follower *f, ef_dtree *tree, uint32_t number, ef_place place) {
    size_t n;
    return collect_rows(f, tree, place, &n) && ef_grower_take(&f->grower, number, f->slots, n) &&
           ef_grow_anew(&f->grower, tree, number, place);
}

/* ---------------------------------------------------------------- leaves */

/* Whether a leaf stays one whatever its rows are, or because those that come are as all others. */
static bool stays_leaf(const ef_tree_follower *f, const ef_dtree *tree, ef_place place,
                       size_t n_after) {
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
static bool correct_leaf(ef_tree_follower *f, ef_dtree *tree, uint32_t number, ef_place place,
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
static bool targets_are_equal(ef_tree_follower *f, const ef_dtree *tree, const ef_tally *tally,
                              ef_place place, bool *failed) {
    const ef_forest_slots *const rows = &f->r->forest->rows;
    size_t n;
    if (tally->sum % tally->weight != 0)
        return false;
    *failed = !collect_rows(f, tree, place, &n);
    for (size_t i = 0; !*failed && i < n; i++)
        if ((int32_t)rows->values[f->slots[i]] != tally->sum / tally->weight)
            return false;
    return !*failed;
}

/* Counts the travellers in a tally; false if it has to be made again, or if out of memory. */
static bool count(ef_tree_follower *f, ef_dtree *tree, uint32_t number, ef_tally *tally,
                  ef_place place, bool *failed) {
    const ef_forest *const forest = f->r->forest;
    const ef_rules *const rules = &forest->rules;
    size_t n = 0;
    if (!ef_tally_change(tally, rules, &forest->rows, f->travellers + place.first, place.n,
                         find_sample(f, tree, place), place.key))
        return false;
    if (!ef_tally_is_loose(tally))
        return true;
    *failed = !collect_rows(f, tree, place, &n);
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
static bool choose_anew(ef_tree_follower *f, ef_dtree *tree, uint32_t number, ef_place place,
                        ef_tally **tally, ef_split_candidate *chosen, bool *is_leaf) {
    ef_grower *const g = &f->grower;
    uint32_t best = EF_NO_CANDIDATE;
    size_t n;
    *is_leaf = true;
    if (!collect_rows(f, tree, place, &n) || !ef_grower_take(g, number, f->slots, n))
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
 * memory runs out. */
static bool split_stays(ef_tree_follower *f, ef_dtree *tree, uint32_t number, ef_place place,
                        bool *stays) {
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
static bool follow_split(ef_tree_follower *f, ef_dtree *tree, uint32_t number, ef_place place,
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
           push_rows(f, right) && push_rows(f, left);
}

static bool follow_node(ef_tree_follower *f, ef_dtree *tree, uint32_t number, ef_place place) {
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
static size_t find_travellers(ef_tree_follower *f, uint32_t tree) {
    const ef_forest_revision *const r = f->r;
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

/* Takes the rows of a tree of an opened forest. */
static bool take_tree(ef_tree_follower *f, uint32_t number) {
    const ef_forest *const forest = f->r->forest;
    if (f->grower.first_rows != NULL)
        return ef_grower_take_first(&f->grower);
    if (!ef_scratch_reserve(&f->slots, &f->slots_capacity, forest->rows.n_slots + 1,
                            sizeof *f->slots))
        return false;
    const size_t n = ef_forest_list_rows(forest, number, f->all_members, f->slots);
    return ef_grower_take(&f->grower, number, f->slots, n);
}

bool ef_tree_follower_find_first(ef_tree_follower *f, ef_first_rows *first) {
    const ef_forest *const forest = f->r->forest;
    return take_tree(f, 0) && ef_first_rows_make(first, &f->grower.bunch, &forest->rules,
                                                 &forest->rows, forest->n_trees);
}

/* An opened forest follows once, and then is written: nothing is kept of it to be faster the next
 * time, neither tallies nor where rows are. All rows of the tree go along the ways that were read.
 */
static bool follow_opened(ef_tree_follower *f, ef_dtree *tree, uint32_t number, ef_place root) {
    if (root.n == 0)
        return true;
    if (!take_tree(f, number))
        return false;
    f->n_visited += f->grower.bunch.n;
    return ef_grow_along(&f->grower, tree, number, root);
}

bool ef_tree_follower_follow(ef_tree_follower *f, uint32_t number) {
    ef_dtree *const tree = &f->r->forest->trees[number];
    const ef_place root = {.key = ef_root_key(f->r->forest->params->common.seed, number),
                           .n = find_travellers(f, number)};
    if (f->r->forest->sections != NULL)
        return follow_opened(f, tree, number, root);
    f->n_waiting = 0;
    bool ok = push_rows(f, root);
    while (ok && f->n_waiting != 0)
        ok = follow_node(f, tree, number, f->waiting[--f->n_waiting]);
    return ok;
}
