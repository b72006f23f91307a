/* Naming and syncing files (own_files.h). */
#include "access/own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *sv_name_beside(const char *tokens, const char *ending) {
    static const char usual[] = ".tokens";
    const size_t n = strlen(tokens), n_usual = sizeof usual - 1;
    const bool has = n > n_usual && strcmp(tokens + n - n_usual, usual) == 0;
    char *const path = malloc(n + strlen(ending) + 1);
    if (path != NULL)
        (void)sprintf(path, "%.*s%s", (int)(has ? n - n_usual : n), tokens, ending);
    return path;
}

int sv_sync_folder_of(const char *path) {
    const char *const slash = strrchr(path, '/');
    char *const name = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    if (name == NULL)
        return ENOMEM;
    const int folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(name);
    if (folder < 0)
        return errno;
    const int error = fsync(folder) == 0 ? 0 : errno;
    (void)close(folder);
    return error;
}
