/*
 * Parts of pictures. A picture is what the page draws of a model (serve/page/pictures.js): numbers
 * of the model and of groups of rows, and never a row.
 *
 *   map      groups on a plane, by principal components of their centers
 *   shares   parts of a whole; perhaps with a text that says of what
 *   profile  how far the columns of each group lie from the mean, in deviations
 *   effects  coefficients, with standard errors
 */
#ifndef SV_PICTURE_PARTS_H
#define SV_PICTURE_PARTS_H

#include "api/models/model_names.h"

/* A table of a model, read as a whole. */
typedef struct sv_grid {
    efface_table table;
    double *values; /* table.n_rows rows of table.n_columns numbers */
} sv_grid;

/* Reads a table; false if the model has none of that name, or one that is too large for a picture.
 * Release it with sv_grid_free, which takes an empty one too. */
bool sv_grid_read(const sv_snapshot *o, const char *name, sv_grid *out);
void sv_grid_free(sv_grid *grid);
/* A copy of a column; NULL if there is no such column or no memory. Release with free. */
double *sv_grid_column(const sv_grid *grid, uint32_t column);
const double *sv_grid_row(const sv_grid *grid, uint64_t row);

/* Groups of rows: clusters, segments or classes. Groups and columns have the names that the table
 * of centers has. */
typedef struct sv_groups {
    const sv_snapshot *of;
    const sv_grid *centers;
    const double *weights; /* of each group */
    const double *n_rows;  /* the same, or NULL */
    double *mean;          /* of each column of the table, over all groups, */
    double *spread;        /* and the deviation */
    size_t *largest;       /* groups, by falling weight: only the first ones are shown, */
    size_t n_largest;      /* this many */
} sv_groups;

/* Puts groups in order, and computes mean and spread between them: that is, of their centers, each
 * with the weight of its group. False if out of memory. Release with sv_groups_free. */
bool sv_groups_make(const sv_snapshot *of, const sv_grid *centers, const double *weights,
                    const double *n_rows, sv_groups *out);
void sv_groups_free(sv_groups *groups);
double sv_total_weight(const sv_groups *groups);

/* Pictures. Each is added to the list if there is something to draw. */
void sv_draw_map(json_t *pictures, const sv_groups *groups, const char *title, bool scaled);
void sv_draw_shares(json_t *pictures, const sv_groups *groups, const char *title,
                    const char *measure);
void sv_draw_profile(json_t *pictures, const sv_groups *groups, const char *title,
                     const char *text);

/* One row of coefficients. `errors` and `deviations` (of the model's columns) may be NULL, and
 * numbers in them NaN. The first coefficient is the intercept. */
typedef struct sv_terms {
    const sv_snapshot *of;
    const efface_table *table;
    const double *coefficients;
    const double *errors;
    const double *deviations;
    bool has_intercept;
    double quality; /* R^2, or NaN */
} sv_terms;

/* `title` is what the coefficients change, and is released. */
void sv_draw_effects(json_t *pictures, const sv_terms *terms, json_t *title);

/* The name of a row of a table as a text, a class that is a number too. */
json_t *sv_row_text(const sv_snapshot *o, const efface_table *table, uint64_t row);

/* Of one model, this many pictures of coefficients at most: one for each target or class. */
#define SV_MAX_EFFECTS 12

/* What a profile of centers shows. */
extern const char sv_centers_text[];

/* The pictures of each family, which are added to the list. */
efface_status sv_draw_kmeans(const sv_room *room, const sv_snapshot *o, json_t *pictures,
                             efface_error *error);
void sv_draw_sums(const sv_snapshot *o, json_t *pictures);
void sv_draw_segmented(const sv_snapshot *o, json_t *pictures);
void sv_draw_forest(const sv_snapshot *o, json_t *pictures);

/* All pictures of a model, and whether they take its rows, and so longer (picture_families.c). */
efface_status sv_draw_model(const sv_room *room, const sv_snapshot *o, json_t **out,
                            efface_error *error);
bool sv_pictures_read_rows(const sv_snapshot *o);

#endif
