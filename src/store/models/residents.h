/*
 * Residents: the rows and the models of a store that stay in memory between requests.
 *
 * They are made when a request first needs them, from what the file has, verified as always. From
 * then on requests change them along with the file, so that no state has to be read and no rows
 * loaded. They belong to one head of the store: a transaction that begins with another head,
 * because another process or another call has changed the store, drops them.
 *
 * What they do to models is what models_following.c does without them, and the bytes of the file
 * are the same: a model is a pure function of rows, parameters and seed, and so is what is counted
 * of rows.
 */
#ifndef EF_RESIDENTS_H
#define EF_RESIDENTS_H

#include "store/models/models_following.h"

typedef struct ef_resident {
    ef_record record; /* with its state, as the file has it */
    efface_model *model;
    size_t set;  /* its rows, among the sets */
    bool is_new; /* it was fitted anew, because the state in the file is outdated */
} ef_resident;

typedef struct ef_resident_set {
    const ef_record *of; /* the columns are those of this model */
    efface_data *data;
} ef_resident_set;

typedef struct ef_residents {
    bool made;
    unsigned char seal[EFFACE_DIGEST_BYTES]; /* of the head that they belong to */
    uint64_t n_changes;  /* that they have followed since the store was opened */
    ef_resident *models; /* in the order of names */
    uint32_t n_models;
    ef_resident_set *sets; /* one for each different list of columns */
    size_t n_sets;
} ef_residents;

/* Makes them if they are not there, within a transaction. */
efface_status ef_residents_make(efface_store *store, efface_error *error);

/* Lets them follow a change and writes the models, unless the request only looks. If it fails they
 * may have followed in part, which n_changes shows. */
efface_status ef_residents_follow(efface_store *store, const ef_row_change *change,
                                  efface_store_report *report, efface_error *error);

/* They belong to the head as the file has it now. */
void ef_residents_keep(efface_store *store);

/* Drops them; drops them if they belong to another head. */
void ef_residents_drop(efface_store *store);
void ef_residents_check(efface_store *store);

#endif
