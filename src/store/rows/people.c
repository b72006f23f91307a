/* What a store has of a person: owners, texts, and the rows of a request. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/cluster/cluster.h"
#include "store/file/new_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct owner_list {
    void (*each)(void *context, uint64_t owner, const char *text, uint64_t n_rows);
    void *context;
} owner_list;

static efface_status give_owner(void *context, const ef_group *group, efface_error *error) {
    (void)error;
    const owner_list *const list = context;
    if (group->kind == EF_GROUP_OWNER)
        list->each(list->context, group->number, group->text, group->n_rows);
    return EFFACE_OK;
}

efface_status efface_store_owners(efface_store *store,
                                  void (*each)(void *context, uint64_t owner, const char *text,
                                               uint64_t n_rows),
                                  void *context, efface_error *error) {
    if (store == NULL || each == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and each must not be NULL");
    owner_list list = {each, context};
    ef_group_list all = {NULL, 0};
    efface_status status = ef_store_begin(store, false, error);
    if (status != EFFACE_OK)
        return status;
    status = store->cluster != NULL ? ef_shared_groups(store, EF_GROUP_OWNER, true, &all, error)
                                    : ef_groups_each(store, give_owner, &list, error);
    status = ef_store_end(store, status, error);
    for (size_t i = 0; status == EFFACE_OK && i < all.n_groups; i++)
        each(context, all.groups[i].number, all.groups[i].text, all.groups[i].n_rows);
    ef_group_list_free(&all);
    return status;
}

/* The text of an id stands with its row. */
static efface_status find_text(efface_store *store, efface_text_kind kind, uint64_t number,
                               char **text, efface_error *error) {
    if (kind == EFFACE_TEXT_ID) {
        bool there = false;
        ef_found found;
        const efface_status status = ef_rows_look_up(store, &number, 1, &there, &found, error);
        if (status != EFFACE_OK)
            return status;
        if (found.n_texts == 1) {
            *text = found.texts[0];
            found.texts[0] = NULL;
        }
        ef_found_free(&found);
        return EFFACE_OK;
    }
    ef_group group;
    bool there = false;
    const efface_status status =
        ef_group_find(store, kind == EFFACE_TEXT_OWNER ? EF_GROUP_OWNER : EF_GROUP_LABEL, number,
                      &group, &there, error);
    if (status == EFFACE_OK && there)
        *text = group.text;
    return status;
}

/* A text that any part has comes to all ranks. */
static efface_status find_everywhere(efface_store *store, efface_text_kind kind, uint64_t number,
                                     char **text, efface_error *error) {
    ef_team *const team = ef_store_team(store);
    ef_gathered all = {0};
    efface_status status = find_text(store, kind, number, text, error);
    if (team == NULL || status != EFFACE_OK)
        return status;
    const char *const own = *text;
    status = ef_team_gather(team, own, own != NULL ? strlen(own) + 1 : 0, EFFACE_EVERY_RANK, &all,
                            error);
    ef_free(*text);
    *text = NULL;
    if (status == EFFACE_OK && all.begins[team->group.size] != 0) {
        *text = ef_path_with((const char *)all.bytes, "");
        if (*text == NULL)
            status = ef_fail_memory(error);
    }
    ef_gathered_free(&all);
    return status;
}

efface_status efface_store_text(efface_store *store, efface_text_kind kind, uint64_t number,
                                char **text, efface_error *error) {
    if (store == NULL || text == NULL || (unsigned)kind > EFFACE_TEXT_LABEL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and text must not be NULL");
    char *found = NULL;
    efface_status status = ef_store_begin(store, false, error);
    if (status == EFFACE_OK)
        status = ef_store_end(store, find_everywhere(store, kind, number, &found, error), error);
    if (status == EFFACE_OK)
        *text = found;
    else
        ef_free(found);
    return status;
}

static efface_status find(efface_store *store, const efface_request *request, ef_found *found,
                          efface_error *error) {
    uint64_t n_missing;
    efface_status status = EFFACE_OK;
    /* The request to a store in parts is that of rank 0. */
    if (ef_store_leads(store) &&
        (request == NULL || (request->n_ids != 0 && request->ids == NULL) ||
         (request->n_owners != 0 && request->owners == NULL)))
        status = ef_fail(error, EFFACE_E_ARGUMENT, "the request and its lists must not be NULL");
    if (status == EFFACE_OK)
        status = store->cluster != NULL ? ef_cluster_find(store, request, &found->data, error)
                                        : ef_rows_find(store, request, found, &n_missing, error);
    return status;
}

efface_status efface_store_find(efface_store *store, const efface_request *request,
                                efface_data **rows, efface_error *error) {
    if (store == NULL || rows == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and rows must not be NULL");
    ef_found found = {NULL, NULL, 0};
    efface_status status = ef_store_check_whole(store, error);
    if (status == EFFACE_OK)
        status = ef_store_begin(store, false, error);
    if (status == EFFACE_OK)
        status = ef_store_end(store, find(store, request, &found, error), error);
    if (status == EFFACE_OK) {
        *rows = found.data;
        found.data = NULL;
    }
    ef_found_free(&found);
    return status;
}
