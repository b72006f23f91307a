/*
 * Interruption of k-means: for every method and every call, the n-th question is answered with
 * "end", for n = 1, 2, ... until the call has no more questions. After each, the status is
 * EFFACE_E_INTERRUPTED, outputs, model and set are untouched; the call that then runs to its end
 * does what it does where nobody is asked. All questions come on the thread that made the call.
 */
#define MOST_ROWS 220
#define MOST_COLUMNS 64
#include "model/change_scene.h"

#include "base/errors/status.h"
#include "exact/check_nodes.h"
#include "model/exact/passes.h"
#include "model/report_scene.h"

#include <stdatomic.h>
#include <stdio.h>

/* ---------------------------------------------------------------- who is asked */

static _Thread_local bool makes_calls; /* this thread */

typedef struct asker {
    long n_asked;
    long end_at;             /* the number of the question to answer with "end"; 0: none */
    atomic_long n_elsewhere; /* questions on other threads */
} asker;

static int asked(void *context) {
    asker *const a = context;
    if (makes_calls)
        return ++a->n_asked == a->end_at;
    atomic_fetch_add(&a->n_elsewhere, 1);
    return 0;
}

/* ---------------------------------------------------------------- scenes */

/* Small, or so wide that a pass has work for two threads. */
typedef struct set_shape {
    size_t n;
    uint32_t d, k, iterations, n_threads;
} set_shape;

static const set_shape small = {60, 3, 5, 6, 1};
static const set_shape wide = {200, 64, 24, 3, 2};

/* The methods; greedy is lloyd with several candidates, coarse is pyramid on a lattice so wide that
 * clusters have no rows. */
enum { LLOYD, GREEDY, QUANTIZED, PYRAMID, COARSE, TREE, TALL_TREE, N_KINDS };

static const char *const kind_names[] = {"lloyd",  "greedy", "quantized", "pyramid",
                                         "coarse", "tree",   "tall tree"};

typedef struct scene {
    pair p;
    efface_model *second; /* a model of the same set with another seed */
    const set_shape *shape;
    int kind;
    asker asker;
    unsigned char *bytes; /* of the first model before the call */
    size_t n_bytes;

    /* What the call hands out; one that fails leaves every byte of it. */
    struct {
        efface_model *model;
        efface_report reports[2];
        efface_difference difference;
        double number;
    } out;
} scene;

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Whole numbers below 48. */
static float value_of(uint64_t row, uint32_t column) {
    return (float)(mix(row % 7 * 100 + column) % 40 + mix(row * 1000 + column) % 8);
}

static void fill_row(float *values, const set_shape *shape, uint64_t row) {
    for (uint32_t j = 0; j < shape->d; j++)
        values[j] = value_of(row, j);
}

static efface_kmeans_params params_of_kind(int kind, const set_shape *shape) {
    efface_kmeans_params p = params_of(EFFACE_METHOD_LLOYD, shape->k, 20191105);
    p.iterations = shape->iterations;
    p.common.n_threads = shape->n_threads;
    p.pyramid.rate = 0.25;
    p.pyramid.starts = 2;
    p.pyramid.passes = 2;
    p.tree.height = kind == TALL_TREE ? 2 : 1;
    p.tree.width = kind == TALL_TREE ? 2 : 3;
    p.tree.leaf_method = kind == TALL_TREE ? EFFACE_METHOD_PYRAMID : EFFACE_METHOD_LLOYD;
    p.tree.node_method = EFFACE_METHOD_QUANTIZED;
    p.epsilon = kind == COARSE ? 1.0 : 0.0;
    p.candidates = kind == GREEDY ? 2 : 1;
    if (kind > GREEDY)
        p.method = kind == QUANTIZED ? EFFACE_METHOD_QUANTIZED
                   : kind < TREE     ? EFFACE_METHOD_PYRAMID
                                     : EFFACE_METHOD_TREE;
    return p;
}

/* With two models that ask, or do not. */
static void begin(scene *s, int kind, const set_shape *shape, bool asks) {
    static float values[MOST_ROWS * MOST_COLUMNS];
    static uint64_t owners[MOST_ROWS];
    memset(s, 0, sizeof *s);
    s->shape = shape;
    s->kind = kind;
    efface_kmeans_params params = params_of_kind(kind, shape);
    if (asks) {
        params.common.interrupted = asked;
        params.common.interrupt_context = &s->asker;
    }
    for (size_t i = 0; i < shape->n; i++) {
        fill_row(values + i * shape->d, shape, i);
        owners[i] = i / 4;
    }
    const efface_rows rows = {.n_rows = shape->n, .values = values, .owners = owners};
    s->p.params = params;
    assert_int_equal(efface_data_create(shape->d, &s->p.data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(s->p.data, &rows, NULL), EFFACE_OK);
    s->p.model = fit(s->p.data, &params);
    params.common.seed++;
    s->second = fit(s->p.data, &params);
    assert_int_equal(efface_model_encode(s->p.model, &s->bytes, &s->n_bytes, NULL), EFFACE_OK);
    memset(&s->out, 0xA5, sizeof s->out);
}

static void end(scene *s) {
    efface_bytes_free(s->bytes);
    efface_model_free(s->second);
    free_pair(&s->p);
}

static pair second_of(const scene *s) {
    pair p = s->p;
    p.model = s->second;
    p.params.common.seed++;
    return p;
}

/* ---------------------------------------------------------------- calls */

typedef efface_status (*call)(scene *s, efface_error *error);

/* A row that the model began with, so that it cannot go unnoticed. */
static uint64_t first_seed(const scene *s) {
    uint64_t id = 0;
    while (!efface_kmeans_is_seed(s->p.model, id))
        id++;
    return id;
}

static efface_status call_fit(scene *s, efface_error *error) {
    return efface_kmeans_fit(s->p.data, &s->p.params, &s->out.model, error);
}

static efface_status call_decode(scene *s, efface_error *error) {
    return efface_model_decode(s->bytes, s->n_bytes, &s->p.params.common, s->p.data, &s->out.model,
                               error);
}

static efface_status call_forget(scene *s, efface_error *error) {
    const uint64_t id = first_seed(s);
    return efface_model_forget(s->p.model, s->p.data, &(efface_request){.ids = &id, .n_ids = 1},
                               s->out.reports, error);
}

static efface_status call_preview(scene *s, efface_error *error) {
    const uint64_t id = first_seed(s);
    return efface_model_preview(s->p.model, s->p.data, &(efface_request){.ids = &id, .n_ids = 1},
                                s->out.reports, error);
}

static efface_status call_forget_owner(scene *s, efface_error *error) {
    return efface_model_forget(
        s->p.model, s->p.data,
        &(efface_request){.owners = (const uint64_t[]){first_seed(s) / 4}, .n_owners = 1},
        s->out.reports, error);
}

/* A row so far out that the bound moves. */
static efface_status call_learn(scene *s, efface_error *error) {
    float values[MOST_COLUMNS];
    fill_row(values, s->shape, 999);
    values[0] = 1000.0F;
    const efface_rows row = {.n_rows = 1, .values = values};
    return efface_model_learn(s->p.model, s->p.data, &row, s->out.reports, error);
}

static efface_status call_update(scene *s, efface_error *error) {
    const uint64_t id = first_seed(s);
    float values[MOST_COLUMNS];
    fill_row(values, s->shape, 777);
    const efface_rows row = {.n_rows = 1, .values = values, .ids = &id};
    return efface_model_update(s->p.model, s->p.data, &row, s->out.reports, error);
}

static efface_status call_rekey(scene *s, efface_error *error) {
    return efface_model_rekey(s->p.model, s->p.data, 4711, s->out.reports, error);
}

static efface_status call_verify(scene *s, efface_error *error) {
    return efface_model_verify(s->p.model, s->p.data, &s->out.difference, error);
}

static efface_status call_silhouette(scene *s, efface_error *error) {
    return efface_kmeans_silhouette(s->p.model, s->p.data, NULL, 0, &s->out.number, error);
}

/* Both models. */
static efface_status call_forget_two(scene *s, efface_error *error) {
    efface_model *const models[2] = {s->p.model, s->second};
    const uint64_t id = first_seed(s);
    return efface_models_forget(models, 2, s->p.data, &(efface_request){.ids = &id, .n_ids = 1},
                                s->out.reports, error);
}

static bool makes_model(call what) {
    return what == call_fit || what == call_decode;
}

static bool changes_set(call what) {
    return what == call_forget || what == call_forget_owner || what == call_learn ||
           what == call_update || what == call_forget_two;
}

/* ---------------------------------------------------------------- one call, all its questions */

typedef struct both_sights {
    sight first, second;
} both_sights;

static both_sights look_at(const scene *s) {
    const pair second = second_of(s);
    return (both_sights){look(&s->p), look(&second)};
}

/* One call whose n-th question is answered with "end". Returns whether it ended. */
static bool interrupt(scene *s, const both_sights *before, call what, const char *name, long n) {
    static both_sights after;
    unsigned char outputs[sizeof s->out];
    efface_error error;
    memset(&error, 0, sizeof error);
    memcpy(outputs, &s->out, sizeof outputs);
    s->asker.n_asked = 0;
    s->asker.end_at = n;
    const efface_status status = what(s, &error);
    s->asker.end_at = 0;
    if (atomic_load(&s->asker.n_elsewhere) != 0)
        fail_msg("%s, question %ld: asked on another thread", name, n);
    if (status == EFFACE_OK) {
        if (s->asker.n_asked >= n)
            fail_msg("%s, question %ld: the answer made no difference", name, n);
        return false;
    }
    if (status != EFFACE_E_INTERRUPTED || error.status != status || error.message[0] == '\0')
        fail_msg("%s, question %ld: status %d, message '%s'", name, n, (int)status, error.message);
    if (s->asker.n_asked != n)
        fail_msg("%s, question %ld: asked %ld times", name, n, s->asker.n_asked);
    if (memcmp(outputs, &s->out, sizeof outputs) != 0)
        fail_msg("%s, question %ld: an output was written", name, n);
    after = look_at(s);
    if (memcmp(before, &after, sizeof after) != 0)
        fail_msg("%s, question %ld: a model or the set changed", name, n);
    if (s->shape == &small)
        check_nodes(s->p.model, s->p.data);
    return true;
}

static void check_same_models(const efface_model *a, const efface_model *b) {
    unsigned char x[EFFACE_DIGEST_BYTES], y[EFFACE_DIGEST_BYTES];
    assert_int_equal(efface_model_digest(a, x, NULL), EFFACE_OK);
    assert_int_equal(efface_model_digest(b, y, NULL), EFFACE_OK);
    assert_memory_equal(x, y, sizeof x);
}

/* The same happened, but more rows may have been visited: an interruption drops what is kept. */
static void check_report(const efface_report *ours, const efface_report *plain) {
    efface_report same = *ours;
    assert_true(ours->rows_visited >= plain->rows_visited);
    same.rows_visited = plain->rows_visited;
    check_same_report(&same, plain);
}

/* Two calls that succeeded came to the same. */
static void check_outcome(scene *s, scene *plain, call what) {
    static both_sights ours, right;
    ours = look_at(s);
    right = look_at(plain);
    assert_memory_equal(&ours, &right, sizeof ours);
    if (makes_model(what)) {
        check_same_models(s->out.model, plain->out.model);
        check_nodes(s->out.model, s->p.data);
        efface_model_free(s->out.model);
        efface_model_free(plain->out.model);
    }
    if (changes_set(what) || what == call_preview || what == call_rekey)
        check_report(&s->out.reports[0], &plain->out.reports[0]);
    if (what == call_forget_two)
        check_report(&s->out.reports[1], &plain->out.reports[1]);
    if (what == call_silhouette)
        assert_memory_equal(&s->out.number, &plain->out.number, sizeof s->out.number);
    if (what == call_verify)
        assert_true(s->out.difference.identical);
    if (what == call_rekey)
        s->p.params.common.seed = 4711;
    check_nodes(s->p.model, s->p.data);
    check_law(&s->p);
    if (what == call_forget_two) {
        const pair second = second_of(s);
        check_law(&second);
    }
}

/* Interrupts a call at each of its questions. Returns how many there were. */
static long interrupt_each(call what, const char *what_name, int kind, const set_shape *shape) {
    static scene s, plain;
    static both_sights before;
    char name[100];
    snprintf(name, sizeof name, "%s, %s, %u threads", what_name, kind_names[kind],
             shape->n_threads);
    begin(&s, kind, shape, true);
    begin(&plain, kind, shape, false);
    assert_int_equal(what(&plain, NULL), EFFACE_OK);
    if (kind == COARSE)
        assert_true(inside(s.p.model)->levels[0].n_reseeded > 0);
    before = look_at(&s);
    long n = 1;
    while (interrupt(&s, &before, what, name, n))
        n++;
    check_outcome(&s, &plain, what);
    /* The model asks in later changes too, and they do as they should. */
    if (!changes_set(what) || what == call_forget) {
        const uint64_t id = first_seed(&s);
        s.asker.n_asked = 0;
        (void)efface_model_forget(s.p.model, s.p.data, &(efface_request){.ids = &id, .n_ids = 1},
                                  NULL, NULL);
        assert_true(s.asker.n_asked > 0);
        check_law(&s.p);
    }
    end(&s);
    end(&plain);
    return n - 1;
}

/* ---------------------------------------------------------------- tests */

static void interrupt_all(call what, const char *name) {
    static const set_shape *const shapes[] = {&small, &wide};
    for (int kind = 0; kind < N_KINDS; kind++)
        for (int i = 0; i < 2; i++) {
            const long n = interrupt_each(what, name, kind, shapes[i]);
            /* A look, and what a decoded model without labels of its rows takes, is over soon. */
            const bool is_brief =
                (what == call_preview && kind < TREE) || (what == call_decode && kind < PYRAMID);
            /* A second thread may have taken all blocks of a silhouette before the first came. */
            const bool by_chance = what == call_silhouette && shapes[i]->n_threads > 1;
            if (is_brief ? n != 0 : n == 0 && !by_chance)
                fail_msg("%s, %s: %ld questions", name, kind_names[kind], n);
            /* A round for each seed, a pass for each level. */
            if (what == call_fit && n < (long)shapes[i]->k + 2)
                fail_msg("%s, %s: %ld questions", name, kind_names[kind], n);
        }
}

static void fits_can_be_interrupted(void **state) {
    (void)state;
    interrupt_all(call_fit, "fit");
    interrupt_all(call_decode, "decode");
}

static void changes_can_be_interrupted(void **state) {
    (void)state;
    interrupt_all(call_forget, "forget");
    interrupt_all(call_preview, "preview");
    interrupt_all(call_forget_owner, "forget an owner");
    interrupt_all(call_learn, "learn");
    interrupt_all(call_update, "update");
    interrupt_all(call_forget_two, "forget in two models");
}

static void refits_can_be_interrupted(void **state) {
    (void)state;
    interrupt_all(call_rekey, "rekey");
    interrupt_all(call_verify, "verify");
}

static void silhouettes_can_be_interrupted(void **state) {
    (void)state;
    interrupt_all(call_silhouette, "silhouette");
}

/* Forgetting takes microseconds where nothing else changes, and so is not worth a question. */
static void who_is_untouched_does_not_ask(void **state) {
    (void)state;
    for (int kind = 0; kind < TALL_TREE; kind++) { /* whose leaves are too small for that */
        static scene s;
        efface_report report;
        size_t n_untouched = 0;
        begin(&s, kind, &small, true);
        /* A grid of step 1, so coarse that many a row can go unnoticed. */
        s.p.params.bound = 0x1p23;
        s.p.params.epsilon = kind == QUANTIZED ? 0x1p-20 : 0.0;
        s.p.params.n_clusters = 2;
        s.p.params.iterations = 1;
        efface_model_free(s.p.model);
        s.p.model = fit(s.p.data, &s.p.params);
        for (uint64_t id = 0; id < 40; id++) {
            s.asker.n_asked = 0;
            assert_int_equal(efface_model_forget(s.p.model, s.p.data,
                                                 &(efface_request){.ids = &id, .n_ids = 1}, &report,
                                                 NULL),
                             EFFACE_OK);
            if (report.action != EFFACE_ACTION_ADJUSTED)
                continue;
            n_untouched++;
            /* In a tree, once for each node that was reached. */
            const uint32_t height =
                inside(s.p.model)->tree != NULL ? inside(s.p.model)->tree->height : 0;
            assert_int_equal(s.asker.n_asked, kind < TREE ? 0 : 1 + height - depth_of(&report));
        }
        if (n_untouched == 0)
            fail_msg("%s: no row went unnoticed", kind_names[kind]);
        check_law(&s.p);
        end(&s);
    }
}

/* ---------------------------------------------------------------- a long pass */

#define LONG_PANELS 1000

typedef struct visits {
    atomic_uint times[LONG_PANELS]; /* how often each panel was worked on */
} visits;

static void visit(void *context, unsigned worker, size_t first, size_t last) {
    visits *const v = context;
    (void)worker;
    for (size_t p = first; p < last; p++)
        atomic_fetch_add(&v->times[p], 1);
}

/* So many clusters and columns that there is a question after each 64 panels of a worker. */
static void long_passes_ask_on_the_way(void **state) {
    (void)state;
    static float values[LONG_PANELS * 16 * 64];
    efface_data *data = NULL;
    const efface_rows rows = {.n_rows = LONG_PANELS * 16 - 5, .values = values};
    assert_int_equal(efface_data_create(64, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    const float zeros[64] = {0};
    const ef_map map = {64, zeros, zeros};
    for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
        asker a = {.n_asked = 0};
        const size_t operations = ef_pass_operations(64, 1024);
        static visits v;
        ef_passes passes;
        assert_int_equal(ef_passes_init(&passes, data, &map, operations, n_threads,
                                        (ef_interrupt){asked, &a, NULL}, NULL),
                         EFFACE_OK);
        assert_int_equal(ef_pass_grain(operations), 1);
        assert_int_equal(passes.n_workers, n_threads);
        const long n_questions = n_threads == 1 ? 16 : 8;
        memset(&v, 0, sizeof v);
        assert_int_equal(ef_passes_run(&passes, operations, visit, &v, NULL), EFFACE_OK);
        assert_int_equal(a.n_asked, n_questions);
        for (size_t p = 0; p < LONG_PANELS; p++)
            assert_int_equal(atomic_load(&v.times[p]), 1);
        for (long n = 1; n <= n_questions; n++) {
            memset(&v, 0, sizeof v);
            a.n_asked = 0;
            a.end_at = n;
            assert_int_equal(ef_passes_run(&passes, operations, visit, &v, NULL),
                             EFFACE_E_INTERRUPTED);
            const size_t done = (size_t)(n - 1) * 64 * n_threads;
            for (size_t p = 0; p < LONG_PANELS; p++)
                assert_int_equal(atomic_load(&v.times[p]), p < done);
        }
        assert_int_equal(atomic_load(&a.n_elsewhere), 0);
        ef_passes_free(&passes);
    }
    efface_data_free(data);
}

static void the_status_has_a_name(void **state) {
    (void)state;
    assert_string_equal(efface_status_name(EFFACE_E_INTERRUPTED), "interrupted");
    assert_int_equal(EFFACE_E_INTERRUPTED, 11);
    efface_kmeans_params p;
    efface_kmeans_params_init(&p);
    assert_true(p.common.interrupted == NULL && p.common.interrupt_context == NULL);
}

int main(void) {
    makes_calls = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_can_be_interrupted),
        cmocka_unit_test(changes_can_be_interrupted),
        cmocka_unit_test(refits_can_be_interrupted),
        cmocka_unit_test(silhouettes_can_be_interrupted),
        cmocka_unit_test(who_is_untouched_does_not_ask),
        cmocka_unit_test(long_passes_ask_on_the_way),
        cmocka_unit_test(the_status_has_a_name),
    };
    return cmocka_run_group_tests_name("interrupt", tests, NULL, NULL);
}
