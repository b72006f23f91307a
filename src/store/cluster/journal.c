/*
 * The journal of a store in parts: what the other parts have to do for the request that part 0 has
 * done last. It stands in the facts of part 0 from the commit that decides the request until all
 * parts have committed, in pieces, the facts "journal 00000000" and on:
 *
 *     u64  requests that part 0 has followed    u32  parts
 *     for each part: u64  length, and what it has to do (cluster.h); nothing for part 0
 *     32   digest of all before
 */
#include "store/cluster/cluster.h"

#include "base/bytes/digest.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/sql/sql.h"

#include <stdio.h>
#include <string.h>

#define PIECE_BYTES ((size_t)1 << 20)
#define PIECES "name GLOB 'journal [0-9]*'"

void ef_journal_make(ef_writer *w, const ef_part_tasks *tasks, const ef_head *head) {
    unsigned char digest[EFFACE_DIGEST_BYTES];
    ef_write_u64(w, head->n_requests + 1);
    ef_write_u32(w, head->n_parts);
    for (uint32_t part = 0; part < head->n_parts; part++) {
        ef_writer task = {0};
        if (part != 0)
            ef_part_task_write(&task, tasks, part);
        w->failed |= task.failed;
        ef_write_u64(w, task.n_bytes);
        if (task.n_bytes != 0)
            ef_write_bytes(w, task.bytes, task.n_bytes);
        ef_free(task.bytes);
    }
    if (w->failed)
        return;
    ef_digest(w->bytes, w->n_bytes, digest);
    ef_write_bytes(w, digest, sizeof digest);
}

efface_status ef_journal_find(efface_store *store, bool *found, efface_error *error) {
    int64_t n = 0;
    const efface_status status =
        ef_sql_number(store, "SELECT count(*) FROM facts WHERE " PIECES, &n, error);
    *found = n != 0;
    return status;
}

efface_status ef_journal_write(efface_store *store, const ef_writer *journal, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    char name[32];
    efface_status status =
        journal->failed
            ? ef_fail_memory(error)
            : ef_sql_prepare(store, "INSERT INTO facts VALUES (?, ?)", &statement, error);
    for (size_t at = 0; status == EFFACE_OK && at < journal->n_bytes; at += PIECE_BYTES) {
        const size_t rest = journal->n_bytes - at;
        (void)snprintf(name, sizeof name, "journal %08zu", at / PIECE_BYTES);
        ef_sql_bind_text(statement, 1, name);
        ef_sql_bind_bytes(statement, 2, journal->bytes + at,
                          rest < PIECE_BYTES ? rest : PIECE_BYTES);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static bool journal_is_whole(const ef_writer *w, const ef_head *head) {
    unsigned char digest[EFFACE_DIGEST_BYTES];
    if (w->n_bytes < 12 + sizeof digest)
        return false;
    const size_t n = w->n_bytes - sizeof digest;
    ef_decoder r = {.bytes = w->bytes, .n_bytes = n};
    ef_digest(w->bytes, n, digest);
    return memcmp(digest, w->bytes + n, sizeof digest) == 0 &&
           ef_read_u64(&r) == head->n_requests && ef_read_u32(&r) == head->n_parts;
}

efface_status ef_journal_read(efface_store *store, unsigned char **bytes, size_t *n_bytes,
                              efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = true;
    ef_writer w = {0};
    efface_status status = ef_sql_prepare(
        store, "SELECT value FROM facts WHERE " PIECES " ORDER BY name", &statement, error);
    while (status == EFFACE_OK) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        const ef_decoder piece = ef_sql_bytes(statement, 0);
        ef_write_bytes(&w, piece.bytes, piece.n_bytes);
    }
    (void)sqlite3_finalize(statement);
    if (status == EFFACE_OK && w.failed)
        status = ef_fail_memory(error);
    if (status == EFFACE_OK && !journal_is_whole(&w, &store->head))
        status = ef_store_corrupt(error, "the journal of its last request is invalid");
    if (status == EFFACE_OK) {
        *bytes = w.bytes;
        *n_bytes = w.n_bytes;
    } else {
        ef_free(w.bytes);
    }
    return status;
}

efface_status ef_journal_drop(efface_store *store, efface_error *error) {
    return ef_sql_run(store, "DELETE FROM facts WHERE " PIECES, error);
}

efface_status ef_journal_task(const unsigned char *bytes, size_t n_bytes, uint32_t part,
                              ef_decoder *task, efface_error *error) {
    ef_decoder r = {.bytes = bytes, .n_bytes = n_bytes};
    uint64_t n = 0;
    (void)ef_read_u64(&r);
    (void)ef_read_u32(&r);
    for (uint32_t i = 0; i <= part; i++) {
        r.bytes += n;
        r.n_bytes -= (size_t)n;
        n = ef_read_u64(&r);
        if (r.failed || n > r.n_bytes)
            return ef_store_corrupt(error, "the journal of its last request is invalid");
    }
    *task = (ef_decoder){.bytes = r.bytes, .n_bytes = (size_t)n};
    return EFFACE_OK;
}
