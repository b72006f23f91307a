/* A store in parts, as the rest of the store sees it (store/parts.h). */
#include "store/cluster/cluster.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/new_file.h"
#include "store/receipts/receipts.h"

#include <string.h>

static efface_status parts_allow(const efface_store *store, ef_deed deed, efface_error *error) {
    (void)store;
    switch (deed) {
    case EF_DEED_ALL_ROWS: return EFFACE_OK;
    case EF_DEED_PUBLISH:
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "models of a store in parts cannot be published from it; load the model "
                       "and its rows, or make a store of one file");
    case EF_DEED_TOGETHER:
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "requests to a store in parts are made one by one, not together");
    }
    return EFFACE_OK;
}

static void close_cluster(efface_store *store) {
    ef_cluster_free(store->cluster);
}

/* ---------------------------------------------------------------- one status for all */

static efface_status parts_agree(efface_store *store, efface_status status, bool goes_on,
                                 efface_error *error) {
    ef_team *const team = ef_store_team(store);
    status = ef_team_agree(team, status, error);
    if (goes_on)
        ef_team_begin(team);
    return status;
}

/* The request is that of rank 0. */
static efface_status parts_judge(efface_store *store, ef_lead_work *look, void *asked,
                                 efface_error *error) {
    ef_team *const team = ef_store_team(store);
    ef_team_begin(team);
    return ef_team_agree(team, ef_store_leads(store) ? look(store, asked, error) : EFFACE_OK,
                         error);
}

static efface_status parts_all(efface_store *store, bool *holds, efface_error *error) {
    return ef_team_all(ef_store_team(store), *holds, holds, error);
}

/* ---------------------------------------------------------------- what one file has for all */

static efface_status parts_lead(efface_store *store, ef_lead_work *work, void *context, void *told,
                                size_t n_told, efface_error *error) {
    const efface_status status = ef_store_leads(store) ? work(store, context, error) : EFFACE_OK;
    return status == EFFACE_OK && n_told != 0
               ? ef_team_broadcast(ef_store_team(store), told, n_told, 0, error)
               : status;
}

static efface_status parts_share(efface_store *store, ef_share_work *work, const void *context,
                                 unsigned char **bytes, size_t *n_bytes, efface_error *error) {
    unsigned char *own = NULL;
    size_t n = 0;
    efface_status status =
        ef_store_leads(store) ? work(store, context, &own, &n, error) : EFFACE_OK;
    EF_THEN(status, ef_team_share(ef_store_team(store), &own, &n, error));
    if (status != EFFACE_OK) {
        ef_free(own);
        return status;
    }
    *bytes = own;
    *n_bytes = n;
    return EFFACE_OK;
}

static efface_status parts_write_model(efface_store *store, ef_record *record,
                                       const efface_model *model, const ef_counts *counted,
                                       bool is_new, efface_error *error) {
    return ef_store_leads(store) ? ef_record_write(store, record, model, counted, is_new, error)
                                 : EFFACE_OK;
}

static efface_status parts_note_models(efface_store *store, const char *kind,
                                       efface_model_report *models, uint32_t n_models,
                                       efface_error *error) {
    return ef_store_leads(store) ? ef_receipt_of_models(store, kind, models, n_models, error)
                                 : EFFACE_OK;
}

/* ---------------------------------------------------------------- rows of all files */

static uint64_t parts_count_rows(const efface_store *store) {
    return store->cluster->n_rows;
}

static efface_status parts_join(const efface_store *store, efface_data *data, bool for_long,
                                efface_error *error) {
    return for_long ? efface_data_join(data, &ef_store_team(store)->group, error)
                    : ef_shard_make(data, store->cluster->anchor, error);
}

static efface_status parts_find(efface_store *store, const efface_request *request, ef_found *found,
                                efface_error *error) {
    const efface_status status =
        ef_store_leads(store) ? ef_request_check(request, error) : EFFACE_OK;
    return status == EFFACE_OK ? ef_cluster_find(store, request, &found->data, error) : status;
}

static efface_status parts_owners(efface_store *store, ef_member_set_each *each, void *context,
                                  efface_error *error) {
    ef_member_set_list list;
    efface_status status = ef_shared_member_sets(store, EF_MEMBER_OWNER, true, &list, error);
    if (status != EFFACE_OK)
        return status;
    for (size_t i = 0; status == EFFACE_OK && i < list.n_groups; i++)
        status = each(context, &list.groups[i], error);
    ef_member_set_list_free(&list);
    return status;
}

static efface_status parts_text(efface_store *store, char **text, efface_error *error) {
    ef_team *const team = ef_store_team(store);
    const char *const own = *text;
    ef_gathered texts = {0};
    efface_status status = ef_team_gather(team, own, own != NULL ? strlen(own) + 1 : 0,
                                          EFFACE_EVERY_RANK, &texts, error);
    ef_free(*text);
    *text = NULL;
    if (status == EFFACE_OK && texts.begins[team->group.size] != 0) {
        *text = ef_path_with((const char *)texts.bytes, "");
        if (*text == NULL)
            status = ef_fail_memory(error);
    }
    ef_gathered_free(&texts);
    return status;
}

/* ---------------------------------------------------------------- the table */

const ef_parts ef_parts_together = {
    .allows = parts_allow,
    .close = close_cluster,
    .info = ef_cluster_info,
    .begin = ef_cluster_begin,
    .end = ef_cluster_end,
    .agree = parts_agree,
    .judge = parts_judge,
    .all = parts_all,
    .lead = parts_lead,
    .share = parts_share,
    .list_models = ef_shared_names,
    .read_model = ef_shared_record,
    .write_model = parts_write_model,
    .note_models = parts_note_models,
    .rows = parts_count_rows,
    .join = parts_join,
    .find = parts_find,
    .owners = parts_owners,
    .text = parts_text,
    .step = ef_cluster_step,
    .follow = ef_cluster_follow,
    .add_model = ef_cluster_add,
};
