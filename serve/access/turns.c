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

/* The first of a line that may go; `before` gets the one before it, NULL if it is the first. */
static sv_turn *find_in_line(sv_turn *line, bool overtake,
                             bool (*may)(const void *context, const sv_turn *turn),
                             const void *context, sv_turn **before) {
    sv_turn *turn = line;
    *before = NULL;
    while (turn != NULL && may != NULL && !may(context, turn)) {
        *before = turn;
        turn = overtake ? turn->next : NULL;
    }
    return turn;
}

sv_turn *sv_turns_take(sv_turns *turns, bool (*may)(const void *context, const sv_turn *turn),
                       const void *context) {
    sv_turn *line_before = NULL, *line = turns->first, *before = NULL, *taken = NULL;
    while (line != NULL &&
           (taken = find_in_line(line, turns->overtake, may, context, &before)) == NULL) {
        line_before = line;
        line = line->next_line;
    }
    if (taken == NULL)
        return NULL;
    *(line_before != NULL ? &line_before->next_line : &turns->first) = line->next_line;
    if (turns->last == line)
        turns->last = line_before;
    sv_turn *const last = line->last != taken ? line->last : before;
    sv_turn *const rest = before != NULL ? line : taken->next;
    if (before != NULL)
        before->next = taken->next;
    if (rest != NULL) {
        rest->last = last;
        add_line(turns, rest);
    }
    return taken;
}
