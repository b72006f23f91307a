/* Columns whose values are categories, as --categories names them. */
#include "input/columns/category_columns.h"

#include <stdlib.h>
#include <string.h>

/* ---- to read a file with */

int cli_read_categories(const cli_texts *lists, cli_categories *categories) {
    size_t n_bytes = 1; /* and so no more items */
    for (size_t i = 0; i < lists->n; i++)
        n_bytes += strlen(lists->items[i]) + 1;
    *categories = (cli_categories){.items = calloc(n_bytes, sizeof *categories->items),
                                   .names = malloc(n_bytes)};
    if (categories->items == NULL || categories->names == NULL)
        return cli_out_of_memory();
    char *to = categories->names;
    for (size_t i = 0; i < lists->n; i++) {
        strcpy(to, lists->items[i]);
        for (char *rest = to, *item; (item = strsep(&rest, ",")) != NULL;) {
            if (*item == '\0')
                return cli_wrong("--categories cannot be '%s': it must be a list of columns, such "
                                 "as city,7",
                                 lists->items[i]);
            categories->items[categories->n++] = (efface_category){.column = item};
        }
        to += strlen(lists->items[i]) + 1;
    }
    return CLI_DONE;
}

int cli_published_categories(const efface_predictor *published, cli_categories *categories) {
    const uint32_t n = efface_predictor_get_info(published).n_columns;
    *categories = (cli_categories){.items = calloc(n + (size_t)1, sizeof *categories->items)};
    if (categories->items == NULL)
        return cli_out_of_memory();
    for (uint32_t j = 0; j < n; j++)
        if (efface_predictor_is_category(published, j))
            categories->items[categories->n++] =
                (efface_category){.column = efface_predictor_column(published, j), .place = j + 1};
    return CLI_DONE;
}

void cli_categories_free(cli_categories *categories) {
    free(categories->items);
    free(categories->names);
    *categories = (cli_categories){.items = NULL};
}

/* ---- of a model */

/* The number of a column of all among those of the model; n_columns if it is none of them. */
static uint32_t place_in_model(const cli_chosen *chosen, uint32_t column) {
    uint32_t i = 0;
    while (i < chosen->n_columns && chosen->columns[i] != column)
        i++;
    return i;
}

static int compare_columns(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* From columns of all to columns of the model, in ascending order. */
static void keep_chosen(const cli_chosen *chosen, cli_named_columns *categories) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < categories->n && chosen->columns != NULL; i++) {
        const uint32_t place = place_in_model(chosen, categories->columns[i]);
        if (place < chosen->n_columns)
            categories->columns[n++] = place;
    }
    categories->n = chosen->columns != NULL ? n : categories->n;
    qsort(categories->columns, categories->n, sizeof *categories->columns, compare_columns);
}

int cli_find_categories(const cli_texts *lists, const cli_chosen *chosen,
                        cli_named_columns *categories) {
    const int code = cli_find_named("--categories", lists, &chosen->of, categories);
    if (code == CLI_DONE)
        keep_chosen(chosen, categories);
    return code;
}

int cli_stored_categories(const efface_load_options *of_store, const cli_chosen *chosen,
                          cli_named_columns *categories) {
    *categories =
        (cli_named_columns){.columns = calloc(of_store->n_categories + 1, sizeof(uint32_t))};
    if (categories->columns == NULL)
        return cli_out_of_memory();
    for (size_t i = 0; i < of_store->n_categories; i++)
        categories->columns[categories->n++] = of_store->categories[i].place - 1;
    keep_chosen(chosen, categories);
    return CLI_DONE;
}
