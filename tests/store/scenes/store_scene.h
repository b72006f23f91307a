/* What tests of the store share: a folder for its files, what is in them, and calls that must
 * succeed. For tests, which include this file after cmocka. */
#ifndef EF_STORE_SCENE_H
#define EF_STORE_SCENE_H

#include "store/scenes/plain_calls.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ a disk that is always quick */

/* SQLite finds these instead of the C library's, so that tests do not wait for a disk: no test
 * that includes this file takes the power away from it. They count. */
static unsigned long n_syncs;
int fsync(int file);
int fdatasync(int file);

int fsync(int file) {
    n_syncs += file >= 0;
    return 0;
}

int fdatasync(int file) {
    return fsync(file);
}

/* ------------------------------------------------------------------ a folder and its files */

static char folder[64]; /* below where the test runs */

static inline const char *in_folder(const char *name) {
    static char paths[4][sizeof folder + 256];
    static unsigned turn;
    char *const path = paths[turn++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

typedef void (*file_visitor)(const char *name, void *context);

/* Calls `visit` for every file of a folder; says how many there are. */
static inline size_t visit_files(const char *path, file_visitor visit, void *context) {
    DIR *const list = opendir(path);
    size_t n = 0;
    assert_non_null(list);
    for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        n++;
        if (visit != NULL)
            visit(entry->d_name, context);
    }
    (void)closedir(list);
    return n;
}

static inline void remove_one(const char *name, void *context) {
    (void)context;
    assert_int_equal(unlink(in_folder(name)), 0);
}

static inline void empty_folder(void) {
    (void)visit_files(folder, remove_one, NULL);
}

static inline int begin_folder(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof folder, "store_test_XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static inline int end_folder(void **state) {
    (void)state;
    empty_folder();
    return rmdir(folder);
}

typedef struct image {
    unsigned char *bytes;
    size_t n_bytes;
} image;

static inline image read_image(const char *path) {
    FILE *const file = fopen(path, "rb");
    image found = {NULL, 0};
    if (file == NULL)
        return found;
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    found.n_bytes = (size_t)ftell(file);
    rewind(file);
    found.bytes = malloc(found.n_bytes + 1);
    assert_non_null(found.bytes);
    assert_int_equal(fread(found.bytes, 1, found.n_bytes, file), found.n_bytes);
    (void)fclose(file);
    return found;
}

static inline void write_image(const char *path, const void *bytes, size_t n_bytes) {
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
}

static inline void check_same_image(const image *a, const image *b) {
    assert_int_equal(a->n_bytes, b->n_bytes);
    if (a->n_bytes != 0)
        assert_memory_equal(a->bytes, b->bytes, a->n_bytes);
}

/* ------------------------------------------------------------------ calls that must succeed */

#define REQUIRE_OK(call)                                                                           \
    do {                                                                                           \
        efface_error require_error = {.message = "no message"};                                    \
        efface_error *const error = &require_error;                                                \
        if ((call) != EFFACE_OK)                                                                   \
            fail_msg("%s: %s", #call, require_error.message);                                      \
    } while (0)

static inline efface_store *open_store(const char *path, efface_access access) {
    efface_store *store = NULL;
    REQUIRE_OK(open_plain(path, access, &store, error));
    return store;
}

static inline efface_data *make_data(uint32_t n_columns, const efface_rows *rows) {
    efface_data *data = NULL;
    REQUIRE_OK(efface_data_create(n_columns, &data, error));
    REQUIRE_OK(efface_data_add(data, rows, error));
    return data;
}

static inline image encode_model(efface_store *store, const char *name) {
    image found = {NULL, 0};
    REQUIRE_OK(efface_store_encode(store, name, &found.bytes, &found.n_bytes, error));
    return found;
}

static inline efface_store_info info_of(efface_store *store) {
    efface_store_info info = {0};
    REQUIRE_OK(efface_store_get_info(store, &info, error));
    return info;
}

static inline void say_problem(void *context, const char *problem) {
    print_message("found: %s\n", problem);
    ++*(unsigned *)context;
}

/* Neither damage, nor a model that is not that of a fit (invariants 3 and 4). */
static inline void check_whole(efface_store *store) {
    unsigned n_problems = 0;
    REQUIRE_OK(efface_store_check(store, say_problem, &n_problems, error));
    assert_int_equal(n_problems, 0);
    const efface_store_info info = info_of(store);
    for (uint32_t i = 0; i < info.n_models; i++) {
        efface_stored_model model;
        efface_difference difference;
        REQUIRE_OK(model_at(store, i, &model, error));
        REQUIRE_OK(efface_store_verify(store, model.name, &difference, error));
        if (!difference.identical)
            fail_msg("model %s is not that of a fit: %s", model.name, difference.what);
    }
}

#endif
