/*
 * What a change of the set makes of a tree: from the leaves of its rows towards the root.
 *
 * Depth by depth, each node that is reached gets a node_change: what it loses and gains, and what
 * follows from that, worked out beside it (revision.h). Its parent is reached if its centroids come
 * out differently, or, where they are weighed, their weights. Only when every node is done, and
 * nothing can fail any more, do the changes take effect; if one fails, the sets of the nodes change
 * back.
 *
 * With redraw fresh a node is fitted with its next draw, and its parent is reached in any case.
 *
 * The nodes of a depth are independent of each other, so workers share them. A node at work asks
 * its worker whether to go on: the one that made the call asks the user, all others whether any
 * worker has failed.
 */
#include "model/kmeans/definition/tree.h"

#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "base/workers/cpu.h"
#include "base/workers/threads.h"
#include "model/kmeans/following/revision.h"

#include <string.h>

/* A node that stays: what its set has lost and gained, and what its model makes of it. */
typedef struct ongoing {
    ef_joint_change change;
    ef_revision revision;
} ongoing;

/* One node's part in a change. There may be very many, so it is kept small. */
typedef struct node_change {
    size_t number;     /* of the node at its depth */
    size_t first, end; /* its changed rows in `order`; of an inner node, those of children */
    ongoing *ongoing;  /* or NULL */
    ef_node fresh;     /* a node that was not there */
    bool vanishes;     /* a node whose rows all leave */
    bool moves;        /* its parent is reached: its centroids change, or redraw is fresh */
    ef_effort report;
} node_change;

/* One of those who work on the nodes of a depth. */
typedef struct node_worker {
    ef_tree_change *whole;
    bool made_call;       /* it is the thread that did: it may ask the user */
    efface_status status; /* what went wrong first */
    efface_error error;
} node_worker;

struct ef_tree_change {
    ef_kmeans *model; /* whose nodes change: their sets at once, all else when it is committed */
    ef_tree *tree;
    const efface_data *data; /* the user's set after the change */
    const ef_change *change; /* or NULL: all rows come */
    size_t *order;           /* changed rows, by leaf and then as they come */
    node_change *reached[EF_MOST_HEIGHT + 1];
    size_t n_reached[EF_MOST_HEIGHT + 1];
    uint32_t depth;       /* that is being worked on */
    unsigned n_threads;   /* for each node */
    ef_pool *pool;        /* whose workers share the nodes, or NULL */
    node_worker *workers; /* the workers */
};

/* ---------------------------------------------------------------- rows of leaves */

static size_t n_changed(const ef_tree_change *t) {
    return t->change != NULL ? t->change->n_rows : t->data->n_rows;
}

static uint64_t changed_id(const ef_tree_change *t, size_t i) {
    return t->change != NULL ? t->change->rows[i].id : ef_data_id(t->data, i);
}

static bool changed_leaves(const ef_tree_change *t, size_t i) {
    return t->change != NULL && t->change->leaves[i];
}

/* Whether nodes are drawn anew: not those of a fit or of a file, whose draws are given. */
static bool redraws(const ef_tree_change *t) {
    return t->change != NULL && t->model->params.redraw == EFFACE_REDRAW_FRESH;
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
static node_change *reach_by_places(const place *places, size_t n, size_t *n_nodes) {
    size_t n_leaves = 0;
    for (size_t i = 0; i < n; i++)
        n_leaves += i == 0 || places[i].leaf != places[i - 1].leaf;
    node_change *const nodes = ef_alloc_zero(n_leaves, sizeof *nodes);
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
static efface_status reach_by_all(const ef_tree_change *t, node_change **nodes, size_t *n_nodes,
                                  efface_error *error) {
    const size_t n_leaves = t->tree->n_nodes[t->tree->height];
    int64_t *const n_rows = ef_alloc_zero(n_leaves, sizeof *n_rows);
    efface_status status = n_rows != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < *n_nodes; i++)
        n_rows[(*nodes)[i].number] = (int64_t)((*nodes)[i].end - (*nodes)[i].first);
    if (status == EFFACE_OK)
        status = ef_team_sum(ef_data_team(t->data), n_rows, n_leaves, error);
    size_t n = 0, own = 0;
    for (size_t leaf = 0; status == EFFACE_OK && leaf < n_leaves; leaf++)
        n += n_rows[leaf] != 0;
    node_change *const all = status == EFFACE_OK ? ef_alloc_zero(n, sizeof *all) : NULL;
    if (status == EFFACE_OK && all == NULL)
        status = ef_fail_memory(error);
    n = 0;
    for (size_t leaf = 0; status == EFFACE_OK && leaf < n_leaves; leaf++) {
        const bool here = own < *n_nodes && (*nodes)[own].number == leaf;
        if (here)
            all[n++] = (*nodes)[own++];
        else if (n_rows[leaf] != 0)
            all[n++] = (node_change){.number = leaf};
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
        places[i] = (place){ef_tree_leaf(tree, t->model->plan.seed, changed_id(t, i)), i};
    if (status == EFFACE_OK)
        status = sort_places(places, n, tree->n_nodes[tree->height], error);
    size_t n_nodes = 0;
    for (size_t i = 0; status == EFFACE_OK && i < n; i++)
        t->order[i] = places[i].row;
    node_change *nodes = status == EFFACE_OK ? reach_by_places(places, n, &n_nodes) : NULL;
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
    const node_change *const children = t->reached[l + 1];
    const size_t n = t->n_reached[l + 1], w = t->tree->width;
    node_change *const nodes = ef_alloc_zero(n, sizeof *nodes);
    if (nodes == NULL)
        return ef_fail_memory(error);
    size_t n_parents = 0;
    for (size_t i = 0; i < n; i++) {
        if (!children[i].moves)
            continue;
        const size_t number = children[i].number / w;
        if (n_parents == 0 || nodes[n_parents - 1].number != number)
            nodes[n_parents++] = (node_change){.number = number, .first = i};
        nodes[n_parents - 1].end = i + 1;
    }
    t->reached[l] = nodes;
    t->n_reached[l] = n_parents;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- centroids of a node */

/* What a node hands to its parent, before or after the change. */
typedef struct result {
    const ef_kmeans *model;      /* either, */
    const ef_revision *revision; /* or this one; neither: it has nothing */
} result;

static result before(const ef_tree_change *t, uint32_t depth, const node_change *c) {
    return (result){.model = t->tree->nodes[depth][c->number].model};
}

static result after(const node_change *c) {
    if (c->vanishes)
        return (result){0};
    return c->ongoing != NULL ? (result){.revision = &c->ongoing->revision}
                              : (result){.model = c->fresh.model};
}

static uint32_t result_clusters(const result *r) {
    return r->revision != NULL ? ef_revision_clusters(r->revision)
           : r->model != NULL  ? r->model->plan.n_clusters
                               : 0;
}

/* The coordinates of a centroid; NULL if it is no row of the parent. */
static const int32_t *result_point(const result *r, uint32_t cluster, bool weighed, uint32_t d,
                                   int64_t *weight) {
    if (cluster >= result_clusters(r))
        return NULL;
    *weight = !weighed              ? 1
              : r->revision != NULL ? ef_revision_mass(r->revision, cluster)
                                    : ef_kmeans_mass(r->model, cluster);
    const int32_t *const centers =
        r->revision != NULL ? ef_revision_centers(r->revision) : ef_kmeans_centers(r->model);
    return *weight != 0 ? centers + (size_t)cluster * d : NULL;
}

/* One centroid before and after the change. */
typedef struct centroid {
    const int32_t *old, *now; /* or NULL */
    int64_t old_weight, weight;
    bool same;
} centroid;

static centroid look_at_centroid(const ef_tree_change *t, uint32_t depth, const node_change *c,
                                 uint32_t cluster) {
    const uint32_t d = t->model->domain.map.n_columns;
    const result was = before(t, depth, c), is = after(c);
    centroid x = {0};
    x.old = result_point(&was, cluster, t->tree->weighed, d, &x.old_weight);
    x.now = result_point(&is, cluster, t->tree->weighed, d, &x.weight);
    x.same = x.old != NULL && x.now != NULL
                 ? x.old_weight == x.weight && memcmp(x.old, x.now, d * sizeof *x.old) == 0
                 : x.old == x.now;
    return x;
}

static uint32_t most_clusters(const ef_tree_change *t, uint32_t depth, const node_change *c) {
    const result was = before(t, depth, c), is = after(c);
    const uint32_t old = result_clusters(&was), now = result_clusters(&is);
    return old > now ? old : now;
}

static bool centroids_move(const ef_tree_change *t, const node_change *c) {
    const uint32_t k = most_clusters(t, t->depth, c);
    for (uint32_t j = 0; j < k; j++)
        if (!look_at_centroid(t, t->depth, c, j).same)
            return true;
    return false;
}

/* ---------------------------------------------------------------- what a node loses and gains */

typedef struct edit {
    size_t n_leave, n_come; /* on this rank */
    size_t all_leave, all_come;
    uint64_t *leave; /* ids */
    uint64_t *ids;   /* of rows that come, and what they have */
    int64_t *weights;
    float *values;
    void *block; /* these arrays; NULL if memory is short */
} edit;

/* Room for so many. */
static edit edit_of(size_t n_leave, size_t n_come, uint32_t d) {
    edit e = {0};
    const ef_array arrays[] = {{&e.leave, n_leave, sizeof *e.leave},
                               {&e.ids, n_come, sizeof *e.ids},
                               {&e.weights, n_come, sizeof *e.weights},
                               {&e.values, n_come, d * sizeof *e.values}};
    e.block = EF_ARRAYS_TAKE(arrays, false);
    return e;
}

/* The rows that come to a leaf stand in the user's set. */
static edit edit_leaf(const ef_tree_change *t, const node_change *c) {
    const uint32_t d = t->data->n_columns;
    size_t n_leave = 0;
    for (size_t i = c->first; i < c->end; i++)
        n_leave += changed_leaves(t, t->order[i]);
    edit e = edit_of(n_leave, c->end - c->first - n_leave, d);
    e.all_leave = n_leave;
    e.all_come = c->end - c->first - n_leave;
    for (size_t i = c->first; e.block != NULL && i < c->end; i++) {
        const size_t row = t->order[i];
        const size_t position = t->change != NULL ? t->change->positions[row] : row;
        if (position == EF_NO_POSITION)
            continue;
        if (changed_leaves(t, row)) {
            e.leave[e.n_leave++] = changed_id(t, row);
            continue;
        }
        const float *const from = ef_data_first(t->data, position);
        float *const to = e.values + e.n_come * d;
        for (uint32_t j = 0; j < d; j++)
            to[j] = from[(size_t)j * EF_PANEL];
        e.ids[e.n_come] = changed_id(t, row);
        e.weights[e.n_come++] = ef_data_weight(t->data, position);
    }
    return e;
}

/* The rows of any other node are centroids of its children. */
static edit edit_inner(const ef_tree_change *t, const node_change *c) {
    const uint32_t d = t->model->domain.map.n_columns, below = t->depth + 1;
    const uint64_t k = t->tree->clusters[below];
    size_t most = 0;
    for (size_t i = c->first; i < c->end; i++)
        most += most_clusters(t, below, &t->reached[below][i]);
    edit e = edit_of(most, most, d);
    for (size_t i = c->first; e.block != NULL && i < c->end; i++) {
        const node_change *const child = &t->reached[below][i];
        const uint32_t n = child->moves ? most_clusters(t, below, child) : 0;
        for (uint32_t j = 0; j < n; j++) {
            const centroid x = look_at_centroid(t, below, child, j);
            const uint64_t id = child->number % t->tree->width * k + j;
            if (x.old != NULL && !x.same)
                e.leave[e.n_leave++] = id;
            if (x.now == NULL || x.same)
                continue;
            for (uint32_t column = 0; column < d; column++)
                e.values[e.n_come * d + column] = (float)x.now[column];
            e.ids[e.n_come] = id;
            e.weights[e.n_come++] = x.weight;
        }
    }
    e.all_leave = e.n_leave;
    e.all_come = e.n_come;
    return e;
}

/* ---------------------------------------------------------------- one node */

/* Whether the nodes of the depth that is worked on have parts of a group's rows. Those of other
 * depths have centroids, and every rank has all of these. */
static bool has_parts(const ef_tree_change *t) {
    return t->depth == t->tree->height && ef_data_team(t->data) != NULL;
}

/* Asked by nodes at work. */
static int must_end(void *context) {
    const node_worker *const w = context;
    const ef_tree_change *const t = w->whole;
    if (t->pool != NULL && ef_pool_stopped(t->pool))
        return 1;
    return w->made_call && ef_ask(&t->model->plan.interrupt, NULL) != EFFACE_OK;
}

/* A node whose model comes from a file. */
static efface_status take_read(node_worker *w, node_change *c) {
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
static efface_kmeans_params params_of_fit(node_worker *w, const node_change *c) {
    const ef_tree_change *const t = w->whole;
    const uint64_t draw = t->tree->nodes[t->depth][c->number].draw;
    efface_kmeans_params params =
        ef_node_params(t->model, t->depth, c->number, redraws(t) ? draw + 1 : draw);
    params.common.n_threads = t->n_threads;
    params.common.interrupted = must_end;
    params.common.interrupt_context = w;
    params.common.progress = NULL;
    return params;
}

/* A node that was not there. */
static efface_status make_node(node_worker *w, node_change *c, const efface_rows *rows) {
    const ef_tree_change *const t = w->whole;
    efface_error *const error = &w->error;
    const efface_kmeans_params params = params_of_fit(w, c);
    efface_status status = efface_data_create(t->data->n_columns, &c->fresh.data, error);
    if (status == EFFACE_OK)
        status = ef_data_reserve(c->fresh.data, rows->n_rows, error);
    if (status == EFFACE_OK)
        status = efface_data_add(c->fresh.data, rows, error);
    if (status == EFFACE_OK && has_parts(t))
        status = ef_shard_make(c->fresh.data, t->data, error);
    if (status == EFFACE_OK && t->tree->is_cold)
        return take_read(w, c);
    if (status == EFFACE_OK)
        status = ef_kmeans_fit(c->fresh.data, &params, ef_node_ignored(t->model, t->depth),
                               &c->fresh.model, error);
    if (status == EFFACE_OK)
        c->report = (ef_effort){.action = EFFACE_ACTION_REFITTED,
                                .reason = EF_REASON_CLUSTERS,
                                .rows_visited = c->fresh.model->work.rows_assigned,
                                .levels_replayed = ef_count_partitions(c->fresh.model, 0)};
    return status;
}

/* The next draw of a node that stays, whose set has changed already. */
static efface_status redraw_node(node_worker *w, node_change *c, const ef_node *node) {
    ongoing *const o = c->ongoing;
    const efface_kmeans_params params = params_of_fit(w, c);
    o->revision = (ef_revision){.model = node->model,
                                .counted = ef_data_whole(node->data),
                                .data = node->data,
                                .change = ef_joint_seen(&o->change, node->data),
                                .refit = true,
                                .reason = EF_REASON_REDRAW};
    return ef_kmeans_fit(node->data, &params, node->model->ignored, &o->revision.fresh, &w->error);
}

/* A node that stays. */
static efface_status change_node(node_worker *w, node_change *c, const ef_node *node, const edit *e,
                                 const efface_rows *rows) {
    efface_error *const error = &w->error;
    ongoing *const o = ef_alloc_zero(1, sizeof *o);
    if (o == NULL ||
        !ef_change_init(&o->change.own, node->data->n_columns, e->n_leave + e->n_come)) {
        ef_free(o);
        return ef_fail_memory(error);
    }
    c->ongoing = o;
    ef_kmeans_set_work(node->model, w->whole->n_threads, (ef_interrupt){must_end, w, NULL});
    ef_change *const own = &o->change.own;
    efface_status status = ef_change_forget(own, node->data, e->leave, e->n_leave, error);
    if (status == EFFACE_OK)
        status = ef_change_learn(own, node->data, rows, error);
    if (status == EFFACE_OK)
        status = ef_joint_share(&o->change, node->data, error);
    if (status == EFFACE_OK)
        status = redraws(w->whole) ? redraw_node(w, c, node)
                                   : ef_revision_make(&o->revision, node->model, node->data,
                                                      ef_joint_seen(&o->change, node->data), error);
    if (status == EFFACE_OK)
        ef_revision_report(&o->revision, &c->report);
    return status;
}

static efface_status work_out_node(node_worker *w, node_change *c) {
    const ef_tree_change *const t = w->whole;
    const ef_node *const node = &t->tree->nodes[t->depth][c->number];
    const size_t n_rows = node->data != NULL ? ef_data_whole(node->data)->n_rows : 0;
    const edit e = t->depth == t->tree->height ? edit_leaf(t, c) : edit_inner(t, c);
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
        c->moves = redraws(t) || centroids_move(t, c);
    return status;
}

static void work_out_nodes(void *context, unsigned worker, size_t first, size_t last) {
    const ef_tree_change *const t = context;
    node_worker *const w = &t->workers[worker];
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

/* ---------------------------------------------------------------- all nodes */

/* Works out what changes in the nodes of one depth. */
static efface_status work_out_depth(ef_tree_change *t, efface_error *error) {
    const size_t n = t->n_reached[t->depth];
    const unsigned asked = t->model->plan.n_threads, wanted = asked != 0 ? asked : ef_cpu_count();
    /* One node gets all threads for itself, many nodes a thread each; but a group has to work on
     * the nodes in the same order on all ranks. */
    t->pool = wanted > 1 && n >= wanted && !has_parts(t) ? ef_pool_create(wanted) : NULL;
    t->n_threads = t->pool != NULL ? 1 : asked;
    const unsigned n_workers = t->pool != NULL ? ef_pool_size(t->pool) : 1;
    t->workers = ef_alloc_zero(n_workers, sizeof *t->workers);
    efface_status status = t->workers != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (unsigned i = 0; t->workers != NULL && i < n_workers; i++)
        t->workers[i] = (node_worker){.whole = t, .made_call = i == 0};
    if (t->workers != NULL && t->pool != NULL)
        ef_pool_run(t->pool, n, 1, work_out_nodes, t);
    else if (t->workers != NULL)
        work_out_nodes(t, 0, 0, n);
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
static void end_node(const ef_tree_change *t, uint32_t depth, node_change *c, bool commit) {
    ef_node *const node = &t->tree->nodes[depth][c->number];
    const uint64_t draw = commit && redraws(t) ? node->draw + 1 : node->draw;
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
    node->draw = draw;
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
    const result root =
        t->n_reached[0] != 0 ? after(&t->reached[0][0]) : (result){.model = ef_tree_root(t->tree)};
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
            if (node->action != EFFACE_ACTION_UNTOUCHED)
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
        ef_effort report = {.action = EFFACE_ACTION_UNTOUCHED};
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
