/* Files that commands write: whole or not at all, in a format told by the name. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli.h"
#include "output/json_writer.h"

typedef enum cli_format { CLI_CSV, CLI_NPY, CLI_JSON, CLI_OTHER } cli_format;

const char *cli_format_name(cli_format format);

/* The format that the ending of a name stands for; CLI_OTHER if it is none of them. */
cli_format cli_format_of(const char *name);

/* The format in which a command writes what has all three: that of the name or, to standard output,
 * CSV or JSON. CLI_DONE or, after a message, CLI_USAGE. */
int cli_choose_format(const char *path, bool as_json, cli_format *format);

/* A file that is being written, without a name or, where that cannot be, under another name beside
 * it until it is complete. */
typedef struct cli_output {
    FILE *file;
    char *path;      /* the name it will have; NULL for standard output */
    char *temporary; /* the name it has; NULL if it is written in place, as devices are */
    bool nameless;   /* it does not have that name yet */
} cli_output;

/* Whether a name stands for standard output: NULL or "-". */
bool cli_is_stdout(const char *path);

/* CLI_DONE or, after a message, CLI_FAILED if the file cannot be begun. */
int cli_output_open(cli_output *output, const char *path);

/* Gives the file its name. CLI_DONE or, after a message, CLI_FAILED if not all could be written. */
int cli_output_finish(cli_output *output);

/* Leaves no trace of it. */
void cli_output_abandon(cli_output *output);

/* Parts of an .npy file; n_columns 0 makes an array of one dimension. */
void cli_npy_header(FILE *out, const char *type, size_t n_rows, size_t n_columns);
void cli_npy_number(FILE *out, efface_number number, int n_bytes);

/* A field of a CSV file, in quotes if it has to be. Its bytes are those of the text: a file that is
 * read again has to have them. */
void cli_csv_text(FILE *out, const char *text);

/* A number that may stand for a text, such as an id or a class: the text, if that is known. */
typedef struct cli_token {
    uint64_t number;
    const char *text;
    bool is_signed; /* the number is an int64_t */
    bool none;      /* neither: nothing in CSV, null in JSON */
    bool of_text;   /* the number stands for a text: it is written CLI_NUMBER_MARK N */
} cli_token;

/* What says that digits are the number of a text, where names are texts. */
#define CLI_NUMBER_MARK "number:"

void cli_format_token(char text[32], const cli_token *token); /* the number */
void cli_csv_token(FILE *out, const cli_token *token);
void cli_json_token(cli_json *json, const char *key, const cli_token *token);

/* A whole number below 10^15 without an exponent; false if it is none. */
bool cli_format_whole(char text[32], double value);

/* The shortest number that is this one when it is read again. */
void cli_format_number(char text[32], double value);

#endif
