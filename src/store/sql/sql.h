/* SQLite: statements, and the values of their rows (sql.c). */
#ifndef EF_SQL_H
#define EF_SQL_H

#include "base/bytes/encode.h"
#include "base/numbers/wide.h"
#include "efface/efface.h"

#include <sqlite3.h>
#include <stdbool.h>

/* The error of what SQLite did last. */
efface_status ef_sql_fail(efface_store *store, efface_error *error);

efface_status ef_sql_run(efface_store *store, const char *sql, efface_error *error);
efface_status ef_sql_prepare(efface_store *store, const char *sql, sqlite3_stmt **out,
                             efface_error *error);

/* Goes on to the next row of a statement; `row` is false after the last. */
efface_status ef_sql_step(efface_store *store, sqlite3_stmt *statement, bool *row,
                          efface_error *error);

/* Runs a statement that has no rows, and makes it ready to run again. */
efface_status ef_sql_do(efface_store *store, sqlite3_stmt *statement, efface_error *error);

/* The whole number that a statement without parameters gives first. */
efface_status ef_sql_number(efface_store *store, const char *sql, int64_t *value,
                            efface_error *error);

/* Whether the columns of the row that a statement is at are of these kinds: i a whole number, n one
 * or nothing, t a text without zero bytes, u one or nothing, b bytes. SQLite lets every column have
 * values of any kind, and reads '7x' as 7. */
bool ef_sql_has(sqlite3_stmt *statement, const char *kinds);

/* Bytes of a column, for as long as the statement is not moved. */
ef_decoder ef_sql_bytes(sqlite3_stmt *statement, int column);
void ef_sql_bind_bytes(sqlite3_stmt *statement, int parameter, const void *bytes, size_t n_bytes);

/* A text of a column, for as long as the statement is not moved; NULL if there is none. Memory may
 * be short for it. */
efface_status ef_sql_text(efface_store *store, sqlite3_stmt *statement, int column,
                          const char **text, efface_error *error);

/* The file of the database as SQLite has it open; NULL if it does not say. */
sqlite3_file *ef_sql_file(efface_store *store);

/* A text, or nothing if it is NULL; and a copy of a text of a column, NULL if there is none. False
 * if out of memory. */
void ef_sql_bind_text(sqlite3_stmt *statement, int parameter, const char *text);
bool ef_sql_copy_text(sqlite3_stmt *statement, int column, char **text);

/* A sum of hashes, as 16 bytes. Reading is false if they are not 16. */
void ef_sql_bind_sum(sqlite3_stmt *statement, int parameter, ef_u128 sum, unsigned char bytes[16]);
bool ef_sql_read_sum(sqlite3_stmt *statement, int column, ef_u128 *sum);

efface_status ef_store_corrupt(efface_error *error, const char *what);

#endif
