/* efface fit: a new store with a model, or one more model in a store. */
#include "column_offsets.h"
#include "fit_warnings.h"
#include "json_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct choices {
    const char *data_path, *store_path, *name, *column_list, *like;
    uint32_t n_clusters;
    int method, leaf_method, node_method, scale, weigh;
    bool keep_texts;
    cli_open open;
    cli_number seed;
    cli_texts offset_texts;
    cli_offsets offsets;
    efface_tails tails;
    efface_model *model; /* that was fitted */
    cli_data_options data;
    efface_kmeans_params params;
    bool json;
} choices;

static const char *const yes_or_no[] = {"no", "yes", NULL};
static const char *const method_words[] = {"lloyd", "quantized", "pyramid", "tree", NULL};
static const char *const node_words[] = {"lloyd", "quantized", "pyramid", NULL};
static const char *const scale_words[] = {"none", "minmax", NULL};

static bool read_choices(choices *c, int n_arguments, char **arguments) {
    const cli_option options[] = {
        {"DATA", CLI_PLACE_OR_NOT, &c->data_path, NULL},
        {"-k", CLI_COUNT, &c->n_clusters, NULL},
        {"-o", CLI_TEXT, &c->store_path, NULL},
        {"--model", CLI_TEXT, &c->name, NULL},
        {"--method", CLI_WORD, &c->method, method_words},
        {"--seed", CLI_NUMBER, &c->seed, NULL},
        {"--iters", CLI_WHOLE, &c->params.iterations, NULL},
        {"--candidates", CLI_WHOLE, &c->params.candidates, NULL},
        {"--epsilon", CLI_REAL, &c->params.epsilon, NULL},
        {"--gamma", CLI_REAL, &c->params.gamma, NULL},
        {"--width", CLI_WHOLE, &c->params.width, NULL},
        {"--height", CLI_WHOLE, &c->params.height, NULL},
        {"--leaf-method", CLI_WORD, &c->leaf_method, node_words},
        {"--node-method", CLI_WORD, &c->node_method, node_words},
        {"--weigh", CLI_WORD, &c->weigh, yes_or_no},
        {"--rate", CLI_REAL, &c->params.rate, NULL},
        {"--passes", CLI_COUNT, &c->params.passes, NULL},
        {"--starts", CLI_COUNT, &c->params.starts, NULL},
        {"--scale", CLI_WORD, &c->scale, scale_words},
        {"--columns", CLI_TEXT, &c->column_list, NULL},
        {"--offset", CLI_TEXTS, &c->offset_texts, NULL},
        {"--threads", CLI_COUNT, &c->params.common.n_threads, NULL},
        {"--like", CLI_TEXT, &c->like, NULL},
        {"--keep-texts", CLI_FLAG, &c->keep_texts, NULL},
        {"--receipt-key", CLI_TEXT, &c->open.receipt_key, NULL},
        {"--wait", CLI_SECONDS, &c->open.wait, NULL},
        {"--json", CLI_FLAG, &c->json, NULL},
        CLI_DATA_OPTIONS(c->data),
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_kmeans_params_init(&c->params);
    c->method = (int)c->params.method;
    c->weigh = c->params.weigh_centroids;
    c->name = "default";
    c->open = (cli_open){.access = EFFACE_ACCESS_WRITE, .wait = -1};
    if (!cli_parse("fit", options, n_arguments, arguments))
        return false;
    c->params.method = (efface_method)c->method;
    c->params.leaf_method = (efface_method)c->leaf_method;
    c->params.node_method = (efface_method)c->node_method;
    c->params.weigh_centroids = c->weigh;
    c->params.scale = (efface_scale)c->scale;
    c->params.n_clusters = c->n_clusters;
    if (c->n_clusters == 0 || c->store_path == NULL) {
        (void)cli_wrong("fit needs -k K, the number of clusters, and -o STORE");
        return false;
    }
    if (c->data_path == NULL && (cli_data_options_given(&c->data) || c->like != NULL ||
                                 c->keep_texts || c->offset_texts.n != 0)) {
        (void)cli_wrong(
            "without DATA, fit adds a model to a store whose rows are there already: leave out "
            "--id, --owner, --weight, --label, --header, --ids, --like, --offset and --keep-texts");
        return false;
    }
    return cli_read_offsets(&c->offset_texts, &c->offsets) == CLI_DONE;
}

/* Reads the columns of --columns; without it, none are named, which means all. */
static int choose_columns(const choices *c, cli_chosen *chosen) {
    return c->column_list == NULL || cli_read_columns(c->column_list, &chosen->of, &chosen->columns,
                                                      &chosen->n_columns)
               ? CLI_DONE
               : CLI_USAGE;
}

static efface_new_model model_of(choices *c, const cli_chosen *chosen) {
    return (efface_new_model){.name = c->name,
                              .params = &c->params,
                              .columns = chosen->columns,
                              .n_columns = chosen->n_columns,
                              .tails = &c->tails};
}

/* A hash key of its own or, with --like, that of another store: ids that are texts are then the
 * same in both, without which two stores of the same rows could not be compared. */
static int choose_hash_key(const choices *c, efface_load_options *load) {
    efface_store *other = NULL;
    int code = CLI_DONE;
    if (c->like == NULL)
        return cli_random(load->hash_key, sizeof load->hash_key) ? CLI_DONE : CLI_FAILED;
    const cli_open how = {.access = EFFACE_ACCESS_READ, .wait = c->open.wait};
    if (cli_open_store(c->like, &how, &other, &code)) {
        efface_load_options known;
        efface_store_load_options(other, &known);
        memcpy(load->hash_key, known.hash_key, sizeof load->hash_key);
        cli_wipe(&known, sizeof known);
    }
    efface_store_close(other);
    return code;
}

/* Makes the store with its model: the library sees to it that there is all of it or nothing. */
static int create_store(choices *c, const efface_load_options *load, const efface_data *data,
                        const cli_chosen *chosen, efface_store **store) {
    efface_store_options options;
    efface_error error;
    cli_keys keys;
    int code = CLI_DONE;
    if (cli_store_options(&c->open, &options, &keys, &code)) {
        efface_new_model model = model_of(c, chosen);
        model.fitted = &c->model;
        memcpy(options.hash_key, load->hash_key, sizeof options.hash_key);
        options.keep_texts = c->keep_texts;
        cli_progress_begin("fitting", 0, 0);
        cli_watch_fit(&c->params);
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

static bool load(choices *c, efface_load_options *options, efface_data **data, int *code) {
    options->offsets = c->offsets.items;
    options->n_offsets = c->offsets.n;
    cli_progress_begin("reading", 0, 0);
    const bool loaded = cli_load_data(c->data_path, &c->data, options, data, code);
    cli_progress_end();
    return loaded;
}

/* Reads DATA and, with --offset auto, once more with the offsets that it needs. */
static bool load_shifted(choices *c, efface_load_options *options, efface_data **data, int *code) {
    if (!load(c, options, data, code))
        return false;
    if (c->offsets.propose && !cli_can_be_read_again(c->data_path)) {
        *code = cli_wrong("--offset auto reads DATA twice, but a pipe can be read only once: give "
                          "the offsets, or a file");
        return false;
    }
    if (!c->offsets.propose || !cli_propose_offsets(*data, options->rounding, &c->offsets, code))
        return *code == CLI_DONE;
    efface_data_free(*data);
    *data = NULL;
    return load(c, options, data, code);
}

static int make_store(choices *c, efface_store **store) {
    efface_load_options options;
    efface_data *data = NULL;
    efface_error error;
    cli_chosen chosen = {.columns = NULL};
    efface_load_options_init(&options);
    int code = choose_hash_key(c, &options);
    if (code != CLI_DONE)
        return code;
    if (efface_texts_create(&options.texts, &error) != EFFACE_OK ||
        efface_rounding_create(&options.rounding, &error) != EFFACE_OK) {
        code = cli_report_error(&error);
        goto out;
    }
    if (!load_shifted(c, &options, &data, &code))
        goto out;
    chosen.of = (cli_columns){.n = efface_data_n_columns(data), .data = data};
    code = choose_columns(c, &chosen);
    if (code == CLI_DONE)
        code = create_store(c, &options, data, &chosen, store);
    if (code == CLI_DONE) {
        cli_warn_few_rows(c->params.n_clusters, efface_data_n_rows(data));
        cli_warn_coarse(c->model, &chosen);
        cli_warn_rounding(data, options.rounding);
        cli_warn_tails(&c->tails, c->params.scale, efface_data_n_rows(data), &chosen);
        if (!c->keep_texts)
            cli_note_texts(data, options.texts);
    }
out:
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
    int code = CLI_DONE;
    if (!cli_open_store(c->store_path, &c->open, store, &code))
        return code;
    if (efface_store_get_info(*store, &info, &error) != EFFACE_OK)
        return cli_report_error(&error);
    chosen.of = (cli_columns){.n = info.n_columns, .store = *store};
    code = choose_columns(c, &chosen);
    if (code == CLI_DONE) {
        const efface_new_model asked = model_of(c, &chosen);
        cli_progress_begin("fitting", 0, 0);
        cli_watch_fit(&c->params);
        if (efface_store_fit(*store, &asked, &c->model, &error) != EFFACE_OK)
            code = cli_report_wrong(&error);
        cli_progress_end();
    }
    if (code == CLI_DONE) {
        const uint64_t n_rows = efface_kmeans_get_info(c->model).n_rows;
        cli_warn_few_rows(c->params.n_clusters, n_rows);
        cli_warn_coarse(c->model, &chosen);
        cli_warn_tails(&c->tails, c->params.scale, n_rows, &chosen);
    }
    free(chosen.columns);
    return code;
}

static int print_result(const choices *c, efface_store *store, double seconds) {
    efface_store_info info;
    efface_stored_model model;
    efface_error error;
    char hex[CLI_HEX_BYTES];
    if (efface_store_get_info(store, &info, &error) != EFFACE_OK)
        return cli_report_error(&error);
    const int code = cli_find_model(store, c->name, &model);
    if (code != CLI_DONE)
        return code;
    cli_hex(model.digest, sizeof model.digest, hex);
    const efface_kmeans_info fitted = efface_kmeans_get_info(c->model);
    if (!c->json) {
        cli_put_text(stdout, c->store_path);
        printf(": %" PRIu64 " row%s, %" PRIu32 " column%s; model %s: %s%s, k %" PRIu32
               "; %.3f s\ndigest %s\n",
               info.n_rows, info.n_rows == 1 ? "" : "s", info.n_columns,
               info.n_columns == 1 ? "" : "s", model.name, cli_method_name(model.method),
               fitted.actual != fitted.method ? " (as lloyd: too few rows for a sample)" : "",
               model.n_clusters, seconds, hex);
        return CLI_DONE;
    }
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "store", c->store_path);
    cli_json_whole(&json, "rows", info.n_rows);
    cli_json_whole(&json, "dim", info.n_columns);
    cli_json_open(&json, "model", '{');
    cli_json_text(&json, "name", model.name);
    cli_json_text(&json, "method", cli_method_name(model.method));
    cli_json_whole(&json, "k", model.n_clusters);
    cli_json_whole(&json, "dim", model.n_columns);
    cli_json_text(&json, "digest", hex);
    cli_json_close(&json, '}');
    cli_json_text(&json, "actual", cli_method_name(fitted.actual));
    cli_json_seconds(&json, "seconds", seconds);
    cli_json_close(&json, '}');
    return CLI_DONE;
}

static int fit(choices *c) {
    efface_store *store = NULL;
    const bool is_new = c->data_path != NULL;
    const bool exists = access(c->store_path, F_OK) == 0;
    /* Known before anything is read; the library looks again. */
    if (is_new && exists)
        return cli_failed("%s exists already: leave DATA out to add a model to it, or choose "
                          "another name for a new store",
                          c->store_path);
    if (!is_new && !exists)
        return cli_wrong("there is no store '%s': give DATA to create it", c->store_path);
    if (!c->seed.given && !cli_random(&c->seed.value, sizeof c->seed.value))
        return CLI_FAILED;
    c->params.common.seed = c->seed.value;
    const double begin = cli_now();
    int code = is_new ? make_store(c, &store) : add_model(c, &store);
    if (code == CLI_DONE)
        code = print_result(c, store, cli_now() - begin);
    efface_store_close(store);
    return code;
}

static int run(int n_arguments, char **arguments) {
    choices c;
    memset(&c, 0, sizeof c);
    const int code = read_choices(&c, n_arguments, arguments) ? fit(&c) : CLI_USAGE;
    efface_model_free(c.model);
    cli_texts_free(&c.offset_texts);
    cli_offsets_free(&c.offsets);
    cli_wipe(&c, sizeof c);
    return code;
}

const cli_command cli_fit = {
    "fit",
    "create a store from a data file and fit a model, or add a model",
    "usage: efface fit DATA -k K -o STORE [OPTIONS]\n"
    "       efface fit -k K -o STORE --model NAME [OPTIONS]\n"
    "Creates STORE from the rows of DATA (CSV, .npy or IDX, also gzipped; - is\n"
    "standard input) and fits a model. Without DATA, adds a model to a STORE.\n"
    "  -k K            clusters               --model NAME  in the store (default)\n"
    "  --method M      pyramid (default), lloyd, quantized or tree\n"
    "  --seed N        for all randomness; without it, a random seed, never shown\n"
    "  --iters T (10; 0: all)   --candidates C  tried for a seed (0: 2 + log K)\n"
    "  --scale S       none (default) or minmax: each column to [0, 1]\n"
    "  --columns LIST  columns of the model by name or number: age,3,5-7 (all)\n"
    "  --epsilon E --gamma G           quantized: lattice width, balance threshold\n"
    "  --rate R --passes P --starts S  pyramid: sample, passes, seedings tried\n"
    "  --width W --height H            tree: children of a node, levels of nodes\n"
    "  --leaf-method M --node-method M --weigh no  tree: leaves, nodes, no weights\n"
    "  --id COL --owner COL --weight COL --label COL   columns of DATA that are not\n"
    "                  values, by name or number; ids and owners may be texts\n"
    "  --offset COL=X  subtract X before rounding to float32; auto: chosen from DATA\n"
    "  --keep-texts    keep the texts of ids and owners, not only their numbers\n"
    "  --header yes|no, --ids numbers|text   if DATA does not make it clear\n"
    "  --like STORE    give texts the ids that they have in that store\n"
    "  --receipt-key FILE  key for ids in receipts, not kept in the store\n"
    "  --threads N (all)   --wait SECONDS  for a busy STORE (5)   --json  as JSON\n"
    "example: efface fit people.csv --id id --owner user -k 8 --scale minmax \\\n"
    "             --method pyramid -o people.store\n",
    run,
};
