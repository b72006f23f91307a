/* The tables of a model as CSV, JSON and .npy. */
#include "models/table_files.h"

#include "input/data_files.h"

#include <inttypes.h>
#include <stdlib.h>

int cli_find_table(const cli_tabled *of, const char *name, efface_table *table) {
    efface_error error;
    efface_status status;
    if (of->published != NULL)
        status = name != NULL ? efface_predictor_find_table(of->published, name, table, &error)
                              : efface_predictor_get_table(of->published, 0, table, &error);
    else
        status = name != NULL ? efface_model_find_table(of->model, name, table, &error)
                              : efface_model_get_table(of->model, 0, table, &error);
    return status == EFFACE_OK ? CLI_DONE : cli_report_error(&error);
}

static int read_row(const cli_tabled *of, const efface_table *table, uint64_t row, double *values) {
    efface_error error;
    const efface_status status =
        of->published != NULL
            ? efface_predictor_read_table(of->published, table->name, row, values, &error)
            : efface_model_read_table(of->model, table->name, row, efface_data_offsets(of->data),
                                      values, &error);
    return status == EFFACE_OK ? CLI_DONE : cli_report_error(&error);
}

/* The name of a column, or one made up from its number. */
static const char *column_name(const cli_tabled *of, uint32_t column, char made_up[32]) {
    const cli_columns columns = {.data = of->data, .published = of->published};
    const char *const name = cli_column_name(&columns, column);
    snprintf(made_up, 32, "column%" PRIu32, column + 1);
    return name != NULL ? name : made_up;
}

static int write_npy(FILE *out, const cli_tabled *of, const efface_table *table, double *row) {
    int code = CLI_DONE;
    cli_npy_header(out, "<f8", table->n_rows, table->n_columns);
    for (uint64_t i = 0; i < table->n_rows && code == CLI_DONE; i++) {
        code = read_row(of, table, i, row);
        for (uint32_t j = 0; j < table->n_columns && code == CLI_DONE; j++)
            cli_npy_float64(out, row[j]);
    }
    return code;
}

static int write_json(FILE *out, const cli_tabled *of, const efface_table *table, double *row) {
    cli_json json = {.out = out};
    char made_up[32];
    int code = CLI_DONE;
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "model", of->name);
    cli_json_open(&json, "columns", '[');
    for (uint32_t j = 0; j < table->n_columns; j++)
        cli_json_text(&json, NULL, column_name(of, j, made_up));
    cli_json_close(&json, ']');
    cli_json_open(&json, table->name, '[');
    for (uint64_t i = 0; i < table->n_rows && code == CLI_DONE; i++) {
        code = read_row(of, table, i, row);
        cli_json_line(&json);
        cli_json_open(&json, NULL, '[');
        for (uint32_t j = 0; j < table->n_columns && code == CLI_DONE; j++)
            cli_json_real(&json, NULL, row[j]);
        cli_json_close(&json, ']');
    }
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
    return code;
}

static int write_csv(FILE *out, const cli_tabled *of, const efface_table *table, double *row) {
    char made_up[32];
    int code = CLI_DONE;
    for (uint32_t j = 0; j < table->n_columns; j++) {
        fputs(j > 0 ? "," : "", out);
        cli_csv_text(out, column_name(of, j, made_up));
    }
    fputc('\n', out);
    for (uint64_t i = 0; i < table->n_rows && code == CLI_DONE; i++) {
        code = read_row(of, table, i, row);
        for (uint32_t j = 0; j < table->n_columns && code == CLI_DONE; j++)
            fprintf(out, "%.17g%c", row[j], j + 1 == table->n_columns ? '\n' : ',');
    }
    return code;
}

int cli_write_table(FILE *out, cli_format format, const cli_tabled *of, const efface_table *table) {
    double *const row = calloc(table->n_columns + (size_t)1, sizeof *row);
    if (row == NULL)
        return cli_out_of_memory();
    const int code = (format == CLI_NPY    ? write_npy
                      : format == CLI_JSON ? write_json
                                           : write_csv)(out, of, table, row);
    free(row);
    return code;
}
