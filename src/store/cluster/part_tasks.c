/* What the parts of a store have to do for a request: as bytes, and done. */
#include "store/cluster/cluster.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/rows/row_search.h"
#include "store/sql/sql.h"

#include <string.h>

static size_t task_position(const ef_part_tasks *tasks, size_t i) {
    return tasks->order != NULL ? tasks->order[i] : i;
}

void ef_part_task_write(ef_writer *w, const ef_part_tasks *tasks, uint32_t part) {
    const size_t begin = tasks->begins[part], end = tasks->begins[part + 1];
    ef_write_u32(w, (uint32_t)tasks->kind);
    ef_write_u32(w, (uint32_t)tasks->id_kind);
    ef_write_u32(w, (uint32_t)tasks->owner_kind);
    ef_write_u64(w, end - begin);
    for (size_t i = begin; i < end; i++) {
        const size_t position = task_position(tasks, i);
        if (tasks->kind == EFFACE_CHANGE_FORGET)
            ef_write_u64(w, tasks->ids[position]);
        else
            ef_row_bytes_write(w, tasks->rows, position, tasks->ids[position], NULL, tasks->texts,
                               NULL);
    }
}

/* ---------------------------------------------------------------- done */

/* The rows of ids that are all there. */
static efface_status look_up_all(efface_store *store, const uint64_t *ids, size_t n,
                                 ef_found *found, efface_error *error) {
    bool *const there = ef_alloc_zero(n, sizeof *there);
    efface_status status =
        there != NULL ? ef_rows_look_up(store, ids, n, there, found, error) : ef_fail_memory(error);
    if (status == EFFACE_OK && found->data->n_rows != n) {
        ef_found_free(found);
        status = ef_store_corrupt(error, "a part does not have the rows of a request");
    }
    ef_free(there);
    return status;
}

static efface_status task_forget(efface_store *store, ef_decoder *task, uint64_t n,
                                 efface_error *error) {
    ef_found found = {NULL, NULL, 0};
    if (!ef_decoder_has(task, (size_t)n, sizeof(uint64_t)))
        return ef_store_corrupt(error, "the ids of a request are incomplete");
    uint64_t *const ids = ef_alloc((size_t)n, sizeof *ids);
    for (uint64_t i = 0; ids != NULL && i < n; i++)
        ids[i] = ef_read_u64(task);
    efface_status status =
        ids != NULL ? look_up_all(store, ids, (size_t)n, &found, error) : ef_fail_memory(error);
    EF_THEN(status, ef_rows_delete(store, &found, error));
    ef_found_free(&found);
    ef_free(ids);
    return status;
}

/* The rows of a set in the order in which others stand that have the same ids. */
static efface_status task_put_in_order(const efface_data *rows, const efface_data *as,
                                       efface_data **out, efface_error *error) {
    ef_writer w = {0};
    efface_data *made = NULL;
    for (size_t i = 0; i < as->n_rows; i++) {
        size_t position = 0;
        (void)efface_data_find(rows, ef_data_id(as, i), &position);
        ef_row_bytes_write(&w, rows, position, ef_data_id(as, i), NULL, NULL, NULL);
    }
    ef_decoder r = {.bytes = w.bytes, .n_bytes = w.n_bytes};
    efface_status status =
        w.failed ? ef_fail_memory(error) : efface_data_create(rows->n_columns, &made, error);
    if (status == EFFACE_OK) {
        efface_data_allow_missing(made);
        status = ef_row_bytes_read(&r, as->n_rows, made, NULL, error);
    }
    ef_free(w.bytes);
    if (status == EFFACE_OK)
        *out = made;
    else
        efface_data_free(made);
    return status;
}

static efface_status task_replace(efface_store *store, const efface_data *rows,
                                  const efface_texts *texts, efface_error *error) {
    ef_found found = {NULL, NULL, 0};
    efface_data *made = NULL;
    uint64_t *const ids = ef_list_ids(rows);
    efface_status status =
        ids != NULL ? look_up_all(store, ids, rows->n_rows, &found, error) : ef_fail_memory(error);
    EF_THEN(status, task_put_in_order(rows, found.data, &made, error));
    EF_THEN(status, ef_rows_replace(store, &found, made, texts, error));
    efface_data_free(made);
    ef_found_free(&found);
    ef_free(ids);
    return status;
}

static efface_status take_rows(efface_store *store, efface_change_kind kind, ef_decoder *task,
                               uint64_t n, efface_error *error) {
    efface_data *rows = NULL;
    efface_texts *texts = NULL;
    efface_status status = efface_data_create(store->head.n_columns, &rows, error);
    if (status == EFFACE_OK) {
        efface_data_allow_missing(rows);
        status = efface_texts_create(&texts, error);
    }
    EF_THEN(status, ef_row_bytes_read(task, n, rows, texts, error));
    if (status == EFFACE_OK && kind == EFFACE_CHANGE_UPDATE)
        status = task_replace(store, rows, texts, error);
    else if (status == EFFACE_OK)
        status = ef_buckets_fit(store, store->head.n_rows + n, error);
    if (status == EFFACE_OK && kind == EFFACE_CHANGE_LEARN)
        status = ef_rows_insert(store, rows, NULL, texts, error);
    efface_texts_free(texts);
    efface_data_free(rows);
    return status;
}

efface_status ef_part_task_do(efface_store *store, ef_decoder task, efface_error *error) {
    ef_head *const head = &store->head;
    const efface_change_kind kind = (efface_change_kind)ef_read_u32(&task);
    const efface_ids id_kind = (efface_ids)ef_read_u32(&task);
    const efface_ids owner_kind = (efface_ids)ef_read_u32(&task);
    const uint64_t n = ef_read_u64(&task);
    if (task.failed)
        return ef_store_corrupt(error, "what a part has to do is incomplete");
    head->id_kind = id_kind;
    head->owner_kind = owner_kind;
    head->n_requests++;
    store->head_changed = true;
    if (n == 0)
        return EFFACE_OK;
    return kind == EFFACE_CHANGE_FORGET ? task_forget(store, &task, n, error)
                                        : take_rows(store, kind, &task, n, error);
}
