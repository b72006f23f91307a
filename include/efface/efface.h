/*
 * efface: machine-learning models that can forget.
 *
 * WHAT EXACT MEANS
 *
 * A training set is a *set* of rows; each row has a 64-bit id, d numbers, a weight, and perhaps an
 * owner. A model is a pure function of three things,
 *
 *     state = A(rows, parameters, seed)
 *
 * and of nothing else: not of the order of the rows, the number of threads, the processor, the
 * compiler, or of what the set held before. Therefore: after any sequence of forget, learn and
 * update calls, in any order and any batching, the state is byte for byte the state of fitting the
 * rows that are there now with the same parameters and the same seed. Two states are compared as
 * bytes (efface_model_encode) or by their digest (efface_model_digest), never with a tolerance;
 * efface_model_verify does it for you. docs/exactness.md gives the argument, docs/numerics.md the
 * arithmetic.
 *
 * Exact deletion is not privacy: whoever holds both the model from before and the model after may
 * learn about the row that left. If requests may have been chosen by looking at published models
 * (the adaptive adversary, docs/exactness.md, section 4), the kept randomness is correlated with
 * the remaining rows; efface_model_rekey draws new randomness, and efface_store_publish does so
 * for every model that it gives out. docs/paper.md compares the methods with the paper they come
 * from.
 *
 * THE LIFE OF A MODEL
 *
 *     efface_data *people = NULL;
 *     efface_model *model = NULL;
 *     efface_kmeans_params params;
 *     efface_error error;
 *     efface_kmeans_params_init(&params);
 *     params.n_clusters = 8;
 *     params.common.seed = 20191105;
 *     const uint64_t id = 7;
 *     const efface_request request = {.ids = &id, .n_ids = 1};
 *     if (efface_data_load("people.csv", NULL, &people, &error) != EFFACE_OK ||
 *         efface_kmeans_fit(people, &params, &model, &error) != EFFACE_OK ||
 *         efface_model_forget(model, people, &request, NULL, &error) != EFFACE_OK)
 *         fprintf(stderr, "%s\n", error.message);
 *     efface_model_free(model);
 *     efface_data_free(people);
 *
 * RULES THAT HOLD FOR EVERY FUNCTION
 *
 * Errors. A function that can fail returns an efface_status. Outputs are written only on success,
 * and a failed call leaves every object as it was. The last argument is an optional place for the
 * detail: a sentence that says what to do, and the file, line and column where they apply.
 * The library never prints, exits or aborts.
 *
 * Ownership. What a function named create, load, fit or encode hands out is the caller's, to be
 * released with the free function of that type. Pointers passed in are only read during the call.
 * `free` releases memory and accepts NULL; `remove` and `forget` take data out of a set or a model.
 * The library overwrites memory before it releases it. Copies that a caller made are the caller's.
 *
 * Interruption. A fit can be interrupted, and so can every call that may have to fit again: see
 * `interrupted` in efface_params. Such calls may return EFFACE_E_INTERRUPTED.
 *
 * Threads. Several threads may use different objects at once. Several threads may read one object
 * as long as none changes it. n_threads never changes a result.
 *
 * Environment. One variable is read: EFFACE_KERNELS (ref, avx2, avx512, neon) forces a kernel
 * table, for tests; a table this processor cannot run is the error EFFACE_E_KERNELS.
 */
#ifndef EFFACE_H
#define EFFACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define EFFACE_API
#else
#define EFFACE_API __attribute__((visibility("default")))
#endif

/* The version of this header; efface_version() is the version of the library that was linked. */
#define EFFACE_VERSION "0.2.0"
EFFACE_API const char *efface_version(void);

/* ------------------------------------------------------------------ status and errors */

typedef enum efface_status {
    EFFACE_OK = 0,
    EFFACE_E_MEMORY = 1,       /* an allocation failed */
    EFFACE_E_ARGUMENT = 2,     /* an argument makes no sense: the caller's mistake */
    EFFACE_E_LIMIT = 3,        /* a value is beyond what the exact arithmetic can hold */
    EFFACE_E_IO = 4,           /* the operating system could not open, read or write a file */
    EFFACE_E_FORMAT = 5,       /* a file is not what it should be */
    EFFACE_E_DUPLICATE = 6,    /* an id is there already */
    EFFACE_E_NOT_FOUND = 7,    /* an id is not there */
    EFFACE_E_KERNELS = 8,      /* EFFACE_KERNELS names a table this processor cannot run */
    EFFACE_E_BUSY = 9,         /* another process is writing to the store */
    EFFACE_E_CORRUPT = 10,     /* a store is damaged */
    EFFACE_E_INTERRUPTED = 11, /* the caller was asked and wanted the work to end */
    EFFACE_E_GROUP = 12        /* the engine of a group failed: ranks cannot reach each other */
} efface_status;

/* A short name of a status, such as "not found". Never NULL. */
EFFACE_API const char *efface_status_name(efface_status status);

/* The detail of a failed call. `message` is a complete sentence and names the place by itself; the
 * other fields give the same place to programs. Lines, columns and fields count from 1; 0 means
 * "does not apply". For binary files `line` is the row and `column` the column of the matrix. */
typedef struct efface_error {
    efface_status status;
    char message[512];
    char file[256];
    uint64_t line;
    uint64_t column;
    int os_error; /* of EFFACE_E_IO: why, as an errno, such as ENOSPC if the disk is full and EROFS
                     if it cannot be written; 0 if that is not known */
} efface_error;

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

/* ------------------------------------------------------------------ data: offsets */

/* A float32 has 24 bits. Values that differ little compared to their size lose their differences:
 * two groups 20 apart at 10^9 become one point, and seconds since 1970 become multiples of 128. An
 * offset for a column prevents this: it is subtracted in double, before values are rounded to
 * float32.
 *
 * Doubles are in the units of the caller, floats are as a set holds them. All functions that take
 * doubles subtract the offsets: efface_data_load, and efface_rows_round, which the caller uses
 * before efface_data_add, efface_data_replace, efface_model_learn, efface_model_update and
 * efface_model_predict. A model knows nothing of offsets: it is fitted to the rows as the set
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

/* ------------------------------------------------------------------ data: texts */

/* Ids, owners and labels are numbers here. Where a file has texts, a number stands for each text.
 * For an id or an owner it is a keyed hash (efface_text_id), so that nobody can choose a text with
 * the number of somebody else. For a label it is a hash without a key, the same everywhere. A
 * collection of texts keeps the texts that the numbers stand for. A set does not need it. */
typedef struct efface_texts efface_texts;

typedef enum efface_text_kind {
    EFFACE_TEXT_ID = 0,
    EFFACE_TEXT_OWNER = 1,
    EFFACE_TEXT_LABEL = 2
} efface_text_kind;

/* Makes an empty collection. Errors: MEMORY. */
EFFACE_API efface_status efface_texts_create(efface_texts **out, efface_error *error);

/* Releases a collection; the memory is overwritten. Takes NULL. */
EFFACE_API void efface_texts_free(efface_texts *texts);

/* Keeps a copy of a text of n_bytes, valid UTF-8 or not, without zero bytes. If the number has a
 * text already, that text stays. Cost O(n_bytes) expected. Errors: MEMORY; ARGUMENT. */
EFFACE_API efface_status efface_texts_add(efface_texts *texts, efface_text_kind kind,
                                          uint64_t number, const char *text, size_t n_bytes,
                                          efface_error *error);

/* The text of a number, or NULL. Valid until the collection is released. Takes NULL. */
EFFACE_API const char *efface_texts_find(const efface_texts *texts, efface_text_kind kind,
                                         uint64_t number);

/* ------------------------------------------------------------------ data: files */

typedef enum efface_header {
    EFFACE_HEADER_DETECT = 0, /* a header if a field of the first line is not a number, nor a value
                                 that is missing; an error if only fields that may be text are not
                                 numbers: say which */
    EFFACE_HEADER_YES = 1,
    EFFACE_HEADER_NO = 2
} efface_header;

#define EFFACE_HASH_KEY_BYTES 16

/* The offset of a column of values in a file. */
typedef struct efface_offset {
    const char *column; /* its name, or its number among the columns of values, from 1 */
    uint32_t place;     /* if not 0, its number from 1, which is used where the file or `column` has
                           no name; then a column that does not exist is no error */
    double value;
} efface_offset;

/* A column of values that has categories: what counts is whether two values are the same. A number
 * that a set can hold stays that number; any other text becomes its code (efface_text_category),
 * from which no offset is subtracted. Texts are in CSV only; elsewhere nothing changes. */
typedef struct efface_category {
    const char *column; /* as in efface_offset */
    uint32_t place;
} efface_category;

/* How to read a file. Fill with efface_load_options_init, then change what differs. Column names
 * apply to CSV only; a column is named by its header or, if no header matches, by its number
 * counted from 1. Columns that are not named here are values. A field of the header that has only
 * spaces is not a name. A name that two columns share is an error: give the number. */
typedef struct efface_load_options {
    uint32_t version; /* set by efface_load_options_init */
    efface_header header;
    char delimiter; /* 0: a comma, semicolon or tab, whichever the first line has most of */
    const char *id_column;
    const char *owner_column;
    const char *weight_column;
    const char *label_column; /* a class for each row: a whole number, or a text that is hashed */
    efface_ids ids;
    efface_ids owners; /* the same for owners */
    efface_ids labels; /* and for labels; detected: numbers if the first one is a number */
    unsigned char hash_key[EFFACE_HASH_KEY_BYTES]; /* for ids and owners that are text */
    efface_texts *texts; /* default NULL; if not NULL and the load succeeds, it gets the texts of
                            ids, owners and labels */
    const efface_offset *offsets; /* default NULL: none */
    size_t n_offsets;
    efface_rounding *rounding; /* default NULL; if not NULL, a new one; if the load succeeds, it has
                                  seen all values that float32 may not hold */

    /* For ranks of a group that read one file together: of n_shares shares, only the rows of one
     * are read, `share`, from 0. Every row is in one share, and shares are about equally large; one
     * may have no rows. Rows without an id column have the ids that they have in the whole file. A
     * share of an .npy or IDX file that is not gzipped is read without the rest. Default 0: all
     * rows. */
    uint32_t share;
    uint32_t n_shares;

    int missing; /* if not 0, values may be missing: fields of CSV that are empty, or NA, N/A, null,
                    NULL, ?, or NaN in any case, with spaces around them or not; and NaN in arrays.
                    The set then allows missing values. Default 0: such a value is an error */
    const efface_category *categories; /* columns that have categories; default NULL: none */
    size_t n_categories;
} efface_load_options;

/* Fills the options with their defaults: detect everything, all columns are values, key 0. */
EFFACE_API void efface_load_options_init(efface_load_options *options);

/* Reads a set of rows from a file: NumPy .npy (float32, float64, integers, booleans; C order), IDX,
 * or CSV, each of them also gzipped. The content tells the format. The first dimension of an
 * array is the rows, the others together are the columns.
 * A pipe may take the place of a file. "-" is standard input (a file of that name is "./-"); it is
 * read from its current position to its end, and stays open.
 * Values are rounded to float32, after offsets were subtracted in double (a whole number beyond
 * 2^53 is first rounded to the nearest double). Rows of a file without an id column get the ids 0,
 * 1, 2, ...
 * `options` may be NULL. On failure nothing is handed out.
 * Errors: MEMORY; IO; FORMAT with file, line and column; DUPLICATE (also for two texts with the
 * same hash: use another key); LIMIT; ARGUMENT for an offset, or categories, of a column that is
 * not there. */
EFFACE_API efface_status efface_data_load(const char *path, const efface_load_options *options,
                                          efface_data **out, efface_error *error);

/* Reads one whole number for each row, in the order of positions, and makes it the row's label: for
 * data sets that have an x.npy and a y.npy. Formats and paths as above, with one column.
 * Errors: as efface_data_load; FORMAT if the number of rows differs. */
EFFACE_API efface_status efface_data_load_labels(efface_data *data, const char *path,
                                                 efface_error *error);

/* The 64-bit number of an id or owner that is a text, under a hash key; and the number of a label
 * that is a text. All forms of a UUID have the same number: in capitals or not, in braces or not,
 * after "urn:uuid:" or not. The text of a label is hashed as it is. */
EFFACE_API uint64_t efface_text_id(const char *text, size_t n_bytes,
                                   const unsigned char key[EFFACE_HASH_KEY_BYTES]);
EFFACE_API int64_t efface_text_label(const char *text, size_t n_bytes);

/* The value that stands for a text in a column of categories: one of 2^29 numbers of magnitude 2^64
 * to 2^96, which the hash of a label chooses. It is the same everywhere, and depends on no other
 * text. Two texts have the same with a chance of one in 2^29, and are one category then. */
EFFACE_API float efface_text_category(const char *text, size_t n_bytes);

/* Makes the benchmark set of spherical Gaussian clusters: centres uniform in the unit cube,
 * variance 0.8, rows_per_cluster rows around each, labelled by cluster; not scaled. The same
 * arguments give the same bits everywhere.
 * Errors: MEMORY, LIMIT. */
EFFACE_API efface_status efface_data_make_gaussian(uint32_t n_clusters, uint32_t n_columns,
                                                   size_t rows_per_cluster, uint64_t seed,
                                                   efface_data **out, efface_error *error);

/* ------------------------------------------------------------------ models: parameters */

/* A fitted model, of any family. A family is a kind of model, and has parameters and a fit function
 * of its own (efface_kmeans_fit); everything else that can be done with a model is done by the
 * functions of this part, whatever the family. */
typedef struct efface_model efface_model;

/* What predicts without a model: see "published models". */
typedef struct efface_predictor efface_predictor;

typedef enum efface_family {
    EFFACE_FAMILY_KMEANS = 1,
    EFFACE_FAMILY_SUMS = 2,
    EFFACE_FAMILY_SEGMENTED = 3,
    EFFACE_FAMILY_FOREST = 4
} efface_family;

/* The name of a family, such as "kmeans"; NULL for a number that is none. */
EFFACE_API const char *efface_family_name(efface_family family);

/* What the parameters of every family begin with. The init function of the family fills it. */
typedef struct efface_params {
    uint32_t version;     /* set by the init function */
    efface_family family; /* the same */
    uint64_t seed;        /* all randomness; keep it secret if deletion requests may react to it */
    uint32_t n_threads;   /* 0: as many as there are processors; no result depends on it */

    /* To interrupt long work: the library calls `interrupted` now and then, with interrupt_context,
     * on the thread that made the call. If it returns non-zero, the call ends with
     * EFFACE_E_INTERRUPTED and has changed nothing. NULL, the default: never called. A fit calls it
     * before each pass over the rows, every few milliseconds of a long pass, and at each part of a
     * model that has parts. A change that leaves a model untouched does not call it, or once for
     * each part it reaches. Passes may be short: a function that takes longer than a microsecond
     * should look at a clock first. The model keeps both pointers, and uses them in later changes,
     * verify and rekey too. They are no part of the state; a store uses them during
     * efface_store_fit and does not keep them. The function must not use the model or the set. */
    int (*interrupted)(void *context);
    void *interrupt_context;

    /* Called where `interrupted` would be called, with interrupt_context and the part of a fit that
     * is done, from 0 to 1: an estimate from passes over the rows, which never falls during one
     * fit. The same rules hold for it. NULL, the default: never called. */
    void (*progress)(void *context, double part);
} efface_params;

/* ------------------------------------------------------------------ models: what they are */

/* Releases the memory of a model. Takes NULL. */
EFFACE_API void efface_model_free(efface_model *model);

/* What the numbers are that a family predicts. */
typedef enum efface_predicts {
    EFFACE_PREDICTS_CLUSTERS = 0, /* `whole`: the number of a cluster, from 0 */
    EFFACE_PREDICTS_CLASSES = 1,  /* `whole`: a class, as the labels of rows are */
    EFFACE_PREDICTS_VALUES = 2,   /* `real`: values in the units of the rows as a set holds them */
    EFFACE_PREDICTS_PROBABILITIES = 3 /* `real`: from 0 to 1 */
} efface_predicts;

typedef struct efface_model_info {
    efface_family family;
    uint32_t n_columns;
    uint64_t n_rows;
    int64_t total_weight;
    efface_predicts predicts;
    uint32_t n_numbers; /* that are predicted for each row; 0 if it cannot predict, having no rows,
                           too few, or other classes than its priors are for */
    uint32_t n_classes; /* that the rows of a model of classes have; else 0 */
} efface_model_info;

/* What is known of a model of any family. Never fails. */
EFFACE_API efface_model_info efface_model_get_info(const efface_model *model);

/* Something that can be said of a model: a parameter, or what became of it. */
typedef enum efface_fact_kind {
    EFFACE_FACT_WHOLE = 0,
    EFFACE_FACT_REAL = 1,
    EFFACE_FACT_TEXT = 2,
    EFFACE_FACT_YES_NO = 3, /* `whole` is 1 or 0 */
    EFFACE_FACT_NONE = 4    /* no value: a parameter that is derived from the rows, or nothing */
} efface_fact_kind;

typedef struct efface_fact {
    const char *name;
    efface_fact_kind kind;
    int is_parameter; /* if 0, it describes the fitted model */
    uint64_t whole;
    double real;
    const char *text;
} efface_fact;

/* Calls `each` for every parameter but the seed, and then for all else that the family has to say
 * of the model, in a fixed order. Never fails. */
EFFACE_API void efface_model_describe(const efface_model *model,
                                      void (*each)(void *context, const efface_fact *fact),
                                      void *context);

/* One predicted number; efface_predicts says which of the two it is. */
typedef union efface_number {
    int64_t whole;
    double real;
} efface_number;

/* Writes what the model predicts for each row, n_numbers numbers a row (efface_model_info). Rows
 * are n_columns floats, `stride` floats apart (0: n_columns), and finite; values may be NaN, which
 * is missing, if the model takes that. A column that is a target (efface_model_is_input) has its
 * place in such a row, but what stands there does not matter.
 * Errors: MEMORY; ARGUMENT if the model has too few rows to predict; LIMIT; KERNELS. */
EFFACE_API efface_status efface_model_predict(const efface_model *model, size_t n_rows,
                                              const float *values, size_t stride,
                                              efface_number *numbers, efface_error *error);

#define EFFACE_NO_COLUMN UINT32_MAX

/* Whether prediction looks at a column; it does not look at targets. And the column that predicted
 * number `number`, from 0, is a value of, so that its offset is to be added to convert the number
 * to the units of the caller; EFFACE_NO_COLUMN if there is none. */
EFFACE_API int efface_model_is_input(const efface_model *model, uint32_t column);
EFFACE_API uint32_t efface_model_value_column(const efface_model *model, uint32_t number);

/* Whether values of inputs may be missing (NaN) in rows to predict; and whether the values of a
 * column are categories. */
EFFACE_API int efface_model_takes_missing(const efface_model *model);
EFFACE_API int efface_model_is_category(const efface_model *model, uint32_t column);

/* Writes the classes of a model, as the labels of rows are, in ascending order: n_classes of them
 * (efface_model_info), or as many as there is room for. */
EFFACE_API void efface_model_classes(const efface_model *model, int64_t *classes, size_t capacity);

/* What is wanted of each class. */
typedef enum efface_scores {
    EFFACE_SCORES_DECISIONS = 0,    /* the class with the largest one is predicted; the family says
                                       what it means */
    EFFACE_SCORES_PROBABILITIES = 1 /* that the row is of the class; they sum to 1 */
} efface_scores;

/* Writes a number for each row and class, n_classes numbers a row, in the order of classes. Errors:
 * as efface_model_predict; ARGUMENT for a model without classes, or without probabilities. */
EFFACE_API efface_status efface_model_score(const efface_model *model, efface_scores scores,
                                            size_t n_rows, const float *values, size_t stride,
                                            double *numbers, efface_error *error);

/* What the rows of a table are. */
typedef enum efface_table_rows {
    EFFACE_TABLE_NUMBERED = 0, /* they are numbered from 0 */
    EFFACE_TABLE_CLASSES = 1,  /* row_ids has the class of each */
    EFFACE_TABLE_COLUMNS = 2   /* row_ids has the number of a column of the model for each */
} efface_table_rows;

/* A table of numbers that a model can be looked at through, such as its centroids. Pointers are
 * valid until the model changes or is released. */
typedef struct efface_table {
    const char *name;
    const char *row_name; /* of what each row is, such as "cluster" */
    efface_table_rows rows;
    const int64_t *row_ids; /* n_rows of them, or NULL if rows are numbered */
    uint64_t n_rows;
    uint32_t n_columns; /* of the table: first n_named columns that have names of their own, */
    uint32_t n_named;
    const char *const *names;
    const uint32_t *columns; /* then columns of the model, which are listed here; or, if this is
                                NULL, parts that are numbered from 1 and called part_name; or, */
    const char *part_name;   /* if that is NULL too, all columns of the model */
} efface_table;

/* The table with a number, from 0; or the table with a name. A model has as many tables as there
 * are numbers without an error. Errors: NOT_FOUND, with the names that there are. */
EFFACE_API efface_status efface_model_get_table(const efface_model *model, uint32_t number,
                                                efface_table *table, efface_error *error);
EFFACE_API efface_status efface_model_find_table(const efface_model *model, const char *name,
                                                 efface_table *table, efface_error *error);

/* Writes one row of a table, n_columns numbers of the table. `offsets` are those of the set
 * (efface_data_offsets): the numbers are then in the units of the caller; with NULL they are in the
 * units of the rows as the set holds them. Errors: NOT_FOUND; ARGUMENT for a row that does not
 * exist; MEMORY. */
EFFACE_API efface_status efface_model_read_table(const efface_model *model, const char *name,
                                                 uint64_t row, const double *offsets,
                                                 double *values, efface_error *error);

/* Hands out the canonical bytes of the state (docs/format.md): equal states have equal bytes. The
 * bytes do not contain the seed. Release with efface_bytes_free. */
EFFACE_API efface_status efface_model_encode(const efface_model *model, unsigned char **bytes,
                                             size_t *n_bytes, efface_error *error);
EFFACE_API void efface_bytes_free(unsigned char *bytes);

/* Makes a model again from its canonical bytes, the parameters it was fitted with (`common` of the
 * family's parameters; including the seed, which the bytes do not contain), and its set of rows.
 * The model is the one that was encoded, and behaves in the same way. Cost: less than a fit; the
 * family says how much. Errors: MEMORY; FORMAT for bytes that cannot be those of a state of these
 * parameters and rows (numbers that are wrong but possible pass: efface_model_verify finds them);
 * LIMIT for rows outside a bound that was given; ARGUMENT; KERNELS. */
EFFACE_API efface_status efface_model_decode(const unsigned char *bytes, size_t n_bytes,
                                             const efface_params *params, const efface_data *data,
                                             efface_model **out, efface_error *error);

/* The memory that the model takes, including all that it keeps for each row, without the set. */
EFFACE_API size_t efface_model_state_bytes(const efface_model *model);

#define EFFACE_DIGEST_BYTES 32

/* The BLAKE2b-256 digest of the canonical bytes. */
EFFACE_API efface_status efface_model_digest(const efface_model *model,
                                             unsigned char digest[EFFACE_DIGEST_BYTES],
                                             efface_error *error);

/* ------------------------------------------------------------------ models: change */

/* These calls change a model together with the set it was fitted to. Afterwards the model is, byte
 * for byte, the result of a fit to the rows that are there now, with the same parameters and the
 * same seed. A call that fails has changed neither.
 *
 * The set must be the one that the model was fitted to or decoded with, and only these calls may
 * change it. The library checks this, and not by counting rows. The error is ARGUMENT for another
 * set, even with the same rows, and for a set that was changed by efface_data_add,
 * efface_data_remove or efface_data_replace, or through another model alone, even if its rows are
 * now the same as before. Give the right set, or fit the model to this set anew. Only this process
 * knows which set belongs to a model; it is in no encoding. */

/* How much work a change was. */
typedef enum efface_action {
    EFFACE_ACTION_UNTOUCHED = 0, /* sums were corrected; no other row was looked at */
    EFFACE_ACTION_REPAIRED = 1,  /* a part of the model was computed again */
    EFFACE_ACTION_REFITTED = 2   /* everything was computed again */
} efface_action;

/* The name of an action in a word: "untouched", "repaired", "refitted". Never NULL. */
EFFACE_API const char *efface_action_name(efface_action action);

#define EFFACE_WHERE_BYTES 96

typedef struct efface_report {
    efface_action action;
    const char *reason; /* why more than sums had to change, or that nothing else did, in a few
                           words; a constant, never NULL */
    char where[EFFACE_WHERE_BYTES]; /* where in the model, such as "from level 2 on"; or "" */
    uint64_t rows_forgotten;
    uint64_t rows_learned;
    uint64_t rows_missing; /* ids and owners that were not there, if that was allowed */
    uint64_t rows_visited; /* looks at rows that were not part of the request */
    double seconds;
} efface_report;

/* How to treat ids and owners that are not there: fail with an error that names them, or skip
 * them. */
typedef enum efface_missing { EFFACE_MISSING_FAIL = 0, EFFACE_MISSING_SKIP = 1 } efface_missing;

/* The rows that a request is about: rows by their ids, and all rows of owners. A row may be named
 * by both. */
typedef struct efface_request {
    const uint64_t *ids;
    size_t n_ids;
    const uint64_t *owners; /* EFFACE_NO_OWNER among them is an ARGUMENT error */
    size_t n_owners;
    efface_missing missing; /* what to do if an id, or an owner, is not there */
} efface_request;

/* Forgets rows: they leave the set and the model. Works down to no rows. Cost: that of correcting
 * sums when nothing else changes, else up to that of a fit; O(n) to find the rows of owners.
 * `report` may be NULL. Errors: NOT_FOUND, with the ids; DUPLICATE for an id or an owner that comes
 * twice; MEMORY; KERNELS; ARGUMENT if the set is not the model's. */
EFFACE_API efface_status efface_model_forget(efface_model *model, efface_data *data,
                                             const efface_request *request, efface_report *report,
                                             efface_error *error);

/* Learns rows: they join the set and the model. Errors: as efface_data_add; KERNELS; LIMIT for a
 * value outside a bound that was given for the fit, or a missing value that the model does not
 * take. */
EFFACE_API efface_status efface_model_learn(efface_model *model, efface_data *data,
                                            const efface_rows *rows, efface_report *report,
                                            efface_error *error);

/* Gives rows of the set other values, as efface_data_replace does.
 * Errors: as efface_data_replace and efface_model_learn. */
EFFACE_API efface_status efface_model_update(efface_model *model, efface_data *data,
                                             const efface_rows *rows, efface_report *report,
                                             efface_error *error);

/* The same for several models, of any families, that were fitted to one set: the set and all of
 * them change, or nothing does. `reports` is NULL or has n_models elements, one report for each
 * model, with the seconds of the whole call. A set that has several models may only be changed
 * through these calls, with all of its models: a model that a request leaves out is refused from
 * then on. Errors: as for one model; ARGUMENT if there is no model, one comes twice, or the set is
 * not that of each. */
EFFACE_API efface_status efface_models_forget(efface_model *const *models, size_t n_models,
                                              efface_data *data, const efface_request *request,
                                              efface_report *reports, efface_error *error);
EFFACE_API efface_status efface_models_learn(efface_model *const *models, size_t n_models,
                                             efface_data *data, const efface_rows *rows,
                                             efface_report *reports, efface_error *error);
EFFACE_API efface_status efface_models_update(efface_model *const *models, size_t n_models,
                                              efface_data *data, const efface_rows *rows,
                                              efface_report *reports, efface_error *error);

/* Says how much work it would be to forget these rows, without doing it: `seconds` is the time of
 * the preview itself, and rows_visited an upper bound. For a model with parts, such as a tree, the
 * preview may take as long as the forgetting, and rows_visited is the number of rows that it
 * visited; parts may lose some of what makes later requests fast. The set is the same afterwards,
 * though positions may differ. Errors: as efface_model_forget. */
EFFACE_API efface_status efface_model_preview(efface_model *model, efface_data *data,
                                              const efface_request *request, efface_report *report,
                                              efface_error *error);

/* Where two states differ first. */
typedef struct efface_difference {
    int identical;
    const char *what; /* "centroid", "sum", "count", ...; NULL if identical; "method": an older
                         version, which defined the method in another way, fitted the model
                         (efface_store_verify) */
    char where[EFFACE_WHERE_BYTES]; /* such as "level 2, cluster 5, column 1"; or "" */
} efface_difference;

/* Fits the rows of the set anew with the model's parameters and seed, and compares the two states
 * byte by byte. Any set with the same number of columns will do. Cost: that of a fit. Errors: as
 * a fit; ARGUMENT if the number of columns differs. */
EFFACE_API efface_status efface_model_verify(const efface_model *model, const efface_data *data,
                                             efface_difference *difference, efface_error *error);

/* Gives the model another seed: a full refit, after which nothing of the old randomness remains. Do
 * this when requests may have been chosen by looking at published models (docs/exactness.md,
 * section 4). Errors: as a fit; ARGUMENT if the set is not the model's. */
EFFACE_API efface_status efface_model_rekey(efface_model *model, const efface_data *data,
                                            uint64_t seed, efface_report *report,
                                            efface_error *error);

/* ------------------------------------------------------------------ k-means */

typedef enum efface_method {
    EFFACE_METHOD_LLOYD = 0,     /* k-means++ seeds, then Lloyd's iterations */
    EFFACE_METHOD_QUANTIZED = 1, /* centroids rounded to a random lattice: stable under change */
    EFFACE_METHOD_PYRAMID = 2,   /* iterations on a small sample, then a pass over all rows */
    EFFACE_METHOD_TREE = 3       /* clusters parts of the rows, then their centroids */
} efface_method;

typedef enum efface_scale {
    EFFACE_SCALE_NONE = 0,
    EFFACE_SCALE_MINMAX = 1 /* each column from its smallest and largest value to [0, 1] */
} efface_scale;

typedef enum efface_empty {
    EFFACE_EMPTY_RESEED = 0, /* a cluster without rows starts again at a row far from the others */
    EFFACE_EMPTY_KEEP = 1    /* ... stays where it is */
} efface_empty;

/* Whether a change is followed with the same randomness, or with fresh randomness, as the paper
 * does. FRESH exists to reproduce the paper, for the methods `quantized` and `tree`. It is outside
 * the law: the state depends on history, and efface_model_verify checks against the randomness
 * that the model has now.
 *
 *   quantized  starts over with fresh randomness when a change reaches a level. This is NOT EXACT:
 *              it keeps models in a way that depends on the rows that left (docs/exactness.md).
 *   tree       a change fits the leaves of its rows again, and all nodes above them up to the root,
 *              each from scratch with fresh randomness; nothing stops it on the way. Other nodes
 *              stay as they are. For requests that do not depend on the model the result has the
 *              distribution of a fresh fit, so that it is exact in the paper's sense. Nodes do not
 *              redraw on their own account, of whatever method they are. Not for height 0. */
typedef enum efface_redraw {
    EFFACE_REDRAW_SAME = 0,
    EFFACE_REDRAW_FRESH = 1 /* outside the law */
} efface_redraw;

#define EFFACE_MAX_CLUSTERS (1u << 24)
#define EFFACE_MAX_ITERATIONS 1000u

/* Parameters of a fit. Fill with efface_kmeans_params_init, then change what differs. */
typedef struct efface_kmeans_params {
    efface_params common;
    efface_method method;
    uint32_t n_clusters; /* default 8; with fewer rows the model has one centroid a row */
    uint32_t iterations; /* default 10; 0: until nothing changes, at most EFFACE_MAX_ITERATIONS;
                            pyramid: on the sample */
    efface_scale scale;
    double bound;            /* scale none: the largest |value| allowed; 0: derived from the data */
    const float *column_min; /* scale minmax: n_columns bounds that no value may be outside of; */
    const float *column_max; /* NULL: derived from the data */
    efface_empty empty;
    uint32_t candidates; /* rows that are tried for each seed, 1 to 64: the best of them becomes the
                            seed. Default 0: 2 + log k, as other libraries do; 1: plain k-means++.
                            With more than one the state has k * candidates rows more, and a fit
                            takes 20 + 8 * candidates bytes a row more while it seeds */
    double epsilon;      /* quantized: lattice width as a part of the domain; 0: derived from n.
                            pyramid: the same for the centroids that leave the sample; 0: no lattice */
    double gamma;        /* quantized: clusters below gamma * n / k are held back; default 0.2 */
    efface_redraw redraw; /* quantized, tree: default SAME; FRESH is outside the law */
    double rate;     /* pyramid: the sample has at least this part of the rows, and up to four times
                        as many; 0: derived from n and k: at least a 32nd of the rows, but this
                        minimum is 48 to 75 rows a cluster. With fewer than 768 rows a cluster no
                        sample pays, and the model is lloyd's (efface_kmeans_info: `actual`) */
    uint32_t passes; /* pyramid: passes over all rows, 1 to 10; default 1 */
    uint32_t starts; /* pyramid: seedings tried on the sample, 1 to 100; default 4. The one with the
                        smallest loss on a larger sample, the jury, is taken */
    uint32_t height; /* tree: levels of nodes above the leaves, 0 to 8; default 1. With 0 it is
                        the method of its leaves */
    uint32_t width;  /* tree: children of a node; 0: derived from n, about n^0.3. width^height is at
                        most 2^20 */
    efface_method leaf_method;      /* tree: what leaves do with their rows; default lloyd */
    efface_method node_method;      /* tree: what other nodes do with centroids; default lloyd */
    const uint32_t *depth_clusters; /* tree: clusters of the nodes at depth 1, ..., height, the
                                       root being depth 0; NULL: n_clusters everywhere */
    int weigh_centroids; /* tree: if not 0 (the default), centroids count with the weight of their
                            rows; 0 is the paper's tree, much worse where clusters differ in size */
    int keep_margins;    /* lloyd: if not 0 (the default), a model whose centroids were moved by a
                            change keeps 3 bytes for each row and level, and for up to 1/32 of the
                            rows a byte a column more, so that later changes look at few rows only; no
                            result depends on it */
} efface_kmeans_params;

/* Fills the parameters with their defaults: pyramid, 8 clusters, 10 iterations, seed 0, no scaling.
 */
EFFACE_API void efface_kmeans_params_init(efface_kmeans_params *params);

/* Fits a model to the rows of a set. Cost O(n * k * d * iterations); memory beyond the data 4
 * bytes a row while it runs, O(k * d * iterations) after; a pyramid takes 8 bytes a row while it
 * runs and keeps 2 (5 with more than 256 clusters), a tree keeps copies of the rows in its leaves.
 * An empty set gives a model without centroids. The model holds no reference to the set afterwards.
 * Errors: MEMORY; ARGUMENT for parameters out of range; LIMIT for a value outside a bound that was
 * given; KERNELS. */
EFFACE_API efface_status efface_kmeans_fit(const efface_data *data,
                                           const efface_kmeans_params *params, efface_model **out,
                                           efface_error *error);

/* The parameters of a model, without the seed (0). Pointers in them are valid until the model
 * changes or is released. */
EFFACE_API efface_kmeans_params efface_kmeans_get_params(const efface_model *model);

/* A description of a fitted model. The fields after `n_coarse_columns` describe the work of the
 * fit; they are no part of the state. */
typedef struct efface_kmeans_info {
    efface_method method;
    efface_method actual; /* the same; or lloyd, for a pyramid that has too few rows for each
                             cluster to make a sample pay */
    uint64_t n_sampled;   /* pyramid: rows of the sample; else 0 */
    uint32_t n_clusters;  /* number of centroids: the smaller of the parameter and n_rows */
    uint32_t n_columns;
    uint64_t n_rows;
    uint32_t iterations;       /* levels from the seeds to the model */
    int stable;                /* the fit ended because the next centers were the same */
    double epsilon;            /* lattice width in use as a part of the domain; 0 for lloyd */
    uint32_t width;            /* tree: children of a node; else 0 */
    uint32_t n_coarse_columns; /* columns whose spread is below 256 grid steps, yet not 0 */
    uint64_t rows_assigned;    /* exact nearest-centroid searches */
    uint64_t rows_undecided;   /* how many of these the float filter left to integers */
    uint64_t rows_moved;       /* rows that changed their cluster from one level to the next */
} efface_kmeans_info;

/* Never fails. */
EFFACE_API efface_kmeans_info efface_kmeans_get_info(const efface_model *model);

/* The columns that are coarse (see efface_kmeans_info): their values differ so little compared to
 * the bound that the grid keeps less than 8 bits of them. Scale the data or give a bound. Writes
 * at most `capacity` column numbers. */
EFFACE_API void efface_kmeans_coarse_columns(const efface_model *model, uint32_t *columns,
                                             size_t capacity);

/* Writes the n_columns coordinates of centroid `cluster` in the units of the data as the set holds
 * them; efface_data_add_offsets converts them to the units of the caller. */
EFFACE_API efface_status efface_kmeans_centroid(const efface_model *model, uint32_t cluster,
                                                double *coordinates, efface_error *error);

/* What efface_model_predict gives for a row is its nearest cluster; ties go to the lower cluster. A
 * row need not be within the bounds of the fit: the answer is exact for a row that is, and computed
 * in double for one that is not. Cost O(n_rows * k * d).
 *
 * Writes the same for the rows of a set, in the order of positions. Errors: as
 * efface_model_predict; ARGUMENT if the number of columns differs, or for another family. */
EFFACE_API efface_status efface_kmeans_labels(const efface_model *model, const efface_data *data,
                                              uint32_t *labels, efface_error *error);

/* Writes the squared distance of each row to each centroid, n_clusters numbers a row, in the units
 * of the loss (below). Exact before it is rounded to double, but for rows outside the bounds of the
 * fit. Cost O(n_rows * k * d). Errors: as predict. */
EFFACE_API efface_status efface_kmeans_square_distances(const efface_model *model, size_t n_rows,
                                                        const float *values, size_t stride,
                                                        double *squares, efface_error *error);

/* The sum over the rows of a set of weight times squared distance to the nearest centroid, in the
 * units of the data, or of the unit cube with scale minmax. Exact before it is rounded to double,
 * but for rows outside the bounds of the fit, which are computed in double.
 * Errors: as predict. */
EFFACE_API efface_status efface_kmeans_loss(const efface_model *model, const efface_data *data,
                                            double *loss, efface_error *error);

/* Whether a change of a row with this id would reach the beginning of a fit. is_seed: the row won a
 * round of the seeding, or was a candidate in one. in_sample: the row is in pyramid's sample; for
 * methods without a sample, every row is. `data` is the set that the model belongs to; a row that
 * is not in the set is in no sample. Rows for which both are false are the cheapest to forget. (A
 * row of the jury, a larger sample, rarely matters.) Cost O(k), and O(k d) for the sample. */
EFFACE_API int efface_kmeans_is_seed(const efface_model *model, uint64_t id);
EFFACE_API int efface_kmeans_in_sample(const efface_model *model, const efface_data *data,
                                       uint64_t id);

/* ------------------------------------------------------------------ k-means: tails */

/* Where the loss of a set comes from. The loss here is the sum of weighted squared distances of the
 * rows from their mean. If a few rows have nearly all of it (heavy tails), or one column (other
 * units), these rows or that column alone decide the clusters. */
typedef struct efface_tails {
    double loss;         /* around the mean, in the units of efface_kmeans_loss */
    uint64_t n_rows;     /* the smallest number of rows that carry nine tenths of it, but at most
                            one in a thousand (one, if there are fewer rows) */
    double rows_share;   /* the part of the loss that these rows carry */
    uint32_t column;     /* the column that carries most, from 0 */
    double column_share; /* and its part */
    int rows_carry;      /* rows_share is above 0.9, and there are at least 100 rows */
    int column_carries;  /* column_share is above 0.999, and another column varies too */
} efface_tails;

/* Looks for tails in the rows of a set, in a scale whose bounds are derived from the rows. Missing
 * values have no loss. Computed in double, and no part of any state. Of a set that has joined a
 * group it looks at the rows of this rank. Cost O(n_rows * n_columns). Errors: MEMORY; ARGUMENT. */
EFFACE_API efface_status efface_data_tails(const efface_data *data, efface_scale scale,
                                           efface_tails *tails, efface_error *error);

/* ------------------------------------------------------------------ sums */

/* Exact sums of the rows, and what can be computed from them: means, linear regression, classes,
 * principal components. These are views of the same sums.
 *
 * The state is sums, and no more. A value is kept to 23 bits of the largest magnitude in its
 * column; sums of that, and of products, are exact. Forgetting a row subtracts what it had added,
 * at a cost of O(d^2) for sums of products; only a magnitude that passes a power of two takes a
 * pass over the rows. A view is computed from the sums when it is asked for, in doubles and a fixed
 * order, so that it has the same bits everywhere; it is kept until the next change.
 *
 * Columns are features, or targets: what a regression predicts. Classes are the labels of rows. If
 * there are sums by class, rows without a label take no part. There is no randomness but that of
 * Fourier features. docs/sums.md has the definitions. */

/* What is summed up. */
typedef enum efface_summed {
    EFFACE_SUMMED_NEEDED = 0,   /* what the view needs */
    EFFACE_SUMMED_MEANS = 1,    /* each column */
    EFFACE_SUMMED_DIAGONAL = 2, /* and its squares */
    EFFACE_SUMMED_FULL = 3      /* and the products of all pairs of columns */
} efface_summed;

/* What efface_model_predict and the tables of a model give. */
typedef enum efface_view {
    EFFACE_VIEW_MEANS = 0,        /* the mean of each column, for every row; NaN for columns that
                                     Fourier features took the place of */
    EFFACE_VIEW_LINEAR = 1,       /* the targets, by linear regression */
    EFFACE_VIEW_RIDGE = 2,        /* the class, by linear regression on the classes */
    EFFACE_VIEW_BAYES = 3,        /* the class, by Gaussian naive Bayes */
    EFFACE_VIEW_DISCRIMINANT = 4, /* the class, by linear or quadratic discriminants */
    EFFACE_VIEW_COMPONENTS = 5    /* the coordinates along the principal components */
} efface_view;

/* Linear regression: the coefficients w that make
 *
 *     sum of weight (y - b - w x)^2 + alpha w^2
 *
 * smallest. A feature that is constant, or depends on those before it, gets the coefficient 0
 * (efface_sums_dropped). */
typedef struct efface_linear_params {
    double alpha;  /* at least 0; default 0 */
    int intercept; /* if not 0 (the default), there is a b */
    int errors;    /* for efface_linear_solve: if not 0, standard errors too, which takes several
                      times as long; default 0 */
} efface_linear_params;

/* Gaussian naive Bayes. */
typedef struct efface_bayes_params {
    double smoothing; /* this part of the largest variance of a column is added to all variances: 0,
                         or from 1e-100 on; default 1e-9 */
    const double *priors; /* the probability of each class, in the order of classes; they sum to 1.
                             NULL, the default: its share of the rows */
    uint32_t n_priors;
} efface_bayes_params;

/* Discriminants: a normal distribution for each class. Linear ones have one covariance matrix in
 * common. */
typedef struct efface_discriminant_params {
    int quadratic;        /* if not 0, each class has a covariance matrix of its own; default 0 */
    double shrinkage;     /* 0, the default, or from 1e-100 to 1. The covariance matrix becomes
                             (1 - shrinkage) times itself plus shrinkage in each column: linear,
                             times the mean variance of columns; quadratic, times 1. Matrices are
                             those of the rows that are there, divided by their weight */
    const double *priors; /* as in efface_bayes_params */
    uint32_t n_priors;
} efface_discriminant_params;

/* Principal components. The entry of largest magnitude of each is positive. */
typedef struct efface_components_params {
    uint32_t n_components; /* 0, the default: as many as there can be */
    int whiten;            /* if not 0, coordinates are divided by their deviations; default 0 */
} efface_components_params;

typedef struct efface_sums_params {
    efface_params common;
    double bound; /* the largest |value| allowed; 0, the default: derived from the rows */
    const uint32_t *targets; /* columns, counted from 0, that are no features; default none */
    uint32_t n_targets;
    efface_summed summed;   /* over all rows */
    efface_summed by_class; /* for each class; NEEDED may mean none */
    uint32_t n_fourier;     /* number of random Fourier features that take the place of the feature
                               columns; 0, the default: the columns themselves */
    double gamma;           /* of the kernel exp(-gamma |x - y|^2) that they stand for; default 1 */
    uint32_t weight_unit;   /* the weight of a row that counts as one row; default 1 */
    efface_view view;
    efface_linear_params linear; /* for the views LINEAR and RIDGE */
    efface_bayes_params bayes;
    efface_discriminant_params discriminant;
    efface_components_params components;
} efface_sums_params;

#define EFFACE_MAX_FOURIER 16384u

/* Fills the parameters with their defaults: the view MEANS. */
EFFACE_API void efface_sums_params_init(efface_sums_params *params);

/* The parameters of a model, without the seed (0); the defaults for another family. Pointers in
 * them are valid until the model changes or is released. */
EFFACE_API efface_sums_params efface_sums_get_params(const efface_model *model);

/* Sums up the rows of a set. Cost O(n * d), or O(n * d^2) with products of all pairs. An empty set
 * gives sums of no rows, which have no view. Errors: MEMORY; ARGUMENT; LIMIT for a value outside a
 * bound that was given; KERNELS. */
EFFACE_API efface_status efface_sums_fit(const efface_data *data, const efface_sums_params *params,
                                         efface_model **out, efface_error *error);

/* The columns whose values differ so little compared to their size that less than 8 bits of the
 * differences are kept; an offset repairs that. Returns how many there are, and writes at most
 * `capacity` of them. Needs sums of squares; without them there is none. */
EFFACE_API uint32_t efface_sums_coarse_columns(const efface_model *model, uint32_t *columns,
                                               uint32_t capacity);

/* The features that the view had to leave out, being constant or dependent on those before them, in
 * the same way: columns, or numbers of Fourier features. 0 if the view cannot be computed. */
EFFACE_API uint32_t efface_sums_dropped(const efface_model *model, uint32_t *features,
                                        uint32_t capacity);

/* Other views of the same sums, with parameters of their own (NULL: those of the model), as
 * predictors without names and offsets of columns: they predict, score and have tables as the model
 * would. Release with efface_predictor_free. Tables, in which features are columns:
 *
 *   linear          "coefficients"  a row for each target; the intercept comes first
 *                   "errors"        their standard errors, if asked for; NaN if there are too
 *                                   few rows, for a feature that was left out, and where
 *                                   rounding leaves nothing of them, as for features that
 *                                   depend on each other under a small alpha. A model has
 *                                   them without being asked
 *                   "quality"       for each target R^2, the deviation of residuals, and the
 *                                   degrees of freedom
 *   ridge           "coefficients"  a row for each class
 *   bayes           "means", "variances", "priors"    a row for each class
 *   discriminants   "means", "priors"; linear ones: "coefficients", and "directions" in which
 *                   classes differ most, each with its share of the differences
 *   components      "components"    a row for each; "means": one row
 *                   "variances"     for each component its variance and its share of the whole
 *
 * Errors: MEMORY; ARGUMENT for parameters out of range, another family, sums that the view
 * cannot be computed from, or too few rows or classes. */
EFFACE_API efface_status efface_linear_solve(const efface_model *model,
                                             const efface_linear_params *params,
                                             efface_predictor **out, efface_error *error);
EFFACE_API efface_status efface_ridge_classify(const efface_model *model,
                                               const efface_linear_params *params,
                                               efface_predictor **out, efface_error *error);
EFFACE_API efface_status efface_bayes_classify(const efface_model *model,
                                               const efface_bayes_params *params,
                                               efface_predictor **out, efface_error *error);
EFFACE_API efface_status efface_discriminant_classify(const efface_model *model,
                                                      const efface_discriminant_params *params,
                                                      efface_predictor **out, efface_error *error);
EFFACE_API efface_status efface_components_compute(const efface_model *model,
                                                   const efface_components_params *params,
                                                   efface_predictor **out, efface_error *error);

/* What a linear regression would miss each row by, had it been fitted without the row: the target
 * minus the prediction, n_targets numbers a row, in the order of positions. In closed form; the
 * result is that of forgetting the row but for rounding, and but for rows whose leaving moves the
 * grid of a column. `data` is the set of the model. NaN for a row that the fit cannot do without.
 * Cost O(n * d^2). Errors: as efface_linear_solve; ARGUMENT if the set is not the model's, or for
 * sums by class; INTERRUPTED. */
EFFACE_API efface_status efface_linear_leave_one_out(const efface_model *model,
                                                     const efface_data *data,
                                                     const efface_linear_params *params,
                                                     double *misses, efface_error *error);

/* ------------------------------------------------------------------ segmented regression */

/* K-means over the features, and a linear regression in each cluster, as one model. The segments
 * are the partition that the last level of k-means was made of, by the centroids that made it;
 * prediction finds the segment of a row in the same way. Targets play no part in clustering. */
typedef struct efface_segmented_params {
    efface_params common;
    efface_kmeans_params kmeans; /* `common` in it is not looked at; redraw must be SAME */
    const uint32_t *targets;     /* columns, counted from 0; at least one */
    uint32_t n_targets;
    double bound; /* of all values in the regressions, as in efface_sums_params; that of `kmeans` is
                     for features only */
    uint32_t weight_unit; /* as in efface_sums_params */
    efface_linear_params linear;
} efface_segmented_params;

/* Fills the parameters with their defaults. */
EFFACE_API void efface_segmented_params_init(efface_segmented_params *params);

/* The parameters of a model, without the seed (0); the defaults for another family. Pointers in
 * them are valid until the model changes or is released. */
EFFACE_API efface_segmented_params efface_segmented_get_params(const efface_model *model);

/* Fits k-means, and sums up the rows of each cluster. efface_model_predict gives the targets.
 * Tables: "centroids" with the centroids that the segments belong to, "coefficients" with a row for
 * each segment and target (targets of the first segment come first; the intercept comes first in
 * each), and, unless it is published, "segments" with the number of rows and the weight of each. A
 * segment without rows predicts the mean of all rows, or 0 without an intercept. Cost: that of
 * k-means, and O(n * d^2). Errors: as efface_kmeans_fit and efface_sums_fit. */
EFFACE_API efface_status efface_segmented_fit(const efface_data *data,
                                              const efface_segmented_params *params,
                                              efface_model **out, efface_error *error);

/* Writes the segment of each row, counted from 0. Rows as for efface_model_predict. Errors: as
 * that; ARGUMENT for another family. */
EFFACE_API efface_status efface_segmented_segments(const efface_model *model, size_t n_rows,
                                                   const float *values, size_t stride,
                                                   uint32_t *segments, efface_error *error);

/* ------------------------------------------------------------------ forests */

/* Extremely randomised trees: many trees that divide the rows by random thresholds of the best of
 * some random columns, and vote. A forest predicts the class of a row, which is its label, or a
 * target, which is a column.
 *
 * Every random choice is a function of the seed, the tree and the place in it, and of no row
 * (docs/forest.md has the definition). A row that leaves changes the counts along its path in each
 * tree; where another split is now the best, the nodes below are grown again. To do that in
 * milliseconds a forest keeps a copy of the values of its rows, and what it has counted in large
 * nodes; efface_model_state_bytes says how much that is.
 *
 * Rows without a label (with a target: rows whose target is missing) take no part. Forests do not
 * work in groups (efface_data_join): ARGUMENT. */

/* Which trees a row is in. */
typedef enum efface_forest_rows {
    EFFACE_FOREST_ALL = 0,    /* all */
    EFFACE_FOREST_SOME = 1,   /* `trees_of_row` of them, chosen by its id: forgetting is cheaper by
                                 that factor, and accuracy suffers */
    EFFACE_FOREST_POISSON = 2 /* each a number of times, 0, 1, 2, ..., as in a bootstrap; with a
                                 target, the total weight must then be below 2^34 */
} efface_forest_rows;

typedef enum efface_criterion {
    EFFACE_CRITERION_GINI = 0,   /* with a target: the squared error */
    EFFACE_CRITERION_ENTROPY = 1 /* not with a target */
} efface_criterion;

typedef struct efface_forest_params {
    efface_params common;
    uint32_t target;  /* the column to predict, counted from 0; EFFACE_NO_COLUMN, the default: the
                         classes of rows are their labels */
    double bound;     /* the largest |target| allowed; 0, the default: derived from the rows */
    uint32_t n_trees; /* 1 to EFFACE_MAX_TREES; default 100 */
    uint32_t n_candidates; /* columns that a node chooses from; 0, the default: two thirds of the
                              square root of the number of inputs, with a target a third of that
                              number; but at least 5, or all if those are fewer */
    uint32_t max_depth;    /* 0, the default: no limit */
    uint32_t min_split;    /* a node with fewer rows is a leaf; default 2, and at least that */
    uint32_t min_leaf;     /* rows that both sides of a split have at least; default 1 */
    efface_forest_rows rows;
    uint32_t trees_of_row; /* with SOME; default 10 */
    efface_criterion criterion;
    int lazy;    /* if not 0, what has to be grown again after a change is grown when it is needed:
                    by a prediction, an encoding, a digest, or efface_forest_settle. No result
                    depends on it. Default 0: each change grows it */
    int missing; /* if not 0, values of inputs may be missing (efface_data_allow_missing);
                    default 0 */
    const uint32_t *categories; /* columns, counted from 0 and ascending, whose values are
                                   categories: their order means nothing; default none */
    uint32_t n_categories;
} efface_forest_params;

#define EFFACE_MAX_TREES 65535u

/* Fills the parameters with their defaults. */
EFFACE_API void efface_forest_params_init(efface_forest_params *params);

/* The parameters of a model, without the seed (0); the defaults for another family. Pointers in
 * them are valid until the model changes or is released. */
EFFACE_API efface_forest_params efface_forest_get_params(const efface_model *model);

/* Grows a forest. An empty set gives one that cannot predict. Cost O(trees * candidates * n log n)
 * for trees of ordinary depth. efface_model_decode costs a copy of the values. The first
 * requests after it have to count anew along their paths: one row takes about a fifth of a fit.
 * Tables: "importances", a row for each input: its share of all that splits have gained, and the
 * whole number of efface_forest_importances. Errors: MEMORY; ARGUMENT; LIMIT for a target outside
 * a bound that was given, or a value that is missing and may not be. */
EFFACE_API efface_status efface_forest_fit(const efface_data *data,
                                           const efface_forest_params *params, efface_model **out,
                                           efface_error *error);

typedef struct efface_forest_info {
    uint32_t n_trees;
    uint64_t n_nodes; /* leaves are nodes too */
    uint64_t n_leaves;
    uint32_t depth;       /* of the deepest leaf */
    uint64_t n_unsettled; /* nodes below which the forest has to be grown yet; the numbers above
                             count each of them as a leaf */
    uint64_t n_rows;      /* that take part */
} efface_forest_info;

/* How large a forest is; all 0 for another family. Never fails. */
EFFACE_API efface_forest_info efface_forest_get_info(const efface_model *model);

/* Grows what a lazy forest has left for later. Errors: MEMORY; ARGUMENT for another family. */
EFFACE_API efface_status efface_forest_settle(const efface_model *model, efface_error *error);

/* Writes the leaf of each row in each tree, n_trees numbers a row: nodes of a tree are numbered
 * from 0 in preorder. Rows as for efface_model_predict. Errors: as that; ARGUMENT for another
 * family. */
EFFACE_API efface_status efface_forest_leaves(const efface_model *model, size_t n_rows,
                                              const float *values, size_t stride, uint32_t *leaves,
                                              efface_error *error);

/* Writes what the splits by each column have gained, n_columns numbers. The gain of a split is by
 * how much the impurity of its rows, times their weight, falls; its part of the gains of all splits
 * of the tree, times 2^40 and rounded down, is a whole number, and these are added up over all
 * trees. Cost O(nodes). Errors: MEMORY; ARGUMENT for another family. */
EFFACE_API efface_status efface_forest_importances(const efface_model *model, uint64_t *importances,
                                                   efface_error *error);

/* Writes a file for prediction only, in the format of a published model (efface_predictor_load
 * reads it): 12 bytes for each node, and 8 more for each class of a leaf that has several. There
 * are no values, ids or counts of rows in it; thresholds are random numbers. But with a target, the
 * mean of a leaf of one row is the target of that row, and with classes, such a leaf tells the
 * class. `data` gives the names and offsets of columns, and `texts` the texts of classes; `texts`
 * may be NULL. A file that is there is replaced. Errors: IO; MEMORY; ARGUMENT for another family.
 */
EFFACE_API efface_status efface_forest_export(const efface_model *model, const efface_data *data,
                                              const efface_texts *texts, const char *path,
                                              efface_error *error);

/* ------------------------------------------------------------------ published models */

/* A model as efface_store_publish writes it to a file (docs/format.md): what prediction needs, and
 * no more. It can be used where the store and its rows are not. It has no sums, counts, seeds, rows
 * or ids, so it cannot forget; but centroids are made of rows, and so are the ranges of columns
 * with scale minmax unless they were given (docs/store.md). The type is efface_predictor. */

/* What such a file begins with: sixteen bytes, without an ending 0. */
#define EFFACE_PREDICTOR_MAGIC "efface predictor"

/* Makes a predictor from the bytes of a file, or from the file. Every byte is covered by a digest.
 * Release with efface_predictor_free. Errors: MEMORY; FORMAT for bytes that are something else,
 * damaged, or of another format; IO. */
EFFACE_API efface_status efface_predictor_decode(const unsigned char *bytes, size_t n_bytes,
                                                 efface_predictor **out, efface_error *error);
EFFACE_API efface_status efface_predictor_load(const char *path, efface_predictor **out,
                                               efface_error *error);

/* Releases the memory of a predictor. Takes NULL. */
EFFACE_API void efface_predictor_free(efface_predictor *predictor);

typedef struct efface_predictor_info {
    uint32_t format; /* of the bytes: 3 */
    efface_family family;
    uint32_t n_columns;
    efface_predicts predicts;
    uint32_t n_numbers; /* that are predicted for each row */
    uint32_t n_classes; /* of a model of classes; else 0 */
} efface_predictor_info;

/* What is known of it. Never fails. */
EFFACE_API efface_predictor_info efface_predictor_get_info(const efface_predictor *predictor);

/* The name of a column, or NULL if it has none; the offsets, n_columns of them, or NULL if all are
 * 0. Valid until the predictor is released. */
EFFACE_API const char *efface_predictor_column(const efface_predictor *predictor, uint32_t column);
EFFACE_API const double *efface_predictor_offsets(const efface_predictor *predictor);

/* As efface_model_predict of the model that was published, with the same bits: rows are as a set
 * holds them (efface_rows_round takes offsets away). */
EFFACE_API efface_status efface_predictor_predict(const efface_predictor *predictor, size_t n_rows,
                                                  const float *values, size_t stride,
                                                  efface_number *numbers, efface_error *error);

/* As efface_model_is_input, efface_model_value_column, efface_model_takes_missing,
 * efface_model_is_category, efface_model_classes and efface_model_score; and the text of a class,
 * or NULL if the class is a number. */
EFFACE_API int efface_predictor_is_input(const efface_predictor *predictor, uint32_t column);
EFFACE_API uint32_t efface_predictor_value_column(const efface_predictor *predictor,
                                                  uint32_t number);
EFFACE_API int efface_predictor_takes_missing(const efface_predictor *predictor);
EFFACE_API int efface_predictor_is_category(const efface_predictor *predictor, uint32_t column);
EFFACE_API void efface_predictor_classes(const efface_predictor *predictor, int64_t *classes,
                                         size_t capacity);
EFFACE_API const char *efface_predictor_class_text(const efface_predictor *predictor,
                                                   int64_t class_id);
EFFACE_API efface_status efface_predictor_score(const efface_predictor *predictor,
                                                efface_scores scores, size_t n_rows,
                                                const float *values, size_t stride, double *numbers,
                                                efface_error *error);

/* The tables that a published model has, which may be fewer than those of the model, as
 * efface_model_get_table, efface_model_find_table and efface_model_read_table have them; the last
 * adds the offsets of the published model, so that numbers are in the units of the caller. */
EFFACE_API efface_status efface_predictor_get_table(const efface_predictor *predictor,
                                                    uint32_t number, efface_table *table,
                                                    efface_error *error);
EFFACE_API efface_status efface_predictor_find_table(const efface_predictor *predictor,
                                                     const char *name, efface_table *table,
                                                     efface_error *error);
EFFACE_API efface_status efface_predictor_read_table(const efface_predictor *predictor,
                                                     const char *name, uint64_t row, double *values,
                                                     efface_error *error);

/* As efface_kmeans_square_distances of the model that was published. Errors: ARGUMENT for another
 * family. */
EFFACE_API efface_status efface_predictor_square_distances(const efface_predictor *predictor,
                                                           size_t n_rows, const float *values,
                                                           size_t stride, double *squares,
                                                           efface_error *error);

/* ------------------------------------------------------------------ metrics */

/* Mean silhouette of a labelling of the rows of a set, in [-1, 1]: how much nearer rows are to
 * their own cluster than to the next. Distances are taken in the model's scale, over at most
 * `max_rows` rows (0: 10,000), chosen by id with the tape, so that the same rows take part
 * whatever their order. Clusters are those of the model (`labels` NULL) or `labels`, one for each
 * position. Cost O(max_rows^2 * d).
 * Errors: MEMORY; KERNELS; ARGUMENT unless the sample has at least two clusters and two rows. */
EFFACE_API efface_status efface_kmeans_silhouette(const efface_model *model,
                                                  const efface_data *data, const uint32_t *labels,
                                                  size_t max_rows, double *silhouette,
                                                  efface_error *error);

/* Normalized mutual information of two labellings, by the arithmetic mean of their entropies:
 * 1 for the same partition, about 0 for unrelated ones. Errors: MEMORY; ARGUMENT for n = 0. */
EFFACE_API efface_status efface_nmi(size_t n, const uint32_t *a, const uint32_t *b, double *nmi,
                                    efface_error *error);

/* Adjusted Rand index of two labellings: 1 for the same partition, 0 on average for random ones.
 * Errors: MEMORY; ARGUMENT for n = 0. */
EFFACE_API efface_status efface_ari(size_t n, const uint32_t *a, const uint32_t *b, double *ari,
                                    efface_error *error);

/* ------------------------------------------------------------------ groups: many machines */

/* A group is a number of processes, its ranks, that work on one set together: each has a part of
 * the rows. Every sum of the library is one of whole numbers, and every random choice is a minimum,
 * so a model of the parts is byte for byte the model of all rows in one process, however they are
 * spread and whatever the number of ranks.
 *
 * A group is six operations that all ranks call in the same order. libefface-mpi has them for MPI
 * (efface_mpi.h); for another engine, write these. All ranks get the same results. A function
 * returns 0, or anything else if the engine failed: then the call of the library that used it fails
 * with EFFACE_E_GROUP, and the group is of no further use. No operation is asked for more than 2^30
 * bytes at a time. The library calls them on the thread that made the call. */
typedef struct efface_group {
    uint32_t rank; /* of this process: 0 to size - 1 */
    uint32_t size;
    void *context; /* the engine's own; the first argument of each function */

    /* numbers[i] becomes the sum of numbers[i] over all ranks, as 64 bits wrap around. */
    int (*sum_64)(void *context, uint64_t *numbers, size_t n);

    /* The same for numbers of 128 bits, each as two halves, of which the lower comes first. */
    int (*sum_128)(void *context, uint64_t *halves, size_t n);

    /* tuples has n tuples of `width` numbers. Each becomes the smallest that a rank has in its
     * place: the first number counts, of equal ones the second, and so on. */
    int (*minimum)(void *context, uint64_t *tuples, size_t n, size_t width);

    /* Rank `root`, or every rank if that is EFFACE_EVERY_RANK, gets the bytes of all ranks in
     * `all`, those of rank 0 first; sizes[r] is how many rank r has, and known to all. Elsewhere
     * `all` is NULL. */
    int (*gather)(void *context, const void *bytes, const size_t *sizes, uint32_t root, void *all);

    /* The bytes of rank `root` come to all ranks. */
    int (*broadcast)(void *context, void *bytes, size_t n_bytes, uint32_t root);

    /* *number becomes the smallest of all ranks. It comes before every other operation, and tells
     * whether a rank has failed. */
    int (*agree)(void *context, uint64_t *number);
} efface_group;

#define EFFACE_EVERY_RANK UINT32_MAX
#define EFFACE_MAX_RANKS 65536u

/* Makes a set the part of a group's set that this rank has; it may have no rows. The group is
 * copied, and its context must outlive the set. From then on all ranks make the same calls in the
 * same order, each with its own part:
 *
 * - efface_kmeans_fit and the other fits, efface_model_decode, efface_model_verify and
 *   efface_model_rekey, with the same parameters on all ranks, but for threads, progress and
 *   interruption. Every rank gets the whole model.
 * - forget and preview, with the same request on all ranks; update, with the same rows on all
 *   ranks: each takes those that it has.
 * - learn, with the rows that this rank is to have, if any.
 *
 * A call that fails on one rank fails on all, and the message names the rank; nothing has changed
 * then on any. Reports are the same on all ranks but for their seconds. Predictions, digests and
 * all else need no other rank. The rows of the set may no longer be changed by efface_data_add,
 * efface_data_remove and efface_data_replace: ARGUMENT.
 *
 * All ranks must have the same number of columns, the same offsets, and no id twice, be it on
 * different ranks. Errors: ARGUMENT; DUPLICATE; MEMORY; GROUP. */
EFFACE_API efface_status efface_data_join(efface_data *data, const efface_group *group,
                                          efface_error *error);

/* ------------------------------------------------------------------ the store */

/* A store is one file (an SQLite database) with rows, any number of models over them, and a receipt
 * of every request. A request is one transaction over the rows and every model: when the call
 * returns, the request is on the disk, and if it fails, nothing has changed. After a row was
 * forgotten, its bytes are in no file of the store. Opening a store and forgetting a row reads that
 * row and its neighbours, the states of the models, and more only if a model has to be repaired.
 * The file grows to 128 GiB at most.
 *
 * Digests cover everything that a decision depends on (docs/store.md). A request verifies what it
 * touches before it changes or acknowledges anything, "there is no such row" included. If a digest
 * does not hold, the error is EFFACE_E_CORRUPT, and nothing is changed. The digests find damage;
 * whoever can write the file and knows efface can make them anew.
 *
 * Several processes may have a store open. One writes at a time; another that wants to write waits,
 * and then gets EFFACE_E_BUSY. A handle belongs to the process that opened it: a forked child has
 * to open the store again. */
typedef struct efface_store efface_store;

typedef enum efface_access { EFFACE_ACCESS_READ = 0, EFFACE_ACCESS_WRITE = 1 } efface_access;

#define EFFACE_SECRET_KEY_BYTES 64
#define EFFACE_PUBLIC_KEY_BYTES 32
#define EFFACE_RECEIPT_KEY_BYTES 32
#define EFFACE_ROW_HASH_BYTES 16

/* How to make or open a store. Fill with efface_store_options_init, then change what differs. */
typedef struct efface_store_options {
    uint32_t version;     /* set by efface_store_options_init */
    efface_access access; /* open: default READ */
    double wait_seconds;  /* for other processes, before EFFACE_E_BUSY; default 5 */
    unsigned char hash_key[EFFACE_HASH_KEY_BYTES]; /* create: the key that texts were hashed with
                                                      when the set was loaded; default 0 */
    int keep_texts; /* create: if not 0, the texts of ids and owners are kept, and can be shown;
                       default 0: only their numbers are. Texts of labels are always kept */
    const unsigned char *receipt_key; /* of EFFACE_RECEIPT_KEY_BYTES: hashes the ids in receipts.
                                         The caller keeps it, and gives it whenever the store is
                                         made or opened to write. NULL, the default: it is kept in
                                         the store, where whoever has the file can use it to test
                                         guesses of ids */
    const unsigned char *secret_key;  /* of EFFACE_SECRET_KEY_BYTES: signs receipts and their
                                         number; default NULL: nothing is signed */

    /* Called now and then during long work on the rows of a store (load, check, fit, learn,
     * verify), on the thread that made the call, with the part that is done, from 0 to 1, or -1 if
     * that is not known. If it returns non-zero, the call ends with EFFACE_E_INTERRUPTED and has
     * changed nothing. It must not use the store. Default NULL. */
    int (*progress)(void *context, double part);
    void *progress_context;

    int resident; /* open to write: if not 0, rows and models stay in memory between requests, so
                     that a request does not have to read them. They are made when a request first
                     needs them, and anew after another process has changed the store or a request
                     has failed. What requests do, their receipts and the file are the same. Rows
                     that another process forgets stay in memory until the handle is used again or
                     closed. Default 0: memory holds nothing between requests */

    const efface_group *group; /* the store is in parts, one for each rank of the group, and its
                                  path is that of a folder (see "the store: parts" below). The group
                                  is copied, and its context must outlive the store. Default NULL:
                                  the store is one file */
} efface_store_options;

/* Fills the options with their defaults. */
EFFACE_API void efface_store_options_init(efface_store_options *options);

/* A model to be fitted: to some columns of the rows (NULL: all). A name is 1 to 63 letters, digits,
 * '-', '_' or '.'. */
typedef struct efface_new_model {
    const char *name;
    const efface_params *params; /* `common` of the parameters of a family */
    const uint32_t *columns;
    uint32_t n_columns;
    efface_tails *tails;      /* NULL, or filled as soon as the model is fitted, even if the call
                                 fails afterwards */
    efface_model **fitted;    /* NULL, or gets the model of efface_store_create in the same way; the
                                  caller releases it */
    efface_scale tails_scale; /* in which tails are looked for (efface_data_tails) */
} efface_new_model;

/* Makes a store with the rows of a set, and models over them (n_models may be 0). `texts` has the
 * texts that the set's ids, owners and labels stand for; it may be NULL, and may lack texts. The
 * store appears under its name when it is complete, or not at all. Until then there is a file of
 * that name with ".efface-new" behind it; if the process dies, the next attempt replaces that file.
 * An existing file is never overwritten. The store gets the set's offsets. `options` may be NULL.
 * Errors: IO; ARGUMENT if the file exists; BUSY if another process is making it; MEMORY; as
 * efface_kmeans_fit. */
EFFACE_API efface_status efface_store_create(const char *path, const efface_data *data,
                                             const efface_texts *texts,
                                             const efface_store_options *options,
                                             const efface_new_model *models, size_t n_models,
                                             efface_store **out, efface_error *error);

/* Whether efface_store_create would find its name taken: by a file of any kind or, with a group, by
 * a store in parts in that folder (see "the store: parts" below). Opens nothing. */
EFFACE_API int efface_store_exists(const char *path, const efface_group *group);

/* Opens a store; `options` NULL: to read. Errors: IO; FORMAT for a file that is not a store, or of
 * an older or newer format; CORRUPT, also for tables, triggers or views that are not ours; BUSY;
 * MEMORY; ARGUMENT for a receipt key that is missing or belongs to another store. */
EFFACE_API efface_status efface_store_open(const char *path, const efface_store_options *options,
                                           efface_store **out, efface_error *error);

/* Closes a store. Takes NULL. */
EFFACE_API void efface_store_close(efface_store *store);

/* Whether SQLite overwrites memory before it frees it. It does not if another part of the process
 * used SQLite before the first call of this function or the first opening of a store. */
EFFACE_API int efface_store_wipes_memory(void);

#define EFFACE_PARTS_ID_BYTES 16

typedef struct efface_store_info {
    uint32_t format; /* of the file: 3, or 4 for a part of a store */
    uint64_t n_rows;
    uint32_t n_columns;
    uint32_t n_models;
    uint64_t n_owners;       /* different ones */
    uint64_t n_unowned_rows; /* rows without an owner */
    uint64_t n_labels;       /* different ones */
    uint64_t n_receipts;
    int keeps_texts;
    efface_ids ids; /* whether ids are numbers or texts; DETECT: not known */
    efface_ids owners;
    efface_ids labels; /* the same for labels that rows have now; of one, if a program mixed them */
    int receipt_key_outside;
    uint64_t file_bytes;
    uint64_t free_bytes;  /* of these, bytes of free pages, which later rows use; see compact */
    uint32_t n_parts;     /* that the store has, if it is in parts; 0: it is one file */
    uint32_t part;        /* which of them this file is, from 0 */
    uint64_t n_part_rows; /* and how many rows it has */
    unsigned char parts_id[EFFACE_PARTS_ID_BYTES]; /* the same in all parts of a store */
} efface_store_info;

/* How much is in a store. Errors: CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_get_info(efface_store *store, efface_store_info *info,
                                               efface_error *error);

/* A number that changes whenever a request of any process is committed; while one is being
 * committed, it may have either value. So what was read from the store is up to date as long as the
 * number is what it was before the reading and after it: a commit that fails, or whose process
 * dies, may have shown its number already, and the next one has it again. It has 32 bits and begins
 * again after the last. Takes no lock and some microseconds; on a handle that is open to write
 * more, for such a handle opens the file again after each request. Errors: CORRUPT if another file
 * has the name of the store now, or none: open it again; IO; ARGUMENT. */
EFFACE_API efface_status efface_store_count_changes(efface_store *store, uint64_t *count,
                                                    efface_error *error);

/* The name of a column, or NULL if it has none, valid until the store is closed; and its offset. */
EFFACE_API const char *efface_store_column(const efface_store *store, uint32_t column);
EFFACE_API double efface_store_offset(const efface_store *store, uint32_t column);

/* The number of an id or owner that is a text; and options to load rows for this store, with its
 * hash key, its offsets, the columns in which its models have categories (both valid until it is
 * closed, or gets or loses a model), missing values if there are models and all take them, and ids
 * and owners read as numbers or as texts, as in the store. Models are those that the store had when
 * it was opened, or when this handle added or dropped one; in parts, rank 0 knows of them. Set
 * `labels` by efface_store_get_info if the rows have labels: otherwise a file
 * that has only the class 7 would not mean the store's class "7". */
EFFACE_API uint64_t efface_store_text_id(const efface_store *store, const char *text,
                                         size_t n_bytes);
EFFACE_API void efface_store_load_options(const efface_store *store, efface_load_options *options);

/* Hands out the text of an id, an owner or a label, if rows have it and the store keeps the text;
 * otherwise NULL. Release with efface_text_free. Errors: CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_text(efface_store *store, efface_text_kind kind,
                                           uint64_t number, char **text, efface_error *error);
EFFACE_API void efface_text_free(char *text);

/* Calls `each` for every owner, in no particular order, with the number of its rows and its text,
 * or NULL. It must not use the store. Cost O(owners). Errors: CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_owners(efface_store *store,
                                             void (*each)(void *context, uint64_t owner,
                                                          const char *text, uint64_t n_rows),
                                             void *context, efface_error *error);

#define EFFACE_MODEL_NAME_BYTES 64 /* with the ending 0 */

typedef struct efface_stored_model {
    char name[EFFACE_MODEL_NAME_BYTES];
    efface_family family;
    uint32_t n_columns;
    unsigned char digest[EFFACE_DIGEST_BYTES];
} efface_stored_model;

/* Descriptions of all models, in the order of names, and of one model, without reading their
 * states. Release the list with efface_models_free. Errors: NOT_FOUND; CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_models(efface_store *store, efface_stored_model **models,
                                             size_t *n_models, efface_error *error);
EFFACE_API void efface_models_free(efface_stored_model *models);
EFFACE_API efface_status efface_store_find_model(efface_store *store, const char *name,
                                                 efface_stored_model *info, efface_error *error);

/* Calls `each` for every parameter of a model but the seed, without reading its state. `each` must
 * not use the store. Errors: NOT_FOUND; CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_describe(efface_store *store, const char *name,
                                               void (*each)(void *context, const efface_fact *fact),
                                               void *context, efface_error *error);

/* Hands out the n_columns columns of a model (see efface_stored_model), counted from 0.
 * Release with efface_columns_free. Errors: NOT_FOUND; CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_model_columns(efface_store *store, const char *name,
                                                    uint32_t **columns, efface_error *error);
EFFACE_API void efface_columns_free(uint32_t *columns);

/* Fits a model and adds it. Other processes may read and write the store meanwhile; the model
 * follows their changes before it is added. `model`, if not NULL, gets the fitted model, which
 * belongs to the caller; what the caller does with it does not affect the store.
 * Errors: as efface_kmeans_fit; DUPLICATE for a name that is taken; LIMIT for a state that is
 * larger than a store can hold; BUSY; IO. */
EFFACE_API efface_status efface_store_fit(efface_store *store, const efface_new_model *asked,
                                          efface_model **model, efface_error *error);

/* Takes a model out. Errors: NOT_FOUND; BUSY; IO. */
EFFACE_API efface_status efface_store_drop(efface_store *store, const char *name,
                                           efface_error *error);

/* Gives a model another seed (efface_model_rekey). With `name` NULL all models get another seed,
 * each its own, made from `seed`. Errors: NOT_FOUND; BUSY; IO. */
EFFACE_API efface_status efface_store_rekey(efface_store *store, const char *name, uint64_t seed,
                                            efface_error *error);

/* Loads all rows, with the columns of a model and their names, and the model; or, with `name` and
 * `model` NULL, only the rows. Both are copies that belong to the caller; changes of them do not
 * affect the store. Errors: NOT_FOUND; CORRUPT; MEMORY. */
EFFACE_API efface_status efface_store_load(efface_store *store, const char *name,
                                           efface_data **data, efface_model **model,
                                           efface_error *error);

/* Hands out a model without its rows, read from its state alone: cost O(size of the state). It
 * predicts, has scores and tables, describes itself, and has bytes and a digest. Calls that need
 * its rows, or change it, are refused with EFFACE_E_ARGUMENT: use efface_store_load for these. It
 * belongs to the caller (efface_model_free) and does not follow the store. A model that was fitted
 * by an older version, which defined its method in another way, is fitted to the rows first.
 * Errors: NOT_FOUND; CORRUPT; BUSY; IO; MEMORY. */
EFFACE_API efface_status efface_store_model(efface_store *store, const char *name,
                                            efface_model **out, efface_error *error);

/* Hands out the canonical bytes of a model. Release with efface_bytes_free. */
EFFACE_API efface_status efface_store_encode(efface_store *store, const char *name,
                                             unsigned char **bytes, size_t *n_bytes,
                                             efface_error *error);

/* Fits a model anew and compares (efface_model_verify). A model that was fitted by an older
 * version, which defined its method in another way, is reported as different, without a fit, until
 * the first request that writes. */
EFFACE_API efface_status efface_store_verify(efface_store *store, const char *name,
                                             efface_difference *difference, efface_error *error);

/* Hands out the rows of a request as a set, with the names of columns: all that a store has of a
 * person. Errors: NOT_FOUND; CORRUPT; BUSY; IO; MEMORY. */
EFFACE_API efface_status efface_store_find(efface_store *store, const efface_request *request,
                                           efface_data **rows, efface_error *error);

/* What a request did to a model. */
typedef struct efface_model_report {
    char name[EFFACE_MODEL_NAME_BYTES];
    efface_family family;
    efface_report report;
    unsigned char before[EFFACE_DIGEST_BYTES];
    unsigned char after[EFFACE_DIGEST_BYTES];
} efface_model_report;

typedef struct efface_store_report {
    uint64_t n_requested; /* ids and owners; or rows */
    uint64_t n_missing;   /* how many of these were not there */
    uint64_t n_forgotten; /* rows */
    uint64_t n_learned;
    uint64_t n_updated;
    uint64_t receipt; /* its number; 0 if there is none */
    uint64_t group;   /* if it was done together with others (efface_store_change_all), the number
                         of the first receipt of the group; else 0 */
    double seconds;
    uint32_t n_models;
    efface_model_report *models;
    uint64_t *new_ids;         /* learn: the ids that rows without ids got, in the order of
                                  positions, n_learned of them; or NULL */
    unsigned char *row_hashes; /* the hashes of the rows' ids that the receipt's root is made of, in
                                  order, EFFACE_ROW_HASH_BYTES each; NULL if there is no receipt */
    uint64_t n_row_hashes;
    uint64_t n_published_bytes; /* publish: how long the file is, and its digest (BLAKE2b-256), as
                                   the receipt has them; else 0 */
    unsigned char published[EFFACE_DIGEST_BYTES];
} efface_store_report;

/* Releases what a report holds, and clears it. */
EFFACE_API void efface_store_report_free(efface_store_report *report);

/* Forgets rows, in the store and in all models. `report` may be NULL. Errors: NOT_FOUND; BUSY; IO
 * (a full disk, say); CORRUPT; MEMORY; ARGUMENT. */
EFFACE_API efface_status efface_store_forget(efface_store *store, const efface_request *request,
                                             efface_store_report *report, efface_error *error);

/* Says how much work that would be for each model (efface_model_preview), and changes nothing. The
 * store need not be open to write. */
EFFACE_API efface_status efface_store_preview(efface_store *store, const efface_request *request,
                                              efface_store_report *report, efface_error *error);

/* Learns the rows of a set, in the store and in all models. Rows that were added to the set without
 * ids get random ids of 63 bits, which the report lists. Continued numbers would give an id that
 * was forgotten to somebody else, and a request that comes twice would hit the wrong person.
 * `texts` as in efface_store_create. Errors: as efface_model_learn; DUPLICATE for an id that is
 * there; ARGUMENT for ids or owners that are texts where those of the store are numbers, or the
 * other way round, and for other offsets than those of the store; BUSY; IO; CORRUPT. */
EFFACE_API efface_status efface_store_learn(efface_store *store, const efface_data *data,
                                            const efface_texts *texts, efface_store_report *report,
                                            efface_error *error);

/* Gives rows of the store the values, weights, owners and labels of the rows of a set with the same
 * ids, in the store and in all models. A row keeps its owner or label if the set has none for it,
 * and its weight if the rows of the set came without weights. Errors: NOT_FOUND; as
 * efface_store_learn. */
EFFACE_API efface_status efface_store_update(efface_store *store, const efface_data *data,
                                             const efface_texts *texts, efface_store_report *report,
                                             efface_error *error);

/* ------------------------------------------------------------------ the store: requests together
 */

typedef enum efface_change_kind {
    EFFACE_CHANGE_FORGET = 0,
    EFFACE_CHANGE_LEARN = 1,
    EFFACE_CHANGE_UPDATE = 2
} efface_change_kind;

/* One of several requests that are done together. */
typedef struct efface_store_change {
    efface_change_kind kind;
    const efface_request *request; /* forget: whom */
    const efface_data *data;       /* learn, update: the rows, */
    const efface_texts *texts;     /* and their texts, or NULL */
    efface_status status;          /* filled: what became of it, */
    efface_error error;            /* if it is not OK: why, */
    efface_store_report report;    /* if it is OK: release with efface_store_report_free */
} efface_store_change;

/* Does requests in their order, in one transaction that waits for the disk once: for many small
 * requests that is far faster than one call for each. The rows and models are afterwards as if each
 * request had been a call of efface_store_forget, efface_store_learn or efface_store_update. A
 * request that fails has its status and error, changes nothing, and does not hinder the others: a
 * row that an earlier request forgets is not there for a later one, say. The call returns OK then
 * too, even if all requests failed.
 *
 * Each request that is OK has a receipt of its own, with its own counts and rows. If there are at
 * least two, they are a group: they have the number of the group's first receipt (`group`), and all
 * of them have the digests of the models before and after the whole group, for there is no state in
 * between. Consecutive requests to forget change the models once; what a report says of a model
 * (action, reason, where, seconds) is what that common step did. A request that concerns no row
 * names no model.
 *
 * If the call returns anything but OK, nothing was done, and all requests have that status and
 * error: BUSY; IO; MEMORY; INTERRUPTED; CORRUPT for the head of the store; ARGUMENT for a store
 * that is open to read. (IO for a request that was done, as in invariant 1 of docs/store.md, is one
 * that says so.) Otherwise a request has the errors of the three calls. */
EFFACE_API efface_status efface_store_change_all(efface_store *store, efface_store_change *changes,
                                                 size_t n_changes, efface_error *error);

/* ------------------------------------------------------------------ the store: publishing */

/* What to publish, and where. */
typedef struct efface_publishing {
    const char *name; /* of the model */
    const char *path; /* of the file */
    int replace;      /* if not 0, a file of that name is replaced, or what a symbolic link of that
                         name stands for; but never a store, and only a regular file */
} efface_publishing;

/* Publishes a model: gives it a new random seed that nobody knows, fits it, writes what is needed
 * for prediction to a file (efface_predictor_load), and adds a receipt with the digests of the
 * model and of the file, all or nothing. So no two published models share their randomness, and
 * requests that react to earlier ones are independent of the randomness of the next
 * (docs/exactness.md). That holds for what this call gives out, and not for centroids or labels
 * that got out otherwise.
 *
 * The file is written beside its place, as PATH.efface-new-XXXXXXXXXXXX, and synced; then the
 * request is committed; then the file gets its name. If the process dies between the last two, the
 * store has changed, and the file is there under the other name: the receipt has its digest. If it
 * dies before, such a file may be left too, without a receipt. `report` may be NULL. Cost: that of
 * a fit. Errors: NOT_FOUND; BUSY; IO; CORRUPT; MEMORY; ARGUMENT for a file that exists, a store, or
 * a model that cannot predict; INTERRUPTED; as efface_kmeans_fit. The error is also IO if the file
 * could not be given its name in the end: the message then says that the request was done, and
 * where the file is. */
EFFACE_API efface_status efface_store_publish(efface_store *store, const efface_publishing *asked,
                                              efface_store_report *report, efface_error *error);

/* ------------------------------------------------------------------ the store: receipts */

/* Hands out receipt number `number`, from 1, as one line of JSON. Release with efface_text_free.
 * Errors: NOT_FOUND; CORRUPT. */
EFFACE_API efface_status efface_store_receipt(efface_store *store, uint64_t number, char **json,
                                              efface_error *error);

/* A pair of keys to sign receipts with (Ed25519). */
EFFACE_API efface_status efface_keys_make(unsigned char secret_key[EFFACE_SECRET_KEY_BYTES],
                                          unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
                                          efface_error *error);

/* Checks that a line of JSON is a receipt signed with this key. Errors: ARGUMENT if it is not
 * signed; FORMAT if it was changed or signed with another key. */
EFFACE_API efface_status efface_receipt_verify(
    const char *json, const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES], efface_error *error);

/* Checks that the receipts of a store are a chain, and that their number was signed with this key:
 * someone who removes receipts without the secret key cannot sign the new number. Errors: FORMAT if
 * not; CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_verify_receipts(
    efface_store *store, const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
    efface_error *error);

/* Checks that n_lines lines are a chain of receipts: each names the digest of the line before, and
 * the numbers have no gaps. Calls `found` with the line, from 1, and a sentence for each receipt
 * that is missing, doubled, out of order, changed, or, if `public_key` is not NULL, not signed with
 * that key. Without a key, a change of the last line is noticed only if that line is signed. The
 * first line may have any number. Errors: MEMORY; ARGUMENT. */
EFFACE_API efface_status
efface_receipts_verify(const char *const *lines, size_t n_lines,
                       const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
                       void (*found)(void *context, size_t line, const char *problem),
                       void *context, efface_error *error);

/* The hash that stands for an id in receipts, under a receipt key; NULL for the key that is kept in
 * the store. Errors: ARGUMENT if the store keeps none. */
EFFACE_API efface_status efface_store_row_hash(
    efface_store *store, const unsigned char receipt_key[EFFACE_RECEIPT_KEY_BYTES], uint64_t id,
    unsigned char hash[EFFACE_ROW_HASH_BYTES], efface_error *error);

/* The Merkle root of hashes (docs/store.md), which a receipt has instead of the hashes. They are
 * put in order first. Errors: MEMORY. */
EFFACE_API efface_status efface_receipt_root(const unsigned char *hashes, size_t n_hashes,
                                             unsigned char root[EFFACE_DIGEST_BYTES],
                                             efface_error *error);

/* ------------------------------------------------------------------ the store: parts */

/* A store in parts is a folder: a manifest, and a file for each rank of a group with the rows that
 * the rank has. The first also has the models and the receipts. It is made and opened with a group
 * in the options, and then all ranks make the same calls in the same order, each with its own
 * handle. A call that fails on one rank fails on all, and the message names the rank. Models,
 * digests and receipts are those of a store of one file with the same rows.
 *
 * - efface_store_create: each rank gives its own part of the rows, every row with an id, and the
 *   same models and options. A set that has not joined the group (efface_data_join) is copied for
 *   the fit. efface_store_open: with as many ranks as there are parts; otherwise the error says how
 *   to spread the rows anew. A store that is opened to write finishes a request that was
 *   interrupted; one that is opened to read while such a request waits is BUSY.
 * - efface_store_forget, efface_store_preview and efface_store_find take the request of rank 0,
 *   efface_store_learn and efface_store_update the rows and texts of rank 0. The others may give
 *   NULL. A row that is learned goes to a part that its id determines. All ranks get the counts of
 *   the report, the number of the receipt and the new ids; rank 0 alone gets what became of each
 *   model, and the hashes of rows.
 * - efface_store_load gives each rank its own rows, as a part that has joined, and the whole model.
 *   efface_store_fit, efface_store_rekey and efface_store_verify are made by all ranks. While a
 *   model is fitted, the store is locked.
 * - efface_store_get_info, efface_store_models, efface_store_find_model, efface_store_describe,
 *   efface_store_model_columns, efface_store_model, efface_store_encode, efface_store_receipt,
 *   efface_store_text and efface_store_owners give all ranks the same, of the whole store; info
 *   says which part the rank has. efface_store_drop, efface_store_verify_receipts and
 *   efface_store_compact concern the whole store. efface_store_check tells each rank what is wrong
 *   with its own part, and all what is wrong with a model.
 * - efface_store_close, efface_store_column, efface_store_offset, efface_store_text_id,
 *   efface_store_load_options, efface_store_row_hash and efface_store_count_changes need no other
 *   rank; the last is of the rank's own file.
 * - Refused with ARGUMENT: `resident`, efface_store_publish, and more than one change at a time in
 *   efface_store_change_all.
 *
 * A request is decided when part 0 has it on the disk, with what the others still have to do; it is
 * acknowledged when all parts have it, and part 0 no longer says so. If a rank fails between, the
 * error says that the request is done in part 0 only. The next call that writes finishes it, be it
 * of other processes.
 *
 * A part can be opened alone, without a group, and only to look at it: info, models, receipts.
 * What takes all rows, or writes, is refused. */

/* Spreads the rows of a store in parts over as many parts as the group in the options has ranks,
 * by their ids. Models and receipts stay as they are. Every rank must reach the files of old parts:
 * rank r reads part r, r + size, and so on. The new parts stand beside the old ones until they are
 * complete; then the manifest is replaced, and the old ones are removed. If it fails, nothing has
 * changed. Errors: as efface_store_open. */
EFFACE_API efface_status efface_store_spread(const char *path, const efface_store_options *options,
                                             efface_error *error);

/* ------------------------------------------------------------------ the store: upkeep */

/* Looks for damage: of the file, of its schema, of everything that digests cover, and of every
 * model's state. Calls `found` with a sentence for each thing that is wrong. Cost: reads the file,
 * and the rows once. Damage is not an error of this call; errors say what kept it from looking. */
EFFACE_API efface_status efface_store_check(efface_store *store,
                                            void (*found)(void *context, const char *problem),
                                            void *context, efface_error *error);

/* Makes the file as small as it can be. Takes memory of the size of the file. Errors: BUSY; IO;
 * CORRUPT; MEMORY. */
EFFACE_API efface_status efface_store_compact(efface_store *store, efface_error *error);

/* ------------------------------------------------------------------ the machine */

/* The kernel table in use: "ref", "avx2", "avx512" or "neon"; NULL if EFFACE_KERNELS names one that
 * this processor cannot run. */
EFFACE_API const char *efface_kernels_name(void);

#ifdef __cplusplus
}
#endif

#endif
