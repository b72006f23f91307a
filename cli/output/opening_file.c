/* Openings of receipts, in a file of their own (opening_file.h). */
#include "output/opening_file.h"

#include "input/secrets.h"
#include "output/escape.h"
#include "output/fresh_file.h"
#include "output/messages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static cli_fresh openings;
static bool any;

static void put_opening(FILE *out, const efface_opening *opening) {
    fprintf(out, "{\"receipt\":%" PRIu64 ",\"model\":\"%s\",\"digest\":\"%s\",", opening->receipt,
            opening->model, cli_hex_of(opening->digest).text);
    fprintf(out, "\"salt\":\"%s\"}\n", cli_hex_of(opening->salt).text);
}

static void write_opening(void *context, const efface_opening *opening) {
    (void)context;
    any = true;
    put_opening(openings.file, opening);
    if (fflush(openings.file) == 0 && fsync(fileno(openings.file)) == 0)
        return;
    cli_warn("the store was changed, but %s cannot be written; its line would have been:",
             openings.path);
    put_opening(stderr, opening);
}

static void end_openings(void) {
    if (any)
        (void)fclose(openings.file);
    else
        cli_fresh_abandon(&openings);
}

int cli_openings_to(const char *path, efface_store_options *options) {
    if (path == NULL)
        return CLI_DONE;
    const int code = cli_fresh_open(&openings, path);
    if (code != CLI_DONE || openings.file == NULL)
        return code;
    (void)fchmod(fileno(openings.file), 0600);
    (void)atexit(end_openings);
    options->opened = write_opening;
    return CLI_DONE;
}

/* Moves behind a text that has to be next. */
static bool skip_text(const char **at, const char *text) {
    const size_t n = strlen(text);
    const bool is_next = strncmp(*at, text, n) == 0;
    *at += is_next ? n : 0;
    return is_next;
}

static bool skip_hex(const char **at, unsigned char *bytes, size_t n_bytes) {
    const bool is_next = cli_from_hex(*at, 2 * n_bytes, bytes, n_bytes);
    *at += is_next ? 2 * n_bytes : 0;
    return is_next;
}

bool cli_parse_opening(const char *line, efface_opening *opening) {
    const char *at = line;
    char *end = NULL;
    *opening = (efface_opening){.receipt = 0};
    if (!skip_text(&at, "{\"receipt\":"))
        return false;
    opening->receipt = strtoull(at, &end, 10);
    at = end;
    if (!skip_text(&at, ",\"model\":\""))
        return false;
    const size_t n = strcspn(at, "\"");
    if (n == 0 || n >= sizeof opening->model)
        return false;
    memcpy(opening->model, at, n);
    at += n;
    return skip_text(&at, "\",\"digest\":\"") &&
           skip_hex(&at, opening->digest, sizeof opening->digest) &&
           skip_text(&at, "\",\"salt\":\"") && skip_hex(&at, opening->salt, sizeof opening->salt) &&
           strcmp(at, "\"}") == 0;
}
