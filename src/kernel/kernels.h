/*
 * Kernels: the few loops that all the time goes into, chosen once by what the processor can do.
 *
 * They work on panels: sixteen rows, coordinate j of all of them side by side at panel[16 j]. A set
 * keeps its values in panels; kernels that read values snap them to the grid on the way, which is
 * cheaper than storing the grid points. All panels are 64-byte aligned. Values of rows that a panel
 * does not have are zero; what comes out for them is of no meaning.
 *
 * `nearest` and `sqdist` leave memory idle while they compute, so they fetch the panel of values
 * `ahead`, which will be needed next; any panel will do.
 *
 * Every entry of every table gives the bits of the reference table (src/kernel/ref), which is
 * plain C. To add an instruction set: write its lanes (panel_kernels.h says which), name its table
 * in kernels.c, run test_kernels and test_strip_kernels.
 */
#ifndef EF_KERNELS_H
#define EF_KERNELS_H

#include "base/numbers/grid.h"
#include "efface/efface.h"
#include "kernel/centers.h"

#define EF_CODES 8 /* that code_ranges and code_counts look at side by side */

/* A grid point to be tried: as integers and as doubles, and its square. */
typedef struct ef_point {
    const int32_t *whole;
    const double *real;
    int64_t square;
} ef_point;

typedef struct ef_kernels {
    const char *name;
    uint32_t tile;              /* most clusters that one inner loop of `nearest` works on */
    ef_rounding_form rounds_to; /* what `assign` can make use of (ef_centers_round) */

    /* panel = the values on the grid. Only the first n_rows (1 to 16) rows of `values` count; in
     * the result the others repeat the first. */
    void (*snap)(const ef_map *map, const float *values, unsigned n_rows, float *panel);

    /* labels[i] = the nearest centroid of row i of `values`; ties go to the lower one. Only the
     * first n_rows of the sixteen count. Returns how many of them the filter could not decide
     * (of no consequence). `panel` is room for the grid points; it may or may not hold them
     * afterwards. `margins`, unless NULL, has for each row how much farther than the nearest every
     * other centroid is at least, in grid steps; it is rounded downwards, to 0 for rows that the
     * filter could not decide. What is returned, and margins, differ between tables. */
    unsigned (*nearest)(const ef_centers *centers, const ef_map *map, const float *values,
                        unsigned n_rows, const float *ahead, float *panel,
                        uint32_t labels[EF_PANEL], float *margins);

    /* What there is to know of up to sixteen rows: see ef_survey. `panel` becomes the grid points.
     * Returns how many the filter could not decide. */
    unsigned (*survey)(const ef_centers *centers, const ef_map *map, const float *values,
                       unsigned n_rows, float *panel, ef_survey *found);

    /* out[i] = D2^2 - D1^2 of row i of the first n_rows of `values`, by integers: its squared
     * distances to the grid points `other` and `own`. */
    void (*gaps)(const ef_map *map, const float *values, unsigned n_rows, const int32_t *own,
                 const int32_t *other, int64_t out[EF_PANEL]);

    /* Sixteen rows of `values` and up to EF_POINTS points: away[16 s + i] = the squared distance of
     * row i to points[s], by integers, and gains[s] = the sum of least[i] - away[16 s + i] where
     * that is above 0, modulo 2^64. squares[i] is the square of row i. Squares and distances of
     * rows that are not there may be anything, and so may gains if some are not. */
    void (*try_points)(const ef_map *map, const float *values, const ef_point *points,
                       unsigned n_points, const int64_t squares[EF_PANEL],
                       const int64_t least[EF_PANEL], int64_t *away, uint64_t *gains);

    /* The first time: squares[i] = the square of row i, and away[i] = its squared distance to one
     * point, by integers. Those of rows that are not there may be anything. */
    void (*meet_point)(const ef_map *map, const float *values, const ef_point *point,
                       int64_t squares[EF_PANEL], int64_t away[EF_PANEL]);

    /* A filter for try_points: bit c says whether centroid c may be nearer to one of sixteen rows
     * than least[i]; if it is clear, the centroid is not. `centers` are folded to zero, squares[i]
     * is the square of row i. Which bits are set without need differs between tables. */
    uint32_t (*reach)(const ef_centers *centers, const float *values,
                      const int64_t squares[EF_PANEL], const int64_t least[EF_PANEL]);

    /* Sixteen rows whose smallest distances are `least` meet a point at the distances `away`:
     * where that is nearer, least[i] = away[i] and nearest[i] = label. Returns the largest of
     * `least`, or 0. */
    int64_t (*take_point)(const int64_t away[EF_PANEL], uint32_t label, int64_t least[EF_PANEL],
                          uint32_t nearest[EF_PANEL]);

    /* Sifts rows of which only a byte for each coordinate is kept, in panels of sixteen: byte j
     * of row i of a panel at 16 j + i. `found` becomes the numbers, ascending, of those for
     * which gaps[i] + sum over j of slopes[j] * byte j, in float32, the gap added last,
     * is at most `least` or at least `most`. Returns how many. `gaps` has whole panels. */
    size_t (*sift)(const int8_t *bytes, size_t n_rows, uint32_t n_columns, const float *slopes,
                   const float *gaps, float least, float most, uint32_t *found);

    /* The same for the rows of up to EF_RUN panels that follow each other, with the labels they
     * have now to compare with: nearest[i] becomes the nearest centroid of row i, and `movers` the
     * n_movers rows, in order, for which that is not labels[i]. `nearest` has room for whole
     * panels, as have margins unless they are NULL, `movers` for EF_RUN * EF_PANEL + 4; n_movers
     * NULL: they are not wanted. Centers that are folded (centers.h) are quicker. `room` is for
     * ef_assign_room floats; two panels at a time are quicker than one where clusters are many. */
    unsigned (*assign)(const ef_centers *centers, const ef_map *map, const float *values,
                       size_t n_rows, const uint32_t *labels, float *room, uint32_t *nearest,
                       uint16_t *movers, size_t *n_movers, float *margins);

    /* out[i] = sum over j of (g - point[j])^2 in float32, g being row i of `values` on the grid,
     * without fused multiply-adds: even and odd j are added up apart, each in order, then the two.
     * Differences of grid points are exact, so the result is the squared distance but for a
     * relative error of at most EF_SQDIST_ERROR(d), and 0 just for equal points. */
    void (*sqdist)(const ef_map *map, const float *values, const float *point, const float *ahead,
                   float out[EF_PANEL]);

    /* out[i] = the sum of the squares of row i of a panel of grid points, by integers. */
    void (*squares)(const float *panel, uint32_t n_columns, int64_t out[EF_PANEL]);

    /* gains[j] += weight * g and loses[j] -= weight * g, g being the grid point of the row whose
     * first value is at `row`, the others EF_PANEL floats apart. Weights are below 2^51 and not
     * below -2^51. `loses` may be NULL. */
    void (*move_row)(const ef_map *map, const float *row, int64_t weight, int64_t *gains,
                     int64_t *loses);

    /* Adds the grid points of the first n_rows rows of `values` to the sums of their clusters:
     * sums[labels[i] * n_columns + j] += weights[i] * g. `weights` NULL: all are 1. */
    void (*add_rows)(const ef_map *map, const float *values, unsigned n_rows,
                     const uint32_t labels[EF_PANEL], const int64_t *weights, int64_t *sums);

    /* Sums of products of columns. A strip has eight columns side by side: column c of row r is at
     * a[8 r + c], an integer of at most 2^23 in magnitude. The n_strips strips of `b` begin
     * strip_doubles apart, and have columns l from 0 to 8 n_strips - 1. For each column i of `a`,
     * to[i * stride + l] += the sum of their products over up to EF_STRIP_ROWS rows. It is exact,
     * in whatever order. Strips are 64-byte aligned; `a` may be one of `b`. */
    void (*add_products)(const double *a, const double *b, size_t strip_doubles, unsigned n_strips,
                         unsigned n_rows, int64_t *to, size_t stride);

    /* Makes strips of the first n_rows rows of a panel of grid points: column j of row r goes to
     * strips[j / 8 * strip_doubles + 8 r + j % 8]. Columns that the last strip has beyond
     * n_columns become 0. */
    void (*pack_strips)(const float *panel, uint32_t n_columns, unsigned n_rows, double *strips,
                        size_t strip_doubles);

    /* out[i] = the upper half of tape(seed, ..., ids[i], step): the leading bits of its v. */
    void (*tape_high)(uint64_t seed, uint32_t purpose_and_sub, const uint64_t ids[EF_PANEL],
                      uint32_t step, uint32_t out[EF_PANEL]);

    /* For each of n_panels panels p, a bit for each `sub` s of n_subs, up to 64: whether one of the
     * numbers that tape_high would give for its ids, which begin at ids[EF_PANEL p], is at most
     * limits[n_subs p + s]. */
    void (*tape_within)(uint64_t seed, uint32_t purpose, uint32_t n_subs, const uint64_t *ids,
                        size_t n_panels, uint32_t step, const uint32_t *limits, uint64_t *bits);

    /* The least and the greatest of EF_CODES whole numbers that rows have side by side: those of row
     * i, of n_rows, at least one, begin at rows + row_bytes * slots[i], aligned or not. */
    void (*code_ranges)(const unsigned char *rows, size_t row_bytes, const uint32_t *slots,
                        size_t n_rows, int32_t least[EF_CODES], int32_t most[EF_CODES]);

    /* For each of the EF_CODES numbers, in how many rows it is at most limits[j]; and the sum of
     * the targets of these rows, which are grid points; targets[i] is that of row i. `targets`
     * NULL: the sums are 0. */
    void (*code_counts)(const unsigned char *rows, size_t row_bytes, const uint32_t *slots,
                        const int32_t *targets, size_t n_rows, const int32_t limits[EF_CODES],
                        uint32_t counts[EF_CODES], int64_t sums[EF_CODES]);
} ef_kernels;

#define EF_POINTS 4 /* that try_points takes at a time: their sums fit the registers */

#define EF_TAPE_RUN 16 /* panels worth one call of tape_within */

#define EF_STRIP 8 /* columns side by side */

/* Products of grid points are at most 2^46, so those of 128 rows add up to at most 2^53: doubles
 * hold all integers up to there. */
#define EF_STRIP_ROWS 128

/* Of up to so many clusters `assign` keeps the scores of two panels. */
#define EF_MOST_KEPT (1u << 14)

/* A panel, or two that are rounded; and for each cluster, and each tile or half of one, a number of
 * each of 32 rows. */
static inline size_t ef_assign_room(uint32_t n_clusters, uint32_t n_columns) {
    const size_t n_kept = n_clusters <= EF_MOST_KEPT ? n_clusters : 0;
    return EF_PANEL * (2 * ((size_t)n_columns + 63) + 2 * (n_kept + n_kept / 2 + 1));
}

#define EF_RUN 64 /* labels of so many panels stay in the first cache */

/* Of n roundings of at most 2^-24 each: subtractions are exact, and so is the first addition to each
 * of the two sums; so a square takes its own, those of at most (d + 1) / 2 - 1 other additions, and
 * the last one. n <= (d + 3) / 2, and both (1 + 2^-24)^n - 1 and 1 / (1 - 2^-24)^n - 1 are less than
 * 1.01 n 2^-24 for d < 2^15. */
#define EF_SQDIST_ERROR(d) (1.01 * ((double)(d) + 3.0) / 2.0 * 0x1p-24)

/* The table for this processor, or the one that EFFACE_KERNELS names; NULL if that one cannot run
 * here. Decided at the first call. */
const ef_kernels *ef_kernels_get(void);

/* The same with an error to hand on. */
efface_status ef_kernels_require(const ef_kernels **out, efface_error *error);

/* A table by name; NULL if unknown or not usable on this processor. */
const ef_kernels *ef_kernels_find(const char *name);

/* The names of all tables there are, on whatever processor; NULL ends the list. */
const char *const *ef_kernels_names(void);

extern const ef_kernels ef_kernels_ref;

#endif
