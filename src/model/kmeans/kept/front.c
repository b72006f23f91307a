/* The front of a watch: rows near borders, sifted by what moves of centers do to them (front.h). */
#include "model/kmeans/kept/front.h"

#include "base/checked.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- memory */

bool ef_front_init(ef_front *front, const int32_t *centers, uint32_t n_clusters, uint32_t n_columns,
                   const int32_t *low, const int32_t *high) {
    const size_t n_values = (size_t)n_clusters * n_columns;
    *front = (ef_front){.n_clusters = n_clusters, .n_columns = n_columns};
    front->base = ef_alloc(n_values, sizeof *front->base);
    front->first = ef_alloc(n_clusters, sizeof *front->first);
    front->cells = ef_alloc(n_columns, sizeof *front->cells);
    if (front->base == NULL || front->first == NULL || front->cells == NULL) {
        ef_front_free(front);
        return false;
    }
    for (uint32_t j = 0; j < n_columns; j++) {
        const double width = ((double)high[j] - (double)low[j] + 1.0) / 256.0;
        front->cells[j].width = width;
        front->cells[j].per_step = 1.0 / width;
        front->cells[j].middle = (double)low[j] - 0.5 + 128.5 * width;
    }
    memcpy(front->base, centers, n_values * sizeof *centers);
    for (uint32_t c = 0; c < n_clusters; c++)
        front->first[c] = EF_NO_BORDER;
    return true;
}

void ef_front_free(ef_front *front) {
    for (uint32_t b = 0; b < front->n_borders; b++) {
        ef_free(front->borders[b].positions);
        ef_free(front->borders[b].thirds);
        ef_free(front->borders[b].gaps);
        ef_free(front->borders[b].bytes);
    }
    ef_free(front->borders);
    ef_free(front->first);
    ef_free(front->base);
    ef_free(front->cells);
    *front = (ef_front){0};
}

size_t ef_front_bytes(const ef_front *front) {
    size_t n = 0;
    if (front->base != NULL)
        n = front->n_columns * sizeof *front->cells +
            front->n_clusters * (front->n_columns * sizeof *front->base + sizeof *front->first);
    for (uint32_t b = 0; b < front->n_borders; b++) {
        const ef_border *const border = &front->borders[b];
        n += sizeof *border;
        n += border->capacity * (sizeof *border->positions + sizeof *border->thirds);
        if (border->gaps != NULL)
            n += border->capacity * (sizeof *border->gaps + front->n_columns);
    }
    return n;
}

bool ef_positions_add(ef_positions *list, size_t position) {
    if (list->n == list->capacity) {
        const size_t capacity = list->capacity + list->capacity / 2 + 256;
        uint32_t *const at = ef_realloc(list->at, capacity, sizeof *at);
        if (at == NULL)
            return false;
        list->at = at;
        list->capacity = capacity;
    }
    list->at[list->n++] = (uint32_t)position;
    return true;
}

/* Makes room for one more row. */
static bool make_room(ef_border *border, size_t d) {
    if (border->n_rows < border->capacity)
        return true;
    if (border->capacity > UINT32_MAX / 2)
        return false;
    const uint32_t capacity =
        border->capacity + border->capacity / 4 / EF_PANEL * EF_PANEL + EF_PANEL;
    uint32_t *const positions = ef_realloc(border->positions, capacity, sizeof *positions);
    if (positions == NULL)
        return false;
    border->positions = positions;
    uint8_t *const thirds = ef_realloc(border->thirds, capacity, sizeof *thirds);
    if (thirds == NULL)
        return false;
    border->thirds = thirds;
    if (border->own != border->other) {
        float *const gaps = ef_realloc(border->gaps, capacity, sizeof *gaps);
        if (gaps == NULL)
            return false;
        border->gaps = gaps;
        int8_t *const bytes = ef_realloc(border->bytes, capacity, d);
        if (bytes == NULL)
            return false;
        border->bytes = bytes;
        const size_t more = capacity - border->capacity;
        memset(gaps + border->capacity, 0, more * sizeof *gaps);
        memset(bytes + border->capacity * d, 0, more * d);
    }
    border->capacity = capacity;
    return true;
}

/* The first cell of a row; the others follow EF_PANEL bytes apart. */
static int8_t *cells_at(const ef_border *border, size_t slot, size_t d) {
    return border->bytes + slot / EF_PANEL * EF_PANEL * d + slot % EF_PANEL;
}

static ef_border *border_of(ef_front *front, uint32_t own, uint32_t other) {
    for (uint32_t b = front->first[own]; b != EF_NO_BORDER; b = front->borders[b].next)
        if (front->borders[b].other == other)
            return &front->borders[b];
    const size_t n = front->n_borders;
    if ((n & (n - 1)) == 0) { /* there is room for the next power of two */
        ef_border *const borders = ef_realloc(front->borders, n != 0 ? 2 * n : 1, sizeof *borders);
        if (borders == NULL)
            return NULL;
        front->borders = borders;
    }
    front->borders[n] = (ef_border){.own = own, .other = other, .next = front->first[own]};
    front->first[own] = front->n_borders++;
    return &front->borders[n];
}

/* ---------------------------------------------------------------- shifts */

bool ef_shift_init(ef_shift *shift, uint32_t n_clusters, uint32_t n_columns) {
    /* One block, the widest numbers first. */
    const size_t k = n_clusters, d = n_columns;
    const size_t n_bytes = 2 * k * sizeof *shift->constants + (k + 1) * d * sizeof *shift->slopes +
                           k * sizeof *shift->moved + d * sizeof *shift->bytes;
    *shift = (ef_shift){.constants = ef_alloc(n_bytes, 1)};
    if (shift->constants == NULL)
        return false;
    shift->errors = shift->constants + k;
    shift->slopes = (float *)(void *)(shift->errors + k);
    shift->difference = shift->slopes + k * d;
    shift->moved = (bool *)(void *)(shift->difference + d);
    shift->bytes = (int8_t *)(void *)(shift->moved + k);
    return true;
}

void ef_shift_free(ef_shift *shift) {
    ef_free(shift->constants);
    ef_free(shift->found);
    *shift = (ef_shift){0};
}

#define CHAINS 4 /* additions that need not wait for each other */

/* With g = m + h (byte + e), |e| <= 1/2, the term of a column in |C|^2 - |B|^2 - 2 g.(C - B) is
 * C^2 - B^2 - 2 m (C - B), and -2 h (C - B) for each unit of the byte. */
static inline void measure(const ef_front *front, size_t j, int32_t from, int32_t to, float *slope,
                           double *constant, double *size) {
    const double move = (double)(to - from);
    const double change = 2.0 * front->cells[j].width * move;
    *slope = (float)change;
    *constant += move * ((double)(to + from) - 2.0 * front->cells[j].middle);
    *size += fabs(change);
}

void ef_shift_measure(ef_shift *shift, const ef_front *front, const int32_t *before,
                      const int32_t *after) {
    const size_t k = front->n_clusters, d = front->n_columns;
    for (size_t c = 0; c < k; c++) {
        const int32_t *const from = front->base + c * d, *const to = after + c * d;
        float *const slopes = shift->slopes + c * d;
        double constants[CHAINS] = {0.0}, sizes[CHAINS] = {0.0};
        size_t j = 0;
        for (; j + CHAINS <= d; j += CHAINS)
            for (unsigned i = 0; i < CHAINS; i++)
                measure(front, j + i, from[j + i], to[j + i], &slopes[j + i], &constants[i],
                        &sizes[i]);
        for (; j < d; j++)
            measure(front, j, from[j], to[j], &slopes[j], &constants[0], &sizes[0]);
        const double size = (sizes[0] + sizes[1]) + (sizes[2] + sizes[3]);
        shift->constants[c] = (constants[0] + constants[1]) + (constants[2] + constants[3]);
        /* Half a cell for each coordinate. Then what floats are off by: of sums that nowhere exceed
         * 128 times their slopes there are d + 8 roundings, those of the slopes and of their
         * differences among them. And what doubles are, of which there are d: terms are below 2^26
         * times a move, and that is at most 128 times its slope. */
        shift->errors[c] = size * (0.5 * (1.0 + 0x1p-20) + ((double)d + 8.0) * 1.01 * 0x1p-17 +
                                   ((double)d + 8.0) * 0x1p-19);
        shift->moved[c] = memcmp(before + c * d, to, d * sizeof *to) != 0;
    }
}

/* What a shift does to the gaps of a border: to that of a row it adds shift->difference.bytes +
 * constant, but for `error`. */
typedef struct effect {
    double constant, error;
} effect;

static effect effect_on(const ef_front *front, const ef_border *border, ef_shift *shift) {
    const size_t d = front->n_columns, a = border->own, b = border->other;
    const float *const own = shift->slopes + a * d, *const other = shift->slopes + b * d;
    float *const difference = shift->difference;
    for (size_t j = 0; j < d; j++)
        difference[j] = own[j] - other[j];
    return (effect){shift->constants[b] - shift->constants[a], shift->errors[a] + shift->errors[b]};
}

/* ---------------------------------------------------------------- rows */

/* A float less than a number by more than adding another to it can make a difference. */
static float below(double x) {
    return (float)(x - 0x1p-20 * fabs(x));
}

/* The cells of row number i of a panel; false if a coordinate is beyond the range. */
static bool cells_of(const ef_front *front, const float *panel, unsigned i, int8_t *bytes) {
    bool within = true;
    for (size_t j = 0; j < front->n_columns; j++) {
        const ef_cells *const cells = &front->cells[j];
        /* Counted from the lowest cell on, which is number -128. */
        const double cell =
            ((double)panel[j * EF_PANEL + i] - cells->middle) * cells->per_step + 128.5;
        within &= cell >= 0.0 && cell < 256.0;
        bytes[j] = (int8_t)((cell >= 0.0 && cell < 256.0 ? (int32_t)cell : 128) - 128);
    }
    return within;
}

/* The gap of a row as it would be with the centers of the base, or less. */
static double gap_at_base(const ef_front *front, const ef_border *border, const float *panel,
                          unsigned i) {
    const size_t d = front->n_columns;
    const int32_t *const own = front->base + border->own * d;
    const int32_t *const other = front->base + border->other * d;
    double gaps[CHAINS] = {0.0}, gap = 0.0;
    for (size_t j = 0; j < d; j++) {
        /* (g - b)^2 - (g - a)^2 = (a - b) (2 g - a - b), below 2^50 */
        const double sum = (double)(own[j] + other[j]);
        gaps[j % CHAINS] +=
            (double)(own[j] - other[j]) * (2.0 * (double)panel[j * EF_PANEL + i] - sum);
    }
    for (unsigned c = 0; c < CHAINS; c++)
        gap += gaps[c];
    return gap - (double)d * (double)d * 0x1p-2; /* d roundings of less than d 2^51 */
}

bool ef_front_put(ef_front *front, ef_shift *shift, size_t position, const ef_survey *found,
                  unsigned i, const float *panel, uint8_t *third) {
    const size_t d = front->n_columns;
    if (*third != 0 && !cells_of(front, panel, i, shift->bytes))
        *third = 0;
    const uint32_t own = found->nearest[i], other = *third != 0 ? found->second[i] : own;
    ef_border *const border = border_of(front, own, other);
    if (border == NULL || !make_room(border, d))
        return false;
    const size_t slot = border->n_rows++;
    border->positions[slot] = (uint32_t)position;
    border->thirds[slot] = *third;
    front->n_rows++;
    if (own == other)
        return true;
    int8_t *const bytes = cells_at(border, slot, d);
    for (size_t j = 0; j < d; j++)
        bytes[j * EF_PANEL] = shift->bytes[j];
    border->gaps[slot] = below(gap_at_base(front, border, panel, i));
    const double span =
        found->margin[i] > 0.0F ? (double)found->gap[i] / (double)found->margin[i] : border->span;
    border->span += (span - border->span) * (border->span > 0.0 ? 0x1p-4 : 1.0);
    return true;
}

/* The last row of the border comes into the place of one that leaves, of which nothing stays. */
static void take_out(ef_front *front, ef_border *border, size_t slot) {
    const size_t d = front->n_columns, last = --border->n_rows;
    border->positions[slot] = border->positions[last];
    border->thirds[slot] = border->thirds[last];
    front->n_rows--;
    if (border->own == border->other)
        return;
    border->gaps[slot] = border->gaps[last];
    border->gaps[last] = 0.0F;
    int8_t *const to = cells_at(border, slot, d), *const from = cells_at(border, last, d);
    for (size_t j = 0; j < d * EF_PANEL; j += EF_PANEL) {
        to[j] = from[j];
        from[j] = 0;
    }
}

/* Where a row of a cluster is. */
static ef_border *find(ef_front *front, uint32_t own, size_t position, size_t *slot) {
    for (uint32_t b = front->first[own]; b != EF_NO_BORDER; b = front->borders[b].next) {
        ef_border *const border = &front->borders[b];
        for (*slot = 0; *slot < border->n_rows; ++*slot)
            if (border->positions[*slot] == position)
                return border;
    }
    assert(false);
    return NULL;
}

uint8_t ef_front_take(ef_front *front, uint32_t own, size_t position) {
    size_t slot;
    ef_border *const border = find(front, own, position, &slot);
    const uint8_t third = border->thirds[slot];
    take_out(front, border, slot);
    return third;
}

void ef_front_rename(ef_front *front, uint32_t own, size_t from, size_t to) {
    size_t slot;
    find(front, own, from, &slot)->positions[slot] = (uint32_t)to;
}

/* ---------------------------------------------------------------- moving the base */

/* How often the base is changed: when gaps are off by this part of a margin that counts. */
#define REBASE_PART 4

void ef_front_rebase(ef_front *front, ef_shift *shift, const int32_t *after, double near) {
    const size_t k = front->n_clusters, d = front->n_columns;
    double error = 0.0;
    for (uint32_t c = 0; c < k; c++)
        error = shift->errors[c] > error ? shift->errors[c] : error;
    bool far = false;
    for (uint32_t b = 0; b < front->n_borders && !far; b++)
        far = front->borders[b].n_rows != 0 &&
              error * REBASE_PART > near * front->borders[b].span &&
              front->borders[b].own != front->borders[b].other;
    if (!far)
        return;
    for (uint32_t b = 0; b < front->n_borders; b++) {
        ef_border *const border = &front->borders[b];
        if (border->n_rows == 0 || border->own == border->other)
            continue;
        const effect now = effect_on(front, border, shift);
        for (size_t first = 0; first < border->n_rows; first += EF_PANEL) {
            const int8_t *const bytes = border->bytes + first * d;
            float *const gaps = border->gaps + first;
            float sums[EF_PANEL] = {0.0F};
            for (size_t j = 0; j < d; j++)
                for (unsigned i = 0; i < EF_PANEL; i++)
                    sums[i] += shift->difference[j] * (float)bytes[j * EF_PANEL + i];
            for (unsigned i = 0; i < EF_PANEL; i++)
                gaps[i] = below((double)gaps[i] + (double)sums[i] + now.constant - now.error);
        }
    }
    memcpy(front->base, after, k * d * sizeof *after);
    memset(shift->slopes, 0, k * d * sizeof *shift->slopes);
    memset(shift->constants, 0, 2 * k * sizeof *shift->constants);
}

/* ---------------------------------------------------------------- sifting */

/* Takes out a row that must be looked at. */
static bool hand_over(ef_front *front, ef_border *border, size_t slot, ef_sifting *s) {
    s->users[border->thirds[slot]]--;
    const bool fits = ef_positions_add(s->look, border->positions[slot]);
    take_out(front, border, slot);
    return fits;
}

/* Puts a row of a border on its other side. `gap` is what it is with the centers of the base. */
static bool cross(ef_front *front, uint32_t number, size_t slot, int64_t gap, const float *row,
                  ef_sifting *s) {
    const size_t d = front->n_columns;
    const uint32_t own = front->borders[number].own, other = front->borders[number].other;
    ef_border *const to = border_of(front, other, own);
    if (to == NULL || !make_room(to, d))
        return false;
    ef_border *const from = &front->borders[number];
    const size_t place = to->n_rows++;
    const uint32_t position = from->positions[slot];
    to->positions[place] = position;
    to->thirds[place] = from->thirds[slot];
    to->gaps[place] = below(-(double)gap);
    const int8_t *const old = cells_at(from, slot, d);
    int8_t *const bytes = cells_at(to, place, d);
    for (size_t j = 0; j < d * EF_PANEL; j += EF_PANEL)
        bytes[j] = old[j];
    if (!(to->span > 0.0))
        to->span = from->span;
    front->n_rows++;
    take_out(front, from, slot);
    s->cross(s->context, position, other, row);
    return true;
}

/* Decides by integers up to sixteen rows of a border, the last first. */
static bool judge(ef_front *front, uint32_t number, const uint32_t *slots, unsigned n,
                  ef_sifting *s) {
    const size_t d = front->n_columns;
    const ef_border *const border = &front->borders[number];
    const uint32_t own = border->own, other = border->other;
    const double far = s->far * border->span;
    for (unsigned i = 0; i < n; i++)
        ef_data_gather(s->data, border->positions[slots[i]], s->values + i);
    s->n_judged += n;
    int64_t gaps[EF_PANEL], at_base[EF_PANEL];
    s->kernels->gaps(s->map, s->values, n, s->centers + own * d, s->centers + other * d, gaps);
    bool fits = true, knows_base = false;
    for (unsigned i = n; i-- > 0 && fits;) {
        if (gaps[i] < 0 || (gaps[i] == 0 && other < own)) {
            if (!knows_base)
                s->kernels->gaps(s->map, s->values, n, front->base + own * d,
                                 front->base + other * d, at_base);
            knows_base = true;
            fits = cross(front, number, slots[i], at_base[i], s->values + i, s);
        } else if ((double)gaps[i] > far) {
            fits = hand_over(front, &front->borders[number], slots[i], s);
        }
    }
    return fits;
}

static bool sift_border(ef_front *front, uint32_t number, ef_shift *shift, ef_sifting *s) {
    const ef_border *const border = &front->borders[number];
    const effect now = effect_on(front, border, shift);
    const double needed = now.error - now.constant, beyond = needed + s->far * border->span;
    if (shift->n_found < border->capacity) {
        ef_free(shift->found);
        shift->n_found = 0;
        shift->found = ef_alloc(border->capacity, sizeof *shift->found);
        if (shift->found == NULL)
            return false;
        shift->n_found = border->capacity;
    }
    size_t n = s->kernels->sift(border->bytes, border->n_rows, front->n_columns, shift->difference,
                                border->gaps, (float)(needed + 0x1p-20 * fabs(needed)),
                                (float)beyond, shift->found);
    bool fits = true;
    while (n > 0 && fits) {
        const unsigned part = n < EF_PANEL ? (unsigned)n : EF_PANEL;
        n -= part;
        fits = judge(front, number, shift->found + n, part, s);
    }
    return fits;
}

bool ef_front_sift(ef_front *front, ef_shift *shift, ef_sifting *s) {
    bool any_due = false, fits = true;
    for (unsigned j = 0; j < EF_TIERS; j++)
        any_due |= s->due[j];
    for (uint32_t b = 0; b < front->n_borders && fits; b++) {
        ef_border *const border = &front->borders[b];
        const bool is_corner = border->own == border->other;
        for (size_t slot = border->n_rows; (any_due || is_corner) && slot-- > 0 && fits;)
            if (is_corner || s->due[border->thirds[slot]])
                fits = hand_over(front, border, slot, s);
        if (fits && !is_corner && border->n_rows != 0 &&
            (shift->moved[border->own] || shift->moved[border->other]))
            fits = sift_border(front, b, shift, s);
    }
    return fits;
}
