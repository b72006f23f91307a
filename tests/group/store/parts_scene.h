/*
 * A store in parts and a store of one file that do the same, for tests: rows whose values follow
 * from their ids, models of several kinds, and the comparison of both.
 *
 * For tests that run ranks as threads (thread_group.h); all of it runs on the threads of ranks.
 */
#ifndef PARTS_SCENE_H
#define PARTS_SCENE_H

#include "efface/efface.h"
#include "group/team/thread_group.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SCENE_COLUMNS 3
#define SCENE_MOST_ROWS 400

/* A call that must succeed. */
#define RANK_OK(call)                                                                              \
    do {                                                                                           \
        efface_error rank_error = {.message = "no message"};                                       \
        efface_error *const error = &rank_error;                                                   \
        const efface_status rank_status = (call);                                                  \
        if (rank_status != EFFACE_OK) {                                                            \
            (void)fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                    \
                          rank_error.message);                                                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static inline uint64_t scene_mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* What a row is after it was updated `version` times. Some updates move the ends of columns. */
static inline float scene_value(uint64_t id, uint64_t version, uint32_t column) {
    const uint64_t z = scene_mix(id * 977 + version * 31 + column + 1);
    const float far = version % 6 == 5 && id % 3 == 0 ? -40.0F : 1.0F;
    return ((float)(id % 4) * 8.0F + (float)(z >> 40) * 0x1p-23F) * far;
}

/* Two classes, others that come and go, and rows without one. */
static inline int64_t scene_label(uint64_t id, uint64_t version) {
    if ((id + version) % 13 == 7)
        return EFFACE_NO_LABEL;
    return (id + version) % 17 == 5 ? 2 + (int64_t)(id % 3) : (int64_t)(id % 2);
}

static inline uint64_t scene_owner(uint64_t id) {
    return id % 5 == 0 ? EFFACE_NO_OWNER : 500 + id / 4;
}

static inline void scene_text(char text[32], const char *kind, uint64_t number) {
    (void)snprintf(text, 32, "%s-%" PRIu64 "-of-scene", kind, number);
}

/* Rows with ids, and the texts of ids and owners. */
static inline efface_data *scene_rows(const uint64_t *ids, size_t n, uint64_t version,
                                      efface_texts **texts) {
    efface_data *data = NULL;
    RANK_OK(efface_data_create(SCENE_COLUMNS, &data, error));
    RANK_OK(efface_data_name_column(data, 1, "second", error));
    if (texts != NULL)
        RANK_OK(efface_texts_create(texts, error));
    for (size_t i = 0; i < n; i++) {
        float values[SCENE_COLUMNS];
        const uint64_t owner = scene_owner(ids[i]);
        const int64_t weight = 1 + (int64_t)(ids[i] % 3), label = scene_label(ids[i], version);
        for (uint32_t j = 0; j < SCENE_COLUMNS; j++)
            values[j] = scene_value(ids[i], version, j);
        const efface_rows row = {.n_rows = 1,
                                 .values = values,
                                 .ids = &ids[i],
                                 .owners = &owner,
                                 .weights = &weight,
                                 .labels = &label};
        RANK_OK(efface_data_add(data, &row, error));
        char text[32];
        if (texts == NULL)
            continue;
        scene_text(text, "id", ids[i]);
        RANK_OK(efface_texts_add(*texts, EFFACE_TEXT_ID, ids[i], text, strlen(text), error));
        scene_text(text, "owner", owner);
        if (owner != EFFACE_NO_OWNER)
            RANK_OK(efface_texts_add(*texts, EFFACE_TEXT_OWNER, owner, text, strlen(text), error));
        scene_text(text, "label", (uint64_t)label);
        if (label != EFFACE_NO_LABEL)
            RANK_OK(efface_texts_add(*texts, EFFACE_TEXT_LABEL, (uint64_t)label, text, strlen(text),
                                     error));
    }
    return data;
}

/* ------------------------------------------------------------------ models */

#define SCENE_KMEANS 4  /* the first of the models */
#define SCENE_MODELS 13 /* of every family and view */

typedef struct scene_models {
    efface_kmeans_params kmeans[SCENE_KMEANS];
    efface_sums_params sums[SCENE_MODELS];
    efface_segmented_params segmented;
    efface_new_model asked[SCENE_MODELS];
} scene_models;

static inline void scene_kmeans_init(efface_kmeans_params *p, efface_method method, uint64_t seed) {
    efface_kmeans_params_init(p);
    p->method = method;
    p->n_clusters = 3;
    p->iterations = 3;
    p->candidates = 1;
    p->pyramid.rate = 0.25;
    p->common.seed = seed;
    p->common.n_threads = 1;
}

static inline void scene_sums_init(efface_sums_params *p, efface_view view) {
    static const uint32_t target[1] = {2};
    efface_sums_params_init(p);
    p->view = view;
    p->common.n_threads = 1;
    if (view == EFFACE_VIEW_LINEAR) {
        p->targets = target;
        p->n_targets = 1;
    }
}

static inline void scene_models_init(scene_models *m) {
    static const char *const names[SCENE_MODELS] = {
        "lloyd", "pyramid", "quantized",    "tree",       "means",   "linear",   "ridge",
        "bayes", "fourier", "discriminant", "components", "classes", "segmented"};
    static const efface_method methods[SCENE_KMEANS] = {
        EFFACE_METHOD_LLOYD, EFFACE_METHOD_PYRAMID, EFFACE_METHOD_QUANTIZED, EFFACE_METHOD_TREE};
    static const efface_view views[SCENE_MODELS] = {
        [4] = EFFACE_VIEW_MEANS,       [5] = EFFACE_VIEW_LINEAR, [6] = EFFACE_VIEW_RIDGE,
        [7] = EFFACE_VIEW_BAYES,       [8] = EFFACE_VIEW_LINEAR, [9] = EFFACE_VIEW_DISCRIMINANT,
        [10] = EFFACE_VIEW_COMPONENTS, [11] = EFFACE_VIEW_MEANS};
    static const uint32_t columns[2] = {2, 0}, target[1] = {1};
    for (int i = 0; i < SCENE_MODELS; i++)
        m->asked[i] = (efface_new_model){.name = names[i]};
    for (int i = 0; i < SCENE_KMEANS; i++) {
        scene_kmeans_init(&m->kmeans[i], methods[i], 77 + (uint64_t)i);
        m->asked[i].params = &m->kmeans[i].common;
    }
    for (int i = SCENE_KMEANS; i < SCENE_MODELS - 1; i++) {
        scene_sums_init(&m->sums[i], views[i]);
        m->asked[i].params = &m->sums[i].common;
    }
    m->sums[8].n_fourier = 5;
    m->sums[8].common.seed = 5;
    m->sums[9].discriminant.quadratic = 1;
    m->sums[11].by_class = EFFACE_SUMMED_FULL;
    efface_segmented_params_init(&m->segmented);
    scene_kmeans_init(&m->segmented.kmeans, EFFACE_METHOD_LLOYD, 0);
    m->segmented.targets = target;
    m->segmented.n_targets = 1;
    m->segmented.common.seed = 4;
    m->segmented.common.n_threads = 1;
    m->asked[SCENE_MODELS - 1].params = &m->segmented.common;
    for (int i = 2; i < SCENE_MODELS; i += 5) { /* some columns, in another order */
        m->asked[i].columns = columns;
        m->asked[i].n_columns = 2;
    }
}

/* ------------------------------------------------------------------ both stores */

typedef struct scene_pair {
    const efface_group *group;
    efface_store *parts;
    efface_store *plain; /* on rank 0; else NULL */
} scene_pair;

static inline bool scene_leads(const scene_pair *pair) {
    return pair->group->rank == 0;
}

static inline efface_store_options scene_options(const efface_group *group, efface_access access) {
    efface_store_options options;
    efface_store_options_init(&options);
    options.access = access;
    options.keep_texts = 1;
    options.group = group;
    options.wait_seconds = 0.0;
    return options;
}

/* The rows of ids that a rank has at first: not by their hash. */
static inline void scene_create(scene_pair *pair, const char *folder, const char *file,
                                const uint64_t *ids, size_t n, size_t n_models) {
    const efface_group *const g = pair->group;
    uint64_t own[SCENE_MOST_ROWS];
    size_t n_own = 0;
    scene_models models;
    scene_models_init(&models);
    for (size_t i = 0; i < n; i++)
        if (i * g->size / n == g->rank)
            own[n_own++] = ids[i];
    efface_texts *texts = NULL;
    efface_data *data = scene_rows(own, n_own, 0, &texts);
    efface_store_options options = scene_options(g, EFFACE_ACCESS_WRITE);
    if (g->size % 2 == 0) /* a set that has joined is taken as it is */
        RANK_OK(efface_data_join(data, g, error));
    RANK_OK(efface_store_create(folder, data, texts, &options, models.asked, n_models, &pair->parts,
                                error));
    efface_data_free(data);
    efface_texts_free(texts);
    if (!scene_leads(pair))
        return;
    data = scene_rows(ids, n, 0, &texts);
    options.group = NULL;
    RANK_OK(efface_store_create(file, data, texts, &options, models.asked, n_models, &pair->plain,
                                error));
    efface_data_free(data);
    efface_texts_free(texts);
}

static inline void scene_open(scene_pair *pair, const char *folder, const char *file) {
    efface_store_options options = scene_options(pair->group, EFFACE_ACCESS_WRITE);
    RANK_OK(efface_store_open(folder, &options, &pair->parts, error));
    options.group = NULL;
    if (scene_leads(pair))
        RANK_OK(efface_store_open(file, &options, &pair->plain, error));
}

static inline void scene_close(scene_pair *pair) {
    efface_store_close(pair->parts);
    efface_store_close(pair->plain);
    pair->parts = pair->plain = NULL;
}

static inline void scene_problem(void *context, const char *problem) {
    (void)context;
    (void)fprintf(stderr, "found: %s\n", problem);
    abort();
}

/* All ranks: what is in the store in parts is what is in the other, byte for byte. */
static inline void scene_compare(const scene_pair *pair, bool thoroughly) {
    efface_stored_model *models = NULL;
    size_t n_models = 0;
    efface_store_info info, plain;
    RANK_OK(efface_store_get_info(pair->parts, &info, error));
    RANK_ASSERT(info.n_parts == pair->group->size && info.part == pair->group->rank);
    RANK_ASSERT(info.format == 8);
    if (scene_leads(pair)) {
        RANK_OK(efface_store_get_info(pair->plain, &plain, error));
        RANK_ASSERT(info.n_rows == plain.n_rows && info.n_models == plain.n_models);
        RANK_ASSERT(info.n_owners == plain.n_owners && info.n_labels == plain.n_labels);
        RANK_ASSERT(info.n_unowned_rows == plain.n_unowned_rows);
        RANK_ASSERT(info.n_receipts == plain.n_receipts);
        RANK_ASSERT(info.ids == plain.ids && info.owners == plain.owners);
        RANK_ASSERT(info.labels == plain.labels);
    }
    RANK_OK(efface_store_models(pair->parts, &models, &n_models, error));
    RANK_ASSERT(n_models == info.n_models);
    for (size_t i = 0; i < n_models; i++) {
        unsigned char *bytes = NULL, *should = NULL;
        size_t n_bytes = 0, n_should = 0;
        efface_difference difference;
        RANK_OK(efface_store_encode(pair->parts, models[i].name, &bytes, &n_bytes, error));
        if (scene_leads(pair)) {
            efface_stored_model model;
            RANK_OK(efface_store_encode(pair->plain, models[i].name, &should, &n_should, error));
            RANK_ASSERT(n_bytes == n_should && memcmp(bytes, should, n_bytes) == 0);
            RANK_OK(efface_store_find_model(pair->plain, models[i].name, &model, error));
            RANK_ASSERT(memcmp(model.digest, models[i].digest, sizeof model.digest) == 0);
        }
        if (thoroughly) {
            RANK_OK(efface_store_verify(pair->parts, models[i].name, &difference, error));
            RANK_ASSERT(difference.identical);
        }
        efface_bytes_free(bytes);
        efface_bytes_free(should);
    }
    efface_model_list_free(models);
    if (thoroughly)
        RANK_OK(efface_store_check(pair->parts, scene_problem, NULL, error));
}

#endif
