/* Rows of a change: into slots and out of them, and what is counted of the sizes of values. */
#include "model/forest/following/forest_revision.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <assert.h>
#include <string.h>

/* ---------------------------------------------------------------- sizes of values */

/* Counts the values of the change, or undoes that. */
void ef_forest_count_sizes(const ef_forest_revision *r, const ef_change *change, bool undo) {
    ef_forest *const f = r->forest;
    for (size_t i = 0; i < change->n_rows; i++) {
        const float *const values = ef_change_first(change, i);
        const float target = ef_forest_of_classes(f) ? 0.0F : values[(size_t)f->target * EF_PANEL];
        for (uint32_t j = 0; ef_forest_takes(f, change->rows[i].label, target) && j < f->n_inputs;
             j++)
            ef_sizes_count(&f->sizes[j], ef_key_of(values[(size_t)f->columns[j] * EF_PANEL]),
                           change->leaves[i] != undo);
    }
}

bool ef_forest_units_stay(const ef_forest *f) {
    for (uint32_t j = 0; j < f->n_inputs; j++)
        if (f->units[j] != ef_forest_unit(f, j))
            return false;
    return true;
}

/* ---------------------------------------------------------------- rows into slots */

/* The places of rows in the set as the change leaves them. */
static void move_positions(ef_forest_revision *r) {
    ef_forest_slots *const rows = &r->forest->rows;
    for (; r->n_moved < r->n_rows; r->n_moved++) {
        const size_t i = r->n_moved, p = r->positions[i];
        if (r->replaces) {
            if (r->leaves[i])
                r->slots[i] = rows->slot_of[p];
            else
                rows->slot_of[p] = r->slots[i];
        } else if (r->leaves[i]) {
            r->slots[i] = rows->slot_of[p];
            rows->slot_of[p] = rows->slot_of[--rows->n_positions];
        } else {
            rows->slot_of[rows->n_positions++] = r->slots[i];
        }
    }
}

void ef_forest_move_back(ef_forest_revision *r) {
    ef_forest_slots *const rows = &r->forest->rows;
    while (r->n_moved != 0) {
        const size_t i = --r->n_moved, p = r->positions[i];
        if (r->replaces) {
            if (r->leaves[i])
                rows->slot_of[p] = r->slots[i];
        } else if (r->leaves[i]) {
            if (p != rows->n_positions)
                rows->slot_of[rows->n_positions] = rows->slot_of[p];
            rows->n_positions++;
            rows->slot_of[p] = r->slots[i];
        } else {
            rows->n_positions--;
        }
    }
}

/* Gives a row that comes, and takes part, its class: one that is there, or a new one. */
static bool find_class(ef_forest_revision *r, int64_t label, uint32_t *class_id) {
    ef_forest *const f = r->forest;
    *class_id = ef_classes_find(&f->classes, label);
    if (*class_id != EF_NO_SLOT)
        return true;
    bool grown = false;
    if (!ef_classes_add(&f->classes, label, class_id, &grown))
        return false;
    for (uint32_t t = 0; grown && t < f->n_trees; t++)
        for (uint32_t i = 0; i < f->trees[t].n_used; i++)
            ef_dtree_drop_tally(&f->trees[t], i);
    return true;
}

/* Takes a row that comes into a slot. */
static bool take_in(ef_forest_revision *r, size_t i, const ef_change *change) {
    ef_forest *const f = r->forest;
    ef_forest_slots *const rows = &f->rows;
    const float *const values = ef_change_first(change, i);
    const efface_row *const row = &change->rows[i];
    const float target = ef_forest_of_classes(f) ? 0.0F : values[(size_t)f->target * EF_PANEL];
    uint32_t value = 0;
    if (!ef_forest_takes(f, row->label, target))
        return true;
    if (!ef_forest_of_classes(f))
        value = (uint32_t)ef_forest_target(f, target);
    else if (!find_class(r, row->label, &value))
        return false;
    const uint32_t slot = r->slots[i] = ef_forest_slots_take(rows);
    for (uint32_t j = 0; j < f->n_inputs; j++)
        ef_slot_set(rows, slot, j, values[(size_t)f->columns[j] * EF_PANEL]);
    rows->values[slot] = value;
    if (rows->weights != NULL)
        rows->weights[slot] = row->weight;
    if (rows->ids != NULL)
        rows->ids[slot] = row->id;
    if (ef_forest_of_classes(f))
        f->classes.n_rows[value]++;
    r->n_taking_part++;
    return true;
}

/* Weights are kept from the first row on that has another one than 1. */
static bool make_weights(ef_forest_slots *rows, const ef_change *change) {
    bool any = false;
    for (size_t i = 0; i < change->n_rows; i++)
        any |= !change->leaves[i] && change->rows[i].weight != 1;
    if (!any || rows->weights != NULL)
        return true;
    rows->weights = ef_alloc(rows->capacity, sizeof *rows->weights);
    for (size_t i = 0; rows->weights != NULL && i < rows->capacity; i++)
        rows->weights[i] = 1;
    return rows->weights != NULL;
}

/* Has values kept in wider formats where those that come do not fit. */
static bool widen(ef_forest *f, const ef_change *change) {
    ef_forest_slots *const rows = &f->rows;
    ef_input_format *formats = NULL;
    for (uint32_t j = 0; j < f->n_inputs; j++)
        for (size_t i = 0; i < change->n_rows; i++) {
            const float value = ef_change_first(change, i)[(size_t)f->columns[j] * EF_PANEL];
            if (change->leaves[i] ||
                ef_format_holds(formats != NULL ? &formats[j] : &rows->formats[j], value))
                continue;
            if (formats == NULL) {
                formats = ef_alloc(f->n_inputs, sizeof *formats);
                if (formats == NULL)
                    return false;
                memcpy(formats, rows->formats, f->n_inputs * sizeof *formats);
            }
            formats[j] = (ef_input_format){.width = 4};
        }
    const bool ok = formats == NULL || ef_forest_slots_set_formats(rows, formats);
    ef_free(formats);
    return ok;
}

/* Slots for the rows that come, marks for those that leave, and the classes as they will be. */
bool ef_forest_prepare_rows(ef_forest_revision *r, const ef_change *change) {
    ef_forest *const f = r->forest;
    ef_forest_slots *const rows = &f->rows;
    const size_t n = change->n_rows;
    size_t n_coming = 0;
    r->slots = ef_alloc(n, sizeof *r->slots);
    r->positions = ef_alloc(n, sizeof *r->positions);
    r->leaves = ef_alloc(n, sizeof *r->leaves);
    if (r->slots == NULL || r->positions == NULL || r->leaves == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        r->slots[i] = EF_NO_SLOT;
        r->leaves[i] = change->leaves[i];
        r->positions[i] = change->positions[i];
        n_coming += !change->leaves[i];
    }
    r->n_rows = n;
    r->replaces = change->replaces;
    if (!widen(f, change) || !ef_forest_slots_reserve(rows, n_coming) ||
        !make_weights(rows, change))
        return false;
    for (uint32_t t = 0; t < f->n_trees; t++)
        if (f->sections == NULL && !ef_dtree_chain(&f->trees[t], rows->capacity))
            return false;
    if (ef_forest_of_classes(f)) {
        ef_forest_classes copy;
        if (!ef_classes_copy(&f->classes, &copy))
            return false;
        r->classes_before = f->classes;
        r->has_classes = true;
        f->classes = copy;
    }
    for (size_t i = 0; i < n; i++)
        if (!r->leaves[i] && !take_in(r, i, change))
            return false;
    move_positions(r);
    for (size_t i = 0; i < n; i++)
        if (r->leaves[i] && r->slots[i] != EF_NO_SLOT) {
            rows->leaving[r->slots[i]] = true;
            r->n_taking_part--;
            if (ef_forest_of_classes(f))
                f->classes.n_rows[rows->values[r->slots[i]]]--;
        }
    ef_classes_rank(&f->classes);
    f->rules.n_classes = f->classes.n_ids;
    f->rules.ranks = f->classes.ranks;
    return true;
}
