/* efface forget: rows and owners leave the store and every model. */
#include "commands/rows/change_report.h"
#include "input/asking.h"
#include "input/wanted.h"

#include <inttypes.h>
#include <string.h>

typedef struct choices {
    const char *store_path;
    cli_who who;
    cli_change_options change;
    bool dry_run, skip_missing, yes, json;
} choices;

static int read_forget_choices(choices *c, int n_arguments, char **arguments) {
    const cli_option options[] = {
        CLI_STORE_OPTIONS(c->store_path, c->change.open, c->json),
        CLI_WHO_OPTIONS(c->who),
        {"--dry-run", CLI_FLAG, &c->dry_run, NULL},
        {"--skip-missing", CLI_FLAG, &c->skip_missing, NULL},
        CLI_CHANGE_OPTIONS(c->change),
        {"--yes", CLI_FLAG, &c->yes, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    const int code = cli_parse("forget", options, n_arguments, arguments);
    if (code == CLI_DONE && !cli_who_given(&c->who))
        return cli_wrong("forget needs --id, --key, --owner or --from to say which rows to forget");
    if (code == CLI_DONE && c->dry_run && c->change.list != NULL)
        return cli_wrong("--dry-run makes no receipt, so there is nothing to --list");
    return code;
}

/* Sends the request or, with `look`, only asks what it would do. */
static int send_request(efface_store *store, const cli_wanted *wanted,
                        const efface_request *request, bool look, efface_store_report *report) {
    efface_error error;
    memset(report, 0, sizeof *report);
    if (request->n_ids + request->n_owners == 0) {
        cli_say("no row was named: there is nothing to forget");
        return CLI_DONE;
    }
    cli_progress_begin(look ? "looking" : "forgetting");
    const efface_status status =
        (look ? efface_store_preview : efface_store_forget)(store, request, report, &error);
    cli_progress_end();
    if (status == EFFACE_OK)
        return CLI_DONE;
    if (status != EFFACE_E_NOT_FOUND)
        return cli_report_error(&error);
    return cli_wanted_missing(wanted, store, &error,
                              "; nothing was changed (--skip-missing forgets the others)");
}

/* Asks with the numbers in the question: nobody knows before how many rows an owner has. */
static int confirm_forget(const choices *c, efface_store *store, const cli_wanted *wanted,
                          const efface_request *request) {
    efface_store_report report;
    uint32_t n_hard = 0;
    const int code = send_request(store, wanted, request, true, &report);
    if (code != CLI_DONE)
        return code;
    for (uint32_t i = 0; i < report.n_models; i++)
        n_hard += report.models[i].report.action != EFFACE_ACTION_ADJUSTED;
    const uint64_t n = report.n_forgotten, n_models = report.n_models;
    efface_store_report_free(&report);
    return cli_ask("Forget %" PRIu64 " row%s of %s, in %" PRIu64 " model%s (%" PRIu32
                   " must be repaired)?",
                   n, n == 1 ? "" : "s", c->store_path, n_models, n_models == 1 ? "" : "s", n_hard)
               ? CLI_DONE
               : CLI_FAILED;
}

static int send_and_print(const choices *c, efface_store *store, const cli_wanted *wanted,
                          const efface_request *request) {
    const cli_change change = {.kind = CLI_FORGOTTEN, .look = c->dry_run, .json = c->json};
    efface_store_report report;
    cli_fresh list;
    int code = cli_fresh_open(&list, c->change.list);
    CLI_THEN(code, send_request(store, wanted, request, c->dry_run, &report));
    if (code == CLI_DONE) {
        cli_print_change(&change, &report);
        code = cli_write_hashes(&list, &report);
        efface_store_report_free(&report);
    }
    cli_fresh_abandon(&list);
    return code;
}

static int forget_wanted(const choices *c, efface_store *store, bool ask) {
    cli_wanted wanted;
    int code = cli_read_who(&c->who, store, &wanted);
    const efface_request request =
        cli_wanted_request(&wanted, c->skip_missing ? EFFACE_MISSING_SKIP : EFFACE_MISSING_FAIL);
    if (ask)
        CLI_THEN(code, confirm_forget(c, store, &wanted, &request));
    CLI_THEN(code, send_and_print(c, store, &wanted, &request));
    cli_wanted_free(&wanted);
    return code;
}

static int forget_rows(const choices *c) {
    const cli_open to_look = {.access = EFFACE_ACCESS_READ, .wait = c->change.open.wait};
    efface_store *store = NULL;
    bool ask = false;
    int code = c->dry_run ? CLI_DONE : cli_may_change("forget", c->yes, &ask);
    if (code == CLI_DONE && ask && cli_who_reads_stdin(&c->who))
        return cli_wrong(
            "the ids come from standard input, so you cannot be asked there: add --yes");
    CLI_THEN(code, cli_open_store(c->store_path, c->dry_run ? &to_look : &c->change.open, &store));
    CLI_THEN(code, forget_wanted(c, store, ask));
    efface_store_close(store);
    return code;
}

static int run_forget(int n_arguments, char **arguments) {
    choices c = {.change = CLI_CHANGE_DEFAULTS};
    int code = read_forget_choices(&c, n_arguments, arguments);
    CLI_THEN(code, forget_rows(&c));
    cli_who_free(&c.who);
    return code;
}

const cli_command cli_forget = {
    "forget",
    "forget rows, in the store and in every model",
    "usage: efface forget STORE (--id X | --key TEXT | --owner X | --from FILE)\n"
    "           [OPTIONS]\n"
    "Forgets rows, in the store and in every model. If one row is missing, it forgets\n"
    "none. You can repeat and combine the options that name rows.\n" CLI_WHO_HELP
    "  --skip-missing       if some do not exist, forget the others\n"
    "  --dry-run            say what will be done, and change nothing\n"
    "  --sign FILE          sign the receipt with a secret key (efface receipt keys)\n"
    "  --receipt-key FILE   the key of the receipts, if the store does not keep it\n"
    "  --opening FILE       write what opens the receipt to a new file\n"
    "  --list FILE          write the hashes of the forgotten ids to a new file\n"
    "  --wait SECONDS       how long to wait for a busy store (5)\n"
    "  --yes                do not ask; needed if there is no terminal\n"
    "  --json               as JSON: requested, forgotten, missing, models\n"
    "Exit codes: 0 done, 2 usage or no --yes, 4 not found, 5 busy, 6 damaged.\n"
    "examples: efface forget people.store --id 17,42 --yes\n"
    "          efface forget people.store --owner p123 --dry-run\n"
    "          efface forget people.store --from requests.txt --skip-missing --yes\n",
    .run = run_forget,
};
