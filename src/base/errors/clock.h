/* Time that has passed, for reports: no result depends on it. */
#ifndef EF_CLOCK_H
#define EF_CLOCK_H

/* Seconds since some moment in the past, never going back. */
double ef_clock_seconds(void);

#endif
