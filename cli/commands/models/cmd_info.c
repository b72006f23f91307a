/* efface info: what a store holds, or a published model. Quick, unless a model is asked for: then
 * its rows are read. */
#include "input/columns/typed_columns.h"
#include "input/stores.h"
#include "models/answers/predictions.h"
#include "models/details/model_details.h"
#include "ranks.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct contents {
    const char *path;
    efface_store *store;
    efface_store_info info;
    char parts_id[2 * EFFACE_PARTS_ID_BYTES + 1];
    efface_stored_model *models;
    cli_facts *parameters; /* of each model */
    size_t n_models;
    cli_model_details *details; /* or NULL */
    uint64_t *part_rows; /* of a store in parts whose ranks are here: the rows of each; else NULL */
} contents;

enum { MAX_SHOWN = 8 }; /* columns, parts, classes in a line of text */

/* ---- columns */

static void json_columns(cli_json *json, const cli_columns *c) {
    cli_json_open(json, "columns", '[');
    for (uint32_t i = 0; i < c->n; i++)
        cli_json_text(json, NULL, cli_column_name(c, i));
    cli_json_close(json);
    cli_json_open(json, "offsets", '[');
    for (uint32_t i = 0; i < c->n; i++)
        cli_json_real(json, NULL, cli_column_offset(c, i));
    cli_json_close(json);
    if (c->store == NULL)
        return;
    cli_json_open(json, "types", '[');
    for (uint32_t i = 0; i < c->n; i++)
        cli_json_text(json, NULL, cli_type_words[cli_column_type(c, i)]);
    cli_json_close(json);
}

/* The name of a column or, if it has none, its number. */
static void put_column(const cli_columns *columns, uint32_t i) {
    const char *const name = cli_column_name(columns, i);
    if (name != NULL)
        cli_put_text(stdout, name);
    else
        printf("%" PRIu32, i + 1);
}

/* The names of some columns. */
static void print_column_names(const cli_columns *c) {
    bool named = false;
    for (uint32_t i = 0; i < c->n; i++)
        named = named || cli_column_name(c, i) != NULL;
    printf("columns   %" PRIu32, c->n);
    for (uint32_t i = 0; named && i < c->n && i < MAX_SHOWN; i++) {
        fputs(i == 0 ? ": " : ", ", stdout);
        put_column(c, i);
    }
    puts(named && c->n > MAX_SHOWN ? ", ..." : "");
}

/* The columns that have an offset. */
static void print_offsets(const cli_columns *c) {
    bool any = false;
    for (uint32_t i = 0; i < c->n; i++) {
        char digits[32];
        if (cli_column_offset(c, i) == 0.0)
            continue;
        fputs(any ? ", " : "offsets   ", stdout);
        put_column(c, i);
        cli_format_number(digits, cli_column_offset(c, i));
        printf(" %s", digits);
        any = true;
    }
    fputs(any ? "\n" : "", stdout);
}

/* The columns that are no numbers. */
static void print_types(const cli_columns *c) {
    bool any = false;
    for (uint32_t i = 0; i < c->n; i++) {
        if (cli_column_type(c, i) == EFFACE_TYPE_NUMBER)
            continue;
        fputs(any ? ", " : "types     ", stdout);
        put_column(c, i);
        printf(" %s", cli_type_words[cli_column_type(c, i)]);
        any = true;
    }
    fputs(any ? "\n" : "", stdout);
}

/* ---- parts */

static int read_parts(contents *c) {
    void *all = NULL;
    size_t n_bytes;
    cli_hex(c->info.parts_id, sizeof c->info.parts_id, c->parts_id);
    if (cli_group() == NULL)
        return CLI_DONE;
    const int code =
        cli_gather(&c->info.n_part_rows, sizeof c->info.n_part_rows, true, &all, &n_bytes);
    c->part_rows = all;
    return code;
}

static void json_parts(cli_json *json, const contents *c) {
    if (c->info.n_parts == 0)
        return;
    cli_json_whole(json, "parts", c->info.n_parts);
    cli_json_text(json, "parts_id", c->parts_id);
    if (c->part_rows == NULL) {
        cli_json_whole(json, "part", c->info.part);
        return;
    }
    cli_json_open(json, "part_rows", '[');
    for (uint32_t i = 0; i < c->info.n_parts; i++)
        cli_json_whole(json, NULL, c->part_rows[i]);
    cli_json_close(json);
}

static void print_parts(const contents *c) {
    if (c->info.n_parts == 0)
        return;
    if (c->part_rows == NULL) {
        printf("part      %" PRIu32 " of %" PRIu32 " (from 0) of the store %s\n", c->info.part,
               c->info.n_parts, c->parts_id);
        return;
    }
    printf("parts     %" PRIu32 " of the store %s, with ", c->info.n_parts, c->parts_id);
    for (uint32_t i = 0; i < c->info.n_parts && i < MAX_SHOWN; i++)
        printf("%s%" PRIu64, i > 0 ? ", " : "", c->part_rows[i]);
    printf("%s rows\n", c->info.n_parts > MAX_SHOWN ? ", ..." : "");
}

static void print_json_contents(const contents *c) {
    const efface_store_info *const info = &c->info;
    const cli_columns columns = {.n = info->n_columns, .store = c->store};
    cli_json json = cli_json_object(stdout);
    cli_json_text(&json, "store", c->path);
    cli_json_whole(&json, "format", info->format);
    cli_json_whole(&json, "bytes", info->file_bytes);
    cli_json_whole(&json, "free_bytes", info->free_bytes);
    cli_json_whole(&json, "rows", info->n_rows);
    json_parts(&json, c);
    cli_json_whole(&json, "dim", info->n_columns);
    json_columns(&json, &columns);
    cli_json_whole(&json, "owners", info->n_owners);
    cli_json_whole(&json, "rows_without_owner", info->n_unowned_rows);
    cli_json_whole(&json, "labels", info->n_labels);
    cli_json_bool(&json, "keeps_texts", info->keeps_texts != 0);
    cli_json_whole(&json, "receipts", info->n_receipts);
    cli_json_text(&json, "receipt_key", info->receipt_key_outside != 0 ? "outside" : "store");
    cli_json_open(&json, "notes", '[');
    cli_json_close(&json);
    cli_json_open(&json, "models", '[');
    for (size_t i = 0; i < c->n_models; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_model(&json, &c->models[i], &c->parameters[i]);
        cli_json_close(&json);
    }
    cli_json_close(&json);
    if (c->details != NULL) {
        cli_json_open(&json, "model", '{');
        cli_json_model(&json, &c->details->about, &c->details->facts);
        cli_json_details(&json, c->details);
        cli_json_close(&json);
    }
    cli_json_close(&json);
}

static void print_text_contents(const contents *c) {
    const efface_store_info *const info = &c->info;
    fputs("store     ", stdout);
    cli_put_text(stdout, c->path);
    printf("\nformat    %" PRIu32 "\n", info->format);
    printf("file      %" PRIu64 " bytes, %" PRIu64 " of them free\n", info->file_bytes,
           info->free_bytes);
    print_parts(c);
    printf("rows      %" PRIu64 "\n", info->n_rows);
    const cli_columns columns = {.n = info->n_columns, .store = c->store};
    print_column_names(&columns);
    print_offsets(&columns);
    print_types(&columns);
    printf("owners    %" PRIu64, info->n_owners);
    if (info->n_owners > 0 && info->n_unowned_rows > 0)
        printf("; %" PRIu64 " row%s %s none", info->n_unowned_rows,
               info->n_unowned_rows == 1 ? "" : "s", info->n_unowned_rows == 1 ? "has" : "have");
    printf("\nlabels    %" PRIu64 "\n", info->n_labels);
    if (info->ids != EFFACE_IDS_NUMBERS || info->owners == EFFACE_IDS_TEXT)
        printf("texts     of ids and owners are %s\n",
               info->keeps_texts != 0 ? "kept" : "not kept, only their numbers");
    printf("receipts  %" PRIu64 "; their key is %s\n", info->n_receipts,
           info->receipt_key_outside != 0 ? "kept outside" : "in the store");
    printf("models    %zu\n", c->n_models);
    for (size_t i = 0; i < c->n_models; i++) {
        const efface_stored_model *const model = &c->models[i];
        printf("  %s: %s, %" PRIu32 " column%s\n", model->name, model->kind, model->n_columns,
               model->n_columns == 1 ? "" : "s");
        cli_put_facts(stdout, "    ", &c->parameters[i], CLI_GIVEN_PARAMETERS);
        printf("    digest %s\n", cli_hex_of(model->digest).text);
    }
    if (c->details != NULL)
        cli_print_details(c->details);
}

static int read_parameters(contents *c) {
    efface_error error;
    c->parameters = calloc(c->n_models + 1, sizeof *c->parameters);
    bool failed = c->parameters == NULL;
    for (size_t i = 0; i < c->n_models && !failed; i++) {
        if (efface_store_describe(c->store, c->models[i].name, cli_facts_add, &c->parameters[i],
                                  &error) != EFFACE_OK)
            return cli_report_error(&error);
        failed = c->parameters[i].failed;
    }
    return failed ? cli_out_of_memory() : CLI_DONE;
}

static void free_contents(contents *c) {
    for (size_t i = 0; i < c->n_models && c->parameters != NULL; i++)
        cli_facts_free(&c->parameters[i]);
    free(c->parameters);
    free(c->part_rows);
    free(c->models);
    efface_store_close(c->store);
}

static int print_contents(contents *c, const char *name, bool full, bool as_json) {
    cli_model_details details = {.data = NULL};
    efface_stored_model model;
    efface_error error;
    int code = cli_outcome(efface_store_get_info(c->store, &c->info, &error), &error);
    CLI_THEN(code, cli_list_models(c->store, NULL, &c->models, &c->n_models));
    CLI_THEN(code, read_parts(c));
    CLI_THEN(code, read_parameters(c));
    if (code == CLI_DONE && (name != NULL || full)) {
        code = cli_choose_model(c->store, name, &model);
        if (code == CLI_DONE) {
            cli_progress_begin("reading");
            code = cli_read_details(c->store, &model, &details);
            cli_progress_end();
        }
        c->details = &details;
    }
    if (code == CLI_DONE)
        (as_json ? print_json_contents : print_text_contents)(c);
    cli_free_details(&details);
    return code;
}

/* ---- a published model */

static void print_published_json(const char *path, const efface_predictor *published,
                                 const cli_classes *classes) {
    const efface_predictor_info info = efface_predictor_get_info(published);
    const cli_columns columns = {.n = info.n_columns, .published = published};
    cli_json json = cli_json_object(stdout);
    cli_json_text(&json, "published", path);
    cli_json_whole(&json, "format", info.format);
    cli_json_text(&json, "kind", info.kind);
    cli_json_text(&json, "predicts", cli_predicts_name(info.predicts));
    cli_json_whole(&json, "numbers", info.n_numbers);
    cli_json_whole(&json, "dim", info.n_columns);
    cli_json_open(&json, "tables", '[');
    efface_table table;
    for (uint32_t i = 0; efface_predictor_get_table(published, i, &table, NULL) == EFFACE_OK; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", table.name);
        cli_json_text(&json, "row", table.row_name);
        cli_json_whole(&json, "rows", table.n_rows);
        cli_json_close(&json);
    }
    cli_json_close(&json);
    if (classes->n > 0) {
        char digits[CLI_MADE_UP];
        cli_json_open(&json, "classes", '[');
        for (uint32_t i = 0; i < classes->n; i++)
            cli_json_text(&json, NULL, cli_class_name(classes, classes->numbers[i], digits));
        cli_json_close(&json);
    }
    json_columns(&json, &columns);
    cli_json_open(&json, "categories", '[');
    for (uint32_t i = 0; i < info.n_columns; i++)
        cli_json_bool(&json, NULL, efface_predictor_is_category(published, i) != 0);
    cli_json_close(&json);
    cli_json_bool(&json, "missing", efface_predictor_takes_missing(published) != 0);
    cli_json_close(&json);
}

static void print_tables(const efface_predictor *published) {
    efface_table table;
    uint32_t n = 0;
    for (; efface_predictor_get_table(published, n, &table, NULL) == EFFACE_OK; n++)
        printf("%s%s (%" PRIu64 " row%s)", n == 0 ? "tables    " : ", ", table.name, table.n_rows,
               table.n_rows == 1 ? "" : "s");
    fputs(n > 0 ? "\n" : "", stdout);
}

/* The classes that it knows, or some of them. */
static void print_classes(const cli_classes *classes) {
    char digits[CLI_MADE_UP];
    if (classes->n > 0)
        printf("classes   %" PRIu32 ": ", classes->n);
    for (uint32_t i = 0; i < classes->n && i < MAX_SHOWN; i++) {
        fputs(i > 0 ? ", " : "", stdout);
        cli_put_text(stdout, cli_class_name(classes, classes->numbers[i], digits));
    }
    fputs(classes->n > MAX_SHOWN ? ", ...\n" : (classes->n > 0 ? "\n" : ""), stdout);
}

/* What its inputs may be, beside numbers. */
static void print_inputs(const efface_predictor *published, const cli_columns *columns) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < columns->n; i++) {
        if (!efface_predictor_is_category(published, i))
            continue;
        fputs(n++ == 0 ? "category  " : ", ", stdout);
        put_column(columns, i);
    }
    fputs(n > 0 ? "\n" : "", stdout);
    if (efface_predictor_takes_missing(published))
        puts("missing   values may be missing");
}

static void print_published_text(const char *path, const efface_predictor *published,
                                 const cli_classes *classes) {
    const efface_predictor_info info = efface_predictor_get_info(published);
    fputs("published ", stdout);
    cli_put_text(stdout, path);
    printf("\nformat    %" PRIu32 "\nkind      %s\npredicts  %s\n", info.format, info.kind,
           cli_predicts_name(info.predicts));
    print_tables(published);
    print_classes(classes);
    const cli_columns c = {.n = info.n_columns, .published = published};
    print_column_names(&c);
    print_offsets(&c);
    print_inputs(published, &c);
    fputs("It predicts; the rows, the seed and what is needed to forget are in the store that it "
          "was published from.\n",
          stdout);
}

static int print_published(const char *path, bool as_json) {
    efface_predictor *published = NULL;
    efface_error error;
    if (efface_predictor_load(path, &published, &error) != EFFACE_OK)
        return cli_report_error(&error);
    const cli_named_predictor of = {.predictor = published};
    cli_classes classes;
    const int code = cli_read_classes(&of, &classes);
    if (code == CLI_DONE)
        (as_json ? print_published_json : print_published_text)(path, published, &classes);
    cli_classes_free(&classes);
    efface_predictor_free(published);
    return code;
}

static int run_info(int n_arguments, char **arguments) {
    const char *name = NULL;
    bool full = false, as_json = false;
    cli_open how = {.access = EFFACE_ACCESS_READ, .wait = -1};
    contents c = {.path = NULL};
    const cli_option options[] = {
        CLI_STORE_OPTIONS(c.path, how, as_json),
        {"--model", CLI_TEXT, &name, NULL},
        {"--full", CLI_FLAG, &full, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    int code = cli_parse("info", options, n_arguments, arguments);
    if (code != CLI_DONE)
        return code;
    if (cli_is_published(c.path) && (name != NULL || full))
        return cli_wrong("%s is a published model: --model and --full are for stores", c.path);
    if (cli_is_published(c.path))
        return cli_is_first() ? print_published(c.path, as_json) : CLI_DONE;
    if ((name != NULL || full) && cli_group() != NULL)
        return cli_wrong("--model and --full look at all rows in one process, which a store in "
                         "parts does not allow");
    code = cli_open_store(c.path, &how, &c.store);
    CLI_THEN(code, print_contents(&c, name, full, as_json));
    free_contents(&c);
    return code;
}

const cli_command cli_info = {
    "info",
    "show what a store, or a published model, contains",
    "usage: efface info STORE [--model NAME | --full] [--wait SECONDS] [--json]\n"
    "Shows how many rows, columns, owners, labels and receipts a store has, the size\n"
    "of its file, and its models with their families, parameters and digests. Equal\n"
    "models have equal digests. STORE may be a published model.\n"
    "  --model NAME    show more about this model: all parameters, what became of it,\n"
    "                  the range of each column, and what its family adds (loss and\n"
    "                  clusters; coefficients with errors and R^2; variances of\n"
    "                  components; classes). This reads the rows. Seeds are never\n"
    "                  shown\n"
    "  --full          the same for the only model\n"
    "  --wait SECONDS  how long to wait for a busy store (5)\n"
    "  --json          as JSON: format, bytes, free_bytes, rows, dim, columns,\n"
    "                  offsets, owners, rows_without_owner, labels, keeps_texts,\n"
    "                  receipts, receipt_key, notes, models with name, family, dim,\n"
    "                  parameters, digest, commitment; and model with these, fitted,\n"
    "                  note, columns, and what its family adds (loss, clusters,\n"
    "                  targets, components, classes, dropped). Of a published model:\n"
    "                  format, family, predicts, numbers, dim, tables, classes,\n"
    "                  columns, offsets\n"
    "Exit codes: 0 done, 1 failed (for example, the file is not a store), 2 usage,\n"
    "4 not found, 5 busy, 6 damaged.\n"
    "example: efface info people.store --full\n",
    .run = run_info,
};
