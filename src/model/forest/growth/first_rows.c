/* Rows that all trees begin with. */
#include "model/forest/growth/first_rows.h"

#include "base/memory/memory.h"

#include <string.h>

/* To sort a column takes about as long as to go through it as often, to choose a split. */
#define TIMES_OF_SORTING 8

void ef_copy_rows(ef_bunch *to, const ef_bunch *from) {
    const ef_bunch lists = *to;
    *to = *from;
    to->slots = lists.slots;
    to->weights = lists.weights;
    to->targets = lists.targets;
    to->segments = lists.segments;
    memcpy(to->segments, from->segments, from->n_segments * sizeof *to->segments);
    if (from->n == 0)
        return;
    memcpy(to->slots, from->slots, from->n * sizeof *to->slots);
    if (from->weights != NULL)
        memcpy(to->weights, from->weights, from->n * sizeof *to->weights);
    if (from->targets != NULL)
        memcpy(to->targets, from->targets, from->n * sizeof *to->targets);
}

static bool copy_bunch(ef_bunch *to, const ef_bunch *from) {
    to->slots = ef_alloc(from->n, sizeof *to->slots);
    to->segments = ef_alloc(from->n_segments, sizeof *to->segments);
    if (from->weights != NULL)
        to->weights = ef_alloc(from->n, sizeof *to->weights);
    if (from->targets != NULL)
        to->targets = ef_alloc(from->n, sizeof *to->targets);
    if (to->slots == NULL || to->segments == NULL ||
        (from->weights != NULL && to->weights == NULL) ||
        (from->targets != NULL && to->targets == NULL))
        return false;
    ef_copy_rows(to, from);
    return true;
}

/* ---------------------------------------------------------------- sorting */

enum { DIGIT_BITS = 11, N_DIGITS = 1 << DIGIT_BITS };

/* Codes and, if there are any, targets beside them. */
typedef struct codes {
    int32_t *codes, *targets;
} codes;

static uint32_t digit_of(int32_t code, unsigned shift) {
    return ((uint32_t)code ^ 0x80000000U) >> shift & (N_DIGITS - 1);
}

/* Brings n codes into the order of one digit; equal ones stay in theirs. */
static void sort_by_digit(codes from, codes to, size_t n, unsigned shift) {
    uint32_t begins[N_DIGITS + 1] = {0};
    for (size_t i = 0; i < n; i++)
        begins[digit_of(from.codes[i], shift) + 1]++;
    for (uint32_t d = 0; d < N_DIGITS; d++)
        begins[d + 1] += begins[d];
    for (size_t i = 0; i < n; i++) {
        const uint32_t at = begins[digit_of(from.codes[i], shift)]++;
        to.codes[at] = from.codes[i];
        if (from.targets != NULL)
            to.targets[at] = from.targets[i];
    }
}

/* Sorts the codes of `from` into `to`: three digits have all bits. */
static void sort_codes(codes from, codes to, size_t n) {
    sort_by_digit(from, to, n, 0);
    sort_by_digit(to, from, n, DIGIT_BITS);
    sort_by_digit(from, to, n, 2 * DIGIT_BITS);
}

/* Room to sort in. */
typedef struct room {
    codes from, to;
} room;

static bool begin_sorting(room *r, const ef_bunch *b) {
    *r = (room){.from = {.codes = ef_alloc(b->n, sizeof(int32_t))}};
    if (b->targets != NULL) {
        r->from.targets = ef_alloc(b->n, sizeof(int32_t));
        r->to.targets = ef_alloc(b->n, sizeof(int32_t));
    }
    return r->from.codes != NULL &&
           (b->targets == NULL || (r->from.targets != NULL && r->to.targets != NULL));
}

static void end_sorting(room *r) {
    ef_free(r->from.codes);
    ef_free(r->from.targets);
    ef_free(r->to.targets);
}

static bool sort_column(ef_sorted_column *column, room *r, const ef_bunch *b,
                        const ef_forest_slots *rows, uint32_t input) {
    const size_t n = b->n;
    column->codes = ef_alloc(n, sizeof *column->codes);
    if (b->targets != NULL)
        column->sums = ef_alloc(n, sizeof *column->sums);
    if (column->codes == NULL || (b->targets != NULL && column->sums == NULL))
        return false;
    for (size_t i = 0; i < n; i++)
        r->from.codes[i] = ef_slot_code(rows, b->slots[i], input);
    if (b->targets != NULL)
        memcpy(r->from.targets, b->targets, n * sizeof *b->targets);
    r->to.codes = column->codes;
    for (uint32_t s = 0, first = 0; s < b->n_segments; first += b->segments[s++].n_rows)
        sort_codes((codes){r->from.codes + first, r->from.targets},
                   (codes){r->to.codes + first, r->to.targets}, b->segments[s].n_rows);
    int64_t sum = 0;
    for (size_t i = 0; column->sums != NULL && i < n; i++)
        column->sums[i] = sum += r->to.targets[i];
    return true;
}

bool ef_first_rows_make(ef_first_rows *first, const ef_bunch *bunch, const ef_rules *rules,
                        const ef_forest_slots *rows, uint32_t n_trees) {
    *first = (ef_first_rows){.n_columns = rules->n_inputs};
    if (!copy_bunch(&first->bunch, bunch))
        return false;
    const bool sorts =
        bunch->n != 0 && bunch->weights == NULL && !rules->may_miss &&
        (uint64_t)n_trees * rules->n_candidates >= (uint64_t)TIMES_OF_SORTING * rules->n_inputs;
    if (!sorts)
        return true;
    room r;
    first->columns = ef_alloc_zero(rules->n_inputs, sizeof *first->columns);
    bool ok = begin_sorting(&r, bunch) && first->columns != NULL;
    for (uint32_t i = 0; ok && i < rules->n_inputs; i++)
        if (!rules->are_categories[i])
            ok = sort_column(&first->columns[i], &r, bunch, rows, i);
    end_sorting(&r);
    return ok;
}

void ef_first_rows_free(ef_first_rows *first) {
    for (uint32_t i = 0; first->columns != NULL && i < first->n_columns; i++) {
        ef_free(first->columns[i].codes);
        ef_free(first->columns[i].sums);
    }
    ef_free(first->columns);
    ef_free(first->bunch.slots);
    ef_free(first->bunch.weights);
    ef_free(first->bunch.targets);
    ef_free(first->bunch.segments);
    *first = (ef_first_rows){.columns = NULL};
}

size_t ef_codes_up_to(const int32_t *sorted, size_t n, int32_t cut) {
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] <= cut)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
