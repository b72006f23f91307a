/* The rows that requests are about: found on this rank, changed, and told to all ranks. */
#include "model/request/changing_rows.h"

#include "base/bytes/ids.h"
#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IDS_NAMED 8

/* ---------------------------------------------------------------- rows that leave */

/* Where to look whether a row is there: in the set, or, in a group, among ids in order. */
typedef struct known_ids {
    const efface_data *data;
    const uint64_t *ids;
    size_t n_ids;
} known_ids;

static bool is_known(const known_ids *known, uint64_t id) {
    size_t position;
    return known->data != NULL ? efface_data_find(known->data, id, &position) == EFFACE_OK
                               : ef_ids_find(known->ids, known->n_ids, id) != NULL;
}

static efface_status fail_missing(const known_ids *known, const uint64_t *ids, size_t n_ids,
                                  size_t n_missing, efface_error *error) {
    char list[MAX_IDS_NAMED * 22] = "";
    size_t used = 0, named = 0;
    for (size_t i = 0; i < n_ids && named < MAX_IDS_NAMED; i++) {
        if (is_known(known, ids[i]))
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu64,
                                 named != 0 ? ", " : "", ids[i]);
        named++;
    }
    return ef_fail(error, EFFACE_E_NOT_FOUND,
                   "nothing was forgotten: there is no row with the id%s %s%s (%zu of %zu ids)",
                   n_missing == 1 ? "" : "s", list, n_missing > named ? ", ..." : "", n_missing,
                   n_ids);
}

/* The rows of a request, as ids that are there, each of them once. */
typedef struct wanted {
    uint64_t *ids;
    size_t n_ids;
    size_t n_missing; /* ids and owners that are not there */
} wanted;

/* The ids of the request that are there. */
static efface_status find_ids(const efface_data *data, const efface_request *request, wanted *to,
                              efface_error *error) {
    for (size_t i = 0; i < request->n_ids; i++) {
        size_t position;
        if (efface_data_find(data, request->ids[i], &position) == EFFACE_OK)
            to->ids[to->n_ids++] = request->ids[i];
    }
    to->n_missing = request->n_ids - to->n_ids;
    const known_ids known = {.data = data};
    return to->n_missing == 0 || request->missing == EFFACE_MISSING_SKIP || data->part != NULL
               ? EFFACE_OK
               : fail_missing(&known, request->ids, request->n_ids, to->n_missing, error);
}

static efface_status fail_owner(uint64_t owner, efface_error *error) {
    return ef_fail(error, EFFACE_E_NOT_FOUND,
                   "nothing was forgotten: the owner %" PRIu64 " has no rows", owner);
}

/* Adds the ids of the rows of owners that the request does not name by itself. `owners` and `named`
 * are in order. */
static efface_status add_owned(const efface_data *data, const efface_request *request,
                               const uint64_t *owners, const uint64_t *named, bool *seen,
                               wanted *to, efface_error *error) {
    const size_t n = request->n_owners, n_named = to->n_ids;
    for (size_t i = 0; i < data->n_rows; i++) {
        const efface_row row = efface_data_row(data, i);
        const uint64_t *const owner = ef_ids_find(owners, n, row.owner);
        if (owner == NULL)
            continue;
        seen[owner - owners] = true;
        if (ef_ids_find(named, n_named, row.id) == NULL)
            to->ids[to->n_ids++] = row.id;
    }
    for (size_t i = 0; i < n; i++) {
        if (!seen[i] && request->missing == EFFACE_MISSING_FAIL && data->part == NULL)
            return fail_owner(owners[i], error);
        to->n_missing += !seen[i];
    }
    return EFFACE_OK;
}

/* Whether a request may name these owners, which are in order. */
static efface_status check_owners(const uint64_t *owners, size_t n, efface_error *error) {
    if (ef_ids_find(owners, n, EFFACE_NO_OWNER) != NULL)
        return ef_fail(
            error, EFFACE_E_ARGUMENT,
            "EFFACE_NO_OWNER is not an owner; forget rows without an owner by their ids");
    const uint64_t *const repeat = ef_ids_find_repeat(owners, n);
    if (repeat != NULL)
        return ef_fail(error, EFFACE_E_DUPLICATE,
                       "nothing was forgotten: the owner %" PRIu64 " is named twice", *repeat);
    return EFFACE_OK;
}

static efface_status find_owned(const efface_data *data, const efface_request *request, wanted *to,
                                efface_error *error) {
    uint64_t *const owners = ef_alloc(request->n_owners, sizeof *owners);
    uint64_t *const named = ef_alloc(to->n_ids, sizeof *named);
    bool *const seen = ef_alloc_zero(request->n_owners, sizeof *seen);
    efface_status status = EFFACE_OK;
    if (owners == NULL || named == NULL || seen == NULL) {
        status = ef_fail_memory(error);
    } else {
        memcpy(owners, request->owners, request->n_owners * sizeof *owners);
        ef_ids_sort(owners, request->n_owners);
        if (to->n_ids != 0)
            memcpy(named, to->ids, to->n_ids * sizeof *named);
        ef_ids_sort(named, to->n_ids);
        status = check_owners(owners, request->n_owners, error);
        EF_THEN(status, add_owned(data, request, owners, named, seen, to, error));
    }
    ef_free(owners);
    ef_free(named);
    ef_free(seen);
    return status;
}

/* In a group: counts the ids and owners of a request that no rank has, from the rows that left. */
static efface_status count_missing(const ef_change *left, const efface_request *request,
                                   size_t *n_missing, efface_error *error) {
    uint64_t *const ids = ef_alloc(left->n_rows, sizeof *ids);
    uint64_t *const owners = ef_alloc(left->n_rows, sizeof *owners);
    const bool fails = request->missing == EFFACE_MISSING_FAIL;
    efface_status status = ids != NULL && owners != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < left->n_rows; i++) {
        ids[i] = left->rows[i].id;
        owners[i] = left->rows[i].owner;
    }
    const size_t n = status == EFFACE_OK ? left->n_rows : 0;
    ef_ids_sort(ids, n);
    ef_ids_sort(owners, n);
    *n_missing = 0;
    for (size_t i = 0; status == EFFACE_OK && i < request->n_ids; i++)
        *n_missing += ef_ids_find(ids, n, request->ids[i]) == NULL;
    const known_ids known = {.ids = ids, .n_ids = n};
    if (status == EFFACE_OK && fails && *n_missing != 0)
        status = fail_missing(&known, request->ids, request->n_ids, *n_missing, error);
    uint64_t least = UINT64_MAX; /* owner that is missing */
    size_t n_owners = 0;
    for (size_t i = 0; status == EFFACE_OK && i < request->n_owners; i++)
        if (ef_ids_find(owners, n, request->owners[i]) == NULL) {
            n_owners++;
            least = request->owners[i] < least ? request->owners[i] : least;
        }
    if (fails && n_owners != 0)
        status = fail_owner(least, error);
    *n_missing += n_owners;
    ef_free(ids);
    ef_free(owners);
    return status;
}

/* Tells all ranks of a change that this one has made of its rows. If that fails, the change is
 * undone and released. */
static efface_status share_rows(ef_joint_change *change, efface_data *data, efface_error *error) {
    const efface_status status = ef_joint_share(change, data, error);
    if (status != EFFACE_OK) {
        ef_joint_undo(change, data);
        ef_joint_free(change);
    }
    return status;
}

efface_status ef_take_out(efface_data *data, const efface_request *request, ef_joint_change *change,
                          size_t *n_missing, efface_error *error) {
    if (request == NULL || (request->ids == NULL && request->n_ids != 0) ||
        (request->owners == NULL && request->n_owners != 0))
        return ef_fail(error, EFFACE_E_ARGUMENT, "the request and its lists must not be NULL");
    size_t room = request->n_ids;
    if (request->n_owners != 0 && !ef_add_size(room, data->n_rows, &room))
        return ef_fail_memory(error);
    wanted found = {.ids = ef_alloc(room, sizeof *found.ids)};
    if (found.ids == NULL)
        return ef_fail_memory(error);
    efface_status status = find_ids(data, request, &found, error);
    if (status == EFFACE_OK && request->n_owners != 0)
        status = find_owned(data, request, &found, error);
    *change = (ef_joint_change){0};
    if (status == EFFACE_OK && !ef_change_init(&change->own, data->n_columns, found.n_ids))
        status = ef_fail_memory(error);
    if (status == EFFACE_OK) {
        status = ef_change_forget(&change->own, data, found.ids, found.n_ids, error);
        if (status != EFFACE_OK)
            ef_joint_free(change);
    }
    *n_missing = found.n_missing;
    ef_free(found.ids);
    EF_THEN(status, share_rows(change, data, error));
    if (status == EFFACE_OK && data->part != NULL) {
        status = count_missing(&change->all, request, n_missing, error);
        if (status == EFFACE_E_NOT_FOUND)
            ef_team_fail(ef_data_team(data));
        if (status != EFFACE_OK) {
            ef_joint_undo(change, data);
            ef_joint_free(change);
        }
    }
    return status;
}

/* ---------------------------------------------------------------- rows that come */

/* In a group: rows that come must be on no other rank; what these have sent is known. */
static efface_status check_new(const ef_joint_change *change, const efface_data *data,
                               efface_error *error) {
    for (size_t i = 0; i < change->all.n_rows; i++) {
        size_t position;
        const uint64_t id = change->all.rows[i].id;
        if (change->all.positions[i] == EF_NO_POSITION &&
            efface_data_find(data, id, &position) == EFFACE_OK)
            return ef_fail(error, EFFACE_E_DUPLICATE,
                           "the id %" PRIu64 " comes to one rank and is on another", id);
    }
    return EFFACE_OK;
}

efface_status ef_take_in_rows(efface_data *data, const efface_rows *rows, ef_joint_change *change,
                              efface_error *error) {
    *change = (ef_joint_change){0};
    if (rows == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "rows must not be NULL");
    if (data->part != NULL && rows->ids == NULL && rows->n_rows != 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "rows that come to a part of a group's set need ids; give each row one");
    if (!ef_change_init(&change->own, data->n_columns, rows->n_rows))
        return ef_fail_memory(error);
    efface_status status = ef_change_learn(&change->own, data, rows, error);
    if (status != EFFACE_OK) {
        ef_joint_free(change);
        return status;
    }
    status = share_rows(change, data, error);
    if (status != EFFACE_OK)
        return status;
    status = check_new(change, data, error);
    if (status != EFFACE_OK) {
        ef_joint_undo(change, data);
        ef_joint_free(change);
    }
    return status;
}

/* ---------------------------------------------------------------- rows that change */

/* Rows whose arrays are in one block. */
typedef struct own_rows {
    efface_rows rows;
    void *block; /* their arrays */
} own_rows;

/* Those of some rows that this rank has. All ranks check all, so that all of them refuse what is
 * wrong, with its place among the rows that were given. */
static efface_status find_own(const efface_data *data, const efface_rows *given, own_rows *own,
                              efface_error *error) {
    const efface_status status = ef_rows_check(data, given, error);
    if (status != EFFACE_OK)
        return status;
    const size_t n = given->n_rows, d = data->n_columns;
    const size_t stride = given->stride != 0 ? given->stride : d;
    float *values;
    uint64_t *ids, *owners;
    int64_t *weights, *labels, *marks;
    const ef_array arrays[] = {
        {&values, n, d * sizeof *values}, {&ids, n, sizeof *ids},
        {&owners, n, sizeof *owners},     {&weights, n, sizeof *weights},
        {&labels, n, sizeof *labels},     {&marks, n, sizeof *marks},
    };
    own->block = EF_ARRAYS_TAKE(arrays, false);
    if (own->block == NULL)
        return ef_fail_memory(error);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        size_t position;
        if (efface_data_find(data, given->ids[i], &position) != EFFACE_OK)
            continue;
        memcpy(values + m * d, given->values + i * stride, d * sizeof *values);
        ids[m] = given->ids[i];
        owners[m] = given->owners != NULL ? given->owners[i] : 0;
        weights[m] = given->weights != NULL ? given->weights[i] : 0;
        labels[m] = given->labels != NULL ? given->labels[i] : 0;
        marks[m] = given->marks != NULL ? given->marks[i] : 0;
        m++;
    }
    own->rows = (efface_rows){
        .n_rows = m,
        .values = values,
        .ids = ids,
        .owners = given->owners != NULL ? owners : NULL,
        .weights = given->weights != NULL ? weights : NULL,
        .labels = given->labels != NULL ? labels : NULL,
        .marks = given->marks != NULL ? marks : NULL,
    };
    return EFFACE_OK;
}

/* In a group: whether some rank had each row of an update. */
static efface_status check_old(const ef_change *change, const efface_rows *rows, ef_team *team,
                               efface_error *error) {
    const efface_request request = {.ids = rows->ids, .n_ids = rows->n_rows};
    size_t n_missing = 0;
    const efface_status status = count_missing(change, &request, &n_missing, error);
    if (status != EFFACE_E_NOT_FOUND)
        return status;
    ef_team_fail(team);
    return ef_fail(error, EFFACE_E_NOT_FOUND, "nothing was updated: %zu of %zu ids are on no rank",
                   n_missing, rows->n_rows);
}

efface_status ef_replace_rows(efface_data *data, const efface_rows *rows, ef_joint_change *change,
                              efface_error *error) {
    size_t n_changes;
    own_rows own = {.block = NULL};
    *change = (ef_joint_change){0};
    if (rows == NULL || (rows->ids == NULL && rows->n_rows != 0))
        return ef_fail(error, EFFACE_E_ARGUMENT, "rows and their ids must not be NULL");
    if (!ef_mul_size(rows->n_rows, 2, &n_changes) ||
        !ef_change_init(&change->own, data->n_columns, n_changes))
        return ef_fail_memory(error);
    efface_status status = data->part != NULL ? find_own(data, rows, &own, error) : EFFACE_OK;
    EF_THEN(status,
            ef_change_update(&change->own, data, data->part != NULL ? &own.rows : rows, error));
    ef_free(own.block);
    if (status != EFFACE_OK) {
        ef_joint_free(change);
        return status;
    }
    status = share_rows(change, data, error);
    if (status != EFFACE_OK || data->part == NULL)
        return status;
    status = check_old(&change->all, rows, ef_data_team(data), error);
    if (status != EFFACE_OK) {
        ef_joint_undo(change, data);
        ef_joint_free(change);
    }
    return status;
}
