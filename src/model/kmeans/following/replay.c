/*
 * Replay: a model follows a change of its rows, exactly.
 *
 * Three steps, of which only the first two can fail:
 *
 * 1. Look (look.c). Decide what a fit to the new rows would do differently, from the model's own
 *    numbers.
 * 2. Build. From the first level that differs on, levels are made as in a fit, beside the old ones.
 * 3. Commit. The sums of the levels before it are corrected in place, the new levels replace the
 *    old ones.
 *
 * Why this is exact: every comparison is between integers, and each decision of a fit (parameters,
 * domain, races, centers, thresholds, stopping) is either made again or shown to depend on nothing
 * that changed.
 *
 * Watches (watch.h) tell which rows can have moved in step 2; without them it passes over all rows.
 */
#include "model/kmeans/following/replay.h"

#include "base/checked.h"
#include "base/status.h"
#include "base/tape.h"
#include "model/kmeans/definition/tree.h"

#include <string.h>

/* ---------------------------------------------------------------- what pyramid keeps */

static bool samples(const ef_kmeans *model) {
    return model->plan.method == EFFACE_METHOD_PYRAMID;
}

/* Lets the kept partition of level 0 follow the change. `guard` has room for the rows that come,
 * and those rows' labels are known from looking at level 0. */
static void follow_positions(const ef_pending *r, ef_guard *guard) {
    const ef_change *const change = r->change;
    size_t n = r->model->n_rows;
    for (size_t i = 0; i < change->n_rows; i++) {
        const size_t position = change->positions[i];
        if (change->leaves[i] && !change->replaces) {
            ef_guard_move_row(guard, position, --n);
        } else if (!change->leaves[i]) {
            ef_guard_set_label(guard, position, ef_labels_at(r, 0)[i]);
            guard->codes[position] = ef_marks(r->ranks[i].need, r->model->pilot.shift);
            n += !change->replaces;
        }
    }
}

/* Room for the labels of rows that come. The model is none the wiser. */
static efface_status make_room(const ef_pending *r, ef_kmeans *model, efface_error *error) {
    if (model->guard.codes == NULL || r->counted->n_rows <= model->n_rows)
        return EFFACE_OK;
    return ef_guard_grow(&model->guard, (size_t)model->n_rows, r->counted->n_rows)
               ? EFFACE_OK
               : ef_fail_memory(error);
}

/* Gives the model to be a guard of its own, with level 0 as it was, after the change. Leaves that
 * level in r->scratch. */
static efface_status copy_guard(ef_pending *r, efface_error *error) {
    const ef_kmeans *const m = r->model;
    const size_t most = m->n_rows > r->counted->n_rows ? (size_t)m->n_rows : r->counted->n_rows;
    const efface_status status = ef_take_in(r, 0, error);
    if (status != EFFACE_OK)
        return status;
    if (!ef_guard_copy(&r->next.guard, &m->guard, (size_t)m->n_rows, most, m->plan.n_clusters,
                       m->domain.map.n_columns))
        return ef_fail_memory(error);
    r->owns_guard = true;
    follow_positions(r, &r->next.guard);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- build */

/* Pyramid: runs the starts again. Where that ends up with the same centers, all else is as if no
 * row of the sample had changed. */
static efface_status resample(ef_pending *r, efface_error *error) {
    const ef_kmeans *const m = r->model;
    const size_t n_values = (size_t)m->plan.n_clusters * m->domain.map.n_columns;
    efface_status status = copy_guard(r, error);
    if (status == EFFACE_OK)
        status = ef_starts_run(&r->next.starts, &r->next, r->data, error);
    if (status != EFFACE_OK)
        return status;
    r->owns_starts = true;
    r->next.start = ef_starts_best(m->plan.starts, r->next.starts.losses);
    ef_start_centers(&r->next, &r->next.starts, r->next.start, r->centers);
    if (memcmp(r->centers, m->levels[0].centers, n_values * sizeof *r->centers) != 0) {
        r->build = true;
        r->first = 0;
        return EFFACE_OK;
    }
    ef_guard_free(&r->next.guard);
    r->next.guard = m->guard;
    r->owns_guard = false;
    return ef_look_at_levels(r, error);
}

/* Pyramid: level 0 has a partition to start from, that of its old centers. */
static efface_status start_from_guard(ef_pending *r, ef_level_builder *builder,
                                      efface_error *error) {
    const efface_status status = r->owns_guard ? EFFACE_OK : copy_guard(r, error);
    builder->previous = &r->scratch;
    builder->way = ef_by_guard;
    return status;
}

/* ---------------------------------------------------------------- watches */

/* Whether it is possible, and worth it, to watch the levels of a model that will have n_rows rows:
 * not where centers jump from one point of a lattice to the next, which is farther than most
 * margins. */
static bool wants_watches(const ef_kmeans *m, size_t n_rows) {
    return m->params.keep_margins && m->was_rebuilt && m->plan.method == EFFACE_METHOD_LLOYD &&
           m->plan.iterations <= EF_MOST_WATCHED_LEVELS &&
           m->plan.n_clusters <= EF_MOST_WATCHED_CLUSTERS && ef_positions_are_short(n_rows);
}

/* Lets the watches follow the change, and takes what the builder needs for using them. False if
 * memory is short; some may then have followed. */
static bool watches_follow(ef_pending *r, ef_level_builder *builder) {
    const ef_kmeans *const m = r->model;
    const size_t n = r->change->n_rows;
    builder->watched.from = m;
    builder->watched.change = r->change;
    const size_t n_room = 2 * EF_PANEL * (size_t)m->domain.map.n_columns;
    builder->watched.gone = ef_alloc(n * m->n_levels, sizeof *builder->watched.gone);
    builder->watched.room = ef_alloc_aligned(n_room, sizeof *builder->watched.room);
    if (builder->watched.gone == NULL || builder->watched.room == NULL ||
        !ef_shift_init(&builder->watched.shift, m->plan.n_clusters, m->domain.map.n_columns))
        return false;
    memset(builder->watched.room, 0, n_room * sizeof *builder->watched.room);
    for (uint32_t t = 0; t < m->n_watches && t < m->n_levels; t++) {
        uint32_t *const labels = builder->watched.gone + t * n;
        for (size_t i = 0; i < n; i++)
            labels[i] = t < r->first ? ef_labels_at(r, t)[i] : EF_NO_CLUSTER;
        if (m->watches[t].tiers != NULL && !ef_watch_follow(&m->watches[t], r->change, labels))
            return false;
    }
    return true;
}

/* Lets the builder use the watches, which are from now on those of the model to be. With other
 * seeds they are worth nothing, and new ones would double the cost of this request: the next makes
 * them. The next makes them as well if there is no memory for using them now. */
static void use_watches(ef_pending *r, ef_level_builder *builder) {
    if (!wants_watches(r->model, r->counted->n_rows))
        return;
    r->watches_moved = true;
    if (!r->other_seeds && watches_follow(r, builder))
        builder->way = ef_by_watch;
    else
        ef_watches_drop(&r->next, 0);
}

/* Levels that stay as they are but for the rows that changed. */
static void follow_watches(const ef_pending *r, ef_kmeans *m, uint32_t kept) {
    for (uint32_t t = 0; t < m->n_watches && t < kept && t < r->n_looked; t++)
        if (m->watches[t].tiers != NULL &&
            !ef_watch_follow(&m->watches[t], r->change, ef_labels_at(r, t)))
            ef_watch_free(&m->watches[t]);
}

/* ---------------------------------------------------------------- seeds */

/* Gives the model to be seeds and rounds of its own: those there were, with potentials as they are
 * after the change. */
static efface_status take_seeds(ef_pending *r, efface_error *error) {
    ef_kmeans *const next = &r->next;
    const ef_kmeans *const m = r->model;
    const size_t d = m->domain.map.n_columns, k = m->plan.n_clusters, c = m->plan.candidates;
    const size_t n = (size_t)m->rounds.n_rounds * c;
    r->owns_seeds = true;
    next->rounds = (ef_rounds){0};
    next->seeds = ef_alloc(k, sizeof *next->seeds);
    if (next->seeds == NULL ||
        (ef_keeps_rounds(&m->plan) && !ef_rounds_init(&next->rounds, k - 1, c, d)))
        return ef_fail_memory(error);
    memcpy(next->seeds, m->seeds, k * sizeof *next->seeds);
    if (m->rounds.potentials == NULL)
        return EFFACE_OK;
    next->rounds.n_rounds = m->rounds.n_rounds;
    memcpy(next->rounds.potentials, r->potentials, n * sizeof *r->potentials);
    memcpy(next->rounds.winners, m->rounds.winners, n * sizeof *m->rounds.winners);
    memcpy(next->rounds.points, m->rounds.points, n * d * sizeof *m->rounds.points);
    return EFFACE_OK;
}

/* The seeds that seeding goes on from. */
static void begin_seeds(ef_pending *r, ef_level *level) {
    ef_kmeans *const next = &r->next;
    const size_t d = r->model->domain.map.n_columns, c = r->model->plan.candidates;
    const uint32_t round = r->round, known = round == 0 ? 0 : round - 1;
    memcpy(level->centers, r->model->levels[0].centers, round * d * sizeof *level->centers);
    if (next->rounds.n_rounds > known)
        next->rounds.n_rounds = known;
    if (r->other_slot) {
        const size_t at = (round - 2) * c + r->slot;
        next->seeds[round - 1] = next->rounds.winners[at];
        memcpy(level->centers + (round - 1) * d, next->rounds.points + at * d,
               d * sizeof *level->centers);
    }
}

/* Greedy seeding: plays the rounds again of which a loser does not stand. Where a seed comes out
 * differently, those after it are to be played too; if none does, the seeds stand. */
static efface_status play_again(ef_pending *r, efface_error *error) {
    ef_kmeans *const next = &r->next;
    const ef_kmeans *const m = r->model;
    const uint32_t c = m->plan.candidates, n_rounds = m->rounds.n_rounds;
    ef_level_builder builder = {.data = r->data, .way = ef_by_pass};
    efface_status status = take_seeds(r, error);
    if (status == EFFACE_OK)
        status = ef_builder_prepare(&builder, next, error);
    const ef_seeds seeds = ef_seeds_of(next, m->levels[0].centers);
    for (uint32_t l = 1; status == EFFACE_OK && l < r->round && l <= n_rounds; l++) {
        bool has_slots = true;
        if (!r->again[l])
            continue;
        status = ef_seed_round(&builder.space, &next->plan, &seeds, l, &has_slots, error);
        if (status != EFFACE_OK || (has_slots && next->seeds[l].id == m->seeds[l].id))
            continue;
        r->round = has_slots ? l + 1 : l;
        r->other_slot = has_slots;
        r->slot = ef_best_slot(next->rounds.potentials + (size_t)(l - 1) * c, c);
        ef_seeds_differ(r);
    }
    ef_builder_free(&builder);
    return status == EFFACE_OK && !r->build ? ef_look_at_levels(r, error) : status;
}

/* ---------------------------------------------------------------- levels */

/* Makes the levels from r->first on in r->next, whose array of levels is then its own. */
static efface_status build(ef_pending *r, efface_error *error) {
    ef_kmeans *const next = &r->next;
    const ef_kmeans *const m = r->model;
    const size_t d = m->domain.map.n_columns, k = m->plan.n_clusters;
    ef_level_builder builder = {.data = r->data, .way = ef_by_pass};
    ef_level *level = NULL;
    efface_status status = EFFACE_OK;
    next->levels = ef_alloc((size_t)r->first + 1, sizeof *next->levels);
    next->n_levels = r->first;
    r->owns_levels = true;
    if (next->levels != NULL) {
        memcpy(next->levels, m->levels, r->first * sizeof *next->levels);
        level = ef_kmeans_add_level(next, false);
    }
    if (level == NULL)
        return ef_fail_memory(error);
    if (r->other_seeds) {
        if (!r->owns_seeds)
            status = take_seeds(r, error);
        if (status == EFFACE_OK)
            status = ef_builder_prepare(&builder, next, error);
        if (status == EFFACE_OK)
            begin_seeds(r, level);
        const ef_seeds seeds = ef_seeds_of(next, level->centers);
        if (status == EFFACE_OK)
            status = ef_seed(&builder.space, &next->plan, &seeds, r->round, NULL, NULL, error);
    } else {
        memcpy(level->centers, r->centers, k * d * sizeof *level->centers);
    }
    if (status == EFFACE_OK && samples(m) && r->first == 0)
        status = start_from_guard(r, &builder, error);
    if (status == EFFACE_OK) {
        use_watches(r, &builder);
        status = ef_make_levels(&builder, next, r->first, r->loss, error);
    }
    ef_watches_drop(next, ef_count_partitions(next, 0));
    next->was_rebuilt = true;
    ef_builder_free(&builder);
    return status;
}

static ef_pending begin(const ef_kmeans *model, const ef_counts *counts, const efface_data *data,
                        const ef_change *change) {
    ef_pending r = {
        .model = model, .counted = counts, .data = data, .change = change, .next = *model};
    r.next.n_rows = counts->n_rows;
    r.next.total_weight = counts->total_weight;
    r.next.rows_assigned = r.next.rows_undecided = r.next.rows_moved = 0;
    r.round = model->plan.n_clusters;
    return r;
}

static efface_status refit(ef_pending *r, efface_error *error) {
    const ef_kmeans *const m = r->model;
    const bool redraws = m->params.redraw == EFFACE_REDRAW_FRESH;
    const efface_status status =
        ef_kmeans_fit_draw(r->data, &m->params, redraws ? m->draw + 1 : m->draw, &r->fresh, error);
    if (status == EFFACE_OK)
        r->fresh->was_rebuilt = m->was_rebuilt;
    return status;
}

/* A tree has been looked at as a whole; what follows for its nodes, they know themselves. */
static efface_status make_tree(ef_pending *r, efface_error *error) {
    return r->refit ? refit(r, error)
                    : ef_tree_change_make(&r->tree_change, r->watched, r->data, r->change, error);
}

efface_status ef_pending_make(ef_pending *r, ef_kmeans *model, const efface_data *data,
                              const ef_change *change, efface_error *error) {
    *r = begin(model, &data->counts, data, change);
    r->watched = model;
    efface_status status = ef_look(r, error);
    if (status == EFFACE_OK && model->tree != NULL)
        return make_tree(r, error);
    if (status == EFFACE_OK && !r->refit && r->resample)
        status = resample(r, error);
    if (status == EFFACE_OK && !r->refit && r->plays_again)
        status = play_again(r, error);
    /* The paper's own way: whatever reaches a level starts over with fresh randomness. */
    if (r->build && model->params.redraw == EFFACE_REDRAW_FRESH)
        r->refit = true;
    if (status == EFFACE_OK && r->refit)
        return refit(r, error);
    if (status == EFFACE_OK)
        status = make_room(r, model, error);
    if (status == EFFACE_OK && !r->owns_guard)
        r->next.guard = model->guard;
    if (status == EFFACE_OK && r->build)
        status = build(r, error);
    return status;
}

void ef_pending_free(ef_pending *r) {
    if (r->watches_moved) {
        /* They belong to a model that is not to be. */
        ef_watches_drop(&r->next, 0);
        ef_free(r->next.watches);
        r->watched->watches = NULL;
        r->watched->n_watches = 0;
    }
    for (uint32_t t = r->first; r->owns_levels && r->next.levels != NULL && t < r->next.n_levels;
         t++)
        ef_level_free(&r->next.levels[t]);
    if (r->owns_levels)
        ef_free(r->next.levels);
    if (r->owns_seeds) {
        ef_free(r->next.seeds);
        ef_rounds_free(&r->next.rounds);
    }
    ef_free(r->potentials);
    ef_free(r->again);
    if (r->owns_starts)
        ef_starts_free(&r->next.starts);
    if (r->owns_guard)
        ef_guard_free(&r->next.guard);
    ef_free(r->losses);
    ef_tree_change_free(r->tree_change);
    ef_kmeans_free(r->fresh);
    ef_domain_free(&r->domain);
    ef_free(r->scratch.sums); /* and what lies behind them */
    *r = (ef_pending){0};
}

/* ---------------------------------------------------------------- what is to come */

uint32_t ef_pending_clusters(const ef_pending *r) {
    return r->fresh != NULL ? r->fresh->plan.n_clusters : r->model->plan.n_clusters;
}

const int32_t *ef_pending_centers(const ef_pending *r) {
    if (r->fresh != NULL)
        return ef_kmeans_centers(r->fresh);
    return r->reopen ? r->centers : ef_kmeans_centers(&r->next);
}

int64_t ef_pending_mass(const ef_pending *r, uint32_t cluster) {
    if (r->fresh != NULL)
        return ef_kmeans_mass(r->fresh, cluster);
    int64_t mass = ef_kmeans_mass(&r->next, cluster);
    const uint32_t t = ef_mass_level(&r->next);
    for (size_t i = 0; i < r->change->n_rows && !(r->build && t >= r->first); i++)
        if (ef_labels_at(r, t)[i] == cluster)
            mass += ef_change_weight(r->change, i);
    return mass;
}

void ef_pending_report(const ef_pending *r, ef_effort *report) {
    if (r->tree_change != NULL) {
        ef_tree_change_report(r->tree_change, report);
        return;
    }
    const bool refitted = r->refit || r->other_seeds || r->plays_again;
    report->action = refitted                  ? EFFACE_ACTION_REFITTED
                     : r->build || r->resample ? EFFACE_ACTION_REPAIRED
                                               : EFFACE_ACTION_UNTOUCHED;
    report->reason = r->resample && !r->refit      ? EF_REASON_SAMPLE
                     : r->plays_again && !r->refit ? EF_REASON_SEED
                                                   : r->reason;
    report->level = r->build && !r->refit && !r->resample && !r->plays_again ? r->first : 0;
    if (r->fresh != NULL) {
        report->rows_visited = r->fresh->rows_assigned;
        report->levels_replayed = ef_count_partitions(r->fresh, 0);
    } else {
        report->rows_visited = r->next.rows_assigned;
        report->levels_replayed = r->build ? ef_count_partitions(&r->next, r->first) : 0;
    }
}

/* ---------------------------------------------------------------- commit */

/* What pyramid keeps: that of the model to be, or that of the model, which follows. */
static void commit_kept(ef_pending *r, ef_kmeans *m) {
    if (r->owns_guard) {
        ef_guard_free(&m->guard);
    } else {
        if (m->guard.codes != NULL)
            follow_positions(r, &m->guard);
        r->next.guard = m->guard;
    }
    /* Centers of the sample may have been copies of its rows. */
    for (size_t i = 0; r->resample && i < r->change->n_rows; i++)
        if (r->change->leaves[i])
            ef_guard_forget(&r->next.guard, r->change, i, &m->domain.map, m->plan.n_clusters);
}

void ef_pending_commit(ef_pending *r, ef_kmeans *m) {
    if (r->fresh != NULL) {
        ef_kmeans_become(m, r->fresh);
        r->fresh = NULL;
        return;
    }
    if (r->tree_change != NULL) {
        ef_tree_change_commit(r->tree_change);
        /* Which columns are coarse may have changed though the map did not. */
        const ef_domain old = m->domain;
        m->domain = r->domain;
        r->domain = old;
        return;
    }
    const uint32_t kept = r->build ? r->first : r->next.n_levels;
    for (uint32_t t = 0; t < r->n_looked && t < kept; t++)
        ef_apply_change(r, ef_labels_at(r, t), m->levels[t].counts, m->levels[t].sums);
    commit_kept(r, m);
    if (!r->build) {
        follow_watches(r, m, kept);
        ef_watches_drop(m, kept < r->n_looked ? kept : r->n_looked);
    } else if (!r->watches_moved) {
        ef_watches_drop(m, 0);
    }

    for (uint32_t t = kept; t < m->n_levels; t++)
        ef_level_free(&m->levels[t]);
    if (r->owns_levels) {
        ef_free(m->levels);
    } else if (!r->next.stable && kept != 0) {
        /* A fit that ends here, by its loss or its iterations, does not look for next centers. */
        m->levels[kept - 1].n_reseeded = 0;
    }
    if (r->owns_seeds) {
        ef_free(m->seeds);
        ef_rounds_free(&m->rounds);
    } else if (r->potentials != NULL) {
        memcpy(m->rounds.potentials, r->potentials,
               (size_t)m->rounds.n_rounds * m->plan.candidates * sizeof *r->potentials);
    }
    if (r->owns_starts)
        ef_starts_free(&m->starts);
    else if (r->losses != NULL)
        memcpy(m->starts.losses, r->losses, m->plan.starts * sizeof *r->losses);
    if (samples(m) && r->counts != NULL)
        memcpy(m->pilot.counts, r->counts, m->plan.n_clusters * sizeof *r->counts);
    if (r->reopen) {
        memcpy(m->levels[kept - 1].centers, r->centers,
               (size_t)m->plan.n_clusters * m->domain.map.n_columns * sizeof *r->centers);
    }
    /* Which columns are coarse may have changed though the map did not. */
    r->next.domain.coarse = r->domain.coarse;
    r->next.domain.n_coarse = r->domain.n_coarse;
    r->domain.coarse = m->domain.coarse;
    *m = r->next;
    r->owns_levels = r->owns_seeds = r->owns_starts = r->owns_guard = false;
    r->watches_moved = false;
}

/* ---------------------------------------------------------------- looking alone, and cold */

/* No more than this many assignments of rows, and levels, would follow from what was found. */
static void estimate(const ef_pending *r, ef_effort *report) {
    const efface_kmeans_params *const params = &r->model->params;
    const uint64_t n = r->counted->n_rows, iterations = r->model->plan.iterations;
    const bool pyramid = params->method == EFFACE_METHOD_PYRAMID; /* or lloyd instead of it */
    const uint32_t of_lloyd = (uint32_t)iterations + 1;
    uint32_t all = samples(r->model) ? params->passes : of_lloyd;
    if (r->refit && pyramid) /* it may become the one or the other */
        all = params->passes > of_lloyd ? params->passes : of_lloyd;
    const bool anything = r->refit || r->resample || r->plays_again;
    const uint32_t levels = anything ? all : r->build ? all - r->first : 0;
    report->levels_replayed = levels;
    report->rows_visited = n * levels;
    if (pyramid && (r->refit || r->resample))
        report->rows_visited += n * (1 + params->starts * (iterations + 1));
}

efface_status ef_replay_look(ef_kmeans *model, const efface_data *data, const ef_change *change,
                             ef_effort *report, efface_error *error) {
    ef_pending r = begin(model, &data->counts, data, change);
    r.watched = model;
    efface_status status = ef_look(&r, error);
    r.refit |= r.build && model->params.redraw == EFFACE_REDRAW_FRESH;
    if (status == EFFACE_OK && model->tree != NULL)
        status = make_tree(&r, error);
    if (status == EFFACE_OK) {
        ef_pending_report(&r, report);
        if (model->tree == NULL)
            estimate(&r, report);
    }
    ef_pending_free(&r);
    return status;
}

efface_status ef_pending_make_cold(ef_pending *r, ef_kmeans *model, const ef_counts *counts,
                                   const ef_change *change, bool *done, ef_effort *effort,
                                   efface_error *error) {
    *done = false;
    if (model->tree != NULL)
        return EFFACE_OK;
    *r = begin(model, counts, NULL, change);
    const efface_status status = ef_look(r, error);
    r->refit |= r->build && model->params.redraw == EFFACE_REDRAW_FRESH;
    *done = status == EFFACE_OK && !r->refit && !r->resample && !r->plays_again && !r->build;
    if (status == EFFACE_OK) {
        ef_pending_report(r, effort);
        estimate(r, effort);
    }
    return status;
}
