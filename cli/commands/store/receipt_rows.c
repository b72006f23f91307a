/* efface receipt has: whether a receipt is about a row, and what it says became of it. */
#include "commands/store/receipt_line.h"
#include "commands/store/receipt_parts.h"
#include "input/secrets.h"
#include "input/stores.h"
#include "input/text_lines.h"
#include "input/wanted.h"
#include "output/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct has_choices {
    const char *receipts_path, *store_path, *list_path;
    cli_who who;
    cli_open how;
    bool json;
} has_choices;

/* The receipts that have the root of a list: who is learned and forgotten again leaves the same root
 * twice. */
typedef struct with_root {
    cli_receipt_line *items;
    const char **lines; /* of which they were read */
    size_t n;
} with_root;

static void free_with_root(with_root *found) {
    free(found->items);
    free(found->lines);
}

/* Release `found` either way. */
static int find_root(const has_choices *c, const cli_lines *receipts, const cli_hashes *list,
                     with_root *found) {
    unsigned char root[EFFACE_DIGEST_BYTES];
    char field[CLI_HEX_BYTES + 16];
    efface_error error;
    *found = (with_root){.items = calloc(receipts->n, sizeof *found->items),
                         .lines = calloc(receipts->n, sizeof *found->lines)};
    if (found->items == NULL || found->lines == NULL)
        return cli_out_of_memory();
    if (efface_receipt_root(list->bytes, list->n, root, &error) != EFFACE_OK)
        return cli_report_error(&error);
    snprintf(field, sizeof field, "\"root\":\"%s\"", cli_hex_of(root).text);
    for (size_t i = 0; i < receipts->n; i++) {
        found->lines[found->n] = receipts->items[i];
        found->n += strstr(receipts->items[i], field) != NULL &&
                    cli_read_receipt(receipts->items[i], &found->items[found->n]);
    }
    return found->n > 0 ? CLI_DONE
                        : cli_different("no receipt of %s has the root of %s: the list belongs to "
                                        "another receipt, or was changed",
                                        c->receipts_path, c->list_path);
}

/* Another store has another key, under which no id has the hash that it has here. */
static int check_store_wrote(const has_choices *c, efface_store *store, const with_root *found) {
    for (size_t i = 0; store != NULL && i < found->n; i++) {
        char *line = NULL;
        efface_error error;
        const uint64_t number = found->items[i].number;
        const efface_status status = efface_store_receipt(store, number, &line, &error);
        const bool same = status == EFFACE_OK && strcmp(line, found->lines[i]) == 0;
        efface_text_free(line);
        if (status != EFFACE_OK && status != EFFACE_E_NOT_FOUND)
            return cli_report_error(&error);
        if (!same)
            return cli_different("receipt %" PRIu64 " of %s was not written by %s, whose key is "
                                 "another one: nothing can be said about ids; name the store that "
                                 "wrote it",
                                 number, c->receipts_path, c->store_path);
    }
    return CLI_DONE;
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

static void print_ids(const cli_wanted *wanted, const bool *has, const with_root *found) {
    for (size_t i = 0; i < wanted->rows.n; i++) {
        const cli_token id = token_of(wanted, i);
        char digits[32];
        cli_format_token(digits, &id);
        cli_put_text(stdout, id.text != NULL ? id.text : digits);
        for (size_t j = 0; j < found->n; j++) {
            printf("%s receipt %" PRIu64 " (%s, ",
                   j > 0    ? " and"
                   : has[i] ? " is in"
                            : " is not in",
                   found->items[j].number, cli_receipt_past(found->items[j].kind));
            cli_put_text(stdout, found->items[j].time);
            putchar(')');
        }
        puts(has[i] ? "" : "; receipts have ids of rows, not owners");
    }
}

static void json_ids(const cli_wanted *wanted, const bool *has, const with_root *found) {
    cli_json json = cli_json_object(stdout);
    cli_json_open(&json, "receipts", '[');
    for (size_t i = 0; i < found->n; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_whole(&json, "receipt", found->items[i].number);
        cli_json_text(&json, "kind", found->items[i].kind);
        cli_json_text(&json, "time", found->items[i].time);
        cli_json_close(&json);
    }
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

static bool is_digits(const char *text) {
    return text[strspn(text, "0123456789")] == '\0';
}

/* What a person may take for something else. */
static void note_meaning(const has_choices *c, efface_store *store, const cli_wanted *wanted,
                         const bool *has, const with_root *found) {
    bool any = false, forgotten = false;
    for (size_t i = 0; i < wanted->rows.n; i++) {
        const char *const text = cli_wanted_text(wanted, wanted->rows.items[i]);
        any |= has[i];
        if (!has[i] && text != NULL && is_digits(text))
            cli_say(
                "%s was looked for as a text and as a number; a number needs all its digits, and "
                "some programs round it",
                text);
        else if (!has[i] && text != NULL && cli_advice_on_text(text)[0] != '\0')
            cli_say("%s was looked for as it stands%s", text, cli_advice_on_text(text));
    }
    for (size_t i = 0; i < found->n; i++)
        forgotten |= strcmp(found->items[i].kind, "forget") == 0;
    if (any && !forgotten)
        cli_say("this receipt is not about rows that were forgotten");
    if (!any && store == NULL)
        cli_say(
            "nothing was found under the key in %s; name STORE to know whether it is the key of "
            "these receipts",
            c->how.receipt_key);
}

/* Whether the hash of an id is in the list: of a text of digits also if it is the number that efface
 * shows for another text. */
static int look_for_one(efface_store *store, const unsigned char *key, const cli_wanted *wanted,
                        uint64_t id, const cli_hashes *list, bool *has) {
    const char *const text = cli_wanted_text(wanted, id);
    unsigned char hash[EFFACE_ROW_HASH_BYTES];
    efface_name name;
    efface_error error;
    efface_status status = efface_store_row_hash(store, key, id, hash, &error);
    *has = status == EFFACE_OK && list_has(list, hash);
    if (status == EFFACE_OK && !*has && text != NULL && is_digits(text) &&
        efface_name_normalize(text, strlen(text), EFFACE_IDS_NUMBERS, NULL, &name, NULL) ==
            EFFACE_OK) {
        status = efface_store_row_hash(store, key, name.number, hash, &error);
        *has = status == EFFACE_OK && list_has(list, hash);
    }
    return cli_outcome(status, &error);
}

/* Says of each id whether its hash is in the list. */
static int look_for(const has_choices *c, efface_store *store, const unsigned char *key,
                    const cli_wanted *wanted, const cli_hashes *list, const with_root *found) {
    bool *const has = calloc(wanted->rows.n + 1, sizeof *has);
    bool all = true;
    int code = has != NULL ? CLI_DONE : cli_out_of_memory();
    for (size_t i = 0; code == CLI_DONE && i < wanted->rows.n; i++) {
        code = look_for_one(store, key, wanted, wanted->rows.items[i], list, &has[i]);
        all = all && has[i];
    }
    if (code == CLI_DONE) {
        (c->json ? json_ids : print_ids)(wanted, has, found);
        note_meaning(c, store, wanted, has, found);
    }
    free(has);
    return code == CLI_DONE && !all ? CLI_NOT_FOUND : code;
}

static int look_in_store(const has_choices *c, efface_store *store, const unsigned char *key,
                         const cli_lines *receipts) {
    cli_hashes list = {NULL, 0};
    cli_wanted wanted;
    with_root found = {.items = NULL};
    int code = cli_read_who(&c->who, store, &wanted);
    if (code == CLI_DONE && wanted.owners.n > 0)
        code = cli_wrong("receipts contain rows but no owners: name the ids");
    CLI_THEN(code, cli_read_hashes(c->list_path, &list));
    CLI_THEN(code, find_root(c, receipts, &list, &found));
    CLI_THEN(code, check_store_wrote(c, store, &found));
    CLI_THEN(code, look_for(c, store, key, &wanted, &list, &found));
    free_with_root(&found);
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

int cli_receipt_has(int n_arguments, char **arguments) {
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
