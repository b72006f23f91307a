/*
 * Rooms: each store that is served has one.
 *
 * A room has a writer, a thread with a handle of its own that does requests which arrive together
 * in one transaction (writer.c), and snapshots of models for predictions (snapshots.c). Everything
 * else opens the store, reads and closes it again: SQLite keeps pages for as long as a store is
 * open, of rows that were forgotten too.
 */
#ifndef SV_ROOMS_H
#define SV_ROOMS_H

#include "service.h"

typedef struct sv_room sv_room;

/* Opens all stores; false, with a message, if one cannot be opened. A room is named as its file is,
 * without folder and ".store". */
bool sv_rooms_open(sv_service *service, sv_rooms **out, char *message, size_t n_message);
void sv_rooms_close(sv_rooms *rooms); /* after the server was stopped */

size_t sv_rooms_count(const sv_rooms *rooms);
sv_room *sv_rooms_at(const sv_rooms *rooms, size_t number);
/* The room of that name, or NULL; and the room that a request names first, or NULL with a reply. */
sv_room *sv_rooms_find(const sv_rooms *rooms, const char *name);
sv_room *sv_room_of(sv_request *request);

const char *sv_room_name(const sv_room *room);
const char *sv_room_path(const sv_room *room);

/* Opens the store to read; close it with efface_store_close. */
efface_status sv_room_open(const sv_room *room, efface_store **store, efface_error *error);

/* ------------------------------------------------------------------ snapshots (snapshots.c) */

/* A model as it was after the last change that anybody committed; many threads may ask it. */
typedef struct sv_snapshot {
    efface_model *model;
    uint64_t changes; /* efface_store_count_changes of the store when it was read */
    char name[EFFACE_MODEL_NAME_BYTES];
    efface_family family;
    uint32_t n_columns;
    char **column_names; /* of the model's columns; each may be NULL */
    double *offsets;     /* of the same */
    unsigned char digest[EFFACE_DIGEST_BYTES];
    char **class_texts; /* of the classes of efface_model_classes; each may be NULL; or NULL */
    int n_users;        /* for snapshots.c */
} sv_snapshot;

/* The snapshot of a model, made anew if the store has changed since. Let it go afterwards. */
efface_status sv_snapshot_take(sv_room *room, const char *name, sv_snapshot **out,
                               efface_error *error);
void sv_snapshot_drop(sv_room *room, sv_snapshot *snapshot);

#endif
