/* What a request is answered with. */
#include "http/http.h"

#include "service.h"
#include "wiping.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A reply may have values of people in it. */
static void drop_body(sv_reply *reply) {
    sv_wipe_free(reply->body, reply->n_body);
    reply->body = NULL;
    reply->n_body = 0;
}

sv_when sv_reply_text(sv_request *request, int status, const char *content_type, char *text,
                      size_t n_text) {
    sv_reply *const reply = &request->reply;
    drop_body(reply);
    reply->status = status;
    reply->content_type = content_type;
    reply->body = text;
    reply->n_body = n_text;
    return SV_NOW;
}

void sv_reply_header(sv_request *request, const char *name, const char *value) {
    sv_reply *const reply = &request->reply;
    for (size_t i = 0; i < sizeof reply->headers / sizeof reply->headers[0]; i++)
        if (reply->headers[i].name == NULL) {
            reply->headers[i].name = name;
            strncpy(reply->headers[i].value, value, sizeof reply->headers[i].value - 1);
            return;
        }
}

static sv_when refuse_without_memory(sv_request *request) {
    static const char text[] =
        "{\"error\":{\"code\":\"memory\",\"message\":\"out of memory; try again later\"}}\n";
    drop_body(&request->reply);
    request->reply.status = 503;
    request->reply.content_type = "application/json";
    request->reply.page = text;
    request->reply.n_body = sizeof text - 1;
    return SV_NOW;
}

sv_when sv_reply_json(sv_request *request, int status, json_t *json) {
    char *const text = json != NULL ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    json_decref(json);
    return text != NULL ? sv_reply_text(request, status, "application/json", text, strlen(text))
                        : refuse_without_memory(request);
}

sv_when sv_reply_copy(sv_request *request, const char *json) {
    char *const copy = json != NULL ? strdup(json) : NULL;
    return copy != NULL ? sv_reply_text(request, 200, "application/json", copy, strlen(copy))
                        : refuse_without_memory(request);
}

sv_when sv_reply_result(sv_request *request, json_t *json, efface_status status,
                        const efface_error *error) {
    if (status == EFFACE_OK)
        return sv_reply_json(request, 200, json);
    json_decref(json);
    return sv_refuse_error(request, error);
}

sv_when sv_refuse(sv_request *request, int status, const char *code, const char *message) {
    const bool is_dsr =
        request->route != NULL && strncmp(request->route->path, "/opendsr/", 9) == 0;
    return sv_reply_json(
        request, status,
        is_dsr
            ? json_pack("{s:{s:i,s:s,s:[{s:s,s:s,s:s}]}}", "error", "code", status, "message",
                        message, "errors", "domain", "efface", "reason", code, "message", message)
            : json_pack("{s:{s:s,s:s}}", "error", "code", code, "message", message));
}

sv_when sv_refuse_memory(sv_request *request) {
    return sv_refuse(request, 503, "memory", "out of memory; try again later");
}

static const sv_problem unavailable = {503, 5, "unavailable",
                                       "the store cannot be used now; try again later"};

/* What the operating system said. */
static sv_problem problem_of_disk(int os_error) {
    if (os_error == ENOSPC || os_error == EDQUOT || os_error == EFBIG)
        return (sv_problem){507, 0, "full", "the disk is full; nothing was changed"};
    if (os_error == EROFS || os_error == EACCES || os_error == EPERM)
        return (sv_problem){503, 30, "read_only",
                            "the store cannot be written; nothing was changed"};
    return unavailable;
}

sv_problem sv_problem_of(const efface_error *error) {
    static const sv_problem problems[] = {
        [EFFACE_E_NOT_FOUND] = {404, 0, "not_found", "there is nothing of that name or number"},
        [EFFACE_E_DUPLICATE] = {409, 0, "duplicate", "a row of the request is there already"},
        [EFFACE_E_ARGUMENT] = {400, 0, "invalid",
                               "the request cannot be understood or carried out"},
        [EFFACE_E_FORMAT] = {400, 0, "invalid", "the request cannot be understood or carried out"},
        [EFFACE_E_LIMIT] = {422, 0, "limit", "a value or a weight is outside its limits"},
        [EFFACE_E_BUSY] = {503, 1, "busy", "another process uses the store; try again"},
        [EFFACE_E_CORRUPT] = {500, 0, "damaged", "the store is damaged; run efface check"},
    };
    const size_t status = (size_t)error->status;
    if (error->status == EFFACE_E_IO)
        return problem_of_disk(error->os_error);
    return status < sizeof problems / sizeof problems[0] && problems[status].status != 0
               ? problems[status]
               : unavailable;
}

sv_when sv_refuse_error(sv_request *request, const efface_error *error) {
    const sv_problem problem = sv_problem_of(error);
    char seconds[16];
    (void)snprintf(seconds, sizeof seconds, "%u", problem.retry_after);
    if (problem.retry_after != 0)
        sv_reply_header(request, "Retry-After", seconds);
    return sv_refuse(request, problem.status, problem.code, problem.message);
}

/* Lists and objects take far more memory than the two characters they may be written with. Inside
 * of texts these characters are none. */
static bool has_few_lists(const sv_request *request) {
    const size_t most = 2 * (size_t)request->service->options->max_rows + 1000;
    bool in_text = false;
    size_t n = 0;
    for (size_t i = 0; i < request->n_body; i++) {
        const char c = request->body[i];
        if (c == '"')
            in_text = !in_text;
        else if (c == '\\' && in_text)
            i++; /* what follows does not end the text */
        else if (!in_text)
            n += c == '[' || c == '{';
    }
    return n <= most;
}

json_t *sv_body_json(sv_request *request) {
    json_error_t error;
    if (strcmp(request->content_type, "application/json") != 0) {
        sv_refuse(request, 415, "content_type", "send JSON, with Content-Type: application/json");
        return NULL;
    }
    if (!has_few_lists(request)) {
        sv_refuse(request, 413, "too_long", "the body has too many rows; send several requests");
        return NULL;
    }
    json_t *const json = json_loadb(request->body != NULL ? request->body : "", request->n_body,
                                    JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(json))
        return json;
    if (json == NULL && json_error_code(&error) == json_error_numeric_overflow)
        sv_refuse(request, 400, "json",
                  "a number is too large; write ids and owners from 2^63 on as strings of digits");
    else
        sv_refuse(request, 400, "json", "the body must be an object in JSON");
    json_decref(json);
    return NULL;
}
