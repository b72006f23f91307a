/* The handlers of all routes. */
#ifndef SV_API_H
#define SV_API_H

#include "rooms/jobs.h"
#include "service.h"

sv_when sv_get_health(sv_request *request);
sv_when sv_get_me(sv_request *request);
sv_when sv_get_stores(sv_request *request);
sv_when sv_get_store(sv_request *request);
sv_when sv_get_model(sv_request *request);
sv_when sv_get_table(sv_request *request);
sv_when sv_get_receipts(sv_request *request);
sv_when sv_get_receipt(sv_request *request);
sv_when sv_post_verify_receipts(sv_request *request);
sv_when sv_get_picture(sv_request *request);
sv_when sv_post_verify(sv_request *request);
/* Replies with the id of a job, or why there is none. */
sv_when sv_reply_added(sv_request *request, sv_job_added added, const char *id);
sv_when sv_get_jobs(sv_request *request);
sv_when sv_get_job(sv_request *request);
sv_when sv_delete_job(sv_request *request);
sv_when sv_get_openapi(sv_request *request);
sv_when sv_get_page(sv_request *request);
sv_when sv_get_page_file(sv_request *request);

sv_when sv_post_find(sv_request *request);
sv_when sv_post_preview(sv_request *request);
sv_when sv_post_forget(sv_request *request);
sv_when sv_post_learn(sv_request *request);
sv_when sv_post_update(sv_request *request);
sv_when sv_post_predict(sv_request *request);

#endif
