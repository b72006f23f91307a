/* Writing and reading canonical bytes: little-endian, no padding, the same on every machine. */
#ifndef EF_ENCODE_H
#define EF_ENCODE_H

#include "base/numbers/wide.h"

#include <stdbool.h>
#include <stddef.h>

/* Places in what was written; begin with {0}, release `at` with ef_free. */
typedef struct ef_cuts {
    size_t *at; /* bytes before it; never falls */
    size_t n, capacity;
} ef_cuts;

/* False if out of memory. */
bool ef_cuts_add(ef_cuts *cuts, size_t at);

/* A growing buffer; begin with {0}. Once memory runs out `failed` is set and further calls do
 * nothing, so that a caller checks once, at the end. Release `bytes` with ef_free. */
typedef struct ef_writer {
    unsigned char *bytes;
    size_t n_bytes;
    size_t capacity;
    bool failed;
    ef_cuts *cuts; /* or NULL: nobody asks for them */
    ef_cuts *kept; /* or NULL: everything is written */
} ef_writer;

/* Room for so many bytes more, so that they are not moved while it grows. */
void ef_write_reserve(ef_writer *writer, size_t n_more);

void ef_write_bytes(ef_writer *writer, const void *bytes, size_t n_bytes);
void ef_write_u32(ef_writer *writer, uint32_t value);
void ef_write_u64(ef_writer *writer, uint64_t value);
void ef_write_i128(ef_writer *writer, ef_i128 value);
void ef_write_f32(ef_writer *writer, float value);
void ef_write_f64(ef_writer *writer, double value);

/* A number in as few bytes as it needs: 7 bits in each, the lowest first, bit 7 set in all but the
 * last. A signed one is written as 2 x, or as -2 x - 1 if it is negative. */
void ef_write_short(ef_writer *writer, uint64_t value);
void ef_write_signed(ef_writer *writer, int64_t value);

/* Notes that a part may begin here: something that can change its length without what stands before
 * or after it, as a level or a node of a tree. The bytes do not contain the place. The n-th cut
 * should be before the same thing from one state of a model to the next. Before the first byte it
 * does nothing. */
void ef_write_cut(ef_writer *writer);

/* Says in the place of the bytes after a cut that they are what they were: the number of the cut is
 * noted in `kept`. Fails where everything is to be written. */
void ef_write_kept(ef_writer *writer);

/* A place in bytes that are being read. Once they do not suffice `failed` is set, and what is read
 * from then on is 0, so that a caller checks when it matters. */
typedef struct ef_decoder {
    const unsigned char *bytes;
    size_t n_bytes; /* that are left */
    bool failed;
} ef_decoder;

/* Whether `count` things of `size` bytes are left; if not, reading has failed. */
bool ef_decoder_has(ef_decoder *reader, size_t count, size_t size);

void ef_read_bytes(ef_decoder *reader, void *bytes, size_t n_bytes);
uint32_t ef_read_u32(ef_decoder *reader);
uint64_t ef_read_u64(ef_decoder *reader);
ef_i128 ef_read_i128(ef_decoder *reader);
float ef_read_f32(ef_decoder *reader);
double ef_read_f64(ef_decoder *reader);

/* Fails for bytes that ef_write_short does not write: a number has one way to be written. */
uint64_t ef_read_short(ef_decoder *reader);
int64_t ef_read_signed(ef_decoder *reader);

#endif
