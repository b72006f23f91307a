/*
 * Jobs: work that takes longer than a request may. A job fits a model of a store again and compares
 * the two (verify), or forgets many rows and people (forget). It has a random id, by which whoever
 * lost the connection finds it again.
 *
 * Jobs are in a file beside the tokens (efface.jobs beside efface.tokens): one that was accepted is
 * on the disk before anybody hears its id, and one that has not ended when the service ends, or is
 * killed, runs again when the service starts. The file has names of stores and models, times and
 * results, and nothing of rows. Whom a job forgets stands in a file of its own (efface.jobs.ID),
 * which is overwritten and removed when the job has ended. It forgets some of them at a time, so
 * that other changes take their turns in between; each of these slices has a receipt.
 *
 * Two jobs run at a time, at a lower priority than requests; others wait, the oldest first, and
 * before them those of tokens of which none runs. A token has a quarter of all places. Rows
 * are read under the lock of the store and fitted without it, so that writers wait for the reading
 * alone. The last thousand jobs that ended can be asked for.
 */
#ifndef SV_JOBS_H
#define SV_JOBS_H

#include "service.h"

#define SV_JOB_ID_BYTES 33 /* 128 random bits in hexadecimal, and a 0 */

typedef enum sv_job_state {
    SV_JOB_WAITS,
    SV_JOB_RUNS,
    SV_JOB_DONE,
    SV_JOB_FAILED,
    SV_JOB_CANCELLED
} sv_job_state;

typedef enum sv_job_kind { SV_JOB_VERIFY, SV_JOB_FORGET } sv_job_kind;

typedef struct sv_job {
    sv_job_kind kind;
    char id[SV_JOB_ID_BYTES];
    char who[SV_TOKEN_NAME_BYTES]; /* the token that it came with; in the file only */
    char store[128];
    char model[EFFACE_MODEL_NAME_BYTES];
    sv_job_state state;
    double part;      /* that is done, from 0 to 1; below 0: not known */
    char started[32]; /* as 2026-01-31T08:00:00Z; "" if it has not */
    char ended[32];

    /* What it has forgotten so far. */
    uint64_t n_names;                     /* that were looked for */
    uint64_t n_forgotten;                 /* rows */
    uint64_t n_missing;                   /* names */
    uint64_t first_receipt, last_receipt; /* 0: none */

    /* If it is done: what came out. */
    bool identical;
    char what[32]; /* differs first, */
    char where[EFFACE_WHERE_BYTES];
    char commitment[2 * EFFACE_DIGEST_BYTES +
                    1]; /* to the model that was compared; "" if that is not
                                                 known: the store changed while it was read */

    /* If it failed: why. */
    char code[32];
    char message[160];

    bool stop; /* somebody wants it to end */
} sv_job;

/* Reads the file of jobs and starts threads; false, with a message, if that is not possible. */
bool sv_jobs_open(sv_service *service, sv_jobs **out, sv_why *why);

/* Stops what runs, which runs again after the next start. After the server was stopped. */
void sv_jobs_close(sv_jobs *jobs);

typedef enum sv_job_added { SV_JOB_ADDED, SV_JOB_TOO_MANY, SV_JOB_NOT_WRITTEN } sv_job_added;

/* Adds a job. One that waits for the same model is as good as a new one: its id is handed out. One
 * that runs is not, for it may have read the rows before a change that the caller knows of. */
sv_job_added sv_jobs_add(sv_jobs *jobs, const char *who, const char *store, const char *model,
                         char id[SV_JOB_ID_BYTES]);

/* Adds a job that forgets; who is not there is passed over. */
sv_job_added sv_jobs_add_forget(sv_jobs *jobs, const char *who, const char *store,
                                const efface_request *whom, char id[SV_JOB_ID_BYTES]);

/* A copy of a job; false if there is none with this id. */
bool sv_jobs_find(sv_jobs *jobs, const char *id, sv_job *out);

/* Cancels a job, and hands out a copy. One that runs ends a moment later; one that has ended stays
 * as it is. False if there is none with this id. */
bool sv_jobs_cancel(sv_jobs *jobs, const char *id, sv_job *out);

/* Jobs as JSON, the newest first; NULL if out of memory. */
json_t *sv_jobs_list(sv_jobs *jobs);

/* ------------------------------------------------------------------ in parts */

/* A job as openapi.json has it, and the other way round; false if that is no job (job_file.c). */
json_t *sv_job_json(const sv_job *job);
bool sv_job_read(const json_t *json, sv_job *job);

/* Locks the file of jobs, so that no other service writes it; -1, with a message, if that is not
 * possible. The lock ends with the descriptor. */
int sv_job_file_lock(const char *path, sv_why *why);

/* Writes the file of jobs, all or nothing; and reads it: a file that does not exist has none
 * (job_file.c). */
bool sv_job_file_write(const char *path, const json_t *list);
bool sv_job_file_read(const char *path, json_t **list, sv_why *why);

/* Whom a job forgets: in its file (forget_slices.c). */
typedef struct sv_job_names {
    uint64_t n_ids, n_owners;
    uint64_t *all; /* the ids, then the owners */
} sv_job_names;

bool sv_job_names_write(const char *path, const efface_request *whom);
bool sv_job_names_read(const char *path, sv_job_names *out);
void sv_job_names_free(sv_job_names *names);
/* Overwrites the file and removes it. */
void sv_job_names_wipe(const char *path);
/* The same for all files beside `path` whose job is not in `keeps`. */
void sv_job_names_wipe_others(const char *path, bool (*keeps)(const sv_jobs *, const char *id),
                              const sv_jobs *jobs);

/* Forgets the next of them, and counts; false, with the error in the job, if that fails. */
bool sv_forget_slice(const sv_rooms *rooms, sv_job *job, const sv_job_names *names);

/* Fits and compares the model of a job, and fills in what came out. `follow` is called now and then
 * with the part that is done, and ends it if it returns non-zero; then false is returned
 * (model_check.c). */
bool sv_check_model(const sv_rooms *rooms, sv_job *job, int (*follow)(void *context, double part),
                    void *context);

#endif
