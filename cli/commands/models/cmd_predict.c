/* efface predict: what a model of a store, or a published one, predicts for each row of a file. */
#include "input/columns/category_columns.h"
#include "input/columns/typed_columns.h"
#include "input/secrets.h"
#include "input/stores.h"
#include "models/answers/input_columns.h"
#include "models/answers/predictions.h"
#include "ranks.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct choices {
    const char *store_path, *data_path, *name, *out_path;
    cli_data_options data;
    cli_texts type_texts;
    cli_types types; /* for a published model, which has none */
    cli_open open;
    bool probabilities, json;
} choices;

/* Values that were rounded with another offset, or none, are not those that the model knows. */
static int check_offsets(const choices *c, const efface_data *rows, const cli_named_predictor *by,
                         const uint32_t *columns) {
    const double *const have = efface_data_offsets(rows);
    const double *const want = cli_named_offsets(by);
    const char *const where = by->store == NULL ? "published model" : "store";
    for (uint32_t j = 0; j < efface_predictor_get_info(by->predictor).n_columns; j++)
        if (columns[j] != EFFACE_NO_COLUMN &&
            (have != NULL ? have[columns[j]] : 0.0) != (want != NULL ? want[j] : 0.0))
            return cli_failed("column %" PRIu32
                              " of %s does not match the column of the %s with the offset %.17g; "
                              "give the columns of %s the names or the order of the %s",
                              columns[j] + 1, cli_data_name(c->data_path), where,
                              want != NULL ? want[j] : 0.0, cli_data_name(c->data_path), where);
    return CLI_DONE;
}

static void write_json_predictions(FILE *out, const char *model, const cli_predictions *p) {
    cli_json json = cli_json_object(out);
    cli_json_text(&json, "model", model);
    cli_json_whole(&json, "rows", p->n_rows);
    cli_json_predictions(&json, p, NULL);
    cli_json_close(&json);
}

static int write_result(const choices *c, cli_format format, const char *model,
                        const cli_predictions *p) {
    cli_output output;
    int code = cli_output_open(&output, c->out_path);
    if (code != CLI_DONE)
        return code;
    if (format == CLI_JSON)
        write_json_predictions(output.file, model, p);
    else
        (format == CLI_NPY ? cli_npy_predictions : cli_csv_predictions)(output.file, p, NULL);
    code = cli_output_finish(&output);
    if (code != CLI_DONE || !c->json || cli_is_stdout(c->out_path))
        return code;
    cli_json json = cli_json_object(stdout);
    cli_json_text(&json, "model", model);
    cli_json_whole(&json, "rows", p->n_rows);
    cli_json_text(&json, "file", c->out_path);
    cli_json_text(&json, "format", cli_format_name(format));
    cli_json_close(&json);
    return CLI_DONE;
}

/* DATA as `load` says, with its ids where it has any. */
typedef struct read_data {
    efface_data *rows;
    efface_texts *texts;
    bool with_ids;
} read_data;

static int read_rows_to_predict(const choices *c, const cli_named_predictor *by,
                                efface_load_options *load, read_data *data) {
    efface_error error;
    if (efface_texts_create(&data->texts, &error) != EFFACE_OK)
        return cli_report_error(&error);
    load->texts = data->texts;
    if (c->types.n > 0) {
        load->types = c->types.items;
        load->n_types = c->types.n;
    }
    data->with_ids = c->data.id != NULL || load->id_column != NULL;
    if (c->data.columns.n > 0)
        return cli_load_data(c->data_path, &c->data, load, &data->rows);
    efface_category *const inputs = cli_read_inputs(by, load);
    const int code = inputs != NULL ? cli_load_data(c->data_path, &c->data, load, &data->rows)
                                    : cli_out_of_memory();
    free(inputs);
    return code;
}

static int predict_and_write(const choices *c, cli_format format, const cli_named_predictor *by,
                             const read_data *data) {
    const cli_inputs inputs = {c->data_path, cli_is_first() && c->data.columns.n > 0, data->rows};
    cli_predictions predictions = {.numbers = NULL};
    uint32_t *columns = NULL;
    if (c->probabilities &&
        efface_predictor_get_info(by->predictor).predicts != EFFACE_PREDICTS_CLASSES)
        return cli_wrong("--probabilities are those of classes, and this model predicts %s",
                         cli_predicts_name(efface_predictor_get_info(by->predictor).predicts));
    int code = cli_match_inputs(&inputs, by, &columns);
    CLI_THEN(code, check_offsets(c, data->rows, by, columns));
    CLI_THEN(code, cli_predict_rows(by, data->rows, columns, c->probabilities, data->with_ids,
                                    &predictions));
    predictions.texts = data->texts;
    CLI_THEN(code, write_result(c, format, by->name, &predictions));
    cli_predictions_free(&predictions);
    free(columns);
    return code;
}

static int answer_from_store(const choices *c, cli_format format) {
    efface_store *store = NULL;
    efface_stored_model info;
    efface_load_options load;
    efface_error error;
    efface_model *model = NULL;
    efface_data *fitted = NULL;
    read_data data = {.rows = NULL};
    int code = cli_open_store(c->store_path, &c->open, &store);
    CLI_THEN(code, cli_choose_model(store, c->name, &info));
    CLI_THEN(code,
             cli_outcome(efface_store_load(store, info.name, &fitted, &model, &error), &error));
    const cli_named_predictor by = {.name = info.name,
                                    .predictor =
                                        code == CLI_DONE ? efface_model_predictor(model) : NULL,
                                    .data = fitted,
                                    .store = store};
    if (code == CLI_DONE && cli_is_first()) {
        efface_store_load_options(store, &load);
        load.missing = efface_predictor_takes_missing(by.predictor);
        code = read_rows_to_predict(c, &by, &load, &data);
        cli_wipe(&load, sizeof load);
    }
    /* The other ranks predict for no rows, and so learn with rank 0 what classes are called. */
    if (!cli_is_first())
        CLI_THEN(code, cli_outcome(cli_begin_like(fitted, &data.rows, &error), &error));
    CLI_THEN(code, predict_and_write(c, format, &by, &data));
    efface_model_free(model);
    efface_data_free(fitted);
    efface_data_free(data.rows);
    efface_texts_free(data.texts);
    efface_store_close(store);
    return code;
}

/* The offsets of a published model, to be taken away when DATA is read. NULL if out of memory. */
static efface_offset *offsets_to_load(const efface_predictor *published, size_t *n) {
    const uint32_t d = efface_predictor_get_info(published).n_columns;
    const double *const offsets = efface_predictor_offsets(published);
    efface_offset *const list = malloc(d * sizeof *list);
    *n = 0;
    for (uint32_t j = 0; list != NULL && offsets != NULL && j < d; j++)
        if (offsets[j] != 0.0)
            list[(*n)++] = (efface_offset){.column = efface_predictor_column(published, j),
                                           .place = j + 1,
                                           .value = offsets[j]};
    return list;
}

static int answer_from_published(const choices *c, cli_format format) {
    efface_load_options load;
    efface_error error;
    efface_predictor *published = NULL;
    cli_categories categories = {.items = NULL};
    read_data data = {.rows = NULL};
    if (c->name != NULL)
        return cli_wrong("%s is a published model: there is no other, so leave --model out",
                         c->store_path);
    if (efface_predictor_load(c->store_path, &published, &error) != EFFACE_OK)
        return cli_report_error(&error);
    efface_load_options_init(&load);
    efface_offset *const offsets = offsets_to_load(published, &load.n_offsets);
    load.offsets = offsets;
    load.missing = efface_predictor_takes_missing(published);
    const cli_named_predictor by = {.predictor = published};
    int code =
        offsets != NULL ? cli_published_categories(published, &categories) : cli_out_of_memory();
    load.categories = categories.items;
    load.n_categories = categories.n;
    CLI_THEN(code, read_rows_to_predict(c, &by, &load, &data));
    CLI_THEN(code, predict_and_write(c, format, &by, &data));
    free(offsets);
    cli_categories_free(&categories);
    efface_predictor_free(published);
    efface_data_free(data.rows);
    efface_texts_free(data.texts);
    return code;
}

static int run_predict(int n_arguments, char **arguments) {
    choices c = {.open = {.access = EFFACE_ACCESS_READ, .wait = -1}};
    const cli_option options[] = {
        CLI_STORE_OPTIONS(c.store_path, c.open, c.json),
        {"DATA", CLI_PLACE, &c.data_path, NULL},
        {"-o", CLI_TEXT, &c.out_path, NULL},
        {"--model", CLI_TEXT, &c.name, NULL},
        {"--columns", CLI_TEXTS, &c.data.columns, NULL},
        {"--type", CLI_TEXTS, &c.type_texts, NULL},
        {"--probabilities", CLI_FLAG, &c.probabilities, NULL},
        CLI_DATA_OPTIONS(c.data),
        {NULL, CLI_FLAG, NULL, NULL},
    };
    cli_format format;
    int code = cli_parse("predict", options, n_arguments, arguments);
    CLI_THEN(code, cli_choose_format(c.out_path, c.json, &format));
    CLI_THEN(code, cli_read_types(&c.type_texts, &c.types));
    if (code == CLI_DONE && !cli_is_published(c.store_path))
        code = answer_from_store(&c, format);
    else if (code == CLI_DONE && cli_is_first())
        code = answer_from_published(&c, format);
    cli_data_options_free(&c.data);
    cli_texts_free(&c.type_texts);
    cli_types_free(&c.types);
    return code;
}

const cli_command cli_predict = {
    "predict",
    "write what a model predicts for each row of a data file",
    "usage: efface predict STORE DATA [-o FILE] [OPTIONS]\n"
    "Writes what the model predicts, a line for each row of DATA: the number of the\n"
    "nearest cluster, from 0; a class; a value for each target; or coordinates.\n"
    "DATA is CSV, .npy or IDX, also gzipped; - is standard input. Its columns are\n"
    "found by name, and others are ignored; without names they must be those of the\n"
    "model, in their order. DATA need not have the targets. STORE may be a published\n"
    "model (efface publish).\n"
    "  -o FILE          FILE.csv, FILE.npy (clusters: int32) or FILE.json; without\n"
    "                   it, standard output, as CSV or with --json as JSON\n"
    "  --model NAME     the model; needed if there are several\n"
    "  --probabilities  a column for each class: how likely it is\n"
    "  --columns LIST   the columns of DATA to use: age,3,5-7; --ignore LIST: others\n"
    "  --type COL=TYPE  for a published model: what is in a column, as in fit\n"
    "  --id COL         the column of DATA with the ids; they are written next to the\n"
    "                   predictions, except to FILE.npy\n"
    "  --owner COL, --weight COL, --label COL\n"
    "                   columns of DATA that are not values, if that is not clear\n"
    "  --header yes|no, --ids numbers|text  if DATA does not make it clear\n"
    "  --wait SECONDS   how long to wait for a busy store (5)\n"
    "  --json           as JSON: model, rows, ids, names (of values), labels\n"
    "                   (clusters), classes, values or probabilities; or file and\n"
    "                   format\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 not found, 5 busy, 6 damaged.\n"
    "example: efface predict people.store new.csv --id id -o labels.csv\n",
    .run = run_predict,
};
