/*
 * Transactions: their beginning, their end, and failures of the disk.
 *
 * ef_store_begin and ef_store_end are what the rest of the store calls; a store in parts does more
 * there (parts.h). ef_file_begin and ef_file_end do it for one file.
 */
#define _POSIX_C_SOURCE 200809L
#include "store/file/transactions.h"

#include "base/errors/status.h"
#include "store/file/file_length.h"
#include "store/parts.h"
#include "store/sql/schema.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <string.h>
#include <unistd.h>

/* Locks belong to a process. In a forked child, SQLite would think that it has the locks of its
 * parent, and might roll back what the parent is writing. */
efface_status ef_store_check_process(const efface_store *store, efface_error *error) {
    return store->process == (int64_t)getpid()
               ? EFFACE_OK
               : ef_fail(
                     error, EFFACE_E_ARGUMENT,
                     "the store was opened by the parent process, before a fork; open it again");
}

efface_status ef_store_may_write(const efface_store *store, efface_error *error) {
    if (store == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store must not be NULL");
    return store->writes ? ef_store_check_process(store, error)
                         : ef_fail(error, EFFACE_E_ARGUMENT,
                                   "the store was opened for reading only; open it for writing");
}

const char *efface_phase_name(efface_phase phase) {
    static const char *const names[] = {
        [EFFACE_PHASE_READING] = "reading rows",     [EFFACE_PHASE_WRITING] = "writing rows",
        [EFFACE_PHASE_FITTING] = "fitting",          [EFFACE_PHASE_CHANGING] = "changing models",
        [EFFACE_PHASE_CHECKING] = "checking models",
    };
    const size_t n = sizeof names / sizeof names[0];
    return phase >= EFFACE_PHASE_READING && (size_t)phase < n ? names[phase] : "";
}

efface_status ef_store_progress(const efface_store *store, efface_phase phase, uint64_t done,
                                uint64_t of, efface_error *error) {
    if (store->progress == NULL)
        return EFFACE_OK;
    const double part = of != 0 ? (double)done / (double)of : -1.0;
    return store->progress(store->progress_context, phase, part) == 0
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_INTERRUPTED, "interrupted; nothing was changed");
}

static void tell_caller(void *context, double part) {
    ef_telling *const t = context;
    if (t->store->progress(t->store->progress_context, t->phase, part) != 0)
        t->interrupted = true;
}

static int caller_interrupts(void *context) {
    return ((ef_telling *)context)->interrupted;
}

void ef_store_tell(const efface_store *store, efface_phase phase, efface_params *params,
                   ef_telling *telling) {
    *telling = (ef_telling){store, phase, false};
    if (store->progress == NULL)
        return;
    params->progress = tell_caller;
    params->interrupted = caller_interrupts;
    params->interrupt_context = telling;
}

/* Rolls back, unless an error has done so already: SQLite ends some transactions by itself. */
static void take_back(efface_store *store) {
    if (sqlite3_get_autocommit(store->db) == 0)
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

/* Takes the transaction back and, if it wrote, lets the connection go: rows that it touched may be
 * in memory that SQLite keeps. */
static void leave_transaction(efface_store *store) {
    take_back(store);
    store->head_changed = false;
    if (store->in_write)
        ef_store_disconnect(store);
    store->in_write = false;
}

/* Cuts off what an interrupted compact left behind the last page. SQLite has looked at the length of
 * the file already, so the transaction begins again. */
static efface_status cut_file(efface_store *store, efface_error *error) {
    bool was_cut = false;
    efface_status status = ef_file_cut(store, &was_cut, error);
    if (status == EFFACE_OK && was_cut) {
        take_back(store);
        status = ef_sql_run(store, "BEGIN IMMEDIATE", error);
    }
    return status;
}

efface_status ef_store_begin_bare(efface_store *store, bool writes, efface_error *error) {
    efface_status status = ef_store_check_process(store, error);
    EF_THEN(status, ef_store_connect(store, error));
    EF_THEN(status, ef_sql_run(store, writes ? "BEGIN IMMEDIATE" : "BEGIN", error));
    if (status != EFFACE_OK || !writes)
        return status;
    /* From here on leave_transaction has to close the connection. */
    store->in_write = true;
    status = cut_file(store, error);
    if (status != EFFACE_OK)
        leave_transaction(store);
    return status;
}

/* Reads the file's own count of its changes: bytes 24 to 27 of its header, which SQLite advances
 * with every commit. */
static bool read_change_counter(efface_store *store, unsigned char counter[4]) {
    sqlite3_file *const file = ef_sql_file(store);
    return file != NULL && file->pMethods->xRead(file, counter, 4, 24) == SQLITE_OK;
}

efface_status efface_store_count_changes(efface_store *store, uint64_t *count,
                                         efface_error *error) {
    if (store == NULL || count == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and count must not be NULL");
    efface_status status = ef_store_check_process(store, error);
    EF_THEN(status, ef_store_connect(store, error));
    if (status != EFFACE_OK)
        return status;
    unsigned char counter[4] = {0};
    int moved = 0;
    /* SQLite knows whether the path leads to another file now. To look ourselves we would have to
     * open and close it, which would drop the locks of this process. */
    (void)sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved != 0)
        return ef_fail(error, EFFACE_E_CORRUPT,
                       "the file of the store is no longer there, or another one has replaced "
                       "it since it was opened; open it again");
    if (!read_change_counter(store, counter))
        return ef_fail(error, EFFACE_E_IO, "the store cannot be read");
    *count = (uint64_t)counter[0] << 24 | (uint64_t)counter[1] << 16 | (uint64_t)counter[2] << 8 |
             counter[3];
    return EFFACE_OK;
}

/* Whether the count has changed for a process that opens the file now. The read in a transaction of
 * its own makes SQLite roll a leftover journal back first, as it would for that process. */
static bool has_changed(efface_store *store, const unsigned char before[4]) {
    unsigned char after[4];
    const bool changed = ef_sql_run(store, "BEGIN; SELECT 1 FROM facts", NULL) == EFFACE_OK &&
                         read_change_counter(store, after) && memcmp(before, after, 4) != 0;
    take_back(store);
    return changed;
}

efface_status ef_file_begin(efface_store *store, bool writes, efface_error *error) {
    efface_status status = ef_store_begin_bare(store, writes, error);
    if (status != EFFACE_OK)
        return status;
    const ef_head before = store->head;
    /* Another process may have added tables or triggers since the store was opened: invariant 8. */
    if (writes)
        status = ef_schema_check(store, error);
    /* The head says what every later check compares with, so it is read in this transaction. */
    EF_THEN(status, ef_head_read(store, error));
    /* Each file draws its key when it is made: another key is another file under this name. */
    if (status == EFFACE_OK &&
        memcmp(before.row_key, store->head.row_key, sizeof before.row_key) != 0)
        status = ef_fail(error, EFFACE_E_CORRUPT,
                         "another store has replaced the file since it was opened; open it again");
    if (status != EFFACE_OK)
        leave_transaction(store);
    /* What is kept in memory (residents.h) belongs to one head, and is dropped if this is
     * another. */
    else if (store->head_was_read != NULL)
        store->head_was_read(store);
    return status;
}

/* Other readers delay a commit; other writers do not. */
static efface_status fail_commit(efface_store *store, efface_error *error) {
    if (sqlite3_errcode(store->db) != SQLITE_BUSY)
        return ef_sql_fail(store, error);
    return ef_fail(error, EFFACE_E_BUSY,
                   "the store is busy: another process is reading it; efface waited %g seconds; "
                   "nothing was changed; try again, or wait longer",
                   store->wait_seconds);
}

/* Commits. A transaction is done when the journal is empty. If emptying it could not be synced,
 * SQLite reports an error although the file has changed. Then a second commit, which writes the
 * same again, makes it certain. */
static efface_status commit_transaction(efface_store *store, efface_error *error) {
    unsigned char before[4];
    /* To tell later whether a commit that failed has changed the file all the same. A transaction
     * that wrote nothing changes nothing. */
    const bool counts = sqlite3_txn_state(store->db, "main") == SQLITE_TXN_WRITE &&
                        read_change_counter(store, before);
    efface_status status = sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK
                               ? EFFACE_OK
                               : fail_commit(store, error);
    /* Pages in memory have slack that the pages in the file do not have (page_slack.c), and would
     * take it into the journal of the next transaction. */
    (void)sqlite3_db_release_memory(store->db);
    if (status == EFFACE_OK)
        return EFFACE_OK;
    take_back(store);
    /* The usual failure: nothing was changed, and the error says so. */
    if (!counts || !has_changed(store, before))
        return status;
    /* The request was done, but a power loss could undo it. Commit something harmless, the version
     * that the file has: if that can be synced, so is everything before it. */
    status = ef_sql_run(store,
                        store->head.n_parts != 0 ? "BEGIN IMMEDIATE;" EF_PART_SET_VERSION "COMMIT"
                                                 : "BEGIN IMMEDIATE;" EF_STORE_SET_VERSION "COMMIT",
                        NULL);
    take_back(store);
    store->in_doubt = status != EFFACE_OK;
    return status == EFFACE_OK
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_IO,
                         "the request was done, but the disk reported an error: a power loss could "
                         "undo the request; check the disk, then the store");
}

efface_status ef_file_prepare(efface_store *store, efface_error *error) {
    return store->head_changed ? ef_head_write(store, error) : EFFACE_OK;
}

efface_status ef_file_end(efface_store *store, efface_status status, efface_error *error) {
    store->in_doubt = false;
    /* The head comes last, since it has the sums and counts of all that was written before. */
    EF_THEN(status, ef_file_prepare(store, error));
    EF_THEN(status, commit_transaction(store, error));
    leave_transaction(store);
    return status;
}

/* ---------------------------------------------------------------- of a store */

efface_status ef_store_begin(efface_store *store, bool writes, efface_error *error) {
    return store->parts->begin(store, writes, error);
}

efface_status ef_store_end(efface_store *store, efface_status status, efface_error *error) {
    status = store->parts->end(store, status, error);
    ef_openings_end(store, status);
    return status;
}
