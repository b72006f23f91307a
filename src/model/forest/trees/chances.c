/* The random choices of a forest. */
#include "model/forest/trees/chances.h"

#include "base/numbers/grid.h"
#include "base/random/tape.h"

uint64_t ef_root_key(uint64_t seed, uint32_t tree) {
    return ef_tape(seed, EF_TAPE_ROOT, 0, tree, 0);
}

void ef_child_keys(uint64_t key, uint64_t children[2]) {
    const uint64_t stream = ef_node_stream(key, EF_NODE_CHILDREN, 0);
    children[0] = ef_stream_at(stream, 0);
    children[1] = ef_stream_at(stream, 1);
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

/* One number after the other for a threshold. */
typedef struct draws {
    uint64_t key;
    uint32_t column, n;
} draws;

static uint64_t next_draw(draws *d) {
    return ef_stream_at(ef_node_stream(d->key, EF_NODE_THRESHOLD, d->n++), d->column);
}

/* ---------------------------------------------------------------- long tails */

/* A column with long tails has a scale of its own: even up to its unit 2^e, and by octaves beyond.
 * Places on it are whole numbers. */
#define UNIT ((int64_t)1 << 40)   /* places up to the unit, and in each octave */
#define OCTAVE_BITS 17            /* a float32 has 2^23 numbers in an octave */
#define MIDDLE ((int64_t)1 << 50) /* where 0 is among places, so that none is negative */

/* The key of a place; keys are in the order of places. */
static int32_t key_at(int64_t place, int unit) {
    const int64_t size = place < 0 ? -place : place;
    int64_t key;
    if (size < UNIT) {
        key = key_below((double)size * ef_power_of_two(unit - 40));
    } else {
        key = ((int64_t)(unit + 127) << 23) + ((size - UNIT) >> OCTAVE_BITS);
        key = key < EF_KEY_INFINITE ? key : EF_KEY_INFINITE - 1;
    }
    return (int32_t)(place < 0 ? -key : key);
}

/* A place near that of a key, in the order of keys. */
static int64_t place_of(int32_t key, int unit) {
    const int32_t size = key < 0 ? -key : key, key_of_unit = (unit + 127) << 23;
    const int64_t place = size >= key_of_unit
                              ? UNIT + ((int64_t)(size - key_of_unit) << OCTAVE_BITS)
                              : (int64_t)((double)ef_key_value(size) * ef_power_of_two(40 - unit));
    return key < 0 ? -place : place;
}

/* False if there is no place between: then values are too near to each other for the scale. */
static bool draw_long(draws *d, uint64_t bits, int unit, int32_t lo, int32_t hi, int32_t *cut) {
    const int64_t low = place_of(lo, unit) + MIDDLE, high = place_of(hi, unit) + MIDDLE;
    if (low == high)
        return false;
    const int width = 64 - __builtin_clzll((uint64_t)(low ^ high));
    int64_t from = low >> width << width, to = from + ((int64_t)1 << width);
    while (from < to) {
        const int64_t place = from + (int64_t)ef_tape_below(bits, (uint64_t)(to - from));
        *cut = key_at(place - MIDDLE, unit);
        if (*cut < lo)
            from = place + 1;
        else if (*cut >= hi)
            to = place;
        else
            return true;
        bits = next_draw(d);
    }
    return false;
}

int32_t ef_draw_threshold(uint64_t key, uint32_t column, int unit, int32_t lo, int32_t hi) {
    draws d = {.key = key, .column = column};
    uint64_t bits = next_draw(&d);
    int32_t cut;
    if (unit != EF_NO_UNIT && draw_long(&d, bits, unit, lo, hi, &cut))
        return cut;
    d.n = 1; /* all numbers but the first begin again */
    const double low = (double)ef_key_value(lo), high = (double)ef_key_value(hi);
    /* The largest number below hi: the box need not have hi in it. */
    const int32_t last = hi == 0 ? -EF_KEY_LEAST : hi == EF_KEY_LEAST ? 0 : hi - 1;
    double from, to;
    if (last == lo)
        return lo;
    find_box(lo, last, &from, &to);
    for (;;) {
        const double y = from + ef_tape_unit(bits) * (to - from);
        if (y < low)
            from = y;
        else if (y >= high)
            to = y;
        else
            return key_below(y);
        bits = next_draw(&d);
    }
}

bool ef_draw_missing(uint64_t key, uint32_t column) {
    return (ef_stream_at(ef_node_stream(key, EF_NODE_MISSING, 0), column) & 1) != 0;
}

uint32_t ef_draw_salt(uint64_t key, uint32_t column, uint32_t draw) {
    return (uint32_t)ef_stream_at(ef_node_stream(key, EF_NODE_CATEGORIES, draw), column);
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
