/* Kept labels, with a byte for each row's margin (kept_labels.h). */
#include "model/kmeans/kept/kept_labels.h"

#include "base/memory/memory.h"

#include <assert.h>
#include <string.h>

/* Rows looked at since the last pass, as a part of all, that make the next move a pass: to look at
 * one costs several times what it costs in a pass, which reads memory in order. */
#define PASS_FROM_PART 6

/* Most passes without margins. */
#define MAX_WAITS 31

#define BYTE_CLUSTERS 256

/* ---------------------------------------------------------------- codes */

/* The code of a margin is its exponent and two more bits as a float has them, less what makes 63
 * the code of margins as long as the domain: 2^24 sqrt(d) and more, which no margin is. Half of the
 * exponent of d is rounded upwards. Margins of code 1 and less are loose. */
static uint32_t code_base(uint32_t d) {
    uint32_t half = 0;
    while ((UINT64_C(1) << 2 * half) < d)
        half++;
    return (127 + 24 + half) * 4 - (EF_MARGIN_CODES - 1);
}

static uint8_t code_of(float margin, uint32_t base) {
    uint32_t bits;
    memcpy(&bits, &margin, sizeof bits);
    bits >>= 21; /* margins are not negative */
    bits = bits > base ? bits - base : 0;
    return (uint8_t)(bits < EF_MARGIN_CODES ? bits : EF_MARGIN_CODES - 1);
}

/* The smallest margin that has a code. */
static double margin_of(uint32_t code, uint32_t base) {
    const uint32_t bits = (code + base) << 21;
    float margin;
    memcpy(&margin, &bits, sizeof margin);
    return (double)margin;
}

/* Rows with a code below this are to be looked at: at least the loose ones. */
static uint32_t limit_of(double moved, uint32_t base) {
    uint32_t code = 1;
    while (code < EF_MARGIN_CODES && margin_of(code, base) <= moved)
        code++;
    return code;
}

/* ---------------------------------------------------------------- memory */

void ef_kept_labels_free(ef_kept_labels *kept) {
    ef_free(kept->codes);
    ef_free(kept->labels);
    ef_free(kept->anchor);
    *kept = (ef_kept_labels){0};
}

static bool is_at(const float *row, const ef_map *map, const int32_t *point) {
    uint32_t j = 0;
    while (j < map->n_columns &&
           point[j] == ef_snap(row[(size_t)j * EF_PANEL], map->low[j], map->step[j]))
        j++;
    return j == map->n_columns;
}

void ef_kept_labels_forget(ef_kept_labels *kept, const ef_change *change, const ef_map *map,
                           uint32_t k) {
    const size_t n_values = (size_t)k * map->n_columns;
    for (size_t i = 0; i < change->n_rows; i++)
        for (size_t at = 0; change->leaves[i] && at < n_values; at += map->n_columns)
            if (is_at(ef_change_first(change, i), map, kept->anchor + at)) {
                memset(kept->anchor, 0, n_values * sizeof *kept->anchor);
                kept->is_anchored = false;
            }
}

bool ef_kept_labels_init(ef_kept_labels *kept, uint8_t *codes, size_t n_rows, uint32_t k,
                         uint32_t d) {
    *kept = (ef_kept_labels){.wide = k > BYTE_CLUSTERS};
    kept->labels = ef_alloc(n_rows, kept->wide ? sizeof(uint32_t) : 1);
    kept->anchor = ef_alloc_zero((size_t)k * d, sizeof *kept->anchor);
    if (kept->labels != NULL && kept->anchor != NULL) {
        kept->codes = codes;
        return true;
    }
    ef_kept_labels_free(kept);
    return false;
}

static void set_label(ef_kept_labels *kept, size_t row, uint32_t label) {
    if (kept->wide)
        ((uint32_t *)kept->labels)[row] = label;
    else
        ((uint8_t *)kept->labels)[row] = (uint8_t)label;
}

/* Makes room for n_rows rows. */
static bool grow_labels(ef_kept_labels *kept, size_t n_rows) {
    uint8_t *const codes = ef_realloc(kept->codes, n_rows, 1);
    if (codes == NULL)
        return false;
    kept->codes = codes;
    void *const labels = ef_realloc(kept->labels, n_rows, kept->wide ? sizeof(uint32_t) : 1);
    if (labels == NULL)
        return false;
    kept->labels = labels;
    return true;
}

bool ef_kept_labels_follow(ef_kept_labels *kept, const ef_change *change, size_t n_after,
                           const uint32_t *labels, const ef_rank *ranks, uint32_t shift) {
    size_t n_leave = 0, n_come = 0;
    for (size_t i = 0; i < change->n_rows; i++) {
        const bool here = change->positions[i] != EF_NO_POSITION;
        n_leave += here && change->leaves[i];
        n_come += here && !change->leaves[i];
    }
    if (n_come > n_leave && !grow_labels(kept, n_after))
        return false;
    size_t n = n_after + n_leave - n_come;
    for (size_t i = 0; i < change->n_rows; i++) {
        const size_t position = change->positions[i];
        if (position == EF_NO_POSITION)
            continue;
        if (change->leaves[i] && !change->replaces) { /* the last row comes into its place */
            n--;
            kept->codes[position] = kept->codes[n];
            set_label(kept, position, ef_kept_label(kept, n));
        } else if (!change->leaves[i]) {
            set_label(kept, position, labels[i]);
            kept->codes[position] = ranks != NULL ? ef_marks(ranks[i].need, shift) : 0;
        }
    }
    return true;
}

size_t ef_kept_labels_bytes(const ef_kept_labels *kept, size_t n_rows, size_t k, size_t d) {
    if (kept->codes == NULL)
        return 0;
    return n_rows * (1 + (kept->wide ? sizeof(uint32_t) : 1)) + k * d * sizeof *kept->anchor;
}

void ef_kept_labels_unpack(const ef_kept_labels *kept, size_t n_rows, uint32_t *labels) {
    if (kept->wide) {
        memcpy(labels, kept->labels, n_rows * sizeof *labels);
        return;
    }
    const uint8_t *const bytes = kept->labels;
    for (size_t i = 0; i < n_rows; i++)
        labels[i] = bytes[i];
}

void ef_kept_labels_pack(ef_kept_labels *kept, size_t n_rows, const uint32_t *labels,
                         const float *margins, const int32_t *centers, uint32_t k, uint32_t d) {
    const uint32_t base = code_base(d);
    uint8_t *const codes = kept->codes;
    for (size_t i = 0; margins != NULL && i < n_rows; i++)
        codes[i] = (uint8_t)((codes[i] & ~EF_MARGIN_CODE) | code_of(margins[i], base));
    for (size_t i = 0; margins == NULL && kept->is_anchored && i < n_rows; i++)
        codes[i] &= (uint8_t)~EF_MARGIN_CODE;
    uint8_t *const bytes = kept->labels;
    if (kept->wide)
        memcpy(kept->labels, labels, n_rows * sizeof *labels);
    else
        for (size_t i = 0; i < n_rows; i++)
            bytes[i] = (uint8_t)labels[i];
    if (margins != NULL)
        memcpy(kept->anchor, centers, (size_t)k * d * sizeof *centers);
    else if (kept->n_passes != 0)
        kept->n_passes--;
    kept->is_anchored = margins != NULL;
    kept->n_looked = 0;
}

/* ---------------------------------------------------------------- centers that move */

static size_t count_below(const uint8_t *codes, size_t n, uint32_t limit) {
    size_t total = 0;
    /* Short stretches whose count fits in a byte let the compiler use vectors of bytes. */
    for (size_t first = 0; first < n; first += 128) {
        const size_t last = n - first < 128 ? n : first + 128;
        uint8_t count = 0;
        for (size_t i = first; i < last; i++)
            count = (uint8_t)(count + ((codes[i] & EF_MARGIN_CODE) < limit));
        total += count;
    }
    return total;
}

/* Looks at up to sixteen rows. */
static void look_at(ef_kept_labels *kept, ef_center_move *m, const ef_centers *centers,
                    const size_t *rows, unsigned n) {
    uint32_t nearest[EF_PANEL];
    for (unsigned i = 0; i < n; i++)
        ef_data_gather(m->data, rows[i], m->room + i);
    m->work.rows_undecided +=
        m->kernels->nearest(centers, m->map, m->room, n, m->room,
                            m->room + (size_t)m->map->n_columns * EF_PANEL, nearest, NULL);
    m->work.rows_assigned += n;
    kept->n_looked += n;
    for (unsigned i = 0; i < n; i++) {
        const uint32_t from = ef_kept_label(kept, rows[i]);
        if (nearest[i] == from)
            continue;
        ef_center_move_row(m, rows[i], m->room + i, from, nearest[i]);
        set_label(kept, rows[i], nearest[i]);
        kept->codes[rows[i]] &= (uint8_t)~EF_MARGIN_CODE;
    }
}

#ifndef NDEBUG
/* Every row is where the exact kernel puts it. */
static void check_all(const ef_kept_labels *kept, const ef_center_move *m,
                      const ef_centers *centers) {
    const size_t d = m->map->n_columns;
    for (size_t i = 0; i < m->data->n_rows; i++) {
        uint32_t nearest[EF_PANEL];
        ef_data_gather(m->data, i, m->room);
        (void)m->kernels->nearest(centers, m->map, m->room, 1, m->room, m->room + d * EF_PANEL,
                                  nearest, NULL);
        assert(ef_kept_label(kept, i) == nearest[0]);
    }
}
#endif

bool ef_kept_labels_move(ef_kept_labels *kept, ef_center_move *m) {
    const uint32_t k = m->n_clusters, d = m->map->n_columns;
    if (!kept->is_anchored)
        return false;
    const uint32_t limit = limit_of(ef_farthest(kept->anchor, m->after, k, d), code_base(d));
    size_t left = count_below(kept->codes, m->data->n_rows, limit);
    if (kept->n_looked + left > m->data->n_rows / PASS_FROM_PART + EF_PANEL) {
        if (kept->n_looked == 0) {
            kept->n_passes = kept->n_waits;
            kept->n_waits =
                kept->n_waits < MAX_WAITS ? (uint8_t)(2 * kept->n_waits + 1) : MAX_WAITS;
        }
        return false;
    }
    ef_centers ready;
    if (!ef_centers_init(&ready, m->after, k, d, m->kernels->tile))
        return false;
    kept->n_waits = 0;
    size_t rows[EF_PANEL];
    unsigned n = 0;
    for (size_t i = 0; left != 0; i++) {
        if ((kept->codes[i] & EF_MARGIN_CODE) >= limit)
            continue;
        rows[n++] = i;
        left--;
        if (n == EF_PANEL || left == 0) {
            look_at(kept, m, &ready, rows, n);
            n = 0;
        }
    }
#ifndef NDEBUG
    check_all(kept, m, &ready);
#endif
    ef_centers_free(&ready);
    return true;
}
