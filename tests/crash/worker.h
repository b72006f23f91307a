/*
 * A process that works on a store, and says before each request what it will ask and after it what
 * became of it. What it said stays in the pipe when it dies.
 */
#ifndef EF_TESTS_WORKER_H
#define EF_TESTS_WORKER_H

#include "crash/ledger.h"

#include <sys/types.h>

/* What happens at the n-th time that SQLite writes to a file or cuts it, counted from the start of
 * the process. */
typedef enum worker_end {
    WORKER_GOES_ON,
    WORKER_DIES,      /* instead of writing */
    WORKER_DIES_TORN, /* after half of the bytes are written */
    WORKER_PAUSES     /* says so, and goes on when a byte comes */
} worker_end;

typedef struct worker {
    const char *path;
    const ledger *begins; /* what the store holds */
    uint64_t seed;        /* if it is odd, rows and models stay in memory between requests */
    unsigned lane, n_lanes;
    unsigned n_requests; /* 0: it only opens the store and looks */
    worker_end end;
    unsigned at_write;
    int go_on; /* end of a pipe to read from, for WORKER_PAUSES */
} worker;

/* Starts the process; `*says` is the end of a pipe that its words can be read from. */
pid_t worker_start(const worker *w, int *says);

/* A word of the worker: a line without its end, and what kind it is. */
typedef enum word_kind {
    WORD_NONE,   /* the pipe is at its end */
    WORD_ASK,    /* it will ask for the step that follows */
    WORD_DONE,   /* it was acknowledged */
    WORD_BUSY,   /* the store was busy */
    WORD_PAUSED, /* in the middle of a write */
    WORD_FAILED  /* an error that should not be; its text follows */
} word_kind;

typedef struct word {
    word_kind kind;
    step asked;
    char text[LEDGER_LINE];
} word;

/* Waits for the next word. */
word worker_hear(int says);

#endif
