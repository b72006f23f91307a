/*
 * Publishing: a new seed, a fit, a file for prediction, and a receipt, in one request (store.c,
 * invariant 1; published_file.c says what that means for the file).
 *
 * Whoever chooses requests by looking at published models knows something of the randomness of
 * those models, and of no other. The seed of the next one is drawn when all these requests are done
 * and part of the rows, so it is independent of them. That holds as long as no model gets out that
 * shares its seed with a published one; after a publication the store goes on with the seed of what
 * was published, and the next publication leaves it behind.
 */
#include "base/bytes/digest.h"
#include "base/errors/clock.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/transactions.h"
#include "store/parts.h"
#include "store/receipts/receipts.h"
#include "store/requests/published_file.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define UNNAMED "unnamed " /* facts: publications whose file may not have its name yet */

/* Why a model predicts nothing: it has no rows, or what it says itself. */
static efface_status fail_predicts_nothing(const efface_model *model, const char *name,
                                           efface_error *error) {
    efface_error why = {.message = "it has no numbers to predict"};
    efface_number number;
    float *const row = ef_alloc_zero(model->n_columns, sizeof *row);
    if (row == NULL)
        return ef_fail_memory(error);
    if (efface_model_get_info(model).n_rows != 0)
        (void)efface_predictor_predict(efface_model_predictor(model), 1, row, 0, &number, &why);
    ef_free(row);
    return efface_model_get_info(model).n_rows == 0
               ? ef_fail(error, EFFACE_E_ARGUMENT,
                         "the store has no rows, so the model %s predicts nothing; "
                         "nothing was changed",
                         name)
               : ef_fail(error, EFFACE_E_ARGUMENT,
                         "the model %s predicts nothing; nothing was changed: %s", name,
                         why.message);
}

/* Fits a model with a seed of its own and writes it into the store. */
static efface_status fit_anew(efface_store *store, ef_record *record, const efface_data *data,
                              efface_model **model, efface_error *error) {
    ef_telling telling;
    randombytes_buf(&record->params->seed, sizeof record->params->seed);
    ef_store_tell(store, EFFACE_PHASE_FITTING, record->params, &telling);
    efface_status status = ef_model_fit(data, record->params, model, error);
    if (status == EFFACE_OK && efface_model_get_info(*model).n_numbers == 0)
        status = fail_predicts_nothing(*model, record->name, error);
    return status == EFFACE_OK ? ef_record_write(store, record, *model, &data->counts, false, error)
                               : status;
}

/* Collects the texts of the labels that are classes of a model. */
static efface_status class_texts(efface_store *store, const efface_model *model,
                                 efface_texts *texts, efface_error *error) {
    const uint32_t n = efface_model_get_info(model).n_classes;
    int64_t *const classes = ef_alloc(n + (size_t)1, sizeof *classes);
    if (classes == NULL)
        return ef_fail_memory(error);
    efface_predictor_classes(efface_model_predictor(model), classes, n);
    efface_status status = EFFACE_OK;
    for (uint32_t i = 0; i < n && status == EFFACE_OK; i++) {
        const uint64_t label = (uint64_t)classes[i];
        ef_member_set group;
        status = ef_member_sets_find(store, EF_MEMBER_LABEL, &label, 1, &group, error);
        if (status != EFFACE_OK)
            break;
        if (group.text != NULL)
            status = efface_texts_add(texts, EFFACE_TEXT_LABEL, label, group.text,
                                      strlen(group.text), error);
        ef_member_sets_clear(&group, 1);
    }
    ef_free(classes);
    return status;
}

/* From the commit of a publication until its file has its name, a fact says so. */
static efface_status note_unnamed(efface_store *store, uint64_t receipt, efface_error *error) {
    char sql[100];
    (void)snprintf(sql, sizeof sql, "INSERT INTO facts VALUES ('" UNNAMED "%" PRIu64 "', x'')",
                   receipt);
    return ef_sql_run(store, sql, error);
}

/* If this fails the file is there all the same, and the store says that it may not be. */
static void drop_unnamed(efface_store *store, uint64_t receipt) {
    char sql[100];
    (void)snprintf(sql, sizeof sql, "DELETE FROM facts WHERE name = '" UNNAMED "%" PRIu64 "'",
                   receipt);
    if (ef_store_begin(store, true, NULL) == EFFACE_OK)
        (void)ef_store_end(store, ef_sql_run(store, sql, NULL), NULL);
}

static efface_status list_unnamed(efface_store *store, void (*note)(void *, const char *),
                                  void *context, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = true;
    efface_status status = ef_sql_prepare(
        store, "SELECT substr(name, 9) FROM facts WHERE name GLOB '" UNNAMED "[0-9]*'", &statement,
        error);
    while (status == EFFACE_OK) {
        const char *number = NULL;
        char text[200];
        status = ef_sql_step(store, statement, &row, error);
        if (status == EFFACE_OK && row)
            status = ef_sql_text(store, statement, 0, &number, error);
        if (status != EFFACE_OK || !row)
            break;
        (void)snprintf(text, sizeof text,
                       "the file of receipt %.20s may never have been handed out: the process "
                       "that published it ended before the file had its name",
                       number != NULL ? number : "");
        note(context, text);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

efface_status efface_store_notes(efface_store *store, void (*note)(void *context, const char *text),
                                 void *context, efface_error *error) {
    if (store == NULL || note == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and note must not be NULL");
    efface_status status = ef_store_begin(store, false, error);
    EF_THEN(status, ef_store_end(store, list_unnamed(store, note, context, error), error));
    return status;
}

static efface_status publish_model(efface_store *store, const char *name, ef_published_file *file,
                                   efface_store_report *report, efface_error *error) {
    const double begin = ef_clock_seconds();
    ef_record record;
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_texts *texts = NULL;
    ef_writer w = {0};
    efface_status status = ef_record_read(store, name, false, &record, error);
    if (status != EFFACE_OK)
        return status;
    report->models = ef_alloc_zero(1, sizeof *report->models);
    if (report->models == NULL)
        status = ef_fail_memory(error);
    if (status == EFFACE_OK) {
        report->n_models = 1;
        memcpy(report->models->name, record.name, sizeof record.name);
        report->models->family = record.family->number;
        ef_record_commit(&record, report->models->before);
        report->models->report =
            (efface_report){.action = EFFACE_ACTION_REFITTED, .reason = ef_because_rekeyed};
        status = ef_rows_load(store, record.columns, record.n_columns, &data, NULL, error);
    }
    EF_THEN(status, fit_anew(store, &record, data, &model, error));
    EF_THEN(status, efface_texts_create(&texts, error));
    EF_THEN(status, class_texts(store, model, texts, error));
    if (status == EFFACE_OK) {
        ef_record_commit(&record, report->models->after);
        report->models->report.seconds = ef_clock_seconds() - begin;
        ef_predictor_write(&w, model, data, texts);
        if (w.failed)
            status = ef_fail_memory(error);
    }
    if (status == EFFACE_OK) {
        report->n_published_bytes = w.n_bytes;
        ef_digest(w.bytes, w.n_bytes, report->published);
        status = ef_receipt_append(store, "publish", NULL, 0, report, error);
    }
    EF_THEN(status, ef_receipts_sign(store, error));
    EF_THEN(status, note_unnamed(store, report->receipt, error));
    EF_THEN(status, ef_published_write(file, w.bytes, w.n_bytes, error));
    ef_free(w.bytes);
    efface_texts_free(texts);
    efface_model_free(model);
    efface_data_free(data);
    ef_record_free(&record);
    return status;
}

efface_status efface_store_publish(efface_store *store, const efface_publishing *asked,
                                   efface_store_report *report, efface_error *error) {
    const double begin = ef_clock_seconds();
    efface_store_report done = {0};
    ef_published_file file = {.descriptor = -1};
    efface_status status = ef_store_may_write(store, error);
    EF_THEN(status, store->parts->allows(store, EF_DEED_PUBLISH, error));
    if (status == EFFACE_OK && (asked == NULL || asked->path == NULL))
        status = ef_fail(error, EFFACE_E_ARGUMENT, "the model and the path must not be NULL");
    EF_THEN(status, ef_model_name_check(asked->name, error));
    EF_THEN(status, ef_published_begin(&file, store, asked->path, asked->replace != 0, error));
    EF_THEN(status, ef_store_begin(store, true, error));
    if (status == EFFACE_OK) {
        status = ef_store_end(store, publish_model(store, asked->name, &file, &done, error), error);
        /* A request that was done though the disk failed has its file, and its error. */
        if (status == EFFACE_OK)
            status = ef_published_place(&file, done.receipt, error);
        else if (store->in_doubt)
            (void)ef_published_place(&file, done.receipt, NULL);
        if (status == EFFACE_OK)
            drop_unnamed(store, done.receipt);
    }
    ef_published_end(&file);
    done.seconds = ef_clock_seconds() - begin;
    if (status == EFFACE_OK && report != NULL)
        *report = done;
    else
        efface_store_report_free(&done);
    return status;
}
