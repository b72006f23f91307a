/* Dates and times of ISO 8601. Leap seconds are refused: the second 60 has no number. */
#include "data/texts/dates.h"

/* What is left of a text. */
typedef struct rest_of_text {
    const char *at, *end;
} rest_of_text;

static bool take_digits(rest_of_text *r, int n, int64_t *value) {
    *value = 0;
    for (; n > 0; n--, r->at++) {
        if (r->at == r->end || *r->at < '0' || *r->at > '9')
            return false;
        *value = 10 * *value + (*r->at - '0');
    }
    return true;
}

static bool take(rest_of_text *r, char c) {
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool is_leap_year(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t days_of_month(int64_t year, int64_t month) {
    static const int64_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap_year(year));
}

/* The days before a year, from the year 1 on. */
static int64_t days_before(int64_t year) {
    const int64_t n = year - 1;
    return 365 * n + n / 4 - n / 100 + n / 400;
}

static bool take_date(rest_of_text *r, int64_t *days) {
    int64_t year, month, day;
    if (!take_digits(r, 4, &year) || !take(r, '-') || !take_digits(r, 2, &month) || !take(r, '-') ||
        !take_digits(r, 2, &day))
        return false;
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
        return false;
    *days = days_before(year) - days_before(1970) + day - 1;
    for (int64_t m = 1; m < month; m++)
        *days += days_of_month(year, m);
    return true;
}

/* Seconds of a day, and nanoseconds. */
static bool take_clock(rest_of_text *r, int64_t *seconds, int64_t *nanoseconds) {
    int64_t hour, minute, second = 0, digit;
    *nanoseconds = 0;
    if (!take_digits(r, 2, &hour) || !take(r, ':') || !take_digits(r, 2, &minute))
        return false;
    if (take(r, ':')) {
        if (!take_digits(r, 2, &second))
            return false;
        int64_t unit = 1000000000;
        if (take(r, '.')) {
            while (unit > 1 && take_digits(r, 1, &digit)) {
                unit /= 10;
                *nanoseconds += digit * unit;
            }
            if (unit == 1000000000)
                return false;
        }
    }
    *seconds = 3600 * hour + 60 * minute + second;
    return hour < 24 && minute < 60 && second < 60;
}

/* What a zone is ahead of UTC, in seconds. */
static bool take_zone(rest_of_text *r, int64_t *ahead) {
    int64_t hours, minutes = 0;
    *ahead = 0;
    if (r->at == r->end || take(r, 'Z'))
        return true;
    const bool behind = *r->at == '-';
    if (!take(r, '+') && !take(r, '-'))
        return false;
    if (!take_digits(r, 2, &hours))
        return false;
    if (r->at != r->end) {
        (void)take(r, ':');
        if (!take_digits(r, 2, &minutes))
            return false;
    }
    *ahead = (behind ? -1 : 1) * (3600 * hours + 60 * minutes);
    return hours < 24 && minutes < 60;
}

bool ef_date_read(const char *text, size_t n_bytes, int64_t *days) {
    rest_of_text r = {text, text + n_bytes};
    int64_t found;
    if (!take_date(&r, &found) || r.at != r.end)
        return false;
    *days = found;
    return true;
}

bool ef_time_read(const char *text, size_t n_bytes, double *seconds) {
    rest_of_text r = {text, text + n_bytes};
    int64_t days, of_day = 0, nanoseconds = 0, ahead = 0;
    if (!take_date(&r, &days))
        return false;
    if (r.at != r.end && ((!take(&r, 'T') && !take(&r, ' ')) ||
                          !take_clock(&r, &of_day, &nanoseconds) || !take_zone(&r, &ahead)))
        return false;
    if (r.at != r.end)
        return false;
    *seconds = (double)(days * 86400 + of_day - ahead) + (double)nanoseconds / 1e9;
    return true;
}

char *ef_digits_write(char *to, int64_t value, int n) {
    for (int i = n; i > 0; i--, value /= 10)
        to[i - 1] = (char)('0' + value % 10);
    to[n] = '\0';
    return to + n;
}

bool ef_date_write(int64_t days, char text[EF_DATE_BYTES]) {
    int64_t left = days + days_before(1970), year, month = 1;
    if (left < 0 || left >= days_before(10000))
        return false;
    year = left / 366 + 1; /* or an earlier one than it is */
    while (left >= days_before(year + 1))
        year++;
    left -= days_before(year);
    for (; left >= days_of_month(year, month); month++)
        left -= days_of_month(year, month);
    text = ef_digits_write(text, year, 4);
    *text++ = '-';
    text = ef_digits_write(text, month, 2);
    *text++ = '-';
    (void)ef_digits_write(text, left + 1, 2);
    return true;
}
