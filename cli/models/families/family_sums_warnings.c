/* What fit warns of after it summed up rows. Nothing here is an error. */
#include "input/columns/column_offsets.h"
#include "models/families/family_sums_details.h"

#include "models/families/family_table.h"
#include "ranks.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MAX_NAMES = 4 };

/* ---- columns */

static void warn_coarse_sums(const efface_model *model, const cli_chosen *chosen) {
    char options[512] = "";
    size_t used = 0;
    uint32_t n;
    uint32_t *const coarse = cli_sums_listed(model, efface_sums_coarse_columns, &n);
    efface_data *loaded = NULL;
    const efface_data *const rows =
        coarse != NULL && n > 0 ? cli_chosen_rows(chosen, &loaded) : NULL;
    if (rows != NULL) {
        const uint32_t n_named = n < MAX_NAMES ? n : MAX_NAMES;
        for (uint32_t i = 0; i < n_named; i++) {
            char option[CLI_OFFSET_OPTION];
            if (cli_offset_option(option, rows, cli_chosen_column(chosen, coarse[i])))
                used += (size_t)snprintf(options + used, sizeof options - used, " %s", option);
        }
        cli_warn("values of %" PRIu32 " column%s differ so little compared to their size that less "
                 "than 8 bits of the differences are kept; create the store again with%s%s",
                 n, n == 1 ? "" : "s", used > 0 ? options : " --offset",
                 n > n_named ? ", and offsets for the others" : "");
    }
    efface_data_free(loaded);
    free(coarse);
}

static void warn_dropped(const efface_model *model, const cli_chosen *chosen) {
    const bool fourier = efface_sums_get_params(model).n_fourier != 0;
    char names[MAX_NAMES * 100] = "";
    size_t used = 0;
    uint32_t n;
    uint32_t *const dropped = cli_sums_listed(model, efface_sums_dropped, &n);
    for (uint32_t i = 0; i < n && i < MAX_NAMES && dropped != NULL && !fourier; i++) {
        const uint32_t column = cli_chosen_column(chosen, dropped[i]);
        char brackets[80];
        cli_name_in_brackets(brackets, cli_column_name(&chosen->of, column));
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%" PRIu32 "%s",
                                 i == 0 ? ": " : ", ", column + 1, brackets);
    }
    if (n > 0 && dropped != NULL)
        cli_warn("%" PRIu32 " feature%s constant, or depend%s on others, and %s left out%s%s", n,
                 n == 1 ? " is" : "s are", n == 1 ? "s" : "", n == 1 ? "is" : "are", names,
                 n > MAX_NAMES && !fourier ? ", ..." : "");
    free(dropped);
}

/* Offsets move the origin, which a regression without an intercept goes through. */
static void warn_origin(const efface_model *model, const cli_chosen *chosen) {
    const efface_sums_params params = efface_sums_get_params(model);
    const bool has_one = (params.view != EFFACE_VIEW_LINEAR && params.view != EFFACE_VIEW_RIDGE) ||
                         params.linear.intercept != 0;
    const double *const offsets =
        chosen->of.data != NULL ? efface_data_offsets(chosen->of.data) : NULL;
    bool moved = false;
    for (uint32_t j = 0; j < efface_model_get_info(model).n_columns; j++) {
        const uint32_t column = cli_chosen_column(chosen, j);
        if (chosen->of.data != NULL)
            moved = moved || (offsets != NULL && offsets[column] != 0.0);
        else if (chosen->of.store != NULL)
            moved = moved || efface_store_offset(chosen->of.store, column) != 0.0;
    }
    if (moved && !has_one)
        cli_warn(
            "columns have offsets, which move the origin: without an intercept, the model is 0 "
            "at the offsets and not where the columns are 0");
}

/* The sum of the variances of the inputs, and the largest; false if there are no rows. */
static bool find_variances(const efface_model *model, const cli_chosen *chosen,
                           const efface_data *rows, double *total, double *largest) {
    const uint32_t d = efface_data_n_columns(rows), n = efface_model_get_info(model).n_columns;
    float *const values = malloc((d + (size_t)1) * sizeof *values);
    double *const sums = calloc(2 * (size_t)d + 1, sizeof *sums);
    const double n_rows = (double)efface_data_n_rows(rows);
    *total = *largest = 0.0;
    for (size_t i = 0; i < efface_data_n_rows(rows) && values != NULL && sums != NULL; i++) {
        efface_data_values(rows, i, values);
        for (uint32_t j = 0; j < d; j++) {
            sums[j] += (double)values[j] / n_rows;
            sums[d + j] += (double)values[j] / n_rows * (double)values[j];
        }
    }
    for (uint32_t j = 0; j < n && values != NULL && sums != NULL; j++) {
        const uint32_t at = cli_chosen_column(chosen, j);
        const double variance = sums[d + at] - sums[at] * sums[at];
        if (efface_predictor_is_input(efface_model_predictor(model), j) && variance > 0.0) {
            *total += variance;
            *largest = variance > *largest ? variance : *largest;
        }
    }
    free(values);
    free(sums);
    return *total > *largest || *total > 0.0;
}

/* Where the kernel sees one column only, or all rows as strangers. */
static void warn_units(const efface_model *model, const cli_chosen *chosen) {
    const efface_sums_params params = efface_sums_get_params(model);
    efface_data *loaded = NULL;
    double total, largest;
    if (params.n_fourier == 0 || params.scale != EFFACE_SCALE_NONE)
        return;
    const efface_data *const rows = cli_chosen_rows(chosen, &loaded);
    if (rows != NULL && find_variances(model, chosen, rows, &total, &largest)) {
        if (total > largest && largest > 0.999 * total)
            cli_warn("one column has nearly all of the variance, so the kernel hardly sees the "
                     "others; try --scale standard");
        else if (2.0 * params.gamma * total > 50.0)
            cli_warn("rows are so far apart that the kernel of most pairs is 0; try --scale "
                     "standard, or a smaller --gamma");
    }
    efface_data_free(loaded);
}

/* ---- classes */

/* Rows of each class and, behind them, rows without one; of all ranks. */
static int count_classes(const efface_data *rows, const cli_classes *classes, uint64_t *counts) {
    for (size_t i = 0; i < efface_data_n_rows(rows); i++) {
        const int64_t label = efface_data_row(rows, i).label;
        const uint32_t place = cli_class_place(classes, label);
        if (place < classes->n || label == EFFACE_NO_LABEL)
            counts[place]++;
    }
    return cli_sum(counts, classes->n + (size_t)1);
}

static void say_single(const cli_classes *classes, const uint64_t *counts) {
    uint32_t n = 0, first = 0;
    char digits[CLI_MADE_UP];
    for (uint32_t i = classes->n; i-- > 0;)
        if (counts[i] == 1) {
            first = i;
            n++;
        }
    if (n > 0)
        cli_warn("%" PRIu32 " class%s one row only, which says nothing of how its rows differ; the "
                 "first is '%.60s'",
                 n, n == 1 ? " has" : "es have",
                 cli_class_name(classes, classes->numbers[first], digits));
}

static void warn_class_rows(const efface_model *model, const cli_chosen *chosen) {
    const cli_named_predictor of = {.predictor = efface_model_predictor(model),
                                    .store = chosen->of.store};
    efface_data *loaded = NULL;
    cli_classes classes;
    const efface_data *const rows = cli_chosen_rows(chosen, &loaded);
    const int code = cli_read_classes(&of, &classes);
    uint64_t *const counts = calloc(classes.n + (size_t)1, sizeof *counts);
    if (code == CLI_DONE && rows != NULL && counts != NULL &&
        count_classes(rows, &classes, counts) == CLI_DONE) {
        cli_warn_without(counts[classes.n], "class");
        say_single(&classes, counts);
    }
    free(counts);
    cli_classes_free(&classes);
    efface_data_free(loaded);
}

void cli_sums_warn(const efface_model *model, const cli_chosen *chosen) {
    const cli_named_predictor of = {.predictor = efface_model_predictor(model),
                                    .store = chosen->of.store};
    efface_error why;
    if (!cli_sums_can_predict(&of, &why))
        cli_warn("the model cannot predict yet: %s", why.message);
    warn_coarse_sums(model, chosen);
    warn_dropped(model, chosen);
    warn_origin(model, chosen);
    warn_units(model, chosen);
    if (cli_view_has_classes(efface_sums_get_params(model).view))
        warn_class_rows(model, chosen);
}
