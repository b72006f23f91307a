/* A process that works on a store, and may be made to die within a write. */
#define _GNU_SOURCE
#include "crash/worker.h"

#include "store/scenes/plain_calls.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- words */

/* One write, shorter than PIPE_BUF: the whole word is in the pipe or nothing of it. */
static void say(int pipe, char kind, const char *text) {
    char line[LEDGER_LINE + 4];
    const int n = snprintf(line, sizeof line, "%c%.*s\n", kind, LEDGER_LINE - 1, text);
    if (write(pipe, line, (size_t)n) != n)
        _exit(3);
}

word worker_hear(int says) {
    word w = {.kind = WORD_NONE};
    char kind, next;
    size_t n = 0;
    if (read(says, &kind, 1) != 1)
        return w;
    while (read(says, &next, 1) == 1 && next != '\n')
        if (n + 1 < sizeof w.text)
            w.text[n++] = next;
    switch (kind) {
    case 'a': w.kind = step_read(&w.asked, w.text) ? WORD_ASK : WORD_FAILED; break;
    case 'd': w.kind = WORD_DONE; break;
    case 'b': w.kind = WORD_BUSY; break;
    case 'p': w.kind = WORD_PAUSED; break;
    default: w.kind = WORD_FAILED; break;
    }
    return w;
}

/* ---------------------------------------------------------------- within SQLite's writes */

static struct {
    const worker *worker;
    int says;
    unsigned n_writes;
} here;

static bool is_the_moment(void) {
    return here.worker->end != WORKER_GOES_ON && ++here.n_writes == here.worker->at_write;
}

static void die(void) {
    (void)kill(getpid(), SIGKILL);
}

static void pause_here(void) {
    char byte;
    say(here.says, 'p', "");
    if (read(here.worker->go_on, &byte, 1) != 1)
        _exit(3);
}

static ssize_t hooked_pwrite(int file, const void *bytes, size_t n_bytes, off_t offset) {
    if (is_the_moment()) {
        if (here.worker->end == WORKER_PAUSES)
            pause_here();
        else if (here.worker->end == WORKER_DIES || pwrite(file, bytes, n_bytes / 2, offset) >= 0)
            die();
    }
    return pwrite(file, bytes, n_bytes, offset);
}

static ssize_t hooked_write(int file, const void *bytes, size_t n_bytes) {
    if (is_the_moment() && here.worker->end != WORKER_PAUSES)
        die();
    return write(file, bytes, n_bytes);
}

static int hooked_ftruncate(int file, off_t n_bytes) {
    if (is_the_moment() && here.worker->end != WORKER_PAUSES)
        die();
    return ftruncate(file, n_bytes);
}

/* Which of these SQLite calls depends on how it was built. */
static void hook_writes(void) {
    static const struct {
        const char *name;
        sqlite3_syscall_ptr call;
    } calls[] = {{"pwrite", (sqlite3_syscall_ptr)hooked_pwrite},
                 {"pwrite64", (sqlite3_syscall_ptr)hooked_pwrite},
                 {"write", (sqlite3_syscall_ptr)hooked_write},
                 {"ftruncate", (sqlite3_syscall_ptr)hooked_ftruncate}};
    if (sqlite3_initialize() != SQLITE_OK)
        _exit(3);
    sqlite3_vfs *const vfs = sqlite3_vfs_find(NULL);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        (void)vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call);
}

/* ---------------------------------------------------------------- the work */

static int work(const worker *w, int says) {
    ledger l = *w->begins;
    dice d = {w->seed};
    efface_store *store = NULL;
    efface_error error = {.message = ""};
    efface_store_options options =
        plain_options(w->n_requests != 0 ? EFFACE_ACCESS_WRITE : EFFACE_ACCESS_READ);
    options.resident = w->seed % 2 != 0;
    efface_status status = efface_store_open(w->path, &options, &store, &error);
    for (unsigned i = 0; status == EFFACE_OK && i < w->n_requests; i++) {
        const step s = step_draw(&l, &d, w->lane, w->n_lanes);
        char line[LEDGER_LINE];
        step_write(&s, line);
        say(says, 'a', line);
        status = step_do(&s, store, &error);
        if (status == EFFACE_OK) {
            say(says, 'd', "");
            step_apply(&s, &l);
        } else if (status == EFFACE_E_BUSY) {
            say(says, 'b', "");
            status = EFFACE_OK;
        }
    }
    if (status != EFFACE_OK)
        say(says, 'f', error.message);
    efface_store_close(store);
    return status == EFFACE_OK ? 0 : 1;
}

pid_t worker_start(const worker *w, int *says) {
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    const pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        here.worker = w;
        here.says = ends[1];
        hook_writes();
        _exit(work(w, ends[1]));
    }
    (void)close(ends[1]);
    if (pid < 0)
        (void)close(ends[0]);
    else
        *says = ends[0];
    return pid;
}
