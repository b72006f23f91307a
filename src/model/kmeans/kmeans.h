/*
 * A fitted k-means model: parameters made definite, the domain, the winners of the seeding races,
 * and the levels. All of it, except the fields at the end of the struct that say otherwise, is the
 * state: a pure function of rows, parameters and seed (docs/definition/numerics.md), written out by
 * ef_kmeans_write (docs/definition/format.md).
 */
#ifndef EF_KMEANS_H
#define EF_KMEANS_H

#include "base/bytes/encode.h"
#include "base/errors/interrupt.h"
#include "base/numbers/wide.h"
#include "model/exact/domain.h"
#include "model/family.h"
#include "model/kmeans/sampling/pilot.h"

/* Parameters after everything automatic was decided. */
typedef struct ef_kmeans_plan {
    efface_method method; /* lloyd for a pyramid with too few rows for a sample */
    efface_empty empty;
    uint32_t n_asked;    /* clusters asked for */
    uint32_t n_clusters; /* clusters there are: no more than rows */
    uint32_t iterations; /* 1 to EFFACE_MAX_ITERATIONS */
    uint64_t seed;
    uint32_t epsilon;    /* lattice width in grid steps; 0 for none */
    uint32_t gamma;      /* in 1/65536; 0 unless quantized */
    uint64_t wanted;     /* pyramid: rows that the sample has at least; else 0 */
    uint32_t passes;     /* pyramid: passes over all rows; else 0 */
    uint32_t starts;     /* pyramid: seedings tried; else 0 */
    uint32_t candidates; /* slots of a round of the seeding; 1 is plain */
    uint32_t width;      /* tree: children of a node; else 0 */
    uint32_t n_threads;
    ef_interrupt interrupt;
} ef_kmeans_plan;

#define EF_GAMMA_ONE 65536

/* What the rounds of greedy seeding came to, from round 1 on until all rows were at seeds: for each
 * round and slot, round after round, the winner, its grid point, and the potential. */
typedef struct ef_rounds {
    uint32_t n_rounds;
    ef_i128 *potentials; /* NULL: nothing is kept */
    ef_winner *winners;
    int32_t *points;
} ef_rounds;

typedef struct ef_reseeding {
    uint32_t cluster;
    ef_winner winner;
} ef_reseeding;

typedef struct ef_level {
    int32_t *centers;    /* n_clusters * n_columns grid coordinates */
    bool has_partition;  /* then counts and sums are those of the rows nearest to each center */
    int64_t *counts;     /* n_clusters sums of weights; this and sums may be NULL without one */
    int64_t *sums;       /* n_clusters * n_columns sums of weight times grid coordinate */
    uint32_t n_reseeded; /* clusters that were reseeded to make the next level */
    ef_reseeding *reseeded;
    void *block; /* where all but `reseeded` is */
} ef_level;

/* What the starts of pyramid came to: for each its centers, and their loss over the jury. */
typedef struct ef_starts {
    int32_t *centers; /* n_starts * n_clusters * n_columns */
    ef_i128 *losses;  /* n_starts */
} ef_starts;

/* What was done, for whoever wants to know; no part of the state. */
typedef struct ef_work_done {
    uint64_t rows_assigned;
    uint64_t rows_undecided; /* of them, by the filter */
    uint64_t rows_moved;
} ef_work_done;

static inline void ef_work_add(ef_work_done *sum, const ef_work_done *more) {
    sum->rows_assigned += more->rows_assigned;
    sum->rows_undecided += more->rows_undecided;
    sum->rows_moved += more->rows_moved;
}

typedef struct ef_kmeans {
    efface_kmeans_params params; /* as given, for a fit like this one */
    efface_params *params_block; /* where what they refer to is */
    const bool *ignored;  /* columns that are as if all their values were 0, or NULL: none; it is
                             another's, and outlives the model */
    struct ef_tree *tree; /* for tree only; it has all the rest, but plan, domain and totals */
    bool is_start;        /* of a pyramid: plan and domain are those of another model (trial.h) */
    ef_kmeans_plan plan;
    ef_domain domain;
    uint64_t n_rows;
    int64_t total_weight;
    ef_i128 square_sum; /* of weight * |g|^2 over all rows */
    ef_winner *seeds;   /* n_clusters of them; those of pyramid are its pilot's */
    ef_rounds rounds;   /* if there are several candidates; not for pyramid */
    ef_pilot pilot;     /* for pyramid only, */
    ef_starts starts;   /* and its starts, */
    uint32_t start;     /* and the one that was chosen */
    ef_level *levels;
    uint32_t n_levels;
    uint32_t model_level; /* the level whose centers are the model */
    bool stable;          /* the next level would be the same as the model's */

    /* What is kept beside the state to follow changes faster (kept.h), or NULL. */
    struct ef_kept *kept;

    ef_work_done work; /* of the fit, or of the last change */
} ef_kmeans;

/* Checks the parameters and decides what is automatic. */
efface_status ef_kmeans_plan_init(ef_kmeans_plan *plan, const ef_counts *counts,
                                  const efface_kmeans_params *params, efface_error *error);

/* The part of it that is about the sample of a pyramid of n_rows rows, given the clusters there
 * are. Where no sample pays, it is lloyd from here on. */
void ef_kmeans_plan_sample(ef_kmeans_plan *plan, const efface_kmeans_params *params,
                           uint64_t n_rows);

/* The part of it that does not follow from rows. */
void ef_kmeans_plan_fixed(ef_kmeans_plan *plan, const efface_kmeans_params *params);

/* How many candidates a round has, given the parameter. */
uint32_t ef_count_candidates(uint32_t asked, uint32_t n_clusters);

/* Parameters as they are used: a tree of height 0 is the method of its leaves. */
efface_kmeans_params ef_params_used(const efface_kmeans_params *params);

/* The k-means model that a model is; NULL, and an error, if it is of another family. */
ef_kmeans *ef_kmeans_of(const efface_model *model, efface_error *error);

/* Releases a model. Takes NULL. */
void ef_kmeans_free(ef_kmeans *model);

/* Memory that it takes. */
size_t ef_kmeans_bytes(const ef_kmeans *model);

/* Fits a model with parameters that were checked; columns may be ignored. */
efface_status ef_kmeans_fit(const efface_data *data, const efface_kmeans_params *params,
                            const bool *ignored, ef_kmeans **out, efface_error *error);

/* The parameters in one block of memory, with copies of what they refer to; NULL if memory is
 * short.
 */
efface_params *ef_params_copy(const efface_params *params, uint32_t n_columns);

/* Parameters as bytes, and what can be said of them (kmeans_params_bytes.c). */
void ef_params_write(ef_writer *writer, const efface_params *params, uint32_t n_columns);
efface_status ef_params_read(ef_decoder *decoder, uint32_t n_columns, efface_params **out,
                             efface_error *error);
void ef_params_describe(const efface_params *params, ef_listener to);

/* The same of a model. */
void ef_kmeans_describe(const ef_kmeans *model, ef_listener to);
const char *ef_method_name(efface_method method);

/* Says where two models differ. */
void ef_kmeans_locate(const ef_kmeans *a, const ef_kmeans *b, efface_difference *difference);

/* What parameters say of the domain. */
static inline ef_bounds ef_params_bounds(const efface_kmeans_params *params, const bool *ignored) {
    return (ef_bounds){
        .scale = params->scale,
        .bound = params->bound,
        .column_min = params->column_min,
        .column_max = params->column_max,
        .ignored = ignored,
        .seed = params->common.seed,
        .n_threads = params->common.n_threads,
        .interrupt = {params->common.interrupted, params->common.interrupt_context, NULL},
    };
}

/* Keeps the parameters in the model, with copies of what they refer to. */
efface_status ef_keep_params(ef_kmeans *model, const efface_kmeans_params *params,
                             uint32_t n_columns, efface_error *error);

/* A fit with the parameters of a model of pyramid, the seeds of whose pilot are those of the rows. */
efface_status ef_kmeans_fit_piloted(const efface_data *data, const ef_kmeans *model,
                                    ef_kmeans **out, efface_error *error);

/* `fresh` takes the place of `model`, and what that was is released. */
void ef_kmeans_become(ef_kmeans *model, ef_kmeans *fresh);

/* Checks the parameters alone; those that a user gives, which cannot give the domain of the scale
 * standard. */
efface_status ef_params_check(const efface_kmeans_params *params, efface_error *error);
efface_status ef_params_check_asked(const efface_kmeans_params *params, efface_error *error);

/* How many levels from number `first` on have a partition. */
uint32_t ef_count_partitions(const ef_kmeans *model, uint32_t first);

/* The weight of the rows of a center of the model: of the level whose centers they are, or, if it
 * has no partition, of the level before. */
int64_t ef_kmeans_mass(const ef_kmeans *model, uint32_t cluster);
uint32_t ef_mass_level(const ef_kmeans *model);

bool ef_starts_init(ef_starts *starts, size_t n_starts, size_t n_clusters, size_t n_columns);
void ef_starts_free(ef_starts *starts);

/* Room for what so many rounds come to; there are none yet. */
bool ef_rounds_init(ef_rounds *rounds, size_t n_rounds, size_t n_slots, size_t n_columns);
void ef_rounds_free(ef_rounds *rounds);

/* The slot with the smallest potential; of equals the first. */
uint32_t ef_best_slot(const ef_i128 *potentials, uint32_t n_slots);

/* How many of a model's seeds, given their grid points, were drawn before the race was one among
 * equals. */
uint32_t ef_count_apart(const ef_kmeans *model, const int32_t *seeds);

/* Whether a model keeps rounds. */
static inline bool ef_keeps_rounds(const ef_kmeans_plan *plan) {
    return plan->candidates > 1 &&
           (plan->method == EFFACE_METHOD_LLOYD || plan->method == EFFACE_METHOD_QUANTIZED);
}

/* Releases a level. */
void ef_level_free(ef_level *level);

/* Room for one more level, all of it cleared; NULL if out of memory. One that is open is the last
 * and has no partition: no counts and sums. */
ef_level *ef_kmeans_add_level(ef_kmeans *model, bool is_open);

/* Changes how the model works from now on: with how many threads, and whom it asks. */
void ef_kmeans_set_work(ef_kmeans *model, uint32_t n_threads, ef_interrupt interrupt);

/* The number of a method in canonical bytes. */
uint32_t ef_method_number(efface_method method);

/* The canonical bytes of a model; what they have of its columns, if it is anything. `weight` is
 * that of the rows. */
void ef_kmeans_write(ef_writer *writer, const ef_kmeans *model);
void ef_domain_write(ef_writer *writer, const ef_domain *domain);
efface_status ef_domain_read(ef_decoder *reader, ef_domain *domain, uint32_t n_columns,
                             int exponent, ef_bounds bounds, int64_t weight, efface_error *error);

#define EF_FORMAT_MAGIC "EFFACEKM"
#define EF_FORMAT_VERSION 1
#define EF_FORMAT_PYRAMID 4 /* its method */

/* Reads a model of rows with n_columns columns, without what follows from its rows: it is cold, and
 * belongs to no set. It can follow a change that needs no rows (ef_revision_make_cold); if that
 * says that it does, the model is as it was. */
efface_status ef_kmeans_read(ef_decoder *reader, const efface_kmeans_params *params,
                             const bool *ignored, uint32_t n_columns, ef_kmeans **out,
                             efface_error *error);

/* Gives a cold model its rows, as they are after the changes that it has followed: it is then what
 * efface_kmeans_decode would make of its bytes, and belongs to the set. Where memory runs out, or
 * these are not its rows, all that can still be done with it is to free it. Cost and errors: as
 * efface_kmeans_decode. */
efface_status ef_kmeans_attach(ef_kmeans *model, const efface_data *data, efface_error *error);

/* The winners of the seeding of all rows. */
static inline const ef_winner *ef_kmeans_seeds(const ef_kmeans *model) {
    return model->plan.method == EFFACE_METHOD_PYRAMID ? model->pilot.winners : model->seeds;
}

/* The loss of a level with a partition, exact, in squared grid steps. */
ef_i128 ef_level_loss(const ef_kmeans *model, const ef_level *level);

/* The centers of the model; NULL if there are none. */
const int32_t *ef_kmeans_centers(const ef_kmeans *model);

/* The centers that made the last partition of all rows, n_clusters of them; NULL if there are none.
 * Those of a tree are its root's, though that divided centroids only. */
const int32_t *ef_kmeans_dividers(const ef_kmeans *model, uint32_t *n_clusters);

#endif
