/*
 * Centers of a level that move: what it takes to bring the level's partition, counts and sums along
 * by looking at few rows (kept_labels.h, level_margins.h).
 */
#ifndef EF_CENTER_MOVE_H
#define EF_CENTER_MOVE_H

#include "data/set/rows.h"
#include "kernel/kernels.h"
#include "model/kmeans/definition/workspace.h"

typedef struct ef_center_move {
    const efface_data *data; /* the rows that what is kept has followed */
    const ef_map *map;
    const ef_kernels *kernels;
    uint32_t n_clusters;
    const int32_t *before, *after; /* centers */
    int64_t *counts, *sums;        /* of the rows with a cluster; then of all */
    ef_work_done work;             /* added to */
    float *room;                   /* two panels, the first of finite values */

    /* What the move does to the gaps of rows near borders (border_rows.h). */
    float *slopes;     /* of each cluster: what the gap to it loses for one unit of a byte */
    double *constants; /* of each cluster: what else the gap to it gains, */
    double *errors;    /* and how far off both may be */
    bool *moved;       /* of each cluster: in this request */
    float *difference; /* room for n_columns, as is the next */
    int8_t *cells;

    uint32_t *look; /* positions of rows to be looked at */
    size_t n_look;
    uint32_t *found; /* room for rows of a border */
    size_t n_places; /* for both */
} ef_center_move;

/* Takes the room; false if out of memory. The rest is the caller's to fill in. In either case it
 * is to be released. */
bool ef_center_move_init(ef_center_move *move, const efface_data *data, const ef_map *map,
                         const ef_kernels *kernels, uint32_t n_clusters);
void ef_center_move_free(ef_center_move *move);

/* Gives the row at a position, whose first value is at `row`, from one cluster, or EF_NO_CLUSTER,
 * to another, in counts and sums. */
static inline void ef_center_move_row(ef_center_move *move, size_t position, const float *row,
                                      uint32_t from, uint32_t to) {
    const size_t d = move->map->n_columns;
    const int64_t weight = ef_data_weight(move->data, position);
    const bool had_one = from != EF_NO_CLUSTER;
    move->counts[to] += weight;
    if (had_one)
        move->counts[from] -= weight;
    move->work.rows_moved += had_one;
    move->kernels->move_row(move->map, row, weight, move->sums + to * d,
                            had_one ? move->sums + from * d : NULL);
}

#endif
