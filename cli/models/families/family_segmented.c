/* Segmented regression on the command line: the options of fit, and what info adds. */
#include "models/families/family_kmeans_choices.h"
#include "models/families/family_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct choices {
    efface_segmented_params params;
    cli_kmeans_choices of_kmeans;
    bool no_intercept;
    cli_option options[4]; /* with the one that ends the list */
} choices;

static cli_option *begin_segmented(void *room, const void *preset) {
    choices *const c = room;
    (void)preset;
    efface_segmented_params_init(&c->params);
    const cli_option options[] = {
        {"--alpha", CLI_REAL, &c->params.linear.alpha, NULL},
        {"--no-intercept", CLI_FLAG, &c->no_intercept, NULL},
        {"", CLI_MORE, cli_kmeans_begin(&c->of_kmeans, &c->params.kmeans), NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    memcpy(c->options, options, sizeof options);
    return c->options;
}

static int ask_segmented(void *room, efface_new_model *asked) {
    choices *const c = room;
    (void)asked;
    c->params.linear.intercept = !c->no_intercept;
    return cli_kmeans_ask(&c->of_kmeans, "fit --family segmented", "segments", &c->params.kmeans);
}

static void set_segmented_targets(void *room, const uint32_t *targets, uint32_t n_targets) {
    choices *const c = room;
    c->params.targets = targets;
    c->params.n_targets = n_targets;
}

/* ---- what is said of a model: a line for each segment */

static int read_segments(const efface_model *model, uint64_t n, cli_group_details *groups) {
    efface_error error;
    for (uint64_t i = 0; i < n; i++) {
        double numbers[2];
        if (efface_predictor_read_table(efface_model_predictor(model), "segments", i, NULL, numbers,
                                        &error) != EFFACE_OK)
            return cli_report_error(&error);
        groups[i].n_rows = (uint64_t)numbers[0];
        groups[i].weight = (int64_t)numbers[1];
    }
    return CLI_DONE;
}

static uint64_t count_segments(const efface_model *model) {
    efface_table table;
    return efface_predictor_find_table(efface_model_predictor(model), "segments", &table, NULL) ==
                   EFFACE_OK
               ? table.n_rows
               : 0;
}

static int add_segment_details(cli_model_details *d) {
    const uint64_t n = count_segments(d->model);
    d->group_name = "segment";
    d->groups_name = "segments";
    d->n_groups = (uint32_t)n;
    d->groups = calloc((size_t)n + 1, sizeof *d->groups);
    return d->groups != NULL ? read_segments(d->model, n, d->groups) : cli_out_of_memory();
}

/* ---- warnings: nothing here is an error */

/* Segments with fewer rows than coefficients say little. */
static void warn_segmented(const void *room, const efface_model *model, const cli_chosen *chosen) {
    const choices *const c = room;
    const efface_model_info info = efface_model_get_info(model);
    const uint64_t n = count_segments(model), enough = info.n_columns - c->params.n_targets + 1;
    uint64_t n_small = 0;
    (void)chosen;
    for (uint64_t i = 0; i < n; i++) {
        double numbers[2];
        if (efface_predictor_read_table(efface_model_predictor(model), "segments", i, NULL, numbers,
                                        NULL) == EFFACE_OK)
            n_small += numbers[0] <= (double)enough;
    }
    if (n_small > 0)
        cli_warn("%" PRIu64 " of %" PRIu64 " segments %s no more rows than coefficients, %" PRIu64
                 "; try a smaller -k, or --alpha",
                 n_small, n, n_small == 1 ? "has" : "have", enough);
}

const cli_family cli_family_segmented = {
    .number = EFFACE_FAMILY_SEGMENTED,
    .name = "segmented",
    .help = "usage: efface fit DATA --family segmented -k K --target COL -o STORE [OPTIONS]\n"
            "       efface fit --family segmented -k K --target COL -o STORE --model NAME\n"
            "Divides the rows by k-means over the features, and predicts a column from the\n"
            "others by a linear regression in each segment.\n"
            "  -k K            the number of segments\n"
            "  --target COL    the column to predict; a list such as income,7, or several\n"
            "                  --target, predicts several. Other columns are features\n"
            "  --alpha A       ridge: adds A times the squared coefficients to the squared\n"
            "                  errors (0)\n"
            "  --no-intercept  no constant terms\n"
            "  --method M --iters T --candidates C --scale S --epsilon E --gamma G --rate R\n"
            "  --passes P --starts S --width W --height H --leaf-method M --node-method M\n"
            "  --weigh no      of k-means: efface fit --family kmeans --help\n"
            "Further options are those of efface fit --help. efface info shows the segments;\n"
            "efface export writes the coefficients of each segment and target.\n"
            "example: efface fit people.csv --id id --family segmented -k 5 \\\n"
            "             --target income --scale standard -o people.store\n",
    .n_bytes = sizeof(choices),
    .begin = begin_segmented,
    .ask = ask_segmented,
    .needs = CLI_NEEDS_TARGETS,
    .set_targets = set_segmented_targets,
    .warn = warn_segmented,
    .add_details = add_segment_details,
};
