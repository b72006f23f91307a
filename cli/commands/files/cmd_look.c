/* efface look: what is in a file, and the command that would load it. */
#include "commands/files/look_advice.h"
#include "input/data_files.h"
#include "output/output.h"
#include "output/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct looking {
    const char *path;
    int header;
    bool json;
    efface_file_look *look;
    uint32_t n_columns;
    cli_column_advice *advice; /* of each column */
    bool loadable;             /* the advice is a command */
} looking;

/* ---- what is to be said of columns */

enum { CELL = 32, MAX_NAME = 32, MAX_TOLD = 8 };

/* The name of a column or, if it has none, its number. */
static void put_name(FILE *out, const looking *l, uint32_t column) {
    const char *const name = efface_file_look_column(l->look, column).name;
    if (name == NULL)
        fprintf(out, "%" PRIu32, column + 1);
    else
        cli_put_text(out, name);
}

static bool is_repeated(const looking *l, uint32_t column) {
    const char *const name = efface_file_look_column(l->look, column).name;
    for (uint32_t j = 0; j < column && name != NULL; j++) {
        const char *const other = efface_file_look_column(l->look, j).name;
        if (other != NULL && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

/* A sentence about a column for each thing that hurts; it begins with `column "NAME": `. */
static void note_column(FILE *out, const looking *l, uint32_t j, const char *before,
                        const char *after) {
    const efface_column_look c = efface_file_look_column(l->look, j);
    const uint64_t n = efface_file_look_n_rows(l->look) - c.n_missing;
    if (is_repeated(l, j)) {
        fprintf(out, "%scolumn %" PRIu32 " (", before, j + 1);
        put_name(out, l, j);
        fprintf(out, ") has the name of another column: name it by its number, or rename it%s",
                after);
    }
    if (c.n_not_utf8 > 0) {
        fprintf(out, "%scolumn ", before);
        put_name(out, l, j);
        fprintf(out,
                ": %" PRIu64 " field%s not UTF-8; if the file is Latin-1, iconv -f latin1 -t utf8 "
                "makes UTF-8 of it%s",
                c.n_not_utf8, c.n_not_utf8 == 1 ? " is" : "s are", after);
    }
    if (c.n_beyond > 0) {
        fprintf(out, "%scolumn ", before);
        put_name(out, l, j);
        fprintf(out,
                ": %" PRIu64
                " whole number%s beyond 2^53, which values cannot hold exactly; as ids "
                "they are exact%s",
                c.n_beyond, c.n_beyond == 1 ? " is" : "s are", after);
    }
    if (c.looks == EFFACE_LOOKS_TEXTS && 2 * c.n_numbers > n) {
        fprintf(out, "%scolumn ", before);
        put_name(out, l, j);
        fprintf(out,
                ": %" PRIu64 " of %" PRIu64 " fields are numbers; the first that is not is in line "
                "%" PRIu64 "%s",
                c.n_numbers, n, c.first_other, after);
    }
}

/* ---- JSON */

static void json_could_be(cli_json *json, const cli_column_advice *advice) {
    cli_json_open(json, "could_be", '[');
    if (advice->may_be_id)
        cli_json_text(json, NULL, cli_use_name(CLI_USE_ID));
    if (advice->may_be_owner)
        cli_json_text(json, NULL, cli_use_name(CLI_USE_OWNER));
    if (advice->may_be_class)
        cli_json_text(json, NULL, cli_use_name(CLI_USE_CLASS));
    cli_json_close(json);
}

static void json_column(cli_json *json, const looking *l, uint32_t j) {
    const efface_column_look c = efface_file_look_column(l->look, j);
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "name", c.name);
    cli_json_text(json, "looks", efface_looks_name(c.looks));
    cli_json_whole(json, "missing", c.n_missing);
    cli_json_whole(json, "numbers", c.n_numbers);
    cli_json_whole(json, "distinct", c.n_distinct);
    cli_json_bool(json, "distinct_exact", c.n_distinct_is_exact != 0);
    cli_json_real(json, "smallest", c.n_numbers > 0 ? c.least : (double)__builtin_nan(""));
    cli_json_real(json, "largest", c.n_numbers > 0 ? c.most : (double)__builtin_nan(""));
    json_could_be(json, &l->advice[j]);
    cli_json_text(json, "use", cli_use_name(l->advice[j].use));
    cli_json_close(json);
}

/* What writes to a stream, as a text to be freed; NULL if out of memory. */
static char *command_of(const looking *l) {
    char *text = NULL;
    size_t n_bytes;
    FILE *const out = open_memstream(&text, &n_bytes);
    if (out == NULL)
        return NULL;
    cli_put_fit_command(out, l->path, l->look, l->advice);
    return fclose(out) == 0 ? text : NULL;
}

static char *notes_of(const looking *l) {
    char *text = NULL;
    size_t n_bytes;
    FILE *const out = open_memstream(&text, &n_bytes);
    for (uint32_t j = 0; out != NULL && j < l->n_columns; j++)
        note_column(out, l, j, "", "\n");
    return out != NULL && fclose(out) == 0 ? text : NULL;
}

static int print_json_look(const looking *l) {
    char *const command = command_of(l), *const notes = notes_of(l);
    if (command != NULL && notes != NULL) {
        cli_json json = cli_json_object(stdout);
        cli_json_text(&json, "file", l->path);
        cli_json_whole(&json, "rows", efface_file_look_n_rows(l->look));
        cli_json_bool(&json, "header", efface_file_look_has_header(l->look) != 0);
        cli_json_open(&json, "columns", '[');
        for (uint32_t j = 0; j < l->n_columns; j++)
            json_column(&json, l, j);
        cli_json_close(&json);
        cli_json_open(&json, "notes", '[');
        for (char *rest = notes, *line; (line = strsep(&rest, "\n")) != NULL;)
            if (*line != '\0')
                cli_json_text(&json, NULL, line);
        cli_json_close(&json);
        cli_json_text(&json, "command", l->loadable ? command : NULL);
        cli_json_close(&json);
    }
    const int code = command != NULL && notes != NULL ? CLI_DONE : cli_out_of_memory();
    free(command);
    free(notes);
    return code;
}

/* ---- text */

static void print_could_be(const cli_column_advice *advice) {
    static const char *const both[] = {"",      "id",        "owner",        "id, owner",
                                       "class", "id, class", "owner, class", "id, owner, class"};
    fputs(both[advice->may_be_id + 2 * advice->may_be_owner + 4 * advice->may_be_class], stdout);
}

static void print_column(const looking *l, uint32_t j, int width) {
    const efface_column_look c = efface_file_look_column(l->look, j);
    char least[CELL] = "", most[CELL] = "";
    if (c.n_numbers > 0) {
        snprintf(least, sizeof least, "%.6g", c.least);
        snprintf(most, sizeof most, "%.6g", c.most);
    }
    printf("%5" PRIu32 "  ", j + 1);
    cli_put_padded(stdout, c.name != NULL ? c.name : "", width);
    printf("  %-19s %9" PRIu64 " %s%*" PRIu64 " %12s %12s  ", efface_looks_name(c.looks),
           c.n_missing, c.n_distinct_is_exact ? "" : "~", c.n_distinct_is_exact ? 9 : 8,
           c.n_distinct, least, most);
    print_could_be(&l->advice[j]);
    putchar('\n');
}

static int print_text_look(const looking *l) {
    int width = 6; /* of the heading */
    for (uint32_t j = 0; j < l->n_columns; j++) {
        const char *const name = efface_file_look_column(l->look, j).name;
        const int n = name != NULL ? cli_count_characters(name) : 0;
        width = n > width ? n : width;
    }
    width = width > MAX_NAME ? MAX_NAME : width;
    cli_put_text(stdout, cli_data_name(l->path));
    printf(": %" PRIu64 " row%s, %" PRIu32 " column%s\n", efface_file_look_n_rows(l->look),
           efface_file_look_n_rows(l->look) == 1 ? "" : "s", l->n_columns,
           l->n_columns == 1 ? "" : "s");
    printf("    #  %-*s  looks like            missing  distinct     smallest      largest  could "
           "be\n",
           width, "column");
    for (uint32_t j = 0; j < l->n_columns; j++)
        print_column(l, j, width);
    for (uint32_t j = 0; j < l->n_columns; j++)
        note_column(stdout, l, j, "note: ", "\n");
    if (l->loadable) {
        fputs("to fit a model:\n  ", stdout);
        cli_put_fit_command(stdout, l->path, l->look, l->advice);
        putchar('\n');
    } else {
        puts("no column has only numbers, so that there is nothing to fit a model to");
    }
    return CLI_DONE;
}

/* ---- the command */

static int look_at_file(looking *l) {
    efface_load_options load;
    efface_error error;
    int code = cli_find_data(l->path);
    if (code != CLI_DONE)
        return code;
    efface_load_options_init(&load);
    load.header = (efface_header)l->header;
    load.progress = cli_file_part;
    cli_progress_begin("reading");
    const efface_status status = efface_file_look_create(l->path, &load, &l->look, &error);
    cli_progress_end();
    if (status != EFFACE_OK)
        return cli_report_error(&error);
    l->n_columns = efface_file_look_n_columns(l->look);
    l->advice = calloc(l->n_columns + (size_t)1, sizeof *l->advice);
    if (l->advice == NULL)
        return cli_out_of_memory();
    l->loadable = cli_advise_columns(l->look, l->advice);
    return (l->json ? print_json_look : print_text_look)(l);
}

static int run_look(int n_arguments, char **arguments) {
    looking l = {.path = NULL};
    const cli_option options[] = {
        {"FILE", CLI_PLACE, &l.path, NULL},
        {"--header", CLI_WORD, &l.header, cli_header_words},
        {"--json", CLI_FLAG, &l.json, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    int code = cli_parse("look", options, n_arguments, arguments);
    CLI_THEN(code, look_at_file(&l));
    efface_file_look_free(l.look);
    free(l.advice);
    return code;
}

const cli_command cli_look = {
    "look",
    "show what is in a data file, and the command that fits a model to it",
    "usage: efface look FILE [OPTIONS]\n"
    "Shows the columns of FILE (CSV, .npy or IDX, also gzipped; - is standard input):\n"
    "what they look like, how many fields are missing, how many different ones there\n"
    "are (~ is an estimate), the smallest and largest number, and which column could\n"
    "be the id, the owner or the class of a row. Then it prints a command that takes\n"
    "the file: with the columns that have numbers only, and without the others.\n"
    "Nothing is stored.\n"
    "  --header yes|no  whether FILE begins with names, if that is not clear\n"
    "  --json           as JSON: file, rows, header, columns with name, looks,\n"
    "                   missing, numbers, distinct, distinct_exact, smallest, largest,\n"
    "                   could_be and use; notes; and the command or null\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 not found.\n"
    "example: efface look people.csv\n",
    .run = run_look,
};
