/* efface forget: rows and owners leave the store and every model. */
#include "commands/rows/change_report.h"
#include "input/asking.h"
#include "input/wanted.h"

#include <inttypes.h>

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

/* What a request came to. */
typedef struct outcome {
    efface_store_report report;
    cli_missing missing; /* who is not there, where that is allowed */
} outcome;

static void free_outcome(outcome *o) {
    efface_store_report_free(&o->report);
    cli_missing_free(&o->missing);
}

static efface_status send_as(efface_store *store, const efface_request *request, bool look,
                             efface_store_report *report, efface_error *error) {
    cli_progress_begin(look ? "looking" : "forgetting");
    const efface_status status =
        (look ? efface_store_preview : efface_store_forget)(store, request, report, error);
    cli_progress_end();
    return status;
}

/* Sends the request or, with `look`, only asks what it would do. Who is missing can be told only
 * before the others are gone; so they are skipped in a second try. */
static int send_request(const choices *c, efface_store *store, const cli_wanted *wanted, bool look,
                        outcome *o) {
    efface_request request = cli_wanted_request(wanted, EFFACE_MISSING_FAIL);
    efface_error error;
    *o = (outcome){.report = {.n_requested = 0}};
    if (request.n_ids + request.n_owners == 0) {
        cli_say("no row was named: there is nothing to forget");
        return CLI_DONE;
    }
    efface_status status = send_as(store, &request, look, &o->report, &error);
    if (status == EFFACE_E_NOT_FOUND && c->skip_missing) {
        (void)cli_find_missing(wanted, store, &o->missing);
        request.missing = EFFACE_MISSING_SKIP;
        status = send_as(store, &request, look, &o->report, &error);
    } else if (status == EFFACE_E_NOT_FOUND) {
        return cli_wanted_missing(wanted, store, &error, "; nothing was changed",
                                  "; nothing was changed (--skip-missing forgets the others)");
    }
    return cli_outcome(status, &error);
}

/* Names those who were skipped. It is a failure if nobody else was named. */
static int say_skipped(const choices *c, efface_store *store, const cli_wanted *wanted,
                       const outcome *o) {
    const uint64_t n_missing = o->report.n_missing;
    const bool all = n_missing > 0 && n_missing == o->report.n_requested;
    const bool named = o->missing.rows.n + o->missing.owners.n > 0;
    if (all && !named)
        return cli_not_found("not found: none of those who were named");
    if (!named)
        return CLI_DONE;
    return cli_say_missing(&o->missing, wanted, store, all,
                           !all         ? ""
                           : c->dry_run ? "; nobody will be forgotten"
                                        : "; nobody was forgotten, and no model was changed");
}

/* Asks with the numbers in the question: nobody knows before how many rows an owner has. */
static int confirm_forget(const choices *c, efface_store *store, const cli_wanted *wanted) {
    outcome o;
    uint32_t n_hard = 0;
    int code = send_request(c, store, wanted, true, &o);
    CLI_THEN(code, say_skipped(c, store, wanted, &o));
    for (uint32_t i = 0; code == CLI_DONE && i < o.report.n_models; i++)
        n_hard += o.report.models[i].report.action != EFFACE_ACTION_ADJUSTED;
    const uint64_t n = o.report.n_forgotten, n_models = o.report.n_models;
    free_outcome(&o);
    if (code != CLI_DONE)
        return code;
    return cli_ask("Forget %" PRIu64 " row%s of %s, in %" PRIu64 " model%s (%" PRIu32
                   " must be repaired)?",
                   n, n == 1 ? "" : "s", c->store_path, n_models, n_models == 1 ? "" : "s", n_hard)
               ? CLI_DONE
               : CLI_FAILED;
}

static int send_and_print(const choices *c, efface_store *store, const cli_wanted *wanted,
                          bool asked) {
    outcome o = {.report = {.n_requested = 0}};
    cli_fresh list;
    int code = cli_fresh_open(&list, c->change.list);
    CLI_THEN(code, send_request(c, store, wanted, c->dry_run, &o));
    if (code == CLI_DONE) {
        const cli_change change = {.kind = CLI_FORGOTTEN,
                                   .look = c->dry_run,
                                   .json = c->json,
                                   .wanted = wanted,
                                   .missing = &o.missing};
        cli_print_change(&change, &o.report);
        code = cli_write_hashes(&list, &o.report);
        if (!asked)
            CLI_THEN(code, say_skipped(c, store, wanted, &o));
    }
    free_outcome(&o);
    cli_fresh_abandon(&list);
    return code;
}

static int forget_wanted(const choices *c, efface_store *store, bool ask) {
    cli_wanted wanted;
    int code = cli_read_who(&c->who, store, &wanted);
    if (ask)
        CLI_THEN(code, confirm_forget(c, store, &wanted));
    CLI_THEN(code, send_and_print(c, store, &wanted, ask));
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
    "  --skip-missing       if some do not exist, forget the others and name these\n"
    "  --dry-run            say what will be done, and change nothing\n"
    "  --sign FILE          sign the receipt with a secret key (efface receipt keys)\n"
    "  --receipt-key FILE   the key of the receipts, if the store does not keep it\n"
    "  --opening FILE       write what opens the receipt to a new file\n"
    "  --list FILE          write the hashes of the forgotten ids to a new file\n"
    "  --wait SECONDS       how long to wait for a busy store (5)\n"
    "  --yes                do not ask; needed if there is no terminal\n"
    "  --json               as JSON: requested, forgotten, missing, not_found, models\n"
    "Exit codes: 0 done, 2 usage or no --yes, 4 not found (with --skip-missing:\n"
    "nobody at all), 5 busy, 6 damaged.\n"
    "examples: efface forget people.store --id 17,42 --yes\n"
    "          efface forget people.store --from requests.txt --skip-missing --yes\n",
    .run = run_forget,
};
