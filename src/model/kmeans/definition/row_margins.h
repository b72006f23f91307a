/*
 * Margins of rows from level to level of a run: rows that cannot change their cluster are not
 * looked at.
 *
 * The margin of a row is the distance to its second-nearest center less that to its nearest, at
 * some level, its anchor. If its own center has been moved by o since then, and no other by more
 * than m, the one distance has grown by at most o and no other has shrunk by more than m: while the
 * margin is larger than o + m, the nearest is still the nearest, and no other is as near. Margins
 * are those that the kernels measure, rounded downwards (kernels.h); moves are those from the
 * anchor to here, not along the way, and rounded upwards. Rows whose margin is used up are gathered
 * in panels, and the exact kernel looks at them. So margins decide what is looked at and never what
 * comes out.
 *
 * It pays where a row costs much and centers move little. Where they move far, in the first levels
 * and in many columns, where all distances are alike, nearly all rows would have to be looked at:
 * then passes over all rows go on without margins, which are measured again after a while.
 *
 * Memory: 5 bytes a row, and for each worker a run of panels.
 */
#ifndef EF_ROW_MARGINS_H
#define EF_ROW_MARGINS_H

#include "model/kmeans/definition/workspace.h"

#define EF_MOST_ANCHORS 8

/* Rows that a worker has gathered. */
typedef struct ef_open_rows {
    float *values; /* in panels */
    size_t *positions;
    uint32_t *labels, *nearest;
    float *margins;
    uint16_t *movers;
    void *block; /* all of these */
    size_t n_rows;
    size_t n_open; /* what it has counted */
} ef_open_rows;

typedef struct ef_row_margins {
    float *margins;   /* by position, of whole panels; NULL: there are none */
    uint8_t *anchors; /* by position: numbers of anchors */
    uint16_t *open;   /* of each panel: a bit for each row to be looked at */
    ef_open_rows *gathered;
    unsigned n_workers;
    const int32_t *centers[EF_MOST_ANCHORS]; /* of each anchor; they outlive this */
    double *moved;      /* of each anchor: what a margin is used up by, for each own cluster */
    unsigned n_anchors; /* 0: nothing has been measured */
    bool was_tried;
    uint32_t n_without, wait; /* levels to go without margins: the last time, and from now on */
} ef_row_margins;

/* Whether they can pay at all in a run over rows of so many columns. */
bool ef_row_margins_pay(const ef_kmeans_plan *plan, uint32_t n_columns);

void ef_row_margins_free(ef_row_margins *kept);

/* As ef_partition, from that of `previous`, whose labels are there: looks at rows whose margins are
 * used up, or at all, whichever is less work. The centers of levels that it was given are to stay
 * where they are. */
efface_status ef_partition_by_margins(ef_workspace *space, ef_level *level,
                                      const ef_level *previous, uint32_t *labels,
                                      ef_row_margins *kept, efface_error *error);

#endif
