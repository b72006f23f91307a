/*
 * What trees say of rows.
 *
 * Rows become keys a block at a time. Each tree then leads some rows of the block down at once:
 * while one waits for a node from memory, the others go on.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/forest/forest.h"

#include <string.h>

#define BLOCK 128 /* rows that stay in a near cache */
#define LANES 16  /* rows that go down a tree at once */

typedef struct block {
    const ef_forest *forest;
    size_t n;
    int32_t *keys;    /* n_inputs for each row */
    uint32_t *leaves; /* of each row, in the tree under way */
} block;

static efface_status begin_answers(block *b, const ef_forest *f, efface_error *error) {
    *b = (block){.forest = f};
    if (!ef_forest_settle_all(f))
        return ef_fail_memory(error);
    b->keys = ef_alloc(BLOCK, f->n_inputs * sizeof *b->keys);
    b->leaves = ef_alloc(BLOCK, sizeof *b->leaves);
    return b->keys != NULL && b->leaves != NULL ? EFFACE_OK : ef_fail_memory(error);
}

static void end(block *b) {
    ef_free(b->keys);
    ef_free(b->leaves);
}

static void load(block *b, const float *values, size_t stride, size_t n) {
    const ef_forest *const f = b->forest;
    b->n = n;
    for (size_t r = 0; r < n; r++)
        for (uint32_t i = 0; i < f->n_inputs; i++)
            b->keys[r * f->n_inputs + i] = ef_key_of(values[r * stride + f->columns[i]]);
}

/* Some rows at once, where no value is missing and no column has categories. */
static void lead_plain(const ef_dnode *nodes, const int32_t *keys, size_t stride, size_t n,
                       uint32_t *leaves) {
    uint32_t at[LANES] = {0};
    for (bool going = true; going;) {
        going = false;
        for (size_t r = 0; r < n; r++) {
            const ef_dnode *const node = &nodes[at[r]];
            if (node->kind == EF_LEAF)
                continue;
            const bool left = keys[r * stride + node->input] <= node->cut;
            at[r] = left ? node->split.left : node->split.right;
            going = true;
        }
    }
    memcpy(leaves, at, n * sizeof *leaves);
}

static void lead_any(const ef_dnode *nodes, const int32_t *keys, uint32_t *leaf) {
    uint32_t at = 0;
    while (nodes[at].kind != EF_LEAF)
        at = ef_dnode_left(&nodes[at], keys[nodes[at].input]) ? nodes[at].split.left
                                                              : nodes[at].split.right;
    *leaf = at;
}

/* The leaves of the rows of a block in a tree. */
static void lead(block *b, const ef_dtree *tree, bool plain) {
    const size_t stride = b->forest->n_inputs;
    for (size_t r = 0; plain && r < b->n; r += LANES) {
        const size_t n = b->n - r < LANES ? b->n - r : LANES;
        lead_plain(tree->nodes, b->keys + r * stride, stride, n, b->leaves + r);
    }
    for (size_t r = 0; !plain && r < b->n; r++)
        lead_any(tree->nodes, b->keys + r * stride, &b->leaves[r]);
}

/* Whether rows can be led by thresholds alone. */
static bool is_plain(const ef_forest *f) {
    bool plain = !f->takes_missing;
    for (uint32_t i = 0; i < f->n_inputs; i++)
        plain &= !f->are_categories[i];
    return plain;
}

/* ---------------------------------------------------------------- classes */

/* floor(2^32 part / whole) */
static uint64_t share_answers(int64_t part, int64_t whole) {
    if (part <= 0 || whole <= 0)
        return 0;
    if (part < (int64_t)1 << 31)
        return ((uint64_t)part << 32) / (uint64_t)whole;
    return (uint64_t)(((ef_u128)(uint64_t)part << 32) / (uint64_t)whole);
}

static void add_votes(const ef_forest *f, const ef_dtree *tree, uint32_t leaf, uint64_t *sums) {
    const ef_dnode *const node = &tree->nodes[leaf];
    if (node->vote.n_classes == 1) {
        sums[f->classes.ranks[node->vote.class_id]] += (uint64_t)1 << 32;
        return;
    }
    uint32_t vote = node->vote.class_id;
    for (uint32_t k = 0; k < node->vote.n_classes; k++) {
        const ef_dnode *const of = &tree->nodes[vote];
        sums[f->classes.ranks[of->vote.class_id]] +=
            share_answers(of->vote.weight, node->vote.weight);
        vote = of->first;
    }
}

efface_status ef_forest_vote(const ef_forest *f, size_t n_rows, const float *values, size_t stride,
                             uint64_t *sums, efface_error *error) {
    const uint32_t n_classes = f->classes.n;
    const bool plain = is_plain(f);
    block b;
    const efface_status status = begin_answers(&b, f, error);
    if (status == EFFACE_OK && n_rows != 0)
        memset(sums, 0, n_rows * n_classes * sizeof *sums);
    for (size_t first = 0; status == EFFACE_OK && first < n_rows; first += BLOCK) {
        const size_t rest = n_rows - first;
        load(&b, values + first * stride, stride, rest < BLOCK ? rest : BLOCK);
        for (uint32_t t = 0; t < f->n_trees; t++) {
            lead(&b, &f->trees[t], plain);
            for (size_t r = 0; r < b.n; r++)
                add_votes(f, &f->trees[t], b.leaves[r], sums + (first + r) * n_classes);
        }
    }
    end(&b);
    return status;
}

/* ---------------------------------------------------------------- targets */

/* 2^20 sum / weight, rounded, halves away from zero. */
static int64_t mean_of(const ef_dnode *leaf) {
    const int64_t sum = leaf->mean.sum, weight = leaf->mean.weight;
    if (weight == 1 && sum > -((int64_t)1 << 42) && sum < (int64_t)1 << 42)
        return sum * ((int64_t)1 << 20);
    if (sum > -((int64_t)1 << 42) && sum < (int64_t)1 << 42) {
        const int64_t scaled = sum * ((int64_t)1 << 20), quotient = scaled / weight;
        const int64_t left = scaled % weight, size = left < 0 ? -left : left;
        return size >= weight - size ? quotient + (scaled < 0 ? -1 : 1) : quotient;
    }
    return (int64_t)ef_divide_round((ef_i128)sum * ((ef_i128)1 << 20), weight);
}

efface_status ef_forest_mean(const ef_forest *f, size_t n_rows, const float *values, size_t stride,
                             double *means, efface_error *error) {
    const bool plain = is_plain(f);
    const double unit = ef_power_of_two(f->exponent - EF_GRID_BITS - 20);
    block b;
    const efface_status status = begin_answers(&b, f, error);
    int64_t *const sums = ef_alloc(BLOCK, sizeof *sums);
    if (status != EFFACE_OK || sums == NULL) {
        end(&b);
        ef_free(sums);
        return status != EFFACE_OK ? status : ef_fail_memory(error);
    }
    uint32_t n_trees = 0; /* that have rows; known only now, when all is grown */
    for (uint32_t t = 0; t < f->n_trees; t++)
        n_trees += f->trees[t].nodes[0].kind != EF_LEAF || f->trees[t].nodes[0].mean.weight > 0;
    for (size_t first = 0; first < n_rows; first += BLOCK) {
        const size_t rest = n_rows - first;
        load(&b, values + first * stride, stride, rest < BLOCK ? rest : BLOCK);
        memset(sums, 0, BLOCK * sizeof *sums);
        for (uint32_t t = 0; t < f->n_trees; t++) {
            lead(&b, &f->trees[t], plain);
            for (size_t r = 0; r < b.n; r++) {
                const ef_dnode *const leaf = &f->trees[t].nodes[b.leaves[r]];
                if (leaf->mean.weight > 0)
                    sums[r] = (int64_t)((uint64_t)sums[r] + (uint64_t)mean_of(leaf));
            }
        }
        for (size_t r = 0; r < b.n; r++)
            means[first + r] = (double)sums[r] / (double)n_trees * unit;
    }
    end(&b);
    ef_free(sums);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- leaves */

/* The number of each node in preorder. */
static bool number_nodes(const ef_dtree *tree, uint32_t *numbers) {
    ef_walk walk = ef_walk_from(tree, 0, 0);
    for (uint32_t n = 0; ef_walk_next(&walk); n++)
        numbers[walk.node] = n;
    ef_walk_end(&walk);
    return !walk.failed;
}

efface_status ef_forest_find_leaves(const ef_forest *f, size_t n_rows, const float *values,
                                    size_t stride, uint32_t *leaves, efface_error *error) {
    const bool plain = is_plain(f);
    block b;
    efface_status status = begin_answers(&b, f, error);
    for (uint32_t t = 0; status == EFFACE_OK && t < f->n_trees; t++) {
        const ef_dtree *const tree = &f->trees[t];
        uint32_t *const numbers = ef_alloc(tree->n_used, sizeof *numbers);
        if (numbers == NULL || !number_nodes(tree, numbers))
            status = ef_fail_memory(error);
        for (size_t first = 0; status == EFFACE_OK && first < n_rows; first += BLOCK) {
            const size_t rest = n_rows - first;
            load(&b, values + first * stride, stride, rest < BLOCK ? rest : BLOCK);
            lead(&b, tree, plain);
            for (size_t r = 0; r < b.n; r++)
                leaves[(first + r) * f->n_trees + t] = numbers[b.leaves[r]];
        }
        ef_free(numbers);
    }
    end(&b);
    return status;
}
