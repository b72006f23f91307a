/* What the page draws of a model (picture_parts.h). */
#include "api/api.h"
#include "pictures/picture_parts.h"
#include "rooms/long_reads.h"

/* Draws a model and replies; or, if that takes rows and `at_once` is not set, returns false. */
static bool draw(sv_request *request, bool at_once) {
    const sv_room *const room = sv_room_of(request);
    sv_opened opened;
    efface_error error;
    json_t *pictures = NULL;
    if (room == NULL)
        return true;
    efface_status status = sv_open_model(room, request->parts[1], &opened, &error);
    const bool later = status == EFFACE_OK && !at_once && sv_pictures_read_rows(&opened);
    if (status == EFFACE_OK && !later)
        status = sv_draw_model(&opened, &pictures, &error);
    if (status != EFFACE_OK)
        sv_refuse_error(request, &error);
    else if (!later)
        sv_reply_json(request, 200, json_pack("{s:o}", "pictures", pictures));
    sv_opened_close(&opened);
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
