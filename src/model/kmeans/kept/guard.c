/* Guards: kept partitions with a byte for each row's margin (guard.h). */
#include "model/kmeans/kept/guard.h"

#include "base/checked.h"
#include "base/status.h"

#include <assert.h>
#include <string.h>

/* Rows looked at since the last pass, as a part of all, that make the next move a pass: to look at
 * one costs several times what it costs in a pass, which reads memory in order. */
#define PASS_FROM_PART 6

/* Most passes without margins. */
#define MOST_WAITS 31

#define BYTE_CLUSTERS 256

/* ---------------------------------------------------------------- codes */

/* The code of a margin is its exponent and two more bits as a float has them, less what makes 63
 * the code of margins as long as the domain: 2^24 sqrt(d) and more, which no margin is. Half of the
 * exponent of d is rounded upwards. Margins of code 1 and less are loose. */
static uint32_t code_base(uint32_t d) {
    uint32_t half = 0;
    while ((UINT64_C(1) << 2 * half) < d)
        half++;
    return (127 + 24 + half) * 4 - (EF_GUARD_CODES - 1);
}

static uint8_t code_of(float margin, uint32_t base) {
    uint32_t bits;
    memcpy(&bits, &margin, sizeof bits);
    bits >>= 21; /* margins are not negative */
    bits = bits > base ? bits - base : 0;
    return (uint8_t)(bits < EF_GUARD_CODES ? bits : EF_GUARD_CODES - 1);
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
    while (code < EF_GUARD_CODES && margin_of(code, base) <= moved)
        code++;
    return code;
}

/* ---------------------------------------------------------------- memory */

void ef_guard_free(ef_guard *guard) {
    ef_free(guard->codes);
    ef_free(guard->labels);
    ef_free(guard->anchor);
    *guard = (ef_guard){0};
}

void ef_guard_forget(ef_guard *guard, const ef_change *change, size_t i, const ef_map *map,
                     uint32_t k) {
    const float *const row = ef_change_first(change, i);
    const uint32_t d = map->n_columns;
    for (uint32_t c = 0; guard->anchor != NULL && c < k; c++) {
        const int32_t *const center = guard->anchor + (size_t)c * d;
        uint32_t j = 0;
        while (j < d && center[j] == ef_snap(row[(size_t)j * EF_PANEL], map->low[j], map->step[j]))
            j++;
        if (j == d) {
            memset(guard->anchor, 0, (size_t)k * d * sizeof *guard->anchor);
            guard->is_anchored = false;
        }
    }
}

bool ef_guard_init(ef_guard *guard, size_t n_rows, uint32_t k, uint32_t d) {
    *guard = (ef_guard){.wide = k > BYTE_CLUSTERS};
    guard->codes = ef_alloc_zero(n_rows, 1);
    guard->labels = ef_alloc_zero(n_rows, guard->wide ? sizeof(uint32_t) : 1);
    guard->anchor = ef_alloc_zero((size_t)k * d, sizeof *guard->anchor);
    if (guard->codes != NULL && guard->labels != NULL && guard->anchor != NULL)
        return true;
    ef_guard_free(guard);
    return false;
}

bool ef_guard_copy(ef_guard *guard, const ef_guard *from, size_t n_rows, size_t room, uint32_t k,
                   uint32_t d) {
    if (!ef_guard_init(guard, room, k, d))
        return false;
    memcpy(guard->codes, from->codes, n_rows);
    memcpy(guard->labels, from->labels, n_rows * (guard->wide ? sizeof(uint32_t) : 1));
    if (from->is_anchored)
        memcpy(guard->anchor, from->anchor, (size_t)k * d * sizeof *guard->anchor);
    guard->is_anchored = from->is_anchored;
    guard->n_looked = from->n_looked;
    guard->n_passes = from->n_passes;
    guard->n_waits = from->n_waits;
    return true;
}

bool ef_guard_grow(ef_guard *guard, size_t n_before, size_t n_rows) {
    const size_t width = guard->wide ? sizeof(uint32_t) : 1;
    uint8_t *const codes = ef_realloc(guard->codes, n_rows, 1);
    if (codes == NULL)
        return false;
    guard->codes = codes;
    unsigned char *const labels = ef_realloc(guard->labels, n_rows, width);
    if (labels == NULL)
        return false;
    guard->labels = labels;
    memset(codes + n_before, 0, n_rows - n_before);
    memset(labels + n_before * width, 0, (n_rows - n_before) * width);
    return true;
}

size_t ef_guard_bytes(const ef_guard *guard, size_t n_rows, size_t k, size_t d) {
    if (guard->codes == NULL)
        return 0;
    return n_rows * (1 + (guard->wide ? sizeof(uint32_t) : 1)) + k * d * sizeof *guard->anchor;
}

void ef_guard_unpack(const ef_guard *guard, size_t n_rows, uint32_t *labels) {
    if (guard->wide) {
        memcpy(labels, guard->labels, n_rows * sizeof *labels);
        return;
    }
    const uint8_t *const bytes = guard->labels;
    for (size_t i = 0; i < n_rows; i++)
        labels[i] = bytes[i];
}

void ef_guard_pack(ef_guard *guard, size_t n_rows, const uint32_t *labels, const float *margins,
                   const int32_t *centers, uint32_t k, uint32_t d) {
    const uint32_t base = code_base(d);
    uint8_t *const codes = guard->codes;
    for (size_t i = 0; margins != NULL && i < n_rows; i++)
        codes[i] = (uint8_t)((codes[i] & ~EF_GUARD_CODE) | code_of(margins[i], base));
    for (size_t i = 0; margins == NULL && guard->is_anchored && i < n_rows; i++)
        codes[i] &= (uint8_t)~EF_GUARD_CODE;
    uint8_t *const bytes = guard->labels;
    if (guard->wide)
        memcpy(guard->labels, labels, n_rows * sizeof *labels);
    else
        for (size_t i = 0; i < n_rows; i++)
            bytes[i] = (uint8_t)labels[i];
    if (margins != NULL)
        memcpy(guard->anchor, centers, (size_t)k * d * sizeof *centers);
    else if (guard->n_passes != 0)
        guard->n_passes--;
    guard->is_anchored = margins != NULL;
    guard->n_looked = 0;
}

/* ---------------------------------------------------------------- centers that move */

efface_status ef_guarded_init(ef_guarded *m, const efface_data *data, const ef_map *map, uint32_t k,
                              efface_error *error) {
    *m = (ef_guarded){.data = data, .map = map, .n_clusters = k};
    const size_t n_room = 2 * EF_PANEL * (size_t)map->n_columns;
    const efface_status status = ef_kernels_require(&m->kernels, error);
    if (status != EFFACE_OK)
        return status;
    m->room = ef_alloc_aligned(n_room, sizeof *m->room);
    if (m->room == NULL)
        return ef_fail_memory(error);
    memset(m->room, 0, n_room * sizeof *m->room);
    return EFFACE_OK;
}

void ef_guarded_free(ef_guarded *m) {
    ef_free(m->room);
    m->room = NULL;
}

static size_t count_below(const uint8_t *codes, size_t n, uint32_t limit) {
    size_t total = 0;
    /* Short stretches whose count fits in a byte let the compiler use vectors of bytes. */
    for (size_t first = 0; first < n; first += 128) {
        const size_t last = n - first < 128 ? n : first + 128;
        uint8_t count = 0;
        for (size_t i = first; i < last; i++)
            count = (uint8_t)(count + ((codes[i] & EF_GUARD_CODE) < limit));
        total += count;
    }
    return total;
}

/* Looks at up to sixteen rows. */
static void look_at(ef_guard *guard, ef_guarded *m, const ef_centers *centers, const size_t *rows,
                    unsigned n, int64_t *counts, int64_t *sums) {
    const size_t d = m->map->n_columns;
    uint32_t nearest[EF_PANEL];
    for (unsigned i = 0; i < n; i++)
        ef_data_gather(m->data, rows[i], m->room + i);
    m->rows_undecided += m->kernels->nearest(centers, m->map, m->room, n, m->room,
                                             m->room + d * EF_PANEL, nearest, NULL);
    m->rows_looked += n;
    guard->n_looked += n;
    for (unsigned i = 0; i < n; i++) {
        const uint32_t from = ef_guard_label(guard, rows[i]);
        if (nearest[i] == from)
            continue;
        const int64_t weight = ef_data_weight(m->data, rows[i]);
        counts[from] -= weight;
        counts[nearest[i]] += weight;
        m->kernels->move_row(m->map, m->room + i, weight, sums + nearest[i] * d, sums + from * d);
        m->rows_moved++;
        ef_guard_set_label(guard, rows[i], nearest[i]);
        guard->codes[rows[i]] &= (uint8_t)~EF_GUARD_CODE;
    }
}

#ifndef NDEBUG
/* Every row is where the exact kernel puts it. */
static void check_all(const ef_guard *guard, const ef_guarded *m, const ef_centers *centers) {
    const size_t d = m->map->n_columns;
    for (size_t i = 0; i < m->data->n_rows; i++) {
        uint32_t nearest[EF_PANEL];
        ef_data_gather(m->data, i, m->room);
        (void)m->kernels->nearest(centers, m->map, m->room, 1, m->room, m->room + d * EF_PANEL,
                                  nearest, NULL);
        assert(ef_guard_label(guard, i) == nearest[0]);
    }
}
#endif

efface_status ef_guard_move(ef_guard *guard, ef_guarded *m, const int32_t *centers, int64_t *counts,
                            int64_t *sums, bool *done, efface_error *error) {
    const uint32_t k = m->n_clusters, d = m->map->n_columns;
    *done = false;
    if (!guard->is_anchored)
        return EFFACE_OK;
    const uint32_t limit = limit_of(ef_farthest(guard->anchor, centers, k, d), code_base(d));
    size_t left = count_below(guard->codes, m->data->n_rows, limit);
    if (guard->n_looked + left > m->data->n_rows / PASS_FROM_PART + EF_PANEL) {
        if (guard->n_looked == 0) {
            guard->n_passes = guard->n_waits;
            guard->n_waits =
                guard->n_waits < MOST_WAITS ? (uint8_t)(2 * guard->n_waits + 1) : MOST_WAITS;
        }
        return EFFACE_OK;
    }
    *done = true;
    guard->n_waits = 0;
    ef_centers ready;
    if (!ef_centers_init(&ready, centers, k, d, m->kernels->tile))
        return ef_fail_memory(error);
    size_t rows[EF_PANEL];
    unsigned n = 0;
    for (size_t i = 0; left != 0; i++) {
        if ((guard->codes[i] & EF_GUARD_CODE) >= limit)
            continue;
        rows[n++] = i;
        left--;
        if (n == EF_PANEL || left == 0) {
            look_at(guard, m, &ready, rows, n, counts, sums);
            n = 0;
        }
    }
#ifndef NDEBUG
    check_all(guard, m, &ready);
#endif
    ef_centers_free(&ready);
    return EFFACE_OK;
}
