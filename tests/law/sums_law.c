/* The family `sums` for the tests of all families. */
#include "base/wide.h"
#include "law/draws.h"
#include "law/law_families.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static efface_sums_params *of(law_params *params) {
    return (efface_sums_params *)(void *)params;
}

static double bound_of(const law_params *params) {
    return ((const efface_sums_params *)(const void *)params)->bound;
}

/* ---------------------------------------------------------------- parameters */

static double largest(const law_rows *rows) {
    double most = 0.0;
    for (size_t i = 0; i < rows->n * rows->d; i++)
        most = fmax(most, fabs((double)rows->values[i]));
    return most;
}

static void draw(law_params *params, const law_rows *rows, bool calm, uint64_t *stream) {
    rng_state = *stream;
    efface_sums_params_init(of(params));
    params->common.seed = next();
    params->common.n_threads = 1;
    if (calm || one_in(3)) /* a bound that no row moves */
        of(params)->bound =
            fmin(fmax(largest(rows), 1e-30) * (one_in(2) ? 1.0 : 3.7), EFFACE_MAX_MAGNITUDE);
    *stream = rng_state;
}

static void read_bytes(law_params *params, uint32_t d, bool lawful, law_bytes *in) {
    static const double bounds[] = {0.0, 0.0, 1.0, 1e6, EFFACE_MAX_MAGNITUDE};
    (void)d;
    (void)lawful;
    efface_sums_params_init(of(params));
    params->common.seed = law_take(in);
    params->common.n_threads = 1;
    of(params)->bound = bounds[law_take(in) % 5];
}

static const char *const ways[] = {"sums, derived bound", "sums, given bound"};

static void choose(law_params *params, unsigned way, uint32_t d) {
    (void)d;
    efface_sums_params_init(of(params));
    params->common.n_threads = 1;
    of(params)->bound = way == 1 ? 0x1p20 : 0.0;
}

static unsigned kind_of(const law_params *params) {
    return bound_of(params) > 0.0;
}

static bool allows(const law_params *params, const float *values, uint32_t d) {
    for (uint32_t j = 0; bound_of(params) > 0.0 && j < d; j++)
        if (fabsf(values[j]) > (float)bound_of(params))
            return false;
    return true;
}

/* ---------------------------------------------------------------- the oracle */

static void put(unsigned char **to, uint64_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; i++)
        *(*to)++ = (unsigned char)(value >> (8 * i));
}

/* The smallest from -100 on such that no value of a column is larger than 2 to that power. */
static int exponent_of(const law_rows *rows, uint32_t column, double bound) {
    double most = bound;
    for (size_t i = 0; i < rows->n && bound == 0.0; i++)
        most = fmax(most, fabs((double)rows->values[i * rows->d + column]));
    int exponent = -100;
    while (ldexp(1.0, exponent) < most)
        exponent++;
    return exponent;
}

static unsigned char *oracle(const law_rows *rows, const law_params *params, size_t *n_bytes) {
    *n_bytes = 8 + 2 * 4 + 2 * 8 + 12 * (size_t)rows->d;
    unsigned char *const bytes = malloc(*n_bytes), *at = bytes;
    if (bytes == NULL)
        abort();
    int64_t weight = 0;
    for (size_t i = 0; i < rows->n; i++)
        weight += rows->weights[i];
    memcpy(at, "EFFACESU", 8);
    at += 8;
    put(&at, 1, 4);
    put(&at, rows->d, 4);
    put(&at, rows->n, 8);
    put(&at, (uint64_t)weight, 8);
    for (uint32_t j = 0; j < rows->d; j++)
        put(&at, (uint32_t)exponent_of(rows, j, bound_of(params)), 4);
    for (uint32_t j = 0; j < rows->d; j++) {
        const int exponent = exponent_of(rows, j, bound_of(params));
        ef_i128 sum = 0;
        for (size_t i = 0; i < rows->n; i++) {
            const double steps = ldexp((double)rows->values[i * rows->d + j], 23 - exponent);
            sum += (ef_i128)rows->weights[i] * (int64_t)nearbyint(steps);
        }
        put(&at, (uint64_t)sum, 8);
    }
    return bytes;
}

/* ---------------------------------------------------------------- who would be picked */

/* Rows with the largest magnitudes: one of them makes the bound. */
static size_t name_ids(const efface_model *model, const efface_data *data, uint64_t *ids,
                       size_t most, uint64_t *stream) {
    const size_t n = efface_data_n_rows(data);
    const uint32_t d = efface_data_n_columns(data);
    float *const values = malloc(((size_t)d + 1) * sizeof *values);
    double largest_of_all = -1.0;
    if (values == NULL)
        abort();
    (void)model;
    (void)stream;
    for (size_t i = 0; i < n; i++) {
        double magnitude = 0.0;
        efface_data_values(data, i, values);
        for (uint32_t j = 0; j < d; j++)
            magnitude = fmax(magnitude, fabs((double)values[j]));
        if (magnitude > largest_of_all) {
            largest_of_all = magnitude;
            ids[0] = efface_data_row(data, i).id;
        }
    }
    free(values);
    return n != 0 && most != 0 ? 1 : 0;
}

static void differ(const law_params *params, const unsigned char *a, size_t n_a,
                   const unsigned char *b, size_t n_b, char text[LAW_TEXT_BYTES]) {
    size_t i = 0;
    (void)params;
    while (i < n_a && i < n_b && a[i] == b[i])
        i++;
    (void)snprintf(text, LAW_TEXT_BYTES,
                   "from byte %zu on: totals to byte 32, then exponents, sums", i);
}

static void use(const efface_model *model, const efface_data *data) {
    efface_table table;
    double *const means = malloc(((size_t)efface_data_n_columns(data) + 1) * sizeof *means);
    if (means == NULL)
        abort();
    if (efface_model_find_table(model, "means", &table, NULL) == EFFACE_OK)
        (void)efface_model_read_table(model, "means", 0, NULL, means, NULL);
    free(means);
}

static const char *const kinds[] = {"derived bound", "given bound"};

const law_family law_sums = {
    .number = EFFACE_FAMILY_SUMS,
    .name = "sums",
    .draw = draw,
    .read = read_bytes,
    .n_ways = 2,
    .way_names = ways,
    .choose = choose,
    .n_kinds = 2,
    .kind_names = kinds,
    .kind_of = kind_of,
    .allows = allows,
    .oracle = oracle,
    .name_ids = name_ids,
    .differ = differ,
    .use = use,
};
