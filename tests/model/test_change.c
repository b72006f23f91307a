/*
 * Forget, learn, update, preview, verify and rekey as a caller sees them: what they refuse and that
 * they then change nothing, and what they report. Why a model had to change is the subject of
 * test_reasons.c; that the models are right for any rows that of exact/test_forget.c.
 */
#include "model/change_scene.h"
#include "model/report_scene.h"

#include <math.h>

/* Twenty rows of two columns around four places; row i belongs to owner i / 4. */
static pair make_twenty(void) {
    float values[40];
    uint64_t owners[20];
    for (size_t i = 0; i < 20; i++) {
        values[2 * i] = (float)(i % 2) * 10.0F + (float)i * 0.125F;
        values[2 * i + 1] = (float)(i / 2 % 2) * 10.0F - (float)(i * i % 7) * 0.25F;
        owners[i] = i / 4;
    }
    pair made = {.params = params_of(EFFACE_METHOD_LLOYD, 4, 7)};
    made.params.bound = 64.0;
    const efface_rows rows = {.n_rows = 20, .values = values, .owners = owners};
    assert_int_equal(efface_data_create(2, &made.data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(made.data, &rows, NULL), EFFACE_OK);
    made.model = fit(made.data, &made.params);
    return made;
}

/* ---------------------------------------------------------------- calls */

/* A call that must fail: with this status and a message that has `text` in it, without a report,
 * and with model and set as before. */
#define REFUSED(p, right, text, call)                                                              \
    do {                                                                                           \
        efface_report report, untouched;                                                           \
        efface_error error;                                                                        \
        memset(&report, 0xA5, sizeof report);                                                      \
        memset(&untouched, 0xA5, sizeof untouched);                                                \
        memset(&error, 0, sizeof error);                                                           \
        const sight before = look(p);                                                              \
        assert_int_equal(call, right);                                                             \
        assert_int_equal(error.status, right);                                                     \
        if (strstr(error.message, text) == NULL)                                                   \
            fail_msg("'%s' is not in '%s'", text, error.message);                                  \
        assert_memory_equal(&report, &untouched, sizeof report);                                   \
        check_same(p, &before);                                                                    \
    } while (0)

#define REQUEST(list, n, rule) (&(efface_request){.ids = list, .n_ids = n, .missing = rule})
#define FORGET(p, list, n, rule)                                                                   \
    efface_model_forget((p)->model, (p)->data, REQUEST(list, n, rule), &report, &error)
#define PREVIEW(p, list, n, rule)                                                                  \
    efface_model_preview((p)->model, (p)->data, REQUEST(list, n, rule), &report, &error)
#define LEARN(p, rows) efface_model_learn((p)->model, (p)->data, rows, &report, &error)
#define UPDATE(p, rows) efface_model_update((p)->model, (p)->data, rows, &report, &error)

/* ---------------------------------------------------------------- ids and owners */

static void unknown_ids_are_named(void **state) {
    (void)state;
    pair p = make_twenty();
    const uint64_t some[] = {3, 77, 5, UINT64_MAX};
    REFUSED(&p, EFFACE_E_NOT_FOUND, "77, 18446744073709551615 (2 of 4 ids)",
            FORGET(&p, some, 4, EFFACE_MISSING_FAIL));
    REFUSED(&p, EFFACE_E_NOT_FOUND, "id 77 (1 of 2 ids)", FORGET(&p, some, 2, EFFACE_MISSING_FAIL));
    REFUSED(&p, EFFACE_E_NOT_FOUND, "77", PREVIEW(&p, some, 4, EFFACE_MISSING_FAIL));
    uint64_t many[30];
    for (uint64_t i = 0; i < 30; i++)
        many[i] = UINT64_MAX - i; /* the longest there are; the message names the first of them */
    REFUSED(&p, EFFACE_E_NOT_FOUND, "18446744073709551608, ... (30 of 30 ids)",
            FORGET(&p, many, 30, EFFACE_MISSING_FAIL));
    free_pair(&p);
}

static void unknown_ids_can_be_skipped(void **state) {
    (void)state;
    pair p = make_twenty();
    const uint64_t some[] = {77, 3, 78, 5, 77};
    efface_report report;
    efface_error error;
    const sight before = look(&p);
    assert_int_equal(PREVIEW(&p, some, 5, EFFACE_MISSING_SKIP), EFFACE_OK);
    assert_int_equal(report.rows_missing, 3);
    assert_int_equal(report.rows_forgotten, 2);
    check_same(&p, &before);
    assert_int_equal(FORGET(&p, some, 5, EFFACE_MISSING_SKIP), EFFACE_OK);
    assert_int_equal(report.rows_missing, 3);
    assert_int_equal(report.rows_forgotten, 2);
    assert_int_equal(efface_data_n_rows(p.data), 18);
    check_law(&p);
    const sight after = look(&p);
    assert_int_equal(FORGET(&p, some, 5, EFFACE_MISSING_SKIP), EFFACE_OK);
    assert_int_equal(report.rows_missing, 5);
    assert_int_equal(report.rows_forgotten, 0);
    assert_int_equal(report.action, EFFACE_ACTION_ADJUSTED);
    check_same(&p, &after);
    free_pair(&p);
}

static void ids_that_come_twice_are_refused(void **state) {
    (void)state;
    pair p = make_twenty();
    const uint64_t twice[] = {3, 5, 3};
    const float values[6] = {0};
    const efface_rows rows = {.n_rows = 3, .values = values, .ids = twice};
    REFUSED(&p, EFFACE_E_DUPLICATE, "3", FORGET(&p, twice, 3, EFFACE_MISSING_FAIL));
    REFUSED(&p, EFFACE_E_DUPLICATE, "3", FORGET(&p, twice, 3, EFFACE_MISSING_SKIP));
    REFUSED(&p, EFFACE_E_DUPLICATE, "3", PREVIEW(&p, twice, 3, EFFACE_MISSING_FAIL));
    REFUSED(&p, EFFACE_E_DUPLICATE, "3", UPDATE(&p, &rows));
    free_pair(&p);
}

/* Rows without an owner are nobody's: who asks for owner 0 must not get them. */
static void nobody_is_no_owner(void **state) {
    (void)state;
    const float values[] = {1.0F, 2.0F, 3.0F, 4.0F, 50.0F, 60.0F};
    const efface_rows rows = {.n_rows = 6, .values = values};
    const uint64_t owners[] = {0, 0, 0, 0, 0, 9};
    const efface_rows owned = {.n_rows = 6, .values = values, .owners = owners};
    pair p = {.params = params_of(EFFACE_METHOD_LLOYD, 2, 5)};
    assert_int_equal(efface_data_create(1, &p.data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(p.data, &rows, NULL), EFFACE_OK);
    p.model = fit(p.data, &p.params);
    REFUSED(&p, EFFACE_E_NOT_FOUND, "owner 0",
            efface_model_forget(p.model, p.data,
                                &(efface_request){.owners = (const uint64_t[]){0}, .n_owners = 1},
                                &report, &error));
    efface_report done;
    assert_int_equal(efface_model_forget(p.model, p.data,
                                         &(efface_request){.owners = (const uint64_t[]){0},
                                                           .n_owners = 1,
                                                           .missing = EFFACE_MISSING_SKIP},
                                         &done, NULL),
                     EFFACE_OK);
    assert_int_equal(done.rows_forgotten, 0);
    free_pair(&p);

    p = (pair){.params = params_of(EFFACE_METHOD_LLOYD, 2, 5)};
    assert_int_equal(efface_data_create(1, &p.data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(p.data, &owned, NULL), EFFACE_OK);
    p.model = fit(p.data, &p.params);
    assert_int_equal(
        efface_model_forget(p.model, p.data,
                            &(efface_request){.owners = (const uint64_t[]){0}, .n_owners = 1},
                            &done, NULL),
        EFFACE_OK);
    assert_int_equal(done.rows_forgotten, 5);
    free_pair(&p);

    /* A set that has its first owners late. */
    p = (pair){.params = params_of(EFFACE_METHOD_LLOYD, 2, 5)};
    assert_int_equal(efface_data_create(1, &p.data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(p.data, &rows, NULL), EFFACE_OK);
    p.model = fit(p.data, &p.params);
    const efface_rows two = {.n_rows = 2,
                             .values = (const float[]){7.0F, 55.0F},
                             .ids = (const uint64_t[]){100, 103},
                             .owners = (const uint64_t[]){0, 3}};
    assert_int_equal(efface_model_learn(p.model, p.data, &two, NULL, NULL), EFFACE_OK);
    REFUSED(&p, EFFACE_E_ARGUMENT, "EFFACE_NO_OWNER",
            efface_model_forget(p.model, p.data,
                                &(efface_request){.owners = (const uint64_t[]){EFFACE_NO_OWNER},
                                                  .n_owners = 1,
                                                  .missing = EFFACE_MISSING_SKIP},
                                &report, &error));
    assert_int_equal(
        efface_model_forget(p.model, p.data,
                            &(efface_request){.owners = (const uint64_t[]){0}, .n_owners = 1},
                            &done, NULL),
        EFFACE_OK);
    assert_int_equal(done.rows_forgotten, 1);
    assert_int_equal(efface_data_n_rows(p.data), 7);
    size_t position = 0;
    assert_int_equal(efface_data_find(p.data, 100, &position), EFFACE_E_NOT_FOUND);
    assert_int_equal(efface_data_find(p.data, 103, &position), EFFACE_OK);
    assert_int_equal(efface_data_row(p.data, position).owner, 3);
    for (uint64_t id = 0; id < 6; id++) {
        assert_int_equal(efface_data_find(p.data, id, &position), EFFACE_OK);
        assert_true(efface_data_row(p.data, position).owner == EFFACE_NO_OWNER);
    }
    check_law(&p);
    free_pair(&p);
}

/* A request may name rows by ids and by owners, and one row by both. */
static void ids_and_owners_come_together(void **state) {
    (void)state;
    pair p = make_twenty();
    const uint64_t owners[] = {1, 2, 2}, none[] = {2, EFFACE_NO_OWNER, 77}, absent[] = {77, 2};
    const uint64_t own = efface_data_row(p.data, 0).owner;
    uint64_t ids[2] = {UINT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < 20; i++) {
        const efface_row row = efface_data_row(p.data, i);
        ids[row.owner == 2 ? 0 : 1] = row.owner == 2 || row.owner == own ? row.id : ids[1];
    }
    REFUSED(&p, EFFACE_E_DUPLICATE, "owner 2 is named twice",
            efface_model_forget(p.model, p.data, &(efface_request){.owners = owners, .n_owners = 3},
                                &report, &error));
    REFUSED(&p, EFFACE_E_ARGUMENT, "EFFACE_NO_OWNER",
            efface_model_forget(p.model, p.data, &(efface_request){.owners = none, .n_owners = 3},
                                &report, &error));
    REFUSED(&p, EFFACE_E_NOT_FOUND, "owner 77",
            efface_model_forget(p.model, p.data, &(efface_request){.owners = absent, .n_owners = 2},
                                &report, &error));
    efface_report done;
    assert_int_equal(efface_model_forget(p.model, p.data,
                                         &(efface_request){.ids = ids,
                                                           .n_ids = 2,
                                                           .owners = absent,
                                                           .n_owners = 2,
                                                           .missing = EFFACE_MISSING_SKIP},
                                         &done, NULL),
                     EFFACE_OK);
    assert_int_equal(done.rows_forgotten, own == 2 ? 4 : 5);
    assert_int_equal(done.rows_missing, own == 2 ? 2 : 1);
    check_law(&p);
    free_pair(&p);
}

static void owners_leave_with_all_their_rows(void **state) {
    (void)state;
    pair p = make_twenty();
    efface_report done;
    assert_int_equal(
        efface_model_forget(p.model, p.data,
                            &(efface_request){.owners = (const uint64_t[]){2}, .n_owners = 1},
                            &done, NULL),
        EFFACE_OK);
    assert_int_equal(done.rows_forgotten, 4);
    assert_int_equal(done.rows_missing, 0);
    assert_int_equal(efface_data_n_rows(p.data), 16);
    for (size_t i = 0; i < 16; i++)
        assert_int_not_equal(efface_data_row(p.data, i).owner, 2);
    check_law(&p);
    REFUSED(&p, EFFACE_E_NOT_FOUND, "owner 2",
            efface_model_forget(p.model, p.data,
                                &(efface_request){.owners = (const uint64_t[]){2}, .n_owners = 1},
                                &report, &error));
    const sight before = look(&p);
    assert_int_equal(efface_model_forget(p.model, p.data,
                                         &(efface_request){.owners = (const uint64_t[]){2},
                                                           .n_owners = 1,
                                                           .missing = EFFACE_MISSING_SKIP},
                                         &done, NULL),
                     EFFACE_OK);
    assert_int_equal(done.rows_forgotten, 0);
    assert_int_equal(done.action, EFFACE_ACTION_ADJUSTED);
    check_same(&p, &before);
    free_pair(&p);
}

/* ---------------------------------------------------------------- what is refused */

static void another_set_is_refused(void **state) {
    (void)state;
    pair p = make_twenty(), fewer = make_twenty();
    const uint64_t id = 1;
    const float values[3] = {0};
    const efface_rows row = {.n_rows = 1, .values = values, .ids = &id};
    assert_int_equal(efface_data_remove(fewer.data, &id, 1, NULL), EFFACE_OK);
    efface_data *narrow = NULL;
    assert_int_equal(efface_data_create(1, &narrow, NULL), EFFACE_OK);
    efface_data *const others[] = {fewer.data, narrow, NULL};
    for (int i = 0; i < 3; i++) {
        efface_data *const other = others[i];
        const char *const text = other != NULL ? "20 rows of 2 columns" : "NULL";
        REFUSED(&p, EFFACE_E_ARGUMENT, text,
                efface_model_forget(
                    p.model, other,
                    &(efface_request){.ids = &id, .n_ids = 1, .missing = EFFACE_MISSING_SKIP},
                    &report, &error));
        REFUSED(&p, EFFACE_E_ARGUMENT, text,
                efface_model_forget(p.model, other,
                                    &(efface_request){.owners = (const uint64_t[]){1},
                                                      .n_owners = 1,
                                                      .missing = EFFACE_MISSING_SKIP},
                                    &report, &error));
        REFUSED(&p, EFFACE_E_ARGUMENT, text,
                efface_model_preview(
                    p.model, other,
                    &(efface_request){.ids = &id, .n_ids = 1, .missing = EFFACE_MISSING_SKIP},
                    &report, &error));
        REFUSED(&p, EFFACE_E_ARGUMENT, text,
                efface_model_learn(p.model, other, &row, &report, &error));
        REFUSED(&p, EFFACE_E_ARGUMENT, text,
                efface_model_update(p.model, other, &row, &report, &error));
        REFUSED(&p, EFFACE_E_ARGUMENT, text,
                efface_model_rekey(p.model, other, 1, &report, &error));
    }
    assert_int_equal(efface_data_n_rows(fewer.data), 19);
    efface_data_free(narrow);
    free_pair(&p);
    free_pair(&fewer);
}

/* Zeros everywhere, so that a comparison that runs over an end would go on. */
static void verify_refuses_other_columns(void **state) {
    (void)state;
    const float zeros[20] = {0}, high[4] = {1.0F, 1.0F, 1.0F, 1.0F};
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD, 3, 1);
    pair wide = make_pair(&params, 5, 4, zeros);
    params.scale = EFFACE_SCALE_MINMAX;
    params.column_min = zeros;
    params.column_max = high;
    pair narrow = make_pair(&params, 5, 1, zeros);
    efface_difference difference;
    efface_error error;
    assert_int_equal(efface_model_verify(wide.model, narrow.data, &difference, &error),
                     EFFACE_E_ARGUMENT);
    assert_int_equal(efface_model_verify(narrow.model, wide.data, &difference, &error),
                     EFFACE_E_ARGUMENT);
    free_pair(&wide);
    free_pair(&narrow);
}

static void null_is_refused(void **state) {
    (void)state;
    pair p = make_twenty();
    const float values[2] = {0};
    const efface_rows no_ids = {.n_rows = 1, .values = values}, no_values = {.n_rows = 1};
    efface_difference difference;
    REFUSED(&p, EFFACE_E_ARGUMENT, "lists", FORGET(&p, NULL, 1, EFFACE_MISSING_FAIL));
    REFUSED(&p, EFFACE_E_ARGUMENT, "lists", PREVIEW(&p, NULL, 1, EFFACE_MISSING_FAIL));
    REFUSED(&p, EFFACE_E_ARGUMENT, "rows", LEARN(&p, NULL));
    REFUSED(&p, EFFACE_E_ARGUMENT, "values", LEARN(&p, &no_values));
    REFUSED(&p, EFFACE_E_ARGUMENT, "rows", UPDATE(&p, NULL));
    REFUSED(&p, EFFACE_E_ARGUMENT, "ids", UPDATE(&p, &no_ids));
    REFUSED(&p, EFFACE_E_ARGUMENT, "NULL",
            efface_model_forget(NULL, p.data, &(efface_request){.ids = NULL, .n_ids = 0}, &report,
                                &error));
    assert_int_equal(efface_model_verify(NULL, p.data, &difference, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_model_verify(p.model, NULL, &difference, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_model_verify(p.model, p.data, NULL, NULL), EFFACE_E_ARGUMENT);
    free_pair(&p);
}

static void rows_that_cannot_be_learned_change_nothing(void **state) {
    (void)state;
    pair p = make_twenty();
    const float fine[4] = {1.0F, 2.0F, 3.0F, 4.0F};
    const float not_a_number[4] = {1.0F, 2.0F, 3.0F, NAN};
    const float outside[4] = {1.0F, 2.0F, 64.5F, 4.0F};
    const uint64_t twice[2] = {30, 30}, known[2] = {30, 19}, fresh[2] = {900, 901};
    const int64_t no_weight[2] = {1, 0}, heavy[2] = {1, EFFACE_MAX_WEIGHT};
    efface_rows rows = {.n_rows = 2, .values = fine, .ids = twice};
    REFUSED(&p, EFFACE_E_DUPLICATE, "30", LEARN(&p, &rows));
    rows.ids = known;
    REFUSED(&p, EFFACE_E_DUPLICATE, "19", LEARN(&p, &rows));
    rows.ids = fresh;
    rows.values = not_a_number;
    REFUSED(&p, EFFACE_E_LIMIT, "row 2, column 2", LEARN(&p, &rows));
    rows.values = outside;
    REFUSED(&p, EFFACE_E_LIMIT, "column 1", LEARN(&p, &rows));
    rows.ids = NULL;
    REFUSED(&p, EFFACE_E_LIMIT, "column 1", LEARN(&p, &rows));
    rows.values = fine;
    rows.weights = no_weight;
    REFUSED(&p, EFFACE_E_LIMIT, "weight", LEARN(&p, &rows));
    rows.weights = heavy;
    REFUSED(&p, EFFACE_E_LIMIT, "weight", LEARN(&p, &rows));
    rows.weights = NULL;
    rows.stride = 1;
    REFUSED(&p, EFFACE_E_ARGUMENT, "stride", LEARN(&p, &rows));
    /* Whatever was refused, ids continue after the largest that was there. */
    rows.stride = 0;
    efface_report report;
    assert_int_equal(efface_model_learn(p.model, p.data, &rows, &report, NULL), EFFACE_OK);
    size_t position;
    assert_int_equal(efface_data_find(p.data, 20, &position), EFFACE_OK);
    assert_int_equal(efface_data_find(p.data, 21, &position), EFFACE_OK);
    check_law(&p);
    free_pair(&p);
}

static void ranges_that_were_given_are_kept_to(void **state) {
    (void)state;
    const float values[] = {1.0F, 4.0F, 2.0F, 9.0F, 3.0F, 7.0F}, outside = 10.5F, inside = 10.0F;
    const float low = 0.0F;
    float high = 10.0F;
    efface_kmeans_params params = params_of(EFFACE_METHOD_QUANTIZED, 2, 3);
    params.scale = EFFACE_SCALE_MINMAX;
    params.column_min = &low;
    params.column_max = &high;
    pair p = make_pair(&params, 6, 1, values);
    const uint64_t id = 2;
    efface_rows row = {.n_rows = 1, .values = &outside, .ids = &id};
    REFUSED(&p, EFFACE_E_LIMIT, "column 1", UPDATE(&p, &row));
    row.ids = NULL;
    REFUSED(&p, EFFACE_E_LIMIT, "column 1", LEARN(&p, &row));
    /* The model keeps the bounds: it does not look at the caller's again. */
    high = -1.0F;
    efface_report report;
    row.values = &inside;
    assert_int_equal(efface_model_learn(p.model, p.data, &row, &report, NULL), EFFACE_OK);
    assert_string_not_equal(report.reason, ef_reason_name(EF_REASON_SCALE));
    high = 10.0F;
    check_law(&p);
    free_pair(&p);
}

static void rows_that_cannot_be_updated_change_nothing(void **state) {
    (void)state;
    pair p = make_twenty();
    const float fine[4] = {1.0F, 2.0F, 3.0F, 4.0F};
    const float infinite[4] = {1.0F, 2.0F, INFINITY, 4.0F};
    const float outside[4] = {1.0F, 2.0F, 3.0F, -70.0F};
    const uint64_t ids[2] = {4, 9}, unknown[2] = {4, 20};
    const uint64_t owners[2] = {50, 51};
    const int64_t weights[2] = {5, 6}, no_weight[2] = {2, -3};
    const int64_t labels[2] = {7, 8};
    efface_rows rows = {2, fine, 0, unknown, weights, owners, labels, NULL};
    REFUSED(&p, EFFACE_E_NOT_FOUND, "20", UPDATE(&p, &rows));
    rows.ids = ids;
    rows.values = infinite;
    REFUSED(&p, EFFACE_E_LIMIT, "row 2, column 1", UPDATE(&p, &rows));
    rows.values = outside;
    REFUSED(&p, EFFACE_E_LIMIT, "column 2", UPDATE(&p, &rows));
    rows.values = fine;
    rows.weights = no_weight;
    REFUSED(&p, EFFACE_E_LIMIT, "weight", UPDATE(&p, &rows));
    rows.weights = weights;
    efface_report done;
    assert_int_equal(efface_model_update(p.model, p.data, &rows, &done, NULL), EFFACE_OK);
    assert_int_equal(done.rows_forgotten, 2);
    assert_int_equal(done.rows_learned, 2);
    size_t position;
    assert_int_equal(efface_data_find(p.data, 9, &position), EFFACE_OK);
    const efface_row row = efface_data_row(p.data, position);
    assert_true(row.weight == 6 && row.owner == 51 && row.label == 8);
    assert_int_equal(efface_data_total_weight(p.data), 29);
    check_law(&p);
    rows.values = outside; /* now that weights and owners are stored, they come back as well */
    REFUSED(&p, EFFACE_E_LIMIT, "column 2", UPDATE(&p, &rows));
    free_pair(&p);
}

static void empty_requests_do_nothing(void **state) {
    (void)state;
    pair p = make_twenty();
    const sight before = look(&p);
    const efface_rows none = {.n_rows = 0};
    for (int call = 0; call < 4; call++) {
        efface_report report = {.rows_visited = 1, .seconds = -1.0};
        efface_error error;
        const efface_status status = call == 0   ? FORGET(&p, NULL, 0, EFFACE_MISSING_FAIL)
                                     : call == 1 ? PREVIEW(&p, NULL, 0, EFFACE_MISSING_SKIP)
                                     : call == 2 ? LEARN(&p, &none)
                                                 : UPDATE(&p, &none);
        assert_int_equal(status, EFFACE_OK);
        assert_int_equal(report.action, EFFACE_ACTION_ADJUSTED);
        assert_string_equal(report.reason, ef_reason_told(ef_because_nothing, call == 1));
        assert_true(report.rows_visited == 0 && report.rows_forgotten == 0);
        assert_true(report.rows_learned == 0 && report.rows_missing == 0);
        assert_true(report.seconds >= 0.0);
        check_same(&p, &before);
    }
    free_pair(&p);
}

static void reports_and_errors_are_optional(void **state) {
    (void)state;
    pair p = make_twenty();
    const uint64_t id = 3, gone = 99;
    const float values[2] = {5.0F, 5.0F};
    const efface_rows row = {.n_rows = 1, .values = values, .ids = &id};
    efface_model *const m = p.model;
    assert_int_equal(
        efface_model_preview(m, p.data, &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
        EFFACE_OK);
    assert_int_equal(
        efface_model_forget(m, p.data, &(efface_request){.ids = &gone, .n_ids = 1}, NULL, NULL),
        EFFACE_E_NOT_FOUND);
    assert_int_equal(
        efface_model_forget(m, p.data, &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
        EFFACE_OK);
    assert_int_equal(efface_model_learn(m, p.data, &row, NULL, NULL), EFFACE_OK);
    assert_int_equal(efface_model_update(m, p.data, &row, NULL, NULL), EFFACE_OK);
    assert_int_equal(
        efface_model_forget(m, p.data,
                            &(efface_request){.owners = (const uint64_t[]){1}, .n_owners = 1}, NULL,
                            NULL),
        EFFACE_OK);
    assert_int_equal(efface_model_rekey(m, p.data, 8, NULL, NULL), EFFACE_OK);
    p.params.common.seed = 8;
    check_law(&p);
    free_pair(&p);
}

/* ---------------------------------------------------------------- verify and rekey */

static void verify_says(const pair *p, const char *what, uint32_t level, uint32_t cluster,
                        uint32_t column) {
    efface_difference found;
    assert_int_equal(efface_model_verify(p->model, p->data, &found, NULL), EFFACE_OK);
    if (what == NULL) {
        assert_true(found.identical == 1 && found.what == NULL);
        return;
    }
    assert_int_equal(found.identical, 0);
    assert_string_equal(found.what, what);
    char with[EFFACE_WHERE_BYTES], without[EFFACE_WHERE_BYTES];
    (void)snprintf(with, sizeof with, "level %u, cluster %u, column %u", level, cluster,
                   column + 1);
    (void)snprintf(without, sizeof without, "level %u", level);
    if (strcmp(found.where, without) != 0 || cluster != 0 || column != 0)
        assert_string_equal(found.where, with);
}

static void verify_finds_what_is_wrong(void **state) {
    (void)state;
    pair p = make_twenty();
    (void)forget_one(&p, 6);
    verify_says(&p, NULL, 0, 0, 0);
    efface_model *const m = p.model;
    assert_true(inside(m)->n_levels >= 2 && inside(m)->levels[1].has_partition);
    inside(m)->levels[1].centers[2 * 2 + 1] += 1;
    verify_says(&p, "centroid", 1, 2, 1);
    inside(m)->levels[0].sums[3 * 2] -= 1; /* what comes first is named */
    verify_says(&p, "sum", 0, 3, 0);
    inside(m)->levels[0].counts[1] += 1;
    verify_says(&p, "count", 0, 1, 0);
    inside(m)->levels[0].counts[1] -= 1;
    inside(m)->levels[0].sums[3 * 2] += 1;
    inside(m)->levels[1].centers[2 * 2 + 1] -= 1;
    verify_says(&p, NULL, 0, 0, 0);

    efface_difference found;
    inside(m)->levels[0].has_partition = false;
    verify_says(&p, "partition", 0, 0, 0);
    inside(m)->levels[0].has_partition = true;
    inside(m)->seeds[2].key *= 2.0;
    assert_int_equal(efface_model_verify(m, p.data, &found, NULL), EFFACE_OK);
    assert_true(!found.identical && found.what != NULL);
    inside(m)->seeds[2].key *= 0.5;
    inside(m)->square_sum += 1;
    assert_int_equal(efface_model_verify(m, p.data, &found, NULL), EFFACE_OK);
    assert_true(!found.identical && found.what != NULL);
    inside(m)->square_sum -= 1;
    inside(m)->model_level -= 1;
    assert_int_equal(efface_model_verify(m, p.data, &found, NULL), EFFACE_OK);
    assert_true(!found.identical && strstr(found.what, "levels") != NULL);
    inside(m)->model_level += 1;
    verify_says(&p, NULL, 0, 0, 0);

    /* A set that was changed without its model. */
    const uint64_t id = 2;
    assert_int_equal(efface_data_remove(p.data, &id, 1, NULL), EFFACE_OK);
    assert_int_equal(efface_model_verify(m, p.data, &found, NULL), EFFACE_OK);
    assert_true(!found.identical && found.what != NULL);
    free_pair(&p);
}

static void rekey_gives_another_model(void **state) {
    (void)state;
    for (int method = 0; method < 3; method++) {
        pair p = make_twenty();
        p.params.method = (efface_method)method;
        p.params.iterations = 1; /* lloyd then ends with a level that no row is assigned in */
        efface_model_free(p.model);
        p.model = fit(p.data, &p.params);
        const sight before = look(&p);
        efface_report report;
        assert_int_equal(efface_model_rekey(p.model, p.data, 12345, &report, NULL), EFFACE_OK);
        assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
        assert_string_equal(report.reason, ef_because_rekeyed);
        assert_true(report.rows_forgotten == 0 && report.rows_learned == 0);
        assert_true(report.rows_visited >= 20);
        if (method != EFFACE_METHOD_PYRAMID) /* there the rows of the sample are fewer */
            assert_int_equal(report.rows_visited % 20, 0);
        const sight after = look(&p);
        assert_memory_not_equal(before.digest, after.digest, sizeof after.digest);
        p.params.common.seed = 12345;
        check_law(&p);
        (void)forget_one(&p, 4); /* with the new seed from now on */
        assert_int_equal(efface_model_rekey(p.model, p.data, 7, NULL, NULL), EFFACE_OK);
        p.params.common.seed = 7;
        check_law(&p);
        free_pair(&p);
    }
}

/* ---------------------------------------------------------------- answers afterwards */

static void labels_and_loss_follow(void **state) {
    (void)state;
    for (int method = 0; method < 3; method++) {
        pair p = make_twenty();
        p.params.method = (efface_method)method;
        p.params.pyramid.passes = 2;
        efface_model_free(p.model);
        p.model = fit(p.data, &p.params);
        const float values[2] = {3.0F, 3.0F};
        for (uint64_t id = 0; id < 20; id += 3) {
            (void)forget_one(&p, id);
            (void)learn_one(&p, 100 + id, values);
            (void)forget_one(&p, (id + 1) % 20);
            efface_model *const fresh = fit(p.data, &p.params);
            uint32_t ours[MOST_ROWS], right[MOST_ROWS];
            double loss = -1.0, right_loss = -2.0;
            const size_t n = efface_data_n_rows(p.data);
            assert_int_equal(efface_kmeans_labels(p.model, p.data, ours, NULL), EFFACE_OK);
            assert_int_equal(efface_kmeans_labels(fresh, p.data, right, NULL), EFFACE_OK);
            assert_memory_equal(ours, right, n * sizeof *ours);
            assert_int_equal(efface_kmeans_loss(p.model, p.data, &loss, NULL), EFFACE_OK);
            assert_int_equal(efface_kmeans_loss(fresh, p.data, &right_loss, NULL), EFFACE_OK);
            assert_true(loss == right_loss);
            const efface_kmeans_info a = efface_kmeans_get_info(p.model);
            const efface_kmeans_info b = efface_kmeans_get_info(fresh);
            assert_true(a.n_rows == b.n_rows && a.n_clusters == b.n_clusters);
            assert_true(a.iterations == b.iterations && a.stable == b.stable);
            efface_model_free(fresh);
        }
        free_pair(&p);
    }
}

/* The second column spans 100 of the bound's 2^23 steps until a row reaches further; the grid stays
 * as it is. */
static void coarse_columns_follow(void **state) {
    (void)state;
    float values[40];
    for (size_t i = 0; i < 20; i++) {
        values[2 * i] = (float)(i * 400000);
        values[2 * i + 1] = (float)(i * 5);
    }
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD, 2, 1);
    params.bound = 0x1p23;
    params.iterations = 1;
    pair p = make_pair(&params, 20, 2, values);
    uint32_t column = 99;
    assert_int_equal(efface_kmeans_get_info(p.model).n_coarse_columns, 1);
    efface_kmeans_coarse_columns(p.model, &column, 1);
    assert_int_equal(column, 1);
    const float far[2] = {800000.0F, 700.0F}, near[2] = {800000.0F, 60.0F};
    const uint64_t id = 70;
    efface_report report = learn_one(&p, id, far);
    assert_int_equal(efface_kmeans_get_info(p.model).n_coarse_columns, 0);
    const efface_rows row = {.n_rows = 1, .values = near, .ids = &id};
    assert_int_equal(efface_model_update(p.model, p.data, &row, &report, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_get_info(p.model).n_coarse_columns, 1);
    check_law(&p);
    for (uint64_t gone = 1; gone < 20; gone++)
        (void)forget_one(&p, gone);
    (void)forget_one(&p, 70); /* a column of one value is not coarse */
    assert_int_equal(efface_kmeans_get_info(p.model).n_coarse_columns, 0);
    free_pair(&p);
}

static void the_last_row_can_go_and_another_come(void **state) {
    (void)state;
    for (int method = 0; method < 3; method++) {
        const float values[4] = {1.0F, 2.0F, 5.0F, 9.0F}, other[2] = {4.0F, 4.0F};
        const efface_kmeans_params params = params_of((efface_method)method, 2, 11);
        pair p = make_pair(&params, 2, 2, values);
        (void)forget_one(&p, 0);
        (void)forget_one(&p, 1);
        assert_int_equal(efface_kmeans_get_info(p.model).n_clusters, 0);
        uint32_t label = 0;
        double loss = 1.0;
        assert_int_equal(predict_labels(p.model, 1, values, 0, &label, NULL), EFFACE_E_ARGUMENT);
        assert_int_equal(efface_kmeans_loss(p.model, p.data, &loss, NULL), EFFACE_OK);
        assert_true(loss == 0.0);
        verify_says(&p, NULL, 0, 0, 0);
        const uint64_t gone = 1;
        REFUSED(&p, EFFACE_E_NOT_FOUND, "id 1", FORGET(&p, &gone, 1, EFFACE_MISSING_FAIL));
        const efface_report report = learn_one(&p, 1, other);
        assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
        assert_int_equal(efface_kmeans_get_info(p.model).n_clusters, 1);
        free_pair(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_ids_are_named),
        cmocka_unit_test(unknown_ids_can_be_skipped),
        cmocka_unit_test(ids_that_come_twice_are_refused),
        cmocka_unit_test(ids_and_owners_come_together),
        cmocka_unit_test(owners_leave_with_all_their_rows),
        cmocka_unit_test(nobody_is_no_owner),
        cmocka_unit_test(another_set_is_refused),
        cmocka_unit_test(verify_refuses_other_columns),
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(rows_that_cannot_be_learned_change_nothing),
        cmocka_unit_test(ranges_that_were_given_are_kept_to),
        cmocka_unit_test(rows_that_cannot_be_updated_change_nothing),
        cmocka_unit_test(empty_requests_do_nothing),
        cmocka_unit_test(reports_and_errors_are_optional),
        cmocka_unit_test(verify_finds_what_is_wrong),
        cmocka_unit_test(rekey_gives_another_model),
        cmocka_unit_test(labels_and_loss_follow),
        cmocka_unit_test(coarse_columns_follow),
        cmocka_unit_test(the_last_row_can_go_and_another_come),
    };
    return cmocka_run_group_tests_name("change", tests, NULL, NULL);
}
