/*
 * A request to a store in parts: each rank finds its own rows, rank 0 tries the models cold with
 * the rows of all, and only if a model needs more do all ranks load theirs. The request, and rows
 * that come or change, are those of rank 0.
 */
#include "store/cluster/cluster.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/cluster/rows_of_parts.h"
#include "store/rows/row_search.h"
#include "store/rows/store_columns.h"

#include <string.h>

/* ---------------------------------------------------------------- what the parts do */

/* Each part does what it has to do; rank 0 makes the journal. */
static efface_status do_tasks(efface_store *store, ef_part_tasks *tasks, efface_error *error) {
    ef_cluster *const c = store->cluster;
    ef_writer own = {0};
    c->is_request = true;
    if (ef_store_leads(store) && store->head.n_parts > 1)
        ef_journal_make(&c->journal, tasks, &store->head);
    ef_part_task_write(&own, tasks, store->head.part);
    const efface_status status =
        own.failed || c->journal.failed
            ? ef_fail_memory(error)
            : ef_part_task_do(store, (ef_decoder){.bytes = own.bytes, .n_bytes = own.n_bytes},
                              error);
    ef_free(own.bytes);
    return status;
}

static efface_status keep_ids(ef_task *task, const uint64_t *ids, size_t n, efface_error *error) {
    task->ids = ef_alloc(n, sizeof *task->ids);
    if (task->ids == NULL)
        return ef_fail_memory(error);
    if (n != 0)
        memcpy(task->ids, ids, n * sizeof *ids);
    task->n_ids = n;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- forget */

static efface_status forget_in_parts(efface_store *store, ef_task *task, bool only_look,
                                     efface_error *error) {
    efface_store_report *const report = &task->change->report;
    ef_shared_request shared = {.bytes = NULL};
    ef_rows_of_parts rows = {.n_rows = 0};
    efface_status status =
        ef_request_share(ef_store_team(store), task->change->request, &shared, error);
    EF_THEN(status, ef_rows_of_parts_find(store, &shared.request, 0, &rows, error));
    EF_THEN(status, keep_ids(task, ef_ids_of_parts(&rows), rows.n_rows, error));
    const ef_row_change change = {.leave = rows.all != NULL ? rows.all : rows.here.data,
                                  .ids = ef_ids_of_parts(&rows),
                                  .n_rows = rows.n_rows,
                                  .only_look = only_look};
    report->n_requested = shared.request.n_ids + shared.request.n_owners;
    report->n_missing = rows.n_missing;
    report->n_forgotten = rows.n_rows;
    if (status == EFFACE_OK && rows.n_rows != 0)
        status = ef_models_follow(store, &change, report, error);
    ef_part_tasks tasks = {.kind = EFFACE_CHANGE_FORGET,
                           .id_kind = store->head.id_kind,
                           .owner_kind = store->head.owner_kind,
                           .ids = ef_ids_of_parts(&rows),
                           .begins = rows.begins};
    if (status == EFFACE_OK && !only_look)
        status = do_tasks(store, &tasks, error);
    ef_rows_of_parts_free(&rows);
    ef_free(shared.bytes);
    return status;
}

/* ---------------------------------------------------------------- rows of rank 0 */

/* Rows that all ranks have, with the kinds of ids and owners that the store has with them. */
typedef struct shared_rows {
    efface_data *data;
    efface_texts *texts;
    uint64_t *ids;
    efface_ids id_kind, owner_kind;
} shared_rows;

static void shared_rows_free(shared_rows *rows) {
    efface_data_free(rows->data);
    efface_texts_free(rows->texts);
    ef_free(rows->ids);
    *rows = (shared_rows){.data = NULL};
}

/* `data`, `ids` and `texts` are those of rank 0. */
static efface_status share_rows(efface_store *store, const efface_data *data, const uint64_t *ids,
                                const efface_texts *texts, shared_rows *to, efface_error *error) {
    ef_writer w = {0};
    *to = (shared_rows){.data = NULL};
    if (ef_store_leads(store)) {
        ef_write_u32(&w, (uint32_t)store->head.id_kind);
        ef_write_u32(&w, (uint32_t)store->head.owner_kind);
        ef_write_u64(&w, data->n_rows);
        for (size_t i = 0; i < data->n_rows; i++)
            ef_row_bytes_write(&w, data, i, ids[i], NULL, texts, &store->head);
    }
    efface_status status = w.failed
                               ? ef_fail_memory(error)
                               : ef_team_share(ef_store_team(store), &w.bytes, &w.n_bytes, error);
    ef_decoder r = {.bytes = w.bytes, .n_bytes = w.n_bytes};
    EF_THEN(status, ef_store_new_set(store, &to->data, error));
    EF_THEN(status, efface_texts_create(&to->texts, error));
    if (status == EFFACE_OK) {
        to->id_kind = (efface_ids)ef_read_u32(&r);
        to->owner_kind = (efface_ids)ef_read_u32(&r);
        status = ef_row_bytes_read(&r, ef_read_u64(&r), to->data, to->texts, error);
    }
    if (status == EFFACE_OK) {
        to->ids = ef_list_ids(to->data);
        if (to->ids == NULL)
            status = ef_fail_memory(error);
    }
    ef_free(w.bytes);
    return status;
}

/* ---------------------------------------------------------------- learn */

/* Whether this part has one of the rows that come. */
static efface_status find_in_part(efface_store *store, const shared_rows *rows, bool *any,
                                  uint64_t *which, efface_error *error) {
    const size_t n = rows->data->n_rows;
    bool *const there = ef_alloc_zero(n, sizeof *there);
    const efface_status status = there != NULL
                                     ? ef_rows_look_up(store, rows->ids, n, there, NULL, error)
                                     : ef_fail_memory(error);
    *any = false;
    for (size_t i = 0; status == EFFACE_OK && i < n && !*any; i++)
        if (there[i]) {
            *any = true;
            *which = rows->ids[i];
        }
    ef_free(there);
    return status;
}

/* The rows of rank 0 come to all ranks; rows without ids get some that no part has. */
static efface_status take_new(efface_store *store, const efface_store_change *change,
                              shared_rows *rows, bool *draws, efface_error *error) {
    ef_team *const team = ef_store_team(store);
    const efface_data *const data = change->data;
    uint64_t *const ids = ef_store_leads(store) ? ef_list_ids(data) : NULL;
    uint64_t drawn = ids != NULL && !ef_data_is_named(data), which = 0;
    bool any = true, none = false;
    efface_status status = ids == NULL && ef_store_leads(store) ? ef_fail_memory(error) : EFFACE_OK;
    EF_THEN(status, ef_team_broadcast(team, &drawn, sizeof drawn, 0, error));
    do {
        shared_rows_free(rows);
        if (status == EFFACE_OK && drawn != 0 && ids != NULL)
            status = ef_draw_distinct(ids, data->n_rows, error);
        EF_THEN(status, share_rows(store, data, ids, change->texts, rows, error));
        EF_THEN(status, find_in_part(store, rows, &any, &which, error));
        if (status == EFFACE_OK && any && drawn == 0)
            status = ef_fail_known_id(which, error);
        EF_THEN(status, ef_team_all(team, !any, &none, error));
    } while (status == EFFACE_OK && !none);
    *draws = drawn != 0;
    ef_free(ids);
    return status;
}

/* Puts positions in the order of parts: counts, then places. */
static efface_status choose_parts(const shared_rows *rows, const ef_head *head, size_t **order,
                                  size_t **begins, efface_error *error) {
    const size_t n = rows->data->n_rows;
    const uint32_t n_parts = head->n_parts;
    size_t *const at = ef_alloc_zero((size_t)n_parts + 2, sizeof *at);
    size_t *const positions = ef_alloc(n, sizeof *positions);
    if (at == NULL || positions == NULL) {
        ef_free(at);
        ef_free(positions);
        return ef_fail_memory(error);
    }
    for (size_t i = 0; i < n; i++)
        at[ef_part_of(head->cluster_id, rows->ids[i], n_parts) + 2]++;
    for (uint32_t r = 0; r < n_parts; r++)
        at[r + 2] += at[r + 1];
    for (size_t i = 0; i < n; i++)
        positions[at[ef_part_of(head->cluster_id, rows->ids[i], n_parts) + 1]++] = i;
    *order = positions;
    *begins = at;
    return EFFACE_OK;
}

/* Those of the rows that come to this part. */
static efface_status pick_own(efface_store *store, const ef_part_tasks *tasks, efface_data **out,
                              efface_error *error) {
    const uint32_t part = store->head.part;
    ef_writer w = {0};
    for (size_t i = tasks->begins[part]; i < tasks->begins[part + 1]; i++)
        ef_row_bytes_write(&w, tasks->rows, tasks->order[i], tasks->ids[tasks->order[i]], NULL,
                           NULL, NULL);
    ef_decoder r = {.bytes = w.bytes, .n_bytes = w.n_bytes};
    efface_status status = w.failed ? ef_fail_memory(error) : ef_store_new_set(store, out, error);
    EF_THEN(status, ef_row_bytes_read(&r, tasks->begins[part + 1] - tasks->begins[part], *out, NULL,
                                      error));
    ef_free(w.bytes);
    return status;
}

static efface_status learn_in_parts(efface_store *store, ef_task *task, efface_error *error) {
    const efface_data *const data = task->change->data;
    efface_store_report *const report = &task->change->report;
    shared_rows rows = {.data = NULL};
    efface_data *own = NULL;
    size_t *order = NULL, *begins = NULL;
    efface_status status = ef_store_leads(store) ? ef_check_kinds(store, data, error) : EFFACE_OK;
    if (status == EFFACE_OK && ef_store_leads(store))
        status = ef_check_weight(store->cluster->total_weight, data->total_weight, error);
    EF_THEN(status, take_new(store, task->change, &rows, &task->draws, error));
    EF_THEN(status, choose_parts(&rows, &store->head, &order, &begins, error));
    ef_part_tasks tasks = {.kind = EFFACE_CHANGE_LEARN,
                           .id_kind = rows.id_kind,
                           .owner_kind = rows.owner_kind,
                           .ids = rows.ids,
                           .rows = rows.data,
                           .texts = rows.texts,
                           .order = order,
                           .begins = begins};
    EF_THEN(status, pick_own(store, &tasks, &own, error));
    const size_t n = rows.data != NULL ? rows.data->n_rows : 0;
    const ef_row_change change = {.come = rows.data, .here = own, .ids = rows.ids, .n_rows = n};
    report->n_requested = report->n_learned = n;
    EF_THEN(status, keep_ids(task, rows.ids, n, error));
    if (status == EFFACE_OK && n != 0)
        status = ef_models_follow(store, &change, report, error);
    EF_THEN(status, do_tasks(store, &tasks, error));
    efface_data_free(own);
    ef_free(order);
    ef_free(begins);
    shared_rows_free(&rows);
    return status;
}

/* ---------------------------------------------------------------- update */

/* The rows as they will be, made by rank 0, come to all ranks. */
static efface_status make_updated(efface_store *store, const efface_store_change *change,
                                  const ef_rows_of_parts *old, shared_rows *rows,
                                  efface_error *error) {
    efface_data *made = NULL;
    efface_status status = EFFACE_OK;
    if (ef_store_leads(store)) {
        status = ef_make_updated(old->all, change->data, &made, error);
        EF_THEN(status, ef_check_weight(store->cluster->total_weight - old->all->total_weight,
                                        made->total_weight, error));
    }
    EF_THEN(status, share_rows(store, made, ef_ids_of_parts(old), change->texts, rows, error));
    efface_data_free(made);
    return status;
}

static efface_status update_in_parts(efface_store *store, ef_task *task, efface_error *error) {
    const efface_data *const data = task->change->data;
    efface_store_report *const report = &task->change->report;
    const bool leads = ef_store_leads(store);
    ef_shared_request shared = {.bytes = NULL};
    ef_rows_of_parts old = {.n_rows = 0};
    shared_rows rows = {.data = NULL};
    uint64_t *const ids = leads ? ef_list_ids(data) : NULL;
    const efface_request asked = {.ids = ids, .n_ids = leads ? data->n_rows : 0};
    efface_status status = leads && ids == NULL ? ef_fail_memory(error) : EFFACE_OK;
    if (status == EFFACE_OK && leads)
        status = ef_check_kinds(store, data, error);
    EF_THEN(status, ef_request_share(ef_store_team(store), &asked, &shared, error));
    EF_THEN(status, ef_rows_of_parts_find(store, &shared.request, 0, &old, error));
    EF_THEN(status, make_updated(store, task->change, &old, &rows, error));
    EF_THEN(status, keep_ids(task, rows.ids, old.n_rows, error));
    const ef_row_change change = {.leave = leads ? old.all : old.here.data,
                                  .come = rows.data,
                                  .ids = rows.ids,
                                  .n_rows = old.n_rows};
    report->n_requested = report->n_updated = old.n_rows;
    if (status == EFFACE_OK && change.n_rows != 0)
        status = ef_models_follow(store, &change, report, error);
    ef_part_tasks tasks = {.kind = EFFACE_CHANGE_UPDATE,
                           .id_kind = rows.id_kind,
                           .owner_kind = rows.owner_kind,
                           .ids = rows.ids,
                           .rows = rows.data,
                           .texts = rows.texts,
                           .begins = old.begins};
    EF_THEN(status, do_tasks(store, &tasks, error));
    shared_rows_free(&rows);
    ef_rows_of_parts_free(&old);
    ef_free(shared.bytes);
    ef_free(ids);
    return status;
}

static efface_status do_change(efface_store *store, ef_task *task, bool only_look,
                               efface_error *error) {
    switch (task->change->kind) {
    case EFFACE_CHANGE_FORGET: return forget_in_parts(store, task, only_look, error);
    case EFFACE_CHANGE_LEARN: return learn_in_parts(store, task, error);
    case EFFACE_CHANGE_UPDATE: return update_in_parts(store, task, error);
    }
    return EFFACE_OK;
}

efface_status ef_cluster_step(efface_store *store, ef_task *task, size_t n, bool only_look,
                              efface_error *error) {
    (void)n; /* 1 */
    const efface_status status = do_change(store, task, only_look, error);
    /* What only looks is agreed on when its transaction ends. */
    return only_look ? status : ef_team_agree(ef_store_team(store), status, error);
}
