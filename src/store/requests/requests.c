/*
 * Requests: rows leave, come or change, and every model follows, in one transaction (store.c,
 * invariant 1).
 *
 * A transaction has one request or several. It is a row of steps: consecutive requests to forget
 * are one, each other request is one. Among several, a step that fails goes back to a savepoint and
 * leaves nothing, neither in the file nor in the head; if it had several requests, they are tried
 * one by one. Receipts come last, for they have commitments to the models after all steps.
 */
#include "base/errors/clock.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/transactions.h"
#include "store/models/residents.h"
#include "store/parts.h"
#include "store/receipts/receipts.h"
#include "store/rows/store_columns.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <inttypes.h>
#include <string.h>

void efface_store_report_free(efface_store_report *report) {
    ef_free(report->models);
    ef_free(report->new_ids);
    ef_free(report->row_hashes);
    *report = (efface_store_report){0};
}

/* ---------------------------------------------------------------- what is asked */

static efface_status check_rows_given(const efface_store *store, const efface_data *data,
                                      efface_error *error) {
    if (data == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data must not be NULL");
    return data->n_columns == store->head.n_columns
               ? ef_store_check_offsets(store, data, error)
               : ef_fail(error, EFFACE_E_ARGUMENT,
                         "the rows have %" PRIu32 " columns, but the store has %" PRIu32,
                         data->n_columns, store->head.n_columns);
}

static efface_status check_change(efface_store *store, void *asked_for, efface_error *error) {
    const efface_store_change *const change = asked_for;
    const efface_request *const asked = change->request;
    switch (change->kind) {
    case EFFACE_CHANGE_FORGET:
        return ef_request_is_complete(asked)
                   ? EFFACE_OK
                   : ef_fail(error, EFFACE_E_ARGUMENT, "request and its lists must not be NULL");
    case EFFACE_CHANGE_LEARN:
    case EFFACE_CHANGE_UPDATE: return check_rows_given(store, change->data, error);
    }
    return ef_fail(error, EFFACE_E_ARGUMENT, "a change must be to forget, to learn or to update");
}

/* ---------------------------------------------------------------- steps */

static void clear_task(ef_task *task) {
    efface_store_report_free(&task->change->report);
    task->change->status = EFFACE_OK;
    task->change->error = (efface_error){.status = EFFACE_OK};
    ef_free(task->ids);
    *task = (ef_task){.change = task->change};
}

/* Does a step of n requests; a single request that fails has its status. Fails only if the
 * transaction has to. `alone`: there is no other, and its transaction will be taken back. `error`
 * is not NULL. */
static efface_status do_step(efface_store *store, ef_task *tasks, size_t n, bool alone,
                             efface_error *error) {
    const ef_head head = store->head;
    const bool head_changed = store->head_changed;
    const uint64_t n_followed = store->residents != NULL ? store->residents->n_changes : 0;
    efface_error why = {.status = EFFACE_OK};
    efface_status status = alone ? EFFACE_OK : ef_sql_run(store, "SAVEPOINT step", &why);
    EF_THEN(status, store->parts->step(store, tasks, n, false, &why));
    if (status == EFFACE_OK)
        return alone ? EFFACE_OK : ef_sql_run(store, "RELEASE step", error);
    for (size_t i = 0; i < n; i++)
        clear_task(&tasks[i]);
    /* Most requests that fail do so before any model has followed. */
    if (store->residents != NULL && store->residents->n_changes != n_followed)
        ef_residents_drop(store);
    if (ef_fails_all(store, status)) {
        *error = why;
        return status;
    }
    if (n == 1) {
        tasks->change->status = status;
        tasks->change->error = why;
    }
    if (alone)
        return EFFACE_OK;
    status = ef_sql_run(store, "ROLLBACK TO step; RELEASE step", error);
    store->head = head;
    store->head_changed = head_changed;
    for (size_t i = 0; n > 1 && status == EFFACE_OK && i < n; i++)
        status = do_step(store, &tasks[i], 1, false, error);
    return status;
}

/* How many of the tasks, from the first on, are one step. */
static size_t step_length(const ef_task *tasks, size_t n) {
    size_t length = 1;
    if (tasks->change->kind == EFFACE_CHANGE_FORGET)
        while (length < n && tasks[length].change->kind == EFFACE_CHANGE_FORGET)
            length++;
    return length;
}

/* ---------------------------------------------------------------- receipts */

/* Gives all reports the commitments from before the first step and after the last. */
static void share_commitments(ef_task *tasks, size_t n) {
    const efface_store_report *first = NULL, *last = NULL;
    for (size_t i = 0; i < n; i++) {
        const efface_store_report *const report = &tasks[i].change->report;
        if (report->n_models == 0)
            continue;
        first = first != NULL ? first : report;
        last = report;
    }
    for (size_t i = 0; last != NULL && i < n; i++) {
        efface_store_report *const report = &tasks[i].change->report;
        for (uint32_t j = 0; j < report->n_models; j++) {
            memcpy(report->models[j].before, first->models[j].before, EFFACE_DIGEST_BYTES);
            memcpy(report->models[j].after, last->models[j].after, EFFACE_DIGEST_BYTES);
        }
    }
}

static const char *name_of_change(efface_change_kind kind) {
    return kind == EFFACE_CHANGE_FORGET  ? "forget"
           : kind == EFFACE_CHANGE_LEARN ? "learn"
                                         : "update";
}

typedef struct task_list {
    ef_task *tasks;
    size_t n;
} task_list;

static efface_status append_receipts(efface_store *store, void *list, efface_error *error) {
    const task_list *const l = list;
    efface_status status = EFFACE_OK;
    for (size_t i = 0; status == EFFACE_OK && i < l->n; i++) {
        const ef_task *const task = &l->tasks[i];
        status = ef_receipt_append(store, name_of_change(task->change->kind), task->ids,
                                   task->n_ids, &task->change->report, error);
    }
    return status == EFFACE_OK ? ef_receipts_sign(store, error) : status;
}

/* Writes the receipts of tasks that are all OK. All who make requests one by one are told the
 * number of the receipt. */
static efface_status write_receipts(efface_store *store, ef_task *tasks, size_t n,
                                    efface_error *error) {
    const uint64_t group = n > 1 ? store->head.n_receipts + 1 : 0;
    task_list list = {tasks, n};
    uint64_t *const number = &tasks->change->report.receipt;
    share_commitments(tasks, n);
    for (size_t i = 0; i < n; i++)
        tasks[i].change->report.group = group;
    const efface_status status =
        store->parts->lead(store, append_receipts, &list, number, sizeof *number, error);
    for (size_t i = 0; i < n; i++)
        if (tasks[i].draws) {
            tasks[i].change->report.new_ids = tasks[i].ids;
            tasks[i].ids = NULL;
        }
    return status;
}

/* ---------------------------------------------------------------- transactions */

/* Moves the tasks that are OK to the front; says how many there are. */
static size_t sort_out_tasks(ef_task *tasks, size_t n) {
    size_t n_good = 0;
    for (size_t i = 0; i < n; i++) {
        const ef_task task = tasks[i];
        if (task.change->status == EFFACE_OK) {
            tasks[i] = tasks[n_good];
            tasks[n_good++] = task;
        }
    }
    return n_good;
}

/* Within a transaction. Tasks that are not OK already are left out. */
static efface_status do_steps(efface_store *store, ef_task *tasks, size_t n, efface_error *error) {
    const bool alone = n == 1;
    size_t n_good = sort_out_tasks(tasks, n);
    efface_status status = EFFACE_OK;
    for (size_t i = 0; status == EFFACE_OK && i < n_good;) {
        const size_t length = step_length(&tasks[i], n_good - i);
        status = do_step(store, &tasks[i], length, alone, error);
        i += length;
    }
    n_good = sort_out_tasks(tasks, n_good);
    if (status == EFFACE_OK && n_good != 0)
        status = write_receipts(store, tasks, n_good, error);
    if (status == EFFACE_OK && n_good == 0) {
        /* What is left of requests that failed is not to be written. */
        (void)ef_store_end(store, EFFACE_E_ARGUMENT, NULL);
        return EFFACE_OK;
    }
    status = ef_store_end(store, status, error);
    if (status == EFFACE_OK)
        ef_residents_keep(store);
    else
        ef_residents_drop(store);
    return status;
}

/* All requests have the failure of the call. */
static void fail_changes(efface_store_change *changes, size_t n, efface_status status,
                         const efface_error *error) {
    for (size_t i = 0; i < n; i++) {
        efface_store_report_free(&changes[i].report);
        changes[i].status = status;
        changes[i].error = *error;
    }
}

efface_status efface_store_change_all(efface_store *store, efface_store_change *changes, size_t n,
                                      efface_error *error) {
    const double begin = ef_clock_seconds();
    efface_error why = {.status = EFFACE_OK};
    if (changes == NULL && n != 0)
        return ef_fail(error, EFFACE_E_ARGUMENT, "changes must not be NULL");
    /* One task, the common case, needs no memory here. */
    ef_task one = {.change = NULL}, *const tasks = n > 1 ? ef_alloc_zero(n, sizeof *tasks) : &one;
    for (size_t i = 0; i < n; i++) {
        changes[i].status = EFFACE_OK;
        changes[i].error = (efface_error){.status = EFFACE_OK};
        changes[i].report = (efface_store_report){0};
    }
    efface_status status = tasks != NULL ? ef_store_may_write(store, &why) : ef_fail_memory(&why);
    if (status == EFFACE_OK && n > 1)
        status = store->parts->allows(store, EF_DEED_TOGETHER, &why);
    size_t n_ok = 0;
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        changes[i].status =
            store->parts->judge(store, check_change, &changes[i], &changes[i].error);
        tasks[i].change = &changes[i];
        n_ok += changes[i].status == EFFACE_OK;
    }
    if (status == EFFACE_OK && n_ok != 0) {
        status = ef_store_begin(store, true, &why);
        EF_THEN(status, do_steps(store, tasks, n, &why));
    }
    for (size_t i = 0; tasks != NULL && i < n; i++)
        ef_free(tasks[i].ids);
    if (tasks != &one)
        ef_free(tasks);
    if (status != EFFACE_OK) {
        fail_changes(changes, n, status, &why);
        if (error != NULL)
            *error = why;
        return status;
    }
    const double seconds = ef_clock_seconds() - begin;
    for (size_t i = 0; i < n; i++)
        if (changes[i].status == EFFACE_OK)
            changes[i].report.seconds = seconds;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- one request */

static efface_status change_one(efface_store *store, efface_store_change *change,
                                efface_store_report *report, efface_error *error) {
    efface_status status = efface_store_change_all(store, change, 1, error);
    if (status == EFFACE_OK && change->status != EFFACE_OK) {
        status = change->status;
        if (error != NULL)
            *error = change->error;
    }
    if (status == EFFACE_OK && report != NULL)
        *report = change->report;
    else
        efface_store_report_free(&change->report);
    return status;
}

efface_status efface_store_forget(efface_store *store, const efface_request *asked,
                                  efface_store_report *report, efface_error *error) {
    efface_store_change change = {.kind = EFFACE_CHANGE_FORGET, .request = asked};
    return change_one(store, &change, report, error);
}

efface_status efface_store_learn(efface_store *store, const efface_data *data,
                                 const efface_texts *texts, efface_store_report *report,
                                 efface_error *error) {
    efface_store_change change = {.kind = EFFACE_CHANGE_LEARN, .data = data, .texts = texts};
    return change_one(store, &change, report, error);
}

efface_status efface_store_update(efface_store *store, const efface_data *data,
                                  const efface_texts *texts, efface_store_report *report,
                                  efface_error *error) {
    efface_store_change change = {.kind = EFFACE_CHANGE_UPDATE, .data = data, .texts = texts};
    return change_one(store, &change, report, error);
}

efface_status efface_store_preview(efface_store *store, const efface_request *asked,
                                   efface_store_report *report, efface_error *error) {
    const double begin = ef_clock_seconds();
    efface_store_change change = {.kind = EFFACE_CHANGE_FORGET, .request = asked};
    ef_task task = {.change = &change};
    efface_error why = {.status = EFFACE_OK};
    if (store == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store must not be NULL");
    efface_status status = store->parts->allows(store, EF_DEED_ALL_ROWS, &why);
    EF_THEN(status, store->parts->judge(store, check_change, &change, &why));
    EF_THEN(status, ef_store_begin(store, false, &why));
    if (status == EFFACE_OK) {
        status = store->parts->step(store, &task, 1, true, &why);
        if (status == EFFACE_OK && change.status != EFFACE_OK) {
            status = change.status;
            why = change.error;
        }
        status = ef_store_end(store, status, &why);
    }
    ef_free(task.ids);
    change.report.seconds = ef_clock_seconds() - begin;
    if (status == EFFACE_OK && report != NULL)
        *report = change.report;
    else
        efface_store_report_free(&change.report);
    if (status != EFFACE_OK && error != NULL)
        *error = why;
    return status;
}
