/* efface-bench: what its commands share. They see the public API only. */
#ifndef BENCH_H
#define BENCH_H

#include "efface/efface.h"

#include <stdbool.h>
#include <stddef.h>

/* Exit codes: done, failed, wrong usage. */
enum { BENCH_DONE = 0, BENCH_FAILED = 1, BENCH_USAGE = 2 };

/* A command: its arguments begin after its name. */
typedef int (*bench_command)(int n_arguments, char **arguments);
int bench_train(int n_arguments, char **arguments);
int bench_data(int n_arguments, char **arguments);
int bench_demo(int n_arguments, char **arguments);

/* An option of a command. `name` is "--name" or "-n". What `value` points to depends on the kind;
 * a flag takes no value. */
typedef enum bench_kind {
    BENCH_TEXT,   /* const char * */
    BENCH_COUNT,  /* uint32_t, at least 1 */
    BENCH_WHOLE,  /* uint32_t, 0 allowed */
    BENCH_NUMBER, /* uint64_t */
    BENCH_REAL,   /* double */
    BENCH_METHOD, /* efface_method */
    BENCH_SCALE,  /* efface_scale */
    BENCH_FLAG    /* bool */
} bench_kind;

typedef struct bench_option {
    const char *name;
    bench_kind kind;
    void *value;
} bench_option;

/* Reads the arguments into the options, which end with a NULL name. False, after a message on
 * standard error, if they do not fit. */
bool bench_parse(const bench_option *options, int n_arguments, char **arguments);

/* The data named by `name`: the word gaussian for the generated set, else a file. NULL, after a
 * message on standard error, if it cannot be had. */
efface_data *bench_open(const char *name);

const char *bench_method_name(efface_method method);

/* Says on standard error what went wrong; returns BENCH_FAILED. */
int bench_fail(const efface_error *error);

/* Warns on standard error of columns that the grid is too coarse for. */
void bench_warn_coarse(const efface_kmeans *model, const efface_data *data);

/* Seconds on a clock that only goes forward. */
double bench_now(void);

/* The median of n values, which are sorted by it. */
double bench_median(double *values, size_t n);

/* The most memory this process has held. */
uint64_t bench_peak_rss_bytes(void);

/* The digest of a model as hexadecimal text. False if it cannot be had. */
#define BENCH_HEX_BYTES (2 * EFFACE_DIGEST_BYTES + 1)
bool bench_digest_hex(const efface_kmeans *model, char hex[BENCH_HEX_BYTES]);

#endif
