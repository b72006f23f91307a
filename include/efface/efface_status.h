/* Status and errors of every call. Part of efface.h. */
#ifndef EFFACE_STATUS_H
#define EFFACE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define EFFACE_API
#else
#define EFFACE_API __attribute__((visibility("default")))
#endif

/* What a call returns: EFFACE_OK, or why it failed. Values never change their meaning. */
typedef enum efface_status {
    EFFACE_OK = 0,
    EFFACE_E_MEMORY = 1,       /* out of memory */
    EFFACE_E_ARGUMENT = 2,     /* an argument is wrong: the caller's mistake */
    EFFACE_E_LIMIT = 3,        /* a value is beyond what the exact arithmetic can hold */
    EFFACE_E_IO = 4,           /* the operating system could not open, read or write a file */
    EFFACE_E_FORMAT = 5,       /* a file is not what it should be */
    EFFACE_E_DUPLICATE = 6,    /* an id exists already, or comes twice */
    EFFACE_E_NOT_FOUND = 7,    /* an id, a name or a number does not exist */
    EFFACE_E_KERNELS = 8,      /* EFFACE_KERNELS names a table that this processor cannot run */
    EFFACE_E_BUSY = 9,         /* another process is using the store */
    EFFACE_E_CORRUPT = 10,     /* a store is damaged */
    EFFACE_E_INTERRUPTED = 11, /* the caller's own function asked for the work to stop */
    EFFACE_E_GROUP = 12        /* the engine of a group failed: ranks cannot reach each other */
} efface_status;

/* Returns a short name of a status, such as "not found". Never NULL. */
EFFACE_API const char *efface_status_name(efface_status status);

/* The detail of a failed call. `message` is a complete sentence that says what to do and includes
 * the location; the other fields repeat the location for programs. Lines and columns count from 1;
 * 0 means "does not apply". For a binary file `line` is the row of the matrix and `column` its
 * column. */
typedef struct efface_error {
    efface_status status;
    char message[512];
    char file[256];
    uint64_t line;
    uint64_t column;
    int os_error; /* for EFFACE_E_IO: the errno, such as ENOSPC for a full disk or EROFS for one
                     that is read-only; 0 if it is not known */
} efface_error;

#ifdef __cplusplus
}
#endif

#endif
