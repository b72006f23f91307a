/*
 * A forest that is opened: of its bytes only those are read that a change needs.
 *
 * The tops of trees are read at once. A branch is read when a row of the change is in it, and then
 * only the nodes on the ways of these rows are made: what is beside a way stays in bytes, and is
 * written as it is. The forest has its rows, but no chains of them. All bytes are verified by their
 * digests before they are seen here.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/forest/forest_bytes.h"

#include <string.h>

static efface_status fail_tree(bool memory, efface_error *error) {
    return memory ? ef_fail_state(error, "a tree") : ef_fail_memory(error);
}

static efface_status read_top(ef_forest *f, uint32_t t, efface_error *error) {
    ef_dtree *const tree = &f->trees[t];
    ef_decoder r;
    ef_waiting branches = {0};
    efface_status status = f->sections->read(f->sections, ef_forest_section(t), &r, error);
    if (status != EFFACE_OK)
        return status;
    bool memory = ef_dtree_new(tree) != EF_NO_NODE;
    const bool ok = memory &&
                    ef_forest_read_nodes(&r, f, tree, 0, EF_BRANCH_DEPTH - 1, &branches, &memory) &&
                    r.n_bytes == 0;
    for (size_t i = 0; i < branches.n; i++)
        tree->nodes[branches.at[i].node].kind = EF_UNREAD;
    ef_free(branches.at);
    return ok && ef_forest_leaves_possible(f, tree) ? EFFACE_OK : fail_tree(memory, error);
}

efface_status ef_forest_open(ef_sections *sections, const efface_params *params, uint32_t d,
                             void **state, efface_error *error) {
    ef_forest *f = NULL;
    ef_decoder head;
    efface_status status = sections->read(sections, 0, &head, error);
    EF_THEN(status, ef_forest_read_head(&head, params, d, &f, error));
    if (status != EFFACE_OK)
        return status;
    f->sections = sections;
    f->branches = ef_alloc_zero(ef_forest_section(f->n_trees), sizeof *f->branches);
    if (f->branches == NULL)
        status = ef_fail_memory(error);
    else if (head.n_bytes != 0 || sections->n != ef_forest_section(f->n_trees))
        status = ef_fail_state(error, "the number of its trees");
    for (uint32_t t = 0; status == EFFACE_OK && t < f->n_trees; t++)
        status = read_top(f, t, error);
    if (status == EFFACE_OK)
        *state = f;
    else
        ef_forest_free(f);
    return status;
}

/* Has the bytes of a branch read, if they were not, which begins at a node. */
static efface_status read_branch(ef_forest *f, size_t section, ef_dnode *node,
                                 efface_error *error) {
    ef_decoder r;
    if (f->branches[section] != NULL)
        return EFFACE_OK;
    const efface_status status = f->sections->read(f->sections, section, &r, error);
    if (status != EFFACE_OK)
        return status;
    f->branches[section] = ef_alloc(r.n_bytes, 1);
    if (f->branches[section] == NULL)
        return ef_fail_memory(error);
    node->unread.begin = 0;
    node->unread.n_bytes = r.n_bytes;
    ef_read_bytes(&r, f->branches[section], r.n_bytes);
    return EFFACE_OK;
}

/* Makes a node of its bytes; the children of a split stay in theirs. */
static efface_status read_node(ef_forest *f, ef_dtree *tree, uint32_t i,
                               const unsigned char *branch, efface_error *error) {
    ef_dnode *const node = &tree->nodes[i];
    const uint64_t begin = node->unread.begin, n_bytes = node->unread.n_bytes;
    ef_decoder r = {.bytes = branch + begin, .n_bytes = n_bytes};
    bool memory = true;
    node->kind = EF_LEAF; /* until it is known to be a split */
    bool ok = ef_forest_read_node(&r, f, tree, i, &memory);
    if (!ok || !ef_is_split(&tree->nodes[i]))
        return ok && r.n_bytes == 0 ? EFFACE_OK : fail_tree(memory, error);
    const size_t of_left = ef_forest_subtree_bytes(r.bytes, r.n_bytes, ef_forest_of_classes(f));
    memory = ef_dtree_reserve(tree, 2);
    ok = memory && of_left < r.n_bytes;
    if (!ok) {
        tree->nodes[i] = (ef_dnode){.first = EF_NO_SLOT};
        return fail_tree(memory, error);
    }
    const uint32_t left = ef_dtree_new(tree), right = ef_dtree_new(tree);
    const uint64_t after = begin + n_bytes - r.n_bytes;
    tree->nodes[left].kind = tree->nodes[right].kind = EF_UNREAD;
    tree->nodes[left].unread.begin = after;
    tree->nodes[left].unread.n_bytes = of_left;
    tree->nodes[right].unread.begin = after + of_left;
    tree->nodes[right].unread.n_bytes = r.n_bytes - of_left;
    tree->nodes[i].split.left = left;
    tree->nodes[i].split.right = right;
    tree->nodes[i].split.tally = NULL;
    return EFFACE_OK;
}

/* Makes all nodes of a branch. */
static efface_status read_whole(ef_forest *f, ef_dtree *tree, uint32_t root, size_t section,
                                efface_error *error) {
    ef_walk walk = ef_walk_from(tree, root, 0);
    efface_status status = read_branch(f, section, &tree->nodes[root], error);
    while (status == EFFACE_OK && ef_walk_next(&walk))
        if (tree->nodes[walk.node].kind == EF_UNREAD)
            status = read_node(f, tree, walk.node, f->branches[section], error);
    if (status == EFFACE_OK && walk.failed)
        status = ef_fail_memory(error);
    ef_walk_end(&walk);
    return status;
}

static bool goes_right(const ef_forest *f, const ef_dnode *node, const float *values) {
    return !ef_dnode_left(node, ef_key_of(values[(size_t)f->columns[node->input] * EF_PANEL]));
}

/* Makes the nodes on the way of a row, by its values, or all of a branch. */
static efface_status read_way(ef_forest *f, uint32_t t, const float *values, uint32_t branch,
                              efface_error *error) {
    ef_dtree *const tree = &f->trees[t];
    uint32_t i = 0, place = 0;
    for (uint32_t depth = 0; depth < EF_BRANCH_DEPTH && ef_is_split(&tree->nodes[i]); depth++) {
        const ef_dnode *const node = &tree->nodes[i];
        const bool right = values != NULL ? goes_right(f, node, values)
                                          : (branch >> (EF_BRANCH_DEPTH - 1 - depth) & 1) != 0;
        place = 2 * place + right;
        i = right ? node->split.right : node->split.left;
    }
    const size_t section = ef_forest_section(t) + 1 + place;
    const ef_dnode *node = &tree->nodes[i];
    if (node->kind != EF_UNREAD && !ef_is_split(node))
        return EFFACE_OK;
    if (values == NULL)
        return read_whole(f, tree, i, section, error);
    efface_status status = read_branch(f, section, &tree->nodes[i], error);
    while (status == EFFACE_OK) {
        if (tree->nodes[i].kind == EF_UNREAD)
            status = read_node(f, tree, i, f->branches[section], error);
        node = &tree->nodes[i];
        if (status != EFFACE_OK || !ef_is_split(node))
            break;
        i = goes_right(f, node, values) ? node->split.right : node->split.left;
    }
    return status;
}

/* Whether a row is in a tree; `members` has the bits of its trees, if these are some. */
static bool is_in_tree(const ef_forest *f, const efface_row *row, uint32_t tree,
                       const uint64_t *members) {
    return f->params->rows == EFFACE_FOREST_SOME ? (members[tree / 64] >> (tree % 64) & 1) != 0
           : f->rules.bootstraps ? ef_draw_poisson(f->rules.seed, row->id, tree) != 0
                                 : true;
}

static efface_status read_ways(ef_forest *f, const ef_change *change, size_t i, uint32_t *places,
                               uint64_t *members, efface_error *error) {
    const efface_row *const row = &change->rows[i];
    const float *const values = ef_change_first(change, i);
    const float target = ef_forest_of_classes(f) ? 0.0F : values[(size_t)f->target * EF_PANEL];
    efface_status status = EFFACE_OK;
    if (!ef_forest_takes(f, row->label, target))
        return EFFACE_OK;
    if (f->params->rows == EFFACE_FOREST_SOME) {
        memset(members, 0, (f->n_trees + 63) / 64 * sizeof *members);
        ef_draw_trees(f->rules.seed, row->id, f->params->trees_of_row, f->n_trees, places, members);
    }
    for (uint32_t t = 0; status == EFFACE_OK && t < f->n_trees; t++)
        if (is_in_tree(f, row, t, members))
            status = read_way(f, t, values, 0, error);
    return status;
}

efface_status ef_forest_read_branches(ef_forest *f, const ef_change *change, efface_error *error) {
    if (f->sections == NULL)
        return EFFACE_OK;
    uint32_t *const places = ef_alloc(f->n_trees, sizeof *places);
    uint64_t *const members = ef_alloc((f->n_trees + 63) / 64, sizeof *members);
    efface_status status = places != NULL && members != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && change != NULL && i < change->n_rows; i++)
        status = read_ways(f, change, i, places, members, error);
    for (uint32_t t = 0; status == EFFACE_OK && change == NULL && t < f->n_trees; t++)
        for (uint32_t b = 0; status == EFFACE_OK && b < EF_BRANCHES; b++)
            status = read_way(f, t, NULL, b, error);
    for (uint32_t t = 0; status == EFFACE_OK && t < f->n_trees; t++)
        if (!ef_forest_leaves_possible(f, &f->trees[t]))
            status = ef_fail_state(error, "a tree");
    ef_free(places);
    ef_free(members);
    return status;
}
