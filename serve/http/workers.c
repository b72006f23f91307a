/*
 * Threads that run handlers which touch a disk. Tokens take turns (access/turns.h), and one alone
 * does not have all threads: what it asks for may take seconds, and another's request would wait.
 *
 * Handlers that read all rows of a store run one at a time, and the store rests after each
 * (rooms.h). Their requests wait here for that, while requests for other stores go before them.
 */
#include "http/connection.h"
#include "http/server.h"
#include "rooms/rooms.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_NANOSECONDS 5000000 /* how often to look whether a store has rested */

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
    bool reads; /* all rows of stores */
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

static bool server_stops(const sv_request *request) {
    return sv_server_stops(request->connection->server);
}

/* Whether a request may run; if it is to read its store, the reading begins. When the service ends,
 * nobody waits for a store to rest. */
static bool may_run(const void *workers, const sv_turn *turn) {
    const sv_workers *const w = workers;
    sv_request *const request = request_of((sv_turn *)(uintptr_t)turn);
    if (!w->reads)
        return leaves_one(w, turn);
    request->reads = sv_room_try_reading(request->room);
    return request->reads || server_stops(request);
}

/* Waits for a request, or a thread, or, if requests wait for their stores, for a moment. */
static void wait_for_turn(sv_workers *w) {
    struct timespec until;
    if (!w->reads || w->waiting.first == NULL) {
        (void)pthread_cond_wait(&w->added, &w->lock);
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&w->added, &w->lock, &until);
}

static sv_request *take_request(worker *own) {
    sv_workers *const w = own->workers;
    sv_turn *turn = NULL;
    pthread_mutex_lock(&w->lock);
    if (own->runs && w->waiting.first != NULL)
        pthread_cond_signal(&w->added); /* another thread may have waited for this one */
    own->runs = false;
    while ((turn = sv_turns_take(&w->waiting, may_run, w)) == NULL && !w->ends)
        wait_for_turn(w);
    if (turn != NULL) {
        own->runs = true;
        memcpy(own->who, request_of(turn)->caller.name, sizeof own->who);
    }
    pthread_mutex_unlock(&w->lock);
    return turn != NULL ? request_of(turn) : NULL;
}

/* A reading that has not begun when the service ends would only make the end late. */
static sv_when read_in_turn(sv_request *request) {
    if (!request->reads)
        return sv_refuse(request, 503, "stopping", "the service ends; nothing was changed");
    sv_room *const room = request->room;
    const sv_when when = sv_handle(request);
    sv_room_end_reading(room);
    return when;
}

static void *run_worker(void *context) {
    const bool reads = ((const worker *)context)->workers->reads;
    for (;;) {
        sv_request *const request = take_request(context);
        if (request == NULL)
            return NULL;
        if ((reads ? read_in_turn : sv_handle)(request) == SV_NOW)
            sv_finish(request);
    }
}

bool sv_workers_start(uint32_t n_threads, bool reads, sv_workers **out) {
    sv_workers *const w = calloc(1, sizeof *w + n_threads * sizeof w->threads[0]);
    if (w == NULL)
        return false;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->added, NULL);
    w->reads = w->waiting.overtake = reads;
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
