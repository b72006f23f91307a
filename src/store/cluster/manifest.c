/*
 * The folder of a store in parts: its manifest, and the names of its parts.
 *
 *     FOLDER/manifest                      four lines of text
 *     FOLDER/part-I-of-N.G.efface          I from 0 to N - 1, G the generation
 *
 *     efface parts 1
 *     parts N
 *     generation G
 *     id 32 hexadecimal digits
 *
 * Files of parts that the manifest does not name are left over from work that was not finished, or
 * from before the rows were spread anew.
 */
#define _POSIX_C_SOURCE 200809L
#include "store/cluster/cluster.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST_BYTES 200
#define NAME_BYTES 80

char *ef_manifest_path(const char *folder) {
    return ef_path_with(folder, "/manifest");
}

bool ef_parts_are_in(const char *path) {
    struct stat found;
    char *const manifest = ef_manifest_path(path);
    const bool is = manifest != NULL && stat(manifest, &found) == 0 && S_ISREG(found.st_mode);
    ef_free(manifest);
    return is;
}

/* ---------------------------------------------------------------- the manifest */

efface_status ef_manifest_write(int file, const ef_manifest *manifest, const char *path,
                                efface_error *error) {
    char text[MANIFEST_BYTES], id[2 * EF_CLUSTER_ID_BYTES + 1];
    (void)sodium_bin2hex(id, sizeof id, manifest->id, sizeof manifest->id);
    const int n = snprintf(text, sizeof text,
                           "efface parts 1\nparts %" PRIu32 "\ngeneration %" PRIu64 "\nid %s\n",
                           manifest->n_parts, manifest->generation, id);
    return write(file, text, (size_t)n) == n ? EFFACE_OK
                                             : ef_fail_system(path, "cannot be written", error);
}

static bool parse_manifest(const char *text, ef_manifest *manifest) {
    char id[2 * EF_CLUSTER_ID_BYTES + 1] = "";
    size_t n_bytes = 0;
    int end = 0;
    const bool is =
        sscanf(text,
               "efface parts 1\nparts %" SCNu32 "\ngeneration %" SCNu64 "\nid %32[0-9a-f]\n%n",
               &manifest->n_parts, &manifest->generation, id, &end) == 3;
    return is && end != 0 && text[end] == '\0' && manifest->n_parts != 0 &&
           manifest->n_parts <= EFFACE_MAX_RANKS &&
           sodium_hex2bin(manifest->id, sizeof manifest->id, id, strlen(id), NULL, &n_bytes,
                          NULL) == 0 &&
           n_bytes == sizeof manifest->id;
}

efface_status ef_manifest_read(const char *folder, ef_manifest *manifest, efface_error *error) {
    char text[MANIFEST_BYTES + 1] = "";
    char *const path = ef_manifest_path(folder);
    if (path == NULL)
        return ef_fail_memory(error);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    efface_status status = EFFACE_OK;
    if (file < 0) {
        const bool is_file = errno == ENOTDIR, absent = errno == ENOENT || is_file;
        status = ef_fail_system(path, "cannot be read", error);
        if (absent)
            status = ef_fail(error, EFFACE_E_FORMAT, "%s is not the folder of a store in parts: %s",
                             folder,
                             is_file ? "it is a file; for a store of one file, use efface"
                                     : "it has no manifest");
    }
    const ssize_t n = file >= 0 ? read(file, text, MANIFEST_BYTES) : 0;
    if (n < 0)
        status = ef_fail_system(path, "cannot be read", error);
    else if (status == EFFACE_OK && !parse_manifest(text, manifest))
        status =
            ef_fail(error, EFFACE_E_FORMAT, "%s is damaged, or of a newer version of efface", path);
    if (file >= 0)
        (void)close(file);
    ef_free(path);
    return status;
}

/* ---------------------------------------------------------------- parts */

static void name_part(char name[NAME_BYTES], const ef_manifest *manifest, uint32_t part) {
    (void)snprintf(name, NAME_BYTES, "part-%" PRIu32 "-of-%" PRIu32 ".%" PRIu64 ".efface", part,
                   manifest->n_parts, manifest->generation);
}

char *ef_part_path(const char *folder, const ef_manifest *manifest, uint32_t part) {
    char name[NAME_BYTES + 1] = "/";
    name_part(name + 1, manifest, part);
    return ef_path_with(folder, name);
}

/* Whether a file is a part, or one that SQLite or efface makes beside it; and which. */
static bool is_part(const char *name, ef_manifest *of, uint32_t *part) {
    int end = 0;
    return sscanf(name, "part-%" SCNu32 "-of-%" SCNu32 ".%" SCNu64 ".efface%n", part, &of->n_parts,
                  &of->generation, &end) == 3 &&
           end != 0 &&
           (name[end] == '\0' || strcmp(name + end, "-journal") == 0 ||
            strcmp(name + end, ".efface-new") == 0 ||
            strcmp(name + end, ".efface-new-journal") == 0);
}

/* Whether a folder has a file of a name. */
static bool has_file(const char *folder, const char *name) {
    struct stat found;
    char *const path = ef_path_with(folder, name);
    const bool has = path == NULL || lstat(path, &found) == 0;
    ef_free(path);
    return has;
}

static bool is_complete(const char *name) {
    const size_t n = strlen(name), n_end = strlen(".efface");
    return n >= n_end && strcmp(name + n - n_end, ".efface") == 0;
}

efface_status ef_folder_check_free(const char *folder, bool leads, efface_error *error) {
    bool any = false;
    if (has_file(folder, "/manifest"))
        return leads ? EFFACE_OK
                     : ef_fail(error, EFFACE_E_ARGUMENT,
                               "%s/manifest exists already; choose another name, or start the "
                               "ranks on their hosts in the order in which the store was made",
                               folder);
    DIR *const list = opendir(folder);
    if (list == NULL)
        return EFFACE_OK;
    for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        ef_manifest of;
        uint32_t part;
        any |= is_part(entry->d_name, &of, &part) && (leads || is_complete(entry->d_name));
    }
    (void)closedir(list);
    return !any || has_file(folder, "/manifest.efface-new")
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_ARGUMENT,
                         "%s has parts of a store whose manifest is missing: restore the manifest, "
                         "or choose another name",
                         folder);
}

void ef_folder_clean(const char *folder, const ef_manifest *manifest) {
    DIR *const list = opendir(folder);
    if (list == NULL)
        return;
    const int at = dirfd(list);
    for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        ef_manifest of = {0};
        uint32_t part = 0;
        if (is_part(entry->d_name, &of, &part) &&
            (manifest == NULL || of.n_parts != manifest->n_parts ||
             of.generation != manifest->generation))
            (void)unlinkat(at, entry->d_name, 0);
    }
    (void)closedir(list);
}
