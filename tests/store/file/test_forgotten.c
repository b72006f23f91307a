/*
 * A store that forgot rows against one that never had them: the same in every table, but for
 * receipts and what hangs on random keys (seals, sums, the keys themselves). And the texts of ids
 * and owners, and what updates took the place of, are in no file any more.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/sql_scene.h"
#include "store/seals/head.h"
#include "store/store.h"

#include <inttypes.h>
#include <sodium.h>

#define D 3
#define N_STAY 90
#define N_LEAVE 30
#define STORE "forgets.efface"
#define NEVER "never.efface"

/* ---------------------------------------------------------------- rows */

typedef struct guest {
    efface_row row;
    float values[D];
    char name[32], owner[32];
} guest;

/* Rows 0 to N_STAY - 1 stay; the others leave, some with an owner of their own, some not. */
static guest guests[N_STAY + N_LEAVE];

static float value_of(uint64_t x) {
    x = (x + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (float)(0x800000 + ((x ^ (x >> 29)) >> 41)) * 0x1p-20F;
}

static void make_guests(void) {
    for (uint64_t i = 0; i < N_STAY + N_LEAVE; i++) {
        guest *const g = &guests[i];
        const bool alone = i >= N_STAY && i % 2 == 0;
        const uint64_t house = alone ? 1000 + i : i % 9;
        (void)snprintf(g->name, sizeof g->name, "guest-nr-%04" PRIu64, i);
        (void)snprintf(g->owner, sizeof g->owner, "house-of-%04" PRIu64, house);
        g->row = (efface_row){.id = efface_text_id(g->name, strlen(g->name), hash_key),
                              .owner = efface_text_id(g->owner, strlen(g->owner), hash_key),
                              .weight = 1 + (int64_t)(i % 3),
                              .label = alone ? (int64_t)(7000 + i) : (int64_t)(i % 4)};
        for (uint32_t j = 0; j < D; j++)
            g->values[j] = value_of(i * D + j);
    }
    /* Ids beyond all others, and ids in order, leave too. */
    guests[N_STAY].row.id = UINT64_MAX - 5;
    guests[N_STAY + 1].row.id = 17;
    guests[N_STAY + 2].row.id = 63;
    guests[3].row.id = 16;
}

static efface_data *data_of(size_t first, size_t n) {
    efface_data *data = NULL;
    REQUIRE_OK(efface_data_create(D, &data, error));
    for (size_t i = first; i < first + n; i++) {
        const efface_rows row = {.n_rows = 1,
                                 .values = guests[i].values,
                                 .ids = &guests[i].row.id,
                                 .weights = &guests[i].row.weight,
                                 .owners = &guests[i].row.owner,
                                 .labels = &guests[i].row.label};
        REQUIRE_OK(efface_data_add(data, &row, error));
    }
    REQUIRE_OK(efface_data_name_column(data, 1, "width", error));
    return data;
}

static void label_text(int64_t label, char to[32]) {
    (void)snprintf(to, 32, "class-%04" PRId64, label);
}

static efface_texts *texts_of(size_t first, size_t n) {
    efface_texts *texts = NULL;
    REQUIRE_OK(efface_texts_create(&texts, error));
    for (size_t i = first; i < first + n; i++) {
        const guest *const g = &guests[i];
        char class[32];
        label_text(g->row.label, class);
        REQUIRE_OK(
            efface_texts_add(texts, EFFACE_TEXT_ID, g->row.id, g->name, strlen(g->name), error));
        REQUIRE_OK(efface_texts_add(texts, EFFACE_TEXT_OWNER, g->row.owner, g->owner,
                                    strlen(g->owner), error));
        REQUIRE_OK(efface_texts_add(texts, EFFACE_TEXT_LABEL, (uint64_t)g->row.label, class,
                                    strlen(class), error));
    }
    return texts;
}

static efface_store *make_store(const char *name, size_t n) {
    static const uint32_t some[] = {2, 0};
    efface_kmeans_params params[4];
    for (int i = 0; i < 4; i++) {
        efface_kmeans_params_init(&params[i]);
        params[i].method = (efface_method)i;
        params[i].candidates = 1;
        params[i].pyramid.rate = 0.25; /* or pyramid would work as lloyd with so few rows */
        params[i].n_clusters = 3;
        params[i].iterations = 3;
        params[i].tree.width = 2;
        params[i].scale = i % 2 == 0 ? EFFACE_SCALE_MINMAX : EFFACE_SCALE_NONE;
    }
    const efface_new_model models[] = {
        {.name = "lloyd", .params = &params[0].common},
        {.name = "quantized", .params = &params[1].common, .columns = some, .n_columns = 2},
        {.name = "pyramid", .params = &params[2].common},
        {.name = "tree", .params = &params[3].common, .columns = some, .n_columns = 1}};
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.keep_texts = 1;
    efface_store *store = NULL;
    efface_data *const data = data_of(0, n);
    efface_texts *const texts = texts_of(0, n);
    REQUIRE_OK(
        efface_store_create(in_folder(name), data, texts, &options, models, 4, &store, error));
    efface_data_free(data);
    efface_texts_free(texts);
    return store;
}

/* ---------------------------------------------------------------- the search */

typedef struct search {
    const void *bytes;
    size_t n_bytes, n_found;
} search;

static void search_file(const char *name, void *context) {
    search *const s = context;
    if (strncmp(name, STORE, strlen(STORE)) != 0)
        return;
    image file = read_image(in_folder(name));
    for (size_t at = 0; at + s->n_bytes <= file.n_bytes; at++)
        s->n_found += memcmp(file.bytes + at, s->bytes, s->n_bytes) == 0;
    free(file.bytes);
}

static size_t count_of(const void *bytes, size_t n_bytes) {
    search s = {bytes, n_bytes, 0};
    (void)visit_files(folder, search_file, &s);
    return s.n_found;
}

static size_t count_number(uint64_t number) {
    unsigned char little[8], big[8];
    for (int i = 0; i < 8; i++)
        big[7 - i] = little[i] = (unsigned char)(number >> (8 * i));
    return count_of(little, 8) + count_of(big, 8);
}

static bool is_small(uint64_t number) {
    return number < UINT64_C(1) << 48;
}

/* Everything that names a row; its owner and label too, if they are its own. */
static void check_presence(const guest *g, bool is_there, bool alone) {
    char class[32];
    label_text(g->row.label, class);
    assert_true((count_of(g->name, strlen(g->name)) != 0) == is_there);
    assert_true((count_of(g->values, sizeof g->values) != 0) == is_there);
    if (!is_small(g->row.id) && g->row.id < UINT64_MAX - 100) /* others are written short */
        assert_true((count_number(g->row.id) != 0) == is_there);
    if (alone) {
        assert_true((count_of(g->owner, strlen(g->owner)) != 0) == is_there);
        assert_true((count_of(class, strlen(class)) != 0) == is_there);
        assert_true((count_number(g->row.owner) != 0) == is_there);
    }
}

/* ---------------------------------------------------------------- against one that never had them
 */

/* All tables but receipts. */
static text contents(const char *path) {
    text t = {NULL, 0, 0};
    sqlite3 *const db = open_sql(path);
    add_query(&t, db, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name");
    add_query(&t, db, "SELECT name, length(value) FROM facts ORDER BY name");
    add_query(&t, db, "SELECT * FROM columns ORDER BY number");
    add_rows_and_groups(&t, db);
    add_models(&t, db);
    (void)sqlite3_close(db);
    return t;
}

/* The heads are the same but for keys, what is made with them, and receipts. */
static void check_heads(const efface_store *a, const efface_store *b) {
    ef_head x = a->head, y = b->head;
    ef_head *const heads[] = {&x, &y};
    for (int i = 0; i < 2; i++) {
        ef_head *const h = heads[i];
        memset(h->row_key, 0, sizeof h->row_key);
        memset(h->receipt_key, 0, sizeof h->receipt_key);
        memset(h->receipt_key_digest, 0, sizeof h->receipt_key_digest);
        memset(h->last_receipt, 0, sizeof h->last_receipt);
        h->rows_sum = h->groups_sum[0] = h->groups_sum[1] = h->models_sum = 0;
        h->n_receipts = 0;
    }
    assert_true(x.n_columns == y.n_columns && x.keeps_texts == y.keeps_texts &&
                x.key_outside == y.key_outside);
    assert_memory_equal(x.hash_key, y.hash_key, sizeof x.hash_key);
    assert_memory_equal(x.names_digest, y.names_digest, sizeof x.names_digest);
    assert_true(x.dense == y.dense && x.n_rows == y.n_rows && x.total_weight == y.total_weight);
    assert_true(x.group_slots == y.group_slots && x.n_unowned == y.n_unowned);
    assert_true(x.n_groups[0] == y.n_groups[0] && x.n_groups[1] == y.n_groups[1]);
    assert_int_equal(x.n_models, y.n_models);
}

static void check_never_had(efface_store *store) {
    efface_store *const never = open_store(in_folder(NEVER), EFFACE_ACCESS_READ);
    (void)info_of(store);
    (void)info_of(never);
    check_heads(store, never);
    efface_store_close(never);
    check_whole(store);
    text a = contents(in_folder(STORE)), b = contents(in_folder(NEVER));
    assert_true(same(&a, &b));
    free(a.bytes);
    free(b.bytes);
}

static void forget_by_turns(efface_store *store) {
    for (size_t i = N_STAY; i < N_STAY + N_LEAVE; i++) {
        const guest *const g = &guests[i];
        const bool alone = i % 2 == 0, by_owner = alone && i % 4 == 0;
        const efface_request request = {.ids = by_owner ? NULL : &g->row.id,
                                        .n_ids = by_owner ? 0 : 1,
                                        .owners = by_owner ? &g->row.owner : NULL,
                                        .n_owners = by_owner ? 1 : 0};
        check_presence(g, true, alone);
        REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
        check_presence(g, false, alone);
    }
}

static void what_was_forgotten_was_never_there(void **state) {
    (void)state;
    empty_folder();
    efface_store_close(make_store(NEVER, N_STAY));
    efface_store *store = make_store(STORE, N_STAY + N_LEAVE);
    forget_by_turns(store);
    check_never_had(store);
    /* Rows that came later, in a batch, and leave in another. */
    efface_data *const data = data_of(N_STAY, N_LEAVE);
    efface_texts *const texts = texts_of(N_STAY, N_LEAVE);
    uint64_t ids[N_LEAVE];
    for (size_t i = 0; i < N_LEAVE; i++)
        ids[i] = guests[N_STAY + i].row.id;
    const efface_request all = {.ids = ids, .n_ids = N_LEAVE};
    for (int round = 0; round < 3; round++) {
        REQUIRE_OK(efface_store_learn(store, data, texts, NULL, error));
        for (size_t i = N_STAY; i < N_STAY + N_LEAVE; i++)
            check_presence(&guests[i], true, i % 2 == 0);
        REQUIRE_OK(efface_store_forget(store, &all, NULL, error));
        for (size_t i = N_STAY; i < N_STAY + N_LEAVE; i++)
            check_presence(&guests[i], false, i % 2 == 0);
        check_never_had(store);
        efface_store_close(store);
        store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    }
    REQUIRE_OK(efface_store_compact(store, error));
    check_never_had(store);
    for (size_t i = N_STAY; i < N_STAY + N_LEAVE; i++)
        check_presence(&guests[i], false, i % 2 == 0);
    efface_data_free(data);
    efface_texts_free(texts);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- updates */

/* Rows that stay had the values, owners and labels of those that leave, and lose them. */
static void what_was_updated_was_never_there(void **state) {
    (void)state;
    guest right[N_LEAVE];
    empty_folder();
    efface_store_close(make_store(NEVER, N_STAY));
    memcpy(right, guests, sizeof right);
    for (size_t i = 0; i < N_LEAVE; i++) {
        guests[i] = guests[N_STAY + i];
        guests[i].row.id = right[i].row.id;
        guests[i].row.weight = 5;
        memcpy(guests[i].name, right[i].name, sizeof right[i].name);
    }
    efface_store *const store = make_store(STORE, N_STAY);
    memcpy(guests, right, sizeof right);
    for (size_t i = 0; i < N_LEAVE; i += 3) {
        const guest *const old = &guests[N_STAY + i];
        char class[32];
        label_text(old->row.label, class);
        efface_data *const data = data_of(i, 3);
        efface_texts *const texts = texts_of(i, 3);
        assert_true(count_of(old->values, sizeof old->values) != 0);
        assert_true(count_of(old->owner, strlen(old->owner)) != 0);
        /* A weight of 1 alone would be none that is given. */
        REQUIRE_OK(efface_store_update(store, data, texts, NULL, error));
        assert_int_equal(count_of(old->values, sizeof old->values), 0);
        if ((N_STAY + i) % 2 == 0) {
            assert_int_equal(count_of(old->owner, strlen(old->owner)), 0);
            assert_int_equal(count_of(class, strlen(class)), 0);
            assert_int_equal(count_number(old->row.owner), 0);
        }
        efface_data_free(data);
        efface_texts_free(texts);
    }
    check_never_had(store);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- texts that are not kept */

static void texts_that_are_not_asked_for(void **state) {
    (void)state;
    efface_store *store = NULL;
    empty_folder();
    efface_data *const data = data_of(0, N_STAY);
    efface_texts *const texts = texts_of(0, N_STAY);
    const efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    REQUIRE_OK(
        efface_store_create(in_folder(STORE), data, texts, &options, NULL, 0, &store, error));
    for (size_t i = 0; i < N_STAY; i++) {
        char *found = NULL;
        assert_int_equal(count_of(guests[i].name, strlen(guests[i].name)), 0);
        assert_int_equal(count_of(guests[i].owner, strlen(guests[i].owner)), 0);
        REQUIRE_OK(efface_store_text(store, EFFACE_TEXT_ID, guests[i].row.id, &found, error));
        assert_null(found);
        REQUIRE_OK(efface_store_text(store, EFFACE_TEXT_LABEL, (uint64_t)guests[i].row.label,
                                     &found, error));
        assert_non_null(found); /* those of labels always are */
        efface_text_free(found);
    }
    efface_data_free(data);
    efface_texts_free(texts);
    efface_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_forgotten_was_never_there),
        cmocka_unit_test(what_was_updated_was_never_there),
        cmocka_unit_test(texts_that_are_not_asked_for),
    };
    make_guests();
    return sodium_init() >= 0 ? cmocka_run_group_tests(tests, begin_folder, end_folder) : 1;
}
