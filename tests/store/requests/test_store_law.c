/*
 * The law through the store: whatever the requests, every model of a store is, byte for byte, that
 * of a fit to the rows that should be there (store.c, invariants 3 and 4), and a store made from
 * scratch of these rows has the same models.
 *
 * Random requests over stores with several models of random families and parameters
 * (law/law_families.h): by ids and by owners, with repetitions and with some that are not there,
 * rows that come with and without ids, rows that change, and the store closed and opened in
 * between. What should be there is kept in a plain list.
 *
 * Which models need their rows is known from outside: those that their family says, and those of
 * which more than sums changed. The linker sends ef_rows_load through this test
 * (--wrap, tests/CMakeLists.txt), so that a model that loads its rows without need is an error too.
 * Every fourth store is open with rows and models that stay in memory: it loads rows once at most.
 *
 * EFFACE_TEST_CASES sets the number of cases, EFFACE_TEST_SEED runs one.
 */
#define _XOPEN_SOURCE 700
#include "law/case_rows.h"
#include "model/family.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "store/rows/buckets.h"
#include "store/scenes/store_scene.h"

#define FIRST_SEED UINT64_C(0x570e0000)
#define DEFAULT_CASES 160ul
#define MODELS_OF_FAMILY 4 /* at most, on average */
#define MAX_MODELS 20
#define MAX_KINDS 20
#define MAX_STEPS 7
#define MAX_BATCH 12

/* ---------------------------------------------------------------- how often rows were loaded */

static unsigned n_loads;

efface_status __real_ef_rows_load(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                                  efface_data **out, ef_bucket **buckets, efface_error *error);
efface_status __wrap_ef_rows_load(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                                  efface_data **out, ef_bucket **buckets, efface_error *error);

efface_status __wrap_ef_rows_load(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                                  efface_data **out, ef_bucket **buckets, efface_error *error) {
    n_loads++;
    return __real_ef_rows_load(store, columns, n_columns, out, buckets, error);
}

static struct {
    unsigned long kinds[MAX_MODELS][MAX_KINDS]; /* models, by family */
    unsigned long forgets, learns, updates, refused, looks, reopened, cold, hot, untouched,
        repaired, refitted, stale, emptied, some_columns, cold_learns;
} seen;

/* ---------------------------------------------------------------- what should be there */

typedef struct mirror_row {
    efface_row row;
    float *values;
} mirror_row;

typedef struct mirror_model {
    char name[EFFACE_MODEL_NAME_BYTES];
    const law_family *family;
    const law_params *params; /* of the case, or its own */
    law_params own;
    uint32_t *columns; /* or NULL */
    uint32_t n_columns;
} mirror_model;

typedef struct scene {
    uint64_t seed;
    bool calm;
    bool resident; /* rows and models stay in memory */
    law_case c;
    uint32_t d;
    mirror_row *rows;
    size_t n, capacity;
    uint64_t n_receipts;
    mirror_model models[MAX_MODELS]; /* in the order of names */
    uint32_t n_models;
    uint64_t owners[6];
    efface_store *store;
} scene;

static void mirror_add(scene *s, const efface_row *row, const float *values) {
    if (s->n == s->capacity) {
        s->capacity = 2 * s->capacity + 16;
        s->rows = realloc(s->rows, s->capacity * sizeof *s->rows);
        assert_non_null(s->rows);
    }
    mirror_row *const to = &s->rows[s->n++];
    to->row = *row;
    to->values = make(s->d, sizeof *values);
    memcpy(to->values, values, s->d * sizeof *values);
}

static void mirror_remove(scene *s, size_t at) {
    free(s->rows[at].values);
    s->rows[at] = s->rows[--s->n];
}

static int64_t mirror_weight(const scene *s) {
    int64_t total = 0;
    for (size_t i = 0; i < s->n; i++)
        total += s->rows[i].row.weight;
    return total;
}

static bool mirror_has(const scene *s, uint64_t id) {
    for (size_t i = 0; i < s->n; i++)
        if (s->rows[i].row.id == id)
            return true;
    return false;
}

/* Some columns of the rows, as a set, in another order than they came. */
static efface_data *mirror_data(const scene *s, const uint32_t *columns, uint32_t n_columns) {
    float *const values = make(s->n * n_columns, sizeof *values);
    uint64_t *const ids = make(s->n, sizeof *ids), *const owners = make(s->n, sizeof *owners);
    int64_t *const weights = make(s->n, sizeof *weights);
    int64_t *const labels = make(s->n, sizeof *labels);
    const size_t first = s->n != 0 ? (size_t)below(s->n) : 0;
    for (size_t k = 0; k < s->n; k++) {
        const mirror_row *const from = &s->rows[(first + k) % s->n];
        ids[k] = from->row.id;
        owners[k] = from->row.owner;
        weights[k] = from->row.weight;
        labels[k] = from->row.label;
        for (uint32_t j = 0; j < n_columns; j++)
            values[k * n_columns + j] = from->values[columns != NULL ? columns[j] : j];
    }
    const efface_rows rows = {s->n, values, 0, ids, weights, owners, labels, NULL};
    efface_data *const data = make_data(n_columns, &rows);
    free(values);
    free(ids);
    free(owners);
    free(weights);
    free(labels);
    return data;
}

/* ---------------------------------------------------------------- a case */

static void choose_columns(const scene *s, mirror_model *m) {
    m->n_columns = 1 + (uint32_t)below(s->d);
    m->columns = make(m->n_columns, sizeof *m->columns);
    const uint32_t from = (uint32_t)below(s->d);
    for (uint32_t j = 0; j < m->n_columns; j++)
        m->columns[j] = (from + s->d - j) % s->d;
    seen.some_columns++;
}

/* The values of a row in the columns of a model. */
static void take_columns(const mirror_model *m, const float *row, float *values) {
    for (uint32_t j = 0; j < m->n_columns; j++)
        values[j] = row[m->columns != NULL ? m->columns[j] : j];
}

/* Parameters for the rows of the case in the columns of a model. */
static void draw_parameters(const scene *s, mirror_model *m) {
    const law_rows *const all = &s->c.rows;
    law_rows rows = law_make_rows(all->n, m->n_columns);
    for (size_t i = 0; i < all->n; i++) {
        take_columns(m, all->values + i * s->d, rows.values + i * m->n_columns);
        rows.ids[i] = all->ids[i];
        rows.weights[i] = all->weights[i];
        rows.labels[i] = all->labels[i];
    }
    m->family->draw(&m->own, &rows, s->calm, &rng_state);
    law_free_rows(&rows);
}

static void count_kind(const mirror_model *m) {
    size_t f = 0;
    while (law_families[f] != m->family)
        f++;
    const unsigned kind = m->family->kind_of(m->params);
    assert_true(f < MAX_MODELS && kind < m->family->n_kinds && kind < MAX_KINDS);
    seen.kinds[f][kind]++;
}

/* The first model has the parameters that the rows were made for, the others those of another draw
 * over the same rows, or some columns of them. */
static void choose_model(scene *s, mirror_model *m, uint32_t number, const law_family *first) {
    (void)snprintf(m->name, sizeof m->name, "model-%02u", (unsigned)number);
    m->family = number == 0 ? first : law_family_at(next());
    m->n_columns = s->d;
    m->params = number == 0 ? &s->c.params : &m->own;
    if (number != 0 && one_in(2))
        choose_columns(s, m);
    m->family = law_family_for(m->family, m->n_columns);
    if (number != 0)
        draw_parameters(s, m);
    count_kind(m);
}

static void fit_models(const scene *s, efface_store *store) {
    for (uint32_t i = s->n_models; i > 0; i--) {
        const mirror_model *const m = &s->models[i - 1];
        const efface_new_model asked = {.name = m->name,
                                        .params = &m->params->common,
                                        .columns = m->columns,
                                        .n_columns = m->columns != NULL ? m->n_columns : 0};
        REQUIRE_OK(efface_store_fit(store, &asked, NULL, error));
    }
}

static void open_again(scene *s) {
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.resident = s->resident;
    efface_store_close(s->store);
    REQUIRE_OK(efface_store_open(in_folder("law.efface"), &options, &s->store, error));
}

static void begin(scene *s, uint64_t seed) {
    *s = (scene){.seed = seed, .calm = seed % 3 == 1, .resident = seed % 4 == 3};
    const law_wish wish = {.seed = seed, .share = 100, .calm = s->calm};
    const law_family *const first = law_case_family_at(mix(seed));
    law_draw_case(first, &s->c, &wish, &rng_state);
    const law_rows *const rows = &s->c.rows;
    s->d = rows->d;
    for (int i = 0; i < 6; i++)
        s->owners[i] = i == 0 ? 0 : i == 1 ? EFFACE_NO_OWNER : next();
    for (size_t i = 0; i < rows->n; i++) {
        const efface_row row = {.id = rows->ids[i],
                                .weight = rows->weights[i],
                                .owner = s->owners[below(6)],
                                .label = rows->labels[i]};
        mirror_add(s, &row, rows->values + i * s->d);
    }
    const uint64_t most = MODELS_OF_FAMILY * law_n_families;
    s->n_models = one_in(15) ? 0 : 1 + (uint32_t)below(most < MAX_MODELS ? most : MAX_MODELS);
    for (uint32_t i = 0; i < s->n_models; i++)
        choose_model(s, &s->models[i], i, first);
    efface_data *const data = mirror_data(s, NULL, s->d);
    REQUIRE_OK(create_plain(in_folder("law.efface"), data, &s->store, error));
    efface_data_free(data);
    fit_models(s, s->store);
    s->n_receipts = s->n_models;
    open_again(s);
}

static void end(scene *s) {
    efface_store_close(s->store);
    empty_folder();
    while (s->n != 0)
        mirror_remove(s, 0);
    free(s->rows);
    for (uint32_t i = 0; i < s->n_models; i++)
        free(s->models[i].columns);
    law_free_rows(&s->c.rows);
}

/* ---------------------------------------------------------------- what must hold */

static void check_rows(const scene *s) {
    efface_data *data = NULL;
    float *const values = make(s->d, sizeof *values);
    REQUIRE_OK(efface_store_load(s->store, NULL, &data, NULL, error));
    assert_int_equal(efface_data_n_rows(data), s->n);
    for (size_t i = 0; i < s->n; i++) {
        const efface_row *const expected = &s->rows[i].row;
        size_t position = 0;
        assert_int_equal(efface_data_find(data, expected->id, &position), EFFACE_OK);
        const efface_row row = efface_data_row(data, position);
        assert_true(row.owner == expected->owner && row.weight == expected->weight &&
                    row.label == expected->label);
        efface_data_values(data, position, values);
        for (uint32_t j = 0; j < s->d; j++) /* minus zero is stored as zero */
            assert_true(values[j] == s->rows[i].values[j]);
    }
    free(values);
    efface_data_free(data);
}

static void check_model(const scene *s, efface_store *store, const mirror_model *m) {
    efface_data *const data = mirror_data(s, m->columns, m->n_columns);
    efface_model *fresh = NULL;
    image expected = {NULL, 0}, found = encode_model(store, m->name);
    REQUIRE_OK(law_fit(data, m->params, &fresh, error));
    REQUIRE_OK(efface_model_encode(fresh, &expected.bytes, &expected.n_bytes, error));
    if (found.n_bytes != expected.n_bytes ||
        memcmp(found.bytes, expected.bytes, found.n_bytes) != 0) {
        char text[LAW_TEXT_BYTES] = "";
        law_difference(m->family, m->params, found.bytes, found.n_bytes, expected.bytes,
                       expected.n_bytes, text);
        fail_msg("case 0x%" PRIx64 " (%s): %s of %s is not that of a fresh fit: %s", s->seed,
                 s->c.rows.kind, m->name, m->family->name, text);
    }
    efface_bytes_free(expected.bytes);
    efface_bytes_free(found.bytes);
    efface_model_free(fresh);
    efface_data_free(data);
}

static void check_law(const scene *s) {
    const efface_store_info info = info_of(s->store);
    assert_int_equal(info.n_rows, s->n);
    assert_int_equal(info.n_columns, s->d);
    assert_int_equal(info.n_models, s->n_models);
    assert_int_equal(info.n_receipts, s->n_receipts);
    check_rows(s);
    for (uint32_t i = 0; i < s->n_models; i++) {
        check_model(s, s->store, &s->models[i]);
        efface_stored_model model;
        REQUIRE_OK(model_at(s->store, i, &model, error));
        assert_string_equal(model.name, s->models[i].name);
        assert_int_equal(model.family, s->models[i].family->number);
        assert_int_equal(model.n_columns, s->models[i].n_columns);
    }
    check_whole(s->store);
}

/* A store made of these rows now has the same models. */
static void check_from_scratch(const scene *s) {
    efface_store *store = NULL;
    efface_data *const data = mirror_data(s, NULL, s->d);
    REQUIRE_OK(create_plain(in_folder("scratch.efface"), data, &store, error));
    efface_data_free(data);
    fit_models(s, store);
    for (uint32_t i = 0; i < s->n_models; i++) {
        image a = encode_model(s->store, s->models[i].name);
        image b = encode_model(store, s->models[i].name);
        check_same_image(&a, &b);
        efface_bytes_free(a.bytes);
        efface_bytes_free(b.bytes);
    }
    efface_store_close(store);
    (void)unlink(in_folder("scratch.efface"));
    (void)unlink(in_folder("scratch.efface-journal"));
}

/* ---------------------------------------------------------------- which models need rows */

/* Whether the smallest or largest value of a column leaves with the rows that are marked. */
static bool loses_range(const scene *s, const mirror_model *m, const bool *leaves) {
    size_t n_left = 0;
    for (size_t i = 0; i < s->n; i++)
        n_left += !leaves[i];
    for (uint32_t j = 0; n_left != 0 && j < m->n_columns; j++) {
        const uint32_t c = m->columns != NULL ? m->columns[j] : j;
        float low = s->rows[0].values[c], high = low;
        bool has_low = false, has_high = false;
        for (size_t i = 0; i < s->n; i++) {
            low = s->rows[i].values[c] < low ? s->rows[i].values[c] : low;
            high = s->rows[i].values[c] > high ? s->rows[i].values[c] : high;
        }
        for (size_t i = 0; i < s->n; i++) {
            has_low |= !leaves[i] && s->rows[i].values[c] == low;
            has_high |= !leaves[i] && s->rows[i].values[c] == high;
        }
        if (!has_low || !has_high)
            return true;
    }
    return false;
}

/* Whether a model needs its rows for a change that only sums follow. */
static bool needs_rows(const mirror_model *m, bool range_lost) {
    return m->family->needs_rows != NULL ? m->family->needs_rows(m->params, range_lost)
                                         : range_lost;
}

/* Counts what a request did; `leaves` is NULL if rows came. */
static void check_loads(const scene *s, const bool *leaves, const efface_store_report *report,
                        unsigned loads) {
    unsigned expected = 0;
    for (uint32_t i = 0; i < report->n_models; i++) {
        const mirror_model *const m = &s->models[i];
        const efface_action action = report->models[i].report.action;
        const bool stale = leaves != NULL && loses_range(s, m, leaves);
        const bool hot = needs_rows(m, stale) || action != EFFACE_ACTION_ADJUSTED;
        assert_string_equal(report->models[i].name, m->name);
        expected += hot;
        seen.hot += hot;
        seen.cold += !hot;
        seen.cold_learns += !hot && leaves == NULL;
        seen.stale += stale;
        seen.untouched += action == EFFACE_ACTION_ADJUSTED;
        seen.repaired += action == EFFACE_ACTION_REPAIRED;
        seen.refitted += action == EFFACE_ACTION_REFITTED;
    }
    /* All that need rows share them. */
    if (s->resident ? loads > 1 : loads != (expected != 0))
        fail_msg("case 0x%" PRIx64 ": rows were loaded %u times for %u models", s->seed, loads,
                 expected);
}

/* ---------------------------------------------------------------- forget */

typedef struct wish {
    uint64_t ids[MAX_BATCH], owners[MAX_BATCH];
    efface_request request;
    bool *leaves;
    size_t n_leave, n_missing;
} wish;

static void make_wish(scene *s, wish *w) {
    *w = (wish){.leaves = make(s->n, sizeof *w->leaves)};
    const bool some_missing = one_in(6);
    w->request = (efface_request){.ids = w->ids, .owners = w->owners};
    w->request.n_ids = (size_t)(one_in(4) ? below(MAX_BATCH) : below(3));
    w->request.n_owners = one_in(5) ? 1 + (size_t)below(2) : 0;
    w->request.missing = one_in(2) ? EFFACE_MISSING_SKIP : EFFACE_MISSING_FAIL;
    for (size_t i = 0; i < w->request.n_ids; i++) {
        w->ids[i] = s->n == 0 || (some_missing && one_in(3)) ? next()
                    : i > 0 && one_in(6)                     ? w->ids[i - 1]
                                                             : s->rows[below(s->n)].row.id;
        bool any = false;
        for (size_t k = 0; k < s->n; k++)
            if (s->rows[k].row.id == w->ids[i])
                any = w->leaves[k] = true;
        w->n_missing += !any;
    }
    for (size_t i = 0; i < w->request.n_owners; i++) {
        const uint64_t who = s->owners[below(6)];
        w->owners[i] = (some_missing && one_in(3)) || who == EFFACE_NO_OWNER ? next() : who;
        bool any = false;
        for (size_t k = 0; k < s->n; k++)
            if (s->rows[k].row.owner == w->owners[i])
                any = w->leaves[k] = true;
        w->n_missing += !any;
    }
    for (size_t k = 0; k < s->n; k++)
        w->n_leave += w->leaves[k];
}

/* A look changes no byte of the file, and needs rows only where sums alone would need them. */
static void look(scene *s, wish *w, efface_store_report *report) {
    image before = read_image(in_folder("law.efface"));
    image journal_before = read_image(in_folder("law.efface-journal"));
    unsigned expected = 0;
    for (uint32_t i = 0; w->n_leave != 0 && i < s->n_models; i++)
        expected += needs_rows(&s->models[i], loses_range(s, &s->models[i], w->leaves));
    n_loads = 0;
    REQUIRE_OK(efface_store_preview(s->store, &w->request, report, error));
    assert_true(s->resident ? n_loads <= 1 : n_loads == (expected != 0));
    image after = read_image(in_folder("law.efface"));
    image journal_after = read_image(in_folder("law.efface-journal"));
    check_same_image(&before, &after);
    check_same_image(&journal_before, &journal_after);
    free(before.bytes);
    free(after.bytes);
    free(journal_before.bytes);
    free(journal_after.bytes);
    assert_int_equal(report->receipt, 0);
    assert_int_equal(report->n_forgotten, w->n_leave);
    seen.looks++;
}

static void check_look(const scene *s, const efface_store_report *look,
                       const efface_store_report *done) {
    assert_int_equal(look->n_models, done->n_models);
    for (uint32_t i = 0; i < done->n_models; i++) {
        const efface_report *const a = &look->models[i].report, *const b = &done->models[i].report;
        if (a->action != b->action || a->reason != ef_reason_told(b->reason, true) ||
            strcmp(a->where, b->where) != 0)
            fail_msg("case 0x%" PRIx64 ", %s: looked %d, %s, %s; done %d, %s, %s", s->seed,
                     s->models[i].name, (int)a->action, a->reason, a->where, (int)b->action,
                     b->reason, b->where);
        assert_memory_equal(look->models[i].before, done->models[i].before, EFFACE_DIGEST_BYTES);
        assert_memory_equal(look->models[i].after, look->models[i].before, EFFACE_DIGEST_BYTES);
    }
}

static void forget(scene *s) {
    wish w;
    make_wish(s, &w);
    efface_store_report looked = {0}, report = {0};
    efface_error error;
    const bool refused = w.n_missing != 0 && w.request.missing == EFFACE_MISSING_FAIL;
    const bool looks = !refused && one_in(2);
    if (looks)
        look(s, &w, &looked);
    image before = {NULL, 0};
    if (refused)
        before = read_image(in_folder("law.efface"));
    n_loads = 0;
    const efface_status status = efface_store_forget(s->store, &w.request, &report, &error);
    const unsigned loads = n_loads;
    if (refused) {
        assert_int_equal(status, EFFACE_E_NOT_FOUND);
        image after = read_image(in_folder("law.efface"));
        check_same_image(&before, &after);
        free(after.bytes);
        seen.refused++;
    } else {
        if (status != EFFACE_OK)
            fail_msg("case 0x%" PRIx64 ": %s", s->seed, error.message);
        s->n_receipts++;
        assert_int_equal(report.receipt, s->n_receipts);
        assert_int_equal(report.n_requested, w.request.n_ids + w.request.n_owners);
        assert_int_equal(report.n_missing, w.n_missing);
        assert_int_equal(report.n_forgotten, w.n_leave);
        assert_int_equal(report.n_models, w.n_leave != 0 ? s->n_models : 0);
        check_loads(s, w.leaves, &report, loads);
        if (looks)
            check_look(s, &looked, &report);
        for (size_t k = s->n; k > 0; k--)
            if (w.leaves[k - 1])
                mirror_remove(s, k - 1);
        seen.forgets++;
        seen.emptied += s->n == 0;
    }
    free(before.bytes);
    efface_store_report_free(&looked);
    efface_store_report_free(&report);
    free(w.leaves);
}

/* ---------------------------------------------------------------- learn */

/* Values from here and there in the rows that the case began with, so that bounds hold; at times
 * one of its own. */
static void make_values(const scene *s, float *values) {
    for (uint32_t j = 0; j < s->d; j++)
        values[j] = s->c.rows.n != 0 ? s->c.rows.values[below(s->c.rows.n) * s->d + j] : unit();
    if (one_in(8)) {
        const uint64_t column = below(s->d);
        values[column] = plain_value(below(12), 0, (uint32_t)column);
    }
}

/* Whether a bound that was given for a model keeps a row out. */
static bool is_outside(const mirror_model *m, const float *row) {
    float values[LAW_MOST_COLUMNS];
    take_columns(m, row, values);
    return !law_allows(m->family, m->params, values, m->n_columns);
}

static void learn(scene *s) {
    const size_t n = (size_t)(one_in(12) ? 0 : one_in(4) ? below(MAX_BATCH) : 1 + below(2));
    const int64_t heavy = one_in(20) ? EFFACE_MAX_WEIGHT / (MAX_BATCH + 1) : 5;
    float *const values = make(n * s->d, sizeof *values);
    uint64_t ids[MAX_BATCH], owners[MAX_BATCH];
    int64_t weights[MAX_BATCH], total = 0;
    int64_t labels[MAX_BATCH];
    const int id_kind = (int)below(4); /* none; anew; small ones from 0 on; one of those there */
    bool doubled = false, outside = false;
    for (size_t i = 0; i < n; i++) {
        make_values(s, values + i * s->d);
        ids[i] = id_kind == 2 ? i : next();
        if (id_kind == 3 && i == n / 2 && s->n != 0)
            ids[i] = s->rows[below(s->n)].row.id;
        doubled |= id_kind != 0 && mirror_has(s, ids[i]);
        owners[i] = s->owners[below(6)];
        weights[i] = 1 + (int64_t)below((uint64_t)heavy);
        total += weights[i];
        labels[i] = (int64_t)below(9);
        for (uint32_t k = 0; k < s->n_models; k++)
            outside |= is_outside(&s->models[k], values + i * s->d);
    }
    const efface_rows rows = {n,       values, 0,      id_kind != 0 ? ids : NULL,
                              weights, owners, labels, NULL};
    efface_data *const data = make_data(s->d, &rows);
    efface_store_report report = {0};
    efface_error error;
    const bool heavier = n != 0 && total >= EFFACE_MAX_WEIGHT - mirror_weight(s);
    n_loads = 0;
    const efface_status status = efface_store_learn(s->store, data, NULL, &report, &error);
    const unsigned loads = n_loads;
    efface_data_free(data);
    if (doubled || outside || heavier) {
        const bool ok = (doubled && status == EFFACE_E_DUPLICATE) ||
                        ((outside || heavier) && status == EFFACE_E_LIMIT);
        if (!ok)
            fail_msg("case 0x%" PRIx64 ": status %d to rows that cannot be learned%s%s%s", s->seed,
                     (int)status, doubled ? ", there already" : "",
                     outside ? ", out of bounds" : "", heavier ? ", too heavy" : "");
        seen.refused++;
    } else {
        if (status != EFFACE_OK)
            fail_msg("case 0x%" PRIx64 ": %s", s->seed, error.message);
        check_loads(s, NULL, &report, loads);
        assert_int_equal(report.n_learned, n);
        assert_int_equal(report.receipt, ++s->n_receipts);
        for (size_t i = 0; i < n; i++) {
            const efface_row row = {id_kind != 0 ? ids[i] : report.new_ids[i], weights[i],
                                    owners[i], labels[i], 0};
            mirror_add(s, &row, values + i * s->d);
        }
        seen.learns++;
    }
    efface_store_report_free(&report);
    free(values);
}

/* ---------------------------------------------------------------- update */

/* Rows that are there, each once, get other values and, if these are given, weights, owners and
 * labels; at times one of them is not there. */
static void update(scene *s) {
    size_t n = (size_t)(one_in(4) ? below(MAX_BATCH) : 1 + below(2));
    n = n < s->n ? n : s->n;
    float *const values = make(n * s->d, sizeof *values);
    uint64_t ids[MAX_BATCH], owners[MAX_BATCH];
    int64_t weights[MAX_BATCH], labels[MAX_BATCH], more = 0;
    const bool weighs = one_in(2), owns = one_in(2), labelled = one_in(2);
    const bool missing = n != 0 && one_in(8);
    bool outside = false;
    const size_t first = s->n != 0 ? (size_t)below(s->n) : 0;
    for (size_t i = 0; i < n; i++) {
        const efface_row *const row = &s->rows[(first + i) % s->n].row;
        make_values(s, values + i * s->d);
        ids[i] = missing && i == n / 2 ? next() : row->id;
        owners[i] = s->owners[below(6)];
        weights[i] = 1 + (int64_t)below(4);
        labels[i] = one_in(4) ? EFFACE_NO_LABEL : (int64_t)below(9);
        more += weighs ? weights[i] - row->weight : 0;
        for (uint32_t k = 0; k < s->n_models; k++)
            outside |= is_outside(&s->models[k], values + i * s->d);
    }
    const efface_rows rows = {n,
                              values,
                              0,
                              ids,
                              weighs ? weights : NULL,
                              owns ? owners : NULL,
                              labelled ? labels : NULL,
                              NULL};
    efface_data *const data = make_data(s->d, &rows);
    efface_store_report report = {0};
    efface_error error;
    n_loads = 0;
    const efface_status status = efface_store_update(s->store, data, NULL, &report, &error);
    efface_data_free(data);
    assert_true(n_loads <= 1);
    if (missing || outside || more >= EFFACE_MAX_WEIGHT - mirror_weight(s)) {
        assert_true(status == (missing ? EFFACE_E_NOT_FOUND : EFFACE_E_LIMIT));
        seen.refused++;
    } else {
        if (status != EFFACE_OK)
            fail_msg("case 0x%" PRIx64 ": %s", s->seed, error.message);
        assert_true(report.n_updated == n && report.n_forgotten == 0 && report.n_learned == 0);
        assert_int_equal(report.receipt, ++s->n_receipts);
        for (size_t i = 0; i < n; i++) {
            mirror_row *const to = &s->rows[(first + i) % s->n];
            memcpy(to->values, values + i * s->d, s->d * sizeof *values);
            if (weighs)
                to->row.weight = weights[i];
            if (owns && owners[i] != EFFACE_NO_OWNER)
                to->row.owner = owners[i];
            if (labelled && labels[i] != EFFACE_NO_LABEL)
                to->row.label = labels[i];
        }
        seen.updates++;
    }
    efface_store_report_free(&report);
    free(values);
}

/* ---------------------------------------------------------------- cases */

static uint64_t under_way; /* the seed of a case, until it has ended */

static void run_case(uint64_t seed) {
    scene s;
    under_way = seed;
    begin(&s, seed);
    check_law(&s);
    const uint64_t n_steps = 1 + below(MAX_STEPS);
    for (uint64_t step = 0; step < n_steps; step++) {
        if (one_in(3))
            learn(&s);
        else if (one_in(3))
            update(&s);
        else
            forget(&s);
        if (one_in(3)) {
            open_again(&s);
            seen.reopened++;
        }
        check_law(&s);
    }
    check_from_scratch(&s);
    end(&s);
    under_way = 0;
}

static int say_seed(void **state) {
    (void)state;
    if (under_way != 0)
        print_message("failed: EFFACE_TEST_SEED=0x%" PRIx64 "\n", under_way);
    return 0;
}

static void a_store_is_what_a_fit_would_make_of_its_rows(void **state) {
    (void)state;
    const unsigned long n = run_cases(FIRST_SEED, DEFAULT_CASES, run_case);
    if (n == 0)
        return;
    for (size_t f = 0; f < law_n_families; f++) {
        print_message("%s:", law_families[f]->name);
        for (unsigned kind = 0; kind < law_families[f]->n_kinds; kind++)
            print_message(" %s %lu", law_families[f]->kind_names[kind], seen.kinds[f][kind]);
        print_message("; ");
    }
    print_message("of some columns %lu\n", seen.some_columns);
    print_message(
        "forgot %lu, learned %lu, updated %lu, refused %lu, looked %lu, opened again %lu, emptied "
        "%lu\n",
        seen.forgets, seen.learns, seen.updates, seen.refused, seen.looks, seen.reopened,
        seen.emptied);
    print_message("cold %lu (of them learning %lu), hot %lu (range lost %lu); untouched %lu, "
                  "repaired %lu, refitted %lu\n",
                  seen.cold, seen.cold_learns, seen.hot, seen.stale, seen.untouched, seen.repaired,
                  seen.refitted);
    for (size_t f = 0; f < law_n_families; f++)
        for (unsigned kind = 0; kind < law_families[f]->n_kinds; kind++)
            assert_true(seen.kinds[f][kind] * 20 > n);
    assert_true(seen.cold * 20 > seen.hot && seen.hot * 20 > seen.cold);
    assert_true(seen.cold_learns != 0 && seen.repaired != 0 && seen.refitted != 0);
    assert_true(seen.looks != 0 && seen.updates != 0 && seen.refused != 0 && seen.emptied != 0 &&
                seen.stale != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_store_is_what_a_fit_would_make_of_its_rows, say_seed),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
