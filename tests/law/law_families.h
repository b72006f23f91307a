/*
 * The table of families for tests that hold for every family: the law through walks, the store, a
 * killed process, failing memory, interruption, fuzzers. Such a test draws or goes through families
 * (law_families), and knows nothing of any of them.
 *
 * To add a family: one file with its table, one line in law_families.c, its oracle, and these files
 * in tests/CMakeLists.txt. Functions that may be NULL say so.
 *
 * A function that draws goes on with the stream of its caller: a file that includes draws.h passes
 * &rng_state, and the function leaves there what it came to.
 */
#ifndef EF_LAW_FAMILIES_H
#define EF_LAW_FAMILIES_H

#include "efface/efface.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAW_MOST_COLUMNS 160
#define LAW_TEXT_BYTES 400

/* Parameters of any family, with room for what they refer to. They may refer to the room that they
 * are in, so it is not copied or moved. A family has a struct of its own for it, which begins with
 * its parameters. */
typedef union law_params {
    efface_params common;
    unsigned char room[4096];
    uint64_t whole;
    double real;
    void *pointer;
} law_params;

/* A set of rows. `values` has n * d, the others n. */
typedef struct law_rows {
    size_t n;
    uint32_t d; /* 1 to LAW_MOST_COLUMNS */
    float *values;
    uint64_t *ids;
    int64_t *weights, *labels;
    const char *kind; /* of the values, for messages */
} law_rows;

/* Rows, and parameters for them. Values of one row may stand in another. */
typedef struct law_case {
    law_rows rows;
    law_params params;
} law_case;

/* What a case should be like. */
typedef struct law_wish {
    uint64_t seed;  /* of the case; a family may go by it in turn */
    unsigned share; /* so many of a hundred rows begin in the set; the others come later */
    bool calm;      /* most changes should need no more than sums to be corrected, if a family has
                       such changes */
} law_wish;

/* Bytes of a fuzzer, of which those that are missing count as 0. */
typedef struct law_bytes {
    const unsigned char *bytes;
    size_t n_bytes, at;
} law_bytes;

static inline unsigned law_take(law_bytes *in) {
    return in->at < in->n_bytes ? in->bytes[in->at++] : 0;
}

/* A request that a model has followed. */
typedef struct law_step {
    const law_params *params;
    const efface_model *model;
    const efface_report *preview; /* of the same request, or NULL */
    const efface_report *report;
    size_t n_rows; /* of the request */
} law_step;

typedef struct law_family {
    efface_family number;
    const char *name;
    uint32_t least_columns; /* that rows have at least; 0: one */

    /* Draws parameters for rows that are there: valid ones, as different as they can be, with all
     * values within bounds. One in some hundred may be very slow, not more. */
    void (*draw)(law_params *params, const law_rows *rows, bool calm, uint64_t *stream);

    /* Draws rows and parameters that lean towards what goes wrong. NULL: rows of law_draw_rows, or
     * of another family. */
    void (*draw_case)(law_case *c, const law_wish *wish, uint64_t *stream);

    /* Parameters for d columns from the bytes of a fuzzer, valid whatever they are. */
    void (*read)(law_params *params, uint32_t d, law_bytes *in);

    /* Some parameters, one for each way in which models of the family work, for tests that are too
     * slow to draw many: for sets of some hundred rows and any d, with values of magnitude below
     * 2^20. Ways are numbered from 0. They have one thread and a seed that tests may change. */
    unsigned n_ways;
    const char *const *way_names;
    void (*choose)(law_params *params, unsigned way, uint32_t d);

    /* Kinds of models that differ most, such as methods, by numbers from 0, so that a test can say
     * which it has seen. */
    unsigned n_kinds;
    const char *const *kind_names;
    unsigned (*kind_of)(const law_params *params);

    /* Whether a fit takes a row; NULL: every row. */
    bool (*allows)(const law_params *params, const float *values, uint32_t d);

    /* Whether a model of a store needs its rows for a change that corrects nothing but sums.
     * `range_lost`: the smallest or largest value of a column leaves. NULL: if a range is lost. */
    bool (*needs_rows)(const law_params *params, bool range_lost);

    /* Canonical bytes of a fit, computed plainly from the definition; released with free(). */
    unsigned char *(*oracle)(const law_rows *rows, const law_params *params, size_t *n_bytes);

    /* Ids that somebody would pick who knows the model and wants it to break, `most` at most, which
     * is not 0; may find none. NULL: none. */
    size_t (*name_ids)(const efface_model *model, const efface_data *data, uint64_t *ids,
                       size_t most, uint64_t *stream);

    /* Says in words where two encodings differ. NULL: law_difference says at which byte. */
    void (*differ)(const law_params *params, const unsigned char *a, size_t n_a,
                   const unsigned char *b, size_t n_b, char text[LAW_TEXT_BYTES]);

    /* What holds beside the bytes, checked with cmocka: of a model and a fresh fit to the same set;
     * of a model alone. Either may be NULL. */
    void (*compare)(const efface_model *model, const efface_model *fresh, const efface_data *data);
    void (*check)(const efface_model *model, const efface_data *data);

    /* A number made of what a model has beside its bytes, and keeps if a call fails. NULL: it has
     * nothing. */
    uint64_t (*hash)(const efface_model *model);

    /* Calls that only this family has, on a model that may have been made of any bytes: they may
     * fail, but do no harm. NULL: there are none. */
    void (*use)(const efface_model *model, const efface_data *data);

    /* A call may do without some memory, and be slower, if there is none. */
    bool spares;

    /* Its models are of one process: a set that has joined a group is refused (ARGUMENT). */
    bool alone;

    /* What walks have seen: `meet` after the fit, `look` before each step, `note` after it, which
     * releases what `look` handed out, and `tell` at the end, which prints it, and if there were
     * many walks (`all`), requires that everything was seen. All four or none are NULL. */
    void (*meet)(const law_params *params, const efface_model *model);
    void *(*look)(const efface_model *model);
    void (*note)(void *before, const law_step *step);
    void (*tell)(bool all);
} law_family;

extern const law_family law_kmeans, law_sums, law_segmented, law_forest, law_logistic;

/* The families, in the order of their numbers. */
extern const law_family *const law_families[];
extern const size_t law_n_families;

/* One of them; the first n calls give n families. */
const law_family *law_family_at(uint64_t number);

/* The next one, or itself, for rows of so many columns. */
const law_family *law_family_for(const law_family *family, uint32_t n_columns);

/* One of those that have cases of their own. */
const law_family *law_case_family_at(uint64_t number);

/* Rows of all kinds, which lean towards what goes wrong: ties, duplicates, zeros, huge and tiny
 * magnitudes, weights near the limit. Not released by who draws, but with law_free_rows. */
void law_draw_rows(law_rows *rows, uint64_t *stream);
void law_free_rows(law_rows *rows);

/* Room for n rows of d columns, all 0, with the ids 0, 1, ..., weights 1 and no labels. */
law_rows law_make_rows(size_t n, uint32_t d);

/* A case of a family; its rows are released with law_free_rows. */
void law_draw_case(const law_family *family, law_case *c, const law_wish *wish, uint64_t *stream);

/* A fit of the family that the parameters belong to. */
efface_status law_fit(const efface_data *data, const law_params *params, efface_model **out,
                      efface_error *error);

bool law_allows(const law_family *family, const law_params *params, const float *values,
                uint32_t d);
size_t law_name_ids(const law_family *family, const efface_model *model, const efface_data *data,
                    uint64_t *ids, size_t most, uint64_t *stream);
void law_difference(const law_family *family, const law_params *params, const unsigned char *a,
                    size_t n_a, const unsigned char *b, size_t n_b, char text[LAW_TEXT_BYTES]);

/* `compare` and `check` of the family, where it has them. */
void law_check(const law_family *family, const efface_model *model, const efface_model *fresh,
               const efface_data *data);

#endif
