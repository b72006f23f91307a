/* Reading DATA, and lists of columns. */
#include "input/data_files.h"

#include "one_more.h"
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
           options->label != NULL || options->header != 0 || options->ids != 0 ||
           options->ignored.n != 0;
}

void cli_data_options_free(cli_data_options *options) {
    cli_texts_free(&options->columns);
    cli_texts_free(&options->ignored);
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
    load->columns = options->columns.items;
    load->n_columns = options->columns.n;
    load->ignored = options->ignored.items;
    load->n_ignored = options->ignored.n;
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

/* ---- columns that are passed over */

static bool is_noted(const cli_skipped *skipped, uint32_t number) {
    for (size_t i = 0; i < skipped->n; i++)
        if (skipped->numbers[i] == number)
            return true;
    return false;
}

static void note_skipped(void *context, uint32_t number, const char *name) {
    cli_skipped *const s = context;
    if (is_noted(s, number))
        return;
    uint32_t *const numbers = cli_one_more(s->numbers, s->n, sizeof *numbers);
    if (numbers != NULL)
        s->numbers = numbers;
    char **const names = cli_one_more(s->names, s->n, sizeof *names);
    if (names != NULL)
        s->names = names;
    char *const copy = name != NULL ? strdup(name) : NULL;
    if (numbers == NULL || names == NULL || (name != NULL && copy == NULL)) {
        free(copy);
        s->failed = true;
        return;
    }
    numbers[s->n] = number;
    names[s->n++] = copy;
}

void cli_note_skipped(efface_load_options *load, cli_skipped *skipped) {
    load->skipped = note_skipped;
    load->skipped_context = skipped;
}

void cli_skipped_free(cli_skipped *skipped) {
    for (size_t i = 0; i < skipped->n; i++)
        free(skipped->names[i]);
    free(skipped->names);
    free(skipped->numbers);
    *skipped = (cli_skipped){.numbers = NULL};
}

void cli_list_skipped(const cli_skipped *skipped, char list[CLI_SKIPPED_LIST]) {
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < skipped->n; i++) {
        char number[32];
        const char *const before = i > 0 ? ", " : "";
        snprintf(number, sizeof number, "column %" PRIu32, skipped->numbers[i]);
        const char *const name = skipped->names[i] != NULL ? skipped->names[i] : number;
        if (used + strlen(name) + sizeof ", , ..." > CLI_SKIPPED_LIST) {
            (void)snprintf(list + used, CLI_SKIPPED_LIST - used, "%s...", before);
            return;
        }
        used += (size_t)snprintf(list + used, CLI_SKIPPED_LIST - used, "%s%s", before, name);
    }
}

/* ---- reading */

static int explain_error(const cli_data_options *options, const efface_error *error) {
    const int code = cli_report_error(error);
    if (error->status == EFFACE_E_FORMAT && error->column > 0)
        cli_say("%s", options->advice != NULL ? options->advice : CLI_NAME_COLUMNS);
    return code;
}

int cli_load_data(const char *path, const cli_data_options *options, efface_load_options *load,
                  efface_data **data) {
    efface_error error;
    const int code = cli_find_data(path);
    if (code != CLI_DONE)
        return code;
    apply_options(options, load);
    if (efface_data_load(path, load, data, &error) == EFFACE_OK)
        return CLI_DONE;
    /* A column that does not exist came from the command line. */
    return error.status == EFFACE_E_ARGUMENT ? cli_report_wrong(&error)
                                             : explain_error(options, &error);
}

efface_status cli_begin_like(const efface_data *set, efface_data **out, efface_error *error) {
    const uint32_t n = efface_data_n_columns(set);
    efface_status status = efface_data_create(n, out, error);
    if (status == EFFACE_OK)
        status = efface_data_set_offsets(*out, efface_data_offsets(set), error);
    if (status == EFFACE_OK)
        status = efface_data_set_types(*out, efface_data_types(set), error);
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

/* ---- columns by number */

uint64_t cli_column_number(const cli_columns *columns, uint32_t column) {
    uint64_t number = column + UINT64_C(1);
    for (size_t i = 0; columns->skipped != NULL && i < columns->skipped->n; i++)
        number += columns->skipped->numbers[i] <= number;
    return number;
}

bool cli_column_numbered(const cli_columns *columns, uint64_t number, uint32_t *column) {
    uint64_t before = 0;
    for (size_t i = 0; columns->skipped != NULL && i < columns->skipped->n; i++) {
        if (columns->skipped->numbers[i] == number)
            return false;
        before += columns->skipped->numbers[i] < number;
    }
    if (number == 0 || number - before > columns->n)
        return false;
    *column = (uint32_t)(number - before - 1);
    return true;
}

uint64_t cli_last_number(const cli_columns *columns) {
    return columns->n + (columns->skipped != NULL ? (uint64_t)columns->skipped->n : 0);
}

efface_category *cli_known_columns(const cli_columns *columns, const bool *wanted, size_t *n) {
    efface_category *const known = calloc(columns->n + (size_t)1, sizeof *known);
    *n = 0;
    for (uint32_t i = 0; known != NULL && i < columns->n; i++)
        if (wanted == NULL || wanted[i])
            known[(*n)++] =
                (efface_category){.column = cli_column_name(columns, i), .place = i + 1};
    return known;
}

/* ---- columns by name */

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
