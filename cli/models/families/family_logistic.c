/* Logistic regression and linear machines on the command line: the options of fit, what it warns
 * of, and what info adds. */
#include "models/families/family_table.h"

#include "models/answers/table_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_OPTIONS = 8 }; /* with the one that ends the list */

typedef struct choices {
    efface_logistic_params params;
    bool no_intercept;
    cli_option options[N_OPTIONS];
} choices;

static cli_option *begin_logistic(void *room, const void *preset) {
    choices *const c = room;
    efface_logistic_params *const p = &c->params;
    const cli_option options[N_OPTIONS] = {
        {"--alpha", CLI_REAL, &p->alpha, NULL},
        {"--no-intercept", CLI_FLAG, &c->no_intercept, NULL},
        {"--lattice", CLI_REAL, &p->width, NULL},
        {"--sample", CLI_COUNT, &p->sample, NULL},
        {"--steps", CLI_COUNT, &p->steps, NULL},
        {"--bound", CLI_REAL, &p->bound, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_logistic_params_init(p);
    p->loss = *(const efface_loss *)preset;
    memcpy(c->options, options, sizeof options);
    return c->options;
}

static int ask_logistic(void *room, efface_new_model *asked) {
    choices *const c = room;
    (void)asked;
    c->params.intercept = !c->no_intercept;
    return CLI_DONE;
}

/* ---- warnings: nothing here is an error */

static void warn_logistic(const void *room, const efface_model *model, const cli_chosen *chosen) {
    const efface_logistic_params params = efface_logistic_get_params(model);
    const efface_model_info info = efface_model_get_info(model);
    const efface_predictor *const by = efface_model_predictor(model);
    efface_table table;
    double quality[4];
    bool ended = true;
    (void)room;
    (void)chosen;
    if (info.n_classes == 0)
        cli_warn("the model cannot predict yet: no row has a class");
    else if (info.n_classes == 1)
        cli_warn("all rows have one class, which is all that the model can predict");
    if (efface_predictor_find_table(by, "quality", &table, NULL) == EFFACE_OK)
        for (uint64_t i = 0; i < table.n_rows; i++)
            if (efface_predictor_read_table(by, "quality", i, NULL, quality, NULL) == EFFACE_OK)
                ended &= quality[2] < (double)params.steps;
    if (!ended)
        cli_warn("the fit ended at its last step, --steps %" PRIu32
                 "; if classes lie apart, a larger --alpha keeps coefficients small",
                 params.steps);
}

/* ---- what info says */

static const cli_section_column term_columns[] = {
    {"coefficient", "coefficient", CLI_CELL_REAL},
    {"error", "std. error", CLI_CELL_REAL},
    {"z", "z", CLI_CELL_REAL},
};

/* What the tables say of one function. */
typedef struct function {
    double *terms, *errors;
    bool has_errors;
} function;

static bool read_row(const cli_named_predictor *of, const char *name, uint64_t row, double *values,
                     efface_error *why) {
    return efface_predictor_read_table(of->predictor, name, row, cli_named_offsets(of), values,
                                       why) == EFFACE_OK;
}

static void add_quality(const cli_named_predictor *of, uint64_t number, cli_facts *facts) {
    efface_table table;
    efface_error error;
    double quality[4];
    if (efface_predictor_find_table(of->predictor, "quality", &table, &error) != EFFACE_OK ||
        table.n_columns != 4 || !read_row(of, "quality", number, quality, &error))
        return;
    for (uint32_t j = 0; j < table.n_columns; j++) {
        const efface_fact fact = {
            .name = table.names[j], .kind = EFFACE_FACT_REAL, .real = quality[j]};
        cli_facts_add(facts, &fact);
    }
}

static int add_function(cli_model_details *d, const efface_table *table, uint64_t number,
                        const char *title, function *f) {
    const cli_named_predictor of = cli_named_of(d);
    char made_up[CLI_MADE_UP];
    efface_error error;
    if (!read_row(&of, "coefficients", number, f->terms, &error))
        return cli_report_error(&error);
    f->has_errors = read_row(&of, "errors", number, f->errors, &error);
    const uint32_t first = efface_logistic_get_params(d->model).intercept != 0 ? 0 : 1;
    cli_section *const s = cli_sections_add(&d->sections, term_columns, f->has_errors ? 3 : 1,
                                            table->n_columns - first);
    if (s == NULL)
        return cli_out_of_memory();
    s->one = "function";
    s->several = "functions";
    s->row_name = "term";
    s->rows_name = "terms";
    s->table = "coefficients";
    s->title = strdup(title);
    for (uint32_t j = first; j < table->n_columns; j++) {
        double *const cells = s->values + s->n_columns * (size_t)(j - first);
        cli_section_name(s, j - first, cli_table_column(&of, table, j, made_up));
        cells[0] = f->terms[j];
        if (!f->has_errors)
            continue;
        cells[1] = f->errors[j];
        cells[2] = f->errors[j] > 0.0 ? f->terms[j] / f->errors[j] : (double)NAN;
    }
    add_quality(&of, number, &s->facts);
    return s->title != NULL ? CLI_DONE : cli_out_of_memory();
}

static int add_functions(cli_model_details *d, const cli_classes *classes) {
    const cli_named_predictor of = cli_named_of(d);
    efface_table table;
    efface_error error;
    function f = {0};
    if (efface_predictor_find_table(of.predictor, "coefficients", &table, &error) != EFFACE_OK)
        return CLI_DONE;
    f.terms = calloc(table.n_columns + (size_t)1, sizeof *f.terms);
    f.errors = calloc(table.n_columns + (size_t)1, sizeof *f.errors);
    int code = f.terms != NULL && f.errors != NULL ? CLI_DONE : cli_out_of_memory();
    for (uint64_t i = 0; i < table.n_rows && code == CLI_DONE; i++) {
        char digits[CLI_MADE_UP];
        code = add_function(d, &table, i, cli_class_name(classes, table.row_ids[i], digits), &f);
    }
    free(f.terms);
    free(f.errors);
    return code;
}

static int add_logistic_details(cli_model_details *d) {
    const cli_named_predictor of = cli_named_of(d);
    cli_classes classes;
    cli_section *s;
    int code = cli_add_classes(d, 2, "coefficients", &s);
    if (code != CLI_DONE)
        return code;
    code = cli_read_classes(&of, &classes);
    if (code == CLI_DONE)
        code = add_functions(d, &classes);
    cli_classes_free(&classes);
    return code;
}

/* ---- the table. What both entries have in common comes first. */

/* clang-format off */
#define OF_LOGISTIC                             \
    .number = EFFACE_FAMILY_LOGISTIC,           \
    .is_alone = true,                           \
    .n_bytes = sizeof(choices),                 \
    .begin = begin_logistic,                    \
    .ask = ask_logistic,                        \
    .needs = CLI_NEEDS_CLASSES,                 \
    .warn = warn_logistic,                      \
    .add_details = add_logistic_details

#define USAGE(name)                                                                    \
    "usage: efface fit DATA --family " name " --class COL -o STORE [OPTIONS]\n"        \
    "       efface fit --family " name " -o STORE --model NAME [OPTIONS]\n"

#define OPTION_LINES                                                                   \
    "  --class COL     the column of DATA with the class of each row, a text or a\n"   \
    "                  whole number; rows of a store have their labels already\n"      \
    "  --alpha A       half of A times the squared coefficients is added to the loss;\n" \
    "                  other programs call 1 / A their C (1)\n"                        \
    "  --no-intercept  no constant term\n"                                             \
    "  --lattice W     how far apart coefficients can be, in standard errors; the\n"   \
    "                  wider, the fewer requests take more than a correction (0: as\n" \
    "                  wide as costs no more than a few parts in a thousand)\n"        \
    "  --sample N      rows for each column that the lattice is made for (4); to\n"    \
    "                  forget one of them takes a fit\n"                               \
    "  --steps N       at most (25)\n"                                                 \
    "  --bound B       the largest magnitude of a value\n"                             \
    "Further options are those of efface fit --help. efface info shows coefficients.\n"

const cli_family cli_family_logistic = {
    OF_LOGISTIC,
    .name = "logistic",
    .help = USAGE("logistic")
            "Predicts the class of a row, and probabilities, by logistic regression: one\n"
            "function for two classes, else one for each class against all others.\n"
            OPTION_LINES
            "example: efface fit people.csv --id id --family logistic --class kind \\\n"
            "             -o people.store\n",
    .preset = &(const efface_loss){EFFACE_LOSS_LOGISTIC},
};

const cli_family cli_family_svm = {
    OF_LOGISTIC,
    .name = "svm",
    .help = USAGE("svm")
            "Predicts the class of a row by a linear support vector machine with squared\n"
            "hinge loss: one for two classes, else one for each class against all others.\n"
            OPTION_LINES
            "example: efface fit people.csv --id id --family svm --class kind \\\n"
            "             -o people.store\n",
    .preset = &(const efface_loss){EFFACE_LOSS_SQUARED_HINGE},
};
/* clang-format on */
