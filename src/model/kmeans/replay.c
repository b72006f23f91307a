/*
 * Replay: a model follows a change of its rows, exactly.
 *
 * Three steps, of which only the second can fail after the first byte was changed elsewhere:
 *
 * 1. Look. Decide what a fit to the new rows would do differently, from the model's own numbers:
 *    do the parameters come out the same, the domain, the winners of the seeding races? If so, walk
 *    the levels: take the changed rows out of (or into) a copy of the level's sums, each under the
 *    center that is nearest to it, and compute the next centers from them. While these are the ones
 *    the next level has, nothing else happened in this level, and no other row has to be looked at:
 *    the centers determine the partition, and the partition of all other rows is as it was.
 * 2. Build. From the first level that differs on, levels are made as in a fit, beside the old ones.
 * 3. Commit. The sums of the levels before it are corrected in place, the new levels replace the
 *    old ones. Nothing here can fail.
 *
 * Why this is exact: every comparison is between integers, and each decision of a fit (parameters,
 * domain, races, centers, thresholds, stopping) is either made again or shown to depend on nothing
 * that changed. A race that a loser leaves has the same winner; a row that comes must beat the
 * winner's key, which is kept. Where the paper's deletion is approximate in small print (the mean
 * without a row, the threshold gamma n / k that moves for every cluster, the stopping rule) the
 * numbers are simply computed anew.
 *
 * Certificates that tell which rows can have moved will go into step 2; today it passes over all
 * rows.
 */
#include "model/kmeans/replay.h"

#include "base/checked.h"
#include "base/status.h"
#include "base/tape.h"
#include "model/kmeans/levels.h"

#include <string.h>

typedef struct replay {
    const efface_kmeans *model;
    efface_kmeans next; /* the model to be; levels before `first` and much else are shared */
    const efface_data *data;
    const ef_change *change;
    const ef_kernels *kernels;

    ef_domain domain; /* as a fit would have it */

    /* For looking at one level. */
    ef_level scratch; /* its counts and sums after the change */
    bool *touched;    /* clusters that a changed row is in */
    int32_t *centers; /* of the level to come */
    int32_t *point;   /* a row */
    float *panel;
    uint32_t *labels; /* of each changed row at each level that was looked at */
    bool *member;     /* of each changed row: it takes part in sampled levels */
    bool any_member;

    /* What was found. */
    efface_reason reason;
    bool refit;     /* everything must be computed again */
    uint32_t round; /* seeding goes on from here; n_clusters if it stands */
    bool build;     /* levels from `first` on must be made */
    uint32_t first;
    bool sampled;      /* level `first` is */
    uint32_t n_looked; /* levels whose sums the change is to be applied to */
    bool reopen;       /* the last level, which has no partition, gets `centers` */
    ef_i128 loss;      /* of level first - 1 */
} replay;

static bool replay_init(replay *r) {
    const size_t k = r->model->plan.n_clusters, d = r->model->domain.map.n_columns;
    size_t n_labels;
    if (!ef_mul_size(r->change->n_rows, r->model->n_levels, &n_labels))
        return false;
    r->scratch.counts = ef_alloc(k, sizeof *r->scratch.counts);
    r->scratch.sums = ef_alloc(k * d, sizeof *r->scratch.sums);
    r->touched = ef_alloc(k, sizeof *r->touched);
    r->centers = ef_alloc(k * d, sizeof *r->centers);
    r->point = ef_alloc(d, sizeof *r->point);
    r->panel = ef_alloc_aligned(d, EF_PANEL * sizeof *r->panel);
    r->labels = ef_alloc(n_labels, sizeof *r->labels);
    r->member = ef_alloc_zero(r->change->n_rows, sizeof *r->member);
    return r->scratch.counts != NULL && r->scratch.sums != NULL && r->touched != NULL &&
           r->centers != NULL && r->point != NULL && r->panel != NULL && r->labels != NULL &&
           r->member != NULL;
}

static void replay_free(replay *r) {
    ef_domain_free(&r->domain);
    free(r->scratch.counts);
    free(r->scratch.sums);
    free(r->touched);
    free(r->centers);
    free(r->point);
    free(r->panel);
    free(r->labels);
    free(r->member);
}

/* ---------------------------------------------------------------- look: plan and domain */

static bool plan_samples(const efface_kmeans *model) {
    return model->plan.method == EFFACE_METHOD_PYRAMID;
}

/* Parameters and domain as a fit to the new rows would have them. Sets `refit` if they differ. */
static efface_status look_at_plan(replay *r, efface_error *error) {
    const efface_kmeans *const old = r->model;
    ef_plan plan;
    for (size_t i = 0; i < r->change->n_rows && plan_samples(old); i++) {
        const uint32_t exponent = ef_member_exponent(old->plan.seed, r->change->rows[i].id);
        r->next.members.rows[exponent] += r->change->leaves[i] ? UINT64_MAX : 1;
    }
    efface_status status = ef_plan_init(&plan, r->data, &old->params, &r->next.members, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_domain_init(&r->domain, r->data, &old->params, error);
    if (status != EFFACE_OK)
        return status;
    const size_t n_bytes = old->domain.map.n_columns * sizeof *old->domain.low;
    if (r->domain.exponent != old->domain.exponent)
        r->reason = EFFACE_REASON_BOUND;
    else if (memcmp(r->domain.low, old->domain.low, n_bytes) != 0 ||
             memcmp(r->domain.high, old->domain.high, n_bytes) != 0)
        r->reason = EFFACE_REASON_SCALE;
    else if (plan.n_clusters != old->plan.n_clusters)
        r->reason = EFFACE_REASON_CLUSTERS;
    else if (plan.epsilon != old->plan.epsilon)
        r->reason = EFFACE_REASON_EPSILON;
    else if (plan.rate != old->plan.rate)
        r->reason = EFFACE_REASON_RATE;
    r->refit = r->reason != EFFACE_REASON_NONE;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- look: seeds */

static void snap_changed(const replay *r, size_t i, int32_t *point) {
    const ef_map *const map = &r->model->domain.map;
    const float *const row = ef_change_first(r->change, i);
    for (uint32_t j = 0; j < map->n_columns; j++)
        point[j] = ef_snap(row[(size_t)j * EF_PANEL], map->low[j], map->step[j]);
}

static bool beats(double key, uint64_t id, const ef_winner *winner) {
    return key < winner->key || (key == winner->key && id < winner->id);
}

/* The first round that a row which comes would win; n_clusters if it wins none. */
static uint32_t first_round_won(const replay *r, size_t i) {
    const efface_kmeans *const m = r->model;
    const uint32_t d = m->domain.map.n_columns;
    const int32_t *const seeds = m->levels[0].centers;
    const uint64_t id = r->change->rows[i].id;
    snap_changed(r, i, r->point);
    int64_t distance = 1;
    for (uint32_t l = 0; l < m->plan.n_clusters; l++) {
        const uint64_t bits = ef_tape(m->plan.seed, EF_TAPE_SEED, 0, id, l);
        int64_t winners = 1; /* the winner's own distance: 0 if this was a race among equals */
        for (uint32_t s = 0; s < l; s++) {
            const int64_t to_row = ef_grid_sqdist(r->point, seeds + (size_t)s * d, d);
            const int64_t to_seed = ef_grid_sqdist(seeds + (size_t)l * d, seeds + (size_t)s * d, d);
            distance = s == 0 || to_row < distance ? to_row : distance;
            winners = s == 0 || to_seed < winners ? to_seed : winners;
        }
        if (winners == 0 && distance > 0)
            return l;
        if (winners == 0 && beats(ef_tape_exponential(bits), id, &m->seeds[l]))
            return l;
        if (winners > 0 && distance > 0 &&
            beats(ef_race_key(bits, r->change->rows[i].weight, distance), id, &m->seeds[l]))
            return l;
    }
    return m->plan.n_clusters;
}

static void look_at_seeds(replay *r) {
    const efface_kmeans *const m = r->model;
    r->round = m->plan.n_clusters;
    for (size_t i = 0; i < r->change->n_rows; i++) {
        uint32_t round = m->plan.n_clusters;
        if (!r->member[i])
            continue;
        if (r->change->leaves[i]) {
            for (uint32_t l = m->plan.n_clusters; l > 0; l--)
                if (m->seeds[l - 1].id == r->change->rows[i].id)
                    round = l - 1;
        } else {
            round = first_round_won(r, i);
        }
        r->round = round < r->round ? round : r->round;
    }
    if (r->round < m->plan.n_clusters) {
        r->reason = EFFACE_REASON_SEED;
        r->build = true;
        r->first = 0;
        r->sampled = m->levels[0].sampled;
    }
}

/* ---------------------------------------------------------------- look: levels */

static uint32_t *labels_at(const replay *r, uint32_t t) {
    return r->labels + (size_t)t * r->change->n_rows;
}

/* Applies the change to a level's counts and sums, given where the changed rows belong, if they
 * do. */
static void apply_change(const replay *r, const uint32_t *labels, int64_t *counts, int64_t *sums) {
    const ef_map *const map = &r->model->domain.map;
    for (size_t i = 0; i < r->change->n_rows; i++) {
        if (labels[i] == EF_NO_CLUSTER)
            continue;
        const int64_t weight = ef_change_weight(r->change, i);
        counts[labels[i]] += weight;
        r->kernels->move_row(map, ef_change_first(r->change, i), weight,
                             sums + (size_t)labels[i] * map->n_columns, NULL);
    }
}

/* Makes r->scratch the level t after the change. */
static efface_status take_in(replay *r, uint32_t t, efface_error *error) {
    const ef_level *const level = &r->model->levels[t];
    const ef_map *const map = &r->model->domain.map;
    const size_t k = r->model->plan.n_clusters, d = map->n_columns, n = r->change->n_rows;
    uint32_t *const labels = labels_at(r, t);
    ef_centers centers;
    if (!ef_centers_init(&centers, level->centers, (uint32_t)k, map->n_columns, r->kernels->tile))
        return ef_fail_memory(error);
    for (size_t i = 0; i < n; i += EF_PANEL) {
        const float *const values = ef_change_first(r->change, i);
        const unsigned n_rows = n - i < EF_PANEL ? (unsigned)(n - i) : EF_PANEL;
        uint32_t nearest[EF_PANEL];
        (void)r->kernels->nearest(&centers, map, values, n_rows, values, r->panel, nearest);
        memcpy(labels + i, nearest, n_rows * sizeof *nearest);
    }
    ef_centers_free(&centers);
    memset(r->touched, 0, k * sizeof *r->touched);
    for (size_t i = 0; i < n; i++) {
        if (level->sampled && !r->member[i])
            labels[i] = EF_NO_CLUSTER;
        else
            r->touched[labels[i]] = true;
    }
    r->scratch.sampled = level->sampled;
    r->scratch.centers = level->centers;
    memcpy(r->scratch.counts, level->counts, k * sizeof *level->counts);
    memcpy(r->scratch.sums, level->sums, k * d * sizeof *level->sums);
    apply_change(r, labels, r->scratch.counts, r->scratch.sums);
    return EFFACE_OK;
}

/* Who won cluster c's reseeding at a level; NULL if nobody did. */
static const ef_winner *reseeded_with(const ef_level *level, uint32_t cluster) {
    for (uint32_t i = 0; i < level->n_reseeded; i++)
        if (level->reseeded[i].cluster == cluster)
            return &level->reseeded[i].winner;
    return NULL;
}

/* Whether the reseeding of level t has the same clusters and the same winners after the change. */
static bool reseeding_stands(const replay *r, uint32_t t) {
    const efface_kmeans *const m = r->model;
    const ef_level *const level = &m->levels[t];
    const uint32_t d = m->domain.map.n_columns;
    if (m->plan.empty != EFFACE_EMPTY_RESEED)
        return true;
    for (uint32_t c = 0; c < m->plan.n_clusters; c++) {
        if ((level->counts[c] == 0) != (r->scratch.counts[c] == 0))
            return false;
        if (level->counts[c] != 0)
            continue;
        const ef_winner *const winner = reseeded_with(level, c);
        for (size_t i = 0; i < r->change->n_rows; i++) {
            const efface_row *const row = &r->change->rows[i];
            if (labels_at(r, t)[i] == EF_NO_CLUSTER)
                continue;
            if (r->change->leaves[i]) {
                if (winner != NULL && winner->id == row->id)
                    return false;
                continue;
            }
            snap_changed(r, i, r->point);
            const int64_t distance =
                ef_grid_sqdist(r->point, level->centers + (size_t)labels_at(r, t)[i] * d, d);
            const uint64_t bits = ef_tape(m->plan.seed, EF_TAPE_RESEED, c, row->id, t + 1);
            if (distance > 0 && (winner == NULL ||
                                 beats(ef_race_key(bits, row->weight, distance), row->id, winner)))
                return false;
        }
    }
    return true;
}

/* Whether the center of a cluster may come out differently though no changed row is in it: only by
 * the threshold of quantized, before or after. */
static bool threshold_reaches(const replay *r, const ef_level *level, uint32_t cluster) {
    const ef_plan *const plan = &r->model->plan;
    const ef_i128 count = (ef_i128)EF_GAMMA_ONE * plan->n_clusters * level->counts[cluster];
    return count < (ef_i128)plan->gamma * r->model->total_weight ||
           count < (ef_i128)plan->gamma * r->next.total_weight;
}

/* The next centers into r->centers. `known` has them as they were before the change, or is NULL.
 * Returns whether they differ from `known`, and notes why. */
static bool look_at_next(replay *r, uint32_t t, const int32_t *known) {
    const efface_kmeans *const m = r->model;
    const ef_level *const level = &m->levels[t];
    const size_t d = m->domain.map.n_columns;
    bool differs = false;
    for (uint32_t c = 0; c < m->plan.n_clusters; c++) {
        int32_t *const next = r->centers + c * d;
        const bool empty = r->scratch.counts[c] == 0;
        const ef_winner *const winner = empty ? reseeded_with(level, c) : NULL;
        if (known != NULL && !r->touched[c] && (empty || !threshold_reaches(r, level, c))) {
            memcpy(next, known + c * d, d * sizeof *next);
            continue;
        }
        if (winner != NULL && known != NULL) {
            memcpy(next, known + c * d, d * sizeof *next);
            continue;
        }
        memcpy(next, level->centers + c * d, d * sizeof *next);
        ef_next_center(&r->next, &r->scratch, t, c, m->plan.method == EFFACE_METHOD_QUANTIZED,
                       next);
        if (known != NULL && memcmp(next, known + c * d, d * sizeof *next) != 0) {
            if (!differs)
                r->reason = r->touched[c] ? EFFACE_REASON_CENTERS : EFFACE_REASON_GAMMA;
            differs = true;
        }
    }
    return differs;
}

/* The fit ends with level n_levels - 1, and its model is level model_level. */
static void settle(replay *r, uint32_t n_levels, uint32_t model_level, bool stable) {
    if (n_levels != r->model->n_levels || model_level != r->model->model_level)
        r->reason = EFFACE_REASON_STOP;
    r->next.n_levels = n_levels;
    r->next.model_level = model_level;
    r->next.stable = stable;
}

static void build_from(replay *r, uint32_t level, bool sampled, const int32_t *centers,
                       ef_i128 loss) {
    const size_t n = (size_t)r->model->plan.n_clusters * r->model->domain.map.n_columns;
    r->build = true;
    r->first = level;
    r->sampled = sampled;
    r->loss = loss;
    if (centers != r->centers)
        memcpy(r->centers, centers, n * sizeof *centers);
}

/* Looks at what follows a sampled level. Returns whether it is what followed before; if not, notes
 * what to build. */
static bool look_at_sampled(replay *r, uint32_t t) {
    const efface_kmeans *const m = r->model;
    const ef_level *const level = &m->levels[t];
    const uint32_t d = m->domain.map.n_columns, k = m->plan.n_clusters;
    const size_t n_bytes = (size_t)k * d * sizeof *r->centers;
    memcpy(r->centers, level->centers, n_bytes);
    for (uint32_t c = 0; c < k; c++) {
        int32_t *const next = r->centers + (size_t)c * d;
        const ef_winner *const winner = r->scratch.counts[c] == 0 ? reseeded_with(level, c) : NULL;
        if (winner != NULL) {
            size_t position = 0;
            (void)efface_data_find(r->data, winner->id, &position);
            const float *const row = ef_data_first(r->data, position);
            const ef_map *const map = &m->domain.map;
            for (uint32_t j = 0; j < d; j++)
                next[j] = ef_snap(row[(size_t)j * EF_PANEL], map->low[j], map->step[j]);
        }
        ef_next_center(&r->next, &r->scratch, t, c, false, next);
    }
    const bool leaves =
        memcmp(r->centers, level->centers, n_bytes) == 0 || t + 1 == m->plan.iterations;
    if (leaves)
        ef_leave_sample(&r->next, &r->scratch, t, r->centers);
    if (level[1].sampled == !leaves && memcmp(r->centers, level[1].centers, n_bytes) == 0)
        return true;
    r->reason = EFFACE_REASON_CENTERS;
    build_from(r, t + 1, !leaves, r->centers, 0);
    return false;
}

static efface_status look_at_levels(replay *r, efface_error *error) {
    const efface_kmeans *const m = r->model;
    const ef_plan *const plan = &m->plan;
    const bool quantized = plan->method == EFFACE_METHOD_QUANTIZED;
    const size_t n_bytes = (size_t)plan->n_clusters * m->domain.map.n_columns * sizeof *r->centers;
    ef_i128 before = 0, loss = 0;
    for (uint32_t t = 0;; t++) {
        const ef_level *const level = &m->levels[t];
        r->n_looked = t;
        if (!level->has_partition) {
            settle(r, t + 1, t, false);
            return EFFACE_OK;
        }
        r->n_looked = t + 1;
        if (level->sampled && !r->any_member) { /* nothing changes before the full levels */
            memset(labels_at(r, t), 0xFF, r->change->n_rows * sizeof *r->labels);
            continue;
        }
        const efface_status status = take_in(r, t, error);
        if (status != EFFACE_OK)
            return status;
        if (quantized) {
            before = loss;
            loss = ef_level_loss(&r->next, &r->scratch);
            if (t != 0 && loss >= before) {
                settle(r, t + 1, t - 1, false);
                return EFFACE_OK;
            }
            if (t == plan->iterations) {
                settle(r, t + 1, t, false);
                return EFFACE_OK;
            }
        }
        if (!reseeding_stands(r, t)) {
            r->reason = EFFACE_REASON_EMPTY;
            r->n_looked = t;
            build_from(r, t, level->sampled, level->centers, before);
            return EFFACE_OK;
        }
        if (level->sampled) {
            if (look_at_sampled(r, t))
                continue;
            return EFFACE_OK;
        }
        const bool last = t + 1 == m->n_levels;
        /* A level that ended by being stable has itself as next; one that ended otherwise never
         * computed its next centers, nor whom it would reseed. */
        const int32_t *const known = !last                              ? level[1].centers
                                     : m->stable && m->model_level == t ? level->centers
                                                                        : NULL;
        if (known == NULL) {
            r->reason = EFFACE_REASON_STOP;
            r->n_looked = t;
            build_from(r, t, false, level->centers, before);
            return EFFACE_OK;
        }
        const bool differs = look_at_next(r, t, known);
        if (memcmp(r->centers, level->centers, n_bytes) == 0) {
            settle(r, t + 1, t, true);
            return EFFACE_OK;
        }
        if (!differs)
            continue;
        if (!last && !level[1].has_partition) {
            r->reason = EFFACE_REASON_NONE;
            r->reopen = true;
            settle(r, t + 2, t + 1, false);
            return EFFACE_OK;
        }
        build_from(r, t + 1, false, r->centers, loss);
        return EFFACE_OK;
    }
}

/* ---------------------------------------------------------------- build and commit */

/* The kept labels of the first full level after the change, as a copy or in place; `to` has room
 * for the rows that come. */
static void follow_positions(const replay *r, const uint32_t *labels, uint32_t *to) {
    const ef_change *const change = r->change;
    size_t n = r->model->n_rows;
    for (size_t i = 0; i < change->n_rows; i++) {
        if (change->leaves[i] && !change->replaces)
            to[change->positions[i]] = to[--n];
        else if (!change->leaves[i])
            to[change->positions[i]] = labels[i];
    }
}

/* Pyramid: where the first full level was, the partition to start from when it is made again. */
static efface_status start_from_full(replay *r, ef_maker *maker, efface_error *error) {
    const efface_kmeans *const m = r->model;
    const uint32_t full = ef_first_full(m);
    if (full == m->n_levels || m->labels == NULL)
        return EFFACE_OK;
    const efface_status status = take_in(r, full, error);
    if (status != EFFACE_OK)
        return status;
    const size_t most = m->n_rows > r->data->n_rows ? (size_t)m->n_rows : r->data->n_rows;
    maker->full_labels = ef_alloc(most, sizeof *maker->full_labels);
    if (maker->full_labels == NULL)
        return ef_fail_memory(error);
    memcpy(maker->full_labels, m->labels, (size_t)m->n_rows * sizeof *m->labels);
    follow_positions(r, labels_at(r, full), maker->full_labels);
    maker->full_previous = &r->scratch;
    return EFFACE_OK;
}

/* Makes the levels from r->first on in r->next, whose array of levels is then its own. */
static efface_status build(replay *r, efface_error *error) {
    efface_kmeans *const next = &r->next;
    const efface_kmeans *const m = r->model;
    const size_t d = m->domain.map.n_columns, k = m->plan.n_clusters;
    ef_maker maker = {.data = r->data};
    ef_level *level = NULL;
    efface_status status = EFFACE_OK;
    next->levels = ef_alloc((size_t)r->first + 1, sizeof *next->levels);
    next->n_levels = r->first;
    next->seeds = ef_alloc(k, sizeof *next->seeds);
    /* A full level after the first needs nothing of the first, whose partition stands. */
    const bool keeps_labels = plan_samples(m) && r->first > ef_first_full(m);
    if (!keeps_labels)
        next->labels = NULL;
    if (next->levels != NULL) {
        memcpy(next->levels, m->levels, r->first * sizeof *next->levels);
        level = ef_kmeans_add_level(next);
    }
    if (level == NULL || next->seeds == NULL) {
        status = ef_fail_memory(error);
        goto out;
    }
    memcpy(next->seeds, m->seeds, k * sizeof *next->seeds);
    level->sampled = r->sampled;
    if (r->round < k) {
        ef_workspace *space = NULL;
        memcpy(level->centers, m->levels[0].centers, r->round * d * sizeof *level->centers);
        status = ef_maker_space(&maker, next, r->sampled, &space, error);
        if (status == EFFACE_OK)
            status = ef_seed(space, next, level, r->round, error);
    } else {
        memcpy(level->centers, r->centers, k * d * sizeof *level->centers);
    }
    if (status == EFFACE_OK && plan_samples(m) && !keeps_labels)
        status = start_from_full(r, &maker, error);
    if (status == EFFACE_OK)
        status = ef_make_levels(&maker, next, r->first, r->loss, error);
out:
    ef_maker_free(&maker);
    if (status != EFFACE_OK) {
        for (uint32_t t = r->first; next->levels != NULL && t < next->n_levels; t++)
            ef_level_free(&next->levels[t]);
        free(next->levels);
        free(next->seeds);
        if (!keeps_labels)
            free(next->labels);
    }
    return status;
}

/* Pyramid: room for the labels of rows that come. */
static efface_status make_room(const replay *r, efface_kmeans *m, efface_error *error) {
    if (m->labels == NULL || r->data->n_rows <= m->n_rows)
        return EFFACE_OK;
    uint32_t *const labels = ef_realloc(m->labels, r->data->n_rows, sizeof *labels);
    if (labels == NULL)
        return ef_fail_memory(error);
    m->labels = labels;
    return EFFACE_OK;
}

static void commit(replay *r, efface_kmeans *m) {
    const uint32_t kept = r->build ? r->first : r->next.n_levels;
    for (uint32_t t = 0; t < r->n_looked && t < kept; t++)
        apply_change(r, labels_at(r, t), m->levels[t].counts, m->levels[t].sums);
    if (m->labels != NULL && kept > ef_first_full(m)) {
        follow_positions(r, labels_at(r, ef_first_full(m)), m->labels);
        r->next.labels = m->labels;
    } else {
        free(m->labels);
    }
    for (uint32_t t = kept; t < m->n_levels; t++)
        ef_level_free(&m->levels[t]);
    if (r->build) {
        free(m->levels);
        free(m->seeds);
    } else if (!r->next.stable && kept != 0) {
        /* A fit that ends here, by its loss or its iterations, does not look for next centers. */
        m->levels[kept - 1].n_reseeded = 0;
    }
    if (r->reopen) {
        memcpy(m->levels[kept - 1].centers, r->centers,
               (size_t)m->plan.n_clusters * m->domain.map.n_columns * sizeof *r->centers);
    }
    /* Which columns are coarse may have changed though the map did not. */
    r->next.domain.coarse = r->domain.coarse;
    r->next.domain.n_coarse = r->domain.n_coarse;
    r->domain.coarse = m->domain.coarse;
    *m = r->next;
}

/* A fit from the beginning takes the place of the model. */
static efface_status refit(const efface_data *data, efface_kmeans *model, efface_error *error) {
    efface_kmeans *fresh = NULL;
    const uint32_t draw =
        model->params.redraw == EFFACE_REDRAW_FRESH ? model->draw + 1 : model->draw;
    const efface_status status = ef_kmeans_fit_draw(data, &model->params, draw, &fresh, error);
    if (status == EFFACE_OK)
        ef_kmeans_become(model, fresh);
    return status;
}

/* Brings the sums of squares up to date. */
static void change_squares(replay *r) {
    const uint32_t d = r->model->domain.map.n_columns;
    for (size_t i = 0; i < r->change->n_rows; i++) {
        snap_changed(r, i, r->point);
        int64_t square = 0;
        for (uint32_t j = 0; j < d; j++)
            square += (int64_t)r->point[j] * r->point[j];
        const ef_i128 weighted = (ef_i128)ef_change_weight(r->change, i) * square;
        r->next.square_sum += weighted;
        if (plan_samples(r->model) && r->member[i])
            r->next.sample_sum += weighted;
    }
}

/* Which changed rows take part in sampled levels; without a sample, all do. */
static void find_members(replay *r) {
    const ef_plan *const plan = &r->model->plan;
    for (size_t i = 0; i < r->change->n_rows; i++) {
        r->member[i] = !plan_samples(r->model) ||
                       ef_member_exponent(plan->seed, r->change->rows[i].id) >= plan->rate;
        r->any_member |= r->member[i];
    }
}

static void fill_report(const replay *r, uint64_t n_assigned, uint32_t n_levels,
                        efface_report *report) {
    report->reason = r->reason;
    report->action = r->refit || r->round < r->model->plan.n_clusters ? EFFACE_ACTION_REFITTED
                     : r->build                                       ? EFFACE_ACTION_REPAIRED
                                                                      : EFFACE_ACTION_UNTOUCHED;
    report->level = r->build && !r->refit ? r->first : 0;
    report->rows_visited = n_assigned;
    report->levels_replayed = n_levels;
}

/* Step 1. */
static efface_status look(replay *r, const efface_kmeans *model, const efface_data *data,
                          const ef_change *change, efface_error *error) {
    *r = (replay){.model = model, .next = *model, .data = data, .change = change};
    r->next.n_rows = data->n_rows;
    r->next.total_weight = data->total_weight;
    r->next.rows_assigned = r->next.rows_undecided = r->next.rows_moved = 0;
    r->round = model->plan.n_clusters;
    efface_status status = ef_kernels_require(&r->kernels, error);
    if (status == EFFACE_OK)
        status = look_at_plan(r, error);
    if (status != EFFACE_OK || r->refit || model->n_levels == 0)
        return status;
    if (!replay_init(r))
        return ef_fail_memory(error);
    find_members(r);
    change_squares(r);
    look_at_seeds(r);
    return r->build ? EFFACE_OK : look_at_levels(r, error);
}

efface_status ef_replay_look(const efface_kmeans *model, const efface_data *data,
                             const ef_change *change, efface_report *report, efface_error *error) {
    replay r;
    const efface_status status = look(&r, model, data, change, error);
    if (status == EFFACE_OK) {
        r.refit |= r.build && model->params.redraw == EFFACE_REDRAW_FRESH;
        const uint32_t all = model->plan.iterations + model->plan.passes + 1;
        const uint32_t most = r.refit ? all : r.build ? all - r.first : 0;
        fill_report(&r, (uint64_t)data->n_rows * most, most, report);
    }
    replay_free(&r);
    return status;
}

efface_status ef_replay(efface_kmeans *model, const efface_data *data, const ef_change *change,
                        efface_report *report, efface_error *error) {
    replay r;
    efface_status status = look(&r, model, data, change, error);
    if (model->params.redraw == EFFACE_REDRAW_FRESH && r.build) {
        /* The paper's own way: whatever reaches a level starts over with fresh randomness. */
        r.build = false;
        r.refit = true;
    }
    if (status == EFFACE_OK && !r.refit)
        status = make_room(&r, model, error);
    if (status == EFFACE_OK && r.build)
        status = build(&r, error);
    if (status == EFFACE_OK && r.refit)
        status = refit(data, model, error);
    if (status == EFFACE_OK) {
        if (r.refit)
            fill_report(&r, model->rows_assigned, ef_count_partitions(model, 0), report);
        else
            fill_report(&r, r.next.rows_assigned,
                        r.build ? ef_count_partitions(&r.next, r.first) : 0, report);
        if (!r.refit)
            commit(&r, model);
    }
    replay_free(&r);
    return status;
}
