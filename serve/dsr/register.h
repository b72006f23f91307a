/*
 * The register of OpenDSR requests.
 *
 * Invariants:
 * 1. A request that was acknowledged is on the disk, and is done some time, whatever happens to the
 *    process in between.
 * 2. A request that is completed or cancelled leaves no name of a person in memory or in a file of
 *    the register; what is left is a hash of its body under a key and its token.
 * 3. A request that has begun is not cancelled.
 * 4. One id stands for one body, and one token.
 *
 * Two locks keep this: `writes` is held while files change, and `lock` while memory does, for
 * moments only. Whoever needs both takes `writes` first.
 */
#ifndef SV_DSR_REGISTER_H
#define SV_DSR_REGISTER_H

#include "dsr/dsr.h"

#include <pthread.h>

#define SV_DSR_ID_BYTES 37 /* of a UUID, with the ending 0 */
#define SV_DSR_HASH_BYTES 32
#define SV_DSR_STORE_BYTES 128

typedef enum sv_dsr_status {
    SV_DSR_PENDING,
    SV_DSR_IN_PROGRESS,
    SV_DSR_COMPLETED,
    SV_DSR_CANCELLED
} sv_dsr_status;

extern const char *const sv_dsr_statuses[]; /* their names */

typedef struct sv_dsr_receipt {
    char store[SV_DSR_STORE_BYTES];
    uint64_t number;
    bool has_digest; /* it was the last of its store then, and this is the digest of its line */
    unsigned char digest[EFFACE_DIGEST_BYTES];
} sv_dsr_receipt;

/* A request. */
typedef struct sv_dsr_entry {
    char id[SV_DSR_ID_BYTES];
    char controller[SV_TOKEN_NAME_BYTES];  /* the token that it came with */
    unsigned char hash[SV_DSR_HASH_BYTES]; /* of token and body (sv_dsr_kept_hash) */
    int64_t received, expected;            /* seconds since 1970 */
    int64_t ended;                         /* the same; 0: it has not */
    sv_dsr_status status;
    bool interrupted; /* the process ended in between: what it did before is not counted below */
    uint64_t n_rows;  /* that were forgotten */
    sv_dsr_receipt *receipts;
    size_t n_receipts;
    char **people; /* the owners; NULL after the end */
    size_t n_people;
    struct sv_dsr_entry *next; /* in a queue */
    struct sv_dsr_entry *last; /* that was added before; for the register */
} sv_dsr_entry;

/* Overwrites and releases the names of people. */
void sv_dsr_forget_people(sv_dsr_entry *entry);
/* Releases an entry, and overwrites it. Takes NULL. */
void sv_dsr_entry_free(sv_dsr_entry *entry);
/* Notes a receipt, with its digest if that is not NULL; false if there is no memory. */
bool sv_dsr_add_receipt(sv_dsr_entry *entry, const char *store, uint64_t number,
                        const unsigned char *digest);

typedef struct sv_dsr_queue {
    sv_dsr_entry *first, **last;
} sv_dsr_queue;

typedef struct sv_dsr_kept sv_dsr_kept; /* kept_requests.h */

struct sv_dsr {
    sv_service *service;
    pthread_mutex_t writes;
    sv_dsr_kept *kept;
    pthread_mutex_t lock;
    pthread_cond_t added; /* something to do, or to end */
    void *by_id;          /* a tree of entries (tsearch) */
    sv_dsr_entry *newest; /* of all */
    sv_dsr_queue pending;
    sv_dsr_queue failed; /* to be tried again at `again` (sv_now) */
    double again;
    double pause; /* before the next attempt */
    bool stops;
    bool has_thread;
    pthread_t thread;
};

void sv_dsr_push(sv_dsr_queue *queue, sv_dsr_entry *entry);
sv_dsr_entry *sv_dsr_pop(sv_dsr_queue *queue);

typedef enum sv_dsr_adding {
    SV_DSR_NEW,
    SV_DSR_SAME,     /* it is there already, with the same body and token */
    SV_DSR_OTHER,    /* the id is there with another body, or came with another token */
    SV_DSR_FAILED,   /* it could not be written */
    SV_DSR_DISK_FULL /* the same, and why */
} sv_dsr_adding;

/* Adds a request, which afterwards belongs to the register. If it is there already, the entry that
 * was given is released, and `entry` gets the one that is there. In the other cases it is released
 * too, and `entry` gets NULL. */
sv_dsr_adding sv_dsr_add(sv_dsr *dsr, sv_dsr_entry **entry, const char *token, const void *body,
                         size_t n_body);

typedef enum sv_dsr_cancelling {
    SV_DSR_CANCELS,
    SV_DSR_UNKNOWN,
    SV_DSR_BEGUN, /* or ended */
    SV_DSR_NOT_WRITTEN
} sv_dsr_cancelling;

/* Cancels a request that is pending, or was cancelled before. */
sv_dsr_cancelling sv_dsr_cancel_entry(sv_dsr *dsr, const char *id, sv_dsr_entry **entry);

/* The entry with that id, or NULL. Hold `lock` when looking at what may change in it. */
sv_dsr_entry *sv_dsr_find(sv_dsr *dsr, const char *id);

/* Takes an entry that was read from its file, before there are threads; false if there is no
 * memory.
 */
bool sv_dsr_take_read(sv_dsr *dsr, sv_dsr_entry *entry);

/* The digest of a receipt of a store. Errors: NOT_FOUND if the store has no such receipt; those of
 * sv_room_open. (older_stores.c) */
efface_status sv_dsr_digest(const sv_room *room, uint64_t number,
                            unsigned char digest[EFFACE_DIGEST_BYTES], efface_error *error);

/* Whether the stores have the receipts that requests name, before there are threads; false, with a
 * message, if not. */
bool sv_dsr_check_stores(const sv_dsr *dsr, sv_why *why);

/* The thread that does requests (erasure.c); takes the sv_dsr. */
void *sv_dsr_work(void *dsr);

#endif
