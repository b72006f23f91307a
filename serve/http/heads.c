/*
 * What the head of a request has to be, before its body is read.
 *
 * Everything that a request may not do is refused here: without a right Host, a path and a method
 * that exist, a token with the role, and a body of a right length, no handler runs.
 */
#include "access/audit.h"
#include "access/hosts.h"
#include "http/connection.h"
#include "rooms/rooms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The headers that decide, and how often each was sent. */
enum { HOST, LENGTH, ENCODING, AUTHORIZATION, N_DECIDING };
static const char *const deciding[N_DECIDING] = {"Host", "Content-Length", "Transfer-Encoding",
                                                 "Authorization"};

typedef struct heads {
    unsigned n_odd_names, n[N_DECIDING];
    const char *value[N_DECIDING];
} heads;

/* A name that no header has. libmicrohttpd 0.9 takes what stands before a colon as it is, with
 * spaces; and it adds the second line of a header that goes on there to the name, not to the value:
 * a length that was written so would be overlooked, and its body be taken for another request. */
static bool is_odd(const char *name) {
    for (size_t i = LENGTH; i <= ENCODING; i++) {
        const size_t n = strlen(deciding[i]);
        if (strncasecmp(name, deciding[i], n) == 0 && name[n] != 0)
            return true;
    }
    const size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789!#$%&'*+-.^_`|~");
    return n == 0 || name[n] != 0;
}

static enum MHD_Result note_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value) {
    (void)kind;
    heads *const h = context;
    const char *const text = value != NULL ? value : "";
    h->n_odd_names += is_odd(name);
    for (size_t i = 0; i < N_DECIDING; i++)
        if (strcasecmp(name, deciding[i]) == 0) {
            h->n[i]++;
            h->value[i] = text;
        }
    return MHD_YES;
}

/* Refuses a request whose end cannot be told: what follows it on the connection may be anything. */
static bool refuse_framing(sv_request *r) {
    r->reply.ends_connection = true;
    return sv_refuse(r, 400, "framing",
                     "send one Content-Length, or Transfer-Encoding: chunked, and not both");
}

static bool check_framing(sv_request *r, const heads *h) {
    if (h->n_odd_names != 0) {
        r->reply.ends_connection = true;
        return sv_refuse(r, 400, "framing",
                         "a header has a name that is none, or goes on in a new line");
    }
    if (h->n[LENGTH] > 1 || h->n[ENCODING] > 1 || (h->n[LENGTH] != 0 && h->n[ENCODING] != 0))
        return refuse_framing(r);
    if (h->n[ENCODING] != 0 && strcasecmp(h->value[ENCODING], "chunked") != 0)
        return refuse_framing(r);
    if (h->n[LENGTH] != 0 && (h->value[LENGTH][0] == 0 ||
                              strspn(h->value[LENGTH], "0123456789") != strlen(h->value[LENGTH])))
        return refuse_framing(r);
    return true;
}

static bool check_host(sv_request *r, const heads *h) {
    const sv_options *const o = r->service->options;
    if (h->n[HOST] == 1 && sv_host_ok(h->value[HOST], o->listen, sv_server_port(r->service->server),
                                      o->hosts, o->n_hosts))
        return true;
    r->reply.ends_connection = true;
    return sv_refuse(r, 421, "host",
                     "the Host header names another host; see --host of efface serve");
}

static bool check_route(struct sv_connection *c, const char *method) {
    sv_request *const r = &c->request;
    char allowed[64];
    switch (sv_route_find(sv_routes, method, c->path, &r->route, r->parts, allowed)) {
    case SV_NO_PATH:
        return sv_refuse(r, 404, "no_path", "there is no such path; /v1/openapi.json lists all");
    case SV_NO_METHOD:
        sv_reply_header(r, "Allow", allowed);
        return sv_refuse(r, 405, "no_method", "the path has no such method");
    case SV_ROUTED:
        if (sv_route_names_store(r->route))
            r->room = sv_rooms_find(r->service->rooms, r->parts[0]);
    }
    return true;
}

static bool check_token(struct sv_connection *c, const heads *h) {
    sv_request *const r = &c->request;
    if (h->n[AUTHORIZATION] != 1 || strncasecmp(h->value[AUTHORIZATION], "Bearer ", 7) != 0) {
        sv_reply_header(r, "WWW-Authenticate", "Bearer");
        return sv_refuse(r, 401, "no_token", "send a token: Authorization: Bearer efface_...");
    }
    const char *const text = h->value[AUTHORIZATION] + 7;
    r->token = text + strspn(text, " ");
    switch (sv_tokens_find(r->service->tokens, r->token, &r->caller)) {
    case SV_UNKNOWN:
        sv_reply_header(r, "WWW-Authenticate", "Bearer error=\"invalid_token\"");
        return sv_refuse(r, 401, "unknown_token", "the token is not known, or was revoked");
    case SV_EXPIRED:
        sv_reply_header(r, "WWW-Authenticate", "Bearer error=\"invalid_token\"");
        return sv_refuse(r, 401, "expired_token", "the token has expired; ask for a new one");
    case SV_KNOWN: break;
    }
    sv_peer_known(c->peer);
    const int wait = sv_server_take(c);
    if (wait != 0) {
        char seconds[16];
        (void)snprintf(seconds, sizeof seconds, "%d", wait);
        sv_reply_header(r, "Retry-After", seconds);
        return sv_refuse(
            r, 429, "rate",
            "the token makes too many requests, or has too many under way; try again later");
    }
    if ((r->caller.roles & (r->route->roles | SV_ADMIN)) != 0)
        return true;
    return sv_refuse(r, 403, "role", "the token does not have a role that may do this");
}

static bool check_audit(sv_request *r) {
    if (!sv_audit_needs_line(r->route))
        return true;
    const int trouble = sv_audit_trouble(r->service->audit);
    if (trouble == 0)
        return true;
    sv_reply_header(r, "Retry-After", "5");
    if (trouble == ENOSPC || trouble == EDQUOT)
        return sv_refuse(r, 507, "full", "the disk of the audit log is full; nothing was changed");
    if (trouble == EROFS)
        return sv_refuse(r, 503, "read_only",
                         "the disk of the audit log cannot be written; nothing was changed");
    return sv_refuse(r, 503, "audit", "the audit log cannot be written; nothing was changed");
}

static bool check_length(sv_request *r, const heads *h) {
    if (h->n[LENGTH] == 0 ||
        (strlen(h->value[LENGTH]) < 19 &&
         strtoull(h->value[LENGTH], NULL, 10) <= r->service->options->max_body))
        return true;
    return sv_refuse(r, 413, "too_long", "the body is too long; send fewer rows at once");
}

/* A service that ends says so to whoever asks on a connection that is still open. */
static bool refuse_stopping(sv_request *r) {
    r->reply.ends_connection = true;
    if (r->route != NULL && strcmp(r->route->action, "health") == 0)
        return sv_reply_json(r, 503, json_pack("{s:s}", "status", "stopping"));
    return sv_refuse(r, 503, "stopping", "the service ends; nothing was changed");
}

bool sv_head_ok(struct sv_connection *c, const char *method) {
    sv_request *const r = &c->request;
    heads h;
    memset(&h, 0, sizeof h);
    (void)MHD_get_connection_values(c->mhd, MHD_HEADER_KIND, note_header, &h);
    if (!check_framing(r, &h) || !check_host(r, &h))
        return false;
    if (c->url_too_long)
        return sv_refuse(r, 414, "url", "the address is too long");
    if (!check_route(c, method))
        return false;
    if (sv_server_stops(c->server))
        return refuse_stopping(r);
    return (r->route->roles == 0 || check_token(c, &h)) && check_audit(r) && check_length(r, &h);
}
