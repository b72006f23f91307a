/* What a store has of a person: owners, texts, and the rows of a request. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/transactions.h"
#include "store/parts.h"
#include "store/rows/row_search.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

typedef struct owner_list {
    void (*each)(void *context, uint64_t owner, const char *text, uint64_t n_rows);
    void *context;
} owner_list;

static efface_status give_owner(void *context, const ef_member_set *group, efface_error *error) {
    (void)error;
    const owner_list *const list = context;
    if (group->kind == EF_MEMBER_OWNER)
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
    const efface_status status = ef_store_begin(store, false, error);
    return status == EFFACE_OK
               ? ef_store_end(store, store->parts->owners(store, give_owner, &list, error), error)
               : status;
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
    ef_member_set group;
    bool there = false;
    const efface_status status =
        ef_member_set_find(store, kind == EFFACE_TEXT_OWNER ? EF_MEMBER_OWNER : EF_MEMBER_LABEL,
                           number, &group, &there, error);
    if (status == EFFACE_OK && there)
        *text = group.text;
    return status;
}

efface_status efface_store_text(efface_store *store, efface_text_kind kind, uint64_t number,
                                char **text, efface_error *error) {
    if (store == NULL || text == NULL || (unsigned)kind > EFFACE_TEXT_LABEL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and text must not be NULL");
    char *found = NULL;
    efface_status status = ef_store_begin(store, false, error);
    if (status != EFFACE_OK)
        return status;
    status = find_text(store, kind, number, &found, error);
    if (status == EFFACE_OK)
        status = store->parts->text(store, &found, error);
    status = ef_store_end(store, status, error);
    if (status == EFFACE_OK)
        *text = found;
    else
        ef_free(found);
    return status;
}

efface_status efface_store_find(efface_store *store, const efface_request *request,
                                efface_data **rows, efface_error *error) {
    if (store == NULL || rows == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and rows must not be NULL");
    ef_found found = {NULL, NULL, 0};
    efface_status status = store->parts->allows(store, EF_DEED_ALL_ROWS, error);
    if (status == EFFACE_OK)
        status = ef_store_begin(store, false, error);
    if (status == EFFACE_OK)
        status = ef_store_end(store, store->parts->find(store, request, &found, error), error);
    if (status == EFFACE_OK) {
        *rows = found.data;
        found.data = NULL;
    }
    ef_found_free(&found);
    return status;
}
