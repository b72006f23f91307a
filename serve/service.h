/* The service: what all its parts share. */
#ifndef SV_SERVICE_H
#define SV_SERVICE_H

#include "http/http.h"

typedef struct sv_rooms sv_rooms;     /* rooms/rooms.h: the stores */
typedef struct sv_jobs sv_jobs;       /* rooms/jobs.h: long work */
typedef struct sv_metrics sv_metrics; /* metrics/metrics.h */
typedef struct sv_audit sv_audit;     /* access/audit.h */
typedef struct sv_server sv_server;   /* http/server.h */
typedef struct sv_dsr sv_dsr;         /* dsr/dsr.h: OpenDSR */

/* What the command line says. */
typedef struct sv_options {
    char **stores;
    size_t n_stores;
    const char *listen;      /* host:port */
    const char *tokens;      /* the file of tokens; NULL: efface.tokens beside the first store */
    const char *audit;       /* the audit log; NULL: efface.audit beside the first store */
    const char *sign;        /* file with the secret key that receipts are signed with, or NULL */
    const char *receipt_key; /* file, or NULL */
    char **hosts;            /* further names that the Host header may have */
    size_t n_hosts;
    bool behind_tls;   /* a proxy in front encrypts: other addresses than loopback are allowed */
    size_t max_body;   /* bytes */
    uint32_t max_rows; /* of a body */
    double rate;       /* requests a second for each token; 0: no limit */
    uint32_t max_under_way; /* requests at a time for each token */
    double patience;        /* seconds for the head of a request (http/door.h) */
    uint32_t n_workers;     /* threads for what touches disks */
    bool log_all;           /* a line in the log for every request */
    bool json;              /* the line at the start is JSON */
} sv_options;

struct sv_service {
    const sv_options *options;
    sv_tokens *tokens;
    sv_audit *audit;
    sv_rooms *rooms;
    sv_jobs *jobs;
    sv_metrics *metrics;
    sv_server *server;
    sv_dsr *dsr;
    const unsigned char *secret_key; /* of EFFACE_SECRET_KEY_BYTES; NULL: receipts are not signed */
    const unsigned char *receipt_key; /* of EFFACE_RECEIPT_KEY_BYTES; NULL: stores keep their own */
    double started;                   /* sv_now */
};

#endif
