/*
 * The index of a state whose digest is one by sections (base/bytes/digest.h).
 *
 * With the digests of sections a request verifies those that it reads, and renews the digest of the
 * state from those that it changes; with their lengths it knows where they stand.
 *
 *     sections   number, bytes   number: the model's << 43 | piece; pieces of EF_PART_BYTES
 *
 * The bytes: the number of sections; for each its length, and then, but for the first and for those
 * that are empty, 32 bytes of digest. Numbers are short (base/encode.h). It is a function of the
 * state alone. It needs no seal of its own: the digest of the state follows from the digests, and
 * the sum of its parts from the lengths, and the seal of the model covers both.
 *
 * A section of more than EF_PART_BYTES has pieces, whose lengths, but for that of the last, follow
 * its digest, after their number. A piece ends where a hash of the 64 bytes before begins with 12
 * zeros, but has at least MIN_PIECE bytes and at most EF_PART_BYTES. So where a section grows or
 * shrinks somewhere, the pieces behind are what they were, and are not written.
 */
#include "store/models/state_index.h"

#include "base/bytes/digest.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/workers/cpu.h"
#include "base/workers/threads.h"
#include "store/models/state_parts.h"
#include "store/sql/sql.h"

#include <string.h>

#define MIN_PIECE 4096
#define HASHED 64 /* each byte shifts the hash by a bit */

void ef_state_index_free(ef_state_index *index) {
    ef_free(index->cuts.at);
    ef_free(index->pieces.at);
    ef_free(index->digests);
    *index = (ef_state_index){.n_bytes = 0};
}

static size_t piece_of(const unsigned char *bytes, size_t n_bytes) {
    const size_t most = n_bytes < EF_PART_BYTES ? n_bytes : EF_PART_BYTES;
    uint64_t hash = 0;
    for (size_t i = MIN_PIECE - HASHED; i < most; i++) {
        hash = (hash << 1) + (bytes[i] + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15);
        if (i + 1 >= MIN_PIECE && hash >> 52 == 0)
            return i + 1;
    }
    return most;
}

/* Notes the pieces of a section that will stand at a place. */
static bool add_pieces(ef_cuts *pieces, const unsigned char *bytes, size_t n_bytes, size_t at) {
    bool fits = true;
    if (n_bytes <= EF_PART_BYTES)
        return true;
    for (size_t done = piece_of(bytes, n_bytes); fits && done < n_bytes;
         done += piece_of(bytes + done, n_bytes - done))
        fits = ef_cuts_add(pieces, at + done);
    return fits;
}

/* The first piece that begins behind a place. */
static size_t piece_behind(const ef_cuts *pieces, size_t at) {
    size_t low = 0, high = pieces->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (pieces->at[middle] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool keep_pieces(ef_cuts *pieces, const ef_state_index *before, size_t section, size_t at) {
    const size_t begin = ef_section_begin(before, section),
                 end = ef_section_begin(before, section + 1);
    bool fits = true;
    for (size_t i = piece_behind(&before->pieces, begin);
         fits && i < before->pieces.n && before->pieces.at[i] < end; i++)
        fits = ef_cuts_add(pieces, at + (before->pieces.at[i] - begin));
    return fits;
}

/* Whether the next of the sections that were kept is this one; then it no longer is the next. */
static bool is_kept(const ef_writer *writer, size_t section, size_t *next) {
    const bool kept =
        writer->kept != NULL && *next < writer->kept->n && writer->kept->at[*next] == section;
    *next += kept;
    return kept;
}

/* Where a section of a writer begins; and that behind the last. */
static size_t written_begin(const ef_writer *writer, size_t section) {
    return section == 0                 ? 0
           : section <= writer->cuts->n ? writer->cuts->at[section - 1]
                                        : writer->n_bytes;
}

typedef struct digesting {
    const ef_writer *writer;
    unsigned char *digests; /* of the sections but for the first */
} digesting;

static void digest_some(void *context, unsigned worker, size_t first, size_t last) {
    const digesting *const d = context;
    unsigned char none[EFFACE_DIGEST_BYTES];
    (void)worker;
    ef_digest("", 0, none);
    for (size_t i = first; i < last; i++) {
        const size_t begin = written_begin(d->writer, i + 1),
                     n_bytes = written_begin(d->writer, i + 2) - begin;
        unsigned char *const digest = d->digests + i * EFFACE_DIGEST_BYTES;
        if (n_bytes == 0)
            memcpy(digest, none, sizeof none);
        else
            ef_digest(d->writer->bytes + begin, n_bytes, digest);
    }
}

#define MUCH ((size_t)1 << 20) /* bytes that are worth a second thread */

/* The digests of sections that were written; what comes out for the others is of no meaning. */
static bool digest_written(const ef_writer *writer, unsigned char *digests) {
    digesting d = {writer, digests};
    ef_pool *const pool = ef_pool_create(writer->n_bytes > MUCH && ef_cpu_count() > 1 ? 2 : 1);
    if (pool != NULL)
        ef_pool_run(pool, writer->cuts->n, 16, digest_some, &d);
    ef_pool_free(pool);
    return pool != NULL;
}

efface_status ef_state_index_make(const ef_writer *writer, const ef_state_index *before,
                                  ef_state_index *index, efface_error *error) {
    const size_t n = writer->cuts->n;
    ef_state_index made = {.digests = ef_alloc(n, EFFACE_DIGEST_BYTES)};
    bool fits = made.digests != NULL && digest_written(writer, made.digests);
    size_t next = 0;
    for (size_t s = 0; fits && s <= n; s++) {
        const size_t begin = written_begin(writer, s);
        size_t length = written_begin(writer, s + 1) - begin;
        if (s != 0 && !ef_cuts_add(&made.cuts, made.n_bytes)) {
            fits = false;
            break;
        }
        if (is_kept(writer, s, &next)) {
            length = ef_section_begin(before, s + 1) - ef_section_begin(before, s);
            memcpy(made.digests + (s - 1) * EFFACE_DIGEST_BYTES,
                   before->digests + (s - 1) * EFFACE_DIGEST_BYTES, EFFACE_DIGEST_BYTES);
            fits = keep_pieces(&made.pieces, before, s, made.n_bytes);
        } else {
            fits = add_pieces(&made.pieces, writer->bytes + begin, length, made.n_bytes);
        }
        made.n_bytes += length;
    }
    if (!fits) {
        ef_state_index_free(&made);
        return ef_fail_memory(error);
    }
    *index = made;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- bytes */

/* Their number but for the last, and how long they are. */
static void write_pieces(ef_writer *w, const ef_state_index *index, size_t section) {
    size_t begin = ef_section_begin(index, section);
    const size_t end = ef_section_begin(index, section + 1),
                 first = piece_behind(&index->pieces, begin),
                 last = piece_behind(&index->pieces, end - 1);
    ef_write_short(w, last - first);
    for (size_t i = first; i < last; i++) {
        ef_write_short(w, index->pieces.at[i] - begin);
        begin = index->pieces.at[i];
    }
}

/* False if out of memory. */
static bool read_pieces(ef_decoder *r, ef_state_index *index, size_t begin) {
    bool fits = true;
    for (uint64_t n = ef_read_short(r); fits && n != 0 && !r->failed; n--) {
        const uint64_t length = ef_read_short(r);
        r->failed |= length == 0 || length > index->n_bytes - begin - 1;
        begin += r->failed ? 0 : (size_t)length;
        fits = r->failed || ef_cuts_add(&index->pieces, begin);
    }
    return fits;
}

static void write_index(ef_writer *w, const ef_state_index *index) {
    ef_write_short(w, index->cuts.n + 1);
    for (size_t s = 0; s <= index->cuts.n; s++) {
        const size_t length = ef_section_begin(index, s + 1) - ef_section_begin(index, s);
        ef_write_short(w, length);
        if (s != 0 && length != 0)
            ef_write_bytes(w, index->digests + (s - 1) * EFFACE_DIGEST_BYTES, EFFACE_DIGEST_BYTES);
        if (length > EF_PART_BYTES)
            write_pieces(w, index, s);
    }
}

static efface_status decode_index(ef_decoder *r, ef_state_index *index, efface_error *error) {
    const uint64_t n = ef_read_short(r);
    unsigned char none[EFFACE_DIGEST_BYTES];
    if (n == 0 || n > EF_MAX_SECTIONS || !ef_decoder_has(r, (size_t)n, 1))
        return ef_store_corrupt(error, "the sections of the state of a model are invalid");
    index->digests = ef_alloc((size_t)n - 1, EFFACE_DIGEST_BYTES);
    if (index->digests == NULL)
        return ef_fail_memory(error);
    ef_digest("", 0, none);
    for (size_t s = 0; s < n; s++) {
        unsigned char *const digest =
            s != 0 ? index->digests + (s - 1) * EFFACE_DIGEST_BYTES : NULL;
        const uint64_t length = ef_read_short(r);
        if (s != 0 && !ef_cuts_add(&index->cuts, index->n_bytes))
            return ef_fail_memory(error);
        if (length > SIZE_MAX / 4 - index->n_bytes)
            r->failed = true;
        else
            index->n_bytes += (size_t)length;
        if (s != 0 && length != 0)
            ef_read_bytes(r, digest, EFFACE_DIGEST_BYTES);
        else if (s != 0)
            memcpy(digest, none, sizeof none);
        if (!r->failed && length > EF_PART_BYTES &&
            !read_pieces(r, index, index->n_bytes - (size_t)length))
            return ef_fail_memory(error);
    }
    return r->failed || r->n_bytes != 0
               ? ef_store_corrupt(error, "the sections of the state of a model are invalid")
               : EFFACE_OK;
}

/* ---------------------------------------------------------------- in the file */

/* All of it, one after the other. */
static efface_status read_stored(efface_store *store, int64_t number, ef_writer *bytes,
                                 uint64_t *n_pieces, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = true;
    efface_status status = ef_sql_prepare(store,
                                          "SELECT bytes FROM sections WHERE number BETWEEN ? AND ?"
                                          " ORDER BY number",
                                          &statement, error);
    *n_pieces = 0;
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_int64(statement, 1, ef_part_number(number, 0));
        (void)sqlite3_bind_int64(statement, 2, ef_last_part_number(number));
    }
    while (status == EFFACE_OK) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        const ef_decoder piece = ef_sql_bytes(statement, 0);
        if (!ef_sql_has(statement, "b"))
            status = ef_store_corrupt(error, "the sections of the state of a model are invalid");
        ++*n_pieces;
        ef_write_bytes(bytes, piece.bytes, piece.n_bytes);
    }
    (void)sqlite3_finalize(statement);
    return status == EFFACE_OK && bytes->failed ? ef_fail_memory(error) : status;
}

efface_status ef_state_index_read(efface_store *store, int64_t number, ef_state_index *index,
                                  efface_error *error) {
    ef_writer bytes = {0};
    uint64_t n_pieces = 0;
    *index = (ef_state_index){.n_bytes = 0};
    efface_status status = read_stored(store, number, &bytes, &n_pieces, error);
    if (status == EFFACE_OK && n_pieces != 0) {
        ef_decoder r = {.bytes = bytes.bytes, .n_bytes = bytes.n_bytes};
        status = decode_index(&r, index, error);
    }
    ef_free(bytes.bytes);
    if (status != EFFACE_OK)
        ef_state_index_free(index);
    return status;
}

efface_status ef_state_index_check(efface_store *store, int64_t number, const ef_state_index *index,
                                   uint64_t *n_pieces, efface_error *error) {
    ef_writer bytes = {0}, should = {0};
    efface_status status = read_stored(store, number, &bytes, n_pieces, error);
    write_index(&should, index);
    if (status == EFFACE_OK && should.failed)
        status = ef_fail_memory(error);
    if (status == EFFACE_OK && (bytes.n_bytes != should.n_bytes ||
                                memcmp(bytes.bytes, should.bytes, should.n_bytes) != 0 ||
                                *n_pieces != (should.n_bytes + EF_PART_BYTES - 1) / EF_PART_BYTES))
        status = ef_store_corrupt(error, "the sections of its state are not what the store says");
    ef_free(bytes.bytes);
    ef_free(should.bytes);
    return status;
}

/* Takes out the pieces from one on. */
static efface_status drop_from(efface_store *store, int64_t number, uint64_t piece,
                               efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status = ef_sql_prepare(
        store, "DELETE FROM sections WHERE number BETWEEN ? AND ?", &statement, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_int64(statement, 1, ef_part_number(number, piece));
        (void)sqlite3_bind_int64(statement, 2, ef_last_part_number(number));
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

/* Of a piece that is there, the pages that change are written. */
efface_status ef_state_index_write(efface_store *store, int64_t number, const ef_state_index *index,
                                   efface_error *error) {
    ef_writer bytes = {0};
    sqlite3_stmt *statement = NULL;
    uint64_t piece = 0;
    write_index(&bytes, index);
    efface_status status =
        bytes.failed ? ef_fail_memory(error)
                     : ef_sql_prepare(store,
                                      "INSERT INTO sections VALUES (?1, ?2)"
                                      " ON CONFLICT(number) DO UPDATE SET bytes = excluded.bytes",
                                      &statement, error);
    for (size_t at = 0; status == EFFACE_OK && at < bytes.n_bytes; at += EF_PART_BYTES) {
        const size_t left = bytes.n_bytes - at;
        (void)sqlite3_bind_int64(statement, 1, ef_part_number(number, piece++));
        ef_sql_bind_bytes(statement, 2, bytes.bytes + at,
                          left < EF_PART_BYTES ? left : EF_PART_BYTES);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    ef_free(bytes.bytes);
    return status == EFFACE_OK ? drop_from(store, number, piece, error) : status;
}

efface_status ef_state_index_drop(efface_store *store, int64_t number, efface_error *error) {
    return drop_from(store, number, 0, error);
}
