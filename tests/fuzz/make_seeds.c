/*
 * Makes the first corpus of fuzz_decode and fuzz_store: sound states and sound stores, small, for
 * the fuzzer to begin with.
 *
 *     make_seeds FOLDER
 *
 * FOLDER has the folders decode and store. Stores get pages of 512 bytes and differ from run to run
 * in their keys and the time. Those of the corpus whose names begin with old-, second- or third-
 * are of older formats, and are refused.
 */
#include "base/memory/memory.h"
#include "fuzz/decode_scene.h"
#include "model/family.h"
#include "store/scenes/plain_calls.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static void require(int holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "make_seeds: %s\n", what);
    exit(1);
}

/* ---------------------------------------------------------------- states */

static void make_state(const char *folder, const char *name, const unsigned char b[SCENE_BYTES]) {
    char path[1000];
    scene s = {.data = NULL};
    efface_model *model = NULL;
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    const size_t n_scene = scene_read(&s, b, SCENE_BYTES);
    require(law_fit(s.data, &s.params, &model, NULL) == EFFACE_OK, name);
    require(efface_model_encode(model, &bytes, &n_bytes, NULL) == EFFACE_OK, name);
    (void)snprintf(path, sizeof path, "%s/decode/%s", folder, name);
    FILE *const file = fopen(path, "wb");
    require(file != NULL && fwrite(b, n_scene, 1, file) == 1 &&
                fwrite(bytes, n_bytes, 1, file) == 1 && fclose(file) == 0,
            path);
    efface_bytes_free(bytes);
    efface_model_free(model);
    efface_data_free(s.data);
}

static void make_states(const char *folder) {
    static const struct {
        const char *name;
        unsigned char b[SCENE_BYTES];
    } states[] = {
        {"lloyd", {0x00, 0x08, 0x00, 0x32, 0x00, 0x10, 0x00, 0x01, 0x00, 0x00, 0x00}},
        {"lloyd-empty-set", {0x00, 0x09, 0x00, 0x32, 0x00, 0x10, 0x00, 0x02, 0x00, 0x00, 0x00}},
        {"lloyd-one-row", {0x00, 0x12, 0x00, 0x32, 0x00, 0x10, 0x00, 0x02, 0x00, 0x00, 0x00}},
        {"lloyd-minmax-keep", {0x00, 0xDF, 0x00, 0xD3, 0x01, 0x10, 0x00, 0x01, 0x00, 0x00, 0x00}},
        {"lloyd-reseeds", {0x00, 0x04, 0x00, 0x57, 0x00, 0x10, 0x00, 0x03, 0x00, 0x00, 0x00}},
        {"lloyd-bound", {0x00, 0x6E, 0x00, 0x34, 0x06, 0x10, 0x00, 0x03, 0x00, 0x00, 0x00}},
        {"quantized", {0x00, 0x4E, 0x01, 0x33, 0x00, 0x10, 0x00, 0x01, 0x00, 0x00, 0x00}},
        {"quantized-lattice", {0x00, 0x28, 0x01, 0x02, 0x01, 0x04, 0x00, 0x01, 0x00, 0x00, 0x00}},
        {"pyramid", {0x00, 0x0E, 0x02, 0x32, 0x00, 0x10, 0x42, 0x01, 0x00, 0x00, 0x00}},
        {"pyramid-minmax", {0x00, 0x4F, 0x02, 0x33, 0x05, 0x12, 0x4A, 0x02, 0x00, 0x00, 0x00}},
        {"pyramid-whole", {0x00, 0x00, 0x02, 0x31, 0x00, 0x10, 0x21, 0x03, 0x00, 0x00, 0x00}},
        {"tree", {0x00, 0x0E, 0x03, 0x32, 0x00, 0x10, 0x00, 0x01, 0x01, 0x02, 0x00}},
        {"tree-two-levels", {0x00, 0x4F, 0x03, 0x31, 0x09, 0x10, 0x00, 0x02, 0x02, 0x02, 0x39}},
        {"tree-of-methods", {0x00, 0x06, 0x03, 0x32, 0x08, 0x18, 0x02, 0x03, 0x15, 0x03, 0x00}},
        {"tree-no-height", {0x00, 0x08, 0x03, 0x32, 0x00, 0x10, 0x00, 0x03, 0x00, 0x00, 0x00}},
    };
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        make_state(folder, states[i].name, states[i].b);
}

/* Sums: after the family and the rows come seed, bound, view and kinds of sums, targets, and what
 * else views have (law/sums_law.c). */
static const struct {
    const char *name;
    unsigned char b[SCENE_BYTES];
} of_sums[] = {
    {"sums-means", {0x01, 0x0E, 0x01, 0x00, 0x00, 0x00, 0x00}},
    {"sums-bound", {0x01, 0x1E, 0x01, 0x02, 0x30, 0x01, 0x00}},
    {"sums-linear", {0x01, 0x5E, 0x01, 0x00, 0x01, 0x02, 0x00}},
    {"sums-linear-few-rows", {0x01, 0x1B, 0x01, 0x80, 0x01, 0x05, 0x01}},
    {"sums-ridge", {0x01, 0xDE, 0x01, 0x00, 0x02, 0x00, 0x01}},
    {"sums-bayes", {0x01, 0x5E, 0x01, 0x00, 0x03, 0x00, 0x00}},
    {"sums-bayes-priors", {0x01, 0x5E, 0x01, 0x00, 0x03, 0x00, 0x50}},
    {"sums-discriminant", {0x01, 0x5F, 0x01, 0x00, 0x04, 0x00, 0x02}},
    {"sums-quadratic", {0x01, 0x5F, 0x01, 0x40, 0x04, 0x00, 0x00}},
    {"sums-components", {0x01, 0x9E, 0x01, 0x00, 0x05, 0x00, 0x08}},
    {"sums-all", {0x01, 0x5E, 0x01, 0x00, 0xF1, 0x01, 0x00}},
    {"sums-fourier", {0x01, 0x5E, 0x01, 0x00, 0x01, 0x01, 0xA0}},
    {"sums-empty-set", {0x01, 0x19, 0x01, 0x00, 0xF4, 0x00, 0x00}},
};
#define N_OF_SUMS (sizeof of_sums / sizeof of_sums[0])

/* Forests: after the family and the rows come seed, trees and their rows, target, its bound and
 * least rows to split, limits, categories (law/forest_law.c). */
static const struct {
    const char *name;
    unsigned char b[SCENE_BYTES];
} of_forest[] = {
    {"forest-classes", {0x03, 0x0E, 0x01, 0x02}},
    {"forest-deep", {0x03, 0x2F, 0x05, 0x03, 0x00, 0x00, 0x01}},
    {"forest-entropy", {0x03, 0x5E, 0x01, 0x01, 0x00, 0x04, 0x02}},
    {"forest-some", {0x03, 0x1E, 0x02, 0x17}},
    {"forest-poisson", {0x03, 0x9E, 0x03, 0x0A}},
    {"forest-target", {0x03, 0x5E, 0x04, 0x01, 0x81}},
    {"forest-target-bound", {0x03, 0x5F, 0x04, 0x02, 0x80, 0x02}},
    {"forest-categories", {0x03, 0x1E, 0x06, 0x02, 0x00, 0x00, 0x00, 0x03}},
    {"forest-missing-lazy", {0x03, 0x5E, 0x07, 0xC2}},
    {"forest-limits", {0x03, 0x5F, 0x08, 0x02, 0x00, 0x30, 0x3A}},
    {"forest-one-row", {0x03, 0x0A, 0x01, 0x01}},
    {"forest-empty-set", {0x03, 0x09, 0x01, 0x02}},
};
#define N_OF_FOREST (sizeof of_forest / sizeof of_forest[0])

/* Some of each family. */
static void make_states_of_families(const char *folder) {
    static const unsigned char patterns[] = {0x00, 0x11, 0x5A, 0xC6};
    for (size_t f = 0; f < law_n_families; f++)
        for (size_t i = 0; i < sizeof patterns; i++) {
            unsigned char b[SCENE_BYTES];
            char name[64];
            memset(b, patterns[i], sizeof b);
            b[0] = (unsigned char)f;
            b[1] = (unsigned char)(i % 2 == 0 ? 0x0E : 0x8E); /* 20 small rows, weighed or not */
            (void)snprintf(name, sizeof name, "%s-%zu", law_families[f]->name, i);
            make_state(folder, name, b);
        }
    for (size_t i = 0; i < N_OF_SUMS; i++)
        make_state(folder, of_sums[i].name, of_sums[i].b);
    for (size_t i = 0; i < N_OF_FOREST; i++)
        make_state(folder, of_forest[i].name, of_forest[i].b);
}

/* ---------------------------------------------------------------- published models */

/* The model of a scene as it would be published, its last column with a name and the first with an
 * offset if that is asked for. */
static void make_predictor(const char *folder, const char *name, const unsigned char b[SCENE_BYTES],
                           int with_names) {
    static const double offsets[SCENE_MOST_COLUMNS] = {1.5};
    char path[1000];
    scene s = {.data = NULL};
    efface_model *model = NULL;
    efface_data *columns = NULL;
    ef_writer w = {0};
    (void)scene_read(&s, b, SCENE_BYTES);
    const uint32_t d = efface_data_n_columns(s.data);
    require(law_fit(s.data, &s.params, &model, NULL) == EFFACE_OK &&
                efface_data_create(d, &columns, NULL) == EFFACE_OK,
            name);
    if (with_names)
        require(efface_data_name_column(columns, d - 1, "column", NULL) == EFFACE_OK &&
                    efface_data_set_offsets(columns, offsets, NULL) == EFFACE_OK,
                name);
    ef_predictor_write(&w, model, columns, NULL);
    (void)snprintf(path, sizeof path, "%s/decode/%s", folder, name);
    FILE *const file = fopen(path, "wb");
    require(!w.failed && file != NULL && fwrite(w.bytes, w.n_bytes, 1, file) == 1 &&
                fclose(file) == 0,
            path);
    ef_free(w.bytes);
    efface_model_free(model);
    efface_data_free(columns);
    efface_data_free(s.data);
}

static void make_predictors(const char *folder) {
    static const unsigned char plain[SCENE_BYTES] = {0x00, 0x08, 0x00, 0x32, 0x00, 0x10,
                                                     0x00, 0x01, 0x00, 0x00, 0x00};
    static const unsigned char minmax[SCENE_BYTES] = {0x00, 0xDF, 0x00, 0xD3, 0x01, 0x10,
                                                      0x00, 0x01, 0x00, 0x00, 0x00};
    /* Behind the family and the rows come targets, regression, and what k-means has. */
    static const unsigned char segmented[SCENE_BYTES] = {0x02, 0x5F, 0x82, 0x04, 0x02, 0x32, 0x01};
    make_predictor(folder, "published-segmented", segmented, 1);
    make_predictor(folder, "published", plain, 0);
    make_predictor(folder, "published-minmax-names", minmax, 1);
    for (size_t i = 0; i + 1 < N_OF_SUMS; i++) { /* the last one has no view */
        char name[64];
        (void)snprintf(name, sizeof name, "published-%s", of_sums[i].name);
        make_predictor(folder, name, of_sums[i].b, i % 2 != 0);
    }
    for (size_t i = 0; i + 1 < N_OF_FOREST; i++) { /* the last one has no rows */
        char name[64];
        (void)snprintf(name, sizeof name, "published-%s", of_forest[i].name);
        make_predictor(folder, name, of_forest[i].b, i % 2 != 0);
    }
}

/* ---------------------------------------------------------------- stores */

/* Small pages make a small file. */
static void shrink(const char *path) {
    sqlite3 *db = NULL;
    require(sqlite3_open(path, &db) == SQLITE_OK &&
                sqlite3_exec(db, "PRAGMA page_size = 512; VACUUM", NULL, NULL, NULL) == SQLITE_OK,
            path);
    require(sqlite3_close(db) == SQLITE_OK, path);
}

static void fit_model(efface_store *store, const char *name, const scene *s,
                      const uint32_t *columns, uint32_t n_columns) {
    const efface_new_model asked = {
        .name = name, .params = &s->params.common, .columns = columns, .n_columns = n_columns};
    require(efface_store_fit(store, &asked, NULL, NULL) == EFFACE_OK, name);
}

/* The model of a scene, over its rows; then a row leaves and one comes. */
static void make_store(const char *folder, const char *name, const unsigned char b[SCENE_BYTES],
                       int with_requests) {
    static const uint32_t columns[] = {0};
    const uint64_t id = 4;
    const float values[SCENE_MOST_COLUMNS] = {0.5f, 0.25f};
    char path[1000];
    scene s = {.data = NULL};
    efface_store *store = NULL;
    efface_data *more = NULL;
    (void)scene_read(&s, b, SCENE_BYTES);
    (void)snprintf(path, sizeof path, "%s/store/%s", folder, name);
    (void)remove(path);
    require(create_plain(path, s.data, &store, NULL) == EFFACE_OK, path);
    fit_model(store, "m", &s, NULL, 0);
    if (with_requests) {
        const efface_request request = {.ids = &id, .n_ids = 1};
        const efface_rows rows = {.n_rows = 1, .values = values};
        fit_model(store, "n", &s, columns, 1);
        require(efface_store_forget(store, &request, NULL, NULL) == EFFACE_OK, path);
        require(efface_data_create(efface_data_n_columns(s.data), &more, NULL) == EFFACE_OK &&
                    efface_data_add(more, &rows, NULL) == EFFACE_OK &&
                    efface_store_learn(store, more, NULL, NULL, NULL) == EFFACE_OK,
                path);
    }
    efface_store_close(store);
    efface_data_free(more);
    efface_data_free(s.data);
    shrink(path);
}

static void make_stores(const char *folder) {
    static const unsigned char lloyd[SCENE_BYTES] = {0x00, 0x08, 0x00, 0x32, 0x00, 0x10,
                                                     0x00, 0x01, 0x00, 0x00, 0x00};
    static const unsigned char quantized[SCENE_BYTES] = {0x00, 0x28, 0x01, 0x32, 0x05, 0x14,
                                                         0x00, 0x01, 0x00, 0x00, 0x00};
    static const unsigned char pyramid[SCENE_BYTES] = {0x00, 0x08, 0x02, 0x32, 0x00, 0x10,
                                                       0x42, 0x01, 0x00, 0x00, 0x00};
    static const unsigned char tree[SCENE_BYTES] = {0x00, 0x08, 0x03, 0x32, 0x00, 0x10,
                                                    0x00, 0x01, 0x01, 0x02, 0x39};
    static const unsigned char none[SCENE_BYTES] = {0x00, 0x09, 0x00, 0x32, 0x00, 0x10,
                                                    0x00, 0x01, 0x00, 0x00, 0x00};
    make_store(folder, "lloyd", lloyd, 1);
    make_store(folder, "quantized", quantized, 0);
    make_store(folder, "pyramid", pyramid, 0);
    make_store(folder, "tree", tree, 0);
    make_store(folder, "no-rows", none, 0);
}

int main(int n_arguments, char **arguments) {
    require(n_arguments == 2, "usage: make_seeds FOLDER");
    make_states(arguments[1]);
    make_states_of_families(arguments[1]);
    make_predictors(arguments[1]);
    make_stores(arguments[1]);
    return 0;
}
