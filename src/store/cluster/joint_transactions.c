/*
 * Transactions of all parts of a store together (cluster.h).
 *
 * To write, part 0 is locked first: of two groups that want to write, one waits at part 0, and none
 * has a part that the other waits for. What is found of a request that was not finished is finished
 * before anything else is done. Who reads finds all parts after the same request, or is told that
 * the store is busy.
 */
#define _POSIX_C_SOURCE 200809L
#include "store/cluster/cluster.h"

#include "base/errors/clock.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/transactions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WAIT_NANOSECONDS 10000000

/* ---------------------------------------------------------------- begin */

/* Whether the parts are still those of the folder: rows that were spread anew are in others. */
static efface_status check_folder(const ef_cluster *c, efface_error *error) {
    ef_manifest now;
    const efface_status status = ef_manifest_read(c->folder, &now, error);
    if (status != EFFACE_OK)
        return status;
    return now.n_parts == c->manifest.n_parts && now.generation == c->manifest.generation &&
                   memcmp(now.id, c->manifest.id, sizeof now.id) == 0
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_CORRUPT,
                         "the store in %s has other parts since it was opened; open it again",
                         c->folder);
}

/* Part 0 begins. If it has a journal, those who decided the request may have died before the disk
 * had it for good. No other part may follow it before that, so part 0 is written once more. */
static efface_status begin_first(efface_store *store, bool writes, efface_error *error) {
    bool found = false;
    efface_status status = ef_file_begin(store, writes, error);
    if (status != EFFACE_OK || !writes)
        return status;
    status = ef_journal_find(store, &found, error);
    if (status == EFFACE_OK && !found)
        return EFFACE_OK;
    store->head_changed = true;
    status = ef_file_end(store, status, error);
    return status == EFFACE_OK ? ef_file_begin(store, true, error) : status;
}

/* All parts begin, or none does. */
static efface_status begin_parts(efface_store *store, bool writes, efface_error *error) {
    ef_team *const team = store->cluster->team;
    const bool first = !writes || ef_store_leads(store);
    bool begun = false;
    /* Looked at again when the parts are locked; this is for a better message. */
    efface_status status = ef_store_leads(store) ? check_folder(store->cluster, error) : EFFACE_OK;
    if (status == EFFACE_OK && first) {
        status = ef_store_leads(store) ? begin_first(store, writes, error)
                                       : ef_file_begin(store, writes, error);
        begun = status == EFFACE_OK;
    }
    if (writes)
        status = ef_team_agree(team, status, error);
    if (status == EFFACE_OK && !first) {
        status = ef_file_begin(store, writes, error);
        begun = status == EFFACE_OK;
    }
    status = ef_team_agree(team, status, error);
    if (status != EFFACE_OK && begun)
        (void)ef_file_end(store, status, NULL);
    return status;
}

/* What part 0 says of requests. */
typedef struct last_request {
    uint64_t n_requests;
    uint64_t has_journal;
} last_request;

/* Finds out how many rows all parts have, and whether a request waits to be finished: `behind` is
 * whether some part has not followed the last one. */
static efface_status look_at_parts(efface_store *store, last_request *last, bool *behind,
                                   efface_error *error) {
    ef_cluster *const c = store->cluster;
    const ef_head *const head = &store->head;
    bool has_journal = false;
    efface_status status = ef_store_leads(store) ? check_folder(c, error) : EFFACE_OK;
    if (status == EFFACE_OK && ef_store_leads(store))
        status = ef_journal_find(store, &has_journal, error);
    *last = (last_request){head->n_requests, has_journal};
    EF_THEN(status, ef_team_broadcast(c->team, last, sizeof *last, 0, error));
    if (status != EFFACE_OK)
        return status;
    const uint64_t lag = last->n_requests - head->n_requests;
    if (lag > last->has_journal)
        return ef_fail(error, EFFACE_E_CORRUPT,
                       "part %" PRIu32 " has followed %" PRIu64 " requests, and part 0 %" PRIu64
                       ": they are copies of different age; restore all parts from one backup",
                       head->part, head->n_requests, last->n_requests);
    int64_t sums[] = {(int64_t)head->n_rows, head->total_weight, (int64_t)lag};
    status = ef_team_sum(c->team, sums, sizeof sums / sizeof sums[0], error);
    c->n_rows = (uint64_t)sums[0];
    c->total_weight = sums[1];
    *behind = sums[2] != 0;
    return status;
}

/* Within a transaction of all parts that writes: those that are behind follow the request in the
 * journal, and then the journal is taken out. The transaction has ended then. Parts that are not
 * behind are written once more, for the reason of begin_first. */
static efface_status finish_request(efface_store *store, uint64_t n_requests, efface_error *error) {
    ef_team *const team = store->cluster->team;
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    ef_decoder task = {.bytes = NULL};
    const bool leads = ef_store_leads(store);
    efface_status status = leads ? ef_journal_read(store, &bytes, &n_bytes, error) : EFFACE_OK;
    EF_THEN(status, ef_team_share(team, &bytes, &n_bytes, error));
    if (status == EFFACE_OK && store->head.n_requests != n_requests) {
        status = ef_journal_task(bytes, n_bytes, store->head.part, &task, error);
        EF_THEN(status, ef_part_task_do(store, task, error));
    }
    store->head_changed = true;
    if (!leads)
        status = ef_file_end(store, status, error);
    status = ef_team_agree(team, status, error);
    if (leads) {
        EF_THEN(status, ef_journal_drop(store, error));
        status = ef_file_end(store, status, error);
    }
    ef_free(bytes);
    return ef_team_agree(team, status, error);
}

/* Other processes may be about to finish a request: how long to wait for them is up to rank 0. */
static efface_status wait_for_others(efface_store *store, double since, bool *again,
                                     efface_error *error) {
    uint64_t waits = ef_clock_seconds() - since < store->wait_seconds;
    const efface_status status =
        ef_team_broadcast(store->cluster->team, &waits, sizeof waits, 0, error);
    const struct timespec moment = {.tv_nsec = WAIT_NANOSECONDS};
    *again = status == EFFACE_OK && waits != 0;
    if (*again)
        (void)nanosleep(&moment, NULL);
    return status;
}

static efface_status fail_unfinished(ef_team *team, efface_error *error) {
    ef_team_fail(team);
    return ef_fail(
        error, EFFACE_E_BUSY,
        "a request is not finished in all parts of the store: other processes are at it, "
        "or were interrupted; try again; the next command that writes, such as "
        "efface-mpi compact, finishes it");
}

efface_status ef_cluster_begin(efface_store *store, bool writes, efface_error *error) {
    ef_team *const team = store->cluster->team;
    const double since = ef_clock_seconds();
    ef_team_begin(team);
    for (;;) {
        last_request last;
        bool behind = false, again = false;
        efface_status status = begin_parts(store, writes, error);
        if (status != EFFACE_OK)
            return status;
        status = ef_team_agree(team, look_at_parts(store, &last, &behind, error), error);
        if (status == EFFACE_OK && last.has_journal != 0 && writes) {
            status = finish_request(store, last.n_requests, error);
            if (status != EFFACE_OK)
                return status;
            continue;
        }
        if (status == EFFACE_OK && !behind)
            return EFFACE_OK;
        (void)ef_file_end(store, EFFACE_E_BUSY, NULL);
        EF_THEN(status, wait_for_others(store, since, &again, error));
        if (status == EFFACE_OK && !again)
            status = fail_unfinished(team, error);
        if (status != EFFACE_OK)
            return status;
    }
}

/* ---------------------------------------------------------------- end */

static efface_status fail_decided(efface_status status, efface_error *error) {
    if (error == NULL)
        return status;
    const efface_error cause = *error;
    (void)snprintf(error->message, sizeof error->message,
                   "the request is done in part 0 and is finished when the store is next opened to "
                   "write; until then it is not: %.300s",
                   cause.message);
    return status;
}

/* Whether other processes have taken the journal of a request out. */
static bool is_taken_out(efface_store *store, uint64_t n_requests) {
    bool found = true;
    if (ef_file_begin(store, false, NULL) != EFFACE_OK)
        return false;
    const bool is = store->head.n_requests != n_requests ||
                    (ef_journal_find(store, &found, NULL) == EFFACE_OK && !found);
    (void)ef_file_end(store, EFFACE_E_BUSY, NULL);
    return is;
}

/* The journal of a request that all parts have followed; unless other processes have been here:
 * whoever locks part 0 takes it out first, and may keep part 0 for long then. */
static efface_status take_out_journal(efface_store *store, uint64_t n_requests,
                                      efface_error *error) {
    efface_status status = ef_file_begin(store, true, error);
    if (status == EFFACE_E_BUSY && is_taken_out(store, n_requests))
        return EFFACE_OK;
    if (status != EFFACE_OK)
        return status;
    if (store->head.n_requests == n_requests)
        status = ef_journal_drop(store, error);
    return ef_file_end(store, status, error);
}

/* What became of the commit of part 0. */
enum { NOT_DECIDED, IN_DOUBT, DECIDED };

/* Part 0 commits, and with that the request is decided; the others follow. If the disk of part 0
 * may not have kept it, they do not: the next transaction sees what it has kept. */
static efface_status commit_parts(efface_store *store, bool has_journal, efface_error *error) {
    ef_team *const team = store->cluster->team;
    const uint64_t n_requests = store->head.n_requests;
    const bool leads = ef_store_leads(store);
    uint64_t outcome = NOT_DECIDED;
    efface_status status = EFFACE_OK;
    if (leads) {
        status = ef_file_end(store, EFFACE_OK, error);
        outcome = status == EFFACE_OK ? DECIDED : store->in_doubt ? IN_DOUBT : NOT_DECIDED;
    }
    efface_error lost;
    const efface_status told = ef_team_broadcast(team, &outcome, sizeof outcome, 0, &lost);
    if (told != EFFACE_OK) {
        if (!leads)
            (void)ef_file_end(store, told, NULL);
        if (error != NULL)
            *error = lost;
        return outcome != NOT_DECIDED && has_journal ? fail_decided(told, error) : told;
    }
    if (!leads) {
        const bool follows = outcome == DECIDED;
        const efface_status ended = ef_file_end(store, follows ? EFFACE_OK : EFFACE_E_GROUP, error);
        status = follows ? ended : EFFACE_OK;
    }
    status = ef_team_agree(team, status, error);
    if (status == EFFACE_OK && has_journal)
        status = ef_team_agree(team, leads ? take_out_journal(store, n_requests, error) : EFFACE_OK,
                               error);
    return status != EFFACE_OK && outcome != NOT_DECIDED && has_journal
               ? fail_decided(status, error)
               : status;
}

efface_status ef_cluster_end(efface_store *store, efface_status status, efface_error *error) {
    ef_cluster *const c = store->cluster;
    const bool writes = store->in_write;
    const bool has_journal = c->is_request && store->head.n_parts > 1;
    EF_THEN(status, ef_file_prepare(store, error));
    if (status == EFFACE_OK && c->journal.n_bytes != 0)
        status = ef_journal_write(store, &c->journal, error);
    ef_free(c->journal.bytes);
    c->journal = (ef_writer){0};
    c->is_request = false;
    status = ef_team_agree(c->team, status, error);
    if (status != EFFACE_OK || !writes) {
        const efface_status ended = ef_file_end(store, status, error);
        return status == EFFACE_OK ? ended : status;
    }
    return commit_parts(store, has_journal, error);
}
