/* What is counted, as counters.c adds to it and exposition.c writes it. */
#ifndef SV_COUNTED_H
#define SV_COUNTED_H

#include "metrics/metrics.h"

#include <pthread.h>
#include <stdatomic.h>

#define SV_MAX_BOUNDS 18
#define SV_MAX_REPAIRS 128
#define SV_N_CODES 24

/* How many values were at most as large as each bound, and their sum. */
typedef struct sv_histogram {
    atomic_uint_fast64_t counts[SV_MAX_BOUNDS + 1]; /* the last: above all bounds */
    atomic_uint_fast64_t sum;                       /* in billionths */
} sv_histogram;

/* Bounds in ascending order; ended by 0. */
extern const double sv_second_bounds[SV_MAX_BOUNDS + 1];
extern const double sv_size_bounds[SV_MAX_BOUNDS + 1];

/* Statuses of HTTP that are counted each for itself; the last, 0, is all others. */
extern const int sv_codes[SV_N_CODES];

typedef struct sv_counted_action {
    const char *name;
    atomic_uint_fast64_t codes[SV_N_CODES];
    sv_histogram seconds;
} sv_counted_action;

typedef struct sv_counted_store {
    atomic_uint_fast64_t forgotten, learned, updated; /* rows */
    atomic_uint_fast64_t snapshots, snapshot_nanoseconds, reloads;
    sv_histogram group_sizes, commit_seconds, waited_seconds;
} sv_counted_store;

typedef struct sv_counted_repair {
    const char *kind; /* of the model; both are constants of the library */
    efface_action action;
    const char *reason;
    uint64_t times, rows_visited;
} sv_counted_repair;

enum { SV_REFUSED_TOKEN, SV_REFUSED_ROLE, SV_REFUSED_HOST, SV_REFUSED_RATE, SV_N_REFUSED };
enum { SV_JOB_DONE, SV_JOB_FAILED, SV_JOB_CANCELLED, SV_N_JOBS };

struct sv_metrics {
    const sv_route *routes;
    size_t n_routes;
    size_t *action_of; /* of each route: its place in `actions` */
    size_t n_actions;  /* the last is that of requests without a route */
    sv_counted_action *actions;
    size_t n_stores;
    sv_counted_store *stores;
    atomic_uint_fast64_t refused[SV_N_REFUSED];
    atomic_uint_fast64_t jobs[SV_N_JOBS];
    atomic_int_fast64_t connections;
    atomic_uint_fast64_t all_connections;
    pthread_mutex_t lock; /* of what follows */
    size_t n_repairs;
    sv_counted_repair repairs[SV_MAX_REPAIRS];
};

#endif
