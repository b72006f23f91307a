/* Threads that run handlers which touch a disk. Tokens take turns (access/turns.h), and one alone
 * does not have all threads: what it asks for may take seconds, and another's request would wait.
 */
#include "http/server.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct worker {
    sv_workers *workers;
    pthread_t thread;
    bool runs;
    char who[SV_TOKEN_NAME_BYTES]; /* whose request it runs */
} worker;

struct sv_workers {
    pthread_mutex_t lock;
    pthread_cond_t added; /* a request, or a thread that is free again */
    sv_turns waiting;
    bool ends;
    uint32_t n_threads;
    worker threads[];
};

static sv_request *request_of(sv_turn *turn) {
    return (sv_request *)(void *)((char *)turn - offsetof(sv_request, turn));
}

/* Whether a thread stays free for others when this request runs, too. */
static bool leaves_one(const void *workers, const sv_turn *turn) {
    const sv_workers *const w = workers;
    uint32_t n = 1;
    for (uint32_t i = 0; i < w->n_threads; i++)
        n += w->threads[i].runs && strcmp(w->threads[i].who, turn->who) == 0;
    return n < w->n_threads || w->n_threads == 1 || w->ends;
}

static sv_request *take_request(worker *own) {
    sv_workers *const w = own->workers;
    sv_turn *turn = NULL;
    pthread_mutex_lock(&w->lock);
    if (own->runs && w->waiting.first != NULL)
        pthread_cond_signal(&w->added); /* another thread may have waited for this one */
    own->runs = false;
    while ((turn = sv_turns_take(&w->waiting, leaves_one, w)) == NULL && !w->ends)
        pthread_cond_wait(&w->added, &w->lock);
    if (turn != NULL) {
        own->runs = true;
        memcpy(own->who, request_of(turn)->caller.name, sizeof own->who);
    }
    pthread_mutex_unlock(&w->lock);
    return turn != NULL ? request_of(turn) : NULL;
}

static void *run_worker(void *context) {
    for (;;) {
        sv_request *const request = take_request(context);
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
    uint32_t n = 0;
    for (bool ok = true; ok && n < n_threads; n += ok) {
        w->threads[n].workers = w;
        ok = pthread_create(&w->threads[n].thread, NULL, run_worker, &w->threads[n]) == 0;
    }
    pthread_mutex_lock(&w->lock);
    w->n_threads = n;
    pthread_mutex_unlock(&w->lock);
    if (n == n_threads) {
        *out = w;
        return true;
    }
    sv_workers_stop(w);
    return false;
}

void sv_workers_add(sv_workers *w, sv_request *request) {
    request->turn.who = request->caller.name;
    pthread_mutex_lock(&w->lock);
    sv_turns_add(&w->waiting, &request->turn);
    pthread_cond_signal(&w->added);
    pthread_mutex_unlock(&w->lock);
}

void sv_workers_add_again(sv_workers *w, sv_request *request) {
    pthread_mutex_lock(&w->lock);
    sv_turns_add_again(&w->waiting, &request->turn);
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
        pthread_join(w->threads[i].thread, NULL);
    pthread_cond_destroy(&w->added);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
