/* Pictures of k-means. A model knows its centers; how many rows each has, only the rows tell. */
#include "pictures/picture_parts.h"

#include <stdlib.h>
#include <string.h>

/* The weight and the number of the rows of each cluster: `numbers` has 2 n places. */
static efface_status count_rows(const efface_model *model, const efface_data *data, size_t n,
                                double *numbers, efface_error *error) {
    const size_t n_rows = efface_data_n_rows(data);
    uint32_t *const labels = calloc(n_rows + 1, sizeof *labels);
    if (labels == NULL)
        return sv_no_memory(error);
    const efface_status status = efface_kmeans_labels(model, data, labels, error);
    for (size_t i = 0; status == EFFACE_OK && i < n_rows; i++) {
        numbers[labels[i]] += (double)efface_data_row(data, i).weight;
        numbers[n + labels[i]] += 1.0;
    }
    free(labels);
    return status;
}

static efface_status draw_clusters(const sv_snapshot *o, const efface_data *data, json_t *pictures,
                                   efface_error *error) {
    sv_grid centers;
    sv_groups groups;
    const size_t n = sv_grid_read(o, "centroids", &centers) ? (size_t)centers.table.n_rows : 0;
    double *const numbers = calloc(2 * n + 1, sizeof *numbers);
    efface_status status = EFFACE_OK;
    if (n > 0 && numbers != NULL) {
        status = count_rows(o->model, data, n, numbers, error);
        if (status == EFFACE_OK && sv_groups_make(o, &centers, numbers, numbers + n, &groups)) {
            const bool scaled = efface_kmeans_get_params(o->model).scale != EFFACE_SCALE_NONE;
            sv_draw_map(pictures, &groups, "How the clusters lie", scaled);
            sv_draw_shares(pictures, &groups, "Sizes of the clusters", "Weight");
            sv_draw_profile(pictures, &groups, "What marks each cluster", sv_centers_text);
            sv_groups_free(&groups);
        }
    }
    free(numbers);
    sv_grid_free(&centers);
    return status;
}

efface_status sv_draw_kmeans(const sv_room *room, const sv_snapshot *o, json_t *pictures,
                             efface_error *error) {
    efface_store *store = NULL;
    efface_data *data = NULL;
    /* The same names, and the model that belongs to the rows. What the room changes in a snapshot
     * under its lock must not be copied here. */
    sv_snapshot loaded = {.family = o->family, .names = o->names, .offsets = o->offsets};
    memcpy(loaded.name, o->name, sizeof loaded.name);
    efface_status status = sv_room_open(room, &store, NULL, error);
    if (status == EFFACE_OK)
        status = efface_store_load(store, o->name, &data, &loaded.model, error);
    efface_store_close(store);
    if (status == EFFACE_OK) {
        loaded.info = efface_model_get_info(loaded.model);
        loaded.predictor = efface_model_predictor(loaded.model);
        /* Another process may have put another model in its place: then there is no picture now. */
        if (loaded.info.family == o->info.family && loaded.info.n_columns == o->info.n_columns)
            status = draw_clusters(&loaded, data, pictures, error);
    }
    efface_model_free(loaded.model);
    efface_data_free(data);
    return status;
}
