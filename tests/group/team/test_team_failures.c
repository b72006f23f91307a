/*
 * Teams: a failure of one rank becomes the same failure on all, wherever it happens, and nobody
 * waits for a rank that is gone.
 *
 * Allocations go through the test, which makes those of one rank fail.
 */
#include "group/models/rank_memory.h"
#include "group/team/team_scene.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* ---------------------------------------------------------------- failures of ranks */

/* Before which operation which ranks fail; and how a rank's operation fails itself. */
typedef struct failure {
    size_t operation;
    uint32_t rank, other_rank; /* that fail; or none, if there is no such rank */
    bool without_errors;       /* nobody wants to know why */
} failure;

static void fail_of(uint32_t rank, efface_error *error) {
    *error = (efface_error){.status = rank % 2 == 0 ? EFFACE_E_IO : EFFACE_E_FORMAT,
                            .file = "rows.csv",
                            .line = rank + 2,
                            .column = 3,
                            .os_error = ENOSPC};
    (void)snprintf(error->message, sizeof error->message, "no place for %" PRIu32, rank);
}

static void check_failure(uint32_t rank, efface_status status, const efface_error *error) {
    efface_error right;
    char message[600];
    fail_of(rank, &right);
    (void)snprintf(message, sizeof message, "rank %" PRIu32 ": %s", rank, right.message);
    RANK_ASSERT(status == right.status);
    if (error == NULL)
        return;
    RANK_ASSERT(error->status == right.status && strcmp(error->message, message) == 0);
    RANK_ASSERT(strcmp(error->file, right.file) == 0 && error->line == right.line);
    RANK_ASSERT(error->column == right.column && error->os_error == right.os_error);
}

/* A call as the library makes it: operations, of which one may be the last; at the top, agreement.
 */
static void call_with_failure(const efface_group *group, void *context) {
    const failure *const f = context;
    const shape s = {.n = 20, .width = 2, .root = EFFACE_EVERY_RANK};
    ef_team team = {.group = *group, .has_failed = true};
    efface_error room, *const error = f->without_errors ? NULL : &room;
    const bool fails = group->rank == f->rank || group->rank == f->other_rank;
    efface_status status = EFFACE_OK;
    ef_team_begin(&team);
    for (size_t o = 0; status == EFFACE_OK && o < COUNT(operations); o++) {
        if (fails && o == f->operation) {
            fail_of(group->rank, &room);
            status = room.status;
        } else {
            status = operations[o](&team, &s, error);
            RANK_ASSERT((status == EFFACE_OK) == (o < f->operation));
        }
    }
    if (fails && f->operation == COUNT(operations)) {
        fail_of(group->rank, &room);
        status = room.status;
    }
    status = ef_team_agree(&team, status, error);
    check_failure(f->rank, status, error);
    RANK_ASSERT(team.has_failed);
    RANK_ASSERT(operations[0](&team, &s, error) == EFFACE_E_GROUP); /* until the next call */
    RANK_ASSERT(ef_team_agree(&team, status, error) == status);

    ef_team_begin(&team);
    for (size_t o = 0; o < COUNT(operations); o++)
        RANK_ASSERT(operations[o](&team, &s, error) == EFFACE_OK);
    RANK_ASSERT(ef_team_agree(&team, EFFACE_OK, error) == EFFACE_OK);
}

static void test_one_rank_fails(void **state) {
    (void)state;
    for (size_t g = 0; g < COUNT(group_sizes); g++)
        for (size_t o = 0; o <= COUNT(operations); o++)
            for (uint32_t r = 0; r < group_sizes[g]; r++) {
                failure f = {o, r, UINT32_MAX, o % 2 == 1 && r % 2 == 1};
                thread_group_run(group_sizes[g], call_with_failure, &f);
            }
}

static void test_two_ranks_fail(void **state) {
    (void)state;
    for (size_t o = 0; o <= COUNT(operations); o++)
        for (uint32_t r = 0; r < 3; r++)
            for (uint32_t other = r + 1; other < 4; other++) {
                failure f = {o, r, other, false};
                thread_group_run(4, call_with_failure, &f);
            }
}

/* One wants to know why, another whose failure it is does not. */
static void fail_silently(const efface_group *group, void *context) {
    (void)context;
    ef_team team = {.group = *group};
    efface_error error;
    if (group->rank == 1) {
        RANK_ASSERT(ef_team_agree(&team, EFFACE_E_LIMIT, NULL) == EFFACE_E_LIMIT);
        return;
    }
    RANK_ASSERT(ef_team_agree(&team, EFFACE_OK, &error) == EFFACE_E_LIMIT);
    RANK_ASSERT(error.status == EFFACE_E_LIMIT);
    RANK_ASSERT(strcmp(error.message, "rank 1: beyond a limit") == 0);
}

static void test_failure_without_error(void **state) {
    (void)state;
    thread_group_run(3, fail_silently, NULL);
}

/* A message that fills its room is cut, not overrun. */
static void fail_at_length(const efface_group *group, void *context) {
    (void)context;
    ef_team team = {.group = *group};
    efface_error error = {0}; /* its status is the one that is agreed on */
    memset(error.message, 'x', sizeof error.message - 1);
    const efface_status own = group->rank == 1 ? EFFACE_E_IO : EFFACE_OK;
    RANK_ASSERT(ef_team_agree(&team, own, &error) == EFFACE_E_IO);
    RANK_ASSERT(strncmp(error.message, "rank 1: xxxx", 12) == 0);
    RANK_ASSERT(strlen(error.message) < sizeof error.message);
}

static void test_long_message(void **state) {
    (void)state;
    thread_group_run(2, fail_at_length, NULL);
}

/* What lies behind a text in the memory of a rank stays there. */
static void fail_with_remains(const efface_group *group, void *context) {
    (void)context;
    ef_team team = {.group = *group};
    efface_error error;
    memset(&error, 'x', sizeof error);
    (void)snprintf(error.message, sizeof error.message, "no place");
    (void)snprintf(error.file, sizeof error.file, "rows.csv");
    const efface_status own = group->rank == 1 ? EFFACE_E_IO : EFFACE_OK;
    RANK_ASSERT(ef_team_agree(&team, own, &error) == EFFACE_E_IO);
    RANK_ASSERT(strcmp(error.message, "rank 1: no place") == 0);
    RANK_ASSERT(memchr(error.message, 'x', sizeof error.message) == NULL);
    RANK_ASSERT(strcmp(error.file, "rows.csv") == 0);
    RANK_ASSERT(memchr(error.file, 'x', sizeof error.file) == NULL);
}

static void test_remains_are_not_sent(void **state) {
    (void)state;
    thread_group_run(3, fail_with_remains, NULL);
}

/* ---------------------------------------------------------------- no memory */

typedef struct shortage {
    checked_operation *operation;
    uint32_t rank;
    uint64_t nth; /* allocation of the rank fails */
    bool happened;
} shortage;

static void call_without_memory(const efface_group *group, void *context) {
    shortage *const q = context;
    const shape s = {.n = 20, .width = 2, .root = EFFACE_EVERY_RANK};
    ef_team team = {.group = *group};
    efface_error error;
    fails_in = group->rank == q->rank ? q->nth : 0;
    efface_status status = q->operation(&team, &s, &error);
    const bool happened = group->rank == q->rank && fails_in == 0;
    fails_in = 0;
    status = ef_team_agree(&team, status, &error);
    RANK_ASSERT(status == EFFACE_OK || status == EFFACE_E_MEMORY);
    if (group->rank == q->rank) {
        q->happened = happened;
        RANK_ASSERT(happened == (status == EFFACE_E_MEMORY));
    }
    char message[32];
    (void)snprintf(message, sizeof message, "rank %" PRIu32 ": ", q->rank);
    RANK_ASSERT(status == EFFACE_OK || strncmp(error.message, message, strlen(message)) == 0);
}

static void test_no_memory(void **state) {
    (void)state;
    uint64_t n_shortages = 0;
    for (size_t o = 0; o < COUNT(operations); o++)
        for (uint32_t r = 0; r < 3; r++) {
            shortage q = {operations[o], r, 0, true};
            while (q.happened) {
                q.nth++;
                thread_group_run(3, call_without_memory, &q);
                n_shortages += q.happened;
            }
        }
    /* One of a sum of 128 bits, five of a gather. */
    assert_int_equal(n_shortages, 3 * (1 + 5));
}

/* ---------------------------------------------------------------- failures of the engine */

/* Where each rank was when the engine failed. */
typedef struct engine_failure {
    bool rank_fails_too;
    size_t operations[16];
} engine_failure;

static void call_on_failing_engine(const efface_group *group, void *context) {
    engine_failure *const f = context;
    const shape s = {.n = 20, .width = 2, .root = EFFACE_EVERY_RANK};
    ef_team team = {.group = *group};
    efface_error error = {0};
    efface_status status = EFFACE_OK;
    size_t o = 0;
    for (; status == EFFACE_OK && o < COUNT(operations); o++)
        status = operations[o](&team, &s, &error);
    if (status == EFFACE_OK && f->rank_fails_too && group->rank == 1) {
        fail_of(1, &error);
        status = error.status;
    }
    status = ef_team_agree(&team, status, &error);
    f->operations[group->rank] = o;
    if (status == EFFACE_OK)
        return;
    if (f->rank_fails_too && status != EFFACE_E_GROUP) {
        check_failure(1, status, &error);
        return;
    }
    RANK_ASSERT(status == EFFACE_E_GROUP && error.status == EFFACE_E_GROUP && team.has_failed);
    RANK_ASSERT(strstr(error.message, "reach each other") != NULL);
}

static void run_on_failing_engine(bool rank_fails_too) {
    uint64_t n = 0;
    do {
        engine_failure f = {.rank_fails_too = rank_fails_too};
        thread_group_fail_after(++n);
        thread_group_run(3, call_on_failing_engine, &f);
        assert_int_equal(f.operations[0], f.operations[1]);
        assert_int_equal(f.operations[0], f.operations[2]);
    } while (thread_group_n_operations() == n);
    assert_int_equal(n, 14 + 1 + (rank_fails_too ? 1 : 0) + 1); /* all, the last agreement, none */
}

static void test_engine_fails(void **state) {
    (void)state;
    run_on_failing_engine(false);
    run_on_failing_engine(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_rank_fails),        cmocka_unit_test(test_two_ranks_fail),
        cmocka_unit_test(test_failure_without_error), cmocka_unit_test(test_long_message),
        cmocka_unit_test(test_remains_are_not_sent),  cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_engine_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
