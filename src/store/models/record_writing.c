/* Writing models as they stand in the file: their rows, states and indexes (records.c). */
#include "base/bytes/digest.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/models/records.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <sodium.h>
#include <string.h>

/* Writes the row of a model, new or not, with the first part of its state. */
static efface_status write_row(efface_store *store, int64_t number, const char *name,
                               const ef_decoder fields[EF_FIELDS], ef_u128 seal, ef_decoder first,
                               bool is_new, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    unsigned char bytes[16];
    efface_status status = ef_sql_prepare(
        store,
        is_new ? "INSERT INTO models(" EF_SEALED_COLUMNS ", seal, state, number, name)"
                 " VALUES (?, ?, ?, ?, CAST(? AS TEXT), ?, ?, ?, ?, ?, ?)"
               : "UPDATE models SET params = ?, columns = ?, counts = ?, digest = ?,"
                 " family = CAST(? AS TEXT), parts = ?, salt = ?, seal = ?, state = ? WHERE number "
                 "= ? AND "
                 "name = ?",
        &statement, error);
    if (status == EFFACE_OK) {
        for (int i = 0; i < EF_FIELDS; i++)
            ef_sql_bind_bytes(statement, 1 + i, fields[i].bytes, fields[i].n_bytes);
        ef_sql_bind_sum(statement, 1 + EF_FIELDS, seal, bytes);
        ef_sql_bind_bytes(statement, 2 + EF_FIELDS, first.bytes, first.n_bytes);
        (void)sqlite3_bind_int64(statement, 3 + EF_FIELDS, number);
        ef_sql_bind_text(statement, 4 + EF_FIELDS, name);
        status = ef_sql_do(store, statement, error);
        if (status == EFFACE_E_DUPLICATE)
            status = ef_fail(error, status,
                             "a model with the name %s exists already; choose another name", name);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static ef_decoder reader_of(const ef_writer *w) {
    return (ef_decoder){.bytes = w->bytes != NULL ? w->bytes : (const unsigned char *)"",
                        .n_bytes = w->n_bytes};
}

/* The state of a model as it will be in the file. Of one that was opened, `change` has what was
 * read or written; else `change.after` is all of it, and `change.before` what the record has. */
static efface_status encode_state(const ef_record *record, const efface_model *model,
                                  ef_opened_change *change, efface_error *error) {
    ef_cuts cuts = {0}, kept = {0};
    ef_writer w = {.cuts = &cuts, .kept = record->opened != NULL ? &kept : NULL};
    efface_status status = EFFACE_OK;
    *change = (ef_opened_change){.index = {.n_bytes = 0}};
    if (record->opened != NULL)
        ef_write_reserve(&w, ef_opened_bytes_read(record->opened) + EF_PART_BYTES);
    model->family->write(&w, model->state);
    if (w.failed)
        status = ef_fail_memory(error);
    else if (record->opened != NULL)
        status = ef_opened_follow(record->opened, &w, change, error);
    else if (model->family->cut != NULL && cuts.n < EF_MAX_SECTIONS)
        status = ef_state_index_make(&w, NULL, &change->index, error);
    if (status == EFFACE_OK && record->opened == NULL) {
        status = ef_state_divide(w.bytes, w.n_bytes, &cuts,
                                 change->index.n_bytes != 0 ? &change->index.pieces : NULL,
                                 &change->after, error);
        w.bytes = status == EFFACE_OK ? NULL : w.bytes;
    }
    if (status != EFFACE_OK)
        ef_opened_change_free(change);
    ef_free(w.bytes);
    ef_free(cuts.at);
    ef_free(kept.at);
    return status;
}

/* The digest of a state as it will be. */
static efface_status digest_made(const ef_family *family, const ef_opened_change *change,
                                 unsigned char digest[EFFACE_DIGEST_BYTES], efface_error *error) {
    const ef_state *const state = &change->after;
    if (change->index.n_bytes == 0)
        return ef_state_digest(family, state->bytes, state->n_bytes, digest, error);
    ef_digest_joined(state->bytes, ef_section_begin(&change->index, 1), change->index.digests,
                     change->index.cuts.n, digest);
    return EFFACE_OK;
}

static efface_status write_state(efface_store *store, const ef_record *record,
                                 const ef_opened_change *change, efface_error *error) {
    const ef_state *const before = record->opened != NULL ? &change->before : &record->state;
    const efface_status status =
        ef_state_write(store, record->number, before, &change->after, error);
    if (status != EFFACE_OK || record->family->cut == NULL)
        return status;
    return change->index.n_bytes != 0
               ? ef_state_index_write(store, record->number, &change->index, error)
               : ef_state_index_drop(store, record->number, error);
}

/* Writes what was made of a model, with a salt that nothing had before, and has the record and
 * the head say it. */
static efface_status write_made(efface_store *store, ef_record *record, const ef_writer *params,
                                const ef_writer *columns, const ef_opened_change *change,
                                bool is_new, efface_error *error) {
    unsigned char parts[EF_PARTS_BYTES];
    efface_status status = is_new ? ef_state_number(store, &record->number, error) : EFFACE_OK;
    EF_THEN(status, digest_made(record->family, change, record->digest, error));
    if (status != EFFACE_OK)
        return status;
    randombytes_buf(record->salt, sizeof record->salt);
    const ef_decoder fields[EF_FIELDS] = {
        [EF_FIELD_PARAMS] = reader_of(params),
        [EF_FIELD_COLUMNS] = reader_of(columns),
        [EF_FIELD_COUNTS] = {.bytes = record->counts, .n_bytes = record->n_counts},
        [EF_FIELD_DIGEST] = {.bytes = record->digest, .n_bytes = sizeof record->digest},
        [EF_FIELD_FAMILY] = {.bytes = (const unsigned char *)record->family->name,
                             .n_bytes = strlen(record->family->name)},
        [EF_FIELD_PARTS] =
            ef_state_sum(&store->head, record->number,
                         record->opened != NULL ? &change->layout : &change->after, parts),
        [EF_FIELD_SALT] = {.bytes = record->salt, .n_bytes = sizeof record->salt},
    };
    const ef_u128 before = is_new ? 0 : record->seal;
    record->seal = ef_record_seal(&store->head, record->name, fields);
    store->head.models_sum += record->seal - before;
    store->head.n_models += is_new;
    store->head_changed = true;
    status = write_row(store, record->number, record->name, fields, record->seal,
                       ef_state_first(&change->after), is_new, error);
    return status == EFFACE_OK ? write_state(store, record, change, error) : status;
}

efface_status ef_record_write(efface_store *store, ef_record *record, const efface_model *model,
                              const ef_counts *counted, bool is_new, efface_error *error) {
    ef_writer counts = {0}, params = {0}, columns = {0};
    ef_opened_change change = {.index = {.n_bytes = 0}};
    record->family = model->family;
    record->kind = model->family->kind(model->family->params(model->state), NULL);
    ef_counts_write(&counts, counted);
    model->family->write_params(&params, model->family->params(model->state), record->n_columns);
    for (uint32_t j = 0; record->columns != NULL && j < record->n_columns; j++)
        ef_write_u32(&columns, record->columns[j]);
    efface_status status = counts.failed || params.failed || columns.failed
                               ? ef_fail_memory(error)
                               : encode_state(record, model, &change, error);
    if (status == EFFACE_OK) {
        ef_free(record->counts);
        record->counts = counts.bytes;
        record->n_counts = counts.n_bytes;
        counts.bytes = NULL;
        status = write_made(store, record, &params, &columns, &change, is_new, error);
        if (record->opened == NULL) {
            ef_state_free(&record->state);
            record->state = change.after;
            change.after = (ef_state){0};
        }
    }
    ef_opened_change_free(&change);
    ef_free(counts.bytes);
    ef_free(params.bytes);
    ef_free(columns.bytes);
    return status;
}

efface_status ef_record_check_index(efface_store *store, const ef_record *record,
                                    uint64_t *n_pieces, efface_error *error) {
    ef_state_index index = {.n_bytes = 0};
    ef_cuts cuts = {0};
    const ef_writer w = {
        .bytes = record->state.bytes, .n_bytes = record->state.n_bytes, .cuts = &cuts};
    *n_pieces = 0;
    if (record->family->cut == NULL)
        return EFFACE_OK;
    efface_status status =
        record->family->cut(record->state.bytes, record->state.n_bytes, &cuts, error);
    if (status == EFFACE_OK && cuts.n < EF_MAX_SECTIONS) {
        status = ef_state_index_make(&w, NULL, &index, error);
        EF_THEN(status, ef_state_index_check(store, record->number, &index, n_pieces, error));
    }
    ef_state_index_free(&index);
    ef_free(cuts.at);
    return status;
}
