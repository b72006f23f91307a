/*
 * Snapshots: models for predictions, read from the store without its rows. A snapshot is used until
 * the store has changed, by whichever process; then the first request that needs the model makes
 * another one while requests that have the old one finish with it. The last of these releases it.
 */
#include "metrics/metrics.h"
#include "rooms/room.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TURNS 3
#define YOUNG_SECONDS 1.0

static void free_snapshot(sv_snapshot *s) {
    if (s == NULL)
        return;
    efface_model_free(s->model);
    sv_free_texts(s->names, s->info.n_columns);
    sv_free_texts(s->class_texts, s->info.n_classes);
    free(s->offsets);
    free(s->inputs);
    free(s->input_columns.names);
    free(s->input_columns.offsets);
    free(s->input_columns.categories);
    free(s->classes);
    free(s->drawn);
    free(s);
}

/* ---------------------------------------------------------------- making */

static bool list_inputs(sv_snapshot *s) {
    const size_t n = (size_t)s->info.n_columns + 1;
    sv_columns *const in = &s->input_columns;
    s->inputs = calloc(n, sizeof *s->inputs);
    in->names = calloc(n, sizeof *in->names);
    in->offsets = calloc(n, sizeof *in->offsets);
    in->categories = calloc(n, sizeof *in->categories);
    in->missing = efface_predictor_takes_missing(s->predictor) != 0;
    if (s->inputs == NULL || in->names == NULL || in->offsets == NULL || in->categories == NULL)
        return false;
    for (uint32_t j = 0; j < s->info.n_columns; j++)
        if (efface_predictor_is_input(s->predictor, j)) {
            in->names[in->n] = s->names[j];
            in->offsets[in->n] = s->offsets[j];
            in->categories[in->n] = efface_predictor_is_category(s->predictor, j) != 0;
            s->inputs[in->n++] = j;
        }
    return true;
}

static efface_status read_classes(efface_store *store, sv_snapshot *s, efface_error *error) {
    const size_t n = s->info.n_classes;
    s->classes = calloc(n + 1, sizeof *s->classes);
    s->class_texts = calloc(n + 1, sizeof *s->class_texts);
    if (s->classes == NULL || s->class_texts == NULL)
        return sv_no_memory(error);
    efface_predictor_classes(s->predictor, s->classes, n);
    efface_status status = EFFACE_OK;
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        char *text = NULL;
        status = efface_store_text(store, EFFACE_TEXT_LABEL, (uint64_t)s->classes[i], &text, error);
        if (status == EFFACE_OK && text != NULL) {
            s->class_texts[i] = strdup(text);
            efface_text_free(text);
            if (s->class_texts[i] == NULL)
                status = sv_no_memory(error);
        }
    }
    return status;
}

static efface_status read_model(efface_store *store, const char *name, sv_snapshot *s,
                                efface_error *error) {
    uint32_t *columns = NULL;
    efface_stored_model stored;
    efface_status status = efface_store_find_model(store, name, &stored, error);
    if (status == EFFACE_OK)
        status = efface_store_model(store, name, &s->model, error);
    if (status == EFFACE_OK)
        status = efface_store_model_columns(store, name, &columns, error);
    if (status == EFFACE_OK) {
        memcpy(s->name, stored.name, sizeof s->name);
        s->family = stored.family;
        memcpy(s->commitment, stored.commitment, sizeof s->commitment);
        s->info = efface_model_get_info(s->model);
        s->predictor = efface_model_predictor(s->model);
        if (!sv_copy_columns(store, columns, s->info.n_columns, &s->names, &s->offsets) ||
            !list_inputs(s))
            status = sv_no_memory(error);
    }
    efface_columns_free(columns);
    return status == EFFACE_OK ? read_classes(store, s, error) : status;
}

/* Each call of the store is a transaction of its own, and somebody may change the store between
 * two: then everything is read again. Where changes never pause, the last reading is taken: the
 * model is whole, and all that may be amiss is the text of a class that has just gone, and
 * the commitment, which may be that of the state before. */
static efface_status make_snapshot(sv_room *room, const char *name, sv_snapshot **out,
                                   efface_error *error) {
    const double begin = sv_now();
    efface_status status = EFFACE_OK;
    *out = NULL;
    for (int turn = 0; status == EFFACE_OK && *out == NULL; turn++) {
        efface_store *store = NULL;
        uint64_t before = 0, after = 0;
        const double begun = sv_now();
        sv_snapshot *const s = calloc(1, sizeof *s);
        status = s != NULL ? sv_room_count(room, &before, error) : sv_no_memory(error);
        if (status == EFFACE_OK)
            status = sv_room_open(room, &store, NULL, error);
        if (status == EFFACE_OK)
            status = read_model(store, name, s, error);
        efface_store_close(store);
        if (status == EFFACE_OK)
            status = sv_room_count(room, &after, error);
        if (status == EFFACE_OK && (before == after || turn == MAX_TURNS)) {
            s->changes = before;
            s->begun = begun;
            *out = s;
        } else {
            free_snapshot(s);
        }
    }
    if (status == EFFACE_OK)
        sv_metrics_snapshot(room->service->metrics, room->number, sv_now() - begin);
    return status;
}

/* ---------------------------------------------------------------- handing out */

/* With the lock. */
static void drop_snapshot(sv_snapshot *s) {
    if (--s->n_users == 0)
        free_snapshot(s);
}

static sv_snapshot **find_snapshot(sv_room *room, const char *name) {
    sv_snapshot **s = &room->snapshots;
    while (*s != NULL && strcmp((*s)->name, name) != 0)
        s = &(*s)->next;
    return s;
}

/* A snapshot that nothing has changed since; or that was begun after `entered`, for whoever asked
 * then has seen no later change acknowledged. */
static sv_snapshot *find_ready(sv_room *room, const char *name, uint64_t changes, double entered) {
    pthread_mutex_lock(&room->lock);
    sv_snapshot *s = *find_snapshot(room, name);
    if (s != NULL && (s->changes == changes || s->begun >= entered))
        s->n_users++;
    else
        s = NULL;
    pthread_mutex_unlock(&room->lock);
    return s;
}

/* Puts a snapshot in the place of an older one of the same name; NULL: the model is gone. */
static void put_snapshot(sv_room *room, const char *name, sv_snapshot *s) {
    pthread_mutex_lock(&room->lock);
    sv_snapshot **const place = find_snapshot(room, name);
    sv_snapshot *const old = *place;
    if (old != NULL)
        *place = old->next;
    if (s != NULL) {
        s->n_users = 2; /* the room and the caller */
        s->next = room->snapshots;
        room->snapshots = s;
    }
    if (old != NULL)
        drop_snapshot(old);
    pthread_mutex_unlock(&room->lock);
}

efface_status sv_snapshot_take(sv_room *room, const char *name, bool only_ready, sv_snapshot **out,
                               efface_error *error) {
    const double entered = sv_now();
    uint64_t changes = 0;
    efface_status status = sv_room_count(room, &changes, error);
    if (status != EFFACE_OK)
        return status;
    *out = find_ready(room, name, changes, entered);
    if (*out != NULL || only_ready)
        return EFFACE_OK;
    pthread_mutex_lock(&room->making);
    *out = find_ready(room, name, changes, entered);
    if (*out == NULL) {
        status = make_snapshot(room, name, out, error);
        if (status == EFFACE_OK || status == EFFACE_E_NOT_FOUND)
            put_snapshot(room, name, *out);
    }
    pthread_mutex_unlock(&room->making);
    return status;
}

void sv_snapshot_drop(sv_room *room, sv_snapshot *snapshot) {
    if (snapshot == NULL)
        return;
    pthread_mutex_lock(&room->lock);
    drop_snapshot(snapshot);
    pthread_mutex_unlock(&room->lock);
}

void sv_snapshot_keep_drawn(sv_room *room, sv_snapshot *snapshot, char *text) {
    pthread_mutex_lock(&room->lock);
    if (snapshot->drawn == NULL) {
        snapshot->drawn = text;
        text = NULL;
    }
    pthread_mutex_unlock(&room->lock);
    free(text);
}

const char *sv_snapshot_drawn(sv_room *room, const sv_snapshot *snapshot) {
    pthread_mutex_lock(&room->lock);
    const char *const drawn = snapshot->drawn;
    pthread_mutex_unlock(&room->lock);
    return drawn;
}

void sv_snapshots_drop_old(sv_room *room, uint64_t changes) {
    const double young = sv_now() - YOUNG_SECONDS;
    pthread_mutex_lock(&room->lock);
    for (sv_snapshot **s = &room->snapshots; *s != NULL;) {
        sv_snapshot *const old = *s;
        if (old->changes == changes || old->begun > young) {
            s = &old->next;
        } else {
            *s = old->next;
            drop_snapshot(old);
        }
    }
    pthread_mutex_unlock(&room->lock);
}

void sv_snapshots_clear(sv_room *room) {
    while (room->snapshots != NULL) {
        sv_snapshot *const s = room->snapshots;
        room->snapshots = s->next;
        drop_snapshot(s);
    }
}
