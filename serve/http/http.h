/*
 * Requests and replies, as handlers see them; libmicrohttpd stays in server.c.
 *
 * A request is complete when a handler gets it: its route is known, its token has one of the
 * route's roles, and its body has been read. A handler fills the reply and returns SV_NOW; or it
 * hands the request on, returns SV_LATER, and somebody calls sv_finish once, from any thread.
 */
#ifndef SV_HTTP_H
#define SV_HTTP_H

#include "access/access.h"
#include "access/turns.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sv_service sv_service; /* service.h */
typedef struct sv_room sv_room;       /* rooms/rooms.h */
typedef struct sv_route sv_route;

#define SV_MAX_PARTS 3 /* variable parts of a path */

/* Where a handler runs: on the thread that reads the network, if it takes microseconds and waits
 * for nothing; on a worker, if it touches a disk or takes longer; on a thread for long bodies, which
 * take long to read; or, if it reads all rows of a store, on the one thread for such readings:
 * memory holds the rows of one at a time, and workers stay free. How long the body is decides,
 * too. */
typedef enum sv_where { SV_HERE, SV_ON_WORKER, SV_ON_LONG, SV_ON_READER } sv_where;

typedef struct sv_reply {
    int status;               /* of HTTP; 0 until there is a reply */
    const char *content_type; /* a constant */
    char *body;               /* made by malloc; overwritten and released after it was sent */
    size_t n_body;
    const void *page; /* or, instead of `body`, bytes that live as long as the process */
    struct {
        const char *name;
        char value[160];
    } headers[4];         /* further ones; name NULL: no more */
    bool ends_connection; /* what follows on the connection is not read */
    uint64_t receipt;     /* for the audit log: number of the receipt, or 0 */
} sv_reply;

typedef struct sv_request {
    sv_service *service;
    const sv_route *route;
    const char *parts[SV_MAX_PARTS]; /* what stood for {store}, {model}, ... in the path, decoded */
    sv_room *room;                   /* that the path names; handlers of such paths have one */
    const char *content_type;        /* of the body, without parameters; "" if it has none */
    const char *accept;
    const char *host;  /* the Host header; "" if there is none */
    const char *token; /* that it came with; NULL if its route needs none */
    char *body;        /* ended by a 0 that is not counted; overwritten when the request ends */
    size_t n_body;
    sv_caller caller;
    sv_where at;  /* where its handler runs */
    double begin; /* when its head was there, in seconds (sv_now) */
    sv_reply reply;
    void *work; /* of a handler that runs again; its own, which is done when it replies */
    struct sv_connection *connection; /* for server.c */
    sv_turn turn;                     /* for workers.c, */
    bool reads;                       /* and whether rows of its store are being read for it */
} sv_request;

/* What a handler returns. SV_NOW is 0: functions that reply return it, so that a check which
 * refuses a request returns false with it. */
typedef enum sv_when { SV_NOW = 0, SV_LATER } sv_when;

struct sv_route {
    const char *method;
    const char *path; /* such as "/v1/stores/{store}/forget" */
    unsigned roles;   /* any of these will do (access.h); 0: no token is needed */
    sv_where where;
    sv_when (*handle)(sv_request *request);
    const char *action; /* in logs, metrics and the audit log, such as "forget" */
};

/* The value of a parameter of the query, or NULL. */
const char *sv_query(const sv_request *request, const char *name);

/* What a handler does before it hands a request on and returns SV_LATER; nothing elsewhere than
 * SV_HERE, for there the request is held already. */
void sv_hold(sv_request *request);

/* Has the handler run again at another place (request->at); it returns SV_LATER here then. */
void sv_move(sv_request *request, sv_where where);

/* The same at the place where it is, after other tokens had their turns; not for SV_HERE. */
void sv_go_on_later(sv_request *request);

/* Notes how long a request has worked to read its store; and whether its token has read so much
 * that it should read SV_ON_READER. */
void sv_note_reading(sv_request *request, double seconds);
bool sv_reads_much(const sv_request *request);

/* Sends the reply of a request that came SV_LATER. The request must not be used afterwards. */
void sv_finish(sv_request *request);

/* Seconds on a clock that only goes forward. */
double sv_now(void);

/* Seconds of work that this thread has done; waiting is none. */
double sv_worked(void);

/* Overwrites what handlers leave below on the stack of a thread: ids, and parts of texts that were
 * in registers. A thread that waits for its next request would keep them. */
void sv_wipe_stack(void);

/* ------------------------------------------------------------------ replies (reply.c) */

/* Replies with JSON, which this releases. */
sv_when sv_reply_json(sv_request *request, int status, json_t *json);

/* Replies with a text that was made by malloc. */
sv_when sv_reply_text(sv_request *request, int status, const char *content_type, char *text,
                      size_t n_text);

/* Replies with a copy of a text that is JSON already; NULL says that there is no memory. */
sv_when sv_reply_copy(sv_request *request, const char *json);

/* Replies {"error": {"code", "message"}}; to requests of OpenDSR in the form that its specification
 * has. A message says what to do, and never shows an id or a value. */
sv_when sv_refuse(sv_request *request, int status, const char *code, const char *message);

/* What to say of an error of the library: its status decides; its message, which may have values in
 * it, is not shown. */
typedef struct sv_problem {
    int status;           /* of HTTP */
    unsigned retry_after; /* seconds; 0: trying again is of no use */
    const char *code;
    const char *message;
} sv_problem;

sv_problem sv_problem_of(const efface_error *error);

/* Replies that. */
sv_when sv_refuse_error(sv_request *request, const efface_error *error);
/* Replies that there is no memory. */
sv_when sv_refuse_memory(sv_request *request);

/* Replies with JSON, which this releases, or refuses with an error if there is one. */
sv_when sv_reply_result(sv_request *request, json_t *json, efface_status status,
                        const efface_error *error);

void sv_reply_header(sv_request *request, const char *name, const char *value);

/* The body as JSON; NULL, with a reply, if it is not an object in JSON. Release with json_decref.
 */
json_t *sv_body_json(sv_request *request);

#endif
