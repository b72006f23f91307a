/* Exact sums of rows. */
#include "model/exact/moments.h"

#include "base/memory/memory.h"
#include "base/numbers/grid.h"

#include <string.h>

size_t ef_moments_n_products(uint32_t n, efface_summed summed) {
    return summed == EFFACE_SUMMED_FULL       ? (size_t)n * ((size_t)n + 1) / 2
           : summed == EFFACE_SUMMED_DIAGONAL ? n
                                              : 0;
}

bool ef_moments_init(ef_moments *m, uint32_t n, efface_summed summed) {
    const size_t n_products = ef_moments_n_products(n, summed);
    *m = (ef_moments){.n = n,
                      .summed = summed,
                      .sums = ef_alloc_zero(n, sizeof *m->sums),
                      .products = ef_alloc_zero(n_products, sizeof *m->products)};
    if (m->sums != NULL && m->products != NULL)
        return true;
    ef_moments_free(m);
    return false;
}

void ef_moments_free(ef_moments *m) {
    ef_free(m->sums);
    ef_free(m->products);
    *m = (ef_moments){0};
}

size_t ef_moments_bytes(const ef_moments *m) {
    return m->n * sizeof *m->sums + ef_moments_n_products(m->n, m->summed) * sizeof *m->products;
}

/* ---------------------------------------------------------------- rows */

static void add_to(ef_i128 *sum, ef_i128 part) {
    *sum = (ef_i128)((ef_u128)*sum + (ef_u128)part);
}

/* to[l] += factor * row[l] */
static void add_products(ef_i128 *to, int64_t factor, const int32_t *row, uint32_t n) {
    /* A product that fits 64 bits takes half the time. */
    if (factor >= -EF_GRID_MAX && factor <= EF_GRID_MAX)
        for (uint32_t l = 0; l < n; l++)
            add_to(&to[l], factor * row[l]);
    else
        for (uint32_t l = 0; l < n; l++)
            add_to(&to[l], (ef_i128)factor * row[l]);
}

void ef_moments_add_row(ef_moments *m, const int32_t *row, int64_t weight) {
    m->n_rows += weight < 0 ? UINT64_MAX : 1;
    m->weight = (int64_t)((uint64_t)m->weight + (uint64_t)weight);
    for (uint32_t j = 0; j < m->n; j++)
        m->sums[j] = (int64_t)((uint64_t)m->sums[j] + (uint64_t)(weight * row[j]));
    if (m->summed == EFFACE_SUMMED_DIAGONAL)
        for (uint32_t j = 0; j < m->n; j++)
            add_to(&m->products[j], (ef_i128)(weight * row[j]) * row[j]);
    if (m->summed == EFFACE_SUMMED_FULL) {
        ef_i128 *to = m->products;
        for (uint32_t j = 0; j < m->n; to += m->n - j, j++)
            if (row[j] != 0)
                add_products(to, weight * row[j], row + j, m->n - j);
    }
}

void ef_moments_add(ef_moments *to, const ef_moments *from) {
    const size_t n_products = ef_moments_n_products(to->n, to->summed);
    to->n_rows += from->n_rows;
    to->weight += from->weight;
    for (uint32_t j = 0; j < to->n; j++)
        to->sums[j] += from->sums[j];
    for (size_t i = 0; i < n_products; i++)
        add_to(&to->products[i], from->products[i]);
}

/* ---------------------------------------------------------------- canonical bytes */

/* A row of the triangle, or so much of the diagonal, is a part. */
static uint32_t pairs_of(const ef_moments *m, uint32_t j) {
    return m->summed == EFFACE_SUMMED_FULL ? m->n - j : 1;
}

void ef_moments_write(ef_writer *w, const ef_moments *m) {
    ef_write_u64(w, m->n_rows);
    ef_write_u64(w, (uint64_t)m->weight);
    for (uint32_t j = 0; j < m->n; j++)
        ef_write_u64(w, (uint64_t)m->sums[j]);
    const ef_i128 *at = m->products;
    for (uint32_t j = 0; j < m->n && m->summed != EFFACE_SUMMED_MEANS; j++) {
        ef_write_cut(w);
        for (uint32_t l = 0; l < pairs_of(m, j); l++)
            ef_write_i128(w, *at++);
    }
}

bool ef_moments_read(ef_decoder *r, uint32_t n, efface_summed summed, ef_moments *m,
                     bool *short_of_memory) {
    const size_t n_products = ef_moments_n_products(n, summed);
    const uint64_t n_rows = ef_read_u64(r), weight = ef_read_u64(r);
    *short_of_memory = false;
    *m = (ef_moments){0};
    if (r->failed || weight >= (uint64_t)EFFACE_MAX_WEIGHT || n_rows > weight ||
        (n_rows == 0) != (weight == 0) || !ef_decoder_has(r, n, sizeof(int64_t)) ||
        n_products > r->n_bytes / sizeof(ef_i128))
        return false;
    if (!ef_moments_init(m, n, summed)) {
        *short_of_memory = true;
        return false;
    }
    m->n_rows = n_rows;
    m->weight = (int64_t)weight;
    const int64_t most = m->weight * EF_GRID_MAX;
    const ef_i128 most_product = (ef_i128)most * EF_GRID_MAX;
    bool ok = true;
    for (uint32_t j = 0; j < n; j++) {
        m->sums[j] = (int64_t)ef_read_u64(r);
        ok &= m->sums[j] >= -most && m->sums[j] <= most;
    }
    for (size_t i = 0; i < n_products; i++) {
        m->products[i] = ef_read_i128(r);
        ok &= m->products[i] >= -most_product && m->products[i] <= most_product;
    }
    for (uint32_t j = 0; j < n && n_products != 0; j++)
        ok &= ef_moments_product(m, j, j) >= 0;
    if (ok && !r->failed)
        return true;
    ef_moments_free(m);
    return false;
}

bool ef_moments_differ(const ef_moments *a, const ef_moments *b, uint32_t *j, uint32_t *l) {
    for (uint32_t i = 0; i < a->n; i++)
        if (a->sums[i] != b->sums[i]) {
            *j = *l = i;
            return true;
        }
    const ef_i128 *x = a->products, *y = b->products;
    for (uint32_t i = 0; i < a->n && a->summed != EFFACE_SUMMED_MEANS; i++)
        for (uint32_t k = 0; k < pairs_of(a, i); k++)
            if (*x++ != *y++) {
                *j = i;
                *l = i + k;
                return true;
            }
    return false;
}
