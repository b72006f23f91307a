/*
 * The starts of pyramid: several runs of lloyd on the rows of the sample, judged by the jury, a
 * larger sample. The centers of the best are what the passes over all rows begin with.
 *
 * A small sample has worse local optima than all rows have, and is a poor judge of its own; the
 * best of a few by the loss over more rows makes up for both. Results and losses of all starts are
 * kept. A change that reaches the sample makes them anew. One that reaches the jury alone, which is
 * more common, changes the losses by what its own rows add or take, in integers: no other row is
 * looked at unless another start is now the best.
 */
#include "base/checked.h"
#include "base/status.h"
#include "base/tape.h"
#include "model/kmeans/levels.h"

#include <string.h>

static uint64_t seed_of_start(uint64_t seed, uint32_t start) {
    return start == 0 ? seed : ef_tape(seed, EF_TAPE_START, 0, start, 0);
}

void ef_starts_free(ef_starts *starts) {
    free(starts->seeds);
    free(starts->centers);
    free(starts->losses);
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

/* A maker for the rows with a mark: copies of them, or, at exponent 0, the set itself. */
static efface_status gather(ef_maker *maker, efface_data **copy, const efface_kmeans *model,
                            const efface_data *data, uint32_t exponent, uint32_t mark,
                            efface_error *error) {
    *maker = (ef_maker){.data = data};
    if (exponent == 0)
        return EFFACE_OK;
    const efface_status status = ef_sample_copy(data, model->labels, mark, copy, error);
    maker->data = *copy;
    return status;
}

/* The loss of centers over the rows of a maker. `judge` has no levels before and after. */
static efface_status judge_start(ef_maker *maker, efface_kmeans *judge, const int32_t *centers,
                                 ef_i128 *loss, efface_error *error) {
    ef_level *const level = ef_kmeans_add_level(judge);
    if (level == NULL)
        return ef_fail_memory(error);
    memcpy(level->centers, centers,
           (size_t)judge->plan.n_clusters * judge->domain.map.n_columns * sizeof *centers);
    maker->previous = NULL;
    const efface_status status = ef_make_partition(maker, judge, level, error);
    if (status == EFFACE_OK)
        *loss = ef_level_loss(judge, level);
    forget_levels(judge);
    return status;
}

efface_status ef_starts_run(ef_starts *starts, efface_kmeans *model, const efface_data *data,
                            efface_error *error) {
    const ef_plan *const plan = &model->plan;
    const size_t k = plan->n_clusters, n_values = k * model->domain.map.n_columns;
    efface_kmeans run = {.plan = *plan, .domain = model->domain}, judge = run;
    run.plan.method = EFFACE_METHOD_LLOYD;
    efface_data *sample = NULL, *jury = NULL;
    ef_maker runs = {0}, judges = {0};
    if (!ef_starts_init(starts, plan->starts, k, model->domain.map.n_columns))
        return ef_fail_memory(error);
    efface_status status = gather(&runs, &sample, model, data, plan->rate, EF_IN_SAMPLE, error);
    if (status == EFFACE_OK)
        status =
            gather(&judges, &jury, model, data, ef_jury_exponent(plan->rate), EF_IN_JURY, error);
    for (uint32_t r = 0; status == EFFACE_OK && r < plan->starts; r++) {
        int32_t *const centers = starts->centers + r * n_values;
        run.plan.seed = seed_of_start(plan->seed, r);
        run.seeds = starts->seeds + r * k;
        runs.previous = NULL;
        status = ef_make_run(&runs, &run, error);
        if (status == EFFACE_OK) {
            memcpy(centers, ef_kmeans_centers(&run), n_values * sizeof *centers);
            status = judge_start(&judges, &judge, centers, &starts->losses[r], error);
        }
        forget_levels(&run);
    }
    model->rows_assigned += run.rows_assigned + judge.rows_assigned;
    model->rows_undecided += run.rows_undecided + judge.rows_undecided;
    model->rows_moved += run.rows_moved;
    ef_maker_free(&runs);
    ef_maker_free(&judges);
    efface_data_free(sample);
    efface_data_free(jury);
    free(run.levels);
    free(judge.levels);
    if (status != EFFACE_OK)
        ef_starts_free(starts);
    return status;
}

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
