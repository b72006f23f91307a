/*
 * The bytes of a file, plain or gzipped, as one stream.
 *
 * Bytes that were read and not yet taken stand at ef_reader_at(), ef_reader_available() of them;
 * ef_reader_fill asks for more. A loader that takes bytes until the stream has ended has thereby
 * also checked that gzip data is complete and undamaged.
 */
#ifndef EF_READER_H
#define EF_READER_H

#include "efface/efface.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

typedef struct ef_reader {
    const char *name; /* for messages: the path as the caller gave it, or "standard input" */
    unsigned char *bytes;
    size_t begin; /* bytes[begin .. end) are read and not taken */
    size_t end;
    size_t capacity;
    bool ended; /* nothing comes after bytes[end - 1] */

    int file; /* the source: a file descriptor or, if negative, memory */
    const unsigned char *memory;
    size_t memory_left;
    size_t chunk_bytes; /* the most that the source gives at a time */
    bool size_known;    /* the source is a regular file or memory: it has n_source_bytes bytes, */
    uint64_t n_source_bytes;
    uint64_t n_source_read;                      /* of which so many were read */
    int (*progress)(void *context, double part); /* as in efface_load_options */
    void *progress_context;

    bool gzipped;
    bool in_member;        /* the gzip member that was begun is not complete */
    z_stream inflater;     /* its input stands in `packed` */
    unsigned char *packed; /* NULL for plain files */
} ef_reader;

/* Opens a file, which may be a pipe, or "-", standard input; a directory, a missing file and the
 * like are the error IO. After a failure there is nothing to close. */
efface_status ef_reader_open(ef_reader *reader, const char *path, efface_error *error);

/* The same for bytes in memory, which must stay there. The source gives at most chunk_bytes bytes
 * at a time, so that tests can place the seams between chunks anywhere. */
efface_status ef_reader_open_memory(ef_reader *reader, const char *name, const void *memory,
                                    size_t n_bytes, size_t chunk_bytes, efface_error *error);

void ef_reader_close(ef_reader *reader);

/* Reads until at least n_bytes bytes are available or the stream has ended. Bytes that are
 * available may move. */
efface_status ef_reader_fill(ef_reader *reader, size_t n_bytes, efface_error *error);

/* Takes n_bytes bytes that nobody wants to see, or as many as there are. */
efface_status ef_reader_skip(ef_reader *reader, uint64_t n_bytes, efface_error *error);

/* The bytes of the stream that were not taken, or false if that is not known beforehand. The file
 * system's word: a file may shrink or grow while it is read. */
bool ef_reader_left(const ef_reader *reader, uint64_t *n_bytes);

static inline unsigned char *ef_reader_at(const ef_reader *reader) {
    return reader->bytes + reader->begin;
}

static inline size_t ef_reader_available(const ef_reader *reader) {
    return reader->end - reader->begin;
}

/* Takes n_bytes of the bytes that are available. They stay in place until the next fill. */
static inline void ef_reader_take(ef_reader *reader, size_t n_bytes) {
    reader->begin += n_bytes;
}

#endif
