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
} choices;

/* Whether nothing but a table is asked for: one by name, or the first. */
static bool wants_table(const choices *c) {
    return !c->labels && !c->canonical && !c->receipts && !c->forest;
}

/* ---- predictions for the rows of the store */

typedef struct placed {
    uint64_t id;
    size_t position;
} placed;

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = ((const placed *)a)->id, y = ((const placed *)b)->id;
    return (x > y) - (x < y);
}

/* Writes ids as the texts they were, if the store keeps texts. */
static int write_labels(FILE *out, cli_format format, const cli_asked *by, const placed *rows,
                        const cli_predictions *predictions, const size_t *order) {
    efface_store_info info;
    efface_error error;
    cli_json json = {.out = out};
    if (efface_store_get_info(by->store, &info, &error) != EFFACE_OK)
        return cli_report_error(&error);
    if (format == CLI_JSON) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "model", by->name);
        cli_json_open(&json, "ids", '[');
    } else {
        fputs("id,", out);
        cli_csv_prediction_names(out, predictions);
        fputc('\n', out);
    }
    for (size_t i = 0; i < predictions->n_rows; i++) {
        char *text = NULL;
        if (info.keeps_texts != 0 &&
            efface_store_text(by->store, EFFACE_TEXT_ID, rows[i].id, &text, &error) != EFFACE_OK)
            return cli_report_error(&error);
        const cli_token id = {.number = rows[i].id, .text = text};
        if (format == CLI_JSON) {
            cli_json_token(&json, NULL, &id);
        } else {
            cli_csv_token(out, &id);
            fputc(',', out);
            cli_csv_prediction(out, predictions, rows[i].position);
            fputc('\n', out);
        }
        efface_text_free(text);
    }
    if (format == CLI_JSON) {
        cli_json_close(&json);
        cli_json_predictions(&json, predictions, order);
        cli_json_close(&json);
    }
    return CLI_DONE;
}

/* Predictions of all ranks, and the ids of their rows, come to all: each asks the store for texts.
 * In a process that is alone they stay as they are. */
static int gather_labels(cli_predictions *predictions, uint64_t **ids) {
    const size_t n = predictions->n_rows;
    const size_t row_bytes = predictions->n_numbers * sizeof *predictions->numbers;
    void *all_ids = NULL, *all_numbers = NULL;
    size_t n_bytes = 0, ignored;
    if (cli_group() == NULL)
        return CLI_DONE;
    int code = cli_gather(*ids, n * sizeof **ids, true, &all_ids, &n_bytes);
    CLI_THEN(code, cli_gather(predictions->numbers, n * row_bytes, true, &all_numbers, &ignored));
    if (code != CLI_DONE) {
        free(all_ids);
        return code;
    }
    free(*ids);
    free(predictions->numbers);
    *ids = all_ids;
    predictions->numbers = all_numbers;
    predictions->n_rows = n_bytes / sizeof **ids;
    return CLI_DONE;
}

/* What the model predicts for each row of the store, and the ids of the rows. */
static int predict_all(const cli_asked *by, cli_predictions *predictions, uint64_t **ids) {
    const size_t n = efface_data_n_rows(by->data);
    const int code = cli_predict_rows(by, by->data, NULL, false, predictions);
    *ids = malloc((n + 1) * sizeof **ids);
    if (code != CLI_DONE || *ids == NULL)
        return code != CLI_DONE ? code : cli_out_of_memory();
    for (size_t i = 0; i < n; i++)
        (*ids)[i] = efface_data_row(by->data, i).id;
    return gather_labels(predictions, ids);
}

/* In the order of ids: positions in a store depend on its history, a file must not. */
static int export_labels(FILE *out, cli_format format, const cli_asked *by) {
    cli_predictions predictions;
    uint64_t *ids = NULL;
    int code = predict_all(by, &predictions, &ids);
    const size_t n = predictions.n_rows;
    placed *const rows = malloc((n + 1) * sizeof *rows);
    size_t *const order = malloc((n + 1) * sizeof *order);
    if (code == CLI_DONE && (rows == NULL || order == NULL))
        code = cli_out_of_memory();
    if (code == CLI_DONE) {
        for (size_t i = 0; i < n; i++)
            rows[i] = (placed){ids[i], i};
        qsort(rows, n, sizeof *rows, compare_ids);
        for (size_t i = 0; i < n; i++)
            order[i] = rows[i].position;
    }
    if (code == CLI_DONE && format == CLI_NPY)
        cli_npy_predictions(out, &predictions, order);
    else
        CLI_THEN(code, write_labels(out, format, by, rows, &predictions, order));
    cli_predictions_free(&predictions);
    free(ids);
    free(rows);
    free(order);
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
static int collect_texts(const cli_asked *of, efface_texts *texts) {
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

static int export_forest(const choices *c, const cli_asked *of) {
    const cli_family *const family = cli_family_of(cli_asked_about(of).family);
    efface_texts *texts = NULL;
    efface_error error;
    if (family == NULL || family->write_file == NULL)
        return cli_wrong("%s is no forest: --forest is for models of that family, and efface "
                         "publish for all",
                         of->name);
    if (efface_texts_create(&texts, &error) != EFFACE_OK)
        return cli_report_error(&error);
    int code = collect_texts(of, texts);
    if (code == CLI_DONE &&
        family->write_file(of->model, of->data, texts, c->out_path, &error) != EFFACE_OK)
        code = error.status == EFFACE_E_IO && error.os_error != 0
                   ? cli_failed("cannot write %s: %s", c->out_path, strerror(error.os_error))
                   : cli_report_error(&error);
    efface_texts_free(texts);
    return code;
}

/* ---- all */

/* The table that was written, or another word for what was. */
typedef struct exported {
    char what[64];
} exported;

static int export_table(const choices *c, cli_format format, const cli_asked *of, FILE *out,
                        exported *done) {
    efface_table table;
    const int code = cli_find_table(of, c->table, &table);
    if (code != CLI_DONE)
        return code;
    snprintf(done->what, sizeof done->what, "%s", table.name);
    return cli_write_table(out, format, of, &table);
}

static int write_export(const choices *c, cli_format format, const char *name, efface_store *store,
                        FILE *out, exported *done) {
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_error error;
    strcpy(done->what, c->receipts    ? "receipts"
                       : c->canonical ? "canonical"
                       : c->forest    ? "forest"
                                      : "labels");
    if (c->receipts)
        return export_receipts(out, format, store);
    if (c->canonical)
        return export_canonical(out, name, store);
    if (efface_store_load(store, name, &data, &model, &error) != EFFACE_OK)
        return cli_report_error(&error);
    const cli_asked of = {.name = name, .model = model, .data = data, .store = store};
    const int code = c->labels   ? export_labels(out, format, &of)
                     : c->forest ? export_forest(c, &of)
                                 : export_table(c, format, &of, out, done);
    efface_model_free(model);
    efface_data_free(data);
    return code;
}

static void print_json(const choices *c, cli_format format, const char *name,
                       const exported *done) {
    cli_json json = cli_json_object(stdout);
    cli_json_text(&json, "exported", done->what);
    cli_json_text(&json, "model", name);
    cli_json_text(&json, "file", c->out_path);
    cli_json_text(&json, "format",
                  c->canonical ? "canonical"
                  : c->forest  ? "predictor"
                               : cli_format_name(format));
    cli_json_close(&json);
}

/* Writes the file for a store or, if that is NULL, for a published model. */
static int export_to_file(const choices *c, cli_format format, const char *name,
                          efface_store *store, const efface_predictor *published) {
    const cli_asked of = {.published = published};
    cli_output output;
    exported done;
    int code = cli_output_open(&output, c->out_path);
    if (code != CLI_DONE)
        return code;
    if (c->forest) /* it may be written; the library does so by itself */
        cli_output_abandon(&output);
    code = c->forest       ? write_export(c, format, name, store, NULL, &done)
           : store != NULL ? write_export(c, format, name, store, output.file, &done)
                           : export_table(c, format, &of, output.file, &done);
    if (code != CLI_DONE && !c->forest)
        cli_output_abandon(&output);
    else if (!c->forest)
        code = cli_output_finish(&output);
    if (code == CLI_DONE && c->json && !cli_is_stdout(c->out_path))
        print_json(c, format, name, &done);
    return code;
}

static int export_from_store(const choices *c, cli_format format) {
    efface_store *store = NULL;
    efface_stored_model model;
    int code = cli_open_store(c->store_path, &c->open, &store);
    if (!c->receipts)
        CLI_THEN(code, cli_choose_model(store, c->name, &model));
    CLI_THEN(code, export_to_file(c, format, c->receipts ? NULL : model.name, store, NULL));
    efface_store_close(store);
    return code;
}

static int export_from_published(const choices *c, cli_format format) {
    efface_predictor *published = NULL;
    efface_error error;
    if (!wants_table(c) || c->name != NULL)
        return cli_wrong("%s is a published model: it has tables only, so leave out --model, "
                         "--labels, --canonical, --forest and --receipts",
                         c->store_path);
    if (efface_predictor_load(c->store_path, &published, &error) != EFFACE_OK)
        return cli_report_error(&error);
    const int code = export_to_file(c, format, NULL, NULL, published);
    efface_predictor_free(published);
    return code;
}

static bool is_regular_or_new(const char *path) {
    struct stat about;
    return stat(path, &about) != 0 || S_ISREG(about.st_mode);
}

/* The format that the command line asks for. */
static int choose_format(const choices *c, cli_format *format) {
    const bool to_stdout = cli_is_stdout(c->out_path);
    *format = to_stdout ? (c->json ? CLI_JSON : CLI_CSV) : cli_format_of(c->out_path);
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
        return to_stdout || *format == CLI_JSON || *format == CLI_OTHER
                   ? CLI_DONE
                   : cli_wrong("receipts are JSON: give -o a name that ends in .json, or in .jsonl "
                               "for one receipt per line");
    return *format != CLI_OTHER ? CLI_DONE
                                : cli_wrong("the format follows from the name of FILE: it must end "
                                            "in .csv, .npy or .json");
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
    cli_format format;
    if (cli_parse("export", options, n_arguments, arguments) != CLI_DONE)
        return CLI_USAGE;
    if ((c.table != NULL) + c.labels + c.canonical + c.receipts + c.forest > 1)
        return cli_wrong(
            "export takes one of --table, --labels, --canonical, --receipts and --forest");
    if (c.out_path == NULL)
        return cli_wrong("export needs -o FILE; -o - is standard output");
    if (choose_format(&c, &format) != CLI_DONE)
        return CLI_USAGE;
    if (!cli_is_published(c.store_path))
        return export_from_store(&c, format);
    return cli_is_first() ? export_from_published(&c, format) : CLI_DONE;
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
