/* What show and owners have in common: where they write and in which form, and ids and owners as
 * texts where those are known. */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include "input/stores.h"
#include "output/output.h"

typedef enum cli_form { CLI_AS_TEXT, CLI_AS_CSV, CLI_AS_JSON } cli_form;

typedef struct cli_listing {
    const char *out_path;
    int form; /* cli_form, or -1: as the name of the file, or --json, says */
    bool json;
    cli_open open;
} cli_listing;

extern const char *const cli_form_words[];

/* clang-format off */
#define CLI_LISTING_OPTIONS(path, l)                                \
    CLI_STORE_OPTIONS(path, (l).open, (l).json),                    \
    {"-o", CLI_TEXT, &(l).out_path, NULL},                          \
    {"--format", CLI_WORD, &(l).form, cli_form_words}
/* clang-format on */

#define CLI_LISTING_DEFAULTS                                                                       \
    {                                                                                              \
        .form = -1, .open = {.access = EFFACE_ACCESS_READ, .wait = -1 }                            \
    }

/* Settles the form. CLI_DONE or, after a message, CLI_USAGE if it makes no sense. */
int cli_choose_form(cli_listing *listing);

/* Writes the listing to its file or standard output, in its form. As cli_choose_form. */
typedef void cli_form_writer(FILE *out, const void *what);
int cli_write_listing(const cli_listing *listing, const void *what, cli_form_writer *as_text,
                      cli_form_writer *as_csv, cli_form_writer *as_json);

/* A token in text, where none is as given. */
void cli_put_token(FILE *out, const cli_token *token, const char *none);

/* The shortest number that is this value when it is read again, in a column with this offset;
 * nothing for a value that is missing. */
void cli_format_value(char text[32], float value, double offset);

/* Says that a store keeps no texts. */
void cli_say_no_texts(const efface_store_info *info);

#endif
