/* Openings of the commitments that receipts have, for those who ask (openings.c). */
#ifndef EF_OPENINGS_H
#define EF_OPENINGS_H

#include "efface/efface.h"

typedef struct ef_openings {
    void (*opened)(void *context, const efface_opening *opening); /* NULL: nobody asks */
    void *context;
    efface_opening *list; /* of the transaction under way */
    size_t n;
} ef_openings;

/* Keeps what opens the commitments of a receipt that has been written, from the records of its
 * models. */
efface_status ef_openings_keep(efface_store *store, const efface_store_report *report,
                               efface_error *error);

/* Hands out what was kept, if the transaction was committed, and wipes it. */
void ef_openings_end(efface_store *store, efface_status status);

#endif
