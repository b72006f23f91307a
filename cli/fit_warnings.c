/* What fit says about a model beside its result: nothing here is an error. */
#include "fit_warnings.h"

#include "column_offsets.h"

#include <inttypes.h>
#include <stdlib.h>

void cli_warn_few_rows(uint32_t n_clusters, uint64_t n_rows) {
    if (n_rows < n_clusters)
        cli_warn("k is %" PRIu32 " and there %s %" PRIu64 " row%s: the model has %" PRIu64
                 " centroid%s",
                 n_clusters, n_rows == 1 ? "is" : "are", n_rows, n_rows == 1 ? "" : "s", n_rows,
                 n_rows == 1 ? "" : "s");
}

void cli_warn_coarse(const efface_kmeans *model, const cli_chosen *chosen) {
    const uint32_t n = efface_kmeans_get_info(model).n_coarse_columns;
    uint32_t first;
    if (n == 0)
        return;
    efface_kmeans_coarse_columns(model, &first, 1);
    if (chosen->columns != NULL)
        first = chosen->columns[first];
    const char *const name = cli_column_name(&chosen->of, first);
    cli_warn("less than 8 bits are kept of %" PRIu32 " column%s, the first is number %" PRIu32
             "%s%s%s; try --scale minmax",
             n, n == 1 ? "" : "s", first + 1, name != NULL ? " (" : "", name != NULL ? name : "",
             name != NULL ? ")" : "");
}

/* A set with some columns of another. NULL if that cannot be had. */
static efface_data *take_columns(const efface_data *data, const cli_chosen *chosen) {
    enum { BATCH = 1024 };
    const uint32_t n_columns = chosen->n_columns;
    const size_t n_rows = efface_data_n_rows(data);
    efface_data *some = NULL;
    float *const row = malloc(efface_data_n_columns(data) * sizeof *row);
    float *const batch = malloc((size_t)BATCH * n_columns * sizeof *batch);
    bool good =
        row != NULL && batch != NULL && efface_data_create(n_columns, &some, NULL) == EFFACE_OK;
    for (size_t begin = 0; good && begin < n_rows; begin += BATCH) {
        const size_t n = n_rows - begin < BATCH ? n_rows - begin : BATCH;
        for (size_t i = 0; i < n; i++) {
            efface_data_values(data, begin + i, row);
            for (uint32_t j = 0; j < n_columns; j++)
                batch[i * n_columns + j] = row[chosen->columns[j]];
        }
        const efface_rows rows = {.n_rows = n, .values = batch};
        good = efface_data_add(some, &rows, NULL) == EFFACE_OK;
    }
    free(row);
    free(batch);
    if (good)
        return some;
    efface_data_free(some);
    return NULL;
}

/* Which columns are coarse depends on the rows and the scale alone, so the smallest model knows. */
void cli_warn_coarse_rows(const efface_data *data, const efface_kmeans_params *params,
                          const cli_chosen *chosen) {
    efface_kmeans_params small;
    efface_kmeans *model = NULL;
    efface_data *const some = chosen->columns != NULL ? take_columns(data, chosen) : NULL;
    if (chosen->columns != NULL && some == NULL)
        return;
    efface_kmeans_params_init(&small);
    small.n_clusters = 1;
    small.iterations = 1;
    small.keep_margins = 0;
    small.scale = params->scale;
    small.bound = params->bound;
    small.n_threads = params->n_threads;
    if (efface_kmeans_fit(some != NULL ? some : data, &small, &model, NULL) == EFFACE_OK)
        cli_warn_coarse(model, chosen);
    efface_kmeans_free(model);
    efface_data_free(some);
}

void cli_warn_tails(const efface_tails *tails, efface_scale scale, uint64_t n_rows,
                    const cli_chosen *chosen) {
    char brackets[80];
    const uint32_t column =
        chosen->columns != NULL ? chosen->columns[tails->column] : tails->column;
    if (tails->column_carries) {
        cli_name_in_brackets(brackets, cli_column_name(&chosen->of, column));
        cli_warn("column %" PRIu32 "%s carries %.2f %% of the loss, so the others hardly count; %s",
                 column + 1, brackets, 100.0 * tails->column_share,
                 scale == EFFACE_SCALE_NONE ? "try --scale minmax"
                                            : "look at it, or choose others with --columns");
    }
    if (tails->rows_carry)
        cli_warn("%" PRIu64 " of %" PRIu64 " rows %s %.1f %% of the loss, so clusters follow %s; "
                 "look at %s, or take the logarithm of columns with such tails%s",
                 tails->n_rows, n_rows, tails->n_rows == 1 ? "carries" : "carry",
                 100.0 * tails->rows_share, tails->n_rows == 1 ? "it" : "these alone",
                 tails->n_rows == 1 ? "it" : "them",
                 scale == EFFACE_SCALE_NONE ? ", or try --scale minmax" : "");
}

void cli_note_texts(const efface_data *data, const efface_texts *texts) {
    for (size_t i = 0; i < efface_data_n_rows(data); i++) {
        const efface_row row = efface_data_row(data, i);
        if (efface_texts_find(texts, EFFACE_TEXT_ID, row.id) != NULL ||
            efface_texts_find(texts, EFFACE_TEXT_OWNER, row.owner) != NULL) {
            cli_say("texts are kept as numbers only; --keep-texts keeps them");
            return;
        }
    }
}
