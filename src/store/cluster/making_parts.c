/*
 * Making a store in parts: each rank makes its own file, all fit the models together, and the
 * manifest comes last. A folder without a manifest is no store; what an attempt left in it is
 * removed by the next.
 */
#define _POSIX_C_SOURCE 200809L
#include "store/cluster/cluster.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/new_file.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct making {
    ef_team *team;
    const char *folder;
    bool made_folder;
    ef_manifest manifest;
    char *manifest_path;
    ef_new_file manifest_file; /* on rank 0 */
    char *part;                /* the path of this rank's part */
    bool made_part;
} making;

/* ---------------------------------------------------------------- the folder */

static efface_status make_folder(making *m, efface_error *error) {
    m->made_folder = mkdir(m->folder, 0700) == 0;
    return m->made_folder || errno == EEXIST
               ? EFFACE_OK
               : ef_fail_system(m->folder, "cannot be created", error);
}

/* Rank 0 goes first, and sees to it that nobody else makes a store there. */
static efface_status begin_folder(making *m, efface_error *error) {
    const ef_team *const team = m->team;
    efface_status status = EFFACE_OK;
    m->manifest_path = ef_manifest_path(m->folder);
    if (m->manifest_path == NULL)
        status = ef_fail_memory(error);
    if (status == EFFACE_OK && team->group.rank == 0) {
        status = make_folder(m, error);
        EF_THEN(status, ef_folder_check_free(m->folder, true, error));
        EF_THEN(status, ef_new_file_begin(&m->manifest_file, m->manifest_path, false, error));
        randombytes_buf(m->manifest.id, sizeof m->manifest.id);
        m->manifest.n_parts = team->group.size;
    }
    EF_THEN(status, ef_team_broadcast(m->team, &m->manifest, sizeof m->manifest, 0, error));
    if (status == EFFACE_OK && team->group.rank != 0) {
        status = make_folder(m, error);
        EF_THEN(status, ef_folder_check_free(m->folder, false, error));
    }
    /* Nobody removes anything before all have looked. */
    status = ef_team_agree(m->team, status, error);
    if (status == EFFACE_OK) {
        ef_folder_clean(m->folder, NULL);
        m->part = ef_part_path(m->folder, &m->manifest, team->group.rank);
        if (m->part == NULL)
            status = ef_fail_memory(error);
    }
    return ef_team_agree(m->team, status, error);
}

static efface_status place_manifest(making *m, efface_error *error) {
    efface_status status = EFFACE_OK;
    if (m->team->group.rank == 0) {
        status = ef_manifest_write(m->manifest_file.file, &m->manifest, m->manifest_path, error);
        if (status == EFFACE_OK && m->made_folder)
            status = ef_sync_name(m->folder, error);
        EF_THEN(status, ef_new_file_place(&m->manifest_file, error));
    }
    return ef_team_agree(m->team, status, error);
}

static void end_making(making *m, efface_status status) {
    if (status != EFFACE_OK && m->manifest_file.path != NULL && m->manifest_file.file >= 0)
        (void)unlink(m->manifest_path); /* if only its name may not be on the disk */
    if (status != EFFACE_OK && m->made_part)
        (void)unlink(m->part);
    /* The folder can be removed when all parts are. */
    if (status != EFFACE_OK) {
        ef_team_begin(m->team);
        (void)ef_team_agree(m->team, EFFACE_OK, NULL);
    }
    /* On rank 0 last, for its file keeps others out. */
    if (m->manifest_file.path != NULL)
        ef_new_file_end(&m->manifest_file);
    if (status != EFFACE_OK && m->made_folder)
        (void)rmdir(m->folder);
    ef_free(m->manifest_path);
    ef_free(m->part);
}

/* ---------------------------------------------------------------- the head */

/* Numbers or texts, by how many ranks have which. */
static efface_status unite_kinds(ef_team *team, const int64_t counts[2], const char *what,
                                 efface_ids *kind, efface_error *error) {
    if (counts[0] != 0 && counts[1] != 0) {
        ef_team_fail(team); /* all ranks find the same */
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the %s are whole numbers on some ranks and texts on others; read them in "
                       "the same way everywhere",
                       what);
    }
    if (counts[0] != 0 || counts[1] != 0)
        *kind = counts[0] != 0 ? EFFACE_IDS_NUMBERS : EFFACE_IDS_TEXT;
    return EFFACE_OK;
}

static efface_status share_kinds(ef_team *team, const efface_data *data, ef_head *head,
                                 efface_error *error) {
    const bool any = data->n_rows != 0;
    int64_t counts[4] = {any && data->id_kind == EFFACE_IDS_NUMBERS,
                         any && data->id_kind == EFFACE_IDS_TEXT,
                         data->owners != NULL && data->owner_kind == EFFACE_IDS_NUMBERS,
                         data->owners != NULL && data->owner_kind == EFFACE_IDS_TEXT};
    efface_status status = ef_team_sum(team, counts, 4, error);
    EF_THEN(status, unite_kinds(team, counts, "ids", &head->id_kind, error));
    return status == EFFACE_OK ? unite_kinds(team, counts + 2, "owners", &head->owner_kind, error)
                               : status;
}

/* All parts have the keys of rank 0 and its columns; rows are sealed with a key of each part. */
static efface_status share_head(const making *m, const efface_data *data,
                                const efface_store_options *options, ef_head *head,
                                efface_error *error) {
    unsigned char names[EFFACE_DIGEST_BYTES];
    ef_head_make(head, data, options);
    efface_status status = ef_names_digest(data->names, data->offsets, data->types, data->n_columns,
                                           head->names_digest, error);
    memcpy(names, head->names_digest, sizeof names);
    const ef_head own = *head;
    EF_THEN(status, ef_team_broadcast(m->team, head, sizeof *head, 0, error));
    if (status == EFFACE_OK && memcmp(names, head->names_digest, sizeof names) != 0)
        status = ef_fail(error, EFFACE_E_ARGUMENT,
                         "the columns of this rank and those of rank 0 have different names");
    memcpy(head->row_key, own.row_key, sizeof own.row_key);
    head->dense = own.dense;
    head->n_parts = m->manifest.n_parts;
    head->part = m->team->group.rank;
    memcpy(head->cluster_id, m->manifest.id, sizeof head->cluster_id);
    return status == EFFACE_OK ? share_kinds(m->team, data, head, error) : status;
}

/* ---------------------------------------------------------------- all */

/* All ranks fit the models, and only part 0 gets them. */
static efface_status fill_part(efface_store *store, const void *what, efface_error *error) {
    store->parts = &ef_parts_together;
    return ef_store_fill(store, what, error);
}

static efface_status make_parts(making *m, const efface_store_options *options,
                                const ef_new_store *what, efface_error *error) {
    ef_head head;
    efface_store_options how = *options;
    how.group = NULL;
    efface_status status = begin_folder(m, error);
    EF_THEN(status, share_head(m, what->data, options, &head, error));
    if (status == EFFACE_OK) {
        m->made_part = true; /* even a failure may leave the file, if only its name is in doubt */
        status = ef_store_make(m->part, &how, &head, fill_part, what, error);
    }
    status = ef_team_agree(m->team, status, error);
    sodium_memzero(&head, sizeof head);
    return status == EFFACE_OK ? place_manifest(m, error) : status;
}

efface_status ef_parts_create(const char *path, const efface_store_options *options,
                              const ef_new_store *what, efface_error *error) {
    efface_data *copy = NULL;
    ef_new_store all = *what;
    efface_status status = EFFACE_OK;
    if (what->data->part == NULL) {
        (void)ef_rows_copy(what->data, NULL, 0, &copy, NULL);
        /* Without a set it fails on all ranks, which have to know. */
        status = efface_data_join(copy, options->group, error);
        all.joined = copy;
    }
    if (status == EFFACE_OK) {
        making m = {.team = ef_data_team(all.joined), .folder = path};
        ef_team_begin(m.team);
        status = make_parts(&m, options, &all, error);
        end_making(&m, status);
    }
    efface_data_free(copy);
    return status;
}
