/* SQLite leaves nothing in memory (wiping_memory.c). */
#ifndef EF_WIPING_MEMORY_H
#define EF_WIPING_MEMORY_H

#include <stdbool.h>

/* Has SQLite overwrite memory before it releases it; once for a process, before its first use.
 * False, now and later, if somebody used SQLite already. */
bool ef_sql_wipe_memory(void);

#endif
