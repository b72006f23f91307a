/* POST .../find: what a store has of a person. */
#include "api/api.h"
#include "api/rows/whom.h"
#include "api/values.h"
#include "wiping.h"

#define USUAL_LIMIT 100
#define MAX_ROWS 1000
#define MAX_FOUND 1000 /* names: changes wait for a reading */
#define LONG_LIST 4096 /* bytes of a body: looking for so many waits for its turn to read */

/* The text of a number, as JSON; null if the store keeps none. */
static efface_status text_of(efface_store *store, efface_text_kind kind, uint64_t number,
                             json_t **out, efface_error *error) {
    char *text = NULL;
    const efface_status status = efface_store_text(store, kind, number, &text, error);
    *out = sv_json_text(text);
    efface_text_free(text);
    return status;
}

static efface_status describe_row(efface_store *store, bool keeps_texts, const efface_data *rows,
                                  size_t position, json_t *out, efface_error *error) {
    const uint32_t n = efface_data_n_columns(rows);
    const efface_row row = efface_data_row(rows, position);
    const bool has_owner = row.owner != EFFACE_NO_OWNER, has_label = row.label != EFFACE_NO_LABEL;
    float *const floats = calloc((size_t)n + 1, sizeof *floats);
    double *const values = calloc((size_t)n + 1, sizeof *values);
    json_t *list = NULL, *key = NULL, *owner_key = NULL;
    char *label = NULL;
    efface_status status = EFFACE_OK;
    if (floats != NULL && values != NULL) {
        efface_data_values(rows, position, floats);
        for (uint32_t j = 0; j < n; j++)
            values[j] = floats[j];
        efface_data_add_offsets(rows, values);
        list = sv_json_reals(values, n);
    }
    sv_wipe_free(floats, n * sizeof *floats);
    sv_wipe_free(values, n * sizeof *values);
    if (has_label)
        status = efface_store_text(store, EFFACE_TEXT_LABEL, (uint64_t)row.label, &label, error);
    if (status == EFFACE_OK && keeps_texts)
        status = text_of(store, EFFACE_TEXT_ID, row.id, &key, error);
    if (status == EFFACE_OK && keeps_texts && has_owner)
        status = text_of(store, EFFACE_TEXT_OWNER, row.owner, &owner_key, error);
    sv_json_set(out, "id", sv_json_number(row.id));
    sv_json_set(out, "owner", has_owner ? sv_json_number(row.owner) : json_null());
    sv_json_set(out, "label", has_label ? sv_json_label(row.label, label) : json_null());
    sv_json_set(out, "weight", json_integer(row.weight));
    sv_json_set(out, "values", list);
    sv_json_set(out, "key", key != NULL ? key : json_null());
    sv_json_set(out, "owner_key", owner_key != NULL ? owner_key : json_null());
    efface_text_free(label);
    return status;
}

static efface_status describe_rows(efface_store *store, const efface_data *rows, size_t limit,
                                   json_t **out, efface_error *error) {
    const size_t n_rows = efface_data_n_rows(rows);
    json_t *const list = json_array(), *const columns = json_array();
    efface_store_info info;
    efface_status status = efface_store_get_info(store, &info, error);
    for (size_t i = 0; status == EFFACE_OK && i < n_rows && i < limit; i++) {
        json_t *const row = json_object();
        status = describe_row(store, info.keeps_texts != 0, rows, i, row, error);
        sv_json_add(list, row);
    }
    for (uint32_t j = 0; j < efface_data_n_columns(rows); j++)
        sv_json_add(columns, sv_json_text(efface_data_column_name(rows, j)));
    *out =
        json_pack("{s:o,s:o,s:o}", "rows", list, "columns", columns, "of", sv_json_count(n_rows));
    return status;
}

/* Who finds nobody may have mistaken the name. */
static efface_status add_hint(efface_store *store, const sv_whom *whom, json_t *json,
                              efface_error *error) {
    const bool owner = whom->text != NULL ? whom->text_is_owner : whom->request.n_ids == 0;
    char *hint = NULL;
    const efface_status status = efface_store_hint(
        store, owner ? EFFACE_TEXT_OWNER : EFFACE_TEXT_ID, whom->text, &hint, error);
    if (status == EFFACE_OK)
        sv_json_set(json, "hint", sv_json_text(hint));
    efface_text_free(hint);
    return status;
}

static bool read_limit(sv_request *request, const json_t *body, size_t *out) {
    const json_t *const value = json_object_get(body, "limit");
    *out = value != NULL ? (size_t)json_integer_value(value) : USUAL_LIMIT;
    if (value == NULL || (json_is_integer(value) && *out >= 1 && *out <= MAX_ROWS))
        return true;
    return sv_refuse(request, 400, "member", "limit must be a whole number from 1 to 1000");
}

static void find_rows(sv_request *request, sv_whom *whom, size_t limit) {
    efface_store *store = NULL;
    efface_data *rows = NULL;
    json_t *json = NULL;
    efface_error error;
    const double begin = sv_worked();
    whom->request.missing = EFFACE_MISSING_SKIP;
    efface_status status = sv_room_open(request->room, &store, NULL, &error);
    if (status == EFFACE_OK)
        status = efface_store_find(store, &whom->request, &rows, &error);
    if (status == EFFACE_OK)
        status = describe_rows(store, rows, limit, &json, &error);
    if (status == EFFACE_OK && efface_data_n_rows(rows) == 0)
        status = add_hint(store, whom, json, &error);
    sv_reply_result(request, json, status, &error);
    efface_data_free(rows);
    efface_store_close(store);
    sv_note_reading(request, sv_worked() - begin); /* few names may be those of many rows */
}

sv_when sv_post_find(sv_request *request) {
    static const char *const members[] = {"ids", "keys", "owners", "owner_keys", "limit", NULL};
    sv_whom whom = {.ids = NULL};
    const sv_facts *facts = NULL;
    efface_error error;
    size_t limit = 0;
    if (request->at != SV_ON_READER && (request->n_body > LONG_LIST || sv_reads_much(request))) {
        sv_move(request, SV_ON_READER);
        return SV_LATER;
    }
    json_t *const body = sv_body_json(request);
    if (body == NULL)
        return SV_NOW;
    if (sv_facts_take(request->room, &facts, &error) != EFFACE_OK) {
        sv_refuse_error(request, &error);
    } else {
        if (sv_check_members(request, body, members) && read_limit(request, body, &limit) &&
            sv_whom_read(request, body, facts, MAX_FOUND, &whom))
            find_rows(request, &whom, limit);
        sv_facts_drop(request->room, facts);
    }
    sv_whom_free(&whom);
    json_decref(body);
    return SV_NOW;
}
