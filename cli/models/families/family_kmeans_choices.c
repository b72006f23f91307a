/* What the command line says of k-means. */
#include "models/families/family_kmeans_choices.h"

#include <assert.h>
#include <string.h>

static const char *const yes_or_no[] = {"no", "yes", NULL};
static const char *const method_words[] = {"lloyd", "quantized", "pyramid", "tree", NULL};
static const char *const node_words[] = {"lloyd", "quantized", "pyramid", NULL};
static const char *const scale_words[] = {"none", "minmax", "standard", NULL};

cli_option *cli_kmeans_begin(cli_kmeans_choices *c, efface_kmeans_params *params) {
    const cli_option options[] = {
        {"-k", CLI_COUNT, &c->n_clusters, NULL},
        {"--method", CLI_WORD, &c->method, method_words},
        {"--iters", CLI_WHOLE, &params->iterations, NULL},
        {"--candidates", CLI_WHOLE, &params->candidates, NULL},
        {"--epsilon", CLI_REAL, &params->epsilon, NULL},
        {"--gamma", CLI_REAL, &params->quantized.gamma, NULL},
        {"--width", CLI_WHOLE, &params->tree.width, NULL},
        {"--height", CLI_WHOLE, &params->tree.height, NULL},
        {"--leaf-method", CLI_WORD, &c->leaf_method, node_words},
        {"--node-method", CLI_WORD, &c->node_method, node_words},
        {"--weigh", CLI_WORD, &c->weigh, yes_or_no},
        {"--rate", CLI_REAL, &params->pyramid.rate, NULL},
        {"--passes", CLI_COUNT, &params->pyramid.passes, NULL},
        {"--starts", CLI_COUNT, &params->pyramid.starts, NULL},
        {"--scale", CLI_WORD, &c->scale, scale_words},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    static_assert(sizeof options == sizeof c->options, "all options have room");
    c->method = (int)params->method;
    c->weigh = params->tree.weigh_centroids;
    memcpy(c->options, options, sizeof options);
    return c->options;
}

int cli_kmeans_ask(const cli_kmeans_choices *c, const char *command, const char *clusters,
                   efface_kmeans_params *params) {
    if (c->n_clusters == 0)
        return cli_wrong("%s needs -k K, the number of %s", command, clusters);
    params->n_clusters = c->n_clusters;
    params->method = (efface_method)c->method;
    params->tree.leaf_method = (efface_method)c->leaf_method;
    params->tree.node_method = (efface_method)c->node_method;
    params->tree.weigh_centroids = c->weigh;
    params->scale = (efface_scale)c->scale;
    return CLI_DONE;
}
