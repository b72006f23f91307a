/* A store that is one file: what others would have to be asked is at hand. */
#include "base/errors/status.h"
#include "store/file/transactions.h"
#include "store/models/model_adding.h"
#include "store/parts.h"
#include "store/receipts/receipts.h"
#include "store/rows/row_search.h"
#include "store/store.h"

#include <inttypes.h>

static efface_status file_allows(const efface_store *store, ef_deed deed, efface_error *error) {
    (void)deed;
    return store->head.n_parts == 0
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_ARGUMENT,
                         "this file is part %" PRIu32 " of %" PRIu32
                         " of a store, and cannot be used without the others; use efface-mpi on "
                         "its folder",
                         store->head.part, store->head.n_parts);
}

static void close_nothing(efface_store *store) {
    (void)store;
}

static efface_status keep_info(efface_store *store, efface_store_info *info, efface_error *error) {
    (void)store, (void)info, (void)error;
    return EFFACE_OK;
}

static efface_status begin_in_file(efface_store *store, bool writes, efface_error *error) {
    const efface_status status = writes ? file_allows(store, EF_DEED_ALL_ROWS, error) : EFFACE_OK;
    return status == EFFACE_OK ? ef_file_begin(store, writes, error) : status;
}

static efface_status keep_status(efface_store *store, efface_status status, bool goes_on,
                                 efface_error *error) {
    (void)store, (void)goes_on, (void)error;
    return status;
}

static efface_status judge_in_file(efface_store *store, ef_lead_work *look, void *asked,
                                   efface_error *error) {
    return look(store, asked, error);
}

static efface_status holds_here(efface_store *store, bool *holds, efface_error *error) {
    (void)store, (void)holds, (void)error;
    return EFFACE_OK;
}

static efface_status lead_here(efface_store *store, ef_lead_work *work, void *context, void *told,
                               size_t n_told, efface_error *error) {
    (void)told, (void)n_told;
    return work(store, context, error);
}

static efface_status share_here(efface_store *store, ef_share_work *work, const void *context,
                                unsigned char **bytes, size_t *n_bytes, efface_error *error) {
    return work(store, context, bytes, n_bytes, error);
}

static uint64_t rows_here(const efface_store *store) {
    return store->head.n_rows;
}

static efface_status join_nobody(const efface_store *store, efface_data *data, bool for_long,
                                 efface_error *error) {
    (void)store, (void)data, (void)for_long, (void)error;
    return EFFACE_OK;
}

static efface_status find_in_file(efface_store *store, const efface_request *request,
                                  ef_found *found, efface_error *error) {
    uint64_t n_missing;
    const efface_status status = ef_request_check(request, error);
    return status == EFFACE_OK ? ef_rows_find(store, request, found, &n_missing, error) : status;
}

static efface_status keep_own_text(efface_store *store, char **text, efface_error *error) {
    (void)store, (void)text, (void)error;
    return EFFACE_OK;
}

const ef_parts ef_parts_alone = {
    .allows = file_allows,
    .close = close_nothing,
    .info = keep_info,
    .begin = begin_in_file,
    .end = ef_file_end,
    .agree = keep_status,
    .judge = judge_in_file,
    .all = holds_here,
    .lead = lead_here,
    .share = share_here,
    .list_models = ef_models_list,
    .read_model = ef_record_read,
    .write_model = ef_record_write,
    .note_models = ef_receipt_of_models,
    .rows = rows_here,
    .join = join_nobody,
    .find = find_in_file,
    .owners = ef_member_sets_each,
    .text = keep_own_text,
    .step = ef_step_in_file,
    .follow = ef_follow_in_file,
    .add_model = ef_add_in_file,
};
