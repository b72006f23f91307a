/*
 * A group that is used wrongly, or at its edges: every rank gets the same error, the one that one
 * process gets where there is such a one, and nothing has changed on any; parts without rows, a
 * set that becomes empty and one that begins so have the bytes that one process gets.
 */
#include "data/set/shards.h"
#include "group/team/thread_group.h"
#include "model/family.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define N_RANKS 3
#define N_ROWS 30
#define N_COLUMNS 2

/* ---------------------------------------------------------------- sets and models */

/* The row with an id: its values, its owner, which it shares with rows of other ranks, and a label
 * on two ranks of three. */
typedef struct one_row {
    float values[N_COLUMNS];
    uint64_t id, owner;
    int64_t weight, label;
} one_row;

static one_row row_with(uint64_t id) {
    return (one_row){.values = {(float)(id * 7 % 31), (float)(id * id % 29)},
                     .id = id,
                     .owner = id % 5 == 4 ? EFFACE_NO_OWNER : id / 6,
                     .weight = 1 + (int64_t)(id % 3),
                     .label = (int64_t)(id % 4)};
}

static efface_rows batch_of(const one_row *row) {
    return (efface_rows){.n_rows = 1,
                         .values = row->values,
                         .ids = &row->id,
                         .weights = &row->weight,
                         .owners = &row->owner,
                         .labels = row->id % 3 != 0 ? &row->label : NULL};
}

/* Rows first to last - 1 that a rank has; NULL: one process has all. The last rank has none. */
static bool is_here(const efface_group *group, uint64_t id) {
    return group == NULL || id % (group->size > 1 ? group->size - 1 : 1) == group->rank;
}

static efface_data *make_set(const efface_group *group, uint64_t first, uint64_t last) {
    efface_data *data = NULL;
    RANK_ASSERT(efface_data_create(N_COLUMNS, &data, NULL) == EFFACE_OK);
    for (uint64_t id = first; id < last; id++) {
        const one_row row = row_with(id);
        const efface_rows batch = batch_of(&row);
        if (is_here(group, id))
            RANK_ASSERT(efface_data_add(data, &batch, NULL) == EFFACE_OK);
    }
    return data;
}

#define N_MODELS 4

/* Models of several families over one set. */
typedef struct scene {
    const efface_group *group;
    efface_data *data;
    efface_model *models[N_MODELS];
} scene;

static void fit_models(scene *s) {
    efface_kmeans_params lloyd, tree;
    efface_sums_params bayes;
    efface_segmented_params segmented;
    efface_kmeans_params_init(&lloyd);
    lloyd.n_clusters = 3;
    lloyd.method = EFFACE_METHOD_LLOYD;
    tree = lloyd;
    tree.method = EFFACE_METHOD_TREE;
    tree.tree.height = 1;
    tree.tree.width = 3;
    efface_sums_params_init(&bayes);
    bayes.view = EFFACE_VIEW_BAYES;
    efface_segmented_params_init(&segmented);
    const uint32_t target = 1;
    segmented.targets = &target;
    segmented.n_targets = 1;
    segmented.kmeans.n_clusters = 2;
    segmented.kmeans.method = EFFACE_METHOD_LLOYD;
    RANK_ASSERT(efface_kmeans_fit(s->data, &lloyd, &s->models[0], NULL) == EFFACE_OK);
    RANK_ASSERT(efface_kmeans_fit(s->data, &tree, &s->models[1], NULL) == EFFACE_OK);
    RANK_ASSERT(efface_sums_fit(s->data, &bayes, &s->models[2], NULL) == EFFACE_OK);
    RANK_ASSERT(efface_segmented_fit(s->data, &segmented, &s->models[3], NULL) == EFFACE_OK);
}

static void begin(scene *s, const efface_group *group, uint64_t n_rows) {
    *s = (scene){.group = group, .data = make_set(group, 0, n_rows)};
    if (group != NULL)
        RANK_ASSERT(efface_data_join(s->data, group, NULL) == EFFACE_OK);
    fit_models(s);
}

static void end(scene *s) {
    for (size_t m = 0; m < N_MODELS; m++)
        efface_model_free(s->models[m]);
    efface_data_free(s->data);
}

/* ---------------------------------------------------------------- what can be seen */

typedef struct sight {
    unsigned char digests[N_MODELS][EFFACE_DIGEST_BYTES];
    size_t n_rows, n_whole;
    int64_t weight, whole_weight;
    ef_stamp stamp;
    efface_row rows[2 * N_ROWS];
    float values[2 * N_ROWS][N_COLUMNS];
} sight;

static void take_digests(const scene *s, unsigned char digests[N_MODELS][EFFACE_DIGEST_BYTES]) {
    for (size_t m = 0; m < N_MODELS; m++)
        RANK_ASSERT(efface_model_digest(s->models[m], digests[m], NULL) == EFFACE_OK);
}

static void look(const scene *s, sight *to) {
    memset(to, 0, sizeof *to);
    take_digests(s, to->digests);
    to->n_rows = s->data->n_rows;
    to->n_whole = ef_data_whole(s->data)->n_rows;
    to->weight = s->data->total_weight;
    to->whole_weight = ef_data_whole(s->data)->total_weight;
    to->stamp = s->data->stamp;
    for (size_t i = 0; i < s->data->n_rows; i++) {
        to->rows[i] = efface_data_row(s->data, i);
        efface_data_values(s->data, i, to->values[i]);
    }
}

/* All ranks have the same text. */
static void require_same(const efface_group *group, const char *text) {
    char first[512] = "";
    (void)snprintf(first, sizeof first, "%s", text);
    RANK_ASSERT(group->broadcast(group->context, first, sizeof first, 0) == 0);
    if (strcmp(first, text) != 0)
        (void)fprintf(stderr, "rank %" PRIu32 ": '%s', and rank 0: '%s'\n", group->rank, text,
                      first);
    RANK_ASSERT(strcmp(first, text) == 0);
}

/* ---------------------------------------------------------------- requests */

/* A call of which a part may be different on each rank. */
typedef efface_status request(scene *s, efface_report *reports, efface_error *error);

static efface_status forget(scene *s, const efface_request *what, efface_report *reports,
                            efface_error *error) {
    return efface_models_forget(s->models, N_MODELS, s->data, what, reports, error);
}

static efface_status learn(scene *s, const efface_rows *rows, efface_report *reports,
                           efface_error *error) {
    return efface_models_learn(s->models, N_MODELS, s->data, rows, reports, error);
}

static efface_status update(scene *s, const efface_rows *rows, efface_report *reports,
                            efface_error *error) {
    return efface_models_update(s->models, N_MODELS, s->data, rows, reports, error);
}

static bool has_rank(const scene *s, uint32_t rank) {
    return s->group == NULL || s->group->rank == rank;
}

static const uint64_t two_missing[] = {3, 500, 4, 501};

static efface_status forget_missing(scene *s, efface_report *reports, efface_error *error) {
    return forget(s, &(efface_request){.ids = two_missing, .n_ids = 4}, reports, error);
}

static efface_status forget_twice(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t ids[] = {3, 4, 3};
    return forget(s, &(efface_request){.ids = ids, .n_ids = 3}, reports, error);
}

static efface_status forget_missing_owners(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t owners[] = {1, 700, 600};
    return forget(s, &(efface_request){.owners = owners, .n_owners = 3}, reports, error);
}

static efface_status forget_owner_twice(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t owners[] = {1, 2, 1};
    return forget(s, &(efface_request){.owners = owners, .n_owners = 3}, reports, error);
}

static efface_status forget_nobodys(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t owner = EFFACE_NO_OWNER;
    return forget(s, &(efface_request){.owners = &owner, .n_owners = 1}, reports, error);
}

static efface_status forget_null(scene *s, efface_report *reports, efface_error *error) {
    return forget(s, has_rank(s, 1) ? NULL : &(efface_request){0}, reports, error);
}

static efface_status forget_by_no_model(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t id = 3;
    const efface_request what = {.ids = &id, .n_ids = 1};
    return efface_models_forget(s->models, has_rank(s, 2) ? 0 : N_MODELS, s->data, &what, reports,
                                error);
}

static efface_status preview_missing(scene *s, efface_report *reports, efface_error *error) {
    const efface_request what = {.ids = two_missing, .n_ids = 4};
    return efface_model_preview(s->models[1], s->data, &what, reports, error);
}

/* An id that is on rank 0 comes to rank 1. */
static efface_status learn_known(scene *s, efface_report *reports, efface_error *error) {
    const one_row row = row_with(4);
    efface_rows batch = batch_of(&row);
    batch.n_rows = has_rank(s, 1) ? 1 : 0;
    return learn(s, &batch, reports, error);
}

/* The same id comes to two ranks. */
static efface_status learn_on_two(scene *s, efface_report *reports, efface_error *error) {
    const one_row row = row_with(400);
    const efface_rows batch = batch_of(&row);
    if (s->group != NULL)
        return learn(s, has_rank(s, 0) ? &(efface_rows){0} : &batch, reports, error);
    const uint64_t ids[] = {400, 400};
    const float values[2 * N_COLUMNS] = {0};
    return learn(s, &(efface_rows){.n_rows = 2, .values = values, .ids = ids}, reports, error);
}

static efface_status learn_not_finite(scene *s, efface_report *reports, efface_error *error) {
    one_row row = row_with(has_rank(s, 2) ? 400 : 401);
    if (has_rank(s, 2))
        row.values[1] = NAN;
    const efface_rows batch = batch_of(&row);
    return learn(s, has_rank(s, 1) && s->group != NULL ? &(efface_rows){0} : &batch, reports,
                 error);
}

/* Too heavy only together. */
static efface_status learn_heavy(scene *s, efface_report *reports, efface_error *error) {
    const int64_t weights[] = {EFFACE_MAX_WEIGHT / 2 - 1000, EFFACE_MAX_WEIGHT / 2 + 1000};
    const uint64_t ids[] = {400, 401};
    const float values[2 * N_COLUMNS] = {0};
    efface_rows rows = {.n_rows = 2, .values = values, .ids = ids, .weights = weights};
    if (s->group != NULL) {
        rows.n_rows = s->group->rank != 0 ? 1 : 0;
        rows.ids += s->group->rank == 2;
        rows.weights += s->group->rank == 2;
    }
    return learn(s, &rows, reports, error);
}

static efface_status update_heavy(scene *s, efface_report *reports, efface_error *error) {
    const int64_t weights[] = {EFFACE_MAX_WEIGHT / 2 - 10, EFFACE_MAX_WEIGHT / 2};
    const uint64_t ids[] = {2, 3};
    const float values[2 * N_COLUMNS] = {0};
    const efface_rows rows = {.n_rows = 2, .values = values, .ids = ids, .weights = weights};
    return update(s, &rows, reports, error);
}

static efface_status learn_null(scene *s, efface_report *reports, efface_error *error) {
    return learn(s, has_rank(s, 1) ? NULL : &(efface_rows){0}, reports, error);
}

static efface_status update_missing(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t ids[] = {3, 500};
    const float values[2 * N_COLUMNS] = {0};
    return update(s, &(efface_rows){.n_rows = 2, .values = values, .ids = ids}, reports, error);
}

static efface_status update_twice(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t ids[] = {3, 4, 3};
    const float values[3 * N_COLUMNS] = {0};
    return update(s, &(efface_rows){.n_rows = 3, .values = values, .ids = ids}, reports, error);
}

static efface_status update_narrow(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t ids[] = {3, 4};
    const float values[2 * N_COLUMNS] = {0};
    return update(s, &(efface_rows){.n_rows = 2, .values = values, .stride = 1, .ids = ids},
                  reports, error);
}

static efface_status update_without_values(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t id = 3;
    return update(s, &(efface_rows){.n_rows = 1, .ids = &id}, reports, error);
}

static efface_status update_without_ids(scene *s, efface_report *reports, efface_error *error) {
    const float values[N_COLUMNS] = {0};
    return update(s, &(efface_rows){.n_rows = 1, .values = values}, reports, error);
}

static efface_status update_not_finite(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t ids[] = {2, 3, 5};
    const float values[3 * N_COLUMNS] = {0, 0, 0, 0, 0, INFINITY};
    return update(s, &(efface_rows){.n_rows = 3, .values = values, .ids = ids}, reports, error);
}

static efface_status fit_nothing(scene *s, efface_report *reports, efface_error *error) {
    (void)reports;
    efface_model *model = NULL;
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    return efface_kmeans_fit(s->data, has_rank(s, 1) ? NULL : &params, &model, error);
}

static efface_status fit_another_family(scene *s, efface_report *reports, efface_error *error) {
    (void)reports;
    efface_model *model = NULL;
    efface_sums_params params;
    efface_sums_params_init(&params);
    if (has_rank(s, 1))
        params.common.family = EFFACE_FAMILY_KMEANS;
    return efface_sums_fit(s->data, &params, &model, error);
}

static efface_status decode_nothing(scene *s, efface_report *reports, efface_error *error) {
    (void)reports;
    efface_model *model = NULL;
    const efface_kmeans_params params = efface_kmeans_get_params(s->models[0]);
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    RANK_ASSERT(efface_model_encode(s->models[0], &bytes, &n_bytes, NULL) == EFFACE_OK);
    const efface_status status = efface_model_decode(has_rank(s, 1) ? NULL : bytes, n_bytes,
                                                     &params.common, s->data, &model, error);
    efface_bytes_free(bytes);
    return status;
}

static efface_status verify_nothing(scene *s, efface_report *reports, efface_error *error) {
    (void)reports;
    efface_difference difference;
    return efface_model_verify(s->models[0], s->data, has_rank(s, 1) ? NULL : &difference, error);
}

static efface_status rekey_nothing(scene *s, efface_report *reports, efface_error *error) {
    return efface_model_rekey(has_rank(s, 1) ? NULL : s->models[0], s->data, 5, reports, error);
}

/* ---------------------------------------------------------------- requests that are refused */

static const struct {
    request *call;
    efface_status status;
    bool same_text; /* as in one process */
} refused[] = {
    {forget_missing, EFFACE_E_NOT_FOUND, true},
    {forget_twice, EFFACE_E_DUPLICATE, true},
    {forget_missing_owners, EFFACE_E_NOT_FOUND, true},
    {forget_owner_twice, EFFACE_E_DUPLICATE, true},
    {forget_nobodys, EFFACE_E_ARGUMENT, true},
    {forget_null, EFFACE_E_ARGUMENT, true},
    {forget_by_no_model, EFFACE_E_ARGUMENT, true},
    {preview_missing, EFFACE_E_NOT_FOUND, true},
    {learn_known, EFFACE_E_DUPLICATE, false},
    {learn_on_two, EFFACE_E_DUPLICATE, false},
    {learn_not_finite, EFFACE_E_LIMIT, true},
    {learn_heavy, EFFACE_E_LIMIT, false},
    {update_heavy, EFFACE_E_LIMIT, false},
    {learn_null, EFFACE_E_ARGUMENT, true},
    {update_missing, EFFACE_E_NOT_FOUND, false},
    {update_twice, EFFACE_E_DUPLICATE, true},
    {update_narrow, EFFACE_E_ARGUMENT, true},
    {update_without_values, EFFACE_E_ARGUMENT, true},
    {update_without_ids, EFFACE_E_ARGUMENT, true},
    {update_not_finite, EFFACE_E_LIMIT, true},
    {fit_nothing, EFFACE_E_ARGUMENT, true},
    {fit_another_family, EFFACE_E_ARGUMENT, true},
    {decode_nothing, EFFACE_E_ARGUMENT, true},
    {verify_nothing, EFFACE_E_ARGUMENT, true},
    {rekey_nothing, EFFACE_E_ARGUMENT, true},
};

#define N_REFUSED (sizeof refused / sizeof *refused)

static char alone_says[N_REFUSED][512];

/* The text without the rank that it may begin with. */
static const char *without_rank(const char *text) {
    const char *const behind = strncmp(text, "rank ", 5) == 0 ? strstr(text, ": ") : NULL;
    return behind != NULL ? behind + 2 : text;
}

static void refuse_all(const efface_group *group, void *context) {
    (void)context;
    scene s;
    begin(&s, group, N_ROWS);
    for (size_t i = 0; i < N_REFUSED; i++) {
        efface_error error = {0};
        efface_report reports[N_MODELS];
        static _Thread_local sight before, after;
        look(&s, &before);
        const efface_status status = refused[i].call(&s, reports, &error);
        look(&s, &after);
        if (status != refused[i].status || error.status != status)
            (void)fprintf(stderr, "request %zu: %s: %s\n", i, efface_status_name(status),
                          error.message);
        RANK_ASSERT(status == refused[i].status && error.status == status);
        RANK_ASSERT(memcmp(&before, &after, sizeof before) == 0);
        if (group == NULL) {
            (void)snprintf(alone_says[i], sizeof alone_says[i], "%s", error.message);
            continue;
        }
        require_same(group, error.message);
        if (refused[i].same_text && strcmp(without_rank(error.message), alone_says[i]) != 0) {
            (void)fprintf(stderr, "request %zu: '%s', and alone: '%s'\n", i, error.message,
                          alone_says[i]);
            abort();
        }
    }
    end(&s);
}

static void all_ranks_refuse(void **state) {
    (void)state;
    refuse_all(NULL, NULL);
    thread_group_run(N_RANKS, refuse_all, NULL);
}

/* ---------------------------------------------------------------- requests that are done */

static efface_status forget_some(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t ids[] = {500, 3, 8, 501, 9}, owners[] = {600, 1, 2};
    const efface_request what = {
        .ids = ids, .n_ids = 5, .owners = owners, .n_owners = 3, .missing = EFFACE_MISSING_SKIP};
    return forget(s, &what, reports, error);
}

static efface_status forget_only_missing(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t ids[] = {500, 500};
    const efface_request what = {.ids = ids, .n_ids = 2, .missing = EFFACE_MISSING_SKIP};
    return forget(s, &what, reports, error);
}

static efface_status forget_all(scene *s, efface_report *reports, efface_error *error) {
    uint64_t ids[500];
    for (uint64_t id = 0; id < 500; id++)
        ids[id] = id;
    const efface_request what = {.ids = ids, .n_ids = 500, .missing = EFFACE_MISSING_SKIP};
    return forget(s, &what, reports, error);
}

/* Rows come to an empty set, or another, all to the last rank. */
static efface_status learn_some(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t ids[] = {410, 411, 412, 413};
    const float values[4 * N_COLUMNS] = {1, 2, 30, 4, 5, 60, 7, 8};
    efface_rows rows = {.n_rows = 4, .values = values, .ids = ids};
    rows.n_rows = has_rank(s, N_RANKS - 1) ? 4 : 0;
    return learn(s, &rows, reports, error);
}

static efface_status learn_nothing(scene *s, efface_report *reports, efface_error *error) {
    return learn(s, &(efface_rows){0}, reports, error);
}

static efface_status update_nothing(scene *s, efface_report *reports, efface_error *error) {
    return update(s, &(efface_rows){0}, reports, error);
}

/* Rows get labels and weights for the first time on the rank that has them. */
static efface_status update_some(scene *s, efface_report *reports, efface_error *error) {
    const uint64_t ids[] = {410, 412};
    const int64_t labels[] = {7, 8}, weights[] = {9, 1};
    const float values[2 * 3] = {100, 2, -1, -30, 4, -1};
    const efface_rows rows = {.n_rows = 2,
                              .values = values,
                              .stride = 3,
                              .ids = ids,
                              .weights = weights,
                              .labels = labels};
    return update(s, &rows, reports, error);
}

static request *const done[] = {
    forget_only_missing, forget_some, learn_nothing, learn_some, update_some, update_nothing,
    forget_all,          learn_some,  update_some,   forget_all, forget_all,
};

#define N_DONE (sizeof done / sizeof *done)

typedef struct outcome {
    unsigned char digests[N_MODELS][EFFACE_DIGEST_BYTES];
    uint64_t n_forgotten, n_learned, n_missing, visited[N_MODELS];
} outcome;

static outcome alone_has[2][N_DONE];

static void do_all(const efface_group *group, void *context) {
    const size_t *const begins_empty = context;
    scene s;
    begin(&s, group, *begins_empty != 0 ? 0 : N_ROWS);
    for (size_t i = 0; i < N_DONE; i++) {
        efface_report reports[N_MODELS];
        efface_error error = {0};
        outcome is = {0};
        const efface_status status = done[i](&s, reports, &error);
        if (status != EFFACE_OK)
            (void)fprintf(stderr, "request %zu: %s\n", i, error.message);
        RANK_ASSERT(status == EFFACE_OK);
        take_digests(&s, is.digests);
        is.n_forgotten = reports[0].rows_forgotten;
        is.n_learned = reports[0].rows_learned;
        is.n_missing = reports[0].rows_missing;
        /* Of k-means, what is kept may differ; sums have nothing that is. */
        is.visited[2] = reports[2].rows_visited;
        outcome *const right = &alone_has[*begins_empty][i];
        if (group == NULL)
            *right = is;
        if (memcmp(&is, right, sizeof is) != 0)
            (void)fprintf(stderr, "request %zu: not as in one process\n", i);
        RANK_ASSERT(memcmp(&is, right, sizeof is) == 0);
    }
    end(&s);
}

static void edges_are_as_alone(void **state) {
    (void)state;
    for (size_t begins_empty = 0; begins_empty < 2; begins_empty++) {
        do_all(NULL, &begins_empty);
        thread_group_run(N_RANKS, do_all, &begins_empty);
    }
}

/* ---------------------------------------------------------------- joining */

/* How a rank makes its set. */
typedef struct joining {
    efface_status status;
    uint32_t columns[N_RANKS];
    double offsets[N_RANKS];
    uint64_t ids[N_RANKS][3]; /* 0: none */
    int64_t weight;
} joining;

static void try_to_join(const efface_group *group, void *context) {
    const joining *const j = context;
    efface_data *data = NULL;
    efface_error error = {0};
    const float values[2] = {1, 2};
    const double offsets[2] = {j->offsets[group->rank], 0.0};
    RANK_ASSERT(efface_data_create(j->columns[group->rank], &data, NULL) == EFFACE_OK);
    RANK_ASSERT(efface_data_set_offsets(data, offsets, NULL) == EFFACE_OK);
    for (size_t i = 0; i < 3; i++) {
        const uint64_t *const id = &j->ids[group->rank][i];
        const efface_rows row = {
            .n_rows = *id != 0, .values = values, .ids = id, .weights = &j->weight};
        RANK_ASSERT(efface_data_add(data, &row, NULL) == EFFACE_OK);
    }
    const efface_status status = efface_data_join(data, group, &error);
    if (status != j->status)
        (void)fprintf(stderr, "%s\n", error.message);
    RANK_ASSERT(status == j->status && error.status == status);
    RANK_ASSERT((data->part != NULL) == (status == EFFACE_OK));
    if (status != EFFACE_OK)
        require_same(group, error.message);
    efface_data_free(data);
}

static void sets_that_do_not_fit_are_refused(void **state) {
    (void)state;
    const joining all[] = {
        {EFFACE_OK, {2, 2, 2}, {0}, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, 1},
        {EFFACE_OK, {2, 2, 2}, {1, 1, 1}, {{9, 2, 3}, {4, 5, 6}, {7, 8, 1}}, 1},
        {EFFACE_OK, {2, 2, 2}, {0}, {{0}, {0}, {0}}, 1},
        {EFFACE_OK, {2, 2, 2}, {0}, {{0}, {UINT64_MAX, 1}, {0}}, 1},
        {EFFACE_E_ARGUMENT, {2, 1, 2}, {0}, {{1}, {2}, {3}}, 1},
        {EFFACE_E_ARGUMENT, {1, 2, 2}, {0}, {{0}, {0}, {0}}, 1},
        {EFFACE_E_ARGUMENT, {2, 2, 2}, {0, 0, 3.5}, {{1}, {2}, {3}}, 1},
        {EFFACE_E_ARGUMENT, {2, 2, 2}, {2.5, 0, 2.5}, {{1}, {2}, {3}}, 1},
        {EFFACE_E_DUPLICATE, {2, 2, 2}, {0}, {{1, 2, 3}, {3, 4}, {5, 6}}, 1},
        {EFFACE_E_DUPLICATE, {2, 2, 2}, {0}, {{1}, {2}, {1}}, 1},
        {EFFACE_E_DUPLICATE, {2, 2, 2}, {0}, {{0}, {UINT64_MAX}, {1, UINT64_MAX}}, 1},
        {EFFACE_E_DUPLICATE, {2, 2, 2}, {0}, {{1, 9, 4}, {2, 5, 8}, {3, 5, 7}}, 1},
        {EFFACE_E_LIMIT, {2, 2, 2}, {0}, {{1}, {2}, {3}}, EFFACE_MAX_WEIGHT / 3 + 1},
        {EFFACE_OK, {2, 2, 2}, {0}, {{1}, {2}, {3}}, EFFACE_MAX_WEIGHT / 3},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        joining j = all[i];
        thread_group_run(N_RANKS, try_to_join, &j);
    }
}

/* What is no longer possible after joining; and a model from before it. */
static void use_after_joining(const efface_group *group, void *context) {
    (void)context;
    scene s = {.group = group, .data = make_set(group, 0, N_ROWS)};
    efface_error error = {0};
    const uint64_t id = 3;
    const one_row row = row_with(id);
    const efface_rows batch = batch_of(&row);
    const uint32_t order[] = {1, 0};
    fit_models(&s); /* of this rank's rows alone */
    RANK_ASSERT(efface_data_join(s.data, group, &error) == EFFACE_OK);
    RANK_ASSERT(forget(&s, &(efface_request){.ids = &id, .n_ids = 1}, NULL, &error) ==
                EFFACE_E_ARGUMENT);
    require_same(group, error.message);
    RANK_ASSERT(efface_data_join(s.data, group, &error) == EFFACE_E_ARGUMENT);
    require_same(group, error.message);
    RANK_ASSERT(efface_data_add(s.data, &batch, &error) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(efface_data_remove(s.data, &id, 1, &error) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(efface_data_replace(s.data, &batch, &error) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(efface_data_order_columns(s.data, order, &error) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(efface_data_set_offsets(s.data, NULL, &error) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(efface_data_n_rows(s.data) == (group->rank == N_RANKS - 1 ? 0 : N_ROWS / 2));
    RANK_ASSERT(ef_data_whole(s.data)->n_rows == N_ROWS);
    end(&s);
}

/* One rank has no set, or has joined already. */
static void join_in_part(const efface_group *group, void *context) {
    (void)context;
    efface_error error = {0};
    efface_data *const data = make_set(group, 0, N_ROWS);
    RANK_ASSERT(efface_data_join(group->rank == 1 ? NULL : data, group, &error) ==
                EFFACE_E_ARGUMENT);
    require_same(group, error.message);
    RANK_ASSERT(strcmp(error.message, "rank 1: data must not be NULL") == 0);
    RANK_ASSERT(data->part == NULL);
    RANK_ASSERT(efface_data_join(data, group, NULL) == EFFACE_OK);
    efface_data_free(data);
}

/* Rows that come without ids: two ranks would give the same ones. */
static void learn_without_ids(const efface_group *group, void *context) {
    (void)context;
    scene s;
    efface_error error = {0};
    const float values[N_COLUMNS] = {0};
    begin(&s, group, N_ROWS);
    const efface_rows rows = {.n_rows = group->rank != 0, .values = values};
    RANK_ASSERT(learn(&s, &rows, NULL, &error) == EFFACE_E_ARGUMENT);
    require_same(group, error.message);
    RANK_ASSERT(ef_data_whole(s.data)->n_rows == N_ROWS);
    end(&s);
}

static void parts_change_by_requests_only(void **state) {
    (void)state;
    thread_group_run(N_RANKS, use_after_joining, NULL);
    thread_group_run(N_RANKS, join_in_part, NULL);
    thread_group_run(N_RANKS, learn_without_ids, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_refuse),
        cmocka_unit_test(edges_are_as_alone),
        cmocka_unit_test(sets_that_do_not_fit_are_refused),
        cmocka_unit_test(parts_change_by_requests_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
