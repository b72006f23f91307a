/* What the ranks of a store in parts tell each other of it: models from rank 0, owners and labels
 * from all. */
#include "store/cluster/cluster.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <stdlib.h>
#include <string.h>

efface_status ef_team_share(ef_team *team, unsigned char **bytes, size_t *n_bytes,
                            efface_error *error) {
    const bool gives = team->group.rank == 0;
    uint64_t n = gives ? *n_bytes : 0;
    efface_status status = ef_team_broadcast(team, &n, sizeof n, 0, error);
    if (status != EFFACE_OK)
        return status;
    unsigned char *const room = gives ? *bytes : ef_alloc((size_t)n, 1);
    status = room != NULL || n == 0 ? ef_team_broadcast(team, room, (size_t)n, 0, error)
                                    : ef_fail_memory(error);
    if (status == EFFACE_OK) {
        *bytes = room;
        *n_bytes = (size_t)n;
    } else if (!gives) {
        ef_free(room);
    }
    return status;
}

/* ---------------------------------------------------------------- models */

efface_status ef_shared_names(efface_store *store, char (**names)[EFFACE_MODEL_NAME_BYTES],
                              uint32_t *n_names, efface_error *error) {
    ef_team *const team = ef_store_team(store);
    char(*list)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0;
    efface_status status =
        ef_store_leads(store) ? ef_models_list(store, &list, &n, error) : EFFACE_OK;
    if (status == EFFACE_OK) {
        unsigned char *bytes = (unsigned char *)list;
        size_t n_bytes = (size_t)n * sizeof *list;
        status = ef_team_share(team, &bytes, &n_bytes, error);
        if (status == EFFACE_OK) {
            list = (char(*)[EFFACE_MODEL_NAME_BYTES])bytes;
            n = (uint32_t)(n_bytes / sizeof *list);
        }
    }
    if (status != EFFACE_OK) {
        ef_free(list);
        return status;
    }
    *names = list;
    *n_names = n;
    return EFFACE_OK;
}

static void write_blob(ef_writer *w, const void *bytes, size_t n_bytes) {
    ef_write_u64(w, n_bytes);
    if (n_bytes != 0)
        ef_write_bytes(w, bytes, n_bytes);
}

static bool read_blob(ef_decoder *r, unsigned char **bytes, size_t *n_bytes) {
    const size_t n = (size_t)ef_read_u64(r);
    if (!ef_decoder_has(r, n, 1))
        return false;
    *bytes = ef_alloc(n, 1);
    *n_bytes = n;
    if (*bytes != NULL)
        ef_read_bytes(r, *bytes, n);
    return *bytes != NULL;
}

static void encode_record(ef_writer *w, const ef_record *record) {
    ef_writer params = {0};
    record->family->write_params(&params, record->params, record->n_columns);
    w->failed |= params.failed;
    ef_write_bytes(w, record->name, sizeof record->name);
    ef_write_u32(w, (uint32_t)record->family->number);
    ef_write_u32(w, record->n_columns);
    ef_write_u32(w, record->columns != NULL);
    for (uint32_t j = 0; record->columns != NULL && j < record->n_columns; j++)
        ef_write_u32(w, record->columns[j]);
    ef_write_bytes(w, record->digest, sizeof record->digest);
    ef_write_bytes(w, record->salt, sizeof record->salt);
    write_blob(w, params.bytes, params.n_bytes);
    write_blob(w, record->counts, record->n_counts);
    write_blob(w, record->state.bytes, record->state.n_bytes);
    ef_free(params.bytes);
}

static efface_status decode_record(ef_decoder *r, ef_record *record, efface_error *error) {
    ef_read_bytes(r, record->name, sizeof record->name);
    record->family = ef_family_of((efface_family)ef_read_u32(r));
    record->n_columns = ef_read_u32(r);
    if (ef_read_u32(r) != 0 && ef_decoder_has(r, record->n_columns, 4)) {
        record->columns = ef_alloc(record->n_columns, sizeof *record->columns);
        if (record->columns == NULL)
            return ef_fail_memory(error);
        for (uint32_t j = 0; j < record->n_columns; j++)
            record->columns[j] = ef_read_u32(r);
    }
    ef_read_bytes(r, record->digest, sizeof record->digest);
    ef_read_bytes(r, record->salt, sizeof record->salt);
    unsigned char *params = NULL;
    size_t n_params = 0;
    const bool was_read = read_blob(r, &params, &n_params) &&
                          read_blob(r, &record->counts, &record->n_counts) &&
                          read_blob(r, &record->state.bytes, &record->state.n_bytes);
    ef_decoder reader = {.bytes = params, .n_bytes = n_params};
    efface_status status =
        !was_read ? ef_fail_memory(error)
        : record->family == NULL
            ? ef_fail(error, EFFACE_E_GROUP, "the ranks have different versions of efface")
            : record->family->read_params(&reader, record->n_columns, &record->params, error);
    ef_free(params);
    if (status == EFFACE_OK)
        record->kind = record->family->kind(record->params, NULL);
    return status;
}

efface_status ef_record_share(efface_store *store, ef_record *record, efface_error *error) {
    ef_team *const team = ef_store_team(store);
    ef_writer w = {0};
    if (ef_store_leads(store))
        encode_record(&w, record);
    efface_status status =
        w.failed ? ef_fail_memory(error) : ef_team_share(team, &w.bytes, &w.n_bytes, error);
    if (status == EFFACE_OK && !ef_store_leads(store)) {
        ef_decoder r = {.bytes = w.bytes, .n_bytes = w.n_bytes};
        *record = (ef_record){.n_columns = 0};
        status = decode_record(&r, record, error);
        if (status != EFFACE_OK)
            ef_record_free(record);
    }
    ef_free(w.bytes);
    return status;
}

efface_status ef_shared_record(efface_store *store, const char *name, bool with_state,
                               ef_record *record, efface_error *error) {
    *record = (ef_record){.n_columns = 0};
    efface_status status =
        ef_store_leads(store) ? ef_record_read(store, name, with_state, record, error) : EFFACE_OK;
    if (status == EFFACE_OK) {
        status = ef_record_share(store, record, error);
        if (status != EFFACE_OK)
            ef_record_free(record);
    }
    return status;
}

/* ---------------------------------------------------------------- owners and labels */

void ef_member_set_list_free(ef_member_set_list *list) {
    for (size_t i = 0; i < list->n_groups; i++)
        ef_free(list->groups[i].text);
    ef_free(list->groups);
    *list = (ef_member_set_list){NULL, 0};
}

typedef struct gathering {
    ef_writer w;
    ef_member_kind kind;
    bool with_texts;
} gathering;

static efface_status encode_member_set(void *context, const ef_member_set *group,
                                       efface_error *error) {
    (void)error;
    gathering *const g = context;
    if (group->kind != g->kind)
        return EFFACE_OK;
    const char *const text = g->with_texts ? group->text : NULL;
    ef_write_u64(&g->w, group->number);
    ef_write_u64(&g->w, group->n_rows);
    ef_write_u64(&g->w, text != NULL ? strlen(text) + 1 : 0);
    if (text != NULL)
        ef_write_bytes(&g->w, text, strlen(text) + 1);
    return EFFACE_OK;
}

static int compare_member_sets(const void *a, const void *b) {
    const ef_member_set *const x = a, *const y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Groups that several parts have become one. */
static void unite_member_sets(ef_member_set_list *list) {
    size_t n = 0;
    if (list->n_groups != 0)
        qsort(list->groups, list->n_groups, sizeof *list->groups, compare_member_sets);
    for (size_t i = 0; i < list->n_groups; i++) {
        ef_member_set *const next = &list->groups[i];
        ef_member_set *const last = n != 0 ? &list->groups[n - 1] : NULL;
        if (last == NULL || last->number != next->number) {
            list->groups[n++] = *next;
            continue;
        }
        last->n_rows += next->n_rows;
        if (last->text == NULL)
            last->text = next->text;
        else
            ef_free(next->text);
    }
    list->n_groups = n;
}

static efface_status decode_member_sets(const ef_gathered *all, uint32_t n_ranks,
                                        ef_member_set_list *list, efface_error *error) {
    ef_decoder r = {.bytes = all->bytes, .n_bytes = all->begins[n_ranks]};
    list->groups = ef_alloc(r.n_bytes / 24 + 1, sizeof *list->groups);
    if (list->groups == NULL)
        return ef_fail_memory(error);
    while (r.n_bytes != 0) {
        ef_member_set *const group = &list->groups[list->n_groups];
        *group = (ef_member_set){.number = ef_read_u64(&r)};
        group->n_rows = ef_read_u64(&r);
        const size_t n = (size_t)ef_read_u64(&r);
        if (n != 0) {
            group->text = ef_alloc(n, 1);
            if (group->text == NULL)
                return ef_fail_memory(error);
            ef_read_bytes(&r, group->text, n);
        }
        list->n_groups++;
    }
    unite_member_sets(list);
    return EFFACE_OK;
}

efface_status ef_shared_member_sets(efface_store *store, ef_member_kind kind, bool with_texts,
                                    ef_member_set_list *list, efface_error *error) {
    ef_team *const team = ef_store_team(store);
    gathering g = {.kind = kind, .with_texts = with_texts};
    ef_gathered all = {0};
    *list = (ef_member_set_list){NULL, 0};
    efface_status status = ef_member_sets_each(store, encode_member_set, &g, error);
    if (status == EFFACE_OK && g.w.failed)
        status = ef_fail_memory(error);
    EF_THEN(status, ef_team_gather(team, g.w.bytes, g.w.n_bytes, EFFACE_EVERY_RANK, &all, error));
    EF_THEN(status, decode_member_sets(&all, team->group.size, list, error));
    if (status != EFFACE_OK)
        ef_member_set_list_free(list);
    ef_gathered_free(&all);
    ef_free(g.w.bytes);
    return status;
}
