/* What a store has of a person: owners, texts, and the rows of a request. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/texts/name_form.h"
#include "data/texts/text_id.h"
#include "store/file/transactions.h"
#include "store/parts.h"
#include "store/rows/row_search.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <stdio.h>
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
        list->each(list->context, group->number, ef_is_mark(group->text) ? NULL : group->text,
                   group->n_rows);
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
    const efface_status status =
        ef_member_sets_find(store, kind == EFFACE_TEXT_OWNER ? EF_MEMBER_OWNER : EF_MEMBER_LABEL,
                            &number, 1, &group, error);
    if (status == EFFACE_OK)
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
    if (ef_is_mark(found)) {
        ef_free(found);
        found = NULL;
    }
    EF_THEN(status, store->parts->text(store, &found, error));
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
    EF_THEN(status, ef_store_begin(store, false, error));
    EF_THEN(status, ef_store_end(store, store->parts->find(store, request, &found, error), error));
    if (status == EFFACE_OK) {
        *rows = found.data;
        found.data = NULL;
    }
    ef_found_free(&found);
    return status;
}

/* ---------------------------------------------------------------- who is not there */

#define MAX_LIKE 100    /* texts tell what texts look like */
#define MAX_SEEN 100000 /* a hint may not cost more than what it is about */

/* What a text looks like beside those that are kept. */
typedef struct likeness {
    bool any, uuids; /* all that were seen are UUIDs */
    char *near;      /* one that is easily taken for it, or NULL */
} likeness;

/* Goes through texts without verifying them: nothing is done with what comes out. */
static efface_status find_likeness(efface_store *store, efface_text_kind kind, const char *text,
                                   likeness *out, efface_error *error) {
    const bool owners = kind == EFFACE_TEXT_OWNER;
    sqlite3_stmt *texts = NULL;
    ef_name_fold wanted, fold;
    char *kept = NULL, plain[EF_UUID_BYTES];
    bool row = true;
    const bool looks = text != NULL && ef_name_fold_of(text, strlen(text), &wanted);
    efface_status status =
        ef_sql_prepare(store,
                       owners ? "SELECT text FROM groups WHERE bucket < ? AND text IS NOT NULL"
                              : "SELECT text FROM rows WHERE bucket < ? AND text IS NOT NULL",
                       &texts, error);
    if (status == EFFACE_OK)
        (void)sqlite3_bind_int64(texts, 1,
                                 owners ? (sqlite3_int64)store->head.group_slots : INT64_MAX);
    for (size_t i = 0; status == EFFACE_OK && i < MAX_SEEN && out->near == NULL; i++) {
        status = ef_sql_step(store, texts, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        if (!ef_sql_copy_text(texts, 0, &kept))
            status = ef_fail_memory(error);
        if (kept == NULL)
            continue;
        const size_t n = strlen(kept);
        out->uuids = (out->uuids || !out->any) && ef_uuid_read(kept, n, plain);
        out->any = true;
        if (looks && strcmp(kept, text) != 0 && ef_name_fold_of(kept, n, &fold) &&
            fold.n == wanted.n &&
            memcmp(fold.characters, wanted.characters, fold.n * sizeof *fold.characters) == 0) {
            out->near = kept;
            kept = NULL;
        }
        ef_free(kept);
        kept = NULL;
        if (!looks && i + 1 == MAX_LIKE)
            break;
    }
    (void)sqlite3_finalize(texts);
    ef_wipe(&wanted, sizeof wanted);
    ef_wipe(&fold, sizeof fold);
    return status;
}

/* What names are, as a sentence about them. */
static const char *describe_names(const efface_store *store, bool owners, bool uuids) {
    const ef_head *const head = &store->head;
    const efface_ids kind = owners ? head->owner_kind : head->id_kind;
    /* Of a store in parts, each head counts the owners of its own rows. */
    const bool none = head->n_groups[EF_MEMBER_OWNER] == 0 && head->n_parts == 0;
    if (kind == EFFACE_IDS_NUMBERS)
        return owners ? "the owners of this store are numbers"
                      : "the ids of this store are numbers";
    if (kind == EFFACE_IDS_TEXT && uuids)
        return owners ? "the owners of this store are UUIDs" : "the ids of this store are UUIDs";
    if (kind == EFFACE_IDS_TEXT)
        return owners ? "the owners of this store are texts" : "the ids of this store are texts";
    if (!owners)
        return "the ids of this store are numbers; a row that came without an id got one from the "
               "store";
    return none ? "no row of this store has an owner; rows are found by their ids"
                : "the owners of this store are not known yet";
}

static efface_status write_hint(const efface_store *store, efface_text_kind kind,
                                const likeness *of, char **hint, efface_error *error) {
    const char *const names = describe_names(store, kind == EFFACE_TEXT_OWNER, of->uuids);
    const size_t room = strlen(names) + 16 + (of->near != NULL ? strlen(of->near) : 0);
    *hint = ef_alloc(room, 1);
    if (*hint == NULL)
        return ef_fail_memory(error);
    (void)snprintf(*hint, room, "%s%s%s%s", names, of->near != NULL ? "; there is \"" : "",
                   of->near != NULL ? of->near : "", of->near != NULL ? "\"" : "");
    return EFFACE_OK;
}

efface_status efface_store_hint(efface_store *store, efface_text_kind kind, const char *text,
                                char **hint, efface_error *error) {
    if (store == NULL || hint == NULL || (unsigned)kind > EFFACE_TEXT_OWNER)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and hint must not be NULL");
    likeness found = {.near = NULL};
    efface_status status = ef_store_begin(store, false, error);
    if (status != EFFACE_OK)
        return status;
    if (store->head.keeps_texts)
        status = find_likeness(store, kind, text, &found, error);
    EF_THEN(status, write_hint(store, kind, &found, hint, error));
    status = ef_store_end(store, status, error);
    ef_free(found.near);
    return status;
}
