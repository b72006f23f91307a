/* Rows to learn or to update (row_bodies.h). */
#include "api/rows/row_bodies.h"
#include "api/values.h"
#include "wiping.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* A set that is read, row by row. */
typedef struct reading {
    sv_request *request;
    const sv_facts *facts;
    sv_columns columns;
    efface_texts *texts;
    size_t n_rows;
    double *values; /* of one row */
    float *rounded;
    uint64_t *ids, *owners;
    int64_t *labels, *weights;
    /* Rows that have one: a set without any must be given none. */
    size_t n_ids, n_owners, n_labels, n_weights;
    efface_ids id_kind, owner_kind, label_kind; /* what the rows before have */
} reading;

static bool refuse_rows(const reading *r, const char *message) {
    return sv_refuse(r->request, 400, "rows", message);
}

/* The store has one kind of ids, owners and labels, and so has a request. */
static bool fix_kind(const reading *r, efface_ids *kind, efface_ids comes) {
    if (*kind == EFFACE_IDS_DETECT)
        *kind = comes;
    if (*kind == comes)
        return true;
    return refuse_rows(r, comes == EFFACE_IDS_TEXT
                              ? "a row has a text where the store has numbers"
                              : "a row has a number where the store has texts");
}

static bool keep_text(const reading *r, efface_text_kind kind, uint64_t number, const char *value,
                      size_t n) {
    efface_error error;
    if (n == 0 || memchr(value, 0, n) != NULL)
        return refuse_rows(r, "a text must not be empty, and have no character of code 0");
    return efface_texts_add(r->texts, kind, number, value, n, &error) == EFFACE_OK ||
           sv_refuse_error(r->request, &error);
}

/* An id or an owner: a number in one member, or a text in another. `found` says whether there is
 * one. */
static bool read_name(const reading *r, const json_t *number, const json_t *text, efface_ids *kind,
                      efface_text_kind text_kind, uint64_t *out, bool *found) {
    *found = number != NULL || text != NULL;
    if (number != NULL && text != NULL)
        return refuse_rows(r, "a row must not have both a number and a text as its id or owner");
    if (number != NULL) {
        if (!sv_json_to_whole(number, out))
            return refuse_rows(r, "an id or an owner must be a whole number; or a text, as key or "
                                  "owner_key");
        return fix_kind(r, kind, EFFACE_IDS_NUMBERS);
    }
    if (text == NULL)
        return true;
    if (!json_is_string(text))
        return refuse_rows(r, "key and owner_key must be texts");
    efface_name name;
    efface_error error;
    if (efface_name_normalize(json_string_value(text), json_string_length(text), EFFACE_IDS_TEXT,
                              r->facts->hash_key, &name, &error) != EFFACE_OK)
        return sv_refuse_name(r->request, "rows", &error);
    *out = name.number;
    const bool ok = fix_kind(r, kind, EFFACE_IDS_TEXT) &&
                    keep_text(r, text_kind, *out, name.text, name.n_bytes);
    efface_name_clear(&name);
    return ok;
}

static bool read_label(reading *r, const json_t *label, int64_t *out) {
    *out = EFFACE_NO_LABEL;
    if (label == NULL)
        return true;
    if (json_is_integer(label)) {
        *out = json_integer_value(label);
        return *out != EFFACE_NO_LABEL
                   ? fix_kind(r, &r->label_kind, EFFACE_IDS_NUMBERS)
                   : refuse_rows(r, "a label is the number that stands for none");
    }
    if (!json_is_string(label))
        return refuse_rows(r, "a label must be a whole number or a text");
    *out = efface_text_label(json_string_value(label), json_string_length(label));
    return fix_kind(r, &r->label_kind, EFFACE_IDS_TEXT) &&
           keep_text(r, EFFACE_TEXT_LABEL, (uint64_t)*out, json_string_value(label),
                     json_string_length(label));
}

static bool read_weight(reading *r, const json_t *weight, int64_t *out) {
    *out = 1;
    if (weight == NULL)
        return true;
    r->n_weights++;
    if (!json_is_integer(weight) || json_integer_value(weight) < 1 ||
        json_integer_value(weight) >= EFFACE_MAX_WEIGHT)
        return refuse_rows(r, "a weight must be a whole number from 1 on, below 2^40");
    *out = json_integer_value(weight);
    return true;
}

static bool read_learned_row(reading *r, const json_t *row, size_t i) {
    static const char *const members[] = {"values",    "id",    "key",    "owner",
                                          "owner_key", "label", "weight", NULL};
    bool has_id = false, has_owner = false;
    if (!json_is_object(row))
        return refuse_rows(r, "each row must be an object");
    if (!sv_check_members(r->request, row, members) ||
        !sv_read_values(r->request, json_object_get(row, "values"), &r->columns, r->values) ||
        !read_name(r, json_object_get(row, "id"), json_object_get(row, "key"), &r->id_kind,
                   EFFACE_TEXT_ID, &r->ids[i], &has_id) ||
        !read_name(r, json_object_get(row, "owner"), json_object_get(row, "owner_key"),
                   &r->owner_kind, EFFACE_TEXT_OWNER, &r->owners[i], &has_owner) ||
        !read_label(r, json_object_get(row, "label"), &r->labels[i]) ||
        !read_weight(r, json_object_get(row, "weight"), &r->weights[i]))
        return false;
    if (!has_owner)
        r->owners[i] = EFFACE_NO_OWNER;
    else if (r->owners[i] == EFFACE_NO_OWNER)
        return refuse_rows(r, "an owner is the number that stands for none");
    r->n_ids += has_id;
    r->n_owners += has_owner;
    r->n_labels += r->labels[i] != EFFACE_NO_LABEL;
    efface_rows_round(1, r->columns.n, r->values, 0, r->columns.offsets,
                      r->rounded + i * r->columns.n);
    return true;
}

static bool make_set(const reading *r, bool update, efface_data **out) {
    efface_data *data = NULL;
    efface_error error;
    if (r->n_ids != r->n_rows && (update || r->n_ids != 0))
        return refuse_rows(r, update ? "each row must have an id or a key"
                                     : "either all rows have an id or a key, or none has");
    if (update && r->n_weights != 0 && r->n_weights != r->n_rows)
        return refuse_rows(r, "either all rows have a weight, or none has");
    const efface_rows rows = {
        .n_rows = r->n_rows,
        .values = r->rounded,
        .ids = r->n_ids != 0 ? r->ids : NULL,
        .weights = r->n_weights != 0 ? r->weights : NULL,
        .owners = r->n_owners != 0 ? r->owners : NULL,
        .labels = r->n_labels != 0 ? r->labels : NULL,
    };
    efface_status status = efface_data_create(r->columns.n, &data, &error);
    if (status == EFFACE_OK)
        status = efface_data_set_offsets(data, r->columns.offsets, &error);
    if (status == EFFACE_OK) {
        if (r->columns.missing)
            efface_data_allow_missing(data);
        efface_data_set_kinds(data, r->id_kind, r->owner_kind);
        status = efface_data_add(data, &rows, &error);
    }
    if (status == EFFACE_OK) {
        *out = data;
        return true;
    }
    efface_data_free(data);
    if (status == EFFACE_E_DUPLICATE)
        return sv_refuse(r->request, 409, "duplicate", "an id comes twice");
    return sv_refuse_error(r->request, &error);
}

static bool read_rows_json(reading *r, bool update, efface_data **out) {
    static const char *const members[] = {"rows", NULL};
    json_t *const body = sv_body_json(r->request);
    if (body == NULL)
        return false;
    const json_t *const rows = json_object_get(body, "rows");
    r->n_rows = json_array_size(rows);
    if (!sv_rows_fit(r->request, r->n_rows)) {
        json_decref(body);
        return false;
    }
    const size_t n = r->n_rows + 1, n_values = r->columns.n;
    r->values = calloc(n_values + 1, sizeof *r->values);
    r->rounded = calloc(n, n_values * sizeof *r->rounded);
    uint64_t *const numbers = calloc(n, 4 * sizeof *numbers);
    bool ok = sv_check_members(r->request, body, members);
    if (ok && r->n_rows == 0)
        ok = refuse_rows(r, "the body must have rows: {\"rows\": [{\"values\": ...}]}");
    if (ok && (r->values == NULL || r->rounded == NULL || numbers == NULL))
        ok = sv_refuse_memory(r->request);
    if (ok) {
        r->ids = numbers;
        r->owners = numbers + n;
        r->labels = (int64_t *)(numbers + 2 * n);
        r->weights = (int64_t *)(numbers + 3 * n);
    }
    for (size_t i = 0; ok && i < r->n_rows; i++)
        ok = read_learned_row(r, json_array_get(rows, i), i);
    if (ok)
        ok = make_set(r, update, out);
    sv_wipe_free(r->values, n_values * sizeof *r->values);
    sv_wipe_free(r->rounded, n * n_values * sizeof *r->rounded);
    sv_wipe_free(numbers, 4 * n * sizeof *numbers);
    json_decref(body);
    return ok;
}

static bool read_rows_csv(reading *r, bool update, efface_data **out) {
    efface_load_options load;
    efface_load_options_init(&load);
    memcpy(load.hash_key, r->facts->hash_key, sizeof load.hash_key);
    load.ids = r->facts->ids;
    load.owners = r->facts->owners;
    load.labels = r->facts->labels;
    load.texts = r->texts;
    load.id_column = sv_query(r->request, "id");
    load.owner_column = sv_query(r->request, "owner");
    load.label_column = sv_query(r->request, "label");
    load.weight_column = sv_query(r->request, "weight");
    const bool ok = update && load.id_column == NULL
                        ? refuse_rows(r, "say which column has the ids: ?id=NAME")
                        : sv_load_csv(r->request, &r->columns, &load, out);
    sodium_memzero(&load, sizeof load);
    return ok;
}

bool sv_read_rows(sv_request *request, const sv_facts *facts, bool update, efface_data **data,
                  efface_texts **texts) {
    efface_error error;
    reading r = {.request = request,
                 .facts = facts,
                 .columns = facts->columns,
                 .id_kind = facts->ids,
                 .owner_kind = facts->owners,
                 .label_kind = facts->labels};
    if (efface_texts_create(&r.texts, &error) != EFFACE_OK)
        return sv_refuse_memory(request);
    if (sv_is_csv(request) ? read_rows_csv(&r, update, data) : read_rows_json(&r, update, data)) {
        *texts = r.texts;
        return true;
    }
    efface_texts_free(r.texts);
    return false;
}
