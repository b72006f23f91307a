/*
 * A store in parts whose ranks have disks of their own: each gives another path. Ranks other than 0
 * need no file of rank 0; and a new store removes no parts of one that is there, on whatever rank
 * its manifest is.
 */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group/store/parts_scene.h"
#include "store/scenes/store_scene.h"

#define N_ROWS 40
#define N_RANKS 3

/* What all ranks do, each with the disk that is so many further than its rank. */
typedef struct use {
    uint32_t shift;
    efface_status status;
    char message[sizeof((efface_error *)NULL)->message];
} use;

static void path_of(const efface_group *group, uint32_t shift, char path[128]) {
    (void)snprintf(path, 128, "%s/disk-%u", folder, (unsigned)((group->rank + shift) % N_RANKS));
}

static void keep_outcome(const efface_group *group, use *u, efface_status status,
                         const efface_error *error) {
    if (group->rank != 0)
        return;
    u->status = status;
    memcpy(u->message, error->message, sizeof u->message);
}

static void create(const efface_group *group, void *context) {
    use *const u = context;
    scene_models models;
    uint64_t ids[N_ROWS / N_RANKS];
    char path[128];
    efface_store *store = NULL;
    efface_error error = {.message = ""};
    for (uint64_t i = 0; i < N_ROWS / N_RANKS; i++)
        ids[i] = i * N_RANKS + group->rank;
    path_of(group, u->shift, path);
    scene_models_init(&models);
    efface_data *const data = scene_rows(ids, N_ROWS / N_RANKS, 0, NULL);
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    keep_outcome(group, u,
                 efface_store_create(path, data, NULL, &options, models.asked, 1, &store, &error),
                 &error);
    efface_store_close(store);
    efface_data_free(data);
}

static void forget(const efface_group *group, void *context) {
    use *const u = context;
    static const uint64_t ids[] = {3, 4, 5};
    const efface_request request = {.ids = ids, .n_ids = 3, .missing = EFFACE_MISSING_SKIP};
    char path[128];
    efface_store *store = NULL;
    efface_difference difference;
    path_of(group, u->shift, path);
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    RANK_OK(efface_store_open(path, &options, &store, error));
    RANK_OK(efface_store_forget(store, &request, NULL, error));
    RANK_OK(efface_store_verify(store, "lloyd", &difference, error));
    RANK_ASSERT(difference.identical);
    efface_store_close(store);
}

static bool has_file(unsigned disk, const char *name) {
    char path[160];
    struct stat s;
    (void)snprintf(path, sizeof path, "%s/disk-%u/%s", folder, disk, name);
    return stat(path, &s) == 0;
}

static use run(void (*function)(const efface_group *group, void *context), uint32_t shift) {
    use u = {.shift = shift};
    thread_group_run(N_RANKS, function, &u);
    return u;
}

static void clear(void) {
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'/disk-*", folder);
    assert_int_equal(system(command), 0);
}

static void remove_file(unsigned disk, const char *name) {
    char path[160];
    (void)snprintf(path, sizeof path, "%s/disk-%u/%s", folder, disk, name);
    assert_int_equal(unlink(path), 0);
}

static void test_own_disks(void **state) {
    (void)state;
    assert_int_equal(run(create, 0).status, EFFACE_OK);
    (void)run(forget, 0);
    assert_true(has_file(0, "manifest") && !has_file(1, "manifest") && !has_file(2, "manifest"));
    assert_true(has_file(0, "part-0-of-3.0.efface") && !has_file(1, "part-0-of-3.0.efface"));
    assert_true(has_file(1, "part-1-of-3.0.efface") && has_file(2, "part-2-of-3.0.efface"));
    clear();
}

/* Rank 0 is on another disk now, and another rank finds the manifest. */
static void test_manifest_of_another_rank(void **state) {
    (void)state;
    assert_int_equal(run(create, 0).status, EFFACE_OK);
    for (uint32_t shift = 1; shift < N_RANKS; shift++) {
        assert_int_equal(run(create, shift).status, EFFACE_E_ARGUMENT);
        (void)run(forget, 0);
    }
    clear();
}

/* As before, but rank 0 has a new disk, on which there is nothing. */
static void test_new_first_disk(void **state) {
    (void)state;
    assert_int_equal(run(create, 0).status, EFFACE_OK);
    remove_file(0, "manifest");
    remove_file(0, "part-0-of-3.0.efface");
    const use u = run(create, 0);
    assert_int_equal(u.status, EFFACE_E_ARGUMENT);
    assert_non_null(strstr(u.message, "rank 1: "));
    assert_true(has_file(1, "part-1-of-3.0.efface") && has_file(2, "part-2-of-3.0.efface"));
    clear();
}

/* What is not complete is from an attempt, and no reason to refuse. */
static void test_left_by_an_attempt(void **state) {
    (void)state;
    char path[160];
    (void)snprintf(path, sizeof path, "%s/disk-1", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/disk-1/part-1-of-3.0.efface.efface-new", folder);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(run(create, 0).status, EFFACE_OK);
    assert_false(has_file(1, "part-1-of-3.0.efface.efface-new"));
    (void)run(forget, 0);
    clear();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_disks),
        cmocka_unit_test(test_manifest_of_another_rank),
        cmocka_unit_test(test_new_first_disk),
        cmocka_unit_test(test_left_by_an_attempt),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
