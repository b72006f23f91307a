/*
 * The slack of pages: what stands between the parts of a page of SQLite's, and belongs to none.
 *
 * secure_delete overwrites cells that are freed. But when SQLite spreads the cells of neighbouring
 * pages anew, because one became too full or too empty, it makes some pages from scratch in the
 * same memory, and what they held before stays in the gap before their first cell. A row whose cell
 * once moved to the page beside it would so outlive being forgotten. Therefore the gap in every
 * page of a tree is set to zero on its way to the file. SQLite never reads it.
 *
 * A page (fileformat2, 1.6): byte 0 its kind (2, 5, 10 or 13), u16 at 3 the number of cells, u16 at
 * 5 where cells begin (0: 65536); a header of 12 bytes in kinds 2 and 5, else 8; then u16 for each
 * cell, then the gap. The first page, which is not cleaned, has the schema and no rows.
 *
 * Other pages begin with the number of a page, big-endian. With fewer than 2^25 pages, which
 * EF_STORE_MAX_PAGES sees to, its first byte is none of the kinds.
 */
#include "store/sql/page_slack.h"

#include "base/memory/memory.h"

#include <string.h>

#define MIN_PAGE_BYTES 512

static size_t u16_at(const unsigned char *bytes) {
    return (size_t)bytes[0] << 8 | bytes[1];
}

static void clean(unsigned char *page, size_t n_bytes) {
    const unsigned char kind = page[0];
    if (kind != 2 && kind != 5 && kind != 10 && kind != 13)
        return;
    const size_t gap = (kind == 2 || kind == 5 ? 12 : 8) + 2 * u16_at(page + 3);
    const size_t found = u16_at(page + 5), cells = found == 0 ? 65536 : found;
    if (gap <= cells && cells <= n_bytes) /* else damaged; not for us to say */
        memset(page + gap, 0, cells - gap);
}

static int write_clean(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at) {
    /* The methods are the first member. */
    ef_clean_file *const to = (ef_clean_file *)(uintptr_t)file->pMethods;
    const bool is_page =
        at != 0 && n >= MIN_PAGE_BYTES && (size_t)n <= sizeof to->page && at % n == 0;
    if (is_page) {
        memcpy(to->page, bytes, (size_t)n);
        clean(to->page, (size_t)n);
    }
    const int code = to->below->xWrite(file, is_page ? to->page : bytes, n, at);
    if (is_page)
        ef_wipe(to->page, (size_t)n);
    return code;
}

bool ef_clean_writes(sqlite3 *db, ef_clean_file *to) {
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        file == NULL || file->pMethods == NULL)
        return false;
    to->below = file->pMethods;
    to->methods = *file->pMethods;
    to->methods.xWrite = write_clean;
    file->pMethods = &to->methods;
    return true;
}
