/* Canonical bytes and their digest: the same on every machine, so both are compared with bytes
 * written down here, never with what this machine's memory looks like. */
#include "base/bytes/digest.h"
#include "base/bytes/encode.h"
#include "efface/efface.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---------------------------------------------------------------- bytes */

/* Compares what was written with bytes in hexadecimal, and begins anew. */
static void expect_bytes(ef_writer *writer, const char *hex) {
    assert_false(writer->failed);
    assert_true(writer->n_bytes <= writer->capacity);
    char text[129] = "";
    assert_true(writer->n_bytes <= 64);
    for (size_t i = 0; i < writer->n_bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", writer->bytes[i]);
    assert_string_equal(text, hex);
    writer->n_bytes = 0;
}

static void whole_numbers_are_little_endian(void **state) {
    (void)state;
    ef_writer w = {0};
    ef_write_u32(&w, 0x01020304);
    expect_bytes(&w, "04030201");
    ef_write_u32(&w, UINT32_MAX - 1);
    expect_bytes(&w, "feffffff");
    ef_write_u64(&w, UINT64_C(0x0102030405060708));
    expect_bytes(&w, "0807060504030201");
    ef_write_u64(&w, (uint64_t)INT64_C(-2));
    expect_bytes(&w, "feffffffffffffff");
    ef_write_i128(&w, (ef_i128)0x0102030405060708 << 64 | 0x090A0B0C0D0E0F10);
    expect_bytes(&w, "100f0e0d0c0b0a090807060504030201");
    ef_write_i128(&w, -1);
    expect_bytes(&w, "ffffffffffffffffffffffffffffffff");
    ef_write_i128(&w, -((ef_i128)1 << 64));
    expect_bytes(&w, "0000000000000000ffffffffffffffff");
    ef_write_i128(&w, -((ef_i128)1 << 100) - 5);
    expect_bytes(&w, "fbffffffffffffffffffffffefffffff");
    ef_write_i128(&w, (ef_i128)(~(ef_u128)0 >> 1));
    expect_bytes(&w, "ffffffffffffffffffffffffffffff7f");
    free(w.bytes);
}

/* A short number, its bytes, and back. */
static void check_short(uint64_t value, const char *hex) {
    ef_writer w = {0};
    ef_write_short(&w, value);
    ef_decoder r = {.bytes = w.bytes, .n_bytes = w.n_bytes};
    assert_true(ef_read_short(&r) == value);
    assert_false(r.failed);
    assert_int_equal(r.n_bytes, 0);
    expect_bytes(&w, hex);
    free(w.bytes);
}

static void check_signed(int64_t value, const char *hex) {
    ef_writer w = {0};
    ef_write_signed(&w, value);
    ef_decoder r = {.bytes = w.bytes, .n_bytes = w.n_bytes};
    assert_true(ef_read_signed(&r) == value);
    assert_false(r.failed);
    expect_bytes(&w, hex);
    free(w.bytes);
}

static void short_numbers_have_one_way_to_be_written(void **state) {
    (void)state;
    check_short(0, "00");
    check_short(1, "01");
    check_short(127, "7f");
    check_short(128, "8001");
    check_short(300, "ac02");
    check_short(UINT64_C(1) << 63, "80808080808080808001");
    check_short(UINT64_MAX, "ffffffffffffffffff01");
    check_signed(0, "00");
    check_signed(-1, "01");
    check_signed(1, "02");
    check_signed(-64, "7f");
    check_signed(64, "8001");
    check_signed(INT64_MAX, "feffffffffffffffff01");
    check_signed(INT64_MIN, "ffffffffffffffffff01");
    const struct {
        const char *bytes;
        size_t n;
    } refused[] = {
        {"", 0},
        {"\x80", 1},
        {"\x80\x00", 2},
        {"\xff\x80\x00", 3},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x01", 11},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ef_decoder r = {.bytes = (const unsigned char *)refused[i].bytes, .n_bytes = refused[i].n};
        assert_true(ef_read_short(&r) == 0);
        assert_true(r.failed);
    }
}

static void floats_are_their_bits(void **state) {
    (void)state;
    ef_writer w = {0};
    ef_write_f32(&w, 1.0F);
    expect_bytes(&w, "0000803f");
    ef_write_f32(&w, -0x1.234566p-3F);
    expect_bytes(&w, "b3a211be");
    ef_write_f32(&w, -0.0F);
    expect_bytes(&w, "00000080");
    ef_write_f32(&w, FLT_TRUE_MIN);
    expect_bytes(&w, "01000000");
    ef_write_f64(&w, 1.0);
    expect_bytes(&w, "000000000000f03f");
    ef_write_f64(&w, -0x1.23456789abcdep-3);
    expect_bytes(&w, "debc9a785634c2bf");
    ef_write_f64(&w, INFINITY);
    expect_bytes(&w, "000000000000f07f");
    free(w.bytes);
}

static void fields_follow_without_padding(void **state) {
    (void)state;
    ef_writer w = {0};
    ef_write_bytes(&w, "KM", 2);
    ef_write_u32(&w, 1);
    ef_write_bytes(&w, NULL, 0);
    ef_write_f64(&w, 2.0);
    ef_write_bytes(&w, "!", 1);
    ef_write_i128(&w, 3);
    expect_bytes(&w, "4b4d0100000000000000000000402103000000000000000000000000000000");
    free(w.bytes);
}

/* ---------------------------------------------------------------- growth */

/* Pieces of every size, from single bytes to some larger than all before: what was written stays.
 */
static void growth_keeps_the_bytes(void **state) {
    (void)state;
    enum { MOST = 1 << 18 };
    unsigned char *const all = test_malloc(MOST);
    for (size_t i = 0; i < MOST; i++)
        all[i] = (unsigned char)(i * i >> 3 ^ i);
    ef_writer w = {0};
    size_t n_growths = 0;
    for (size_t n = 0, piece = 1; n + piece <= MOST; n += piece, piece = piece * 7 % 5003 + 1) {
        const size_t capacity = w.capacity;
        ef_write_bytes(&w, all + n, piece);
        n_growths += w.capacity != capacity;
        assert_int_equal(w.n_bytes, n + piece);
        assert_true(w.n_bytes <= w.capacity);
        assert_false(w.failed);
    }
    assert_memory_equal(w.bytes, all, w.n_bytes);
    assert_true(w.n_bytes > MOST - 5004);
    /* Growing by a constant would copy in the square of the size. */
    assert_true(n_growths < 40);
    free(w.bytes);
    test_free(all);
}

static void failure_is_remembered(void **state) {
    (void)state;
    ef_writer w = {0};
    ef_write_u32(&w, 7);
    ef_write_bytes(&w, "", SIZE_MAX); /* the sum of sizes does not fit; nothing is read */
    assert_true(w.failed);
    assert_int_equal(w.n_bytes, 4);
    ef_write_u64(&w, 8);
    ef_write_f32(&w, 9.0F);
    assert_true(w.failed);
    assert_int_equal(w.n_bytes, 4);
    free(w.bytes);
}

/* ---------------------------------------------------------------- digest */

static void expect_digest(const void *bytes, size_t n_bytes, const char *hex) {
    unsigned char digest[EFFACE_DIGEST_BYTES + 1];
    char text[2 * EFFACE_DIGEST_BYTES + 1];
    memset(digest, 0xA5, sizeof digest);
    ef_digest(bytes, n_bytes, digest);
    for (size_t i = 0; i < EFFACE_DIGEST_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, hex);
    assert_int_equal(digest[EFFACE_DIGEST_BYTES], 0xA5);
}

/* By Python: hashlib.blake2b(message, digest_size=32). */
static void digest_gives_the_known_answers(void **state) {
    (void)state;
    expect_digest("", 0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    expect_digest("abc", 3, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    unsigned char bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    expect_digest(bytes, sizeof bytes,
                  "39a7eb9fedc19aabc83425c6755dd90e6f9d0c804964a1f4aaeea3b9fb599835");
}

/* Every length around the blocks of 128 bytes, in one: the digest of the digests. */
static void digest_of_every_length(void **state) {
    (void)state;
    enum { LENGTHS = 300 };
    unsigned char message[LENGTHS] = {0}, digests[LENGTHS * EFFACE_DIGEST_BYTES];
    for (size_t n = 0; n < LENGTHS; n++) {
        for (size_t i = 0; i < n; i++)
            message[i] = (unsigned char)(7 * i + n);
        ef_digest(message, n, digests + n * EFFACE_DIGEST_BYTES);
    }
    expect_digest(digests, sizeof digests,
                  "05720b14c0ff91cb763270888c4abd5a530f0c5d903328323afc3d2017054d74");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_little_endian),
        cmocka_unit_test(short_numbers_have_one_way_to_be_written),
        cmocka_unit_test(floats_are_their_bits),
        cmocka_unit_test(fields_follow_without_padding),
        cmocka_unit_test(growth_keeps_the_bytes),
        cmocka_unit_test(failure_is_remembered),
        cmocka_unit_test(digest_gives_the_known_answers),
        cmocka_unit_test(digest_of_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
