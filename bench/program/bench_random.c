/* efface-bench: random numbers for choosing rows (splitmix64, whose whole state is a counter). */
#include "bench.h"

static uint64_t next(bench_random *random) {
    uint64_t bits = random->state += UINT64_C(0x9E3779B97F4A7C15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
    return bits ^ bits >> 31;
}

bench_random bench_random_start(uint64_t seed, uint64_t stream) {
    /* Mixed, so that neighbouring seeds and streams are no shifted copies of each other. */
    bench_random random = {seed};
    random.state = next(&random) ^ stream;
    random.state = next(&random);
    return random;
}

uint64_t bench_random_below(bench_random *random, uint64_t limit) {
    const uint64_t whole = UINT64_MAX - UINT64_MAX % limit; /* the multiples of limit below it */
    uint64_t bits;
    do
        bits = next(random);
    while (bits >= whole);
    return bits % limit;
}

void bench_shuffle(bench_random *random, uint64_t *ids, size_t n) {
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)bench_random_below(random, i);
        const uint64_t id = ids[i - 1];
        ids[i - 1] = ids[j];
        ids[j] = id;
    }
}
