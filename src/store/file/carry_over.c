/*
 * Stores of formats 1 and 2, made into today's when they are first opened to write.
 *
 * Format 2 had the state of a model as one value in the table of models, and no families. The head
 * and the seals of models are verified before new ones are made; a model that does not match its
 * seal keeps the old one, and so does not match it later either.
 *
 *     models    name, params, columns, counts, digest, seal, state
 *
 * Format 1 had no buckets, groups or seals, and its rows no way to have no owner or label: 0 stood
 * for both. Owner 0 becomes none where no row of the store has another owner; else it stays the
 * person 0, and the head says that it may be wrong. Labels were numbers in the order of appearance
 * or from files; 0 becomes none where no row has another. Ids, weights, values, models and receipts
 * stay. The fact next_id, which had the largest id that there ever was, is gone.
 *
 *     facts     name, value                     n_rows, next_id, n_columns; keys as blobs
 *     columns   number, name                    if columns have names
 *     rows      id, owner, weight, label, vals
 *     models    name, params, columns, counts, digest, state
 *     receipts  number, body
 */
#include "base/bytes/digest.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/store.h"

#include <sodium.h>
#include <string.h>

static efface_status read_number(efface_store *store, const char *sql, uint64_t *value,
                                 efface_error *error) {
    int64_t found = 0;
    const efface_status status = ef_sql_number(store, sql, &found, error);
    *value = (uint64_t)found;
    return status;
}

static efface_status read_key(efface_store *store, const char *sql, unsigned char *key,
                              size_t n_bytes, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    efface_status status = ef_sql_prepare(store, sql, &statement, error);
    if (status == EFFACE_OK)
        status = ef_sql_step(store, statement, &row, error);
    if (status == EFFACE_OK) {
        ef_decoder reader = row ? ef_sql_bytes(statement, 0) : (ef_decoder){.n_bytes = 0};
        if (reader.n_bytes == n_bytes)
            ef_read_bytes(&reader, key, n_bytes);
        else
            status = ef_store_corrupt(error, "a key has the wrong length");
    }
    (void)sqlite3_finalize(statement);
    return status;
}

/* The last receipt, for the head. */
static efface_status read_last_receipt(efface_store *store, efface_error *error) {
    ef_head *const head = &store->head;
    sqlite3_stmt *statement = NULL;
    bool row = false;
    efface_status status = ef_sql_prepare(
        store, "SELECT number, body FROM receipts ORDER BY number DESC LIMIT 1", &statement, error);
    if (status == EFFACE_OK)
        status = ef_sql_step(store, statement, &row, error);
    if (status == EFFACE_OK && row) {
        const ef_decoder body = ef_sql_bytes(statement, 1);
        head->n_receipts = (uint64_t)sqlite3_column_int64(statement, 0);
        head->n_old_receipts = head->n_receipts;
        ef_digest(body.bytes, body.n_bytes, head->last_receipt);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static efface_status read_facts(efface_store *store, uint64_t *n_rows, efface_error *error) {
    ef_head *const head = &store->head;
    uint64_t n_columns = 0;
    *head = (ef_head){.n_columns = 0};
    efface_status status =
        read_number(store, "SELECT value FROM facts WHERE name = 'n_columns'", &n_columns, error);
    if (status == EFFACE_OK)
        status = read_number(store, "SELECT value FROM facts WHERE name = 'n_rows'", n_rows, error);
    if (status == EFFACE_OK && (n_columns == 0 || n_columns > EFFACE_MAX_COLUMNS))
        status = ef_store_corrupt(error, "its number of columns is invalid");
    if (status == EFFACE_OK && *n_rows >= (uint64_t)EFFACE_MAX_WEIGHT)
        status = ef_store_corrupt(error, "its number of rows is invalid");
    if (status != EFFACE_OK)
        return status;
    head->n_columns = (uint32_t)n_columns;
    head->dense = ef_dense_for(*n_rows);
    randombytes_buf(head->row_key, sizeof head->row_key);
    status = read_key(store, "SELECT value FROM facts WHERE name = 'hash_key'", head->hash_key,
                      sizeof head->hash_key, error);
    if (status == EFFACE_OK)
        status = read_key(store, "SELECT value FROM facts WHERE name = 'receipt_key'",
                          head->receipt_key, sizeof head->receipt_key, error);
    if (status == EFFACE_OK) {
        ef_receipt_key_digest(head->receipt_key, head->receipt_key_digest);
        status = read_last_receipt(store, error);
    }
    return status;
}

/* ---------------------------------------------------------------- rows and their groups */

static efface_status move_rows(efface_store *store, efface_error *error) {
    uint64_t owned = 0, labelled = 0, zeros = 0;
    efface_status status =
        read_number(store, "SELECT EXISTS(SELECT 1 FROM old_rows WHERE owner <> 0)", &owned, error);
    if (status == EFFACE_OK)
        status = read_number(store, "SELECT EXISTS(SELECT 1 FROM old_rows WHERE label <> 0)",
                             &labelled, error);
    if (status == EFFACE_OK)
        status = read_number(store, "SELECT EXISTS(SELECT 1 FROM old_rows WHERE owner = 0)", &zeros,
                             error);
    if (status != EFFACE_OK)
        return status;
    store->head.owner_zero_is_old = owned != 0 && zeros != 0;
    sqlite3_stmt *statement = NULL;
    status = ef_bucket_sql(store, true, error);
    if (status == EFFACE_OK)
        status =
            ef_sql_prepare(store,
                           "INSERT INTO rows SELECT ef_bucket(id), id, CASE WHEN ?1 THEN owner END,"
                           " weight, CASE WHEN ?2 THEN label END, NULL, vals FROM old_rows"
                           " ORDER BY 1, 2",
                           &statement, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)owned);
        (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)labelled);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    (void)ef_bucket_sql(store, false, NULL);
    return status;
}

/* The members of all groups, from the rows. */
static efface_status count_groups(efface_store *store, efface_error *error) {
    const size_t n_rows = (size_t)store->head.n_rows;
    sqlite3_stmt *statement = NULL;
    bool row = true;
    size_t n = 0, room;
    ef_member *const members =
        ef_mul_size(n_rows, EF_GROUP_KINDS, &room) ? ef_alloc(room, sizeof *members) : NULL;
    if (members == NULL)
        return ef_fail_memory(error);
    efface_status status = ef_groups_make(store, 1, error);
    if (status == EFFACE_OK)
        status = ef_sql_prepare(store, "SELECT id, owner, class FROM rows", &statement, error);
    while (status == EFFACE_OK && n + EF_GROUP_KINDS <= room) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        const uint64_t id = (uint64_t)sqlite3_column_int64(statement, 0);
        for (int kind = 0; kind < EF_GROUP_KINDS; kind++)
            if (sqlite3_column_type(statement, 1 + kind) != SQLITE_NULL)
                members[n++] =
                    (ef_member){.kind = (ef_group_kind)kind,
                                .number = (uint64_t)sqlite3_column_int64(statement, 1 + kind),
                                .id = id};
    }
    (void)sqlite3_finalize(statement);
    if (status == EFFACE_OK)
        status = ef_groups_change(store, members, n, error);
    ef_free(members);
    return status;
}

/* ---------------------------------------------------------------- models and names */

#define N_OLD_FIELDS 5 /* params, columns, counts, digest, state */

/* Writes a model of an older format with a seal of today's, and says which. Its state has no cuts
 * until the first request writes it. */
static efface_status move_model(efface_store *store, int64_t number, const char *name,
                                const ef_decoder old[N_OLD_FIELDS], const ef_u128 *wrong_seal,
                                ef_u128 *seal, efface_error *error) {
    ef_decoder fields[EF_FIELDS];
    ef_decoder bytes = old[EF_FIELDS_2];
    unsigned char parts[EF_PARTS_BYTES];
    const ef_cuts none = {0};
    const ef_state nothing = {0};
    ef_state state = {0};
    unsigned char *const copy = ef_alloc(bytes.n_bytes, 1);
    if (copy == NULL)
        return ef_fail_memory(error);
    ef_read_bytes(&bytes, copy, bytes.n_bytes);
    efface_status status = ef_state_divide(copy, old[EF_FIELDS_2].n_bytes, &none, &state, error);
    if (status != EFFACE_OK) {
        ef_free(copy);
        return status;
    }
    for (int i = 0; i < EF_FIELDS_2; i++)
        fields[i] = old[i];
    const char *const only_family = efface_family_name(EFFACE_FAMILY_KMEANS); /* of that time */
    fields[EF_FIELD_FAMILY] =
        (ef_decoder){.bytes = (const unsigned char *)only_family, .n_bytes = strlen(only_family)};
    fields[EF_FIELD_PARTS] = ef_state_sum(&store->head, number, &state, parts);
    *seal = wrong_seal != NULL ? *wrong_seal : ef_seal_model(&store->head, name, fields, EF_FIELDS);
    status = ef_record_write_row(store, number, name, fields, *seal, ef_state_first(&state), true,
                                 error);
    if (status == EFFACE_OK)
        status = ef_state_write(store, number, &nothing, &state, error);
    ef_state_free(&state);
    return status;
}

/* The model that a statement is at; `sealed`: its format had seals, the sixth column. */
static efface_status move_found(efface_store *store, int64_t number, sqlite3_stmt *read,
                                bool sealed, efface_error *error) {
    ef_head *const head = &store->head;
    const char *name = NULL;
    ef_decoder old[N_OLD_FIELDS];
    ef_u128 seal = 0, old_seal = 0;
    efface_status status = ef_sql_text(store, read, 0, &name, error);
    if (status == EFFACE_OK && ef_model_name_check(name, NULL) != EFFACE_OK)
        status = ef_store_corrupt(error, "the name of a model is invalid");
    if (status != EFFACE_OK)
        return status;
    for (int i = 0; i < N_OLD_FIELDS; i++)
        old[i] = ef_sql_bytes(read, 1 + i);
    const bool right = !sealed || (ef_sql_has(read, "tbbbbbb") &&
                                   ef_sql_read_sum(read, 1 + N_OLD_FIELDS, &old_seal) &&
                                   old_seal == ef_seal_model(head, name, old, EF_FIELDS_2));
    status = move_model(store, number, name, old, right ? NULL : &old_seal, &seal, error);
    if (right)
        head->models_sum += seal - old_seal;
    if (!sealed)
        head->n_models++;
    return status;
}

/* Reads every model and writes it with its seal. */
static efface_status move_models(efface_store *store, bool sealed, efface_error *error) {
    sqlite3_stmt *read = NULL;
    bool row = true;
    efface_status status = ef_sql_prepare(
        store,
        sealed ? "SELECT name, params, columns, counts, digest, state, seal FROM old_models"
                 " ORDER BY name"
               : "SELECT name, params, columns, counts, digest, state FROM old_models"
                 " ORDER BY name",
        &read, error);
    for (int64_t number = 1; status == EFFACE_OK; number++) {
        status = ef_sql_step(store, read, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        status = move_found(store, number, read, sealed, error);
    }
    (void)sqlite3_finalize(read);
    return status;
}

/* The digest of the names as they stand; they are read and compared with it when this is done. */
static efface_status seal_names(efface_store *store, efface_error *error) {
    const uint32_t d = store->head.n_columns;
    sqlite3_stmt *statement = NULL;
    bool row = true;
    char **const names = ef_alloc_zero(d, sizeof *names);
    if (names == NULL)
        return ef_fail_memory(error);
    efface_status status =
        ef_sql_prepare(store, "SELECT number, name FROM columns", &statement, error);
    while (status == EFFACE_OK) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        const int64_t number = sqlite3_column_int64(statement, 0);
        if (number < 1 || number > (int64_t)d || names[number - 1] != NULL)
            status = ef_store_corrupt(error, "the names of its columns are invalid");
        else if (!ef_sql_copy_text(statement, 1, &names[number - 1]))
            status = ef_fail_memory(error);
    }
    (void)sqlite3_finalize(statement);
    if (status == EFFACE_OK)
        status = ef_names_digest(names, NULL, d, store->head.names_digest, error);
    for (uint32_t j = 0; j < d; j++)
        ef_free(names[j]);
    ef_free(names);
    return status;
}

/* A store of format 1 in which a column had no name has names for those before it only. */
static efface_status complete_names(efface_store *store, efface_error *error) {
    uint64_t n = 0;
    efface_status status = read_number(store, "SELECT count(*) FROM columns", &n, error);
    sqlite3_stmt *statement = NULL;
    if (status == EFFACE_OK && n != 0)
        status = ef_sql_prepare(store, "INSERT OR IGNORE INTO columns VALUES (?, NULL)", &statement,
                                error);
    for (uint32_t j = 0; status == EFFACE_OK && n != 0 && j < store->head.n_columns; j++) {
        (void)sqlite3_bind_int64(statement, 1, (int64_t)j + 1);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static efface_status carry_over_1(efface_store *store, efface_error *error) {
    uint64_t n_rows = 0;
    efface_status status = read_facts(store, &n_rows, error);
    if (status == EFFACE_OK)
        status = ef_sql_run(store,
                            "DROP INDEX rows_by_owner;"
                            "ALTER TABLE facts RENAME TO old_facts;"
                            "ALTER TABLE columns RENAME TO old_columns;"
                            "ALTER TABLE rows RENAME TO old_rows;"
                            "ALTER TABLE models RENAME TO old_models;"
                            "ALTER TABLE receipts RENAME TO old_receipts;",
                            error);
    if (status == EFFACE_OK)
        status = ef_sql_run(store, ef_schema, error);
    if (status == EFFACE_OK)
        status = ef_sql_run(store,
                            "INSERT INTO columns SELECT number, name FROM old_columns;"
                            "INSERT INTO receipts SELECT number, body FROM old_receipts;",
                            error);
    if (status == EFFACE_OK)
        status = move_rows(store, error);
    if (status == EFFACE_OK)
        status = ef_buckets_count(store, error);
    if (status == EFFACE_OK && store->head.n_rows != n_rows)
        status = ef_store_corrupt(error, "its number of rows is wrong");
    if (status == EFFACE_OK)
        status = count_groups(store, error);
    if (status == EFFACE_OK)
        status = ef_sql_run(store, ef_schema_late, error);
    if (status == EFFACE_OK)
        status = move_models(store, false, error);
    if (status == EFFACE_OK)
        status = complete_names(store, error);
    if (status == EFFACE_OK)
        status = seal_names(store, error);
    if (status == EFFACE_OK)
        status = ef_sql_run(store,
                            "DROP TABLE old_facts; DROP TABLE old_columns; DROP TABLE old_rows;"
                            "DROP TABLE old_models; DROP TABLE old_receipts;",
                            error);
    return status;
}

/* A store that has more than our tables is not written to. One that is only read is carried over in
 * memory all the same, and a check says what it had. */
static efface_status carry_over_2(efface_store *store, efface_error *error) {
    uint64_t n_in_the_way = 0;
    efface_status status = ef_schema_check_of(store, 2, error);
    if (status == EFFACE_OK)
        status = ef_head_read(store, error);
    if (status == EFFACE_OK)
        status = read_number(
            store, "SELECT count(*) FROM sqlite_schema WHERE name IN ('states', 'old_models')",
            &n_in_the_way, error);
    if (status == EFFACE_OK && n_in_the_way != 0)
        status = ef_store_corrupt(error, store->foreign);
    /* Views of others must not keep the table from getting another name. */
    if (status == EFFACE_OK)
        status = ef_sql_run(store,
                            "PRAGMA legacy_alter_table = ON;"
                            "ALTER TABLE models RENAME TO old_models;"
                            "PRAGMA legacy_alter_table = OFF;",
                            error);
    if (status == EFFACE_OK)
        status = ef_sql_run(store, ef_schema_models, error);
    if (status == EFFACE_OK)
        status = move_models(store, true, error);
    if (status == EFFACE_OK)
        status = ef_sql_run(store, "DROP TABLE old_models;", error);
    /* A trigger of the old table went with it: what was found then stays said. */
    if (status == EFFACE_OK && store->foreign[0] != '\0')
        status = ef_sql_number(store, "PRAGMA schema_version", &store->schema_version, error);
    return status;
}

efface_status ef_carry_over(efface_store *store, efface_error *error) {
    const efface_status status =
        store->format == 1 ? carry_over_1(store, error) : carry_over_2(store, error);
    store->head_changed = true;
    store->format = EF_STORE_VERSION;
    return status;
}
