/* efface receipt verify and open: whether receipts are as they were made. */
#include "commands/store/receipt_line.h"
#include "commands/store/receipt_parts.h"
#include "input/secrets.h"
#include "input/stores.h"
#include "input/text_lines.h"
#include "output/opening_file.h"
#include "output/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- verify */

/* What was found of the receipts of a file. */
typedef struct findings {
    const cli_lines *lines;
    const unsigned char *public_key; /* or NULL */
    bool *bad;                       /* for each receipt */
    cli_json list;                   /* of problems */
} findings;

static void add_finding(void *context, size_t line, const char *problem) {
    findings *const f = context;
    const size_t i = line > 0 && line <= f->lines->n ? line - 1 : f->lines->n - 1;
    f->bad[i] = true;
    (void)cli_different("line %zu: %s", f->lines->numbers[i], problem);
    cli_json_open(&f->list, NULL, '{');
    cli_json_whole(&f->list, "line", f->lines->numbers[i]);
    cli_json_text(&f->list, "problem", problem);
    cli_json_close(&f->list);
}

/* How many receipts there are of each sort. Only one that a given key has signed is valid. */
typedef struct tally {
    uint64_t n, valid, not_compared, not_signed, no_match, broken, invalid;
} tally;

static tally count_receipts(const findings *f) {
    tally t = {.n = f->lines->n};
    for (size_t i = 0; i < f->lines->n; i++) {
        const cli_signature s = cli_signature_of(f->lines->items[i], f->public_key);
        t.invalid += f->bad[i];
        t.no_match += s == CLI_NO_MATCH;
        t.broken +=
            s != CLI_NO_MATCH && f->bad[i] && (s != CLI_NOT_SIGNED || f->public_key == NULL);
        t.not_signed += s == CLI_NOT_SIGNED && (!f->bad[i] || f->public_key != NULL);
        t.not_compared += s == CLI_NOT_COMPARED && !f->bad[i];
        t.valid += s == CLI_SIGNED && !f->bad[i];
    }
    return t;
}

static void print_sort(uint64_t n, const char *what, const char **before) {
    if (n == 0)
        return;
    printf("%s%" PRIu64 " %s", *before, n, what);
    *before = ", ";
}

/* A file in order may begin later than a store, and end earlier, so the numbers are said. */
static void print_which(const findings *f, const tally *t) {
    cli_receipt_line first, last;
    if (t->invalid != 0 || !cli_read_receipt(f->lines->items[0], &first) ||
        !cli_read_receipt(f->lines->items[t->n - 1], &last))
        printf("%" PRIu64 " receipt%s", t->n, t->n == 1 ? "" : "s");
    else if (t->n == 1)
        printf("receipt %" PRIu64 ", in order", first.number);
    else
        printf("receipts %" PRIu64 " to %" PRIu64 ", in order", first.number, last.number);
}

static void print_tally(const findings *f) {
    const tally t = count_receipts(f);
    const char *before = ": ";
    print_which(f, &t);
    print_sort(t.valid, "valid", &before);
    print_sort(t.not_compared, "signed with a key that was not compared", &before);
    print_sort(t.not_signed, "not signed", &before);
    print_sort(t.no_match, "whose signature does not match", &before);
    print_sort(t.broken, "changed, or not in its place", &before);
    putchar('\n');
    if (t.not_compared > 0)
        puts("--public-key FILE compares the key with the one that you trust");
    if (t.not_signed > 0)
        puts("a receipt that is not signed can have been written by anyone");
    if (t.valid == t.n)
        puts("if there are later receipts, the store has them: efface check STORE --public-key "
             "FILE");
}

static void json_tally(const findings *f, const char *problems) {
    const tally t = count_receipts(f);
    cli_json out = cli_json_object(stdout);
    cli_json_whole(&out, "valid", t.valid);
    cli_json_whole(&out, "invalid", t.invalid);
    cli_json_whole(&out, "not_signed", t.not_signed);
    cli_json_whole(&out, "not_compared", t.not_compared);
    cli_json_bool(&out, "signatures", f->public_key != NULL);
    cli_json_open(&out, "receipts", '[');
    for (size_t i = 0; i < f->lines->n; i++) {
        const cli_signature s = cli_signature_of(f->lines->items[i], f->public_key);
        cli_json_open(&out, NULL, '{');
        cli_json_whole(&out, "line", f->lines->numbers[i]);
        cli_json_bool(&out, "valid", s == CLI_SIGNED && !f->bad[i]);
        cli_json_text(&out, "signature", cli_signature_name(s));
        cli_json_close(&out);
    }
    cli_json_close(&out);
    cli_json_raw(&out, "problems", problems);
    cli_json_close(&out);
}

static int verify_lines(const cli_lines *lines, const unsigned char *public_key, bool as_json) {
    char *problems = NULL;
    size_t n_bytes = 0;
    efface_error error;
    findings f = {.lines = lines, .public_key = public_key, .bad = calloc(lines->n, sizeof *f.bad)};
    f.list.out = open_memstream(&problems, &n_bytes);
    int code = CLI_DONE;
    if (f.bad == NULL || f.list.out == NULL) {
        code = cli_out_of_memory();
    } else {
        cli_json_open(&f.list, NULL, '[');
        if (efface_receipts_verify((const char *const *)lines->items, lines->n, public_key,
                                   add_finding, &f, &error) != EFFACE_OK)
            code = cli_report_error(&error);
        cli_json_close(&f.list);
    }
    if (f.list.out != NULL && fclose(f.list.out) != 0 && code == CLI_DONE)
        code = cli_out_of_memory();
    if (code == CLI_DONE) {
        problems[strcspn(problems, "\n")] = '\0';
        if (as_json)
            json_tally(&f, problems);
        else
            print_tally(&f);
        for (size_t i = 0; i < lines->n; i++)
            code = f.bad[i] ? CLI_DIFFERENT : code;
    }
    free(problems);
    free(f.bad);
    return code;
}

int cli_receipt_verify(int n_arguments, char **arguments) {
    const char *path = NULL, *key_path = NULL;
    bool as_json = false;
    const cli_option options[] = {
        {"FILE", CLI_PLACE, &path, NULL},
        {"--public-key", CLI_TEXT, &key_path, NULL},
        {"--json", CLI_FLAG, &as_json, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES];
    cli_lines lines = {.items = NULL};
    int code = cli_parse("receipt", options, n_arguments, arguments);
    if (key_path != NULL)
        CLI_THEN(code, cli_read_key(key_path, CLI_PUBLIC_KEY, public_key));
    CLI_THEN(code, cli_read_receipts(path, &lines));
    CLI_THEN(code, verify_lines(&lines, key_path != NULL ? public_key : NULL, as_json));
    cli_lines_free(&lines);
    return code;
}

/* ---- open */

/* Looks for the receipt that an opening names. */
static efface_status find_opened(const cli_lines *receipts, const efface_opening *opening,
                                 efface_error *error) {
    efface_status status = EFFACE_E_NOT_FOUND;
    for (size_t i = 0; i < receipts->n && status == EFFACE_E_NOT_FOUND; i++)
        status = efface_receipt_open(receipts->items[i], opening, error);
    return status;
}

/* `json` is NULL for text. */
static int open_line(const cli_lines *receipts, const cli_lines *lines, size_t i, cli_json *json) {
    efface_opening opening;
    efface_error error = {.message = "this is not an opening"};
    const bool is_opening = cli_parse_opening(lines->items[i], &opening);
    const efface_status status =
        is_opening ? find_opened(receipts, &opening, &error) : EFFACE_E_FORMAT;
    if (json != NULL) {
        cli_json_open(json, NULL, '{');
        cli_json_whole(json, "line", lines->numbers[i]);
        cli_json_whole_or_null(json, "receipt", is_opening ? opening.receipt : 0);
        cli_json_text(json, "model", is_opening ? opening.model : NULL);
        cli_json_bool(json, "opens", status == EFFACE_OK);
        cli_json_close(json);
    } else if (status == EFFACE_OK) {
        printf("receipt %" PRIu64 ", model %s: opens; digest %s\n", opening.receipt, opening.model,
               cli_hex_of(opening.digest).text);
    } else if (is_opening) {
        printf("receipt %" PRIu64 ", model %s: does not open: %s\n", opening.receipt, opening.model,
               error.message);
    } else {
        printf("line %zu: does not open: %s\n", lines->numbers[i], error.message);
    }
    cli_wipe(&opening, sizeof opening);
    return status == EFFACE_OK ? CLI_DONE : CLI_DIFFERENT;
}

int cli_receipt_open(int n_arguments, char **arguments) {
    const char *receipts_path = NULL, *openings_path = NULL;
    bool as_json = false;
    const cli_option options[] = {
        {"RECEIPTS", CLI_PLACE, &receipts_path, NULL},
        {"OPENINGS", CLI_PLACE, &openings_path, NULL},
        {"--json", CLI_FLAG, &as_json, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    cli_lines receipts = {.items = NULL}, lines = {.items = NULL};
    int code = cli_parse("receipt", options, n_arguments, arguments);
    CLI_THEN(code, cli_read_receipts(receipts_path, &receipts));
    CLI_THEN(code, cli_read_receipts(openings_path, &lines));
    if (code == CLI_DONE) {
        cli_json json = {.out = stdout};
        if (as_json) {
            cli_json_open(&json, NULL, '{');
            cli_json_open(&json, "openings", '[');
        }
        for (size_t i = 0; i < lines.n; i++)
            if (open_line(&receipts, &lines, i, as_json ? &json : NULL) != CLI_DONE)
                code = CLI_DIFFERENT;
        if (as_json)
            cli_json_close_all(&json);
    }
    cli_lines_free(&lines);
    cli_lines_free(&receipts);
    return code;
}
