/* What info says of a forest: its classes, and the inputs that matter most. */
#include "models/families/family_forest_details.h"

#include <stdlib.h>

static const cli_section_column importance_columns[] = {
    {"share", "importance", CLI_CELL_PART},
};

/* An input and its share of what splits have gained. */
typedef struct importance {
    uint32_t column;
    double share;
} importance;

/* The largest first; of equals, in their order. */
static int compare_importances(const void *a, const void *b) {
    const importance *const x = a, *const y = b;
    if (x->share != y->share)
        return x->share < y->share ? 1 : -1;
    return (x->column > y->column) - (x->column < y->column);
}

static int read_importances(const cli_named_predictor *of, const efface_table *table,
                            importance *out) {
    double *const row = calloc(table->n_columns + (size_t)1, sizeof *row);
    efface_error error;
    int code = row != NULL ? CLI_DONE : cli_out_of_memory();
    for (uint64_t i = 0; i < table->n_rows && code == CLI_DONE; i++) {
        code = cli_outcome(efface_predictor_read_table(of->predictor, table->name, i,
                                                       cli_named_offsets(of), row, &error),
                           &error);
        out[i] = (importance){(uint32_t)table->row_ids[i], row[0]};
    }
    free(row);
    return code;
}

static int add_importances(cli_model_details *d) {
    enum { MAX_SHOWN = 5 };
    const cli_named_predictor of = cli_named_of(d);
    efface_table table;
    if (efface_predictor_find_table(of.predictor, "importances", &table, NULL) != EFFACE_OK)
        return CLI_DONE;
    const uint32_t n = (uint32_t)table.n_rows;
    importance *const found = calloc(n + (size_t)1, sizeof *found);
    cli_section *const s = cli_sections_add(&d->sections, importance_columns, 1, n);
    int code =
        found != NULL && s != NULL ? read_importances(&of, &table, found) : cli_out_of_memory();
    if (code == CLI_DONE) {
        qsort(found, n, sizeof *found, compare_importances);
        s->row_name = "input";
        s->rows_name = "importances";
        s->table = "importances";
        s->max_shown = MAX_SHOWN;
    }
    for (uint32_t i = 0; i < n && code == CLI_DONE; i++) {
        char made_up[CLI_MADE_UP];
        cli_section_name(s, i, cli_named_column(&of, found[i].column, made_up));
        s->values[i] = found[i].share;
    }
    free(found);
    return code;
}

static void add_target_name(cli_model_details *d, uint32_t target) {
    const cli_named_predictor of = cli_named_of(d);
    char made_up[CLI_MADE_UP];
    const efface_fact fact = {
        .name = "target", .kind = EFFACE_FACT_TEXT, .text = cli_named_column(&of, target, made_up)};
    cli_facts_add(&d->measures, &fact);
}

int cli_forest_add_details(cli_model_details *d) {
    const uint32_t target = efface_forest_get_params(d->model).target;
    cli_section *classes;
    int code = CLI_DONE;
    if (target != EFFACE_NO_COLUMN)
        add_target_name(d, target);
    else
        code = cli_add_classes(d, 2, NULL, &classes);
    CLI_THEN(code, add_importances(d));
    return code;
}
