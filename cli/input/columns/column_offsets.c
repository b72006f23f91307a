/* The offsets of columns on the command line, and warnings about losses in float32. */
#include "input/columns/column_offsets.h"

#include "one_more.h"
#include "output/output.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the command line says */

static bool add_offset(cli_offsets *offsets, char *name, efface_offset offset) {
    efface_offset *const items = cli_one_more(offsets->items, offsets->n, sizeof *items);
    if (items != NULL)
        offsets->items = items;
    char **const names = cli_one_more(offsets->names, offsets->n, sizeof *names);
    if (names != NULL)
        offsets->names = names;
    if (items == NULL || names == NULL)
        return false;
    items[offsets->n] = offset;
    names[offsets->n++] = name;
    return true;
}

/* Names may have a sign of equality, numbers have none: the last one counts. */
static int read_offset(const char *text, cli_offsets *offsets) {
    const char *const equals = strrchr(text, '=');
    char *end = NULL;
    const double value = equals != NULL ? strtod(equals + 1, &end) : 0.0;
    if (equals == NULL || equals == text || end == equals + 1 || *end != '\0' || !isfinite(value))
        return cli_wrong("--offset cannot be '%s': it must be COLUMN=VALUE or auto", text);
    char *const name = strndup(text, (size_t)(equals - text));
    if (name == NULL ||
        !add_offset(offsets, name, (efface_offset){.column = name, .value = value})) {
        free(name);
        return cli_out_of_memory();
    }
    return CLI_DONE;
}

int cli_read_offsets(const cli_texts *texts, cli_offsets *offsets) {
    int code = CLI_DONE;
    memset(offsets, 0, sizeof *offsets);
    for (size_t i = 0; i < texts->n && code == CLI_DONE; i++) {
        if (strcmp(texts->items[i], "auto") == 0)
            offsets->propose = true;
        else
            code = read_offset(texts->items[i], offsets);
    }
    return code;
}

void cli_offsets_free(cli_offsets *offsets) {
    for (size_t i = 0; i < offsets->n; i++)
        free(offsets->names[i]);
    free(offsets->names);
    free(offsets->items);
    memset(offsets, 0, sizeof *offsets);
}

/* ---- columns in messages */

void cli_name_in_brackets(char text[80], const char *name) {
    text[0] = '\0';
    if (name != NULL)
        snprintf(text, 80, " (%.60s%s)", name, strlen(name) > 60 ? "..." : "");
}

/* A column as --offset has it: its name, if that needs no quotes and is no other's, or its
 * number. */
static void name_for_option(char text[80], const cli_columns *columns, uint32_t column) {
    const char *const name = cli_column_name(columns, column);
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    uint32_t found;
    if (name != NULL && strlen(name) < 64 && strspn(name, plain) == strlen(name) &&
        cli_find_column(columns, name, &found) == CLI_ONE)
        snprintf(text, 80, "%s", name);
    else
        snprintf(text, 80, "%" PRIu64, cli_column_number(columns, column));
}

/* ---- proposals */

int cli_propose_offsets(const cli_columns *columns, const efface_rounding *rounding,
                        cli_offsets *offsets) {
    bool proposed = false;
    for (uint32_t j = 0; j < efface_rounding_n_columns(rounding); j++) {
        const efface_column_rounding found = efface_rounding_column(rounding, j);
        char name[80], value[32];
        if (!found.collapses || found.offset == 0.0 || cli_column_offset(columns, j) != 0.0)
            continue;
        if (!add_offset(offsets, NULL, (efface_offset){.place = j + 1, .value = found.offset}))
            return cli_out_of_memory();
        name_for_option(name, columns, j);
        cli_format_number(value, found.offset);
        cli_say("used --offset %s=%s", name, value);
        proposed = true;
    }
    if (proposed)
        cli_say("these offsets come from the rows of now and stay when those are forgotten; choose "
                "round ones yourself if nothing may stay");
    return CLI_DONE;
}

/* A multiple of a power of two of at least the spread. */
static double round_middle(double min, double max) {
    const double spread = max - min;
    double power = 1.0;
    while (power < spread)
        power *= 2.0;
    while (power / 2.0 >= spread)
        power /= 2.0;
    const double middle = (min + spread / 2.0) / power;
    return (double)(long long)(middle + (middle < 0.0 ? -0.5 : 0.5)) * power;
}

bool cli_column_range(const efface_data *data, uint32_t column, double *min, double *max) {
    float *const values = malloc(efface_data_n_columns(data) * sizeof *values);
    bool any = false;
    for (size_t i = 0; i < efface_data_n_rows(data) && values != NULL; i++) {
        efface_data_values(data, i, values);
        const double value = (double)values[column];
        if (isnan(value))
            continue;
        *min = !any || value < *min ? value : *min;
        *max = !any || value > *max ? value : *max;
        any = true;
    }
    free(values);
    return any;
}

bool cli_offset_option(char text[CLI_OFFSET_OPTION], const efface_data *data, uint32_t column) {
    char name[80], value[32];
    double min, max;
    if (!cli_column_range(data, column, &min, &max) || min == max)
        return false;
    const cli_columns columns = {.n = efface_data_n_columns(data), .data = data};
    const double offset = cli_column_offset(&columns, column);
    name_for_option(name, &columns, column);
    cli_format_number(value, round_middle(min + offset, max + offset));
    snprintf(text, CLI_OFFSET_OPTION, "--offset %s=%s", name, value);
    return true;
}

/* ---- warnings */

static void warn_collapse(const cli_columns *columns, uint32_t column,
                          const efface_column_rounding *found) {
    char name[80], brackets[80], value[32];
    cli_name_in_brackets(brackets, cli_column_name(columns, column));
    name_for_option(name, columns, column);
    cli_format_number(value, found->offset);
    if (found->offset != 0.0)
        cli_warn("column %" PRIu64
                 "%s: float32 rounds its values to multiples of %g, but they spread over %g only; "
                 "create the store again with --offset %s=%s",
                 cli_column_number(columns, column), brackets, found->step, found->spread, name,
                 value);
    else
        cli_warn(
            "column %" PRIu64 "%s: its values are so small, or its offset is so far from "
            "them, that float32 keeps little of them; multiply them by a power of ten, or leave "
            "the offset out",
            cli_column_number(columns, column), brackets);
}

static void warn_vanished(const cli_columns *columns, uint32_t column, uint64_t n) {
    char brackets[80];
    cli_name_in_brackets(brackets, cli_column_name(columns, column));
    cli_warn("column %" PRIu64 "%s: %" PRIu64 " value%s other than 0 %s too small for float32 and "
             "became 0; multiply the column by a power of ten",
             cli_column_number(columns, column), brackets, n, n == 1 ? "" : "s",
             n == 1 ? "is" : "are");
}

void cli_warn_rounding(const cli_columns *columns, const efface_rounding *rounding) {
    enum { MAX_COLUMNS = 8 };
    uint32_t n = 0;
    for (uint32_t j = 0; j < efface_rounding_n_columns(rounding); j++) {
        const efface_column_rounding found = efface_rounding_column(rounding, j);
        if ((found.collapses || found.n_vanished != 0) && ++n > MAX_COLUMNS)
            continue;
        if (found.n_vanished != 0)
            warn_vanished(columns, j, found.n_vanished);
        else if (found.collapses)
            warn_collapse(columns, j, &found);
    }
    if (n > MAX_COLUMNS)
        cli_warn("float32 keeps little of %" PRIu32
                 " more columns; --offset auto chooses an offset for each column that needs one",
                 n - MAX_COLUMNS);
}
