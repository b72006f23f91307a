/* efface-bench data: writes a generated data set as .npy files. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The header of a .npy file, version 1: magic, length, a Python dict, padded to 64 bytes. */
static bool write_header(FILE *file, const char *type, size_t n_rows, uint32_t n_columns) {
    char header[128];
    char shape[64];
    if (n_columns != 0)
        snprintf(shape, sizeof shape, "%zu, %u", n_rows, n_columns);
    else
        snprintf(shape, sizeof shape, "%zu,", n_rows);
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10); /* 118 bytes follow */
    const int used =
        snprintf(header + 10, sizeof header - 10,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
    header[10 + used] = ' ';
    header[sizeof header - 1] = '\n';
    return fwrite(header, sizeof header, 1, file) == 1;
}

static bool write_values(FILE *file, const efface_data *data) {
    const size_t n = efface_data_n_rows(data);
    const uint32_t d = efface_data_n_columns(data);
    float *const values = malloc(d * sizeof *values);
    bool ok = values != NULL && write_header(file, "<f4", n, d);
    for (size_t i = 0; i < n && ok; i++) {
        efface_data_values(data, i, values);
        ok = fwrite(values, sizeof *values, d, file) == d;
    }
    free(values);
    return ok;
}

static bool write_labels(FILE *file, const efface_data *data) {
    const size_t n = efface_data_n_rows(data);
    bool ok = write_header(file, "<i4", n, 0);
    for (size_t i = 0; i < n && ok; i++) {
        const int32_t label = (int32_t)efface_data_row(data, i).label;
        ok = fwrite(&label, sizeof label, 1, file) == 1;
    }
    return ok;
}

static bool write_file(const char *path, const efface_data *data,
                       bool (*write)(FILE *, const efface_data *)) {
    FILE *const file = fopen(path, "wb");
    bool ok = file != NULL && write(file, data);
    if (file != NULL)
        ok = fclose(file) == 0 && ok;
    if (!ok)
        fprintf(stderr, "efface-bench: %s: %s\n", path, strerror(errno));
    return ok;
}

int bench_data(int n_arguments, char **arguments) {
    const char *out = NULL, *labels = NULL;
    const bench_set *const set =
        n_arguments != 0 ? bench_find_set(arguments[0], strlen(arguments[0])) : NULL;
    if (set == NULL) {
        fputs("efface-bench: data needs the name of a set: gaussian, scales, tails or duplicates; "
              "for example efface-bench data gaussian --out FILE\n",
              stderr);
        return BENCH_USAGE;
    }
    bench_shape shape = set->shape;
    uint32_t rows = (uint32_t)shape.n_rows;
    uint64_t seed = 1;
    const bench_option options[] = {
        {"--out", BENCH_TEXT, (void *)&out},
        {"--labels", BENCH_TEXT, (void *)&labels},
        {"--clusters", BENCH_COUNT, &shape.n_clusters},
        {"--columns", BENCH_COUNT, &shape.n_columns},
        {"--rows", BENCH_COUNT, &rows},
        {"--seed", BENCH_NUMBER, &seed},
        {NULL, BENCH_FLAG, NULL},
    };
    if (!bench_parse(options, n_arguments - 1, arguments + 1))
        return BENCH_USAGE;
    if (out == NULL) {
        fputs("efface-bench: data needs --out FILE.npy\n", stderr);
        return BENCH_USAGE;
    }
    efface_data *data = NULL;
    efface_error error;
    shape.n_rows = rows;
    if (set->make(&shape, seed, &data, &error) != EFFACE_OK)
        return bench_fail(&error);
    const bool ok = write_file(out, data, write_values) &&
                    (labels == NULL || write_file(labels, data, write_labels));
    efface_data_free(data);
    return ok ? BENCH_DONE : BENCH_FAILED;
}
