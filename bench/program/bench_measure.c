/* efface-bench: clock, memory, agreement, JSON and digests. */
#define _XOPEN_SOURCE 700
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int bench_fail(const efface_error *error) {
    fprintf(stderr, "efface-bench: %s\n", error->message);
    return BENCH_FAILED;
}

efface_status bench_fail_memory(efface_error *error) {
    *error = (efface_error){.status = EFFACE_E_MEMORY, .message = "out of memory"};
    return EFFACE_E_MEMORY;
}

efface_status bench_timed_fit(const efface_data *data, const efface_kmeans_params *params,
                              efface_model **model, double *seconds, efface_error *error) {
    const double begin = bench_now();
    const efface_status status = efface_kmeans_fit(data, params, model, error);
    *seconds = bench_now() - begin;
    return status;
}

void bench_warn_coarse(const efface_model *model, const efface_data *data) {
    const uint32_t n = efface_kmeans_get_info(model).n_coarse_columns;
    if (n == 0)
        return;
    uint32_t first;
    efface_kmeans_coarse_columns(model, &first, 1);
    const char *const name = efface_data_column_name(data, first);
    fprintf(stderr,
            "efface-bench: warning: the grid keeps less than 8 bits of %u column%s; the first is "
            "number %u%s%s%s; try --scale standard\n",
            n, n == 1 ? "" : "s", first + 1, name != NULL ? " (" : "", name != NULL ? name : "",
            name != NULL ? ")" : "");
}

double bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare_reals(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, size_t n) {
    qsort(values, n, sizeof *values, compare_reals);
    return n % 2 != 0 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

const char *bench_compiler(void) {
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "unknown";
#endif
}

bool bench_is_watched(void) {
    return isatty(STDERR_FILENO) != 0;
}

uint64_t bench_peak_rss_bytes(void) {
    /* Not getrusage: its ru_maxrss begins with what the process was before exec. */
    FILE *const status = fopen("/proc/self/status", "r");
    unsigned long long kilobytes = 0;
    char line[256];
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "VmHWM: %llu", &kilobytes) == 1)
            break;
    if (status != NULL)
        fclose(status);
    return 1024 * (uint64_t)kilobytes;
}

static int compare_labels(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Labels are any numbers of 64 bits, hashes among them: makes numbers[i] the place of labels[i]
 * among the different ones. `sorted` has room for n too. */
static void number_labels(size_t n, const int64_t *labels, int64_t *sorted, uint32_t *numbers) {
    memcpy(sorted, labels, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_labels);
    size_t n_different = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[n_different - 1])
            sorted[n_different++] = sorted[i];
    for (size_t i = 0; i < n; i++) {
        const int64_t *const place =
            bsearch(&labels[i], sorted, n_different, sizeof *sorted, compare_labels);
        numbers[i] = (uint32_t)(place - sorted);
    }
}

efface_status bench_nmi_of(uint32_t *found, const efface_data *data, double *nmi,
                           efface_error *error) {
    const size_t n = efface_data_n_rows(data);
    uint32_t *const given = malloc(n * sizeof *given);
    int64_t *const labels = malloc(n * sizeof *labels);
    int64_t *const sorted = malloc(n * sizeof *sorted);
    efface_status status = EFFACE_OK;
    if (n != 0 && (given == NULL || labels == NULL || sorted == NULL)) {
        status = bench_fail_memory(error);
        goto out;
    }
    size_t n_labelled = 0; /* rows without a label say nothing */
    for (size_t i = 0; i < n; i++) {
        const int64_t label = efface_data_row(data, i).label;
        if (label == EFFACE_NO_LABEL)
            continue;
        labels[n_labelled] = label;
        found[n_labelled++] = found[i];
    }
    if (n_labelled != 0)
        number_labels(n_labelled, labels, sorted, given);
    status = efface_nmi(n_labelled, found, given, nmi, error);
out:
    free(given);
    free(labels);
    free(sorted);
    return status;
}

efface_status bench_nmi(const efface_model *model, const efface_data *data, double *nmi,
                        efface_error *error) {
    const size_t n = efface_data_n_rows(data);
    uint32_t *const found = malloc(n * sizeof *found);
    efface_status status = EFFACE_OK;
    if (n != 0 && found == NULL)
        status = bench_fail_memory(error);
    if (status == EFFACE_OK)
        status = efface_kmeans_labels(model, data, found, error);
    if (status == EFFACE_OK)
        status = bench_nmi_of(found, data, nmi, error);
    free(found);
    return status;
}

void bench_put_real(double value) {
    if (isfinite(value))
        printf("%.9g", value);
    else
        fputs("null", stdout);
}

void bench_put_field(const char *name, double value) {
    printf(",\"%s\":", name);
    bench_put_real(value);
}

bool bench_digest_hex(const efface_model *model, char hex[BENCH_HEX_BYTES]) {
    unsigned char digest[EFFACE_DIGEST_BYTES];
    efface_error error;
    if (efface_model_digest(model, digest, &error) != EFFACE_OK)
        return false;
    for (size_t i = 0; i < EFFACE_DIGEST_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    return true;
}
