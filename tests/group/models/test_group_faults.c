/*
 * Failures in a group of three ranks, for every family and each way in which its models work: one
 * rank has no memory for its n-th allocation, or is interrupted at its n-th question, for n = 1, 2,
 * ... until nothing is left to fail; or the engine fails at its n-th operation.
 *
 * After a failure of a rank all ranks have the same status and the same message, which names the
 * rank; the models' canonical bytes, what they have beside them and all that can be seen of the
 * parts are what they were; and the same call then gives the bytes that one process gets. After a
 * failure of the engine all ranks are told so, and nothing else is promised. No block is lost.
 *
 * Ranks are threads (thread_group.h), which stop the process if they ask for different operations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group/models/rank_memory.h"
#include "group/team/thread_group.h"
#include "law/draws.h"
#include "law/law_families.h"
#include "model/families.h"
#include "model/kmeans/kept/kept.h"
#include "model/kmeans/kmeans.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define N_RANKS 3
#define N_ROWS 48
#define N_COLUMNS 3
#define N_COME 5
#define MOST_ROWS (N_ROWS + N_COME)

/* ---------------------------------------------------------------- rows */

/* Whole numbers in seven groups. */
static float value_of(uint64_t row, uint32_t column) {
    return (float)(mix(row % 7 * 100 + column) % 40 + mix(row * 1000 + column) % 5);
}

typedef struct row_list {
    size_t n;
    float values[MOST_ROWS * N_COLUMNS];
    uint64_t ids[MOST_ROWS], owners[MOST_ROWS];
    int64_t weights[MOST_ROWS], labels[MOST_ROWS];
} row_list;

static void put_row(row_list *rows, uint64_t id, uint64_t stands) {
    const size_t i = rows->n++;
    for (uint32_t j = 0; j < N_COLUMNS; j++)
        rows->values[i * N_COLUMNS + j] = value_of(stands, j);
    rows->ids[i] = id;
    rows->owners[i] = id / 3;
    rows->weights[i] = 1 + (int64_t)(stands % 2);
    rows->labels[i] = (int64_t)(stands % 4);
}

static efface_rows batch_of(const row_list *rows) {
    return (efface_rows){.n_rows = rows->n,
                         .values = rows->values,
                         .ids = rows->ids,
                         .weights = rows->weights,
                         .owners = rows->owners,
                         .labels = rows->labels};
}

/* Rows go to ranks by their ids; rank 1 has the fewest. One process (NULL) has all. */
static bool is_here(const efface_group *group, uint64_t id) {
    static const uint32_t ranks[] = {0, 2, 0, 2, 1, 0, 2};
    return group == NULL || ranks[id % 7] == group->rank;
}

static efface_data *make_set(const efface_group *group) {
    row_list rows = {0};
    efface_data *data = NULL;
    for (uint64_t id = 0; id < N_ROWS; id++)
        if (is_here(group, id))
            put_row(&rows, id, id);
    const efface_rows batch = batch_of(&rows);
    RANK_ASSERT(efface_data_create(N_COLUMNS, &data, NULL) == EFFACE_OK);
    RANK_ASSERT(efface_data_add(data, &batch, NULL) == EFFACE_OK);
    return data;
}

/* ---------------------------------------------------------------- scenes */

/* What is tried, the same on all ranks. */
typedef struct cast {
    const law_family *family;
    unsigned way;
    bool warm; /* rows have left, so that more is kept */
} cast;

/* What one rank, or one process, has. */
typedef struct scene {
    const cast *of;
    const efface_group *group;
    law_params params;
    efface_data *data;
    efface_model *model;
    unsigned char *bytes; /* of the model before the call */
    size_t n_bytes;
    uint64_t named; /* an id that matters to the model */
    efface_model *made;
    efface_report report;
    efface_difference difference;
} scene;

static _Thread_local uint64_t interrupts_in; /* questions from now; 0: never */

static int interrupted(void *context) {
    (void)context;
    return interrupts_in != 0 && --interrupts_in == 0;
}

#define N_WARM 6

static efface_status forget_ids(scene *s, const uint64_t *ids, size_t n, efface_error *error) {
    const efface_request request = {.ids = ids, .n_ids = n};
    return efface_model_forget(s->model, s->data, &request, &s->report, error);
}

static void begin(scene *s, const cast *of, const efface_group *group) {
    uint64_t ids[50], stream = 7;
    memset(s, 0, sizeof *s);
    s->of = of;
    s->group = group;
    s->data = make_set(group);
    of->family->choose(&s->params, of->way, N_COLUMNS);
    s->params.common.interrupted = interrupted;
    if (group != NULL)
        RANK_ASSERT(efface_data_join(s->data, group, NULL) == EFFACE_OK);
    RANK_ASSERT(law_fit(s->data, &s->params, &s->model, NULL) == EFFACE_OK);
    for (uint64_t id = 2; of->warm && id < 2 + 7 * N_WARM; id += 7)
        RANK_ASSERT(forget_ids(s, &id, 1, NULL) == EFFACE_OK);
    if (of->warm && of->family == &law_kmeans && of->way == 0) { /* lloyd */
        const ef_kmeans *const kmeans = s->model->state;
        RANK_ASSERT(kmeans->kept != NULL && kmeans->kept->n_margins != 0);
    }
    RANK_ASSERT(efface_model_encode(s->model, &s->bytes, &s->n_bytes, NULL) == EFFACE_OK);
    s->named = 1;
    if (group == NULL && law_name_ids(of->family, s->model, s->data, ids, 50, &stream) != 0)
        s->named = ids[0];
}

static void end(scene *s) {
    efface_model_free(s->made);
    efface_model_free(s->model);
    efface_bytes_free(s->bytes);
    efface_data_free(s->data);
}

/* ---------------------------------------------------------------- operations */

static efface_status op_fit(scene *s, efface_error *error) {
    return law_fit(s->data, &s->params, &s->made, error);
}

static efface_status op_forget_named(scene *s, efface_error *error) {
    return forget_ids(s, &s->named, 1, error);
}

static efface_status op_forget(scene *s, efface_error *error) {
    const uint64_t ids[] = {3, 4, 7, 20};
    return forget_ids(s, ids, 4, error);
}

static efface_status op_forget_owners(scene *s, efface_error *error) {
    const uint64_t owners[] = {6, 99};
    const efface_request request = {
        .owners = owners, .n_owners = 2, .missing = EFFACE_MISSING_SKIP};
    return efface_model_forget(s->model, s->data, &request, &s->report, error);
}

static efface_status op_preview(scene *s, efface_error *error) {
    const efface_request request = {.ids = &s->named, .n_ids = 1};
    return efface_model_preview(s->model, s->data, &request, &s->report, error);
}

static efface_status op_learn(scene *s, efface_error *error) {
    row_list rows = {0};
    for (uint64_t id = 100; id < 100 + N_COME; id++)
        if (is_here(s->group, id))
            put_row(&rows, id, id * 3);
    const efface_rows batch = batch_of(&rows);
    return efface_model_learn(s->model, s->data, &batch, &s->report, error);
}

static efface_status op_update(scene *s, efface_error *error) {
    row_list rows = {0};
    put_row(&rows, 12, 601);
    put_row(&rows, s->named == 12 ? 13 : s->named, 702);
    rows.values[0] += 900.0F; /* far out */
    const efface_rows batch = batch_of(&rows);
    return efface_model_update(s->model, s->data, &batch, &s->report, error);
}

static efface_status op_verify(scene *s, efface_error *error) {
    return efface_model_verify(s->model, s->data, &s->difference, error);
}

static efface_status op_rekey(scene *s, efface_error *error) {
    return efface_model_rekey(s->model, s->data, 99, &s->report, error);
}

static efface_status op_decode(scene *s, efface_error *error) {
    return efface_model_decode(s->bytes, s->n_bytes, &s->params.common, s->data, &s->made, error);
}

typedef efface_status operation(scene *s, efface_error *error);

/* In an order in which they can be done one after the other. */
static const struct {
    operation *call;
    const char *name;
} operations[] = {
    {op_fit, "fit"},
    {op_decode, "decode"},
    {op_forget_named, "forget a named row"},
    {op_forget, "forget"},
    {op_forget_owners, "forget owners"},
    {op_learn, "learn"},
    {op_update, "update"},
    {op_rekey, "rekey"},
    {op_verify, "verify"},
    {op_preview, "preview"},
};

#define N_OPERATIONS (sizeof operations / sizeof *operations)

/* ---------------------------------------------------------------- what can be seen */

typedef struct snapshot {
    unsigned char digest[EFFACE_DIGEST_BYTES];
    uint64_t beside;
    ef_stamp stamps[2];
    size_t n_rows, n_whole;
    int64_t total_weight, whole_weight;
    efface_row rows[MOST_ROWS]; /* by position */
    float values[MOST_ROWS][N_COLUMNS];
    float ends[4][N_COLUMNS]; /* of the rows that are here, and of all */
    uint64_t n_ends[2][N_COLUMNS];
    ef_exponent_counts exponents;
} snapshot;

static void look(const scene *s, snapshot *sight) {
    const ef_counts *const whole = ef_data_whole(s->data);
    const law_family *const family = s->of->family;
    memset(sight, 0, sizeof *sight);
    RANK_ASSERT(efface_model_digest(s->model, sight->digest, NULL) == EFFACE_OK);
    sight->beside = family->hash != NULL ? family->hash(s->model) : 0;
    sight->stamps[0] = s->data->stamp;
    sight->stamps[1] = s->model->stamp;
    sight->n_rows = efface_data_n_rows(s->data);
    sight->n_whole = whole->n_rows;
    sight->total_weight = efface_data_total_weight(s->data);
    sight->whole_weight = whole->total_weight;
    for (size_t i = 0; i < sight->n_rows; i++) {
        const efface_row row = efface_data_row(s->data, i);
        size_t position = SIZE_MAX;
        RANK_ASSERT(efface_data_find(s->data, row.id, &position) == EFFACE_OK && position == i);
        sight->rows[i] = row;
        efface_data_values(s->data, i, sight->values[i]);
    }
    ef_data_column_ranges(s->data, sight->ends[0], sight->ends[1]);
    memcpy(sight->ends[2], whole->ranges.least, sizeof sight->ends[2]);
    memcpy(sight->ends[3], whole->ranges.most, sizeof sight->ends[3]);
    memcpy(sight->n_ends[0], whole->ranges.n_least, sizeof sight->n_ends[0]);
    memcpy(sight->n_ends[1], whole->ranges.n_most, sizeof sight->n_ends[1]);
    sight->exponents = whole->exponents;
}

/* ---------------------------------------------------------------- in one process */

/* What the ranks must come to. */
typedef struct outcome {
    unsigned char digest[EFFACE_DIGEST_BYTES]; /* of the model after the call */
    unsigned char made[EFFACE_DIGEST_BYTES];   /* of the model that was made, if there is one */
    efface_report report;
    int identical;
    uint64_t named;
} outcome;

static void take_outcome(scene *s, outcome *to) {
    memset(to, 0, sizeof *to);
    RANK_ASSERT(efface_model_digest(s->model, to->digest, NULL) == EFFACE_OK);
    if (s->made != NULL)
        RANK_ASSERT(efface_model_digest(s->made, to->made, NULL) == EFFACE_OK);
    to->report = s->report;
    to->identical = s->difference.identical;
    to->named = s->named;
}

/* Rows visited and levels depend on what was kept. */
static bool same_outcome(const outcome *a, const outcome *b) {
    return memcmp(a->digest, b->digest, sizeof a->digest) == 0 &&
           memcmp(a->made, b->made, sizeof a->made) == 0 && a->report.action == b->report.action &&
           a->report.rows_forgotten == b->report.rows_forgotten &&
           a->report.rows_learned == b->report.rows_learned &&
           a->report.rows_missing == b->report.rows_missing && a->identical == b->identical;
}

/* ---------------------------------------------------------------- faults */

typedef enum fault { NO_MEMORY, INTERRUPTION } fault;

/* What is tried on all ranks. */
typedef struct trial {
    const cast *of;
    size_t operation;
    fault fault;
    bool all;       /* faults are tried on all ranks */
    uint64_t every; /* so many failures, then the call is made without one */
    outcome right;
    uint64_t n_faults, n_failures; /* written by rank 0 */
} trial;

static uint64_t sum_over_ranks(const efface_group *group, uint64_t number) {
    RANK_ASSERT(group->sum_64(group->context, &number, 1) == 0);
    return number;
}

/* All ranks have the same text, in so many bytes. */
static void require_same(const efface_group *group, const char *bytes, size_t n) {
    char first[1024];
    RANK_ASSERT(n <= sizeof first);
    memcpy(first, bytes, n);
    RANK_ASSERT(group->broadcast(group->context, first, n, 0) == 0);
    if (memcmp(first, bytes, n) != 0)
        (void)fprintf(stderr, "rank %" PRIu32 ": %s, and rank 0: %s\n", group->rank, bytes, first);
    RANK_ASSERT(memcmp(first, bytes, n) == 0);
}

static void say(const trial *t, const scene *s, uint64_t n, const char *what,
                const efface_error *error) {
    (void)fprintf(stderr, "%s, %s%s, %s, %s %" PRIu64 ", rank %" PRIu32 ": %s: %s\n",
                  t->of->family->name, t->of->family->way_names[t->of->way],
                  t->of->warm ? " after requests" : "", operations[t->operation].name,
                  t->fault == NO_MEMORY ? "allocation" : "question", n, s->group->rank, what,
                  error->message);
}

static void require_right(const trial *t, scene *s, uint64_t n, const efface_error *error) {
    outcome is;
    take_outcome(s, &is);
    if (!same_outcome(&is, &t->right)) {
        say(t, s, n, "not what one process comes to", error);
        abort();
    }
    const efface_report *const r = &s->report;
    char text[512];
    (void)snprintf(text, sizeof text, "%d %s, %s: %" PRIu64 " %" PRIu64 " %" PRIu64 ", %" PRIu64,
                   (int)r->action, r->reason != NULL ? r->reason : "", r->where, r->rows_forgotten,
                   r->rows_learned, r->rows_missing, r->rows_visited);
    require_same(s->group, text, strlen(text) + 1);
}

/* All ranks say that rank `failing` has failed. */
static void require_failure(const trial *t, const scene *s, uint64_t n, uint32_t failing,
                            efface_status status, const efface_error *error) {
    char begins[32];
    const efface_status right = t->fault == NO_MEMORY ? EFFACE_E_MEMORY : EFFACE_E_INTERRUPTED;
    (void)snprintf(begins, sizeof begins, "rank %" PRIu32 ": ", failing);
    const bool says = strncmp(error->message, begins, strlen(begins)) == 0;
    if (status != right || error->status != status || !says)
        say(t, s, n, "another failure", error);
    RANK_ASSERT(status == right && error->status == status && says);
    require_same(s->group, error->message, sizeof error->message);
}

/* One call whose n-th allocation or question fails on one rank. Whether it was reached; *succeeded:
 * the call did. */
static bool fail_once(const trial *t, scene *s, uint64_t n, uint32_t failing, bool *succeeded) {
    snapshot before, after;
    efface_error error = {0};
    look(s, &before);
    uint64_t *const left = t->fault == NO_MEMORY ? &fails_in : &interrupts_in;
    *left = s->group->rank == failing ? n : 0;
    const efface_status status = operations[t->operation].call(s, &error);
    const bool here = s->group->rank == failing && *left == 0;
    *left = 0;
    const bool reached = sum_over_ranks(s->group, here) != 0;
    const uint64_t n_failed = sum_over_ranks(s->group, status != EFFACE_OK);
    if (n_failed != 0 && n_failed != N_RANKS)
        say(t, s, n, "not all ranks fail", &error);
    RANK_ASSERT(n_failed == 0 || n_failed == N_RANKS);
    *succeeded = n_failed == 0;
    if (*succeeded) {
        require_right(t, s, n, &error);
        return reached;
    }
    RANK_ASSERT(reached && s->made == NULL);
    require_failure(t, s, n, failing, status, &error);
    look(s, &after);
    if (memcmp(&before, &after, sizeof before) != 0)
        say(t, s, n, "the part or the model changed", &error);
    RANK_ASSERT(memcmp(&before, &after, sizeof before) == 0);
    return reached;
}

static void begin_again(const trial *t, scene *s) {
    const efface_group *const group = s->group;
    end(s);
    begin(s, t->of, group);
    s->named = t->right.named;
}

/* Which allocation or question fails in trial i: each one on each rank, or the first ones and then
 * some, on ranks in turn. */
static uint64_t nth_of(const trial *t, uint64_t i) {
    if (t->all)
        return 1 + i / N_RANKS;
    return i < 16 ? 1 + i : 17 + (i - 16) * 13 + t->operation % 13;
}

/* Ranks fail in turn, until a call has nothing left to fail on any of them. */
static void try_faults(const efface_group *group, void *context) {
    trial *const t = context;
    scene s;
    uint64_t n_faults = 0, n_failures = 0, n_spent = 0; /* ranks in a row with nothing left */
    begin(&s, t->of, group);
    s.named = t->right.named;
    for (uint64_t i = 0; n_spent < N_RANKS; i++) {
        const uint64_t n = nth_of(t, i);
        bool succeeded;
        const bool reached = fail_once(t, &s, n, (uint32_t)(i % N_RANKS), &succeeded);
        n_spent = reached ? 0 : n_spent + 1;
        n_faults += reached;
        n_failures += !succeeded;
        if (!succeeded && n_failures % t->every == 0) {
            efface_error error = {0};
            RANK_ASSERT(operations[t->operation].call(&s, &error) == EFFACE_OK);
            require_right(t, &s, n, &error);
            succeeded = true;
        }
        if (succeeded)
            begin_again(t, &s);
    }
    end(&s);
    if (group->rank == 0) {
        t->n_faults = n_faults;
        t->n_failures = n_failures;
    }
}

static uint64_t retry_every(void) {
    const char *const given = getenv("EFFACE_TEST_RETRY_EVERY");
    return given != NULL ? strtoull(given, NULL, 0) : 7;
}

static outcome alone(const cast *of, operation *call) {
    scene s;
    outcome right;
    begin(&s, of, NULL);
    RANK_ASSERT(call(&s, NULL) == EFFACE_OK);
    take_outcome(&s, &right);
    end(&s);
    return right;
}

/* All families that work in groups and their ways, and of those that keep more after requests,
 * these too. */
static void for_each_cast(void (*function)(const cast *of, void *context), void *context) {
    for (size_t f = 0; f < law_n_families; f++)
        for (unsigned way = 0; !law_families[f]->alone && way < law_families[f]->n_ways; way++)
            for (int warm = 0; warm < (law_families[f]->spares ? 2 : 1); warm++)
                function(&(cast){law_families[f], way, warm != 0}, context);
}

static void try_cast(const cast *of, void *context) {
    const fault *const kind = context;
    uint64_t n_faults = 0, n_failures = 0;
    const bool all = getenv("EFFACE_TEST_ALL_FAULTS") != NULL;
    /* Every other call, unless all are tried: the other ways of a family have the rest. */
    for (size_t o = all ? 0 : (of->way + of->warm) % 2; o < N_OPERATIONS; o += all ? 1 : 2) {
        const long n_before = atomic_load(&n_blocks);
        trial t = {.of = of,
                   .operation = o,
                   .fault = *kind,
                   .all = all,
                   .every = retry_every(),
                   .right = alone(of, operations[o].call)};
        thread_group_run(N_RANKS, try_faults, &t);
        assert_int_equal(atomic_load(&n_blocks), n_before);
        n_faults += t.n_faults;
        n_failures += t.n_failures;
    }
    print_message("%s, %s%s: %" PRIu64 " faults, %" PRIu64 " failures\n", of->family->name,
                  of->family->way_names[of->way], of->warm ? " after requests" : "", n_faults,
                  n_failures);
    assert_true(n_failures != 0 && (of->family->spares || n_failures == n_faults));
}

static void no_memory_on_one_rank(void **state) {
    (void)state;
    fault kind = NO_MEMORY;
    for_each_cast(try_cast, &kind);
}

static void one_rank_is_interrupted(void **state) {
    (void)state;
    fault kind = INTERRUPTION;
    for_each_cast(try_cast, &kind);
}

/* ---------------------------------------------------------------- joining */

static void join_without_memory(const efface_group *group, void *context) {
    (void)context;
    for (uint32_t failing = 0; failing < N_RANKS; failing++)
        for (uint64_t n = 1, reached = 1; reached != 0; n++) {
            efface_data *const data = make_set(group);
            efface_error error = {0};
            fails_in = group->rank == failing ? n : 0;
            const efface_status status = efface_data_join(data, group, &error);
            const bool here = group->rank == failing && fails_in == 0;
            fails_in = 0;
            reached = sum_over_ranks(group, here);
            RANK_ASSERT(status == (reached != 0 ? EFFACE_E_MEMORY : EFFACE_OK));
            require_same(group, error.message, sizeof error.message);
            RANK_ASSERT((data->part != NULL) == (status == EFFACE_OK));
            if (reached != 0)
                RANK_ASSERT(efface_data_join(data, group, &error) == EFFACE_OK);
            RANK_ASSERT(data->part->whole.n_rows == N_ROWS);
            efface_data_free(data);
        }
}

static void joining_takes_memory(void **state) {
    (void)state;
    const long n_before = atomic_load(&n_blocks);
    thread_group_run(N_RANKS, join_without_memory, NULL);
    assert_int_equal(atomic_load(&n_blocks), n_before);
}

/* ---------------------------------------------------------------- a failing engine */

/* Everything, until the engine fails; and then one call more. */
static void use_failing_engine(const efface_group *group, void *context) {
    const cast *const of = context;
    scene s = {.of = of, .group = group, .named = 1};
    efface_error error = {0};
    s.data = make_set(group);
    of->family->choose(&s.params, of->way, N_COLUMNS);
    efface_status status = efface_data_join(s.data, group, &error);
    if (status == EFFACE_OK)
        status = law_fit(s.data, &s.params, &s.model, &error);
    if (status == EFFACE_OK)
        RANK_ASSERT(efface_model_encode(s.model, &s.bytes, &s.n_bytes, NULL) == EFFACE_OK);
    for (size_t o = 0; status == EFFACE_OK && o < N_OPERATIONS; o++) {
        status = operations[o].call(&s, &error);
        if (status == EFFACE_E_GROUP) {
            const efface_status again = operations[o].call(&s, NULL);
            if (again != EFFACE_E_GROUP)
                (void)fprintf(stderr, "%s: %s\n", operations[o].name, efface_status_name(again));
            RANK_ASSERT(again == EFFACE_E_GROUP);
        }
        efface_model_free(s.made);
        s.made = NULL;
        if (operations[o].call == op_forget_named)
            s.named = 40;
    }
    if (status != EFFACE_OK && status != EFFACE_E_GROUP)
        (void)fprintf(stderr, "%s\n", error.message);
    RANK_ASSERT(status == EFFACE_OK || (status == EFFACE_E_GROUP && error.status == status));
    end(&s);
}

static void fail_engine(const cast *of, void *context) {
    (void)context;
    cast copy = *of;
    if (of->warm)
        return;
    const long n_before = atomic_load(&n_blocks);
    thread_group_run(N_RANKS, use_failing_engine, &copy);
    const uint64_t n_operations = thread_group_n_operations();
    const uint64_t step = 1 + n_operations / 60;
    for (uint64_t n = 1 + of->way % step; n <= n_operations; n += n < 20 ? 1 : step) {
        thread_group_fail_after(n);
        thread_group_run(N_RANKS, use_failing_engine, &copy);
        assert_int_equal(atomic_load(&n_blocks), n_before);
    }
}

static void the_engine_fails(void **state) {
    (void)state;
    for_each_cast(fail_engine, NULL);
}

/* ---------------------------------------------------------------- families of one process */

/* All ranks are refused with the same words, whichever way the model would work. */
static void be_refused(const efface_group *group, void *context) {
    const cast *const of = context;
    law_params params;
    efface_model *model = NULL;
    efface_error error = {0};
    efface_data *const data = make_set(group);
    RANK_ASSERT(efface_data_join(data, group, NULL) == EFFACE_OK);
    of->family->choose(&params, of->way, N_COLUMNS);
    RANK_ASSERT(law_fit(data, &params, &model, &error) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(model == NULL && error.status == EFFACE_E_ARGUMENT && error.message[0] != '\0');
    require_same(group, error.message, sizeof error.message);
    efface_data_free(data);
}

static void families_of_one_process_refuse(void **state) {
    (void)state;
    const long n_before = atomic_load(&n_blocks);
    for (size_t f = 0; f < law_n_families; f++)
        for (unsigned way = 0; law_families[f]->alone && way < law_families[f]->n_ways; way++)
            thread_group_run(N_RANKS, be_refused, &(cast){law_families[f], way, false});
    assert_int_equal(atomic_load(&n_blocks), n_before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_of_one_process_refuse),
        cmocka_unit_test(joining_takes_memory),
        cmocka_unit_test(no_memory_on_one_rank),
        cmocka_unit_test(one_rank_is_interrupted),
        cmocka_unit_test(the_engine_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
