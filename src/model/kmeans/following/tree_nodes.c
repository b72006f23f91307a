/*
 * One node of a tree, worked out beside it by one of several workers.
 *
 * A node at work asks its worker whether to go on: the one that made the call asks the user, all
 * others whether any worker has failed.
 */
#include "model/kmeans/following/tree_nodes.h"

#include "base/memory/memory.h"

#include <string.h>

bool ef_nodes_have_parts(const ef_tree_change *t) {
    return t->depth == t->tree->height && ef_data_team(t->data) != NULL;
}

/* Asked by nodes at work. */
static int must_end(void *context) {
    const ef_node_worker *const w = context;
    const ef_tree_change *const t = w->whole;
    if (t->pool != NULL && ef_pool_stopped(t->pool))
        return 1;
    return w->made_call && ef_ask(&t->model->plan.interrupt, NULL) != EFFACE_OK;
}

/* A node whose model comes from a file. */
static efface_status take_read(ef_node_worker *w, ef_node_change *c) {
    const ef_tree_change *const t = w->whole;
    ef_node *const node = &t->tree->nodes[t->depth][c->number];
    if (node->model == NULL)
        return ef_fail(&w->error, EFFACE_E_FORMAT, "the state of the tree belongs to other rows");
    c->fresh.model = node->model;
    node->model = NULL;
    ef_kmeans_set_work(c->fresh.model, t->n_threads, (ef_interrupt){must_end, w, NULL});
    return ef_kmeans_attach(c->fresh.model, c->fresh.data, &w->error);
}

/* What a node is fitted with. */
static efface_kmeans_params params_of_fit(ef_node_worker *w, const ef_node_change *c) {
    const ef_tree_change *const t = w->whole;
    efface_kmeans_params params = ef_node_params(t->model, t->depth, c->number);
    params.common.n_threads = t->n_threads;
    params.common.interrupted = must_end;
    params.common.interrupt_context = w;
    params.common.progress = NULL;
    return params;
}

/* A node that was not there. */
static efface_status make_node(ef_node_worker *w, ef_node_change *c, const efface_rows *rows) {
    const ef_tree_change *const t = w->whole;
    efface_error *const error = &w->error;
    const efface_kmeans_params params = params_of_fit(w, c);
    efface_status status = efface_data_create(t->data->n_columns, &c->fresh.data, error);
    EF_THEN(status, ef_data_reserve(c->fresh.data, rows->n_rows, error));
    EF_THEN(status, efface_data_add(c->fresh.data, rows, error));
    if (status == EFFACE_OK && ef_nodes_have_parts(t))
        status = ef_shard_make(c->fresh.data, t->data, error);
    if (status == EFFACE_OK && t->tree->is_cold)
        return take_read(w, c);
    EF_THEN(status, ef_kmeans_fit(c->fresh.data, &params, ef_node_ignored(t->model, t->depth),
                                  &c->fresh.model, error));
    if (status == EFFACE_OK)
        c->report = (ef_effort){.action = EFFACE_ACTION_REFITTED,
                                .reason = EF_REASON_CLUSTERS,
                                .rows_visited = c->fresh.model->work.rows_assigned,
                                .levels_replayed = ef_count_partitions(c->fresh.model, 0)};
    return status;
}

/* A node that stays. */
static efface_status change_node(ef_node_worker *w, ef_node_change *c, const ef_node *node,
                                 const ef_node_edit *e, const efface_rows *rows) {
    efface_error *const error = &w->error;
    ef_ongoing *const o = ef_alloc_zero(1, sizeof *o);
    if (o == NULL ||
        !ef_change_init(&o->change.own, node->data->n_columns, e->n_leave + e->n_come)) {
        ef_free(o);
        return ef_fail_memory(error);
    }
    c->ongoing = o;
    ef_kmeans_set_work(node->model, w->whole->n_threads, (ef_interrupt){must_end, w, NULL});
    ef_change *const own = &o->change.own;
    efface_status status = ef_change_forget(own, node->data, e->leave, e->n_leave, error);
    EF_THEN(status, ef_change_learn(own, node->data, rows, error));
    EF_THEN(status, ef_joint_share(&o->change, node->data, error));
    EF_THEN(status, ef_revision_make(&o->revision, node->model, node->data,
                                     ef_joint_seen(&o->change, node->data), error));
    if (status == EFFACE_OK)
        ef_revision_report(&o->revision, &c->report);
    return status;
}

static efface_status work_out_node(ef_node_worker *w, ef_node_change *c) {
    const ef_tree_change *const t = w->whole;
    const ef_node *const node = &t->tree->nodes[t->depth][c->number];
    const size_t n_rows = node->data != NULL ? ef_data_whole(node->data)->n_rows : 0;
    const ef_node_edit e = t->depth == t->tree->height ? ef_edit_leaf(t, c) : ef_edit_inner(t, c);
    const efface_rows rows = {
        .n_rows = e.n_come, .values = e.values, .ids = e.ids, .weights = e.weights};
    efface_status status = e.block != NULL ? EFFACE_OK : ef_fail_memory(&w->error);
    if (status == EFFACE_OK && n_rows == 0) {
        status = make_node(w, c, &rows);
    } else if (status == EFFACE_OK && n_rows + e.all_come == e.all_leave) {
        c->vanishes = true;
        c->report.reason = EF_REASON_CLUSTERS;
    } else if (status == EFFACE_OK) {
        status = change_node(w, c, node, &e, &rows);
    }
    ef_free(e.block);
    if (status == EFFACE_OK)
        c->moves = ef_node_centroids_move(t, c);
    return status;
}

void ef_nodes_work_out(void *context, unsigned worker, size_t first, size_t last) {
    const ef_tree_change *const t = context;
    ef_node_worker *const w = &t->workers[worker];
    for (size_t i = first; i < last && w->status == EFFACE_OK; i++) {
        w->status = ef_ask(&(ef_interrupt){must_end, w, NULL}, &w->error);
        if (w->status == EFFACE_OK)
            w->status = work_out_node(w, &t->reached[t->depth][i]);
        /* Nodes are handed out in order, and leaves, which come first, have nearly all the work. */
        if (w->made_call)
            ef_tell(t->model->plan.interrupt.progress,
                    0.99 * (double)(i + 1) / (double)t->n_reached[t->depth]);
    }
    if (w->status != EFFACE_OK && t->pool != NULL)
        ef_pool_stop(t->pool);
}
