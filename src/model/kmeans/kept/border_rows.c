/* Rows near borders, and those of them that moves of centers may have reached (border_rows.h). */
#include "model/kmeans/kept/border_rows.h"

#include "base/memory/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- memory */

bool ef_border_rows_init(ef_border_rows *rows, const efface_data *data, const ef_map *map,
                         const int32_t *centers, uint32_t n_clusters) {
    const uint32_t d = map->n_columns;
    const size_t n_values = (size_t)n_clusters * d;
    *rows = (ef_border_rows){.n_clusters = n_clusters, .n_columns = d};
    rows->base = ef_alloc(n_values, sizeof *rows->base);
    rows->first = ef_alloc(n_clusters, sizeof *rows->first);
    rows->cells = ef_alloc(d, sizeof *rows->cells);
    if (rows->base == NULL || rows->first == NULL || rows->cells == NULL) {
        ef_border_rows_free(rows);
        return false;
    }
    for (uint32_t j = 0; j < d; j++) {
        const double low = ef_snap(data->ranges.least[j], map->low[j], map->step[j]);
        const double high = ef_snap(data->ranges.most[j], map->low[j], map->step[j]);
        const double width = (high - low + 1.0) / 256.0;
        rows->cells[j] = (ef_cells){low - 0.5 + 128.5 * width, width, 1.0 / width};
    }
    memcpy(rows->base, centers, n_values * sizeof *centers);
    for (uint32_t c = 0; c < n_clusters; c++)
        rows->first[c] = EF_NO_BORDER;
    return true;
}

void ef_border_rows_free(ef_border_rows *rows) {
    for (uint32_t b = 0; b < rows->n_borders; b++) {
        ef_free(rows->borders[b].positions);
        ef_free(rows->borders[b].thirds);
        ef_free(rows->borders[b].gaps);
        ef_free(rows->borders[b].bytes);
    }
    ef_free(rows->borders);
    ef_free(rows->first);
    ef_free(rows->base);
    ef_free(rows->cells);
    *rows = (ef_border_rows){0};
}

size_t ef_border_rows_bytes(const ef_border_rows *rows) {
    size_t n = 0;
    if (rows->base != NULL)
        n = rows->n_columns * sizeof *rows->cells +
            rows->n_clusters * (rows->n_columns * sizeof *rows->base + sizeof *rows->first);
    for (uint32_t b = 0; b < rows->n_borders; b++) {
        const ef_border *const border = &rows->borders[b];
        n += sizeof *border;
        n += border->capacity * (sizeof *border->positions + sizeof *border->thirds);
        if (border->gaps != NULL)
            n += border->capacity * (sizeof *border->gaps + rows->n_columns);
    }
    return n;
}

/* Makes room for one more row. */
static bool reserve_border(ef_border *border, size_t d) {
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

static ef_border *border_of(ef_border_rows *rows, uint32_t own, uint32_t other) {
    for (uint32_t b = rows->first[own]; b != EF_NO_BORDER; b = rows->borders[b].next)
        if (rows->borders[b].other == other)
            return &rows->borders[b];
    const size_t n = rows->n_borders;
    if ((n & (n - 1)) == 0) { /* there is room for the next power of two */
        ef_border *const borders = ef_realloc(rows->borders, n != 0 ? 2 * n : 1, sizeof *borders);
        if (borders == NULL)
            return NULL;
        rows->borders = borders;
    }
    rows->borders[n] = (ef_border){.own = own, .other = other, .next = rows->first[own]};
    rows->first[own] = rows->n_borders++;
    return &rows->borders[n];
}

/* Gives a row the last place of a border, which comes back; NULL if out of memory. */
static ef_border *append(ef_border_rows *rows, uint32_t own, uint32_t other, uint32_t position,
                         uint8_t third) {
    ef_border *const border = border_of(rows, own, other);
    if (border == NULL || !reserve_border(border, rows->n_columns))
        return NULL;
    border->positions[border->n_rows] = position;
    border->thirds[border->n_rows++] = third;
    rows->n_rows++;
    return border;
}

/* ---------------------------------------------------------------- gaps */

#define CHAINS 4 /* additions that need not wait for each other */

/* With g = m + h (byte + e), |e| <= 1/2, the term of a column in |C|^2 - |B|^2 - 2 g.(C - B) is
 * C^2 - B^2 - 2 m (C - B), and -2 h (C - B) for each unit of the byte. */
static inline void measure_border(const ef_border_rows *rows, size_t j, int32_t from, int32_t to,
                                  float *slope, double *constant, double *size) {
    const double move = (double)(to - from);
    const double change = 2.0 * rows->cells[j].width * move;
    *slope = (float)change;
    *constant += move * ((double)(to + from) - 2.0 * rows->cells[j].middle);
    *size += fabs(change);
}

void ef_border_rows_measure(const ef_border_rows *rows, ef_center_move *move) {
    const size_t k = rows->n_clusters, d = rows->n_columns;
    for (size_t c = 0; c < k; c++) {
        const int32_t *const from = rows->base + c * d, *const to = move->after + c * d;
        float *const slopes = move->slopes + c * d;
        double constants[CHAINS] = {0.0}, sizes[CHAINS] = {0.0};
        size_t j = 0;
        for (; j + CHAINS <= d; j += CHAINS)
            for (unsigned i = 0; i < CHAINS; i++)
                measure_border(rows, j + i, from[j + i], to[j + i], &slopes[j + i], &constants[i],
                               &sizes[i]);
        for (; j < d; j++)
            measure_border(rows, j, from[j], to[j], &slopes[j], &constants[0], &sizes[0]);
        const double size = (sizes[0] + sizes[1]) + (sizes[2] + sizes[3]);
        move->constants[c] = (constants[0] + constants[1]) + (constants[2] + constants[3]);
        /* Half a cell for each coordinate. Then what floats are off by: of sums that nowhere exceed
         * 128 times their slopes there are d + 8 roundings, those of the slopes and of their
         * differences among them. And what doubles are, of which there are d: terms are below 2^26
         * times a move, and that is at most 128 times its slope. */
        move->errors[c] = size * (0.5 * (1.0 + 0x1p-20) + ((double)d + 8.0) * 1.01 * 0x1p-17 +
                                  ((double)d + 8.0) * 0x1p-19);
        move->moved[c] = memcmp(move->before + c * d, to, d * sizeof *to) != 0;
    }
}

/* What a move does to the gaps of a border: to that of a row it adds move->difference.bytes +
 * constant, but for `error`. */
typedef struct effect {
    double constant, error;
} effect;

static effect effect_on(const ef_border_rows *rows, const ef_border *border, ef_center_move *move) {
    const size_t d = rows->n_columns, a = border->own, b = border->other;
    const float *const own = move->slopes + a * d, *const other = move->slopes + b * d;
    float *const difference = move->difference;
    for (size_t j = 0; j < d; j++)
        difference[j] = own[j] - other[j];
    return (effect){move->constants[b] - move->constants[a], move->errors[a] + move->errors[b]};
}

/* ---------------------------------------------------------------- rows */

/* A float less than a number by more than adding another to it can make a difference. */
static float below(double x) {
    return (float)(x - 0x1p-20 * fabs(x));
}

/* The cells of row number i of a panel; false if a coordinate is beyond the range. */
static bool cells_of(const ef_border_rows *rows, const float *panel, unsigned i, int8_t *bytes) {
    bool within = true;
    for (size_t j = 0; j < rows->n_columns; j++) {
        const ef_cells *const cells = &rows->cells[j];
        /* Counted from the lowest cell on, which is number -128. */
        const double cell =
            ((double)panel[j * EF_PANEL + i] - cells->middle) * cells->per_step + 128.5;
        within &= cell >= 0.0 && cell < 256.0;
        bytes[j] = (int8_t)((cell >= 0.0 && cell < 256.0 ? (int32_t)cell : 128) - 128);
    }
    return within;
}

/* The gap of a row as it would be with the centers of the base, or less. */
static double gap_at_base(const ef_border_rows *rows, const ef_border *border, const float *panel,
                          unsigned i) {
    const size_t d = rows->n_columns;
    const int32_t *const own = rows->base + border->own * d;
    const int32_t *const other = rows->base + border->other * d;
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

bool ef_border_rows_put(ef_border_rows *rows, ef_center_move *move, size_t position,
                        const ef_survey *found, unsigned i, const float *panel, uint8_t *third) {
    const size_t d = rows->n_columns;
    if (*third != 0 && !cells_of(rows, panel, i, move->cells))
        *third = 0;
    const uint32_t own = found->nearest[i], other = *third != 0 ? found->second[i] : own;
    ef_border *const border = append(rows, own, other, (uint32_t)position, *third);
    if (border == NULL || own == other)
        return border != NULL;
    const size_t slot = border->n_rows - 1;
    int8_t *const bytes = cells_at(border, slot, d);
    for (size_t j = 0; j < d; j++)
        bytes[j * EF_PANEL] = move->cells[j];
    border->gaps[slot] = below(gap_at_base(rows, border, panel, i));
    const double span =
        found->margin[i] > 0.0F ? (double)found->gap[i] / (double)found->margin[i] : border->span;
    border->span += (span - border->span) * (border->span > 0.0 ? 0x1p-4 : 1.0);
    return true;
}

/* The last row of the border comes into the place of one that leaves, of which nothing stays. */
static void take_out(ef_border_rows *rows, ef_border *border, size_t slot) {
    const size_t d = rows->n_columns, last = --border->n_rows;
    border->positions[slot] = border->positions[last];
    border->thirds[slot] = border->thirds[last];
    rows->n_rows--;
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
static ef_border *find_border(ef_border_rows *rows, uint32_t own, size_t position, size_t *slot) {
    for (uint32_t b = rows->first[own]; b != EF_NO_BORDER; b = rows->borders[b].next) {
        ef_border *const border = &rows->borders[b];
        for (*slot = 0; *slot < border->n_rows; ++*slot)
            if (border->positions[*slot] == position)
                return border;
    }
    assert(false);
    return NULL;
}

uint8_t ef_border_rows_take(ef_border_rows *rows, uint32_t own, size_t position) {
    size_t slot;
    ef_border *const border = find_border(rows, own, position, &slot);
    const uint8_t third = border->thirds[slot];
    take_out(rows, border, slot);
    return third;
}

void ef_border_rows_rename(ef_border_rows *rows, uint32_t own, size_t from, size_t to) {
    size_t slot;
    find_border(rows, own, from, &slot)->positions[slot] = (uint32_t)to;
}

/* ---------------------------------------------------------------- moving the base */

/* How often the base is changed: when gaps are off by this part of a margin that counts. */
#define REBASE_PART 4

void ef_border_rows_rebase(ef_border_rows *rows, ef_center_move *move, double near) {
    const size_t k = rows->n_clusters, d = rows->n_columns;
    double error = 0.0;
    for (uint32_t c = 0; c < k; c++)
        error = move->errors[c] > error ? move->errors[c] : error;
    bool far = false;
    for (uint32_t b = 0; b < rows->n_borders && !far; b++)
        far = rows->borders[b].n_rows != 0 && error * REBASE_PART > near * rows->borders[b].span &&
              rows->borders[b].own != rows->borders[b].other;
    if (!far)
        return;
    for (uint32_t b = 0; b < rows->n_borders; b++) {
        ef_border *const border = &rows->borders[b];
        if (border->n_rows == 0 || border->own == border->other)
            continue;
        const effect now = effect_on(rows, border, move);
        for (size_t first = 0; first < border->n_rows; first += EF_PANEL) {
            const int8_t *const bytes = border->bytes + first * d;
            float *const gaps = border->gaps + first;
            float sums[EF_PANEL] = {0.0F};
            for (size_t j = 0; j < d; j++)
                for (unsigned i = 0; i < EF_PANEL; i++)
                    sums[i] += move->difference[j] * (float)bytes[j * EF_PANEL + i];
            for (unsigned i = 0; i < EF_PANEL; i++)
                gaps[i] = below((double)gaps[i] + (double)sums[i] + now.constant - now.error);
        }
    }
    memcpy(rows->base, move->after, k * d * sizeof *rows->base);
    memset(move->slopes, 0, k * d * sizeof *move->slopes);
    memset(move->constants, 0, 2 * k * sizeof *move->constants);
}

/* ---------------------------------------------------------------- searching */

/* Takes out a row that must be looked at. */
static void hand_over(ef_border_rows *rows, ef_border *border, size_t slot, ef_center_move *move,
                      const ef_border_search *s) {
    s->users[border->thirds[slot]]--;
    move->look[move->n_look++] = border->positions[slot];
    take_out(rows, border, slot);
}

/* Puts a row of a border on its other side. `gap` is what it is with the centers of the base. */
static bool cross(ef_border_rows *rows, uint32_t number, size_t slot, int64_t gap, const float *row,
                  ef_center_move *move, const ef_border_search *s) {
    const size_t d = rows->n_columns;
    const uint32_t own = rows->borders[number].own, other = rows->borders[number].other;
    const uint32_t position = rows->borders[number].positions[slot];
    ef_border *const to = append(rows, other, own, position, rows->borders[number].thirds[slot]);
    if (to == NULL)
        return false;
    ef_border *const from = &rows->borders[number];
    const size_t place = to->n_rows - 1;
    to->gaps[place] = below(-(double)gap);
    const int8_t *const old = cells_at(from, slot, d);
    int8_t *const bytes = cells_at(to, place, d);
    for (size_t j = 0; j < d * EF_PANEL; j += EF_PANEL)
        bytes[j] = old[j];
    if (!(to->span > 0.0))
        to->span = from->span;
    take_out(rows, from, slot);
    s->clusters[position] = (uint16_t)other;
    ef_center_move_row(move, position, row, own, other);
    return true;
}

/* Decides by integers up to sixteen rows of a border, the last first. */
static bool decide(ef_border_rows *rows, uint32_t number, const uint32_t *slots, unsigned n,
                   ef_center_move *move, const ef_border_search *s) {
    const size_t d = rows->n_columns;
    const ef_border *const border = &rows->borders[number];
    const uint32_t own = border->own, other = border->other;
    const double far = s->far * border->span;
    float *const values = move->room;
    for (unsigned i = 0; i < n; i++)
        ef_data_gather(move->data, border->positions[slots[i]], values + i);
    move->work.rows_assigned += n;
    int64_t gaps[EF_PANEL], at_base[EF_PANEL];
    move->kernels->gaps(move->map, values, n, move->after + own * d, move->after + other * d, gaps);
    bool fits = true, knows_base = false;
    for (unsigned i = n; i-- > 0 && fits;) {
        if (gaps[i] < 0 || (gaps[i] == 0 && other < own)) {
            if (!knows_base)
                move->kernels->gaps(move->map, values, n, rows->base + own * d,
                                    rows->base + other * d, at_base);
            knows_base = true;
            fits = cross(rows, number, slots[i], at_base[i], values + i, move, s);
        } else if ((double)gaps[i] > far) {
            hand_over(rows, &rows->borders[number], slots[i], move, s);
        }
    }
    return fits;
}

static bool search_border(ef_border_rows *rows, uint32_t number, ef_center_move *move,
                          const ef_border_search *s) {
    const ef_border *const border = &rows->borders[number];
    const effect now = effect_on(rows, border, move);
    const double needed = now.error - now.constant, beyond = needed + s->far * border->span;
    size_t n = move->kernels->sift(border->bytes, border->n_rows, rows->n_columns, move->difference,
                                   border->gaps, (float)(needed + 0x1p-20 * fabs(needed)),
                                   (float)beyond, move->found);
    bool fits = true;
    while (n > 0 && fits) {
        const unsigned part = n < EF_PANEL ? (unsigned)n : EF_PANEL;
        n -= part;
        fits = decide(rows, number, move->found + n, part, move, s);
    }
    return fits;
}

bool ef_border_rows_search(ef_border_rows *rows, ef_center_move *move, const ef_border_search *s) {
    bool any_due = false, fits = true;
    for (unsigned j = 0; j < EF_TIERS; j++)
        any_due |= s->due[j];
    for (uint32_t b = 0; b < rows->n_borders && fits; b++) {
        ef_border *const border = &rows->borders[b];
        const bool several = border->own == border->other;
        for (size_t slot = border->n_rows; (any_due || several) && slot-- > 0;)
            if (several || s->due[border->thirds[slot]])
                hand_over(rows, border, slot, move, s);
        if (!several && border->n_rows != 0 &&
            (move->moved[border->own] || move->moved[border->other]))
            fits = search_border(rows, b, move, s);
    }
    return fits;
}
