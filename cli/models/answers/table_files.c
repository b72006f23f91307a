/* The tables of a model as CSV, JSON and .npy. Rows that are classes or columns have names, which
 * come first in CSV; numbers alone are in .npy. */
#include "models/answers/table_files.h"

#include <inttypes.h>
#include <stdlib.h>

/* What is being written. */
typedef struct writing {
    FILE *out;
    const cli_named_predictor *of;
    const efface_table *table;
    cli_classes classes;
    double *row;
} writing;

static int read_table_row(const writing *w, uint64_t row) {
    efface_error error;
    return cli_outcome(efface_predictor_read_table(w->of->predictor, w->table->name, row,
                                                   cli_named_offsets(w->of), w->row, &error),
                       &error);
}

const char *cli_table_column(const cli_named_predictor *of, const efface_table *table,
                             uint32_t column, char made_up[CLI_MADE_UP]) {
    if (column < table->n_named)
        return table->names[column];
    const uint32_t place = column - table->n_named;
    if (table->columns != NULL)
        return cli_named_column(of, table->columns[place], made_up);
    if (table->part_name == NULL)
        return cli_named_column(of, place, made_up);
    snprintf(made_up, CLI_MADE_UP, "%.16s%" PRIu32, table->part_name, place + 1);
    return made_up;
}

/* The name of a row, or NULL if rows are only numbered. */
static const char *row_name(const writing *w, uint64_t row, char made_up[CLI_MADE_UP]) {
    const efface_table *const table = w->table;
    if (table->rows == EFFACE_TABLE_CLASSES)
        return cli_class_name(&w->classes, table->row_ids[row], made_up);
    if (table->rows == EFFACE_TABLE_COLUMNS)
        return cli_named_column(w->of, (uint32_t)table->row_ids[row], made_up);
    return NULL;
}

static int write_npy_table(const writing *w) {
    const efface_table *const table = w->table;
    int code = CLI_DONE;
    cli_npy_header(w->out, "<f8", table->n_rows, table->n_columns);
    for (uint64_t i = 0; i < table->n_rows && code == CLI_DONE; i++) {
        code = read_table_row(w, i);
        for (uint32_t j = 0; j < table->n_columns && code == CLI_DONE; j++)
            cli_npy_number(w->out, (efface_number){.real = w->row[j]}, 8);
    }
    return code;
}

static int write_json_table(const writing *w) {
    const efface_table *const table = w->table;
    cli_json json = {.out = w->out};
    char made_up[CLI_MADE_UP];
    int code = CLI_DONE;
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "model", w->of->name);
    cli_json_open(&json, "columns", '[');
    for (uint32_t j = 0; j < table->n_columns; j++)
        cli_json_text(&json, NULL, cli_table_column(w->of, table, j, made_up));
    cli_json_close(&json);
    if (table->rows != EFFACE_TABLE_NUMBERED) {
        cli_json_open(&json, "rows", '[');
        for (uint64_t i = 0; i < table->n_rows; i++)
            cli_json_text(&json, NULL, row_name(w, i, made_up));
        cli_json_close(&json);
    }
    cli_json_open(&json, table->name, '[');
    for (uint64_t i = 0; i < table->n_rows && code == CLI_DONE; i++) {
        code = read_table_row(w, i);
        cli_json_line(&json);
        cli_json_open(&json, NULL, '[');
        for (uint32_t j = 0; j < table->n_columns && code == CLI_DONE; j++)
            cli_json_real(&json, NULL, w->row[j]);
        cli_json_close(&json);
    }
    cli_json_close(&json);
    cli_json_close(&json);
    return code;
}

static int write_csv_table(const writing *w) {
    const efface_table *const table = w->table;
    const bool named = table->rows != EFFACE_TABLE_NUMBERED;
    char made_up[CLI_MADE_UP];
    int code = CLI_DONE;
    if (named)
        cli_csv_text(w->out, table->row_name);
    for (uint32_t j = 0; j < table->n_columns; j++) {
        fputs(named || j > 0 ? "," : "", w->out);
        cli_csv_text(w->out, cli_table_column(w->of, table, j, made_up));
    }
    fputc('\n', w->out);
    for (uint64_t i = 0; i < table->n_rows && code == CLI_DONE; i++) {
        code = read_table_row(w, i);
        if (code == CLI_DONE && named) {
            cli_csv_text(w->out, row_name(w, i, made_up));
            fputs(",", w->out);
        }
        for (uint32_t j = 0; j < table->n_columns && code == CLI_DONE; j++)
            fprintf(w->out, "%.17g%c", w->row[j], j + 1 == table->n_columns ? '\n' : ',');
    }
    return code;
}

int cli_write_table(FILE *out, cli_format format, const cli_named_predictor *of,
                    const efface_table *table) {
    writing w = {.out = out,
                 .of = of,
                 .table = table,
                 .row = calloc(table->n_columns + (size_t)1, sizeof(double))};
    int code = w.row != NULL ? cli_read_classes(of, &w.classes) : cli_out_of_memory();
    if (code == CLI_DONE)
        code = (format == CLI_NPY    ? write_npy_table
                : format == CLI_JSON ? write_json_table
                                     : write_csv_table)(&w);
    cli_classes_free(&w.classes);
    free(w.row);
    return code;
}
