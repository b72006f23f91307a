/*
 * The set of rows, as the rest of the library sees it.
 *
 * Rows have positions from 0 to n_rows - 1, without gaps and in no particular order: removing one
 * moves the last into its place. Values are float32 in panels of sixteen rows: column j of all
 * sixteen side by side, then column j + 1. A vector instruction so works on sixteen rows whatever
 * the number of columns, and a pass over the set reads memory from front to back. The price is that
 * one row alone lies scattered over as many cache lines as it has columns.
 *
 * What every row of a set has in common is not stored: ids that are the positions (row_ids.h),
 * `weights` while all are 1, `owners` and `labels` while no row has one, `marks` while none was
 * given. So a plain matrix costs its own size and nothing else.
 */
#ifndef EF_ROWS_H
#define EF_ROWS_H

#include "data/set/counts.h"
#include "data/set/row_ids.h"
#include "efface/efface.h"

/* Which set, and as which changes have left it. A model has that of the set it belongs to, and so
 * knows a set that is another's, or was changed without it, however alike the rows may be. It is no
 * part of any result. */
typedef struct ef_stamp {
    uint64_t set;        /* its number, which no other set of this process ever has; 0: no set */
    uint64_t generation; /* advances with every change of rows */
} ef_stamp;

static inline bool ef_stamps_equal(ef_stamp a, ef_stamp b) {
    return a.set == b.set && a.generation == b.generation;
}

struct efface_data {
    ef_stamp stamp;
    union {
        struct {
            EF_COUNTS_FIELDS
        };
        ef_counts counts; /* the same */
    };
    size_t capacity; /* rows there is room for; a multiple of EF_PANEL */
    float *values;   /* panels, 64-byte aligned; free places of the last are 0 */
    bool allows_missing;
    uint64_t n_missing; /* values of the rows; each is the NaN of EF_MISSING_BITS */
    ef_row_ids ids;
    bool named;   /* rows were added with ids of their own, be they the positions */
    bool weighed; /* rows were added with weights, be they 1 */
    efface_ids id_kind, owner_kind;
    int64_t *weights;          /* or NULL: 1 */
    uint64_t *owners;          /* or NULL: none */
    int64_t *labels;           /* or NULL: none */
    int64_t *marks;            /* or NULL: 0 */
    uint64_t next_id;          /* larger than every id the set ever held */
    char **names;              /* n_columns names, or NULL */
    efface_column_type *types; /* n_columns types, or NULL: numbers */
    double *offsets;           /* n_columns offsets that values came without, or NULL */
    struct ef_shard *part;     /* of a set that a group has (shards.h); NULL: the set is whole */
};

#define EF_MISSING_BITS 0x7FC00000u

/* What a set stores for a value: minus zero as zero, and one NaN for all. */
static inline float ef_stored_value(float x) {
    return x == x ? x + 0.0F : __builtin_nanf("");
}

/* What a model keeps only to be quicker has positions of 32 bits. This says whether they suffice
 * for n_rows rows, with UINT32_MAX left over to mean none; if they do not, it is not kept. The
 * limit is a variable only because a test cannot make so many rows: it lowers it. */
extern size_t ef_most_short_positions;

static inline bool ef_positions_are_short(size_t n_rows) {
    return n_rows <= ef_most_short_positions;
}

static inline uint64_t ef_data_id(const efface_data *data, size_t position) {
    return ef_row_ids_at(&data->ids, position);
}

/* Whether each row has the id that it would be given if it came without. */
static inline bool ef_data_ids_are_positions(const efface_data *data) {
    return data->ids.own == NULL && data->ids.n_strays == 0 && data->next_id == data->n_rows;
}

static inline int64_t ef_data_weight(const efface_data *data, size_t position) {
    return data->weights != NULL ? data->weights[position] : 1;
}

/* Panel number `panel` holds the rows at positions EF_PANEL * panel and on. */
static inline float *ef_data_panel(const efface_data *data, size_t panel) {
    return data->values + panel * EF_PANEL * data->n_columns;
}

/* The first value of a row; the others follow EF_PANEL floats apart. */
static inline float *ef_data_first(const efface_data *data, size_t position) {
    return ef_data_panel(data, position / EF_PANEL) + position % EF_PANEL;
}

/* The values of a row into a place of a panel. */
static inline void ef_data_gather(const efface_data *data, size_t position, float *to) {
    const float *const row = ef_data_first(data, position);
    for (size_t at = 0; at < (size_t)data->n_columns * EF_PANEL; at += EF_PANEL)
        to[at] = row[at];
}

static inline float ef_data_value(const efface_data *data, size_t position, uint32_t column) {
    return ef_data_first(data, position)[(size_t)column * EF_PANEL];
}

/* Makes room for n_rows rows in all, exactly, so that a file of known size costs no more. */
efface_status ef_data_reserve(efface_data *data, size_t n_rows, efface_error *error);

/* Rows of a part change by requests only, which all ranks know of, and its columns not at all. */
efface_status ef_data_check_whole(const efface_data *data, efface_error *error);

/* Whether a set could take these rows, which are its only ones then. */
efface_status ef_rows_check(const efface_data *data, const efface_rows *rows, efface_error *error);

/* efface_data_add and efface_data_replace, for a part of a set too. */
efface_status ef_data_add(efface_data *data, const efface_rows *rows, efface_error *error);
efface_status ef_data_replace(efface_data *data, const efface_rows *rows, efface_error *error);

/* The first part of efface_data_remove: checks the ids and takes the memory. */
efface_status ef_data_prepare_remove(efface_data *data, const uint64_t *ids, size_t n_ids,
                                     efface_error *error);

/* The parts of a change that cannot fail, for calls that must be undone when a later part does.
 * `take_out` removes the row at a position (the last, unless its removal was prepared) and moves
 * the last row there; `put_back`, given the same position, undoes the latest removal; `overwrite`
 * gives a row other values, and other weight, owner, label and mark if the set stores such. The
 * first advances the generation as a change does; who undoes one gives the set the stamp it had. */
void ef_data_take_out(efface_data *data, size_t position);
void ef_data_put_back(efface_data *data, size_t position, const efface_row *row,
                      const float *values);
void ef_data_overwrite(efface_data *data, size_t position, const efface_row *row,
                       const float *values);

/* Makes stale ranges anew from the rows. Cost O(n) for each column that is stale. */
void ef_data_refresh_ranges(efface_data *data);

/* The counts of the rows, with no range stale, apart from the set. False if out of memory.
 */
bool ef_data_count(const efface_data *data, ef_counts *counts);

/* A set with copies of the rows at these positions, for passes over a part of a set: ids, weights,
 * labels and values only, without an index of the ids and without the statistics that a fit derives
 * its domain from. */
efface_status ef_data_copy_rows(const efface_data *data, const size_t *positions, size_t n,
                                efface_data **out, efface_error *error);

/* Memory that the set takes. */
size_t ef_data_bytes(const efface_data *data);

/* Makes labels[i] the label of the row at position i; there are n_rows of them. */
efface_status ef_data_set_labels(efface_data *data, const int64_t *labels, efface_error *error);

/* The smallest and largest value of each column of the rows that are there; 0 for no rows.
 * Cost O(d), and O(n) for each column that is stale. */
void ef_data_column_ranges(const efface_data *data, float *column_min, float *column_max);

#endif
