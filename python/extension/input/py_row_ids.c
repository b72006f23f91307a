/*
 * Ids of rows that come without any: a hash of the row's values, weight and label. So the ids, and
 * with them the model, do not depend on the order of the rows.
 *
 * Rows that are there several times are told apart by a count: the first has the hash itself, the
 * next the hash of that hash and 1, then 2, and so on; counts of rows that are in the set already
 * are passed over. Equal rows have equal values, weights and labels, so it does not matter for a
 * model which of them has which id.
 */
#include "module/py_extension.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many rows there were with a hash: an open table, at most half full. */
typedef struct seen {
    uint64_t hash;
    uint64_t count; /* 0: no entry */
} seen;

static seen *find(seen *table, size_t mask, uint64_t hash) {
    size_t place = (size_t)hash & mask;
    while (table[place].count != 0 && table[place].hash != hash)
        place = (place + 1) & mask;
    return &table[place];
}

/* The halves of a 128-bit product, folded: each bit of a and b reaches all bits of the result. */
static uint64_t mix(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t read_word(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* A hash of 64 bits for a multiple of 16 bytes. It is fast and spreads well, as ids must; it is no
 * secret, and who can choose rows can make two hashes collide. Such rows are then told apart as
 * equal rows are. */
static uint64_t hash_bytes(const void *start, size_t n_bytes) {
    const unsigned char *const bytes = start;
    uint64_t hash = mix(n_bytes ^ UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd1342543de82ef95));
    for (size_t i = 0; i < n_bytes; i += 16)
        hash = mix(read_word(bytes + i) ^ UINT64_C(0xa0761d6478bd642f),
                   read_word(bytes + i + 8) ^ hash);
    return mix(hash ^ UINT64_C(0xe7037ed1a0b428db), n_bytes ^ UINT64_C(0x8ebc6af09c88c6e3));
}

static uint64_t hash_copy(uint64_t hash, uint64_t count) {
    const uint64_t both[2] = {hash, count};
    return count == 0 ? hash : hash_bytes(both, sizeof both);
}

/* `room` is for n_room floats, zeros at first, of which the last two hold the weight, and those
 * before them the label, if there is one. */
static uint64_t hash_row(const float *row, uint32_t n_columns, int64_t weight, const int64_t *label,
                         float *room, size_t n_room) {
    for (uint32_t j = 0; j < n_columns; j++)
        room[j] = isnan(row[j]) ? NAN : row[j] + 0.0f; /* one NaN and one zero, as in the set */
    memcpy(room + n_room - 2, &weight, sizeof weight);
    if (label != NULL)
        memcpy(room + n_room - 4, label, sizeof *label);
    return hash_bytes(room, n_room * sizeof *room);
}

static bool is_there(const efface_data *data, uint64_t id) {
    size_t position;
    return data != NULL && efface_data_find(data, id, &position) == EFFACE_OK;
}

efface_status derive_ids(const matrix *m, const int64_t *weights, int64_t unit,
                         const int64_t *labels, const efface_data *data, uint64_t *ids) {
    size_t n_places = 16;
    while (n_places / 2 < m->n_rows)
        n_places *= 2;
    seen *const table = calloc(n_places, sizeof *table);
    const size_t n_room = ((size_t)m->n_columns + (labels != NULL ? 4 : 2) + 3) / 4 * 4;
    float *const room = calloc(n_room, sizeof *room);
    for (size_t first = 0; table != NULL && room != NULL && first < m->n_rows;) {
        const size_t rest = m->n_rows - first, n = rest < m->n_batch ? rest : m->n_batch;
        const float *const rows = matrix_read(m, first, n);
        for (size_t i = 0; i < n; i++) {
            const int64_t weight = weights != NULL ? weights[first + i] : unit;
            const uint64_t hash =
                hash_row(rows + i * m->stride, m->n_columns, weight,
                         labels != NULL ? &labels[first + i] : NULL, room, n_room);
            seen *const entry = find(table, n_places - 1, hash);
            uint64_t count = entry->count;
            while (is_there(data, hash_copy(hash, count)))
                count++;
            ids[first + i] = hash_copy(hash, count);
            *entry = (seen){hash, count + 1};
        }
        first += n;
    }
    const bool done = table != NULL && room != NULL;
    free(table);
    if (room != NULL)
        wipe(room, n_room * sizeof *room);
    free(room);
    return done ? EFFACE_OK : EFFACE_E_MEMORY;
}
