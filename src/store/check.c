/*
 * Looking for damage: of the file, and of what stands in it against the invariants (store.c) that
 * can be seen without fitting anew; for that there is verify.
 */
#include "base/checked.h"
#include "base/status.h"
#include "store/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct checker {
    efface_store *store;
    void (*found)(void *context, const char *problem);
    void *context;
} checker;

static void say(const checker *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(const checker *c, const char *format, ...) {
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    c->found(c->context, text);
}

/* Damage is something to be said; other errors end the check. */
static efface_status told(const checker *c, efface_status status, const efface_error *problem,
                          efface_error *error) {
    if (status == EFFACE_E_CORRUPT || status == EFFACE_E_FORMAT) {
        say(c, "%s", problem->message);
        return EFFACE_OK;
    }
    if (status != EFFACE_OK && error != NULL)
        *error = *problem;
    return status;
}

static efface_status check_file(const checker *c, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = true;
    efface_status status = ef_sql_prepare(c->store, "PRAGMA integrity_check", &statement, error);
    while (status == EFFACE_OK) {
        status = ef_sql_step(c->store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        const char *const text = (const char *)sqlite3_column_text(statement, 0);
        if (text == NULL || strcmp(text, "ok") != 0)
            say(c, "the file: %s", text != NULL ? text : "no answer");
    }
    (void)sqlite3_finalize(statement);
    return status;
}

/* A model against the rows: its state, its digest, and what it counts. */
static efface_status check_model(const checker *c, const char *name, efface_error *error) {
    ef_record record;
    efface_kmeans *model = NULL;
    efface_data *data = NULL;
    unsigned char digest[EFFACE_DIGEST_BYTES];
    efface_status status = ef_record_read(c->store, name, &record, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_record_hot(c->store, &record, &model, &data, error);
    if (status == EFFACE_OK)
        status = efface_kmeans_digest(model, digest, error);
    if (status == EFFACE_OK) {
        ef_writer counts = {0};
        ef_counts_write(&counts, data);
        if (memcmp(digest, record.digest, sizeof digest) != 0)
            say(c, "model %s: its digest is not that of its state", name);
        if (counts.failed)
            status = ef_fail_memory(error);
        else if (counts.n_bytes != record.n_counts ||
                 memcmp(counts.bytes, record.counts, counts.n_bytes) != 0)
            say(c, "model %s: what it counts of its rows is not what the rows are", name);
        ef_free(counts.bytes);
    }
    efface_kmeans_free(model);
    efface_data_free(data);
    ef_record_free(&record);
    return status;
}

/* The rows can be loaded, and no id is one that could be given again. */
static efface_status check_rows(const checker *c, efface_error *error) {
    efface_data *rows = NULL;
    uint64_t next_id = 0;
    efface_status status = ef_rows_load(c->store, NULL, 0, &rows, error);
    if (status == EFFACE_OK)
        status = ef_fact_read(c->store, "next_id", &next_id, error);
    if (status == EFFACE_OK && rows->next_id > next_id)
        status = ef_store_corrupt(error, "it has ids that new rows could get again");
    efface_data_free(rows);
    return status;
}

static efface_status check_all(const checker *c, efface_error *error) {
    efface_error problem;
    char(*names)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0;
    efface_status status = told(c, check_file(c, &problem), &problem, error);
    if (status == EFFACE_OK)
        status = told(c, check_rows(c, &problem), &problem, error);
    if (status == EFFACE_OK)
        status = told(c, ef_receipts_check(c->store, &problem), &problem, error);
    if (status == EFFACE_OK)
        status = told(c, ef_models_list(c->store, &names, &n, &problem), &problem, error);
    for (uint32_t i = 0; status == EFFACE_OK && i < n; i++) {
        efface_error about;
        const efface_status checked = check_model(c, names[i], &about);
        (void)snprintf(problem.message, sizeof problem.message, "model %s: %.400s", names[i],
                       checked != EFFACE_OK ? about.message : "");
        status = told(c, checked, checked == EFFACE_E_CORRUPT ? &problem : &about, error);
    }
    ef_free(names);
    return status;
}

efface_status efface_store_check(efface_store *store,
                                 void (*found)(void *context, const char *problem), void *context,
                                 efface_error *error) {
    if (store == NULL || found == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and found must not be NULL");
    const checker c = {store, found, context};
    efface_status status = ef_store_begin(store, false, error);
    if (status != EFFACE_OK)
        return status;
    status = check_all(&c, error);
    /* It has only read. To commit that fails if the file is damaged, so take it back. */
    (void)ef_store_end(store, EFFACE_E_CORRUPT, NULL);
    return status;
}
