/*
 * GET /v1/metrics: what was counted, and how large stores and the process are now, in the text
 * format of Prometheus, version 0.0.4. A counter may be read while another thread adds to it, so
 * sums and counts of one histogram may be a request apart.
 */
#include "metrics/counted.h"
#include "rooms/rooms.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void print_text(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Failures are found once, at the end (ferror). */
static void print_text(FILE *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vfprintf(out, format, arguments);
    va_end(arguments);
}

static void put_head(FILE *out, const char *name, const char *kind, const char *help) {
    print_text(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void put_value(FILE *out, const char *text) {
    for (; *text != 0; text++)
        if (*text == '\n')
            (void)fputs("\\n", out);
        else
            print_text(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* name{label="value"} or, with a label NULL, name. */
static void put_name(FILE *out, const char *name, const char *label, const char *value) {
    print_text(out, "%s", name);
    if (label == NULL)
        return;
    print_text(out, "{%s=\"", label);
    put_value(out, value);
    print_text(out, "\"}");
}

static void put_whole(FILE *out, const char *name, const char *label, const char *value,
                      uint64_t number) {
    put_name(out, name, label, value);
    print_text(out, " %" PRIu64 "\n", number);
}

static void put_real(FILE *out, const char *name, const char *label, const char *value,
                     double number) {
    put_name(out, name, label, value);
    print_text(out, " %.9g\n", number);
}

/* A number that has no label. */
static void put_one(FILE *out, const char *name, const char *kind, const char *help,
                    uint64_t number) {
    put_head(out, name, kind, help);
    put_whole(out, name, NULL, NULL, number);
}

static uint64_t load_count(const atomic_uint_fast64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void put_bucket(FILE *out, const char *name, const char *label, const char *value,
                       const char *bound, uint64_t count) {
    print_text(out, "%s_bucket{%s=\"", name, label);
    put_value(out, value);
    print_text(out, "\",le=\"%s\"} %" PRIu64 "\n", bound, count);
}

static void put_histogram(FILE *out, const char *name, const char *label, const char *value,
                          const sv_histogram *h, const double *bounds) {
    uint64_t count = 0;
    char text[64];
    for (size_t i = 0; bounds[i] != 0; i++) {
        count += load_count(&h->counts[i]);
        (void)snprintf(text, sizeof text, "%g", bounds[i]);
        put_bucket(out, name, label, value, text, count);
    }
    count += load_count(&h->counts[SV_MAX_BOUNDS]);
    put_bucket(out, name, label, value, "+Inf", count);
    (void)snprintf(text, sizeof text, "%s_sum", name);
    put_real(out, text, label, value, 1e-9 * (double)load_count(&h->sum));
    (void)snprintf(text, sizeof text, "%s_count", name);
    put_whole(out, text, label, value, count);
}

/* ---------------------------------------------------------------- requests */

static void put_requests(FILE *out, const sv_metrics *m) {
    put_head(out, "efface_requests_total", "counter", "Requests that were answered.");
    for (size_t i = 0; i < m->n_actions; i++)
        for (size_t k = 0; k < SV_N_CODES; k++) {
            const uint64_t n = load_count(&m->actions[i].codes[k]);
            if (n == 0)
                continue;
            print_text(out, "efface_requests_total{action=\"%s\",code=\"", m->actions[i].name);
            if (sv_codes[k] != 0)
                print_text(out, "%d\"} %" PRIu64 "\n", sv_codes[k], n);
            else
                print_text(out, "other\"} %" PRIu64 "\n", n);
        }
    put_head(out, "efface_request_seconds", "histogram",
             "Time from the head of a request to its reply.");
    for (size_t i = 0; i < m->n_actions; i++)
        put_histogram(out, "efface_request_seconds", "action", m->actions[i].name,
                      &m->actions[i].seconds, sv_second_bounds);
    static const char *const why[SV_N_REFUSED] = {"token", "role", "host", "rate"};
    put_head(out, "efface_refused_total", "counter",
             "Requests that were refused for their token, role, Host header or rate.");
    for (size_t i = 0; i < SV_N_REFUSED; i++)
        put_whole(out, "efface_refused_total", "why", why[i], load_count(&m->refused[i]));
    const int64_t open = atomic_load_explicit(&m->connections, memory_order_relaxed);
    put_one(out, "efface_connections", "gauge", "Connections that are open.",
            open > 0 ? (uint64_t)open : 0);
    put_one(out, "efface_connections_total", "counter", "Connections that were opened.",
            load_count(&m->all_connections));
    static const char *const ends[SV_N_JOBS] = {"done", "failed", "cancelled"};
    put_head(out, "efface_jobs_total", "counter", "Jobs that have ended, by their end.");
    for (size_t i = 0; i < SV_N_JOBS; i++)
        put_whole(out, "efface_jobs_total", "state", ends[i], load_count(&m->jobs[i]));
}

/* ---------------------------------------------------------------- changes */

static void put_repairs(FILE *out, sv_metrics *m) {
    pthread_mutex_lock(&m->lock);
    for (int visited = 0; visited < 2; visited++) {
        const char *const name =
            visited ? "efface_repair_rows_visited_total" : "efface_repairs_total";
        put_head(out, name, "counter",
                 visited ? "Rows that models looked at to follow changes."
                         : "What changes were for models, by kind of model, action and reason.");
        for (size_t i = 0; i < m->n_repairs; i++) {
            const sv_counted_repair *const r = &m->repairs[i];
            print_text(out, "%s{kind=\"%s\",action=\"%s\",reason=\"", name, r->kind,
                       efface_action_name(r->action));
            put_value(out, r->reason);
            print_text(out, "\"} %" PRIu64 "\n", visited ? r->rows_visited : r->times);
        }
    }
    pthread_mutex_unlock(&m->lock);
}

/* What is counted of each store: counters, then histograms. */
static const struct {
    const char *name, *help;
    size_t offset; /* in sv_counted_store */
    const double *bounds;
} of_stores[] = {
    {"efface_rows_forgotten_total", "Rows that were forgotten.",
     offsetof(sv_counted_store, forgotten), NULL},
    {"efface_rows_learned_total", "Rows that were learned.", offsetof(sv_counted_store, learned),
     NULL},
    {"efface_rows_updated_total", "Rows that got other values.",
     offsetof(sv_counted_store, updated), NULL},
    {"efface_snapshots_total", "Snapshots of models that were made for predictions.",
     offsetof(sv_counted_store, snapshots), NULL},
    {"efface_reloads_total", "Times that another process had changed the store.",
     offsetof(sv_counted_store, reloads), NULL},
    {"efface_group_requests", "Requests that were done in one transaction.",
     offsetof(sv_counted_store, group_sizes), sv_size_bounds},
    {"efface_commit_seconds", "Time of a transaction, the sync to the disk included.",
     offsetof(sv_counted_store, commit_seconds), sv_second_bounds},
    {"efface_queue_seconds", "Time that a change waited for its transaction.",
     offsetof(sv_counted_store, waited_seconds), sv_second_bounds},
};

static void put_changes(FILE *out, sv_metrics *m, const sv_rooms *rooms) {
    for (size_t k = 0; k < sizeof of_stores / sizeof of_stores[0]; k++) {
        const char *const name = of_stores[k].name;
        const double *const bounds = of_stores[k].bounds;
        put_head(out, name, bounds == NULL ? "counter" : "histogram", of_stores[k].help);
        for (size_t i = 0; i < m->n_stores; i++) {
            const void *const counted = (const char *)&m->stores[i] + of_stores[k].offset;
            const char *const store = sv_room_name(sv_rooms_at(rooms, i));
            if (bounds == NULL)
                put_whole(out, name, "store", store, load_count(counted));
            else
                put_histogram(out, name, "store", store, counted, bounds);
        }
    }
    put_repairs(out, m);
    put_head(out, "efface_snapshot_seconds_total", "counter", "Time that making snapshots took.");
    for (size_t i = 0; i < m->n_stores; i++)
        put_real(out, "efface_snapshot_seconds_total", "store", sv_room_name(sv_rooms_at(rooms, i)),
                 1e-9 * (double)load_count(&m->stores[i].snapshot_nanoseconds));
}

/* ---------------------------------------------------------------- stores, as they are now */

static const char *const size_names[][2] = {{"efface_store_rows", "Rows."},
                                            {"efface_store_owners", "Different owners."},
                                            {"efface_store_models", "Models."},
                                            {"efface_store_receipts", "Receipts."},
                                            {"efface_store_file_bytes", "Size of the file."}};
#define N_SIZES (sizeof size_names / sizeof size_names[0])

typedef struct seen {
    bool up;
    uint64_t sizes[N_SIZES];
} seen;

static void look_at_store(const sv_room *room, seen *out) {
    efface_store *store = NULL;
    efface_store_info info;
    efface_error error;
    if (sv_room_open(room, &store, &info, &error) == EFFACE_OK)
        *out = (seen){
            true, {info.n_rows, info.n_owners, info.n_models, info.n_receipts, info.file_bytes}};
    efface_store_close(store);
}

/* False if there is no memory. */
static bool put_stores(FILE *out, const sv_rooms *rooms) {
    const size_t n = sv_rooms_count(rooms);
    seen *const all = calloc(n + 1, sizeof *all);
    if (all == NULL)
        return false;
    put_head(out, "efface_store_up", "gauge", "Whether the store could be read just now.");
    for (size_t i = 0; i < n; i++) {
        look_at_store(sv_rooms_at(rooms, i), &all[i]);
        put_whole(out, "efface_store_up", "store", sv_room_name(sv_rooms_at(rooms, i)), all[i].up);
    }
    for (size_t k = 0; k < N_SIZES; k++) {
        put_head(out, size_names[k][0], "gauge", size_names[k][1]);
        for (size_t i = 0; i < n; i++)
            if (all[i].up)
                put_whole(out, size_names[k][0], "store", sv_room_name(sv_rooms_at(rooms, i)),
                          all[i].sizes[k]);
    }
    free(all);
    return true;
}

/* ---------------------------------------------------------------- the process */

static void put_memory(FILE *out) {
    FILE *const file = fopen("/proc/self/statm", "r");
    uint64_t all = 0, resident = 0;
    const bool known = file != NULL && fscanf(file, "%" SCNu64 " %" SCNu64, &all, &resident) == 2;
    if (file != NULL)
        (void)fclose(file);
    if (!known)
        return;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    put_one(out, "process_resident_memory_bytes", "gauge", "Memory in use.", resident * page);
    put_one(out, "process_virtual_memory_bytes", "gauge", "Addresses in use.", all * page);
}

static void put_files(FILE *out) {
    DIR *const folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return;
    uint64_t n = 0;
    while (readdir(folder) != NULL)
        n++;
    (void)closedir(folder);
    put_one(out, "process_open_fds", "gauge", "Files and connections that are open.",
            n - 3); /* ".", ".." and the folder itself */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    put_one(out, "process_max_fds", "gauge", "How many may be.", (uint64_t)limit.rlim_cur);
}

static void put_process(FILE *out, const sv_service *service) {
    const char *const kernels = efface_kernels_name();
    struct rusage used;
    put_head(out, "efface_build_info", "gauge", "The version, and the kernels in use.");
    print_text(out, "efface_build_info{version=\"%s\",kernels=\"%s\"} 1\n", efface_version(),
               kernels != NULL ? kernels : "");
    put_head(out, "process_start_time_seconds", "gauge", "When the process started, since 1970.");
    print_text(out, "process_start_time_seconds %.3f\n",
               (double)time(NULL) - (sv_now() - service->started));
    if (getrusage(RUSAGE_SELF, &used) == 0) {
        put_head(out, "process_cpu_seconds_total", "counter", "Time of processors.");
        put_real(out, "process_cpu_seconds_total", NULL, NULL,
                 (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                     1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
    }
    put_memory(out);
    put_files(out);
}

sv_when sv_get_metrics(sv_request *request) {
    const sv_service *const service = request->service;
    char *text = NULL;
    size_t n_text = 0;
    FILE *const out = open_memstream(&text, &n_text);
    bool ok = out != NULL;
    if (ok) {
        put_process(out, service);
        put_requests(out, service->metrics);
        put_changes(out, service->metrics, service->rooms);
        ok = put_stores(out, service->rooms) && ferror(out) == 0;
        ok = fclose(out) == 0 && ok;
    }
    if (ok)
        return sv_reply_text(request, 200, "text/plain; version=0.0.4; charset=utf-8", text,
                             n_text);
    free(text);
    sv_reply_header(request, "Retry-After", "5");
    return sv_refuse_memory(request);
}
