/*
 * What the splits of a forest have gained, by input.
 *
 * In reverse preorder the children of a node come before it, the right one first. So what is known
 * of nodes whose parents are still to come stands on a stack.
 */
#include "base/memory/memory.h"
#include "model/forest/forest.h"

#include <string.h>

/* What is known of a node. */
typedef struct sums {
    int64_t *numbers; /* width numbers each: weights by class, or weight and sum */
    size_t n, capacity, width;
} sums;

static bool push_gain(sums *s) {
    if (s->n == s->capacity) {
        const size_t n = 2 * s->capacity + 32;
        size_t bytes;
        if (!ef_mul_size(s->width, sizeof *s->numbers, &bytes))
            return false;
        int64_t *const larger = ef_realloc(s->numbers, n, bytes);
        if (larger == NULL)
            return false;
        s->numbers = larger;
        s->capacity = n;
    }
    memset(s->numbers + s->n * s->width, 0, s->width * sizeof *s->numbers);
    s->n++;
    return true;
}

static void fill_leaf(const ef_forest *f, const ef_dtree *tree, uint32_t i, int64_t *numbers) {
    const ef_dnode *const node = &tree->nodes[i];
    if (!tree->of_classes) {
        numbers[0] = node->mean.weight;
        numbers[1] = node->mean.sum;
        return;
    }
    uint32_t vote = node->vote.n_classes > 1 ? node->vote.class_id : i;
    for (uint32_t k = 0; k < node->vote.n_classes; k++) {
        numbers[f->classes.ranks[tree->nodes[vote].vote.class_id]] = tree->nodes[vote].vote.weight;
        vote = tree->nodes[vote].first;
    }
}

/* What a split gains, from what is on its left and on both sides. */
static double gain_of(const ef_forest *f, const int64_t *left, const int64_t *all, size_t width) {
    if (!f->rules.of_classes)
        return ef_score_targets(left[0], left[1], all[0], all[1]) / (double)all[0];
    int64_t left_weight = 0, weight = 0;
    for (size_t c = 0; c < width; c++) {
        left_weight += left[c];
        weight += all[c];
    }
    const double divided =
        ef_score_classes(f->rules.by_entropy, left, all, (uint32_t)width, left_weight, weight);
    /* The score of no split: everything is on one side. */
    double whole;
    if (f->rules.by_entropy) {
        whole = ef_score_classes(true, all, all, (uint32_t)width, weight, weight);
    } else {
        ef_i128 squares = 0;
        for (size_t c = 0; c < width; c++)
            squares += (ef_i128)all[c] * all[c];
        whole = ef_i128_to_double(squares) / (double)weight;
    }
    return divided - whole;
}

/* The gains of the splits of a tree, in preorder: nodes[i] gained gains[i]. */
static bool find_gains(const ef_forest *f, const ef_dtree *tree, const uint32_t *nodes, size_t n,
                       sums *s, double *gains) {
    s->n = 0;
    for (size_t i = n; i-- > 0;) {
        const ef_dnode *const node = &tree->nodes[nodes[i]];
        gains[i] = 0.0;
        if (!ef_is_split(node)) {
            if (!push_gain(s))
                return false;
            fill_leaf(f, tree, nodes[i], s->numbers + (s->n - 1) * s->width);
            continue;
        }
        const int64_t *const left = s->numbers + (s->n - 1) * s->width;
        int64_t *const all = s->numbers + (s->n - 2) * s->width;
        for (size_t k = 0; k < s->width; k++)
            all[k] += left[k];
        gains[i] = gain_of(f, left, all, s->width);
        s->n--;
    }
    return true;
}

bool ef_forest_gains(const ef_forest *f, uint64_t *importances) {
    sums s = {.width = ef_forest_of_classes(f) ? f->classes.n : 2};
    bool ok = ef_forest_settle_all(f);
    memset(importances, 0, f->n_inputs * sizeof *importances);
    for (uint32_t t = 0; ok && t < f->n_trees; t++) {
        const ef_dtree *const tree = &f->trees[t];
        uint32_t *const nodes = ef_alloc(tree->n_used, sizeof *nodes);
        double *const gains = ef_alloc(tree->n_used, sizeof *gains);
        size_t n = 0;
        ef_walk walk = ef_walk_from(tree, 0, 0);
        ok = nodes != NULL && gains != NULL;
        while (ok && ef_walk_next(&walk))
            nodes[n++] = walk.node;
        ok = ok && !walk.failed && find_gains(f, tree, nodes, n, &s, gains);
        ef_walk_end(&walk);
        double total = 0.0;
        for (size_t i = 0; ok && i < n; i++)
            total += gains[i] > 0.0 ? gains[i] : 0.0;
        for (size_t i = 0; ok && total > 0.0 && i < n; i++)
            if (gains[i] > 0.0)
                importances[tree->nodes[nodes[i]].input] += (uint64_t)(gains[i] / total * 0x1p40);
        ef_free(nodes);
        ef_free(gains);
    }
    ef_free(s.numbers);
    return ok;
}
