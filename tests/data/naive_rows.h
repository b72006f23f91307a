/*
 * A naive set of rows: a list that is searched from front to back, with every statistic computed
 * anew from what is in it. check_same compares all that can be seen of a real set with it. Also
 * random rows to put in, with all that a caller may or may not give, and values missing or not.
 */
#ifndef NAIVE_ROWS_H
#define NAIVE_ROWS_H

#include "base/memory/memory.h"
#include "data/set/rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST_ROWS 700
#define MOST_COLUMNS 17
#define MOST_BATCH 30

static uint64_t random_state;
static bool values_are_missing; /* some of those that are drawn */

static uint64_t draw(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = random_state;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

typedef struct naive_row {
    efface_row row;
    float values[MOST_COLUMNS];
} naive_row;

typedef struct naive_set {
    uint32_t d;
    size_t n, most; /* rows that are there, and were there at most */
    uint64_t next_id;
    naive_row rows[MOST_ROWS];
} naive_set;

static naive_row *naive_find(naive_set *set, uint64_t id) {
    for (size_t i = 0; i < set->n; i++)
        if (set->rows[i].row.id == id)
            return &set->rows[i];
    return NULL;
}

/* What rows should be from the caller's arrays; `row` holds what stays where there is none. */
static void naive_assign(naive_row *row, const efface_rows *from, size_t i, uint32_t d) {
    const float *const values = from->values + i * (from->stride != 0 ? from->stride : d);
    for (uint32_t j = 0; j < d; j++)
        row->values[j] = values[j] == 0.0F ? 0.0F : values[j] != values[j] ? NAN : values[j];
    row->row.weight = from->weights != NULL ? from->weights[i] : row->row.weight;
    row->row.owner = from->owners != NULL ? from->owners[i] : row->row.owner;
    row->row.label = from->labels != NULL ? from->labels[i] : row->row.label;
}

static void naive_add(naive_set *set, const efface_rows *from) {
    for (size_t i = 0; i < from->n_rows; i++) {
        naive_row *const row = &set->rows[set->n++];
        assert_true(set->n <= MOST_ROWS);
        row->row = (efface_row){.id = from->ids != NULL ? from->ids[i] : set->next_id,
                                .weight = 1,
                                .owner = EFFACE_NO_OWNER,
                                .label = EFFACE_NO_LABEL};
        naive_assign(row, from, i, set->d);
        if (row->row.id >= set->next_id)
            set->next_id = row->row.id + 1;
    }
    set->most = set->n > set->most ? set->n : set->most;
}

static int naive_exponent(const naive_row *row, uint32_t d) {
    float largest = 0.0F;
    for (uint32_t j = 0; j < d; j++)
        largest = fmaxf(largest, fabsf(row->values[j]));
    int e = -100;
    while (e < 126 && ldexpf(1.0F, e) < largest)
        e++;
    return e;
}

/* ---------------------------------------------------------------- everything is compared */

/* Panels are aligned, and where a row was, or where the last panel has room, there are zeros. */
static void check_memory(const efface_data *data, size_t most_rows) {
    assert_true(data->n_rows <= data->capacity && data->capacity % EF_PANEL == 0);
    assert_int_equal((uintptr_t)data->values % 64, 0);
    const size_t end = (most_rows + EF_PANEL - 1) / EF_PANEL * EF_PANEL;
    for (size_t position = data->n_rows; position < end; position++)
        for (uint32_t j = 0; j < data->n_columns; j++)
            assert_true(ef_data_value(data, position, j) == 0.0F);
}

/* What is counted of the rows is, byte for byte, what is counted of them one after the other; and
 * the same when it was written and read. */
static void check_counts(const efface_data *data, const naive_set *set) {
    ef_counts kept, anew, again;
    ef_writer a = {0}, b = {0}, c = {0};
    assert_true(ef_data_count(data, &kept) && ef_counts_init(&anew, set->d));
    for (size_t i = 0; i < set->n; i++)
        ef_counts_change(&anew, set->rows[i].values, set->rows[i].row.weight, false);
    assert_false(ef_counts_stale(&kept) || ef_counts_stale(&anew));
    ef_counts_write(&a, &kept);
    ef_counts_write(&b, &anew);
    assert_int_equal(a.n_bytes, b.n_bytes);
    assert_memory_equal(a.bytes, b.bytes, a.n_bytes);
    ef_decoder r = {.bytes = a.bytes, .n_bytes = a.n_bytes};
    assert_true(ef_counts_read(&r, set->d, &again) && !ef_counts_stale(&again));
    /* A row that comes after that is counted too: it is the first that some columns have. */
    if (set->n != 0) {
        const naive_row *const row = &set->rows[set->n - 1];
        ef_counts_change(&anew, row->values, row->row.weight, false);
        ef_counts_change(&again, row->values, row->row.weight, false);
    }
    b.n_bytes = 0;
    ef_counts_write(&b, &anew);
    ef_counts_write(&c, &again);
    assert_memory_equal(b.bytes, c.bytes, b.n_bytes);
    ef_counts_free(&kept);
    ef_counts_free(&anew);
    ef_counts_free(&again);
    ef_free(a.bytes);
    ef_free(b.bytes);
    ef_free(c.bytes);
}

static void check_same(const efface_data *data, naive_set *set) {
    assert_int_equal(efface_data_n_rows(data), set->n);
    assert_int_equal(efface_data_n_columns(data), set->d);
    int64_t total = 0;
    uint64_t n_missing = 0;
    float least[MOST_COLUMNS] = {0}, most[MOST_COLUMNS] = {0};
    ef_exponent_counts exponents;
    memset(&exponents, 0, sizeof exponents);
    for (size_t i = 0; i < set->n; i++) {
        const naive_row *const right = &set->rows[i];
        size_t position = SIZE_MAX;
        assert_int_equal(efface_data_find(data, right->row.id, &position), EFFACE_OK);
        assert_true(position < set->n);
        const efface_row row = efface_data_row(data, position);
        assert_true(row.id == right->row.id && row.owner == right->row.owner);
        assert_true(row.weight == right->row.weight && row.label == right->row.label);
        float values[MOST_COLUMNS];
        efface_data_values(data, position, values);
        assert_memory_equal(values, right->values, set->d * sizeof *values);
        total += right->row.weight;
        for (uint32_t j = 0; j < set->d; j++) {
            least[j] = i == 0 ? right->values[j] : fminf(least[j], right->values[j]);
            most[j] = i == 0 ? right->values[j] : fmaxf(most[j], right->values[j]);
            n_missing += isnan(right->values[j]) != 0;
        }
        exponents.rows[naive_exponent(right, set->d) + 100]++;
    }
    for (uint32_t j = 0; j < set->d; j++)
        if (isnan(least[j]))
            least[j] = most[j] = 0.0F;
    assert_true(efface_data_total_weight(data) == total);
    assert_true(efface_data_n_missing(data) == n_missing);
    check_counts(data, set);
    assert_memory_equal(&data->exponents, &exponents, sizeof exponents);
    float column_min[MOST_COLUMNS], column_max[MOST_COLUMNS];
    ef_data_column_ranges(data, column_min, column_max);
    assert_memory_equal(column_min, least, set->d * sizeof *least);
    assert_memory_equal(column_max, most, set->d * sizeof *most);
    for (int i = 0; i < 5; i++) {
        const uint64_t id = i < 2 ? set->next_id + (uint64_t)i : draw() >> i * 12;
        size_t position = 12345;
        if (naive_find(set, id) == NULL) {
            assert_int_equal(efface_data_find(data, id, &position), EFFACE_E_NOT_FOUND);
            assert_int_equal(position, 12345);
        }
    }
    check_memory(data, set->most);
}

/* A call that must fail did, with a reason, and nothing changed. */
static void check_refused(efface_status status, efface_status right, efface_error *error,
                          const efface_data *data, naive_set *set) {
    assert_int_equal(status, right);
    assert_int_equal(error->status, right);
    assert_true(strlen(error->message) > 10);
    memset(error, 0, sizeof *error);
    check_same(data, set);
}

/* ---------------------------------------------------------------- random rows */

typedef struct batch {
    efface_rows rows;
    float values[MOST_BATCH * (MOST_COLUMNS + 3)];
    uint64_t ids[MOST_BATCH];
    int64_t weights[MOST_BATCH];
    uint64_t owners[MOST_BATCH];
    int64_t labels[MOST_BATCH];
} batch;

static float draw_missing(void) {
    static const uint32_t nans[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF};
    float x;
    memcpy(&x, &nans[draw() % 4], sizeof x);
    return x;
}

static float draw_value(void) {
    switch (draw() % 8) {
    case 0: return -0.0F;
    case 1: return (float)(draw() % 5) - 2.0F; /* extremes that several rows share */
    case 2: return ldexpf(draw() % 2 == 0 ? -1.0F : 1.0F, (int)(draw() % 276) - 149);
    case 3: return ldexpf((float)(draw() >> 40), (int)(draw() % 200) - 120);
    default: return (float)(int64_t)draw() * 0x1p-60F;
    }
}

static void draw_batch(batch *b, uint32_t d) {
    const size_t stride = draw() % 2 == 0 ? 0 : d + draw() % 4;
    b->rows = (efface_rows){
        .n_rows = draw() % (MOST_BATCH + 1),
        .values = b->values,
        .stride = stride,
        .weights = draw() % 3 != 0 ? NULL : b->weights,
        .owners = draw() % 3 != 0 ? NULL : b->owners,
        .labels = draw() % 3 != 0 ? NULL : b->labels,
    };
    for (size_t i = 0; i < MOST_BATCH * (MOST_COLUMNS + 3); i++)
        b->values[i] = draw_value();
    /* Of some batches hardly a value is there, so that columns run empty. */
    const uint64_t one_in = 1 + draw() % 5 * (draw() % 3);
    for (size_t i = 0; values_are_missing && i < MOST_BATCH * (MOST_COLUMNS + 3); i++)
        if (draw() % one_in == 0)
            b->values[i] = draw_missing();
    const bool ones = draw() % 2 == 0;
    for (size_t i = 0; i < MOST_BATCH; i++) {
        b->weights[i] = ones ? 1 : 1 + (int64_t)(draw() % 1000);
        b->owners[i] = draw() % 8 == 0 ? EFFACE_NO_OWNER : draw() >> draw() % 64;
        b->labels[i] = draw() % 8 == 0 ? EFFACE_NO_LABEL : (int64_t)draw() >> draw() % 64;
    }
}

#endif
