/*
 * The front of a watch (watch.h): rows near the border of two clusters.
 *
 * The gap of a row is D2^2 - D1^2, the squared distances to its own center and to the one on the
 * other side. When these two centers move, it changes by
 *
 *     K - 2 g.w      K = (|C2|^2 - |B2|^2) - (|C1|^2 - |B1|^2),  w = (C2 - B2) - (C1 - B1)
 *
 * B being the centers that gaps are measured from: a sum over the row's coordinates, with a
 * direction, where a margin knows only how far. A gap above 0 keeps the row on its side. So rows
 * are kept border by border in panels, and one multiplication for each coordinate sifts out those
 * that may have changed sides.
 *
 * One byte for each coordinate is enough: the range of a column is cut into 256 cells, and g
 * differs from the middle of its cell by at most half a cell, h. So the error of the sum is at most
 * h1 |w1| + ... + hd |wd|, some hundredths of what the move could change at most. All of this is
 * rounded so that no row is missed. When the base is so far away that this error matters, gaps are
 * measured from where centers are now.
 *
 * Integers then decide which of the two clusters has a row that was found. The tiers of the watch
 * rule out a third cluster: each row of the front has the number of a tier, its third, which its
 * distances to all other centers allow. These distances are compared with the distance to the row's
 * own center at the time, so they hold on both sides of the border: no third center is as near as
 * the nearer of the two. Rows near three clusters fit no tier. They are in the corner of their
 * cluster, and are looked at whenever a center moves.
 */
#ifndef EF_FRONT_H
#define EF_FRONT_H

#include "data/rows.h"
#include "kernel/kernels.h"

#define EF_TIERS 64

/* Rows of cluster `own` near cluster `other`; the corner of `own` if both are the same. */
typedef struct ef_border {
    uint32_t own, other;
    uint32_t next; /* another border of `own`, or EF_NO_BORDER */
    uint32_t n_rows, capacity;
    uint32_t *positions;
    uint8_t *thirds; /* tiers; 0 in corners */
    float *gaps;     /* from the base, or less; NULL in corners, as is the next */
    int8_t *bytes;   /* cells, in panels: coordinate j of sixteen rows side by side */
    double span;     /* how much a gap is for one grid step of a margin, about */
} ef_border;

#define EF_NO_BORDER UINT32_MAX

/* The cells of a column: number i has grid points from middle + (i - 1/2) width on. */
typedef struct ef_cells {
    double middle;          /* of cell 0; the numbers go from -128 to 127 */
    double width, per_step; /* one is 1 over the other */
} ef_cells;

typedef struct ef_front {
    uint32_t n_clusters, n_columns;
    int32_t *base;   /* centers; NULL: no front */
    ef_cells *cells; /* of each column */
    uint32_t *first; /* of each cluster: a border, or EF_NO_BORDER */
    ef_border *borders;
    uint32_t n_borders;
    size_t n_rows;
} ef_front;

/* The range of column j is from low[j] to high[j]; points beyond are right, but slow. False if
 * memory is short. */
bool ef_front_init(ef_front *front, const int32_t *centers, uint32_t n_clusters, uint32_t n_columns,
                   const int32_t *low, const int32_t *high);
void ef_front_free(ef_front *front);
size_t ef_front_bytes(const ef_front *front);

/* From the base to where centers are now: what the borders need of it. It can be used for one
 * front after the other. */
typedef struct ef_shift {
    float *slopes;     /* of each cluster: what the gap to it loses for one unit of a byte */
    float *difference; /* room for n_columns */
    double *constants; /* of each cluster: what else the gap to it gains, */
    double *errors;    /* and how far off both may be */
    bool *moved;       /* of each cluster: in this request */
    int8_t *bytes;     /* room for n_columns */
    uint32_t *found;   /* rows: room for n_found */
    size_t n_found;
} ef_shift;

bool ef_shift_init(ef_shift *shift, uint32_t n_clusters, uint32_t n_columns);
void ef_shift_free(ef_shift *shift);
void ef_shift_measure(ef_shift *shift, const ef_front *front, const int32_t *before,
                      const int32_t *after);

/* A list of positions. */
typedef struct ef_positions {
    uint32_t *at;
    size_t n, capacity;
} ef_positions;

bool ef_positions_add(ef_positions *list, size_t position);

/* Puts in row number i of a survey, whose grid point is in a panel. `third` is 0 for the corner,
 * and becomes 0 if the row has to go there. False if memory is short. */
bool ef_front_put(ef_front *front, ef_shift *shift, size_t position, const ef_survey *found,
                  unsigned i, const float *panel, uint8_t *third);

/* Takes out the row at a position, and returns its third; gives it another position. */
uint8_t ef_front_take(ef_front *front, uint32_t own, size_t position);
void ef_front_rename(ef_front *front, uint32_t own, size_t from, size_t to);

/* Measures gaps from where the shift leads, if they are off by more than a part of `near`, a
 * margin. The shift is then nothing. */
void ef_front_rebase(ef_front *front, ef_shift *shift, const int32_t *after, double near);

/* What it takes to sift. */
typedef struct ef_sifting {
    const efface_data *data;
    const ef_map *map;
    const ef_kernels *kernels;
    const int32_t *centers; /* where the shift leads */
    float *values;          /* room for a panel of finite values */
    double far;             /* rows with margins beyond this are to be looked at */
    const bool *due;        /* of each tier: rows with this third are to be looked at too */
    size_t *users;          /* of each tier as third: falls with each row taken out */
    ef_positions *look;     /* rows taken out, to be looked at */
    /* Told of each row that is now on the other side, with its values as in a panel. */
    void (*cross)(void *context, size_t position, uint32_t to, const float *row);
    void *context;
    uint64_t n_judged; /* rows decided by integers */
} ef_sifting;

/* Finds the rows that centers have moved across, and takes out those that must be looked at:
 * corners, those whose third is due, and those that are now far from their border. False if memory
 * is short. */
bool ef_front_sift(ef_front *front, ef_shift *shift, ef_sifting *sifting);

#endif
