/* The states of models that receipts name, from one receipt to the next (receipt_states.c). */
#ifndef EF_RECEIPT_STATES_H
#define EF_RECEIPT_STATES_H

#include "base/bytes/encode.h"
#include "efface/efface.h"

#include <stdbool.h>

/* What a receipt says of a model: commitments, or that there was none before or is none after. */
typedef struct ef_named_state {
    char name[EFFACE_MODEL_NAME_BYTES];
    bool was_there, is_there;
    unsigned char before[EFFACE_DIGEST_BYTES], after[EFFACE_DIGEST_BYTES];
} ef_named_state;

/* Reads the next model of a receipt, from `body` on, which moves behind it; false if there is none
 * or it is not understood. */
bool ef_receipt_next_model(ef_decoder *body, ef_named_state *state);

/* All models that receipts have named so far, in the order of names, each as the last of them left
 * it. All zeros: no receipt was read. */
typedef struct ef_state_list {
    struct ef_last_state *states;
    size_t n, room;
} ef_state_list;

typedef struct ef_last_state {
    ef_named_state state;
    uint64_t group; /* of the receipt, or 0 */
} ef_last_state;

void ef_states_free(ef_state_list *list);

/* Notes what the next receipt says. `fits` becomes false if a model was not left by the receipt
 * before as it is found by this one: receipts of one group have the same. Errors: MEMORY. */
efface_status ef_states_follow(ef_state_list *list, ef_decoder body, bool *fits,
                               efface_error *error);

/* The model of a name, or NULL if no receipt has named it. */
const ef_named_state *ef_states_find(const ef_state_list *list, const char *name);

#endif
