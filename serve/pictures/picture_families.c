/* Which pictures a model has: each family draws its own. */
#include "pictures/picture_parts.h"

const char sv_centers_text[] =
    "How far the center lies from the mean in each column, in deviations between the centers.";

typedef struct family {
    bool reads_rows;
    efface_status (*draw)(const sv_room *room, const sv_snapshot *o, json_t *pictures,
                          efface_error *error);
} family;

static const family families[] = {
    [EFFACE_FAMILY_KMEANS] = {true, sv_draw_kmeans},
    [EFFACE_FAMILY_SUMS] = {false, sv_draw_sums},
    [EFFACE_FAMILY_SEGMENTED] = {false, sv_draw_segmented},
    [EFFACE_FAMILY_FOREST] = {false, sv_draw_forest},
};

/* A family that nobody draws has an empty place, or none. */
static const family *family_of(const sv_snapshot *o) {
    const size_t number = (size_t)o->info.family;
    return number < sizeof families / sizeof families[0] && families[number].draw != NULL
               ? &families[number]
               : NULL;
}

bool sv_pictures_read_rows(const sv_snapshot *o) {
    const family *const found = family_of(o);
    return found != NULL && found->reads_rows;
}

efface_status sv_draw_model(const sv_room *room, const sv_snapshot *o, json_t **out,
                            efface_error *error) {
    const family *const found = family_of(o);
    json_t *const pictures = json_array();
    const efface_status status = found != NULL ? found->draw(room, o, pictures, error) : EFFACE_OK;
    if (status == EFFACE_OK)
        *out = pictures;
    else
        json_decref(pictures);
    return status;
}
