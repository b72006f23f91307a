/* Why something cannot be done, for whoever started the program. */
#ifndef SV_WHY_H
#define SV_WHY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct sv_why {
    char text[1000];
} sv_why;

/* Writes the reason down, and returns false. */
__attribute__((format(printf, 2, 3))) static inline bool sv_fail(sv_why *why, const char *format,
                                                                 ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return false;
}

static inline bool sv_fail_memory(sv_why *why) {
    return sv_fail(why, "out of memory");
}

#endif
