/* What the page draws of a model (picture_parts.h). */
#include "api/api.h"
#include "pictures/picture_parts.h"

sv_when sv_get_picture(sv_request *request) {
    sv_room *const room = sv_room_of(request);
    sv_snapshot *snapshot = NULL;
    efface_error error;
    json_t *pictures = NULL;
    if (room == NULL)
        return SV_NOW;
    efface_status status = sv_snapshot_take(room, request->parts[1], false, &snapshot, &error);
    if (status == EFFACE_OK && request->at != SV_ON_READER && sv_pictures_read_rows(snapshot)) {
        sv_snapshot_drop(room, snapshot);
        sv_move(request, SV_ON_READER);
        return SV_LATER;
    }
    if (status == EFFACE_OK)
        status = sv_draw_model(room, snapshot, &pictures, &error);
    if (status == EFFACE_OK)
        sv_reply_json(request, 200, json_pack("{s:o}", "pictures", pictures));
    else
        sv_refuse_error(request, &error);
    sv_snapshot_drop(room, snapshot);
    return SV_NOW;
}
