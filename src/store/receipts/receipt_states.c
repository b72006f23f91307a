/*
 * The states of models that receipts name. A receipt has a commitment to the state of each model
 * before and after it, "" where there was no model or is none. What one receipt leaves is what the
 * next that names the model finds; so neighbours link without an opening, and the last commitment
 * is that of the state that is there.
 */
#include "store/receipts/receipt_states.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/receipts/receipts.h"

#include <sodium.h>
#include <string.h>

#define HEX_BYTES ((size_t)2 * EFFACE_DIGEST_BYTES)

/* Moves behind the first place where a text is; false if it is nowhere. */
static bool skip_past(ef_decoder *bytes, const char *wanted) {
    const size_t n = strlen(wanted);
    for (size_t at = 0; at + n <= bytes->n_bytes; at++)
        if (memcmp(bytes->bytes + at, wanted, n) == 0) {
            bytes->bytes += at + n;
            bytes->n_bytes -= at + n;
            return true;
        }
    return false;
}

static bool read_name(ef_decoder *body, char name[EFFACE_MODEL_NAME_BYTES]) {
    const unsigned char *const end = memchr(body->bytes, '"', body->n_bytes);
    const size_t n = end != NULL ? (size_t)(end - body->bytes) : 0;
    memset(name, 0, EFFACE_MODEL_NAME_BYTES);
    if (n == 0 || n >= EFFACE_MODEL_NAME_BYTES)
        return false;
    memcpy(name, body->bytes, n);
    return true;
}

/* A commitment, or nothing between the quotes. */
static bool read_commitment(ef_decoder *body, bool *there,
                            unsigned char commitment[EFFACE_DIGEST_BYTES]) {
    size_t n = 0;
    *there = body->n_bytes != 0 && body->bytes[0] != '"';
    memset(commitment, 0, EFFACE_DIGEST_BYTES);
    return body->n_bytes != 0 &&
           (!*there || (body->n_bytes > HEX_BYTES && body->bytes[HEX_BYTES] == '"' &&
                        sodium_hex2bin(commitment, EFFACE_DIGEST_BYTES, (const char *)body->bytes,
                                       HEX_BYTES, NULL, &n, NULL) == 0 &&
                        n == EFFACE_DIGEST_BYTES));
}

bool ef_receipt_next_model(ef_decoder *body, ef_named_state *state) {
    return skip_past(body, "{\"name\":\"") && read_name(body, state->name) &&
           skip_past(body, "\"before\":\"") &&
           read_commitment(body, &state->was_there, state->before) &&
           skip_past(body, "\"after\":\"") && read_commitment(body, &state->is_there, state->after);
}

static uint64_t read_group(ef_decoder body) {
    uint64_t number = 0;
    if (!skip_past(&body, "],\"group\":"))
        return 0;
    for (; body.n_bytes != 0 && body.bytes[0] >= '0' && body.bytes[0] <= '9'; body.n_bytes--)
        number = 10 * number + (uint64_t)(*body.bytes++ - '0');
    return number;
}

/* ---------------------------------------------------------------- lists */

void ef_states_free(ef_state_list *list) {
    ef_free(list->states);
    *list = (ef_state_list){NULL, 0, 0};
}

/* Where a name is, or would be. */
static size_t place_of(const ef_state_list *list, const char *name) {
    size_t low = 0, high = list->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(list->states[middle].state.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const ef_named_state *ef_states_find(const ef_state_list *list, const char *name) {
    const size_t at = place_of(list, name);
    return at < list->n && strcmp(list->states[at].state.name, name) == 0 ? &list->states[at].state
                                                                          : NULL;
}

static efface_status make_place(ef_state_list *list, size_t at, efface_error *error) {
    if (list->n == list->room) {
        const size_t room = list->room != 0 ? 2 * list->room : 8;
        ef_last_state *const states = ef_realloc(list->states, room, sizeof *states);
        if (states == NULL)
            return ef_fail_memory(error);
        list->states = states;
        list->room = room;
    }
    memmove(list->states + at + 1, list->states + at, (list->n - at) * sizeof *list->states);
    list->n++;
    return EFFACE_OK;
}

static bool is_left_so(const ef_named_state *left, const ef_named_state *found) {
    return left->is_there == found->was_there &&
           memcmp(left->after, found->before, sizeof left->after) == 0;
}

efface_status ef_states_follow(ef_state_list *list, ef_decoder body, bool *fits,
                               efface_error *error) {
    const uint64_t group = read_group(body);
    ef_named_state found;
    efface_status status = EFFACE_OK;
    while (status == EFFACE_OK && ef_receipt_next_model(&body, &found)) {
        const size_t at = place_of(list, found.name);
        if (ef_states_find(list, found.name) == NULL)
            status = make_place(list, at, error);
        else if (group == 0 || list->states[at].group != group)
            *fits &= is_left_so(&list->states[at].state, &found);
        if (status == EFFACE_OK)
            list->states[at] = (ef_last_state){found, group};
    }
    return status;
}
