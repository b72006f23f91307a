/* The random choices of a forest. */
#include "model/forest/chances.h"

#include "base/tape.h"

static uint64_t join(uint32_t low, uint32_t high) {
    return (uint64_t)low | (uint64_t)high << 32;
}

uint64_t ef_root_key(uint64_t seed, uint32_t tree) {
    return ef_tape(seed, EF_TAPE_ROOT, 0, tree, 0);
}

void ef_child_keys(uint64_t key, uint64_t children[2]) {
    uint32_t words[4];
    ef_tape_words(key, EF_TAPE_CHILDREN, 0, 0, 0, words);
    children[0] = join(words[0], words[1]);
    children[1] = join(words[2], words[3]);
}

/* ---------------------------------------------------------------- columns */

uint32_t ef_shuffle_next(ef_shuffle *shuffle, uint32_t i, uint32_t n) {
    if (i % 4 == 0)
        ef_tape_words(shuffle->key, EF_TAPE_COLUMNS, 0, 0, i / 4, shuffle->words);
    return i + (uint32_t)((uint64_t)shuffle->words[i % 4] * (n - i) >> 32);
}

/* ---------------------------------------------------------------- thresholds */

/* The smallest interval of a fixed binary subdivision of the line that has lo and hi in it. It
 * hardly ever moves when an extreme row leaves, and is no larger than it has to be. */
static void find_box(int32_t lo, int32_t hi, double *from, double *to) {
    if (lo < 0 && hi < 0) {
        double mirrored;
        find_box(-hi, -lo, &mirrored, from);
        *from = -*from;
        *to = -mirrored;
        return;
    }
    if (lo < 0) {
        const int32_t size = -lo > hi ? -lo : hi;
        const int32_t power = (size + 0x7FFFFF) & ~0x7FFFFF;
        *to = (double)ef_key_value(power);
        *from = -*to;
        return;
    }
    int32_t begin = 0, end = (hi & ~0x7FFFFF) + 0x800000;
    if (lo >> 23 == hi >> 23) {
        const int32_t width = (int32_t)(2U << (31 - __builtin_clz((unsigned)(lo ^ hi))));
        begin = lo & ~(width - 1);
        end = begin + width;
    }
    *from = (double)ef_key_value(begin);
    *to = (double)ef_key_value(end);
}

/* The key of the largest float32 that is not above y. */
static int32_t key_below(double y) {
    if (y > -0x1p-100 && y < 0x1p-100)
        return y >= 0.0 ? 0 : -EF_KEY_LEAST;
    const float near = (float)y;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    const int32_t size = (int32_t)(bits & 0x7FFFFFFF);
    const int32_t key = (bits >> 31) != 0 ? -size : size;
    return (double)near > y ? key - 1 : key;
}

int32_t ef_draw_threshold(uint64_t key, uint32_t column, int32_t lo, int32_t hi) {
    const double low = (double)ef_key_value(lo), high = (double)ef_key_value(hi);
    double from, to;
    find_box(lo, hi, &from, &to);
    for (uint32_t step = 0;; step++) {
        uint32_t words[4];
        ef_tape_words(key, EF_TAPE_THRESHOLD, 0, column, step, words);
        for (int half = 0; half < 4; half += 2) {
            const double y = from + ef_tape_unit(join(words[half], words[half + 1])) * (to - from);
            if (y < low)
                from = y;
            else if (y >= high)
                to = y;
            else
                return key_below(y);
        }
    }
}

bool ef_draw_missing(uint64_t key, uint32_t column) {
    return (ef_tape(key, EF_TAPE_MISSING, 0, column, 0) & 1) != 0;
}

uint32_t ef_draw_salt(uint64_t key, uint32_t column, uint32_t draw) {
    return (uint32_t)ef_tape(key, EF_TAPE_CATEGORIES, 0, column, draw);
}

/* ---------------------------------------------------------------- the trees of a row */

uint32_t ef_draw_poisson(uint64_t seed, uint64_t id, uint32_t tree) {
    /* 2^64 (1/0! + ... + 1/j!) / e, rounded down. */
    static const uint64_t bounds[] = {
        0x5E2D58D8B3BCDF1A, 0xBC5AB1B16779BE35, 0xEB715E1DC1582DC2, 0xFB23979734A252F1,
        0xFF1025F59174DC3D, 0xFFD90F3BA4055E19, 0xFFFA8B71FC72C913, 0xFFFF540C0914B3C9,
        0xFFFFED1F4AA8F120, 0xFFFFFE216E641462, 0xFFFFFFD4D85D3183, 0xFFFFFFFC6DA262B4,
        0xFFFFFFFFBA12D178, 0xFFFFFFFFFB07C64C, 0xFFFFFFFFFFAB8EA5, 0xFFFFFFFFFFFABE22,
        0xFFFFFFFFFFFFB11A, 0xFFFFFFFFFFFFFBA1, 0xFFFFFFFFFFFFFFC5, 0xFFFFFFFFFFFFFFFD,
    };
    const uint64_t bits = ef_tape(seed, EF_TAPE_BOOTSTRAP, 0, id, tree);
    uint32_t n = 0;
    while (n < sizeof bounds / sizeof bounds[0] && bounds[n] <= bits)
        n++;
    return n;
}

void ef_draw_trees(uint64_t seed, uint64_t id, uint32_t k, uint32_t n, uint32_t *places,
                   uint64_t *bits) {
    uint32_t words[4];
    for (uint32_t t = 0; t < n; t++)
        places[t] = t;
    for (uint32_t i = 0; i < k && i < n; i++) {
        if (i % 4 == 0)
            ef_tape_words(seed, EF_TAPE_MEMBERSHIP, 0, id, i / 4, words);
        const uint32_t j = i + (uint32_t)((uint64_t)words[i % 4] * (n - i) >> 32);
        const uint32_t tree = places[j];
        places[j] = places[i];
        places[i] = tree;
        bits[tree / 64] |= (uint64_t)1 << (tree % 64);
    }
}
