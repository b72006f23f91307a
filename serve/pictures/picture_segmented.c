/* Pictures of segmented regressions: the segments, and the coefficients in each. */
#include "pictures/picture_parts.h"

#include <math.h>
#include <stdlib.h>

static void draw_segment_terms(const sv_snapshot *o, json_t *pictures) {
    const efface_segmented_params params = efface_segmented_get_params(o->model);
    sv_grid terms;
    const bool has = sv_grid_read(o, "coefficients", &terms);
    for (uint64_t i = 0;
         has && params.n_targets > 0 && i < SV_MAX_EFFECTS && i < terms.table.n_rows; i++) {
        const sv_terms shown = {.of = o,
                                .table = &terms.table,
                                .coefficients = sv_grid_row(&terms, i),
                                .has_intercept = params.linear.intercept != 0,
                                .quality = (double)NAN};
        json_t *const target = sv_json_column(o, params.targets[i % params.n_targets]);
        sv_draw_effects(pictures, &shown,
                        json_sprintf("%s in segment %llu", json_string_value(target),
                                     (unsigned long long)(i / params.n_targets)));
        json_decref(target);
    }
    sv_grid_free(&terms);
}

void sv_draw_segmented(const sv_snapshot *o, json_t *pictures) {
    sv_grid centers, sizes;
    sv_groups groups;
    const bool has = sv_grid_read(o, "centroids", &centers);
    (void)sv_grid_read(o, "segments", &sizes);
    double *const weights = sv_grid_column(&sizes, 1), *const counts = sv_grid_column(&sizes, 0);
    if (has && weights != NULL && counts != NULL &&
        sv_groups_make(o, &centers, weights, counts, &groups)) {
        const bool scaled = efface_segmented_get_params(o->model).kmeans.scale != EFFACE_SCALE_NONE;
        sv_draw_map(pictures, &groups, "How the segments lie", scaled);
        sv_draw_shares(pictures, &groups, "Sizes of the segments", "Weight");
        sv_draw_profile(pictures, &groups, "What marks each segment", sv_centers_text);
        sv_groups_free(&groups);
    }
    draw_segment_terms(o, pictures);
    free(weights);
    free(counts);
    sv_grid_free(&centers);
    sv_grid_free(&sizes);
}
