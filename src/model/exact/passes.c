/* Passes over the rows of a set. */
#include "model/exact/passes.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/workers/cpu.h"

/* In multiply-adds, of which a worker does some ten in a nanosecond: what is worth a thread, what a
 * worker takes at a time at least, and what it does from one question to the next. To start a
 * thread and to wait for the last worker of each pass takes some 100 microseconds of a fit, and
 * more if others use the processors: a pass should take as long. */
#define WORTH_A_THREAD ((size_t)1 << 20)
#define WORTH_A_TURN ((size_t)1 << 16)
#define WORTH_A_QUESTION ((size_t)1 << 26)

size_t ef_pass_operations(uint32_t n_columns, uint32_t n_points) {
    return (size_t)EF_PANEL * n_columns * ((size_t)n_points + 8);
}

size_t ef_pass_grain(size_t operations) {
    return 1 + WORTH_A_TURN / operations;
}

unsigned ef_pass_threads(unsigned asked, size_t n_panels, size_t operations) {
    const size_t most = n_panels / (1 + WORTH_A_THREAD / operations);
    const unsigned wanted = asked != 0 ? asked : ef_cpu_count();
    return most == 0 ? 1 : most < wanted ? (unsigned)most : wanted;
}

efface_status ef_passes_init(ef_passes *passes, const efface_data *data, const ef_map *map,
                             size_t operations, unsigned n_threads, ef_interrupt interrupt,
                             efface_error *error) {
    *passes = (ef_passes){
        .data = data,
        .map = map,
        .n_panels = data->n_rows / EF_PANEL + (data->n_rows % EF_PANEL != 0),
        .interrupt = interrupt,
    };
    const efface_status status = ef_kernels_require(&passes->kernels, error);
    if (status != EFFACE_OK)
        return status;
    passes->pool = ef_pool_create(ef_pass_threads(n_threads, passes->n_panels, operations));
    if (passes->pool == NULL)
        return ef_fail_memory(error);
    passes->n_workers = ef_pool_size(passes->pool);
    return EFFACE_OK;
}

void ef_passes_free(ef_passes *passes) {
    ef_pool_free(passes->pool);
    *passes = (ef_passes){0};
}

/* The panels of a pass from one question to the next. */
typedef struct stretch {
    size_t first;
    ef_work work;
    void *context;
} stretch;

static void work_on_stretch(void *context, unsigned worker, size_t first, size_t last) {
    const stretch *const s = context;
    s->work(s->context, worker, s->first + first, s->first + last);
}

efface_status ef_passes_run(ef_passes *passes, size_t operations, ef_work work, void *context,
                            efface_error *error) {
    const size_t most = passes->n_workers * (1 + WORTH_A_QUESTION / operations);
    stretch s = {0, work, context};
    efface_status status = EFFACE_OK;
    for (; status == EFFACE_OK && s.first < passes->n_panels; s.first += most) {
        const size_t rest = passes->n_panels - s.first;
        status = ef_ask(&passes->interrupt, error);
        if (status == EFFACE_OK)
            ef_pool_run(passes->pool, rest < most ? rest : most, ef_pass_grain(operations),
                        work_on_stretch, &s);
        ef_tell_work(passes->interrupt.progress,
                     (double)(rest < most ? rest : most) * (double)operations);
    }
    return status;
}

void ef_passes_load(const ef_passes *passes, size_t panel, float *to) {
    passes->kernels->snap(passes->map, ef_data_panel(passes->data, panel),
                          ef_passes_rows(passes, panel), to);
}

void ef_passes_ids(const ef_passes *passes, size_t panel, uint64_t ids[EF_PANEL]) {
    ef_row_ids_panel(&passes->data->ids, panel * EF_PANEL, ef_passes_rows(passes, panel), ids);
}

void ef_passes_snap(const ef_passes *passes, size_t position, int32_t *point) {
    const float *const row = ef_data_first(passes->data, position);
    for (uint32_t j = 0; j < passes->map->n_columns; j++)
        point[j] = ef_snap(row[(size_t)j * EF_PANEL], passes->map->low[j], passes->map->step[j]);
}
