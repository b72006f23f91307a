/* What fit is told of columns. */
#include "commands/models/fit_columns.h"

#include "input/columns/target_columns.h"
#include "input/secrets.h"
#include "one_more.h"

#include <string.h>

bool cli_fit_has_classes(const cli_fit_columns *columns, const cli_family *family) {
    return family->needs == CLI_NEEDS_CLASSES ||
           (family->needs == CLI_NEEDS_TARGET_OR_CLASSES && columns->target_lists.n == 0);
}

/* ---- what is predicted: targets are columns of values; a class is the label of a row */

static int check_targets(const cli_fit_columns *c, const cli_family *family) {
    const cli_needs needs = family->needs;
    if (c->target_lists.n != 0 && needs != CLI_NEEDS_TARGETS &&
        needs != CLI_NEEDS_TARGET_OR_CLASSES)
        return cli_wrong("models of the family %s have no targets: leave out --target, or choose "
                         "another family",
                         family->name);
    if (c->target_lists.n == 0 && needs == CLI_NEEDS_TARGETS)
        return cli_wrong("fit --family %s needs --target COL, the column to be predicted",
                         family->name);
    return CLI_DONE;
}

static int check_no_class(const cli_fit_columns *c, const cli_family *family) {
    if (c->class_column == NULL)
        return CLI_DONE;
    return family->needs == CLI_NEEDS_TARGET_OR_CLASSES
               ? cli_wrong("a model predicts a target or a class: leave out --target or --class; "
                           "--label only keeps the column")
               : cli_wrong("models of the family %s have no classes: leave out --class, or choose "
                           "another family; --label only keeps the column",
                           family->name);
}

static int check_class(const cli_fit_columns *c, const cli_family *family, bool has_data,
                       cli_data_options *data) {
    const char *const column = c->class_column;
    if (!has_data)
        return column == NULL
                   ? CLI_DONE
                   : cli_wrong("without DATA, classes are the labels that the rows of the store "
                               "have already: leave out --class");
    if (column != NULL && data->label != NULL && strcmp(column, data->label) != 0)
        return cli_wrong("--class names the column of the labels: leave out --label");
    if (column != NULL)
        data->label = column;
    if (data->label != NULL)
        return CLI_DONE;
    return family->needs == CLI_NEEDS_TARGET_OR_CLASSES
               ? cli_wrong("fit --family %s needs --class COL, the column of DATA with the class "
                           "of each row; or --target COL, a column of numbers to be predicted",
                           family->name)
               : cli_wrong("fit --family %s needs --class COL, the column of DATA with the class "
                           "of each row",
                           family->name);
}

/* ---- what inputs may be */

static int check_inputs(cli_fit_columns *c, const cli_family *family, cli_data_options *data) {
    if (family->set_inputs == NULL && (c->missing || c->category_lists.n != 0))
        return cli_wrong(
            "models of the family %s take numbers only: leave out %s, or choose another "
            "family",
            family->name, c->missing ? "--missing" : "--categories");
    if (family->set_inputs != NULL)
        data->advice = "name columns that are not values with --id, --owner, --weight and --label, "
                       "and columns of texts with --categories, or leave them out with --ignore; "
                       "--missing lets values be missing";
    return cli_read_categories(&c->category_lists, &c->to_read);
}

/* ---- what is read of DATA */

static int add_list(cli_texts *lists, const char *list) {
    const char **const items = cli_one_more(lists->items, lists->n, sizeof *items);
    if (items == NULL)
        return cli_out_of_memory();
    lists->items = items;
    items[lists->n++] = list;
    return CLI_DONE;
}

static int choose_columns_to_read(const cli_fit_columns *c, bool has_data, cli_data_options *data) {
    if (!has_data || c->list == NULL)
        return CLI_DONE;
    int code = add_list(&data->columns, c->list);
    for (size_t i = 0; i < c->target_lists.n; i++)
        CLI_THEN(code, add_list(&data->columns, c->target_lists.items[i]));
    return code;
}

int cli_check_fit_columns(cli_fit_columns *c, const cli_family *family, bool has_data,
                          cli_data_options *data) {
    int code = check_targets(c, family);
    CLI_THEN(code, cli_fit_has_classes(c, family) ? check_class(c, family, has_data, data)
                                                  : check_no_class(c, family));
    CLI_THEN(code, check_inputs(c, family, data));
    CLI_THEN(code, choose_columns_to_read(c, has_data, data));
    return code;
}

/* ---- the columns of the model */

/* A store knows what values its columns have: a model that is added need not be told again. */
static int find_categories(cli_fit_columns *c, const cli_chosen *chosen) {
    efface_load_options of_store;
    if (chosen->of.store == NULL)
        return cli_find_categories(&c->category_lists, chosen, &c->categories);
    efface_store_load_options(chosen->of.store, &of_store);
    c->missing = c->missing || (of_store.missing != 0 && of_store.n_complete == 0);
    const int code = c->category_lists.n > 0
                         ? cli_find_categories(&c->category_lists, chosen, &c->categories)
                         : cli_stored_categories(&of_store, chosen, &c->categories);
    cli_wipe(&of_store, sizeof of_store);
    return code;
}

static int choose_inputs(cli_fit_columns *c, const cli_family *family, void *of_family,
                         const cli_chosen *chosen) {
    const int code = find_categories(c, chosen);
    if (code != CLI_DONE)
        return code;
    for (uint32_t i = 0; i < c->categories.n; i++)
        for (uint32_t j = 0; j < c->targets.n; j++)
            if (c->categories.columns[i] == c->targets.columns[j])
                return cli_wrong("--target names a column of categories, whose values are no "
                                 "numbers; to predict it, create a store with --class");
    family->set_inputs(of_family, c->missing, c->categories.columns, c->categories.n);
    return CLI_DONE;
}

int cli_choose_fit_columns(cli_fit_columns *c, const cli_family *family, void *of_family,
                           cli_chosen *chosen) {
    /* Of DATA, only the columns of the model were read. */
    int code = c->list == NULL || chosen->of.data != NULL
                   ? CLI_DONE
                   : cli_read_columns(c->list, &chosen->of, &chosen->columns, &chosen->n_columns);
    if (code == CLI_DONE && c->target_lists.n != 0) {
        code = cli_find_targets(&c->target_lists, chosen, &c->targets);
        if (code == CLI_DONE && family->needs == CLI_NEEDS_TARGET_OR_CLASSES && c->targets.n > 1)
            code = cli_wrong("a model of the family %s predicts one column: give one --target, and "
                             "fit a model for each",
                             family->name);
        if (code == CLI_DONE)
            family->set_targets(of_family, c->targets.columns, c->targets.n);
    }
    if (family->set_inputs != NULL)
        CLI_THEN(code, choose_inputs(c, family, of_family, chosen));
    return code;
}

void cli_fit_columns_free(cli_fit_columns *c) {
    cli_texts_free(&c->target_lists);
    cli_texts_free(&c->category_lists);
    cli_categories_free(&c->to_read);
    cli_named_columns_free(&c->targets);
    cli_named_columns_free(&c->categories);
}
