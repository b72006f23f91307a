/*
 * Requests one by one, requests together (efface_store_change_all), and requests together on a
 * handle whose rows and models stay in memory (options.resident): the same.
 *
 * Three copies of a random store, with models of random families (law/law_families.h), get the same
 * random requests: one by single calls, two by groups, of which the last has a resident handle.
 * Some requests must fail, some are about rows that another of their group forgets, brings or
 * changes. In between, another handle changes the stores, and models come, go and get other seeds.
 *
 *   - Each request has the same status, message, counts and rows in all three.
 *   - Rows, models, owners and labels are the same in all three, and every model is that of a fit.
 *   - The two with groups are the same in every table, receipts and seals included. The clock of
 *     this test stands still, and the copies share the keys of the first.
 *   - A resident handle loads rows again only where something happened behind its back, or a model
 *     refused a request (--wrap=ef_rows_load, tests/CMakeLists.txt).
 *
 * EFFACE_TEST_CASES sets the number of cases, EFFACE_TEST_SEED runs one.
 */
#define _XOPEN_SOURCE 700
#include "law/case_rows.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "store/rows/buckets.h"
#include "store/scenes/sql_scene.h"

#define FIRST_SEED UINT64_C(0x6e510000)
#define DEFAULT_CASES 55ul
#define MAX_MODELS 6
#define MAX_STEPS 7
#define MAX_CHANGES 6
#define MAX_IDS 5
#define N_OWNERS 5

time_t time(time_t *now) {
    if (now != NULL)
        *now = 1700000000;
    return 1700000000;
}

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
    unsigned long done, failed, groups, warm, looks, others, models, opened, not_found, doubled,
        limits, taken, all_failed;
} seen;

/* ---------------------------------------------------------------- three stores */

enum { SINGLY, GROUPED, RESIDENT, N_STORES };
static const char *const files[N_STORES] = {"singly.efface", "grouped.efface", "resident.efface"};

typedef struct scene {
    uint64_t seed;
    law_case c;
    uint32_t d, n_models;
    uint64_t owners[N_OWNERS];
    efface_store *stores[N_STORES];
    efface_data *rows;              /* that are there */
    uint64_t busy[3 * MAX_CHANGES]; /* ids that requests of the group under way are about */
    size_t n_busy;
    bool warm; /* the resident handle has rows and models */
} scene;

static efface_store *open_one(int which) {
    efface_store *store = NULL;
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.resident = which == RESIDENT;
    REQUIRE_OK(efface_store_open(in_folder(files[which]), &options, &store, error));
    return store;
}

static void load_rows(scene *s) {
    efface_data_free(s->rows);
    s->rows = NULL;
    REQUIRE_OK(efface_store_load(s->stores[SINGLY], NULL, &s->rows, NULL, error));
}

/* Fits a model with the same parameters in some stores. */
static void fit_in(scene *s, const char *name, int n_stores) {
    law_params params;
    uint32_t columns[LAW_MOST_COLUMNS];
    uint32_t n = s->d;
    const bool some = one_in(2);
    if (some) {
        n = 1 + (uint32_t)below(s->d);
        for (uint32_t j = 0; j < n; j++)
            columns[j] = (s->d - 1 - j) % s->d;
    }
    const law_family *const family = law_family_for(law_family_at(next()), n);
    law_rows rows = law_make_rows(s->c.rows.n, n);
    for (size_t i = 0; i < rows.n; i++) {
        for (uint32_t j = 0; j < n; j++)
            rows.values[i * n + j] = s->c.rows.values[i * s->d + (some ? columns[j] : j)];
        rows.weights[i] = s->c.rows.weights[i];
        rows.labels[i] = s->c.rows.labels[i];
    }
    family->draw(&params, &rows, one_in(2), &rng_state);
    law_free_rows(&rows);
    const efface_new_model asked = {.name = name,
                                    .params = &params.common,
                                    .columns = some ? columns : NULL,
                                    .n_columns = some ? n : 0};
    for (int i = 0; i < n_stores; i++)
        REQUIRE_OK(efface_store_fit(s->stores[i], &asked, NULL, error));
}

static void begin(scene *s, uint64_t seed) {
    *s = (scene){.seed = seed};
    const law_wish wish = {.seed = seed, .share = 100, .calm = seed % 2 == 0};
    law_draw_case(law_case_family_at(mix(seed)), &s->c, &wish, &rng_state);
    const law_rows *const rows = &s->c.rows;
    s->d = rows->d;
    for (int i = 0; i < N_OWNERS; i++)
        s->owners[i] = i == 0 ? EFFACE_NO_OWNER : next() >> (i % 2 == 0 ? 60 : 0);
    uint64_t *const owners = make(rows->n, sizeof *owners);
    for (size_t i = 0; i < rows->n; i++)
        owners[i] = s->owners[below(N_OWNERS)];
    const efface_rows all = {.n_rows = rows->n,
                             .values = rows->values,
                             .ids = rows->ids,
                             .weights = rows->weights,
                             .owners = owners,
                             .labels = rows->labels};
    efface_data *const data = make_data(s->d, &all);
    free(owners);
    REQUIRE_OK(create_plain(in_folder(files[SINGLY]), data, &s->stores[SINGLY], error));
    efface_data_free(data);
    s->n_models = one_in(10) ? 0 : 1 + (uint32_t)below(MAX_MODELS);
    for (uint32_t i = 0; i < s->n_models; i++) {
        char name[EFFACE_MODEL_NAME_BYTES];
        (void)snprintf(name, sizeof name, "model-%u", (unsigned)i);
        fit_in(s, name, 1);
    }
    efface_store_close(s->stores[SINGLY]);
    image file = read_image(in_folder(files[SINGLY]));
    for (int i = 0; i < N_STORES; i++) {
        write_image(in_folder(files[i]), file.bytes, file.n_bytes);
        s->stores[i] = open_one(i);
    }
    free(file.bytes);
}

static void end(scene *s) {
    for (int i = 0; i < N_STORES; i++)
        efface_store_close(s->stores[i]);
    efface_data_free(s->rows);
    law_free_rows(&s->c.rows);
    empty_folder();
}

/* ---------------------------------------------------------------- requests */

/* A request, and what it refers to. */
typedef struct asked {
    efface_change_kind kind;
    uint64_t ids[MAX_IDS], owners[2];
    efface_request request;
    efface_data *data;
} asked;

/* An id of a row that is there, of one that another request of the group is about, or of none. */
static uint64_t draw_id(scene *s) {
    const size_t n = efface_data_n_rows(s->rows);
    uint64_t id = next();
    if (s->n_busy != 0 && one_in(5))
        id = s->busy[below(s->n_busy)];
    else if (n != 0 && !one_in(25))
        id = efface_data_row(s->rows, (size_t)below(n)).id;
    if (s->n_busy < sizeof s->busy / sizeof s->busy[0])
        s->busy[s->n_busy++] = id;
    return id;
}

/* Rows with different ids. Values are those of the case, so that bounds hold, or at times others.
 */
static efface_data *draw_rows(scene *s, bool learns) {
    const size_t n = one_in(12) ? 0 : 1 + (size_t)below(3);
    float *const values = make(n * s->d, sizeof *values);
    uint64_t ids[3], owners[3];
    int64_t weights[3], labels[3];
    for (size_t i = 0; i < n; i++) {
        bool twice = true;
        while (twice) {
            ids[i] = learns && !one_in(4) ? next() : draw_id(s);
            twice = (i > 0 && ids[i] == ids[0]) || (i > 1 && ids[i] == ids[1]);
        }
        if (learns && s->n_busy < sizeof s->busy / sizeof s->busy[0])
            s->busy[s->n_busy++] = ids[i];
        for (uint32_t j = 0; j < s->d; j++)
            values[i * s->d + j] =
                s->c.rows.n != 0 ? s->c.rows.values[below(s->c.rows.n) * s->d + j] : unit();
        if (one_in(12))
            values[i * s->d] = plain_value(below(12), 0, 0);
        owners[i] = s->owners[below(N_OWNERS)];
        weights[i] = one_in(40) ? EFFACE_MAX_WEIGHT / 2 : 1 + (int64_t)below(4);
        labels[i] = one_in(4) ? EFFACE_NO_LABEL : (int64_t)below(7);
    }
    const bool all = learns || one_in(2);
    const efface_rows rows = {.n_rows = n,
                              .values = values,
                              .ids = ids,
                              .weights = all ? weights : NULL,
                              .owners = all ? owners : NULL,
                              .labels = all ? labels : NULL};
    efface_data *const data = make_data(s->d, &rows);
    free(values);
    return data;
}

static void draw_request(scene *s, asked *a) {
    *a = (asked){.kind = one_in(3)   ? EFFACE_CHANGE_LEARN
                         : one_in(4) ? EFFACE_CHANGE_UPDATE
                                     : EFFACE_CHANGE_FORGET};
    if (a->kind != EFFACE_CHANGE_FORGET) {
        a->data = draw_rows(s, a->kind == EFFACE_CHANGE_LEARN);
        return;
    }
    a->request = (efface_request){.ids = a->ids, .owners = a->owners};
    a->request.n_ids = (size_t)(one_in(4) ? below(MAX_IDS) : 1);
    a->request.n_owners = one_in(6) ? 1 + (size_t)below(2) : 0;
    a->request.missing = one_in(3) ? EFFACE_MISSING_SKIP : EFFACE_MISSING_FAIL;
    for (size_t i = 0; i < a->request.n_ids; i++)
        a->ids[i] = draw_id(s);
    for (size_t i = 0; i < a->request.n_owners; i++)
        a->owners[i] = s->owners[below(N_OWNERS)];
}

static void refer(const asked *a, efface_store_change *change) {
    *change = (efface_store_change){.kind = a->kind, .request = &a->request, .data = a->data};
}

static void do_singly(efface_store *store, efface_store_change *change) {
    efface_error *const error = &change->error;
    switch (change->kind) {
    case EFFACE_CHANGE_FORGET:
        change->status = efface_store_forget(store, change->request, &change->report, error);
        break;
    case EFFACE_CHANGE_LEARN:
        change->status = efface_store_learn(store, change->data, NULL, &change->report, error);
        break;
    case EFFACE_CHANGE_UPDATE:
        change->status = efface_store_update(store, change->data, NULL, &change->report, error);
        break;
    }
}

/* ---------------------------------------------------------------- what must be the same */

static void compare_requests(const scene *s, const efface_store_change *a,
                             const efface_store_change *b, size_t number) {
    const efface_store_report *const x = &a->report, *const y = &b->report;
    if (a->status != b->status)
        fail_msg("case 0x%" PRIx64 ", request %zu: status %d (%s) and %d (%s)", s->seed, number,
                 (int)a->status, a->error.message, (int)b->status, b->error.message);
    /* Of several models that refuse a value, the one that is asked first says so. */
    if (a->status != EFFACE_OK && (a->status != EFFACE_E_LIMIT || s->n_models < 2))
        assert_string_equal(a->error.message, b->error.message);
    assert_true(x->n_requested == y->n_requested && x->n_missing == y->n_missing &&
                x->n_forgotten == y->n_forgotten && x->n_learned == y->n_learned &&
                x->n_updated == y->n_updated && x->receipt == y->receipt);
    assert_true(x->n_models == y->n_models && x->n_row_hashes == y->n_row_hashes);
    if (x->n_row_hashes != 0)
        assert_memory_equal(x->row_hashes, y->row_hashes, x->n_row_hashes * EFFACE_ROW_HASH_BYTES);
    for (uint32_t i = 0; i < x->n_models; i++) {
        assert_string_equal(x->models[i].name, y->models[i].name);
        assert_true(x->models[i].family == y->models[i].family &&
                    x->models[i].report.rows_forgotten == y->models[i].report.rows_forgotten &&
                    x->models[i].report.rows_learned == y->models[i].report.rows_learned);
    }
}

/* What models did, of two handles that did the same. */
static void compare_models(const scene *s, const efface_store_report *x,
                           const efface_store_report *y) {
    assert_int_equal(x->n_models, y->n_models);
    assert_true(x->group == y->group);
    for (uint32_t i = 0; i < x->n_models; i++) {
        const efface_model_report *const a = &x->models[i], *const b = &y->models[i];
        if (a->report.action != b->report.action ||
            strcmp(a->report.reason, b->report.reason) != 0 ||
            strcmp(a->report.where, b->report.where) != 0)
            fail_msg("case 0x%" PRIx64 ", %s: %d, %s, %s; resident: %d, %s, %s", s->seed, a->name,
                     (int)a->report.action, a->report.reason, a->report.where,
                     (int)b->report.action, b->report.reason, b->report.where);
    }
}

/* The commitments of a group are those from before its first request and from after its last, and
 * its number is that of its first receipt. */
static void check_group(const efface_store_change *singly, const efface_store_change *grouped,
                        size_t n) {
    const efface_store_report *first = NULL, *last = NULL;
    size_t n_done = 0;
    uint64_t number = 0;
    for (size_t i = 0; i < n; i++) {
        if (singly[i].status != EFFACE_OK)
            continue;
        number = n_done++ == 0 ? singly[i].report.receipt : number;
        if (singly[i].report.n_models == 0)
            continue;
        first = first != NULL ? first : &grouped[i].report;
        last = &grouped[i].report;
    }
    for (size_t i = 0; i < n; i++) {
        const efface_store_report *const r = &grouped[i].report;
        assert_true(r->group == (n_done > 1 && grouped[i].status == EFFACE_OK ? number : 0));
        for (uint32_t k = 0; k < r->n_models; k++) {
            assert_memory_equal(r->models[k].before, first->models[k].before, EFFACE_DIGEST_BYTES);
            assert_memory_equal(r->models[k].after, last->models[k].after, EFFACE_DIGEST_BYTES);
        }
    }
    seen.groups += n_done > 1;
    seen.all_failed += n_done == 0;
}

static text describe_tables(const char *path, bool with_receipts) {
    static const char *const tables[] = {
        "SELECT * FROM columns ORDER BY 1", "SELECT * FROM rows ORDER BY bucket, id",
        "SELECT * FROM buckets ORDER BY 1", "SELECT * FROM groups ORDER BY bucket, number",
        /* but for the salts, and seals of them */
        ("SELECT number, name, family, params, columns, counts, digest, parts, state FROM models"
         " ORDER BY 1"),
        "SELECT * FROM states ORDER BY 1", "SELECT * FROM group_buckets ORDER BY 1"};
    text t = {NULL, 0, 0};
    sqlite3 *const db = open_sql(path);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        add_query(&t, db, tables[i]);
    if (with_receipts) {
        add_query(&t, db, "SELECT * FROM facts WHERE name NOT IN ('head', 'seal') ORDER BY name");
        /* All but the sum of the seals of models and the digest of the last receipt. */
        add_query(&t, db,
                  "SELECT substr(value, 1, 248), substr(value, 265, 8) FROM facts"
                  " WHERE name = 'head'");
        add_query(&t, db, "SELECT * FROM receipts ORDER BY number");
    }
    (void)sqlite3_close(db);
    return t;
}

static void compare_files(const scene *s) {
    text t[N_STORES];
    for (int i = 0; i < N_STORES; i++)
        t[i] = describe_tables(in_folder(files[i]), false);
    if (!same(&t[SINGLY], &t[GROUPED]))
        fail_msg("case 0x%" PRIx64 ": requests together leave another store", s->seed);
    if (!same(&t[GROUPED], &t[RESIDENT]))
        fail_msg("case 0x%" PRIx64 ": a resident handle leaves another store", s->seed);
    for (int i = 0; i < N_STORES; i++)
        free(t[i].bytes);
    t[GROUPED] = describe_tables(in_folder(files[GROUPED]), true);
    t[RESIDENT] = describe_tables(in_folder(files[RESIDENT]), true);
    if (!same(&t[GROUPED], &t[RESIDENT]))
        fail_msg("case 0x%" PRIx64 ": a resident handle has other receipts", s->seed);
    free(t[GROUPED].bytes);
    free(t[RESIDENT].bytes);
}

/* ---------------------------------------------------------------- steps */

static void count_failure(const efface_store_change *change) {
    seen.failed += change->status != EFFACE_OK;
    seen.done += change->status == EFFACE_OK;
    seen.not_found += change->status == EFFACE_E_NOT_FOUND;
    seen.doubled += change->status == EFFACE_E_DUPLICATE;
    seen.limits += change->status == EFFACE_E_LIMIT;
    seen.taken += change->status == EFFACE_OK && change->report.n_missing != 0;
}

/* Whether a request may have failed after some models had followed it. */
static bool may_drop(efface_status status) {
    return status != EFFACE_OK && status != EFFACE_E_NOT_FOUND && status != EFFACE_E_DUPLICATE &&
           status != EFFACE_E_ARGUMENT;
}

/* The same requests to all three; the resident one perhaps through another handle. */
static void change_all(scene *s, efface_store *resident) {
    const size_t n = 1 + (size_t)below(MAX_CHANGES);
    asked requests[MAX_CHANGES];
    efface_store_change changes[N_STORES][MAX_CHANGES];
    s->n_busy = 0;
    load_rows(s);
    for (size_t i = 0; i < n; i++) {
        draw_request(s, &requests[i]);
        for (int k = 0; k < N_STORES; k++)
            refer(&requests[i], &changes[k][i]);
        do_singly(s->stores[SINGLY], &changes[SINGLY][i]);
    }
    REQUIRE_OK(efface_store_change_all(s->stores[GROUPED], changes[GROUPED], n, error));
    n_loads = 0;
    REQUIRE_OK(efface_store_change_all(resident, changes[RESIDENT], n, error));
    bool failed = false, followed = false;
    for (size_t i = 0; i < n; i++) {
        compare_requests(s, &changes[SINGLY][i], &changes[GROUPED][i], i);
        compare_requests(s, &changes[GROUPED][i], &changes[RESIDENT][i], i);
        compare_models(s, &changes[GROUPED][i].report, &changes[RESIDENT][i].report);
        count_failure(&changes[RESIDENT][i]);
        failed |= may_drop(changes[RESIDENT][i].status);
        followed |= changes[RESIDENT][i].report.n_models != 0;
    }
    check_group(changes[SINGLY], changes[GROUPED], n);
    if (resident == s->stores[RESIDENT]) {
        if (s->warm && !failed)
            assert_int_equal(n_loads, 0);
        seen.warm += s->warm && !failed && followed;
        s->warm = !failed && (s->warm || followed);
    }
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < N_STORES; k++)
            efface_store_report_free(&changes[k][i].report);
        efface_data_free(requests[i].data);
    }
}

/* Another handle, of another process say. */
static void change_behind(scene *s) {
    efface_store *const other = open_store(in_folder(files[RESIDENT]), EFFACE_ACCESS_WRITE);
    const uint64_t before = info_of(other).n_receipts;
    change_all(s, other);
    s->warm &= info_of(other).n_receipts == before;
    efface_store_close(other);
    seen.others++;
}

static void look(scene *s) {
    asked a = {.kind = EFFACE_CHANGE_FORGET};
    load_rows(s);
    s->n_busy = 0;
    a.request = (efface_request){.ids = a.ids, .n_ids = 3, .missing = EFFACE_MISSING_SKIP};
    for (size_t i = 0; i < 3; i++)
        a.ids[i] = draw_id(s);
    efface_store_report reports[N_STORES];
    for (int i = 0; i < N_STORES; i++) {
        n_loads = 0;
        REQUIRE_OK(efface_store_preview(s->stores[i], &a.request, &reports[i], error));
    }
    assert_true(!s->warm || n_loads == 0);
    s->warm |= reports[RESIDENT].n_models != 0;
    compare_models(s, &reports[SINGLY], &reports[RESIDENT]);
    compare_models(s, &reports[GROUPED], &reports[RESIDENT]);
    for (int i = 0; i < N_STORES; i++)
        efface_store_report_free(&reports[i]);
    seen.looks++;
}

/* Models come, go or get other seeds; or the file is rewritten. */
static void change_models(scene *s) {
    const uint64_t seed = next(), what = below(s->n_models != 0 ? 4 : 2);
    char name[EFFACE_MODEL_NAME_BYTES];
    (void)snprintf(name, sizeof name, "model-%u", (unsigned)(s->n_models - (what == 2)));
    for (int i = 0; i < N_STORES; i++) {
        if (what == 0)
            REQUIRE_OK(efface_store_compact(s->stores[i], error));
        else if (what == 2)
            REQUIRE_OK(efface_store_drop(s->stores[i], name, error));
        else if (what == 3)
            REQUIRE_OK(efface_store_rekey(s->stores[i], NULL, seed, error));
    }
    if (what == 1 && s->n_models < 2 * MAX_MODELS) {
        fit_in(s, name, N_STORES);
        s->n_models++;
    }
    s->n_models -= what == 2;
    s->warm &= what == 0;
    seen.models++;
}

static uint64_t under_way; /* the seed of a case, until it has ended */

static void run_case(uint64_t seed) {
    scene s;
    under_way = seed;
    rng_state = mix(seed);
    begin(&s, seed);
    const uint64_t n_steps = 2 + below(MAX_STEPS);
    for (uint64_t step = 0; step < n_steps; step++) {
        if (one_in(6))
            change_behind(&s);
        else if (one_in(6))
            change_models(&s);
        else if (one_in(6))
            look(&s);
        else
            change_all(&s, s.stores[RESIDENT]);
        if (one_in(10)) {
            efface_store_close(s.stores[RESIDENT]);
            s.stores[RESIDENT] = open_one(RESIDENT);
            s.warm = false;
            seen.opened++;
        }
        compare_files(&s);
    }
    check_whole(s.stores[RESIDENT]);
    end(&s);
    under_way = 0;
}

static int say_seed(void **state) {
    (void)state;
    if (under_way != 0)
        print_message("failed: EFFACE_TEST_SEED=0x%" PRIx64 "\n", under_way);
    return 0;
}

static void a_resident_handle_does_what_single_calls_do(void **state) {
    (void)state;
    const unsigned long n = run_cases(FIRST_SEED, DEFAULT_CASES, run_case);
    if (n == 0)
        return;
    print_message("done %lu, failed %lu (not found %lu, there already %lu, limits %lu), some "
                  "missing %lu, groups %lu, of failures only %lu, without loading %lu, looked %lu, "
                  "behind its back %lu, models %lu, opened again %lu\n",
                  seen.done, seen.failed, seen.not_found, seen.doubled, seen.limits, seen.taken,
                  seen.groups, seen.all_failed, seen.warm, seen.looks, seen.others, seen.models,
                  seen.opened);
    assert_true(seen.not_found != 0 && seen.doubled != 0 && seen.limits != 0 && seen.taken != 0);
    assert_true(seen.groups > n && seen.warm != 0 && seen.all_failed != 0);
    assert_true(seen.looks != 0 && seen.others != 0 && seen.models != 0 && seen.opened != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_resident_handle_does_what_single_calls_do, say_seed),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
