/*
 * What numbers stand for: texts by kind and number.
 *
 * Each kind has its numbers, its texts, and an index from one to the other. Texts are kept one by
 * one.
 */
#include "data/texts/texts.h"

#include "base/errors/status.h"
#include "base/memory/list.h"
#include "base/memory/memory.h"
#include "data/set/id_index.h"
#include "efface/efface.h"

#include <string.h>

#define N_KINDS 3

typedef struct of_kind {
    size_t n_texts;
    size_t capacity;
    uint64_t *numbers;
    char **texts;
    ef_id_index index;
} of_kind;

struct efface_texts {
    of_kind kinds[N_KINDS];
};

efface_status efface_texts_create(efface_texts **out, efface_error *error) {
    if (out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "out must not be NULL");
    efface_texts *const texts = ef_alloc_zero(1, sizeof *texts);
    if (texts == NULL)
        return ef_fail_memory(error);
    *out = texts;
    return EFFACE_OK;
}

void efface_texts_free(efface_texts *texts) {
    if (texts == NULL)
        return;
    for (size_t i = 0; i < N_KINDS; i++) {
        of_kind *const kind = &texts->kinds[i];
        for (size_t j = 0; j < kind->n_texts; j++)
            ef_free(kind->texts[j]);
        ef_free(kind->numbers);
        ef_free(kind->texts);
        ef_id_index_free(&kind->index);
    }
    ef_free(texts);
}

static bool reserve_texts(of_kind *kind, size_t n_more) {
    size_t n_numbers = kind->capacity;
    if (!ef_list_reserve(&kind->numbers, &n_numbers, kind->n_texts, n_more,
                         sizeof *kind->numbers) ||
        !ef_list_reserve(&kind->texts, &kind->capacity, kind->n_texts, n_more, sizeof *kind->texts))
        return false;
    return ef_id_index_reserve(&kind->index, kind->numbers, kind->n_texts, kind->n_texts + n_more);
}

/* There is room. */
static void put(of_kind *kind, uint64_t number, char *text) {
    kind->numbers[kind->n_texts] = number;
    kind->texts[kind->n_texts] = text;
    ef_id_index_insert(&kind->index, kind->numbers, kind->n_texts++);
}

static bool same_text(const char *there, const char *text, size_t n_bytes) {
    return strncmp(there, text, n_bytes) == 0 && there[n_bytes] == '\0';
}

static efface_status fail_other(efface_error *error) {
    return ef_fail(error, EFFACE_E_DUPLICATE,
                   "two texts have the same 64-bit number; use another name for one of them");
}

efface_status efface_texts_add(efface_texts *texts, efface_text_kind which, uint64_t number,
                               const char *text, size_t n_bytes, efface_error *error) {
    if (texts == NULL || text == NULL || (unsigned)which >= N_KINDS)
        return ef_fail(error, EFFACE_E_ARGUMENT, "texts and text must not be NULL");
    if (memchr(text, '\0', n_bytes) != NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "a text must not have a zero byte");
    of_kind *const kind = &texts->kinds[which];
    const size_t found = ef_id_index_find(&kind->index, kind->numbers, number);
    if (found != EF_NO_POSITION)
        return same_text(kind->texts[found], text, n_bytes) ? EFFACE_OK : fail_other(error);
    char *const copy = reserve_texts(kind, 1) ? ef_alloc(n_bytes + 1, 1) : NULL;
    if (copy == NULL)
        return ef_fail_memory(error);
    memcpy(copy, text, n_bytes);
    copy[n_bytes] = '\0';
    put(kind, number, copy);
    return EFFACE_OK;
}

efface_status ef_texts_move(efface_texts *to, efface_texts *from, efface_error *error) {
    for (size_t i = 0; i < N_KINDS; i++) {
        const of_kind *const rest = &from->kinds[i];
        if (!reserve_texts(&to->kinds[i], rest->n_texts))
            return ef_fail_memory(error);
        for (size_t j = 0; j < rest->n_texts; j++) {
            const char *const there = efface_texts_find(to, (efface_text_kind)i, rest->numbers[j]);
            if (there != NULL && strcmp(there, rest->texts[j]) != 0)
                return fail_other(error);
        }
    }
    for (size_t i = 0; i < N_KINDS; i++) {
        of_kind *const kind = &to->kinds[i], *const rest = &from->kinds[i];
        size_t n_rest = 0; /* texts that are there already are left behind */
        for (size_t j = 0; j < rest->n_texts; j++) {
            if (ef_id_index_find(&kind->index, kind->numbers, rest->numbers[j]) == EF_NO_POSITION)
                put(kind, rest->numbers[j], rest->texts[j]);
            else
                rest->texts[n_rest++] = rest->texts[j];
        }
        rest->n_texts = n_rest;
    }
    return EFFACE_OK;
}

const char *efface_texts_find(const efface_texts *texts, efface_text_kind which, uint64_t number) {
    if (texts == NULL || (unsigned)which >= N_KINDS)
        return NULL;
    const of_kind *const kind = &texts->kinds[which];
    const size_t found = ef_id_index_find(&kind->index, kind->numbers, number);
    return found != EF_NO_POSITION ? kind->texts[found] : NULL;
}
