/* The rows of all parts that a request is about: each rank finds its own, and what no part has is
 * missing. */
#include "store/cluster/rows_of_parts.h"

#include "base/bytes/ids.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/cluster/cluster.h"
#include "store/rows/row_search.h"
#include "store/rows/store_columns.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- what is asked */

efface_status ef_request_share(ef_team *team, const efface_request *asked, ef_shared_request *to,
                               efface_error *error) {
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    efface_status status = EFFACE_OK;
    if (team->group.rank == 0) {
        const size_t n = 3 + asked->n_ids + asked->n_owners;
        uint64_t *const words = ef_alloc(n, sizeof *words);
        if (words == NULL) {
            status = ef_fail_memory(error);
        } else {
            words[0] = asked->n_ids;
            words[1] = asked->n_owners;
            words[2] = (uint64_t)asked->missing;
            if (asked->n_ids != 0) {
                memcpy(words + 3, asked->ids, asked->n_ids * sizeof *words);
                ef_ids_sort(words + 3, asked->n_ids);
            }
            if (asked->n_owners != 0)
                memcpy(words + 3 + asked->n_ids, asked->owners, asked->n_owners * sizeof *words);
        }
        bytes = (unsigned char *)words;
        n_bytes = n * sizeof *words;
    }
    EF_THEN(status, ef_team_share(team, &bytes, &n_bytes, error));
    if (status != EFFACE_OK) {
        if (team->group.rank == 0)
            ef_free(bytes);
        return status;
    }
    uint64_t *const words = (uint64_t *)(void *)bytes;
    *to = (ef_shared_request){.request = {.ids = words + 3,
                                          .n_ids = (size_t)words[0],
                                          .owners = words + 3 + words[0],
                                          .n_owners = (size_t)words[1],
                                          .missing = (efface_missing)words[2]},
                              .bytes = words};
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- rows of all parts */

void ef_rows_of_parts_free(ef_rows_of_parts *rows) {
    ef_found_free(&rows->here);
    ef_gathered_free(&rows->ids);
    ef_free(rows->begins);
    efface_data_free(rows->all);
}

/* Of what is asked for, what no part has. */
static efface_status judge_missing(efface_store *store, const efface_request *request,
                                   ef_rows_of_parts *rows, efface_error *error) {
    const size_t n = request->n_ids + request->n_owners;
    ef_absent missing = {.n_missing = 0};
    int64_t *const there = ef_alloc_zero(n, sizeof *there);
    ef_member_set *const owners = ef_alloc_zero(request->n_owners, sizeof *owners);
    efface_status status = there != NULL && owners != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < request->n_ids; i++) {
        size_t position;
        there[i] = efface_data_find(rows->here.data, request->ids[i], &position) == EFFACE_OK;
    }
    EF_THEN(status, ef_member_sets_find(store, EF_MEMBER_OWNER, request->owners, request->n_owners,
                                        owners, error));
    for (size_t i = 0; status == EFFACE_OK && i < request->n_owners; i++)
        there[request->n_ids + i] = owners[i].n_rows != 0;
    EF_THEN(status, ef_team_sum(ef_store_team(store), there, n, error));
    for (size_t i = 0; status == EFFACE_OK && i < request->n_owners; i++)
        if (there[request->n_ids + i] == 0)
            ef_absent_note(&missing, "owner", request->owners[i], 1);
    for (size_t i = 0, n_times; status == EFFACE_OK && i < request->n_ids; i += n_times) {
        for (n_times = 1;
             i + n_times < request->n_ids && request->ids[i + n_times] == request->ids[i];)
            n_times++;
        if (there[i] == 0)
            ef_absent_note(&missing, "id", request->ids[i], n_times);
    }
    ef_free(there);
    if (owners != NULL)
        ef_member_sets_clear(owners, request->n_owners);
    ef_free(owners);
    if (status != EFFACE_OK)
        return status;
    status = ef_absent_judge(&missing, request, error);
    if (status != EFFACE_OK)
        ef_team_fail(ef_store_team(store)); /* all ranks find the same */
    rows->n_missing = missing.n_missing;
    return status;
}

/* Tells all ranks which rows there are, part by part. */
static efface_status share_ids(efface_store *store, ef_rows_of_parts *rows, efface_error *error) {
    ef_team *const team = ef_store_team(store);
    const uint32_t n_parts = team->group.size;
    uint64_t *const own = ef_list_ids(rows->here.data);
    rows->begins = ef_alloc((size_t)n_parts + 1, sizeof *rows->begins);
    efface_status status = own != NULL && rows->begins != NULL
                               ? ef_team_gather(team, own, rows->here.data->n_rows * sizeof *own,
                                                EFFACE_EVERY_RANK, &rows->ids, error)
                               : ef_fail_memory(error);
    for (uint32_t r = 0; status == EFFACE_OK && r <= n_parts; r++)
        rows->begins[r] = rows->ids.begins[r] / sizeof *own;
    if (status == EFFACE_OK)
        rows->n_rows = rows->begins[n_parts];
    ef_free(own);
    return status;
}

/* Gives the rows themselves to rank 0, or to all. */
static efface_status gather_rows(efface_store *store, uint32_t to, ef_rows_of_parts *rows,
                                 efface_error *error) {
    ef_team *const team = ef_store_team(store);
    const efface_data *const here = rows->here.data;
    ef_gathered bytes = {0};
    ef_writer w = {0};
    for (size_t i = 0; i < here->n_rows; i++)
        ef_row_bytes_write(&w, here, i, ef_data_id(here, i), NULL, NULL, NULL);
    efface_status status = w.failed ? ef_fail_memory(error)
                                    : ef_team_gather(team, w.bytes, w.n_bytes, to, &bytes, error);
    if (status == EFFACE_OK && bytes.bytes != NULL) {
        ef_decoder r = {.bytes = bytes.bytes, .n_bytes = bytes.begins[team->group.size]};
        status = ef_store_new_set(store, &rows->all, error);
        EF_THEN(status, ef_row_bytes_read(&r, rows->n_rows, rows->all, NULL, error));
    }
    ef_gathered_free(&bytes);
    ef_free(w.bytes);
    return status;
}

/* The rows of a request that all ranks have. */
efface_status ef_rows_of_parts_find(efface_store *store, const efface_request *request, uint32_t to,
                                    ef_rows_of_parts *rows, efface_error *error) {
    efface_request here = *request;
    uint64_t n_missing_here = 0;
    here.missing = EFFACE_MISSING_SKIP;
    *rows = (ef_rows_of_parts){.n_rows = 0};
    efface_status status = ef_rows_find(store, &here, &rows->here, &n_missing_here, error);
    EF_THEN(status, judge_missing(store, request, rows, error));
    EF_THEN(status, share_ids(store, rows, error));
    return status == EFFACE_OK ? gather_rows(store, to, rows, error) : status;
}

efface_status ef_cluster_find(efface_store *store, const efface_request *asked, efface_data **out,
                              efface_error *error) {
    ef_shared_request shared = {.bytes = NULL};
    ef_rows_of_parts rows = {.n_rows = 0};
    efface_status status = ef_request_share(ef_store_team(store), asked, &shared, error);
    EF_THEN(status, ef_rows_of_parts_find(store, &shared.request, EFFACE_EVERY_RANK, &rows, error));
    if (status == EFFACE_OK) {
        *out = rows.all;
        rows.all = NULL;
    }
    ef_rows_of_parts_free(&rows);
    ef_free(shared.bytes);
    return status;
}
