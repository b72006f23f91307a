/* efface publish: a model with randomness of its own, as a file for prediction. */
#include "input/stores.h"
#include "output/output.h"

#include <inttypes.h>
#include <stdio.h>

static void print_json_published(const char *path, const efface_store_report *report) {
    const efface_model_report *const model = &report->models[0];
    cli_json json = cli_json_object(stdout);
    cli_json_text(&json, "model", model->name);
    cli_json_text(&json, "kind", model->kind);
    cli_json_text(&json, "file", path);
    cli_json_whole(&json, "bytes", report->n_published_bytes);
    cli_json_text(&json, "digest", cli_hex_of(report->published).text);
    cli_json_whole(&json, "receipt", report->receipt);
    cli_json_seconds(&json, "seconds", report->seconds);
    cli_json_text(&json, "before", cli_hex_of(model->before).text);
    cli_json_text(&json, "after", cli_hex_of(model->after).text);
    cli_json_close(&json);
}

static void print_text_published(const char *path, const efface_store_report *report) {
    printf("%s: published as ", report->models[0].name);
    cli_put_text(stdout, path);
    printf(" (%" PRIu64 " bytes); receipt %" PRIu64 "; %.3f s\n", report->n_published_bytes,
           report->receipt, report->seconds);
    printf("digest of the file   %s\n", cli_hex_of(report->published).text);
}

static int publish_model(efface_store *store, const efface_publishing *asked, bool as_json) {
    efface_store_report report;
    efface_error error;
    cli_progress_begin("fitting again");
    const efface_status status = efface_store_publish(store, asked, &report, &error);
    cli_progress_end();
    if (status != EFFACE_OK)
        return cli_report_error(&error);
    (as_json ? print_json_published : print_text_published)(asked->path, &report);
    efface_store_report_free(&report);
    return CLI_DONE;
}

/* Whether a model is the first of several runs that Python keeps as one (n_init): NAME, NAME..2 and
 * so on. The best of them answers there, and which that is would follow from another seed. */
static int check_single(efface_store *store, const char *name) {
    efface_stored_model found;
    efface_error error;
    char second[sizeof found.name + 3];
    snprintf(second, sizeof second, "%s..2", name);
    const efface_status status = efface_store_find_model(store, second, &found, &error);
    if (status == EFFACE_OK)
        return cli_failed("%s is one of several runs (n_init in Python), so it cannot be published "
                          "alone; fit a model with one run",
                          name);
    return status == EFFACE_E_NOT_FOUND ? CLI_DONE : cli_report_error(&error);
}

static int run_publish(int n_arguments, char **arguments) {
    const char *path = NULL, *name = NULL, *out_path = NULL;
    cli_open how = {.access = EFFACE_ACCESS_WRITE, .wait = -1};
    bool force = false, as_json = false;
    const cli_option options[] = {
        CLI_STORE_OPTIONS(path, how, as_json),
        {"--model", CLI_TEXT, &name, NULL},
        {"-o", CLI_TEXT, &out_path, NULL},
        {"--force", CLI_FLAG, &force, NULL},
        {"--sign", CLI_TEXT, &how.sign, NULL},
        {"--receipt-key", CLI_TEXT, &how.receipt_key, NULL},
        {"--opening", CLI_TEXT, &how.opening, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    efface_stored_model model;
    int code = cli_parse("publish", options, n_arguments, arguments);
    /* What goes to a pipe cannot be had back if the request fails. */
    if (code == CLI_DONE && cli_is_stdout(out_path))
        return cli_wrong("publish needs -o FILE: a published model appears as a whole file");
    CLI_THEN(code, cli_open_store(path, &how, &store));
    CLI_THEN(code, cli_choose_model(store, name, &model));
    CLI_THEN(code, check_single(store, model.name));
    const efface_publishing asked = {.name = model.name, .path = out_path, .replace = force};
    CLI_THEN(code, publish_model(store, &asked, as_json));
    efface_store_close(store);
    return code;
}

const cli_command cli_publish = {
    "publish",
    "write a model to a file for prediction, with randomness of its own",
    "usage: efface publish STORE -o FILE [--model NAME] [--force] [OPTIONS]\n"
    "Gives the model a new random seed that nobody knows, fits it again, and writes\n"
    "what prediction needs to FILE, with a receipt: all or nothing. No two published\n"
    "models share their randomness, so requests to forget that react to one say\n"
    "nothing about the next. FILE is for efface predict, export and info; it has no\n"
    "rows, ids, sums, counts or seeds. Of a kmeans model it has the centroids and,\n"
    "where columns are scaled, a unit and a centre of each (standard), or the\n"
    "smallest and largest value (minmax).\n"
    "  -o FILE        the file; an existing one is not replaced without --force\n"
    "  --model NAME   which model; needed if there are several\n"
    "  --force        replace FILE, unless it is a store\n"
    "  --sign FILE          sign the receipt with a secret key (efface receipt keys)\n"
    "  --receipt-key FILE   the key of ids in receipts, if it is not in the store\n"
    "  --opening FILE       write what opens the receipt to a new file\n"
    "  --wait SECONDS       for other processes; 5 by default\n"
    "  --json         as JSON: model, family, file, bytes, digest (of FILE),\n"
    "                 receipt, seconds, before and after (commitments)\n"
    "Takes as long as fitting.\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 not found, 5 busy, 6 damaged.\n"
    "example: efface publish people.store -o people.model\n",
    .run = run_publish,
};
