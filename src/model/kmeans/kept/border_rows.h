/*
 * Rows near the border of two clusters, of a level whose margins are kept (level_margins.h).
 *
 * The gap of a row is D2^2 - D1^2, the squared distances to its own center and to the one on the
 * other side. When these two centers move, it changes by
 *
 *     K - 2 g.w      K = (|C2|^2 - |B2|^2) - (|C1|^2 - |B1|^2),  w = (C2 - B2) - (C1 - B1)
 *
 * B being the centers that gaps are measured from: a sum over the row's coordinates, with a
 * direction, where a margin knows only how far. A gap above 0 keeps the row on its side. So rows
 * are kept border by border in panels, and one multiplication for each coordinate finds those that
 * may have changed sides.
 *
 * One byte for each coordinate is enough: the range of a column is cut into 256 cells, and g
 * differs from the middle of its cell by at most half a cell, h. So the error of the sum is at most
 * h1 |w1| + ... + hd |wd|, some hundredths of what the move could change at most. All of this is
 * rounded so that no row is missed. When the base is so far away that this error matters, gaps are
 * measured from where centers are now.
 *
 * Integers then decide which of the two clusters has a row that was found. Tiers (level_margins.h)
 * rule out a third cluster: each row here has the number of a tier, its third, which its distances
 * to all other centers allow. These distances are compared with the distance to the row's own
 * center at the time, so they hold on both sides of the border: no third center is as near as the
 * nearer of the two. Rows near three clusters fit no tier. They have a list of their own in each
 * cluster, and are looked at whenever a center moves.
 */
#ifndef EF_BORDER_ROWS_H
#define EF_BORDER_ROWS_H

#include "model/kmeans/kept/center_move.h"

#define EF_TIERS 64

/* Rows of cluster `own` near cluster `other`; if both are the same, rows of it near several. */
typedef struct ef_border {
    uint32_t own, other;
    uint32_t next; /* another border of `own`, or EF_NO_BORDER */
    uint32_t n_rows, capacity;
    uint32_t *positions;
    uint8_t *thirds; /* tiers; 0 for rows near several clusters */
    float *gaps;     /* from the base, or less; NULL for rows near several, as is the next */
    int8_t *bytes;   /* cells, in panels: coordinate j of sixteen rows side by side */
    double span;     /* how much a gap is for one grid step of a margin, about */
} ef_border;

#define EF_NO_BORDER UINT32_MAX

/* The cells of a column: number i has grid points from middle + (i - 1/2) width on. */
typedef struct ef_cells {
    double middle;          /* of cell 0; the numbers go from -128 to 127 */
    double width, per_step; /* one is 1 over the other */
} ef_cells;

typedef struct ef_border_rows {
    uint32_t n_clusters, n_columns;
    int32_t *base;   /* centers; NULL: nothing is kept */
    ef_cells *cells; /* of each column */
    uint32_t *first; /* of each cluster: a border, or EF_NO_BORDER */
    ef_border *borders;
    uint32_t n_borders;
    size_t n_rows;
} ef_border_rows;

/* None yet; cells have the ranges of the columns of `data`, points beyond are right, but slow.
 * False if out of memory. */
bool ef_border_rows_init(ef_border_rows *rows, const efface_data *data, const ef_map *map,
                         const int32_t *centers, uint32_t n_clusters);
void ef_border_rows_free(ef_border_rows *rows);
size_t ef_border_rows_bytes(const ef_border_rows *rows);

/* Measures what a move does to gaps, from the base to where centers are now. */
void ef_border_rows_measure(const ef_border_rows *rows, ef_center_move *move);

/* Puts in row number i of a survey, whose grid point is in a panel. `third` is 0 for a row near
 * several clusters, and becomes 0 if it has to be kept as one. False if out of memory. */
bool ef_border_rows_put(ef_border_rows *rows, ef_center_move *move, size_t position,
                        const ef_survey *found, unsigned i, const float *panel, uint8_t *third);

/* Takes out the row at a position, and returns its third; gives it another position. */
uint8_t ef_border_rows_take(ef_border_rows *rows, uint32_t own, size_t position);
void ef_border_rows_rename(ef_border_rows *rows, uint32_t own, size_t from, size_t to);

/* Measures gaps from where centers are now, if they are off by more than a part of `near`, a
 * margin. The move then does nothing to them. */
void ef_border_rows_rebase(ef_border_rows *rows, ef_center_move *move, double near);

/* What a search has to know of the other rows, and does to them. */
typedef struct ef_border_search {
    double far;         /* rows with margins beyond this are to be looked at */
    const bool *due;    /* of each tier: rows with this third are to be looked at too */
    size_t *users;      /* of each tier as third: falls with each row taken out */
    uint16_t *clusters; /* by position */
} ef_border_search;

/* Finds the rows that centers have moved across, and gives them to the other cluster. Takes out
 * those that must be looked at, for move->look, which has room: rows near several clusters, those
 * whose third is due, and those that are now far from their border. False if out of memory. */
bool ef_border_rows_search(ef_border_rows *rows, ef_center_move *move,
                           const ef_border_search *search);

#endif
