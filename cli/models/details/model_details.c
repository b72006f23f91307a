/* What info says of one model. The seed is no part of it: the library does not give it out. */
#include "models/details/model_details.h"

#include "models/families/family_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_value(cli_column_details *column, float value) {
    if (isnan(value)) {
        column->n_missing++;
        return;
    }
    column->min = isnan(column->min) || value < column->min ? value : column->min;
    column->max = isnan(column->max) || value > column->max ? value : column->max;
}

static int read_columns(cli_model_details *d) {
    const uint32_t n_columns = efface_data_n_columns(d->data);
    const size_t n_rows = efface_data_n_rows(d->data);
    const double *const offsets = efface_data_offsets(d->data);
    float *const values = malloc((n_columns + (size_t)1) * sizeof *values);
    d->columns = calloc(n_columns + (size_t)1, sizeof *d->columns);
    if (values == NULL || d->columns == NULL) {
        free(values);
        return cli_out_of_memory();
    }
    for (uint32_t j = 0; j < n_columns; j++) {
        d->columns[j].name = efface_data_column_name(d->data, j);
        d->columns[j].offset = offsets != NULL ? offsets[j] : 0.0;
        d->columns[j].category =
            efface_predictor_is_category(efface_model_predictor(d->model), j) != 0;
        d->columns[j].min = d->columns[j].max = n_rows > 0 ? NAN : 0.0F;
    }
    for (size_t i = 0; i < n_rows; i++) {
        efface_data_values(d->data, i, values);
        for (uint32_t j = 0; j < n_columns; j++)
            add_value(&d->columns[j], values[j]);
    }
    free(values);
    return CLI_DONE;
}

int cli_read_details(efface_store *store, const efface_stored_model *about,
                     cli_model_details *out) {
    const cli_family *const family = cli_family_of(about->family);
    efface_error error;
    memset(out, 0, sizeof *out);
    out->about = *about;
    out->store = store;
    if (efface_store_load(store, about->name, &out->data, &out->model, &error) != EFFACE_OK ||
        efface_store_model_columns(store, about->name, &out->numbers, &error) != EFFACE_OK)
        return cli_report_error(&error);
    efface_model_describe(out->model, cli_facts_add, &out->facts);
    out->note = cli_family_note(out->model);
    int code = read_columns(out);
    if (code == CLI_DONE && family != NULL && family->add_details != NULL)
        code = family->add_details(out);
    bool failed = out->facts.failed || out->measures.failed;
    for (size_t i = 0; i < out->sections.n; i++)
        failed = failed || out->sections.items[i].facts.failed;
    return code == CLI_DONE && failed ? cli_out_of_memory() : code;
}

cli_named_predictor cli_named_of(const cli_model_details *d) {
    return (cli_named_predictor){.name = d->about.name,
                                 .predictor = efface_model_predictor(d->model),
                                 .data = d->data,
                                 .store = d->store};
}

void cli_free_details(cli_model_details *details) {
    free(details->columns);
    free(details->groups);
    cli_sections_free(&details->sections);
    cli_facts_free(&details->facts);
    cli_facts_free(&details->measures);
    efface_columns_free(details->numbers);
    efface_model_free(details->model);
    efface_data_free(details->data);
    memset(details, 0, sizeof *details);
}

/* The smallest or largest value of a column; codes of categories say nothing. */
static void print_end(const cli_column_details *column, float value, int width, int digits) {
    if (column->category || isnan(value))
        printf(" %*s", width, column->category ? "category" : "-");
    else
        printf(" %*.*g", width, digits, (double)value + column->offset);
}

static void print_column_details(const cli_model_details *details) {
    int width = 11;
    for (uint32_t j = 0; j < details->about.n_columns; j++)
        width = details->columns[j].offset != 0.0 ? 19 : width;
    printf("column %*s  %*s%s  name\n", width, "least", width, "most",
           details->bounds_given ? "  bounds" : "");
    for (uint32_t j = 0; j < details->about.n_columns; j++) {
        const cli_column_details *const column = &details->columns[j];
        const int digits = column->offset == 0.0 ? 6 : 17;
        printf("%6" PRIu32, details->numbers[j] + 1);
        print_end(column, column->min, width, digits);
        putchar(' ');
        print_end(column, column->max, width, digits);
        if (details->bounds_given)
            printf("  %.*g to %.*g", digits, (double)column->low + column->offset, digits,
                   (double)column->high + column->offset);
        fputs(column->name != NULL ? "  " : "", stdout);
        cli_put_text(stdout, column->name);
        if (column->n_missing > 0)
            printf("  (%" PRIu64 " missing)", column->n_missing);
        puts(column->coarse ? "  (coarse: keeps less than 8 bits)" : "");
    }
}

void cli_print_details(const cli_model_details *details) {
    printf("\nmodel     %s\nkind      %s\n", details->about.name, details->about.kind);
    cli_put_facts(stdout, "params    ", &details->facts, CLI_PARAMETERS);
    cli_put_facts(stdout, "fitted    ", &details->facts, CLI_FITTED);
    if (details->note != NULL)
        printf("note      %s\n", details->note);
    cli_put_fact_lines(stdout, &details->measures);
    print_column_details(details);
    cli_print_sections(&details->sections);
    if (details->group_name == NULL)
        return;
    printf("%-7s        rows       weight\n", details->group_name);
    for (uint32_t i = 0; i < details->n_groups; i++)
        printf("%7" PRIu32 " %11" PRIu64 "  %11" PRId64 "\n", i, details->groups[i].n_rows,
               details->groups[i].weight);
}

void cli_json_details(cli_json *json, const cli_model_details *details) {
    cli_json_open(json, "fitted", '{');
    cli_json_facts(json, &details->facts, false);
    cli_json_close(json);
    cli_json_text(json, "note", details->note);
    cli_json_facts(json, &details->measures, false);
    cli_json_open(json, "columns", '[');
    for (uint32_t j = 0; j < details->about.n_columns; j++) {
        const cli_column_details *const column = &details->columns[j];
        cli_json_open(json, NULL, '{');
        cli_json_whole(json, "number", details->numbers[j] + UINT64_C(1));
        cli_json_text(json, "name", column->name);
        cli_json_real(json, "least", (double)column->min + column->offset);
        cli_json_real(json, "most", (double)column->max + column->offset);
        cli_json_real(json, "offset", column->offset);
        if (details->bounds_given) {
            cli_json_real(json, "min", (double)column->low + column->offset);
            cli_json_real(json, "max", (double)column->high + column->offset);
        }
        cli_json_bool(json, "category", column->category);
        cli_json_whole(json, "missing", column->n_missing);
        cli_json_bool(json, "coarse", column->coarse);
        cli_json_close(json);
    }
    cli_json_close(json);
    cli_json_sections(json, &details->sections);
    if (details->group_name == NULL)
        return;
    cli_json_open(json, details->groups_name, '[');
    for (uint32_t i = 0; i < details->n_groups; i++) {
        cli_json_open(json, NULL, '{');
        cli_json_whole(json, "rows", details->groups[i].n_rows);
        cli_json_whole(json, "weight", (uint64_t)details->groups[i].weight);
        cli_json_close(json);
    }
    cli_json_close(json);
}
