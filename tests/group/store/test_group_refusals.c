/* Stores in parts: what is refused, what fails on one rank only, and what is left of rows that were
 * forgotten (store.c, invariants 1 and 2). */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group/store/parts_scene.h"
#include "law/law_families.h"
#include "store/scenes/store_scene.h"

#include <sqlite3.h>

#define N_ROWS 48
#define N_RANKS 3

static char scene_folder[96], scene_plain[96];
static uint64_t ids[N_ROWS];

static void begin(void) {
    for (uint64_t i = 0; i < N_ROWS; i++)
        ids[i] = UINT64_C(0x1234567800) + 3 * i;
    (void)snprintf(scene_folder, sizeof scene_folder, "%s/parts", folder);
    (void)snprintf(scene_plain, sizeof scene_plain, "%s/plain.efface", folder);
}

static void remove_all(void) {
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'/*", folder);
    assert_int_equal(system(command), 0);
}

static void create(const efface_group *group, void *context) {
    scene_pair pair = {.group = group};
    scene_create(&pair, scene_folder, scene_plain, ids, N_ROWS, *(const size_t *)context);
    scene_close(&pair);
}

static void create_store(size_t n_models) {
    begin();
    thread_group_run(N_RANKS, create, &n_models);
}

static const char *part_path(unsigned part) {
    static char path[200];
    (void)snprintf(path, sizeof path, "%s/part-%u-of-%u.0.efface", scene_folder, part, N_RANKS);
    return path;
}

/* ------------------------------------------------------------------ a part alone */

#define REFUSED(call)                                                                              \
    do {                                                                                           \
        efface_error refusal = {.message = ""};                                                    \
        efface_error *const error = &refusal;                                                      \
        assert_int_equal(call, EFFACE_E_ARGUMENT);                                                 \
        assert_non_null(strstr(refusal.message, "efface-mpi"));                                    \
    } while (0)

static void test_part_alone(void **state) {
    (void)state;
    efface_store *store = NULL;
    efface_store_options options = scene_options(NULL, EFFACE_ACCESS_WRITE);
    create_store(2);
    const image before = read_image(part_path(0));
    REQUIRE_OK(efface_store_open(part_path(0), &options, &store, error));
    const efface_store_info info = info_of(store);
    assert_int_equal(info.n_parts, N_RANKS);
    assert_int_equal(info.part, 0);
    assert_int_equal(info.format, 8);
    assert_int_equal(info.n_models, 2);
    assert_int_equal(info.n_rows, N_ROWS / N_RANKS);
    const efface_request request = {.ids = ids, .n_ids = 1};
    efface_difference difference;
    efface_data *rows = NULL;
    efface_model *model = NULL;
    efface_store_report report;
    const uint64_t other = 5;
    efface_data *const more = scene_rows(&other, 1, 0, NULL);
    const efface_publishing publishing = {.name = "lloyd", .path = in_folder("published")};
    scene_models models;
    scene_models_init(&models);
    REFUSED(efface_store_forget(store, &request, NULL, error));
    REFUSED(efface_store_preview(store, &request, &report, error));
    REFUSED(efface_store_learn(store, more, NULL, NULL, error));
    REFUSED(efface_store_update(store, more, NULL, NULL, error));
    REFUSED(efface_store_verify(store, "lloyd", &difference, error));
    REFUSED(efface_store_load(store, "lloyd", &rows, &model, error));
    REFUSED(efface_store_find(store, &request, &rows, error));
    REFUSED(efface_store_rekey(store, NULL, 1, error));
    REFUSED(efface_store_drop(store, "lloyd", error));
    REFUSED(efface_store_fit(store, &models.asked[3], NULL, error));
    REFUSED(efface_store_publish(store, &publishing, NULL, error));
    REFUSED(efface_store_check(store, say_problem, NULL, error));
    REFUSED(efface_store_compact(store, error));
    efface_store_close(store);
    efface_data_free(more);
    const image after = read_image(part_path(0));
    check_same_image(&before, &after);
    free(before.bytes);
    free(after.bytes);
    REFUSED(efface_store_open(scene_folder, &options, &store, error));
    remove_all();
}

static void hear_fact(void *context, const efface_fact *fact) {
    (void)context, (void)fact;
    fail_msg("there is no model to describe");
}

/* Part 0 has the models and receipts: another part, opened alone, says that it has none. */
static void test_part_without_models(void **state) {
    (void)state;
    efface_store *store = NULL;
    efface_stored_model found, *models = NULL;
    size_t n_models = 1;
    char *json = NULL;
    efface_store_options options = scene_options(NULL, EFFACE_ACCESS_READ);
    create_store(2);
    REQUIRE_OK(efface_store_open(part_path(1), &options, &store, error));
    REQUIRE_OK(efface_store_models(store, &models, &n_models, error));
    assert_int_equal(n_models, 0);
    efface_model_list_free(models);
    assert_int_equal(efface_store_describe(store, "lloyd", hear_fact, NULL, NULL),
                     EFFACE_E_NOT_FOUND);
    assert_int_equal(efface_store_find_model(store, "lloyd", &found, NULL), EFFACE_E_NOT_FOUND);
    assert_int_equal(efface_store_receipt(store, 1, &json, NULL), EFFACE_E_NOT_FOUND);
    efface_store_close(store);
    remove_all();
}

static void refuse_format(const efface_group *group, void *context) {
    (void)context;
    for (int access = 0; access < 2; access++) {
        const efface_store_options options = scene_options(group, (efface_access)access);
        efface_store *store = NULL;
        efface_error why = {.message = ""};
        RANK_ASSERT(efface_store_open(scene_folder, &options, &store, &why) == EFFACE_E_FORMAT);
        RANK_ASSERT(strstr(why.message, "the store has format 2, but this program reads formats 7 "
                                        "and 8; make the store again") != NULL);
    }
}

/* A part of a format that is not read keeps all ranks from opening the store. */
static void test_older_part(void **state) {
    (void)state;
    sqlite3 *db = NULL;
    create_store(1);
    assert_int_equal(sqlite3_open(part_path(1), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 2", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
    thread_group_run(N_RANKS, refuse_format, NULL);
    remove_all();
}

/* ------------------------------------------------------------------ failures of one rank */

static void fail_together(const efface_group *group, void *context) {
    (void)context;
    scene_pair pair = {.group = group};
    scene_open(&pair, scene_folder, scene_plain);
    efface_error why, plain;
    const uint64_t doubled[2] = {7, ids[N_ROWS - 1]}, missing[3] = {ids[0], 99, 98};
    efface_data *const rows = scene_rows(doubled, 2, 0, NULL);
    const efface_data *const given = scene_leads(&pair) ? rows : NULL;
    const efface_request request = {.ids = missing, .n_ids = 3};
    efface_publishing publishing = {.name = "lloyd", .path = "published"};
    efface_store_change changes[2] = {{.kind = EFFACE_CHANGE_FORGET, .request = &request},
                                      {.kind = EFFACE_CHANGE_FORGET, .request = &request}};
    efface_data *found = NULL;
    efface_model *model = NULL;
    RANK_ASSERT(efface_store_learn(pair.parts, given, NULL, NULL, &why) == EFFACE_E_DUPLICATE);
    RANK_ASSERT(strncmp(why.message, "rank 2: a row with the id", 25) == 0);
    RANK_ASSERT(efface_store_update(pair.parts, given, NULL, NULL, &why) == EFFACE_E_NOT_FOUND);
    RANK_ASSERT(efface_store_learn(pair.parts, NULL, NULL, NULL, &why) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(efface_store_forget(pair.parts, NULL, NULL, &why) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(efface_store_forget(pair.parts, &request, NULL, &why) == EFFACE_E_NOT_FOUND);
    if (scene_leads(&pair)) {
        RANK_ASSERT(efface_store_forget(pair.plain, &request, NULL, &plain) == EFFACE_E_NOT_FOUND);
        RANK_ASSERT(strcmp(why.message, plain.message) == 0);
    }
    RANK_ASSERT(efface_store_find(pair.parts, &request, &found, &why) == EFFACE_E_NOT_FOUND);
    RANK_ASSERT(efface_store_load(pair.parts, "nobody", &found, &model, &why) ==
                EFFACE_E_NOT_FOUND);
    RANK_ASSERT(efface_store_publish(pair.parts, &publishing, NULL, &why) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(efface_store_change_all(pair.parts, changes, 2, &why) == EFFACE_E_ARGUMENT);
    efface_data_free(rows);
    scene_compare(&pair, true);
    scene_close(&pair);
}

static void test_failures(void **state) {
    (void)state;
    create_store(2);
    thread_group_run(N_RANKS, fail_together, NULL);
    remove_all();
}

/* Models of one process: neither a store that is there nor a new one takes them, and all ranks hear
 * why. The store is as it was. */
static void fit_alone(const efface_group *group, const law_family *family, unsigned way) {
    scene_pair pair = {.group = group};
    efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    efface_error why = {.message = ""};
    law_params params;
    char path[120];
    const uint64_t id = group->rank;
    family->choose(&params, way, SCENE_COLUMNS);
    const efface_new_model asked = {.name = "alone", .params = &params.common};
    scene_open(&pair, scene_folder, scene_plain);
    RANK_ASSERT(efface_store_fit(pair.parts, &asked, NULL, &why) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(strstr(why.message, "group") != NULL);
    scene_compare(&pair, true);
    scene_close(&pair);
    efface_data *const rows = scene_rows(&id, 1, 0, NULL);
    (void)snprintf(path, sizeof path, "%s/new", folder);
    why = (efface_error){.message = ""};
    RANK_ASSERT(efface_store_create(path, rows, NULL, &options, &asked, 1, &store, &why) ==
                EFFACE_E_ARGUMENT);
    RANK_ASSERT(strstr(why.message, "group") != NULL && store == NULL);
    efface_data_free(rows);
}

static void fit_all_alone(const efface_group *group, void *context) {
    (void)context;
    for (size_t f = 0; f < law_n_families; f++)
        for (unsigned way = 0; law_families[f]->alone && way < law_families[f]->n_ways; way++)
            fit_alone(group, law_families[f], way);
}

static void test_families_of_one_process(void **state) {
    (void)state;
    create_store(2);
    thread_group_run(N_RANKS, fit_all_alone, NULL);
    struct stat found;
    assert_int_equal(stat(in_folder("new"), &found), -1);
    remove_all();
}

/* A rank that cannot make its part, or has other columns. */
static void fail_to_create(const efface_group *group, void *context) {
    (void)context;
    efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    efface_error why;
    const uint64_t id = group->rank;
    efface_data *const rows = scene_rows(&id, 1, 0, NULL);
    if (group->rank == 1)
        RANK_OK(efface_data_name_column(rows, 0, "another name", error));
    RANK_ASSERT(efface_store_create(scene_folder, rows, NULL, &options, NULL, 0, &store, &why) ==
                EFFACE_E_ARGUMENT);
    RANK_ASSERT(strncmp(why.message, "rank 1: the columns", 19) == 0);
    efface_data_free(rows);
}

static void create_twice(const efface_group *group, void *context) {
    (void)context;
    efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    efface_error why;
    const uint64_t id = group->rank;
    efface_data *const rows = scene_rows(&id, 1, 0, NULL);
    RANK_ASSERT(efface_store_create(scene_folder, rows, NULL, &options, NULL, 0, &store, &why) ==
                EFFACE_E_ARGUMENT);
    RANK_ASSERT(strstr(why.message, "exists already") != NULL);
    options.resident = 1;
    RANK_ASSERT(efface_store_open(scene_folder, &options, &store, &why) == EFFACE_E_ARGUMENT);
    efface_data_free(rows);
}

static void fail_to_replace(const efface_group *group, void *context) {
    (void)context;
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    efface_error why;
    const uint64_t id = group->rank;
    efface_data *const rows = scene_rows(&id, 1, 0, NULL);
    RANK_ASSERT(efface_store_create(scene_folder, rows, NULL, &options, NULL, 0, &store, &why) ==
                EFFACE_E_ARGUMENT);
    RANK_ASSERT(strstr(why.message, "manifest is missing") != NULL);
    efface_data_free(rows);
}

static void test_creation_fails(void **state) {
    (void)state;
    begin();
    thread_group_run(N_RANKS, fail_to_create, NULL);
    struct stat found;
    assert_int_equal(stat(scene_folder, &found), -1);
    /* What a process that died has left is no hindrance; parts that lost their manifest are. */
    assert_int_equal(mkdir(scene_folder, 0700), 0);
    write_image(part_path(1), "rubbish", 7);
    thread_group_run(N_RANKS, fail_to_replace, NULL);
    assert_int_equal(stat(part_path(1), &found), 0);
    char beside[200];
    (void)snprintf(beside, sizeof beside, "%s/manifest.efface-new", scene_folder);
    write_image(beside, "", 0);
    assert_int_equal(chmod(beside, 0600), 0);
    create_store(0);
    thread_group_run(N_RANKS, create_twice, NULL);
    thread_group_run(N_RANKS, fail_together, NULL);
    remove_all();
}

/* ------------------------------------------------------------------ parts that cannot commit */

static void forget_while_read(const efface_group *group, void *context) {
    (void)context;
    scene_pair pair = {.group = group};
    scene_open(&pair, scene_folder, scene_plain);
    efface_request request = {.ids = ids, .n_ids = N_ROWS / 2};
    efface_error why;
    sqlite3 *reader = NULL;
    /* Rank 1 is read by somebody, and cannot commit. */
    if (group->rank == 1) {
        RANK_ASSERT(sqlite3_open(part_path(1), &reader) == SQLITE_OK);
        RANK_ASSERT(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM rows", NULL, NULL, NULL) ==
                    SQLITE_OK);
    }
    RANK_ASSERT(efface_store_forget(pair.parts, &request, NULL, &why) == EFFACE_E_BUSY);
    RANK_ASSERT(strstr(why.message, "next opened to write") != NULL);
    RANK_ASSERT(strstr(why.message, "rank 1: ") != NULL);
    efface_store_info info;
    RANK_ASSERT(efface_store_get_info(pair.parts, &info, NULL) == EFFACE_E_BUSY);
    /* Who wants to finish it cannot do so either, and it remains to be finished. */
    RANK_ASSERT(efface_store_compact(pair.parts, NULL) == EFFACE_E_BUSY);
    if (group->rank == 1)
        (void)sqlite3_close(reader);
    if (scene_leads(&pair))
        RANK_OK(efface_store_forget(pair.plain, &request, NULL, error));
    /* The next request finishes it. */
    request = (efface_request){.ids = ids + N_ROWS - 1, .n_ids = 1};
    RANK_OK(efface_store_forget(pair.parts, &request, NULL, error));
    if (scene_leads(&pair))
        RANK_OK(efface_store_forget(pair.plain, &request, NULL, error));
    scene_compare(&pair, true);
    scene_close(&pair);
}

static void test_commit_fails(void **state) {
    (void)state;
    create_store(2);
    thread_group_run(N_RANKS, forget_while_read, NULL);
    remove_all();
}

/* ------------------------------------------------------------------ what all parts have together
 */

/* One row on each rank; texts for ids on the last only, which has most of the weight. */
static efface_data *make_heavy(uint64_t id, int64_t weight, bool has_texts) {
    efface_data *data = NULL;
    const float values[SCENE_COLUMNS] = {1.0F, 2.0F, 3.0F};
    const efface_rows row = {
        .n_rows = 1, .values = values, .ids = &id, .weights = &weight, .owners = &id};
    RANK_OK(efface_data_create(SCENE_COLUMNS, &data, error));
    if (weight != 0)
        RANK_OK(efface_data_add(data, &row, error));
    if (has_texts)
        efface_data_set_kinds(data, EFFACE_IDS_TEXT, EFFACE_IDS_DETECT);
    return data;
}

static void weigh(const efface_group *group, void *context) {
    (void)context;
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    const bool last = group->rank + 1 == group->size;
    const int64_t most = EFFACE_MAX_WEIGHT - 10;
    efface_store *store = NULL;
    efface_store_info info;
    efface_data *rows = make_heavy(7, last ? most : 0, last);
    RANK_OK(efface_store_create(scene_folder, rows, NULL, &options, NULL, 0, &store, error));
    RANK_OK(efface_store_get_info(store, &info, error));
    RANK_ASSERT(info.ids == EFFACE_IDS_TEXT && info.n_rows == 1);
    efface_data_free(rows);
    rows = make_heavy(8, 10, true);
    RANK_ASSERT(efface_store_learn(store, rows, NULL, NULL, NULL) == EFFACE_E_LIMIT);
    efface_data_free(rows);
    rows = make_heavy(8, 9, true);
    efface_data_set_kinds(rows, EFFACE_IDS_TEXT, EFFACE_IDS_TEXT);
    RANK_OK(efface_store_learn(store, rows, NULL, NULL, error));
    RANK_OK(efface_store_get_info(store, &info, error));
    RANK_ASSERT(info.owners == EFFACE_IDS_TEXT);
    efface_data_free(rows);
    rows = make_heavy(8, 10, true);
    RANK_ASSERT(efface_store_update(store, rows, NULL, NULL, NULL) == EFFACE_E_LIMIT);
    efface_data_free(rows);
    rows = make_heavy(7, most, true);
    RANK_OK(efface_store_update(store, rows, NULL, NULL, error));
    efface_data_free(rows);
    efface_store_close(store);
}

static void test_weights(void **state) {
    (void)state;
    begin();
    thread_group_run(N_RANKS, weigh, NULL);
    remove_all();
}

/* ------------------------------------------------------------------ parts of another store */

static void fail_to_open(const efface_group *group, void *context) {
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_READ);
    efface_store *store = NULL;
    efface_error why;
    RANK_ASSERT(efface_store_open(scene_folder, &options, &store, &why) == EFFACE_E_CORRUPT);
    RANK_ASSERT(strstr(why.message, context) != NULL);
}

static void test_other_parts(void **state) {
    (void)state;
    create_store(0);
    const image part = read_image(part_path(1));
    remove_all();
    create_store(0);
    const image own = read_image(part_path(1));
    write_image(part_path(1), part.bytes, part.n_bytes);
    thread_group_run(N_RANKS, fail_to_open, "is not part 1 of this store");
    write_image(part_path(2), own.bytes, own.n_bytes);
    write_image(part_path(1), own.bytes, own.n_bytes);
    thread_group_run(N_RANKS, fail_to_open, "is not part 2 of this store");
    free(part.bytes);
    free(own.bytes);
    remove_all();
}

static void change_some(const efface_group *group, void *context);

/* A part that was restored from a backup, and the others were not. */
static void test_old_parts(void **state) {
    (void)state;
    for (unsigned old = 0; old < N_RANKS; old++) {
        create_store(0);
        const image part = read_image(part_path(old));
        thread_group_run(N_RANKS, change_some, NULL);
        write_image(part_path(old), part.bytes, part.n_bytes);
        thread_group_run(N_RANKS, fail_to_open, "copies of different age");
        free(part.bytes);
        remove_all();
    }
}

/* ------------------------------------------------------------------ others at part 0 */

/* Other processes lock part 0 as soon as a request is decided, and keep it. */
static struct {
    int (*agree)(void *context, uint64_t *number);
    bool takes_journal_out;
    unsigned n_agreements;
    sqlite3 *connection;
} other;

static void run_sql(sqlite3 *connection, const char *sql) {
    RANK_ASSERT(sqlite3_exec(connection, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static int note_row(void *context, int n, char **values, char **names) {
    (void)n;
    (void)values;
    (void)names;
    *(bool *)context = true;
    return 0;
}

static int agree_among_others(void *context, uint64_t *number) {
    sqlite3 *const c = other.connection;
    bool found = false;
    RANK_ASSERT(sqlite3_exec(c, "SELECT 1 FROM facts WHERE name GLOB 'journal*'", note_row, &found,
                             NULL) == SQLITE_OK);
    if (found && sqlite3_get_autocommit(c) != 0) {
        if (other.takes_journal_out)
            run_sql(c, "DELETE FROM facts WHERE name GLOB 'journal*'");
        run_sql(c, "BEGIN IMMEDIATE");
    }
    return other.agree(context, number);
}

/* Other processes spread the rows while a request waits for part 0: the manifest is another when it
 * has part 0. */
static int agree_while_spread(void *context, uint64_t *number) {
    char command[300];
    (void)snprintf(command, sizeof command, "sed -i 's/generation 0/generation 1/' '%s/manifest'",
                   scene_folder);
    if (++other.n_agreements == 2)
        RANK_ASSERT(system(command) == 0);
    return other.agree(context, number);
}

static void forget_while_spread(const efface_group *group, void *context) {
    (void)context;
    efface_group own = *group;
    if (group->rank == 0) {
        other.agree = group->agree;
        own.agree = agree_while_spread;
    }
    const efface_store_options options = scene_options(&own, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    efface_error why;
    if (group->rank == 0)
        other.n_agreements = 1000;
    RANK_OK(efface_store_open(scene_folder, &options, &store, error));
    const efface_request request = {.ids = ids, .n_ids = 1};
    if (group->rank == 0)
        other.n_agreements = 0;
    RANK_ASSERT(efface_store_forget(store, &request, NULL, &why) == EFFACE_E_CORRUPT);
    RANK_ASSERT(strstr(why.message, "open it again") != NULL);
    efface_store_close(store);
}

static void forget_among_others(const efface_group *group, void *context) {
    (void)context;
    efface_group own = *group;
    if (group->rank == 0) {
        RANK_ASSERT(sqlite3_open(part_path(0), &other.connection) == SQLITE_OK);
        other.agree = group->agree;
        own.agree = agree_among_others;
    }
    const efface_store_options options = scene_options(&own, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    RANK_OK(efface_store_open(scene_folder, &options, &store, error));
    const efface_request request = {.ids = ids + (other.takes_journal_out ? 0 : 1), .n_ids = 1};
    efface_error why;
    const efface_status status = efface_store_forget(store, &request, NULL, &why);
    RANK_ASSERT(status == (other.takes_journal_out ? EFFACE_OK : EFFACE_E_BUSY));
    RANK_ASSERT(status == EFFACE_OK || strstr(why.message, "next opened to write") != NULL);
    if (group->rank == 0)
        (void)sqlite3_close(other.connection);
    efface_store_close(store);
}

static void test_others(void **state) {
    (void)state;
    create_store(1);
    other.takes_journal_out = true;
    thread_group_run(N_RANKS, forget_among_others, NULL);
    other.takes_journal_out = false;
    thread_group_run(N_RANKS, forget_among_others, NULL);
    thread_group_run(N_RANKS, forget_while_spread, NULL);
    remove_all();
}

/* ------------------------------------------------------------------ what is left */

static bool has_bytes(const image *in, const void *bytes, size_t n) {
    for (size_t i = 0; i + n <= in->n_bytes; i++)
        if (memcmp(in->bytes + i, bytes, n) == 0)
            return true;
    return false;
}

typedef struct search {
    uint64_t id;
    uint64_t version;
    unsigned n_found;
} search;

static void search_file(const char *name, void *context) {
    search *const s = context;
    char path[400], text[32];
    float values[SCENE_COLUMNS];
    unsigned char number[8];
    (void)snprintf(path, sizeof path, "%s/%s", scene_folder, name);
    const image found = read_image(path);
    for (uint32_t j = 0; j < SCENE_COLUMNS; j++)
        values[j] = scene_value(s->id, s->version, j);
    for (int i = 0; i < 8; i++)
        number[i] = (unsigned char)(s->id >> (8 * (7 - i)));
    scene_text(text, "id", s->id);
    s->n_found += has_bytes(&found, values, sizeof values);
    s->n_found += has_bytes(&found, text, strlen(text));
    s->n_found += has_bytes(&found, number + 3, 5); /* as SQLite writes it */
    s->n_found += has_bytes(&found, &s->id, 8);     /* as the journal does */
    free(found.bytes);
}

static unsigned find_row(uint64_t id, uint64_t version) {
    search s = {.id = id, .version = version};
    (void)visit_files(scene_folder, search_file, &s);
    return s.n_found;
}

static void change_some(const efface_group *group, void *context) {
    (void)context;
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    efface_texts *texts = NULL;
    RANK_OK(efface_store_open(scene_folder, &options, &store, error));
    const efface_request request = {.ids = ids + 1, .n_ids = N_ROWS - 5};
    efface_data *const rows = scene_rows(ids, N_ROWS, 3, &texts);
    RANK_OK(efface_store_update(store, rows, texts, NULL, error));
    RANK_OK(efface_store_forget(store, &request, NULL, error));
    efface_data_free(rows);
    efface_texts_free(texts);
    efface_store_close(store);
}

static void test_leftovers(void **state) {
    (void)state;
    create_store(0);
    for (size_t i = 0; i < N_ROWS; i++)
        assert_int_not_equal(find_row(ids[i], 0), 0);
    thread_group_run(N_RANKS, change_some, NULL);
    for (size_t i = 1; i < N_ROWS - 4; i++) {
        assert_int_equal(find_row(ids[i], 0), 0);
        assert_int_equal(find_row(ids[i], 3), 0);
    }
    assert_int_not_equal(find_row(ids[0], 3), 0);
    remove_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older_part),
        cmocka_unit_test(test_part_alone),
        cmocka_unit_test(test_part_without_models),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_creation_fails),
        cmocka_unit_test(test_commit_fails),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_other_parts),
        cmocka_unit_test(test_old_parts),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_leftovers),
        cmocka_unit_test(test_families_of_one_process),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
