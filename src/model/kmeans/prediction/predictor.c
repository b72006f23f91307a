/*
 * Predictors: a model as it is published. The bytes (docs/format.md) have what prediction needs,
 * and nothing that a change or a verification would need: no sums, no counts, no seeds, no winners
 * of the seeding, no row and no id. They end with a digest, which finds damage; it keeps nobody
 * from making another file.
 */
#include "model/kmeans/prediction/predictor.h"

#include "base/checked.h"
#include "base/digest.h"
#include "base/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FORMAT 1
#define MAGIC_BYTES (sizeof EFFACE_PREDICTOR_MAGIC - 1)

enum { HAS_OFFSETS = 1, HAS_NAMES = 2 };

/* ---------------------------------------------------------------- encode */

static void write_names(ef_writer *w, const efface_data *data) {
    for (uint32_t j = 0; j < data->n_columns; j++) {
        const char *const name = efface_data_column_name(data, j);
        const size_t n = name != NULL ? strlen(name) : 0;
        ef_write_u32(w, (uint32_t)n);
        ef_write_bytes(w, name, n);
    }
}

void ef_predictor_write(ef_writer *w, const ef_kmeans *model, const efface_data *data) {
    const efface_predictor by = ef_predictor_of(model);
    const uint32_t d = by.domain.map.n_columns;
    const double *const offsets = efface_data_offsets(data);
    bool named = false;
    for (uint32_t j = 0; j < d; j++)
        named |= efface_data_column_name(data, j) != NULL;
    ef_write_bytes(w, EFFACE_PREDICTOR_MAGIC, MAGIC_BYTES);
    ef_write_u32(w, FORMAT);
    ef_write_u32(w, d);
    ef_write_u32(w, by.n_clusters);
    ef_write_u32(w, (uint32_t)by.domain.scale);
    ef_write_u32(w, (uint32_t)by.domain.exponent);
    ef_write_u32(w, (offsets != NULL ? HAS_OFFSETS : 0) | (named ? HAS_NAMES : 0));
    ef_domain_write(w, &by.domain);
    for (uint32_t j = 0; offsets != NULL && j < d; j++)
        ef_write_f64(w, offsets[j]);
    if (named)
        write_names(w, data);
    for (size_t i = 0; i < (size_t)by.n_clusters * d; i++)
        ef_write_u32(w, (uint32_t)by.centers[i]);
    unsigned char digest[EFFACE_DIGEST_BYTES] = {0};
    if (!w->failed)
        ef_digest(w->bytes, w->n_bytes, digest);
    ef_write_bytes(w, digest, sizeof digest);
}

/* ---------------------------------------------------------------- decode */

static efface_status damaged(efface_error *error, const char *what) {
    return ef_fail(error, EFFACE_E_FORMAT, "the published model is damaged: %s", what);
}

static efface_status read_offsets(ef_decoder *r, efface_predictor *p, efface_error *error) {
    const uint32_t d = p->domain.map.n_columns;
    bool any = false;
    p->offsets = ef_alloc(d, sizeof *p->offsets);
    if (p->offsets == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < d; j++) {
        const double offset = p->offsets[j] = ef_read_f64(r);
        if (!(offset >= -EFFACE_MAX_MAGNITUDE && offset <= EFFACE_MAX_MAGNITUDE))
            return damaged(error, "the offset of a column");
        any |= offset != 0.0;
    }
    return any ? EFFACE_OK : damaged(error, "its offsets");
}

static efface_status read_names(ef_decoder *r, efface_predictor *p, efface_error *error) {
    const uint32_t d = p->domain.map.n_columns;
    bool any = false;
    p->names = ef_alloc_zero(d, sizeof *p->names);
    if (p->names == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < d; j++) {
        const uint32_t n = ef_read_u32(r);
        if (!ef_decoder_has(r, n, 1) || memchr(r->bytes, '\0', n) != NULL)
            return damaged(error, "the name of a column");
        if (n == 0)
            continue;
        p->names[j] = ef_alloc((size_t)n + 1, 1);
        if (p->names[j] == NULL)
            return ef_fail_memory(error);
        ef_read_bytes(r, p->names[j], n);
        p->names[j][n] = '\0';
        any = true;
    }
    return any ? EFFACE_OK : damaged(error, "its names");
}

static efface_status read_centers(ef_decoder *r, efface_predictor *p, efface_error *error) {
    const size_t d = p->domain.map.n_columns, n = p->n_clusters * d;
    if (!ef_decoder_has(r, n, sizeof(int32_t)) || r->n_bytes != n * sizeof(int32_t))
        return damaged(error, "the number of its centroids");
    p->own_centers = ef_alloc(n, sizeof *p->own_centers);
    if (p->own_centers == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < n; i++) {
        p->own_centers[i] = (int32_t)ef_read_u32(r);
        if (p->own_centers[i] < -EF_GRID_MAX || p->own_centers[i] > EF_GRID_MAX)
            return damaged(error, "a centroid");
    }
    p->centers = p->own_centers;
    return EFFACE_OK;
}

/* What stands between the magic with the format, and the digest. */
static efface_status read_body(ef_decoder *r, efface_predictor *p, efface_error *error) {
    const uint32_t d = ef_read_u32(r), k = ef_read_u32(r), scale = ef_read_u32(r);
    const int32_t exponent = (int32_t)ef_read_u32(r);
    const uint32_t flags = ef_read_u32(r);
    const bool minmax = scale == EFFACE_SCALE_MINMAX;
    const bool in_range =
        minmax ? exponent == 0 : exponent >= EF_EXPONENT_MIN && exponent <= EF_EXPONENT_MAX;
    if (r->failed || d == 0 || d > EFFACE_MAX_COLUMNS || k == 0 || k > EFFACE_MAX_CLUSTERS ||
        (!minmax && scale != EFFACE_SCALE_NONE) || !in_range ||
        (flags & ~(uint32_t)(HAS_OFFSETS | HAS_NAMES)) != 0)
        return damaged(error, "its first bytes");
    p->n_clusters = k;
    efface_status status =
        ef_domain_read(r, &p->domain, d, (efface_scale)scale, (int)exponent, error);
    if (status == EFFACE_OK && (flags & HAS_OFFSETS) != 0)
        status = read_offsets(r, p, error);
    if (status == EFFACE_OK && (flags & HAS_NAMES) != 0)
        status = read_names(r, p, error);
    return status == EFFACE_OK ? read_centers(r, p, error) : status;
}

efface_status efface_predictor_decode(const unsigned char *bytes, size_t n_bytes,
                                      efface_predictor **out, efface_error *error) {
    if (bytes == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "bytes and out must not be NULL");
    unsigned char digest[EFFACE_DIGEST_BYTES];
    if (n_bytes < MAGIC_BYTES || memcmp(bytes, EFFACE_PREDICTOR_MAGIC, MAGIC_BYTES) != 0)
        return ef_fail(error, EFFACE_E_FORMAT, "this is no published model of efface");
    if (n_bytes < MAGIC_BYTES + 4 + sizeof digest)
        return damaged(error, "it ends too early");
    ef_decoder r = {.bytes = bytes + MAGIC_BYTES, .n_bytes = n_bytes - MAGIC_BYTES - sizeof digest};
    const uint32_t format = ef_read_u32(&r);
    ef_digest(bytes, n_bytes - sizeof digest, digest);
    const bool whole = memcmp(digest, bytes + n_bytes - sizeof digest, sizeof digest) == 0;
    if (format != FORMAT)
        return ef_fail(error, EFFACE_E_FORMAT,
                       "the published model has format %" PRIu32 "; this program knows format %d, "
                       "a newer one may be needed",
                       format, FORMAT);
    if (!whole)
        return damaged(error, "it is not what its digest says");
    efface_predictor *const p = ef_alloc_zero(1, sizeof *p);
    if (p == NULL)
        return ef_fail_memory(error);
    const efface_status status = read_body(&r, p, error);
    if (status == EFFACE_OK)
        *out = p;
    else
        efface_predictor_free(p);
    return status;
}

void efface_predictor_free(efface_predictor *p) {
    if (p == NULL)
        return;
    for (uint32_t j = 0; p->names != NULL && j < p->domain.map.n_columns; j++)
        ef_free(p->names[j]);
    ef_free(p->names);
    ef_free(p->offsets);
    ef_free(p->own_centers);
    ef_domain_free(&p->domain);
    ef_free(p);
}

/* ---------------------------------------------------------------- load */

/* How long a file is by its first n bytes; 0 if it takes more of them to tell. */
static uint64_t length_by_head(const unsigned char *bytes, size_t n) {
    const size_t head = MAGIC_BYTES + 4 + 20;
    if (n < head)
        return 0;
    ef_decoder r = {.bytes = bytes + MAGIC_BYTES + 4, .n_bytes = n - MAGIC_BYTES - 4};
    const uint64_t d = ef_read_u32(&r), k = ef_read_u32(&r);
    const uint32_t scale = ef_read_u32(&r);
    (void)ef_read_u32(&r);
    const uint32_t flags = ef_read_u32(&r);
    if (d > EFFACE_MAX_COLUMNS || k > EFFACE_MAX_CLUSTERS)
        return head; /* damaged, and decoding says so */
    uint64_t at = head + (scale == EFFACE_SCALE_MINMAX ? 8 * d : 0);
    at += (flags & HAS_OFFSETS) != 0 ? 8 * d : 0;
    for (uint64_t j = 0; j < d && (flags & HAS_NAMES) != 0; j++) {
        if (at + 4 > n)
            return 0;
        ef_decoder name = {.bytes = bytes + at, .n_bytes = 4};
        at += 4 + (uint64_t)ef_read_u32(&name);
    }
    return at + 4 * k * d + EFFACE_DIGEST_BYTES;
}

/* Reads a file, but no more of it than its first bytes if these are of something else, and little
 * more than there should be. */
static efface_status read_file(FILE *file, ef_writer *w, const char *path, efface_error *error) {
    unsigned char part[16384];
    for (;;) {
        errno = 0;
        const size_t n = fread(part, 1, sizeof part, file);
        ef_write_bytes(w, part, n);
        if (ferror(file) != 0)
            return ef_fail_at(error, EFFACE_E_IO, path, 0, 0, "cannot read the file: %s",
                              strerror(errno));
        if (w->failed)
            return ef_fail_memory(error);
        if (n < sizeof part || memcmp(w->bytes, EFFACE_PREDICTOR_MAGIC, MAGIC_BYTES) != 0)
            return EFFACE_OK;
        const uint64_t length = length_by_head(w->bytes, w->n_bytes);
        if (length != 0 && w->n_bytes > length)
            return EFFACE_OK;
    }
}

efface_status efface_predictor_load(const char *path, efface_predictor **out, efface_error *error) {
    if (path == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "path and out must not be NULL");
    FILE *const file = fopen(path, "rb");
    if (file == NULL)
        return ef_fail_at(error, EFFACE_E_IO, path, 0, 0, "cannot open the file: %s",
                          strerror(errno));
    ef_writer w = {0};
    efface_status status = read_file(file, &w, path, error);
    (void)fclose(file);
    efface_error why;
    if (status == EFFACE_OK) {
        status = efface_predictor_decode(w.bytes != NULL ? w.bytes : (const unsigned char *)"",
                                         w.n_bytes, out, &why);
        if (status == EFFACE_E_MEMORY)
            (void)ef_fail_memory(error);
        else if (status != EFFACE_OK)
            (void)ef_fail_at(error, status, path, 0, 0, "%s", why.message);
    }
    ef_free(w.bytes);
    return status;
}

/* ---------------------------------------------------------------- what it says */

efface_predictor_info efface_predictor_get_info(const efface_predictor *p) {
    return (efface_predictor_info){.format = FORMAT,
                                   .n_clusters = p->n_clusters,
                                   .n_columns = p->domain.map.n_columns,
                                   .scale = p->domain.scale};
}

const char *efface_predictor_column(const efface_predictor *p, uint32_t column) {
    return p->names != NULL && column < p->domain.map.n_columns ? p->names[column] : NULL;
}

const double *efface_predictor_offsets(const efface_predictor *p) {
    return p->offsets;
}

efface_status efface_predictor_centroid(const efface_predictor *p, uint32_t cluster,
                                        double *coordinates, efface_error *error) {
    if (p == NULL || coordinates == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "predictor and coordinates must not be NULL");
    if (cluster >= p->n_clusters)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "there is no cluster %" PRIu32 "; the published model has %" PRIu32, cluster,
                       p->n_clusters);
    const uint32_t d = p->domain.map.n_columns;
    ef_domain_coordinates(&p->domain, p->centers + (size_t)cluster * d, coordinates);
    for (uint32_t j = 0; p->offsets != NULL && j < d; j++)
        coordinates[j] += p->offsets[j];
    return EFFACE_OK;
}

efface_status efface_predictor_predict(const efface_predictor *p, size_t n_rows,
                                       const float *values, size_t stride, uint32_t *labels,
                                       efface_error *error) {
    if (p == NULL || (n_rows != 0 && (values == NULL || labels == NULL)))
        return ef_fail(error, EFFACE_E_ARGUMENT, "predictor, values and labels must not be NULL");
    return ef_predict_matrix(p, n_rows, values, stride, labels, NULL, error);
}

efface_status efface_predictor_square_distances(const efface_predictor *p, size_t n_rows,
                                                const float *values, size_t stride, double *squares,
                                                efface_error *error) {
    if (p == NULL || (n_rows != 0 && (values == NULL || squares == NULL)))
        return ef_fail(error, EFFACE_E_ARGUMENT, "predictor, values and squares must not be NULL");
    return ef_predict_matrix(p, n_rows, values, stride, NULL, squares, error);
}
