/* The picture of a forest: which columns its splits gain most by. */
#include "api/values.h"
#include "pictures/picture_parts.h"

#include <stdlib.h>

void sv_draw_forest(const sv_snapshot *o, json_t *pictures) {
    sv_grid importances;
    sv_groups groups;
    (void)sv_grid_read(o, "importances", &importances);
    double *const shares = sv_grid_column(&importances, 0);
    double all = 0.0;
    for (uint64_t i = 0; shares != NULL && i < importances.table.n_rows; i++)
        all += shares[i];
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
}
