/* Jobs: starting one, asking for it, and cancelling it (rooms/jobs.h). */
#include "api/api.h"
#include "rooms/jobs.h"
#include "rooms/rooms.h"

#include <stdio.h>

/* Whether a store has a model; a reply says so if not. */
static bool has_model(sv_request *request, const sv_room *room, const char *name) {
    efface_store *store = NULL;
    efface_stored_model about;
    efface_error error;
    efface_status status = sv_room_open(room, &store, &error);
    if (status == EFFACE_OK)
        status = efface_store_find_model(store, name, &about, &error);
    efface_store_close(store);
    if (status != EFFACE_OK)
        sv_refuse_error(request, &error);
    return status == EFFACE_OK;
}

sv_when sv_post_verify(sv_request *request) {
    const sv_room *const room = sv_room_of(request);
    const char *const model = request->parts[1];
    char id[SV_JOB_ID_BYTES], location[64];
    if (room == NULL || !has_model(request, room, model))
        return SV_NOW;
    switch (sv_jobs_add(request->service->jobs, sv_room_name(room), model, id)) {
    case SV_JOB_ADDED:
        (void)snprintf(location, sizeof location, "/v1/jobs/%s", id);
        sv_reply_header(request, "Location", location);
        sv_reply_json(request, 202, json_pack("{s:s}", "job", id));
        break;
    case SV_JOB_TOO_MANY:
        sv_reply_header(request, "Retry-After", "10");
        sv_refuse(request, 503, "busy", "too many jobs wait; try again later");
        break;
    case SV_JOB_NOT_WRITTEN:
        sv_reply_header(request, "Retry-After", "10");
        sv_refuse(request, 503, "unavailable",
                  "the file of jobs cannot be written, so that no job is accepted");
        break;
    }
    return SV_NOW;
}

sv_when sv_get_jobs(sv_request *request) {
    sv_reply_json(request, 200, json_pack("{s:o}", "jobs", sv_jobs_list(request->service->jobs)));
    return SV_NOW;
}

static void reply_job(sv_request *request, bool found, const sv_job *job) {
    if (found)
        sv_reply_json(request, 200, sv_job_json(job));
    else
        sv_refuse(request, 404, "no_job", "there is no such job, or it ended long ago");
}

sv_when sv_get_job(sv_request *request) {
    sv_job job;
    reply_job(request, sv_jobs_find(request->service->jobs, request->parts[0], &job), &job);
    return SV_NOW;
}

sv_when sv_delete_job(sv_request *request) {
    sv_job job;
    reply_job(request, sv_jobs_cancel(request->service->jobs, request->parts[0], &job), &job);
    return SV_NOW;
}
