/*
 * The set of rows: add, remove and replace by id, all or none.
 *
 * Each of the three checks everything and takes all memory first, and changes the set only when
 * nothing can fail any more. Statistics that a fit needs (exponents, column ranges, total weight)
 * are kept as rows come and go, so that a fit need not look at the rows for them.
 */
#include "data/set/shards.h"

#include "base/bytes/ids.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#define ALL_BUT_SIGN 0x7FFFFFFFu
#define LARGEST 0x7E800000u /* the bits of 2^126 */

size_t ef_most_short_positions = UINT32_MAX - 1;

/* How many sets this process has made. */
static atomic_uint_fast64_t n_sets;

efface_status efface_data_create(uint32_t n_columns, efface_data **out, efface_error *error) {
    if (out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "out must not be NULL");
    if (n_columns == 0 || n_columns > EFFACE_MAX_COLUMNS)
        return ef_fail(error, EFFACE_E_LIMIT, "a set needs 1 to %u columns, not %" PRIu32,
                       EFFACE_MAX_COLUMNS, n_columns);
    efface_data *data = ef_alloc_zero(1, sizeof *data);
    if (data == NULL)
        return ef_fail_memory(error);
    data->stamp.set = (uint64_t)atomic_fetch_add_explicit(&n_sets, 1, memory_order_relaxed) + 1;
    if (!ef_counts_init(&data->counts, n_columns)) {
        efface_data_free(data);
        return ef_fail_memory(error);
    }
    *out = data;
    return EFFACE_OK;
}

void efface_data_free(efface_data *data) {
    if (data == NULL)
        return;
    if (data->names != NULL)
        for (uint32_t j = 0; j < data->n_columns; j++)
            ef_free(data->names[j]);
    ef_free(data->names);
    ef_free(data->offsets);
    ef_row_ids_free(&data->ids);
    ef_free(data->values);
    ef_free(data->weights);
    ef_free(data->owners);
    ef_free(data->labels);
    ef_free(data->marks);
    ef_counts_free(&data->counts);
    ef_shard_free(data->part);
    ef_free(data);
}

/* ---------------------------------------------------------------- room */

/* Panels stand on a cache line's boundary, so that vector loads never straddle two. */
static efface_status grow_values(efface_data *data, size_t n_rows, efface_error *error) {
    const size_t row_bytes = data->n_columns * sizeof *data->values;
    float *const values = ef_alloc_aligned(n_rows, row_bytes);
    if (values == NULL)
        return ef_fail_memory(error);
    if (data->capacity != 0)
        memcpy(values, data->values, data->capacity * row_bytes);
    ef_free(data->values);
    data->values = values;
    return EFFACE_OK;
}

/* Arrays that grew before one that could not are merely larger than they must be. */
#define GROW(array, size)                                                                          \
    do {                                                                                           \
        void *const larger = ef_realloc(array, n_rows, size);                                      \
        if (larger == NULL)                                                                        \
            return ef_fail_memory(error);                                                          \
        (array) = larger;                                                                          \
    } while (0)

efface_status ef_data_reserve(efface_data *data, size_t n_rows, efface_error *error) {
    if (n_rows <= data->capacity)
        return EFFACE_OK;
    if (!ef_add_size(n_rows, EF_PANEL - 1, &n_rows))
        return ef_fail_memory(error);
    n_rows -= n_rows % EF_PANEL;
    const efface_status status = grow_values(data, n_rows, error);
    if (status != EFFACE_OK)
        return status;
    if (!ef_row_ids_grow(&data->ids, data->capacity, n_rows))
        return ef_fail_memory(error);
    if (data->weights != NULL)
        GROW(data->weights, sizeof *data->weights);
    if (data->owners != NULL)
        GROW(data->owners, sizeof *data->owners);
    if (data->labels != NULL)
        GROW(data->labels, sizeof *data->labels);
    if (data->marks != NULL)
        GROW(data->marks, sizeof *data->marks);
    data->capacity = n_rows;
    return EFFACE_OK;
}

/* Room for n_more rows, growing by half so that many small additions stay cheap. */
static efface_status reserve_more(efface_data *data, size_t n_more, efface_error *error) {
    size_t wanted;
    if (!ef_add_size(data->n_rows, n_more, &wanted))
        return ef_fail_memory(error);
    if (wanted <= data->capacity)
        return EFFACE_OK;
    const size_t generous = data->capacity + data->capacity / 2;
    return ef_data_reserve(data, wanted > generous ? wanted : generous, error);
}

/* Gives every row its own weight, owner, label or mark where they were all alike. */
static efface_status spell_out_weights(efface_data *data, efface_error *error) {
    if (data->weights != NULL)
        return EFFACE_OK;
    data->weights = ef_alloc(data->capacity, sizeof *data->weights);
    if (data->weights == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < data->n_rows; i++)
        data->weights[i] = 1;
    return EFFACE_OK;
}

static efface_status spell_out_owners(efface_data *data, efface_error *error) {
    if (data->owners != NULL)
        return EFFACE_OK;
    data->owners = ef_alloc(data->capacity, sizeof *data->owners);
    if (data->owners == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < data->n_rows; i++)
        data->owners[i] = EFFACE_NO_OWNER;
    return EFFACE_OK;
}

static efface_status spell_out_labels(efface_data *data, efface_error *error) {
    if (data->labels != NULL)
        return EFFACE_OK;
    data->labels = ef_alloc(data->capacity, sizeof *data->labels);
    if (data->labels == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < data->n_rows; i++)
        data->labels[i] = EFFACE_NO_LABEL;
    return EFFACE_OK;
}

static efface_status spell_out_marks(efface_data *data, efface_error *error) {
    if (data->marks != NULL)
        return EFFACE_OK;
    data->marks = ef_alloc(data->capacity, sizeof *data->marks);
    if (data->marks == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < data->n_rows; i++)
        data->marks[i] = 0;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- values */

static uint32_t magnitude_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & ALL_BUT_SIGN;
}

/* The bits of the largest magnitude of a row: as integers they order like the numbers, with
 * infinity and NaN above all: values are missing only if it is beyond LARGEST. */
static uint32_t largest_bits(const float *values, uint32_t n, size_t stride) {
    uint32_t largest = 0;
    for (uint32_t j = 0; j < n; j++) {
        const uint32_t bits = magnitude_bits(values[j * stride]);
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

/* What statistics have of a row. */
typedef struct digest {
    size_t exponent;    /* its place among the counts */
    uint64_t n_missing; /* values */
} digest;

static digest digest_row(const float *values, uint32_t n, size_t stride) {
    uint32_t bits = largest_bits(values, n, stride);
    uint64_t n_missing = 0;
    if (bits > LARGEST) {
        bits = 0;
        for (uint32_t j = 0; j < n; j++) {
            const uint32_t own = magnitude_bits(values[j * stride]);
            n_missing += own > LARGEST;
            bits = own <= LARGEST && own > bits ? own : bits;
        }
    }
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    return (digest){(size_t)(ef_exponent(magnitude) - EF_EXPONENT_MIN), n_missing};
}

static void count_row(efface_data *data, const float *values, size_t stride) {
    const digest of = digest_row(values, data->n_columns, stride);
    data->exponents.rows[of.exponent]++;
    data->n_missing += of.n_missing;
}

/* Copies a row in, as it is stored, and enters it in the statistics. */
static void write_row(efface_data *data, size_t position, const float *values) {
    float *const row = ef_data_first(data, position);
    const bool is_new = position == data->n_rows;
    if (is_new && position % EF_PANEL == 0) /* the first row of a new panel */
        memset(row, 0, (size_t)data->n_columns * EF_PANEL * sizeof *row);
    for (uint32_t j = 0; j < data->n_columns; j++)
        row[(size_t)j * EF_PANEL] = ef_stored_value(values[j]);
    count_row(data, values, 1);
    ef_ranges_add(&data->ranges, row, EF_PANEL, is_new && position == 0);
}

/* The same for as many new rows as fill a panel, `stride` floats apart, in a set that has rows. To
 * go through the panel once, column by column, is several times faster than once for each row. */
static void write_panel(efface_data *data, size_t position, const float *values, size_t stride) {
    float *const panel = ef_data_first(data, position);
    for (uint32_t j = 0; j < data->n_columns; j++)
        for (size_t i = 0; i < EF_PANEL; i++)
            panel[j * EF_PANEL + i] = ef_stored_value(values[i * stride + j]);
    for (size_t i = 0; i < EF_PANEL; i++)
        count_row(data, values + i * stride, 1);
    ef_ranges_add_panel(&data->ranges, panel);
}

/* Takes the values of a row that will go, or change, out of the statistics. */
static void unwrite_row(efface_data *data, size_t position) {
    const float *const row = ef_data_first(data, position);
    const digest of = digest_row(row, data->n_columns, EF_PANEL);
    data->exponents.rows[of.exponent]--;
    data->n_missing -= of.n_missing;
    ef_ranges_remove(&data->ranges, row, EF_PANEL);
}

/* The ends of a column and how many rows are there, from the rows; those of an empty column if no
 * row has a value. Cost O(n). Whole panels go by lanes, which the compiler makes vectors of. */
static void measure_column(const efface_data *data, uint32_t column, float ends[2],
                           uint64_t counts[2]) {
    const size_t n_panels = data->n_rows / EF_PANEL;
    float low[EF_PANEL], high[EF_PANEL];
    for (unsigned i = 0; i < EF_PANEL; i++) {
        low[i] = (float)EFFACE_MAX_MAGNITUDE;
        high[i] = -low[i];
    }
    for (size_t p = 0; p < n_panels; p++) {
        const float *const x = ef_data_panel(data, p) + (size_t)column * EF_PANEL;
        for (unsigned i = 0; i < EF_PANEL; i++) {
            low[i] = x[i] < low[i] ? x[i] : low[i];
            high[i] = x[i] > high[i] ? x[i] : high[i];
        }
    }
    for (size_t row = n_panels * EF_PANEL; row < data->n_rows; row++) {
        const float x = ef_data_value(data, row, column);
        low[0] = x < low[0] ? x : low[0];
        high[0] = x > high[0] ? x : high[0];
    }
    ends[0] = low[0];
    ends[1] = high[0];
    for (unsigned i = 1; i < EF_PANEL; i++) {
        ends[0] = low[i] < ends[0] ? low[i] : ends[0];
        ends[1] = high[i] > ends[1] ? high[i] : ends[1];
    }
    counts[0] = counts[1] = 0;
    for (size_t p = 0; p < n_panels; p++) {
        const float *const x = ef_data_panel(data, p) + (size_t)column * EF_PANEL;
        uint32_t least = 0, most = 0;
        for (unsigned i = 0; i < EF_PANEL; i++) {
            least += x[i] == ends[0];
            most += x[i] == ends[1];
        }
        counts[0] += least;
        counts[1] += most;
    }
    for (size_t row = n_panels * EF_PANEL; row < data->n_rows; row++) {
        counts[0] += ef_data_value(data, row, column) == ends[0];
        counts[1] += ef_data_value(data, row, column) == ends[1];
    }
}

void ef_data_column_ranges(const efface_data *data, float *column_min, float *column_max) {
    const ef_ranges *const ranges = &data->ranges;
    for (uint32_t j = 0; j < data->n_columns; j++) {
        float ends[2] = {0.0F, 0.0F};
        uint64_t counts[2];
        if (data->n_rows != 0 && ef_ranges_stale(ranges, j)) {
            measure_column(data, j, ends, counts);
        } else if (data->n_rows != 0) {
            ends[0] = ranges->least[j];
            ends[1] = ranges->most[j];
        }
        column_min[j] = ends[0] <= ends[1] ? ends[0] : 0.0F;
        column_max[j] = ends[0] <= ends[1] ? ends[1] : 0.0F;
    }
}

/* Makes stale ranges of these rows anew. */
static void refresh(const efface_data *data, ef_ranges *ranges) {
    if (!ranges->any_stale || data->n_rows == 0)
        return;
    for (uint32_t j = 0; j < data->n_columns; j++)
        if (ef_ranges_stale(ranges, j)) {
            float ends[2];
            uint64_t counts[2];
            measure_column(data, j, ends, counts);
            ranges->least[j] = ends[0];
            ranges->most[j] = ends[1];
            ranges->n_least[j] = counts[0];
            ranges->n_most[j] = counts[1];
        }
    ranges->any_stale = false;
}

void ef_data_refresh_ranges(efface_data *data) {
    refresh(data, &data->ranges);
}

bool ef_data_count(const efface_data *data, ef_counts *counts) {
    const size_t d = data->n_columns;
    ef_ranges ranges;
    if (!ef_ranges_init(&ranges, data->n_columns))
        return false;
    memcpy(ranges.least, data->ranges.least, d * sizeof *ranges.least);
    memcpy(ranges.most, data->ranges.most, d * sizeof *ranges.most);
    memcpy(ranges.n_least, data->ranges.n_least, d * sizeof *ranges.n_least);
    memcpy(ranges.n_most, data->ranges.n_most, d * sizeof *ranges.n_most);
    ranges.any_stale = data->ranges.any_stale;
    refresh(data, &ranges);
    *counts = data->counts;
    counts->ranges = ranges;
    return true;
}

/* ---------------------------------------------------------------- add, remove, replace */

static const float *source_row(const efface_data *data, const efface_rows *rows, size_t i) {
    return rows->values + i * (rows->stride != 0 ? rows->stride : data->n_columns);
}

/* The first value of a row that a set cannot hold; n_columns if there is none. */
static uint32_t find_wrong(const efface_data *data, const float *values) {
    uint32_t j = 0;
    if (largest_bits(values, data->n_columns, 1) <= LARGEST)
        return data->n_columns;
    while (j < data->n_columns && (magnitude_bits(values[j]) <= LARGEST ||
                                   (data->allows_missing && values[j] != values[j])))
        j++;
    return j;
}

static efface_status fail_value(size_t row, uint32_t column, float value, efface_error *error) {
    return value != value
               ? ef_fail(
                     error, EFFACE_E_LIMIT,
                     "row %zu, column %" PRIu32
                     ": the value is missing (NaN), and the set allows no missing values; leave "
                     "the row out, give it a value, or allow missing values with a model that "
                     "takes them (a forest)",
                     row + 1, column + 1)
               : ef_fail(error, EFFACE_E_LIMIT,
                         "row %zu, column %" PRIu32
                         ": the value %g is not a finite number of magnitude 2^126 or less; "
                         "leave the row out or correct it",
                         row + 1, column + 1, (double)value);
}

/* Checks values and weights; `replaced` is the weight that the rows take the place of. */
static efface_status check_rows(const efface_data *data, const efface_rows *rows, int64_t replaced,
                                int64_t *total_weight, efface_error *error) {
    const uint32_t d = data->n_columns;
    if (rows->stride != 0 && rows->stride < d)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the stride of %zu is smaller than the number of columns, %" PRIu32,
                       rows->stride, d);
    if (rows->n_rows != 0 && rows->values == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "values must not be NULL");
    int64_t total = data->total_weight - replaced;
    for (size_t i = 0; i < rows->n_rows; i++) {
        const float *const values = source_row(data, rows, i);
        const uint32_t wrong = find_wrong(data, values);
        if (wrong < d)
            return fail_value(i, wrong, values[wrong], error);
        const int64_t weight = rows->weights != NULL ? rows->weights[i] : 1;
        if (weight < 1 || weight >= EFFACE_MAX_WEIGHT - total)
            return ef_fail(
                error, EFFACE_E_LIMIT,
                "row %zu: the weight %" PRId64
                " is not allowed: a weight is at least 1, and the sum of all weights is below 2^40",
                i + 1, weight);
        total += weight;
    }
    *total_weight = total;
    return EFFACE_OK;
}

static bool needs_weights(const efface_rows *rows) {
    if (rows->weights != NULL)
        for (size_t i = 0; i < rows->n_rows; i++)
            if (rows->weights[i] != 1)
                return true;
    return false;
}

/* Spells out what rows that are to be added or replaced have beside their values. */
static efface_status spell_out_beside(efface_data *data, const efface_rows *rows,
                                      efface_error *error) {
    efface_status status = EFFACE_OK;
    if (needs_weights(rows))
        status = spell_out_weights(data, error);
    if (status == EFFACE_OK && rows->owners != NULL)
        status = spell_out_owners(data, error);
    if (status == EFFACE_OK && rows->labels != NULL)
        status = spell_out_labels(data, error);
    if (status == EFFACE_OK && rows->marks != NULL)
        status = spell_out_marks(data, error);
    return status;
}

/* Whether the ids of new rows are just their positions in a set where that holds for all. */
static bool adds_positions(const efface_data *data, const efface_rows *rows) {
    if (!ef_data_ids_are_positions(data))
        return false;
    if (rows->ids != NULL)
        for (size_t i = 0; i < rows->n_rows; i++)
            if (rows->ids[i] != data->n_rows + i)
                return false;
    return true;
}

static efface_status enter_ids(efface_data *data, const efface_rows *rows, uint64_t *next_id,
                               efface_error *error) {
    for (size_t i = 0; i < rows->n_rows; i++) {
        const size_t position = data->n_rows + i;
        const uint64_t id = rows->ids != NULL ? rows->ids[i] : *next_id;
        if (ef_row_ids_find(&data->ids, position, id) != EF_NO_POSITION) {
            for (size_t back = i; back > 0; back--)
                ef_row_ids_drop(&data->ids, data->n_rows + back - 1);
            return ef_fail(error, EFFACE_E_DUPLICATE,
                           "row %zu: another row has the id %" PRIu64 " already; ids are unique",
                           i + 1, id);
        }
        ef_row_ids_set(&data->ids, position, id);
        if (id >= *next_id)
            *next_id = id + 1 != 0 ? id + 1 : id;
    }
    return EFFACE_OK;
}

efface_status ef_rows_check(const efface_data *data, const efface_rows *rows, efface_error *error) {
    int64_t total_weight;
    return check_rows(data, rows, data->total_weight, &total_weight, error);
}

efface_status ef_data_check_whole(const efface_data *data, efface_error *error) {
    return data->part == NULL
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_ARGUMENT,
                         "the set is a part of a group's set; change its columns before it joins "
                         "and its rows by requests to its models, on all ranks");
}

efface_status efface_data_add(efface_data *data, const efface_rows *rows, efface_error *error) {
    if (data == NULL || rows == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data and rows must not be NULL");
    const efface_status status = ef_data_check_whole(data, error);
    return status == EFFACE_OK ? ef_data_add(data, rows, error) : status;
}

efface_status ef_data_add(efface_data *data, const efface_rows *rows, efface_error *error) {
    int64_t total_weight;
    efface_status status = check_rows(data, rows, 0, &total_weight, error);
    if (status == EFFACE_OK)
        status = reserve_more(data, rows->n_rows, error);
    if (status == EFFACE_OK)
        status = spell_out_beside(data, rows, error);
    if (status != EFFACE_OK)
        return status;

    uint64_t next_id = data->next_id;
    if (adds_positions(data, rows)) {
        next_id += rows->n_rows;
    } else {
        if (rows->ids == NULL && UINT64_MAX - next_id < rows->n_rows)
            return ef_fail(error, EFFACE_E_LIMIT,
                           "no ids are free above %" PRIu64 "; give each row an id", next_id);
        if (!ef_row_ids_reserve(&data->ids, data->capacity, data->n_rows,
                                data->n_rows + rows->n_rows, rows->n_rows))
            return ef_fail_memory(error);
        status = enter_ids(data, rows, &next_id, error);
        if (status != EFFACE_OK)
            return status;
    }

    const size_t begin = data->n_rows, stride = rows->stride != 0 ? rows->stride : data->n_columns;
    while (data->n_rows - begin < rows->n_rows) {
        const size_t position = data->n_rows, i = position - begin;
        if (position != 0 && position % EF_PANEL == 0 && rows->n_rows - i >= EF_PANEL) {
            write_panel(data, position, source_row(data, rows, i), stride);
            data->n_rows += EF_PANEL;
        } else {
            write_row(data, position, source_row(data, rows, i));
            data->n_rows++;
        }
    }
    for (size_t i = 0; i < rows->n_rows; i++) {
        const size_t position = begin + i;
        if (data->weights != NULL)
            data->weights[position] = rows->weights != NULL ? rows->weights[i] : 1;
        if (data->owners != NULL)
            data->owners[position] = rows->owners != NULL ? rows->owners[i] : EFFACE_NO_OWNER;
        if (data->labels != NULL)
            data->labels[position] = rows->labels != NULL ? rows->labels[i] : EFFACE_NO_LABEL;
        if (data->marks != NULL)
            data->marks[position] = rows->marks != NULL ? rows->marks[i] : 0;
    }
    data->next_id = next_id;
    data->named |= rows->ids != NULL && rows->n_rows != 0;
    data->weighed |= rows->weights != NULL && rows->n_rows != 0;
    data->stamp.generation += rows->n_rows != 0;
    data->total_weight = total_weight;
    return EFFACE_OK;
}

static size_t position_of(const efface_data *data, uint64_t id) {
    return ef_row_ids_find(&data->ids, data->n_rows, id);
}

/* Every id is there, and none comes twice. */
static efface_status check_ids(const efface_data *data, const uint64_t *ids, size_t n_ids,
                               efface_error *error) {
    if (n_ids != 0 && ids == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "ids must not be NULL");
    for (size_t i = 0; i < n_ids; i++)
        if (position_of(data, ids[i]) == EF_NO_POSITION)
            return ef_fail(error, EFFACE_E_NOT_FOUND, "there is no row with the id %" PRIu64,
                           ids[i]);
    if (n_ids < 2)
        return EFFACE_OK;
    uint64_t *sorted = ef_alloc(n_ids, sizeof *sorted);
    if (sorted == NULL)
        return ef_fail_memory(error);
    memcpy(sorted, ids, n_ids * sizeof *sorted);
    ef_ids_sort(sorted, n_ids);
    const uint64_t *const repeat = ef_ids_find_repeat(sorted, n_ids);
    efface_status status = EFFACE_OK;
    if (repeat != NULL)
        status = ef_fail(error, EFFACE_E_DUPLICATE,
                         "the id %" PRIu64 " is twice in one request; name it once", *repeat);
    ef_free(sorted);
    return status;
}

/* Gives the row at a position what stands beside its values. */
static void write_beside(efface_data *data, size_t position, const efface_row *row) {
    if (data->weights != NULL)
        data->weights[position] = row->weight;
    if (data->owners != NULL)
        data->owners[position] = row->owner;
    if (data->labels != NULL)
        data->labels[position] = row->label;
    if (data->marks != NULL)
        data->marks[position] = row->mark;
}

void ef_data_take_out(efface_data *data, size_t position) {
    const size_t last = data->n_rows - 1;
    unwrite_row(data, position);
    data->total_weight -= ef_data_weight(data, position);
    float *const freed = ef_data_first(data, position), *const from = ef_data_first(data, last);
    for (size_t j = 0; j < (size_t)data->n_columns * EF_PANEL; j += EF_PANEL) {
        freed[j] = from[j];
        from[j] = 0.0F;
    }
    const efface_row moved = efface_data_row(data, last);
    ef_row_ids_drop(&data->ids, last);
    if (position != last) {
        ef_row_ids_drop(&data->ids, position);
        ef_row_ids_set(&data->ids, position, moved.id);
        write_beside(data, position, &moved);
    }
    write_beside(data, last, &(efface_row){.id = 0});
    data->n_rows = last;
    data->stamp.generation++;
}

void ef_data_put_back(efface_data *data, size_t position, const efface_row *row,
                      const float *values) {
    const size_t last = data->n_rows;
    assert(last < data->capacity && position <= last);
    if (position != last) { /* the row that came from the end goes back there */
        const efface_row moved = efface_data_row(data, position);
        float *const to = ef_data_first(data, last), *const from = ef_data_first(data, position);
        if (last % EF_PANEL == 0)
            memset(to, 0, (size_t)data->n_columns * EF_PANEL * sizeof *to);
        for (size_t j = 0; j < (size_t)data->n_columns * EF_PANEL; j += EF_PANEL)
            to[j] = from[j];
        ef_row_ids_drop(&data->ids, position);
        ef_row_ids_set(&data->ids, last, moved.id);
        write_beside(data, last, &moved);
    }
    ef_row_ids_set(&data->ids, position, row->id);
    write_row(data, position, values);
    write_beside(data, position, row);
    data->total_weight += row->weight;
    data->n_rows++;
}

void ef_data_overwrite(efface_data *data, size_t position, const efface_row *row,
                       const float *values) {
    data->total_weight += row->weight - ef_data_weight(data, position);
    unwrite_row(data, position);
    write_row(data, position, values);
    write_beside(data, position, row);
}

efface_status ef_data_copy_rows(const efface_data *data, const size_t *positions, size_t n,
                                efface_data **out, efface_error *error) {
    efface_data *copy = NULL;
    efface_status status = efface_data_create(data->n_columns, &copy, error);
    if (status == EFFACE_OK)
        status = ef_data_reserve(copy, n, error);
    if (status == EFFACE_OK) {
        copy->ids.own = ef_alloc(copy->capacity, sizeof *copy->ids.own);
        status = copy->ids.own != NULL ? EFFACE_OK : ef_fail_memory(error);
    }
    if (status == EFFACE_OK && data->weights != NULL)
        status = spell_out_weights(copy, error);
    if (status == EFFACE_OK && data->labels != NULL)
        status = spell_out_labels(copy, error);
    if (status != EFFACE_OK) {
        efface_data_free(copy);
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        const float *const from = ef_data_first(data, positions[i]);
        float *const to = ef_data_first(copy, i);
        if (i % EF_PANEL == 0)
            memset(to, 0, (size_t)data->n_columns * EF_PANEL * sizeof *to);
        for (size_t j = 0; j < (size_t)data->n_columns * EF_PANEL; j += EF_PANEL)
            to[j] = from[j];
        copy->ids.own[i] = ef_data_id(data, positions[i]);
        if (copy->weights != NULL)
            copy->weights[i] = data->weights[positions[i]];
        if (copy->labels != NULL)
            copy->labels[i] = data->labels[positions[i]];
        copy->total_weight += ef_data_weight(data, positions[i]);
        if (data->n_missing != 0)
            copy->n_missing += digest_row(to, data->n_columns, EF_PANEL).n_missing;
    }
    copy->n_rows = n;
    copy->allows_missing = data->allows_missing;
    *out = copy;
    return EFFACE_OK;
}

size_t ef_data_bytes(const efface_data *data) {
    const size_t a_row = data->n_columns * sizeof *data->values +
                         (data->weights != NULL ? sizeof *data->weights : 0) +
                         (data->owners != NULL ? sizeof *data->owners : 0) +
                         (data->labels != NULL ? sizeof *data->labels : 0) +
                         (data->marks != NULL ? sizeof *data->marks : 0);
    return sizeof *data + data->capacity * a_row + ef_row_ids_bytes(&data->ids, data->capacity);
}

efface_status ef_data_prepare_remove(efface_data *data, const uint64_t *ids, size_t n_ids,
                                     efface_error *error) {
    const efface_status status = check_ids(data, ids, n_ids, error);
    if (status != EFFACE_OK || n_ids == 0)
        return status;
    /* Each makes the id of one row other than its position, of the row that is moved. */
    return ef_row_ids_reserve(&data->ids, data->capacity, data->n_rows, data->n_rows, n_ids)
               ? EFFACE_OK
               : ef_fail_memory(error);
}

efface_status efface_data_remove(efface_data *data, const uint64_t *ids, size_t n_ids,
                                 efface_error *error) {
    if (data == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data must not be NULL");
    efface_status status = ef_data_check_whole(data, error);
    if (status == EFFACE_OK)
        status = ef_data_prepare_remove(data, ids, n_ids, error);
    if (status != EFFACE_OK)
        return status;
    for (size_t i = 0; i < n_ids; i++)
        ef_data_take_out(data, position_of(data, ids[i]));
    return EFFACE_OK;
}

efface_status efface_data_replace(efface_data *data, const efface_rows *rows, efface_error *error) {
    if (data == NULL || rows == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data and rows must not be NULL");
    const efface_status status = ef_data_check_whole(data, error);
    return status == EFFACE_OK ? ef_data_replace(data, rows, error) : status;
}

efface_status ef_data_replace(efface_data *data, const efface_rows *rows, efface_error *error) {
    efface_status status = check_ids(data, rows->ids, rows->n_rows, error);
    if (status != EFFACE_OK)
        return status;
    int64_t replaced = 0;
    for (size_t i = 0; i < rows->n_rows; i++)
        replaced += ef_data_weight(data, position_of(data, rows->ids[i]));
    /* Without new weights the old ones stay: the check then counts 1 a row, and is not used. */
    int64_t total_weight;
    status = check_rows(data, rows, replaced, &total_weight, error);
    if (status == EFFACE_OK)
        status = spell_out_beside(data, rows, error);
    if (status != EFFACE_OK)
        return status;
    for (size_t i = 0; i < rows->n_rows; i++) {
        const size_t position = position_of(data, rows->ids[i]);
        unwrite_row(data, position);
        write_row(data, position, source_row(data, rows, i));
        if (rows->weights != NULL && data->weights != NULL)
            data->weights[position] = rows->weights[i];
        if (rows->owners != NULL)
            data->owners[position] = rows->owners[i];
        if (rows->labels != NULL)
            data->labels[position] = rows->labels[i];
        if (rows->marks != NULL)
            data->marks[position] = rows->marks[i];
    }
    if (rows->weights != NULL)
        data->total_weight = total_weight;
    data->stamp.generation += rows->n_rows != 0;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- looking */

efface_status efface_data_find(const efface_data *data, uint64_t id, size_t *position) {
    const size_t found = position_of(data, id);
    if (found == EF_NO_POSITION)
        return EFFACE_E_NOT_FOUND;
    *position = found;
    return EFFACE_OK;
}

efface_row efface_data_row(const efface_data *data, size_t position) {
    return (efface_row){
        .id = ef_data_id(data, position),
        .weight = ef_data_weight(data, position),
        .owner = data->owners != NULL ? data->owners[position] : EFFACE_NO_OWNER,
        .label = data->labels != NULL ? data->labels[position] : EFFACE_NO_LABEL,
        .mark = data->marks != NULL ? data->marks[position] : 0,
    };
}

void efface_data_values(const efface_data *data, size_t position, float *values) {
    const float *const row = ef_data_first(data, position);
    for (uint32_t j = 0; j < data->n_columns; j++)
        values[j] = row[(size_t)j * EF_PANEL];
}

size_t efface_data_n_rows(const efface_data *data) {
    return data->n_rows;
}

uint32_t efface_data_n_columns(const efface_data *data) {
    return data->n_columns;
}

int64_t efface_data_total_weight(const efface_data *data) {
    return data->total_weight;
}

void efface_data_allow_missing(efface_data *data) {
    data->allows_missing = true;
}

uint64_t efface_data_n_missing(const efface_data *data) {
    return data->n_missing;
}

const char *efface_data_column_name(const efface_data *data, uint32_t column) {
    return data->names != NULL && column < data->n_columns ? data->names[column] : NULL;
}

efface_status efface_data_name_column(efface_data *data, uint32_t column, const char *name,
                                      efface_error *error) {
    if (data == NULL || column >= data->n_columns)
        return ef_fail(error, EFFACE_E_ARGUMENT, "there is no column %" PRIu32, column + 1);
    if (name != NULL && *name == '\0')
        name = NULL; /* an empty name is none */
    if (name == NULL && data->names == NULL)
        return EFFACE_OK;
    if (data->names == NULL)
        data->names = ef_alloc_zero(data->n_columns, sizeof *data->names);
    if (data->names == NULL)
        return ef_fail_memory(error);
    char *copy = NULL;
    if (name != NULL) {
        const size_t n_bytes = strlen(name) + 1;
        copy = ef_alloc(n_bytes, 1);
        if (copy == NULL)
            return ef_fail_memory(error);
        memcpy(copy, name, n_bytes);
    }
    ef_free(data->names[column]);
    data->names[column] = copy;
    return EFFACE_OK;
}

efface_status ef_data_set_labels(efface_data *data, const int64_t *labels, efface_error *error) {
    const efface_status status = spell_out_labels(data, error);
    if (status == EFFACE_OK && data->n_rows != 0)
        memcpy(data->labels, labels, data->n_rows * sizeof *labels);
    return status;
}

void efface_data_set_kinds(efface_data *data, efface_ids ids, efface_ids owners) {
    data->id_kind = ids;
    data->owner_kind = owners;
}
