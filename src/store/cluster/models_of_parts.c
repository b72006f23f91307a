/* Models of a store in parts: rank 0 has them and tries them cold; those that need rows, and new
 * ones, take all ranks. */
#include "store/cluster/cluster.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/transactions.h"
#include "store/models/model_adding.h"
#include "store/rows/store_columns.h"

/* ---------------------------------------------------------------- following */

/* A model that waits comes to the ranks that have not tried it. */
static efface_status share_model(ef_following *f, size_t i, efface_error *error) {
    ef_waiting_model *const w = &f->waiting[i];
    ef_counts counts;
    efface_status status = ef_record_share(f->store, &w->record, error);
    if (status != EFFACE_OK || ef_store_leads(f->store))
        return status;
    f->n_waiting = i + 1;
    if (ef_record_is_outdated(&w->record))
        return EFFACE_OK;
    status = ef_record_cold(&w->record, &w->model, &counts, error);
    if (status == EFFACE_OK)
        ef_counts_free(&counts);
    return status;
}

static efface_status share_waiting(ef_following *f, efface_store_report *report,
                                   efface_error *error) {
    uint64_t n = f->n_waiting;
    efface_status status = ef_team_broadcast(ef_store_team(f->store), &n, sizeof n, 0, error);
    if (status == EFFACE_OK && !ef_store_leads(f->store))
        status = ef_following_room(f, (uint32_t)n, report, error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        status = share_model(f, i, error);
        if (!ef_store_leads(f->store))
            f->waiting[i].report = &report->models[i];
    }
    return status;
}

/* Only rank 0 has reports of the models in the end. */
efface_status ef_cluster_follow(efface_store *store, const ef_row_change *change,
                                efface_store_report *report, efface_error *error) {
    ef_following f = {.store = store, .change = change};
    efface_status status = ef_store_leads(store) ? ef_following_try(&f, report, error) : EFFACE_OK;
    EF_THEN(status, share_waiting(&f, report, error));
    EF_THEN(status, ef_following_finish(&f, error));
    if (!ef_store_leads(store)) {
        ef_free(report->models);
        report->models = NULL;
        report->n_models = 0;
    }
    ef_following_end(&f);
    return status;
}

/* ---------------------------------------------------------------- adding */

static efface_status add_in_parts(efface_store *store, ef_record *record,
                                  const efface_new_model *asked, efface_data **data,
                                  efface_model **model, efface_error *error) {
    const ef_parts *const parts = store->parts;
    efface_status status = parts->lead(store, ef_model_check_free, record->name, NULL, 0, error);
    EF_THEN(status, ef_rows_load(store, record->columns, record->n_columns, data, NULL, error));
    EF_THEN(status, parts->join(store, *data, false, error));
    EF_THEN(status, ef_model_fit_asked(store, record, asked, *data, model, error));
    EF_THEN(status, parts->write_model(store, record, *model, ef_data_whole(*data), true, error));
    EF_THEN(status, ef_model_note_added(store, record, error));
    return status == EFFACE_OK ? ef_store_read_rules(store, error) : status;
}

/* The store is not let go meanwhile. */
efface_status ef_cluster_add(efface_store *store, const efface_new_model *asked,
                             efface_model **model, efface_error *error) {
    ef_record record = {.n_columns = 0};
    efface_data *data = NULL;
    efface_model *made = NULL;
    efface_status status = ef_store_begin(store, true, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_record_new(store, asked, &record, error);
    EF_THEN(status, add_in_parts(store, &record, asked, &data, &made, error));
    status = ef_store_end(store, status, error);
    if (status == EFFACE_OK) {
        *model = made;
        made = NULL;
    }
    efface_model_free(made);
    efface_data_free(data);
    ef_record_free(&record);
    return status;
}
