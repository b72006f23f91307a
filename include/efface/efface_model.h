/* Models of any family: common parameters, what a model says of itself, and change. Part of
 * efface.h. */
#ifndef EFFACE_MODEL_H
#define EFFACE_MODEL_H

#include "efface/efface_data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ models: parameters */

/* A fitted model of any family. Each family has its own parameters and its own fit function, such
 * as efface_kmeans_fit. Everything else is done by the functions of this header, whatever the
 * family. */
typedef struct efface_model efface_model;

/* What predicts: see efface_predictor.h. */
typedef struct efface_predictor efface_predictor;

typedef enum efface_family {
    EFFACE_FAMILY_KMEANS = 1,
    EFFACE_FAMILY_SUMS = 2,
    EFFACE_FAMILY_SEGMENTED = 3,
    EFFACE_FAMILY_FOREST = 4,
    EFFACE_FAMILY_LOGISTIC = 5
} efface_family;

/* Returns the name of a family in the library, such as "kmeans"; NULL for a number that is none. What
 * a model is to people is its kind: "k-means", "linear regression" (efface_model_info). */
EFFACE_API const char *efface_family_name(efface_family family);

/* The parameters of every family begin with these. The init function of the family fills them. */
typedef struct efface_params {
    uint32_t version;     /* set by the init function */
    efface_family family; /* the same */
    uint64_t seed;        /* decides all randomness; keep it secret if requests to forget may react
                             to the model */
    uint32_t n_threads;   /* 0: as many as there are processors; no result depends on it */

    /* Interrupts long work. The library calls it now and then, with interrupt_context, on the
     * thread that made the call. If it returns non-zero, the call ends with EFFACE_E_INTERRUPTED
     * and has changed nothing. NULL, the default: never called. The function must not use the model
     * or the set. Passes may be short: if it takes longer than a microsecond, let it look at a
     * clock first.
     *
     * A fit calls it before each pass over the rows, every few milliseconds of a long pass, and at
     * each part of a model that has parts. A change that only adjusts a model does not call it, or
     * once for each part it reaches. The model keeps both pointers, and uses them in later
     * changes, verify and rekey too. They are not part of the state; a store uses them during
     * efface_store_fit and does not keep them. */
    int (*interrupted)(void *context);
    void *interrupt_context;

    /* Reports progress: it is called where `interrupted` would be, with interrupt_context and the
     * part of a fit that is done, from 0 to 1. The part is an estimate from passes over the rows;
     * it never falls during one fit. The same rules hold. NULL, the default: never called. */
    void (*progress)(void *context, double part);
} efface_params;

/* In which units of a column its values count. The units belong to the model and follow the rows:
 * what a scaler in front of it has learnt of a row, it would keep. */
typedef enum efface_scale {
    EFFACE_SCALE_NONE = 0, /* those that it has */
    EFFACE_SCALE_MINMAX =
        1, /* k-means: each column from its smallest and largest value to [0, 1] */
    EFFACE_SCALE_STANDARD = 2 /* the deviation of each column from its mean */
} efface_scale;

/* ------------------------------------------------------------------ models: what they are */

/* Releases a model; its memory is overwritten. Takes NULL. */
EFFACE_API void efface_model_free(efface_model *model);

#define EFFACE_NO_COLUMN UINT32_MAX

/* What a model predicts. */
typedef enum efface_predicts {
    EFFACE_PREDICTS_CLUSTERS = 0, /* `whole`: the number of a cluster, from 0 */
    EFFACE_PREDICTS_CLASSES = 1,  /* `whole`: a class, as the labels of rows are */
    EFFACE_PREDICTS_VALUES = 2,   /* `real`: values in the units of the rows as a set holds them */
    EFFACE_PREDICTS_PROBABILITIES = 3 /* `real`: from 0 to 1 */
} efface_predicts;

typedef struct efface_model_info {
    efface_family family;
    const char
        *kind; /* what it is, in words, such as "linear regression"; a constant, never NULL */
    uint32_t n_columns;
    uint64_t n_rows;
    int64_t total_weight;
    efface_predicts predicts;
    uint32_t n_numbers; /* predicted for each row; 0 if the model cannot predict: it has no rows,
                           too few, or other classes than its priors are for */
    uint32_t n_classes; /* of the rows, for a model that predicts classes; else 0 */
} efface_model_info;

/* Returns what is known of any model. Never fails. */
EFFACE_API efface_model_info efface_model_get_info(const efface_model *model);

/* A fact about a model: a parameter, or a property of the fitted model. */
typedef enum efface_fact_kind {
    EFFACE_FACT_WHOLE = 0,
    EFFACE_FACT_REAL = 1,
    EFFACE_FACT_TEXT = 2,
    EFFACE_FACT_YES_NO = 3, /* `whole` is 1 or 0 */
    EFFACE_FACT_NONE = 4    /* no value, as for a parameter that is derived from the rows */
} efface_fact_kind;

typedef struct efface_fact {
    const char *name;
    efface_fact_kind kind;
    int is_parameter; /* if 0, it describes the fitted model */
    uint64_t whole;
    double real;
    const char *text;
} efface_fact;

/* Calls `each` for every parameter except the seed, then for the family's other facts about the
 * model, in a fixed order. Pointers in a fact are valid during the call of `each`. Never fails. */
EFFACE_API void efface_model_describe(const efface_model *model,
                                      void (*each)(void *context, const efface_fact *fact),
                                      void *context);

/* Hands out the canonical bytes of the state (docs/definition/format.md): equal states have equal
 * bytes. They do not contain the seed. Release them with efface_bytes_free. Errors:
 * EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_model_encode(const efface_model *model, unsigned char **bytes,
                                             size_t *n_bytes, efface_error *error);
EFFACE_API void efface_bytes_free(unsigned char *bytes);

/* Makes a model from its canonical bytes, the parameters it was fitted with, and its set of rows.
 * `params` is `common` of the family's parameters, with the seed, which the bytes do not contain.
 * The result behaves as the model that was encoded. Release it with efface_model_free. Cost: less
 * than a fit; the header of the family says how much.
 *
 * Errors: EFFACE_E_FORMAT for bytes that cannot belong to these parameters and rows (numbers that
 * are wrong but possible pass; efface_model_verify finds them); EFFACE_E_LIMIT for rows outside a
 * given bound; EFFACE_E_ARGUMENT; EFFACE_E_KERNELS; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_model_decode(const unsigned char *bytes, size_t n_bytes,
                                             const efface_params *params, const efface_data *data,
                                             efface_model **out, efface_error *error);

/* Returns the bytes of memory that the model takes, with all that it keeps for each row, without
 * the set. */
EFFACE_API size_t efface_model_state_bytes(const efface_model *model);

#define EFFACE_DIGEST_BYTES 32

/* Computes the BLAKE2b-256 digest of the canonical bytes. Errors: EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_model_digest(const efface_model *model,
                                             unsigned char digest[EFFACE_DIGEST_BYTES],
                                             efface_error *error);

/* ------------------------------------------------------------------ models: change */

/* These calls change a model together with the set it was fitted to. Afterwards the model is, byte
 * for byte, the result of a fit to the present rows, with the same parameters and the same seed. A
 * call that fails has changed neither.
 *
 * The set must be the one that the model was fitted to or decoded with, and only these calls may
 * change it. Otherwise the call fails with EFFACE_E_ARGUMENT: for another set, even with the same
 * rows, and for a set that was changed by efface_data_add, efface_data_remove or
 * efface_data_replace, or through another model alone, even if its rows are the same again. Give
 * the right set, or fit the model to this one again. Which set belongs to a model is known to this
 * process only, and is in no encoding. */

/* How much work a change was. */
typedef enum efface_action {
    EFFACE_ACTION_ADJUSTED = 0, /* the part of the rows was subtracted from sums, or added to them;
                                   that took no other row */
    EFFACE_ACTION_REPAIRED = 1, /* a part of the model was computed again */
    EFFACE_ACTION_REFITTED = 2  /* everything was computed again */
} efface_action;

/* The name of an action in a word: "adjusted", "repaired", "refitted". Never NULL. */
EFFACE_API const char *efface_action_name(efface_action action);

#define EFFACE_WHERE_BYTES 96

typedef struct efface_report {
    efface_action action;
    const char *reason; /* why it took that much work, in a few words; of a preview, why it will. A
                           constant, never NULL */
    char where[EFFACE_WHERE_BYTES]; /* where in the model, such as "from iteration 2 on"; or "" */
    uint64_t rows_forgotten;
    uint64_t rows_learned;
    uint64_t rows_missing; /* ids and owners that do not exist, if that was allowed */
    uint64_t rows_visited; /* how often rows outside of the request were read */
    double seconds;
} efface_report;

/* What to do about ids and owners that do not exist: fail with an error that names them, or skip
 * them. */
typedef enum efface_missing { EFFACE_MISSING_FAIL = 0, EFFACE_MISSING_SKIP = 1 } efface_missing;

/* Whom to forget, or to look at: rows by their ids, and all rows of owners. A row may be named both
 * ways. */
typedef struct efface_request {
    const uint64_t *ids;
    size_t n_ids;
    const uint64_t *owners; /* EFFACE_NO_OWNER among them is EFFACE_E_ARGUMENT */
    size_t n_owners;
    efface_missing missing;
    const struct efface_texts
        *texts; /* for a store: the texts that ids and owners stand for, or NULL. A text whose
                   number belongs to another text is EFFACE_E_DUPLICATE */
} efface_request;

/* Forgets rows: removes them from the set and from the model. Forgetting all rows is allowed.
 * `report` may be NULL. Cost: that of correcting sums if nothing else has to change, else up to
 * that of a fit; O(n) to find the rows of owners.
 *
 * Errors: EFFACE_E_NOT_FOUND, with the ids; EFFACE_E_DUPLICATE for an id or an owner that comes
 * twice; EFFACE_E_ARGUMENT if the set is not the model's; EFFACE_E_INTERRUPTED; EFFACE_E_KERNELS;
 * EFFACE_E_GROUP; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_model_forget(efface_model *model, efface_data *data,
                                             const efface_request *request, efface_report *report,
                                             efface_error *error);

/* Learns rows: adds them to the set and to the model. `report` may be NULL. Cost and other errors
 * are those of efface_model_forget. Errors: EFFACE_E_DUPLICATE for an id that exists or comes
 * twice; EFFACE_E_LIMIT as for efface_data_add, for a value outside a bound that was given for the
 * fit, and for a missing value that the model does not accept. */
EFFACE_API efface_status efface_model_learn(efface_model *model, efface_data *data,
                                            const efface_rows *rows, efface_report *report,
                                            efface_error *error);

/* Updates rows: gives rows of the set other values, as efface_data_replace does, and the model with
 * them. `report` may be NULL. Cost as efface_model_forget. Errors: as efface_data_replace and
 * efface_model_learn. */
EFFACE_API efface_status efface_model_update(efface_model *model, efface_data *data,
                                             const efface_rows *rows, efface_report *report,
                                             efface_error *error);

/* Do the same for several models, of any families, that were fitted to one set: the set and all
 * models change, or nothing does. `reports` is NULL or has room for n_models reports, one for each
 * model, with the seconds of the whole call. A set with several models may only be changed through
 * these calls, with all of its models: a model that is left out does not belong to the set any
 * more. Errors: as for one model; EFFACE_E_ARGUMENT if there is no model, one comes twice, or the
 * set is not that of each. */
EFFACE_API efface_status efface_models_forget(efface_model *const *models, size_t n_models,
                                              efface_data *data, const efface_request *request,
                                              efface_report *reports, efface_error *error);
EFFACE_API efface_status efface_models_learn(efface_model *const *models, size_t n_models,
                                             efface_data *data, const efface_rows *rows,
                                             efface_report *reports, efface_error *error);
EFFACE_API efface_status efface_models_update(efface_model *const *models, size_t n_models,
                                              efface_data *data, const efface_rows *rows,
                                              efface_report *reports, efface_error *error);

/* Previews a request: reports how much work it would be to forget these rows, and changes nothing.
 * `seconds` is the time of the preview itself, and rows_visited an upper bound. The set is the same
 * afterwards, though positions may differ. For a model with parts, such as a tree, the preview may
 * take as long as the request; rows_visited is then what the preview visited, and parts may lose
 * some of what makes later requests fast. Errors: as efface_model_forget. */
EFFACE_API efface_status efface_model_preview(efface_model *model, efface_data *data,
                                              const efface_request *request, efface_report *report,
                                              efface_error *error);

/* Where two states differ first. */
typedef struct efface_difference {
    int identical;
    const char *what; /* "centroid", "sum", "count", ...; NULL if identical; "method": an older
                         version fitted the model, which defined the method in another way
                         (efface_store_verify) */
    char where[EFFACE_WHERE_BYTES]; /* such as "level 2, cluster 5, column 1"; or "" */
} efface_difference;

/* Verifies a model: fits the rows of the set again with the model's parameters and seed, and
 * compares the two states byte by byte. Any set with the same number of columns will do. A
 * difference is not an error of this call. Cost: that of a fit. Errors: as a fit; EFFACE_E_ARGUMENT
 * if the number of columns differs. */
EFFACE_API efface_status efface_model_verify(const efface_model *model, const efface_data *data,
                                             efface_difference *difference, efface_error *error);

/* Gives the model another seed and fits it again, after which nothing of the old randomness
 * remains. Do this when requests may have been chosen by looking at published models
 * (docs/why/exactness.md, section 4). `report` may be NULL. Cost: that of a fit. Errors: as a fit;
 * EFFACE_E_ARGUMENT if the set is not the model's. */
EFFACE_API efface_status efface_model_rekey(efface_model *model, const efface_data *data,
                                            uint64_t seed, efface_report *report,
                                            efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
