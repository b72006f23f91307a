/* What fit says about a model beside its result: nothing here is an error. */
#include "fit_warnings.h"

#include "column_offsets.h"

#include <inttypes.h>
#include <stdlib.h>

void cli_warn_few_rows(uint32_t n_clusters, uint64_t n_rows) {
    if (n_rows < n_clusters)
        cli_warn("k is %" PRIu32 ", but there %s %" PRIu64 " row%s: the model has %" PRIu64
                 " centroid%s",
                 n_clusters, n_rows == 1 ? "is" : "are", n_rows, n_rows == 1 ? "" : "s", n_rows,
                 n_rows == 1 ? "" : "s");
}

void cli_warn_coarse(const efface_model *model, const cli_chosen *chosen) {
    const uint32_t n = efface_kmeans_get_info(model).n_coarse_columns;
    uint32_t first;
    if (n == 0)
        return;
    efface_kmeans_coarse_columns(model, &first, 1);
    if (chosen->columns != NULL)
        first = chosen->columns[first];
    const char *const name = cli_column_name(&chosen->of, first);
    const bool scaled = efface_kmeans_get_params(model).scale == EFFACE_SCALE_MINMAX;
    cli_warn("the model keeps less than 8 bits of %" PRIu32
             " column%s; the first is number %" PRIu32 "%s%s%s; %s",
             n, n == 1 ? "" : "s", first + 1, name != NULL ? " (" : "", name != NULL ? name : "",
             name != NULL ? ")" : "",
             scaled ? "multiply their values by a power of ten" : "try --scale minmax");
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
                                            : "look at it, or choose other columns with --columns");
    }
    if (tails->rows_carry)
        cli_warn("%" PRIu64 " of %" PRIu64
                 " rows %s %.1f %% of the loss, so clusters follow %s; look at %s, or take the "
                 "logarithm of columns with such outliers%s",
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
            cli_say("the store keeps only numbers for texts; --keep-texts keeps the texts too");
            return;
        }
    }
}
