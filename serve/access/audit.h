/*
 * The audit log: who did what.
 *
 * A file to which lines of JSON are added, with the time, the name of the token, the action, the
 * store, the status, and the number of the receipt; never an id, a value, a text of a request or a
 * token. A request that changes or shows data of people has a line of its own, which is written
 * before its reply is sent; so has one whose token lacks the role. Everything else (predictions,
 * health, pages, requests without a right token) is counted: one line a minute for each token,
 * action and status, so that nobody fills the disk from outside.
 *
 * What cannot be written is kept and written first when that is possible again. Until then requests
 * that would need a line of their own are refused.
 */
#ifndef SV_AUDIT_H
#define SV_AUDIT_H

#include "service.h"

/* Opens or makes the file; false, with a message, if that is not possible. */
bool sv_audit_open(const char *path, sv_audit **out, sv_why *why);
void sv_audit_close(sv_audit *audit);

/* Whether requests of a route have lines of their own. */
bool sv_audit_needs_line(const sv_route *route);

/* Whether lines can be written; if not, the reason as an errno. */
int sv_audit_trouble(sv_audit *audit);

/* Adds a request that has its reply. */
void sv_audit_request(sv_audit *audit, const sv_request *request);

/* Writes the counts if a minute has passed. */
void sv_audit_tick(sv_audit *audit);

/* Opens the file anew, after it was given another name. */
void sv_audit_reopen(sv_audit *audit);

#endif
