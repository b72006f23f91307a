/*
 * A model follows a change of its rows, exactly.
 *
 * Three steps, of which only the first two can fail:
 *
 * 1. Look (levels_differ.c). Decide what a fit to the new rows would do differently, from the
 *    model's own numbers.
 * 2. Build. From the first level that differs on, levels are made as in a fit, beside the old ones.
 * 3. Commit. The sums of the levels before it are corrected in place, the new levels replace the
 *    old ones.
 *
 * Why this is exact: every comparison is between integers, and each decision of a fit (parameters,
 * domain, races, centers, thresholds, stopping) is either made again or shown to depend on nothing
 * that changed.
 *
 * What the model keeps (kept.h) tells which rows can have moved in step 2; without it there is a
 * pass over all rows.
 */
#include "model/kmeans/following/revision.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "model/kmeans/definition/tree.h"
#include "model/kmeans/sampling/trial.h"

#include <assert.h>
#include <string.h>

static bool samples(const ef_kmeans *model) {
    return model->plan.method == EFFACE_METHOD_PYRAMID;
}

/* ---------------------------------------------------------------- what is kept */

/* Whether it is possible, and worth it, to keep margins of the levels: not where centers jump from
 * one point of a lattice to the next, which is farther than most margins. */
static bool may_want_margins(const ef_kmeans *next) {
    return next->params.lloyd.keep_margins && next->plan.method == EFFACE_METHOD_LLOYD &&
           next->plan.iterations <= EF_MOST_LEVELS_KEPT &&
           next->plan.n_clusters <= EF_MOST_CLUSTERS_KEPT && ef_positions_are_short(next->n_rows);
}

static bool wants_margins(const ef_kmeans *next) {
    return may_want_margins(next) && ef_was_rebuilt(next);
}

/* Lets what is kept follow the change of rows, or drops it. Where the changed rows belong is known
 * at the levels before number `known`, and at level 0 of pyramid; of other levels it is noted where
 * those belonged that left. */
static void follow_rows(const ef_revision *r, ef_kept *kept, uint32_t known) {
    const ef_change *const change = r->change;
    if (kept->labels.codes != NULL &&
        !ef_kept_labels_follow(&kept->labels, change, r->data->n_rows, ef_labels_at(r, 0), r->ranks,
                               r->model->pilot.shift))
        ef_kept_labels_free(&kept->labels);
    if (kept->trial != NULL && !r->resample) /* resample does it */
        (void)ef_trial_follow(&kept->trial, r, NULL);
    for (uint32_t t = 0; t < kept->n_margins; t++) {
        if (kept->margins[t].tiers == NULL)
            continue;
        uint32_t *const labels = ef_labels_at(r, t);
        for (size_t i = 0; t >= known && i < change->n_rows; i++)
            labels[i] = EF_NO_CLUSTER;
        if (!ef_level_margins_follow(&kept->margins[t], change, labels))
            ef_level_margins_free(&kept->margins[t]);
    }
}

/* Moves what is kept from the model to the model to be, and lets it follow. With other seeds
 * margins are worth nothing, and new ones would double the cost of this request: the next makes
 * them. */
static void take_kept(ef_revision *r, ef_kmeans *model) {
    ef_kmeans *const next = &r->next;
    if (model->kept == NULL)
        return;
    /* Moved, not copied: what is kept may be dropped at any time, so it need not come back if the
     * request fails. */
    next->kept = model->kept;
    model->kept = NULL;
    if (r->other_seeds || !wants_margins(next))
        ef_kept_drop_margins(next->kept, 0);
    follow_rows(r, next->kept, r->first);
}

/* Pyramid: labels are of use only if all ranks have kept theirs. */
static efface_status agree_on_labels(const ef_revision *r, efface_error *error) {
    ef_kept_labels *const kept = ef_labels_kept(&r->next);
    bool all = false;
    const efface_status status = ef_team_all(ef_data_team(r->data), kept != NULL, &all, error);
    if (kept != NULL && !all)
        ef_kept_labels_free(kept);
    return status;
}

/* Pyramid: marks all rows, of which nothing is kept. */
static efface_status mark_rows(ef_revision *r, efface_error *error) {
    ef_level_builder builder = {.data = r->data, .way = ef_by_pass};
    bool fits = true;
    r->marks = ef_alloc(r->data->n_rows, sizeof *r->marks);
    const efface_status status = r->marks != NULL
                                     ? ef_pilot_mark(&builder, &r->next, r->marks, &fits, error)
                                     : ef_fail_memory(error);
    assert(fits || status != EFFACE_OK);
    ef_builder_free(&builder);
    return status;
}

/* ---------------------------------------------------------------- build */

/* Pyramid: lets the starts follow, or runs them again. */
static efface_status run_starts(ef_revision *r, efface_error *error) {
    ef_kmeans *const next = &r->next;
    ef_kept *const kept = ef_kept_get(next);
    ef_trial **const trial = kept != NULL ? &kept->trial : NULL;
    efface_status status = EFFACE_OK;
    if (trial != NULL && *trial != NULL)
        status = ef_trial_follow(trial, r, error);
    if (status == EFFACE_OK && trial != NULL && *trial != NULL)
        return ef_trial_tell_all(*trial, &next->starts, &next->work, error);
    const ef_kept_labels *const labels = ef_labels_kept(next);
    if (status == EFFACE_OK && labels == NULL)
        status = mark_rows(r, error);
    if (status != EFFACE_OK)
        return status;
    const uint8_t *const codes = labels != NULL ? labels->codes : r->marks;
    return ef_starts_run(&next->starts, next, r->data, codes, trial, error);
}

/* Pyramid: finds the starts. Where that ends up with the same centers, all else is as if no row of
 * the sample had changed. */
static efface_status resample(ef_revision *r, ef_kmeans *model, efface_error *error) {
    ef_kmeans *const next = &r->next;
    const size_t n_values = (size_t)model->plan.n_clusters * model->domain.map.n_columns;
    efface_status status = ef_take_in(r, 0, error);
    if (status == EFFACE_OK) {
        take_kept(r, model);
        status = agree_on_labels(r, error);
    }
    EF_THEN(status, run_starts(r, error));
    if (status != EFFACE_OK)
        return status;
    next->start = ef_starts_best(model->plan.starts, next->starts.losses);
    ef_start_centers(next, &next->starts, next->start, r->centers);
    if (memcmp(r->centers, model->levels[0].centers, n_values * sizeof *r->centers) == 0)
        return ef_look_at_levels(r, error);
    r->build = true;
    r->first = 0;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- seeds */

/* Gives the model to be seeds and rounds of its own: those there were, with potentials as they are
 * after the change. */
static efface_status take_seeds(ef_revision *r, efface_error *error) {
    ef_kmeans *const next = &r->next;
    const ef_kmeans *const m = r->model;
    const size_t d = m->domain.map.n_columns, k = m->plan.n_clusters, c = m->plan.candidates;
    const size_t n = (size_t)m->rounds.n_rounds * c;
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

/* Puts in place the seeds that stand: those of the rounds before r->round. Seeding goes on from
 * there. */
static void begin_seeds(ef_revision *r, ef_level *level) {
    ef_kmeans *const next = &r->next;
    const size_t d = r->model->domain.map.n_columns, c = r->model->plan.candidates;
    const uint32_t round = r->round, known = round == 0 ? 0 : round - 1;
    memcpy(level->centers, r->model->levels[0].centers, round * d * sizeof *level->centers);
    /* Round 0 has one row and no slots, so round l has the slots number l - 1. */
    if (next->rounds.n_rounds > known)
        next->rounds.n_rounds = known;
    /* In the last round that stands the same rows were tried, but another of them is now the
     * best. */
    if (r->other_slot) {
        const size_t at = (round - 2) * c + r->slot;
        next->seeds[round - 1] = next->rounds.winners[at];
        memcpy(level->centers + (round - 1) * d, next->rounds.points + at * d,
               d * sizeof *level->centers);
    }
}

/* Greedy seeding: plays the rounds again of which a loser does not stand. Where a seed comes out
 * differently, those after it are to be played too; if none does, the seeds stand. */
static efface_status play_again(ef_revision *r, efface_error *error) {
    ef_kmeans *const next = &r->next;
    const ef_kmeans *const m = r->model;
    const uint32_t c = m->plan.candidates, n_rounds = m->rounds.n_rounds;
    ef_level_builder builder = {.data = r->data, .way = ef_by_pass};
    efface_status status = take_seeds(r, error);
    EF_THEN(status, ef_builder_prepare(&builder, next, error));
    const ef_seeds seeds = ef_seeds_of(next, m->levels[0].centers);
    for (uint32_t l = 1; status == EFFACE_OK && l < r->round && l <= n_rounds; l++) {
        bool has_slots = true;
        /* The candidates of this round, and the potential of each, are known to stand. */
        if (!r->again[l])
            continue;
        status = ef_seed_round(&builder.space, &next->plan, &seeds, l, &has_slots, error);
        if (status != EFFACE_OK || (has_slots && next->seeds[l].id == m->seeds[l].id))
            continue;
        /* Another seed: every later round measures distances to it. This also ends the loop. */
        r->round = has_slots ? l + 1 : l;
        r->other_slot = has_slots;
        r->slot = ef_best_slot(next->rounds.potentials + (size_t)(l - 1) * c, c);
        ef_seeds_differ(r);
    }
    ef_builder_free(&builder);
    return status == EFFACE_OK && !r->build ? ef_look_at_levels(r, error) : status;
}

/* ---------------------------------------------------------------- levels */

/* Makes the levels of the model to be from r->first on, the first of which has its centers. */
static efface_status make_levels(ef_revision *r, ef_kmeans *model, ef_level_builder *builder,
                                 efface_error *error) {
    ef_kmeans *const next = &r->next;
    ef_old_levels old = {
        .levels = model->levels,
        .n_levels = model->n_levels,
        .change = r->change,
        .labels = r->labels,
    };
    efface_status status = EFFACE_OK;
    const bool from_sample = samples(model) && r->first == 0;
    /* Pyramid's pass starts from level 0 with its old centers and the sums after the change. */
    if (from_sample && !r->resample) /* resample has done it */
        status = ef_take_in(r, 0, error);
    if (status != EFFACE_OK)
        return status;
    /* What is kept has to know the changed rows before it says which rows may move. */
    take_kept(r, model);
    if (from_sample) {
        builder->way = ef_by_kept_labels;
        status = agree_on_labels(r, error);
        if (status != EFFACE_OK)
            return status;
    }
    if (from_sample && ef_labels_kept(next) != NULL) {
        builder->previous = &r->scratch; /* level 0 with its old centers */
    } else if (from_sample && r->marks != NULL) {
        ef_kept_take_marks(next, r->marks, r->data->n_rows);
        r->marks = NULL;
    }
    /* Margins say which rows can have moved; all ranks use them, or none, for the operations of the
     * team that follow differ. */
    if (!r->other_seeds && may_want_margins(next)) {
        bool keeps =
            wants_margins(next) && ef_center_move_init(&old.move, r->data, &next->domain.map,
                                                       r->kernels, next->plan.n_clusters);
        status = ef_team_all(ef_data_team(r->data), keeps, &keeps, error);
        if (keeps) {
            builder->old = &old;
            builder->way = ef_by_margins;
        } else if (next->kept != NULL) {
            ef_kept_drop_margins(next->kept, r->first);
        }
    }
    EF_THEN(status, ef_make_levels(builder, next, r->first, r->loss, error));
    builder->old = NULL;
    ef_center_move_free(&old.move);
    /* From now on it is worth keeping margins: changes of this model move centers. */
    if (next->plan.method != EFFACE_METHOD_QUANTIZED && ef_kept_get(next) != NULL) {
        ef_kept_drop_margins(next->kept, ef_count_partitions(next, 0));
        next->kept->was_rebuilt = true;
    }
    return status;
}

/* Makes the seeds that differ, and the levels from r->first on. */
static efface_status build(ef_revision *r, ef_kmeans *model, efface_error *error) {
    ef_kmeans *const next = &r->next;
    const size_t n_values = (size_t)model->plan.n_clusters * model->domain.map.n_columns;
    ef_level_builder builder = {.data = r->data, .way = ef_by_pass};
    ef_level *level = NULL;
    efface_status status = EFFACE_OK;
    /* The levels before r->first stand: the list points to those of the model, whose sums are
     * corrected when this is committed, and ef_revision_free leaves them alone. */
    next->levels = ef_alloc((size_t)r->first + 1, sizeof *next->levels);
    next->n_levels = r->first;
    if (next->levels != NULL) {
        memcpy(next->levels, model->levels, r->first * sizeof *next->levels);
        level = ef_kmeans_add_level(next, false);
    }
    if (level == NULL)
        return ef_fail_memory(error);
    /* The first new level gets its centers from seeding, or from the sums of the level before
     * it. */
    if (r->other_seeds) {
        if (next->seeds == NULL) /* play_again may have taken them */
            status = take_seeds(r, error);
        EF_THEN(status, ef_builder_prepare(&builder, next, error));
        if (status == EFFACE_OK)
            begin_seeds(r, level);
        const ef_seeds seeds = ef_seeds_of(next, level->centers);
        EF_THEN(status, ef_seed(&builder.space, &next->plan, &seeds, r->round, NULL, NULL, error));
    } else {
        memcpy(level->centers, r->centers, n_values * sizeof *level->centers);
    }
    EF_THEN(status, make_levels(r, model, &builder, error));
    ef_builder_free(&builder);
    return status;
}

static ef_revision begin_revision(const ef_kmeans *model, const ef_counts *counts,
                                  const efface_data *data, const ef_change *change) {
    ef_revision r = {
        .model = model, .counted = counts, .data = data, .change = change, .next = *model};
    ef_kmeans *const next = &r.next;
    next->n_rows = counts->n_rows;
    next->total_weight = counts->total_weight;
    next->work = (ef_work_done){0};
    /* It has nothing of its own yet. */
    next->levels = NULL;
    next->seeds = NULL;
    next->rounds = (ef_rounds){0};
    next->starts = (ef_starts){0};
    next->kept = NULL;
    r.round = model->plan.n_clusters;
    return r;
}

static efface_status refit_revision(ef_revision *r, efface_error *error) {
    const ef_kmeans *const m = r->model;
    const efface_status status =
        r->pilot_stands ? ef_kmeans_fit_piloted(r->data, m, &r->fresh, error)
                        : ef_kmeans_fit(r->data, &m->params, m->ignored, &r->fresh, error);
    if (status == EFFACE_OK && ef_was_rebuilt(m) && ef_kept_get(r->fresh) != NULL)
        r->fresh->kept->was_rebuilt = true;
    return status;
}

/* A tree has been looked at as a whole; what follows for its nodes, they know themselves. */
static efface_status make_tree(ef_revision *r, ef_kmeans *model, efface_error *error) {
    return r->refit ? refit_revision(r, error)
                    : ef_tree_change_make(&r->tree_change, model, r->data, r->change, error);
}

efface_status ef_revision_make(ef_revision *r, ef_kmeans *model, const efface_data *data,
                               const ef_change *change, efface_error *error) {
    *r = begin_revision(model, ef_data_whole(data), data, change);
    efface_status status = ef_look(r, error);
    if (status == EFFACE_OK && model->tree != NULL)
        return make_tree(r, model, error);
    if (status == EFFACE_OK && !r->refit && r->resample)
        status = resample(r, model, error);
    if (status == EFFACE_OK && !r->refit && r->plays_again)
        status = play_again(r, error);
    if (status == EFFACE_OK && r->refit)
        return refit_revision(r, error);
    return status == EFFACE_OK && r->build ? build(r, model, error) : status;
}

void ef_revision_free(ef_revision *r) {
    ef_kmeans *const next = &r->next;
    for (uint32_t t = r->first; next->levels != NULL && t < next->n_levels; t++)
        ef_level_free(&next->levels[t]);
    ef_free(next->levels);
    ef_free(next->seeds);
    ef_rounds_free(&next->rounds);
    ef_starts_free(&next->starts);
    ef_kept_free(next->kept);
    ef_free(r->potentials);
    ef_free(r->again);
    ef_free(r->losses);
    ef_free(r->marks);
    ef_tree_change_free(r->tree_change);
    ef_kmeans_free(r->fresh);
    ef_domain_free(&r->domain);
    ef_free(r->scratch.sums); /* and what lies behind them */
    *r = (ef_revision){0};
}

/* ---------------------------------------------------------------- what is to come */

/* The levels of the model to be, unless everything is fitted again. */
static const ef_level *levels_to_be(const ef_revision *r) {
    return r->next.levels != NULL ? r->next.levels : r->model->levels;
}

uint32_t ef_revision_clusters(const ef_revision *r) {
    return r->fresh != NULL ? r->fresh->plan.n_clusters : r->model->plan.n_clusters;
}

const int32_t *ef_revision_centers(const ef_revision *r) {
    if (r->fresh != NULL)
        return ef_kmeans_centers(r->fresh);
    return r->reopen ? r->centers : levels_to_be(r)[r->next.model_level].centers;
}

/* The last level that will have a partition. */
static uint32_t mass_level(const ef_revision *r) {
    const uint32_t last = r->next.model_level;
    return levels_to_be(r)[last].has_partition ? last : last - 1;
}

const int32_t *ef_revision_dividers(const ef_revision *r, uint32_t *n_clusters) {
    if (r->tree_change != NULL)
        return ef_tree_change_dividers(r->tree_change, n_clusters);
    if (r->fresh != NULL)
        return ef_kmeans_dividers(r->fresh, n_clusters);
    *n_clusters = r->model->plan.n_clusters;
    return levels_to_be(r)[mass_level(r)].centers;
}

bool ef_revision_labels(const ef_revision *r, uint32_t *labels) {
    const ef_kmeans *const next = &r->next;
    const ef_kept *const kept = next->kept;
    if (r->tree_change != NULL || r->fresh != NULL || !r->build || kept == NULL)
        return false;
    const uint32_t t = mass_level(r);
    if (t < r->first) /* it is as it was */
        return false;
    if (samples(next) && t == 0 && kept->labels.codes != NULL) {
        ef_kept_labels_unpack(&kept->labels, r->data->n_rows, labels);
        return true;
    }
    if (t >= kept->n_margins || kept->margins[t].tiers == NULL)
        return false;
    ef_level_margins_labels(&kept->margins[t], labels);
    return true;
}

int64_t ef_revision_mass(const ef_revision *r, uint32_t cluster) {
    if (r->fresh != NULL)
        return ef_kmeans_mass(r->fresh, cluster);
    const ef_level *const levels = levels_to_be(r);
    const uint32_t t = mass_level(r);
    int64_t mass = levels[t].counts[cluster];
    for (size_t i = 0; i < r->change->n_rows && !(r->build && t >= r->first); i++)
        if (ef_labels_at(r, t)[i] == cluster)
            mass += ef_change_weight(r->change, i);
    return mass;
}

void ef_revision_report(const ef_revision *r, ef_effort *report) {
    if (r->tree_change != NULL) {
        ef_tree_change_report(r->tree_change, report);
        return;
    }
    const bool refitted = r->refit || r->other_seeds || r->plays_again;
    report->action = refitted                  ? EFFACE_ACTION_REFITTED
                     : r->build || r->resample ? EFFACE_ACTION_REPAIRED
                                               : EFFACE_ACTION_ADJUSTED;
    report->reason = r->resample && !r->refit      ? EF_REASON_SAMPLE
                     : r->plays_again && !r->refit ? EF_REASON_SEED
                                                   : r->reason;
    report->level = r->build && !r->refit && !r->resample && !r->plays_again ? r->first : 0;
    if (r->fresh != NULL) {
        report->rows_visited = r->fresh->work.rows_assigned;
        report->levels_replayed = ef_count_partitions(r->fresh, 0);
    } else {
        report->rows_visited = r->next.work.rows_assigned;
        report->levels_replayed =
            r->next.levels != NULL ? ef_count_partitions(&r->next, r->first) : 0;
    }
}

/* ---------------------------------------------------------------- commit */

/* The model to be takes over everything that it did not make itself, corrected in place. Nothing
 * here can fail: this is the commit. */
static void take_over(ef_revision *r, ef_kmeans *m) {
    ef_kmeans *const next = &r->next;
    const size_t k = m->plan.n_clusters, n_values = k * m->domain.map.n_columns;
    const uint32_t n_stay = r->build ? r->first : next->n_levels;
    /* At levels that were looked at, it is known to which clusters the changed rows belong. */
    const uint32_t known = n_stay < r->n_looked ? n_stay : r->n_looked;
    for (uint32_t t = 0; t < known; t++)
        ef_apply_change(r, ef_labels_at(r, t), m->levels[t].counts, m->levels[t].sums);
    if (m->kept != NULL) {
        ef_kept_drop_margins(m->kept, known);
        follow_rows(r, m->kept, known);
        next->kept = m->kept;
        m->kept = NULL;
    }
    /* No level was made: the model keeps its levels, but the fit may end earlier now (stopping
     * rule). */
    if (next->levels == NULL) {
        for (uint32_t t = n_stay; t < m->n_levels; t++)
            ef_level_free(&m->levels[t]);
        /* A fit that ends here, by its loss or its iterations, does not look for next centers. */
        if (!next->stable && n_stay != 0)
            m->levels[n_stay - 1].n_reseeded = 0;
        if (r->reopen)
            memcpy(m->levels[n_stay - 1].centers, r->centers, n_values * sizeof *r->centers);
        next->levels = m->levels;
        m->levels = NULL;
    }
    /* The same seeds; but the sums of squared distances by which they were chosen have changed. */
    if (next->seeds == NULL) {
        if (r->potentials != NULL)
            memcpy(m->rounds.potentials, r->potentials,
                   (size_t)m->rounds.n_rounds * m->plan.candidates * sizeof *r->potentials);
        next->seeds = m->seeds;
        next->rounds = m->rounds;
        m->seeds = NULL;
        m->rounds = (ef_rounds){0};
    }
    /* Pyramid: the same starts; but their losses over the jury may have changed. */
    if (next->starts.centers == NULL) {
        if (r->losses != NULL)
            memcpy(m->starts.losses, r->losses, m->plan.starts * sizeof *r->losses);
        next->starts = m->starts;
        m->starts = (ef_starts){0};
    }
    if (samples(m) && r->counts != NULL)
        memcpy(m->pilot.counts, r->counts, k * sizeof *r->counts);
    next->pilot.counts = m->pilot.counts;
}

void ef_revision_commit(ef_revision *r, ef_kmeans *m) {
    ef_kept_labels *labels = NULL;
    if (r->fresh != NULL) {
        ef_kmeans_become(m, r->fresh);
        r->fresh = NULL;
        return;
    }
    if (r->tree_change != NULL) {
        ef_tree_change_commit(r->tree_change);
    } else {
        take_over(r, m);
        const ef_kmeans old = *m; /* what it still has of its own is to be released */
        *m = r->next;
        r->next = old;
        labels = ef_labels_kept(m);
    }
    /* Centers of the sample may have been copies of its rows. */
    if (r->resample && labels != NULL)
        ef_kept_labels_forget(labels, r->change, &m->domain.map, m->plan.n_clusters);
    /* Which columns are coarse may have changed though the map did not. */
    if (m->is_start)
        return;
    const ef_domain old = m->domain;
    m->domain = r->domain;
    r->domain = old;
}

/* ---------------------------------------------------------------- looking alone, and cold */

/* No more than this many assignments of rows, and levels, would follow from what was found. */
static void estimate(const ef_revision *r, ef_effort *report) {
    const efface_kmeans_params *const params = &r->model->params;
    const uint64_t n = r->data != NULL ? r->data->n_rows : r->counted->n_rows;
    const uint64_t iterations = r->model->plan.iterations;
    const bool pyramid = params->method == EFFACE_METHOD_PYRAMID; /* or lloyd instead of it */
    const uint32_t of_lloyd = (uint32_t)iterations + 1;
    uint32_t all = samples(r->model) ? params->pyramid.passes : of_lloyd;
    if (r->refit && pyramid) /* it may become the one or the other */
        all = params->pyramid.passes > of_lloyd ? params->pyramid.passes : of_lloyd;
    const bool anything = r->refit || r->resample || r->plays_again;
    const uint32_t levels = anything ? all : r->build ? all - r->first : 0;
    report->levels_replayed = levels;
    report->rows_visited = n * levels;
    if (pyramid && (r->refit || r->resample))
        report->rows_visited += n * (1 + params->pyramid.starts * (iterations + 1));
}

/* Looks, and says what would follow; of a tree it says nothing. */
static efface_status look_only(ef_revision *r, ef_effort *effort, efface_error *error) {
    const efface_status status = ef_look(r, error);
    if (status == EFFACE_OK && r->model->tree == NULL) {
        ef_revision_report(r, effort);
        estimate(r, effort);
    }
    return status;
}

efface_status ef_kmeans_look(ef_kmeans *model, const efface_data *data, const ef_change *change,
                             ef_effort *effort, efface_error *error) {
    ef_revision r = begin_revision(model, ef_data_whole(data), data, change);
    efface_status status = look_only(&r, effort, error);
    if (status == EFFACE_OK && model->tree != NULL)
        status = make_tree(&r, model, error);
    if (status == EFFACE_OK && model->tree != NULL)
        ef_revision_report(&r, effort);
    ef_revision_free(&r);
    return status;
}

efface_status ef_revision_make_cold(ef_revision *r, const ef_kmeans *model, const ef_counts *counts,
                                    const ef_change *change, bool *done, ef_effort *effort,
                                    efface_error *error) {
    assert(model->kept == NULL); /* what is kept by position could not be used */
    *done = false;
    /* Without rows a change can be followed only if nothing has to be built; the leaves of a tree
     * have rows of their own, so a tree never can. */
    if (model->tree != NULL)
        return EFFACE_OK;
    *r = begin_revision(model, counts, NULL, change);
    const efface_status status = look_only(r, effort, error);
    *done = status == EFFACE_OK && !r->refit && !r->resample && !r->plays_again && !r->build;
    return status;
}
