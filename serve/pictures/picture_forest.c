/* The picture of a forest: which columns its splits gain most by. */
#include "api/values.h"
#include "pictures/picture_parts.h"

#include <stdlib.h>

efface_status sv_draw_forest(const sv_room *room, const sv_snapshot *o, json_t *pictures,
                             efface_error *error) {
    (void)room;
    (void)error;
    sv_grid importances;
    sv_groups groups;
    const bool has = sv_grid_read(o, "importances", &importances);
    const size_t n = has ? (size_t)importances.table.n_rows : 0;
    double *const shares = calloc(n + 1, sizeof *shares);
    double all = 0.0;
    for (size_t i = 0; shares != NULL && i < n; i++)
        all += shares[i] = sv_grid_row(&importances, i)[0];
    /* A forest of leaves alone has gained nothing. */
    if (all > 0.0 && sv_groups_make(o, &importances, shares, NULL, &groups)) {
        sv_draw_shares(pictures, &groups, "What the trees look at", "Importance");
        sv_json_set(json_array_get(pictures, json_array_size(pictures) - 1), "text",
                    json_string("The share of each column in all that the splits of "
                                "the trees have gained."));
        sv_groups_free(&groups);
    }
    free(shares);
    sv_grid_free(&importances);
    return EFFACE_OK;
}
