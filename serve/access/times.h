/* Times: what people write, "30d", "12h", a date, or a time (UTC). */
#ifndef SV_TIMES_H
#define SV_TIMES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Seconds since 1970. A number with s, m, h, d or w counts from `now`; a date is its first moment.
 * False if the text is none of these. */
bool sv_expiry_read(const char *text, int64_t now, int64_t *out);

/* A time as RFC 3339 has it, in UTC: "2027-01-31T00:00:00Z". And the time now. */
void sv_time_write(int64_t time, char text[32]);
void sv_time_now(char text[32]);
/* The same as JSON; null for 0. */
json_t *sv_json_time(int64_t time);

#endif
