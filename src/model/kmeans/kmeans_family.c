/* The family k-means: its table of functions, and what only k-means has. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/families.h"
#include "model/kmeans/definition/tree.h"
#include "model/kmeans/following/revision.h"
#include "model/kmeans/kmeans_inside.h"
#include "model/kmeans/prediction/kmeans_predictor.h"

#include <inttypes.h>

/* ---------------------------------------------------------------- the table */

static efface_status check_params(const efface_params *params, efface_error *error) {
    return ef_params_check_asked((const efface_kmeans_params *)(const void *)params, error);
}

static efface_status fit(const efface_data *data, const efface_params *params, void **state,
                         efface_error *error) {
    ef_kmeans *model = NULL;
    const efface_status status = ef_kmeans_fit(
        data, (const efface_kmeans_params *)(const void *)params, NULL, &model, error);
    *state = model;
    return status;
}

static void free_state(void *state) {
    ef_kmeans_free(state);
}

static const efface_params *params_of(const void *state) {
    return &((const ef_kmeans *)state)->params.common;
}

static ef_totals totals_of(const void *state) {
    const ef_kmeans *const model = state;
    return (ef_totals){model->n_rows, model->total_weight};
}

static size_t n_bytes(const void *state) {
    return ef_kmeans_bytes(state);
}

static uint64_t n_visited(const void *state, const efface_data *data) {
    (void)data;
    return ((const ef_kmeans *)state)->work.rows_assigned;
}

static void describe_kmeans(const void *state, ef_listener to) {
    ef_kmeans_describe(state, to);
}

static void write_state(ef_writer *writer, const void *state) {
    ef_kmeans_write(writer, state);
}

static efface_status read_state(ef_decoder *decoder, const efface_params *params,
                                uint32_t n_columns, void **state, efface_error *error) {
    const efface_kmeans_params used =
        ef_params_used((const efface_kmeans_params *)(const void *)params);
    ef_kmeans *model = NULL;
    const efface_status status = ef_kmeans_read(decoder, &used, NULL, n_columns, &model, error);
    *state = model;
    return status;
}

static efface_status attach(void *state, const efface_data *data, efface_error *error) {
    return ef_kmeans_attach(state, data, error);
}

static void locate(const void *a, const void *b, efface_difference *difference) {
    ef_kmeans_locate(a, b, difference);
}

static const char *kind_of(const efface_params *params, const void *by) {
    (void)params, (void)by;
    return "k-means";
}

const ef_family ef_kmeans_family = {
    .number = EFFACE_FAMILY_KMEANS,
    .name = "kmeans",
    .check_params = check_params,
    .copy_params = ef_params_copy,
    .write_params = ef_params_write,
    .read_params = ef_params_read,
    .describe_params = ef_params_describe,
    .kind = kind_of,
    .fit = fit,
    .free = free_state,
    .params = params_of,
    .totals = totals_of,
    .n_bytes = n_bytes,
    .n_visited = n_visited,
    .describe = describe_kmeans,
    .follow = ef_kmeans_follow,
    .commit = ef_kmeans_commit,
    .drop = ef_kmeans_drop,
    .write = write_state,
    .read = read_state,
    .attach = attach,
    .locate = locate,
    .lend = ef_kmeans_lend,
    .write_predictor = ef_kmeans_write_predictor,
    .read_predictor = ef_kmeans_read_predictor,
    .free_predictor = ef_kmeans_free_predictor,
    .predicts = ef_kmeans_predicts,
    .predict = ef_kmeans_predict,
    .table = ef_kmeans_table,
    .read_table = ef_kmeans_read_table,
};

ef_kmeans *ef_kmeans_of(const efface_model *model, efface_error *error) {
    return ef_model_state(model, &ef_kmeans_family, error);
}

/* ---------------------------------------------------------------- what only k-means has */

efface_status efface_kmeans_fit(const efface_data *data, const efface_kmeans_params *params,
                                efface_model **out, efface_error *error) {
    return ef_model_fit_as(&ef_kmeans_family, data, params != NULL ? &params->common : NULL, out,
                           error);
}

efface_kmeans_params efface_kmeans_get_params(const efface_model *model) {
    const ef_kmeans *const of = ef_kmeans_of(model, NULL);
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    if (of == NULL)
        return params;
    params = of->params;
    params.common.seed = 0;
    params.common.interrupted = NULL;
    params.common.interrupt_context = NULL;
    params.common.progress = NULL;
    return params;
}

efface_kmeans_info efface_kmeans_get_info(const efface_model *of) {
    const ef_kmeans *const model = ef_kmeans_of(of, NULL);
    if (model == NULL)
        return (efface_kmeans_info){.n_clusters = 0};
    /* What a tree does is what its root does. */
    const ef_kmeans *const root = model->tree != NULL ? ef_tree_root(model->tree) : NULL;
    const ef_kmeans *const top = root != NULL ? root : model;
    return (efface_kmeans_info){
        .method = model->params.method,
        .actual = model->plan.method,
        .n_sampled = model->pilot.n_sample,
        .n_clusters = model->plan.n_clusters,
        .n_columns = model->domain.map.n_columns,
        .n_rows = model->n_rows,
        .iterations = top->model_level,
        .stable = top->stable,
        .epsilon = (double)top->plan.epsilon / (double)EF_GRID_MAX,
        .width = model->plan.width,
        .n_coarse_columns = model->domain.n_coarse,
        .rows_assigned = model->work.rows_assigned,
        .rows_undecided = model->work.rows_undecided,
        .rows_moved = model->work.rows_moved,
    };
}

static bool is_seed(const ef_kmeans *model, uint64_t id) {
    if (model->tree != NULL) {
        const ef_kmeans *const leaf = ef_tree_leaf_model(model->tree, model->plan.seed, id);
        return leaf != NULL && is_seed(leaf, id);
    }
    const ef_winner *const seeds = ef_kmeans_seeds(model);
    for (uint32_t i = 0; seeds != NULL && i < model->plan.n_clusters; i++)
        if (seeds[i].id == id)
            return true;
    const ef_rounds *const rounds = &model->rounds;
    for (size_t i = 0; i < (size_t)rounds->n_rounds * model->plan.candidates; i++)
        if (rounds->winners[i].id == id)
            return true;
    return false;
}

/* The squared distance of the row whose first value is at `row` from a grid point. */
static int64_t distance_from(const ef_map *map, const float *row, const int32_t *point) {
    int64_t distance = 0;
    for (uint32_t j = 0; j < map->n_columns; j++) {
        const int64_t away =
            (int64_t)ef_snap(row[(size_t)j * EF_PANEL], map->low[j], map->step[j]) - point[j];
        distance += away * away;
    }
    return distance;
}

static bool in_sample(const ef_kmeans *model, const efface_data *data, uint64_t id) {
    if (model->tree != NULL) {
        const ef_kmeans *const leaf = ef_tree_leaf_model(model->tree, model->plan.seed, id);
        return leaf != NULL && in_sample(leaf, data, id);
    }
    size_t position;
    if (efface_data_find(data, id, &position) != EFFACE_OK)
        return false;
    if (model->plan.method != EFFACE_METHOD_PYRAMID)
        return true;
    const ef_map *const map = &model->domain.map;
    const float *const row = ef_data_first(data, position);
    const uint32_t k = model->plan.n_clusters;
    uint32_t nearest = 0;
    int64_t least = INT64_MAX;
    for (uint32_t c = 0; c < k; c++) {
        const int64_t distance =
            distance_from(map, row, model->pilot.points + (size_t)c * map->n_columns);
        nearest = distance < least ? c : nearest;
        least = distance < least ? distance : least;
    }
    const ef_rank rank = ef_rank_of(&model->pilot, k, nearest, ef_data_weight(data, position),
                                    least, ef_member_zeros(model->plan.seed, id));
    return rank.need <= model->pilot.shift;
}

int efface_kmeans_is_seed(const efface_model *model, uint64_t id) {
    const ef_kmeans *const of = ef_kmeans_of(model, NULL);
    return of != NULL && is_seed(of, id);
}

int efface_kmeans_in_sample(const efface_model *model, const efface_data *data, uint64_t id) {
    const ef_kmeans *const of = ef_kmeans_of(model, NULL);
    /* A set with missing values is not that of the model. */
    return of != NULL && data->n_missing == 0 && in_sample(of, data, id);
}

void efface_kmeans_coarse_columns(const efface_model *model, uint32_t *columns, size_t capacity) {
    const ef_kmeans *const of = ef_kmeans_of(model, NULL);
    for (uint32_t i = 0; of != NULL && i < of->domain.n_coarse && i < capacity; i++)
        columns[i] = of->domain.coarse[i];
}

efface_status efface_kmeans_centroid(const efface_model *model, uint32_t cluster,
                                     double *coordinates, efface_error *error) {
    const ef_kmeans *const of = ef_kmeans_of(model, error);
    if (of == NULL)
        return EFFACE_E_ARGUMENT;
    if (coordinates == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "coordinates must not be NULL");
    if (cluster >= of->plan.n_clusters)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "there is no cluster %" PRIu32 "; the number of clusters is %" PRIu32,
                       cluster, of->plan.n_clusters);
    const size_t first = (size_t)cluster * of->domain.map.n_columns;
    ef_domain_coordinates(&of->domain, ef_kmeans_centers(of) + first, coordinates);
    return EFFACE_OK;
}
