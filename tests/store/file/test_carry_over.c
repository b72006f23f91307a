/*
 * Stores of formats 1 and 2 (fixtures/): opened to read they stay as they are, opened to write they
 * become stores of today, with the same rows, models and receipts; or, if that fails, nothing
 * changes.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/report_scene.h"
#include "store/scenes/short_memory.h"
#include "store/scenes/sql_scene.h"

#include <inttypes.h>
#include <sodium.h>

#define N_COLUMNS 3
#define STORE "old.efface"
#define TODAY 3

static const unsigned char receipt_key[EFFACE_RECEIPT_KEY_BYTES] = "a receipt key kept elsewhere";

/* ---------------------------------------------------------------- what is in the fixtures */

static float value_of(uint64_t row, uint32_t column) {
    uint64_t z = (row * 64 + column + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (float)(row % 3) * 10.0F + (float)((z ^ (z >> 31)) >> 40) * 0x1p-24F;
}

typedef struct known_row {
    efface_row row;
    uint64_t number; /* its values are those of this number */
} known_row;

typedef struct fixture {
    const char *file;
    uint32_t format;
    known_row rows[64];
    size_t n_rows;
    uint32_t n_models;
    uint64_t n_receipts, n_owners, n_unowned, n_labels;
    bool zero_is_old, keeps_texts, key_outside;
    double offsets[N_COLUMNS];
    const char *names[N_COLUMNS];
    const char *const *models;
    const char *old_model; /* or NULL: of a method that was defined in another way */
} fixture;

static uint64_t id_of(const char *who) {
    return efface_text_id(who, strlen(who), hash_key);
}

static void add_row(fixture *f, uint64_t number, uint64_t id, uint64_t owner, int64_t weight,
                    int64_t label) {
    const efface_row row = {.id = id, .owner = owner, .weight = weight, .label = label};
    f->rows[f->n_rows++] = (known_row){row, number};
}

/* Neither owners nor labels: 0 was none. */
static fixture plain_fixture(void) {
    static const char *const models[] = {"lloyd", "quantized"};
    fixture f = {.file = "plain-1.efface",
                 .format = 1,
                 .n_models = 2,
                 .n_receipts = 3,
                 .n_unowned = 47,
                 .models = models};
    for (uint64_t id = 0; id < 52; id++)
        if (id != 7 && id != 49 && (id < 3 || id > 5))
            add_row(&f, id, id, EFFACE_NO_OWNER, 1, EFFACE_NO_LABEL);
    return f;
}

static fixture nameless_fixture(void) {
    fixture f = {.file = "nameless-1.efface",
                 .format = 1,
                 .n_receipts = 1,
                 .n_unowned = 4,
                 .names = {"height", "width", NULL}};
    for (uint64_t id = 0; id < 5; id++)
        if (id != 2)
            add_row(&f, id, id, EFFACE_NO_OWNER, 1, EFFACE_NO_LABEL);
    return f;
}

/* Owner 0 is one of several, and so is label 0. */
static fixture people_fixture(uint32_t format) {
    static const char *const models[] = {"lloyd", "pyramid", "quantized", "tree"};
    static const uint64_t owners[] = {0, 77, 0, 77, 0, 78};
    static const int64_t labels[] = {5, 5, 0, 0, -3, 1};
    fixture f = {.file = format == 1 ? "people-1.efface" : "people-2.efface",
                 .format = format,
                 .old_model = "pyramid",
                 .n_models = 4,
                 .n_receipts = 5,
                 .n_owners = 7,
                 .n_labels = 5,
                 .zero_is_old = true,
                 .names = {"height", "width", "depth"},
                 .models = models};
    for (unsigned i = 0; i < 40; i++) {
        char who[8], doctor[8];
        (void)snprintf(who, sizeof who, "p-%02u", i % 100);
        (void)snprintf(doctor, sizeof doctor, "dr-%c", 'a' + (char)(i % 5));
        if (i != 1 && i % 5 != 2)
            add_row(&f, i, id_of(who), id_of(doctor), 1 + i % 2, i % 3);
    }
    for (unsigned i = 0; i < 6; i++)
        if (i != 3)
            add_row(&f, 1000 + i, 1000 + i, owners[i], 1 + i % 3, labels[i]);
    return f;
}

static fixture numbers_fixture(void) {
    static const char *const models[] = {"bounded", "lloyd", "quantized",
                                         "sampled", "some",  "tree"};
    fixture f = {.file = "numbers-2.efface",
                 .format = 2,
                 .n_models = 6,
                 .n_receipts = 2,
                 .n_owners = 9,
                 .n_unowned = 15,
                 .offsets = {1000.0, 0.0, -5.5},
                 .models = models};
    for (uint64_t i = 0; i < 60; i++) {
        const uint64_t owner = i % 4 == 3 ? EFFACE_NO_OWNER : 100 + i % 10;
        if (i != 1 && i != 2 && owner != 105)
            add_row(&f, i, 7 * i, owner, 1 + (int64_t)(i % 3), EFFACE_NO_LABEL);
    }
    return f;
}

static fixture texts_fixture(void) {
    static const char *const models[] = {"lloyd", "tree"};
    static const char *const kinds[] = {"red", "green", "blue"};
    fixture f = {.file = "texts-2.efface",
                 .format = 2,
                 .n_models = 2,
                 .n_receipts = 3,
                 .n_owners = 4,
                 .n_labels = 3,
                 .keeps_texts = true,
                 .key_outside = true,
                 .names = {"height", "width", "depth"},
                 .models = models};
    for (unsigned i = 0; i < 39; i++) {
        char who[8], doctor[8];
        (void)snprintf(who, sizeof who, "p-%02u", i % 100);
        (void)snprintf(doctor, sizeof doctor, "dr-%c", 'a' + (char)(i % 5));
        if (i != 1 && i % 5 != 2)
            add_row(&f, i, id_of(who), id_of(doctor), 1,
                    efface_text_label(kinds[i % 3], strlen(kinds[i % 3])));
    }
    return f;
}

#define N_FIXTURES 6

static fixture fixture_at(int i) {
    switch (i) {
    case 0: return plain_fixture();
    case 1: return nameless_fixture();
    case 2: return people_fixture(1);
    case 3: return numbers_fixture();
    case 4: return texts_fixture();
    default: return people_fixture(2);
    }
}

static efface_status open_fixture(const fixture *f, efface_access access, efface_store **store,
                                  efface_error *error) {
    efface_store_options options = plain_options(access);
    options.receipt_key = f->key_outside ? receipt_key : NULL;
    return efface_store_open(in_folder(STORE), &options, store, error);
}

static efface_store *open_laid_out(const fixture *f, efface_access access) {
    efface_store *store = NULL;
    REQUIRE_OK(open_fixture(f, access, &store, error));
    return store;
}

static image fixture_image(const fixture *f) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", EFFACE_FIXTURES, f->file);
    const image found = read_image(path);
    assert_non_null(found.bytes);
    return found;
}

static image lay_out(const fixture *f) {
    empty_folder();
    const image found = fixture_image(f);
    write_image(in_folder(STORE), found.bytes, found.n_bytes);
    return found;
}

/* ---------------------------------------------------------------- what must be there */

static void check_rows(efface_store *store, const fixture *f) {
    efface_data *data = NULL;
    REQUIRE_OK(efface_store_load(store, NULL, &data, NULL, error));
    assert_int_equal(efface_data_n_rows(data), f->n_rows);
    for (size_t i = 0; i < f->n_rows; i++) {
        const known_row *const known = &f->rows[i];
        size_t position = 0;
        float values[N_COLUMNS];
        assert_int_equal(efface_data_find(data, known->row.id, &position), EFFACE_OK);
        const efface_row row = efface_data_row(data, position);
        assert_true(row.owner == known->row.owner && row.weight == known->row.weight);
        assert_int_equal(row.label, known->row.label);
        efface_data_values(data, position, values);
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            assert_true(values[j] == value_of(known->number, j));
    }
    efface_data_free(data);
}

static void check_info(efface_store *store, const fixture *f, uint32_t format) {
    const efface_store_info info = info_of(store);
    assert_int_equal(info.format, format);
    assert_int_equal(info.n_rows, f->n_rows);
    assert_int_equal(info.n_columns, N_COLUMNS);
    assert_int_equal(info.n_models, f->n_models);
    assert_int_equal(info.n_receipts, f->n_receipts);
    assert_int_equal(info.n_owners, f->n_owners);
    assert_int_equal(info.n_unowned_rows, f->n_unowned);
    assert_int_equal(info.n_labels, f->n_labels);
    assert_int_equal(info.owner_zero_is_old, f->zero_is_old);
    assert_int_equal(info.keeps_texts, f->keeps_texts);
    assert_int_equal(info.receipt_key_outside, f->key_outside);
    for (uint32_t j = 0; j < N_COLUMNS; j++) {
        const char *const name = efface_store_column(store, j);
        assert_true((name == NULL) == (f->names[j] == NULL));
        if (name != NULL)
            assert_string_equal(name, f->names[j]);
        assert_true(efface_store_offset(store, j) == f->offsets[j]);
    }
}

/* All models, from the tables of any format; the parts of a state put together. */
static text digests(const char *path) {
    text t = {NULL, 0, 0};
    const bool in_parts = sql_number(path, "PRAGMA user_version") == TODAY;
    sqlite3 *const db = open_sql(path);
    add_query(&t, db, "SELECT name, params, columns, counts, digest FROM models ORDER BY 1");
    add_query(&t, db,
              in_parts ? "SELECT name, CAST(hex(state) || (SELECT "
                         "coalesce(group_concat(hex(bytes), ''), '') FROM (SELECT bytes"
                         " FROM states WHERE number >> 43 = models.number ORDER BY number)) AS"
                         " TEXT) FROM models ORDER BY 1"
                       : "SELECT name, hex(state) FROM models ORDER BY 1");
    (void)sqlite3_close(db);
    return t;
}

static void count_owner(void *context, uint64_t owner, const char *name, uint64_t n_rows) {
    const fixture *const f = context;
    uint64_t n = 0;
    assert_int_equal(name != NULL, f->keeps_texts);
    for (size_t i = 0; i < f->n_rows; i++)
        n += f->rows[i].row.owner == owner;
    assert_int_equal(n, n_rows);
}

static void fail_line(void *context, size_t line, const char *problem) {
    (void)context;
    fail_msg("line %zu: %s", line, problem);
}

static void check_chain(efface_store *store) {
    const uint64_t n = info_of(store).n_receipts;
    char *lines[16];
    assert_true(n <= 16);
    for (uint64_t i = 0; i < n; i++)
        REQUIRE_OK(efface_store_receipt(store, i + 1, &lines[i], error));
    REQUIRE_OK(efface_receipts_verify((const char *const *)lines, (size_t)n, NULL, fail_line, NULL,
                                      error));
    for (uint64_t i = 0; i < n; i++)
        efface_text_free(lines[i]);
}

/* All that can be asked of a store, before the first request that writes or after it. */
static void check_all(efface_store *store, fixture *f, uint32_t format, bool written) {
    check_info(store, f, format);
    check_rows(store, f);
    check_whole_but(store, written ? NULL : f->old_model);
    check_chain(store);
    REQUIRE_OK(efface_store_owners(store, count_owner, f, error));
    for (uint32_t i = 0; i < f->n_models; i++) {
        efface_stored_model model;
        REQUIRE_OK(model_at(store, i, &model, error));
        assert_string_equal(model.name, f->models[i]);
    }
}

/* ---------------------------------------------------------------- to read, to write */

static void to_read_nothing_changes(void **state) {
    (void)state;
    for (int i = 0; i < N_FIXTURES; i++) {
        fixture f = fixture_at(i);
        image before = lay_out(&f);
        efface_store *const store = open_laid_out(&f, EFFACE_ACCESS_READ);
        check_all(store, &f, f.format, false);
        const uint64_t absent = 999999;
        efface_request request = {.ids = &f.rows[0].row.id, .n_ids = 1};
        REQUIRE_OK(efface_store_preview(store, &request, NULL, error));
        request.ids = &absent;
        assert_int_equal(efface_store_preview(store, &request, NULL, NULL), EFFACE_E_NOT_FOUND);
        assert_int_equal(efface_store_forget(store, &request, NULL, NULL), EFFACE_E_ARGUMENT);
        assert_int_equal(efface_store_compact(store, NULL), EFFACE_E_ARGUMENT);
        efface_store_close(store);
        image after = read_image(in_folder(STORE));
        check_same_image(&before, &after);
        assert_int_equal(visit_files(folder, NULL, NULL), 1);
        free(before.bytes);
        free(after.bytes);
    }
}

static size_t count_bytes(const image *file, const void *bytes, size_t n_bytes) {
    size_t n = 0;
    for (size_t at = 0; at + n_bytes <= file->n_bytes; at++)
        n += memcmp(file->bytes + at, bytes, n_bytes) == 0;
    return n;
}

/* The values of every row stand once in the file: the old tables have left nothing. And the largest
 * id that there ever was is not known any more. */
static void check_leftovers(const fixture *f) {
    static const uint64_t largest[] = {UINT64_C(0xFEDCBA9876543211), UINT64_C(0xFEDCBA9876543210)};
    image file = read_image(in_folder(STORE));
    for (size_t i = 0; i < f->n_rows; i++) {
        float values[N_COLUMNS];
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            values[j] = value_of(f->rows[i].number, j);
        assert_int_equal(count_bytes(&file, values, sizeof values), 1);
    }
    assert_int_equal(count_bytes(&file, "next_id", 7), 0);
    assert_int_equal(count_bytes(&file, "old_", 4), 0);
    for (int i = 0; i < 2; i++) {
        unsigned char big[8];
        for (int b = 0; b < 8; b++)
            big[b] = (unsigned char)(largest[i] >> (56 - 8 * b));
        assert_int_equal(count_bytes(&file, big, 8), 0);
    }
    free(file.bytes);
    image journal = read_image(in_folder(STORE "-journal"));
    assert_int_equal(journal.n_bytes, 0);
    free(journal.bytes);
}

static void forget_row(efface_store *store, fixture *f, size_t at) {
    const efface_request request = {.ids = &f->rows[at].row.id, .n_ids = 1};
    efface_store_report report;
    REQUIRE_OK(efface_store_forget(store, &request, &report, error));
    assert_int_equal(report.receipt, ++f->n_receipts);
    assert_int_equal(report.n_forgotten, 1);
    efface_store_report_free(&report);
    f->n_unowned -= f->rows[at].row.owner == EFFACE_NO_OWNER;
    f->rows[at] = f->rows[--f->n_rows];
}

static void to_write_it_becomes_one_of_today(void **state) {
    (void)state;
    for (int i = 0; i < N_FIXTURES; i++) {
        fixture f = fixture_at(i);
        image before = lay_out(&f);
        text models = digests(in_folder(STORE));
        efface_store *store = open_laid_out(&f, EFFACE_ACCESS_WRITE);
        check_all(store, &f, TODAY, false);
        assert_int_equal(sql_number(in_folder(STORE), "PRAGMA user_version"), TODAY);
        assert_int_equal(sql_number(in_folder(STORE), "SELECT count(*) FROM columns"),
                         f.names[0] != NULL ? N_COLUMNS : 0);
        text carried = digests(in_folder(STORE));
        assert_true(same(&models, &carried));
        check_leftovers(&f);
        forget_row(store, &f, 1);
        check_info(store, &f, TODAY);
        check_whole(store);
        efface_store_close(store);
        store = open_laid_out(&f, EFFACE_ACCESS_READ);
        check_all(store, &f, TODAY, true);
        efface_store_close(store);
        check_leftovers(&f);
        free(before.bytes);
        free(models.bytes);
        free(carried.bytes);
    }
}

/* What a request says of the model pyramid, and of all others. */
static void check_reasons(efface_store *store, const efface_request *request, bool look,
                          bool again) {
    efface_store_report report;
    REQUIRE_OK((look ? efface_store_preview : efface_store_forget)(store, request, &report, error));
    for (size_t i = 0; i < report.n_models; i++) {
        const efface_model_report *const m = &report.models[i];
        const bool pyramid = strcmp(m->name, "pyramid") == 0;
        assert_int_equal(m->report.reason == ef_because_redefined, again && pyramid);
        if (again && pyramid)
            assert_int_equal(m->report.action, EFFACE_ACTION_REFITTED);
    }
    if (!look) {
        char *line = NULL;
        REQUIRE_OK(efface_store_receipt(store, report.receipt, &line, error));
        assert_int_equal(strstr(line, ef_because_redefined) != NULL, again);
        efface_text_free(line);
    }
    efface_store_report_free(&report);
}

/* The model pyramid without its rows is that with them, which is fitted again if it is old. */
static void check_model_without_rows(efface_store *store) {
    efface_data *data = NULL;
    efface_model *hot = NULL, *cold = NULL;
    unsigned char digests_of[2][EFFACE_DIGEST_BYTES];
    const uint64_t id = 1;
    const efface_request request = {.ids = &id, .n_ids = 1};
    REQUIRE_OK(efface_store_load(store, "pyramid", &data, &hot, error));
    REQUIRE_OK(efface_store_model(store, "pyramid", &cold, error));
    REQUIRE_OK(efface_model_digest(hot, digests_of[0], error));
    REQUIRE_OK(efface_model_digest(cold, digests_of[1], error));
    assert_memory_equal(digests_of[0], digests_of[1], EFFACE_DIGEST_BYTES);
    assert_int_equal(efface_model_forget(cold, data, &request, NULL, NULL), EFFACE_E_ARGUMENT);
    efface_model_free(hot);
    efface_model_free(cold);
    efface_data_free(data);
}

/* A model of pyramid from before its sample was drawn by importance: it is fitted again with the
 * first request that writes, whose receipt says so, and that is all. */
static void fit_an_old_pyramid_again(uint32_t format, bool resident) {
    fixture f = people_fixture(format);
    image before = lay_out(&f);
    efface_store *store = NULL;
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.resident = resident;
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    efface_request request = {.ids = &f.rows[0].row.id, .n_ids = 1};
    check_model_without_rows(store);
    efface_difference difference;
    REQUIRE_OK(efface_store_verify(store, "pyramid", &difference, error));
    assert_false(difference.identical); /* to a fit of today */
    assert_string_equal(difference.what, "method");
    REQUIRE_OK(efface_store_verify(store, "lloyd", &difference, error));
    assert_true(difference.identical);
    check_reasons(store, &request, true, true);
    check_reasons(store, &request, false, true);
    REQUIRE_OK(efface_store_verify(store, "pyramid", &difference, error));
    assert_true(difference.identical);
    request.ids = &f.rows[1].row.id;
    check_reasons(store, &request, false, false);
    check_whole(store);
    check_model_without_rows(store);
    efface_data *data = NULL;
    efface_model *model = NULL;
    REQUIRE_OK(efface_store_load(store, "pyramid", &data, &model, error));
    efface_stored_model kept;
    unsigned char digest[EFFACE_DIGEST_BYTES];
    REQUIRE_OK(efface_store_find_model(store, "pyramid", &kept, error));
    REQUIRE_OK(efface_model_digest(model, digest, error));
    assert_memory_equal(kept.digest, digest, sizeof digest);
    efface_model_free(model);
    efface_data_free(data);
    efface_store_close(store);
    free(before.bytes);
}

static void an_old_pyramid_is_fitted_again(void **state) {
    (void)state;
    for (uint32_t format = 1; format <= 2; format++) {
        fit_an_old_pyramid_again(format, false);
        fit_an_old_pyramid_again(format, true);
    }
}

/* Where rows have owners, owner 0 is one of them: a request finds its rows. Where none has, no
 * request by owner finds any. */
static void owner_zero(void **state) {
    (void)state;
    const uint64_t zero = 0;
    const efface_request request = {.owners = &zero, .n_owners = 1};
    fixture f = plain_fixture();
    image before = lay_out(&f);
    efface_store *store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    assert_int_equal(efface_store_forget(store, &request, NULL, NULL), EFFACE_E_NOT_FOUND);
    efface_store_close(store);
    free(before.bytes);
    f = people_fixture(1);
    before = lay_out(&f);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    efface_store_report report;
    REQUIRE_OK(efface_store_forget(store, &request, &report, error));
    assert_int_equal(report.n_forgotten, 3);
    efface_store_report_free(&report);
    assert_int_equal(info_of(store).n_owners, 6);
    const uint64_t doctor = id_of("dr-d");
    const efface_request by_text = {.owners = &doctor, .n_owners = 1};
    REQUIRE_OK(efface_store_forget(store, &by_text, &report, error));
    assert_int_equal(report.n_forgotten, 8);
    efface_store_report_free(&report);
    check_whole(store);
    efface_store_close(store);
    free(before.bytes);
}

/* Signatures of old receipts hold, and new ones join them. */
static void sign_on(fixture f, uint64_t first_signed, uint64_t first_with_root) {
    const unsigned char seed[crypto_sign_SEEDBYTES] = "a seed for keys in tests, fixed";
    unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES], secret_key[EFFACE_SECRET_KEY_BYTES];
    assert_int_equal(crypto_sign_seed_keypair(public_key, secret_key, seed), 0);
    image before = lay_out(&f);
    efface_store *store = NULL;
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.secret_key = secret_key;
    options.receipt_key = f.key_outside ? receipt_key : NULL;
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    for (size_t i = 0; i < 2; i++)
        forget_row(store, &f, i);
    check_chain(store);
    for (uint64_t number = 1; number <= f.n_receipts; number++) {
        char *json = NULL;
        REQUIRE_OK(efface_store_receipt(store, number, &json, error));
        assert_int_equal(efface_receipt_verify(json, public_key, NULL),
                         number < first_signed ? EFFACE_E_ARGUMENT : EFFACE_OK);
        assert_int_equal(strstr(json, ",\"root\":\"") != NULL, number >= first_with_root);
        efface_text_free(json);
    }
    check_whole(store);
    efface_store_close(store);
    free(before.bytes);
}

static void receipts_go_on(void **state) {
    (void)state;
    sign_on(people_fixture(1), 3, 6);
    sign_on(texts_fixture(), 2, 1);
}

/* ---------------------------------------------------------------- damage of format 2 */

static void count_problem(void *context, const char *problem) {
    (void)problem;
    ++*(unsigned *)context;
}

/* What a store of format 2 could tell of its damage is told of what was made from it. */
static void damage_stays_damage(void **state) {
    (void)state;
    static const char *const damages[] = {
        "UPDATE models SET counts = zeroblob(length(counts)) WHERE name = 'lloyd'",
        "UPDATE models SET params = CAST(params AS TEXT) WHERE name = 'lloyd'",
        "UPDATE models SET seal = zeroblob(16) WHERE name = 'lloyd'",
        "UPDATE models SET seal = zeroblob(15) WHERE name = 'lloyd'",
        "UPDATE models SET digest = zeroblob(32) WHERE name = 'lloyd'",
        "UPDATE models SET state = zeroblob(length(state)) WHERE name = 'lloyd'",
        "UPDATE models SET state = x'' WHERE name = 'lloyd'",
        "DELETE FROM models WHERE name = 'lloyd'",
        "UPDATE models SET name = 'floyd' WHERE name = 'lloyd'",
    };
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        fixture f = numbers_fixture();
        image before = lay_out(&f);
        run_sql(in_folder(STORE), damages[i]);
        for (int writes = 0; writes < 2; writes++) {
            unsigned n = 0;
            efface_store *const store =
                open_laid_out(&f, writes ? EFFACE_ACCESS_WRITE : EFFACE_ACCESS_READ);
            REQUIRE_OK(efface_store_check(store, count_problem, &n, error));
            if (n == 0)
                fail_msg("%s: a check finds nothing", damages[i]);
            const efface_request request = {.ids = &f.rows[0].row.id, .n_ids = 1};
            if (writes)
                assert_int_equal(efface_store_forget(store, &request, NULL, NULL),
                                 EFFACE_E_CORRUPT);
            efface_store_close(store);
        }
        free(before.bytes);
    }
}

/* Tables, views and triggers of others keep a store from being carried over. */
static void what_is_not_ours_stays_out(void **state) {
    (void)state;
    static const char *const others[] = {
        "CREATE TABLE states(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
        "CREATE TABLE notes(x)",
        "CREATE VIEW look AS SELECT name, state FROM models",
        "CREATE TRIGGER spy AFTER DELETE ON models BEGIN UPDATE facts SET value = x''; END",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        fixture f = numbers_fixture();
        image before = lay_out(&f);
        run_sql(in_folder(STORE), others[i]);
        image with = read_image(in_folder(STORE));
        efface_store *store = NULL;
        const efface_status status = open_fixture(&f, EFFACE_ACCESS_WRITE, &store, NULL);
        assert_int_equal(status, EFFACE_E_CORRUPT);
        image after = read_image(in_folder(STORE));
        check_same_image(&with, &after);
        if (i != 0) {
            unsigned n = 0;
            store = open_laid_out(&f, EFFACE_ACCESS_READ);
            REQUIRE_OK(efface_store_check(store, count_problem, &n, error));
            assert_true(n != 0);
            efface_store_close(store);
        }
        free(before.bytes);
        free(with.bytes);
        free(after.bytes);
    }
}

/* ---------------------------------------------------------------- it fails in the middle */

/* All that is in a store of an older format. */
static text describe_old(const char *path) {
    const bool has_buckets = sql_number(path, "PRAGMA user_version") == 2;
    text t = digests(path);
    sqlite3 *const db = open_sql(path);
    add_query(&t, db, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name");
    add_query(&t, db, "SELECT * FROM facts ORDER BY name");
    add_query(&t, db, "SELECT * FROM columns ORDER BY number");
    add_query(&t, db, "SELECT * FROM rows ORDER BY id");
    add_query(&t, db, "SELECT * FROM receipts ORDER BY number");
    if (has_buckets) {
        add_query(&t, db, "SELECT name, seal FROM models ORDER BY name");
        add_query(&t, db, "SELECT * FROM buckets ORDER BY number");
        add_query(&t, db, "SELECT * FROM groups ORDER BY bucket, number");
        add_query(&t, db, "SELECT * FROM group_buckets ORDER BY number");
    }
    (void)sqlite3_close(db);
    return t;
}

typedef enum trouble { TROUBLE_DISK, TROUBLE_POWER, TROUBLE_MEMORY, TROUBLES } trouble;

/* Opens the store to write with the n-th operation or allocation in trouble. Whether there was one,
 * and whether opening failed. */
static bool try_to_carry_over(const fixture *f, const image *before, trouble kind, long n,
                              bool *failed) {
    efface_store *store = NULL;
    efface_error error = {.message = ""};
    disk_clear();
    disk_put(STORE, before->bytes, before->n_bytes);
    disk_use();
    has_failed = false;
    if (kind == TROUBLE_DISK)
        disk_arm(DISK_FAILS, DISK_CHANGE | DISK_READ, n, 1);
    else if (kind == TROUBLE_POWER)
        disk_arm(DISK_POWER, DISK_CHANGE, n, (uint64_t)n);
    else
        allocations_left = n;
    const efface_status status = open_fixture(f, EFFACE_ACCESS_WRITE, &store, &error);
    allocations_left = 0;
    const bool met = kind != TROUBLE_MEMORY ? disk_disarm(NULL) : has_failed;
    efface_store_close(store);
    disk_reboot();
    empty_folder();
    assert_true(disk_save(folder));
    disk_leave();
    *failed = status != EFFACE_OK;
    if (*failed && (!met || (kind == TROUBLE_MEMORY && status != EFFACE_E_MEMORY)))
        fail_msg("trouble %d, %ld: status %d, %s", (int)kind, n, (int)status, error.message);
    return met;
}

/* After an error all is as it was; after a power loss, all of it or nothing. */
static void failures_leave_it_as_it_was(void **state) {
    (void)state;
    unsigned n_failed = 0, n_new = 0;
    for (int i = 0; i < N_FIXTURES; i++) {
        fixture f = fixture_at(i);
        image before = lay_out(&f);
        text old = describe_old(in_folder(STORE));
        for (int kind = 0; kind < TROUBLES; kind++) {
            /* Every one of the smallest store; of the others some, never the same. */
            const long step = i == 1 && kind != TROUBLE_MEMORY ? 1
                              : kind == TROUBLE_MEMORY         ? (f.format == 1 ? 23 : 13)
                                                               : 7;
            bool met = true, failed = false;
            for (long n = 1; met; n += step) {
                met = try_to_carry_over(&f, &before, (trouble)kind, n, &failed);
                const bool is_new = sql_number(in_folder(STORE), "PRAGMA user_version") == TODAY;
                if (failed) {
                    n_failed++;
                    n_new += is_new;
                    assert_true(!is_new || kind == TROUBLE_POWER);
                }
                if (is_new) {
                    efface_store *const store = open_laid_out(&f, EFFACE_ACCESS_READ);
                    check_all(store, &f, TODAY, false);
                    efface_store_close(store);
                } else {
                    text found = describe_old(in_folder(STORE));
                    assert_true(same(&old, &found));
                    free(found.bytes);
                }
            }
            assert_false(failed);
        }
        free(before.bytes);
        free(old.bytes);
    }
    print_message("%u times it could not be carried over, %u times it was and the power went\n",
                  n_failed - n_new, n_new);
    assert_true(n_failed > 100);
    disk_clear();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_read_nothing_changes),
        cmocka_unit_test(to_write_it_becomes_one_of_today),
        cmocka_unit_test(an_old_pyramid_is_fitted_again),
        cmocka_unit_test(owner_zero),
        cmocka_unit_test(receipts_go_on),
        cmocka_unit_test(damage_stays_damage),
        cmocka_unit_test(what_is_not_ours_stays_out),
        cmocka_unit_test(failures_leave_it_as_it_was),
    };
    return wrap_sqlite_memory() == 0 && sodium_init() >= 0
               ? cmocka_run_group_tests(tests, begin_folder, end_folder)
               : 1;
}
