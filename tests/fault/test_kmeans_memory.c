/*
 * Memory runs out for k-means: for every call that k-means has of its own, and for every part of a
 * model that a change may have to repair, the n-th allocation fails, for n = 1, 2, ... until none
 * is left to fail. After each failure the status is EFFACE_E_MEMORY with a message, outputs are
 * untouched, the model's canonical bytes and all that can be seen of the set, and of the sets of a
 * tree's nodes, are what they were; and the same call with memory then does what it does to a model
 * that never failed. The same for two models over one set. No block is lost on the way.
 *
 * A worker whose small argument cannot be allocated is not an error: the call then succeeds with
 * fewer. Nor are margins and labels that cannot be kept: the call then does without.
 */
#include "fault/kmeans_memory_scene.h"

#include "fault/failing_memory.h"
#include "model/report_scene.h"

/* ---------------------------------------------------------------- operations */

/* One model, or both. */

static efface_status forget(scene *s, const uint64_t *ids, size_t n, efface_missing missing,
                            efface_report *reports, efface_error *error) {
    efface_model *const both[2] = {s->model, s->second};
    return s->second != NULL
               ? efface_models_forget(both, 2, s->data,
                                      &(efface_request){.ids = ids, .n_ids = n, .missing = missing},
                                      reports, error)
               : efface_model_forget(s->model, s->data,
                                     &(efface_request){.ids = ids, .n_ids = n, .missing = missing},
                                     reports, error);
}

static efface_status learn_rows(scene *s, const efface_rows *rows, efface_error *error) {
    efface_model *const both[2] = {s->model, s->second};
    return s->second != NULL ? efface_models_learn(both, 2, s->data, rows, s->out.reports, error)
                             : efface_model_learn(s->model, s->data, rows, s->out.reports, error);
}

static efface_status update_rows(scene *s, const efface_rows *rows, efface_error *error) {
    efface_model *const both[2] = {s->model, s->second};
    return s->second != NULL ? efface_models_update(both, 2, s->data, rows, s->out.reports, error)
                             : efface_model_update(s->model, s->data, rows, s->out.reports, error);
}

static efface_status op_fit(scene *s, efface_error *error) {
    return efface_kmeans_fit(s->data, &s->params, &s->out.model, error);
}

/* With bounds of columns to be copied. */
static efface_status op_fit_ranges(scene *s, efface_error *error) {
    static const float low[MOST_COLUMNS];
    static float high[MOST_COLUMNS];
    for (uint32_t j = 0; j < MOST_COLUMNS; j++)
        high[j] = 200.0F;
    efface_kmeans_params params = s->params;
    params.scale = EFFACE_SCALE_MINMAX;
    params.column_min = low;
    params.column_max = high;
    return efface_kmeans_fit(s->data, &params, &s->out.model, error);
}

static efface_status op_forget(scene *s, efface_error *error) {
    const uint64_t id = s->candidate % s->shape->n;
    return forget(s, &id, 1, EFFACE_MISSING_FAIL, s->out.reports, error);
}

static efface_status op_forget_batch(scene *s, efface_error *error) {
    uint64_t ids[MOST_REQUEST];
    const size_t n = s->candidate % 2 != 0 ? MOST_REQUEST : 2;
    for (uint64_t i = 0; i < n; i++)
        ids[i] = (s->candidate + i * 11) % s->shape->n;
    return forget(s, ids, n, EFFACE_MISSING_SKIP, s->out.reports, error);
}

/* So many that centers move too far for margins to be of use. */
static efface_status op_forget_many(scene *s, efface_error *error) {
    uint64_t ids[12];
    for (uint64_t i = 0; i < 12; i++)
        ids[i] = (s->candidate + i * 7) % s->shape->n;
    return forget(s, ids, 12, EFFACE_MISSING_SKIP, s->out.reports, error);
}

static efface_status op_forget_owner(scene *s, efface_error *error) {
    efface_model *const both[2] = {s->model, s->second};
    const uint64_t owner = s->candidate % (s->shape->n / 3);
    if (s->second != NULL)
        return efface_models_forget(
            both, 2, s->data, &(efface_request){.owners = (const uint64_t[]){owner}, .n_owners = 1},
            s->out.reports, error);
    return efface_model_forget(
        s->model, s->data, &(efface_request){.owners = (const uint64_t[]){owner}, .n_owners = 1},
        s->out.reports, error);
}

static efface_status op_preview(scene *s, efface_error *error) {
    const uint64_t ids[2] = {s->candidate % s->shape->n, (s->candidate + 17) % s->shape->n};
    return efface_model_preview(s->model, s->data, &(efface_request){.ids = ids, .n_ids = 2},
                                &s->out.reports[0], error);
}

/* One row, or as many as need more room than there is; `ids` may be NULL. */
static efface_status learn(scene *s, size_t n, const uint64_t *ids, efface_error *error) {
    float values[20 * MOST_COLUMNS];
    for (size_t i = 0; i < n; i++) {
        const newcomer row = make_newcomer(s->candidate, i, s->shape->d);
        memcpy(values + i * s->shape->d, row.values, s->shape->d * sizeof *values);
    }
    const efface_rows rows = {.n_rows = n, .values = values, .ids = ids};
    return learn_rows(s, &rows, error);
}

static efface_status op_learn(scene *s, efface_error *error) {
    const uint64_t id = s->shape->n + s->candidate;
    return learn(s, 1, s->candidate % 2 != 0 ? &id : NULL, error);
}

static efface_status op_learn_batch(scene *s, efface_error *error) {
    return learn(s, 20, NULL, error);
}

/* Also gives weights for the first time. */
static efface_status op_update(scene *s, efface_error *error) {
    const newcomer row = make_newcomer(s->candidate, 0, s->shape->d);
    const uint64_t id = s->candidate % s->shape->n;
    const int64_t weight = 1 + (int64_t)(s->candidate % 3);
    const efface_rows rows = {.n_rows = 1, .values = row.values, .ids = &id, .weights = &weight};
    return update_rows(s, &rows, error);
}

static efface_status op_verify(scene *s, efface_error *error) {
    return efface_model_verify(s->model, s->data, &s->out.difference, error);
}

static efface_status op_rekey(scene *s, efface_error *error) {
    const efface_status status =
        efface_model_rekey(s->model, s->data, 99, &s->out.reports[0], error);
    if (status == EFFACE_OK)
        s->params.common.seed = 99;
    return status;
}

static efface_status op_loss(scene *s, efface_error *error) {
    return efface_kmeans_loss(s->model, s->data, &s->out.number, error);
}

static efface_status op_labels(scene *s, efface_error *error) {
    return efface_kmeans_labels(s->model, s->data, s->out.labels, error);
}

static efface_status op_silhouette(scene *s, efface_error *error) {
    return efface_kmeans_silhouette(s->model, s->data, NULL, 0, &s->out.number, error);
}

static efface_status op_decode(scene *s, efface_error *error) {
    return efface_model_decode(s->bytes, s->n_bytes, &s->params.common, s->data, &s->out.model,
                               error);
}

/* ---------------------------------------------------------------- the loop */

static void release_outputs(scene *s, operation op) {
    if (op == op_fit || op == op_fit_ranges || op == op_decode)
        efface_model_free(s->out.model);
    memset(&s->out, 0xA5, sizeof s->out);
}

/* After a call that succeeded: the law, and once more after another change. */
static void check_success(scene *s, const char *what, long n) {
    check_law(s, what, n);
    const uint64_t id = efface_data_row(s->data, 0).id;
    assert_int_equal(forget(s, &id, 1, EFFACE_MISSING_FAIL, NULL, NULL), EFFACE_OK);
    check_law(s, what, n);
}

/* One call whose n-th allocation fails. Returns whether it was reached. */
static bool fail_once(scene *s, operation op, const char *what, long n, bool *succeeded) {
    static snapshot before, after;
    unsigned char outputs[sizeof s->out];
    efface_error error;
    memset(&error, 0, sizeof error);
    look(s, &before);
    memcpy(outputs, &s->out, sizeof outputs);
    const long blocks = atomic_load(&n_blocks);
    arm(n);
    const efface_status status = op(s, &error);
    const bool reached = disarm();
    *succeeded = status == EFFACE_OK;
    if (status != EFFACE_OK) {
        look(s, &after);
        if (status != EFFACE_E_MEMORY || error.status != status || error.message[0] == '\0')
            fail_msg("%s, allocation %ld: status %d, message '%s'", what, n, (int)status,
                     error.message);
        if (!reached)
            fail_msg("%s: out of memory though no allocation failed", what);
        if (memcmp(outputs, &s->out, sizeof outputs) != 0)
            fail_msg("%s, allocation %ld: an output was written", what, n);
        if (!same_sight(&before, &after))
            fail_msg("%s, allocation %ld: the model or the set changed", what, n);
        free_sight(&after);
        /* A set may keep what it got: larger arrays, and ids, weights, ... spelled out. */
        const size_t n_sets = 1 + s->n_nodes + (s->second != NULL ? count_nodes(s->second) : 0);
        if (atomic_load(&n_blocks) > blocks + 6 * (long)n_sets)
            fail_msg("%s, allocation %ld: %ld blocks more than before", what, n,
                     atomic_load(&n_blocks) - blocks);
    }
    free_sight(&before);
    return reached;
}

static struct {
    long calls, failures, spared; /* spared: an allocation failed and the call succeeded */
} seen;

/* How many allocations a call may do without at most, for each model: that there was a change is
 * noted with what is kept. */
static size_t can_spare_one(int method) {
    return method == LLOYD || method == GREEDY || method == PYRAMID || method == TREE;
}

/* Whether a call may do without more memory: a thread less, or nothing kept to be quicker. */
static bool can_spare(const set_shape *shape, int method) {
    return shape->n_threads != 1 || shape->margins || shape == &two || shape == &many ||
           (method == PYRAMID && shape != &unsampled) || method == SAMPLED_TREE;
}

/* After how many failures a call is made again with memory, is held against the law, and a new
 * scene begins: after each one, or as EFFACE_TEST_RETRY_EVERY says, for slow builds. In between,
 * the next call begins with what the failure left, and finds an allocation less where a set kept
 * some. */
static long retry_every(void) {
    const char *const given = getenv("EFFACE_TEST_RETRY_EVERY");
    const long every = given != NULL ? strtol(given, NULL, 0) : 1;
    return every > 0 ? every : 1;
}

/* Failures of models that keep something, and do not, are counted, so these always begin anew. */
static bool retries(const set_shape *shape, long n) {
    const bool counted = shape->margins || shape == &with_labels || shape == &no_labels ||
                         shape == &with_trial || shape == &no_trial;
    return shape->thorough && (counted || n % retry_every() == 0);
}

/* All failures of one call. Returns how many there are. */
static long fail_each(operation op, const char *what, const set_shape *shape, int method,
                      unsigned candidate) {
    const long blocks = atomic_load(&n_blocks);
    scene s;
    begin(&s, shape, method, candidate);
    long n = 1;
    size_t n_spared = 0;
    /* A call that begins with what a failure left may come to that allocation once more. */
    const size_t most_spared =
        (1 + s.n_nodes) * can_spare_one(method) * (retry_every() == 1 ? 1 : 2);
    for (bool reached = true; reached; n++) {
        bool succeeded;
        const bool retry = retries(shape, n);
        reached = fail_once(&s, op, what, n, &succeeded);
        n_spared += reached && succeeded;
        if (!can_spare(shape, method) && n_spared > most_spared)
            fail_msg("%s, allocation %ld failed and nobody noticed", what, n);
        seen.failures += !succeeded;
        seen.spared += reached && succeeded;
        if (succeeded) {
            release_outputs(&s, op);
            check_success(&s, what, n);
        } else if (retry) {
            assert_int_equal(op(&s, NULL), EFFACE_OK);
            release_outputs(&s, op);
            check_success(&s, what, n);
        }
        if (succeeded || retry) {
            end(&s);
            begin(&s, shape, method, candidate);
        }
    }
    end(&s);
    if (atomic_load(&n_blocks) != blocks)
        fail_msg("%s: %ld blocks were lost", what, atomic_load(&n_blocks) - blocks);
    seen.calls++;
    return n - 2;
}

/* What a change took: nothing, the starts of pyramid, another of them by the jury alone, levels
 * from somewhere on, races for seeds, or a fit. In a tree: how far it climbed, or whether nodes
 * went or came. */
enum {
    UNTOUCHED,
    SAMPLE,
    JURY,
    FIRST,
    LATER,
    SEEDS,
    EVERYTHING,
    TO_LEAVES,
    INSIDE,
    TO_ROOT,
    FEWER_NODES,
    MORE_NODES,
    N_PLACES
};

static const char *const place_names[] = {"untouched",
                                          "repaired from the sample on",
                                          "repaired from another start on",
                                          "repaired",
                                          "repaired from a later level",
                                          "another seed",
                                          "refitted",
                                          "no farther than the leaves",
                                          "no farther than an inner node",
                                          "up to the root",
                                          "a node gone",
                                          "a node come"};

/* Starts that run visit the sample again and again, and are judged by each row of the jury: more in
 * all sets here than the passes. */
static bool visits_starts(const efface_report *report, const scene *s) {
    return report->rows_visited > (uint64_t)s->params.pyramid.passes * efface_data_n_rows(s->data);
}

static int place_in_tree(const efface_report *report, const scene *s) {
    const size_t n_nodes = count_nodes(s->model);
    if (report->action == EFFACE_ACTION_REFITTED)
        return EVERYTHING;
    if (n_nodes != s->n_nodes)
        return n_nodes < s->n_nodes ? FEWER_NODES : MORE_NODES;
    return depth_of(report) == inside(s->model)->tree->height ? TO_LEAVES
           : depth_of(report) == 0                            ? TO_ROOT
                                                              : INSIDE;
}

static int place_of(const efface_report *report, const scene *s) {
    if (inside(s->model)->tree != NULL)
        return place_in_tree(report, s);
    if (report->action == EFFACE_ACTION_ADJUSTED)
        return UNTOUCHED;
    if (report->action == EFFACE_ACTION_REPAIRED)
        return !is_because(report, EF_REASON_SAMPLE) ? (level_of(report) == 0 ? FIRST : LATER)
               : visits_starts(report, s)            ? SAMPLE
                                                     : JURY;
    return is_because(report, EF_REASON_SEED) ? SEEDS : EVERYTHING;
}

#define MOST_CANDIDATES 60

/* For a set of which no place is expected, a slow build looks at few candidates. */
static unsigned count_candidates(const set_shape *shape) {
    return shape->thorough || retry_every() == 1 ? MOST_CANDIDATES : 10;
}

/* The first candidate for each place; MOST_CANDIDATES where there is none. */
static void find_candidates(operation op, const set_shape *shape, int method,
                            unsigned found[N_PLACES]) {
    for (int place = 0; place < N_PLACES; place++)
        found[place] = MOST_CANDIDATES;
    for (unsigned candidate = count_candidates(shape); candidate-- > 0;) {
        scene s;
        begin(&s, shape, method, candidate);
        assert_int_equal(op(&s, NULL), EFFACE_OK);
        found[place_of(&s.out.reports[0], &s)] = candidate;
        end(&s);
    }
}

static bool is_for_pyramid(const set_shape *shape) {
    return shape == &sampled || shape == &with_trial || shape == &two_sampled || shape == &alike ||
           shape == &whole || shape->rate == 0.0;
}

/* Some sets are for trees alone, some for other methods; one tree is enough for threads. */
static int first_method(const set_shape *shape) {
    return shape == &scattered ? TREE : is_for_pyramid(shape) ? PYRAMID : 0;
}

static int end_of_methods(const set_shape *shape) {
    if (shape == &with_margins)
        return LLOYD + 1;
    if (is_for_pyramid(shape))
        return PYRAMID + 1;
    if (shape == &brief)
        return TREE;
    return shape == &wide ? TREE + 1 : N_METHODS;
}

/* What the small sets must have a candidate for. */
static bool is_expected(const set_shape *shape, int method, int place, operation op) {
    if (shape->derived)
        return place == EVERYTHING;
    if (shape->margins)
        return place == LATER;
    if (method >= TREE && shape == &scattered)
        return (place == FEWER_NODES && op == op_forget) || (place == MORE_NODES && op == op_learn);
    if (method >= TREE)
        return place == TO_ROOT ||
               (method == TALL_TREE && shape == &small && (place == TO_LEAVES || place == INSIDE));
    if (shape == &alike) /* everything: by the number of rows in the sample */
        return place == UNTOUCHED || place == SAMPLE || place == JURY || place == LATER ||
               place == EVERYTHING;
    if (shape == &with_trial) /* starts that follow look at few rows, as if they were not run */
        return place == UNTOUCHED || place == JURY;
    if (shape == &whole)
        return place == SAMPLE;
    if (shape == &unsampled)
        return place == UNTOUCHED || place == LATER || place == SEEDS;
    if (shape == &last_sampled || shape == &next_sampled)
        return place == EVERYTHING;
    if (method == PYRAMID && (shape == &small || shape == &two)) /* numbers of rows move at once */
        return place == EVERYTHING;
    if (place == LATER)
        return method != PYRAMID && shape->iterations > 1;
    if (place == SAMPLE)
        return method == PYRAMID;
    return place == UNTOUCHED || place == SEEDS;
}

/* A change of the model, so that each place is among those that fail. */
static void fail_changes(operation op, const char *what, const set_shape *shape) {
    for (int method = first_method(shape); method < end_of_methods(shape); method++) {
        unsigned found[N_PLACES];
        find_candidates(op, shape, method, found);
        for (int place = 0; place < N_PLACES; place++) {
            char name[100];
            snprintf(name, sizeof name, "%s, %s, %s, %u threads", what, method_names[method],
                     place_names[place], shape->n_threads);
            if (found[place] < MOST_CANDIDATES)
                assert_true(fail_each(op, name, shape, method, found[place]) >= 5);
            else if (shape->thorough && is_expected(shape, method, place, op))
                fail_msg("no candidate for %s", name);
        }
    }
}

static void fail_others(operation op, const char *what, const set_shape *shape) {
    for (int method = first_method(shape); method < end_of_methods(shape); method++) {
        char name[100];
        snprintf(name, sizeof name, "%s, %s, %u threads", what, method_names[method],
                 shape->n_threads);
        assert_true(fail_each(op, name, shape, method, 0) >= 1);
    }
}

/* ---------------------------------------------------------------- tests */

static void for_both(void (*all)(operation, const char *, const set_shape *), operation op,
                     const char *what) {
    all(op, what, &small);
    all(op, what, &wide);
}

static void fit_fails(void **state) {
    (void)state;
    for_both(fail_others, op_fit, "fit");
    assert_true(seen.spared > 0); /* or else there never were two threads */
    fail_others(op_fit, "fit", &sampled);
    fail_others(op_fit, "fit", &whole);
    fail_others(op_fit, "fit", &unsampled);
    for_both(fail_others, op_fit_ranges, "fit with bounds");
}

static void forget_fails(void **state) {
    (void)state;
    for_both(fail_changes, op_forget, "forget");
    fail_changes(op_forget_batch, "forget a batch", &small);
    fail_changes(op_forget_owner, "forget an owner", &small);
    fail_changes(op_forget, "forget", &sampled);
    fail_changes(op_forget_batch, "forget a batch", &sampled);
    fail_changes(op_forget_owner, "forget an owner", &sampled);
    fail_changes(op_forget, "forget", &with_trial);
    fail_changes(op_forget_batch, "forget a batch", &with_trial);
    fail_changes(op_forget, "forget", &with_margins);
    fail_changes(op_forget_batch, "forget a batch", &with_margins);
    fail_changes(op_forget, "forget", &derived);
    fail_changes(op_forget, "forget", &brief);
    fail_changes(op_forget, "forget", &alike);
    fail_changes(op_forget, "forget", &whole);
    fail_changes(op_forget, "forget", &unsampled);
    fail_changes(op_forget, "forget the last row that a sample needs", &last_sampled);
    fail_changes(op_forget, "forget", &scattered);
    fail_changes(op_forget_batch, "forget a batch", &scattered);
}

/* Failures of a request, the n-th of which a model gets. */
static long count_failures(operation op, const char *what, const set_shape *shape, int method,
                           unsigned n) {
    const long before = seen.failures;
    (void)fail_each(op, what, shape, method, n);
    return seen.failures - before;
}

/* A request to a model that keeps something may make more allocations than one to a model that does
 * not, but no more that it fails for. */
static void fails_no_more(int method, const set_shape *keeps, const set_shape *dropped,
                          unsigned n_candidates) {
    const operation ops[] = {op_forget,       op_learn,       op_update,
                             op_forget_batch, op_forget_many, op_learn_batch};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (unsigned candidate = 0; candidate < n_candidates; candidate++) {
            const long with = count_failures(ops[i], "kept", keeps, method, candidate);
            const long without = count_failures(ops[i], "dropped", dropped, method, candidate);
            if (with > without)
                fail_msg("request %zu, candidate %u: %ld failures, but with nothing kept %ld", i,
                         candidate, with, without);
        }
}

static void margins_fail_nothing(void **state) {
    (void)state;
    const long spared = seen.spared;
    fails_no_more(LLOYD, &with_margins, &no_margins, 6);
    assert_true(seen.spared >= spared + 60); /* what margins take in these requests */
}

/* Without memory for them, passes look at all rows. */
static void margins_of_rows_fail_nothing(void **state) {
    (void)state;
    const long spared = seen.spared;
    (void)fail_each(op_fit, "fit with many clusters", &many, LLOYD, 0);
    assert_true(seen.spared >= spared + 6);
}

static void labels_fail_nothing(void **state) {
    (void)state;
    fails_no_more(PYRAMID, &with_labels, &no_labels, 3);
}

static void a_trial_fails_nothing(void **state) {
    (void)state;
    const long spared = seen.spared;
    fails_no_more(PYRAMID, &with_trial, &no_trial, 5);
    assert_true(seen.spared >= spared + 60); /* what the starts take to follow these requests */
}

static void preview_fails(void **state) {
    (void)state;
    for_both(fail_changes, op_preview, "preview");
    fail_changes(op_preview, "preview", &sampled);
    fail_changes(op_preview, "preview", &alike);
    fail_changes(op_preview, "preview", &unsampled);
    fail_changes(op_preview, "preview", &scattered);
}

static void learn_fails(void **state) {
    (void)state;
    for_both(fail_changes, op_learn, "learn");
    fail_changes(op_learn, "learn", &with_margins);
    fail_others(op_learn_batch, "learn a batch", &with_margins);
    fail_changes(op_learn, "learn", &derived);
    fail_changes(op_learn, "learn", &brief);
    fail_changes(op_learn, "learn", &sampled);
    fail_changes(op_learn, "learn", &with_trial);
    fail_changes(op_learn, "learn", &alike);
    fail_changes(op_learn, "learn", &unsampled);
    fail_changes(op_learn, "learn the first row that a sample needs", &next_sampled);
    fail_changes(op_learn, "learn", &scattered);
    for_both(fail_others, op_learn_batch, "learn a batch");
}

static void update_fails(void **state) {
    (void)state;
    for_both(fail_changes, op_update, "update");
    fail_changes(op_update, "update", &derived);
    fail_changes(op_update, "update", &sampled);
    fail_changes(op_update, "update", &with_trial);
    fail_changes(op_update, "update", &alike);
    fail_changes(op_update, "update", &unsampled);
    fail_changes(op_update, "update", &scattered);
}

static void two_models_fail(void **state) {
    (void)state;
    const set_shape *const shapes[2] = {&two, &two_sampled};
    for (int i = 0; i < 2; i++) {
        fail_changes(op_forget, "forget in two models", shapes[i]);
        fail_changes(op_forget_owner, "forget an owner in two models", shapes[i]);
        fail_changes(op_learn, "learn in two models", shapes[i]);
        fail_changes(op_update, "update in two models", shapes[i]);
    }
}

static void rekey_and_verify_fail(void **state) {
    (void)state;
    fail_others(op_rekey, "rekey", &wide);
    fail_others(op_verify, "verify", &wide);
}

static void questions_fail(void **state) {
    (void)state;
    for_both(fail_others, op_loss, "loss");
    for_both(fail_others, op_labels, "labels");
    for_both(fail_others, op_silhouette, "silhouette");
    fail_others(op_decode, "decode", &wide);
    fail_others(op_decode, "decode", &scattered);
    fail_others(op_decode, "decode", &sampled);
    fail_others(op_decode, "decode", &unsampled);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fit_fails),
        cmocka_unit_test(forget_fails),
        cmocka_unit_test(margins_fail_nothing),
        cmocka_unit_test(margins_of_rows_fail_nothing),
        cmocka_unit_test(labels_fail_nothing),
        cmocka_unit_test(a_trial_fails_nothing),
        cmocka_unit_test(preview_fails),
        cmocka_unit_test(learn_fails),
        cmocka_unit_test(update_fails),
        cmocka_unit_test(two_models_fail),
        cmocka_unit_test(rekey_and_verify_fail),
        cmocka_unit_test(questions_fail),
    };
    const int n_failed = cmocka_run_group_tests_name("kmeans memory", tests, NULL, NULL);
    printf("%ld calls failed %ld times; %ld times a call did with less\n", seen.calls,
           seen.failures, seen.spared);
    return n_failed;
}
