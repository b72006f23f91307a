/* The tree: its shape, its nodes' parameters, and what can be asked of it. */
#include "model/kmeans/definition/tree.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/numbers/wide.h"
#include "base/random/tape.h"

uint32_t ef_tree_width(uint64_t n_rows, uint32_t height) {
    /* The smallest r with n^3 < 2^(10 r + 5); n is below 2^40. */
    const ef_u128 cube = (ef_u128)n_rows * n_rows * n_rows;
    uint32_t r = 0;
    while (r < 20 / height && cube >> (10 * r + 5) != 0)
        r++;
    return UINT32_C(1) << r;
}

uint32_t ef_tree_leaves(uint32_t width, uint32_t height) {
    uint64_t n = 1;
    for (uint32_t l = 0; l < height; l++) {
        n *= width;
        if (n > EF_MOST_LEAVES)
            return 0;
    }
    return (uint32_t)n;
}

ef_tree *ef_tree_create(const ef_kmeans_plan *plan, const efface_kmeans_params *params) {
    ef_tree *const tree = ef_alloc_zero(1, sizeof *tree);
    if (tree == NULL)
        return NULL;
    tree->height = params->tree.height;
    tree->width = plan->width;
    tree->weighed = params->tree.weigh_centroids != 0;
    for (uint32_t l = 0; l <= tree->height; l++) {
        const bool given = l > 0 && params->tree.depth_clusters != NULL;
        tree->clusters[l] = given ? params->tree.depth_clusters[l - 1] : params->n_clusters;
        tree->n_nodes[l] = ef_tree_leaves(tree->width, l);
        tree->n_all += tree->n_nodes[l];
    }
    tree->nodes[0] = ef_alloc_zero(tree->n_all, sizeof *tree->nodes[0]);
    if (tree->nodes[0] == NULL) {
        ef_free(tree);
        return NULL;
    }
    for (uint32_t l = 1; l <= tree->height; l++)
        tree->nodes[l] = tree->nodes[l - 1] + tree->n_nodes[l - 1];
    return tree;
}

void ef_tree_free(ef_tree *tree) {
    if (tree == NULL)
        return;
    for (size_t i = 0; i < tree->n_all; i++) {
        efface_data_free(tree->nodes[0][i].data);
        ef_kmeans_free(tree->nodes[0][i].model);
    }
    ef_free(tree->nodes[0]);
    ef_free(tree);
}

const ef_kmeans *ef_tree_root(const ef_tree *tree) {
    return tree->nodes[0][0].model;
}

uint32_t ef_tree_leaf(const ef_tree *tree, uint64_t seed, uint64_t id) {
    return (uint32_t)ef_tape_below(ef_tape(seed, EF_TAPE_LEAF, 0, id, 0),
                                   tree->n_nodes[tree->height]);
}

const ef_kmeans *ef_tree_leaf_model(const ef_tree *tree, uint64_t seed, uint64_t id) {
    return tree->nodes[tree->height][ef_tree_leaf(tree, seed, id)].model;
}

efface_kmeans_params ef_node_params(const ef_kmeans *model, uint32_t depth, size_t number) {
    const ef_tree *const tree = model->tree;
    const ef_domain *const domain = &model->domain;
    const bool leaf = depth == tree->height, ranges = domain->scale == EFFACE_SCALE_MINMAX;
    const bool standard = domain->scale == EFFACE_SCALE_STANDARD;
    efface_kmeans_params p = model->params;
    p.lloyd.keep_margins = 0; /* nodes are small */
    p.method = leaf ? p.tree.leaf_method : p.tree.node_method;
    p.n_clusters = tree->clusters[depth];
    p.tree.depth_clusters = NULL;
    p.common.seed =
        depth != 0 ? ef_tape(model->plan.seed, EF_TAPE_NODE, 0, number, depth) : model->plan.seed;
    /* Leaves have the grid of all rows. Centroids are points of that grid, and stay as they are. */
    p.scale = leaf ? domain->scale : EFFACE_SCALE_NONE;
    p.bound = leaf ? ef_power_of_two(domain->exponent) : (double)EF_GRID_MAX;
    p.column_min = leaf && (ranges || standard) ? domain->low : NULL;
    p.column_max = leaf && ranges ? domain->high : leaf && standard ? domain->step : NULL;
    return p;
}

const bool *ef_node_ignored(const ef_kmeans *model, uint32_t depth) {
    return depth == model->tree->height ? model->ignored : NULL;
}

void ef_tree_write(ef_writer *w, const ef_kmeans *model) {
    const ef_tree *const tree = model->tree;
    ef_cuts *const cuts = w->cuts;
    ef_write_u32(w, model->domain.map.n_columns);
    ef_write_u32(w, tree->height);
    ef_write_u32(w, tree->width);
    ef_write_u32(w, ef_method_number(model->params.tree.leaf_method));
    ef_write_u32(w, ef_method_number(model->params.tree.node_method));
    ef_write_u32(w, tree->weighed ? 1 : 0);
    for (uint32_t l = 0; l <= tree->height; l++)
        ef_write_u32(w, tree->clusters[l]);
    ef_write_u32(w, (uint32_t)model->domain.scale);
    ef_write_u32(w, (uint32_t)model->domain.exponent);
    ef_write_u64(w, model->n_rows);
    ef_write_u64(w, (uint64_t)model->total_weight);
    ef_domain_write(w, &model->domain);
    for (uint32_t l = tree->height + 1; l-- > 0;)
        for (size_t i = 0; i < tree->n_nodes[l]; i++) {
            const ef_kmeans *const node = tree->nodes[l][i].model;
            ef_write_cut(w);
            ef_write_u32(w, node != NULL ? 1 : 0);
            /* No cuts within a node: the number of its levels may change. */
            w->cuts = NULL;
            if (node != NULL)
                ef_kmeans_write(w, node);
            w->cuts = cuts;
        }
}

/* ---------------------------------------------------------------- reading */

static efface_status fail_tree(efface_error *error) {
    return ef_fail(error, EFFACE_E_FORMAT,
                   "the state of the tree is damaged or was made with other parameters");
}

/* What comes before the nodes. */
static efface_status read_head(ef_decoder *r, ef_kmeans *model, uint32_t d, efface_error *error) {
    const efface_kmeans_params *const p = &model->params;
    bool ok = ef_read_u32(r) == p->tree.height;
    model->plan.width = ef_read_u32(r);
    ok &= ef_read_u32(r) == ef_method_number(p->tree.leaf_method);
    ok &= ef_read_u32(r) == ef_method_number(p->tree.node_method);
    ok &= ef_read_u32(r) == (p->tree.weigh_centroids != 0);
    ok &= p->tree.width == 0 || model->plan.width == p->tree.width;
    if (!ok || model->plan.width == 0 || ef_tree_leaves(model->plan.width, p->tree.height) == 0)
        return fail_tree(error);
    model->tree = ef_tree_create(&model->plan, p);
    if (model->tree == NULL)
        return ef_fail_memory(error);
    for (uint32_t l = 0; l <= p->tree.height; l++)
        ok &= ef_read_u32(r) == model->tree->clusters[l];
    ok &= ef_read_u32(r) == (uint32_t)p->scale;
    const int exponent = (int32_t)ef_read_u32(r);
    model->n_rows = ef_read_u64(r);
    model->total_weight = (int64_t)ef_read_u64(r);
    ok &= exponent >= EF_EXPONENT_MIN && exponent <= EF_EXPONENT_MAX;
    ok &= model->total_weight >= 0 && model->total_weight < EFFACE_MAX_WEIGHT;
    ok &= model->n_rows <= (uint64_t)model->total_weight;
    if (r->failed || !ok)
        return fail_tree(error);
    return ef_domain_read(r, &model->domain, d, exponent, ef_params_bounds(p, model->ignored),
                          model->total_weight, error);
}

efface_status ef_tree_read(ef_decoder *r, ef_kmeans *model, uint32_t d, efface_error *error) {
    efface_status status = read_head(r, model, d, error);
    ef_tree *const tree = model->tree;
    if (status == EFFACE_OK && !ef_decoder_has(r, tree->n_all, 4))
        status = fail_tree(error);
    if (status == EFFACE_OK)
        tree->is_cold = true;
    for (uint32_t l = model->params.tree.height + 1; status == EFFACE_OK && l-- > 0;)
        for (size_t i = 0; status == EFFACE_OK && i < tree->n_nodes[l]; i++) {
            ef_node *const node = &tree->nodes[l][i];
            const uint32_t is_there = ef_read_u32(r);
            const efface_kmeans_params params = ef_node_params(model, l, i);
            if (r->failed || is_there > 1)
                status = fail_tree(error);
            else if (is_there != 0)
                status =
                    ef_kmeans_read(r, &params, ef_node_ignored(model, l), d, &node->model, error);
        }
    /* It predicts, with or without its rows. */
    const ef_kmeans *const root = status == EFFACE_OK ? ef_tree_root(tree) : NULL;
    model->plan.n_clusters = root != NULL ? root->plan.n_clusters : 0;
    return status;
}

size_t ef_tree_bytes(const ef_tree *tree) {
    size_t n = sizeof *tree + tree->n_all * sizeof *tree->nodes[0];
    for (size_t i = 0; i < tree->n_all; i++) {
        const ef_node *const node = &tree->nodes[0][i];
        n += node->model != NULL ? ef_kmeans_bytes(node->model) : 0;
        n += node->data != NULL ? ef_data_bytes(node->data) : 0;
    }
    return n;
}
