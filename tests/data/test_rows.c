/*
 * The set of rows against a naive one (naive_rows.h) through thousands of random operations, and
 * what the header promises of errors, ids and memory. Also the index from ids to positions by
 * itself, with ids that all want the same place.
 */
#include "data/naive_rows.h"

/* ---------------------------------------------------------------- random operations */

/* Ids that are there, each of them once, in any order. */
static void draw_present(batch *b, const naive_set *set) {
    const size_t n = b->rows.n_rows < set->n ? b->rows.n_rows : set->n;
    const size_t from = set->n != 0 ? draw() % set->n : 0;
    for (size_t i = 0; i < n; i++) {
        const size_t place = draw() % (i + 1);
        b->ids[i] = b->ids[place];
        b->ids[place] = set->rows[(from + i) % set->n].row.id;
    }
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

/* Removes or replaces rows. */
static void try_change(efface_data *data, naive_set *set, batch *b, bool replace) {
    efface_error error = {.status = EFFACE_OK};
    draw_present(b, set);
    const size_t n = b->rows.n_rows;
    efface_status right = EFFACE_OK;
    if (n >= 2 && draw() % 3 == 0) {
        right = draw() % 2 == 0 ? EFFACE_E_DUPLICATE : EFFACE_E_NOT_FOUND;
        b->ids[n - 1] = right == EFFACE_E_DUPLICATE ? b->ids[draw() % (n - 1)] : set->next_id + 5;
    }
    const efface_status status = replace ? efface_data_replace(data, &b->rows, &error)
                                         : efface_data_remove(data, b->ids, n, &error);
    if (right != EFFACE_OK) {
        check_refused(status, right, &error, data, set);
        return;
    }
    assert_int_equal(status, EFFACE_OK);
    for (size_t i = 0; i < n; i++) {
        naive_row *const row = naive_find(set, b->ids[i]);
        if (replace)
            naive_assign(row, &b->rows, i, set->d);
        else
            *row = set->rows[--set->n];
    }
}

static void random_operations(void **state) {
    (void)state;
    static const uint32_t columns[] = {1, 2, 3, 8, 17};
    naive_set *const set = test_malloc(sizeof *set);
    batch *const b = test_malloc(sizeof *b);
    for (unsigned round = 0; round < 60; round++) {
        random_state = round + 1;
        values_are_missing = round >= 30;
        efface_data *data = NULL;
        memset(set, 0, sizeof *set);
        set->d = columns[round % 5];
        assert_int_equal(efface_data_create(set->d, &data, NULL), EFFACE_OK);
        if (values_are_missing)
            efface_data_allow_missing(data);
        check_same(data, set);
        for (unsigned step = 0; step < 150; step++) {
            draw_batch(b, set->d);
            const uint64_t what = draw() % 8;
            if (what < 3 && set->n + MOST_BATCH <= MOST_ROWS / 2)
                /* Rounds without random ids, some with none at all; then a mixture. */
                try_add(data, set, b, round % 3 == 0 ? (int)(draw() % 2) : (int)(draw() % 5));
            else
                try_change(data, set, b, what >= 6);
            check_same(data, set);
        }
        efface_data_free(data);
    }
    values_are_missing = false;
    test_free(b);
    test_free(set);
}

/* ---------------------------------------------------------------- errors, all or none */

static void bad_rows_change_nothing(void **state) {
    (void)state;
    static const float bad_values[] = {NAN, INFINITY, -INFINITY, 0x1.000002p126F, -0x1.000002p126F};
    static const int64_t bad_weights[] = {0, -1, INT64_MIN, INT64_MAX, EFFACE_MAX_WEIGHT};
    naive_set *const set = test_calloc(1, sizeof *set);
    efface_data *data = NULL;
    efface_error error = {.status = EFFACE_OK};
    set->d = 3;
    assert_int_equal(efface_data_create(3, &data, NULL), EFFACE_OK);
    float values[12] = {1, 2, 3, 0x1p126F, -0x1p126F, 6, 7, 8, 9, -10, 11, 12};
    int64_t weights[4] = {1, EFFACE_MAX_WEIGHT - 100, 1, 1};
    uint64_t ids[4] = {5, 6, 7, 8};
    efface_rows rows = {.n_rows = 4, .values = values, .ids = ids, .weights = weights};
    assert_int_equal(efface_data_add(data, &rows, &error), EFFACE_OK);
    naive_add(set, &rows);
    check_same(data, set);

    const uint64_t new_ids[4] = {0, 1, 2, 3};
    int64_t ones[4] = {1, 1, 1, 1};
    rows.weights = ones;
    for (int replace = 0; replace < 2; replace++) {
        efface_status (*const change)(efface_data *, const efface_rows *, efface_error *) =
            replace ? efface_data_replace : efface_data_add;
        rows.ids = replace ? ids : new_ids;
        for (size_t place = 0; place < 12; place++)
            for (size_t i = 0; i < sizeof bad_values / sizeof *bad_values; i++) {
                const float good = values[place];
                values[place] = bad_values[i];
                check_refused(change(data, &rows, &error), EFFACE_E_LIMIT, &error, data, set);
                values[place] = good;
            }
        for (size_t place = 0; place < 4; place++)
            for (size_t i = 0; i < sizeof bad_weights / sizeof *bad_weights; i++) {
                ones[place] = bad_weights[i];
                check_refused(change(data, &rows, &error), EFFACE_E_LIMIT, &error, data, set);
                ones[place] = 1;
            }
        rows.stride = 2;
        check_refused(change(data, &rows, &error), EFFACE_E_ARGUMENT, &error, data, set);
        rows.stride = 0;
        rows.values = NULL;
        check_refused(change(data, &rows, &error), EFFACE_E_ARGUMENT, &error, data, set);
        rows.values = values;
    }
    /* The total: 2^40 - 1 is the most there can be, and what is replaced makes room. */
    rows = (efface_rows){.n_rows = 1, .values = values, .ids = new_ids, .weights = ones};
    ones[0] = 97; /* 2^40 - 97 are there */
    check_refused(efface_data_add(data, &rows, &error), EFFACE_E_LIMIT, &error, data, set);
    ones[0] = 96;
    assert_int_equal(efface_data_add(data, &rows, &error), EFFACE_OK);
    naive_add(set, &rows);
    assert_true(efface_data_total_weight(data) == EFFACE_MAX_WEIGHT - 1);
    ones[0] = 97;
    check_refused(efface_data_replace(data, &rows, &error), EFFACE_E_LIMIT, &error, data, set);
    ones[0] = 96;
    assert_int_equal(efface_data_replace(data, &rows, &error), EFFACE_OK);
    rows.weights = NULL;
    assert_int_equal(efface_data_replace(data, &rows, &error), EFFACE_OK);
    rows.ids = NULL;
    check_refused(efface_data_replace(data, &rows, &error), EFFACE_E_ARGUMENT, &error, data, set);
    check_refused(efface_data_remove(data, NULL, 1, &error), EFFACE_E_ARGUMENT, &error, data, set);
    assert_int_equal(efface_data_remove(data, NULL, 0, &error), EFFACE_OK);
    efface_data_free(data);
    test_free(set);
}

static void number_of_columns_is_limited(void **state) {
    (void)state;
    static const uint32_t bad[] = {0, 32768, UINT32_MAX};
    efface_error error = {.status = EFFACE_OK};
    efface_data *data = NULL;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(efface_data_create(bad[i], &data, &error), EFFACE_E_LIMIT);
        assert_true(data == NULL && strlen(error.message) > 10);
    }
    assert_int_equal(efface_data_create(5, NULL, NULL), EFFACE_E_ARGUMENT);
    float *const values = test_calloc(32767, sizeof *values);
    values[32766] = 3.0F;
    assert_int_equal(efface_data_create(32767, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &(efface_rows){.n_rows = 1, .values = values}, NULL),
                     EFFACE_OK);
    assert_true(ef_data_value(data, 0, 32766) == 3.0F);
    check_memory(data, 1);
    efface_data_free(data);
    efface_data_free(NULL);
    test_free(values);
}

/* ---------------------------------------------------------------- ids */

static efface_status add_ids(efface_data *data, const uint64_t *ids, size_t n) {
    static const float zeros[8];
    return efface_data_add(data, &(efface_rows){.n_rows = n, .values = zeros, .ids = ids}, NULL);
}

static void ids_are_spelled_out_only_when_needed(void **state) {
    (void)state;
    efface_data *data = NULL;
    size_t position = 99;
    const uint64_t more[] = {3, 4, 5};
    assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
    assert_int_equal(add_ids(data, NULL, 3), EFFACE_OK);
    assert_int_equal(add_ids(data, more, 3), EFFACE_OK);
    assert_int_equal(add_ids(data, NULL, 0), EFFACE_OK);
    const efface_rows same = {
        .n_rows = 3, .values = (float[]){1, 2, 3}, .ids = more, .weights = (int64_t[]){1, 1, 1}};
    assert_int_equal(efface_data_replace(data, &same, NULL), EFFACE_OK);
    assert_true(ef_data_ids_are_positions(data) && data->weights == NULL);
    assert_true(data->owners == NULL && data->labels == NULL);
    assert_int_equal(efface_data_find(data, 5, &position), EFFACE_OK);
    assert_int_equal(position, 5);
    assert_int_equal(add_ids(data, (uint64_t[]){100}, 1), EFFACE_OK);
    assert_non_null(data->ids.own);
    assert_int_equal(efface_data_row(data, 6).id, 100);
    assert_int_equal(add_ids(data, NULL, 2), EFFACE_OK); /* after the largest, not in the gap */
    assert_int_equal(efface_data_row(data, 8).id, 102);
    assert_int_equal(efface_data_remove(data, (uint64_t[]){102, 101}, 2, NULL), EFFACE_OK);
    assert_int_equal(add_ids(data, NULL, 1), EFFACE_OK); /* never one that was there */
    assert_int_equal(efface_data_row(data, 7).id, 103);
    efface_data_free(data);

    /* A removal leaves gaps: the rows that stay keep their ids. */
    assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
    assert_int_equal(add_ids(data, NULL, 4), EFFACE_OK);
    assert_int_equal(efface_data_remove(data, (uint64_t[]){2}, 1, NULL), EFFACE_OK);
    assert_int_equal(efface_data_find(data, 3, &position), EFFACE_OK);
    assert_int_equal(efface_data_find(data, 2, &position), EFFACE_E_NOT_FOUND);
    assert_int_equal(efface_data_remove(data, (uint64_t[]){0, 1, 3}, 3, NULL), EFFACE_OK);
    assert_int_equal(add_ids(data, NULL, 1), EFFACE_OK);
    assert_int_equal(efface_data_row(data, 0).id, 4);
    efface_data_free(data);
}

static void ids_at_the_upper_end(void **state) {
    (void)state;
    efface_data *data = NULL;
    const uint64_t last = UINT64_MAX, before = UINT64_MAX - 2, free_id = 17;
    size_t position;
    assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
    assert_int_equal(add_ids(data, &before, 1), EFFACE_OK);
    assert_int_equal(add_ids(data, NULL, 5), EFFACE_E_LIMIT);
    assert_int_equal(add_ids(data, NULL, 1), EFFACE_OK);
    assert_true(efface_data_row(data, 1).id == UINT64_MAX - 1);
    assert_int_equal(add_ids(data, &last, 1), EFFACE_OK);
    assert_int_equal(add_ids(data, &last, 1), EFFACE_E_DUPLICATE);
    assert_int_equal(add_ids(data, NULL, 1), EFFACE_E_LIMIT);
    assert_int_equal(efface_data_remove(data, &last, 1, NULL), EFFACE_OK);
    assert_int_equal(add_ids(data, NULL, 1), EFFACE_E_LIMIT);
    assert_int_equal(efface_data_find(data, last, &position), EFFACE_E_NOT_FOUND);
    assert_int_equal(add_ids(data, &free_id, 1), EFFACE_OK);
    assert_int_equal(efface_data_n_rows(data), 3);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- ranges */

/* A range has to be searched for only after the last row at one of its ends has gone. */
static void ranges_go_stale_only_with_an_end(void **state) {
    (void)state;
    efface_data *data = NULL;
    float least, most;
    const float values[] = {1, 1, 5, 5, 3, 3};
    const efface_rows rows = {.n_rows = 6, .values = values};
    assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    assert_int_equal(efface_data_remove(data, (uint64_t[]){0, 3, 4}, 3, NULL), EFFACE_OK);
    assert_false(data->ranges.any_stale);
    assert_int_equal(efface_data_remove(data, (uint64_t[]){1}, 1, NULL), EFFACE_OK);
    assert_true(data->ranges.any_stale);
    ef_data_column_ranges(data, &least, &most);
    assert_true(least == 3.0F && most == 5.0F);
    assert_int_equal(efface_data_remove(data, (uint64_t[]){2, 5}, 2, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK); /* begins anew */
    assert_false(data->ranges.any_stale);
    efface_data_free(data);
}

/* Rows that come together are copied a panel at a time: the set is the same as if they had come one
 * by one. Few different values, so that several rows are at the ends of a column. */
static void rows_together_are_rows_one_by_one(void **state) {
    (void)state;
    enum { N = 120, D = 5, STRIDE = 7 };
    for (size_t n_first = 0; n_first < 40; n_first++) {
        efface_data *together = NULL, *apart = NULL;
        float values[N * STRIDE];
        for (size_t i = 0; i < N * STRIDE; i++)
            values[i] = (float)(draw() % 7) - 3.0F;
        values[0] = -0.0F;
        assert_int_equal(efface_data_create(D, &together, NULL), EFFACE_OK);
        assert_int_equal(efface_data_create(D, &apart, NULL), EFFACE_OK);
        const efface_rows first = {.n_rows = n_first, .values = values, .stride = STRIDE};
        const efface_rows rest = {
            .n_rows = N - n_first, .values = values + n_first * STRIDE, .stride = STRIDE};
        assert_int_equal(efface_data_add(together, &first, NULL), EFFACE_OK);
        assert_int_equal(efface_data_add(together, &rest, NULL), EFFACE_OK);
        for (size_t i = 0; i < N; i++) {
            const efface_rows one = {.n_rows = 1, .values = values + i * STRIDE};
            assert_int_equal(efface_data_add(apart, &one, NULL), EFFACE_OK);
        }
        for (size_t i = 0; i < N; i++)
            for (uint32_t j = 0; j < D; j++)
                assert_true(ef_data_value(together, i, j) == ef_data_value(apart, i, j));
        assert_memory_equal(&together->exponents, &apart->exponents, sizeof apart->exponents);
        assert_memory_equal(together->ranges.least, apart->ranges.least, D * sizeof(float));
        assert_memory_equal(together->ranges.most, apart->ranges.most, D * sizeof(float));
        assert_memory_equal(together->ranges.n_least, apart->ranges.n_least, D * sizeof(uint64_t));
        assert_memory_equal(together->ranges.n_most, apart->ranges.n_most, D * sizeof(uint64_t));
        efface_data_free(together);
        efface_data_free(apart);
    }
}

/* ---------------------------------------------------------------- memory */

static bool holds(const void *memory, size_t n_bytes, float value) {
    const unsigned char *const bytes = memory;
    for (size_t i = 0; i + sizeof value <= n_bytes; i += sizeof value)
        if (memcmp(bytes + i, &value, sizeof value) == 0)
            return true;
    return false;
}

/* Rows are added one by one, between other allocations, so that the values move in
 * memory; each row has numbers of its own, to be looked for once it is gone. */
static void removed_values_are_wiped(void **state) {
    (void)state;
    enum { D = 3, N = 208, OWNER = 70000 };
    efface_data *data = NULL;
    void *between[N];
    assert_int_equal(efface_data_create(D, &data, NULL), EFFACE_OK);
    for (uint64_t id = 0; id < N; id++) {
        float values[D];
        for (size_t j = 0; j < D; j++)
            values[j] = 1000.25F + (float)(id * D + j);
        const efface_rows rows = {
            .n_rows = 1, .values = values, .ids = &id, .owners = (uint64_t[]){OWNER + id}};
        assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
        between[id] = malloc(24 + id * 40);
        check_memory(data, id + 1);
    }
    const size_t n_bytes = N * D * sizeof(float); /* whole panels */
    random_state = 7;
    for (uint64_t left = N; left > 0; left--) {
        const uint64_t id = efface_data_row(data, draw() % left).id;
        assert_true(holds(data->values, n_bytes, 1000.25F + (float)(id * D + D - 1)));
        assert_int_equal(efface_data_remove(data, &id, 1, NULL), EFFACE_OK);
        for (size_t j = 0; j < D; j++)
            assert_false(holds(data->values, n_bytes, 1000.25F + (float)(id * D + j)));
        for (size_t i = 0; i < N; i++) /* nor who it belonged to */
            assert_true(data->owners[i] != OWNER + id);
        for (size_t i = left - 1; i < N && data->ids.own != NULL; i++)
            assert_int_equal(data->ids.own[i], 0);
        check_memory(data, N);
        free(between[left - 1]);
    }
    efface_data_free(data);
}

/* The matrix ends with the last value of the last row: what would come after is not read. */
static void stride_leaves_gaps_alone(void **state) {
    (void)state;
    enum { D = 3, STRIDE = 5, N = 4 };
    float *const values = malloc(((N - 1) * STRIDE + D) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < (N - 1) * STRIDE + D; i++)
        values[i] = i % STRIDE < D ? (float)i : NAN;
    efface_data *data = NULL;
    assert_int_equal(efface_data_create(D, &data, NULL), EFFACE_OK);
    const efface_rows rows = {.n_rows = N, .values = values, .stride = STRIDE};
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    for (size_t i = 0; i < N; i++)
        for (uint32_t j = 0; j < D; j++)
            assert_true(ef_data_value(data, i, j) == (float)(i * STRIDE + j));
    free(values);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- the index by itself */

static const uint64_t known_salt[] = {1, UINT64_C(0x9E3779B97F4A7C15), 3};

/* Where an id wants to be, by looking. */
static size_t home_of(uint64_t id, size_t n_slots) {
    ef_id_index index = {.slots = test_calloc(n_slots, sizeof *index.slots), .n_slots = n_slots};
    memcpy(index.salt, known_salt, sizeof index.salt);
    ef_id_index_insert(&index, &id, 0);
    size_t slot = 0;
    while (index.slots[slot] == 0)
        slot++;
    test_free(index.slots);
    return slot;
}

/* Enters and takes out ids of a universe, as the set of rows does it, and looks for all of them
 * after every step. */
static void check_index(const uint64_t *universe, size_t n_universe, size_t most, int n_steps) {
    ef_id_index index = {0};
    uint64_t ids[64] = {0};
    size_t n = 0;
    assert_true(most <= 64 && ef_id_index_find(&index, ids, 5) == EF_NO_POSITION);
    assert_true(ef_id_index_reserve(&index, ids, 0, 1));
    memcpy(index.salt, known_salt, sizeof index.salt);
    for (int step = 0; step < n_steps; step++) {
        const uint64_t id = universe[draw() % n_universe];
        const size_t position = ef_id_index_find(&index, ids, id);
        if (position == EF_NO_POSITION && n < most) {
            ids[n] = id;
            assert_true(ef_id_index_reserve(&index, ids, n, n + 1));
            assert_true((index.n_slots & (index.n_slots - 1)) == 0 && n + 1 < index.n_slots);
            ef_id_index_insert(&index, ids, n++);
        } else if (position != EF_NO_POSITION) {
            ef_id_index_remove(&index, ids, id);
            if (position != --n)
                ef_id_index_move(&index, ids, ids[n], position);
            ids[position] = ids[n];
        }
        for (size_t i = 0; i < n_universe; i++) {
            size_t right = 0;
            while (right < n && ids[right] != universe[i])
                right++;
            assert_true(ef_id_index_find(&index, ids, universe[i]) ==
                        (right < n ? right : EF_NO_POSITION));
        }
    }
    ef_id_index_free(&index);
    assert_true(index.slots == NULL && index.n_slots == 0);
}

static void index_finds_what_is_there(void **state) {
    (void)state;
    enum { N = 48 };
    uint64_t universe[N];
    random_state = 11;
    /* Ids that crowd around the end of a table of 16 slots: runs that go over it. */
    size_t n = 0;
    for (uint64_t id = 0; n < N; id++)
        if ((home_of(id, 16) + 3) % 16 < 5)
            universe[n++] = id;
    check_index(universe, N, 12, 20000);
    for (uint64_t i = 0; i < N; i++)
        universe[i] = i << 48; /* the same low bits */
    check_index(universe, N, 40, 5000);
    for (uint64_t i = 0; i < N; i++)
        universe[i] = i % 2 == 0 ? i : UINT64_MAX - i;
    check_index(universe, N, 40, 5000);
}

/* The longest run of entries, which is what a search may go through. */
static size_t longest_run(const ef_id_index *index) {
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < 2 * index->n_slots; i++) {
        run = index->slots[i & (index->n_slots - 1)] != 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* Ids that somebody has chosen for one place find another salt in every table. */
static void chosen_ids_do_not_crowd(void **state) {
    (void)state;
    enum { N = 500, N_SLOTS = 4096 };
    uint64_t ids[N];
    size_t n = 0, longest[2];
    for (uint64_t id = 0; n < N; id++)
        if (home_of(id, 16) == 7 && home_of(id, 64) == 7)
            ids[n++] = id;
    for (int turn = 0; turn < 4; turn++) { /* with the known salt; of salts one in many is bad */
        const bool known = turn == 0;
        ef_id_index index = {0};
        assert_true(ef_id_index_reserve(&index, ids, 0, 3000) && index.n_slots == N_SLOTS);
        if (known)
            memcpy(index.salt, known_salt, sizeof index.salt);
        for (size_t i = 0; i < N; i++)
            ef_id_index_insert(&index, ids, i);
        const size_t run = longest_run(&index);
        if (turn <= 1 || run < longest[0])
            longest[known] = run;
        ef_id_index_free(&index);
    }
    assert_true(longest[0] < 40 && longest[1] > 2 * longest[0]);
}

/* What the rows before had, when later ones bring the first owners and labels. */
static void first_owners_and_labels_may_come_late(void **state) {
    (void)state;
    const float values[] = {1, 2, 3};
    efface_data *data = NULL;
    assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
    assert_int_equal(add_ids(data, NULL, 3), EFFACE_OK);
    assert_true(data->owners == NULL && data->labels == NULL);
    const efface_rows labelled = {
        .n_rows = 2, .values = values, .labels = (const int64_t[]){0, INT64_MAX}};
    assert_int_equal(efface_data_add(data, &labelled, NULL), EFFACE_OK);
    assert_true(data->owners == NULL && data->labels != NULL);
    const efface_rows owned = {
        .n_rows = 2, .values = values, .owners = (const uint64_t[]){0, UINT64_MAX - 1}};
    assert_int_equal(efface_data_add(data, &owned, NULL), EFFACE_OK);
    static const int64_t labels[] = {EFFACE_NO_LABEL, EFFACE_NO_LABEL, EFFACE_NO_LABEL, 0,
                                     INT64_MAX,       EFFACE_NO_LABEL, EFFACE_NO_LABEL};
    for (size_t i = 0; i < 7; i++) {
        const efface_row row = efface_data_row(data, i);
        assert_true(row.label == labels[i]);
        assert_true(row.owner == (i == 5 ? 0 : i == 6 ? UINT64_MAX - 1 : EFFACE_NO_OWNER));
    }
    /* Replaced in a set in which no row had one. */
    efface_data_free(data);
    assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
    assert_int_equal(add_ids(data, NULL, 3), EFFACE_OK);
    const efface_rows one = {.n_rows = 1,
                             .values = values,
                             .ids = (const uint64_t[]){1},
                             .owners = (const uint64_t[]){0},
                             .labels = (const int64_t[]){-5}};
    assert_int_equal(efface_data_replace(data, &one, NULL), EFFACE_OK);
    for (size_t i = 0; i < 3; i++) {
        const efface_row row = efface_data_row(data, i);
        assert_true(row.label == (i == 1 ? -5 : EFFACE_NO_LABEL));
        assert_true(row.owner == (i == 1 ? 0 : EFFACE_NO_OWNER));
    }
    efface_data_free(data);
}

static size_t position_of(const efface_data *data, uint64_t id) {
    size_t position = SIZE_MAX;
    assert_int_equal(efface_data_find(data, id, &position), EFFACE_OK);
    return position;
}

/* A mark stays with its row when others leave, and is gone with it. */
static void marks_stay_with_their_rows(void **state) {
    (void)state;
    const float values[] = {1, 2, 3, 4, 5};
    efface_data *data = NULL;
    assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
    assert_int_equal(add_ids(data, NULL, 3), EFFACE_OK);
    assert_true(data->marks == NULL && efface_data_row(data, 1).mark == 0);
    const efface_rows marked = {.n_rows = 5,
                                .values = values,
                                .ids = (const uint64_t[]){10, 11, 12, 13, 14},
                                .marks = (const int64_t[]){-1, INT64_MIN, 7, 8, INT64_MAX}};
    assert_int_equal(efface_data_add(data, &marked, NULL), EFFACE_OK);
    assert_true(efface_data_row(data, 2).mark == 0 && data->labels == NULL);
    assert_int_equal(efface_data_remove(data, (const uint64_t[]){11, 0}, 2, NULL), EFFACE_OK);
    assert_true(efface_data_row(data, position_of(data, 10)).mark == -1);
    assert_true(efface_data_row(data, position_of(data, 12)).mark == 7);
    assert_true(efface_data_row(data, position_of(data, 14)).mark == INT64_MAX);
    for (size_t i = data->n_rows; i < 8; i++)
        assert_true(data->marks[i] == 0);

    /* A row that is replaced keeps it unless another is given; one that is added has 0. */
    efface_rows one = {.n_rows = 1, .values = values, .ids = (const uint64_t[]){12}};
    assert_int_equal(efface_data_replace(data, &one, NULL), EFFACE_OK);
    assert_true(efface_data_row(data, position_of(data, 12)).mark == 7);
    one.marks = (const int64_t[]){70};
    assert_int_equal(efface_data_replace(data, &one, NULL), EFFACE_OK);
    assert_true(efface_data_row(data, position_of(data, 12)).mark == 70);
    assert_int_equal(add_ids(data, (const uint64_t[]){11}, 1), EFFACE_OK);
    assert_true(efface_data_row(data, position_of(data, 11)).mark == 0);

    /* What a change took out comes back with it. */
    const size_t place = position_of(data, 13);
    const efface_row row = efface_data_row(data, place);
    assert_int_equal(ef_data_prepare_remove(data, (const uint64_t[]){13}, 1, NULL), EFFACE_OK);
    ef_data_take_out(data, place);
    ef_data_put_back(data, place, &row, &values[3]);
    assert_true(efface_data_row(data, place).mark == 8);
    assert_true(efface_data_row(data, position_of(data, 12)).mark == 70);
    efface_data_free(data);
}

/* Names come and go one by one. */
static void columns_have_names_or_none(void **state) {
    (void)state;
    efface_data *data = NULL;
    efface_error error;
    assert_int_equal(efface_data_create(3, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_name_column(data, 1, NULL, NULL), EFFACE_OK);
    assert_null(efface_data_column_name(data, 1));
    char name[] = "age";
    assert_int_equal(efface_data_name_column(data, 1, name, NULL), EFFACE_OK);
    name[0] = 'x';
    assert_null(efface_data_column_name(data, 0));
    assert_string_equal(efface_data_column_name(data, 1), "age");
    assert_null(efface_data_column_name(data, 2));
    assert_null(efface_data_column_name(data, 3));
    assert_int_equal(efface_data_name_column(data, 3, "late", &error), EFFACE_E_ARGUMENT);
    assert_non_null(strstr(error.message, "no column 4"));
    assert_int_equal(efface_data_name_column(NULL, 0, "x", NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_data_name_column(data, 1, NULL, NULL), EFFACE_OK);
    assert_null(efface_data_column_name(data, 1));
    assert_int_equal(efface_data_name_column(data, 2, "", NULL), EFFACE_OK);
    assert_null(efface_data_column_name(data, 2));
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations),
        cmocka_unit_test(bad_rows_change_nothing),
        cmocka_unit_test(number_of_columns_is_limited),
        cmocka_unit_test(ids_are_spelled_out_only_when_needed),
        cmocka_unit_test(ids_at_the_upper_end),
        cmocka_unit_test(ranges_go_stale_only_with_an_end),
        cmocka_unit_test(rows_together_are_rows_one_by_one),
        cmocka_unit_test(removed_values_are_wiped),
        cmocka_unit_test(stride_leaves_gaps_alone),
        cmocka_unit_test(chosen_ids_do_not_crowd),
        cmocka_unit_test(index_finds_what_is_there),
        cmocka_unit_test(first_owners_and_labels_may_come_late),
        cmocka_unit_test(marks_stay_with_their_rows),
        cmocka_unit_test(columns_have_names_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
