/* Jobs, and the threads that run them (jobs.h). */
#include "rooms/jobs.h"

#include "access/own_files.h"
#include "access/times.h"
#include "metrics/metrics.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define N_RUNNING 2
#define MAX_ENDED 1000
#define MAX_WAITING 1000
#define MAX_FORGETTING 16 /* each has a file of names */
#define NICE 10           /* lower than requests */

struct sv_jobs {
    sv_service *service;
    char *path;    /* of the file */
    int lock_file; /* sv_job_file_lock */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a job was added, or `ends` was set */
    bool ends;
    sv_job **jobs; /* the oldest first; each stays where it is until it is taken out */
    size_t n_jobs, capacity;
    pthread_t threads[N_RUNNING];
    size_t n_threads;
};

static bool has_ended(const sv_job *job) {
    return job->state != SV_JOB_WAITS && job->state != SV_JOB_RUNS;
}

/* ---------------------------------------------------------------- the list, under the lock */

static sv_job *find_job(const sv_jobs *jobs, const char *id) {
    for (size_t i = 0; i < jobs->n_jobs; i++)
        if (strcmp(jobs->jobs[i]->id, id) == 0)
            return jobs->jobs[i];
    return NULL;
}

static bool append_job(sv_jobs *jobs, const sv_job *job) {
    if (jobs->n_jobs == jobs->capacity) {
        const size_t capacity = 2 * jobs->capacity + 16;
        sv_job **const more = realloc(jobs->jobs, capacity * sizeof *more);
        if (more == NULL)
            return false;
        jobs->jobs = more;
        jobs->capacity = capacity;
    }
    sv_job *const copy = malloc(sizeof *copy);
    if (copy == NULL)
        return false;
    *copy = *job;
    jobs->jobs[jobs->n_jobs++] = copy;
    return true;
}

static void take_job_out(sv_jobs *jobs, size_t place) {
    free(jobs->jobs[place]);
    jobs->n_jobs--;
    memmove(&jobs->jobs[place], &jobs->jobs[place + 1],
            (jobs->n_jobs - place) * sizeof jobs->jobs[0]);
}

/* Takes out the oldest jobs that have ended, if there are too many, of a token or of all. */
static void forget_old(sv_jobs *jobs, const char *who) {
    size_t n_ended = 0, n_own = 0;
    for (size_t i = jobs->n_jobs; i-- > 0;) {
        if (!has_ended(jobs->jobs[i]))
            continue;
        const bool own = strcmp(jobs->jobs[i]->who, who) == 0;
        if (n_ended == MAX_ENDED || (own && n_own == MAX_ENDED / 4)) {
            take_job_out(jobs, i);
            continue;
        }
        n_ended++;
        n_own += own;
    }
}

static json_t *list_jobs(const sv_jobs *jobs, bool newest_first) {
    json_t *const array = json_array();
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        const sv_job *const job = jobs->jobs[newest_first ? jobs->n_jobs - 1 - i : i];
        json_t *const json = sv_job_json(job);
        if (!newest_first) /* for the file */
            (void)json_object_set_new(json, "token", json_string(job->who));
        if (json_array_append_new(array, json) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static bool write_file(const sv_jobs *jobs) {
    json_t *const array = list_jobs(jobs, false);
    const bool written = array != NULL && sv_job_file_write(jobs->path, array);
    json_decref(array);
    return written;
}

/* ---------------------------------------------------------------- running */

/* The job that a thread runs. */
typedef struct running {
    sv_jobs *jobs;
    sv_job *job;
} running;

static int follow_job(void *context, double part) {
    const running *const r = context;
    pthread_mutex_lock(&r->jobs->lock);
    if (part > r->job->part)
        r->job->part = part;
    const bool stop = r->job->stop || r->jobs->ends;
    pthread_mutex_unlock(&r->jobs->lock);
    return stop;
}

static bool runs_one(const sv_jobs *jobs, const char *who) {
    bool runs = false;
    for (size_t i = 0; i < jobs->n_jobs; i++)
        runs |= jobs->jobs[i]->state == SV_JOB_RUNS && strcmp(jobs->jobs[i]->who, who) == 0;
    return runs;
}

/* The oldest that waits; if there are any, of those whose token has none that runs. */
static sv_job *find_next(const sv_jobs *jobs) {
    sv_job *next = NULL;
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        sv_job *const job = jobs->jobs[i];
        if (job->state != SV_JOB_WAITS)
            continue;
        if (!runs_one(jobs, job->who))
            return job;
        next = next != NULL ? next : job;
    }
    return next;
}

/* Waits for a job and takes it; NULL when the service ends. `copy` gets what it is: the job itself
 * is looked at under the lock only, for somebody may cancel it. */
static sv_job *take_job(sv_jobs *jobs, sv_job *copy) {
    sv_job *found = NULL;
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->ends && found == NULL) {
        found = find_next(jobs);
        if (found == NULL)
            pthread_cond_wait(&jobs->changed, &jobs->lock);
    }
    if (jobs->ends)
        found = NULL;
    if (found != NULL) {
        found->state = SV_JOB_RUNS;
        sv_time_now(found->started);
        *copy = *found;
    }
    pthread_mutex_unlock(&jobs->lock);
    return found;
}

static char *names_path(const sv_jobs *jobs, const char *id) {
    char *const path = malloc(strlen(jobs->path) + SV_JOB_ID_BYTES + 1);
    if (path != NULL)
        (void)sprintf(path, "%s.%s", jobs->path, id);
    return path;
}

static void wipe_names(const sv_jobs *jobs, const sv_job *job) {
    char *const path = job->kind == SV_JOB_FORGET ? names_path(jobs, job->id) : NULL;
    if (path != NULL)
        sv_job_names_wipe(path);
    free(path);
}

/* What a slice did: if the process dies, at most one is counted as missing. */
static void put_down_slice(sv_jobs *jobs, sv_job *job, const sv_job *result) {
    pthread_mutex_lock(&jobs->lock);
    job->n_names = result->n_names;
    job->n_forgotten = result->n_forgotten;
    job->n_missing = result->n_missing;
    job->first_receipt = result->first_receipt;
    job->last_receipt = result->last_receipt;
    (void)write_file(jobs);
    pthread_mutex_unlock(&jobs->lock);
}

/* False if it was stopped. */
static bool forget_names(running *r, sv_job *result) {
    sv_job_names names = {.all = NULL};
    char *const path = names_path(r->jobs, result->id);
    bool ok = path != NULL && sv_job_names_read(path, &names), stopped = false;
    const uint64_t n = names.n_ids + names.n_owners;
    if (!ok) {
        (void)snprintf(result->code, sizeof result->code, "unavailable");
        (void)snprintf(result->message, sizeof result->message,
                       "the file of those who are to be forgotten cannot be read");
    }
    while (ok && result->n_names < n) {
        stopped = follow_job(r, (double)result->n_names / (double)n) != 0;
        if (stopped)
            break;
        ok =
            sv_forget_slice(r->jobs->service->rooms, result, &names) ||
            strcmp(result->code, "busy") == 0; /* another process writes: the slice is next again */
        put_down_slice(r->jobs, r->job, result);
    }
    result->state = ok ? SV_JOB_DONE : SV_JOB_FAILED;
    sv_job_names_free(&names);
    free(path);
    return !stopped;
}

/* Writes down what became of a job. One that was stopped because the service ends waits again. The
 * file is written as well as it can be: a job that is missing there only runs once more. */
static void put_down(sv_jobs *jobs, sv_job *job, const sv_job *result, bool finished) {
    pthread_mutex_lock(&jobs->lock);
    const bool stop = job->stop;
    if (finished) {
        *job = *result;
        job->part = job->state == SV_JOB_DONE ? 1.0 : job->part;
    } else {
        job->state = stop ? SV_JOB_CANCELLED : SV_JOB_WAITS;
    }
    if (has_ended(job)) {
        sv_time_now(job->ended);
        sv_metrics_job(jobs->service->metrics, job->state == SV_JOB_DONE     ? "done"
                                               : job->state == SV_JOB_FAILED ? "failed"
                                                                             : "cancelled");
        if (write_file(jobs)) /* else the names stay, and the job runs once more */
            wipe_names(jobs, job);
        forget_old(jobs, result->who);
    }
    pthread_mutex_unlock(&jobs->lock);
}

static void *run_jobs(void *context) {
    sv_jobs *const jobs = context;
    (void)setpriority(PRIO_PROCESS, 0, NICE); /* of this thread, and of those that a fit makes */
    for (;;) {
        sv_job result;
        sv_job *const job = take_job(jobs, &result);
        if (job == NULL)
            return NULL;
        running r = {jobs, job};
        const bool finished = result.kind == SV_JOB_FORGET
                                  ? forget_names(&r, &result)
                                  : sv_check_model(jobs->service->rooms, &result, follow_job, &r);
        put_down(jobs, job, &result, finished);
    }
}

/* ---------------------------------------------------------------- from outside */

static void draw_id(sv_job *job) {
    unsigned char bytes[(SV_JOB_ID_BYTES - 1) / 2];
    randombytes_buf(bytes, sizeof bytes);
    (void)sodium_bin2hex(job->id, sizeof job->id, bytes, sizeof bytes);
}

sv_job_added sv_jobs_add(sv_jobs *jobs, const char *who, const char *store, const char *model,
                         char id[SV_JOB_ID_BYTES]) {
    sv_job job = {.state = SV_JOB_WAITS, .part = -1.0};
    sv_job_added added = SV_JOB_ADDED;
    size_t n_waiting = 0, n_own = 0;
    const sv_job *same = NULL;
    if (strlen(store) >= sizeof job.store || strlen(model) >= sizeof job.model)
        return SV_JOB_TOO_MANY;
    draw_id(&job);
    strncpy(job.who, who, sizeof job.who - 1);
    memcpy(job.store, store, strlen(store));
    memcpy(job.model, model, strlen(model));
    pthread_mutex_lock(&jobs->lock);
    for (size_t i = 0; i < jobs->n_jobs; i++)
        if (jobs->jobs[i]->state == SV_JOB_WAITS) {
            n_waiting++;
            n_own += strcmp(jobs->jobs[i]->who, who) == 0;
            if (jobs->jobs[i]->kind == SV_JOB_VERIFY && strcmp(jobs->jobs[i]->store, store) == 0 &&
                strcmp(jobs->jobs[i]->model, model) == 0)
                same = jobs->jobs[i];
        }
    if (same == NULL) {
        if (n_waiting >= MAX_WAITING || n_own >= MAX_WAITING / 4 || !append_job(jobs, &job)) {
            added = SV_JOB_TOO_MANY;
        } else if (!write_file(jobs)) {
            take_job_out(jobs, jobs->n_jobs - 1);
            added = SV_JOB_NOT_WRITTEN;
        } else {
            pthread_cond_broadcast(&jobs->changed);
        }
    }
    memcpy(id, same != NULL ? same->id : job.id, SV_JOB_ID_BYTES);
    pthread_mutex_unlock(&jobs->lock);
    return added;
}

/* Of a token or, if it is NULL, of all. */
static size_t count_forgetting(const sv_jobs *jobs, const char *who) {
    size_t n = 0;
    for (size_t i = 0; i < jobs->n_jobs; i++)
        n += jobs->jobs[i]->kind == SV_JOB_FORGET && !has_ended(jobs->jobs[i]) &&
             (who == NULL || strcmp(jobs->jobs[i]->who, who) == 0);
    return n;
}

/* The names are on the disk before the job is, and the job before its id is handed out. */
sv_job_added sv_jobs_add_forget(sv_jobs *jobs, const char *who, const char *store,
                                const efface_request *whom, char id[SV_JOB_ID_BYTES]) {
    sv_job job = {.kind = SV_JOB_FORGET, .state = SV_JOB_WAITS, .part = -1.0};
    sv_job_added added = SV_JOB_NOT_WRITTEN;
    if (strlen(store) >= sizeof job.store)
        return SV_JOB_TOO_MANY;
    draw_id(&job);
    strncpy(job.who, who, sizeof job.who - 1);
    memcpy(job.store, store, strlen(store));
    memcpy(id, job.id, SV_JOB_ID_BYTES);
    char *const path = names_path(jobs, job.id);
    pthread_mutex_lock(&jobs->lock);
    if (count_forgetting(jobs, NULL) >= MAX_FORGETTING ||
        count_forgetting(jobs, who) >= MAX_FORGETTING / 4)
        added = SV_JOB_TOO_MANY;
    else if (path != NULL && sv_job_names_write(path, whom) && append_job(jobs, &job)) {
        if (write_file(jobs))
            added = SV_JOB_ADDED;
        else
            take_job_out(jobs, jobs->n_jobs - 1);
    }
    if (added == SV_JOB_ADDED)
        pthread_cond_broadcast(&jobs->changed);
    else if (path != NULL)
        sv_job_names_wipe(path);
    pthread_mutex_unlock(&jobs->lock);
    free(path);
    return added;
}

bool sv_jobs_find(sv_jobs *jobs, const char *id, sv_job *out) {
    pthread_mutex_lock(&jobs->lock);
    const sv_job *const job = find_job(jobs, id);
    if (job != NULL)
        *out = *job;
    pthread_mutex_unlock(&jobs->lock);
    return job != NULL;
}

bool sv_jobs_cancel(sv_jobs *jobs, const char *id, sv_job *out) {
    pthread_mutex_lock(&jobs->lock);
    sv_job *const job = find_job(jobs, id);
    bool ended = false;
    if (job != NULL && job->state == SV_JOB_WAITS) {
        ended = true;
        job->state = SV_JOB_CANCELLED;
        sv_time_now(job->ended);
        sv_metrics_job(jobs->service->metrics, "cancelled");
        if (write_file(jobs))
            wipe_names(jobs, job);
    } else if (job != NULL && job->state == SV_JOB_RUNS) {
        job->stop = true;
    }
    if (job != NULL)
        *out = *job;
    if (ended)
        forget_old(jobs, out->who);
    pthread_mutex_unlock(&jobs->lock);
    return job != NULL;
}

json_t *sv_jobs_list(sv_jobs *jobs) {
    pthread_mutex_lock(&jobs->lock);
    json_t *const array = list_jobs(jobs, true);
    pthread_mutex_unlock(&jobs->lock);
    return array;
}

/* ---------------------------------------------------------------- starting and stopping */

/* Jobs that had not ended run again. */
static bool read_jobs(sv_jobs *jobs, sv_why *why) {
    json_t *array = NULL, *item;
    size_t i;
    bool ok = sv_job_file_read(jobs->path, &array, why);
    json_array_foreach(array, i, item) {
        sv_job job;
        if (!ok || !sv_job_read(item, &job))
            continue; /* of another version, perhaps */
        if (!has_ended(&job)) {
            job.state = SV_JOB_WAITS;
            job.started[0] = 0;
        }
        ok = append_job(jobs, &job);
        if (!ok)
            (void)sv_fail_memory(why);
    }
    json_decref(array);
    return ok;
}

static bool needs_names(const sv_jobs *jobs, const char *id) {
    const sv_job *const job = find_job(jobs, id);
    return job != NULL && !has_ended(job);
}

bool sv_jobs_open(sv_service *service, sv_jobs **out, sv_why *why) {
    sv_jobs *const jobs = calloc(1, sizeof *jobs);
    (void)sv_fail_memory(why);
    if (jobs == NULL)
        return false;
    jobs->service = service;
    jobs->lock_file = -1;
    jobs->path = sv_name_beside(service->options->tokens, ".jobs");
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->changed, NULL);
    if (jobs->path != NULL)
        jobs->lock_file = sv_job_file_lock(jobs->path, why);
    bool ok = jobs->lock_file >= 0 && read_jobs(jobs, why);
    if (ok)
        sv_job_names_wipe_others(jobs->path, needs_names, jobs);
    while (ok && jobs->n_threads < N_RUNNING) {
        ok = pthread_create(&jobs->threads[jobs->n_threads], NULL, run_jobs, jobs) == 0;
        jobs->n_threads += ok;
        if (!ok)
            (void)sv_fail(why, "the system has no more threads");
    }
    if (ok)
        *out = jobs;
    else
        sv_jobs_close(jobs);
    return ok;
}

void sv_jobs_close(sv_jobs *jobs) {
    if (jobs == NULL)
        return;
    pthread_mutex_lock(&jobs->lock);
    jobs->ends = true;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    for (size_t i = 0; i < jobs->n_threads; i++)
        pthread_join(jobs->threads[i], NULL);
    while (jobs->n_jobs > 0)
        take_job_out(jobs, jobs->n_jobs - 1);
    pthread_cond_destroy(&jobs->changed);
    pthread_mutex_destroy(&jobs->lock);
    if (jobs->lock_file >= 0)
        (void)close(jobs->lock_file);
    free(jobs->jobs);
    free(jobs->path);
    free(jobs);
}
