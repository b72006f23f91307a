/*
 * The rows of a forest that take part, in slots.
 *
 * A forest has a copy of its rows of its own, in an order of its own, for two reasons: a row keeps
 * its slot while others come and go, and a lazy forest may have to grow trees when the set is not
 * at hand. A slot has the values of the inputs, the class or the target, and the weight. Slots of
 * rows that left are overwritten and used again.
 *
 * A value is kept as a code, which is in the order of the values: a byte or two, if all values of
 * the column are whole numbers and near enough to each other, else its key (chances.h). Codes stand
 * twice: row by row, for small nodes, and column by column, for large ones.
 */
#ifndef EF_FOREST_SLOTS_H
#define EF_FOREST_SLOTS_H

#include "model/forest/trees/chances.h"
#include "model/request/change.h"

#define EF_NO_SLOT UINT32_MAX

/* How the values of an input are kept. */
typedef struct ef_input_format {
    uint8_t width;   /* bytes: 1 (uint8_t), 2 (int16_t), or 4 (int32_t, the key) */
    int32_t base;    /* widths 1 and 2: the value of code 0 */
    uint32_t offset; /* in a row; times the capacity: of the column */
} ef_input_format;

typedef struct ef_forest_slots {
    uint32_t n_inputs;
    ef_input_format *formats; /* n_inputs */
    bool may_miss;            /* values may be missing */
    size_t row_bytes;
    size_t n_slots; /* that were ever used; those that are free count too */
    size_t capacity;
    unsigned char *by_row, *by_column;
    uint32_t *values; /* for each slot the number of its class, or its target (int32_t) */
    int64_t *weights; /* or NULL: 1 */
    uint64_t *ids;    /* or NULL: nobody needs them */
    bool *leaving;    /* of a row that leaves in the change under way */
    uint32_t *free_slots;
    size_t n_free;
    uint32_t *slot_of; /* by position in the set; EF_NO_SLOT: the row takes no part */
    size_t n_positions, positions_capacity;
} ef_forest_slots;

void ef_forest_slots_free(ef_forest_slots *rows);

/* Room for so many more rows, and positions. False if out of memory. */
bool ef_forest_slots_reserve(ef_forest_slots *rows, size_t n_more);

/* What is known of the values of an input, to choose its format by. */
typedef struct ef_input_range {
    bool is_whole; /* all values are whole numbers, none is missing */
    float least, most;
} ef_input_range;

/* Begins with no values; then takes some in. */
ef_input_range ef_input_range_none(void);
void ef_input_range_add(ef_input_range *range, float value);

/* The narrowest format for an input; one of categories has keys. */
ef_input_format ef_format_for(const ef_input_range *range, bool is_category);

/* Whether a value has a code in a format. */
bool ef_format_holds(const ef_input_format *format, float value);

/* Gives the inputs other formats, that hold all values; there may be rows. False if memory is
 * short, and then nothing has changed. */
bool ef_forest_slots_set_formats(ef_forest_slots *rows, const ef_input_format *formats);

/* A free slot, for which there is room; and its values. */
uint32_t ef_forest_slots_take(ef_forest_slots *rows);
void ef_slot_set(ef_forest_slots *rows, uint32_t slot, uint32_t input, float value);

/* Overwrites a slot and frees it. */
void ef_forest_slots_release(ef_forest_slots *rows, uint32_t slot);

/* The key that a code stands for; and the code of the largest value up to a threshold, at which
 * none goes left if it is below all codes. */
static inline int32_t ef_code_key(const ef_input_format *format, int32_t code) {
    return format->width == 4 ? code : ef_key_of((float)(code + format->base));
}

#define EF_MOST_WHOLE 8388608.0F /* whole numbers up to here have neighbours in float32 */

static inline int32_t ef_cut_code(const ef_input_format *format, int32_t cut) {
    if (format->width == 4)
        return cut;
    const float value = ef_key_value(cut);
    if (!(value < 2.0F * EF_MOST_WHOLE && value > -2.0F * EF_MOST_WHOLE))
        return value > 0.0F ? INT32_MAX / 2 : INT32_MIN / 2;
    const int32_t whole = (int32_t)value;
    return whole - ((float)whole > value) - format->base;
}

/* The code of a slot. */
static inline int32_t ef_slot_code(const ef_forest_slots *rows, uint32_t slot, uint32_t input) {
    const ef_input_format *const format = &rows->formats[input];
    const unsigned char *const at = rows->by_row + slot * rows->row_bytes + format->offset;
    if (format->width == 1)
        return *at;
    if (format->width == 2) {
        int16_t code;
        memcpy(&code, at, sizeof code);
        return code;
    }
    int32_t key;
    memcpy(&key, at, sizeof key);
    return key;
}

static inline int32_t ef_slot_key(const ef_forest_slots *rows, uint32_t slot, uint32_t input) {
    const int32_t code = ef_slot_code(rows, slot, input);
    return rows->formats[input].width == 4 ? code : ef_code_key(&rows->formats[input], code);
}

static inline const unsigned char *ef_input_column(const ef_forest_slots *rows, uint32_t input) {
    return rows->by_column + rows->formats[input].offset * rows->capacity;
}

static inline int64_t ef_slot_weight(const ef_forest_slots *rows, uint32_t slot) {
    return rows->weights != NULL ? rows->weights[slot] : 1;
}

size_t ef_forest_slots_bytes(const ef_forest_slots *rows);

#endif
