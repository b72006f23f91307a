/* Errors: the text behind a status. */
#include "base/errors/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *efface_version(void) {
    return EFFACE_VERSION;
}

const char *efface_status_name(efface_status status) {
    switch (status) {
    case EFFACE_OK: return "ok";
    case EFFACE_E_MEMORY: return "out of memory";
    case EFFACE_E_ARGUMENT: return "bad argument";
    case EFFACE_E_LIMIT: return "beyond a limit";
    case EFFACE_E_IO: return "input/output error";
    case EFFACE_E_FORMAT: return "bad format";
    case EFFACE_E_DUPLICATE: return "duplicate id";
    case EFFACE_E_NOT_FOUND: return "not found";
    case EFFACE_E_KERNELS: return "kernel table not usable";
    case EFFACE_E_BUSY: return "store is busy";
    case EFFACE_E_CORRUPT: return "store is damaged";
    case EFFACE_E_INTERRUPTED: return "interrupted";
    case EFFACE_E_GROUP: return "group failed";
    }
    return "unknown status";
}

static void clear(efface_error *error, efface_status status) {
    error->status = status;
    error->message[0] = '\0';
    error->file[0] = '\0';
    error->line = 0;
    error->column = 0;
    error->os_error = 0;
}

efface_status ef_fail(efface_error *error, efface_status status, const char *format, ...) {
    if (error != NULL) {
        clear(error, status);
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

efface_status ef_fail_at(efface_error *error, efface_status status, const char *file, uint64_t line,
                         uint64_t column, const char *format, ...) {
    if (error == NULL)
        return status;
    clear(error, status);
    (void)snprintf(error->file, sizeof error->file, "%s", file);
    error->line = line;
    error->column = column;

    char *const text = error->message;
    const size_t room = sizeof error->message;
    /* A long path must not push the sentence out of the message: its tail says most. */
    const size_t longest = room / 2;
    const size_t length = strlen(file);
    const char *const shown = length > longest ? file + (length - longest) : file;
    int used = snprintf(text, room, "%s%s", length > longest ? "..." : "", shown);
    if (line != 0)
        used += snprintf(text + used, room - (size_t)used, ":%llu", (unsigned long long)line);
    if (column != 0)
        used += snprintf(text + used, room - (size_t)used, ":%llu", (unsigned long long)column);
    used += snprintf(text + used, room - (size_t)used, ": ");
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, room - (size_t)used, format, arguments);
    va_end(arguments);
    return status;
}

efface_status ef_fail_state(efface_error *error, const char *what) {
    return ef_fail(error, EFFACE_E_FORMAT,
                   "the state of the model is damaged or was made with other parameters: %s", what);
}

efface_status ef_fail_published(efface_error *error, const char *what) {
    return ef_fail(error, EFFACE_E_FORMAT, "the published model is damaged: %s", what);
}

void ef_note_system(efface_error *error, int os_error) {
    if (error != NULL)
        error->os_error = os_error;
}

efface_status ef_fail_memory(efface_error *error) {
    if (error != NULL) {
        clear(error, EFFACE_E_MEMORY);
        memcpy(error->message, "out of memory", sizeof "out of memory");
    }
    return EFFACE_E_MEMORY;
}
