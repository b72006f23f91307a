/* Growing a tree, or a part of it, from its rows. */
#include "model/forest/growth/growing.h"

#include "base/memory/list.h"
#include "base/memory/memory.h"
#include "model/forest/growth/parting.h"

#include <assert.h>

/* A node to be grown: a stretch of the rows, and what its parent knows. */
typedef struct ef_sprout {
    uint32_t node; /* that is being made; EF_NO_NODE: `old` is there, and may stay */
    uint32_t old, depth;
    uint64_t key;
    size_t first, n;
    size_t first_traveller, n_travellers;
    uint32_t n_segments;
    size_t kept; /* where the inputs that are constant, and then its segments, are */
} sprout;

bool ef_grower_init(ef_grower *g, const ef_rules *rules, const ef_forest_slots *rows,
                    uint32_t tally_rows) {
    *g = (ef_grower){.rules = rules, .rows = rows, .tally_rows = tally_rows};
    g->constants = ef_alloc(ef_input_words(rules), sizeof *g->constants);
    return g->constants != NULL && ef_chooser_init(&g->chooser, rules, rows);
}

void ef_grower_clear(ef_grower *g) {
    ef_chooser_clear(&g->chooser);
    ef_free(g->bunch.slots);
    ef_free(g->bunch.weights);
    ef_free(g->bunch.targets);
    ef_free(g->bunch.segments);
    ef_free(g->slots_apart);
    ef_free(g->weights_apart);
    ef_free(g->targets_apart);
    ef_free(g->class_begins);
    ef_free(g->waiting);
    ef_free(g->kept);
    ef_free(g->constants);
    ef_free(g->segments);
    ef_free(g->left_segments);
    ef_free(g->travellers_apart);
    *g = (ef_grower){0};
}

int64_t ef_weight_in_tree(const ef_rules *rules, const ef_forest_slots *rows, uint32_t tree,
                          uint32_t slot) {
    const int64_t weight = ef_slot_weight(rows, slot);
    return rules->bootstraps ? weight * ef_draw_poisson(rules->seed, rows->ids[slot], tree)
                             : weight;
}

/* ---------------------------------------------------------------- rows */

/* Room for n rows. What was in it is lost. */
static bool reserve_rows(ef_grower *g, size_t n) {
    const ef_rules *const rules = g->rules;
    const bool weighs = g->rows->weights != NULL || rules->bootstraps;
    const size_t n_segments = rules->n_classes > 1 ? rules->n_classes : 1;
    if (n_segments > g->segments_capacity) {
        if (!ef_array_renew(&g->bunch.segments, n_segments, sizeof(ef_segment)) ||
            !ef_array_renew(&g->segments, n_segments, sizeof(ef_segment)) ||
            !ef_array_renew(&g->left_segments, n_segments, sizeof(ef_segment)) ||
            !ef_array_renew(&g->class_begins, n_segments + 1, sizeof *g->class_begins))
            return false;
        g->segments_capacity = n_segments;
    }
    if (n <= g->capacity)
        return true;
    const size_t more = n + n / 4;
    g->capacity = 0;
    if (!ef_array_renew(&g->bunch.slots, more, sizeof(uint32_t)) ||
        !ef_array_renew(&g->slots_apart, more, sizeof(uint32_t)) ||
        (weighs && (!ef_array_renew(&g->bunch.weights, more, sizeof(int64_t)) ||
                    !ef_array_renew(&g->weights_apart, more, sizeof(int64_t)))) ||
        (!rules->of_classes && (!ef_array_renew(&g->bunch.targets, more, sizeof(int32_t)) ||
                                !ef_array_renew(&g->targets_apart, more, sizeof(int32_t)))))
        return false;
    g->capacity = more;
    return true;
}

/* Rows in the order of classes, and where each class begins. */
static void order_by_class(ef_grower *g, const uint32_t *slots, size_t n) {
    const ef_rules *const rules = g->rules;
    const uint32_t *const values = g->rows->values;
    uint32_t *const begins = g->class_begins;
    memset(begins, 0, (rules->n_classes + 1) * sizeof *begins);
    for (size_t i = 0; i < n; i++)
        begins[rules->ranks[values[slots[i]]] + 1]++;
    for (uint32_t c = 0; c < rules->n_classes; c++)
        begins[c + 1] += begins[c];
    for (size_t i = 0; i < n; i++)
        g->bunch.slots[begins[rules->ranks[values[slots[i]]]]++] = slots[i];
}

/* Segments of rows that are in the order of classes. */
static void find_segments(ef_grower *g) {
    ef_bunch *const b = &g->bunch;
    b->n_segments = 0;
    b->weight = b->sum = 0;
    if (!g->rules->of_classes)
        b->segments[b->n_segments++] = (ef_segment){.n_rows = (uint32_t)b->n};
    for (size_t i = 0; i < b->n; i++) {
        const int64_t weight = b->weights != NULL ? b->weights[i] : 1;
        b->weight += weight;
        if (!g->rules->of_classes) {
            b->sum += weight * b->targets[i];
            b->segments[0].weight += weight;
            continue;
        }
        const uint32_t class_id = g->rows->values[b->slots[i]];
        if (b->n_segments == 0 || b->segments[b->n_segments - 1].class_id != class_id)
            b->segments[b->n_segments++] = (ef_segment){.class_id = class_id};
        b->segments[b->n_segments - 1].n_rows++;
        b->segments[b->n_segments - 1].weight += weight;
    }
}

bool ef_grower_take(ef_grower *g, uint32_t tree, const uint32_t *slots, size_t n) {
    ef_bunch *const b = &g->bunch;
    if (!reserve_rows(g, n))
        return false;
    b->n = n;
    if (g->rules->of_classes)
        order_by_class(g, slots, n);
    else if (n != 0)
        memcpy(b->slots, slots, n * sizeof *slots);
    for (size_t i = 0; b->weights != NULL && i < n; i++)
        b->weights[i] = ef_weight_in_tree(g->rules, g->rows, tree, b->slots[i]);
    for (size_t i = 0; b->targets != NULL && i < n; i++)
        b->targets[i] = (int32_t)g->rows->values[b->slots[i]];
    find_segments(g);
    return true;
}

bool ef_grower_take_first(ef_grower *g) {
    if (!reserve_rows(g, g->first_rows->bunch.n))
        return false;
    ef_copy_rows(&g->bunch, &g->first_rows->bunch);
    return true;
}

/* ---------------------------------------------------------------- leaves */

bool ef_make_leaf(const ef_rules *rules, ef_dtree *tree, uint32_t node, const ef_bunch *b) {
    tree->nodes[node].kind = EF_LEAF;
    tree->nodes[node].holds = true;
    tree->nodes[node].n_rows = (uint32_t)b->n;
    if (!rules->of_classes) {
        tree->nodes[node].mean.weight = b->weight;
        tree->nodes[node].mean.sum = b->sum;
        return true;
    }
    tree->nodes[node].vote.weight = b->weight;
    tree->nodes[node].vote.n_classes = b->n_segments;
    if (b->n_segments == 1)
        tree->nodes[node].vote.class_id = b->segments[0].class_id;
    if (b->n_segments < 2)
        return true;
    if (!ef_dtree_reserve(tree, b->n_segments)) {
        tree->nodes[node].vote.n_classes = 0;
        return false;
    }
    uint32_t next = EF_NO_NODE;
    for (uint32_t s = b->n_segments; s-- > 0;) {
        const uint32_t vote = ef_dtree_new(tree);
        tree->nodes[vote].kind = EF_VOTE;
        tree->nodes[vote].first = next;
        tree->nodes[vote].vote.class_id = b->segments[s].class_id;
        tree->nodes[vote].vote.weight = b->segments[s].weight;
        next = vote;
    }
    tree->nodes[node].vote.class_id = next;
    return true;
}

/* ---------------------------------------------------------------- growing */

static bool keep_room(ef_grower *g, size_t more) {
    if (g->n_kept + more <= g->kept_capacity)
        return true;
    const size_t n = g->kept_capacity + g->kept_capacity / 2 + more + 4096;
    unsigned char *const kept = ef_realloc(g->kept, n, 1);
    if (kept == NULL)
        return false;
    g->kept = kept;
    g->kept_capacity = n;
    return true;
}

/* Has a node wait, with a stretch of rows and those of its segments that have rows. */
static bool wait_for_node(ef_grower *g, sprout s, const uint64_t *constants,
                          const ef_segment *segments, uint32_t n_segments) {
    const size_t n_words = ef_input_words(g->rules) * sizeof *constants;
    if (g->n_waiting == g->waiting_capacity) {
        const size_t n = 2 * g->waiting_capacity + 64;
        sprout *const larger = ef_realloc(g->waiting, n, sizeof *larger);
        if (larger == NULL)
            return false;
        g->waiting = larger;
        g->waiting_capacity = n;
    }
    if (!keep_room(g, n_words + n_segments * sizeof *segments))
        return false;
    s.kept = g->n_kept;
    memcpy(g->kept + g->n_kept, constants, n_words);
    g->n_kept += n_words;
    s.n_segments = 0;
    for (uint32_t i = 0; i < n_segments; i++)
        if (segments[i].n_rows != 0) {
            memcpy(g->kept + g->n_kept, &segments[i], sizeof *segments);
            g->n_kept += sizeof *segments;
            s.n_segments++;
        }
    g->waiting[g->n_waiting++] = s;
    return true;
}

/* The stretch of rows of a node that waits, and what else it needs; it waits no longer. */
static ef_bunch take_up(ef_grower *g, sprout *s) {
    *s = g->waiting[--g->n_waiting];
    const size_t n_words = ef_input_words(g->rules) * sizeof *g->constants;
    const ef_bunch *const all = &g->bunch;
    ef_bunch b = {.n = s->n,
                  .slots = all->slots + s->first,
                  .weights = all->weights != NULL ? all->weights + s->first : NULL,
                  .targets = all->targets != NULL ? all->targets + s->first : NULL,
                  .segments = g->segments,
                  .n_segments = s->n_segments};
    memcpy(g->constants, g->kept + s->kept, n_words);
    if (s->n_segments != 0)
        memcpy(g->segments, g->kept + s->kept + n_words, s->n_segments * sizeof *g->segments);
    g->n_kept = s->kept;
    for (uint32_t i = 0; i < b.n_segments; i++)
        b.weight += b.segments[i].weight;
    for (size_t i = 0; b.targets != NULL && i < b.n; i++)
        b.sum += (b.weights != NULL ? b.weights[i] : 1) * b.targets[i];
    return b;
}

/* Parts the rows of a node by its split; the segments of the bunch are then those on the right. */
static size_t part(ef_grower *g, const ef_dnode *split, ef_bunch *b) {
    const size_t n_left = ef_part(g->rows, split, b, g->left_segments, g->slots_apart,
                                  g->weights_apart, g->targets_apart);
    for (uint32_t i = 0; i < b->n_segments; i++) {
        b->segments[i].n_rows -= g->left_segments[i].n_rows;
        b->segments[i].weight -= g->left_segments[i].weight;
    }
    return n_left;
}

/* Has the children of a node wait, of which the rows were parted. Of children that are there only
 * those that rows come to or leave from have to be looked at. */
static bool descend(ef_grower *g, const sprout *s, const ef_bunch *b, size_t n_left,
                    const uint32_t nodes[2], const uint32_t olds[2], const size_t travellers[2]) {
    uint64_t keys[2];
    ef_child_keys(s->key, keys);
    sprout left = *s, right = *s;
    left.depth = right.depth = s->depth + 1;
    left.node = nodes[0];
    right.node = nodes[1];
    left.old = olds[0];
    right.old = olds[1];
    left.key = keys[0];
    right.key = keys[1];
    left.n = n_left;
    right.first = s->first + n_left;
    right.n = b->n - n_left;
    left.n_travellers = travellers[0];
    right.first_traveller = s->first_traveller + travellers[0];
    right.n_travellers = travellers[1];
    return ((right.node == EF_NO_NODE && right.n_travellers == 0) ||
            wait_for_node(g, right, g->constants, b->segments, b->n_segments)) &&
           ((left.node == EF_NO_NODE && left.n_travellers == 0) ||
            wait_for_node(g, left, g->constants, g->left_segments, b->n_segments));
}

/* Has the child of a node wait that all travellers of the node go to. */
static bool descend_together(ef_grower *g, const sprout *s, ef_bunch *b, const ef_dnode *split,
                             bool left) {
    uint64_t keys[2];
    sprout child = *s;
    ef_child_keys(s->key, keys);
    child.old = left ? split->split.left : split->split.right;
    child.depth++;
    child.key = keys[left ? 0 : 1];
    child.n = ef_part_off(g->rows, split, left, b, g->left_segments);
    return wait_for_node(g, child, g->constants, g->left_segments, b->n_segments);
}

/* Makes a split of the best candidate, and has its children wait. */
static bool split(ef_grower *g, ef_dtree *tree, const sprout *s, ef_bunch *b, uint32_t best) {
    const ef_split_candidate *const c = &g->chooser.candidates[best];
    struct ef_tally *tally = NULL;
    if (!ef_dtree_reserve(tree, 2))
        return false;
    if (g->chooser.counts_extremes) {
        tally = ef_tally_make(&g->chooser, b);
        if (tally == NULL)
            return false;
        tree->tally_bytes += ef_tally_bytes(tally);
    }
    const uint32_t children[] = {ef_dtree_new(tree), ef_dtree_new(tree)};
    const uint32_t olds[] = {EF_NO_NODE, EF_NO_NODE};
    const size_t travellers[] = {0, 0};
    ef_dnode *const node = &tree->nodes[s->node];
    node->kind = c->kind;
    node->missing_left = c->missing_left;
    node->input = c->input;
    node->cut = c->cut;
    node->n_rows = (uint32_t)b->n;
    node->split.left = children[0];
    node->split.right = children[1];
    node->split.tally = tally;
    const size_t n_left = part(g, node, b);
    assert(n_left == c->n_left && n_left != 0 && n_left != b->n);
    return descend(g, s, b, n_left, children, olds, travellers);
}

/* ---------------------------------------------------------------- along a tree that is there */

bool ef_grower_make_way(ef_grower *g, size_t n) {
    if (n <= g->travellers_capacity)
        return true;
    if (!ef_array_renew(&g->travellers_apart, n, sizeof *g->travellers_apart))
        return false;
    g->travellers_capacity = n;
    return true;
}

size_t ef_part_travellers(ef_grower *g, const ef_dnode *split, size_t first, size_t n) {
    ef_traveller *const all = g->travellers + first;
    size_t n_left = 0, n_right = 0;
    for (size_t i = 0; i < n; i++) {
        const bool left = ef_dnode_left(split, ef_slot_key(g->rows, all[i].slot, split->input));
        if (left)
            all[n_left++] = all[i];
        else
            g->travellers_apart[n_right++] = all[i];
    }
    if (n_right != 0)
        memcpy(all + n_left, g->travellers_apart, n_right * sizeof *all);
    return n_left;
}

bool ef_same_split(const ef_dnode *node, const ef_split_candidate *c) {
    return node->kind == c->kind && node->input == c->input && node->cut == c->cut &&
           node->missing_left == c->missing_left;
}

/* Notes that the travellers of a node come to its chain, or leave it. */
bool ef_note_travellers(ef_forest_plan *plan, uint32_t tree, uint32_t node, const ef_traveller *who,
                        size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!ef_forest_plan_step(plan, (ef_step){.kind = who[i].leaves ? EF_UNLINK : EF_LINK,
                                                 .tree = tree,
                                                 .node = node,
                                                 .n = who[i].slot}))
            return false;
    return true;
}

/* A leaf stays one, with other rows. */
static bool renew_leaf(ef_grower *g, ef_dtree *tree, uint32_t number, const sprout *s,
                       const ef_bunch *b) {
    const uint32_t made = ef_dtree_new(tree);
    if (made == EF_NO_NODE)
        return false;
    const ef_step step = {.kind = EF_RENEW, .tree = number, .node = s->old, .made = made};
    if (!ef_forest_plan_step(g->plan, step)) {
        ef_dtree_drop(tree, made);
        return false;
    }
    return ef_make_leaf(g->rules, tree, made, b) &&
           ef_note_travellers(g->plan, number, s->old, g->travellers + s->first_traveller,
                              s->n_travellers);
}

/* Notes that a new node takes the place of one that is there. */
static bool begin_graft(ef_grower *g, ef_dtree *tree, uint32_t number, sprout *s) {
    s->node = ef_dtree_new(tree);
    if (s->node == EF_NO_NODE)
        return false;
    const ef_step step = {.kind = EF_GRAFT,
                          .tree = number,
                          .node = s->old,
                          .made = s->node,
                          .leaves = g->plan->n_leaves};
    s->old = EF_NO_NODE;
    s->n_travellers = 0;
    if (ef_forest_plan_step(g->plan, step))
        return true;
    ef_dtree_drop(tree, s->node);
    return false;
}

/* A node that is to be grown later, with its rows. */
static bool leave_for_later(ef_grower *g, ef_dtree *tree, const sprout *s, const ef_bunch *b) {
    if (!ef_dtree_may_unsettle(tree, g->plan->n_grafts + 1))
        return false;
    ef_dnode *const node = &tree->nodes[s->node];
    node->holds = node->unsettled = true;
    node->n_rows = (uint32_t)b->n;
    node->later.key = s->key;
    node->later.depth = s->depth;
    return true;
}

/* ---------------------------------------------------------------- the loop */

/* The leaf of a graft, whose rows are noted when all is grown. */
static bool note_leaf(ef_grower *g, const sprout *s) {
    if (g->plan == NULL)
        return true;
    /* A graft is grown to its end before the next begins: its leaves stand side by side. */
    size_t graft = g->plan->n_steps;
    while (g->plan->steps[graft - 1].kind != EF_GRAFT)
        graft--;
    g->plan->steps[graft - 1].n++;
    return ef_forest_plan_leaf_of(g->plan, s->node, g->plan->n_slots + s->first);
}

/* A split stays as it is: its children are next that rows come to or leave from. */
static bool keep_split(ef_grower *g, ef_dtree *tree, uint32_t number, const sprout *s,
                       ef_bunch *b) {
    const ef_dnode *const old = &tree->nodes[s->old];
    const uint32_t none[] = {EF_NO_NODE, EF_NO_NODE};
    const uint32_t children[] = {old->split.left, old->split.right};
    const size_t to_left = ef_part_travellers(g, old, s->first_traveller, s->n_travellers);
    const size_t travellers[] = {to_left, s->n_travellers - to_left};
    const ef_step step = {.kind = EF_COUNT, .tree = number, .node = s->old, .n = (uint32_t)b->n};
    if (!ef_forest_plan_step(g->plan, step))
        return false;
    if (travellers[0] == 0 || travellers[1] == 0)
        return descend_together(g, s, b, old, travellers[0] != 0);
    const size_t n_left = part(g, old, b);
    return descend(g, s, b, n_left, none, children, travellers);
}

static bool grow_next(ef_grower *g, ef_dtree *tree, uint32_t number) {
    sprout s;
    ef_bunch b = take_up(g, &s);
    uint32_t best = EF_NO_CANDIDATE;
    if (s.node == EF_NO_NODE && tree->nodes[s.old].unsettled)
        return ef_forest_plan_step(g->plan, (ef_step){.kind = EF_COUNT,
                                                      .tree = number,
                                                      .node = s.old,
                                                      .n = (uint32_t)b.n}) &&
               ef_note_travellers(g->plan, number, s.old, g->travellers + s.first_traveller,
                                  s.n_travellers);
    if (!ef_is_leaf(g->rules, &b, s.depth)) {
        g->chooser.sorted = s.depth == 0 && g->first_rows != NULL ? g->first_rows->columns : NULL;
        g->chooser.counts_extremes = s.node != EF_NO_NODE && g->tally_rows != 0 &&
                                     b.n >= g->tally_rows && b.weight <= UINT32_MAX;
        if (!ef_choose(&g->chooser, &b, s.key, g->constants, &best))
            return false;
    }
    if (s.node == EF_NO_NODE) {
        const ef_dnode *const old = &tree->nodes[s.old];
        if (best == EF_NO_CANDIDATE && old->kind == EF_LEAF)
            return renew_leaf(g, tree, number, &s, &b);
        if (best != EF_NO_CANDIDATE && ef_same_split(old, &g->chooser.candidates[best])) {
            if (old->holds)
                (void)ef_dtree_pass_on(tree, s.old, g->rows);
            /* Nodes above it may have lost their tallies; its own does not count these rows. */
            ef_dtree_drop_tally(tree, s.old);
            return keep_split(g, tree, number, &s, &b);
        }
        if (!begin_graft(g, tree, number, &s))
            return false;
        if (g->lazy)
            return leave_for_later(g, tree, &s, &b) && note_leaf(g, &s);
        /* It is not known whether the candidates of what there was were counted for a tally. */
        if (best != EF_NO_CANDIDATE && g->tally_rows != 0 && b.n >= g->tally_rows &&
            b.weight <= UINT32_MAX) {
            g->chooser.counts_extremes = true;
            if (!ef_choose(&g->chooser, &b, s.key, g->constants, &best))
                return false;
        }
    }
    if (best != EF_NO_CANDIDATE)
        return split(g, tree, &s, &b, best);
    tree->nodes[s.node].first = (uint32_t)s.first;
    return ef_make_leaf(g->rules, tree, s.node, &b) && note_leaf(g, &s);
}

static bool grow_subtree(ef_grower *g, ef_dtree *tree, uint32_t number, sprout s) {
    s.n = g->bunch.n;
    g->n_waiting = g->n_kept = 0;
    memset(g->constants, 0, ef_input_words(g->rules) * sizeof *g->constants);
    bool ok = wait_for_node(g, s, g->constants, g->bunch.segments, g->bunch.n_segments);
    while (ok && g->n_waiting != 0)
        ok = grow_next(g, tree, number);
    /* A tree without chains has nobody to ask where the rows are. */
    return ok && (g->plan == NULL || tree->next == NULL ||
                  ef_forest_plan_slots(g->plan, g->bunch.slots, g->bunch.n));
}

bool ef_grow_tree(ef_grower *g, ef_dtree *tree, uint64_t key) {
    const uint32_t node = ef_dtree_new(tree);
    return node != EF_NO_NODE &&
           grow_subtree(g, tree, 0, (sprout){.node = node, .old = EF_NO_NODE, .key = key});
}

bool ef_grow_anew(ef_grower *g, ef_dtree *tree, uint32_t number, ef_place place) {
    sprout s = {.old = place.node, .depth = place.depth, .key = place.key};
    if (!begin_graft(g, tree, number, &s))
        return false;
    if (!g->lazy)
        return grow_subtree(g, tree, number, s);
    return leave_for_later(g, tree, &s, &g->bunch) && note_leaf(g, &s) &&
           ef_forest_plan_slots(g->plan, g->bunch.slots, g->bunch.n);
}

bool ef_grow_along(ef_grower *g, ef_dtree *tree, uint32_t number, ef_place place) {
    return grow_subtree(g, tree, number,
                        (sprout){.node = EF_NO_NODE,
                                 .old = place.node,
                                 .depth = place.depth,
                                 .key = place.key,
                                 .first_traveller = place.first,
                                 .n_travellers = place.n});
}
