/*
 * The records of models: family, parameters, columns, counts and state, as they stand in the file.
 *
 * A record has a seal over everything but the state, whose digest is among what the seal covers,
 * and so is the salt that is drawn whenever the digest is written (seals/commitments.h);
 * the head has the number of models and the sum of their seals. The state stands in a table of its
 * own (state_parts.c), under the number of the model.
 */
#include "store/models/records.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/seals/commitments.h"
#include "store/seals/seals.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <string.h>

/* ---------------------------------------------------------------- names */

static bool is_name(const char *name) {
    const char *const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    const size_t n = name != NULL ? strlen(name) : 0;
    return n != 0 && n < EFFACE_MODEL_NAME_BYTES && strspn(name, allowed) == n;
}

efface_status ef_model_name_check(const char *name, efface_error *error) {
    return is_name(name)
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_ARGUMENT,
                         "the name of a model must be 1 to %d letters, digits, '-', '_' or '.'",
                         EFFACE_MODEL_NAME_BYTES - 1);
}

void ef_model_name_copy(char to[EFFACE_MODEL_NAME_BYTES], const char *name) {
    memset(to, 0, EFFACE_MODEL_NAME_BYTES);
    memcpy(to, name, strlen(name));
}

efface_status ef_models_list(efface_store *store, char (**names)[EFFACE_MODEL_NAME_BYTES],
                             uint32_t *n_names, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    /* The head is verified: it says how many there are. */
    const size_t room = (size_t)store->head.n_models;
    char(*const list)[EFFACE_MODEL_NAME_BYTES] = ef_alloc(room, sizeof *list);
    size_t n = 0;
    bool row = true;
    efface_status status =
        list != NULL
            ? ef_sql_prepare(store, "SELECT name FROM models ORDER BY name", &statement, error)
            : ef_fail_memory(error);
    while (status == EFFACE_OK) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        const char *name = NULL;
        status = ef_sql_text(store, statement, 0, &name, error);
        if (status != EFFACE_OK)
            break;
        if (!ef_sql_has(statement, "t") || !is_name(name) || n == room)
            status = ef_store_corrupt(error, "the names of its models are invalid");
        else
            ef_model_name_copy(list[n++], name);
    }
    (void)sqlite3_finalize(statement);
    if (status == EFFACE_OK && n != room)
        status = ef_store_corrupt(error, "a model is missing");
    if (status != EFFACE_OK) {
        ef_free(list);
        return status;
    }
    *names = list;
    *n_names = (uint32_t)n;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- seals */

ef_u128 ef_record_seal(const ef_head *head, const char *name, const ef_decoder fields[EF_FIELDS]) {
    unsigned char seals[EF_FIELDS * 16];
    for (size_t i = 0; i < EF_FIELDS; i++) {
        const ef_u128 seal = ef_seal_named(head, name, fields[i].bytes, fields[i].n_bytes);
        for (int j = 0; j < 16; j++)
            seals[16 * i + (size_t)j] = (unsigned char)(seal >> (8 * j));
    }
    return ef_seal_named(head, name, seals, sizeof seals);
}

/* The fields of a row that a statement is at, from a column on. */
static void read_fields(sqlite3_stmt *statement, int first, ef_decoder fields[EF_FIELDS]) {
    for (int i = 0; i < EF_FIELDS; i++)
        fields[i] = ef_sql_bytes(statement, first + i);
}

efface_status ef_models_verify(const efface_store *store, uint64_t n_models, ef_u128 sum,
                               efface_error *error) {
    return n_models == store->head.n_models && sum == store->head.models_sum
               ? EFFACE_OK
               : ef_store_corrupt(error, "its models do not match their checksum");
}

/* ---------------------------------------------------------------- records */

void ef_record_free(ef_record *record) {
    ef_free(record->params);
    ef_free(record->columns);
    ef_free(record->counts);
    ef_state_free(&record->state);
    ef_opened_free(record->opened);
    *record = (ef_record){.n_columns = 0};
}

static efface_status copy_bytes(ef_decoder reader, unsigned char **bytes, size_t *n_bytes,
                                efface_error *error) {
    *bytes = ef_alloc(reader.n_bytes, 1);
    if (*bytes == NULL)
        return ef_fail_memory(error);
    *n_bytes = reader.n_bytes;
    ef_read_bytes(&reader, *bytes, reader.n_bytes);
    return EFFACE_OK;
}

static efface_status read_record_columns(const efface_store *store, ef_decoder reader,
                                         ef_record *record, efface_error *error) {
    record->n_columns = store->head.n_columns;
    if (reader.n_bytes == 0)
        return EFFACE_OK;
    record->n_columns = (uint32_t)(reader.n_bytes / 4);
    if (reader.n_bytes % 4 != 0 || record->n_columns > store->head.n_columns)
        return ef_store_corrupt(error, "the columns of a model are invalid");
    record->columns = ef_alloc(record->n_columns, sizeof *record->columns);
    if (record->columns == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < record->n_columns; j++) {
        record->columns[j] = ef_read_u32(&reader);
        if (record->columns[j] >= store->head.n_columns)
            return ef_store_corrupt(error, "the columns of a model are invalid");
    }
    return EFFACE_OK;
}

/* A seal of ours is over it, so a family that is not known is not damage. */
static efface_status read_record_family(ef_decoder family, ef_record *record, efface_error *error) {
    char name[32] = "";
    if (family.n_bytes < sizeof name)
        ef_read_bytes(&family, name, family.n_bytes);
    record->family = ef_family_named(name);
    return record->family != NULL
               ? EFFACE_OK
               : ef_fail(
                     error, EFFACE_E_FORMAT,
                     "the model %s is of the family %s, which this program does not know; use a "
                     "newer program",
                     record->name, name);
}

/* A state that a store wrote and a model refuses is damage of the store; parameters too. */
efface_status ef_record_damage(efface_status status, efface_error *error) {
    if (status != EFFACE_E_FORMAT)
        return status;
    if (error == NULL)
        return EFFACE_E_CORRUPT;
    const efface_error cause = *error;
    return ef_store_corrupt(error, cause.message);
}

static efface_status read_record_params(ef_decoder *params, ef_record *record,
                                        efface_error *error) {
    const efface_status status =
        record->family->read_params(params, record->n_columns, &record->params, error);
    if (status != EFFACE_OK)
        return ef_record_damage(status, error);
    if (record->family->check_params(record->params, NULL) != EFFACE_OK)
        return ef_store_corrupt(error, "the parameters of a model are invalid");
    record->kind = record->family->kind(record->params, NULL);
    return EFFACE_OK;
}

static efface_status read_record_state(efface_store *store, ef_decoder first,
                                       const unsigned char parts[EF_PARTS_BYTES], ef_record *record,
                                       efface_error *error) {
    unsigned char found[EFFACE_DIGEST_BYTES];
    efface_status status =
        ef_state_read(store, record->number, first, parts, &record->state, error);
    EF_THEN(status, ef_record_damage(ef_state_digest(record->family, record->state.bytes,
                                                     record->state.n_bytes, found, error),
                                     error));
    return status == EFFACE_OK && memcmp(found, record->digest, sizeof found) != 0
               ? ef_store_corrupt(error, "the state of a model does not match its digest")
               : status;
}

/* How much of a model is read. */
typedef enum reading { ROW_ONLY, WHOLE_STATE, OPENED_STATE } reading;

static bool is_outdated(const ef_family *family, const unsigned char *bytes, size_t n_bytes) {
    return family->is_outdated != NULL && family->is_outdated(bytes, n_bytes);
}

/* A state that has an index is opened; in a store in parts, all ranks get it whole. So is one that
 * is outdated: nothing can be read of it. */
static efface_status open_record_state(efface_store *store, ef_decoder first,
                                       const unsigned char parts[EF_PARTS_BYTES], ef_record *record,
                                       efface_error *error) {
    efface_status status = EFFACE_OK;
    if (record->family->open != NULL && store->head.n_parts == 0 &&
        !is_outdated(record->family, first.bytes, first.n_bytes))
        status = ef_opened_make(store, record->number, first, parts, record->digest,
                                &record->opened, error);
    return status == EFFACE_OK && record->opened == NULL
               ? read_record_state(store, first, parts, record, error)
               : status;
}

/* Fills a record from a statement that is at it, and verifies it. */
static efface_status fill_record(efface_store *store, sqlite3_stmt *statement, reading how,
                                 ef_record *record, efface_error *error) {
    ef_decoder fields[EF_FIELDS];
    if (!ef_sql_has(statement, how != ROW_ONLY ? "bbbbtbbbib" : "bbbbtbbbi"))
        return ef_store_corrupt(error, "a model has values of the wrong kind");
    read_fields(statement, 0, fields);
    const ef_u128 seal = ef_record_seal(&store->head, record->name, fields);
    if (!ef_sql_read_sum(statement, EF_FIELDS, &record->seal) || record->seal != seal ||
        fields[EF_FIELD_DIGEST].n_bytes != sizeof record->digest ||
        fields[EF_FIELD_PARTS].n_bytes != EF_PARTS_BYTES ||
        fields[EF_FIELD_SALT].n_bytes != sizeof record->salt)
        return ef_store_corrupt(error, "a model does not match its seal");
    ef_read_bytes(&fields[EF_FIELD_DIGEST], record->digest, sizeof record->digest);
    ef_read_bytes(&fields[EF_FIELD_SALT], record->salt, sizeof record->salt);
    record->number = sqlite3_column_int64(statement, EF_FIELDS + 1);
    efface_status status = read_record_family(fields[EF_FIELD_FAMILY], record, error);
    EF_THEN(status, read_record_columns(store, fields[EF_FIELD_COLUMNS], record, error));
    EF_THEN(status, read_record_params(&fields[EF_FIELD_PARAMS], record, error));
    EF_THEN(status, copy_bytes(fields[EF_FIELD_COUNTS], &record->counts, &record->n_counts, error));
    if (status == EFFACE_OK && how != ROW_ONLY)
        status = (how == OPENED_STATE ? open_record_state : read_record_state)(
            store, ef_sql_bytes(statement, EF_FIELDS + 2), fields[EF_FIELD_PARTS].bytes, record,
            error);
    return status;
}

/* "There is no such model" is verified too: the models that there are must be those of the head. */
static efface_status fail_absent(efface_store *store, const char *name, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = true;
    uint64_t n_models = 0;
    ef_u128 sum = 0;
    efface_status status =
        ef_sql_prepare(store, "SELECT name, " EF_SEALED_COLUMNS " FROM models", &statement, error);
    while (status == EFFACE_OK) {
        const char *found = NULL;
        ef_decoder fields[EF_FIELDS];
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        status = ef_sql_text(store, statement, 0, &found, error);
        if (found != NULL && strcmp(found, name) == 0)
            status = ef_store_corrupt(error, "the index of its models is invalid");
        n_models++;
        read_fields(statement, 1, fields);
        if (found != NULL)
            sum += ef_record_seal(&store->head, found, fields);
    }
    (void)sqlite3_finalize(statement);
    EF_THEN(status, ef_models_verify(store, n_models, sum, error));
    return status == EFFACE_OK
               ? ef_fail(error, EFFACE_E_NOT_FOUND, "there is no model with the name %s", name)
               : status;
}

static efface_status read_record(efface_store *store, const char *name, reading how,
                                 ef_record *record, efface_error *error) {
    *record = (ef_record){.n_columns = 0};
    efface_status status = ef_model_name_check(name, error);
    if (status != EFFACE_OK)
        return status;
    ef_model_name_copy(record->name, name);
    sqlite3_stmt *statement = NULL;
    bool row = false;
    status = ef_sql_prepare(store,
                            how != ROW_ONLY ? "SELECT " EF_SEALED_COLUMNS
                                              ", seal, number, state FROM models WHERE name = ?"
                                            : "SELECT " EF_SEALED_COLUMNS
                                              ", seal, number FROM models WHERE name = ?",
                            &statement, error);
    if (status == EFFACE_OK) {
        ef_sql_bind_text(statement, 1, name);
        status = ef_sql_step(store, statement, &row, error);
    }
    if (status == EFFACE_OK && row)
        status = fill_record(store, statement, how, record, error);
    (void)sqlite3_finalize(statement);
    if (status == EFFACE_OK && !row)
        status = fail_absent(store, name, error);
    if (status != EFFACE_OK)
        ef_record_free(record);
    return status;
}

efface_status ef_record_read(efface_store *store, const char *name, bool with_state,
                             ef_record *record, efface_error *error) {
    return read_record(store, name, with_state ? WHOLE_STATE : ROW_ONLY, record, error);
}

efface_status ef_record_open(efface_store *store, const char *name, ef_record *record,
                             efface_error *error) {
    return read_record(store, name, OPENED_STATE, record, error);
}

efface_status ef_record_new(const efface_store *store, const efface_new_model *asked,
                            ef_record *record, efface_error *error) {
    const uint32_t d = store->head.n_columns, n = asked->n_columns;
    *record = (ef_record){.n_columns = asked->columns != NULL ? n : d};
    const efface_status status = ef_model_name_check(asked->name, error);
    if (status != EFFACE_OK)
        return status;
    if (strcmp(asked->name, ".") == 0 || strcmp(asked->name, "..") == 0)
        return ef_fail(
            error, EFFACE_E_ARGUMENT,
            "the name of a model cannot be '.' or '..': in an address these are folders");
    if (asked->params == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "params must not be NULL");
    ef_model_name_copy(record->name, asked->name);
    if (asked->columns == NULL)
        return EFFACE_OK;
    if (n == 0 || n > d)
        return ef_fail(error, EFFACE_E_ARGUMENT, "a model must have 1 to %u columns", (unsigned)d);
    for (uint32_t j = 0; j < n; j++)
        if (asked->columns[j] >= d)
            return ef_fail(error, EFFACE_E_ARGUMENT,
                           "there is no column %u; the store has %u columns",
                           (unsigned)asked->columns[j] + 1, (unsigned)d);
    record->columns = ef_alloc(n, sizeof *record->columns);
    if (record->columns == NULL)
        return ef_fail_memory(error);
    memcpy(record->columns, asked->columns, n * sizeof *asked->columns);
    return EFFACE_OK;
}

efface_status ef_record_cold(const ef_record *record, efface_model **model, ef_counts *counts,
                             efface_error *error) {
    ef_decoder state = {.bytes = record->state.bytes, .n_bytes = record->state.n_bytes};
    ef_decoder reader = {.bytes = record->counts, .n_bytes = record->n_counts};
    const efface_status status =
        record->opened != NULL
            ? ef_model_open(&record->opened->sections, record->params, record->n_columns, model,
                            error)
            : ef_model_read(&state, record->params, record->n_columns, model, error);
    if (status != EFFACE_OK)
        return ef_record_damage(status, error);
    const ef_totals totals = (*model)->family->totals((*model)->state);
    const bool was_read = ef_counts_read(&reader, record->n_columns, counts);
    if (was_read && reader.n_bytes == 0 && counts->n_rows == totals.n_rows &&
        counts->total_weight == totals.total_weight)
        return EFFACE_OK;
    efface_model_free(*model);
    *model = NULL;
    if (was_read)
        ef_counts_free(counts);
    return was_read || reader.failed
               ? ef_store_corrupt(error, "the counts that a model keeps of its rows are invalid")
               : ef_fail_memory(error);
}

efface_status ef_record_attach(efface_model *model, const efface_data *data, efface_error *error) {
    return ef_record_damage(ef_model_attach(model, data, error), error);
}

void ef_record_commit(const ef_record *record, unsigned char commitment[EFFACE_DIGEST_BYTES]) {
    ef_commit(record->salt, record->digest, commitment);
}

efface_model_report ef_record_report(const ef_record *record, const char *reason) {
    efface_model_report report = {.report = {.reason = reason}};
    if (record->family != NULL) { /* a rank that writes no models may not know it */
        report.family = record->family->number;
        report.kind = record->kind;
    }
    memcpy(report.name, record->name, sizeof report.name);
    ef_record_commit(record, report.before);
    return report;
}

bool ef_record_is_outdated(const ef_record *record) {
    return is_outdated(record->family, record->state.bytes, record->state.n_bytes);
}

efface_status ef_record_hot(const ef_record *record, const efface_data *data, efface_model **model,
                            efface_error *error) {
    if (ef_record_is_outdated(record))
        return ef_model_fit(data, record->params, model, error);
    return ef_record_damage(efface_model_decode(record->state.bytes, record->state.n_bytes,
                                                record->params, data, model, error),
                            error);
}

efface_status ef_record_drop(efface_store *store, const ef_record *record, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status =
        ef_sql_prepare(store, "DELETE FROM models WHERE name = ?", &statement, error);
    if (status == EFFACE_OK) {
        ef_sql_bind_text(statement, 1, record->name);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    EF_THEN(status, ef_state_drop(store, record->number, error));
    EF_THEN(status, ef_state_index_drop(store, record->number, error));
    store->head.n_models--;
    store->head.models_sum -= record->seal;
    store->head_changed = true;
    return status;
}
