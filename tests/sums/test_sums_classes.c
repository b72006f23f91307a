/*
 * Classes from sums, held against plain computations in long double from the rows: linear
 * regression on classes, Gaussian naive Bayes, linear and quadratic discriminants; two classes and
 * many, weights, priors, shrinkage, a class with one row, rows without a class.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sums/sums_scene.h"

#define MOST_CLASSES 6

/* What is wanted of each row and class. Decisions may have a number of their own for each row that
 * all its classes share. */
typedef struct wanted {
    int k;
    bool shift, probabilities;
    real scores[MOST_ROWS][MOST_CLASSES];
} wanted;

static void check_scores(const efface_model *model, const efface_predictor *predictor,
                         const sums_set *s, const wanted *w) {
    const size_t k = (size_t)w->k;
    double *const numbers = make(s->n * k, sizeof *numbers);
    efface_number *const predicted = make(s->n, sizeof *predicted);
    int64_t classes[MOST_CLASSES];
    const uint32_t n_classes = model != NULL ? efface_model_get_info(model).n_classes
                                             : efface_predictor_get_info(predictor).n_classes;
    assert_int_equal(n_classes, k);
    if (model != NULL)
        efface_predictor_classes(efface_model_predictor(model), classes, MOST_CLASSES);
    else
        efface_predictor_classes(predictor, classes, MOST_CLASSES);
    for (size_t c = 0; c < k; c++)
        assert_int_equal(classes[c], label_of((int)(k - 1 - c)));
    assert_int_equal(model != NULL ? efface_predictor_score(efface_model_predictor(model),
                                                            EFFACE_SCORES_DECISIONS, s->n,
                                                            s->values, 0, numbers, NULL)
                                   : efface_predictor_score(predictor, EFFACE_SCORES_DECISIONS,
                                                            s->n, s->values, 0, numbers, NULL),
                     EFFACE_OK);
    assert_int_equal(model != NULL
                         ? efface_predictor_predict(efface_model_predictor(model), s->n, s->values,
                                                    0, predicted, NULL)
                         : efface_predictor_predict(predictor, s->n, s->values, 0, predicted, NULL),
                     EFFACE_OK);
    for (size_t i = 0; i < s->n; i++) {
        size_t best = 0;
        for (size_t c = 0; c < k; c++) {
            const double got = numbers[i * k + c] - (w->shift ? numbers[i * k] : 0.0);
            const real want = w->scores[i][c] - (w->shift ? w->scores[i][0] : 0.0L);
            check_close(got, want, 1.0L, "decision", i * 100 + c);
            if (numbers[i * k + c] > numbers[i * k + best])
                best = c;
        }
        assert_int_equal(predicted[i].whole, classes[best]);
    }
    const efface_status status =
        model != NULL
            ? efface_predictor_score(efface_model_predictor(model), EFFACE_SCORES_PROBABILITIES,
                                     s->n, s->values, 0, numbers, NULL)
            : efface_predictor_score(predictor, EFFACE_SCORES_PROBABILITIES, s->n, s->values, 0,
                                     numbers, NULL);
    assert_int_equal(status, w->probabilities ? EFFACE_OK : EFFACE_E_ARGUMENT);
    for (size_t i = 0; w->probabilities && i < s->n; i++) {
        real top = w->scores[i][0], whole = 0.0L;
        for (size_t c = 0; c < k; c++)
            top = fmaxl(top, w->scores[i][c]);
        for (size_t c = 0; c < k; c++)
            whole += expl(w->scores[i][c] - top);
        double sum = 0.0;
        for (size_t c = 0; c < k; c++) {
            check_close(numbers[i * k + c], expl(w->scores[i][c] - top) / whole, 1.0L,
                        "probability", i * 100 + c);
            sum += numbers[i * k + c];
        }
        assert_true(fabs(sum - 1.0) < 1e-12);
    }
    free(numbers);
    free(predicted);
}

/* ---------------------------------------------------------------- cases */

/* What goes through all kinds of cases: two classes and many, weights, unlabelled rows. */
typedef struct class_case {
    int k;
    int64_t unit_weight;
    const double *priors;
} class_case;

static const double six_priors[] = {0.25, 0.125, 0.125, 0.25, 0.125, 0.125};

static class_case draw_class_case(sums_set *s, int kind) {
    const class_case c = {.k = kind % 3 == 0   ? 2
                               : kind % 3 == 1 ? 6
                                               : 3,
                          .unit_weight = kind % 4 == 3 ? 2 : 1,
                          .priors = kind % 3 == 1 && kind % 2 == 0 ? six_priors : NULL};
    draw_set(s, 250 + 10 * (size_t)kind, 3 + (uint32_t)kind % 5, 500 + (uint64_t)kind);
    draw_classes(s, c.k, kind % 4 >= 2);
    if (kind % 4 == 1 || kind % 4 == 3)
        draw_weights(s, 4);
    make_data(s);
    return c;
}

static efface_model *fit_classes(const sums_set *s, const class_case *c, efface_view view) {
    efface_sums_params params = params_of(view);
    params.weight_unit = (uint32_t)c->unit_weight;
    params.summed = EFFACE_SUMMED_FULL; /* for all views */
    params.by_class = EFFACE_SUMMED_FULL;
    params.bayes.priors = params.discriminant.priors = c->priors;
    params.bayes.n_priors = params.discriminant.n_priors = c->priors != NULL ? (uint32_t)c->k : 0;
    return fit_sums(s, &params);
}

static efface_scale scale_of(bool scaled) {
    return scaled ? EFFACE_SCALE_STANDARD : EFFACE_SCALE_NONE;
}

static real log_prior(const class_case *c, int number, real share) {
    return logl(c->priors != NULL ? (real)c->priors[number] : share);
}

/* ---------------------------------------------------------------- views */

static void ridge_is_a_regression_on_classes(void **state) {
    (void)state;
    static sums_set s;
    static wanted w;
    for (int round = 0; round < 24; round++) {
        const int kind = round / 2, intercept = kind % 5 != 4;
        const bool scaled = round % 2 != 0 && intercept;
        const class_case c = draw_class_case(&s, kind);
        efface_model *const model = fit_classes(&s, &c, EFFACE_VIEW_RIDGE);
        efface_predictor *predictor = NULL;
        const efface_linear_params asked = {kind % 2 == 0 ? 1.0 : 0.0, intercept, 0,
                                            scale_of(scaled)};
        assert_int_equal(efface_ridge_classify(model, &asked, &predictor, NULL), EFFACE_OK);
        plain_rows r = plain_of(&s, NULL, 0, UINT32_MAX, c.unit_weight, NULL);
        for (size_t i = 0; i < s.n; i++) /* rows without a class take no part */
            s.w[i] = s.classes[i] >= 0 ? s.w[i] : 0.0L;
        plain_class raw = {.weight = 0.0L};
        real deviations[PLAIN_MOST] = {0};
        if (scaled)
            raw = standardize(&s, &r, -1, deviations);
        w = (wanted){.k = c.k};
        for (int number = 0; number < c.k; number++) {
            for (size_t i = 0; i < s.n; i++)
                s.y[i] = s.classes[i] == number ? 1.0L : -1.0L;
            const plain_line line = plain_linear(&r, (real)asked.alpha, asked.intercept);
            const table_row row = read_row(NULL, predictor, "coefficients", (uint64_t)number, NULL);
            assert_int_equal(row.id, label_of(c.k - 1 - number));
            real b = line.b;
            for (size_t j = 0; j < r.p; j++) {
                const real by = scaled ? deviations[j] : 1.0L;
                check_close(row.at[j], line.w[j] / by, 1e-3L, "coefficient", j);
                b -= scaled ? line.w[j] / by * raw.mean[j] : 0.0L;
            }
            check_close(row.named[0], b, 1e-3L, "intercept", (size_t)number);
            for (size_t i = 0; i < s.n; i++) {
                w.scores[i][number] = line.b;
                for (size_t j = 0; j < r.p; j++)
                    w.scores[i][number] += line.w[j] * r.x[i * r.p + j];
            }
        }
        check_scores(NULL, predictor, &s, &w);
        efface_predictor_free(predictor);
        efface_model_free(model);
        free_set(&s);
    }
}

static void bayes_is_that_of_the_rows(void **state) {
    (void)state;
    static sums_set s;
    static wanted w;
    for (int kind = 0; kind < 12; kind++) {
        const class_case c = draw_class_case(&s, kind);
        efface_model *const model = fit_classes(&s, &c, EFFACE_VIEW_BAYES);
        const plain_rows r = plain_of(&s, NULL, 0, UINT32_MAX, c.unit_weight, NULL);
        const plain_class all = plain_moments(&r, -1);
        real largest = 0.0L;
        for (size_t j = 0; j < r.p; j++)
            largest = fmaxl(largest, all.scatter[j][j] / all.weight);
        w = (wanted){.k = c.k, .shift = true, .probabilities = true};
        for (int number = 0; number < c.k; number++) {
            const plain_class one = plain_moments(&r, number);
            const table_row means = read_row(model, NULL, "means", (uint64_t)number, NULL);
            const table_row variances = read_row(model, NULL, "variances", (uint64_t)number, NULL);
            const table_row priors = read_row(model, NULL, "priors", (uint64_t)number, NULL);
            const real share = one.weight / all.weight;
            check_close(priors.named[0], expl(log_prior(&c, number, share)), 0.0L, "prior",
                        (size_t)number);
            real variance[PLAIN_MOST];
            for (size_t j = 0; j < r.p; j++) {
                variance[j] = one.scatter[j][j] / one.weight + 1e-9L * largest;
                check_close(means.at[j], one.mean[j], 1e-3L, "mean", j);
                check_close(variances.at[j], variance[j], 1e-3L, "variance", j);
            }
            for (size_t i = 0; i < s.n; i++) {
                real score = log_prior(&c, number, share);
                for (size_t j = 0; j < r.p; j++) {
                    const real off = r.x[i * r.p + j] - one.mean[j];
                    score -= 0.5L * (logl(variance[j]) + off * off / variance[j]);
                }
                w.scores[i][number] = score;
            }
        }
        check_scores(model, NULL, &s, &w);
        efface_model_free(model);
        free_set(&s);
    }
}

/* The covariance matrix that all classes share. */
static void common_covariance(const plain_rows *r, int k, real total, double shrinkage,
                              matrix covariance) {
    real mean = 0.0L;
    memset(covariance, 0, sizeof(matrix));
    for (int number = 0; number < k; number++) {
        const plain_class one = plain_moments(r, number);
        for (size_t j = 0; j < r->p; j++)
            for (size_t l = 0; l < r->p; l++)
                covariance[j][l] += one.scatter[j][l] / total;
    }
    for (size_t j = 0; j < r->p; j++)
        mean += covariance[j][j] / (real)r->p;
    for (size_t j = 0; j < r->p; j++)
        for (size_t l = 0; l < r->p; l++)
            covariance[j][l] = (1.0L - (real)shrinkage) * covariance[j][l] +
                               (j == l ? (real)shrinkage * mean : 0.0L);
}

static void check_means(const efface_predictor *predictor, const plain_rows *r, int k) {
    for (int number = 0; number < k; number++) {
        const plain_class one = plain_moments(r, number);
        const table_row means = read_row(NULL, predictor, "means", (uint64_t)number, NULL);
        for (size_t j = 0; j < r->p; j++)
            check_close(means.at[j], one.mean[j], 1e-3L, "mean", j);
    }
}

static void scale_rows(sums_set *s, const plain_rows *r) {
    real deviations[PLAIN_MOST];
    (void)standardize(s, r, -1, deviations);
}

static void linear_discriminants_are_those_of_the_rows(void **state) {
    (void)state;
    static const double shrinkages[] = {0.0, 0.05, 0.3, 1.0};
    static sums_set s;
    static wanted w;
    for (int round = 0; round < 32; round++) {
        const int kind = round / 2;
        const bool scaled = round % 2 != 0;
        const class_case c = draw_class_case(&s, kind);
        const efface_discriminant_params asked = {.shrinkage = shrinkages[kind / 4],
                                                  .priors = c.priors,
                                                  .n_priors = c.priors != NULL ? (uint32_t)c.k : 0,
                                                  .scale = scale_of(scaled)};
        efface_model *const model = fit_classes(&s, &c, EFFACE_VIEW_DISCRIMINANT);
        efface_predictor *predictor = NULL;
        assert_int_equal(efface_discriminant_classify(model, &asked, &predictor, NULL), EFFACE_OK);
        const plain_rows r = plain_of(&s, NULL, 0, UINT32_MAX, c.unit_weight, NULL);
        const plain_class all = plain_moments(&r, -1);
        check_means(predictor, &r, c.k);
        if (scaled)
            scale_rows(&s, &r);
        matrix covariance, inverse;
        common_covariance(&r, c.k, all.weight, asked.shrinkage, covariance);
        (void)invert(r.p, covariance, inverse);
        w = (wanted){.k = c.k, .shift = true, .probabilities = true};
        for (int number = 0; number < c.k; number++) {
            const plain_class one = plain_moments(&r, number);
            for (size_t i = 0; i < s.n; i++)
                w.scores[i][number] = log_prior(&c, number, one.weight / all.weight) -
                                      0.5L * plain_square(r.p, inverse, one.mean, r.x + i * r.p);
        }
        check_scores(NULL, predictor, &s, &w);
        efface_predictor_free(predictor);
        efface_model_free(model);
        free_set(&s);
    }
}

static void quadratic_discriminants_are_those_of_the_rows(void **state) {
    (void)state;
    static const double shrinkages[] = {0.0, 0.01, 0.2};
    static sums_set s;
    static wanted w;
    for (int round = 0; round < 24; round++) {
        const int kind = round / 2;
        const bool scaled = round % 2 != 0;
        const class_case c = draw_class_case(&s, kind);
        const efface_discriminant_params asked = {.quadratic = 1,
                                                  .shrinkage = shrinkages[kind / 4],
                                                  .priors = c.priors,
                                                  .n_priors = c.priors != NULL ? (uint32_t)c.k : 0,
                                                  .scale = scale_of(scaled)};
        efface_model *const model = fit_classes(&s, &c, EFFACE_VIEW_BAYES);
        efface_predictor *predictor = NULL;
        assert_int_equal(efface_discriminant_classify(model, &asked, &predictor, NULL), EFFACE_OK);
        const plain_rows r = plain_of(&s, NULL, 0, UINT32_MAX, c.unit_weight, NULL);
        const plain_class all = plain_moments(&r, -1);
        check_means(predictor, &r, c.k);
        if (scaled)
            scale_rows(&s, &r);
        w = (wanted){.k = c.k, .shift = true, .probabilities = true};
        const real part = (real)asked.shrinkage;
        for (int number = 0; number < c.k; number++) {
            plain_class one = plain_moments(&r, number);
            matrix inverse;
            for (size_t j = 0; j < r.p; j++)
                for (size_t l = 0; l < r.p; l++)
                    one.scatter[j][l] =
                        (1.0L - part) * one.scatter[j][l] / one.weight + (j == l ? part : 0.0L);
            const real log_det = invert(r.p, one.scatter, inverse);
            for (size_t i = 0; i < s.n; i++)
                w.scores[i][number] =
                    log_prior(&c, number, one.weight / all.weight) -
                    0.5L * (log_det + plain_square(r.p, inverse, one.mean, r.x + i * r.p));
        }
        check_scores(NULL, predictor, &s, &w);
        efface_predictor_free(predictor);
        efface_model_free(model);
        free_set(&s);
    }
}

/* ---------------------------------------------------------------- few rows */

/* A class of one row has no covariance matrix of its own; all else does without one. When the row
 * leaves, its class is gone. */
static void a_class_of_one_row(void **state) {
    (void)state;
    static sums_set s;
    draw_set(&s, 60, 3, 17);
    draw_classes(&s, 2, false);
    s.labels[7] = 99;
    make_data(&s);
    const class_case c = {.k = 3, .unit_weight = 1};
    efface_model *const model = fit_classes(&s, &c, EFFACE_VIEW_BAYES);
    efface_predictor *predictor = NULL;
    const efface_discriminant_params quadratic = {.quadratic = 1};
    efface_error error = {.message = ""};
    assert_int_equal(efface_discriminant_classify(model, &quadratic, &predictor, &error),
                     EFFACE_E_ARGUMENT);
    assert_true(error.message[0] != '\0');
    efface_predictor *others[3] = {NULL};
    assert_int_equal(efface_ridge_classify(model, NULL, &others[0], NULL), EFFACE_OK);
    assert_int_equal(efface_bayes_classify(model, NULL, &others[1], NULL), EFFACE_OK);
    assert_int_equal(efface_discriminant_classify(model, NULL, &others[2], NULL), EFFACE_OK);
    for (int i = 0; i < 3; i++) {
        int64_t classes[3];
        double scores[3];
        assert_int_equal(efface_predictor_get_info(others[i]).n_classes, 3);
        efface_predictor_classes(others[i], classes, 3);
        assert_int_equal(classes[2], 99);
        assert_int_equal(efface_predictor_score(others[i], EFFACE_SCORES_DECISIONS, 1,
                                                s.values + 7 * s.d, 0, scores, NULL),
                         EFFACE_OK);
        for (int k = 0; k < 3; k++)
            assert_true(isfinite(scores[k]));
        efface_predictor_free(others[i]);
    }
    const uint64_t id = 7;
    assert_int_equal(
        efface_model_forget(model, s.data, &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
        EFFACE_OK);
    assert_int_equal(efface_model_get_info(model).n_classes, 2);
    assert_int_equal(efface_discriminant_classify(model, &quadratic, &predictor, NULL), EFFACE_OK);
    efface_predictor_free(predictor);
    efface_model_free(model);
    free_set(&s);
}

/* No rows, rows without labels, or one class: an error that says so, and the model lives on. */
static void too_few_classes(void **state) {
    (void)state;
    static sums_set s;
    for (int kind = 0; kind < 3; kind++) {
        draw_set(&s, kind == 0 ? 0 : 12, 3, 18);
        for (size_t i = 0; i < s.n; i++)
            s.labels[i] = kind == 2 ? 4 : EFFACE_NO_LABEL;
        make_data(&s);
        const class_case c = {.k = 0, .unit_weight = 1};
        efface_model *const model = fit_classes(&s, &c, EFFACE_VIEW_RIDGE);
        efface_predictor *p = NULL;
        efface_number number;
        double score;
        const float row[3] = {0};
        assert_int_equal(efface_model_get_info(model).n_classes, kind == 2 ? 1 : 0);
        if (kind < 2) {
            assert_int_equal(
                efface_predictor_predict(efface_model_predictor(model), 1, row, 0, &number, NULL),
                EFFACE_E_ARGUMENT);
            assert_int_equal(efface_predictor_score(efface_model_predictor(model),
                                                    EFFACE_SCORES_DECISIONS, 1, row, 0, &score,
                                                    NULL),
                             EFFACE_E_ARGUMENT);
            assert_int_equal(efface_ridge_classify(model, NULL, &p, NULL), EFFACE_E_ARGUMENT);
            assert_int_equal(efface_bayes_classify(model, NULL, &p, NULL), EFFACE_E_ARGUMENT);
            assert_int_equal(efface_discriminant_classify(model, NULL, &p, NULL),
                             EFFACE_E_ARGUMENT);
            assert_null(p);
        }
        efface_model_free(model);
        free_set(&s);
    }
}

/* Labels at the ends of what a label can be. */
static void classes_are_ordered_as_signed_numbers(void **state) {
    (void)state;
    static const int64_t extremes[] = {INT64_MAX, -1, INT64_MIN + 1, 0, 1};
    static const int64_t sorted[] = {INT64_MIN + 1, -1, 0, 1, INT64_MAX};
    static sums_set s;
    int64_t classes[6] = {0};
    draw_set(&s, 50, 2, 19);
    for (size_t i = 0; i < s.n; i++)
        s.labels[i] = extremes[i % 5];
    make_data(&s);
    efface_sums_params params = params_of(EFFACE_VIEW_BAYES);
    efface_model *const model = fit_sums(&s, &params);
    assert_int_equal(efface_model_get_info(model).n_classes, 5);
    efface_predictor_classes(efface_model_predictor(model), classes, 6);
    assert_memory_equal(classes, sorted, sizeof sorted);
    memset(classes, 0, sizeof classes);
    efface_predictor_classes(efface_model_predictor(model), classes, 2);
    assert_int_equal(classes[1], -1);
    assert_int_equal(classes[2], 0);
    efface_model_free(model);
    free_set(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ridge_is_a_regression_on_classes),
        cmocka_unit_test(bayes_is_that_of_the_rows),
        cmocka_unit_test(linear_discriminants_are_those_of_the_rows),
        cmocka_unit_test(quadratic_discriminants_are_those_of_the_rows),
        cmocka_unit_test(a_class_of_one_row),
        cmocka_unit_test(too_few_classes),
        cmocka_unit_test(classes_are_ordered_as_signed_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
