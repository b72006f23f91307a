/*
 * The ids of rows: sets whose ids are positions but for some strays, through histories of removals,
 * additions and removals that are undone, against a plain list of ids; until so many are strays
 * that all are spelled out, and beyond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/set/rows.h"

#define MOST_ROWS 1500
#define MOST_BATCH 5

static uint64_t random_state;

static uint64_t draw(uint64_t below) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

/* A set of one column, whose values are the ids, and the ids by position. */
typedef struct history {
    efface_data *data;
    uint64_t ids[MOST_ROWS + 1];
    size_t n;
    uint64_t next_id;
} history;

static size_t naive_find(const history *h, uint64_t id) {
    size_t i = 0;
    while (i < h->n && h->ids[i] != id)
        i++;
    return i;
}

static void check(const history *h) {
    const ef_row_ids *const ids = &h->data->ids;
    assert_int_equal(h->data->n_rows, h->n);
    size_t n_strays = 0;
    for (size_t i = 0; i < h->n; i++) {
        size_t position = SIZE_MAX;
        assert_true(ef_data_id(h->data, i) == h->ids[i]);
        assert_true(ef_data_value(h->data, i, 0) == (float)h->ids[i]);
        assert_int_equal(efface_data_find(h->data, h->ids[i], &position), EFFACE_OK);
        assert_int_equal(position, i);
        n_strays += h->ids[i] != i;
    }
    for (uint64_t id = 0; id < h->next_id + 3; id++) {
        size_t position;
        if (efface_data_find(h->data, id, &position) == EFFACE_OK)
            assert_true(h->ids[position] == id);
        else
            assert_int_equal(naive_find(h, id), h->n);
    }
    for (size_t first = 0; first < h->n; first += EF_PANEL) {
        const size_t rest = h->n - first;
        const unsigned n = rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
        uint64_t panel[EF_PANEL];
        ef_row_ids_panel(ids, first, n, panel);
        for (size_t i = 0; i < EF_PANEL; i++)
            assert_true(panel[i] == h->ids[first + (i < n ? i : 0)]);
    }
    if (ids->own != NULL) {
        assert_true(ids->marks == NULL && ids->n_strays == 0 && ids->room == 0);
        return;
    }
    assert_int_equal(ids->n_strays, n_strays);
}

static efface_status add(history *h, const uint64_t *ids, size_t n) {
    float values[MOST_ROWS];
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(ids != NULL ? ids[i] : h->next_id + i);
    const efface_rows rows = {.n_rows = n, .values = values, .ids = ids};
    const efface_status status = efface_data_add(h->data, &rows, NULL);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        const uint64_t id = ids != NULL ? ids[i] : h->next_id;
        h->ids[h->n++] = id;
        h->next_id = id >= h->next_id ? id + 1 : h->next_id;
    }
    return status;
}

static void begin(history *h, size_t n) {
    *h = (history){.n = 0};
    assert_int_equal(efface_data_create(1, &h->data, NULL), EFFACE_OK);
    assert_int_equal(add(h, NULL, n), EFFACE_OK);
}

static void naive_remove(history *h, size_t position) {
    h->ids[position] = h->ids[--h->n];
}

/* Different ids that are there: at random, or from the end, or strays. */
static size_t draw_present(const history *h, uint64_t ids[MOST_BATCH]) {
    const size_t n = 1 + draw(h->n < MOST_BATCH ? h->n : MOST_BATCH);
    const uint64_t how = draw(3);
    for (size_t i = 0; i < n; i++) {
        size_t place = how == 0 ? h->n - 1 - i : draw(h->n);
        for (size_t tries = 0; how == 2 && tries < h->n && h->ids[place] == place; tries++)
            place = (place + 1) % h->n;
        for (size_t back = 0; back < i; back++)
            if (ids[back] == h->ids[place]) {
                place = (place + 1) % h->n;
                back = SIZE_MAX; /* from the start again */
            }
        ids[i] = h->ids[place];
    }
    return n;
}

static void remove_some(history *h) {
    uint64_t ids[MOST_BATCH];
    const size_t n = draw_present(h, ids);
    assert_int_equal(efface_data_remove(h->data, ids, n, NULL), EFFACE_OK);
    for (size_t i = 0; i < n; i++)
        naive_remove(h, naive_find(h, ids[i]));
}

/* As a call does that fails after its rows are gone. */
static void remove_and_undo(history *h) {
    uint64_t ids[MOST_BATCH];
    size_t positions[MOST_BATCH];
    const size_t n = draw_present(h, ids);
    assert_int_equal(ef_data_prepare_remove(h->data, ids, n, NULL), EFFACE_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(efface_data_find(h->data, ids[i], &positions[i]), EFFACE_OK);
        ef_data_take_out(h->data, positions[i]);
    }
    for (size_t i = n; i-- > 0;) {
        const efface_row row = {.id = ids[i], .weight = 1};
        ef_data_put_back(h->data, positions[i], &row, &(float){(float)ids[i]});
    }
}

/* Rows without ids, with their positions as ids, with the ids of rows that are gone, or with one
 * that is there. */
static void add_some(history *h) {
    uint64_t ids[MOST_BATCH];
    const size_t n = 1 + draw(MOST_BATCH);
    const uint64_t how = draw(5);
    bool fails = false;
    for (size_t i = 0; i < n; i++) {
        ids[i] = how == 1 ? h->n + i : how == 2 ? h->next_id + 2 * i : draw(h->next_id);
        if (how == 4 && i == n - 1)
            ids[i] = h->ids[draw(h->n)];
        fails |= naive_find(h, ids[i]) != h->n;
        for (size_t back = 0; back < i; back++)
            fails |= ids[back] == ids[i];
    }
    assert_int_equal(add(h, how != 0 ? ids : NULL, n),
                     how != 0 && fails ? EFFACE_E_DUPLICATE : EFFACE_OK);
}

static void histories_of_ids(void **state) {
    (void)state;
    history *const h = test_malloc(sizeof *h);
    unsigned n_strayed = 0, n_spelled = 0, n_healed = 0;
    for (unsigned round = 0; round < 24; round++) {
        random_state = round + 1;
        begin(h, 150 + draw(1000));
        for (unsigned step = 0; step < 60; step++) {
            const size_t before = h->data->ids.n_strays;
            const uint64_t what = draw(round % 3 == 0 ? 2 : 4);
            if (what < 2 && h->n > 2 * MOST_BATCH)
                (what == 0 ? remove_some : remove_and_undo)(h);
            else if (h->n + MOST_BATCH <= MOST_ROWS)
                add_some(h);
            check(h);
            n_strayed += h->data->ids.n_strays != 0;
            n_healed += h->data->ids.n_strays < before && h->data->ids.own == NULL;
        }
        n_spelled += h->data->ids.own != NULL;
        efface_data_free(h->data);
    }
    /* All that can happen did. */
    assert_true(n_strayed > 300 && n_healed > 10 && n_spelled > 3 && n_spelled < 24);
    test_free(h);
}

static void a_removal_makes_one_stray(void **state) {
    (void)state;
    history *const h = test_malloc(sizeof *h);
    begin(h, 1000);
    const ef_row_ids *const ids = &h->data->ids;
    assert_true(ef_data_ids_are_positions(h->data) && ids->marks == NULL);
    for (uint64_t id = 3; id < 53; id++) {
        assert_int_equal(ids->n_strays, id - 3);
        assert_int_equal(efface_data_remove(h->data, &id, 1, NULL), EFFACE_OK);
        naive_remove(h, naive_find(h, id));
    }
    check(h);
    assert_false(ef_data_ids_are_positions(h->data));
    assert_null(ids->own);
    /* Those from the end are the strays; the rows that are now last are none. */
    assert_int_equal(efface_data_remove(h->data, &(uint64_t){999}, 1, NULL), EFFACE_OK);
    assert_int_equal(ef_row_ids_find(ids, h->data->n_rows, 999), EF_NO_POSITION);
    efface_data_free(h->data);

    /* A batch that would make too many. */
    begin(h, 100);
    uint64_t many[13];
    for (uint64_t i = 0; i < 13; i++)
        many[i] = i + 1;
    assert_int_equal(efface_data_remove(h->data, many, 13, NULL), EFFACE_OK);
    assert_non_null(h->data->ids.own);
    for (uint64_t id = 1; id < 14; id++)
        naive_remove(h, naive_find(h, id));
    check(h);
    efface_data_free(h->data);
    test_free(h);
}

/* What was undone, or has gone from the end, leaves the set without ids of its own. */
static void no_strays_without_a_move(void **state) {
    (void)state;
    history *const h = test_malloc(sizeof *h);
    begin(h, 400);
    random_state = 5;
    for (int i = 0; i < 50; i++)
        remove_and_undo(h);
    assert_true(ef_data_ids_are_positions(h->data));
    for (uint64_t id = 399; id > 380; id--) {
        assert_int_equal(efface_data_remove(h->data, &id, 1, NULL), EFFACE_OK);
        h->n--;
    }
    assert_true(h->data->ids.own == NULL && h->data->ids.n_strays == 0);
    assert_int_equal(add(h, NULL, 1), EFFACE_OK);
    assert_true(ef_data_id(h->data, 381) == 400);
    check(h);
    efface_data_free(h->data);
    test_free(h);
}

/* Memory that was used before must not look like marks. */
static void marks_grow_with_the_set(void **state) {
    (void)state;
    history *const h = test_malloc(sizeof *h);
    begin(h, MOST_ROWS - 60);
    random_state = 6;
    remove_some(h);
    assert_non_null(h->data->ids.marks);
    const size_t before = h->data->capacity;
    void *used[200];
    for (size_t i = 0; i < 200; i++) {
        const size_t n_bytes = 16 * (i % 25 + 1);
        used[i] = malloc(n_bytes);
        assert_non_null(used[i]);
        memset(used[i], 0xFF, n_bytes);
    }
    for (size_t i = 0; i < 200; i++)
        free(used[i]);
    for (int i = 0; i < 10; i++)
        assert_int_equal(add(h, NULL, MOST_BATCH), EFFACE_OK);
    assert_true(h->data->capacity > before && h->data->ids.own == NULL);
    check(h);
    efface_data_free(h->data);
    test_free(h);
}

/* Nothing is left of strays that are none any more. */
static void strays_are_wiped(void **state) {
    (void)state;
    history *const h = test_malloc(sizeof *h);
    begin(h, 1000);
    random_state = 7;
    for (int i = 0; i < 20; i++) {
        remove_and_undo(h);
        const ef_row_ids *const ids = &h->data->ids;
        assert_int_equal(ids->n_strays, 0);
        assert_true(ids->ids[0] == 0 && ids->positions[0] == 0);
    }
    efface_data_free(h->data);
    test_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histories_of_ids),         cmocka_unit_test(a_removal_makes_one_stray),
        cmocka_unit_test(no_strays_without_a_move), cmocka_unit_test(marks_grow_with_the_set),
        cmocka_unit_test(strays_are_wiped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
