/* The register of OpenDSR requests (register.h). */
#include "dsr/register.h"

#include "dsr/kept_requests.h"
#include "wiping.h"

#include <errno.h>
#include <search.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const sv_dsr_statuses[] = {"pending", "in_progress", "completed", "cancelled"};

/* ------------------------------------------------------------------ entries */

void sv_dsr_forget_people(sv_dsr_entry *entry) {
    for (size_t i = 0; i < entry->n_people; i++)
        sv_wipe_free(entry->people[i], strlen(entry->people[i]));
    free(entry->people);
    entry->people = NULL;
    entry->n_people = 0;
}

void sv_dsr_entry_free(sv_dsr_entry *entry) {
    if (entry == NULL)
        return;
    sv_dsr_forget_people(entry);
    free(entry->receipts);
    free(entry);
}

bool sv_dsr_add_receipt(sv_dsr_entry *entry, const char *store, uint64_t number,
                        const unsigned char *digest) {
    sv_dsr_receipt *const more =
        realloc(entry->receipts, (entry->n_receipts + 1) * sizeof *entry->receipts);
    if (more == NULL)
        return false;
    entry->receipts = more;
    sv_dsr_receipt *const receipt = &more[entry->n_receipts++];
    (void)snprintf(receipt->store, sizeof receipt->store, "%s", store);
    receipt->number = number;
    receipt->has_digest = digest != NULL;
    if (digest != NULL)
        memcpy(receipt->digest, digest, sizeof receipt->digest);
    return true;
}

/* ------------------------------------------------------------------ queues */

static void clear_queue(sv_dsr_queue *queue) {
    queue->first = NULL;
    queue->last = &queue->first;
}

void sv_dsr_push(sv_dsr_queue *queue, sv_dsr_entry *entry) {
    entry->next = NULL;
    *queue->last = entry;
    queue->last = &entry->next;
}

sv_dsr_entry *sv_dsr_pop(sv_dsr_queue *queue) {
    sv_dsr_entry *const entry = queue->first;
    if (entry == NULL)
        return NULL;
    queue->first = entry->next;
    if (queue->first == NULL)
        queue->last = &queue->first;
    entry->next = NULL;
    return entry;
}

static void take_from_queue(sv_dsr_queue *queue, sv_dsr_entry *entry) {
    sv_dsr_entry **place = &queue->first;
    while (*place != entry)
        place = &(*place)->next;
    *place = entry->next;
    if (queue->last == &entry->next)
        queue->last = place;
    entry->next = NULL;
}

/* ------------------------------------------------------------------ the table */

static int compare_entries(const void *a, const void *b) {
    return strcmp(((const sv_dsr_entry *)a)->id, ((const sv_dsr_entry *)b)->id);
}

/* Hold `lock`. */
static sv_dsr_entry *find_entry(const sv_dsr *dsr, const char *id) {
    sv_dsr_entry asked = {.n_rows = 0};
    (void)snprintf(asked.id, sizeof asked.id, "%s", id);
    sv_dsr_entry *const *const found = tfind(&asked, &dsr->by_id, compare_entries);
    return found != NULL ? *found : NULL;
}

/* Hold `lock`. False if there is no memory. */
static bool insert_entry(sv_dsr *dsr, sv_dsr_entry *entry) {
    if (tsearch(entry, &dsr->by_id, compare_entries) == NULL)
        return false;
    entry->last = dsr->newest;
    dsr->newest = entry;
    return true;
}

sv_dsr_entry *sv_dsr_find(sv_dsr *dsr, const char *id) {
    pthread_mutex_lock(&dsr->lock);
    sv_dsr_entry *const entry = find_entry(dsr, id);
    pthread_mutex_unlock(&dsr->lock);
    return entry;
}

/* Writes a new entry, then has it done. Hold `writes`. Returns 0 or an errno. */
static int add_new(sv_dsr *dsr, sv_dsr_entry *entry) {
    const int error = sv_dsr_kept_add(dsr->kept, entry);
    if (error != 0)
        return error;
    pthread_mutex_lock(&dsr->lock);
    const bool inserted = insert_entry(dsr, entry);
    if (inserted) {
        sv_dsr_push(&dsr->pending, entry);
        pthread_cond_signal(&dsr->added);
    }
    pthread_mutex_unlock(&dsr->lock);
    return inserted ? 0 : ENOMEM;
}

sv_dsr_adding sv_dsr_add(sv_dsr *dsr, sv_dsr_entry **given, const char *token, const void *body,
                         size_t n_body) {
    sv_dsr_entry *const entry = *given;
    sv_dsr_entry *there = NULL;
    pthread_mutex_lock(&dsr->writes);
    int error = sv_dsr_kept_make(dsr->kept);
    if (error == 0) {
        sv_dsr_kept_hash(dsr->kept, token, body, n_body, entry->hash);
        there = sv_dsr_find(dsr, entry->id);
        if (there == NULL)
            error = add_new(dsr, entry);
    }
    pthread_mutex_unlock(&dsr->writes);
    if (error == 0 && there == NULL)
        return SV_DSR_NEW;
    const bool same =
        there != NULL && sodium_memcmp(there->hash, entry->hash, sizeof entry->hash) == 0;
    sv_dsr_entry_free(entry);
    *given = same ? there : NULL;
    if (there != NULL)
        return same ? SV_DSR_SAME : SV_DSR_OTHER;
    return error == ENOSPC || error == EDQUOT ? SV_DSR_DISK_FULL : SV_DSR_FAILED;
}

sv_dsr_cancelling sv_dsr_cancel_entry(sv_dsr *dsr, const char *id, sv_dsr_entry **out) {
    sv_dsr_cancelling result = SV_DSR_UNKNOWN;
    pthread_mutex_lock(&dsr->writes);
    pthread_mutex_lock(&dsr->lock);
    sv_dsr_entry *const entry = find_entry(dsr, id);
    bool ours = false; /* it is in no queue: nobody else changes it */
    if (entry != NULL) {
        ours = entry->status == SV_DSR_PENDING;
        result = ours || entry->status == SV_DSR_CANCELLED ? SV_DSR_CANCELS : SV_DSR_BEGUN;
        if (ours)
            take_from_queue(&dsr->pending, entry);
    }
    pthread_mutex_unlock(&dsr->lock);
    if (ours) {
        sv_dsr_entry ended = *entry;
        ended.ended = (int64_t)time(NULL);
        ended.status = SV_DSR_CANCELLED;
        const bool written = sv_dsr_kept_end(dsr->kept, &ended, 1) == 0;
        pthread_mutex_lock(&dsr->lock);
        if (written) {
            entry->ended = ended.ended;
            entry->status = SV_DSR_CANCELLED;
            sv_dsr_forget_people(entry);
        } else {
            sv_dsr_push(&dsr->pending, entry);
            pthread_cond_signal(&dsr->added);
            result = SV_DSR_NOT_WRITTEN;
        }
        pthread_mutex_unlock(&dsr->lock);
    }
    pthread_mutex_unlock(&dsr->writes);
    *out = entry;
    return result;
}

/* ------------------------------------------------------------------ beginning and end */

/* What has not ended may have begun before: it is not cancelled any more (invariant 3). A request
 * whose end was written twice has two lines, and the later counts. */
bool sv_dsr_take_read(sv_dsr *dsr, sv_dsr_entry *entry) {
    sv_dsr_entry *const before = find_entry(dsr, entry->id);
    if (before != NULL) {
        before->status = entry->status;
        before->ended = entry->ended;
        sv_dsr_entry_free(entry);
        return true;
    }
    if (!insert_entry(dsr, entry)) {
        sv_dsr_entry_free(entry);
        return false;
    }
    if (entry->ended == 0) {
        entry->status = SV_DSR_IN_PROGRESS;
        entry->interrupted = true;
        sv_dsr_push(&dsr->pending, entry);
    }
    return true;
}

static bool fail_reading(sv_why *why, int error) {
    const char *reason = strerror(error);
    if (error == EBUSY)
        reason = "another service has the same file of tokens, and so the folder beside it; each "
                 "service needs files of its own (--tokens, --audit)";
    else if (error == EBADMSG)
        reason = "their files are damaged";
    else if (error == ENOMEM)
        reason = "out of memory";
    return sv_fail(why, "the OpenDSR requests cannot be read: %s", reason);
}

bool sv_dsr_open(sv_service *service, sv_dsr **out, sv_why *why) {
    sv_dsr *const dsr = calloc(1, sizeof *dsr);
    if (dsr == NULL)
        return fail_reading(why, ENOMEM);
    dsr->service = service;
    pthread_mutex_init(&dsr->writes, NULL);
    pthread_mutex_init(&dsr->lock, NULL);
    pthread_condattr_t forward;
    pthread_condattr_init(&forward);
    pthread_condattr_setclock(&forward, CLOCK_MONOTONIC);
    pthread_cond_init(&dsr->added, &forward);
    pthread_condattr_destroy(&forward);
    clear_queue(&dsr->pending);
    clear_queue(&dsr->failed);
    int error = sv_dsr_kept_open(service->options->tokens, &dsr->kept);
    if (error == 0)
        error = sv_dsr_kept_read(dsr->kept, dsr);
    if (error == 0 && !sv_dsr_check_stores(dsr, why)) {
        sv_dsr_close(dsr);
        return false;
    }
    if (error == 0)
        error = pthread_create(&dsr->thread, NULL, sv_dsr_work, dsr);
    if (error != 0) {
        sv_dsr_close(dsr);
        return fail_reading(why, error);
    }
    dsr->has_thread = true;
    *out = dsr;
    return true;
}

void sv_dsr_close(sv_dsr *dsr) {
    if (dsr == NULL)
        return;
    if (dsr->has_thread) {
        pthread_mutex_lock(&dsr->lock);
        dsr->stops = true;
        pthread_cond_signal(&dsr->added);
        pthread_mutex_unlock(&dsr->lock);
        pthread_join(dsr->thread, NULL);
    }
    while (dsr->newest != NULL) {
        sv_dsr_entry *const entry = dsr->newest;
        dsr->newest = entry->last;
        (void)tdelete(entry, &dsr->by_id, compare_entries);
        sv_dsr_entry_free(entry);
    }
    sv_dsr_kept_close(dsr->kept);
    pthread_cond_destroy(&dsr->added);
    pthread_mutex_destroy(&dsr->lock);
    pthread_mutex_destroy(&dsr->writes);
    free(dsr);
}
