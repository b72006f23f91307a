/* The types of columns on the command line. */
#include "input/columns/typed_columns.h"

#include <stdlib.h>
#include <string.h>

const char *const cli_type_words[] = {"number", "truth", "date", "time", "comma", NULL};

/* Names may have a sign of equality, types have none: the last one counts. */
static int read_type(const char *text, cli_types *types) {
    const char *const equals = strrchr(text, '=');
    int type = 0;
    while (equals != NULL && cli_type_words[type] != NULL &&
           strcmp(equals + 1, cli_type_words[type]) != 0)
        type++;
    if (equals == NULL || equals == text || cli_type_words[type] == NULL)
        return cli_wrong("--type cannot be '%s': it must be COLUMN=TYPE, and the type number, "
                         "truth, date, time or comma",
                         text);
    char *const name = strndup(text, (size_t)(equals - text));
    if (name == NULL)
        return cli_out_of_memory();
    types->names[types->n] = name;
    types->items[types->n++] =
        (efface_typed_column){.column = name, .type = (efface_column_type)type};
    return CLI_DONE;
}

int cli_read_types(const cli_texts *texts, cli_types *types) {
    *types = (cli_types){.items = calloc(texts->n + 1, sizeof *types->items),
                         .names = calloc(texts->n + 1, sizeof *types->names)};
    int code = types->items != NULL && types->names != NULL ? CLI_DONE : cli_out_of_memory();
    for (size_t i = 0; i < texts->n && code == CLI_DONE; i++)
        code = read_type(texts->items[i], types);
    return code;
}

void cli_types_free(cli_types *types) {
    for (size_t i = 0; i < types->n; i++)
        free(types->names[i]);
    free(types->names);
    free(types->items);
    *types = (cli_types){.items = NULL};
}

efface_column_type cli_column_type(const cli_columns *columns, uint32_t column) {
    if (columns->store != NULL)
        return efface_store_type(columns->store, column);
    const efface_column_type *const types =
        columns->data != NULL ? efface_data_types(columns->data) : NULL;
    return types != NULL ? types[column] : EFFACE_TYPE_NUMBER;
}
