/* What is part of the program: the page, and the document of the interface. */
#include "api/api.h"
#include "api/embedded.h"

#include <string.h>

static void reply_file(sv_request *request, const sv_file *files, const char *name) {
    for (; files->name != NULL; files++)
        if (strcmp(files->name, name) == 0) {
            request->reply.status = 200;
            request->reply.content_type = files->content_type;
            request->reply.page = files->bytes;
            request->reply.n_body = files->n_bytes;
            return;
        }
    sv_refuse(request, 404, "no_path", "there is no such path; /v1/openapi.json lists all");
}

static const char first_page[] = "index.html"; /* its links lead from / only */

sv_when sv_get_page(sv_request *request) {
    reply_file(request, sv_page_files, first_page);
    return SV_NOW;
}

sv_when sv_get_page_file(sv_request *request) {
    const bool is_first = strcmp(request->parts[0], first_page) == 0;
    reply_file(request, sv_page_files, is_first ? "" : request->parts[0]);
    return SV_NOW;
}

sv_when sv_get_openapi(sv_request *request) {
    reply_file(request, sv_interface_files, "openapi.json");
    return SV_NOW;
}
