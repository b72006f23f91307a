/* Whether the service is there, and who asks. */
#include "access/times.h"
#include "api/api.h"
#include "api/values.h"

sv_when sv_get_health(sv_request *request) {
    return sv_reply_json(request, 200,
                         json_pack("{s:s,s:s}", "status", "ok", "version", efface_version()));
}

sv_when sv_get_me(sv_request *request) {
    static const struct {
        const char *name;
        unsigned role;
    } roles[] = {
        {"read", SV_READ}, {"predict", SV_PREDICT}, {"erase", SV_ERASE}, {"admin", SV_ADMIN}};
    const sv_caller *const caller = &request->caller;
    json_t *const names = json_array();
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if ((caller->roles & roles[i].role) != 0)
            sv_json_add(names, json_string(roles[i].name));
    char expires[32] = "";
    if (caller->expires != 0)
        sv_time_write(caller->expires, expires);
    return sv_reply_json(request, 200,
                         json_pack("{s:s,s:o,s:o}", "name", caller->name, "roles", names, "expires",
                                   expires[0] != 0 ? json_string(expires) : json_null()));
}
