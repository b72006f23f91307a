/*
 * Sampling: the passes over all rows that make a pilot, and mark the rows of its sample (pilot.h).
 *
 * Of a row's squared distance from its nearest seed only the logarithm counts. The scores that find
 * the nearest seed tell it too, but for rows next to a power of two, or so near to their seed that
 * the rounding of scores hides the distance; integers decide these.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "model/kmeans/definition/levels.h"

#include <string.h>

#define OF_TAPE 1024        /* multiply-adds that take as long as the numbers of a panel */
#define LOGARITHMS 104      /* of w u, which is below 2^103; and */
#define AT_A_SEED UINT8_MAX /* for u = 0 */

/* What lies around the seeds. */
typedef struct surroundings {
    ef_workspace *space;
    const ef_centers *seeds;
    uint32_t *labels;             /* of each row: the nearest seed, */
    uint8_t *logarithms;          /* and the logarithm of w u */
    uint64_t (*rows)[LOGARITHMS]; /* of each worker: how many have which */
} surroundings;

/* The smallest e with x <= 2^e; 0 for x <= 1. */
static uint32_t log_up(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t exponent = (bits + ((UINT64_C(1) << 52) - 1)) >> 52;
    return exponent > 1023 ? (uint32_t)(exponent - 1023) : 0;
}

/* The logarithm of w u of row i of a panel on the grid. */
static uint8_t logarithm(const ef_centers *seeds, const ef_survey *found, const float *panel,
                         unsigned i, int64_t weight) {
    if (found->least[i] > 0.0F) {
        const uint32_t least = log_up((double)weight * (double)found->least[i]);
        if (least == log_up((double)weight * (double)found->most[i]))
            return (uint8_t)least;
    }
    const int64_t distance = ef_centers_sqdist(seeds, found->nearest[i], panel, i);
    return distance == 0 ? AT_A_SEED : (uint8_t)ef_log_up((ef_u128)weight * (ef_u128)distance);
}

static void look_at_panels(void *context, unsigned number, size_t first, size_t last) {
    const surroundings *const s = context;
    const ef_workspace *const space = s->space;
    ef_worker *const worker = &space->workers[number];
    for (size_t p = first; p < last; p++) {
        const unsigned n = ef_passes_rows(&space->passes, p);
        ef_survey found;
        worker->rows_undecided += space->passes.kernels->survey(
            s->seeds, space->passes.map, ef_data_panel(space->passes.data, p), n, worker->panel,
            &found);
        for (unsigned i = 0; i < n; i++) {
            const size_t position = p * EF_PANEL + i;
            const int64_t weight = ef_data_weight(space->passes.data, position);
            const uint8_t log = logarithm(s->seeds, &found, worker->panel, i, weight);
            s->labels[position] = found.nearest[i];
            s->logarithms[position] = log;
            worker->counts[found.nearest[i]] += weight;
            if (log != AT_A_SEED)
                s->rows[number][log]++;
        }
    }
}

/* Finds for each row the nearest seed and the logarithm of w u, and for the pilot what these add up
 * to: counts, which are zero on entry, and the spread. */
static efface_status look_around(ef_level_builder *builder, ef_kmeans *model, ef_pilot *pilot,
                                 uint8_t *logarithms, efface_error *error) {
    const uint32_t k = model->plan.n_clusters, d = model->domain.map.n_columns;
    ef_workspace *const space = &builder->space;
    ef_centers seeds;
    efface_status status = ef_builder_prepare(builder, model, error);
    EF_THEN(status, ef_builder_take_labels(builder, error));
    if (status != EFFACE_OK)
        return status;
    if (!ef_centers_init(&seeds, pilot->points, k, d, space->passes.kernels->tile))
        return ef_fail_memory(error);
    surroundings s = {.space = space,
                      .seeds = &seeds,
                      .labels = builder->labels,
                      .logarithms = logarithms,
                      .rows = ef_alloc_zero(space->passes.n_workers, sizeof *s.rows)};
    status =
        s.rows != NULL ? ef_workspace_run(space, look_at_panels, &s, error) : ef_fail_memory(error);
    for (unsigned w = 0; status == EFFACE_OK && w < space->passes.n_workers; w++) {
        ef_worker *const worker = &space->workers[w];
        for (uint32_t c = 0; c < k; c++)
            pilot->counts[c] += worker->counts[c];
        for (uint32_t e = 0; e < LOGARITHMS; e++)
            pilot->spread += (ef_i128)s.rows[w][e] << e;
        memset(worker->counts, 0, k * sizeof *worker->counts);
    }
    ef_team *const team = ef_data_team(builder->data);
    EF_THEN(status, ef_team_sum(team, pilot->counts, k, error));
    EF_THEN(status, ef_team_sum_wide(team, &pilot->spread, 1, error));
    space->rows_assigned += status == EFFACE_OK ? space->passes.data->n_rows : 0;
    ef_count_work(space, model);
    ef_free(s.rows);
    ef_centers_free(&seeds);
    return status;
}

/* ---------------------------------------------------------------- needs */

typedef struct ranking {
    ef_workspace *space;
    uint64_t seed;
    uint32_t spread;        /* its logarithm, */
    const uint32_t *counts; /* and those of the counts */
    const uint32_t *labels;
    uint8_t *needs; /* of each row: on entry, its logarithm */
} ranking;

static void rank_panels(void *context, unsigned number, size_t first, size_t last) {
    const ranking *const r = context;
    const ef_workspace *const space = r->space;
    const int64_t *const weights = space->passes.data->weights;
    (void)number;
    for (size_t p = first; p < last; p++) {
        uint64_t ids[EF_PANEL];
        uint32_t high[EF_PANEL];
        ef_passes_ids(&space->passes, p, ids);
        space->passes.kernels->tape_high(r->seed, EF_TAPE_MEMBER, ids, 0, high);
        for (unsigned i = 0; i < ef_passes_rows(&space->passes, p); i++) {
            const size_t at = p * EF_PANEL + i;
            const uint32_t zeros =
                high[i] != 0 ? (uint32_t)__builtin_clz(high[i]) : ef_member_zeros(r->seed, ids[i]);
            const uint32_t log = r->needs[at];
            uint32_t base = r->counts[r->labels[at]];
            if (weights != NULL)
                base -= ef_log_up((ef_u128)weights[at]);
            if (log != AT_A_SEED && r->spread - log < base)
                base = r->spread - log;
            r->needs[at] = (uint8_t)(base > zeros ? base - zeros : 0);
        }
    }
}

/* Makes the needs of all rows of what was found around the seeds. */
static efface_status find_needs(ef_level_builder *builder, const ef_kmeans_plan *plan,
                                const ef_pilot *pilot, uint8_t *needs, efface_error *error) {
    const uint32_t k = plan->n_clusters;
    uint32_t *const counts = ef_alloc(k, sizeof *counts);
    if (counts == NULL)
        return ef_fail_memory(error);
    for (uint32_t c = 0; c < k; c++)
        counts[c] = ef_log_up(k) + ef_log_up((ef_u128)pilot->counts[c]);
    ranking r = {.space = &builder->space,
                 .seed = plan->seed,
                 .spread = ef_log_up((ef_u128)pilot->spread),
                 .counts = counts,
                 .labels = builder->labels,
                 .needs = needs};
    const efface_status status =
        ef_passes_run(&builder->space.passes, OF_TAPE, rank_panels, &r, error);
    ef_free(counts);
    return status;
}

/* The smallest shift at which so many rows take part. */
static efface_status choose_shift(ef_pilot *pilot, const efface_data *data, const uint8_t *needs,
                                  uint64_t wanted, efface_error *error) {
    int64_t rows[EF_NEEDS] = {0};
    for (size_t i = 0; i < data->n_rows; i++)
        rows[needs[i]]++;
    const efface_status status = ef_team_sum(ef_data_team(data), rows, EF_NEEDS, error);
    if (status != EFFACE_OK)
        return status;
    pilot->n_sample = (uint64_t)rows[0];
    pilot->n_within = 0;
    for (pilot->shift = 0; pilot->n_sample < wanted;) {
        pilot->n_within = pilot->n_sample;
        pilot->n_sample += (uint64_t)rows[++pilot->shift];
    }
    return EFFACE_OK;
}

/* Makes marks of needs. */
static void mark(uint8_t *needs, size_t n, uint32_t shift) {
    for (size_t i = 0; i < n; i++)
        needs[i] = ef_marks(needs[i], shift);
}

/* ---------------------------------------------------------------- a pilot */

/* Makes of a pilot's points all that follows from them, and the marks. Counts are zero on entry. */
static efface_status survey_sample(ef_level_builder *builder, ef_kmeans *model, ef_pilot *pilot,
                                   uint8_t *marks, efface_error *error) {
    efface_status status = look_around(builder, model, pilot, marks, error);
    EF_THEN(status, find_needs(builder, &model->plan, pilot, marks, error));
    EF_THEN(status, choose_shift(pilot, builder->data, marks, model->plan.wanted, error));
    if (status == EFFACE_OK)
        mark(marks, builder->data->n_rows, pilot->shift);
    return status;
}

efface_status ef_pilot_make(ef_level_builder *builder, ef_kmeans *model, const ef_pilot *known,
                            uint8_t *marks, efface_error *error) {
    ef_pilot *const pilot = &model->pilot;
    const size_t k = model->plan.n_clusters, d = model->domain.map.n_columns;
    ef_kmeans_plan plain = model->plan;
    plain.candidates = 1;
    efface_status status = ef_builder_prepare(builder, model, error);
    if (status == EFFACE_OK && !ef_pilot_init(pilot, k, d))
        status = ef_fail_memory(error);
    const ef_seeds seeds = {.points = pilot->points, .winners = pilot->winners};
    if (status == EFFACE_OK && known != NULL) {
        memcpy(pilot->winners, known->winners, k * sizeof *pilot->winners);
        memcpy(pilot->points, known->points, k * d * sizeof *pilot->points);
    } else {
        EF_THEN(status, ef_seed(&builder->space, &plain, &seeds, 0, NULL, NULL, error));
    }
    return status == EFFACE_OK ? survey_sample(builder, model, pilot, marks, error) : status;
}

efface_status ef_pilot_mark(ef_level_builder *builder, ef_kmeans *model, uint8_t *marks, bool *fits,
                            efface_error *error) {
    const size_t k = model->plan.n_clusters;
    const ef_pilot *const pilot = &model->pilot;
    ef_pilot found = {.points = pilot->points, .counts = ef_alloc_zero(k, sizeof *found.counts)};
    const efface_status status = found.counts != NULL
                                     ? survey_sample(builder, model, &found, marks, error)
                                     : ef_fail_memory(error);
    *fits = status == EFFACE_OK && found.spread == pilot->spread &&
            memcmp(found.counts, pilot->counts, k * sizeof *found.counts) == 0 &&
            found.shift == pilot->shift && found.n_sample == pilot->n_sample &&
            found.n_within == pilot->n_within;
    ef_free(found.counts);
    return status;
}
