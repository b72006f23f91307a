/* What info says of one model. The seed is no part of it: the library does not give it out. */
#include "model_details.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void read_columns(cli_model_details *d, float *values, uint32_t *coarse) {
    const efface_kmeans_info info = efface_kmeans_get_info(d->model);
    const size_t n_rows = efface_data_n_rows(d->data);
    const double *const offsets = efface_data_offsets(d->data);
    for (uint32_t j = 0; j < info.n_columns; j++) {
        d->columns[j].name = efface_data_column_name(d->data, j);
        d->columns[j].offset = offsets != NULL ? offsets[j] : 0.0;
    }
    for (size_t i = 0; i < n_rows; i++) {
        efface_data_values(d->data, i, values);
        for (uint32_t j = 0; j < info.n_columns; j++) {
            cli_column_details *const column = &d->columns[j];
            if (i == 0 || values[j] < column->least)
                column->least = values[j];
            if (i == 0 || values[j] > column->most)
                column->most = values[j];
        }
    }
    efface_kmeans_coarse_columns(d->model, coarse, info.n_columns);
    for (uint32_t j = 0; j < info.n_coarse_columns; j++)
        d->columns[coarse[j]].coarse = true;
}

static void count_clusters(cli_model_details *d, const uint32_t *labels) {
    for (size_t i = 0; i < efface_data_n_rows(d->data); i++) {
        d->clusters[labels[i]].n_rows++;
        d->clusters[labels[i]].weight += efface_data_row(d->data, i).weight;
    }
}

int cli_read_details(efface_store *store, const efface_stored_model *about,
                     cli_model_details *out) {
    float *values = NULL;
    uint32_t *labels = NULL, *coarse = NULL;
    efface_error error;
    int code = CLI_DONE;
    memset(out, 0, sizeof *out);
    out->about = *about;
    if (efface_store_load(store, about->name, &out->data, &out->model, &error) != EFFACE_OK ||
        efface_store_model_columns(store, about->name, &out->numbers, &error) != EFFACE_OK)
        return cli_report_error(&error);
    const efface_kmeans_info info = efface_kmeans_get_info(out->model);
    out->columns = calloc(info.n_columns + (size_t)1, sizeof *out->columns);
    out->clusters = calloc(info.n_clusters + (size_t)1, sizeof *out->clusters);
    values = malloc((info.n_columns + (size_t)1) * sizeof *values);
    coarse = malloc((info.n_columns + (size_t)1) * sizeof *coarse);
    labels = malloc((efface_data_n_rows(out->data) + 1) * sizeof *labels);
    if (out->columns == NULL || out->clusters == NULL || values == NULL || coarse == NULL ||
        labels == NULL) {
        code = cli_out_of_memory();
        goto out;
    }
    read_columns(out, values, coarse);
    if (info.n_clusters > 0) {
        if (efface_kmeans_labels(out->model, out->data, labels, &error) != EFFACE_OK ||
            efface_kmeans_loss(out->model, out->data, &out->loss, &error) != EFFACE_OK)
            code = cli_report_error(&error);
        else
            count_clusters(out, labels);
    }
out:
    free(values);
    free(coarse);
    free(labels);
    return code;
}

void cli_free_details(cli_model_details *details) {
    free(details->columns);
    free(details->clusters);
    efface_columns_free(details->numbers);
    efface_model_free(details->model);
    efface_data_free(details->data);
    memset(details, 0, sizeof *details);
}

/* ---- parameters: those that the method looks at */

static bool uses(efface_method method, const efface_kmeans_params *p) {
    return p->method == method ||
           (p->method == EFFACE_METHOD_TREE &&
            (p->leaf_method == method || (p->height > 0 && p->node_method == method)));
}

/* A number that is derived from the rows if it is 0. */
static void print_or_derived(const char *name, double value) {
    if (value > 0)
        printf(", %s %g", name, value);
    else
        printf(", %s derived", name);
}

static void print_parameters(const efface_kmeans_params *p) {
    printf("k %" PRIu32 ", iterations %" PRIu32, p->n_clusters, p->iterations);
    if (p->candidates != 0)
        print_or_derived("candidates", p->candidates);
    if (uses(EFFACE_METHOD_QUANTIZED, p)) {
        print_or_derived("epsilon", p->epsilon);
        printf(", gamma %g", p->gamma);
        if (p->redraw == EFFACE_REDRAW_FRESH && p->method == EFFACE_METHOD_QUANTIZED)
            fputs(", redraw fresh (not exact)", stdout);
    }
    if (uses(EFFACE_METHOD_PYRAMID, p)) {
        print_or_derived("rate", p->rate);
        printf(", passes %" PRIu32 ", starts %" PRIu32, p->passes, p->starts);
        if (p->epsilon > 0 && !uses(EFFACE_METHOD_QUANTIZED, p))
            printf(", epsilon %g", p->epsilon);
    }
    if (p->method == EFFACE_METHOD_TREE) {
        print_or_derived("width", p->width);
        printf(", height %" PRIu32 ", leaves %s, nodes %s%s", p->height,
               cli_method_name(p->leaf_method), cli_method_name(p->node_method),
               p->weigh_centroids != 0 ? ", weighed" : "");
        if (p->redraw == EFFACE_REDRAW_FRESH)
            fputs(", redraw fresh (exact in distribution only)", stdout);
    }
    printf(", empty clusters %s\n", p->empty == EFFACE_EMPTY_KEEP ? "kept" : "reseeded");
}

static void print_scale(const efface_kmeans_params *p) {
    if (p->scale == EFFACE_SCALE_MINMAX)
        printf("minmax, bounds %s\n", p->column_min != NULL ? "given" : "derived from the rows");
    else if (p->bound > 0)
        printf("none, bound %g\n", p->bound);
    else
        fputs("none, bound derived from the rows\n", stdout);
}

void cli_print_details(const cli_model_details *details) {
    const efface_kmeans_params params = efface_kmeans_get_params(details->model);
    const efface_kmeans_info info = efface_kmeans_get_info(details->model);
    const bool given = params.scale == EFFACE_SCALE_MINMAX && params.column_min != NULL;
    printf("\nmodel     %s\nmethod    %s: ", details->about.name, cli_method_name(info.method));
    print_parameters(&params);
    fputs("scale     ", stdout);
    print_scale(&params);
    if (info.actual != info.method)
        puts("sample    none: too few rows for each cluster, so it works as lloyd");
    else if (info.n_sampled != 0)
        printf("sample    %" PRIu64 " rows\n", info.n_sampled);
    printf("levels    %" PRIu32 "%s\n", info.iterations, info.stable != 0 ? ", stable" : "");
    if (info.epsilon > 0)
        printf("epsilon   %g in use\n", info.epsilon);
    if (info.width > 0)
        printf("width     %" PRIu32 " in use\n", info.width);
    printf("loss      %.17g\n", details->loss);
    printf("column       least         most%s  name\n", given ? "  bounds" : "");
    for (uint32_t j = 0; j < info.n_columns; j++) {
        const cli_column_details *const column = &details->columns[j];
        const int digits = column->offset == 0.0 ? 6 : 17;
        printf("%6" PRIu32 " %11.*g  %11.*g", details->numbers[j] + 1, digits,
               (double)column->least + column->offset, digits,
               (double)column->most + column->offset);
        if (given)
            printf("  %.*g to %.*g", digits, (double)params.column_min[j] + column->offset, digits,
                   (double)params.column_max[j] + column->offset);
        fputs(column->name != NULL ? "  " : "", stdout);
        cli_put_text(stdout, column->name);
        puts(column->coarse ? "  (coarse: keeps less than 8 bits)" : "");
    }
    puts("cluster        rows       weight");
    for (uint32_t i = 0; i < info.n_clusters; i++)
        printf("%7" PRIu32 " %11" PRIu64 "  %11" PRId64 "\n", i, details->clusters[i].n_rows,
               details->clusters[i].weight);
}

static void json_or_derived(cli_json *json, const char *key, double value) {
    if (value > 0)
        cli_json_real(json, key, value);
    else
        cli_json_text(json, key, NULL);
}

static void json_parameters(cli_json *json, const efface_kmeans_params *p) {
    cli_json_open(json, "parameters", '{');
    cli_json_whole(json, "k", p->n_clusters);
    cli_json_whole(json, "iters", p->iterations);
    cli_json_whole_or_null(json, "candidates", p->candidates);
    cli_json_text(json, "scale", p->scale == EFFACE_SCALE_MINMAX ? "minmax" : "none");
    cli_json_text(json, "empty", p->empty == EFFACE_EMPTY_KEEP ? "keep" : "reseed");
    if (p->scale == EFFACE_SCALE_NONE)
        json_or_derived(json, "bound", p->bound);
    if (uses(EFFACE_METHOD_QUANTIZED, p) || uses(EFFACE_METHOD_PYRAMID, p))
        json_or_derived(json, "epsilon", p->epsilon);
    if (uses(EFFACE_METHOD_QUANTIZED, p))
        cli_json_real(json, "gamma", p->gamma);
    if (uses(EFFACE_METHOD_QUANTIZED, p) || p->method == EFFACE_METHOD_TREE)
        cli_json_text(json, "redraw", p->redraw == EFFACE_REDRAW_FRESH ? "fresh" : "same");
    if (uses(EFFACE_METHOD_PYRAMID, p)) {
        json_or_derived(json, "rate", p->rate);
        cli_json_whole(json, "passes", p->passes);
        cli_json_whole(json, "starts", p->starts);
    }
    if (p->method == EFFACE_METHOD_TREE) {
        cli_json_whole_or_null(json, "width", p->width);
        cli_json_whole(json, "height", p->height);
        cli_json_text(json, "leaf_method", cli_method_name(p->leaf_method));
        cli_json_text(json, "node_method", cli_method_name(p->node_method));
        cli_json_bool(json, "weigh", p->weigh_centroids != 0);
    }
    cli_json_close(json, '}');
}

void cli_json_details(cli_json *json, const cli_model_details *details) {
    const efface_kmeans_params params = efface_kmeans_get_params(details->model);
    const efface_kmeans_info info = efface_kmeans_get_info(details->model);
    const bool given = params.scale == EFFACE_SCALE_MINMAX && params.column_min != NULL;
    json_parameters(json, &params);
    cli_json_text(json, "actual", cli_method_name(info.actual));
    cli_json_whole_or_null(json, "sample", info.n_sampled);
    cli_json_whole(json, "levels", info.iterations);
    cli_json_bool(json, "stable", info.stable != 0);
    json_or_derived(json, "epsilon", info.epsilon);
    cli_json_whole_or_null(json, "width", info.width);
    cli_json_real(json, "loss", details->loss);
    cli_json_open(json, "columns", '[');
    for (uint32_t j = 0; j < info.n_columns; j++) {
        const cli_column_details *const column = &details->columns[j];
        cli_json_open(json, NULL, '{');
        cli_json_whole(json, "number", details->numbers[j] + UINT64_C(1));
        cli_json_text(json, "name", column->name);
        cli_json_real(json, "least", (double)column->least + column->offset);
        cli_json_real(json, "most", (double)column->most + column->offset);
        cli_json_real(json, "offset", column->offset);
        if (given) {
            cli_json_real(json, "min", (double)params.column_min[j] + column->offset);
            cli_json_real(json, "max", (double)params.column_max[j] + column->offset);
        }
        cli_json_bool(json, "coarse", column->coarse);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
    cli_json_open(json, "clusters", '[');
    for (uint32_t i = 0; i < info.n_clusters; i++) {
        cli_json_open(json, NULL, '{');
        cli_json_whole(json, "rows", details->clusters[i].n_rows);
        cli_json_whole(json, "weight", (uint64_t)details->clusters[i].weight);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}
