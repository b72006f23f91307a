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
int bench_online(int n_arguments, char **arguments);
int bench_roofline(int n_arguments, char **arguments);
int bench_data(int n_arguments, char **arguments);
int bench_demo(int n_arguments, char **arguments);

/* In which order rows are asked to be forgotten (bench_online_order.c). */
typedef enum bench_order {
    BENCH_ORDER_UNIFORM = 0, /* drawn without replacement */
    BENCH_ORDER_SEEDS = 1,   /* always a row that is a seed of the model */
    BENCH_ORDER_SAMPLE = 2,  /* always a row of pyramid's sample */
    BENCH_ORDER_CLUSTER = 3, /* one cluster until it is empty, then another */
    BENCH_ORDER_OLDEST = 4,  /* ascending ids */
    BENCH_ORDER_EDGES = 5    /* always a row that alone has an extreme value of a column */
} bench_order;

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
    BENCH_ORDER,  /* bench_order */
    BENCH_LIST,   /* bench_list: whole numbers with commas between them */
    BENCH_FLAG,   /* bool */
    BENCH_SWITCH  /* int, set to 1; takes no value either */
} bench_kind;

#define BENCH_MAX_LISTED 32

typedef struct bench_list {
    uint32_t values[BENCH_MAX_LISTED];
    uint32_t n;
} bench_list;

typedef struct bench_option {
    const char *name;
    bench_kind kind;
    void *value;
} bench_option;

/* The options of a fit, of which `p` are the parameters, but for the shape of a tree. */
/* clang-format off */
#define BENCH_FIT_OPTIONS(p)                    \
    {"-k", BENCH_COUNT, &(p).n_clusters},       \
    {"--method", BENCH_METHOD, &(p).method},    \
    {"--scale", BENCH_SCALE, &(p).scale},       \
    {"--iters", BENCH_WHOLE, &(p).iterations},  \
    {"--seed", BENCH_NUMBER, &(p).common.seed},        \
    {"--threads", BENCH_COUNT, &(p).common.n_threads}, \
    {"--epsilon", BENCH_REAL, &(p).epsilon},    \
    {"--gamma", BENCH_REAL, &(p).quantized.gamma},        \
    {"--rate", BENCH_REAL, &(p).pyramid.rate},          \
    {"--passes", BENCH_COUNT, &(p).pyramid.passes},     \
    {"--starts", BENCH_COUNT, &(p).pyramid.starts},     \
    {"--candidates", BENCH_WHOLE, &(p).candidates}, \
    {"--leaf-method", BENCH_METHOD, &(p).tree.leaf_method}, \
    {"--node-method", BENCH_METHOD, &(p).tree.node_method}, \
    {"--weigh", BENCH_SWITCH, &(p).tree.weigh_centroids}
/* clang-format on */

/* Reads the arguments into the options, which end with a NULL name. False, after a message on
 * standard error, if they do not fit. */
bool bench_parse(const bench_option *options, int n_arguments, char **arguments);

/* A generated set, and the shape it has unless another one is asked for. */
typedef struct bench_shape {
    uint32_t n_clusters, n_columns;
    size_t n_rows; /* gaussian: of each cluster; the others: in all */
} bench_shape;

typedef struct bench_set {
    const char *name;
    bench_shape shape;
    efface_status (*make)(const bench_shape *shape, uint64_t seed, efface_data **out,
                          efface_error *error);
} bench_set;

/* The generated set with the name, which has n_bytes bytes; NULL if there is none. */
const bench_set *bench_find_set(const char *name, size_t n_bytes);

/* The data named by `name`: a file; or the name of a generated set, as it is or with a shape:
 * gaussian:K,D,ROWS. `labels` is a file too, or NULL. NULL, after a message on standard error, if
 * it cannot be had. */
efface_data *bench_open(const char *name, const char *labels);

/* Whether rows opened so have labels: generated ones always have. */
bool bench_has_labels(const char *name, const char *labels);

/* The words of the command line for these. */
const char *bench_method_name(efface_method method);
const char *bench_scale_name(efface_scale scale);
const char *bench_order_name(bench_order order);

/* Says on standard error what went wrong; returns BENCH_FAILED. */
int bench_fail(const efface_error *error);

/* Sets the error to a lack of memory; returns its status. */
efface_status bench_fail_memory(efface_error *error);

/* efface_kmeans_fit, and the seconds it took. */
efface_status bench_timed_fit(const efface_data *data, const efface_kmeans_params *params,
                              efface_model **model, double *seconds, efface_error *error);

/* Warns on standard error of columns that the grid is too coarse for. */
void bench_warn_coarse(const efface_model *model, const efface_data *data);

/* Seconds on a clock that only goes forward. */
double bench_now(void);

/* The median of n values, n > 0, which are sorted by it. */
double bench_median(double *values, size_t n);

/* Random numbers for choosing rows, on purpose not the library's: which rows go must have nothing
 * to do with the randomness of the model. The same seed and stream give the same numbers. */
typedef struct bench_random {
    uint64_t state;
} bench_random;

bench_random bench_random_start(uint64_t seed, uint64_t stream);
uint64_t bench_random_below(bench_random *random, uint64_t limit); /* limit > 0 */
void bench_shuffle(bench_random *random, uint64_t *ids, size_t n);

/* What this program was compiled by, such as "gcc 12.2.0". */
const char *bench_compiler(void);

/* The most memory this process has held. */
uint64_t bench_peak_rss_bytes(void);

/* Whether a person is watching standard error. */
bool bench_is_watched(void);

/* How well the clusters of a model agree with the labels of the rows that have one. */
efface_status bench_nmi(const efface_model *model, const efface_data *data, double *nmi,
                        efface_error *error);

/* The same of the clusters `found`, one for each position, which are overwritten. */
efface_status bench_nmi_of(uint32_t *found, const efface_data *data, double *nmi,
                           efface_error *error);

/* Writes a number of a JSON object to standard output, null for one that is not there; and a field
 * with its name after a comma. */
void bench_put_real(double value);
void bench_put_field(const char *name, double value);

/* The digest of a model as hexadecimal text. False if it cannot be had. */
#define BENCH_HEX_BYTES (2 * EFFACE_DIGEST_BYTES + 1)
bool bench_digest_hex(const efface_model *model, char hex[BENCH_HEX_BYTES]);

#endif
