/* What the page draws of a model (picture_parts.h). */
#include "api/api.h"
#include "api/picture_parts.h"
#include "rooms/long_reads.h"

static void reply_pictures(sv_request *request, json_t *pictures) {
    sv_reply_json(request, 200, json_pack("{s:o}", "pictures", pictures));
}

static void draw_clusters(sv_request *request) {
    sv_opened opened;
    efface_error error;
    json_t *pictures = NULL;
    const sv_room *const room = sv_room_of(request);
    if (room == NULL)
        return;
    efface_status status = sv_open_model(room, request->parts[1], &opened, &error);
    if (status == EFFACE_OK)
        status = sv_draw_kmeans(&opened, &pictures, &error);
    if (status == EFFACE_OK)
        reply_pictures(request, pictures);
    else
        sv_refuse_error(request, &error);
    sv_opened_close(&opened);
}

sv_when sv_get_picture(sv_request *request) {
    const sv_room *const room = sv_room_of(request);
    sv_opened opened;
    efface_error error;
    if (room == NULL)
        return SV_NOW;
    const efface_status status = sv_open_model(room, request->parts[1], &opened, &error);
    const bool clusters = status == EFFACE_OK && opened.info.family == EFFACE_FAMILY_KMEANS;
    if (status != EFFACE_OK)
        sv_refuse_error(request, &error);
    else if (!clusters)
        reply_pictures(request, sv_draw_model(&opened));
    sv_opened_close(&opened);
    if (!clusters)
        return SV_NOW;
    sv_read_later(request, draw_clusters);
    return SV_LATER;
}
