/* What the command line says of k-means: for models of that family, and for those made of it. */
#ifndef CLI_FAMILY_KMEANS_CHOICES_H
#define CLI_FAMILY_KMEANS_CHOICES_H

#include "input/options.h"

typedef struct cli_kmeans_choices {
    uint32_t n_clusters; /* 0: not given */
    int method, leaf_method, node_method, scale, weigh;
    cli_option options[16]; /* with the one that ends the list */
} cli_kmeans_choices;

/* The options that change the choices and the parameters, which have their defaults already. */
cli_option *cli_kmeans_begin(cli_kmeans_choices *choices, efface_kmeans_params *params);

/* Puts what was said into the parameters. CLI_DONE or, after a message that begins with `command`,
 * CLI_USAGE if the number of clusters, or of what they are called, is missing. */
int cli_kmeans_ask(const cli_kmeans_choices *choices, const char *command, const char *clusters,
                   efface_kmeans_params *params);

#endif
