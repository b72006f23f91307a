/* Random numbers and key files. */
#ifndef CLI_SECRETS_H
#define CLI_SECRETS_H

#include "efface/efface.h"

#include <stdbool.h>

/* Random bytes; shared: all ranks get the same. CLI_DONE or, after a message, another exit code. */
int cli_random(void *bytes, size_t n_bytes);
int cli_shared_random(void *bytes, size_t n_bytes);
void cli_wipe(void *bytes, size_t n_bytes);

/* Hexadecimal digits of n_bytes and the end of a line, of which there may be none. */
bool cli_from_hex(const char *text, size_t n_text, unsigned char *bytes, size_t n_bytes);

typedef enum cli_key { CLI_SECRET_KEY, CLI_PUBLIC_KEY, CLI_RECEIPT_KEY } cli_key;

/* Key files are one line of hexadecimal digits. A new one is never written over another file.
 * CLI_DONE or, after a message, another exit code. */
int cli_write_key(const char *path, cli_key kind, const unsigned char *key);
int cli_read_key(const char *path, cli_key kind, unsigned char *key);

#endif
