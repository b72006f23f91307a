/* Jobs as JSON, and the file that they are in (jobs.h). */
#include "rooms/jobs.h"

#include "access/own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const states[] = {
    [SV_JOB_WAITS] = "waiting", [SV_JOB_RUNS] = "running",        [SV_JOB_DONE] = "done",
    [SV_JOB_FAILED] = "failed", [SV_JOB_CANCELLED] = "cancelled",
};

/* A text, or null if it is empty. */
static json_t *text_or_null(const char *text) {
    return text[0] != 0 ? json_string(text) : json_null();
}

static json_t *error_json(const sv_job *job) {
    return job->state == SV_JOB_FAILED
               ? json_pack("{s:s,s:s}", "code", job->code, "message", job->message)
               : json_null();
}

static json_t *forget_json(const sv_job *job) {
    return json_pack(
        "{s:s,s:s,s:s,s:n,s:s,s:o,s:o,s:o,s:I,s:I,s:I,s:o,s:o}", "job", job->id, "kind", "forget",
        "store", job->store, "model", "state", states[job->state], "part",
        job->part >= 0.0 ? json_real(job->part) : json_null(), "started",
        text_or_null(job->started), "ended", text_or_null(job->ended), "names",
        (json_int_t)job->n_names, "forgotten", (json_int_t)job->n_forgotten, "missing",
        (json_int_t)job->n_missing, "receipts",
        json_pack("[I,I]", (json_int_t)job->first_receipt, (json_int_t)job->last_receipt), "error",
        error_json(job));
}

json_t *sv_job_json(const sv_job *job) {
    const bool done = job->state == SV_JOB_DONE;
    if (job->kind == SV_JOB_FORGET)
        return forget_json(job);
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "job", job->id,
                     "kind", "verify", "store", job->store, "model", job->model, "state",
                     states[job->state], "part",
                     job->part >= 0.0 ? json_real(job->part) : json_null(), "started",
                     text_or_null(job->started), "ended", text_or_null(job->ended), "identical",
                     done ? json_boolean(job->identical) : json_null(), "what",
                     text_or_null(job->what), "where", text_or_null(job->where), "commitment",
                     text_or_null(job->commitment), "error", error_json(job));
}

/* Reads a member that is a text, or null, or missing; false if it is too long or something else. */
static bool read_job_text(const json_t *json, const char *key, char *out, size_t n_out) {
    const json_t *const value = json_object_get(json, key);
    const char *const text = json_string_value(value);
    if (value == NULL || json_is_null(value))
        return true;
    if (text == NULL || strlen(text) >= n_out)
        return false;
    memcpy(out, text, strlen(text) + 1);
    return true;
}

static uint64_t read_job_count(const json_t *count) {
    const json_int_t value = json_integer_value(count);
    return value > 0 ? (uint64_t)value : 0;
}

static void read_forgotten(const json_t *json, sv_job *job) {
    const char *const kind = json_string_value(json_object_get(json, "kind"));
    const json_t *const receipts = json_object_get(json, "receipts");
    job->kind = kind != NULL && strcmp(kind, "forget") == 0 ? SV_JOB_FORGET : SV_JOB_VERIFY;
    job->n_names = read_job_count(json_object_get(json, "names"));
    job->n_forgotten = read_job_count(json_object_get(json, "forgotten"));
    job->n_missing = read_job_count(json_object_get(json, "missing"));
    job->first_receipt = read_job_count(json_array_get(receipts, 0));
    job->last_receipt = read_job_count(json_array_get(receipts, 1));
}

bool sv_job_read(const json_t *json, sv_job *job) {
    const char *const state = json_string_value(json_object_get(json, "state"));
    const json_t *const error = json_object_get(json, "error");
    size_t number = 0;
    *job = (sv_job){.part = 0.0};
    while (state != NULL && number < sizeof states / sizeof states[0] &&
           strcmp(state, states[number]) != 0)
        number++;
    job->state = (sv_job_state)number;
    read_forgotten(json, job);
    job->identical = json_is_true(json_object_get(json, "identical"));
    job->part = job->state == SV_JOB_DONE ? 1.0 : -1.0;
    return state != NULL && number < sizeof states / sizeof states[0] &&
           read_job_text(json, "job", job->id, sizeof job->id) &&
           read_job_text(json, "token", job->who, sizeof job->who) &&
           read_job_text(json, "store", job->store, sizeof job->store) &&
           read_job_text(json, "model", job->model, sizeof job->model) &&
           read_job_text(json, "started", job->started, sizeof job->started) &&
           read_job_text(json, "ended", job->ended, sizeof job->ended) &&
           read_job_text(json, "what", job->what, sizeof job->what) &&
           read_job_text(json, "where", job->where, sizeof job->where) &&
           read_job_text(json, "commitment", job->commitment, sizeof job->commitment) &&
           (!json_is_object(error) ||
            (read_job_text(error, "code", job->code, sizeof job->code) &&
             read_job_text(error, "message", job->message, sizeof job->message))) &&
           strlen(job->id) == SV_JOB_ID_BYTES - 1 && job->store[0] != 0 &&
           (job->model[0] != 0 || job->kind == SV_JOB_FORGET);
}

/* ---------------------------------------------------------------- the file */

int sv_job_file_lock(const char *path, sv_why *why) {
    char *const name = malloc(strlen(path) + sizeof ".lock");
    if (name == NULL) {
        (void)sv_fail_memory(why);
        return -1;
    }
    (void)sprintf(name, "%s.lock", path);
    const int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    const bool locked = file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0;
    if (!locked && file >= 0 && errno == EWOULDBLOCK)
        (void)sv_fail(why,
                      "another service uses %s; give each service a file of tokens of its own "
                      "(--tokens)",
                      path);
    else if (!locked)
        (void)sv_fail(why, "%s: %s", name, strerror(errno));
    if (!locked && file >= 0)
        (void)close(file);
    free(name);
    return locked ? file : -1;
}

bool sv_job_file_write(const char *path, const json_t *list) {
    char *const fresh = malloc(strlen(path) + sizeof ".new");
    bool written = false;
    if (fresh == NULL)
        return false;
    (void)sprintf(fresh, "%s.new", path);
    const int file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file >= 0) {
        written = json_dumpfd(list, file, JSON_INDENT(1)) == 0 && fsync(file) == 0;
        written = close(file) == 0 && written;
        written = written && rename(fresh, path) == 0 && sv_sync_folder_of(path) == 0;
        if (!written)
            (void)unlink(fresh);
    }
    free(fresh);
    return written;
}

bool sv_job_file_read(const char *path, json_t **list, sv_why *why) {
    *list = NULL;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) {
        *list = json_array();
    } else if (file >= 0) {
        *list = json_loadfd(file, JSON_REJECT_DUPLICATES, NULL);
        (void)close(file);
    }
    if (json_is_array(*list))
        return true;
    json_decref(*list);
    *list = NULL;
    return sv_fail(why, "%s: this is not a file of jobs, or it cannot be read; move it away", path);
}
