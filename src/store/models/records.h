/* Models as they stand in the file (records.c). */
#ifndef EF_RECORDS_H
#define EF_RECORDS_H

#include "data/set/counts.h"
#include "model/family.h"
#include "store/models/opened_states.h"

/* A model as it stands in the file. */
typedef struct ef_record {
    int64_t number; /* its state has it too */
    char name[EFFACE_MODEL_NAME_BYTES];
    const ef_family *family;
    const char *kind;      /* what the model is, in words (family.h) */
    efface_params *params; /* one block, with the seed */
    uint32_t *columns;     /* or NULL: all */
    uint32_t n_columns;
    unsigned char *counts; /* of its rows and columns (counts.h) */
    size_t n_counts;
    ef_state state;
    ef_opened *opened; /* in its place: a state of which parts are read; or NULL */
    unsigned char digest[EFFACE_DIGEST_BYTES]; /* of the state */
    unsigned char salt[EFFACE_SALT_BYTES];     /* of the commitment to it; another for each state */
    ef_u128 seal;                              /* of all but the state, which has its digest */
} ef_record;

void ef_record_free(ef_record *record);
efface_status ef_model_name_check(const char *name, efface_error *error);
void ef_model_name_copy(char to[EFFACE_MODEL_NAME_BYTES], const char *name);

/* The names of all models, in order. Release with ef_free. */
efface_status ef_models_list(efface_store *store, char (**names)[EFFACE_MODEL_NAME_BYTES],
                             uint32_t *n_names, efface_error *error);

/* Reads and verifies a model, without its state unless that is asked for. */
efface_status ef_record_read(efface_store *store, const char *name, bool with_state,
                             ef_record *record, efface_error *error);

/* The same with a state of which only what is needed is read, if there can be one. The record can
 * be used for a cold model that follows a change and is written, in one transaction. */
efface_status ef_record_open(efface_store *store, const char *name, ef_record *record,
                             efface_error *error);

/* What a model says of a state that it refuses, as damage of the store. */
efface_status ef_record_damage(efface_status status, efface_error *error);

/* Writes a model that has changed, or a new one, and changes the head. */
efface_status ef_record_write(efface_store *store, ef_record *record, const efface_model *model,
                              const ef_counts *counted, bool is_new, efface_error *error);

/* Takes a model out, and changes the head. */
efface_status ef_record_drop(efface_store *store, const ef_record *record, efface_error *error);

/* A record of a model that is to be made. */
efface_status ef_record_new(const efface_store *store, const efface_new_model *asked,
                            ef_record *record, efface_error *error);

/* The commitment to the state that a receipt has (seals/commitments.h). And a report that begins
 * with it: nothing was done to the model yet, for a reason. */
void ef_record_commit(const ef_record *record, unsigned char commitment[EFFACE_DIGEST_BYTES]);
efface_model_report ef_record_report(const ef_record *record, const char *reason);

/* Whether the state was made when the method was defined in another way: it cannot be read then. */
bool ef_record_is_outdated(const ef_record *record);

/* The model without rows and what is counted of them; the same model, given its rows; or with all
 * its rows at once. The last fits a model again whose state is outdated. */
efface_status ef_record_cold(const ef_record *record, efface_model **model, ef_counts *counts,
                             efface_error *error);
efface_status ef_record_attach(efface_model *model, const efface_data *data, efface_error *error);
efface_status ef_record_hot(const ef_record *record, const efface_data *data, efface_model **model,
                            efface_error *error);

/* Whether the index of a state that was read whole is the one in the file, which has so many
 * pieces. */
efface_status ef_record_check_index(efface_store *store, const ef_record *record,
                                    uint64_t *n_pieces, efface_error *error);

/* What a seal covers of a model, in this order. */
typedef enum ef_record_field {
    EF_FIELD_PARAMS,
    EF_FIELD_COLUMNS,
    EF_FIELD_COUNTS,
    EF_FIELD_DIGEST, /* of the state */
    EF_FIELD_FAMILY,
    EF_FIELD_PARTS, /* of the state: how many, and a seal of their numbers and lengths */
    EF_FIELD_SALT,
    EF_FIELDS
} ef_record_field;

#define EF_SEALED_COLUMNS "params, columns, counts, digest, family, parts, salt"

/* The seal of a model with a name and these fields. */
ef_u128 ef_record_seal(const ef_head *head, const char *name, const ef_decoder fields[EF_FIELDS]);

/* Whether the models that were read, seals added up, are those that the head has. */
efface_status ef_models_verify(const efface_store *store, uint64_t n_models, ef_u128 sum,
                               efface_error *error);

#endif
