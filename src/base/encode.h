/* Writing canonical bytes: little-endian, no padding, the same on every machine. */
#ifndef EF_ENCODE_H
#define EF_ENCODE_H

#include "base/wide.h"

#include <stdbool.h>
#include <stddef.h>

/* A growing buffer; begin with {0}. Once memory runs out `failed` is set and further calls do
 * nothing, so that a caller checks once, at the end. Release `bytes` with free. */
typedef struct ef_writer {
    unsigned char *bytes;
    size_t n_bytes;
    size_t capacity;
    bool failed;
} ef_writer;

void ef_write_bytes(ef_writer *writer, const void *bytes, size_t n_bytes);
void ef_write_u32(ef_writer *writer, uint32_t value);
void ef_write_u64(ef_writer *writer, uint64_t value);
void ef_write_i128(ef_writer *writer, ef_i128 value);
void ef_write_f32(ef_writer *writer, float value);
void ef_write_f64(ef_writer *writer, double value);

#endif
