/* Interruption and progress: long work asks now and then whether it is to go on, and tells how much
 * of it is done. */
#ifndef EF_INTERRUPT_H
#define EF_INTERRUPT_H

#include "base/errors/status.h"

/* Whom to tell, and what was told last. Work is counted in multiply-adds, of which so many are
 * expected. */
typedef struct ef_progress {
    void (*told)(void *context, double part);
    void *context;
    double part;
    double done, expected;
} ef_progress;

/* Whom to ask: a function that returns non-zero if the work is to end, or NULL for nobody; and whom
 * to tell, or NULL. */
typedef struct ef_interrupt {
    int (*asked)(void *context);
    void *context;
    ef_progress *progress;
} ef_interrupt;

/* Tells that a part is done, unless that much was told before. */
static inline void ef_tell(ef_progress *progress, double part) {
    if (progress == NULL || !(part > progress->part))
        return;
    progress->part = part;
    progress->told(progress->context, part);
}

/* Tells of work that was done. What is expected is an estimate: the end is told by the whole. */
static inline void ef_tell_work(ef_progress *progress, double work) {
    if (progress == NULL)
        return;
    progress->done += work;
    const double part = progress->done / progress->expected;
    ef_tell(progress, part < 0.99 ? part : 0.99);
}

/* Asks; fails if the work is to end. Users are asked on the thread that made their call only. */
static inline efface_status ef_ask(const ef_interrupt *interrupt, efface_error *error) {
    if (interrupt->asked == NULL || interrupt->asked(interrupt->context) == 0)
        return EFFACE_OK;
    return ef_fail(error, EFFACE_E_INTERRUPTED, "the call was interrupted; nothing was changed");
}

#endif
