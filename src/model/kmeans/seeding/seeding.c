/*
 * Seeding: plain k-means++ as a sequence of races (docs/definition/numerics.md, section 4); greedy
 * seeding is in seeding_greedy.c.
 *
 * In round l each row runs with the key E / (w u), u its squared distance to the nearest seed so
 * far; the smallest key wins. Exponentials with rates w u have their minimum at row i with
 * probability w_i u_i / sum(w u): the draw of k-means++, without the sum.
 *
 * Almost no row needs its key, nor its distances. Distances only fall while seeds come, so a float
 * distance to the nearest of the first few seeds is an upper bound of u (but for a factor of
 * 1 + EF_SQDIST_ERROR), and gives a lower bound of the key, as E >= v. Rows are looked at in
 * panels: one whose smallest v is too large for its largest bound and the best key so far is out
 * after one comparison. The others are measured against seeds that they have not seen, until they
 * are out or have seen all. If the sum of the bounds of all rows is q times the sum of their u,
 * some q log n panels are measured in a round, and log n rows get an exact distance and a
 * logarithm. An exact distance takes the float distances to all seeds again, sixteen at a time, and
 * integers for those seeds that these cannot tell from the nearest. Cost O(n) a round, O(n d) for
 * the first distance of each row, and never more than O(n d) a round.
 */
#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "model/kmeans/definition/levels.h"
#include "model/kmeans/seeding/greedy.h"
#include "model/kmeans/seeding/seed_panels.h"

#include <string.h>

/* Multiply-adds that take as long as the numbers of a panel, and as its first distances. */
#define OF_TAPE 1024
#define OF_DISTANCE(d) ((size_t)EF_PANEL * 8 * (d))

/* How well a panel is known. */
typedef struct panel_bound {
    double most;   /* the largest weight * bound of its rows */
    uint32_t seen; /* seeds that its rows were measured against */
} panel_bound;

typedef struct seeding_round {
    ef_workspace *space;
    uint64_t seed;
    uint32_t round;
    panel_bound *panels;
    float *upper;        /* of each row: the distance to the nearest seed that it has seen */
    const float *points; /* the seeds so far as floats, */
    const ef_seed_panels *abreast; /* in panels, */
    const int32_t *seeds;          /* and as they are: `round` of them */
    double slack;                  /* 1 + the relative error of `upper` */
} seeding_round;

static uint64_t tape_of(const seeding_round *r, uint64_t id) {
    return ef_tape(r->seed, EF_TAPE_SEED, 0, id, r->round);
}

/* The exact squared distance to the nearest seed; 1 while there is none. The row has seen all seeds.
 * If e is the relative error of floats, that of the nearest seed is at most (1 + e) / (1 - e) times
 * the smallest, which is less than 1 + 2.01 e. */
static int64_t distance_to_seeds(const seeding_round *r, ef_worker *worker, size_t position) {
    if (r->round == 0)
        return 1;
    const ef_passes *const passes = &r->space->passes;
    const uint32_t d = passes->map->n_columns;
    const double limit = (double)r->upper[position] * (1.0 + 2.01 * (r->slack - 1.0));
    int64_t least = INT64_MAX;
    ef_passes_snap(passes, position, worker->point);
    for (uint32_t j = 0; j < d; j++)
        worker->panel[j] = (float)worker->point[j];
    for (uint32_t first = 0; first < r->round; first += EF_PANEL) {
        float away[EF_PANEL];
        ef_seed_panels_measure(r->abreast, passes->kernels, first, worker->panel, away);
        for (uint32_t s = first; s < r->round && s < first + EF_PANEL; s++) {
            if ((double)away[s - first] > limit)
                continue;
            const int64_t distance = ef_grid_sqdist(worker->point, r->seeds + (size_t)s * d, d);
            least = distance < least ? distance : least;
        }
    }
    return least;
}

/* What the distance of a row can be at most; 0 just for rows that equal a seed. */
static double bound_of(const seeding_round *r, size_t position) {
    return r->round != 0 ? (double)r->upper[position] * r->slack : 1.0;
}

/* Lets the rows of a panel see one more seed. */
static void measure_seeds(const seeding_round *r, size_t panel, size_t last) {
    const ef_workspace *const space = r->space;
    panel_bound *const bound = &r->panels[panel];
    float *const upper = r->upper + panel * EF_PANEL;
    const bool is_first = bound->seen == 0; /* then panels come one after the other */
    float distance[EF_PANEL];
    space->passes.kernels->sqdist(space->passes.map, ef_data_panel(space->passes.data, panel),
                                  r->points + (size_t)bound->seen * space->passes.map->n_columns,
                                  ef_passes_ahead(&space->passes, panel, is_first ? last : panel),
                                  distance);
    const unsigned n = ef_passes_rows(&space->passes, panel);
    if (is_first)
        memcpy(upper, distance, n * sizeof *upper);
    bound->most = 0.0;
    for (unsigned i = 0; i < n; i++) {
        upper[i] = distance[i] < upper[i] ? distance[i] : upper[i];
        const double weight = (double)ef_data_weight(space->passes.data, panel * EF_PANEL + i);
        const double most = weight * ((double)upper[i] * r->slack);
        bound->most = most > bound->most ? most : bound->most;
    }
    bound->seen++;
}

/* Whether a row of a panel may still win, after as many distances as it takes to say so. */
static bool may_win(const seeding_round *r, size_t panel, size_t last, uint32_t least_high,
                    double key) {
    panel_bound *const bound = &r->panels[panel];
    if (r->round == 0)
        return true;
    while (!ef_race_hopeless(least_high, 1, bound->most, key)) {
        if (bound->seen == r->round)
            return true;
        measure_seeds(r, panel, last);
    }
    return false;
}

/* A panel one of whose rows may win, as far as was known of it so far. */
static void race_panel(const seeding_round *r, ef_worker *worker, size_t panel, size_t last,
                       const uint64_t ids[EF_PANEL]) {
    const ef_passes *const passes = &r->space->passes;
    const double *const key = &worker->best.winner.key;
    uint32_t high[EF_PANEL], least = UINT32_MAX;
    passes->kernels->tape_high(r->seed, EF_TAPE_SEED, ids, r->round, high);
    for (unsigned i = 0; i < EF_PANEL; i++)
        least = high[i] < least ? high[i] : least;
    if (!may_win(r, panel, last, least, *key))
        return;
    for (unsigned i = 0; i < ef_passes_rows(passes, panel); i++) {
        const size_t position = panel * EF_PANEL + i;
        const int64_t weight = ef_data_weight(passes->data, position);
        const double bound = bound_of(r, position);
        if (!(bound > 0.0) || ef_race_hopeless(high[i], weight, bound, *key))
            continue;
        const int64_t distance = distance_to_seeds(r, worker, position);
        const ef_racer candidate = {{ids[i], ef_race_key(tape_of(r, ids[i]), weight, distance)},
                                    position};
        ef_candidate_offer(&worker->best, &candidate);
    }
}

static void race_panels(void *context, unsigned number, size_t first, size_t last) {
    const seeding_round *const r = context;
    const ef_passes *const passes = &r->space->passes;
    ef_worker *const worker = &r->space->workers[number];
    const bool is_first = r->round == 0, weighs = is_first && passes->data->weights != NULL;
    for (size_t p = first, n; p < last; p += n) {
        uint64_t ids[EF_TAPE_RUN * EF_PANEL], bits[EF_TAPE_RUN];
        uint32_t limits[EF_TAPE_RUN];
        n = ef_race_run(&worker->best, last - p);
        for (size_t i = 0; i < n; i++) {
            if (!is_first && r->panels[p + i].seen == 0)
                measure_seeds(r, p + i, last);
            const double most = is_first ? 1.0 : r->panels[p + i].most;
            limits[i] = weighs ? UINT32_MAX : ef_race_limit(most, worker->best.winner.key);
            ef_passes_ids(passes, p + i, ids + i * EF_PANEL);
        }
        passes->kernels->tape_within(r->seed, EF_TAPE_SEED, 1, ids, n, r->round, limits, bits);
        for (size_t i = 0; i < n; i++)
            if (bits[i] != 0)
                race_panel(r, worker, p + i, last, ids + i * EF_PANEL);
    }
}

efface_status ef_seed(ef_workspace *space, const ef_kmeans_plan *plan, const ef_seeds *seeds,
                      uint32_t from, uint32_t *labels, bool *has_labels, efface_error *error) {
    if (labels != NULL)
        *has_labels = false;
    if (plan->candidates > 1)
        return ef_seed_greedily(space, plan, seeds, from, labels, has_labels, error);
    const uint32_t k = plan->n_clusters, d = space->passes.map->n_columns;
    panel_bound *panels;
    float *upper, *points;
    ef_racer *chosen;
    const ef_array arrays[] = {
        {&panels, space->passes.n_panels, sizeof *panels},
        {&upper, space->passes.data->n_rows, sizeof *upper},
        {&points, k, d * sizeof *points},
        {&chosen, k, sizeof *chosen},
    };
    void *const block = EF_ARRAYS_TAKE(arrays, false);
    ef_seed_panels abreast;
    const bool fits = ef_seed_panels_init(&abreast, k, d);
    if (block == NULL || !fits) {
        ef_seed_panels_free(&abreast);
        ef_free(block);
        return ef_fail_memory(error);
    }
    memset(panels, 0, space->passes.n_panels * sizeof *panels);
    efface_status status = EFFACE_OK;
    for (uint32_t l = 0; status == EFFACE_OK && l < k; l++) {
        int32_t *const point = seeds->points + (size_t)l * d;
        if (l < from) {
            chosen[l].winner = seeds->winners[l];
            chosen[l].position = ef_position_of(space->passes.data, seeds->winners[l].id);
        } else {
            seeding_round r = {
                .space = space,
                .seed = plan->seed,
                .round = l,
                .panels = panels,
                .upper = upper,
                .points = points,
                .abreast = &abreast,
                .seeds = seeds->points,
                .slack = 1.0 + EF_SQDIST_ERROR(d),
            };
            ef_workspace_begin_race(space);
            const bool measures_all = l != 0 && (l == 1 || l == from);
            status = ef_passes_run(&space->passes, OF_TAPE + (measures_all ? OF_DISTANCE(d) : 0),
                                   race_panels, &r, error);
            EF_THEN(status, ef_workspace_end_race(space, &chosen[l], point, error));
            if (status == EFFACE_OK && ef_is_nobody(&chosen[l]))
                status = ef_race_among_equals(&space->passes, plan->seed, l, chosen, &chosen[l],
                                              point, error);
            if (status != EFFACE_OK)
                break;
            seeds->winners[l] = chosen[l].winner;
        }
        ef_seed_panels_put(&abreast, l, point);
        for (uint32_t j = 0; j < d; j++)
            points[(size_t)l * d + j] = (float)point[j];
    }
    ef_seed_panels_free(&abreast);
    ef_free(block);
    return status;
}
