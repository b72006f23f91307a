/*
 * What is left of a row in memory after it was forgotten: nothing. All memory of the process that
 * can be written is searched for the row's numbers (needles.h), while the model and the set, or the
 * store, are still in use. Freed blocks, stacks of threads that ended, and SQLite's memory are
 * among it.
 */
#define _POSIX_C_SOURCE 200809L

#include "efface/efface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <zlib.h>

#include <cmocka.h>

#include "fault/needles.h"
#include "model/report_scene.h"
#include "store/scenes/store_scene.h"

#define NEEDLE_ID 1000003u
#define MOST_ROWS 12000u

static float values[MOST_ROWS * N_COLUMNS];
static uint64_t ids[MOST_ROWS];

/* Plain rows first, first + 1, ...; numbers that are not in order, so that pages of a store are
 * filled in the middle. */
static efface_rows plain_rows(uint32_t first, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = (uint64_t)(first + i) * 7919 % 65521;
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            values[i * N_COLUMNS + j] = plain_value(first + i, j);
    }
    return (efface_rows){.n_rows = n, .values = values, .ids = ids};
}

/* The row alone; the caller wipes `values` when it is where it should be. */
static efface_rows needle_row(void) {
    needle_values(values);
    ids[0] = NEEDLE_ID;
    return (efface_rows){.n_rows = 1, .values = values, .ids = ids};
}

static void wipe_values(void) {
    ef_wipe(values, sizeof values);
}

/* n plain rows and, in the middle of them, the row that is looked for. */
static efface_data *make_set(uint32_t n, bool with_needle) {
    efface_data *data = NULL;
    REQUIRE_OK(efface_data_create(N_COLUMNS, &data, error));
    efface_rows rows = plain_rows(0, n / 2);
    REQUIRE_OK(efface_data_add(data, &rows, error));
    if (with_needle) {
        rows = needle_row();
        REQUIRE_OK(efface_data_add(data, &rows, error));
    }
    rows = plain_rows(n / 2, n - n / 2);
    REQUIRE_OK(efface_data_add(data, &rows, error));
    wipe_values();
    return data;
}

static void require_gone(const char *what, const char *method, unsigned seed) {
    static const char *const forms[] = {"float32", "double", "whole number", "grid's float",
                                        "text"};
    assert_true(search_memory());
    if (seen.n_found != 0)
        fail_msg("%s, %s, seed %u: %lu values are left, the first at %#" PRIxPTR
                 ", column %u as %s, in %s",
                 what, method, seed, seen.n_found, seen.first, seen.slot % N_COLUMNS,
                 forms[seen.slot / N_COLUMNS], seen.mapping);
}

/* ------------------------------------------------------------------ models */

static const struct {
    const char *name;
    efface_method method;
    efface_scale scale;
} ways[] = {
    {"lloyd", EFFACE_METHOD_LLOYD, EFFACE_SCALE_NONE},
    {"quantized", EFFACE_METHOD_QUANTIZED, EFFACE_SCALE_NONE},
    {"pyramid", EFFACE_METHOD_PYRAMID, EFFACE_SCALE_NONE},
    {"tree", EFFACE_METHOD_TREE, EFFACE_SCALE_NONE},
    {"lloyd, minmax", EFFACE_METHOD_LLOYD, EFFACE_SCALE_MINMAX},
    {"quantized, minmax", EFFACE_METHOD_QUANTIZED, EFFACE_SCALE_MINMAX},
    {"pyramid, minmax", EFFACE_METHOD_PYRAMID, EFFACE_SCALE_MINMAX},
    {"tree, minmax", EFFACE_METHOD_TREE, EFFACE_SCALE_MINMAX},
};
#define N_WAYS (sizeof ways / sizeof ways[0])

static efface_kmeans_params params_of(unsigned way, unsigned seed, uint32_t n_threads) {
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.method = ways[way].method;
    params.candidates = 1;
    params.pyramid.rate = 0.25; /* or pyramid would work as lloyd with so few rows */
    params.scale = ways[way].scale;
    params.bound = ways[way].scale == EFFACE_SCALE_NONE ? BOUND : 0.0;
    params.n_clusters = 6;
    params.iterations = 5;
    params.common.seed = seed;
    params.common.n_threads = n_threads;
    params.tree.width = 4;
    if (seed % 2 != 0 && ways[way].method == EFFACE_METHOD_TREE)
        params.tree.leaf_method = params.tree.node_method = EFFACE_METHOD_PYRAMID;
    return params;
}

typedef struct scene {
    efface_data *data;
    efface_model *model;
    efface_report report; /* of the latest change */
} scene;

static bool far;       /* the row is far from all others, and so a cluster of its own */
static bool segmented; /* models have a regression for each cluster, too */

/* With what is computed when it is asked for. */
static void fit_segments(scene *s, const efface_kmeans_params *kmeans) {
    static const uint32_t targets[] = {3, N_COLUMNS - 1};
    const float row[N_COLUMNS] = {1.0f};
    efface_number numbers[2];
    efface_segmented_params params;
    efface_segmented_params_init(&params);
    params.common.seed = kmeans->common.seed;
    params.common.n_threads = kmeans->common.n_threads;
    params.kmeans = *kmeans;
    params.targets = targets;
    params.n_targets = 2;
    params.bound = BOUND;
    REQUIRE_OK(efface_segmented_fit(s->data, &params, &s->model, error));
    REQUIRE_OK(
        efface_predictor_predict(efface_model_predictor(s->model), 1, row, 0, numbers, error));
}

static scene begin(unsigned way, unsigned seed, uint32_t n, uint32_t n_threads, bool with_needle) {
    choose_needles(seed, far);
    scene s = {.data = make_set(n, with_needle)};
    wipe_own_stack();
    const efface_kmeans_params params = params_of(way, seed, n_threads);
    if (segmented)
        fit_segments(&s, &params);
    else
        REQUIRE_OK(efface_kmeans_fit(s.data, &params, &s.model, error));
    return s;
}

static void forget(scene *s, uint64_t id) {
    REQUIRE_OK(efface_model_forget(s->model, s->data, &(efface_request){.ids = &id, .n_ids = 1},
                                   &s->report, error));
}

static void learn(scene *s, efface_rows rows) {
    REQUIRE_OK(efface_model_learn(s->model, s->data, &rows, &s->report, error));
    wipe_values();
}

static void update(scene *s, efface_rows rows) {
    REQUIRE_OK(efface_model_update(s->model, s->data, &rows, &s->report, error));
    wipe_values();
}

static void end(scene *s) {
    efface_model_free(s->model);
    efface_data_free(s->data);
}

static unsigned long actions[3], n_seeds; /* what forgetting the row took */

static void forget_needle(scene *s, const char *what, unsigned way, unsigned seed) {
    forget(s, NEEDLE_ID);
    actions[s->report.action]++;
    n_seeds += is_because(&s->report, EF_REASON_SEED);
    require_gone(what, ways[way].name, seed);
    end(s);
}

static void forgotten_at_once(unsigned way, unsigned seed, uint32_t n, uint32_t n_threads) {
    scene s = begin(way, seed, n, n_threads, true);
    forget_needle(&s, "forgotten", way, seed);
}

static void forgotten_later(unsigned way, unsigned seed, uint32_t n, uint32_t n_threads) {
    scene s = begin(way, seed, n, n_threads, true);
    for (uint32_t i = 0; i < 12; i++)
        forget(&s, efface_data_row(s.data, 5 * i).id != NEEDLE_ID
                       ? efface_data_row(s.data, 5 * i).id
                       : efface_data_row(s.data, 5 * i + 1).id);
    forget_needle(&s, "forgotten after others", way, seed);
}

static void learned(unsigned way, unsigned seed, uint32_t n, uint32_t n_threads) {
    scene s = begin(way, seed, n, n_threads, false);
    learn(&s, needle_row());
    forget_needle(&s, "learned and forgotten", way, seed);
}

static void updated(unsigned way, unsigned seed, uint32_t n, uint32_t n_threads) {
    scene s = begin(way, seed, n, n_threads, true);
    efface_rows other = plain_rows(n + 1, 1);
    other.ids = (const uint64_t[]){NEEDLE_ID};
    update(&s, other);
    require_gone("updated", ways[way].name, seed);
    update(&s, needle_row());
    forget_needle(&s, "updated and forgotten", way, seed);
}

/* The arrays of the set, and of the model, are moved while the row is in them. */
static void grown(unsigned way, unsigned seed, uint32_t n, uint32_t n_threads) {
    scene s = begin(way, seed, n, n_threads, true);
    for (uint32_t i = 0; i < 6; i++)
        learn(&s, plain_rows(n + i * n / 4, n / 4));
    forget_needle(&s, "grown and forgotten", way, seed);
}

static void looked_at(unsigned way, unsigned seed, uint32_t n, uint32_t n_threads) {
    scene s = begin(way, seed, n, n_threads, true);
    static uint32_t labels[MOST_ROWS];
    const uint64_t id = NEEDLE_ID;
    unsigned char digest[EFFACE_DIGEST_BYTES], *bytes = NULL;
    size_t n_bytes;
    efface_difference difference;
    double number;
    const efface_kmeans_params params = params_of(way, seed, n_threads);
    REQUIRE_OK(efface_model_preview(s.model, s.data, &(efface_request){.ids = &id, .n_ids = 1},
                                    NULL, error));
    REQUIRE_OK(efface_kmeans_labels(s.model, s.data, labels, error));
    REQUIRE_OK(efface_kmeans_loss(s.model, s.data, &number, error));
    REQUIRE_OK(efface_kmeans_silhouette(s.model, s.data, NULL, 0, &number, error));
    REQUIRE_OK(efface_model_digest(s.model, digest, error));
    REQUIRE_OK(efface_model_encode(s.model, &bytes, &n_bytes, error));
    efface_model_free(s.model);
    REQUIRE_OK(efface_model_decode(bytes, n_bytes, &params.common, s.data, &s.model, error));
    efface_bytes_free(bytes);
    REQUIRE_OK(efface_model_verify(s.model, s.data, &difference, error));
    needle_values(values);
    REQUIRE_OK(predict_labels(s.model, 1, values, 0, labels, error));
    wipe_values();
    forget_needle(&s, "looked at and forgotten", way, seed);
}

typedef void (*story)(unsigned way, unsigned seed, uint32_t n, uint32_t n_threads);
static const story stories[] = {forgotten_at_once, forgotten_later, learned,
                                updated,           grown,           looked_at};
#define N_STORIES (sizeof stories / sizeof stories[0])

static void the_search_finds_a_row(void **state) {
    (void)state;
    choose_needles(1, false);
    assert_true(search_memory());
    assert_int_equal(seen.n_found, 0);
    efface_data *const data = make_set(100, true);
    wipe_own_stack();
    assert_true(search_memory());
    assert_int_equal(seen.n_found, N_COLUMNS);
    const uint64_t id = NEEDLE_ID;
    REQUIRE_OK(efface_data_remove(data, &id, 1, error));
    require_gone("removed", "no model", 1);
    efface_data_free(data);
}

static void models_leave_nothing(void **state) {
    (void)state;
    memset(actions, 0, sizeof actions);
    n_seeds = 0;
    for (unsigned way = 0; way < N_WAYS; way++)
        for (unsigned i = 0; i < N_STORIES; i++)
            for (unsigned seed = 1; seed <= (i < 2 ? 20 : 5); seed++) {
                far = seed % 4 == 0;
                stories[i](way, seed, 96, 1);
            }
    far = false;
    assert_true(actions[EFFACE_ACTION_ADJUSTED] > 5 && actions[EFFACE_ACTION_REPAIRED] > 5);
    assert_true(actions[EFFACE_ACTION_REFITTED] > 5 && n_seeds > 5);
}

static void segments_leave_nothing(void **state) {
    (void)state;
    segmented = true;
    for (unsigned way = 0; way < N_WAYS; way++)
        for (unsigned i = 0; stories[i] != looked_at; i++)
            for (unsigned seed = 1; seed <= 4; seed++) {
                far = seed % 2 == 0;
                stories[i](way, seed, 96, 1);
            }
    far = segmented = false;
}

/* Large enough that passes are shared. */
static void threads_leave_nothing(void **state) {
    (void)state;
    for (unsigned way = 0; way < N_WAYS; way++)
        for (unsigned i = 0; i < N_STORIES; i++)
            stories[i](way, 30 + i, 4000, 3);
}

/* ------------------------------------------------------------------ stores */

/* Rows and models stay in memory between requests; the row that leaves does not. */
static void resident_stores_leave_nothing(void **state) {
    (void)state;
    for (unsigned seed = 1; seed <= 4; seed++) {
        choose_needles(seed, far);
        efface_store *store = NULL;
        efface_store_options options;
        efface_store_options_init(&options);
        options.access = EFFACE_ACCESS_WRITE;
        options.resident = 1;
        empty_folder();
        efface_data *data = make_set(seed % 2 != 0 ? 300 : 3000, true);
        wipe_own_stack();
        REQUIRE_OK(
            efface_store_create(in_folder("s"), data, NULL, &options, NULL, 0, &store, error));
        efface_data_free(data);
        for (unsigned way = 0; way < N_WAYS; way++) {
            const efface_kmeans_params params = params_of(way, seed, 1);
            const char name[] = {(char)('a' + way), '\0'};
            const efface_new_model model = {.name = name, .params = &params.common};
            REQUIRE_OK(efface_store_fit(store, &model, NULL, error));
        }
        const uint64_t id = NEEDLE_ID, others[] = {0, 7919, 15838, 23757};
        const efface_request request = {.ids = &id, .n_ids = 1};
        REQUIRE_OK(efface_store_preview(store, &request, NULL, error));
        assert_true(search_memory());
        assert_true(seen.n_found != 0); /* resident */
        efface_request requests[4];
        efface_store_change changes[5];
        for (size_t i = 0; i < 5; i++) {
            if (i < 4)
                requests[i] = (efface_request){.ids = &others[i], .n_ids = 1};
            changes[i] = (efface_store_change){.kind = EFFACE_CHANGE_FORGET,
                                               .request = i < 4 ? &requests[i] : &request};
        }
        REQUIRE_OK(efface_store_change_all(store, changes, 5, error));
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(changes[i].status, EFFACE_OK);
            efface_store_report_free(&changes[i].report);
        }
        require_gone("forgotten with others", "a resident store", seed);

        REQUIRE_OK(efface_data_create(N_COLUMNS, &data, error));
        efface_rows rows = needle_row();
        REQUIRE_OK(efface_data_add(data, &rows, error));
        wipe_values();
        changes[0] = (efface_store_change){.kind = EFFACE_CHANGE_LEARN, .data = data};
        changes[1] = (efface_store_change){.kind = EFFACE_CHANGE_FORGET, .request = &request};
        REQUIRE_OK(efface_store_change_all(store, changes, 2, error));
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(changes[i].status, EFFACE_OK);
            efface_store_report_free(&changes[i].report);
        }
        efface_data_free(data);
        require_gone("learned and forgotten at once", "a resident store", seed);
        efface_store_close(store);
        require_gone("closed", "a resident store", seed);
    }
}

static void stores_leave_nothing(void **state) {
    (void)state;
    for (unsigned seed = 1; seed <= 4; seed++) {
        choose_needles(seed, far);
        efface_store *store = NULL;
        empty_folder();
        efface_data *data = make_set(seed % 2 != 0 ? 300 : 3000, true);
        wipe_own_stack();
        REQUIRE_OK(efface_store_create(in_folder("s"), data, NULL, NULL, NULL, 0, &store, error));
        efface_data_free(data);
        assert_int_equal(efface_store_wipes_memory(), 1);
        for (unsigned way = 0; way < N_WAYS; way++) {
            const efface_kmeans_params params = params_of(way, seed, 1);
            const char name[] = {(char)('a' + way), '\0'};
            const efface_new_model model = {.name = name, .params = &params.common};
            REQUIRE_OK(efface_store_fit(store, &model, NULL, error));
        }
        const uint64_t id = NEEDLE_ID;
        const efface_request request = {.ids = &id, .n_ids = 1};
        REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
        require_gone("forgotten", "a store", seed);

        /* Once more, from outside and through another handle. */
        REQUIRE_OK(efface_data_create(N_COLUMNS, &data, error));
        efface_rows rows = needle_row();
        REQUIRE_OK(efface_data_add(data, &rows, error));
        wipe_values();
        REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
        REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
        efface_data_free(data);
        require_gone("learned and forgotten at once", "a store", seed);

        REQUIRE_OK(efface_data_create(N_COLUMNS, &data, error));
        rows = needle_row();
        REQUIRE_OK(efface_data_add(data, &rows, error));
        wipe_values();
        REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
        efface_data_free(data);
        efface_store_close(store);
        store = open_store(in_folder("s"), EFFACE_ACCESS_WRITE);
        efface_difference difference;
        REQUIRE_OK(efface_store_verify(store, "a", &difference, error));
        REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
        require_gone("learned and forgotten", "a store", seed);
        efface_store_close(store);
        require_gone("closed", "a store", seed);
    }
}

/* ------------------------------------------------------------------ files */

static void write_number(gzFile file, bool is_array, float value) {
    if (is_array)
        (void)gzwrite(file, &value, sizeof value);
    else
        (void)gzprintf(file, "%.17g", (double)value);
}

/* Rows of which one, the last or another, is the one to look for. */
static void write_rows(const char *path, bool zipped, bool is_array, uint32_t n, uint32_t needle) {
    gzFile const file = gzopen(path, zipped ? "wb" : "wbT");
    if (is_array) {
        char head[128];
        const int n_head = snprintf(head, sizeof head,
                                    "%cNUMPY\x01%cv%c{'descr': '<f4', 'fortran_order': False, "
                                    "'shape': (%u, %u), }",
                                    0x93, 0, 0, n, N_COLUMNS);
        memset(head + n_head, ' ', sizeof head - (size_t)n_head);
        head[sizeof head - 1] = '\n';
        head[8] = (char)(sizeof head - 10);
        (void)gzwrite(file, head, sizeof head);
    }
    float row[N_COLUMNS];
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            row[j] = plain_value(i, j);
        if (i == needle)
            needle_values(row);
        for (uint32_t j = 0; j < N_COLUMNS; j++) {
            write_number(file, is_array, row[j]);
            if (!is_array)
                (void)gzputc(file, j + 1 < N_COLUMNS ? ',' : '\n');
        }
    }
    _exit(gzclose(file) == Z_OK ? 0 : 1);
}

/* Another process writes, so that its memory is none of ours. */
static void make_file(const char *path, bool zipped, bool is_array, uint32_t n, uint32_t needle) {
    const pid_t child = fork();
    int status = -1;
    assert_true(child >= 0);
    if (child == 0)
        write_rows(path, zipped, is_array, n, needle);
    assert_true(waitpid(child, &status, 0) == child && status == 0);
}

static void files_leave_nothing(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++)
        for (unsigned size = 0; size < 2; size++)
            for (unsigned last = 0; last < 2; last++) {
                const uint32_t n = size == 0 ? 50 : 9000, needle = last != 0 ? n - 1 : n / 3;
                const unsigned seed = 100 + 4 * kind + 2 * size + last;
                const uint64_t id = needle;
                efface_data *data = NULL;
                choose_needles(seed, far);
                empty_folder();
                make_file(in_folder("rows"), kind % 2 != 0, kind / 2 != 0, n, needle);
                wipe_own_stack();
                REQUIRE_OK(efface_data_load(in_folder("rows"), NULL, &data, error));
                assert_int_equal(efface_data_n_rows(data), n);
                REQUIRE_OK(efface_data_remove(data, &id, 1, error));
                static const char *const kinds[] = {"CSV", "gzipped CSV", "npy", "gzipped npy"};
                require_gone("loaded and removed", kinds[kind], seed);
                efface_data_free(data);
            }
}

int main(void) {
    if (!can_search_memory())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_search_finds_a_row),        cmocka_unit_test(models_leave_nothing),
        cmocka_unit_test(segments_leave_nothing),        cmocka_unit_test(threads_leave_nothing),
        cmocka_unit_test(stores_leave_nothing),          cmocka_unit_test(files_leave_nothing),
        cmocka_unit_test(resident_stores_leave_nothing),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
