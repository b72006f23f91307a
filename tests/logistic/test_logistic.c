/*
 * Logistic regression and the linear machine: the loss is near that of the optimum, which is found
 * here in long double; most rows leave without a look at others; weights, threads, classes, and
 * what is refused. That states are those of fresh fits is tested for every family (tests/law).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "efface/efface.h"
#include "law/draws.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define D 4
#define P (D + 1)

/* ---------------------------------------------------------------- rows */

typedef struct rows {
    size_t n;
    float *x;
    int64_t *labels, *weights;
} rows;

/* Classes 3 and 8, or further ones, that the columns tell with some doubt. */
static rows draw_rows(size_t n, unsigned n_classes, uint64_t seed) {
    static const float slopes[D] = {1.0F, -2.0F, 0.5F, 0.0F};
    rows r = {.n = n};
    rng_state = mix(seed);
    r.x = make(n * D, sizeof *r.x);
    r.labels = make(n, sizeof *r.labels);
    r.weights = make(n, sizeof *r.weights);
    for (size_t i = 0; i < n; i++) {
        float z = 0.3F;
        for (size_t j = 0; j < D; j++) {
            r.x[i * D + j] = (float)(1 + j) * (unit() + unit() - 1.0F) + (j == 1 ? 2.0F : 0.0F);
            z += slopes[j] * r.x[i * D + j] / (float)(1 + j);
        }
        z += 2.0F * (unit() + unit() - 1.0F);
        const float step = 1.2F / (float)(n_classes - 1);
        int64_t c = 0;
        while (c + 1 < (int64_t)n_classes && z > -2.5F + step * (float)(c + 1) + 0.8F)
            c++;
        r.labels[i] = 3 + 5 * c;
        r.weights[i] = 1;
    }
    return r;
}

static efface_data *set_of(const rows *r) {
    efface_data *data = NULL;
    const efface_rows batch = {
        .n_rows = r->n, .values = r->x, .labels = r->labels, .weights = r->weights};
    assert_int_equal(efface_data_create(D, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &batch, NULL), EFFACE_OK);
    return data;
}

static void free_rows(rows *r) {
    free(r->x);
    free(r->labels);
    free(r->weights);
}

static efface_logistic_params params_of(efface_loss loss, double alpha, uint64_t seed) {
    efface_logistic_params params;
    efface_logistic_params_init(&params);
    params.loss = loss;
    params.alpha = alpha;
    params.common.seed = seed;
    params.common.n_threads = 1;
    return params;
}

static efface_model *fit(const efface_data *data, const efface_logistic_params *params) {
    efface_model *model = NULL;
    efface_error error = {.message = ""};
    if (efface_logistic_fit(data, params, &model, &error) != EFFACE_OK)
        fail_msg("%s", error.message);
    return model;
}

static void read_row(const efface_model *model, const char *table, uint64_t row, double *values) {
    assert_int_equal(
        efface_predictor_read_table(efface_model_predictor(model), table, row, NULL, values, NULL),
        EFFACE_OK);
}

/* ---------------------------------------------------------------- the optimum */

typedef long double real;

static real loss_at(const rows *r, efface_loss loss, real alpha, int64_t of, const real *b,
                    real *slopes, real (*bends)[P]) {
    real total = 0.0L;
    memset(slopes, 0, P * sizeof *slopes);
    memset(bends, 0, P * sizeof *bends);
    for (size_t i = 0; i < r->n; i++) {
        real x[P] = {1.0L}, t = 0.0L;
        const real s = r->labels[i] == of ? 1.0L : -1.0L, w = (real)r->weights[i];
        for (size_t j = 0; j < D; j++)
            x[j + 1] = r->x[i * D + j];
        for (int j = 0; j < P; j++)
            t += s * b[j] * x[j];
        const bool logistic = loss == EFFACE_LOSS_LOGISTIC;
        const real miss = t < 1.0L ? 1.0L - t : 0.0L, p = 1.0L / (1.0L + expl(t));
        const real slope = logistic ? -s * p : -2.0L * s * miss;
        const real bend = logistic ? p * (1.0L - p) : miss > 0.0L ? 2.0L : 0.0L;
        total += w * (logistic ? log1pl(expl(-t)) : miss * miss);
        for (int j = 0; j < P; j++) {
            slopes[j] += w * slope * x[j];
            for (int l = 0; l < P; l++)
                bends[j][l] += w * bend * x[j] * x[l];
        }
    }
    for (int j = 1; j < P; j++) {
        total += alpha / 2.0L * b[j] * b[j];
        slopes[j] += alpha * b[j];
        bends[j][j] += alpha;
    }
    return total;
}

/* Gauss's elimination; the matrix is positive definite. */
static void solve(real (*a)[P], real *y) {
    for (int c = 0; c < P; c++)
        for (int i = c + 1; i < P; i++) {
            const real part = a[i][c] / a[c][c];
            for (int j = c; j < P; j++)
                a[i][j] -= part * a[c][j];
            y[i] -= part * y[c];
        }
    for (int i = P; i-- > 0;) {
        for (int j = i + 1; j < P; j++)
            y[i] -= a[i][j] * y[j];
        y[i] /= a[i][i];
    }
}

static real least_loss(const rows *r, efface_loss loss, real alpha, int64_t of, real *b) {
    real slopes[P], bends[P][P], other[P];
    memset(b, 0, P * sizeof *b);
    real least = loss_at(r, loss, alpha, of, b, slopes, bends);
    for (int step = 0; step < 60; step++) {
        solve(bends, slopes);
        real part = 2.0L, now = least;
        for (int half = 0; half < 60 && !(now < least); half++) {
            real unused[P], unused_too[P][P];
            part /= 2.0L;
            for (int j = 0; j < P; j++)
                other[j] = b[j] - part * slopes[j];
            now = loss_at(r, loss, alpha, of, other, unused, unused_too);
        }
        if (!(now < least))
            break;
        memcpy(b, other, sizeof other);
        least = loss_at(r, loss, alpha, of, b, slopes, bends);
    }
    return least;
}

static void check_loss(size_t n, efface_loss loss, double alpha, uint64_t seed, double *sum) {
    rows r = draw_rows(n, 2, seed);
    efface_data *const data = set_of(&r);
    const efface_logistic_params params = params_of(loss, alpha, seed);
    efface_model *const model = fit(data, &params);
    double quality[4], terms[P];
    real b[P], slopes[P], bends[P][P], found[P];
    read_row(model, "quality", 0, quality);
    read_row(model, "coefficients", 0, terms);
    const real least = least_loss(&r, loss, alpha, 8, b);
    for (int j = 0; j < P; j++)
        found[j] = terms[j];
    const real said = quality[0] + quality[1],
               is = loss_at(&r, loss, alpha, 8, found, slopes, bends);
    assert_true(fabsl(said - is) < 1e-5L * is); /* values are rounded to a grid */
    assert_true(is > least - 1e-9L * least);
    *sum += (double)(is / least - 1.0L);
    if (!(is < 1.01L * least))
        fail_msg("seed %u: the loss is %Lf, the least %Lf", (unsigned)seed, is, least);
    efface_model_free(model);
    efface_data_free(data);
    free_rows(&r);
}

static void the_loss_is_near_the_least(void **state) {
    (void)state;
    for (int loss = 0; loss < 2; loss++) {
        double sum = 0.0;
        for (uint64_t seed = 1; seed <= 10; seed++)
            check_loss(3000, (efface_loss)loss, seed % 3 == 0 ? 0.0 : 1.0, seed, &sum);
        assert_true(sum / 10.0 < 0.002);
    }
}

/* Standard errors are those of the curvature near the optimum. */
static void errors_are_standard_errors(void **state) {
    (void)state;
    rows r = draw_rows(4000, 2, 5);
    efface_data *const data = set_of(&r);
    efface_logistic_params params = params_of(EFFACE_LOSS_LOGISTIC, 1.0, 5);
    params.width = 0x1p-10;
    efface_model *const model = fit(data, &params);
    double errors[P];
    real b[P], slopes[P], bends[P][P];
    read_row(model, "errors", 0, errors);
    (void)least_loss(&r, EFFACE_LOSS_LOGISTIC, 1.0L, 8, b);
    for (int j = 0; j < P; j++) {
        real y[P] = {0};
        y[j] = 1.0L;
        (void)loss_at(&r, EFFACE_LOSS_LOGISTIC, 1.0L, 8, b, slopes, bends);
        solve(bends, y);
        assert_true(fabs(errors[j] / sqrt((double)y[j]) - 1.0) < 0.08);
    }
    efface_model_free(model);
    efface_data_free(data);
    free_rows(&r);
}

/* ---------------------------------------------------------------- requests */

static void check_digest(const efface_model *model, const efface_data *data,
                         const efface_logistic_params *params) {
    unsigned char ours[EFFACE_DIGEST_BYTES], right[EFFACE_DIGEST_BYTES];
    efface_model *const fresh = fit(data, params);
    assert_int_equal(efface_model_digest(model, ours, NULL), EFFACE_OK);
    assert_int_equal(efface_model_digest(fresh, right, NULL), EFFACE_OK);
    assert_memory_equal(ours, right, sizeof ours);
    efface_model_free(fresh);
}

static void most_rows_leave_alone(void **state) {
    (void)state;
    for (int loss = 0; loss < 2; loss++) {
        rows r = draw_rows(20000, 2, 9);
        efface_data *const data = set_of(&r);
        const efface_logistic_params params = params_of((efface_loss)loss, 1.0, 1 + (uint64_t)loss);
        efface_model *const model = fit(data, &params);
        unsigned n_adjusted = 0, n_repaired = 0, n_refitted = 0;
        for (uint64_t i = 0; i < 200; i++) {
            const uint64_t id = i * 97;
            efface_report report, preview;
            const efface_request request = {.ids = &id, .n_ids = 1};
            assert_int_equal(efface_model_preview(model, data, &request, &preview, NULL),
                             EFFACE_OK);
            assert_int_equal(efface_model_forget(model, data, &request, &report, NULL), EFFACE_OK);
            assert_int_equal(preview.action, report.action);
            assert_string_equal(preview.where, report.where);
            assert_true(preview.rows_visited >= report.rows_visited);
            assert_true(report.rows_visited == 0 || report.action != EFFACE_ACTION_ADJUSTED);
            n_adjusted += report.action == EFFACE_ACTION_ADJUSTED;
            n_repaired += report.action == EFFACE_ACTION_REPAIRED;
            n_refitted += report.action == EFFACE_ACTION_REFITTED;
            if (i % 20 == 0 || report.action == EFFACE_ACTION_REPAIRED)
                check_digest(model, data, &params);
        }
        print_message("adjusted %u, repaired %u, refitted %u\n", n_adjusted, n_repaired,
                      n_refitted);
        assert_true(n_adjusted >= 160);
        efface_model_free(model);
        efface_data_free(data);
        free_rows(&r);
    }
}

/* ---------------------------------------------------------------- other rows */

/* Rows that a plane parts have no finite optimum without a penalty: the fit ends all the same. */
static void separable_rows_end(void **state) {
    (void)state;
    for (int loss = 0; loss < 2; loss++) {
        rows r = draw_rows(300, 2, 11);
        for (size_t i = 0; i < r.n; i++)
            r.labels[i] = r.x[i * D] > 0.1F ? 8 : 3;
        efface_data *const data = set_of(&r);
        const efface_logistic_params params = params_of((efface_loss)loss, 0.0, 3);
        efface_model *const model = fit(data, &params);
        double terms[P], quality[4];
        efface_number numbers[300];
        read_row(model, "coefficients", 0, terms);
        read_row(model, "quality", 0, quality);
        for (int j = 0; j < P; j++)
            assert_true(isfinite(terms[j]) && fabs(terms[j]) < 0x1p24);
        assert_true(quality[2] <= 25.0);
        assert_int_equal(
            efface_predictor_predict(efface_model_predictor(model), r.n, r.x, 0, numbers, NULL),
            EFFACE_OK);
        size_t n_right = 0;
        for (size_t i = 0; i < r.n; i++)
            n_right += numbers[i].whole == r.labels[i];
        assert_true(n_right >= 295);
        const uint64_t id = 17;
        assert_int_equal(
            efface_model_forget(model, data, &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
            EFFACE_OK);
        check_digest(model, data, &params);
        efface_model_free(model);
        efface_data_free(data);
        free_rows(&r);
    }
}

/* A row of weight 3 adds what three rows add. */
static void weights_count(void **state) {
    (void)state;
    rows r = draw_rows(1000, 2, 13);
    for (size_t i = 0; i < r.n; i++)
        r.weights[i] = 1 + (int64_t)below(3);
    efface_data *const data = set_of(&r);
    efface_logistic_params params = params_of(EFFACE_LOSS_LOGISTIC, 1.0, 3);
    params.width = 0x1p-10;
    efface_model *const model = fit(data, &params);
    double terms[P];
    real b[P];
    read_row(model, "coefficients", 0, terms);
    (void)least_loss(&r, EFFACE_LOSS_LOGISTIC, 1.0L, 8, b);
    for (int j = 0; j < P; j++)
        assert_true(fabs(terms[j] - (double)b[j]) < 1e-3);
    efface_model_free(model);
    efface_data_free(data);
    free_rows(&r);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    rows r = draw_rows(30000, 3, 15);
    efface_data *const data = set_of(&r);
    unsigned char first[EFFACE_DIGEST_BYTES], digest[EFFACE_DIGEST_BYTES];
    for (uint32_t n_threads = 1; n_threads <= 5; n_threads += 2) {
        efface_logistic_params params = params_of(EFFACE_LOSS_LOGISTIC, 1.0, 3);
        params.common.n_threads = n_threads;
        efface_model *const model = fit(data, &params);
        assert_int_equal(efface_model_digest(model, digest, NULL), EFFACE_OK);
        if (n_threads == 1)
            memcpy(first, digest, sizeof first);
        assert_memory_equal(first, digest, sizeof first);
        efface_model_free(model);
    }
    efface_data_free(data);
    free_rows(&r);
}

/* ---------------------------------------------------------------- classes */

static void probabilities_sum_to_one(void **state) {
    (void)state;
    for (unsigned n_classes = 1; n_classes <= 4; n_classes++) {
        rows r = draw_rows(2000, n_classes < 2 ? 2 : n_classes, 21);
        for (size_t i = 0; n_classes == 1 && i < r.n; i++)
            r.labels[i] = 5;
        efface_data *const data = set_of(&r);
        const efface_logistic_params params = params_of(EFFACE_LOSS_LOGISTIC, 1.0, 3);
        efface_model *const model = fit(data, &params);
        const efface_predictor *const by = efface_model_predictor(model);
        const uint32_t k = efface_model_get_info(model).n_classes;
        assert_int_equal(k, n_classes);
        double *const chances = make(r.n * k, sizeof *chances), *const decisions = make(
                                                                    r.n * k, sizeof *decisions);
        efface_number *const numbers = make(r.n, sizeof *numbers);
        int64_t classes[4];
        efface_predictor_classes(by, classes, 4);
        assert_int_equal(efface_predictor_predict(by, r.n, r.x, 0, numbers, NULL), EFFACE_OK);
        assert_int_equal(
            efface_predictor_score(by, EFFACE_SCORES_PROBABILITIES, r.n, r.x, 0, chances, NULL),
            EFFACE_OK);
        assert_int_equal(
            efface_predictor_score(by, EFFACE_SCORES_DECISIONS, r.n, r.x, 0, decisions, NULL),
            EFFACE_OK);
        size_t n_right = 0;
        for (size_t i = 0; i < r.n; i++) {
            double sum = 0.0;
            uint32_t best = 0;
            for (uint32_t c = 0; c < k; c++) {
                sum += chances[i * k + c];
                best = chances[i * k + c] > chances[i * k + best] ? c : best;
                assert_true(decisions[i * k + c] <= decisions[i * k + best] || c > best);
            }
            assert_true(fabs(sum - 1.0) < 1e-12);
            assert_true(numbers[i].whole == classes[best]);
            n_right += numbers[i].whole == r.labels[i];
        }
        assert_true(n_right * 2 > r.n);
        free(chances);
        free(decisions);
        free(numbers);
        efface_model_free(model);
        efface_data_free(data);
        free_rows(&r);
    }
}

static void require_message(efface_status status, efface_status wanted, const efface_error *error,
                            const char *part) {
    assert_int_equal(status, wanted);
    if (strstr(error->message, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, error->message);
}

static void what_is_refused(void **state) {
    (void)state;
    rows r = draw_rows(50, 2, 23);
    efface_data *const data = set_of(&r);
    efface_error error = {.message = ""};
    efface_model *model = NULL;
    double number[2];
    efface_number class_of;
    static const struct {
        double alpha, width, bound;
        uint32_t sample, steps;
        const char *part;
    } wrong[] = {
        {-1.0, 0.0, 0.0, 4, 25, "alpha must be"},
        {(double)NAN, 0.0, 0.0, 4, 25, "alpha must be"},
        {1.0, 1e9, 0.0, 4, 25, "the width must be"},
        {1.0, -1.0, 0.0, 4, 25, "the width must be"},
        {1.0, 0.0, -1.0, 4, 25, "the bound must be"},
        {1.0, 0.0, 0.0, 0, 25, "the sample must be"},
        {1.0, 0.0, 0.0, 4, 0, "the number of steps"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        efface_logistic_params params = params_of(EFFACE_LOSS_LOGISTIC, wrong[i].alpha, 1);
        params.width = wrong[i].width;
        params.bound = wrong[i].bound;
        params.sample = wrong[i].sample;
        params.steps = wrong[i].steps;
        require_message(efface_logistic_fit(data, &params, &model, &error), EFFACE_E_ARGUMENT,
                        &error, wrong[i].part);
    }
    const efface_logistic_params hinge = params_of(EFFACE_LOSS_SQUARED_HINGE, 1.0, 1);
    model = fit(data, &hinge);
    require_message(efface_predictor_score(efface_model_predictor(model),
                                           EFFACE_SCORES_PROBABILITIES, 1, r.x, 0, number, &error),
                    EFFACE_E_ARGUMENT, &error, "no probabilities");
    assert_string_equal(efface_model_get_info(model).kind, "linear support vector machine");
    efface_model_free(model);
    efface_data_free(data);

    for (size_t i = 0; i < r.n; i++)
        r.labels[i] = EFFACE_NO_LABEL;
    efface_data *const without = set_of(&r);
    model = fit(without, &hinge);
    require_message(
        efface_predictor_predict(efface_model_predictor(model), 1, r.x, 0, &class_of, &error),
        EFFACE_E_ARGUMENT, &error, "no row that has a class");
    assert_int_equal(efface_model_get_info(model).n_numbers, 0);
    efface_model_free(model);
    efface_data_free(without);
    free_rows(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_is_near_the_least),
        cmocka_unit_test(errors_are_standard_errors),
        cmocka_unit_test(most_rows_leave_alone),
        cmocka_unit_test(separable_rows_end),
        cmocka_unit_test(weights_count),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(probabilities_sum_to_one),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests_name("logistic", tests, NULL, NULL);
}
