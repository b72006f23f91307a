/* efface-bench: the data a command works on, from a file or generated. */
#include "bench.h"
#include "bench_skewed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static efface_status make_gaussian(const bench_shape *shape, uint64_t seed, efface_data **out,
                                   efface_error *error) {
    return efface_data_make_gaussian(shape->n_clusters, shape->n_columns, shape->n_rows, seed, out,
                                     error);
}

static efface_status make_scales(const bench_shape *shape, uint64_t seed, efface_data **out,
                                 efface_error *error) {
    return bench_make_skewed(BENCH_SKEW_SCALES, shape->n_clusters, shape->n_columns, shape->n_rows,
                             seed, out, error);
}

static efface_status make_tails(const bench_shape *shape, uint64_t seed, efface_data **out,
                                efface_error *error) {
    return bench_make_skewed(BENCH_SKEW_TAILS, shape->n_clusters, shape->n_columns, shape->n_rows,
                             seed, out, error);
}

static efface_status make_duplicates(const bench_shape *shape, uint64_t seed, efface_data **out,
                                     efface_error *error) {
    return bench_make_skewed(BENCH_SKEW_DUPLICATES, shape->n_clusters, shape->n_columns,
                             shape->n_rows, seed, out, error);
}

static const bench_set sets[] = {
    {"gaussian", {5, 25, 20000}, make_gaussian},
    {"scales", {8, 16, 20000}, make_scales},
    {"tails", {8, 16, 20000}, make_tails},
    {"duplicates", {8, 16, 20000}, make_duplicates},
};

const bench_set *bench_find_set(const char *name, size_t n_bytes) {
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (strlen(sets[i].name) == n_bytes && strncmp(sets[i].name, name, n_bytes) == 0)
            return &sets[i];
    return NULL;
}

/* The generated set that the name is of, and its shape; NULL if it is none. */
static const bench_set *find_generated(const char *name, bench_shape *shape) {
    const size_t n_bytes = strcspn(name, ":");
    const bench_set *const set = bench_find_set(name, n_bytes);
    if (set == NULL)
        return NULL;
    *shape = set->shape;
    int used = 0;
    const bool is_shaped =
        sscanf(name + n_bytes, ":%" SCNu32 ",%" SCNu32 ",%zu%n", &shape->n_clusters,
               &shape->n_columns, &shape->n_rows, &used) == 3;
    return name[n_bytes] == '\0' || (is_shaped && name[n_bytes + (size_t)used] == '\0') ? set
                                                                                        : NULL;
}

bool bench_has_labels(const char *name, const char *labels) {
    bench_shape shape;
    return labels != NULL || find_generated(name, &shape) != NULL;
}

efface_data *bench_open(const char *name, const char *labels) {
    efface_data *data = NULL;
    efface_error error;
    bench_shape shape;
    const bench_set *const set = find_generated(name, &shape);
    efface_status status = set != NULL ? set->make(&shape, 1, &data, &error)
                                       : efface_data_load(name, NULL, &data, &error);
    if (status == EFFACE_OK && labels != NULL)
        status = efface_data_load_labels(data, labels, &error);
    if (status == EFFACE_OK)
        return data;
    (void)bench_fail(&error);
    efface_data_free(data);
    return NULL;
}
