/*
 * The canonical bytes of `segmented` (docs/definition/format.md), and where two states differ.
 *
 * The segments come before k-means, for the number of its levels may change: parts behind it would
 * then begin at other cuts.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/segmented/segmented.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "EFFACESG"
#define FORMAT 1

/* ---------------------------------------------------------------- writing */

void ef_segmented_write(ef_writer *w, const void *state) {
    const ef_segmented *const s = state;
    const ef_coordinates *const of = &s->coordinates;
    ef_write_bytes(w, MAGIC, sizeof MAGIC - 1);
    ef_write_u32(w, FORMAT);
    ef_write_u32(w, of->n_columns);
    ef_write_u32(w, s->n_segments);
    for (uint32_t j = 0; j < of->n_columns; j++)
        ef_write_u32(w, (uint32_t)of->exponents[j]);
    for (uint32_t c = 0; c < s->n_segments; c++) {
        ef_write_cut(w);
        ef_moments_write(w, &s->segments[c]);
    }
    ef_write_cut(w);
    ef_kmeans_write(w, s->kmeans);
}

/* ---------------------------------------------------------------- reading */

static efface_status read_exponents(ef_decoder *r, ef_segmented *s, efface_error *error) {
    ef_coordinates *const of = &s->coordinates;
    bool ok = true;
    for (uint32_t j = 0; j < of->n_columns; j++) {
        of->exponents[j] = (int32_t)ef_read_u32(r);
        ok &= of->exponents[j] >= EF_EXPONENT_MIN && of->exponents[j] <= EF_EXPONENT_MAX;
    }
    if (r->failed || !ok)
        return ef_fail_state(error, "an exponent");
    ef_coordinates_set(of, of->exponents);
    return EFFACE_OK;
}

static efface_status read_segments(ef_decoder *r, ef_segmented *s, uint32_t n,
                                   efface_error *error) {
    if (!ef_decoder_has(r, n, 2 * sizeof(uint64_t)))
        return ef_fail_state(error, "the number of segments");
    s->segments = ef_alloc_zero(n, sizeof *s->segments);
    if (s->segments == NULL)
        return ef_fail_memory(error);
    for (; s->n_segments < n; s->n_segments++) {
        bool short_of_memory = false;
        if (!ef_moments_read(r, s->coordinates.n, EFFACE_SUMMED_FULL, &s->segments[s->n_segments],
                             &short_of_memory))
            return short_of_memory ? ef_fail_memory(error) : ef_fail_state(error, "a sum");
    }
    return EFFACE_OK;
}

/* Whether the segments can be those of k-means. It knows their weights, unless it is a tree. */
static bool belong_together(const ef_segmented *s) {
    const ef_kmeans *const kmeans = s->kmeans;
    uint64_t n_rows = 0;
    int64_t weight = 0;
    uint32_t n = 0;
    (void)ef_kmeans_dividers(kmeans, &n);
    bool ok = n == s->n_segments;
    for (uint32_t c = 0; ok && c < n; c++) {
        const ef_moments *const segment = &s->segments[c];
        ok = segment->n_rows <= kmeans->n_rows - n_rows &&
             segment->weight <= kmeans->total_weight - weight &&
             ef_kmeans_may_weigh(kmeans, c, segment->weight);
        n_rows += segment->n_rows;
        weight += segment->weight;
    }
    return ok && n_rows == kmeans->n_rows && weight == kmeans->total_weight;
}

static efface_status read_kmeans(ef_decoder *r, ef_segmented *s, efface_error *error) {
    const efface_kmeans_params part = ef_segmented_part_params(s), used = ef_params_used(&part);
    const efface_status status =
        ef_kmeans_read(r, &used, s->ignored, s->coordinates.n_columns, &s->kmeans, error);
    if (status != EFFACE_OK)
        return status;
    return belong_together(s) ? EFFACE_OK : ef_fail_state(error, "the rows of its segments");
}

efface_status ef_segmented_read(ef_decoder *r, const efface_params *params, uint32_t d,
                                void **state, efface_error *error) {
    char magic[sizeof MAGIC - 1];
    ef_read_bytes(r, magic, sizeof magic);
    const uint32_t format = ef_read_u32(r), n_columns = ef_read_u32(r), n = ef_read_u32(r);
    if (r->failed || memcmp(magic, MAGIC, sizeof magic) != 0 || format != FORMAT)
        return ef_fail(error, EFFACE_E_FORMAT, "these bytes are not the state of a model");
    if (n_columns != d)
        return ef_fail_state(error, "the number of columns");
    ef_segmented *s = NULL;
    efface_status status =
        ef_segmented_make((const efface_segmented_params *)(const void *)params, d, &s, error);
    EF_THEN(status, read_exponents(r, s, error));
    EF_THEN(status, read_segments(r, s, n, error));
    EF_THEN(status, read_kmeans(r, s, error));
    if (status == EFFACE_OK)
        *state = s;
    else
        ef_segmented_free(s);
    return status;
}

efface_status ef_segmented_attach(void *state, const efface_data *data, efface_error *error) {
    ef_segmented *const s = state;
    const size_t n_bytes = s->coordinates.n_columns * sizeof *s->coordinates.exponents;
    int32_t *const exponents = ef_alloc(1, n_bytes);
    efface_status status =
        exponents != NULL
            ? ef_coordinates_find_of(&s->coordinates, s->params->bound, data, exponents, error)
            : ef_fail_memory(error);
    if (status == EFFACE_OK && memcmp(exponents, s->coordinates.exponents, n_bytes) != 0)
        status = ef_fail_state(error, "it belongs to other rows");
    EF_THEN(status, ef_kmeans_attach(s->kmeans, data, error));
    ef_free(exponents);
    return status;
}

/* ---------------------------------------------------------------- where two differ */

/* Whether both k-means have the same bytes; true if there is no memory to find out. */
static bool have_same_kmeans(const ef_segmented *a, const ef_segmented *b) {
    ef_writer x = {0}, y = {0};
    ef_kmeans_write(&x, a->kmeans);
    ef_kmeans_write(&y, b->kmeans);
    const bool same = x.failed || y.failed ||
                      (x.n_bytes == y.n_bytes && memcmp(x.bytes, y.bytes, x.n_bytes) == 0);
    ef_free(x.bytes);
    ef_free(y.bytes);
    return same;
}

static bool locate_segment(const ef_moments *a, const ef_moments *b, uint32_t segment,
                           efface_difference *difference) {
    uint32_t j = 0, l = 0;
    const bool sums = ef_moments_differ(a, b, &j, &l);
    if (!sums && a->n_rows == b->n_rows && a->weight == b->weight)
        return false;
    difference->what = sums ? "sum" : "count";
    if (!sums)
        (void)snprintf(difference->where, sizeof difference->where, "segment %" PRIu32, segment);
    else if (j == l)
        (void)snprintf(difference->where, sizeof difference->where,
                       "segment %" PRIu32 ", column %" PRIu32, segment, j + 1);
    else
        (void)snprintf(difference->where, sizeof difference->where,
                       "segment %" PRIu32 ", columns %" PRIu32 " and %" PRIu32, segment, j + 1,
                       l + 1);
    return true;
}

void ef_segmented_locate(const void *a, const void *b, efface_difference *difference) {
    const ef_segmented *const x = a, *const y = b;
    const ef_coordinates *const of = &x->coordinates;
    if (!have_same_kmeans(x, y)) {
        ef_kmeans_locate(x->kmeans, y->kmeans, difference);
        return;
    }
    difference->what = "segments";
    if (of->n_columns != y->coordinates.n_columns || x->n_segments != y->n_segments)
        return;
    for (uint32_t j = 0; j < of->n_columns; j++)
        if (of->exponents[j] != y->coordinates.exponents[j]) {
            difference->what = "exponent";
            (void)snprintf(difference->where, sizeof difference->where, "column %" PRIu32, j + 1);
            return;
        }
    for (uint32_t c = 0; c < x->n_segments; c++)
        if (locate_segment(&x->segments[c], &y->segments[c], c, difference))
            return;
}
