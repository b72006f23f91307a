/* The classes that the rows of a forest have: found by their labels, ranked in order of these. */
#include "model/forest/forest.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <string.h>

void ef_classes_free(ef_forest_classes *c) {
    ef_free(c->labels);
    ef_free(c->n_rows);
    ef_free(c->ranks);
    ef_free(c->ids);
    *c = (ef_forest_classes){0};
}

/* All that have rows, in the order of labels, come first in `ids`. */
static uint32_t place_of(const ef_forest_classes *c, int64_t label) {
    uint32_t low = 0, high = c->n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (c->labels[c->ids[middle]] < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t ef_classes_find(const ef_forest_classes *c, int64_t label) {
    const uint32_t place = place_of(c, label);
    return place < c->n && c->labels[c->ids[place]] == label ? c->ids[place] : EF_NO_SLOT;
}

bool ef_classes_make(ef_forest_classes *c, uint32_t n) {
    *c = (ef_forest_classes){
        .n_ids = n,
        .labels = ef_alloc_zero(n, sizeof *c->labels),
        .n_rows = ef_alloc_zero(n, sizeof *c->n_rows),
        .ranks = ef_alloc_zero(n, sizeof *c->ranks),
        .ids = ef_alloc_zero(n, sizeof *c->ids),
    };
    for (uint32_t i = 0; c->ranks != NULL && c->ids != NULL && i < n; i++)
        c->ranks[i] = c->ids[i] = i;
    if (c->labels != NULL && c->n_rows != NULL && c->ranks != NULL && c->ids != NULL)
        return true;
    ef_classes_free(c);
    return false;
}

/* The same classes, with room for more numbers. */
static bool copy_classes(const ef_forest_classes *from, uint32_t n_ids, ef_forest_classes *to) {
    if (!ef_classes_make(to, n_ids))
        return false;
    to->n = from->n;
    if (from->n_ids != 0) {
        memcpy(to->labels, from->labels, from->n_ids * sizeof *to->labels);
        memcpy(to->n_rows, from->n_rows, from->n_ids * sizeof *to->n_rows);
        memcpy(to->ranks, from->ranks, from->n_ids * sizeof *to->ranks);
        memcpy(to->ids, from->ids, from->n_ids * sizeof *to->ids);
    }
    return true;
}

bool ef_classes_copy(const ef_forest_classes *from, ef_forest_classes *to) {
    return copy_classes(from, from->n_ids, to);
}

/* Puts the number that has a rank before the class in another place. */
static void move_rank(ef_forest_classes *c, uint32_t from, uint32_t to) {
    const uint32_t id = c->ids[from];
    if (from > to)
        memmove(c->ids + to + 1, c->ids + to, (from - to) * sizeof *c->ids);
    else
        memmove(c->ids + from, c->ids + from + 1, (to - from) * sizeof *c->ids);
    c->ids[to] = id;
    for (uint32_t i = from < to ? from : to; i <= (from < to ? to : from); i++)
        c->ranks[c->ids[i]] = i;
}

bool ef_classes_add(ef_forest_classes *c, int64_t label, uint32_t *id, bool *grown) {
    if (c->n == c->n_ids) {
        ef_forest_classes larger;
        if (c->n_ids >= UINT32_MAX / 4 || !copy_classes(c, c->n_ids + c->n_ids / 2 + 2, &larger))
            return false;
        ef_classes_free(c);
        *c = larger;
        *grown = true;
    }
    const uint32_t place = place_of(c, label);
    *id = c->ids[c->n];
    c->labels[*id] = label;
    c->n_rows[*id] = 0;
    move_rank(c, c->n, place);
    c->n++;
    return true;
}

void ef_classes_rank(ef_forest_classes *c) {
    for (uint32_t rank = 0; rank < c->n;) {
        const uint32_t id = c->ids[rank];
        if (c->n_rows[id] != 0) {
            rank++;
            continue;
        }
        c->labels[id] = 0; /* nothing of a class that is gone stays behind */
        move_rank(c, rank, c->n - 1);
        c->n--;
    }
}
