/* The state of a model: memory, loss, canonical bytes, and what can be asked of it. */
#include "base/bytes/digest.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/kmeans/definition/levels.h"
#include "model/kmeans/definition/tree.h"

#include <inttypes.h>
#include <string.h>

void ef_kmeans_free(ef_kmeans *model) {
    if (model == NULL)
        return;
    for (uint32_t t = 0; t < model->n_levels; t++)
        ef_level_free(&model->levels[t]);
    ef_free(model->levels);
    ef_free(model->seeds);
    ef_rounds_free(&model->rounds);
    ef_pilot_free(&model->pilot);
    ef_starts_free(&model->starts);
    ef_kept_free(model->kept);
    ef_free(model->params_block);
    ef_tree_free(model->tree);
    if (!model->is_start)
        ef_domain_free(&model->domain);
    ef_free(model);
}

void ef_kmeans_become(ef_kmeans *model, ef_kmeans *fresh) {
    const ef_kmeans old = *model;
    *model = *fresh;
    *fresh = old;
    ef_kmeans_free(fresh);
}

void ef_level_free(ef_level *level) {
    ef_free(level->block);
    ef_free(level->reseeded);
    *level = (ef_level){0};
}

ef_level *ef_kmeans_add_level(ef_kmeans *model, bool is_open) {
    ef_level *const more = ef_realloc(model->levels, (size_t)model->n_levels + 1, sizeof *more);
    if (more == NULL)
        return NULL;
    model->levels = more;
    const size_t k = model->plan.n_clusters;
    size_t n_values, n_sums = 0;
    if (!ef_mul_size(k, model->domain.map.n_columns, &n_values) ||
        (!is_open && !ef_add_size(n_values, k, &n_sums)))
        return NULL;
    /* One block, for a request makes some ten levels and releases as many. */
    ef_level *const level = &more[model->n_levels];
    int64_t *const block = ef_alloc_zero(n_sums + n_values / 2 + 1, sizeof *block);
    if (block == NULL)
        return NULL;
    *level = (ef_level){.block = block, .centers = (int32_t *)(void *)(block + n_sums)};
    if (!is_open) {
        level->sums = block;
        level->counts = block + n_values;
    }
    model->n_levels++;
    return level;
}

uint32_t ef_count_partitions(const ef_kmeans *model, uint32_t first) {
    uint32_t n = 0;
    for (uint32_t t = first; t < model->n_levels; t++)
        n += model->levels[t].has_partition;
    return n;
}

void ef_kmeans_set_work(ef_kmeans *model, uint32_t n_threads, ef_interrupt interrupt) {
    model->params.common.n_threads = n_threads;
    model->params.common.interrupted = interrupt.asked;
    model->params.common.interrupt_context = interrupt.context;
    model->params.common.progress = NULL; /* it had the context of before */
    model->plan.n_threads = n_threads;
    model->plan.interrupt = interrupt;
    model->plan.interrupt.progress = NULL; /* of a fit under way, which will be over */
}

const int32_t *ef_kmeans_centers(const ef_kmeans *model) {
    if (model->tree != NULL) {
        const ef_kmeans *const root = ef_tree_root(model->tree);
        return root != NULL ? ef_kmeans_centers(root) : NULL;
    }
    return model->n_levels != 0 ? model->levels[model->model_level].centers : NULL;
}

const int32_t *ef_kmeans_dividers(const ef_kmeans *model, uint32_t *n_clusters) {
    const ef_kmeans *const top = model->tree != NULL ? ef_tree_root(model->tree) : model;
    const bool any = top != NULL && top->n_levels != 0;
    *n_clusters = any ? top->plan.n_clusters : 0;
    return any ? top->levels[ef_mass_level(top)].centers : NULL;
}

uint32_t ef_mass_level(const ef_kmeans *model) {
    const uint32_t t = model->model_level;
    return model->levels[t].has_partition ? t : t - 1;
}

int64_t ef_kmeans_mass(const ef_kmeans *model, uint32_t cluster) {
    return model->levels[ef_mass_level(model)].counts[cluster];
}

/* ---------------------------------------------------------------- canonical bytes */

uint32_t ef_method_number(efface_method method) {
    return method == EFFACE_METHOD_PYRAMID ? EF_FORMAT_PYRAMID : (uint32_t)method;
}

static void write_winner(ef_writer *w, const ef_winner *winner) {
    ef_write_u64(w, winner->id);
    ef_write_f64(w, winner->key);
}

static void write_pilot(ef_writer *w, const ef_kmeans *model) {
    const size_t k = model->plan.n_clusters, n_values = k * model->domain.map.n_columns;
    for (size_t i = 0; i < n_values; i++)
        ef_write_u32(w, (uint32_t)model->pilot.points[i]);
    for (size_t c = 0; c < k; c++)
        ef_write_u64(w, (uint64_t)model->pilot.counts[c]);
}

static void write_starts(ef_writer *w, const ef_kmeans *model) {
    const size_t n_values = (size_t)model->plan.n_clusters * model->domain.map.n_columns;
    for (size_t r = 0; r < model->plan.starts; r++) {
        for (size_t i = 0; i < n_values; i++)
            ef_write_u32(w, (uint32_t)model->starts.centers[r * n_values + i]);
        ef_write_i128(w, model->starts.losses[r]);
    }
}

static void write_rounds(ef_writer *w, const ef_kmeans *model) {
    const ef_rounds *const rounds = &model->rounds;
    const size_t d = model->domain.map.n_columns;
    ef_write_u32(w, rounds->n_rounds);
    for (size_t i = 0; i < (size_t)rounds->n_rounds * model->plan.candidates; i++) {
        write_winner(w, &rounds->winners[i]);
        for (size_t j = 0; j < d; j++)
            ef_write_u32(w, (uint32_t)rounds->points[i * d + j]);
        ef_write_i128(w, rounds->potentials[i]);
    }
}

static void write_level(ef_writer *w, const ef_kmeans *model, const ef_level *level) {
    const size_t k = model->plan.n_clusters, d = model->domain.map.n_columns;
    ef_write_cut(w);
    for (size_t i = 0; i < k * d; i++)
        ef_write_u32(w, (uint32_t)level->centers[i]);
    ef_write_u32(w, level->has_partition ? 1 : 0);
    if (!level->has_partition)
        return;
    for (size_t c = 0; c < k; c++)
        ef_write_u64(w, (uint64_t)level->counts[c]);
    for (size_t i = 0; i < k * d; i++)
        ef_write_u64(w, (uint64_t)level->sums[i]);
    ef_write_u32(w, level->n_reseeded);
    for (uint32_t i = 0; i < level->n_reseeded; i++) {
        ef_write_u32(w, level->reseeded[i].cluster);
        write_winner(w, &level->reseeded[i].winner);
    }
}

void ef_domain_write(ef_writer *w, const ef_domain *domain) {
    if (domain->spreads != NULL)
        ef_spreads_write(w, domain->spreads);
    for (uint32_t j = 0; domain->scale == EFFACE_SCALE_MINMAX && j < domain->map.n_columns; j++) {
        ef_write_f32(w, domain->low[j]);
        ef_write_f32(w, domain->high[j]);
    }
}

static void write_flat(ef_writer *w, const ef_kmeans *model) {
    const ef_kmeans_plan *const plan = &model->plan;
    ef_write_u32(w, model->domain.map.n_columns);
    ef_write_u32(w, plan->n_asked);
    ef_write_u32(w, plan->iterations);
    ef_write_u32(w, (uint32_t)model->domain.scale);
    ef_write_u32(w, (uint32_t)plan->empty);
    ef_write_u32(w, (uint32_t)model->domain.exponent);
    ef_write_u32(w, plan->epsilon);
    ef_write_u32(w, plan->gamma);
    ef_write_u32(w, plan->n_clusters);
    ef_write_u32(w, model->n_levels);
    ef_write_u32(w, model->model_level);
    ef_write_u64(w, model->n_rows);
    ef_write_u64(w, (uint64_t)model->total_weight);
    ef_write_i128(w, model->square_sum);
    if (plan->method == EFFACE_METHOD_PYRAMID) {
        ef_write_u32(w, plan->passes);
        ef_write_u32(w, plan->starts);
        ef_write_u32(w, model->start);
        ef_write_u32(w, model->pilot.shift);
        ef_write_u64(w, model->pilot.n_sample);
        ef_write_u64(w, model->pilot.n_within);
        ef_write_i128(w, model->pilot.jury_weight);
        ef_write_i128(w, model->pilot.spread);
    }
    ef_domain_write(w, &model->domain);
    for (uint32_t c = 0; c < plan->n_clusters; c++)
        write_winner(w, &ef_kmeans_seeds(model)[c]);
    if (plan->method == EFFACE_METHOD_PYRAMID) {
        write_pilot(w, model);
        write_starts(w, model);
    }
    if (ef_keeps_rounds(plan))
        write_rounds(w, model);
    for (uint32_t t = 0; t < model->n_levels; t++)
        write_level(w, model, &model->levels[t]);
}

void ef_kmeans_write(ef_writer *w, const ef_kmeans *model) {
    ef_write_bytes(w, EF_FORMAT_MAGIC, strlen(EF_FORMAT_MAGIC));
    ef_write_u32(w, EF_FORMAT_VERSION);
    ef_write_u32(w, ef_method_number(model->plan.method));
    if (model->tree != NULL)
        ef_tree_write(w, model);
    else
        write_flat(w, model);
}

/* ---------------------------------------------------------------- looking */

size_t ef_kmeans_bytes(const ef_kmeans *model) {
    const size_t k = model->plan.n_clusters, d = model->domain.map.n_columns;
    size_t n = sizeof *model + model->n_levels * sizeof *model->levels;
    if (model->tree != NULL)
        n += ef_tree_bytes(model->tree);
    if (model->seeds != NULL)
        n += k * sizeof *model->seeds;
    n += (size_t)model->rounds.n_rounds * model->plan.candidates *
         (sizeof *model->rounds.winners + sizeof *model->rounds.potentials +
          d * sizeof *model->rounds.points);
    n += d * (sizeof *model->domain.low + sizeof *model->domain.high + sizeof *model->domain.step +
              sizeof *model->domain.coarse);
    if (model->domain.spreads != NULL)
        n += ef_spreads_bytes(model->domain.spreads);
    if (model->starts.centers != NULL)
        n += model->plan.starts *
             (k * d * sizeof *model->starts.centers + sizeof *model->starts.losses);
    n += ef_pilot_bytes(&model->pilot, k, d);
    for (uint32_t t = 0; t < model->n_levels; t++) {
        const ef_level *const level = &model->levels[t];
        n += k * d * sizeof *level->centers + level->n_reseeded * sizeof *level->reseeded;
        if (level->sums != NULL)
            n += k * d * sizeof *level->sums + k * sizeof *level->counts;
    }
    return n + ef_kept_bytes(model);
}
