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

/* Opens all stores; false, with a message, if one cannot be opened. A room is named as its file is,
 * without folder and ".store". */
bool sv_rooms_open(sv_service *service, sv_rooms **out, sv_why *why);
/* To be called after the server was stopped: finishes what writers have, and closes the stores. */
void sv_rooms_close(sv_rooms *rooms);

size_t sv_rooms_count(const sv_rooms *rooms);
sv_room *sv_rooms_at(const sv_rooms *rooms, size_t number);
/* The room of that name, or NULL. */
sv_room *sv_rooms_find(const sv_rooms *rooms, const char *name);

const char *sv_room_name(const sv_room *room);

/* Opens the store to read, and looks at its info if that is not NULL. Close it with
 * efface_store_close, after an error too. */
efface_status sv_room_open(const sv_room *room, efface_store **store, efface_store_info *info,
                           efface_error *error);

/* The same, for long work: `progress` is that of efface_store_options. */
efface_status sv_room_open_followed(const sv_room *room,
                                    int (*progress)(void *, efface_phase, double), void *context,
                                    efface_store **store, efface_error *error);

/* What reads all rows of a store, or many, keeps changes waiting. It is done between beginning and
 * ending, one at a time, and has a quarter of the time: after it, the store rests. `try` is false if
 * the store is read or rests. `begin` waits for that; `follow` is called meanwhile, and ends the
 * waiting if it returns non-zero: then it is false. */
#define SV_REST 3.0 /* times as long as what was done */
bool sv_room_try_reading(sv_room *room);
bool sv_room_begin_reading(sv_room *room, int (*follow)(void *context, double part), void *context);
void sv_room_end_reading(sv_room *room);

/* Columns that values are for. */
typedef struct sv_columns {
    uint32_t n;
    char **names; /* each may be NULL */
    double *offsets;
    bool *categories; /* which columns have categories, whose values may be texts */
    bool missing;     /* whether values may be missing: null, or fields that are empty */
} sv_columns;

/* Says that there is no memory, and returns EFFACE_E_MEMORY. */
efface_status sv_no_memory(efface_error *error);

/* ------------------------------------------------------------------ facts (room_facts.c) */

/* What is fixed when a store is made, what its ids, owners and labels are, and what its models take
 * beside numbers. */
typedef struct sv_facts {
    unsigned char hash_key[EFFACE_HASH_KEY_BYTES];
    efface_ids ids, owners, labels;
    sv_columns columns;
    uint64_t changes;
    double begun; /* these are for room_facts.c */
    int n_users;
} sv_facts;

/* Hands out the facts. Let them go afterwards. */
efface_status sv_facts_take(sv_room *room, const sv_facts **out, efface_error *error);
void sv_facts_drop(sv_room *room, const sv_facts *facts);

/* The number of an owner that is given as a text: that itself, if the store's owners are numbers.
 * Else the text goes to `texts`, so that the store can tell it from another with the same number.
 * Errors: NOT_FOUND if the text cannot be an owner of this store; those of sv_facts_take. */
efface_status sv_room_owner(sv_room *room, const char *text, uint64_t *owner, efface_texts *texts,
                            efface_error *error);

/* A number that is another one whenever the store has changed, or another file has its name
 * (efface_store_count_changes). A handle for this alone stays open. */
efface_status sv_room_count(sv_room *room, uint64_t *changes, efface_error *error);

/* ------------------------------------------------------------------ changes (writer.c) */

/* A request that changes the store, or that looks at what a change would take. */
typedef struct sv_change {
    efface_store_change asked; /* kind, request, data and texts are the caller's; the rest is
                                   filled, and the report is the caller's to release */
    bool only_look;            /* a preview of forgetting */
    void (*done)(struct sv_change *change);
    void *context;
    const char *who; /* the name of the token that it came with; NULL: of the service itself */
    sv_turn turn;    /* these are for writer.c */
    double added;
} sv_change;

/* Adds a change to those that the writer does; tokens take turns (access/turns.h). `done` is called once, on the writer's thread,
 * when the change is durable or has failed. */
void sv_writer_add(sv_room *room, sv_change *change);

/* ------------------------------------------------------------------ snapshots (snapshots.c) */

/* A model as it was after the last change that anybody committed; many threads may ask it. */
typedef struct sv_snapshot {
    efface_model *model;
    const efface_predictor *predictor; /* which the model lends */
    uint64_t changes;                  /* sv_room_count before it was read */
    double begun;                      /* sv_now before that */
    char name[EFFACE_MODEL_NAME_BYTES];
    efface_family family;
    efface_model_info info;
    char **names;     /* of the model's columns; each may be NULL */
    double *offsets;  /* of the same */
    uint32_t *inputs; /* the columns that prediction looks at, and what they are */
    sv_columns input_columns;
    unsigned char commitment[EFFACE_DIGEST_BYTES]; /* to the state of the model */
    int64_t *classes;                              /* info.n_classes of them */
    char **class_texts;                            /* of these; each may be NULL */
    char *drawn;                                   /* these are for snapshots.c */
    int n_users;
    struct sv_snapshot *next;
} sv_snapshot;

/* The snapshot of a model. If the store has changed since it was made it is made anew; unless
 * `only_ready` is set, for a caller that must not wait: *out is NULL then. Let it go afterwards. */
efface_status sv_snapshot_take(sv_room *room, const char *name, bool only_ready, sv_snapshot **out,
                               efface_error *error);
void sv_snapshot_drop(sv_room *room, sv_snapshot *snapshot);

/* A text that takes long to make, and that is right as long as the snapshot is: what was drawn of
 * the model. It stays as long as the snapshot is held; the first one is kept, later ones are
 * released. */
void sv_snapshot_keep_drawn(sv_room *room, sv_snapshot *snapshot, char *text);
const char *sv_snapshot_drawn(sv_room *room, const sv_snapshot *snapshot);

#endif
