/*
 * The pilot of pyramid and its sample (docs/definition/numerics.md, section 7): ranks, weights and
 * marks by hand and by a plain computation, and that all of them follow every change.
 */
#include "kmeans/pyramid_scene.h"
#include "model/report_scene.h"

#define ROWS 60 /* of the sets that are drawn, at most */

/* ---------------------------------------------------------------- by hand */

static void logarithms_are_rounded_upwards(void **state) {
    (void)state;
    assert_int_equal(ef_log_up(0), 0);
    assert_int_equal(ef_log_up(1), 0);
    for (uint32_t e = 1; e < 127; e++) {
        const ef_u128 power = (ef_u128)1 << e;
        assert_int_equal(ef_log_up(power), e);
        assert_int_equal(ef_log_up(power + 1), e + 1);
        if (e > 1)
            assert_int_equal(ef_log_up(power - 1), e);
    }
}

static void ranks_by_hand(void **state) {
    (void)state;
    int64_t counts[3] = {8, 9, 1};
    const ef_pilot pilot = {.counts = counts, .spread = 65}; /* of logarithms 3, 4, 0 and 7 */
    static const struct {
        uint32_t cluster;
        int64_t weight, distance;
        uint32_t zeros, base, need;
    } rows[] = {
        {0, 1, 0, 0, 5, 5},  /* three clusters are 2 */
        {1, 1, 0, 0, 6, 6},  /* */
        {2, 1, 0, 1, 2, 1},  /* */
        {0, 4, 0, 1, 3, 2},  /* */
        {0, 5, 0, 3, 2, 0},  /* */
        {0, 8, 0, 64, 2, 0}, /* all the weight that there is */
        {1, 1, 1, 0, 6, 6},  /* the spread alone would be 7 */
        {1, 1, 2, 6, 6, 0},  /* 6 both ways */
        {1, 1, 3, 0, 5, 5},  /* far */
        {1, 3, 1, 0, 4, 4},  /* heavy */
        {1, 3, 3, 0, 3, 3},  /* both */
        {1, 1, 64, 0, 1, 1}, /* */
        {1, 1, 65, 1, 0, 0}, /* all of the spread */
        {1, 5, 13, 0, 0, 0}, /* */
        {0, 2, 4, 2, 4, 2},  /* 4 both ways */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const ef_rank rank =
            ef_rank_of(&pilot, 3, rows[i].cluster, rows[i].weight, rows[i].distance, rows[i].zeros);
        if (rank.base != rows[i].base || rank.need != rows[i].need)
            fail_msg("row %zu: base %u, need %u", i, rank.base, rank.need);
    }
}

/* As many clusters and as much weight as there can be. */
static void the_largest_rank_fits(void **state) {
    (void)state;
    int64_t count = EFFACE_MAX_WEIGHT - 1;
    const ef_pilot pilot = {.counts = &count, .spread = (ef_i128)1 << 103};
    const ef_rank rank = ef_rank_of(&pilot, EFFACE_MAX_CLUSTERS, 0, 1, 1, 0);
    assert_int_equal(rank.base, 64);
    assert_int_equal(rank.need, 64);
    assert_true(ef_member_weight(64, 0, 1) == (ef_i128)1 << 64);
    assert_int_equal(ef_marks(64, 64), EF_IN_SAMPLE | EF_IN_JURY);
}

/* A model that was read without its rows may say what no rows can be: it stays in range. */
static void damaged_numbers_stay_in_range(void **state) {
    (void)state;
    int64_t count = 0;
    const ef_pilot pilot = {.counts = &count, .spread = 1};
    for (uint32_t zeros = 0; zeros <= 64; zeros++) {
        assert_true(ef_rank_of(&pilot, 1, 0, 1000, 0, zeros).base < EF_NEEDS);
        const ef_rank rank = ef_rank_of(&pilot, 1, 0, 1000, 1000, zeros);
        assert_true(rank.base < EF_NEEDS && rank.need <= rank.base);
    }
}

static void weights_by_hand(void **state) {
    (void)state;
    const ef_i128 most = (ef_i128)1 << 40;
    assert_true(ef_member_weight(5, 2, 3) == 24);
    assert_true(ef_member_weight(2, 2, 3) == 3);
    assert_true(ef_member_weight(1, 2, 3) == 3);
    assert_int_equal(ef_weight_cut(0), 0);
    assert_int_equal(ef_weight_cut(most - 1), 0);
    assert_int_equal(ef_weight_cut(most), 2); /* to 2^38, for 2^39 is not below 2^39 */
    assert_int_equal(ef_weight_cut(2 * most - 1), 2);
    assert_int_equal(ef_weight_cut(2 * most), 3);
    assert_int_equal(ef_weight_cut(most << 50), 52);
    assert_int_equal(ef_cut_weight(7, 0), 7);
    assert_int_equal(ef_cut_weight(7, 2), 1);
    assert_int_equal(ef_cut_weight(8, 2), 2);
    assert_int_equal(ef_cut_weight(7, 3), 1); /* never nothing */
    assert_int_equal(ef_cut_weight(1, 60), 1);
}

static void marks_by_hand(void **state) {
    (void)state;
    assert_int_equal(ef_marks(0, 0), EF_IN_SAMPLE | EF_IN_JURY);
    assert_int_equal(ef_marks(1, 0), EF_IN_JURY);
    assert_int_equal(ef_marks(2, 0), 0);
    assert_int_equal(ef_marks(4, 4), EF_IN_SAMPLE | EF_IN_JURY);
    assert_int_equal(ef_marks(5, 4), EF_IN_JURY);
    assert_int_equal(ef_marks(6, 4), 0);

    const uint8_t codes[6] = {EF_IN_JURY, 63, EF_MARKS | 5, EF_IN_JURY | 63, 0, EF_MARKS};
    size_t *positions = NULL, n_jury = 0, n_sample = 0;
    assert_int_equal(ef_marks_find(codes, 6, &positions, &n_jury, &n_sample, NULL), EFFACE_OK);
    assert_int_equal(n_jury, 4);
    assert_int_equal(n_sample, 2);
    const size_t right[4] = {2, 5, 0, 3}; /* the sample first */
    assert_memory_equal(positions, right, sizeof right);
    free(positions);
}

/* What ends and begins a shift. */
static void a_shift_stands(void **state) {
    (void)state;
    const ef_pilot shifted = {.shift = 3, .n_sample = 10, .n_within = 6};
    assert_false(ef_shift_stands(&shifted, 6));
    assert_true(ef_shift_stands(&shifted, 7));
    assert_true(ef_shift_stands(&shifted, 10));
    assert_false(ef_shift_stands(&shifted, 11));
    const ef_pilot none = {.shift = 0, .n_sample = 10};
    assert_true(ef_shift_stands(&none, 1));
    assert_false(ef_shift_stands(&none, 11));
}

/* ---------------------------------------------------------------- sets */

/* Kinds of sets, that lean towards what goes wrong. */
enum {
    PLACES,   /* rows around four places */
    EQUAL,    /* all at one place: nothing is far from a seed */
    FEW,      /* few places, so that there are seeds at the same one, and rows between two */
    POWERS,   /* squares that are powers of two, and next to them */
    WIDE,     /* so far from zero that float32 hides what is near */
    HEAVY,    /* nearly all the weight there can be */
    LOPSIDED, /* the same, most of it on one row */
    N_KINDS
};

static float draw_value(unsigned kind) {
    const int64_t power = (int64_t)1 << below(11);
    switch (kind) {
    case EQUAL: return 5.0F;
    case FEW: return (float)below(4);
    case POWERS: return (float)(below(2) != 0 ? power : power + (int64_t)below(3) - 1);
    case WIDE: return 8388000.0F + (float)below(600);
    default: return (float)(40 * below(2) + below(21));
    }
}

static int64_t draw_weight(unsigned kind, size_t position) {
    const int64_t most = EFFACE_MAX_WEIGHT / ROWS;
    switch (kind) {
    case FEW: return 1;
    case POWERS: return (int64_t)1 << below(3);
    case HEAVY: return most - 1 - (int64_t)below(1000);
    case LOPSIDED: return position == 7 ? most * (ROWS - 1) : 1 + (int64_t)below(3);
    default: return 1 + (int64_t)below(3);
    }
}

static pair make_kind(unsigned kind, size_t n, uint32_t d, const efface_kmeans_params *params) {
    float values[MOST_ROWS * MOST_COLUMNS];
    int64_t weights[MOST_ROWS];
    assert_true(n <= ROWS && d <= MOST_COLUMNS);
    for (size_t i = 0; i < n * d; i++)
        values[i] = draw_value(kind);
    for (size_t i = 0; i < n; i++)
        weights[i] = draw_weight(kind, i);
    pair made = {.params = *params};
    const efface_rows rows = {
        .n_rows = n, .values = values, .weights = kind != FEW ? weights : NULL};
    assert_int_equal(efface_data_create(d, &made.data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(made.data, &rows, NULL), EFFACE_OK);
    made.model = fit(made.data, params);
    return made;
}

static double draw_rate(void) {
    static const double rates[] = {1.0, 0.5, 0.25, 0.125, 0.0625};
    return rates[below(5)];
}

/* ---------------------------------------------------------------- fits */

static void pilots_are_as_defined(void **state) {
    (void)state;
    unsigned n_cut = 0, n_smaller = 0, n_heavier = 0, n_jury = 0;
    for (uint64_t seed = 0; seed < 1400; seed++) {
        const unsigned kind = (unsigned)(seed % N_KINDS);
        const size_t n = below(8) == 0   ? 1 + below(8)
                         : kind == HEAVY ? ROWS - below(4)
                                         : 1 + below(ROWS);
        const uint32_t k = below(8) == 0 ? (uint32_t)(n < 8 ? n : 8) : 1 + (uint32_t)below(8);
        efface_kmeans_params params = params_of_pyramid(k, draw_rate(), 2, seed);
        params.candidates = (uint32_t)below(3);
        pair p = make_kind(kind, n, 1 + (uint32_t)below(3), &params);
        check_pilot(&p);
        check_losses(&p);
        const plain_pilot s = make_plainly(&p);
        n_cut += s.jury_weight >> 40 != 0;
        n_smaller += s.n_sample < n;
        n_jury += s.n_jury > s.n_sample;
        for (size_t i = 0; i < n; i++)
            n_heavier += s.rows[i].sample > efface_data_row(p.data, i).weight;
        free_pair(&p);
    }
    assert_true(n_cut > 20 && n_smaller > 400 && n_jury > 400 && n_heavier > 1000);
}

/* A row in the middle between two seeds is the first one's. */
static void ties_go_to_the_first_seed(void **state) {
    (void)state;
    unsigned n_ties = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        const float values[12] = {0, 0, 0, 4, 4, 4, 2, 2, 2, 8, 8, 6};
        const efface_kmeans_params params = params_of_pyramid(3, 0.25, 1, seed);
        pair p = make_pair(&params, 12, 1, values);
        const plain_pilot s = make_plainly(&p);
        for (size_t i = 0; i < 12; i++)
            for (uint32_t c = s.rows[i].cluster + 1; c < 3; c++)
                n_ties += square_away(&values[i], &s.points[c], 1) == s.rows[i].away;
        check_pilot(&p);
        while (p.data->n_rows > 4) {
            const uint64_t id = efface_data_row(p.data, below(p.data->n_rows)).id;
            (void)forget_one(&p, id);
            check_pilot(&p);
            if (below(2) == 0) {
                (void)learn_one(&p, id, &values[id]);
                check_pilot(&p);
            }
        }
        free_pair(&p);
    }
    assert_true(n_ties > 20);
}

/* Several threads add up what each has found. */
static void threads_share_a_pilot(void **state) {
    (void)state;
    efface_data *data = NULL;
    assert_int_equal(efface_data_make_gaussian(8, 16, 2500, 1, &data, NULL), EFFACE_OK);
    efface_kmeans_params params = params_of(EFFACE_METHOD_PYRAMID, 8, 1);
    efface_model *const one = fit(data, &params);
    params.common.n_threads = 4;
    efface_model *const four = fit(data, &params);
    assert_int_equal(inside(one)->plan.method, EFFACE_METHOD_PYRAMID);
    assert_memory_equal(inside(one)->pilot.counts, inside(four)->pilot.counts,
                        8 * sizeof *inside(one)->pilot.counts);
    assert_true(inside(one)->pilot.spread == inside(four)->pilot.spread);
    assert_int_equal(inside(one)->pilot.shift, inside(four)->pilot.shift);
    assert_int_equal(inside(one)->pilot.n_sample, inside(four)->pilot.n_sample);
    assert_int_equal(inside(one)->pilot.n_within, inside(four)->pilot.n_within);
    assert_true(inside(one)->pilot.jury_weight == inside(four)->pilot.jury_weight);
    assert_memory_equal(inside(one)->starts.losses, inside(four)->starts.losses,
                        params.pyramid.starts * sizeof *inside(one)->starts.losses);
    assert_int_equal(inside(one)->work.rows_assigned, inside(four)->work.rows_assigned);
    for (size_t i = 0; i < data->n_rows; i++)
        assert_int_equal(ef_labels_kept(inside(one))->codes[i] & EF_MARKS,
                         ef_labels_kept(inside(four))->codes[i] & EF_MARKS);
    efface_model_free(one);
    efface_model_free(four);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- changes */

/* The kept partition is that of level 0: each row with the nearest center, of equals the first. */
static void check_partition(const pair *p) {
    const efface_model *const m = p->model;
    const uint32_t d = p->data->n_columns;
    for (size_t i = 0; i < p->data->n_rows; i++) {
        float row[MOST_COLUMNS];
        int64_t away;
        efface_data_values(p->data, i, row);
        assert_int_equal(
            ef_kept_label(ef_labels_kept(inside(m)), i),
            nearest_of(row, inside(m)->levels[0].centers, inside(m)->plan.n_clusters, d, &away));
    }
}

static void check_all(const pair *p) {
    check_pilot(p);
    check_partition(p);
    check_losses(p);
    check_law(p);
}

static struct { unsigned steps, refits, by_sample, by_jury, untouched; } seen;

/* What a change did to the sample; whether the starts ran again. */
static void note(const efface_report *report, bool ran) {
    const bool repaired = report->action == EFFACE_ACTION_REPAIRED;
    const bool of_sample = repaired && is_because(report, EF_REASON_SAMPLE);
    seen.steps++;
    seen.refits += report->action == EFFACE_ACTION_REFITTED;
    seen.untouched += report->action == EFFACE_ACTION_ADJUSTED;
    seen.by_sample += of_sample && ran;
    seen.by_jury += of_sample && !ran;
}

/* Rows leave by ones and threes, come, and get other values, at times after a preview or a call
 * that is refused. */
static void change_once(pair *p, unsigned kind) {
    const uint32_t d = p->data->n_columns;
    const size_t n = below(4) == 0 ? 3 : 1, first = below(p->data->n_rows - 2);
    const size_t least = kind == HEAVY ? 50 : 20;
    float values[3 * MOST_COLUMNS];
    int64_t weights[3];
    uint64_t ids[3];
    efface_report report;
    const int32_t *const centers = inside(p->model)->starts.centers;
    for (size_t i = 0; i < n * d; i++)
        values[i] = draw_value(kind);
    for (size_t i = 0; i < n; i++) {
        ids[i] = efface_data_row(p->data, first + n - 1 - i).id;
        weights[i] = draw_weight(kind, 0);
    }
    efface_rows rows = {.n_rows = n, .values = values, .ids = ids, .weights = weights};
    const uint64_t way = p->data->n_rows < least ? 1 : p->data->n_rows > ROWS - 4 ? 0 : below(3);
    if (way == 0) {
        assert_int_equal(efface_model_preview(p->model, p->data,
                                              &(efface_request){.ids = ids, .n_ids = n}, NULL,
                                              NULL),
                         EFFACE_OK);
        check_pilot(p);
        assert_int_equal(efface_model_forget(p->model, p->data,
                                             &(efface_request){.ids = ids, .n_ids = n}, &report,
                                             NULL),
                         EFFACE_OK);
    } else if (way == 1) {
        rows.ids = NULL;
        assert_int_equal(efface_model_learn(p->model, p->data, &rows, &report, NULL), EFFACE_OK);
    } else {
        const float kept = values[d * n - 1];
        values[d * n - 1] = 0x1p24F; /* beyond the bound */
        assert_int_equal(efface_model_update(p->model, p->data, &rows, NULL, NULL), EFFACE_E_LIMIT);
        check_pilot(p);
        values[d * n - 1] = kept;
        rows.weights = below(2) == 0 ? weights : NULL;
        assert_int_equal(efface_model_update(p->model, p->data, &rows, &report, NULL), EFFACE_OK);
    }
    note(&report, inside(p->model)->starts.centers != centers);
    check_all(p);
}

static void what_is_kept_follows_every_change(void **state) {
    (void)state;
    memset(&seen, 0, sizeof seen);
    for (uint64_t seed = 0; seed < 84; seed++) {
        const unsigned kind = (unsigned)(seed % N_KINDS);
        efface_kmeans_params params =
            params_of_pyramid(1 + (uint32_t)below(4), draw_rate(), 1 + (uint32_t)below(4), seed);
        params.pyramid.passes = 1 + (uint32_t)(seed % 3);
        params.epsilon = below(4) == 0 ? 5 * 0x1p-23 : 0.0;
        pair p = make_kind(kind, kind == HEAVY ? 56 : 40, 1 + (uint32_t)below(3), &params);
        for (int step = 0; step < 40; step++)
            change_once(&p, kind);
        free_pair(&p);
    }
    print_message("%u steps: untouched %u, the sample %u, the jury %u, refitted %u\n", seen.steps,
                  seen.untouched, seen.by_sample, seen.by_jury, seen.refits);
    assert_true(seen.untouched > 300 && seen.by_sample > 300 && seen.refits > 300);
    assert_true(seen.by_jury > 10);
}

/* All weight together is nearly 2^40, and that of the jury now more, now less. Where it becomes
 * 2^40 all weights are cut down, be the row that came or left of the jury alone. */
static void cuts_move(void **state) {
    (void)state;
    unsigned n_down = 0, n_up = 0, n_by_jury = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        efface_kmeans_params params = params_of_pyramid(2, draw_rate() / 2, 3, seed);
        pair p = make_kind(HEAVY, ROWS - 1, 2, &params);
        for (int step = 0; step < 30; step++) {
            const bool leaves = p.data->n_rows > ROWS - 8 && below(2) == 0;
            const size_t position = below(p.data->n_rows);
            const uint64_t id = efface_data_row(p.data, position).id;
            const float values[2] = {draw_value(HEAVY), draw_value(HEAVY)};
            const int64_t weight = draw_weight(HEAVY, 0);
            const efface_rows rows = {.n_rows = 1, .values = values, .weights = &weight};
            const uint32_t cut = ef_weight_cut(inside(p.model)->pilot.jury_weight);
            const uint64_t n_sample = inside(p.model)->pilot.n_sample;
            const int32_t *const centers = inside(p.model)->starts.centers;
            efface_report report;
            if (leaves || p.data->n_rows == ROWS)
                assert_int_equal(efface_model_forget(p.model, p.data,
                                                     &(efface_request){.ids = &id, .n_ids = 1},
                                                     &report, NULL),
                                 EFFACE_OK);
            else
                assert_int_equal(efface_model_learn(p.model, p.data, &rows, &report, NULL),
                                 EFFACE_OK);
            check_all(&p);
            const uint32_t now = ef_weight_cut(inside(p.model)->pilot.jury_weight);
            if (report.action == EFFACE_ACTION_REFITTED || now == cut)
                continue;
            assert_string_equal(report.reason, past_of(EF_REASON_SAMPLE));
            assert_true(inside(p.model)->starts.centers != centers); /* the starts ran */
            n_down += now > cut;
            n_up += now < cut;
            n_by_jury += inside(p.model)->pilot.n_sample == n_sample;
        }
        free_pair(&p);
    }
    assert_true(n_down > 3 && n_up > 3 && n_by_jury > 3);
}

/* ---------------------------------------------------------------- bytes */

/* Where the numbers of the pilot are in the bytes of a model (docs/definition/format.md). */
enum {
    AT_ROWS = 60,
    AT_SHIFT = 104,
    AT_SAMPLE = 108,
    AT_WITHIN = 116,
    AT_SPREAD = 140,
    AT_SEEDS = 156
};

/* Numbers that could be, but are not those of the rows. */
static void decode_refuses_other_pilots(void **state) {
    (void)state;
    const efface_kmeans_params params = params_of_pyramid(2, 0.125, 2, 7);
    pair p = make_kind(PLACES, 40, 2, &params);
    const size_t at_counts = AT_SEEDS + 2 * 16 + 2 * 2 * sizeof(int32_t);
    const struct {
        size_t at[2];
        int by[2];
    } changes[] = {
        {{AT_SHIFT, AT_SHIFT}, {1, 0}},        {{AT_SAMPLE, AT_SAMPLE}, {1, 0}},
        {{AT_WITHIN, AT_WITHIN}, {-1, 0}},     {{AT_SPREAD, AT_SPREAD}, {1, 0}},
        {{at_counts, at_counts + 8}, {1, -1}}, /* which add up to the same */
    };
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    efface_model *decoded = NULL;
    assert_int_equal(efface_model_encode(p.model, &bytes, &n_bytes, NULL), EFFACE_OK);
    assert_int_equal(bytes[AT_SHIFT], inside(p.model)->pilot.shift);
    assert_int_equal(bytes[AT_SAMPLE], inside(p.model)->pilot.n_sample);
    assert_int_equal(bytes[AT_WITHIN], inside(p.model)->pilot.n_within);
    assert_int_equal(bytes[at_counts], inside(p.model)->pilot.counts[0]);
    assert_true(inside(p.model)->pilot.shift > 0 && inside(p.model)->pilot.n_within > 0);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        for (int turn = 1; turn >= -1; turn -= 2) { /* there and back */
            for (int j = 0; j < 2; j++)
                bytes[changes[i].at[j]] =
                    (unsigned char)(bytes[changes[i].at[j]] + turn * changes[i].by[j]);
            const efface_status status =
                efface_model_decode(bytes, n_bytes, &params.common, p.data, &decoded, NULL);
            assert_int_equal(status, turn > 0 ? EFFACE_E_FORMAT : EFFACE_OK);
        }
        efface_model_free(decoded);
    }
    /* More rows than any number of bits can be shifted by. */
    assert_int_equal(bytes[AT_ROWS], inside(p.model)->n_rows);
    memset(bytes + AT_ROWS, 0xFF, 8);
    assert_int_equal(efface_model_decode(bytes, n_bytes, &params.common, p.data, &decoded, NULL),
                     EFFACE_E_FORMAT);
    efface_bytes_free(bytes);
    free_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms_are_rounded_upwards),
        cmocka_unit_test(ranks_by_hand),
        cmocka_unit_test(the_largest_rank_fits),
        cmocka_unit_test(damaged_numbers_stay_in_range),
        cmocka_unit_test(weights_by_hand),
        cmocka_unit_test(marks_by_hand),
        cmocka_unit_test(a_shift_stands),
        cmocka_unit_test(pilots_are_as_defined),
        cmocka_unit_test(ties_go_to_the_first_seed),
        cmocka_unit_test(threads_share_a_pilot),
        cmocka_unit_test(what_is_kept_follows_every_change),
        cmocka_unit_test(cuts_move),
        cmocka_unit_test(decode_refuses_other_pilots),
    };
    return cmocka_run_group_tests_name("pilot", tests, NULL, NULL);
}
