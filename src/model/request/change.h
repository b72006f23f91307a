/*
 * A change of a set: the rows that leave or come in one request, in the order in which the set
 * changed, with what it takes to change the set back.
 *
 * A row that leaves was at a position from which it was taken out, the last row coming into its
 * place. A row that comes was added at the end. A row that gets other values leaves and comes, and
 * keeps its position.
 *
 * In a group each rank changes its own rows, and models follow the change of all ranks: first all
 * rows that leave, then all that come. There, rows of other ranks have no position.
 */
#ifndef EF_CHANGE_H
#define EF_CHANGE_H

#include "data/set/shards.h"

typedef struct ef_change {
    uint32_t n_columns;
    size_t n_rows;
    size_t capacity;
    bool *leaves;     /* of each row; else it comes */
    efface_row *rows; /* what the set has of it beside its values */
    size_t *positions;
    bool replaces;    /* all rows get other values: first all that leave, then all that come */
    float *values;    /* panels */
    float *row;       /* room for the values of one row, side by side */
    uint64_t next_id; /* of the set before rows came */
    ef_stamp before;  /* of the set before the first row left or came; none without rows */
} ef_change;

/* Room for n_rows rows that leave or come; false if out of memory. */
bool ef_change_init(ef_change *change, uint32_t n_columns, size_t n_rows);
void ef_change_free(ef_change *change);

/* Changes a set and notes how. Each fails as efface_data_remove, efface_data_add and
 * efface_data_replace do, and then has changed nothing. A change is any number of the first and
 * then any of the second, or one of the third. */
efface_status ef_change_forget(ef_change *change, efface_data *data, const uint64_t *ids,
                               size_t n_ids, efface_error *error);
efface_status ef_change_learn(ef_change *change, efface_data *data, const efface_rows *rows,
                              efface_error *error);
efface_status ef_change_update(ef_change *change, efface_data *data, const efface_rows *rows,
                               efface_error *error);

/* Notes a row of a set that is not at hand. There must be room for it. */
void ef_change_note(ef_change *change, const efface_row *row, const float *values, bool leaves);

/* Changes the set back. Cannot fail. */
void ef_change_undo(const ef_change *change, efface_data *data);

/* A change of a set that may be a part of a group's. */
typedef struct ef_joint_change {
    ef_change own; /* of the rows of this rank */
    ef_change all; /* of those of all ranks, if the set is a part */
    bool counted;  /* in what the part knows of all rows */
} ef_joint_change;

/* What models follow. */
static inline const ef_change *ef_joint_seen(const ef_joint_change *change,
                                             const efface_data *data) {
    return data->part != NULL ? &change->all : &change->own;
}

/* After change->own was made on all ranks, of which some may have changed nothing: tells all ranks
 * of it, and counts it. If it fails, there is change->own to undo. */
efface_status ef_joint_share(ef_joint_change *change, efface_data *data, efface_error *error);

/* Changes the set back, and what is known of all rows. Cannot fail. */
void ef_joint_undo(const ef_joint_change *change, efface_data *data);

/* The change stays: nothing is left of what it takes to undo it but the change itself. */
void ef_joint_keep(const ef_joint_change *change, efface_data *data);
void ef_joint_free(ef_joint_change *change);

/* The first value of a row; the others follow EF_PANEL floats apart. */
static inline const float *ef_change_first(const ef_change *change, size_t i) {
    return change->values + i / EF_PANEL * EF_PANEL * change->n_columns + i % EF_PANEL;
}

/* The weight of a row as it counts: negative if it leaves. */
static inline int64_t ef_change_weight(const ef_change *change, size_t i) {
    return change->leaves[i] ? -change->rows[i].weight : change->rows[i].weight;
}

#endif
