/* Opening a store in parts, and what is known of all parts together. */
#define _POSIX_C_SOURCE 200809L
#include "store/cluster/cluster.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/new_file.h"
#include "store/file/transactions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- the team */

void ef_cluster_free(ef_cluster *cluster) {
    if (cluster == NULL)
        return;
    efface_data_free(cluster->anchor);
    ef_free(cluster->journal.bytes);
    ef_free(cluster->folder);
    ef_free(cluster);
}

efface_status ef_cluster_make(const efface_group *group, ef_cluster **out, efface_error *error) {
    efface_status status = ef_group_check(group, error);
    if (status != EFFACE_OK)
        return status;
    ef_cluster *const cluster = ef_alloc_zero(1, sizeof *cluster);
    efface_data *anchor = NULL;
    if (cluster != NULL)
        (void)efface_data_create(1, &anchor, NULL);
    /* Without a set it fails on all ranks, which have to know. */
    status = efface_data_join(anchor, group, error);
    if (status != EFFACE_OK) {
        efface_data_free(anchor);
        ef_free(cluster);
        return status;
    }
    cluster->anchor = anchor;
    cluster->team = ef_data_team(anchor);
    *out = cluster;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- opening */

efface_status ef_shared_manifest(ef_team *team, const char *folder, ef_manifest *manifest,
                                 efface_error *error) {
    const efface_status status =
        team->group.rank == 0 ? ef_manifest_read(folder, manifest, error) : EFFACE_OK;
    return status == EFFACE_OK ? ef_team_broadcast(team, manifest, sizeof *manifest, 0, error)
                               : status;
}

static efface_status check_part(const efface_store *store, const ef_manifest *manifest,
                                uint32_t part, const char *path, efface_error *error) {
    const ef_head *const head = &store->head;
    return head->n_parts == manifest->n_parts && head->part == part &&
                   memcmp(head->cluster_id, manifest->id, sizeof head->cluster_id) == 0
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_CORRUPT,
                         "%s is not part %" PRIu32 " of this store; restore all of its parts from "
                         "one backup",
                         path, part);
}

static efface_status check_size(ef_team *team, const ef_manifest *manifest, const char *path,
                                efface_error *error) {
    const uint32_t size = team->group.size;
    if (manifest->n_parts == size)
        return EFFACE_OK;
    ef_team_fail(team); /* all ranks find the same */
    return ef_fail(error, EFFACE_E_ARGUMENT,
                   "%s has %" PRIu32 " parts, but there are %" PRIu32 " ranks; start %" PRIu32
                   " ranks, or spread the rows over %" PRIu32 " parts: mpirun -n %" PRIu32
                   " efface-mpi spread %s",
                   path, manifest->n_parts, size, manifest->n_parts, size, size, path);
}

efface_status ef_part_open(const char *folder, const ef_manifest *manifest, uint32_t part,
                           const efface_store_options *options, efface_store **out,
                           efface_error *error) {
    efface_store *store = NULL;
    efface_store_options how = *options;
    how.group = NULL;
    char *const path = ef_part_path(folder, manifest, part);
    if (path == NULL)
        return ef_fail_memory(error);
    efface_status status = ef_store_open_alone(path, &how, &store, error);
    EF_THEN(status, check_part(store, manifest, part, path, error));
    ef_free(path);
    if (status == EFFACE_OK)
        *out = store;
    else
        efface_store_close(store);
    return status;
}

/* The folder, however the process may move. */
static char *folder_of(const efface_store *store) {
    char *const folder = ef_path_with(store->path, "");
    if (folder != NULL)
        *strrchr(folder, '/') = '\0';
    return folder;
}

/* Opens this rank's part; the handle has the cluster then. */
static efface_status open_own(const char *path, const efface_store_options *options,
                              ef_cluster *cluster, efface_store **out, efface_error *error) {
    ef_team *const team = cluster->team;
    efface_store *store = NULL;
    efface_status status = ef_shared_manifest(team, path, &cluster->manifest, error);
    EF_THEN(status, check_size(team, &cluster->manifest, path, error));
    EF_THEN(status,
            ef_part_open(path, &cluster->manifest, team->group.rank, options, &store, error));
    if (status == EFFACE_OK) {
        cluster->folder = folder_of(store);
        if (cluster->folder == NULL)
            status = ef_fail_memory(error);
    }
    status = ef_team_agree(team, status, error);
    if (status != EFFACE_OK) {
        efface_store_close(store);
        return status;
    }
    store->parts = &ef_parts_together;
    store->cluster = cluster;
    *out = store;
    return EFFACE_OK;
}

efface_status ef_parts_open(const char *path, const efface_store_options *options,
                            efface_store **out, efface_error *error) {
    const bool writes = options->access == EFFACE_ACCESS_WRITE;
    ef_cluster *cluster = NULL;
    efface_store *store = NULL;
    efface_status status = ef_cluster_make(options->group, &cluster, error);
    if (status != EFFACE_OK)
        return status;
    status = open_own(path, options, cluster, &store, error);
    if (status != EFFACE_OK) {
        ef_cluster_free(cluster);
        return status;
    }
    /* A request that was interrupted is finished, and what was left over is removed. */
    status = ef_store_begin(store, writes, error);
    if (status == EFFACE_OK) {
        if (writes)
            ef_folder_clean(cluster->folder, &cluster->manifest);
        status = ef_store_end(store, EFFACE_OK, error);
    }
    if (status == EFFACE_OK)
        *out = store;
    else
        efface_store_close(store);
    return status;
}

/* ---------------------------------------------------------------- what is known */

static efface_status count_member_sets(efface_store *store, ef_member_kind kind, uint64_t *n,
                                       efface_error *error) {
    ef_member_set_list list;
    const efface_status status = ef_shared_member_sets(store, kind, false, &list, error);
    if (status != EFFACE_OK)
        return status;
    *n = list.n_groups;
    ef_member_set_list_free(&list);
    return EFFACE_OK;
}

efface_status ef_cluster_info(efface_store *store, efface_store_info *info, efface_error *error) {
    ef_team *const team = ef_store_team(store);
    int64_t sums[] = {(int64_t)info->n_rows,     (int64_t)info->n_unowned_rows,
                      (int64_t)info->file_bytes, (int64_t)info->free_bytes,
                      (int64_t)info->n_models,   (int64_t)info->n_receipts};
    uint64_t labels = info->labels != EFFACE_IDS_DETECT ? (uint64_t)info->labels : UINT64_MAX;
    efface_status status = ef_team_sum(team, sums, sizeof sums / sizeof sums[0], error);
    EF_THEN(status, ef_team_least(team, &labels, 1, 1, error));
    EF_THEN(status, count_member_sets(store, EF_MEMBER_OWNER, &info->n_owners, error));
    EF_THEN(status, count_member_sets(store, EF_MEMBER_LABEL, &info->n_labels, error));
    info->n_rows = (uint64_t)sums[0];
    info->n_unowned_rows = (uint64_t)sums[1];
    info->file_bytes = (uint64_t)sums[2];
    info->free_bytes = (uint64_t)sums[3];
    info->n_models = (uint32_t)sums[4];
    info->n_receipts = (uint64_t)sums[5];
    info->labels = labels != UINT64_MAX ? (efface_ids)labels : EFFACE_IDS_DETECT;
    return status;
}
