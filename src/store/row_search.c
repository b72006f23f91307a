/*
 * Finding rows: by id and by owner, each answer verified, "there is none" included.
 *
 * An id is looked for in its bucket, all of which is read and added up. An owner is looked for in
 * its bucket of owners; its rows are those that the index names, and their seals as members must
 * add up to what the owner has.
 */
#include "base/checked.h"
#include "base/status.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_NAMED 8

/* ---------------------------------------------------------------- by id */

/* An id that is looked for, and where it stands among those that were asked for. */
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

/* Reads a bucket, verifies it, and takes the rows that are wanted. */
static efface_status search_bucket(efface_store *store, sqlite3_stmt *rows, sqlite3_stmt *sums,
                                   const wanted *list, size_t n, bool *there, ef_row_batch *batch,
                                   efface_error *error) {
    ef_bucket is = {0};
    bool row = true, right = false;
    (void)sqlite3_bind_int64(rows, 1, (sqlite3_int64)list->bucket);
    (void)sqlite3_bind_int64(sums, 1, (sqlite3_int64)list->bucket);
    efface_status status = EFFACE_OK;
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
    status = ef_sql_step(store, sums, &row, error);
    if (status == EFFACE_OK && row) {
        ef_u128 sum;
        right = ef_sql_has(sums, "ib") && (uint64_t)sqlite3_column_int64(sums, 0) == is.n_rows &&
                ef_sql_read_sum(sums, 1, &sum) && sum == is.sum;
    }
    (void)sqlite3_reset(sums);
    if (status == EFFACE_OK && !right)
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
    if (n_ids != 0)
        qsort(list, n_ids, sizeof *list, compare_wanted);
    efface_status status =
        found != NULL ? ef_batch_begin(&batch, store, NULL, 0, true, error) : EFFACE_OK;
    if (status == EFFACE_OK)
        status = ef_sql_prepare(store, "SELECT " EF_ROW_COLUMNS " FROM rows WHERE bucket = ?",
                                &rows, error);
    if (status == EFFACE_OK)
        status =
            ef_sql_prepare(store, "SELECT n_rows, sum FROM buckets WHERE number = ?", &sums, error);
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

static bool append(id_list *list, uint64_t id) {
    if (list->n_ids == list->capacity) {
        const size_t capacity = list->capacity + list->capacity / 2 + 64;
        uint64_t *const ids = ef_realloc(list->ids, capacity, sizeof *ids);
        if (ids == NULL)
            return false;
        list->ids = ids;
        list->capacity = capacity;
    }
    list->ids[list->n_ids++] = id;
    return true;
}

/* Adds the ids of an owner's rows; `found` is false if there is no such owner. */
static efface_status add_owner(efface_store *store, sqlite3_stmt *statement, uint64_t owner,
                               id_list *list, bool *found, efface_error *error) {
    ef_group group;
    efface_status status = ef_group_find(store, EF_GROUP_OWNER, owner, &group, found, error);
    if (status != EFFACE_OK || !*found)
        return status;
    ef_free(group.text);
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
        sum += ef_seal_member(&store->head, EF_GROUP_OWNER, owner, id);
        n_rows++;
        if (!append(list, id))
            status = ef_fail_memory(error);
    }
    (void)sqlite3_reset(statement);
    if (status == EFFACE_OK && (n_rows != group.n_rows || sum != group.members))
        status = ef_store_corrupt(error, "the rows of an owner do not match their checksum");
    return status;
}

/* ---------------------------------------------------------------- a request */

typedef struct missing_list {
    char named[MOST_NAMED * 28];
    size_t n_named;
    uint64_t n_missing;
} missing_list;

/* One that was asked for n times counts n times, and is named once. */
static void note_missing(missing_list *m, const char *what, uint64_t id, size_t n) {
    m->n_missing += n;
    if (m->n_named == MOST_NAMED)
        return;
    const size_t used = strlen(m->named);
    (void)snprintf(m->named + used, sizeof m->named - used, "%s%s %" PRIu64,
                   m->n_named != 0 ? ", " : "", what, id);
    m->n_named++;
}

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void drop_doubles(id_list *list) {
    size_t n = 0;
    if (list->n_ids != 0)
        qsort(list->ids, list->n_ids, sizeof *list->ids, compare_ids);
    for (size_t i = 0; i < list->n_ids; i++)
        if (i == 0 || list->ids[i] != list->ids[i - 1])
            list->ids[n++] = list->ids[i];
    list->n_ids = n;
}

static efface_status add_owners(efface_store *store, const efface_request *request, id_list *list,
                                missing_list *missing, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    if (request->n_owners == 0)
        return EFFACE_OK;
    efface_status status =
        ef_sql_prepare(store, "SELECT id FROM rows WHERE owner = ?", &statement, error);
    for (size_t i = 0; status == EFFACE_OK && i < request->n_owners; i++) {
        bool found = false;
        if (request->owners[i] == EFFACE_NO_OWNER)
            status =
                ef_fail(error, EFFACE_E_ARGUMENT,
                        "EFFACE_NO_OWNER is not an owner; name rows without an owner by their ids");
        else
            status = add_owner(store, statement, request->owners[i], list, &found, error);
        if (status == EFFACE_OK && !found)
            note_missing(missing, "owner", request->owners[i], 1);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

efface_status ef_rows_find(efface_store *store, const efface_request *request, ef_found *found,
                           uint64_t *n_missing, efface_error *error) {
    missing_list missing = {.n_missing = 0};
    id_list list = {NULL, 0, 0};
    bool *there = NULL;
    ef_found rows = {NULL, NULL, 0};
    efface_status status = EFFACE_OK;
    for (size_t i = 0; status == EFFACE_OK && i < request->n_ids; i++)
        if (!append(&list, request->ids[i]))
            status = ef_fail_memory(error);
    const size_t n_asked = list.n_ids;
    if (n_asked != 0)
        qsort(list.ids, n_asked, sizeof *list.ids, compare_ids);
    if (status == EFFACE_OK)
        status = add_owners(store, request, &list, &missing, error);
    if (status == EFFACE_OK) {
        /* An id that is asked for and that an owner has is one row; it counts as asked for. */
        uint64_t *const asked = ef_alloc(n_asked, sizeof *asked);
        if (asked == NULL) {
            ef_free(list.ids);
            return ef_fail_memory(error);
        }
        memcpy(asked, list.ids != NULL ? list.ids : asked, n_asked * sizeof *asked);
        drop_doubles(&list);
        there = ef_alloc(list.n_ids, sizeof *there);
        status = there != NULL ? ef_rows_look_up(store, list.ids, list.n_ids, there, &rows, error)
                               : ef_fail_memory(error);
        size_t at = 0;
        for (size_t i = 0; status == EFFACE_OK && i < list.n_ids; i++) {
            size_t n_times = 0;
            for (; at < n_asked && asked[at] == list.ids[i]; at++)
                n_times++;
            if (there[i])
                continue;
            if (n_times != 0)
                note_missing(&missing, "id", list.ids[i], n_times);
            else
                status = ef_store_corrupt(error, "an owner has a row that does not exist");
        }
        ef_free(asked);
    }
    if (status == EFFACE_OK && missing.n_missing != 0 && request->missing == EFFACE_MISSING_FAIL)
        status = ef_fail(error, EFFACE_E_NOT_FOUND,
                         "nothing was changed: there is no row with %s%s (%" PRIu64 " in all)",
                         missing.named, missing.n_missing > missing.n_named ? ", ..." : "",
                         missing.n_missing);
    ef_free(list.ids);
    ef_free(there);
    if (status != EFFACE_OK) {
        ef_found_free(&rows);
        return status;
    }
    *found = rows;
    *n_missing = missing.n_missing;
    return EFFACE_OK;
}
