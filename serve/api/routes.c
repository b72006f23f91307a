/* All routes, and the roles that they need. */
#include "api/api.h"
#include "http/server.h"
#include "metrics/metrics.h"

const sv_route sv_routes[] = {
    {"GET", "/v1/health", 0, SV_HERE, sv_get_health, "health"},
    {"GET", "/v1/me", SV_ANY_ROLE, SV_HERE, sv_get_me, "me"},
    {"GET", "/v1/stores", SV_READ | SV_PREDICT | SV_ERASE, SV_ON_WORKER, sv_get_stores, "stores"},
    {"GET", "/v1/metrics", SV_READ, SV_HERE, sv_get_metrics, "metrics"},
    {NULL, NULL, 0, SV_HERE, NULL, NULL},
};
