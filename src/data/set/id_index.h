/* From id to position: a hash table with linear probing. It stores positions only; ids are read
 * from the array they index, so an entry costs 8 bytes at a load of at most 3/4. */
#ifndef EF_ID_INDEX_H
#define EF_ID_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ef_id_index {
    size_t *slots;    /* position + 1, or 0 for an empty slot */
    size_t n_slots;   /* a power of two, or 0 */
    uint64_t salt[3]; /* drawn at random: where an entry is tells nothing, and changes nothing */
} ef_id_index;

#define EF_NO_POSITION SIZE_MAX

void ef_id_index_free(ef_id_index *index);

/* Makes room for n_ids ids in all. On failure the index is as it was. */
bool ef_id_index_reserve(ef_id_index *index, const uint64_t *ids, size_t n_rows, size_t n_ids);

/* The position of an id, or EF_NO_POSITION. */
size_t ef_id_index_find(const ef_id_index *index, const uint64_t *ids, uint64_t id);

/* Enters position `position` under ids[position], which is not there yet; room was reserved. */
void ef_id_index_insert(ef_id_index *index, const uint64_t *ids, size_t position);

/* Takes out the entry of an id that is there. */
void ef_id_index_remove(ef_id_index *index, const uint64_t *ids, uint64_t id);

/* Changes the position stored for an id that is there. */
void ef_id_index_move(ef_id_index *index, const uint64_t *ids, uint64_t id, size_t position);

#endif
