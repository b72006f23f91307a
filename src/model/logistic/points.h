/*
 * The points of a run, and the procedure that finds them (docs/definition/logistic.md, section 4).
 */
#ifndef EF_LOGISTIC_POINTS_H
#define EF_LOGISTIC_POINTS_H

#include "base/numbers/wide.h"
#include "efface/efface.h"
#include "model/logistic/lattice.h"

/* A point at which sums were asked for. */
typedef struct ef_run_point {
    uint32_t stage;      /* of its lattice */
    bool is_level;       /* else the penalised loss was not lower, and only the loss is kept */
    bool is_partial;     /* the answer was the loss only */
    int64_t *steps;      /* one for each term */
    ef_i128 loss;        /* of the rows */
    ef_i128 *slopes;     /* one for each term, or NULL */
    ef_i128 *curvatures; /* pairs (0, 0), (0, 1), ..., (0, p - 1), (1, 1), ...; NULL on the finest
                            lattice, too */
} ef_run_point;

/* Whether levels on a lattice have curvatures: on the finest, steps are made with those of the last
 * level before. */
static inline bool ef_stage_bends(uint32_t stage) {
    return stage + 1 < EF_N_STAGES;
}

typedef struct ef_newton_run {
    ef_run_point *points;
    uint32_t n_points;
    size_t capacity;
    uint32_t last;        /* the level that is the model */
    double *coefficients; /* there, of terms: of magnitudes in [0, 1] */
} ef_newton_run;

/* Room for the sums of a point of its lattice; false if out of memory. What is taken is released
 * with the point in any case. */
bool ef_run_point_take(ef_run_point *point, uint32_t n_terms);
void ef_run_point_free(ef_run_point *point);
void ef_run_free(ef_newton_run *run);
size_t ef_n_pairs(uint32_t n_terms);
size_t ef_run_bytes(const ef_newton_run *run, uint32_t n_terms);

/* Adds a row, or takes it out (negative weight). `c` are coefficients times 2^-23. */
void ef_run_point_add_row(ef_run_point *point, efface_loss loss, const double *c,
                          const int32_t *terms, uint32_t n_terms, int64_t weight, bool is_of_class);

/* Who answers the question for the sums at a point: number `number` of the run, whose lattice,
 * steps and room are filled in, and are 0. `known` false: nobody knows without rows, and the walk
 * ends. An answer may be the loss alone (is_partial); if the point becomes a level, it is
 * asked for again, with is_partial set and the loss filled in. */
typedef struct ef_sums_source {
    efface_status (*answer)(void *context, uint32_t number, ef_run_point *point,
                            const double *coefficients, bool *known, efface_error *error);
    void *context;
} ef_sums_source;

/* What a walk goes by. */
typedef struct ef_walk_rules {
    const ef_lattice *lattice;
    efface_loss loss;
    uint32_t max_steps;
} ef_walk_rules;

/* Makes a run. `known` false: it could not be ended. What was made is released by ef_run_free in
 * any case. Errors: MEMORY, and those of the source. */
efface_status ef_run_walk(const ef_walk_rules *rules, ef_sums_source source, ef_newton_run *run,
                          bool *known, efface_error *error);

/* Fills in which point is the model, and its coefficients, of a run that was read. False if its
 * points cannot be those of a walk, or (then `short_of_memory`) if out of memory. */
bool ef_run_settle(const ef_lattice *lattice, ef_newton_run *run, bool *short_of_memory);

/* The last level of a run that has curvatures. */
const ef_run_point *ef_run_bent(const ef_newton_run *run);

/* The factor of the curvature at a level, with the penalty; false if out of memory. */
bool ef_level_factor(const ef_walk_rules *rules, const ef_run_point *level, ef_cholesky *factor);

#endif
