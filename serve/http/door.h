/*
 * The door: connections come in here, and those that are too slow go out again.
 *
 * libmicrohttpd ends connections on which nothing happens; whoever sends a byte now and then stays
 * as long as he likes. Here every connection has a phase and a time by which the phase has to end:
 *
 *   waits    for a request               10 s; 75 s after a request with a right token
 *   head     its first line is there     10 s
 *   body     is being received           20 s, and a second for every 16 KiB that came
 *   handled  the service works on it     no limit
 *   sends    a reply                     30 s, and a second for every 16 KiB that it has
 *
 * (These are with a patience of 10 seconds; another one makes all of them longer or shorter.)
 *
 * When there are too many connections, the oldest that wait for a request or its head, and have
 * shown no token, go first. There is no limit for an address: behind a proxy all have the same.
 *
 * The door listens and accepts by itself, on a thread of its own, which looks for slow connections
 * as well. MHD_quiesce_daemon of libmicrohttpd 0.9.75 can abort the process if connections come
 * while it is called.
 */
#ifndef SV_DOOR_H
#define SV_DOOR_H

#include "service.h"

#include <microhttpd.h>
#include <sys/socket.h>

typedef struct sv_door sv_door;
typedef struct sv_peer sv_peer; /* who is at the other end of a connection */

typedef enum sv_phase { SV_WAITS, SV_HEAD, SV_BODY, SV_HANDLED, SV_SENDS } sv_phase;

/* Listens on an address; `patience` is in seconds. False, with a message, if that is not possible.
 */
bool sv_door_listen(const char *listen, double patience, sv_door **out, sv_why *why);

/* Whether only this machine can reach it. */
bool sv_door_is_loopback(const sv_door *door);
uint16_t sv_door_port(const sv_door *door);
/* How many connections there may be. */
unsigned sv_door_limit(const sv_door *door);

/* Lets connections in, to a daemon that has sv_door_notify and the door as its callback. */
bool sv_door_open(sv_door *door, struct MHD_Daemon *daemon, sv_metrics *metrics);
void sv_door_notify(void *door, struct MHD_Connection *connection, void **peer,
                    enum MHD_ConnectionNotificationCode what);

/* Lets nobody in any more, ends connections that wait for a request, and hurries the others. */
void sv_door_shut(sv_door *door);
/* Whether requests have begun whose head is not there yet. */
bool sv_door_has_heads(sv_door *door);

/* Ends its thread, before the daemon is stopped. */
void sv_door_leave(sv_door *door);
void sv_door_free(sv_door *door); /* after the daemon was stopped; NULL: nothing */

/* ------------------------------------------------------------------ for the threads of requests */

sv_peer *sv_peer_of(struct MHD_Connection *connection); /* may be NULL */
/* A phase begins. `n_bytes` is the length of a reply. */
void sv_peer_phase(sv_peer *peer, sv_phase phase, size_t n_bytes);
void sv_peer_received(sv_peer *peer, size_t n_bytes);
/* It has shown a right token. */
void sv_peer_known(sv_peer *peer);

#endif
