/* How a file could be loaded. Names of columns give hints; what they hold decides. */
#include "commands/files/look_advice.h"

#include "input/data_files.h"
#include "output/escape.h"

#include <inttypes.h>
#include <string.h>

enum {
    MOST_CLASSES = 20,  /* that a column could have */
    MOST_LEVELS = 1000, /* of a column of categories */
    CLUSTERS = 8,       /* that the command asks for */
    NO_COLUMN = -1
};

const char *cli_use_name(cli_use use) {
    static const char *const names[] = {"value", "id", "owner", "class", "category", "none"};
    return names[use];
}

/* ---- names */

/* The letters and digits of a name in small letters, cut off if it is long. */
static void plain_name(const char *name, char plain[64]) {
    size_t n = 0;
    for (; name != NULL && *name != '\0' && n < 63; name++) {
        const char c = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            plain[n++] = c;
    }
    plain[n] = '\0';
}

static bool is_any_of(const char *name, const char *const *words) {
    for (; *words != NULL; words++)
        if (strcmp(name, *words) == 0)
            return true;
    return false;
}

static bool has_any_of(const char *name, const char *const *words) {
    for (; *words != NULL; words++)
        if (strstr(name, *words) != NULL)
            return true;
    return false;
}

static bool sounds_like_owner(const char *name) {
    static const char *const words[] = {"user",    "owner",   "customer", "client",   "person",
                                        "patient", "member",  "subject",  "account",  "email",
                                        "student", "citizen", "employee", "username", NULL};
    char plain[64];
    plain_name(name, plain);
    return has_any_of(plain, words);
}

static bool sounds_like_id(const char *name) {
    static const char *const words[] = {"key", "uuid", "guid", "index", "number", "no", NULL};
    char plain[64];
    plain_name(name, plain);
    const size_t n = strlen(plain);
    return (n >= 2 && strcmp(plain + n - 2, "id") == 0) || is_any_of(plain, words);
}

static bool sounds_like_class(const char *name) {
    static const char *const words[] = {"class",  "label",   "species",   "kind", "type",
                                        "target", "outcome", "diagnosis", "y",    NULL};
    char plain[64];
    plain_name(name, plain);
    return is_any_of(plain, words);
}

/* ---- what columns could be */

/* Whole numbers that ids can be, or texts. */
static bool could_be_name(const efface_column_look *column) {
    return column->n_not_utf8 == 0 &&
           ((column->looks == EFFACE_LOOKS_WHOLE && column->least >= 0.0) ||
            column->looks == EFFACE_LOOKS_TEXTS);
}

static cli_column_advice advise_column(const efface_column_look *column, uint64_t n_rows) {
    const bool texts = column->looks == EFFACE_LOOKS_TEXTS && column->n_numbers == 0;
    const bool named = could_be_name(column);
    cli_column_advice advice = {.use = CLI_USE_NONE};
    advice.may_be_id = named && column->n_missing == 0 && !column->repeats && n_rows > 1;
    /* The first field says what owners and classes are: numbers and texts do not mix. */
    advice.may_be_owner = named && (texts || column->n_missing == 0) && column->n_distinct > 1 &&
                          (texts || column->looks == EFFACE_LOOKS_WHOLE) &&
                          (column->n_distinct > MOST_CLASSES || sounds_like_owner(column->name)) &&
                          (column->repeats || sounds_like_owner(column->name));
    advice.may_be_class =
        column->n_missing == 0 && column->n_beyond == 0 && column->repeats &&
        !sounds_like_owner(column->name) && column->n_distinct >= 2 &&
        column->n_distinct <= MOST_CLASSES &&
        (texts || column->looks == EFFACE_LOOKS_WHOLE || column->looks == EFFACE_LOOKS_TRUTH);
    return advice;
}

/* ---- what the command makes of them */

static int find_id(const efface_file_look *look, const cli_column_advice *columns) {
    int text = NO_COLUMN, owner = NO_COLUMN;
    for (uint32_t j = 0; j < efface_file_look_n_columns(look); j++) {
        const efface_column_look column = efface_file_look_column(look, j);
        if (!columns[j].may_be_id)
            continue;
        const bool of_owner = sounds_like_owner(column.name);
        const bool row_number = j == 0 && column.name == NULL && efface_file_look_has_header(look);
        if (!of_owner && (sounds_like_id(column.name) || row_number))
            return (int)j;
        if (of_owner && owner == NO_COLUMN)
            owner = (int)j;
        else if (column.looks == EFFACE_LOOKS_TEXTS && text == NO_COLUMN)
            text = (int)j;
    }
    return text != NO_COLUMN ? text : owner;
}

static int find_owner(const efface_file_look *look, const cli_column_advice *columns) {
    for (uint32_t j = 0; j < efface_file_look_n_columns(look); j++)
        if (columns[j].use == CLI_USE_NONE && columns[j].may_be_owner &&
            sounds_like_owner(efface_file_look_column(look, j).name))
            return (int)j;
    return NO_COLUMN;
}

static int find_class(const efface_file_look *look, const cli_column_advice *columns) {
    for (uint32_t j = 0; j < efface_file_look_n_columns(look); j++)
        if (columns[j].use == CLI_USE_NONE && columns[j].may_be_class &&
            sounds_like_class(efface_file_look_column(look, j).name))
            return (int)j;
    return NO_COLUMN;
}

/* The type by which fields become numbers; NULL: they are numbers already, or never will be. */
static const char *type_of(efface_looks looks) {
    return looks == EFFACE_LOOKS_TRUTH    ? "truth"
           : looks == EFFACE_LOOKS_DATES  ? "date"
           : looks == EFFACE_LOOKS_TIMES  ? "time"
           : looks == EFFACE_LOOKS_COMMAS ? "comma"
                                          : NULL;
}

/* Forests take categories and missing values, k-means neither. */
static cli_use use_as_input(const efface_column_look *column, bool forest) {
    const bool number = column->looks == EFFACE_LOOKS_WHOLE ||
                        column->looks == EFFACE_LOOKS_NUMBERS || type_of(column->looks) != NULL;
    if (number)
        return column->n_missing == 0 || forest ? CLI_USE_VALUE : CLI_USE_NONE;
    return forest && column->n_numbers == 0 && column->n_distinct <= MOST_LEVELS &&
                   column->looks == EFFACE_LOOKS_TEXTS && column->repeats
               ? CLI_USE_CATEGORY
               : CLI_USE_NONE;
}

/* What is made of the columns that are not used yet. False if none has values. */
static bool use_inputs(const efface_file_look *look, cli_column_advice *columns, bool forest) {
    bool any = false;
    for (uint32_t j = 0; j < efface_file_look_n_columns(look); j++) {
        const efface_column_look column = efface_file_look_column(look, j);
        if (columns[j].use == CLI_USE_NONE)
            columns[j].use = use_as_input(&column, forest);
        any = any || columns[j].use == CLI_USE_VALUE || columns[j].use == CLI_USE_CATEGORY;
    }
    return any;
}

bool cli_advise_columns(const efface_file_look *look, cli_column_advice *columns) {
    for (uint32_t j = 0; j < efface_file_look_n_columns(look); j++) {
        const efface_column_look column = efface_file_look_column(look, j);
        columns[j] = advise_column(&column, efface_file_look_n_rows(look));
    }
    const int id = find_id(look, columns);
    if (id != NO_COLUMN)
        columns[id].use = CLI_USE_ID;
    const int owner = find_owner(look, columns);
    if (owner != NO_COLUMN)
        columns[owner].use = CLI_USE_OWNER;
    const int class = find_class(look, columns);
    if (class == NO_COLUMN)
        return use_inputs(look, columns, false);
    columns[class].use = CLI_USE_CLASS;
    if (use_inputs(look, columns, true))
        return true;
    columns[class].use = CLI_USE_NONE; /* there is nothing to predict it from */
    return use_inputs(look, columns, false);
}

/* ---- the command */

/* A word of the shell, in quotes if it needs them. */
static void put_word(FILE *out, const char *word) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-";
    if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word != '\0'; word++)
        fputs(*word == '\'' ? "'\\''" : (const char[]){*word, '\0'}, out);
    fputc('\'', out);
}

/* Whether a column can be named by its name: it is the only one with it, can be typed, and is
 * neither a list nor what could be numbers. */
static bool has_good_name(const efface_file_look *look, uint32_t column) {
    const char *const name = efface_file_look_column(look, column).name;
    if (name == NULL || strchr(name, ',') != NULL || name[0] == '-' ||
        name[strspn(name, "0123456789-")] == '\0')
        return false;
    for (const char *at = name; *at != '\0';) {
        const cli_character c = cli_next_character(at);
        if (c.kind != CLI_VISIBLE)
            return false;
        at += c.n_bytes;
    }
    for (uint32_t j = 0; j < efface_file_look_n_columns(look); j++) {
        const char *const other = efface_file_look_column(look, j).name;
        if (j != column && other != NULL && strcmp(other, name) == 0)
            return false;
    }
    return true;
}

static void put_column(FILE *out, const efface_file_look *look, uint32_t column, uint32_t number) {
    if (has_good_name(look, column))
        put_word(out, efface_file_look_column(look, column).name);
    else
        fprintf(out, "%" PRIu32, number);
}

static void put_role(FILE *out, const char *option, const efface_file_look *look,
                     const cli_column_advice *columns, cli_use use) {
    for (uint32_t j = 0; j < efface_file_look_n_columns(look); j++) {
        if (columns[j].use != use)
            continue;
        fprintf(out, " %s ", option);
        put_column(out, look, j, j + 1);
    }
}

/* In lists, numbers do not count ids, owners and classes. */
static void put_list(FILE *out, const char *option, const efface_file_look *look,
                     const cli_column_advice *columns, cli_use use) {
    uint32_t number = 0;
    bool any = false;
    for (uint32_t j = 0; j < efface_file_look_n_columns(look); j++) {
        const cli_use of = columns[j].use;
        number += of == CLI_USE_VALUE || of == CLI_USE_CATEGORY || of == CLI_USE_NONE;
        if (of != use)
            continue;
        if (any)
            fputc(',', out);
        else
            fprintf(out, " %s ", option);
        put_column(out, look, j, number);
        any = true;
    }
}

/* Seconds since 1970 need an offset, which is chosen from the file if it can be read again. */
static void put_types(FILE *out, const char *path, const efface_file_look *look,
                      const cli_column_advice *columns) {
    uint32_t number = 0;
    bool times = false;
    for (uint32_t j = 0; j < efface_file_look_n_columns(look); j++) {
        const cli_use of = columns[j].use;
        const efface_looks looks = efface_file_look_column(look, j).looks;
        number += of == CLI_USE_VALUE || of == CLI_USE_CATEGORY || of == CLI_USE_NONE;
        if (of != CLI_USE_VALUE || type_of(looks) == NULL)
            continue;
        fputs(" --type ", out);
        put_column(out, look, j, number);
        fprintf(out, "=%s", type_of(looks));
        times = times || looks == EFFACE_LOOKS_TIMES;
    }
    if (times && strcmp(path, "-") != 0)
        fputs(" --offset auto", out);
}

/* The name of the file without its folder and its ending. */
static void put_store_name(FILE *out, const char *path) {
    char name[256];
    const char *const slash = strrchr(path, '/');
    snprintf(name, sizeof name - 8, "%.240s",
             strcmp(path, "-") == 0 ? "data"
             : slash != NULL        ? slash + 1
                                    : path);
    char *const dot = strchr(name + 1, '.');
    if (dot != NULL)
        *dot = '\0';
    strcat(name, ".store");
    put_word(out, name);
}

static bool uses(const efface_file_look *look, const cli_column_advice *columns, cli_use use,
                 bool missing) {
    for (uint32_t j = 0; j < efface_file_look_n_columns(look); j++)
        if (columns[j].use == use && (!missing || efface_file_look_column(look, j).n_missing > 0))
            return true;
    return false;
}

/* Ids that are numbers and texts are texts. */
static bool has_mixed_ids(const efface_file_look *look, const cli_column_advice *columns) {
    for (uint32_t j = 0; j < efface_file_look_n_columns(look); j++)
        if (columns[j].use == CLI_USE_ID && efface_file_look_column(look, j).n_numbers > 0 &&
            efface_file_look_column(look, j).looks == EFFACE_LOOKS_TEXTS)
            return true;
    return false;
}

void cli_put_fit_command(FILE *out, const char *path, const efface_file_look *look,
                         const cli_column_advice *columns) {
    const bool forest = uses(look, columns, CLI_USE_CLASS, false);
    const uint64_t n_rows = efface_file_look_n_rows(look);
    fputs("efface fit ", out);
    put_word(out, path);
    if (efface_file_look_is_unclear(look))
        fprintf(out, " --header %s", efface_file_look_has_header(look) ? "yes" : "no");
    put_role(out, "--id", look, columns, CLI_USE_ID);
    if (has_mixed_ids(look, columns))
        fputs(" --ids text", out);
    put_role(out, "--owner", look, columns, CLI_USE_OWNER);
    put_list(out, "--ignore", look, columns, CLI_USE_NONE);
    put_types(out, path, look, columns);
    if (forest) {
        fputs(" --family forest", out);
        put_role(out, "--class", look, columns, CLI_USE_CLASS);
        put_list(out, "--categories", look, columns, CLI_USE_CATEGORY);
        if (uses(look, columns, CLI_USE_VALUE, true) || uses(look, columns, CLI_USE_CATEGORY, true))
            fputs(" --missing", out);
    } else {
        fprintf(out, " -k %d --scale standard", n_rows < CLUSTERS ? (int)n_rows : CLUSTERS);
    }
    fputs(" -o ", out);
    put_store_name(out, path);
}
