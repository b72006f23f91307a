/* Codes of rows that are looked at in any order, eight columns of a row at a time. Included by
 * panel_kernels.h. */

static void code_ranges(const unsigned char *rows, size_t row_bytes, const uint32_t *slots,
                        size_t n_rows, int32_t least[EF_CODES], int32_t most[EF_CODES]) {
    vc low = vc_load(rows + slots[0] * row_bytes), high = low;
    for (size_t i = 1; i < n_rows; i++) {
        const vc codes = vc_load(rows + slots[i] * row_bytes);
        low = vc_min(low, codes);
        high = vc_max(high, codes);
    }
    vc_store(least, low);
    vc_store(most, high);
}

#define TARGETS_AT_ONCE 128 /* whose sum fits 32 bits */

/* What is above the limits is counted, and taken off in the end. */
LANE_OP vc count_above(const unsigned char *rows, size_t row_bytes, const uint32_t *slots,
                       size_t n_rows, vc limits) {
    vc above = vc_set1(0);
    for (size_t i = 0; i < n_rows; i++)
        above = vc_sub(above, vc_above(vc_load(rows + slots[i] * row_bytes), limits));
    return above;
}

/* The same for few rows, and the sums of the targets of the others. */
LANE_OP vc add_up_to(const unsigned char *rows, size_t row_bytes, const uint32_t *slots,
                     const int32_t *targets, size_t n_rows, vc limits, int64_t sums[EF_CODES]) {
    vc above = vc_set1(0), sum = vc_set1(0);
    int32_t parts[EF_CODES];
    for (size_t i = 0; i < n_rows; i++) {
        const vc is_above = vc_above(vc_load(rows + slots[i] * row_bytes), limits);
        above = vc_sub(above, is_above);
        sum = vc_add(sum, vc_where_not(is_above, vc_set1(targets[i])));
    }
    vc_store(parts, sum);
    for (unsigned j = 0; j < EF_CODES; j++)
        sums[j] += parts[j];
    return above;
}

static void code_counts(const unsigned char *rows, size_t row_bytes, const uint32_t *slots,
                        const int32_t *targets, size_t n_rows, const int32_t limits[EF_CODES],
                        uint32_t counts[EF_CODES], int64_t sums[EF_CODES]) {
    const vc limit = vc_load(limits);
    vc above = vc_set1(0);
    int32_t n_above[EF_CODES];
    for (unsigned j = 0; j < EF_CODES; j++)
        sums[j] = 0;
    if (targets == NULL)
        above = count_above(rows, row_bytes, slots, n_rows, limit);
    for (size_t i = 0; targets != NULL && i < n_rows; i += TARGETS_AT_ONCE) {
        const size_t left = n_rows - i, n = left < TARGETS_AT_ONCE ? left : TARGETS_AT_ONCE;
        above = vc_add(above, add_up_to(rows, row_bytes, slots + i, targets + i, n, limit, sums));
    }
    vc_store(n_above, above);
    for (unsigned j = 0; j < EF_CODES; j++)
        counts[j] = (uint32_t)n_rows - (uint32_t)n_above[j];
}
