/* efface verify: fits every model again and compares. */
#include "commands/models/on_models.h"
#include "input/stores.h"
#include "output/json_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct verdict {
    efface_stored_model model;
    uint64_t n_rows;
    efface_difference difference;
} verdict;

static void print_json_verdicts(const verdict *verdicts, size_t n, bool identical) {
    cli_json json = cli_json_object(stdout);
    cli_json_bool(&json, "identical", identical);
    cli_json_open(&json, "models", '[');
    for (size_t i = 0; i < n; i++) {
        const efface_difference *const difference = &verdicts[i].difference;
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", verdicts[i].model.name);
        cli_json_bool(&json, "identical", difference->identical != 0);
        cli_json_whole(&json, "rows", verdicts[i].n_rows);
        cli_json_text(&json, "digest", cli_hex_of(verdicts[i].model.digest).text);
        if (difference->identical == 0) {
            cli_json_text(&json, "what", difference->what);
            cli_json_text(&json, "where", difference->where);
        }
        cli_json_close(&json);
    }
    cli_json_close_all(&json);
}

static void print_verdict(const verdict *v) {
    const bool identical = v->difference.identical != 0;
    printf("%s: ", v->model.name);
    cli_paint(stdout, identical ? 32 : 31);
    fputs(identical ? "identical" : "DIFFERENT", stdout);
    cli_unpaint(stdout);
    printf("%s a model fitted now to the %" PRIu64 " row%s of the store; digest %s\n",
           identical ? " to" : " from", v->n_rows, v->n_rows == 1 ? "" : "s",
           cli_hex_of(v->model.digest).text);
    if (!identical && strcmp(v->difference.what, "method") == 0)
        puts("  the definition of its method has changed since its fit; the next request that\n  "
             "writes fits it again");
    else if (!identical)
        printf("  first difference: %s%s%s\n", v->difference.what,
               v->difference.where[0] != '\0' ? ", " : "", v->difference.where);
}

static int compare_model(efface_store *store, verdict *v, unsigned step, unsigned n_steps) {
    char what[EFFACE_MODEL_NAME_BYTES + 40];
    efface_error error;
    snprintf(what, sizeof what, "verifying %s", v->model.name);
    if (n_steps > 1)
        snprintf(what, sizeof what, "verifying %s (%u of %u)", v->model.name, step + 1, n_steps);
    cli_progress_begin(what);
    efface_store_info info;
    efface_status status = efface_store_verify(store, v->model.name, &v->difference, &error);
    cli_progress_end();
    if (status == EFFACE_OK)
        status = efface_store_get_info(store, &info, &error);
    v->n_rows = status == EFFACE_OK ? info.n_rows : 0;
    return cli_outcome(status, &error);
}

/* Another process may have taken a model out since the models were listed. */
static bool is_gone(efface_store *store, const char *name) {
    efface_stored_model found;
    efface_error error;
    return efface_store_find_model(store, name, &found, &error) == EFFACE_E_NOT_FOUND;
}

static int verify_models(efface_store *store, const char *name, bool as_json) {
    efface_stored_model *models;
    size_t n_models, n = 0;
    bool identical = true;
    int code = cli_list_models(store, name, &models, &n_models);
    verdict *const verdicts = calloc(n_models + 1, sizeof *verdicts);
    if (code == CLI_DONE && verdicts == NULL)
        code = cli_out_of_memory();
    for (size_t i = 0; i < n_models && code == CLI_DONE; i++) {
        if (name == NULL && is_gone(store, models[i].name))
            continue;
        verdict *const v = &verdicts[n];
        v->model = models[i];
        code = compare_model(store, v, (unsigned)n, (unsigned)(n + n_models - i));
        identical = identical && (code != CLI_DONE || v->difference.identical != 0);
        if (code == CLI_DONE && !as_json)
            print_verdict(v);
        n++;
    }
    if (code == CLI_DONE && as_json)
        print_json_verdicts(verdicts, n, identical);
    if (code == CLI_DONE && n == 0)
        cli_say("the store has no models, so there is nothing to compare");
    free(verdicts);
    free(models);
    return code == CLI_DONE && !identical ? CLI_DIFFERENT : code;
}

static int run_verify(int n_arguments, char **arguments) {
    return cli_run_on_models("verify", n_arguments, arguments, verify_models);
}

const cli_command cli_verify = {
    "verify",
    "fit every model again and compare it byte by byte",
    "usage: efface verify STORE [--model NAME] [--wait SECONDS] [--json]\n"
    "Fits every model again to the rows of the store, with its parameters and seed,\n"
    "and compares it byte by byte with the model in the store. They must be\n"
    "identical, even after rows were forgotten or learned.\n"
    "  --model NAME   only this model\n"
    "  --wait SECONDS how long to wait for a busy store (5)\n"
    "  --json         as JSON: identical, and models with name, identical, rows and\n"
    "                 digest; for a model that differs also what and where\n"
    "Takes as long as fitting. efface check is faster and looks for damage.\n"
    "Exit codes: 0 all identical, 3 a model differs, 4 not found, 5 busy,\n"
    "6 damaged.\n"
    "example: efface verify people.store\n",
    .run = run_verify,
};
