/* Columns that a model predicts, as --target names them. */
#include "input/columns/target_columns.h"

#include <stdlib.h>

static bool *mark_chosen(const cli_chosen *chosen, const cli_named_columns *targets) {
    bool *const marked = calloc(chosen->of.n + (size_t)1, sizeof *marked);
    for (uint32_t i = 0; marked != NULL && i < chosen->n_columns; i++)
        marked[chosen->columns[i]] = true;
    for (uint32_t i = 0; marked != NULL && i < targets->n; i++)
        marked[targets->columns[i]] = true;
    return marked;
}

/* Adds the targets to a choice, and turns them from columns of all into columns of the choice. */
static int place_targets(cli_chosen *chosen, cli_named_columns *targets) {
    bool *const marked = mark_chosen(chosen, targets);
    uint32_t *const columns = malloc((chosen->of.n + (size_t)1) * sizeof *columns), n = 0;
    if (marked == NULL || columns == NULL) {
        free(marked);
        free(columns);
        return cli_out_of_memory();
    }
    for (uint32_t i = 0; i < chosen->of.n; i++)
        if (marked[i])
            columns[n++] = i;
    for (uint32_t i = 0; i < targets->n; i++) {
        uint32_t j = 0;
        while (columns[j] != targets->columns[i])
            j++;
        targets->columns[i] = j;
    }
    free(chosen->columns);
    chosen->columns = columns;
    chosen->n_columns = n;
    free(marked);
    return CLI_DONE;
}

int cli_find_targets(const cli_texts *lists, cli_chosen *chosen, cli_named_columns *targets) {
    int code = cli_find_named("--target", lists, &chosen->of, targets);
    if (code == CLI_DONE && chosen->columns != NULL)
        code = place_targets(chosen, targets);
    const uint32_t n = chosen->columns != NULL ? chosen->n_columns : chosen->of.n;
    if (code == CLI_DONE && targets->n == n)
        code = cli_wrong("--target names every column of the model, so that no feature is left to "
                         "predict from; choose more columns with --columns");
    return code;
}
