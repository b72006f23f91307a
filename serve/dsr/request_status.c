/* What has become of a request, and its cancellation. */
#include "access/times.h"
#include "api/values.h"
#include "dsr/register.h"

static void refuse_unknown(sv_request *request) {
    sv_refuse(request, 404, "no_request", "there is no request with that subject_request_id");
}

/* Our part of a status: when the request came and ended, and the receipts of stores. */
static json_t *describe_ours(const sv_dsr_entry *entry) {
    char received[32];
    json_t *const receipts = json_array();
    for (size_t i = 0; i < entry->n_receipts; i++)
        sv_json_add(receipts, json_pack("{s:s,s:I}", "store", entry->receipts[i].store, "receipt",
                                        (json_int_t)entry->receipts[i].number));
    sv_time_write(entry->received, received);
    return json_pack("{s:s,s:o,s:b,s:o}", "received_time", received, "completed_time",
                     entry->status == SV_DSR_COMPLETED ? sv_json_time(entry->ended) : json_null(),
                     "interrupted", entry->interrupted, "receipts", receipts);
}

static json_t *describe_request(const sv_dsr_entry *entry) {
    char expected[32];
    sv_time_write(entry->expected, expected);
    json_t *const json =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:{s:o}}", "controller_id", entry->controller,
                  "expected_completion_time", expected, "subject_request_id", entry->id,
                  "request_status", sv_dsr_statuses[entry->status], "api_version", "2.0",
                  "extensions", "efface", describe_ours(entry));
    if (entry->status == SV_DSR_COMPLETED)
        sv_json_set(json, "results_count", json_integer((json_int_t)entry->n_rows));
    return json;
}

sv_when sv_dsr_get_status(sv_request *request) {
    sv_dsr *const dsr = request->service->dsr;
    const sv_dsr_entry *const entry = sv_dsr_find(dsr, request->parts[0]);
    if (entry == NULL) {
        refuse_unknown(request);
        return SV_NOW;
    }
    pthread_mutex_lock(&dsr->lock);
    json_t *const json = describe_request(entry);
    pthread_mutex_unlock(&dsr->lock);
    return sv_dsr_reply(request, 200, json);
}

sv_when sv_dsr_cancel(sv_request *request) {
    char received[32];
    sv_dsr_entry *entry = NULL;
    sv_time_now(received);
    switch (sv_dsr_cancel_entry(request->service->dsr, request->parts[0], &entry)) {
    case SV_DSR_CANCELS:
        sv_dsr_reply(request, 202,
                     json_pack("{s:s,s:s,s:s,s:s}", "controller_id", entry->controller,
                               "subject_request_id", entry->id, "received_time", received,
                               "api_version", "2.0"));
        break;
    case SV_DSR_UNKNOWN: refuse_unknown(request); break;
    case SV_DSR_BEGUN:
        sv_refuse(request, 409, "begun", "the request has begun or is completed: too late");
        break;
    case SV_DSR_NOT_WRITTEN:
        sv_reply_header(request, "Retry-After", "5");
        sv_refuse(request, 503, "unavailable", "this cannot be written to the disk now; try again");
    }
    return SV_NOW;
}
