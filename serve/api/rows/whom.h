/* The rows that a body is about: {"ids", "keys", "owners", "owner_keys"}. */
#ifndef SV_WHOM_H
#define SV_WHOM_H

#include "rooms/rooms.h"

#define SV_MAX_NAMES 10000

typedef struct sv_whom {
    efface_request request; /* to the arrays below */
    uint64_t *ids, *owners;
    efface_texts *texts;
    efface_ids id_kind, owner_kind; /* what the store has */
    char *
        text; /* the first text that was given, in its one form; of an owner or of a row; or NULL */
    bool text_is_owner;
} sv_whom;

/* Reads it; texts become the numbers that the store has for them. Who is named twice is wanted
 * once. `most` is how many names there may be: a request is done at once, and others wait. False,
 * with a reply, if something is not as it must be. Release with sv_whom_free either way. */
bool sv_whom_read(sv_request *request, const json_t *body, const sv_facts *facts, size_t most,
                  sv_whom *out);
void sv_whom_free(sv_whom *whom);

#endif
