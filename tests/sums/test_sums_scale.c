/*
 * The scale `standard` of views of sums: what they say is what they would say of rows in units of
 * deviations, computed plainly in long double; the units of columns make no difference to it; and
 * the state knows nothing of it. Classes are in test_sums_classes.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sums/sums_scene.h"

/* ---------------------------------------------------------------- as of scaled rows */

static void penalties_are_those_of_scaled_rows(void **state) {
    (void)state;
    static sums_set s;
    static const double alphas[] = {0.0, 0.5, 30.0};
    const uint32_t target = 2;
    for (int kind = 0; kind < 12; kind++) {
        const uint32_t unit_weight = kind % 4 == 3 ? 3 : 1;
        real deviations[PLAIN_MOST];
        draw_set(&s, 60 + 10 * (size_t)kind, 4 + (uint32_t)kind % 3, 100 + (uint64_t)kind);
        make_target(&s, target);
        if (kind % 2 != 0)
            draw_weights(&s, 5);
        make_data(&s);
        efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
        params.targets = &target;
        params.n_targets = 1;
        params.weight_unit = unit_weight;
        params.linear.alpha = alphas[kind / 4];
        params.linear.scale = EFFACE_SCALE_STANDARD;
        efface_model *const model = fit_sums(&s, &params);
        const plain_rows r = plain_of(&s, &target, 1, target, unit_weight, NULL);
        const plain_class all = standardize(&s, &r, -2, deviations);
        const plain_line want = plain_linear(&r, (real)params.linear.alpha, 1);
        const table_row w = read_row(model, NULL, "coefficients", 0, NULL);
        const table_row e = read_row(model, NULL, "errors", 0, NULL);
        const table_row q = read_row(model, NULL, "quality", 0, NULL);
        real intercept = want.b;
        for (uint32_t j = 0, p = 0; j < s.d; j++) {
            if (j == target)
                continue;
            check_close(w.at[j], want.w[p] / deviations[p], 1e-3L, "coefficient", j);
            check_close(e.at[j], want.errors[p] / deviations[p], 1e-3L, "error", j);
            intercept -= want.w[p] / deviations[p] * all.mean[p];
            p++;
        }
        check_close(w.named[0], intercept, 1e-3L, "intercept", 0);
        check_close(q.named[0], want.r2, 1e-3L, "R^2", 0);
        efface_model_free(model);
        free_set(&s);
    }
}

/* One row left out, the units staying those of all rows: as with rows that were scaled before. */
static void rows_are_left_out_in_the_units_of_all(void **state) {
    (void)state;
    static sums_set s;
    real deviations[PLAIN_MOST];
    const uint32_t target = 0;
    draw_set(&s, 40, 5, 8);
    make_target(&s, target);
    make_data(&s);
    efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
    params.targets = &target;
    params.n_targets = 1;
    params.linear.alpha = 7.0;
    params.linear.scale = EFFACE_SCALE_STANDARD;
    efface_model *const model = fit_sums(&s, &params);
    double misses[40];
    assert_int_equal(efface_linear_leave_one_out(model, s.data, NULL, misses, NULL), EFFACE_OK);
    const plain_rows r = plain_of(&s, &target, 1, target, 1, NULL);
    (void)standardize(&s, &r, -2, deviations);
    for (size_t i = 0; i < s.n; i++) {
        s.w[i] = 0.0L;
        const plain_line without = plain_linear(&r, 7.0L, 1);
        s.w[i] = 1.0L;
        real predicted = without.b;
        for (size_t j = 0; j < r.p; j++)
            predicted += without.w[j] * r.x[i * r.p + j];
        check_close(misses[i], r.y[i] - predicted, 1.0L, "miss of row", i);
    }
    efface_model_free(model);
    free_set(&s);
}

static void check_components(sums_set *s, uint32_t unit_weight, int whiten) {
    real deviations[PLAIN_MOST], variances[PLAIN_MOST];
    matrix vectors;
    const plain_rows r = plain_of(s, NULL, 0, UINT32_MAX, unit_weight, NULL);
    const plain_class before = standardize(s, &r, -2, deviations);
    plain_class all = plain_moments(&r, -2);
    for (size_t j = 0; j < r.p; j++)
        for (size_t l = 0; l < r.p; l++)
            all.scatter[j][l] /= all.weight - 1.0L;
    eigen(r.p, all.scatter, variances, vectors);
    efface_sums_params params = params_of(EFFACE_VIEW_COMPONENTS);
    params.components.whiten = whiten;
    params.components.scale = EFFACE_SCALE_STANDARD;
    params.weight_unit = unit_weight;
    efface_model *const model = fit_sums(s, &params);
    const table_row by = read_row(model, NULL, "deviations", 0, NULL);
    efface_number *const numbers = make(s->n * s->d, sizeof *numbers);
    assert_int_equal(
        efface_predictor_predict(efface_model_predictor(model), s->n, s->values, 0, numbers, NULL),
        EFFACE_OK);
    assert_int_equal(by.n_rows, 1);
    for (uint32_t j = 0; j < s->d; j++)
        check_close(by.at[j], deviations[j], 0.0L, "deviation", j);
    for (uint32_t c = 0; c < s->d; c++) {
        const table_row component = read_row(model, NULL, "components", c, NULL);
        const table_row variance = read_row(model, NULL, "variances", c, NULL);
        check_close(variance.named[0], variances[c], 1e-3L, "variance", c);
        for (uint32_t j = 0; j < s->d; j++)
            check_close(component.at[j], vectors[c][j] / deviations[j], 1.0L, "component", j);
        for (size_t i = 0; i < s->n; i++) {
            real along = 0.0L;
            for (uint32_t j = 0; j < s->d; j++)
                along += vectors[c][j] * r.x[i * r.p + j];
            check_close(numbers[i * s->d + c].real, whiten ? along / sqrtl(variances[c]) : along,
                        1.0L, "coordinate", i);
        }
    }
    assert_true(before.weight > 0.0L);
    free(numbers);
    efface_model_free(model);
}

static void components_are_those_of_scaled_rows(void **state) {
    (void)state;
    static sums_set s;
    for (uint32_t d = 2; d <= 9; d++) {
        draw_set(&s, 100 + 20 * d, d, 160 + d);
        for (size_t i = 0; i < s.n; i++) /* correlations that differ, so that there are no ties */
            for (uint32_t j = 1; j < d; j++)
                s.values[i * d + j] = on_lattice(s.values[i * d + j] * (0.25f + 0.25f * (float)j) +
                                                 s.values[i * d] / (float)(j + 1));
        if (d % 2 == 0)
            draw_weights(&s, 6);
        make_data(&s);
        check_components(&s, d % 4 == 0 ? 2 : 1, d % 3 == 0);
        free_set(&s);
    }
}

/* ---------------------------------------------------------------- units make no difference */

/* Multiplies columns by powers of two, which float32 holds without rounding. */
static void change_units(sums_set *s) {
    for (size_t i = 0; i < s->n; i++)
        for (uint32_t j = 0; j < s->d; j++)
            s->values[i * s->d + j] = ldexpf(s->values[i * s->d + j], 9 * (int)(j % 7) - 31);
}

/* All numbers that a model predicts or decides by. */
static double *answers(const sums_set *s, const efface_sums_params *params, size_t *n) {
    efface_model *const model = fit_sums(s, params);
    const efface_predictor *const by = efface_model_predictor(model);
    const efface_model_info info = efface_model_get_info(model);
    const size_t each = info.n_classes != 0 ? info.n_classes : info.n_numbers;
    double *const out = make(s->n * each, sizeof *out);
    efface_number *const numbers = make(s->n * each, sizeof *numbers);
    if (info.n_classes != 0) {
        assert_int_equal(
            efface_predictor_score(by, EFFACE_SCORES_DECISIONS, s->n, s->values, 0, out, NULL),
            EFFACE_OK);
    } else {
        assert_int_equal(efface_predictor_predict(by, s->n, s->values, 0, numbers, NULL),
                         EFFACE_OK);
        for (size_t i = 0; i < s->n * each; i++)
            out[i] = numbers[i].real;
    }
    *n = s->n * each;
    free(numbers);
    efface_model_free(model);
    return out;
}

static void units_make_no_difference(void **state) {
    (void)state;
    static const efface_view views[] = {EFFACE_VIEW_LINEAR, EFFACE_VIEW_RIDGE,
                                        EFFACE_VIEW_DISCRIMINANT, EFFACE_VIEW_DISCRIMINANT,
                                        EFFACE_VIEW_COMPONENTS};
    static sums_set s, other;
    const uint32_t target = 7; /* whose unit stays: 7 % 7 */
    for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
        efface_sums_params params = params_of(views[v]);
        if (views[v] == EFFACE_VIEW_LINEAR) {
            params.targets = &target;
            params.n_targets = 1;
        }
        params.linear.alpha = 3.0;
        params.discriminant.quadratic = v == 3;
        params.discriminant.shrinkage = 0.3;
        params.linear.scale = params.discriminant.scale = params.components.scale =
            EFFACE_SCALE_STANDARD;
        draw_set(&s, 150, 8, 17);
        draw_classes(&s, 3, true);
        other = s;
        change_units(&other);
        for (size_t i = 0; i < s.n; i++)
            other.values[i * s.d + target] = s.values[i * s.d + target];
        make_data(&s);
        make_data(&other);
        size_t n, m;
        double *const a = answers(&s, &params, &n), *const b = answers(&other, &params, &m);
        assert_int_equal(n, m);
        for (size_t i = 0; i < n; i++) { /* the determinant of a class has the units of rows */
            const size_t first = v == 3 ? i - i % 3 : 0;
            const double base_a = v == 3 ? a[first] : 0.0, base_b = v == 3 ? b[first] : 0.0;
            check_close(b[i] - base_b, (real)(a[i] - base_a), 1.0L, "answer", i);
        }
        /* Without the scale they do. */
        params.linear.scale = params.discriminant.scale = params.components.scale =
            EFFACE_SCALE_NONE;
        double *const c = answers(&other, &params, &m);
        size_t n_same = 0;
        for (size_t i = 0; i < n; i++)
            n_same += c[i] == b[i];
        assert_true(n_same < n / 2);
        free(a);
        free(b);
        free(c);
        free_set(&s);
        free_set(&other);
    }
}

/* ---------------------------------------------------------------- the state, columns, arguments */

/* The same state and digest, and a view may have a scale that the model has not. */
static void the_state_has_no_scale(void **state) {
    (void)state;
    static sums_set s;
    unsigned char digests[2][EFFACE_DIGEST_BYTES];
    double row[2][16];
    draw_set(&s, 80, 5, 4);
    make_data(&s);
    for (int scaled = 0; scaled < 2; scaled++) {
        efface_sums_params params = params_of(EFFACE_VIEW_COMPONENTS);
        params.components.scale = scaled ? EFFACE_SCALE_STANDARD : EFFACE_SCALE_NONE;
        efface_model *const model = fit_sums(&s, &params);
        efface_predictor *view = NULL;
        const efface_components_params asked = {.scale = EFFACE_SCALE_STANDARD};
        assert_int_equal(efface_model_digest(model, digests[scaled], NULL), EFFACE_OK);
        assert_int_equal(efface_components_compute(model, &asked, &view, NULL), EFFACE_OK);
        assert_int_equal(
            efface_predictor_read_table(view, "components", 1, NULL, row[scaled], NULL), EFFACE_OK);
        assert_int_equal(efface_sums_get_params(model).components.scale, params.components.scale);
        efface_predictor_free(view);
        efface_model_free(model);
    }
    assert_memory_equal(digests[0], digests[1], EFFACE_DIGEST_BYTES);
    assert_memory_equal(row[0], row[1], 5 * sizeof **row);
    free_set(&s);
}

/* A constant column is divided by nothing, and tells nothing. */
static void constant_columns_tell_nothing(void **state) {
    (void)state;
    static sums_set s, without;
    const uint32_t target = 3;
    draw_set(&s, 50, 4, 6);
    draw_classes(&s, 2, false);
    for (size_t i = 0; i < s.n; i++)
        s.values[i * 4 + 1] = 5.25f;
    without = s;
    without.d = 3;
    for (size_t i = 0; i < s.n; i++)
        for (uint32_t j = 0, k = 0; j < 4; j++)
            if (j != 1)
                without.values[i * 3 + k++] = s.values[i * 4 + j];
    make_data(&s);
    make_data(&without);
    for (int v = 0; v < 2; v++) {
        efface_sums_params params = params_of(v == 0 ? EFFACE_VIEW_LINEAR : EFFACE_VIEW_RIDGE);
        params.linear.alpha = 2.0;
        params.linear.scale = EFFACE_SCALE_STANDARD;
        params.targets = &target;
        params.n_targets = v == 0;
        size_t n, m;
        double *const a = answers(&s, &params, &n);
        const uint32_t moved = 2;
        params.targets = &moved;
        double *const b = answers(&without, &params, &m);
        for (size_t i = 0; i < n; i++)
            check_close(a[i], (real)b[i], 1.0L, "answer", i);
        free(a);
        free(b);
    }
    efface_sums_params params = params_of(EFFACE_VIEW_COMPONENTS);
    params.components.scale = EFFACE_SCALE_STANDARD;
    efface_model *const model = fit_sums(&s, &params);
    assert_true(read_row(model, NULL, "deviations", 0, NULL).at[1] == 1.0);
    for (uint32_t c = 0; c < 4; c++)
        assert_true(isfinite(read_row(model, NULL, "components", c, NULL).at[1]));
    efface_model_free(model);
    free_set(&s);
    free_set(&without);
}

static void check_refused(const sums_set *s, const efface_sums_params *params, const char *why) {
    efface_model *model = NULL;
    efface_error error = {.message = ""};
    assert_int_equal(efface_sums_fit(s->data, params, &model, &error), EFFACE_E_ARGUMENT);
    assert_null(model);
    if (strstr(error.message, why) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, why);
}

static void wrong_scales_are_refused(void **state) {
    (void)state;
    static sums_set s;
    const uint32_t target = 0;
    draw_set(&s, 20, 3, 2);
    make_data(&s);
    efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
    params.targets = &target;
    params.n_targets = 1;
    params.linear.scale = EFFACE_SCALE_MINMAX;
    check_refused(&s, &params, "minmax is for k-means");
    params.linear.scale = (efface_scale)9;
    check_refused(&s, &params, "unknown scale 9");
    params.linear.scale = EFFACE_SCALE_STANDARD;
    params.linear.intercept = 0;
    check_refused(&s, &params, "without an intercept");
    params = params_of(EFFACE_VIEW_DISCRIMINANT);
    params.discriminant.scale = (efface_scale)-1;
    check_refused(&s, &params, "unknown scale");
    params = params_of(EFFACE_VIEW_COMPONENTS);
    params.components.scale = EFFACE_SCALE_MINMAX;
    check_refused(&s, &params, "minmax is for k-means");
    free_set(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(penalties_are_those_of_scaled_rows),
        cmocka_unit_test(rows_are_left_out_in_the_units_of_all),
        cmocka_unit_test(components_are_those_of_scaled_rows),
        cmocka_unit_test(units_make_no_difference),
        cmocka_unit_test(the_state_has_no_scale),
        cmocka_unit_test(constant_columns_tell_nothing),
        cmocka_unit_test(wrong_scales_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
