/* Key files: one line of hexadecimal digits, as `efface receipt keys` makes them. */
#ifndef SV_KEY_FILES_H
#define SV_KEY_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a key of that many bytes; `kind` is "secret" or "receipt". False, after a message, if that
 * is not possible; `code` then has the exit code. Warns if other users can read the file. */
bool sv_read_key(const char *path, const char *kind, unsigned char *key, size_t n_bytes, int *code);

#endif
