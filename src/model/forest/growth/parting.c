/* Parting the rows of a node by its split. */
#include "model/forest/growth/parting.h"

#include <string.h>

/* What is parted: slots, and targets if there are any. */
typedef struct parted {
    uint32_t *all, *right;
    int32_t *targets, *right_targets;
    size_t n_left, n_right;
} parted;

/* Parts rows without a branch that cannot be foretold: the usual case. */
#define PART_ROWS(type)                                                                            \
    static void part_##type(const type *codes, int32_t cut, size_t first, size_t end, parted *p) { \
        uint32_t *const all = p->all, *const right = p->right;                                     \
        int32_t *const targets = p->targets, *const right_targets = p->right_targets;              \
        size_t l = p->n_left, r = p->n_right;                                                      \
        for (size_t i = first; i < end; i++) {                                                     \
            const uint32_t slot = all[i];                                                          \
            const bool goes_left = codes[slot] <= cut;                                             \
            all[l] = slot;                                                                         \
            right[r] = slot;                                                                       \
            if (targets != NULL) {                                                                 \
                const int32_t target = targets[i];                                                 \
                targets[l] = target;                                                               \
                right_targets[r] = target;                                                         \
            }                                                                                      \
            l += goes_left;                                                                        \
            r += !goes_left;                                                                       \
        }                                                                                          \
        p->n_left = l;                                                                             \
        p->n_right = r;                                                                            \
    }

PART_ROWS(uint8_t)
PART_ROWS(int16_t)
PART_ROWS(int32_t)

/* Whether codes tell the side of a row, and rows have no weights. */
static bool parts_plainly(const ef_forest_slots *rows, const ef_dnode *split, const ef_bunch *b) {
    return b->weights == NULL && split->kind == EF_THRESHOLD &&
           (rows->formats[split->input].width != 4 || split->missing_left || !rows->may_miss);
}

size_t ef_part(const ef_forest_slots *rows, const ef_dnode *split, ef_bunch *b, ef_segment *left,
               uint32_t *slots, int64_t *weights, int32_t *targets) {
    parted p = {.all = b->slots, .right = slots, .targets = b->targets, .right_targets = targets};
    size_t i = 0;
    const ef_input_format *const format = &rows->formats[split->input];
    const void *const codes = ef_input_column(rows, split->input);
    const bool plain = parts_plainly(rows, split, b);
    const int32_t cut = split->kind == EF_THRESHOLD ? ef_cut_code(format, split->cut) : 0;
    for (uint32_t s = 0; s < b->n_segments; s++) {
        const size_t end = i + b->segments[s].n_rows, before = p.n_left;
        int64_t weight = 0;
        if (plain) {
            if (format->width == 1)
                part_uint8_t(codes, cut, i, end, &p);
            else if (format->width == 2)
                part_int16_t(codes, cut, i, end, &p);
            else
                part_int32_t(codes, cut, i, end, &p);
            weight = (int64_t)(p.n_left - before);
            i = end;
        }
        for (; i < end; i++) {
            const uint32_t slot = b->slots[i];
            const int64_t of_row = b->weights != NULL ? b->weights[i] : 1;
            const int32_t target = b->targets != NULL ? b->targets[i] : 0;
            const bool goes_left = ef_dnode_left(split, ef_slot_key(rows, slot, split->input));
            const size_t to = goes_left ? p.n_left++ : p.n_right++;
            weight += goes_left ? of_row : 0;
            (goes_left ? b->slots : slots)[to] = slot;
            if (b->weights != NULL)
                (goes_left ? b->weights : weights)[to] = of_row;
            if (b->targets != NULL)
                (goes_left ? b->targets : targets)[to] = target;
        }
        left[s] = (ef_segment){b->segments[s].class_id, (uint32_t)(p.n_left - before), weight};
    }
    if (p.n_right != 0) {
        memcpy(b->slots + p.n_left, slots, p.n_right * sizeof *slots);
        if (b->weights != NULL)
            memcpy(b->weights + p.n_left, weights, p.n_right * sizeof *weights);
        if (b->targets != NULL)
            memcpy(b->targets + p.n_left, targets, p.n_right * sizeof *targets);
    }
    return p.n_left;
}

/* ---------------------------------------------------------------- one side */

/* Moves the rows of one side to the front, without a branch either. */
#define STAY_ROWS(type)                                                                            \
    static size_t stay_##type(const type *codes, int32_t cut, bool left, size_t first, size_t end, \
                              ef_bunch *b, size_t n) {                                             \
        uint32_t *const slots = b->slots;                                                          \
        int32_t *const targets = b->targets;                                                       \
        for (size_t i = first; i < end; i++) {                                                     \
            const uint32_t slot = slots[i];                                                        \
            slots[n] = slot;                                                                       \
            if (targets != NULL)                                                                   \
                targets[n] = targets[i];                                                           \
            n += (codes[slot] <= cut) == left;                                                     \
        }                                                                                          \
        return n;                                                                                  \
    }

STAY_ROWS(uint8_t)
STAY_ROWS(int16_t)
STAY_ROWS(int32_t)

size_t ef_part_off(const ef_forest_slots *rows, const ef_dnode *split, bool left, ef_bunch *b,
                   ef_segment *staying) {
    const ef_input_format *const format = &rows->formats[split->input];
    const void *const codes = ef_input_column(rows, split->input);
    const bool plain = parts_plainly(rows, split, b);
    const int32_t cut = split->kind == EF_THRESHOLD ? ef_cut_code(format, split->cut) : 0;
    size_t i = 0, n = 0;
    for (uint32_t s = 0; s < b->n_segments; s++) {
        const size_t end = i + b->segments[s].n_rows, before = n;
        int64_t weight = 0;
        if (plain) {
            n = format->width == 1   ? stay_uint8_t(codes, cut, left, i, end, b, n)
                : format->width == 2 ? stay_int16_t(codes, cut, left, i, end, b, n)
                                     : stay_int32_t(codes, cut, left, i, end, b, n);
            weight = (int64_t)(n - before);
            i = end;
        }
        for (; i < end; i++) {
            const uint32_t slot = b->slots[i];
            if (ef_dnode_left(split, ef_slot_key(rows, slot, split->input)) != left)
                continue;
            const int64_t of_row = b->weights != NULL ? b->weights[i] : 1;
            weight += of_row;
            b->slots[n] = slot;
            if (b->weights != NULL)
                b->weights[n] = of_row;
            if (b->targets != NULL)
                b->targets[n] = b->targets[i];
            n++;
        }
        staying[s] = (ef_segment){b->segments[s].class_id, (uint32_t)(n - before), weight};
    }
    return n;
}
