/*
 * efface-bench roofline: one assignment pass of a fit against the limits of the machine.
 *
 * A pass gives every row to its nearest centroid and moves the rows that changed from sum to sum.
 * It has no function of its own in the API, and those that look alike (predict, labels, loss) copy
 * rows and check bounds on the way. So two fits are timed that differ in nothing but eight passes,
 * and the difference is divided by eight. The method is pyramid, whose passes are those of every
 * method and come after a seeding on a small sample: little else hides the difference. The set is
 * one Gaussian blob, in which k-means does not come to rest that soon.
 *
 * What a pass has to do at least: 2 n d k operations, and to read 4 n d bytes. It cannot take less
 * time than the operations at the rate of the best loop of multiply-adds, nor less than the bytes
 * at the rate of the best loop that reads an array of this size, from whatever cache it fits.
 */
#include "bench_roofline.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_PASSES = 2, LONG_PASSES = 10, PASSES = LONG_PASSES - SHORT_PASSES };

#define SAMPLE_ROWS 16 /* for each cluster, at least: so few that the passes have work left */
#define MIN_REPEATS 3
#define MAX_REPEATS 2000
#define MAX_SHAPES 32

typedef struct shape {
    const char *name; /* or NULL */
    size_t n;
    uint32_t d, k;
} shape;

static const shape standard_shapes[] = {
    {"celltype", 12009, 10, 4},  {"covtype", 15120, 52, 7}, {"mnist", 60000, 784, 10},
    {"gaussian", 100000, 25, 5}, {NULL, 1000000, 16, 100},  {NULL, 1000000, 128, 256},
    {NULL, 10000000, 8, 16},
};

#define N_STANDARD (sizeof standard_shapes / sizeof standard_shapes[0])

typedef struct roofline_options {
    const char *shapes; /* or NULL */
    double seconds;     /* for a shape, about; large ones take what they need */
    bool quick, json;
} roofline_options;

typedef struct machine {
    const peak_loops *loops;
    float *values; /* larger than any cache */
    size_t n_values;
    double flops, read, triad; /* operations and bytes per second */
} machine;

typedef struct measurement {
    shape shape;
    uint32_t repeats;
    double seconds;          /* of a pass */
    double moved, undecided; /* parts of the rows, in a pass */
    double read;             /* bytes per second from an array as large as the set */
} measurement;

/* ---------------------------------------------------------------- measuring */

/* An array that the caches of no processor hold, each page of it touched. */
static bool machine_init(machine *m, bool quick) {
    m->loops = peak_find();
    if (m->loops == NULL)
        return false;
    m->n_values = (size_t)(quick ? 16 : 128) << 20;
    m->values = aligned_alloc(64, m->n_values * sizeof *m->values);
    if (m->values == NULL) {
        fputs("efface-bench: out of memory\n", stderr);
        return false;
    }
    for (size_t i = 0; i < m->n_values; i++)
        m->values[i] = 1.0F;
    const double seconds = quick ? 0.05 : 1.0;
    m->flops = peak_flops(m->loops, seconds);
    m->read = peak_read(m->loops, m->values, m->n_values, seconds);
    m->triad = peak_triad(m->values, m->n_values, seconds);
    return true;
}

static efface_status fit_passes(const efface_data *data, uint32_t k, uint32_t passes,
                                double *seconds, efface_kmeans_info *info, efface_error *error) {
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.method = EFFACE_METHOD_PYRAMID;
    params.candidates = 1;
    params.n_clusters = k;
    params.common.n_threads = 1;
    /* Given, or small sets would have no sample, and no passes after it. */
    params.pyramid.rate = fmin(1.0, SAMPLE_ROWS * (double)k / (double)efface_data_n_rows(data));
    params.pyramid.starts = 1;
    params.iterations = 3; /* on the sample */
    params.pyramid.passes = passes;
    efface_model *model = NULL;
    const efface_status status = bench_timed_fit(data, &params, &model, seconds, error);
    if (status == EFFACE_OK)
        *info = efface_kmeans_get_info(model);
    efface_model_free(model);
    return status;
}

/* Short and long fits take turns, so that what disturbs the machine for a while meets both. */
static int measure_passes(const efface_data *data, const roofline_options *options,
                          measurement *out) {
    const uint32_t k = out->shape.k;
    double differences[MAX_REPEATS];
    const double begin = bench_now();
    for (uint32_t i = 0;
         i < MAX_REPEATS && (i < MIN_REPEATS || bench_now() - begin < options->seconds); i++) {
        double few, many;
        efface_kmeans_info after_few, after_many;
        efface_error error;
        if (fit_passes(data, k, SHORT_PASSES, &few, &after_few, &error) != EFFACE_OK ||
            fit_passes(data, k, LONG_PASSES, &many, &after_many, &error) != EFFACE_OK)
            return bench_fail(&error);
        if (after_many.iterations != LONG_PASSES) {
            fprintf(stderr,
                    "efface-bench: a fit of %zu rows in %" PRIu32
                    " clusters ends before there is a pass to measure; use more rows\n",
                    out->shape.n, k);
            return BENCH_FAILED;
        }
        differences[out->repeats++] = many - few;
        const double n_searches = (double)out->shape.n * PASSES;
        out->moved = (double)(after_many.rows_moved - after_few.rows_moved) / n_searches;
        out->undecided =
            (double)(after_many.rows_undecided - after_few.rows_undecided) / n_searches;
    }
    out->seconds = bench_median(differences, out->repeats) / PASSES;
    return BENCH_DONE;
}

static int measure_shape(const machine *m, const roofline_options *options, measurement *out) {
    const shape *const s = &out->shape;
    const size_t n_values = s->n * s->d;
    out->read = m->read; /* at least, however small the array */
    if (n_values < m->n_values)
        out->read =
            fmax(m->read, peak_read(m->loops, m->values, n_values, options->quick ? 0.02 : 0.3));
    efface_data *data = NULL;
    efface_error error;
    if (efface_data_make_gaussian(1, s->d, s->n, 1, &data, &error) != EFFACE_OK)
        return bench_fail(&error);
    const int code = measure_passes(data, options, out);
    efface_data_free(data);
    return code;
}

/* ---------------------------------------------------------------- what follows */

static double flops_of(const shape *s) {
    return 2.0 * (double)s->n * s->d * s->k;
}

static double bytes_of(const shape *s) {
    return 4.0 * (double)s->n * s->d;
}

/* The least time of a pass if bytes come at this rate. */
static double limit_seconds(const machine *m, const shape *s, double read) {
    return fmax(flops_of(s) / m->flops, bytes_of(s) / read);
}

static bool is_bound_by_memory(const machine *m, const measurement *r) {
    return bytes_of(&r->shape) / r->read > flops_of(&r->shape) / m->flops;
}

static void print_machine_head(const machine *m) {
    printf("one thread, %s kernels\n", m->loops->kernels);
    printf("multiply-adds in registers  %8.1f GFLOP/s\n", 1e-9 * m->flops);
    printf("reading %.0f MB             %8.1f GB/s\n", 4e-6 * (double)m->n_values, 1e-9 * m->read);
    printf("triad a = b + s c           %8.1f GB/s\n\n", 1e-9 * m->triad);
    printf("%-9s %9s %5s %4s %11s %9s %7s %8s %11s %8s\n", "", "n", "d", "k", "pass, ms", "GFLOP/s",
           "GB/s", "limit", "limit, ms", "reached");
}

static void print_pass_line(const machine *m, const measurement *r) {
    const shape *const s = &r->shape;
    const double least = limit_seconds(m, s, r->read);
    printf("%-9s %9zu %5" PRIu32 " %4" PRIu32 " %11.4f %9.1f %7.1f %8s %11.4f %7.0f%%\n",
           s->name != NULL ? s->name : "", s->n, s->d, s->k, 1e3 * r->seconds,
           1e-9 * flops_of(s) / r->seconds, 1e-9 * bytes_of(s) / r->seconds,
           is_bound_by_memory(m, r) ? "memory" : "compute", 1e3 * least,
           100.0 * least / r->seconds);
}

static void print_machine_json(const machine *m) {
    printf("{\"bench\":\"roofline\",\"what\":\"machine\",\"threads\":1,\"kernels\":\"%s\","
           "\"compiler\":\"%s\",\"read_bytes\":%zu",
           m->loops->kernels, bench_compiler(), 4 * m->n_values);
    bench_put_field("peak_gflops", 1e-9 * m->flops);
    bench_put_field("read_gbs", 1e-9 * m->read);
    bench_put_field("triad_gbs", 1e-9 * m->triad);
    puts("}");
}

static void print_pass_json(const machine *m, const measurement *r) {
    const shape *const s = &r->shape;
    printf("{\"bench\":\"roofline\",\"what\":\"pass\",\"name\":\"%s\",\"n\":%zu,\"d\":%" PRIu32
           ",\"k\":%" PRIu32 ",\"repeats\":%" PRIu32 ",\"passes\":%d,\"bound\":\"%s\"",
           s->name != NULL ? s->name : "", s->n, s->d, s->k, r->repeats, PASSES,
           is_bound_by_memory(m, r) ? "memory" : "compute");
    bench_put_field("seconds", r->seconds);
    bench_put_field("gflops", 1e-9 * flops_of(s) / r->seconds);
    bench_put_field("gbs", 1e-9 * bytes_of(s) / r->seconds);
    bench_put_field("flops_per_byte", flops_of(s) / bytes_of(s));
    bench_put_field("read_gbs", 1e-9 * r->read);
    bench_put_field("limit_seconds", limit_seconds(m, s, r->read));
    bench_put_field("fraction", limit_seconds(m, s, r->read) / r->seconds);
    bench_put_field("fraction_main_memory", limit_seconds(m, s, m->read) / r->seconds);
    bench_put_field("rows_moved", r->moved);
    bench_put_field("rows_undecided", r->undecided);
    puts("}");
}

/* ---------------------------------------------------------------- the command */

/* Reads n,d,k;n,d,k. The number of shapes, 0 if the text is none. */
static size_t read_shapes(const char *text, shape *shapes) {
    size_t n_shapes = 0;
    while (n_shapes < MAX_SHAPES) {
        shape *const s = &shapes[n_shapes++];
        int used = 0;
        *s = (shape){NULL, 0, 0, 0};
        if (sscanf(text, "%zu,%" SCNu32 ",%" SCNu32 "%n", &s->n, &s->d, &s->k, &used) != 3 ||
            s->n == 0 || s->d == 0 || s->k == 0)
            return 0;
        text += used;
        if (*text == '\0')
            return n_shapes;
        if (*text++ != ';')
            return 0;
    }
    return 0;
}

static void print_help(void) {
    fputs(
        "usage: efface-bench roofline [--shapes 'N,D,K;N,D,K'] [--seconds S] [--quick] [--json]\n"
        "\n"
        "Measures, on one thread, the float32 multiply-adds per second of the instruction set in\n"
        "use, the bytes per second from memory, and one assignment pass of a fit to generated\n"
        "data for each shape: N rows, D columns, K clusters. A limit is the best of many tries. A\n"
        "pass is the median of fits that are repeated for about S seconds (2).\n"
        "\n"
        "  GFLOP/s   2 N D K operations, divided by the time of a pass\n"
        "  GB/s      4 N D bytes, divided by the time of a pass\n"
        "  limit     the slower of the two at the machine's rates, and its time; bytes at the\n"
        "            rate of an array of this size, which may fit in a cache\n"
        "  reached   the time of the limit divided by the time of a pass\n"
        "--json: fraction is the part of the limit that is reached; fraction_main_memory is the\n"
        "same with bytes always at the rate of main memory; rows_moved and rows_undecided are\n"
        "parts of the rows\n"
        "--quick: rough numbers, little memory\n",
        stdout);
}

int bench_roofline(int n_arguments, char **arguments) {
    roofline_options o = {.seconds = 0.0};
    bool help = false;
    const bench_option options[] = {
        {"--shapes", BENCH_TEXT, (void *)&o.shapes},
        {"--seconds", BENCH_REAL, &o.seconds},
        {"--quick", BENCH_FLAG, &o.quick},
        {"--json", BENCH_FLAG, &o.json},
        {"--help", BENCH_FLAG, &help},
        {NULL, BENCH_FLAG, NULL},
    };
    if (!bench_parse(options, n_arguments, arguments))
        return BENCH_USAGE;
    if (help) {
        print_help();
        return BENCH_DONE;
    }
    if (o.seconds <= 0.0)
        o.seconds = o.quick ? 0.1 : 2.0;
    shape shapes[MAX_SHAPES];
    size_t n_shapes = N_STANDARD;
    memcpy(shapes, standard_shapes, sizeof standard_shapes);
    if (o.shapes != NULL && (n_shapes = read_shapes(o.shapes, shapes)) == 0) {
        fprintf(stderr, "efface-bench: --shapes cannot be '%s': it must be like N,D,K;N,D,K\n",
                o.shapes);
        return BENCH_USAGE;
    }
    machine m = {.values = NULL};
    if (!machine_init(&m, o.quick))
        return BENCH_FAILED;
    (o.json ? print_machine_json : print_machine_head)(&m);
    int code = BENCH_DONE;
    for (size_t i = 0; i < n_shapes && code == BENCH_DONE; i++) {
        measurement r = {.shape = shapes[i]};
        code = measure_shape(&m, &o, &r);
        if (code == BENCH_DONE)
            (o.json ? print_pass_json : print_pass_line)(&m, &r);
        fflush(stdout);
    }
    free(m.values);
    return code;
}
