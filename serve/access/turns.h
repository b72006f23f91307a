/*
 * Turns: what waits to be done, in a line for each token. Lines take turns, so that a token which
 * has sent a thousand requests delays another one's by one of them. Within a line what came first
 * is first.
 *
 * Whatever waits has a sv_turn as a member, and belongs to its owner.
 */
#ifndef SV_TURNS_H
#define SV_TURNS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sv_turn {
    const char *who;           /* the name of the token; the service has one of its own, "" */
    struct sv_turn *next;      /* these are for turns.c: in the line, */
    struct sv_turn *next_line; /* the first of the next line, */
    struct sv_turn *last;      /* and, of the first of a line, the last of it */
} sv_turn;

/* Empty if it is zero. Hold a lock. */
typedef struct sv_turns {
    sv_turn *first, *last; /* the first of each line; whose turn is next, and whose is last */
    bool overtake;         /* in a line, one that may not go is overtaken by those after it */
} sv_turns;

void sv_turns_add(sv_turns *turns, sv_turn *turn);

/* The same for one that was taken before, and goes on: it is the first of its line. */
void sv_turns_add_again(sv_turns *turns, sv_turn *turn);

/* Takes the first of the next line that `may` go, if that is not NULL; NULL if there is none. Its
 * line is last afterwards. The first for which `may` is true is taken. */
sv_turn *sv_turns_take(sv_turns *turns, bool (*may)(const void *context, const sv_turn *turn),
                       const void *context);

#endif
