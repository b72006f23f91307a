/* efface-bench online: what a replicate does whatever the family of its model. */
#include "bench_online.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool online_run_begin(online_run *r, const online_common *options, uint32_t replicate,
                      online_result *result) {
    const size_t n = options->deletions;
    *result = (online_result){.replicate = replicate};
    *r = (online_run){.options = options, .result = result};
    /* Read again for each replicate: the one before has forgotten. */
    r->data = bench_open(options->data, options->labels);
    if (r->data == NULL)
        return false;
    if (n > efface_data_n_rows(r->data)) {
        fprintf(stderr, "efface-bench: there are only %zu rows to forget\n",
                efface_data_n_rows(r->data));
        return false;
    }
    result->n_rows = efface_data_n_rows(r->data);
    result->n_columns = efface_data_n_columns(r->data);
    result->request_seconds = malloc(n * sizeof *result->request_seconds);
    result->request_actions = malloc(n);
    r->ids = malloc(n * sizeof *r->ids);
    if (result->request_seconds != NULL && result->request_actions != NULL && r->ids != NULL)
        return true;
    fputs("efface-bench: out of memory\n", stderr);
    return false;
}

void online_run_end(online_run *r) {
    free(r->ids);
    efface_model_free(r->model);
    efface_data_free(r->data);
}

void online_result_free(online_result *result) {
    free(result->request_seconds);
    free(result->request_actions);
}

/* ---------------------------------------------------------------- training again */

efface_status online_measure_baseline(online_run *r, online_fit *fit, const void *params,
                                      efface_error *error) {
    const uint32_t n_fits = (r->options->baseline_fits + 1) / 2;
    double *const baseline = &r->result->baseline_seconds;
    const bool first = r->n_forgotten == 0;
    if (first)
        *baseline = NAN;
    if (n_fits == 0 || efface_data_n_rows(r->data) == 0)
        return EFFACE_OK;
    double *const seconds = malloc(n_fits * sizeof *seconds);
    efface_status status = seconds != NULL ? EFFACE_OK : bench_fail_memory(error);
    for (uint32_t i = 0; i < n_fits && status == EFFACE_OK; i++) {
        efface_model *model = NULL;
        status = fit(r->data, params, &model, &seconds[i], error);
        efface_model_free(model);
    }
    if (status == EFFACE_OK) {
        const double median = bench_median(seconds, n_fits);
        *baseline = first ? median : 0.5 * (*baseline + median);
    }
    free(seconds);
    return status;
}

/* ---------------------------------------------------------------- forgetting */

static void count_reason(online_result *result, const char *why) {
    for (size_t i = 0; i < ONLINE_MAX_REASONS; i++) {
        struct online_reason *const known = &result->reasons[i];
        if (known->why == NULL)
            known->why = why;
        if (strcmp(known->why, why) == 0) {
            known->times++;
            return;
        }
    }
}

/* Whether a report says that a request got no farther than the leaves of a tree of this height. */
static bool is_at_leaf(const efface_report *report, uint32_t height) {
    char leaves[EFFACE_WHERE_BYTES];
    if (height == 0)
        return false;
    (void)snprintf(leaves, sizeof leaves, "up to depth %" PRIu32, height);
    return strcmp(report->where, leaves) == 0;
}

void online_count_action(online_result *result, efface_action action) {
    static const char letters[] = {[EFFACE_ACTION_ADJUSTED] = 'u',
                                   [EFFACE_ACTION_REPAIRED] = 'r',
                                   [EFFACE_ACTION_REFITTED] = 'f'};
    result->request_actions[result->n_requests++] = letters[action];
    result->n_actions[action]++;
}

efface_status online_forget(online_run *r, size_t n_ids, uint32_t height, efface_report *report,
                            efface_error *error) {
    online_result *const result = r->result;
    const efface_request request = {.ids = r->ids, .n_ids = n_ids};
    const double begin = bench_now();
    const efface_status status = efface_model_forget(r->model, r->data, &request, report, error);
    result->request_seconds[result->n_requests] = bench_now() - begin;
    if (status != EFFACE_OK)
        return status;
    online_count_action(result, report->action);
    if (report->action != EFFACE_ACTION_ADJUSTED)
        count_reason(result, report->reason);
    result->rows_visited_mean += (double)report->rows_visited;
    result->n_at_leaf += is_at_leaf(report, height);
    r->n_forgotten += n_ids;
    return EFFACE_OK;
}

bool online_sum_up(online_result *result) {
    const size_t n = (size_t)result->n_requests;
    double *const sorted = malloc(n * sizeof *sorted);
    if (sorted == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        result->delete_seconds += sorted[i] = result->request_seconds[i];
    result->us_mean = 1e6 * result->delete_seconds / (double)n;
    result->us_median = 1e6 * bench_median(sorted, n); /* and they are sorted */
    result->us_p99 = 1e6 * sorted[(99 * n + 99) / 100 - 1];
    result->us_max = 1e6 * sorted[n - 1];
    result->rows_visited_mean /= (double)n;
    free(sorted);
    return true;
}

efface_status online_finish(online_run *r, efface_error *error) {
    online_result *const result = r->result;
    const size_t n_left = efface_data_n_rows(r->data);
    if (!online_sum_up(result))
        return bench_fail_memory(error);
    result->state_bytes_per_row =
        n_left != 0 ? (double)efface_model_state_bytes(r->model) / (double)n_left : (double)NAN;
    return efface_model_verify(r->model, r->data, &result->difference, error);
}

bool online_is_verified(const online_result *result) {
    const efface_difference *const d = &result->difference;
    if (!d->identical)
        fprintf(stderr,
                "efface-bench: replicate %" PRIu32 ": NOT VERIFIED: the state after forgetting "
                "differs from a fresh fit: %s, %s\n",
                result->replicate, d->what, d->where);
    return d->identical != 0;
}
