/* Openings: the digest and the salt behind a commitment, handed out when the request is on the
 * disk. Nothing of them stays in the store but the record of the model, until it changes. */
#include "store/receipts/openings.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/models/records.h"
#include "store/receipts/receipt_states.h"
#include "store/seals/commitments.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static efface_status keep_one(efface_store *store, uint64_t receipt, const char *name,
                              efface_error *error) {
    ef_openings *const o = &store->openings;
    ef_record record;
    const efface_status status = ef_record_read(store, name, false, &record, error);
    if (status != EFFACE_OK)
        return status;
    efface_opening *const opening = &o->list[o->n++];
    *opening = (efface_opening){.receipt = receipt};
    memcpy(opening->model, record.name, sizeof opening->model);
    memcpy(opening->digest, record.digest, sizeof opening->digest);
    memcpy(opening->salt, record.salt, sizeof opening->salt);
    ef_record_free(&record);
    return EFFACE_OK;
}

efface_status ef_openings_keep(efface_store *store, const efface_store_report *report,
                               efface_error *error) {
    static const unsigned char none[EFFACE_DIGEST_BYTES];
    ef_openings *const o = &store->openings;
    if (o->opened == NULL || report->n_models == 0)
        return EFFACE_OK;
    efface_opening *const list = ef_realloc(o->list, o->n + report->n_models, sizeof *list);
    if (list == NULL)
        return ef_fail_memory(error);
    o->list = list;
    efface_status status = EFFACE_OK;
    for (uint32_t i = 0; status == EFFACE_OK && i < report->n_models; i++)
        if (memcmp(report->models[i].after, none, sizeof none) != 0)
            status = keep_one(store, report->receipt, report->models[i].name, error);
    return status;
}

void ef_openings_end(efface_store *store, efface_status status) {
    ef_openings *const o = &store->openings;
    for (size_t i = 0; i < o->n && (status == EFFACE_OK || store->in_doubt); i++)
        o->opened(o->context, &o->list[i]);
    ef_free(o->list); /* which wipes it */
    o->list = NULL;
    o->n = 0;
}

efface_status efface_receipt_open(const char *json, const efface_opening *opening,
                                  efface_error *error) {
    if (json == NULL || opening == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "json and opening must not be NULL");
    char begin[40];
    unsigned char commitment[EFFACE_DIGEST_BYTES];
    ef_named_state state = {.is_there = false};
    ef_decoder body = {.bytes = (const unsigned char *)json, .n_bytes = strlen(json)};
    const int n = snprintf(begin, sizeof begin, "{\"receipt\":%" PRIu64 ",", opening->receipt);
    bool named = strncmp(json, begin, (size_t)n) == 0;
    while (named && strcmp(state.name, opening->model) != 0)
        named = ef_receipt_next_model(&body, &state);
    if (!named)
        return ef_fail(error, EFFACE_E_NOT_FOUND,
                       "this is not receipt %" PRIu64 " of a model %.63s", opening->receipt,
                       opening->model);
    ef_commit(opening->salt, opening->digest, commitment);
    return state.is_there && memcmp(commitment, state.after, sizeof commitment) == 0
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_FORMAT,
                         "the opening does not open the commitment of receipt %" PRIu64
                         " to the model %.63s",
                         opening->receipt, opening->model);
}
