/* Jobs: starting one, asking for it, and cancelling it (rooms/jobs.h). */
#include "api/api.h"
#include "rooms/jobs.h"
#include "rooms/rooms.h"

#include <stdio.h>

/* Whether a store has a model; a reply says so if not. */
static bool has_model(sv_request *request, const char *name) {
    efface_store *store = NULL;
    efface_stored_model about;
    efface_error error;
    efface_status status = sv_room_open(request->room, &store, NULL, &error);
    if (status == EFFACE_OK)
        status = efface_store_find_model(store, name, &about, &error);
    efface_store_close(store);
    return status == EFFACE_OK || sv_refuse_error(request, &error);
}

sv_when sv_reply_added(sv_request *request, sv_job_added added, const char *id) {
    char location[64];
    if (added == SV_JOB_ADDED) {
        (void)snprintf(location, sizeof location, "/v1/jobs/%s", id);
        sv_reply_header(request, "Location", location);
        return sv_reply_json(request, 202, json_pack("{s:s}", "job", id));
    }
    sv_reply_header(request, "Retry-After", "10");
    if (added == SV_JOB_TOO_MANY)
        return sv_refuse(request, 503, "busy", "too many jobs wait; try again later");
    return sv_refuse(request, 503, "unavailable",
                     "the files of jobs cannot be written, so that no job is accepted");
}

sv_when sv_post_verify(sv_request *request) {
    const char *const model = request->parts[1];
    char id[SV_JOB_ID_BYTES];
    if (!has_model(request, model))
        return SV_NOW;
    return sv_reply_added(request,
                          sv_jobs_add(request->service->jobs, request->caller.name,
                                      sv_room_name(request->room), model, id),
                          id);
}

sv_when sv_get_jobs(sv_request *request) {
    return sv_reply_json(request, 200,
                         json_pack("{s:o}", "jobs", sv_jobs_list(request->service->jobs)));
}

static sv_when reply_job(sv_request *request, bool found, const sv_job *job) {
    if (found)
        return sv_reply_json(request, 200, sv_job_json(job));
    return sv_refuse(request, 404, "no_job", "there is no such job, or it ended long ago");
}

sv_when sv_get_job(sv_request *request) {
    sv_job job;
    return reply_job(request, sv_jobs_find(request->service->jobs, request->parts[0], &job), &job);
}

/* Who may not forget may not keep others from forgetting. */
sv_when sv_delete_job(sv_request *request) {
    sv_job job;
    if (sv_jobs_find(request->service->jobs, request->parts[0], &job) &&
        job.kind == SV_JOB_FORGET && (request->caller.roles & (SV_ERASE | SV_ADMIN)) == 0)
        return sv_refuse(request, 403, "role",
                         "the job forgets: a token may cancel it that may forget");
    return reply_job(request, sv_jobs_cancel(request->service->jobs, request->parts[0], &job),
                     &job);
}
