/* efface owners: whose rows a store has, and how many. */
#include "commands/rows/listing.h"
#include "one_more.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct owner {
    cli_token name;
    char *text; /* of the name, or NULL */
    uint64_t n_rows;
} owner;

typedef struct owners {
    const char *path;
    efface_store_info info;
    owner *items;
    size_t n;
    bool no_memory;
} owners;

static void add_owner(void *context, uint64_t number, const char *text, uint64_t n_rows) {
    owners *const o = context;
    owner *const items = cli_one_more(o->items, o->n, sizeof *items);
    if (items == NULL) {
        o->no_memory = true;
        return;
    }
    o->items = items;
    char *const copy = text != NULL ? strdup(text) : NULL;
    o->no_memory = o->no_memory || (text != NULL && copy == NULL);
    const bool of_text = o->info.owners == EFFACE_IDS_TEXT;
    o->items[o->n++] = (owner){{.number = number, .text = copy, .of_text = of_text}, copy, n_rows};
}

/* Who has most comes first; then numbers before texts. */
static int compare_owners(const void *a, const void *b) {
    const owner *const x = a, *const y = b;
    if (x->n_rows != y->n_rows)
        return x->n_rows > y->n_rows ? -1 : 1;
    if ((x->name.text == NULL) != (y->name.text == NULL))
        return x->name.text == NULL ? -1 : 1;
    if (x->name.text != NULL)
        return strcmp(x->name.text, y->name.text);
    return (x->name.number > y->name.number) - (x->name.number < y->name.number);
}

static int read_owners(efface_store *store, owners *o) {
    efface_error error;
    if (efface_store_get_info(store, &o->info, &error) != EFFACE_OK ||
        efface_store_owners(store, add_owner, o, &error) != EFFACE_OK)
        return cli_report_error(&error);
    if (o->no_memory)
        return cli_out_of_memory();
    if (o->n > 0)
        qsort(o->items, o->n, sizeof *o->items, compare_owners);
    return CLI_DONE;
}

static void write_json_owners(FILE *out, const void *what) {
    const owners *const o = what;
    cli_json json = cli_json_object(out);
    cli_json_text(&json, "store", o->path);
    cli_json_whole(&json, "rows", o->info.n_rows);
    cli_json_whole(&json, "rows_without_owner", o->info.n_unowned_rows);
    cli_json_bool(&json, "keeps_texts", o->info.keeps_texts != 0);
    cli_json_open(&json, "owners", '[');
    for (size_t i = 0; i < o->n; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_token(&json, "owner", &o->items[i].name);
        cli_json_whole(&json, "rows", o->items[i].n_rows);
        cli_json_close(&json);
    }
    cli_json_close_all(&json);
}

static void write_csv_owners(FILE *out, const void *what) {
    const owners *const o = what;
    fputs("owner,rows\n", out);
    for (size_t i = 0; i < o->n; i++) {
        cli_csv_token(out, &o->items[i].name);
        fprintf(out, ",%" PRIu64 "\n", o->items[i].n_rows);
    }
}

static void write_text_owners(FILE *out, const void *what) {
    const owners *const o = what;
    fprintf(out, "%zu owner%s; %" PRIu64 " of %" PRIu64 " rows have none\n", o->n,
            o->n == 1 ? "" : "s", o->info.n_unowned_rows, o->info.n_rows);
    for (size_t i = 0; i < o->n; i++) {
        fprintf(out, "%12" PRIu64 "  ", o->items[i].n_rows);
        cli_put_token(out, &o->items[i].name, "");
        fputc('\n', out);
    }
}

static int write_owners(const cli_listing *l, const owners *o) {
    const int code =
        cli_write_listing(l, o, write_text_owners, write_csv_owners, write_json_owners);
    if (code != CLI_DONE)
        return code;
    if (l->json && !cli_is_stdout(l->out_path)) {
        cli_json json = cli_json_object(stdout);
        cli_json_whole(&json, "owners", o->n);
        cli_json_whole(&json, "rows_without_owner", o->info.n_unowned_rows);
        cli_json_text(&json, "file", l->out_path);
        cli_json_text(&json, "format", cli_form_words[l->form]);
        cli_json_close(&json);
    }
    if (!o->info.keeps_texts && o->n > 0)
        cli_say_no_texts(&o->info);
    return CLI_DONE;
}

static int run_owners(int n_arguments, char **arguments) {
    cli_listing listing = CLI_LISTING_DEFAULTS;
    owners o = {.path = NULL};
    const cli_option options[] = {
        CLI_LISTING_OPTIONS(o.path, listing),
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    int code = cli_parse("owners", options, n_arguments, arguments);
    CLI_THEN(code, cli_choose_form(&listing));
    CLI_THEN(code, cli_open_store(o.path, &listing.open, &store));
    CLI_THEN(code, read_owners(store, &o));
    efface_store_close(store);
    CLI_THEN(code, write_owners(&listing, &o));
    for (size_t i = 0; i < o.n; i++)
        free(o.items[i].text);
    free(o.items);
    return code;
}

const cli_command cli_owners = {
    "owners",
    "list the owners of rows, and how many rows each has",
    "usage: efface owners STORE [-o FILE] [OPTIONS]\n"
    "Lists the owners of rows and the number of their rows, the largest number first.\n"
    "Also counts the rows without an owner. If the store keeps texts (fit\n"
    "--keep-texts), owners that are texts are shown as texts, else as number:N, which\n"
    "other commands take.\n"
    "  -o FILE              write to FILE.csv or FILE.json; - is standard output\n"
    "  --format text|csv|json   the format, if the name of FILE does not show it\n"
    "  --wait SECONDS       how long to wait for a busy store (5)\n"
    "  --json               as JSON: rows, rows_without_owner, keeps_texts, and\n"
    "                       owners with owner (a text or a number) and rows\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 not found, 5 busy, 6 damaged.\n"
    "examples: efface owners people.store\n"
    "          efface owners people.store -o owners.csv\n",
    .run = run_owners,
};
