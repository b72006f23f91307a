/* Errors: filling the caller's efface_error in one line. */
#ifndef EF_STATUS_H
#define EF_STATUS_H

#include "efface/efface.h"

#if defined(__FAST_MATH__)
#error "efface must not be compiled with fast-math: results would depend on the compiler"
#endif

/* Fills `error` (which may be NULL) and returns `status`, so that a function can end with
 * `return ef_fail(error, EFFACE_E_LIMIT, "...", ...)`. */
efface_status ef_fail(efface_error *error, efface_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a place in a file. The message becomes "file:line:column: ..."; a line or column of
 * 0 is left out. */
efface_status ef_fail_at(efface_error *error, efface_status status, const char *file, uint64_t line,
                         uint64_t column, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Adds why the operating system failed, as an errno, to an error that was just filled. */
void ef_note_system(efface_error *error, int os_error);

/* Bytes that cannot be what they should be: the state of a model, or a published model. `what` says
 * where it shows. */
efface_status ef_fail_state(efface_error *error, const char *what);
efface_status ef_fail_published(efface_error *error, const char *what);

/* Goes on while all is well: unless `status` is an error already, it becomes what the call
 * returns. */
#define EF_THEN(status, call)                                                                      \
    do {                                                                                           \
        if ((status) == EFFACE_OK)                                                                 \
            (status) = (call);                                                                     \
    } while (0)

/* The error of a failed allocation; it formats nothing and cannot fail. */
efface_status ef_fail_memory(efface_error *error);

#endif
