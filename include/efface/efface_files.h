/* Sets of rows from files, texts that stand for numbers, and rows that are made up. Part of
 * efface.h. */
#ifndef EFFACE_FILES_H
#define EFFACE_FILES_H

#include "efface/efface_data.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* Keeps a copy of a text of n_bytes, valid UTF-8 or not, without zero bytes. Cost O(n_bytes)
 * expected. Errors: MEMORY; ARGUMENT; DUPLICATE if the number has another text. */
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
    const efface_category *complete; /* columns in which no value may be missing, although `missing`
                                        is set: fields of CSV are refused with their place; default
                                        NULL: none */
    size_t n_complete;
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
 * same hash: use another key); LIMIT; ARGUMENT for an offset, categories, or a complete
 * column, of a column that is not there. */
EFFACE_API efface_status efface_data_load(const char *path, const efface_load_options *options,
                                          efface_data **out, efface_error *error);

/* Reads one whole number for each row, in the order of positions, and makes it the row's label: for
 * data sets that have an x.npy and a y.npy. Formats and paths as above, with one column.
 * Errors: as efface_data_load; FORMAT if the number of rows differs. */
EFFACE_API efface_status efface_data_load_labels(efface_data *data, const char *path,
                                                 efface_error *error);

/* The 64-bit number of an id or owner that is a text, under a hash key; and the number of a
 * label that is a text. All forms of a UUID have the same number: in capitals or not, in braces
 * or not, after "urn:uuid:" or not. Other texts are hashed as they are: names of people should
 * come in their one form (efface_name_normalize). The text of a label is hashed as it is. */
EFFACE_API uint64_t efface_text_id(const char *text, size_t n_bytes,
                                   const unsigned char key[EFFACE_HASH_KEY_BYTES]);
EFFACE_API int64_t efface_text_label(const char *text, size_t n_bytes);

/* A name in its one form: of a row (its id) or of an owner. */
typedef struct efface_name {
    efface_ids kind;  /* EFFACE_IDS_NUMBERS or EFFACE_IDS_TEXT */
    uint64_t number;  /* the number itself; of a text, efface_text_id of its form */
    const char *text; /* NULL for a number; else n_bytes, not terminated, in the text that was given
                         or in `own` */
    size_t n_bytes;
    char *own; /* released by efface_name_clear */
} efface_name;

/* Brings a name into the form in which it is kept. Everything that takes names from people goes
 * through here, so that one person has one number: fields of files, JSON, arguments.
 *
 * Where names are numbers, "7", "7.0" and " 7 " are 7, and "7.5" and "007" are refused. A text is
 * UTF-8; it is brought into Unicode's form NFC, white space around it is taken away, and of a UUID
 * the plain form is kept. Refused are a text that is empty, or has control or format characters or
 * code points that Unicode does not define (as far as this machine's libutf8proc knows), and one of
 * more than 1024 bytes unless it is ASCII. With EFFACE_IDS_DETECT what is written as a number is
 * one. Errors: MEMORY; ARGUMENT, with the byte where the name goes wrong as error->column. */
EFFACE_API efface_status efface_name_normalize(const char *text, size_t n_bytes, efface_ids kind,
                                               const unsigned char key[EFFACE_HASH_KEY_BYTES],
                                               efface_name *out, efface_error *error);
EFFACE_API void efface_name_clear(efface_name *name);

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

#ifdef __cplusplus
}
#endif

#endif
