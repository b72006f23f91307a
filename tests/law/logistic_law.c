/* The family `logistic` for the tests of all families: parameters, rows, and what holds beside the
 * bytes. The oracle is in logistic_oracle.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory/memory.h"
#include "law/case_rows.h"
#include "law/logistic_oracle.h"
#include "model/family.h"

#include <math.h>

/* ---------------------------------------------------------------- parameters */

/* An empty room, with defaults. */
static efface_logistic_params *begin(law_params *params) {
    memset(params, 0, sizeof *params);
    efface_logistic_params *const p = (efface_logistic_params *)(void *)params;
    efface_logistic_params_init(p);
    p->common.n_threads = 1;
    return p;
}

static double largest(const law_rows *rows) {
    double most = 0.0;
    for (size_t i = 0; i < rows->n * rows->d; i++)
        if (fabs((double)rows->values[i]) > most)
            most = fabs((double)rows->values[i]);
    return most;
}

/* Changes are calm if the lattice is wide and nearly no row is of the sample. */
static void draw(law_params *params, const law_rows *rows, bool calm, uint64_t *stream) {
    static const double alphas[] = {1.0, 1.0, 0.0, 1e-9, 0.01, 100.0, 1e30};
    static const double widths[] = {0.0, 0.0, 1.0, 8.0, 64.0, 0x1p-3, 0x1p-20, 0x1p10};
    static const uint32_t samples[] = {4, 1, 1, 1, 2, 20, 1u << 20}, threads[] = {1, 1, 2, 3};
    rng_state = *stream;
    efface_logistic_params *const p = begin(params);
    p->common.seed = next();
    p->common.n_threads = threads[below(4)];
    p->loss = one_in(3) ? EFFACE_LOSS_SQUARED_HINGE : EFFACE_LOSS_LOGISTIC;
    p->alpha = one_in(3) ? 1.0 : alphas[below(7)];
    p->intercept = !one_in(4);
    if (calm || one_in(3)) /* a bound that no row moves */
        p->bound = fmin(fmax(largest(rows), 1e-30) * (one_in(2) ? 1.0 : 3.7), EFFACE_MAX_MAGNITUDE);
    p->width = calm ? 64.0 : widths[below(8)];
    p->sample = calm ? 1 : samples[below(7)];
    p->weight_unit = one_in(4) ? 1 + (uint32_t)below(1u << (1 + below(20))) : 1;
    p->steps = one_in(3) ? 1 + (uint32_t)below(8) : 25;
    *stream = rng_state;
}

static void read_bytes(law_params *params, uint32_t d, law_bytes *in) {
    static const double alphas[] = {1.0, 0.0, 1e-6, 100.0}, widths[] = {0.0, 1.0, 16.0, 0.25};
    efface_logistic_params *const p = begin(params);
    const unsigned seed = law_take(in), a = law_take(in), b = law_take(in);
    (void)d;
    p->common.seed = seed;
    p->loss = (a & 1) != 0 ? EFFACE_LOSS_SQUARED_HINGE : EFFACE_LOSS_LOGISTIC;
    p->intercept = (a & 2) == 0;
    p->alpha = alphas[a >> 2 & 3];
    p->width = widths[a >> 4 & 3];
    p->bound = (a & 64) != 0 ? EFFACE_MAX_MAGNITUDE : 0.0;
    p->sample = 1 + (b & 7);
    p->steps = 1 + (b >> 3);
    p->weight_unit = 1 + (seed & 3);
}

/* ---------------------------------------------------------------- ways and kinds */

enum { LOGISTIC, WIDE, HINGE, FREE, N_WAYS };

static const char *const way_names[N_WAYS] = {"logistic", "logistic, wide lattice, given bound",
                                              "squared hinge", "no penalty, no intercept"};
static const char *const kind_names[N_WAYS] = {"logistic", "wide", "hinge", "free"};

static void choose(law_params *params, unsigned way, uint32_t d) {
    efface_logistic_params *const p = begin(params);
    (void)d;
    p->common.seed = 20191105;
    p->loss = way == HINGE ? EFFACE_LOSS_SQUARED_HINGE : EFFACE_LOSS_LOGISTIC;
    p->alpha = way == FREE ? 0.0 : 1.0;
    p->intercept = way != FREE;
    p->bound = way == WIDE ? 0x1p20 : 0.0;
    p->width = way == WIDE ? 16.0 : 0.0;
    p->sample = way == WIDE ? 1 : 4;
}

static unsigned kind_of(const law_params *params) {
    const efface_logistic_params *const p = logistic_of(params);
    return p->loss == EFFACE_LOSS_SQUARED_HINGE ? HINGE
           : p->alpha == 0.0                    ? FREE
           : p->width >= 8.0                    ? WIDE
                                                : LOGISTIC;
}

static bool allows(const law_params *params, const float *values, uint32_t d) {
    const double bound = logistic_of(params)->bound;
    for (uint32_t j = 0; bound > 0.0 && j < d; j++)
        if (fabs((double)values[j]) > bound)
            return false;
    return true;
}

/* ---------------------------------------------------------------- rows */

/* Classes that columns tell, more or less; or apart altogether, so that there is no optimum. */
static void fill_classes(law_rows *t) {
    const uint64_t n_classes = 2 + below(one_in(3) ? 3 : 1);
    const float noise = one_in(4) ? 0.0f : 3.0f * unit(), unit_of = spread_out(1.0f, -8, 20);
    for (size_t i = 0; i < t->n; i++) {
        const uint64_t c = below(n_classes);
        for (uint32_t j = 0; j < t->d; j++)
            t->values[i * t->d + j] =
                unit_of * ((float)((c + j) % n_classes) + noise * (unit() + unit() - 1.0f));
        t->labels[i] = one_in(40) ? EFFACE_NO_LABEL : (int64_t)c - 1;
        t->weights[i] = one_in(5) ? 1 + (int64_t)below(4) : 1;
        t->ids[i] = mix(i + 77);
    }
    t->kind = "classes";
}

/* Labels of few rows each, and of extreme numbers. */
static void fill_rare_labels(law_rows *t) {
    static const int64_t extremes[] = {INT64_MIN + 1, INT64_MAX, 0, -1};
    for (size_t i = 0; i < t->n; i++)
        t->labels[i] = one_in(12) ? extremes[below(4)] : 5;
}

static void draw_case(law_case *c, const law_wish *wish, uint64_t *stream) {
    *stream = mix(wish->seed + UINT64_C(0x10615));
    rng_state = *stream;
    if (!one_in(4)) {
        c->rows = law_make_rows(30 + below(one_in(3) ? 300 : 100), 1 + (uint32_t)below(6));
        fill_classes(&c->rows);
        *stream = rng_state;
    } else {
        law_draw_rows(&c->rows, stream);
        rng_state = *stream;
        if (one_in(3))
            fill_rare_labels(&c->rows);
        *stream = rng_state;
    }
    draw(&c->params, &c->rows, wish->calm, stream);
}

/* ---------------------------------------------------------------- who would be picked */

/* Rows of the largest magnitude in a column, and rows that have their class alone. */
static size_t name_ids(const efface_model *model, const efface_data *data, uint64_t *ids,
                       size_t most, uint64_t *stream) {
    const size_t n = efface_data_n_rows(data);
    const uint32_t d = efface_data_n_columns(data);
    (void)model;
    rng_state = *stream;
    float *const values = make(d, sizeof *values);
    double magnitude = -1.0;
    const uint32_t column = (uint32_t)below(d);
    size_t n_named = 0;
    for (size_t i = 0; i < n; i++) {
        efface_data_values(data, i, values);
        if (fabs((double)values[column]) > magnitude) {
            magnitude = fabs((double)values[column]);
            ids[0] = efface_data_row(data, i).id;
            n_named = 1;
        }
    }
    for (size_t i = 0; i < n && n_named != 0 && n_named < most; i++) {
        const efface_row row = efface_data_row(data, i);
        size_t n_same = 0;
        for (size_t k = 0; k < n; k++)
            n_same += efface_data_row(data, k).label == row.label;
        if (n_same == 1 && row.id != ids[0])
            ids[n_named++] = row.id;
    }
    free(values);
    *stream = rng_state;
    return n_named;
}

/* ---------------------------------------------------------------- beside the bytes */

#define MOST_ASKED 12

/* All that a model says of some rows, and its tables. */
typedef struct said {
    double *numbers;
    size_t n;
} said;

static void ask_tables(const efface_predictor *p, bool all, said *s) {
    efface_table table;
    for (uint32_t t = 0; efface_predictor_get_table(p, t, &table, NULL) == EFFACE_OK; t++)
        for (uint64_t row = 0; row < table.n_rows && (all || t == 0); row++) {
            s->numbers = realloc(s->numbers, (s->n + table.n_columns) * sizeof *s->numbers);
            assert_non_null(s->numbers);
            assert_int_equal(
                efface_predictor_read_table(p, table.name, row, NULL, s->numbers + s->n, NULL),
                EFFACE_OK);
            s->n += table.n_columns;
        }
}

static said hear(const efface_predictor *p, const efface_data *data, bool all) {
    const size_t n_rows = efface_data_n_rows(data), n = n_rows < MOST_ASKED ? n_rows : MOST_ASKED;
    const uint32_t d = efface_data_n_columns(data);
    const efface_predictor_info info = efface_predictor_get_info(p);
    float *const rows = make(n * d, sizeof *rows);
    efface_number *const classes = make(n, sizeof *classes);
    said s = {.n = n + 2 * n * info.n_classes};
    s.numbers = make(s.n, sizeof *s.numbers);
    for (size_t i = 0; i < n; i++)
        efface_data_values(data, i * n_rows / n, rows + i * d);
    const efface_status status = efface_predictor_predict(p, n, rows, 0, classes, NULL);
    assert_int_equal(status, info.n_classes != 0 ? EFFACE_OK : EFFACE_E_ARGUMENT);
    for (size_t i = 0; i < n; i++)
        s.numbers[i] = (double)classes[i].whole;
    for (int kind = 0; status == EFFACE_OK && kind < 2; kind++)
        (void)efface_predictor_score(p, (efface_scores)kind, n, rows, 0,
                                     s.numbers + n + (size_t)kind * n * info.n_classes, NULL);
    ask_tables(p, all, &s);
    free(rows);
    free(classes);
    return s;
}

/* A NaN is the same as every other one. */
static void require_same(const said *a, const said *b) {
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        if (!(a->numbers[i] == b->numbers[i]) &&
            !(a->numbers[i] != a->numbers[i] && b->numbers[i] != b->numbers[i]))
            fail_msg("answer %zu is %a and should be %a", i, a->numbers[i], b->numbers[i]);
}

static void compare(const efface_model *model, const efface_model *fresh, const efface_data *data) {
    const bool all = efface_data_n_columns(data) <= 12;
    said a = hear(efface_model_predictor(model), data, all),
         b = hear(efface_model_predictor(fresh), data, all);
    require_same(&a, &b);
    free(a.numbers);
    free(b.numbers);
}

/* A model that is published says the same. */
static void check(const efface_model *model, const efface_data *data) {
    ef_writer w = {0};
    efface_predictor *published = NULL;
    efface_error error = {.message = ""};
    ef_predictor_write(&w, model, data, NULL);
    assert_false(w.failed);
    if (efface_predictor_decode(w.bytes, w.n_bytes, &published, &error) != EFFACE_OK)
        fail_msg("the model cannot be published: %s", error.message);
    said a = hear(efface_model_predictor(model), data, false), b = hear(published, data, false);
    require_same(&a, &b);
    free(a.numbers);
    free(b.numbers);
    efface_predictor_free(published);
    ef_free(w.bytes);
}

static void use(const efface_model *model, const efface_data *data) {
    const efface_predictor *const p = efface_model_predictor(model);
    const uint32_t d = efface_data_n_columns(data);
    const efface_predictor_info info = efface_predictor_get_info(p);
    float *const row = make(d, sizeof *row);
    double *const numbers = make((size_t)info.n_classes + d + 8, sizeof *numbers);
    efface_table table;
    efface_number number;
    (void)efface_logistic_sampled(model);
    (void)efface_logistic_get_params(model);
    (void)efface_predictor_predict(p, 1, row, 0, &number, NULL);
    for (int kind = 0; kind < 2; kind++)
        (void)efface_predictor_score(p, (efface_scores)kind, 1, row, 0, numbers, NULL);
    for (uint32_t t = 0; efface_predictor_get_table(p, t, &table, NULL) == EFFACE_OK; t++)
        if (table.n_rows != 0)
            (void)efface_predictor_read_table(p, table.name, 0, NULL, numbers, NULL);
    free(row);
    free(numbers);
}

/* ---------------------------------------------------------------- what walks have seen */

static struct { unsigned long actions[3], kinds[N_WAYS]; } seen;

static void meet(const law_params *params, const efface_model *model) {
    (void)model;
    seen.kinds[kind_of(params)]++;
}

static void *look(const efface_model *model) {
    (void)model;
    return NULL;
}

static void note(void *before, const law_step *step) {
    (void)before;
    seen.actions[step->report->action]++;
}

static void tell(bool all) {
    print_message("logistic: adjusted %lu, repaired %lu, refitted %lu;", seen.actions[0],
                  seen.actions[1], seen.actions[2]);
    for (unsigned kind = 0; kind < N_WAYS; kind++)
        print_message(" %s %lu", kind_names[kind], seen.kinds[kind]);
    print_message("\n");
    for (unsigned action = 0; all && action < 3; action++)
        assert_true(seen.actions[action] != 0);
    for (unsigned kind = 0; all && kind < N_WAYS; kind++)
        assert_true(seen.kinds[kind] != 0);
}

const law_family law_logistic = {
    .number = EFFACE_FAMILY_LOGISTIC,
    .name = "logistic",
    .draw = draw,
    .draw_case = draw_case,
    .read = read_bytes,
    .n_ways = N_WAYS,
    .way_names = way_names,
    .choose = choose,
    .n_kinds = N_WAYS,
    .kind_names = kind_names,
    .kind_of = kind_of,
    .allows = allows,
    .oracle = logistic_oracle,
    .name_ids = name_ids,
    .compare = compare,
    .check = check,
    .use = use,
    .alone = true,
    .meet = meet,
    .look = look,
    .note = note,
    .tell = tell,
};
