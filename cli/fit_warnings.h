/* What fit says about a model beside its result. */
#ifndef CLI_FIT_WARNINGS_H
#define CLI_FIT_WARNINGS_H

#include "data_files.h"

/* The columns of a model among those of a store or a set; `columns` NULL: all of them. */
typedef struct cli_chosen {
    cli_columns of;
    uint32_t *columns;
    uint32_t n_columns;
} cli_chosen;

/* Warns of fewer rows than clusters. */
void cli_warn_few_rows(uint32_t n_clusters, uint64_t n_rows);

/* Warns of columns of which the grid keeps few bits. */
void cli_warn_coarse(const efface_model *model, const cli_chosen *chosen);

/* Warns of a few rows, or one column, with nearly all of the loss. */
void cli_warn_tails(const efface_tails *tails, efface_scale scale, uint64_t n_rows,
                    const cli_chosen *chosen);

/* Says that the store keeps only numbers for ids or owners that were texts. */
void cli_note_texts(const efface_data *data, const efface_texts *texts);

#endif
