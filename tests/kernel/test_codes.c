/* Ranges and counts of codes, by every kernel table, are those of plain loops: for rows anywhere in
 * memory that ends behind the last one, in any order and number, and for the largest sums. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "kernel/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random/tape.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_TABLES 8
#define MOST_ROWS 700

static const ef_kernels *tables[MOST_TABLES]; /* usable here */
static size_t n_tables;

static uint64_t drawn;

static uint32_t below(uint32_t limit) {
    return (uint32_t)ef_tape_below(ef_tape(9, EF_TAPE_GAUSSIAN, 0, drawn++, 0), limit);
}

/* Rows, the last of which ends where memory does. */
typedef struct scene {
    unsigned char *map, *rows;
    size_t map_bytes, row_bytes;
    uint32_t n_slots;
    size_t n;
    uint32_t slots[MOST_ROWS];
    int32_t targets[MOST_ROWS];
} scene;

static int32_t draw_code(uint32_t kind) {
    static const int32_t ends[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX - 1, INT32_MAX};
    return kind == 0   ? (int32_t)below(4) - 2
           : kind == 1 ? ends[below(sizeof ends / sizeof ends[0])]
                       : (int32_t)(below(UINT32_MAX) ^ 0x80000000U);
}

static scene make_scene(size_t n, size_t row_bytes, uint32_t kind) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    scene s = {.n = n, .row_bytes = row_bytes, .n_slots = 1 + below(MOST_ROWS)};
    const size_t n_bytes = (s.n_slots - 1) * row_bytes + EF_CODES * sizeof(int32_t),
                 room = (n_bytes + page - 1) / page * page;
    s.map_bytes = room + page;
    s.map = mmap(NULL, s.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(s.map, MAP_FAILED);
    assert_int_equal(mprotect(s.map + room, page, PROT_NONE), 0);
    s.rows = s.map + room - n_bytes;
    for (uint32_t slot = 0; slot < s.n_slots; slot++)
        for (unsigned j = 0; j < EF_CODES; j++) {
            const int32_t code = draw_code(kind);
            memcpy(s.rows + slot * row_bytes + j * sizeof code, &code, sizeof code);
        }
    const bool largest = below(2) != 0, negative = below(2) != 0;
    for (size_t i = 0; i < n; i++) {
        s.slots[i] = below(s.n_slots);
        s.targets[i] = largest ? (negative ? -EF_GRID_MAX : EF_GRID_MAX)
                               : (int32_t)below(2 * EF_GRID_MAX + 1) - EF_GRID_MAX;
    }
    return s;
}

static int32_t code_of(const scene *s, size_t i, unsigned j) {
    int32_t code;
    memcpy(&code, s->rows + s->slots[i] * s->row_bytes + j * sizeof code, sizeof code);
    return code;
}

static void check_ranges(const scene *s) {
    int32_t least[EF_CODES], most[EF_CODES], got[2][EF_CODES];
    for (unsigned j = 0; j < EF_CODES; j++) {
        least[j] = most[j] = code_of(s, 0, j);
        for (size_t i = 1; i < s->n; i++) {
            least[j] = code_of(s, i, j) < least[j] ? code_of(s, i, j) : least[j];
            most[j] = code_of(s, i, j) > most[j] ? code_of(s, i, j) : most[j];
        }
    }
    for (size_t t = 0; t < n_tables; t++) {
        tables[t]->code_ranges(s->rows, s->row_bytes, s->slots, s->n, got[0], got[1]);
        if (memcmp(got[0], least, sizeof least) != 0 || memcmp(got[1], most, sizeof most) != 0)
            fail_msg("ranges of %s: %zu rows of %zu bytes", tables[t]->name, s->n, s->row_bytes);
    }
}

static void check_counts(const scene *s, uint32_t kind, bool with_targets) {
    int32_t limits[EF_CODES];
    uint32_t counts[EF_CODES], got_counts[EF_CODES];
    int64_t sums[EF_CODES], got_sums[EF_CODES];
    for (unsigned j = 0; j < EF_CODES; j++) {
        limits[j] = draw_code(kind);
        counts[j] = 0;
        sums[j] = 0;
        for (size_t i = 0; i < s->n; i++)
            if (code_of(s, i, j) <= limits[j]) {
                counts[j]++;
                sums[j] += with_targets ? s->targets[i] : 0;
            }
    }
    for (size_t t = 0; t < n_tables; t++) {
        memset(got_counts, 0xAA, sizeof got_counts);
        memset(got_sums, 0xAA, sizeof got_sums);
        tables[t]->code_counts(s->rows, s->row_bytes, s->slots, with_targets ? s->targets : NULL,
                               s->n, limits, got_counts, got_sums);
        if (memcmp(got_counts, counts, sizeof counts) != 0 ||
            memcmp(got_sums, sums, sizeof sums) != 0)
            fail_msg("counts of %s: %zu rows of %zu bytes", tables[t]->name, s->n, s->row_bytes);
    }
}

static void test_codes(void **state) {
    static const size_t row_bytes[] = {4, 28, 32, 33, 61, 64};
    (void)state;
    for (size_t n = 0; n < MOST_ROWS; n += n < 70 ? 1 : 1 + below(60))
        for (size_t w = 0; w < sizeof row_bytes / sizeof row_bytes[0]; w++) {
            const uint32_t kind = below(3);
            scene s = make_scene(n, row_bytes[w], kind);
            if (n != 0)
                check_ranges(&s);
            check_counts(&s, kind, false);
            check_counts(&s, kind, true);
            munmap(s.map, s.map_bytes);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_codes)};
    for (const char *const *name = ef_kernels_names(); *name != NULL; name++)
        if (ef_kernels_find(*name) != NULL)
            tables[n_tables++] = ef_kernels_find(*name);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
