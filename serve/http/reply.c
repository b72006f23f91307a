/* What a request is answered with. */
#include "http/http.h"

#include "service.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* A reply may have values of people in it. */
static void drop_body(sv_reply *reply) {
    if (reply->body != NULL)
        sodium_memzero(reply->body, reply->n_body);
    free(reply->body);
    reply->body = NULL;
    reply->n_body = 0;
}

void sv_reply_text(sv_request *request, int status, const char *content_type, char *text,
                   size_t n_text) {
    sv_reply *const reply = &request->reply;
    drop_body(reply);
    reply->status = status;
    reply->content_type = content_type;
    reply->body = text;
    reply->n_body = n_text;
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

static void refuse_memory(sv_request *request) {
    static const char text[] =
        "{\"error\":{\"code\":\"memory\",\"message\":\"memory is short; try again later\"}}\n";
    drop_body(&request->reply);
    request->reply.status = 503;
    request->reply.content_type = "application/json";
    request->reply.page = text;
    request->reply.n_body = sizeof text - 1;
}

void sv_reply_json(sv_request *request, int status, json_t *json) {
    char *const text = json != NULL ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    json_decref(json);
    if (text != NULL)
        sv_reply_text(request, status, "application/json", text, strlen(text));
    else
        refuse_memory(request);
}

void sv_refuse(sv_request *request, int status, const char *code, const char *message) {
    sv_reply_json(request, status,
                  json_pack("{s:{s:s,s:s}}", "error", "code", code, "message", message));
}

void sv_refuse_error(sv_request *request, const efface_error *error) {
    switch (error->status) {
    case EFFACE_E_NOT_FOUND:
        sv_refuse(request, 404, "not_found", "there is nothing of that name or number");
        break;
    case EFFACE_E_DUPLICATE:
        sv_refuse(request, 409, "duplicate", "a row of the request is there already");
        break;
    case EFFACE_E_ARGUMENT:
    case EFFACE_E_FORMAT:
        sv_refuse(request, 400, "invalid", "the request cannot be understood or carried out");
        break;
    case EFFACE_E_LIMIT:
        sv_refuse(request, 422, "limit", "a value or a weight is outside its limits");
        break;
    case EFFACE_E_BUSY:
        sv_reply_header(request, "Retry-After", "1");
        sv_refuse(request, 503, "busy", "another process uses the store; try again");
        break;
    case EFFACE_E_CORRUPT:
        sv_refuse(request, 500, "damaged", "the store is damaged; run efface check");
        break;
    default:
        sv_reply_header(request, "Retry-After", "5");
        sv_refuse(request, 503, "unavailable", "the store cannot be used now; try again later");
    }
}

json_t *sv_body_json(sv_request *request) {
    json_error_t error;
    if (strcmp(request->content_type, "application/json") != 0) {
        sv_refuse(request, 415, "content_type", "send JSON, with Content-Type: application/json");
        return NULL;
    }
    json_t *const json = json_loadb(request->body != NULL ? request->body : "", request->n_body,
                                    JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(json))
        return json;
    json_decref(json);
    sv_refuse(request, 400, "json", "the body must be an object in JSON");
    return NULL;
}
