/* When a token ends: "30d", "12h", a date, or a time (UTC). */
#ifndef SV_EXPIRY_H
#define SV_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

/* Seconds since 1970. A number with s, m, h, d or w counts from `now`; a date is its first moment.
 * False if the text is none of these. */
bool sv_expiry_read(const char *text, int64_t now, int64_t *out);

/* As "2027-01-31T00:00:00Z". */
void sv_expiry_write(int64_t time, char text[32]);

#endif
