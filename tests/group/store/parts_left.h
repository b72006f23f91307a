/*
 * What is left of a store in parts whose processes die or whose disk fails, for tests: a request to
 * it, stores of one file before and after the request, and the comparison with both. For tests,
 * which include this file after cmocka.h; ranks are threads.
 */
#ifndef PARTS_LEFT_H
#define PARTS_LEFT_H

#include "group/store/parts_scene.h"
#include "store/scenes/store_scene.h"

#define N_ROWS 40
#define N_RANKS 3

static char scene_folder[96], scene_plain[96];
static uint64_t ids[N_ROWS];

static inline void run_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline void run_command(const char *format, ...) {
    char command[600];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    RANK_ASSERT(system(command) == 0);
}

/* ------------------------------------------------------------------ requests */

typedef enum request_kind { FORGET, LEARN, UPDATE } request_kind;

static const uint64_t new_ids[] = {2001, 2002, 2003, 2004, 2005, 2006};

/* A request; the rows are spread over all parts. */
static inline efface_status try_request(efface_store *store, request_kind kind,
                                        efface_error *error) {
    efface_texts *texts = NULL;
    const efface_request request = {.ids = ids + 2, .n_ids = N_ROWS - 8};
    if (kind == FORGET)
        return efface_store_forget(store, &request, NULL, error);
    efface_data *const rows = kind == LEARN ? scene_rows(new_ids, 6, 0, &texts)
                                            : scene_rows(ids + 5, N_ROWS - 10, 7, &texts);
    const efface_status status =
        (kind == LEARN ? efface_store_learn : efface_store_update)(store, rows, texts, NULL, error);
    efface_data_free(rows);
    efface_texts_free(texts);
    return status;
}

static inline void do_request(efface_store *store, request_kind kind) {
    RANK_OK(try_request(store, kind, error));
}

static inline void create(const efface_group *group, void *context) {
    (void)context;
    scene_pair pair = {.group = group};
    scene_create(&pair, scene_folder, scene_plain, ids, N_ROWS, 2);
    scene_close(&pair);
}

/* ------------------------------------------------------------------ what a crash left */

typedef struct left_behind {
    char path[160];
    bool is_before, is_after, was_busy;
    bool has_spread; /* which has a receipt */
} left_behind;

/* Whether the store has the rows and models of a store of one file. */
static inline bool is_same(efface_store *store, const char *file, bool has_spread) {
    efface_store *plain = NULL;
    efface_store_options options = scene_options(NULL, EFFACE_ACCESS_READ);
    efface_store_info is, should;
    bool same = true;
    RANK_OK(efface_store_open(file, &options, &plain, error));
    RANK_OK(efface_store_get_info(store, &is, error));
    RANK_OK(efface_store_get_info(plain, &should, error));
    same &= is.n_rows == should.n_rows && is.n_receipts == should.n_receipts + has_spread;
    same &= is.n_owners == should.n_owners;
    for (int i = 0; i < 2; i++) {
        static const char *const names[] = {"lloyd", "pyramid"};
        efface_stored_model a, b;
        RANK_OK(efface_store_find_model(store, names[i], &a, error));
        RANK_OK(efface_store_find_model(plain, names[i], &b, error));
        same &= memcmp(a.digest, b.digest, sizeof a.digest) == 0;
    }
    efface_store_close(plain);
    return same;
}

static inline void open_left(const efface_group *group, void *context) {
    left_behind *const left = context;
    efface_store_options options = scene_options(group, EFFACE_ACCESS_READ);
    efface_store *store = NULL;
    const efface_status status = efface_store_open(left->path, &options, &store, NULL);
    RANK_ASSERT(status == EFFACE_OK || status == EFFACE_E_BUSY);
    efface_store_close(store);
    store = NULL;
    options.access = EFFACE_ACCESS_WRITE;
    RANK_OK(efface_store_open(left->path, &options, &store, error));
    RANK_OK(efface_store_check(store, scene_problem, NULL, error));
    for (int i = 0; i < 2; i++) {
        efface_difference difference;
        RANK_OK(efface_store_verify(store, i == 0 ? "lloyd" : "pyramid", &difference, error));
        RANK_ASSERT(difference.identical);
    }
    char before[160], after[160];
    (void)snprintf(before, sizeof before, "%s/before.efface", folder);
    (void)snprintf(after, sizeof after, "%s/after.efface", folder);
    const bool is_before = is_same(store, before, left->has_spread),
               is_after = is_same(store, after, left->has_spread);
    if (group->rank == 0) {
        left->was_busy = status == EFFACE_E_BUSY;
        left->is_before = is_before;
        left->is_after = is_after;
    }
    /* Nothing is left to be done. */
    efface_store_close(store);
    store = NULL;
    options.access = EFFACE_ACCESS_READ;
    RANK_OK(efface_store_open(left->path, &options, &store, error));
    efface_store_close(store);
}

/* A store in parts, and stores of one file before and after a request. */
static inline void create_two_files(request_kind kind) {
    for (uint64_t i = 0; i < N_ROWS; i++)
        ids[i] = 2 * i + 1;
    (void)snprintf(scene_folder, sizeof scene_folder, "%s/parts", folder);
    (void)snprintf(scene_plain, sizeof scene_plain, "%s/after.efface", folder);
    thread_group_run(N_RANKS, create, NULL);
    run_command("cp '%s' '%s/before.efface'", scene_plain, folder);
    efface_store *plain = NULL;
    const efface_store_options options = scene_options(NULL, EFFACE_ACCESS_WRITE);
    RANK_OK(efface_store_open(scene_plain, &options, &plain, error));
    do_request(plain, kind);
    efface_store_close(plain);
}

#endif
