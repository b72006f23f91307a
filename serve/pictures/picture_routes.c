/* What the page draws of a model (picture_parts.h). What took all rows of a store to draw is kept
 * with the snapshot of the model, and so until the store changes. */
#include "api/api.h"
#include "pictures/picture_parts.h"

#include <stdlib.h>
#include <string.h>

/* Draws a model and replies. Somebody may have changed the store after the snapshot was taken:
 * then the pictures are of a later state than the snapshot, and are not kept with it. */
static efface_status draw_and_reply(sv_request *request, sv_room *room, sv_snapshot *snapshot,
                                    efface_error *error) {
    json_t *pictures = NULL;
    uint64_t changes = 0;
    const bool reads = sv_pictures_read_rows(snapshot);
    efface_status status = sv_draw_model(room, snapshot, &pictures, error);
    if (status != EFFACE_OK)
        return status;
    json_t *const answer = json_pack("{s:o}", "pictures", pictures);
    if (reads && sv_room_count(room, &changes, error) == EFFACE_OK && changes == snapshot->changes)
        sv_snapshot_keep_drawn(room, snapshot, json_dumps(answer, JSON_COMPACT));
    sv_reply_json(request, 200, answer);
    return EFFACE_OK;
}

sv_when sv_get_picture(sv_request *request) {
    sv_room *const room = request->room;
    sv_snapshot *snapshot = NULL;
    efface_error error;
    efface_status status = sv_snapshot_take(room, request->parts[1], false, &snapshot, &error);
    const char *const drawn = status == EFFACE_OK ? sv_snapshot_drawn(room, snapshot) : NULL;
    if (status == EFFACE_OK && drawn == NULL && request->at != SV_ON_READER &&
        sv_pictures_read_rows(snapshot)) {
        sv_snapshot_drop(room, snapshot);
        sv_move(request, SV_ON_READER);
        return SV_LATER;
    }
    if (drawn != NULL)
        sv_reply_copy(request, drawn);
    else if (status == EFFACE_OK)
        status = draw_and_reply(request, room, snapshot, &error);
    if (status != EFFACE_OK)
        sv_refuse_error(request, &error);
    sv_snapshot_drop(room, snapshot);
    return SV_NOW;
}
