/*
 * What is known of a store without reading it: names and offsets of its columns and its hash key,
 * which stay as they were made; whether its ids are numbers or texts, which the first rows of a
 * store decide; and in which columns there are categories, and whether values may be missing, which
 * its models decide. Facts are read again when another file has taken the name of the store, while
 * something is undecided after each change, and else, if the store has changed, a second after they
 * were read: somebody may have added a model.
 */
#include "rooms/room.h"

#include "api/values.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

void sv_free_texts(char **texts, size_t n) {
    for (size_t i = 0; texts != NULL && i < n; i++)
        free(texts[i]);
    free(texts);
}

bool sv_copy_columns(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                     char ***names, double **offsets) {
    char **const texts = calloc((size_t)n_columns + 1, sizeof *texts);
    double *const numbers = calloc((size_t)n_columns + 1, sizeof *numbers);
    bool ok = texts != NULL && numbers != NULL;
    for (uint32_t j = 0; ok && j < n_columns; j++) {
        const uint32_t column = columns != NULL ? columns[j] : j;
        const char *const name = efface_store_column(store, column);
        numbers[j] = efface_store_offset(store, column);
        texts[j] = name != NULL ? strdup(name) : NULL;
        ok = name == NULL || texts[j] != NULL;
    }
    if (ok) {
        *names = texts;
        *offsets = numbers;
        return true;
    }
    sv_free_texts(texts, n_columns);
    free(numbers);
    return false;
}

/* ---------------------------------------------------------------- the count of changes */

/* A handle whose file was replaced is closed, and the file that is there now is opened. */
static efface_status count_changes(sv_room *room, uint64_t *changes, efface_error *error) {
    if (room->counter != NULL) {
        if (efface_store_count_changes(room->counter, changes, error) == EFFACE_OK) {
            *changes |= room->n_opened << 32;
            return EFFACE_OK;
        }
        efface_store_close(room->counter);
        room->counter = NULL;
    }
    efface_status status = sv_room_open(room, &room->counter, NULL, error);
    if (status == EFFACE_OK) {
        room->n_opened++;
        status = efface_store_count_changes(room->counter, changes, error);
        *changes |= room->n_opened << 32;
    }
    return status;
}

efface_status sv_room_count(sv_room *room, uint64_t *changes, efface_error *error) {
    pthread_mutex_lock(&room->lock);
    const efface_status status = count_changes(room, changes, error);
    pthread_mutex_unlock(&room->lock);
    return status;
}

/* ---------------------------------------------------------------- facts */

static void free_facts(sv_facts *facts) {
    if (facts == NULL)
        return;
    sodium_memzero(facts->hash_key, sizeof facts->hash_key);
    sv_free_texts(facts->columns.names, facts->columns.n);
    free(facts->columns.offsets);
    free(facts->columns.categories);
    free(facts);
}

static efface_status read_facts(const sv_room *room, uint64_t changes, sv_facts **out,
                                efface_error *error) {
    efface_store *store = NULL;
    efface_store_info info;
    efface_load_options load;
    const double begun = sv_now();
    efface_status status = sv_room_open(room, &store, &info, error);
    sv_facts *const facts = status == EFFACE_OK ? calloc(1, sizeof *facts) : NULL;
    bool *const categories =
        facts != NULL ? calloc((size_t)info.n_columns + 1, sizeof *categories) : NULL;
    if (categories != NULL && sv_copy_columns(store, NULL, info.n_columns, &facts->columns.names,
                                              &facts->columns.offsets)) {
        efface_store_load_options(store, &load);
        memcpy(facts->hash_key, load.hash_key, sizeof facts->hash_key);
        for (size_t i = 0; i < load.n_categories; i++)
            categories[load.categories[i].place - 1] = true;
        facts->columns.missing = load.missing != 0;
        sodium_memzero(&load, sizeof load);
        facts->columns.categories = categories;
        facts->begun = begun;
        facts->ids = info.ids;
        facts->owners = info.owners;
        facts->labels = info.labels;
        facts->columns.n = info.n_columns;
        facts->changes = changes;
        facts->n_users = 1;
        *out = facts;
    } else if (status == EFFACE_OK) {
        free(facts);
        free(categories);
        status = sv_no_memory(error);
    }
    efface_store_close(store);
    return status;
}

static void drop_facts(const sv_facts *facts) {
    sv_facts *const own = (sv_facts *)(uintptr_t)facts;
    if (own != NULL && --own->n_users == 0)
        free_facts(own);
}

/* Nobody mixes labels of both kinds once there are some; ids and owners likewise. */
static bool is_settled(const sv_facts *facts) {
    return facts->ids != EFFACE_IDS_DETECT && facts->owners != EFFACE_IDS_DETECT &&
           facts->labels != EFFACE_IDS_DETECT;
}

efface_status sv_facts_take(sv_room *room, const sv_facts **out, efface_error *error) {
    uint64_t changes = 0;
    pthread_mutex_lock(&room->lock);
    efface_status status = count_changes(room, &changes, error);
    const bool stale = room->facts == NULL || room->facts->changes >> 32 != changes >> 32 ||
                       (room->facts->changes != changes &&
                        (!is_settled(room->facts) || sv_now() - room->facts->begun > 1.0));
    if (status == EFFACE_OK && stale) {
        sv_facts *facts = NULL;
        status = read_facts(room, changes, &facts, error);
        if (status == EFFACE_OK) {
            drop_facts(room->facts);
            room->facts = facts;
        }
    }
    if (status == EFFACE_OK) {
        room->facts->n_users++;
        *out = room->facts;
    }
    pthread_mutex_unlock(&room->lock);
    return status;
}

void sv_facts_drop(sv_room *room, const sv_facts *facts) {
    pthread_mutex_lock(&room->lock);
    drop_facts(facts);
    pthread_mutex_unlock(&room->lock);
}

void sv_facts_clear(sv_room *room) {
    drop_facts(room->facts);
    room->facts = NULL;
    efface_store_close(room->counter);
    room->counter = NULL;
}

efface_status sv_room_owner(sv_room *room, const char *text, uint64_t *owner, efface_texts *texts,
                            efface_error *error) {
    const sv_facts *facts = NULL;
    efface_status status = sv_facts_take(room, &facts, error);
    if (status != EFFACE_OK)
        return status;
    const efface_ids kind =
        facts->owners == EFFACE_IDS_NUMBERS ? EFFACE_IDS_NUMBERS : EFFACE_IDS_TEXT;
    efface_name name;
    status = efface_name_normalize(text, strlen(text), kind, facts->hash_key, &name, error);
    *owner = name.number;
    if (status == EFFACE_OK && name.text != NULL)
        status = efface_texts_add(texts, EFFACE_TEXT_OWNER, *owner, name.text, name.n_bytes, error);
    efface_name_clear(&name);
    sv_facts_drop(room, facts);
    if (status == EFFACE_E_MEMORY || (status == EFFACE_OK && *owner != EFFACE_NO_OWNER))
        return status;
    *error = (efface_error){.status = EFFACE_E_NOT_FOUND, .message = "no owner has such a name"};
    return EFFACE_E_NOT_FOUND;
}
