/* Lists of columns in options. */
#include "input/columns/named_columns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages */

/* The names of the columns there are, or of the first of them, as ": a, b, c"; or "". */
static void list_column_names(const cli_columns *columns, char list[256]) {
    size_t used = 0;
    list[0] = '\0';
    for (uint32_t i = 0; i < columns->n; i++) {
        const char *const name = cli_column_name(columns, i);
        if (name == NULL)
            continue;
        const char *const before = used == 0 ? ": " : ", ";
        if (used + strlen(name) + strlen(before) + sizeof ", ..." > 256) {
            (void)snprintf(list + used, 256 - used, "%s...", before);
            return;
        }
        used += (size_t)snprintf(list + used, 256 - used, "%s%s", before, name);
    }
}

static char lower_case(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether two texts differ by no more than capitals and one letter: another, one more, one less, or
 * two that changed places. */
static bool is_near(const char *a, const char *b) {
    while (*a != '\0' && lower_case(*a) == lower_case(*b))
        a++, b++;
    size_t n = strlen(a), m = strlen(b);
    while (n > 0 && m > 0 && lower_case(a[n - 1]) == lower_case(b[m - 1]))
        n--, m--;
    return (n <= 1 && m <= 1) || (n == 2 && m == 2 && lower_case(a[0]) == lower_case(b[1]) &&
                                  lower_case(a[1]) == lower_case(b[0]));
}

/* Whether a column of the file that was not read has this name or number. */
static bool was_skipped(const cli_columns *columns, const char *name) {
    const cli_skipped *const skipped = columns->skipped;
    uint64_t number = 0;
    (void)cli_read_whole(name, UINT32_MAX, &number);
    for (size_t i = 0; skipped != NULL && i < skipped->n; i++)
        if (skipped->numbers[i] == number ||
            (skipped->names[i] != NULL && strcmp(skipped->names[i], name) == 0))
            return true;
    return false;
}

static int say_unknown_column(const char *option, const cli_columns *columns, const char *name) {
    char list[256];
    if (was_skipped(columns, name))
        return cli_wrong(
            "%s: the column '%s' is not read; list it with --columns too, and not with "
            "--ignore",
            option, name);
    for (uint32_t i = 0; i < columns->n; i++) {
        const char *const known = cli_column_name(columns, i);
        if (known != NULL && strlen(known) > 1 && is_near(name, known))
            return cli_wrong("%s: there is no column '%s'; did you mean '%s'?", option, name,
                             known);
    }
    list_column_names(columns, list);
    return cli_wrong("%s: there is no column '%s' of values; there are %" PRIu32 "%s", option, name,
                     columns->n, list);
}

/* ---- lists */

/* There is room for all columns, each of which comes once. */
static int add_named_column(const char *option, const cli_columns *columns, const char *name,
                            cli_named_columns *to) {
    uint32_t column = 0;
    uint64_t number;
    cli_found found = cli_find_column(columns, name, &column);
    if (found == CLI_NONE && cli_read_whole(name, UINT32_MAX, &number) &&
        cli_column_numbered(columns, number, &column))
        found = CLI_ONE;
    if (found == CLI_SEVERAL)
        return cli_wrong("%s: several columns have the name '%s'; use a number from 1 to %" PRIu64,
                         option, name, cli_last_number(columns));
    if (found == CLI_NONE)
        return say_unknown_column(option, columns, name);
    for (uint32_t i = 0; i < to->n; i++)
        if (to->columns[i] == column)
            return cli_wrong("%s: '%s' names a column that was named before; name each column once",
                             option, name);
    to->columns[to->n++] = column;
    return CLI_DONE;
}

/* A name may have commas. */
static int read_list(const char *option, const char *list, const cli_columns *columns,
                     cli_named_columns *to) {
    uint32_t column;
    if (cli_find_column(columns, list, &column) != CLI_NONE)
        return add_named_column(option, columns, list, to);
    char *const text = strdup(list), *rest = text;
    int code = text != NULL ? CLI_DONE : cli_out_of_memory();
    while (rest != NULL && code == CLI_DONE)
        code = add_named_column(option, columns, strsep(&rest, ","), to);
    free(text);
    return code;
}

int cli_find_named(const char *option, const cli_texts *lists, const cli_columns *columns,
                   cli_named_columns *out) {
    *out = (cli_named_columns){.columns = calloc(columns->n + (size_t)1, sizeof(uint32_t))};
    int code = out->columns != NULL ? CLI_DONE : cli_out_of_memory();
    for (size_t i = 0; i < lists->n && code == CLI_DONE; i++)
        code = read_list(option, lists->items[i], columns, out);
    return code;
}

void cli_named_columns_free(cli_named_columns *named) {
    free(named->columns);
    *named = (cli_named_columns){.columns = NULL};
}
