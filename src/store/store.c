/*
 * The store: one SQLite file with rows, models and receipts.
 *
 * Invariants; tests cite them by number.
 *
 *  1. A request is one transaction over rows, models and its receipt. When the call returns OK, the
 *     transaction is on the disk (synchronous = FULL). When it returns anything else, or the
 *     process or the machine dies before, the file is as it was before the request; but for a disk
 *     that fails again and again from the last sync on: then the message says that it was done.
 *     Several requests may share a transaction (requests.c): then this holds for all of them
 *     together, and a request among them that fails leaves no trace in the file.
 *  2. After an acknowledged request the journal is empty (journal_mode = TRUNCATE), and the bytes
 *     of rows that were forgotten are in no file: freed cells and pages are overwritten with zeros
 *     (secure_delete), and so is what lies between cells (page_slack.c); no tree keeps the key of a
 *     row that left (rows have no rowid: a tree of rowids does); temporary data stays in memory
 *     (temp_store); nothing stands behind the last page (file_length.c). Where SQLite cannot do one of these the store is not opened to write.
 *  3. Each model's state is that of a fit to the rows that are there, with its parameters, seed and
 *     columns; `digest` is the digest of that state.
 *  4. Each model's `counts` are those of the rows that are there.
 *  5. Receipts are numbered from 1 without gaps. They are only appended. The head has their number
 *     and the digest of the last.
 *  6. The seed of a model, the key that ids in receipts are hashed with unless it is kept outside,
 *     and the key of texts are in the file, and leave it only through functions that say so.
 *  7. The head (head.h) is what its seal says. Each bucket has the number of its rows and the sum
 *     of their seals (seals.c), each owner and label those of its members, each bucket of owners or
 *     labels those of its groups, the head those of all rows, groups and models. A request verifies
 *     every bucket, group and model it reads before it changes or acknowledges anything.
 *  8. The file has the tables and indexes of schema.c and nothing else, or is not written to.
 *
 * A store in parts (parts.h) has them for all its files together: 1 is then a transaction
 * of each part, which one of them decides, and 3 and 4 are about the rows of all parts.
 *
 * Tables:
 *
 *     facts          name, value                    "head" and "seal" (head.c); "signature";
 *                                                   "offsets"; "journal ..." (cluster/journal.c);
 *                                                   "unnamed ..." (requests/publication.c)
 *     columns        number, name                   if any column has a name
 *     rows           bucket, id, owner, weight,     owner and class may be absent; text: of the id,
 *                    class, text, vals              if kept; vals: float32, little-endian
 *     buckets        number, n_rows, sum            of rows
 *     groups         bucket, number, n_rows,        owners and labels; text: of the owner, if kept,
 *                    members, text                  or of the label
 *     group_buckets  number, n_groups, sum          owners first, then labels
 *     models         number, name, family,          parts: how many its state has, and which
 *                    params, columns, counts,       state: the first part
 *                    digest, parts, seal, state
 *     states         number, bytes                  the other parts (state_parts.c)
 *     sections       number, bytes                  indexes of states (state_index.c)
 *     receipts       number, body                   a line of JSON
 *
 * Ids and owners are unsigned in the library and signed in SQLite: the same 64 bits.
 */
#define _POSIX_C_SOURCE 200809L
#include "store/store.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/file_length.h"
#include "store/file/transactions.h"
#include "store/models/residents.h"
#include "store/parts.h"
#include "store/rows/store_columns.h"
#include "store/sql/schema.h"
#include "store/sql/sql.h"
#include "store/sql/wiping_memory.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define APPLICATION_ID 1162233409 /* "EFFA" */
#define OPTIONS_VERSION 1
#define MAX_WAIT_SECONDS 1e6

void efface_store_options_init(efface_store_options *options) {
    *options = (efface_store_options){.version = OPTIONS_VERSION, .wait_seconds = 5.0};
}

efface_status ef_store_options_check(const efface_store_options *options, efface_error *error) {
    if (options->version != OPTIONS_VERSION)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the options of the store have the unknown version %u; fill them with "
                       "efface_store_options_init",
                       (unsigned)options->version);
    if (options->group != NULL && options->resident != 0)
        return ef_fail(
            error, EFFACE_E_ARGUMENT,
            "the rows of a store in parts cannot stay in memory between requests; do not "
            "ask for resident");
    return options->wait_seconds >= 0.0 && options->wait_seconds <= MAX_WAIT_SECONDS
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_ARGUMENT, "the wait for a store must be 0 to %g seconds",
                         MAX_WAIT_SECONDS);
}

/* ---------------------------------------------------------------- open and close */

void efface_store_close(efface_store *store) {
    if (store == NULL)
        return;
    /* In a child that was forked SQLite must not touch the file: its parent may be writing. */
    if (store->process == (int64_t)getpid())
        (void)sqlite3_close(store->db);
    ef_residents_drop(store);
    ef_free(store->residents);
    ef_free(store->openings.list);
    store->parts->close(store);
    ef_store_free_columns(store);
    ef_free(store->path);
    sodium_memzero(store, sizeof *store);
    ef_free(store);
}

/* The path as SQLite has to see it: to SQLite "" and ":memory:" are no files, and "file:" may begin
 * an address. In a folder they are names like others. NULL if out of memory. */
static char *name_of_file(const char *path) {
    const char *const folder = path[0] == '/' ? "" : "./";
    const size_t n_folder = strlen(folder), n = strlen(path) + 1;
    char *const name = ef_alloc(n_folder + n, 1);
    if (name != NULL) {
        memcpy(name, folder, n_folder);
        memcpy(name + n_folder, path, n);
    }
    return name;
}

/* Whether a pragma was taken: SQLite may be built without it, or be told otherwise. */
static efface_status require_pragma(efface_store *store, const char *pragma, const char *wanted,
                                    const char *what, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false, ok = false;
    efface_status status = ef_sql_prepare(store, pragma, &statement, error);
    EF_THEN(status, ef_sql_step(store, statement, &row, error));
    if (status == EFFACE_OK && row) {
        const char *answer = NULL;
        status = ef_sql_text(store, statement, 0, &answer, error);
        ok = answer != NULL && strcmp(answer, wanted) == 0;
    }
    (void)sqlite3_finalize(statement);
    if (status == EFFACE_OK && !ok)
        status = ef_fail(error, EFFACE_E_IO,
                         "the store cannot be opened to write: SQLite does not %s; use another "
                         "SQLite library or another disk",
                         what);
    return status;
}

/* What invariants 1 and 2 need. */
static efface_status prepare_to_write(efface_store *store, efface_error *error) {
    efface_status status = require_pragma(store, "PRAGMA journal_mode = TRUNCATE", "truncate",
                                          "empty its journal after each request", error);
    EF_THEN(status, ef_sql_run(store, "PRAGMA synchronous = FULL;", error));
    EF_THEN(status, require_pragma(store, "PRAGMA synchronous", "2", "wait for the disk", error));
    EF_THEN(status, require_pragma(store, "PRAGMA secure_delete = ON", "1",
                                   "overwrite what is deleted (secure_delete)", error));
    EF_THEN(status, require_pragma(store, "PRAGMA temp_store", "2", "keep temporary data in memory",
                                   error));
    /* Of a new file; one that is there keeps its mode. Pages that map others would be taken for
     * pages of trees (page_slack.c). */
    EF_THEN(status, ef_sql_run(store, "PRAGMA auto_vacuum = NONE", error));
    EF_THEN(status, require_pragma(store, "PRAGMA auto_vacuum", "0",
                                   "leave pages where they are (auto_vacuum)", error));
    return status;
}

static void set_up(efface_store *store, const efface_store_options *options) {
    store->process = (int64_t)getpid();
    store->wait_seconds = options->wait_seconds;
    store->progress = options->progress;
    store->progress_context = options->progress_context;
    store->openings = (ef_openings){.opened = options->opened, .context = options->opened_context};
    if (options->secret_key != NULL) {
        memcpy(store->secret_key, options->secret_key, sizeof store->secret_key);
        store->signs = true;
    }
    if (options->receipt_key != NULL) {
        memcpy(store->receipt_key, options->receipt_key, sizeof store->receipt_key);
        store->has_receipt_key = true;
    }
}

/* Triggers never run, views are never used, and what the file says is not trusted. */
static efface_status harden(efface_store *store, efface_error *error) {
    int triggers = 1, views = 1, defensive = 0;
    if (sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, &triggers) != SQLITE_OK ||
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, &views) != SQLITE_OK ||
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, &defensive) != SQLITE_OK ||
        triggers != 0 || views != 0 || defensive != 1)
        return ef_fail(error, EFFACE_E_IO,
                       "the store cannot be opened: SQLite would run triggers of the file; use a "
                       "newer SQLite library");
    return ef_sql_run(store,
                      "PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;"
                      "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                      "PRAGMA max_page_count = " EF_STORE_MAX_PAGES ";",
                      error);
}

/* Opens the file `name` and sets what the invariants need. On failure there is no connection. */
static efface_status connect_file(efface_store *store, const char *name, efface_error *error) {
    /* A reader may have to roll back what a process that died left behind, so it may write too. A
     * handle is used by one thread at a time, so SQLite need not lock for each value of a row. */
    const int code =
        sqlite3_open_v2(name, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    efface_status status = EFFACE_OK;
    if (code == SQLITE_CANTOPEN) {
        status = ef_fail(error, EFFACE_E_IO, "%s: %s", name, sqlite3_errmsg(store->db));
        ef_note_system(error, sqlite3_system_errno(store->db));
    } else if (code != SQLITE_OK)
        status = store->db != NULL ? ef_sql_fail(store, error) : ef_fail_memory(error);
    if (status == EFFACE_OK && !ef_clean_writes(store->db, &store->clean))
        status = ef_fail(
            error, EFFACE_E_IO,
            "%s cannot be opened: SQLite does not let efface clean the pages it writes", name);
    if (status == EFFACE_OK) {
        (void)sqlite3_busy_timeout(store->db, (int)(store->wait_seconds * 1000.0));
        status = harden(store, error);
    }
    if (status == EFFACE_OK)
        status = store->writes ? prepare_to_write(store, error)
                               : ef_sql_run(store, "PRAGMA query_only = ON;", error);
    if (status != EFFACE_OK)
        ef_store_disconnect(store);
    return status;
}

void ef_store_disconnect(efface_store *store) {
    (void)sqlite3_close(store->db);
    store->db = NULL;
}

efface_status ef_store_connect(efface_store *store, efface_error *error) {
    return store->db == NULL ? connect_file(store, store->path, error) : EFFACE_OK;
}

/* The full path of the file: the process may change its folder. */
static bool keep_path(efface_store *store) {
    const char *const full = sqlite3_db_filename(store->db, "main");
    const size_t n_bytes = full != NULL ? strlen(full) + 1 : 0;
    store->path = n_bytes > 1 ? ef_alloc(n_bytes, 1) : NULL;
    if (store->path != NULL)
        memcpy(store->path, full, n_bytes);
    return store->path != NULL;
}

efface_status ef_store_open_file(const char *path, bool writes, const efface_store_options *options,
                                 efface_store **out, efface_error *error) {
    efface_store *const store = ef_alloc_zero(1, sizeof *store);
    char *const name = name_of_file(path);
    if (store == NULL || name == NULL || sodium_init() < 0) {
        ef_free(store);
        ef_free(name);
        return ef_fail_memory(error);
    }
    store->writes = writes;
    store->schema_version = -1;
    store->parts = &ef_parts_alone;
    set_up(store, options);
    (void)ef_sql_wipe_memory();
    efface_status status = connect_file(store, name, error);
    ef_free(name);
    if (status == EFFACE_OK && !keep_path(store))
        status = ef_fail_memory(error);
    if (status == EFFACE_OK && writes && options->resident != 0) {
        store->head_was_read = ef_residents_check;
        store->residents = ef_alloc_zero(1, sizeof *store->residents);
        if (store->residents == NULL)
            status = ef_fail_memory(error);
    }
    if (status != EFFACE_OK) {
        efface_store_close(store);
        return status;
    }
    *out = store;
    return EFFACE_OK;
}

/* The receipt key that is needed to write, from the store or from the caller. */
static efface_status find_receipt_key(efface_store *store, efface_error *error) {
    unsigned char digest[EFFACE_DIGEST_BYTES];
    if (!store->head.key_outside) {
        if (store->has_receipt_key)
            return ef_fail(error, EFFACE_E_ARGUMENT,
                           "the store keeps its receipt key itself; do not give a receipt key");
        memcpy(store->receipt_key, store->head.receipt_key, sizeof store->receipt_key);
        store->has_receipt_key = true;
        return EFFACE_OK;
    }
    if (!store->has_receipt_key)
        return store->writes ? ef_fail(error, EFFACE_E_ARGUMENT,
                                       "the store does not keep its receipt key; give the key "
                                       "(--receipt-key FILE, or in the options)")
                             : EFFACE_OK;
    ef_receipt_key_digest(store->receipt_key, digest);
    return memcmp(digest, store->head.receipt_key_digest, sizeof digest) == 0
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_ARGUMENT,
                         "the receipt key belongs to another store; give the key of this one");
}

static efface_status check_format(efface_store *store, efface_error *error) {
    int64_t id = 0, version = 0;
    efface_status status = ef_sql_number(store, "PRAGMA application_id", &id, error);
    EF_THEN(status, ef_sql_number(store, "PRAGMA user_version", &version, error));
    if (status == EFFACE_OK && id != APPLICATION_ID)
        status = ef_fail(error, EFFACE_E_FORMAT, "the file is not a store of efface");
    if (status == EFFACE_OK && version < EF_STORE_VERSION)
        status = ef_fail(error, EFFACE_E_FORMAT,
                         "the store has format %lld, but this program reads formats %d and %d; "
                         "make the store again from its data: efface fit",
                         (long long)version, EF_STORE_VERSION, EF_PART_VERSION);
    if (status == EFFACE_OK && version > EF_PART_VERSION)
        status = ef_fail(error, EFFACE_E_FORMAT,
                         "the store has format %lld, but this program reads formats %d and %d; "
                         "use a newer program",
                         (long long)version, EF_STORE_VERSION, EF_PART_VERSION);
    store->format = (uint32_t)version;
    return status;
}

/* Within a transaction: what a store is, and whether it is whole enough to go on. */
static efface_status read_all(efface_store *store, efface_error *error) {
    efface_status status = check_format(store, error);
    EF_THEN(status, ef_schema_check(store, error));
    EF_THEN(status, ef_head_read(store, error));
    if (status == EFFACE_OK && (store->format == EF_PART_VERSION) != (store->head.n_parts != 0))
        status = ef_store_corrupt(error, "its head does not match its version");
    EF_THEN(status, find_receipt_key(store, error));
    EF_THEN(status, ef_store_read_columns(store, error));
    EF_THEN(status, ef_store_read_rules(store, error));
    return status;
}

/* Every transaction that writes begins so; a caller that keeps the file locked has done it. */
static efface_status cut_off_excess(efface_store *store, efface_error *error) {
    const efface_status status = ef_store_begin_bare(store, true, error);
    if (status == EFFACE_OK)
        (void)ef_file_end(store, EFFACE_E_BUSY, NULL); /* nothing is to be committed */
    return status != EFFACE_E_BUSY ? status : EFFACE_OK;
}

static efface_status open_store(efface_store *store, efface_error *error) {
    uint64_t n_excess = 0;
    efface_status status = ef_store_begin_bare(store, false, error);
    if (status != EFFACE_OK)
        return status;
    status = read_all(store, error);
    EF_THEN(status, ef_file_excess(store, &n_excess, error));
    status = ef_store_end(store, status, error);
    return status == EFFACE_OK && store->writes && n_excess != 0 ? cut_off_excess(store, error)
                                                                 : status;
}

efface_status ef_store_open_alone(const char *path, const efface_store_options *options,
                                  efface_store **out, efface_error *error) {
    efface_store *store = NULL;
    efface_status status =
        ef_store_open_file(path, options->access == EFFACE_ACCESS_WRITE, options, &store, error);
    if (status != EFFACE_OK)
        return ef_parts_are_in(path)
                   ? ef_fail(error, EFFACE_E_ARGUMENT,
                             "%s is a store in parts; use efface-mpi, or give a group", path)
                   : status;
    status = open_store(store, error);
    if (status != EFFACE_OK)
        efface_store_close(store);
    else
        *out = store;
    return status;
}

efface_status efface_store_open(const char *path, const efface_store_options *options,
                                efface_store **out, efface_error *error) {
    if (path == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "path and out must not be NULL");
    efface_store_options defaults;
    efface_store_options_init(&defaults);
    if (options == NULL)
        options = &defaults;
    const efface_status status = ef_store_options_check(options, error);
    if (status != EFFACE_OK)
        return status;
    return options->group != NULL ? ef_parts_open(path, options, out, error)
                                  : ef_store_open_alone(path, options, out, error);
}

int efface_store_exists(const char *path, const efface_group *group) {
    if (path == NULL)
        return 0;
    return group != NULL ? ef_parts_are_in(path) : access(path, F_OK) == 0;
}

/* ---------------------------------------------------------------- what is in it */

/* Whether the labels of rows are texts: what the first of them is. No flag in the head says it,
 * because it would stay when the rows with labels leave. */
static efface_status find_label_kind(efface_store *store, efface_ids *kind, efface_error *error) {
    int64_t found = 0;
    char sql[160];
    snprintf(sql, sizeof sql,
             "SELECT coalesce((SELECT CASE WHEN text IS NULL THEN %d ELSE %d END FROM groups"
             " WHERE bucket >= %" PRIu64 " LIMIT 1), %d)",
             EFFACE_IDS_NUMBERS, EFFACE_IDS_TEXT, (uint64_t)store->head.group_slots,
             EFFACE_IDS_DETECT);
    const efface_status status = ef_sql_number(store, sql, &found, error);
    *kind = (efface_ids)found;
    return status;
}

efface_status efface_store_get_info(efface_store *store, efface_store_info *info,
                                    efface_error *error) {
    if (store == NULL || info == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and info must not be NULL");
    int64_t n_pages = 0, n_free = 0, page_bytes = 0;
    efface_ids labels = EFFACE_IDS_DETECT;
    efface_status status = ef_store_begin(store, false, error);
    if (status != EFFACE_OK)
        return status;
    const ef_head head = store->head;
    status = find_label_kind(store, &labels, error);
    EF_THEN(status, ef_sql_number(store, "PRAGMA page_count", &n_pages, error));
    EF_THEN(status, ef_sql_number(store, "PRAGMA freelist_count", &n_free, error));
    EF_THEN(status, ef_sql_number(store, "PRAGMA page_size", &page_bytes, error));
    efface_store_info found = {0};
    if (status == EFFACE_OK)
        found = (efface_store_info){
            .format = store->format,
            .n_parts = head.n_parts,
            .part = head.part,
            .n_part_rows = head.n_parts != 0 ? head.n_rows : 0,
            .n_rows = head.n_rows,
            .n_columns = head.n_columns,
            .n_models = (uint32_t)head.n_models,
            .n_owners = head.n_groups[EF_MEMBER_OWNER],
            .n_unowned_rows = head.n_unowned,
            .n_labels = head.n_groups[EF_MEMBER_LABEL],
            .n_receipts = head.n_receipts,
            .keeps_texts = head.keeps_texts,
            .ids = head.id_kind,
            .owners = head.owner_kind,
            .labels = labels,
            .receipt_key_outside = head.key_outside,
            .file_bytes = (uint64_t)(n_pages * page_bytes),
            .free_bytes = (uint64_t)(n_free * page_bytes),
        };
    if (head.n_parts != 0)
        memcpy(found.parts_id, head.cluster_id, sizeof found.parts_id);
    EF_THEN(status, store->parts->info(store, &found, error));
    status = ef_store_end(store, status, error);
    if (status == EFFACE_OK)
        *info = found;
    return status;
}

uint64_t efface_store_text_id(const efface_store *store, const char *text, size_t n_bytes) {
    return efface_text_id(text, n_bytes, store->head.hash_key);
}

void efface_store_load_options(const efface_store *store, efface_load_options *options) {
    efface_load_options_init(options);
    memcpy(options->hash_key, store->head.hash_key, sizeof options->hash_key);
    options->ids = store->head.id_kind;
    options->owners = store->head.owner_kind;
    options->offsets = store->places;
    options->n_offsets = store->n_places;
    options->types = store->typed;
    options->n_types = store->n_typed;
    options->missing = store->takes_missing;
    options->complete = store->complete;
    options->n_complete = store->n_complete;
    options->categories = store->categories;
    options->n_categories = store->n_categories;
}

void efface_text_free(char *text) {
    ef_free(text);
}

/* ---------------------------------------------------------------- upkeep */

efface_status efface_store_compact(efface_store *store, efface_error *error) {
    efface_status status = ef_store_may_write(store, error);
    /* The head is read to see that this is a store that may be rewritten. */
    EF_THEN(status, ef_store_begin(store, true, error));
    EF_THEN(status, ef_store_end(store, EFFACE_OK, error));
    EF_THEN(status, ef_store_connect(store, error));
    if (status == EFFACE_OK) {
        status = ef_sql_run(store, "VACUUM", error);
        /* SQLite has cut the file, but not waited for the disk (file_length.c). */
        EF_THEN(status, ef_file_sync(store, error));
        ef_store_disconnect(store);
    }
    return store != NULL ? store->parts->agree(store, status, false, error) : status;
}
