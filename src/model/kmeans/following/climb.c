/*
 * A change climbs a tree, from the leaves of its rows towards the root.
 *
 * Depth by depth, each node that is reached gets a climb: what it loses and gains, and what follows
 * from that, worked out beside it (revision.h). Its parent is reached if its centroids come out
 * differently, or, where they are weighed, their weights. Only when every node is done, and nothing
 * can fail any more, are the climbs committed; if one fails, the sets of the nodes change back.
 *
 * With redraw fresh a climb is a fit of its node with the next draw, and its parent is reached in
 * any case.
 *
 * The nodes of a depth are independent of each other, so workers share them. A node at work asks
 * its worker whether to go on: the one that made the call asks the user, all others whether any
 * worker has failed.
 */
#include "model/kmeans/definition/tree.h"

#include "base/checked.h"
#include "base/status.h"
#include "base/threads.h"
#include "model/kmeans/following/revision.h"

#include <string.h>

/* A node that stays: what its set has lost and gained, and what its model makes of it. */
typedef struct ongoing {
    ef_change change;
    ef_revision revision;
} ongoing;

/* One node's part in a change. There may be very many, so it is kept small. */
typedef struct climb {
    size_t number;     /* of the node at its depth */
    size_t first, end; /* its changed rows in `order`; of an inner node, the climbs of children */
    ongoing *ongoing;  /* or NULL */
    ef_node fresh;     /* a node that was not there */
    bool vanishes;     /* a node whose rows all leave */
    bool moves;        /* its parent is reached: its centroids change, or redraw is fresh */
    efface_report report;
} climb;

/* One of those who work on the nodes of a depth. */
typedef struct climber {
    const ef_ascent *ascent;
    bool made_call;       /* it is the thread that did: it may ask the user */
    efface_status status; /* what went wrong first */
    efface_error error;
} climber;

struct ef_ascent {
    const ef_kmeans *model;
    ef_tree *tree;
    const efface_data *data; /* the user's set after the change */
    const ef_change *change; /* or NULL: all rows come */
    size_t *order;           /* changed rows, by leaf and then as they come */
    climb *climbs[EF_MOST_HEIGHT + 1];
    size_t n_climbs[EF_MOST_HEIGHT + 1];
    uint32_t depth;     /* that is being worked on */
    unsigned n_threads; /* for each node */
    ef_pool *pool;      /* whose workers share the nodes, or NULL */
    climber *climbers;  /* the workers */
};

/* ---------------------------------------------------------------- rows of leaves */

static size_t n_changed(const ef_ascent *a) {
    return a->change != NULL ? a->change->n_rows : a->data->n_rows;
}

static uint64_t changed_id(const ef_ascent *a, size_t i) {
    return a->change != NULL ? a->change->rows[i].id : ef_data_id(a->data, i);
}

static bool changed_leaves(const ef_ascent *a, size_t i) {
    return a->change != NULL && a->change->leaves[i];
}

/* Whether nodes are drawn anew: not those of a fit or of a file, whose draws are given. */
static bool redraws(const ef_ascent *a) {
    return a->change != NULL && a->model->params.redraw == EFFACE_REDRAW_FRESH;
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

/* Makes the climbs of the leaves that are reached. */
static efface_status reach_leaves(ef_ascent *a, efface_error *error) {
    const ef_tree *const tree = a->tree;
    const size_t n = n_changed(a);
    place *const places = ef_alloc(n, sizeof *places);
    a->order = ef_alloc(n, sizeof *a->order);
    efface_status status = places != NULL && a->order != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++)
        places[i] = (place){ef_tree_leaf(tree, a->model->plan.seed, changed_id(a, i)), i};
    if (status == EFFACE_OK)
        status = sort_places(places, n, tree->n_nodes[tree->height], error);
    size_t n_leaves = 0;
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        a->order[i] = places[i].row;
        n_leaves += i == 0 || places[i].leaf != places[i - 1].leaf;
    }
    climb *const climbs = status == EFFACE_OK ? ef_alloc_zero(n_leaves, sizeof *climbs) : NULL;
    if (status == EFFACE_OK && climbs == NULL)
        status = ef_fail_memory(error);
    for (size_t i = 0, c = 0; status == EFFACE_OK && i < n; i++) {
        c += i != 0 && places[i].leaf != places[i - 1].leaf;
        if (climbs[c].end == 0)
            climbs[c].first = i;
        climbs[c].number = places[i].leaf;
        climbs[c].end = i + 1;
    }
    a->climbs[tree->height] = climbs;
    a->n_climbs[tree->height] = status == EFFACE_OK ? n_leaves : 0;
    ef_free(places);
    return status;
}

/* Makes the climbs of the parents of nodes whose centroids change. */
static efface_status reach_parents(ef_ascent *a, efface_error *error) {
    const uint32_t l = a->depth;
    const climb *const children = a->climbs[l + 1];
    const size_t n = a->n_climbs[l + 1], w = a->tree->width;
    climb *const climbs = ef_alloc_zero(n, sizeof *climbs);
    if (climbs == NULL)
        return ef_fail_memory(error);
    size_t n_parents = 0;
    for (size_t i = 0; i < n; i++) {
        if (!children[i].moves)
            continue;
        const size_t number = children[i].number / w;
        if (n_parents == 0 || climbs[n_parents - 1].number != number)
            climbs[n_parents++] = (climb){.number = number, .first = i};
        climbs[n_parents - 1].end = i + 1;
    }
    a->climbs[l] = climbs;
    a->n_climbs[l] = n_parents;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- centroids of a node */

/* What a node hands to its parent, before or after the change. */
typedef struct result {
    const ef_kmeans *model;      /* either, */
    const ef_revision *revision; /* or this one; neither: it has nothing */
} result;

static result before(const ef_ascent *a, uint32_t depth, const climb *c) {
    return (result){.model = a->tree->nodes[depth][c->number].model};
}

static result after(const climb *c) {
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

static centroid look_at_centroid(const ef_ascent *a, uint32_t depth, const climb *c,
                                 uint32_t cluster) {
    const uint32_t d = a->model->domain.map.n_columns;
    const result was = before(a, depth, c), is = after(c);
    centroid x = {0};
    x.old = result_point(&was, cluster, a->tree->weighed, d, &x.old_weight);
    x.now = result_point(&is, cluster, a->tree->weighed, d, &x.weight);
    x.same = x.old != NULL && x.now != NULL
                 ? x.old_weight == x.weight && memcmp(x.old, x.now, d * sizeof *x.old) == 0
                 : x.old == x.now;
    return x;
}

static uint32_t most_clusters(const ef_ascent *a, uint32_t depth, const climb *c) {
    const result was = before(a, depth, c), is = after(c);
    const uint32_t old = result_clusters(&was), now = result_clusters(&is);
    return old > now ? old : now;
}

static bool centroids_move(const ef_ascent *a, const climb *c) {
    const uint32_t k = most_clusters(a, a->depth, c);
    for (uint32_t j = 0; j < k; j++)
        if (!look_at_centroid(a, a->depth, c, j).same)
            return true;
    return false;
}

/* ---------------------------------------------------------------- what a node loses and gains */

typedef struct edit {
    size_t n_leave, n_come;
    uint64_t *leave; /* ids */
    uint64_t *ids;   /* of rows that come, and what they have */
    int64_t *weights;
    float *values;
} edit;

static bool edit_init(edit *e, size_t n_leave, size_t n_come, uint32_t d) {
    size_t n_values;
    *e = (edit){0};
    if (!ef_mul_size(n_come, d, &n_values))
        return false;
    e->leave = ef_alloc(n_leave, sizeof *e->leave);
    e->ids = ef_alloc(n_come, sizeof *e->ids);
    e->weights = ef_alloc(n_come, sizeof *e->weights);
    e->values = ef_alloc(n_values, sizeof *e->values);
    return e->leave != NULL && e->ids != NULL && e->weights != NULL && e->values != NULL;
}

static void edit_free(edit *e) {
    ef_free(e->leave);
    ef_free(e->ids);
    ef_free(e->weights);
    ef_free(e->values);
}

/* The rows that come to a leaf stand in the user's set. */
static bool edit_leaf(const ef_ascent *a, const climb *c, edit *e) {
    const uint32_t d = a->data->n_columns;
    size_t n_leave = 0;
    for (size_t i = c->first; i < c->end; i++)
        n_leave += changed_leaves(a, a->order[i]);
    if (!edit_init(e, n_leave, c->end - c->first - n_leave, d))
        return false;
    for (size_t i = c->first; i < c->end; i++) {
        const size_t row = a->order[i];
        if (changed_leaves(a, row)) {
            e->leave[e->n_leave++] = changed_id(a, row);
            continue;
        }
        const size_t position = a->change != NULL ? a->change->positions[row] : row;
        const float *const from = ef_data_first(a->data, position);
        float *const to = e->values + e->n_come * d;
        for (uint32_t j = 0; j < d; j++)
            to[j] = from[(size_t)j * EF_PANEL];
        e->ids[e->n_come] = changed_id(a, row);
        e->weights[e->n_come++] = ef_data_weight(a->data, position);
    }
    return true;
}

/* The rows of any other node are centroids of its children. */
static bool edit_inner(const ef_ascent *a, const climb *c, edit *e) {
    const uint32_t d = a->model->domain.map.n_columns, below = a->depth + 1;
    const uint64_t k = a->tree->clusters[below];
    size_t most = 0;
    for (size_t i = c->first; i < c->end; i++)
        most += most_clusters(a, below, &a->climbs[below][i]);
    if (!edit_init(e, most, most, d))
        return false;
    for (size_t i = c->first; i < c->end; i++) {
        const climb *const child = &a->climbs[below][i];
        const uint32_t n = child->moves ? most_clusters(a, below, child) : 0;
        for (uint32_t j = 0; j < n; j++) {
            const centroid x = look_at_centroid(a, below, child, j);
            const uint64_t id = child->number % a->tree->width * k + j;
            if (x.old != NULL && !x.same)
                e->leave[e->n_leave++] = id;
            if (x.now == NULL || x.same)
                continue;
            for (uint32_t column = 0; column < d; column++)
                e->values[e->n_come * d + column] = (float)x.now[column];
            e->ids[e->n_come] = id;
            e->weights[e->n_come++] = x.weight;
        }
    }
    return true;
}

/* ---------------------------------------------------------------- one node */

/* Asked by nodes at work. */
static int must_end(void *context) {
    const climber *const w = context;
    const ef_ascent *const a = w->ascent;
    if (a->pool != NULL && ef_pool_stopped(a->pool))
        return 1;
    return w->made_call && ef_ask(&a->model->plan.interrupt, NULL) != EFFACE_OK;
}

/* A node whose model comes from a file. */
static efface_status take_read(climber *w, climb *c) {
    const ef_ascent *const a = w->ascent;
    ef_kmeans **const slot = ef_tree_slot(a->tree, a->depth, c->number);
    if (*slot == NULL)
        return ef_fail(&w->error, EFFACE_E_FORMAT, "the state of the tree belongs to other rows");
    c->fresh.model = *slot;
    *slot = NULL;
    ef_kmeans_set_work(c->fresh.model, a->n_threads, (ef_interrupt){must_end, w, NULL});
    return ef_kmeans_attach(c->fresh.model, c->fresh.data, &w->error);
}

/* What a node is fitted with. */
static efface_kmeans_params params_of_fit(climber *w, const climb *c) {
    const ef_ascent *const a = w->ascent;
    const uint64_t draw = a->tree->nodes[a->depth][c->number].draw;
    efface_kmeans_params params =
        ef_node_params(a->model, a->depth, c->number, redraws(a) ? draw + 1 : draw);
    params.common.n_threads = a->n_threads;
    params.common.interrupted = must_end;
    params.common.interrupt_context = w;
    params.common.progress = NULL;
    return params;
}

/* A node that was not there. */
static efface_status make_node(climber *w, climb *c, const efface_rows *rows) {
    const ef_ascent *const a = w->ascent;
    efface_error *const error = &w->error;
    const efface_kmeans_params params = params_of_fit(w, c);
    efface_status status = efface_data_create(a->data->n_columns, &c->fresh.data, error);
    if (status == EFFACE_OK)
        status = ef_data_reserve(c->fresh.data, rows->n_rows, error);
    if (status == EFFACE_OK)
        status = efface_data_add(c->fresh.data, rows, error);
    if (status == EFFACE_OK && a->tree->read != NULL)
        return take_read(w, c);
    if (status == EFFACE_OK)
        status = efface_kmeans_fit(c->fresh.data, &params, &c->fresh.model, error);
    if (status == EFFACE_OK)
        c->report = (efface_report){.action = EFFACE_ACTION_REFITTED,
                                    .reason = EFFACE_REASON_CLUSTERS,
                                    .rows_visited = c->fresh.model->work.rows_assigned,
                                    .levels_replayed = ef_count_partitions(c->fresh.model, 0)};
    return status;
}

/* The next draw of a node that stays, whose set has changed already. */
static efface_status redraw_node(climber *w, climb *c, const ef_node *node) {
    ongoing *const o = c->ongoing;
    const efface_kmeans_params params = params_of_fit(w, c);
    o->revision = (ef_revision){.model = node->model,
                                .data = node->data,
                                .change = &o->change,
                                .refit = true,
                                .reason = EFFACE_REASON_REDRAW};
    return efface_kmeans_fit(node->data, &params, &o->revision.fresh, &w->error);
}

/* A node that stays. */
static efface_status change_node(climber *w, climb *c, const ef_node *node, const edit *e,
                                 const efface_rows *rows) {
    efface_error *const error = &w->error;
    ongoing *const o = ef_alloc_zero(1, sizeof *o);
    if (o == NULL || !ef_change_init(&o->change, node->data->n_columns, e->n_leave + e->n_come)) {
        ef_free(o);
        return ef_fail_memory(error);
    }
    c->ongoing = o;
    ef_kmeans_set_work(node->model, w->ascent->n_threads, (ef_interrupt){must_end, w, NULL});
    efface_status status = ef_change_forget(&o->change, node->data, e->leave, e->n_leave, error);
    if (status == EFFACE_OK)
        status = ef_change_learn(&o->change, node->data, rows, error);
    if (status == EFFACE_OK)
        status = redraws(w->ascent)
                     ? redraw_node(w, c, node)
                     : ef_revision_make(&o->revision, node->model, node->data, &o->change, error);
    if (status == EFFACE_OK)
        ef_revision_report(&o->revision, &c->report);
    return status;
}

static efface_status climb_node(climber *w, climb *c) {
    const ef_ascent *const a = w->ascent;
    const ef_node *const node = &a->tree->nodes[a->depth][c->number];
    const size_t n_rows = node->data != NULL ? node->data->n_rows : 0;
    edit e;
    const bool fits = a->depth == a->tree->height ? edit_leaf(a, c, &e) : edit_inner(a, c, &e);
    const efface_rows rows = {
        .n_rows = e.n_come, .values = e.values, .ids = e.ids, .weights = e.weights};
    efface_status status = fits ? EFFACE_OK : ef_fail_memory(&w->error);
    if (status == EFFACE_OK && n_rows == 0) {
        status = make_node(w, c, &rows);
    } else if (status == EFFACE_OK && n_rows + e.n_come == e.n_leave) {
        c->vanishes = true;
        c->report.reason = EFFACE_REASON_CLUSTERS;
    } else if (status == EFFACE_OK) {
        status = change_node(w, c, node, &e, &rows);
    }
    edit_free(&e);
    if (status == EFFACE_OK)
        c->moves = redraws(a) || centroids_move(a, c);
    return status;
}

static void climb_nodes(void *context, unsigned worker, size_t first, size_t last) {
    const ef_ascent *const a = context;
    climber *const w = &a->climbers[worker];
    for (size_t i = first; i < last && w->status == EFFACE_OK; i++) {
        w->status = ef_ask(&(ef_interrupt){must_end, w, NULL}, &w->error);
        if (w->status == EFFACE_OK)
            w->status = climb_node(w, &a->climbs[a->depth][i]);
        /* Nodes are handed out in order, and leaves, which come first, have nearly all the work. */
        if (w->made_call)
            ef_tell(a->model->plan.interrupt.progress,
                    0.99 * (double)(i + 1) / (double)a->n_climbs[a->depth]);
    }
    if (w->status != EFFACE_OK && a->pool != NULL)
        ef_pool_stop(a->pool);
}

/* ---------------------------------------------------------------- all nodes */

/* Works out all climbs of one depth. */
static efface_status climb_depth(ef_ascent *a, efface_error *error) {
    const size_t n = a->n_climbs[a->depth];
    const unsigned asked = a->model->plan.n_threads;
    /* One node gets all threads for itself, many nodes a thread each. */
    ef_pool *const pool = n > 1 && asked != 1 ? ef_pool_create(asked) : NULL;
    const bool shared = pool != NULL && n >= ef_pool_size(pool);
    const unsigned n_workers = shared ? ef_pool_size(pool) : 1;
    climber *const climbers = ef_alloc_zero(n_workers, sizeof *climbers);
    efface_status status = climbers != NULL ? EFFACE_OK : ef_fail_memory(error);
    a->n_threads = shared ? 1 : asked;
    a->pool = shared ? pool : NULL;
    a->climbers = climbers;
    for (unsigned i = 0; i < n_workers && climbers != NULL; i++) {
        climbers[i].ascent = a;
        climbers[i].made_call = i == 0;
    }
    if (climbers != NULL && shared)
        ef_pool_run(pool, n, 1, climb_nodes, a);
    else if (climbers != NULL)
        climb_nodes(a, 0, 0, n);
    /* Who was told to stop because another failed says "interrupted": the other knows more. */
    for (unsigned i = 0; i < n_workers && climbers != NULL; i++)
        if (climbers[i].status != EFFACE_OK &&
            (status == EFFACE_OK || status == EFFACE_E_INTERRUPTED)) {
            status = climbers[i].status;
            if (error != NULL)
                *error = climbers[i].error;
        }
    ef_pool_free(pool);
    ef_free(climbers);
    return status;
}

static efface_status ascend(ef_ascent *a, efface_error *error) {
    efface_status status = reach_leaves(a, error);
    a->depth = a->tree->height;
    while (status == EFFACE_OK && a->n_climbs[a->depth] != 0) {
        status = climb_depth(a, error);
        if (status != EFFACE_OK || a->depth == 0)
            break;
        a->depth--;
        status = reach_parents(a, error);
    }
    return status;
}

/* Lets one climb take effect, or undoes what it did to the node's set; and releases it. */
static void end_climb(const ef_ascent *a, uint32_t depth, climb *c, bool commit) {
    ef_node *const node = &a->tree->nodes[depth][c->number];
    const uint64_t draw = commit && redraws(a) ? node->draw + 1 : node->draw;
    if (commit && c->ongoing != NULL)
        ef_revision_commit(&c->ongoing->revision, node->model);
    if (!commit && c->ongoing != NULL)
        ef_change_undo(&c->ongoing->change, node->data);
    if (commit && (c->vanishes || c->fresh.model != NULL)) {
        const ef_node old = *node;
        *node = c->fresh;
        c->fresh = old;
    }
    node->draw = draw;
    if (node->model != NULL)
        ef_kmeans_set_work(node->model, a->model->plan.n_threads, a->model->plan.interrupt);
    efface_data_free(c->fresh.data);
    efface_kmeans_free(c->fresh.model);
    if (c->ongoing != NULL) {
        ef_revision_free(&c->ongoing->revision);
        ef_change_free(&c->ongoing->change);
        ef_free(c->ongoing);
    }
}

/* Afterwards there are no climbs any more. */
static void descend(ef_ascent *a, bool commit) {
    for (uint32_t l = 0; l <= a->tree->height; l++) {
        for (size_t i = 0; i < a->n_climbs[l]; i++)
            end_climb(a, l, &a->climbs[l][i], commit);
        ef_free(a->climbs[l]);
        a->climbs[l] = NULL;
        a->n_climbs[l] = 0;
    }
    ef_free(a->order);
    a->order = NULL;
}

/* The number of centroids is the root's. */
static void follow_root(ef_kmeans *model) {
    const ef_kmeans *const root = ef_tree_root(model->tree);
    model->plan.n_clusters = root != NULL ? root->plan.n_clusters : 0;
}

efface_status ef_ascent_make(ef_ascent **out, const ef_kmeans *model, const efface_data *data,
                             const ef_change *change, efface_error *error) {
    ef_ascent *const a = ef_alloc(1, sizeof *a);
    if (a == NULL)
        return ef_fail_memory(error);
    *a = (ef_ascent){.model = model, .tree = model->tree, .data = data, .change = change};
    const efface_status status = ascend(a, error);
    if (status == EFFACE_OK)
        *out = a;
    else
        ef_ascent_free(a);
    return status;
}

void ef_ascent_free(ef_ascent *a) {
    if (a != NULL)
        descend(a, false);
    ef_free(a);
}

void ef_ascent_commit(ef_ascent *a, ef_kmeans *model) {
    descend(a, true);
    model->n_rows = a->data->n_rows;
    model->total_weight = a->data->total_weight;
    model->stamp = a->data->stamp;
    follow_root(model);
}

/* What the climbs came to, all together. */
void ef_ascent_report(const ef_ascent *a, efface_report *report) {
    report->depth = a->tree->height;
    for (uint32_t l = a->tree->height + 1; l-- > 0;)
        for (size_t i = 0; i < a->n_climbs[l]; i++) {
            const efface_report *const node = &a->climbs[l][i].report;
            report->rows_visited += node->rows_visited;
            report->levels_replayed += node->levels_replayed;
            if (node->action != EFFACE_ACTION_UNTOUCHED)
                report->action = EFFACE_ACTION_REPAIRED;
            if (report->reason == EFFACE_REASON_NONE)
                report->reason = node->reason;
            report->depth = l;
        }
}

/* ---------------------------------------------------------------- all rows come */

efface_status ef_tree_fit(ef_kmeans *model, const efface_data *data, efface_error *error) {
    ef_ascent *a = NULL;
    const efface_status status = ef_ascent_make(&a, model, data, NULL, error);
    if (status == EFFACE_OK) {
        efface_report report = {.action = EFFACE_ACTION_UNTOUCHED};
        ef_ascent_report(a, &report);
        model->work.rows_assigned = report.rows_visited;
        ef_ascent_commit(a, model);
    }
    ef_ascent_free(a);
    return status;
}

efface_status ef_tree_attach(ef_kmeans *model, const efface_data *data, efface_error *error) {
    const efface_status status = ef_tree_fit(model, data, error);
    const bool all = ef_tree_read_is_taken(model->tree);
    ef_tree_drop_read(model->tree);
    model->work.rows_assigned = 0;
    if (status == EFFACE_OK && !all)
        return ef_fail(error, EFFACE_E_FORMAT, "the state of the tree belongs to other rows");
    return status;
}
