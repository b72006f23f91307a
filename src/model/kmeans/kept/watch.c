/* Watches: rows in tiers by how far centers may move before they can change (watch.h). */
#include "model/kmeans/kept/watch.h"

#include "base/checked.h"

#include <assert.h>
#include <string.h>

/* Looking at a row costs several times what it costs in a pass, which reads memory in order. */
#define PASS_FROM_PART 6

/* How many times the usual move a margin must be for a row to be in no need of the front: looking
 * at a row of a tier costs far more than sifting it. */
#define FRONT_MOVES 8.0

/* When to look at a row of the front that is far from its border by now: beyond the edge by so
 * much that it will not be back at once. */
#define LEAVES_FRONT 6.0

/* How many tiers below the edge may be a row's third: they are due often, but rows with a third
 * cluster so near are few. */
#define THIRD_BEFORE_EDGE 2

/* How many tiers above the edge are told apart. Rows with larger margins are in the last of them.
 */
#define MOST_BEYOND_EDGE 8

/* By what factor the usual move changes with each that is longer or shorter. */
#define LATELY 1.0625

/* The front has about this part of all rows at most. */
#define FRONT_PART 32

/* How far centers may move before the rows of a tier must be looked at. */
static double reach(uint32_t tier) {
    return (double)(UINT64_C(1) << tier);
}

/* The highest tier whose reach a margin has; 0 for none. */
static uint32_t tier_for(float margin) {
    uint32_t bits;
    memcpy(&bits, &margin, sizeof bits);
    const uint32_t exponent = bits >> 23; /* margins are not negative */
    const uint32_t tier = exponent > 127 ? exponent - 127 : 0;
    return tier < EF_TIER_NEW ? tier : EF_TIER_NEW - 1;
}

static void set_edge(ef_watch *watch) {
    const uint32_t wanted = tier_for((float)(FRONT_MOVES * watch->usual));
    watch->edge = wanted < watch->last_edge ? wanted : watch->last_edge;
}

void ef_watch_free(ef_watch *watch) {
    for (unsigned j = 0; j < EF_TIERS; j++)
        ef_free(watch->anchors[j]);
    ef_front_free(&watch->front);
    ef_free(watch->tiers);
    ef_free(watch->clusters);
    *watch = (ef_watch){0};
}

size_t ef_watch_bytes(const ef_watch *watch, size_t n_clusters, size_t n_columns) {
    size_t n = watch->capacity * (sizeof *watch->tiers + sizeof *watch->clusters);
    for (unsigned j = 0; j < EF_TIERS; j++)
        n += watch->anchors[j] != NULL ? n_clusters * n_columns * sizeof *watch->anchors[j] : 0;
    return n + ef_front_bytes(&watch->front);
}

/* ---------------------------------------------------------------- making */

/* Measures a tier from these centers on. */
static bool anchor(ef_watch *watch, uint32_t tier, const int32_t *centers, size_t n_values) {
    if (watch->anchors[tier] == NULL)
        watch->anchors[tier] = ef_alloc(n_values, sizeof *watch->anchors[tier]);
    if (watch->anchors[tier] == NULL)
        return false;
    memcpy(watch->anchors[tier], centers, n_values * sizeof *centers);
    watch->moved[tier] = 0.0;
    return true;
}

/* The tier in use that rows of a tier belong to; the edge or below for the front. */
static uint32_t in_use(const ef_watch *watch, uint32_t tier) {
    const uint32_t most = watch->edge + MOST_BEYOND_EDGE;
    return tier < most ? tier : most;
}

/* A front whose cells have the ranges of the columns. */
static bool make_front(ef_front *front, const efface_data *data, const ef_map *map,
                       const int32_t *centers, uint32_t n_clusters) {
    const uint32_t d = map->n_columns;
    int32_t *const ends = ef_alloc(2 * (size_t)d, sizeof *ends);
    if (ends == NULL)
        return false;
    for (uint32_t j = 0; j < d; j++) {
        ends[j] = ef_snap(data->ranges.least[j], map->low[j], map->step[j]);
        ends[d + j] = ef_snap(data->ranges.most[j], map->low[j], map->step[j]);
    }
    const bool fits = ef_front_init(front, centers, n_clusters, d, ends, ends + d);
    ef_free(ends);
    return fits;
}

/* The tiers that margins would have, and how many rows are in each. */
static void note_tiers(const float *margins, size_t n, uint8_t *tiers, size_t counts[EF_TIERS]) {
    for (size_t i = 0; i < n; i++)
        tiers[i] = (uint8_t)tier_for(margins[i]);
    size_t parts[4][EF_TIERS] = {{0}}; /* so that one need not wait for the other */
    for (size_t i = 0; i < n; i++)
        parts[i % 4][tiers[i]]++;
    for (unsigned j = 0; j < EF_TIERS; j++)
        counts[j] = parts[0][j] + parts[1][j] + parts[2][j] + parts[3][j];
}

bool ef_watch_make(ef_watch *watch, const efface_data *data, const ef_map *map,
                   const ef_level *level, uint32_t n_clusters, const uint32_t *labels,
                   const float *margins, double usual) {
    const size_t n = data->n_rows, n_values = (size_t)n_clusters * data->n_columns;
    const double before = watch->usual;
    ef_watch_free(watch);
    if (!ef_positions_are_short(n))
        return false;
    watch->usual = before > 0.0 ? before : usual;
    watch->n_rows = watch->capacity = n;
    watch->tiers = ef_alloc(n, sizeof *watch->tiers);
    watch->clusters = ef_alloc(n, sizeof *watch->clusters);
    bool fits = watch->tiers != NULL && watch->clusters != NULL &&
                make_front(&watch->front, data, map, level->centers, n_clusters);
    size_t counts[EF_TIERS] = {0};
    if (fits)
        note_tiers(margins, n, watch->tiers, counts);
    for (size_t below = counts[0]; watch->last_edge + 1 < EF_TIER_NEW - MOST_BEYOND_EDGE;
         watch->last_edge++) {
        below += counts[watch->last_edge + 1];
        if (below > n / FRONT_PART)
            break;
    }
    set_edge(watch);
    /* The front will want to know more of its rows: they are looked at once more. */
    uint8_t becomes[EF_TIERS];
    for (uint32_t j = 0; j < EF_TIERS; j++) {
        const uint32_t number = in_use(watch, j);
        becomes[j] = (uint8_t)(number > watch->edge ? number : EF_TIER_NEW);
        watch->n_in[becomes[j]] += counts[j];
    }
    for (size_t i = 0; fits && i < n; i++) {
        watch->tiers[i] = becomes[watch->tiers[i]];
        watch->clusters[i] = (uint16_t)labels[i];
    }
    for (uint32_t j = 1; fits && j < EF_TIER_NEW; j++)
        fits = watch->n_in[j] == 0 || anchor(watch, j, level->centers, n_values);
    if (!fits)
        ef_watch_free(watch);
    return fits;
}

static uint32_t cluster_of(const ef_watch *watch, size_t position) {
    const uint16_t cluster = watch->clusters[position];
    return cluster != UINT16_MAX ? cluster : EF_NO_CLUSTER;
}

void ef_watch_labels(const ef_watch *watch, uint32_t *labels) {
    for (size_t i = 0; i < watch->n_rows; i++)
        labels[i] = cluster_of(watch, i);
}

/* ---------------------------------------------------------------- rows that leave and come */

/* Takes a row out of its tier or of the front. */
static void take(ef_watch *watch, size_t position) {
    const uint8_t tier = watch->tiers[position];
    if (tier == EF_IN_FRONT)
        watch->users[ef_front_take(&watch->front, watch->clusters[position], position)]--;
    else
        watch->n_in[tier]--;
}

/* Takes out the row at a position, where the last one then is. */
static void leave(ef_watch *watch, size_t position) {
    take(watch, position);
    const size_t last = --watch->n_rows;
    if (position == last)
        return;
    if (watch->tiers[last] == EF_IN_FRONT)
        ef_front_rename(&watch->front, watch->clusters[last], last, position);
    watch->tiers[position] = watch->tiers[last];
    watch->clusters[position] = watch->clusters[last];
}

static void come(ef_watch *watch, size_t position, uint32_t cluster) {
    watch->tiers[position] = EF_TIER_NEW;
    watch->clusters[position] = cluster != EF_NO_CLUSTER ? (uint16_t)cluster : UINT16_MAX;
    watch->n_in[EF_TIER_NEW]++;
}

/* Makes room for one more row at the end. */
static bool grow(ef_watch *watch) {
    if (!ef_positions_are_short(watch->n_rows + 1))
        return false;
    if (watch->n_rows == watch->capacity) {
        const size_t capacity = watch->capacity + watch->capacity / 4 + EF_PANEL;
        uint8_t *const tiers = ef_realloc(watch->tiers, capacity, sizeof *tiers);
        if (tiers == NULL)
            return false;
        watch->tiers = tiers;
        uint16_t *const clusters = ef_realloc(watch->clusters, capacity, sizeof *clusters);
        if (clusters == NULL)
            return false;
        watch->clusters = clusters;
        watch->capacity = capacity;
    }
    watch->n_rows++;
    return true;
}

bool ef_watch_follow(ef_watch *watch, const ef_change *change, uint32_t *labels) {
    for (size_t i = 0; i < change->n_rows; i++) {
        const size_t position = change->positions[i];
        if (change->leaves[i]) {
            labels[i] = cluster_of(watch, position);
            if (!change->replaces)
                leave(watch, position);
            continue;
        }
        if (change->replaces)
            take(watch, position);
        else if (!grow(watch))
            return false;
        come(watch, position, labels[i]);
    }
    return true;
}

/* ---------------------------------------------------------------- centers that move */

/* Notes how far centers have moved, and which tiers are therefore to be looked at. Returns how many
 * rows of tiers that is. */
static size_t note_moves(ef_watch *watch, const ef_moving *m, bool due[EF_TIERS], double *step) {
    const uint32_t k = m->n_clusters, d = m->map->n_columns;
    size_t n = watch->n_in[EF_TIER_NEW];
    *step = ef_farthest(m->before, m->after, k, d);
    memset(due, 0, EF_TIERS * sizeof *due);
    due[EF_TIER_NEW] = n != 0;
    for (uint32_t j = 1; j < EF_TIER_NEW; j++) {
        if (watch->n_in[j] + watch->users[j] == 0)
            continue;
        watch->moved[j] = (watch->moved[j] + *step) * (1.0 + 0x1p-48);
        if (watch->moved[j] >= reach(j))
            watch->moved[j] = ef_farthest(watch->anchors[j], m->after, k, d);
        due[j] = watch->moved[j] >= reach(j);
        n += due[j] ? watch->n_in[j] : 0;
    }
    /* Towards the median of steps, for a few of them are very long. */
    if (*step > 0.0)
        watch->usual *= *step > watch->usual ? LATELY : 1.0 / LATELY;
    set_edge(watch);
    return n;
}

/* Gives a row to another cluster. */
static void move(ef_watch *watch, ef_moving *m, size_t position, uint32_t to, const float *row) {
    const size_t d = m->map->n_columns;
    const int64_t weight = ef_data_weight(m->data, position);
    const uint32_t from = cluster_of(watch, position);
    watch->clusters[position] = (uint16_t)to;
    m->counts[to] += weight;
    int64_t *loses = NULL;
    if (from != EF_NO_CLUSTER) {
        m->counts[from] -= weight;
        m->rows_moved++;
        loses = m->sums + from * d;
    }
    m->kernels->move_row(m->map, row, weight, m->sums + to * d, loses);
}

typedef struct crossing {
    ef_watch *watch;
    ef_moving *moving;
} crossing;

static void cross(void *context, size_t position, uint32_t to, const float *row) {
    const crossing *const c = context;
    move(c->watch, c->moving, position, to, row);
}

/* Takes the rows that are to be looked at out of tiers and front; those of the front that are now
 * on the other side of their border it moves. */
static bool collect(ef_watch *watch, ef_moving *m, const bool due[EF_TIERS], double step) {
    m->look->n = 0;
    for (uint32_t j = 1; j < EF_TIERS; j++) {
        if (!due[j])
            continue;
        const uint8_t *at = watch->tiers;
        for (size_t left = watch->n_in[j]; left > 0; left--, at++) {
            at = memchr(at, (int)j, watch->n_rows - (size_t)(at - watch->tiers));
            assert(at != NULL);
            if (!ef_positions_add(m->look, (size_t)(at - watch->tiers)))
                return false;
        }
        watch->n_in[j] = 0;
    }
    if (watch->front.n_rows == 0 || !(step > 0.0))
        return true;
    ef_front_rebase(&watch->front, m->shift, m->after, reach(watch->edge));
    ef_sifting sifting = {
        .data = m->data,
        .map = m->map,
        .kernels = m->kernels,
        .centers = m->after,
        .values = m->room,
        .far = LEAVES_FRONT * reach(watch->edge),
        .due = due,
        .users = watch->users,
        .look = m->look,
        .cross = cross,
        .context = &(crossing){watch, m},
    };
    const bool fits = ef_front_sift(&watch->front, m->shift, &sifting);
    m->rows_looked += sifting.n_judged;
    return fits;
}

/* The highest tier above `least` that a margin, measured from `after`, allows: the tier's reach,
 * and what centers have moved since its anchor. 0 for none, EF_TIERS if memory is short. */
static uint32_t choose(ef_watch *watch, const ef_moving *m, float margin, uint32_t least) {
    for (uint32_t j = in_use(watch, tier_for(margin)); j > least; j--) {
        if (watch->n_in[j] + watch->users[j] == 0 &&
            !anchor(watch, j, m->after, (size_t)m->n_clusters * m->map->n_columns))
            return EF_TIERS;
        if ((double)margin >= reach(j) + watch->moved[j])
            return j;
    }
    return 0;
}

/* The tier above which thirds are. */
static uint32_t third_from(const ef_watch *watch) {
    return watch->edge > THIRD_BEFORE_EDGE ? watch->edge - THIRD_BEFORE_EDGE : 0;
}

/* What becomes of a row that was looked at: its cluster, and where it is watched from now on. */
static bool settle(ef_watch *watch, ef_moving *m, size_t position, const ef_survey *found,
                   unsigned i, const float *panel) {
    if (cluster_of(watch, position) != found->nearest[i])
        move(watch, m, position, found->nearest[i], m->room + i);
    const uint32_t tier = choose(watch, m, found->margin[i], watch->edge);
    if (tier == EF_TIERS)
        return false;
    if (tier != 0) {
        watch->tiers[position] = (uint8_t)tier;
        watch->n_in[tier]++;
        return true;
    }
    const uint32_t allowed = choose(watch, m, found->beyond[i], third_from(watch));
    if (allowed == EF_TIERS)
        return false;
    uint8_t third = (uint8_t)allowed;
    if (!ef_front_put(&watch->front, m->shift, position, found, i, panel, &third))
        return false;
    watch->tiers[position] = EF_IN_FRONT;
    watch->users[third]++;
    return true;
}

/* Looks at the rows that were taken out, and settles each. */
static bool look(ef_watch *watch, ef_moving *m, const ef_centers *centers) {
    float *const values = m->room, *const panel = m->room + (size_t)m->map->n_columns * EF_PANEL;
    for (size_t first = 0; first < m->look->n; first += EF_PANEL) {
        const uint32_t *const rows = m->look->at + first;
        const size_t rest = m->look->n - first;
        const unsigned n = rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
        ef_survey found;
        for (unsigned i = 0; i < n; i++)
            ef_data_gather(m->data, rows[i], values + i);
        m->rows_undecided += m->kernels->survey(centers, m->map, values, n, panel, &found);
        for (unsigned i = 0; i < n; i++)
            if (!settle(watch, m, rows[i], &found, i, panel))
                return false;
    }
    m->rows_looked += m->look->n;
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
        for (unsigned i = 0; i < n; i++)
            assert(watch->clusters[first + i] == nearest[i]);
    }
}
#endif

/* Memory can run short anywhere below: a row is given to another cluster in partition, counts and
 * sums at once, so these belong together wherever it ends. */
bool ef_watch_move(ef_watch *watch, ef_moving *m) {
    const uint32_t k = m->n_clusters, d = m->map->n_columns;
    const size_t n_values = (size_t)k * d, most = watch->n_rows / PASS_FROM_PART + EF_PANEL;
    bool due[EF_TIERS];
    double step;
    if (note_moves(watch, m, due, &step) > most)
        return false;
    ef_shift_measure(m->shift, &watch->front, m->before, m->after);
    if (!collect(watch, m, due, step) || m->look->n > most)
        return false;
#ifdef NDEBUG
    if (m->look->n == 0)
        return true;
#endif
    bool fits = true;
    for (uint32_t j = 1; j < EF_TIER_NEW && fits; j++)
        fits = !due[j] || anchor(watch, j, m->after, n_values);
    ef_centers centers;
    if (!fits || !ef_centers_init(&centers, m->after, k, d, m->kernels->tile))
        return false;
    fits = look(watch, m, &centers);
#ifndef NDEBUG
    if (fits)
        check_all(watch, m, &centers);
#endif
    ef_centers_free(&centers);
    return fits;
}
