/*
 * The server: libmicrohttpd's threads read requests and send replies.
 *
 * A request goes through these steps. Its first line is there: it gets a struct. Its head is there:
 * it is refused unless it is in order (heads.c). Its body is there: its handler runs, on this
 * thread or on a worker; if the reply comes later, the connection is suspended until sv_finish. It
 * has a reply: that is counted, logged and sent, and the request is overwritten and released.
 *
 * A request that is refused for its head has a reply before its body was read. A short body is read
 * and thrown away first, for a client that is still sending might not look at a reply; with a long
 * one the connection ends.
 */
#include "access/audit.h"
#include "access/rates.h"
#include "http/connection.h"
#include "http/service_log.h"
#include "metrics/metrics.h"
#include "wiping.h"

#include <ctype.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define CONNECTION_BYTES 16384 /* of memory, for the head of a request */
#define MAX_URL 2048
#define SHORT_BODY 4096 /* a longer one is read by a worker */
#define LONG_BODY 65536 /* a longer one is read by a thread for long bodies */
#define N_LONG 2        /* of these threads */
#define MAX_DISCARDED (256 * 1024)
#define IN_MEMORY ((size_t)1 << 30) /* bytes of bodies and answers; or 16 of the longest bodies */
#define TIMEOUT_SECONDS 120         /* without any byte; the door is stricter */
#define MAX_THREADS 4               /* of the network */
#define STACK_BYTES 32768           /* deeper than handlers go; the library overwrites its own */

struct sv_server {
    sv_service *service;
    struct MHD_Daemon *daemon;
    sv_door *door;
    sv_workers *workers, *long_bodies, *reader; /* of SV_ON_WORKER, SV_ON_LONG, SV_ON_READER */
    sv_rates *rates;
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a request did */
    size_t n_requests;    /* that have not ended */
    atomic_bool stops;
};

double sv_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double sv_worked(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void sv_wipe_stack(void) {
    sodium_stackzero(STACK_BYTES);
}

const char *sv_query(const sv_request *request, const char *name) {
    return MHD_lookup_connection_value(request->connection->mhd, MHD_GET_ARGUMENT_KIND, name);
}

static const char *header(const struct sv_connection *c, const char *name) {
    const char *const value = MHD_lookup_connection_value(c->mhd, MHD_HEADER_KIND, name);
    return value != NULL ? value : "";
}

bool sv_server_stops(const sv_server *server) {
    return atomic_load(&server->stops);
}

int sv_server_take(struct sv_connection *c) {
    const int wait = sv_rates_take(c->server->rates, c->request.caller.name, sv_now());
    c->taken = wait == 0;
    return wait;
}

/* ---------------------------------------------------------------- memory */

/* Takes memory for a body or an answer. Short ones are not counted: there are few of a token. */
static bool hold_memory(struct sv_connection *c, size_t n_bytes, bool anyhow) {
    if (n_bytes <= SHORT_BODY)
        return true;
    if (!sv_rates_hold(c->server->rates, c->request.caller.name, n_bytes, anyhow))
        return false;
    c->n_held += n_bytes;
    return true;
}

/* Some of it. */
static void let_go_some(struct sv_connection *c, size_t n_bytes) {
    if (n_bytes <= SHORT_BODY)
        return;
    sv_rates_let_go(c->server->rates, c->request.caller.name, n_bytes);
    c->n_held -= n_bytes;
}

static void let_go_memory(struct sv_connection *c) {
    if (c->n_held != 0)
        sv_rates_let_go(c->server->rates, c->request.caller.name, c->n_held);
    c->n_held = 0;
}

static void refuse_more_memory(sv_request *r) {
    sv_reply_header(r, "Retry-After", "1");
    sv_refuse(r, 429, "rate",
              "bodies and answers of the token, or of all, take too much memory; try again later");
}

/* The body is of no use any more; its length is, for the log. An answer that says what was changed
 * is sent in any case. */
static void change_body_for_answer(struct sv_connection *c) {
    sv_request *const r = &c->request;
    sv_wipe_free(r->body, r->n_body);
    r->body = NULL;
    let_go_memory(c);
    if (r->reply.body != NULL && !hold_memory(c, r->reply.n_body, r->reply.receipt != 0))
        refuse_more_memory(r);
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

/* Once for each request that has a reply, whether or not anybody is left to read it. */
static void account(struct sv_connection *c) {
    sv_service *const service = c->server->service;
    if (c->accounted || c->request.reply.status == 0)
        return;
    c->accounted = true;
    sv_audit_request(service->audit, &c->request);
    sv_metrics_request(service->metrics, &c->request);
    sv_log_request(&c->request);
}

/* The body of a reply stays with the request, which is overwritten when it is complete. */
static enum MHD_Result send_reply(struct sv_connection *c) {
    sv_reply *const reply = &c->request.reply;
    change_body_for_answer(c);
    const void *const bytes = reply->body != NULL ? reply->body : reply->page;
    struct MHD_Response *const response = MHD_create_response_from_buffer(
        reply->n_body, (void *)(uintptr_t)(bytes != NULL ? bytes : ""), MHD_RESPMEM_PERSISTENT);
    account(c);
    c->step = SV_STEP_SENT;
    if (response == NULL)
        return MHD_NO;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        (void)MHD_add_response_header(response, always[i][0], always[i][1]);
    if (reply->content_type != NULL)
        (void)MHD_add_response_header(response, "Content-Type", reply->content_type);
    for (size_t i = 0; i < sizeof reply->headers / sizeof reply->headers[0]; i++)
        if (reply->headers[i].name != NULL)
            (void)MHD_add_response_header(response, reply->headers[i].name,
                                          reply->headers[i].value);
    if (reply->ends_connection || sv_server_stops(c->server))
        (void)MHD_add_response_header(response, "Connection", "close");
    sv_peer_phase(c->peer, SV_SENDS, reply->n_body);
    const enum MHD_Result result =
        MHD_queue_response(c->mhd, (unsigned int)reply->status, response);
    MHD_destroy_response(response);
    return result;
}

void sv_hold(sv_request *request) {
    if (request->at == SV_HERE)
        MHD_suspend_connection(request->connection->mhd);
}

static sv_workers *workers_at(const sv_server *server, sv_where where) {
    return where == SV_ON_READER ? server->reader
           : where == SV_ON_LONG ? server->long_bodies
                                 : server->workers;
}

void sv_move(sv_request *request, sv_where where) {
    sv_workers *const workers = workers_at(request->connection->server, where);
    sv_hold(request);
    request->at = where;
    sv_workers_add(workers, request);
}

void sv_go_on_later(sv_request *request) {
    sv_workers_add_again(workers_at(request->connection->server, request->at), request);
}

void sv_note_reading(sv_request *request, double seconds) {
    sv_rates_note_reading(request->connection->server->rates, request->caller.name, sv_now(),
                          seconds);
}

bool sv_reads_much(const sv_request *request) {
    return sv_rates_reads_much(request->connection->server->rates, request->caller.name, sv_now());
}

void sv_finish(sv_request *request) {
    struct sv_connection *const c = request->connection;
    c->step = SV_STEP_REPLY;
    MHD_resume_connection(c->mhd);
}

/* ---------------------------------------------------------------- requests */

/* False, with a reply, if out of memory, or the token has too much. */
static bool add_to_body(struct sv_connection *c, const char *bytes, size_t n) {
    sv_request *const r = &c->request;
    if (r->n_body + n + 1 > c->capacity) {
        const size_t capacity = 2 * c->capacity + n + 1;
        if (!hold_memory(c, capacity, false)) {
            refuse_more_memory(r);
            return false;
        }
        char *const body = malloc(capacity);
        if (body == NULL) {
            sv_refuse_memory(r);
            return false;
        }
        if (r->body != NULL)
            memcpy(body, r->body, r->n_body);
        sv_wipe_free(r->body, r->n_body);
        let_go_some(c, c->capacity);
        r->body = body;
        c->capacity = capacity;
    }
    memcpy(r->body + r->n_body, bytes, n);
    r->n_body += n;
    r->body[r->n_body] = 0;
    return true;
}

static void drop_body(sv_request *r) {
    sv_wipe_free(r->body, r->n_body);
    r->body = NULL;
    r->n_body = 0;
}

/* A part of a body. Only chunks can bring more than the head has said. */
static enum MHD_Result take_part(struct sv_connection *c, const char *bytes, size_t n) {
    sv_request *const r = &c->request;
    sv_peer_received(c->peer, n);
    if (c->step == SV_STEP_REFUSED) {
        c->n_discarded += n;
        return c->n_discarded <= MAX_DISCARDED ? MHD_YES : MHD_NO;
    }
    if (n > r->service->options->max_body - r->n_body) {
        drop_body(r);
        r->reply.ends_connection = true;
        sv_refuse(r, 413, "too_long", "the body is too long; send fewer rows at once");
        c->step = SV_STEP_REFUSED;
    } else if (!add_to_body(c, bytes, n)) {
        drop_body(r);
        r->reply.ends_connection = true;
        c->step = SV_STEP_REFUSED;
    }
    return MHD_YES;
}

sv_when sv_handle(sv_request *request) {
    if (request->room == NULL && sv_route_names_store(request->route))
        return sv_refuse(request, 404, "no_store",
                         "no store of that name is served; see /v1/stores");
    const sv_when when = request->route->handle(request);
    sv_wipe_stack();
    return when;
}

static sv_where where_to(const sv_request *r) {
    return r->n_body > LONG_BODY                                  ? SV_ON_LONG
           : r->n_body > SHORT_BODY && r->route->where == SV_HERE ? SV_ON_WORKER
                                                                  : r->route->where;
}

static enum MHD_Result run_handler(struct sv_connection *c) {
    sv_request *const r = &c->request;
    const sv_where where = where_to(r);
    c->step = SV_STEP_HANDLING;
    sv_peer_phase(c->peer, SV_HANDLED, 0);
    if (where != SV_HERE) {
        sv_move(r, where);
        return MHD_YES;
    }
    return sv_handle(r) == SV_NOW ? send_reply(c) : MHD_YES;
}

/* "Application/JSON; charset=utf-8" is application/json. */
static void note_content_type(struct sv_connection *c) {
    const char *const given = header(c, "Content-Type");
    size_t n = strcspn(given, "; \t");
    n = n < sizeof c->content_type ? n : sizeof c->content_type - 1;
    for (size_t i = 0; i < n; i++)
        c->content_type[i] = (char)tolower((unsigned char)given[i]);
    c->request.content_type = c->content_type;
    c->request.accept = header(c, "Accept");
    c->request.host = header(c, "Host");
}

/* The first line of a request is there. libmicrohttpd hands on the path decoded, so that a coded
 * slash looks like any other; this one is as it was sent. */
static void *begin_request(void *context, const char *uri, struct MHD_Connection *mhd) {
    sv_server *const server = context;
    struct sv_connection *const c = calloc(1, sizeof *c);
    const size_t n_uri = strlen(uri), n_path = strcspn(uri, "?#");
    char *const path = c != NULL ? calloc(1, n_path + 1) : NULL;
    if (path == NULL) {
        free(c);
        return NULL;
    }
    memcpy(path, uri, n_path);
    c->path = path;
    c->url_too_long = n_uri > MAX_URL;
    c->mhd = mhd;
    c->server = server;
    c->peer = sv_peer_of(mhd);
    c->request.service = server->service;
    c->request.connection = c;
    c->request.content_type = c->request.accept = c->request.host = "";
    c->request.begin = sv_now();
    sv_peer_phase(c->peer, SV_HEAD, 0);
    return c;
}

/* Whether a body follows that is worth reading though the request is refused. */
static bool discards(const struct sv_connection *c) {
    if (header(c, "Expect")[0] != 0 || c->request.reply.ends_connection)
        return false;
    if (strcasecmp(header(c, "Transfer-Encoding"), "chunked") == 0)
        return true;
    const char *const length = header(c, "Content-Length");
    return strlen(length) < 10 && strtoul(length, NULL, 10) <= MAX_DISCARDED &&
           strtoul(length, NULL, 10) != 0;
}

static enum MHD_Result take_head(struct sv_connection *c, const char *method) {
    pthread_mutex_lock(&c->server->lock);
    c->server->n_requests++;
    pthread_mutex_unlock(&c->server->lock);
    c->counted = true;
    c->request.begin = sv_now();
    note_content_type(c);
    const bool ok = sv_head_ok(c, method);
    if (!ok && !discards(c))
        return send_reply(c);
    c->step = ok ? SV_STEP_BODY : SV_STEP_REFUSED;
    sv_peer_phase(c->peer, SV_BODY, 0);
    return MHD_YES;
}

static enum MHD_Result receive_request(void *context, struct MHD_Connection *mhd, const char *path,
                                       const char *method, const char *version, const char *bytes,
                                       size_t *n_bytes, void **own) {
    (void)context;
    (void)mhd;
    (void)path;
    (void)version;
    struct sv_connection *const c = *own;
    if (c == NULL)
        return MHD_NO;
    switch (c->step) {
    case SV_STEP_BEGUN: return take_head(c, method);
    case SV_STEP_BODY:
    case SV_STEP_REFUSED:
        if (*n_bytes == 0)
            return c->step == SV_STEP_BODY ? run_handler(c) : send_reply(c);
        const enum MHD_Result taken = take_part(c, bytes, *n_bytes);
        /* This is memory of the connection, which libmicrohttpd releases as it is. */
        sodium_memzero((void *)(uintptr_t)bytes, *n_bytes);
        *n_bytes = 0;
        return taken;
    case SV_STEP_REPLY: return send_reply(c);
    case SV_STEP_HANDLING:
    case SV_STEP_SENT: break;
    }
    return MHD_YES;
}

static void complete_request(void *context, struct MHD_Connection *mhd, void **own,
                             enum MHD_RequestTerminationCode how) {
    (void)mhd;
    (void)how;
    sv_server *const server = context;
    struct sv_connection *const c = *own;
    if (c == NULL)
        return;
    *own = NULL;
    account(c);
    sv_peer_phase(c->peer, SV_WAITS, 0);
    drop_body(&c->request);
    let_go_memory(c);
    sv_wipe_free(c->request.reply.body, c->request.reply.n_body);
    const bool counted = c->counted;
    if (c->taken)
        sv_rates_give_back(server->rates, c->request.caller.name);
    free(c->path);
    free(c);
    if (!counted)
        return;
    pthread_mutex_lock(&server->lock);
    server->n_requests--;
    pthread_cond_signal(&server->ended);
    pthread_mutex_unlock(&server->lock);
}

/* ---------------------------------------------------------------- starting and stopping */

static unsigned count_threads(void) {
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (n > MAX_THREADS ? MAX_THREADS : (unsigned)n);
}

/* Other machines may only reach a service that knows whom to let in, and whose line is encrypted.
 */
static bool check_reach(const sv_service *service, const sv_door *door, sv_why *why) {
    if (sv_door_is_loopback(door))
        return true;
    if (!service->options->behind_tls)
        return sv_fail(why,
                       "%s can be reached from other machines, and tokens would cross the network "
                       "in clear; listen on 127.0.0.1 behind a proxy that encrypts, or say "
                       "--behind-tls if there is one",
                       service->options->listen);
    if (!sv_tokens_any(service->tokens))
        return sv_fail(why,
                       "%s can be reached from other machines, and there is no valid token in %s; "
                       "make one first: efface token new NAME --role ROLES",
                       service->options->listen, service->options->tokens);
    return true;
}

static bool start_daemon(sv_server *server) {
    const unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                               MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET;
    const unsigned n_threads = count_threads();
    /* The door counts; the limit of libmicrohttpd holds for each thread. */
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, receive_request, server, MHD_OPTION_NOTIFY_COMPLETED,
        complete_request, server, MHD_OPTION_NOTIFY_CONNECTION, sv_door_notify, server->door,
        MHD_OPTION_URI_LOG_CALLBACK, begin_request, server, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_LIMIT,
        (sv_door_limit(server->door) + 1) * n_threads, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned int)TIMEOUT_SECONDS, MHD_OPTION_THREAD_POOL_SIZE, n_threads > 1 ? n_threads : 0,
        MHD_OPTION_END);
    return server->daemon != NULL &&
           sv_door_open(server->door, server->daemon, server->service->metrics);
}

bool sv_server_start(sv_service *service, sv_why *why) {
    const sv_options *const options = service->options;
    const size_t bodies = 16 * options->max_body;
    sv_door *door = NULL;
    if (!sv_door_listen(options->listen, options->patience, &door, why))
        return false;
    if (!check_reach(service, door, why)) {
        sv_door_free(door);
        return false;
    }
    sv_server *const server = calloc(1, sizeof *server);
    if (server == NULL) {
        (void)sv_fail_memory(why);
        sv_door_free(door);
        return false;
    }
    server->service = service;
    server->door = door;
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->ended, NULL);
    service->server = server;
    if (!sv_rates_open(options->rate, options->max_under_way,
                       bodies > IN_MEMORY ? bodies : IN_MEMORY, &server->rates) ||
        !sv_workers_start(options->n_workers, false, &server->workers) ||
        !sv_workers_start(N_LONG, false, &server->long_bodies) ||
        !sv_workers_start(1, true, &server->reader) || !start_daemon(server)) {
        (void)sv_fail(why, "there is no memory, or there are no threads, for the "
                           "server");
        sv_server_stop(server);
        service->server = NULL;
        return false;
    }
    return true;
}

uint16_t sv_server_port(const sv_server *server) {
    return sv_door_port(server->door);
}

/* Waits until all requests that were accepted have ended, and those whose head was on its way were
 * told that the service ends. The door sees to it that no client makes this long. */
static void wait_for_requests(sv_server *server) {
    pthread_mutex_lock(&server->lock);
    while (server->n_requests != 0 || sv_door_has_heads(server->door)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 20000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        (void)pthread_cond_timedwait(&server->ended, &server->lock, &until);
    }
    pthread_mutex_unlock(&server->lock);
}

void sv_server_stop(sv_server *server) {
    if (server == NULL)
        return;
    if (server->daemon != NULL) {
        atomic_store(&server->stops, true);
        sv_door_shut(server->door);
        wait_for_requests(server);
    }
    sv_workers_stop(server->workers);
    sv_workers_stop(server->long_bodies);
    sv_workers_stop(server->reader);
    sv_door_leave(server->door);
    if (server->daemon != NULL)
        MHD_stop_daemon(server->daemon);
    sv_door_free(server->door);
    sv_rates_free(server->rates);
    pthread_cond_destroy(&server->ended);
    pthread_mutex_destroy(&server->lock);
    free(server);
}
