/*
 * efface-load: many clients ask a service on this machine, and their answers are counted.
 *
 * It is a benchmark, and what the tests of the service make load with: it writes down what was
 * acknowledged, so that a test can compare that with the store. It takes whatever the service
 * answers and judges nothing. One thread serves all clients; each has one request on its way.
 */
#ifndef EFFACE_LOAD_H
#define EFFACE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum load_kind {
    LOAD_PREDICT,
    LOAD_FORGET,
    LOAD_LEARN,
    LOAD_UPDATE,
    LOAD_READ,
    LOAD_KINDS
} load_kind;

extern const char *const load_kind_names[LOAD_KINDS];

/* Lines of a file. */
typedef struct load_lines {
    char *text;
    char **lines;
    size_t n_lines;
} load_lines;

/* What the command line says. */
typedef struct load_options {
    uint16_t port;
    const char *store, *model;
    const char *token;          /* NULL: none */
    unsigned parts[LOAD_KINDS]; /* how many of all requests, compared with the others */
    unsigned n_clients;
    double seconds;      /* 0: no limit */
    uint64_t n_requests; /* 0: no limit */
    double rate; /* requests a second, of all clients together; 0: as many as there can be */
    uint64_t first_id, end_id; /* rows that are there and may be forgotten or updated */
    load_lines ids;            /* further ones */
    uint64_t new_id;           /* the first id of rows that are learned */
    unsigned batch;            /* rows of one request to learn */
    load_lines points;         /* for predictions: JSON arrays */
    load_lines rows;           /* to learn and update: members of a row in JSON, without the id */
    FILE *ledger;              /* NULL: none */
    uint64_t seed;
} load_options;

/* ------------------------------------------------------------------ times (load_times.c) */

/* How many requests took how long: steps of one part in 64, so a quantile is at most 1.6 % too
 * large. */
#define LOAD_STEPS (64 * 40)
typedef struct load_times {
    uint64_t counts[LOAD_STEPS];
    uint64_t n, most;
} load_times;

uint64_t load_now(void); /* nanoseconds */
void load_times_add(load_times *times, uint64_t nanoseconds);
void load_times_merge(load_times *times, const load_times *others);
/* The time, in milliseconds, that this part of all requests took at most; 0 if there are none. */
double load_times_quantile(const load_times *times, double part);

/* How often a second a block of 4 KiB can be written and synced in a folder, tried for so many
 * seconds; below 0 if that is not possible. */
double load_sync_rate(const char *folder, double seconds);

/* ------------------------------------------------------------------ requests (load_requests.c) */

/* What a request is about. */
typedef struct load_work {
    load_kind kind;
    uint64_t id;     /* the first row */
    unsigned n_rows; /* 0: none */
    size_t line;     /* of load_options.rows: what the first row was given */
    uint64_t number; /* of the request, from 1 */
} load_work;

typedef struct load_requests load_requests;

load_requests *load_requests_new(const load_options *options);
void load_requests_free(load_requests *requests);

/* Chooses the next request and writes it, complete with its head, to `text`, which grows as it
 * must. False if there is nothing left to ask for, or no memory. */
bool load_requests_next(load_requests *requests, load_work *work, char **text, size_t *n_text,
                        size_t *size);

/* A request has its answer: writes it to the ledger, and keeps ids that may be used again. */
void load_requests_answered(load_requests *requests, const load_work *work, int status,
                            const char *body, size_t n_body);

/* Its connection ended before an answer came: nobody knows whether it was done. */
void load_requests_lost(load_requests *requests, const load_work *work);

/* ------------------------------------------------------------------ clients (load_clients.c) */

typedef struct load_result {
    load_times times[LOAD_KINDS];
    uint64_t statuses[600];
    uint64_t n_answers, n_lost; /* lost: sent, and the connection ended without an answer */
    uint64_t n_garbled;         /* of these, what came was not an answer of HTTP */
    double seconds;             /* until the last answer */
} load_result;

/* Runs all clients until the time or the requests are over, nothing is left to ask for, or the
 * service is gone. False, with a message, if this could not begin. */
bool load_run(const load_options *options, load_result *result, char *message, size_t n_message);

#endif
