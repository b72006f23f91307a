/*
 * A family of models: what every kind of model that can forget provides, as one constant table of
 * functions. docs/inside/families.md says how to add one.
 *
 * A family has a state: everything that is a pure function of rows, parameters and seed, and what
 * it keeps beside that to be faster. Nothing outside a family's folder looks into a state. What
 * prediction needs of a state is a predictor; it can be lent, or written to a file and read again.
 *
 * A state follows a change of its rows in two steps, so that several models can change together or
 * not at all: `follow` does all that can fail, beside the state; `commit` cannot fail.
 */
#ifndef EF_FAMILY_H
#define EF_FAMILY_H

#include "base/bytes/section_reading.h"
#include "model/request/change.h"

/* What a model has to follow. */
typedef struct ef_news {
    const ef_counts *counts; /* what is counted of the rows as they are after the change */
    const efface_data *rows; /* the set of these rows, or NULL: they are not at hand */
    const ef_change *change;
    bool only_look; /* say what it would take, and make nothing */
} ef_news;

/* The rows that there are after the change, on this rank. */
static inline uint64_t ef_news_n_rows(const ef_news *news) {
    return news->rows != NULL ? news->rows->n_rows : news->counts->n_rows;
}

typedef struct ef_totals {
    uint64_t n_rows;
    int64_t total_weight;
} ef_totals;

/* Told of one fact after the other. */
typedef struct ef_listener {
    void (*each)(void *context, const efface_fact *fact);
    void *context;
} ef_listener;

#define EF_PREDICTOR_ROOM 256

/* A predictor that borrows what it has from a state. */
typedef union ef_lent {
    unsigned char room[EF_PREDICTOR_ROOM];
    int64_t whole;
    double real;
    void *pointer;
} ef_lent;

typedef struct ef_family {
    efface_family number;
    const char *name;

    /* Parameters. `copy` makes one block of memory, with all that the parameters refer to; NULL if
     * memory runs out. `read` makes the same from bytes that `write` made: whether they make sense
     * is left to `check`. */
    efface_status (*check_params)(const efface_params *params, efface_error *error);
    efface_params *(*copy_params)(const efface_params *params, uint32_t n_columns);
    void (*write_params)(ef_writer *writer, const efface_params *params, uint32_t n_columns);
    efface_status (*read_params)(ef_decoder *decoder, uint32_t n_columns, efface_params **out,
                                 efface_error *error);
    void (*describe_params)(const efface_params *params, ef_listener to);

    /* What a model of these parameters, or a published one, is to people, in words of fewer than
     * EFFACE_KIND_BYTES bytes: exactly one of the two is given. */
    const char *(*kind)(const efface_params *params, const void *predictor);

    /* Whether values of rows may be missing (NaN) for a model of these parameters; and of rows to
     * predict. NULL: they may not. */
    bool (*takes_missing)(const efface_params *params);
    bool (*predicts_missing)(const void *predictor);

    /* The columns in which a model of these parameters has categories: writes at most `capacity` of
     * them and returns how many there are. NULL: none. */
    uint32_t (*categories)(const efface_params *params, uint32_t *columns, uint32_t capacity);

    /* A state of parameters that were checked. */
    efface_status (*fit)(const efface_data *data, const efface_params *params, void **state,
                         efface_error *error);
    void (*free)(void *state);
    const efface_params *(*params)(const void *state);
    ef_totals (*totals)(const void *state);
    size_t (*n_bytes)(const void *state);
    /* Rows that its fit to this set looked at, on this rank. */
    uint64_t (*n_visited)(const void *state, const efface_data *data);
    void (*describe)(const void *state, ef_listener to);

    /* Works out what follows from a change, and fills the report but for its rows and seconds;
     * rows_visited is what this rank visits.
     * `done` is false if that takes rows and they are not at hand. If it is true, and not only a
     * look was asked for, `next` is handed out, to be committed or dropped. */
    efface_status (*follow)(void *state, const ef_news *news, void **next, bool *done,
                            efface_report *report, efface_error *error);
    void (*commit)(void *state, void *next);
    void (*drop)(void *next);

    /* Canonical bytes. A state that was read is cold: it knows no rows, and can follow a change
     * that takes none. `attach` gives it its rows, as they are after the changes that it has
     * followed; if it fails, all that can still be done with the state is to free it. Bytes of a
     * definition that has changed since are outdated and cannot be read (NULL: there are none). */
    void (*write)(ef_writer *writer, const void *state);
    efface_status (*read)(ef_decoder *decoder, const efface_params *params, uint32_t n_columns,
                          void **state, efface_error *error);
    efface_status (*attach)(void *state, const efface_data *data, efface_error *error);
    bool (*is_outdated)(const unsigned char *bytes, size_t n_bytes);

    /* Finds the cuts that `write` makes, from the bytes alone: the digest of the state is then one
     * by sections (digest.h). NULL: it is that of all bytes. `cuts` are to be released in any case.
     */
    efface_status (*cut)(const unsigned char *bytes, size_t n_bytes, ef_cuts *cuts,
                         efface_error *error);

    /* A cold state as `read` makes it, that reads of its sections only those that it needs, also
     * while it follows a change: the sections have to be there for as long as the state. It writes
     * those alone (ef_write_kept), and can do nothing else than follow. NULL: there is none. */
    efface_status (*open)(ef_sections *sections, const efface_params *params, uint32_t n_columns,
                          void **state, efface_error *error);

    /* Says where two states differ whose bytes do. */
    void (*locate)(const void *a, const void *b, efface_difference *difference);

    /* Predictors. `lend` fills the room with one that borrows from a state, and is not freed. Rows
     * to predict are finite, but for missing values; the stride is not 0. Tables are numbered from
     * 0; false: there is no such table. */
    void (*lend)(const void *state, ef_lent *room);
    void (*write_predictor)(ef_writer *writer, const void *predictor);
    efface_status (*read_predictor)(ef_decoder *decoder, uint32_t n_columns, void **out,
                                    efface_error *error);
    void (*free_predictor)(void *predictor);
    efface_predicts (*predicts)(const void *predictor, uint32_t *n_numbers);
    efface_status (*predict)(const void *predictor, size_t n_rows, const float *values,
                             size_t stride, efface_number *numbers, efface_error *error);
    bool (*table)(const void *predictor, uint32_t number, efface_table *table);
    efface_status (*read_table)(const void *predictor, uint32_t number, uint64_t row,
                                const double *offsets, double *values, efface_error *error);

    /* What only some families have. NULL: every column is an input; no column has categories; no
     * number is the value of a column; there are no classes, and no scores. `classes` writes at
     * most `capacity` of them and returns how many there are. */
    bool (*is_input)(const void *predictor, uint32_t column);
    bool (*is_category)(const void *predictor, uint32_t column);
    uint32_t (*value_column)(const void *predictor, uint32_t number);
    uint32_t (*classes)(const void *predictor, int64_t *classes, size_t capacity);
    efface_status (*score)(const void *predictor, efface_scores scores, size_t n_rows,
                           const float *values, size_t stride, double *numbers,
                           efface_error *error);
} ef_family;

/* The families that there are: NULL if there is none with this number, or this name. */
const ef_family *ef_family_of(efface_family number);
const ef_family *ef_family_named(const char *name);

/* The family of parameters, which are checked. */
efface_status ef_family_check(const efface_params *params, const ef_family **family,
                              efface_error *error);

#define EF_PREDICTOR_FORMAT 4 /* of the bytes of published models */

/* A class that has a text. */
typedef struct ef_class_text {
    int64_t class_id;
    char *text;
} ef_class_text;

/* What predicts (predictor.c): of a published model, a view of sums, or lent by a model. */
struct efface_predictor {
    const ef_family *family;
    void *part;                 /* the family's own; or else */
    const efface_model *lender; /* the model that lends it, anew for each question */
    uint32_t n_columns;
    char **names;               /* of the columns, or NULL; each may be NULL */
    double *offsets;            /* of the columns, or NULL */
    ef_class_text *class_texts; /* in ascending order of classes, or NULL */
    uint32_t n_class_texts;
};

/* A model of any family. */
struct efface_model {
    const ef_family *family;
    void *state;
    uint32_t n_columns;
    ef_stamp stamp; /* of its set as it was when both last agreed; none if it is cold */
    efface_predictor lent;
};

/* A model of a state, which belongs to it from then on; if out of memory, the state is freed. */
efface_status ef_model_create(const ef_family *family, void *state, uint32_t n_columns,
                              efface_model **out, efface_error *error);

/* Fits a model of any family; or of one, to which the parameters must belong. */
efface_status ef_model_fit(const efface_data *data, const efface_params *params, efface_model **out,
                           efface_error *error);
efface_status ef_model_fit_as(const ef_family *family, const efface_data *data,
                              const efface_params *params, efface_model **out, efface_error *error);

/* The state of a model, if it is of a family; else NULL, and an error that says so. */
void *ef_model_state(const efface_model *model, const ef_family *family, efface_error *error);

/* The digest of a state of these bytes. */
efface_status ef_state_digest(const ef_family *family, const unsigned char *bytes, size_t n_bytes,
                              unsigned char digest[EFFACE_DIGEST_BYTES], efface_error *error);

/* Reads a cold model (read above), or opens one (open above); gives it its rows (attach above). */
efface_status ef_model_read(ef_decoder *decoder, const efface_params *params, uint32_t n_columns,
                            efface_model **out, efface_error *error);
efface_status ef_model_open(ef_sections *sections, const efface_params *params, uint32_t n_columns,
                            efface_model **out, efface_error *error);
efface_status ef_model_attach(efface_model *model, const efface_data *data, efface_error *error);

/* Lets a cold model follow a change without rows: `counts` is what is counted of them after the
 * change, and no column of it is stale. `done` is false if rows are needed, and then the
 * model has not changed. Fills the report as `follow` does. */
efface_status ef_model_follow_cold(efface_model *model, const ef_counts *counts,
                                   const ef_change *change, bool only_look, bool *done,
                                   efface_report *report, efface_error *error);

/* What to say where a family has no reason of its own. */
extern const char ef_because_nothing[], ef_because_rekeyed[], ef_because_redefined[],
    ef_because_taken_out[], ef_because_added[], ef_because_replaced[];

/* What people read for a reason of a family, or for one that was done: in the past tense or, of what
 * is still to come, in the future (request/reasons.c, which has all reasons). */
const char *ef_reason_told(const char *reason, bool to_come);

/* The bytes of a published file, with the names and offsets of the columns of the model's set, and
 * those texts of labels that are classes of the model; `texts` may be NULL. */
void ef_predictor_write(ef_writer *writer, const efface_model *model, const efface_data *data,
                        const efface_texts *texts);

/* What the functions of the family are called with: the part, or one that is lent, which fills the
 * room. */
const void *ef_predictor_part(const efface_predictor *predictor, ef_lent *room);

/* Whether rows of a matrix can be predicted; a stride of 0 becomes n_columns. */
efface_status ef_matrix_check(const ef_family *family, const void *predictor, uint32_t n_columns,
                              size_t n_rows, const float *values, size_t *stride,
                              efface_error *error);

/* A published model of what a family has for it, which belongs to it from then on; if memory is
 * short, the part is freed. It has no names and offsets of columns. */
efface_status ef_predictor_create(const ef_family *family, void *part, uint32_t n_columns,
                                  efface_predictor **out, efface_error *error);

#endif
