/* How the models of a store follow a request (models_following.c). */
#ifndef EF_MODELS_FOLLOWING_H
#define EF_MODELS_FOLLOWING_H

#include "store/file/transactions.h"
#include "store/models/records.h"

/* A change of the rows of a store: rows that leave, rows that come; or both, position by position,
 * of rows that get other values. The store has not changed yet. Where a store has
 * parts, the first has all rows that leave, and all parts have all others and the ids. */
typedef struct ef_row_change {
    const efface_data *leave; /* or NULL */
    const efface_data *come;  /* or NULL */
    const uint64_t *ids;      /* of the rows, in the order of positions */
    size_t n_rows;
    bool only_look;
    const efface_data *here; /* of the rows that come, those that come to this file, under their
                                own ids; NULL: all do */
} ef_row_change;

/* Lets all models follow and writes them, unless the request only looks. Fills report->models. */
efface_status ef_models_follow(efface_store *store, const ef_row_change *change,
                               efface_store_report *report, efface_error *error);

/* A model that needs its rows. */
typedef struct ef_waiting_model {
    ef_record record;
    efface_model *model; /* or NULL: it is fitted again */
    efface_model_report *report;
    bool is_new; /* it was */
    bool done;
} ef_waiting_model;

typedef struct ef_following {
    efface_store *store;
    const ef_row_change *change;
    ef_waiting_model *waiting;
    size_t n_waiting;
    ef_telling telling; /* of models that change */
} ef_following;

/* What following is made of: room for n models that may wait, and for their reports; trying those
 * of the file, some of which wait then; those that wait follow; and the end of it. */
efface_status ef_following_room(ef_following *f, uint32_t n, efface_store_report *report,
                                efface_error *error);
efface_status ef_following_try(ef_following *f, efface_store_report *report, efface_error *error);
efface_status ef_following_finish(ef_following *f, efface_error *error);
void ef_following_end(ef_following *f);

/* All of it, for the models of one file. */
efface_status ef_follow_in_file(efface_store *store, const ef_row_change *change,
                                efface_store_report *report, efface_error *error);

/* Whether a model takes the rows of a change: it may take no missing values. */
efface_status ef_record_takes(const efface_store *store, const ef_record *record,
                              const ef_row_change *change, efface_error *error);

/* Lets models over the same columns, those of `record`, follow together; `data` is their set, and
 * changes with them. All follow or none. */
efface_status ef_models_change(efface_model *const *models, size_t n, const ef_record *record,
                               efface_data *data, const ef_row_change *change,
                               efface_report *reports, efface_error *error);

bool ef_same_columns(const ef_record *a, const ef_record *b);

/* Has the report of a model say that it was fitted again because its method was redefined. */
void ef_report_outdated(efface_report *report);

#endif
