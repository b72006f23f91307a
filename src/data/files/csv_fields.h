/* The fields of a CSV file: what each of them means, by its role. */
#ifndef EF_CSV_FIELDS_H
#define EF_CSV_FIELDS_H

#include "data/files/csv_columns.h"
#include "data/files/csv_records.h"
#include "data/set/rows.h"
#include "data/texts/text_id.h"
#include "data/texts/texts.h"
#include "data/units/rounding.h"
#include "data/units/value_columns.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether the ids, owners or labels of a file are numbers or texts. */
typedef enum ef_text_or_number { EF_UNDECIDED, EF_NUMBERS, EF_TEXT } ef_text_or_number;

typedef struct ef_csv_loader {
    ef_csv csv;
    const efface_load_options *options;
    ef_columns columns;
    ef_read_columns read; /* if some are skipped */
    efface_data *data;
    ef_text_or_number id_kind, owner_kind, label_kind;
    ef_text_numbers owners, labels; /* that are text */
    efface_texts *texts;            /* for the caller's collection, after success; or NULL */
    efface_rounding rounding;       /* for the caller's, after success; unless that is NULL */
    double *row_values;             /* of the row that is read; NaN for those that are no numbers */
    bool *complete;                 /* in which none may be missing */
    bool *special;                  /* columns of values with categories, or a type */
    uint64_t *id_checks;            /* of the rows of `data`, if ids are text; see text_id.h */
    size_t id_checks_capacity;

    size_t batch_capacity; /* rows; what follows is the batch */
    size_t n_batch;
    float *batch_values;
    uint64_t *batch_ids;
    uint64_t *batch_checks;
    uint64_t *batch_owners;
    int64_t *batch_weights;
    int64_t *batch_labels;
    uint64_t *batch_lines;

    uint64_t n_read; /* rows of the file, of any share */
} ef_csv_loader;

/* The first field that is not empty decides. */
void ef_decide_kind(ef_text_or_number *of, ef_csv_field text);
void ef_decide_label_kind(ef_csv_loader *l, ef_csv_field text);

/* Each reads one field of the record at hand, into the batch or, for a value, where the caller
 * says. */
efface_status ef_read_csv_id(ef_csv_loader *l, size_t field, efface_error *error);
efface_status ef_read_csv_owner(ef_csv_loader *l, size_t field, efface_error *error);
efface_status ef_read_csv_label(ef_csv_loader *l, size_t field, efface_error *error);
efface_status ef_read_csv_weight(ef_csv_loader *l, size_t field, efface_error *error);
efface_status ef_read_csv_value(const ef_csv_loader *l, size_t field, uint32_t column, float *value,
                                efface_error *error);

/* A label that must be a number. */
efface_status ef_read_label_number(const ef_csv *csv, size_t field, int64_t *label,
                                   efface_error *error);

/* Two texts with one 64-bit hash. */
efface_status ef_fail_collision(const ef_csv *csv, uint64_t line, const char *role,
                                efface_error *error);

#endif
