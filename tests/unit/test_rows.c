/*
 * The set of rows against a naive one: a list that is searched from front to back, with every
 * statistic computed anew from what is in it. Also the index from ids to positions by itself, with
 * ids that all want the same place.
 */
#include "data/rows.h"

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

static uint64_t draw(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = random_state;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

/* ---------------------------------------------------------------- the naive set */

typedef struct naive_row {
    efface_row row;
    float values[MOST_COLUMNS];
} naive_row;

typedef struct naive_set {
    uint32_t d;
    size_t n;
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
        row->values[j] = values[j] == 0.0F ? 0.0F : values[j];
    row->row.weight = from->weights != NULL ? from->weights[i] : row->row.weight;
    row->row.owner = from->owners != NULL ? from->owners[i] : row->row.owner;
    row->row.label = from->labels != NULL ? from->labels[i] : row->row.label;
}

static void naive_add(naive_set *set, const efface_rows *from) {
    for (size_t i = 0; i < from->n_rows; i++) {
        naive_row *const row = &set->rows[set->n++];
        assert_true(set->n <= MOST_ROWS);
        row->row = (efface_row){.id = from->ids != NULL ? from->ids[i] : set->next_id, .weight = 1};
        naive_assign(row, from, i, set->d);
        if (row->row.id >= set->next_id)
            set->next_id = row->row.id + 1;
    }
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

static void check_memory(const efface_data *data) {
    assert_true(data->n_rows <= data->capacity && data->capacity % EF_PANEL == 0);
    assert_int_equal((uintptr_t)data->values % 64, 0);
    /* Places without a row are zero: rows that were there are gone. */
    for (size_t position = data->n_rows; position < data->capacity; position++)
        for (uint32_t j = 0; j < data->n_columns; j++)
            assert_true(ef_data_value(data, position, j) == 0.0F);
}

static void check_same(const efface_data *data, naive_set *set) {
    assert_int_equal(efface_data_n_rows(data), set->n);
    assert_int_equal(efface_data_n_columns(data), set->d);
    int64_t total = 0;
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
        }
        exponents.rows[naive_exponent(right, set->d) + 100]++;
    }
    assert_true(efface_data_total_weight(data) == total);
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
    check_memory(data);
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

/* ---------------------------------------------------------------- random operations */

typedef struct batch {
    efface_rows rows;
    float values[MOST_BATCH * (MOST_COLUMNS + 3)];
    uint64_t ids[MOST_BATCH];
    int64_t weights[MOST_BATCH];
    uint64_t owners[MOST_BATCH];
    int32_t labels[MOST_BATCH];
} batch;

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
    const bool ones = draw() % 2 == 0;
    for (size_t i = 0; i < MOST_BATCH; i++) {
        b->weights[i] = ones ? 1 : 1 + (int64_t)(draw() % 1000);
        b->owners[i] = draw() >> draw() % 64;
        b->labels[i] = (int32_t)(draw() % 100) - 50;
    }
}

/* Ids that are there, each of them once. */
static void draw_present(batch *b, const naive_set *set) {
    const size_t n = b->rows.n_rows < set->n ? b->rows.n_rows : set->n;
    const size_t from = set->n != 0 ? draw() % set->n : 0;
    for (size_t i = 0; i < n; i++)
        b->ids[i] = set->rows[(from + i * (1 + draw() % 1)) % set->n].row.id;
    b->rows.n_rows = n;
    b->rows.ids = b->ids;
}

static uint64_t draw_new_id(naive_set *set, int kind, size_t i) {
    uint64_t id;
    do {
        id = kind == 1   ? set->next_id + i
             : kind == 2 ? draw() >> 1
             : kind == 3 ? draw() % 2000
                         : (draw() % 2000) << 40;
    } while (kind != 1 && naive_find(set, id) != NULL);
    return id;
}

static void try_add(efface_data *data, naive_set *set, batch *b, int kind) {
    efface_error error = {.status = EFFACE_OK};
    const size_t n = b->rows.n_rows;
    for (size_t i = 0; i < n; i++)
        b->ids[i] = draw_new_id(set, kind, i);
    b->rows.ids = kind == 0 ? NULL : b->ids;
    bool twice = false;
    for (size_t i = 0; i < n; i++)
        for (size_t back = 0; back < i; back++)
            twice |= kind != 0 && b->ids[i] == b->ids[back];
    if (kind != 0 && n != 0 && set->n != 0 && draw() % 4 == 0) {
        b->ids[draw() % n] = set->rows[draw() % set->n].row.id;
        twice = true;
    }
    const efface_status status = efface_data_add(data, &b->rows, &error);
    if (twice) {
        check_refused(status, EFFACE_E_DUPLICATE, &error, data, set);
        return;
    }
    assert_int_equal(status, EFFACE_OK);
    naive_add(set, &b->rows);
}

static void try_remove(efface_data *data, naive_set *set, batch *b) {
    efface_error error = {.status = EFFACE_OK};
    draw_present(b, set);
    const size_t n = b->rows.n_rows;
    if (n >= 2 && draw() % 3 == 0) {
        const bool twice = draw() % 2 == 0;
        b->ids[n - 1] = twice ? b->ids[draw() % (n - 1)] : set->next_id + 5;
        check_refused(efface_data_remove(data, b->ids, n, &error),
                      twice ? EFFACE_E_DUPLICATE : EFFACE_E_NOT_FOUND, &error, data, set);
        return;
    }
    assert_int_equal(efface_data_remove(data, b->ids, n, &error), EFFACE_OK);
    for (size_t i = 0; i < n; i++)
        *naive_find(set, b->ids[i]) = set->rows[--set->n];
}

static void try_replace(efface_data *data, naive_set *set, batch *b) {
    efface_error error = {.status = EFFACE_OK};
    draw_present(b, set);
    const size_t n = b->rows.n_rows;
    if (n >= 2 && draw() % 3 == 0) {
        const bool twice = draw() % 2 == 0;
        b->ids[n - 1] = twice ? b->ids[draw() % (n - 1)] : set->next_id + 5;
        check_refused(efface_data_replace(data, &b->rows, &error),
                      twice ? EFFACE_E_DUPLICATE : EFFACE_E_NOT_FOUND, &error, data, set);
        return;
    }
    assert_int_equal(efface_data_replace(data, &b->rows, &error), EFFACE_OK);
    for (size_t i = 0; i < n; i++)
        naive_assign(naive_find(set, b->ids[i]), &b->rows, i, set->d);
}

static void random_operations(void **state) {
    (void)state;
    static const uint32_t columns[] = {1, 2, 3, 8, 17};
    naive_set *const set = test_malloc(sizeof *set);
    batch *const b = test_malloc(sizeof *b);
    for (unsigned round = 0; round < 30; round++) {
        random_state = round + 1;
        efface_data *data = NULL;
        memset(set, 0, sizeof *set);
        set->d = columns[round % 5];
        assert_int_equal(efface_data_create(set->d, &data, NULL), EFFACE_OK);
        check_same(data, set);
        for (unsigned step = 0; step < 150; step++) {
            draw_batch(b, set->d);
            const uint64_t what = draw() % 8;
            if (what < 3 && set->n + MOST_BATCH <= MOST_ROWS / 2)
                /* Rounds without random ids, some with none at all; then a mixture. */
                try_add(data, set, b, round % 3 == 0 ? (int)(draw() % 2) : (int)(draw() % 5));
            else if (what < 6)
                try_remove(data, set, b);
            else
                try_replace(data, set, b);
            check_same(data, set);
        }
        efface_data_free(data);
    }
    test_free(b);
    test_free(set);
}
