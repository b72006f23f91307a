/*
 * Finding rows: by id and by owner, each answer verified, "there is none" included.
 *
 * An id is looked for in its bucket. The whole bucket is read and its seals are added up, so "there
 * is no such row" is as certain as a row that was found. An owner is looked for in its bucket of
 * owners in the same way. Its rows are those that the index of SQLite names; an index can be
 * damaged, so the seals of these members must add up to what the owner's entry says.
 *
 * Several requests that are done together are searched together (ef_rows_find_all):
 *
 * 1. each request lists what it asks for: its ids, and the ids of its owners' rows; 2. all of these
 * ids, each once, are looked up bucket by bucket; 3. each request takes its rows in turn, so that a
 * row belongs to the first request that names it.
 */
#include "store/rows/row_search.h"

#include "base/bytes/ids.h"
#include "base/errors/status.h"
#include "base/memory/list.h"
#include "base/memory/memory.h"
#include "store/seals/owners_and_labels.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- by id */

/* An id to look for, and its place among those that were asked for. */
typedef struct wanted {
    uint64_t bucket, id;
    size_t asked;
} wanted;

static int compare_wanted(const void *a, const void *b) {
    const wanted *const x = a, *const y = b;
    if (x->bucket != y->bucket)
        return x->bucket > y->bucket ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static const wanted *find_wanted(const wanted *list, size_t n, uint64_t id) {
    while (n != 0) {
        const size_t half = n / 2;
        if (list[half].id == id)
            return &list[half];
        if (list[half].id < id) {
            list += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return NULL;
}

/* Reads a bucket, takes the rows that are wanted, and then verifies it. The caller uses nothing of
 * what was found if the bucket is damaged. */
static efface_status search_bucket(efface_store *store, sqlite3_stmt *rows, sqlite3_stmt *sums,
                                   const wanted *list, size_t n, bool *there, ef_row_batch *batch,
                                   efface_error *error) {
    ef_bucket is = {0};
    bool row = true, ok = false;
    (void)sqlite3_bind_int64(rows, 1, (sqlite3_int64)list->bucket);
    (void)sqlite3_bind_int64(sums, 1, (sqlite3_int64)list->bucket);
    efface_status status = EFFACE_OK;
    /* Every row of the bucket counts towards the sum, wanted or not. */
    while (status == EFFACE_OK) {
        ef_stored_row found;
        uint64_t bucket;
        status = ef_sql_step(store, rows, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        status = ef_row_read(store, rows, &found, &bucket, error);
        if (status != EFFACE_OK)
            break;
        is.n_rows++;
        is.sum += ef_seal_row(&store->head, &found);
        const wanted *const hit = find_wanted(list, n, found.row.id);
        if (hit != NULL) {
            there[hit->asked] = true;
            status = batch != NULL ? ef_batch_add(batch, &found, error) : EFFACE_OK;
        }
    }
    (void)sqlite3_reset(rows);
    if (status != EFFACE_OK)
        return status;
    /* A bucket without an entry is as wrong as one with another sum: empty ones have entries
     * too. */
    status = ef_sql_step(store, sums, &row, error);
    if (status == EFFACE_OK && row) {
        ef_u128 sum;
        ok = ef_sql_has(sums, "ib") && (uint64_t)sqlite3_column_int64(sums, 0) == is.n_rows &&
             ef_sql_read_sum(sums, 1, &sum) && sum == is.sum;
    }
    (void)sqlite3_reset(sums);
    if (status == EFFACE_OK && !ok)
        status = ef_store_corrupt(error, "rows do not match their checksum");
    return status;
}

efface_status ef_rows_look_up(efface_store *store, const uint64_t *ids, size_t n_ids, bool *there,
                              ef_found *found, efface_error *error) {
    sqlite3_stmt *rows = NULL, *sums = NULL;
    ef_row_batch batch;
    wanted *const list = ef_alloc(n_ids, sizeof *list);
    if (list == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < n_ids; i++) {
        list[i] = (wanted){ef_bucket_of(&store->head, ids[i]), ids[i], i};
        there[i] = false;
    }
    /* By bucket, so that each is read once; within it by id, for find_wanted. */
    if (n_ids != 0)
        qsort(list, n_ids, sizeof *list, compare_wanted);
    efface_status status =
        found != NULL ? ef_batch_begin(&batch, store, NULL, 0, true, error) : EFFACE_OK;
    EF_THEN(status, ef_sql_prepare(store, "SELECT " EF_ROW_COLUMNS " FROM rows WHERE bucket = ?",
                                   &rows, error));
    EF_THEN(status, ef_sql_prepare(store, "SELECT n_rows, sum FROM buckets WHERE number = ?", &sums,
                                   error));
    for (size_t i = 0; status == EFFACE_OK && i < n_ids;) {
        size_t n = 1;
        while (i + n < n_ids && list[i + n].bucket == list[i].bucket)
            n++;
        status = search_bucket(store, rows, sums, list + i, n, there, found != NULL ? &batch : NULL,
                               error);
        i += n;
    }
    (void)sqlite3_finalize(rows);
    (void)sqlite3_finalize(sums);
    ef_free(list);
    return found != NULL ? ef_batch_end(&batch, store, status, found, error) : status;
}

/* ---------------------------------------------------------------- by owner */

typedef struct id_list {
    uint64_t *ids;
    size_t n_ids;
    size_t capacity;
} id_list;

static bool add_id(id_list *list, uint64_t id) {
    if (!ef_list_reserve(&list->ids, &list->capacity, list->n_ids, 1, sizeof *list->ids))
        return false;
    list->ids[list->n_ids++] = id;
    return true;
}

/* Adds the ids of an owner's rows. */
static efface_status add_ids_of_owner(efface_store *store, sqlite3_stmt *statement,
                                      const ef_member_set *group, const char *text, id_list *list,
                                      efface_error *error) {
    const uint64_t owner = group->number;
    char mark[EF_MARK_BYTES];
    /* Two texts may have one number: the request must mean the owner that the store knows. */
    efface_status status = ef_refuse_other_text(group->text, ef_kept_text(&store->head, text, mark),
                                                "an owner", error);
    if (status != EFFACE_OK)
        return status;
    uint64_t n_rows = 0;
    ef_u128 sum = 0;
    bool row = true;
    (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)owner);
    while (status == EFFACE_OK) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        if (!ef_sql_has(statement, "i")) {
            status = ef_store_corrupt(error, "the id of a row is invalid");
            break;
        }
        const uint64_t id = (uint64_t)sqlite3_column_int64(statement, 0);
        sum += ef_seal_member(&store->head, EF_MEMBER_OWNER, owner, id);
        n_rows++;
        if (!add_id(list, id))
            status = ef_fail_memory(error);
    }
    (void)sqlite3_reset(statement);
    /* The index left out a row, named one that is not the owner's, or one twice. */
    if (status == EFFACE_OK && (n_rows != group->n_rows || sum != group->members))
        status = ef_store_corrupt(error, "the rows of an owner do not match their checksum");
    return status;
}

/* ---------------------------------------------------------------- a request */

void ef_absent_note(ef_absent *m, const char *what, uint64_t id, size_t n) {
    m->n_missing += n;
    if (m->n_named == EF_MAX_NAMED)
        return;
    const size_t used = strlen(m->named);
    (void)snprintf(m->named + used, sizeof m->named - used, "%s%s %" PRIu64,
                   m->n_named != 0 ? ", " : "", what, id);
    m->n_named++;
}

efface_status ef_absent_judge(const ef_absent *missing, const efface_request *request,
                              efface_error *error) {
    return missing->n_missing == 0 || request->missing != EFFACE_MISSING_FAIL
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_NOT_FOUND,
                         "nothing was changed: there is no row with %s%s (%" PRIu64 " in all)",
                         missing->named, missing->n_missing > missing->n_named ? ", ..." : "",
                         missing->n_missing);
}

/* What a request asks for: the ids that it names, sorted, and then those of its owners' rows, owner
 * by owner. */
typedef struct asked {
    id_list list;
    size_t n_named;
    size_t *ends; /* where the ids of each owner end */
} asked;

static void asked_free(asked *a) {
    ef_free(a->list.ids);
    ef_free(a->ends);
}

static efface_status check_owners(const efface_request *request, efface_error *error) {
    for (size_t i = 0; i < request->n_owners; i++)
        if (request->owners[i] == EFFACE_NO_OWNER)
            return ef_fail(
                error, EFFACE_E_ARGUMENT,
                "EFFACE_NO_OWNER is not an owner; name rows without an owner by their ids");
    return EFFACE_OK;
}

/* Owners are looked up together: one after the other, each would read a bucket of its own. */
static efface_status add_owners(efface_store *store, const efface_request *request, asked *a,
                                efface_error *error) {
    const size_t n = request->n_owners;
    sqlite3_stmt *statement = NULL;
    efface_status status = check_owners(request, error);
    if (status != EFFACE_OK || n == 0)
        return status;
    ef_member_set *const owners = ef_alloc_zero(n, sizeof *owners);
    if (owners == NULL)
        return ef_fail_memory(error);
    status = ef_member_sets_find(store, EF_MEMBER_OWNER, request->owners, n, owners, error);
    EF_THEN(status,
            ef_sql_prepare(store, "SELECT id FROM rows WHERE owner = ?", &statement, error));
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        if (owners[i].n_rows != 0)
            status = add_ids_of_owner(
                store, statement, &owners[i],
                efface_texts_find(request->texts, EFFACE_TEXT_OWNER, request->owners[i]), &a->list,
                error);
        a->ends[i] = a->list.n_ids;
    }
    (void)sqlite3_finalize(statement);
    ef_member_sets_clear(owners, n);
    ef_free(owners);
    return status;
}

static efface_status list_asked(efface_store *store, const efface_request *request, asked *a,
                                efface_error *error) {
    a->ends = ef_alloc(request->n_owners, sizeof *a->ends);
    bool fits = a->ends != NULL;
    for (size_t i = 0; fits && i < request->n_ids; i++)
        fits = add_id(&a->list, request->ids[i]);
    if (!fits)
        return ef_fail_memory(error);
    /* Only the named ids are sorted: find_missing counts how often each was named. */
    a->n_named = a->list.n_ids;
    ef_ids_sort(a->list.ids, a->n_named);
    return add_owners(store, request, a, error);
}

/* All ids that any of the requests asks for, each once, in order. */
typedef struct pool {
    id_list list;
    bool *there; /* the store has such a row */
    bool *taken; /* a request has taken it */
    size_t n_there, n_taken;
} pool;

static void pool_free(pool *p) {
    ef_free(p->list.ids);
    ef_free(p->there);
    ef_free(p->taken);
}

static efface_status pool_fill(pool *p, const asked *all, const ef_search *searches, size_t n,
                               efface_error *error) {
    bool fits = true;
    for (size_t m = 0; m < n; m++)
        for (size_t i = 0; fits && searches[m].status == EFFACE_OK && i < all[m].list.n_ids; i++)
            fits = add_id(&p->list, all[m].list.ids[i]);
    p->list.n_ids = ef_ids_sort_once(p->list.ids, p->list.n_ids);
    p->there = ef_alloc_zero(p->list.n_ids, sizeof *p->there);
    p->taken = ef_alloc_zero(p->list.n_ids, sizeof *p->taken);
    return fits && p->there != NULL && p->taken != NULL ? EFFACE_OK : ef_fail_memory(error);
}

static size_t pool_find(const pool *p, uint64_t id) {
    return (size_t)(ef_ids_find(p->list.ids, p->list.n_ids, id) - p->list.ids);
}

/* Notes what a request asks for and does not get: what does not exist, and what requests before it
 * took. A row that is named both by its id and by its owner is one row; it counts as named by
 * id. */
static efface_status find_missing(const pool *p, const asked *a, const efface_request *request,
                                  ef_absent *missing, efface_error *error) {
    size_t at = a->n_named;
    for (size_t k = 0; k < request->n_owners; k++) {
        bool left = false;
        for (; at < a->ends[k]; at++) {
            const size_t i = pool_find(p, a->list.ids[at]);
            /* The owner's entry was verified, so its rows exist unless the buckets disagree. */
            if (!p->there[i])
                return ef_store_corrupt(error, "an owner has a row that does not exist");
            left |= !p->taken[i];
        }
        /* An owner is missing if it has no row, or none that is left. */
        if (!left)
            ef_absent_note(missing, "owner", request->owners[k], 1);
    }
    for (at = 0; at < a->n_named;) {
        const uint64_t id = a->list.ids[at];
        const size_t i = pool_find(p, id);
        size_t n_times = 0;
        for (; at < a->n_named && a->list.ids[at] == id; at++)
            n_times++;
        if (!p->there[i] || p->taken[i])
            ef_absent_note(missing, "id", id, n_times);
    }
    return ef_absent_judge(missing, request, error);
}

/* Refuses a request that names a row by an id whose text is not that of the row, as far as both
 * texts are known. */
static efface_status check_texts(const ef_head *head, const ef_found *rows, const asked *a,
                                 const ef_search *search) {
    efface_status status = EFFACE_OK;
    for (size_t at = 0; search->request->texts != NULL && status == EFFACE_OK && at < a->n_named;
         at++) {
        char mark[EF_MARK_BYTES];
        size_t position;
        const uint64_t id = a->list.ids[at];
        if (rows->texts == NULL || efface_data_find(rows->data, id, &position) != EFFACE_OK)
            continue;
        const char *const text = efface_texts_find(search->request->texts, EFFACE_TEXT_ID, id);
        status = ef_refuse_other_text(rows->texts[position], ef_kept_text(head, text, mark),
                                      "an id", search->error);
    }
    return status;
}

/* Gives a request its rows, or its error. A request that fails takes nothing, so that its rows are
 * left for those after it. */
static efface_status give_rows(const ef_head *head, pool *p, const ef_found *rows, const asked *a,
                               ef_search *search) {
    ef_absent missing = {.n_missing = 0};
    efface_status status = check_texts(head, rows, a, search);
    EF_THEN(status, find_missing(p, a, search->request, &missing, search->error));
    if (status != EFFACE_OK)
        return status;
    search->ids = ef_alloc(a->list.n_ids, sizeof *search->ids);
    if (search->ids == NULL)
        return ef_fail_memory(search->error);
    for (size_t at = 0; at < a->list.n_ids; at++) {
        const size_t i = pool_find(p, a->list.ids[at]);
        if (!p->there[i] || p->taken[i])
            continue;
        p->taken[i] = true;
        search->ids[search->n_ids++] = a->list.ids[at];
    }
    p->n_taken += search->n_ids;
    search->n_missing = missing.n_missing;
    return EFFACE_OK;
}

/* Looks the rows up again, only those that were taken. Rows of requests that failed were found too,
 * and must not leave the store. */
static efface_status leave_others(efface_store *store, pool *p, ef_found *rows,
                                  efface_error *error) {
    size_t n = 0;
    for (size_t i = 0; i < p->list.n_ids; i++)
        if (p->taken[i])
            p->list.ids[n++] = p->list.ids[i];
    ef_found_free(rows);
    return ef_rows_look_up(store, p->list.ids, n, p->there, rows, error);
}

efface_status ef_rows_find_all(efface_store *store, ef_search *searches, size_t n, ef_found *found,
                               efface_error *error) {
    pool p = {.n_there = 0};
    ef_found rows = {NULL, NULL, 0};
    asked *const all = ef_alloc_zero(n, sizeof *all);
    if (all == NULL)
        return ef_fail_memory(error);
    /* 1: what each asks for. A request that fails here, for an owner who is damaged, say, fails
     * alone. */
    for (size_t m = 0; m < n; m++)
        searches[m].status = list_asked(store, searches[m].request, &all[m], searches[m].error);
    /* 2: which of it exists. */
    efface_status status = pool_fill(&p, all, searches, n, error);
    EF_THEN(status, ef_rows_look_up(store, p.list.ids, p.list.n_ids, p.there, &rows, error));
    for (size_t i = 0; status == EFFACE_OK && i < p.list.n_ids; i++)
        p.n_there += p.there[i];
    /* 3: whose it is. */
    for (size_t m = 0; status == EFFACE_OK && m < n; m++)
        if (searches[m].status == EFFACE_OK)
            searches[m].status = give_rows(&store->head, &p, &rows, &all[m], &searches[m]);
    if (status == EFFACE_OK && p.n_taken != p.n_there)
        status = leave_others(store, &p, &rows, error);
    for (size_t m = 0; m < n; m++)
        asked_free(&all[m]);
    ef_free(all);
    pool_free(&p);
    if (status == EFFACE_OK)
        *found = rows;
    else
        ef_found_free(&rows);
    return status;
}

efface_status ef_rows_find(efface_store *store, const efface_request *request, ef_found *found,
                           uint64_t *n_missing, efface_error *error) {
    ef_found rows = {NULL, NULL, 0};
    ef_search search = {.request = request, .error = error};
    efface_status status = ef_rows_find_all(store, &search, 1, &rows, error);
    ef_free(search.ids);
    EF_THEN(status, search.status);
    if (status == EFFACE_OK) {
        *found = rows;
        *n_missing = search.n_missing;
    } else {
        ef_found_free(&rows);
    }
    return status;
}
