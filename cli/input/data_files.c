/* Reading DATA, and lists of columns. */
#include "input/data_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const cli_header_words[] = {"detect", "yes", "no", NULL};
const char *const cli_ids_words[] = {"detect", "numbers", "text", NULL};

bool cli_data_options_given(const cli_data_options *options) {
    return options->id != NULL || options->owner != NULL || options->weight != NULL ||
           options->label != NULL || options->header != 0 || options->ids != 0;
}

/* A store may know which columns its rows came from; what the command line says goes before. */
static void apply(const cli_data_options *options, efface_load_options *load) {
    if (options->id != NULL)
        load->id_column = options->id;
    if (options->owner != NULL)
        load->owner_column = options->owner;
    if (options->weight != NULL)
        load->weight_column = options->weight;
    if (options->label != NULL)
        load->label_column = options->label;
    if (options->header != 0)
        load->header = (efface_header)options->header;
    if (options->ids != 0)
        load->ids = (efface_ids)options->ids;
}

static bool is_stdin(const char *path) {
    return strcmp(path, "-") == 0;
}

const char *cli_data_name(const char *path) {
    return is_stdin(path) ? "standard input" : path;
}

bool cli_can_be_read_again(const char *path) {
    struct stat about;
    return !is_stdin(path) && stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static bool find_file(const char *path, int *code) {
    if (is_stdin(path) || access(path, F_OK) == 0 || errno != ENOENT)
        return true;
    *code = cli_not_found("there is no file '%s'", path);
    return false;
}

static int explain(const cli_data_options *options, const efface_error *error) {
    const int code = cli_report_error(error);
    if (error->status == EFFACE_E_FORMAT && error->column > 0)
        cli_say("%s", options->advice != NULL
                          ? options->advice
                          : "name columns that are not values with --id, --owner, --weight and "
                            "--label");
    return code;
}

bool cli_load_data(const char *path, const cli_data_options *options, efface_load_options *load,
                   efface_data **data, int *code) {
    efface_error error;
    if (!find_file(path, code))
        return false;
    apply(options, load);
    if (efface_data_load(path, load, data, &error) == EFFACE_OK)
        return true;
    *code = explain(options, &error);
    return false;
}

bool cli_load_some(const char *path, const cli_data_options *options, efface_load_options *load,
                   efface_data **data, efface_error *why, int *code) {
    /* The library has no way to leave a column out, but owners and labels may be any texts. */
    const char **const places[] = {&load->owner_column, &load->label_column, &load->id_column};
    enum { N_PLACES = sizeof places / sizeof places[0] };
    static char numbers[N_PLACES][24];
    efface_error error;
    why->status = EFFACE_OK;
    if (!find_file(path, code))
        return false;
    apply(options, load);
    const bool again = cli_can_be_read_again(path);
    for (size_t i = 0; efface_data_load(path, load, data, &error) != EFFACE_OK; i++) {
        /* Numbers with a text among them are no column of texts. */
        if (error.column == why->column && why->status != EFFACE_OK) {
            *code = cli_report_error(why);
            return false;
        }
        while (i < N_PLACES && *places[i] != NULL)
            i++;
        if (!again || error.status != EFFACE_E_FORMAT || error.column == 0 || i >= N_PLACES) {
            /* Texts that come twice make no ids, but nobody said that they were ids. */
            const bool by_us = error.status == EFFACE_E_DUPLICATE && why->status != EFFACE_OK;
            *code = by_us   ? explain(options, why)
                    : again ? cli_report_error(&error)
                            : explain(options, &error);
            return false;
        }
        *why = error;
        snprintf(numbers[i], sizeof numbers[i], "%" PRIu64, error.column);
        *places[i] = numbers[i];
    }
    return true;
}

efface_status cli_begin_like(const efface_data *set, efface_data **out, efface_error *error) {
    const uint32_t n = efface_data_n_columns(set);
    efface_status status = efface_data_create(n, out, error);
    if (status == EFFACE_OK)
        status = efface_data_set_offsets(*out, efface_data_offsets(set), error);
    for (uint32_t i = 0; i < n && status == EFFACE_OK; i++)
        status = efface_data_name_column(*out, i, efface_data_column_name(set, i), error);
    return status;
}

uint32_t cli_chosen_column(const cli_chosen *chosen, uint32_t column) {
    return chosen->columns != NULL ? chosen->columns[column] : column;
}

const efface_data *cli_chosen_rows(const cli_chosen *chosen, efface_data **loaded) {
    if (chosen->of.data == NULL)
        (void)efface_store_load(chosen->of.store, NULL, loaded, NULL, NULL);
    return chosen->of.data != NULL ? chosen->of.data : *loaded;
}

const char *cli_column_name(const cli_columns *columns, uint32_t column) {
    if (columns->store != NULL)
        return efface_store_column(columns->store, column);
    return columns->data != NULL ? efface_data_column_name(columns->data, column)
                                 : efface_predictor_column(columns->published, column);
}

cli_found cli_find_column(const cli_columns *columns, const char *name, uint32_t *column) {
    cli_found found = CLI_NONE;
    for (uint32_t i = 0; i < columns->n; i++) {
        const char *const known = cli_column_name(columns, i);
        if (known == NULL || strcmp(known, name) != 0)
            continue;
        if (found == CLI_ONE)
            return CLI_SEVERAL;
        *column = i;
        found = CLI_ONE;
    }
    return found;
}

/* One item of a list, a name, a number or a range, as numbers from 1. */
static cli_found read_item(const cli_columns *columns, char *item, uint64_t *first,
                           uint64_t *last) {
    uint32_t column;
    const cli_found found = cli_find_column(columns, item, &column);
    if (found != CLI_NONE) {
        *first = *last = column + UINT64_C(1);
        return found;
    }
    if (cli_read_whole(item, columns->n, first)) {
        *last = *first;
        return *first > 0 ? CLI_ONE : CLI_NONE;
    }
    char *const dash = strchr(item, '-');
    if (dash == NULL)
        return CLI_NONE;
    *dash = '\0';
    const bool good = cli_read_whole(item, columns->n, first) &&
                      cli_read_whole(dash + 1, columns->n, last) && *first > 0 && *first <= *last;
    *dash = '-';
    return good ? CLI_ONE : CLI_NONE;
}

bool cli_read_columns(const char *list, const cli_columns *columns, uint32_t **out,
                      uint32_t *n_out) {
    char *const text = strdup(list);
    bool *const chosen = calloc(columns->n, sizeof *chosen);
    uint32_t *const numbers = malloc(columns->n * sizeof *numbers);
    bool good = false;
    if (text == NULL || chosen == NULL || numbers == NULL) {
        (void)cli_out_of_memory();
        goto out;
    }
    for (char *item = text, *next; item != NULL; item = next) {
        uint64_t first, last;
        next = strchr(item, ',');
        if (next != NULL)
            *next++ = '\0';
        const cli_found found = read_item(columns, item, &first, &last);
        if (found == CLI_SEVERAL) {
            (void)cli_wrong(
                "--columns: several columns have the name '%s'; use their numbers, from 1 to %u",
                item, columns->n);
            goto out;
        }
        if (found == CLI_NONE) {
            (void)cli_wrong("--columns: there is no column '%s'; columns have names, or numbers "
                            "from 1 to %u",
                            item, columns->n);
            goto out;
        }
        for (uint64_t i = first - 1; i < last; i++) {
            if (chosen[i]) {
                (void)cli_wrong(
                    "--columns: '%s' names a column that was named before; name each column once",
                    item);
                goto out;
            }
            chosen[i] = true;
        }
    }
    *n_out = 0;
    for (uint32_t i = 0; i < columns->n; i++)
        if (chosen[i])
            numbers[(*n_out)++] = i;
    *out = numbers;
    good = true;
out:
    free(text);
    free(chosen);
    if (!good)
        free(numbers);
    return good;
}
