/* Limits of requests (rates.h). */
#include "access/rates.h"

#include "access/access.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LONG_READING 0.02 /* seconds; what takes less is not counted */
#define REST 3.0

typedef struct bucket {
    char name[SV_TOKEN_NAME_BYTES];
    double left, filled; /* requests, and when that was */
    uint32_t n_under_way;
    size_t n_bytes;
    double reads_much; /* until then */
} bucket;

struct sv_rates {
    pthread_mutex_t lock;
    double rate, most;
    uint32_t max_under_way;
    size_t max_bytes, n_bytes;
    bucket *buckets;
    size_t n_buckets;
};

bool sv_rates_open(double rate, uint32_t max_under_way, size_t max_bytes, sv_rates **out) {
    sv_rates *const r = calloc(1, sizeof *r);
    if (r == NULL)
        return false;
    (void)pthread_mutex_init(&r->lock, NULL);
    r->rate = rate;
    r->most = rate > 1 ? rate : 1;
    r->max_under_way = max_under_way;
    r->max_bytes = max_bytes;
    *out = r;
    return true;
}

void sv_rates_free(sv_rates *r) {
    if (r == NULL)
        return;
    (void)pthread_mutex_destroy(&r->lock);
    free(r->buckets);
    free(r);
}

/* There are as many buckets as names of tokens were used since the start. */
static bucket *find_bucket(sv_rates *r, const char *name, double now) {
    for (size_t i = 0; i < r->n_buckets; i++)
        if (strcmp(r->buckets[i].name, name) == 0)
            return &r->buckets[i];
    bucket *const more = realloc(r->buckets, (r->n_buckets + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    r->buckets = more;
    bucket *const b = &more[r->n_buckets++];
    *b = (bucket){.left = r->most, .filled = now};
    strncpy(b->name, name, sizeof b->name - 1);
    return b;
}

/* The seconds until the bucket has a request; 0: it had one, which was taken. */
static int take_from_bucket(const sv_rates *r, bucket *b, double now) {
    if (r->rate == 0)
        return 0;
    const double left = b->left + (now - b->filled) * r->rate;
    b->left = left < r->most ? left : r->most;
    b->filled = now;
    if (b->left >= 1) {
        b->left -= 1;
        return 0;
    }
    const double seconds = ceil((1 - b->left) / r->rate);
    return seconds > 3600 ? 3600 : (seconds > 1 ? (int)seconds : 1);
}

int sv_rates_take(sv_rates *r, const char *name, double now) {
    int wait = 1;
    pthread_mutex_lock(&r->lock);
    bucket *const b = find_bucket(r, name, now);
    if (b != NULL && b->n_under_way < r->max_under_way) {
        wait = take_from_bucket(r, b, now);
        b->n_under_way += wait == 0;
    }
    pthread_mutex_unlock(&r->lock);
    return wait;
}

void sv_rates_give_back(sv_rates *r, const char *name) {
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_buckets; i++)
        if (strcmp(r->buckets[i].name, name) == 0)
            r->buckets[i].n_under_way--;
    pthread_mutex_unlock(&r->lock);
}

bool sv_rates_hold(sv_rates *r, const char *name, size_t n_bytes, bool anyhow) {
    pthread_mutex_lock(&r->lock);
    bucket *const b = find_bucket(r, name, 0);
    const bool fits = b != NULL && n_bytes <= r->max_bytes &&
                      (anyhow || (b->n_bytes + n_bytes <= r->max_bytes / 4 &&
                                  r->n_bytes + n_bytes <= r->max_bytes));
    if (fits) {
        b->n_bytes += n_bytes;
        r->n_bytes += n_bytes;
    }
    pthread_mutex_unlock(&r->lock);
    return fits;
}

void sv_rates_let_go(sv_rates *r, const char *name, size_t n_bytes) {
    pthread_mutex_lock(&r->lock);
    bucket *const b = find_bucket(r, name, 0);
    if (b != NULL)
        b->n_bytes -= n_bytes;
    r->n_bytes -= n_bytes;
    pthread_mutex_unlock(&r->lock);
}

void sv_rates_note_reading(sv_rates *r, const char *name, double now, double seconds) {
    if (seconds < LONG_READING)
        return;
    pthread_mutex_lock(&r->lock);
    bucket *const b = find_bucket(r, name, now);
    if (b != NULL)
        b->reads_much = (b->reads_much > now ? b->reads_much : now) + REST * seconds;
    pthread_mutex_unlock(&r->lock);
}

bool sv_rates_reads_much(sv_rates *r, const char *name, double now) {
    pthread_mutex_lock(&r->lock);
    const bucket *const b = find_bucket(r, name, now);
    const bool much = b != NULL && now < b->reads_much;
    pthread_mutex_unlock(&r->lock);
    return much;
}
