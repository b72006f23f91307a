/* The families of models, as the command line knows them. A family has a file, family_NAME.c, more
 * whose names begin so if it needs them, and an entry in the table of family_table.c for each name
 * that fit knows it by: one, or several presets. Nothing else here speaks of a family. */
#ifndef CLI_FAMILY_TABLE_H
#define CLI_FAMILY_TABLE_H

#include "models/details/model_details.h"

/* What a model needs besides features. */
typedef enum cli_needs {
    CLI_NEEDS_NOTHING,
    CLI_NEEDS_TARGETS,          /* --target: columns that it predicts */
    CLI_NEEDS_CLASSES,          /* --class: the column of DATA that becomes the label of each row */
    CLI_NEEDS_TARGET_OR_CLASSES /* --target, and one column only, or else --class */
} cli_needs;

typedef struct cli_family {
    efface_family number;
    const char *name; /* what fit calls it: the family's name, or that of a preset */
    const char *help; /* of fit with this family: its options. It fits a screen of 24 lines */
    bool is_alone;    /* its models are of one process, and not of ranks */

    /* What the command line can say of the parameters takes n_bytes. `begin` gets that room, filled
     * with zeros, and what makes a preset of the family; it writes the defaults there and returns
     * the options that change them. The room begins with the parameters of the family, and so with
     * efface_params. Then `ask` puts what was said into them: CLI_DONE or, after a message, another
     * exit code. It may also set fields of `asked` that only this family needs. */
    size_t n_bytes;
    const void *preset;
    cli_option *(*begin)(void *choices, const void *preset);
    int (*ask)(void *choices, efface_new_model *asked);

    /* What fit has to be told. If there is a --target, set_targets gets the columns of the model,
     * from 0, that are targets: after `ask`, when the columns are known, and before the fit.
     * `targets` is valid until the fit is over. */
    cli_needs needs;
    void (*set_targets)(void *choices, const uint32_t *targets, uint32_t n_targets);

    /* In the same way it is told whether values may be missing (--missing), and which columns of
     * the model are categories (--categories). NULL: these options are refused. */
    void (*set_inputs)(void *choices, bool missing, const uint32_t *categories,
                       uint32_t n_categories);

    /* Says what a fit will take, before it begins, if that is much. May be NULL. */
    void (*say_cost)(const void *choices, uint64_t n_rows, uint32_t n_columns);

    /* Warns of what should be looked at after a fit. May be NULL. */
    void (*warn)(const void *choices, const efface_model *model, const cli_chosen *columns);

    /* A sentence without a dot to be said of a model whenever it is described, or NULL. May be
     * NULL. */
    const char *(*note)(const efface_model *model);

    /* Writes a model as it is to a file for prediction, for export; `data` has the names and
     * offsets of columns. NULL: only publish writes such files. */
    efface_status (*write_file)(const efface_model *model, const efface_data *data,
                                const efface_texts *texts, const char *path, efface_error *error);

    /* Adds to what info says of a model; the rest is filled in already. CLI_DONE or, after a
     * message, another exit code. May be NULL. */
    int (*add_details)(cli_model_details *details);
} cli_family;

extern const cli_family cli_family_kmeans, cli_family_sums, cli_family_linear, cli_family_ridge,
    cli_family_bayes, cli_family_discriminant, cli_family_components, cli_family_fourier,
    cli_family_segmented, cli_family_forest, cli_family_logistic, cli_family_svm;

/* The family, or preset, with a name; `name` NULL: the one that fit takes if none is named. NULL,
 * after a message that lists the names, if there is no such family. */
const cli_family *cli_family_named(const char *name);

/* The names of all families and presets as a list for help, the first with `behind` behind it, in
 * lines that are indented by 18 columns. */
void cli_family_lines(char lines[512], const char *behind);

/* The first with a number, which is the family itself; NULL if the command line knows none. */
const cli_family *cli_family_of(efface_family number);

/* Warns of rows that have no "class" or "target". */
void cli_warn_without(uint64_t n_rows, const char *what);

/* What a family has to note about a model; or NULL. */
const char *cli_family_note(const efface_model *model);

#endif
