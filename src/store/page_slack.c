/*
 * The slack of pages: what stands between the cells of a page of SQLite's, and belongs to none.
 *
 * secure_delete overwrites cells that are freed. But when SQLite spreads the cells of neighbouring
 * pages anew, because one became too full or too empty, it makes some pages from scratch in the
 * same memory, and what they held before stays in the gap before their first cell. A row whose cell
 * once moved to the page beside it would so outlive being forgotten. Therefore every page of a tree
 * is cleaned on its way to the file: the gap and the inside of free blocks are set to zero. SQLite
 * never reads either.
 *
 * A page (fileformat2, 1.6): byte 0 its kind (2, 5, 10 or 13), u16 at 1 the first free block, u16
 * at 3 the number of cells, u16 at 5 where cells begin (0: 65536); a header of 12 bytes in kinds 2
 * and 5, else 8; then u16 for each cell. All of it 100 bytes later in the first page. A free block
 * begins with u16 the next, u16 its own size.
 *
 * Other pages begin with the number of a page, big-endian. With fewer than 2^25 pages, which
 * EF_STORE_MOST_PAGES sees to, its first byte is none of the kinds.
 */
#include "store/store.h"

#include <string.h>

#define FILE_HEADER_BYTES 100
#define LEAST_PAGE_BYTES 512

static size_t u16_at(const unsigned char *bytes) {
    return (size_t)bytes[0] << 8 | bytes[1];
}

void ef_page_clean(unsigned char *page, size_t n_bytes, bool is_first) {
    const size_t begin = is_first ? FILE_HEADER_BYTES : 0;
    const unsigned char kind = page[begin];
    if (kind != 2 && kind != 5 && kind != 10 && kind != 13)
        return;
    const size_t n_cells = u16_at(page + begin + 3);
    const size_t gap = begin + (kind == 2 || kind == 5 ? 12 : 8) + 2 * n_cells;
    size_t cells = u16_at(page + begin + 5);
    cells = cells == 0 ? 65536 : cells;
    if (gap > cells || cells > n_bytes)
        return; /* damaged; not for us to say */
    memset(page + gap, 0, cells - gap);
    /* Free blocks come in the order of their places. */
    for (size_t at = u16_at(page + begin + 1); at >= cells && at + 4 <= n_bytes;) {
        const size_t next = u16_at(page + at), size = u16_at(page + at + 2);
        if (size < 4 || at + size > n_bytes)
            return;
        memset(page + at + 4, 0, size - 4);
        if (next <= at)
            return;
        at = next;
    }
}

static int write_clean(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at) {
    /* The methods are the first member. */
    ef_clean_file *const clean = (ef_clean_file *)(uintptr_t)file->pMethods;
    const bool is_page = n >= LEAST_PAGE_BYTES && (size_t)n <= sizeof clean->page && at % n == 0;
    if (is_page) {
        memcpy(clean->page, bytes, (size_t)n);
        ef_page_clean(clean->page, (size_t)n, at == 0);
    }
    return clean->below->xWrite(file, is_page ? clean->page : bytes, n, at);
}

void ef_clean_writes(sqlite3 *db, ef_clean_file *clean) {
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        file == NULL || file->pMethods == NULL)
        return;
    clean->below = file->pMethods;
    clean->methods = *file->pMethods;
    clean->methods.xWrite = write_clean;
    file->pMethods = &clean->methods;
}
