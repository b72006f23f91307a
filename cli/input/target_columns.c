/* Columns that a model predicts, as --target names them. */
#include "input/target_columns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages */

/* The names of the columns there are, or of the first of them, as ": a, b, c"; or "". */
static void list_names(const cli_columns *columns, char list[256]) {
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

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether two texts differ by no more than capitals and one letter: another, one more, one less, or
 * two that changed places. */
static bool is_near(const char *a, const char *b) {
    while (*a != '\0' && lower(*a) == lower(*b))
        a++, b++;
    size_t n = strlen(a), m = strlen(b);
    while (n > 0 && m > 0 && lower(a[n - 1]) == lower(b[m - 1]))
        n--, m--;
    return (n <= 1 && m <= 1) ||
           (n == 2 && m == 2 && lower(a[0]) == lower(b[1]) && lower(a[1]) == lower(b[0]));
}

static int unknown(const cli_columns *columns, const char *name) {
    char list[256];
    for (uint32_t i = 0; i < columns->n; i++) {
        const char *const known = cli_column_name(columns, i);
        if (known != NULL && strlen(known) > 1 && is_near(name, known))
            return cli_wrong("--target: there is no column '%s'; did you mean '%s'?", name, known);
    }
    list_names(columns, list);
    return cli_wrong("--target: there is no column '%s' of values; there are %" PRIu32 "%s", name,
                     columns->n, list);
}

/* ---- lists */

/* Room for the targets of all lists: no more than there are columns, and one that is too many. */
static int add(cli_targets *targets, const cli_columns *columns, const char *name) {
    uint32_t column = 0;
    uint64_t number;
    cli_found found = cli_find_column(columns, name, &column);
    if (found == CLI_NONE && cli_read_whole(name, columns->n, &number) && number > 0) {
        column = (uint32_t)number - 1;
        found = CLI_ONE;
    }
    if (found == CLI_SEVERAL)
        return cli_wrong("--target: several columns have the name '%s'; use a number from 1 to "
                         "%" PRIu32,
                         name, columns->n);
    if (found == CLI_NONE)
        return unknown(columns, name);
    for (uint32_t i = 0; i < targets->n; i++)
        if (targets->columns[i] == column)
            return cli_wrong("--target: '%s' names a column that was named before; name each "
                             "column once",
                             name);
    targets->columns[targets->n++] = column;
    return CLI_DONE;
}

/* A name may have commas. */
static int read_list(const char *list, const cli_columns *columns, cli_targets *targets) {
    uint32_t column;
    if (cli_find_column(columns, list, &column) != CLI_NONE)
        return add(targets, columns, list);
    char *const text = strdup(list);
    int code = text != NULL ? CLI_DONE : cli_out_of_memory();
    for (char *item = text, *next; item != NULL && code == CLI_DONE; item = next) {
        next = strchr(item, ',');
        if (next != NULL)
            *next++ = '\0';
        code = add(targets, columns, item);
    }
    free(text);
    return code;
}

/* ---- targets among the columns of a model */

static bool *mark(const cli_chosen *chosen, const cli_targets *targets) {
    bool *const marked = calloc(chosen->of.n + (size_t)1, sizeof *marked);
    for (uint32_t i = 0; marked != NULL && i < chosen->n_columns; i++)
        marked[chosen->columns[i]] = true;
    for (uint32_t i = 0; marked != NULL && i < targets->n; i++)
        marked[targets->columns[i]] = true;
    return marked;
}

/* Adds the targets to a choice, and turns them from columns of all into columns of the choice. */
static int place(cli_chosen *chosen, cli_targets *targets) {
    bool *const marked = mark(chosen, targets);
    uint32_t *const columns = malloc((chosen->of.n + (size_t)1) * sizeof *columns);
    uint32_t *const places = malloc((chosen->of.n + (size_t)1) * sizeof *places);
    uint32_t n = 0;
    if (marked == NULL || columns == NULL || places == NULL) {
        free(marked);
        free(columns);
        free(places);
        return cli_out_of_memory();
    }
    for (uint32_t i = 0; i < chosen->of.n; i++) {
        if (!marked[i])
            continue;
        places[i] = n;
        columns[n++] = i;
    }
    for (uint32_t i = 0; i < targets->n; i++)
        targets->columns[i] = places[targets->columns[i]];
    free(chosen->columns);
    chosen->columns = columns;
    chosen->n_columns = n;
    free(marked);
    free(places);
    return CLI_DONE;
}

int cli_find_targets(const cli_texts *lists, cli_chosen *chosen, cli_targets *targets) {
    *targets = (cli_targets){.columns = calloc(chosen->of.n + (size_t)1, sizeof(uint32_t))};
    int code = targets->columns != NULL ? CLI_DONE : cli_out_of_memory();
    for (size_t i = 0; i < lists->n && code == CLI_DONE; i++)
        code = read_list(lists->items[i], &chosen->of, targets);
    if (code == CLI_DONE && chosen->columns != NULL)
        code = place(chosen, targets);
    const uint32_t n = chosen->columns != NULL ? chosen->n_columns : chosen->of.n;
    if (code == CLI_DONE && targets->n == n)
        code = cli_wrong("--target names every column of the model, so that no feature is left to "
                         "predict from; choose more columns with --columns");
    return code;
}

void cli_targets_free(cli_targets *targets) {
    free(targets->columns);
    *targets = (cli_targets){.columns = NULL};
}
