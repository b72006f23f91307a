/* A line on the terminal while something takes long, and what Ctrl-C does to it.
 *
 * The library tells how much is done, on the thread that called it, and is told whether to go on.
 * That may be every few microseconds, so it only leaves a number here. A timer's signal draws the
 * line; the handler formats by hand, looks at a clock and writes, which is allowed in a handler. */
#include "output/progress.h"

#include "ranks.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    BAR_CELLS = 20,
    WHOLE = 10000,    /* parts are counted in ten-thousandths */
    ENOUGH = 100,     /* of them, before anything is said of the time left */
    FIRST_MS = 1000,  /* when the line appears, */
    NEXT_MS = 250,    /* and how often it is drawn again */
    MAX_COLUMNS = 200 /* of a terminal that are used */
};

/* What the library told last: of which phase, and how much of it is done, of WHOLE, or -1 if that is
 * not known. The time left of a phase is estimated from the first part of it that was told, and the
 * last. */
static atomic_int phase_now, done, first_done;
static atomic_llong first_ms, last_ms;

static atomic_int drawn;
static bool active, running;
static struct timespec begun;
static char what_now[100];
static size_t width;

static struct timespec clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now;
}

static long long ms_since_begin(void) {
    const struct timespec now = clock_now();
    return (long long)(now.tv_sec - begun.tv_sec) * 1000 +
           ((long long)now.tv_nsec - (long long)begun.tv_nsec) / 1000000;
}

double cli_now(void) {
    const struct timespec now = clock_now();
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the line */

typedef struct line {
    char text[MAX_COLUMNS + 16];
    size_t n;
} line;

static void put_line(line *l, const char *text) {
    while (*text != '\0' && l->n < width)
        l->text[l->n++] = *text++;
}

static void put_number(line *l, long long value, int min_digits) {
    char digits[24] = "";
    size_t n = sizeof digits - 1;
    do {
        digits[--n] = (char)('0' + value % 10);
        value /= 10;
        min_digits--;
    } while (n > 0 && (value > 0 || min_digits > 0));
    put_line(l, digits + n);
}

/* 0:07, 12:34, 1:02:03. */
static void put_time(line *l, long long seconds) {
    if (seconds >= 3600) {
        put_number(l, seconds / 3600, 1);
        put_line(l, ":");
    }
    put_number(l, seconds / 60 % 60, seconds >= 3600 ? 2 : 1);
    put_line(l, ":");
    put_number(l, seconds % 60, 2);
}

/* How many seconds the rest of the phase may take, or -1 if nobody knows. It counts down while
 * nothing is told, so that work that stands still makes no promise that grows. */
static long long seconds_left(long long ms) {
    const int part = atomic_load(&done), since = part - atomic_load(&first_done);
    const long long last = atomic_load(&last_ms), took = last - atomic_load(&first_ms);
    if (part < 0 || since < ENOUGH)
        return -1;
    const long long left = took * (WHOLE - part) / since - (ms - last);
    return left >= 0 ? (left + 500) / 1000 : -1;
}

static void draw_line(int signal_number) {
    (void)signal_number;
    const int kept_errno = errno;
    const long long ms = ms_since_begin(), left = seconds_left(ms);
    const int part = atomic_load(&done);
    const char *const phase = efface_phase_name((efface_phase)atomic_load(&phase_now));
    line l = {.n = 0};
    if (part >= 0) {
        put_line(&l, "[");
        for (int i = 0; i < BAR_CELLS; i++)
            put_line(&l, i * WHOLE < part * BAR_CELLS ? "#" : ".");
        put_line(&l, "] ");
        put_number(&l, part * 100LL / WHOLE, 1);
        put_line(&l, " % ");
    }
    put_line(&l, what_now);
    if (phase[0] != '\0' && strcmp(phase, what_now) != 0) {
        put_line(&l, ": ");
        put_line(&l, phase);
    }
    put_line(&l, ", ");
    put_time(&l, ms / 1000);
    if (left >= 0) {
        put_line(&l, ", ");
        put_time(&l, left);
        put_line(&l, " left");
    }
    char text[sizeof l.text + 8];
    text[0] = '\r';
    memcpy(text + 1, l.text, l.n);
    memcpy(text + 1 + l.n, "\033[K", 3);
    atomic_store(&drawn, 1);
    const ssize_t written = write(STDERR_FILENO, text, l.n + 4);
    (void)written; /* a terminal that is gone needs no line */
    errno = kept_errno;
}

static void set_timer(long long first, long long next) {
    const struct itimerval timer = {
        .it_interval = {next / 1000, next % 1000 * 1000},
        .it_value = {first / 1000, first % 1000 * 1000},
    };
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

static size_t terminal_width(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 79;
    return size.ws_col > MAX_COLUMNS ? MAX_COLUMNS : size.ws_col - 1u;
}

/* ---- interruption */

static volatile sig_atomic_t interrupted;
static bool catching;
static const int caught[] = {SIGINT, SIGTERM};
static struct sigaction before[sizeof caught / sizeof caught[0]];

static void note_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

/* The first signal asks for an orderly end, the second ends the program. What is ignored, as in the
 * background of a script, stays so. */
static void catch_signals(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note_interrupt;
    action.sa_flags = (int)(SA_RESTART | SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++)
        if (sigaction(caught[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            (void)sigaction(caught[i], &action, NULL);
    catching = true;
}

static void leave_signals(void) {
    for (size_t i = 0; i < sizeof caught / sizeof caught[0] && catching; i++)
        (void)sigaction(caught[i], &before[i], NULL);
    catching = false;
}

/* ---- what commands and the library call */

static void note_part(int phase, double part) {
    if (!active)
        return;
    const int now = part < 0 ? -1 : (int)(WHOLE * (part < 1 ? part : 1));
    const int last = atomic_exchange(&done, now);
    const long long ms = ms_since_begin();
    if (now > last || now < 0)
        atomic_store(&last_ms, ms);
    if (atomic_exchange(&phase_now, phase) != phase || now < last || last < 0) {
        atomic_store(&first_done, now);
        atomic_store(&first_ms, ms);
        atomic_store(&last_ms, ms);
    }
}

int cli_progress_part(void *context, efface_phase phase, double part) {
    (void)context;
    /* The library asks whether to go on; until then a signal ends the program at once. */
    if (active && !catching)
        catch_signals();
    note_part((int)phase, part);
    return interrupted;
}

int cli_file_part(void *context, double part) {
    return cli_progress_part(context, 0, part);
}

static int is_interrupted(void *context) {
    (void)context;
    return interrupted;
}

static void hear_of_fit(void *context, double part) {
    (void)cli_progress_part(context, EFFACE_PHASE_FITTING, part);
}

void cli_watch_fit(efface_params *params) {
    params->interrupted = is_interrupted;
    params->progress = hear_of_fit;
    hear_of_fit(NULL, -1);
}

void cli_progress_begin(const char *what) {
    active = true;
    begun = clock_now();
    note_part(0, -1);
    if (isatty(STDERR_FILENO) == 0 || !cli_is_first())
        return;
    snprintf(what_now, sizeof what_now, "%s", what);
    width = terminal_width();
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = draw_line;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGALRM, &action, NULL) != 0)
        return;
    running = true;
    set_timer(FIRST_MS, NEXT_MS);
}

void cli_progress_end(void) {
    active = false;
    leave_signals();
    if (!running)
        return;
    set_timer(0, 0);
    running = false;
    if (atomic_exchange(&drawn, 0) != 0) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
