/*
 * Agreement of two labellings: normalized mutual information and the adjusted Rand index.
 *
 * Labels are names, not sizes: any 32-bit numbers, however sparse. So nothing here is indexed by a
 * label. The contingency table is kept as its non-empty cells, found by sorting the n pairs
 * (a, b); cost O(n), memory 48 bytes a row. Conventions follow scikit-learn: two
 * labellings that are the same partition score 1, also when they have a single cluster or one row
 * a cluster; an NMI against a single cluster is otherwise 0.
 *
 * Metrics are no part of a state, so libm's logarithm is good enough here.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/numbers/wide.h"

#include <math.h>
#include <string.h>

/* Distinct keys in ascending order, and how often each comes. */
typedef struct tally {
    uint64_t *keys;
    uint64_t *counts;
    size_t n_keys;
} tally;

typedef struct contingency {
    uint64_t n;
    tally cells; /* keys a * 2^32 + b */
    tally a;
    tally b;
} contingency;

/* Sorts keys by their bytes, least significant first; bytes that are all equal cost one look. */
static void sort_keys(uint64_t *keys, uint64_t *scratch, size_t n) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t starts[256] = {0};
        for (size_t i = 0; i < n; i++)
            starts[keys[i] >> shift & 0xFF]++;
        if (starts[keys[0] >> shift & 0xFF] == n)
            continue;
        size_t start = 0;
        for (unsigned byte = 0; byte < 256; byte++) {
            const size_t count = starts[byte];
            starts[byte] = start;
            start += count;
        }
        for (size_t i = 0; i < n; i++)
            scratch[starts[keys[i] >> shift & 0xFF]++] = keys[i];
        memcpy(keys, scratch, n * sizeof *keys);
    }
}

/* Counts the n >= 1 keys that stand in t->keys; t->counts has room for n. */
static void count_keys(tally *t, size_t n) {
    sort_keys(t->keys, t->counts, n);
    t->n_keys = 0;
    for (size_t i = 0; i < n; i++) {
        /* Never ahead of i, so reading and writing the same array is safe. */
        if (t->n_keys == 0 || t->keys[t->n_keys - 1] != t->keys[i]) {
            t->keys[t->n_keys] = t->keys[i];
            t->counts[t->n_keys] = 0;
            t->n_keys++;
        }
        t->counts[t->n_keys - 1]++;
    }
}

static bool tally_alloc(tally *t, size_t n) {
    t->keys = ef_alloc(n, sizeof *t->keys);
    t->counts = ef_alloc(n, sizeof *t->counts);
    return t->keys != NULL && t->counts != NULL;
}

static void tally_free(tally *t) {
    ef_free(t->keys);
    ef_free(t->counts);
}

/* How often a key that is there comes. */
static uint64_t tally_count(const tally *t, uint64_t key) {
    size_t low = 0, high = t->n_keys - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return t->counts[low];
}

static void contingency_free(contingency *table) {
    tally_free(&table->cells);
    tally_free(&table->a);
    tally_free(&table->b);
}

/* Fills `table`; on failure there is nothing to free. */
static efface_status contingency_make(contingency *table, size_t n, const uint32_t *a,
                                      const uint32_t *b, efface_error *error) {
    if (n == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT, "there are no labels to compare");
    *table = (contingency){.n = n};
    if (!tally_alloc(&table->cells, n) || !tally_alloc(&table->a, n) ||
        !tally_alloc(&table->b, n)) {
        contingency_free(table);
        return ef_fail_memory(error);
    }
    for (size_t i = 0; i < n; i++) {
        table->cells.keys[i] = (uint64_t)a[i] << 32 | b[i];
        table->a.keys[i] = a[i];
        table->b.keys[i] = b[i];
    }
    count_keys(&table->cells, n);
    count_keys(&table->a, n);
    count_keys(&table->b, n);
    return EFFACE_OK;
}

/* Whether the two labellings differ in the names of their clusters only. */
static bool same_partition(const contingency *table) {
    return table->cells.n_keys == table->a.n_keys && table->cells.n_keys == table->b.n_keys;
}

static double entropy(const tally *t, double n) {
    double sum = 0.0;
    for (size_t i = 0; i < t->n_keys; i++) {
        const double count = (double)t->counts[i];
        sum += count / n * log(n / count);
    }
    return sum;
}

static double mutual_information(const contingency *table) {
    double sum = 0.0;
    for (size_t i = 0; i < table->cells.n_keys; i++) {
        const uint64_t key = table->cells.keys[i];
        const uint64_t count = table->cells.counts[i];
        const uint64_t count_a = tally_count(&table->a, key >> 32);
        const uint64_t count_b = tally_count(&table->b, key & UINT32_MAX);
        /* Integer products: a cell that is as full as chance has it gives log 1 = 0 exactly. */
        const double here = ef_i128_to_double((ef_i128)count * table->n);
        const double chance = ef_i128_to_double((ef_i128)count_a * count_b);
        sum += (double)count / (double)table->n * log(here / chance);
    }
    return sum;
}

efface_status efface_nmi(size_t n, const uint32_t *a, const uint32_t *b, double *nmi,
                         efface_error *error) {
    contingency table;
    const efface_status status = contingency_make(&table, n, a, b, error);
    if (status != EFFACE_OK)
        return status;
    double result;
    if (same_partition(&table)) {
        result = 1.0;
    } else {
        /* Not both have a single cluster, so that one of the entropies is positive. */
        const double mean = (entropy(&table.a, (double)n) + entropy(&table.b, (double)n)) / 2.0;
        result = mutual_information(&table) / mean;
        result = result < 0.0 ? 0.0 : result > 1.0 ? 1.0 : result;
    }
    contingency_free(&table);
    *nmi = result;
    return EFFACE_OK;
}

/* The sum of squares of a tally's counts: the ordered pairs of rows that it puts together, a row
 * and itself included. */
static ef_i128 pairs_together(const tally *t) {
    ef_i128 sum = 0;
    for (size_t i = 0; i < t->n_keys; i++)
        sum += (ef_i128)t->counts[i] * t->counts[i];
    return sum;
}

efface_status efface_ari(size_t n, const uint32_t *a, const uint32_t *b, double *ari,
                         efface_error *error) {
    contingency table;
    const efface_status status = contingency_make(&table, n, a, b, error);
    if (status != EFFACE_OK)
        return status;
    double result = 1.0;
    if (!same_partition(&table)) {
        /* Ordered pairs of two rows, by whether a and b put them together. The counts are exact;
         * the last line loses no more than a few units of 2^-53, as its divisor is at least
         * 2 (both neither + only_a only_b). */
        const ef_i128 in_both = pairs_together(&table.cells);
        const ef_i128 in_a = pairs_together(&table.a);
        const ef_i128 in_b = pairs_together(&table.b);
        const double both = ef_i128_to_double(in_both - (ef_i128)n);
        const double only_a = ef_i128_to_double(in_a - in_both);
        const double only_b = ef_i128_to_double(in_b - in_both);
        const double neither = ef_i128_to_double((ef_i128)n * (ef_i128)n - in_a - in_b + in_both);
        result = 2.0 * (both * neither - only_a * only_b) /
                 ((both + only_a) * (only_a + neither) + (both + only_b) * (only_b + neither));
    }
    contingency_free(&table);
    *ari = result;
    return EFFACE_OK;
}
