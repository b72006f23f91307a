/*
 * The starts of pyramid: several runs of lloyd on the rows of the sample (pilot.h), judged by the
 * jury, a larger sample. The centers of the best are what the passes over all rows begin with.
 *
 * A small sample has worse local optima than all rows have, and is a poor judge of its own; the
 * best of a few by the loss over more rows makes up for both. Results and losses of all starts are
 * kept. A change that reaches the sample makes them anew. A change that reaches the jury alone,
 * which is more common, changes the losses by what its own rows add or take, in integers: no other
 * row is looked at unless another start is now the best.
 */
#include "base/checked.h"
#include "base/status.h"
#include "base/tape.h"
#include "model/kmeans/definition/levels.h"

#include <string.h>

void ef_starts_free(ef_starts *starts) {
    ef_free(starts->centers);
    ef_free(starts->losses);
    *starts = (ef_starts){0};
}

bool ef_starts_init(ef_starts *starts, size_t n_starts, size_t k, size_t d) {
    size_t n_centers, n_values;
    if (!ef_mul_size(n_starts, k, &n_centers) || !ef_mul_size(n_centers, d, &n_values))
        return false;
    *starts = (ef_starts){
        .centers = ef_alloc(n_values, sizeof *starts->centers),
        .losses = ef_alloc(n_starts, sizeof *starts->losses),
    };
    if (starts->centers != NULL && starts->losses != NULL)
        return true;
    ef_starts_free(starts);
    return false;
}

static void forget_levels(ef_kmeans *run) {
    for (uint32_t t = 0; t < run->n_levels; t++)
        ef_level_free(&run->levels[t]);
    run->n_levels = 0;
}

/* ---------------------------------------------------------------- running and judging */

/* What running and judging the starts takes. */
typedef struct trial {
    ef_kmeans *model;
    efface_data *copy;        /* of the rows of the jury, those of the sample first */
    efface_data sample, jury; /* the same with weights of their own */
    ef_kmeans run, judge;
    ef_maker runs, judges;
    ef_level scratch; /* for the jury */
} trial;

/* Gives the first n_rows rows of the copy, whose base exponents are known, the weights that they
 * have in a sample with this shift. Returns what these add up to before they are cut down. */
static ef_i128 weigh(efface_data *view, const trial *t, size_t n_rows, const uint8_t *bases,
                     uint32_t shift) {
    ef_i128 total = 0;
    view->n_rows = n_rows;
    view->total_weight = 0;
    for (size_t i = 0; i < n_rows; i++)
        total += ef_member_weight(bases[i], shift, ef_data_weight(t->copy, i));
    const uint32_t cut = ef_weight_cut(total);
    for (size_t i = 0; i < n_rows; i++) {
        const ef_i128 weight = ef_member_weight(bases[i], shift, ef_data_weight(t->copy, i));
        view->weights[i] = ef_cut_weight(weight, cut);
        view->total_weight += view->weights[i];
    }
    return total;
}

/* The base exponents of the rows of the copy. */
static efface_status find_bases(const trial *t, uint8_t *bases, efface_error *error) {
    const ef_pilot *const pilot = &t->model->pilot;
    const ef_map *const map = &t->model->domain.map;
    const uint32_t k = t->model->plan.n_clusters, d = map->n_columns;
    const ef_kernels *kernels = NULL;
    ef_centers centers;
    efface_status status = ef_kernels_require(&kernels, error);
    if (status != EFFACE_OK)
        return status;
    if (!ef_centers_init(&centers, pilot->points, k, d, kernels->tile))
        return ef_fail_memory(error);
    float *const panel = ef_alloc_aligned(d, EF_PANEL * sizeof *panel);
    const size_t n = panel != NULL ? t->copy->n_rows : 0;
    for (size_t first = 0; first < n; first += EF_PANEL) {
        const float *const values = ef_data_panel(t->copy, first / EF_PANEL);
        const unsigned n_rows = n - first < EF_PANEL ? (unsigned)(n - first) : EF_PANEL;
        uint32_t nearest[EF_PANEL];
        (void)kernels->nearest(&centers, map, values, n_rows, values, panel, nearest, NULL);
        kernels->snap(map, values, n_rows, panel);
        for (unsigned i = 0; i < n_rows; i++) {
            const int64_t weight = ef_data_weight(t->copy, first + i);
            const int64_t distance = ef_centers_sqdist(&centers, nearest[i], panel, i);
            bases[first + i] = ef_rank_of(pilot, k, nearest[i], weight, distance, 0).base;
        }
    }
    ef_free(panel);
    ef_centers_free(&centers);
    return panel != NULL ? EFFACE_OK : ef_fail_memory(error);
}

/* Copies the rows of jury and sample, for passes. */
static efface_status gather(trial *t, const efface_data *data, const uint8_t *codes,
                            efface_error *error) {
    ef_pilot *const pilot = &t->model->pilot;
    size_t *positions = NULL, n_jury, n_sample;
    efface_status status =
        ef_marks_find(codes, data->n_rows, &positions, &n_jury, &n_sample, error);
    if (status == EFFACE_OK)
        status = ef_data_copy_rows(data, positions, n_jury, &t->copy, error);
    ef_free(positions);
    if (status != EFFACE_OK)
        return status;
    uint8_t *const bases = ef_alloc(n_jury, sizeof *bases);
    t->sample = t->jury = *t->copy;
    t->sample.weights = ef_alloc(n_sample, sizeof *t->sample.weights);
    t->jury.weights = ef_alloc(n_jury, sizeof *t->jury.weights);
    status = bases != NULL && t->sample.weights != NULL && t->jury.weights != NULL
                 ? find_bases(t, bases, error)
                 : ef_fail_memory(error);
    if (status == EFFACE_OK) {
        (void)weigh(&t->sample, t, n_sample, bases, pilot->shift);
        pilot->jury_weight = weigh(&t->jury, t, n_jury, bases, pilot->shift + EF_JURY_SHIFT);
    }
    ef_free(bases);
    t->runs.data = &t->sample;
    t->judges.data = &t->jury;
    return status;
}

static efface_status trial_init(trial *t, ef_kmeans *model, const efface_data *data,
                                const uint8_t *codes, efface_error *error) {
    const size_t k = model->plan.n_clusters, n_values = k * model->domain.map.n_columns;
    *t = (trial){.model = model};
    t->run = (ef_kmeans){.plan = model->plan, .domain = model->domain};
    t->judge = t->run;
    t->run.plan.method = EFFACE_METHOD_LLOYD;
    t->run.seeds = ef_alloc(k, sizeof *t->run.seeds);
    t->scratch.counts = ef_alloc(k, sizeof *t->scratch.counts);
    t->scratch.sums = ef_alloc(n_values, sizeof *t->scratch.sums);
    if (t->run.seeds == NULL || t->scratch.counts == NULL || t->scratch.sums == NULL)
        return ef_fail_memory(error);
    return gather(t, data, codes, error);
}

static void trial_free(trial *t) {
    ef_kmeans *const model = t->model;
    ef_work_add(&model->work, &t->run.work);
    ef_work_add(&model->work, &t->judge.work);
    ef_maker_free(&t->runs);
    ef_maker_free(&t->judges);
    if (t->copy != NULL) {
        ef_free(t->sample.weights);
        ef_free(t->jury.weights);
    }
    efface_data_free(t->copy);
    ef_free(t->run.seeds);
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

efface_status ef_starts_run(ef_starts *starts, ef_kmeans *model, const efface_data *data,
                            const uint8_t *codes, efface_error *error) {
    const ef_plan *const plan = &model->plan;
    const size_t k = plan->n_clusters, n_values = k * model->domain.map.n_columns;
    if (!ef_starts_init(starts, plan->starts, k, model->domain.map.n_columns))
        return ef_fail_memory(error);
    trial t;
    efface_status status = trial_init(&t, model, data, codes, error);
    for (uint32_t r = 0; status == EFFACE_OK && r < plan->starts; r++) {
        int32_t *const centers = starts->centers + r * n_values;
        t.run.plan.seed = ef_tape(plan->seed, EF_TAPE_START, 0, r, 0);
        t.runs.previous = NULL;
        status = ef_make_run(&t.runs, &t.run, error);
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

/* ---------------------------------------------------------------- what starts came to */

uint32_t ef_starts_best(uint32_t n_starts, const ef_i128 *losses) {
    uint32_t best = 0;
    for (uint32_t r = 1; r < n_starts; r++)
        best = losses[r] < losses[best] ? r : best;
    return best;
}

int64_t ef_start_distance(const ef_kmeans *model, uint32_t start, const int32_t *point) {
    const size_t k = model->plan.n_clusters, d = model->domain.map.n_columns;
    const int32_t *const centers = model->starts.centers + start * k * d;
    int64_t least = INT64_MAX;
    for (size_t c = 0; c < k; c++) {
        const int64_t distance = ef_grid_sqdist(point, centers + c * d, (uint32_t)d);
        least = distance < least ? distance : least;
    }
    return least;
}
