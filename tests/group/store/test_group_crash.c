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

#include "group/store/parts_left.h"

#include <stdatomic.h>

#define MAX_COPIES 100

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
        RANK_ASSERT(n_copies < MAX_COPIES);
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

static void crash_in(request_kind kind) {
    unsigned n_busy = 0, n_before = 0, n_after = 0;
    create_two_files(kind);
    n_copies = 0;
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
    n_copies = 0;
    thread_group_run(2, spread_with_copies, NULL);
    const unsigned n = n_copies;
    for (unsigned i = 0; i < n; i++) {
        left_behind left = {.is_before = false};
        const unsigned n_parts = count_parts(i);
        assert_true(n_parts == 2 || (n_parts == N_RANKS && n_new == 0));
        (void)snprintf(left.path, sizeof left.path, "%s/copy-%u", folder, i);
        left.has_spread = n_parts == 2;
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
    n_copies = 0;
    thread_group_run(N_RANKS, request_with_copies, &kind);
    for (unsigned i = 0; i + 1 < n_copies; i++) {
        left_behind left = {.has_spread = true};
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
