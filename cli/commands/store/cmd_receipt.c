/* efface receipt: makes keys for receipts; its other parts have files of their own. */
#include "commands/store/receipt_parts.h"
#include "input/options.h"
#include "input/secrets.h"
#include "output/output.h"

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
               "everyone who verifies receipts\n",
               secret_path, public_path);
    if (receipt_path != NULL)
        printf("receipt key in %s: keep it; a store made with it cannot be changed without it\n",
               receipt_path);
    return CLI_DONE;
}

static int run_receipt(int n_arguments, char **arguments) {
    static const struct {
        const char *name;
        int (*run)(int n_arguments, char **arguments);
    } parts[] = {{"keys", make_keys},
                 {"show", cli_receipt_show},
                 {"verify", cli_receipt_verify},
                 {"has", cli_receipt_has},
                 {"open", cli_receipt_open}};
    for (size_t i = 0; n_arguments > 0 && i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(arguments[0], parts[i].name) == 0)
            return parts[i].run(n_arguments - 1, arguments + 1);
    return cli_wrong("receipt must be followed by keys, show, verify, has or open; see efface "
                     "receipt --help");
}

const cli_command cli_receipt = {
    "receipt",
    "explain and verify receipts, look for rows in them, make keys",
    "usage: efface receipt show STORE|FILE [N] [--public-key FILE]\n"
    "       efface receipt verify FILE [--public-key FILE]\n"
    "       efface receipt has FILE [STORE] --list LIST --id X|--key TEXT|--from F\n"
    "       efface receipt open FILE OPENINGS\n"
    "       efface receipt keys [--secret FILE --public FILE] [--receipt-key FILE]\n"
    "A store keeps a receipt of every request; export --receipts writes them to FILE.\n"
    "show says in words what receipt N (the last) is about, what it proves, and what\n"
    "not. verify names receipts that are missing, doubled, out of order or changed,\n"
    "and with a public key those without a valid signature. has finds the receipt of\n"
    "a LIST (forget --list), and says whether it was to forget, learn or update, and\n"
    "which rows it is about. open says whether openings that a request wrote open\n"
    "their receipts. keys makes a pair of keys to --sign receipts, or a key for ids\n"
    "in them (fit --receipt-key); it overwrites no file.\n"
    "  --public-key FILE  the public key to verify with; a receipt without a valid\n"
    "                     signature of this key is an error then\n"
    "  --receipt-key FILE has: the key of the ids; --wait SECONDS for the store\n"
    "  --json             as JSON: see the manual page\n"
    "Exit codes: 0 done, all in order, all there; 3 a problem, no receipt has the\n"
    "list, or STORE has another key; 1 failed; 2 usage; 4 not found.\n"
    "example: efface receipt keys --secret signing.key --public signing.pub\n"
    "         efface receipt show people.store 1 --public-key signing.pub\n"
    "         efface export people.store --receipts -o receipts.jsonl\n",
    .run = run_receipt,
};
