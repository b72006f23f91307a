/* Dates and times of ISO 8601 in text, as numbers. */
#ifndef EF_DATES_H
#define EF_DATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a date that fills text[0 .. n_bytes), such as 2024-02-29, of the years 0001 to 9999 in the
 * calendar of today: days since 1 January 1970. *days is written for true only. */
bool ef_date_read(const char *text, size_t n_bytes, int64_t *days);

/* Reads a date, or a date and a time with a T or a space between them: hours and minutes, and
 * perhaps seconds with up to nine digits behind a point; and perhaps a Z or an offset such as
 * +02:00, +0200 or +02. Seconds since 1 January 1970, in UTC; without an offset, as if there were
 * none. */
bool ef_time_read(const char *text, size_t n_bytes, double *seconds);

/* Writes the last n digits of a number that is not negative, and a zero byte behind them, which it
 * points to. */
char *ef_digits_write(char *to, int64_t value, int n);

/* Writes the date of a day; false if it is not of these years. */
#define EF_DATE_BYTES 16
bool ef_date_write(int64_t days, char text[EF_DATE_BYTES]);

#endif
