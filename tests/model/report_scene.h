/* What tests ask of reports of k-means models, which say it in words (kmeans_following.c). */
#ifndef REPORT_SCENE_H
#define REPORT_SCENE_H

#include "model/families.h"
#include "model/kmeans/following/effort.h"
#include "model/kmeans/kmeans.h"

#include <stdio.h>
#include <string.h>

/* The first level that was computed again; 0 if the report names none. */
static inline uint32_t level_of(const efface_report *report) {
    uint32_t level = 0;
    return sscanf(report->where, "from iteration %u on", &level) == 1 ? level : 0;
}

/* How near to the root of a tree a change came; 0 if the report does not say. */
static inline uint32_t depth_of(const efface_report *report) {
    uint32_t depth = 0;
    return sscanf(report->where, "up to depth %u", &depth) == 1 ? depth : 0;
}

/* A reason as a report of what was done has it. */
static inline const char *past_of(ef_reason reason) {
    return ef_reason_told(ef_reason_name(reason), false);
}

/* Whether a report of what was done, or of what would be, has this reason. */
static inline bool is_because(const efface_report *report, ef_reason reason) {
    return strcmp(report->reason, past_of(reason)) == 0 ||
           strcmp(report->reason, ef_reason_told(ef_reason_name(reason), true)) == 0 ||
           (reason == EF_REASON_NONE && strstr(report->reason, "no other row was needed") != NULL);
}

static inline bool same_reason(const efface_report *a, const efface_report *b) {
    return strcmp(a->reason, b->reason) == 0 && strcmp(a->where, b->where) == 0;
}

/* The k-means model inside. */
static inline ef_kmeans *inside(const efface_model *model) {
    return ef_kmeans_of(model, NULL);
}

/* A k-means model as callers have it, such as that of a node of a tree. */
#define AS_MODEL(of)                                                                               \
    (&(efface_model){                                                                              \
        .family = &ef_kmeans_family, .state = (of), .n_columns = (of)->domain.map.n_columns})

/* The clusters that efface_predictor_predict gives, as efface_kmeans_labels does for a set. */
static inline efface_status predict_labels(const efface_model *model, size_t n_rows,
                                           const float *values, size_t stride, uint32_t *labels,
                                           efface_error *error) {
    efface_number one[64];
    const size_t step = stride != 0 ? stride : model->n_columns;
    efface_status status =
        efface_predictor_predict(efface_model_predictor(model), n_rows < 64 ? n_rows : 64, values,
                                 stride, labels != NULL ? one : NULL, error);
    for (size_t i = 0; status == EFFACE_OK && i < n_rows; i++) {
        if (i % 64 == 0 && i != 0)
            status = efface_predictor_predict(efface_model_predictor(model),
                                              n_rows - i < 64 ? n_rows - i : 64, values + i * step,
                                              stride, one, error);
        labels[i] = (uint32_t)one[i % 64].whole;
    }
    return status;
}

#endif
