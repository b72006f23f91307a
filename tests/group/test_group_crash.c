/*
 * A store in parts whose processes die (store.c, invariants 1 and 2).
 *
 * The ranks of a request work in a group that makes a copy of the folder at each of its operations,
 * while all ranks stand still: such a copy is what a crash leaves there. Between two operations
 * each rank goes on by itself, so every mixture of the parts of two copies that follow each other
 * is left by some crash too. Each copy must open, and be the store before or after the request.
 */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group/parts_scene.h"
#include "store/store_ways.h"

#include <stdatomic.h>

#define N_ROWS 40
#define N_RANKS 3
#define MOST_COPIES 100

static char scene_folder[96], scene_plain[96];
static uint64_t ids[N_ROWS];

static void run_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void run_command(const char *format, ...) {
    char command[600];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    RANK_ASSERT(system(command) == 0);
}

/* ------------------------------------------------------------------ a group that copies */

static atomic_uint n_copies;

/* Whether two copies have the same files; the second is removed then. */
static bool is_same_folder(unsigned a, unsigned b) {
    char command[300];
    (void)snprintf(command, sizeof command,
                   "cd '%s' && diff -rq copy-%u copy-%u >/dev/null && rm -r copy-%u", folder, a, b,
                   b);
    return system(command) == 0;
}

static int copy_folder(const efface_group *inner) {
    uint64_t nothing = 0;
    if (inner->agree(inner->context, &nothing) != 0)
        return -1;
    if (inner->rank == 0) {
        RANK_ASSERT(n_copies < MOST_COPIES);
        run_command("cp -r '%s' '%s/copy-%u'", scene_folder, folder, n_copies);
        n_copies += n_copies == 0 || !is_same_folder(n_copies - 1, n_copies);
    }
    return inner->agree(inner->context, &nothing);
}

static int copying_sum(void *context, uint64_t *numbers, size_t n) {
    const efface_group *const g = context;
    return copy_folder(g) != 0 ? -1 : g->sum_64(g->context, numbers, n);
}

static int copying_broadcast(void *context, void *bytes, size_t n_bytes, uint32_t root) {
    const efface_group *const g = context;
    return copy_folder(g) != 0 ? -1 : g->broadcast(g->context, bytes, n_bytes, root);
}

static int copying_agree(void *context, uint64_t *number) {
    const efface_group *const g = context;
    return copy_folder(g) != 0 ? -1 : g->agree(g->context, number);
}

static int plain_sum_128(void *context, uint64_t *halves, size_t n) {
    const efface_group *const g = context;
    return g->sum_128(g->context, halves, n);
}

static int plain_minimum(void *context, uint64_t *tuples, size_t n, size_t width) {
    const efface_group *const g = context;
    return g->minimum(g->context, tuples, n, width);
}

static int plain_gather(void *context, const void *bytes, const size_t *sizes, uint32_t root,
                        void *all) {
    const efface_group *const g = context;
    return g->gather(g->context, bytes, sizes, root, all);
}

static efface_group copying_group(efface_group *inner) {
    return (efface_group){.rank = inner->rank,
                          .size = inner->size,
                          .context = inner,
                          .sum_64 = copying_sum,
                          .sum_128 = plain_sum_128,
                          .minimum = plain_minimum,
                          .gather = plain_gather,
                          .broadcast = copying_broadcast,
                          .agree = copying_agree};
}

/* ------------------------------------------------------------------ requests */

typedef enum request_kind { FORGET, LEARN, UPDATE } request_kind;

static const uint64_t new_ids[] = {2001, 2002, 2003, 2004, 2005, 2006};

/* Does a request; the rows are spread over all parts. */
static void do_request(efface_store *store, request_kind kind) {
    efface_texts *texts = NULL;
    efface_data *rows = NULL;
    const efface_request request = {.ids = ids + 2, .n_ids = N_ROWS - 8};
    switch (kind) {
    case FORGET: RANK_OK(efface_store_forget(store, &request, NULL, error)); break;
    case LEARN:
        rows = scene_rows(new_ids, 6, 0, &texts);
        RANK_OK(efface_store_learn(store, rows, texts, NULL, error));
        break;
    case UPDATE:
        rows = scene_rows(ids + 5, N_ROWS - 10, 7, &texts);
        RANK_OK(efface_store_update(store, rows, texts, NULL, error));
        break;
    }
    efface_data_free(rows);
    efface_texts_free(texts);
}

static void create(const efface_group *group, void *context) {
    (void)context;
    scene_pair pair = {.group = group};
    scene_create(&pair, scene_folder, scene_plain, ids, N_ROWS, 2);
    scene_close(&pair);
}

static void request_with_copies(const efface_group *group, void *context) {
    efface_group inner = *group;
    const efface_group copying = copying_group(&inner);
    const efface_store_options options = scene_options(&copying, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    RANK_OK(efface_store_open(scene_folder, &options, &store, error));
    do_request(store, *(const request_kind *)context);
    efface_store_close(store);
}

/* ------------------------------------------------------------------ what a crash left */

typedef struct left_behind {
    char path[160];
    bool is_before, is_after, was_busy;
} left_behind;

/* Whether the store has the rows and models of a store of one file. */
static bool is_same(efface_store *store, const char *file) {
    efface_store *plain = NULL;
    efface_store_options options = scene_options(NULL, EFFACE_ACCESS_READ);
    efface_store_info is, should;
    bool same = true;
    RANK_OK(efface_store_open(file, &options, &plain, error));
    RANK_OK(efface_store_get_info(store, &is, error));
    RANK_OK(efface_store_get_info(plain, &should, error));
    same &= is.n_rows == should.n_rows && is.n_receipts == should.n_receipts;
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

static void open_left(const efface_group *group, void *context) {
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
    const bool is_before = is_same(store, before), is_after = is_same(store, after);
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

static left_behind look_at(const char *name) {
    left_behind left = {.is_before = false};
    (void)snprintf(left.path, sizeof left.path, "%s/%s", folder, name);
    thread_group_run(N_RANKS, open_left, &left);
    if (left.is_before == left.is_after)
        fail_msg("%s is neither the store before nor after the request", name);
    return left;
}

/* A copy that has one part of another. */
static left_behind look_at_mixture(unsigned copy, unsigned other, unsigned part) {
    run_command("rm -rf '%s/mixed' && cp -r '%s/copy-%u' '%s/mixed' && rm '%s'/mixed/part-%u-*"
                " && cp '%s/copy-%u'/part-%u-* '%s/mixed'",
                folder, folder, copy, folder, folder, part, folder, other, part, folder);
    return look_at("mixed");
}

/* A store in parts, and stores of one file before and after a request. */
static void create_two_files(request_kind kind) {
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
    n_copies = 0;
}

static void crash_in(request_kind kind) {
    unsigned n_busy = 0, n_before = 0, n_after = 0;
    create_two_files(kind);
    thread_group_run(N_RANKS, request_with_copies, &kind);
    const unsigned n = n_copies;
    /* The mixtures first: looking at a copy finishes its request. */
    for (unsigned i = 0; i + 1 < n; i++)
        for (unsigned part = 0; part < N_RANKS; part++) {
            left_behind left = look_at_mixture(i, i + 1, part);
            n_busy += left.was_busy;
            left = look_at_mixture(i + 1, i, part);
            n_busy += left.was_busy;
        }
    for (unsigned i = 0; i < n; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "copy-%u", i);
        const left_behind left = look_at(name);
        assert_false(left.is_before && n_after != 0);
        n_busy += left.was_busy;
        n_before += left.is_before;
        n_after += left.is_after;
    }
    assert_true(n_before != 0 && n_after != 0 && n_busy != 0);
    run_command("rm -rf '%s'/*", folder);
}

static void test_forget(void **state) {
    (void)state;
    crash_in(FORGET);
}

static void test_learn(void **state) {
    (void)state;
    crash_in(LEARN);
}

static void test_update(void **state) {
    (void)state;
    crash_in(UPDATE);
}

/* ------------------------------------------------------------------ spreading */

static void count_file(const char *name, void *context) {
    *(size_t *)context += strstr(name, "-journal") == NULL;
}

static void spread_with_copies(const efface_group *group, void *context) {
    (void)context;
    efface_group inner = *group;
    const efface_group copying = copying_group(&inner);
    const efface_store_options options = scene_options(&copying, EFFACE_ACCESS_WRITE);
    RANK_OK(efface_store_spread(scene_folder, &options, error));
}

/* How many parts the folder of a copy has by its manifest. */
static unsigned count_parts(unsigned copy) {
    char path[160];
    unsigned n = 0;
    (void)snprintf(path, sizeof path, "%s/copy-%u/manifest", folder, copy);
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "efface parts 1 parts %u", &n), 1);
    (void)fclose(file);
    return n;
}

static void test_spread(void **state) {
    (void)state;
    unsigned n_old = 0, n_new = 0;
    create_two_files(FORGET);
    thread_group_run(2, spread_with_copies, NULL);
    const unsigned n = n_copies;
    for (unsigned i = 0; i < n; i++) {
        left_behind left = {.is_before = false};
        const unsigned n_parts = count_parts(i);
        assert_true(n_parts == 2 || (n_parts == N_RANKS && n_new == 0));
        (void)snprintf(left.path, sizeof left.path, "%s/copy-%u", folder, i);
        thread_group_run(n_parts, open_left, &left);
        assert_true(left.is_before && !left.was_busy);
        /* Only the parts of the manifest are left, and it. */
        size_t n_files = 0;
        (void)visit_files(left.path, count_file, &n_files);
        assert_int_equal(n_files, n_parts + 1);
        n_old += n_parts == N_RANKS;
        n_new += n_parts == 2;
    }
    assert_true(n_old > 1 && n_new != 0);
    run_command("rm -rf '%s'/*", folder);
}

static void spread_plainly(const efface_group *group, void *context) {
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    RANK_OK(efface_store_spread(context, &options, error));
}

/* A request that waits to be finished is done to rows that are spread anew. */
static void spread_unfinished(request_kind kind) {
    unsigned n_after = 0;
    create_two_files(kind);
    thread_group_run(N_RANKS, request_with_copies, &kind);
    for (unsigned i = 0; i + 1 < n_copies; i++) {
        left_behind left = {.is_before = false};
        run_command("rm -rf '%s/mixed' && cp -r '%s/copy-%u' '%s/mixed' && rm '%s'/mixed/part-0-*"
                    " && cp '%s/copy-%u'/part-0-* '%s/mixed'",
                    folder, folder, i, folder, folder, folder, i + 1, folder);
        (void)snprintf(left.path, sizeof left.path, "%s/mixed", folder);
        thread_group_run(2, spread_plainly, left.path);
        thread_group_run(2, open_left, &left);
        assert_true(left.is_before != left.is_after && !left.was_busy);
        n_after += left.is_after;
    }
    assert_true(n_after > 1);
    run_command("rm -rf '%s'/*", folder);
}

static void test_spread_unfinished(void **state) {
    (void)state;
    spread_unfinished(FORGET);
    spread_unfinished(LEARN);
    spread_unfinished(UPDATE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread), cmocka_unit_test(test_spread_unfinished),
        cmocka_unit_test(test_forget), cmocka_unit_test(test_learn),
        cmocka_unit_test(test_update),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
