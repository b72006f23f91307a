/* Collections of texts (efface_texts), for those who fill one and may fail on the way. */
#ifndef EF_TEXTS_H
#define EF_TEXTS_H

#include "efface/efface.h"

/* Moves the texts of `from` to `to`, which keeps what it has; `from` is good for being released
 * only. On failure nothing changed. Errors: MEMORY;
 * DUPLICATE for two texts with the same number. */
efface_status ef_texts_move(efface_texts *to, efface_texts *from, efface_error *error);

#endif
