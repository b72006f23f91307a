/* Sums on the command line: the options of fit. */
#include "models/family_table.h"

#include <string.h>

enum { N_OPTIONS = 2 }; /* with the one that ends the list */

typedef struct choices {
    efface_sums_params params;
    cli_option options[N_OPTIONS];
} choices;

static cli_option *begin(void *room) {
    choices *const c = room;
    const cli_option options[N_OPTIONS] = {
        {"--bound", CLI_REAL, &c->params.bound, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_sums_params_init(&c->params);
    memcpy(c->options, options, sizeof options);
    return c->options;
}

static efface_params *ask(void *room, efface_new_model *asked) {
    (void)asked;
    return &((choices *)room)->params.common;
}

const cli_family cli_family_sums = {
    .number = EFFACE_FAMILY_SUMS,
    .help = "usage: efface fit DATA --family sums -o STORE [OPTIONS]\n"
            "       efface fit --family sums -o STORE --model NAME [OPTIONS]\n"
            "Sums up the columns; the model is their means. Values are kept to 23 bits of\n"
            "the largest magnitude in their column. Further options are\n"
            "those of efface fit --help.\n"
            "  --bound B       the largest magnitude of a value; without it, the largest\n"
            "                  that there is decides how fine values are kept\n"
            "example: efface fit people.csv --id id --owner user --family sums \\\n"
            "             -o people.store\n",
    .n_bytes = sizeof(choices),
    .begin = begin,
    .ask = ask,
};
