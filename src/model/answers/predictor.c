/*
 * Published models: a predictor of any family, as bytes and as a file
 * (docs/definition/published.md).
 * The bytes have the names and offsets of the columns, the texts of classes, and what the family
 * needs for prediction. They end with a digest, which finds damage; it keeps nobody from making
 * another file. Near their beginning they have random bytes: the digest of the whole file, which
 * outlives it in receipts, tells nothing to those who do not have the file.
 */
#include "base/bytes/digest.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/family.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_BYTES (sizeof EFFACE_PREDICTOR_MAGIC - 1)
#define CLASS_TEXT_BYTES 12 /* of a class and the length of its text */
#define RANDOM_BYTES 32
/* With the format, random bytes, family, columns, flags, bytes of the part. */
#define HEAD_BYTES (MAGIC_BYTES + RANDOM_BYTES + 24)

enum { HAS_OFFSETS = 1, HAS_NAMES = 2, HAS_TEXTS = 4 };

/* ---------------------------------------------------------------- encode */

static void write_text(ef_writer *w, const char *text) {
    const size_t n = text != NULL ? strlen(text) : 0;
    ef_write_u32(w, (uint32_t)n);
    ef_write_bytes(w, text, n);
}

/* Texts of classes, without their number, which is handed out. An empty text says no more than
 * none. */
static uint32_t write_class_texts(ef_writer *w, const efface_model *model,
                                  const efface_texts *texts) {
    const uint32_t n_classes =
        texts != NULL ? efface_predictor_get_info(&model->lent).n_classes : 0;
    uint32_t n = 0;
    if (n_classes == 0)
        return 0;
    int64_t *const classes = ef_alloc(n_classes, sizeof *classes);
    if (classes == NULL) {
        w->failed = true;
        return 0;
    }
    efface_predictor_classes(&model->lent, classes, n_classes);
    for (uint32_t i = 0; i < n_classes; i++) {
        const char *const text = efface_texts_find(texts, EFFACE_TEXT_LABEL, (uint64_t)classes[i]);
        if (text == NULL || text[0] == '\0')
            continue;
        ef_write_u64(w, (uint64_t)classes[i]);
        write_text(w, text);
        n++;
    }
    ef_free(classes);
    return n;
}

void ef_predictor_write(ef_writer *w, const efface_model *model, const efface_data *data,
                        const efface_texts *texts) {
    const uint32_t d = model->n_columns;
    const double *const offsets = efface_data_offsets(data);
    unsigned char random[RANDOM_BYTES];
    bool named = false;
    for (uint32_t j = 0; j < d; j++)
        named |= efface_data_column_name(data, j) != NULL;
    ef_writer part = {0}, classes = {0};
    ef_lent room;
    model->family->write_predictor(&part, ef_predictor_part(&model->lent, &room));
    const uint32_t n_texts = write_class_texts(&classes, model, texts);
    w->failed |= part.failed | classes.failed;
    ef_write_bytes(w, EFFACE_PREDICTOR_MAGIC, MAGIC_BYTES);
    ef_write_u32(w, EF_PREDICTOR_FORMAT);
    randombytes_buf(random, sizeof random);
    ef_write_bytes(w, random, sizeof random);
    ef_write_u32(w, (uint32_t)model->family->number);
    ef_write_u32(w, d);
    ef_write_u32(w, (offsets != NULL ? HAS_OFFSETS : 0) | (named ? HAS_NAMES : 0) |
                        (n_texts != 0 ? HAS_TEXTS : 0));
    ef_write_u64(w, part.n_bytes);
    for (uint32_t j = 0; offsets != NULL && j < d; j++)
        ef_write_f64(w, offsets[j]);
    for (uint32_t j = 0; named && j < d; j++)
        write_text(w, efface_data_column_name(data, j));
    if (n_texts != 0)
        ef_write_u32(w, n_texts);
    ef_write_bytes(w, classes.bytes, classes.n_bytes);
    ef_write_bytes(w, part.bytes, part.n_bytes);
    ef_free(classes.bytes);
    ef_free(part.bytes);
    unsigned char digest[EFFACE_DIGEST_BYTES] = {0};
    if (!w->failed)
        ef_digest(w->bytes, w->n_bytes, digest);
    ef_write_bytes(w, digest, sizeof digest);
}

/* ---------------------------------------------------------------- decode */

static efface_status read_offsets(ef_decoder *r, efface_predictor *p, efface_error *error) {
    const uint32_t d = p->n_columns;
    bool any = false;
    p->offsets = ef_alloc(d, sizeof *p->offsets);
    if (p->offsets == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < d; j++) {
        const double offset = p->offsets[j] = ef_read_f64(r);
        if (!(offset >= -EFFACE_MAX_MAGNITUDE && offset <= EFFACE_MAX_MAGNITUDE))
            return ef_fail_published(error, "the offset of a column");
        any |= offset != 0.0;
    }
    return any ? EFFACE_OK : ef_fail_published(error, "its offsets");
}

/* A text, or NULL if it is empty. */
static efface_status read_text(ef_decoder *r, const char *what, char **out, efface_error *error) {
    const uint32_t n = ef_read_u32(r);
    if (!ef_decoder_has(r, n, 1) || memchr(r->bytes, '\0', n) != NULL)
        return ef_fail_published(error, what);
    if (n == 0)
        return EFFACE_OK;
    char *const text = ef_alloc((size_t)n + 1, 1);
    if (text == NULL)
        return ef_fail_memory(error);
    ef_read_bytes(r, text, n);
    text[n] = '\0';
    *out = text;
    return EFFACE_OK;
}

static efface_status read_names(ef_decoder *r, efface_predictor *p, efface_error *error) {
    const uint32_t d = p->n_columns;
    bool any = false;
    p->names = ef_alloc_zero(d, sizeof *p->names);
    if (p->names == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < d; j++) {
        const efface_status status = read_text(r, "the name of a column", &p->names[j], error);
        if (status != EFFACE_OK)
            return status;
        any |= p->names[j] != NULL;
    }
    return any ? EFFACE_OK : ef_fail_published(error, "its names");
}

/* Classes come in ascending order, each once, and each has a text. */
static efface_status read_class_texts(ef_decoder *r, efface_predictor *p, efface_error *error) {
    static const char what[] = "the text of a class";
    const uint32_t n = ef_read_u32(r);
    if (n == 0 || !ef_decoder_has(r, n, CLASS_TEXT_BYTES))
        return ef_fail_published(error, "its texts of classes");
    p->class_texts = ef_alloc_zero(n, sizeof *p->class_texts);
    if (p->class_texts == NULL)
        return ef_fail_memory(error);
    p->n_class_texts = n;
    for (uint32_t i = 0; i < n; i++) {
        ef_class_text *const at = &p->class_texts[i];
        at->class_id = (int64_t)ef_read_u64(r);
        const efface_status status = read_text(r, what, &at->text, error);
        if (status != EFFACE_OK)
            return status;
        if (at->text == NULL || (i > 0 && at->class_id <= at[-1].class_id))
            return ef_fail_published(error, what);
    }
    return EFFACE_OK;
}

/* What stands between the magic with the format, and the digest. */
static efface_status read_body(ef_decoder *r, efface_predictor *p, efface_error *error) {
    unsigned char random[RANDOM_BYTES];
    ef_read_bytes(r, random, sizeof random);
    const uint32_t number = ef_read_u32(r), d = ef_read_u32(r), flags = ef_read_u32(r);
    const uint64_t n_bytes = ef_read_u64(r);
    const uint32_t known = HAS_OFFSETS | HAS_NAMES | HAS_TEXTS;
    if (r->failed || d == 0 || d > EFFACE_MAX_COLUMNS || (flags & ~known) != 0)
        return ef_fail_published(error, "its first bytes");
    p->n_columns = d;
    p->family = ef_family_of((efface_family)number);
    if (p->family == NULL)
        return ef_fail(error, EFFACE_E_FORMAT,
                       "the published model is of a family, number %" PRIu32
                       ", that this program does not know; a newer one may be needed",
                       number);
    efface_status status = EFFACE_OK;
    if ((flags & HAS_OFFSETS) != 0)
        status = read_offsets(r, p, error);
    if (status == EFFACE_OK && (flags & HAS_NAMES) != 0)
        status = read_names(r, p, error);
    if (status == EFFACE_OK && (flags & HAS_TEXTS) != 0)
        status = read_class_texts(r, p, error);
    if (status == EFFACE_OK && r->n_bytes != n_bytes)
        status = ef_fail_published(error, "the length of its last part");
    EF_THEN(status, p->family->read_predictor(r, d, &p->part, error));
    if (status == EFFACE_OK && r->n_bytes != 0)
        status = ef_fail_published(error, "bytes are left over");
    return status;
}

efface_status efface_predictor_decode(const unsigned char *bytes, size_t n_bytes,
                                      efface_predictor **out, efface_error *error) {
    if (bytes == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "bytes and out must not be NULL");
    unsigned char digest[EFFACE_DIGEST_BYTES];
    if (n_bytes < MAGIC_BYTES || memcmp(bytes, EFFACE_PREDICTOR_MAGIC, MAGIC_BYTES) != 0)
        return ef_fail(error, EFFACE_E_FORMAT, "this is not a published model of efface");
    if (n_bytes < MAGIC_BYTES + 4 + sizeof digest)
        return ef_fail_published(error, "it ends too early");
    ef_decoder r = {.bytes = bytes + MAGIC_BYTES, .n_bytes = n_bytes - MAGIC_BYTES - sizeof digest};
    const uint32_t format = ef_read_u32(&r);
    ef_digest(bytes, n_bytes - sizeof digest, digest);
    const bool whole = memcmp(digest, bytes + n_bytes - sizeof digest, sizeof digest) == 0;
    if (format != EF_PREDICTOR_FORMAT)
        return ef_fail(error, EFFACE_E_FORMAT,
                       "the published model has format %" PRIu32 ", but this program reads format "
                       "%d; %s",
                       format, EF_PREDICTOR_FORMAT,
                       format < EF_PREDICTOR_FORMAT ? "publish it again" : "use a newer program");
    if (!whole)
        return ef_fail_published(error, "it is not what its digest says");
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

efface_status ef_predictor_create(const ef_family *family, void *part, uint32_t n_columns,
                                  efface_predictor **out, efface_error *error) {
    efface_predictor *const p = ef_alloc_zero(1, sizeof *p);
    if (p == NULL) {
        family->free_predictor(part);
        return ef_fail_memory(error);
    }
    *p = (efface_predictor){.family = family, .part = part, .n_columns = n_columns};
    *out = p;
    return EFFACE_OK;
}

void efface_predictor_free(efface_predictor *p) {
    if (p == NULL)
        return;
    for (uint32_t j = 0; p->names != NULL && j < p->n_columns; j++)
        ef_free(p->names[j]);
    for (uint32_t i = 0; i < p->n_class_texts; i++)
        ef_free(p->class_texts[i].text);
    ef_free(p->class_texts);
    ef_free(p->names);
    ef_free(p->offsets);
    if (p->part != NULL)
        p->family->free_predictor(p->part);
    ef_free(p);
}

/* ---------------------------------------------------------------- load */

static uint32_t u32_at(const unsigned char *bytes) {
    ef_decoder r = {.bytes = bytes, .n_bytes = 4};
    return ef_read_u32(&r);
}

/* How long a file is by its first n bytes; 0 if it takes more of them to tell. */
static uint64_t length_by_head(const unsigned char *bytes, size_t n) {
    if (n < HEAD_BYTES)
        return 0;
    const size_t begin = MAGIC_BYTES + 4 + RANDOM_BYTES + 4;
    ef_decoder r = {.bytes = bytes + begin, .n_bytes = HEAD_BYTES - begin};
    const uint64_t d = ef_read_u32(&r);
    const uint32_t flags = ef_read_u32(&r);
    const uint64_t n_bytes = ef_read_u64(&r);
    if (d > EFFACE_MAX_COLUMNS || n_bytes > UINT64_MAX / 2)
        return HEAD_BYTES; /* damaged, and decoding says so */
    uint64_t at = HEAD_BYTES + ((flags & HAS_OFFSETS) != 0 ? 8 * d : 0);
    for (uint64_t j = 0; j < d && (flags & HAS_NAMES) != 0; j++) {
        if (at + 4 > n)
            return 0;
        at += 4 + (uint64_t)u32_at(bytes + at);
    }
    if ((flags & HAS_TEXTS) != 0) {
        if (at + 4 > n)
            return 0;
        const uint64_t n_texts = u32_at(bytes + at);
        at += 4;
        for (uint64_t i = 0; i < n_texts; i++) {
            if (at + CLASS_TEXT_BYTES > n)
                return 0;
            at += CLASS_TEXT_BYTES + (uint64_t)u32_at(bytes + at + 8);
        }
    }
    return at + n_bytes + EFFACE_DIGEST_BYTES;
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

const char *efface_predictor_column(const efface_predictor *p, uint32_t column) {
    return p->names != NULL && column < p->n_columns ? p->names[column] : NULL;
}

const double *efface_predictor_offsets(const efface_predictor *p) {
    return p->offsets;
}

static int compare_classes(const void *a, const void *b) {
    const int64_t x = ((const ef_class_text *)a)->class_id;
    const int64_t y = ((const ef_class_text *)b)->class_id;
    return (x > y) - (x < y);
}

const char *efface_predictor_class_text(const efface_predictor *p, int64_t class_id) {
    const ef_class_text key = {.class_id = class_id};
    const ef_class_text *const found =
        p->n_class_texts > 0
            ? bsearch(&key, p->class_texts, p->n_class_texts, sizeof key, compare_classes)
            : NULL;
    return found != NULL ? found->text : NULL;
}
