/*
 * What tests of changes share: a small set with its model, all that can be seen of them, the law
 * that a model is that of a fresh fit, and a row that is forgotten or learned under that law.
 */
#ifndef CHANGE_SCENE_H
#define CHANGE_SCENE_H

#include "model/kmeans/kmeans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Of a set; a test may have more. */
#ifndef MOST_ROWS
#define MOST_ROWS 64
#define MOST_COLUMNS 3
#endif

/* ---------------------------------------------------------------- a set and its model */

typedef struct pair {
    efface_data *data;
    efface_model *model;
    efface_kmeans_params params;
} pair;

static inline efface_kmeans_params params_of(efface_method method, uint32_t n_clusters,
                                             uint64_t seed) {
    efface_kmeans_params p;
    efface_kmeans_params_init(&p);
    p.method = method;
    p.n_clusters = n_clusters;
    p.common.seed = seed;
    p.candidates = 1;
    p.common.n_threads = 1;
    return p;
}

static inline efface_model *fit(const efface_data *data, const efface_kmeans_params *p) {
    efface_model *model = NULL;
    efface_error error;
    if (efface_kmeans_fit(data, p, &model, &error) != EFFACE_OK)
        fail_msg("%s", error.message);
    return model;
}

/* Rows with the ids 0, 1, 2, ... */
static inline pair make_pair(const efface_kmeans_params *p, size_t n, uint32_t d,
                             const float *values) {
    pair made = {NULL, NULL, *p};
    const efface_rows rows = {.n_rows = n, .values = values};
    assert_int_equal(efface_data_create(d, &made.data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(made.data, &rows, NULL), EFFACE_OK);
    made.model = fit(made.data, p);
    return made;
}

static inline void free_pair(pair *p) {
    efface_model_free(p->model);
    efface_data_free(p->data);
}

/* ---------------------------------------------------------------- what can be seen */

typedef struct sight {
    unsigned char digest[EFFACE_DIGEST_BYTES];
    int64_t total_weight;
    uint64_t next_id;
    size_t n_rows;
    efface_row rows[MOST_ROWS]; /* by position */
    float values[MOST_ROWS][MOST_COLUMNS];
} sight;

static inline sight look(const pair *p) {
    sight s;
    memset(&s, 0, sizeof s);
    assert_int_equal(efface_model_digest(p->model, s.digest, NULL), EFFACE_OK);
    s.n_rows = efface_data_n_rows(p->data);
    s.total_weight = efface_data_total_weight(p->data);
    s.next_id = p->data->next_id;
    for (size_t i = 0; i < s.n_rows; i++) {
        const efface_row row = efface_data_row(p->data, i);
        size_t position = SIZE_MAX;
        assert_int_equal(efface_data_find(p->data, row.id, &position), EFFACE_OK);
        assert_int_equal(position, i);
        s.rows[i].id = row.id;
        s.rows[i].weight = row.weight;
        s.rows[i].owner = row.owner;
        s.rows[i].label = row.label;
        efface_data_values(p->data, i, s.values[i]);
    }
    return s;
}

static inline void check_same(const pair *p, const sight *before) {
    const sight now = look(p);
    assert_memory_equal(&now, before, sizeof now);
}

/* The model is that of a fresh fit. */
static inline void check_law(const pair *p) {
    unsigned char ours[EFFACE_DIGEST_BYTES], right[EFFACE_DIGEST_BYTES];
    efface_model *const fresh = fit(p->data, &p->params);
    assert_int_equal(efface_model_digest(p->model, ours, NULL), EFFACE_OK);
    assert_int_equal(efface_model_digest(fresh, right, NULL), EFFACE_OK);
    assert_memory_equal(ours, right, sizeof ours);
    efface_model_free(fresh);
}

/* The same happened twice, if not in the same time. */
static inline void check_same_report(const efface_report *a, const efface_report *b) {
    assert_int_equal(a->action, b->action);
    assert_string_equal(a->reason, b->reason);
    assert_string_equal(a->where, b->where);
    assert_int_equal(a->rows_forgotten, b->rows_forgotten);
    assert_int_equal(a->rows_learned, b->rows_learned);
    assert_int_equal(a->rows_missing, b->rows_missing);
    assert_int_equal(a->rows_visited, b->rows_visited);
}

/* ---------------------------------------------------------------- one row */

/* Forgets one row and says what that took; the preview says the same and changes nothing. */
static inline efface_report forget_one(pair *p, uint64_t id) {
    efface_report report, preview;
    const sight before = look(p);
    assert_int_equal(efface_model_preview(p->model, p->data,
                                          &(efface_request){.ids = &id, .n_ids = 1}, &preview,
                                          NULL),
                     EFFACE_OK);
    check_same(p, &before);
    assert_int_equal(efface_model_forget(p->model, p->data,
                                         &(efface_request){.ids = &id, .n_ids = 1}, &report, NULL),
                     EFFACE_OK);
    assert_int_equal(preview.action, report.action);
    assert_string_equal(preview.reason, ef_reason_told(report.reason, true));
    assert_non_null(strstr(preview.reason, "will "));
    assert_null(strstr(report.reason, "will "));
    assert_string_equal(preview.where, report.where);
    assert_int_equal(preview.rows_forgotten, 1);
    assert_int_equal(preview.rows_missing, 0);
    assert_true(preview.rows_visited >= report.rows_visited);
    assert_true(preview.seconds >= 0.0 && report.seconds >= 0.0);
    check_law(p);
    return report;
}

static inline efface_report learn_one(pair *p, uint64_t id, const float *values) {
    efface_report report;
    const efface_rows rows = {.n_rows = 1, .values = values, .ids = &id};
    assert_int_equal(efface_model_learn(p->model, p->data, &rows, &report, NULL), EFFACE_OK);
    assert_int_equal(report.rows_learned, 1);
    assert_int_equal(report.rows_forgotten, 0);
    check_law(p);
    return report;
}

#endif
