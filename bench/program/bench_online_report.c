/* efface-bench online: the table, the lines of JSON, and what their numbers mean. */
#include "bench_online.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void online_print_help(void) {
    fputs(
        "usage: efface-bench online --data DATA [--labels FILE] -k K [OPTIONS]\n\n"
        "Trains a model once, then forgets rows, request by request, and verifies that the last\n"
        "state is, byte for byte, that of a fresh fit to the rows that are left. Only the fit and\n"
        "the calls that forget are clocked. Exit code 1 if a state is not verified.\n\n"
        "  --family F       kmeans (default); efface-bench online --family linear --help lists\n"
        "                   the others, which have options of their own\n"
        "  --method M       lloyd, quantized, pyramid (default) or tree\n"
        "  --deletions D    rows to forget (1000)\n"
        "  --batch B        rows in one request (1)\n"
        "  --replicates R   runs with the seeds S, S + 1, ... (5)\n"
        "  --seed S         for the model and for which rows go (0)\n"
        "  --order O        uniform: at random, without replacement (default)\n"
        "                   seeds: always a current seed of the model\n"
        "                   sample: always a row of pyramid's sample\n"
        "                   cluster: all rows of a random row's cluster, then of another\n"
        "                   oldest: by ascending id\n"
        "                   edges: always a row that alone has the least or the greatest value\n"
        "                   of a column\n"
        "  --baseline F     fits to measure retraining by (4); 0 for none\n"
        "  --threads N      (1)\n"
        "  --scale none|minmax|standard, --iters T (10), --epsilon E\n"
        "  --candidates C   rows tried for each seed (1); 0: 2 + log k\n"
        "  --gamma G        quantized\n"
        "  --rate R         pyramid: part of the rows in the sample\n"
        "  --passes P       pyramid: passes over all rows\n"
        "  --starts S       pyramid: seedings tried on the sample\n"
        "  --height H       tree: a height, or several with commas between them (1)\n"
        "  --width W        tree: the same for widths (0: derived from n)\n"
        "  --leaf-method M, --node-method M   tree: of leaves and of inner nodes (lloyd)\n"
        "  --weigh          tree: centroids count with the weight of their rows\n"
        "  --skip-metrics   no silhouette, NMI and loss ratio, which take most of the time; the\n"
        "                   loss at the end only\n"
        "  --skip-converged no loss ratio, which needs k-means run to convergence\n"
        "  --metrics-at-end loss, silhouette and NMI of the last model only; otherwise no request\n"
        "                   goes past a milestone: 1, 10, 100 or 1,000 rows\n"
        "  --json           one object per line, one for each replicate, instead of the table\n"
        "  --trace          with --json: the time and the action of every request\n\n",
        stdout);
    fputs(
        "What is reported for each replicate:\n"
        "  train_seconds         the fit\n"
        "  baseline_seconds      what a request costs without this library: training k-means\n"
        "                        (lloyd, 10 iterations, same threads and seed) on the rows that\n"
        "                        are left; half of a few fits are made before the first request,\n"
        "                        half after the last: the mean of the medians of the two halves\n"
        "  delete_us_...         a request: mean, median, p99 and max\n"
        "  adjusted, repairs, refits   requests after which only sums were corrected, rows were\n"
        "                        assigned again, everything was computed again; and `reasons`\n"
        "  amortized_seconds     (train_seconds + delete_seconds_total) / requests\n"
        "  speedup               requests * baseline_seconds / delete_seconds_total\n"
        "  speedup_amortized     baseline_seconds / amortized_seconds: the paper's, which pays "
        "for\n"
        "                        training too, and that of the table; of several replicates the\n"
        "                        paper divides the means\n"
        "  loss                  of the last model\n"
        "  converged_loss        of k-means run to convergence on the rows that are left, with\n"
        "                        the same seed; loss_ratio is loss / converged_loss\n"
        "  silhouette, nmi       of the last model; NMI needs labels\n"
        "  losses, silhouettes, nmis   after training, after 1, 10, 100 and 1,000 rows, and at\n"
        "                        the end (metrics_after); a silhouette is that of 10,000 rows,\n"
        "                        drawn again for each replicate and milestone\n"
        "  stopped_at_leaf       tree: requests that left all centroids of their leaf as they "
        "were\n"
        "  rows_visited_mean     rows, other than those of a request, that it looked at\n"
        "  state_bytes_per_row   memory of the last model beyond the data\n"
        "  request_us            every request in turn; request_actions has a letter for each:\n"
        "                        u, r or f, for adjusted, repaired, refitted\n",
        stdout);
}

static const online_mark *last_mark(const online_result *r) {
    return &r->marks[r->n_marks - 1];
}

static double loss_of(const online_result *r) {
    return last_mark(r)->loss;
}

static double loss_ratio(const online_result *r) {
    return r->converged_loss > 0.0 ? loss_of(r) / r->converged_loss : (double)NAN;
}

static double speedup(const online_result *r) {
    return (double)r->n_requests * r->baseline_seconds / r->delete_seconds;
}

double online_speedup_amortized(const online_result *r) {
    return (double)r->n_requests * r->baseline_seconds / (r->train_seconds + r->delete_seconds);
}

static double amortized_seconds(const online_result *r) {
    return (r->train_seconds + r->delete_seconds) / (double)r->n_requests;
}

/* ---------------------------------------------------------------- JSON */

/* Each measure of a mark by its place in it. */
typedef size_t mark_field;

static double mark_value(const online_mark *mark, mark_field field) {
    double value;
    memcpy(&value, (const char *)mark + field, sizeof value);
    return value;
}

static void put_marks(const char *name, const online_result *r, mark_field field) {
    printf(",\"%s\":[", name);
    for (size_t i = 0; i < r->n_marks; i++) {
        fputs(i != 0 ? "," : "", stdout);
        bench_put_real(mark_value(&r->marks[i], field));
    }
    putchar(']');
}

static void put_reasons(const online_result *r) {
    const char *separator = "";
    fputs(",\"reasons\":{", stdout);
    for (size_t i = 0; i < ONLINE_MAX_REASONS && r->reasons[i].why != NULL; i++) {
        printf("%s\"%s\":%" PRIu64, separator, r->reasons[i].why, r->reasons[i].times);
        separator = ",";
    }
    putchar('}');
}

static void put_trace(const online_result *r) {
    fputs(",\"request_us\":[", stdout);
    for (uint64_t i = 0; i < r->n_requests; i++)
        printf("%s%.4g", i != 0 ? "," : "", 1e6 * r->request_seconds[i]);
    printf("],\"request_actions\":\"%.*s\"", (int)r->n_requests, r->request_actions);
}

void online_put_requests(const online_result *r) {
    bench_put_field("train_seconds", r->train_seconds);
    bench_put_field("delete_seconds_total", r->delete_seconds);
    bench_put_field("delete_us_mean", r->us_mean);
    bench_put_field("delete_us_median", r->us_median);
    bench_put_field("delete_us_p99", r->us_p99);
    bench_put_field("delete_us_max", r->us_max);
    printf(",\"adjusted\":%" PRIu64 ",\"repairs\":%" PRIu64 ",\"refits\":%" PRIu64,
           r->n_actions[EFFACE_ACTION_ADJUSTED], r->n_actions[EFFACE_ACTION_REPAIRED],
           r->n_actions[EFFACE_ACTION_REFITTED]);
    bench_put_field("rows_visited_mean", r->rows_visited_mean);
    bench_put_field("baseline_seconds", r->baseline_seconds);
    bench_put_field("speedup", speedup(r));
    bench_put_field("speedup_amortized", online_speedup_amortized(r));
    bench_put_field("state_bytes_per_row", r->state_bytes_per_row);
}

void online_print_json(const online_result *r, const online_options *options) {
    const efface_kmeans_params *const params = &options->params;
    printf("{\"bench\":\"online\",\"method\":\"%s\",\"n\":%" PRIu64 ",\"d\":%" PRIu32
           ",\"k\":%" PRIu32 ",\"scale\":\"%s\",\"threads\":%" PRIu32
           ",\"kernels\":\"%s\",\"compiler\":\"%s\"",
           bench_method_name(params->method), r->n_rows, r->n_columns, r->n_clusters,
           bench_scale_name(params->scale), params->common.n_threads, efface_kernels_name(),
           bench_compiler());
    printf(",\"order\":\"%s\",\"deletions\":%" PRIu32 ",\"batch\":%" PRIu32 ",\"requests\":%" PRIu64
           ",\"replicate\":%" PRIu32 ",\"seed\":%" PRIu64,
           bench_order_name(options->order), options->common.deletions, options->common.batch,
           r->n_requests, r->replicate, params->common.seed + r->replicate - 1);
    online_put_requests(r);
    put_reasons(r);
    if (params->method == EFFACE_METHOD_TREE)
        printf(",\"height\":%" PRIu32 ",\"width\":%" PRIu32
               ",\"leaf_method\":\"%s\",\"node_method\":\"%s\",\"weigh\":%s"
               ",\"stopped_at_leaf\":%" PRIu64,
               params->tree.height, r->width, bench_method_name(params->tree.leaf_method),
               bench_method_name(params->tree.node_method),
               params->tree.weigh_centroids ? "true" : "false", r->n_at_leaf);
    bench_put_field("epsilon", r->epsilon);
    bench_put_field("amortized_seconds", amortized_seconds(r));
    bench_put_field("loss", loss_of(r));
    bench_put_field("converged_loss", r->converged_loss);
    bench_put_field("loss_ratio", loss_ratio(r));
    bench_put_field("silhouette", last_mark(r)->silhouette);
    bench_put_field("nmi", last_mark(r)->nmi);
    put_marks("metrics_after", r, offsetof(online_mark, after));
    put_marks("losses", r, offsetof(online_mark, loss));
    put_marks("silhouettes", r, offsetof(online_mark, silhouette));
    put_marks("nmis", r, offsetof(online_mark, nmi));
    if (options->trace)
        put_trace(r);
    printf(",\"verified\":%s}\n", r->difference.identical ? "true" : "false");
}

/* ---------------------------------------------------------------- the table */

void online_print_head(const online_result *first, const online_options *options) {
    const efface_kmeans_params *const params = &options->params;
    printf("%s, %" PRIu64 " x %" PRIu32 ", %" PRIu32 " clusters, scale %s, %" PRIu32
           " thread%s, %s kernels\n",
           bench_method_name(params->method), first->n_rows, first->n_columns, first->n_clusters,
           bench_scale_name(params->scale), params->common.n_threads,
           params->common.n_threads == 1 ? "" : "s", efface_kernels_name());
    if (params->method == EFFACE_METHOD_TREE)
        printf("height %" PRIu32 ", width %" PRIu32 ", leaves %s, other nodes %s%s\n",
               params->tree.height, first->width, bench_method_name(params->tree.leaf_method),
               bench_method_name(params->tree.node_method),
               params->tree.weigh_centroids ? ", centroids weighed" : "");
    printf("%" PRIu32 " rows to forget, %" PRIu32 " in a request, order %s\n\n",
           options->common.deletions, options->common.batch, bench_order_name(options->order));
    printf("      train  retrain      a request, us                        ad-  re-    re-\n"
           "         ms       ms     mean   median      p99       max   justed paired fitted"
           "  speed-up  loss ratio\n");
}

/* A number in a column, or a dash. */
static void put_column(int width, int decimals, double value) {
    if (isfinite(value))
        printf(" %*.*f", width, decimals, value);
    else
        printf(" %*s", width, "-");
}

void online_print_line(const online_result *r) {
    printf("%2" PRIu32 " %8.1f", r->replicate, 1e3 * r->train_seconds);
    put_column(8, 1, 1e3 * r->baseline_seconds);
    printf(" %8.1f %8.1f %8.1f %9.1f %8" PRIu64 " %6" PRIu64 " %6" PRIu64, r->us_mean, r->us_median,
           r->us_p99, r->us_max, r->n_actions[EFFACE_ACTION_ADJUSTED],
           r->n_actions[EFFACE_ACTION_REPAIRED], r->n_actions[EFFACE_ACTION_REFITTED]);
    put_column(9, 1, online_speedup_amortized(r));
    put_column(11, 4, loss_ratio(r));
    puts(r->difference.identical ? "" : "  NOT VERIFIED");
}

typedef struct spread {
    double mean, deviation; /* that of the sample; 0 for a single replicate */
} spread;

static double result_baseline(const online_result *r) {
    return r->baseline_seconds;
}

static double result_median(const online_result *r) {
    return r->us_median;
}

static spread spread_of(const online_result *results, uint32_t n,
                        double (*value)(const online_result *)) {
    spread s = {0.0, 0.0};
    for (uint32_t i = 0; i < n; i++)
        s.mean += value(&results[i]) / n;
    for (uint32_t i = 0; i < n && n > 1; i++) {
        const double off = value(&results[i]) - s.mean;
        s.deviation += off * off / (n - 1);
    }
    s.deviation = sqrt(s.deviation);
    return s;
}

/* Whether all replicates have this mark after the same number of rows. Where an order runs out of
 * rows within a batch they may not. */
static bool is_common_mark(const online_result *results, uint32_t n, size_t i) {
    for (uint32_t j = 0; j < n; j++)
        if (i >= results[j].n_marks || results[j].marks[i].after != results[0].marks[i].after)
            return false;
    return true;
}

/* A measure at each mark, averaged over the replicates. */
static void print_marks(const char *name, const online_result *results, uint32_t n,
                        mark_field field) {
    if (!isfinite(mark_value(&results[0].marks[0], field)))
        return;
    const char *separator = " after";
    fputs(name, stdout);
    for (size_t i = 0; i < results[0].n_marks; i++) {
        if (!is_common_mark(results, n, i))
            continue;
        double mean = 0.0;
        for (uint32_t j = 0; j < n; j++)
            mean += mark_value(&results[j].marks[i], field) / n;
        printf("%s %.0f:", separator, results[0].marks[i].after);
        put_column(0, 4, mean);
        separator = ",";
    }
    putchar('\n');
}

/* How often requests of a replicate had a reason. */
static uint64_t times_of(const online_result *r, const char *why) {
    for (size_t i = 0; i < ONLINE_MAX_REASONS && r->reasons[i].why != NULL; i++)
        if (strcmp(r->reasons[i].why, why) == 0)
            return r->reasons[i].times;
    return 0;
}

/* Each reason where it came up first, with its number in all replicates. */
static void print_reasons(const online_result *results, uint32_t n) {
    const char *separator = "why more than adjusted: ";
    bool any = false;
    for (uint32_t j = 0; j < n; j++)
        for (size_t i = 0; i < ONLINE_MAX_REASONS && results[j].reasons[i].why != NULL; i++) {
            const char *const why = results[j].reasons[i].why;
            uint64_t times = 0, before = 0;
            for (uint32_t k = 0; k < n; k++) {
                times += times_of(&results[k], why);
                before += k < j ? times_of(&results[k], why) : 0;
            }
            if (before != 0)
                continue;
            printf("%s%s %" PRIu64, separator, why, times);
            separator = ", ";
            any = true;
        }
    if (any)
        putchar('\n');
}

void online_print_summary(const online_result *results, const online_options *options) {
    const uint32_t n = options->common.replicates;
    double visited = 0.0, bytes = 0.0;
    bool verified = true;
    for (uint32_t i = 0; i < n; i++) {
        visited += results[i].rows_visited_mean / n;
        bytes += results[i].state_bytes_per_row / n;
        verified = verified && results[i].difference.identical;
    }
    const spread loss = spread_of(results, n, loss_ratio);
    const spread median = spread_of(results, n, result_median);
    putchar('\n');
    print_reasons(results, n);
    if (options->params.method == EFFACE_METHOD_TREE) {
        uint64_t stopped = 0;
        for (uint32_t i = 0; i < n; i++)
            stopped += results[i].n_at_leaf;
        printf("stopped at the leaf: %" PRIu64 "\n", stopped);
    }
    printf("other rows visited by a request: %.1f; state beyond the data:", visited);
    put_column(0, 1, bytes);
    puts(" bytes a row");
    print_marks("silhouette", results, n, offsetof(online_mark, silhouette));
    print_marks("NMI", results, n, offsetof(online_mark, nmi));
    puts(verified ? "verified: every last state is, byte for byte, that of a fresh fit"
                  : "NOT VERIFIED");
    printf("mean (sd): median request %.1f us (%.1f)", median.mean, median.deviation);
    const double ratio =
        spread_of(results, n, result_baseline).mean / spread_of(results, n, amortized_seconds).mean;
    if (isfinite(ratio))
        printf(", speed-up %.1f (a ratio of means, training included)", ratio);
    if (isfinite(loss.mean))
        printf(", loss ratio %.4f (%.4f)", loss.mean, loss.deviation);
    putchar('\n');
}
