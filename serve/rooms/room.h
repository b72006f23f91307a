/* A room from inside. */
#ifndef SV_ROOM_H
#define SV_ROOM_H

#include "rooms/rooms.h"

#include <pthread.h>

typedef struct sv_writer sv_writer;

struct sv_room {
    sv_service *service;
    size_t number; /* in the order of the command line */
    char *path;
    char name[128];
    sv_writer *writer;

    pthread_mutex_t lock;  /* of what follows; held for moments */
    efface_store *counter; /* to ask whether the store has changed; NULL: not open now */
    uint64_t n_opened;     /* how often it was opened */
    sv_facts *facts;       /* NULL: not read yet */
    sv_snapshot *snapshots;

    bool is_read;        /* all its rows are being read, since then */
    double reads, rests; /* and until when nobody may begin to */

    pthread_mutex_t making; /* held while a snapshot is made, so that each is made once */
};

bool sv_writer_start(sv_room *room, sv_writer **out);
/* Does what was added, and ends. */
void sv_writer_stop(sv_writer *writer);

/* Release everything; nobody uses it any more. */
void sv_facts_clear(sv_room *room);
void sv_snapshots_clear(sv_room *room);

/* Lets go snapshots of other states of the store than this one (sv_room_count), for a centroid may
 * be the row of a person who was forgotten. Those of the last second stay: requests that came
 * before they were made may still take them. */
void sv_snapshots_drop_old(sv_room *room, uint64_t changes);

/* Copies the names and offsets of columns of a store, all or those listed; false if memory is
 * short. Release with sv_free_texts and free. */
bool sv_copy_columns(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                     char ***names, double **offsets);
void sv_free_texts(char **texts, size_t n);

#endif
