/*
 * The two loops that show what one instruction set can do. Included by bench_peak.c once for each,
 * which says before what a vector is:
 *
 *     LOOP(name)           the name of a function of this set
 *     TARGET               the attribute under which the compiler may use it, or nothing
 *     vec, LANES           a vector of floats
 *     vec_load(p), vec_set(x), vec_add(a, b), vec_fma(a, b, c)
 */

/* Twelve vectors that do not wait for each other: more than a processor with two units of four
 * cycles has under way, and with two operands no more than there are registers everywhere. */
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define START(i) vec a##i = vec_set((float)(i));
#define STEP(i) a##i = vec_fma(a##i, factor, summand);
#define READ(i) a##i = vec_add(a##i, vec_load(p + part * ((i) / 2) + LANES * ((i) % 2)));
#define JOIN(i) all = vec_add(all, a##i);

static float LOOP(add_lanes)(const float *lanes) {
    float sum = 0.0F;
    for (int i = 0; i < LANES; i++)
        sum += lanes[i];
    return sum;
}

/* `n` rounds of twelve multiply-adds; the values stay near 1. */
TARGET static float LOOP(multiply)(size_t n) {
    const vec factor = vec_set(0.5F), summand = vec_set(0.5F);
    EACH(START)
    for (size_t i = 0; i < n; i++) {
        EACH(STEP)
    }
    vec all = vec_set(0.0F);
    EACH(JOIN)
    float lanes[LANES];
    memcpy(lanes, &all, sizeof lanes);
    return LOOP(add_lanes)(lanes);
}

/* The sum of `n` floats, but for the last few. Six places are read at once, two vectors at each:
 * one place alone does not keep main memory busy. */
TARGET static float LOOP(read)(const float *values, size_t n) {
    const size_t part = n / 6 / 16 * 16, step = 2 * LANES;
    EACH(START)
    for (const float *p = values; p + step <= values + part; p += step) {
        EACH(READ)
    }
    vec all = vec_set(0.0F);
    EACH(JOIN)
    float lanes[LANES];
    memcpy(lanes, &all, sizeof lanes);
    return LOOP(add_lanes)(lanes);
}

#undef EACH
#undef START
#undef STEP
#undef READ
#undef JOIN
#undef LOOP
#undef TARGET
#undef vec
#undef LANES
#undef vec_load
#undef vec_set
#undef vec_add
#undef vec_fma
