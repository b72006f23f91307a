/* Margins of a level: rows in tiers by how far centers may move before they can change
 * (level_margins.h). */
#include "model/kmeans/kept/level_margins.h"

#include "base/memory/memory.h"

#include <assert.h>
#include <string.h>

/* Looking at a row costs several times what it costs in a pass, which reads memory in order. */
#define PASS_FROM_PART 6

/* How many times the usual move a margin must be for a row not to be kept as one near a border:
 * looking at a row of a tier costs far more than searching borders. */
#define BORDER_MOVES 8.0

/* When to look at a row that is far from its border by now: beyond the edge by so much that it will
 * not be back at once. */
#define LEAVES_BORDER 6.0

/* How many tiers below the edge may be a row's third: they are due often, but rows with a third
 * cluster so near are few. */
#define THIRD_BEFORE_EDGE 2

/* How many tiers above the edge are told apart. Rows with larger margins are in the last of them.
 */
#define MAX_BEYOND_EDGE 8

/* By what factor the usual move changes with each that is longer or shorter. */
#define LATELY 1.0625

/* About this part of all rows at most is kept as near borders. */
#define BORDER_PART 32

/* How far centers may move before the rows of a tier must be looked at. */
static double reach_margins(uint32_t tier) {
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

static void set_edge(ef_level_margins *kept) {
    const uint32_t wanted = tier_for((float)(BORDER_MOVES * kept->usual));
    kept->edge = wanted < kept->last_edge ? wanted : kept->last_edge;
}

void ef_level_margins_free(ef_level_margins *kept) {
    for (unsigned j = 0; j < EF_TIERS; j++)
        ef_free(kept->anchors[j]);
    ef_border_rows_free(&kept->border_rows);
    ef_free(kept->tiers);
    ef_free(kept->clusters);
    *kept = (ef_level_margins){0};
}

size_t ef_level_margins_bytes(const ef_level_margins *kept, size_t n_clusters, size_t n_columns) {
    size_t n = kept->capacity * (sizeof *kept->tiers + sizeof *kept->clusters);
    for (unsigned j = 0; j < EF_TIERS; j++)
        n += kept->anchors[j] != NULL ? n_clusters * n_columns * sizeof *kept->anchors[j] : 0;
    return n + ef_border_rows_bytes(&kept->border_rows);
}

/* ---------------------------------------------------------------- making */

/* Measures a tier from these centers on. */
static bool anchor(ef_level_margins *kept, uint32_t tier, const int32_t *centers, size_t n_values) {
    if (kept->anchors[tier] == NULL)
        kept->anchors[tier] = ef_alloc(n_values, sizeof *kept->anchors[tier]);
    if (kept->anchors[tier] == NULL)
        return false;
    memcpy(kept->anchors[tier], centers, n_values * sizeof *centers);
    kept->moved[tier] = 0.0;
    return true;
}

/* The tier in use that rows of a tier belong to; the edge or below for rows near borders. */
static uint32_t in_use(const ef_level_margins *kept, uint32_t tier) {
    const uint32_t most = kept->edge + MAX_BEYOND_EDGE;
    return tier < most ? tier : most;
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

bool ef_level_margins_make(ef_level_margins *kept, const efface_data *data, const ef_map *map,
                           const ef_level *level, uint32_t n_clusters, const uint32_t *labels,
                           const float *margins, double usual) {
    const size_t n = data->n_rows, n_values = (size_t)n_clusters * data->n_columns;
    const double before = kept->usual;
    ef_level_margins_free(kept);
    if (!ef_positions_are_short(n))
        return false;
    kept->usual = before > 0.0 ? before : usual;
    kept->n_rows = kept->capacity = n;
    kept->tiers = ef_alloc(n, sizeof *kept->tiers);
    kept->clusters = ef_alloc(n, sizeof *kept->clusters);
    bool fits = kept->tiers != NULL && kept->clusters != NULL &&
                ef_border_rows_init(&kept->border_rows, data, map, level->centers, n_clusters);
    size_t counts[EF_TIERS] = {0};
    if (fits)
        note_tiers(margins, n, kept->tiers, counts);
    for (size_t below = counts[0]; kept->last_edge + 1 < EF_TIER_NEW - MAX_BEYOND_EDGE;
         kept->last_edge++) {
        below += counts[kept->last_edge + 1];
        if (below > n / BORDER_PART)
            break;
    }
    set_edge(kept);
    /* More has to be known of rows near borders: they are looked at once more. */
    uint8_t becomes[EF_TIERS];
    for (uint32_t j = 0; j < EF_TIERS; j++) {
        const uint32_t number = in_use(kept, j);
        becomes[j] = (uint8_t)(number > kept->edge ? number : EF_TIER_NEW);
        kept->n_in[becomes[j]] += counts[j];
    }
    for (size_t i = 0; fits && i < n; i++) {
        kept->tiers[i] = becomes[kept->tiers[i]];
        kept->clusters[i] = (uint16_t)labels[i];
    }
    for (uint32_t j = 1; fits && j < EF_TIER_NEW; j++)
        fits = kept->n_in[j] == 0 || anchor(kept, j, level->centers, n_values);
    if (!fits)
        ef_level_margins_free(kept);
    return fits;
}

static uint32_t cluster_of(const ef_level_margins *kept, size_t position) {
    const uint16_t cluster = kept->clusters[position];
    return cluster != UINT16_MAX ? cluster : EF_NO_CLUSTER;
}

void ef_level_margins_labels(const ef_level_margins *kept, uint32_t *labels) {
    for (size_t i = 0; i < kept->n_rows; i++)
        labels[i] = cluster_of(kept, i);
}

/* ---------------------------------------------------------------- rows that leave and come */

/* Takes a row out of its tier or from its border. */
static void take_margins(ef_level_margins *kept, size_t position) {
    const uint8_t tier = kept->tiers[position];
    if (tier == EF_AT_BORDER)
        kept->users[ef_border_rows_take(&kept->border_rows, kept->clusters[position], position)]--;
    else
        kept->n_in[tier]--;
}

/* Takes out the row at a position, where the last one then is. */
static void leave(ef_level_margins *kept, size_t position) {
    take_margins(kept, position);
    const size_t last = --kept->n_rows;
    if (position == last)
        return;
    if (kept->tiers[last] == EF_AT_BORDER)
        ef_border_rows_rename(&kept->border_rows, kept->clusters[last], last, position);
    kept->tiers[position] = kept->tiers[last];
    kept->clusters[position] = kept->clusters[last];
}

/* Makes room for one more row at the end. */
static bool grow_margins(ef_level_margins *kept) {
    if (!ef_positions_are_short(kept->n_rows + 1))
        return false;
    if (kept->n_rows == kept->capacity) {
        const size_t capacity = kept->capacity + kept->capacity / 4 + EF_PANEL;
        uint8_t *const tiers = ef_realloc(kept->tiers, capacity, sizeof *tiers);
        if (tiers == NULL)
            return false;
        kept->tiers = tiers;
        uint16_t *const clusters = ef_realloc(kept->clusters, capacity, sizeof *clusters);
        if (clusters == NULL)
            return false;
        kept->clusters = clusters;
        kept->capacity = capacity;
    }
    kept->n_rows++;
    return true;
}

bool ef_level_margins_follow(ef_level_margins *kept, const ef_change *change, uint32_t *labels) {
    for (size_t i = 0; i < change->n_rows; i++) {
        const size_t position = change->positions[i];
        if (position == EF_NO_POSITION)
            continue;
        if (change->leaves[i]) {
            labels[i] = cluster_of(kept, position);
            if (!change->replaces)
                leave(kept, position);
            continue;
        }
        if (change->replaces)
            take_margins(kept, position);
        else if (!grow_margins(kept))
            return false;
        kept->tiers[position] = EF_TIER_NEW;
        kept->clusters[position] = labels[i] != EF_NO_CLUSTER ? (uint16_t)labels[i] : UINT16_MAX;
        kept->n_in[EF_TIER_NEW]++;
    }
    return true;
}

/* ---------------------------------------------------------------- centers that move */

/* Notes how far centers have moved, and which tiers are therefore to be looked at. Returns how many
 * rows of tiers that is. */
static size_t note_moves(ef_level_margins *kept, const ef_center_move *m, bool due[EF_TIERS],
                         double *step) {
    const uint32_t k = m->n_clusters, d = m->map->n_columns;
    size_t n = kept->n_in[EF_TIER_NEW];
    *step = ef_farthest(m->before, m->after, k, d);
    memset(due, 0, EF_TIERS * sizeof *due);
    due[EF_TIER_NEW] = n != 0;
    for (uint32_t j = 1; j < EF_TIER_NEW; j++) {
        if (kept->n_in[j] + kept->users[j] == 0)
            continue;
        kept->moved[j] = (kept->moved[j] + *step) * (1.0 + 0x1p-48);
        if (kept->moved[j] >= reach_margins(j))
            kept->moved[j] = ef_farthest(kept->anchors[j], m->after, k, d);
        due[j] = kept->moved[j] >= reach_margins(j);
        n += due[j] ? kept->n_in[j] : 0;
    }
    /* Towards the median of steps, for a few of them are very long. */
    if (*step > 0.0)
        kept->usual *= *step > kept->usual ? LATELY : 1.0 / LATELY;
    set_edge(kept);
    return n;
}

/* Room for the rows of tiers that are to be looked at, and for all near borders. */
static bool reserve_move(ef_center_move *m, size_t n_due, size_t n_at_borders) {
    const size_t n_look = n_due + n_at_borders, n_places = n_look + n_at_borders;
    if (m->n_places < n_places) {
        ef_free(m->look);
        m->look = ef_alloc(n_places, sizeof *m->look);
        m->n_places = m->look != NULL ? n_places : 0;
    }
    m->found = m->look != NULL ? m->look + n_look : NULL;
    m->n_look = 0;
    return m->n_places >= n_places;
}

/* Takes the rows that are to be looked at out of tiers and from borders; those that are now on the
 * other side of their border it moves. */
static bool collect_margins(ef_level_margins *kept, ef_center_move *m, const bool due[EF_TIERS],
                            double step) {
    for (uint32_t j = 1; j < EF_TIERS; j++) {
        if (!due[j])
            continue;
        const uint8_t *at = kept->tiers;
        for (size_t left = kept->n_in[j]; left > 0; left--, at++) {
            at = memchr(at, (int)j, kept->n_rows - (size_t)(at - kept->tiers));
            assert(at != NULL);
            m->look[m->n_look++] = (uint32_t)(at - kept->tiers);
        }
        kept->n_in[j] = 0;
    }
    if (kept->border_rows.n_rows == 0 || !(step > 0.0))
        return true;
    ef_border_rows_rebase(&kept->border_rows, m, reach_margins(kept->edge));
    const ef_border_search search = {
        .far = LEAVES_BORDER * reach_margins(kept->edge),
        .due = due,
        .users = kept->users,
        .clusters = kept->clusters,
    };
    return ef_border_rows_search(&kept->border_rows, m, &search);
}

/* The highest tier above `least` that a margin, measured from `after`, allows: the tier's reach,
 * and what centers have moved since its anchor. 0 for none, EF_TIERS if out of memory. */
static uint32_t choose_margins(ef_level_margins *kept, const ef_center_move *m, float margin,
                               uint32_t least) {
    for (uint32_t j = in_use(kept, tier_for(margin)); j > least; j--) {
        if (kept->n_in[j] + kept->users[j] == 0 &&
            !anchor(kept, j, m->after, (size_t)m->n_clusters * m->map->n_columns))
            return EF_TIERS;
        if ((double)margin >= reach_margins(j) + kept->moved[j])
            return j;
    }
    return 0;
}

/* What becomes of a row that was looked at: its cluster, and where it is kept from now on. */
static bool settle_margins(ef_level_margins *kept, ef_center_move *m, size_t position,
                           const ef_survey *found, unsigned i, const float *panel) {
    const uint32_t from = cluster_of(kept, position), to = found->nearest[i];
    if (from != to) {
        kept->clusters[position] = (uint16_t)to;
        ef_center_move_row(m, position, m->room + i, from, to);
    }
    const uint32_t tier = choose_margins(kept, m, found->margin[i], kept->edge);
    if (tier == EF_TIERS)
        return false;
    if (tier != 0) {
        kept->tiers[position] = (uint8_t)tier;
        kept->n_in[tier]++;
        return true;
    }
    const uint32_t least = kept->edge > THIRD_BEFORE_EDGE ? kept->edge - THIRD_BEFORE_EDGE : 0;
    const uint32_t allowed = choose_margins(kept, m, found->beyond[i], least);
    if (allowed == EF_TIERS)
        return false;
    uint8_t third = (uint8_t)allowed;
    if (!ef_border_rows_put(&kept->border_rows, m, position, found, i, panel, &third))
        return false;
    kept->tiers[position] = EF_AT_BORDER;
    kept->users[third]++;
    return true;
}

/* Looks at the rows that were taken out, and settles each. */
static bool look_margins(ef_level_margins *kept, ef_center_move *m, const ef_centers *centers) {
    float *const values = m->room, *const panel = m->room + (size_t)m->map->n_columns * EF_PANEL;
    for (size_t first = 0; first < m->n_look; first += EF_PANEL) {
        const uint32_t *const rows = m->look + first;
        const size_t rest = m->n_look - first;
        const unsigned n = rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
        ef_survey found;
        for (unsigned i = 0; i < n; i++)
            ef_data_gather(m->data, rows[i], values + i);
        m->work.rows_undecided += m->kernels->survey(centers, m->map, values, n, panel, &found);
        for (unsigned i = 0; i < n; i++)
            if (!settle_margins(kept, m, rows[i], &found, i, panel))
                return false;
    }
    m->work.rows_assigned += m->n_look;
    return true;
}

#ifndef NDEBUG
/* Every row is where the exact kernel puts it. */
static void check_all(const ef_level_margins *kept, const ef_center_move *m,
                      const ef_centers *centers) {
    assert(kept->n_rows == m->data->n_rows);
    for (size_t first = 0; first < kept->n_rows; first += EF_PANEL) {
        uint32_t nearest[EF_PANEL];
        const size_t rest = kept->n_rows - first;
        const unsigned n = rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
        const float *const values = ef_data_panel(m->data, first / EF_PANEL);
        (void)m->kernels->nearest(centers, m->map, values, n, values, m->room, nearest, NULL);
        for (unsigned i = 0; i < n; i++)
            assert(kept->clusters[first + i] == nearest[i]);
    }
}
#endif

/* Memory can run short anywhere below: a row is given to another cluster in partition, counts and
 * sums at once, so these belong together wherever it ends. */
bool ef_level_margins_move(ef_level_margins *kept, ef_center_move *m) {
    const uint32_t k = m->n_clusters, d = m->map->n_columns;
    const size_t n_values = (size_t)k * d, most = kept->n_rows / PASS_FROM_PART + EF_PANEL;
    bool due[EF_TIERS];
    double step;
    const size_t n_due = note_moves(kept, m, due, &step);
    if (n_due > most || !reserve_move(m, n_due, kept->border_rows.n_rows))
        return false;
    ef_border_rows_measure(&kept->border_rows, m);
    if (!collect_margins(kept, m, due, step) || m->n_look > most)
        return false;
#ifdef NDEBUG
    if (m->n_look == 0)
        return true;
#endif
    bool fits = true;
    for (uint32_t j = 1; j < EF_TIER_NEW && fits; j++)
        fits = !due[j] || anchor(kept, j, m->after, n_values);
    ef_centers centers;
    if (!fits || !ef_centers_init(&centers, m->after, k, d, m->kernels->tile))
        return false;
    fits = look_margins(kept, m, &centers);
#ifndef NDEBUG
    if (fits)
        check_all(kept, m, &centers);
#endif
    ef_centers_free(&centers);
    return fits;
}
