/* efface receipt show: a receipt in words, for those whom it is about. */
#include "commands/store/receipt_line.h"
#include "commands/store/receipt_parts.h"
#include "input/secrets.h"
#include "input/stores.h"
#include "input/text_lines.h"
#include "output/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct show_choices {
    const char *path, *number, *key_path;
    cli_open how;
    bool json;
} show_choices;

/* ---- finding the line */

static int say_no_receipt(const show_choices *c, uint64_t number) {
    return number != 0 ? cli_not_found("%s has no receipt %" PRIu64, c->path, number)
                       : cli_not_found("%s has no receipts yet: every request leaves one", c->path);
}

static int receipt_of_store(const show_choices *c, uint64_t number, char **line) {
    efface_store *store = NULL;
    efface_store_info info;
    efface_error error;
    char *text = NULL;
    int code = cli_open_store(c->path, &c->how, &store);
    CLI_THEN(code, cli_outcome(efface_store_get_info(store, &info, &error), &error));
    if (code == CLI_DONE && (number > info.n_receipts || info.n_receipts == 0))
        code = say_no_receipt(c, number);
    CLI_THEN(code, cli_outcome(efface_store_receipt(store, number != 0 ? number : info.n_receipts,
                                                    &text, &error),
                               &error));
    if (code == CLI_DONE && (*line = strdup(text)) == NULL)
        code = cli_out_of_memory();
    efface_text_free(text);
    efface_store_close(store);
    return code;
}

static int receipt_of_file(const show_choices *c, uint64_t number, char **line) {
    cli_lines lines = {.items = NULL};
    cli_receipt_line receipt;
    const char *found = NULL;
    int code = cli_read_receipts(c->path, &lines);
    for (size_t i = 0; code == CLI_DONE && i < lines.n; i++)
        if (cli_read_receipt(lines.items[i], &receipt) && (number == 0 || receipt.number == number))
            found = lines.items[i];
    if (code == CLI_DONE && found == NULL)
        code = number != 0 ? say_no_receipt(c, number)
                           : cli_failed("%s is neither a store nor a file of receipts", c->path);
    if (code == CLI_DONE && (*line = strdup(found)) == NULL)
        code = cli_out_of_memory();
    cli_lines_free(&lines);
    return code;
}

/* ---- words */

static const char *plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

static void put_deed(FILE *out, const cli_receipt_line *r) {
    if (strcmp(r->kind, "forget") == 0 && r->forgotten == 0)
        fputs("Nobody who was named was found, and no row was forgotten.\n", out);
    else if (strcmp(r->kind, "forget") == 0)
        fprintf(out,
                "%" PRIu64 " row%s of data %s forgotten: deleted from the store and taken out of "
                "every model below.\n",
                r->forgotten, plural(r->forgotten), r->forgotten == 1 ? "was" : "were");
    else if (strcmp(r->kind, "learn") == 0)
        fprintf(out,
                "%" PRIu64 " row%s of data %s learned: added to the store and to every model "
                "below. Nothing was forgotten.\n",
                r->learned, plural(r->learned), r->learned == 1 ? "was" : "were");
    else if (strcmp(r->kind, "update") == 0)
        fprintf(out,
                "%" PRIu64 " row%s of data got new values, in the store and in every model below. "
                "The values that\nthey had before are gone; the rows were not forgotten.\n",
                r->updated, plural(r->updated));
    else if (strcmp(r->kind, "publish") == 0)
        fputs("A model was given a new random seed, fitted, and written to a file for prediction. "
              "No row was\nforgotten.\n",
              out);
    else
        fprintf(out, "%s No row was forgotten.\n",
                strcmp(r->kind, "add") == 0     ? "A model was added."
                : strcmp(r->kind, "drop") == 0  ? "A model was removed."
                : strcmp(r->kind, "rekey") == 0 ? "Models were fitted again with new random seeds."
                : strcmp(r->kind, "spread") == 0
                    ? "The rows were spread over other parts of the store."
                    : "The store was changed.");
    if (strcmp(r->kind, "forget") != 0)
        return;
    fprintf(out, "The request named %" PRIu64 " id%s or owner%s", r->requested,
            plural(r->requested), plural(r->requested));
    if (r->missing > 0)
        fprintf(out, "; %" PRIu64 " of these had no row", r->missing);
    fputs(".\n", out);
}

/* The models of a receipt, each with what was done to it. */
static void put_models(FILE *out, const char *line) {
    const char *at = strstr(line, "\"models\":[{");
    char text[512];
    fputs(at != NULL ? "\nWhat was done to each model\n" : "\nNo model was changed.\n", out);
    for (at = at != NULL ? strstr(at, "{\"name\":") : NULL; at != NULL;
         at = strstr(at, "{\"name\":")) {
        static const char *const fields[] = {
            "\"name\":", "\"kind\":", "\"action\":", "\"reason\":"};
        static const char *const before[] = {"  ", " (", "): ", ": "};
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
            const char *const end = cli_receipt_text(at, fields[i], text, sizeof text);
            fputs(before[i], out);
            cli_put_text(out, end != NULL ? text : "?");
            at = end != NULL ? end : at + 1;
        }
        fputc('\n', out);
    }
}

/* What a signature is worth depends on whether the key is one that the reader trusts. */
static void put_word_of(FILE *out, cli_signature signature) {
    switch (signature) {
    case CLI_SIGNED:
        fputs("- The holder of the signing key states what is written here, and it was not changed "
              "since.\n"
              "- Together with the receipts before it, signed as well: that none of these was "
              "removed or changed\n  (efface receipt verify). That none came after it, the store "
              "shows (efface check --public-key).\n",
              out);
        break;
    case CLI_NOT_COMPARED:
        fputs("- Someone with the key that the receipt names states what is written here. Whether "
              "that is a key\n  that you trust was not looked at (--public-key FILE).\n",
              out);
        break;
    case CLI_NOT_SIGNED:
        fputs("- By itself nothing, and nothing about the other receipts: no signature vouches for "
              "it, and anyone\n  can write a whole list of such receipts.\n",
              out);
        break;
    case CLI_NO_MATCH:
        fputs("- Nothing: its signature does not match. Do not rely on it.\n", out);
        break;
    }
}

static void put_proofs(FILE *out, const cli_receipt_line *r, cli_signature signature) {
    const bool forget = strcmp(r->kind, "forget") == 0;
    fputs("\nWhat this receipt proves\n", out);
    put_word_of(out, signature);
    if (signature != CLI_NO_MATCH && r->forgotten + r->learned + r->updated > 0)
        fputs("- If a list of hashes was written then (--list; it cannot be had later), together "
              "with it and the\n  key of the store: whether a certain row was in this request "
              "(efface receipt has).\n",
              out);
    if (signature != CLI_NO_MATCH && forget)
        fputs("- Together with the store: that every model is, byte for byte, one that is fitted "
              "with the same\n  parameters, offsets and seed to the rows that are left (efface "
              "check, efface verify).\n",
              out);
    fputs("\nWhat it does not prove\n"
          "- Whom the rows were about: it has no names, no ids and no values.\n",
          out);
    if (forget)
        fputs(
            "- That all rows of a person were found: those without the name that was asked for, "
            "or with another\n  spelling of it, are not among them.\n"
            "- That there is no copy elsewhere: in the files that the data came from, in backups, "
            "exports,\n  published models, or predictions that were written down.\n",
            out);
    fputs("- That the clock was right.\n", out);
}

static void put_signature(FILE *out, const show_choices *c, cli_signature signature) {
    fputs("\nSignature: ", out);
    switch (signature) {
    case CLI_SIGNED:
        fputs("valid; made with the secret half of ", out);
        cli_put_text(out, c->key_path);
        fputs(".\n", out);
        break;
    case CLI_NOT_COMPARED:
        fputs("made with the key that the receipt names, which was not compared with one that you "
              "trust\n(--public-key FILE).\n",
              out);
        break;
    case CLI_NOT_SIGNED: fputs("not signed. Anyone can have written this receipt.\n", out); break;
    case CLI_NO_MATCH:
        fputs("does not match. The receipt was changed, or signed with another key.\n", out);
        break;
    }
}

/* "2026-01-31T10:20:30Z" as "2026-01-31, 10:20:30 UTC". */
static void put_date(FILE *out, const char *time) {
    const char *const t = strchr(time, 'T');
    const size_t n = strlen(time);
    char text[64];
    if (t == NULL || n == 0 || time[n - 1] != 'Z')
        snprintf(text, sizeof text, "%s", time);
    else
        snprintf(text, sizeof text, "%.*s, %.*s UTC", (int)(t - time), time,
                 (int)(n - 2 - (size_t)(t - time)), t + 1);
    cli_put_text(out, text);
}

static void put_receipt(FILE *out, const show_choices *c, const char *line,
                        const cli_receipt_line *r, cli_signature signature) {
    fprintf(out, "Receipt %" PRIu64 " of ", r->number);
    put_date(out, r->time);
    fputs("\n\n", out);
    if (signature == CLI_NO_MATCH)
        fputs("THE SIGNATURE DOES NOT MATCH. What follows is what the receipt says; do not rely on "
              "it.\n\n",
              out);
    put_deed(out, r);
    put_models(out, line);
    if (strcmp(r->kind, "forget") == 0 && r->forgotten > 0)
        fputs("Each model was then what it would be, with the same parameters, offsets and seed, "
              "had the rows\nnever been there.\n",
              out);
    put_proofs(out, r, signature);
    put_signature(out, c, signature);
}

static int print_receipt(const show_choices *c, const char *line, const unsigned char *key) {
    cli_receipt_line r;
    char *text = NULL;
    size_t n_bytes = 0;
    if (!cli_read_receipt(line, &r))
        return cli_failed("the line of the receipt cannot be read");
    const cli_signature signature = cli_signature_of(line, key);
    FILE *const out = open_memstream(&text, &n_bytes);
    if (out != NULL)
        put_receipt(out, c, line, &r, signature);
    if (out == NULL || fclose(out) != 0) {
        free(text);
        return cli_out_of_memory();
    }
    if (c->json) {
        cli_json json = cli_json_object(stdout);
        cli_json_whole(&json, "receipt", r.number);
        cli_json_text(&json, "kind", r.kind);
        cli_json_text(&json, "signature", cli_signature_name(signature));
        cli_json_text(&json, "text", text);
        cli_json_close(&json);
    } else {
        fputs(text, stdout);
    }
    free(text);
    const bool wrong = signature == CLI_NO_MATCH || (key != NULL && signature == CLI_NOT_SIGNED);
    return wrong ? CLI_DIFFERENT : CLI_DONE;
}

int cli_receipt_show(int n_arguments, char **arguments) {
    show_choices c = {.how = {.wait = -1}};
    const cli_option options[] = {
        {"FILE", CLI_PLACE, &c.path, NULL},
        {"N", CLI_PLACE_OR_NOT, &c.number, NULL},
        {"--public-key", CLI_TEXT, &c.key_path, NULL},
        {"--wait", CLI_SECONDS, &c.how.wait, NULL},
        {"--json", CLI_FLAG, &c.json, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    unsigned char key[EFFACE_PUBLIC_KEY_BYTES];
    uint64_t number = 0;
    char *line = NULL;
    int code = cli_parse("receipt", options, n_arguments, arguments);
    if (code == CLI_DONE && c.number != NULL &&
        (!cli_read_whole(c.number, UINT64_MAX, &number) || number == 0))
        code = cli_wrong("'%s' is not the number of a receipt: they are 1, 2, 3, ...", c.number);
    if (c.key_path != NULL)
        CLI_THEN(code, cli_read_key(c.key_path, CLI_PUBLIC_KEY, key));
    CLI_THEN(code, cli_looks_like_store(c.path) ? receipt_of_store(&c, number, &line)
                                                : receipt_of_file(&c, number, &line));
    CLI_THEN(code, print_receipt(&c, line, c.key_path != NULL ? key : NULL));
    free(line);
    return code;
}
