/*
 * Memory that SQLite releases, overwritten first.
 *
 * SQLite reads rows into pages and registers of its own, and releases them as they are. Here its
 * allocator is wrapped, once for a process. Two of its habits are given up with that, for they
 * keep memory that was released without telling the allocator: small blocks by connection
 * (lookaside), and pages allocated several at a time.
 *
 * This is possible only before anybody in the process has used SQLite. It then holds for all of
 * its users, to whom it makes no difference but a little time.
 */
#include "store/sql/wiping_memory.h"

#include "base/memory/memory.h"
#include "base/workers/threads.h"
#include "efface/efface.h"

#include <sqlite3.h>
#include <string.h>

static sqlite3_mem_methods below;
static bool installed;

static void wiping_free(void *memory) {
    if (memory != NULL)
        ef_wipe(memory, (size_t)below.xSize(memory));
    below.xFree(memory);
}

/* A block that has room enough stays where it is. */
static void *wiping_realloc(void *memory, int n_bytes) {
    const int before = below.xSize(memory);
    if (n_bytes <= before)
        return memory;
    void *const fresh = below.xMalloc(n_bytes);
    if (fresh != NULL) {
        memcpy(fresh, memory, (size_t)before);
        wiping_free(memory);
    }
    return fresh;
}

static void install(void) {
    /* Refused while SQLite is in use; nothing has changed then. */
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &below) != SQLITE_OK)
        return;
    sqlite3_mem_methods methods = below;
    methods.xFree = wiping_free;
    methods.xRealloc = wiping_realloc;
    installed = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK &&
                sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK &&
                sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0) == SQLITE_OK;
}

bool ef_sql_wipe_memory(void) {
    static ef_once once = EF_ONCE;
    ef_do_once(&once, install);
    return installed;
}

int efface_store_wipes_memory(void) {
    return ef_sql_wipe_memory() ? 1 : 0;
}
