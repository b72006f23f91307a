/*
 * What a model of pyramid keeps (docs/numerics.md, section 7): that its starts are runs of lloyd on
 * the sample with the losses that the jury gives them, and that this and the marks of the rows
 * follow every change. All sets are of whole numbers on a grid of step 1.
 */
#include "unit/change_ways.h"

#include "base/tape.h"
#include "model/kmeans/levels.h"

static uint64_t random_state = 20191105;

static uint64_t below(uint64_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

/* Rows of two columns around four places, with weights. */
static pair make_places(size_t n, const efface_kmeans_params *params) {
    float values[2 * MOST_ROWS];
    int64_t weights[MOST_ROWS];
    assert_true(n <= MOST_ROWS);
    for (size_t i = 0; i < n; i++) {
        values[2 * i] = (float)(40 * below(2) + below(21));
        values[2 * i + 1] = (float)(40 * below(2) + below(21));
        weights[i] = 1 + (int64_t)below(3);
    }
    pair made = {.params = *params};
    const efface_rows rows = {.n_rows = n, .values = values, .weights = weights};
    assert_int_equal(efface_data_create(2, &made.data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(made.data, &rows, NULL), EFFACE_OK);
    made.model = fit(made.data, params);
    return made;
}

static efface_kmeans_params params_of_pyramid(double rate, uint32_t starts, uint64_t seed) {
    efface_kmeans_params p = params_of(EFFACE_METHOD_PYRAMID, 3, seed);
    p.bound = 0x1p23;
    p.rate = rate;
    p.starts = starts;
    return p;
}

static uint32_t marks_of(const efface_kmeans *model, uint64_t id) {
    return ef_marks(ef_member_exponent(model->plan.seed, id), model->plan.rate);
}

/* ---------------------------------------------------------------- losses */

/* Weight times the squared distance of a row from the nearest center of a start. */
static int64_t cost_of_row(const pair *p, size_t position, uint32_t start) {
    const efface_kmeans *const m = p->model;
    const uint32_t d = m->domain.map.n_columns, k = m->plan.n_clusters;
    float row[MOST_COLUMNS];
    int64_t least = INT64_MAX;
    efface_data_values(p->data, position, row);
    for (uint32_t c = 0; c < k; c++) {
        int64_t square = 0;
        for (uint32_t j = 0; j < d; j++) {
            const int64_t away = (int64_t)row[j] - m->starts.centers[(start * k + c) * d + j];
            square += away * away;
        }
        least = square < least ? square : least;
    }
    return least * efface_data_row(p->data, position).weight;
}

/* The losses are what the rows of the jury cost, and the first of the smallest is chosen. */
static void check_losses(const pair *p) {
    const efface_kmeans *const m = p->model;
    for (uint32_t r = 0; r < m->plan.starts; r++) {
        int64_t loss = 0;
        for (size_t i = 0; i < p->data->n_rows; i++)
            if ((marks_of(m, efface_data_row(p->data, i).id) & EF_IN_JURY) != 0)
                loss += cost_of_row(p, i, r);
        assert_true(m->starts.losses[r] == loss);
        assert_true(m->starts.losses[m->start] <= loss);
        assert_true(r >= m->start || m->starts.losses[m->start] < loss);
    }
}

/* A row leaves: the losses stay, or lose what it cost, or belong to other centers. */
static void losses_follow_the_jury(void **state) {
    (void)state;
    unsigned n_nobody = 0, n_jury = 0, n_sample = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        const efface_kmeans_params params = params_of_pyramid(0.125, 4, seed);
        pair p = make_places(48, &params);
        while (p.data->n_rows > 12) {
            const size_t position = below(p.data->n_rows);
            const uint64_t id = efface_data_row(p.data, position).id;
            const uint32_t marks = marks_of(p.model, id), rate = p.model->plan.rate;
            ef_i128 right[4];
            for (uint32_t r = 0; r < 4; r++) {
                right[r] = p.model->starts.losses[r];
                if ((marks & EF_IN_JURY) != 0)
                    right[r] -= cost_of_row(&p, position, r);
            }
            (void)forget_one(&p, id);
            check_losses(&p);
            if ((marks & EF_IN_SAMPLE) == 0 && rate == p.model->plan.rate)
                assert_memory_equal(p.model->starts.losses, right, sizeof right);
            n_sample += (marks & EF_IN_SAMPLE) != 0;
            n_jury += marks == EF_IN_JURY;
            n_nobody += marks == 0;
        }
        free_pair(&p);
    }
    assert_true(n_sample > 50 && n_jury > 100 && n_nobody > 100);
}

/* Row 1 is in the jury but not in the sample. While it is there, the second of two starts is the
 * better one. (A search found the case.) */
static void the_jury_takes_another_start(void **state) {
    (void)state;
    const float values[4] = {6.0F, 3.0F, 4.0F, 2.0F};
    efface_kmeans_params params = params_of(EFFACE_METHOD_PYRAMID, 2, 7);
    params.bound = 0x1p23;
    params.rate = 0.5;
    params.starts = 2;
    pair p = make_pair(&params, 4, 1, values);
    assert_int_equal(marks_of(p.model, 1), EF_IN_JURY);
    assert_int_equal(p.model->start, 1);
    int32_t centers[4];
    memcpy(centers, p.model->starts.centers, sizeof centers);
    for (int turn = 0; turn < 2; turn++) {
        const efface_report report = turn == 0 ? forget_one(&p, 1) : learn_one(&p, 1, &values[1]);
        assert_int_equal(report.reason, EFFACE_REASON_SAMPLE);
        assert_int_equal(report.action, EFFACE_ACTION_REPAIRED);
        assert_int_equal(report.level, 0);
        assert_int_equal(report.levels_replayed, 1);
        assert_int_equal(report.rows_visited, p.data->n_rows); /* not those of the starts */
        assert_int_equal(p.model->start, turn);
        assert_memory_equal(p.model->starts.centers, centers, sizeof centers);
        efface_kmeans *const fresh = fit(p.data, &params);
        assert_memory_equal(p.model->starts.losses, fresh->starts.losses,
                            2 * sizeof *fresh->starts.losses);
        assert_int_equal(p.model->start, fresh->start);
        efface_kmeans_free(fresh);
        check_losses(&p);
    }
    free_pair(&p);
}

/* ---------------------------------------------------------------- starts */

/* A set of the rows of the sample. */
static efface_data *copy_sample(const pair *p) {
    efface_data *copy = NULL;
    assert_int_equal(efface_data_create(efface_data_n_columns(p->data), &copy, NULL), EFFACE_OK);
    for (size_t i = 0; i < p->data->n_rows; i++) {
        const efface_row row = efface_data_row(p->data, i);
        float values[MOST_COLUMNS];
        efface_data_values(p->data, i, values);
        const efface_rows one = {
            .n_rows = 1, .values = values, .ids = &row.id, .weights = &row.weight};
        if ((marks_of(p->model, row.id) & EF_IN_SAMPLE) != 0)
            assert_int_equal(efface_data_add(copy, &one, NULL), EFFACE_OK);
    }
    return copy;
}

/* Each start is a run of lloyd on the rows of the sample; the passes begin with the chosen one. For
 * a model that was fitted and has seen no change, the rows that were looked at add up as well. */
static void check_starts(const pair *p, bool unchanged) {
    const efface_kmeans *const m = p->model;
    const size_t k = m->plan.n_clusters, n_values = k * m->domain.map.n_columns;
    efface_data *const sample = copy_sample(p);
    uint64_t assigned = (uint64_t)p->data->n_rows * ef_count_partitions(m, 0), moved = 0;
    for (size_t i = 0; i < p->data->n_rows; i++)
        if ((marks_of(m, efface_data_row(p->data, i).id) & EF_IN_JURY) != 0)
            assigned += m->plan.starts;
    for (uint32_t r = 0; r < m->plan.starts; r++) {
        efface_kmeans_params params = p->params;
        params.method = EFFACE_METHOD_LLOYD;
        params.seed = r == 0 ? params.seed : ef_tape(params.seed, 8, 0, r, 0);
        efface_kmeans *const run = fit(sample, &params);
        assert_int_equal(run->plan.n_clusters, k);
        for (size_t c = 0; c < k; c++) {
            assert_true(m->starts.seeds[r * k + c].id == run->seeds[c].id);
            assert_true(m->starts.seeds[r * k + c].key == run->seeds[c].key);
        }
        assert_memory_equal(m->starts.centers + r * n_values, run->levels[run->model_level].centers,
                            n_values * sizeof *m->starts.centers);
        assigned += run->rows_assigned;
        moved += run->rows_moved;
        efface_kmeans_free(run);
    }
    if (unchanged)
        assert_int_equal(m->rows_assigned, assigned);
    if (unchanged && m->plan.passes == 1)
        assert_int_equal(m->rows_moved, moved);
    if (m->plan.epsilon == 0)
        assert_memory_equal(m->levels[0].centers, m->starts.centers + m->start * n_values,
                            n_values * sizeof *m->starts.centers);
    efface_data_free(sample);
    check_losses(p);
}

static void starts_are_runs_of_lloyd(void **state) {
    (void)state;
    static const double rates[] = {1.0, 0.5, 0.25, 0.125, 0.0625};
    bool chosen[5] = {false};
    for (uint64_t seed = 0; seed < 300; seed++) {
        efface_kmeans_params params = params_of_pyramid(rates[seed % 5], 5, seed);
        params.iterations = 1 + (uint32_t)(seed % 4);
        params.epsilon = seed % 3 == 0 ? 5 * 0x1p-23 : 0.0;
        pair p = make_places(50, &params);
        check_starts(&p, true);
        chosen[p.model->start] = true;
        free_pair(&p);
    }
    for (int r = 0; r < 5; r++)
        assert_true(chosen[r]);
}

/* Rows at or near zero, so that the centers of the starts meet there, and clusters become empty. */
static void starts_reseed(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        float values[40];
        efface_kmeans_params params = params_of_pyramid(seed % 2 != 0 ? 1.0 : 0.5, 2, seed);
        params.n_clusters = 2;
        params.iterations = 2;
        for (size_t i = 0; i < 40; i++)
            values[i] = below(3) != 0 ? 0.0F : below(2) != 0 ? 1.0F : -1.0F;
        pair p = make_pair(&params, 20, 2, values);
        check_starts(&p, true);
        while (p.data->n_rows > 10) {
            (void)forget_one(&p, efface_data_row(p.data, below(p.data->n_rows)).id);
            check_starts(&p, false);
        }
        free_pair(&p);
    }

    /* Both means round to zero, and one cluster is empty. Where the centers are zero, the sums have
     * no part in the loss, which is the sum of squares: whoever takes that for 0 reseeds nobody. */
    const float few[10] = {0, 0, 1, 0, 0, 0, -1, 0, 0, 1};
    efface_kmeans_params params = params_of_pyramid(1.0, 1, 12);
    params.n_clusters = 2;
    params.iterations = 2;
    pair p = make_pair(&params, 5, 2, few);
    check_starts(&p, true);
    const int32_t *const centers = p.model->starts.centers;
    assert_true(centers[0] != centers[2] || centers[1] != centers[3]);
    free_pair(&p);
}

/* One start is the first of several, whatever the jury may think of it. */
static void one_start_is_the_first(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        efface_kmeans_params params = params_of_pyramid(0.25, 6, seed);
        pair several = make_places(40, &params), one = {.params = params};
        const size_t n_values = (size_t)several.model->plan.n_clusters * 2;
        one.params.starts = 1;
        one.data = several.data;
        one.model = fit(one.data, &one.params);
        assert_int_equal(one.model->start, 0);
        check_starts(&one, true);
        assert_memory_equal(one.model->starts.centers, several.model->starts.centers,
                            n_values * sizeof *one.model->starts.centers);
        assert_true(one.model->starts.losses[0] == several.model->starts.losses[0]);
        efface_kmeans_free(several.model);
        while (one.data->n_rows > 20) {
            (void)forget_one(&one, efface_data_row(one.data, below(one.data->n_rows)).id);
            assert_int_equal(one.model->start, 0);
        }
        free_pair(&one);
    }
}

/* With one cluster every start ends at the mean of the sample: of equals, the first. */
static void of_equal_starts_the_first_is_chosen(void **state) {
    (void)state;
    efface_kmeans_params params = params_of_pyramid(0.5, 7, 3);
    params.n_clusters = 1;
    pair p = make_places(30, &params);
    for (uint32_t r = 1; r < 7; r++)
        assert_true(p.model->starts.losses[r] == p.model->starts.losses[0]);
    assert_int_equal(p.model->start, 0);
    while (p.data->n_rows > 2) {
        (void)forget_one(&p, efface_data_row(p.data, below(p.data->n_rows)).id);
        assert_int_equal(p.model->start, 0);
    }
    free_pair(&p);
}

/* A row of the sample leaves and the start ends where it did: the levels are looked at as for any
 * other row, of which none is in one case, and level 1 alone in the other, to be made again. */
static void a_start_may_end_where_it_did(void **state) {
    (void)state;
    const float near[3] = {2.0F, 3.0F, 3.0F}, far[3] = {4.0F, 11.0F, 11.0F};
    efface_kmeans_params params = params_of_pyramid(1.0, 1, 11);
    params.n_clusters = 1;
    pair p = make_pair(&params, 3, 1, near);
    efface_report report = forget_one(&p, 2);
    assert_int_equal(report.reason, EFFACE_REASON_SAMPLE);
    assert_int_equal(report.levels_replayed, 0);
    assert_int_equal(report.rows_visited, 2 + 2); /* by the start, and by the jury */
    check_starts(&p, false);
    free_pair(&p);

    params.seed = 14;
    params.rate = 0.5;
    params.passes = 2;
    p = make_pair(&params, 3, 1, far);
    const int32_t center = p.model->starts.centers[0];
    report = forget_one(&p, 1);
    assert_int_equal(p.model->starts.centers[0], center);
    assert_int_equal(report.reason, EFFACE_REASON_SAMPLE);
    assert_int_equal(report.level, 0); /* as the preview says, which does not run the start */
    assert_int_equal(report.levels_replayed, 1);
    check_starts(&p, false);
    free_pair(&p);
}

/* ---------------------------------------------------------------- marks */

static bool is_among_seeds(const efface_kmeans *m, uint64_t id) {
    for (size_t i = 0; i < (size_t)m->plan.starts * m->plan.n_clusters; i++)
        if (m->starts.seeds[i].id == id)
            return true;
    return false;
}

/* The marks are those of a set that was never another; what can be asked agrees with them. */
static void check_marks(const pair *p, uint64_t n_ids) {
    const efface_kmeans *const m = p->model;
    const ef_kernels *kernels = NULL;
    uint8_t marks[MOST_ROWS];
    ef_members members;
    assert_int_equal(ef_kernels_require(&kernels, NULL), EFFACE_OK);
    ef_sample_mark(p->data, kernels, m->plan.seed, m->plan.rate, marks);
    ef_members_count(&members, p->data, kernels, m->plan.seed);
    assert_memory_equal(&m->members, &members, sizeof members);
    for (size_t i = 0; i < p->data->n_rows; i++) {
        const uint64_t id = efface_data_row(p->data, i).id;
        assert_int_equal(m->guard.codes[i] & EF_MARKS, marks[i]);
        assert_int_equal(marks[i], marks_of(m, id));
        assert_int_equal(efface_kmeans_in_sample(m, id), (marks[i] & EF_IN_SAMPLE) != 0);
        assert_int_equal(efface_kmeans_is_seed(m, id), is_among_seeds(m, id));
        assert_true(!efface_kmeans_is_seed(m, id) || efface_kmeans_in_sample(m, id));
    }
    for (uint64_t id = 0; id < n_ids; id++) {
        size_t position;
        if (efface_data_find(p->data, id, &position) != EFFACE_OK)
            assert_int_equal(efface_kmeans_is_seed(m, id), 0);
    }
}

/* The kept partition is that of level 0: each row with the nearest center, of equals the first. */
static void check_partition(const pair *p) {
    const efface_kmeans *const m = p->model;
    for (size_t i = 0; i < p->data->n_rows; i++) {
        float row[MOST_COLUMNS];
        int64_t least = INT64_MAX;
        uint32_t nearest = 0;
        efface_data_values(p->data, i, row);
        for (uint32_t c = 0; c < m->plan.n_clusters; c++) {
            int64_t square = 0;
            for (uint32_t j = 0; j < 2; j++) {
                const int64_t away = (int64_t)row[j] - m->levels[0].centers[2 * c + j];
                square += away * away;
            }
            nearest = square < least ? c : nearest;
            least = square < least ? square : least;
        }
        assert_int_equal(ef_guard_label(&m->guard, i), nearest);
    }
}

/* Rows leave by ones and threes, come, and get other values, at times after a preview or a call
 * that is refused. */
static void what_is_kept_follows_every_change(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        efface_kmeans_params params = params_of_pyramid(seed % 2 != 0 ? 0.125 : 0.25, 3, seed);
        params.passes = 1 + (uint32_t)(seed % 3);
        pair p = make_places(40, &params);
        uint64_t next_id = 40;
        for (int step = 0; step < 60; step++) {
            const size_t n = below(4) == 0 ? 3 : 1;
            float values[6];
            uint64_t ids[3];
            const size_t first = below(p.data->n_rows - 2);
            for (size_t i = 0; i < 6; i++)
                values[i] = (float)below(70);
            for (size_t i = 0; i < n; i++)
                ids[i] = efface_data_row(p.data, first + n - 1 - i).id;
            efface_rows rows = {.n_rows = n, .values = values, .ids = ids};
            const uint64_t kind = p.data->n_rows < 20 ? 1 : p.data->n_rows > 56 ? 0 : below(3);
            if (kind == 0) {
                assert_int_equal(
                    efface_kmeans_preview(p.model, p.data, ids, n, EFFACE_MISSING_FAIL, NULL, NULL),
                    EFFACE_OK);
                check_marks(&p, next_id);
                assert_int_equal(
                    efface_kmeans_forget(p.model, p.data, ids, n, EFFACE_MISSING_FAIL, NULL, NULL),
                    EFFACE_OK);
            } else if (kind == 1) {
                rows.ids = NULL;
                assert_int_equal(efface_kmeans_learn(p.model, p.data, &rows, NULL, NULL),
                                 EFFACE_OK);
                next_id += n;
            } else {
                values[2 * n - 1] = 0x1p24F; /* beyond the bound */
                assert_int_equal(efface_kmeans_update(p.model, p.data, &rows, NULL, NULL),
                                 EFFACE_E_LIMIT);
                check_marks(&p, next_id);
                values[2 * n - 1] = 7.0F;
                assert_int_equal(efface_kmeans_update(p.model, p.data, &rows, NULL, NULL),
                                 EFFACE_OK);
            }
            check_marks(&p, next_id);
            check_partition(&p);
            check_losses(&p);
            check_law(&p);
        }
        free_pair(&p);
    }
}

/* ---------------------------------------------------------------- rows of the sample */

/* The position of a row of the sample; any, if there is none. */
static size_t one_of_sample(const pair *p) {
    for (size_t i = 0, at = below(p->data->n_rows); i < p->data->n_rows; i++) {
        const size_t position = (at + i) % p->data->n_rows;
        if ((p->model->guard.codes[position] & EF_IN_SAMPLE) != 0)
            return position;
    }
    return 0;
}

/* Runs that are made again have clusters without rows, and reseed them. */
static void runs_made_again_reseed(void **state) {
    (void)state;
    unsigned n_sample = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        float values[120];
        efface_kmeans_params params = params_of_pyramid(0.125, 2, seed);
        params.n_clusters = 2 + (uint32_t)(seed % 3);
        params.iterations = 3;
        for (size_t i = 0; i < 120; i++)
            values[i] = below(3) != 0 ? 0.0F : below(2) != 0 ? 1.0F : -1.0F;
        pair p = make_pair(&params, 60, 2, values);
        while (p.data->n_rows > 30) {
            const size_t position = one_of_sample(&p);
            n_sample += (p.model->guard.codes[position] & EF_IN_SAMPLE) != 0;
            (void)forget_one(&p, efface_data_row(p.data, position).id);
            check_starts(&p, false);
        }
        free_pair(&p);
    }
    assert_true(n_sample > 100);
}

/* With more rows and iterations. */
static void runs_made_again_are_those_of_a_fit(void **state) {
    (void)state;
    unsigned n_sample = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        pair p = {.params = params_of(EFFACE_METHOD_PYRAMID, 6, seed)};
        p.params.rate = 0.0625;
        p.params.starts = 3;
        assert_int_equal(efface_data_make_gaussian(5, 2, 400, seed, &p.data, NULL), EFFACE_OK);
        p.model = fit(p.data, &p.params);
        for (unsigned step = 0; step < 40; step++) {
            const size_t position = one_of_sample(&p);
            const uint64_t id = efface_data_row(p.data, position).id;
            n_sample += (p.model->guard.codes[position] & EF_IN_SAMPLE) != 0;
            assert_int_equal(
                efface_kmeans_forget(p.model, p.data, &id, 1, EFFACE_MISSING_FAIL, NULL, NULL),
                EFFACE_OK);
            check_law(&p);
        }
        free_pair(&p);
    }
    assert_true(n_sample > 50);
}

/* Two bytes for each row, and some for each start. */
static void the_state_stays_small(void **state) {
    (void)state;
    efface_data *data = NULL;
    assert_int_equal(efface_data_make_gaussian(8, 16, 2500, 1, &data, NULL), EFFACE_OK);
    const efface_kmeans_params params = params_of(EFFACE_METHOD_PYRAMID, 8, 1);
    efface_kmeans *const model = fit(data, &params);
    const size_t n_bytes = efface_kmeans_state_bytes(model);
    assert_int_equal(efface_data_n_rows(data), 20000);
    assert_true(n_bytes < 3 * 20000);
    assert_true(n_bytes >= 20000 * 2 + 5 * 8 * 16 * sizeof(int32_t));
    efface_kmeans_free(model);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_follow_the_jury),
        cmocka_unit_test(the_jury_takes_another_start),
        cmocka_unit_test(starts_are_runs_of_lloyd),
        cmocka_unit_test(starts_reseed),
        cmocka_unit_test(one_start_is_the_first),
        cmocka_unit_test(runs_made_again_reseed),
        cmocka_unit_test(runs_made_again_are_those_of_a_fit),
        cmocka_unit_test(of_equal_starts_the_first_is_chosen),
        cmocka_unit_test(a_start_may_end_where_it_did),
        cmocka_unit_test(what_is_kept_follows_every_change),
        cmocka_unit_test(the_state_stays_small),
    };
    return cmocka_run_group_tests_name("pyramid", tests, NULL, NULL);
}
