/*
 * The trial of pyramid's starts (trial.h): whatever leaves, comes and changes, the model is that of
 * a fresh fit, byte for byte, with the trial in place and without; and what the trial has is what a
 * trial of the rows would have.
 */
#include "kmeans/pyramid_scene.h"
#include "model/kmeans/kept/kept.h"
#include "model/kmeans/sampling/trial.h"

static uint64_t drawn;
static bool heavy; /* weights are so large that those of sample and jury may have to be cut down */

static uint64_t draw(uint64_t n) {
    return ef_tape(20191105, 99, 0, drawn++, 0) % n;
}

static ef_trial *trial_of(const pair *p) {
    return inside(p->model)->kept != NULL ? inside(p->model)->kept->trial : NULL;
}

/* Few places, some of them far out, so that rows meet, centers tie and clusters become empty. */
static void draw_row(float *values, int64_t *weight) {
    const float far = draw(12) == 0 ? 400.0F : 1.0F;
    for (uint32_t j = 0; j < 2; j++)
        values[j] = far * (float)(30 * draw(3) + draw(6));
    *weight = draw(3) == 0 ? 1 + (int64_t)draw(5) : 1;
    if (heavy)
        *weight = (1 + (int64_t)draw(2)) << 33;
}

static efface_kmeans_params draw_params(uint64_t seed) {
    static const double rates[] = {1.0, 0.5, 0.25, 0.125};
    efface_kmeans_params params =
        params_of_pyramid(1 + (uint32_t)draw(4), rates[draw(4)], 1 + (uint32_t)draw(4), seed);
    params.iterations = 1 + (uint32_t)draw(7);
    params.candidates = (uint32_t)draw(3);
    params.pyramid.passes = 1 + (uint32_t)draw(2);
    params.epsilon = draw(4) == 0 ? 5 * 0x1p-23 : 0.0;
    params.empty = draw(2) == 0 ? EFFACE_EMPTY_KEEP : EFFACE_EMPTY_RESEED;
    params.lloyd.keep_margins = draw(4) != 0;
    return params;
}

static pair draw_pair(uint64_t seed, size_t n) {
    float values[2 * MOST_ROWS];
    int64_t weights[MOST_ROWS];
    for (size_t i = 0; i < n; i++)
        draw_row(values + 2 * i, &weights[i]);
    pair made = {.params = draw_params(seed)};
    const efface_rows rows = {.n_rows = n, .values = values, .weights = weights};
    assert_int_equal(efface_data_create(2, &made.data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(made.data, &rows, NULL), EFFACE_OK);
    made.model = fit(made.data, &made.params);
    return made;
}

/* One request of up to three rows: they leave, or come, or get other values. */
static efface_report change(pair *p) {
    const size_t n = p->data->n_rows, n_rows = 1 + draw(6) / 4 + draw(12) / 11;
    float values[6];
    int64_t weights[3];
    uint64_t ids[3];
    efface_report report;
    for (size_t i = 0; i < n_rows; i++)
        draw_row(values + 2 * i, &weights[i]);
    const size_t first = (size_t)draw(n);
    for (size_t i = 0; i < n_rows; i++)
        ids[i] = ef_data_id(p->data, (first + i) % n);
    const uint64_t what = draw(5);
    const bool may_come = n + n_rows <= MOST_ROWS, may_leave = n > 12;
    efface_rows rows = {.n_rows = n_rows, .values = values, .weights = weights};
    efface_status status;
    if (what == 0) {
        rows.ids = ids;
        status = efface_model_update(p->model, p->data, &rows, &report, NULL);
    } else if (may_come && (what < 3 || !may_leave)) {
        status = efface_model_learn(p->model, p->data, &rows, &report, NULL);
    } else {
        const efface_request request = {.ids = ids, .n_ids = n_rows};
        status = efface_model_forget(p->model, p->data, &request, &report, NULL);
    }
    assert_int_equal(status, EFFACE_OK);
    return report;
}

/* A row is at a position of a set, with a weight. */
static void check_member(const pair *p, size_t position, const efface_data *set, int64_t weight) {
    float row[MOST_COLUMNS], copy[MOST_COLUMNS];
    const uint64_t id = ef_data_id(p->data, position);
    size_t at;
    assert_int_equal(efface_data_find(set, id, &at), weight > 0 ? EFFACE_OK : EFFACE_E_NOT_FOUND);
    if (weight == 0)
        return;
    assert_int_equal(ef_data_weight(set, at), weight);
    efface_data_values(p->data, position, row);
    efface_data_values(set, at, copy);
    assert_memory_equal(copy, row, p->data->n_columns * sizeof *row);
}

/* The sets of a trial, its starts and their verdicts are those of the rows as they are. */
static void check_trial(const pair *p) {
    const ef_trial *const t = trial_of(p);
    const plain_pilot s = make_plainly(p);
    const uint32_t k = inside(p->model)->plan.n_clusters;
    assert_int_equal(t->sample->n_rows, s.n_sample);
    assert_int_equal(t->jury->n_rows, s.n_jury);
    for (size_t i = 0; i < p->data->n_rows; i++) {
        check_member(p, i, t->sample, s.rows[i].sample);
        check_member(p, i, t->jury, s.rows[i].jury);
    }
    for (uint32_t r = 0; r < t->n_starts; r++) {
        const ef_level *const verdict = &t->starts[r].verdict->levels[0];
        const int32_t *const centers =
            inside(p->model)->starts.centers + (size_t)r * k * p->data->n_columns;
        int64_t counts[MOST_CLUSTERS] = {0};
        for (size_t i = 0; i < p->data->n_rows; i++) {
            float row[MOST_COLUMNS];
            int64_t away;
            efface_data_values(p->data, i, row);
            counts[nearest_of(row, centers, k, p->data->n_columns, &away)] += s.rows[i].jury;
        }
        assert_memory_equal(verdict->counts, counts, k * sizeof *counts);
        assert_true(ef_level_loss(t->starts[r].verdict, verdict) ==
                    inside(p->model)->starts.losses[r]);
    }
}

/* Random histories. What is kept is dropped now and then: all of it, or the trial alone. */
static void starts_follow_histories(void **state) {
    (void)state;
    unsigned n_followed = 0, n_seeds = 0, n_moved = 0, n_jury = 0, n_cut = 0;
    for (uint64_t seed = 0; seed < 800; seed++) {
        drawn = seed << 20;
        heavy = seed % 2 != 0;
        pair p = draw_pair(seed, 24 + (size_t)draw(30));
        for (unsigned step = 0; step < 24; step++) {
            const uint64_t drops = draw(16);
            if (drops == 0) {
                ef_kept_drop(inside(p.model));
            } else if (drops == 1 && trial_of(&p) != NULL) {
                ef_trial_free(trial_of(&p));
                inside(p.model)->kept->trial = NULL;
            }
            const ef_trial *const before = trial_of(&p);
            const ef_kmeans *const run = before != NULL ? before->starts[0].run : NULL;
            const uint64_t first = run != NULL ? run->seeds[0].id : 0;
            const size_t n = before != NULL ? before->jury->n_rows : 0;
            const ef_stamp stamp = before != NULL ? before->jury->stamp : (ef_stamp){0};
            const uint32_t cut = before != NULL ? ef_weight_cut(before->weight) : 0;
            const efface_report report = change(&p);
            check_law(&p);
            if (trial_of(&p) != NULL) {
                check_trial(&p);
                n_cut += before != NULL && ef_weight_cut(trial_of(&p)->weight) != cut;
            }
            if (before == NULL || trial_of(&p) != before || before->jury->stamp.set != stamp.set)
                continue;
            n_followed += is_because(&report, EF_REASON_SAMPLE);
            n_seeds += run->seeds[0].id != first;
            n_jury += report.action == EFFACE_ACTION_ADJUSTED && before->jury->n_rows != n;
            n_moved += report.action == EFFACE_ACTION_REPAIRED;
        }
        free_pair(&p);
    }
    heavy = false;
    assert_true(n_followed > 1000 && n_seeds > 50 && n_moved > 1000 && n_jury > 100 && n_cut > 0);
}

/* With more rows, so that labels tell which rows of the jury to look at. */
static void starts_of_more_rows_follow(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        unsigned n_followed = 0;
        pair p = {.params = params_of(EFFACE_METHOD_PYRAMID, 5, seed)};
        p.params.pyramid.rate = 0.25;
        p.params.candidates = seed == 3 ? 2 : 1;
        assert_int_equal(efface_data_make_gaussian(5, 4, 250, seed, &p.data, NULL), EFFACE_OK);
        p.model = fit(p.data, &p.params);
        assert_null(trial_of(&p)); /* a model that was never asked to forget keeps none */
        for (unsigned step = 0; step < 60; step++) {
            const uint64_t id = ef_data_id(p.data, (size_t)draw(p.data->n_rows));
            const efface_request request = {.ids = &id, .n_ids = 1};
            const ef_trial *const before = trial_of(&p);
            efface_report report;
            assert_int_equal(efface_model_forget(p.model, p.data, &request, &report, NULL),
                             EFFACE_OK);
            check_law(&p);
            n_followed +=
                before != NULL && trial_of(&p) == before && is_because(&report, EF_REASON_SAMPLE);
        }
        assert_true(n_followed > 10);
        free_pair(&p);
    }
}

/* A trial that would take more than the values of all rows and a MiB is not kept. */
static void a_large_trial_is_not_kept(void **state) {
    (void)state;
    pair p = {.params = params_of(EFFACE_METHOD_PYRAMID, 64, 1)};
    p.params.pyramid.rate = 0.5;
    p.params.iterations = 30;
    p.params.pyramid.starts = 16;
    assert_int_equal(efface_data_make_gaussian(64, 2, 16, 1, &p.data, NULL), EFFACE_OK);
    p.model = fit(p.data, &p.params);
    assert_false(ef_trial_fits(inside(p.model), 512, 1024));
    unsigned n_sample = 0;
    for (unsigned step = 0; step < 8; step++) {
        const uint64_t id = ef_data_id(p.data, (size_t)draw(p.data->n_rows));
        const efface_request request = {.ids = &id, .n_ids = 1};
        efface_report report;
        assert_int_equal(efface_model_forget(p.model, p.data, &request, &report, NULL), EFFACE_OK);
        n_sample += is_because(&report, EF_REASON_SAMPLE);
        assert_null(trial_of(&p));
    }
    assert_true(n_sample > 0);
    free_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_follow_histories),
        cmocka_unit_test(starts_of_more_rows_follow),
        cmocka_unit_test(a_large_trial_is_not_kept),
    };
    return cmocka_run_group_tests_name("trial", tests, NULL, NULL);
}
