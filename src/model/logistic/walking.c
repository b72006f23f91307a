/*
 * The procedure that finds the points of a run: steps of Newton's method that end on the lattice,
 * and are halved as long as the penalised loss would not fall (docs/definition/logistic.md, section
 * 4). It asks for sums and does not know where they come from: what answers as the rows would
 * gets the points of a fit to these rows.
 */
#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/list.h"
#include "base/memory/memory.h"
#include "base/numbers/grid.h"
#include "model/logistic/losses.h"
#include "model/logistic/points.h"

#include <math.h>
#include <string.h>

#define MAX_HALVINGS 10
#define MAX_COEFFICIENT 0x1p20
#define TERM_UNIT 0x1p-23
#define PAIR_UNIT 0x1p-46
#define ROUNDING_PART (1.0 / 24.0) /* of the square of a width, for each term */

/* A walk under way. */
typedef struct walk {
    const ef_walk_rules *rules;
    ef_sums_source source;
    ef_newton_run *run;
    uint32_t n_terms;
    uint32_t level; /* the point from which steps are made */
    ef_i128 total;  /* its penalised loss */
    double *here;   /* its coefficients, */
    double *u;      /* and coordinates */
    double *delta;  /* the step from it, in these coordinates */
    double *there;  /* coefficients of the point that is tried */
    double *step;
    int64_t *tried; /* its whole numbers */
    void *block;
    double gain;        /* what the step promises to take off the penalised loss */
    ef_cholesky factor; /* of the last level that has curvatures */
} walk;

/* ---------------------------------------------------------------- points */

/* Asks for the sums at a point, and appends it to the run. */
static efface_status ask_for(walk *w, uint32_t stage, const int64_t *steps, const double *b,
                             bool *known, efface_error *error) {
    ef_newton_run *const run = w->run;
    if (!ef_list_reserve(&run->points, &run->capacity, run->n_points, 1, sizeof *run->points))
        return ef_fail_memory(error);
    ef_run_point *const point = &run->points[run->n_points++];
    *point = (ef_run_point){.stage = stage, .steps = ef_alloc(w->n_terms, sizeof *point->steps)};
    if (point->steps == NULL || !ef_run_point_take(point, w->n_terms))
        return ef_fail_memory(error);
    memcpy(point->steps, steps, w->n_terms * sizeof *steps);
    return w->source.answer(w->source.context, run->n_points - 1, point, b, known, error);
}

static ef_i128 total_at(const walk *w, const ef_run_point *point, const double *b) {
    return (
        ef_i128)((ef_u128)point->loss +
                 (ef_u128)ef_lattice_penalty(w->rules->lattice, b, ef_loss_bits(w->rules->loss)));
}

/* The last point becomes the level that steps are made from. */
static efface_status go_there(walk *w, const double *b, bool *known, efface_error *error) {
    ef_run_point *const point = &w->run->points[w->run->n_points - 1];
    const efface_status status =
        point->is_partial
            ? w->source.answer(w->source.context, w->run->n_points - 1, point, b, known, error)
            : EFFACE_OK;
    point->is_partial = false;
    point->is_level = true;
    w->level = w->run->n_points - 1;
    w->total = total_at(w, point, b);
    memmove(w->here, b, w->n_terms * sizeof *b);
    ef_lattice_place(w->rules->lattice, point->stage, point->steps, w->u);
    return status;
}

/* The last point was not better: only its loss stays. */
static void turn_down(walk *w) {
    ef_run_point *const point = &w->run->points[w->run->n_points - 1];
    ef_free(point->slopes);
    ef_free(point->curvatures);
    point->slopes = point->curvatures = NULL;
    point->is_partial = false;
}

/* ---------------------------------------------------------------- the step */

bool ef_level_factor(const ef_walk_rules *rules, const ef_run_point *level, ef_cholesky *factor) {
    const ef_lattice *const lattice = rules->lattice;
    const uint32_t p = lattice->n_terms;
    const double unit = PAIR_UNIT * ef_loss_scale(rules->loss);
    if (factor->lower == NULL && !ef_cholesky_init(factor, p))
        return false;
    const ef_i128 *at = level->curvatures;
    for (uint32_t j = 0; j < p; j++)
        for (uint32_t l = j; l < p; l++, at++)
            factor->lower[(size_t)l * p + j] =
                lattice->factor.dropped[j] || lattice->factor.dropped[l]
                    ? 0.0
                    : ef_i128_to_double(*at) * unit + (l == j ? lattice->penalties[j] : 0.0);
    (void)ef_cholesky_factor(factor);
    return true;
}

static efface_status find_step(walk *w, efface_error *error) {
    const ef_lattice *const lattice = w->rules->lattice;
    const ef_run_point *const level = &w->run->points[w->level];
    const double unit = TERM_UNIT * ef_power_of_two(-ef_loss_bits(w->rules->loss));
    double *const slopes = w->there; /* until a point is tried */
    if (level->curvatures != NULL && !ef_level_factor(w->rules, level, &w->factor))
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < w->n_terms; j++)
        slopes[j] =
            -(ef_i128_to_double(level->slopes[j]) * unit + lattice->penalties[j] * w->here[j]);
    ef_cholesky_solve(&w->factor, slopes, w->step);
    w->gain = 0.5 * ef_dot(slopes, w->step, w->n_terms);
    ef_lattice_whiten(lattice, w->step, w->delta);
    return EFFACE_OK;
}

static bool is_within(const walk *w) {
    bool within = true;
    for (uint32_t j = 0; j < w->n_terms; j++)
        within &= fabs(w->there[j]) < MAX_COEFFICIENT;
    return within;
}

static bool same_steps(const walk *w, const ef_run_point *point) {
    return memcmp(w->tried, point->steps, w->n_terms * sizeof *w->tried) == 0;
}

/* Tries the points of a lattice along the step. `moved`: the level is another one now. */
static efface_status try_points(walk *w, uint32_t stage, bool *moved, bool *known,
                                efface_error *error) {
    const ef_lattice *const lattice = w->rules->lattice;
    const uint32_t first = w->run->n_points;
    double factor = 1.0;
    *moved = false;
    for (int i = 0; i <= MAX_HALVINGS; i++, factor *= 0.5) {
        const ef_run_point *const points = w->run->points;
        if (!ef_lattice_nearest(lattice, stage, w->u, w->delta, factor, w->tried))
            continue;
        if (points[w->level].stage == stage && same_steps(w, &points[w->level]))
            return EFFACE_OK;
        if (w->run->n_points != first && same_steps(w, &points[w->run->n_points - 1]))
            continue;
        ef_lattice_coefficients(lattice, stage, w->tried, w->there);
        if (!is_within(w))
            continue;
        const efface_status status = ask_for(w, stage, w->tried, w->there, known, error);
        if (status != EFFACE_OK || !*known)
            return status;
        *moved = total_at(w, &w->run->points[w->run->n_points - 1], w->there) < w->total;
        if (*moved)
            return go_there(w, w->there, known, error);
        turn_down(w);
    }
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- the walk */

static bool take_memory(walk *w) {
    const size_t p = w->n_terms;
    const ef_array arrays[] = {{&w->here, p, sizeof *w->here},   {&w->u, p, sizeof *w->u},
                               {&w->delta, p, sizeof *w->delta}, {&w->there, p, sizeof *w->there},
                               {&w->step, p, sizeof *w->step},   {&w->tried, p, sizeof *w->tried}};
    w->block = EF_ARRAYS_TAKE(arrays, true);
    return w->block != NULL;
}

/* Whether the step promises more than rounding to a lattice takes; or leads to the finest. */
static bool is_worth(const walk *w, uint32_t stage) {
    const double width = w->rules->lattice->widths[stage];
    return w->gain > (double)w->n_terms * width * width * ROUNDING_PART ||
           (stage + 1 == EF_N_STAGES && w->run->points[w->level].stage != stage);
}

static efface_status walk_on(walk *w, bool *known, efface_error *error) {
    uint32_t stage = 0, n_steps = 0;
    bool moved = true;
    ef_lattice_coefficients(w->rules->lattice, stage, w->tried, w->there);
    efface_status status = ask_for(w, stage, w->tried, w->there, known, error);
    if (status != EFFACE_OK || !*known)
        return status;
    status = go_there(w, w->there, known, error);
    while (status == EFFACE_OK && *known && stage < EF_N_STAGES && n_steps < w->rules->max_steps) {
        if (moved)
            status = find_step(w, error);
        moved = false;
        if (status == EFFACE_OK && is_worth(w, stage))
            status = try_points(w, stage, &moved, known, error);
        n_steps += moved;
        stage += !moved;
    }
    return status;
}

efface_status ef_run_walk(const ef_walk_rules *rules, ef_sums_source source, ef_newton_run *run,
                          bool *known, efface_error *error) {
    walk w = {.rules = rules, .source = source, .run = run, .n_terms = rules->lattice->n_terms};
    *run = (ef_newton_run){0};
    *known = true;
    efface_status status = take_memory(&w) ? walk_on(&w, known, error) : ef_fail_memory(error);
    if (status == EFFACE_OK && *known) {
        run->last = w.level;
        run->coefficients = ef_alloc(w.n_terms, sizeof *run->coefficients);
        if (run->coefficients != NULL)
            memcpy(run->coefficients, w.here, w.n_terms * sizeof *w.here);
        else
            status = ef_fail_memory(error);
    }
    ef_cholesky_free(&w.factor);
    ef_free(w.block);
    return status;
}

/* ---------------------------------------------------------------- a run that was read */

bool ef_run_settle(const ef_lattice *lattice, ef_newton_run *run, bool *short_of_memory) {
    *short_of_memory = false;
    bool ok = run->n_points != 0 && run->points[0].is_level && run->points[0].stage == 0;
    for (uint32_t i = 0; i < run->n_points; i++) {
        if (run->points[i].is_level)
            run->last = i;
        ok &= i == 0 || run->points[i].stage >= run->points[i - 1].stage;
    }
    if (!ok)
        return false;
    run->coefficients = ef_alloc(lattice->n_terms, sizeof *run->coefficients);
    *short_of_memory = run->coefficients == NULL;
    if (run->coefficients != NULL)
        ef_lattice_coefficients(lattice, run->points[run->last].stage, run->points[run->last].steps,
                                run->coefficients);
    return run->coefficients != NULL;
}
