/* The stores that are served, and what each has. */
#include "api/api.h"
#include "api/values.h"
#include "rooms/rooms.h"

/* What a store has, but for its models. */
static json_t *summary(const sv_room *room, const efface_store_info *info) {
    return json_pack("{s:s,s:o,s:o,s:o,s:o,s:b,s:o,s:o,s:o}", "name", sv_room_name(room), "rows",
                     sv_json_count(info->n_rows), "columns", sv_json_count(info->n_columns),
                     "owners", sv_json_count(info->n_owners), "receipts",
                     sv_json_count(info->n_receipts), "keeps_texts", info->keeps_texts != 0, "ids",
                     sv_json_ids(info->ids), "owners_are", sv_json_ids(info->owners), "file_bytes",
                     sv_json_count(info->file_bytes));
}

/* A store that cannot be read now does not hide the others: it has its error in its place. */
static json_t *read_summary(const sv_room *room) {
    efface_store *store = NULL;
    efface_store_info info;
    efface_error error;
    json_t *json = NULL;
    if (sv_room_open(room, &store, &info, &error) == EFFACE_OK) {
        json = summary(room, &info);
        sv_json_set(json, "models", sv_json_count(info.n_models));
    } else {
        json = json_pack("{s:s,s:o}", "name", sv_room_name(room), "error", sv_json_error(&error));
    }
    efface_store_close(store);
    return json;
}

sv_when sv_get_stores(sv_request *request) {
    const sv_rooms *const rooms = request->service->rooms;
    json_t *const stores = json_array();
    for (size_t i = 0; i < sv_rooms_count(rooms); i++)
        sv_json_add(stores, read_summary(sv_rooms_at(rooms, i)));
    return sv_reply_json(request, 200, json_pack("{s:o}", "stores", stores));
}

static efface_status list_models(efface_store *store, json_t *list, efface_error *error) {
    efface_stored_model *models = NULL;
    size_t n_models = 0;
    const efface_status status = efface_store_models(store, &models, &n_models, error);
    for (size_t i = 0; i < n_models && status == EFFACE_OK; i++)
        sv_json_add(list, json_pack("{s:s,s:s,s:o,s:o}", "name", models[i].name, "kind",
                                    models[i].kind, "columns", sv_json_count(models[i].n_columns),
                                    "commitment", sv_json_digest(models[i].commitment)));
    efface_model_list_free(models);
    return status;
}

sv_when sv_get_store(sv_request *request) {
    efface_store *store = NULL;
    efface_store_info info;
    efface_error error;
    json_t *const models = json_array(), *const names = json_array();
    json_t *json = NULL;
    efface_status status = sv_room_open(request->room, &store, &info, &error);
    if (status == EFFACE_OK)
        status = list_models(store, models, &error);
    if (status == EFFACE_OK) {
        json = summary(request->room, &info);
        for (uint32_t i = 0; i < info.n_columns; i++)
            sv_json_add(names, sv_json_text(efface_store_column(store, i)));
        (void)json_object_set(json, "models", models);
        (void)json_object_set(json, "column_names", names);
        sv_json_set(json, "labels", sv_json_count(info.n_labels));
    }
    sv_reply_result(request, json, status, &error);
    json_decref(names);
    json_decref(models);
    efface_store_close(store);
    return SV_NOW;
}
