/*
 * The starts of pyramid: several runs of lloyd on the rows of the sample (pilot.h), judged by the
 * jury, a larger sample. The centers of the best are what the passes over all rows begin with.
 *
 * A small sample has worse local optima than all rows have, and is a poor judge of its own; the
 * best of a few by the loss over more rows makes up for both. Results and losses of all starts are
 * kept. A change that reaches the sample makes them anew. A change that reaches the jury alone,
 * which is more common, changes the losses by what its own rows add or take, in integers: no other
 * row is looked at unless another start is now the best.
 *
 * In a group every rank gets the rows of the jury, and the ranks share the starts.
 */
#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "model/kmeans/sampling/trial.h"

#include <string.h>

void ef_starts_free(ef_starts *starts) {
    ef_free(starts->losses); /* and what lies behind them */
    *starts = (ef_starts){0};
}

bool ef_starts_init(ef_starts *starts, size_t n_starts, size_t k, size_t d) {
    const ef_array arrays[] = {{&starts->losses, n_starts, sizeof *starts->losses},
                               {&starts->centers, n_starts * k, d * sizeof *starts->centers}};
    *starts = (ef_starts){0};
    return EF_ARRAYS_TAKE(arrays, false) != NULL;
}

/* ---------------------------------------------------------------- sample and jury */

/* Gives the rows of a set, whose base exponents are known, the weights that they have in a sample
 * with this shift. *total becomes what these add up to before they are cut down. */
static efface_status weigh_starts(efface_data *set, const uint8_t *bases, uint32_t shift,
                                  ef_i128 *total, efface_error *error) {
    int64_t *const weights = ef_alloc(set->capacity, sizeof *weights);
    if (weights == NULL)
        return ef_fail_memory(error);
    *total = 0;
    for (size_t i = 0; i < set->n_rows; i++)
        *total += ef_member_weight(bases[i], shift, ef_data_weight(set, i));
    const uint32_t cut = ef_weight_cut(*total);
    set->total_weight = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        weights[i] = ef_cut_weight(ef_member_weight(bases[i], shift, ef_data_weight(set, i)), cut);
        set->total_weight += weights[i];
    }
    ef_free(set->weights);
    set->weights = weights;
    return EFFACE_OK;
}

/* The base exponents of the rows of a set. */
static efface_status find_bases(const ef_kmeans *model, const efface_data *set, uint8_t *bases,
                                efface_error *error) {
    const ef_pilot *const pilot = &model->pilot;
    const ef_map *const map = &model->domain.map;
    const uint32_t k = model->plan.n_clusters, d = map->n_columns;
    const ef_kernels *kernels = NULL;
    ef_centers centers;
    efface_status status = ef_kernels_require(&kernels, error);
    if (status != EFFACE_OK)
        return status;
    if (!ef_centers_init(&centers, pilot->points, k, d, kernels->tile))
        return ef_fail_memory(error);
    float *const panel = ef_alloc_aligned(d, EF_PANEL * sizeof *panel);
    const size_t n = panel != NULL ? set->n_rows : 0;
    for (size_t first = 0; first < n; first += EF_PANEL) {
        const float *const values = ef_data_panel(set, first / EF_PANEL);
        const unsigned n_rows = n - first < EF_PANEL ? (unsigned)(n - first) : EF_PANEL;
        uint32_t nearest[EF_PANEL];
        (void)kernels->nearest(&centers, map, values, n_rows, values, panel, nearest, NULL);
        kernels->snap(map, values, n_rows, panel);
        for (unsigned i = 0; i < n_rows; i++) {
            const int64_t weight = ef_data_weight(set, first + i);
            const int64_t distance = ef_centers_sqdist(&centers, nearest[i], panel, i);
            bases[first + i] = ef_rank_of(pilot, k, nearest[i], weight, distance, 0).base;
        }
    }
    ef_free(panel);
    ef_centers_free(&centers);
    return panel != NULL ? EFFACE_OK : ef_fail_memory(error);
}

/* A row of the jury as ranks send it to each other; its values come behind it. */
typedef struct member {
    uint64_t id;
    int64_t weight;
    uint64_t in_sample;
} member;

static size_t member_bytes(uint32_t d) {
    return sizeof(member) + d * sizeof(float);
}

/* The rows at positions, those of the sample first, as members. NULL if out of memory. */
static unsigned char *write_members(const efface_data *data, const size_t *positions, size_t n,
                                    size_t n_sample) {
    const size_t n_bytes = member_bytes(data->n_columns);
    unsigned char *const members = ef_alloc(n, n_bytes);
    for (size_t i = 0; members != NULL && i < n; i++) {
        const member m = {ef_data_id(data, positions[i]), ef_data_weight(data, positions[i]),
                          i < n_sample};
        memcpy(members + i * n_bytes, &m, sizeof m);
        efface_data_values(data, positions[i], (float *)(void *)(members + i * n_bytes + sizeof m));
    }
    return members;
}

/* Adds those members to a set that are in the sample, or those that are not. */
static efface_status add_members(efface_data *set, const unsigned char *members, size_t n,
                                 bool in_sample, efface_error *error) {
    const size_t n_bytes = member_bytes(set->n_columns), n_values = set->n_columns * sizeof(float);
    uint64_t *ids;
    int64_t *weights;
    float *values;
    const ef_array arrays[] = {
        {&ids, n, sizeof *ids}, {&weights, n, sizeof *weights}, {&values, n, n_values}};
    void *const block = EF_ARRAYS_TAKE(arrays, false);
    if (block == NULL)
        return ef_fail_memory(error);
    efface_rows rows = {.values = values, .ids = ids, .weights = weights};
    for (size_t i = 0; i < n; i++) {
        const unsigned char *const at = members + i * n_bytes;
        member m;
        memcpy(&m, at, sizeof m);
        if ((m.in_sample != 0) != in_sample)
            continue;
        ids[rows.n_rows] = m.id;
        weights[rows.n_rows] = m.weight;
        memcpy(values + rows.n_rows * set->n_columns, at + sizeof m, n_values);
        rows.n_rows++;
    }
    const efface_status status = efface_data_add(set, &rows, error);
    ef_free(block);
    return status;
}

/* Makes sets of the members of all ranks, which can change. */
static efface_status pool(ef_trial *t, const efface_data *data, const size_t *positions, size_t n,
                          size_t n_sample, efface_error *error) {
    ef_team *const team = ef_data_team(data);
    const uint32_t d = data->n_columns;
    ef_gathered all = {0};
    unsigned char *const own = write_members(data, positions, n, n_sample);
    efface_status status = own != NULL ? EFFACE_OK : ef_fail_memory(error);
    if (team != NULL)
        EF_THEN(status,
                ef_team_gather(team, own, n * member_bytes(d), EFFACE_EVERY_RANK, &all, error));
    const unsigned char *const members = team != NULL ? all.bytes : own;
    const size_t n_all = team == NULL          ? n
                         : status == EFFACE_OK ? all.begins[team->group.size] / member_bytes(d)
                                               : 0;
    EF_THEN(status, efface_data_create(d, &t->sample, error));
    EF_THEN(status, efface_data_create(d, &t->jury, error));
    EF_THEN(status, add_members(t->sample, members, n_all, true, error));
    EF_THEN(status, add_members(t->jury, members, n_all, true, error));
    EF_THEN(status, add_members(t->jury, members, n_all, false, error));
    ef_gathered_free(&all);
    ef_free(own);
    return status;
}

efface_status ef_trial_gather(ef_trial *t, ef_kmeans *model, const efface_data *data,
                              const uint8_t *codes, bool *keeps, efface_error *error) {
    ef_pilot *const pilot = &model->pilot;
    size_t *positions = NULL, n_jury = 0, n_sample = 0;
    efface_status status =
        ef_marks_find(codes, data->n_rows, &positions, &n_jury, &n_sample, error);
    *keeps = *keeps && ef_data_team(data) == NULL && ef_trial_fits(model, n_sample, n_jury);
    if (status == EFFACE_OK && (*keeps || ef_data_team(data) != NULL)) {
        status = pool(t, data, positions, n_jury, n_sample, error);
    } else if (status == EFFACE_OK) {
        status = ef_data_copy_rows(data, positions, n_sample, &t->sample, error);
        EF_THEN(status, ef_data_copy_rows(data, positions, n_jury, &t->jury, error));
    }
    ef_free(positions);
    if (status != EFFACE_OK)
        return status;
    uint8_t *const bases = ef_alloc(t->jury->n_rows, sizeof *bases); /* the sample's come first */
    status = bases != NULL ? find_bases(model, t->jury, bases, error) : ef_fail_memory(error);
    EF_THEN(status, weigh_starts(t->sample, bases, pilot->shift, &t->weight, error));
    EF_THEN(status,
            weigh_starts(t->jury, bases, pilot->shift + EF_JURY_SHIFT, &pilot->jury_weight, error));
    ef_free(bases);
    return status;
}

/* ---------------------------------------------------------------- running and judging */

/* Every rank gets the centers and losses of all starts; those of others are 0 before. */
static efface_status share_starts(ef_team *team, ef_starts *starts, size_t n_starts,
                                  size_t n_values, efface_error *error) {
    const size_t n = n_starts * n_values;
    if (team == NULL)
        return EFFACE_OK;
    int64_t *const sums = ef_alloc(n, sizeof *sums);
    efface_status status = sums != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++)
        sums[i] = starts->centers[i];
    EF_THEN(status, ef_team_sum(team, sums, n, error));
    EF_THEN(status, ef_team_sum_wide(team, starts->losses, n_starts, error));
    for (size_t i = 0; status == EFFACE_OK && i < n; i++)
        starts->centers[i] = (int32_t)sums[i];
    ef_free(sums);
    return status;
}

static efface_status run_and_judge(ef_starts *starts, ef_kmeans *model, const efface_data *data,
                                   const uint8_t *codes, ef_trial **kept, efface_error *error) {
    const ef_kmeans_plan *const plan = &model->plan;
    const size_t k = plan->n_clusters, n_values = k * model->domain.map.n_columns;
    ef_team *const team = ef_data_team(data);
    const uint32_t first = team != NULL ? team->group.rank : 0;
    const uint32_t step = team != NULL ? team->group.size : 1;
    bool keeps = kept != NULL;
    ef_trial *const t = ef_trial_create(plan->starts);
    if (t == NULL || !ef_starts_init(starts, plan->starts, k, model->domain.map.n_columns)) {
        ef_trial_free(t);
        return ef_fail_memory(error);
    }
    memset(starts->centers, 0, plan->starts * n_values * sizeof *starts->centers);
    memset(starts->losses, 0, plan->starts * sizeof *starts->losses);
    efface_status status = ef_trial_gather(t, model, data, codes, &keeps, error);
    ef_level_builder running = {.data = t->sample}, judging = {.data = t->jury};
    /* With the map of the model: each start has its own, and may be gone before the next runs. */
    EF_THEN(status, ef_builder_prepare(&running, model, error));
    EF_THEN(status, ef_builder_prepare(&judging, model, error));
    for (uint32_t r = first; status == EFFACE_OK && r < plan->starts; r += step) {
        status = ef_trial_run(t, model, r, keeps, &running, &judging, error);
        if (status == EFFACE_OK)
            ef_trial_tell(t, r, starts, &model->work);
        if (!keeps)
            ef_trial_drop(t, r);
    }
    ef_builder_free(&running);
    ef_builder_free(&judging);
    EF_THEN(status, share_starts(team, starts, plan->starts, n_values, error));
    if (status != EFFACE_OK)
        ef_starts_free(starts);
    if (status == EFFACE_OK && keeps)
        *kept = t;
    else
        ef_trial_free(t);
    return status;
}

efface_status ef_starts_run(ef_starts *starts, ef_kmeans *model, const efface_data *data,
                            const uint8_t *codes, ef_trial **kept, efface_error *error) {
    const efface_status status = run_and_judge(starts, model, data, codes, kept, error);
    /* The ranks of a group keep none, and have to fail together. */
    return status == EFFACE_E_MEMORY && kept != NULL && ef_data_team(data) == NULL
               ? run_and_judge(starts, model, data, codes, NULL, error)
               : status;
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
    int64_t distance;
    (void)ef_nearest_point(centers, (uint32_t)k, (uint32_t)d, point, &distance);
    return distance;
}
