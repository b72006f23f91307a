/* The log of the service (service_log.h). */
#include "http/service_log.h"

#include "http/server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_BYTES (256 * 1024) /* of lines that wait */
#define PIECE_BYTES 4096       /* a pipe that can be written takes that many without waiting */
#define MAX_SUMS 128
#define SUM_SECONDS 60.0

typedef struct log_sum {
    const sv_route *route; /* NULL: there was none */
    int status;
    uint64_t count;
    double seconds, longest;
} log_sum;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t added;
    pthread_t thread;
    atomic_bool ends;
    bool runs, all;
    char *waiting, *written; /* each of MAX_BYTES */
    size_t n_waiting;
    uint64_t n_lost;
    double summed; /* when sums were last written */
    size_t n_sums;
    log_sum sums[MAX_SUMS];
} l = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sv_time_text(char text[32]) {
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    const size_t n = strftime(text, 32, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text + n, 32 - n, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

/* ---------------------------------------------------------------- writing */

/* Writes lines. Nobody waits for this thread, which waits for whoever reads them; but at the end of
 * the service only for a second. */
static void write_out(const char *bytes, size_t n) {
    double ended = 0;
    while (n != 0) {
        struct pollfd poller = {.fd = STDERR_FILENO, .events = POLLOUT};
        const int ready = poll(&poller, 1, 100);
        if (ready > 0 && (poller.revents & POLLOUT) == 0)
            return; /* closed */
        if (ready > 0) {
            const ssize_t done = write(STDERR_FILENO, bytes, n < PIECE_BYTES ? n : PIECE_BYTES);
            if (done < 0 && errno != EINTR && errno != EAGAIN)
                return;
            bytes += done > 0 ? done : 0;
            n -= done > 0 ? (size_t)done : 0;
            continue;
        }
        if (atomic_load(&l.ends) && ended == 0)
            ended = sv_now();
        if (ended != 0 && sv_now() - ended > 1)
            return;
    }
}

/* The lock is held. */
static void add_log_line(const char *line, size_t n) {
    if (n > MAX_BYTES - l.n_waiting) {
        l.n_lost++;
        return;
    }
    memcpy(l.waiting + l.n_waiting, line, n);
    l.n_waiting += n;
    pthread_cond_signal(&l.added);
}

static void add_sums(void) {
    char now[32], line[512];
    sv_time_text(now);
    for (size_t i = 0; i < l.n_sums; i++) {
        const log_sum *const s = &l.sums[i];
        const int n = snprintf(
            line, sizeof line,
            "{\"time\":\"%s\",\"event\":\"requests\",\"action\":\"%s\",\"status\":%d,"
            "\"count\":%llu,\"mean_milliseconds\":%.3f,\"longest_milliseconds\":%.3f}\n",
            now, s->route != NULL ? s->route->action : "none", s->status,
            (unsigned long long)s->count, 1e3 * s->seconds / (double)s->count, 1e3 * s->longest);
        add_log_line(line, (size_t)n);
    }
    l.n_sums = 0;
    l.summed = sv_now();
}

static void add_lost(void) {
    char now[32], line[160];
    const uint64_t lost = l.n_lost;
    l.n_lost = 0;
    sv_time_text(now);
    const int n = snprintf(line, sizeof line,
                           "{\"time\":\"%s\",\"event\":\"warning\",\"message\":\"%llu lines of the "
                           "log were left out\"}\n",
                           now, (unsigned long long)lost);
    add_log_line(line, (size_t)n);
}

static void wait_a_second(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    (void)pthread_cond_timedwait(&l.added, &l.lock, &until);
}

static void *write_log_lines(void *context) {
    (void)context;
    pthread_mutex_lock(&l.lock);
    for (;;) {
        if (l.ends || sv_now() - l.summed >= SUM_SECONDS)
            add_sums();
        if (l.n_waiting == 0 && l.ends)
            break;
        if (l.n_waiting == 0) {
            wait_a_second();
            continue;
        }
        char *const bytes = l.waiting;
        const size_t n = l.n_waiting;
        l.waiting = l.written;
        l.written = bytes;
        l.n_waiting = 0;
        if (l.n_lost != 0)
            add_lost();
        pthread_mutex_unlock(&l.lock);
        write_out(bytes, n);
        pthread_mutex_lock(&l.lock);
    }
    pthread_mutex_unlock(&l.lock);
    return NULL;
}

bool sv_log_start(bool all) {
    l.all = all;
    l.ends = false;
    l.summed = sv_now();
    l.waiting = malloc(MAX_BYTES);
    l.written = malloc(MAX_BYTES);
    pthread_cond_init(&l.added, NULL);
    l.runs = l.waiting != NULL && l.written != NULL &&
             pthread_create(&l.thread, NULL, write_log_lines, NULL) == 0;
    return l.runs;
}

void sv_log_stop(void) {
    if (l.runs) {
        pthread_mutex_lock(&l.lock);
        l.ends = true;
        pthread_cond_signal(&l.added);
        pthread_mutex_unlock(&l.lock);
        pthread_join(l.thread, NULL);
        l.runs = false;
    }
    free(l.waiting);
    free(l.written);
    l.waiting = l.written = NULL;
}

/* ---------------------------------------------------------------- requests */

/* Requests that may come by thousands a second, from programs or from strangers. */
static bool comes_often(const sv_request *request) {
    const int status = request->reply.status;
    return request->route == NULL || status == 401 || status == 421 || status == 429 ||
           sv_route_is(request->route, "health predict metrics page page_file");
}

static void add_to_log_sums(const sv_request *request, double seconds) {
    size_t i = 0;
    while (i < l.n_sums &&
           (l.sums[i].route != request->route || l.sums[i].status != request->reply.status))
        i++;
    if (i == MAX_SUMS)
        return;
    if (i == l.n_sums)
        l.sums[l.n_sums++] = (log_sum){.route = request->route, .status = request->reply.status};
    log_sum *const s = &l.sums[i];
    s->count++;
    s->seconds += seconds;
    if (seconds > s->longest)
        s->longest = seconds;
}

/* Of a length in bytes: exactly, it would tell names of different lengths apart. */
static size_t round_up(size_t n_bytes) {
    return (n_bytes + 1023) / 1024;
}

void sv_log_request(const sv_request *request) {
    const double seconds = sv_now() - request->begin;
    if (!l.runs)
        return;
    if (!l.all && comes_often(request)) {
        pthread_mutex_lock(&l.lock);
        add_to_log_sums(request, seconds);
        pthread_mutex_unlock(&l.lock);
        return;
    }
    char now[32], line[512];
    sv_time_text(now);
    const int n = snprintf(line, sizeof line,
                           "{\"time\":\"%s\",\"event\":\"request\",\"action\":\"%s\","
                           "\"status\":%d,\"milliseconds\":%.3f,\"kilobytes_in\":%zu,"
                           "\"kilobytes_out\":%zu}\n",
                           now, request->route != NULL ? request->route->action : "none",
                           request->reply.status, 1e3 * seconds, round_up(request->n_body),
                           round_up(request->reply.n_body));
    pthread_mutex_lock(&l.lock);
    add_log_line(line, (size_t)n);
    pthread_mutex_unlock(&l.lock);
}

static void log_event(const char *event, const char *message) {
    char now[32];
    sv_time_text(now);
    json_t *text = json_string(message);
    if (text == NULL)
        text = json_string("a message that is no UTF-8");
    json_t *const json = json_pack("{s:s,s:s,s:o}", "time", now, "event", event, "message", text);
    char *const line = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (line == NULL)
        return;
    const size_t n = strlen(line);
    line[n] = '\n'; /* in the place of the 0: nobody reads it as a text below */
    if (l.runs) {
        pthread_mutex_lock(&l.lock);
        add_log_line(line, n + 1);
        pthread_mutex_unlock(&l.lock);
    } else {
        write_out(line, n + 1);
    }
    free(line);
}

void sv_log_warn(const char *message) {
    log_event("warning", message);
}

void sv_log_note(const char *message) {
    log_event("note", message);
}
