/* The points of a run: room for them, and what a row adds. */
#include "model/logistic/points.h"

#include "base/memory/list.h"
#include "base/memory/memory.h"
#include "model/logistic/losses.h"

size_t ef_n_pairs(uint32_t n_terms) {
    return (size_t)n_terms * ((size_t)n_terms + 1) / 2;
}

bool ef_run_point_take(ef_run_point *point, uint32_t n_terms) {
    const bool bends = ef_stage_bends(point->stage);
    point->slopes = ef_alloc_zero(n_terms, sizeof *point->slopes);
    if (bends)
        point->curvatures = ef_alloc_zero(ef_n_pairs(n_terms), sizeof *point->curvatures);
    return point->slopes != NULL && (point->curvatures != NULL || !bends);
}

static void free_sums(ef_run_point *point) {
    ef_free(point->slopes);
    ef_free(point->curvatures);
    point->slopes = point->curvatures = NULL;
}

void ef_run_point_free(ef_run_point *point) {
    ef_free(point->steps);
    free_sums(point);
    *point = (ef_run_point){0};
}

void ef_run_free(ef_newton_run *run) {
    for (uint32_t i = 0; i < run->n_points; i++)
        ef_run_point_free(&run->points[i]);
    ef_free(run->points);
    ef_free(run->coefficients);
    *run = (ef_newton_run){0};
}

size_t ef_run_bytes(const ef_newton_run *run, uint32_t n_terms) {
    size_t n = sizeof *run + n_terms * sizeof *run->coefficients;
    for (uint32_t i = 0; i < run->n_points; i++) {
        n += sizeof run->points[i] + n_terms * sizeof *run->points[i].steps;
        if (run->points[i].slopes != NULL)
            n += n_terms * sizeof *run->points[i].slopes;
        if (run->points[i].curvatures != NULL)
            n += ef_n_pairs(n_terms) * sizeof *run->points[i].curvatures;
    }
    return n;
}

const ef_run_point *ef_run_bent(const ef_newton_run *run) {
    const ef_run_point *bent = &run->points[0];
    for (uint32_t i = 0; i < run->n_points; i++)
        if (run->points[i].is_level && run->points[i].curvatures != NULL)
            bent = &run->points[i];
    return bent;
}

/* Sums of damaged bytes may leave their range: numbers wrap around. */
static void add_to(ef_i128 *sum, ef_i128 part) {
    *sum = (ef_i128)((ef_u128)*sum + (ef_u128)part);
}

void ef_run_point_add_row(ef_run_point *point, efface_loss loss, const double *c,
                          const int32_t *terms, uint32_t n, int64_t weight, bool is_of_class) {
    double z = 0.0;
    for (uint32_t j = 0; j < n; j++)
        z += c[j] * (double)terms[j];
    const ef_row_part part = ef_loss_part(loss, z, is_of_class);
    add_to(&point->loss, (ef_i128)part.loss * weight);
    if (point->slopes == NULL)
        return;
    const ef_i128 slope = (ef_i128)part.slope * weight;
    for (uint32_t j = 0; j < n; j++)
        add_to(&point->slopes[j], slope * terms[j]);
    ef_i128 *to = point->curvatures;
    for (uint32_t j = 0; to != NULL && j < n; to += n - j, j++) {
        const ef_i128 bent = (ef_i128)weight * (int64_t)ef_round_even(part.q * (double)terms[j]);
        for (uint32_t l = j; bent != 0 && l < n; l++)
            add_to(&to[l - j], bent * terms[l]);
    }
}
