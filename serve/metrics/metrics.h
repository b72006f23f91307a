/*
 * What the service counts, for Prometheus (text format 0.0.4; docs/use/metrics.md lists the names).
 *
 * Counters only grow while the process lives, and every function but open and free may be called
 * from any thread. Labels are names of routes, stores and models' families, and constants: never
 * an id, a value, or the name of a token.
 */
#ifndef SV_METRICS_H
#define SV_METRICS_H

#include "service.h"

/* Counts for the routes of a table that ends with a method NULL; and for that many stores, which
 * are named by numbers from 0 in the calls below. False if there is no memory. */
bool sv_metrics_open(const sv_route *routes, size_t n_stores, sv_metrics **out);
void sv_metrics_free(sv_metrics *metrics);

/* Counts a request that has its reply: its action (request->route, NULL if there is no such route),
 * the status, and the time since request->begin. To be called once a request, when the reply is
 * handed to the network. `request->service` may be NULL. */
void sv_metrics_request(sv_metrics *metrics, const sv_request *request);

/* A connection came (1) or went (-1). */
void sv_metrics_connection(sv_metrics *metrics, int change);

/* Counts what a request that was done did: rows, and repairs by kind of model, action and reason. */
void sv_metrics_change(sv_metrics *metrics, size_t store, const efface_store_report *report);

/* Counts a group: how many requests were done in one transaction, and the seconds of the call that
 * did them, the sync to the disk included. */
void sv_metrics_group(sv_metrics *metrics, size_t store, size_t n_changes, double seconds);

/* How long a request waited for its group. */
void sv_metrics_waited(sv_metrics *metrics, size_t store, double seconds);

/* A snapshot of a model was made, in that time. */
void sv_metrics_snapshot(sv_metrics *metrics, size_t store, double seconds);

/* A store was changed by another process, and what was kept of it was read anew. */
void sv_metrics_reloaded(sv_metrics *metrics, size_t store);

/* A job (verify) ended: how, such as "done", "failed", "cancelled"; a constant. */
void sv_metrics_job(sv_metrics *metrics, const char *state);

/* GET /v1/metrics. */
sv_when sv_get_metrics(sv_request *request);

#endif
