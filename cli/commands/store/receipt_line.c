/* One receipt, read from its line. The library writes the fields in one order, so that the first of
 * a name is that of the receipt; a line that somebody made up is shown for what it says. */
#include "commands/store/receipt_line.h"

#include "input/secrets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char key_field[] = "\"public_key\":\"";

const char *cli_receipt_text(const char *line, const char *name, char *text, size_t n_bytes) {
    const char *const field = strstr(line, name);
    if (field == NULL || field[strlen(name)] != '"')
        return NULL;
    const char *const begin = field + strlen(name) + 1;
    const size_t n = strcspn(begin, "\"");
    if (begin[n] != '"' || n >= n_bytes)
        return NULL;
    memcpy(text, begin, n);
    text[n] = '\0';
    return begin + n;
}

static uint64_t whole_field(const char *line, const char *name) {
    const char *const field = strstr(line, name);
    return field != NULL ? strtoull(field + strlen(name), NULL, 10) : 0;
}

bool cli_read_receipt(const char *line, cli_receipt_line *receipt) {
    *receipt = (cli_receipt_line){.requested = whole_field(line, "\"requested\":"),
                                  .missing = whole_field(line, "\"missing\":"),
                                  .forgotten = whole_field(line, "\"forgotten\":"),
                                  .learned = whole_field(line, "\"learned\":"),
                                  .updated = whole_field(line, "\"updated\":")};
    return sscanf(line, "{\"receipt\":%" SCNu64, &receipt->number) == 1 &&
           cli_receipt_text(line, "\"time\":", receipt->time, sizeof receipt->time) != NULL &&
           cli_receipt_text(line, "\"kind\":", receipt->kind, sizeof receipt->kind) != NULL;
}

const char *cli_receipt_past(const char *kind) {
    return strcmp(kind, "forget") == 0   ? "forgotten"
           : strcmp(kind, "learn") == 0  ? "learned"
           : strcmp(kind, "update") == 0 ? "updated"
                                         : "changed";
}

cli_signature cli_signature_of(const char *line, const unsigned char *public_key) {
    unsigned char named[EFFACE_PUBLIC_KEY_BYTES];
    efface_error error;
    const char *const field = strstr(line, key_field);
    if (field == NULL)
        return CLI_NOT_SIGNED;
    if (public_key == NULL &&
        !cli_from_hex(field + strlen(key_field), 2 * sizeof named, named, sizeof named))
        return CLI_NO_MATCH;
    switch (efface_receipt_verify(line, public_key != NULL ? public_key : named, &error)) {
    case EFFACE_OK: return public_key != NULL ? CLI_SIGNED : CLI_NOT_COMPARED;
    case EFFACE_E_ARGUMENT: return CLI_NOT_SIGNED;
    default: return CLI_NO_MATCH;
    }
}

const char *cli_signature_name(cli_signature signature) {
    switch (signature) {
    case CLI_NOT_SIGNED: return "not signed";
    case CLI_NOT_COMPARED: return "not compared";
    case CLI_SIGNED: return "valid";
    case CLI_NO_MATCH: break;
    }
    return "does not match";
}
