/*
 * Linear regressions where rounding matters: standard errors under penalties that are small beside
 * the rows, which are right or not a number; and leaving rows out, when it is interrupted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "sums/sums_scene.h"

#define N_ROWS 300

static sums_set s;
static const uint32_t target = 2;

/* A feature, another one that is to be filled, and the target. */
static void draw_rows(void) {
    draw_set(&s, N_ROWS, 3, 17);
    for (size_t i = 0; i < s.n; i++) {
        float *const row = s.values + 3 * i;
        row[2] = on_lattice(2.0f * row[0] + 1.0f + unit());
    }
}

static table_row errors_under(double alpha) {
    efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
    params.targets = &target;
    params.n_targets = 1;
    params.linear.alpha = alpha;
    efface_model *const model = fit_sums(&s, &params);
    const table_row errors = read_row(model, NULL, "errors", 0, NULL);
    efface_model_free(model);
    return errors;
}

/* A column of fives is the intercept once more. It is left out and changes no error. */
static void a_constant_column_changes_no_error(void **state) {
    (void)state;
    draw_rows();
    for (size_t i = 0; i < s.n; i++)
        s.values[3 * i + 1] = 5.0f;
    make_data(&s);
    const table_row want = errors_under(0.0);
    assert_true(want.named[0] > 0.0);
    for (double alpha = 1e-6; alpha > 1e-30; alpha /= 100.0) {
        const table_row got = errors_under(alpha);
        if (!(fabs(got.named[0] / want.named[0] - 1.0) < 1e-6 &&
              fabs(got.at[0] / want.at[0] - 1.0) < 1e-6 && isnan(got.at[1])))
            fail_msg("alpha %g: errors %g, %g, %g instead of %g, %g, NaN", alpha, got.named[0],
                     got.at[0], got.at[1], want.named[0], want.at[0]);
    }
    free_set(&s);
    s.data = NULL;
}

/* The same column twice: each copy gets half of the coefficient, and half of its error. Below some
 * alpha that cannot be computed, and below another one the second copy is left out. */
static void errors_of_copies_are_right_or_unknown(void **state) {
    (void)state;
    draw_rows();
    for (size_t i = 0; i < s.n; i++)
        s.values[3 * i + 1] = s.values[3 * i];
    make_data(&s);
    const double alone = errors_under(0.0).at[0];
    int n_known = 0, n_unknown = 0;
    for (double alpha = 1e-2; alpha > 1e-14; alpha /= 10.0) {
        const table_row got = errors_under(alpha);
        const bool halved = fabs(got.at[0] / (alone / 2.0) - 1.0) < 0.05;
        const bool left_out = fabs(got.at[0] / alone - 1.0) < 0.01 && isnan(got.at[1]);
        if (!halved && !left_out && !isnan(got.at[0]))
            fail_msg("alpha %g: the errors of copies are %g and %g, that of one %g", alpha,
                     got.at[0], got.at[1], alone);
        n_known += halved;
        n_unknown += isnan(got.at[0]);
    }
    assert_true(n_known >= 2 && n_unknown >= 2);
    /* A penalty far above all rows leaves nothing of the coefficient, and little of its error. */
    const double shrunk = errors_under(1e9).at[0];
    assert_true(shrunk > 0.0 && shrunk < alone);
    free_set(&s);
    s.data = NULL;
}

static int n_questions;

static int stop_at_the_second(void *context) {
    (void)context;
    return ++n_questions == 2;
}

static void interrupted_misses_are_not_written(void **state) {
    (void)state;
    draw_rows();
    make_data(&s);
    efface_sums_params params = params_of(EFFACE_VIEW_LINEAR);
    params.targets = &target;
    params.n_targets = 1;
    params.common.interrupted = stop_at_the_second;
    n_questions = 2;
    efface_model *const model = fit_sums(&s, &params);
    double misses[N_ROWS];
    for (size_t i = 0; i < N_ROWS; i++)
        misses[i] = 77.0;
    n_questions = 0;
    assert_int_equal(efface_linear_leave_one_out(model, s.data, NULL, misses, NULL),
                     EFFACE_E_INTERRUPTED);
    for (size_t i = 0; i < N_ROWS; i++)
        assert_true(misses[i] == 77.0);
    assert_int_equal(efface_linear_leave_one_out(model, s.data, NULL, misses, NULL), EFFACE_OK);
    assert_true(misses[0] != 77.0 && misses[N_ROWS - 1] != 77.0);
    efface_model_free(model);
    free_set(&s);
    s.data = NULL;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_column_changes_no_error),
        cmocka_unit_test(errors_of_copies_are_right_or_unknown),
        cmocka_unit_test(interrupted_misses_are_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
