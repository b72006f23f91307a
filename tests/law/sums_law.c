/* The family `sums` for the tests of all families: parameters, rows, and what holds beside the
 * bytes. The oracle is in sums_oracle.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory/memory.h"
#include "law/case_rows.h"
#include "law/sums_buffers.h"
#include "law/sums_views.h"
#include "model/family.h"

#include <math.h>

#define MOST_FOURIER 40
#define SCALED_SALT UINT64_C(0x5CA1E)

/* ---------------------------------------------------------------- parameters */

/* An empty room, with defaults. Targets and priors are in the room. */
static efface_sums_params *begin(law_params *params) {
    memset(params, 0, sizeof *params);
    efface_sums_params *const p = &sums_room_of(params)->params;
    efface_sums_params_init(p);
    p->common.n_threads = 1;
    return p;
}

/* Targets: `n` columns from `first` on, each `step` after the one before. A regression has a
 * feature at least, so that of one column none is a target. */
static void set_targets(law_params *params, uint32_t d, uint32_t n, uint32_t first, uint32_t step) {
    sums_room *const room = sums_room_of(params);
    uint32_t n_set = 0;
    for (uint32_t i = 0; i < n && n_set + 1 < d; i++) {
        const uint32_t column = (uint32_t)((first + (uint64_t)i * step) % d);
        bool is_new = true;
        for (uint32_t t = 0; t < n_set; t++)
            is_new &= room->targets[t] != column;
        if (is_new)
            room->targets[n_set++] = column;
    }
    room->params.targets = n_set != 0 ? room->targets : NULL;
    room->params.n_targets = n_set;
}

/* n probabilities that sum to 1 without rounding. */
static void set_priors(law_params *params, uint32_t n) {
    sums_room *const room = sums_room_of(params);
    double left = 1.0;
    for (uint32_t i = 0; i < n && i < SUMS_MOST_PRIORS; i++) {
        room->priors[i] = i + 1 < n ? left / 2 : left;
        left /= 2;
    }
    room->params.bayes.priors = room->params.discriminant.priors = n != 0 ? room->priors : NULL;
    room->params.bayes.n_priors = room->params.discriminant.n_priors = n;
}

/* What the view asks for, or more. */
static efface_summed at_least(unsigned needed, uint64_t choice) {
    const unsigned kind = needed + (unsigned)(choice % (4 - needed));
    return (efface_summed)kind;
}

/* What the parameters must keep to after they were drawn in any way: a regression has a target. */
static void settle(law_params *params, uint32_t d, uint64_t choice) {
    efface_sums_params *const p = &sums_room_of(params)->params;
    if (p->view == EFFACE_VIEW_LINEAR && p->n_targets == 0)
        set_targets(params, d, 1, (uint32_t)choice, 1);
    if (p->view == EFFACE_VIEW_LINEAR && p->n_targets == 0)
        p->view = EFFACE_VIEW_COMPONENTS;
    const uint32_t features = p->n_fourier != 0 ? p->n_fourier : d - p->n_targets;
    if (p->components.n_components > features)
        p->components.n_components = features;
    const sums_kinds needed = sums_needed(p);
    if (p->summed != EFFACE_SUMMED_NEEDED && (unsigned)p->summed < needed.all)
        p->summed = at_least(needed.all, choice);
    if (p->by_class != EFFACE_SUMMED_NEEDED && (unsigned)p->by_class < needed.by_class)
        p->by_class = at_least(needed.by_class, choice);
}

static double largest(const law_rows *rows) {
    double most = 0.0;
    for (size_t i = 0; i < rows->n * rows->d; i++)
        if (fabs((double)rows->values[i]) > most)
            most = fabs((double)rows->values[i]);
    return most;
}

static void draw_views(efface_sums_params *p) {
    static const double alphas[] = {0.0, 0.0, 1e-9, 0.5, 1.0, 1e6};
    static const double shares[] = {0.0, 0.0, 0.0, 1e-6, 0.3, 1.0};
    p->linear.alpha = alphas[below(6)];
    p->linear.intercept = !one_in(3);
    p->bayes.smoothing = one_in(3) ? 1e-3 : one_in(3) ? 0.0 : 1e-9;
    p->discriminant.quadratic = one_in(2);
    p->discriminant.shrinkage = shares[below(6)];
    p->components.n_components = one_in(2) ? 0 : 1 + (uint32_t)below(5);
    p->components.whiten = one_in(3);
    /* Draws nothing: other cases stay what they were. */
    const uint64_t scaled = mix(rng_state + SCALED_SALT);
    if (scaled % 3 == 0 && p->linear.intercept)
        p->linear.scale = EFFACE_SCALE_STANDARD;
    if (scaled / 3 % 3 == 0)
        p->discriminant.scale = EFFACE_SCALE_STANDARD;
    if (scaled / 9 % 3 == 0)
        p->components.scale = EFFACE_SCALE_STANDARD;
}

/* Half of the features are of columns in units of their deviations, with the default of gamma. */
static void scale_columns(efface_sums_params *p, uint64_t choice) {
    if (choice % 2 != 0)
        return;
    p->scale = EFFACE_SCALE_STANDARD;
    p->gamma = choice / 2 % 2 != 0 ? 0.0 : p->gamma;
}

static void draw(law_params *params, const law_rows *rows, bool calm, uint64_t *stream) {
    static const double gammas[] = {1.0, 0.1, 1e-6, 1e-30, 1e3, 0.5};
    static const uint32_t units[] = {1, 1, 7, 1000, UINT32_MAX};
    rng_state = *stream;
    efface_sums_params *const p = begin(params);
    p->common.seed = next();
    if (calm || one_in(3)) /* a bound that no row moves */
        p->bound = fmin(fmax(largest(rows), 1e-30) * (one_in(2) ? 1.0 : 3.7), EFFACE_MAX_MAGNITUDE);
    p->view = (efface_view)below(6);
    draw_views(p);
    if (p->view == EFFACE_VIEW_LINEAR || one_in(4)) {
        const uint32_t n = 1 + (uint32_t)below(one_in(3) ? rows->d : 3);
        const uint32_t first = (uint32_t)below(rows->d), step = 1 + (uint32_t)below(3);
        set_targets(params, rows->d, n, first, step);
    }
    if (one_in(4)) {
        p->n_fourier = 1 + (uint32_t)below(one_in(3) ? MOST_FOURIER : 8);
        p->gamma = gammas[below(6)];
        scale_columns(p, mix(rng_state + SCALED_SALT) >> 32);
    }
    p->weight_unit = units[below(5)];
    if (one_in(4))
        set_priors(params, 1 + (uint32_t)below(6));
    if (one_in(3))
        p->summed = (efface_summed)(1 + below(3));
    if (one_in(3))
        p->by_class = (efface_summed)(1 + below(3));
    settle(params, rows->d, next());
    *stream = rng_state;
}

static void read_bytes(law_params *params, uint32_t d, law_bytes *in) {
    static const double bounds[] = {0.0, 0.0, 1e6, 1.0, EFFACE_MAX_MAGNITUDE};
    efface_sums_params *const p = begin(params);
    const unsigned seed = law_take(in), a = law_take(in), b = law_take(in), c = law_take(in),
                   e = law_take(in);
    p->common.seed = seed;
    p->bound = bounds[(a & 7) % 5];
    p->view = (efface_view)(b % 6);
    p->summed = (efface_summed)(b >> 4 & 3);
    p->by_class = (efface_summed)(b >> 6);
    p->discriminant.quadratic = (a & 64) != 0;
    p->linear.intercept = (a & 128) == 0;
    if ((a & 8) != 0) {
        p->linear.scale = p->linear.intercept ? EFFACE_SCALE_STANDARD : EFFACE_SCALE_NONE;
        p->discriminant.scale = p->components.scale = EFFACE_SCALE_STANDARD;
    }
    set_targets(params, d, c & 3, c >> 2 & 7, 1 + (c >> 5));
    p->linear.alpha = (e & 1) != 0 ? 1.0 : 0.0;
    p->discriminant.shrinkage = (e & 2) != 0 ? 0.25 : 0.0;
    p->components.n_components = e >> 2 & 3;
    if ((e & 128) != 0) {
        p->n_fourier = 1 + (e >> 4 & 7);
        scale_columns(p, a >> 4);
    }
    if ((e & 16) != 0)
        set_priors(params, 1 + (e >> 5 & 3));
    settle(params, d, c);
}

/* ---------------------------------------------------------------- ways and kinds */

enum {
    MEANS,
    LINEAR,
    RIDGE,
    BAYES,
    DISCRIMINANT,
    QUADRATIC,
    COMPONENTS,
    FOURIER,
    SCALED_FOURIER,
    N_WAYS
};

static const char *const way_names[N_WAYS] = {
    "means",
    "linear",
    "ridge, given bound",
    "bayes",
    "discriminant, given bound",
    "quadratic",
    "components",
    "fourier",
    "scaled fourier",
};
static const char *const kind_names[N_WAYS] = {
    "means",     "linear",     "ridge",   "bayes",          "discriminant",
    "quadratic", "components", "fourier", "scaled fourier",
};

static void choose(law_params *params, unsigned way, uint32_t d) {
    static const efface_view views[N_WAYS] = {
        EFFACE_VIEW_MEANS,      EFFACE_VIEW_LINEAR,       EFFACE_VIEW_RIDGE,
        EFFACE_VIEW_BAYES,      EFFACE_VIEW_DISCRIMINANT, EFFACE_VIEW_DISCRIMINANT,
        EFFACE_VIEW_COMPONENTS, EFFACE_VIEW_LINEAR,       EFFACE_VIEW_LINEAR};
    efface_sums_params *const p = begin(params);
    p->view = views[way];
    p->common.seed = 20191105;
    p->bound = way == RIDGE || way == DISCRIMINANT ? 0x1p20 : 0.0;
    p->linear.alpha = way == RIDGE ? 1.0 : 0.0;
    p->discriminant.quadratic = way == QUADRATIC;
    p->n_fourier = way >= FOURIER ? 5 : 0;
    p->gamma = 0.01;
    p->scale = way == SCALED_FOURIER ? EFFACE_SCALE_STANDARD : EFFACE_SCALE_NONE;
    if (way == LINEAR || way >= FOURIER)
        set_targets(params, d, way == LINEAR ? 2 : 1, d - 1, d - 1);
    settle(params, d, 0);
}

static unsigned kind_of(const law_params *params) {
    const efface_sums_params *const p = sums_of(params);
    if (p->n_fourier != 0)
        return p->scale == EFFACE_SCALE_STANDARD ? SCALED_FOURIER : FOURIER;
    switch (p->view) {
    case EFFACE_VIEW_MEANS: return MEANS;
    case EFFACE_VIEW_LINEAR: return LINEAR;
    case EFFACE_VIEW_RIDGE: return RIDGE;
    case EFFACE_VIEW_BAYES: return BAYES;
    case EFFACE_VIEW_DISCRIMINANT: return p->discriminant.quadratic ? QUADRATIC : DISCRIMINANT;
    default: return COMPONENTS;
    }
}

static bool allows(const law_params *params, const float *values, uint32_t d) {
    const double bound = sums_of(params)->bound;
    for (uint32_t j = 0; bound > 0.0 && j < d; j++)
        if (fabs((double)values[j]) > bound)
            return false;
    return true;
}

/* ---------------------------------------------------------------- rows */

/* Columns that a regression stumbles over. */
static void spoil_columns(law_rows *t) {
    const uint32_t d = t->d;
    for (uint32_t j = 0; j < d; j++) {
        const uint64_t how = below(8);
        const uint32_t a = (uint32_t)below(d), b = (uint32_t)below(d);
        const float middle = sign(spread_out(1.0f, -10, 40)), step = scaled(middle, -24);
        for (size_t i = 0; i < t->n; i++) {
            float *const row = t->values + i * d;
            if (how == 0) /* constant */
                row[j] = middle;
            else if (how == 1) /* the same as another */
                row[j] = row[a];
            else if (how == 2 && fabsf(row[a]) < 0x1p100f && fabsf(row[b]) < 0x1p100f)
                row[j] = row[a] + row[b];
            else if (how == 3) /* a huge mean, hardly a spread */
                row[j] = middle + (float)below(4) * step;
            else if (how == 4 && i % 7 != 3) /* zero almost everywhere */
                row[j] = 0.0f;
        }
    }
}

/* Labels of all kinds: few, many, one a row, extreme, and none. */
static void draw_labels(law_rows *t) {
    static const int64_t extremes[] = {INT64_MIN + 1, INT64_MAX, 0, -1, 1, INT64_MAX, -7,
                                       INT64_MIN + 2};
    const uint64_t kind = below(7), n_labels = 1 + below(6), without = below(4);
    for (size_t i = 0; i < t->n; i++) {
        switch (kind) {
        case 0: t->labels[i] = extremes[below(8)]; break;
        case 1: t->labels[i] = (int64_t)i - 3; break;                      /* one row a class */
        case 2: t->labels[i] = (int64_t)mix(i / 2 + 1); break;             /* two, far apart */
        case 3: t->labels[i] = i % 5 == 0 ? extremes[below(8)] : 5; break; /* rare classes */
        case 4: t->labels[i] = EFFACE_NO_LABEL; break;
        default: t->labels[i] = (int64_t)below(n_labels) - 2; break;
        }
        if (t->labels[i] == EFFACE_NO_LABEL && kind != 4)
            t->labels[i] = 9;
        if (without == 0 && one_in(3))
            t->labels[i] = EFFACE_NO_LABEL;
    }
}

/* Two rows share nearly all the weight there can be. */
static void draw_heavy(law_rows *t) {
    const int64_t half = EFFACE_MAX_WEIGHT / 2;
    for (size_t i = 0; i < t->n; i++)
        t->weights[i] = 1;
    if (t->n >= 2) {
        t->weights[below(t->n / 2)] = half;
        t->weights[t->n / 2 + below(t->n - t->n / 2)] = half - (int64_t)t->n;
    }
}

static void draw_case(law_case *c, const law_wish *wish, uint64_t *stream) {
    *stream = mix(wish->seed + UINT64_C(0x5D45));
    law_draw_rows(&c->rows, stream);
    rng_state = *stream;
    if (one_in(2))
        spoil_columns(&c->rows);
    if (one_in(2))
        draw_labels(&c->rows);
    if (one_in(8))
        draw_heavy(&c->rows);
    *stream = rng_state;
    draw(&c->params, &c->rows, wish->calm, stream);
}

/* ---------------------------------------------------------------- who would be picked */

/* The row of the largest magnitude in a column: it may hold the column's exponent. */
static uint64_t largest_of(const efface_data *data, uint32_t column, float *values) {
    double most = -1.0;
    uint64_t id = 0;
    for (size_t i = 0; i < efface_data_n_rows(data); i++) {
        efface_data_values(data, i, values);
        if (fabs((double)values[column]) > most) {
            most = fabs((double)values[column]);
            id = efface_data_row(data, i).id;
        }
    }
    return id;
}

/* Whether no other row has the label of a row. */
static bool is_alone(const efface_data *data, size_t position) {
    const int64_t label = efface_data_row(data, position).label;
    for (size_t i = 0; i < efface_data_n_rows(data); i++)
        if (i != position && efface_data_row(data, i).label == label)
            return false;
    return label != EFFACE_NO_LABEL;
}

static size_t name_ids(const efface_model *model, const efface_data *data, uint64_t *ids,
                       size_t most, uint64_t *stream) {
    const size_t n = efface_data_n_rows(data);
    const uint32_t d = efface_data_n_columns(data);
    (void)model;
    rng_state = *stream;
    float *const values = make(d, sizeof *values);
    size_t n_named = 0;
    const uint64_t first = n != 0 ? below(n) : 0;
    for (size_t i = 0; i < n && n_named < most / 2; i++)
        if (is_alone(data, (first + i) % n))
            ids[n_named++] = efface_data_row(data, (first + i) % n).id;
    for (int i = 0; n != 0 && i < 4 && n_named < most; i++) {
        const uint64_t id = largest_of(data, (uint32_t)below(d), values);
        bool is_new = true;
        for (size_t k = 0; k < n_named; k++)
            is_new &= ids[k] != id;
        if (is_new)
            ids[n_named++] = id;
    }
    free(values);
    *stream = rng_state;
    return n_named;
}

/* ---------------------------------------------------------------- views */

static sums_said *hear(const efface_model *model, const efface_data *data, bool others) {
    sums_said *const said = make(1, sizeof *said);
    sums_ask(model, data, others, true, said);
    return said;
}

static void forget_said(sums_said *said) {
    free(said->bytes);
    free(said);
}

/* Views take time with the third power of the columns: wide models are asked for their own only. */
static void compare(const efface_model *model, const efface_model *fresh, const efface_data *data) {
    static unsigned turn; /* other views take most of the time: every fourth time will do */
    const bool others = efface_data_n_columns(data) <= 12 && turn++ % 4 == 0;
    sums_said *const a = hear(model, data, others), *const b = hear(fresh, data, others);
    const char *const what = sums_said_differently(a, b);
    if (what != NULL)
        fail_msg("view %u is not that of a fresh fit: %s",
                 (unsigned)efface_sums_get_params(model).view, what);
    forget_said(a);
    forget_said(b);
}

/* A model that is published answers as it did before. */
static void check(const efface_model *model, const efface_data *data) {
    static unsigned turn;
    if (turn++ % 4 != 0)
        return;
    efface_number *const numbers = make(efface_model_get_info(model).n_numbers, sizeof *numbers);
    float *const row = make(efface_data_n_columns(data), sizeof *row);
    const bool has_view = efface_predictor_predict(efface_model_predictor(model), 1, row, 0,
                                                   numbers, NULL) == EFFACE_OK;
    free(row);
    free(numbers);
    if (!has_view)
        return;
    ef_writer w = {0};
    efface_predictor *published = NULL;
    efface_error error = {.message = ""};
    ef_predictor_write(&w, model, data, NULL);
    assert_false(w.failed);
    if (efface_predictor_decode(w.bytes, w.n_bytes, &published, &error) != EFFACE_OK)
        fail_msg("view %u cannot be published: %s", (unsigned)efface_sums_get_params(model).view,
                 error.message);
    sums_said *const a = make(1, sizeof *a), *const b = make(1, sizeof *b);
    sums_ask_for_rows(model, NULL, data, a);
    sums_ask_for_rows(NULL, published, data, b);
    const char *const what = sums_said_differently(a, b);
    if (what != NULL)
        fail_msg("view %u says something else when it is published: %s",
                 (unsigned)efface_sums_get_params(model).view, what);
    forget_said(a);
    forget_said(b);
    efface_predictor_free(published);
    ef_free(w.bytes);
}

static void use(const efface_model *model, const efface_data *data) {
    forget_said(hear(model, data, true));
}

const law_family law_sums = {
    .number = EFFACE_FAMILY_SUMS,
    .name = "sums",
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
    .oracle = sums_oracle,
    .name_ids = name_ids,
    .differ = sums_differ,
    .compare = compare,
    .check = check,
    .use = use,
};
