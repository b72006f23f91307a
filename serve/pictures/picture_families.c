/* Which pictures a model has: each family draws its own. */
#include "pictures/picture_parts.h"

const char sv_centers_text[] =
    "How far the center lies from the mean in each column, in deviations between the centers.";

/* A family draws either from the model alone, or from its rows. One that nobody draws has an empty
 * place, or none. */
static const struct {
    void (*draw)(const sv_snapshot *o, json_t *pictures);
    efface_status (*draw_rows)(const sv_room *room, const sv_snapshot *o, json_t *pictures,
                               efface_error *error);
} families[] = {
    [EFFACE_FAMILY_KMEANS] = {NULL, sv_draw_kmeans},
    [EFFACE_FAMILY_SUMS] = {sv_draw_sums, NULL},
    [EFFACE_FAMILY_SEGMENTED] = {sv_draw_segmented, NULL},
    [EFFACE_FAMILY_FOREST] = {sv_draw_forest, NULL},
};
#define N_FAMILIES (sizeof families / sizeof families[0])

bool sv_pictures_read_rows(const sv_snapshot *o) {
    const size_t family = (size_t)o->info.family;
    return family < N_FAMILIES && families[family].draw_rows != NULL;
}

efface_status sv_draw_model(const sv_room *room, const sv_snapshot *o, json_t **out,
                            efface_error *error) {
    const size_t family = (size_t)o->info.family;
    efface_status status = EFFACE_OK;
    *out = json_array();
    if (sv_pictures_read_rows(o))
        status = families[family].draw_rows(room, o, *out, error);
    else if (family < N_FAMILIES && families[family].draw != NULL)
        families[family].draw(o, *out);
    if (status != EFFACE_OK)
        json_decref(*out);
    return status;
}
