/*
 * The byte stream: a source (file or memory), and inflate between it and the caller if it begins
 * like gzip.
 *
 * It calls inflate by itself rather than through gzread, because gzread passes over whatever
 * follows a gzip member without a word: a file of several members whose second is damaged would
 * lose rows silently.
 */
#define _POSIX_C_SOURCE 200809L

#include "data/files/reader.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif

#define BUFFER_BYTES ((size_t)256 * 1024)
#define SPARE_BYTES 64 /* so that there is room to look for the end */

/* Reads up to `room` bytes from the source; *n_read is 0 only at its end. */
static efface_status read_source(ef_reader *reader, unsigned char *to, size_t room, size_t *n_read,
                                 efface_error *error) {
    assert(room > 0);
    if (reader->file < 0) {
        *n_read = room < reader->memory_left ? room : reader->memory_left;
        if (*n_read > 0)
            memcpy(to, reader->memory, *n_read);
        reader->memory += *n_read;
        reader->memory_left -= *n_read;
    } else {
        ssize_t count;
        while ((count = read(reader->file, to, room)) < 0) {
            /* A pipe that somebody made non-blocking is waited for all the same. */
            struct pollfd more = {.fd = reader->file, .events = POLLIN};
            if (errno == EAGAIN || errno == EWOULDBLOCK)
                (void)poll(&more, 1, -1);
            else if (errno != EINTR)
                break;
        }
        if (count < 0)
            return ef_fail_at(error, EFFACE_E_IO, reader->name, 0, 0, "cannot read the file: %s",
                              strerror(errno));
        *n_read = (size_t)count;
    }
    reader->n_source_read += *n_read;
    return EFFACE_OK;
}

/* Appends to bytes[end ..] what the plain source gives next. */
static efface_status append_plain(ef_reader *reader, efface_error *error) {
    size_t room = reader->capacity - reader->end;
    if (room > reader->chunk_bytes)
        room = reader->chunk_bytes;
    size_t n_read;
    const efface_status status =
        read_source(reader, reader->bytes + reader->end, room, &n_read, error);
    if (status != EFFACE_OK)
        return status;
    reader->end += n_read;
    reader->ended = n_read == 0;
    return EFFACE_OK;
}

static efface_status fail_gzip(const ef_reader *reader, const char *what, efface_error *error) {
    return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                      "the gzip data is damaged: %s; download or compress the file again", what);
}

/* Called at the end of a gzip member: goes on with the next, or ends the stream. */
static efface_status next_member(ef_reader *reader, efface_error *error) {
    z_stream *const inflater = &reader->inflater;
    /* Two bytes tell a member from something else; they may be apart in the source. */
    while (inflater->avail_in < 2) {
        if (inflater->avail_in > 0)
            memmove(reader->packed, inflater->next_in, inflater->avail_in);
        inflater->next_in = reader->packed;
        size_t n_read;
        const efface_status status = read_source(reader, reader->packed + inflater->avail_in,
                                                 reader->chunk_bytes, &n_read, error);
        if (status != EFFACE_OK)
            return status;
        if (n_read == 0)
            break;
        inflater->avail_in += (uInt)n_read;
    }
    if (inflater->avail_in == 0) {
        reader->ended = true;
        return EFFACE_OK;
    }
    if (inflater->avail_in < 2 || inflater->next_in[0] != 0x1F || inflater->next_in[1] != 0x8B)
        return fail_gzip(reader, "other bytes follow its end", error);
    if (inflateReset(inflater) != Z_OK)
        return fail_gzip(reader, "it cannot be continued", error);
    reader->in_member = true;
    return EFFACE_OK;
}

/* Appends some of the inflated bytes to bytes[end ..], or sets `ended`. */
static efface_status append_inflated(ef_reader *reader, efface_error *error) {
    z_stream *const inflater = &reader->inflater;
    if (!reader->in_member)
        return next_member(reader, error);
    if (inflater->avail_in == 0) {
        size_t n_read;
        const efface_status status =
            read_source(reader, reader->packed, reader->chunk_bytes, &n_read, error);
        if (status != EFFACE_OK)
            return status;
        if (n_read == 0)
            return fail_gzip(reader, "it ends in the middle", error);
        inflater->next_in = reader->packed;
        inflater->avail_in = (uInt)n_read;
    }
    const size_t room = reader->capacity - reader->end;
    const uInt part = room < UINT_MAX ? (uInt)room : UINT_MAX;
    inflater->next_out = reader->bytes + reader->end;
    inflater->avail_out = part;
    const int result = inflate(inflater, Z_NO_FLUSH);
    reader->end += part - inflater->avail_out;
    if (result == Z_STREAM_END) {
        reader->in_member = false;
        return EFFACE_OK;
    }
    if (result == Z_MEM_ERROR)
        return ef_fail_memory(error);
    /* Z_BUF_ERROR only says that input or room ran out. */
    if (result != Z_OK && result != Z_BUF_ERROR)
        return fail_gzip(reader, inflater->msg != NULL ? inflater->msg : "it needs a dictionary",
                         error);
    return EFFACE_OK;
}

/* Moves what is available to the front and sees that n_bytes bytes fit, with room to spare. */
static efface_status reserve_bytes(ef_reader *reader, size_t n_bytes, efface_error *error) {
    const size_t available = ef_reader_available(reader);
    if (available > 0 && reader->begin > 0)
        memmove(reader->bytes, ef_reader_at(reader), available);
    reader->begin = 0;
    reader->end = available;
    if (n_bytes < reader->capacity)
        return EFFACE_OK;
    size_t capacity;
    if (!ef_mul_size(n_bytes, 2, &capacity))
        return ef_fail_memory(error);
    unsigned char *const bytes = ef_realloc(reader->bytes, capacity, 1);
    if (bytes == NULL)
        return ef_fail_memory(error);
    reader->bytes = bytes;
    reader->capacity = capacity;
    return EFFACE_OK;
}

/* inflate keeps what it gave last; that is rows too. */
static void *take_memory(void *context, unsigned count, unsigned size) {
    (void)context;
    return ef_alloc(count, size);
}

static void release_memory(void *context, void *memory) {
    (void)context;
    ef_free(memory);
}

static efface_status begin_inflate(ef_reader *reader, efface_error *error) {
    reader->packed = ef_alloc(BUFFER_BYTES + 1, 1); /* one byte: see next_member */
    if (reader->packed == NULL)
        return ef_fail_memory(error);
    reader->inflater.zalloc = take_memory;
    reader->inflater.zfree = release_memory;
    /* 15 bits of window, 16: expect gzip's header and check its trailer. */
    if (inflateInit2(&reader->inflater, 15 + 16) != Z_OK)
        return ef_fail_memory(error);
    reader->gzipped = true;
    reader->in_member = true;
    /* What was read to tell the format becomes the first input. */
    const size_t available = ef_reader_available(reader);
    assert(available <= BUFFER_BYTES);
    memcpy(reader->packed, ef_reader_at(reader), available);
    reader->inflater.next_in = reader->packed;
    reader->inflater.avail_in = (uInt)available;
    reader->begin = reader->end = 0;
    /* Short files may become long ones. */
    return reader->capacity < BUFFER_BYTES ? reserve_bytes(reader, BUFFER_BYTES / 2, error)
                                           : EFFACE_OK;
}

/* Everything but the source is in place: allocates the buffer and looks at the first bytes. */
static efface_status begin_reader(ef_reader *reader, efface_error *error) {
    /* A short file needs a small buffer: all of it will be overwritten in the end. */
    const bool is_short = reader->size_known && reader->n_source_bytes < BUFFER_BYTES - SPARE_BYTES;
    reader->capacity = is_short ? (size_t)reader->n_source_bytes + SPARE_BYTES : BUFFER_BYTES;
    reader->bytes = ef_alloc(reader->capacity, 1);
    efface_status status = reader->bytes != NULL ? EFFACE_OK : ef_fail_memory(error);
    EF_THEN(status, ef_reader_fill(reader, 2, error));
    if (status == EFFACE_OK && ef_reader_available(reader) >= 2 && reader->bytes[0] == 0x1F &&
        reader->bytes[1] == 0x8B)
        status = begin_inflate(reader, error);
    if (status != EFFACE_OK)
        ef_reader_close(reader);
    return status;
}

/* The size of a regular file, from where it stands. */
static void find_size(ef_reader *reader) {
    struct stat about;
    /* Files of /proc claim to have no bytes; they are read like pipes. */
    if (fstat(reader->file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0)
        return;
    const off_t at = lseek(reader->file, 0, SEEK_CUR); /* standard input may be read in part */
    if (at < 0 || at > about.st_size)
        return;
    reader->size_known = true;
    reader->n_source_bytes = (uint64_t)(about.st_size - at);
}

efface_status ef_reader_open(ef_reader *reader, const char *path, efface_error *error) {
    const bool standard = strcmp(path, "-") == 0;
    *reader = (ef_reader){.name = standard ? "standard input" : path, .chunk_bytes = BUFFER_BYTES};
    /* A copy of the descriptor: closing it leaves standard input open. */
    reader->file =
        standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    if (reader->file < 0)
        return ef_fail_at(error, EFFACE_E_IO, reader->name, 0, 0, "cannot open the file: %s",
                          strerror(errno));
    find_size(reader);
    return begin_reader(reader, error);
}

efface_status ef_reader_open_memory(ef_reader *reader, const char *name, const void *memory,
                                    size_t n_bytes, size_t chunk_bytes, efface_error *error) {
    assert(chunk_bytes > 0);
    *reader = (ef_reader){.name = name,
                          .file = -1,
                          .memory = memory,
                          .memory_left = n_bytes,
                          .chunk_bytes = chunk_bytes < BUFFER_BYTES ? chunk_bytes : BUFFER_BYTES,
                          .size_known = true,
                          .n_source_bytes = n_bytes};
    return begin_reader(reader, error);
}

void ef_reader_close(ef_reader *reader) {
    if (reader->file >= 0)
        (void)close(reader->file);
    if (reader->gzipped)
        (void)inflateEnd(&reader->inflater);
    ef_free(reader->packed);
    ef_free(reader->bytes);
    *reader = (ef_reader){.file = -1};
}

static efface_status tell_part(const ef_reader *reader, efface_error *error) {
    const double part = reader->size_known && reader->n_source_bytes >= reader->n_source_read &&
                                reader->n_source_bytes > 0
                            ? (double)reader->n_source_read / (double)reader->n_source_bytes
                            : -1.0;
    return reader->progress == NULL || reader->progress(reader->progress_context, part) == 0
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_INTERRUPTED, "interrupted while %s was read",
                         reader->name);
}

efface_status ef_reader_fill(ef_reader *reader, size_t n_bytes, efface_error *error) {
    if (ef_reader_available(reader) >= n_bytes || reader->ended)
        return EFFACE_OK;
    efface_status status = tell_part(reader, error);
    EF_THEN(status, reserve_bytes(reader, n_bytes, error));
    while (status == EFFACE_OK && reader->end < n_bytes && !reader->ended)
        status = reader->gzipped ? append_inflated(reader, error) : append_plain(reader, error);
    return status;
}

/* Moves the source on, where that can be done without reading; returns by how many bytes. */
static uint64_t jump(ef_reader *reader, uint64_t n_bytes) {
    if (reader->file < 0 || !reader->size_known || reader->gzipped ||
        reader->n_source_read + n_bytes > reader->n_source_bytes ||
        lseek(reader->file, (off_t)n_bytes, SEEK_CUR) < 0)
        return 0;
    reader->n_source_read += n_bytes;
    return n_bytes;
}

efface_status ef_reader_skip(ef_reader *reader, uint64_t n_bytes, efface_error *error) {
    efface_status status = EFFACE_OK;
    while (n_bytes > 0 && status == EFFACE_OK) {
        const size_t available = ef_reader_available(reader);
        const size_t n = n_bytes < available ? (size_t)n_bytes : available;
        ef_reader_take(reader, n);
        n_bytes -= n;
        if (n_bytes > 0 && reader->ended)
            return EFFACE_OK;
        if (n_bytes > 0)
            n_bytes -= jump(reader, n_bytes);
        if (n_bytes > 0)
            status = ef_reader_fill(reader, 1, error);
    }
    return status;
}

bool ef_reader_left(const ef_reader *reader, uint64_t *n_bytes) {
    if (!reader->size_known || reader->gzipped || reader->n_source_read > reader->n_source_bytes)
        return false;
    *n_bytes = reader->n_source_bytes - reader->n_source_read + ef_reader_available(reader);
    return true;
}
