/*
 * Makes the first corpus of fuzz_decode and fuzz_store: sound states and sound stores, small, for
 * the fuzzer to begin with.
 *
 *     make_seeds FOLDER
 *
 * FOLDER has the folders decode and store. Stores get pages of 512 bytes and differ from run to run
 * in their keys and the time. Those of the corpus whose names begin with old- are of format 1, those
 * with second- of format 2.
 */
#include "base/checked.h"
#include "decode_scene.h"
#include "model/family.h"
#include "store/plain_calls.h"

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
    scene_read(&s, b);
    require(efface_kmeans_fit(s.data, &s.params, &model, NULL) == EFFACE_OK, name);
    require(efface_model_encode(model, &bytes, &n_bytes, NULL) == EFFACE_OK, name);
    (void)snprintf(path, sizeof path, "%s/decode/%s", folder, name);
    FILE *const file = fopen(path, "wb");
    require(file != NULL && fwrite(b, SCENE_BYTES, 1, file) == 1 &&
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
        {"lloyd", {0x10, 0x02, 0x01, 0x00, 0x00, 0x00}},
        {"lloyd-empty-set", {0x20, 0x22, 0x01, 0x00, 0x00, 0x00}},
        {"lloyd-one-row", {0x20, 0x42, 0x02, 0x00, 0x00, 0x00}},
        {"lloyd-minmax-keep", {0x1C, 0xEB, 0x03, 0xC0, 0x00, 0x00}},
        {"lloyd-reseeds", {0x30, 0x8F, 0x00, 0x00, 0x00, 0x00}},
        {"lloyd-bound", {0x30, 0xC4, 0x81, 0x60, 0x00, 0x00}},
        {"quantized", {0x11, 0xC3, 0x01, 0x40, 0x00, 0x00}},
        {"quantized-lattice", {0x15, 0x1A, 0x15, 0x20, 0x00, 0x00}},
        {"quantized-fresh", {0x21, 0xC2, 0x41, 0x40, 0x00, 0x00}},
        {"pyramid", {0x12, 0xC2, 0x01, 0x12, 0x00, 0x00}},
        {"pyramid-minmax", {0x26, 0xE3, 0xA1, 0x56, 0x00, 0x00}},
        {"pyramid-whole", {0x32, 0x01, 0x00, 0x09, 0x00, 0x00}},
        {"tree", {0x13, 0xC2, 0x01, 0x00, 0x09, 0x00}},
        {"tree-two-levels", {0x27, 0xE1, 0x01, 0x40, 0x0A, 0x03}},
        {"tree-of-methods", {0x33, 0xC2, 0x30, 0x02, 0x5D, 0x01}},
        {"tree-no-height", {0x33, 0x02, 0x01, 0x00, 0x00, 0x00}},
    };
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        make_state(folder, states[i].name, states[i].b);
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
    scene_read(&s, b);
    const uint32_t d = efface_data_n_columns(s.data);
    require(efface_kmeans_fit(s.data, &s.params, &model, NULL) == EFFACE_OK &&
                efface_data_create(d, &columns, NULL) == EFFACE_OK,
            name);
    if (with_names)
        require(efface_data_name_column(columns, d - 1, "column", NULL) == EFFACE_OK &&
                    efface_data_set_offsets(columns, offsets, NULL) == EFFACE_OK,
                name);
    ef_predictor_write(&w, model, columns);
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
    static const unsigned char plain[SCENE_BYTES] = {0x10, 0x02, 0x01, 0x00, 0x00, 0x00};
    static const unsigned char minmax[SCENE_BYTES] = {0x1C, 0xEB, 0x03, 0xC0, 0x00, 0x00};
    make_predictor(folder, "published", plain, 0);
    make_predictor(folder, "published-minmax-names", minmax, 1);
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
    scene_read(&s, b);
    (void)snprintf(path, sizeof path, "%s/store/%s", folder, name);
    (void)remove(path);
    require(create_plain(path, s.data, &store, NULL) == EFFACE_OK, path);
    require(fit_plain(store, "m", &s.params, NULL, 0, NULL) == EFFACE_OK, path);
    if (with_requests) {
        const efface_request request = {.ids = &id, .n_ids = 1};
        const efface_rows rows = {.n_rows = 1, .values = values};
        require(fit_plain(store, "n", &s.params, columns, 1, NULL) == EFFACE_OK, path);
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
    static const unsigned char lloyd[SCENE_BYTES] = {0x10, 0x02, 0x01, 0x00, 0x00, 0x00};
    static const unsigned char quantized[SCENE_BYTES] = {0x15, 0x02, 0x91, 0x20, 0x00, 0x00};
    static const unsigned char pyramid[SCENE_BYTES] = {0x12, 0x02, 0x01, 0x12, 0x00, 0x00};
    static const unsigned char tree[SCENE_BYTES] = {0x13, 0x02, 0x01, 0x00, 0x09, 0x02};
    static const unsigned char none[SCENE_BYTES] = {0x10, 0x22, 0x01, 0x00, 0x00, 0x00};
    make_store(folder, "lloyd", lloyd, 1);
    make_store(folder, "quantized", quantized, 0);
    make_store(folder, "pyramid", pyramid, 0);
    make_store(folder, "tree", tree, 0);
    make_store(folder, "no-rows", none, 0);
}

int main(int n_arguments, char **arguments) {
    require(n_arguments == 2, "usage: make_seeds FOLDER");
    make_states(arguments[1]);
    make_predictors(arguments[1]);
    make_stores(arguments[1]);
    return 0;
}
