/* From id to position: linear probing, removal by shifting back, no tombstones. */
#include "data/set/id_index.h"

#include "base/memory/memory.h"
#include "base/numbers/wide.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

void ef_id_index_free(ef_id_index *index) {
    ef_free(index->slots);
    index->slots = NULL;
    index->n_slots = 0;
}

/* The halves of a product, added without carry: all bits of one factor reach all of the result. */
static uint64_t fold(uint64_t a, uint64_t b) {
    const ef_u128 product = (ef_u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Ids are often consecutive, and somebody may have chosen them: who does not know the salt cannot
 * choose ids that crowd one place. */
static size_t home(const ef_id_index *index, uint64_t id) {
    const uint64_t mixed = fold(id ^ index->salt[0], index->salt[1]);
    return (size_t)fold(mixed ^ index->salt[2], UINT64_C(0xD6E8FEB86659FD93)) &
           (index->n_slots - 1);
}

/* A factor of few bits would mix badly. */
static void draw_salt(ef_id_index *index) {
    randombytes_buf(index->salt, sizeof index->salt);
    index->salt[1] |= UINT64_C(0x8000000080000001);
}

static size_t next(const ef_id_index *index, size_t slot) {
    return (slot + 1) & (index->n_slots - 1);
}

/* The slot that holds an id, or the empty slot where it would go. */
static size_t probe(const ef_id_index *index, const uint64_t *ids, uint64_t id) {
    size_t slot = home(index, id);
    while (index->slots[slot] != 0 && ids[index->slots[slot] - 1] != id)
        slot = next(index, slot);
    return slot;
}

bool ef_id_index_reserve(ef_id_index *index, const uint64_t *ids, size_t n_rows, size_t n_ids) {
    size_t wanted = 16;
    while (wanted - wanted / 4 < n_ids) {
        if (!ef_mul_size(wanted, 2, &wanted))
            return false;
    }
    if (wanted <= index->n_slots)
        return true;
    ef_id_index larger = {.slots = ef_alloc_zero(wanted, sizeof *larger.slots), .n_slots = wanted};
    if (larger.slots == NULL)
        return false;
    memcpy(larger.salt, index->salt, sizeof larger.salt);
    if (index->n_slots == 0)
        draw_salt(&larger);
    for (size_t position = 0; position < n_rows; position++)
        ef_id_index_insert(&larger, ids, position);
    ef_id_index_free(index);
    *index = larger;
    return true;
}

size_t ef_id_index_find(const ef_id_index *index, const uint64_t *ids, uint64_t id) {
    if (index->n_slots == 0)
        return EF_NO_POSITION;
    const size_t entry = index->slots[probe(index, ids, id)];
    return entry != 0 ? entry - 1 : EF_NO_POSITION;
}

void ef_id_index_insert(ef_id_index *index, const uint64_t *ids, size_t position) {
    const size_t slot = probe(index, ids, ids[position]);
    assert(index->slots[slot] == 0);
    index->slots[slot] = position + 1;
}

void ef_id_index_remove(ef_id_index *index, const uint64_t *ids, uint64_t id) {
    size_t hole = probe(index, ids, id);
    assert(index->slots[hole] != 0);
    /* Entries behind the hole that may not stand before their home stay; the others move up. */
    for (size_t slot = next(index, hole); index->slots[slot] != 0; slot = next(index, slot)) {
        const size_t from_home =
            (slot - home(index, ids[index->slots[slot] - 1])) & (index->n_slots - 1);
        const size_t from_hole = (slot - hole) & (index->n_slots - 1);
        if (from_home >= from_hole) {
            index->slots[hole] = index->slots[slot];
            hole = slot;
        }
    }
    index->slots[hole] = 0;
}

void ef_id_index_move(ef_id_index *index, const uint64_t *ids, uint64_t id, size_t position) {
    const size_t slot = probe(index, ids, id);
    assert(index->slots[slot] != 0);
    index->slots[slot] = position + 1;
}
