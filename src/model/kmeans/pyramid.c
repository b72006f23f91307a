/*
 * The starts of pyramid: several runs of lloyd on the rows of the sample, judged by the jury, a
 * larger sample. The centers of the best are what the passes over all rows begin with.
 *
 * A small sample has worse local optima than all rows have, and is a poor judge of its own; the
 * best of a few by the loss over more rows makes up for both. Results and losses of all starts are
 * kept. A change that reaches the sample makes them anew, but for seedings that it does not change.
 * A change that reaches the jury alone, which is more common, changes the losses by what its own
 * rows add or take, in integers: no other row is looked at unless another start is now the best.
 */
#include "base/checked.h"
#include "base/status.h"
#include "base/tape.h"
#include "model/kmeans/levels.h"

#include <string.h>

uint64_t ef_start_seed(uint64_t seed, uint32_t start) {
    return start == 0 ? seed : ef_tape(seed, EF_TAPE_START, 0, start, 0);
}

void ef_starts_free(ef_starts *starts) {
    ef_free(starts->seeds);
    ef_free(starts->centers);
    ef_free(starts->losses);
    *starts = (ef_starts){0};
}

bool ef_starts_init(ef_starts *starts, size_t n_starts, size_t k, size_t d) {
    size_t n_seeds, n_values;
    if (!ef_mul_size(n_starts, k, &n_seeds) || !ef_mul_size(n_seeds, d, &n_values))
        return false;
    *starts = (ef_starts){
        .seeds = ef_alloc(n_seeds, sizeof *starts->seeds),
        .centers = ef_alloc(n_values, sizeof *starts->centers),
        .losses = ef_alloc(n_starts, sizeof *starts->losses),
    };
    if (starts->seeds != NULL && starts->centers != NULL && starts->losses != NULL)
        return true;
    ef_starts_free(starts);
    return false;
}

static void forget_levels(efface_kmeans *run) {
    for (uint32_t t = 0; t < run->n_levels; t++)
        ef_level_free(&run->levels[t]);
    run->n_levels = 0;
}

bool ef_start_points(const efface_kmeans *model, const efface_data *data, const ef_winner *seeds,
                     int32_t *points) {
    const ef_map *const map = &model->domain.map;
    for (uint32_t c = 0; c < model->plan.n_clusters; c++) {
        size_t position;
        if (efface_data_find(data, seeds[c].id, &position) != EFFACE_OK)
            return false;
        const float *const row = ef_data_first(data, position);
        for (uint32_t j = 0; j < map->n_columns; j++)
            *points++ = ef_snap(row[(size_t)j * EF_PANEL], map->low[j], map->step[j]);
    }
    return true;
}

/* ---------------------------------------------------------------- running and judging */

/* What running and judging the starts takes. */
typedef struct trial {
    efface_kmeans *model;
    efface_data *copy; /* of the rows of the jury, or of the sample if the jury is all rows */
    efface_data view;  /* the sample in the copy */
    efface_kmeans run, judge;
    ef_maker runs, judges;
    ef_level scratch; /* for the jury */
} trial;

/* The rows of jury and sample for passes: copies of them, or the set itself. */
static efface_status gather(trial *t, const efface_data *data, efface_error *error) {
    const uint32_t rate = t->model->plan.rate;
    const bool all_judge = ef_jury_exponent(rate) == 0;
    t->judges.data = t->runs.data = data;
    if (rate == 0)
        return EFFACE_OK;
    size_t *positions = NULL, n_jury, n_sample;
    efface_status status =
        ef_sample_find(t->model->guard.codes, data->n_rows, &positions, &n_jury, &n_sample, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_data_copy_rows(data, positions, all_judge ? n_sample : n_jury, &t->copy, error);
    ef_free(positions);
    if (status != EFFACE_OK)
        return status;
    t->view = *t->copy; /* those of the sample are first */
    t->view.n_rows = n_sample;
    t->runs.data = &t->view;
    if (!all_judge)
        t->judges.data = t->copy;
    return EFFACE_OK;
}

static efface_status trial_init(trial *t, efface_kmeans *model, const efface_data *data,
                                efface_error *error) {
    const size_t k = model->plan.n_clusters, n_values = k * model->domain.map.n_columns;
    *t = (trial){.model = model};
    t->run = (efface_kmeans){.plan = model->plan, .domain = model->domain};
    t->judge = t->run;
    t->run.plan.method = EFFACE_METHOD_LLOYD;
    t->scratch.counts = ef_alloc(k, sizeof *t->scratch.counts);
    t->scratch.sums = ef_alloc(n_values, sizeof *t->scratch.sums);
    if (t->scratch.counts == NULL || t->scratch.sums == NULL)
        return ef_fail_memory(error);
    return gather(t, data, error);
}

static void trial_free(trial *t) {
    efface_kmeans *const model = t->model;
    model->rows_assigned += t->run.rows_assigned + t->judge.rows_assigned;
    model->rows_undecided += t->run.rows_undecided + t->judge.rows_undecided;
    model->rows_moved += t->run.rows_moved;
    ef_maker_free(&t->runs);
    ef_maker_free(&t->judges);
    efface_data_free(t->copy);
    ef_free(t->scratch.counts);
    ef_free(t->scratch.sums);
    ef_free(t->run.levels);
}

/* The loss of a start's centers over the jury. */
static efface_status judge_start(trial *t, int32_t *centers, ef_i128 *loss, efface_error *error) {
    const size_t k = t->model->plan.n_clusters, n_values = k * t->model->domain.map.n_columns;
    ef_level level = t->scratch;
    level.centers = centers;
    memset(level.counts, 0, k * sizeof *level.counts);
    memset(level.sums, 0, n_values * sizeof *level.sums);
    t->judges.previous = NULL;
    const efface_status status = ef_make_partition(&t->judges, &t->judge, &level, error);
    if (status == EFFACE_OK)
        *loss = ef_level_loss(&t->judge, &level);
    return status;
}

/* The run of a start, with the seeds it has or with seeds to be drawn. */
static efface_status run_start(trial *t, const efface_data *data, bool has_seeds,
                               efface_error *error) {
    efface_kmeans *const run = &t->run;
    ef_level *const level = ef_kmeans_add_level(run, false);
    if (level == NULL)
        return ef_fail_memory(error);
    t->runs.previous = NULL;
    efface_status status = EFFACE_OK;
    if (!has_seeds || !ef_start_points(run, data, run->seeds, level->centers)) {
        status = ef_maker_prepare(&t->runs, run, error);
        if (status == EFFACE_OK)
            status = ef_seed(&t->runs.space, run, level, 0, error);
    }
    return status == EFFACE_OK ? ef_make_levels(&t->runs, run, 0, 0, error) : status;
}

efface_status ef_starts_run(ef_starts *starts, efface_kmeans *model, const efface_data *data,
                            const ef_starts *before, const bool *stands, efface_error *error) {
    const ef_plan *const plan = &model->plan;
    const size_t k = plan->n_clusters, n_values = k * model->domain.map.n_columns;
    if (!ef_starts_init(starts, plan->starts, k, model->domain.map.n_columns))
        return ef_fail_memory(error);
    trial t;
    efface_status status = trial_init(&t, model, data, error);
    for (uint32_t r = 0; status == EFFACE_OK && r < plan->starts; r++) {
        int32_t *const centers = starts->centers + r * n_values;
        const bool has_seeds = stands != NULL && stands[r];
        t.run.plan.seed = ef_start_seed(plan->seed, r);
        t.run.seeds = starts->seeds + r * k;
        if (has_seeds)
            memcpy(t.run.seeds, before->seeds + r * k, k * sizeof *t.run.seeds);
        status = run_start(&t, data, has_seeds, error);
        if (status == EFFACE_OK) {
            memcpy(centers, ef_kmeans_centers(&t.run), n_values * sizeof *centers);
            status = judge_start(&t, centers, &starts->losses[r], error);
        }
        forget_levels(&t.run);
    }
    trial_free(&t);
    if (status != EFFACE_OK)
        ef_starts_free(starts);
    return status;
}

/* ---------------------------------------------------------------- the pass over all rows */

/* By the guard, if few rows can have moved. */
static efface_status move_guarded(ef_maker *maker, efface_kmeans *model, ef_level *level,
                                  bool *done, efface_error *error) {
    const size_t k = model->plan.n_clusters, n_values = k * model->domain.map.n_columns;
    ef_guarded moving;
    memcpy(level->counts, maker->previous->counts, k * sizeof *level->counts);
    memcpy(level->sums, maker->previous->sums, n_values * sizeof *level->sums);
    efface_status status =
        ef_guarded_init(&moving, maker->data, &model->domain.map, (uint32_t)k, error);
    if (status == EFFACE_OK)
        status = ef_guard_move(&model->guard, &moving, level->centers, level->counts, level->sums,
                               done, error);
    ef_guarded_free(&moving);
    model->rows_assigned += moving.rows_looked;
    model->rows_moved += moving.rows_moved;
    model->rows_undecided += moving.rows_undecided;
    return status;
}

/* Whether what follows a level asks for its partition. */
static bool needs_labels(const efface_kmeans *model, const ef_level *level) {
    bool empty = false;
    for (uint32_t c = 0; c < model->plan.n_clusters; c++)
        empty |= level->counts[c] == 0;
    return empty || model->plan.passes > 1;
}

efface_status ef_make_guarded(ef_maker *maker, efface_kmeans *model, uint32_t t,
                              efface_error *error) {
    const size_t n = maker->data->n_rows;
    ef_level *const level = &model->levels[t];
    bool done = false;
    efface_status status = EFFACE_OK;
    if (maker->previous != NULL)
        status = move_guarded(maker, model, level, &done, error);
    const bool unpacks = maker->previous != NULL && (!done || needs_labels(model, level));
    if (status == EFFACE_OK && (unpacks || !done))
        status = ef_maker_take_labels(maker, error);
    if (status == EFFACE_OK && unpacks)
        ef_guard_unpack(&model->guard, n, maker->labels);
    if (status == EFFACE_OK && done) {
        level->has_partition = true;
        maker->previous = level;
    }
    if (status != EFFACE_OK || done)
        return status;
    if (ef_guard_wants_margins(&model->guard))
        ef_maker_take_margins(maker);
    status = ef_make_partition(maker, model, level, error);
    if (status == EFFACE_OK)
        ef_guard_pack(&model->guard, n, maker->labels, maker->margins, level->centers,
                      model->plan.n_clusters, model->domain.map.n_columns);
    ef_free(maker->margins); /* those of later levels may not be wanted */
    maker->margins = NULL;
    return status;
}

/* ---------------------------------------------------------------- what starts came to */

uint32_t ef_starts_best(uint32_t n_starts, const ef_i128 *losses) {
    uint32_t best = 0;
    for (uint32_t r = 1; r < n_starts; r++)
        best = losses[r] < losses[best] ? r : best;
    return best;
}

int64_t ef_start_distance(const efface_kmeans *model, uint32_t start, const int32_t *point) {
    const size_t k = model->plan.n_clusters, d = model->domain.map.n_columns;
    const int32_t *const centers = model->starts.centers + start * k * d;
    int64_t least = INT64_MAX;
    for (size_t c = 0; c < k; c++) {
        const int64_t distance = ef_grid_sqdist(point, centers + c * d, (uint32_t)d);
        least = distance < least ? distance : least;
    }
    return least;
}
