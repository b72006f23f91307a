/* A request while it is read, handled and answered; for server.c and heads.c. */
#ifndef SV_CONNECTION_H
#define SV_CONNECTION_H

#include "http/door.h"
#include "http/server.h"

typedef enum sv_step {
    SV_STEP_BEGUN,    /* its first line is there */
    SV_STEP_BODY,     /* its body is being read */
    SV_STEP_REFUSED,  /* it has a reply, which is sent when its body was read */
    SV_STEP_HANDLING, /* its handler has it */
    SV_STEP_REPLY,    /* it has a reply */
    SV_STEP_SENT      /* the reply is with libmicrohttpd */
} sv_step;

struct sv_connection {
    sv_request request;
    struct MHD_Connection *mhd;
    sv_server *server;
    sv_peer *peer;
    char *path; /* as it was sent, without the query */
    bool url_too_long;
    bool counted;       /* among the requests that the end of the service waits for */
    bool taken;         /* from the bucket of its token */
    bool accounted;     /* in metrics, log and audit log */
    size_t capacity;    /* of the body */
    size_t n_held;      /* bytes of memory that its token has for it */
    size_t n_discarded; /* bytes of a body that nobody wants */
    char content_type[64];
    sv_step step;
};

/* Whether the head of a request is in order; if not, there is a reply (heads.c). */
bool sv_head_ok(struct sv_connection *connection, const char *method);

/* Whether the service ends, and takes no more requests. */
bool sv_server_stops(const sv_server *server);
/* Takes a request from the bucket of its token; 0, or the seconds to wait. */
int sv_server_take(struct sv_connection *connection);

#endif
