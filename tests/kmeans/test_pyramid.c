/*
 * The starts of pyramid (docs/definition/numerics.md, section 7): that they are runs of lloyd on
 * the weighted sample with the losses that the weighted jury gives them, and follow every change;
 * and what a model keeps of them. test_pilot.c has the sample itself.
 */
#include "kmeans/pyramid_scene.h"
#include "model/report_scene.h"

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

/* ---------------------------------------------------------------- losses */

/* What a row of the jury with this weight there adds to the loss of a start. */
static ef_i128 cost_of_row(const pair *p, size_t position, int64_t weight, uint32_t start) {
    const efface_model *const m = p->model;
    const uint32_t d = p->data->n_columns, k = inside(m)->plan.n_clusters;
    float row[MOST_COLUMNS];
    int64_t away;
    efface_data_values(p->data, position, row);
    (void)nearest_of(row, inside(m)->starts.centers + (size_t)start * k * d, k, d, &away);
    return (ef_i128)weight * away;
}

/* A row leaves: the losses stay, or lose what it cost, or belong to other centers. */
static void losses_follow_the_jury(void **state) {
    (void)state;
    unsigned n_nobody = 0, n_jury = 0, n_sample = 0, n_refits = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        const efface_kmeans_params params = params_of_pyramid(3, 0.125, 4, seed);
        pair p = make_places(60, &params);
        while (p.data->n_rows > 12) {
            const size_t position = below(p.data->n_rows);
            const plain_pilot s = make_plainly(&p);
            const plain_row row = s.rows[position];
            ef_i128 right[4];
            for (uint32_t r = 0; r < 4; r++)
                right[r] =
                    inside(p.model)->starts.losses[r] - cost_of_row(&p, position, row.jury, r);
            const efface_report report = forget_one(&p, efface_data_row(p.data, position).id);
            check_losses(&p);
            const bool refitted = report.action == EFFACE_ACTION_REFITTED;
            if (row.sample == 0 && !refitted)
                assert_memory_equal(inside(p.model)->starts.losses, right, sizeof right);
            if (row.sample > 0 && !refitted)
                assert_string_equal(report.reason, past_of(EF_REASON_SAMPLE));
            n_refits += refitted;
            n_sample += !refitted && row.sample > 0;
            n_jury += !refitted && row.sample == 0 && row.jury > 0;
            n_nobody += !refitted && row.jury == 0;
        }
        free_pair(&p);
    }
    assert_true(n_sample > 50 && n_jury > 50 && n_nobody > 100 && n_refits > 100);
}

/* Row 1 is in the jury but not in the sample. While it is there, the second of three starts is the
 * best. (A search found the case.) */
static void the_jury_takes_another_start(void **state) {
    (void)state;
    const float values[5] = {7.0F, 13.0F, 11.0F, 12.0F, 1.0F};
    const efface_kmeans_params params = params_of_pyramid(2, 0.125, 3, 1);
    pair p = make_pair(&params, 5, 1, values);
    const plain_pilot s = make_plainly(&p);
    assert_true(s.rows[1].sample == 0 && s.rows[1].jury > 0);
    assert_int_equal(inside(p.model)->start, 1);
    int32_t centers[6];
    memcpy(centers, inside(p.model)->starts.centers, sizeof centers);
    for (uint32_t turn = 0; turn < 2; turn++) {
        const efface_report report = turn == 0 ? forget_one(&p, 1) : learn_one(&p, 1, &values[1]);
        assert_string_equal(report.reason, past_of(EF_REASON_SAMPLE));
        assert_int_equal(report.action, EFFACE_ACTION_REPAIRED);
        assert_int_equal(level_of(&report), 0);
        assert_int_equal(report.rows_visited, p.data->n_rows); /* not those of the starts */
        assert_int_equal(inside(p.model)->start, turn);
        assert_memory_equal(inside(p.model)->starts.centers, centers, sizeof centers);
        efface_model *const fresh = fit(p.data, &params);
        assert_memory_equal(inside(p.model)->starts.losses, inside(fresh)->starts.losses,
                            3 * sizeof *inside(fresh)->starts.losses);
        assert_int_equal(inside(p.model)->start, inside(fresh)->start);
        efface_model_free(fresh);
        check_losses(&p);
    }
    free_pair(&p);
}

/* ---------------------------------------------------------------- starts */

/* A set of the rows of the sample, with the weights they have there. */
static efface_data *copy_sample(const pair *p, const plain_pilot *s) {
    efface_data *copy = NULL;
    assert_int_equal(efface_data_create(efface_data_n_columns(p->data), &copy, NULL), EFFACE_OK);
    for (size_t i = 0; i < p->data->n_rows; i++) {
        const efface_row row = efface_data_row(p->data, i);
        float values[MOST_COLUMNS];
        efface_data_values(p->data, i, values);
        const efface_rows one = {
            .n_rows = 1, .values = values, .ids = &row.id, .weights = &s->rows[i].sample};
        if (s->rows[i].sample > 0)
            assert_int_equal(efface_data_add(copy, &one, NULL), EFFACE_OK);
    }
    assert_int_equal(efface_data_n_rows(copy), s->n_sample);
    return copy;
}

/* Each start is a run of lloyd on the rows of the sample; the passes begin with the chosen one. For
 * a model that was fitted and has seen no change, the rows that were looked at add up as well: by
 * the pilot, by the passes, by the runs and by the jury. */
static void check_starts(const pair *p, bool unchanged) {
    const efface_model *const m = p->model;
    const size_t k = inside(m)->plan.n_clusters, n_values = k * inside(m)->domain.map.n_columns;
    const plain_pilot s = make_plainly(p);
    efface_data *const sample = copy_sample(p, &s);
    uint64_t assigned = (uint64_t)p->data->n_rows * (1 + ef_count_partitions(inside(m), 0)),
             moved = 0;
    assigned += s.n_jury * inside(m)->plan.starts;
    for (uint32_t r = 0; r < inside(m)->plan.starts; r++) {
        efface_kmeans_params params = p->params;
        params.method = EFFACE_METHOD_LLOYD;
        params.common.seed = ef_tape(params.common.seed, 8, 0, r, 0);
        efface_model *const run = fit(sample, &params);
        assert_int_equal(inside(run)->plan.n_clusters, k);
        assert_memory_equal(inside(m)->starts.centers + r * n_values,
                            inside(run)->levels[inside(run)->model_level].centers,
                            n_values * sizeof *inside(m)->starts.centers);
        assigned += inside(run)->work.rows_assigned;
        moved += inside(run)->work.rows_moved;
        efface_model_free(run);
    }
    if (unchanged)
        assert_int_equal(inside(m)->work.rows_assigned, assigned);
    if (unchanged && inside(m)->plan.passes == 1)
        assert_int_equal(inside(m)->work.rows_moved, moved);
    if (inside(m)->plan.epsilon == 0)
        assert_memory_equal(inside(m)->levels[0].centers,
                            inside(m)->starts.centers + inside(m)->start * n_values,
                            n_values * sizeof *inside(m)->starts.centers);
    efface_data_free(sample);
    check_losses(p);
}

static void starts_are_runs_of_lloyd(void **state) {
    (void)state;
    static const double rates[] = {1.0, 0.5, 0.25, 0.125, 0.0625};
    bool chosen[5] = {false};
    for (uint64_t seed = 0; seed < 300; seed++) {
        efface_kmeans_params params = params_of_pyramid(3, rates[seed % 5], 5, seed);
        params.iterations = 1 + (uint32_t)(seed % 4);
        params.candidates =
            (uint32_t)(seed % 7 % 3); /* of the runs: the pilot's seeding is plain */
        params.epsilon = seed % 3 == 0 ? 5 * 0x1p-23 : 0.0;
        pair p = make_places(50, &params);
        check_starts(&p, true);
        chosen[inside(p.model)->start] = true;
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
        efface_kmeans_params params = params_of_pyramid(2, seed % 2 != 0 ? 1.0 : 0.5, 2, seed);
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
}

/* One center is zero, and has all rows; the other cluster is empty. Sums then have no part in the
 * loss, which is the sum of squares: whoever takes that for 0 reseeds nobody. */
static void starts_reseed_beside_zero(void **state) {
    (void)state;
    unsigned n_zeros = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        float few[10];
        efface_kmeans_params params = params_of_pyramid(2, 1.0, 1, seed);
        params.iterations = 2;
        for (size_t i = 0; i < 10; i++)
            few[i] = below(2) != 0 ? 0.0F : below(2) != 0 ? 1.0F : -1.0F;
        pair p = make_pair(&params, 5, 2, few);
        check_starts(&p, true);
        const plain_pilot s = make_plainly(&p);
        efface_data *const sample = copy_sample(&p, &s);
        params.method = EFFACE_METHOD_LLOYD;
        params.common.seed = ef_tape(seed, 8, 0, 0, 0);
        efface_model *const run = fit(sample, &params);
        const ef_level *const level = inside(run)->n_levels == 3 ? &inside(run)->levels[1] : NULL;
        for (uint32_t c = 0; level != NULL && c < 2; c++)
            if (level->counts[c] == 0 &&
                (level->centers[2 - 2 * c] | level->centers[3 - 2 * c]) == 0) {
                assert_int_equal(level->n_reseeded, 1);
                n_zeros++;
            }
        efface_model_free(run);
        efface_data_free(sample);
        free_pair(&p);
    }
    assert_true(n_zeros > 0);
}

/* One start is the first of several, whatever the jury may think of it. */
static void one_start_is_the_first(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        efface_kmeans_params params = params_of_pyramid(3, 0.25, 6, seed);
        pair several = make_places(40, &params), one = {.params = params};
        const size_t n_values = (size_t)inside(several.model)->plan.n_clusters * 2;
        one.params.pyramid.starts = 1;
        one.data = several.data;
        one.model = fit(one.data, &one.params);
        assert_int_equal(inside(one.model)->start, 0);
        check_starts(&one, true);
        assert_memory_equal(inside(one.model)->starts.centers,
                            inside(several.model)->starts.centers,
                            n_values * sizeof *inside(one.model)->starts.centers);
        assert_true(inside(one.model)->starts.losses[0] == inside(several.model)->starts.losses[0]);
        efface_model_free(several.model);
        while (one.data->n_rows > 20) {
            (void)forget_one(&one, efface_data_row(one.data, below(one.data->n_rows)).id);
            assert_int_equal(inside(one.model)->start, 0);
        }
        free_pair(&one);
    }
}

/* With one cluster every start ends at the mean of the sample: of equals, the first. */
static void of_equal_starts_the_first_is_chosen(void **state) {
    (void)state;
    const efface_kmeans_params params = params_of_pyramid(1, 0.5, 7, 3);
    pair p = make_places(30, &params);
    for (uint32_t r = 1; r < 7; r++)
        assert_true(inside(p.model)->starts.losses[r] == inside(p.model)->starts.losses[0]);
    assert_int_equal(inside(p.model)->start, 0);
    while (p.data->n_rows > 2) {
        (void)forget_one(&p, efface_data_row(p.data, below(p.data->n_rows)).id);
        assert_int_equal(inside(p.model)->start, 0);
    }
    free_pair(&p);
}

/* A row of the sample leaves and the start ends where it did: the levels are looked at as for any
 * other row, of which none is in one case, and level 1 alone in the other, to be made again. (A
 * search found the cases.) */
static void a_start_may_end_where_it_did(void **state) {
    (void)state;
    const float near[4] = {0.0F, 1.0F, 0.0F, 2.0F}, far[4] = {2.0F, 1.0F, 2.0F, 1.0F};
    efface_kmeans_params params = params_of_pyramid(1, 0.5, 1, 6);
    pair p = make_pair(&params, 4, 1, near);
    assert_true(make_plainly(&p).rows[2].sample > 0);
    efface_report report = forget_one(&p, 2);
    assert_string_equal(report.reason, past_of(EF_REASON_SAMPLE));
    assert_int_equal(report.rows_visited, 3 + 3); /* by the start, and by the jury */
    check_starts(&p, false);
    free_pair(&p);

    params.common.seed = 7;
    params.pyramid.passes = 2;
    p = make_pair(&params, 4, 1, far);
    const int32_t center = inside(p.model)->starts.centers[0];
    report = forget_one(&p, 0);
    assert_int_equal(inside(p.model)->starts.centers[0], center);
    assert_string_equal(report.reason, past_of(EF_REASON_SAMPLE));
    assert_int_equal(level_of(&report), 0); /* as the preview says, which does not run the start */
    check_starts(&p, false);
    free_pair(&p);
}

/* ---------------------------------------------------------------- rows of the sample */

/* The position of a row of the sample that is no seed, which would be a refit; any, if there is
 * none. */
static size_t one_of_sample(const pair *p) {
    for (size_t i = 0, at = below(p->data->n_rows); i < p->data->n_rows; i++) {
        const size_t position = (at + i) % p->data->n_rows;
        if ((ef_labels_kept(inside(p->model))->codes[position] & EF_IN_SAMPLE) != 0 &&
            !efface_kmeans_is_seed(p->model, efface_data_row(p->data, position).id))
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
        efface_kmeans_params params = params_of_pyramid(2 + (uint32_t)(seed % 3), 0.125, 2, seed);
        params.iterations = 3;
        for (size_t i = 0; i < 120; i++)
            values[i] = below(3) != 0 ? 0.0F : below(2) != 0 ? 1.0F : -1.0F;
        pair p = make_pair(&params, 60, 2, values);
        while (p.data->n_rows > 30) {
            const uint64_t id = efface_data_row(p.data, one_of_sample(&p)).id;
            const efface_report report = forget_one(&p, id);
            n_sample += is_because(&report, EF_REASON_SAMPLE);
            check_starts(&p, false);
        }
        free_pair(&p);
    }
    assert_true(n_sample > 300);
}

/* With more rows and iterations. */
static void runs_made_again_are_those_of_a_fit(void **state) {
    (void)state;
    unsigned n_sample = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        pair p = {.params = params_of(EFFACE_METHOD_PYRAMID, 6, seed)};
        p.params.pyramid.rate = 0.0625;
        p.params.pyramid.starts = 3;
        assert_int_equal(efface_data_make_gaussian(5, 2, 400, seed, &p.data, NULL), EFFACE_OK);
        p.model = fit(p.data, &p.params);
        for (unsigned step = 0; step < 40; step++) {
            const uint64_t id = efface_data_row(p.data, one_of_sample(&p)).id;
            efface_report report;
            assert_int_equal(efface_model_forget(p.model, p.data,
                                                 &(efface_request){.ids = &id, .n_ids = 1}, &report,
                                                 NULL),
                             EFFACE_OK);
            n_sample += is_because(&report, EF_REASON_SAMPLE);
            check_law(&p);
        }
        free_pair(&p);
    }
    assert_true(n_sample > 100);
}

/* Two bytes for each row, and some for each start. */
static void the_state_stays_small(void **state) {
    (void)state;
    efface_data *data = NULL;
    assert_int_equal(efface_data_make_gaussian(8, 16, 2500, 1, &data, NULL), EFFACE_OK);
    const efface_kmeans_params params = params_of(EFFACE_METHOD_PYRAMID, 8, 1);
    efface_model *const model = fit(data, &params);
    const size_t n_bytes = efface_model_state_bytes(model);
    assert_int_equal(efface_data_n_rows(data), 20000);
    assert_int_equal(efface_kmeans_get_info(model).actual, EFFACE_METHOD_PYRAMID);
    assert_true(n_bytes < 3 * 20000);
    assert_true(n_bytes >= 20000 * 2 + (params.pyramid.starts + 1) * 8 * 16 * sizeof(int32_t));
    efface_model_free(model);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_follow_the_jury),
        cmocka_unit_test(the_jury_takes_another_start),
        cmocka_unit_test(starts_are_runs_of_lloyd),
        cmocka_unit_test(starts_reseed),
        cmocka_unit_test(starts_reseed_beside_zero),
        cmocka_unit_test(one_start_is_the_first),
        cmocka_unit_test(runs_made_again_reseed),
        cmocka_unit_test(runs_made_again_are_those_of_a_fit),
        cmocka_unit_test(of_equal_starts_the_first_is_chosen),
        cmocka_unit_test(a_start_may_end_where_it_did),
        cmocka_unit_test(the_state_stays_small),
    };
    return cmocka_run_group_tests_name("pyramid", tests, NULL, NULL);
}
