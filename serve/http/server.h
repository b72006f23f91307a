/* The server: connections, routes, limits (server.c), and workers (workers.c). */
#ifndef SV_SERVER_H
#define SV_SERVER_H

#include "service.h"

/* All routes of the service; ended by a method NULL (api/routes.c). */
extern const sv_route sv_routes[];

/* Starts to listen; false, with a message, if that is not possible. */
bool sv_server_start(sv_service *service, sv_why *why);

/* The port that it listens on. */
uint16_t sv_server_port(const sv_server *server);

/* Takes no more connections, finishes what was accepted, and ends. */
void sv_server_stop(sv_server *server);

/* ------------------------------------------------------------------ routes (route.c) */

typedef enum sv_routing { SV_ROUTED, SV_NO_PATH, SV_NO_METHOD } sv_routing;

/* Finds the route of a request, and writes its variable parts, decoded, over `path`. HEAD is GET.
 * `allowed` gets the methods of the path if the method is another. */
sv_routing sv_route_find(const sv_route *routes, const char *method, char *path,
                         const sv_route **route, const char *parts[SV_MAX_PARTS], char allowed[64]);

/* Runs the handler of a request, if the store that its path names is served. */
sv_when sv_handle(sv_request *request);

/* Whether the action of a route is one of these, which are divided by spaces. */
bool sv_route_is(const sv_route *route, const char *actions);

/* Whether a path names a store. */
bool sv_route_names_store(const sv_route *route);

/* ------------------------------------------------------------------ workers (workers.c) */

typedef struct sv_workers sv_workers;

/* `reads`: their requests read all rows of a store, which rests afterwards (rooms.h). */
bool sv_workers_start(uint32_t n_threads, bool reads, sv_workers **out);
/* Has a worker run a request's handler. */
void sv_workers_add(sv_workers *workers, sv_request *request);
/* The same for one whose handler has run, and goes on. */
void sv_workers_add_again(sv_workers *workers, sv_request *request);
/* Finishes what was added, and ends. */
void sv_workers_stop(sv_workers *workers);

#endif
