/* The classes of a model, for info. */
#include "models/details/model_details.h"

static const cli_section_column class_columns[] = {
    {"rows", "rows", CLI_CELL_WHOLE},
    {"weight", "weight", CLI_CELL_WHOLE},
    {"prior", "prior", CLI_CELL_PART},
};

/* Counts the rows of each class. */
static void count_class_rows(const efface_data *data, const cli_classes *classes, cli_section *s) {
    for (size_t i = 0; i < efface_data_n_rows(data); i++) {
        const efface_row row = efface_data_row(data, i);
        const uint32_t place = cli_class_place(classes, row.label);
        if (place == classes->n)
            continue;
        double *const cells = s->values + s->n_columns * (size_t)place;
        cells[0] += 1.0;
        cells[1] += (double)row.weight;
    }
}

int cli_add_classes(cli_model_details *d, uint32_t n_columns, const char *table,
                    cli_section **section) {
    const cli_named_predictor of = cli_named_of(d);
    cli_classes classes;
    int code = cli_read_classes(&of, &classes);
    cli_section *const s = code == CLI_DONE
                               ? cli_sections_add(&d->sections, class_columns, n_columns, classes.n)
                               : NULL;
    if (s != NULL) {
        s->row_name = "class";
        s->rows_name = "classes";
        s->table = table;
        for (uint32_t i = 0; i < classes.n; i++) {
            char digits[CLI_MADE_UP];
            cli_section_name(s, i, cli_class_name(&classes, classes.numbers[i], digits));
        }
        count_class_rows(d->data, &classes, s);
    } else if (code == CLI_DONE) {
        code = cli_out_of_memory();
    }
    cli_classes_free(&classes);
    *section = s;
    return code;
}
