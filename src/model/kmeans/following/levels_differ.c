/*
 * The first step of following a change: what would a fit to the new rows do differently?
 *
 * Do the parameters come out the same, the domain, the winners of the seeding races? If so, walk
 * the levels: take the changed rows out of (or into) a copy of the level's sums, each under the
 * center that is nearest to it, and compute the next centers from them. While these are the ones
 * the next level has, nothing else happened in this level, and no other row has to be looked at:
 * the centers determine the partition, and the partition of all other rows is as it was.
 *
 * A race that a loser leaves has the same winner; a row that comes must beat the winner's key,
 * which is kept. Where the paper's deletion is approximate in small print (the mean without a row,
 * the threshold gamma n / k that moves for every cluster, the stopping rule) the numbers are simply
 * computed anew.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "model/kmeans/following/revision.h"

#include <string.h>

/* ---------------------------------------------------------------- plan and domain */

/* The domain as a fit to the new rows would have it. Without one, the sums of its columns have to be
 * made again from all rows. */
static efface_status look_at_domain(ef_revision *r, bool *has_one, efface_error *error) {
    const ef_kmeans *const old = r->model;
    const ef_bounds bounds = ef_params_bounds(&old->params, old->ignored);
    ef_spreads *next = NULL;
    *has_one = true;
    if (old->domain.spreads != NULL) {
        *has_one = ef_spreads_stand(old->domain.spreads, r->counted, old->ignored);
        if (!*has_one)
            return EFFACE_OK;
        next = ef_spreads_copy(old->domain.spreads);
        if (next == NULL)
            return ef_fail_memory(error);
        for (size_t i = 0; i < r->change->n_rows; i++)
            ef_spreads_change(next, ef_change_first(r->change, i), ef_change_weight(r->change, i));
    }
    return ef_domain_init(&r->domain, r->counted, bounds, next, error);
}

/* Parameters and domain as a fit to the new rows would have them. Sets `refit` if they differ. */
static efface_status look_at_plan(ef_revision *r, efface_error *error) {
    const ef_kmeans *const old = r->model;
    ef_kmeans_plan plan;
    efface_status status = ef_kmeans_plan_init(&plan, r->counted, &old->params, error);
    if (status != EFFACE_OK)
        return status;
    bool has_domain;
    status = look_at_domain(r, &has_domain, error);
    if (status != EFFACE_OK)
        return status;
    if (!has_domain)
        r->reason = EF_REASON_SCALE;
    else if (r->domain.exponent != old->domain.exponent)
        r->reason = EF_REASON_BOUND;
    else if (!ef_domain_same_map(&r->domain, &old->domain))
        r->reason = old->domain.spreads != NULL ? EF_REASON_SPREAD : EF_REASON_SCALE;
    else if (plan.width != old->plan.width)
        r->reason = EF_REASON_WIDTH;
    else if (plan.n_clusters != old->plan.n_clusters && old->tree == NULL) /* a root has its own */
        r->reason = EF_REASON_CLUSTERS;
    else if (plan.method != old->plan.method) /* and with it, maybe, the lattice */
        r->reason = EF_REASON_RATE;
    else if (plan.epsilon != old->plan.epsilon)
        r->reason = EF_REASON_EPSILON;
    r->next.plan.wanted = plan.wanted;
    r->refit = r->reason != EF_REASON_NONE;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- seeds */

void ef_snap_changed(const ef_revision *r, size_t i, int32_t *point) {
    const ef_map *const map = &r->model->domain.map;
    const float *const row = ef_change_first(r->change, i);
    for (uint32_t j = 0; j < map->n_columns; j++)
        point[j] = ef_snap(row[(size_t)j * EF_PANEL], map->low[j], map->step[j]);
}

/* The seeding that a change is held against. */
typedef struct seeding {
    uint64_t seed;
    const ef_winner *winners;
    const int32_t *points; /* the winners' grid points */
} seeding;

/* From the first race among equals on every row has the place of a seed, and so have the seeds that
 * follow: it is enough to look from the end. */
uint32_t ef_count_apart(const ef_kmeans *m, const int32_t *seeds) {
    const size_t d = m->domain.map.n_columns;
    uint32_t n = m->plan.n_clusters;
    for (uint32_t s = 0; n > 1 && s < n - 1;) {
        const bool same = memcmp(seeds + (n - 1) * d, seeds + s * d, d * sizeof *seeds) == 0;
        n -= same;
        s = same ? 0 : s + 1;
    }
    return n;
}

/* The first round below `end` that a row which comes would win; `end` if it wins none. The race is
 * among equals from round n_apart on. Cost O(end * d). */
static uint32_t first_round_won(const ef_revision *r, size_t i, const seeding *s, uint32_t n_apart,
                                uint32_t end) {
    const uint32_t d = r->model->domain.map.n_columns;
    const uint64_t id = r->change->rows[i].id;
    ef_snap_changed(r, i, r->point);
    int64_t distance = 1;
    for (uint32_t l = 0; l < end; l++) {
        const uint64_t bits = ef_tape(s->seed, EF_TAPE_SEED, 0, id, l);
        if (l != 0) {
            const int64_t to_row = ef_grid_sqdist(r->point, s->points + (size_t)(l - 1) * d, d);
            distance = l == 1 || to_row < distance ? to_row : distance;
        }
        if (l >= n_apart && distance > 0)
            return l;
        if (l >= n_apart && ef_beats(ef_tape_exponential(bits), id, &s->winners[l]))
            return l;
        if (l < n_apart && distance > 0 &&
            ef_beats(ef_race_key(bits, r->change->rows[i].weight, distance), id, &s->winners[l]))
            return l;
    }
    return end;
}

/* The first round of plain seeding that has another winner after the change; n_clusters for none.
 */
static uint32_t first_round_lost(const ef_revision *r, const seeding *s) {
    const uint32_t n_apart = ef_count_apart(r->model, s->points);
    uint32_t round = r->model->plan.n_clusters; /* later rounds make no difference */
    for (size_t i = 0; i < r->change->n_rows; i++) {
        if (!r->change->leaves[i]) {
            round = first_round_won(r, i, s, n_apart, round);
            continue;
        }
        for (uint32_t l = round; l > 0; l--)
            if (s->winners[l - 1].id == r->change->rows[i].id)
                round = l - 1;
    }
    return round;
}

static void look_at_seeds(ef_revision *r) {
    const ef_kmeans *const m = r->model;
    r->round = first_round_lost(r, &(seeding){m->plan.seed, m->seeds, m->levels[0].centers});
    if (r->round < m->plan.n_clusters)
        ef_seeds_differ(r);
}

void ef_seeds_differ(ef_revision *r) {
    r->other_seeds = true;
    r->reason = EF_REASON_SEED;
    r->build = true;
    r->first = 0;
}

/* ---------------------------------------------------------------- levels */

void ef_apply_change(const ef_revision *r, const uint32_t *labels, int64_t *counts, int64_t *sums) {
    const ef_map *const map = &r->model->domain.map;
    for (size_t i = 0; i < r->change->n_rows; i++) {
        const int64_t weight = ef_change_weight(r->change, i);
        counts[labels[i]] += weight;
        r->kernels->move_row(map, ef_change_first(r->change, i), weight,
                             sums + (size_t)labels[i] * map->n_columns, NULL);
    }
}

/* Where the changed rows belong at level t. */
static efface_status find_labels(const ef_revision *r, uint32_t t, uint32_t *labels,
                                 efface_error *error) {
    const ef_map *const map = &r->model->domain.map;
    const ef_kept_labels *const kept = ef_labels_kept(r->model);
    const size_t n = r->change->n_rows;
    ef_centers centers;
    if (t == 0 && n == 1 && r->change->leaves[0] && kept != NULL &&
        r->change->positions[0] != EF_NO_POSITION) {
        labels[0] = ef_kept_label(kept, r->change->positions[0]);
        return EFFACE_OK;
    }
    if (!ef_centers_init(&centers, r->model->levels[t].centers, r->model->plan.n_clusters,
                         map->n_columns, r->kernels->tile))
        return ef_fail_memory(error);
    float *const panel = ef_alloc_aligned(map->n_columns, EF_PANEL * sizeof *panel);
    for (size_t i = 0; panel != NULL && i < n; i += EF_PANEL) {
        const float *const values = ef_change_first(r->change, i);
        const unsigned n_rows = n - i < EF_PANEL ? (unsigned)(n - i) : EF_PANEL;
        uint32_t nearest[EF_PANEL];
        (void)r->kernels->nearest(&centers, map, values, n_rows, values, panel, nearest, NULL);
        memcpy(labels + i, nearest, n_rows * sizeof *nearest);
    }
    ef_centers_free(&centers);
    if (panel == NULL)
        return ef_fail_memory(error);
    ef_free(panel);
    return EFFACE_OK;
}

efface_status ef_take_in(ef_revision *r, uint32_t t, efface_error *error) {
    const ef_level *const level = &r->model->levels[t];
    const ef_map *const map = &r->model->domain.map;
    const size_t k = r->model->plan.n_clusters, d = map->n_columns, n = r->change->n_rows;
    uint32_t *const labels = ef_labels_at(r, t);
    const efface_status status = find_labels(r, t, labels, error);
    if (status != EFFACE_OK)
        return status;
    memset(r->touched, 0, k * sizeof *r->touched);
    for (size_t i = 0; i < n; i++)
        r->touched[labels[i]] = true;
    r->scratch.centers = level->centers;
    memcpy(r->scratch.counts, level->counts, k * sizeof *level->counts);
    memcpy(r->scratch.sums, level->sums, k * d * sizeof *level->sums);
    ef_apply_change(r, labels, r->scratch.counts, r->scratch.sums);
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
static bool reseeding_stands(const ef_revision *r, uint32_t t) {
    const ef_kmeans *const m = r->model;
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
            if (r->change->leaves[i]) {
                if (winner != NULL && winner->id == row->id)
                    return false;
                continue;
            }
            ef_snap_changed(r, i, r->point);
            const int64_t distance =
                ef_grid_sqdist(r->point, level->centers + (size_t)ef_labels_at(r, t)[i] * d, d);
            const uint64_t bits = ef_tape(m->plan.seed, EF_TAPE_RESEED, c, row->id, t + 1);
            if (distance > 0 &&
                (winner == NULL ||
                 ef_beats(ef_race_key(bits, row->weight, distance), row->id, winner)))
                return false;
        }
    }
    return true;
}

/* Whether the center of a cluster may come out differently though no changed row is in it: only by
 * the threshold of quantized, before or after. */
static bool threshold_reaches(const ef_revision *r, const ef_level *level, uint32_t cluster) {
    const ef_kmeans_plan *const plan = &r->model->plan;
    const ef_i128 count = (ef_i128)EF_GAMMA_ONE * plan->n_clusters * level->counts[cluster];
    return count < (ef_i128)plan->gamma * r->model->total_weight ||
           count < (ef_i128)plan->gamma * r->next.total_weight;
}

/* The next centers into r->centers. `known` has them as they were before the change, or is NULL.
 * Returns whether they differ from `known`, and notes why. */
static bool look_at_next(ef_revision *r, uint32_t t, const int32_t *known) {
    const ef_kmeans *const m = r->model;
    const ef_level *const level = &m->levels[t];
    const size_t d = m->domain.map.n_columns;
    const ef_run run = ef_run_of(&r->next);
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
        ef_next_center(&run, &r->scratch, t, c, next);
        if (known != NULL && memcmp(next, known + c * d, d * sizeof *next) != 0) {
            if (!differs)
                r->reason = r->touched[c] ? EF_REASON_CENTERS : EF_REASON_GAMMA;
            differs = true;
        }
    }
    return differs;
}

/* The fit ends with level n_levels - 1, and its model is level model_level. */
static void settle_levels(ef_revision *r, uint32_t n_levels, uint32_t model_level, bool stable) {
    if (n_levels != r->model->n_levels || model_level != r->model->model_level)
        r->reason = EF_REASON_STOP;
    r->next.n_levels = n_levels;
    r->next.model_level = model_level;
    r->next.stable = stable;
}

static void build_from(ef_revision *r, uint32_t level, const int32_t *centers, ef_i128 loss) {
    const size_t n = (size_t)r->model->plan.n_clusters * r->model->domain.map.n_columns;
    r->build = true;
    r->first = level;
    r->loss = loss;
    if (centers != r->centers)
        memcpy(r->centers, centers, n * sizeof *centers);
}

efface_status ef_look_at_levels(ef_revision *r, efface_error *error) {
    const ef_kmeans *const m = r->model;
    const ef_kmeans_plan *const plan = &m->plan;
    const bool quantized = plan->method == EFFACE_METHOD_QUANTIZED;
    const size_t n_bytes = (size_t)plan->n_clusters * m->domain.map.n_columns * sizeof *r->centers;
    ef_i128 before = 0, loss = 0;
    for (uint32_t t = 0;; t++) {
        const ef_level *const level = &m->levels[t];
        r->n_looked = t;
        if (!level->has_partition) {
            settle_levels(r, t + 1, t, false);
            return EFFACE_OK;
        }
        r->n_looked = t + 1;
        const efface_status status = ef_take_in(r, t, error);
        if (status != EFFACE_OK)
            return status;
        if (quantized) {
            before = loss;
            loss = ef_level_loss(&r->next, &r->scratch);
            if (t != 0 && loss >= before) {
                settle_levels(r, t + 1, t - 1, false);
                return EFFACE_OK;
            }
            if (t == plan->iterations) {
                settle_levels(r, t + 1, t, false);
                return EFFACE_OK;
            }
        }
        if (!reseeding_stands(r, t)) {
            r->reason = EF_REASON_EMPTY;
            r->n_looked = t;
            build_from(r, t, level->centers, before);
            return EFFACE_OK;
        }
        const bool last = t + 1 == m->n_levels;
        /* A level that ended by being stable has itself as next; one that ended otherwise never
         * computed its next centers, nor whom it would reseed. */
        const int32_t *const known = !last                              ? level[1].centers
                                     : m->stable && m->model_level == t ? level->centers
                                                                        : NULL;
        if (known == NULL) {
            r->reason = EF_REASON_STOP;
            r->n_looked = t;
            build_from(r, t, level->centers, before);
            return EFFACE_OK;
        }
        const bool differs = look_at_next(r, t, known);
        if (memcmp(r->centers, level->centers, n_bytes) == 0) {
            settle_levels(r, t + 1, t, true);
            return EFFACE_OK;
        }
        if (!differs)
            continue;
        if (!last && !level[1].has_partition) {
            r->reason = EF_REASON_NONE;
            r->reopen = true;
            settle_levels(r, t + 2, t + 1, false);
            return EFFACE_OK;
        }
        build_from(r, t + 1, r->centers, loss);
        return EFFACE_OK;
    }
}

/* ---------------------------------------------------------------- pyramid */

/* Brings the pilot up to date with a changed row, and ranks it as before the change. */
static void change_pilot(ef_revision *r, size_t i) {
    const ef_kmeans *const m = r->model;
    const efface_row *const row = &r->change->rows[i];
    const uint32_t k = m->plan.n_clusters, shift = m->pilot.shift, of_jury = shift + EF_JURY_SHIFT;
    const bool leaves = r->change->leaves[i];
    const uint64_t one = leaves ? UINT64_MAX : 1;
    ef_pilot *const next = &r->next.pilot;
    int64_t distance;
    ef_snap_changed(r, i, r->point);
    const uint32_t nearest =
        ef_nearest_point(m->pilot.points, k, m->domain.map.n_columns, r->point, &distance);
    const ef_rank rank = ef_rank_of(&m->pilot, k, nearest, row->weight, distance,
                                    ef_member_zeros(m->plan.seed, row->id));
    r->ranks[i] = rank;
    next->counts[nearest] += ef_change_weight(r->change, i);
    next->n_sample += rank.need <= shift ? one : 0;
    next->n_within += rank.need < shift ? one : 0;
    if (distance > 0) {
        const ef_u128 product = (ef_u128)row->weight * (ef_u128)distance;
        const ef_i128 part = (ef_i128)1 << ef_log_up(product);
        next->spread += leaves ? -part : part;
    }
    if (rank.need <= of_jury) {
        const ef_i128 weight = ef_member_weight(rank.base, of_jury, row->weight);
        next->jury_weight += leaves ? -weight : weight;
    }
    r->resample |= rank.need <= shift;
}

/* Whether the pilot stands, and if it does, whether the sample does. */
static void look_at_pilot(ef_revision *r) {
    const uint32_t k = r->model->plan.n_clusters;
    const ef_pilot *const pilot = &r->model->pilot;
    const seeding s = {r->model->plan.seed, pilot->winners, pilot->points};
    r->refit = true;
    r->reason = EF_REASON_SEED;
    if (first_round_lost(r, &s) < k)
        return;
    ef_pilot *const next = &r->next.pilot;
    next->counts = r->counts;
    memcpy(next->counts, pilot->counts, k * sizeof *next->counts);
    for (size_t i = 0; i < r->change->n_rows; i++)
        change_pilot(r, i);
    /* A logarithm that moves would change what all rows are worth. */
    bool stands = ef_log_up((ef_u128)next->spread) == ef_log_up((ef_u128)pilot->spread);
    for (uint32_t c = 0; c < k; c++)
        if (next->counts[c] != pilot->counts[c])
            stands &= ef_log_up((ef_u128)next->counts[c]) == ef_log_up((ef_u128)pilot->counts[c]);
    r->refit = !stands || !ef_shift_stands(next, r->next.plan.wanted);
    r->pilot_stands = r->refit;
    r->reason = r->refit ? EF_REASON_RATE : EF_REASON_NONE;
    r->resample |= ef_weight_cut(next->jury_weight) != ef_weight_cut(pilot->jury_weight);
}

/* Rows of the jury that came or left change the losses of the starts, and perhaps which is the
 * best. */
static efface_status look_at_jury(ef_revision *r, efface_error *error) {
    const ef_kmeans *const m = r->model;
    const uint32_t jury = m->pilot.shift + EF_JURY_SHIFT, n_starts = m->plan.starts;
    const uint32_t cut = ef_weight_cut(m->pilot.jury_weight);
    const size_t n_values = (size_t)m->plan.n_clusters * m->domain.map.n_columns;
    bool reached = false;
    for (size_t i = 0; i < r->change->n_rows; i++)
        reached |= r->ranks[i].need <= jury;
    if (!reached)
        return EFFACE_OK;
    r->losses = ef_alloc(n_starts, sizeof *r->losses);
    if (r->losses == NULL)
        return ef_fail_memory(error);
    memcpy(r->losses, m->starts.losses, n_starts * sizeof *r->losses);
    for (size_t i = 0; i < r->change->n_rows; i++) {
        if (r->ranks[i].need > jury)
            continue;
        const ef_i128 whole = ef_member_weight(r->ranks[i].base, jury, r->change->rows[i].weight);
        const ef_i128 weight = ef_cut_weight(whole, cut);
        ef_snap_changed(r, i, r->point);
        for (uint32_t s = 0; s < n_starts; s++) {
            const ef_i128 part = weight * ef_start_distance(m, s, r->point);
            r->losses[s] += r->change->leaves[i] ? -part : part;
        }
    }
    r->next.start = ef_starts_best(n_starts, r->losses);
    if (r->next.start == m->start)
        return EFFACE_OK;
    ef_start_centers(m, &m->starts, r->next.start, r->centers);
    if (memcmp(r->centers, m->levels[0].centers, n_values * sizeof *r->centers) != 0) {
        r->reason = EF_REASON_SAMPLE;
        build_from(r, 0, r->centers, 0);
    }
    return EFFACE_OK;
}

/* Brings the sum of squares up to date. */
static void change_squares(ef_revision *r) {
    const uint32_t d = r->model->domain.map.n_columns;
    for (size_t i = 0; i < r->change->n_rows; i++) {
        ef_snap_changed(r, i, r->point);
        int64_t square = 0;
        for (uint32_t j = 0; j < d; j++)
            square += (int64_t)r->point[j] * r->point[j];
        r->next.square_sum += (ef_i128)ef_change_weight(r->change, i) * square;
    }
}

/* One block, for most requests do little else than take and release memory. */
static bool take_memory(ef_revision *r) {
    const size_t k = r->model->plan.n_clusters, d = r->model->domain.map.n_columns;
    const size_t n = r->change->n_rows;
    const uint32_t n_levels = r->model->n_levels;
    const size_t n_own = k * d * (sizeof *r->scratch.sums + sizeof *r->centers) +
                         k * (sizeof *r->scratch.counts + sizeof *r->counts + sizeof *r->touched) +
                         d * sizeof *r->point;
    size_t n_bytes;
    if (!ef_mul_size(n, n_levels * sizeof *r->labels + sizeof *r->ranks, &n_bytes) ||
        !ef_add_size(n_bytes, n_own, &n_bytes))
        return false;
    r->scratch.sums = ef_alloc(n_bytes, 1);
    if (r->scratch.sums == NULL)
        return false;
    r->scratch.counts = r->scratch.sums + k * d;
    r->counts = r->scratch.counts + k;
    r->centers = (int32_t *)(r->counts + k);
    r->point = r->centers + k * d;
    r->labels = (uint32_t *)(r->point + d);
    r->ranks = (ef_rank *)(r->labels + n * n_levels);
    r->touched = (bool *)(r->ranks + n);
    return true;
}

efface_status ef_look(ef_revision *r, efface_error *error) {
    efface_status status = ef_kernels_require(&r->kernels, error);
    if (!r->model->is_start) /* nothing of them follows from the rows of the sample */
        EF_THEN(status, look_at_plan(r, error));
    if (status != EFFACE_OK || r->refit || r->model->n_levels == 0)
        return status;
    if (!take_memory(r))
        return ef_fail_memory(error);
    change_squares(r);
    const bool pyramid = r->model->plan.method == EFFACE_METHOD_PYRAMID;
    if (pyramid)
        look_at_pilot(r);
    if (r->refit)
        return EFFACE_OK;
    if (r->resample) {
        r->reason = EF_REASON_SAMPLE;
        return EFFACE_OK;
    }
    if (pyramid)
        status = look_at_jury(r, error);
    else if (r->model->plan.candidates > 1)
        status = ef_look_at_rounds(r, error);
    else
        look_at_seeds(r);
    return status != EFFACE_OK || r->build || r->plays_again ? status : ef_look_at_levels(r, error);
}
