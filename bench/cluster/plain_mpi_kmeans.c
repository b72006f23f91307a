/*
 * usage: mpirun -n RANKS plain-mpi-kmeans ROWSxCOLUMNS CLUSTERS PASSES [SEED]
 *
 * What a user would write in place of efface: k-means in floats over MPI. Each rank has a range of
 * rows that are generated around CLUSTERS places; the first centers are random rows; every pass is
 * one sum over all ranks. Nothing of it is exact: the result
 * depends on the number of ranks and on the compiler.
 *
 * Prints the median and the least seconds of a pass, and the loss of the last one. Compile with
 * -O3, -march=native and -ffast-math.
 */
#include "rank_measures.h"

#include <float.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 8  /* that are compared at a time, */
#define WIDE 32 /* with as many centers */

typedef struct task {
    int rank, n_ranks;
    size_t n_rows, first, n_own; /* of all ranks; of this one */
    size_t d, k;
    uint64_t seed;
    float *rows;    /* n_own x d, and ROWS more rows of zeros */
    float *centers; /* k x d */
    float *panels;  /* the centers again: WIDE of them side by side, column by column */
    float *squares; /* their squared lengths; huge behind the last one */
    float *sums;    /* k x d */
    double *counts; /* of the rows of each center, then the loss */
} task;

_Noreturn static void give_up(const char *why) {
    fprintf(stderr, "plain-mpi-kmeans: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static void *get_memory(size_t n, size_t size) {
    void *const memory = calloc(n, size);
    if (memory == NULL)
        give_up("no memory");
    return memory;
}

static size_t n_panels(const task *t) {
    return (t->k + WIDE - 1) / WIDE;
}

static void make_arrays(task *t) {
    t->first = t->n_rows * (size_t)t->rank / (size_t)t->n_ranks;
    t->n_own = t->n_rows * ((size_t)t->rank + 1) / (size_t)t->n_ranks - t->first;
    t->rows = get_memory((t->n_own + ROWS) * t->d, sizeof(float));
    t->centers = get_memory(t->k * t->d, sizeof(float));
    t->panels = get_memory(n_panels(t) * WIDE * t->d, sizeof(float));
    t->squares = get_memory(n_panels(t) * WIDE, sizeof(float));
    t->sums = get_memory(t->k * t->d, sizeof(float));
    t->counts = get_memory(t->k + 1, sizeof(double));
}

/* ---------------------------------------------------------------- rows */

/* A normal number for each place of a stream. */
static float normal(uint64_t stream, uint64_t place) {
    const uint64_t a = mix_bits(mix_bits(stream) + 2 * place),
                   b = mix_bits(mix_bits(stream) + 2 * place + 1);
    const float u = ((float)(a >> 40) + 1.0f) * 0x1p-24f, v = (float)(b >> 40) * 0x1p-24f;
    return sqrtf(-2.0f * logf(u)) * cosf(6.2831853f * v);
}

static void generate_rows(task *t) {
    make_arrays(t);
    for (size_t i = 0; i < t->n_own; i++) {
        const uint64_t row = t->first + i, cluster = mix_bits(t->seed + row) % t->k;
        for (size_t c = 0; c < t->d; c++)
            t->rows[i * t->d + c] = 3.0f * normal(t->seed + 1, cluster * t->d + c) +
                                    normal(t->seed + 2, row * t->d + c);
    }
}

/* ---------------------------------------------------------------- k-means */

/* Random rows; the rank that has one gives it to all. */
static void seed_centers(task *t) {
    for (size_t j = 0; j < t->k; j++) {
        const size_t row = mix_bits(t->seed + 3 * mix_bits(j)) % t->n_rows;
        if (row >= t->first && row < t->first + t->n_own)
            memcpy(t->centers + j * t->d, t->rows + (row - t->first) * t->d, t->d * sizeof(float));
    }
    /* All other ranks have zeros. Two draws of a row are the same center twice. */
    MPI_Allreduce(MPI_IN_PLACE, t->centers, (int)(t->k * t->d), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void lay_out_centers(task *t) {
    for (size_t j = 0; j < n_panels(t) * WIDE; j++) {
        float square = 0;
        for (size_t c = 0; j < t->k && c < t->d; c++) {
            const float x = t->centers[j * t->d + c];
            t->panels[(j / WIDE * t->d + c) * WIDE + j % WIDE] = x;
            square += x * x;
        }
        t->squares[j] = j < t->k ? square : FLT_MAX;
    }
}

/* For some rows the best centers so far, and with what score: the squared distance less the squared
 * length of the row. */
typedef struct best {
    size_t centers[ROWS];
    float scores[ROWS];
} best;

/* Compares ROWS rows with the WIDE centers of a panel, of which `first` is the first. */
static void compare_panel(const float *rows, const float *panel, const float *squares, size_t d,
                          size_t first, best *b) {
    float dots[ROWS][WIDE] = {{0}};
    for (size_t c = 0; c < d; c++)
        for (size_t r = 0; r < ROWS; r++)
            for (size_t j = 0; j < WIDE; j++)
                dots[r][j] += rows[r * d + c] * panel[c * WIDE + j];
    for (size_t r = 0; r < ROWS; r++) {
        float least = FLT_MAX;
        for (size_t j = 0; j < WIDE; j++) {
            dots[r][j] = squares[j] - 2 * dots[r][j];
            least = dots[r][j] < least ? dots[r][j] : least;
        }
        if (least >= b->scores[r])
            continue;
        size_t j = 0;
        while (j + 1 < WIDE && dots[r][j] > least)
            j++;
        b->scores[r] = least;
        b->centers[r] = first + j;
    }
}

static void add_row(task *t, const float *row, size_t center, float score) {
    float *const sum = t->sums + center * t->d;
    float square = 0;
    for (size_t c = 0; c < t->d; c++) {
        sum[c] += row[c];
        square += row[c] * row[c];
    }
    t->counts[center] += 1;
    t->counts[t->k] += (double)(square + score);
}

static void assign_rows(task *t) {
    for (size_t i = 0; i < t->n_own; i += ROWS) {
        const float *const rows = t->rows + i * t->d;
        best b = {{0}, {0}};
        for (size_t r = 0; r < ROWS; r++)
            b.scores[r] = FLT_MAX;
        for (size_t p = 0; p < n_panels(t); p++)
            compare_panel(rows, t->panels + p * WIDE * t->d, t->squares + p * WIDE, t->d, p * WIDE,
                          &b);
        for (size_t r = 0; r < ROWS && i + r < t->n_own; r++)
            add_row(t, rows + r * t->d, b.centers[r], b.scores[r]);
    }
}

/* One pass of Lloyd's: every row to its nearest center, then the means. */
static void run_pass(task *t) {
    const size_t n_sums = t->k * t->d;
    lay_out_centers(t);
    memset(t->sums, 0, n_sums * sizeof *t->sums);
    memset(t->counts, 0, (t->k + 1) * sizeof *t->counts);
    assign_rows(t);
    MPI_Allreduce(MPI_IN_PLACE, t->sums, (int)n_sums, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, t->counts, (int)t->k + 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (size_t j = 0; j < t->k; j++)
        for (size_t c = 0; t->counts[j] > 0 && c < t->d; c++)
            t->centers[j * t->d + c] = t->sums[j * t->d + c] / (float)t->counts[j];
}

/* ---------------------------------------------------------------- the program */

static void run_passes(task *t, size_t n_passes) {
    double *const seconds = get_memory(n_passes, sizeof *seconds);
    seed_centers(t);
    for (size_t i = 0; i < n_passes; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        seconds[i] = -MPI_Wtime();
        run_pass(t);
        seconds[i] += MPI_Wtime();
    }
    const double median = median_seconds(seconds, n_passes); /* and they are sorted */
    if (t->rank == 0)
        printf(
            "{\"rows\": %zu, \"columns\": %zu, \"clusters\": %zu, \"ranks\": %d, \"passes\": %zu, "
            "\"median_seconds\": %.6f, \"least_seconds\": %.6f, \"loss\": %.9g}\n",
            t->n_rows, t->d, t->k, t->n_ranks, n_passes, median, seconds[0], t->counts[t->k]);
    free(seconds);
}

int main(int argc, char **argv) {
    task t = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.n_ranks);
    t.k = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    const size_t n_passes = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    t.seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    char end;
    if (t.k == 0 || n_passes == 0 || sscanf(argv[1], "%zux%zu%c", &t.n_rows, &t.d, &end) != 2 ||
        t.n_rows == 0 || t.d == 0)
        give_up("usage: plain-mpi-kmeans ROWSxCOLUMNS CLUSTERS PASSES [SEED]");
    generate_rows(&t);
    run_passes(&t, n_passes);
    free(t.rows);
    free(t.centers);
    free(t.panels);
    free(t.squares);
    free(t.sums);
    free(t.counts);
    MPI_Finalize();
    return 0;
}
