/* The rows that a body is about (whom.h). */
#include "api/rows/whom.h"

#include "api/values.h"
#include "wiping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two lists of a body that name the same kind of thing: by numbers and by texts. */
typedef struct naming {
    const char *numbers, *texts; /* names of the members */
    efface_ids kind;             /* what the store has */
    bool owners;
} naming;

static bool refuse_list(sv_request *request, const char *name, const char *what) {
    char message[160];
    (void)snprintf(message, sizeof message, "%s must be an array of %s", name, what);
    return sv_refuse(request, 400, "whom", message);
}

static bool read_id(sv_request *request, const naming *by, const json_t *value, uint64_t *out) {
    if (!sv_json_to_whole(value, out))
        return refuse_list(request, by->numbers, "whole numbers, or of strings of digits");
    if (!by->owners || *out != EFFACE_NO_OWNER)
        return true;
    return sv_refuse(request, 400, "whom",
                     "one of the owners is the number that stands for no owner");
}

static bool read_name(sv_request *request, const naming *by, const sv_facts *facts,
                      const json_t *value, sv_whom *whom, uint64_t *out) {
    const size_t n = json_string_length(value);
    efface_name name;
    efface_error error;
    if (!json_is_string(value) || n == 0)
        return refuse_list(request, by->texts, "strings that are not empty");
    if (by->kind == EFFACE_IDS_NUMBERS) {
        char message[160];
        (void)snprintf(message, sizeof message,
                       "the store has numbers here, not texts: name them in %s", by->numbers);
        return sv_refuse(request, 400, "whom", message);
    }
    if (efface_name_normalize(json_string_value(value), n, EFFACE_IDS_TEXT, facts->hash_key, &name,
                              &error) != EFFACE_OK)
        return sv_refuse_name(request, "whom", &error);
    *out = name.number;
    if (whom->text == NULL) {
        whom->text = strndup(name.text, name.n_bytes);
        whom->text_is_owner = by->owners;
    }
    const efface_status status =
        efface_texts_add(whom->texts, by->owners ? EFFACE_TEXT_OWNER : EFFACE_TEXT_ID, name.number,
                         name.text, name.n_bytes, &error);
    efface_name_clear(&name);
    return status == EFFACE_OK || sv_refuse_error(request, &error);
}

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Numbers in ascending order, each once. */
static size_t sort_out(uint64_t *numbers, size_t n) {
    size_t n_kept = 0;
    qsort(numbers, n, sizeof *numbers, compare_ids);
    for (size_t i = 0; i < n; i++)
        if (n_kept == 0 || numbers[i] != numbers[n_kept - 1])
            numbers[n_kept++] = numbers[i];
    return n_kept;
}

static bool read_lists(sv_request *request, const json_t *body, const sv_facts *facts,
                       const naming *by, sv_whom *whom, uint64_t **out, size_t *n_out) {
    const json_t *const numbers = json_object_get(body, by->numbers);
    const json_t *const texts = json_object_get(body, by->texts);
    if (numbers != NULL && !json_is_array(numbers))
        return refuse_list(request, by->numbers, "whole numbers, or of strings of digits");
    if (texts != NULL && !json_is_array(texts))
        return refuse_list(request, by->texts, "strings");
    const size_t n_numbers = json_array_size(numbers), n_texts = json_array_size(texts);
    uint64_t *const list = calloc(n_numbers + n_texts + 1, sizeof *list);
    if (list == NULL)
        return sv_refuse_memory(request);
    *out = list;
    for (size_t i = 0; i < n_numbers; i++)
        if (!read_id(request, by, json_array_get(numbers, i), &list[i]))
            return false;
    for (size_t i = 0; i < n_texts; i++)
        if (!read_name(request, by, facts, json_array_get(texts, i), whom, &list[n_numbers + i]))
            return false;
    *n_out = sort_out(list, n_numbers + n_texts);
    return true;
}

/* Before names are looked at, which takes time. */
static bool check_length(sv_request *request, const json_t *body, const naming *by,
                         size_t *n_left) {
    const size_t n = json_array_size(json_object_get(body, by->numbers)) +
                     json_array_size(json_object_get(body, by->texts));
    if (n > *n_left)
        return sv_refuse(request, 413, "too_long",
                         "the request names too many rows and people; send several requests, or "
                         "forget with skip_missing, and without hashes, as a job");
    *n_left -= n;
    return true;
}

bool sv_whom_read(sv_request *request, const json_t *body, const sv_facts *facts, size_t most,
                  sv_whom *out) {
    const naming ids = {"ids", "keys", facts->ids, false};
    const naming owners = {"owners", "owner_keys", facts->owners, true};
    efface_error error;
    memset(out, 0, sizeof *out);
    if (efface_texts_create(&out->texts, &error) != EFFACE_OK)
        return sv_refuse_memory(request);
    out->request.texts = out->texts;
    out->id_kind = facts->ids;
    out->owner_kind = facts->owners;
    if (!check_length(request, body, &ids, &most) || !check_length(request, body, &owners, &most) ||
        !read_lists(request, body, facts, &ids, out, &out->ids, &out->request.n_ids) ||
        !read_lists(request, body, facts, &owners, out, &out->owners, &out->request.n_owners))
        return false;
    out->request.ids = out->ids;
    out->request.owners = out->owners;
    if (out->request.n_ids != 0 || out->request.n_owners != 0)
        return true;
    return sv_refuse(request, 400, "whom",
                     "name at least one row or owner in ids, keys, owners or "
                     "owner_keys");
}

void sv_whom_free(sv_whom *whom) {
    sv_wipe_free(whom->ids, whom->request.n_ids * sizeof *whom->ids);
    efface_texts_free(whom->texts);
    if (whom->text != NULL)
        sv_wipe_free(whom->text, strlen(whom->text));
    sv_wipe_free(whom->owners, whom->request.n_owners * sizeof *whom->owners);
    memset(whom, 0, sizeof *whom);
}
