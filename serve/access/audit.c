/* The audit log (audit.h). */
#include "access/audit.h"
#include "api/values.h"

#include "http/server.h"
#include "http/service_log.h"
#include "rooms/rooms.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_KEPT (1 << 20) /* bytes that could not be written yet */
#define MAX_SUMS 256
#define SUM_SECONDS 60.0

typedef struct audit_sum {
    char name[SV_TOKEN_NAME_BYTES];
    const sv_route *route;
    int status;
    bool has_line; /* the first of them has a line of its own, and is not counted */
    uint64_t count;
} audit_sum;

struct sv_audit {
    pthread_mutex_t lock;
    char *path;
    int file;
    int trouble; /* errno of the last failure; 0 if all is written */
    char *kept;  /* bytes that follow what is written */
    size_t n_kept;
    uint64_t n_lost; /* lines for which there was no more room */
    double summed;
    size_t n_sums;
    audit_sum sums[MAX_SUMS];
};

/* ---------------------------------------------------------------- the file */

static int open_file(const char *path) {
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
    struct stat about;
    if (file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
        (about.st_mode & 077) != 0)
        (void)fchmod(file, 0600);
    return file;
}

/* Writes what is kept. After a failure the file is opened anew: a disk that failed may have been
 * repaired and mounted again, and what was open before is then of no use. */
static void write_kept(sv_audit *a) {
    if (a->trouble != 0 && a->file >= 0) {
        (void)close(a->file);
        a->file = -1;
    }
    while (a->n_kept != 0) {
        if (a->file < 0)
            a->file = open_file(a->path);
        const ssize_t done = a->file >= 0 ? write(a->file, a->kept, a->n_kept) : -1;
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            a->trouble = done == 0 ? EIO : errno;
            return;
        }
        a->n_kept -= (size_t)done;
        memmove(a->kept, a->kept + done, a->n_kept);
    }
}

/* Adds bytes to what is kept, and writes it unless that has just failed. */
static void put_line(sv_audit *a, const char *bytes, size_t n) {
    if (n > MAX_KEPT - a->n_kept) {
        a->n_lost++;
        return;
    }
    memcpy(a->kept + a->n_kept, bytes, n);
    a->n_kept += n;
    if (a->trouble == 0)
        write_kept(a);
}

static void put_lost(sv_audit *a) {
    char now[32], line[160];
    sv_time_text(now);
    const int n =
        snprintf(line, sizeof line, "{\"time\":\"%s\",\"action\":\"audit\",\"lines_lost\":%llu}\n",
                 now, (unsigned long long)a->n_lost);
    a->n_lost = 0;
    put_line(a, line, (size_t)n);
}

/* Tries to write what could not be written. */
static void put_kept(sv_audit *a) {
    write_kept(a);
    if (a->n_kept != 0)
        return;
    if (a->trouble != 0)
        sv_log_note("the audit log is written again");
    a->trouble = 0;
    if (a->n_lost != 0)
        put_lost(a);
}

bool sv_audit_open(const char *path, sv_audit **out, sv_why *why) {
    sv_audit *const a = calloc(1, sizeof *a);
    char *const copy = strdup(path), *const kept = malloc(MAX_KEPT);
    const int file = a != NULL && copy != NULL && kept != NULL ? open_file(path) : -1;
    if (file < 0) {
        (void)sv_fail(why, "cannot write the audit log %s: %s", path, strerror(errno));
        free(a);
        free(copy);
        free(kept);
        return false;
    }
    (void)pthread_mutex_init(&a->lock, NULL);
    a->path = copy;
    a->kept = kept;
    a->file = file;
    a->summed = sv_now();
    *out = a;
    return true;
}

int sv_audit_trouble(sv_audit *a) {
    pthread_mutex_lock(&a->lock);
    if (a->n_kept != 0)
        put_kept(a);
    const int trouble = a->trouble;
    pthread_mutex_unlock(&a->lock);
    return trouble;
}

void sv_audit_reopen(sv_audit *a) {
    pthread_mutex_lock(&a->lock);
    const int file = open_file(a->path);
    if (file >= 0) {
        if (a->file >= 0)
            (void)close(a->file);
        a->file = file;
    } else {
        sv_log_warn("the audit log cannot be opened again; lines go to the old file");
    }
    pthread_mutex_unlock(&a->lock);
}

/* ---------------------------------------------------------------- lines */

bool sv_audit_needs_line(const sv_route *route) {
    /* Everything that changes something or shows data of people; what is left shows models and
     * numbers. */
    return !sv_route_is(
        route, "health openapi me metrics stores store model table picture jobs job predict "
               "page page_file opendsr_discovery opendsr_certificate");
}

static char *audit_line(const sv_request *request) {
    char now[32];
    sv_time_text(now);
    json_t *const json =
        json_pack("{s:s,s:s,s:s,s:i}", "time", now, "token", request->caller.name, "action",
                  request->route->action, "status", request->reply.status);
    if (request->room != NULL)
        sv_json_set(json, "store", json_string(sv_room_name(request->room)));
    if (request->reply.receipt != 0)
        sv_json_set(json, "receipt", json_integer((json_int_t)request->reply.receipt));
    char *const line = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return line;
}

static void put_sums(sv_audit *a) {
    char now[32], line[300];
    sv_time_text(now);
    for (size_t i = 0; i < a->n_sums; i++) {
        const audit_sum *const s = &a->sums[i];
        if (s->count == 0)
            continue;
        const int n = snprintf(line, sizeof line,
                               "{\"time\":\"%s\",\"token\":\"%s\",\"action\":\"%s\",\"status\":%d,"
                               "\"count\":%llu}\n",
                               now, s->name, s->route != NULL ? s->route->action : "none",
                               s->status, (unsigned long long)s->count);
        put_line(a, line, (size_t)n);
    }
    a->n_sums = 0;
    a->summed = sv_now();
}

/* Of requests that are alike; made if it is the first of them. */
static audit_sum *audit_sum_of(sv_audit *a, const sv_request *request) {
    size_t i = 0;
    while (i < a->n_sums &&
           (a->sums[i].route != request->route || a->sums[i].status != request->reply.status ||
            strcmp(a->sums[i].name, request->caller.name) != 0))
        i++;
    if (i == MAX_SUMS) {
        put_sums(a);
        i = 0;
    }
    if (i == a->n_sums) {
        a->sums[i] = (audit_sum){.route = request->route, .status = request->reply.status};
        memcpy(a->sums[i].name, request->caller.name, sizeof a->sums[i].name);
        a->n_sums++;
    }
    return &a->sums[i];
}

/* Whether a request gets a line; otherwise it is counted. Of those that lack the role, the first of
 * a minute does: else a token that may do nothing could fill the disk. */
static bool takes_line(sv_audit *a, const sv_request *request, bool wants) {
    const bool refused = request->reply.status == 403;
    if (wants && !refused)
        return true;
    audit_sum *const sum = audit_sum_of(a, request);
    const bool takes = wants && !sum->has_line;
    sum->has_line |= takes;
    sum->count += !takes;
    return takes;
}

void sv_audit_request(sv_audit *a, const sv_request *request) {
    const int status = request->reply.status;
    const bool known = request->caller.name[0] != 0 && status != 401 && status != 429;
    const bool own =
        request->route != NULL && known && (sv_audit_needs_line(request->route) || status == 403);
    char *const line = own ? audit_line(request) : NULL;
    pthread_mutex_lock(&a->lock);
    if (takes_line(a, request, line != NULL)) {
        const size_t n = strlen(line);
        const int before = a->trouble;
        line[n] = '\n'; /* in the place of the 0 */
        if (a->n_kept != 0)
            put_kept(a);
        put_line(a, line, n + 1);
        if (before == 0 && a->trouble != 0)
            sv_log_warn("the audit log cannot be written; requests that need a line in it are "
                        "refused until it can");
    }
    pthread_mutex_unlock(&a->lock);
    free(line);
}

void sv_audit_tick(sv_audit *a) {
    pthread_mutex_lock(&a->lock);
    if (a->n_kept != 0)
        put_kept(a);
    if (sv_now() - a->summed >= SUM_SECONDS)
        put_sums(a);
    pthread_mutex_unlock(&a->lock);
}

void sv_audit_close(sv_audit *a) {
    if (a == NULL)
        return;
    put_kept(a);
    put_sums(a);
    if (a->file >= 0)
        (void)close(a->file);
    (void)pthread_mutex_destroy(&a->lock);
    free(a->kept);
    free(a->path);
    free(a);
}
