/*
 * A store's file ends with its last page.
 *
 * SQLite makes a file shorter after the commit that needs fewer pages (VACUUM): when the journal is
 * empty the transaction is done, and then the file is cut, without a sync. A process or a machine
 * that dies between the two leaves pages behind the last one, with rows in them. No later
 * transaction looks there, so rows would stay when they are forgotten. Therefore what stands there
 * is cut off before any transaction that writes, and when a store is opened to write.
 *
 * In a transaction a journal that was left over is rolled back, and nobody else writes; who reads
 * does not look behind the last page. But the number of pages stands in the file: were it damaged,
 * pages would be cut off that are in use. So the trees are walked through first: a page that is in
 * use and behind the last one, or one that is missing, is an error then. Few files are ever cut.
 *
 * In the first page (fileformat2, 1.3): u16 at 16 the bytes of a page (1: 65536), u32 at 24 the
 * count of changes, at 28 the number of pages, which holds if u32 at 92 is the count of changes.
 */
#include "store/file/file_length.h"

#include "base/errors/status.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <string.h>

#define HEADER_BYTES 100

static efface_status fail_file_length(efface_error *error) {
    return ef_fail(error, EFFACE_E_IO, "the length of the store's file cannot be read or changed");
}

static uint64_t big_endian(const unsigned char *bytes, size_t n) {
    uint64_t number = 0;
    for (size_t i = 0; i < n; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* The length that a header gives the file; UINT64_MAX if it does not say. */
static uint64_t length_by(const unsigned char header[HEADER_BYTES]) {
    const uint64_t bytes = big_endian(header + 16, 2), n_pages = big_endian(header + 28, 4);
    const bool holds = memcmp(header + 24, header + 92, 4) == 0;
    return holds && bytes != 0 && n_pages != 0 ? (bytes != 1 ? bytes : 65536) * n_pages
                                               : UINT64_MAX;
}

/* The length that the file has, and the one that its pages need. A file too short for a header is
 * for SQLite to judge. */
static efface_status measure_file(efface_store *store, uint64_t *has, uint64_t *needs,
                                  efface_error *error) {
    sqlite3_file *const file = ef_sql_file(store);
    unsigned char header[HEADER_BYTES];
    sqlite3_int64 length = 0;
    *has = *needs = 0;
    if (file == NULL || file->pMethods->xFileSize(file, &length) != SQLITE_OK)
        return fail_file_length(error);
    if (length < HEADER_BYTES)
        return EFFACE_OK;
    if (file->pMethods->xRead(file, header, HEADER_BYTES, 0) != SQLITE_OK)
        return fail_file_length(error);
    *has = (uint64_t)length;
    *needs = length_by(header);
    return EFFACE_OK;
}

efface_status ef_file_excess(efface_store *store, uint64_t *n_bytes, efface_error *error) {
    uint64_t has, needs;
    const efface_status status = measure_file(store, &has, &needs, error);
    *n_bytes = has > needs ? has - needs : 0;
    return status;
}

/* Whether all pages that are in use are before the end. */
static efface_status check_trees(efface_store *store, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    const char *text = NULL;
    bool row = false;
    efface_status status = ef_sql_prepare(store, "PRAGMA quick_check(1)", &statement, error);
    EF_THEN(status, ef_sql_step(store, statement, &row, error));
    if (status == EFFACE_OK && row)
        status = ef_sql_text(store, statement, 0, &text, error);
    if (status == EFFACE_OK && (text == NULL || strcmp(text, "ok") != 0))
        status =
            ef_store_corrupt(error, "its file is longer than it says, and its pages are wrong");
    (void)sqlite3_finalize(statement);
    return status;
}

efface_status ef_file_cut(efface_store *store, bool *was_cut, efface_error *error) {
    uint64_t has, needs;
    efface_status status = measure_file(store, &has, &needs, error);
    *was_cut = false;
    if (status != EFFACE_OK || has <= needs)
        return status;
    status = check_trees(store, error);
    if (status != EFFACE_OK)
        return status;
    sqlite3_file *const file = ef_sql_file(store);
    if (file->pMethods->xTruncate(file, (sqlite3_int64)needs) != SQLITE_OK)
        return fail_file_length(error);
    *was_cut = true;
    return ef_file_sync(store, error);
}

efface_status ef_file_sync(efface_store *store, efface_error *error) {
    sqlite3_file *const file = ef_sql_file(store);
    return file != NULL && file->pMethods->xSync(file, SQLITE_SYNC_FULL) == SQLITE_OK
               ? EFFACE_OK
               : fail_file_length(error);
}
