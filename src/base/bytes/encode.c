/* Writing and reading canonical bytes. */
#include "base/bytes/encode.h"

#include "base/memory/memory.h"

#include <string.h>

static void give_room(ef_writer *writer, size_t capacity) {
    unsigned char *const larger = ef_realloc(writer->bytes, capacity, 1);
    if (larger == NULL) {
        writer->failed = true;
        return;
    }
    writer->bytes = larger;
    writer->capacity = capacity;
}

void ef_write_reserve(ef_writer *writer, size_t n_more) {
    size_t wanted = 0;
    writer->failed |= !ef_add_size(writer->n_bytes, n_more, &wanted);
    if (!writer->failed && wanted > writer->capacity)
        give_room(writer, wanted);
}

void ef_write_bytes(ef_writer *writer, const void *bytes, size_t n_bytes) {
    if (writer->failed || n_bytes == 0)
        return;
    size_t wanted;
    if (!ef_add_size(writer->n_bytes, n_bytes, &wanted)) {
        writer->failed = true;
        return;
    }
    const size_t generous = writer->capacity + writer->capacity / 2;
    if (wanted > writer->capacity)
        give_room(writer, generous > wanted ? generous : wanted + 64);
    if (writer->failed)
        return;
    memcpy(writer->bytes + writer->n_bytes, bytes, n_bytes);
    writer->n_bytes = wanted;
}

static void write_little_endian(ef_writer *writer, ef_u128 value, size_t n_bytes) {
    unsigned char bytes[16];
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    ef_write_bytes(writer, bytes, n_bytes);
}

void ef_write_u32(ef_writer *writer, uint32_t value) {
    write_little_endian(writer, value, 4);
}

void ef_write_u64(ef_writer *writer, uint64_t value) {
    write_little_endian(writer, value, 8);
}

void ef_write_i128(ef_writer *writer, ef_i128 value) {
    write_little_endian(writer, (ef_u128)value, 16);
}

void ef_write_f32(ef_writer *writer, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    ef_write_u32(writer, bits);
}

void ef_write_f64(ef_writer *writer, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ef_write_u64(writer, bits);
}

void ef_write_short(ef_writer *writer, uint64_t value) {
    unsigned char bytes[10];
    size_t n = 0;
    for (; value > 0x7F; value >>= 7)
        bytes[n++] = (unsigned char)(value | 0x80);
    bytes[n++] = (unsigned char)value;
    ef_write_bytes(writer, bytes, n);
}

void ef_write_signed(ef_writer *writer, int64_t value) {
    ef_write_short(writer, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

bool ef_cuts_add(ef_cuts *cuts, size_t at) {
    if (cuts->n == cuts->capacity) {
        const size_t capacity = 2 * cuts->capacity + 16;
        size_t *const larger = ef_realloc(cuts->at, capacity, sizeof *larger);
        if (larger == NULL)
            return false;
        cuts->at = larger;
        cuts->capacity = capacity;
    }
    cuts->at[cuts->n++] = at;
    return true;
}

void ef_write_cut(ef_writer *writer) {
    if (!writer->failed && writer->cuts != NULL && writer->n_bytes != 0)
        writer->failed = !ef_cuts_add(writer->cuts, writer->n_bytes);
}

void ef_write_kept(ef_writer *writer) {
    if (!writer->failed)
        writer->failed = writer->kept == NULL || writer->cuts == NULL ||
                         !ef_cuts_add(writer->kept, writer->cuts->n);
}

bool ef_decoder_has(ef_decoder *reader, size_t count, size_t size) {
    size_t n_bytes;
    if (!ef_mul_size(count, size, &n_bytes) || n_bytes > reader->n_bytes)
        reader->failed = true;
    return !reader->failed;
}

void ef_read_bytes(ef_decoder *reader, void *bytes, size_t n_bytes) {
    if (!ef_decoder_has(reader, n_bytes, 1)) {
        memset(bytes, 0, n_bytes);
        return;
    }
    memcpy(bytes, reader->bytes, n_bytes);
    reader->bytes += n_bytes;
    reader->n_bytes -= n_bytes;
}

/* Byte by byte, which compilers make one load of. */
static uint32_t four_bytes(const unsigned char *b) {
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint64_t eight_bytes(const unsigned char *b) {
    return four_bytes(b) | (uint64_t)four_bytes(b + 4) << 32;
}

uint32_t ef_read_u32(ef_decoder *reader) {
    unsigned char bytes[4];
    ef_read_bytes(reader, bytes, sizeof bytes);
    return four_bytes(bytes);
}

uint64_t ef_read_u64(ef_decoder *reader) {
    unsigned char bytes[8];
    ef_read_bytes(reader, bytes, sizeof bytes);
    return eight_bytes(bytes);
}

ef_i128 ef_read_i128(ef_decoder *reader) {
    unsigned char bytes[16];
    ef_read_bytes(reader, bytes, sizeof bytes);
    return (ef_i128)(eight_bytes(bytes) | (ef_u128)eight_bytes(bytes + 8) << 64);
}

float ef_read_f32(ef_decoder *reader) {
    const uint32_t bits = ef_read_u32(reader);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double ef_read_f64(ef_decoder *reader) {
    const uint64_t bits = ef_read_u64(reader);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint64_t ef_read_short(ef_decoder *reader) {
    uint64_t value = 0;
    for (unsigned shift = 0; !reader->failed; shift += 7) {
        unsigned char byte;
        ef_read_bytes(reader, &byte, 1);
        /* The tenth byte has one bit, and none is a 0 that could be left out. */
        if ((shift == 63 && byte > 1) || (shift != 0 && byte == 0))
            reader->failed = true;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            break;
    }
    return reader->failed ? 0 : value;
}

int64_t ef_read_signed(ef_decoder *reader) {
    const uint64_t value = ef_read_short(reader);
    return (int64_t)(value >> 1 ^ ((value & 1) != 0 ? UINT64_MAX : 0));
}
