/*
 * Segmented regression for tests that hold for every family. Cases are those of k-means
 * (kmeans_law.c) with one to three more columns, the targets, at any place. The oracle is that of
 * k-means on rows whose targets are 0, and plain sums over the rows nearest to each divider.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "law/case_rows.h"
#include "law/kmeans_notes.h"
#include "law/law_families.h"
#include "model/families.h"
#include "model/segmented/segmented.h"
#include "oracle/oracle.h"

#include <math.h>

#define MOST_TARGETS 3

/* What is in the room of parameters. */
typedef struct segmented_room {
    efface_segmented_params params;
    uint32_t targets[MOST_TARGETS];
    float low[LAW_MOST_COLUMNS], high[LAW_MOST_COLUMNS];
    uint32_t depth_clusters[8];
} segmented_room;

_Static_assert(sizeof(segmented_room) <= sizeof(law_params), "room for parameters");

static segmented_room *room_of(law_params *params) {
    return (segmented_room *)(void *)params;
}

static const efface_segmented_params *of(const law_params *params) {
    return (const efface_segmented_params *)(const void *)params;
}

static bool is_target(const efface_segmented_params *p, uint32_t column) {
    for (uint32_t i = 0; i < p->n_targets; i++)
        if (p->targets[i] == column)
            return true;
    return false;
}

/* The parameters of k-means alone, for functions of its table. They refer to the room. */
static law_params kmeans_of(const law_params *params) {
    law_params kmeans;
    memset(&kmeans, 0, sizeof kmeans);
    memcpy(&kmeans, &of(params)->kmeans, sizeof of(params)->kmeans);
    kmeans.common.seed = params->common.seed;
    return kmeans;
}

/* ---------------------------------------------------------------- parameters */

/* Takes parameters of k-means over. Those that name bounds of columns name them for d features;
 * source[j] is the feature that column j is, unless it is a target; NULL: column j is feature j. */
static void take_kmeans(segmented_room *room, const law_params *from, const uint32_t *source,
                        uint32_t d) {
    const efface_kmeans_params *const kmeans = (const void *)from;
    efface_segmented_params *const p = &room->params;
    efface_segmented_params_init(p);
    p->common.seed = from->common.seed;
    p->common.n_threads = from->common.n_threads;
    p->kmeans = *kmeans;
    p->targets = room->targets;
    for (uint32_t j = 0; kmeans->column_min != NULL && j < d; j++) {
        const uint32_t from_column = source != NULL ? source[j] : j;
        const bool feature = from_column != EFFACE_NO_COLUMN;
        room->low[j] = feature ? kmeans->column_min[from_column] : 1.0f; /* not looked at */
        room->high[j] = feature ? kmeans->column_max[from_column] : -1.0f;
    }
    if (kmeans->tree.depth_clusters != NULL)
        memcpy(room->depth_clusters, kmeans->tree.depth_clusters,
               kmeans->tree.height * sizeof *room->depth_clusters);
    p->kmeans.column_min = kmeans->column_min != NULL ? room->low : NULL;
    p->kmeans.column_max = kmeans->column_max != NULL ? room->high : NULL;
    p->kmeans.tree.depth_clusters =
        kmeans->tree.depth_clusters != NULL ? room->depth_clusters : NULL;
}

/* Names the columns that have no source as targets, in any order. */
static void name_targets(segmented_room *room, const uint32_t *source, uint32_t d) {
    efface_segmented_params *const p = &room->params;
    p->n_targets = 0;
    for (uint32_t j = 0; j < d; j++)
        if (source[j] == EFFACE_NO_COLUMN)
            room->targets[p->n_targets++] = j;
    const uint32_t a = (uint32_t)below(p->n_targets), first = room->targets[0];
    room->targets[0] = room->targets[a];
    room->targets[a] = first;
}

static double largest(const law_rows *rows) {
    double most = 1e-30;
    for (size_t i = 0; i < rows->n * rows->d; i++)
        if (fabs((double)rows->values[i]) > most)
            most = fabs((double)rows->values[i]);
    return most;
}

static void choose_regression(efface_segmented_params *p, const law_rows *rows, bool calm) {
    if (calm || one_in(4)) /* a bound that no row moves */
        p->bound = fmin(largest(rows) * (one_in(2) ? 1.0 : 3.7), EFFACE_MAX_MAGNITUDE);
    p->linear.alpha = one_in(2) ? 0.0 : 0.01 * (double)below(1000);
    p->linear.intercept = !one_in(4);
    p->weight_unit = 1 + (uint32_t)below(3);
}

/* Some of the columns become targets. */
static void draw(law_params *params, const law_rows *rows, bool calm, uint64_t *stream) {
    uint32_t source[LAW_MOST_COLUMNS] = {0};
    law_params kmeans;
    assert_true(rows->d > 1);
    memset(params, 0, sizeof *params);
    law_kmeans.draw(&kmeans, rows, calm, stream);
    rng_state = *stream;
    for (uint32_t j = 0; j < rows->d; j++)
        source[j] = j;
    const uint32_t most = rows->d - 1 < MOST_TARGETS ? rows->d - 1 : MOST_TARGETS;
    for (uint64_t n = 1 + below(most); n > 0; n--)
        source[below(rows->d)] = EFFACE_NO_COLUMN;
    take_kmeans(room_of(params), &kmeans, source, rows->d);
    name_targets(room_of(params), source, rows->d);
    choose_regression(&room_of(params)->params, rows, calm);
    *stream = rng_state;
}

/* The values of targets: of any kind, and far larger or smaller than features. */
static void fill_targets(law_rows *rows, const uint32_t *source, bool calm) {
    const uint64_t kind = calm ? 3 : below(12);
    for (size_t i = 0; i < rows->n; i++)
        for (uint32_t j = 0; j < rows->d; j++)
            if (source[j] == EFFACE_NO_COLUMN)
                rows->values[i * rows->d + j] = plain_value(kind, i, j);
}

static void draw_case(law_case *c, const law_wish *wish, uint64_t *stream) {
    law_case kmeans;
    uint32_t source[LAW_MOST_COLUMNS] = {0};
    memset(&kmeans, 0, sizeof kmeans);
    law_kmeans.draw_case(&kmeans, wish, stream);
    const law_rows *const old = &kmeans.rows;
    rng_state = *stream;
    uint32_t n_targets = 1 + (uint32_t)below(MOST_TARGETS), feature = 0;
    n_targets = one_in(2) ? 1 : n_targets;
    /* Sums of all pairs of many columns take long: few cases have them. */
    const uint32_t most = wish->seed % 8 == 0 ? LAW_MOST_COLUMNS - MOST_TARGETS : 20;
    const uint32_t d = (old->d < most ? old->d : most) + n_targets;
    assert_true(d <= LAW_MOST_COLUMNS);
    for (uint32_t j = 0; j < d; j++) { /* each target has any place */
        const bool target = below(d - j) < n_targets;
        source[j] = target ? EFFACE_NO_COLUMN : feature++;
        n_targets -= target;
    }
    take_kmeans(room_of(&c->params), &kmeans.params, source, d);
    name_targets(room_of(&c->params), source, d);
    c->rows = law_make_rows(old->n, d);
    c->rows.kind = old->kind;
    for (size_t i = 0; i < old->n; i++) {
        for (uint32_t j = 0; j < d; j++)
            if (source[j] != EFFACE_NO_COLUMN)
                c->rows.values[i * d + j] = old->values[i * old->d + source[j]];
        c->rows.ids[i] = old->ids[i];
        c->rows.weights[i] = old->weights[i];
        c->rows.labels[i] = old->labels[i];
    }
    fill_targets(&c->rows, source, wish->calm);
    choose_regression(&room_of(&c->params)->params, &c->rows, wish->calm);
    law_free_rows(&kmeans.rows);
    *stream = rng_state;
}

/*
 *     byte 0   the first target, and whether there is a second one
 *     byte 1   bound (2 bits), alpha (2 bits), intercept, unit of weights (2 bits)
 *     then     k-means
 */
static void read_bytes(law_params *params, uint32_t d, law_bytes *in) {
    static const double bounds[] = {0.0, 0.0, 1e6, EFFACE_MAX_MAGNITUDE};
    static const double alphas[] = {0.0, 1.0, 1e-9, 1e100};
    law_params kmeans;
    const unsigned a = law_take(in), b = law_take(in);
    memset(params, 0, sizeof *params);
    law_kmeans.read(&kmeans, d, in);
    segmented_room *const room = room_of(params);
    take_kmeans(room, &kmeans, NULL, d);
    efface_segmented_params *const p = &room->params;
    room->targets[p->n_targets++] = a % d;
    if (a >= 128 && d > 2)
        room->targets[p->n_targets++] = (a + 1) % d;
    p->bound = bounds[b & 3];
    p->linear.alpha = alphas[b >> 2 & 3];
    p->linear.intercept = (b & 16) == 0;
    p->weight_unit = 1 + (b >> 5 & 3);
}

enum { RANGES, QUANTIZED, PYRAMID, TREE, N_WAYS };

static const char *const ways[N_WAYS] = {"segments of lloyd with ranges", "segments of quantized",
                                         "segments of pyramid", "segments of a tree"};

static void choose(law_params *params, unsigned way, uint32_t d) {
    static const unsigned of_kmeans[N_WAYS] = {1, 3, 4, 6};
    law_params kmeans;
    memset(params, 0, sizeof *params);
    law_kmeans.choose(&kmeans, of_kmeans[way], d);
    segmented_room *const room = room_of(params);
    take_kmeans(room, &kmeans, NULL, d);
    room->targets[room->params.n_targets++] = d - 1;
    if (d > 3 && way != TREE)
        room->targets[room->params.n_targets++] = 1;
    room->params.bound = way == QUANTIZED ? 0x1p20 : 0.0;
}

static unsigned kind_of(const law_params *params) {
    const law_params kmeans = kmeans_of(params);
    return law_kmeans.kind_of(&kmeans);
}

static bool needs_rows(const law_params *params, bool range_lost) {
    const law_params kmeans = kmeans_of(params);
    return law_kmeans.needs_rows(&kmeans, range_lost);
}

static bool allows(const law_params *params, const float *values, uint32_t d) {
    const efface_segmented_params *const p = of(params);
    const efface_kmeans_params *const k = &p->kmeans;
    for (uint32_t j = 0; j < d; j++) {
        const bool within = p->bound == 0.0 || fabsf(values[j]) <= (float)p->bound;
        if (!within)
            return false;
        if (is_target(p, j))
            continue;
        if (k->scale == EFFACE_SCALE_NONE && k->bound > 0.0 && fabs((double)values[j]) > k->bound)
            return false;
        if (k->scale == EFFACE_SCALE_MINMAX && k->column_min != NULL &&
            (values[j] < k->column_min[j] || values[j] > k->column_max[j]))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- the oracle */

typedef struct writer {
    unsigned char *bytes;
    size_t n;
} writer;

static void put(writer *w, oracle_i128 number, int n_bytes) {
    for (int i = 0; i < n_bytes; i++)
        w->bytes[w->n++] = (unsigned char)(number >> (8 * i) & 0xFF);
}

/* The smallest from -100 on such that no value of a column is larger than 2 to that power. */
static int exponent_of(const law_rows *rows, uint32_t column, double bound) {
    double most = bound;
    for (size_t i = 0; i < rows->n && bound == 0.0; i++)
        if (fabs((double)rows->values[i * rows->d + column]) > most)
            most = fabs((double)rows->values[i * rows->d + column]);
    int exponent = -100;
    while (ldexp(1.0, exponent) < most)
        exponent++;
    return exponent;
}

/* K-means of the rows with targets of 0, and the segment of each row. */
static oracle_model *divide(const law_rows *rows, const law_params *params, uint32_t *segments) {
    const efface_segmented_params *const p = of(params);
    float *const values = make(rows->n * rows->d, sizeof *values);
    float *const bounds = make(2 * (size_t)rows->d, sizeof *bounds);
    law_params kmeans = kmeans_of(params);
    efface_kmeans_params *const k = (efface_kmeans_params *)(void *)&kmeans;
    for (size_t i = 0; i < rows->n * rows->d; i++)
        values[i] = is_target(p, (uint32_t)(i % rows->d)) ? 0.0f : rows->values[i];
    for (uint32_t j = 0; k->column_min != NULL && j < rows->d; j++) {
        bounds[j] = is_target(p, j) ? 0.0f : k->column_min[j];
        bounds[rows->d + j] = is_target(p, j) ? 0.0f : k->column_max[j];
    }
    k->column_min = k->column_min != NULL ? bounds : NULL;
    k->column_max = k->column_max != NULL ? bounds + rows->d : NULL;
    const oracle_rows plain = {rows->n, rows->d, values, rows->ids, rows->weights};
    oracle_model *const model = oracle_fit(&plain, k);
    if (rows->n != 0)
        oracle_divide(model, rows->n, values, segments);
    free(values);
    free(bounds);
    return model;
}

/* Puts the sums of each segment: rows, weight, columns, and pairs of columns. */
static void put_segments(writer *w, const law_rows *rows, const uint32_t *segments, size_t k,
                         const int *exponents) {
    const uint32_t d = rows->d;
    const size_t n_sums = 2 + d + (size_t)d * (d + 1) / 2;
    oracle_i128 *const sums = make(k * n_sums, sizeof *sums);
    int64_t *const point = make(d, sizeof *point);
    for (size_t i = 0; i < rows->n; i++) {
        oracle_i128 *to = sums + segments[i] * n_sums;
        for (uint32_t j = 0; j < d; j++)
            point[j] =
                (int64_t)nearbyint(ldexp((double)rows->values[i * d + j], 23 - exponents[j]));
        *to++ += 1;
        *to++ += rows->weights[i];
        for (uint32_t j = 0; j < d; j++)
            *to++ += (oracle_i128)rows->weights[i] * point[j];
        for (uint32_t j = 0; j < d; j++)
            for (uint32_t l = j; l < d; l++)
                *to++ += (oracle_i128)rows->weights[i] * point[j] * point[l];
    }
    for (size_t i = 0; i < k * n_sums; i++)
        put(w, sums[i], i % n_sums < 2 + d ? 8 : 16);
    free(sums);
    free(point);
}

static unsigned char *oracle(const law_rows *rows, const law_params *params, size_t *n_bytes) {
    uint32_t *const segments = make(rows->n, sizeof *segments);
    int exponents[LAW_MOST_COLUMNS];
    oracle_model *const model = divide(rows, params, segments);
    size_t n_kmeans = 0;
    unsigned char *const kmeans = oracle_encode(model, &n_kmeans);
    const size_t d = rows->d, k = rows->n != 0 ? model->n_clusters : 0;
    writer w = {.bytes = make(20 + 4 * d + k * (16 + 8 * d + 8 * d * (d + 1)) + n_kmeans, 1)};
    memcpy(w.bytes, "EFFACESG", 8);
    w.n = 8;
    put(&w, 1, 4);
    put(&w, rows->d, 4);
    put(&w, (oracle_i128)k, 4);
    for (uint32_t j = 0; j < rows->d; j++) {
        exponents[j] = exponent_of(rows, j, of(params)->bound);
        put(&w, exponents[j], 4);
    }
    put_segments(&w, rows, segments, k, exponents);
    memcpy(w.bytes + w.n, kmeans, n_kmeans);
    *n_bytes = w.n + n_kmeans;
    oracle_free(model);
    free(kmeans);
    free(segments);
    return w.bytes;
}

/* ---------------------------------------------------------------- beside the bytes */

/* The k-means model that is a part of a model. */
static efface_model part_of(const efface_model *model) {
    const ef_segmented *const s = model->state;
    return (efface_model){.family = &ef_kmeans_family,
                          .state = s->kmeans,
                          .n_columns = model->n_columns,
                          .stamp = model->stamp};
}

/* What a model, or else a published one, predicts for some rows of a set. In the place of targets
 * stands what must not matter. */
static efface_number *predict_some(const efface_model *model, const efface_predictor *published,
                                   const efface_data *data, float instead, size_t *n_bytes) {
    const size_t n_rows = efface_data_n_rows(data), n = n_rows < 8 ? n_rows : 8;
    const uint32_t d = efface_data_n_columns(data);
    const uint32_t n_numbers = model != NULL ? efface_model_get_info(model).n_numbers
                                             : efface_predictor_get_info(published).n_numbers;
    efface_number *const numbers = make(n * n_numbers, sizeof *numbers);
    float *const values = make(n * d, sizeof *values);
    for (size_t i = 0; i < n; i++) {
        float *const row = values + i * d;
        efface_data_values(data, i * n_rows / n, row);
        for (uint32_t j = 0; j < d; j++) {
            const bool input =
                model != NULL ? efface_predictor_is_input(efface_model_predictor(model), j) != 0
                              : efface_predictor_is_input(published, j) != 0;
            row[j] = !input   ? instead
                     : i == 7 ? row[j] * 3.0f
                              : row[j]; /* beyond the bounds, too */
        }
        for (uint32_t j = 0; j < d; j++)
            row[j] = fabsf(row[j]) > 0x1p126f ? 0x1p126f : row[j];
    }
    const efface_status status =
        n == 0 ? EFFACE_OK
        : model != NULL
            ? efface_predictor_predict(efface_model_predictor(model), n, values, 0, numbers, NULL)
            : efface_predictor_predict(published, n, values, 0, numbers, NULL);
    assert_int_equal(status, EFFACE_OK);
    free(values);
    *n_bytes = n * n_numbers * sizeof *numbers;
    return numbers;
}

/* Labels that are kept are those of a fit to the same set. */
static void compare_labels(const ef_segmented *a, const ef_segmented *b, size_t n) {
    for (size_t i = 0; a->labels.of != NULL && b->labels.of != NULL && i < n; i++)
        if (a->labels.n_rows != n || a->labels.of[i] != b->labels.of[i])
            fail_msg("the row at %zu has segment %u, not %u", i, a->labels.of[i], b->labels.of[i]);
}

/* What is kept is that of the state as it is now: predictions are those of a fresh fit. */
static void compare(const efface_model *model, const efface_model *fresh, const efface_data *data) {
    const efface_model a = part_of(model), b = part_of(fresh);
    size_t n_bytes = 0;
    kmeans_compare(&a, &b, data);
    compare_labels(model->state, fresh->state, efface_data_n_rows(data));
    efface_number *const is = predict_some(model, NULL, data, NAN, &n_bytes);
    efface_number *const should_be = predict_some(fresh, NULL, data, 1e9f, &n_bytes);
    assert_memory_equal(is, should_be, n_bytes);
    free(is);
    free(should_be);
}

/* A model that is published predicts as it did before. */
static void check(const efface_model *model, const efface_data *data) {
    const efface_model part = part_of(model);
    kmeans_check(&part, data);
    if (efface_data_n_rows(data) == 0)
        return;
    ef_writer w = {0};
    efface_predictor *published = NULL;
    size_t n_bytes = 0;
    ef_predictor_write(&w, model, data, NULL);
    assert_false(w.failed);
    assert_int_equal(efface_predictor_decode(w.bytes, w.n_bytes, &published, NULL), EFFACE_OK);
    efface_number *const is = predict_some(NULL, published, data, 1e9f, &n_bytes);
    efface_number *const should_be = predict_some(model, NULL, data, 0.0f, &n_bytes);
    assert_memory_equal(is, should_be, n_bytes);
    free(is);
    free(should_be);
    efface_predictor_free(published);
    efface_bytes_free(w.bytes);
}

/* Those that k-means names, or the row with the largest magnitude, which makes a bound. */
static size_t name_ids(const efface_model *model, const efface_data *data, uint64_t *ids,
                       size_t most, uint64_t *stream) {
    const efface_model part = part_of(model);
    *stream += 1;
    if (mix(*stream) % 3 != 0)
        return law_kmeans.name_ids(&part, data, ids, most, stream);
    return law_sums.name_ids(model, data, ids, most, stream);
}

static void differ(const law_params *params, const unsigned char *a, size_t n_a,
                   const unsigned char *b, size_t n_b, char text[LAW_TEXT_BYTES]) {
    size_t i = 0;
    uint32_t d = 0, k = 0;
    (void)params;
    while (i < n_a && i < n_b && a[i] == b[i])
        i++;
    memcpy(&d, a + 12, sizeof d);
    memcpy(&k, a + 16, sizeof k);
    (void)snprintf(text, LAW_TEXT_BYTES,
                   "from byte %zu on, of %zu and %zu: %u columns, %u segments of %zu bytes from "
                   "byte %zu on, then k-means",
                   i, n_a, n_b, d, k, 16 + 8 * (size_t)d + 8 * (size_t)d * (d + 1),
                   20 + 4 * (size_t)d);
}

static void use(const efface_model *model, const efface_data *data) {
    static const char *const names[] = {"centroids", "coefficients"};
    const uint32_t d = efface_data_n_columns(data);
    float *const row = make(d, sizeof *row);
    efface_number *const numbers = make(d, sizeof *numbers);
    double *const values = make((size_t)d + 1, sizeof *values);
    for (int t = 0; t < 2; t++) {
        efface_table table;
        assert_int_equal(
            efface_predictor_find_table(efface_model_predictor(model), names[t], &table, NULL),
            EFFACE_OK);
        for (uint64_t i = 0; i < table.n_rows; i++)
            (void)efface_predictor_read_table(efface_model_predictor(model), names[t], i, NULL,
                                              values, NULL);
    }
    (void)efface_predictor_predict(efface_model_predictor(model), 1, row, 0, numbers, NULL);
    free(row);
    free(numbers);
    free(values);
}

/* ---------------------------------------------------------------- what walks have seen */

static struct { unsigned long actions[3], bounds, many; } seen;

static void meet(const law_params *params, const efface_model *model) {
    (void)params;
    (void)model;
}

static void *look(const efface_model *model) {
    (void)model;
    return NULL;
}

static void note(void *before, const law_step *step) {
    (void)before;
    seen.actions[step->report->action]++;
    seen.bounds += strstr(step->report->reason, "range of a column") != NULL;
    seen.many += strstr(step->report->reason, "so many rows") != NULL;
}

static void tell(bool all) {
    print_message("segmented: untouched %lu, repaired %lu, refitted %lu; bounds moved %lu\n",
                  seen.actions[0], seen.actions[1], seen.actions[2], seen.bounds);
    if (all)
        assert_true(seen.actions[0] != 0 && seen.actions[1] != 0 && seen.actions[2] != 0 &&
                    seen.bounds != 0);
}

static const char *const kinds[] = {"lloyd", "quantized", "pyramid", "tree"};

const law_family law_segmented = {.number = EFFACE_FAMILY_SEGMENTED,
                                  .name = "segmented",
                                  .least_columns = 2,
                                  .draw = draw,
                                  .draw_case = draw_case,
                                  .read = read_bytes,
                                  .n_ways = N_WAYS,
                                  .way_names = ways,
                                  .choose = choose,
                                  .n_kinds = 4,
                                  .kind_names = kinds,
                                  .kind_of = kind_of,
                                  .allows = allows,
                                  .needs_rows = needs_rows,
                                  .oracle = oracle,
                                  .name_ids = name_ids,
                                  .differ = differ,
                                  .compare = compare,
                                  .check = check,
                                  .use = use,
                                  .spares = true,
                                  .meet = meet,
                                  .look = look,
                                  .note = note,
                                  .tell = tell};
