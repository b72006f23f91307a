/*
 * The file of a published model: it appears with the commit of the request that publishes it.
 *
 * No disk does both at once, so one comes first. The file is written without a name and synced, the
 * request is committed, and then the file gets its name. The other order would be worse. A commit
 * fails for ordinary reasons, a reader that does not let go or a full disk, and a file that had its
 * name by then would have to be taken back: somebody may have copied it, and what it replaced is
 * gone. If the process dies, a file without a name is gone: nothing is left that no receipt names.
 * If it dies after the commit, the store says that a file was never handed out (publication.c).
 *
 * Where a file system has no files without names, the file has another name until then, and is
 * locked. Such a file that nobody has locked is left over, and the next publication removes it.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "store/requests/published_file.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/new_file.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BESIDE ".efface-new-"
#define RANDOM_BYTES 6
#define DESCRIPTOR_BYTES 64 /* of the name that the system has for an open file */

/* An error of the system before anything was changed. */
static efface_status fail_system(const char *path, efface_error *error) {
    if (errno == ENOMEM)
        return ef_fail_memory(error);
    const int reason = errno;
    (void)ef_fail(error, EFFACE_E_IO, "%s cannot be written: %s; nothing was changed", path,
                  strerror(reason));
    ef_note_system(error, reason);
    return EFFACE_E_IO;
}

/* Whether a file is a store, which nothing but requests may change. SQLite opens and closes it: who
 * closes a file by himself drops all locks that his process has on it, those of a store that
 * another thread is writing to as well. */
static efface_status look_for_store(const char *path, bool *is_store, efface_error *error) {
    unsigned char head[72] = {0};
    sqlite3 *db = NULL;
    sqlite3_file *file = NULL;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_FULLMUTEX, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code == SQLITE_OK && file != NULL && file->pMethods != NULL)
        code = file->pMethods->xRead(file, head, sizeof head, 0);
    (void)sqlite3_close(db);
    *is_store = memcmp(head, "SQLite format 3", 16) == 0 && memcmp(head + 68, "EFFA", 4) == 0;
    if (code == SQLITE_OK || code == SQLITE_IOERR_SHORT_READ)
        return EFFACE_OK;
    return (code & 0xFF) == SQLITE_NOMEM
               ? ef_fail_memory(error)
               : ef_fail(error, EFFACE_E_IO,
                         "%s cannot be read, so it may be a store, and is not written over; "
                         "nothing was changed",
                         path);
}

/* Whether a name is the store's own, or one that SQLite keeps beside some store. What is there may
 * be all that is left of a change to that store, and what comes there SQLite takes for its own. */
static bool is_of_store(const efface_store *store, const char *path) {
    static const char *const endings[] = {"-journal", "-wal", "-shm"};
    const size_t n = strlen(path);
    bool found = strcmp(path, store->path) == 0;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t n_ending = strlen(endings[i]);
        found |= n >= n_ending && strcmp(path + n - n_ending, endings[i]) == 0;
    }
    return found;
}

/* Finds the folder and the path of a file that may not be there, with the symbolic links of the
 * folder followed. False, with errno, if there is no such folder, or memory runs out. */
static bool find_place(ef_published_file *file, const char *path) {
    const char *const slash = strrchr(path, '/');
    const char *const name = slash != NULL ? slash + 1 : path;
    const size_t n_folder = slash == NULL || slash == path ? 1 : (size_t)(slash - path);
    char *const folder = ef_alloc(n_folder + 1, 1);
    errno = ENOMEM;
    if (folder == NULL)
        return false;
    memcpy(folder, slash != NULL ? path : ".", n_folder);
    folder[n_folder] = '\0';
    file->folder = realpath(folder, NULL);
    const int why = errno;
    ef_free(folder);
    errno = why;
    if (file->folder == NULL)
        return false;
    const size_t n_real = strlen(file->folder), n_name = strlen(name) + 1;
    errno = ENOMEM;
    file->path = ef_alloc(n_real + 1 + n_name, 1);
    if (file->path == NULL)
        return false;
    memcpy(file->path, file->folder, n_real);
    file->path[n_real] = '/';
    memcpy(file->path + n_real + 1, name, n_name);
    return true;
}

/* The same for what a symbolic link stands for. */
static bool follow_link(ef_published_file *file) {
    char *const real = realpath(file->path, NULL);
    if (real == NULL)
        return false;
    ef_free(file->folder);
    ef_free(file->path);
    file->folder = file->path = NULL;
    const bool found = find_place(file, real);
    const int why = errno;
    ef_free(real);
    errno = why;
    return found;
}

/* What is at the place of the file now. */
static efface_status check_place(const ef_published_file *file, const char *path,
                                 efface_error *error) {
    struct stat found;
    bool is_store = false;
    if (lstat(file->path, &found) != 0)
        return errno == ENOENT ? EFFACE_OK : fail_system(path, error);
    if (!file->replaces)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "%s is there already; nothing was changed: choose another name, or have it "
                       "replaced (--force, or in what is asked for)",
                       path);
    if (!S_ISREG(found.st_mode))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "%s is not a regular file, so a published model cannot appear there all at "
                       "once; nothing was changed",
                       path);
    const efface_status status = look_for_store(file->path, &is_store, error);
    return status == EFFACE_OK && is_store
               ? ef_fail(error, EFFACE_E_ARGUMENT,
                         "%s is a store: it is not written over; nothing was changed", path)
               : status;
}

efface_status ef_published_begin(ef_published_file *file, const efface_store *store,
                                 const char *path, bool replaces, efface_error *error) {
    struct stat found;
    *file = (ef_published_file){.replaces = replaces, .descriptor = -1};
    errno = ENOENT;
    if (path[0] == '\0' || path[strlen(path) - 1] == '/' || !find_place(file, path))
        return fail_system(path, error);
    /* What a symbolic link stands for is replaced, not the link. */
    if (replaces && lstat(file->path, &found) == 0 && S_ISLNK(found.st_mode) && !follow_link(file))
        return fail_system(path, error);
    const size_t n = strlen(file->path);
    file->beside = ef_alloc(n + sizeof BESIDE + 2 * (size_t)RANDOM_BYTES, 1);
    if (file->beside == NULL)
        return ef_fail_memory(error);
    unsigned char random[RANDOM_BYTES];
    randombytes_buf(random, sizeof random);
    memcpy(file->beside, file->path, n);
    memcpy(file->beside + n, BESIDE, sizeof BESIDE - 1);
    (void)sodium_bin2hex(file->beside + n + sizeof BESIDE - 1, 2 * (size_t)RANDOM_BYTES + 1, random,
                         sizeof random);
    if (is_of_store(store, file->path))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "%s is the name of the store itself, or of a file that SQLite keeps beside "
                       "a store: choose another name; nothing was changed",
                       path);
    const efface_status status = check_place(file, path, error);
    /* Before a long fit, and looked at again by who makes the file. */
    return status == EFFACE_OK && faccessat(AT_FDCWD, file->folder, W_OK | X_OK, AT_EACCESS) != 0
               ? fail_system(path, error)
               : status;
}

static bool write_bytes(int descriptor, const unsigned char *bytes, size_t n_bytes) {
    while (n_bytes != 0) {
        const ssize_t n = write(descriptor, bytes, n_bytes);
        if (n < 0 && errno != EINTR)
            return false;
        bytes += n > 0 ? n : 0;
        n_bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void name_descriptor(const ef_published_file *file, char name[DESCRIPTOR_BYTES]) {
    (void)snprintf(name, DESCRIPTOR_BYTES, "/proc/self/fd/%d", file->descriptor);
}

/* Opens a file without a name that can be given one; false if there is none here. */
static bool open_nameless(ef_published_file *file) {
    char name[DESCRIPTOR_BYTES];
    file->descriptor = open(file->folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (file->descriptor < 0)
        return false;
    name_descriptor(file, name);
    if (access(name, F_OK) == 0)
        return true;
    (void)close(file->descriptor);
    file->descriptor = -1;
    return false;
}

/* Whether that is what a system says that has no files without names, or no way to name one. */
static bool must_be_named(int why) {
    return why == EOPNOTSUPP || why == EISDIR || why == EINVAL || why == ENOENT;
}

/* Removes a file beside that nobody has locked. */
static void remove_left_over(int folder, const char *name) {
    const int descriptor = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(folder, name, 0);
    (void)close(descriptor);
}

/* Removes what publications under this name have left that were killed. */
static void remove_left_overs(const ef_published_file *file) {
    const char *const own = strrchr(file->beside, '/') + 1;
    const size_t n = strlen(own) - 2 * (size_t)RANDOM_BYTES;
    DIR *const folder = opendir(file->folder);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (strncmp(entry->d_name, own, n) == 0 && strlen(entry->d_name) == strlen(own) &&
            strspn(entry->d_name + n, "0123456789abcdef") == 2 * (size_t)RANDOM_BYTES)
            remove_left_over(dirfd(folder), entry->d_name);
    if (folder != NULL)
        (void)closedir(folder);
}

static bool open_beside(ef_published_file *file) {
    file->descriptor =
        open(file->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    file->is_there = file->descriptor >= 0;
    return file->is_there && flock(file->descriptor, LOCK_EX | LOCK_NB) == 0;
}

/* The file has the rights of any other new file: it is made to be given away. Its place is looked
 * at once more: much may have come there during a fit, or while others published. */
efface_status ef_published_write(ef_published_file *file, const void *bytes, size_t n_bytes,
                                 efface_error *error) {
    const efface_status status = check_place(file, file->path, error);
    if (status != EFFACE_OK)
        return status;
    remove_left_overs(file);
    if (!open_nameless(file) && (!must_be_named(errno) || !open_beside(file)))
        return fail_system(file->path, error);
    return write_bytes(file->descriptor, bytes, n_bytes) && fsync(file->descriptor) == 0
               ? EFFACE_OK
               : fail_system(file->path, error);
}

/* Gives a file without a name the one beside; again if it fails, for nothing else is left of it. */
static bool name_beside(ef_published_file *file) {
    char name[DESCRIPTOR_BYTES];
    name_descriptor(file, name);
    for (int i = 0; i < 2 && !file->is_there; i++)
        file->is_there = linkat(AT_FDCWD, name, AT_FDCWD, file->beside, AT_SYMLINK_FOLLOW) == 0;
    return file->is_there;
}

/* A link never replaces a file that is there. */
static bool name_published_file(ef_published_file *file) {
    char name[DESCRIPTOR_BYTES];
    name_descriptor(file, name);
    if (!file->is_there && !file->replaces &&
        linkat(AT_FDCWD, name, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0)
        return true;
    const int why = errno;
    if (!file->is_there && (!name_beside(file) || !file->replaces)) {
        errno = file->is_there ? why : errno;
        return false;
    }
    if (file->replaces)
        return rename(file->beside, file->path) == 0;
    if (link(file->beside, file->path) == 0) {
        (void)unlink(file->beside);
        return true;
    }
    /* A disk without links: between the look and the renaming another file might come. */
    struct stat found;
    return (errno == EPERM || errno == ENOSYS || errno == EOPNOTSUPP || errno == EMLINK) &&
           lstat(file->path, &found) != 0 && rename(file->beside, file->path) == 0;
}

efface_status ef_published_place(ef_published_file *file, uint64_t receipt, efface_error *error) {
    errno = 0;
    const bool named = name_published_file(file);
    const bool is_beside = file->is_there;
    file->is_there = false; /* from here on nothing takes it away */
    if (named && ef_sync_folder(file->folder))
        return EFFACE_OK;
    if (!named && !is_beside)
        return ef_fail(error, EFFACE_E_IO,
                       "the request was done (receipt %" PRIu64 "), but %s could not get its "
                       "name: %s; the file is lost: publish again",
                       receipt, file->path, strerror(errno));
    return named ? ef_fail(error, EFFACE_E_IO,
                           "the request was done, and %s was published, but its name may not "
                           "outlive a power loss: %s",
                           file->path, strerror(errno))
                 : ef_fail(error, EFFACE_E_IO,
                           "the request was done (receipt %" PRIu64 "), but %s could not get its "
                           "name: %s; the published model is %s: rename it",
                           receipt, file->path, strerror(errno), file->beside);
}

void ef_published_end(ef_published_file *file) {
    if (file->is_there)
        (void)unlink(file->beside);
    if (file->descriptor >= 0)
        (void)close(file->descriptor);
    ef_free(file->folder);
    ef_free(file->path);
    ef_free(file->beside);
    *file = (ef_published_file){.descriptor = -1};
}
