/*
 * Sets of rows from files, texts that stand for numbers, names in one form, and rows that are made
 * up. Part of efface.h.
 *
 * EXAMPLE
 *
 *     efface_data *people = NULL;
 *     efface_texts *texts = NULL;
 *     efface_load_options options;
 *     efface_error error;
 *     efface_load_options_init(&options);
 *     options.id_column = "id";
 *     options.owner_column = "owner";
 *     options.label_column = "kind";
 *     if (efface_texts_create(&texts, &error) == EFFACE_OK) {
 *         options.texts = texts;
 *         if (efface_data_load("examples/people.csv", &options, &people, &error) != EFFACE_OK) {
 *             fprintf(stderr, "%s\n", error.message);
 *             return 1;
 *         }
 *         const efface_row first = efface_data_row(people, 0);
 *         printf("the first row belongs to %s\n",
 *                efface_texts_find(texts, EFFACE_TEXT_OWNER, first.owner));
 *     }
 *     efface_texts_free(texts);
 *     efface_data_free(people);
 */
#ifndef EFFACE_FILES_H
#define EFFACE_FILES_H

#include "efface/efface_data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ data: texts */

/* In this library ids, owners and labels are numbers. Where a file has texts, a number stands for
 * each. For an id or an owner it is a hash with a key (efface_text_id), so that nobody can choose a
 * text that has someone else's number. For a label it is a hash without a key, the same everywhere.
 *
 * A collection of texts keeps which text a number stands for. A set of rows works without it. */
typedef struct efface_texts efface_texts;

typedef enum efface_text_kind {
    EFFACE_TEXT_ID = 0,
    EFFACE_TEXT_OWNER = 1,
    EFFACE_TEXT_LABEL = 2
} efface_text_kind;

/* Makes an empty collection. Release it with efface_texts_free. Errors: EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_texts_create(efface_texts **out, efface_error *error);

/* Releases a collection; its memory is overwritten. Takes NULL. */
EFFACE_API void efface_texts_free(efface_texts *texts);

/* Keeps a copy of the text that a number stands for: n_bytes without zero bytes, valid UTF-8 or
 * not. Cost O(n_bytes), expected. Errors: EFFACE_E_DUPLICATE if the number has another text
 * already; EFFACE_E_ARGUMENT; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_texts_add(efface_texts *texts, efface_text_kind kind,
                                          uint64_t number, const char *text, size_t n_bytes,
                                          efface_error *error);

/* Returns the text of a number, or NULL. Valid until the collection is released. Takes NULL. */
EFFACE_API const char *efface_texts_find(const efface_texts *texts, efface_text_kind kind,
                                         uint64_t number);

/* ------------------------------------------------------------------ data: files */

/* Whether a CSV file begins with the names of its columns. */
typedef enum efface_header {
    EFFACE_HEADER_DETECT = 0, /* it does if any value field of the first line is neither a number
                                 nor missing. If only fields that may be texts are not numbers, the
                                 file is ambiguous, and loading fails: pass YES or NO */
    EFFACE_HEADER_YES = 1,
    EFFACE_HEADER_NO = 2
} efface_header;

#define EFFACE_HASH_KEY_BYTES 16

/* The offset of a column of values in a file. One of a column that is not read is passed over. */
typedef struct efface_offset {
    const char *column; /* its name, or its number among the columns of values, from 1 */
    uint32_t place;     /* if not 0: its number from 1, which counts where the file or `column` has
                           no name; a column that does not exist is then no error */
    double value;
} efface_offset;

/* A column of values that are categories: two values are the same or not, and their order means
 * nothing. A number that a set can hold stays that number. Any other text, in CSV only, becomes its
 * code (efface_text_category), from which no offset is subtracted. */
typedef struct efface_category {
    const char *column; /* as in efface_offset */
    uint32_t place;
} efface_category;

/* A column of values that has a type: its fields are of that type, or missing. */
typedef struct efface_typed_column {
    const char *column; /* as in efface_offset */
    uint32_t place;
    efface_column_type type;
} efface_typed_column;

/* How to read a file. Fill it with efface_load_options_init, then change what differs. Names of
 * columns are for CSV only. A column is named as in the header or, if no header matches, by its
 * number from 1. A name that two columns share is an error: give the number. A header field of
 * spaces is not a name. Columns that are not named here are values. */
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
    unsigned char hash_key[EFFACE_HASH_KEY_BYTES]; /* for ids and owners that are texts */
    efface_texts *texts; /* default NULL; else, if the load succeeds, it gets the texts of ids,
                            owners and labels */
    const efface_offset *offsets; /* default NULL: none */
    size_t n_offsets;
    efface_rounding *rounding; /* default NULL; else a new one, which afterwards, if the load
                                  succeeds, has seen all values that float32 may not hold */

    /* For ranks of a group that read one file together: of n_shares shares, read only the rows of
     * share number `share`, from 0. Every row is in one share. Shares are about equally large; one
     * may have no rows. Rows without an id column have the ids that they have in the whole file. A
     * share of an .npy or IDX file that is not gzipped is read without the rest. Default 0: all
     * rows. */
    uint32_t share;
    uint32_t n_shares;

    int missing; /* if not 0, values may be missing: fields of CSV that are empty, or NA, N/A, null,
                    NULL, ?, or NaN in capitals or not, with or without spaces around; and NaN in
                    arrays. The set then allows missing values. Default 0: such a value is an
                    error */
    const efface_category *categories; /* columns of categories; default NULL: none */
    size_t n_categories;
    const efface_category *complete; /* columns in which no value may be missing even so: a field of
                                        CSV is refused with its place; default NULL: none */
    size_t n_complete;

    /* Which columns of values are read. The others are passed over: what stands in them need be
     * no value. Lists are texts such as "age,3,5-7", of names, of numbers from 1, and of ranges of
     * numbers; or one name that may have commas. Numbers, here and in other options, count all
     * columns of the file but those of ids, owners, weights and labels. */
    const char *const *columns; /* default NULL: all; else those of any of these lists */
    size_t n_columns;
    const char *const *ignored; /* default NULL: none; else those of these lists are not read */
    size_t n_ignored;
    const efface_category *known; /* default NULL; else the columns of a model or a store: where a
                                     CSV file has them all by name, no other is read. Of a file that
                                     has only some, columns with other names are not read, unless
                                     one has no name. Else this says nothing */
    size_t n_known;

    const efface_typed_column *types; /* default NULL: all values are numbers. The set has them then
                                         (efface_data_types); an array has the numbers already */
    size_t n_types;

    /* Called for each column that is passed over, in the order of the file: its number and its name,
     * or NULL if it has none. Default NULL. */
    void (*skipped)(void *context, uint32_t number, const char *name);
    void *skipped_context;

    /* Reports progress, with the part of the file that was read, from 0 to 1, or -1 if its size is
     * not known, as for a pipe. It is called for each 256 KiB or less. If it returns non-zero, the
     * load ends with EFFACE_E_INTERRUPTED. Default NULL. */
    int (*progress)(void *context, double part);
    void *progress_context;
} efface_load_options;

/* Fills the options with their defaults: detect everything, all columns are values, key 0. */
EFFACE_API void efface_load_options_init(efface_load_options *options);

/* Reads a set of rows from a file: NumPy .npy (float32, float64, integers, booleans; C order), IDX,
 * or CSV, each also gzipped. The content tells the format. The first dimension of an array is the
 * rows; all others together are the columns. Rows without an id column get the ids 0, 1, 2, ...
 *
 * `path` may be a pipe. "-" is standard input (a file of that name is "./-"), which is read from
 * its current position to its end and stays open. `options` may be NULL. If the call fails, `out`
 * is not written.
 *
 * Values are rounded to float32, after offsets were subtracted in double. (A whole number beyond
 * 2^53 is first rounded to the nearest double.)
 *
 * Errors: EFFACE_E_IO; EFFACE_E_FORMAT, with file, line and column; EFFACE_E_DUPLICATE for an id
 * that comes twice, and for two texts with the same hash (use another key); EFFACE_E_LIMIT as for
 * efface_data_add; EFFACE_E_ARGUMENT for a column that does not exist but has an offset or
 * categories, or must be complete, or is to be read or ignored; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_data_load(const char *path, const efface_load_options *options,
                                          efface_data **out, efface_error *error);

/* Reads one whole number for each row, in the order of positions, and makes it the label of the
 * row: for data sets that have an x.npy and a y.npy. Formats and paths as for efface_data_load,
 * with one column. Errors: as for efface_data_load; EFFACE_E_FORMAT if the number of rows
 * differs. */
EFFACE_API efface_status efface_data_load_labels(efface_data *data, const char *path,
                                                 efface_error *error);

/* Returns the 64-bit number of an id or owner that is a text, under a hash key. All forms of a UUID
 * have the same number: in capitals or not, in braces or not, after "urn:uuid:" or not. Any other
 * text is hashed as it stands: bring names of people into one form first
 * (efface_name_normalize). */
EFFACE_API uint64_t efface_text_id(const char *text, size_t n_bytes,
                                   const unsigned char key[EFFACE_HASH_KEY_BYTES]);

/* Returns the number of a label that is a text, which is hashed as it stands. */
EFFACE_API int64_t efface_text_label(const char *text, size_t n_bytes);

/* The name of a row (its id) or of an owner, in its one form. */
typedef struct efface_name {
    efface_ids kind;  /* EFFACE_IDS_NUMBERS or EFFACE_IDS_TEXT */
    uint64_t number;  /* the number itself; of a text, efface_text_id of its form */
    const char *text; /* NULL for a number; else n_bytes, not terminated, in the text that was given
                         or in `own` */
    size_t n_bytes;
    char *own; /* released by efface_name_clear */
} efface_name;

/* Brings a name into the form in which it is kept, so that one person has one number however they
 * are written. Everything that takes names from people goes through here: fields of files, JSON,
 * arguments. Release what it holds with efface_name_clear.
 *
 * Where names are numbers, "7", "7.0" and " 7 " are 7, and "7.5" and "007" are refused. A text is
 * UTF-8. It is brought into Unicode's form NFC and loses surrounding white space; a UUID is kept in
 * its plain form. With EFFACE_IDS_DETECT, what is written as a number is a number.
 *
 * Errors: EFFACE_E_ARGUMENT for a text that is empty, has control or format characters, or has code
 * points that Unicode does not define (as far as this machine's libutf8proc knows), and for one of
 * more than 1024 bytes unless it is ASCII; error->column is the byte where it goes wrong.
 * EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_name_normalize(const char *text, size_t n_bytes, efface_ids kind,
                                               const unsigned char key[EFFACE_HASH_KEY_BYTES],
                                               efface_name *out, efface_error *error);
EFFACE_API void efface_name_clear(efface_name *name);

/* Returns the value that stands for a text in a column of categories: one of 2^29 numbers of
 * magnitude 2^64 to 2^96, chosen by the hash of the text as a label. It is the same everywhere, and
 * depends on no other text. Two texts collide with probability 2^-29; colliding texts become one
 * category. */
EFFACE_API float efface_text_category(const char *text, size_t n_bytes);

/* Makes the benchmark set of spherical Gaussian clusters: centres uniform in the unit cube,
 * variance 0.8, rows_per_cluster rows around each, labelled by cluster; not scaled. The same
 * arguments give the same bits everywhere. Errors: EFFACE_E_LIMIT; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_data_make_gaussian(uint32_t n_clusters, uint32_t n_columns,
                                                   size_t rows_per_cluster, uint64_t seed,
                                                   efface_data **out, efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
