/*
 * A shelf: copies of rows that were looked at lately, each in one piece.
 *
 * In the set a row lies scattered over as many cache lines as it has columns; rows near borders are
 * read again and again, at several levels of one request. A row has one place on the shelf, which
 * it shares with others: the last that came is there. It is no part of the state and can be dropped
 * at any time; a row that is forgotten leaves no copy.
 */
#ifndef EF_SHELF_H
#define EF_SHELF_H

#include "model/kmeans/change.h"

typedef struct ef_shelf {
    uint32_t *tenants;            /* of each place: a position, or EF_NO_TENANT */
    float *values;                /* n_columns for each place */
    uint32_t n_columns, n_places; /* a power of two */
} ef_shelf;

#define EF_NO_TENANT UINT32_MAX

/* A shelf for a part of n_rows rows; NULL if memory is short. */
ef_shelf *ef_shelf_create(size_t n_rows, uint32_t n_columns);
void ef_shelf_free(ef_shelf *shelf);

/* Takes away all rows. */
void ef_shelf_clear(ef_shelf *shelf);
size_t ef_shelf_bytes(const ef_shelf *shelf);

/* Copies a row into place `to` of a panel: from the shelf if it is there, else from the set. With
 * `keep` it is on the shelf afterwards. */
void ef_shelf_gather(ef_shelf *shelf, const efface_data *data, size_t position, bool keep,
                     float *to);

/* Lets the shelf follow a change of a set that had n_rows rows. */
void ef_shelf_follow(ef_shelf *shelf, const ef_change *change, size_t n_rows);

#endif
