/*
 * Memory runs out, for every family and each way in which its models work: for every call, the n-th
 * allocation fails, for n = 1, 2, ... until none is left to fail. After each failure the status is
 * EFFACE_E_MEMORY with a message, outputs are untouched, and the models' canonical bytes, what they
 * have beside them and all that can be seen of the set are what they were; the same call with
 * memory then does what it does to a model that never failed. No block is lost on the way.
 *
 * A family may do without some memory and be slower (`spares`): then a call may succeed though an
 * allocation failed. test_kmeans_memory.c looks for such failures where k-means has to repair this
 * or that part.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/set/rows.h"
#include "fault/failing_memory.h"
#include "law/draws.h"
#include "law/law_families.h"
#include "model/family.h"

#include <string.h>

#define N_ROWS 60
#define N_COLUMNS 3
#define MOST_BATCH 20
#define MOST_ROWS (N_ROWS + 2 * MOST_BATCH)

/* ---------------------------------------------------------------- scenes */

typedef struct scene {
    const law_family *families[2];
    law_params params[2];
    efface_data *data;
    efface_model *models[2]; /* of one set; the second may be NULL */
    unsigned candidate;      /* which request, of several */
    uint64_t id;             /* of the row that it is about */
    unsigned char *bytes;    /* of the first model before the call */
    size_t n_bytes;

    /* What the call hands out. All bytes of it are compared. */
    struct {
        efface_model *model;
        efface_data *data;
        unsigned char *bytes;
        size_t n_bytes;
        unsigned char digest[EFFACE_DIGEST_BYTES];
        efface_report reports[2];
        efface_difference difference;
        efface_number numbers[64];
        double values[N_COLUMNS];
    } out;
} scene;

/* A family and a way, and those of a second model if there is one. */
typedef struct cast {
    const law_family *families[2];
    unsigned ways[2];
} cast;

typedef efface_status (*operation)(scene *s, efface_error *error);

/* Whole numbers in seven groups. */
static float value_of(uint64_t row, uint32_t column) {
    return (float)(mix(row % 7 * 100 + column) % 40 + mix(row * 1000 + column) % 5);
}

static void fill(float *values, size_t n, uint64_t first) {
    for (size_t i = 0; i < n * N_COLUMNS; i++)
        values[i] = value_of(first + i / N_COLUMNS, (uint32_t)(i % N_COLUMNS));
}

static efface_data *make_set(void) {
    float values[N_ROWS * N_COLUMNS];
    uint64_t owners[N_ROWS];
    int64_t labels[N_ROWS];
    efface_data *data = NULL;
    fill(values, N_ROWS, 0);
    for (size_t i = 0; i < N_ROWS; i++) {
        owners[i] = i / 3;
        labels[i] = (int64_t)(i % 4);
    }
    const efface_rows rows = {
        .n_rows = N_ROWS, .values = values, .owners = owners, .labels = labels};
    assert_int_equal(efface_data_create(N_COLUMNS, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    return data;
}

/* One that the first model names, or another. */
static uint64_t choose_id(const scene *s) {
    uint64_t ids[50], stream = s->candidate;
    const size_t n = s->candidate % 2 == 0
                         ? law_name_ids(s->families[0], s->models[0], s->data, ids, 50, &stream)
                         : 0;
    return n != 0 ? ids[s->candidate % n] : (s->candidate * 17 + 5) % N_ROWS;
}

static void begin(scene *s, const cast *of, unsigned candidate) {
    memset(s, 0, sizeof *s);
    s->candidate = candidate;
    s->data = make_set();
    for (int m = 0; m < 2 && of->families[m] != NULL; m++) {
        s->families[m] = of->families[m];
        s->families[m]->choose(&s->params[m], of->ways[m], N_COLUMNS);
        assert_int_equal(law_fit(s->data, &s->params[m], &s->models[m], NULL), EFFACE_OK);
    }
    s->id = choose_id(s);
    assert_int_equal(efface_model_encode(s->models[0], &s->bytes, &s->n_bytes, NULL), EFFACE_OK);
    memset(&s->out, 0xA5, sizeof s->out);
}

static void end(scene *s) {
    efface_bytes_free(s->bytes);
    efface_model_free(s->models[1]);
    efface_model_free(s->models[0]);
    efface_data_free(s->data);
}

static size_t n_models(const scene *s) {
    return s->models[1] != NULL ? 2 : 1;
}

/* ---------------------------------------------------------------- what can be seen */

typedef struct snapshot {
    unsigned char digests[2][EFFACE_DIGEST_BYTES];
    uint64_t beside[2];
    ef_stamp stamps[3];
    int64_t total_weight;
    uint64_t next_id;
    size_t n_rows;
    efface_row rows[MOST_ROWS]; /* by position: nothing that failed has moved a row */
    float values[MOST_ROWS][N_COLUMNS];
    float least[N_COLUMNS], most[N_COLUMNS];
} snapshot;

static void look(const scene *s, snapshot *sight) {
    memset(sight, 0, sizeof *sight);
    for (size_t m = 0; m < n_models(s); m++) {
        const efface_model *const model = s->models[m];
        assert_int_equal(efface_model_digest(model, sight->digests[m], NULL), EFFACE_OK);
        sight->beside[m] = s->families[m]->hash != NULL ? s->families[m]->hash(model) : 0;
        sight->stamps[m] = model->stamp;
    }
    sight->stamps[2] = s->data->stamp;
    sight->total_weight = efface_data_total_weight(s->data);
    sight->next_id = s->data->next_id;
    sight->n_rows = efface_data_n_rows(s->data);
    assert_true(sight->n_rows <= MOST_ROWS);
    for (size_t i = 0; i < sight->n_rows; i++) {
        const efface_row row = efface_data_row(s->data, i);
        size_t position = SIZE_MAX;
        assert_int_equal(efface_data_find(s->data, row.id, &position), EFFACE_OK);
        assert_int_equal(position, i);
        sight->rows[i].id = row.id;
        sight->rows[i].weight = row.weight;
        sight->rows[i].owner = row.owner;
        sight->rows[i].label = row.label;
        efface_data_values(s->data, i, sight->values[i]);
    }
    ef_data_column_ranges(s->data, sight->least, sight->most);
}

/* The models are those of fresh fits. */
static void check_law(const scene *s, const char *what, long n) {
    for (size_t m = 0; m < n_models(s); m++) {
        efface_model *fresh = NULL;
        efface_difference difference;
        unsigned char ours[EFFACE_DIGEST_BYTES], right[EFFACE_DIGEST_BYTES];
        assert_int_equal(efface_model_verify(s->models[m], s->data, &difference, NULL), EFFACE_OK);
        assert_int_equal(law_fit(s->data, &s->params[m], &fresh, NULL), EFFACE_OK);
        assert_int_equal(efface_model_digest(s->models[m], ours, NULL), EFFACE_OK);
        assert_int_equal(efface_model_digest(fresh, right, NULL), EFFACE_OK);
        if (!difference.identical || memcmp(ours, right, sizeof ours) != 0)
            fail_msg("%s, allocation %ld: not the bytes of a fresh fit afterwards", what, n);
        law_check(s->families[m], s->models[m], fresh, s->data);
        efface_model_free(fresh);
    }
}

/* ---------------------------------------------------------------- operations */

static efface_status op_fit(scene *s, efface_error *error) {
    return law_fit(s->data, &s->params[0], &s->out.model, error);
}

static efface_status forget(scene *s, const efface_request *request, efface_error *error) {
    return s->models[1] == NULL
               ? efface_model_forget(s->models[0], s->data, request, s->out.reports, error)
               : efface_models_forget(s->models, 2, s->data, request, s->out.reports, error);
}

static efface_status op_forget(scene *s, efface_error *error) {
    return forget(s, &(efface_request){.ids = &s->id, .n_ids = 1}, error);
}

static efface_status op_forget_batch(scene *s, efface_error *error) {
    uint64_t ids[5];
    for (uint64_t i = 0; i < 5; i++)
        ids[i] = (s->id + i * 11) % N_ROWS;
    return forget(s, &(efface_request){.ids = ids, .n_ids = 5, .missing = EFFACE_MISSING_SKIP},
                  error);
}

static efface_status op_forget_owner(scene *s, efface_error *error) {
    const uint64_t owner = s->id / 3;
    return forget(s, &(efface_request){.owners = &owner, .n_owners = 1}, error);
}

static efface_status op_preview(scene *s, efface_error *error) {
    const uint64_t ids[2] = {s->id, (s->id + 17) % N_ROWS};
    return efface_model_preview(s->models[0], s->data, &(efface_request){.ids = ids, .n_ids = 2},
                                s->out.reports, error);
}

/* At times far out; with and without ids. */
static efface_status learn(scene *s, size_t n, efface_error *error) {
    float values[MOST_BATCH * N_COLUMNS];
    int64_t labels[MOST_BATCH] = {0};
    const uint64_t id = N_ROWS + s->candidate;
    fill(values, n, 5000 + s->candidate * 10);
    values[0] += s->candidate % 2 != 0 ? 900.0F : 0.0F;
    labels[0] = 77;
    const efface_rows rows = {.n_rows = n,
                              .values = values,
                              .ids = n == 1 && s->candidate % 2 != 0 ? &id : NULL,
                              .labels = labels};
    return s->models[1] == NULL
               ? efface_model_learn(s->models[0], s->data, &rows, s->out.reports, error)
               : efface_models_learn(s->models, 2, s->data, &rows, s->out.reports, error);
}

static efface_status op_learn(scene *s, efface_error *error) {
    return learn(s, 1, error);
}

static efface_status op_learn_batch(scene *s, efface_error *error) {
    return learn(s, MOST_BATCH, error);
}

/* Also gives weights for the first time. */
static efface_status op_update(scene *s, efface_error *error) {
    float values[N_COLUMNS];
    const int64_t weight = 1 + (int64_t)(s->candidate % 3), label = 5;
    fill(values, 1, 7000 + s->candidate);
    const efface_rows rows = {
        .n_rows = 1, .values = values, .ids = &s->id, .weights = &weight, .labels = &label};
    return s->models[1] == NULL
               ? efface_model_update(s->models[0], s->data, &rows, s->out.reports, error)
               : efface_models_update(s->models, 2, s->data, &rows, s->out.reports, error);
}

static efface_status op_verify(scene *s, efface_error *error) {
    return efface_model_verify(s->models[0], s->data, &s->out.difference, error);
}

static efface_status op_rekey(scene *s, efface_error *error) {
    const efface_status status =
        efface_model_rekey(s->models[0], s->data, 99, s->out.reports, error);
    if (status == EFFACE_OK)
        s->params[0].common.seed = 99;
    return status;
}

static efface_status op_predict(scene *s, efface_error *error) {
    float values[N_COLUMNS];
    fill(values, 1, 3);
    assert_true(efface_model_get_info(s->models[0]).n_numbers <= 64);
    return efface_predictor_predict(efface_model_predictor(s->models[0]), 1, values, 0,
                                    s->out.numbers, error);
}

static efface_status op_encode(scene *s, efface_error *error) {
    return efface_model_encode(s->models[0], &s->out.bytes, &s->out.n_bytes, error);
}

static efface_status op_decode(scene *s, efface_error *error) {
    return efface_model_decode(s->bytes, s->n_bytes, &s->params[0].common, s->data, &s->out.model,
                               error);
}

static efface_status op_digest(scene *s, efface_error *error) {
    return efface_model_digest(s->models[0], s->out.digest, error);
}

static efface_status op_create(scene *s, efface_error *error) {
    (void)s;
    return efface_data_create(N_COLUMNS, &s->out.data, error);
}

/* What changes the set alone: the models no longer fit it afterwards. */

static efface_status op_add(scene *s, efface_error *error) {
    const float values[MOST_BATCH * N_COLUMNS] = {0};
    const efface_rows rows = {.n_rows = MOST_BATCH, .values = values};
    return efface_data_add(s->data, &rows, error);
}

static efface_status op_add_all(scene *s, efface_error *error) {
    const float values[MOST_BATCH * N_COLUMNS] = {0};
    uint64_t ids[MOST_BATCH], owners[MOST_BATCH];
    int64_t weights[MOST_BATCH], labels[MOST_BATCH];
    for (unsigned i = 0; i < MOST_BATCH; i++) {
        ids[i] = 1000 - i;
        weights[i] = 2 + i;
        owners[i] = i;
        labels[i] = -1;
    }
    const efface_rows rows = {MOST_BATCH, values, 0, ids, weights, owners, labels, labels};
    return efface_data_add(s->data, &rows, error);
}

static efface_status op_remove(scene *s, efface_error *error) {
    const uint64_t ids[3] = {0, N_ROWS - 1, 20};
    return efface_data_remove(s->data, ids, 3, error);
}

static efface_status op_replace(scene *s, efface_error *error) {
    const float values[2 * N_COLUMNS] = {0};
    const uint64_t ids[2] = {3, N_ROWS - 1}, owners[2] = {8, 9};
    const int64_t weights[2] = {5, 6}, labels[2] = {1, 2};
    const efface_rows rows = {2, values, 0, ids, weights, owners, labels, labels};
    return efface_data_replace(s->data, &rows, error);
}

/* ---------------------------------------------------------------- the loop */

static struct {
    long calls, failures, spared; /* spared: an allocation failed and the call succeeded */
} seen;

static void release_outputs(scene *s, operation op) {
    if (op == op_fit || op == op_decode)
        efface_model_free(s->out.model);
    if (op == op_create)
        efface_data_free(s->out.data);
    if (op == op_encode)
        efface_bytes_free(s->out.bytes);
    memset(&s->out, 0xA5, sizeof s->out);
}

static bool changes_set_alone(operation op) {
    return op == op_add || op == op_add_all || op == op_remove || op == op_replace;
}

/* After a call that succeeded: the law, and once more after another change. */
static void check_success(scene *s, operation op, const char *what, long n) {
    release_outputs(s, op);
    if (changes_set_alone(op)) { /* the model knows nothing of it */
        efface_model_free(s->models[0]);
        s->models[0] = NULL;
        assert_int_equal(law_fit(s->data, &s->params[0], &s->models[0], NULL), EFFACE_OK);
    }
    check_law(s, what, n);
    const uint64_t id = efface_data_row(s->data, 0).id;
    assert_int_equal(forget(s, &(efface_request){.ids = &id, .n_ids = 1}, NULL), EFFACE_OK);
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
    arm(n);
    const efface_status status = op(s, &error);
    const bool reached = disarm();
    *succeeded = status == EFFACE_OK;
    if (status == EFFACE_OK)
        return reached;
    look(s, &after);
    if (status != EFFACE_E_MEMORY || error.status != status || error.message[0] == '\0')
        fail_msg("%s, allocation %ld: status %d, message '%s'", what, n, (int)status,
                 error.message);
    if (!reached)
        fail_msg("%s: out of memory though no allocation failed", what);
    if (memcmp(outputs, &s->out, sizeof outputs) != 0)
        fail_msg("%s, allocation %ld: an output was written", what, n);
    if (memcmp(&before, &after, sizeof before) != 0)
        fail_msg("%s, allocation %ld: a model or the set changed", what, n);
    return reached;
}

/* After how many failures a call is made again with memory, is held against the law, and a new
 * scene begins: after each one, or as EFFACE_TEST_RETRY_EVERY says, for slow builds. */
static long retry_every(void) {
    const char *const given = getenv("EFFACE_TEST_RETRY_EVERY");
    const long every = given != NULL ? strtol(given, NULL, 0) : 1;
    return every > 0 ? every : 1;
}

static bool may_spare(const cast *of) {
    return of->families[0]->spares || (of->families[1] != NULL && of->families[1]->spares);
}

/* All failures of one call. Returns how many there are. */
static long fail_each(operation op, const char *what, const cast *of, unsigned candidate) {
    const long blocks = atomic_load(&n_blocks);
    static scene s;
    char name[200];
    (void)snprintf(name, sizeof name, "%s, %s, %s, candidate %u", what, of->families[0]->name,
                   of->families[0]->way_names[of->ways[0]], candidate);
    begin(&s, of, candidate);
    long n = 1;
    for (bool reached = true; reached; n++) {
        bool succeeded;
        const bool retry = n % retry_every() == 0;
        reached = fail_once(&s, op, name, n, &succeeded);
        if (reached && succeeded && !may_spare(of))
            fail_msg("%s, allocation %ld failed and nobody noticed", name, n);
        seen.failures += !succeeded;
        seen.spared += reached && succeeded;
        if (!succeeded && retry)
            assert_int_equal(op(&s, NULL), EFFACE_OK);
        if (succeeded || retry) {
            check_success(&s, op, name, n);
            end(&s);
            begin(&s, of, candidate);
        }
    }
    end(&s);
    if (atomic_load(&n_blocks) != blocks)
        fail_msg("%s: %ld blocks were lost", name, atomic_load(&n_blocks) - blocks);
    seen.calls++;
    return n - 2;
}

/* A call for each family and way, with some candidates. `least` is how many allocations it has at
 * least; with a second model if that is asked for, which is of the next family, or of the next way
 * if there is no other. */
static void fail_all(operation op, const char *what, unsigned n_candidates, long least,
                     bool with_second) {
    for (size_t f = 0; f < law_n_families; f++)
        for (unsigned way = 0; way < law_families[f]->n_ways; way++)
            for (unsigned candidate = 0; candidate < n_candidates; candidate++) {
                const law_family *const other = law_family_at(f + 1);
                const cast of = {{law_families[f], with_second ? other : NULL},
                                 {way, (way + 1) % other->n_ways}};
                if (fail_each(op, what, &of, candidate) < least)
                    fail_msg("%s, %s: not a single allocation failed", what, of.families[0]->name);
            }
}

/* ---------------------------------------------------------------- tests */

static void fits_fail(void **state) {
    (void)state;
    fail_all(op_fit, "fit", 1, 1, false);
    fail_all(op_rekey, "rekey", 1, 1, false);
    fail_all(op_verify, "verify", 1, 1, false);
}

static void changes_fail(void **state) {
    (void)state;
    fail_all(op_forget, "forget", 3, 1, false);
    fail_all(op_forget_batch, "forget a batch", 1, 1, false);
    fail_all(op_forget_owner, "forget an owner", 1, 1, false);
    fail_all(op_preview, "preview", 1, 1, false);
    fail_all(op_learn, "learn", 2, 1, false);
    fail_all(op_learn_batch, "learn a batch", 1, 1, false);
    fail_all(op_update, "update", 2, 1, false);
}

static void two_models_fail(void **state) {
    (void)state;
    fail_all(op_forget, "forget in two models", 1, 1, true);
    fail_all(op_learn, "learn in two models", 1, 1, true);
    fail_all(op_update, "update in two models", 1, 1, true);
}

static void questions_fail(void **state) {
    (void)state;
    fail_all(op_predict, "predict", 1, 0, false);
    fail_all(op_encode, "encode", 1, 1, false);
    fail_all(op_decode, "decode", 1, 1, false);
    fail_all(op_digest, "digest", 1, 0, false);
}

static void sets_fail(void **state) {
    (void)state;
    const cast of = {{law_families[0], NULL}, {0, 0}};
    assert_true(fail_each(op_create, "create", &of, 0) >= 1);
    assert_true(fail_each(op_add, "add", &of, 0) >= 1);
    assert_true(fail_each(op_add_all, "add with ids, weights, owners and labels", &of, 0) >= 1);
    assert_true(fail_each(op_remove, "remove", &of, 0) >= 1);
    assert_true(fail_each(op_replace, "replace", &of, 0) >= 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_fail),       cmocka_unit_test(changes_fail),
        cmocka_unit_test(two_models_fail), cmocka_unit_test(questions_fail),
        cmocka_unit_test(sets_fail),
    };
    const int n_failed = cmocka_run_group_tests_name("memory", tests, NULL, NULL);
    printf("%ld calls failed %ld times; %ld times a call did with less\n", seen.calls,
           seen.failures, seen.spared);
    return n_failed;
}
