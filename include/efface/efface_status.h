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

typedef enum efface_status {
    EFFACE_OK = 0,
    EFFACE_E_MEMORY = 1,       /* an allocation failed */
    EFFACE_E_ARGUMENT = 2,     /* an argument makes no sense: the caller's mistake */
    EFFACE_E_LIMIT = 3,        /* a value is beyond what the exact arithmetic can hold */
    EFFACE_E_IO = 4,           /* the operating system could not open, read or write a file */
    EFFACE_E_FORMAT = 5,       /* a file is not what it should be */
    EFFACE_E_DUPLICATE = 6,    /* an id is there already */
    EFFACE_E_NOT_FOUND = 7,    /* an id is not there */
    EFFACE_E_KERNELS = 8,      /* EFFACE_KERNELS names a table this processor cannot run */
    EFFACE_E_BUSY = 9,         /* another process is writing to the store */
    EFFACE_E_CORRUPT = 10,     /* a store is damaged */
    EFFACE_E_INTERRUPTED = 11, /* the caller was asked and wanted the work to end */
    EFFACE_E_GROUP = 12        /* the engine of a group failed: ranks cannot reach each other */
} efface_status;

/* A short name of a status, such as "not found". Never NULL. */
EFFACE_API const char *efface_status_name(efface_status status);

/* The detail of a failed call. `message` is a complete sentence and names the place by itself; the
 * other fields give the same place to programs. Lines, columns and fields count from 1; 0 means
 * "does not apply". For binary files `line` is the row and `column` the column of the matrix. */
typedef struct efface_error {
    efface_status status;
    char message[512];
    char file[256];
    uint64_t line;
    uint64_t column;
    int os_error; /* of EFFACE_E_IO: why, as an errno, such as ENOSPC if the disk is full and EROFS
                     if it cannot be written; 0 if that is not known */
} efface_error;

#ifdef __cplusplus
}
#endif

#endif
