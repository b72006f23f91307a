/* How many requests a token may make: a bucket for each name, which fills at a rate and holds what
 * comes in one second. */
#ifndef SV_RATES_H
#define SV_RATES_H

#include <stdbool.h>

typedef struct sv_rates sv_rates;

/* `rate` is requests a second, above 0. False if there is no memory. */
bool sv_rates_open(double rate, sv_rates **out);
void sv_rates_free(sv_rates *rates);

/* Takes a request from the bucket of a name at that time (sv_now); 0 if there is one, else the
 * seconds until there is, at least 1. */
int sv_rates_take(sv_rates *rates, const char *name, double now);

#endif
