/*
 * OpenDSR 2.0: consent platforms send erasure requests here (docs/use/opendsr.md).
 *
 * A request names a person by controller_customer_id, which is the owner of rows. It is written to
 * the disk before it is acknowledged, and done by a thread of its own in every store that is
 * served (erasure.c). The register (register.h) knows all requests; what of them is on the disk,
 * and when it is overwritten, is in kept_requests.h.
 */
#ifndef SV_DSR_H
#define SV_DSR_H

#include "service.h"

/* Reads the requests that were kept, and begins to do those that have not ended; false, with a
 * message, if that is not possible. To be called when the stores are open. */
bool sv_dsr_open(sv_service *service, sv_dsr **out, sv_why *why);

/* Does what was accepted, as far as stores can be written now, and ends. To be called after the
 * server was stopped and before the stores are closed. */
void sv_dsr_close(sv_dsr *dsr);

/* Handlers: new_request.c, request_status.c and discovery.c. */
sv_when sv_dsr_create(sv_request *request);
sv_when sv_dsr_discover(sv_request *request);
sv_when sv_dsr_get_certificate(sv_request *request);
sv_when sv_dsr_get_status(sv_request *request);
sv_when sv_dsr_cancel(sv_request *request);

/* Replies with JSON, which this releases, and adds the headers of OpenDSR: the domain and, if there
 * is a key, the signature of the body (signature.c). */
sv_when sv_dsr_reply(sv_request *request, int status, json_t *json);

/* The Host of a request, with its port; the address that the service listens on if there is none.
 */
const char *sv_dsr_host(const sv_request *request);

#endif
