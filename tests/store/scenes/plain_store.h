/*
 * A small store for tests of what calls do: sixty rows of four columns, models of three clusters,
 * and calls that must be refused without changing the file.
 */
#ifndef PLAIN_STORE_H
#define PLAIN_STORE_H

#include "store/scenes/store_scene.h"

#define N_ROWS 60
#define N_COLUMNS 4
#define STORE "plain.efface"

static inline float value_of(uint64_t row, uint32_t column) {
    uint64_t z = (row * 64 + column + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (float)(row % 3) * 10.0F + (float)((z ^ (z >> 31)) >> 40) * 0x1p-24F;
}

/* n rows with the ids first, first + 1, ..., or without ids. */
static inline efface_data *make_rows(size_t n, uint64_t first, bool with_ids) {
    float values[N_ROWS * N_COLUMNS];
    uint64_t ids[N_ROWS], owners[N_ROWS];
    int64_t labels[N_ROWS];
    for (size_t i = 0; i < n; i++) {
        ids[i] = first + i;
        owners[i] = 1000 + (first + i) / 3;
        labels[i] = (int64_t)i - 5;
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            values[i * N_COLUMNS + j] = value_of(first + i, j);
    }
    const efface_rows rows = {.n_rows = n,
                              .values = values,
                              .ids = with_ids ? ids : NULL,
                              .owners = owners,
                              .labels = labels};
    return make_data(N_COLUMNS, &rows);
}

static inline efface_store *make_store(void) {
    efface_store *store = NULL;
    efface_data *const data = make_rows(N_ROWS, 0, true);
    empty_folder();
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
    efface_data_free(data);
    return store;
}

static inline efface_kmeans_params params_of(efface_method method) {
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.method = method;
    params.candidates = 1;
    params.pyramid.rate = 0.25; /* or pyramid would work as lloyd with so few rows */
    params.n_clusters = 3;
    params.common.seed = 20191105 + (uint64_t)method;
    params.iterations = 4;
    return params;
}

static inline void fit(efface_store *store, const char *name, efface_method method) {
    const efface_kmeans_params params = params_of(method);
    REQUIRE_OK(fit_plain(store, name, &params, NULL, 0, error));
}

static inline efface_status forget_ids(efface_store *store, const uint64_t *ids, size_t n,
                                       efface_missing missing, efface_store_report *report,
                                       efface_error *error) {
    const efface_request request = {.ids = ids, .n_ids = n, .missing = missing};
    return efface_store_forget(store, &request, report, error);
}

static inline void forget(efface_store *store, uint64_t id) {
    REQUIRE_OK(forget_ids(store, &id, 1, EFFACE_MISSING_FAIL, NULL, error));
}

static inline char *receipt_of(efface_store *store, uint64_t number) {
    char *json = NULL;
    REQUIRE_OK(efface_store_receipt(store, number, &json, error));
    return json;
}

/* A call that must fail, with a message that has these words, and without changing the file. */
#define REFUSED(expected, words, call)                                                             \
    do {                                                                                           \
        efface_error refused = {.message = ""};                                                    \
        efface_error *const error = &refused;                                                      \
        image refused_before = read_image(in_folder(STORE));                                       \
        assert_int_equal((call), (expected));                                                      \
        if (strstr(refused.message, (words)) == NULL)                                              \
            fail_msg("\"%s\" does not say \"%s\"", refused.message, (words));                      \
        assert_int_equal(refused.status, (expected));                                              \
        image refused_after = read_image(in_folder(STORE));                                        \
        check_same_image(&refused_before, &refused_after);                                         \
        free(refused_before.bytes);                                                                \
        free(refused_after.bytes);                                                                 \
    } while (0)

#endif
