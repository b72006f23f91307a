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

void sv_turns_add_again(sv_turns *turns, sv_turn *turn) {
    sv_turn *before = NULL, *line = turns->first;
    while (line != NULL && strcmp(line->who, turn->who) != 0) {
        before = line;
        line = line->next_line;
    }
    turn->next = line;
    turn->last = line != NULL ? line->last : turn;
    if (line == NULL) {
        add_line(turns, turn);
        return;
    }
    turn->next_line = line->next_line;
    *(before != NULL ? &before->next_line : &turns->first) = turn;
    if (turns->last == line)
        turns->last = turn;
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
