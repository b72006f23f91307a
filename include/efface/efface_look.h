/* What is in a file before it is loaded: its columns and what they look like. Part of efface.h. */
#ifndef EFFACE_LOOK_H
#define EFFACE_LOOK_H

#include "efface/efface_files.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A look at a file: statistics of its columns. */
typedef struct efface_file_look efface_file_look;

/* What all fields of a column look like that are not missing. */
typedef enum efface_looks {
    EFFACE_LOOKS_EMPTY = 0,   /* there are none */
    EFFACE_LOOKS_WHOLE = 1,   /* whole numbers */
    EFFACE_LOOKS_NUMBERS = 2, /* numbers that a set can hold */
    EFFACE_LOOKS_TRUTH = 3,   /* true and false, t and f, yes and no, in capitals or not */
    EFFACE_LOOKS_DATES = 4,   /* dates of ISO 8601: 2024-02-29 */
    EFFACE_LOOKS_TIMES = 5,   /* and times: 2024-02-29T12:30, 2024-02-29 12:30:00.5Z; or dates */
    EFFACE_LOOKS_COMMAS = 6,  /* numbers with a comma in the place of the point: 3,14 */
    EFFACE_LOOKS_TEXTS = 7    /* anything else */
} efface_looks;

/* Returns "whole numbers", "dates" and the like. Never NULL. */
EFFACE_API const char *efface_looks_name(efface_looks looks);

typedef struct efface_column_look {
    const char *name; /* NULL if it has none; valid until the look is released */
    efface_looks looks;
    uint64_t n_missing;      /* fields that stand for a missing value, as in efface_load_options */
    uint64_t n_numbers;      /* fields that are numbers */
    uint64_t first_other;    /* the line of the first field that is neither; 0: there is none */
    uint64_t n_distinct;     /* different fields that are not missing */
    int n_distinct_is_exact; /* if not, it is an estimate, mostly within a few hundredths */
    int repeats;             /* a field comes twice, of those that were compared: of all if
                                n_distinct is exact, else of a few thousand different ones */
    double least, most;      /* of the numbers; 0 if there are none */
    uint64_t n_not_utf8;     /* fields that are not UTF-8 */
    uint64_t n_beyond;       /* whole numbers of 2^53 or more, which a double may round */
} efface_column_look;

/* Looks at a file without loading it: CSV, .npy or IDX, also gzipped, also a pipe; a path of "-" is
 * standard input. Of the options, header, delimiter and progress count. If the header is to be
 * detected, the first line is one if it has no number and some text. Release the look with
 * efface_file_look_free. Memory: some KiB for each column, whatever the number of rows; an array is
 * loaded. The result depends on the file alone and, but for first_other, not on the order of its rows.
 *
 * Errors: EFFACE_E_IO; EFFACE_E_FORMAT; EFFACE_E_LIMIT; EFFACE_E_ARGUMENT; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_file_look_create(const char *path,
                                                 const efface_load_options *options,
                                                 efface_file_look **out, efface_error *error);

/* Releases a look. Takes NULL. */
EFFACE_API void efface_file_look_free(efface_file_look *look);

/* Return the number of rows and the number of columns. */
EFFACE_API uint64_t efface_file_look_n_rows(const efface_file_look *look);
EFFACE_API uint32_t efface_file_look_n_columns(const efface_file_look *look);

/* Whether the first line has the names of the columns; and whether a load that detects this might
 * not be sure, so that it has to be told. */
EFFACE_API int efface_file_look_has_header(const efface_file_look *look);
EFFACE_API int efface_file_look_is_unclear(const efface_file_look *look);

/* Returns what is known of a column, counted from 0 among all columns of the file. */
EFFACE_API efface_column_look efface_file_look_column(const efface_file_look *look,
                                                      uint32_t column);

#ifdef __cplusplus
}
#endif

#endif
