/*
 * Stores that are older than the requests: somebody has restored a backup of a store, and not of
 * the folder of requests. A request that is sent again would be taken for one that is done, though
 * its rows are back. Receipts of a store are a chain, so the last one that a request names stands
 * for all before it.
 */
#include "dsr/register.h"
#include "rooms/rooms.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

efface_status sv_dsr_digest(const sv_room *room, uint64_t number,
                            unsigned char digest[EFFACE_DIGEST_BYTES], efface_error *error) {
    efface_store *store = NULL;
    char *line = NULL;
    efface_status status = sv_room_open(room, &store, NULL, error);
    if (status == EFFACE_OK)
        status = efface_store_receipt(store, number, &line, error);
    if (status == EFFACE_OK)
        (void)crypto_generichash(digest, EFFACE_DIGEST_BYTES, (const unsigned char *)line,
                                 strlen(line), NULL, 0);
    efface_text_free(line);
    efface_store_close(store);
    return status;
}

/* The last receipt of a store that requests name, and the last that they name with its digest. */
static void find_last(const sv_dsr *dsr, const char *store, uint64_t *last,
                      const sv_dsr_receipt **with_digest) {
    *last = 0;
    *with_digest = NULL;
    for (const sv_dsr_entry *entry = dsr->newest; entry != NULL; entry = entry->last)
        for (size_t i = 0; i < entry->n_receipts; i++) {
            const sv_dsr_receipt *const r = &entry->receipts[i];
            if (strcmp(r->store, store) != 0)
                continue;
            *last = r->number > *last ? r->number : *last;
            if (r->has_digest && (*with_digest == NULL || r->number > (*with_digest)->number))
                *with_digest = r;
        }
}

static bool check_room(const sv_dsr *dsr, const sv_room *room, sv_why *why) {
    const char *const name = sv_room_name(room);
    unsigned char digest[EFFACE_DIGEST_BYTES];
    uint64_t last;
    const sv_dsr_receipt *known;
    efface_error error;
    find_last(dsr, name, &last, &known);
    if (last == 0)
        return true;
    efface_status status = sv_dsr_digest(room, last, digest, &error);
    if (status == EFFACE_OK && known != NULL && known->number != last)
        status = sv_dsr_digest(room, known->number, digest, &error);
    if (status != EFFACE_OK && status != EFFACE_E_NOT_FOUND)
        return sv_fail(why, "the receipts of %s cannot be read: %s", name, error.message);
    if (status == EFFACE_OK && (known == NULL || memcmp(known->digest, digest, sizeof digest) == 0))
        return true;
    return sv_fail(why,
                   "the store %s does not have the receipt %" PRIu64
                   " that a completed OpenDSR request names: the store is older than the requests, "
                   "and people who were forgotten may be back; restore the folder of requests "
                   "(.opendsr beside the tokens) from the same moment, or move it away, and send "
                   "the requests again",
                   name, status == EFFACE_OK ? known->number : last);
}

bool sv_dsr_check_stores(const sv_dsr *dsr, sv_why *why) {
    const sv_rooms *const rooms = dsr->service->rooms;
    for (size_t i = 0; i < sv_rooms_count(rooms); i++)
        if (!check_room(dsr, sv_rooms_at(rooms, i), why))
            return false;
    return true;
}
