/* What a job does: fits a model again and compares (jobs.h). */
#include "rooms/jobs.h"
#include "rooms/rooms.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* The rows are read first, then the model is fitted. The library tells the part of each. */
#define PART_OF_READING 0.1

/* Where the work is. The count of changes tells whether the model that was read is the one whose
 * commitment is known. */
typedef struct following {
    int (*follow)(void *context, double part);
    void *context;
    sv_room *room;
    uint64_t changes; /* when the commitment was read */
    bool has_read;    /* the model and its rows */
    bool is_same;     /* and nothing had changed until then */
} following;

static void end_reading(following *f) {
    uint64_t now = 0;
    efface_error error;
    f->has_read = true;
    sv_room_end_reading(f->room);
    f->is_same = sv_room_count(f->room, &now, &error) == EFFACE_OK && now == f->changes;
}

static int tell_part(void *context, efface_phase phase, double part) {
    following *const f = context;
    if (phase != EFFACE_PHASE_READING && !f->has_read)
        end_reading(f);
    const double whole =
        f->has_read ? PART_OF_READING + (1.0 - PART_OF_READING) * part : PART_OF_READING * part;
    return f->follow(f->context, part >= 0.0 ? whole : -1.0);
}

static efface_status check_stored_model(sv_job *job, following *f, efface_error *error) {
    efface_store *store = NULL;
    efface_stored_model about;
    efface_difference difference = {.identical = 0};
    if (!sv_room_begin_reading(f->room, f->follow, f->context))
        return EFFACE_E_INTERRUPTED;
    efface_status status = sv_room_count(f->room, &f->changes, error);
    if (status == EFFACE_OK)
        status = sv_room_open_followed(f->room, tell_part, f, &store, error);
    if (status == EFFACE_OK)
        status = efface_store_find_model(store, job->model, &about, error);
    if (status == EFFACE_OK)
        status = efface_store_verify(store, job->model, &difference, error);
    efface_store_close(store);
    if (!f->has_read)
        end_reading(f);
    if (status != EFFACE_OK)
        return status;
    job->identical = difference.identical != 0;
    (void)snprintf(job->what, sizeof job->what, "%s",
                   difference.what != NULL ? difference.what : "");
    (void)snprintf(job->where, sizeof job->where, "%s", difference.where);
    if (f->is_same)
        (void)sodium_bin2hex(job->commitment, sizeof job->commitment, about.commitment,
                             sizeof about.commitment);
    return EFFACE_OK;
}

bool sv_check_model(const sv_rooms *rooms, sv_job *job, int (*follow)(void *context, double part),
                    void *context) {
    following f = {.follow = follow, .context = context, .room = sv_rooms_find(rooms, job->store)};
    efface_error error = {.status = EFFACE_E_NOT_FOUND};
    const efface_status status =
        f.room != NULL ? check_stored_model(job, &f, &error) : EFFACE_E_NOT_FOUND;
    if (status == EFFACE_E_INTERRUPTED)
        return false;
    job->state = status == EFFACE_OK ? SV_JOB_DONE : SV_JOB_FAILED;
    if (status != EFFACE_OK) {
        const sv_problem problem = sv_problem_of(&error);
        (void)snprintf(job->code, sizeof job->code, "%s", problem.code);
        (void)snprintf(job->message, sizeof job->message, "%s", problem.message);
    }
    return true;
}
