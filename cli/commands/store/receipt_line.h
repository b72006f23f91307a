/* One receipt: what its line says, and its signature. */
#ifndef CLI_RECEIPT_LINE_H
#define CLI_RECEIPT_LINE_H

#include "cli.h"

#include <stdint.h>

typedef struct cli_receipt_line {
    uint64_t number, requested, missing, forgotten, learned, updated;
    char time[32], kind[16];
} cli_receipt_line;

/* False for a line that is not a receipt. */
bool cli_read_receipt(const char *line, cli_receipt_line *receipt);

/* The text of a field, `name` with quotes and colon; where it ends, or NULL. */
const char *cli_receipt_text(const char *line, const char *name, char *text, size_t n_bytes);

/* What became of the rows of a receipt, such as "forgotten"; or "changed". */
const char *cli_receipt_past(const char *kind);

typedef enum cli_signature {
    CLI_NOT_SIGNED,
    CLI_NOT_COMPARED, /* signed with the key that the line names; no other was given */
    CLI_SIGNED,       /* with the given key */
    CLI_NO_MATCH
} cli_signature;

/* `public_key` may be NULL. */
cli_signature cli_signature_of(const char *line, const unsigned char *public_key);

/* In a few words: "not signed", "not compared", "valid", "does not match". */
const char *cli_signature_name(cli_signature signature);

#endif
