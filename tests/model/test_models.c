/*
 * Several models over one set change together, or nothing does. Beside the set with all models
 * stands, for each model, a set of its own, which gets the same requests by the calls for one
 * model: what these do is the right answer, reports included. What fails changes no model, even if
 * the last of them is the one that cannot follow.
 */
#include "model/change_scene.h"

#include "exact/check_nodes.h"

#include <stdio.h>

#define N_MODELS 6
#define N_COLUMNS 2
#define FIRST_ROWS 40

static uint64_t random_state;

static uint64_t draw(uint64_t below) {
    random_state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % below;
}

/* ---------------------------------------------------------------- one set, many models */

typedef struct crowd {
    efface_data *data;
    efface_model *models[N_MODELS];
    pair alone[N_MODELS]; /* the same model with a set of its own */
} crowd;

/* All methods, one of them twice with another seed; the last has a bound of its own. */
static efface_kmeans_params params_of_model(int i) {
    static const efface_method methods[N_MODELS] = {EFFACE_METHOD_LLOYD,   EFFACE_METHOD_QUANTIZED,
                                                    EFFACE_METHOD_PYRAMID, EFFACE_METHOD_TREE,
                                                    EFFACE_METHOD_LLOYD,   EFFACE_METHOD_QUANTIZED};
    efface_kmeans_params p = params_of(methods[i], 3 + (uint32_t)i % 3, 100 + (uint64_t)i);
    p.pyramid.rate = 0.5;
    p.tree.width = 3;
    p.scale = i == 1 ? EFFACE_SCALE_MINMAX : EFFACE_SCALE_NONE;
    p.bound = i == N_MODELS - 1 ? 64.0 : 0.0;
    return p;
}

static void draw_row(float *values) {
    for (int j = 0; j < N_COLUMNS; j++)
        values[j] = (float)(draw(3) * 20) + (float)draw(16) * 0.25F;
}

static void begin(crowd *c) {
    float values[FIRST_ROWS * N_COLUMNS];
    uint64_t owners[FIRST_ROWS];
    for (size_t i = 0; i < FIRST_ROWS; i++) {
        draw_row(values + i * N_COLUMNS);
        owners[i] = i / 3;
    }
    const efface_rows rows = {.n_rows = FIRST_ROWS, .values = values, .owners = owners};
    assert_int_equal(efface_data_create(N_COLUMNS, &c->data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(c->data, &rows, NULL), EFFACE_OK);
    for (int i = 0; i < N_MODELS; i++) {
        pair *const p = &c->alone[i];
        p->params = params_of_model(i);
        assert_int_equal(efface_data_create(N_COLUMNS, &p->data, NULL), EFFACE_OK);
        assert_int_equal(efface_data_add(p->data, &rows, NULL), EFFACE_OK);
        p->model = fit(p->data, &p->params);
        c->models[i] = fit(c->data, &p->params);
    }
}

static void end(crowd *c) {
    for (int i = 0; i < N_MODELS; i++) {
        efface_model_free(c->models[i]);
        free_pair(&c->alone[i]);
    }
    efface_data_free(c->data);
}

/* A model of the crowd with the set that it shares. */
static pair member(const crowd *c, int i) {
    return (pair){c->data, c->models[i], c->alone[i].params};
}

/* Every model is that of a fresh fit, and what it would be alone. */
static void check_crowd(const crowd *c) {
    for (int i = 0; i < N_MODELS; i++) {
        const pair p = member(c, i);
        const sight right = look(&c->alone[i]);
        check_law(&p);
        check_nodes(p.model, p.data);
        check_same(&p, &right);
    }
}

/* ---------------------------------------------------------------- requests */

enum { FORGET, FORGET_OWNER, LEARN, UPDATE, N_CALLS };

/* A request for all models, or for one that is alone. */
typedef struct request {
    int call;
    uint64_t ids[4];
    uint64_t owner;
    size_t n;
    float values[4 * N_COLUMNS];
    bool named; /* rows that come have ids */
} request;

static efface_status ask_many(crowd *c, const request *q, efface_report *reports) {
    const efface_rows rows = {.n_rows = q->n, .values = q->values, .ids = q->named ? q->ids : NULL};
    switch (q->call) {
    case FORGET:
        return efface_models_forget(
            c->models, N_MODELS, c->data,
            &(efface_request){.ids = q->ids, .n_ids = q->n, .missing = EFFACE_MISSING_SKIP},
            reports, NULL);
    case FORGET_OWNER:
        return efface_models_forget(c->models, N_MODELS, c->data,
                                    &(efface_request){.owners = (const uint64_t[]){q->owner},
                                                      .n_owners = 1,
                                                      .missing = EFFACE_MISSING_SKIP},
                                    reports, NULL);
    case LEARN: return efface_models_learn(c->models, N_MODELS, c->data, &rows, reports, NULL);
    default: return efface_models_update(c->models, N_MODELS, c->data, &rows, reports, NULL);
    }
}

static efface_status ask_one(pair *p, const request *q, efface_report *report) {
    const efface_rows rows = {.n_rows = q->n, .values = q->values, .ids = q->named ? q->ids : NULL};
    switch (q->call) {
    case FORGET:
        return efface_model_forget(
            p->model, p->data,
            &(efface_request){.ids = q->ids, .n_ids = q->n, .missing = EFFACE_MISSING_SKIP}, report,
            NULL);
    case FORGET_OWNER:
        return efface_model_forget(p->model, p->data,
                                   &(efface_request){.owners = (const uint64_t[]){q->owner},
                                                     .n_owners = 1,
                                                     .missing = EFFACE_MISSING_SKIP},
                                   report, NULL);
    case LEARN: return efface_model_learn(p->model, p->data, &rows, report, NULL);
    default: return efface_model_update(p->model, p->data, &rows, report, NULL);
    }
}

/* Any rows that are there, now and then one that is not; few enough stay to fill the set again. */
static request draw_request(const crowd *c, uint64_t number) {
    const size_t n_rows = efface_data_n_rows(c->data);
    request q = {.call = (int)draw(N_CALLS), .owner = draw(FIRST_ROWS / 3), .n = draw(5)};
    if (n_rows > 45)
        q.call = FORGET;
    if (n_rows < 4)
        q.call = LEARN;
    q.named = q.call == UPDATE || draw(2) != 0;
    for (size_t i = 0; i < q.n; i++) {
        draw_row(q.values + i * N_COLUMNS);
        q.ids[i] = 1000 + number * 10 + i;
        if (q.call != LEARN)
            q.ids[i] = efface_data_row(c->data, (draw(n_rows / 4) + i * (n_rows / 4))).id;
    }
    if (q.call == FORGET && draw(4) == 0 && q.n != 0)
        q.ids[0] = 999999;
    return q;
}

static void models_change_together(void **state) {
    (void)state;
    unsigned n_called[N_CALLS] = {0}, n_done[3] = {0};
    for (uint64_t round = 0; round < 30; round++) {
        crowd c;
        random_state = 20191105 + round;
        begin(&c);
        check_crowd(&c);
        for (uint64_t number = 0; number < 60; number++) {
            const request q = draw_request(&c, number);
            efface_report reports[N_MODELS] = {{.action = EFFACE_ACTION_ADJUSTED}};
            assert_int_equal(ask_many(&c, &q, number % 5 != 0 ? reports : NULL), EFFACE_OK);
            for (int i = 0; i < N_MODELS; i++) {
                efface_report right;
                assert_int_equal(ask_one(&c.alone[i], &q, &right), EFFACE_OK);
                if (number % 5 == 0)
                    continue;
                assert_true(reports[i].seconds >= 0.0 && reports[i].seconds == reports[0].seconds);
                check_same_report(&reports[i], &right);
                n_done[right.action]++;
            }
            n_called[q.call]++;
            check_crowd(&c);
        }
        end(&c);
    }
    for (int i = 0; i < N_CALLS; i++)
        assert_true(n_called[i] >= 20);
    for (int action = 0; action < 3; action++)
        assert_true(n_done[action] >= 20);
}

static void all_rows_can_go_and_others_come(void **state) {
    (void)state;
    crowd c;
    begin(&c);
    for (uint64_t owner = 0; owner <= FIRST_ROWS / 3; owner++) {
        const request q = {.call = FORGET_OWNER, .owner = owner};
        assert_int_equal(ask_many(&c, &q, NULL), EFFACE_OK);
        for (int i = 0; i < N_MODELS; i++)
            assert_int_equal(ask_one(&c.alone[i], &q, NULL), EFFACE_OK);
    }
    assert_int_equal(efface_data_n_rows(c.data), 0);
    check_crowd(&c);
    request q = {.call = LEARN, .n = 4};
    for (size_t i = 0; i < q.n; i++)
        draw_row(q.values + i * N_COLUMNS);
    assert_int_equal(ask_many(&c, &q, NULL), EFFACE_OK);
    for (int i = 0; i < N_MODELS; i++)
        assert_int_equal(ask_one(&c.alone[i], &q, NULL), EFFACE_OK);
    check_crowd(&c);
    end(&c);
}

/* ---------------------------------------------------------------- what is refused */

/* A call that must fail: with this status and a message that has `text` in it, without a report,
 * and with all models and the set as before. */
#define REFUSED(c, right, text, call)                                                              \
    do {                                                                                           \
        efface_report reports[N_MODELS], untouched[N_MODELS];                                      \
        efface_error error;                                                                        \
        memset(reports, 0xA5, sizeof reports);                                                     \
        memset(untouched, 0xA5, sizeof untouched);                                                 \
        memset(&error, 0, sizeof error);                                                           \
        assert_int_equal(call, right);                                                             \
        assert_int_equal(error.status, right);                                                     \
        if (strstr(error.message, text) == NULL)                                                   \
            fail_msg("'%s' is not in '%s'", text, error.message);                                  \
        assert_memory_equal(reports, untouched, sizeof reports);                                   \
        check_crowd(c);                                                                            \
    } while (0)

/* Each of the four calls with other models than all; `row` suits learn and update. */
static void all_calls_refuse(crowd *c, efface_model *const *models, size_t n, efface_data *data,
                             const char *text) {
    const uint64_t id = 3;
    const float values[N_COLUMNS] = {1.0F, 2.0F};
    const efface_rows fresh = {.n_rows = 1, .values = values};
    const efface_rows known = {.n_rows = 1, .values = values, .ids = &id};
    REFUSED(c, EFFACE_E_ARGUMENT, text,
            efface_models_forget(models, n, data, &(efface_request){.ids = &id, .n_ids = 1},
                                 reports, &error));
    REFUSED(c, EFFACE_E_ARGUMENT, text,
            efface_models_forget(models, n, data,
                                 &(efface_request){.owners = (const uint64_t[]){1}, .n_owners = 1},
                                 reports, &error));
    REFUSED(c, EFFACE_E_ARGUMENT, text,
            efface_models_learn(models, n, data, &fresh, reports, &error));
    REFUSED(c, EFFACE_E_ARGUMENT, text,
            efface_models_update(models, n, data, &known, reports, &error));
}

static void models_must_be_there_once_and_of_this_set(void **state) {
    (void)state;
    crowd c;
    begin(&c);
    efface_model *const twice[3] = {c.models[0], c.models[1], c.models[0]};
    efface_model *const gap[3] = {c.models[0], NULL, c.models[1]};
    all_calls_refuse(&c, NULL, 2, c.data, "at least one model");
    all_calls_refuse(&c, c.models, 0, c.data, "at least one model");
    all_calls_refuse(&c, twice, 3, c.data, "models 1 and 3 are the same");
    all_calls_refuse(&c, gap, 3, c.data, "NULL");
    all_calls_refuse(&c, c.models, N_MODELS, NULL, "NULL");
    efface_data *other = NULL;
    assert_int_equal(efface_data_create(N_COLUMNS, &other, NULL), EFFACE_OK);
    efface_model *const stranger = fit(other, &c.alone[0].params);
    efface_model *const mixed[2] = {c.models[0], stranger};
    all_calls_refuse(&c, c.models, N_MODELS, other, "40 rows of 2 columns");
    all_calls_refuse(&c, mixed, 2, c.data, "0 rows of 2 columns");
    efface_model_free(stranger);
    efface_data_free(other);
    end(&c);
}

static void rows_that_cannot_change_change_nothing(void **state) {
    (void)state;
    crowd c;
    begin(&c);
    const uint64_t unknown[2] = {3, 77}, twice[2] = {3, 3}, known[2] = {3, 5};
    /* Only the last model has a bound, so that all others have followed when it refuses. */
    const float fine[4] = {1.0F, 2.0F, 3.0F, 4.0F}, outside[4] = {1.0F, 2.0F, 65.0F, 4.0F};
    efface_rows rows = {.n_rows = 2, .values = fine};
    REFUSED(&c, EFFACE_E_NOT_FOUND, "77",
            efface_models_forget(c.models, N_MODELS, c.data,
                                 &(efface_request){.ids = unknown, .n_ids = 2}, reports, &error));
    REFUSED(&c, EFFACE_E_DUPLICATE, "3",
            efface_models_forget(c.models, N_MODELS, c.data,
                                 &(efface_request){.ids = twice, .n_ids = 2}, reports, &error));
    REFUSED(&c, EFFACE_E_ARGUMENT, "lists",
            efface_models_forget(c.models, N_MODELS, c.data,
                                 &(efface_request){.ids = NULL, .n_ids = 2}, reports, &error));
    REFUSED(
        &c, EFFACE_E_NOT_FOUND, "owner 500",
        efface_models_forget(c.models, N_MODELS, c.data,
                             &(efface_request){.owners = (const uint64_t[]){500}, .n_owners = 1},
                             reports, &error));
    REFUSED(&c, EFFACE_E_ARGUMENT, "rows",
            efface_models_learn(c.models, N_MODELS, c.data, NULL, reports, &error));
    REFUSED(&c, EFFACE_E_ARGUMENT, "rows",
            efface_models_update(c.models, N_MODELS, c.data, NULL, reports, &error));
    REFUSED(&c, EFFACE_E_ARGUMENT, "ids",
            efface_models_update(c.models, N_MODELS, c.data, &rows, reports, &error));
    rows.ids = known;
    REFUSED(&c, EFFACE_E_DUPLICATE, "3",
            efface_models_learn(c.models, N_MODELS, c.data, &rows, reports, &error));
    rows.values = outside;
    REFUSED(&c, EFFACE_E_LIMIT, "column 1",
            efface_models_update(c.models, N_MODELS, c.data, &rows, reports, &error));
    rows.ids = NULL;
    REFUSED(&c, EFFACE_E_LIMIT, "column 1",
            efface_models_learn(c.models, N_MODELS, c.data, &rows, reports, &error));
    /* Without that model the others can. */
    assert_int_equal(efface_models_learn(c.models, N_MODELS - 1, c.data, &rows, NULL, NULL),
                     EFFACE_OK);
    for (int i = 0; i < N_MODELS - 1; i++) {
        const pair p = member(&c, i);
        check_law(&p);
    }
    end(&c);
}

static void empty_requests_do_nothing(void **state) {
    (void)state;
    crowd c;
    begin(&c);
    for (int call = 0; call < N_CALLS; call++) {
        const request q = {.call = call, .owner = 500, .named = true};
        efface_report reports[N_MODELS];
        memset(reports, 0xA5, sizeof reports);
        assert_int_equal(ask_many(&c, &q, reports), EFFACE_OK);
        for (int i = 0; i < N_MODELS; i++) {
            assert_int_equal(reports[i].action, EFFACE_ACTION_ADJUSTED);
            assert_string_equal(reports[i].reason, ef_reason_told(ef_because_nothing, false));
            assert_true(reports[i].rows_forgotten == 0 && reports[i].rows_learned == 0);
            assert_true(reports[i].rows_visited == 0 && reports[i].seconds >= 0.0);
        }
        check_crowd(&c);
    }
    end(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_change_together),
        cmocka_unit_test(all_rows_can_go_and_others_come),
        cmocka_unit_test(models_must_be_there_once_and_of_this_set),
        cmocka_unit_test(rows_that_cannot_change_change_nothing),
        cmocka_unit_test(empty_requests_do_nothing),
    };
    return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
