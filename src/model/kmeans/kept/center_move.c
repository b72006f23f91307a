/* Room for centers that move (center_move.h). */
#include "model/kmeans/kept/center_move.h"

#include "base/memory/memory.h"

#include <string.h>

bool ef_center_move_init(ef_center_move *move, const efface_data *data, const ef_map *map,
                         const ef_kernels *kernels, uint32_t n_clusters) {
    *move =
        (ef_center_move){.data = data, .map = map, .kernels = kernels, .n_clusters = n_clusters};
    const size_t k = n_clusters, d = map->n_columns, n_room = 2 * EF_PANEL * d;
    /* One block, the widest numbers first. */
    const size_t n_bytes = 2 * k * sizeof *move->constants + (k + 1) * d * sizeof *move->slopes +
                           k * sizeof *move->moved + d * sizeof *move->cells;
    move->room = ef_alloc_aligned(n_room, sizeof *move->room);
    move->constants = ef_alloc(n_bytes, 1);
    if (move->room == NULL || move->constants == NULL)
        return false;
    memset(move->room, 0, n_room * sizeof *move->room);
    move->errors = move->constants + k;
    move->slopes = (float *)(void *)(move->errors + k);
    move->difference = move->slopes + k * d;
    move->moved = (bool *)(void *)(move->difference + d);
    move->cells = (int8_t *)(void *)(move->moved + k);
    return true;
}

void ef_center_move_free(ef_center_move *move) {
    ef_free(move->room);
    ef_free(move->constants);
    ef_free(move->look);
    *move = (ef_center_move){0};
}
