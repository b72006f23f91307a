/* efface forget: rows and owners leave the store and every model. */
#include "json_writer.h"
#include "wanted.h"

#include <inttypes.h>
#include <string.h>

typedef struct choices {
    const char *store_path, *sign;
    cli_texts ids, keys, owners, owner_keys, files;
    bool dry_run, skip_missing, yes, json;
} choices;

static bool read_choices(choices *c, int n_arguments, char **arguments) {
    const cli_option options[] = {
        {"STORE", CLI_PLACE, &c->store_path, NULL},
        {"--id", CLI_TEXTS, &c->ids, NULL},
        {"--key", CLI_TEXTS, &c->keys, NULL},
        {"--owner", CLI_TEXTS, &c->owners, NULL},
        {"--owner-key", CLI_TEXTS, &c->owner_keys, NULL},
        {"--from", CLI_TEXTS, &c->files, NULL},
        {"--dry-run", CLI_FLAG, &c->dry_run, NULL},
        {"--skip-missing", CLI_FLAG, &c->skip_missing, NULL},
        {"--sign", CLI_TEXT, &c->sign, NULL},
        {"--yes", CLI_FLAG, &c->yes, NULL},
        {"--json", CLI_FLAG, &c->json, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    if (!cli_parse("forget", options, n_arguments, arguments))
        return false;
    if (c->ids.n + c->keys.n + c->owners.n + c->owner_keys.n + c->files.n == 0) {
        (void)cli_wrong("forget needs --id, --key, --owner or --from: who is to be forgotten");
        return false;
    }
    return true;
}

static int read_wanted(const choices *c, const efface_store *store, cli_wanted *wanted) {
    int code = CLI_DONE;
    for (size_t i = 0; i < c->ids.n && code == CLI_DONE; i++)
        code = cli_want_id(wanted, c->ids.items[i]);
    for (size_t i = 0; i < c->keys.n && code == CLI_DONE; i++)
        code = cli_want_key(wanted, store, c->keys.items[i]);
    for (size_t i = 0; i < c->owners.n && code == CLI_DONE; i++)
        code = cli_want_owner(wanted, store, c->owners.items[i]);
    for (size_t i = 0; i < c->owner_keys.n && code == CLI_DONE; i++)
        code = cli_want_owner_key(wanted, store, c->owner_keys.items[i]);
    for (size_t i = 0; i < c->files.n && code == CLI_DONE; i++)
        code = cli_want_file(wanted, store, c->files.items[i]);
    cli_wanted_sort(wanted);
    return code;
}

/* One call of the library; a message explains ids that were texts. */
static int send_request(efface_store *store, const cli_wanted *wanted,
                        const efface_request *request, efface_store_report *report) {
    efface_error error;
    memset(report, 0, sizeof *report);
    if (request->n_ids + request->n_owners == 0) {
        cli_say("nobody was named: there is nothing to forget");
        return CLI_DONE;
    }
    cli_progress_begin(request->only_look ? "looking" : "forgetting", 0, 0);
    const efface_status status = efface_store_forget(store, request, report, &error);
    cli_progress_end();
    if (status == EFFACE_OK)
        return CLI_DONE;
    const int code = cli_report_error(&error);
    if (status == EFFACE_E_NOT_FOUND) {
        cli_wanted_explain(wanted, error.message);
        cli_say("nothing was changed; --skip-missing forgets those that are there");
    }
    return code;
}

/* Asks with the numbers before one's eyes: how many rows an owner has is not known before. */
static int confirm(const choices *c, efface_store *store, const cli_wanted *wanted,
                   efface_request request) {
    efface_store_report report;
    uint32_t n_hard = 0;
    request.only_look = 1;
    const int code = send_request(store, wanted, &request, &report);
    if (code != CLI_DONE)
        return code;
    for (uint32_t i = 0; i < report.n_models; i++)
        n_hard += report.models[i].report.action != EFFACE_ACTION_UNTOUCHED;
    const uint64_t n = report.n_forgotten, n_models = report.n_models;
    efface_store_report_free(&report);
    return cli_ask("Forget %" PRIu64 " row%s of %s, in %" PRIu64 " model%s, of which %" PRIu32
                   " must be repaired?",
                   n, n == 1 ? "" : "s", c->store_path, n_models, n_models == 1 ? "" : "s", n_hard)
               ? CLI_DONE
               : CLI_FAILED;
}

static int forget(const choices *c) {
    efface_store *store = NULL;
    cli_wanted wanted;
    bool ask = false;
    memset(&wanted, 0, sizeof wanted);
    int code = c->dry_run ? CLI_DONE : cli_may_change("forget", c->yes, &ask);
    if (code != CLI_DONE)
        return code;
    for (size_t i = 0; ask && i < c->files.n; i++)
        if (strcmp(c->files.items[i], "-") == 0)
            return cli_wrong("standard input has the ids, so it cannot have the answer: add --yes");
    if (!cli_open_store(c->store_path, c->dry_run ? EFFACE_ACCESS_READ : EFFACE_ACCESS_WRITE,
                        &store, &code))
        return code;
    code = read_wanted(c, store, &wanted);
    const efface_request request = {
        .ids = wanted.rows.items,
        .n_ids = wanted.rows.n,
        .owners = wanted.owners.items,
        .n_owners = wanted.owners.n,
        .missing = c->skip_missing ? EFFACE_MISSING_SKIP : EFFACE_MISSING_FAIL,
        .only_look = c->dry_run,
    };
    if (code == CLI_DONE && !c->dry_run)
        code = cli_sign_with(store, c->sign);
    if (code == CLI_DONE && ask)
        code = confirm(c, store, &wanted, request);
    if (code == CLI_DONE) {
        efface_store_report report;
        code = send_request(store, &wanted, &request, &report);
        if (code == CLI_DONE) {
            const cli_change change = {.verb = c->dry_run ? "would be forgotten" : "forgotten",
                                       .look = c->dry_run,
                                       .json = c->json};
            cli_print_change(&change, &report);
            efface_store_report_free(&report);
        }
    }
    cli_wanted_free(&wanted);
    efface_store_close(store);
    return code;
}

static int run(int n_arguments, char **arguments) {
    choices c;
    memset(&c, 0, sizeof c);
    const int code = read_choices(&c, n_arguments, arguments) ? forget(&c) : CLI_USAGE;
    cli_texts_free(&c.ids);
    cli_texts_free(&c.keys);
    cli_texts_free(&c.owners);
    cli_texts_free(&c.owner_keys);
    cli_texts_free(&c.files);
    return code;
}

const cli_command cli_forget = {
    "forget",
    "forget rows, in the store and in every model",
    "usage: efface forget STORE (--id N | --key TEXT | --owner X | --from FILE)\n"
    "           [OPTIONS]\n"
    "Forgets rows, in the store and in every model, all of them or, if one is not\n"
    "there, none. Options that say who can be repeated and mixed.\n"
    "  --id N,N,...     rows by their ids\n"
    "  --key TEXT       a row whose id is a text\n"
    "  --owner X        all rows of an owner: whole numbers N,N,... are owners by\n"
    "                   number, anything else is a text, commas and all\n"
    "  --owner-key X    all rows of an owner that is a text, such as \"007\"\n"
    "  --from FILE      one a line: N, key:TEXT, owner:X or owner-key:TEXT; - is\n"
    "                   standard input\n"
    "  --skip-missing   forget those that are there, count the others\n"
    "  --dry-run        say what it would take, change nothing\n"
    "  --sign FILE      sign the receipt with this secret key (efface receipt keys)\n"
    "  --yes            do not ask; needed where there is no terminal\n"
    "  --json           the report as JSON: requested, forgotten, missing, models\n"
    "Exit codes: 0 done, 2 usage or no --yes, 4 not found, 5 busy, 6 damaged.\n"
    "examples: efface forget people.store --id 17,42 --yes\n"
    "          efface forget people.store --owner p123 --dry-run\n"
    "          efface forget people.store --from requests.txt --skip-missing --yes\n",
    run,
};
