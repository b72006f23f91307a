/*
 * The ids of the rows of a set, and the way from an id back to its row.
 *
 * A row that comes without an id gets its position, and most keep it: a removal moves one row, the
 * last, into the gap. So as long as nearly all ids are positions, only the others are stored, the
 * strays: a plain matrix costs nothing for its ids, and its first removal no more than any other.
 * When one row in eight would be a stray, all ids are spelled out, with an index of them; the
 * O(n) that this costs is little for each of the requests that made the strays.
 */
#ifndef EF_ROW_IDS_H
#define EF_ROW_IDS_H

#include "base/numbers/grid.h"
#include "data/set/id_index.h"

typedef struct ef_row_ids {
    /* Spelled out: the id of each row, and positions by id. Or NULL. */
    uint64_t *own;
    ef_id_index index;
    /* If not: which rows of each panel are strays, or NULL as long as there was none; and the
     * strays, in no order, with an index of each column. */
    uint16_t *marks;
    uint64_t *positions;
    uint64_t *ids;
    size_t n_strays;
    size_t room; /* for strays */
    ef_id_index by_position;
    ef_id_index by_id;
} ef_row_ids;

void ef_row_ids_free(ef_row_ids *ids);

/* Makes room for rows at positions below `capacity`, a multiple of EF_PANEL; there is some for
 * those below `before`. False, and nothing has changed, if out of memory. */
bool ef_row_ids_grow(ef_row_ids *ids, size_t before, size_t capacity);

/* Makes sure that up to n_changes ids can be set, of rows at positions below `capacity`, so that an
 * index does not grow row by row; there are n_rows. False, and nothing has changed, if out of memory.
 */
bool ef_row_ids_reserve(ef_row_ids *ids, size_t capacity, size_t n_rows, size_t n_changes);

/* The id of the stray at a position. */
uint64_t ef_row_ids_of_stray(const ef_row_ids *ids, size_t position);

static inline bool ef_row_ids_strays(const ef_row_ids *ids, size_t position) {
    return ids->marks != NULL && (ids->marks[position / EF_PANEL] >> position % EF_PANEL & 1) != 0;
}

static inline uint64_t ef_row_ids_at(const ef_row_ids *ids, size_t position) {
    if (ids->own != NULL)
        return ids->own[position];
    return ef_row_ids_strays(ids, position) ? ef_row_ids_of_stray(ids, position) : position;
}

/* The ids of a panel of n_rows rows that begins at position `first`; places beyond the last row
 * repeat the first id. */
void ef_row_ids_panel(const ef_row_ids *ids, size_t first, unsigned n_rows, uint64_t out[EF_PANEL]);

/* The position of an id among n_rows rows, or EF_NO_POSITION. */
size_t ef_row_ids_find(const ef_row_ids *ids, size_t n_rows, uint64_t id);

/* Gives the position of a new row an id, which no row has; and takes it away again, without a
 * trace. Room was reserved. */
void ef_row_ids_set(ef_row_ids *ids, size_t position, uint64_t id);
void ef_row_ids_drop(ef_row_ids *ids, size_t position);

/* Memory that they take. */
size_t ef_row_ids_bytes(const ef_row_ids *ids, size_t capacity);

#endif
