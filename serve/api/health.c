/* Whether the service is there, and who asks. */
#include "access/times.h"
#include "access/token_file.h"
#include "api/api.h"

sv_when sv_get_health(sv_request *request) {
    return sv_reply_json(request, 200,
                         json_pack("{s:s,s:s}", "status", "ok", "version", efface_version()));
}

sv_when sv_get_me(sv_request *request) {
    const sv_caller *const caller = &request->caller;
    return sv_reply_json(request, 200,
                         json_pack("{s:s,s:o,s:o}", "name", caller->name, "roles",
                                   sv_json_roles(caller->roles), "expires",
                                   sv_json_time(caller->expires)));
}
