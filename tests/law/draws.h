/* Random numbers from one number, and what tests that draw cases have in common. A file has a
 * stream of its own; what it draws elsewhere goes on with it (`stream` in law_families.h). For
 * tests, which include this file. */
#ifndef EF_TESTS_DRAWS_H
#define EF_TESTS_DRAWS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t rng_state;

static inline uint64_t next(void) {
    rng_state += UINT64_C(0x9E3779B97F4A7C15);
    return mix(rng_state);
}

static inline uint64_t below(uint64_t limit) {
    return next() % limit;
}

static inline int one_in(uint64_t n) {
    return below(n) == 0;
}

static inline float unit(void) {
    return (float)(next() >> 40) * 0x1p-24f;
}

/* x 2^e, by steps that neither overflow nor lose a normal number's bits. */
static inline float scaled(float x, int e) {
    for (; e > 0; e--)
        x *= 2.0f;
    for (; e < 0; e++)
        x *= 0.5f;
    return x;
}

/* (least + a unit) 2^e, e from `low` on. The order of draws is fixed, whatever the compiler. */
static inline float spread_out(float least, int low, uint64_t n_exponents) {
    const float x = least + unit();
    return scaled(x, low + (int)below(n_exponents));
}

static inline float sign(float x) {
    return one_in(2) ? x : -x;
}

static inline void *make(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    if (p == NULL) {
        fputs("out of memory\n", stderr);
        exit(2);
    }
    return p;
}

/* Runs the case that EFFACE_TEST_SEED names, and then says 0; or as many as EFFACE_TEST_CASES says,
 * else `n_default`, from the seed `first` on, and says how many. */
static inline unsigned long run_cases(uint64_t first, unsigned long n_default,
                                      void (*run_one)(uint64_t seed)) {
    const char *const one = getenv("EFFACE_TEST_SEED"), *const many = getenv("EFFACE_TEST_CASES");
    if (one != NULL) {
        run_one(strtoull(one, NULL, 0));
        return 0;
    }
    const unsigned long n = many != NULL ? strtoul(many, NULL, 0) : n_default;
    for (unsigned long i = 0; i < n; i++)
        run_one(first + i);
    return n;
}

#endif
