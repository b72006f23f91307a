/*
 * A row to be looked for in the memory of the process: numbers that nothing else holds, kept here
 * under a mask so that the search does not find itself; and the search.
 *
 * The numbers are from 16 to 32 and have bits in their last byte, which those of all other rows
 * have not (plain_value); or minus that, far from all others. A value is looked for as float32, as
 * the upper half of a double, as a whole number of the grid (for the bound 32), as that in float32,
 * and as text.
 */
#ifndef EF_TESTS_NEEDLES_H
#define EF_TESTS_NEEDLES_H

#include "base/memory/memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N_COLUMNS 8
#define N_FORMS 4
#define BOUND 32.0
#define MASK 0x5AC3963Cu
#define MASK64 UINT64_C(0x5AC3963CA569C33C)

static uint32_t masked[N_FORMS * N_COLUMNS];
static uint64_t masked_text[N_COLUMNS];
static uint64_t may_match[1024]; /* a bit for each value of the upper half of a masked word */

static uint32_t mix(uint32_t a, uint32_t b) {
    uint64_t z = ((uint64_t)a << 32 | b) + UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)(z >> 32);
}

/* A number of another row, around one of four places. */
static float plain_value(uint32_t row, uint32_t column) {
    const uint32_t bits = 0x41800000u | (row + column) % 4 << 21 | (mix(row, column) & 0x1FFF00u);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The row itself; `to` is the caller's to overwrite. */
static __attribute__((noinline)) void needle_values(float *to) {
    for (uint32_t j = 0; j < N_COLUMNS; j++) {
        const uint32_t bits = masked[j] ^ MASK;
        memcpy(&to[j], &bits, sizeof bits);
    }
}

static void expect_word(uint32_t slot, uint32_t bits) {
    const uint32_t hidden = bits ^ MASK;
    masked[slot] = hidden;
    may_match[hidden >> 22] |= UINT64_C(1) << (hidden >> 16 & 63);
}

/* Overwrites what the test's own calls left on the stack. Never called after the library's. */
static __attribute__((noinline)) void wipe_own_stack(void) {
    unsigned char below[1 << 17];
    ef_wipe(below, sizeof below);
}

static __attribute__((noinline)) void choose_numbers(uint32_t seed, bool far) {
    memset(may_match, 0, sizeof may_match);
    for (uint32_t j = 0; j < N_COLUMNS; j++) {
        const uint32_t bits = (far ? 0xC1800000u : 0x41800000u) | (1 + j) % 4 << 21 |
                              (mix(seed, 1000 + j) & 0x1FFF0Eu) | 0x50u;
        float value;
        memcpy(&value, &bits, sizeof value);
        const float on_grid = value * 0x1p18F;
        const double wide = (double)value;
        uint32_t grid_bits;
        uint64_t wide_bits;
        memcpy(&grid_bits, &on_grid, sizeof grid_bits);
        memcpy(&wide_bits, &wide, sizeof wide_bits);
        expect_word(j, bits);
        expect_word(N_COLUMNS + j, (uint32_t)(wide_bits >> 32));
        expect_word(2 * N_COLUMNS + j, (uint32_t)(int32_t)on_grid);
        expect_word(3 * N_COLUMNS + j, grid_bits);
        char text[40];
        (void)snprintf(text, sizeof text, "%.17g", wide);
        uint64_t digits;
        memcpy(&digits, text + strlen(text) - sizeof digits, sizeof digits);
        masked_text[j] = digits ^ MASK64;
        ef_wipe(text, sizeof text);
    }
}

static void choose_needles(uint32_t seed, bool far) {
    choose_numbers(seed, far);
    wipe_own_stack();
}

/* ------------------------------------------------------------------ the search */

typedef struct sight {
    unsigned long n_found;
    size_t n_bytes; /* searched */
    uintptr_t first;
    unsigned slot; /* which of the forms was found first; text comes after the words */
    char mapping[128];
} sight;

static sight seen;

static void note(uintptr_t at, unsigned slot, const char *mapping) {
    if (seen.n_found++ != 0)
        return;
    seen.first = at;
    seen.slot = slot;
    (void)snprintf(seen.mapping, sizeof seen.mapping, "%.120s", mapping);
}

static void search_words(const unsigned char *bytes, size_t n, uintptr_t at, const char *mapping) {
    for (size_t i = 0; i + 4 <= n; i += 4) {
        uint32_t word;
        memcpy(&word, bytes + i, sizeof word);
        word ^= MASK;
        if ((may_match[word >> 22] >> (word >> 16 & 63) & 1) == 0)
            continue;
        for (unsigned slot = 0; slot < N_FORMS * N_COLUMNS; slot++)
            if (word == masked[slot])
                note(at + i, slot, mapping);
    }
}

static void search_text(const unsigned char *bytes, size_t n, uintptr_t at, const char *mapping) {
    for (size_t i = 0; i + 8 <= n; i++) {
        uint64_t word;
        if (bytes[i] < '.' || bytes[i] > '9' || bytes[i + 7] < '0' || bytes[i + 7] > '9')
            continue;
        memcpy(&word, bytes + i, sizeof word);
        word ^= MASK64;
        for (unsigned j = 0; j < N_COLUMNS; j++)
            if (word == masked_text[j])
                note(at + i, N_FORMS * N_COLUMNS + j, mapping);
    }
}

/* Reads a line of /proc/self/maps, however the reads fall. */
static bool next_line(int file, char *line, size_t room) {
    size_t n = 0;
    char c;
    while (read(file, &c, 1) == 1 && c != '\n')
        if (n + 1 < room)
            line[n++] = c;
    line[n] = '\0';
    return n != 0;
}

/* Searches all memory that can be written; false if the system does not show it. */
static bool search_memory(void) {
    static unsigned char part[1 << 16];
    static char line[512];
    const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    memset(&seen, 0, sizeof seen);
    while (maps >= 0 && memory >= 0 && next_line(maps, line, sizeof line)) {
        uintptr_t begin, end;
        char rights[5];
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, rights) != 3 ||
            rights[0] != 'r' || rights[1] != 'w')
            continue;
        /* Parts overlap by what a text may be cut off. */
        for (uintptr_t at = begin; at < end; at += sizeof part - 8) {
            const size_t wanted = end - at < sizeof part ? end - at : sizeof part;
            const ssize_t n = pread(memory, part, wanted, (off_t)at);
            if (n <= 0)
                break;
            seen.n_bytes += (size_t)n;
            search_words(part, (size_t)n, at, line);
            search_text(part, (size_t)n, at, line);
        }
    }
    memset(part, 0, sizeof part);
    if (maps >= 0)
        (void)close(maps);
    if (memory >= 0)
        (void)close(memory);
    return seen.n_bytes != 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_MALLOC 1
#endif
#endif

/* Sanitizers keep freed memory, and shadows of it. */
static bool can_search_memory(void) {
#ifdef OWN_MALLOC
    return false;
#else
    return access("/proc/self/maps", R_OK) == 0 && access("/proc/self/mem", R_OK) == 0;
#endif
}

#endif
