/*
 * A model and its set know each other by a stamp, not by their looks: a request with another set,
 * or with one that was changed without the model, is refused, however alike the rows are, and then
 * nothing has changed. Calls that fail, or change nothing, leave model and set belonging together.
 */
#include "model/change_scene.h"

#include "base/workers/threads.h"
#include "model/kmeans/definition/tree.h"
#include "model/report_scene.h"

#define N_ROWS 30
#define N_METHODS 4

static const efface_method methods[N_METHODS] = {EFFACE_METHOD_LLOYD, EFFACE_METHOD_QUANTIZED,
                                                 EFFACE_METHOD_PYRAMID, EFFACE_METHOD_TREE};

static float value_of(size_t row, uint32_t column) {
    return (float)(row % 3 * 20) + (float)(row * 7 % 11) * 0.25F + (float)column;
}

static efface_data *make_set(void) {
    float values[2 * N_ROWS];
    uint64_t owners[N_ROWS];
    for (size_t i = 0; i < N_ROWS; i++) {
        values[2 * i] = value_of(i, 0);
        values[2 * i + 1] = value_of(i, 1);
        owners[i] = 1 + i / 3;
    }
    const efface_rows rows = {.n_rows = N_ROWS, .values = values, .owners = owners};
    efface_data *data = NULL;
    assert_int_equal(efface_data_create(2, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    return data;
}

static pair make(int method) {
    pair p = {.data = make_set(), .params = params_of(methods[method], 3, 5)};
    p.params.pyramid.rate = 0.5;
    p.params.tree.width = 3;
    p.params.bound = 64.0;
    p.model = fit(p.data, &p.params);
    return p;
}

/* ---------------------------------------------------------------- requests */

/* In an order in which each finds its rows. */
enum { PREVIEW, UPDATE, FORGET, OWNER, LEARN, REKEY, N_CALLS };

/* One request to a model, with a set that may be its own. */
static efface_status ask(efface_model *model, efface_data *data, int call, efface_error *error) {
    const uint64_t id = 4;
    const float values[2] = {21.0F, 22.0F};
    const efface_rows known = {.n_rows = 1, .values = values, .ids = &id};
    const efface_rows fresh = {.n_rows = 1, .values = values};
    switch (call) {
    case FORGET:
        return efface_model_forget(model, data, &(efface_request){.ids = &id, .n_ids = 1}, NULL,
                                   error);
    case OWNER:
        return efface_model_forget(
            model, data, &(efface_request){.owners = (const uint64_t[]){6}, .n_owners = 1}, NULL,
            error);
    case LEARN: return efface_model_learn(model, data, &fresh, NULL, error);
    case UPDATE: return efface_model_update(model, data, &known, NULL, error);
    case PREVIEW:
        return efface_model_preview(model, data, &(efface_request){.ids = &id, .n_ids = 1}, NULL,
                                    error);
    default: return efface_model_rekey(model, data, 77, NULL, error);
    }
}

/* Every request with this set is refused, in these words, and changes nothing; empty ones too. */
static void refused(const pair *p, efface_data *data, const char *words) {
    const pair seen = {data, p->model, p->params};
    const sight before = look(&seen);
    const ef_stamp stamp = data->stamp;
    efface_error error;
    for (int call = 0; call < N_CALLS; call++) {
        assert_int_equal(ask(p->model, data, call, &error), EFFACE_E_ARGUMENT);
        if (strstr(error.message, words) == NULL || strstr(error.message, "; ") == NULL)
            fail_msg("'%s' is not in '%s'", words, error.message);
    }
    assert_int_equal(efface_model_forget(p->model, data, &(efface_request){.ids = NULL, .n_ids = 0},
                                         NULL, &error),
                     EFFACE_E_ARGUMENT);
    assert_true(ef_stamps_equal(stamp, data->stamp));
    check_same(&seen, &before);
}

/* Every request is done, one after the other; the law holds. */
static void accepted(pair *p) {
    efface_error error;
    for (int call = 0; call < N_CALLS; call++) {
        if (ask(p->model, p->data, call, &error) != EFFACE_OK)
            fail_msg("call %d: %s", call, error.message);
        if (call == REKEY)
            p->params.common.seed = 77;
        check_law(p);
        assert_true(ef_stamps_equal(p->model->stamp, p->data->stamp));
    }
}

/* ---------------------------------------------------------------- which set */

static void a_twin_is_refused(void **state) {
    (void)state;
    for (int m = 0; m < N_METHODS; m++) {
        pair p = make(m), twin = make(m);
        const sight before = look(&p);
        refused(&p, twin.data, "is not the set of the model");
        check_same(&p, &before);
        /* It has the right rows, so a state can be compared with a fit to it. */
        efface_difference difference;
        assert_int_equal(efface_model_verify(p.model, twin.data, &difference, NULL), EFFACE_OK);
        assert_true(difference.identical);
        accepted(&p);
        accepted(&twin);
        refused(&p, twin.data, "is not the set of the model");
        free_pair(&p);
        free_pair(&twin);
    }
}

/* A new set may lie where one that was released lay. */
static void a_number_is_never_given_twice(void **state) {
    (void)state;
    pair p = make(0);
    for (int i = 0; i < 20; i++) {
        efface_data_free(p.data);
        p.data = make_set();
        refused(&p, p.data, "is not the set of the model");
    }
    free_pair(&p);
}

static void make_many(void *context, unsigned worker, size_t first, size_t last) {
    efface_data **const sets = context;
    (void)worker;
    for (size_t i = first; i < last; i++)
        if (efface_data_create(1, &sets[i], NULL) != EFFACE_OK)
            sets[i] = NULL;
}

static int compare_sets(const void *a, const void *b) {
    const efface_data *const x = *(efface_data *const *)a, *const y = *(efface_data *const *)b;
    return (x->stamp.set > y->stamp.set) - (x->stamp.set < y->stamp.set);
}

static void threads_give_numbers_apart(void **state) {
    (void)state;
    enum { N = 2000 };
    static efface_data *sets[N];
    ef_pool *const pool = ef_pool_create(4);
    assert_non_null(pool);
    ef_pool_run(pool, N, 1, make_many, sets);
    ef_pool_free(pool);
    for (size_t i = 0; i < N; i++)
        assert_non_null(sets[i]);
    qsort(sets, N, sizeof *sets, compare_sets);
    assert_true(sets[0]->stamp.set != 0);
    for (size_t i = 1; i < N; i++)
        assert_true(sets[i - 1]->stamp.set < sets[i]->stamp.set);
    for (size_t i = 0; i < N; i++)
        efface_data_free(sets[i]);
}

static void a_decoded_model_belongs_to_the_set_it_was_decoded_with(void **state) {
    (void)state;
    for (int m = 0; m < N_METHODS; m++) {
        pair p = make(m), twin = make(m);
        unsigned char *bytes = NULL, *others = NULL;
        size_t n_bytes = 0, n_others = 0;
        assert_int_equal(efface_model_encode(p.model, &bytes, &n_bytes, NULL), EFFACE_OK);
        /* Which set it is of, the bytes do not tell. */
        assert_int_equal(efface_model_encode(twin.model, &others, &n_others, NULL), EFFACE_OK);
        assert_int_equal(n_bytes, n_others);
        assert_memory_equal(bytes, others, n_bytes);
        efface_model_free(twin.model);
        twin.model = NULL;
        assert_int_equal(
            efface_model_decode(bytes, n_bytes, &twin.params.common, twin.data, &twin.model, NULL),
            EFFACE_OK);
        refused(&twin, p.data, "is not the set of the model");
        accepted(&twin);
        efface_bytes_free(bytes);
        efface_bytes_free(others);
        free_pair(&p);
        free_pair(&twin);
    }
}

/* ---------------------------------------------------------------- changed without the model */

/* What can be done to a set that leaves it looking as it did, and what cannot. */
enum { AND_BACK, SAME_VALUES, LABELS, GROWN, SHRUNK, N_WAYS };

static void change_alone(efface_data *data, int way) {
    const uint64_t id = N_ROWS - 1, owner = 1 + (N_ROWS - 1) / 3;
    const int64_t label = EFFACE_NO_LABEL;
    const float values[2] = {value_of(id, 0), value_of(id, 1)};
    efface_rows rows = {.n_rows = 1, .values = values, .ids = &id, .owners = &owner};
    if (way == AND_BACK || way == SHRUNK)
        assert_int_equal(efface_data_remove(data, &id, 1, NULL), EFFACE_OK);
    if (way == SHRUNK)
        return;
    if (way == LABELS)
        rows.labels = &label;
    if (way == GROWN)
        rows.ids = NULL;
    assert_int_equal(way == SAME_VALUES || way == LABELS ? efface_data_replace(data, &rows, NULL)
                                                         : efface_data_add(data, &rows, NULL),
                     EFFACE_OK);
}

static void a_set_changed_without_its_model_is_refused(void **state) {
    (void)state;
    for (int m = 0; m < N_METHODS; m++)
        for (int way = 0; way < N_WAYS; way++) {
            pair p = make(m);
            const sight before = look(&p);
            change_alone(p.data, way);
            if (way != GROWN && way != SHRUNK)
                check_same(&p, &before);
            refused(&p, p.data, "changed without this model");
            efface_difference difference;
            assert_int_equal(efface_model_verify(p.model, p.data, &difference, NULL), EFFACE_OK);
            assert_int_equal(difference.identical, way != GROWN && way != SHRUNK);
            /* As the message says. */
            efface_model_free(p.model);
            p.model = fit(p.data, &p.params);
            accepted(&p);
            change_alone(p.data, GROWN);
            refused(&p, p.data, "changed without this model");
            free_pair(&p);
        }
}

/* ---------------------------------------------------------------- what leaves all as it was */

static int always(void *context) {
    (void)context;
    return 1;
}

/* The stamps of a set and its model. */
static void check_stamps(const pair *p, ef_stamp right) {
    assert_true(ef_stamps_equal(p->data->stamp, right));
    assert_true(ef_stamps_equal(p->model->stamp, right));
}

static void calls_that_change_nothing_keep_both_together(void **state) {
    (void)state;
    const uint64_t known = 4, unknown = 999;
    const float values[4] = {1.0F, 2.0F, 1000.0F, 2.0F}; /* the second is out of bounds */
    const efface_rows none = {0}, twice = {.n_rows = 1, .values = values, .ids = &known};
    const efface_rows absent = {.n_rows = 1, .values = values, .ids = &unknown};
    const efface_rows outside = {.n_rows = 2, .values = values};
    const efface_rows moved = {.n_rows = 1, .values = values + 2, .ids = &known};
    for (int m = 0; m < N_METHODS; m++) {
        pair p = make(m);
        const ef_stamp stamp = p.data->stamp;
        efface_data *const data = p.data;
        assert_int_equal(efface_data_add(data, &none, NULL), EFFACE_OK);
        assert_int_equal(efface_data_remove(data, NULL, 0, NULL), EFFACE_OK);
        assert_int_equal(efface_data_replace(data, &none, NULL), EFFACE_OK);
        assert_int_equal(efface_data_add(data, &twice, NULL), EFFACE_E_DUPLICATE);
        assert_int_equal(efface_data_remove(data, &unknown, 1, NULL), EFFACE_E_NOT_FOUND);
        assert_int_equal(efface_data_replace(data, &absent, NULL), EFFACE_E_NOT_FOUND);
        check_stamps(&p, stamp);
        assert_int_equal(ask(p.model, data, PREVIEW, NULL), EFFACE_OK);
        assert_int_equal(efface_model_forget(
                             p.model, data, &(efface_request){.ids = NULL, .n_ids = 0}, NULL, NULL),
                         EFFACE_OK);
        assert_int_equal(
            efface_model_forget(
                p.model, data,
                &(efface_request){.ids = &unknown, .n_ids = 1, .missing = EFFACE_MISSING_SKIP},
                NULL, NULL),
            EFFACE_OK);
        assert_int_equal(efface_model_learn(p.model, data, &none, NULL, NULL), EFFACE_OK);
        assert_int_equal(efface_model_update(p.model, data, &none, NULL, NULL), EFFACE_OK);
        check_stamps(&p, stamp);
        /* These have changed the set before they fail, and change it back. */
        assert_int_equal(efface_model_learn(p.model, data, &outside, NULL, NULL), EFFACE_E_LIMIT);
        assert_int_equal(efface_model_update(p.model, data, &moved, NULL, NULL), EFFACE_E_LIMIT);
        check_stamps(&p, stamp);
        ef_kmeans_set_work(inside(p.model), 1, (ef_interrupt){always, NULL, NULL});
        size_t n_interrupted = 0;
        for (uint64_t id = 0; id < N_ROWS; id++) {
            efface_report report;
            const efface_status status = efface_model_preview(
                p.model, data, &(efface_request){.ids = &id, .n_ids = 1}, &report, NULL);
            if (status == EFFACE_OK && report.rows_visited == 0)
                continue;
            assert_int_equal(efface_model_forget(p.model, data,
                                                 &(efface_request){.ids = &id, .n_ids = 1}, NULL,
                                                 NULL),
                             EFFACE_E_INTERRUPTED);
            check_stamps(&p, stamp);
            n_interrupted++;
        }
        assert_true(n_interrupted > 0);
        ef_kmeans_set_work(inside(p.model), 1, (ef_interrupt){NULL, NULL, NULL});
        accepted(&p);
        check_stamps(&p, p.data->stamp);
        free_pair(&p);
    }
}

/* ---------------------------------------------------------------- several models */

static void all_models_of_a_request_are_checked(void **state) {
    (void)state;
    pair a = make(0), twin = make(1);
    pair b = {.data = a.data, .params = twin.params};
    b.model = fit(b.data, &b.params);
    efface_model *const own[2] = {a.model, b.model}, *const strange[2] = {a.model, twin.model};
    const uint64_t id = 7, other = 8;
    const float values[2] = {1.0F, 1.0F};
    const efface_rows rows = {.n_rows = 1, .values = values, .ids = &other};
    const efface_rows more = {.n_rows = 1, .values = values};
    const sight before = look(&a);
    assert_int_equal(efface_models_forget(strange, 2, a.data,
                                          &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
                     EFFACE_E_ARGUMENT);
    assert_int_equal(
        efface_models_forget(strange, 2, a.data,
                             &(efface_request){.owners = (const uint64_t[]){2}, .n_owners = 1},
                             NULL, NULL),
        EFFACE_E_ARGUMENT);
    assert_int_equal(efface_models_learn(strange, 2, a.data, &more, NULL, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_models_update(strange, 2, a.data, &rows, NULL, NULL),
                     EFFACE_E_ARGUMENT);
    check_same(&a, &before);
    assert_int_equal(efface_models_update(own, 2, a.data, &rows, NULL, NULL), EFFACE_OK);
    assert_int_equal(
        efface_models_forget(own, 2, a.data, &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
        EFFACE_OK);
    check_law(&a);
    check_law(&b);
    /* A request to one of them leaves the other behind, though there are as many rows as before. */
    assert_int_equal(efface_model_update(a.model, a.data, &rows, NULL, NULL), EFFACE_OK);
    refused(&b, b.data, "changed without this model");
    assert_int_equal(efface_models_learn(own, 2, a.data, &more, NULL, NULL), EFFACE_E_ARGUMENT);
    accepted(&a);
    efface_model_free(b.model);
    free_pair(&a);
    free_pair(&twin);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_twin_is_refused),
        cmocka_unit_test(a_number_is_never_given_twice),
        cmocka_unit_test(threads_give_numbers_apart),
        cmocka_unit_test(a_decoded_model_belongs_to_the_set_it_was_decoded_with),
        cmocka_unit_test(a_set_changed_without_its_model_is_refused),
        cmocka_unit_test(calls_that_change_nothing_keep_both_together),
        cmocka_unit_test(all_models_of_a_request_are_checked),
    };
    return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
