/*
 * The server: libmicrohttpd's threads read requests and send replies.
 *
 * A request goes through these steps. Its head is there: it is refused here unless its Host, path,
 * method, token and length are right. Its body is there: its handler runs, on this thread or on a
 * worker; in the second case the connection is suspended until sv_finish. It has a reply: that is
 * sent, and the request is overwritten and released.
 */
#include "http/server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#define CONNECTION_BYTES 16384 /* of memory, for the head of a request */
#define MOST_CONNECTIONS 16384
#define TIMEOUT_SECONDS 15
#define NETWORK_THREADS 2
#define SHORT_BODY 65536 /* a longer one is read by a worker */

struct sv_server {
    sv_service *service;
    struct MHD_Daemon *daemon;
    sv_workers *workers;
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a request did */
    size_t n_requests;    /* that have not ended */
    bool stops;
    uint16_t port;
};

typedef enum step { STEP_HEAD, STEP_BODY, STEP_HANDLING, STEP_REPLY } step;

struct sv_connection {
    sv_request request;
    struct MHD_Connection *mhd;
    sv_server *server;
    char *path;
    size_t capacity; /* of the body */
    step step;
};

double sv_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

const char *sv_query(const sv_request *request, const char *name) {
    return MHD_lookup_connection_value(request->connection->mhd, MHD_GET_ARGUMENT_KIND, name);
}

static const char *header(const struct sv_connection *c, const char *name) {
    const char *const value = MHD_lookup_connection_value(c->mhd, MHD_HEADER_KIND, name);
    return value != NULL ? value : "";
}

/* ---------------------------------------------------------------- replies */

static const char *const always[][2] = {
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
     "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

static void wipe_body(void *body) {
    free(body);
}

static enum MHD_Result send_reply(struct sv_connection *c) {
    sv_reply *const reply = &c->request.reply;
    struct MHD_Response *const response =
        reply->body != NULL
            ? MHD_create_response_from_buffer_with_free_callback(reply->n_body, reply->body,
                                                                 wipe_body)
            : MHD_create_response_from_buffer(
                  reply->n_body, (void *)(uintptr_t)(reply->page != NULL ? reply->page : ""),
                  MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        return MHD_NO;
    reply->body = NULL;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        (void)MHD_add_response_header(response, always[i][0], always[i][1]);
    if (reply->content_type != NULL)
        (void)MHD_add_response_header(response, "Content-Type", reply->content_type);
    for (size_t i = 0; i < sizeof reply->headers / sizeof reply->headers[0]; i++)
        if (reply->headers[i].name != NULL)
            (void)MHD_add_response_header(response, reply->headers[i].name,
                                          reply->headers[i].value);
    const enum MHD_Result result =
        MHD_queue_response(c->mhd, (unsigned int)reply->status, response);
    MHD_destroy_response(response);
    return result;
}

void sv_hold(sv_request *request) {
    if (!request->on_worker)
        MHD_suspend_connection(request->connection->mhd);
}

void sv_move_to_worker(sv_request *request) {
    sv_hold(request);
    request->on_worker = true;
    sv_workers_add(request->connection->server->workers, request);
}

void sv_finish(sv_request *request) {
    struct sv_connection *const c = request->connection;
    c->step = STEP_REPLY;
    MHD_resume_connection(c->mhd);
}

/* ---------------------------------------------------------------- requests */

static bool check_token(struct sv_connection *c) {
    sv_request *const r = &c->request;
    const char *const given = header(c, "Authorization");
    if (strncasecmp(given, "Bearer ", 7) != 0) {
        sv_reply_header(r, "WWW-Authenticate", "Bearer");
        sv_refuse(r, 401, "no_token", "send a token: Authorization: Bearer efface_...");
        return false;
    }
    switch (sv_tokens_find(r->service->tokens, given + 7, &r->caller)) {
    case SV_UNKNOWN:
        sv_refuse(r, 401, "unknown_token", "the token is not known, or was revoked");
        return false;
    case SV_EXPIRED:
        sv_refuse(r, 401, "expired_token", "the token has expired; ask for a new one");
        return false;
    case SV_KNOWN: break;
    }
    if ((r->caller.roles & (r->route->roles | SV_ADMIN)) != 0)
        return true;
    sv_refuse(r, 403, "role", "the token does not have a role that may do this");
    return false;
}

/* Whether the head of a request is in order; if not, there is a reply. */
static bool check_head(struct sv_connection *c, const char *method) {
    sv_request *const r = &c->request;
    char allowed[64];
    switch (sv_route_find(sv_routes, method, c->path, &r->route, r->parts, allowed)) {
    case SV_NO_PATH:
        sv_refuse(r, 404, "no_path", "there is no such path; /v1/openapi.json lists all");
        return false;
    case SV_NO_METHOD:
        sv_reply_header(r, "Allow", allowed);
        sv_refuse(r, 405, "no_method", "the path has no such method");
        return false;
    case SV_ROUTED: break;
    }
    if (r->route->roles != 0 && !check_token(c))
        return false;
    const char *const length = header(c, "Content-Length");
    if (strtoull(length, NULL, 10) > r->service->options->most_body) {
        sv_refuse(r, 413, "too_long", "the body is too long; send fewer rows at once");
        return false;
    }
    return true;
}

static bool add_to_body(struct sv_connection *c, const char *bytes, size_t n) {
    sv_request *const r = &c->request;
    if (n > r->service->options->most_body - r->n_body)
        return false;
    if (r->n_body + n + 1 > c->capacity) {
        const size_t capacity = 2 * c->capacity + n + 1;
        char *const body = realloc(r->body, capacity);
        if (body == NULL)
            return false;
        r->body = body;
        c->capacity = capacity;
    }
    memcpy(r->body + r->n_body, bytes, n);
    r->n_body += n;
    r->body[r->n_body] = 0;
    return true;
}

static enum MHD_Result run_handler(struct sv_connection *c) {
    sv_request *const r = &c->request;
    c->step = STEP_HANDLING;
    if (r->route->where == SV_ON_WORKER || r->n_body > SHORT_BODY) {
        sv_move_to_worker(r);
        return MHD_YES;
    }
    return r->route->handle(r) == SV_NOW ? send_reply(c) : MHD_YES;
}

static struct sv_connection *begin(sv_server *server, struct MHD_Connection *mhd,
                                   const char *path) {
    struct sv_connection *const c = calloc(1, sizeof *c);
    char *const copy = strdup(path);
    if (c == NULL || copy == NULL) {
        free(c);
        free(copy);
        return NULL;
    }
    c->mhd = mhd;
    c->server = server;
    c->path = copy;
    c->request.service = server->service;
    c->request.connection = c;
    c->request.begin = sv_now();
    c->request.content_type = header(c, "Content-Type");
    c->request.accept = header(c, "Accept");
    pthread_mutex_lock(&server->lock);
    server->n_requests++;
    pthread_mutex_unlock(&server->lock);
    return c;
}

static enum MHD_Result receive(void *context, struct MHD_Connection *mhd, const char *path,
                               const char *method, const char *version, const char *bytes,
                               size_t *n_bytes, void **own) {
    (void)version;
    struct sv_connection *c = *own;
    if (c == NULL) {
        c = *own = begin(context, mhd, path);
        if (c == NULL)
            return MHD_NO;
        if (!check_head(c, method))
            return send_reply(c);
        c->step = STEP_BODY;
        return MHD_YES;
    }
    if (c->step == STEP_REPLY)
        return send_reply(c);
    if (c->step != STEP_BODY)
        return MHD_YES;
    if (*n_bytes == 0)
        return run_handler(c);
    if (!add_to_body(c, bytes, *n_bytes))
        return MHD_NO;
    *n_bytes = 0;
    return MHD_YES;
}

static void complete(void *context, struct MHD_Connection *mhd, void **own,
                     enum MHD_RequestTerminationCode how) {
    (void)mhd;
    (void)how;
    sv_server *const server = context;
    struct sv_connection *const c = *own;
    if (c == NULL)
        return;
    *own = NULL;
    if (c->request.body != NULL)
        sodium_memzero(c->request.body, c->request.n_body);
    free(c->request.body);
    free(c->request.reply.body);
    free(c->path);
    free(c);
    pthread_mutex_lock(&server->lock);
    server->n_requests--;
    pthread_cond_signal(&server->ended);
    pthread_mutex_unlock(&server->lock);
}

/* ---------------------------------------------------------------- starting and stopping */

/* Divides "host:port" or "[host]:port", and looks the address up. */
static struct addrinfo *look_up(const char *listen, char *message, size_t n_message) {
    char host[256];
    struct addrinfo *found = NULL;
    const char *const colon = strrchr(listen, ':');
    size_t n = colon != NULL ? (size_t)(colon - listen) : 0;
    const bool brackets = n >= 2 && listen[0] == '[' && listen[n - 1] == ']';
    if (colon == NULL || n >= sizeof host) {
        (void)snprintf(message, n_message, "--listen needs an address and a port: 127.0.0.1:8741");
        return NULL;
    }
    memcpy(host, listen + brackets, n - 2 * brackets);
    host[n - 2 * brackets] = 0;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    const int failed = getaddrinfo(host[0] != 0 ? host : NULL, colon + 1, &hints, &found);
    if (failed != 0)
        (void)snprintf(message, n_message, "--listen %s: %s", listen, gai_strerror(failed));
    return failed == 0 ? found : NULL;
}

static uint16_t port_of(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *const info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info != NULL ? info->port : 0;
}

bool sv_server_start(sv_service *service, char *message, size_t n_message) {
    struct addrinfo *const address = look_up(service->options->listen, message, n_message);
    if (address == NULL)
        return false;
    sv_server *const server = calloc(1, sizeof *server);
    if (server == NULL || !sv_workers_start(service->options->n_workers, &server->workers)) {
        (void)snprintf(message, n_message, "memory is short");
        freeaddrinfo(address);
        free(server);
        return false;
    }
    server->service = service;
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->ended, NULL);
    service->server = server;
    const unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                               (address->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, receive, server, MHD_OPTION_SOCK_ADDR, address->ai_addr,
        MHD_OPTION_NOTIFY_COMPLETED, complete, server, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)MOST_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)TIMEOUT_SECONDS, MHD_OPTION_THREAD_POOL_SIZE,
        (unsigned int)NETWORK_THREADS, MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024u, MHD_OPTION_END);
    freeaddrinfo(address);
    if (server->daemon == NULL) {
        (void)snprintf(message, n_message, "cannot listen on %s: the port may be in use",
                       service->options->listen);
        sv_server_stop(server);
        service->server = NULL;
        return false;
    }
    server->port = port_of(server->daemon);
    return true;
}

uint16_t sv_server_port(const sv_server *server) {
    return server->port;
}

void sv_server_stop(sv_server *server) {
    if (server == NULL)
        return;
    if (server->daemon != NULL) {
        const MHD_socket socket = MHD_quiesce_daemon(server->daemon);
        pthread_mutex_lock(&server->lock);
        server->stops = true;
        while (server->n_requests != 0)
            pthread_cond_wait(&server->ended, &server->lock);
        pthread_mutex_unlock(&server->lock);
        sv_workers_stop(server->workers);
        MHD_stop_daemon(server->daemon);
        if (socket != MHD_INVALID_SOCKET)
            (void)shutdown(socket, SHUT_RDWR);
    } else {
        sv_workers_stop(server->workers);
    }
    pthread_cond_destroy(&server->ended);
    pthread_mutex_destroy(&server->lock);
    free(server);
}
