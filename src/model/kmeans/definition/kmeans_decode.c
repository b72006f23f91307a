/*
 * From canonical bytes (docs/definition/format.md) back to a model.
 *
 * The bytes have everything of a state but the seed, which with the other parameters the caller
 * gives, and what follows from the rows: the partition that pyramid keeps and the sets of a tree's
 * nodes are made again. Bytes are not trusted: sizes are checked before memory is taken, numbers
 * before they are used, and what cannot be the state of these parameters and rows is refused. Bytes
 * that pass may still be wrong, if someone wrote them so; efface_model_verify finds that.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/kmeans/definition/levels.h"
#include "model/kmeans/definition/tree.h"

#include <assert.h>
#include <string.h>

/* ---------------------------------------------------------------- parts of a flat model */

static bool read_points(ef_decoder *r, int32_t *points, size_t n) {
    if (!ef_decoder_has(r, n, sizeof *points))
        return false;
    for (size_t i = 0; i < n; i++) {
        points[i] = (int32_t)ef_read_u32(r);
        if (points[i] < -EF_GRID_MAX || points[i] > EF_GRID_MAX)
            return false;
    }
    return true;
}

static ef_winner read_winner(ef_decoder *r) {
    ef_winner winner = {.id = ef_read_u64(r)};
    winner.key = ef_read_f64(r);
    return winner;
}

/* What the bytes have of columns with the scale standard: spreads, or nothing in a node of a tree,
 * which is given its domain. */
static efface_status read_standard(ef_decoder *r, ef_domain *domain, uint32_t d, int exponent,
                                   const ef_bounds *bounds, int64_t weight, efface_error *error) {
    bool short_of_memory = false;
    if (exponent < 0)
        return ef_fail_state(error, "the distances from centres of columns");
    if (bounds->column_min != NULL)
        return ef_domain_restore(domain, d, EFFACE_SCALE_STANDARD, exponent, bounds->column_min,
                                 bounds->column_max, bounds->ignored)
                   ? EFFACE_OK
                   : ef_fail_memory(error);
    ef_spreads *const spreads = ef_spreads_read(r, d, weight, bounds->ignored, &short_of_memory);
    if (spreads == NULL && !short_of_memory)
        return ef_fail_state(error, "the spread of a column");
    return spreads != NULL && ef_domain_restore_standard(domain, exponent, spreads, bounds->seed)
               ? EFFACE_OK
               : ef_fail_memory(error);
}

efface_status ef_domain_read(ef_decoder *r, ef_domain *domain, uint32_t d, int exponent,
                             ef_bounds bounds, int64_t weight, efface_error *error) {
    const efface_scale scale = bounds.scale;
    if (scale == EFFACE_SCALE_STANDARD)
        return read_standard(r, domain, d, exponent, &bounds, weight, error);
    float *const low = ef_alloc_zero(d, sizeof *low), *const high = ef_alloc_zero(d, sizeof *high);
    efface_status status = low != NULL && high != NULL ? EFFACE_OK : ef_fail_memory(error);
    const float most = (float)EFFACE_MAX_MAGNITUDE;
    for (uint32_t j = 0; status == EFFACE_OK && scale == EFFACE_SCALE_MINMAX && j < d; j++) {
        low[j] = ef_read_f32(r);
        high[j] = ef_read_f32(r);
        if (!(low[j] >= -most && low[j] <= high[j] && high[j] <= most))
            status = ef_fail_state(error, "the range of a column");
    }
    if (status == EFFACE_OK &&
        !ef_domain_restore(domain, d, scale, exponent, low, high, bounds.ignored))
        status = ef_fail_memory(error);
    ef_free(low);
    ef_free(high);
    return status;
}

/* Whether a sum over rows of their squared distances, or norms, can be this one: both lie within
 * the grid, at most twice its range apart. */
static bool is_square_sum(const ef_kmeans *m, size_t d, ef_i128 sum) {
    const ef_i128 most = (ef_i128)4 * EF_GRID_MAX * EF_GRID_MAX * (int64_t)d;
    return sum >= 0 && sum <= most * m->total_weight;
}

/* The same for the jury, whose weights are others. */
static bool is_jury_loss(const ef_kmeans *m, ef_i128 sum) {
    const ef_i128 most = (ef_i128)4 * EF_GRID_MAX * EF_GRID_MAX * (int64_t)m->domain.map.n_columns;
    return sum >= 0 && sum <= most << EF_MEMBERS_BITS;
}

static efface_status read_starts(ef_decoder *r, ef_kmeans *m, efface_error *error) {
    const size_t k = m->plan.n_clusters, n_values = k * m->domain.map.n_columns;
    if (!ef_decoder_has(r, m->plan.starts, n_values * sizeof(int32_t) + sizeof(ef_i128)))
        return ef_fail_state(error, "it ends too early");
    if (!ef_starts_init(&m->starts, m->plan.starts, k, m->domain.map.n_columns))
        return ef_fail_memory(error);
    for (size_t s = 0; s < m->plan.starts; s++) {
        if (!read_points(r, m->starts.centers + s * n_values, n_values))
            return ef_fail_state(error, "the centroids of a start");
        m->starts.losses[s] = ef_read_i128(r);
        if (!is_jury_loss(m, m->starts.losses[s]))
            return ef_fail_state(error, "the loss of a start");
    }
    return EFFACE_OK;
}

/* What comes behind the winners of the pilot. */
static efface_status read_pilot(ef_decoder *r, ef_kmeans *m, efface_error *error) {
    const size_t k = m->plan.n_clusters;
    int64_t total = 0;
    if (!read_points(r, m->pilot.points, k * m->domain.map.n_columns))
        return ef_fail_state(error, "the seeds of the sample");
    for (size_t c = 0; c < k; c++) {
        const int64_t count = (int64_t)ef_read_u64(r);
        if (count < 0 || count > m->total_weight - total)
            return ef_fail_state(error, "the weights around the seeds of the sample");
        m->pilot.counts[c] = count;
        total += count;
    }
    if (r->failed || total != m->total_weight)
        return ef_fail_state(error, "the weights around the seeds of the sample");
    return EFFACE_OK;
}

/* The winners of the seeding. */
static efface_status read_seeds(ef_decoder *r, ef_kmeans *m, efface_error *error) {
    const uint32_t k = m->plan.n_clusters;
    const bool pyramid = m->plan.method == EFFACE_METHOD_PYRAMID;
    if (!ef_decoder_has(r, k, 16))
        return ef_fail_state(error, "it ends too early");
    if (pyramid) {
        if (!ef_decoder_has(r, (size_t)k * m->domain.map.n_columns, sizeof(int32_t)))
            return ef_fail_state(error, "it ends too early");
        if (!ef_pilot_init(&m->pilot, k, m->domain.map.n_columns))
            return ef_fail_memory(error);
    } else {
        m->seeds = ef_alloc_zero(k, sizeof *m->seeds);
        if (m->seeds == NULL)
            return ef_fail_memory(error);
    }
    ef_winner *const seeds = pyramid ? m->pilot.winners : m->seeds;
    for (uint32_t c = 0; c < k; c++)
        seeds[c] = read_winner(r);
    return EFFACE_OK;
}

static efface_status read_rounds(ef_decoder *r, ef_kmeans *m, efface_error *error) {
    const size_t d = m->domain.map.n_columns, c = m->plan.candidates;
    const uint32_t n_rounds = ef_read_u32(r);
    if (n_rounds > m->plan.n_clusters || !ef_decoder_has(r, n_rounds * c, 32 + 4 * d))
        return ef_fail_state(error, "it ends too early");
    if (!ef_rounds_init(&m->rounds, n_rounds, c, d))
        return ef_fail_memory(error);
    m->rounds.n_rounds = n_rounds;
    for (size_t i = 0; i < n_rounds * c; i++) {
        m->rounds.winners[i] = read_winner(r);
        if (!read_points(r, m->rounds.points + i * d, d))
            return ef_fail_state(error, "a candidate of the seeding");
        m->rounds.potentials[i] = ef_read_i128(r);
        if (!is_square_sum(m, d, m->rounds.potentials[i]))
            return ef_fail_state(error, "a potential of the seeding");
    }
    return EFFACE_OK;
}

/* Whether the seeds are the best candidates of their rounds, and there are as many rounds as there
 * are seeds at other places than those before. */
static bool are_best(const ef_kmeans *m) {
    const size_t d = m->domain.map.n_columns, c = m->plan.candidates;
    const ef_rounds *const rounds = &m->rounds;
    if (m->n_levels == 0)
        return rounds->n_rounds == 0;
    if (rounds->n_rounds + 1 != ef_count_apart(m, m->levels[0].centers))
        return false;
    for (size_t l = 1; l <= rounds->n_rounds; l++) {
        const size_t first = (l - 1) * c;
        const size_t best = first + ef_best_slot(rounds->potentials + first, (uint32_t)c);
        if (rounds->winners[best].id != m->seeds[l].id ||
            memcmp(&rounds->winners[best].key, &m->seeds[l].key, sizeof(double)) != 0 ||
            memcmp(rounds->points + best * d, m->levels[0].centers + l * d,
                   d * sizeof *rounds->points) != 0)
            return false;
    }
    return true;
}

/* Counts and sums that rows within the grid can have. */
static bool is_possible(const ef_kmeans *m, const ef_level *level) {
    const size_t d = m->domain.map.n_columns;
    int64_t total = 0;
    for (size_t c = 0; c < m->plan.n_clusters; c++) {
        const int64_t count = level->counts[c];
        if (count < 0 || count > m->total_weight - total)
            return false;
        total += count;
        for (size_t i = c * d; i < (c + 1) * d; i++)
            if (level->sums[i] > count * EF_GRID_MAX || level->sums[i] < -count * EF_GRID_MAX)
                return false;
    }
    return total == m->total_weight;
}

static efface_status read_level(ef_decoder *r, ef_kmeans *m, efface_error *error) {
    const size_t k = m->plan.n_clusters, n_values = k * m->domain.map.n_columns;
    if (!ef_decoder_has(r, n_values, sizeof(int32_t)))
        return ef_fail_state(error, "it ends too early");
    ef_level *const level = ef_kmeans_add_level(m, false);
    if (level == NULL)
        return ef_fail_memory(error);
    if (!read_points(r, level->centers, n_values))
        return ef_fail_state(error, "the centroids of a level");
    const uint32_t has_partition = ef_read_u32(r);
    if (has_partition > 1)
        return ef_fail_state(error, "a level");
    level->has_partition = has_partition != 0;
    if (!level->has_partition)
        return EFFACE_OK;
    for (size_t c = 0; c < k; c++)
        level->counts[c] = (int64_t)ef_read_u64(r);
    for (size_t i = 0; i < n_values; i++)
        level->sums[i] = (int64_t)ef_read_u64(r);
    const uint32_t n_reseeded = ef_read_u32(r);
    if (r->failed || !is_possible(m, level) || n_reseeded > k)
        return ef_fail_state(error, "the sums of a level");
    level->reseeded = ef_alloc(n_reseeded, sizeof *level->reseeded);
    if (level->reseeded == NULL)
        return ef_fail_memory(error);
    level->n_reseeded = n_reseeded;
    for (uint32_t i = 0; i < n_reseeded; i++) {
        level->reseeded[i].cluster = ef_read_u32(r);
        level->reseeded[i].winner = read_winner(r);
        const bool ascends = i == 0 || level->reseeded[i - 1].cluster < level->reseeded[i].cluster;
        if (level->reseeded[i].cluster >= k || !ascends ||
            level->counts[level->reseeded[i].cluster] != 0)
            return ef_fail_state(error, "the reseeding of a level");
    }
    return EFFACE_OK;
}

/* Whether the levels are a list that a fit can have left, and whether it ended by being stable. */
static bool are_complete(ef_kmeans *m) {
    const ef_kmeans_plan *const plan = &m->plan;
    const bool quantized = plan->method == EFFACE_METHOD_QUANTIZED;
    const uint32_t limit = plan->method == EFFACE_METHOD_PYRAMID ? plan->passes : plan->iterations;
    if ((m->n_levels == 0) != (m->n_rows == 0) || m->n_levels > limit + 1)
        return false;
    if (m->n_levels == 0)
        return m->model_level == 0;
    const uint32_t last = m->n_levels - 1;
    for (uint32_t t = 0; t < last; t++)
        if (!m->levels[t].has_partition)
            return false;
    if (!quantized && m->levels[last].has_partition != (last < limit))
        return false;
    if (quantized && !m->levels[last].has_partition)
        return false;
    if (m->model_level != last && (!quantized || last == 0 || m->model_level != last - 1))
        return false;
    m->stable = m->model_level == last && last < limit;
    return true;
}

/* ---------------------------------------------------------------- a flat model */

/* What comes after the method, which may be lloyd for a pyramid. */
static efface_status read_flat(ef_decoder *r, ef_kmeans *m, efface_method method, uint32_t d,
                               efface_error *error) {
    ef_kmeans_plan *const plan = &m->plan;
    const efface_kmeans_params *const p = &m->params;
    bool ok = ef_read_u32(r) == p->n_clusters;
    ok &= ef_read_u32(r) == plan->iterations;
    ok &= ef_read_u32(r) == (uint32_t)p->scale;
    ok &= ef_read_u32(r) == (uint32_t)plan->empty;
    const int exponent = (int32_t)ef_read_u32(r);
    plan->epsilon = ef_read_u32(r);
    ok &= ef_read_u32(r) == plan->gamma;
    plan->n_clusters = ef_read_u32(r);
    const uint32_t n_levels = ef_read_u32(r);
    m->model_level = ef_read_u32(r);
    m->n_rows = ef_read_u64(r);
    m->total_weight = (int64_t)ef_read_u64(r);
    m->square_sum = ef_read_i128(r);
    ok &= plan->n_clusters == (m->n_rows < p->n_clusters ? m->n_rows : p->n_clusters);
    if (p->method == EFFACE_METHOD_PYRAMID)
        ef_kmeans_plan_sample(plan, p, m->n_rows);
    ok &= plan->method == method;
    const bool pyramid = plan->method == EFFACE_METHOD_PYRAMID;
    if (pyramid) {
        ef_pilot *const pilot = &m->pilot;
        ok &= ef_read_u32(r) == plan->passes;
        ok &= ef_read_u32(r) == plan->starts;
        m->start = ef_read_u32(r);
        pilot->shift = ef_read_u32(r);
        pilot->n_sample = ef_read_u64(r);
        pilot->n_within = ef_read_u64(r);
        pilot->jury_weight = ef_read_i128(r);
        pilot->spread = ef_read_i128(r);
        ok &= m->start < plan->starts && pilot->shift < EF_NEEDS;
        ok &= pilot->n_within <= pilot->n_sample && pilot->n_sample <= m->n_rows;
        ok &= ef_shift_stands(pilot, plan->wanted) && pilot->jury_weight > 0;
        ok &= pilot->jury_weight >> 126 == 0;
        ok &= pilot->spread >= 0 && is_square_sum(m, d, pilot->spread / 2);
    }
    ok &= exponent >= EF_EXPONENT_MIN && exponent <= EF_EXPONENT_MAX;
    ok &= m->total_weight >= 0 && m->total_weight < EFFACE_MAX_WEIGHT;
    ok &= m->n_rows <= (uint64_t)m->total_weight && plan->epsilon <= EF_GRID_MAX;
    ok &= is_square_sum(m, d, m->square_sum);
    ok &= plan->method != EFFACE_METHOD_QUANTIZED || plan->epsilon != 0;
    if (r->failed || !ok)
        return ef_fail_state(error, "a parameter or a total");
    efface_status status = ef_domain_read(r, &m->domain, d, exponent,
                                          ef_params_bounds(p, m->ignored), m->total_weight, error);
    EF_THEN(status, read_seeds(r, m, error));
    if (status == EFFACE_OK && pyramid)
        status = read_pilot(r, m, error);
    if (status == EFFACE_OK && pyramid)
        status = read_starts(r, m, error);
    plan->candidates = ef_count_candidates(p->candidates, plan->n_clusters);
    if (status == EFFACE_OK && ef_keeps_rounds(plan))
        status = read_rounds(r, m, error);
    for (uint32_t t = 0; status == EFFACE_OK && t < n_levels; t++)
        status = read_level(r, m, error);
    if (status == EFFACE_OK && (r->failed || !are_complete(m)))
        status = ef_fail_state(error, "its levels");
    if (status == EFFACE_OK && ef_keeps_rounds(plan) && !are_best(m))
        status = ef_fail_state(error, "the candidates of the seeding");
    return status;
}

efface_status ef_kmeans_read(ef_decoder *r, const efface_kmeans_params *params, const bool *ignored,
                             uint32_t d, ef_kmeans **out, efface_error *error) {
    efface_status status = EFFACE_OK;
    char magic[8];
    ef_read_bytes(r, magic, sizeof magic);
    const uint32_t version = ef_read_u32(r), method = ef_read_u32(r);
    if (r->failed || memcmp(magic, EF_FORMAT_MAGIC, sizeof magic) != 0)
        return ef_fail(error, EFFACE_E_FORMAT, "these bytes are not the state of a model");
    if (version != EF_FORMAT_VERSION)
        return ef_fail(error, EFFACE_E_FORMAT,
                       "the state has format version %u; this library knows version %u",
                       (unsigned)version, EF_FORMAT_VERSION);
    const bool falls_back =
        params->method == EFFACE_METHOD_PYRAMID && method == EFFACE_METHOD_LLOYD;
    if (!falls_back && method != ef_method_number(params->method))
        return ef_fail_state(error, "its method");
    if (ef_read_u32(r) != d)
        return ef_fail_state(error, "its columns");
    ef_kmeans *const model = ef_alloc_zero(1, sizeof *model);
    if (model == NULL)
        return ef_fail_memory(error);
    model->ignored = ignored;
    status = ef_keep_params(model, params, d, error);
    ef_kmeans_plan_fixed(&model->plan, params);
    if (status == EFFACE_OK)
        status =
            params->method == EFFACE_METHOD_TREE
                ? ef_tree_read(r, model, d, error)
                : read_flat(r, model, falls_back ? EFFACE_METHOD_LLOYD : params->method, d, error);
    if (status != EFFACE_OK)
        ef_kmeans_free(model);
    else
        *out = model;
    return status;
}

/* ---------------------------------------------------------------- with its rows */

/* Makes again what pyramid keeps of the rows; the sums of level 0 tell whether they are the rows.
 */
static efface_status make_labels(ef_kmeans *m, const efface_data *data, efface_error *error) {
    const size_t k = m->plan.n_clusters, d = m->domain.map.n_columns;
    ef_level_builder builder = {.data = data};
    ef_level level = {.centers = m->levels[0].centers,
                      .counts = ef_alloc_zero(k, sizeof *level.counts),
                      .sums = ef_alloc_zero(k * d, sizeof *level.sums)};
    uint8_t *marks = ef_alloc(data->n_rows, sizeof *marks);
    bool fits = false;
    efface_status status = marks != NULL && level.counts != NULL && level.sums != NULL
                               ? ef_pilot_mark(&builder, m, marks, &fits, error)
                               : ef_fail_memory(error);
    if (status == EFFACE_OK && !fits)
        status = ef_fail_state(error, "it belongs to other rows");
    if (status == EFFACE_OK) {
        ef_builder_take_margins(&builder);
        status = ef_make_partition(&builder, m, &level, NULL, error);
    }
    if (status == EFFACE_OK &&
        (memcmp(level.counts, m->levels[0].counts, k * sizeof *level.counts) != 0 ||
         memcmp(level.sums, m->levels[0].sums, k * d * sizeof *level.sums) != 0))
        status = ef_fail_state(error, "it belongs to other rows");
    if (status == EFFACE_OK) {
        ef_kept_take_marks(m, marks, data->n_rows);
        marks = NULL;
    }
    if (ef_labels_kept(m) != NULL)
        ef_kept_labels_pack(ef_labels_kept(m), data->n_rows, builder.labels, builder.margins,
                            level.centers, (uint32_t)k, (uint32_t)d);
    m->work = (ef_work_done){0};
    ef_free(marks);
    ef_free(level.counts);
    ef_free(level.sums);
    ef_builder_free(&builder);
    return status;
}

efface_status ef_kmeans_attach(ef_kmeans *model, const efface_data *data, efface_error *error) {
    /* A node of a tree may have been read for other rows. */
    const ef_counts *const whole = ef_data_whole(data);
    if (data->n_columns != model->domain.map.n_columns || whole->n_rows != model->n_rows ||
        whole->total_weight != model->total_weight)
        return ef_fail_state(error, "it belongs to other rows");
    ef_domain domain;
    const ef_bounds bounds = ef_params_bounds(&model->params, model->ignored);
    efface_status status = ef_domain_of(&domain, data, bounds, error);
    if (status != EFFACE_OK)
        return status;
    const ef_spreads *const spreads = model->domain.spreads;
    if (domain.exponent != model->domain.exponent || !ef_domain_same_map(&domain, &model->domain) ||
        (spreads != NULL && !ef_spreads_equal(domain.spreads, spreads))) {
        ef_domain_free(&domain);
        return ef_fail_state(error, "it belongs to other rows");
    }
    ef_domain_free(&model->domain);
    model->domain = domain;
    if (model->tree != NULL)
        status = ef_tree_attach(model, data, error);
    else if (model->plan.method == EFFACE_METHOD_PYRAMID && model->n_levels != 0)
        status = make_labels(model, data, error);
    return status;
}
