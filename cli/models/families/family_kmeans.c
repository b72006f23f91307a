/* K-means on the command line: the options of fit, what fit warns of, and what info adds. */
#include "input/columns/column_offsets.h"
#include "models/families/family_kmeans_choices.h"
#include "models/families/family_table.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct choices {
    efface_kmeans_params params;
    cli_kmeans_choices said;
    efface_tails tails; /* filled by the fit */
} choices;

static cli_option *begin_kmeans(void *room, const void *preset) {
    choices *const c = room;
    (void)preset;
    efface_kmeans_params_init(&c->params);
    return cli_kmeans_begin(&c->said, &c->params);
}

static int ask_kmeans(void *room, efface_new_model *asked) {
    choices *const c = room;
    const int code = cli_kmeans_ask(&c->said, "fit", "clusters", &c->params);
    asked->tails_scale = c->params.scale;
    asked->tails = &c->tails;
    return code;
}

/* ---- warnings: nothing here is an error */

static void warn_few_rows(uint32_t n_clusters, uint64_t n_rows) {
    if (n_rows < n_clusters)
        cli_warn("k is %" PRIu32 ", but there %s %" PRIu64 " row%s: the model has %" PRIu64
                 " centroid%s",
                 n_clusters, n_rows == 1 ? "is" : "are", n_rows, n_rows == 1 ? "" : "s", n_rows,
                 n_rows == 1 ? "" : "s");
}

/* Columns of which the grid keeps few bits. */
static void warn_coarse_grid(const efface_model *model, const cli_chosen *chosen) {
    const uint32_t n = efface_kmeans_get_info(model).n_coarse_columns;
    uint32_t first;
    if (n == 0)
        return;
    efface_kmeans_coarse_columns(model, &first, 1);
    first = cli_chosen_column(chosen, first);
    const char *const name = cli_column_name(&chosen->of, first);
    const bool scaled = efface_kmeans_get_params(model).scale != EFFACE_SCALE_NONE;
    cli_warn("the model keeps less than 8 bits of %" PRIu32
             " column%s; the first is number %" PRIu32 "%s%s%s; %s",
             n, n == 1 ? "" : "s", first + 1, name != NULL ? " (" : "", name != NULL ? name : "",
             name != NULL ? ")" : "",
             scaled ? "multiply their values by a power of ten" : "try --scale standard");
}

/* A few rows, or one column, with nearly all of the loss. */
static void warn_tails(const efface_tails *tails, efface_scale scale, uint64_t n_rows,
                       const cli_chosen *chosen) {
    char brackets[80];
    const uint32_t column = cli_chosen_column(chosen, tails->column);
    if (tails->column_carries) {
        cli_name_in_brackets(brackets, cli_column_name(&chosen->of, column));
        cli_warn("column %" PRIu32 "%s carries %.2f %% of the loss, so the others hardly count; %s",
                 column + 1, brackets, 100.0 * tails->column_share,
                 scale == EFFACE_SCALE_NONE ? "try --scale standard"
                                            : "look at it, or choose other columns with --columns");
    }
    if (tails->rows_carry)
        cli_warn("%" PRIu64 " of %" PRIu64
                 " rows %s %.1f %% of the loss, so clusters follow %s; look at %s, or take the "
                 "logarithm of columns with such outliers%s",
                 tails->n_rows, n_rows, tails->n_rows == 1 ? "carries" : "carry",
                 100.0 * tails->rows_share, tails->n_rows == 1 ? "it" : "these alone",
                 tails->n_rows == 1 ? "it" : "them",
                 scale == EFFACE_SCALE_NONE ? ", or try --scale standard" : "");
}

static void warn_kmeans(const void *room, const efface_model *model, const cli_chosen *chosen) {
    const choices *const c = room;
    const uint64_t n_rows = efface_model_get_info(model).n_rows;
    warn_few_rows(c->params.n_clusters, n_rows);
    warn_coarse_grid(model, chosen);
    warn_tails(&c->tails, c->params.scale, n_rows, chosen);
}

/* ---- what is said of a model */

static const char *note_kmeans(const efface_model *model) {
    const efface_kmeans_info info = efface_kmeans_get_info(model);
    if (info.actual != info.method)
        return "too few rows for each cluster to take a sample, so it works as lloyd";
    return NULL;
}

static void add_columns(cli_model_details *d, uint32_t *coarse) {
    const efface_kmeans_params params = efface_kmeans_get_params(d->model);
    const efface_kmeans_info info = efface_kmeans_get_info(d->model);
    d->bounds_given = params.scale == EFFACE_SCALE_MINMAX && params.column_min != NULL;
    for (uint32_t j = 0; j < info.n_columns && d->bounds_given; j++) {
        d->columns[j].low = params.column_min[j];
        d->columns[j].high = params.column_max[j];
    }
    efface_kmeans_coarse_columns(d->model, coarse, info.n_columns);
    for (uint32_t j = 0; j < info.n_coarse_columns; j++)
        d->columns[coarse[j]].coarse = true;
}

static void count_clusters(cli_model_details *d, const uint32_t *labels) {
    for (size_t i = 0; i < efface_data_n_rows(d->data); i++) {
        d->groups[labels[i]].n_rows++;
        d->groups[labels[i]].weight += efface_data_row(d->data, i).weight;
    }
}

static int add_kmeans_details(cli_model_details *d) {
    const efface_kmeans_info info = efface_kmeans_get_info(d->model);
    uint32_t *const coarse = malloc((info.n_columns + (size_t)1) * sizeof *coarse);
    uint32_t *const labels = malloc((efface_data_n_rows(d->data) + 1) * sizeof *labels);
    efface_fact loss = {.name = "loss", .kind = EFFACE_FACT_REAL};
    efface_error error;
    int code = CLI_DONE;
    d->group_name = "cluster";
    d->groups_name = "clusters";
    d->n_groups = info.n_clusters;
    d->groups = calloc(info.n_clusters + (size_t)1, sizeof *d->groups);
    if (coarse == NULL || labels == NULL || d->groups == NULL) {
        code = cli_out_of_memory();
    } else if (info.n_clusters > 0 &&
               (efface_kmeans_labels(d->model, d->data, labels, &error) != EFFACE_OK ||
                efface_kmeans_loss(d->model, d->data, &loss.real, &error) != EFFACE_OK)) {
        code = cli_report_error(&error);
    } else {
        add_columns(d, coarse);
        if (info.n_clusters > 0)
            count_clusters(d, labels);
        cli_facts_add(&d->measures, &loss);
    }
    free(coarse);
    free(labels);
    return code;
}

const cli_family cli_family_kmeans = {
    .number = EFFACE_FAMILY_KMEANS,
    .name = "kmeans",
    .help = "usage: efface fit DATA -k K -o STORE [OPTIONS]\n"
            "       efface fit -k K -o STORE --model NAME [OPTIONS]\n"
            "Fits k-means, the family that fit takes if none is named: K centroids, and each\n"
            "row belongs to the nearest. Further options are those of efface fit --help.\n"
            "  -k K            the number of clusters\n"
            "  --method M      pyramid (default): iterations on a small sample, then a pass\n"
            "                  over all rows; lloyd: iterations on all rows; quantized:\n"
            "                  lloyd with centroids on a random lattice; tree: clusters\n"
            "                  parts of the rows, and then their centroids\n"
            "  --iters T       iterations (10); 0: until nothing changes\n"
            "  --candidates C  rows that are tried for each seed (0: 2 + log K)\n"
            "  --scale S       none (default); standard: columns in units of their\n"
            "                  deviations; minmax: each column to [0, 1]\n"
            "  --epsilon E     quantized, pyramid: lattice width, as a part of the range\n"
            "  --gamma G       quantized: clusters below G n / K rows are held back (0.2)\n"
            "  --rate R        pyramid: the sample has at least this part of the rows\n"
            "  --passes P      pyramid: passes over all rows (1)\n"
            "  --starts S      pyramid: seedings that are tried on the sample (4)\n"
            "  --width W --height H               tree: children of a node, levels of nodes\n"
            "  --leaf-method M --node-method M    tree: method of leaves, of other nodes\n"
            "  --weigh no      tree: centroids count once, not with the weight of their rows\n"
            "example: efface fit people.csv --id id --owner user -k 8 --scale standard \\\n"
            "             --method pyramid -o people.store\n",
    .n_bytes = sizeof(choices),
    .begin = begin_kmeans,
    .ask = ask_kmeans,
    .warn = warn_kmeans,
    .note = note_kmeans,
    .add_details = add_kmeans_details,
};
