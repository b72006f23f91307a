/* Room for centers that move (center_move.h). */
#include "model/kmeans/kept/center_move.h"

#include "base/checked.h"

#include <string.h>

bool ef_positions_add(ef_positions *list, size_t position) {
    if (list->n == list->capacity) {
        const size_t capacity = list->capacity + list->capacity / 2 + 256;
        uint32_t *const at = ef_realloc(list->at, capacity, sizeof *at);
        if (at == NULL)
            return false;
        list->at = at;
        list->capacity = capacity;
    }
    list->at[list->n++] = (uint32_t)position;
    return true;
}

bool ef_center_move_init(ef_center_move *move, const efface_data *data, const ef_map *map,
                         const ef_kernels *kernels, uint32_t n_clusters) {
    *move =
        (ef_center_move){.data = data, .map = map, .kernels = kernels, .n_clusters = n_clusters};
    const size_t k = n_clusters, d = map->n_columns, n_room = 2 * EF_PANEL * d;
    ef_gap_change *const change = &move->gap_change;
    /* One block, the widest numbers first. */
    const size_t n_bytes = 2 * k * sizeof *change->constants +
                           (k + 1) * d * sizeof *change->slopes + k * sizeof *change->moved +
                           d * sizeof *change->bytes;
    move->room = ef_alloc_aligned(n_room, sizeof *move->room);
    change->constants = ef_alloc(n_bytes, 1);
    if (move->room == NULL || change->constants == NULL)
        return false;
    memset(move->room, 0, n_room * sizeof *move->room);
    change->errors = change->constants + k;
    change->slopes = (float *)(void *)(change->errors + k);
    change->difference = change->slopes + k * d;
    change->moved = (bool *)(void *)(change->difference + d);
    change->bytes = (int8_t *)(void *)(change->moved + k);
    return true;
}

void ef_center_move_free(ef_center_move *move) {
    ef_free(move->room);
    ef_free(move->gap_change.constants);
    ef_free(move->gap_change.found);
    ef_free(move->look.at);
    *move = (ef_center_move){0};
}
