/* How many requests a token may make: a bucket for each name, which fills at a rate and holds what
 * comes in one second; and how many of them may be under way at a time. */
#ifndef SV_RATES_H
#define SV_RATES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sv_rates sv_rates;

/* `rate` is requests a second; 0: no limit. False if there is no memory. */
bool sv_rates_open(double rate, uint32_t max_under_way, sv_rates **out);
void sv_rates_free(sv_rates *rates);

/* Takes a request from the bucket of a name at that time (sv_now); 0 if there is one, which is
 * under way from now on, else the seconds until there is, at least 1. */
int sv_rates_take(sv_rates *rates, const char *name, double now);

/* A request that was taken has ended. */
void sv_rates_give_back(sv_rates *rates, const char *name);

#endif
