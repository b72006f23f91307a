/*
 * A file that appears under its name when it is whole, or not at all.
 *
 * It is made in a file beside, PATH.efface-new, which gets its name by a link when everything is on
 * the disk: a link never replaces a file that is there. A process that dies leaves that file
 * behind; it is locked (flock) as long as its maker lives, and the next attempt takes over one that
 * is not. From the link on nothing takes the file away again, and nothing but the disk can fail:
 * what follows needs no memory, and the folder is open already.
 */
#define _DEFAULT_SOURCE
#include "store/file/new_file.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *ef_path_with(const char *path, const char *ending) {
    const size_t n = strlen(path), n_ending = strlen(ending) + 1;
    char *const name = ef_alloc(n + n_ending, 1);
    if (name != NULL) {
        memcpy(name, path, n);
        memcpy(name + n, ending, n_ending);
    }
    return name;
}

efface_status ef_fail_system(const char *path, const char *what, efface_error *error) {
    const int reason = errno;
    (void)ef_fail(error, EFFACE_E_IO, "%s %s: %s", path, what, strerror(reason));
    ef_note_system(error, reason);
    return EFFACE_E_IO;
}

static bool path_is_there(const char *path) {
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

static efface_status lock_beside(ef_new_file *m, efface_error *error) {
    for (int attempt = 0; attempt < 100; attempt++) {
        const int file = open(m->beside, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0)
            return ef_fail_system(m->path, "cannot be created", error);
        if (flock(file, LOCK_EX | LOCK_NB) != 0) {
            const int why = errno;
            (void)close(file);
            errno = why;
            return why == EWOULDBLOCK
                       ? ef_fail(error, EFFACE_E_BUSY,
                                 "another process is creating %s; try again later", m->path)
                       : ef_fail_system(m->beside, "cannot be locked", error);
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
                                           : ef_fail_system(m->beside, "cannot be emptied", error);
        }
        (void)close(file);
    }
    return ef_fail(error, EFFACE_E_BUSY, "other processes are creating %s; try again later",
                   m->path);
}

/* ---------------------------------------------------------------- folders */

/* Opens the folder of a file. */
static efface_status open_folder_of(const char *path, int *folder, efface_error *error) {
    char *const name = ef_path_with(path, "");
    if (name == NULL)
        return ef_fail_memory(error);
    char *const slash = strrchr(name, '/');
    if (slash != NULL)
        slash[slash == name ? 1 : 0] = '\0';
    *folder = open(slash != NULL ? name : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const efface_status status =
        *folder >= 0 ? EFFACE_OK : ef_fail_system(path, "cannot be created", error);
    ef_free(name);
    return status;
}

/* Not every file system can do that. */
static bool sync_names(int folder) {
    return fsync(folder) == 0 || errno == EINVAL;
}

static efface_status sync_name_in(int folder, const char *path, efface_error *error) {
    return sync_names(folder)
               ? EFFACE_OK
               : ef_fail_system(path, "was created, but a power loss could undo that", error);
}

bool ef_sync_folder(const char *folder) {
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = file >= 0 && sync_names(file);
    const int why = errno;
    if (file >= 0)
        (void)close(file);
    errno = why;
    return synced;
}

efface_status ef_sync_name(const char *path, efface_error *error) {
    int folder = -1;
    efface_status status = open_folder_of(path, &folder, error);
    EF_THEN(status, sync_name_in(folder, path, error));
    if (folder >= 0)
        (void)close(folder);
    return status;
}

/* ---------------------------------------------------------------- new files */

efface_status ef_new_file_begin(ef_new_file *m, const char *path, bool replaces,
                                efface_error *error) {
    *m = (ef_new_file){.path = path,
                       .beside = ef_path_with(path, ".efface-new"),
                       .journal = ef_path_with(path, ".efface-new-journal"),
                       .replaces = replaces,
                       .file = -1,
                       .folder = -1};
    if (m->beside == NULL || m->journal == NULL)
        return ef_fail_memory(error);
    if (!replaces && path_is_there(path))
        return ef_fail(error, EFFACE_E_ARGUMENT, "%s exists already; choose another name", path);
    /* SQLite would take it for the journal of the new store, and roll it back. */
    static const char *const endings[] = {"-journal", "-wal"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        char *const rest = ef_path_with(path, endings[i]);
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
    const efface_status status = open_folder_of(path, &m->folder, error);
    return status == EFFACE_OK ? lock_beside(m, error) : status;
}

/* Removes the file beside, unless it got its name by renaming. */
void ef_new_file_end(ef_new_file *m) {
    if (m->file >= 0 && has_name(m->file, m->beside)) {
        (void)unlink(m->journal);
        (void)unlink(m->beside);
    }
    if (m->file >= 0)
        (void)close(m->file);
    if (m->folder >= 0)
        (void)close(m->folder);
    ef_free(m->beside);
    ef_free(m->journal);
}

static efface_status name_new_file(const ef_new_file *m, efface_error *error) {
    if (m->replaces)
        return rename(m->beside, m->path) == 0
                   ? EFFACE_OK
                   : ef_fail_system(m->path, "cannot be replaced", error);
    if (link(m->beside, m->path) == 0)
        return EFFACE_OK;
    if (errno == EEXIST)
        return ef_fail(error, EFFACE_E_ARGUMENT, "%s exists already; choose another name", m->path);
    /* A disk without links: between the look and the renaming another file might come. */
    if ((errno == EPERM || errno == ENOSYS || errno == EOPNOTSUPP || errno == EMLINK) &&
        !path_is_there(m->path) && rename(m->beside, m->path) == 0)
        return EFFACE_OK;
    return ef_fail_system(m->path, "cannot be created", error);
}

efface_status ef_new_file_place(const ef_new_file *m, efface_error *error) {
    efface_status status =
        fsync(m->file) == 0 ? EFFACE_OK : ef_fail_system(m->path, "cannot be created", error);
    EF_THEN(status, name_new_file(m, error));
    return status == EFFACE_OK ? sync_name_in(m->folder, m->path, error) : status;
}
