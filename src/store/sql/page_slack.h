/* Pages without what was in them before (page_slack.c). */
#ifndef EF_PAGE_SLACK_H
#define EF_PAGE_SLACK_H

#include <sqlite3.h>
#include <stdbool.h>

#define EF_STORE_MAX_PAGES "33554431" /* 2^25 - 1: 128 GiB */

/* A file whose pages are cleaned when they are written (page_slack.c). */
typedef struct ef_clean_file {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *below;
    unsigned char page[65536];
} ef_clean_file;

/* Has every page cleaned that a database writes from now on; `to` must outlive it. False if that
 * cannot be. */
bool ef_clean_writes(sqlite3 *db, ef_clean_file *to);

#endif
