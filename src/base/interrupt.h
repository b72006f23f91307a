/* Interruption: long work asks now and then whether it is to go on. */
#ifndef EF_INTERRUPT_H
#define EF_INTERRUPT_H

#include "base/status.h"

/* Whom to ask: a function that returns non-zero if the work is to end, or NULL for nobody. */
typedef struct ef_interrupt {
    int (*asked)(void *context);
    void *context;
} ef_interrupt;

/* Asks; fails if the work is to end. Users are asked on the thread that made their call only. */
static inline efface_status ef_ask(const ef_interrupt *interrupt, efface_error *error) {
    if (interrupt->asked == NULL || interrupt->asked(interrupt->context) == 0)
        return EFFACE_OK;
    return ef_fail(error, EFFACE_E_INTERRUPTED, "the call was interrupted; nothing was changed");
}

#endif
