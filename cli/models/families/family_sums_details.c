/* What info says of a model of sums: a short report of what its view gives. */
#include "models/families/family_sums_details.h"

#include "models/answers/table_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cli_view_has_classes(efface_view view) {
    return view == EFFACE_VIEW_RIDGE || view == EFFACE_VIEW_BAYES ||
           view == EFFACE_VIEW_DISCRIMINANT;
}

uint32_t *cli_sums_listed(const efface_model *model, cli_sums_list *list, uint32_t *n) {
    *n = list(model, NULL, 0);
    uint32_t *const items = malloc((*n + (size_t)1) * sizeof *items);
    if (items != NULL)
        (void)list(model, items, *n);
    return items;
}

bool cli_sums_can_predict(const cli_named_predictor *of, efface_error *why) {
    const efface_predictor_info info = efface_predictor_get_info(of->predictor);
    float *const row = calloc(info.n_columns, sizeof *row);
    efface_number *const numbers = calloc(info.n_numbers + (size_t)1, sizeof *numbers);
    const bool can =
        row == NULL || numbers == NULL || cli_named_predict(of, 1, row, numbers, why) == EFFACE_OK;
    free(row);
    free(numbers);
    return can;
}

/* ---- tables */

/* A table of the view; false if it has none of that name. */
static bool find_view_table(cli_model_details *d, const char *name, efface_table *table) {
    const cli_named_predictor of = cli_named_of(d);
    efface_error error;
    return efface_predictor_find_table(of.predictor, name, table, &error) == EFFACE_OK;
}

/* A row of a table: `values` has room for it. False, after `why` was filled, if there is none. */
static bool read_view_row(const cli_model_details *d, const char *name, uint64_t row,
                          double *values, efface_error *why) {
    const cli_named_predictor of = cli_named_of(d);
    return efface_predictor_read_table(of.predictor, name, row, cli_named_offsets(&of), values,
                                       why) == EFFACE_OK;
}

static void add_text_fact(cli_facts *facts, const char *name, const char *text) {
    const efface_fact fact = {.name = name, .kind = EFFACE_FACT_TEXT, .text = text};
    cli_facts_add(facts, &fact);
}

static void add_real_fact(cli_facts *facts, const char *name, double value) {
    const efface_fact fact = {
        .name = name, .kind = isfinite(value) ? EFFACE_FACT_REAL : EFFACE_FACT_NONE, .real = value};
    cli_facts_add(facts, &fact);
}

/* ---- linear regression */

static const cli_section_column term_columns[] = {
    {"coefficient", "coefficient", CLI_CELL_REAL},
    {"error", "std. error", CLI_CELL_REAL},
    {"t", "t", CLI_CELL_REAL},
};

/* The coefficients of one target; `row` and `errors` have room for a row of the tables. */
static int add_regression(cli_model_details *d, const efface_table *table, uint64_t number,
                          double *row, double *errors) {
    const cli_named_predictor of = cli_named_of(d);
    char made_up[CLI_MADE_UP];
    double quality[3];
    efface_table of_quality;
    efface_error error;
    if (!read_view_row(d, "coefficients", number, row, &error))
        return cli_report_error(&error);
    const bool has_errors = read_view_row(d, "errors", number, errors, &error);
    /* An intercept that was not asked for is 0, and no term. */
    const uint32_t first =
        efface_sums_get_params(d->model).linear.intercept != 0 ? 0 : table->n_named;
    cli_section *const s =
        cli_sections_add(&d->sections, term_columns, 3, table->n_columns - first);
    if (s == NULL)
        return cli_out_of_memory();
    s->one = "target";
    s->several = "targets";
    s->row_name = "term";
    s->rows_name = "terms";
    s->table = "coefficients";
    s->title = strdup(cli_named_column(&of, (uint32_t)table->row_ids[number], made_up));
    for (uint32_t j = first; j < table->n_columns; j++) {
        cli_section_name(s, j - first, cli_table_column(&of, table, j, made_up));
        double *const cells = s->values + 3 * (size_t)(j - first);
        cells[0] = row[j];
        cells[1] = has_errors ? errors[j] : NAN;
        cells[2] = cells[1] > 0.0 ? cells[0] / cells[1] : NAN;
    }
    if (find_view_table(d, "quality", &of_quality) && of_quality.n_columns == 3 &&
        read_view_row(d, "quality", number, quality, &error))
        for (uint32_t j = 0; j < of_quality.n_named; j++)
            add_real_fact(&s->facts, of_quality.names[j], quality[j]);
    return s->title != NULL ? CLI_DONE : cli_out_of_memory();
}

static int add_regressions(cli_model_details *d) {
    efface_table table;
    if (!find_view_table(d, "coefficients", &table) || table.rows != EFFACE_TABLE_COLUMNS)
        return CLI_DONE;
    double *const row = calloc(table.n_columns + (size_t)1, sizeof *row);
    double *const errors = calloc(table.n_columns + (size_t)1, sizeof *errors);
    int code = row != NULL && errors != NULL ? CLI_DONE : cli_out_of_memory();
    for (uint64_t i = 0; i < table.n_rows && code == CLI_DONE; i++)
        code = add_regression(d, &table, i, row, errors);
    free(row);
    free(errors);
    return code;
}

/* ---- components */

static const cli_section_column component_columns[] = {
    {"variance", "variance", CLI_CELL_REAL},
    {"share", "share", CLI_CELL_PART},
    {"cumulated", "cumulated", CLI_CELL_PART},
};

static int add_components(cli_model_details *d) {
    efface_table table;
    efface_error error;
    double row[2], cumulated = 0.0;
    if (!find_view_table(d, "variances", &table) || table.n_columns != 2)
        return CLI_DONE;
    cli_section *const s =
        cli_sections_add(&d->sections, component_columns, 3, (uint32_t)table.n_rows);
    if (s == NULL)
        return cli_out_of_memory();
    s->row_name = "component";
    s->rows_name = "components";
    s->table = "variances";
    for (uint32_t i = 0; i < s->n_rows; i++) {
        char number[CLI_MADE_UP];
        snprintf(number, sizeof number, "c%" PRIu32, i + 1);
        cli_section_name(s, i, number);
        if (!read_view_row(d, "variances", i, row, &error))
            return cli_report_error(&error);
        cumulated += row[1];
        double *const cells = s->values + 3 * (size_t)i;
        cells[0] = row[0];
        cells[1] = row[1];
        cells[2] = cumulated;
    }
    return CLI_DONE;
}

/* ---- classes */

/* Reads the priors where the view has them. */
static void add_priors(cli_model_details *d, cli_section *s) {
    efface_table table;
    efface_error error;
    double row[8];
    if (s->n_columns < 3 || !find_view_table(d, "priors", &table) || table.n_columns > 8)
        return;
    for (uint32_t i = 0; i < s->n_rows; i++)
        s->values[s->n_columns * (size_t)i + 2] =
            i < table.n_rows && read_view_row(d, "priors", i, row, &error) ? row[0] : NAN;
}

static int add_classes(cli_model_details *d) {
    const bool has_priors = efface_sums_get_params(d->model).view != EFFACE_VIEW_RIDGE;
    cli_section *s;
    const int code = cli_add_classes(d, has_priors ? 3 : 2, "means", &s);
    if (code == CLI_DONE)
        add_priors(d, s);
    return code;
}

/* ---- what should be looked at */

static int add_coarse(cli_model_details *d) {
    uint32_t n;
    uint32_t *const coarse = cli_sums_listed(d->model, efface_sums_coarse_columns, &n);
    if (coarse == NULL)
        return cli_out_of_memory();
    for (uint32_t i = 0; i < n; i++)
        d->columns[coarse[i]].coarse = true;
    free(coarse);
    return CLI_DONE;
}

/* Features that the view left out, by name; Fourier features have numbers only. */
static int add_dropped(cli_model_details *d) {
    const bool fourier = efface_sums_get_params(d->model).n_fourier != 0;
    const cli_named_predictor of = cli_named_of(d);
    uint32_t n;
    uint32_t *const dropped = cli_sums_listed(d->model, efface_sums_dropped, &n);
    if (dropped == NULL)
        return cli_out_of_memory();
    cli_section *const s = n > 0 ? cli_sections_add(&d->sections, NULL, 0, n) : NULL;
    for (uint32_t i = 0; i < n && s != NULL; i++) {
        char made_up[CLI_MADE_UP];
        snprintf(made_up, sizeof made_up, "feature%" PRIu32, dropped[i] + 1);
        cli_section_name(s, i, fourier ? made_up : cli_named_column(&of, dropped[i], made_up));
    }
    if (s != NULL) {
        s->row_name = "feature";
        s->rows_name = "dropped";
        s->table = "coefficients";
    }
    free(dropped);
    return n == 0 || s != NULL ? CLI_DONE : cli_out_of_memory();
}

int cli_sums_add_details(cli_model_details *d) {
    const efface_view view = efface_sums_get_params(d->model).view;
    const cli_named_predictor of = cli_named_of(d);
    efface_error why;
    int code = add_coarse(d);
    if (code == CLI_DONE && cli_view_has_classes(view))
        code = add_classes(d);
    if (code != CLI_DONE)
        return code;
    if (!cli_sums_can_predict(&of, &why)) {
        add_text_fact(&d->measures, "view", why.message);
        return CLI_DONE;
    }
    if (view == EFFACE_VIEW_LINEAR)
        code = add_regressions(d);
    if (view == EFFACE_VIEW_COMPONENTS)
        code = add_components(d);
    return code == CLI_DONE ? add_dropped(d) : code;
}
