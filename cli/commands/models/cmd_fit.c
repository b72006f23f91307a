/* efface fit: a new store with a model, or one more model in a store. What only one family has is
 * in its own file. */
#include "commands/models/fit_columns.h"
#include "input/columns/column_offsets.h"
#include "input/columns/typed_columns.h"
#include "input/part_files.h"
#include "input/secrets.h"
#include "input/stores.h"
#include "ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct choices {
    const char *store_path, *name, *like;
    const cli_family *family;
    void *of_family; /* what the command line says of the family's parameters */
    uint32_t n_threads;
    bool keep_texts;
    cli_open open;
    cli_number seed;
    cli_texts data_paths, offset_texts, type_texts;
    cli_fit_columns columns;
    cli_offsets offsets;
    cli_types types;
    cli_data_options data;
    cli_skipped skipped;
    efface_params *params;  /* a part of of_family */
    efface_new_model asked; /* without its columns */
    efface_model *model;    /* that was fitted */
    bool json;
} choices;

/* The name of the family among the arguments, or NULL. The options depend on it, so it is looked
 * for before they are read. */
static const char *find_family(int n_arguments, char **arguments) {
    static const char option[] = "--family";
    const size_t n = sizeof option - 1;
    const char *found = NULL;
    for (int i = 0; i < n_arguments && strcmp(arguments[i], "--") != 0; i++) {
        if (strcmp(arguments[i], option) == 0 && i + 1 < n_arguments)
            found = arguments[++i];
        else if (strncmp(arguments[i], option, n) == 0 && arguments[i][n] == '=')
            found = arguments[i] + n + 1;
    }
    return found;
}

static int begin_family(choices *c, const char *name, cli_option **options) {
    c->family = cli_family_named(name);
    if (c->family == NULL)
        return CLI_USAGE;
    c->of_family = calloc(1, c->family->n_bytes);
    if (c->of_family == NULL)
        return cli_out_of_memory();
    *options = c->family->begin(c->of_family, c->family->preset);
    return CLI_DONE;
}

static int read_arguments(choices *c, int n_arguments, char **arguments) {
    const char *name = find_family(n_arguments, arguments);
    char command[64] = "fit";
    cli_option *of_family = NULL;
    const int code = begin_family(c, name, &of_family);
    if (code != CLI_DONE)
        return code;
    const cli_option options[] = {
        {"DATA", CLI_PLACES, &c->data_paths, NULL},
        {"-o", CLI_TEXT, &c->store_path, NULL},
        {"--family", CLI_TEXT, &name, NULL},
        {"--model", CLI_TEXT, &c->name, NULL},
        {"--seed", CLI_NUMBER, &c->seed, NULL},
        {"--offset", CLI_TEXTS, &c->offset_texts, NULL},
        {"--type", CLI_TEXTS, &c->type_texts, NULL},
        {"--threads", CLI_COUNT, &c->n_threads, NULL},
        {"--like", CLI_TEXT, &c->like, NULL},
        {"--keep-texts", CLI_FLAG, &c->keep_texts, NULL},
        {"--sign", CLI_TEXT, &c->open.sign, NULL},
        {"--receipt-key", CLI_TEXT, &c->open.receipt_key, NULL},
        {"--opening", CLI_TEXT, &c->open.opening, NULL},
        {"--wait", CLI_SECONDS, &c->open.wait, NULL},
        {"--json", CLI_FLAG, &c->json, NULL},
        CLI_FIT_COLUMNS_OPTIONS(c->columns),
        CLI_DATA_OPTIONS(c->data),
        {"", CLI_MORE, of_family, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    if (name != NULL)
        (void)snprintf(command, sizeof command, "fit --family %s", c->family->name);
    return cli_parse(command, options, n_arguments, arguments);
}

static int read_fit_choices(choices *c, int n_arguments, char **arguments) {
    int code = read_arguments(c, n_arguments, arguments);
    CLI_THEN(code, cli_check_fit_columns(&c->columns, c->family, c->data_paths.n > 0, &c->data));
    if (code != CLI_DONE)
        return code;
    if (c->family->is_alone && cli_group() != NULL)
        return cli_wrong("models of the family %s are of one machine: fit them with efface, in a "
                         "store that is one file",
                         c->family->name);
    /* Of ranks, some may not see a file. Where one looks for all, a file that is missing is said
     * before options that are. */
    for (size_t i = 0; cli_group() == NULL && i < c->data_paths.n; i++)
        CLI_THEN(code, cli_find_data(c->data_paths.items[i]));
    CLI_THEN(code, c->family->ask(c->of_family, &c->asked));
    if (code != CLI_DONE)
        return code;
    c->params = c->of_family;
    if (c->n_threads != 0)
        c->params->n_threads = c->n_threads;
    if (c->store_path == NULL)
        return cli_wrong("fit needs -o STORE: a new store for DATA, or with --model NAME one that "
                         "gets a model more");
    if (c->data_paths.n == 0 && (cli_data_options_given(&c->data) || c->like != NULL ||
                                 c->keep_texts || c->offset_texts.n != 0 || c->type_texts.n != 0))
        return cli_wrong(
            "without DATA, fit adds a model to a store whose rows are there already: leave out "
            "--id, --owner, --weight, --label, --ignore, --header, --ids, --like, --offset, "
            "--type and --keep-texts");
    CLI_THEN(code, cli_read_types(&c->type_texts, &c->types));
    CLI_THEN(code, cli_read_offsets(&c->offset_texts, &c->offsets));
    return code;
}

static efface_new_model model_of(const choices *c, const cli_chosen *chosen) {
    efface_new_model asked = c->asked;
    asked.name = c->name;
    asked.params = c->params;
    asked.columns = chosen->columns;
    asked.n_columns = chosen->n_columns;
    return asked;
}

static void say_cost(const choices *c, uint64_t n_rows, const cli_chosen *chosen) {
    if (c->family->say_cost != NULL)
        c->family->say_cost(c->of_family, n_rows,
                            chosen->columns != NULL ? chosen->n_columns : chosen->of.n);
}

/* Reads the hash key of another store. Ranks look at their parts of a store in parts together, but
 * rank 0 alone at one that is a file. */
static int copy_hash_key(const choices *c, bool alone, efface_load_options *load) {
    const cli_open how = {.access = EFFACE_ACCESS_READ, .wait = c->open.wait, .alone = alone};
    efface_store *other = NULL;
    efface_load_options known;
    if (alone && !cli_is_first())
        return CLI_DONE;
    const int code = cli_open_store(c->like, &how, &other);
    if (code != CLI_DONE)
        return code;
    efface_store_load_options(other, &known);
    memcpy(load->hash_key, known.hash_key, sizeof load->hash_key);
    cli_wipe(&known, sizeof known);
    efface_store_close(other);
    return CLI_DONE;
}

/* A hash key of its own or, with --like, that of another store: ids that are texts are then the
 * same in both, without which two stores of the same rows could not be compared. */
static int choose_hash_key(const choices *c, efface_load_options *load) {
    if (c->like == NULL)
        return cli_shared_random(load->hash_key, sizeof load->hash_key);
    bool alone = cli_is_file(c->like);
    int code = cli_share(&alone, sizeof alone);
    CLI_THEN(code, copy_hash_key(c, alone, load));
    CLI_THEN(code, cli_share(load->hash_key, sizeof load->hash_key));
    return code;
}

/* Makes the store with its model: the library sees to it that there is all of it or nothing. */
static int create_store(choices *c, const efface_load_options *load, const efface_data *data,
                        const cli_chosen *chosen, efface_store **store) {
    efface_store_options options;
    efface_error error;
    cli_keys keys;
    int code = cli_store_options(&c->open, &options, &keys);
    if (code == CLI_DONE) {
        efface_new_model model = model_of(c, chosen);
        model.fitted = &c->model;
        memcpy(options.hash_key, load->hash_key, sizeof options.hash_key);
        options.keep_texts = c->keep_texts;
        say_cost(c, efface_data_n_rows(data), chosen);
        cli_progress_begin("fitting");
        cli_watch_fit(c->params);
        /* Parameters and names that the library refuses came from the command line. */
        if (efface_store_create(c->store_path, data, load->texts, &options, &model, 1, store,
                                &error) != EFFACE_OK)
            code = cli_report_wrong(&error);
        cli_progress_end();
        cli_wipe(&options, sizeof options);
    }
    cli_wipe(&keys, sizeof keys);
    return code;
}

static int load_once(choices *c, efface_load_options *options, efface_data **data) {
    options->offsets = c->offsets.items;
    options->n_offsets = c->offsets.n;
    options->types = c->types.items;
    options->n_types = c->types.n;
    options->missing = c->columns.missing;
    options->categories = c->columns.to_read.items;
    options->n_categories = c->columns.to_read.n;
    cli_note_skipped(options, &c->skipped);
    cli_progress_begin("reading");
    const int code = cli_load_parts(&c->data_paths, &c->data, options, data);
    cli_progress_end();
    return code == CLI_DONE && c->skipped.failed ? cli_out_of_memory() : code;
}

static cli_columns columns_of(const choices *c, const efface_data *data) {
    return (cli_columns){.n = efface_data_n_columns(data), .data = data, .skipped = &c->skipped};
}

/* Reads DATA and, with --offset auto, once more with the offsets that it needs. */
static int load_shifted(choices *c, efface_load_options *options, efface_data **data) {
    const size_t n_given = c->offsets.n;
    if (c->offsets.propose && (c->data_paths.n > 1 || cli_group() != NULL))
        return cli_wrong("--offset auto looks at all rows of one file: give the offsets");
    int code = load_once(c, options, data);
    if (code != CLI_DONE || !c->offsets.propose)
        return code;
    if (!cli_can_be_read_again(c->data_paths.items[0]))
        return cli_wrong("--offset auto reads DATA twice, but a pipe can be read only once: give "
                         "the offsets, or a file");
    const cli_columns columns = columns_of(c, *data);
    code = cli_propose_offsets(&columns, options->rounding, &c->offsets);
    if (code != CLI_DONE || c->offsets.n == n_given)
        return code;
    efface_data_free(*data);
    *data = NULL;
    return load_once(c, options, data);
}

/* Says that the store keeps only numbers for ids or owners that were texts. */
static void note_texts(const efface_data *data, const efface_texts *texts) {
    for (size_t i = 0; i < efface_data_n_rows(data); i++) {
        const efface_row row = efface_data_row(data, i);
        if (efface_texts_find(texts, EFFACE_TEXT_ID, row.id) != NULL ||
            efface_texts_find(texts, EFFACE_TEXT_OWNER, row.owner) != NULL) {
            cli_say(
                "ids and owners are stored as numbers only; --keep-texts keeps their texts too");
            return;
        }
    }
}

static int make_store(choices *c, efface_store **store) {
    efface_load_options options;
    efface_data *data = NULL;
    efface_error error;
    cli_chosen chosen = {.columns = NULL};
    efface_load_options_init(&options);
    int code = choose_hash_key(c, &options);
    CLI_THEN(code, cli_outcome(efface_texts_create(&options.texts, &error), &error));
    CLI_THEN(code, cli_outcome(efface_rounding_create(&options.rounding, &error), &error));
    CLI_THEN(code, load_shifted(c, &options, &data));
    if (code == CLI_DONE)
        chosen.of = columns_of(c, data);
    CLI_THEN(code, cli_choose_fit_columns(&c->columns, c->family, c->of_family, &chosen));
    CLI_THEN(code, create_store(c, &options, data, &chosen, store));
    if (code == CLI_DONE) {
        cli_warn_rounding(&chosen.of, options.rounding);
        chosen.of.store = *store;
        if (c->family->warn != NULL)
            c->family->warn(c->of_family, c->model, &chosen);
        if (!c->keep_texts)
            note_texts(data, options.texts);
    }
    free(chosen.columns);
    efface_data_free(data);
    efface_texts_free(options.texts);
    efface_rounding_free(options.rounding);
    cli_wipe(&options, sizeof options);
    return code;
}

static int add_model(choices *c, efface_store **store) {
    efface_store_info info;
    efface_error error;
    cli_chosen chosen = {.columns = NULL};
    int code = cli_open_store(c->store_path, &c->open, store);
    CLI_THEN(code, cli_outcome(efface_store_get_info(*store, &info, &error), &error));
    if (code != CLI_DONE)
        return code;
    if (cli_fit_has_classes(&c->columns, c->family) && info.n_labels == 0 && info.n_rows > 0)
        return cli_failed("the rows of %s have no labels, so there are no classes; labels come "
                          "from the column that --class names when a store is created",
                          c->store_path);
    chosen.of = (cli_columns){.n = info.n_columns, .store = *store};
    code = cli_choose_fit_columns(&c->columns, c->family, c->of_family, &chosen);
    if (code == CLI_DONE) {
        const efface_new_model asked = model_of(c, &chosen);
        say_cost(c, info.n_rows, &chosen);
        cli_progress_begin("fitting");
        cli_watch_fit(c->params);
        if (efface_store_fit(*store, &asked, &c->model, &error) != EFFACE_OK)
            code = cli_report_wrong(&error);
        cli_progress_end();
    }
    if (code == CLI_DONE && c->family->warn != NULL)
        c->family->warn(c->of_family, c->model, &chosen);
    free(chosen.columns);
    return code;
}

/* What was made, once it is known. */
typedef struct result {
    efface_store_info store;
    efface_stored_model model;
    cli_facts facts;
    const char *note; /* or NULL */
    double seconds;
} result;

static void print_text_fit(const choices *c, const result *r) {
    cli_put_text(stdout, c->store_path);
    printf(": %" PRIu64 " row%s, %" PRIu32 " column%s; model %s: %s; %.3f s\n", r->store.n_rows,
           r->store.n_rows == 1 ? "" : "s", r->store.n_columns, r->store.n_columns == 1 ? "" : "s",
           r->model.name, r->model.kind, r->seconds);
    cli_put_facts(stdout, "", &r->facts, CLI_GIVEN_PARAMETERS);
    if (r->note != NULL)
        puts(r->note);
    printf("digest %s\n", cli_hex_of(r->model.digest).text);
}

static void print_json_fit(const choices *c, const result *r) {
    cli_json json = cli_json_object(stdout);
    cli_json_text(&json, "store", c->store_path);
    cli_json_whole(&json, "rows", r->store.n_rows);
    cli_json_whole(&json, "dim", r->store.n_columns);
    cli_json_open(&json, "model", '{');
    cli_json_model(&json, &r->model, &r->facts);
    cli_json_close(&json);
    cli_json_open(&json, "fitted", '{');
    cli_json_facts(&json, &r->facts, false);
    cli_json_close(&json);
    cli_json_text(&json, "note", r->note);
    cli_json_seconds(&json, "seconds", r->seconds);
    cli_json_close(&json);
}

static int print_fit(const choices *c, efface_store *store, double seconds) {
    result r = {.seconds = seconds, .note = cli_family_note(c->model)};
    efface_error error;
    if (efface_store_get_info(store, &r.store, &error) != EFFACE_OK)
        return cli_report_error(&error);
    int code = cli_find_model(store, c->name, &r.model);
    efface_model_describe(c->model, cli_facts_add, &r.facts);
    if (code == CLI_DONE && r.facts.failed)
        code = cli_out_of_memory();
    if (code == CLI_DONE)
        (c->json ? print_json_fit : print_text_fit)(c, &r);
    cli_facts_free(&r.facts);
    return code;
}

static int fit_model(choices *c) {
    efface_store *store = NULL;
    const bool is_new = c->data_paths.n > 0;
    const bool exists = efface_store_exists(c->store_path, cli_group()) != 0;
    /* Known before anything is read; the library looks again. */
    if (is_new && exists)
        return cli_failed("%s exists already: leave DATA out to add a model to it, or choose "
                          "another name for a new store",
                          c->store_path);
    if (!is_new && !exists)
        return cli_wrong("there is no store '%s': give DATA to create it", c->store_path);
    int code = c->seed.given ? CLI_DONE : cli_shared_random(&c->seed.value, sizeof c->seed.value);
    c->params->seed = c->seed.value;
    const double begin = cli_now();
    CLI_THEN(code, is_new ? make_store(c, &store) : add_model(c, &store));
    CLI_THEN(code, print_fit(c, store, cli_now() - begin));
    efface_store_close(store);
    return code;
}

static int run_fit(int n_arguments, char **arguments) {
    choices c = {.name = "default", .open = {.access = EFFACE_ACCESS_WRITE, .wait = -1}};
    int code = read_fit_choices(&c, n_arguments, arguments);
    CLI_THEN(code, fit_model(&c));
    efface_model_free(c.model);
    cli_texts_free(&c.data_paths);
    cli_texts_free(&c.offset_texts);
    cli_texts_free(&c.type_texts);
    cli_types_free(&c.types);
    cli_data_options_free(&c.data);
    cli_skipped_free(&c.skipped);
    cli_fit_columns_free(&c.columns);
    cli_offsets_free(&c.offsets);
    if (c.of_family != NULL)
        cli_wipe(c.of_family, c.family->n_bytes);
    free(c.of_family);
    cli_wipe(&c, sizeof c);
    return code;
}

/* With the list of families in it. */
static const char help_format[] =
    "usage: efface fit DATA... -k K -o STORE [OPTIONS]\n"
    "       efface fit -k K -o STORE --model NAME [OPTIONS]\n"
    "Creates STORE from the rows of DATA (CSV, .npy, IDX; - is standard input;\n"
    "several are read as one) and fits a model. Without DATA, adds one to a STORE.\n"
    "  --family F      %s\n"
    "                  Each has options of its own: efface fit --family F --help\n"
    "  --model NAME    the name of the model in the store (default)\n"
    "  --columns LIST  of DATA or the store: age,3,5-7 (all); --ignore LIST: others\n"
    "  --seed N        for all randomness; without it, a random seed, never shown\n"
    "  --id COL --owner COL --weight COL --label COL   columns of DATA that are not\n"
    "                  values, by name or number; ids and owners may be texts\n"
    "  --type COL=T    what is in a column: truth, date, time, or comma (3,14)\n"
    "  --offset COL=X  subtract X before rounding to float32; auto: chosen from DATA\n"
    "  --keep-texts    keep the texts of ids and owners, not only their numbers\n"
    "  --header yes|no, --ids numbers|text   if DATA does not make it clear\n"
    "  --like STORE    give texts the ids that they have in that store\n"
    "  --receipt-key FILE  key for ids in receipts, not kept in the store;\n"
    "                  --sign FILE, --opening FILE: of the receipt of an added model\n"
    "  --threads N (all)   --wait SECONDS  for a busy STORE (5)\n"
    "  --json          as JSON: store, rows, dim, model with name, family, dim,\n"
    "                  parameters, digest, commitment; fitted, note, seconds\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 not found, 5 busy, 6 damaged.\n"
    "example: efface fit people.csv --id id -k 8 --scale standard -o people.store\n";

static const char *help_on(int n_arguments, char **arguments) {
    static char help[sizeof help_format + 512];
    char families[512];
    const char *const name = find_family(n_arguments, arguments);
    const cli_family *const family = cli_family_named(name);
    if (family == NULL || name != NULL)
        return family != NULL ? family->help : NULL;
    cli_family_lines(families, " (default)");
    snprintf(help, sizeof help, help_format, families);
    return help;
}

const cli_command cli_fit = {
    .name = "fit",
    .summary = "create a store from a data file and fit a model, or add a model",
    .run = run_fit,
    .help_on = help_on,
};
