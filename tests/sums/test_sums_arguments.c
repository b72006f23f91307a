/*
 * Bad input to sums: parameters out of range, views that the sums cannot give, rows beyond the
 * limits, damaged bytes of a state. Errors say what is wrong, and nothing has changed after them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory/memory.h"
#include "law/sums_buffers.h"
#include "law/sums_views.h"
#include "model/families.h"
#include "sums/sums_scene.h"

#define N_ROWS 40
#define N_COLUMNS 4

static sums_set s;

static void make_set(void) {
    draw_set(&s, N_ROWS, N_COLUMNS, 4);
    draw_classes(&s, 3, true);
    make_data(&s);
}

static int begin(void **state) {
    (void)state;
    make_set();
    return 0;
}

static int end(void **state) {
    (void)state;
    free_set(&s);
    return 0;
}

/* ---------------------------------------------------------------- parameters */

static void refuse(const efface_sums_params *params, const char *what) {
    efface_model *model = NULL;
    efface_error error = {.message = ""};
    const efface_status status = efface_sums_fit(s.data, params, &model, &error);
    if (status != EFFACE_E_ARGUMENT || model != NULL || error.message[0] == '\0')
        fail_msg("%s: status %d (%s), message \"%s\"", what, (int)status,
                 efface_status_name(status), error.message);
    efface_model_free(model);
}

static void kinds_of_sums_and_views_are_checked(void **state) {
    (void)state;
    static const struct {
        efface_view view;
        int quadratic;
        efface_summed summed, by_class;
    } too_little[] = {
        {EFFACE_VIEW_LINEAR, 0, EFFACE_SUMMED_DIAGONAL, EFFACE_SUMMED_NEEDED},
        {EFFACE_VIEW_LINEAR, 0, EFFACE_SUMMED_MEANS, EFFACE_SUMMED_FULL},
        {EFFACE_VIEW_RIDGE, 0, EFFACE_SUMMED_MEANS, EFFACE_SUMMED_NEEDED},
        {EFFACE_VIEW_BAYES, 0, EFFACE_SUMMED_NEEDED, EFFACE_SUMMED_MEANS},
        {EFFACE_VIEW_DISCRIMINANT, 0, EFFACE_SUMMED_DIAGONAL, EFFACE_SUMMED_FULL},
        {EFFACE_VIEW_DISCRIMINANT, 1, EFFACE_SUMMED_NEEDED, EFFACE_SUMMED_DIAGONAL},
        {EFFACE_VIEW_COMPONENTS, 0, EFFACE_SUMMED_DIAGONAL, EFFACE_SUMMED_NEEDED},
    };
    const uint32_t target = 1;
    for (size_t i = 0; i < sizeof too_little / sizeof *too_little; i++) {
        efface_sums_params p = params_of(too_little[i].view);
        p.discriminant.quadratic = too_little[i].quadratic;
        p.summed = too_little[i].summed;
        p.by_class = too_little[i].by_class;
        p.targets = &target;
        p.n_targets = too_little[i].view == EFFACE_VIEW_LINEAR;
        refuse(&p, "too little is summed up");
    }
    efface_sums_params p = params_of((efface_view)6);
    refuse(&p, "no such view");
    p = params_of(EFFACE_VIEW_MEANS);
    p.summed = (efface_summed)4;
    refuse(&p, "no such kind of sums");
    p = params_of(EFFACE_VIEW_MEANS);
    p.by_class = (efface_summed)4;
    refuse(&p, "no such kind of sums by class");
    p = params_of(EFFACE_VIEW_MEANS);
    p.common.version = 1;
    refuse(&p, "an old version");
    p = params_of(EFFACE_VIEW_MEANS);
    p.weight_unit = 0;
    refuse(&p, "a unit of 0");
    p = params_of(EFFACE_VIEW_MEANS);
    p.bound = -1.0;
    refuse(&p, "a negative bound");
    p.bound = (double)NAN;
    refuse(&p, "a bound that is no number");
}

static void targets_are_checked(void **state) {
    (void)state;
    static const uint32_t twice[] = {1, 2, 1}, outside[] = {0, N_COLUMNS}, last[] = {UINT32_MAX},
                          all[] = {3, 1, 0, 2};
    efface_sums_params p = params_of(EFFACE_VIEW_LINEAR);
    refuse(&p, "a regression without targets");
    p.targets = twice;
    p.n_targets = 3;
    refuse(&p, "a target that is listed twice");
    p.targets = outside;
    p.n_targets = 2;
    refuse(&p, "a target that is no column");
    p.targets = last;
    p.n_targets = 1;
    refuse(&p, "a target that can be no column");
    p.targets = all;
    p.n_targets = 4;
    refuse(&p, "no features");
    p.view = EFFACE_VIEW_COMPONENTS;
    refuse(&p, "no features");
    p.targets = NULL;
    p.n_targets = 1;
    refuse(&p, "a list that is not there");
    p = params_of(EFFACE_VIEW_LINEAR);
    p.targets = twice;
    p.n_targets = UINT32_MAX;
    refuse(&p, "more targets than columns");
}

static void fourier_features_are_checked(void **state) {
    (void)state;
    static const double gammas[] = {-1.0, (double)NAN, (double)INFINITY};
    const uint32_t target = 2;
    efface_sums_params p = params_of(EFFACE_VIEW_LINEAR);
    p.targets = &target;
    p.n_targets = 1;
    p.n_fourier = EFFACE_MAX_FOURIER + 1;
    refuse(&p, "too many features");
    p.n_fourier = UINT32_MAX;
    refuse(&p, "far too many features");
    p.n_fourier = 3;
    for (size_t i = 0; i < sizeof gammas / sizeof *gammas; i++) {
        p.gamma = gammas[i];
        refuse(&p, "gamma");
    }
}

static void numbers_of_views_are_checked(void **state) {
    (void)state;
    static const double bad[] = {-1.0, (double)NAN, (double)INFINITY};
    static const double shares[] = {1.0 + 1e-9, (double)NAN, -0.5, 1e-306};
    static const double parts[] = {-1.0, (double)NAN, (double)INFINITY, 5e-324};
    const uint32_t target = 2;
    for (size_t i = 0; i < 3; i++) {
        efface_sums_params p = params_of(EFFACE_VIEW_LINEAR);
        p.targets = &target;
        p.n_targets = 1;
        p.linear.alpha = bad[i];
        refuse(&p, "alpha");
        p = params_of(EFFACE_VIEW_RIDGE);
        p.linear.alpha = bad[i];
        refuse(&p, "alpha of classes");
    }
    for (size_t i = 0; i < 4; i++) { /* what is too small would give scores that are no numbers */
        efface_sums_params p = params_of(EFFACE_VIEW_BAYES);
        p.bayes.smoothing = parts[i];
        refuse(&p, "smoothing");
        p = params_of(EFFACE_VIEW_DISCRIMINANT);
        p.discriminant.shrinkage = shares[i];
        refuse(&p, "shrinkage");
        p.discriminant.quadratic = 1;
        refuse(&p, "shrinkage of quadratic discriminants");
    }
}

static const double thirds[] = {0.25, 0.25, 0.5}, short_of_one[] = {0.25, 0.25, 0.25},
                    negative[] = {1.5, -0.25, -0.25}, none[] = {0.5, (double)NAN, 0.5},
                    two[] = {0.5, 0.5}, four[] = {0.25, 0.25, 0.25, 0.25};

static void priors_are_checked(void **state) {
    (void)state;
    static const double *const wrong[] = {short_of_one, negative, none};
    for (size_t i = 0; i < 3; i++) {
        efface_sums_params p = params_of(EFFACE_VIEW_BAYES);
        p.bayes.priors = wrong[i];
        p.bayes.n_priors = 3;
        refuse(&p, "priors");
        p = params_of(EFFACE_VIEW_DISCRIMINANT);
        p.discriminant.priors = wrong[i];
        p.discriminant.n_priors = 3;
        refuse(&p, "priors of discriminants");
    }
    efface_sums_params p = params_of(EFFACE_VIEW_BAYES);
    p.bayes.n_priors = 3;
    refuse(&p, "a list that is not there");
}

/* The number of classes is that of the rows: it may change, and be right again. */
static void priors_fit_the_classes_or_there_is_no_view(void **state) {
    (void)state;
    static const struct {
        const double *priors;
        uint32_t n;
        bool fits;
    } lists[] = {{thirds, 3, true}, {two, 2, false}, {four, 4, false}};
    for (size_t i = 0; i < 3; i++)
        for (int view = 0; view < 2; view++) {
            efface_sums_params p =
                params_of(view == 0 ? EFFACE_VIEW_BAYES : EFFACE_VIEW_DISCRIMINANT);
            p.bayes.priors = p.discriminant.priors = lists[i].priors;
            p.bayes.n_priors = p.discriminant.n_priors = lists[i].n;
            efface_model *const model = fit_sums(&s, &p);
            efface_number number;
            efface_error error = {.message = ""};
            assert_int_equal(efface_predictor_predict(efface_model_predictor(model), 1, s.values, 0,
                                                      &number, &error),
                             lists[i].fits ? EFFACE_OK : EFFACE_E_ARGUMENT);
            assert_int_equal(error.message[0] != '\0', !lists[i].fits);
            const efface_sums_params got = efface_sums_get_params(model);
            assert_int_equal(got.bayes.n_priors, lists[i].n);
            assert_true(got.bayes.priors != lists[i].priors);
            assert_memory_equal(got.bayes.priors, lists[i].priors,
                                lists[i].n * sizeof *lists[i].priors);
            efface_model_free(model);
        }
}

/* The model keeps copies of lists, and its parameters are those of the fit, but for the seed. */
static void parameters_are_copied(void **state) {
    (void)state;
    uint32_t targets[] = {3, 0};
    efface_sums_params p = params_of(EFFACE_VIEW_LINEAR);
    p.targets = targets;
    p.n_targets = 2;
    p.linear = (efface_linear_params){2.5, 0, 0, EFFACE_SCALE_NONE};
    p.weight_unit = 3;
    p.common.seed = 77;
    efface_model *const model = fit_sums(&s, &p);
    targets[0] = targets[1] = 99;
    const efface_sums_params got = efface_sums_get_params(model);
    assert_int_equal(got.common.seed, 0);
    assert_int_equal(got.n_targets, 2);
    assert_int_equal(got.targets[0], 3);
    assert_int_equal(got.targets[1], 0);
    assert_true(got.linear.alpha == 2.5 && got.linear.intercept == 0);
    assert_int_equal(got.weight_unit, 3);
    assert_int_equal(got.view, EFFACE_VIEW_LINEAR);
    efface_model_free(model);
}

/* ---------------------------------------------------------------- views */

static void check_no_view(efface_status status, efface_predictor *p, const efface_error *error,
                          const char *what) {
    if (status != EFFACE_E_ARGUMENT || p != NULL || error->message[0] == '\0')
        fail_msg("%s: status %d, message \"%s\"", what, (int)status, error->message);
}

static void sums_give_only_the_views_that_they_can(void **state) {
    (void)state;
    const efface_sums_params p = params_of(EFFACE_VIEW_MEANS);
    efface_model *const means = fit_sums(&s, &p);
    efface_kmeans_params k;
    efface_kmeans_params_init(&k);
    efface_model *other = NULL;
    assert_int_equal(efface_kmeans_fit(s.data, &k, &other, NULL), EFFACE_OK);
    efface_model *const models[] = {means, other, NULL};
    for (int i = 0; i < 3; i++) {
        efface_predictor *out = NULL;
        efface_error e = {.message = ""};
        double misses[N_ROWS];
        check_no_view(efface_linear_solve(models[i], NULL, &out, &e), out, &e, "linear");
        e.message[0] = '\0';
        check_no_view(efface_ridge_classify(models[i], NULL, &out, &e), out, &e, "ridge");
        e.message[0] = '\0';
        check_no_view(efface_bayes_classify(models[i], NULL, &out, &e), out, &e, "bayes");
        e.message[0] = '\0';
        check_no_view(efface_discriminant_classify(models[i], NULL, &out, &e), out, &e,
                      "discriminants");
        e.message[0] = '\0';
        check_no_view(efface_components_compute(models[i], NULL, &out, &e), out, &e, "components");
        e.message[0] = '\0';
        check_no_view(efface_linear_leave_one_out(models[i], s.data, NULL, misses, &e), out, &e,
                      "leave one out");
    }
    assert_int_equal(efface_sums_get_params(other).view, EFFACE_VIEW_MEANS);
    assert_int_equal(efface_sums_coarse_columns(other, NULL, 0), 0);
    assert_int_equal(efface_sums_dropped(other, NULL, 0), 0);
    efface_model_free(other);
    efface_model_free(means);
}

static void views_check_their_parameters(void **state) {
    (void)state;
    const uint32_t target = 1;
    efface_sums_params p = params_of(EFFACE_VIEW_LINEAR);
    p.targets = &target;
    p.n_targets = 1;
    p.by_class = EFFACE_SUMMED_FULL;
    efface_model *const model = fit_sums(&s, &p);
    efface_predictor *out = NULL;
    efface_error e = {.message = ""};
    const efface_linear_params line = {.alpha = -1.0, .intercept = 1},
                               no_number = {.alpha = (double)NAN, .intercept = 1};
    const efface_bayes_params bayes[] = {{1e-9, two, 2},  {1e-9, four, 4}, {1e-9, short_of_one, 3},
                                         {1e-9, NULL, 3}, {-1.0, NULL, 0}, {(double)NAN, NULL, 0}};
    const efface_discriminant_params disc[] = {{.shrinkage = 1.5},
                                               {.shrinkage = (double)NAN},
                                               {.quadratic = 1, .shrinkage = 2.0},
                                               {.priors = two, .n_priors = 2},
                                               {.quadratic = 1, .priors = negative, .n_priors = 3}};
    check_no_view(efface_linear_solve(model, &line, &out, &e), out, &e, "alpha");
    check_no_view(efface_linear_solve(model, &no_number, &out, &e), out, &e, "alpha");
    check_no_view(efface_ridge_classify(model, &no_number, &out, &e), out, &e, "alpha");
    for (size_t i = 0; i < sizeof bayes / sizeof *bayes; i++) {
        e.message[0] = '\0';
        check_no_view(efface_bayes_classify(model, &bayes[i], &out, &e), out, &e, "bayes");
    }
    for (size_t i = 0; i < sizeof disc / sizeof *disc; i++) {
        e.message[0] = '\0';
        check_no_view(efface_discriminant_classify(model, &disc[i], &out, &e), out, &e,
                      "discriminants");
    }
    /* More components than there can be: as many as there can be. */
    const efface_components_params many = {.n_components = N_COLUMNS + 1};
    assert_int_equal(efface_components_compute(model, &many, &out, NULL), EFFACE_OK);
    assert_int_equal(efface_predictor_get_info(out).n_numbers, N_COLUMNS - 1);
    efface_predictor_free(out);
    efface_model_free(model);
}

/* ---------------------------------------------------------------- rows */

static void rows_that_are_no_numbers(void **state) {
    (void)state;
    const uint32_t target = 1;
    efface_sums_params p = params_of(EFFACE_VIEW_LINEAR);
    p.targets = &target;
    p.n_targets = 1;
    efface_model *const model = fit_sums(&s, &p);
    const float bad[] = {NAN, INFINITY, -INFINITY, 1.1f * 0x1p126f};
    for (size_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < N_COLUMNS; j++) {
            float row[N_COLUMNS] = {0};
            unsigned char before[EFFACE_DIGEST_BYTES], after[EFFACE_DIGEST_BYTES];
            efface_number number = {.real = 5.0};
            const uint64_t id = 3;
            const efface_rows news = {.n_rows = 1, .values = row};
            const efface_rows update = {.n_rows = 1, .values = row, .ids = &id};
            row[j] = bad[i];
            assert_int_equal(efface_model_digest(model, before, NULL), EFFACE_OK);
            assert_int_equal(efface_model_learn(model, s.data, &news, NULL, NULL), EFFACE_E_LIMIT);
            assert_int_equal(efface_model_update(model, s.data, &update, NULL, NULL),
                             EFFACE_E_LIMIT);
            assert_int_equal(
                efface_predictor_predict(efface_model_predictor(model), 1, row, 0, &number, NULL),
                j == target ? EFFACE_OK : EFFACE_E_LIMIT);
            assert_true(j == target ? isfinite(number.real) : number.real == 5.0);
            assert_int_equal(efface_model_digest(model, after, NULL), EFFACE_OK);
            assert_memory_equal(before, after, sizeof before);
        }
    efface_model_free(model);
}

static void check_against_oracle(const law_rows *rows, const law_params *params) {
    efface_data *data = NULL;
    efface_model *model = NULL;
    unsigned char *bytes = NULL;
    size_t n_bytes = 0, n_plain = 0;
    const efface_rows all = {.n_rows = rows->n,
                             .values = rows->values,
                             .ids = rows->ids,
                             .weights = rows->weights,
                             .labels = rows->labels};
    assert_int_equal(efface_data_create(rows->d, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &all, NULL), EFFACE_OK);
    assert_int_equal(law_fit(data, params, &model, NULL), EFFACE_OK);
    assert_int_equal(efface_model_encode(model, &bytes, &n_bytes, NULL), EFFACE_OK);
    unsigned char *const plain = sums_oracle(rows, params, &n_plain);
    if (n_bytes != n_plain || memcmp(bytes, plain, n_bytes) != 0) {
        char text[LAW_TEXT_BYTES] = "";
        sums_differ(params, bytes, n_bytes, plain, n_plain, text);
        fail_msg("%s", text);
    }
    law_sums.use(model, data);
    efface_model *again = NULL;
    assert_int_equal(efface_model_decode(bytes, n_bytes, &params->common, data, &again, NULL),
                     EFFACE_OK);
    efface_model_free(again);
    /* All of it can leave. */
    assert_int_equal(efface_model_forget(model, data,
                                         &(efface_request){.ids = rows->ids, .n_ids = rows->n},
                                         NULL, NULL),
                     EFFACE_OK);
    free(plain);
    efface_bytes_free(bytes);
    efface_model_free(model);
    efface_data_free(data);
}

/* All the weight there can be, at the largest magnitude: no sum is larger. */
static void the_largest_sums_there_can_be(void **state) {
    (void)state;
    for (unsigned way = 0; way < law_sums.n_ways; way++)
        for (int kind = 0; kind < 4; kind++) {
            law_params params;
            law_rows rows = law_make_rows(3, 3);
            law_sums.choose(&params, way, 3);
            sums_room_of(&params)->params.bound = kind == 3 ? EFFACE_MAX_MAGNITUDE : 0.0;
            for (int i = 0; i < 9; i++)
                rows.values[i] = kind == 1 && i % 2 == 0 ? -0x1p126f : 0x1p126f;
            if (kind == 2)
                for (int i = 0; i < 9; i++)
                    rows.values[i] = (i % 2 == 0 ? 1.0f : -1.0f) * 0x1p-149f;
            rows.weights[0] = (INT64_C(1) << 39) - 1;
            rows.weights[1] = (INT64_C(1) << 39) - 1;
            rows.labels[0] = rows.labels[1] = INT64_MAX;
            rows.labels[2] = INT64_MIN + 1;
            check_against_oracle(&rows, &params);
            law_free_rows(&rows);
        }
}

/* One more, and the weight is too large: refused, and nothing changed. */
static void too_much_weight(void **state) {
    (void)state;
    const efface_sums_params p = params_of(EFFACE_VIEW_COMPONENTS);
    efface_model *const model = fit_sums(&s, &p);
    const int64_t room = EFFACE_MAX_WEIGHT - efface_data_total_weight(s.data);
    const int64_t weight = room, fits = room - 1;
    const uint64_t id = 1000;
    unsigned char before[EFFACE_DIGEST_BYTES], after[EFFACE_DIGEST_BYTES];
    efface_rows row = {.n_rows = 1, .values = s.values, .ids = &id, .weights = &weight};
    assert_int_equal(efface_model_digest(model, before, NULL), EFFACE_OK);
    assert_int_equal(efface_model_learn(model, s.data, &row, NULL, NULL), EFFACE_E_LIMIT);
    assert_int_equal(efface_model_digest(model, after, NULL), EFFACE_OK);
    assert_memory_equal(before, after, sizeof before);
    row.weights = &fits;
    assert_int_equal(efface_model_learn(model, s.data, &row, NULL, NULL), EFFACE_OK);
    efface_difference difference;
    assert_int_equal(efface_model_verify(model, s.data, &difference, NULL), EFFACE_OK);
    assert_true(difference.identical);
    assert_int_equal(
        efface_model_forget(model, s.data, &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
        EFFACE_OK);
    assert_int_equal(efface_model_digest(model, after, NULL), EFFACE_OK);
    assert_memory_equal(before, after, sizeof before);
    efface_model_free(model);
}

/* A label is a change like any other: a class comes, goes, and leaves no trace. */
static void labels_come_and_go(void **state) {
    (void)state;
    efface_sums_params p = params_of(EFFACE_VIEW_RIDGE);
    efface_model *const model = fit_sums(&s, &p);
    unsigned char before[EFFACE_DIGEST_BYTES], after[EFFACE_DIGEST_BYTES];
    const uint64_t id = 5;
    const int64_t labels[] = {INT64_MAX, INT64_MIN + 1, EFFACE_NO_LABEL, s.labels[5]};
    assert_int_equal(efface_model_digest(model, before, NULL), EFFACE_OK);
    for (int i = 0; i < 4; i++) {
        const efface_rows row = {
            .n_rows = 1, .values = s.values + 5 * s.d, .ids = &id, .labels = &labels[i]};
        efface_difference difference;
        assert_int_equal(efface_model_update(model, s.data, &row, NULL, NULL), EFFACE_OK);
        assert_int_equal(efface_model_verify(model, s.data, &difference, NULL), EFFACE_OK);
        assert_true(difference.identical);
        assert_int_equal(efface_model_get_info(model).n_classes, i < 2 ? 4 : 3);
        assert_int_equal(efface_model_digest(model, after, NULL), EFFACE_OK);
        assert_int_equal(memcmp(before, after, sizeof before) == 0, i == 3);
    }
    efface_model_free(model);
}

/* So many rows at the bound that their sums of products are beyond 64 bits: whatever they are added
 * up in must be emptied in time. */
static void many_rows_at_the_bound(void **state) {
    (void)state;
    const size_t n = 300000;
    const uint32_t d = 3;
    law_rows rows = law_make_rows(n, d);
    for (size_t i = 0; i < n; i++) {
        rows.values[i * d] = 1.0f;
        rows.values[i * d + 1] = -1.0f;
        rows.values[i * d + 2] = i % 2 == 0 ? 1.0f : -1.0f;
        rows.labels[i] = i % 1000 == 0 ? 1 : 2;
    }
    const efface_rows all = {
        .n_rows = n, .values = rows.values, .weights = rows.weights, .labels = rows.labels};
    for (unsigned kind = 0; kind < 4; kind++) {
        law_params params;
        efface_data *data = NULL;
        efface_model *model = NULL;
        unsigned char *bytes = NULL;
        size_t n_bytes = 0, n_plain = 0;
        memset(&params, 0, sizeof params);
        efface_sums_params *const p = &sums_room_of(&params)->params;
        *p = params_of(EFFACE_VIEW_MEANS);
        p->summed = kind % 2 == 0 ? EFFACE_SUMMED_FULL : EFFACE_SUMMED_DIAGONAL;
        p->by_class = kind < 2 ? EFFACE_SUMMED_FULL : EFFACE_SUMMED_DIAGONAL;
        p->common.n_threads = 1 + kind % 2;
        for (size_t i = 0; kind == 3 && i < n; i++)
            rows.weights[i] = 1 + (int64_t)(i % 2) * 3000000;
        assert_int_equal(efface_data_create(d, &data, NULL), EFFACE_OK);
        assert_int_equal(efface_data_add(data, &all, NULL), EFFACE_OK);
        assert_int_equal(law_fit(data, &params, &model, NULL), EFFACE_OK);
        assert_int_equal(efface_model_encode(model, &bytes, &n_bytes, NULL), EFFACE_OK);
        unsigned char *const plain = sums_oracle(&rows, &params, &n_plain);
        assert_int_equal(n_bytes, n_plain);
        if (memcmp(bytes, plain, n_bytes) != 0) {
            char text[LAW_TEXT_BYTES] = "";
            sums_differ(&params, bytes, n_bytes, plain, n_plain, text);
            fail_msg("%s", text);
        }
        free(plain);
        efface_bytes_free(bytes);
        efface_model_free(model);
        efface_data_free(data);
    }
    law_free_rows(&rows);
}

/* ---------------------------------------------------------------- damaged bytes */

static efface_status try_bytes(const unsigned char *bytes, size_t n, const law_params *params) {
    efface_model *model = NULL;
    efface_error error = {.message = ""};
    const efface_status status =
        efface_model_decode(bytes, n, &params->common, s.data, &model, &error);
    if (status != EFFACE_OK) {
        assert_null(model);
        assert_true(error.message[0] != '\0');
        return status;
    }
    unsigned char *again = NULL;
    size_t n_again = 0;
    assert_int_equal(efface_model_encode(model, &again, &n_again, NULL), EFFACE_OK);
    assert_int_equal(n_again, n);
    assert_memory_equal(again, bytes, n);
    law_sums.use(model, s.data); /* whatever it says, it does no harm */
    efface_bytes_free(again);
    efface_model_free(model);
    return EFFACE_OK;
}

static void damaged_bytes_are_refused_or_do_no_harm(void **state) {
    (void)state;
    unsigned n_refused = 0, n_taken = 0;
    for (unsigned way = 0; way < law_sums.n_ways; way++) {
        law_params params;
        efface_model *model = NULL;
        unsigned char *bytes = NULL;
        size_t n = 0;
        law_sums.choose(&params, way, N_COLUMNS);
        assert_int_equal(law_fit(s.data, &params, &model, NULL), EFFACE_OK);
        assert_int_equal(efface_model_encode(model, &bytes, &n, NULL), EFFACE_OK);
        assert_int_equal(try_bytes(bytes, n, &params), EFFACE_OK);
        for (size_t shorter = 0; shorter < n; shorter++)
            assert_int_equal(try_bytes(bytes, shorter, &params), EFFACE_E_FORMAT);
        unsigned char *const longer = make(n + 1, 1);
        memcpy(longer, bytes, n);
        assert_int_equal(try_bytes(longer, n + 1, &params), EFFACE_E_FORMAT);
        for (size_t at = 0; at < n; at++)
            for (int bit = 0; bit < 8; bit += 1 + (int)(at % 3)) {
                longer[at] ^= (unsigned char)(1u << bit);
                const efface_status status = try_bytes(longer, n, &params);
                /* The head says what the parameters and the set say. */
                if (at < 44 && status != EFFACE_E_FORMAT)
                    fail_msg("%s: byte %zu of the head, bit %d: status %d", law_sums.way_names[way],
                             at, bit, (int)status);
                assert_true(status == EFFACE_OK || status == EFFACE_E_FORMAT);
                n_refused += status != EFFACE_OK;
                n_taken += status == EFFACE_OK;
                longer[at] ^= (unsigned char)(1u << bit);
            }
        free(longer);
        efface_bytes_free(bytes);
        efface_model_free(model);
    }
    assert_true(n_refused != 0 && n_taken != 0);
}

/* Bytes that are wrong but possible: verify finds them, and says where. */
static void wrong_sums_are_found(void **state) {
    (void)state;
    const size_t head = 44 + 4 * N_COLUMNS;
    const struct {
        size_t at; /* a byte that is changed */
        const char *what, *where;
    } places[] = {
        {head + 16 + 8, "sum", "column 2"},
        {head + 16 + 8 * N_COLUMNS + 16 * 2, "sum", "column 1 and column 3"},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const efface_sums_params p = params_of(EFFACE_VIEW_COMPONENTS);
        efface_model *model = fit_sums(&s, &p), *wrong = NULL;
        unsigned char *bytes = NULL;
        size_t n = 0;
        efface_difference difference;
        assert_int_equal(efface_model_encode(model, &bytes, &n, NULL), EFFACE_OK);
        bytes[places[i].at] ^= 1;
        assert_int_equal(efface_model_decode(bytes, n, &p.common, s.data, &wrong, NULL), EFFACE_OK);
        assert_int_equal(efface_model_verify(wrong, s.data, &difference, NULL), EFFACE_OK);
        assert_false(difference.identical);
        assert_string_equal(difference.what, places[i].what);
        assert_string_equal(difference.where, places[i].where);
        efface_bytes_free(bytes);
        efface_model_free(wrong);
        efface_model_free(model);
    }
}

/* Bytes of one kind of sums with the parameters of another. */
static void bytes_of_other_parameters_are_refused(void **state) {
    (void)state;
    for (unsigned way = 0; way < law_sums.n_ways; way++)
        for (unsigned other = 0; other < law_sums.n_ways; other++) {
            law_params params, wrong;
            efface_model *model = NULL;
            unsigned char *bytes = NULL;
            size_t n = 0;
            law_sums.choose(&params, way, N_COLUMNS);
            law_sums.choose(&wrong, other, N_COLUMNS);
            const sums_kinds a = sums_resolved(sums_of(&params)),
                             b = sums_resolved(sums_of(&wrong));
            if (a.all == b.all && a.by_class == b.by_class &&
                sums_of(&params)->n_fourier == sums_of(&wrong)->n_fourier)
                continue; /* the same sums but for a bound, which the exponents tell */
            assert_int_equal(law_fit(s.data, &params, &model, NULL), EFFACE_OK);
            assert_int_equal(efface_model_encode(model, &bytes, &n, NULL), EFFACE_OK);
            assert_int_equal(try_bytes(bytes, n, &wrong), EFFACE_E_FORMAT);
            efface_bytes_free(bytes);
            efface_model_free(model);
        }
}

/* Sound numbers that no rows can have: classes out of order, or without rows. */
static void impossible_classes_are_refused(void **state) {
    (void)state;
    law_params params;
    efface_model *model = NULL;
    unsigned char *bytes = NULL;
    size_t n = 0;
    const efface_sums_params bayes = params_of(EFFACE_VIEW_BAYES);
    memset(&params, 0, sizeof params);
    sums_room_of(&params)->params = bayes;
    assert_int_equal(law_fit(s.data, &params, &model, NULL), EFFACE_OK);
    assert_int_equal(efface_model_encode(model, &bytes, &n, NULL), EFFACE_OK);
    const size_t count = 44 + 4 * N_COLUMNS + 16 + 8 * N_COLUMNS, first = count + 8;
    const size_t each = 8 + 16 + 8 * N_COLUMNS + 16 * N_COLUMNS;
    assert_int_equal(n, first + 3 * each);
    unsigned char *const wrong = make(n, 1);
    memcpy(wrong, bytes, n); /* two classes exchanged */
    memcpy(wrong + first, bytes + first + each, each);
    memcpy(wrong + first + each, bytes + first, each);
    assert_int_equal(try_bytes(wrong, n, &params), EFFACE_E_FORMAT);
    memcpy(wrong, bytes, n); /* the same class twice */
    memcpy(wrong + first + each, bytes + first, 8);
    assert_int_equal(try_bytes(wrong, n, &params), EFFACE_E_FORMAT);
    memcpy(wrong, bytes, n); /* a class that is none */
    memset(wrong + first, 0, 8);
    wrong[first + 7] = 0x80;
    assert_int_equal(try_bytes(wrong, n, &params), EFFACE_E_FORMAT);
    memcpy(wrong, bytes, n); /* a class without rows */
    memset(wrong + first + 8, 0, 16);
    assert_int_equal(try_bytes(wrong, n, &params), EFFACE_E_FORMAT);
    memcpy(wrong, bytes, n); /* a class is missing */
    wrong[count] = 2;
    assert_int_equal(try_bytes(wrong, n - each, &params), EFFACE_E_FORMAT);
    memcpy(wrong, bytes, n); /* more classes than there are bytes for */
    memset(wrong + count, 0xFF, 8);
    assert_int_equal(try_bytes(wrong, n, &params), EFFACE_E_FORMAT);
    free(wrong);
    efface_bytes_free(bytes);
    efface_model_free(model);
}

/* ---------------------------------------------------------------- an older version */

/* Before there were views, parameters were a seed and a bound. */
static void parameters_of_version_1_are_refused(void **state) {
    (void)state;
    ef_writer w = {0};
    efface_params *params = NULL;
    ef_write_u32(&w, 1);
    ef_write_u64(&w, 77);
    ef_write_f64(&w, 2.5);
    ef_decoder r = {.bytes = w.bytes, .n_bytes = w.n_bytes};
    assert_int_equal(ef_sums_family.read_params(&r, 3, &params, NULL), EFFACE_E_FORMAT);
    assert_null(params);
    ef_free(w.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kinds_of_sums_and_views_are_checked, begin, end),
        cmocka_unit_test_setup_teardown(targets_are_checked, begin, end),
        cmocka_unit_test_setup_teardown(fourier_features_are_checked, begin, end),
        cmocka_unit_test_setup_teardown(numbers_of_views_are_checked, begin, end),
        cmocka_unit_test_setup_teardown(priors_are_checked, begin, end),
        cmocka_unit_test_setup_teardown(priors_fit_the_classes_or_there_is_no_view, begin, end),
        cmocka_unit_test_setup_teardown(parameters_are_copied, begin, end),
        cmocka_unit_test_setup_teardown(sums_give_only_the_views_that_they_can, begin, end),
        cmocka_unit_test_setup_teardown(views_check_their_parameters, begin, end),
        cmocka_unit_test_setup_teardown(rows_that_are_no_numbers, begin, end),
        cmocka_unit_test(the_largest_sums_there_can_be),
        cmocka_unit_test(many_rows_at_the_bound),
        cmocka_unit_test_setup_teardown(too_much_weight, begin, end),
        cmocka_unit_test_setup_teardown(labels_come_and_go, begin, end),
        cmocka_unit_test_setup_teardown(damaged_bytes_are_refused_or_do_no_harm, begin, end),
        cmocka_unit_test_setup_teardown(wrong_sums_are_found, begin, end),
        cmocka_unit_test_setup_teardown(bytes_of_other_parameters_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(impossible_classes_are_refused, begin, end),
        cmocka_unit_test(parameters_of_version_1_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
