/* A file that appears under its name when it is whole, or not at all (new_file.c). */
#ifndef EF_NEW_FILE_H
#define EF_NEW_FILE_H

#include "efface/efface.h"

#include <stdbool.h>

typedef struct ef_new_file {
    const char *path;
    char *beside;  /* PATH.efface-new */
    char *journal; /* PATH.efface-new-journal */
    bool replaces; /* a file that has the name may be replaced */
    int file;      /* open and locked, or -1; closed after SQLite has closed it: closing it before
                      would drop SQLite's locks */
    int folder;    /* of both, open, or -1 */
} ef_new_file;

/* Makes the file beside, empty; ef_new_file_end in any case. `path` is to outlive it. Errors:
 * ARGUMENT if there is a file of that name; BUSY if another process is making one; IO; MEMORY. */
efface_status ef_new_file_begin(ef_new_file *file, const char *path, bool replaces,
                                efface_error *error);

/* Has it on the disk, and gives it its name. When it has that, only the disk can fail. */
efface_status ef_new_file_place(const ef_new_file *file, efface_error *error);

/* Takes away what has no name yet, and releases memory. */
void ef_new_file_end(ef_new_file *file);

/* Has the name of a file or folder on the disk: that is so when the folder is that has it. */
efface_status ef_sync_name(const char *path, efface_error *error);

/* The same for all names in a folder, where a file system can do that; false, with errno, if not.
 */
bool ef_sync_folder(const char *folder);

/* A path and an ending, released with ef_free; NULL if out of memory. */
char *ef_path_with(const char *path, const char *ending);

/* IO, with the path and what errno says. */
efface_status ef_fail_system(const char *path, const char *what, efface_error *error);

#endif
