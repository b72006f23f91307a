/* Memory that runs out on one rank of a store in parts: for every allocation of a call, and every
 * rank, all ranks fail, nobody waits, and the store is as it was (store.c, invariant 1). Some
 * allocations are left out, unless EFFACE_TEST_ALL_FAULTS=1 is set. */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group/models/rank_memory.h"
#include "group/store/parts_scene.h"
#include "store/scenes/store_scene.h"

#include <errno.h>
#include <fcntl.h>

#define N_ROWS 24
#define N_RANKS 3

static char scene_folder[96], scene_plain[96], spread_folder[96];
static uint64_t ids[N_ROWS];

/* ------------------------------------------------------------------ calls */

/* What a call is made with; made before memory runs out. */
typedef struct scene {
    const efface_group *group;
    efface_store *store; /* NULL: the call opens or makes one */
    efface_data *rows;
    efface_texts *texts;
    scene_models models;
} scene;

typedef efface_status (*call)(scene *s, efface_error *error);

static efface_status call_forget(scene *s, efface_error *error) {
    const efface_request request = {.ids = ids + 3, .n_ids = 9};
    return efface_store_forget(s->store, &request, NULL, error);
}

static efface_status call_learn(scene *s, efface_error *error) {
    return efface_store_learn(s->store, s->rows, s->texts, NULL, error);
}

static efface_status call_fit(scene *s, efface_error *error) {
    return efface_store_fit(s->store, &s->models.asked[2], NULL, error);
}

static efface_status call_verify(scene *s, efface_error *error) {
    efface_difference difference;
    return efface_store_verify(s->store, "lloyd", &difference, error);
}

static void ignore(void *context, const char *problem) {
    (void)context;
    (void)problem;
}

static void ignore_owner(void *context, uint64_t owner, const char *text, uint64_t n_rows) {
    (void)context;
    (void)owner;
    (void)text;
    (void)n_rows;
}

static efface_status call_readers(scene *s, efface_error *error) {
    efface_store_info info;
    efface_stored_model *models = NULL;
    efface_data *rows = NULL;
    size_t n_models = 0;
    char *text = NULL;
    const efface_request request = {.ids = ids, .n_ids = 2};
    efface_status status = efface_store_get_info(s->store, &info, error);
    if (status == EFFACE_OK)
        status = efface_store_models(s->store, &models, &n_models, error);
    if (status == EFFACE_OK)
        status = efface_store_owners(s->store, ignore_owner, NULL, error);
    if (status == EFFACE_OK)
        status = efface_store_text(s->store, EFFACE_TEXT_ID, ids[20], &text, error);
    if (status == EFFACE_OK)
        status = efface_store_find(s->store, &request, &rows, error);
    efface_model_list_free(models);
    efface_text_free(text);
    efface_data_free(rows);
    return status;
}

static efface_status call_check(scene *s, efface_error *error) {
    return efface_store_check(s->store, ignore, NULL, error);
}

static efface_status call_open(scene *s, efface_error *error) {
    const efface_store_options options = scene_options(s->group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    const efface_status status = efface_store_open(scene_folder, &options, &store, error);
    efface_store_close(store);
    return status;
}

static efface_status call_create(scene *s, efface_error *error) {
    const efface_store_options options = scene_options(s->group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    const efface_status status = efface_store_create(spread_folder, s->rows, s->texts, &options,
                                                     s->models.asked, 1, &store, error);
    efface_store_close(store);
    return status;
}

static efface_status call_spread(scene *s, efface_error *error) {
    const efface_store_options options = scene_options(s->group, EFFACE_ACCESS_WRITE);
    return efface_store_spread(scene_folder, &options, error);
}

/* ------------------------------------------------------------------ failures */

typedef struct trial {
    call function;
    bool opens;    /* with a store that is open */
    uint32_t rank; /* that fails */
    long n;        /* the allocation that fails */
    bool ended;    /* it needs fewer, and succeeded */
    bool changed;  /* it succeeded */
} trial;

static void create(const efface_group *group, void *context) {
    (void)context;
    scene_pair pair = {.group = group};
    scene_create(&pair, scene_folder, scene_plain, ids, N_ROWS, 1);
    scene_close(&pair);
}

static void try(const efface_group *group, void *context) {
    trial *const t = context;
    scene s = {.group = group};
    uint64_t own[2] = {5000 + group->rank, 6000 + group->rank};
    efface_error why = {.message = ""};
    scene_models_init(&s.models);
    s.rows = scene_rows(own, 2, 0, &s.texts);
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    if (t->opens)
        RANK_OK(efface_store_open(scene_folder, &options, &s.store, error));
    fails_in = group->rank == t->rank ? (uint64_t)t->n : 0;
    const efface_status status = t->function(&s, &why);
    const bool has_failed = group->rank == t->rank && fails_in == 0;
    fails_in = 0;
    uint64_t failed = has_failed, n_failures = status != EFFACE_OK;
    RANK_ASSERT(group->sum_64(group->context, &failed, 1) == 0);
    RANK_ASSERT(group->sum_64(group->context, &n_failures, 1) == 0);
    /* Some memory can be done without; but then for all. */
    if (n_failures != 0 && (n_failures != group->size || failed == 0))
        (void)fprintf(stderr, "allocation %ld of rank %u: %s\n", t->n, t->rank, why.message);
    RANK_ASSERT(n_failures == 0 || (n_failures == group->size && failed != 0));
    if (n_failures != 0)
        RANK_ASSERT(strncmp(why.message, "rank ", 5) == 0 || status == EFFACE_E_MEMORY);
    if (group->rank == 0) {
        t->ended = failed == 0;
        t->changed = n_failures == 0;
    }
    if (t->opens && n_failures != 0) {
        /* The same handle can be used. */
        efface_store_info info;
        RANK_OK(efface_store_get_info(s.store, &info, error));
        RANK_ASSERT(info.n_rows == N_ROWS && info.n_models == 1 && info.n_receipts == 0);
        RANK_OK(efface_store_check(s.store, scene_problem, NULL, error));
    }
    efface_store_close(s.store);
    efface_data_free(s.rows);
    efface_texts_free(s.texts);
}

static void run_command(const char *format, const char *a, const char *b) {
    char command[600];
    (void)snprintf(command, sizeof command, format, a, b);
    assert_int_equal(system(command), 0);
}

static void count_parts(const char *name, void *context) {
    *(size_t *)context += strncmp(name, "part-", 5) == 0 && strstr(name, "-journal") == NULL;
}

/* Whether a call that failed has left a store: it was made, and could not be opened then.
 * The store that there was before has its files, and no other. */
static bool was_made(void) {
    struct stat found;
    char manifest[120];
    (void)snprintf(manifest, sizeof manifest, "%s/manifest", spread_folder);
    const bool is_there = stat(spread_folder, &found) == 0;
    size_t n_files = 0;
    (void)visit_files(scene_folder, count_parts, &n_files);
    assert_int_equal(n_files, N_RANKS);
    assert_true(!is_there || stat(manifest, &found) == 0);
    return is_there;
}

static void begin_scene(void) {
    (void)snprintf(scene_folder, sizeof scene_folder, "%s/parts", folder);
    (void)snprintf(spread_folder, sizeof spread_folder, "%s/other", folder);
    (void)snprintf(scene_plain, sizeof scene_plain, "%s/plain.efface", folder);
    for (uint64_t i = 0; i < N_ROWS; i++)
        ids[i] = 7 * i;
    thread_group_run(N_RANKS, create, NULL);
}

static void fail_each(call function, bool opens) {
    char kept[96];
    begin_scene();
    (void)snprintf(kept, sizeof kept, "%s/kept", folder);
    run_command("cp -r '%s' '%s'", scene_folder, kept);
    const bool all = getenv("EFFACE_TEST_ALL_FAULTS") != NULL;
    for (uint32_t rank = 0; rank < 2; rank++) {
        trial t = {.function = function, .opens = opens, .rank = rank};
        for (t.n = 1; !t.ended; t.n += t.n < 30 || all ? 1 : 5) {
            thread_group_run(N_RANKS, try, &t);
            if (!t.changed && !was_made())
                continue; /* nothing is left of it */
            run_command("rm -rf '%s' '%s'", scene_folder, spread_folder);
            run_command("cp -r '%s' '%s'", kept, scene_folder);
        }
        assert_true(t.n > 10);
    }
    run_command("rm -rf '%s'/*%s", folder, "");
}

/* ------------------------------------------------------------------ and the disk with it */

static _Thread_local bool disk_fails;

/* A network file system can answer so: it is done, but fails. Then there is no memory, either. */
int rename(const char *from, const char *to) {
    const int code = renameat(AT_FDCWD, from, AT_FDCWD, to);
    if (!disk_fails)
        return code;
    fails_in = 1;
    errno = EIO;
    return -1;
}

static void spread_in_doubt(const efface_group *group, void *context) {
    (void)context;
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    efface_store_info info;
    efface_error why = {.message = ""};
    disk_fails = group->rank == 0;
    const efface_status status = efface_store_spread(scene_folder, &options, &why);
    RANK_ASSERT(status == EFFACE_E_IO);
    disk_fails = false;
    fails_in = 0;
    RANK_OK(efface_store_open(scene_folder, &options, &store, error));
    RANK_OK(efface_store_get_info(store, &info, error));
    RANK_ASSERT(info.n_rows == N_ROWS && info.n_models == 1 && info.n_receipts == 1);
    RANK_OK(efface_store_check(store, scene_problem, NULL, error));
    efface_store_close(store);
}

/* The manifest has the new parts, though the call failed and cannot read it: they must stay. */
static void test_new_parts_stay(void **state) {
    (void)state;
    begin_scene();
    thread_group_run(N_RANKS, spread_in_doubt, NULL);
    (void)was_made();
    run_command("rm -rf '%s'/*%s", folder, "");
}

#define TEST(name, opens)                                                                          \
    static void test_##name(void **state) {                                                        \
        (void)state;                                                                               \
        fail_each(call_##name, opens);                                                             \
    }

TEST(forget, true)
TEST(learn, true)
TEST(fit, true)
TEST(verify, true)
TEST(readers, true)
TEST(check, true)
TEST(open, false)
TEST(create, false)
TEST(spread, false)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forget),  cmocka_unit_test(test_learn),
        cmocka_unit_test(test_fit),     cmocka_unit_test(test_verify),
        cmocka_unit_test(test_readers), cmocka_unit_test(test_check),
        cmocka_unit_test(test_open),    cmocka_unit_test(test_create),
        cmocka_unit_test(test_spread),  cmocka_unit_test(test_new_parts_stay),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
