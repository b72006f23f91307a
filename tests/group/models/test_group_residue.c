/*
 * What is left of a row in the memory of the ranks of a group after it was forgotten: nothing, be
 * it on the rank that had it or on those that it was sent to. All memory of the process, in which
 * ranks are threads (thread_group.h), is searched for the row's numbers (needles.h) while sets and
 * models are in use.
 */
#define _POSIX_C_SOURCE 200809L

#include "group/team/thread_group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fault/needles.h"

#define N_RANKS 3
#define N_ROWS 120u
#define NEEDLE_ID 1000003u

/* ---------------------------------------------------------------- stories */

typedef enum story_kind {
    FORGOTTEN,
    FORGOTTEN_LATER,
    LEARNED,
    UPDATED,
    LOOKED_AT,
    N_STORIES
} story_kind;

typedef struct scene {
    efface_kmeans_params params;
    story_kind story;
    uint32_t home; /* the rank that has the row, or gets it */
    efface_data *parts[N_RANKS];
    float *row; /* of the needle, on the heap; wiped by who has used it */
} scene;

static void add_row(efface_data *data, uint64_t id, const float *values) {
    const efface_rows rows = {.n_rows = 1, .values = values, .ids = &id};
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
}

static void make_parts(scene *s) {
    for (uint32_t r = 0; r < N_RANKS; r++)
        assert_int_equal(efface_data_create(N_COLUMNS, &s->parts[r], NULL), EFFACE_OK);
    for (uint32_t i = 0; i < N_ROWS; i++) {
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            s->row[j] = plain_value(i, j);
        add_row(s->parts[i % N_RANKS], i, s->row);
        if (i == N_ROWS / 2 && s->story != LEARNED) {
            needle_values(s->row);
            add_row(s->parts[s->home], NEEDLE_ID, s->row);
        }
    }
    ef_wipe(s->row, N_COLUMNS * sizeof *s->row);
}

/* Waits for all ranks. */
static void meet(const efface_group *group) {
    uint64_t number = 0;
    RANK_ASSERT(group->agree(group->context, &number) == 0);
}

static void forget(efface_model *model, efface_data *data, uint64_t id) {
    const efface_request request = {.ids = &id, .n_ids = 1};
    RANK_ASSERT(efface_model_forget(model, data, &request, NULL, NULL) == EFFACE_OK);
}

/* The row comes, or takes the place of what is there, and is then no longer with the caller. */
static void bring(scene *s, const efface_group *group, efface_model *model, bool is_there) {
    const uint64_t id = NEEDLE_ID;
    efface_data *const data = s->parts[group->rank];
    const efface_rows rows = {
        .n_rows = is_there || group->rank == s->home ? 1 : 0, .values = s->row, .ids = &id};
    meet(group);
    if (group->rank == 0)
        needle_values(s->row);
    meet(group);
    RANK_ASSERT((is_there ? efface_model_update(model, data, &rows, NULL, NULL)
                          : efface_model_learn(model, data, &rows, NULL, NULL)) == EFFACE_OK);
    meet(group);
    if (group->rank == 0)
        ef_wipe(s->row, N_COLUMNS * sizeof *s->row);
    meet(group);
}

static void read_again(const scene *s, efface_model **model, const efface_data *data) {
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    RANK_ASSERT(efface_model_encode(*model, &bytes, &n_bytes, NULL) == EFFACE_OK);
    efface_model_free(*model);
    RANK_ASSERT(efface_model_decode(bytes, n_bytes, &s->params.common, data, model, NULL) ==
                EFFACE_OK);
    efface_bytes_free(bytes);
}

static void live_through(scene *s, const efface_group *group, efface_model **model) {
    efface_data *const data = s->parts[group->rank];
    const uint64_t id = NEEDLE_ID;
    const efface_request request = {.ids = &id, .n_ids = 1};
    efface_difference difference;
    if (s->story == FORGOTTEN_LATER)
        for (uint64_t i = 0; i < 12; i++)
            forget(*model, data, 5 * i);
    if (s->story == LEARNED || s->story == UPDATED)
        bring(s, group, *model, s->story == UPDATED);
    if (s->story == LOOKED_AT) {
        RANK_ASSERT(efface_model_preview(*model, data, &request, NULL, NULL) == EFFACE_OK);
        read_again(s, model, data);
        RANK_ASSERT(efface_model_verify(*model, data, &difference, NULL) == EFFACE_OK);
        RANK_ASSERT(efface_model_rekey(*model, data, 77, NULL, NULL) == EFFACE_OK);
    }
    forget(*model, data, NEEDLE_ID);
}

static void on_rank(const efface_group *group, void *context) {
    scene *const s = context;
    efface_data *const data = s->parts[group->rank];
    efface_model *model = NULL;
    RANK_ASSERT(efface_data_join(data, group, NULL) == EFFACE_OK);
    RANK_ASSERT(efface_kmeans_fit(data, &s->params, &model, NULL) == EFFACE_OK);
    live_through(s, group, &model);
    meet(group);
    if (group->rank == 0)
        RANK_ASSERT(search_memory());
    meet(group);
    efface_model_free(model);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- ways */

static const efface_method methods[] = {EFFACE_METHOD_LLOYD, EFFACE_METHOD_QUANTIZED,
                                        EFFACE_METHOD_PYRAMID, EFFACE_METHOD_TREE};

static efface_kmeans_params params_of(unsigned way, unsigned seed) {
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.method = methods[way / 2];
    params.scale = way % 2 == 0 ? EFFACE_SCALE_NONE : EFFACE_SCALE_MINMAX;
    params.bound = way % 2 == 0 ? BOUND : 0.0;
    params.candidates = 1 + seed % 2;
    params.pyramid.rate = 0.25;
    params.pyramid.starts = 2;
    params.n_clusters = 6;
    params.iterations = 5;
    params.common.seed = seed;
    params.common.n_threads = 1;
    params.tree.width = 4;
    return params;
}

/* What the search looks for is there before. */
static void the_search_finds_a_row(void **state) {
    (void)state;
    scene s = {.story = FORGOTTEN, .row = ef_alloc_zero(N_COLUMNS, sizeof(float))};
    choose_needles(1, false);
    make_parts(&s);
    wipe_own_stack();
    assert_true(search_memory());
    assert_true(seen.n_found >= N_COLUMNS); /* some are the largest of their column */
    for (uint32_t r = 0; r < N_RANKS; r++)
        efface_data_free(s.parts[r]);
    ef_free(s.row);
}

static void nothing_is_left_on_any_rank(void **state) {
    (void)state;
    for (unsigned way = 0; way < 2 * sizeof methods / sizeof *methods; way++)
        for (int story = 0; story < N_STORIES; story++)
            for (unsigned seed = 1; seed <= 4; seed++) {
                scene s = {.params = params_of(way, seed),
                           .story = (story_kind)story,
                           .home = seed % N_RANKS,
                           .row = ef_alloc_zero(N_COLUMNS, sizeof(float))};
                choose_needles(seed, seed % 2 == 0);
                make_parts(&s);
                wipe_own_stack();
                thread_group_run(N_RANKS, on_rank, &s);
                ef_free(s.row);
                if (seen.n_found != 0)
                    fail_msg("way %u, story %d, seed %u: %lu values are left, the first as form "
                             "%u of column %u, in %s",
                             way, story, seed, seen.n_found, seen.slot / N_COLUMNS,
                             seen.slot % N_COLUMNS, seen.mapping);
            }
}

int main(void) {
    if (!can_search_memory())
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_search_finds_a_row),
                                       cmocka_unit_test(nothing_is_left_on_any_rank)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
