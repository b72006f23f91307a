/* Processes that run a command together.
 *
 * Every operation of a group begins with an agreement. Here that agreement also tells whether a
 * rank has come to the end of its command, which one that fails does at once. From then on all
 * operations of the others fail, so that they come to their end, too. So nobody waits for a rank
 * that is gone, wherever it failed: in a call of the library, or between two of them.
 *
 * In the agreement the numbers below the number of ranks are ranks at their end; the library's own
 * numbers, which go from 0 to the number of ranks, come after them. */
#include "ranks.h"

#include "output/held_messages.h"
#include "output/messages.h"

#include <stdlib.h>
#include <string.h>

static efface_group engine, group;
static bool joined, over, lost;

/* ---- the group that the library uses */

/* The outcome of an operation of the engine. */
static int engine_outcome(int failed) {
    if (failed != 0)
        over = lost = true;
    return failed;
}

static int ranks_agree(void *context, uint64_t *number) {
    uint64_t least = engine.size + *number;
    (void)context;
    if (over || engine_outcome(engine.agree(engine.context, &least)) != 0)
        return 1;
    over = least < engine.size;
    *number = least - engine.size;
    return over;
}

static int ranks_sum_64(void *context, uint64_t *numbers, size_t n) {
    (void)context;
    return over || engine_outcome(engine.sum_64(engine.context, numbers, n));
}

static int ranks_sum_128(void *context, uint64_t *halves, size_t n) {
    (void)context;
    return over || engine_outcome(engine.sum_128(engine.context, halves, n));
}

static int ranks_minimum(void *context, uint64_t *tuples, size_t n, size_t width) {
    (void)context;
    return over || engine_outcome(engine.minimum(engine.context, tuples, n, width));
}

static int ranks_gather(void *context, const void *bytes, const size_t *sizes, uint32_t root,
                        void *all) {
    (void)context;
    return over || engine_outcome(engine.gather(engine.context, bytes, sizes, root, all));
}

static int ranks_broadcast(void *context, void *bytes, size_t n_bytes, uint32_t root) {
    (void)context;
    return over || engine_outcome(engine.broadcast(engine.context, bytes, n_bytes, root));
}

void cli_ranks_begin(const efface_group *of) {
    engine = *of;
    group = (efface_group){.rank = of->rank,
                           .size = of->size,
                           .sum_64 = ranks_sum_64,
                           .sum_128 = ranks_sum_128,
                           .minimum = ranks_minimum,
                           .gather = ranks_gather,
                           .broadcast = ranks_broadcast,
                           .agree = ranks_agree};
    joined = true;
    /* What rank 0 prints, the others need not. */
    if (group.rank != 0 && freopen("/dev/null", "w", stdout) == NULL)
        fclose(stdout);
}

const efface_group *cli_group(void) {
    return joined ? &group : NULL;
}

bool cli_is_first(void) {
    return !joined || group.rank == 0;
}

bool cli_ranks_are_over(void) {
    return over;
}

/* ---- what commands tell each other */

/* Whether an operation may begin. */
static bool all_go_on(void) {
    uint64_t number = group.size;
    return ranks_agree(NULL, &number) == 0;
}

int cli_share(void *bytes, size_t n_bytes) {
    if (!joined)
        return CLI_DONE;
    return all_go_on() && ranks_broadcast(NULL, bytes, n_bytes, 0) == 0 ? CLI_DONE : CLI_FAILED;
}

int cli_sum(uint64_t *numbers, size_t n) {
    if (!joined)
        return CLI_DONE;
    return all_go_on() && ranks_sum_64(NULL, numbers, n) == 0 ? CLI_DONE : CLI_FAILED;
}

/* Fills the sizes of what each rank has; returns their sum in *n_all. */
static int share_sizes(size_t n_bytes, size_t *sizes, size_t *n_all) {
    uint64_t *const numbers = calloc(group.size, sizeof *numbers);
    if (numbers == NULL)
        return cli_out_of_memory();
    numbers[group.rank] = n_bytes;
    const int code = cli_sum(numbers, group.size);
    *n_all = 0;
    for (uint32_t r = 0; r < group.size; r++) {
        sizes[r] = (size_t)numbers[r];
        *n_all += sizes[r];
    }
    free(numbers);
    return code;
}

int cli_gather(const void *bytes, size_t n_bytes, bool to_all, void **all, size_t *n_all) {
    const bool gets = to_all || cli_is_first();
    size_t *const sizes = joined ? calloc(group.size, sizeof *sizes) : NULL;
    int code = CLI_DONE;
    *all = NULL;
    *n_all = n_bytes;
    if (joined)
        code = sizes != NULL ? share_sizes(n_bytes, sizes, n_all) : cli_out_of_memory();
    if (code == CLI_DONE && gets && (*all = malloc(*n_all + 1)) == NULL)
        code = cli_out_of_memory();
    if (code == CLI_DONE && !joined)
        memcpy(*all, bytes, n_bytes);
    else if (code == CLI_DONE &&
             (!all_go_on() ||
              ranks_gather(NULL, bytes, sizes, to_all ? EFFACE_EVERY_RANK : 0, *all) != 0))
        code = CLI_FAILED;
    if (!gets)
        *n_all = 0;
    free(sizes);
    return code;
}

/* ---- the end */

/* What each rank has at its end. */
typedef struct ending {
    uint64_t *codes;  /* exit codes, and behind them */
    uint64_t *n_held; /* how many messages it has */
} ending;

/* The rank whose messages are said, and its exit code. If all ranks found something wrong, it is
 * what the command fails with, and rank 0 can speak for all. */
static uint32_t choose_teller(const ending *e, bool *for_all, int *code) {
    uint32_t n_failed = 0, first = engine.size;
    for (uint32_t r = 0; r < engine.size; r++) {
        n_failed += e->n_held[r] > 0;
        if (e->n_held[r] > 0 && first == engine.size)
            first = r;
    }
    *for_all = n_failed == engine.size;
    for (uint32_t r = 0; r < engine.size && *code == CLI_DONE && first == engine.size; r++)
        *code = (int)e->codes[r];
    if (first < engine.size)
        *code = (int)e->codes[first];
    return first;
}

/* Rank 0 gets the messages of the teller, and says them. */
static bool tell_messages(uint32_t teller, size_t n, bool for_all) {
    size_t n_own;
    const cli_message *const own = cli_held_messages(&n_own);
    cli_message messages[CLI_MAX_HELD];
    memset(messages, 0, sizeof messages);
    if (engine.rank == teller)
        memcpy(messages, own, n * sizeof *own);
    if (engine.broadcast(engine.context, messages, n * sizeof *messages, teller) != 0)
        return false;
    char before[CLI_HELD_PREFIX] = "";
    if (!for_all && strncmp(messages[0].text, "rank ", 5) != 0)
        snprintf(before, sizeof before, "rank %u: ", (unsigned)teller);
    if (engine.rank == 0)
        cli_print_held(messages, n, before);
    return true;
}

static bool end_together(int *code, ending *e) {
    uint64_t least = engine.rank;
    size_t n_held;
    bool for_all;
    (void)cli_held_messages(&n_held);
    if (!over && engine.agree(engine.context, &least) != 0)
        return false;
    over = true;
    e->codes[engine.rank] = (uint64_t)*code;
    e->n_held[engine.rank] = n_held;
    if (engine.sum_64(engine.context, e->codes, 2 * (size_t)engine.size) != 0)
        return false;
    const uint32_t teller = choose_teller(e, &for_all, code);
    return teller == engine.size || tell_messages(teller, e->n_held[teller], for_all);
}

int cli_ranks_end(int code, bool *is_lost) {
    *is_lost = false;
    if (!joined)
        return code;
    ending e = {.codes = calloc(2 * (size_t)engine.size, sizeof *e.codes)};
    e.n_held = e.codes != NULL ? e.codes + engine.size : NULL;
    lost = lost || e.codes == NULL || !end_together(&code, &e);
    free(e.codes);
    *is_lost = lost;
    if (!lost)
        return code;
    size_t n;
    const cli_message *const own = cli_held_messages(&n);
    cli_print_held(own, n, "");
    if (n == 0)
        fprintf(stderr, "%s: rank %u cannot reach the others any more\n", cli_program_name(),
                (unsigned)engine.rank);
    return code != CLI_DONE ? code : CLI_FAILED;
}
