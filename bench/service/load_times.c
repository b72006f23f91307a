/* Times of requests, and how fast the disk is. */
#include "load.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t load_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Times are counted in microseconds. Up to 127 each has a step of its own; from there on, 64 steps
 * lead from one power of two to the next. */
static size_t step_of(uint64_t microseconds) {
    unsigned shift = 0;
    while (microseconds >> shift > 127)
        shift++;
    const size_t step = 64 * (size_t)shift + (size_t)(microseconds >> shift);
    return step < LOAD_STEPS ? step : LOAD_STEPS - 1;
}

static double most_of_step(size_t step) {
    const unsigned shift = step < 128 ? 0 : (unsigned)(step / 64 - 1);
    const uint64_t digits = step - 64 * (size_t)shift;
    return (double)(((digits + 1) << shift) - 1);
}

void load_times_add(load_times *times, uint64_t nanoseconds) {
    times->counts[step_of(nanoseconds / 1000)]++;
    times->n++;
    if (nanoseconds > times->most)
        times->most = nanoseconds;
}

void load_times_merge(load_times *times, const load_times *others) {
    for (size_t i = 0; i < LOAD_STEPS; i++)
        times->counts[i] += others->counts[i];
    times->n += others->n;
    if (others->most > times->most)
        times->most = others->most;
}

double load_times_quantile(const load_times *times, double part) {
    const double most = (double)times->most / 1e6;
    uint64_t n = 0;
    for (size_t i = 0; i < LOAD_STEPS; i++) {
        n += times->counts[i];
        if (n > 0 && (double)n >= part * (double)times->n) {
            const double time = most_of_step(i) / 1e3;
            return time < most ? time : most;
        }
    }
    return most;
}

double load_sync_rate(const char *folder, double seconds) {
    char path[4096], block[4096];
    double rate = -1;
    const int length = snprintf(path, sizeof path, "%s/efface-load-XXXXXX", folder);
    if (length < 0 || (size_t)length >= sizeof path)
        return -1;
    const int file = mkstemp(path);
    if (file < 0)
        return -1;
    (void)unlink(path);
    const uint64_t begin = load_now();
    uint64_t n = 0, now = begin;
    while ((double)(now - begin) < seconds * 1e9) {
        memset(block, (int)(n & 255), sizeof block);
        if (pwrite(file, block, sizeof block, 0) != (ssize_t)sizeof block || fdatasync(file) != 0)
            goto out;
        n++;
        now = load_now();
    }
    rate = (double)n * 1e9 / (double)(now - begin);
out:
    (void)close(file);
    return rate;
}
