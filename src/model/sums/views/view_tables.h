/* The tables that a view can be looked at through. Which there are is known without computing it.
 */
#ifndef EF_VIEW_TABLES_H
#define EF_VIEW_TABLES_H

#include "model/sums/views/views.h"

/* What is known of a view before it is computed. */
typedef struct ef_view_shape {
    efface_view view;
    bool is_quadratic;
    bool is_scaled;                         /* components of columns divided by deviations */
    bool is_whole;                          /* it has tables that prediction does not need, */
    bool has_more;                          /* and those that take more time */
    uint32_t n_columns, n_terms, n_outputs; /* no outputs: it cannot be computed */
    const uint32_t *columns;                /* of terms; NULL: they are Fourier features */
    const int64_t *ids;                     /* of outputs: columns or classes */
} ef_view_shape;

ef_view_shape ef_view_shape_of(const ef_view *view);

/* As in family.h. `more` says whether reading takes a view with standard errors or
 * directions. */
bool ef_view_table(const ef_view_shape *shape, uint32_t number, efface_table *table, bool *more);
void ef_view_read_table(const ef_view *view, const ef_view_shape *shape, uint32_t number,
                        uint64_t row, const double *offsets, double *values);

#endif
