/* The columns of DATA that a model needs for prediction. */
#include "models/answers/input_columns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Both sides, and what was found. */
typedef struct matching {
    const cli_inputs *from;
    const cli_named_predictor *by;
    cli_columns there, fitted;
    uint32_t n_inputs;
    uint32_t *columns;
} matching;

static bool is_input(const matching *m, uint32_t column) {
    return efface_predictor_is_input(m->by->predictor, column);
}

static const char *file_of(const matching *m) {
    return cli_data_name(m->from->path);
}

/* Whether the columns are the same in the same order, with or without names. */
static bool same_names(const matching *m) {
    for (uint32_t i = 0; i < m->fitted.n && m->there.n == m->fitted.n; i++) {
        const char *const a = cli_column_name(&m->there, i);
        const char *const b = cli_column_name(&m->fitted, i);
        if (a == NULL || b == NULL ? a != b : strcmp(a, b) != 0)
            return false;
    }
    return m->there.n == m->fitted.n;
}

static bool inputs_are_named(const matching *m) {
    for (uint32_t i = 0; i < m->fitted.n; i++)
        if (is_input(m, i) && cli_column_name(&m->fitted, i) == NULL)
            return false;
    return true;
}

static bool some_named(const cli_columns *columns) {
    for (uint32_t i = 0; i < columns->n; i++)
        if (cli_column_name(columns, i) != NULL)
            return true;
    return false;
}

/* Finds the inputs by name. */
static int match_inputs_by_name(matching *m) {
    for (uint32_t i = 0; i < m->fitted.n; i++) {
        const char *const name = cli_column_name(&m->fitted, i);
        uint32_t itself;
        if (!is_input(m, i))
            continue;
        cli_found found = cli_find_column(&m->fitted, name, &itself);
        if (found == CLI_ONE)
            found = cli_find_column(&m->there, name, &m->columns[i]);
        if (found == CLI_ONE)
            continue;
        if (found == CLI_SEVERAL)
            return cli_failed("several columns have the name '%s'; choose the columns of %s by "
                              "number with --columns",
                              name, file_of(m));
        return cli_failed(
            "%s has no column '%s', which the model needs; choose other columns with --columns",
            file_of(m), name);
    }
    return CLI_DONE;
}

/* Takes columns in their order. There is one for each input or, with `all`, for each column. */
static void match_order(matching *m, bool all) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < m->fitted.n; i++)
        if (all || is_input(m, i))
            m->columns[i] = next++;
}

/* Those that --columns chose. */
static int match_list(matching *m) {
    const uint32_t n = m->there.n;
    if (n == m->n_inputs || n == m->fitted.n) {
        match_order(m, n != m->n_inputs);
        return CLI_DONE;
    }
    return m->n_inputs == m->fitted.n
               ? cli_wrong("--columns names %" PRIu32 " columns, but the model has %" PRIu32, n,
                           m->fitted.n)
               : cli_wrong("--columns names %" PRIu32 " columns, but the model has %" PRIu32
                           " features",
                           n, m->n_inputs);
}

static int match_inputs(matching *m) {
    if (m->from->listed)
        return match_list(m);
    if (!same_names(m) && inputs_are_named(m) && some_named(&m->there))
        return match_inputs_by_name(m);
    if (m->there.n == m->n_inputs || m->there.n == m->fitted.n) {
        match_order(m, m->there.n != m->n_inputs);
        return CLI_DONE;
    }
    if (m->n_inputs == m->fitted.n)
        return cli_failed("%s has %" PRIu32 " columns of values, but the model has %" PRIu32
                          ": choose the columns of the model with --columns",
                          file_of(m), m->there.n, m->fitted.n);
    return cli_failed("%s has %" PRIu32 " columns of values, but the model has %" PRIu32
                      " features: choose them with --columns",
                      file_of(m), m->there.n, m->n_inputs);
}

efface_category *cli_read_inputs(const cli_named_predictor *by, efface_load_options *load) {
    const cli_columns columns = cli_columns_of(by);
    bool *const wanted = calloc(columns.n + (size_t)1, sizeof *wanted);
    if (wanted == NULL)
        return NULL;
    for (uint32_t i = 0; i < columns.n; i++)
        wanted[i] = efface_predictor_is_input(by->predictor, i);
    efface_category *const known = cli_known_columns(&columns, wanted, &load->n_known);
    load->known = known;
    free(wanted);
    return known;
}

int cli_match_inputs(const cli_inputs *from, const cli_named_predictor *by, uint32_t **columns) {
    matching m = {.from = from,
                  .by = by,
                  .there = {.n = efface_data_n_columns(from->rows), .data = from->rows},
                  .fitted = cli_columns_of(by)};
    *columns = m.columns = malloc(m.fitted.n * sizeof *m.columns);
    if (m.columns == NULL)
        return cli_out_of_memory();
    for (uint32_t i = 0; i < m.fitted.n; i++) {
        m.columns[i] = EFFACE_NO_COLUMN;
        m.n_inputs += is_input(&m, i);
    }
    return match_inputs(&m);
}
