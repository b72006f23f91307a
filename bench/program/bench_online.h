/* efface-bench online: what its files share. */
#ifndef BENCH_ONLINE_H
#define BENCH_ONLINE_H

#include "bench.h"

/* What is asked for whatever the family. */
typedef struct online_common {
    const char *data, *labels;
    uint32_t deletions; /* rows to forget */
    uint32_t batch;     /* rows in a request */
    uint32_t replicates;
    uint32_t baseline_fits; /* 0: no speed-up */
    bool json, help;
} online_common;

#define ONLINE_DEFAULTS                                                                            \
    { .deletions = 1000, .batch = 1, .replicates = 5, .baseline_fits = 4 }

/* clang-format off */
#define ONLINE_COMMON_OPTIONS(o)                      \
    {"--data", BENCH_TEXT, (void *)&(o).data},        \
    {"--labels", BENCH_TEXT, (void *)&(o).labels},    \
    {"--deletions", BENCH_COUNT, &(o).deletions},     \
    {"--batch", BENCH_COUNT, &(o).batch},             \
    {"--replicates", BENCH_COUNT, &(o).replicates},   \
    {"--baseline", BENCH_WHOLE, &(o).baseline_fits},  \
    {"--json", BENCH_FLAG, &(o).json},                \
    {"--help", BENCH_FLAG, &(o).help}
/* clang-format on */

typedef struct online_options {
    online_common common;
    efface_kmeans_params params; /* the seed is that of the first replicate */
    bench_order order;
    bench_list heights, widths; /* of trees */
    bool skip_metrics;          /* no silhouette, NMI and loss ratio */
    bool skip_converged;        /* no loss ratio */
    bool metrics_at_end;        /* and at no milestone */
    bool trace;                 /* a part of the JSON */
} online_options;

/* ------------------------------------------------------------------ whom to forget next */

/* The ids that come next are a list, which is made again when it is used up or out of date. */
typedef struct online_requests {
    bench_order order;
    bench_random random;
    uint64_t *ids;
    size_t n_ids, n_used;
} online_requests;

efface_status online_requests_init(online_requests *requests, bench_order order, uint64_t seed,
                                   uint64_t stream, const efface_data *data, efface_error *error);
void online_requests_free(online_requests *requests);

/* Writes the ids of the next request, at least one and at most `max`, all of them in `data`, which
 * must not be empty. `last` is the report of the request before, NULL for the first. */
efface_status online_requests_next(online_requests *requests, const efface_model *model,
                                   const efface_data *data, const efface_report *last, size_t max,
                                   uint64_t *ids, size_t *n_ids, efface_error *error);

/* ------------------------------------------------------------------ what came of it */

#define ONLINE_MAX_REASONS 32 /* more than a family has */
#define ONLINE_MAX_MARKS 6    /* after 0, 1, 10, 100, 1,000 rows, and at the end */

/* The quality of the model after so many rows; NAN where it has none, or was not asked for. */
typedef struct online_mark {
    double after, loss, silhouette, nmi;
} online_mark;

typedef struct online_result {
    uint32_t replicate; /* from 1 */
    uint64_t n_rows;    /* at first */
    uint32_t n_columns, n_clusters;
    double train_seconds;
    double baseline_seconds;
    uint64_t n_requests;
    double *request_seconds; /* of each request in turn, */
    char *request_actions;   /* and u, r or f: adjusted, repaired, refitted */
    double delete_seconds;   /* all requests together */
    double us_mean, us_median, us_p99, us_max;
    uint64_t n_actions[3]; /* by efface_action */
    uint32_t width;        /* of a tree, */
    uint64_t n_at_leaf;    /* and requests that did not get beyond its leaves */
    struct online_reason {
        const char *why;
        uint64_t times;
    } reasons[ONLINE_MAX_REASONS]; /* of requests that found more to do; `why` NULL: no more */
    double rows_visited_mean;
    online_mark marks[ONLINE_MAX_MARKS]; /* the last one is at the end */
    size_t n_marks;
    double converged_loss; /* of k-means run to convergence on the last rows; NAN as above */
    double epsilon;        /* the lattice in use, as info has it */
    double state_bytes_per_row;
    efface_difference difference; /* between the last state and a fresh fit */
} online_result;

/* ------------------------------------------------------------------ a replicate under way */

typedef struct online_run {
    const online_common *options;
    online_result *result;
    efface_data *data;
    efface_model *model;
    uint64_t *ids; /* of a request */
    uint64_t n_forgotten;
} online_run;

/* Reads the data and makes room for the result. False after a message; online_run_end follows. */
bool online_run_begin(online_run *run, const online_common *options, uint32_t replicate,
                      online_result *result);
void online_run_end(online_run *run);
void online_result_free(online_result *result);

/* A fit that is clocked. */
typedef efface_status online_fit(const efface_data *data, const void *params, efface_model **model,
                                 double *seconds, efface_error *error);

/* What a request costs without this library: a fit of the rows that are left. Half of a few fits are
 * made before the first request, half after the last; call it at both. The time is the mean of the
 * medians of the two halves, and that of the first where no row is left. */
efface_status online_measure_baseline(online_run *run, online_fit *fit, const void *params,
                                      efface_error *error);

/* Forgets the first rows of `ids`, clocked and counted; `height` is that of a tree, or 0. */
efface_status online_forget(online_run *run, size_t n_ids, uint32_t height, efface_report *report,
                            efface_error *error);

/* Counts an action, after the time of its request was noted. */
void online_count_action(online_result *result, efface_action action);

/* Sums up times. False if out of memory. */
bool online_sum_up(online_result *result);

/* After the last request: sums up times, and compares the state with that of a fresh fit. */
efface_status online_finish(online_run *run, efface_error *error);

/* Says where a state is not that of a fresh fit; whether it is. */
bool online_is_verified(const online_result *result);

/* ------------------------------------------------------------------ other families */

/* The command for a model that is not k-means (bench_online_family.c). */
int bench_online_family(int n_arguments, char **arguments);

/* ------------------------------------------------------------------ how good it was */

bool online_marks_milestones(const online_options *options);
bool online_is_milestone(uint64_t n_forgotten);

/* How many rows are left to forget before the next milestone. */
uint64_t online_rows_to_milestone(uint64_t n_forgotten);

/* Adds a mark to the result: the quality of the model after so many rows. */
efface_status online_mark_quality(const online_options *options, const online_run *run,
                                  efface_error *error);

/* ------------------------------------------------------------------ how it is shown */

double online_speedup_amortized(const online_result *result);

/* The table: its head, a line for a replicate, and what is said of all of them. */
void online_print_head(const online_result *first, const online_options *options);
void online_print_line(const online_result *result);
void online_print_summary(const online_result *results, const online_options *options);

/* One line of JSON for a replicate; and what all families have in the middle of it. */
void online_put_requests(const online_result *result);
void online_print_json(const online_result *result, const online_options *options);

void online_print_help(void);

#endif
