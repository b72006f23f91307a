/* A line on the terminal while something takes long.
 *
 * The library does not report from within a call, so the line has what is known from outside: what
 * is being done, which step of how many, and the time. A timer's signal draws it; the handler only
 * formats numbers by hand and writes, which is allowed in a handler. */
#include "cli.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { BAR_CELLS = 20 };

static volatile sig_atomic_t seconds;
static volatile sig_atomic_t drawn;
static bool running;
static char line[256];
static size_t line_bytes;

double cli_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void draw(int signal_number) {
    (void)signal_number;
    char text[sizeof line + 32], digits[12];
    size_t n = 0, n_digits = 0;
    const int now = ++seconds;
    for (int rest = now; rest > 0; rest /= 10)
        digits[n_digits++] = (char)('0' + rest % 10);
    text[n++] = '\r';
    memcpy(text + n, line, line_bytes);
    n += line_bytes;
    text[n++] = ' ';
    while (n_digits > 0)
        text[n++] = digits[--n_digits];
    memcpy(text + n, " s\033[K", 5);
    n += 5;
    drawn = 1;
    if (write(STDERR_FILENO, text, n) < 0)
        return;
}

static void set_timer(time_t interval) {
    const struct itimerval timer = {{interval, 0}, {interval, 0}};
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

void cli_progress_begin(const char *what, unsigned step, unsigned n_steps) {
    if (isatty(STDERR_FILENO) == 0)
        return;
    char bar[BAR_CELLS + 16] = "";
    if (n_steps > 1) {
        const unsigned full = BAR_CELLS * step / n_steps;
        bar[0] = '[';
        for (unsigned i = 0; i < BAR_CELLS; i++)
            bar[1 + i] = i < full ? '#' : '.';
        bar[1 + BAR_CELLS] = ']';
        bar[2 + BAR_CELLS] = ' ';
    }
    snprintf(line, sizeof line, "%s%.150s ...", bar, what);
    line_bytes = strlen(line);
    seconds = 0;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = draw;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGALRM, &action, NULL) != 0)
        return;
    running = true;
    set_timer(1);
}

void cli_progress_end(void) {
    if (!running)
        return;
    set_timer(0);
    running = false;
    if (drawn != 0)
        fputs("\r\033[K", stderr);
    drawn = 0;
}
