/* The stores that are served. */
#include "api/api.h"
#include "rooms/rooms.h"

static json_t *describe(const sv_room *room, const efface_store_info *info) {
    return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:b,s:I}", "name", sv_room_name(room), "rows",
                     (json_int_t)info->n_rows, "columns", (json_int_t)info->n_columns, "models",
                     (json_int_t)info->n_models, "owners", (json_int_t)info->n_owners, "receipts",
                     (json_int_t)info->n_receipts, "keeps_texts", info->keeps_texts != 0,
                     "file_bytes", (json_int_t)info->file_bytes);
}

sv_when sv_get_stores(sv_request *request) {
    const sv_rooms *const rooms = request->service->rooms;
    json_t *const stores = json_array();
    efface_error error;
    for (size_t i = 0; i < sv_rooms_count(rooms); i++) {
        const sv_room *const room = sv_rooms_at(rooms, i);
        efface_store *store = NULL;
        efface_store_info info;
        efface_status status = sv_room_open(room, &store, &error);
        if (status == EFFACE_OK)
            status = efface_store_get_info(store, &info, &error);
        efface_store_close(store);
        if (status != EFFACE_OK) {
            json_decref(stores);
            sv_refuse_error(request, &error);
            return SV_NOW;
        }
        (void)json_array_append_new(stores, describe(room, &info));
    }
    sv_reply_json(request, 200, json_pack("{s:o}", "stores", stores));
    return SV_NOW;
}
