/* efface receipt: keys to sign receipts with, and whether signatures hold. */
#include "json_writer.h"
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int make_keys(int n_arguments, char **arguments) {
    const char *secret_path = NULL, *public_path = NULL;
    bool as_json = false;
    const cli_option options[] = {
        {"--secret", CLI_TEXT, &secret_path, NULL},
        {"--public", CLI_TEXT, &public_path, NULL},
        {"--json", CLI_FLAG, &as_json, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    unsigned char secret_key[EFFACE_SECRET_KEY_BYTES], public_key[EFFACE_PUBLIC_KEY_BYTES];
    efface_error error;
    int code = CLI_DONE;
    if (!cli_parse("receipt", options, n_arguments, arguments))
        return CLI_USAGE;
    if (secret_path == NULL || public_path == NULL)
        return cli_wrong("receipt keys needs --secret FILE and --public FILE, which it writes");
    if (efface_keys_make(secret_key, public_key, &error) != EFFACE_OK)
        return cli_report_error(&error);
    if (cli_write_key(secret_path, secret_key, sizeof secret_key, true, &code) &&
        !cli_write_key(public_path, public_key, sizeof public_key, false, &code))
        (void)unlink(secret_path); /* half a pair is of no use */
    cli_wipe(secret_key, sizeof secret_key);
    if (code != CLI_DONE)
        return code;
    if (!as_json) {
        printf("secret key in %s: keep it, and show it to nobody\npublic key in %s: give it to "
               "those who verify receipts\n",
               secret_path, public_path);
        return CLI_DONE;
    }
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "secret", secret_path);
    cli_json_text(&json, "public", public_path);
    cli_json_close(&json, '}');
    return CLI_DONE;
}

/* What was found of the receipts of a file. */
typedef struct tally {
    uint64_t n_good, n_bad;
    cli_json *json; /* an open array, or NULL */
} tally;

static int try_receipt(tally *t, const char *line, size_t number,
                       const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES]) {
    efface_error error;
    const efface_status status = efface_receipt_verify(line, public_key, &error);
    if (status != EFFACE_OK && status != EFFACE_E_ARGUMENT && status != EFFACE_E_FORMAT)
        return cli_report_error(&error);
    t->n_good += status == EFFACE_OK;
    t->n_bad += status != EFFACE_OK;
    if (t->json != NULL) {
        cli_json_open(t->json, NULL, '{');
        cli_json_whole(t->json, "line", number);
        cli_json_bool(t->json, "valid", status == EFFACE_OK);
        cli_json_close(t->json, '}');
    }
    if (status != EFFACE_OK)
        (void)cli_failed("line %zu: %s", number, error.message);
    return CLI_DONE;
}

/* The receipt in a line of what export wrote, without the brackets and commas of an array. */
static char *receipt_in(char *line, size_t n) {
    while (n > 0 && strchr(" \t\r\n,", line[n - 1]) != NULL)
        line[--n] = '\0';
    line += strspn(line, " \t");
    return strcmp(line, "[") == 0 || strcmp(line, "]") == 0 || line[0] == '\0' ? NULL : line;
}

static int try_file(tally *t, const char *path,
                    const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES]) {
    const bool from_stdin = strcmp(path, "-") == 0;
    FILE *const file = from_stdin ? stdin : fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    int code = CLI_DONE;
    if (file == NULL)
        return errno == ENOENT ? cli_not_found("there is no file '%s'", path)
                               : cli_failed("cannot read %s: %s", path, strerror(errno));
    size_t number = 0;
    for (ssize_t n; code == CLI_DONE && (n = getline(&line, &capacity, file)) >= 0;) {
        number++;
        if (strlen(line) != (size_t)n) {
            code = cli_failed("%s, line %zu: a zero byte; the file has no receipts", path, number);
            break;
        }
        const char *const receipt = receipt_in(line, (size_t)n);
        if (receipt != NULL)
            code = try_receipt(t, receipt, number, public_key);
    }
    if (code == CLI_DONE && ferror(file) != 0)
        code = cli_failed("cannot read %s: %s", path, strerror(errno));
    free(line);
    if (!from_stdin)
        fclose(file);
    if (code == CLI_DONE && t->n_good + t->n_bad == 0)
        code = cli_failed("there are no receipts in %s", path);
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
    int code = CLI_DONE;
    if (!cli_parse("receipt", options, n_arguments, arguments))
        return CLI_USAGE;
    if (key_path == NULL)
        return cli_wrong("receipt verify needs --public-key FILE");
    if (!cli_read_key(key_path, public_key, sizeof public_key, false, &code))
        return code;

    /* The list is kept back until all is known: a failure leaves standard output empty. */
    char *list = NULL;
    size_t list_bytes = 0;
    cli_json json = {.out = open_memstream(&list, &list_bytes)};
    tally t = {0, 0, as_json ? &json : NULL};
    if (json.out == NULL)
        return cli_out_of_memory();
    cli_json_open(&json, NULL, '[');
    code = try_file(&t, path, public_key);
    cli_json_close(&json, ']');
    if (fclose(json.out) != 0)
        code = cli_out_of_memory();
    if (code == CLI_DONE && as_json) {
        cli_json out = {.out = stdout};
        list[strcspn(list, "\n")] = '\0';
        cli_json_open(&out, NULL, '{');
        cli_json_whole(&out, "valid", t.n_good);
        cli_json_whole(&out, "invalid", t.n_bad);
        cli_json_raw(&out, "receipts", list);
        cli_json_close(&out, '}');
    } else if (code == CLI_DONE) {
        printf("%" PRIu64 " valid, %" PRIu64 " not\n", t.n_good, t.n_bad);
    }
    free(list);
    return code == CLI_DONE && t.n_bad > 0 ? CLI_DIFFERENT : code;
}

static int run(int n_arguments, char **arguments) {
    if (n_arguments > 0 && strcmp(arguments[0], "keys") == 0)
        return make_keys(n_arguments - 1, arguments + 1);
    if (n_arguments > 0 && strcmp(arguments[0], "verify") == 0)
        return verify_receipts(n_arguments - 1, arguments + 1);
    return cli_wrong("receipt is followed by keys or verify; see efface receipt --help");
}

const cli_command cli_receipt = {
    "receipt",
    "make keys to sign receipts with, and verify receipts",
    "usage: efface receipt keys --secret FILE --public FILE [--json]\n"
    "       efface receipt verify FILE --public-key FILE [--json]\n"
    "A store keeps a receipt of every request (efface export --receipts), and with\n"
    "--sign FILE, forget and learn sign it. `keys` makes a pair of Ed25519 keys; it\n"
    "writes over no file, and only you can read the secret one. `verify` says of each\n"
    "receipt in FILE (- is standard input) whether it was signed with the secret key\n"
    "that belongs to the public one, and has not been changed since.\n"
    "  --secret FILE      where to write the secret key\n"
    "  --public FILE      where to write the public key\n"
    "  --public-key FILE  the public key to verify with\n"
    "  --json             as JSON: secret, public; or valid, invalid, receipts\n"
    "Exit codes: 0 done, all valid; 3 a receipt is unsigned, changed, or signed with\n"
    "another key; 1 failed; 2 usage; 4 not found.\n"
    "example: efface receipt keys --secret signing.key --public signing.pub\n"
    "         efface forget people.store --id 17 --sign signing.key --yes\n"
    "         efface export people.store --receipts -o receipts.jsonl\n"
    "         efface receipt verify receipts.jsonl --public-key signing.pub\n",
    run,
};
