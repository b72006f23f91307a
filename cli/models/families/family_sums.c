/* Sums on the command line: the family itself, and a preset for each view of the sums. What differs
 * between them is a row of a table, and the help. */
#include "models/families/family_sums_details.h"
#include "models/families/family_table.h"

#include <math.h>
#include <string.h>

enum { MAX_OPTIONS = 8 }; /* of one preset, with the one that ends the list */

typedef struct choices {
    efface_sums_params params;
    bool no_intercept, quadratic, whiten;
    int scale;    /* of scale_words */
    double gamma; /* NaN: not given */
    cli_option options[MAX_OPTIONS];
} choices;

/* What makes a preset: a view, defaults where they are not those of the library, and options; all
 * presets have --bound as well. */
typedef struct preset {
    efface_view view;
    double alpha;
    uint32_t n_fourier;
    const char *options[MAX_OPTIONS];
} preset;

/* ---- options */

static const char *const scale_words[] = {"none", "standard", NULL};

/* Finds an option by its name; all presets take theirs from here. */
static cli_option option_named(choices *c, const char *name) {
    const cli_option all[] = {
        {"--bound", CLI_REAL, &c->params.bound, NULL},
        {"--alpha", CLI_REAL, &c->params.linear.alpha, NULL},
        {"--no-intercept", CLI_FLAG, &c->no_intercept, NULL},
        {"--smoothing", CLI_REAL, &c->params.bayes.smoothing, NULL},
        {"--quadratic", CLI_FLAG, &c->quadratic, NULL},
        {"--shrinkage", CLI_REAL, &c->params.discriminant.shrinkage, NULL},
        {"--components", CLI_COUNT, &c->params.components.n_components, NULL},
        {"-n", CLI_COUNT, &c->params.components.n_components, NULL},
        {"--whiten", CLI_FLAG, &c->whiten, NULL},
        {"--scale", CLI_WORD, &c->scale, scale_words},
        {"--features", CLI_COUNT, &c->params.n_fourier, NULL},
        {"--gamma", CLI_REAL, &c->gamma, NULL},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i];
    return (cli_option){NULL, CLI_FLAG, NULL, NULL};
}

static cli_option *begin_sums(void *room, const void *of) {
    choices *const c = room;
    const preset *const p = of;
    size_t n = 0;
    efface_sums_params_init(&c->params);
    c->params.view = p->view;
    c->params.n_fourier = p->n_fourier;
    c->params.linear.alpha = p->alpha;
    c->gamma = (double)NAN;
    for (; p->options[n] != NULL; n++)
        c->options[n] = option_named(c, p->options[n]);
    c->options[n] = option_named(c, "--bound");
    c->options[n + 1] = (cli_option){NULL, CLI_FLAG, NULL, NULL};
    return c->options;
}

static int ask_sums(void *room, efface_new_model *asked) {
    choices *const c = room;
    const efface_scale scale = c->scale == 1 ? EFFACE_SCALE_STANDARD : EFFACE_SCALE_NONE;
    (void)asked;
    c->params.linear.intercept = !c->no_intercept;
    c->params.linear.scale = c->params.discriminant.scale = c->params.components.scale = scale;
    if (c->params.n_fourier != 0) { /* features are of columns in these units, and have one size */
        c->params.scale = scale;
        c->params.linear.scale = EFFACE_SCALE_NONE;
        if (!isnan(c->gamma))
            c->params.gamma = c->gamma;
        else if (scale == EFFACE_SCALE_STANDARD)
            c->params.gamma = 0.0;
    }
    c->params.discriminant.quadratic = c->quadratic;
    c->params.components.whiten = c->whiten;
    return CLI_DONE;
}

static void set_sums_targets(void *room, const uint32_t *targets, uint32_t n_targets) {
    choices *const c = room;
    c->params.targets = targets;
    c->params.n_targets = n_targets;
}

static void warn_sums(const void *room, const efface_model *model, const cli_chosen *chosen) {
    (void)room;
    cli_sums_warn(model, chosen);
}

/* ---- the table. What all entries have in common comes first. */

/* clang-format off */
#define OF_SUMS                                 \
    .number = EFFACE_FAMILY_SUMS,               \
    .n_bytes = sizeof(choices),                 \
    .begin = begin_sums,                        \
    .ask = ask_sums,                            \
    .set_targets = set_sums_targets,            \
    .warn = warn_sums,                          \
    .add_details = cli_sums_add_details
/* clang-format on */

#define USAGE(name, options)                                                                       \
    "usage: efface fit DATA --family " name " " options "-o STORE [OPTIONS]\n"                     \
    "       efface fit --family " name " " options "-o STORE --model NAME [OPTIONS]\n"

/* The class comes from DATA, or is in the store already. */
#define USAGE_OF_CLASSES(name)                                                                     \
    "usage: efface fit DATA --family " name " --class COL -o STORE [OPTIONS]\n"                    \
    "       efface fit --family " name " -o STORE --model NAME [OPTIONS]\n"

#define TARGET_LINES                                                                               \
    "  --target COL    the column to predict; a list such as income,7, or several\n"               \
    "                  --target, predicts several. Other columns are features\n"

#define CLASS_LINES                                                                                \
    "  --class COL     the column of DATA with the class of each row, a text or a\n"               \
    "                  whole number; it becomes the label of the row. Rows of a store\n"           \
    "                  that exists have their labels already\n"

#define SCALE_LINES(what)                                                                          \
    "  --scale S       none (default) or standard: " what "\n"                                     \
    "                  in units of each column's deviation, which follow the rows\n"

#define LAST_LINES                                                                                 \
    "  --bound B       the largest magnitude of a value; without it, the largest\n"                \
    "                  that there is decides how fine values are kept\n"                           \
    "Further options are those of efface fit --help.\n"

/* clang-format off */
const cli_family cli_family_sums = {
    OF_SUMS,
    .name = "means",
    .help = USAGE("means", "")
            "Sums up the columns; the model is their means. Values are kept to 23 bits of\n"
            "the largest magnitude in their column.\n"
            LAST_LINES
            "example: efface fit people.csv --id id --owner user --family means \\\n"
            "             -o people.store\n",
    .preset = &(const preset){EFFACE_VIEW_MEANS, .options = {NULL}},
};

const cli_family cli_family_linear = {
    OF_SUMS,
    .name = "linear",
    .help = USAGE("linear", "--target COL ")
            "Predicts a column from the others by linear regression, from exact sums of\n"
            "products. Forgetting a row takes it out of the sums, and no other row is looked\n"
            "at. A feature that is constant, or depends on others, gets the coefficient 0.\n"
            TARGET_LINES
            "  --alpha A       ridge: adds A times the squared coefficients to the squared\n"
            "                  errors (0)\n"
            "  --no-intercept  no constant term\n"
            SCALE_LINES("A counts for coefficients")
            LAST_LINES
            "efface info shows the coefficients with their errors; efface export writes them.\n"
            "example: efface fit people.csv --id id --family linear --target income \\\n"
            "             -o people.store\n",
    .needs = CLI_NEEDS_TARGETS,
    .preset = &(const preset){EFFACE_VIEW_LINEAR, .options = {"--alpha", "--no-intercept", "--scale"}},
};

const cli_family cli_family_ridge = {
    OF_SUMS,
    .name = "ridge",
    .help = USAGE_OF_CLASSES("ridge")
            "Predicts the class of a row by ridge regression on 1 and -1 for each class. The\n"
            "class with the largest value is taken.\n"
            CLASS_LINES
            "  --alpha A       times the squared coefficients is added to the squared\n"
            "                  errors (1)\n"
            "  --no-intercept  no constant term\n"
            SCALE_LINES("A counts for coefficients")
            LAST_LINES
            "example: efface fit people.csv --id id --family ridge --class kind \\\n"
            "             -o people.store\n",
    .needs = CLI_NEEDS_CLASSES,
    .preset = &(const preset){EFFACE_VIEW_RIDGE, .alpha = 1.0,
                              .options = {"--alpha", "--no-intercept", "--scale"}},
};

const cli_family cli_family_bayes = {
    OF_SUMS,
    .name = "bayes",
    .help = USAGE_OF_CLASSES("bayes")
            "Predicts the class of a row by Gaussian naive Bayes: each class has a mean and a\n"
            "variance in each column.\n"
            CLASS_LINES
            "  --smoothing S   this part of the largest variance of a column is added to all\n"
            "                  variances (1e-9)\n"
            LAST_LINES
            "example: efface fit people.csv --id id --family bayes --class kind \\\n"
            "             -o people.store\n",
    .needs = CLI_NEEDS_CLASSES,
    .preset = &(const preset){EFFACE_VIEW_BAYES, .options = {"--smoothing"}},
};

const cli_family cli_family_discriminant = {
    OF_SUMS,
    .name = "discriminant",
    .help = USAGE_OF_CLASSES("discriminant")
            "Predicts the class of a row by a normal distribution for each class. Linear\n"
            "discriminants, the default, have one covariance matrix in common.\n"
            CLASS_LINES
            "  --quadratic     each class has a covariance matrix of its own\n"
            "  --shrinkage S   from 0 to 1: how far the matrix is moved towards one without\n"
            "                  covariances (not at all)\n"
            SCALE_LINES("it is moved")
            LAST_LINES
            "example: efface fit people.csv --id id --family discriminant --class kind \\\n"
            "             -o people.store\n",
    .needs = CLI_NEEDS_CLASSES,
    .preset = &(const preset){EFFACE_VIEW_DISCRIMINANT, .options = {"--quadratic", "--shrinkage", "--scale"}},
};

const cli_family cli_family_components = {
    OF_SUMS,
    .name = "components",
    .help = USAGE("components", "-n N ")
            "Finds principal components: the directions in which rows differ most. A row is\n"
            "predicted its coordinates c1, c2, ... along them.\n"
            "  -n N, --components N   how many; without it, as many as there can be\n"
            "  --whiten        coordinates are divided by their deviations\n"
            SCALE_LINES("directions are found")
            LAST_LINES
            "efface info shows their variances; efface export writes the directions.\n"
            "example: efface fit people.csv --id id --family components -n 3 \\\n"
            "             -o people.store\n",
    .preset = &(const preset){EFFACE_VIEW_COMPONENTS, .options = {"-n", "--components", "--whiten", "--scale"}},
};

const cli_family cli_family_fourier = {
    OF_SUMS,
    .name = "fourier",
    .help = USAGE("fourier", "--target COL ")
            "Predicts a column from the others by ridge regression on random Fourier\n"
            "features: curves instead of lines. They stand for the kernel exp(-G |x - y|^2),\n"
            "are drawn from the seed, and do not depend on the rows.\n"
            TARGET_LINES
            "  --features N    how many features (100); a request takes time in proportion\n"
            "                  to N^2\n"
            "  --gamma G       of the kernel (1; with a scale 1 / the number of features):\n"
            "                  the smaller, the smoother\n"
            "  --scale S       none (default) or standard: x and y are in units of each\n"
            "                  column's deviation, which follow the rows\n"
            "  --alpha A       times the squared coefficients is added to the squared\n"
            "                  errors (1)\n"
            LAST_LINES
            "example: efface fit people.csv --id id --family fourier --target income \\\n"
            "             --features 500 --gamma 0.1 -o people.store\n",
    .needs = CLI_NEEDS_TARGETS,
    .preset = &(const preset){EFFACE_VIEW_LINEAR, .alpha = 1.0, .n_fourier = 100,
                               .options = {"--features", "--gamma", "--alpha", "--scale"}},
};
/* clang-format on */
