/*
 * A forest for prediction only, as bytes (docs/definition/published.md): 12 for each node, in
 * preorder, so that a left child is the node behind its parent. No weights, no number of rows, and
 * no values but the thresholds, which are random numbers, and the means of leaves.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/forest/forest.h"

#include <string.h>

#define NODE_BYTES 12
#define MEAN_UNIT ((int64_t)1 << 20)
#define SHARE_UNIT ((int64_t)1 << 32)

/* ---------------------------------------------------------------- writing */

/* floor(2^32 W_c / W), which is below 2^32 where there are several classes. */
static uint32_t share_of(int64_t part, int64_t whole) {
    return whole > 0 && part > 0 ? (uint32_t)(((ef_u128)(uint64_t)part << 32) / (uint64_t)whole)
                                 : 0;
}

/* The numbers of the right children: a node's is that of the next after all below the left. */
static bool number_rights(const ef_dtree *tree, const uint32_t *nodes, uint32_t n,
                          uint32_t *rights) {
    ef_waiting open = {0}; /* splits whose right child is to come */
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++) {
        if (ef_is_split(&tree->nodes[nodes[i]]))
            ok = ef_wait(&open, i, 0);
        else if (open.n != 0)
            rights[open.at[--open.n].node] = i + 1;
    }
    ef_free(open.at);
    return ok;
}

static void write_leaf(ef_writer *w, const ef_forest *f, const ef_dtree *tree, uint32_t i,
                       uint32_t *n_shares) {
    const ef_dnode *const node = &tree->nodes[i];
    if (!tree->of_classes) {
        const int64_t mean =
            node->mean.weight > 0
                ? (int64_t)ef_divide_round((ef_i128)node->mean.sum * MEAN_UNIT, node->mean.weight)
                : INT64_MIN;
        ef_write_u32(w, 0);
        ef_write_u64(w, (uint64_t)mean);
        return;
    }
    const uint32_t n = node->vote.n_classes;
    ef_write_u32(w, n << 8);
    ef_write_u32(w, n == 1 ? f->classes.ranks[node->vote.class_id] : n > 1 ? *n_shares : 0);
    ef_write_u32(w, 0);
    *n_shares += n > 1 ? n : 0;
}

static void write_shares(ef_writer *w, const ef_forest *f, const ef_dtree *tree, uint32_t i) {
    const ef_dnode *const node = &tree->nodes[i];
    if (!tree->of_classes || ef_is_split(node) || node->vote.n_classes < 2)
        return;
    uint32_t vote = node->vote.class_id;
    for (uint32_t k = 0; k < node->vote.n_classes; k++) {
        ef_write_u32(w, f->classes.ranks[tree->nodes[vote].vote.class_id]);
        ef_write_u32(w, share_of(tree->nodes[vote].vote.weight, node->vote.weight));
        vote = tree->nodes[vote].first;
    }
}

static bool write_tree(ef_writer *w, const ef_forest *f, const ef_dtree *tree) {
    uint32_t *const nodes = ef_alloc(tree->n_used, sizeof *nodes);
    uint32_t *const rights = ef_alloc_zero(tree->n_used, sizeof *rights);
    uint32_t n = 0, n_shares = 0, at = 0;
    ef_walk walk = ef_walk_from(tree, 0, 0);
    bool ok = nodes != NULL && rights != NULL;
    while (ok && ef_walk_next(&walk)) {
        const ef_dnode *const node = &tree->nodes[walk.node];
        nodes[n++] = walk.node;
        if (tree->of_classes && !ef_is_split(node) && node->vote.n_classes > 1)
            n_shares += node->vote.n_classes;
    }
    ok = ok && !walk.failed && number_rights(tree, nodes, n, rights);
    ef_walk_end(&walk);
    if (ok) {
        ef_write_u32(w, n);
        ef_write_u32(w, n_shares);
    }
    for (uint32_t i = 0; ok && i < n; i++) {
        const ef_dnode *const node = &tree->nodes[nodes[i]];
        if (!ef_is_split(node)) {
            write_leaf(w, f, tree, nodes[i], &at);
            continue;
        }
        ef_write_u32(w, (uint32_t)node->kind | (node->missing_left ? 4U : 0U) |
                            f->columns[node->input] << 8);
        ef_write_u32(w, node->kind == EF_CATEGORIES ? (uint32_t)node->cut : ef_key_bits(node->cut));
        ef_write_u32(w, rights[i]);
    }
    for (uint32_t i = 0; ok && i < n; i++)
        write_shares(w, f, tree, nodes[i]);
    ef_free(nodes);
    ef_free(rights);
    return ok;
}

void ef_forest_write_predictor(ef_writer *w, const ef_forest *f) {
    uint32_t n_categories = 0;
    if (!ef_forest_settle_all(f)) {
        w->failed = true;
        return;
    }
    for (uint32_t i = 0; i < f->n_inputs; i++)
        n_categories += f->are_categories[i];
    ef_write_u32(w, f->n_trees);
    ef_write_u32(w, f->target);
    ef_write_u32(w, (uint32_t)f->exponent);
    ef_write_u32(w, f->takes_missing);
    ef_write_u32(w, n_categories);
    for (uint32_t i = 0; i < f->n_inputs; i++)
        if (f->are_categories[i])
            ef_write_u32(w, f->columns[i]);
    ef_write_u32(w, f->classes.n);
    for (uint32_t c = 0; c < f->classes.n; c++)
        ef_write_u64(w, (uint64_t)f->classes.labels[f->classes.ids[c]]);
    for (uint32_t t = 0; t < f->n_trees; t++)
        w->failed |= !write_tree(w, f, &f->trees[t]);
}

/* ---------------------------------------------------------------- reading */

static bool read_leaf(ef_decoder *r, const ef_forest *f, ef_dnode *node, uint32_t head,
                      uint32_t n_shares) {
    if (ef_forest_of_classes(f)) {
        const uint32_t n = head >> 8, at = ef_read_u32(r), zero = ef_read_u32(r);
        node->vote.n_classes = n;
        node->vote.class_id = at;
        node->vote.weight = n == 1 ? 1 : SHARE_UNIT;
        return (head & 0xFF) == 0 && zero == 0 && n <= f->classes.n &&
               (n != 1 || at < f->classes.n) && (n != 0 || at == 0) &&
               (n < 2 || (at <= n_shares && n <= n_shares - at));
    }
    const int64_t mean = (int64_t)ef_read_u64(r);
    const int64_t most = (int64_t)EF_GRID_MAX * MEAN_UNIT;
    node->mean.weight = mean != INT64_MIN ? MEAN_UNIT : 0;
    node->mean.sum = mean != INT64_MIN ? mean : 0;
    return head == 0 && (mean == INT64_MIN || (mean >= -most && mean <= most));
}

static bool read_split(ef_decoder *r, const ef_forest *f, ef_dnode *node, uint32_t head, uint32_t i,
                       uint32_t n) {
    const uint32_t column = head >> 8, bits = ef_read_u32(r);
    float cut;
    memcpy(&cut, &bits, sizeof cut);
    if (column >= f->n_columns || column == f->target || (head & 0xF8) != 0)
        return false;
    node->kind = (uint8_t)(head & 3);
    node->missing_left = (head & 4) != 0;
    node->input = (uint16_t)(column - (column > f->target));
    node->cut = node->kind == EF_CATEGORIES ? (int32_t)bits : ef_key_of(cut);
    node->split.left = i + 1;
    node->split.right = ef_read_u32(r);
    node->split.tally = NULL;
    return node->split.right > i + 1 && node->split.right < n &&
           f->are_categories[node->input] == (node->kind == EF_CATEGORIES) &&
           (node->kind == EF_CATEGORIES || node->cut != EF_KEY_MISSING);
}

/* Whether nodes are a tree in preorder: the node behind a leaf is the right child that is to come.
 */
static bool is_preorder(const ef_dtree *tree, uint32_t n, bool *memory) {
    ef_waiting open = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++) {
        const ef_dnode *const node = &tree->nodes[i];
        if (ef_is_split(node))
            ok = *memory = ef_wait(&open, node->split.right, 0);
        else if (i + 1 < n)
            ok = open.n != 0 && open.at[--open.n].node == i + 1;
        else
            ok = open.n == 0;
    }
    ef_free(open.at);
    return ok;
}

/* The classes of leaves that have several, as chains of votes. */
static bool read_shares(ef_decoder *r, const ef_forest *f, ef_dtree *tree, uint32_t n,
                        uint32_t n_shares, bool *memory) {
    const uint32_t first = tree->n_used;
    uint32_t at = 0;
    for (uint32_t s = 0; s < n_shares; s++) {
        const uint32_t vote = ef_dtree_new(tree);
        if (vote == EF_NO_NODE) {
            *memory = false;
            return false;
        }
        ef_dnode *const node = &tree->nodes[vote];
        node->kind = EF_VOTE;
        node->vote.class_id = ef_read_u32(r);
        node->vote.weight = ef_read_u32(r);
        node->first = vote + 1;
        if (node->vote.class_id >= f->classes.n)
            return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        ef_dnode *const node = &tree->nodes[i];
        if (ef_is_split(node) || !tree->of_classes || node->vote.n_classes < 2)
            continue;
        if (node->vote.class_id != at)
            return false;
        at += node->vote.n_classes;
        node->vote.class_id += first;
        tree->nodes[first + at - 1].first = EF_NO_NODE;
    }
    return at == n_shares;
}

static efface_status read_tree(ef_decoder *r, const ef_forest *f, ef_dtree *tree,
                               efface_error *error) {
    const uint32_t n = ef_read_u32(r), n_shares = ef_read_u32(r);
    bool memory = true;
    if (r->failed || n == 0 || n >= EF_NO_NODE - n_shares || !ef_decoder_has(r, n, NODE_BYTES))
        return ef_fail_published(error, "the number of nodes");
    if (!ef_dtree_reserve(tree, n))
        return ef_fail_memory(error);
    bool ok = true;
    for (uint32_t i = 0; i < n; i++)
        (void)ef_dtree_new(tree);
    for (uint32_t i = 0; ok && i < n; i++) {
        const uint32_t head = ef_read_u32(r);
        ef_dnode *const node = &tree->nodes[i];
        ok = (head & 3) == EF_THRESHOLD || (head & 3) == EF_CATEGORIES
                 ? read_split(r, f, node, head, i, n)
                 : read_leaf(r, f, node, head, n_shares);
    }
    /* Only a tree that is one leaf may have no rows. */
    for (uint32_t i = 0; ok && n > 1 && i < n; i++)
        ok = ef_is_split(&tree->nodes[i]) || (tree->of_classes ? tree->nodes[i].vote.n_classes != 0
                                                               : tree->nodes[i].mean.weight != 0);
    /* What was not read is no split, and has no votes. */
    ok = ok && is_preorder(tree, n, &memory) && ef_decoder_has(r, n_shares, 8) &&
         read_shares(r, f, tree, n, n_shares, &memory);
    return ok ? EFFACE_OK : !memory ? ef_fail_memory(error) : ef_fail_published(error, "a tree");
}

static efface_status read_columns(ef_decoder *r, ef_forest *f, efface_error *error) {
    const uint32_t d = f->n_columns, n = ef_read_u32(r);
    f->columns = ef_alloc(d, sizeof *f->columns);
    f->are_categories = ef_alloc_zero(d, sizeof *f->are_categories);
    if (f->columns == NULL || f->are_categories == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < d; j++)
        if (j != f->target)
            f->columns[f->n_inputs++] = j;
    if (f->n_inputs == 0 || n > d || !ef_decoder_has(r, n, sizeof(uint32_t)))
        return ef_fail_published(error, "its columns");
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t column = ef_read_u32(r);
        if (column >= d || column == f->target)
            return ef_fail_published(error, "a column of categories");
        f->are_categories[column - (column > f->target)] = true;
    }
    return EFFACE_OK;
}

static efface_status read_classes(ef_decoder *r, ef_forest *f, efface_error *error) {
    const uint32_t n = ef_read_u32(r);
    if (r->failed || n >= 1 << 24 || !ef_decoder_has(r, n, sizeof(int64_t)) ||
        (n != 0 && !ef_forest_of_classes(f)))
        return ef_fail_published(error, "the number of classes");
    for (uint32_t c = 0; c < n; c++) {
        const int64_t label = (int64_t)ef_read_u64(r);
        uint32_t id;
        bool grown;
        if (c != 0 && label <= f->classes.labels[f->classes.ids[c - 1]])
            return ef_fail_published(error, "its classes");
        if (!ef_classes_add(&f->classes, label, &id, &grown))
            return ef_fail_memory(error);
        f->classes.n_rows[id] = 1;
    }
    return EFFACE_OK;
}

efface_status ef_forest_read_predictor(ef_decoder *r, uint32_t d, ef_forest **out,
                                       efface_error *error) {
    ef_forest *const f = ef_alloc_zero(1, sizeof *f);
    if (f == NULL)
        return ef_fail_memory(error);
    const uint32_t n_trees = ef_read_u32(r);
    f->n_columns = d;
    f->target = ef_read_u32(r);
    f->exponent = (int32_t)ef_read_u32(r);
    const uint32_t missing = ef_read_u32(r);
    f->takes_missing = missing != 0;
    efface_status status = EFFACE_OK;
    if (r->failed || n_trees == 0 || n_trees > EFFACE_MAX_TREES || missing > 1 ||
        (f->target != EFFACE_NO_COLUMN && f->target >= d) || f->exponent < EF_EXPONENT_MIN ||
        f->exponent > EF_EXPONENT_MAX || !ef_decoder_has(r, n_trees, 2 * sizeof(uint32_t)))
        status = ef_fail_published(error, "its head");
    EF_THEN(status, read_columns(r, f, error));
    EF_THEN(status, read_classes(r, f, error));
    if (status == EFFACE_OK) {
        f->trees = ef_alloc_zero(n_trees, sizeof *f->trees);
        if (f->trees == NULL)
            status = ef_fail_memory(error);
    }
    for (; status == EFFACE_OK && f->n_trees < n_trees; f->n_trees++) {
        ef_dtree_init(&f->trees[f->n_trees], ef_forest_of_classes(f));
        status = read_tree(r, f, &f->trees[f->n_trees], error);
        if (status != EFFACE_OK)
            ef_dtree_free(&f->trees[f->n_trees]);
    }
    if (status == EFFACE_OK)
        *out = f;
    else
        ef_forest_free(f);
    return status;
}
