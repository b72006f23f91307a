/* Which pictures a model has, by its family and view. */
#include "api/picture_parts.h"
#include "api/values.h"

#include <math.h>
#include <stdlib.h>

#define MOST_EFFECTS 12   /* pictures of coefficients: one for each target or class */
#define MOST_FEATURES 512 /* for deviations, which take time with the cube of these */

/* ---------------------------------------------------------------- linear models */

/* The deviation of each column of a model of sums, NaN where it is not known. The variance of a
 * column is the sum over the components of their variances, times the square of the column's
 * entry: so the exact sums of products give it, without the rows. NULL if they are not there. */
static double *column_deviations(const sv_opened *o) {
    const efface_components_params all = {.n_components = 0};
    const uint32_t d = o->info.n_columns;
    efface_predictor *components = NULL;
    efface_table table;
    efface_error error;
    double *const squares = calloc(d + (size_t)1, sizeof *squares);
    double *const entries = calloc(d + (size_t)1, sizeof *entries);
    bool right =
        squares != NULL && entries != NULL && d <= MOST_FEATURES &&
        efface_components_compute(o->model, &all, &components, &error) == EFFACE_OK &&
        efface_predictor_find_table(components, "components", &table, &error) == EFFACE_OK &&
        table.part_name == NULL && table.n_named == 0 && table.n_columns <= d;
    for (uint64_t i = 0; right && i < table.n_rows; i++) {
        double variance[2];
        right =
            efface_predictor_read_table(components, "variances", i, variance, &error) ==
                EFFACE_OK &&
            efface_predictor_read_table(components, "components", i, entries, &error) == EFFACE_OK;
        for (uint32_t j = 0; right && j < table.n_columns; j++)
            squares[table.columns != NULL ? table.columns[j] : j] +=
                variance[0] * entries[j] * entries[j];
    }
    for (uint32_t j = 0; right && j < d; j++)
        squares[j] = efface_model_is_input(o->model, j) ? sqrt(squares[j]) : (double)NAN;
    efface_predictor_free(components);
    free(entries);
    if (!right)
        free(squares);
    return right ? squares : NULL;
}

/* The coefficients of targets; or of classes, whose scores they change. */
static void draw_coefficients(const sv_opened *o, json_t *pictures) {
    sv_grid coefficients, errors, quality;
    const bool has = sv_grid_read(o, "coefficients", &coefficients);
    const bool has_errors = sv_grid_read(o, "errors", &errors);
    const bool has_quality = sv_grid_read(o, "quality", &quality);
    double *const deviations =
        has && coefficients.table.part_name == NULL ? column_deviations(o) : NULL;
    /* Features that stand for all columns at once have no names, and nothing to show. */
    for (uint64_t i = 0; has && coefficients.table.part_name == NULL && i < MOST_EFFECTS &&
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
static void widen_spreads(sv_groups *groups, const sv_grid *variances, double all) {
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

static void draw_classes(const sv_opened *o, json_t *pictures) {
    sv_grid means, priors, variances;
    sv_groups groups;
    const bool has = sv_grid_read(o, "means", &means);
    const bool has_priors = sv_grid_read(o, "priors", &priors);
    const bool has_variances = sv_grid_read(o, "variances", &variances);
    double *const weights =
        has && has_priors ? calloc(means.table.n_rows + 1, sizeof *weights) : NULL;
    if (weights != NULL && priors.table.n_columns == 2) {
        double all = 0.0;
        for (uint64_t i = 0; i < means.table.n_rows; i++)
            all += weights[i] = sv_grid_row(&priors, i)[1];
        if (sv_groups_make(o, &means, weights, NULL, &groups)) {
            bool known = has_variances && variances.table.n_columns == means.table.n_columns;
            if (known)
                widen_spreads(&groups, &variances, all);
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
    }
    free(weights);
    sv_grid_free(&means);
    sv_grid_free(&priors);
    sv_grid_free(&variances);
}

/* ---------------------------------------------------------------- components */

static void draw_components(const sv_opened *o, json_t *pictures) {
    sv_grid axes, variances;
    sv_groups groups;
    const bool has = sv_grid_read(o, "components", &axes);
    const bool has_variances = sv_grid_read(o, "variances", &variances);
    double *const weights =
        has && has_variances ? calloc(axes.table.n_rows + 1, sizeof *weights) : NULL;
    if (weights != NULL && variances.table.n_columns == 2) {
        for (uint64_t i = 0; i < axes.table.n_rows; i++)
            weights[i] = sv_grid_row(&variances, i)[0];
        if (sv_groups_make(o, &axes, weights, NULL, &groups)) {
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
    }
    free(weights);
    sv_grid_free(&axes);
    sv_grid_free(&variances);
}

/* ---------------------------------------------------------------- segments and clusters */

static const char profile_text[] =
    "How far the center lies from the mean in each column, in deviations between the centers.";

static void draw_segment_terms(const sv_opened *o, json_t *pictures) {
    const efface_segmented_params params = efface_segmented_get_params(o->model);
    sv_grid terms;
    const bool has = sv_grid_read(o, "coefficients", &terms);
    for (uint64_t i = 0; has && params.n_targets > 0 && i < MOST_EFFECTS && i < terms.table.n_rows;
         i++) {
        const sv_terms shown = {.of = o,
                                .table = &terms.table,
                                .coefficients = sv_grid_row(&terms, i),
                                .has_intercept = params.linear.intercept != 0,
                                .quality = (double)NAN};
        json_t *const target = sv_json_column(o, params.targets[i % params.n_targets]);
        sv_draw_effects(pictures, &shown,
                        json_sprintf("%s in segment %llu", json_string_value(target),
                                     (unsigned long long)(i / params.n_targets)));
        json_decref(target);
    }
    sv_grid_free(&terms);
}

static void draw_segments(const sv_opened *o, json_t *pictures) {
    sv_grid centers, sizes;
    sv_groups groups;
    const bool has = sv_grid_read(o, "centroids", &centers);
    const bool has_sizes = sv_grid_read(o, "segments", &sizes);
    const size_t n = has && has_sizes ? (size_t)centers.table.n_rows : 0;
    double *const numbers = calloc(2 * n + 1, sizeof *numbers);
    if (numbers != NULL && n > 0 && sizes.table.n_columns == 2) {
        for (size_t i = 0; i < n; i++) {
            numbers[i] = sv_grid_row(&sizes, i)[1];
            numbers[n + i] = sv_grid_row(&sizes, i)[0];
        }
        const bool scaled =
            efface_segmented_get_params(o->model).kmeans.scale == EFFACE_SCALE_MINMAX;
        if (sv_groups_make(o, &centers, numbers, numbers + n, &groups)) {
            sv_draw_map(pictures, &groups, "How the segments lie", scaled);
            sv_draw_shares(pictures, &groups, "Sizes of the segments", "Weight");
            sv_draw_profile(pictures, &groups, "What marks each segment", profile_text);
            sv_groups_free(&groups);
        }
    }
    draw_segment_terms(o, pictures);
    free(numbers);
    sv_grid_free(&centers);
    sv_grid_free(&sizes);
}

/* The weight and the number of the rows of each cluster: `numbers` has 2 n places. */
static efface_status count_rows(efface_store *store, const char *name, size_t n, double *numbers,
                                bool *same, efface_error *error) {
    efface_data *data = NULL;
    efface_model *model = NULL;
    uint32_t *labels = NULL;
    efface_status status = efface_store_load(store, name, &data, &model, error);
    const size_t n_rows = status == EFFACE_OK ? efface_data_n_rows(data) : 0;
    if (status == EFFACE_OK) {
        labels = calloc(n_rows + 1, sizeof *labels);
        if (labels == NULL) {
            *error = (efface_error){.status = EFFACE_E_MEMORY};
            status = EFFACE_E_MEMORY;
        }
    }
    /* Another process may have put another model in its place. */
    *same = status == EFFACE_OK && efface_model_get_info(model).family == EFFACE_FAMILY_KMEANS &&
            efface_kmeans_get_info(model).n_clusters == n;
    if (*same && n_rows > 0)
        status = efface_kmeans_labels(model, data, labels, error);
    for (size_t i = 0; *same && status == EFFACE_OK && i < n_rows; i++) {
        numbers[labels[i]] += (double)efface_data_row(data, i).weight;
        numbers[n + labels[i]] += 1.0;
    }
    free(labels);
    efface_model_free(model);
    efface_data_free(data);
    return status;
}

efface_status sv_draw_kmeans(const sv_opened *o, json_t **out, efface_error *error) {
    sv_grid centers;
    sv_groups groups;
    bool same = false;
    json_t *const pictures = json_array();
    const size_t n = sv_grid_read(o, "centroids", &centers) ? (size_t)centers.table.n_rows : 0;
    double *const numbers = calloc(2 * n + 1, sizeof *numbers);
    efface_status status = EFFACE_OK;
    if (n > 0 && numbers != NULL)
        status = count_rows(o->store, o->about.name, n, numbers, &same, error);
    if (status == EFFACE_OK && same && sv_groups_make(o, &centers, numbers, numbers + n, &groups)) {
        const bool scaled = efface_kmeans_get_params(o->model).scale == EFFACE_SCALE_MINMAX;
        sv_draw_map(pictures, &groups, "How the clusters lie", scaled);
        sv_draw_shares(pictures, &groups, "Sizes of the clusters", "Weight");
        sv_draw_profile(pictures, &groups, "What marks each cluster", profile_text);
        sv_groups_free(&groups);
    }
    free(numbers);
    sv_grid_free(&centers);
    if (status == EFFACE_OK)
        *out = pictures;
    else
        json_decref(pictures);
    return status;
}

json_t *sv_draw_model(const sv_opened *o) {
    json_t *const pictures = json_array();
    if (o->info.family == EFFACE_FAMILY_SEGMENTED) {
        draw_segments(o, pictures);
    } else if (o->info.family == EFFACE_FAMILY_SUMS) {
        switch (efface_sums_get_params(o->model).view) {
        case EFFACE_VIEW_LINEAR:
        case EFFACE_VIEW_RIDGE: draw_coefficients(o, pictures); break;
        case EFFACE_VIEW_BAYES:
        case EFFACE_VIEW_DISCRIMINANT: draw_classes(o, pictures); break;
        case EFFACE_VIEW_COMPONENTS: draw_components(o, pictures); break;
        case EFFACE_VIEW_MEANS: break; /* one row of numbers, which the table shows */
        }
    }
    return pictures;
}
