/* The rows of a set that take part, into slots, all at once. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/forest/forest.h"

#include <string.h>

static int compare_labels(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The classes of a set. */
static efface_status find_classes(ef_forest *f, const efface_data *data, efface_error *error) {
    const size_t n = data->labels != NULL ? data->n_rows : 0;
    int64_t *const labels = ef_alloc(n, sizeof *labels);
    size_t n_classes = 0;
    if (labels == NULL)
        return ef_fail_memory(error);
    if (n != 0) {
        memcpy(labels, data->labels, n * sizeof *labels);
        qsort(labels, n, sizeof *labels, compare_labels);
    }
    for (size_t i = 0; i < n; i++)
        if (labels[i] != EFFACE_NO_LABEL && (n_classes == 0 || labels[n_classes - 1] != labels[i]))
            labels[n_classes++] = labels[i];
    efface_status status = EFFACE_OK;
    if (n_classes >= EF_MOST_CLASSES)
        status =
            ef_fail(error, EFFACE_E_LIMIT,
                    "there are %zu classes, and a forest can have at most 2^24 - 1", n_classes);
    else if (!ef_classes_make(&f->classes, (uint32_t)n_classes))
        status = ef_fail_memory(error);
    if (status == EFFACE_OK) {
        f->classes.n = (uint32_t)n_classes;
        if (n_classes != 0)
            memcpy(f->classes.labels, labels, n_classes * sizeof *labels);
    }
    ef_free(labels);
    return status;
}

/* The narrowest formats that hold all values of a set. */
static bool choose_formats(ef_forest *f, const efface_data *data) {
    ef_forest_slots *const rows = &f->rows;
    rows->formats = ef_alloc(f->n_inputs, sizeof *rows->formats);
    for (uint32_t i = 0; rows->formats != NULL && i < f->n_inputs; i++) {
        ef_input_range range = ef_input_range_none();
        for (size_t r = 0; r < data->n_rows && range.is_whole; r++)
            ef_input_range_add(&range, ef_data_value(data, r, f->columns[i]));
        rows->formats[i] = ef_format_for(&range, f->are_categories[i]);
    }
    return rows->formats != NULL;
}

/* ---------------------------------------------------------------- values */

#define BLOCK 1024 /* rows that one worker fills at a time: their codes stay near */

typedef struct filling {
    ef_forest *forest;
    const efface_data *data;
    ef_input_sizes *sizes; /* by worker and input */
} filling;

static void fill_input(ef_forest *f, const efface_data *data, uint32_t input, size_t begin,
                       size_t end, ef_input_sizes *sizes) {
    for (size_t p = begin; p < end; p++) {
        const uint32_t slot = f->rows.slot_of[p];
        if (slot == EF_NO_SLOT)
            continue;
        const float value = ef_data_value(data, p, f->columns[input]);
        ef_slot_set(&f->rows, slot, input, value);
        ef_sizes_count(sizes, ef_key_of(value), false);
    }
}

static void fill_beside(ef_forest *f, const efface_data *data, size_t begin, size_t end) {
    ef_forest_slots *const rows = &f->rows;
    for (size_t p = begin; p < end; p++) {
        const uint32_t slot = rows->slot_of[p];
        if (slot == EF_NO_SLOT)
            continue;
        rows->values[slot] = ef_forest_of_classes(f)
                                 ? ef_classes_find(&f->classes, data->labels[p])
                                 : (uint32_t)ef_forest_target(f, ef_data_value(data, p, f->target));
        if (rows->weights != NULL)
            rows->weights[slot] = ef_data_weight(data, p);
        if (rows->ids != NULL)
            rows->ids[slot] = ef_data_id(data, p);
    }
}

static void fill_blocks(void *context, unsigned worker, size_t first, size_t last) {
    const filling *const to = context;
    ef_forest *const f = to->forest;
    for (size_t block = first; block < last; block++) {
        const size_t begin = block * BLOCK, left = to->data->n_rows - begin,
                     end = begin + (left < BLOCK ? left : BLOCK);
        for (uint32_t i = 0; i < f->n_inputs; i++)
            fill_input(f, to->data, i, begin, end, &to->sizes[(size_t)worker * f->n_inputs + i]);
        fill_beside(f, to->data, begin, end);
    }
}

/* Fills the slots of all rows, and counts the sizes of their values. */
static efface_status fill_slots(ef_forest *f, const efface_data *data, efface_error *error) {
    const size_t n_blocks = (data->n_rows + BLOCK - 1) / BLOCK;
    ef_pool *const pool = ef_pool_create(n_blocks < 16 ? 1 : f->params->common.n_threads);
    const unsigned n = pool != NULL ? ef_pool_size(pool) : 0;
    filling to = {.forest = f, .data = data};
    to.sizes = ef_alloc_zero((size_t)n * f->n_inputs, sizeof *to.sizes);
    const bool ok = pool != NULL && to.sizes != NULL;
    if (ok)
        ef_pool_run(pool, n_blocks, 1, fill_blocks, &to);
    for (size_t i = 0; ok && i < (size_t)n * f->n_inputs; i++)
        for (uint32_t k = 0; k < EF_SIZES; k++)
            f->sizes[i % f->n_inputs].rows[k] += to.sizes[i].rows[k];
    ef_free(to.sizes);
    ef_pool_free(pool);
    return ok ? EFFACE_OK : ef_fail_memory(error);
}

/* ---------------------------------------------------------------- all of it */

/* Room for all rows, as they are in a set. */
static bool make_room(ef_forest *f, const efface_data *data) {
    ef_forest_slots *const rows = &f->rows;
    const bool weighs = data->weights != NULL, has_ids = f->params->rows != EFFACE_FOREST_ALL;
    rows->n_inputs = f->n_inputs;
    rows->may_miss = f->takes_missing;
    if (weighs)
        rows->weights = ef_alloc(1, sizeof *rows->weights);
    if (has_ids)
        rows->ids = ef_alloc(1, sizeof *rows->ids);
    return (!weighs || rows->weights != NULL) && (!has_ids || rows->ids != NULL) &&
           choose_formats(f, data) && ef_forest_slots_reserve(rows, data->n_rows);
}

/* Gives slots to the rows that take part. */
static void give_slots(ef_forest *f, const efface_data *data) {
    ef_forest_slots *const rows = &f->rows;
    for (size_t i = 0; i < data->n_rows; i++) {
        const int64_t label = data->labels != NULL ? data->labels[i] : EFFACE_NO_LABEL;
        const float target = ef_forest_of_classes(f) ? 0.0F : ef_data_value(data, i, f->target);
        rows->slot_of[i] =
            ef_forest_takes(f, label, target) ? ef_forest_slots_take(rows) : EF_NO_SLOT;
    }
    rows->n_positions = data->n_rows;
}

efface_status ef_forest_take_rows(ef_forest *f, const efface_data *data, bool with_classes,
                                  efface_error *error) {
    efface_status status = EFFACE_OK;
    if (data->n_rows >= EF_NO_SLOT)
        return ef_fail(error, EFFACE_E_LIMIT, "a forest can have at most 2^32 - 2 rows");
    if (with_classes && ef_forest_of_classes(f))
        status = find_classes(f, data, error);
    if (status != EFFACE_OK)
        return status;
    f->rules.n_classes = f->classes.n_ids;
    f->rules.ranks = f->classes.ranks;
    if (!make_room(f, data))
        return ef_fail_memory(error);
    give_slots(f, data);
    status = fill_slots(f, data, error);
    for (size_t slot = 0; status == EFFACE_OK && ef_forest_of_classes(f) && slot < f->rows.n_slots;
         slot++) {
        if (f->rows.values[slot] == EF_NO_SLOT)
            return ef_fail(error, EFFACE_E_FORMAT,
                           "the state of the model is damaged or was made with other "
                           "parameters: it lacks a class of its rows");
        f->classes.n_rows[f->rows.values[slot]]++;
    }
    for (uint32_t i = 0; i < f->n_inputs; i++)
        f->units[i] = ef_forest_unit(f, i);
    return status;
}
