/*
 * The family `segmented`: k-means over the features, and exact sums of the rows of each cluster,
 * from which a linear regression for each is computed when it is asked for (regressions.h).
 *
 * K-means ignores the targets: its state is that of the same rows with targets of 0. The segments
 * are the rows nearest to each of its dividers (ef_kmeans_dividers): the centers that made its last
 * partition. So the state follows from rows, parameters and seed. Sums are over all columns, on
 * grids of their own (coordinates.h).
 *
 * A change goes to k-means first. While the dividers stay, no other row changes its segment, and
 * only sums are corrected. If they move, the segments of all rows are compared with those by the
 * dividers before, which are kept, and each row that moved is taken from one segment to the other.
 */
#ifndef EF_SEGMENTED_H
#define EF_SEGMENTED_H

#include "model/exact/moments.h"
#include "model/kmeans/kmeans_inside.h"
#include "model/sums/coordinates/coordinates.h"

#include <stdatomic.h>

struct ef_regressions;

/* The segment of each row, by position. It is no part of the state and can be dropped at any time:
 * a pass over the rows gives the same. */
typedef struct ef_segment_labels {
    uint32_t *of; /* NULL: none */
    size_t n_rows, capacity;
} ef_segment_labels;

typedef struct ef_segmented {
    efface_segmented_params *params; /* a copy of its own, with what they refer to */
    bool *ignored;                   /* by k-means, of each column: whether it is a target */
    ef_kmeans *kmeans;
    ef_coordinates coordinates;
    uint32_t n_segments; /* as many as there are dividers */
    ef_moments *segments;
    _Atomic(struct ef_regressions *) regressions; /* kept until the next change, or NULL */
    ef_segment_labels labels;                     /* kept to find rows that move, or none */
} ef_segmented;

/* ------------------------------------------------------------------ parameters */

/* As in family.h. */
efface_status ef_segmented_check_params(const efface_params *params, efface_error *error);
efface_params *ef_segmented_copy_params(const efface_params *params, uint32_t n_columns);
void ef_segmented_write_params(ef_writer *writer, const efface_params *params, uint32_t n_columns);
efface_status ef_segmented_read_params(ef_decoder *decoder, uint32_t n_columns, efface_params **out,
                                       efface_error *error);
void ef_segmented_describe_params(const efface_params *params, ef_listener to);

/* Those of k-means, with the seed, the threads and the interruption of the whole. */
efface_kmeans_params ef_segmented_kmeans_params(const efface_segmented_params *params);

/* ------------------------------------------------------------------ the state */

/* As in family.h: segmented.c; segmented_following.c; segmented_bytes.c. */
efface_status ef_segmented_fit(const efface_data *data, const efface_params *params, void **state,
                               efface_error *error);
void ef_segmented_free(void *state);
efface_status ef_segmented_follow(void *state, const ef_news *news, void **next, bool *done,
                                  efface_report *report, efface_error *error);
void ef_segmented_commit(void *state, void *next);
void ef_segmented_drop(void *next);
void ef_segmented_write(ef_writer *writer, const void *state);
efface_status ef_segmented_read(ef_decoder *decoder, const efface_params *params,
                                uint32_t n_columns, void **state, efface_error *error);
efface_status ef_segmented_attach(void *state, const efface_data *data, efface_error *error);
void ef_segmented_locate(const void *a, const void *b, efface_difference *difference);

/* A state without k-means and segments. Errors: MEMORY; KERNELS; ARGUMENT. */
efface_status ef_segmented_make(const efface_segmented_params *params, uint32_t n_columns,
                                ef_segmented **out, efface_error *error);

/* The parameters of k-means as its part of a fit has them: it tells its progress through the state,
 * which is told as a part of the whole. */
efface_kmeans_params ef_segmented_part_params(ef_segmented *state);

/* How far a fit is when k-means is done, and after passes that find segments. */
#define EF_KMEANS_PART 0.7

/* ------------------------------------------------------------------ segments */

/* What divides the rows: centers on the grid of a map. */
typedef struct ef_division {
    const ef_map *map;
    const int32_t *centers;
    uint32_t n;
} ef_division;

/* The segment of each row of a set, by position; ties go to the lower. Errors: MEMORY; KERNELS;
 * INTERRUPTED. */
efface_status ef_segments_of_rows(const ef_segmented *s, const ef_division *by,
                                  const efface_data *data, uint32_t *segments, efface_error *error);

/* The same for the rows of a change. */
efface_status ef_segments_of_change(const ef_division *by, const ef_change *change,
                                    uint32_t *segments, efface_error *error);

/* Room for the labels of so many rows, and some that come later; false if out of memory. */
bool ef_segment_labels_init(ef_segment_labels *labels, size_t n_rows);
void ef_segment_labels_free(ef_segment_labels *labels);

/* Lets them follow a change, given the segments of its rows; those of rows that leave are not
 * looked at. There must be room. */
void ef_segment_labels_follow(ef_segment_labels *labels, const ef_change *change,
                              const uint32_t *segments);

/* Sums of no rows for n segments; NULL if out of memory. */
ef_moments *ef_segments_make(uint32_t n, uint32_t n_coordinates);
void ef_segments_free(ef_moments *segments, uint32_t n);

/* Adds the rows of a set to the sums of their segments. Errors: MEMORY; KERNELS; INTERRUPTED. */
efface_status ef_segments_sum_up(const ef_segmented *s, const ef_coordinates *coordinates,
                                 const efface_data *data, const uint32_t *segment_of,
                                 ef_moments *segments, uint32_t n, efface_error *error);

#endif
