/* Reading and writing when a token ends. */
#include "access/times.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LAST_TIME INT64_C(253402300799) /* the end of the year 9999 */

/* A number of exactly n digits at `text`. */
static bool read_digits(const char *text, int n, int *out) {
    *out = 0;
    for (int i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *out = 10 * *out + (text[i] - '0');
    }
    return true;
}

static bool read_duration(const char *text, int64_t now, int64_t *out) {
    int64_t n = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9'; c++) {
        n = 10 * n + (*c - '0');
        if (n > LAST_TIME)
            return false;
    }
    if (c == text || c[0] == 0 || c[1] != 0)
        return false;
    const int64_t unit = *c == 's'   ? 1
                         : *c == 'm' ? 60
                         : *c == 'h' ? 3600
                         : *c == 'd' ? 86400
                         : *c == 'w' ? 604800
                                     : 0;
    if (unit == 0 || n == 0 || n > (LAST_TIME - now) / unit)
        return false;
    *out = now + n * unit;
    return true;
}

bool sv_expiry_read(const char *text, int64_t now, int64_t *out) {
    struct tm utc;
    int year, month, day, hour = 0, minute = 0, second = 0;
    if (read_duration(text, now, out))
        return true;
    const size_t n = strlen(text);
    if (n < 10 || !read_digits(text, 4, &year) || text[4] != '-' ||
        !read_digits(text + 5, 2, &month) || text[7] != '-' || !read_digits(text + 8, 2, &day))
        return false;
    if (n > 10) {
        const char *const time = text + 11;
        if ((text[10] != 'T' && text[10] != ' ') || n < 16 || !read_digits(time, 2, &hour) ||
            time[2] != ':' || !read_digits(time + 3, 2, &minute))
            return false;
        const char *rest = time + 5;
        if (*rest == ':') {
            if (!read_digits(rest + 1, 2, &second))
                return false;
            rest += 3;
        }
        if (strcmp(rest, "Z") != 0 && rest[0] != 0)
            return false;
    }
    memset(&utc, 0, sizeof utc);
    utc.tm_year = year - 1900;
    utc.tm_mon = month - 1;
    utc.tm_mday = day;
    utc.tm_hour = hour;
    utc.tm_min = minute;
    utc.tm_sec = second;
    const time_t seconds = timegm(&utc);
    /* timegm takes the 31st of June for the 1st of July. */
    if (utc.tm_year != year - 1900 || utc.tm_mon != month - 1 || utc.tm_mday != day ||
        utc.tm_hour != hour || utc.tm_min != minute || utc.tm_sec != second || seconds <= 0)
        return false;
    *out = (int64_t)seconds;
    return true;
}

void sv_time_write(int64_t time, char text[32]) {
    const time_t seconds = (time_t)time;
    struct tm utc;
    text[0] = 0;
    if (gmtime_r(&seconds, &utc) != NULL)
        (void)strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

void sv_time_now(char text[32]) {
    sv_time_write((int64_t)time(NULL), text);
}

json_t *sv_json_time(int64_t time) {
    char text[32];
    sv_time_write(time, text);
    return time != 0 ? json_string(text) : json_null();
}
