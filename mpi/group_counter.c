/* Counts of what a group moves: each function counts, and then asks the engine. */
#include "efface/efface_mpi.h"

static void count_round(efface_group_counter *c, efface_group_operation operation, size_t n_given,
                        size_t n_got) {
    c->counts.n_rounds[operation]++;
    c->counts.n_given[operation] += n_given;
    c->counts.n_got[operation] += n_got;
}

/* As many bytes come back as went out. */
static void count_exchange(efface_group_counter *c, efface_group_operation operation,
                           size_t n_bytes) {
    count_round(c, operation, n_bytes, n_bytes);
}

static int counted_sum_64(void *context, uint64_t *numbers, size_t n) {
    efface_group_counter *const c = context;
    count_exchange(c, EFFACE_GROUP_SUM_64, n * sizeof *numbers);
    return c->group.sum_64(c->group.context, numbers, n);
}

static int counted_sum_128(void *context, uint64_t *halves, size_t n) {
    efface_group_counter *const c = context;
    count_exchange(c, EFFACE_GROUP_SUM_128, 2 * n * sizeof *halves);
    return c->group.sum_128(c->group.context, halves, n);
}

static int counted_minimum(void *context, uint64_t *tuples, size_t n, size_t width) {
    efface_group_counter *const c = context;
    count_exchange(c, EFFACE_GROUP_MINIMUM, n * width * sizeof *tuples);
    return c->group.minimum(c->group.context, tuples, n, width);
}

static int counted_gather(void *context, const void *bytes, const size_t *sizes, uint32_t root,
                          void *all) {
    efface_group_counter *const c = context;
    size_t n_got = 0;
    for (uint32_t r = 0; all != NULL && r < c->group.size; r++)
        n_got += sizes[r];
    count_round(c, EFFACE_GROUP_GATHER, sizes[c->group.rank], n_got);
    return c->group.gather(c->group.context, bytes, sizes, root, all);
}

static int counted_broadcast(void *context, void *bytes, size_t n_bytes, uint32_t root) {
    efface_group_counter *const c = context;
    const int gives = root == c->group.rank;
    count_round(c, EFFACE_GROUP_BROADCAST, gives ? n_bytes : 0, gives ? 0 : n_bytes);
    return c->group.broadcast(c->group.context, bytes, n_bytes, root);
}

static int counted_agree(void *context, uint64_t *number) {
    efface_group_counter *const c = context;
    count_exchange(c, EFFACE_GROUP_AGREE, sizeof *number);
    return c->group.agree(c->group.context, number);
}

efface_group efface_group_counter_init(efface_group_counter *counter, const efface_group *group) {
    *counter = (efface_group_counter){.group = *group};
    return (efface_group){.rank = group->rank,
                          .size = group->size,
                          .context = counter,
                          .sum_64 = counted_sum_64,
                          .sum_128 = counted_sum_128,
                          .minimum = counted_minimum,
                          .gather = counted_gather,
                          .broadcast = counted_broadcast,
                          .agree = counted_agree};
}

const char *efface_group_operation_name(efface_group_operation operation) {
    switch (operation) {
    case EFFACE_GROUP_SUM_64: return "sum_64";
    case EFFACE_GROUP_SUM_128: return "sum_128";
    case EFFACE_GROUP_MINIMUM: return "minimum";
    case EFFACE_GROUP_GATHER: return "gather";
    case EFFACE_GROUP_BROADCAST: return "broadcast";
    case EFFACE_GROUP_AGREE: return "agree";
    }
    return "unknown operation";
}
