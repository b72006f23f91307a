/*
 * The canonical bytes of the family `sums`, computed plainly: for each sum one loop over the rows,
 * in 128 bits.
 *
 *     "EFFACESU" | u32 format | u32 columns | u32 coordinates m | u32 kind of all | u32 by class |
 *     u64 rows | u64 weight | i32 exponent of each column |
 *     with the scale standard, of each column: i32 exponent, i64 sum, 128-bit sum of squares |
 *     moments of all | u64 classes |
 *     for each class, ascending: i64 label | its moments
 *
 *     moments: u64 rows | u64 weight | i64 sum of each coordinate | 128-bit sums of products
 */
#include "law/sums_buffers.h"

#include "base/numbers/elementary.h"
#include "base/numbers/wide.h"
#include "base/random/normals.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 2
#define FORMAT_SCALED 3
#define HEAD_BYTES (8 + 5 * 4 + 2 * 8)

static const char *const no_memory = "out of memory\n";

static void *room_for(size_t count, size_t size) {
    void *const p = calloc(count + 1, size);
    if (p == NULL) {
        fputs(no_memory, stderr);
        exit(2);
    }
    return p;
}

/* ---------------------------------------------------------------- what is summed up */

sums_kinds sums_needed(const efface_sums_params *params) {
    switch (params->view) {
    case EFFACE_VIEW_MEANS: return (sums_kinds){1, 0};
    case EFFACE_VIEW_LINEAR: return (sums_kinds){3, 0};
    case EFFACE_VIEW_RIDGE: return (sums_kinds){3, 1};
    case EFFACE_VIEW_BAYES: return (sums_kinds){1, 2};
    case EFFACE_VIEW_DISCRIMINANT:
        return params->discriminant.quadratic ? (sums_kinds){1, 3} : (sums_kinds){3, 1};
    default: return (sums_kinds){3, 0};
    }
}

sums_kinds sums_resolved(const efface_sums_params *params) {
    const sums_kinds needed = sums_needed(params);
    return (sums_kinds){
        .all = params->summed != EFFACE_SUMMED_NEEDED ? (unsigned)params->summed : needed.all,
        .by_class =
            params->by_class != EFFACE_SUMMED_NEEDED ? (unsigned)params->by_class : needed.by_class,
    };
}

/* ---------------------------------------------------------------- coordinates */

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

static int64_t on_grid(double value, int exponent) {
    return (int64_t)nearbyint(ldexp(value, 23 - exponent));
}

/* With the scale standard, what is summed up of a column, and how many of its units there are in 1:
 * docs/definition/numerics.md, section 2. */
typedef struct spread {
    int exponent;
    int64_t sum;
    ef_i128 squares;
    double unit;
} spread;

static spread spread_of(const law_rows *rows, uint32_t column, uint64_t seed) {
    spread s = {.exponent = exponent_of(rows, column, 0.0)};
    int64_t weight = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const int64_t q = on_grid((double)rows->values[i * rows->d + column], s.exponent);
        weight += rows->weights[i];
        s.sum += rows->weights[i] * q;
        s.squares += (ef_i128)rows->weights[i] * (q * q);
    }
    const ef_i128 v = weight * s.squares - (ef_i128)s.sum * s.sum;
    if (v == 0)
        return s;
    const double theta = ef_tape_unit(ef_tape(seed, EF_TAPE_COLUMN, 0, column, 0));
    const double w = (double)weight;
    const double l = ef_log(ef_i128_to_double(v) / (w * w)) * (2.0 / 0x1.62e42fefa39efp-1);
    const double i = floor(l + theta);
    const double h = ldexp(ef_exp(((i + 0.5) - theta) * 0x1.62e42fefa39efp-3), s.exponent - 23);
    s.unit = h < 0x1p-100 ? 0.0 : 1.0 / h;
    return s;
}

/* Fourier feature f of a row, as src/model/sums/coordinates/fourier.h defines it; columns that are
 * no targets are its inputs, in order. Everything is drawn again for each row. */
static int64_t fourier_of(const float *row, uint32_t d, const efface_sums_params *p, uint32_t f,
                          const spread *spreads) {
    const uint64_t seed = p->common.seed;
    const double gamma = p->gamma > 0.0 ? p->gamma : 1.0 / (d - p->n_targets);
    const double scale = sqrt(gamma) * 0x1.ccf6429be6621p-3; /* 1 / (pi sqrt(2)) */
    double turns = ef_tape_unit(ef_tape(seed, EF_TAPE_FOURIER, 0, f, UINT32_MAX));
    for (uint32_t j = 0, input = 0; j < d; j++) {
        bool is_target = false;
        for (uint32_t t = 0; t < p->n_targets; t++)
            is_target |= p->targets[t] == j;
        if (is_target)
            continue;
        const ef_normal_pair pair = ef_tape_normals(seed, EF_TAPE_FOURIER, f, input - input % 2);
        double frequency = scale * (input % 2 == 0 ? pair.first : pair.second);
        if (spreads != NULL)
            frequency *= spreads[j].unit;
        const double product = frequency * (double)row[j];
        turns += product;
        input++;
    }
    return (int64_t)nearbyint(ef_cos_turns(turns) * 0x1p23);
}

/* m coordinates of each row; `exponents` of all columns. */
static int64_t *coordinates_of(const law_rows *rows, const efface_sums_params *p, uint32_t m,
                               const int *exponents, const spread *spreads) {
    int64_t *const all = room_for(rows->n * m, sizeof *all);
    for (size_t i = 0; i < rows->n; i++) {
        const float *const row = rows->values + i * rows->d;
        int64_t *const to = all + i * m;
        if (p->n_fourier == 0) {
            for (uint32_t j = 0; j < m; j++)
                to[j] = on_grid((double)row[j], exponents[j]);
            continue;
        }
        for (uint32_t f = 0; f < p->n_fourier; f++)
            to[f] = fourier_of(row, rows->d, p, f, spreads);
        for (uint32_t t = 0; t < p->n_targets; t++)
            to[p->n_fourier + t] = on_grid((double)row[p->targets[t]], exponents[p->targets[t]]);
    }
    return all;
}

/* ---------------------------------------------------------------- bytes */

static void put(unsigned char **to, uint64_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; i++)
        *(*to)++ = (unsigned char)(value >> (8 * i));
}

static void put_wide(unsigned char **to, ef_i128 value) {
    put(to, (uint64_t)value, 8);
    put(to, (uint64_t)((ef_u128)value >> 64), 8);
}

/* Rows that take part, with their coordinates. */
typedef struct parted {
    const law_rows *rows;
    const int64_t *coordinates;
    uint32_t m;
    const unsigned char *in;
} parted;

static ef_i128 product_sum(const parted *p, uint32_t a, uint32_t b) {
    ef_i128 sum = 0;
    for (size_t i = 0; i < p->rows->n; i++)
        if (p->in[i])
            sum += (ef_i128)p->rows->weights[i] * p->coordinates[i * p->m + a] *
                   p->coordinates[i * p->m + b];
    return sum;
}

static void put_moments(unsigned char **to, const parted *p, unsigned kind) {
    uint64_t n = 0;
    ef_i128 weight = 0;
    for (size_t i = 0; i < p->rows->n; i++) {
        n += p->in[i];
        weight += p->in[i] ? p->rows->weights[i] : 0;
    }
    put(to, n, 8);
    put(to, (uint64_t)weight, 8);
    for (uint32_t j = 0; j < p->m; j++) {
        ef_i128 sum = 0;
        for (size_t i = 0; i < p->rows->n; i++)
            if (p->in[i])
                sum += (ef_i128)p->rows->weights[i] * p->coordinates[i * p->m + j];
        put(to, (uint64_t)sum, 8);
    }
    for (uint32_t a = 0; kind >= 2 && a < p->m; a++)
        for (uint32_t b = a; b < (kind == 3 ? p->m : a + 1); b++)
            put_wide(to, product_sum(p, a, b));
}

static size_t moments_bytes(uint32_t m, unsigned kind) {
    const size_t products = kind == 3 ? (size_t)m * (m + 1) / 2 : kind == 2 ? m : 0;
    return 16 + 8 * (size_t)m + 16 * products;
}

static int compare_labels(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The labels that rows have, each once, in order. */
static size_t find_classes(const law_rows *rows, int64_t *classes) {
    size_t n = 0, n_distinct = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (rows->labels[i] != EFFACE_NO_LABEL)
            classes[n++] = rows->labels[i];
    qsort(classes, n, sizeof *classes, compare_labels);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || classes[i] != classes[i - 1])
            classes[n_distinct++] = classes[i];
    return n_distinct;
}

unsigned char *sums_oracle(const law_rows *rows, const law_params *params, size_t *n_bytes) {
    const efface_sums_params *const p = sums_of(params);
    const sums_kinds kinds = sums_resolved(p);
    const uint32_t d = rows->d, m = p->n_fourier != 0 ? p->n_fourier + p->n_targets : d;
    int64_t *const classes = room_for(rows->n, sizeof *classes);
    const size_t n_classes = kinds.by_class != 0 ? find_classes(rows, classes) : 0;
    const bool is_scaled = p->scale == EFFACE_SCALE_STANDARD;
    *n_bytes = HEAD_BYTES + (is_scaled ? 32 : 4) * (size_t)d + moments_bytes(m, kinds.all) + 8 +
               n_classes * (8 + moments_bytes(m, kinds.by_class));
    unsigned char *const bytes = room_for(*n_bytes, 1), *at = bytes;
    unsigned char *const in = room_for(rows->n, 1);
    int *const exponents = room_for(d, sizeof *exponents);
    for (uint32_t j = 0; j < d; j++)
        exponents[j] = p->n_fourier == 0 ? exponent_of(rows, j, p->bound) : 0;
    for (uint32_t t = 0; t < p->n_targets; t++)
        exponents[p->targets[t]] = exponent_of(rows, p->targets[t], p->bound);
    spread *const spreads = room_for(d, sizeof *spreads);
    for (uint32_t j = 0; j < d; j++) {
        bool is_target = false;
        for (uint32_t t = 0; t < p->n_targets; t++)
            is_target |= p->targets[t] == j;
        spreads[j] = is_target ? (spread){.exponent = -100} : spread_of(rows, j, p->common.seed);
    }
    int64_t *const coordinates = coordinates_of(rows, p, m, exponents, is_scaled ? spreads : NULL);
    const parted part = {rows, coordinates, m, in};

    ef_i128 weight = 0;
    for (size_t i = 0; i < rows->n; i++)
        weight += rows->weights[i];
    memcpy(at, "EFFACESU", 8);
    at += 8;
    put(&at, is_scaled ? FORMAT_SCALED : FORMAT, 4);
    put(&at, d, 4);
    put(&at, m, 4);
    put(&at, kinds.all, 4);
    put(&at, kinds.by_class, 4);
    put(&at, rows->n, 8);
    put(&at, (uint64_t)weight, 8);
    for (uint32_t j = 0; j < d; j++)
        put(&at, (uint32_t)exponents[j], 4);
    for (uint32_t j = 0; is_scaled && j < d; j++) {
        put(&at, (uint32_t)spreads[j].exponent, 4);
        put(&at, (uint64_t)spreads[j].sum, 8);
        put_wide(&at, spreads[j].squares);
    }
    for (size_t i = 0; i < rows->n; i++)
        in[i] = kinds.by_class == 0 || rows->labels[i] != EFFACE_NO_LABEL;
    put_moments(&at, &part, kinds.all);
    put(&at, n_classes, 8);
    for (size_t c = 0; c < n_classes; c++) {
        for (size_t i = 0; i < rows->n; i++)
            in[i] = rows->labels[i] == classes[c];
        put(&at, (uint64_t)classes[c], 8);
        put_moments(&at, &part, kinds.by_class);
    }
    free(coordinates);
    free(spreads);
    free(exponents);
    free(in);
    free(classes);
    return bytes;
}

/* ---------------------------------------------------------------- where bytes differ */

static uint64_t take(const unsigned char *bytes, size_t at, int n) {
    uint64_t value = 0;
    for (int i = 0; i < n; i++)
        value |= (uint64_t)bytes[at + (size_t)i] << (8 * i);
    return value;
}

/* Says what stands at a byte of moments. */
static void name_moment(size_t at, uint32_t m, unsigned kind, char text[100]) {
    if (at < 16) {
        (void)snprintf(text, 100, "%s", at < 8 ? "rows" : "weight");
        return;
    }
    at -= 16;
    if (at < 8 * (size_t)m) {
        (void)snprintf(text, 100, "sum of coordinate %zu", at / 8);
        return;
    }
    size_t product = (at - 8 * (size_t)m) / 16, row = 0;
    while (kind == 3 && product >= m - row) {
        product -= m - row;
        row++;
    }
    (void)snprintf(text, 100, "product of %zu and %zu", kind == 3 ? row : product,
                   kind == 3 ? row + product : product);
}

void sums_differ(const law_params *params, const unsigned char *a, size_t n_a,
                 const unsigned char *b, size_t n_b, char text[LAW_TEXT_BYTES]) {
    size_t at = 0;
    char part[100] = "";
    while (at < n_a && at < n_b && a[at] == b[at])
        at++;
    const unsigned view = (unsigned)sums_of(params)->view;
    if (at < HEAD_BYTES || n_a < HEAD_BYTES || n_b < HEAD_BYTES) {
        (void)snprintf(text, LAW_TEXT_BYTES,
                       "view %u, byte %zu of the head (%zu and %zu bytes): format, columns, "
                       "coordinates, kinds from 8 on, rows from 28 on, weight from 36 on",
                       view, at, n_a, n_b);
        return;
    }
    const uint32_t d = (uint32_t)take(a, 12, 4), m = (uint32_t)take(a, 16, 4);
    const unsigned all = (unsigned)take(a, 20, 4), by_class = (unsigned)take(a, 24, 4);
    const size_t of_column = take(a, 8, 4) == FORMAT_SCALED ? 32 : 4;
    const size_t exponents = HEAD_BYTES, moments = exponents + of_column * d;
    const size_t count = moments + moments_bytes(m, all), classes = count + 8;
    if (at < moments) {
        (void)snprintf(part, sizeof part, "byte %zu of columns", at - exponents);
    } else if (at < count) {
        name_moment(at - moments, m, all, part);
    } else if (at < classes) {
        (void)snprintf(part, sizeof part, "number of classes");
    } else {
        const size_t each = 8 + moments_bytes(m, by_class), number = (at - classes) / each;
        const size_t within = (at - classes) % each;
        char moment[100] = "label";
        if (within >= 8)
            name_moment(within - 8, m, by_class, moment);
        (void)snprintf(part, sizeof part, "class %zu: %.60s", number, moment);
    }
    (void)snprintf(text, LAW_TEXT_BYTES,
                   "view %u, kinds %u and %u, %" PRIu32 " columns, %" PRIu32
                   " coordinates, byte %zu of %zu and %zu: %s",
                   view, all, by_class, d, m, at, n_a, n_b, part);
}
