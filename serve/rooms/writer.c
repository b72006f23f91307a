/*
 * The writer of a room: a thread that does changes, those of a token in the order in which they
 * came; tokens take turns. While it waits for the disk, others arrive; it then takes all of them, so
 * that they share one transaction and one sync (efface_store_change_all). Nothing waits for company:
 * a change that comes alone is done at once. A preview takes its turn after the changes that wait, and one preview at a time: many of
 * them delay a change by one. Where changes come, previews have a quarter of the time.
 *
 * Its handle keeps rows and models in memory. When another process has changed the store, rows that
 * are kept may be of people who were forgotten there: a writer that has nothing to do looks every
 * second, and lets them go. A handle that has failed is closed, and the next change opens another
 * one: so a disk that was full, a store that was busy or a file that somebody replaced needs no
 * restart.
 */
#include "metrics/metrics.h"
#include "rooms/room.h"

#include <sodium.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_TOGETHER 256
#define MAX_NAMES 20000 /* of rows and people, of changes that are done together */
#define WAIT_SECONDS 10.0
#define LOOK_SECONDS 1
#define BUSY_SECONDS 1.0 /* after a change, others are expected */

struct sv_writer {
    sv_room *room;
    efface_store *store; /* NULL: not open now */
    uint64_t file;    /* which of the files that had the name it is: sv_room_count's upper half */
    uint64_t changes; /* sv_room_count after the last change of this writer; 0: none yet */
    uint64_t seen;    /* sv_room_count when the writer last looked */
    pthread_mutex_t lock;
    pthread_cond_t added;
    sv_turns changes_waiting, looks_waiting; /* looks: previews */
    sv_change *next; /* a change that was taken, and is too much for the transaction before it */
    bool looked;     /* the last that was done was a preview */
    double changed, rests; /* when the last change was done, and until when there is no preview */
    bool ends;
    pthread_t thread;
};

static void close_store(sv_writer *w) {
    efface_store_close(w->store);
    w->store = NULL;
}

static efface_status open_store(sv_writer *w, efface_error *error) {
    const sv_service *const service = w->room->service;
    efface_store_options options;
    uint64_t now = 0;
    const bool counted = sv_room_count(w->room, &now, error) == EFFACE_OK;
    if (w->store != NULL && counted && now >> 32 != w->file)
        close_store(w); /* somebody gave the name to another file */
    if (w->store != NULL)
        return EFFACE_OK;
    w->file = now >> 32;
    efface_store_options_init(&options);
    options.access = EFFACE_ACCESS_WRITE;
    options.wait_seconds = WAIT_SECONDS;
    options.secret_key = service->secret_key;
    options.receipt_key = service->receipt_key;
    options.resident = 1;
    return efface_store_open(w->room->path, &options, &w->store, error);
}

/* ---------------------------------------------------------------- doing */

/* Counts the times that another process has changed the store: the library reads anew what it kept
 * of it then. */
static void notice_others(sv_writer *w) {
    uint64_t now = 0;
    efface_error error;
    if (w->changes != 0 && sv_room_count(w->room, &now, &error) == EFFACE_OK && now != w->changes)
        sv_metrics_reloaded(w->room->service->metrics, w->room->number);
}

/* Lets go what was kept of the store if it has changed, or cannot be asked. */
static void look_for_others(sv_writer *w) {
    uint64_t now = 0;
    efface_error error;
    const efface_status status = sv_room_count(w->room, &now, &error);
    if (status == EFFACE_E_BUSY)
        return;
    sv_snapshots_drop_old(w->room, now);
    if (status != EFFACE_OK || now != w->seen)
        close_store(w);
    w->seen = now;
}

static void finish_change(sv_writer *w, sv_change *change) {
    if (change->asked.status == EFFACE_OK && !change->only_look)
        sv_metrics_change(w->room->service->metrics, w->room->number, &change->asked.report);
    change->done(change);
}

static void fail_change(sv_change *change, const efface_error *error) {
    change->asked.status = error->status;
    change->asked.error = *error;
    memset(&change->asked.report, 0, sizeof change->asked.report);
}

static void preview_change(sv_writer *w, sv_change *change) {
    efface_store_change *const asked = &change->asked;
    efface_error error;
    const double begin = sv_now();
    if (open_store(w, &error) != EFFACE_OK) {
        fail_change(change, &error);
        return;
    }
    asked->status = efface_store_preview(w->store, asked->request, &asked->report, &asked->error);
    if (asked->status != EFFACE_OK && asked->status != EFFACE_E_NOT_FOUND &&
        asked->status != EFFACE_E_ARGUMENT)
        close_store(w);
    if (begin < w->changed + BUSY_SECONDS)
        w->rests = sv_now() + SV_REST * (sv_now() - begin);
}

/* Does changes in one transaction. What the library took for one failure may have been caused by
 * one change, such as a set of rows that memory does not hold twice: then each is done alone. */
static void do_changes(sv_writer *w, sv_change *const *changes, efface_store_change *asked,
                       size_t n) {
    efface_error error;
    const double begin = sv_now();
    notice_others(w);
    for (size_t i = 0; i < n; i++)
        asked[i] = changes[i]->asked;
    efface_status status = open_store(w, &error);
    if (status == EFFACE_OK)
        status = efface_store_change_all(w->store, asked, n, &error);
    if (status != EFFACE_OK)
        close_store(w);
    if (status == EFFACE_E_MEMORY && n > 1) {
        for (size_t i = 0; i < n; i++)
            do_changes(w, &changes[i], &asked[i], 1);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        changes[i]->asked = asked[i];
        if (status != EFFACE_OK)
            fail_change(changes[i], &error);
    }
    if (sv_room_count(w->room, &w->changes, &error) != EFFACE_OK)
        w->changes = 0;
    sv_snapshots_drop_old(w->room, w->changes);
    w->seen = w->changes;
    w->changed = sv_now();
    sv_metrics_group(w->room->service->metrics, w->room->number, n, sv_now() - begin);
}

static bool has_changes(const sv_writer *w) {
    return w->next != NULL || w->changes_waiting.first != NULL;
}

static sv_change *take_change(sv_turns *turns) {
    sv_turn *const turn = sv_turns_take(turns, NULL, NULL);
    return turn != NULL ? (sv_change *)(void *)((char *)turn - offsetof(sv_change, turn)) : NULL;
}

static bool may_look(const sv_writer *w) {
    return w->looks_waiting.first != NULL && (w->ends || sv_now() >= w->rests);
}

/* Waits for something to do. The lock is held, but not while the store is looked at. */
static void await_change(sv_writer *w) {
    while (!has_changes(w) && !may_look(w) && !w->ends) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        const bool rests = w->looks_waiting.first != NULL;
        const double left = rests ? w->rests - sv_now() : LOOK_SECONDS;
        const double end = 1e-9 * (double)until.tv_nsec + (left > 0 ? left : 0);
        until.tv_sec += (time_t)end;
        until.tv_nsec = (long)(1e9 * (end - (double)(time_t)end));
        if (pthread_cond_timedwait(&w->added, &w->lock, &until) == 0 || rests)
            continue;
        pthread_mutex_unlock(&w->lock);
        look_for_others(w);
        pthread_mutex_lock(&w->lock);
    }
}

static size_t n_names(const sv_change *change) {
    const efface_request *const asked = change->asked.request;
    return asked != NULL ? asked->n_ids + asked->n_owners : 0;
}

static size_t take_waiting(sv_writer *w, sv_change *taken[MAX_TOGETHER]) {
    size_t n = 0, names = 0;
    while (has_changes(w) && n < MAX_TOGETHER) {
        sv_change *const change = w->next != NULL ? w->next : take_change(&w->changes_waiting);
        names += n_names(change);
        w->next = n != 0 && names > MAX_NAMES ? change : NULL;
        if (w->next != NULL)
            break;
        taken[n++] = change;
    }
    return n;
}

/* Takes what is done next: changes, or a preview. Returns how many; 0 when it is time to end. */
static size_t take_changes(sv_writer *w, sv_change *taken[MAX_TOGETHER]) {
    size_t n = 0;
    pthread_mutex_lock(&w->lock);
    await_change(w);
    w->looked = may_look(w) && (!has_changes(w) || !w->looked);
    if (w->looked)
        taken[n++] = take_change(&w->looks_waiting);
    else
        n = take_waiting(w, taken);
    pthread_mutex_unlock(&w->lock);
    return n;
}

static void *write_changes(void *context) {
    sv_writer *const w = context;
    sv_change *taken[MAX_TOGETHER];
    efface_store_change *const asked = calloc(MAX_TOGETHER, sizeof *asked);
    efface_error no_memory;
    (void)sv_no_memory(&no_memory);
    for (size_t n; (n = take_changes(w, taken)) != 0;) {
        const double begin = sv_now();
        for (size_t i = 0; i < n; i++)
            sv_metrics_waited(w->room->service->metrics, w->room->number, begin - taken[i]->added);
        if (taken[0]->only_look)
            preview_change(w, taken[0]);
        else if (asked != NULL)
            do_changes(w, taken, asked, n);
        for (size_t i = 0; i < n; i++) {
            if (asked == NULL && !taken[i]->only_look)
                fail_change(taken[i], &no_memory);
            finish_change(w, taken[i]);
        }
        if (asked != NULL)
            sodium_memzero(asked, n * sizeof *asked); /* errors name ids and owners */
        sv_wipe_stack();
    }
    free(asked);
    close_store(w);
    return NULL;
}

/* ---------------------------------------------------------------- from outside */

void sv_writer_add(sv_room *room, sv_change *change) {
    sv_writer *const w = room->writer;
    change->turn.who = change->who != NULL ? change->who : "";
    change->added = sv_now();
    pthread_mutex_lock(&w->lock);
    sv_turns_add(change->only_look ? &w->looks_waiting : &w->changes_waiting, &change->turn);
    pthread_cond_signal(&w->added);
    pthread_mutex_unlock(&w->lock);
}

bool sv_writer_start(sv_room *room, sv_writer **out) {
    sv_writer *const w = calloc(1, sizeof *w);
    if (w == NULL)
        return false;
    w->room = room;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->added, NULL);
    if (pthread_create(&w->thread, NULL, write_changes, w) != 0) {
        pthread_cond_destroy(&w->added);
        pthread_mutex_destroy(&w->lock);
        free(w);
        return false;
    }
    *out = w;
    return true;
}

void sv_writer_stop(sv_writer *w) {
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->lock);
    w->ends = true;
    pthread_cond_signal(&w->added);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->added);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
