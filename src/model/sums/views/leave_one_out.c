/* Leave-one-out residuals: the target minus the prediction for each row, from the regression fitted
 * without that row. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/families.h"
#include "model/sums/views/regression.h"
#include "model/sums/views/views.h"

#include <math.h>
#include <string.h>

/* The residual of a row with the leverage h is (y - p) / (1 - h), where p is the prediction of the
 * fit with the row. So one factorization serves all rows. In units of the grid, with x the
 * distances of the terms from their means,
 *
 *     h = w / N + w N x^T (C + R)^-1 x         or without intercept   w x^T (Q + R)^-1 x */
typedef struct leaving {
    const ef_sums *of;
    const ef_view *by;
    const ef_normal_equations *equations;
    bool intercept;
    int32_t *point;
    double *away;
} leaving;

static double leverage(const leaving *l, int64_t weight) {
    const ef_coordinates *const c = &l->of->coordinates;
    const uint32_t n = c->n_terms;
    const double total = (double)l->of->all.weight;
    for (uint32_t j = 0; j < n; j++) {
        const uint32_t point = c->term_points[j];
        l->away[j] =
            (double)l->point[point] - (l->intercept ? (double)l->of->all.sums[point] / total : 0.0);
    }
    /* x^T (L L^T)^-1 x is the squared length of L^-1 x. */
    ef_cholesky_forward(&l->equations->factor, l->away, l->away);
    const double square = (double)weight * ef_dot(l->away, l->away, n);
    return l->intercept ? (double)weight / total + square * total : square;
}

static void miss_row(const leaving *l, const efface_data *data, size_t position, double *misses) {
    const ef_coordinates *const c = &l->of->coordinates;
    const uint32_t n = c->n_terms;
    ef_coordinates_of_row(c, ef_data_first(data, position), l->point);
    const double rest = 1.0 - leverage(l, ef_data_weight(data, position));
    for (uint32_t j = 0; j < n; j++)
        l->away[j] =
            (double)l->point[c->term_points[j]] * ef_coordinates_unit(c, c->term_points[j]);
    for (uint32_t t = 0; t < c->n_targets; t++) {
        const uint32_t target = c->target_points[t];
        const double value = (double)l->point[target] * ef_coordinates_unit(c, target);
        const double predicted =
            l->by->constants[t] + ef_dot(l->by->weights + (size_t)t * n, l->away, n);
        /* Leverage 1: the fit goes through the row whatever its target is. */
        misses[t] = rest > 0x1p-40 ? (value - predicted) / rest : (double)NAN;
    }
}

static efface_status miss_rows(const ef_sums *s, const efface_data *data, const ef_look *look,
                               const ef_view *by, double *misses, efface_error *error) {
    const ef_interrupt interrupt = {s->params->common.interrupted,
                                    s->params->common.interrupt_context, NULL};
    const ef_regression regression = {.moments = &s->all,
                                      .coordinates = &s->coordinates,
                                      .params = look->linear,
                                      .weight_unit = s->params->weight_unit};
    ef_normal_equations equations;
    efface_status status = ef_normal_equations_init(&equations, &regression, error);
    if (status != EFFACE_OK)
        return status;
    leaving l = {.of = s,
                 .by = by,
                 .equations = &equations,
                 .intercept = look->linear.intercept != 0,
                 .point = ef_alloc(s->coordinates.n, sizeof *l.point),
                 .away = ef_alloc(s->coordinates.n_terms, sizeof *l.away)};
    if (l.point == NULL || l.away == NULL)
        status = ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < data->n_rows; i++) {
        if (i % 256 == 0) /* asking may cost more than a row does */
            status = ef_ask(&interrupt, error);
        if (status == EFFACE_OK)
            miss_row(&l, data, i, misses + i * s->coordinates.n_targets);
    }
    ef_free(l.point);
    ef_free(l.away);
    ef_normal_equations_free(&equations);
    return status;
}

efface_status efface_linear_leave_one_out(const efface_model *model, const efface_data *data,
                                          const efface_linear_params *params, double *misses,
                                          efface_error *error) {
    if (model == NULL || data == NULL || misses == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model, data and misses must not be NULL");
    const ef_sums *const s = ef_model_state(model, &ef_sums_family, error);
    if (s == NULL)
        return EFFACE_E_ARGUMENT;
    if (!ef_stamps_equal(model->stamp, data->stamp))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the set is not that of the model, or was changed without it");
    if (s->by_class != EFFACE_SUMMED_NEEDED)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "leaving rows out is for models without sums by class");
    ef_look look = ef_look_of(s->params);
    look.view = EFFACE_VIEW_LINEAR;
    if (params != NULL)
        look.linear = *params;
    ef_view *by = NULL;
    double *made = NULL; /* outputs are written only on success */
    efface_status status = ef_linear_check(&look.linear, error);
    EF_THEN(status, ef_view_check(s, &look, error));
    EF_THEN(status, ef_view_compute(s, &look, &by, error));
    if (status == EFFACE_OK) {
        made = ef_alloc(data->n_rows, s->coordinates.n_targets * sizeof *made);
        status = made != NULL ? miss_rows(s, data, &look, by, made, error) : ef_fail_memory(error);
    }
    if (status == EFFACE_OK)
        memcpy(misses, made, data->n_rows * s->coordinates.n_targets * sizeof *made);
    ef_free(made);
    ef_view_free(by);
    return status;
}
