/* Data: sets of rows, offsets of their columns, and what rounding does to values. Part of efface.h.
 */
#ifndef EFFACE_DATA_H
#define EFFACE_DATA_H

#include "efface/efface_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ data: a set of rows */

/* What ids and owners are: whole numbers, or texts, which the library replaces by numbers. */
typedef enum efface_ids {
    EFFACE_IDS_DETECT = 0, /* numbers if the first one is a whole number and not like 007, else
                              text */
    EFFACE_IDS_NUMBERS = 1,
    EFFACE_IDS_TEXT = 2 /* every id is hashed, "7" as well */
} efface_ids;

/* A set of rows with the same number of columns. Values are finite float32 numbers of magnitude at
 * most 2^126; minus zero is stored as zero. A set may allow that values are missing, which are NaN
 * (efface_data_allow_missing). A column may have an offset, which was subtracted from its values
 * before they were rounded (see "data: offsets"). */
typedef struct efface_data efface_data;

#define EFFACE_MAX_COLUMNS 32767u                 /* so that a squared distance fits 63 bits */
#define EFFACE_MAX_WEIGHT (INT64_C(1) << 40)      /* the total weight of a set stays below this */
#define EFFACE_MAX_MAGNITUDE 8.507059173023462e37 /* 2^126 */

/* A row has an owner or none, and a label or none. EFFACE_NO_OWNER in a request is an error, so
 * that no request finds rows that have no owner. */
#define EFFACE_NO_OWNER UINT64_MAX
#define EFFACE_NO_LABEL INT64_MIN

/* Rows as a caller holds them, for adding and replacing. Values are as the set holds them: if
 * columns have offsets, efface_rows_round makes such values. Any pointer but `values` may be NULL:
 * ids then continue after the largest id that the set ever held (0, 1, 2, ... in a new set),
 * weights are 1, there are no owners and no labels, and marks are 0. A mark is a number that the
 * caller keeps with a row: no model looks at it, and no store keeps it. `stride` is the distance
 * between rows in floats, 0 meaning n_columns. */
typedef struct efface_rows {
    size_t n_rows;
    const float *values;
    size_t stride;
    const uint64_t *ids;
    const int64_t *weights;
    const uint64_t *owners;
    const int64_t *labels;
    const int64_t *marks;
} efface_rows;

/* A row without its values. */
typedef struct efface_row {
    uint64_t id;
    int64_t weight;
    uint64_t owner;
    int64_t label;
    int64_t mark;
} efface_row;

/* Makes an empty set of rows with 1 to EFFACE_MAX_COLUMNS columns.
 * Errors: MEMORY, LIMIT. */
EFFACE_API efface_status efface_data_create(uint32_t n_columns, efface_data **out,
                                            efface_error *error);

/* Releases the memory of a set. */
EFFACE_API void efface_data_free(efface_data *data);

/* Adds rows, all or none. Cost O(n_rows * n_columns) expected.
 * Errors: MEMORY; DUPLICATE for an id that is there or comes twice; LIMIT for a value that is not
 * finite (NaN, unless the set allows missing values) or too large, a weight below 1, or a total
 * weight of EFFACE_MAX_WEIGHT. */
EFFACE_API efface_status efface_data_add(efface_data *data, const efface_rows *rows,
                                         efface_error *error);

/* Removes the rows with these ids, all or none. Their memory is overwritten.
 * Cost O(n_columns) expected per row.
 * Errors: MEMORY; NOT_FOUND for an id that is not there; DUPLICATE for one that comes twice. */
EFFACE_API efface_status efface_data_remove(efface_data *data, const uint64_t *ids, size_t n_ids,
                                            efface_error *error);

/* Gives rows of the set new values, all or none; `ids` is required. Weights, owners, labels and
 * marks change only where their pointer is not NULL. Cost O(n_rows * n_columns) expected.
 * Errors: MEMORY; NOT_FOUND, DUPLICATE and LIMIT as above. */
EFFACE_API efface_status efface_data_replace(efface_data *data, const efface_rows *rows,
                                             efface_error *error);

/* The position, from 0 to n_rows - 1, of the row with an id. Positions change when rows are
 * removed. Cost O(1) expected. Errors: NOT_FOUND. */
EFFACE_API efface_status efface_data_find(const efface_data *data, uint64_t id, size_t *position);

/* The row at a position below n_rows, and a copy of its n_columns values as the set holds them;
 * efface_data_add_offsets converts these to the units of the caller. */
EFFACE_API efface_row efface_data_row(const efface_data *data, size_t position);
EFFACE_API void efface_data_values(const efface_data *data, size_t position, float *values);

/* The number of rows, the number of columns, and the total weight. */
EFFACE_API size_t efface_data_n_rows(const efface_data *data);
EFFACE_API uint32_t efface_data_n_columns(const efface_data *data);
EFFACE_API int64_t efface_data_total_weight(const efface_data *data);

/* From now on values of the rows of a set may be missing: NaN. All NaNs are stored as one, with the
 * bits 0x7fc00000; infinite values are refused as before. Only some models take missing values
 * (those of the family forest, if their parameters say so); all others refuse a set that has some,
 * with the error LIMIT, and rows that would bring some. */
EFFACE_API void efface_data_allow_missing(efface_data *data);

/* How many values are missing in the rows that are there now. */
EFFACE_API uint64_t efface_data_n_missing(const efface_data *data);

/* The name of a column, from a file's header or from the caller; NULL if it has none. The set keeps
 * a copy of a name; NULL or an empty name removes it. Errors: MEMORY; ARGUMENT for a column that
 * does not exist. */
EFFACE_API const char *efface_data_column_name(const efface_data *data, uint32_t column);
EFFACE_API efface_status efface_data_name_column(efface_data *data, uint32_t column,
                                                 const char *name, efface_error *error);

/* Gives the columns another order, with their names and offsets: column j becomes the former column
 * source[j]. Cost O(n_rows * n_columns). Errors: MEMORY; ARGUMENT unless each column comes once. */
EFFACE_API efface_status efface_data_order_columns(efface_data *data, const uint32_t *source,
                                                   efface_error *error);

/* Declares whether the ids and owners of a set are numbers or stand for texts; efface_data_load
 * does so by itself. EFFACE_IDS_DETECT means not known. A store with numbers refuses texts, and the
 * other way round: 77 and "77" would be two people. */
EFFACE_API void efface_data_set_kinds(efface_data *data, efface_ids ids, efface_ids owners);
EFFACE_API void efface_data_get_kinds(const efface_data *data, efface_ids *ids, efface_ids *owners);

/* ------------------------------------------------------------------ data: offsets */

/* A float32 has 24 bits. Values that differ little compared to their size lose their differences:
 * two groups 20 apart at 10^9 become one point, and seconds since 1970 become multiples of 128. An
 * offset for a column prevents this: it is subtracted in double, before values are rounded to
 * float32.
 *
 * Doubles are in the units of the caller, floats are as a set holds them. All functions that take
 * doubles subtract the offsets: efface_data_load, and efface_rows_round, which the caller uses
 * before efface_data_add, efface_data_replace, efface_model_learn, efface_model_update and
 * efface_predictor_predict. A model knows nothing of offsets: it is fitted to the rows as the set
 * holds them, and efface_data_add_offsets converts its centroids, and values of rows, back to the
 * units of the caller. All sets that are used with a model must have the same offsets. The caller
 * has to ensure this; a store does so by itself and refuses other rows.
 *
 * An offset is public, and stays when rows leave. So the library never takes one from the rows by
 * itself: the caller gives it, or accepts the round number that efface_rounding_column proposes. */

/* Gives each column of a set without rows its offset; NULL means no offsets. An offset is finite
 * and of magnitude at most 2^126. Errors: MEMORY; ARGUMENT if there are rows; LIMIT. */
EFFACE_API efface_status efface_data_set_offsets(efface_data *data, const double *offsets,
                                                 efface_error *error);

/* The n_columns offsets, or NULL if all are 0. Valid until the set is released or gets other
 * offsets. */
EFFACE_API const double *efface_data_offsets(const efface_data *data);

/* Adds the offsets of a set to n_columns numbers: a centroid, or the values of a row. */
EFFACE_API void efface_data_add_offsets(const efface_data *data, double *values);

/* Converts rows from the units of the caller to values as a set with these offsets holds them.
 * `values` are rows, `stride` doubles apart (0: n_columns); `offsets` are n_columns numbers or
 * NULL; `rounded` has no gaps between rows. Each value is rounded once, after its offset was
 * subtracted. Values that no set can hold become infinite; NaN stays NaN, a missing value. */
EFFACE_API void efface_rows_round(size_t n_rows, uint32_t n_columns, const double *values,
                                  size_t stride, const double *offsets, float *rounded);

/* What rounding to float32 does to columns. This object holds the smallest and largest value of
 * each column, which are values of rows: release it after use. */
typedef struct efface_rounding efface_rounding;

/* What rounding does to one column. */
typedef struct efface_column_rounding {
    int collapses;       /* values that differ became the same or nearly so: the largest error is
                            above 2^-16 of the spread, or at least 1/2 where the values are four
                            times as large as their spread */
    uint64_t n_vanished; /* values other than 0 that became 0, being smaller than 2^-149 or so */
    double step;         /* how far float32 numbers of the size of the largest value lie apart */
    double spread;       /* from the smallest to the largest value */
    double offset;       /* a proposal: a multiple of a power of two of at least the spread, near
                            the middle. It depends only on the smallest and largest value, and
                            hardly on these. 0: no offset would help */
} efface_column_rounding;

/* Makes an efface_rounding that has seen no rows. Errors: MEMORY. */
EFFACE_API efface_status efface_rounding_create(efface_rounding **out, efface_error *error);

/* Releases it; the memory is overwritten. Takes NULL. */
EFFACE_API void efface_rounding_free(efface_rounding *rounding);

/* Looks at rows in the form that efface_rows_round takes; missing values are passed over. Cost
 * O(n_rows * n_columns). Errors: MEMORY; ARGUMENT if the rows before had another number of columns.
 */
EFFACE_API efface_status efface_rounding_add(efface_rounding *rounding, size_t n_rows,
                                             uint32_t n_columns, const double *values,
                                             size_t stride, const double *offsets,
                                             efface_error *error);

/* The number of columns of the rows it has seen, and what rounding does to one of them. */
EFFACE_API uint32_t efface_rounding_n_columns(const efface_rounding *rounding);
EFFACE_API efface_column_rounding efface_rounding_column(const efface_rounding *rounding,
                                                         uint32_t column);

#ifdef __cplusplus
}
#endif

#endif
