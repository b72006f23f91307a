/* The classes of a model, for info. */
#include "models/details/class_details.h"

#include "models/answers/asked.h"

#include <stdlib.h>
#include <string.h>

static const cli_section_column class_columns[] = {
    {"rows", "rows", CLI_CELL_WHOLE},
    {"weight", "weight", CLI_CELL_WHOLE},
    {"prior", "prior", CLI_CELL_PART},
};

static int compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Counts the rows of each class. */
static void count_rows(const efface_data *data, const cli_classes *classes, cli_section *s) {
    for (size_t i = 0; i < efface_data_n_rows(data) && classes->n > 0; i++) {
        const efface_row row = efface_data_row(data, i);
        const int64_t *const found =
            bsearch(&row.label, classes->numbers, classes->n, sizeof row.label, compare);
        if (found == NULL)
            continue;
        double *const cells = s->values + s->n_columns * (size_t)(found - classes->numbers);
        cells[0] += 1.0;
        cells[1] += (double)row.weight;
    }
}

cli_section *cli_add_classes(cli_model_details *d, uint32_t n_columns, const char *table,
                             int *code) {
    const cli_asked of = {
        .name = d->about.name, .model = d->model, .data = d->data, .store = d->store};
    cli_classes classes;
    *code = cli_read_classes(&of, &classes);
    cli_section *const s = *code == CLI_DONE
                               ? cli_sections_add(&d->sections, class_columns, n_columns, classes.n)
                               : NULL;
    if (*code == CLI_DONE && s == NULL)
        *code = cli_out_of_memory();
    if (*code == CLI_DONE) {
        s->row_name = "class";
        s->rows_name = "classes";
        s->table = table;
    }
    for (uint32_t i = 0; i < classes.n && *code == CLI_DONE; i++) {
        char digits[CLI_MADE_UP];
        s->names[i] = strdup(cli_class_name(&classes, classes.numbers[i], digits));
        if (s->names[i] == NULL)
            *code = cli_out_of_memory();
    }
    if (*code == CLI_DONE)
        count_rows(d->data, &classes, s);
    cli_classes_free(&classes);
    return *code == CLI_DONE ? s : NULL;
}
