/* Reading DATA, and lists of columns. */
#include "input/data_files.h"

#include "output/progress.h"

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
static void apply_options(const cli_data_options *options, efface_load_options *load) {
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
    load->progress = cli_file_part;
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

int cli_find_data(const char *path) {
    return is_stdin(path) || access(path, F_OK) == 0 || errno != ENOENT
               ? CLI_DONE
               : cli_not_found("there is no file '%s'", path);
}

static int explain_error(const cli_data_options *options, const efface_error *error) {
    const int code = cli_report_error(error);
    if (error->status == EFFACE_E_FORMAT && error->column > 0)
        cli_say("%s", options->advice != NULL
                          ? options->advice
                          : "name columns that are not values with --id, --owner, --weight and "
                            "--label");
    return code;
}

int cli_load_data(const char *path, const cli_data_options *options, efface_load_options *load,
                  efface_data **data) {
    efface_error error;
    const int code = cli_find_data(path);
    if (code != CLI_DONE)
        return code;
    apply_options(options, load);
    return efface_data_load(path, load, data, &error) == EFFACE_OK ? CLI_DONE
                                                                   : explain_error(options, &error);
}

int cli_load_some(const char *path, const cli_data_options *options, efface_load_options *load,
                  efface_data **data, efface_error *why) {
    /* The library has no way to leave a column out, but owners and labels may be any texts. */
    const char **const places[] = {&load->owner_column, &load->label_column, &load->id_column};
    enum { N_PLACES = sizeof places / sizeof places[0] };
    static char numbers[N_PLACES][24];
    efface_error error;
    const int code = cli_find_data(path);
    why->status = EFFACE_OK;
    if (code != CLI_DONE)
        return code;
    apply_options(options, load);
    const bool again = cli_can_be_read_again(path);
    for (size_t i = 0; efface_data_load(path, load, data, &error) != EFFACE_OK; i++) {
        /* Numbers with a text among them are no column of texts. */
        if (error.column == why->column && why->status != EFFACE_OK)
            return cli_report_error(why);
        while (i < N_PLACES && *places[i] != NULL)
            i++;
        if (!again || error.status != EFFACE_E_FORMAT || error.column == 0 || i >= N_PLACES) {
            /* Texts that come twice make no ids, but nobody said that they were ids. */
            if (error.status == EFFACE_E_DUPLICATE && why->status != EFFACE_OK)
                return explain_error(options, why);
            return again ? cli_report_error(&error) : explain_error(options, &error);
        }
        *why = error;
        snprintf(numbers[i], sizeof numbers[i], "%" PRIu64, error.column);
        *places[i] = numbers[i];
    }
    return CLI_DONE;
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

double cli_column_offset(const cli_columns *columns, uint32_t column) {
    if (columns->store != NULL)
        return efface_store_offset(columns->store, column);
    const double *const offsets = columns->data != NULL
                                      ? efface_data_offsets(columns->data)
                                      : efface_predictor_offsets(columns->published);
    return offsets != NULL ? offsets[column] : 0.0;
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
    const bool ok = cli_read_whole(item, columns->n, first) &&
                    cli_read_whole(dash + 1, columns->n, last) && *first > 0 && *first <= *last;
    *dash = '-';
    return ok ? CLI_ONE : CLI_NONE;
}

/* Marks the columns of an item. */
static int choose_item(const cli_columns *columns, char *item, bool *chosen) {
    uint64_t first, last;
    const cli_found found = read_item(columns, item, &first, &last);
    if (found == CLI_SEVERAL)
        return cli_wrong(
            "--columns: several columns have the name '%s'; use their numbers, from 1 to %u", item,
            columns->n);
    if (found == CLI_NONE)
        return cli_wrong("--columns: there is no column '%s'; columns have names, or numbers from "
                         "1 to %u",
                         item, columns->n);
    for (uint64_t i = first - 1; i < last; i++) {
        if (chosen[i])
            return cli_wrong(
                "--columns: '%s' names a column that was named before; name each column once",
                item);
        chosen[i] = true;
    }
    return CLI_DONE;
}

int cli_read_columns(const char *list, const cli_columns *columns, uint32_t **out,
                     uint32_t *n_out) {
    char *const text = strdup(list), *rest = text;
    bool *const chosen = calloc(columns->n, sizeof *chosen);
    uint32_t *const numbers = malloc(columns->n * sizeof *numbers), n = 0;
    int code = text == NULL || chosen == NULL || numbers == NULL ? cli_out_of_memory() : CLI_DONE;
    while (code == CLI_DONE && rest != NULL)
        code = choose_item(columns, strsep(&rest, ","), chosen);
    for (uint32_t i = 0; code == CLI_DONE && i < columns->n; i++)
        if (chosen[i])
            numbers[n++] = i;
    free(text);
    free(chosen);
    if (code != CLI_DONE) {
        free(numbers);
        return code;
    }
    *n_out = n;
    *out = numbers;
    return CLI_DONE;
}
