/*
 * Does OpenDSR requests: forgets people in all stores, and has the register write that.
 *
 * Requests that wait are done together, so that the writers of the stores can do them in few
 * transactions, and the register writes their ends with one sync. A person whom a store does not
 * have is nothing to do there. A store that cannot be written now fails the requests of this round;
 * they are tried again after a pause, and stores that have done their part find nothing more.
 */
#include "dsr/kept_requests.h"
#include "rooms/rooms.h"
#include "wiping.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_TOGETHER 64 /* requests */
#define FIRST_PAUSE 1.0 /* seconds */
#define LONGEST_PAUSE 60.0

/* The part of a request that one store has to do for one person. */
typedef struct part {
    sv_change change; /* first: a change is a part */
    efface_request request;
    uint64_t owner;
    efface_texts *texts; /* the owner's */
    sv_dsr_entry *entry;
    sv_room *room;
    bool has_digest; /* of its receipt */
    unsigned char digest[EFFACE_DIGEST_BYTES];
} part;

/* Parts that are being done. */
typedef struct parts_count {
    pthread_mutex_t lock;
    pthread_cond_t none;
    size_t n;
} parts_count;

static void part_done(sv_change *change) {
    parts_count *const left = change->context;
    pthread_mutex_lock(&left->lock);
    if (--left->n == 0)
        pthread_cond_signal(&left->none);
    pthread_mutex_unlock(&left->lock);
}

/* Divides a request into parts, and returns their number. A person who comes twice is not there the
 * second time. `failed` is set if a store cannot be read. */
static size_t divide_request(const sv_rooms *rooms, sv_dsr_entry *entry, parts_count *left,
                             part *parts, bool *failed) {
    size_t n = 0;
    efface_error error;
    for (size_t i = 0; i < entry->n_people; i++)
        for (size_t j = 0; j < sv_rooms_count(rooms); j++) {
            part *const p = &parts[n];
            p->room = sv_rooms_at(rooms, j);
            efface_status status = efface_texts_create(&p->texts, &error);
            if (status == EFFACE_OK)
                status = sv_room_owner(p->room, entry->people[i], &p->owner, p->texts, &error);
            if (status != EFFACE_OK) {
                efface_texts_free(p->texts);
                p->texts = NULL;
                *failed |= status != EFFACE_E_NOT_FOUND;
                continue;
            }
            p->entry = entry;
            p->request = (efface_request){.owners = &p->owner, .n_owners = 1, .texts = p->texts};
            p->change.asked.kind = EFFACE_CHANGE_FORGET;
            p->change.asked.request = &p->request;
            p->change.done = part_done;
            p->change.context = left;
            n++;
        }
    return n;
}

/* Does parts, and returns when all are on the disk or have failed. */
static void do_parts(part *parts, size_t n_parts, parts_count *left) {
    left->n = n_parts;
    for (size_t i = 0; i < n_parts; i++)
        sv_writer_add(parts[i].room, &parts[i].change);
    pthread_mutex_lock(&left->lock);
    while (left->n != 0)
        pthread_cond_wait(&left->none, &left->lock);
    pthread_mutex_unlock(&left->lock);
}

/* Reads the last receipt of a store in this round: after a restart the store must have it still.
 * If it cannot be read now, a later one will do. */
static void read_last_receipt(const sv_room *room, part *parts, size_t n_parts) {
    part *last = NULL;
    efface_error error;
    for (size_t i = 0; i < n_parts; i++) {
        const efface_store_change *const done = &parts[i].change.asked;
        if (parts[i].room == room && done->status == EFFACE_OK && done->report.receipt != 0 &&
            (last == NULL || done->report.receipt > last->change.asked.report.receipt))
            last = &parts[i];
    }
    if (last != NULL)
        last->has_digest = sv_dsr_digest(room, last->change.asked.report.receipt, last->digest,
                                         &error) == EFFACE_OK;
}

/* Notes what became of a part; false if it has to be done again. Hold the register's lock. A number
 * that belongs to another text is somebody else's. */
static bool note_part(part *p) {
    efface_store_change *const change = &p->change.asked;
    efface_texts_free(p->texts);
    p->texts = NULL;
    if (change->status == EFFACE_E_NOT_FOUND || change->status == EFFACE_E_DUPLICATE)
        return true;
    if (change->status != EFFACE_OK)
        return false;
    p->entry->n_rows += change->report.n_forgotten;
    const bool noted = change->report.receipt == 0 ||
                       sv_dsr_add_receipt(p->entry, sv_room_name(p->room), change->report.receipt,
                                          p->has_digest ? p->digest : NULL);
    efface_store_report_free(&change->report);
    return noted;
}

/* Forgets the people of requests in all stores. `failed` gets whether a request has to be tried
 * again. False if there is no memory: then nothing was done. */
static bool forget_people(sv_dsr *dsr, sv_dsr_entry *const *entries, size_t n_entries,
                          bool failed[MAX_TOGETHER]) {
    const sv_rooms *const rooms = dsr->service->rooms;
    size_t n_max = 0;
    for (size_t i = 0; i < n_entries; i++)
        n_max += entries[i]->n_people * sv_rooms_count(rooms);
    part *const parts = calloc(n_max, sizeof *parts);
    if (parts == NULL)
        return false;
    parts_count left = {.n = 0};
    pthread_mutex_init(&left.lock, NULL);
    pthread_cond_init(&left.none, NULL);
    size_t n_parts = 0;
    for (size_t i = 0; i < n_entries; i++)
        n_parts += divide_request(rooms, entries[i], &left, parts + n_parts, &failed[i]);
    do_parts(parts, n_parts, &left);
    for (size_t j = 0; j < sv_rooms_count(rooms); j++)
        read_last_receipt(sv_rooms_at(rooms, j), parts, n_parts);
    pthread_cond_destroy(&left.none);
    pthread_mutex_destroy(&left.lock);
    pthread_mutex_lock(&dsr->lock);
    size_t i = 0; /* parts are in the order of entries */
    for (size_t j = 0; j < n_parts; j++) {
        while (entries[i] != parts[j].entry)
            i++;
        failed[i] |= !note_part(&parts[j]);
    }
    pthread_mutex_unlock(&dsr->lock);
    sv_wipe_free(parts, n_max * sizeof *parts); /* with the numbers of owners */
    return true;
}

/* Writes that requests have ended; false if that is not possible now. */
static bool end_entries(sv_dsr *dsr, sv_dsr_entry *const *entries, size_t n_entries) {
    sv_dsr_entry ended[MAX_TOGETHER];
    const int64_t now = (int64_t)time(NULL);
    for (size_t i = 0; i < n_entries; i++) {
        ended[i] = *entries[i];
        ended[i].status = SV_DSR_COMPLETED;
        ended[i].ended = now;
    }
    pthread_mutex_lock(&dsr->writes);
    const bool written = n_entries == 0 || sv_dsr_kept_end(dsr->kept, ended, n_entries) == 0;
    pthread_mutex_unlock(&dsr->writes);
    pthread_mutex_lock(&dsr->lock);
    for (size_t i = 0; written && i < n_entries; i++) {
        entries[i]->status = SV_DSR_COMPLETED;
        entries[i]->ended = now;
        sv_dsr_forget_people(entries[i]);
    }
    pthread_mutex_unlock(&dsr->lock);
    return written;
}

static void try_again(sv_dsr *dsr, sv_dsr_entry *const *entries, size_t n_entries) {
    pthread_mutex_lock(&dsr->lock);
    for (size_t i = 0; i < n_entries; i++)
        sv_dsr_push(&dsr->failed, entries[i]);
    if (n_entries != 0) {
        dsr->pause = dsr->pause == 0 ? FIRST_PAUSE : 2 * dsr->pause;
        if (dsr->pause > LONGEST_PAUSE)
            dsr->pause = LONGEST_PAUSE;
        dsr->again = sv_now() + dsr->pause;
    } else if (dsr->failed.first == NULL) {
        dsr->pause = 0;
    }
    pthread_mutex_unlock(&dsr->lock);
}

/* Does requests; those that fail are tried again later. */
static void do_entries(sv_dsr *dsr, sv_dsr_entry *const *entries, size_t n_entries) {
    bool failed[MAX_TOGETHER] = {false};
    sv_dsr_entry *ended[MAX_TOGETHER], *again[MAX_TOGETHER];
    size_t n_ended = 0, n_again = 0;
    const bool tried = forget_people(dsr, entries, n_entries, failed);
    for (size_t i = 0; i < n_entries; i++)
        if (tried && !failed[i])
            ended[n_ended++] = entries[i];
        else
            again[n_again++] = entries[i];
    if (!end_entries(dsr, ended, n_ended))
        for (size_t i = 0; i < n_ended; i++)
            again[n_again++] = ended[i];
    try_again(dsr, again, n_again);
}

/* Waits until there is something to do, and takes it; returns 0 at the end. What has failed stays
 * in its file when the service ends, and is done after the next start. */
static size_t take_entries(sv_dsr *dsr, sv_dsr_entry *entries[MAX_TOGETHER]) {
    size_t n = 0;
    pthread_mutex_lock(&dsr->lock);
    while (!dsr->stops && dsr->pending.first == NULL) {
        if (dsr->failed.first == NULL) {
            pthread_cond_wait(&dsr->added, &dsr->lock);
        } else if (sv_now() >= dsr->again) {
            while (dsr->failed.first != NULL)
                sv_dsr_push(&dsr->pending, sv_dsr_pop(&dsr->failed));
        } else {
            const struct timespec until = {
                .tv_sec = (time_t)dsr->again,
                .tv_nsec = (long)(1e9 * (dsr->again - (double)(time_t)dsr->again))};
            (void)pthread_cond_timedwait(&dsr->added, &dsr->lock, &until);
        }
    }
    while (n < MAX_TOGETHER && dsr->pending.first != NULL) {
        entries[n] = sv_dsr_pop(&dsr->pending);
        entries[n++]->status = SV_DSR_IN_PROGRESS;
    }
    pthread_mutex_unlock(&dsr->lock);
    return n;
}

void *sv_dsr_work(void *context) {
    sv_dsr *const dsr = context;
    sv_dsr_entry *entries[MAX_TOGETHER];
    size_t n;
    while ((n = take_entries(dsr, entries)) != 0) {
        do_entries(dsr, entries, n);
        sv_wipe_stack();
    }
    return NULL;
}
