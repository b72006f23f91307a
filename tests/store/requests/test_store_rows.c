/*
 * Rows, owners, labels and texts of a store against a plain list of them: updates of everything a
 * row has, and so many rows and owners that buckets are chosen anew (seals.c, owners_and_labels.c).
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/set/rows.h"
#include "store/rows/stored_rows.h"
#include "store/scenes/plain_store.h"
#include "store/store.h"

#include <inttypes.h>
#include <sodium.h>

#define MANY 3000
#define D 2

/* ---------------------------------------------------------------- the list */

typedef struct known {
    efface_row row;
    float values[D];
    char text[24];
} known;

static known list[MANY];
static size_t n_list;
static uint64_t random_state, next_in_order;

static uint64_t draw(uint64_t limit) {
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % limit;
}

static known make_known(uint64_t id, uint64_t owner) {
    known k = {.row = {.id = id,
                       .owner = owner,
                       .weight = 1 + (int64_t)draw(3),
                       .label = draw(4) == 0 ? EFFACE_NO_LABEL : (int64_t)draw(500) - 250}};
    for (uint32_t j = 0; j < D; j++)
        k.values[j] = (float)draw(40) * 0.25F;
    (void)snprintf(k.text, sizeof k.text, "row %" PRIu64, id);
    return k;
}

static void owner_name(uint64_t owner, char name[32]) {
    (void)snprintf(name, 32, "owner %" PRIu64, owner);
}

static void label_name(int64_t label, char name[32]) {
    (void)snprintf(name, 32, "label %" PRId64, label);
}

static void add_name(efface_texts *texts, efface_text_kind kind, uint64_t number,
                     const char *name) {
    REQUIRE_OK(efface_texts_add(texts, kind, number, name, strlen(name), error));
}

static efface_data *data_of(const known *rows, size_t n, efface_texts **texts) {
    efface_data *data = NULL;
    REQUIRE_OK(efface_data_create(D, &data, error));
    REQUIRE_OK(efface_texts_create(texts, error));
    for (size_t i = 0; i < n; i++) {
        const efface_row *const r = &rows[i].row;
        char name[32];
        const efface_rows row = {.n_rows = 1,
                                 .values = rows[i].values,
                                 .ids = &r->id,
                                 .weights = &r->weight,
                                 .owners = &r->owner,
                                 .labels = &r->label};
        REQUIRE_OK(efface_data_add(data, &row, error));
        add_name(*texts, EFFACE_TEXT_ID, r->id, rows[i].text);
        owner_name(r->owner, name);
        if (r->owner != EFFACE_NO_OWNER)
            add_name(*texts, EFFACE_TEXT_OWNER, r->owner, name);
        label_name(r->label, name);
        if (r->label != EFFACE_NO_LABEL)
            add_name(*texts, EFFACE_TEXT_LABEL, (uint64_t)r->label, name);
    }
    return data;
}

static uint64_t rows_of(uint64_t owner) {
    uint64_t n = 0;
    for (size_t i = 0; i < n_list; i++)
        n += list[i].row.owner == owner;
    return n;
}

/* ---------------------------------------------------------------- the store against it */

typedef struct owner_sum {
    uint64_t n_owners, n_rows;
} owner_sum;

static void take_owner(void *context, uint64_t owner, const char *found, uint64_t n_rows) {
    owner_sum *const sum = context;
    char name[32];
    owner_name(owner, name);
    assert_non_null(found);
    assert_string_equal(found, name);
    assert_int_equal(n_rows, rows_of(owner));
    sum->n_owners++;
    sum->n_rows += n_rows;
}

static void check_text(efface_store *store, efface_text_kind kind, uint64_t number,
                       const char *name) {
    char *found = NULL;
    REQUIRE_OK(efface_store_text(store, kind, number, &found, error));
    if (name == NULL) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_string_equal(found, name);
    efface_text_free(found);
}

static void check_row(const efface_data *data, const known *k) {
    size_t position = 0;
    float values[D];
    assert_int_equal(efface_data_find(data, k->row.id, &position), EFFACE_OK);
    const efface_row row = efface_data_row(data, position);
    assert_true(row.owner == k->row.owner && row.weight == k->row.weight &&
                row.label == k->row.label);
    efface_data_values(data, position, values);
    assert_memory_equal(values, k->values, sizeof values);
}

static void check_list(efface_store *store) {
    efface_data *data = NULL;
    const efface_store_info info = info_of(store);
    owner_sum sum = {0, 0};
    check_whole(store);
    REQUIRE_OK(efface_store_load(store, NULL, &data, NULL, error));
    assert_int_equal(efface_data_n_rows(data), n_list);
    assert_int_equal(info.n_rows, n_list);
    assert_int_equal(info.n_unowned_rows, rows_of(EFFACE_NO_OWNER));
    for (size_t i = 0; i < n_list; i++)
        check_row(data, &list[i]);
    efface_data_free(data);
    REQUIRE_OK(efface_store_owners(store, take_owner, &sum, error));
    assert_int_equal(sum.n_owners, info.n_owners);
    assert_int_equal(sum.n_rows + info.n_unowned_rows, n_list);
    for (size_t i = 0; i < n_list; i += 1 + n_list / 40) {
        char name[32];
        check_text(store, EFFACE_TEXT_ID, list[i].row.id, list[i].text);
        label_name(list[i].row.label, name);
        if (list[i].row.label != EFFACE_NO_LABEL)
            check_text(store, EFFACE_TEXT_LABEL, (uint64_t)list[i].row.label, name);
    }
}

static efface_store *make_listed(void) {
    efface_texts *texts = NULL;
    efface_store *store = NULL;
    efface_data *const data = data_of(list, n_list, &texts);
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.keep_texts = 1;
    const efface_kmeans_params a = params_of(EFFACE_METHOD_LLOYD);
    const efface_kmeans_params b = params_of(EFFACE_METHOD_PYRAMID);
    const uint32_t column = 1;
    const efface_new_model models[] = {
        {.name = "a", .params = &a.common},
        {.name = "b", .params = &b.common, .columns = &column, .n_columns = 1}};
    empty_folder();
    REQUIRE_OK(
        efface_store_create(in_folder(STORE), data, texts, &options, models, 2, &store, error));
    efface_data_free(data);
    efface_texts_free(texts);
    return store;
}

static void learn_more(efface_store *store, size_t n, bool in_order, uint64_t n_owners) {
    efface_texts *texts = NULL;
    const size_t first = n_list;
    for (size_t i = 0; i < n; i++) {
        const uint64_t id = in_order ? next_in_order++ : draw(UINT64_MAX) | 1u << 20;
        const uint64_t owner = draw(5) == 0 ? EFFACE_NO_OWNER : draw(n_owners);
        assert_true(n_list < MANY);
        list[n_list++] = make_known(id, owner);
    }
    efface_data *const data = data_of(list + first, n, &texts);
    REQUIRE_OK(efface_store_learn(store, data, texts, NULL, error));
    efface_data_free(data);
    efface_texts_free(texts);
}

static void forget_listed(efface_store *store, size_t at, bool by_owner) {
    const efface_row row = list[at].row;
    efface_store_report report;
    const efface_request request = {.ids = by_owner ? NULL : &row.id,
                                    .n_ids = by_owner ? 0 : 1,
                                    .owners = by_owner ? &row.owner : NULL,
                                    .n_owners = by_owner ? 1 : 0};
    REQUIRE_OK(efface_store_forget(store, &request, &report, error));
    assert_int_equal(report.n_forgotten, by_owner ? rows_of(row.owner) : 1);
    efface_store_report_free(&report);
    for (size_t i = n_list; i > 0; i--)
        if (by_owner ? list[i - 1].row.owner == row.owner : list[i - 1].row.id == row.id)
            list[i - 1] = list[--n_list];
}

/* ---------------------------------------------------------------- buckets chosen anew */

static void many_rows_and_owners_come(void **state) {
    (void)state;
    random_state = 7;
    next_in_order = 20;
    n_list = 0;
    for (uint64_t i = 0; i < 20; i++)
        list[n_list++] = make_known(i, i / 2);
    efface_store *store = make_listed();
    unsigned rows_spread = 0, groups_spread = 0;
    check_list(store);
    while (n_list < 2400) {
        const uint64_t dense = store->head.dense, slots = store->head.group_slots;
        learn_more(store, 100 + n_list / 4, n_list % 3 != 0, 4 * n_list);
        rows_spread += store->head.dense != dense;
        groups_spread += store->head.group_slots != slots;
        check_list(store);
        for (int i = 0; i < 6; i++) {
            const size_t at = (size_t)draw(n_list);
            forget_listed(store, at, i % 2 == 0 && list[at].row.owner != EFFACE_NO_OWNER);
        }
        check_list(store);
        efface_store_close(store);
        store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    }
    assert_true(rows_spread > 1 && groups_spread > 0);
    /* Absent ones are absent still, and none comes twice. */
    for (size_t i = 0; i < 20; i++) {
        const uint64_t id = draw(UINT64_MAX), owner = UINT64_C(1) << 60 | i;
        const efface_request absent = {.ids = &id, .n_ids = 1, .owners = &owner, .n_owners = 1};
        assert_int_equal(efface_store_preview(store, &absent, NULL, NULL), EFFACE_E_NOT_FOUND);
    }
    efface_texts *texts = NULL;
    efface_data *const twice = data_of(&list[n_list / 2], 1, &texts);
    REFUSED(EFFACE_E_DUPLICATE, "exists already",
            efface_store_learn(store, twice, texts, NULL, error));
    efface_data_free(twice);
    efface_texts_free(texts);
    /* And all leave again. */
    while (n_list != 0) {
        uint64_t ids[400];
        const size_t n = n_list < 400 ? n_list : 400;
        for (size_t i = 0; i < n; i++)
            ids[i] = list[--n_list].row.id;
        REQUIRE_OK(forget_ids(store, ids, n, EFFACE_MISSING_FAIL, NULL, error));
    }
    check_list(store);
    const efface_store_info info = info_of(store);
    assert_true(info.n_owners == 0 && info.n_labels == 0);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- many owners in a request */

static size_t n_seals; /* of owners and labels */

ef_u128 __real_ef_seal_member_set(const ef_head *head, const ef_member_set *set);
ef_u128 __wrap_ef_seal_member_set(const ef_head *head, const ef_member_set *set);

ef_u128 __wrap_ef_seal_member_set(const ef_head *head, const ef_member_set *set) {
    n_seals++;
    return __real_ef_seal_member_set(head, set);
}

/* Every bucket of owners is read once, not once for each owner that is asked for. */
static void owners_are_looked_up_together(void **state) {
    (void)state;
    enum { OWNERS = 1500, ASKED = 2000 };
    uint64_t owners[ASKED];
    efface_data *rows = NULL;
    random_state = 9;
    n_list = 0;
    for (uint64_t i = 0; i < OWNERS; i++)
        list[n_list++] = make_known(i, i);
    efface_store *const store = make_listed();
    for (uint64_t i = 0; i < ASKED; i++) /* half of them exist, in no order; one comes twice */
        owners[i] = i == 7 ? 6 * 37 % ASKED * 3 / 2 : i * 37 % ASKED * 3 / 2;
    const efface_request asked = {
        .owners = owners, .n_owners = ASKED, .missing = EFFACE_MISSING_SKIP};
    size_t n_there = 0;
    for (size_t i = 0; i < ASKED; i++)
        n_there += owners[i] < OWNERS && i != 7;
    n_seals = 0;
    REQUIRE_OK(efface_store_find(store, &asked, &rows, error));
    assert_int_equal(efface_data_n_rows(rows), n_there);
    assert_true(n_seals <= OWNERS);
    efface_data_free(rows);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- update */

static void update_listed(efface_store *store, size_t first, size_t n) {
    efface_texts *texts = NULL;
    efface_store_report report;
    efface_data *const data = data_of(list + first, n, &texts);
    REQUIRE_OK(efface_store_update(store, data, texts, &report, error));
    assert_true(report.n_updated == n && report.n_forgotten == 0 && report.n_learned == 0);
    assert_int_equal(report.n_row_hashes, n);
    efface_store_report_free(&report);
    efface_data_free(data);
    efface_texts_free(texts);
}

static void everything_a_row_has_is_updated(void **state) {
    (void)state;
    random_state = 8;
    n_list = 0;
    for (uint64_t i = 0; i < 60; i++)
        list[n_list++] = make_known(i, i % 5 == 0 ? EFFACE_NO_OWNER : i / 4);
    efface_store *const store = make_listed();
    check_list(store);
    for (size_t i = 0; i < 10; i++)
        list[i].values[i % D] = 77.5F;
    update_listed(store, 0, 10);
    check_list(store);
    for (size_t i = 20; i < 25; i++)
        list[i].row.weight = 7 + (int64_t)i;
    update_listed(store, 20, 5);
    check_list(store);
    for (size_t i = 25; i < 35; i++)
        list[i].row.label = 1000 + (int64_t)i;
    update_listed(store, 25, 10);
    check_list(store);
    /* Owner 9 has rows 36 to 39 without 40: all go to another; it is gone, its text too. */
    const uint64_t before = info_of(store).n_owners;
    assert_int_equal(rows_of(9), 4);
    for (size_t i = 36; i < 40; i++) {
        list[i].row.owner = 4000;
        update_listed(store, i, 1);
        assert_int_equal(info_of(store).n_owners, before + (i < 39));
    }
    check_list(store);
    check_text(store, EFFACE_TEXT_OWNER, 9, NULL);
    check_text(store, EFFACE_TEXT_OWNER, 4000, "owner 4000");
    const uint64_t nine = 9;
    const efface_request gone = {.owners = &nine, .n_owners = 1};
    REFUSED(EFFACE_E_NOT_FOUND, "owner 9", efface_store_forget(store, &gone, NULL, error));
    /* A row without an owner gets one. */
    assert_true(list[50].row.owner == EFFACE_NO_OWNER);
    list[50].row.owner = 4000;
    update_listed(store, 50, 1);
    check_list(store);
    /* What the set does not have stays. */
    const known kept = list[12];
    known bare = kept;
    bare.values[0] = list[12].values[0] = -3.25F;
    const efface_rows values_only = {.n_rows = 1, .values = bare.values, .ids = &bare.row.id};
    efface_data *data = make_data(D, &values_only);
    REQUIRE_OK(efface_store_update(store, data, NULL, NULL, error));
    efface_data_free(data);
    check_list(store);
    /* All or none. */
    const uint64_t ids[] = {3, 999};
    const float values[2 * D] = {1, 2, 3, 4};
    const efface_rows half = {.n_rows = 2, .values = values, .ids = ids};
    data = make_data(D, &half);
    REFUSED(EFFACE_E_NOT_FOUND, "id 999", efface_store_update(store, data, NULL, NULL, error));
    efface_data_free(data);
    const int64_t weight = EFFACE_MAX_WEIGHT - 1;
    const efface_rows heavy = {.n_rows = 1, .values = values, .ids = ids, .weights = &weight};
    data = make_data(D, &heavy);
    REFUSED(EFFACE_E_LIMIT, "2^40", efface_store_update(store, data, NULL, NULL, error));
    efface_data_free(data);
    check_list(store);
    forget_listed(store, 50, true);
    check_list(store);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- classes */

/* A model gets rows with their labels on every way: a part of the columns, rows that come, and a
 * copy of some rows. */
static void labels_come_along(void **state) {
    (void)state;
    enum { N = 5 };
    const float values[N * 2] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const int64_t labels[N] = {-7, INT64_MAX, EFFACE_NO_LABEL, 0, 3};
    const efface_rows rows = {.n_rows = N, .values = values, .labels = labels};
    const uint32_t second = 1;
    const size_t positions[] = {4, 1, 0, 2};
    efface_data *data = NULL, *part = NULL, *some = NULL;
    ef_given given;
    REQUIRE_OK(efface_data_create(2, &data, error));
    REQUIRE_OK(efface_data_add(data, &rows, error));
    REQUIRE_OK(ef_rows_copy(data, &second, 1, &part, error));
    REQUIRE_OK(ef_given_make(&given, data, NULL, &second, 1, error));
    REQUIRE_OK(ef_data_copy_rows(data, positions, 4, &some, error));
    for (size_t i = 0; i < N; i++) {
        assert_true(efface_data_row(part, i).label == labels[i]);
        assert_true(given.rows.labels[i] == labels[i]);
    }
    for (size_t i = 0; i < 4; i++)
        assert_true(efface_data_row(some, i).label == labels[positions[i]]);
    ef_given_free(&given);
    efface_data_free(part);
    efface_data_free(some);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_come_along),
        cmocka_unit_test(many_rows_and_owners_come),
        cmocka_unit_test(owners_are_looked_up_together),
        cmocka_unit_test(everything_a_row_has_is_updated),
    };
    return sodium_init() >= 0 ? cmocka_run_group_tests(tests, begin_folder, end_folder) : 1;
}
