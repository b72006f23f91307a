/* Forests on the command line: the options of fit, and what it warns of. */
#include "models/families/family_forest_details.h"

#include "input/columns/column_offsets.h"
#include "models/families/family_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { N_OPTIONS = 10 }; /* with the one that ends the list */

typedef struct choices {
    efface_forest_params params;
    uint32_t trees_of_row; /* 0: not given */
    int rows, criterion;
    cli_option options[N_OPTIONS];
} choices;

static const char *const rows_words[] = {"all", "some", "poisson", NULL};
static const char *const criterion_words[] = {"gini", "entropy", NULL};

static cli_option *begin_forest(void *room, const void *preset) {
    choices *const c = room;
    (void)preset;
    efface_forest_params *const p = &c->params;
    const cli_option options[N_OPTIONS] = {
        {"--trees", CLI_COUNT, &p->n_trees, NULL},
        {"--candidates", CLI_WHOLE, &p->n_candidates, NULL},
        {"--depth", CLI_WHOLE, &p->max_depth, NULL},
        {"--min-split", CLI_COUNT, &p->min_split, NULL},
        {"--min-leaf", CLI_COUNT, &p->min_leaf, NULL},
        {"--rows", CLI_WORD, &c->rows, rows_words},
        {"--trees-of-row", CLI_COUNT, &c->trees_of_row, NULL},
        {"--criterion", CLI_WORD, &c->criterion, criterion_words},
        {"--bound", CLI_REAL, &p->bound, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_forest_params_init(p);
    c->rows = (int)p->rows;
    c->criterion = (int)p->criterion;
    memcpy(c->options, options, sizeof options);
    return c->options;
}

static int ask_forest(void *room, efface_new_model *asked) {
    choices *const c = room;
    (void)asked;
    c->params.rows = (efface_forest_rows)c->rows;
    c->params.criterion = (efface_criterion)c->criterion;
    if (c->trees_of_row != 0 && c->params.rows != EFFACE_FOREST_SOME)
        return cli_wrong("--trees-of-row says in how many trees a row is: it needs --rows some");
    if (c->trees_of_row > c->params.n_trees)
        return cli_wrong("--trees-of-row %" PRIu32 " is more than there are trees, %" PRIu32,
                         c->trees_of_row, c->params.n_trees);
    if (c->trees_of_row != 0)
        c->params.trees_of_row = c->trees_of_row;
    return CLI_DONE;
}

static void set_forest_target(void *room, const uint32_t *targets, uint32_t n_targets) {
    choices *const c = room;
    (void)n_targets;
    c->params.target = targets[0];
}

static void set_forest_inputs(void *room, bool missing, const uint32_t *categories,
                              uint32_t n_categories) {
    choices *const c = room;
    c->params.missing = missing;
    c->params.categories = n_categories > 0 ? categories : NULL;
    c->params.n_categories = n_categories;
}

/* ---- what a fit takes, before it begins */

enum { SIZE = 16 };

/* With two digits or so. */
static const char *in_megabytes(double bytes, char text[SIZE]) {
    const double whole = bytes < 1e8 ? 1e6 : 1e7;
    if (bytes < 1e9)
        (void)snprintf(text, SIZE, "%.0f MB", (double)(int64_t)(bytes / whole + 0.5) * whole / 1e6);
    else
        (void)snprintf(text, SIZE, "%.*f GB", bytes < 1e10 ? 1 : 0, bytes / 1e9);
    return text;
}

static void say_forest_cost(const void *room, uint64_t n_rows, uint32_t n_columns) {
    const choices *const c = room;
    const efface_forest_cost cost = efface_forest_estimate(&c->params, n_rows, n_columns);
    const bool of_classes = c->params.target == EFFACE_NO_COLUMN;
    char of_fit[SIZE], of_store[SIZE];
    if (cost.fit_bytes <= 0x1p30 && cost.store_bytes <= 1e8)
        return;
    cli_say("the fit will take about %s of memory, the model about %s of the store, and to forget "
            "a row there about %.1f s%s; fewer --trees or a larger --min-leaf make it smaller",
            in_megabytes(cost.fit_bytes, of_fit), in_megabytes(cost.store_bytes, of_store),
            cost.forget_seconds < 0.1 ? 0.1 : cost.forget_seconds,
            of_classes ? ", or up to three times as much if columns do not tell the classes" : "");
}

/* ---- warnings: nothing here is an error */

static bool has_target(const efface_model *model) {
    return efface_forest_get_params(model).target != EFFACE_NO_COLUMN;
}

/* Classes that make no sense: one, or as many as there are rows. */
static void warn_forest_classes(const efface_model *model, const cli_chosen *chosen) {
    enum { MANY = 20 };
    const cli_named_predictor of = {.predictor = efface_model_predictor(model),
                                    .store = chosen->of.store};
    const uint32_t n = efface_model_get_info(model).n_classes;
    const uint64_t n_rows = efface_forest_get_info(model).n_rows;
    char digits[CLI_MADE_UP];
    cli_classes classes;
    if (n == 1 && cli_read_classes(&of, &classes) == CLI_DONE) {
        cli_warn("all rows have the class '%.60s', which is all that the model can predict",
                 cli_class_name(&classes, classes.numbers[0], digits));
        cli_classes_free(&classes);
    }
    if (n > MANY && n > n_rows / 2)
        cli_warn("there are %" PRIu32 " classes in %" PRIu64
                 " rows; if the column is one of numbers, predict it with --target",
                 n, n_rows);
}

/* The smallest power of two that is above a positive number. */
static double power_above(double size) {
    double power = 1.0;
    while (power <= size)
        power *= 2.0;
    while (power / 2.0 > size && power > 1e-30)
        power /= 2.0;
    return power;
}

/* A target whose values differ little compared to their size: the grid has 23 bits of the largest
 * magnitude, and less than 8 are left for the differences. */
static void warn_coarse_target(const efface_model *model, const cli_chosen *chosen) {
    const efface_forest_params params = efface_forest_get_params(model);
    const uint32_t column = cli_chosen_column(chosen, params.target);
    efface_data *loaded = NULL;
    const efface_data *const rows = cli_chosen_rows(chosen, &loaded);
    double min, max;
    if (rows != NULL && cli_column_range(rows, column, &min, &max)) {
        const double largest = -min > max ? -min : max;
        const double size = params.bound > 0.0 ? params.bound : largest;
        const double steps = (max - min) / power_above(size) * 8388608.0;
        char option[CLI_OFFSET_OPTION] = "--offset";
        const bool is_coarse = steps > 0.0 && steps < 256.0;
        if (is_coarse && size > 2.0 * largest)
            cli_warn("--bound is so large that less than 8 bits of the differences between targets "
                     "are kept; give a smaller one");
        else if (is_coarse && cli_offset_option(option, rows, column))
            cli_warn("values of the target differ so little compared to their size that less than "
                     "8 bits of the differences are kept; create the store again with %s",
                     option);
    }
    efface_data_free(loaded);
}

static void warn_forest(const void *room, const efface_model *model, const cli_chosen *chosen) {
    const uint64_t n_rows = efface_model_get_info(model).n_rows;
    const char *const what = has_target(model) ? "target" : "class";
    (void)room;
    cli_warn_without(n_rows - efface_forest_get_info(model).n_rows, what);
    if (efface_model_get_info(model).n_numbers == 0)
        cli_warn("the model cannot predict yet: no row has a %s", what);
    else if (has_target(model))
        warn_coarse_target(model, chosen);
    else
        warn_forest_classes(model, chosen);
}

const cli_family cli_family_forest = {
    .number = EFFACE_FAMILY_FOREST,
    .name = "forest",
    .help = "usage: efface fit DATA --family forest (--class COL | --target COL) -o STORE\n"
            "       efface fit --family forest [--target COL] -o STORE --model NAME\n"
            "Grows extremely randomised trees, which predict the class of a row or a number.\n"
            "  --class COL         the column of DATA with the class of each row, a text or\n"
            "                      a whole number; rows of a store have their labels\n"
            "  --target COL        instead of classes: the column of numbers to predict\n"
            "  --trees N           how many trees (100)\n"
            "  --candidates N      columns that a node chooses from (0: two thirds of the\n"
            "                      square root of their number, with --target a third of\n"
            "                      their number; but at least 5)\n"
            "  --depth N           of trees at most (0: no limit)\n"
            "  --min-split N       a node with fewer rows is not split (2)\n"
            "  --min-leaf N        rows on each side of a split at least (1)\n"
            "  --rows WHICH        of each tree: all (default); some: each row is in\n"
            "                      --trees-of-row K (10) trees; poisson: as in a bootstrap\n"
            "  --criterion C       gini (default) or entropy, for classes\n"
            "  --missing           values may be missing: fields that are empty, NA or ?\n"
            "  --categories LIST   columns whose values have no order, by name or number;\n"
            "                      they may be texts: city,7\n"
            "  --bound B           the largest magnitude of a target\n"
            "Further options are those of efface fit --help. efface info shows which columns\n"
            "matter; efface export writes a file for prediction only.\n"
            "example: efface fit people.csv --id id --family forest --class kind \\\n"
            "             --categories city --missing -o people.store\n",
    .is_alone = true,
    .n_bytes = sizeof(choices),
    .begin = begin_forest,
    .ask = ask_forest,
    .needs = CLI_NEEDS_TARGET_OR_CLASSES,
    .set_targets = set_forest_target,
    .set_inputs = set_forest_inputs,
    .say_cost = say_forest_cost,
    .warn = warn_forest,
    .write_file = efface_forest_export,
    .add_details = cli_forest_add_details,
};
