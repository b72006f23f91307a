/* Parts of pictures (picture_parts.h), but for the map. */
#include "pictures/picture_parts.h"

#include "api/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMBERS (16u << 20) /* of a table that is read for a picture */
#define MAX_GROUPS 200          /* that are shown */
#define MAX_COLUMNS 200         /* the same */
#define MAX_BARS 1000

bool sv_grid_read(const sv_snapshot *o, const char *name, sv_grid *out) {
    efface_error error;
    *out = (sv_grid){.values = NULL};
    if (efface_predictor_find_table(o->predictor, name, &out->table, &error) != EFFACE_OK ||
        out->table.n_columns == 0 || out->table.n_rows > MAX_NUMBERS / out->table.n_columns)
        return false;
    out->values = calloc(out->table.n_rows * out->table.n_columns + 1, sizeof *out->values);
    for (uint64_t i = 0; out->values != NULL && i < out->table.n_rows; i++)
        if (efface_predictor_read_table(o->predictor, name, i, o->offsets,
                                        out->values + i * out->table.n_columns,
                                        &error) != EFFACE_OK) {
            free(out->values);
            out->values = NULL;
        }
    return out->values != NULL;
}

void sv_grid_free(sv_grid *grid) {
    free(grid->values);
    grid->values = NULL;
}

const double *sv_grid_row(const sv_grid *grid, uint64_t row) {
    return grid->values + row * grid->table.n_columns;
}

double *sv_grid_column(const sv_grid *grid, uint32_t column) {
    const size_t n = (size_t)grid->table.n_rows;
    const bool has = grid->values != NULL && column < grid->table.n_columns;
    double *const copy = has ? calloc(n + 1, sizeof *copy) : NULL;
    for (size_t i = 0; copy != NULL && i < n; i++)
        copy[i] = sv_grid_row(grid, i)[column];
    return copy;
}

json_t *sv_row_text(const sv_snapshot *o, const efface_table *table, uint64_t row) {
    json_t *const name = sv_json_table_row(o, table, row);
    if (!json_is_integer(name))
        return name;
    json_t *const text = json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(name));
    json_decref(name);
    return text;
}

/* ---------------------------------------------------------------- groups */

typedef struct ranked {
    double weight;
    size_t group;
} ranked;

/* The heavier first; of two with the same weight the one with the lower number. */
static int compare_weights(const void *a, const void *b) {
    const ranked *const x = a, *const y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return (x->group > y->group) - (x->group < y->group);
}

static bool rank_groups(sv_groups *g, size_t n) {
    ranked *const all = calloc(n + 1, sizeof *all);
    size_t *const largest = calloc(MAX_GROUPS, sizeof *largest);
    if (all == NULL || largest == NULL) {
        free(all);
        free(largest);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        all[i] = (ranked){g->weights[i], i};
    qsort(all, n, sizeof *all, compare_weights);
    g->n_largest = n < MAX_GROUPS ? n : MAX_GROUPS;
    for (size_t i = 0; i < g->n_largest; i++)
        largest[i] = all[i].group;
    g->largest = largest;
    free(all);
    return true;
}

double sv_total_weight(const sv_groups *g) {
    double sum = 0.0;
    for (uint64_t i = 0; i < g->centers->table.n_rows; i++)
        sum += g->weights[i];
    return sum;
}

bool sv_groups_make(const sv_snapshot *of, const sv_grid *centers, const double *weights,
                    const double *n_rows, sv_groups *out) {
    const uint32_t d = centers->table.n_columns;
    const uint64_t n = centers->table.n_rows;
    double *const mean = calloc(d, sizeof *mean), *const spread = calloc(d, sizeof *spread);
    *out = (sv_groups){.of = of,
                       .centers = centers,
                       .weights = weights,
                       .n_rows = n_rows,
                       .mean = mean,
                       .spread = spread};
    if (mean == NULL || spread == NULL || !rank_groups(out, (size_t)n)) {
        sv_groups_free(out);
        return false;
    }
    const double all = sv_total_weight(out);
    for (uint32_t j = 0; j < d && all > 0.0; j++) {
        double squares = 0.0;
        for (uint64_t i = 0; i < n; i++)
            mean[j] += weights[i] / all * sv_grid_row(centers, i)[j];
        for (uint64_t i = 0; i < n; i++) {
            const double difference = sv_grid_row(centers, i)[j] - mean[j];
            squares += weights[i] / all * difference * difference;
        }
        spread[j] = sqrt(squares);
    }
    return true;
}

void sv_groups_free(sv_groups *groups) {
    free(groups->mean);
    free(groups->spread);
    free(groups->largest);
    *groups = (sv_groups){.of = NULL};
}

/* ---------------------------------------------------------------- pictures */

void sv_draw_shares(json_t *pictures, const sv_groups *groups, const char *title,
                    const char *measure) {
    const efface_table *const table = &groups->centers->table;
    const double all = sv_total_weight(groups);
    json_t *const parts = json_array();
    for (size_t i = 0; i < groups->n_largest; i++) {
        const size_t group = groups->largest[i];
        const double weight = groups->weights[group];
        sv_json_add(parts, json_pack("{s:o,s:o,s:o}", "name", sv_row_text(groups->of, table, group),
                                     "value", sv_json_real(weight), "share",
                                     sv_json_real(all > 0.0 ? weight / all : 0.0)));
    }
    sv_json_add(pictures, json_pack("{s:s,s:s,s:s,s:s,s:o,s:o}", "kind", "shares", "title", title,
                                    "row_name", table->row_name, "measure", measure, "parts", parts,
                                    "of", sv_json_count(table->n_rows)));
}

static json_t *profile_row(const sv_groups *groups, size_t group, uint32_t first, uint32_t end) {
    const double *const center = sv_grid_row(groups->centers, group);
    json_t *const values = json_array(), *const differences = json_array();
    for (uint32_t j = first; j < end; j++) {
        const double spread = groups->spread[j];
        sv_json_add(values, sv_json_real(center[j]));
        sv_json_add(differences,
                    sv_json_real(spread > 0.0 ? (center[j] - groups->mean[j]) / spread : 0.0));
    }
    return json_pack("{s:o,s:o,s:o}", "name",
                     sv_row_text(groups->of, &groups->centers->table, group), "values", values,
                     "differences", differences);
}

void sv_draw_profile(json_t *pictures, const sv_groups *groups, const char *title,
                     const char *text) {
    const efface_table *const table = &groups->centers->table;
    const uint32_t n_columns = table->n_columns - table->n_named;
    const uint32_t end = table->n_named + (n_columns < MAX_COLUMNS ? n_columns : MAX_COLUMNS);
    json_t *const names = json_array(), *const rows = json_array();
    for (uint32_t j = table->n_named; j < end; j++)
        sv_json_add(names, sv_json_table_column(groups->of, table, j));
    for (size_t i = 0; i < groups->n_largest; i++)
        sv_json_add(rows, profile_row(groups, groups->largest[i], table->n_named, end));
    sv_json_add(pictures, json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:o}", "kind", "profile", "title",
                                    title, "text", text, "row_name", table->row_name, "columns",
                                    names, "rows", rows, "of", sv_json_count(table->n_rows)));
}

static json_t *draw_bar(const sv_terms *t, uint32_t place) {
    const uint32_t column = t->table->columns != NULL ? t->table->columns[place - t->table->n_named]
                                                      : place - t->table->n_named;
    const double value = t->coefficients[place];
    const double wrong = t->errors != NULL ? t->errors[place] : (double)NAN;
    const double deviation = t->deviations != NULL ? t->deviations[column] : (double)NAN;
    return json_pack("{s:o,s:o,s:o,s:o,s:o}", "name", sv_json_column(t->of, column), "value",
                     sv_json_real(value), "error", sv_json_real(wrong), "effect",
                     sv_json_real(value * deviation), "effect_error",
                     sv_json_real(wrong * deviation));
}

void sv_draw_effects(json_t *pictures, const sv_terms *t, json_t *title) {
    const uint32_t n_named = t->table->n_named;
    const uint32_t n = t->table->n_columns - n_named;
    json_t *const bars = json_array();
    for (uint32_t j = 0; j < n && j < MAX_BARS; j++)
        sv_json_add(bars, draw_bar(t, n_named + j));
    const bool intercept = t->has_intercept && n_named > 0;
    const double wrong = intercept && t->errors != NULL ? t->errors[0] : (double)NAN;
    sv_json_add(pictures, json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "kind", "effects", "title",
                                    title, "bars", bars, "intercept",
                                    intercept ? sv_json_real(t->coefficients[0]) : json_null(),
                                    "intercept_error", sv_json_real(wrong), "quality",
                                    sv_json_real(t->quality), "of", sv_json_count(n)));
}
