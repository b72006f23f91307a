/*
 * Interruption, for every family and each way in which its models work: in every call, the n-th
 * question is answered with "end", for n = 1, 2, ... until the call has no more questions. After
 * each, the status is EFFACE_E_INTERRUPTED, outputs, models and set are untouched; the call that
 * then runs to its end does what it does where nobody is asked. All questions come on the thread
 * that made the call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/set/rows.h"
#include "law/draws.h"
#include "law/law_families.h"
#include "model/family.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define N_ROWS 60
#define N_COLUMNS 3
#define MOST_ROWS (N_ROWS + 1)

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

/* Two models of one set, which differ in their seeds. */
typedef struct scene {
    const law_family *family;
    law_params params[2];
    efface_model *models[2];
    efface_data *data;
    asker asker;
    uint64_t id;          /* of a row that the first model names, if it names any */
    unsigned char *bytes; /* of the first model before the call */
    size_t n_bytes;

    /* What the call hands out; one that fails leaves every byte of it. */
    struct {
        efface_model *model;
        efface_report reports[2];
        efface_difference difference;
    } out;
} scene;

/* Whole numbers below 48. */
static void fill_row(float *values, uint64_t row) {
    for (uint32_t j = 0; j < N_COLUMNS; j++)
        values[j] = (float)(mix(row % 7 * 100 + j) % 40 + mix(row * 1000 + j) % 8);
}

static efface_data *make_set(void) {
    float values[N_ROWS * N_COLUMNS];
    uint64_t owners[N_ROWS];
    int64_t labels[N_ROWS];
    efface_data *data = NULL;
    for (size_t i = 0; i < N_ROWS; i++) {
        fill_row(values + i * N_COLUMNS, i);
        owners[i] = i / 4;
        labels[i] = (int64_t)(i % 3);
    }
    const efface_rows rows = {
        .n_rows = N_ROWS, .values = values, .owners = owners, .labels = labels};
    assert_int_equal(efface_data_create(N_COLUMNS, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    return data;
}

/* A row that does not go unnoticed, where the model names one. */
static uint64_t choose_id(const scene *s) {
    uint64_t id = 7;
    for (uint64_t stream = 1, turn = 0; turn < 50; turn++)
        if (law_name_ids(s->family, s->models[0], s->data, &id, 1, &stream) != 0)
            break;
    return id;
}

static void begin(scene *s, const law_family *family, unsigned way, bool asks) {
    memset(s, 0, sizeof *s);
    s->family = family;
    s->data = make_set();
    for (int m = 0; m < 2; m++) {
        family->choose(&s->params[m], way, N_COLUMNS);
        s->params[m].common.seed += (uint64_t)m;
        if (asks) {
            s->params[m].common.interrupted = asked;
            s->params[m].common.interrupt_context = &s->asker;
        }
        assert_int_equal(law_fit(s->data, &s->params[m], &s->models[m], NULL), EFFACE_OK);
    }
    s->id = choose_id(s);
    assert_int_equal(efface_model_encode(s->models[0], &s->bytes, &s->n_bytes, NULL), EFFACE_OK);
    memset(&s->out, 0xA5, sizeof s->out);
}

static void end(scene *s) {
    efface_bytes_free(s->bytes);
    efface_model_free(s->models[0]);
    efface_model_free(s->models[1]);
    efface_data_free(s->data);
}

/* ---------------------------------------------------------------- what can be seen */

typedef struct sight {
    unsigned char digests[2][EFFACE_DIGEST_BYTES];
    int64_t total_weight;
    uint64_t next_id;
    size_t n_rows;
    efface_row rows[MOST_ROWS]; /* by position */
    float values[MOST_ROWS][N_COLUMNS];
    uint64_t beside[2]; /* of the models; not the same in two sets */
} sight;

static void look(const scene *s, sight *to, bool beside) {
    memset(to, 0, sizeof *to);
    for (int m = 0; m < 2; m++) {
        assert_int_equal(efface_model_digest(s->models[m], to->digests[m], NULL), EFFACE_OK);
        if (beside && s->family->hash != NULL)
            to->beside[m] = s->family->hash(s->models[m]);
    }
    to->n_rows = efface_data_n_rows(s->data);
    to->total_weight = efface_data_total_weight(s->data);
    to->next_id = s->data->next_id;
    assert_true(to->n_rows <= MOST_ROWS);
    for (size_t i = 0; i < to->n_rows; i++) {
        const efface_row row = efface_data_row(s->data, i);
        to->rows[i].id = row.id;
        to->rows[i].weight = row.weight;
        to->rows[i].owner = row.owner;
        to->rows[i].label = row.label;
        efface_data_values(s->data, i, to->values[i]);
    }
}

static void check_same_models(const efface_model *a, const efface_model *b) {
    unsigned char x[EFFACE_DIGEST_BYTES], y[EFFACE_DIGEST_BYTES];
    assert_int_equal(efface_model_digest(a, x, NULL), EFFACE_OK);
    assert_int_equal(efface_model_digest(b, y, NULL), EFFACE_OK);
    assert_memory_equal(x, y, sizeof x);
}

/* A model is that of a fresh fit. */
static void check_law(const scene *s, int m) {
    efface_model *fresh = NULL;
    assert_int_equal(law_fit(s->data, &s->params[m], &fresh, NULL), EFFACE_OK);
    check_same_models(s->models[m], fresh);
    law_check(s->family, s->models[m], fresh, s->data);
    efface_model_free(fresh);
}

/* The same happened twice, if not in the same time. A call that ended may have taken what was kept
 * beside the state with it: the next one looks at as many rows, or more. */
static void check_same_report(const efface_report *a, const efface_report *b) {
    assert_int_equal(a->action, b->action);
    assert_string_equal(a->reason, b->reason);
    assert_string_equal(a->where, b->where);
    assert_int_equal(a->rows_forgotten, b->rows_forgotten);
    assert_int_equal(a->rows_learned, b->rows_learned);
    assert_int_equal(a->rows_missing, b->rows_missing);
    assert_true(a->rows_visited >= b->rows_visited);
}

/* ---------------------------------------------------------------- calls */

typedef efface_status (*call)(scene *s, efface_error *error);

static efface_status call_fit(scene *s, efface_error *error) {
    return law_fit(s->data, &s->params[0], &s->out.model, error);
}

static efface_status call_decode(scene *s, efface_error *error) {
    return efface_model_decode(s->bytes, s->n_bytes, &s->params[0].common, s->data, &s->out.model,
                               error);
}

/* The other model of the set is refused from then on. */
static efface_status call_forget(scene *s, efface_error *error) {
    return efface_model_forget(s->models[0], s->data, &(efface_request){.ids = &s->id, .n_ids = 1},
                               s->out.reports, error);
}

static efface_status call_preview(scene *s, efface_error *error) {
    return efface_model_preview(s->models[0], s->data, &(efface_request){.ids = &s->id, .n_ids = 1},
                                s->out.reports, error);
}

static efface_status call_forget_owner(scene *s, efface_error *error) {
    const uint64_t owner = s->id / 4;
    return efface_model_forget(s->models[0], s->data,
                               &(efface_request){.owners = &owner, .n_owners = 1}, s->out.reports,
                               error);
}

/* A row far out. */
static efface_status call_learn(scene *s, efface_error *error) {
    float values[N_COLUMNS];
    fill_row(values, 999);
    values[0] = 1000.0F;
    const efface_rows row = {.n_rows = 1, .values = values};
    return efface_model_learn(s->models[0], s->data, &row, s->out.reports, error);
}

static efface_status call_update(scene *s, efface_error *error) {
    float values[N_COLUMNS];
    fill_row(values, 777);
    const efface_rows row = {.n_rows = 1, .values = values, .ids = &s->id};
    return efface_model_update(s->models[0], s->data, &row, s->out.reports, error);
}

static efface_status call_forget_two(scene *s, efface_error *error) {
    return efface_models_forget(s->models, 2, s->data, &(efface_request){.ids = &s->id, .n_ids = 1},
                                s->out.reports, error);
}

static efface_status call_rekey(scene *s, efface_error *error) {
    return efface_model_rekey(s->models[0], s->data, 4711, s->out.reports, error);
}

static efface_status call_verify(scene *s, efface_error *error) {
    return efface_model_verify(s->models[0], s->data, &s->out.difference, error);
}

/* A call, and what it does. */
typedef struct calling {
    const char *name;
    call make;
    bool makes_model, reports, fits; /* it fits the set, and so must ask */
} calling;

static const calling calls[] = {{"fit", call_fit, true, false, true},
                                {"decode", call_decode, true, false, false},
                                {"forget", call_forget, false, true, false},
                                {"preview", call_preview, false, true, false},
                                {"forget an owner", call_forget_owner, false, true, false},
                                {"learn", call_learn, false, true, false},
                                {"update", call_update, false, true, false},
                                {"forget in two models", call_forget_two, false, true, false},
                                {"rekey", call_rekey, false, true, true},
                                {"verify", call_verify, false, false, true}};

/* ---------------------------------------------------------------- one call, all its questions */

/* One call whose n-th question is answered with "end". Returns whether it ended. */
static bool interrupt(scene *s, const sight *before, const calling *c, const char *name, long n) {
    static sight after;
    unsigned char outputs[sizeof s->out];
    efface_error error;
    memset(&error, 0, sizeof error);
    memcpy(outputs, &s->out, sizeof outputs);
    s->asker.n_asked = 0;
    s->asker.end_at = n;
    const efface_status status = c->make(s, &error);
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
    look(s, &after, true);
    if (memcmp(before, &after, sizeof after) != 0)
        fail_msg("%s, question %ld: a model or the set changed", name, n);
    if (s->family->check != NULL)
        s->family->check(s->models[0], s->data);
    return true;
}

/* Two calls that succeeded came to the same. */
static void check_outcome(scene *s, scene *plain, const calling *c) {
    static sight ours, right;
    look(s, &ours, false);
    look(plain, &right, false);
    assert_memory_equal(&ours, &right, sizeof ours);
    if (c->makes_model) {
        check_same_models(s->out.model, plain->out.model);
        if (s->family->check != NULL)
            s->family->check(s->out.model, s->data);
        efface_model_free(s->out.model);
        efface_model_free(plain->out.model);
    }
    if (c->reports)
        check_same_report(&s->out.reports[0], &plain->out.reports[0]);
    if (c->make == call_forget_two)
        check_same_report(&s->out.reports[1], &plain->out.reports[1]);
    if (c->make == call_verify)
        assert_true(s->out.difference.identical);
    if (c->make == call_rekey)
        s->params[0].common.seed = 4711;
    check_law(s, 0);
    if (c->make == call_forget_two)
        check_law(s, 1);
}

/* Interrupts a call at each of its questions. Returns how many there were. */
static long interrupt_each(const calling *c, const law_family *family, unsigned way) {
    static scene s, plain;
    static sight before;
    char name[100];
    (void)snprintf(name, sizeof name, "%s, %s, %s", c->name, family->name, family->way_names[way]);
    begin(&s, family, way, true);
    begin(&plain, family, way, false);
    assert_int_equal(c->make(&plain, NULL), EFFACE_OK);
    look(&s, &before, true);
    long n = 1;
    while (interrupt(&s, &before, c, name, n))
        n++;
    if (c->fits && n == 1)
        fail_msg("%s: no question", name);
    check_outcome(&s, &plain, c);
    end(&s);
    end(&plain);
    return n - 1;
}

static void every_call_can_be_interrupted(void **state) {
    (void)state;
    for (size_t f = 0; f < law_n_families; f++) {
        long n_questions = 0;
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
            for (unsigned way = 0; way < law_families[f]->n_ways; way++)
                n_questions += interrupt_each(&calls[i], law_families[f], way);
        print_message("%s: %ld questions\n", law_families[f]->name, n_questions);
    }
}

/* The model keeps whom to ask: a fit in a later call asks again, also after it was decoded. */
static void models_ask_later_too(void **state) {
    (void)state;
    for (size_t f = 0; f < law_n_families; f++)
        for (unsigned way = 0; way < law_families[f]->n_ways; way++) {
            static scene s;
            efface_difference difference;
            begin(&s, law_families[f], way, true);
            assert_int_equal(call_decode(&s, NULL), EFFACE_OK);
            for (int decoded = 0; decoded < 2; decoded++) {
                efface_model *const model = decoded ? s.out.model : s.models[0];
                s.asker.n_asked = 0;
                assert_int_equal(efface_model_verify(model, s.data, &difference, NULL), EFFACE_OK);
                assert_true(difference.identical && s.asker.n_asked > 0);
            }
            efface_model_free(s.out.model);
            end(&s);
        }
}

int main(void) {
    makes_calls = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_can_be_interrupted),
        cmocka_unit_test(models_ask_later_too),
    };
    return cmocka_run_group_tests_name("interrupt", tests, NULL, NULL);
}
