/* A model, and the tables that it can be looked at through. */
#include "api/api.h"
#include "api/models/model_names.h"
#include "api/values.h"

#include <stdlib.h>

#define MAX_TABLE_ROWS 10000
#define MAX_TABLE_NUMBERS 1000000     /* in one reply */
#define MAX_EXACT (UINT64_C(1) << 53) /* whole numbers that JavaScript has exactly */

static json_t *fact_value(const efface_fact *fact) {
    switch (fact->kind) {
    case EFFACE_FACT_WHOLE:
        return fact->whole <= MAX_EXACT ? sv_json_count(fact->whole) : sv_json_number(fact->whole);
    case EFFACE_FACT_REAL: return sv_json_real(fact->real);
    case EFFACE_FACT_TEXT: return sv_json_text(fact->text);
    case EFFACE_FACT_YES_NO: return json_boolean(fact->whole != 0);
    case EFFACE_FACT_NONE: break;
    }
    return json_null();
}

static void add_fact(void *facts, const efface_fact *fact) {
    sv_json_add(facts, json_pack("{s:o,s:o,s:b}", "name", sv_json_text(fact->name), "value",
                                 fact_value(fact), "parameter", fact->is_parameter != 0));
}

static const char *predicts_name(const efface_model_info *info) {
    static const char *const names[] = {
        [EFFACE_PREDICTS_CLUSTERS] = "clusters",
        [EFFACE_PREDICTS_CLASSES] = "classes",
        [EFFACE_PREDICTS_VALUES] = "values",
        [EFFACE_PREDICTS_PROBABILITIES] = "probabilities",
    };
    return info->n_numbers != 0 ? names[info->predicts] : "nothing";
}

static json_t *list_columns(const sv_snapshot *o) {
    json_t *const list = json_array();
    for (uint32_t j = 0; j < o->info.n_columns; j++)
        sv_json_add(list, json_pack("{s:o,s:b,s:b}", "name", sv_json_text(o->names[j]), "input",
                                    efface_predictor_is_input(o->predictor, j), "category",
                                    efface_predictor_is_category(o->predictor, j)));
    return list;
}

static json_t *list_tables(const sv_snapshot *o) {
    json_t *const list = json_array();
    efface_table table;
    efface_error error;
    for (uint32_t i = 0; efface_predictor_get_table(o->predictor, i, &table, &error) == EFFACE_OK;
         i++)
        sv_json_add(list, json_pack("{s:s,s:o,s:o}", "name", table.name, "rows",
                                    sv_json_count(table.n_rows), "columns",
                                    sv_json_count(table.n_columns)));
    return list;
}

static json_t *describe_model(const sv_snapshot *o) {
    json_t *const facts = json_array();
    efface_model_describe(o->model, add_fact, facts);
    return json_pack("{s:s,s:s,s:o,s:o,s:I,s:o,s:b,s:s,s:o,s:o,s:o,s:o}", "name", o->name, "kind",
                     o->info.kind, "commitment", sv_json_digest(o->commitment), "rows",
                     sv_json_count(o->info.n_rows), "weight", (json_int_t)o->info.total_weight,
                     "columns", list_columns(o), "missing",
                     efface_predictor_takes_missing(o->predictor), "predicts",
                     predicts_name(&o->info), "numbers", sv_json_count(o->info.n_numbers),
                     "classes", sv_json_classes(o), "facts", facts, "tables", list_tables(o));
}

sv_when sv_get_model(sv_request *request) {
    sv_snapshot *snapshot = NULL;
    efface_error error;
    const efface_status status =
        sv_snapshot_take(request->room, request->parts[1], false, &snapshot, &error);
    sv_reply_result(request, status == EFFACE_OK ? describe_model(snapshot) : NULL, status, &error);
    sv_snapshot_drop(request->room, snapshot);
    return SV_NOW;
}

/* ---------------------------------------------------------------- tables */

static json_t *read_table_row(const sv_snapshot *o, const efface_table *table, uint64_t row,
                              double *values, efface_error *error) {
    if (efface_predictor_read_table(o->predictor, table->name, row, o->offsets, values, error) !=
        EFFACE_OK)
        return NULL;
    return json_pack("{s:o,s:o}", "row", sv_json_table_row(o, table, row), "values",
                     sv_json_reals(values, table->n_columns));
}

/* Rows of a table; NULL, with an error, if one cannot be read. */
static json_t *read_table_rows(const sv_snapshot *o, const efface_table *table, uint64_t from,
                               uint64_t end, efface_error *error) {
    double *const values = calloc(table->n_columns + (size_t)1, sizeof *values);
    json_t *rows = json_array();
    *error = (efface_error){.status = EFFACE_E_MEMORY};
    for (uint64_t i = from; i < end && rows != NULL; i++)
        if (values == NULL ||
            json_array_append_new(rows, read_table_row(o, table, i, values, error)) != 0) {
            json_decref(rows);
            rows = NULL;
        }
    free(values);
    return rows;
}

static json_t *show_table(const sv_snapshot *o, const efface_table *table, uint64_t from,
                          uint64_t count, efface_error *error) {
    const uint64_t n_left = from < table->n_rows ? table->n_rows - from : 0;
    const uint64_t n = count < n_left ? count : n_left;
    json_t *const rows = read_table_rows(o, table, from, from + n, error);
    if (rows == NULL)
        return NULL;
    json_t *const columns = json_array();
    for (uint32_t j = 0; j < table->n_columns; j++)
        sv_json_add(columns, sv_json_table_column(o, table, j));
    return json_pack("{s:s,s:s,s:o,s:o,s:o}", "name", table->name, "row_name", table->row_name,
                     "columns", columns, "rows", rows, "of", sv_json_count(table->n_rows));
}

sv_when sv_get_table(sv_request *request) {
    sv_snapshot *snapshot = NULL;
    efface_table table;
    uint64_t from, count;
    efface_error error;
    if (!sv_query_whole(request, "from", 0, UINT64_MAX, 0, &from) ||
        !sv_query_whole(request, "count", 1, MAX_TABLE_ROWS, 100, &count))
        return SV_NOW;
    efface_status status =
        sv_snapshot_take(request->room, request->parts[1], false, &snapshot, &error);
    if (status == EFFACE_OK)
        status =
            efface_predictor_find_table(snapshot->predictor, request->parts[2], &table, &error);
    json_t *json = NULL;
    if (status == EFFACE_OK) {
        /* The reader asks again for the rows that did not fit. */
        const uint64_t most = 1 + MAX_TABLE_NUMBERS / (table.n_columns + (uint64_t)1);
        json = show_table(snapshot, &table, from, count < most ? count : most, &error);
    }
    sv_reply_result(request, json, json != NULL ? EFFACE_OK : error.status, &error);
    sv_snapshot_drop(request->room, snapshot);
    return SV_NOW;
}
