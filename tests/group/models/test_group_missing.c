/*
 * Missing values in a group: what is counted of the rows of all ranks is what one process counts,
 * whichever rank has a column without values; a model that takes missing values (a tally) has the
 * same digest, and one that does not is refused on all ranks.
 */
#include "group/team/thread_group.h"
#include "law/tally_family.h"
#include "model/family.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define D 3
#define N_STEPS 60
#define MOST_ROWS 400

/* A request that all ranks make: a row comes, changes, or leaves. */
typedef struct step {
    int what; /* 0: learn, 1: update, 2: forget */
    uint64_t id;
    float values[D];
} step;

typedef struct walk {
    uint64_t n_first; /* rows that are there at first, 0 to n_first - 1 */
    step first[8];
    step steps[N_STEPS];
    unsigned char digests[N_STEPS + 1][EFFACE_DIGEST_BYTES]; /* of one process */
    unsigned char counts[N_STEPS + 1][4096];                 /* what it counts, as bytes */
    size_t n_counts;
} walk;

static uint64_t draws;

static uint64_t draw(void) {
    draws = draws * UINT64_C(6364136223846793005) + 1442695040888963407;
    return draws >> 33;
}

static step draw_step(int what, uint64_t id) {
    step s = {.what = what, .id = id};
    const uint64_t share = 1 + draw() % 4;
    for (uint32_t j = 0; j < D; j++)
        s.values[j] = draw() % 4 < share ? NAN : (float)(draw() % 5) - 2.0F;
    return s;
}

static void draw_walk(walk *w) {
    uint64_t there[MOST_ROWS], next, n;
    w->n_first = n = next = 2 + draw() % 6;
    for (uint64_t i = 0; i < n; i++) {
        w->first[i] = draw_step(0, i);
        there[i] = i;
    }
    for (size_t i = 0; i < N_STEPS; i++) {
        const int what = n != 0 ? (int)(draw() % 3) : 0;
        const uint64_t at = n != 0 ? draw() % n : 0;
        if (what == 0)
            there[n++] = next++;
        w->steps[i] = draw_step(what, what == 0 ? next - 1 : there[at]);
        if (what == 2)
            there[at] = there[--n];
    }
}

static bool is_here(const efface_group *group, uint64_t id) {
    return group == NULL || id % group->size == group->rank;
}

static efface_data *make_set(const walk *w, const efface_group *group) {
    efface_data *data = NULL;
    RANK_ASSERT(efface_data_create(D, &data, NULL) == EFFACE_OK);
    efface_data_allow_missing(data);
    for (uint64_t i = 0; i < w->n_first; i++) {
        const efface_rows row = {.n_rows = 1, .values = w->first[i].values, .ids = &w->first[i].id};
        if (is_here(group, i))
            RANK_ASSERT(efface_data_add(data, &row, NULL) == EFFACE_OK);
    }
    if (group != NULL)
        RANK_ASSERT(efface_data_join(data, group, NULL) == EFFACE_OK);
    return data;
}

static void make_step(const step *s, const efface_group *group, efface_model *model,
                      efface_data *data) {
    const efface_request request = {.ids = &s->id, .n_ids = 1};
    const efface_rows rows = {.n_rows = s->what == 1 || is_here(group, s->id) ? 1 : 0,
                              .values = s->values,
                              .ids = &s->id};
    const efface_status status = s->what == 0 ? efface_model_learn(model, data, &rows, NULL, NULL)
                                 : s->what == 1
                                     ? efface_model_update(model, data, &rows, NULL, NULL)
                                     : efface_model_forget(model, data, &request, NULL, NULL);
    RANK_ASSERT(status == EFFACE_OK);
}

/* Notes what one process has, or compares with it. */
static void look(walk *w, size_t i, bool notes, const efface_model *model,
                 const efface_data *data) {
    unsigned char digest[EFFACE_DIGEST_BYTES];
    ef_writer counts = {0};
    ef_counts own = {0};
    RANK_ASSERT(efface_model_digest(model, digest, NULL) == EFFACE_OK);
    RANK_ASSERT(data->part != NULL || ef_data_count(data, &own));
    RANK_ASSERT(!ef_counts_stale(data->part != NULL ? ef_data_whole(data) : &own));
    ef_counts_write(&counts, data->part != NULL ? ef_data_whole(data) : &own);
    RANK_ASSERT(counts.n_bytes <= sizeof w->counts[i]);
    if (notes) {
        memcpy(w->digests[i], digest, sizeof digest);
        memcpy(w->counts[i], counts.bytes, counts.n_bytes);
        w->n_counts = counts.n_bytes;
    }
    RANK_ASSERT(memcmp(w->digests[i], digest, sizeof digest) == 0);
    RANK_ASSERT(counts.n_bytes == w->n_counts);
    RANK_ASSERT(memcmp(w->counts[i], counts.bytes, counts.n_bytes) == 0);
    efface_bytes_free(counts.bytes);
    ef_counts_free(&own);
}

static void run(const efface_group *group, void *context) {
    walk *const w = context;
    const tally_params params = tally_defaults();
    efface_data *const data = make_set(w, group);
    efface_model *model = NULL;
    efface_difference difference;
    RANK_ASSERT(ef_model_fit(data, &params.common, &model, NULL) == EFFACE_OK);
    look(w, 0, group == NULL, model, data);
    for (size_t i = 0; i < N_STEPS; i++) {
        make_step(&w->steps[i], group, model, data);
        look(w, i + 1, group == NULL, model, data);
    }
    RANK_ASSERT(efface_model_verify(model, data, &difference, NULL) == EFFACE_OK);
    RANK_ASSERT(difference.identical);
    efface_model_free(model);
    efface_data_free(data);
}

static void all_ranks_count_what_one_process_counts(void **state) {
    (void)state;
    static walk w;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        draws = seed;
        memset(&w, 0, sizeof w);
        draw_walk(&w);
        run(NULL, &w);
        for (uint32_t size = 1; size <= 4; size++)
            thread_group_run(size, run, &w);
    }
}

/* One rank has a missing value: no rank gets a model. Rows that would bring one are refused. */
static void refuse(const efface_group *group, void *context) {
    static const float values[] = {1, NAN, 3, 4, 5, 6};
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_sums_params params;
    efface_error error;
    (void)context;
    efface_sums_params_init(&params);
    const uint64_t id = group->rank, other = 100 + group->rank;
    const efface_rows bad = {.n_rows = 1, .values = values, .ids = &id};
    const efface_rows good = {.n_rows = 1, .values = values + 3, .ids = &id};
    const efface_rows more = {.n_rows = group->rank == 1, .values = values, .ids = &other};
    RANK_ASSERT(efface_data_create(3, &data, NULL) == EFFACE_OK);
    efface_data_allow_missing(data);
    RANK_ASSERT(efface_data_add(data, group->rank == 1 ? &bad : &good, NULL) == EFFACE_OK);
    RANK_ASSERT(efface_data_join(data, group, NULL) == EFFACE_OK);
    RANK_ASSERT(efface_sums_fit(data, &params, &model, &error) == EFFACE_E_LIMIT);
    RANK_ASSERT(model == NULL && strstr(error.message, "missing") != NULL);
    efface_data_free(data);

    RANK_ASSERT(efface_data_create(3, &data, NULL) == EFFACE_OK);
    efface_data_allow_missing(data);
    RANK_ASSERT(efface_data_add(data, &good, NULL) == EFFACE_OK);
    RANK_ASSERT(efface_data_join(data, group, NULL) == EFFACE_OK);
    RANK_ASSERT(efface_sums_fit(data, &params, &model, NULL) == EFFACE_OK);
    RANK_ASSERT(efface_model_learn(model, data, &more, NULL, &error) == EFFACE_E_LIMIT);
    RANK_ASSERT(efface_data_n_rows(data) == 1 && efface_data_n_missing(data) == 0);
    const uint64_t first = 0; /* all ranks are told of an update */
    const efface_rows change = {.n_rows = 1, .values = values, .ids = &first};
    RANK_ASSERT(efface_model_update(model, data, &change, NULL, &error) == EFFACE_E_LIMIT);
    RANK_ASSERT(ef_data_whole(data)->n_rows == group->size);
    efface_model_free(model);
    efface_data_free(data);
}

static void all_ranks_refuse(void **state) {
    (void)state;
    thread_group_run(3, refuse, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_count_what_one_process_counts),
        cmocka_unit_test(all_ranks_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
