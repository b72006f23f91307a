/* The file of a published model (published_file.c). */
#ifndef EF_PUBLISHED_FILE_H
#define EF_PUBLISHED_FILE_H

#include "efface/efface.h"

#include <stdbool.h>

/* A file that is to appear with the commit of a request. */
typedef struct ef_published_file {
    char *folder;   /* without symbolic links */
    char *path;     /* where it will be */
    char *beside;   /* where it is until then, if it cannot be without a name */
    bool is_there;  /* beside */
    int descriptor; /* of the open file, or -1 */
    bool replaces;
} ef_published_file;

/* Whether a file may be written there; nothing is done yet. */
efface_status ef_published_begin(ef_published_file *file, const efface_store *store,
                                 const char *path, bool replaces, efface_error *error);

/* Writes it onto the disk. */
efface_status ef_published_write(ef_published_file *file, const void *bytes, size_t n_bytes,
                                 efface_error *error);

/* Gives it its name. If that fails the message says where it is. */
efface_status ef_published_place(ef_published_file *file, uint64_t receipt, efface_error *error);

/* Takes away what has no name yet, and releases memory. */
void ef_published_end(ef_published_file *file);

#endif
