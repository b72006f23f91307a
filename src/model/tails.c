/*
 * Where the loss of a set comes from: a few rows, or one column.
 *
 * The loss is that around the mean, of a single cluster, which k clusters have to divide up. Around
 * the centroids of a fitted model it would tell nothing: rows far away get centroids of their own,
 * and then have no loss. Two passes over the rows: the mean, then the loss of each row and column. The
 * rows with the largest are found with a heap of as many as are asked for.
 *
 * Everything here is in double and for warnings only.
 */
#include "base/checked.h"
#include "base/status.h"
#include "data/rows.h"

#define ONE_ROW_IN 1000
#define LEAST_ROWS 100
#define ROWS_CARRY 0.9
#define COLUMN_CARRIES 0.99

/* Numbers of the columns, n_columns each. */
typedef struct columns {
    float *least, *most;
    double *unit; /* values are multiplied by it; 0 for a column that does not vary */
    double *mean; /* in units */
    double *loss;
} columns;

static bool allocate(columns *c, size_t d) {
    c->least = ef_alloc_zero(d, sizeof *c->least);
    c->most = ef_alloc_zero(d, sizeof *c->most);
    c->unit = ef_alloc_zero(d, sizeof *c->unit);
    c->mean = ef_alloc_zero(d, sizeof *c->mean);
    c->loss = ef_alloc_zero(d, sizeof *c->loss);
    return c->least != NULL && c->most != NULL && c->unit != NULL && c->mean != NULL &&
           c->loss != NULL;
}

static void release(columns *c) {
    ef_free(c->least);
    ef_free(c->most);
    ef_free(c->unit);
    ef_free(c->mean);
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
        const double unit = scale == EFFACE_SCALE_MINMAX ? 1.0 / spread : 1.0 / power;
        c->unit[j] = spread > 0.0 ? unit : 0.0;
    }
    return scale == EFFACE_SCALE_MINMAX ? 1.0 : power;
}

static void find_means(const efface_data *data, columns *c) {
    for (uint32_t j = 0; j < data->n_columns; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < data->n_rows; i++)
            sum += ((double)ef_data_value(data, i, j) - (double)c->least[j]) * c->unit[j] *
                   (double)ef_data_weight(data, i);
        c->mean[j] = data->n_rows != 0 ? sum / (double)data->total_weight : 0.0;
    }
}

/* Adds the loss of a row to the columns, and gives it. */
static double add_row(const efface_data *data, size_t position, columns *c) {
    const double weight = (double)ef_data_weight(data, position);
    double loss = 0.0;
    for (uint32_t j = 0; j < data->n_columns; j++) {
        const double x =
            ((double)ef_data_value(data, position, j) - (double)c->least[j]) * c->unit[j];
        const double square = (x - c->mean[j]) * (x - c->mean[j]) * weight;
        c->loss[j] += square;
        loss += square;
    }
    return loss;
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

/* The loss of the rows is divided up; `heap` has room for n_most, zeros at first. */
static void divide(const efface_data *data, columns *c, double *heap, size_t n_most,
                   efface_tails *t) {
    uint32_t n_varying = 0;
    for (size_t i = 0; i < data->n_rows; i++) {
        const double loss = add_row(data, i, c);
        t->loss += loss;
        if (loss > heap[0])
            replace_smallest(heap, n_most, loss);
    }
    double most = 0.0;
    for (size_t i = 0; i < n_most; i++)
        most += heap[i];
    for (uint32_t j = 0; j < data->n_columns; j++) {
        n_varying += c->unit[j] > 0.0;
        if (c->loss[j] > c->loss[t->column])
            t->column = j;
    }
    if (t->loss > 0.0) {
        t->rows_share = most / t->loss;
        t->column_share = c->loss[t->column] / t->loss;
    }
    t->rows_carry = t->rows_share > ROWS_CARRY && data->n_rows >= LEAST_ROWS;
    t->column_carries = t->column_share > COLUMN_CARRIES && n_varying > 1;
}

efface_status efface_data_tails(const efface_data *data, efface_scale scale, efface_tails *tails,
                                efface_error *error) {
    if (data == NULL || tails == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data and tails must not be NULL");
    if (scale != EFFACE_SCALE_NONE && scale != EFFACE_SCALE_MINMAX)
        return ef_fail(error, EFFACE_E_ARGUMENT, "%d is no scale", (int)scale);
    const size_t n_most = data->n_rows >= ONE_ROW_IN ? data->n_rows / ONE_ROW_IN : 1;
    columns c = {NULL, NULL, NULL, NULL, NULL};
    double *const heap = ef_alloc_zero(n_most, sizeof *heap);
    efface_status status = EFFACE_OK;
    if (!allocate(&c, data->n_columns) || heap == NULL)
        status = ef_fail_memory(error);
    if (status == EFFACE_OK) {
        efface_tails found = {.n_rows = n_most};
        const double power = choose_units(data, scale, &c);
        find_means(data, &c);
        divide(data, &c, heap, n_most, &found);
        found.loss *= power * power;
        *tails = found;
    }
    release(&c);
    ef_free(heap);
    ef_wipe_stack(EF_SHALLOW_STACK);
    return status;
}
