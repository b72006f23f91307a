/*
 * Looks for damage: in the file, and in its contents by the invariants (store.c) that can be
 * checked without a fit. Verify does the fits.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/file_length.h"
#include "store/file/transactions.h"
#include "store/parts.h"
#include "store/receipts/receipts.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct checker {
    efface_store *store;
    void (*found)(void *context, const char *problem);
    void *context;
} checker;

static void say_problem(const checker *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say_problem(const checker *c, const char *format, ...) {
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    c->found(c->context, text);
}

/* Damage is reported; other errors end the check. */
static efface_status told(const checker *c, efface_status status, const efface_error *problem,
                          efface_error *error) {
    if (status == EFFACE_E_CORRUPT || status == EFFACE_E_FORMAT) {
        say_problem(c, "%s", problem->message);
        return EFFACE_OK;
    }
    if (status != EFFACE_OK && error != NULL)
        *error = *problem;
    return status;
}

/* What one finds of what all look at together, all find; and they go on. */
static efface_status agreed(const checker *c, efface_status status, efface_error *error) {
    return c->store->parts->agree(c->store, status, true, error);
}

static efface_status check_file(const checker *c, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = true;
    efface_status status = ef_sql_prepare(c->store, "PRAGMA integrity_check", &statement, error);
    while (status == EFFACE_OK) {
        status = ef_sql_step(c->store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        const char *text = NULL;
        status = ef_sql_text(c->store, statement, 0, &text, error);
        if (status != EFFACE_OK)
            break;
        if (text == NULL || strcmp(text, "ok") != 0)
            say_problem(c, "the file: %s", text != NULL ? text : "no answer");
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static efface_status check_file_length(const checker *c, efface_error *error) {
    uint64_t n = 0;
    const efface_status status = ef_file_excess(c->store, &n, error);
    if (status == EFFACE_OK && n != 0)
        say_problem(c,
                    "the file: %" PRIu64 " bytes stand behind its last page, where a compact that "
                    "was interrupted left them; they may have rows that were forgotten; opening "
                    "the store to write, as efface compact does, cuts them off",
                    n);
    return status;
}

/* Something that nothing refers to could keep forgotten data, so all is counted. Rows and columns
 * are read to their end. */
static efface_status check_counts(const checker *c, efface_error *error) {
    const ef_head *const head = &c->store->head;
    int64_t vacuums = 0;
    const efface_status asked = ef_sql_number(c->store, "PRAGMA auto_vacuum", &vacuums, error);
    if (asked != EFFACE_OK)
        return asked;
    if (vacuums != 0)
        say_problem(
            c, "the file: it moves its pages by itself (auto_vacuum); efface does not write to "
               "such a file");
    const struct {
        const char *sql, *what;
        uint64_t expected;
    } counts[] = {
        {"SELECT count(*) FROM facts WHERE name NOT IN"
         " ('head', 'seal', 'signature', 'offsets', 'types') AND name NOT GLOB 'journal [0-9]*' "
         "AND name NOT GLOB 'unnamed [0-9]*'",
         "facts", 0},
        {"SELECT count(*) FROM buckets", "buckets of rows", ef_buckets(head)},
        {"SELECT count(*) FROM group_buckets", "buckets of groups", ef_member_buckets(head)},
        {"SELECT count(*) FROM groups", "owners and labels", head->n_groups[0] + head->n_groups[1]},
        {"SELECT count(*) FROM models", "models", head->n_models},
        {"SELECT count(*) FROM receipts", "receipts", head->n_receipts},
        {"SELECT count(*) FROM columns", "columns", c->store->names != NULL ? head->n_columns : 0},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int64_t n = 0;
        const efface_status status = ef_sql_number(c->store, counts[i].sql, &n, error);
        if (status != EFFACE_OK)
            return status;
        if ((uint64_t)n != counts[i].expected)
            say_problem(c, "the number of %s in the store is wrong", counts[i].what);
    }
    return EFFACE_OK;
}

/* A model against the rows, of which `all` has every column: its state and what it counts. */
static efface_status check_model(const checker *c, const char *name, const efface_data *all,
                                 ef_u128 *seals, uint64_t *n_parts, uint64_t *n_pieces,
                                 efface_error *error) {
    ef_record record;
    efface_model *model = NULL;
    efface_data *some = NULL;
    efface_status status = c->store->parts->read_model(c->store, name, true, &record, error);
    if (status != EFFACE_OK)
        return status;
    *seals += record.seal;
    *n_parts += record.state.n_parts;
    uint64_t of_index = 0;
    status = ef_record_check_index(c->store, &record, &of_index, error);
    *n_pieces += of_index;
    if (status == EFFACE_OK && record.columns != NULL)
        status = ef_rows_copy(all, record.columns, record.n_columns, &some, error);
    const efface_data *const data = some != NULL ? some : all;
    EF_THEN(status, ef_record_hot(&record, data, &model, error));
    if (status == EFFACE_OK) {
        ef_writer counts = {0};
        ef_counts_write(&counts, ef_data_whole(data));
        if (counts.failed)
            status = ef_fail_memory(error);
        else if (counts.n_bytes != record.n_counts ||
                 memcmp(counts.bytes, record.counts, counts.n_bytes) != 0)
            say_problem(c, "model %s: the counts that it keeps do not match the rows", name);
        ef_free(counts.bytes);
    }
    efface_model_free(model);
    efface_data_free(some);
    ef_record_free(&record);
    return status;
}

/* What all models are together. */
typedef struct model_sums {
    const checker *c;
    uint32_t n;
    ef_u128 seals;
    uint64_t n_parts;  /* of states, with those that stand in the rows of models */
    uint64_t n_pieces; /* of their indexes */
} model_sums;

static efface_status check_sums(efface_store *store, void *sums, efface_error *error) {
    const model_sums *const m = sums;
    int64_t n_found = 0;
    efface_error problem;
    efface_status status =
        told(m->c, ef_models_verify(store, m->n, m->seals, &problem), &problem, error);
    EF_THEN(status,
            told(m->c, ef_sql_number(store, "SELECT count(*) FROM states", &n_found, &problem),
                 &problem, error));
    if (status == EFFACE_OK && (uint64_t)n_found + m->n != m->n_parts)
        say_problem(m->c, "the number of parts of states in the store is wrong");
    EF_THEN(status,
            told(m->c, ef_sql_number(store, "SELECT count(*) FROM sections", &n_found, &problem),
                 &problem, error));
    if (status == EFFACE_OK && (uint64_t)n_found != m->n_pieces)
        say_problem(m->c, "the number of pieces of indexes of states in the store is wrong");
    return status;
}

static efface_status check_models(const checker *c, const efface_data *all, efface_error *error) {
    char(*names)[EFFACE_MODEL_NAME_BYTES] = NULL;
    model_sums sums = {.c = c};
    bool all_read = true;
    efface_error problem;
    efface_status status = told(
        c, agreed(c, c->store->parts->list_models(c->store, &names, &sums.n, &problem), &problem),
        &problem, error);
    for (uint32_t i = 0; status == EFFACE_OK && i < sums.n; i++) {
        efface_error about;
        const efface_status checked = agreed(
            c, check_model(c, names[i], all, &sums.seals, &sums.n_parts, &sums.n_pieces, &about),
            &about);
        (void)snprintf(problem.message, sizeof problem.message, "model %s: %.400s", names[i],
                       checked != EFFACE_OK ? about.message : "");
        status = told(c, checked, checked == EFFACE_E_CORRUPT ? &problem : &about, error);
        all_read &= checked == EFFACE_OK;
        EF_THEN(status, ef_store_progress(c->store, EFFACE_PHASE_CHECKING, i + 1, sums.n, error));
    }
    all_read &= names != NULL || sums.n == 0;
    ef_free(names);
    if (status != EFFACE_OK || !all_read) /* said already */
        return status;
    return c->store->parts->lead(c->store, check_sums, &sums, NULL, 0, error);
}

/* The groups, against the rows that they are made of. */
typedef struct group_sums {
    uint64_t n_rows[EF_MEMBER_KINDS];
    ef_u128 members[EF_MEMBER_KINDS];
} group_sums;

static efface_status add_member_set(void *context, const ef_member_set *group,
                                    efface_error *error) {
    (void)error;
    group_sums *const sums = context;
    sums->n_rows[group->kind] += group->n_rows;
    sums->members[group->kind] += group->members;
    return EFFACE_OK;
}

static efface_status check_member_sets(const checker *c, const efface_data *all,
                                       efface_error *error) {
    const ef_head *const head = &c->store->head;
    group_sums kept = {{0}, {0}}, found = {{0}, {0}};
    const efface_status status = ef_member_sets_each(c->store, add_member_set, &kept, error);
    if (status != EFFACE_OK)
        return status;
    for (size_t i = 0; i < all->n_rows; i++) {
        const efface_row row = efface_data_row(all, i);
        if (row.owner != EFFACE_NO_OWNER) {
            found.n_rows[EF_MEMBER_OWNER]++;
            found.members[EF_MEMBER_OWNER] +=
                ef_seal_member(head, EF_MEMBER_OWNER, row.owner, row.id);
        }
        if (row.label != EFFACE_NO_LABEL) {
            found.n_rows[EF_MEMBER_LABEL]++;
            found.members[EF_MEMBER_LABEL] +=
                ef_seal_member(head, EF_MEMBER_LABEL, (uint64_t)row.label, row.id);
        }
    }
    const bool ok = memcmp(kept.n_rows, found.n_rows, sizeof kept.n_rows) == 0 &&
                    memcmp(kept.members, found.members, sizeof kept.members) == 0 &&
                    all->n_rows - found.n_rows[EF_MEMBER_OWNER] == head->n_unowned &&
                    all->total_weight == head->total_weight;
    return ok ? EFFACE_OK
              : ef_store_corrupt(error, "owners, labels or weights do not match the rows");
}

/* The last commitment to a model, opened with the salt and the digest that its record has. A model
 * that came with the store, and has not changed since, is named by no receipt. */
static efface_status check_commitments(const checker *c, const ef_state_list *states,
                                       efface_error *error) {
    char(*names)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0;
    size_t n_named = 0, n_there = 0;
    efface_status status = ef_models_list(c->store, &names, &n, error);
    for (uint32_t i = 0; status == EFFACE_OK && i < n; i++) {
        const ef_named_state *const state = ef_states_find(states, names[i]);
        unsigned char commitment[EFFACE_DIGEST_BYTES];
        ef_record record;
        status = ef_record_read(c->store, names[i], false, &record, error);
        if (status != EFFACE_OK || state == NULL) {
            if (status == EFFACE_OK)
                ef_record_free(&record);
            continue;
        }
        n_named++;
        ef_record_commit(&record, commitment);
        ef_record_free(&record);
        if (!state->is_there || memcmp(commitment, state->after, sizeof commitment) != 0)
            say_problem(c, "model %s: its state is not that of its last receipt", names[i]);
    }
    for (size_t i = 0; i < states->n; i++)
        n_there += states->states[i].state.is_there;
    if (status == EFFACE_OK && n_named < n_there)
        say_problem(c, "a model that receipts name is not in the store");
    ef_free(names);
    return status;
}

static efface_status check_receipts(const checker *c, efface_error *error) {
    efface_error problem;
    ef_state_list states = {NULL, 0, 0};
    const efface_status checked = ef_receipts_check(c->store, &states, &problem);
    efface_status status = told(c, checked, &problem, error);
    if (checked == EFFACE_OK) {
        status = check_commitments(c, &states, &problem);
        /* A record that cannot be read is said with the models. */
        status = status == EFFACE_E_CORRUPT || status == EFFACE_E_FORMAT
                     ? EFFACE_OK
                     : told(c, status, &problem, error);
    }
    ef_states_free(&states);
    return status;
}

static efface_status check_store(const checker *c, efface_error *error) {
    efface_error problem;
    efface_data *all = NULL;
    if (c->store->foreign[0] != '\0')
        say_problem(c, "the file: %s", c->store->foreign);
    efface_status status = told(c, check_file(c, &problem), &problem, error);
    EF_THEN(status, check_file_length(c, error));
    EF_THEN(status, told(c, check_counts(c, &problem), &problem, error));
    EF_THEN(status,
            told(c, ef_rows_load(c->store, NULL, 0, &all, NULL, &problem), &problem, error));
    if (status == EFFACE_OK && all != NULL)
        status = told(c, check_member_sets(c, all, &problem), &problem, error);
    EF_THEN(status, check_receipts(c, error));
    bool all_loaded = all != NULL;
    EF_THEN(status, c->store->parts->all(c->store, &all_loaded, error));
    if (status == EFFACE_OK && all_loaded)
        status = c->store->parts->join(c->store, all, false, error);
    if (status == EFFACE_OK && all_loaded)
        status = check_models(c, all, error);
    efface_data_free(all);
    return status;
}

efface_status efface_store_check(efface_store *store,
                                 void (*found)(void *context, const char *problem), void *context,
                                 efface_error *error) {
    if (store == NULL || found == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and found must not be NULL");
    const checker c = {store, found, context};
    efface_status status = store->parts->allows(store, EF_DEED_ALL_ROWS, error);
    EF_THEN(status, ef_store_begin(store, false, error));
    if (status != EFFACE_OK)
        return status;
    status = store->parts->agree(store, check_store(&c, error), false, error);
    /* The transaction has only read. A commit would fail if the file is damaged, so roll back. */
    (void)ef_store_end(store, EFFACE_E_CORRUPT, NULL);
    return status;
}
