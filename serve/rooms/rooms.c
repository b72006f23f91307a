/* The stores that are served, by name. */
#include "rooms/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_SECONDS 10.0

struct sv_rooms {
    size_t n_rooms;
    sv_room rooms[];
};

/* Names a room as its file is named, without folder and ".store". */
static bool name_room(sv_room *room) {
    const char *const slash = strrchr(room->path, '/');
    const char *const file = slash != NULL ? slash + 1 : room->path;
    const char *const end = strstr(file, ".store");
    const size_t n =
        end != NULL && strcmp(end, ".store") == 0 ? (size_t)(end - file) : strlen(file);
    const bool is_folder = strncmp(file, "..", n) == 0 && n <= 2; /* in an address */
    if (n == 0 || n >= sizeof room->name || is_folder)
        return false;
    memcpy(room->name, file, n);
    return true;
}

static bool open_room(const sv_rooms *rooms, sv_room *room, const char *path, sv_why *why) {
    efface_error error;
    efface_store *store = NULL;
    room->path = strdup(path);
    if (room->path == NULL || !name_room(room))
        return sv_fail(why, "%s: a store cannot be served under that name", path);
    if (sv_rooms_find(rooms, room->name) != NULL)
        return sv_fail(why, "%s: another store is named %s too; rename a file", path, room->name);
    efface_store_info info;
    const efface_status status = sv_room_open(room, &store, &info, &error);
    efface_store_close(store);
    if (status != EFFACE_OK) {
        const bool named = strstr(error.message, path) != NULL;
        return sv_fail(why, "%s%s%s", named ? "" : path, named ? "" : ": ", error.message);
    }
    if (info.receipt_key_outside != 0 && room->service->receipt_key == NULL)
        return sv_fail(
            why, "%s: the key of its receipts is kept outside; give it with --receipt-key", path);
    const sv_facts *facts = NULL;
    if (sv_facts_take(room, &facts, &error) == EFFACE_OK) /* so that no request waits for them */
        sv_facts_drop(room, facts);
    if (sv_writer_start(room, &room->writer))
        return true;
    return sv_fail(why, "no thread can be started: out of memory");
}

bool sv_rooms_open(sv_service *service, sv_rooms **out, sv_why *why) {
    const sv_options *const options = service->options;
    sv_rooms *const rooms = calloc(1, sizeof *rooms + options->n_stores * sizeof rooms->rooms[0]);
    bool ok = rooms != NULL;
    if (!ok)
        (void)sv_fail_memory(why);
    for (size_t i = 0; ok && i < options->n_stores; i++) {
        rooms->rooms[i].service = service;
        rooms->rooms[i].number = i;
        pthread_mutex_init(&rooms->rooms[i].lock, NULL);
        pthread_mutex_init(&rooms->rooms[i].making, NULL);
        ok = open_room(rooms, &rooms->rooms[i], options->stores[i], why);
        rooms->n_rooms++;
    }
    if (ok)
        *out = rooms;
    else
        sv_rooms_close(rooms);
    return ok;
}

void sv_rooms_close(sv_rooms *rooms) {
    for (size_t i = 0; rooms != NULL && i < rooms->n_rooms; i++) {
        sv_room *const room = &rooms->rooms[i];
        sv_writer_stop(room->writer);
        sv_snapshots_clear(room);
        sv_facts_clear(room);
        pthread_mutex_destroy(&room->lock);
        pthread_mutex_destroy(&room->making);
        free(room->path);
    }
    free(rooms);
}

size_t sv_rooms_count(const sv_rooms *rooms) {
    return rooms->n_rooms;
}

sv_room *sv_rooms_at(const sv_rooms *rooms, size_t number) {
    return (sv_room *)(uintptr_t)&rooms->rooms[number];
}

sv_room *sv_rooms_find(const sv_rooms *rooms, const char *name) {
    for (size_t i = 0; i < rooms->n_rooms; i++)
        if (strcmp(rooms->rooms[i].name, name) == 0)
            return sv_rooms_at(rooms, i);
    return NULL;
}

efface_status sv_no_memory(efface_error *error) {
    *error = (efface_error){.status = EFFACE_E_MEMORY, .message = "out of memory"};
    return EFFACE_E_MEMORY;
}

const char *sv_room_name(const sv_room *room) {
    return room->name;
}

efface_status sv_room_open_followed(const sv_room *room,
                                    int (*progress)(void *, efface_phase, double), void *context,
                                    efface_store **store, efface_error *error) {
    efface_store_options options;
    efface_store_options_init(&options);
    options.wait_seconds = WAIT_SECONDS;
    options.progress = progress;
    options.progress_context = context;
    const efface_status status = efface_store_open(room->path, &options, store, error);
    if (status != EFFACE_E_FORMAT)
        return status;
    error->status = EFFACE_E_CORRUPT; /* it was a store when the service started */
    return EFFACE_E_CORRUPT;
}

efface_status sv_room_open(const sv_room *room, efface_store **store, efface_store_info *info,
                           efface_error *error) {
    const efface_status status = sv_room_open_followed(room, NULL, NULL, store, error);
    return status == EFFACE_OK && info != NULL ? efface_store_get_info(*store, info, error)
                                               : status;
}

/* ---------------------------------------------------------------- reading all rows */

bool sv_room_try_reading(sv_room *room) {
    pthread_mutex_lock(&room->lock);
    const bool may = !room->is_read && sv_now() >= room->rests;
    if (may) {
        room->is_read = true;
        room->reads = sv_now();
    }
    pthread_mutex_unlock(&room->lock);
    return may;
}

bool sv_room_begin_reading(sv_room *room, int (*follow)(void *context, double part),
                           void *context) {
    const struct timespec moment = {.tv_nsec = 5000000};
    while (!sv_room_try_reading(room)) {
        if (follow(context, -1.0) != 0)
            return false;
        (void)nanosleep(&moment, NULL);
    }
    return true;
}

void sv_room_end_reading(sv_room *room) {
    pthread_mutex_lock(&room->lock);
    const double now = sv_now();
    room->is_read = false;
    room->rests = now + SV_REST * (now - room->reads);
    pthread_mutex_unlock(&room->lock);
}
