/* Jobs that forget: the file of those who are to be forgotten, and one slice of them (jobs.h). */
#include "access/own_files.h"
#include "rooms/jobs.h"
#include "rooms/rooms.h"
#include "wiping.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLICE 1000             /* names that are looked for at once */
#define MAX_NAMES (1ULL << 24) /* more than a body has */

/* ---------------------------------------------------------------- the file */

static bool write_bytes(int file, const void *bytes, size_t n) {
    const char *at = bytes;
    while (n != 0) {
        const ssize_t written = write(file, at, n);
        if (written < 0 && errno != EINTR)
            return false;
        at += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

bool sv_job_names_write(const char *path, const efface_request *whom) {
    const uint64_t counts[] = {whom->n_ids, whom->n_owners};
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return false;
    const bool written = write_bytes(file, counts, sizeof counts) &&
                         write_bytes(file, whom->ids, whom->n_ids * sizeof *whom->ids) &&
                         write_bytes(file, whom->owners, whom->n_owners * sizeof *whom->owners) &&
                         fsync(file) == 0;
    return close(file) == 0 && written && sv_sync_folder_of(path) == 0;
}

static bool read_names(FILE *file, sv_job_names *out) {
    uint64_t counts[2];
    if (fread(counts, sizeof counts, 1, file) != 1 || counts[0] > MAX_NAMES ||
        counts[1] > MAX_NAMES)
        return false;
    const size_t n = counts[0] + counts[1];
    out->all = calloc(n + 1, sizeof *out->all);
    if (out->all == NULL)
        return false;
    out->n_ids = counts[0];
    out->n_owners = counts[1];
    return fread(out->all, sizeof *out->all, n, file) == n;
}

bool sv_job_names_read(const char *path, sv_job_names *out) {
    FILE *const file = fopen(path, "rbe");
    if (file == NULL)
        return false;
    (void)setvbuf(file, NULL, _IONBF, 0); /* a buffer would keep names */
    const bool ok = read_names(file, out);
    (void)fclose(file);
    return ok;
}

void sv_job_names_free(sv_job_names *names) {
    sv_wipe_free(names->all, (names->n_ids + names->n_owners) * sizeof *names->all);
    *names = (sv_job_names){.all = NULL};
}

void sv_job_names_wipe(const char *path) {
    static const char zeros[4096];
    struct stat about;
    const int file = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return;
    bool ok = fstat(file, &about) == 0;
    for (off_t n = 0; ok && n < about.st_size; n += (off_t)sizeof zeros)
        ok = write_bytes(file, zeros, sizeof zeros);
    (void)fsync(file);
    (void)close(file);
    (void)unlink(path);
    (void)sv_sync_folder_of(path);
}

void sv_job_names_wipe_others(const char *path, bool (*keeps)(const sv_jobs *, const char *id),
                              const sv_jobs *jobs) {
    const char *const slash = strrchr(path, '/');
    const char *const name = slash != NULL ? slash + 1 : path;
    const size_t n = strlen(name), n_folder = (size_t)(name - path);
    char *const folder = strndup(path, n_folder);
    DIR *const files = folder != NULL ? opendir(n_folder != 0 ? folder : ".") : NULL;
    const struct dirent *file;
    while (files != NULL && (file = readdir(files)) != NULL) {
        const char *const id = file->d_name + n + 1;
        char whole[4096];
        if (strncmp(file->d_name, name, n) == 0 && file->d_name[n] == '.' &&
            strlen(id) == SV_JOB_ID_BYTES - 1 &&
            strspn(id, "0123456789abcdef") == SV_JOB_ID_BYTES - 1 && !keeps(jobs, id) &&
            snprintf(whole, sizeof whole, "%s%s", folder, file->d_name) < (int)sizeof whole)
            sv_job_names_wipe(whole);
    }
    if (files != NULL)
        (void)closedir(files);
    free(folder);
}

/* ---------------------------------------------------------------- a slice */

typedef struct slice {
    sv_change change; /* first: a change is a slice */
    efface_request request;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done;
} slice;

static void slice_done(sv_change *change) {
    slice *const s = (slice *)change;
    pthread_mutex_lock(&s->lock);
    s->done = true;
    pthread_cond_signal(&s->ended);
    pthread_mutex_unlock(&s->lock);
}

/* The names from number `at` on. */
static efface_request names_from(const sv_job_names *names, uint64_t at) {
    efface_request request = {.missing = EFFACE_MISSING_SKIP};
    if (at < names->n_ids) {
        request.ids = names->all + at;
        request.n_ids = names->n_ids - at < SLICE ? names->n_ids - at : SLICE;
    } else {
        const uint64_t left = names->n_ids + names->n_owners - at;
        request.owners = names->all + at;
        request.n_owners = left < SLICE ? left : SLICE;
    }
    return request;
}

static void count_slice(sv_job *job, slice *s) {
    efface_store_report *const report = &s->change.asked.report;
    job->n_names += s->request.n_ids + s->request.n_owners;
    job->n_forgotten += report->n_forgotten;
    job->n_missing += report->n_missing;
    if (report->receipt != 0) {
        job->first_receipt = job->first_receipt != 0 ? job->first_receipt : report->receipt;
        job->last_receipt = report->receipt;
    }
    efface_store_report_free(report);
}

bool sv_forget_slice(const sv_rooms *rooms, sv_job *job, const sv_job_names *names) {
    sv_room *const room = sv_rooms_find(rooms, job->store);
    slice s = {.request = names_from(names, job->n_names)};
    efface_error error = {.status = EFFACE_E_NOT_FOUND};
    if (room != NULL) {
        s.change.asked.kind = EFFACE_CHANGE_FORGET;
        s.change.asked.request = &s.request;
        s.change.done = slice_done;
        pthread_mutex_init(&s.lock, NULL);
        pthread_cond_init(&s.ended, NULL);
        sv_writer_add(room, &s.change);
        pthread_mutex_lock(&s.lock);
        while (!s.done)
            pthread_cond_wait(&s.ended, &s.lock);
        pthread_mutex_unlock(&s.lock);
        pthread_cond_destroy(&s.ended);
        pthread_mutex_destroy(&s.lock);
        error = s.change.asked.error;
        if (s.change.asked.status == EFFACE_OK) {
            count_slice(job, &s);
            return true;
        }
    }
    const sv_problem problem = sv_problem_of(&error);
    (void)snprintf(job->code, sizeof job->code, "%s", problem.code);
    (void)snprintf(job->message, sizeof job->message, "%s", problem.message);
    return false;
}
