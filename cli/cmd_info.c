/* efface info: what a store holds. */
#include "json_writer.h"
#include "options.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct contents {
    efface_store_info info;
    efface_model_info *models;
} contents;

static int read_contents(efface_store *store, contents *c) {
    efface_error error;
    if (efface_store_get_info(store, &c->info, &error) != EFFACE_OK)
        return cli_report_error(&error);
    c->models = calloc(c->info.n_models + (size_t)1, sizeof *c->models);
    if (c->models == NULL)
        return cli_out_of_memory();
    for (uint32_t i = 0; i < c->info.n_models; i++)
        if (efface_store_model(store, i, &c->models[i], &error) != EFFACE_OK)
            return cli_report_error(&error);
    return CLI_DONE;
}

static void print_json(const char *path, const efface_store *store, const contents *c) {
    cli_json json = {.out = stdout};
    char hex[CLI_HEX_BYTES];
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "store", path);
    cli_json_whole(&json, "rows", c->info.n_rows);
    cli_json_whole(&json, "dim", c->info.n_columns);
    cli_json_open(&json, "columns", '[');
    for (uint32_t i = 0; i < c->info.n_columns; i++)
        cli_json_text(&json, NULL, efface_store_column(store, i));
    cli_json_close(&json, ']');
    cli_json_whole(&json, "receipts", c->info.n_receipts);
    cli_json_open(&json, "models", '[');
    for (uint32_t i = 0; i < c->info.n_models; i++) {
        const efface_model_info *const model = &c->models[i];
        cli_hex(model->digest, sizeof model->digest, hex);
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", model->name);
        cli_json_text(&json, "method", cli_method_name(model->method));
        cli_json_whole(&json, "k", model->n_clusters);
        cli_json_whole(&json, "dim", model->n_columns);
        cli_json_text(&json, "digest", hex);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}

static void print_text(const char *path, const efface_store *store, const contents *c) {
    enum { MOST_NAMES = 8 };
    char hex[CLI_HEX_BYTES];
    printf("store     %s\n", path);
    printf("rows      %" PRIu64 "\n", c->info.n_rows);
    printf("columns   %" PRIu32, c->info.n_columns);
    for (uint32_t i = 0; i < c->info.n_columns && i <= MOST_NAMES; i++) {
        const char *const name = efface_store_column(store, i);
        if (name != NULL)
            printf("%s%s", i == 0 ? ": " : ", ", i < MOST_NAMES ? name : "...");
    }
    printf("\nreceipts  %" PRIu64 "\nmodels    %" PRIu32 "\n", c->info.n_receipts,
           c->info.n_models);
    for (uint32_t i = 0; i < c->info.n_models; i++) {
        const efface_model_info *const model = &c->models[i];
        cli_hex(model->digest, sizeof model->digest, hex);
        printf("  %s: %s, k %" PRIu32 ", %" PRIu32 " column%s\n    digest %s\n", model->name,
               cli_method_name(model->method), model->n_clusters, model->n_columns,
               model->n_columns == 1 ? "" : "s", hex);
    }
}

static int run(int n_arguments, char **arguments) {
    const char *path = NULL;
    bool as_json = false;
    const cli_option options[] = {
        {"STORE", CLI_PLACE, &path, NULL},
        {"--json", CLI_FLAG, &as_json, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    contents c = {.models = NULL};
    int code;
    if (!cli_parse("info", options, n_arguments, arguments))
        return CLI_USAGE;
    if (!cli_open_store(path, EFFACE_ACCESS_READ, &store, &code))
        return code;
    code = read_contents(store, &c);
    if (code == CLI_DONE)
        (as_json ? print_json : print_text)(path, store, &c);
    free(c.models);
    efface_store_close(store);
    return code;
}

const cli_command cli_info = {
    "info",
    "say what a store holds",
    "usage: efface info STORE [--json]\n"
    "Says how many rows, columns and receipts a store has, and lists its models with\n"
    "their digests: equal digests, equal models.\n"
    "  --json   as JSON: rows, dim, columns, receipts, and models with name, method,\n"
    "           k, dim and digest\n"
    "Exit codes: 0 done, 1 failed (the file is no store, say), 4 there is no such\n"
    "file, 6 damaged.\n"
    "example: efface info people.store\n",
    run,
};
