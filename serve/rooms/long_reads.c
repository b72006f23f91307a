/* Requests that read all rows of a store (long_reads.h). */
#include "rooms/long_reads.h"

#include <pthread.h>
#include <stdlib.h>

/* A request, and what handles it. */
typedef struct waiting {
    sv_request *request;
    void (*handle)(sv_request *request);
    struct waiting *next;
} waiting;

struct sv_long_reads {
    pthread_mutex_t lock;
    pthread_cond_t added;
    waiting *first, **last;
    bool ends;
    pthread_t thread;
};

static void *work(void *context) {
    sv_long_reads *const r = context;
    for (;;) {
        pthread_mutex_lock(&r->lock);
        while (r->first == NULL && !r->ends)
            pthread_cond_wait(&r->added, &r->lock);
        waiting *const one = r->first;
        if (one != NULL) {
            r->first = one->next;
            if (r->first == NULL)
                r->last = &r->first;
        }
        pthread_mutex_unlock(&r->lock);
        if (one == NULL)
            return NULL;
        one->handle(one->request);
        sv_wipe_stack();
        sv_finish(one->request);
        free(one);
    }
}

bool sv_long_reads_start(sv_long_reads **out) {
    sv_long_reads *const r = calloc(1, sizeof *r);
    if (r == NULL)
        return false;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->added, NULL);
    r->last = &r->first;
    if (pthread_create(&r->thread, NULL, work, r) != 0) {
        pthread_cond_destroy(&r->added);
        pthread_mutex_destroy(&r->lock);
        free(r);
        return false;
    }
    *out = r;
    return true;
}

void sv_long_reads_stop(sv_long_reads *r) {
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    r->ends = true;
    pthread_cond_signal(&r->added);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    pthread_cond_destroy(&r->added);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void sv_read_later(sv_request *request, void (*handle)(sv_request *request)) {
    sv_long_reads *const r = request->service->long_reads;
    waiting *const one = malloc(sizeof *one);
    sv_hold(request);
    if (one == NULL) {
        sv_reply_json(request, 200, NULL); /* which says that memory is short */
        sv_finish(request);
        return;
    }
    *one = (waiting){request, handle, NULL};
    pthread_mutex_lock(&r->lock);
    *r->last = one;
    r->last = &one->next;
    pthread_cond_signal(&r->added);
    pthread_mutex_unlock(&r->lock);
}
