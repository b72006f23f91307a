/*
 * The log of the service: lines of JSON on standard error.
 *
 * A line for each request says when, which action, the status, how long it took and how many bytes
 * went each way; never a path, a body, a token, an id or a value. Predictions, health and what was
 * refused at the door are many: of these there is a line a minute for each action and status, with
 * a count, unless every request is wanted (--log-all).
 *
 * Lines are written by a thread of their own, which never waits for whoever reads standard error:
 * if lines come faster than they are read, some are left out, and a line says how many.
 */
#ifndef SV_SERVICE_LOG_H
#define SV_SERVICE_LOG_H

#include "http/http.h"

/* Starts the log; false if there is no thread for it. */
bool sv_log_start(bool all);
/* Writes what is left, and ends. */
void sv_log_stop(void);

/* A request that has its reply. */
void sv_log_request(const sv_request *request);

/* Something that the operator should know. Before the start and after the end it is written at
 * once. */
void sv_log_warn(const char *message);
void sv_log_note(const char *message);

/* The time now, as 2027-01-31T12:00:00.123Z. */
void sv_time_text(char text[32]);

#endif
