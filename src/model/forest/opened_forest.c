/*
 * A forest that is opened: of its bytes only those are read that a change needs.
 *
 * The tops of trees are read at once. A branch is read when a row of the change is in it, and then
 * only the nodes on the ways of these rows are made: what is beside a way stays in bytes, and is
 * written as it is. The forest has its rows, but no chains of them. All bytes are verified by their
 * digests before anything is made of them.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/forest/forest_bytes.h"

#include <string.h>

/* ---------------------------------------------------------------- passing over nodes */

static size_t skip_short(const unsigned char *bytes, size_t n_bytes, size_t at) {
    while (at < n_bytes && bytes[at] > 0x7F)
        at++;
    return at + 1;
}

/* The usual node of a tree of targets, of a head of one byte, without a branch that cannot be
 * foretold. Returns how many bytes it has; 0 for another one, or where bytes end soon. */
static size_t pass_usual(const unsigned char *bytes, size_t n_bytes, bool *is_split) {
    uint64_t next = 0;
    if (n_bytes < 9 || bytes[0] > 0x7F || (bytes[0] & 3) == 3)
        return 0;
    for (unsigned b = 0; b < 8; b++)
        next |= (uint64_t)bytes[1 + b] << (8 * b);
    const uint64_t ends = ~next & UINT64_C(0x8080808080808080); /* of numbers */
    if (ends == 0)
        return 0;
    *is_split = (bytes[0] & 3) != EF_LEAF;
    return *is_split ? 5 : 2 + (size_t)__builtin_ctzll(ends) / 8;
}

/* Every byte beside the way of a row is passed here. */
size_t ef_forest_subtree_bytes(const unsigned char *bytes, size_t n_bytes, bool of_classes) {
    size_t at = 0, n_open = 1;
    while (n_open != 0 && at < n_bytes) {
        bool is_split = false;
        const size_t n_usual = of_classes ? 0 : pass_usual(bytes + at, n_bytes - at, &is_split);
        const unsigned kind = bytes[at] & 3;
        if (n_usual != 0) {
            at += n_usual;
            n_open = is_split ? n_open + 1 : n_open - 1;
        } else if (kind == EF_THRESHOLD || kind == EF_CATEGORIES) {
            at = skip_short(bytes, n_bytes, at) + 4;
            n_open++;
        } else if (kind != EF_LEAF) {
            return SIZE_MAX;
        } else {
            ef_decoder head = {.bytes = bytes + at, .n_bytes = n_bytes - at};
            uint64_t n = of_classes ? 2 * (ef_read_short(&head) >> 2) : 1;
            for (at = skip_short(bytes, n_bytes, at); n != 0 && at < n_bytes; n--)
                at = skip_short(bytes, n_bytes, at);
            at = n != 0 ? SIZE_MAX : at;
            n_open--;
        }
    }
    return n_open == 0 && at <= n_bytes ? at : SIZE_MAX;
}

/* ---------------------------------------------------------------- reading */

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

/* A child of a split stays in bytes: so many, from `begin` on. */
static void leave_unread(ef_dtree *tree, uint32_t i, uint64_t begin, uint64_t n_bytes) {
    tree->nodes[i].kind = EF_UNREAD;
    tree->nodes[i].unread.begin = begin;
    tree->nodes[i].unread.n_bytes = n_bytes;
}

/* Makes a node of its bytes. A split gets children, which are still in theirs. */
static efface_status read_node(ef_forest *f, ef_dtree *tree, uint32_t i, ef_decoder *r,
                               efface_error *error) {
    bool memory = true;
    tree->nodes[i].kind = EF_LEAF; /* until it is known to be a split */
    bool ok = ef_forest_read_node(r, f, tree, i, &memory);
    if (!ok || !ef_is_split(&tree->nodes[i]))
        return ok ? EFFACE_OK : fail_tree(memory, error);
    if (!ef_dtree_reserve(tree, 2)) {
        tree->nodes[i] = (ef_dnode){.first = EF_NO_SLOT};
        return fail_tree(false, error);
    }
    const uint32_t left = ef_dtree_new(tree), right = ef_dtree_new(tree);
    leave_unread(tree, left, 0, 0);
    leave_unread(tree, right, 0, 0);
    tree->nodes[i].split.left = left;
    tree->nodes[i].split.right = right;
    tree->nodes[i].split.tally = NULL;
    return EFFACE_OK;
}

static bool goes_right(const ef_forest *f, const ef_dnode *node, const float *values) {
    return !ef_dnode_left(node, ef_key_of(values[(size_t)f->columns[node->input] * EF_PANEL]));
}

/* Goes over a subtree, which a node stands for. */
static bool pass_over(ef_forest *f, ef_dtree *tree, uint32_t i, const unsigned char *branch,
                      ef_decoder *r) {
    const size_t n = ef_forest_subtree_bytes(r->bytes, r->n_bytes, ef_forest_of_classes(f));
    if (n == SIZE_MAX)
        return false;
    leave_unread(tree, i, (uint64_t)(r->bytes - branch), n);
    r->bytes += n;
    r->n_bytes -= n;
    return true;
}

/* What is on the right of splits where the way went to the left, from below: it begins where the
 * one below ends. The last one has all that is left. */
static bool find_right_sides(ef_forest *f, ef_dtree *tree, const ef_waiting *turns,
                             const unsigned char *branch, ef_decoder *r) {
    for (size_t t = turns->n; t-- > 1;)
        if (!pass_over(f, tree, tree->nodes[turns->at[t].node].split.right, branch, r))
            return false;
    if (turns->n == 0)
        return r->n_bytes == 0;
    leave_unread(tree, tree->nodes[turns->at[0].node].split.right, (uint64_t)(r->bytes - branch),
                 r->n_bytes);
    return r->n_bytes != 0;
}

/* Makes the nodes on the way of a row below one that is in bytes. What is beside the way is passed
 * over, each byte once. */
static efface_status read_below(ef_forest *f, ef_dtree *tree, uint32_t i,
                                const unsigned char *branch, const float *values,
                                efface_error *error) {
    ef_decoder r = {.bytes = branch + tree->nodes[i].unread.begin,
                    .n_bytes = tree->nodes[i].unread.n_bytes};
    ef_waiting turns = {0}; /* to the left */
    efface_status status = read_node(f, tree, i, &r, error);
    while (status == EFFACE_OK && ef_is_split(&tree->nodes[i])) {
        const bool right = goes_right(f, &tree->nodes[i], values);
        const uint32_t left = tree->nodes[i].split.left;
        if (!right && !ef_wait(&turns, i, 0))
            status = ef_fail_memory(error);
        else if (right && !pass_over(f, tree, left, branch, &r))
            status = fail_tree(true, error);
        i = right ? tree->nodes[i].split.right : left;
        EF_THEN(status, read_node(f, tree, i, &r, error));
    }
    if (status == EFFACE_OK && !find_right_sides(f, tree, &turns, branch, &r))
        status = fail_tree(true, error);
    ef_free(turns.at);
    return status;
}

/* Makes all nodes of a subtree that is in bytes. */
static efface_status read_subtree(ef_forest *f, ef_dtree *tree, uint32_t i,
                                  const unsigned char *branch, efface_error *error) {
    ef_decoder r = {.bytes = branch + tree->nodes[i].unread.begin,
                    .n_bytes = tree->nodes[i].unread.n_bytes};
    ef_waiting deeper = {0};
    bool memory = true;
    tree->nodes[i].kind = EF_LEAF;
    const bool ok = ef_forest_read_nodes(&r, f, tree, i, UINT32_MAX, &deeper, &memory);
    ef_free(deeper.at);
    return ok && r.n_bytes == 0 ? EFFACE_OK : fail_tree(memory, error);
}

/* Makes all nodes of a branch, which begins at a node. */
static efface_status read_all_nodes(ef_forest *f, ef_dtree *tree, uint32_t root,
                                    const unsigned char *branch, efface_error *error) {
    ef_walk walk = ef_walk_from(tree, root, 0);
    efface_status status = EFFACE_OK;
    while (status == EFFACE_OK && ef_walk_next(&walk))
        if (tree->nodes[walk.node].kind == EF_UNREAD)
            status = read_subtree(f, tree, walk.node, branch, error);
    if (status == EFFACE_OK && walk.failed)
        status = ef_fail_memory(error);
    ef_walk_end(&walk);
    return status;
}

/* Makes the nodes on the way of a row in a branch. */
static efface_status read_way(ef_forest *f, ef_dtree *tree, uint32_t i, const unsigned char *branch,
                              const float *values, efface_error *error) {
    while (ef_is_split(&tree->nodes[i])) {
        const ef_dnode *const node = &tree->nodes[i];
        i = goes_right(f, node, values) ? node->split.right : node->split.left;
    }
    return tree->nodes[i].kind == EF_UNREAD ? read_below(f, tree, i, branch, values, error)
                                            : EFFACE_OK;
}

/* ---------------------------------------------------------------- branches */

/* What is read of branches: the ways of the rows of a change, or all (NULL). First their bytes are
 * copied; then one worker or several verify them, and make nodes, tree by tree. */
typedef struct reading {
    ef_forest *forest;
    const ef_change *change;
    uint64_t *members; /* the trees of each row of the change, n_words of bits */
    size_t n_words;
    bool *fresh; /* by section: its bytes were not verified yet */
    size_t n_bytes;
    efface_status *statuses; /* by worker */
    efface_error *errors;
} reading;

/* Where a branch begins: that of a row, by its values, or the one with a number (values NULL). False
 * if the tree ends above. */
static bool find_branch(const ef_forest *f, uint32_t t, const float *values, uint32_t branch,
                        uint32_t *node, size_t *section) {
    const ef_dtree *const tree = &f->trees[t];
    uint32_t i = 0, place = 0, depth = 0;
    for (; depth < EF_BRANCH_DEPTH && ef_is_split(&tree->nodes[i]); depth++) {
        const ef_dnode *const at = &tree->nodes[i];
        const bool right = values != NULL ? goes_right(f, at, values)
                                          : (branch >> (EF_BRANCH_DEPTH - 1 - depth) & 1) != 0;
        place = 2 * place + right;
        i = right ? at->split.right : at->split.left;
    }
    *node = i;
    *section = ef_forest_section(t) + 1 + place;
    return depth == EF_BRANCH_DEPTH;
}

/* Whether a row of the change is in a tree. */
static bool is_in_tree(const reading *r, size_t row, uint32_t tree) {
    return (r->members[row * r->n_words + tree / 64] >> (tree % 64) & 1) != 0;
}

static bool find_trees_of_rows(reading *r) {
    const ef_forest *const f = r->forest;
    const size_t n = r->change != NULL ? r->change->n_rows : 0;
    size_t n_words;
    r->n_words = (f->n_trees + 63) / 64;
    uint32_t *const places = ef_alloc(f->n_trees, sizeof *places);
    r->members =
        ef_mul_size(n, r->n_words, &n_words) ? ef_alloc_zero(n_words, sizeof(uint64_t)) : NULL;
    for (size_t i = 0; places != NULL && r->members != NULL && i < n; i++) {
        const efface_row *const row = &r->change->rows[i];
        uint64_t *const members = r->members + i * r->n_words;
        const float target = ef_forest_of_classes(f)
                                 ? 0.0F
                                 : ef_change_first(r->change, i)[(size_t)f->target * EF_PANEL];
        if (!ef_forest_takes(f, row->label, target))
            continue;
        if (f->params->rows == EFFACE_FOREST_SOME)
            ef_draw_trees(f->rules.seed, row->id, f->params->trees_of_row, f->n_trees, places,
                          members);
        for (uint32_t t = 0; f->params->rows != EFFACE_FOREST_SOME && t < f->n_trees; t++)
            if (!f->rules.bootstraps || ef_draw_poisson(f->rules.seed, row->id, t) != 0)
                members[t / 64] |= (uint64_t)1 << (t % 64);
    }
    ef_free(places);
    return places != NULL && r->members != NULL;
}

/* Has the bytes of a branch copied, if they are not here. */
static efface_status copy_branch(reading *r, uint32_t t, const float *values, uint32_t branch,
                                 efface_error *error) {
    ef_forest *const f = r->forest;
    uint32_t node;
    size_t section, n_bytes;
    if (!find_branch(f, t, values, branch, &node, &section) || f->branches[section] != NULL)
        return EFFACE_OK;
    const efface_status status =
        f->sections->copy(f->sections, section, &f->branches[section], &n_bytes, error);
    if (status != EFFACE_OK)
        return status;
    leave_unread(&f->trees[t], node, 0, n_bytes);
    r->fresh[section] = true;
    r->n_bytes += n_bytes;
    return EFFACE_OK;
}

static efface_status copy_branches(reading *r, efface_error *error) {
    const ef_forest *const f = r->forest;
    efface_status status = EFFACE_OK;
    for (uint32_t t = 0; t < f->n_trees; t++) {
        for (uint32_t b = 0; status == EFFACE_OK && r->change == NULL && b < EF_BRANCHES; b++)
            status = copy_branch(r, t, NULL, b, error);
        for (size_t i = 0; status == EFFACE_OK && r->change != NULL && i < r->change->n_rows; i++)
            if (is_in_tree(r, i, t))
                status = copy_branch(r, t, ef_change_first(r->change, i), 0, error);
    }
    return status;
}

/* Verifies what was copied of a tree; and makes its nodes, if all are wanted. */
static efface_status verify_branches(const reading *r, uint32_t t, efface_error *error) {
    ef_forest *const f = r->forest;
    ef_dtree *const tree = &f->trees[t];
    efface_status status = EFFACE_OK;
    for (uint32_t b = 0; status == EFFACE_OK && b < EF_BRANCHES; b++) {
        uint32_t node;
        size_t section;
        if (!find_branch(f, t, NULL, b, &node, &section))
            continue;
        const unsigned char *const branch = f->branches[section];
        if (r->fresh[section])
            status = f->sections->verify(f->sections, section, branch,
                                         tree->nodes[node].unread.n_bytes, error);
        if (status == EFFACE_OK && r->change == NULL)
            status = read_all_nodes(f, tree, node, branch, error);
    }
    return status;
}

static efface_status read_tree_ways(const reading *r, uint32_t t, efface_error *error) {
    ef_forest *const f = r->forest;
    efface_status status = verify_branches(r, t, error);
    for (size_t i = 0; status == EFFACE_OK && r->change != NULL && i < r->change->n_rows; i++) {
        const float *const values = ef_change_first(r->change, i);
        uint32_t node;
        size_t section;
        if (is_in_tree(r, i, t) && find_branch(f, t, values, 0, &node, &section))
            status = read_way(f, &f->trees[t], node, f->branches[section], values, error);
    }
    return status != EFFACE_OK || ef_forest_leaves_possible(f, &f->trees[t])
               ? status
               : ef_fail_state(error, "a tree");
}

static void read_trees(void *context, unsigned worker, size_t first, size_t last) {
    const reading *const r = context;
    for (size_t t = first; t < last && r->statuses[worker] == EFFACE_OK; t++)
        r->statuses[worker] = read_tree_ways(r, (uint32_t)t, &r->errors[worker]);
}

#define MUCH ((size_t)1 << 20) /* bytes that are worth a second thread */

static efface_status read_all_trees(reading *r, efface_error *error) {
    const ef_forest *const f = r->forest;
    ef_pool *const pool = ef_pool_create(r->n_bytes < MUCH ? 1 : f->params->common.n_threads);
    const unsigned n = pool != NULL ? ef_pool_size(pool) : 0;
    r->statuses = ef_alloc(n, sizeof *r->statuses);
    r->errors = ef_alloc_zero(n, sizeof *r->errors);
    efface_status status = pool != NULL && r->statuses != NULL && r->errors != NULL
                               ? EFFACE_OK
                               : ef_fail_memory(error);
    for (unsigned w = 0; status == EFFACE_OK && w < n; w++)
        r->statuses[w] = EFFACE_OK;
    if (status == EFFACE_OK)
        ef_pool_run(pool, f->n_trees, 1, read_trees, r);
    for (unsigned w = 0; status == EFFACE_OK && w < n; w++) {
        status = r->statuses[w];
        if (status != EFFACE_OK && error != NULL)
            *error = r->errors[w];
    }
    ef_pool_free(pool);
    return status;
}

efface_status ef_forest_read_branches(ef_forest *f, const ef_change *change, efface_error *error) {
    reading r = {.forest = f, .change = change};
    if (f->sections == NULL)
        return EFFACE_OK;
    r.fresh = ef_alloc_zero(f->sections->n, sizeof *r.fresh);
    efface_status status =
        find_trees_of_rows(&r) && r.fresh != NULL ? EFFACE_OK : ef_fail_memory(error);
    EF_THEN(status, copy_branches(&r, error));
    EF_THEN(status, read_all_trees(&r, error));
    ef_free(r.members);
    ef_free(r.fresh);
    ef_free(r.statuses);
    ef_free(r.errors);
    return status;
}
