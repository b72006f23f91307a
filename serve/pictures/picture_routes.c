/* What the page draws of a model (picture_parts.h). */
#include "api/api.h"
#include "pictures/picture_parts.h"
#include "rooms/long_reads.h"

/* Draws a model and replies; or, if that takes rows and `at_once` is not set, returns false. */
static bool draw(sv_request *request, bool at_once) {
    sv_room *const room = sv_room_of(request);
    sv_snapshot *snapshot = NULL;
    efface_error error;
    json_t *pictures = NULL;
    if (room == NULL)
        return true;
    efface_status status = sv_snapshot_take(room, request->parts[1], false, &snapshot, &error);
    const bool later = status == EFFACE_OK && !at_once && sv_pictures_read_rows(snapshot);
    if (status == EFFACE_OK && !later)
        status = sv_draw_model(room, snapshot, &pictures, &error);
    if (status != EFFACE_OK)
        sv_refuse_error(request, &error);
    else if (!later)
        sv_reply_json(request, 200, json_pack("{s:o}", "pictures", pictures));
    sv_snapshot_drop(room, snapshot);
    return !later;
}

static void draw_at_once(sv_request *request) {
    (void)draw(request, true);
}

sv_when sv_get_picture(sv_request *request) {
    if (draw(request, false))
        return SV_NOW;
    sv_read_later(request, draw_at_once);
    return SV_LATER;
}
