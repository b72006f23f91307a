/*
 * Forgetting a row of a big store, cold. For store_cold.py, which runs it.
 *
 *     efface-bench-store make FILE ROWS COLUMNS IDS   makes a store with a pyramid and a quantized
 *                                                     model, and names IDS rows outside the sample
 *     efface-bench-store forget FILE ID               forgets a row; says what was read and done
 */
#include "efface/efface.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_CLUSTERS 10

static int fail_store(const efface_error *error) {
    fprintf(stderr, "efface-bench-store: %s\n", error->message);
    return 1;
}

/* Bytes that this process has read so far, from wherever. */
static long long bytes_read(void) {
    long long n = -1;
    FILE *const file = fopen("/proc/self/io", "r");
    if (file == NULL || fscanf(file, "rchar: %lld", &n) != 1)
        n = -1;
    if (file != NULL)
        (void)fclose(file);
    return n;
}

/* The benchmark set, ten rows to an owner. */
static efface_status make_rows(size_t n_rows, uint32_t n_columns, efface_data **out,
                               efface_error *error) {
    efface_data *plain = NULL;
    efface_status status =
        efface_data_make_gaussian(N_CLUSTERS, n_columns, n_rows / N_CLUSTERS, 1, &plain, error);
    if (status == EFFACE_OK)
        status = efface_data_create(n_columns, out, error);
    float *const values = malloc(n_columns * sizeof *values);
    for (size_t i = 0; status == EFFACE_OK && i < efface_data_n_rows(plain); i++) {
        const uint64_t id = efface_data_row(plain, i).id, owner = 1 + id / 10;
        const efface_rows row = {.n_rows = 1, .values = values, .ids = &id, .owners = &owner};
        efface_data_values(plain, i, values);
        status = efface_data_add(*out, &row, error);
    }
    free(values);
    efface_data_free(plain);
    return status;
}

static int make_store(const char *path, size_t n_rows, uint32_t n_columns, size_t n_ids) {
    efface_error error;
    efface_data *data = NULL;
    efface_store *store = NULL;
    efface_model *model = NULL;
    efface_kmeans_params quantized, pyramid;
    efface_kmeans_params_init(&quantized);
    quantized.candidates = 1;
    quantized.n_clusters = N_CLUSTERS;
    quantized.common.seed = 1;
    pyramid = quantized;
    quantized.method = EFFACE_METHOD_QUANTIZED;
    pyramid.method = EFFACE_METHOD_PYRAMID;
    const efface_new_model models[] = {{.name = "quantized", .params = &quantized.common},
                                       {.name = "pyramid", .params = &pyramid.common}};
    efface_status status = make_rows(n_rows, n_columns, &data, &error);
    if (status == EFFACE_OK)
        status = efface_store_create(path, data, NULL, NULL, models, 2, &store, &error);
    if (status == EFFACE_OK)
        status = efface_kmeans_fit(data, &pyramid, &model, &error);
    efface_store_close(store);
    for (uint64_t i = 1; status == EFFACE_OK && n_ids != 0 && i < n_rows; i++) {
        const uint64_t id = i * UINT64_C(2654435761) % n_rows;
        if (efface_kmeans_in_sample(model, data, id) || efface_kmeans_is_seed(model, id))
            continue;
        printf("%" PRIu64 "\n", id);
        n_ids--;
    }
    efface_model_free(model);
    efface_data_free(data);
    if (status == EFFACE_OK && n_ids != 0) {
        error = (efface_error){.message = "too few rows are outside the sample; make more"};
        status = EFFACE_E_ARGUMENT;
    }
    return status == EFFACE_OK ? 0 : fail_store(&error);
}

static int forget_row(const char *path, uint64_t id) {
    static const char *const actions[] = {"adjusted", "repaired", "refitted"};
    const long long before = bytes_read();
    efface_error error;
    efface_store *store = NULL;
    efface_store_report report;
    const efface_request request = {.ids = &id, .n_ids = 1};
    efface_store_options options;
    efface_store_options_init(&options);
    options.access = EFFACE_ACCESS_WRITE;
    efface_status status = efface_store_open(path, &options, &store, &error);
    if (status == EFFACE_OK)
        status = efface_store_forget(store, &request, &report, &error);
    efface_store_close(store);
    if (status != EFFACE_OK)
        return fail_store(&error);
    printf("{\"read\": %lld, \"seconds\": %.6f", bytes_read() - before, report.seconds);
    for (uint32_t i = 0; i < report.n_models; i++)
        printf(", \"%s\": \"%s\"", report.models[i].name, actions[report.models[i].report.action]);
    printf("}\n");
    efface_store_report_free(&report);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 6 && strcmp(argv[1], "make") == 0)
        return make_store(argv[2], strtoull(argv[3], NULL, 10),
                          (uint32_t)strtoul(argv[4], NULL, 10), strtoull(argv[5], NULL, 10));
    if (argc == 4 && strcmp(argv[1], "forget") == 0)
        return forget_row(argv[2], strtoull(argv[3], NULL, 10));
    fputs("usage: efface-bench-store make FILE ROWS COLUMNS IDS\n"
          "       efface-bench-store forget FILE ID\n",
          stderr);
    return 2;
}
