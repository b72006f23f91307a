/*
 * Requests that read all rows of a store. A thread of its own handles one after the other: memory
 * holds the rows of one at a time, and workers stay free for requests that take moments.
 */
#ifndef SV_LONG_READS_H
#define SV_LONG_READS_H

#include "service.h"

bool sv_long_reads_start(sv_long_reads **out);
/* Ends the thread; after the server was stopped, when no request is left. */
void sv_long_reads_stop(sv_long_reads *reads);

/* Has the thread handle a request and send its reply; the handler returns SV_LATER then. */
void sv_read_later(sv_request *request, void (*handle)(sv_request *request));

#endif
