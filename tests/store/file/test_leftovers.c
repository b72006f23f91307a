/*
 * What is left of a forgotten row: nothing, in no file of the store (store.c, invariant 2).
 *
 * Rows have values, ids and owners that stand for themselves: after each kind of request all files
 * are searched for them, in every form in which they could be there: float32 runs of two values and
 * float64 values, ids as eight bytes in both orders, as SQLite's varint, as text. Before the
 * request the same search must find the row, or it would prove nothing.
 *
 * Stores have models of every family and of each way in which they work (law/law_families.h). What
 * is not searched for: a row's values rounded and summed up with those of others, which is what a
 * model is. test_forgotten.c is about texts and updates, and about what is left in tables.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/faulty_vfs.h"
#include "store/scenes/people_search.h"

/* ---------------------------------------------------------------- requests */

static void forget_ids(efface_store *store, const size_t *who, size_t n) {
    static uint64_t ids[MAX_ROWS];
    for (size_t i = 0; i < n; i++) {
        ids[i] = people[who[i]].id;
        people[who[i]].is_there = false;
    }
    const efface_request request = {.ids = ids, .n_ids = n};
    REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
}

static void forget_one(efface_store *store, size_t who, const char *after) {
    check_present(&people[who]);
    forget_ids(store, &who, 1);
    check_gone(&people[who], after);
}

static size_t someone(void) {
    for (;;) {
        const size_t i = below(n_people);
        if (people[i].is_there)
            return i;
    }
}

/* Several at random, in one request. */
static void forget_some(efface_store *store, size_t n) {
    static size_t who[MAX_ROWS];
    for (size_t i = 0; i < n; i++) {
        who[i] = someone();
        people[who[i]].is_there = false;
    }
    forget_ids(store, who, n);
}

static void rows_by_id_and_owner(void **state) {
    (void)state;
    efface_store *const store = begin(N_ROWS, true);
    for (int i = 0; i < 12; i++)
        forget_one(store, someone(), "a row was forgotten by its id");
    for (int i = 0; i < 8; i++) {
        const uint64_t owner = people[someone()].owner;
        const efface_request request = {.owners = &owner, .n_owners = 1};
        REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
        for (size_t k = 0; k < n_people; k++)
            people[k].is_there &= people[k].owner != owner;
    }
    check_gone(NULL, "rows were forgotten by their owners");
    forget_some(store, 400);
    check_gone(NULL, "a batch was forgotten");
    check_whole(store);
    efface_store_close(store);
    check_gone(NULL, "the store was closed");
}

/* A request for each of some rows, in one transaction; one of them is about nobody. */
static void forget_together(efface_store *store, const size_t *who, size_t n) {
    efface_request requests[32];
    efface_store_change changes[32];
    static const uint64_t nobody = 12345;
    assert_true(n < 32);
    for (size_t i = 0; i <= n; i++) {
        requests[i] = (efface_request){.ids = i < n ? &people[who[i]].id : &nobody, .n_ids = 1};
        changes[i] = (efface_store_change){.kind = EFFACE_CHANGE_FORGET, .request = &requests[i]};
    }
    REQUIRE_OK(efface_store_change_all(store, changes, n + 1, error));
    for (size_t i = 0; i <= n; i++) {
        assert_int_equal(changes[i].status, i < n ? EFFACE_OK : EFFACE_E_NOT_FOUND);
        efface_store_report_free(&changes[i].report);
        if (i < n)
            people[who[i]].is_there = false;
    }
}

/* Rows and models stay in memory; what comes and leaves does so in groups. */
static void groups_of_a_resident_handle(void **state) {
    (void)state;
    efface_store_close(begin(N_ROWS, true));
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    options.resident = 1;
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    for (size_t round = 0; round < 4; round++) {
        size_t who[20], n = 0;
        who[n++] = round < 2 ? round : someone(); /* those that have an extreme */
        people[who[0]].is_there = false;
        for (; n < 20; n++) {
            who[n] = someone();
            people[who[n]].is_there = false;
        }
        check_present(&people[who[7]]);
        forget_together(store, who, n);
        check_gone(NULL, "a group was forgotten");
    }
    /* Learned and forgotten in one transaction: never there. */
    const size_t first = n_people;
    (void)make_person(true);
    efface_data *const data = data_of(first);
    const efface_request request = {.ids = &people[first].id, .n_ids = 1};
    efface_store_change changes[] = {{.kind = EFFACE_CHANGE_LEARN, .data = data},
                                     {.kind = EFFACE_CHANGE_FORGET, .request = &request}};
    REQUIRE_OK(efface_store_change_all(store, changes, 2, error));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(changes[i].status, EFFACE_OK);
        efface_store_report_free(&changes[i].report);
    }
    people[first].is_there = false;
    efface_data_free(data);
    check_gone(NULL, "a row was learned and forgotten at once");
    check_whole(store);
    efface_store_close(store);
    check_gone(NULL, "the store was closed");
}

static void extremes_of_columns(void **state) {
    (void)state;
    efface_store *const store = begin(N_ROWS, true);
    for (size_t i = 0; i < 2; i++) {
        const float extreme = people[i].values[2 + i];
        search s = {.quiet = true};
        add_form(&s, "an extreme value", &extreme, sizeof extreme);
        assert_true(search_all(&s) > 1); /* in the row, and in models */
        forget_one(store, i, "the extreme of a column was forgotten");
        s.quiet = false;
        assert_int_equal(search_all(&s), 0);
        free_search(&s);
    }
    efface_store_close(store);
}

/* Rows with random ids come between those that are there, so that pages are split and cells are
 * copied; most rows leave again, so that pages are merged. */
static void pages_that_were_split_and_merged(void **state) {
    (void)state;
    efface_store *const store = begin(N_ROWS, false);
    for (int round = 0; round < 6; round++) {
        const size_t first = n_people;
        for (int i = 0; i < 400; i++)
            (void)make_person(i % 2 == 0);
        efface_data *const data = data_of(first);
        REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
        efface_data_free(data);
        forget_some(store, round < 3 ? 300 : 800);
        check_gone(NULL, "rows came and left");
    }
    check_whole(store);
    while (info_of(store).n_rows > 0) {
        const uint64_t n = info_of(store).n_rows;
        forget_some(store, n > 100 ? 100 : (size_t)n);
    }
    check_gone(NULL, "all rows were forgotten");
    check_whole(store);
    efface_store_close(store);
}

/* One at a time, so that each is searched for by itself while its neighbours are there. */
static void every_row_of_a_page(void **state) {
    (void)state;
    efface_store *const store = begin(600, false);
    for (int i = 0; i < 550; i++) {
        const size_t who = someone();
        forget_ids(store, &who, 1);
        check_gone(&people[who], "one row after another was forgotten");
    }
    efface_store_close(store);
}

/* Rows so wide that SQLite keeps a part of each on pages of its own. */
static void wide_rows(void **state) {
    (void)state;
    static const uint32_t widths[] = {300, 1100, MAX_COLUMNS};
    for (int i = 0; i < 3; i++) {
        n_columns = widths[i];
        efface_store *const store = begin(120, false);
        for (int k = 0; k < 10; k++)
            forget_one(store, someone(), "a wide row was forgotten");
        const size_t first = n_people;
        for (int k = 0; k < 30; k++)
            (void)make_person(true);
        efface_data *const data = data_of(first);
        REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
        efface_data_free(data);
        forget_some(store, 100);
        check_gone(NULL, "wide rows were forgotten");
        check_whole(store);
        efface_store_close(store);
    }
    n_columns = N_COLUMNS;
}

static void models_that_went(void **state) {
    (void)state;
    efface_store *const store = begin(N_ROWS, true);
    REQUIRE_OK(efface_store_rekey(store, NULL, 99, error));
    forget_one(store, 0, "models got new seeds");
    efface_stored_model *models = NULL;
    size_t n_models = 0;
    REQUIRE_OK(efface_store_models(store, &models, &n_models, error));
    for (size_t i = 0; i < n_models; i++) {
        REQUIRE_OK(efface_store_drop(store, models[i].name, error));
        if (i == 0)
            forget_one(store, 1, "a model was dropped");
    }
    efface_model_list_free(models);
    check_gone(NULL, "all models were dropped");
    const float extremes[2] = {people[0].values[2], people[1].values[3]};
    search s = {.quiet = false};
    add_form(&s, "an extreme value", &extremes[0], sizeof extremes[0]);
    add_form(&s, "an extreme value", &extremes[1], sizeof extremes[1]);
    assert_int_equal(search_all(&s), 0);
    free_search(&s);
    efface_store_close(store);
}

static void requests_that_failed(void **state) {
    (void)state;
    efface_store *const store = begin(N_ROWS, true);
    forget_some(store, 20);
    const uint64_t ids[2] = {people[someone()].id, 12345};
    const efface_request request = {.ids = ids, .n_ids = 2};
    assert_int_equal(efface_store_forget(store, &request, NULL, NULL), EFFACE_E_NOT_FOUND);
    /* A row that could not be learned was never there. */
    const size_t first = n_people;
    person *const stranger = make_person(true);
    person *const twice = make_person(true);
    stranger->is_there = twice->is_there = false;
    twice->id = people[someone()].id;
    efface_data *const data = data_of(first);
    const efface_status status = efface_store_learn(store, data, NULL, NULL, NULL);
    efface_data_free(data);
    n_people = first + 1;
    assert_int_equal(status, EFFACE_E_DUPLICATE);
    check_gone(NULL, "requests failed");
    forget_some(store, 20);
    check_gone(NULL, "a request followed one that failed");
    check_whole(store);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- crashes */

typedef struct copier {
    long left;
} copier;

/* Copies all files as they are in the middle of a transaction. */
static void copy_now(void *context) {
    copier *const c = context;
    if (--c->left == 0)
        assert_true(disk_save(folder));
}

/* A process that was killed, or a machine that lost power, in the middle of a call: what is left is
 * in the folder. If it came to its end, the power goes then. False if it did. */
static bool crash_in(const image *base, unsigned kinds, long n, uint64_t seed,
                     efface_status (*call)(efface_store *store)) {
    empty_folder();
    disk_clear();
    disk_put(STORE, base->bytes, base->n_bytes);
    disk_use();
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    copier c = {.left = n};
    if (seed == 0)
        disk_watch(kinds, copy_now, &c);
    else
        disk_arm(DISK_POWER, kinds, n, seed);
    const efface_status status = call(store);
    disk_watch(0, NULL, NULL);
    const bool over = seed == 0 ? c.left > 0 : !disk_disarm(NULL);
    assert_true(status == EFFACE_OK || seed != 0);
    efface_store_close(store);
    if (over)
        disk_cut_power(0);
    if (seed != 0 || over) {
        disk_reboot();
        assert_true(disk_save(folder));
    }
    disk_leave();
    return !over;
}

#define CRASHES_IN 5 /* the person whom a request forgets */

static efface_status forget_in_crash(efface_store *store) {
    const efface_request request = {
        .ids = &people[CRASHES_IN].id, .n_ids = 1, .missing = EFFACE_MISSING_SKIP};
    return efface_store_forget(store, &request, NULL, NULL);
}

/* Opened again, the request is made once more, and nothing is left of the row. */
static bool try_crash(const image *base, long n, uint64_t seed) {
    people[CRASHES_IN].is_there = true;
    const bool crashed = crash_in(base, DISK_CHANGE, n, seed, forget_in_crash);
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    const bool done = info_of(store).n_rows + 1 == n_people;
    if (!done)
        check_present(&people[CRASHES_IN]);
    assert_int_equal(forget_in_crash(store), EFFACE_OK);
    people[CRASHES_IN].is_there = false;
    check_gone(&people[CRASHES_IN], "a crash");
    efface_store_close(store);
    return crashed;
}

static void crashes(void **state) {
    (void)state;
    efface_store_close(begin(400, true));
    image base = read_image(in_folder(STORE));
    for (uint64_t seed = 0; seed < 4; seed++) {
        long n = 1;
        while (try_crash(&base, n, seed))
            n++;
        assert_true(n > 8);
    }
    free(base.bytes);
    disk_clear();
}

static efface_status compact_in_crash(efface_store *store) {
    return efface_store_compact(store, NULL);
}

static void hear_of_end(void *context, const char *problem) {
    *(unsigned *)context += strstr(problem, "behind its last page") != NULL ? 1 : 100;
}

/* How many bytes stand behind the last page, when what was left in the journal is rolled back; a
 * check says so. */
static size_t check_end(void) {
    unsigned n_problems = 0;
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    const efface_store_info info = info_of(store);
    REQUIRE_OK(efface_store_check(store, hear_of_end, &n_problems, error));
    efface_store_close(store);
    image file = read_image(in_folder(STORE));
    free(file.bytes);
    assert_true(file.n_bytes >= info.file_bytes);
    assert_int_equal(n_problems, file.n_bytes > info.file_bytes);
    return file.n_bytes - info.file_bytes;
}

/* Opened again, the file has no more than its pages; and so nothing is left of rows that were in
 * those that were cut off. */
static bool try_short_compact(const image *base, long n, uint64_t seed, unsigned *n_left) {
    const bool crashed = crash_in(base, DISK_SYNC | DISK_TRUNCATE, n, seed, compact_in_crash);
    const size_t left = check_end();
    assert_true(crashed || left == 0);
    *n_left += left != 0;
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    assert_int_equal(check_end(), 0);
    static bool is_there[MAX_ROWS];
    static size_t who[MAX_ROWS];
    size_t n_who = 0;
    for (size_t i = 0; i < n_people; i++) {
        is_there[i] = people[i].is_there;
        if (is_there[i])
            who[n_who++] = i;
    }
    forget_ids(store, who, n_who);
    check_gone(NULL, "a compact that was cut short");
    efface_store_close(store);
    for (size_t i = 0; i < n_people; i++)
        people[i].is_there = is_there[i];
    return crashed;
}

static void compacts_that_are_cut_short(void **state) {
    (void)state;
    efface_store *const store = begin(400, true);
    forget_some(store, 250);
    efface_store_close(store);
    image base = read_image(in_folder(STORE));
    unsigned n_left = 0;
    for (uint64_t seed = 0; seed < 4; seed++) {
        long n = 1;
        while (try_short_compact(&base, n, seed, &n_left))
            n++;
        assert_true(n > 3);
    }
    assert_true(n_left != 0);
    free(base.bytes);
    disk_clear();
}

/* So many rows that sorting them for an index takes more memory than SQLite takes by itself. A file
 * it sorts in would be without a name, and in no folder: the disk tells. */
static void sorting_needs_no_file(void **state) {
    (void)state;
    const size_t n = 100000;
    float *const values = malloc(n * sizeof *values);
    uint64_t *const ids = malloc(2 * n * sizeof *ids), *const owners = ids + n;
    assert_true(values != NULL && ids != NULL);
    for (size_t i = 0; i < n; i++) {
        values[i] = make_value();
        ids[i] = i;
        owners[i] = next();
    }
    const efface_rows rows = {.n_rows = n, .values = values, .ids = ids, .owners = owners};
    efface_data *const data = make_data(1, &rows);
    efface_store *store = NULL;
    empty_folder();
    disk_clear();
    disk_use();
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
    const efface_request request = {.owners = owners, .n_owners = n / 4};
    REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
    efface_store_close(store);
    disk_leave();
    disk_clear();
    assert_int_equal(disk_temporary_files(), 0);
    efface_data_free(data);
    free(values);
    free(ids);
}

/* ---------------------------------------------------------------- texts */

static void texts_are_in_no_file(void **state) {
    (void)state;
    empty_folder();
    static const char csv[] = "name,patient,height,weight\n"
                              "Anselm-Kiefernholz,Krankenhaus-Nord,1.234567,81.7654\n"
                              "Berta-Birkenfeld,Krankenhaus-Sued,1.345678,72.8765\n"
                              "Cosima-Buchenau,Krankenhaus-Nord,1.456789,63.9876\n";
    write_image("leftovers.csv", csv, sizeof csv - 1);
    efface_load_options options;
    efface_load_options_init(&options);
    memcpy(options.hash_key, hash_key, sizeof options.hash_key);
    options.id_column = "name";
    options.owner_column = "patient";
    efface_data *data = NULL;
    efface_store *store = NULL;
    REQUIRE_OK(efface_data_load("leftovers.csv", &options, &data, error));
    assert_int_equal(unlink("leftovers.csv"), 0);
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
    efface_data_free(data);
    search texts = {.quiet = false};
    add_form(&texts, "a name", "Kiefernholz", 11);
    add_form(&texts, "a name", "Buchenau", 8);
    add_form(&texts, "an owner", "Krankenhaus", 11);
    assert_int_equal(search_all(&texts), 0);
    const char *const name = "Berta-Birkenfeld", *const owner = "Krankenhaus-Nord";
    const uint64_t id = efface_store_text_id(store, name, strlen(name));
    const uint64_t owner_id = efface_store_text_id(store, owner, strlen(owner));
    const uint64_t first = efface_store_text_id(store, "Anselm-Kiefernholz", 18);
    search numbers = {.quiet = true};
    add_number(&numbers, "an owner", owner_id);
    assert_true(search_all(&numbers) != 0);
    const efface_request request = {.ids = &id, .n_ids = 1, .owners = &owner_id, .n_owners = 1};
    efface_store_report report;
    REQUIRE_OK(efface_store_forget(store, &request, &report, error));
    assert_int_equal(report.n_forgotten, 3);
    efface_store_report_free(&report);
    numbers.quiet = false;
    add_number(&numbers, "an id", id);
    add_number(&numbers, "an id", first);
    assert_int_equal(search_all(&numbers), 0);
    assert_int_equal(search_all(&texts), 0);
    free_search(&texts);
    free_search(&numbers);
    efface_store_close(store);
}

static int begin_all(void **state) {
    if (mkdir("leftovers_tmp", 0700) != 0 && visit_files("leftovers_tmp", NULL, NULL) != 0)
        return -1;
    return setenv("TMPDIR", "leftovers_tmp", 1) == 0 &&
                   setenv("SQLITE_TMPDIR", "leftovers_tmp", 1) == 0
               ? begin_folder(state)
               : -1;
}

static int end_all(void **state) {
    for (size_t i = 0; i < MAX_ROWS; i++)
        free(people[i].values);
    return end_folder(state) == 0 ? rmdir("leftovers_tmp") : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_by_id_and_owner),
        cmocka_unit_test(groups_of_a_resident_handle),
        cmocka_unit_test(extremes_of_columns),
        cmocka_unit_test(pages_that_were_split_and_merged),
        cmocka_unit_test(every_row_of_a_page),
        cmocka_unit_test(wide_rows),
        cmocka_unit_test(models_that_went),
        cmocka_unit_test(requests_that_failed),
        cmocka_unit_test(crashes),
        cmocka_unit_test(compacts_that_are_cut_short),
        cmocka_unit_test(sorting_needs_no_file),
        cmocka_unit_test(texts_are_in_no_file),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
