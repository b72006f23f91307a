/*
 * The map: groups on the plane of the two first principal components of their centers.
 *
 * The exact engine computes the components. Centers become rows, each with the weight of its group,
 * of a set that is summed up and asked for its components, so that the same model gives the same
 * bits everywhere. Components of all rows would show the groups along the directions in which rows
 * differ, inside of groups too; those of the centers show how the groups lie to each other, and
 * need no row.
 */
#include "api/values.h"
#include "pictures/picture_parts.h"

#include <math.h>
#include <stdlib.h>

#define MAX_COLUMNS 512 /* components take time with the cube of the columns */

/* The centers around their mean, where floats are densest. If the model scales its columns, they
 * are divided by the range that the centers have: the columns count alike, as they do there. */
static float *place_centers(const sv_groups *g, bool scaled) {
    const uint64_t n = g->centers->table.n_rows;
    const uint32_t d = g->centers->table.n_columns;
    float *const values = calloc(n * d + 1, sizeof *values);
    for (uint32_t j = 0; values != NULL && j < d; j++) {
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (uint64_t i = 0; i < n; i++) {
            low = fmin(low, sv_grid_row(g->centers, i)[j]);
            high = fmax(high, sv_grid_row(g->centers, i)[j]);
        }
        const double unit = scaled && high > low ? high - low : 1.0;
        for (uint64_t i = 0; i < n; i++)
            values[i * d + j] = (float)((sv_grid_row(g->centers, i)[j] - g->mean[j]) / unit);
    }
    return values;
}

static bool add_centers(const sv_groups *g, const float *values, efface_data *data) {
    const uint32_t d = g->centers->table.n_columns;
    efface_error error;
    for (uint64_t i = 0; i < g->centers->table.n_rows; i++) {
        const int64_t weight = (int64_t)g->weights[i];
        const efface_rows row = {
            .n_rows = 1, .values = values + i * d, .ids = &i, .weights = &weight};
        if (weight > 0 && efface_data_add(data, &row, &error) != EFFACE_OK)
            return false;
    }
    return true;
}

/* Two components of the centers, or one; NULL if there are none. */
static efface_predictor *find_components(const sv_groups *g, const float *values) {
    efface_sums_params params;
    efface_components_params two = {.n_components = 2};
    efface_data *data = NULL;
    efface_model *sums = NULL;
    efface_predictor *found = NULL;
    efface_error error;
    efface_sums_params_init(&params);
    params.common.n_threads = 1;
    params.summed = EFFACE_SUMMED_FULL;
    if (g->centers->table.n_columns == 1)
        two.n_components = 1;
    if (efface_data_create(g->centers->table.n_columns, &data, &error) == EFFACE_OK &&
        add_centers(g, values, data) &&
        efface_sums_fit(data, &params, &sums, &error) == EFFACE_OK &&
        efface_components_compute(sums, &two, &found, &error) != EFFACE_OK)
        found = NULL;
    efface_model_free(sums);
    efface_data_free(data);
    return found;
}

static json_t *list_axes(const efface_predictor *components, uint32_t n) {
    json_t *const axes = json_array();
    for (uint32_t i = 0; i < n; i++) {
        double variance[2] = {0.0, 0.0};
        efface_error error;
        (void)efface_predictor_read_table(components, "variances", i, NULL, variance, &error);
        sv_json_add(axes, json_pack("{s:o}", "share", sv_json_real(variance[1])));
    }
    return axes;
}

static json_t *list_points(const sv_groups *g, const float *values,
                           const efface_predictor *components, uint32_t n_axes) {
    const efface_table *const table = &g->centers->table;
    json_t *const points = json_array();
    const double all = sv_total_weight(g);
    for (size_t i = 0; i < g->n_largest; i++) {
        const size_t group = g->largest[i];
        efface_number at[2] = {{.real = 0.0}, {.real = 0.0}};
        efface_error error;
        if (efface_predictor_predict(components, 1, values + group * table->n_columns, 0, at,
                                     &error) != EFFACE_OK)
            continue;
        sv_json_add(points,
                    json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "name", sv_row_text(g->of, table, group),
                              "x", sv_json_real(at[0].real), "y",
                              sv_json_real(n_axes > 1 ? at[1].real : 0.0), "rows",
                              sv_json_count(g->n_rows != NULL ? (uint64_t)g->n_rows[group] : 0),
                              "weight", sv_json_real(g->weights[group]), "share",
                              sv_json_real(all > 0.0 ? g->weights[group] / all : 0.0)));
    }
    return points;
}

void sv_draw_map(json_t *pictures, const sv_groups *g, const char *title, bool scaled) {
    const efface_table *const table = &g->centers->table;
    if (table->n_rows < 2 || table->n_columns > MAX_COLUMNS)
        return;
    float *const values = place_centers(g, scaled);
    efface_predictor *const components = values != NULL ? find_components(g, values) : NULL;
    const uint32_t n_axes =
        components != NULL ? efface_predictor_get_info(components).n_numbers : 0;
    if (n_axes > 0 && n_axes <= 2)
        sv_json_add(pictures,
                    json_pack("{s:s,s:s,s:s,s:o,s:o,s:o}", "kind", "map", "title", title,
                              "row_name", table->row_name, "axes", list_axes(components, n_axes),
                              "points", list_points(g, values, components, n_axes), "of",
                              sv_json_count(table->n_rows)));
    efface_predictor_free(components);
    free(values);
}
