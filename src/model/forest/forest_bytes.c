/* The canonical bytes of a forest (docs/definition/format.md), and where two forests differ. */
#include "model/forest/forest_bytes.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "EFFACEFO"
#define FORMAT 3
#define LEAST_FORMAT 2 /* older bytes have other lengths */
#define BRANCHES EF_BRANCHES

/* ---------------------------------------------------------------- writing */

static void write_node(ef_writer *w, const ef_forest *f, const ef_dtree *tree, uint32_t i) {
    const ef_dnode *const node = &tree->nodes[i];
    if (ef_is_split(node)) {
        ef_write_short(w, (uint64_t)f->columns[node->input] << 3 | (node->missing_left ? 4U : 0U) |
                              node->kind);
        ef_write_u32(w, node->kind == EF_CATEGORIES ? (uint32_t)node->cut : ef_key_bits(node->cut));
    } else if (!tree->of_classes) {
        ef_write_short(w, (uint64_t)node->mean.weight << 2);
        ef_write_signed(w, node->mean.sum);
    } else {
        ef_write_short(w, (uint64_t)node->vote.n_classes << 2);
        for (uint32_t vote = node->vote.n_classes > 1 ? node->vote.class_id : i, k = 0;
             k < node->vote.n_classes; k++) {
            ef_write_short(w, f->classes.ranks[tree->nodes[vote].vote.class_id]);
            ef_write_short(w, (uint64_t)tree->nodes[vote].vote.weight);
            vote = tree->nodes[vote].first;
        }
    }
}

/* What is still in bytes is copied; of a branch that was not read there are none. */
static void write_branch(ef_writer *w, const ef_forest *f, const ef_dtree *tree, uint32_t node,
                         const unsigned char *bytes) {
    ef_walk walk = ef_walk_from(tree, node, 0);
    while (ef_walk_next(&walk)) {
        const ef_dnode *const at = &tree->nodes[walk.node];
        if (at->kind == EF_UNREAD)
            ef_write_bytes(w, bytes + at->unread.begin, at->unread.n_bytes);
        else
            write_node(w, f, tree, walk.node);
    }
    w->failed |= walk.failed;
    ef_walk_end(&walk);
}

/* The top of a tree, and then its branches. There is a cut for each branch that there could be: so
 * a branch that changes moves none of the others, and each has a digest of its own. */
static void write_tree(ef_writer *w, const ef_forest *f, const ef_dtree *tree) {
    uint32_t branches[BRANCHES], places[EF_BRANCH_DEPTH + 1] = {0};
    for (uint32_t b = 0; b < BRANCHES; b++)
        branches[b] = EF_NO_NODE;
    ef_walk walk = ef_walk_from(tree, 0, 0);
    uint32_t before = 0;
    while (ef_walk_next(&walk)) {
        /* A node that is no deeper than the one before it is on the right of its parent. */
        const uint32_t depth = walk.depth;
        if (depth != 0)
            places[depth] = depth > before ? 2 * places[depth - 1] : 2 * places[depth - 1] + 1;
        before = depth;
        if (depth < EF_BRANCH_DEPTH) {
            write_node(w, f, tree, walk.node);
        } else {
            branches[places[depth]] = walk.node;
            walk.skips = true;
        }
    }
    w->failed |= walk.failed;
    ef_walk_end(&walk);
    const size_t first = ef_forest_section((uint32_t)(tree - f->trees)) + 1;
    for (uint32_t b = 0; b < BRANCHES; b++) {
        ef_write_cut(w);
        if (branches[b] == EF_NO_NODE)
            continue;
        const unsigned char *const bytes = f->branches != NULL ? f->branches[first + b] : NULL;
        if (tree->nodes[branches[b]].kind == EF_UNREAD && bytes == NULL)
            ef_write_kept(w);
        else
            write_branch(w, f, tree, branches[b], bytes);
    }
}

void ef_forest_write(ef_writer *w, const void *state) {
    const ef_forest *const f = state;
    if (!ef_forest_settle_all(f)) {
        w->failed = true;
        return;
    }
    ef_write_bytes(w, MAGIC, sizeof MAGIC - 1);
    ef_write_u32(w, FORMAT);
    ef_write_u32(w, f->n_columns);
    ef_write_u32(w, f->n_trees);
    ef_write_u32(w, ef_forest_of_classes(f) ? 0 : 1);
    ef_write_u64(w, f->totals.n_rows);
    ef_write_u64(w, (uint64_t)f->totals.total_weight);
    ef_write_u64(w, f->n_taking_part);
    ef_write_u32(w, (uint32_t)f->exponent);
    ef_write_u64(w, f->classes.n);
    for (uint32_t c = 0; c < f->classes.n; c++)
        ef_write_u64(w, (uint64_t)f->classes.labels[f->classes.ids[c]]);
    for (uint32_t t = 0; t < f->n_trees; t++) {
        ef_write_cut(w);
        write_tree(w, f, &f->trees[t]);
    }
}

/* ---------------------------------------------------------------- reading */

/* The input with a column; EF_NO_NODE if the column is none. */
static uint32_t input_of(const ef_forest *f, uint32_t column) {
    return column >= f->n_columns || column == f->target ? EF_NO_NODE
                                                         : column - (column > f->target);
}

static bool read_split(ef_decoder *r, const ef_forest *f, uint64_t head, ef_dnode *node) {
    const uint32_t bits = ef_read_u32(r);
    const uint32_t input =
        head >> 3 < f->n_columns ? input_of(f, (uint32_t)(head >> 3)) : EF_NO_NODE;
    float cut;
    memcpy(&cut, &bits, sizeof cut);
    node->kind = (uint8_t)(head & 3);
    node->missing_left = (head & 4) != 0;
    node->input = (uint16_t)input;
    if (input == EF_NO_NODE || (node->missing_left && !f->takes_missing) ||
        f->are_categories[input] != (node->kind == EF_CATEGORIES) ||
        (node->missing_left && node->kind == EF_CATEGORIES))
        return false;
    if (node->kind == EF_CATEGORIES) {
        node->cut = (int32_t)bits;
        return true;
    }
    node->cut = ef_key_of(cut);
    /* A number has one way to be written. */
    return node->cut != EF_KEY_MISSING && ef_key_bits(node->cut) == bits &&
           node->cut <= EF_KEY_INFINITE && node->cut >= -EF_KEY_INFINITE;
}

/* Reads the votes of a leaf; `memory` is false if out of memory. */
static bool read_votes(ef_decoder *r, const ef_forest *f, ef_dtree *tree, uint32_t i, uint64_t n,
                       bool *memory) {
    uint32_t last = EF_NO_NODE;
    int64_t weight = 0;
    if (n > f->n_read_classes || !ef_decoder_has(r, (size_t)n, 2))
        return false;
    if (n > 1 && !ef_dtree_reserve(tree, (uint32_t)n)) {
        *memory = false;
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t rank = ef_read_short(r);
        const int64_t of_class = (int64_t)ef_read_short(r);
        const uint32_t class_id = (uint32_t)rank;
        if (rank >= f->n_read_classes || of_class <= 0 || of_class > EFFACE_MAX_WEIGHT * 32 ||
            weight > EFFACE_MAX_WEIGHT * 32)
            return false;
        weight += of_class;
        uint32_t vote = i;
        if (n > 1) {
            vote = ef_dtree_new(tree);
            tree->nodes[vote].kind = EF_VOTE;
            tree->nodes[vote].first = EF_NO_NODE;
            if (last == EF_NO_NODE)
                tree->nodes[i].vote.class_id = vote;
            else
                tree->nodes[last].first = vote;
            if (last != EF_NO_NODE && tree->nodes[last].vote.class_id >= class_id)
                return false;
            tree->nodes[i].vote.n_classes = k + 1;
        }
        tree->nodes[vote].vote.class_id = class_id;
        tree->nodes[vote].vote.weight = of_class;
        last = vote;
    }
    tree->nodes[i].vote.weight = weight;
    tree->nodes[i].vote.n_classes = (uint32_t)n;
    return true;
}

bool ef_forest_read_node(ef_decoder *r, const ef_forest *f, ef_dtree *tree, uint32_t i,
                         bool *memory) {
    const uint64_t head = ef_read_short(r);
    if (r->failed)
        return false;
    if ((head & 3) == EF_THRESHOLD || (head & 3) == EF_CATEGORIES)
        return read_split(r, f, head, &tree->nodes[i]) && !r->failed;
    if ((head & 3) != EF_LEAF)
        return false;
    if (tree->of_classes)
        return read_votes(r, f, tree, i, head >> 2, memory) && !r->failed;
    ef_dnode *const node = &tree->nodes[i];
    node->mean.weight = (int64_t)(head >> 2);
    node->mean.sum = ef_read_signed(r);
    return !r->failed && node->mean.weight <= EFFACE_MAX_WEIGHT * 32 &&
           (node->mean.weight != 0 || i == 0);
}

bool ef_forest_read_nodes(ef_decoder *r, const ef_forest *f, ef_dtree *tree, uint32_t root,
                          uint32_t most, ef_waiting *deeper, bool *memory) {
    ef_waiting waiting = {0};
    bool ok = *memory = ef_wait(&waiting, root, 0);
    while (ok && waiting.n != 0) {
        const uint32_t i = waiting.at[--waiting.n].node, depth = waiting.at[waiting.n].depth;
        if (depth > most) {
            ok = *memory = ef_wait(deeper, i, depth);
            continue;
        }
        ok = ef_forest_read_node(r, f, tree, i, memory);
        if (!ok || !ef_is_split(&tree->nodes[i]))
            continue;
        *memory = ef_dtree_reserve(tree, 2) && ef_wait(&waiting, 0, 0) && ef_wait(&waiting, 0, 0);
        ok = *memory;
        if (!ok) {
            tree->nodes[i].kind = EF_LEAF;
            tree->nodes[i].vote.n_classes = 0;
            break;
        }
        const uint32_t left = ef_dtree_new(tree), right = ef_dtree_new(tree);
        tree->nodes[i].split.left = left;
        tree->nodes[i].split.right = right;
        tree->nodes[i].split.tally = NULL;
        waiting.at[waiting.n - 2].node = right;
        waiting.at[waiting.n - 2].depth = depth + 1;
        waiting.at[waiting.n - 1].node = left;
        waiting.at[waiting.n - 1].depth = depth + 1;
    }
    ef_free(waiting.at);
    return ok;
}

#define MAX_MULTIPLICITY 20 /* of a row in a tree (docs/definition/forest.md) */

bool ef_forest_leaves_possible(const ef_forest *f, const ef_dtree *tree) {
    int64_t left = f->totals.total_weight * (f->rules.bootstraps ? MAX_MULTIPLICITY : 1);
    for (uint32_t i = 0; i < tree->n_used; i++) {
        const ef_dnode *const node = &tree->nodes[i];
        if (node->kind != EF_LEAF)
            continue;
        const int64_t weight = tree->of_classes ? node->vote.weight : node->mean.weight;
        if (weight > left || (weight == 0 && i != 0))
            return false;
        left -= weight;
        const ef_i128 most = (ef_i128)weight * EF_GRID_MAX;
        if (!tree->of_classes && (node->mean.sum > most || node->mean.sum < -most))
            return false;
    }
    return true;
}

static efface_status read_tree(ef_decoder *r, const ef_forest *f, ef_dtree *tree,
                               efface_error *error) {
    ef_waiting branches = {0}, none = {0};
    bool memory = ef_dtree_new(tree) != EF_NO_NODE;
    bool ok =
        memory && ef_forest_read_nodes(r, f, tree, 0, EF_BRANCH_DEPTH - 1, &branches, &memory);
    for (size_t b = 0; ok && b < branches.n; b++)
        ok = ef_forest_read_nodes(r, f, tree, branches.at[b].node, UINT32_MAX, &none, &memory);
    ef_free(branches.at);
    ef_free(none.at);
    ok = ok && ef_forest_leaves_possible(f, tree);
    return ok ? EFFACE_OK : !memory ? ef_fail_memory(error) : ef_fail_state(error, "a tree");
}

static efface_status read_classes(ef_decoder *r, ef_forest *f, efface_error *error) {
    const uint64_t n = ef_read_u64(r);
    if (r->failed || n >= 1 << 24 || !ef_decoder_has(r, (size_t)n, sizeof(int64_t)) ||
        (n != 0) != (ef_forest_of_classes(f) && f->n_taking_part != 0) || n > f->n_taking_part)
        return ef_fail_state(error, "the number of classes");
    for (uint64_t c = 0; c < n; c++) {
        const int64_t label = (int64_t)ef_read_u64(r);
        uint32_t id;
        bool grown;
        if (label == EFFACE_NO_LABEL ||
            (c != 0 && label <= f->classes.labels[f->classes.ids[c - 1]]))
            return ef_fail_state(error, "its classes");
        if (!ef_classes_add(&f->classes, label, &id, &grown))
            return ef_fail_memory(error);
        f->classes.n_rows[id] = 1; /* the rows are counted when it gets them */
    }
    f->n_read_classes = (uint32_t)n;
    f->rules.n_classes = f->classes.n_ids;
    f->rules.ranks = f->classes.ranks;
    return EFFACE_OK;
}

efface_status ef_forest_read_head(ef_decoder *r, const efface_params *params, uint32_t d,
                                  ef_forest **out, efface_error *error) {
    char magic[sizeof MAGIC - 1];
    ef_read_bytes(r, magic, sizeof magic);
    const uint32_t format = ef_read_u32(r), n_columns = ef_read_u32(r), n_trees = ef_read_u32(r),
                   kind = ef_read_u32(r);
    if (r->failed || memcmp(magic, MAGIC, sizeof magic) != 0 || format != FORMAT)
        return ef_fail(error, EFFACE_E_FORMAT, "these bytes are not the state of a model");
    ef_forest *f = NULL;
    efface_status status =
        ef_forest_make((const efface_forest_params *)(const void *)params, d, &f, error);
    if (status != EFFACE_OK)
        return status;
    f->totals.n_rows = ef_read_u64(r);
    f->totals.total_weight = (int64_t)ef_read_u64(r);
    f->n_taking_part = ef_read_u64(r);
    f->exponent = (int32_t)ef_read_u32(r);
    if (r->failed || n_columns != d || n_trees != f->n_trees ||
        (kind == 0) != ef_forest_of_classes(f) || kind > 1 || f->n_taking_part > f->totals.n_rows ||
        f->totals.total_weight < 0 || f->totals.total_weight >= EFFACE_MAX_WEIGHT ||
        (kind == 0 ? f->exponent != 0
                   : f->exponent < EF_EXPONENT_MIN || f->exponent > EF_EXPONENT_MAX))
        status = ef_fail_state(error, "its head");
    EF_THEN(status, ef_forest_check_weight(f, f->totals.total_weight, error));
    EF_THEN(status, read_classes(r, f, error));
    if (status == EFFACE_OK)
        *out = f;
    else
        ef_forest_free(f);
    return status;
}

efface_status ef_forest_read(ef_decoder *r, const efface_params *params, uint32_t d, void **state,
                             efface_error *error) {
    ef_forest *f = NULL;
    efface_status status = ef_forest_read_head(r, params, d, &f, error);
    for (uint32_t t = 0; status == EFFACE_OK && t < f->n_trees; t++)
        status = read_tree(r, f, &f->trees[t], error);
    if (status == EFFACE_OK)
        *state = f;
    else
        ef_forest_free(f);
    return status;
}

/* Format 2 has the same nodes, but they were chosen without a margin. */
bool ef_forest_is_outdated(const unsigned char *bytes, size_t n_bytes) {
    ef_decoder r = {.bytes = bytes, .n_bytes = n_bytes};
    char magic[sizeof MAGIC - 1];
    ef_read_bytes(&r, magic, sizeof magic);
    const uint32_t format = ef_read_u32(&r);
    return !r.failed && memcmp(magic, MAGIC, sizeof magic) == 0 && format >= LEAST_FORMAT &&
           format < FORMAT;
}

/* ---------------------------------------------------------------- sections */

/* Goes over a node; whether it is a split. */
static bool skip_node(ef_decoder *r, bool of_classes) {
    const uint64_t head = ef_read_short(r);
    r->failed |= (head & 3) == 3;
    if ((head & 3) != EF_LEAF)
        (void)ef_read_u32(r);
    else if (!of_classes)
        (void)ef_read_short(r);
    for (uint64_t k = head >> 2; (head & 3) == EF_LEAF && of_classes && k != 0 && !r->failed; k--) {
        (void)ef_read_short(r);
        (void)ef_read_short(r);
    }
    return (head & 3) != EF_LEAF;
}

/* Goes over the top of a tree; a bit for each branch that there is. */
static uint64_t skip_top(ef_decoder *r, bool of_classes) {
    struct {
        uint32_t depth, place;
    } waiting[EF_BRANCH_DEPTH + 1] = {{0, 0}};
    uint64_t branches = 0;
    for (size_t n = 1; n != 0 && !r->failed;) {
        const uint32_t depth = waiting[--n].depth, place = waiting[n].place;
        if (depth == EF_BRANCH_DEPTH) {
            branches |= (uint64_t)1 << place;
        } else if (skip_node(r, of_classes)) {
            for (uint32_t right = 2; right-- != 0; n++) {
                waiting[n].depth = depth + 1;
                waiting[n].place = 2 * place + right;
            }
        }
    }
    return branches;
}

static void skip_branch(ef_decoder *r, bool of_classes) {
    const size_t n = ef_forest_subtree_bytes(r->bytes, r->n_bytes, of_classes);
    r->failed |= n == SIZE_MAX;
    if (r->failed)
        return;
    r->bytes += n;
    r->n_bytes -= n;
}

efface_status ef_forest_cut(const unsigned char *bytes, size_t n_bytes, ef_cuts *cuts,
                            efface_error *error) {
    ef_decoder r = {.bytes = bytes, .n_bytes = n_bytes};
    unsigned char head[sizeof MAGIC - 1 + 8], counts[28];
    bool fits = true;
    ef_read_bytes(&r, head, sizeof head);
    const uint32_t n_trees = ef_read_u32(&r);
    const bool of_classes = ef_read_u32(&r) == 0;
    ef_read_bytes(&r, counts, sizeof counts);
    for (uint64_t n = ef_read_u64(&r); n != 0 && !r.failed; n--)
        (void)ef_read_u64(&r);
    for (uint32_t t = 0; fits && t < n_trees && !r.failed; t++) {
        fits = ef_cuts_add(cuts, n_bytes - r.n_bytes);
        const uint64_t branches = skip_top(&r, of_classes);
        for (unsigned b = 0; fits && b < BRANCHES; b++) {
            fits = ef_cuts_add(cuts, n_bytes - r.n_bytes);
            if ((branches >> b & 1) != 0)
                skip_branch(&r, of_classes);
        }
    }
    return !fits                        ? ef_fail_memory(error)
           : r.failed || r.n_bytes != 0 ? ef_fail_state(error, "where its trees begin")
                                        : EFFACE_OK;
}

/* ---------------------------------------------------------------- differences */

static bool same_node(const ef_forest *fa, const ef_dtree *ta, uint32_t a, const ef_forest *fb,
                      const ef_dtree *tb, uint32_t b) {
    ef_writer wa = {0}, wb = {0};
    write_node(&wa, fa, ta, a);
    write_node(&wb, fb, tb, b);
    const bool same = wa.n_bytes == wb.n_bytes && wa.bytes != NULL && wb.bytes != NULL &&
                      memcmp(wa.bytes, wb.bytes, wa.n_bytes) == 0;
    ef_free(wa.bytes);
    ef_free(wb.bytes);
    return same;
}

/* The number, in preorder, of the first node in which two trees differ. */
static bool find_difference(const ef_forest *fa, const ef_forest *fb, uint32_t t, uint64_t *at) {
    ef_walk a = ef_walk_from(&fa->trees[t], 0, 0), b = ef_walk_from(&fb->trees[t], 0, 0);
    bool same = true;
    for (*at = 0; same; (*at)++) {
        const bool more = ef_walk_next(&a), as_well = ef_walk_next(&b);
        if (!more && !as_well)
            break;
        same = more == as_well && same_node(fa, a.tree, a.node, fb, b.tree, b.node);
        if (!same)
            break;
    }
    ef_walk_end(&a);
    ef_walk_end(&b);
    return !same;
}

void ef_forest_locate(const void *state_a, const void *state_b, efface_difference *difference) {
    const ef_forest *const a = state_a, *const b = state_b;
    difference->what = "the trees";
    if (!ef_forest_settle_all(a) || !ef_forest_settle_all(b))
        return;
    if (a->totals.n_rows != b->totals.n_rows || a->totals.total_weight != b->totals.total_weight ||
        a->n_taking_part != b->n_taking_part)
        difference->what = "the number of rows, or their weight";
    else if (a->exponent != b->exponent)
        difference->what = "the grid of the target";
    else if (a->classes.n != b->classes.n)
        difference->what = "the classes";
    else
        for (uint32_t t = 0; t < a->n_trees && t < b->n_trees; t++) {
            uint64_t at;
            if (!find_difference(a, b, t, &at))
                continue;
            (void)snprintf(difference->where, sizeof difference->where,
                           "tree %" PRIu32 ", node %" PRIu64, t, at);
            return;
        }
}
