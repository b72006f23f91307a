/* efface export: tables, predictions for the rows, canonical bytes and receipts as files. */
#include "input/stores.h"
#include "models/answers/predictions.h"
#include "models/answers/table_files.h"
#include "models/families/family_table.h"
#include "ranks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct choices {
    const char *store_path, *name, *out_path, *table;
    cli_open open;
    bool labels, canonical, receipts, forest, json;
    cli_format format;
    char what[64]; /* the name of the table that was written, or another word for what was */
} choices;

/* ---- predictions for the rows of the store */

/* Predictions of all ranks, and the ids of their rows, come to all: each asks the store for texts.
 * In a process that is alone they stay as they are. */
static int gather_labels(cli_predictions *p) {
    const size_t row_bytes = p->n_numbers * sizeof *p->numbers;
    void *ids = NULL, *numbers = NULL;
    size_t n_bytes = 0, ignored;
    if (cli_group() == NULL)
        return CLI_DONE;
    int code = cli_gather(p->ids, p->n_rows * sizeof *p->ids, true, &ids, &n_bytes);
    CLI_THEN(code, cli_gather(p->numbers, p->n_rows * row_bytes, true, &numbers, &ignored));
    if (code != CLI_DONE) {
        free(ids);
        return code;
    }
    free(p->ids);
    free(p->numbers);
    p->ids = ids;
    p->numbers = numbers;
    p->n_rows = n_bytes / sizeof *p->ids;
    return CLI_DONE;
}

/* The texts that ids were, if the store keeps texts. */
static int read_texts(efface_store *store, const cli_predictions *p, efface_texts *texts) {
    efface_store_info info;
    efface_error error;
    int code = cli_outcome(efface_store_get_info(store, &info, &error), &error);
    for (size_t i = 0; i < p->n_rows && code == CLI_DONE && info.keeps_texts != 0; i++) {
        char *text = NULL;
        code =
            cli_outcome(efface_store_text(store, EFFACE_TEXT_ID, p->ids[i], &text, &error), &error);
        if (text != NULL)
            CLI_THEN(code, cli_outcome(efface_texts_add(texts, EFFACE_TEXT_ID, p->ids[i], text,
                                                        strlen(text), &error),
                                       &error));
        efface_text_free(text);
    }
    return code;
}

typedef struct placed {
    uint64_t id;
    size_t position;
} placed;

static int compare_placed(const void *a, const void *b) {
    const uint64_t x = ((const placed *)a)->id, y = ((const placed *)b)->id;
    return (x > y) - (x < y);
}

/* The rows in the order of ids: positions in a store depend on its history, a file must not. NULL
 * if out of memory. */
static size_t *order_ids(const cli_predictions *p) {
    placed *const rows = malloc((p->n_rows + 1) * sizeof *rows);
    size_t *const order = malloc((p->n_rows + 1) * sizeof *order);
    for (size_t i = 0; i < p->n_rows && rows != NULL; i++)
        rows[i] = (placed){p->ids[i], i};
    if (rows != NULL)
        qsort(rows, p->n_rows, sizeof *rows, compare_placed);
    for (size_t i = 0; i < p->n_rows && rows != NULL && order != NULL; i++)
        order[i] = rows[i].position;
    const bool ok = rows != NULL;
    free(rows);
    if (ok)
        return order;
    free(order);
    return NULL;
}

static int write_labels(FILE *out, cli_format format, const char *model, const cli_predictions *p) {
    size_t *const order = order_ids(p);
    if (order == NULL)
        return cli_out_of_memory();
    if (format == CLI_JSON) {
        cli_json json = cli_json_object(out);
        cli_json_text(&json, "model", model);
        cli_json_predictions(&json, p, order);
        cli_json_close(&json);
    } else {
        (format == CLI_NPY ? cli_npy_predictions : cli_csv_predictions)(out, p, order);
    }
    free(order);
    return CLI_DONE;
}

static int export_labels(FILE *out, cli_format format, const cli_named_predictor *by) {
    cli_predictions predictions;
    efface_texts *texts = NULL;
    efface_error error;
    int code = cli_predict_rows(by, by->data, NULL, false, true, &predictions);
    CLI_THEN(code, gather_labels(&predictions));
    CLI_THEN(code, cli_outcome(efface_texts_create(&texts, &error), &error));
    if (format != CLI_NPY)
        CLI_THEN(code, read_texts(by->store, &predictions, texts));
    predictions.texts = texts;
    CLI_THEN(code, write_labels(out, format, by->name, &predictions));
    cli_predictions_free(&predictions);
    efface_texts_free(texts);
    return code;
}

/* ---- the rest */

static int export_canonical(FILE *out, const char *name, efface_store *store) {
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    efface_error error;
    if (efface_store_encode(store, name, &bytes, &n_bytes, &error) != EFFACE_OK)
        return cli_report_error(&error);
    (void)fwrite(bytes, 1, n_bytes, out);
    efface_bytes_free(bytes);
    return CLI_DONE;
}

/* One receipt a line, each as it was made, so that its signature holds; in a .json file they are
 * the lines of an array. */
static int export_receipts(FILE *out, cli_format format, efface_store *store) {
    efface_store_info info;
    efface_error error;
    if (efface_store_get_info(store, &info, &error) != EFFACE_OK)
        return cli_report_error(&error);
    if (format == CLI_JSON)
        fputs("[\n", out);
    for (uint64_t number = 1; number <= info.n_receipts; number++) {
        char *text = NULL;
        if (efface_store_receipt(store, number, &text, &error) != EFFACE_OK)
            return cli_report_error(&error);
        fputs(text, out);
        fputs(format == CLI_JSON && number < info.n_receipts ? ",\n" : "\n", out);
        efface_text_free(text);
    }
    if (format == CLI_JSON)
        fputs("]\n", out);
    return CLI_DONE;
}

/* ---- a forest, which the library writes */

/* The texts of the classes of a model. */
static int collect_texts(const cli_named_predictor *of, efface_texts *texts) {
    cli_classes classes;
    efface_error error;
    int code = cli_read_classes(of, &classes);
    for (uint32_t i = 0; i < classes.n && code == CLI_DONE; i++) {
        const char *const text = classes.texts[i];
        if (text != NULL && efface_texts_add(texts, EFFACE_TEXT_LABEL, (uint64_t)classes.numbers[i],
                                             text, strlen(text), &error) != EFFACE_OK)
            code = cli_report_error(&error);
    }
    cli_classes_free(&classes);
    return code;
}

static int export_forest(const choices *c, const efface_model *model,
                         const cli_named_predictor *of) {
    const cli_family *const family = cli_family_of(efface_predictor_get_info(of->predictor).family);
    efface_texts *texts = NULL;
    efface_error error;
    if (family == NULL || family->write_file == NULL)
        return cli_wrong("%s is not a forest: --forest is for models of that family, and efface "
                         "publish for all",
                         of->name);
    if (efface_texts_create(&texts, &error) != EFFACE_OK)
        return cli_report_error(&error);
    int code = collect_texts(of, texts);
    if (code == CLI_DONE &&
        family->write_file(model, of->data, texts, c->out_path, &error) != EFFACE_OK)
        code = error.status == EFFACE_E_IO && error.os_error != 0
                   ? cli_failed("cannot write %s: %s", c->out_path, strerror(error.os_error))
                   : cli_report_error(&error);
    efface_texts_free(texts);
    return code;
}

/* ---- all */

static int export_table(choices *c, const cli_named_predictor *of, FILE *out) {
    efface_table table;
    efface_error error;
    const efface_status status =
        c->table != NULL ? efface_predictor_find_table(of->predictor, c->table, &table, &error)
                         : efface_predictor_get_table(of->predictor, 0, &table, &error);
    if (status != EFFACE_OK)
        return cli_report_error(&error);
    snprintf(c->what, sizeof c->what, "%s", table.name);
    return cli_write_table(out, c->format, of, &table);
}

static int write_export(choices *c, const char *name, efface_store *store, FILE *out) {
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_error error;
    strcpy(c->what, c->receipts    ? "receipts"
                    : c->canonical ? "canonical"
                    : c->forest    ? "forest"
                                   : "labels");
    if (c->receipts)
        return export_receipts(out, c->format, store);
    if (c->canonical)
        return export_canonical(out, name, store);
    if (efface_store_load(store, name, &data, &model, &error) != EFFACE_OK)
        return cli_report_error(&error);
    const cli_named_predictor of = {
        .name = name, .predictor = efface_model_predictor(model), .data = data, .store = store};
    const int code = c->labels   ? export_labels(out, c->format, &of)
                     : c->forest ? export_forest(c, model, &of)
                                 : export_table(c, &of, out);
    efface_model_free(model);
    efface_data_free(data);
    return code;
}

/* Writes the file for a store or, if that is NULL, for a published model. */
static int export_to_file(choices *c, const char *name, efface_store *store,
                          const efface_predictor *published) {
    const cli_named_predictor of = {.predictor = published};
    cli_output output;
    int code = cli_output_open(&output, c->out_path);
    if (code != CLI_DONE)
        return code;
    if (c->forest) /* it may be written; the library does so by itself */
        cli_output_abandon(&output);
    code = store != NULL ? write_export(c, name, store, c->forest ? NULL : output.file)
                         : export_table(c, &of, output.file);
    if (code != CLI_DONE && !c->forest)
        cli_output_abandon(&output);
    else if (!c->forest)
        code = cli_output_finish(&output);
    if (code != CLI_DONE || !c->json || cli_is_stdout(c->out_path))
        return code;
    cli_json json = cli_json_object(stdout);
    cli_json_text(&json, "exported", c->what);
    cli_json_text(&json, "model", name);
    cli_json_text(&json, "file", c->out_path);
    cli_json_text(&json, "format",
                  c->canonical ? "canonical"
                  : c->forest  ? "predictor"
                               : cli_format_name(c->format));
    cli_json_close(&json);
    return CLI_DONE;
}

static int export_from_store(choices *c) {
    efface_store *store = NULL;
    efface_stored_model model;
    int code = cli_open_store(c->store_path, &c->open, &store);
    if (!c->receipts)
        CLI_THEN(code, cli_choose_model(store, c->name, &model));
    CLI_THEN(code, export_to_file(c, c->receipts ? NULL : model.name, store, NULL));
    efface_store_close(store);
    return code;
}

static int export_from_published(choices *c) {
    efface_predictor *published = NULL;
    efface_error error;
    if (c->labels || c->canonical || c->receipts || c->forest || c->name != NULL)
        return cli_wrong("%s is a published model: it has tables only, so leave out --model, "
                         "--labels, --canonical, --forest and --receipts",
                         c->store_path);
    int code = cli_outcome(efface_predictor_load(c->store_path, &published, &error), &error);
    CLI_THEN(code, export_to_file(c, NULL, NULL, published));
    efface_predictor_free(published);
    return code;
}

static bool is_regular_or_new(const char *path) {
    struct stat about;
    return stat(path, &about) != 0 || S_ISREG(about.st_mode);
}

/* The format that the command line asks for. */
static int choose_format(choices *c) {
    const bool to_stdout = cli_is_stdout(c->out_path);
    c->format = to_stdout ? (c->json ? CLI_JSON : CLI_CSV) : cli_format_of(c->out_path);
    if (c->canonical)
        return !to_stdout || !c->json
                   ? CLI_DONE
                   : cli_wrong("canonical bytes are not JSON: write them to a file with -o FILE");
    if (c->forest)
        return !to_stdout && is_regular_or_new(c->out_path)
                   ? CLI_DONE
                   : cli_wrong("a forest is written as a whole file: give -o FILE%s",
                               to_stdout ? "" : ", which must be a regular file or a new one");
    if (c->receipts)
        return to_stdout || c->format == CLI_JSON || c->format == CLI_OTHER
                   ? CLI_DONE
                   : cli_wrong("receipts are JSON: give -o a name that ends in .json, or in .jsonl "
                               "for one receipt per line");
    return cli_choose_format(c->out_path, c->json, &c->format);
}

static int run_export(int n_arguments, char **arguments) {
    choices c = {.open = {.access = EFFACE_ACCESS_READ, .wait = -1}};
    const cli_option options[] = {
        CLI_STORE_OPTIONS(c.store_path, c.open, c.json),
        {"--table", CLI_TEXT, &c.table, NULL},
        {"--labels", CLI_FLAG, &c.labels, NULL},
        {"--canonical", CLI_FLAG, &c.canonical, NULL},
        {"--receipts", CLI_FLAG, &c.receipts, NULL},
        {"--forest", CLI_FLAG, &c.forest, NULL},
        {"-o", CLI_TEXT, &c.out_path, NULL},
        {"--model", CLI_TEXT, &c.name, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    if (cli_parse("export", options, n_arguments, arguments) != CLI_DONE)
        return CLI_USAGE;
    if ((c.table != NULL) + c.labels + c.canonical + c.receipts + c.forest > 1)
        return cli_wrong(
            "export takes one of --table, --labels, --canonical, --receipts and --forest");
    if (c.out_path == NULL)
        return cli_wrong("export needs -o FILE; -o - is standard output");
    if (choose_format(&c) != CLI_DONE)
        return CLI_USAGE;
    if (!cli_is_published(c.store_path))
        return export_from_store(&c);
    return cli_is_first() ? export_from_published(&c) : CLI_DONE;
}

const cli_command cli_export = {
    "export",
    "write a table, labels, canonical bytes or receipts to a file",
    "usage: efface export STORE -o FILE\n"
    "           [--table NAME | --labels | --canonical | --receipts | --forest]\n"
    "           [--model NAME] [--wait SECONDS] [--json]\n"
    "Writes a file. An old file of that name stays until the new one is complete.\n"
    "  --table NAME   a table of the model, in the units of the data: FILE.npy\n"
    "                 (float64), .csv or .json: centroids, coefficients, importances,\n"
    "                 ...; the default is the first table, and a wrong NAME lists\n"
    "                 them. STORE may be a published model\n"
    "  --labels       what the model predicts for each row, by ascending id: FILE.npy\n"
    "                 (clusters: int32), .csv or .json (with ids, or their texts)\n"
    "  --canonical    the state of the model as bytes, for any name of FILE. Equal\n"
    "                 states give equal files. They do not contain the seed\n"
    "  --receipts     the receipts of all requests: FILE.json is an array with one\n"
    "                 receipt per line; other names have the lines only\n"
    "  --forest       a forest for efface predict, as publish writes models, but with\n"
    "                 the randomness that it has\n"
    "  -o FILE        - is standard output: CSV, or JSON with --json\n"
    "  --model NAME   the model; needed if there are several\n"
    "  --wait SECONDS how long to wait for a busy store (5)\n"
    "  --json         what was done as JSON: exported, model, file, format\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 not found, 5 busy, 6 damaged.\n"
    "examples: efface export people.store --table centroids -o centroids.npy\n"
    "          efface export people.store --forest -o people.forest\n",
    .run = run_export,
};
