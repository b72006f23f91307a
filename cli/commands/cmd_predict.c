/* efface predict: what a model of a store, or a published one, predicts for each row of a file. */
#include "input/data_files.h"
#include "models/predictions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct choices {
    const char *store_path, *data_path, *name, *column_list, *out_path;
    cli_data_options data;
    cli_open open;
    bool json;
} choices;

/* What predicts: a model of a store, with its set of rows, or else a published one. */
typedef struct predictor {
    const char *name; /* of the model; NULL: a published one has none */
    efface_store *store;
    efface_model *model;
    efface_data *fitted;
    efface_predictor *published;
} predictor;

static void free_predictor(predictor *p) {
    efface_model_free(p->model);
    efface_data_free(p->fitted);
    efface_predictor_free(p->published);
}

static cli_columns columns_of(const predictor *p) {
    return (cli_columns){.n = p->published != NULL
                                  ? efface_predictor_get_info(p->published).n_columns
                                  : efface_data_n_columns(p->fitted),
                         .data = p->fitted,
                         .published = p->published};
}

/* Whether the columns are the same in the same order, with or without names. */
static bool same_names(const cli_columns *there, const cli_columns *fitted) {
    for (uint32_t i = 0; i < fitted->n && there->n == fitted->n; i++) {
        const char *const a = cli_column_name(there, i), *const b = cli_column_name(fitted, i);
        if (a == NULL || b == NULL ? a != b : strcmp(a, b) != 0)
            return false;
    }
    return there->n == fitted->n;
}

static bool all_named(const cli_columns *columns) {
    for (uint32_t i = 0; i < columns->n; i++)
        if (cli_column_name(columns, i) == NULL)
            return false;
    return true;
}

static bool some_named(const cli_columns *columns) {
    for (uint32_t i = 0; i < columns->n; i++)
        if (cli_column_name(columns, i) != NULL)
            return true;
    return false;
}

/* Finds the columns of the model by name. */
static bool match_names(const choices *c, const cli_columns *there, const cli_columns *fitted,
                        const efface_error *passed_over, uint32_t *columns) {
    for (uint32_t i = 0; i < fitted->n; i++) {
        const char *const name = cli_column_name(fitted, i);
        uint32_t itself;
        cli_found found = cli_find_column(fitted, name, &itself);
        if (found == CLI_ONE)
            found = cli_find_column(there, name, &columns[i]);
        if (found == CLI_ONE)
            continue;
        if (found == CLI_SEVERAL)
            (void)cli_failed("several columns have the name '%s'; choose the columns of %s by "
                             "number with --columns",
                             name, cli_data_name(c->data_path));
        else if (passed_over->status != EFFACE_OK)
            (void)cli_report_error(passed_over);
        else
            (void)cli_failed(
                "%s has no column '%s', which the model needs; choose other columns with --columns",
                cli_data_name(c->data_path), name);
        return false;
    }
    return true;
}

/* The columns of `rows` for the columns of the model, in their order: those of --columns, or by
 * name if both have names, or all of them. NULL, after a message, if they do not fit. */
static uint32_t *match_columns(const choices *c, const efface_data *rows, const cli_columns *fitted,
                               const efface_error *passed_over, int *code) {
    const cli_columns there = {.n = efface_data_n_columns(rows), .data = rows};
    uint32_t *columns = NULL, n_listed;
    if (c->column_list != NULL) {
        *code = CLI_USAGE;
        if (!cli_read_columns(c->column_list, &there, &columns, &n_listed) || n_listed == fitted->n)
            return columns;
        free(columns);
        *code = cli_wrong("--columns names %" PRIu32 " columns, but the model has %" PRIu32,
                          n_listed, fitted->n);
        return NULL;
    }
    *code = CLI_FAILED;
    columns = malloc(fitted->n * sizeof *columns);
    if (columns == NULL) {
        (void)cli_out_of_memory();
        return NULL;
    }
    bool good = true;
    const bool same = same_names(&there, fitted);
    if (!same && all_named(fitted) && some_named(&there)) {
        good = match_names(c, &there, fitted, passed_over, columns);
    } else if (fitted->n != there.n) {
        (void)cli_failed("%s has %" PRIu32 " columns of values, but the model has %" PRIu32
                         ": choose the columns of the model with --columns",
                         cli_data_name(c->data_path), there.n, fitted->n);
        good = false;
    } else {
        for (uint32_t i = 0; i < there.n; i++)
            columns[i] = i;
    }
    if (good)
        return columns;
    free(columns);
    return NULL;
}

/* Values that were rounded with another offset, or none, are not those that the model knows. */
static int check_offsets(const choices *c, const efface_data *rows, const predictor *by,
                         const uint32_t *columns) {
    const double *const have = efface_data_offsets(rows);
    const double *const want = by->published != NULL ? efface_predictor_offsets(by->published)
                                                     : efface_data_offsets(by->fitted);
    const char *const where = by->published != NULL ? "published model" : "store";
    for (uint32_t j = 0; j < columns_of(by).n; j++)
        if ((have != NULL ? have[columns[j]] : 0.0) != (want != NULL ? want[j] : 0.0))
            return cli_failed("column %" PRIu32
                              " of %s does not match the column of the %s with the offset %.17g; "
                              "give the columns of %s the names or the order of the %s",
                              columns[j] + 1, cli_data_name(c->data_path), where,
                              want != NULL ? want[j] : 0.0, cli_data_name(c->data_path), where);
    return CLI_DONE;
}

/* What is written: a prediction for each row and, if DATA has a column of ids, those. */
typedef struct result {
    const char *model;
    const efface_data *rows;
    const efface_texts *texts;
    cli_predictions predictions;
    bool with_ids;
} result;

static const char *id_text(const result *r, uint64_t id) {
    return efface_texts_find(r->texts, EFFACE_TEXT_ID, id);
}

static void write_json(FILE *out, const result *r) {
    const size_t n = r->predictions.n_rows;
    cli_json json = {.out = out};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "model", r->model);
    cli_json_whole(&json, "rows", n);
    if (r->with_ids) {
        cli_json_open(&json, "ids", '[');
        for (size_t i = 0; i < n; i++) {
            const uint64_t id = efface_data_row(r->rows, i).id;
            cli_json_id(&json, id, id_text(r, id));
        }
        cli_json_close(&json, ']');
    }
    cli_json_predictions(&json, &r->predictions, NULL);
    cli_json_close(&json, '}');
}

/* One number for each row needs no heading. */
static void write_csv(FILE *out, const result *r) {
    if (r->with_ids || r->predictions.n_numbers > 1) {
        fputs(r->with_ids ? "id," : "", out);
        cli_csv_prediction_names(out, &r->predictions);
        fputc('\n', out);
    }
    for (size_t i = 0; i < r->predictions.n_rows; i++) {
        if (r->with_ids) {
            const uint64_t id = efface_data_row(r->rows, i).id;
            cli_csv_id(out, id, id_text(r, id));
            fputc(',', out);
        }
        cli_csv_prediction(out, &r->predictions, i);
        fputc('\n', out);
    }
}

static void write_predictions(FILE *out, cli_format format, const result *r) {
    if (format == CLI_NPY)
        cli_npy_predictions(out, &r->predictions, NULL);
    else
        (format == CLI_JSON ? write_json : write_csv)(out, r);
}

static int write_result(const choices *c, cli_format format, const result *r) {
    cli_output output;
    if (!cli_output_open(&output, c->out_path))
        return CLI_FAILED;
    write_predictions(output.file, format, r);
    if (!cli_output_finish(&output))
        return CLI_FAILED;
    if (!c->json || cli_is_stdout(c->out_path))
        return CLI_DONE;
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "model", r->model);
    cli_json_whole(&json, "rows", r->predictions.n_rows);
    cli_json_text(&json, "file", c->out_path);
    cli_json_text(&json, "format", cli_format_name(format));
    cli_json_close(&json, '}');
    return CLI_DONE;
}

/* DATA as `load` says, with its ids where it has any. */
typedef struct read_data {
    efface_data *rows;
    efface_texts *texts;
    efface_error passed_over;
    bool with_ids;
} read_data;

static int read_rows(const choices *c, efface_load_options *load, read_data *data) {
    efface_error error;
    int code = CLI_DONE;
    if (efface_texts_create(&data->texts, &error) != EFFACE_OK)
        return cli_report_error(&error);
    load->texts = data->texts;
    /* A column of texts that nobody named may be read as the ids, which it is not. */
    data->with_ids = c->data.id != NULL || load->id_column != NULL;
    return cli_load_some(c->data_path, &c->data, load, &data->rows, &data->passed_over, &code)
               ? CLI_DONE
               : code;
}

static int answer(const choices *c, cli_format format, const predictor *by, const read_data *data) {
    const cli_columns of = columns_of(by);
    const cli_predicting predicting = {by->model, by->published};
    result r = {
        .model = by->name, .rows = data->rows, .texts = data->texts, .with_ids = data->with_ids};
    int code;
    uint32_t *const columns = match_columns(c, data->rows, &of, &data->passed_over, &code);
    if (columns == NULL)
        return code;
    code = check_offsets(c, data->rows, by, columns);
    if (code == CLI_DONE)
        code = cli_predict_rows(&predicting, data->rows, columns, by->store, &r.predictions);
    if (code == CLI_DONE)
        code = write_result(c, format, &r);
    cli_predictions_free(&r.predictions);
    free(columns);
    return code;
}

static int answer_from_store(const choices *c, cli_format format) {
    efface_store *store = NULL;
    efface_stored_model info;
    efface_load_options load;
    efface_error error;
    predictor by = {.name = info.name};
    read_data data = {.rows = NULL};
    int code;
    if (!cli_open_store(c->store_path, &c->open, &store, &code))
        return code;
    code = cli_choose_model(store, c->name, &info);
    if (code == CLI_DONE) {
        efface_store_load_options(store, &load);
        code = read_rows(c, &load, &data);
        cli_wipe(&load, sizeof load);
    }
    if (code == CLI_DONE &&
        efface_store_load(store, info.name, &by.fitted, &by.model, &error) != EFFACE_OK)
        code = cli_report_error(&error);
    by.store = store;
    if (code == CLI_DONE)
        code = answer(c, format, &by, &data);
    free_predictor(&by);
    efface_data_free(data.rows);
    efface_texts_free(data.texts);
    efface_store_close(store);
    return code;
}

/* The offsets of a published model, to be taken away when DATA is read. NULL if memory is short. */
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
    predictor by = {.name = NULL};
    read_data data = {.rows = NULL};
    if (c->name != NULL)
        return cli_wrong("%s is a published model: there is no other, so leave --model out",
                         c->store_path);
    if (efface_predictor_load(c->store_path, &by.published, &error) != EFFACE_OK)
        return cli_report_error(&error);
    efface_load_options_init(&load);
    efface_offset *const offsets = offsets_to_load(by.published, &load.n_offsets);
    load.offsets = offsets;
    int code = offsets != NULL ? read_rows(c, &load, &data) : cli_out_of_memory();
    if (code == CLI_DONE)
        code = answer(c, format, &by, &data);
    free(offsets);
    free_predictor(&by);
    efface_data_free(data.rows);
    efface_texts_free(data.texts);
    return code;
}

static int run(int n_arguments, char **arguments) {
    choices c;
    memset(&c, 0, sizeof c);
    c.open = (cli_open){.access = EFFACE_ACCESS_READ, .wait = -1};
    const cli_option options[] = {
        {"STORE", CLI_PLACE, &c.store_path, NULL},
        {"DATA", CLI_PLACE, &c.data_path, NULL},
        {"-o", CLI_TEXT, &c.out_path, NULL},
        {"--model", CLI_TEXT, &c.name, NULL},
        {"--columns", CLI_TEXT, &c.column_list, NULL},
        {"--wait", CLI_SECONDS, &c.open.wait, NULL},
        {"--json", CLI_FLAG, &c.json, NULL},
        CLI_DATA_OPTIONS(c.data),
        {NULL, CLI_FLAG, NULL, NULL},
    };
    if (!cli_parse("predict", options, n_arguments, arguments))
        return CLI_USAGE;
    cli_format format = c.json ? CLI_JSON : CLI_CSV;
    if (!cli_is_stdout(c.out_path)) {
        format = cli_format_of(c.out_path);
        if (format == CLI_OTHER)
            return cli_wrong(
                "the format follows from the name of FILE: it must end in .csv, .npy or .json");
    }
    return cli_is_published(c.store_path) ? answer_from_published(&c, format)
                                          : answer_from_store(&c, format);
}

const cli_command cli_predict = {
    "predict",
    "write what a model predicts for each row of a data file",
    "usage: efface predict STORE DATA [-o FILE] [OPTIONS]\n"
    "Writes what the model predicts for each row of DATA (CSV, .npy or IDX, also\n"
    "gzipped; - is standard input), a line for each row, in the order of DATA: kmeans\n"
    "the nearest cluster, from 0. Columns are matched by name if the model and DATA\n"
    "have names, and other columns are ignored; else columns are matched by order.\n"
    "STORE may be a published model (efface publish).\n"
    "  -o FILE          FILE.csv, FILE.npy (clusters: int32) or FILE.json; without\n"
    "                   it, standard output, as CSV or with --json as JSON\n"
    "  --model NAME     the model; needed if there are several\n"
    "  --columns LIST   the columns of DATA to use, by name or number: age,3,5-7\n"
    "  --id COL         the column of DATA with the ids; they are written beside the\n"
    "                   predictions, except to FILE.npy\n"
    "  --owner COL, --weight COL, --label COL\n"
    "                   columns of DATA that are not values, if that is not clear\n"
    "  --header yes|no, --ids numbers|text  if DATA does not make it clear\n"
    "  --wait SECONDS   how long to wait for a busy store (5)\n"
    "  --json           as JSON: model, rows, and ids and labels (clusters), classes,\n"
    "                   values or probabilities; or file and format\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 not found, 5 busy, 6 damaged.\n"
    "example: efface predict people.store new.csv --id id -o labels.csv\n",
    run,
    NULL,
};
