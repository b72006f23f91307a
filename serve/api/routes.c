/* All routes, and the roles that they need. */
#include "api/api.h"
#include "http/server.h"
#include "metrics/metrics.h"

const sv_route sv_routes[] = {
    {"GET", "/v1/health", 0, SV_HERE, sv_get_health, "health"},
    {"GET", "/v1/me", SV_ANY_ROLE, SV_HERE, sv_get_me, "me"},
    {"GET", "/v1/stores", SV_READ | SV_PREDICT | SV_ERASE, SV_ON_WORKER, sv_get_stores, "stores"},
    {"GET", "/v1/metrics", SV_READ, SV_HERE, sv_get_metrics, "metrics"},
    {"GET", "/v1/stores/{store}", SV_READ | SV_PREDICT | SV_ERASE, SV_ON_WORKER, sv_get_store,
     "store"},
    {"GET", "/v1/stores/{store}/models/{model}", SV_READ | SV_PREDICT, SV_ON_WORKER, sv_get_model,
     "model"},
    {"GET", "/v1/stores/{store}/models/{model}/tables/{table}", SV_READ, SV_ON_WORKER, sv_get_table,
     "table"},
    {"GET", "/v1/stores/{store}/receipts", SV_READ | SV_ERASE, SV_ON_WORKER, sv_get_receipts,
     "receipts"},
    {"GET", "/v1/stores/{store}/receipts/{number}", SV_READ | SV_ERASE, SV_ON_WORKER,
     sv_get_receipt, "receipt"},
    {"POST", "/v1/stores/{store}/receipts/verify", SV_READ | SV_ERASE, SV_ON_WORKER,
     sv_post_verify_receipts, "verify_receipts"},
    {"GET", "/v1/openapi.json", SV_ANY_ROLE, SV_HERE, sv_get_openapi, "openapi"},
    {"GET", "/", 0, SV_HERE, sv_get_page, "page"},
    {"GET", "/page/{file}", 0, SV_HERE, sv_get_page_file, "page_file"},
    {"POST", "/v1/stores/{store}/find", SV_READ | SV_ERASE, SV_ON_WORKER, sv_post_find, "find"},
    {"POST", "/v1/stores/{store}/preview", SV_READ | SV_ERASE, SV_HERE, sv_post_preview, "preview"},
    {"POST", "/v1/stores/{store}/forget", SV_ERASE, SV_HERE, sv_post_forget, "forget"},
    {"POST", "/v1/stores/{store}/learn", SV_ADMIN, SV_ON_WORKER, sv_post_learn, "learn"},
    {"POST", "/v1/stores/{store}/update", SV_ADMIN, SV_ON_WORKER, sv_post_update, "update"},
    {"POST", "/v1/stores/{store}/models/{model}/predict", SV_PREDICT, SV_HERE, sv_post_predict,
     "predict"},
    {NULL, NULL, 0, SV_HERE, NULL, NULL},
};
