/* efface receipt: makes keys for receipts, verifies receipts, and looks for rows in them. */
#include "input/secrets.h"
#include "input/stores.h"
#include "input/text_lines.h"
#include "input/wanted.h"
#include "output/opening_file.h"
#include "output/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_pair(const char *secret_path, const char *public_path) {
    unsigned char secret_key[EFFACE_SECRET_KEY_BYTES], public_key[EFFACE_PUBLIC_KEY_BYTES];
    efface_error error;
    int code = cli_outcome(efface_keys_make(secret_key, public_key, &error), &error);
    CLI_THEN(code, cli_write_key(secret_path, CLI_SECRET_KEY, secret_key));
    if (code == CLI_DONE) {
        code = cli_write_key(public_path, CLI_PUBLIC_KEY, public_key);
        if (code != CLI_DONE)
            (void)unlink(secret_path); /* half a pair is of no use */
    }
    cli_wipe(secret_key, sizeof secret_key);
    return code;
}

static int write_receipt_key(const char *path) {
    unsigned char key[EFFACE_RECEIPT_KEY_BYTES];
    int code = cli_random(key, sizeof key);
    CLI_THEN(code, cli_write_key(path, CLI_RECEIPT_KEY, key));
    cli_wipe(key, sizeof key);
    return code;
}

static int make_keys(int n_arguments, char **arguments) {
    const char *secret_path = NULL, *public_path = NULL, *receipt_path = NULL;
    bool as_json = false;
    const cli_option options[] = {
        {"--secret", CLI_TEXT, &secret_path, NULL},
        {"--public", CLI_TEXT, &public_path, NULL},
        {"--receipt-key", CLI_TEXT, &receipt_path, NULL},
        {"--json", CLI_FLAG, &as_json, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    if (cli_parse("receipt", options, n_arguments, arguments) != CLI_DONE)
        return CLI_USAGE;
    const bool pair = secret_path != NULL && public_path != NULL;
    if ((secret_path != NULL) != (public_path != NULL) || (!pair && receipt_path == NULL))
        return cli_wrong("'receipt keys' needs --secret FILE and --public FILE, or --receipt-key "
                         "FILE: the files to write");
    int code = pair ? write_pair(secret_path, public_path) : CLI_DONE;
    if (code == CLI_DONE && receipt_path != NULL) {
        code = write_receipt_key(receipt_path);
        if (code != CLI_DONE && pair) {
            (void)unlink(secret_path);
            (void)unlink(public_path);
        }
    }
    if (code != CLI_DONE)
        return code;
    if (as_json) {
        cli_json json = cli_json_object(stdout);
        cli_json_text(&json, "secret", secret_path);
        cli_json_text(&json, "public", public_path);
        cli_json_text(&json, "receipt_key", receipt_path);
        cli_json_close(&json);
        return CLI_DONE;
    }
    if (pair)
        printf("secret key in %s: keep it, and show it to nobody\npublic key in %s: give it to "
               "everybody who verifies receipts\n",
               secret_path, public_path);
    if (receipt_path != NULL)
        printf("receipt key in %s: keep it; a store made with it cannot be changed without it\n",
               receipt_path);
    return CLI_DONE;
}

/* ---- verify */

/* What was found of the receipts of a file. */
typedef struct findings {
    const cli_lines *lines;
    bool *bad;     /* for each receipt */
    cli_json list; /* of problems */
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

static void print_receipt_findings(const findings *f, const char *problems, bool with_key,
                                   bool as_json) {
    uint64_t n_bad = 0;
    for (size_t i = 0; i < f->lines->n; i++)
        n_bad += f->bad[i];
    if (!as_json) {
        printf("%" PRIu64 " valid, %" PRIu64 " not%s\n", f->lines->n - n_bad, n_bad,
               with_key ? "" : "; without --public-key, signatures were not verified");
        return;
    }
    cli_json out = cli_json_object(stdout);
    cli_json_whole(&out, "valid", f->lines->n - n_bad);
    cli_json_whole(&out, "invalid", n_bad);
    cli_json_bool(&out, "signatures", with_key);
    cli_json_open(&out, "receipts", '[');
    for (size_t i = 0; i < f->lines->n; i++) {
        cli_json_open(&out, NULL, '{');
        cli_json_whole(&out, "line", f->lines->numbers[i]);
        cli_json_bool(&out, "valid", !f->bad[i]);
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
    findings f = {.lines = lines, .bad = calloc(lines->n, sizeof *f.bad)};
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
        print_receipt_findings(&f, problems, public_key != NULL, as_json);
        for (size_t i = 0; i < lines->n; i++)
            code = f.bad[i] ? CLI_DIFFERENT : code;
    }
    free(problems);
    free(f.bad);
    return code;
}

static int verify_receipts(int n_arguments, char **arguments) {
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

/* ---- has */

typedef struct has_choices {
    const char *receipts_path, *store_path, *list_path;
    cli_who who;
    cli_open how;
    bool json;
} has_choices;

/* The number of a receipt, which begins its line; 0 if it has none. */
static uint64_t receipt_number(const char *line) {
    uint64_t number = 0;
    return sscanf(line, "{\"receipt\":%" SCNu64, &number) == 1 ? number : 0;
}

/* The numbers of the receipts that have the root of a list, with commas between them: who is
 * learned and forgotten again leaves the same root. Release with free in any case. */
static int find_root(const has_choices *c, const cli_lines *receipts, const cli_hashes *list,
                     char **numbers) {
    unsigned char root[EFFACE_DIGEST_BYTES];
    char field[CLI_HEX_BYTES + 16];
    size_t n_bytes = 0, n_found = 0;
    efface_error error;
    if (efface_receipt_root(list->bytes, list->n, root, &error) != EFFACE_OK)
        return cli_report_error(&error);
    snprintf(field, sizeof field, "\"root\":\"%s\"", cli_hex_of(root).text);
    FILE *const out = open_memstream(numbers, &n_bytes);
    for (size_t i = 0; out != NULL && i < receipts->n; i++)
        if (strstr(receipts->items[i], field) != NULL)
            fprintf(out, "%s%" PRIu64, n_found++ > 0 ? "," : "",
                    receipt_number(receipts->items[i]));
    if (out == NULL || fclose(out) != 0)
        return cli_out_of_memory();
    return n_found > 0 ? CLI_DONE
                       : cli_different("no receipt of %s has the root of %s: the list belongs to "
                                       "another receipt, or was changed",
                                       c->receipts_path, c->list_path);
}

static bool list_has(const cli_hashes *list, const unsigned char hash[EFFACE_ROW_HASH_BYTES]) {
    for (size_t i = 0; i < list->n; i++)
        if (memcmp(list->bytes + i * EFFACE_ROW_HASH_BYTES, hash, EFFACE_ROW_HASH_BYTES) == 0)
            return true;
    return false;
}

static cli_token token_of(const cli_wanted *wanted, size_t i) {
    const uint64_t id = wanted->rows.items[i];
    return (cli_token){.number = id, .text = cli_wanted_text(wanted, id)};
}

static void print_ids(const cli_wanted *wanted, const bool *has, const char *numbers) {
    const char *const ending = strchr(numbers, ',') != NULL ? "s" : "";
    for (size_t i = 0; i < wanted->rows.n; i++) {
        const cli_token id = token_of(wanted, i);
        char digits[32];
        cli_format_token(digits, &id);
        cli_put_text(stdout, id.text != NULL ? id.text : digits);
        printf(" is %sin receipt%s %s\n", has[i] ? "" : "not ", ending, numbers);
    }
}

static void json_ids(const cli_wanted *wanted, const bool *has, const char *numbers) {
    cli_json json = cli_json_object(stdout);
    cli_json_open(&json, "receipts", '[');
    cli_json_raw(&json, NULL, numbers);
    cli_json_close(&json);
    cli_json_open(&json, "ids", '[');
    for (size_t i = 0; i < wanted->rows.n; i++) {
        const cli_token id = token_of(wanted, i);
        cli_json_open(&json, NULL, '{');
        cli_json_token(&json, "id", &id);
        cli_json_bool(&json, "has", has[i]);
        cli_json_close(&json);
    }
    cli_json_close_all(&json);
}

/* Says of each id whether its hash is in the list. */
static int look_for(efface_store *store, const unsigned char *key, const cli_wanted *wanted,
                    const cli_hashes *list, const char *numbers, bool as_json) {
    unsigned char hash[EFFACE_ROW_HASH_BYTES];
    efface_error error;
    int code = CLI_DONE;
    bool *const has = calloc(wanted->rows.n + 1, sizeof *has);
    if (has == NULL)
        return cli_out_of_memory();
    for (size_t i = 0; i < wanted->rows.n; i++) {
        if (efface_store_row_hash(store, key, wanted->rows.items[i], hash, &error) != EFFACE_OK) {
            free(has);
            return cli_report_error(&error);
        }
        has[i] = list_has(list, hash);
        code = has[i] ? code : CLI_NOT_FOUND;
    }
    (as_json ? json_ids : print_ids)(wanted, has, numbers);
    free(has);
    return code;
}

static int look_in_store(const has_choices *c, efface_store *store, const unsigned char *key,
                         const cli_lines *receipts) {
    cli_hashes list = {NULL, 0};
    cli_wanted wanted;
    char *numbers = NULL;
    int code = cli_read_who(&c->who, store, &wanted);
    if (code == CLI_DONE && wanted.owners.n > 0)
        code = cli_wrong("receipts contain rows but no owners: name the ids");
    CLI_THEN(code, cli_read_hashes(c->list_path, &list));
    CLI_THEN(code, find_root(c, receipts, &list, &numbers));
    CLI_THEN(code, look_for(store, key, &wanted, &list, numbers, c->json));
    free(numbers);
    free(list.bytes);
    cli_wanted_free(&wanted);
    return code;
}

static int look_for_rows(const has_choices *c) {
    unsigned char key[EFFACE_RECEIPT_KEY_BYTES];
    efface_store *store = NULL;
    cli_lines receipts = {.items = NULL};
    const bool with_key = c->how.receipt_key != NULL;
    int code = with_key ? cli_read_key(c->how.receipt_key, CLI_RECEIPT_KEY, key) : CLI_DONE;
    CLI_THEN(code, cli_read_receipts(c->receipts_path, &receipts));
    if (c->store_path != NULL)
        CLI_THEN(code, cli_open_store(c->store_path, &c->how, &store));
    CLI_THEN(code, look_in_store(c, store, with_key ? key : NULL, &receipts));
    efface_store_close(store);
    cli_lines_free(&receipts);
    cli_wipe(key, sizeof key);
    return code;
}

static int receipt_has(int n_arguments, char **arguments) {
    has_choices c = {.how = {.wait = -1}};
    const cli_option options[] = {
        {"RECEIPTS", CLI_PLACE, &c.receipts_path, NULL},
        {"STORE", CLI_PLACE_OR_NOT, &c.store_path, NULL},
        {"--list", CLI_TEXT, &c.list_path, NULL},
        {"--id", CLI_TEXTS, &c.who.ids, NULL},
        {"--key", CLI_TEXTS, &c.who.keys, NULL},
        {"--from", CLI_TEXTS, &c.who.files, NULL},
        {"--receipt-key", CLI_TEXT, &c.how.receipt_key, NULL},
        {"--wait", CLI_SECONDS, &c.how.wait, NULL},
        {"--json", CLI_FLAG, &c.json, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    int code = cli_parse("receipt", options, n_arguments, arguments);
    if (code == CLI_DONE && c.list_path == NULL)
        code = cli_wrong("'receipt has' needs --list FILE, a file from forget --list");
    if (code == CLI_DONE && !cli_who_given(&c.who))
        code = cli_wrong("'receipt has' needs --id, --key or --from to say which rows to look for");
    if (code == CLI_DONE && c.store_path == NULL && c.how.receipt_key == NULL)
        code = cli_wrong(
            "'receipt has' needs STORE or --receipt-key FILE for the key that hashes ids");
    CLI_THEN(code, look_for_rows(&c));
    cli_who_free(&c.who);
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
        printf("receipt %" PRIu64 ", model %s: %s\n", opening.receipt, opening.model,
               cli_hex_of(opening.digest).text);
    } else {
        printf("line %zu: %s\n", lines->numbers[i], error.message);
    }
    cli_wipe(&opening, sizeof opening);
    return status == EFFACE_OK ? CLI_DONE : CLI_DIFFERENT;
}

static int open_receipts(int n_arguments, char **arguments) {
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

static int run_receipt(int n_arguments, char **arguments) {
    static const struct {
        const char *name;
        int (*run)(int n_arguments, char **arguments);
    } parts[] = {{"keys", make_keys},
                 {"verify", verify_receipts},
                 {"has", receipt_has},
                 {"open", open_receipts}};
    for (size_t i = 0; n_arguments > 0 && i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(arguments[0], parts[i].name) == 0)
            return parts[i].run(n_arguments - 1, arguments + 1);
    return cli_wrong(
        "receipt must be followed by keys, verify, has or open; see efface receipt --help");
}

const cli_command cli_receipt = {
    "receipt",
    "make keys for receipts, verify receipts, look for rows in them",
    "usage: efface receipt keys [--secret FILE --public FILE] [--receipt-key FILE]\n"
    "       efface receipt verify FILE [--public-key FILE]\n"
    "       efface receipt has RECEIPTS [STORE] --list FILE (--id X | --key TEXT |\n"
    "           --from FILE) [--receipt-key FILE]\n"
    "       efface receipt open RECEIPTS OPENINGS\n"
    "A store keeps a receipt of every request (efface export --receipts). keys makes\n"
    "a pair of Ed25519 keys to --sign receipts, or a key that hashes ids in receipts\n"
    "(fit --receipt-key); it overwrites no file. verify names the lines of FILE (- is\n"
    "standard input) that are missing, doubled, out of order or changed. With a\n"
    "public key, it also names lines without a valid signature. has finds the receipt\n"
    "of a list (forget --list) and says which rows it contains. open says whether the\n"
    "openings that a request wrote open the commitments of its receipts.\n"
    "  --secret FILE, --public FILE, --receipt-key FILE\n"
    "                     the files that keys writes; for has, the key of the ids\n"
    "  --public-key FILE  the public key to verify with\n"
    "  --list FILE        the hashes of the receipt; --wait SECONDS for the store\n"
    "  --json             as JSON: secret, public, receipt_key; or valid, invalid,\n"
    "                     receipts, problems; or receipts, ids with id and has; or\n"
    "                     openings with line, receipt, model, opens\n"
    "Exit codes: 0 done, all valid, all there; 3 a problem, or no receipt has the\n"
    "list; 1 failed; 2 usage; 4 not found.\n"
    "example: efface receipt keys --secret signing.key --public signing.pub\n"
    "         efface export people.store --receipts -o receipts.jsonl\n"
    "         efface receipt verify receipts.jsonl --public-key signing.pub\n",
    .run = run_receipt,
};
