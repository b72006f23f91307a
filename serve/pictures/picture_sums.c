/* Pictures of sums, by their view: regressions, classes, components. */
#include "pictures/picture_parts.h"

#include <math.h>
#include <stdlib.h>

#define MAX_FEATURES 512 /* for deviations, which take time with the cube of these */

/* ---------------------------------------------------------------- linear models */

/* The deviation of each column of a model of sums, NaN where it is not known. The variance of a
 * column is the sum over the components of their variances, times the square of the column's
 * entry: so the exact sums of products give it, without the rows. NULL if they are not there. */
static double *column_deviations(const sv_snapshot *o) {
    const efface_components_params all = {.n_components = 0};
    const uint32_t d = o->info.n_columns;
    efface_predictor *components = NULL;
    efface_table table;
    efface_error error;
    double *const squares = calloc(d + (size_t)1, sizeof *squares);
    double *const entries = calloc(d + (size_t)1, sizeof *entries);
    bool ok = squares != NULL && entries != NULL && d <= MAX_FEATURES &&
              efface_components_compute(o->model, &all, &components, &error) == EFFACE_OK &&
              efface_predictor_find_table(components, "components", &table, &error) == EFFACE_OK &&
              table.part_name == NULL && table.n_named == 0 && table.n_columns <= d;
    for (uint64_t i = 0; ok && i < table.n_rows; i++) {
        double variance[2];
        ok = efface_predictor_read_table(components, "variances", i, NULL, variance, &error) ==
                 EFFACE_OK &&
             efface_predictor_read_table(components, "components", i, NULL, entries, &error) ==
                 EFFACE_OK;
        for (uint32_t j = 0; ok && j < table.n_columns; j++)
            squares[table.columns != NULL ? table.columns[j] : j] +=
                variance[0] * entries[j] * entries[j];
    }
    for (uint32_t j = 0; ok && j < d; j++)
        squares[j] = efface_predictor_is_input(o->predictor, j) ? sqrt(squares[j]) : (double)NAN;
    efface_predictor_free(components);
    free(entries);
    if (!ok)
        free(squares);
    return ok ? squares : NULL;
}

/* The coefficients of targets; or of classes, whose scores they change. */
static void draw_coefficients(const sv_snapshot *o, json_t *pictures) {
    sv_grid coefficients, errors, quality;
    const bool has = sv_grid_read(o, "coefficients", &coefficients);
    const bool has_errors = sv_grid_read(o, "errors", &errors);
    const bool has_quality = sv_grid_read(o, "quality", &quality);
    double *const deviations =
        has && coefficients.table.part_name == NULL ? column_deviations(o) : NULL;
    /* Features that stand for all columns at once have no names, and nothing to show. */
    for (uint64_t i = 0; has && coefficients.table.part_name == NULL && i < SV_MAX_EFFECTS &&
                         i < coefficients.table.n_rows;
         i++) {
        const sv_terms terms = {
            .of = o,
            .table = &coefficients.table,
            .coefficients = sv_grid_row(&coefficients, i),
            .errors = has_errors ? sv_grid_row(&errors, i) : NULL,
            .deviations = deviations,
            .has_intercept = efface_sums_get_params(o->model).linear.intercept != 0,
            .quality = has_quality ? sv_grid_row(&quality, i)[0] : (double)NAN,
        };
        json_t *const name = sv_row_text(o, &coefficients.table, i);
        json_t *const title = coefficients.table.rows == EFFACE_TABLE_CLASSES
                                  ? json_sprintf("the score of %s", json_string_value(name))
                                  : json_incref(name);
        json_decref(name);
        sv_draw_effects(pictures, &terms, title);
    }
    free(deviations);
    sv_grid_free(&coefficients);
    sv_grid_free(&errors);
    sv_grid_free(&quality);
}

/* ---------------------------------------------------------------- classes */

/* Deviations of columns over all rows: that inside of classes, if it is known, and that between
 * them. */
static void widen_spreads(sv_groups *groups, const sv_grid *variances) {
    const double all = sv_total_weight(groups);
    for (uint32_t j = 0; j < variances->table.n_columns && all > 0.0; j++) {
        double inside = 0.0;
        for (uint64_t i = 0; i < variances->table.n_rows; i++)
            inside += groups->weights[i] / all * sv_grid_row(variances, i)[j];
        groups->spread[j] = sqrt(inside + groups->spread[j] * groups->spread[j]);
    }
}

/* The same from sums over all rows; false if there are none. */
static bool take_spreads(sv_groups *groups) {
    const efface_table *const table = &groups->centers->table;
    double *const deviations = table->part_name == NULL ? column_deviations(groups->of) : NULL;
    for (uint32_t j = 0; deviations != NULL && j < table->n_columns; j++)
        groups->spread[j] = deviations[table->columns != NULL ? table->columns[j] : j];
    const bool known = deviations != NULL;
    free(deviations);
    return known;
}

static void draw_classes(const sv_snapshot *o, json_t *pictures) {
    sv_grid means, priors, variances;
    sv_groups groups;
    const bool has = sv_grid_read(o, "means", &means);
    (void)sv_grid_read(o, "priors", &priors);
    const bool has_variances = sv_grid_read(o, "variances", &variances);
    double *const weights = sv_grid_column(&priors, 1);
    if (has && weights != NULL && sv_groups_make(o, &means, weights, NULL, &groups)) {
        bool known = has_variances && variances.table.n_columns == means.table.n_columns;
        if (known)
            widen_spreads(&groups, &variances);
        else
            known = take_spreads(&groups);
        sv_draw_shares(pictures, &groups, "Sizes of the classes", "Weight");
        if (means.table.part_name == NULL)
            sv_draw_profile(pictures, &groups, "What marks each class",
                            known ? "How far the mean of each column lies from the mean of all "
                                    "rows, in standard deviations."
                                  : "How far the mean of each column lies from the mean of all "
                                    "rows, in deviations between the classes.");
        sv_groups_free(&groups);
    }
    free(weights);
    sv_grid_free(&means);
    sv_grid_free(&priors);
    sv_grid_free(&variances);
}

/* ---------------------------------------------------------------- components */

static void draw_components(const sv_snapshot *o, json_t *pictures) {
    sv_grid axes, variances;
    sv_groups groups;
    const bool has = sv_grid_read(o, "components", &axes);
    (void)sv_grid_read(o, "variances", &variances);
    double *const weights = sv_grid_column(&variances, 0);
    if (has && weights != NULL && sv_groups_make(o, &axes, weights, NULL, &groups)) {
        sv_draw_shares(pictures, &groups, "Variance along each component", "Variance");
        if (axes.table.part_name == NULL) {
            for (uint32_t j = 0; j < axes.table.n_columns; j++) {
                groups.mean[j] = 0.0; /* entries are seen from 0 */
                groups.spread[j] = 1.0;
            }
            sv_draw_profile(pictures, &groups, "What each component is made of",
                            "How much each column weighs in a component, from -1 to 1.");
        }
        sv_groups_free(&groups);
    }
    free(weights);
    sv_grid_free(&axes);
    sv_grid_free(&variances);
}

void sv_draw_sums(const sv_snapshot *o, json_t *pictures) {
    switch (efface_sums_get_params(o->model).view) {
    case EFFACE_VIEW_LINEAR:
    case EFFACE_VIEW_RIDGE: draw_coefficients(o, pictures); break;
    case EFFACE_VIEW_BAYES:
    case EFFACE_VIEW_DISCRIMINANT: draw_classes(o, pictures); break;
    case EFFACE_VIEW_COMPONENTS: draw_components(o, pictures); break;
    case EFFACE_VIEW_MEANS: break; /* one row of numbers, which the table shows */
    }
}
