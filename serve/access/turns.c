/* Turns (turns.h). */
#include "access/turns.h"

#include <string.h>

static void add_line(sv_turns *turns, sv_turn *first) {
    first->next_line = NULL;
    if (turns->last != NULL)
        turns->last->next_line = first;
    else
        turns->first = first;
    turns->last = first;
}

void sv_turns_add(sv_turns *turns, sv_turn *turn) {
    sv_turn *line = turns->first;
    turn->next = NULL;
    turn->last = turn;
    while (line != NULL && strcmp(line->who, turn->who) != 0)
        line = line->next_line;
    if (line == NULL) {
        add_line(turns, turn);
        return;
    }
    line->last->next = turn;
    line->last = turn;
}

sv_turn *sv_turns_take(sv_turns *turns, bool (*may)(const void *context, const sv_turn *turn),
                       const void *context) {
    sv_turn *before = NULL, *taken = turns->first;
    while (taken != NULL && may != NULL && !may(context, taken)) {
        before = taken;
        taken = taken->next_line;
    }
    if (taken == NULL)
        return NULL;
    *(before != NULL ? &before->next_line : &turns->first) = taken->next_line;
    if (turns->last == taken)
        turns->last = before;
    if (taken->next != NULL) {
        taken->next->last = taken->last;
        add_line(turns, taken->next);
    }
    return taken;
}
