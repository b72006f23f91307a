/*
 * Linear regression and principal components from sums, held against plain computations in long
 * double from the rows: with and without intercept and penalty, several targets, weights, offsets,
 * columns that depend on others, fewer rows than columns, one row, none; and what leaving one row
 * out gives, against really forgetting it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sums/sums_scene.h"

/* ---------------------------------------------------------------- linear regression */

/* Checks one target: coefficients, and what is said of them. */
static void check_line(const efface_model *model, const efface_predictor *predictor, uint64_t row,
                       const sums_set *s, const uint32_t *left_out, size_t n_out,
                       const plain_line *want, const double *offsets, bool has_errors) {
    const table_row w = read_row(model, predictor, "coefficients", row, offsets);
    const table_row e = read_row(model, predictor, "errors", row, offsets);
    const table_row q = read_row(model, predictor, "quality", row, offsets);
    size_t p = 0;
    for (uint32_t j = 0; j < s->d; j++) {
        if (is_listed(left_out, n_out, j)) {
            assert_true(isnan(w.at[j])); /* a target has no coefficient */
            continue;
        }
        check_close(w.at[j], want->w[p], 1e-3L, "coefficient", j);
        if (has_errors)
            check_close(e.at[j], want->errors[p], 1e-3L, "error", j);
        p++;
    }
    assert_int_equal(w.n_named, 1);
    check_close(w.named[0], want->b, 1e-3L, "intercept", row);
    if (!has_errors)
        return;
    /* Offsets move the place where features are 0, and nothing is said of the error there. */
    if (isnan(want->b_error) || offsets != NULL)
        assert_true(isnan(e.named[0]));
    else
        check_close(e.named[0], want->b_error, 1e-3L, "error of the intercept", row);
    assert_true(q.n_named >= 3);
    check_close(q.named[0], want->r2, 1e-3L, "R^2", row);
    check_close(q.named[1], want->deviation, 1e-3L, "deviation", row);
    check_close(q.named[2], want->freedom, 1e-3L, "degrees of freedom", row);
}

static void check_predictions(const efface_model *model, const efface_predictor *predictor,
                              const sums_set *s, const plain_rows *r, const plain_line *want,
                              uint32_t number, uint32_t n_targets) {
    efface_number *const numbers = make(s->n * n_targets, sizeof *numbers);
    assert_int_equal(model != NULL
                         ? efface_predictor_predict(efface_model_predictor(model), s->n, s->values,
                                                    0, numbers, NULL)
                         : efface_predictor_predict(predictor, s->n, s->values, 0, numbers, NULL),
                     EFFACE_OK);
    for (size_t i = 0; i < s->n; i++) {
        real y = want->b;
        for (size_t j = 0; j < r->p; j++)
            y += want->w[j] * r->x[i * r->p + j];
        check_close(numbers[i * n_targets + number].real, y, 1.0L, "prediction", i);
    }
    free(numbers);
}

static void regressions_are_those_of_the_rows(void **state) {
    (void)state;
    static const double alphas[] = {0.0, 0.5, 30.0};
    static sums_set s;
    const uint32_t targets[] = {6, 2};
    for (uint64_t seed = 1; seed <= 6; seed++)
        for (int kind = 0; kind < 12; kind++) {
            const bool weighted = kind % 2 != 0;
            const uint32_t unit_weight = weighted && kind % 4 == 3 ? 3 : 1;
            draw_set(&s, 30 + 50 * (size_t)seed, 3 + (uint32_t)seed + 1, seed);
            const uint32_t d = s.d, n_targets = d > 6 ? 2 : 1;
            const uint32_t *const list = targets + (d > 6 ? 0 : 1);
            make_target(&s, 2);
            if (weighted)
                draw_weights(&s, 5);
            make_data(&s);
            efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
            params.targets = list;
            params.n_targets = n_targets;
            params.weight_unit = unit_weight;
            params.linear =
                (efface_linear_params){alphas[kind / 4], kind % 3 != 2, 1, EFFACE_SCALE_NONE};
            efface_model *const model = fit_sums(&s, &params);
            efface_predictor *predictor = NULL;
            assert_int_equal(efface_linear_solve(model, NULL, &predictor, NULL), EFFACE_OK);
            const efface_model_info info = efface_model_get_info(model);
            assert_int_equal(info.n_numbers, n_targets);
            assert_int_equal(info.predicts, EFFACE_PREDICTS_VALUES);
            assert_int_equal(efface_sums_dropped(model, NULL, 0), 0);
            for (uint32_t t = 0; t < n_targets; t++) {
                const plain_rows r = plain_of(&s, list, n_targets, list[t], unit_weight, NULL);
                const plain_line want =
                    plain_linear(&r, (real)params.linear.alpha, params.linear.intercept);
                check_line(model, NULL, t, &s, list, n_targets, &want, NULL, true);
                check_line(NULL, predictor, t, &s, list, n_targets, &want, NULL, true);
                check_predictions(model, NULL, &s, &r, &want, t, n_targets);
                check_predictions(NULL, predictor, &s, &r, &want, t, n_targets);
                assert_int_equal(efface_predictor_value_column(efface_model_predictor(model), t),
                                 list[t]);
                assert_int_equal(efface_predictor_value_column(predictor, t), list[t]);
            }
            for (uint32_t j = 0; j < d; j++)
                assert_int_equal(efface_predictor_is_input(efface_model_predictor(model), j) != 0,
                                 !is_listed(list, n_targets, j));
            efface_predictor_free(predictor);
            efface_model_free(model);
            free_set(&s);
        }
}

/* Another alpha than that of the model, without fitting again. */
static void a_view_may_have_other_parameters(void **state) {
    (void)state;
    static sums_set s;
    const uint32_t target = 0;
    draw_set(&s, 100, 5, 77);
    make_target(&s, target);
    make_data(&s);
    efface_sums_params params = params_of(EFFACE_VIEW_MEANS);
    params.targets = &target;
    params.n_targets = 1;
    params.summed = EFFACE_SUMMED_FULL;
    efface_model *const model = fit_sums(&s, &params);
    const plain_rows r = plain_of(&s, &target, 1, target, 1, NULL);
    for (int intercept = 0; intercept < 2; intercept++)
        for (double alpha = 0.0; alpha < 5.0; alpha += 1.5) {
            const efface_linear_params asked = {alpha, intercept, 1, EFFACE_SCALE_NONE};
            efface_predictor *predictor = NULL;
            const plain_line want = plain_linear(&r, (real)alpha, intercept);
            assert_int_equal(efface_linear_solve(model, &asked, &predictor, NULL), EFFACE_OK);
            check_line(NULL, predictor, 0, &s, &target, 1, &want, NULL, false);
            efface_predictor_free(predictor);
        }
    efface_model_free(model);
    free_set(&s);
}

/* In the units of the caller a regression is that of the rows with offsets added. */
static void offsets_move_intercepts_and_means(void **state) {
    (void)state;
    static sums_set s;
    const uint32_t target = 3;
    const double offsets[] = {100.0, -7.5, 0.0, 1000.0, 12.25};
    draw_set(&s, 150, 5, 5);
    make_target(&s, target);
    make_data(&s);
    efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
    params.targets = &target;
    params.n_targets = 1;
    efface_model *model = fit_sums(&s, &params);
    plain_rows r = plain_of(&s, &target, 1, target, 1, offsets);
    const plain_line want = plain_linear(&r, 0.0L, 1);
    check_line(model, NULL, 0, &s, &target, 1, &want, offsets, true);
    efface_model_free(model);

    params = params_of(EFFACE_VIEW_COMPONENTS);
    model = fit_sums(&s, &params);
    r = plain_of(&s, NULL, 0, UINT32_MAX, 1, offsets);
    const plain_class all = plain_moments(&r, -2);
    const table_row means = read_row(model, NULL, "means", 0, offsets);
    const table_row first = read_row(model, NULL, "components", 0, offsets);
    const table_row again = read_row(model, NULL, "components", 0, NULL);
    for (uint32_t j = 0; j < s.d; j++) {
        check_close(means.at[j], all.mean[j], 0.0L, "mean", j);
        assert_true(first.at[j] == again.at[j]);
    }
    efface_model_free(model);

    params = params_of(EFFACE_VIEW_MEANS);
    model = fit_sums(&s, &params);
    const table_row plain = read_row(model, NULL, "means", 0, offsets);
    for (uint32_t j = 0; j < s.d; j++)
        check_close(plain.at[j], all.mean[j], 0.0L, "mean", j);
    efface_model_free(model);
    free_set(&s);
}

/* ---------------------------------------------------------------- columns that add nothing */

/* Column 2 is constant, 4 is column 0 again, 5 the sum of 1 and 3; 6 is the target. */
static void columns_that_depend_on_others_are_left_out(void **state) {
    (void)state;
    static sums_set s;
    const uint32_t target = 6, gone[] = {2, 4, 5, 6};
    draw_set(&s, 120, 7, 8);
    for (size_t i = 0; i < s.n; i++) {
        float *const row = s.values + i * s.d;
        row[2] = 3.25f;
        row[4] = row[0];
        row[5] = row[1] + row[3];
        row[6] = on_lattice(row[0] - 0.5f * row[1] + 2.0f * row[3] + unit());
    }
    make_data(&s);
    efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
    params.targets = &target;
    params.n_targets = 1;
    efface_model *const model = fit_sums(&s, &params);
    uint32_t dropped[7] = {0};
    assert_int_equal(efface_sums_dropped(model, dropped, 7), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(dropped[i], gone[i]);
    memset(dropped, 0, sizeof dropped);
    assert_int_equal(efface_sums_dropped(model, dropped, 1), 3);
    assert_int_equal(dropped[0], 2);
    assert_int_equal(dropped[1], 0);
    const plain_rows r = plain_of(&s, gone, 4, target, 1, NULL);
    const plain_line want = plain_linear(&r, 0.0L, 1);
    const table_row w = read_row(model, NULL, "coefficients", 0, NULL);
    const uint32_t kept[] = {0, 1, 3};
    for (int i = 0; i < 3; i++) {
        check_close(w.at[kept[i]], want.w[i], 1e-3L, "coefficient", kept[i]);
        assert_true(w.at[gone[i]] == 0.0);
    }
    check_close(w.named[0], want.b, 1e-3L, "intercept", 0);
    const table_row q = read_row(model, NULL, "quality", 0, NULL);
    check_close(q.named[0], want.r2, 1e-3L, "R^2", 0);
    check_close(q.named[2], want.freedom, 0.0L, "degrees of freedom", 0);
    check_predictions(model, NULL, &s, &r, &want, 0, 1);
    efface_model_free(model);
    free_set(&s);
}

/* A penalty makes dependent columns share; nothing is left out but what is constant. */
static void a_penalty_keeps_dependent_columns(void **state) {
    (void)state;
    static sums_set s;
    const uint32_t target = 3;
    draw_set(&s, 60, 4, 9);
    for (size_t i = 0; i < s.n; i++)
        s.values[i * 4 + 2] = s.values[i * 4];
    make_target(&s, target);
    make_data(&s);
    efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
    params.targets = &target;
    params.n_targets = 1;
    params.linear.alpha = 1.0;
    efface_model *const model = fit_sums(&s, &params);
    const plain_rows r = plain_of(&s, &target, 1, target, 1, NULL);
    const plain_line want = plain_linear(&r, 1.0L, 1);
    check_line(model, NULL, 0, &s, &target, 1, &want, NULL, false);
    efface_model_free(model);
    free_set(&s);
}

/* Fewer rows than columns: as many columns as rows can tell apart are used, and the line goes
 * through all rows. */
static void more_columns_than_rows(void **state) {
    (void)state;
    static sums_set s;
    const uint32_t target = 9;
    for (size_t n = 2; n <= 9; n++) {
        draw_set(&s, n, 10, 40 + n);
        make_data(&s);
        efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
        params.targets = &target;
        params.n_targets = 1;
        efface_model *const model = fit_sums(&s, &params);
        assert_int_equal(efface_sums_dropped(model, NULL, 0), 9 - (n - 1));
        efface_number numbers[10];
        assert_int_equal(
            efface_predictor_predict(efface_model_predictor(model), n, s.values, 0, numbers, NULL),
            EFFACE_OK);
        for (size_t i = 0; i < n; i++)
            if (fabs(numbers[i].real - (double)s.values[i * 10 + 9]) > 1e-6)
                fail_msg("%zu rows: %.17g instead of %.17g", n, numbers[i].real,
                         (double)s.values[i * 10 + 9]);
        const table_row e = read_row(model, NULL, "errors", 0, NULL);
        assert_true(isnan(e.named[0]));
        efface_model_free(model);
        free_set(&s);
    }
}

static void one_row_and_none(void **state) {
    (void)state;
    static sums_set s;
    const uint32_t target = 1;
    draw_set(&s, 1, 3, 3);
    make_data(&s);
    efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
    params.targets = &target;
    params.n_targets = 1;
    efface_model *const model = fit_sums(&s, &params);
    efface_number number;
    assert_int_equal(
        efface_predictor_predict(efface_model_predictor(model), 1, s.values, 0, &number, NULL),
        EFFACE_OK);
    assert_true(number.real == (double)s.values[1]);
    const uint64_t id = 0;
    assert_int_equal(
        efface_model_forget(model, s.data, &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
        EFFACE_OK);
    efface_error error = {.message = ""};
    efface_predictor *predictor = NULL;
    assert_int_equal(efface_model_get_info(model).n_numbers, 0);
    assert_int_equal(
        efface_predictor_predict(efface_model_predictor(model), 1, s.values, 0, &number, &error),
        EFFACE_E_ARGUMENT);
    assert_true(error.message[0] != '\0');
    assert_int_equal(efface_linear_solve(model, NULL, &predictor, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_components_compute(model, NULL, &predictor, NULL), EFFACE_E_ARGUMENT);
    assert_null(predictor);
    assert_int_equal(efface_sums_dropped(model, NULL, 0), 0);
    assert_int_equal(efface_sums_coarse_columns(model, NULL, 0), 0);
    efface_model_free(model);
    free_set(&s);
}

/* Large means with a small spread are told; an ordinary column is not. */
static void coarse_columns_are_told(void **state) {
    (void)state;
    static sums_set s;
    const uint32_t target = 0;
    draw_set(&s, 80, 4, 31);
    for (size_t i = 0; i < s.n; i++) {
        s.values[i * 4 + 1] = 1e6f + (float)(i % 5);
        s.values[i * 4 + 3] = 7.0f; /* constant: nothing would repair it */
    }
    make_data(&s);
    efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
    params.targets = &target;
    params.n_targets = 1;
    efface_model *const model = fit_sums(&s, &params);
    uint32_t columns[4] = {9, 9, 9, 9};
    assert_int_equal(efface_sums_coarse_columns(model, columns, 4), 1);
    assert_int_equal(columns[0], 1);
    efface_model_free(model);
    free_set(&s);
}

/* ---------------------------------------------------------------- leaving one row out */

typedef struct leaving {
    double bound, alpha;
    uint32_t unit_weight, n_fourier;
    int intercept;
} leaving;

static void check_leave_one_out(sums_set *s, const leaving *how) {
    const uint32_t targets[] = {1, 3};
    efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
    params.targets = targets;
    params.n_targets = 2;
    params.bound = how->bound;
    params.weight_unit = how->unit_weight;
    params.n_fourier = how->n_fourier;
    params.gamma = 0.1;
    params.linear = (efface_linear_params){how->alpha, how->intercept, 0, EFFACE_SCALE_NONE};
    make_data(s);
    efface_model *const model = fit_sums(s, &params);
    double *const misses = make(s->n * 2, sizeof *misses);
    assert_int_equal(efface_linear_leave_one_out(model, s->data, NULL, misses, NULL), EFFACE_OK);
    /* Positions move when rows leave, and come back elsewhere. */
    uint64_t *const ids = make(s->n, sizeof *ids);
    for (size_t i = 0; i < s->n; i++)
        ids[i] = efface_data_row(s->data, i).id;
    for (size_t i = 0; i < s->n; i++) {
        const size_t row = (size_t)ids[i]; /* ids are 0, 1, 2, ... */
        efface_number numbers[2];
        efface_report report;
        const efface_rows back = {.n_rows = 1,
                                  .values = s->values + row * s->d,
                                  .ids = &ids[i],
                                  .weights = &s->weights[row]};
        assert_int_equal(efface_model_forget(model, s->data,
                                             &(efface_request){.ids = &ids[i], .n_ids = 1}, &report,
                                             NULL),
                         EFFACE_OK);
        assert_int_equal(efface_predictor_predict(efface_model_predictor(model), 1, back.values, 0,
                                                  numbers, NULL),
                         EFFACE_OK);
        for (int t = 0; t < 2; t++) {
            const real want = (real)back.values[targets[t]] - (real)numbers[t].real;
            if (report.action == EFFACE_ACTION_ADJUSTED)
                check_close(misses[2 * i + (size_t)t], want, 1.0L, "miss of row", row);
        }
        assert_int_equal(efface_model_learn(model, s->data, &back, NULL, NULL), EFFACE_OK);
    }
    free(ids);
    free(misses);
    efface_model_free(model);
    free_set(s);
}

static void leaving_one_out_is_forgetting_it(void **state) {
    (void)state;
    static sums_set s;
    for (int kind = 0; kind < 12; kind++) {
        const leaving how = {.bound = kind % 3 != 0 ? 64.0 : 0.0,
                             .alpha = (kind & 2) != 0 ? 2.5 : 0.0,
                             .unit_weight = kind > 4 ? 2 : 1,
                             .n_fourier = kind >= 10 ? 9 : 0,
                             .intercept = (kind & 4) == 0};
        draw_set(&s, 40 + 10 * (size_t)kind, 6, 900 + (uint64_t)kind);
        make_target(&s, 3);
        if ((kind & 1) != 0)
            draw_weights(&s, 4);
        for (size_t i = 0; kind >= 8 && i < s.n; i++) { /* a constant column, and one twice */
            s.values[i * s.d] = 2.5f;
            s.values[i * s.d + 5] = s.values[i * s.d + 4];
        }
        check_leave_one_out(&s, &how);
    }
}

/* With as many rows as coefficients, no row can be spared. */
static void rows_that_cannot_be_spared_are_not_numbers(void **state) {
    (void)state;
    static sums_set s;
    const uint32_t target = 0;
    double misses[4];
    draw_set(&s, 4, 4, 12);
    make_data(&s);
    efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
    params.targets = &target;
    params.n_targets = 1;
    efface_model *const model = fit_sums(&s, &params);
    assert_int_equal(efface_linear_leave_one_out(model, s.data, NULL, misses, NULL), EFFACE_OK);
    for (int i = 0; i < 4; i++)
        assert_true(isnan(misses[i]));
    static sums_set other;
    draw_set(&other, 4, 4, 12);
    make_data(&other);
    assert_int_equal(efface_linear_leave_one_out(model, other.data, NULL, misses, NULL),
                     EFFACE_E_ARGUMENT);
    free_set(&other);
    efface_model_free(model);
    free_set(&s);
}

/* ---------------------------------------------------------------- components */

static void check_components(sums_set *s, int64_t unit_weight, uint32_t n_components, int whiten) {
    const plain_rows r = plain_of(s, NULL, 0, UINT32_MAX, unit_weight, NULL);
    plain_class all = plain_moments(&r, -2);
    matrix vectors;
    real variances[PLAIN_MOST], whole = 0.0L;
    for (size_t j = 0; j < r.p; j++)
        for (size_t l = 0; l < r.p; l++)
            all.scatter[j][l] /= all.weight - 1.0L;
    eigen(r.p, all.scatter, variances, vectors);
    for (size_t j = 0; j < r.p; j++)
        whole += variances[j];
    make_data(s);
    efface_sums_params params = params_of(EFFACE_VIEW_COMPONENTS);
    params.components = (efface_components_params){n_components, whiten, EFFACE_SCALE_NONE};
    params.weight_unit = (uint32_t)unit_weight;
    efface_model *const model = fit_sums(s, &params);
    const uint32_t n = n_components != 0 ? n_components : s->d;
    assert_int_equal(efface_model_get_info(model).n_numbers, n);
    efface_number *const numbers = make(s->n * n, sizeof *numbers);
    assert_int_equal(
        efface_predictor_predict(efface_model_predictor(model), s->n, s->values, 0, numbers, NULL),
        EFFACE_OK);
    for (uint32_t c = 0; c < n; c++) {
        const table_row component = read_row(model, NULL, "components", c, NULL);
        const table_row variance = read_row(model, NULL, "variances", c, NULL);
        assert_int_equal(component.n_rows, n);
        check_close(variance.named[0], variances[c], 1e-3L, "variance", c);
        check_close(variance.named[1], variances[c] / whole, 1e-3L, "share", c);
        for (uint32_t j = 0; j < s->d; j++)
            check_close(component.at[j], vectors[c][j], 1.0L, "component", c * 100 + j);
        for (size_t i = 0; i < s->n; i++) {
            real along = 0.0L;
            for (uint32_t j = 0; j < s->d; j++)
                along += vectors[c][j] * (r.x[i * r.p + j] - all.mean[j]);
            if (whiten)
                along /= sqrtl(variances[c]);
            check_close(numbers[i * n + c].real, along, 1.0L, "coordinate", i);
        }
    }
    free(numbers);
    efface_model_free(model);
    free_set(s);
}

static void components_are_those_of_the_rows(void **state) {
    (void)state;
    static sums_set s;
    for (uint32_t d = 1; d <= 10; d++) {
        draw_set(&s, 100 + 20 * d, d, 60 + d);
        for (size_t i = 0; i < s.n; i++) /* spreads that differ, so that there are no ties */
            for (uint32_t j = 0; j < d; j++)
                s.values[i * d + j] = on_lattice(s.values[i * d + j] / (1.0f + 0.5f * (float)j) +
                                                 (j > 0 ? 0.25f * s.values[i * d] : 0.0f));
        if (d % 2 == 0)
            draw_weights(&s, 6);
        check_components(&s, d % 4 == 0 ? 2 : 1, d % 3 == 0 ? d / 2 : 0, d % 3 == 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regressions_are_those_of_the_rows),
        cmocka_unit_test(a_view_may_have_other_parameters),
        cmocka_unit_test(offsets_move_intercepts_and_means),
        cmocka_unit_test(columns_that_depend_on_others_are_left_out),
        cmocka_unit_test(a_penalty_keeps_dependent_columns),
        cmocka_unit_test(more_columns_than_rows),
        cmocka_unit_test(one_row_and_none),
        cmocka_unit_test(coarse_columns_are_told),
        cmocka_unit_test(leaving_one_out_is_forgetting_it),
        cmocka_unit_test(rows_that_cannot_be_spared_are_not_numbers),
        cmocka_unit_test(components_are_those_of_the_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
