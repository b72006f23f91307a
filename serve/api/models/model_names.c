/* Names of the parts of a model (model_names.h). */
#include "api/models/model_names.h"

#include "api/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MADE_UP_BYTES 40

json_t *sv_json_column(const sv_snapshot *of, uint32_t column) {
    const char *const name = of->names[column];
    char made_up[MADE_UP_BYTES];
    (void)snprintf(made_up, sizeof made_up, "column%" PRIu32, column + 1);
    return sv_json_text(name != NULL ? name : made_up);
}

static int compare_classes(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

const char *sv_class_text(const sv_snapshot *of, int64_t number) {
    const int64_t *const found =
        bsearch(&number, of->classes, of->info.n_classes, sizeof number, compare_classes);
    return found != NULL ? of->class_texts[found - of->classes] : NULL;
}

json_t *sv_json_class(const sv_snapshot *of, int64_t number) {
    return sv_json_label(number, sv_class_text(of, number));
}

json_t *sv_json_classes(const sv_snapshot *of) {
    json_t *const list = json_array();
    for (uint32_t i = 0; i < of->info.n_classes; i++)
        sv_json_add(list, sv_json_label(of->classes[i], of->class_texts[i]));
    return list;
}

json_t *sv_json_table_column(const sv_snapshot *of, const efface_table *table, uint32_t column) {
    char made_up[MADE_UP_BYTES];
    if (column < table->n_named)
        return sv_json_text(table->names[column]);
    const uint32_t place = column - table->n_named;
    if (table->columns != NULL)
        return sv_json_column(of, table->columns[place]);
    if (table->part_name == NULL)
        return sv_json_column(of, place);
    (void)snprintf(made_up, sizeof made_up, "%.16s%" PRIu32, table->part_name, place + 1);
    return sv_json_text(made_up);
}

json_t *sv_json_table_row(const sv_snapshot *of, const efface_table *table, uint64_t row) {
    switch (table->rows) {
    case EFFACE_TABLE_CLASSES: return sv_json_class(of, table->row_ids[row]);
    case EFFACE_TABLE_COLUMNS: return sv_json_column(of, (uint32_t)table->row_ids[row]);
    case EFFACE_TABLE_NUMBERED: break;
    }
    return sv_json_count(row);
}
