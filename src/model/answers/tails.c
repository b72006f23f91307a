/*
 * Where the loss of a set comes from: a few rows, or one column.
 *
 * The loss is that around the mean, of a single cluster, which k clusters have to divide up. Around
 * the centroids of a fitted model it would tell nothing: rows far away get centroids of their own,
 * and then have no loss. Two passes over the rows: the mean, then the loss of each row and column.
 * The rows with the largest are found with a heap of as many as are asked for.
 *
 * A missing value counts as the mean of its column, and so has no loss.
 *
 * Everything here is in double and for warnings only.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/numbers/elementary.h"
#include "base/random/tape.h"
#include "data/set/rows.h"

#include <string.h>

#define ONE_ROW_IN 1000
#define MIN_ROWS 100
#define ROWS_CARRY 0.9
#define COLUMN_CARRIES 0.999

/* Numbers of the columns, n_columns each. */
typedef struct columns {
    float *least, *most;
    double *unit;   /* values are multiplied by it; 0 for a column that does not vary */
    double *mean;   /* in units */
    double *weight; /* of the rows that have a value */
    double *loss;
} columns;

static bool allocate(columns *c, size_t d) {
    c->least = ef_alloc_zero(d, sizeof *c->least);
    c->most = ef_alloc_zero(d, sizeof *c->most);
    c->unit = ef_alloc_zero(d, sizeof *c->unit);
    c->mean = ef_alloc_zero(d, sizeof *c->mean);
    c->weight = ef_alloc_zero(d, sizeof *c->weight);
    c->loss = ef_alloc_zero(d, sizeof *c->loss);
    return c->least != NULL && c->most != NULL && c->unit != NULL && c->mean != NULL &&
           c->weight != NULL && c->loss != NULL;
}

static void release_tails(columns *c) {
    ef_free(c->least);
    ef_free(c->most);
    ef_free(c->unit);
    ef_free(c->mean);
    ef_free(c->weight);
    ef_free(c->loss);
}

/* Scales so that no square overflows: by one power of two, or each column to [0, 1]. Gives the
 * power of two. */
static double choose_units(const efface_data *data, efface_scale scale, columns *c) {
    double largest = 0.0, power = 1.0;
    ef_data_column_ranges(data, c->least, c->most);
    for (uint32_t j = 0; j < data->n_columns; j++) {
        const double low = (double)c->least[j], high = (double)c->most[j];
        largest = -low > largest ? -low : largest;
        largest = high > largest ? high : largest;
    }
    while (power < largest)
        power *= 2.0;
    while (largest > 0.0 && power / 2.0 >= largest)
        power /= 2.0;
    for (uint32_t j = 0; j < data->n_columns; j++) {
        const double spread = (double)c->most[j] - (double)c->least[j];
        const double unit = scale == EFFACE_SCALE_NONE ? 1.0 / power : 1.0 / spread;
        c->unit[j] = spread > 0.0 ? unit : 0.0;
    }
    return scale == EFFACE_SCALE_NONE ? power : 1.0;
}

/* The weights of the rows of a panel; 0 for places without a row. */
static void weigh_tails(const efface_data *data, size_t panel, double weights[EF_PANEL]) {
    for (size_t i = 0; i < EF_PANEL; i++) {
        const size_t position = panel * EF_PANEL + i;
        weights[i] = position < data->n_rows ? (double)ef_data_weight(data, position) : 0.0;
    }
}

static void find_means(const efface_data *data, columns *c) {
    for (size_t p = 0; p * EF_PANEL < data->n_rows; p++) {
        const float *values = ef_data_panel(data, p);
        double weights[EF_PANEL];
        weigh_tails(data, p, weights);
        for (uint32_t j = 0; j < data->n_columns; j++, values += EF_PANEL) {
            double sum = 0.0, weight = 0.0;
            for (size_t i = 0; i < EF_PANEL; i++) {
                const bool is_there = values[i] == values[i];
                const double away = (double)values[i] - (double)c->least[j];
                sum += is_there ? away * weights[i] : 0.0;
                weight += is_there ? weights[i] : 0.0;
            }
            c->mean[j] += sum * c->unit[j];
            c->weight[j] += weight;
        }
    }
    for (uint32_t j = 0; j < data->n_columns; j++)
        c->mean[j] = c->weight[j] > 0.0 ? c->mean[j] / c->weight[j] : 0.0;
}

/* Adds the losses of the rows of a panel to the columns, and gives them. */
static void add_panel(const efface_data *data, size_t panel, columns *c, double losses[EF_PANEL]) {
    const float *values = ef_data_panel(data, panel);
    double weights[EF_PANEL];
    weigh_tails(data, panel, weights);
    memset(losses, 0, EF_PANEL * sizeof *losses);
    for (uint32_t j = 0; j < data->n_columns; j++, values += EF_PANEL) {
        double sum = 0.0;
        for (size_t i = 0; i < EF_PANEL; i++) {
            const double x = ((double)values[i] - (double)c->least[j]) * c->unit[j] - c->mean[j];
            const double loss = x == x ? x * x * weights[i] : 0.0;
            losses[i] += loss;
            sum += loss;
        }
        c->loss[j] += sum;
    }
}

/* Scales each column to the deviation 1, after its mean is known. */
static void standardize_tails(const efface_data *data, columns *c) {
    double losses[EF_PANEL];
    for (size_t p = 0; p * EF_PANEL < data->n_rows; p++)
        add_panel(data, p, c, losses);
    for (uint32_t j = 0; j < data->n_columns; j++) {
        const double variance = c->weight[j] > 0.0 ? c->loss[j] / c->weight[j] : 0.0;
        const double units = variance > 0x1p-1000 ? ef_exp(-0.5 * ef_log(variance)) : 0.0;
        c->unit[j] *= units;
        c->mean[j] *= units;
        c->loss[j] = 0.0;
    }
}

/* Puts a number in the place of the smallest of a heap, whose root that is. */
static void replace_smallest(double *heap, size_t n, double value) {
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= value)
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

static int compare_falling(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* How few of the rows in the heap carry the loss; all of them, if they do not. */
static void count_rows(double *heap, size_t n, efface_tails *t) {
    qsort(heap, n, sizeof *heap, compare_falling);
    double sum = 0.0;
    for (t->n_rows = 0; t->n_rows < n && sum <= ROWS_CARRY * t->loss; t->n_rows++)
        sum += heap[t->n_rows];
    t->rows_share = t->loss > 0.0 ? sum / t->loss : 0.0;
}

/* The loss of the rows is divided up; `heap` has room for n_most, zeros at first. */
static void divide_tails(const efface_data *data, columns *c, double *heap, size_t n_most,
                         efface_tails *t) {
    uint32_t n_varying = 0;
    for (size_t p = 0; p * EF_PANEL < data->n_rows; p++) {
        double losses[EF_PANEL];
        add_panel(data, p, c, losses);
        for (size_t i = 0; i < EF_PANEL; i++) {
            t->loss += losses[i];
            if (losses[i] > heap[0])
                replace_smallest(heap, n_most, losses[i]);
        }
    }
    count_rows(heap, n_most, t);
    for (uint32_t j = 0; j < data->n_columns; j++) {
        n_varying += c->unit[j] > 0.0;
        if (c->loss[j] > c->loss[t->column])
            t->column = j;
    }
    if (t->loss > 0.0) {
        t->column_share = c->loss[t->column] / t->loss;
    }
    t->rows_carry = t->rows_share > ROWS_CARRY && data->n_rows >= MIN_ROWS;
    t->column_carries = t->column_share > COLUMN_CARRIES && n_varying > 1;
}

efface_status efface_data_tails(const efface_data *data, efface_scale scale, efface_tails *tails,
                                efface_error *error) {
    if (data == NULL || tails == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data and tails must not be NULL");
    if (scale != EFFACE_SCALE_NONE && scale != EFFACE_SCALE_MINMAX &&
        scale != EFFACE_SCALE_STANDARD)
        return ef_fail(error, EFFACE_E_ARGUMENT, "%d is not a scale", (int)scale);
    const size_t n_most = data->n_rows >= ONE_ROW_IN ? data->n_rows / ONE_ROW_IN : 1;
    columns c = {.least = NULL};
    double *const heap = ef_alloc_zero(n_most, sizeof *heap);
    efface_status status = EFFACE_OK;
    if (!allocate(&c, data->n_columns) || heap == NULL)
        status = ef_fail_memory(error);
    if (status == EFFACE_OK) {
        efface_tails found = {.n_rows = 0};
        const double power = choose_units(data, scale, &c);
        find_means(data, &c);
        if (scale == EFFACE_SCALE_STANDARD)
            standardize_tails(data, &c);
        divide_tails(data, &c, heap, n_most, &found);
        found.loss *= power * power;
        *tails = found;
    }
    release_tails(&c);
    ef_free(heap);
    ef_wipe_stack(EF_SHALLOW_STACK);
    return status;
}
