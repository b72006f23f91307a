/* A group of threads that do not ask for the same says so and aborts, in place of waiting for ever.
 */
#define _POSIX_C_SOURCE 200809L
#include "group/team/thread_group.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* What the ranks ask for is not the same: in each of these cases, rank 1 does something else. */
static void disagree(const efface_group *group, void *context) {
    const int how = *(const int *)context;
    const bool odd = group->rank == 1;
    uint64_t numbers[8] = {0};
    unsigned char room[64] = {0};
    size_t sizes[3] = {1, 2, how == 4 && odd ? 4 : 3};
    if (how == 0 && odd)
        return;
    if (how == 1)
        (void)group->sum_64(group->context, numbers, odd ? 4 : 3);
    else if (how == 2)
        (void)group->minimum(group->context, numbers, 2, odd ? 2 : 1);
    else if (how == 3)
        (void)group->broadcast(group->context, numbers, 5, odd ? 1 : 0);
    else if (how == 4)
        (void)group->gather(group->context, room, sizes, EFFACE_EVERY_RANK, room + 8);
    else if (odd)
        (void)group->sum_64(group->context, numbers, 1);
    else
        (void)group->agree(group->context, numbers);
}

/* All that a run in another process said, which must have aborted. */
static void disagree_elsewhere(int how, char *text, size_t n_bytes) {
    int ends[2], ended = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        thread_group_run(3, disagree, &how);
        _exit(0);
    }
    (void)close(ends[1]);
    size_t n = 0;
    for (ssize_t some = 1; some > 0; n += some > 0 ? (size_t)some : 0)
        some = read(ends[0], text + n, n_bytes - 1 - n);
    text[n] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGABRT);
}

static void test_disagreement_is_reported(void **state) {
    (void)state;
    const char *const right[][2] = {
        {"rank 0: agree of 1", "rank 1: has returned"},
        {"rank 0: sum_64 of 3", "rank 1: sum_64 of 4"},
        {"rank 2: minimum of 2 tuples of 1", "rank 1: minimum of 2 tuples of 2"},
        {"rank 0: broadcast of 5 bytes, root 0", "rank 1: broadcast of 5 bytes, root 1"},
        {"rank 0: gather of 1 bytes, root 4294967295, sizes 1 2 3", "sizes 1 2 4"},
        {"rank 0: agree of 1", "rank 1: sum_64 of 1"},
    };
    for (int how = 0; how < (int)(sizeof right / sizeof *right); how++) {
        char text[2000];
        disagree_elsewhere(how, text, sizeof text);
        assert_non_null(strstr(text, right[how][0]));
        assert_non_null(strstr(text, right[how][1]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_disagreement_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
