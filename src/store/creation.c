/*
 * Making a store: it appears under its name when it is whole, or not at all.
 *
 * It is made in a file beside, PATH.efface-new, which gets its name by a link when everything is on
 * the disk: a link never replaces a file that is there. A process that dies leaves that file
 * behind; it is locked (flock) as long as its maker lives, and the next attempt takes over one that
 * is not. From the link on nothing takes the store away again.
 */
#define _DEFAULT_SOURCE
#include "base/checked.h"
#include "base/digest.h"
#include "base/status.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the file beside */

typedef struct making {
    const char *path;
    char *beside;  /* PATH.efface-new */
    char *journal; /* PATH.efface-new-journal */
    int file;      /* open and locked, or -1; closed after SQLite has closed it: closing it before
                      would drop SQLite's locks */
} making;

static char *with_ending(const char *path, const char *ending) {
    const size_t n = strlen(path), n_ending = strlen(ending) + 1;
    char *const name = ef_alloc(n + n_ending, 1);
    if (name != NULL) {
        memcpy(name, path, n);
        memcpy(name + n, ending, n_ending);
    }
    return name;
}

static efface_status fail_system(const char *path, const char *what, efface_error *error) {
    const int reason = errno;
    (void)ef_fail(error, EFFACE_E_IO, "%s %s: %s", path, what, strerror(reason));
    ef_note_system(error, reason);
    return EFFACE_E_IO;
}

static bool is_there(const char *path) {
    struct stat found;
    return lstat(path, &found) == 0;
}

/* Whether a file is ours alone: in a shared folder, somebody may have made it before us to read
 * what we write. */
static bool is_ours(int file) {
    struct stat is;
    return fstat(file, &is) == 0 && S_ISREG(is.st_mode) && is.st_uid == geteuid() &&
           is.st_nlink <= 1 && (is.st_mode & 077) == 0;
}

/* Whether a file that is open still has this name: its maker may have finished meanwhile. */
static bool has_name(int file, const char *name) {
    struct stat is, named;
    return fstat(file, &is) == 0 && lstat(name, &named) == 0 && is.st_dev == named.st_dev &&
           is.st_ino == named.st_ino;
}

static efface_status lock_beside(making *m, efface_error *error) {
    for (int attempt = 0; attempt < 100; attempt++) {
        const int file = open(m->beside, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0)
            return fail_system(m->path, "cannot be created", error);
        if (flock(file, LOCK_EX | LOCK_NB) != 0) {
            const int why = errno;
            (void)close(file);
            errno = why;
            return why == EWOULDBLOCK
                       ? ef_fail(error, EFFACE_E_BUSY,
                                 "another process is creating %s; try again later", m->path)
                       : fail_system(m->beside, "cannot be locked", error);
        }
        if (has_name(file, m->beside)) {
            if (!is_ours(file)) {
                (void)close(file);
                return ef_fail(error, EFFACE_E_IO,
                               "%s is in the way and does not belong to efface; move or remove it",
                               m->beside);
            }
            m->file = file;
            (void)unlink(m->journal);
            return ftruncate(file, 0) == 0 ? EFFACE_OK
                                           : fail_system(m->beside, "cannot be emptied", error);
        }
        (void)close(file);
    }
    return ef_fail(error, EFFACE_E_BUSY, "other processes are creating %s; try again later",
                   m->path);
}

static efface_status begin_making(making *m, const char *path, efface_error *error) {
    *m = (making){.path = path,
                  .beside = with_ending(path, ".efface-new"),
                  .journal = with_ending(path, ".efface-new-journal"),
                  .file = -1};
    if (m->beside == NULL || m->journal == NULL)
        return ef_fail_memory(error);
    if (is_there(path))
        return ef_fail(error, EFFACE_E_ARGUMENT, "%s exists already; choose another name", path);
    /* SQLite would take it for the journal of the new store, and roll it back. */
    static const char *const endings[] = {"-journal", "-wal"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        char *const rest = with_ending(path, endings[i]);
        /* An empty one is what every request leaves. */
        struct stat found;
        const bool in_the_way = rest != NULL && lstat(rest, &found) == 0 && found.st_size != 0;
        ef_free(rest);
        if (rest == NULL)
            return ef_fail_memory(error);
        if (in_the_way)
            return ef_fail(
                error, EFFACE_E_ARGUMENT,
                "%s%s is left over from a store that no longer exists; move or remove it first",
                path, endings[i]);
    }
    return lock_beside(m, error);
}

/* Removes the file beside, unless it got its name by renaming. */
static void end_making(making *m) {
    if (m->file >= 0 && has_name(m->file, m->beside)) {
        (void)unlink(m->journal);
        (void)unlink(m->beside);
    }
    if (m->file >= 0)
        (void)close(m->file);
    ef_free(m->beside);
    ef_free(m->journal);
}

bool ef_sync_folder(const char *folder) {
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = file >= 0 && (fsync(file) == 0 || errno == EINVAL);
    const int why = errno;
    if (file >= 0)
        (void)close(file);
    errno = why;
    return synced;
}

/* The name of a file is on the disk when its folder is. */
static efface_status sync_name(const char *path, efface_error *error) {
    char *const folder = with_ending(path, "");
    if (folder == NULL)
        return ef_fail_memory(error);
    char *const slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder ? 1 : 0] = '\0';
    const efface_status status =
        ef_sync_folder(slash != NULL ? folder : ".")
            ? EFFACE_OK
            : fail_system(path, "was created, but a power loss could undo that", error);
    ef_free(folder);
    return status;
}

static efface_status give_name(const making *m, efface_error *error) {
    if (link(m->beside, m->path) == 0)
        return EFFACE_OK;
    if (errno == EEXIST)
        return ef_fail(error, EFFACE_E_ARGUMENT, "%s exists already; choose another name", m->path);
    /* A disk without links: between the look and the renaming another file might come. */
    if ((errno == EPERM || errno == ENOSYS || errno == EOPNOTSUPP || errno == EMLINK) &&
        !is_there(m->path) && rename(m->beside, m->path) == 0)
        return EFFACE_OK;
    return fail_system(m->path, "cannot be created", error);
}

/* ---------------------------------------------------------------- what goes in */

static void make_head(efface_store *store, const efface_data *data,
                      const efface_store_options *options) {
    ef_head *const head = &store->head;
    head->n_columns = data->n_columns;
    head->keeps_texts = options->keep_texts != 0;
    head->key_outside = options->receipt_key != NULL;
    memcpy(head->hash_key, options->hash_key, sizeof head->hash_key);
    randombytes_buf(head->row_key, sizeof head->row_key);
    if (!head->key_outside) {
        randombytes_buf(head->receipt_key, sizeof head->receipt_key);
        memcpy(store->receipt_key, head->receipt_key, sizeof store->receipt_key);
        store->has_receipt_key = true;
    }
    ef_receipt_key_digest(store->receipt_key, head->receipt_key_digest);
    head->dense = ef_dense_for(data->n_rows);
    /* Rows without ids of their own have numbers. */
    head->id_kind =
        data->named || !ef_data_ids_are_positions(data) ? data->id_kind : EFFACE_IDS_NUMBERS;
    head->owner_kind = data->owners != NULL ? data->owner_kind : EFFACE_IDS_DETECT;
    store->head_changed = true;
}

static efface_status write_all(efface_store *store, const efface_data *data,
                               const efface_texts *texts, const efface_new_model *models,
                               size_t n_models, efface_error *error) {
    efface_status status = ef_sql_run(store, ef_schema, error);
    if (status == EFFACE_OK)
        status = ef_store_write_columns(store, data, error);
    if (status == EFFACE_OK)
        status = ef_buckets_make(store, error);
    if (status == EFFACE_OK)
        status = ef_groups_make(store, 1, error);
    if (status == EFFACE_OK)
        status = ef_rows_insert(store, data, NULL, texts, error);
    /* Made after the rows: that is faster than keeping it up to date meanwhile. */
    if (status == EFFACE_OK)
        status = ef_sql_run(store, ef_schema_late, error);
    for (size_t i = 0; status == EFFACE_OK && i < n_models; i++)
        status = ef_model_add(store, &models[i], data, error);
    return status;
}

static efface_status fill(const char *path, const efface_data *data, const efface_texts *texts,
                          const efface_store_options *options, const efface_new_model *models,
                          size_t n_models, efface_error *error) {
    efface_store *store = NULL;
    efface_status status = ef_store_open_file(path, true, options, &store, error);
    if (status != EFFACE_OK)
        return status;
    make_head(store, data, options);
    store->format = EF_STORE_VERSION;
    status = ef_store_begin_bare(store, true, error);
    if (status == EFFACE_OK)
        status = ef_store_end(store, write_all(store, data, texts, models, n_models, error), error);
    efface_store_close(store);
    return status;
}

efface_status efface_store_create(const char *path, const efface_data *data,
                                  const efface_texts *texts, const efface_store_options *options,
                                  const efface_new_model *models, size_t n_models,
                                  efface_store **out, efface_error *error) {
    if (path == NULL || data == NULL || out == NULL || (models == NULL && n_models != 0))
        return ef_fail(error, EFFACE_E_ARGUMENT, "path, data, models and out must not be NULL");
    efface_store_options how;
    efface_store_options_init(&how);
    if (options != NULL)
        how = *options;
    how.access = EFFACE_ACCESS_WRITE;
    making m;
    efface_status status = ef_store_options_check(&how, error);
    if (status != EFFACE_OK)
        return status;
    status = begin_making(&m, path, error);
    if (status == EFFACE_OK)
        status = fill(m.beside, data, texts, &how, models, n_models, error);
    if (status == EFFACE_OK && fsync(m.file) != 0)
        status = fail_system(path, "cannot be created", error);
    if (status == EFFACE_OK)
        status = give_name(&m, error);
    if (status == EFFACE_OK)
        status = sync_name(path, error);
    end_making(&m);
    sodium_memzero(how.hash_key, sizeof how.hash_key);
    if (status != EFFACE_OK)
        return status;
    how = options != NULL ? *options : how;
    how.access = EFFACE_ACCESS_WRITE;
    return efface_store_open(path, &how, out, error);
}
