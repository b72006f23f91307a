/* Reading DATA: the options that fit, learn and predict share, and lists of columns. */
#ifndef CLI_DATA_FILES_H
#define CLI_DATA_FILES_H

#include "input/options.h"

typedef struct cli_data_options {
    const char *id, *owner, *weight, *label;
    int header;         /* efface_header */
    int ids;            /* efface_ids */
    cli_texts columns;  /* lists of columns to read; none: all */
    cli_texts ignored;  /* lists of columns to leave out */
    const char *advice; /* said of a field that is no number; NULL: which options name columns */
} cli_data_options;

/* Columns of DATA that were passed over: their numbers, ascending, and their names or NULL. */
typedef struct cli_skipped {
    uint32_t *numbers;
    char **names;
    size_t n;
    bool failed; /* there was no memory for one */
} cli_skipped;

/* Has `load` note the columns that it passes over. A column is noted once.
 * Release them with cli_skipped_free. */
void cli_note_skipped(efface_load_options *load, cli_skipped *skipped);
void cli_skipped_free(cli_skipped *skipped);

/* The names or numbers of the first of them, for a message. */
#define CLI_SKIPPED_LIST 256
void cli_list_skipped(const cli_skipped *skipped, char list[CLI_SKIPPED_LIST]);

extern const char *const cli_header_words[], *const cli_ids_words[];

/* What to do about a field that is no number. */
#define CLI_NAME_COLUMNS                                                                           \
    "name columns that are not values with --id, --owner, --weight and --label, or leave them "    \
    "out "                                                                                         \
    "with --ignore"

/* clang-format off */
#define CLI_DATA_OPTIONS(d)                                   \
    {"--id", CLI_TEXT, &(d).id, NULL},                        \
    {"--owner", CLI_TEXT, &(d).owner, NULL},                  \
    {"--weight", CLI_TEXT, &(d).weight, NULL},                \
    {"--label", CLI_TEXT, &(d).label, NULL},                  \
    {"--ignore", CLI_TEXTS, &(d).ignored, NULL},              \
    {"--header", CLI_WORD, &(d).header, cli_header_words},    \
    {"--ids", CLI_WORD, &(d).ids, cli_ids_words}
/* clang-format on */

/* What messages call DATA: a dash is standard input. */
const char *cli_data_name(const char *path);

/* Whether there is such a file: CLI_DONE or, after a message, another exit code. */
int cli_find_data(const char *path);

/* Whether DATA can be read more than once: pipes and standard input cannot. */
bool cli_can_be_read_again(const char *path);

/* Whether any of them was given. */
bool cli_data_options_given(const cli_data_options *options);

void cli_data_options_free(cli_data_options *options);

/* Reads a file, or standard input for "-"; `load` has the hash key. CLI_DONE or, after a message,
 * another exit code. */
int cli_load_data(const char *path, const cli_data_options *options, efface_load_options *load,
                  efface_data **data);

/* An empty set with the columns of another: their number, names, types and offsets. */
efface_status cli_begin_like(const efface_data *set, efface_data **out, efface_error *error);

/* ---- column_order.c */

/* Reads DATA for a store that is there, with its texts, and puts its columns in the order of the
 * store's where both have names. Columns that the store does not have are passed over, and it is
 * said which. Rank 0 reads; the others have NULL, as the library wants it.
 * CLI_DONE, or after a message another exit code. */
int cli_load_rows(efface_store *store, const char *path, const cli_data_options *options,
                  efface_data **data, efface_texts **texts);

/* ---- data_files.c again */

/* Columns that can be named: of a store, of a set, or of a published model. */
typedef struct cli_columns {
    uint32_t n;
    efface_store *store;     /* or */
    const efface_data *data; /* or */
    const efface_predictor *published;
    const cli_skipped *skipped; /* of the file that the set is from; or NULL: none */
} cli_columns;

/* The columns of a model among those of a store or a set; `columns` NULL: all of them. */
typedef struct cli_chosen {
    cli_columns of;
    uint32_t *columns;
    uint32_t n_columns;
} cli_chosen;

/* The column there that a column of the model is. */
uint32_t cli_chosen_column(const cli_chosen *chosen, uint32_t column);

/* The rows that were fitted: those at hand, or those of the store. `loaded` is to be freed. NULL,
 * without a word, if they cannot be read: this is for warnings, which are not worth an error. */
const efface_data *cli_chosen_rows(const cli_chosen *chosen, efface_data **loaded);

/* The name of a column; NULL if it has none. And what was taken away from its values, mostly 0. */
const char *cli_column_name(const cli_columns *columns, uint32_t column);
double cli_column_offset(const cli_columns *columns, uint32_t column);

/* The number that people give a column, from 1: of those of its file. And the column, from 0, with a
 * number; false if there is none. */
uint64_t cli_column_number(const cli_columns *columns, uint32_t column);
bool cli_column_numbered(const cli_columns *columns, uint64_t number, uint32_t *column);

/* The largest such number. */
uint64_t cli_last_number(const cli_columns *columns);

/* The columns of a store or a model that have names, `*n` of them: of a file that has them no other
 * is read. `wanted` NULL: all; else those that it says. Release with free. NULL if out of memory. */
efface_category *cli_known_columns(const cli_columns *columns, const bool *wanted, size_t *n);

/* The column with a name, from 0; columns may have the same one. */
typedef enum cli_found { CLI_NONE, CLI_ONE, CLI_SEVERAL } cli_found;
cli_found cli_find_column(const cli_columns *columns, const char *name, uint32_t *column);

/* Reads a list of names, numbers from 1 and ranges (age,3,5-7) into column numbers from 0, sorted.
 * Release them with free. CLI_DONE or, after a message, another exit code. */
int cli_read_columns(const char *list, const cli_columns *columns, uint32_t **out, uint32_t *n_out);

#endif
