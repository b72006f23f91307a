/* All routes, and the roles that they need. */
#include "api/api.h"
#include "dsr/dsr.h"
#include "http/server.h"
#include "metrics/metrics.h"

#define STORE "/v1/stores/{store}"
#define MODEL STORE "/models/{model}"

const sv_route sv_routes[] = {
    {"GET", "/v1/health", 0, SV_HERE, sv_get_health, "health"},
    {"GET", "/v1/me", SV_ANY_ROLE, SV_HERE, sv_get_me, "me"},
    {"GET", "/v1/stores", SV_READ | SV_PREDICT | SV_ERASE, SV_ON_WORKER, sv_get_stores, "stores"},
    {"GET", "/v1/metrics", SV_READ | SV_PREDICT, SV_ON_WORKER, sv_get_metrics, "metrics"},
    {"GET", STORE, SV_READ | SV_PREDICT | SV_ERASE, SV_ON_WORKER, sv_get_store, "store"},
    {"GET", MODEL, SV_READ | SV_PREDICT, SV_ON_WORKER, sv_get_model, "model"},
    {"GET", MODEL "/tables/{table}", SV_READ, SV_ON_WORKER, sv_get_table, "table"},
    {"GET", STORE "/receipts", SV_READ | SV_ERASE, SV_ON_WORKER, sv_get_receipts, "receipts"},
    {"GET", STORE "/receipts/{number}", SV_READ | SV_ERASE, SV_ON_WORKER, sv_get_receipt,
     "receipt"},
    {"POST", STORE "/receipts/verify", SV_READ | SV_ERASE, SV_ON_WORKER, sv_post_verify_receipts,
     "verify_receipts"},
    {"GET", MODEL "/picture", SV_READ, SV_ON_WORKER, sv_get_picture, "picture"},
    {"POST", MODEL "/verify", SV_READ | SV_ERASE, SV_ON_WORKER, sv_post_verify, "verify"},
    {"GET", "/v1/jobs", SV_READ | SV_ERASE, SV_ON_WORKER, sv_get_jobs, "jobs"},
    {"GET", "/v1/jobs/{job}", SV_READ | SV_ERASE, SV_ON_WORKER, sv_get_job, "job"},
    {"DELETE", "/v1/jobs/{job}", SV_READ | SV_ERASE, SV_ON_WORKER, sv_delete_job, "cancel_job"},
    {"GET", "/v1/openapi.json", SV_ANY_ROLE, SV_HERE, sv_get_openapi, "openapi"},
    {"GET", "/", 0, SV_HERE, sv_get_page, "page"},
    {"GET", "/page/{file}", 0, SV_HERE, sv_get_page_file, "page_file"},
    {"POST", STORE "/find", SV_READ | SV_ERASE, SV_ON_WORKER, sv_post_find, "find"},
    {"POST", STORE "/preview", SV_READ | SV_ERASE, SV_HERE, sv_post_preview, "preview"},
    {"POST", STORE "/forget", SV_ERASE, SV_HERE, sv_post_forget, "forget"},
    {"POST", STORE "/learn", SV_ADMIN, SV_ON_WORKER, sv_post_learn, "learn"},
    {"POST", STORE "/update", SV_ADMIN, SV_ON_WORKER, sv_post_update, "update"},
    {"POST", MODEL "/predict", SV_PREDICT, SV_HERE, sv_post_predict, "predict"},
    {"GET", "/opendsr/v2/discovery", SV_ANY_ROLE, SV_HERE, sv_dsr_discover, "opendsr_discovery"},
    {"GET", "/opendsr/v2/certificate", SV_ANY_ROLE, SV_HERE, sv_dsr_get_certificate,
     "opendsr_certificate"},
    {"POST", "/opendsr/v2/requests", SV_ERASE, SV_ON_WORKER, sv_dsr_create, "opendsr_create"},
    {"GET", "/opendsr/v2/requests/{id}", SV_READ | SV_ERASE, SV_HERE, sv_dsr_get_status,
     "opendsr_status"},
    {"DELETE", "/opendsr/v2/requests/{id}", SV_ERASE, SV_ON_WORKER, sv_dsr_cancel,
     "opendsr_cancel"},
    {NULL, NULL, 0, SV_HERE, NULL, NULL},
};
