/*
 * What a change of the set makes of a tree: from the leaves of its rows towards the root.
 *
 * Depth by depth, each node that is reached gets a node_change: what it loses and gains, and what
 * follows from that, worked out beside it (revision.h). Its parent is reached if its centroids come
 * out differently, or, where they are weighed, their weights. Only when every node is done, and
 * nothing can fail any more, do the changes take effect; if one fails, the sets of the nodes change
 * back.
 *
 * The nodes of a depth are independent of each other, so workers share them (tree_nodes.c).
 */
#include "model/kmeans/following/tree_nodes.h"

#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "base/workers/cpu.h"
#include "base/workers/threads.h"

#include <string.h>

/* ---------------------------------------------------------------- rows of leaves */

static size_t n_changed(const ef_tree_change *t) {
    return t->change != NULL ? t->change->n_rows : t->data->n_rows;
}

typedef struct place {
    uint32_t leaf;
    size_t row;
} place;

static int compare_places(const void *a, const void *b) {
    const place *const x = a, *const y = b;
    if (x->leaf != y->leaf)
        return x->leaf < y->leaf ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Sorts places by leaf, rows of a leaf keeping their order: by counting, unless that would take
 * longer than comparing. */
static efface_status sort_places(place *places, size_t n, size_t n_leaves, efface_error *error) {
    if (n < n_leaves / 16) {
        qsort(places, n, sizeof *places, compare_places);
        return EFFACE_OK;
    }
    size_t *const begins = ef_alloc_zero(n_leaves + 1, sizeof *begins);
    place *const sorted = ef_alloc(n, sizeof *sorted);
    const bool fits = begins != NULL && sorted != NULL;
    if (fits) {
        for (size_t i = 0; i < n; i++)
            begins[places[i].leaf + 1]++;
        for (size_t leaf = 0; leaf < n_leaves; leaf++)
            begins[leaf + 1] += begins[leaf];
        for (size_t i = 0; i < n; i++)
            sorted[begins[places[i].leaf]++] = places[i];
        memcpy(places, sorted, n * sizeof *places);
    }
    ef_free(begins);
    ef_free(sorted);
    return fits ? EFFACE_OK : ef_fail_memory(error);
}

/* The nodes that rows of this rank reach; `places` are in order. */
static ef_node_change *reach_by_places(const place *places, size_t n, size_t *n_nodes) {
    size_t n_leaves = 0;
    for (size_t i = 0; i < n; i++)
        n_leaves += i == 0 || places[i].leaf != places[i - 1].leaf;
    ef_node_change *const nodes = ef_alloc_zero(n_leaves, sizeof *nodes);
    for (size_t i = 0, c = 0; nodes != NULL && i < n; i++) {
        c += i != 0 && places[i].leaf != places[i - 1].leaf;
        if (nodes[c].end == 0)
            nodes[c].first = i;
        nodes[c].number = places[i].leaf;
        nodes[c].end = i + 1;
    }
    *n_nodes = n_leaves;
    return nodes;
}

/* All rows come, and those of each rank are its own: adds leaves that only other ranks reach. */
static efface_status reach_by_all(const ef_tree_change *t, ef_node_change **nodes, size_t *n_nodes,
                                  efface_error *error) {
    const size_t n_leaves = t->tree->n_nodes[t->tree->height];
    int64_t *const n_rows = ef_alloc_zero(n_leaves, sizeof *n_rows);
    efface_status status = n_rows != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < *n_nodes; i++)
        n_rows[(*nodes)[i].number] = (int64_t)((*nodes)[i].end - (*nodes)[i].first);
    EF_THEN(status, ef_team_sum(ef_data_team(t->data), n_rows, n_leaves, error));
    size_t n = 0, own = 0;
    for (size_t leaf = 0; status == EFFACE_OK && leaf < n_leaves; leaf++)
        n += n_rows[leaf] != 0;
    ef_node_change *const all = status == EFFACE_OK ? ef_alloc_zero(n, sizeof *all) : NULL;
    if (status == EFFACE_OK && all == NULL)
        status = ef_fail_memory(error);
    n = 0;
    for (size_t leaf = 0; status == EFFACE_OK && leaf < n_leaves; leaf++) {
        const bool here = own < *n_nodes && (*nodes)[own].number == leaf;
        if (here)
            all[n++] = (*nodes)[own++];
        else if (n_rows[leaf] != 0)
            all[n++] = (ef_node_change){.number = leaf};
    }
    ef_free(n_rows);
    if (status != EFFACE_OK)
        return status;
    ef_free(*nodes);
    *nodes = all;
    *n_nodes = n;
    return EFFACE_OK;
}

/* Finds the leaves that are reached. */
static efface_status reach_leaves(ef_tree_change *t, efface_error *error) {
    const ef_tree *const tree = t->tree;
    const size_t n = n_changed(t);
    place *const places = ef_alloc(n, sizeof *places);
    t->order = ef_alloc(n, sizeof *t->order);
    efface_status status = places != NULL && t->order != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++)
        places[i] = (place){ef_tree_leaf(tree, t->model->plan.seed, ef_changed_id(t, i)), i};
    EF_THEN(status, sort_places(places, n, tree->n_nodes[tree->height], error));
    size_t n_nodes = 0;
    for (size_t i = 0; status == EFFACE_OK && i < n; i++)
        t->order[i] = places[i].row;
    ef_node_change *nodes = status == EFFACE_OK ? reach_by_places(places, n, &n_nodes) : NULL;
    if (status == EFFACE_OK && nodes == NULL)
        status = ef_fail_memory(error);
    if (status == EFFACE_OK && t->change == NULL && ef_data_team(t->data) != NULL)
        status = reach_by_all(t, &nodes, &n_nodes, error);
    t->reached[tree->height] = nodes;
    t->n_reached[tree->height] = status == EFFACE_OK ? n_nodes : 0;
    ef_free(places);
    return status;
}

/* Finds the parents of nodes whose centroids change. */
static efface_status reach_parents(ef_tree_change *t, efface_error *error) {
    const uint32_t l = t->depth;
    const ef_node_change *const children = t->reached[l + 1];
    const size_t n = t->n_reached[l + 1], w = t->tree->width;
    ef_node_change *const nodes = ef_alloc_zero(n, sizeof *nodes);
    if (nodes == NULL)
        return ef_fail_memory(error);
    size_t n_parents = 0;
    for (size_t i = 0; i < n; i++) {
        if (!children[i].moves)
            continue;
        const size_t number = children[i].number / w;
        if (n_parents == 0 || nodes[n_parents - 1].number != number)
            nodes[n_parents++] = (ef_node_change){.number = number, .first = i};
        nodes[n_parents - 1].end = i + 1;
    }
    t->reached[l] = nodes;
    t->n_reached[l] = n_parents;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- all nodes */

/* Works out what changes in the nodes of one depth. */
static efface_status work_out_depth(ef_tree_change *t, efface_error *error) {
    const size_t n = t->n_reached[t->depth];
    const unsigned asked = t->model->plan.n_threads, wanted = asked != 0 ? asked : ef_cpu_count();
    /* One node gets all threads for itself, many nodes a thread each; but a group has to work on
     * the nodes in the same order on all ranks. */
    t->pool = wanted > 1 && n >= wanted && !ef_nodes_have_parts(t) ? ef_pool_create(wanted) : NULL;
    t->n_threads = t->pool != NULL ? 1 : asked;
    const unsigned n_workers = t->pool != NULL ? ef_pool_size(t->pool) : 1;
    t->workers = ef_alloc_zero(n_workers, sizeof *t->workers);
    efface_status status = t->workers != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (unsigned i = 0; t->workers != NULL && i < n_workers; i++)
        t->workers[i] = (ef_node_worker){.whole = t, .made_call = i == 0};
    if (t->workers != NULL && t->pool != NULL)
        ef_pool_run(t->pool, n, 1, ef_nodes_work_out, t);
    else if (t->workers != NULL)
        ef_nodes_work_out(t, 0, 0, n);
    /* Who was told to stop because another failed says "interrupted": the other knows more. */
    for (unsigned i = 0; t->workers != NULL && i < n_workers; i++)
        if (t->workers[i].status != EFFACE_OK &&
            (status == EFFACE_OK || status == EFFACE_E_INTERRUPTED)) {
            status = t->workers[i].status;
            if (error != NULL)
                *error = t->workers[i].error;
        }
    ef_pool_free(t->pool);
    ef_free(t->workers);
    return status;
}

static efface_status work_out(ef_tree_change *t, efface_error *error) {
    efface_status status = reach_leaves(t, error);
    t->depth = t->tree->height;
    while (status == EFFACE_OK && t->n_reached[t->depth] != 0) {
        status = work_out_depth(t, error);
        if (status != EFFACE_OK || t->depth == 0)
            break;
        t->depth--;
        status = reach_parents(t, error);
    }
    return status;
}

/* Lets one change take effect, or undoes what it did to the node's set; and releases it. */
static void end_node(const ef_tree_change *t, uint32_t depth, ef_node_change *c, bool commit) {
    ef_node *const node = &t->tree->nodes[depth][c->number];
    if (commit && c->ongoing != NULL) {
        ef_revision_commit(&c->ongoing->revision, node->model);
        ef_joint_keep(&c->ongoing->change, node->data);
    }
    if (!commit && c->ongoing != NULL)
        ef_joint_undo(&c->ongoing->change, node->data);
    if (commit && (c->vanishes || c->fresh.model != NULL)) {
        const ef_node old = *node;
        *node = c->fresh;
        c->fresh = old;
    }
    if (node->model != NULL)
        ef_kmeans_set_work(node->model, t->model->plan.n_threads, t->model->plan.interrupt);
    efface_data_free(c->fresh.data);
    ef_kmeans_free(c->fresh.model);
    if (c->ongoing != NULL) {
        ef_revision_free(&c->ongoing->revision);
        ef_joint_free(&c->ongoing->change);
        ef_free(c->ongoing);
    }
}

/* Afterwards no node is reached any more. */
static void end_all(ef_tree_change *t, bool commit) {
    for (uint32_t l = 0; l <= t->tree->height; l++) {
        for (size_t i = 0; i < t->n_reached[l]; i++)
            end_node(t, l, &t->reached[l][i], commit);
        ef_free(t->reached[l]);
        t->reached[l] = NULL;
        t->n_reached[l] = 0;
    }
    ef_free(t->order);
    t->order = NULL;
}

efface_status ef_tree_change_make(ef_tree_change **out, ef_kmeans *model, const efface_data *data,
                                  const ef_change *change, efface_error *error) {
    ef_tree_change *const t = ef_alloc(1, sizeof *t);
    if (t == NULL)
        return ef_fail_memory(error);
    *t = (ef_tree_change){.model = model, .tree = model->tree, .data = data, .change = change};
    const efface_status status = work_out(t, error);
    if (status == EFFACE_OK)
        *out = t;
    else
        ef_tree_change_free(t);
    return status;
}

void ef_tree_change_free(ef_tree_change *t) {
    if (t != NULL)
        end_all(t, false);
    ef_free(t);
}

void ef_tree_change_commit(ef_tree_change *t) {
    ef_kmeans *const model = t->model;
    end_all(t, true);
    model->n_rows = ef_data_whole(t->data)->n_rows;
    model->total_weight = ef_data_whole(t->data)->total_weight;
    const ef_kmeans *const root = ef_tree_root(t->tree);
    model->plan.n_clusters = root != NULL ? root->plan.n_clusters : 0;
}

/* As ef_revision_dividers. */
const int32_t *ef_tree_change_dividers(const ef_tree_change *t, uint32_t *n_clusters) {
    const ef_node_result root = t->n_reached[0] != 0
                                    ? ef_node_result_after(&t->reached[0][0])
                                    : (ef_node_result){.model = ef_tree_root(t->tree)};
    *n_clusters = 0;
    return root.revision != NULL ? ef_revision_dividers(root.revision, n_clusters)
           : root.model != NULL  ? ef_kmeans_dividers(root.model, n_clusters)
                                 : NULL;
}

/* What the changes came to, all together. */
void ef_tree_change_report(const ef_tree_change *t, ef_effort *report) {
    report->of_tree = true;
    report->depth = t->tree->height;
    for (uint32_t l = t->tree->height + 1; l-- > 0;)
        for (size_t i = 0; i < t->n_reached[l]; i++) {
            const ef_effort *const node = &t->reached[l][i].report;
            /* Ranks share the rows of leaves; all have the centroids of the others, and do the same
             * with them. */
            if (l == t->tree->height || ef_data_leads(t->data))
                report->rows_visited += node->rows_visited;
            report->levels_replayed += node->levels_replayed;
            if (node->action != EFFACE_ACTION_ADJUSTED)
                report->action = EFFACE_ACTION_REPAIRED;
            if (report->reason == EF_REASON_NONE)
                report->reason = node->reason;
            report->depth = l;
        }
}

/* ---------------------------------------------------------------- all rows come */

efface_status ef_tree_fit(ef_kmeans *model, const efface_data *data, efface_error *error) {
    ef_tree_change *t = NULL;
    const efface_status status = ef_tree_change_make(&t, model, data, NULL, error);
    if (status == EFFACE_OK) {
        ef_effort report = {.action = EFFACE_ACTION_ADJUSTED};
        ef_tree_change_report(t, &report);
        model->work.rows_assigned = report.rows_visited;
        ef_tree_change_commit(t);
    }
    ef_tree_change_free(t);
    return status;
}

efface_status ef_tree_attach(ef_kmeans *model, const efface_data *data, efface_error *error) {
    const efface_status status = ef_tree_fit(model, data, error);
    ef_tree *const tree = model->tree;
    tree->is_cold = false;
    model->work.rows_assigned = 0;
    for (size_t i = 0; status == EFFACE_OK && i < tree->n_all; i++)
        if (tree->nodes[0][i].model != NULL && tree->nodes[0][i].data == NULL)
            return ef_fail(error, EFFACE_E_FORMAT, "the state of the tree belongs to other rows");
    return status;
}
