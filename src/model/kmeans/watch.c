/* Watches: rows in tiers by how far centers may move before they can change (watch.h). */
#include "model/kmeans/watch.h"

#include "base/checked.h"
#include "base/status.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Looking at a row costs several times what it costs in a pass, which reads memory in order. */
#define PASS_FROM_PART 6

/* By what factor the usual move changes with each that is longer or shorter. */
#define LATELY 1.0625

/* The front has about this part of all rows at most. */
#define FRONT_PART 32

/* How far centers may move before the rows of a tier must be looked at. */
static double reach(uint32_t tier) {
    return (double)(UINT64_C(1) << tier);
}

/* The highest tier whose reach a margin has; 0 for none. */
static uint32_t tier_for(double margin) {
    uint32_t tier = 0;
    const float rounded = (float)margin;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    if (bits >> 23 > 127) /* margins are not negative, so this is the exponent */
        tier = (bits >> 23) - 127;
    return tier < EF_TIERS ? tier : EF_TIERS - 1;
}

static void set_edge(ef_watch *watch) {
    const uint32_t wanted = tier_for(2.0 * watch->usual);
    watch->edge = wanted < watch->last_edge ? wanted : watch->last_edge;
}

/* The two largest moves together of any centers, rounded upwards. */
static double farthest(const int32_t *from, const int32_t *to, uint32_t k, uint32_t d) {
    int64_t first = 0, second = 0;
    for (uint32_t c = 0; c < k; c++) {
        const int64_t square = ef_grid_sqdist(from + (size_t)c * d, to + (size_t)c * d, d);
        if (square > first) {
            second = first;
            first = square;
        } else if (square > second) {
            second = square;
        }
    }
    return (sqrt((double)first) + sqrt((double)second)) * (1.0 + 0x1p-48);
}

void ef_watch_free(ef_watch *watch) {
    for (unsigned j = 0; j < EF_TIERS; j++) {
        free(watch->tiers[j].rows);
        free(watch->tiers[j].anchor);
    }
    free(watch->tier_of);
    free(watch->slots);
    free(watch->front);
    *watch = (ef_watch){0};
}

size_t ef_watch_bytes(const ef_watch *watch, size_t n_clusters, size_t n_columns) {
    size_t n = watch->capacity * (sizeof *watch->tier_of + sizeof *watch->slots);
    n += watch->tiers[EF_FRONT].capacity * n_columns * sizeof *watch->front;
    for (unsigned j = 0; j < EF_TIERS; j++) {
        const ef_tier *const tier = &watch->tiers[j];
        n += tier->capacity * sizeof *tier->rows;
        n += tier->anchor != NULL ? n_clusters * n_columns * sizeof *tier->anchor : 0;
    }
    return n;
}

/* ---------------------------------------------------------------- lists, and the front */

/* The first value of row number `slot` of the front; the others follow EF_PANEL floats apart. */
static float *front_row(const ef_watch *watch, size_t slot, size_t d) {
    return watch->front + slot / EF_PANEL * EF_PANEL * d + slot % EF_PANEL;
}

static void copy_row(float *to, const float *from, size_t d) {
    for (size_t at = 0; at < d * EF_PANEL; at += EF_PANEL)
        to[at] = from[at];
}

/* Makes room for one more row in a tier. */
static bool make_room(ef_watch *watch, uint32_t number, size_t d) {
    ef_tier *const tier = &watch->tiers[number];
    if (tier->n_rows < tier->capacity)
        return true;
    const size_t more = tier->capacity / 4 / EF_PANEL * EF_PANEL + EF_PANEL;
    const size_t capacity = tier->capacity + more;
    ef_watched *const rows = ef_realloc(tier->rows, capacity, sizeof *rows);
    if (rows == NULL)
        return false;
    tier->rows = rows;
    if (number == EF_FRONT) {
        float *const front = ef_alloc_aligned(capacity, d * sizeof *front);
        if (front == NULL)
            return false;
        if (tier->capacity != 0)
            memcpy(front, watch->front, tier->capacity * d * sizeof *front);
        memset(front + tier->capacity * d, 0, more * d * sizeof *front);
        free(watch->front);
        watch->front = front;
    }
    tier->capacity = capacity;
    return true;
}

/* Puts a row into a tier; false if memory is short. */
static bool put(ef_watch *watch, uint32_t number, ef_watched row, const efface_data *data) {
    const size_t d = data->n_columns;
    if (!make_room(watch, number, d))
        return false;
    ef_tier *const tier = &watch->tiers[number];
    const size_t slot = tier->n_rows++;
    if (number == EF_FRONT)
        copy_row(front_row(watch, slot, d), ef_data_first(data, row.position), d);
    watch->slots[row.position] = (uint32_t)slot;
    watch->tier_of[row.position] = (uint8_t)number;
    tier->rows[slot] = row;
    return true;
}

/* Takes a row out of its tier; the last of the list comes into its place. */
static ef_watched take(ef_watch *watch, size_t position, size_t d) {
    const uint32_t number = watch->tier_of[position], slot = watch->slots[position];
    ef_tier *const tier = &watch->tiers[number];
    const ef_watched row = tier->rows[slot], last = tier->rows[--tier->n_rows];
    if (number == EF_FRONT) {
        float *const end = front_row(watch, tier->n_rows, d);
        copy_row(front_row(watch, slot, d), end, d);
        for (size_t at = 0; at < d * EF_PANEL; at += EF_PANEL)
            end[at] = 0.0F; /* a row that is forgotten leaves no copy */
    }
    tier->rows[slot] = last;
    watch->slots[last.position] = slot;
    return row;
}

/* Gives a tier the centers that it is measured from. */
static bool anchor(ef_tier *tier, const int32_t *centers, size_t n_values) {
    if (tier->anchor == NULL)
        tier->anchor = ef_alloc(n_values, sizeof *tier->anchor);
    if (tier->anchor == NULL)
        return false;
    memcpy(tier->anchor, centers, n_values * sizeof *centers);
    tier->moved = 0.0;
    return true;
}

bool ef_watch_make(ef_watch *watch, const efface_data *data, const ef_level *level,
                   uint32_t n_clusters, const uint32_t *labels, const float *margins,
                   double usual) {
    const size_t n = data->n_rows, n_values = (size_t)n_clusters * data->n_columns;
    const double before = watch->usual;
    ef_watch_free(watch);
    watch->usual = before > 0.0 ? before : usual;
    watch->n_rows = watch->capacity = n;
    watch->tier_of = ef_alloc(n, sizeof *watch->tier_of);
    watch->slots = ef_alloc(n, sizeof *watch->slots);
    size_t counts[EF_TIERS] = {0};
    bool fits = n < UINT32_MAX && watch->tier_of != NULL && watch->slots != NULL;
    for (size_t i = 0; i < n; i++)
        counts[tier_for((double)margins[i])]++;
    for (size_t below = counts[0]; watch->last_edge + 1 < EF_TIERS; watch->last_edge++) {
        below += counts[watch->last_edge + 1];
        if (below > n / FRONT_PART)
            break;
    }
    set_edge(watch);
    for (unsigned j = watch->edge + 1; fits && j < EF_TIERS; j++) {
        ef_tier *const tier = &watch->tiers[j];
        if (counts[j] == 0)
            continue;
        tier->rows = ef_alloc(counts[j], sizeof *tier->rows);
        tier->capacity = counts[j];
        fits = tier->rows != NULL && anchor(tier, level->centers, n_values);
    }
    for (size_t i = 0; fits && i < n; i++) {
        const uint32_t number = tier_for((double)margins[i]);
        fits = put(watch, number > watch->edge ? number : EF_FRONT,
                   (ef_watched){(uint32_t)i, labels[i]}, data);
    }
    if (!fits)
        ef_watch_free(watch);
    return fits;
}

void ef_watch_labels(const ef_watch *watch, uint32_t *labels) {
    for (unsigned j = 0; j < EF_TIERS; j++)
        for (size_t i = 0; i < watch->tiers[j].n_rows; i++)
            labels[watch->tiers[j].rows[i].position] = watch->tiers[j].rows[i].cluster;
}

/* ---------------------------------------------------------------- rows that leave and come */

/* Takes out the row at a position, where the last one then is. Returns its cluster. */
static uint32_t leave(ef_watch *watch, size_t position, size_t d) {
    const uint32_t cluster = take(watch, position, d).cluster;
    const size_t last = --watch->n_rows;
    if (position != last) {
        const uint8_t number = watch->tier_of[last];
        watch->tier_of[position] = number;
        watch->slots[position] = watch->slots[last];
        watch->tiers[number].rows[watch->slots[last]].position = (uint32_t)position;
    }
    return cluster;
}

/* A row that comes is in the front until it is looked at. */
static bool come(ef_watch *watch, const ef_change *change, size_t i, uint32_t cluster) {
    const size_t position = change->positions[i], d = change->n_columns;
    if (!make_room(watch, EF_FRONT, d))
        return false;
    ef_tier *const front = &watch->tiers[EF_FRONT];
    const size_t slot = front->n_rows++;
    copy_row(front_row(watch, slot, d), ef_change_first(change, i), d);
    front->rows[slot] = (ef_watched){(uint32_t)position, cluster};
    watch->slots[position] = (uint32_t)slot;
    watch->tier_of[position] = EF_FRONT;
    watch->has_new |= cluster == EF_NO_CLUSTER;
    return true;
}

/* Makes room for one more row at the end. */
static bool grow(ef_watch *watch) {
    if (watch->n_rows == watch->capacity) {
        const size_t capacity = watch->capacity + watch->capacity / 4 + EF_PANEL;
        uint8_t *const tier_of = ef_realloc(watch->tier_of, capacity, sizeof *tier_of);
        if (tier_of == NULL)
            return false;
        watch->tier_of = tier_of;
        uint32_t *const slots = ef_realloc(watch->slots, capacity, sizeof *slots);
        if (slots == NULL)
            return false;
        watch->slots = slots;
        watch->capacity = capacity;
    }
    watch->n_rows++;
    return watch->n_rows < UINT32_MAX;
}

bool ef_watch_follow(ef_watch *watch, const ef_change *change, uint32_t *labels) {
    const size_t d = change->n_columns;
    for (size_t i = 0; i < change->n_rows; i++) {
        const size_t position = change->positions[i];
        if (change->leaves[i] && change->replaces) {
            const ef_tier *const tier = &watch->tiers[watch->tier_of[position]];
            labels[i] = tier->rows[watch->slots[position]].cluster;
        } else if (change->leaves[i]) {
            labels[i] = leave(watch, position, d);
        } else {
            if (change->replaces)
                (void)take(watch, position, d);
            else if (!grow(watch))
                return false;
            if (!come(watch, change, i, labels[i]))
                return false;
        }
    }
    return true;
}

/* ---------------------------------------------------------------- centers that move */

/* Notes how far centers have moved, and how many rows of each tier are therefore to be looked at:
 * all or none. Returns how many that is. */
static size_t note_moves(ef_watch *watch, const ef_moving *m, size_t look[EF_TIERS]) {
    const uint32_t k = m->n_clusters, d = m->map->n_columns;
    const double step = farthest(m->before, m->after, k, d);
    size_t n = 0;
    for (uint32_t j = 1; j < EF_TIERS; j++) {
        ef_tier *const tier = &watch->tiers[j];
        look[j] = 0;
        if (tier->n_rows == 0)
            continue;
        tier->moved = (tier->moved + step) * (1.0 + 0x1p-48);
        if (tier->moved >= reach(j))
            tier->moved = farthest(tier->anchor, m->after, k, d);
        look[j] = tier->moved >= reach(j) ? tier->n_rows : 0;
        n += look[j];
    }
    look[EF_FRONT] = step > 0.0 || watch->has_new ? watch->tiers[EF_FRONT].n_rows : 0;
    n += look[EF_FRONT];
    /* Towards the median of steps, for a few of them are very long. */
    if (step > 0.0)
        watch->usual *= step > watch->usual ? LATELY : 1.0 / LATELY;
    set_edge(watch);
    return n;
}

/* The highest tier that a margin, measured from `after`, allows: the tier's reach, and what centers
 * have moved since its anchor. EF_TIERS if memory is short. */
static uint32_t choose(ef_watch *watch, const ef_moving *m, float margin) {
    for (uint32_t number = tier_for((double)margin); number > watch->edge; number--) {
        ef_tier *const tier = &watch->tiers[number];
        if (tier->n_rows == 0 && !anchor(tier, m->after, (size_t)m->n_clusters * m->map->n_columns))
            return EF_TIERS;
        if ((double)margin >= reach(number) + tier->moved)
            return number;
    }
    return EF_FRONT;
}

static void move(const ef_moving *m, size_t position, uint32_t from, uint32_t to) {
    const size_t d = m->map->n_columns;
    const int64_t weight = ef_data_weight(m->data, position);
    m->counts[to] += weight;
    if (from != EF_NO_CLUSTER)
        m->counts[from] -= weight;
    m->kernels->move_row(m->map, ef_data_first(m->data, position), weight, m->sums + to * d,
                         from != EF_NO_CLUSTER ? m->sums + from * d : NULL);
}

/* What becomes of a row that was looked at: its cluster, and the tier it goes to. */
static bool settle(ef_watch *watch, ef_moving *m, uint32_t number, size_t slot, uint32_t cluster,
                   float margin) {
    ef_watched *const row = &watch->tiers[number].rows[slot];
    if (cluster != row->cluster) {
        move(m, row->position, row->cluster, cluster);
        m->rows_moved += row->cluster != EF_NO_CLUSTER;
        row->cluster = cluster;
    }
    const uint32_t to = choose(watch, m, margin);
    return to == number || (to < EF_TIERS &&
                            put(watch, to, take(watch, row->position, m->map->n_columns), m->data));
}

/* The values of up to sixteen rows as a panel. */
static void gather(const ef_moving *m, const ef_watched *rows, unsigned n, float *values) {
    for (unsigned i = 0; i < n; i++)
        copy_row(values + i, ef_data_first(m->data, rows[i].position), m->map->n_columns);
}

/* Looks at the first rows of a tier, from the last of them on: where a row leaves the list, one
 * that was looked at takes its place. */
static bool look_at(ef_watch *watch, ef_moving *m, uint32_t number, size_t n_rows,
                    const ef_centers *centers) {
    const size_t d = m->map->n_columns;
    /* A row of the front stays there until its margin is well beyond the edge. */
    const float stays = (float)reach(watch->edge + 1 < EF_TIERS ? watch->edge + 1 : EF_TIERS - 1);
    for (size_t panel = (n_rows + EF_PANEL - 1) / EF_PANEL; panel-- > 0;) {
        uint32_t nearest[EF_PANEL];
        float margins[EF_PANEL];
        const size_t first = panel * EF_PANEL;
        const unsigned n = n_rows - first < EF_PANEL ? (unsigned)(n_rows - first) : EF_PANEL;
        const ef_watched *const rows = watch->tiers[number].rows + first;
        const float *values = m->room;
        if (number == EF_FRONT)
            values = watch->front + first * d;
        else
            gather(m, rows, n, m->room);
        m->rows_undecided += m->kernels->nearest(centers, m->map, values, n, values,
                                                 m->room + d * EF_PANEL, nearest, margins);
        for (unsigned i = n; i-- > 0;) {
            const ef_watched *const row = &watch->tiers[number].rows[first + i];
            if (number == EF_FRONT && nearest[i] == row->cluster && margins[i] < stays)
                continue;
            if (!settle(watch, m, number, first + i, nearest[i], margins[i]))
                return false;
        }
    }
    m->rows_looked += n_rows;
    return true;
}

/* Looks at the tiers that are to be looked at. From now on they are measured from `after`. */
static bool look_at_all(ef_watch *watch, ef_moving *m, const size_t look[EF_TIERS],
                        const ef_centers *centers) {
    const size_t n_values = (size_t)m->n_clusters * m->map->n_columns;
    for (uint32_t j = 1; j < EF_TIERS; j++)
        if (look[j] != 0 && !anchor(&watch->tiers[j], m->after, n_values))
            return false;
    for (uint32_t j = 0; j < EF_TIERS; j++)
        if (look[j] != 0 && !look_at(watch, m, j, look[j], centers))
            return false;
    watch->has_new = false;
    return true;
}

#ifndef NDEBUG
/* Every row is where the exact kernel puts it. */
static void check_all(const ef_watch *watch, const ef_moving *m, const ef_centers *centers) {
    assert(watch->n_rows == m->data->n_rows);
    for (size_t first = 0; first < watch->n_rows; first += EF_PANEL) {
        uint32_t nearest[EF_PANEL];
        const size_t rest = watch->n_rows - first;
        const unsigned n = rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
        const float *const values = ef_data_panel(m->data, first / EF_PANEL);
        (void)m->kernels->nearest(centers, m->map, values, n, values, m->room, nearest, NULL);
        for (unsigned i = 0; i < n; i++) {
            const ef_tier *const tier = &watch->tiers[watch->tier_of[first + i]];
            const ef_watched *const row = &tier->rows[watch->slots[first + i]];
            assert(row->position == first + i && row->cluster == nearest[i]);
        }
    }
}
#endif

efface_status ef_watch_move(ef_watch *watch, ef_moving *m, bool *few, efface_error *error) {
    const uint32_t k = m->n_clusters, d = m->map->n_columns;
    size_t look[EF_TIERS];
    const size_t n = note_moves(watch, m, look);
    *few = n <= watch->n_rows / PASS_FROM_PART + EF_PANEL;
    if (!*few || n == 0)
        return EFFACE_OK;
    ef_centers centers;
    if (!ef_centers_init(&centers, m->after, k, d, m->kernels->tile))
        return ef_fail_memory(error);
    const bool fits = look_at_all(watch, m, look, &centers);
#ifndef NDEBUG
    if (fits)
        check_all(watch, m, &centers);
#endif
    ef_centers_free(&centers);
    return fits ? EFFACE_OK : ef_fail_memory(error);
}
