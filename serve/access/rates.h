/* What a token may have: requests, from a bucket for each name, which fills at a rate and holds what
 * comes in one second; requests that are under way at a time; memory for their bodies and answers, of
 * which a token has a quarter at most; and time in which it reads stores. */
#ifndef SV_RATES_H
#define SV_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sv_rates sv_rates;

/* `rate` is requests a second; 0: no limit. `max_bytes` is the memory of all. False if there is no
 * memory. */
bool sv_rates_open(double rate, uint32_t max_under_way, size_t max_bytes, sv_rates **out);
void sv_rates_free(sv_rates *rates);

/* Takes a request from the bucket of a name at that time (sv_now); 0 if there is one, which is
 * under way from now on, else the seconds until there is, at least 1. */
int sv_rates_take(sv_rates *rates, const char *name, double now);

/* A request that was taken has ended. */
void sv_rates_give_back(sv_rates *rates, const char *name);

/* Takes memory for a name; false if it has too much, or all have. What must be kept is taken
 * `anyhow`. */
bool sv_rates_hold(sv_rates *rates, const char *name, size_t n_bytes, bool anyhow);
void sv_rates_let_go(sv_rates *rates, const char *name, size_t n_bytes);

/* Notes that a store was read for a name, for so many seconds until now. A token that has read for
 * long reads with others, one at a time (rooms.h), until three times as long have passed. */
void sv_rates_note_reading(sv_rates *rates, const char *name, double now, double seconds);
bool sv_rates_reads_much(sv_rates *rates, const char *name, double now);

#endif
