/* efface export: centroids, labels, canonical bytes and receipts as files. */
#include "data_files.h"
#include "json_writer.h"
#include "output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct choices {
    const char *store_path, *name, *out_path;
    cli_open open;
    bool centroids, labels, canonical, receipts, json;
} choices;

/* The name of a column, or one made up from its number. */
static const char *column_name(const cli_columns *columns, uint32_t column, char made_up[32]) {
    const char *const name = cli_column_name(columns, column);
    snprintf(made_up, 32, "column%" PRIu32, column + 1);
    return name != NULL ? name : made_up;
}

typedef struct matrix {
    cli_columns columns;
    double *values;
    uint32_t n_rows, n_columns;
} matrix;

static void write_centroids(FILE *out, cli_format format, const char *name, const matrix *m) {
    const size_t n = (size_t)m->n_rows * m->n_columns;
    char made_up[32];
    if (format == CLI_NPY) {
        cli_npy_header(out, "<f8", m->n_rows, m->n_columns);
        for (size_t i = 0; i < n; i++)
            cli_npy_float64(out, m->values[i]);
    } else if (format == CLI_JSON) {
        cli_json json = {.out = out};
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "model", name);
        cli_json_open(&json, "columns", '[');
        for (uint32_t j = 0; j < m->n_columns; j++)
            cli_json_text(&json, NULL, column_name(&m->columns, j, made_up));
        cli_json_close(&json, ']');
        cli_json_open(&json, "centroids", '[');
        for (uint32_t i = 0; i < m->n_rows; i++) {
            cli_json_line(&json);
            cli_json_open(&json, NULL, '[');
            for (uint32_t j = 0; j < m->n_columns; j++)
                cli_json_real(&json, NULL, m->values[(size_t)i * m->n_columns + j]);
            cli_json_close(&json, ']');
        }
        cli_json_close(&json, ']');
        cli_json_close(&json, '}');
    } else {
        for (uint32_t j = 0; j < m->n_columns; j++) {
            if (j > 0)
                fputc(',', out);
            cli_csv_text(out, column_name(&m->columns, j, made_up));
        }
        fputc('\n', out);
        for (size_t i = 0; i < n; i++)
            fprintf(out, "%.17g%c", m->values[i], (i + 1) % m->n_columns == 0 ? '\n' : ',');
    }
}

static int export_centroids(FILE *out, cli_format format, const char *name,
                            const efface_model *model, const efface_data *data) {
    const efface_kmeans_info info = efface_kmeans_get_info(model);
    matrix m = {.columns = {.n = info.n_columns, .data = data},
                .n_rows = info.n_clusters,
                .n_columns = info.n_columns};
    efface_error error;
    int code = CLI_DONE;
    m.values = malloc(((size_t)m.n_rows * m.n_columns + 1) * sizeof *m.values);
    if (m.values == NULL)
        return cli_out_of_memory();
    for (uint32_t i = 0; i < m.n_rows && code == CLI_DONE; i++) {
        double *const centroid = m.values + (size_t)i * m.n_columns;
        if (efface_kmeans_centroid(model, i, centroid, &error) != EFFACE_OK)
            code = cli_report_error(&error);
        else
            efface_data_add_offsets(data, centroid);
    }
    if (code == CLI_DONE)
        write_centroids(out, format, name, &m);
    free(m.values);
    return code;
}

typedef struct labelled {
    uint64_t id;
    uint32_t label;
} labelled;

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = ((const labelled *)a)->id, y = ((const labelled *)b)->id;
    return (x > y) - (x < y);
}

/* Writes ids as the texts they were, if the store keeps texts. */
static int write_labels(FILE *out, cli_format format, const char *name, efface_store *store,
                        const labelled *rows, size_t n) {
    efface_store_info info;
    efface_error error;
    cli_json json = {.out = out};
    if (efface_store_get_info(store, &info, &error) != EFFACE_OK)
        return cli_report_error(&error);
    if (format == CLI_NPY) {
        cli_npy_header(out, "<i4", n, 0);
        for (size_t i = 0; i < n; i++)
            cli_npy_int32(out, rows[i].label);
        return CLI_DONE;
    }
    if (format == CLI_JSON) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "model", name);
        cli_json_open(&json, "ids", '[');
    } else {
        fputs("id,label\n", out);
    }
    for (size_t i = 0; i < n; i++) {
        char *text = NULL;
        if (info.keeps_texts != 0 &&
            efface_store_text(store, EFFACE_TEXT_ID, rows[i].id, &text, &error) != EFFACE_OK)
            return cli_report_error(&error);
        if (format == CLI_JSON) {
            cli_json_id(&json, rows[i].id, text);
        } else {
            cli_csv_id(out, rows[i].id, text);
            fprintf(out, ",%" PRIu32 "\n", rows[i].label);
        }
        efface_text_free(text);
    }
    if (format == CLI_JSON) {
        cli_json_close(&json, ']');
        cli_json_open(&json, "labels", '[');
        for (size_t i = 0; i < n; i++)
            cli_json_whole(&json, NULL, rows[i].label);
        cli_json_close(&json, ']');
        cli_json_close(&json, '}');
    }
    return CLI_DONE;
}

/* In the order of ids: positions in a store depend on its history, a file must not. */
static int export_labels(FILE *out, cli_format format, const char *name, efface_store *store,
                         const efface_model *model, const efface_data *data) {
    const size_t n = efface_data_n_rows(data);
    uint32_t *const labels = malloc((n + 1) * sizeof *labels);
    labelled *const rows = malloc((n + 1) * sizeof *rows);
    efface_error error;
    int code = CLI_DONE;
    if (labels == NULL || rows == NULL)
        code = cli_out_of_memory();
    else if (n > 0 && efface_kmeans_labels(model, data, labels, &error) != EFFACE_OK)
        code = cli_report_error(&error);
    if (code == CLI_DONE) {
        for (size_t i = 0; i < n; i++)
            rows[i] = (labelled){efface_data_row(data, i).id, labels[i]};
        qsort(rows, n, sizeof *rows, compare_ids);
        code = write_labels(out, format, name, store, rows, n);
    }
    free(labels);
    free(rows);
    return code;
}

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

static int write_export(const choices *c, cli_format format, const char *name, efface_store *store,
                        FILE *out) {
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_error error;
    if (c->receipts)
        return export_receipts(out, format, store);
    if (c->canonical)
        return export_canonical(out, name, store);
    if (efface_store_load(store, name, &data, &model, &error) != EFFACE_OK)
        return cli_report_error(&error);
    const int code = c->centroids ? export_centroids(out, format, name, model, data)
                                  : export_labels(out, format, name, store, model, data);
    efface_model_free(model);
    efface_data_free(data);
    return code;
}

static void print_json(const choices *c, cli_format format, const char *name) {
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "exported",
                  c->centroids   ? "centroids"
                  : c->labels    ? "labels"
                  : c->canonical ? "canonical"
                                 : "receipts");
    cli_json_text(&json, "model", name);
    cli_json_text(&json, "file", c->out_path);
    cli_json_text(&json, "format", c->canonical ? "canonical" : cli_format_name(format));
    cli_json_close(&json, '}');
}

static int export_to_file(const choices *c, cli_format format, efface_store *store) {
    efface_stored_model model;
    cli_output output;
    const char *const name = c->receipts ? NULL : model.name;
    int code = c->receipts ? CLI_DONE : cli_choose_model(store, c->name, &model);
    if (code != CLI_DONE)
        return code;
    if (!cli_output_open(&output, c->out_path))
        return CLI_FAILED;
    code = write_export(c, format, name, store, output.file);
    if (code != CLI_DONE)
        cli_output_abandon(&output);
    else if (!cli_output_finish(&output))
        code = CLI_FAILED;
    if (code == CLI_DONE && c->json && !cli_is_stdout(c->out_path))
        print_json(c, format, name);
    return code;
}

/* The format that the command line asks for. False, after a message, if it makes no sense. */
static bool choose_format(const choices *c, cli_format *format) {
    const bool to_stdout = cli_is_stdout(c->out_path);
    *format = to_stdout ? (c->json ? CLI_JSON : CLI_CSV) : cli_format_of(c->out_path);
    if (c->canonical) {
        if (!to_stdout || !c->json)
            return true;
        (void)cli_wrong("canonical bytes are not JSON: write them to a file with -o FILE");
        return false;
    }
    if (c->receipts) {
        if (to_stdout || *format == CLI_JSON || *format == CLI_OTHER)
            return true;
        (void)cli_wrong("receipts are JSON: give -o a name that ends in .json, or in .jsonl for "
                        "one receipt per line");
        return false;
    }
    if (*format != CLI_OTHER)
        return true;
    (void)cli_wrong("the format follows from the name of FILE: it must end in .csv, .npy or .json");
    return false;
}

static int run(int n_arguments, char **arguments) {
    choices c;
    memset(&c, 0, sizeof c);
    c.open = (cli_open){.access = EFFACE_ACCESS_READ, .wait = -1};
    const cli_option options[] = {
        {"STORE", CLI_PLACE, &c.store_path, NULL},   {"--centroids", CLI_FLAG, &c.centroids, NULL},
        {"--labels", CLI_FLAG, &c.labels, NULL},     {"--canonical", CLI_FLAG, &c.canonical, NULL},
        {"--receipts", CLI_FLAG, &c.receipts, NULL}, {"-o", CLI_TEXT, &c.out_path, NULL},
        {"--model", CLI_TEXT, &c.name, NULL},        {"--wait", CLI_SECONDS, &c.open.wait, NULL},
        {"--json", CLI_FLAG, &c.json, NULL},         {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    cli_format format;
    int code;
    if (!cli_parse("export", options, n_arguments, arguments))
        return CLI_USAGE;
    if (c.centroids + c.labels + c.canonical + c.receipts != 1)
        return cli_wrong("export needs one of --centroids, --labels, --canonical and --receipts");
    if (c.out_path == NULL)
        return cli_wrong("export needs -o FILE; -o - is standard output");
    if (!choose_format(&c, &format))
        return CLI_USAGE;
    if (!cli_open_store(c.store_path, &c.open, &store, &code))
        return code;
    code = export_to_file(&c, format, store);
    efface_store_close(store);
    return code;
}

const cli_command cli_export = {
    "export",
    "write centroids, labels, canonical bytes or receipts to a file",
    "usage: efface export STORE (--centroids | --labels | --canonical | --receipts)\n"
    "           -o FILE [--model NAME] [--wait SECONDS] [--json]\n"
    "Writes a file. An old file of that name stays until the new one is complete.\n"
    "  --centroids    in the units of the data: FILE.npy (float64), .csv or .json\n"
    "  --labels       the cluster of each row, by ascending id: FILE.npy (int32,\n"
    "                 labels only), .csv or .json (ids and labels; ids are texts if\n"
    "                 the store keeps texts)\n"
    "  --canonical    the state of the model as bytes, for any name of FILE. Equal\n"
    "                 states give equal files. They do not contain the seed\n"
    "  --receipts     the receipts of all requests: FILE.json is an array with one\n"
    "                 receipt per line; other names have the lines only\n"
    "  -o FILE        - is standard output: CSV, or JSON with --json\n"
    "  --model NAME   the model; needed if there are several\n"
    "  --wait SECONDS how long to wait for a busy store (5)\n"
    "  --json         what was done as JSON: exported, model, file, format\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 not found, 5 busy, 6 damaged.\n"
    "examples: efface export people.store --centroids -o centroids.npy\n"
    "          efface export people.store --canonical -o people.state\n",
    run,
};
