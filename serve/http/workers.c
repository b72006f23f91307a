/* Threads that run handlers which touch a disk. */
#include "http/server.h"

#include <pthread.h>
#include <stdlib.h>

struct sv_workers {
    pthread_mutex_t lock;
    pthread_cond_t added;
    sv_request *first, **last;
    bool ends;
    uint32_t n_threads;
    pthread_t threads[];
};

static sv_request *take_request(sv_workers *w) {
    pthread_mutex_lock(&w->lock);
    while (w->first == NULL && !w->ends)
        pthread_cond_wait(&w->added, &w->lock);
    sv_request *const request = w->first;
    if (request != NULL) {
        w->first = request->next;
        if (w->first == NULL)
            w->last = &w->first;
    }
    pthread_mutex_unlock(&w->lock);
    return request;
}

static void *run_worker(void *context) {
    sv_workers *const w = context;
    for (;;) {
        sv_request *const request = take_request(w);
        if (request == NULL)
            return NULL;
        if (sv_handle(request) == SV_NOW)
            sv_finish(request);
    }
}

bool sv_workers_start(uint32_t n_threads, sv_workers **out) {
    sv_workers *const w = calloc(1, sizeof *w + n_threads * sizeof w->threads[0]);
    if (w == NULL)
        return false;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->added, NULL);
    w->last = &w->first;
    while (w->n_threads < n_threads &&
           pthread_create(&w->threads[w->n_threads], NULL, run_worker, w) == 0)
        w->n_threads++;
    if (w->n_threads == n_threads) {
        *out = w;
        return true;
    }
    sv_workers_stop(w);
    return false;
}

void sv_workers_add(sv_workers *w, sv_request *request) {
    request->next = NULL;
    pthread_mutex_lock(&w->lock);
    *w->last = request;
    w->last = &request->next;
    pthread_cond_signal(&w->added);
    pthread_mutex_unlock(&w->lock);
}

void sv_workers_stop(sv_workers *w) {
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->lock);
    w->ends = true;
    pthread_cond_broadcast(&w->added);
    pthread_mutex_unlock(&w->lock);
    for (uint32_t i = 0; i < w->n_threads; i++)
        pthread_join(w->threads[i], NULL);
    pthread_cond_destroy(&w->added);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
