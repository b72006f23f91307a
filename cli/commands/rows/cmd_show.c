/* efface show: what a store has of somebody. */
#include "commands/rows/listing.h"
#include "input/columns/typed_columns.h"
#include "input/secrets.h"
#include "input/wanted.h"
#include "models/answers/predictor_names.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row with the texts of its numbers. */
typedef struct shown_row {
    cli_token id, owner, label;
    char *texts[3]; /* that they point to */
    int64_t weight;
    size_t position;
} shown_row;

/* A model that has seen the rows, as all models of a store have, and its columns. */
typedef struct shown_model {
    efface_stored_model info;
    uint32_t *columns;
} shown_model;

typedef struct shown {
    const char *path;
    efface_store_info info;
    efface_data *data;
    float *values; /* room for a row */
    shown_row *rows;
    size_t n_rows;
    shown_model *models;
    size_t n_models;
    bool *are_categories; /* by column, for some model */
    bool unknown_texts;   /* a number is shown that may stand for a text */
} shown;

static int find_text(efface_store *store, efface_text_kind kind, uint64_t number,
                     const cli_wanted *wanted, shown *s, cli_token *token, char **copy) {
    const char *const given = kind != EFFACE_TEXT_LABEL ? cli_wanted_text(wanted, number) : NULL;
    char *text = NULL;
    efface_error error;
    if (efface_store_text(store, kind, number, &text, &error) != EFFACE_OK)
        return cli_report_error(&error);
    token->number = number;
    if (text != NULL || given != NULL) {
        token->text = *copy = strdup(text != NULL ? text : given);
        efface_text_free(text);
        return *copy != NULL ? CLI_DONE : cli_out_of_memory();
    }
    if (kind != EFFACE_TEXT_LABEL && !cli_wanted_has(wanted, number))
        s->unknown_texts = true;
    token->of_text = (kind == EFFACE_TEXT_ID && s->info.ids == EFFACE_IDS_TEXT) ||
                     (kind == EFFACE_TEXT_OWNER && s->info.owners == EFFACE_IDS_TEXT);
    return CLI_DONE;
}

static int compare_shown(const void *a, const void *b) {
    const uint64_t x = ((const shown_row *)a)->id.number, y = ((const shown_row *)b)->id.number;
    return (x > y) - (x < y);
}

static int read_shown_rows(efface_store *store, const cli_wanted *wanted, shown *s) {
    const efface_request request = cli_wanted_request(wanted, EFFACE_MISSING_FAIL);
    efface_error error;
    const efface_status status = efface_store_find(store, &request, &s->data, &error);
    if (status == EFFACE_E_NOT_FOUND)
        return cli_wanted_missing(wanted, store, &error, "", "");
    if (status != EFFACE_OK)
        return cli_report_error(&error);
    const size_t n = efface_data_n_rows(s->data);
    s->rows = calloc(n + 1, sizeof *s->rows);
    s->values = malloc(efface_data_n_columns(s->data) * sizeof *s->values);
    if (s->rows == NULL || s->values == NULL)
        return cli_out_of_memory();
    for (s->n_rows = 0; s->n_rows < n;) {
        shown_row *const to = &s->rows[s->n_rows];
        const efface_row row = efface_data_row(s->data, s->n_rows);
        to->position = s->n_rows++;
        to->weight = row.weight;
        to->owner.none = row.owner == EFFACE_NO_OWNER;
        to->label.none = row.label == EFFACE_NO_LABEL;
        to->label.is_signed = true;
        int code = find_text(store, EFFACE_TEXT_ID, row.id, wanted, s, &to->id, &to->texts[0]);
        if (code == CLI_DONE && !to->owner.none)
            code = find_text(store, EFFACE_TEXT_OWNER, row.owner, wanted, s, &to->owner,
                             &to->texts[1]);
        if (code == CLI_DONE && !to->label.none)
            code = find_text(store, EFFACE_TEXT_LABEL, (uint64_t)row.label, wanted, s, &to->label,
                             &to->texts[2]);
        if (code != CLI_DONE)
            return code;
    }
    qsort(s->rows, s->n_rows, sizeof *s->rows, compare_shown);
    return CLI_DONE;
}

static int read_models(efface_store *store, shown *s) {
    efface_stored_model *models;
    efface_error error;
    size_t n;
    if (efface_store_get_info(store, &s->info, &error) != EFFACE_OK)
        return cli_report_error(&error);
    int code = cli_list_models(store, NULL, &models, &n);
    s->models = calloc(n + 1, sizeof *s->models);
    if (code == CLI_DONE && s->models == NULL)
        code = cli_out_of_memory();
    for (size_t i = 0; i < n && code == CLI_DONE; i++) {
        s->models[i].info = models[i];
        s->n_models = i + 1;
        code = cli_outcome(
            efface_store_model_columns(store, models[i].name, &s->models[i].columns, &error),
            &error);
    }
    free(models);
    return code;
}

static int read_categories(const efface_store *store, shown *s) {
    efface_load_options options;
    const uint32_t n = s->info.n_columns;
    s->are_categories = calloc(n + 1, sizeof *s->are_categories);
    if (s->are_categories == NULL)
        return cli_out_of_memory();
    efface_store_load_options(store, &options);
    for (size_t i = 0; i < options.n_categories; i++)
        if (options.categories[i].place >= 1 && options.categories[i].place <= n)
            s->are_categories[options.categories[i].place - 1] = true;
    cli_wipe(&options, sizeof options);
    return CLI_DONE;
}

/* Whether the number of a row stands for a text (efface_text_category). */
static bool is_text(const shown *s, uint32_t column) {
    return s->are_categories[column] && fabsf(s->values[column]) >= 0x1p64F;
}

static void free_shown(shown *s) {
    for (size_t i = 0; i < s->n_rows; i++)
        for (int j = 0; j < 3; j++)
            free(s->rows[i].texts[j]);
    for (size_t i = 0; i < s->n_models; i++)
        efface_columns_free(s->models[i].columns);
    free(s->rows);
    free(s->models);
    free(s->values);
    free(s->are_categories);
    efface_data_free(s->data);
}

static const char *column_name(const shown *s, uint32_t column, char made_up[CLI_MADE_UP]) {
    return cli_named_column(&(cli_named_predictor){.data = s->data}, column, made_up);
}

/* The value of a column as a file has it, or nothing if it is missing. False: it is a number. */
static bool format_shown(char text[EFFACE_TYPE_TEXT], const shown *s, uint32_t column) {
    const cli_columns columns = {.data = s->data};
    const efface_column_type type = cli_column_type(&columns, column);
    const double offset = cli_column_offset(&columns, column);
    if (efface_type_write(type, s->values[column], offset, text))
        return true;
    cli_format_value(text, s->values[column], offset);
    return false;
}

/* The same where commas are written. */
static void format_as_read(char text[EFFACE_TYPE_TEXT], const shown *s, uint32_t column) {
    const bool is_number = !format_shown(text, s, column);
    char *const point = strchr(text, '.');
    if (is_number && point != NULL &&
        cli_column_type(&(cli_columns){.data = s->data}, column) == EFFACE_TYPE_COMMA)
        *point = ',';
}

static void write_csv_rows(FILE *out, const void *what) {
    const shown *const s = what;
    const uint32_t n = efface_data_n_columns(s->data);
    char made_up[CLI_MADE_UP], digits[EFFACE_TYPE_TEXT];
    fputs("id,owner,weight,label", out);
    for (uint32_t j = 0; j < n; j++) {
        fputc(',', out);
        cli_csv_text(out, column_name(s, j, made_up));
    }
    fputc('\n', out);
    for (size_t i = 0; i < s->n_rows; i++) {
        const shown_row *const row = &s->rows[i];
        cli_csv_token(out, &row->id);
        fputc(',', out);
        cli_csv_token(out, &row->owner);
        fprintf(out, ",%" PRId64 ",", row->weight);
        cli_csv_token(out, &row->label);
        efface_data_values(s->data, row->position, s->values);
        for (uint32_t j = 0; j < n; j++) {
            format_as_read(digits, s, j);
            fputc(',', out);
            cli_csv_text(out, digits);
        }
        fputc('\n', out);
    }
}

static void write_models(cli_json *json, const shown *s) {
    char made_up[CLI_MADE_UP];
    cli_json_open(json, "models", '[');
    for (size_t i = 0; i < s->n_models; i++) {
        const shown_model *const model = &s->models[i];
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", model->info.name);
        cli_json_text(json, "kind", model->info.kind);
        cli_json_open(json, "columns", '[');
        for (uint32_t j = 0; j < model->info.n_columns; j++)
            cli_json_text(json, NULL, column_name(s, model->columns[j], made_up));
        cli_json_close(json);
        cli_json_close(json);
    }
    cli_json_close(json);
}

static void write_json_rows(FILE *out, const void *what) {
    const shown *const s = what;
    const uint32_t n = efface_data_n_columns(s->data);
    cli_json json = cli_json_object(out);
    char made_up[CLI_MADE_UP], digits[EFFACE_TYPE_TEXT];
    cli_json_text(&json, "store", s->path);
    cli_json_bool(&json, "keeps_texts", s->info.keeps_texts != 0);
    cli_json_open(&json, "columns", '[');
    for (uint32_t j = 0; j < n; j++)
        cli_json_text(&json, NULL, column_name(s, j, made_up));
    cli_json_close(&json);
    write_models(&json, s);
    cli_json_open(&json, "rows", '[');
    for (size_t i = 0; i < s->n_rows; i++) {
        const shown_row *const row = &s->rows[i];
        cli_json_line(&json);
        cli_json_open(&json, NULL, '{');
        cli_json_token(&json, "id", &row->id);
        cli_json_token(&json, "owner", &row->owner);
        cli_json_whole(&json, "weight", (uint64_t)row->weight);
        cli_json_token(&json, "label", &row->label);
        cli_json_open(&json, "values", '[');
        efface_data_values(s->data, row->position, s->values);
        for (uint32_t j = 0; j < n; j++) {
            const bool is_text = format_shown(digits, s, j);
            if (is_text && digits[0] != 't' && digits[0] != 'f')
                cli_json_text(&json, NULL, digits);
            else
                cli_json_raw(&json, NULL, digits[0] != '\0' ? digits : "null");
        }
        cli_json_close(&json);
        cli_json_close(&json);
    }
    cli_json_close_all(&json);
}

static void print_models(FILE *out, const shown *s) {
    enum { MAX_NAMES = 8 };
    char made_up[CLI_MADE_UP];
    fputs(s->n_models == 0 ? "no model uses them\n" : "models that use them:\n", out);
    for (size_t i = 0; i < s->n_models; i++) {
        const shown_model *const model = &s->models[i];
        fprintf(out, "  %s: %s, ", model->info.name, model->info.kind);
        if (model->info.n_columns == s->info.n_columns)
            fputs("all columns", out);
        for (uint32_t j = 0; j < model->info.n_columns && j <= MAX_NAMES &&
                             model->info.n_columns < s->info.n_columns;
             j++) {
            fputs(j == 0 ? "columns " : ", ", out);
            cli_put_text(out, j < MAX_NAMES ? column_name(s, model->columns[j], made_up) : "...");
        }
        fputc('\n', out);
    }
}

static void write_text_rows(FILE *out, const void *what) {
    const shown *const s = what;
    const uint32_t n = efface_data_n_columns(s->data);
    char made_up[CLI_MADE_UP], digits[EFFACE_TYPE_TEXT];
    fprintf(out, "%zu row%s\n", s->n_rows, s->n_rows == 1 ? "" : "s");
    for (size_t i = 0; i < s->n_rows; i++) {
        const shown_row *const row = &s->rows[i];
        fputs("row ", out);
        cli_put_token(out, &row->id, "");
        fputs(row->owner.none ? ": no owner" : ": owner ", out);
        cli_put_token(out, &row->owner, "");
        fprintf(out, ", weight %" PRId64, row->weight);
        fputs(row->label.none ? ", no class" : ", class ", out);
        cli_put_token(out, &row->label, "");
        fputc('\n', out);
        efface_data_values(s->data, row->position, s->values);
        for (uint32_t j = 0; j < n; j++) {
            fputs("  ", out);
            cli_put_text(out, column_name(s, j, made_up));
            format_as_read(digits, s, j);
            fprintf(out, " %s%s\n", digits[0] != '\0' ? digits : "missing",
                    is_text(s, j) ? " (stands for a text)" : "");
        }
    }
    print_models(out, s);
}

/* A CSV file has the rows only; which models saw them is then printed. */
static void print_summary(const cli_listing *l, const shown *s) {
    if (l->json) {
        cli_json json = cli_json_object(stdout);
        cli_json_whole(&json, "rows", s->n_rows);
        cli_json_text(&json, "file", l->out_path);
        cli_json_text(&json, "format", cli_form_words[l->form]);
        write_models(&json, s);
        cli_json_close(&json);
        return;
    }
    printf("%zu row%s in ", s->n_rows, s->n_rows == 1 ? "" : "s");
    cli_put_text(stdout, l->out_path);
    putchar('\n');
    print_models(stdout, s);
}

static int write_shown(const cli_listing *l, const shown *s) {
    const int code = cli_write_listing(l, s, write_text_rows, write_csv_rows, write_json_rows);
    if (code != CLI_DONE)
        return code;
    if (!cli_is_stdout(l->out_path))
        print_summary(l, s);
    if (s->unknown_texts && !s->info.keeps_texts)
        cli_say_no_texts(&s->info);
    return CLI_DONE;
}

static int show_rows(const cli_listing *l, const cli_who *who, shown *s) {
    efface_store *store = NULL;
    cli_wanted wanted = {.named = NULL};
    int code = cli_open_store(s->path, &l->open, &store);
    CLI_THEN(code, cli_read_who(who, store, &wanted));
    CLI_THEN(code, read_models(store, s));
    CLI_THEN(code, read_categories(store, s));
    CLI_THEN(code, read_shown_rows(store, &wanted, s));
    efface_store_close(store);
    CLI_THEN(code, write_shown(l, s));
    cli_wanted_free(&wanted);
    return code;
}

static int run_show(int n_arguments, char **arguments) {
    cli_listing listing = CLI_LISTING_DEFAULTS;
    cli_who who = {.ids = {NULL, 0}};
    shown s = {.path = NULL};
    const cli_option options[] = {
        CLI_WHO_OPTIONS(who),
        CLI_LISTING_OPTIONS(s.path, listing),
        {NULL, CLI_FLAG, NULL, NULL},
    };
    int code = cli_parse("show", options, n_arguments, arguments);
    CLI_THEN(code, cli_choose_form(&listing));
    if (code == CLI_DONE && !cli_who_given(&who))
        code = cli_wrong("show needs --id, --key, --owner or --from to say which rows to show");
    CLI_THEN(code, show_rows(&listing, &who, &s));
    free_shown(&s);
    cli_who_free(&who);
    return code;
}

const cli_command cli_show = {
    "show",
    "show the rows of a person, and the models that use them",
    "usage: efface show STORE (--id X | --key TEXT | --owner X | --from FILE)\n"
    "           [-o FILE] [OPTIONS]\n"
    "Shows the data of a person: the rows with the names of columns, owner, weight\n"
    "and class, and the models that use them. You can repeat and combine the options\n"
    "that name rows. Ids and owners that are texts are shown as texts if the store\n"
    "keeps texts (fit --keep-texts) or if you name them here; else as number:N.\n" CLI_WHO_HELP
    "  -o FILE              write the rows to FILE.csv or FILE.json; - is standard\n"
    "                       output\n"
    "  --format text|csv|json   the format, if the name of FILE does not show it\n"
    "  --wait SECONDS       how long to wait for a busy store (5)\n"
    "  --json               as JSON: columns, models, and rows with id, owner,\n"
    "                       weight, label and values\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 not found, 5 busy, 6 damaged.\n"
    "examples: efface show people.store --owner p123\n"
    "          efface show people.store --owner p123 -o p123.csv\n",
    .run = run_show,
};
