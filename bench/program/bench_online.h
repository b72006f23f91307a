/* efface-bench online: what its files share. */
#ifndef BENCH_ONLINE_H
#define BENCH_ONLINE_H

#include "bench.h"

typedef struct online_options {
    const char *data, *labels;
    efface_kmeans_params params; /* the seed is that of the first replicate */
    uint32_t deletions;          /* rows to forget */
    uint32_t batch;              /* rows in a request */
    uint32_t replicates;
    uint32_t baseline_fits; /* 0: no speed-up */
    bench_order order;
    bench_list heights, widths; /* of trees */
    bool skip_metrics;          /* no silhouette, NMI and loss ratio */
    bool skip_converged;        /* no loss ratio */
    bool metrics_at_end;        /* and at no milestone */
    bool trace, json;           /* a trace is part of the JSON */
} online_options;

/* ------------------------------------------------------------------ whom to forget next */

/* The ids that come next are a list, which is made anew when it is used up or out of date. */
typedef struct online_requests {
    bench_order order;
    const efface_kmeans_params *params;
    bench_random random;
    uint64_t *ids;
    size_t n_ids, n_used;
} online_requests;

efface_status online_requests_init(online_requests *requests, bench_order order,
                                   const efface_kmeans_params *params, uint64_t stream,
                                   const efface_data *data, efface_error *error);
void online_requests_free(online_requests *requests);

/* Writes the ids of the next request, at least one and at most `most`, all of them in `data`, which
 * must not be empty. `last` is the report of the request before, NULL for the first. */
efface_status online_requests_next(online_requests *requests, const efface_model *model,
                                   const efface_data *data, const efface_report *last, size_t most,
                                   uint64_t *ids, size_t *n_ids, efface_error *error);

/* ------------------------------------------------------------------ what came of it */

#define ONLINE_MOST_REASONS 32 /* more than a family has */
#define ONLINE_MOST_MARKS 6    /* after 0, 1, 10, 100, 1,000 rows, and at the end */

/* The quality of the model after so many rows; NAN where it has none, or was not asked for. */
typedef struct online_mark {
    uint64_t after;
    double loss;
    double silhouette;
    double nmi;
} online_mark;

typedef struct online_result {
    uint32_t replicate; /* from 1 */
    uint64_t n_rows;    /* at first */
    uint32_t n_columns, n_clusters;
    double train_seconds;
    double baseline_seconds;
    uint64_t n_requests;
    double *request_seconds; /* of each request in turn, */
    char *request_actions;   /* and u, r or f: untouched, repaired, refitted */
    double delete_seconds;   /* all requests together */
    double us_mean, us_median, us_p99, us_max;
    uint64_t n_actions[3]; /* by efface_action */
    uint32_t width;        /* of a tree, */
    uint64_t n_at_leaf;    /* and requests that did not get beyond its leaves */
    struct online_reason {
        const char *why;
        uint64_t times;
    } reasons[ONLINE_MOST_REASONS]; /* of requests that found more to do; `why` NULL: no more */
    double rows_visited_mean;
    online_mark marks[ONLINE_MOST_MARKS]; /* the last one is at the end */
    size_t n_marks;
    double converged_loss; /* of k-means run to convergence on the last rows; NAN as above */
    double epsilon;        /* the lattice in use, as info has it */
    double state_bytes_per_row;
    efface_difference difference; /* between the last state and a fresh fit */
} online_result;

/* Counts a request by its report; `height` is that of a tree, or 0. */
void online_count(online_result *result, const efface_report *report, uint32_t height);

/* The times of all requests together; `sorted` has room for them. */
void online_sum_up_times(online_result *result, double *sorted);

/* ------------------------------------------------------------------ other families */

/* The command for a model that is not k-means (bench_online_family.c). */
int bench_online_family(int n_arguments, char **arguments);

/* ------------------------------------------------------------------ how good it was */

bool online_marks_milestones(const online_options *options);
bool online_is_milestone(uint64_t n_forgotten);

/* How many rows are left to forget before the next milestone. */
uint64_t online_rows_to_milestone(uint64_t n_forgotten);

/* Adds a mark to the result: the quality of the model after so many rows. */
efface_status online_mark_quality(const online_options *options, const efface_model *model,
                                  const efface_data *data, uint64_t after, online_result *result,
                                  efface_error *error);

/* ------------------------------------------------------------------ how it is shown */

double online_loss(const online_result *result);       /* of the last model */
double online_loss_ratio(const online_result *result); /* NAN as above */
double online_speedup(const online_result *result);
double online_speedup_amortized(const online_result *result);

/* The table: its head, a line for a replicate, and what is said of all of them. */
void online_print_head(const online_result *first, const online_options *options);
void online_print_line(const online_result *result);
void online_print_summary(const online_result *results, const online_options *options);

/* One line of JSON for a replicate. */
void online_print_json(const online_result *result, const online_options *options);

void online_print_help(void);

#endif
