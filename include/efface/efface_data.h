/*
 * Data: sets of rows, offsets of their columns, and what rounding does to values. Part of efface.h.
 *
 * EXAMPLE
 *
 *     const double ages_and_incomes[2][2] = {{46, 50800}, {32, 62700}};
 *     const uint64_t ids[2] = {1, 2}, owners[2] = {8, 15};
 *     float values[2][2];
 *     efface_data *people = NULL;
 *     efface_error error;
 *     efface_rows_round(2, 2, &ages_and_incomes[0][0], 0, NULL, &values[0][0]);
 *     const efface_rows rows = {
 *         .n_rows = 2, .values = &values[0][0], .ids = ids, .owners = owners};
 *     if (efface_data_create(2, &people, &error) != EFFACE_OK ||
 *         efface_data_add(people, &rows, &error) != EFFACE_OK ||
 *         efface_data_remove(people, &ids[0], 1, &error) != EFFACE_OK) {
 *         fprintf(stderr, "%s\n", error.message);
 *         return 1;
 *     }
 *     printf("%zu row is left\n", efface_data_n_rows(people));
 *     efface_data_free(people);
 */
#ifndef EFFACE_DATA_H
#define EFFACE_DATA_H

#include "efface/efface_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ data: a set of rows */

/* Whether ids and owners are whole numbers, or texts, for which the library keeps numbers. */
typedef enum efface_ids {
    EFFACE_IDS_DETECT = 0, /* as the first one looks: numbers if it is a whole number and not
                              written like 007, else texts */
    EFFACE_IDS_NUMBERS = 1,
    EFFACE_IDS_TEXT = 2 /* all are texts and are hashed, "7" as well */
} efface_ids;

/* A set of rows with the same number of columns. Values are finite float32 numbers of magnitude at
 * most 2^126; minus zero is stored as zero. If the set allows it (efface_data_allow_missing), a
 * value may be missing: NaN. A column may have an offset, which was subtracted from its values
 * before they were rounded (see "data: offsets"). */
typedef struct efface_data efface_data;

#define EFFACE_MAX_COLUMNS 32767u                 /* so that a squared distance fits 63 bits */
#define EFFACE_MAX_WEIGHT (INT64_C(1) << 40)      /* the total weight of a set stays below this */
#define EFFACE_MAX_MAGNITUDE 8.507059173023462e37 /* 2^126 */

/* In the place of an owner, or of a label: the row has none. A request must not name
 * EFFACE_NO_OWNER, so that no request can match rows without an owner. */
#define EFFACE_NO_OWNER UINT64_MAX
#define EFFACE_NO_LABEL INT64_MIN

/* Rows in the caller's memory, to be added or to replace others. Every pointer except `values` may
 * be NULL. */
typedef struct efface_rows {
    size_t n_rows;
    const float *values;    /* as the set holds them: if columns have offsets, use
                               efface_rows_round */
    size_t stride;          /* floats from one row to the next; 0: n_columns */
    const uint64_t *ids;    /* NULL: they continue after the largest id that the set ever held; 0,
                               1, 2, ... in a new set */
    const int64_t *weights; /* at least 1; NULL: 1 */
    const uint64_t *owners; /* NULL: no owners */
    const int64_t *labels;  /* classes; NULL: no labels */
    const int64_t *marks;   /* numbers that the caller keeps with rows; no model looks at them, and
                               no store keeps them. NULL: 0 */
} efface_rows;

/* A row without its values. */
typedef struct efface_row {
    uint64_t id;
    int64_t weight;
    uint64_t owner;
    int64_t label;
    int64_t mark;
} efface_row;

/* Makes an empty set with 1 to EFFACE_MAX_COLUMNS columns. Release it with efface_data_free.
 * Errors: EFFACE_E_MEMORY; EFFACE_E_LIMIT. */
EFFACE_API efface_status efface_data_create(uint32_t n_columns, efface_data **out,
                                            efface_error *error);

/* Releases a set; its memory is overwritten. Takes NULL. */
EFFACE_API void efface_data_free(efface_data *data);

/* Adds rows: all of them, or none if the call fails. Cost O(n_rows * n_columns), expected.
 *
 * If the set belongs to a model, use efface_model_learn instead: a set that was changed without its
 * models is refused by them.
 *
 * Errors: EFFACE_E_DUPLICATE for an id that exists or comes twice; EFFACE_E_LIMIT for a value that
 * is infinite, too large, or NaN where the set does not allow missing values, for a weight below 1,
 * and for a total weight of EFFACE_MAX_WEIGHT or more; EFFACE_E_ARGUMENT for a set that has joined
 * a group; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_data_add(efface_data *data, const efface_rows *rows,
                                         efface_error *error);

/* Removes the rows with these ids: all of them, or none if the call fails. Their memory is
 * overwritten. To forget rows in a model, use efface_model_forget. Cost O(n_columns) a row,
 * expected. Errors: EFFACE_E_NOT_FOUND for an id that does not exist; EFFACE_E_DUPLICATE for one
 * that comes twice; EFFACE_E_ARGUMENT for a set that has joined a group; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_data_remove(efface_data *data, const uint64_t *ids, size_t n_ids,
                                            efface_error *error);

/* Gives rows new values, by their ids, which are required: all of them, or none if the call fails.
 * Weights, owners, labels and marks change only if their pointer is not NULL. Cost O(n_rows *
 * n_columns), expected. Errors: EFFACE_E_NOT_FOUND and EFFACE_E_DUPLICATE as for
 * efface_data_remove; EFFACE_E_LIMIT as for efface_data_add; EFFACE_E_ARGUMENT; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_data_replace(efface_data *data, const efface_rows *rows,
                                             efface_error *error);

/* Finds the position, from 0 to n_rows - 1, of the row with an id. Positions change when rows are
 * removed. Cost O(1), expected. Errors: EFFACE_E_NOT_FOUND. */
EFFACE_API efface_status efface_data_find(const efface_data *data, uint64_t id, size_t *position);

/* Returns the row at a position below n_rows; and copies its n_columns values, as the set holds
 * them, to `values`. efface_data_add_offsets converts these to the units of the caller. */
EFFACE_API efface_row efface_data_row(const efface_data *data, size_t position);
EFFACE_API void efface_data_values(const efface_data *data, size_t position, float *values);

/* Return the number of rows, the number of columns, and the total weight. */
EFFACE_API size_t efface_data_n_rows(const efface_data *data);
EFFACE_API uint32_t efface_data_n_columns(const efface_data *data);
EFFACE_API int64_t efface_data_total_weight(const efface_data *data);

/* From now on, values of the set may be missing: NaN. All NaNs are stored as one, with the bits
 * 0x7fc00000; infinite values are still refused. Few models accept missing values (those of the
 * family forest, if their parameters say so); all others refuse the set, or rows that bring the
 * first one, with EFFACE_E_LIMIT. */
EFFACE_API void efface_data_allow_missing(efface_data *data);

/* Returns how many values of the present rows are missing. */
EFFACE_API uint64_t efface_data_n_missing(const efface_data *data);

/* Returns the name of a column, from the header of its file or from the caller; NULL if it has
 * none. */
EFFACE_API const char *efface_data_column_name(const efface_data *data, uint32_t column);

/* Names a column. The set keeps a copy; NULL or an empty name removes the old one. Errors:
 * EFFACE_E_ARGUMENT for a column that does not exist; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_data_name_column(efface_data *data, uint32_t column,
                                                 const char *name, efface_error *error);

/* Reorders the columns, with their names, types and offsets: column j becomes the former column source[j].
 * Cost O(n_rows * n_columns). Errors: EFFACE_E_ARGUMENT unless each column comes once;
 * EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_data_order_columns(efface_data *data, const uint32_t *source,
                                                   efface_error *error);

/* Declares whether the ids and the owners of a set are numbers or stand for texts;
 * EFFACE_IDS_DETECT means that it is not known. efface_data_load does this by itself. A store of
 * numbers refuses texts, and the other way round: 77 and "77" would be two people. */
EFFACE_API void efface_data_set_kinds(efface_data *data, efface_ids ids, efface_ids owners);
EFFACE_API void efface_data_get_kinds(const efface_data *data, efface_ids *ids, efface_ids *owners);

/* ------------------------------------------------------------------ data: types */

/* What the numbers of a column stand for. A set holds numbers in any case, and models know nothing
 * of types: they say how a file is read, and how a value is shown. */
typedef enum efface_column_type {
    EFFACE_TYPE_NUMBER = 0,
    EFFACE_TYPE_TRUTH = 1, /* 1 for true, t, yes; 0 for false, f, no; in capitals or not */
    EFFACE_TYPE_DATE = 2,  /* days since 1970, for dates of ISO 8601: 2024-02-29 */
    EFFACE_TYPE_TIME = 3,  /* seconds since 1970 in UTC, for times of ISO 8601:
                              2024-02-29T12:30:00.5+01:00, 2024-02-29 12:30; and for dates. Large
                              numbers: give the column an offset */
    EFFACE_TYPE_COMMA = 4  /* numbers that have a comma in the place of the point: 3,14 */
} efface_column_type;

/* Gives each column of a set its type: n_columns of them, or NULL for numbers. Errors:
 * EFFACE_E_ARGUMENT; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_data_set_types(efface_data *data, const efface_column_type *types,
                                               efface_error *error);

/* Returns the n_columns types, or NULL if all are numbers. Valid until the set is released or gets
 * other types. */
EFFACE_API const efface_column_type *efface_data_types(const efface_data *data);

/* Writes the text of a truth value, a date or a time that a set holds, so that it is this value when
 * it is read again; times in UTC, to the microsecond. Returns 0 if there is no such text: show the
 * number. */
#define EFFACE_TYPE_TEXT 40
EFFACE_API int efface_type_write(efface_column_type type, float value, double offset,
                                 char text[EFFACE_TYPE_TEXT]);

/* ------------------------------------------------------------------ data: offsets */

/* A float32 has 24 bits. Values that differ little compared to their size lose their differences:
 * two groups 20 apart at 10^9 become one point, and seconds since 1970 become multiples of 128. An
 * offset prevents this: it is subtracted in double, before a value is rounded to float32.
 *
 * Doubles are in the units of the caller, floats are as a set holds them. Every function that turns
 * doubles into floats subtracts the offsets: efface_data_load, and efface_rows_round, which you
 * call before efface_data_add, efface_data_replace, efface_model_learn, efface_model_update and
 * efface_predictor_predict. A model knows nothing of offsets: it is fitted to the rows as the set
 * holds them. efface_data_add_offsets converts its centroids, and values of rows, back to the units
 * of the caller. All sets that are used with one model must have the same offsets. A store sees to
 * this and refuses other rows; otherwise the caller has to.
 *
 * An offset is public, and stays when rows leave. So the library never takes one from the rows by
 * itself: the caller gives it, or accepts the round number that efface_rounding_column proposes. */

/* Gives each column of a set without rows its offset: n_columns finite numbers of magnitude at most
 * 2^126, or NULL for none. Errors: EFFACE_E_ARGUMENT if there are rows; EFFACE_E_LIMIT;
 * EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_data_set_offsets(efface_data *data, const double *offsets,
                                                 efface_error *error);

/* Returns the n_columns offsets, or NULL if all are 0. Valid until the set is released or gets
 * other offsets. */
EFFACE_API const double *efface_data_offsets(const efface_data *data);

/* Adds the offsets of a set to n_columns numbers: a centroid, or the values of a row. */
EFFACE_API void efface_data_add_offsets(const efface_data *data, double *values);

/* Converts rows from the units of the caller to values as a set with these offsets holds them.
 * `values` are rows, `stride` doubles apart (0: n_columns); `offsets` are n_columns numbers or
 * NULL; `rounded` gets the rows without gaps. Each value is rounded once, after its offset was
 * subtracted. A value that no set can hold becomes infinite; NaN stays NaN, a missing value. */
EFFACE_API void efface_rows_round(size_t n_rows, uint32_t n_columns, const double *values,
                                  size_t stride, const double *offsets, float *rounded);

/* What rounding to float32 does to columns. It holds the smallest and the largest value of each
 * column, which are values of rows: release it after use. */
typedef struct efface_rounding efface_rounding;

/* What rounding does to one column. */
typedef struct efface_column_rounding {
    int collapses;       /* values that differed became equal, or nearly so: the largest error is
                            above 2^-16 of the spread, or at least 1/2 where the values are four
                            times as large as their spread */
    uint64_t n_vanished; /* values other than 0 that became 0, being smaller than about 2^-149 */
    double step;         /* the distance of neighbouring float32 numbers near the largest value */
    double spread;       /* the largest value minus the smallest */
    double offset;       /* a proposal: a multiple of a power of two that is at least the spread,
                            near the middle. It depends only on the column's minimum and maximum,
                            and rarely changes when they do. 0: no offset would help */
} efface_column_rounding;

/* Makes an efface_rounding that has seen no rows. Release it with efface_rounding_free. Errors:
 * EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_rounding_create(efface_rounding **out, efface_error *error);

/* Releases it; its memory is overwritten. Takes NULL. */
EFFACE_API void efface_rounding_free(efface_rounding *rounding);

/* Looks at rows, in the form that efface_rows_round takes; missing values are ignored. Cost
 * O(n_rows * n_columns). Errors: EFFACE_E_ARGUMENT if earlier rows had another number of columns;
 * EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_rounding_add(efface_rounding *rounding, size_t n_rows,
                                             uint32_t n_columns, const double *values,
                                             size_t stride, const double *offsets,
                                             efface_error *error);

/* Return the number of columns of the rows that it has seen, and what rounding does to one of
 * them. */
EFFACE_API uint32_t efface_rounding_n_columns(const efface_rounding *rounding);
EFFACE_API efface_column_rounding efface_rounding_column(const efface_rounding *rounding,
                                                         uint32_t column);

#ifdef __cplusplus
}
#endif

#endif
