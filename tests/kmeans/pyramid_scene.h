/*
 * What tests of pyramid share: its sample and jury (docs/definition/numerics.md, section 7)
 * computed plainly from values, ids and weights, and what a model keeps held against that. Sets are
 * of whole numbers on a grid of step 1.
 */
#ifndef PYRAMID_SCENE_H
#define PYRAMID_SCENE_H

#include "model/change_scene.h"

#include "base/random/tape.h"
#include "model/kmeans/definition/levels.h"
#include "model/report_scene.h"

#define MOST_CLUSTERS 8

static uint64_t random_state = 20191105;

static inline uint64_t below(uint64_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

static inline efface_kmeans_params params_of_pyramid(uint32_t n_clusters, double rate,
                                                     uint32_t starts, uint64_t seed) {
    efface_kmeans_params p = params_of(EFFACE_METHOD_PYRAMID, n_clusters, seed);
    p.bound = 0x1p23;
    p.pyramid.rate = rate;
    p.pyramid.starts = starts;
    return p;
}

/* ---------------------------------------------------------------- the definition */

/* A row, as the pilot has it. */
typedef struct plain_row {
    uint32_t cluster; /* the nearest seed */
    int64_t away;     /* squared */
    uint32_t base, need;
    int64_t sample, jury; /* its weight there; 0: it is not there */
} plain_row;

typedef struct plain_pilot {
    uint64_t ids[MOST_CLUSTERS]; /* of the seeds, and */
    double keys[MOST_CLUSTERS];
    int32_t points[MOST_CLUSTERS * MOST_COLUMNS];
    int64_t counts[MOST_CLUSTERS];
    ef_i128 spread;
    uint32_t shift;
    uint64_t n_sample, n_within, n_jury;
    ef_i128 jury_weight;
    plain_row rows[MOST_ROWS]; /* by position */
} plain_pilot;

/* The smallest e with x <= 2^e. */
static inline uint32_t plain_log(ef_i128 x) {
    uint32_t e = 0;
    while ((ef_i128)1 << e < x)
        e++;
    return e;
}

/* How many rows a sample should have, for a rate that is a power of two. */
static inline uint64_t plain_wanted(uint64_t n, uint32_t k, double rate) {
    uint64_t rows = (uint64_t)((double)(UINT64_C(1) << plain_log(n)) * rate);
    rows = rows < k ? k : rows;
    return rows > n ? n : rows;
}

static inline int64_t square_away(const float *row, const int32_t *point, uint32_t d) {
    int64_t square = 0;
    for (uint32_t j = 0; j < d; j++) {
        const int64_t away = (int64_t)row[j] - point[j];
        square += away * away;
    }
    return square;
}

/* The nearest of k points, of equals the first. */
static inline uint32_t nearest_of(const float *row, const int32_t *points, uint32_t k, uint32_t d,
                                  int64_t *square) {
    uint32_t nearest = 0;
    *square = INT64_MAX;
    for (uint32_t c = 0; c < k; c++) {
        const int64_t away = square_away(row, points + (size_t)c * d, d);
        nearest = away < *square ? c : nearest;
        *square = away < *square ? away : *square;
    }
    return nearest;
}

/* Plain seeding is what lloyd begins with. */
static inline void find_seeds(plain_pilot *s, const pair *p, uint32_t k, uint32_t d) {
    efface_kmeans_params params = p->params;
    params.method = EFFACE_METHOD_LLOYD;
    params.candidates = 1;
    params.iterations = 1;
    efface_model *const run = fit(p->data, &params);
    assert_int_equal(inside(run)->plan.n_clusters, k);
    for (uint32_t c = 0; c < k; c++) {
        s->ids[c] = inside(run)->seeds[c].id;
        s->keys[c] = inside(run)->seeds[c].key;
    }
    memcpy(s->points, inside(run)->levels[0].centers, (size_t)k * d * sizeof *s->points);
    efface_model_free(run);
}

static inline ef_i128 plain_weight(const pair *p, const plain_pilot *s, size_t i, uint32_t shift) {
    const uint32_t base = s->rows[i].base;
    return (ef_i128)efface_data_row(p->data, i).weight << (base > shift ? base - shift : 0);
}

/* The weights of the rows that take part with this shift: as they are, or, from 2^40 together on,
 * cut down to less than 2^39, but never to nothing. Returns what they add up to before that. */
static inline ef_i128 weigh_plainly(const pair *p, plain_pilot *s, bool of_jury) {
    const uint32_t shift = s->shift + (of_jury ? 1 : 0);
    ef_i128 total = 0;
    uint32_t cut = 0;
    for (size_t i = 0; i < p->data->n_rows; i++)
        total += s->rows[i].need <= shift ? plain_weight(p, s, i, shift) : 0;
    while (total >= (ef_i128)1 << 40 && total >> cut >= (ef_i128)1 << 39)
        cut++;
    for (size_t i = 0; i < p->data->n_rows; i++) {
        const int64_t rest = (int64_t)(plain_weight(p, s, i, shift) >> cut);
        const int64_t weight = s->rows[i].need > shift ? 0 : rest > 0 ? rest : 1;
        *(of_jury ? &s->rows[i].jury : &s->rows[i].sample) = weight;
    }
    return total;
}

static inline plain_pilot make_plainly(const pair *p) {
    const size_t n = p->data->n_rows;
    const uint32_t d = p->data->n_columns;
    const uint32_t k = n < p->params.n_clusters ? (uint32_t)n : p->params.n_clusters;
    plain_pilot s;
    memset(&s, 0, sizeof s);
    assert_true(n <= MOST_ROWS && k <= MOST_CLUSTERS);
    find_seeds(&s, p, k, d);
    for (size_t i = 0; i < n; i++) {
        const int64_t weight = efface_data_row(p->data, i).weight;
        float row[MOST_COLUMNS];
        efface_data_values(p->data, i, row);
        s.rows[i].cluster = nearest_of(row, s.points, k, d, &s.rows[i].away);
        s.counts[s.rows[i].cluster] += weight;
        if (s.rows[i].away > 0)
            s.spread += (ef_i128)1 << plain_log((ef_i128)weight * s.rows[i].away);
    }
    for (size_t i = 0; i < n; i++) {
        plain_row *const row = &s.rows[i];
        const efface_row of_set = efface_data_row(p->data, i);
        const ef_i128 weight = of_set.weight;
        row->base = plain_log(k) + plain_log(s.counts[row->cluster]) - plain_log(weight);
        const uint32_t far = plain_log(s.spread) - plain_log(weight * row->away);
        if (row->away > 0 && far < row->base)
            row->base = far;
        const uint64_t number = ef_tape(p->params.common.seed, EF_TAPE_MEMBER, 0, of_set.id, 0);
        for (row->need = row->base;
             row->need > 0 && number >> (64 - row->base + row->need - 1) == 0;)
            row->need--;
    }
    const uint64_t wanted = plain_wanted(n, k, p->params.pyramid.rate);
    for (;; s.shift++) {
        s.n_within = s.n_sample;
        s.n_sample = 0;
        for (size_t i = 0; i < n; i++)
            s.n_sample += s.rows[i].need <= s.shift;
        if (s.n_sample >= wanted)
            break;
    }
    (void)weigh_plainly(p, &s, false);
    s.jury_weight = weigh_plainly(p, &s, true);
    for (size_t i = 0; i < n; i++)
        s.n_jury += s.rows[i].jury > 0;
    return s;
}

/* ---------------------------------------------------------------- what is kept */

static inline bool is_seed_of(const plain_pilot *s, uint32_t k, uint64_t id) {
    for (uint32_t c = 0; c < k; c++)
        if (s->ids[c] == id)
            return true;
    return false;
}

/* Pilot and marks are those of the rows as they are; what can be asked agrees with them. */
static inline void check_pilot(const pair *p) {
    const efface_model *const m = p->model;
    const plain_pilot s = make_plainly(p);
    const uint32_t k = inside(m)->plan.n_clusters, d = p->data->n_columns;
    for (uint32_t c = 0; c < k; c++) {
        assert_true(inside(m)->pilot.winners[c].id == s.ids[c]);
        assert_true(inside(m)->pilot.winners[c].key == s.keys[c]);
    }
    assert_memory_equal(inside(m)->pilot.points, s.points, (size_t)k * d * sizeof *s.points);
    assert_memory_equal(inside(m)->pilot.counts, s.counts, k * sizeof *s.counts);
    assert_true(inside(m)->pilot.spread == s.spread);
    assert_int_equal(inside(m)->pilot.shift, s.shift);
    assert_int_equal(inside(m)->pilot.n_sample, s.n_sample);
    assert_int_equal(inside(m)->pilot.n_within, s.n_within);
    assert_true(inside(m)->pilot.jury_weight == s.jury_weight);
    for (size_t i = 0; i < p->data->n_rows; i++) {
        const plain_row *const row = &s.rows[i];
        const uint64_t id = efface_data_row(p->data, i).id;
        const ef_rank rank =
            ef_rank_of(&inside(m)->pilot, k, row->cluster, efface_data_row(p->data, i).weight,
                       row->away, ef_member_zeros(inside(m)->plan.seed, id));
        assert_int_equal(rank.base, row->base);
        assert_int_equal(rank.need, row->need);
        assert_int_equal(ef_labels_kept(inside(m))->codes[i] & EF_MARKS,
                         (row->sample > 0 ? EF_IN_SAMPLE : 0) | (row->jury > 0 ? EF_IN_JURY : 0));
        assert_int_equal(efface_kmeans_in_sample(m, p->data, id), row->sample > 0);
        assert_int_equal(efface_kmeans_is_seed(m, id), is_seed_of(&s, k, id));
    }
}

/* The losses are what the rows of the jury cost, and the first of the smallest is chosen. */
static inline void check_losses(const pair *p) {
    const efface_model *const m = p->model;
    const uint32_t k = inside(m)->plan.n_clusters, d = p->data->n_columns;
    const plain_pilot s = make_plainly(p);
    for (uint32_t r = 0; r < inside(m)->plan.starts; r++) {
        ef_i128 loss = 0;
        for (size_t i = 0; i < p->data->n_rows; i++) {
            float row[MOST_COLUMNS];
            int64_t away;
            efface_data_values(p->data, i, row);
            (void)nearest_of(row, inside(m)->starts.centers + (size_t)r * k * d, k, d, &away);
            loss += (ef_i128)s.rows[i].jury * away;
        }
        assert_true(inside(m)->starts.losses[r] == loss);
        assert_true(inside(m)->starts.losses[inside(m)->start] <= loss);
        assert_true(r >= inside(m)->start || inside(m)->starts.losses[inside(m)->start] < loss);
    }
}

#endif
